//! The storage engine: MySQL's names where they mean the same thing, and `duramen_*`.

use super::super::definition::{Variable, choice, double, int, null_text, switch, text, uint};

pub(super) const VARIABLES: &[Variable] = &[
    choice("default_storage_engine", &["InnoDB"], 0)
        .both()
        .fixed()
        .help_text("The one engine; it answers to the name InnoDB"),
    switch("default_table_encryption", false).both().fixed().help_text("Tables have no encryption of their own: duramen_table_encryption"),
    choice("default_tmp_storage_engine", &["InnoDB"], 0).both().fixed().help_text("The one engine"),
    text("disabled_storage_engines", "").read_only().help_text(
        "Engines that tables may not name under NO_ENGINE_SUBSTITUTION (error 3161), such as MyISAM,MEMORY",
    ),
    switch("duramen_gather_hot_rows", true).help_text(
        "Sessions that change the same row over and over run on one processor, where each hands it on soonest",
    ),
    uint("duramen_mariadb_port", 0, 0, 65_535).read_only().help_text(
        "TCP port where replicas of MariaDB are greeted as by MariaDB, so that they may go by GTID; 0: none",
    ),
    text("duramen_master_key_file", "").read_only().help_text(
        "File with the master keys, 64 hexadecimal digits a line, the last one for new files; empty: nothing is encrypted",
    ),
    uint("duramen_memtable_size", 32 << 20, 1 << 20, 1 << 34)
        .block(4096)
        .read_only()
        .help_text("Bytes of new rows gathered in memory before they are written as a sorted file"),
    uint("duramen_memtables_max", 4, 2, 64)
        .read_only()
        .help_text("Memtables in memory at most; writers are slowed as this number comes near"),
    text("duramen_metrics_address", "").read_only().help_text(
        "Where metrics for Prometheus and the status page are answered, [HOST:]PORT, on loopback without a host; empty: nowhere",
    ),
    text("duramen_metrics_token_file", "").read_only().help_text(
        "File whose first line is the token that the status page asks for; without it the page is for loopback only",
    ),
    uint("duramen_recovery_distance_max", 256 << 20, 1 << 20, 1 << 40)
        .block(4096)
        .read_only()
        .help_text("Bytes of log that a restart replays at most"),
    choice("duramen_replica_statements", &["PORTABLE", "ALL"], 0).help_text(
        "Which changes that a MariaDB logged as statements are applied: those that certainly mean the same here, or all",
    ),
    text("duramen_root_password_file", "").read_only().help_text(
        "File whose first line becomes root's password at a start that finds root without one; empty: root stays without",
    ),
    uint("duramen_row_locks_max", 4 << 20, 1024, 1 << 40)
        .read_only()
        .help_text("Row locks that one transaction may hold"),
    double("duramen_slow_commit_time", 1.0, 0.0, 3600.0).help_text(
        "Seconds from which a slow commit is told in the error log, with the step that was slow; 0: never",
    ),
    uint("duramen_statement_memory_max", 0, 0, u64::MAX).both().help_text(
        "Bytes of memory that one statement may take, 1 MiB at least; 0: a quarter of the machine's, on small ones up to half",
    ),
    switch("duramen_table_encryption", false).read_only().help_text(
        "New files of tables, and temporary files, are encrypted, by the master key in duramen_master_key_file",
    ),
    uint("duramen_transaction_size_max", 1 << 30, 1 << 20, 1 << 40)
        .block(4096)
        .read_only()
        .help_text("Bytes that the changes of one transaction may take in memory"),
    switch("innodb_adaptive_hash_index", false).fixed().help_text("There is none"),
    uint("innodb_autoinc_lock_mode", 2, 2, 2)
        .fixed()
        .read_only()
        .help_text("No table lock for AUTO_INCREMENT"),
    uint("innodb_buffer_pool_chunk_size", 128 << 20, 1 << 20, u64::MAX)
        .harmless()
        .read_only()
        .help_text("No effect"),
    uint("innodb_buffer_pool_instances", 1, 1, 64).harmless().read_only().help_text("No effect"),
    uint("innodb_buffer_pool_size", 128 << 20, 1 << 20, 1 << 46)
        .block(4096)
        .read_only()
        .help_text("Bytes of the cache of table blocks"),
    text("innodb_data_home_dir", "").fixed().read_only().help_text("Tables are in the data directory"),
    switch("innodb_deadlock_detect", true).fixed().help_text("Deadlocks are found when a wait begins"),
    choice("innodb_default_row_format", &["redundant", "compact", "dynamic"], 2)
        .fixed()
        .help_text("Rows are stored as the log's row images"),
    choice("innodb_doublewrite", &["OFF", "ON", "DETECT_AND_RECOVER", "DETECT_ONLY"], 0)
        .fixed()
        .help_text("No page is overwritten, so none can tear"),
    switch("innodb_file_per_table", true).harmless().help_text("No effect: all tables share sorted files"),
    uint("innodb_flush_log_at_trx_commit", 1, 0, 2)
        .help_text("As sync_binlog; the stricter of the two decides. 0 acts as 2"),
    choice(
        "innodb_flush_method",
        &["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"],
        0,
    )
    .harmless()
    .read_only()
    .help_text("No effect: the log's flush is chosen by the server"),
    uint("innodb_io_capacity", 200, 100, u32::MAX as u64).harmless().help_text("No effect"),
    uint("innodb_lock_wait_timeout", 50, 1, 1_073_741_824).both().help_text("Seconds to wait for a row lock"),
    uint("innodb_log_buffer_size", 16 << 20, 1 << 18, u32::MAX as u64)
        .harmless()
        .help_text("No effect: no redo log"),
    double("innodb_max_dirty_pages_pct", 90.0, 0.0, 99.999).harmless().help_text("No effect"),
    int("innodb_open_files", -1, -1, i32::MAX as i64).harmless().read_only().help_text("No effect"),
    uint("innodb_page_size", 16_384, 16_384, 16_384).fixed().read_only().help_text("What clients expect"),
    switch("innodb_print_all_deadlocks", false).fixed().help_text("Deadlocks are counted, not printed"),
    switch("innodb_read_only", false).fixed().read_only().help_text("Writable"),
    uint("innodb_redo_log_capacity", 100 << 20, 8 << 20, 1 << 39)
        .harmless()
        .help_text("No effect: there is no redo log; see duramen_recovery_distance_max"),
    switch("innodb_rollback_on_timeout", false)
        .read_only()
        .help_text("A lock wait timeout undoes the transaction, not only the statement"),
    switch("innodb_stats_auto_recalc", true).harmless().help_text("No effect: statistics follow the tables"),
    switch("innodb_stats_on_metadata", false).harmless().help_text("No effect"),
    switch("innodb_stats_persistent", true).harmless().help_text("No effect"),
    switch("innodb_strict_mode", true)
        .both()
        .harmless()
        .admin_but_super().help_text("No effect: table options are always checked"),
    uint("innodb_thread_concurrency", 0, 0, 1000).harmless().help_text("No effect"),
    text("innodb_version", env!("CARGO_PKG_VERSION")).fact().help_text("The engine's version"),
    switch("keep_files_on_create", false).both().harmless().help_text("No effect"),
    uint("key_buffer_size", 8 << 20, 0, u64::MAX).harmless().help_text("No effect: there is no MyISAM"),
    uint("lock_wait_timeout", 31_536_000, 1, 31_536_000)
        .both()
        .harmless()
        .help_text("No effect yet: table definitions are locked for a moment only"),
    null_text("secure_file_priv")
        .read_only()
        .help_text("Folder of the files that statements read and write; unset for none, empty for any"),
    text("tmpdir", "")
        .harmless()
        .read_only()
        .help_text("No effect: temporary files are in the data directory"),
];
