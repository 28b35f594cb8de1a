//! The schemas of system tables, by name: what may be known of them without their tables, which
//! [`crate::system_tables`] has. Names are the same in any case.

/// The schemas whose tables are made when a query asks for them.
pub(crate) const NAMES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Views of `sys` that show what INNODB_TRX and INNODB_METRICS have.
const FROM_ENGINE: [&str; 3] = ["innodb_lock_waits", "metrics", "x$innodb_lock_waits"];
/// Views of `sys` that show nothing of `performance_schema`.
const FROM_INFORMATION_SCHEMA: [&str; 4] =
    ["schema_auto_increment_columns", "schema_redundant_indexes", "version", "x$schema_flattened_keys"];

/// True for a schema of system tables.
pub(crate) fn is_system(database: &str) -> bool {
    NAMES.iter().any(|name| database.eq_ignore_ascii_case(name))
}

/// True for a schema that no client may change.
pub(crate) fn is_reserved(database: &str) -> bool {
    is_system(database)
}

/// True if everybody may read this table of `performance_schema`; others there ask for SELECT like
/// tables of their own.
pub(crate) fn is_open_to_all(database: &str, table: &str) -> bool {
    let open = ["global_status", "global_variables", "processlist", "session_status", "session_variables"];
    database.eq_ignore_ascii_case("performance_schema") && open.iter().any(|t| t.eq_ignore_ascii_case(table))
}

/// True if this table of `information_schema` is about the engine or its files, which asks for
/// PROCESS.
pub(crate) fn asks_for_process(database: &str, table: &str) -> bool {
    let table = table.to_ascii_uppercase();
    database.eq_ignore_ascii_case("information_schema") && (table.starts_with("INNODB_") || table == "FILES")
}

/// True if this view of `sys` shows what tables have that ask for PROCESS.
pub(crate) fn is_from_engine(view: &str) -> bool {
    FROM_ENGINE.iter().any(|name| view.eq_ignore_ascii_case(name))
}

/// True if this view of `sys` shows nothing of `performance_schema`; others ask for SELECT there.
pub(crate) fn is_from_information_schema(view: &str) -> bool {
    FROM_INFORMATION_SCHEMA.iter().any(|name| view.eq_ignore_ascii_case(name))
}
