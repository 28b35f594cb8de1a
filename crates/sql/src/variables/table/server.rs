//! The server as a whole: what it is, where its files are, how it logs.

use super::super::definition::{Variable, choice, double, flags, null_text, switch, text, uint};

/// MySQL's version that this server answers for, and its own.
const VERSION: &str = concat!("8.4.8-duramen-", env!("CARGO_PKG_VERSION"));

pub(super) const VARIABLES: &[Variable] = &[
    text("basedir", "").harmless().read_only().help_text("No effect: the binary needs no other files"),
    text("datadir", "duramen-data").read_only().help_text("Directory of all data; made at the first start"),
    uint("default_password_lifetime", 0, 0, 0).fixed().help_text("Passwords don't expire"),
    choice("event_scheduler", &["OFF", "ON", "DISABLED"], 2).fixed().help_text("There is none"),
    uint("flush_time", 0, 0, 0).fixed().help_text("Tables are flushed by checkpoints"),
    switch("general_log", false).fixed().help_text("There is no log of all statements"),
    text("general_log_file", "").harmless().help_text("No effect"),
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
    switch("large_files_support", true).fact().help_text("Always"),
    text("license", "MIT OR Apache-2.0").fact().help_text("Licence of this server"),
    text("log_error", "stderr").fixed().read_only().help_text("Messages go to standard error"),
    uint("log_error_verbosity", 3, 1, 3)
        .read_only()
        .help_text("Messages: 1 errors, 2 and warnings, 3 and notes"),
    switch("log_raw", false).fixed().help_text("Passwords are never logged"),
    flags("log_output", &["NONE", "FILE", "TABLE"], 1).fixed().help_text("There are no statement logs"),
    choice("log_timestamps", &["UTC", "SYSTEM"], 0).fixed().help_text("Messages have UTC times"),
    double("long_query_time", 10.0, 0.0, 31_536_000.0)
        .both()
        .harmless()
        .help_text("No effect: no slow query log"),
    switch("lower_case_file_system", false).fact().help_text("File names keep their case"),
    uint("lower_case_table_names", 0, 0, 0).fixed().read_only().help_text("Table names keep their case"),
    uint("max_prepared_stmt_count", 16_382, 0, 4_194_304)
        .help_text("Prepared statements that all sessions together may have"),
    switch("offline_mode", false).fixed().help_text("Stop the server instead"),
    uint("open_files_limit", 0, 0, u64::MAX)
        .harmless()
        .read_only()
        .help_text("No effect: the limit is raised as far as it goes"),
    switch("performance_schema", false).fixed().read_only().help_text("There is none; see SHOW STATUS"),
    text("pid_file", "")
        .read_only()
        .help_text("File with the process id; by default duramen.pid in the data directory"),
    text("plugin_dir", "").fact().help_text("There are no loadable plugins"),
    switch("read_only", false).fixed().help_text("Writable"),
    switch("slow_query_log", false).fixed().help_text("There is no slow query log"),
    text("slow_query_log_file", "").harmless().help_text("No effect"),
    uint("slow_launch_time", 2, 0, 31_536_000).harmless().help_text("No effect"),
    switch("super_read_only", false).fixed().help_text("Writable"),
    text("version", VERSION).fact().help_text("MySQL's version that clients may expect, and this server's"),
    text("version_comment", "Duramen, whose binary log is its only log")
        .fact()
        .help_text("What this server is"),
    text("version_compile_machine", std::env::consts::ARCH).fact().help_text("Processor"),
    text("version_compile_os", std::env::consts::OS).fact().help_text("Operating system"),
    null_text("version_compile_zlib").fact().help_text("No compression library"),
];
