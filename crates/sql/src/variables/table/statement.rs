//! What a session's statements mean, and what a session describes itself.

use super::super::definition::{Variable, VariableType, choice, double, other, switch, text, uint};
use syntax::sql_mode;

const ISOLATION: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

/// Values of `block_encryption_mode`: ciphers of AES_ENCRYPT().
pub(crate) const BLOCK_ENCRYPTION_MODES: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];

pub(super) const VARIABLES: &[Variable] = &[
    uint("auto_increment_increment", 1, 1, 65_535).both().help_text("Step between AUTO_INCREMENT values"),
    uint("auto_increment_offset", 1, 1, 65_535).both().help_text("First AUTO_INCREMENT value"),
    switch("autocommit", true).both().help_text("Each statement is a transaction"),
    switch("automatic_sp_privileges", true).fixed().help_text("Who makes a routine may use and drop it"),
    choice("block_encryption_mode", BLOCK_ENCRYPTION_MODES, 0).both().help_text("Mode of AES_ENCRYPT()"),
    choice("completion_type", &["NO_CHAIN", "CHAIN", "RELEASE"], 0)
        .both()
        .help_text("What COMMIT and ROLLBACK do besides"),
    choice("concurrent_insert", &["NEVER", "AUTO", "ALWAYS"], 1)
        .harmless()
        .help_text("No effect: there is no MyISAM"),
    uint("default_week_format", 0, 0, 7).both().help_text("Mode of WEEK()"),
    uint("div_precision_increment", 4, 0, 30).both().help_text("Digits that a division adds"),
    switch("end_markers_in_json", false).both().harmless().help_text("No effect"),
    uint("error_count", 0, 0, u64::MAX).session().read_only().help_text("Errors of the last statement"),
    choice("explain_format", &["TRADITIONAL", "TRADITIONAL_STRICT", "TREE", "JSON"], 0)
        .both()
        .help_text("Format of EXPLAIN without FORMAT"),
    switch("explicit_defaults_for_timestamp", true)
        .both()
        .fixed()
        .help_text("TIMESTAMP columns are like others"),
    text("external_user", "").session().read_only().help_text("Name given by the authentication plugin"),
    switch("foreign_key_checks", true).both().help_text("Foreign keys are checked, and act"),
    uint("identity", 0, 0, u64::MAX).session().help_text("As last_insert_id"),
    uint("insert_id", 0, 0, u64::MAX).session().help_text("Next AUTO_INCREMENT value; 0 for the table's"),
    uint("last_insert_id", 0, 0, u64::MAX).session().help_text("What LAST_INSERT_ID() gives"),
    switch("low_priority_updates", false).both().harmless().admin_but_super().help_text("No effect"),
    uint("max_error_count", 1024, 0, 65_535)
        .both()
        .admin_but_super()
        .help_text("Warnings kept for SHOW WARNINGS"),
    uint("max_sp_recursion_depth", 0, 0, 255).both().help_text("Calls of a routine by itself"),
    switch("old_alter_table", false).both().harmless().help_text("No effect"),
    switch("print_identified_with_as_hex", false)
        .both()
        .fixed()
        .help_text("Passwords are shown as they are stored"),
    text("proxy_user", "").session().read_only().help_text("There are no proxy users"),
    uint("max_delayed_threads", 20, 0, 16_384)
        .both()
        .harmless()
        .help_text("No effect: INSERT DELAYED is no more"),
    switch("pseudo_replica_mode", false).session().harmless().applier().help_text("No effect"),
    switch("pseudo_slave_mode", false).session().harmless().applier().help_text("No effect"),
    uint("pseudo_thread_id", 0, 0, u32::MAX as u64)
        .session()
        .admin()
        .help_text("The connection's number in the log's statements; mysqlbinlog sets that of the original"),
    uint("rand_seed1", 0, 0, u64::MAX).session().help_text("Start of RAND()"),
    uint("rand_seed2", 0, 0, u64::MAX).session().help_text("Start of RAND()"),
    choice("resultset_metadata", &["NONE", "FULL"], 1)
        .session()
        .help_text("NONE leaves column definitions out, for clients that can do without"),
    switch("session_track_schema", true).both().help_text("Tell clients of a new default database"),
    switch("session_track_state_change", false)
        .both()
        .help_text("Tell clients that anything of the session changed"),
    text(
        "session_track_system_variables",
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
    )
    .both()
    .help_text("Variables of whose new values clients are told; * for all"),
    choice("session_track_transaction_info", &["OFF", "STATE", "CHARACTERISTICS"], 0)
        .both()
        .help_text("Tell clients what their transactions have done, and how to begin the like"),
    switch("show_create_table_skip_secondary_engine", false).session().harmless().help_text("No effect"),
    switch("show_create_table_verbosity", false).both().harmless().help_text("No effect"),
    switch("show_gipk_in_create_table_and_information_schema", true)
        .both()
        .help_text("Show the my_row_id that sql_generate_invisible_primary_key made"),
    switch("restrict_fk_on_non_standard_key", true)
        .both()
        .admin()
        .help_text("A foreign key can only refer to a unique key, whole"),
    switch("sql_auto_is_null", false).both().fixed().help_text("IS NULL means just that"),
    switch("sql_big_selects", true).both().harmless().help_text("No effect: no limit"),
    switch("sql_buffer_result", false).both().harmless().help_text("No effect"),
    switch("sql_generate_invisible_primary_key", false)
        .both()
        .admin()
        .help_text("A table without a primary key gets an invisible my_row_id"),
    switch("sql_log_off", false).both().admin().help_text("Keep the session out of the general log"),
    other("sql_mode", VariableType::SqlMode(sql_mode::DEFAULT))
        .both()
        .help_text("How strict and how MySQL-like SQL is"),
    switch("sql_notes", true).both().help_text("Count notes as warnings"),
    switch("sql_quote_show_create", true).both().harmless().help_text("No effect: names are always quoted"),
    switch("sql_require_primary_key", false)
        .both()
        .admin()
        .help_text("Refuse to make a table without a primary key, or to alter one that has none"),
    switch("sql_safe_updates", false).both().help_text("UPDATE and DELETE need a key or LIMIT"),
    uint("sql_select_limit", u64::MAX, 0, u64::MAX).both().help_text("Rows of a SELECT without LIMIT"),
    switch("sql_warnings", false).both().harmless().help_text("No effect"),
    uint("statement_id", 0, 0, u64::MAX).session().read_only().help_text("Number of the statement"),
    choice("terminology_use_previous", &["NONE", "BEFORE_8_0_26", "BEFORE_8_2_0"], 0)
        .both()
        .fixed()
        .help_text("Words are those of MySQL 8.4"),
    double("timestamp", 0.0, 0.0, 4_294_967_295.0)
        .session()
        .help_text("Time of statements; 0 for the clock's"),
    switch("transaction_allow_batching", false).session().harmless().help_text("No effect"),
    choice("transaction_isolation", ISOLATION, 2).both().help_text("What concurrent transactions see"),
    switch("transaction_read_only", false).both().help_text("Transactions refuse writes"),
    switch("unique_checks", true)
        .both()
        .help_text("Off, replicas are told to relax checks of unique keys; here they are always checked"),
    switch("updatable_views_with_limit", true).both().harmless().help_text("No effect"),
    choice("use_secondary_engine", &["OFF", "ON", "FORCED"], 1).session().harmless().help_text("No effect"),
    uint("warning_count", 0, 0, u64::MAX).session().read_only().help_text("Warnings of the last statement"),
];
