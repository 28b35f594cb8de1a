//! The server as a whole: what it is, where its files are, how it logs.

use super::super::definition::{Variable, choice, double, flags, null_text, switch, text, uint};

/// MySQL's version that this server answers for, and its own.
pub const VERSION: &str = concat!("8.4.8-duramen-", env!("CARGO_PKG_VERSION"));

const NO_FULLTEXT: &str = "There are no FULLTEXT indexes";

pub(super) const VARIABLES: &[Variable] = &[
    text("basedir", "").harmless().read_only().help_text("No effect: the binary needs no other files"),
    text("ft_boolean_syntax", "+ -><()~*:\"\"&|").fixed().read_only().help_text(NO_FULLTEXT),
    uint("ft_max_word_len", 84, 84, 84).fixed().read_only().help_text(NO_FULLTEXT),
    uint("ft_min_word_len", 4, 4, 4).fixed().read_only().help_text(NO_FULLTEXT),
    uint("ft_query_expansion_limit", 20, 20, 20).fixed().read_only().help_text(NO_FULLTEXT),
    text("ft_stopword_file", "(built-in)").fixed().read_only().help_text(NO_FULLTEXT),
    text("datadir", "duramen-data").read_only().help_text("Directory of all data; made at the first start"),
    uint("default_password_lifetime", 0, 0, 0).fixed().help_text("Passwords don't expire"),
    choice("event_scheduler", &["OFF", "ON", "DISABLED"], 1)
        .help_text("Events are run; DISABLED, which is for the start alone, says never"),
    uint("flush_time", 0, 0, 0).fixed().help_text("Tables are flushed by checkpoints"),
    switch("general_log", false).help_text("Log all statements and connections; passwords are left out"),
    text("general_log_file", "")
        .help_text("Its file, which ends in .log; by default the host's name in the data directory"),
    text("have_dynamic_loading", "NO").fact().help_text("There are no loadable plugins"),
    text("have_geometry", "NO").fact().help_text("No spatial functions"),
    text("have_openssl", "YES").fact().help_text("Whether TLS can be used"),
    text("have_profiling", "NO").fact().help_text("No profiling"),
    text("have_query_cache", "NO").fact().help_text("No query cache"),
    text("have_rtree_keys", "NO").fact().help_text("No spatial indexes"),
    text("have_ssl", "YES").fact().help_text("Whether TLS can be used"),
    text("have_statement_timeout", "YES").fact().help_text("Whether there is max_execution_time"),
    text("have_symlink", "DISABLED").fact().help_text("No symbolic links to tables"),
    text("hostname", "").fact().help_text("The machine's name"),
    text("init_file", "").read_only().help_text(
        "File of statements that root runs at each start, before there are clients; the first that fails ends them",
    ),
    switch("large_files_support", true).fact().help_text("Always"),
    text("license", "MIT OR Apache-2.0").fact().help_text("Licence of this server"),
    switch("log_queries_not_using_indexes", false)
        .help_text("Statements that read a table or an index as a whole go to the slow query log, too"),
    switch("log_slow_admin_statements", false)
        .help_text("Slow statements that administer tables go to the slow query log, too"),
    text("log_error", "stderr").fixed().read_only().help_text("Messages go to standard error"),
    uint("log_error_verbosity", 3, 1, 3)
        .read_only()
        .help_text("Messages: 1 errors, 2 and warnings, 3 and notes"),
    switch("log_raw", false).fixed().help_text("Passwords are never logged"),
    flags("log_output", &["NONE", "FILE", "TABLE"], 2).help_text(
        "Where general and slow query log go: tables are in memory, bounded, and empty at the start",
    ),
    choice("log_timestamps", &["UTC", "SYSTEM"], 0).fixed().help_text("Messages have UTC times"),
    double("long_query_time", 10.0, 0.0, 31_536_000.0)
        .both()
        .help_text("Seconds from which a statement goes to the slow query log"),
    switch("lower_case_file_system", false).fact().help_text("File names keep their case"),
    uint("lower_case_table_names", 0, 0, 0).fixed().read_only().help_text("Table names keep their case"),
    uint("max_prepared_stmt_count", 16_382, 0, 4_194_304)
        .help_text("Prepared statements that all sessions together may have"),
    uint("min_examined_row_limit", 0, 0, u64::MAX)
        .both()
        .help_text("The slow query log has statements only that read so many rows"),
    switch("offline_mode", false)
        .help_text("Only accounts with CONNECTION_ADMIN may connect; other sessions are ended"),
    uint("open_files_limit", 0, 0, u64::MAX)
        .harmless()
        .read_only()
        .help_text("No effect: the limit is raised as far as it goes"),
    switch("performance_schema", true)
        .harmless()
        .read_only()
        .help_text("No effect: the tables of performance_schema that there are always answer"),
    uint("performance_schema_digests_size", 10_000, 0, 1_048_576).read_only().help_text(
        "Forms of statements whose cost is summed in events_statements_summary_by_digest; 0 turns that off",
    ),
    uint("performance_schema_events_statements_history_long_size", 10_000, 0, 1_048_576)
        .read_only()
        .help_text("Statements of all sessions that events_statements_history_long has"),
    uint("performance_schema_events_statements_history_size", 10, 0, 1024)
        .read_only()
        .help_text("Statements of each session that events_statements_history has"),
    uint("performance_schema_max_digest_length", 1024, 1024, 1024)
        .fact()
        .help_text("Bytes of a normalized statement"),
    uint("performance_schema_max_sql_text_length", 1024, 1024, 1024)
        .fact()
        .help_text("Bytes of a statement in events_statements_history and its like"),
    text("pid_file", "")
        .read_only()
        .help_text("File with the process id; by default duramen.pid in the data directory"),
    text("plugin_dir", "").fact().help_text("There are no loadable plugins"),
    switch("read_only", false).help_text("Only accounts with CONNECTION_ADMIN may change anything"),
    switch("slow_query_log", false).help_text("Log statements that take long_query_time or more"),
    text("slow_query_log_file", "").help_text("Its file, likewise"),
    uint("slow_launch_time", 2, 0, 31_536_000).harmless().help_text("No effect"),
    switch("super_read_only", false).help_text("Nobody may change anything; sets read_only too"),
    text("version", VERSION).fact().help_text("MySQL's version that clients may expect, and this server's"),
    text("version_comment", "Duramen, whose binary log is its only log")
        .fact()
        .help_text("What this server is"),
    text("version_compile_machine", std::env::consts::ARCH).fact().help_text("Processor"),
    text("version_compile_os", std::env::consts::OS).fact().help_text("Operating system"),
    null_text("version_compile_zlib").fact().help_text("No compression library"),
];
