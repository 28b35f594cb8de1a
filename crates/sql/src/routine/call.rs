//! CALL: a procedure's arguments, its run, and what becomes of its OUT parameters.
//!
//! A procedure is not one statement. Called by a client, or by another procedure that was, each of
//! its statements goes through the executor like a client's own: it asks for its privileges, has a
//! moment and a list of conditions of its own, and with autocommit a transaction of its own. Its
//! result sets go to the client as they come, with SERVER_MORE_RESULTS_EXISTS, and the OK of the
//! CALL follows the last one. Called from a function or a trigger it runs like one, within the
//! calling statement: it neither commits nor sends rows (F1 of `routine.rs`).
//!
//! (C1) A prepared statement that a procedure executes sees neither its variables nor the values of
//!      the `?` of the statement that has called it.

use std::sync::Arc;

use super::{
    Left, ProgramKind, Routine, find_local, fit, is_in_function, locals, rights, run_frame, scope, storing,
};
use crate::catalog::UserAtHost;
use crate::executor::{self, Done};
use crate::expression::{Node, Resolver, Row};
use crate::output::{Described, Output, OutputColumn};
use crate::privilege::Privileges;
use crate::session::{Context, ParameterTargets, ReadLocks, client_gone, finish_transaction};
use crate::status::Counter;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::sink::{ColumnMeta, OkInfo, ResultSink, status_flag};
use datum::types::{DataType, Type};
use datum::value::{Datum, store};
use syntax::ast::{Expr, ExprKind, ObjectName, ParameterMode, Statement, StatementKind};

/// Where the value of an OUT or INOUT parameter goes.
enum Target {
    User(Box<str>),
    Local(usize, DataType),
    /// The number of a `?`.
    Parameter(u32),
}

/// CALL.
pub(crate) fn execute(
    cx: &mut Context,
    name: &ObjectName,
    arguments: &[Expr],
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done> {
    cx.count(Counter::ComCallProcedure);
    let (routine, shown) = find(cx, name, arguments.len())?;
    check_recursion(cx, &routine)?;
    let in_function = is_in_function(cx);
    if in_function {
        routine.program.effects.check_in_function()?;
    } else if routine.program.effects.has_results && !cx.connection.multi_results {
        return Err(error::SP_BADSELECT.with(&[&shown]));
    }
    let targets = targets(cx, &routine, arguments, &shown)?;
    let locals = arguments_of(cx, &routine, arguments, text)?;
    let grants = rights::of_call(cx, &routine)?;
    // (C1)
    let parameters = std::mem::take(&mut cx.statement.parameters);
    let mut sink = ProgramSink { sink, in_rows: false };
    let (outcome, left) = run_frame(cx, &routine, locals, grants, &mut sink);
    cx.statement.parameters = parameters;
    outcome?;
    return_values(cx, &routine, targets, left, &mut sink)?;
    let status = &mut cx.statement.status;
    status.affected = u64::try_from(status.row_count).unwrap_or(0);
    status.insert_id = 0;
    status.info.clear();
    Ok(Done { release: std::mem::take(&mut cx.statement.releases), ..Done::default() })
}

/// The procedure that CALL names, and its qualified name; errors 1046, 1305 and 1318.
pub(crate) fn find(cx: &Context, name: &ObjectName, arguments: usize) -> Result<(Arc<Routine>, String)> {
    let database = name.database.as_deref().or(cx.default_database());
    let database = database.ok_or_else(|| error::NO_DB_SELECTED.plain())?;
    let routine = cx.procedure(database, &name.name)?;
    let shown = format!("{}.{}", routine.database, routine.name);
    match arguments == routine.parameters {
        true => Ok((routine, shown)),
        false => {
            let counts: [&dyn std::fmt::Display; 4] = [&"PROCEDURE", &shown, &routine.parameters, &arguments];
            Err(error::SP_WRONG_NO_OF_ARGS.with(&counts))
        }
    }
}

/// Error 1456; and 1424 in a function or trigger, which may not recurse by way of a procedure
/// either.
fn check_recursion(cx: &Context, routine: &Arc<Routine>) -> Result<()> {
    datum::stack::check()?;
    let is_same = |other: &Routine| {
        other.kind == ProgramKind::Procedure
            && other.database == routine.database
            && other.name.eq_ignore_ascii_case(&routine.name)
    };
    let running = cx.statement.frames.iter().filter(|frame| is_same(&frame.routine)).count() as u64;
    let limit = cx.settings.variables().uint(ids::MAX_SP_RECURSION_DEPTH);
    match running > limit {
        true => Err(error::SP_RECURSION_LIMIT.with(&[&limit, &routine.name])),
        false => Ok(()),
    }
}

/// Where the values of the OUT and INOUT parameters will go. Error 1414.
fn targets(
    cx: &mut Context,
    routine: &Routine,
    arguments: &[Expr],
    shown: &str,
) -> Result<Vec<(usize, Target)>> {
    let mut targets = Vec::new();
    for (number, (argument, mode)) in arguments.iter().zip(&routine.program.modes).enumerate() {
        if *mode == ParameterMode::In {
            continue;
        }
        let target = match &argument.kind {
            ExprKind::UserVariable(name) => Some(Target::User(name.as_str().into())),
            ExprKind::Parameter(parameter) => Some(Target::Parameter(*parameter)),
            ExprKind::Column(name) => {
                let local = match &name.table {
                    None => find_local(cx, &name.column),
                    Some(row) => {
                        locals(cx).find_of_row(row, &name.column).map(|(place, ty)| (place, ty.clone()))
                    }
                };
                local.map(|(place, ty)| Target::Local(place, ty))
            }
            _ => None,
        };
        match target {
            Some(target) => targets.push((number, target)),
            None => return Err(error::SP_NOT_VAR_ARG.with(&[&(number + 1), &shown])),
        }
    }
    Ok(targets)
}

/// The values that the variables begin with: those of the arguments, and NULL for all others.
fn arguments_of(
    cx: &mut Context,
    routine: &Routine,
    arguments: &[Expr],
    text: &[u8],
) -> Result<Vec<Datum<'static>>> {
    let mut locals = vec![Datum::Null; routine.variables.len()];
    for (number, (argument, mode)) in arguments.iter().zip(&routine.program.modes).enumerate() {
        if *mode == ParameterMode::Out {
            continue;
        }
        let scope = scope(cx);
        let expr = Resolver::new(cx, scope).with_text(text).expr(argument)?;
        let mut calls = false;
        expr.walk(&mut |e| calls |= matches!(e.node, Node::Stored(..)));
        let charset = expr.ty.text_charset();
        let evaluate = |cx: &mut Context| {
            let value = expr.eval(cx, Row::None)?.into_owned();
            Ok(store::of_expression(value, &expr.ty))
        };
        let value = match calls {
            true => executor::in_statement(cx, text, |cx| storing(cx, evaluate))?,
            false => storing(cx, evaluate)?,
        };
        if let Some(e) = cx.statement.take_strict_error() {
            return Err(e);
        }
        let variable = routine.variables.get(number);
        let variable = variable.ok_or_else(|| SqlError::internal("a parameter without a place"))?;
        locals[number] = fit(cx, value, charset, &variable.ty, &variable.name)?;
    }
    if !is_in_function(cx) {
        finish_transaction(cx, Ok(()))?;
    }
    Ok(locals)
}

/// The procedure has succeeded: its OUT and INOUT parameters go where the arguments say. A client
/// that has executed a prepared CALL is sent the values of its `?` as a result set of one row.
fn return_values(
    cx: &mut Context,
    routine: &Routine,
    targets: Vec<(usize, Target)>,
    left: Left,
    sink: &mut ProgramSink<'_>,
) -> Result<()> {
    let (mut columns, mut row) = (Vec::new(), Vec::new());
    for (number, target) in targets {
        let Some(variable) = routine.variables.get(number) else { continue };
        let value = left.locals.get(number).cloned().unwrap_or_default();
        let ty = Type::of_column(&variable.ty, true);
        match target {
            Target::User(name) => cx.set_user_variable(&name, value, ty),
            Target::Local(place, of) => {
                let value = store::of_expression(value, &ty);
                super::assign(cx, place, &of, value, ty.collation.charset())?;
            }
            Target::Parameter(parameter) => match &cx.statement.parameter_targets {
                ParameterTargets::Client => {
                    columns.push(OutputColumn::computed(&variable.name, ty));
                    row.push(value);
                }
                ParameterTargets::Variables(names) => {
                    if let Some(name) = names.get(parameter as usize).cloned() {
                        cx.set_user_variable(&name, value, ty);
                    }
                }
            },
        }
    }
    if columns.is_empty() {
        return Ok(());
    }
    sink.out_parameters();
    let described = Described::new(cx.settings.results_collation(), &columns);
    Output::begin(sink, Arc::new(described))?.row(&mut row)?;
    let flags = status_flag::MORE_RESULTS_EXISTS | status_flag::PS_OUT_PARAMS;
    let ok = OkInfo { status: cx.server_status() | flags, ..OkInfo::default() };
    sink.finish(&ok).map_err(client_gone)
}

/// Runs an event's body, which is compiled like a procedure's, for nobody's client.
///
/// # Errors
/// 1449 if its definer is gone, 1044 if that may have no events in its database.
pub(crate) fn run_event(
    cx: &mut Context,
    event: &Arc<Routine>,
    definer: &UserAtHost,
    sink: &mut dyn ResultSink,
) -> Result<()> {
    let UserAtHost { user, host } = definer;
    let found = cx.catalog().state().users.get(definer).map(|user| user.grants.clone());
    let grants = found.ok_or_else(|| error::NO_SUCH_USER.with(&[user, host]))?;
    if !grants.in_database(&event.database).has(Privileges::EVENT) {
        return Err(error::DBACCESS_DENIED_ERROR.with(&[user, host, &event.database]));
    }
    let locals = vec![Datum::Null; event.variables.len()];
    let mut sink = ProgramSink::of(sink);
    let run = |cx: &mut Context| run_frame(cx, event, locals, Some(grants), &mut sink).0.map(|_| ());
    cx.with_read_locks(ReadLocks::Always, run)
}

/// Runs a statement of a procedure that is not called from a function.
pub(super) fn statement(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut ProgramSink<'_>,
) -> Result<()> {
    cx.begin_program_statement();
    let outcome = match &statement.kind {
        StatementKind::Prepare { name, source } => cx.prepare_named(name, source).map(|()| Done::default()),
        StatementKind::Deallocate(name) => cx.deallocate(name).map(|()| Done::default()),
        StatementKind::Execute { name, using } => cx.execute_nested(name, using, sink),
        _ => executor::execute(cx, statement, text, sink),
    };
    let outcome = finish_transaction(cx, outcome);
    let done = match outcome {
        Ok(done) => done,
        Err(e) => {
            sink.end_partial(cx)?;
            return Err(e);
        }
    };
    cx.statement.releases |= done.release;
    cx.statement.set_row_count(&statement.kind, done.has_rows);
    if !done.has_rows {
        return Ok(());
    }
    let status = cx.server_status() | status_flag::MORE_RESULTS_EXISTS;
    sink.finish(&OkInfo { status, ..OkInfo::default() }).map_err(client_gone)
}

/// The client, as the statements of a procedure see it.
pub(crate) struct ProgramSink<'s> {
    sink: &'s mut dyn ResultSink,
    /// A result set has begun and not ended.
    in_rows: bool,
}

impl ProgramSink<'_> {
    /// For what sends nothing.
    pub(super) fn of(sink: &mut dyn ResultSink) -> ProgramSink<'_> {
        ProgramSink { sink, in_rows: false }
    }

    /// A statement has failed after its first row: the set ends there, for the procedure may have a
    /// handler, and go on.
    fn end_partial(&mut self, cx: &Context) -> Result<()> {
        if !self.in_rows {
            return Ok(());
        }
        let status = cx.server_status() | status_flag::MORE_RESULTS_EXISTS;
        self.finish(&OkInfo { status, ..OkInfo::default() }).map_err(client_gone)
    }
}

impl ResultSink for ProgramSink<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.in_rows = true;
        self.sink.columns(columns)
    }

    fn row(&mut self, values: &[Datum<'_>]) -> std::io::Result<()> {
        self.sink.row(values)
    }

    fn finish(&mut self, ok: &OkInfo<'_>) -> std::io::Result<()> {
        self.in_rows = false;
        self.sink.finish(ok)
    }

    fn out_parameters(&mut self) {
        self.sink.out_parameters();
    }
}

/// What a statement may do in a procedure; errors are those of CREATE PROCEDURE.
pub(super) fn check_allowed(kind: &StatementKind, effects: &mut super::handlers::Effects) -> Result<()> {
    use StatementKind as S;
    let refused = |what: &str| Err(error::SP_BADSTATEMENT.with(&[&what]));
    match kind {
        S::Use(_) => return refused("USE"),
        S::LoadData(_) => return refused("LOAD DATA"),
        S::LockTables(_) => return refused("LOCK"),
        S::UnlockTables => return refused("UNLOCK"),
        S::Handler(_) => return refused("HANDLER"),
        S::Help(_) => return refused("HELP"),
        S::TableMaintenance(maintenance) => {
            use syntax::ast::MaintenanceVerb as V;
            if maintenance.verb == V::Check {
                return refused("CHECK");
            }
            effects.has_results = true;
        }
        S::AlterRoutine { kind, .. } | S::DropRoutine { kind, .. } => {
            return Err(error::SP_NO_DROP_SP.with(&[&kind.name()]));
        }
        S::CreateView(create) if create.alter => return refused("ALTER VIEW"),
        S::Query(query) => effects.has_results |= query.into.is_none(),
        S::Show(_) | S::Explain(_) => effects.has_results = true,
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => effects.is_dynamic = true,
        S::Commit(_) | S::Rollback(_) | S::Xa(_) => effects.commits = true,
        S::Set(items) => {
            use syntax::ast::SetItem;
            let is_autocommit = |item: &SetItem| match item {
                SetItem::Variable { name, .. } => name.component.is_none() && name.name.is("autocommit"),
                _ => false,
            };
            effects.sets_autocommit |= items.iter().any(is_autocommit);
        }
        _ => {}
    }
    effects.commits |= crate::statement_class::commits_implicitly(kind);
    Ok(())
}
