//! Statements of a source's log: definitions, and changes that the source logged as text.

use binlog::event::{EventHeader, IntvarEvent, QueryEvent, RandEvent, UserVarEvent, UserVarValue};
use binlog::gtid::GtidSpecification;

use super::members;
use super::portable;
use super::settings::{UTF8MB4_GENERAL_CI, unknown_charset};
use super::texts::{self, TextKind, Treatment};
use super::{Applier, corrupt};
use crate::catalog::parse_one;
use crate::executor::Discard;
use crate::session::gtid_next::GtidNext;
use datum::error::{
    self, IF_NOT_EXISTS_UNSUPPORTED_TRIGGER_EXISTS_ON_DIFFERENT_TABLE as TRIGGER_OF_ANOTHER_TABLE, Result,
    SqlError,
};
use datum::types::Collation;
use syntax::ast::StatementKind;

/// What the source's log says of functions and variables in the next statement.
#[derive(Debug, Default)]
pub(super) struct StatementValues {
    /// Assignments, in SET's words.
    assignments: Vec<String>,
}

impl StatementValues {
    /// LAST_INSERT_ID(), or the next number of an AUTO_INCREMENT column.
    pub(super) fn intvar(&mut self, event: &IntvarEvent) {
        const LAST_INSERT_ID: u8 = 1;
        let name = if event.kind == LAST_INSERT_ID { "last_insert_id" } else { "insert_id" };
        self.assignments.push(format!("{name} = {}", event.value));
    }

    /// RAND()'s seeds.
    pub(super) fn rand(&mut self, event: &RandEvent) {
        let (first, second) = event.seeds();
        self.assignments.push(format!("rand_seed1 = {first}, rand_seed2 = {second}"));
    }

    /// A user variable.
    ///
    /// # Errors
    /// 1115 for a character set that is not known here.
    pub(super) fn user_variable(&mut self, event: &UserVarEvent<'_>) -> Result<()> {
        let name = String::from_utf8_lossy(event.name).replace('`', "``");
        let value = match &event.value {
            None => "NULL".to_owned(),
            Some(value) => text_of(value)?,
        };
        self.assignments.push(format!("@`{name}` := {value}"));
        Ok(())
    }

    fn take(&mut self) -> Option<String> {
        if self.assignments.is_empty() {
            return None;
        }
        Some(format!("SET {}", std::mem::take(&mut self.assignments).join(", ")))
    }
}

/// A value in SET's words.
fn text_of(value: &UserVarValue<'_>) -> Result<String> {
    const STRING: u8 = 0;
    const REAL: u8 = 1;
    const INTEGER: u8 = 2;
    const DECIMAL: u8 = 4;
    let eight = || -> Result<[u8; 8]> {
        value.bytes.try_into().map_err(|_| corrupt("a user variable's value of another length"))
    };
    Ok(match value.kind {
        STRING => {
            let number = u16::try_from(value.charset).unwrap_or(u16::MAX);
            let collation = Collation::by_id(number).ok_or_else(|| unknown_charset(value.charset))?;
            let (charset, collation) = (collation.charset().name(), collation.name());
            let hex: String = value.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("_{charset} X'{hex}' COLLATE {collation}")
        }
        REAL => format!("{:e}", f64::from_le_bytes(eight()?)),
        INTEGER if value.unsigned => u64::from_le_bytes(eight()?).to_string(),
        INTEGER => i64::from_le_bytes(eight()?).to_string(),
        DECIMAL => match value.bytes {
            [precision, scale, bytes @ ..]
                if *scale <= *precision
                    && bytes.len() == binlog::row::decimal::encoded_len(*precision, *scale) =>
            {
                datum::value::Decimal::from_binary(bytes, *precision, *scale).to_string()
            }
            _ => return Err(corrupt("a user variable's decimal")),
        },
        _ => return Err(corrupt("a user variable of an unknown type")),
    })
}

/// What a Query event is for its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Begin,
    Commit,
    Rollback,
    XaStart,
    Statement,
}

fn role_of(sql: &[u8]) -> Role {
    let text = sql.trim_ascii();
    let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
    if is(b"BEGIN") {
        Role::Begin
    } else if is(b"COMMIT") {
        Role::Commit
    } else if is(b"ROLLBACK") {
        Role::Rollback
    } else if text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"XA START ")) {
        Role::XaStart
    } else {
        Role::Statement
    }
}

impl Applier {
    /// A Query event.
    pub(super) fn query(
        &mut self,
        header: &EventHeader,
        query: &QueryEvent<'_>,
        passed_over: bool,
    ) -> Result<()> {
        let role = role_of(&query.sql);
        let in_transaction = self.group.as_ref().is_some_and(|group| group.in_transaction);
        match role {
            Role::Begin if !passed_over => return self.begin_transaction(),
            Role::Begin | Role::XaStart => {
                if let Some(group) = &mut self.group {
                    group.in_transaction = true;
                }
                if passed_over {
                    return Ok(());
                }
            }
            Role::Commit => return self.end_group(passed_over),
            Role::Rollback => {
                if !passed_over {
                    self.check_rollback().map_err(|e| in_statement(query, e))?;
                }
                // It is logged empty.
                self.session.context().rollback_changes();
                return self.end_group(passed_over);
            }
            Role::Statement => {}
        }
        if in_transaction || role == Role::XaStart {
            return if passed_over { Ok(()) } else { self.statement(header, query) };
        }
        let reached = self.note_position();
        if !passed_over {
            self.statement(header, query)?;
        }
        self.end_statement_group(reached)
    }

    /// Runs a statement with the settings of its event.
    fn statement(&mut self, header: &EventHeader, query: &QueryEvent<'_>) -> Result<()> {
        // It reads what is committed, and must see all before it.
        self.await_pending()?;
        let mut query = query.clone();
        let in_transaction = self.group.as_ref().is_some_and(|group| group.in_transaction);
        if is_create_select(&query.sql, in_transaction)
            && let Some([client, connection, _]) = &mut query.status.charset
        {
            (*client, *connection) = (UTF8MB4_GENERAL_CI, UTF8MB4_GENERAL_CI);
        }
        let kind = texts::kind_of(&query.sql);
        self.check_settings(&query, kind).map_err(|e| in_statement(&query, e))?;
        self.note_statement(&query, kind).map_err(|e| in_statement(&query, e))?;
        let translated = self.translate_settings(&mut query, kind);
        translated.map_err(|e| in_statement(&query, e))?;
        let sql_mode = query.status.sql_mode.unwrap_or(0);
        if let Some(sql) = texts::with_if_exists(&query.sql, query.error_code) {
            (query.sql, query.error_code) = (sql.into(), 0);
        }
        let rewritten = match texts::treatment(&query.sql, sql_mode, self.is_mariadb) {
            Treatment::AsIs => None,
            Treatment::NoEffect => return Ok(()),
            Treatment::Refused(name) => return self.outcome(&query, Err(SqlError::unsupported(name))),
            Treatment::Rewritten(rewritten) => Some(rewritten),
        };
        if let Some(rewritten) = &rewritten {
            query.sql = rewritten.sql.clone().into();
        }
        let defaults_timestamps = query.status.explicit_defaults_for_timestamp == Some(false);
        if self.is_mariadb && defaults_timestamps && texts::generates_timestamp(&query.sql, sql_mode) {
            // They may be NULL there, and may not in MySQL.
            let name = "generated TIMESTAMP columns of a MariaDB with explicit_defaults_for_timestamp = OFF";
            return self.outcome(&query, Err(SqlError::unsupported(name)));
        }
        if self.is_mariadb && in_transaction && creates_table(&query.sql) {
            query.sql = [query.sql.trim_ascii_end(), b" START TRANSACTION"].concat().into();
        }
        if !self.passes_filters(&mut query) {
            return Ok(());
        }
        self.enter_source_session(query.thread_id);
        if let Some(set) = self.values.take() {
            self.session.execute(set.as_bytes(), &mut Discard)?;
        }
        if self.is_mariadb {
            let checked = portable::check(self.session.context(), &query, header.timestamp);
            checked.map_err(|e| in_statement(&query, e))?;
        } else if !self.is_duramen {
            members::check(self.session.context(), &query).map_err(|e| in_statement(&query, e))?;
        }
        if let Some(before) = rewritten.as_ref().and_then(|rewritten| rewritten.before.as_deref()) {
            self.run_before(header, &query, before)?;
        }
        let outcome = self.session.execute_logged(&query, header.timestamp, &mut Discard);
        let is_done = |e: &SqlError| rewritten.is_some_and(|rewritten| rewritten.is_done(e));
        let outcome = if outcome.as_ref().is_err_and(is_done) { self.keep_gtid() } else { outcome };
        if outcome.is_ok() && query.error_code != 0 {
            let e = format!("a definition that fails at the source, with error {}", query.error_code);
            return Err(in_statement(&query, SqlError::unsupported(e)));
        }
        self.outcome(&query, outcome)
    }

    /// What comes before a statement. The group ends with that, so its place in the source's log
    /// does, too: after a crash between them both are run.
    fn run_before(&mut self, header: &EventHeader, query: &QueryEvent<'_>, sql: &str) -> Result<()> {
        let position = self.session.context().take_origin_position();
        let before = QueryEvent { sql: sql.as_bytes().into(), ..query.clone() };
        let outcome = self.session.execute_logged(&before, header.timestamp, &mut Discard);
        self.session.context().set_origin_position(position);
        match outcome {
            Err(e) if texts::is_nothing_to_drop(&e) => Ok(()),
            outcome => self.outcome(&before, outcome),
        }
    }

    /// Notes what a transaction's statement is about, which decides what its rollback means.
    fn note_statement(&mut self, query: &QueryEvent<'_>, kind: TextKind) -> Result<()> {
        if kind == TextKind::Change && !std::mem::replace(&mut self.has_warned_of_statements, true) {
            tracing::warn!(
                channel = self.channel.name(),
                "the source logs changes as statements; binlog_format = ROW there would say what they have done"
            );
        }
        if texts::is_rollback_to_savepoint(&query.sql) {
            return self.check_rollback();
        }
        if let Some(group) = &mut self.group {
            group.has_changes |= kind == TextKind::Change;
            group.has_temporary |= texts::is_about_temporary(&query.sql);
        }
        Ok(())
    }

    /// A source logs what it has rolled back where that made or dropped a temporary table, or
    /// changed a table without transactions, which has kept the change.
    fn check_rollback(&self) -> Result<()> {
        match &self.group {
            Some(group) if group.has_changes && !group.has_temporary => Err(SqlError::unsupported(
                "a rollback at the source that did not take back changes of a table without transactions",
            )),
            _ => Ok(()),
        }
    }

    /// Whether the applier goes on after a statement.
    fn outcome(&mut self, query: &QueryEvent<'_>, outcome: Result<()>) -> Result<()> {
        let Err(e) = outcome else { return Ok(()) };
        self.passes_over(query, e)?;
        self.keep_gtid()
    }

    /// A statement that fails outside of a transaction gives its GTID up. Where the applier goes on
    /// after it, the group is logged empty, under that GTID.
    fn keep_gtid(&mut self) -> Result<()> {
        let cx = self.session.context();
        match cx.log.next() {
            GtidNext::Used(gtid) => cx.set_gtid_next(GtidSpecification::Assigned(gtid)),
            _ => Ok(()),
        }
    }

    /// Whether the applier goes on after an error.
    fn passes_over(&self, query: &QueryEvent<'_>, e: SqlError) -> Result<()> {
        match e {
            // The source has logged that it failed so.
            e if query.error_code != 0 && e.number == query.error_code => Ok(()),
            // MariaDB leaves the trigger as it is that another table has, with a note.
            e if self.is_mariadb && e.is(TRIGGER_OF_ANOTHER_TABLE) => Ok(()),
            // Its CREATE may have been left out: MySQL goes on, with and without filters.
            e if is_missing_trigger(query, &e) => Ok(()),
            e if self.rules.passes_over(&e) => {
                tracing::warn!(
                    channel = self.channel.name(),
                    number = e.number,
                    "a statement is passed over: {e}"
                );
                Ok(())
            }
            e => Err(in_statement(query, e)),
        }
    }
}

/// The text of CREATE TABLE .. SELECT, which the source has written itself: in UTF-8, whatever
/// character set the session had that is said beside it.
fn is_create_select(sql: &[u8], in_transaction: bool) -> bool {
    in_transaction && !sql.is_ascii() && creates_table(sql)
}

/// CREATE TABLE of MariaDB, whose rows follow in the same group: what MySQL logs as CREATE TABLE ..
/// START TRANSACTION.
fn creates_table(sql: &[u8]) -> bool {
    let mut words = sql.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    ["CREATE", "TABLE"]
        .iter()
        .all(|w| words.next().is_some_and(|word| word.eq_ignore_ascii_case(w.as_bytes())))
}

/// DROP TRIGGER of none.
fn is_missing_trigger(query: &QueryEvent<'_>, e: &SqlError) -> bool {
    (e.is(error::TRG_DOES_NOT_EXIST) || e.is(error::BAD_DB_ERROR))
        && parse_one(&query.sql, query.status.sql_mode.unwrap_or(0))
            .is_ok_and(|statement| matches!(statement.kind, StatementKind::DropTrigger { .. }))
}

/// An error with the statement that it came from.
fn in_statement(query: &QueryEvent<'_>, e: SqlError) -> SqlError {
    const SHOWN_MAX: usize = 1024;
    let shown = &query.sql[..query.sql.len().min(SHOWN_MAX)];
    let message = format!(
        "Error '{}' on query. Default database: '{}'. Query: '{}'",
        e.message,
        String::from_utf8_lossy(&query.database),
        String::from_utf8_lossy(shown)
    );
    SqlError { message, ..e }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_begins_or_ends_a_group_is_known() {
        for (sql, role) in [
            ("BEGIN", Role::Begin),
            (" commit ", Role::Commit),
            ("ROLLBACK", Role::Rollback),
            ("XA START X'61',X'',1", Role::XaStart),
            ("ROLLBACK TO `a`", Role::Statement),
            ("XA COMMIT X'61',X'',1", Role::Statement),
            ("BEGINNING", Role::Statement),
        ] {
            assert_eq!(role_of(sql.as_bytes()), role, "{sql}");
        }
    }
}
