//! What CONVERT TO CHARACTER SET makes of the members of ENUM and SET columns. MySQL 9.7 leaves
//! their bytes as they are, which mean other texts in the new character set: `é` becomes `Ã©`
//! there. Here they are converted. So such a text of a MySQL stops, unless all members are ASCII.

use binlog::event::QueryEvent;
use datum::error::{Result, SqlError};
use datum::types::{Charset, DataType};
use syntax::ast::{AlterAction, StatementKind};

use crate::catalog::parse_one;
use crate::session::Context;

const WORD: &[u8] = b"CONVERT";

/// Checks a statement that a MySQL logged. What can't be parsed, or is about a table that is not
/// there, is left to those who run it.
///
/// # Errors
/// 1235 for a conversion whose outcome is another one here.
pub(super) fn check(cx: &Context, query: &QueryEvent<'_>) -> Result<()> {
    // Nearly all statements have no such word, and are not parsed for it.
    if !query.sql.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD)) {
        return Ok(());
    }
    let Ok(statement) = parse_one(&query.sql, query.status.sql_mode.unwrap_or(0)) else { return Ok(()) };
    let StatementKind::AlterTable(alter) = &statement.kind else { return Ok(()) };
    let database = alter.name.database.as_deref().or(std::str::from_utf8(&query.database).ok());
    let Ok(table) = cx.visible_table(database, &alter.name.name) else { return Ok(()) };
    for action in &alter.actions {
        let AlterAction::ConvertCharset { charset, collation } = action else { continue };
        let by_collation = || Some(datum::types::Collation::by_name(collation.as_ref()?)?.charset());
        let to: Option<Charset> =
            charset.as_ref().and_then(|name| Charset::by_name(name)).or_else(by_collation);
        let changes = |ty: &DataType| match ty {
            DataType::Enum { members, collation } | DataType::Set { members, collation } => {
                to != Some(collation.charset()) && !members.iter().all(|member| member.is_ascii())
            }
            _ => false,
        };
        if let Some(column) = table.columns.iter().find(|column| changes(&column.ty)) {
            return Err(SqlError::unsupported(format_args!(
                "CONVERT TO CHARACTER SET of the ENUM or SET column '{}' of a MySQL, whose members are not all ASCII (MySQL keeps \
                 their bytes, and with them other texts): write the column's definition anew here as SHOW CREATE TABLE has it \
                 there, and pass over this transaction",
                column.name
            )));
        }
    }
    Ok(())
}
