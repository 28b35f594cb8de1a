//! Executing statements.
//!
//! [`execute`] is where every statement comes through: it says for each kind whether it opens or
//! ends a transaction, who may run it, and which module does it.
//!
//! - [`select`], [`insert`], [`load_data`], [`change`] (UPDATE, DELETE): rows. [`query`]: how a
//!   plan runs, with [`operators`], [`access`], [`group`] and [`sort`], and what they do beyond
//!   their memory ([`crate::spill`]). [`crate::output`]: how rows reach the client.
//! - [`out_of_range`]: the text of error 1690.
//! - [`row_events`]: BINLOG, rows as the log has them.
//! - [`computed`]: generated columns, expression defaults, CHECK.
//! - [`ddl`], [`create_select`], [`alter`], [`temporary`]: definitions. [`crate::admin`]: SET,
//!   SHOW, KILL, FLUSH, PURGE and their like.

pub(crate) mod access;
pub(crate) mod alter;
mod assignments;
mod change;
pub(crate) use change::{delete_plan, update_plan};
pub(crate) mod computed;
mod consumers;
mod create_event;
mod create_select;
pub(crate) mod create_start;
mod create_view;
mod ddl;
mod delimited;
pub(crate) mod distinct;
pub(crate) mod foreign_keys;
pub(crate) mod group;
mod insert;
mod key_parts;
mod load_data;
mod maintenance;
mod multi_table;
mod on_duplicate;
pub(crate) mod operators;
pub(crate) mod out_of_range;
mod outfile;
mod password;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod row_events;
mod select;
mod server_file;
pub(crate) mod set_operation;
pub(crate) mod sort;
pub(crate) mod temporary;
mod through_join;
mod through_view;
mod triggers;
mod view_check;
pub(crate) mod view_columns;
mod view_target;
mod week_modes;
mod windows;
mod writer;

pub(crate) use load_data::LoggedFile;

use crate::catalog::{ColumnDef, TableDef};
use crate::expression::{Resolver, Row};
use crate::routine;
use crate::session::transaction::Characteristics;
use crate::session::{Context, ReadLocks};
use crate::statement_class;
use crate::status::Counter;
use crate::{system_schemas, system_tables};
use datum::error::{self, Result, SqlError};
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use datum::types::Charset;
use datum::value::{Datum, store};
use syntax::ast::{Completion, Expr, LoadDuplicates, ObjectName, SetItem, Statement, StatementKind};

/// How a statement went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// It had a result set.
    pub has_rows: bool,
    /// The connection is to be closed (RELEASE).
    pub release: bool,
}

const OK: Done = Done { has_rows: false, release: false };
const ROWS: Done = Done { has_rows: true, release: false };

/// Executes a client's statement.
pub(crate) fn execute(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    let around = std::mem::replace(&mut cx.statement.read_locks, ReadLocks::of(&statement.kind));
    let done = execute_checked(cx, statement, text, sink);
    cx.statement.read_locks = around;
    if done.is_err() {
        cx.statement_failed(&statement.kind);
    }
    done
}

fn execute_checked(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    use StatementKind as S;
    cx.check_password_valid(&statement.kind)?;
    cx.check_applied(&statement.kind)?;
    cx.check_row_format(&statement.kind)?;
    crate::privilege::check(cx, &statement.kind)?;
    cx.check_locked(&statement.kind)?;
    cx.check_branch(&statement.kind)?;
    create_start::check(cx, &statement.kind)?;
    cx.check_statement_writable(&statement.kind)?;
    if !cx.passes_gtid_next(&statement.kind)? {
        return Ok(OK);
    }
    if statement_class::commits_implicitly(&statement.kind) {
        cx.commit()?;
        if !matches!(statement.kind, S::Begin(_)) {
            cx.forget_next_transaction();
        }
    }
    cx.check_definition_writable(&statement.kind)?;
    match &statement.kind {
        S::TruncateTable(name) if truncates_log(cx, name) => {
            cx.count(Counter::ComTruncate);
            Ok(OK)
        }
        kind if statement_class::is_ddl(kind) => {
            temporary::check(cx, kind)?;
            let _passes = if temporary::is_temporary(kind) { None } else { Some(cx.enter_definition()?) };
            // Once more, for it may have waited while `read_only` was set
            // (W1 of `session/read_only.rs`).
            cx.check_statement_writable(kind)?;
            let lasting = temporary::lasting(cx, kind);
            let done = ddl::execute(cx, statement, text, sink)?;
            cx.note_lasting(lasting);
            Ok(done)
        }
        S::TableMaintenance(maintenance) => {
            maintenance::execute(cx, maintenance, statement.span.of(text), sink)
        }
        S::LockTables(tables) => {
            cx.count(Counter::ComLockTables);
            cx.lock_tables(tables).map(|()| OK)
        }
        S::UnlockTables => {
            cx.count(Counter::ComUnlockTables);
            cx.unlock_tables().map(|()| OK)
        }
        S::Xa(syntax::ast::Xa::Recover { convert_xid }) => {
            crate::admin::xa::recover(cx, *convert_xid, sink).map(|()| ROWS)
        }
        S::Xa(xa) => cx.xa(xa).map(|()| OK),
        S::LockInstance => cx.lock_instance().map(|()| OK),
        S::UnlockInstance => {
            cx.unlock_instance();
            Ok(OK)
        }
        S::Explain(explain) if !matches!(**explain, syntax::ast::Explain::Table { .. }) => {
            cx.count(Counter::ComExplainOther);
            let own = statement.span.of(text);
            in_statement(cx, own, |cx| crate::explain::execute(cx, explain, text, sink)).map(|()| ROWS)
        }
        S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_) | S::Do(_) => {
            rows(cx, statement, text, sink)
        }
        S::Call { name, arguments } => routine::call::execute(cx, name, arguments, text, sink),
        S::Signal(_) | S::GetDiagnostics(_) => conditions(cx, &statement.kind).map(|()| OK),
        S::Set(items) => match items.as_slice() {
            [item @ SetItem::Password { .. }] => {
                cx.commit()?;
                cx.forget_next_transaction();
                cx.check_definition_writable(&statement.kind)?;
                let _passes = cx.enter_definition()?;
                cx.check_statement_writable(&statement.kind)?;
                ddl::set_password(cx, item, sink)
            }
            _ => administer(cx, statement, text, sink),
        },
        S::Binlog(events) => {
            cx.count(Counter::ComBinlog);
            row_events::execute(cx, events).map(|()| OK)
        }
        S::Use(name) => {
            cx.count(Counter::ComChangeDb);
            use_database(cx, name).map(|()| OK)
        }
        S::Begin(options) => {
            cx.count(Counter::ComBegin);
            cx.begin(*options).map(|()| OK)
        }
        S::Commit(completion) => {
            cx.count(Counter::ComCommit);
            let ended = cx.transactions.characteristics();
            create_start::commit(cx)?;
            match is_plain(cx, *completion) {
                true => cx.commit_or_defer()?,
                false => cx.commit()?,
            }
            cx.commit_empty()?;
            complete(cx, *completion, ended)
        }
        S::Rollback(completion) => {
            cx.count(Counter::ComRollback);
            let ended = cx.transactions.characteristics();
            let lasting = cx.transactions.lasting();
            cx.rollback();
            temporary::warn_of_lasting(cx, lasting);
            complete(cx, *completion, ended)
        }
        S::Savepoint(name) => {
            cx.savepoint(name);
            Ok(OK)
        }
        S::RollbackTo(name) => {
            cx.rollback_to(name)?;
            let lasting = cx.transactions.lasting();
            temporary::warn_of_lasting(cx, lasting);
            Ok(OK)
        }
        S::ReleaseSavepoint(name) => cx.release(name).map(|()| OK),
        _ => administer(cx, statement, text, sink),
    }
}

/// TRUNCATE of a log's table, or of the summary of statements, which are no tables of the catalog.
/// False if it is of another table.
fn truncates_log(cx: &Context, name: &ObjectName) -> bool {
    if cx.temporary_table(name.database.as_deref(), &name.name).is_some() {
        return false;
    }
    match name.database.as_deref().or(cx.default_database()) {
        Some(database) if database.eq_ignore_ascii_case("mysql") => {
            cx.instance.statement_logs().truncate(&name.name)
        }
        Some(database) if database.eq_ignore_ascii_case("performance_schema") => {
            match name.name.to_ascii_lowercase().as_str() {
                "events_statements_summary_by_digest" => cx.instance.statement_digests().clear(),
                "events_statements_current" | "events_statements_history" => {
                    cx.instance.processes().iter().for_each(|process| process.events().clear());
                }
                "events_statements_history_long" => cx.instance.statement_events().clear_long(),
                "table_io_waits_summary_by_index_usage" | "table_io_waits_summary_by_table" => {
                    system_tables::clear_index_uses(cx);
                }
                _ => return false,
            }
            true
        }
        _ => false,
    }
}

/// SET, SHOW and the other statements that are neither about rows nor about definitions.
fn administer(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    match crate::admin::execute(cx, statement, text, sink) {
        Some(done) => done.map(|has_rows| Done { has_rows, ..OK }),
        None => Err(SqlError::unsupported(name_of(&statement.kind))),
    }
}

/// SIGNAL, RESIGNAL and GET DIAGNOSTICS.
fn conditions(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    match kind {
        StatementKind::Signal(signal) => {
            cx.count(if signal.resignal { Counter::ComResignal } else { Counter::ComSignal });
            routine::diagnostics::signal(cx, signal)
        }
        StatementKind::GetDiagnostics(get) => {
            cx.count(Counter::ComGetDiagnostics);
            routine::diagnostics::get_diagnostics(cx, get)
        }
        _ => Err(SqlError::internal("a statement that is about no conditions")),
    }
}

/// Executes a statement of a stored function, within the calling one.
pub(crate) fn execute_nested(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    cx.statement.status.affected = 0;
    cx.statement.status.insert_id = 0;
    let storing = std::mem::replace(&mut cx.statement.storing, false);
    let around = cx.statement.read_locks;
    cx.statement.read_locks = ReadLocks::of_nested(&statement.kind, around);
    let outcome = match &statement.kind {
        StatementKind::Set(items) => {
            crate::routine::as_statement(cx, |cx| crate::admin::set::set(cx, items, text))
        }
        StatementKind::Signal(_) | StatementKind::GetDiagnostics(_) => conditions(cx, &statement.kind),
        StatementKind::Call { name, arguments } => {
            routine::call::execute(cx, name, arguments, text, &mut Discard).map(|_| ())
        }
        _ => rows(cx, statement, text, &mut Discard).map(|_| ()),
    };
    cx.statement.storing = storing;
    cx.statement.read_locks = around;
    outcome?;
    cx.statement.set_row_count(&statement.kind, false);
    Ok(())
}

/// Statements that read or change rows.
fn rows(cx: &mut Context, statement: &Statement, text: &[u8], sink: &mut dyn ResultSink) -> Result<Done> {
    use StatementKind as S;
    let is_lenient = match &statement.kind {
        S::Do(_) => true,
        S::Insert(insert) => insert.ignore,
        S::Update(update) => update.ignore,
        S::Delete(delete) => delete.ignore,
        S::LoadData(load) => load.on_duplicate == LoadDuplicates::Ignore,
        _ => false,
    };
    let around = std::mem::replace(&mut cx.statement.lenient_calls, is_lenient);
    let outcome = rows_of(cx, statement, text, sink);
    cx.statement.lenient_calls = around;
    outcome
}

fn rows_of(cx: &mut Context, statement: &Statement, text: &[u8], sink: &mut dyn ResultSink) -> Result<Done> {
    use StatementKind as S;
    let own = statement.span.of(text);
    match &statement.kind {
        S::Query(query) => {
            cx.count(Counter::ComSelect);
            in_statement(cx, own, |cx| select::execute(cx, query, text, sink))
        }
        S::Insert(insert) => {
            cx.count(if insert.replace { Counter::ComReplace } else { Counter::ComInsert });
            in_statement(cx, own, |cx| insert::execute(cx, insert, text)).map(|()| OK)
        }
        S::Update(update) => {
            cx.count(Counter::ComUpdate);
            if let Some(outcome) = consumers::update(cx, update) {
                return outcome.map(|()| OK);
            }
            in_statement(cx, own, |cx| change::update(cx, update, text)).map(|()| OK)
        }
        S::Delete(delete) => {
            cx.count(Counter::ComDelete);
            in_statement(cx, own, |cx| change::delete(cx, delete, text)).map(|()| OK)
        }
        S::LoadData(load) => {
            cx.count(Counter::ComLoad);
            in_statement(cx, own, |cx| load_data::execute(cx, load, text, sink)).map(|()| OK)
        }
        S::Do(list) => {
            cx.count(Counter::ComDo);
            in_statement(cx, own, |cx| evaluate_all(cx, list, text)).map(|()| OK)
        }
        other => Err(SqlError::unsupported(name_of(other))),
    }
}

/// Runs a statement's part of the transaction: its changes stay if it succeeds, and are taken back
/// if it fails.
pub(crate) fn in_statement<T>(
    cx: &mut Context,
    text: &[u8],
    run: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    cx.begin_statement(text);
    let outcome = cx.with_own_results(run);
    // It came before what else went wrong.
    let outcome = match cx.statement.take_strict_error() {
        Some(e) => Err(e),
        None => outcome,
    };
    cx.end_statement(outcome.is_ok());
    outcome
}

/// How the values of one row are stored.
#[derive(Clone, Copy)]
struct RowRules {
    /// The row's number in the statement, for warnings.
    row: u64,
    rules: store::Rules,
}

/// Fits a value, whose text has that character set, to a column.
fn fit<'a>(
    cx: &mut Context,
    table: &TableDef,
    column: &ColumnDef,
    RowRules { row, rules }: RowRules,
    value: Datum<'a>,
    charset: Charset,
) -> Result<Datum<'a>> {
    let mut target = store::Target {
        column: &column.name,
        table: &table.name,
        row,
        rules,
        diagnostics: &mut cx.statement.diagnostics,
    };
    store::fit(value, charset, &column.ty, &mut target)
}

fn evaluate_all(cx: &mut Context, list: &[Expr], text: &[u8]) -> Result<()> {
    for ast in list {
        let scope = crate::routine::scope(cx);
        let expr = Resolver::new(cx, scope).with_text(text).expr(ast)?;
        expr.eval(cx, Row::None)?;
    }
    cx.statement.status.found_rows = 1;
    Ok(())
}

/// True if nothing follows the transaction's end: neither another transaction nor the session's
/// end.
fn is_plain(cx: &Context, completion: Completion) -> bool {
    completion == Completion::default() && cx.settings.completion_type() == 0
}

/// After COMMIT and ROLLBACK: what the statement says, or `completion_type`. A chained transaction
/// is like the one before.
fn complete(cx: &mut Context, completion: Completion, ended: Option<Characteristics>) -> Result<Done> {
    let default = cx.settings.completion_type();
    let chain = completion.chain.unwrap_or(default == 1 && completion.release != Some(true));
    let release = completion.release.unwrap_or(default == 2 && completion.chain != Some(true));
    if chain {
        cx.begin_chained(ended)?;
    }
    Ok(Done { release, ..OK })
}

pub(crate) fn use_database(cx: &mut Context, name: &str) -> Result<()> {
    // Whether a database is there is not for everybody to know.
    if !cx.grants().sees_tables(name) {
        return Err(error::DBACCESS_DENIED_ERROR.with(&[
            &cx.connection.account.user,
            &cx.connection.account.host,
            &name,
        ]));
    }
    if cx.catalog().state().database(name).is_none() && !system_schemas::is_system(name) {
        return Err(error::BAD_DB_ERROR.with(&[&name]));
    }
    cx.set_default_database(Some(name.to_owned()));
    cx.tracker.schema();
    Ok(())
}

/// Takes no rows: where a stored function's statements send theirs, which have none.
pub(crate) struct Discard;

impl ResultSink for Discard {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Datum<'_>]) -> std::io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> std::io::Result<()> {
        Ok(())
    }
}

/// What error 1235 calls a statement.
fn name_of(kind: &StatementKind) -> &'static str {
    use StatementKind as S;
    match kind {
        S::Handler(_) => "HANDLER",
        S::AlterTable(_) => "ALTER TABLE",
        S::CreateIndex(_) => "CREATE INDEX",
        S::DropIndex(_) => "DROP INDEX",
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => "PREPARE",
        S::Help(_) => "HELP",
        S::Reset(_) | S::ResetPersist { .. } => "RESET",
        S::InstallPlugin { .. } | S::UninstallPlugin(_) => "plugins",
        S::Restart => "RESTART",
        S::CreateRole { .. } | S::SetRole(_) | S::SetDefaultRole { .. } => "roles",
        _ => "this statement",
    }
}
