//! Which engines a table may name. There is one engine, which answers to the name InnoDB; tables
//! that name another of MySQL's become its, as MySQL does where an engine is off.
//!
//! (N1) The log names no other engine: a replica would keep the rows in one that knows no
//!      transactions, beside others of the same transaction.

use super::ddl::Settings;
use datum::error::{self, Result, SqlError};
use syntax::ast::EngineName;
use syntax::sql_mode::NO_ENGINE_SUBSTITUTION;

/// Engines whose tables do here what they do in MySQL, and more: transactions, and rows that
/// outlive the server.
const SUBSTITUTED: [&str; 7] = ["ARCHIVE", "CSV", "HEAP", "MEMORY", "MERGE", "MRG_MYISAM", "MYISAM"];

/// Engines whose tables hold other rows, or none: in an ordinary table a program would read
/// something else.
const UNSUPPORTED: [&str; 4] = ["BLACKHOLE", "FEDERATED", "NDB", "NDBCLUSTER"];

/// The warnings for `engines` that a definition of a table of this name asks for: 1266, behind 1286
/// where nobody knows the name.
///
/// # Errors
///
/// With `NO_ENGINE_SUBSTITUTION` in `sql_mode`: 1286 for a name that nobody knows, 3161 for one in
/// `disabled_storage_engines`. Error 1235 for an engine that no table here can stand for.
pub(super) fn check<'a>(
    engines: impl Iterator<Item = &'a EngineName>,
    table: &str,
    settings: &Settings,
) -> Result<Vec<SqlError>> {
    let mut warnings = Vec::new();
    if !settings.from_client {
        return Ok(warnings);
    }
    let no_substitution = settings.sql_mode & NO_ENGINE_SUBSTITUTION != 0;
    let mut last = None;
    for EngineName { name, .. } in engines {
        let is_one_of = |list: &[&str]| list.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_one_of(&UNSUPPORTED) {
            return Err(SqlError::unsupported(format_args!("ENGINE={name}")));
        }
        let is_known = is_innodb(name) || is_one_of(&SUBSTITUTED);
        if !is_known {
            let e = error::UNKNOWN_STORAGE_ENGINE.with(&[name]);
            if no_substitution {
                return Err(e);
            }
            warnings.push(e);
        }
        last = Some(name);
    }
    if let Some(name) = last {
        if no_substitution && is_disabled(name, settings) {
            return Err(error::DISABLED_STORAGE_ENGINE.with(&[name]));
        }
        if !is_innodb(name) {
            warnings.push(error::WARN_USING_OTHER_HANDLER.with(&[&"InnoDB", &table]));
        }
    }
    Ok(warnings)
}

fn is_disabled(name: &str, settings: &Settings) -> bool {
    settings.disabled_engines.split(',').any(|disabled| disabled.trim().eq_ignore_ascii_case(name))
}

/// True for the name that the engine answers to.
pub(crate) fn is_innodb(name: &str) -> bool {
    name.eq_ignore_ascii_case("InnoDB")
}
