//! Members of ENUM and SET columns that are other ones at a MySQL than their definition says.
//!
//! - CONVERT TO CHARACTER SET leaves their bytes as they are in MySQL 9.7, which mean other texts
//!   in the new character set: `é` becomes `Ã©` there. Here they are converted.
//! - Characters that the session's `collation_connection` does not have become `?` there. Here they
//!   are kept.
//!
//! So such a text of a MySQL stops.

use binlog::event::QueryEvent;
use datum::error::{Result, SqlError};
use datum::types::{Charset, Collation, DataType};
use syntax::ast::{self, AlterAction, ColumnDefinition, StatementKind, TableContent};

use crate::catalog::parse_one;
use crate::session::Context;

const WORD: &[u8] = b"CONVERT";

/// Checks the members that a definition has written out.
fn check_written(query: &QueryEvent<'_>) -> Result<()> {
    let has_word = |word: &[u8]| query.sql.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word));
    let Some([client, connection, _]) = query.status.charset else { return Ok(()) };
    let charset = |id: u16| Collation::by_id(id).map(Collation::charset);
    let (Some(client), Some(connection)) = (charset(client), charset(connection)) else { return Ok(()) };
    let is_whole = connection == Charset::Utf8mb4 && client == Charset::Utf8mb4;
    if is_whole || query.sql.is_ascii() || !(has_word(b"ENUM") || has_word(b"SET")) {
        return Ok(());
    }
    let Ok(statement) = parse_one(&query.sql, query.status.sql_mode.unwrap_or(0)) else { return Ok(()) };
    for column in columns_of(&statement.kind) {
        let (ast::DataType::Enum { members, .. } | ast::DataType::Set { members, .. }) = &column.ty else {
            continue;
        };
        let is_lost = |member: &ast::Text| {
            let is_beyond = client == Charset::Utf8mb3 && member.iter().any(|&byte| byte >= 0xf0);
            is_beyond || client.convert((&**member).into(), connection).1
        };
        if members.iter().any(is_lost) {
            return Err(SqlError::unsupported(format_args!(
                "members of the ENUM or SET column '{}' with characters that the source's session did not have in its \
                 collation_connection (a MySQL has '?' for them)",
                column.name
            )));
        }
    }
    Ok(())
}

/// The columns that a statement defines.
fn columns_of(statement: &StatementKind) -> Vec<&ColumnDefinition> {
    match statement {
        StatementKind::CreateTable(table) => match &table.content {
            TableContent::Definition(table) => table.columns.iter().collect(),
            TableContent::Like(_) => Vec::new(),
        },
        StatementKind::AlterTable(alter) => {
            let mut columns = Vec::new();
            for action in &alter.actions {
                match action {
                    AlterAction::AddColumns(added) => columns.extend(added.iter().map(|(column, _)| column)),
                    AlterAction::ChangeColumn { definition, .. } => columns.push(definition),
                    _ => {}
                }
            }
            columns
        }
        _ => Vec::new(),
    }
}

/// Checks a statement that a MySQL logged. What can't be parsed, or is about a table that is not
/// there, is left to those who run it.
///
/// # Errors
/// 1235 for a statement whose outcome is another one here.
pub(super) fn check(cx: &Context, query: &QueryEvent<'_>) -> Result<()> {
    check_written(query)?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use binlog::event::StatusVars;

    /// Whether a definition stops that a session with these collations ran.
    fn stops(client: u16, connection: u16, sql: &str) -> bool {
        let status = StatusVars { charset: Some([client, connection, connection]), ..StatusVars::default() };
        let query = QueryEvent {
            thread_id: 1,
            exec_time: 0,
            error_code: 0,
            status,
            database: b"d".into(),
            sql: sql.as_bytes().into(),
            suppress_use: false,
        };
        check_written(&query).is_err()
    }

    #[test]
    fn members_that_the_session_could_not_have_are_found() {
        // `utf8mb4_0900_ai_ci`, `utf8mb3_general_ci`, `latin1_swedish_ci`.
        let [whole, utf8mb3, latin1] = [255, 33, 8];
        assert!(stops(whole, latin1, "CREATE TABLE t (a INT, e ENUM('a', '漢'))"));
        assert!(stops(whole, latin1, "ALTER TABLE t ADD (a INT, e SET('😀'))"));
        assert!(stops(whole, latin1, "ALTER TABLE t MODIFY e ENUM('a', '漢')"));
        assert!(stops(utf8mb3, whole, "CREATE TABLE t (e ENUM('😀'))"));
        assert!(!stops(whole, latin1, "CREATE TABLE t (e ENUM('é')) COMMENT '漢'"));
        assert!(!stops(whole, whole, "CREATE TABLE t (e ENUM('漢'))"));
        assert!(!stops(whole, latin1, "CREATE TABLE t LIKE `漢enum`"));
    }
}
