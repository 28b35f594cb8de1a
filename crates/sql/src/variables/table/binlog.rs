//! The binary log and GTIDs.

use super::super::definition::{Variable, choice, switch, text, uint};
use super::super::{ORIGIN_UNKNOWN, VERSION_UNKNOWN};

pub(super) const VARIABLES: &[Variable] = &[
    uint("binlog_cache_size", 32_768, 4096, 1 << 40)
        .block(4096)
        .harmless()
        .help_text("No effect: a transaction's events are kept in memory as they are"),
    choice("binlog_checksum", &["NONE", "CRC32"], 1).fixed().help_text("Every event has a CRC32"),
    switch("binlog_direct_non_transactional_updates", false).both().fixed().admin().help_text("All tables are transactional"),
    switch("binlog_encryption", false)
        .help_text("New log files are encrypted, by the master key in duramen_master_key_file"),
    choice("binlog_error_action", &["IGNORE_ERROR", "ABORT_SERVER"], 1)
        .fixed()
        .help_text("After an error of the log no commit is accepted any more; reads go on"),
    switch("binlog_expire_logs_auto_purge", true).help_text("Remove expired log files at the start and whenever a new one begins"),
    uint("binlog_expire_logs_seconds", 2_592_000, 0, u32::MAX as u64)
        .help_text("Seconds after which a finished log file is removed; 0: never"),
    choice("binlog_format", &["MIXED", "STATEMENT", "ROW"], 2).both().fixed().admin().help_text("The log holds rows"),
    uint("binlog_group_commit_sync_delay", 0, 0, 1_000_000)
        .help_text("Microseconds to wait for more transactions before a flush"),
    uint("binlog_group_commit_sync_no_delay_count", 0, 0, 1_000_000)
        .help_text("Transactions that end the wait of binlog_group_commit_sync_delay"),
    switch("binlog_gtid_simple_recovery", true).fixed().read_only().help_text("Always"),
    uint("binlog_large_commit_threshold", 16 << 20, 1 << 20, 1 << 40)
        .block(4096)
        .help_text("Bytes of events from which a transaction has a file of its own that becomes part of the log"),
    uint("binlog_max_flush_queue_time", 0, 0, 100_000).harmless().help_text("No effect"),
    switch("binlog_order_commits", true).fixed().help_text("Log order is commit order"),
    uint("binlog_prealloc_num", 0, 0, 64).help_text("Log files made ahead, so that rotation waits for nothing"),
    uint("binlog_row_event_max_size", 8192, 256, 1 << 30)
        .block(256)
        .read_only()
        .help_text("Bytes of rows that one event holds; a larger row has its own"),
    choice("binlog_row_image", &["MINIMAL", "NOBLOB", "FULL"], 2)
        .both()
        .admin().help_text("What row events have of changed and deleted rows; new rows are whole"),
    choice("binlog_row_metadata", &["MINIMAL", "FULL"], 1)
        .help_text("FULL: table maps name their columns, members of ENUM and SET, and the primary key"),
    text("binlog_row_value_options", "").both().fixed().admin().help_text("No partial JSON updates"),
    switch("binlog_rows_query_log_events", false).both().admin().help_text("Put the text of row statements into the log"),
    uint("binlog_stmt_cache_size", 32_768, 4096, 1 << 40).block(4096).harmless().help_text("No effect"),
    switch("binlog_transaction_compression", false)
        .both()
        .admin().help_text("Compress the events of each transaction that has no file of its own"),
    uint("binlog_transaction_compression_level_zstd", 3, 1, 22)
        .both()
        .harmless()
        .admin().help_text("No effect: there is one level, about the first of zstd's"),
    uint("binlog_transaction_dependency_history_size", 25_000, 1, 1_000_000)
        .help_text("Keys remembered with the transaction that wrote them last, to tell replicas what depends on what"),
    choice("enforce_gtid_consistency", &["OFF", "ON", "WARN"], 1).fixed().help_text("Always"),
    text("gtid_executed", "").fact().help_text("GTIDs of all transactions in this server"),
    uint("gtid_executed_compression_period", 0, 0, u32::MAX as u64).harmless().help_text("No effect: no such table"),
    choice("gtid_mode", &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"], 3)
        .fixed()
        .help_text("Every transaction has a GTID"),
    text("gtid_next", "AUTOMATIC").session().help_text("GTID of the next transaction"),
    text("gtid_owned", "").both().fact().help_text("GTIDs of transactions under way"),
    text("gtid_purged", "").help_text("GTIDs whose log files are removed, or that were declared so"),
    switch("log_bin", true).read_only().fixed().no_option().help_text("The log is the database; it is always on"),
    text("log_bin_basename", "").fact().help_text("Log files without their numbers"),
    text("log_bin_index", "").fact().help_text("The file that lists the log files"),
    switch("log_bin_trust_function_creators", false)
        .help_text("CREATE FUNCTION asks neither for SUPER nor for a word on what the function does (errors 1418, 1419)"),
    switch("log_replica_updates", true).fixed().read_only().help_text("What is replicated is in the log as well"),
    uint("immediate_server_version", VERSION_UNKNOWN, 0, VERSION_UNKNOWN)
        .session()
        .applier()
        .harmless()
        .help_text("No effect: what is logged here is of this version"),
    uint("max_binlog_cache_size", !4095, 4096, u64::MAX).block(4096).harmless().help_text("No effect"),
    uint("max_binlog_size", 1 << 30, 4096, 1 << 30).block(4096).help_text("Size in bytes at which a new log file begins"),
    uint("max_binlog_stmt_cache_size", !4095, 4096, u64::MAX).block(4096).harmless().help_text("No effect"),
    uint("original_commit_timestamp", ORIGIN_UNKNOWN, 0, ORIGIN_UNKNOWN)
        .session()
        .applier()
        .help_text("When the next transaction was first committed, on another server; mysqlbinlog sets it"),
    uint("original_server_version", VERSION_UNKNOWN, 0, VERSION_UNKNOWN)
        .session()
        .applier()
        .help_text("Version of the server that committed the next transaction first"),
    choice("rbr_exec_mode", &["STRICT", "IDEMPOTENT"], 0).session().fixed().help_text("Row events are applied strictly"),
    switch("require_row_format", false)
        .session()
        .help_text("Refuse what a log of rows does not have: temporary tables, LOAD DATA"),
    uint("server_id", 1, 0, u32::MAX as u64).read_only().help_text("This server's number among replicas"),
    uint("server_id_bits", 32, 32, 32).fact().help_text("Bits of server_id in use"),
    text("server_uuid", "").fact().help_text("This server's UUID, made at its first start"),
    choice("session_track_gtids", &["OFF", "OWN_GTID", "ALL_GTIDS"], 0)
        .both()
        .help_text("Tell clients the GTIDs of their transactions, or of all"),
    switch("source_verify_checksum", true).fixed().help_text("Events are verified when they are read"),
    switch("sql_log_bin", true).session().admin().harmless().help_text("No effect: the log is the database"),
    uint("sync_binlog", 1, 0, u32::MAX as u64)
        .help_text("Flush the log at every group of commits (1), every Nth, or within milliseconds in the background (0)"),
];
