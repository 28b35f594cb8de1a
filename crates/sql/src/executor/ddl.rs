//! Executing DDL: plan, lock, commit, publish (the story is in [`crate::catalog`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    Done, OK, ROWS, create_event, create_select, create_start, create_view, key_parts, password, temporary,
    week_modes,
};
use crate::catalog::ddl::{self, LoggedText, Plan, TextForm};
use crate::catalog::read_back::checked_records;
use crate::catalog::{Catalog, Change, TableDef, ViewDef};
use crate::session::{Context, lock_tables};
use crate::status::Counter;
use binlog::LogPosition;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use syntax::ast::{RoutineKind, SetItem, Statement, StatementKind};

/// Executes a DDL statement. What was open is committed already.
pub(super) fn execute(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    count(cx, &statement.kind);
    match password::choose(cx, statement) {
        None => run(cx, statement, text).map(|()| OK),
        Some((statement, chosen)) => {
            run(cx, &statement, text)?;
            password::show(cx, chosen, sink)?;
            Ok(ROWS)
        }
    }
}

pub(super) fn set_password(cx: &mut Context, item: &SetItem, sink: &mut dyn ResultSink) -> Result<Done> {
    let statement = password::as_alter_user(item)?;
    crate::privilege::check_set_password(cx, &statement.kind)?;
    cx.count(Counter::ComSetPassword);
    // No such account: ALTER USER has another number for it.
    let no_match = |e: SqlError| if e.is(error::CANNOT_USER) { error::PASSWORD_NO_MATCH.plain() } else { e };
    match password::choose(cx, &statement) {
        None => run(cx, &statement, &[]).map(|()| OK).map_err(no_match),
        Some((statement, chosen)) => {
            run(cx, &statement, &[]).map_err(no_match)?;
            password::show(cx, chosen, sink)?;
            Ok(ROWS)
        }
    }
}

/// Runs an ALTER TABLE that another statement consists of. What was open is committed already.
pub(super) fn rebuild(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    let _passes = match temporary::alters_temporary(cx, &statement.kind) {
        true => None,
        false => Some(cx.enter_definition()?),
    };
    cx.check_statement_writable(&statement.kind)?;
    run(cx, statement, text)
}

fn run(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    match week_modes::rewrite(cx, statement, text)? {
        Some(rewritten) => run_with_modes(cx, &rewritten.statement, &rewritten.text),
        None => run_with_modes(cx, statement, text),
    }
}

/// Runs a statement whose calls of WEEK() have a mode, or one that is not of the session.
fn run_with_modes(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<()> {
    if let Some(rewritten) = create_event::rewrite(cx, statement, text)? {
        return run_plain(cx, &rewritten.statement, &rewritten.text, rewritten.form);
    }
    match key_parts::rewrite(cx, statement, text)? {
        Some(rewritten) => run_plain(cx, &rewritten.statement, &rewritten.text, rewritten.form),
        None => match create_view::rewrite(cx, statement, text)? {
            Some(rewritten) => run_plain(cx, &rewritten.statement, &rewritten.text, rewritten.form),
            None => run_plain(cx, statement, text, TextForm::Session),
        },
    }
}

/// Runs a statement without indexes on expressions.
fn run_plain(cx: &mut Context, statement: &Statement, text: &[u8], form: TextForm) -> Result<()> {
    use StatementKind as S;
    if temporary::alters_temporary(cx, &statement.kind) {
        return temporary::alter(cx, statement);
    }
    if let S::AlterTable(_) | S::CreateIndex(_) | S::DropIndex(_) = &statement.kind {
        return super::alter::execute(cx, statement, text, form);
    }
    if let Some(create) = create_start::of(&statement.kind) {
        return create_start::start(cx, create);
    }
    if let Some(source) = create_select::CreateSelect::of(&statement.kind) {
        return create_select::execute(cx, statement, source, text);
    }
    let instance = cx.instance.clone();
    let settings = cx.ddl_settings();
    loop {
        // Clients prove that they know the bytes that they send, which are not UTF-8.
        let client = cx.settings.client_charset();
        let own = |password: &[u8]| settings.client.convert(password.to_vec().into(), client).0;
        let hasher = |plugin: &str, password: &[u8]| instance.hash_password(plugin, &own(password));
        // Before the locks: whom to lock. The plan is made again under the latch, for what was seen
        // may be gone by then.
        let state = cx.catalog().state();
        let (tables, views) = match &statement.kind {
            S::RenameTable(pairs) => (
                ddl::tables_to_rename(pairs, &state, &settings)?,
                ddl::view::to_rename(pairs, &state, &settings)?,
            ),
            _ => {
                let plan = ddl::plan(statement, text, &state, &settings, &hasher)?;
                (plan.tables(), plan.views())
            }
        };
        drop(state);
        let _locks = lock_tables(cx, tables.clone(), views.clone())?;
        let catalog = instance.catalog();
        let _one_at_a_time = catalog.lock_ddl();
        let plan = ddl::plan(statement, text, &catalog.state(), &settings, &hasher)?;
        if !holds_all(catalog, &tables, &plan.tables()) || !holds_views(catalog, &views, &plan.views()) {
            continue;
        }
        for note in &plan.notes {
            cx.statement.diagnostics.note(note.clone());
        }
        plan.warnings.iter().for_each(|warning| cx.warn(warning.clone()));
        cx.statement.status.affected = plan.affected;
        for change in &plan.changes {
            if let Change::PutTable(table, _) = change {
                super::alter::check_expressions(cx, table)?;
            }
        }
        let (own, shared): (Vec<Change>, Vec<Change>) =
            plan.changes.into_iter().partition(temporary::is_change_of_temporary);
        let plan = Plan { changes: shared, ..plan };
        let sent = LoggedText { sql: statement.span.of(text).to_vec(), form };
        if let Some(position) = commit(cx, &plan, sent)? {
            catalog.publish(&plan.changes, position);
            cx.rename_locked(&plan.changes);
        }
        if let S::DropTable(_) = &statement.kind {
            cx.unlock_dropped(&tables);
        }
        temporary::apply(cx, own.iter())?;
        forget_database(cx, &statement.kind);
        return Ok(());
    }
}

/// True if all tables are locked, as they are now. A table that is gone meanwhile is no reason to
/// wait again: to give the other locks back would let those in who wait behind this statement. The
/// plan may have another definition of a table that the statement itself has changed before.
fn holds_all(catalog: &Catalog, locked: &[Arc<TableDef>], tables: &[Arc<TableDef>]) -> bool {
    let by_lock: HashMap<_, _> = locked.iter().map(|table| (Arc::as_ptr(&table.lock), table)).collect();
    tables.iter().all(|table| {
        let held = by_lock.get(&Arc::as_ptr(&table.lock));
        held.is_some_and(|held| Arc::ptr_eq(held, table) || catalog.is_current(held))
    })
}

/// True if all views that are there are locked. What takes a view's place has its lock; one that is
/// new has another, which nobody knows.
fn holds_views(catalog: &Catalog, locked: &[Arc<ViewDef>], views: &[Arc<ViewDef>]) -> bool {
    let is_locked = |view: &Arc<ViewDef>| locked.iter().any(|held| Arc::ptr_eq(&held.lock, &view.lock));
    views.iter().all(|view| is_locked(view) || catalog.view(&view.database, &view.name).is_none())
}

/// Logs the statement and writes the catalog's records, at one position. The caller has
/// [`crate::catalog::Catalog::lock_ddl`].
fn commit(cx: &mut Context, plan: &Plan, sent: LoggedText) -> Result<Option<LogPosition>> {
    if plan.changes.is_empty() {
        return cx.log_empty().map(|()| None);
    }
    let event = cx.ddl_event(plan.logged.clone().unwrap_or(sent), &plan.changes);
    let state = cx.catalog().state();
    let batch = checked_records(&plan.changes, &event, cx.statement.timestamp(), &state, &[]);
    // What was interrupted is not unreadable.
    let batch = batch.map_err(|e| datum::bounds::check().err().unwrap_or(e))?;
    drop(state);
    let committed =
        cx.instance.engine().commit_ddl(cx.group_context(), &event, batch, cx.log.replicated())?;
    cx.committed(committed.gtid);
    Ok(Some(committed.position))
}

/// The default database is gone with its database.
fn forget_database(cx: &mut Context, kind: &StatementKind) {
    if let StatementKind::DropDatabase { name, .. } = kind
        && cx.is_default_database(name)
    {
        cx.set_default_database(None);
    }
}

fn count(cx: &Context, kind: &StatementKind) {
    use StatementKind as S;
    cx.count(match kind {
        S::CreateDatabase(_) => Counter::ComCreateDb,
        S::AlterDatabase { .. } => Counter::ComAlterDatabase,
        S::DropDatabase { .. } => Counter::ComDropDb,
        S::CreateTable(_) => Counter::ComCreateTable,
        S::DropTable(_) => Counter::ComDropTable,
        S::TruncateTable(_) => Counter::ComTruncate,
        S::RenameTable(_) => Counter::ComRenameTable,
        S::AlterTable(_) => Counter::ComAlterTable,
        S::CreateIndex(_) => Counter::ComCreateIndex,
        S::DropIndex(_) => Counter::ComDropIndex,
        S::CreateRoutine(create) => match create.kind {
            RoutineKind::Function => Counter::ComCreateFunction,
            RoutineKind::Procedure => Counter::ComCreateProcedure,
        },
        S::AlterRoutine { kind: RoutineKind::Function, .. } => Counter::ComAlterFunction,
        S::AlterRoutine { kind: RoutineKind::Procedure, .. } => Counter::ComAlterProcedure,
        S::DropRoutine { kind: RoutineKind::Function, .. } => Counter::ComDropFunction,
        S::DropRoutine { kind: RoutineKind::Procedure, .. } => Counter::ComDropProcedure,
        S::CreateUser(_) => Counter::ComCreateUser,
        S::AlterUser(_) => Counter::ComAlterUser,
        S::DropUser { .. } => Counter::ComDropUser,
        S::RenameUser(_) => Counter::ComRenameUser,
        S::Revoke(_) => Counter::ComRevoke,
        S::CreateView(_) => Counter::ComCreateView,
        S::DropView { .. } => Counter::ComDropView,
        S::CreateTrigger(_) => Counter::ComCreateTrigger,
        S::DropTrigger { .. } => Counter::ComDropTrigger,
        S::CreateEvent(_) => Counter::ComCreateEvent,
        S::AlterEvent(_) => Counter::ComAlterEvent,
        S::DropEvent { .. } => Counter::ComDropEvent,
        S::DropServer { .. } => Counter::ComDropServer,
        S::DropRole { .. } => Counter::ComDropRole,
        _ => Counter::ComGrant,
    });
}
