//! Stored functions, procedures and triggers: compiled once to a list of instructions, then run.
//!
//! 1. compile  The function's text is parsed under the sql_mode of its creation; control flow
//!    becomes jumps, each variable gets a place in the frame, and each instruction knows which
//!    variables are in scope.
//! 2. call     A [`Frame`] with the arguments goes on the session's stack; instructions run until
//!    RETURN. SQL statements inside are executed like others, as statements within the calling one:
//!    they fail together. What they and the expressions are resolved to, the session keeps for its
//!    next call ([`plans`]). A procedure's statements are no part of a calling one ([`call`]).
//! 3. handle   An instruction that failed or warned may activate a handler ([`handlers`]).
//!
//! (F1) A function neither commits nor sends rows: such statements are refused when it is created.
//! (F2) A function does not call itself, directly or by others (error 1424).
//!
//! What a function does is in the log as row events, whatever it computes.

pub(crate) mod call;
mod compile;
mod cursor;
pub(crate) mod diagnostics;
mod handlers;
mod names;
mod plans;
mod rights;
pub(crate) mod trigger;
mod variables;

use std::sync::Arc;

use call::ProgramSink;
use handlers::{Program, ProgramState};
use plans::RoutineCache;
pub(crate) use plans::RoutinePlans;
use trigger::RowColumn;
pub(crate) use variables::Locals;
use variables::Variables;

use crate::catalog::UserAtHost;
use crate::executor;
use crate::expression::{Expr, Node, Resolver, Row, Scope};
use crate::planner::plan::{self, Basis};
use crate::privilege::{self, Grants};
use crate::session::{Context, StatementStatus, finish_transaction};
use crate::statement_class;
use datum::error::{self, Diagnostics, Result, SqlError};
use datum::types::{Charset, Collation, DataType};
use datum::value::zone::Zone;
use datum::value::{Datum, store};
use syntax::ast;

/// What a routine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    Function,
    Procedure,
    Trigger,
}

impl ProgramKind {
    /// As error messages name it.
    fn name(self) -> &'static str {
        match self {
            ProgramKind::Function => "function",
            ProgramKind::Procedure => "procedure",
            ProgramKind::Trigger => "trigger",
        }
    }
}

/// A compiled function, procedure or trigger.
pub(crate) struct Routine {
    kind: ProgramKind,
    name: String,
    database: String,
    /// How many of the variables are parameters; they are the first.
    parameters: usize,
    /// What a function returns.
    returns: Option<DataType>,
    /// The columns of a trigger's rows that are variables.
    row_columns: Vec<RowColumn>,
    variables: Arc<Variables>,
    program: Program,
    code: Vec<Action>,
    /// What the statements' spans point into.
    text: Vec<u8>,
    sql_mode: u64,
    connection: Collation,
    /// Whose rights it runs with; `None` for its caller's.
    definer: Option<UserAtHost>,
}

impl std::fmt::Debug for Routine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.name)
    }
}

/// An instruction.
enum Action {
    /// An SQL statement.
    Statement(Box<ast::Statement>),
    /// A variable gets a value; NULL without an expression, which all variables of one DECLARE
    /// share.
    Assign(usize, Option<Arc<ast::Expr>>),
    /// Goes on elsewhere unless the condition is true.
    JumpUnless(ast::Expr, usize),
    /// Goes on elsewhere.
    Jump(usize),
    /// The function's value.
    Return(ast::Expr),
    /// A CASE without a matching branch: error 1339.
    CaseNotFound,
    /// A cursor by its number, closed at first.
    DeclareCursor(usize, Box<ast::Statement>),
    OpenCursor(usize),
    /// The cursor's next row goes to these variables.
    Fetch(usize, Vec<usize>),
    CloseCursor(usize),
    /// The end of a handler's body.
    EndHandler,
}

/// Where an instruction leads.
enum ProgramStep {
    Next,
    To(usize),
    /// A function has its value, or the program is at its end.
    Return(Datum<'static>),
}

/// A function that runs.
pub(crate) struct Frame {
    /// Values of parameters and variables.
    pub(crate) locals: Vec<Datum<'static>>,
    routine: Arc<Routine>,
    /// Places of the columns of NEW that were assigned to.
    assigned: Vec<usize>,
    /// The instruction that runs.
    at: usize,
    cached: RoutineCache,
    program: ProgramState,
    /// What it may do; `None` for what the session's account may.
    grants: Option<Arc<Grants>>,
}

impl Frame {
    /// The database of the function that runs, in which its statements find their tables.
    pub(crate) fn database(&self) -> &str {
        &self.routine.database
    }

    /// True for a trigger, which has the rows OLD and NEW.
    pub(crate) fn is_trigger(&self) -> bool {
        self.routine.kind == ProgramKind::Trigger
    }

    /// The account whose rights it runs with, if that is not its caller's.
    pub(crate) fn definer(&self) -> Option<&UserAtHost> {
        self.routine.definer.as_ref()
    }

    /// True for a function or trigger, whose statements are part of the one that calls it.
    pub(crate) fn is_within_statement(&self) -> bool {
        self.routine.kind != ProgramKind::Procedure
    }

    /// Has its variables hidden, or seen again; returns whether they were
    /// (C1 of `routine/call.rs`).
    pub(crate) fn set_dynamic(&mut self, is_dynamic: bool) -> bool {
        std::mem::replace(&mut self.program.is_dynamic, is_dynamic)
    }

    /// What it may do, if that is not what the session's account may.
    pub(crate) fn grants(&self) -> Option<&Arc<Grants>> {
        self.grants.as_ref()
    }
}

/// The most functions that call each other.
const DEPTH_MAX: usize = 32;

impl Routine {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    /// How many arguments it takes.
    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    /// What a function returns.
    pub(crate) fn returns(&self) -> Result<&DataType> {
        self.returns.as_ref().ok_or_else(|| SqlError::internal("a function without RETURNS"))
    }
}

/// The variables in scope where the session is now, for resolving expressions.
pub(crate) fn scope(cx: &Context) -> Scope {
    Scope { locals: locals(cx), ..Scope::empty() }
}

/// The variables in scope.
pub(crate) fn locals(cx: &Context) -> Locals {
    match cx.statement.frames.last().filter(|frame| !frame.program.is_dynamic) {
        Some(frame) => Locals::at(&frame.routine.variables, frame.at),
        None => Locals::default(),
    }
}

/// A variable by name: its place and type.
pub(crate) fn find_local(cx: &Context, name: &str) -> Option<(usize, DataType)> {
    locals(cx).find(name).map(|(place, ty)| (place, ty.clone()))
}

/// True while a function or trigger runs: what runs now is part of the statement that calls it.
pub(crate) fn is_in_function(cx: &Context) -> bool {
    cx.statement.frames.iter().any(Frame::is_within_statement)
}

/// Gives a variable a value as far as it fits.
fn assign_leniently(
    cx: &mut Context,
    index: usize,
    ty: &DataType,
    value: Datum<'static>,
    charset: Charset,
) -> Result<()> {
    let rules = variable_rules(cx, ty, true);
    let diagnostics = &mut cx.statement.diagnostics;
    let mut target = store::Target { column: "", table: "", row: 1, rules, diagnostics };
    let value = read_bits(store::fit(value, charset, ty, &mut target)?, ty);
    if let Some(place) = cx.statement.frames.last_mut().and_then(|f| f.locals.get_mut(index)) {
        *place = value;
    }
    Ok(())
}

/// Gives a variable a value, in its type.
pub(crate) fn assign(
    cx: &mut Context,
    index: usize,
    ty: &DataType,
    value: Datum<'static>,
    charset: Charset,
) -> Result<()> {
    let routine = cx.statement.frames.last().map(|frame| frame.routine.clone());
    let name = routine.as_ref().and_then(|routine| routine.variables.get(index)).map(|v| &*v.name);
    let is_of_row =
        routine.as_ref().is_some_and(|routine| routine.row_columns.iter().any(|of| of.place == index));
    let fallback = is_of_row.then(|| value.clone());
    let value = match fit(cx, value, charset, ty, name.unwrap_or_default()) {
        Ok(value) => value,
        Err(e) => {
            fail_assignment(cx, index, ty, fallback, charset);
            return Err(e);
        }
    };
    let Some(frame) = cx.statement.frames.last_mut() else { return Ok(()) };
    if let Some(place) = frame.locals.get_mut(index) {
        *place = value;
    }
    if frame.routine.row_columns.iter().any(|of| of.place == index) && !frame.assigned.contains(&index) {
        frame.assigned.push(index);
    }
    Ok(())
}

/// A variable is NULL after an assignment that fails, which a handler may then see; a column of
/// NEW keeps what fits of the value.
fn fail_assignment(
    cx: &mut Context,
    index: usize,
    ty: &DataType,
    of_row: Option<Datum<'static>>,
    charset: Charset,
) {
    match of_row {
        Some(value) => {
            let conditions = cx.statement.diagnostics.clone();
            // What does not fit at all leaves the column as it is.
            if assign_leniently(cx, index, ty, value, charset).is_ok()
                && let Some(frame) = cx.statement.frames.last_mut()
                && !frame.assigned.contains(&index)
            {
                frame.assigned.push(index);
            }
            cx.statement.diagnostics = conditions;
        }
        None => {
            let frame = cx.statement.frames.last_mut();
            if let Some(place) = frame.and_then(|frame| frame.locals.get_mut(index)) {
                *place = Datum::Null;
            }
        }
    }
}

/// How a variable of a type is stored. One of type TIMESTAMP holds what was said, not its UTC.
fn variable_rules(cx: &Context, ty: &DataType, ignore: bool) -> store::Rules {
    let rules = cx.store_rules(ignore);
    let zoned = matches!(ty, DataType::Timestamp(_));
    if zoned { store::Rules { zone: Zone::UTC, ..rules } } else { rules }
}

fn fit(
    cx: &mut Context,
    value: Datum<'static>,
    charset: Charset,
    ty: &DataType,
    name: &str,
) -> Result<Datum<'static>> {
    let rules = variable_rules(cx, ty, false);
    let mut target =
        store::Target { column: name, table: "", row: 1, rules, diagnostics: &mut cx.statement.diagnostics };
    store::fit(value, charset, ty, &mut target).map(|value| read_bits(value, ty))
}

/// A stored value as it is read: BIT has bytes then.
fn read_bits(value: Datum<'_>, ty: &DataType) -> Datum<'static> {
    match (value, ty) {
        (Datum::UInt(bits), DataType::Bit(width)) => {
            let length = usize::from(*width).div_ceil(8).clamp(1, 8);
            Datum::Bits(bits.to_be_bytes()[8 - length..].to_vec().into())
        }
        (value, _) => value.into_owned(),
    }
}

/// Calls a function; with each argument comes the character set of its text.
pub(crate) fn call(
    cx: &mut Context,
    routine: &Arc<Routine>,
    arguments: Vec<(Datum<'static>, Charset)>,
) -> Result<Datum<'static>> {
    if cx.statement.frames.iter().any(|f| Arc::ptr_eq(&f.routine, routine))
        || cx.statement.frames.len() >= DEPTH_MAX
    {
        return Err(error::SP_NO_RECURSION.plain());
    }
    datum::stack::check()?;
    let mut locals = Vec::with_capacity(routine.variables.len());
    for (number, (value, charset)) in arguments.into_iter().enumerate().take(routine.parameters) {
        let parameter = routine.variables.get(number);
        let parameter = parameter.ok_or_else(|| SqlError::internal("a parameter without a place"))?;
        locals.push(fit_argument(cx, value, charset, parameter)?);
    }
    locals.resize(routine.variables.len(), Datum::Null);
    let grants = rights::of_call(cx, routine)?;
    run_frame(cx, routine, locals, grants, &mut ProgramSink::of(&mut executor::Discard)).0
}

/// The value that a function's parameter gets; as far as it fits, with a warning instead of an
/// error, where the statement that calls the function is lenient.
fn fit_argument(
    cx: &mut Context,
    value: Datum<'static>,
    charset: Charset,
    to: &variables::Variable,
) -> Result<Datum<'static>> {
    if !cx.statement.lenient_calls {
        return fit(cx, value, charset, &to.ty, &to.name);
    }
    let e = match fit(cx, value.clone(), charset, &to.ty, &to.name) {
        Ok(value) => return Ok(value),
        Err(e) => e,
    };
    let rules = variable_rules(cx, &to.ty, true);
    let mut unseen = Diagnostics::default();
    let mut target = store::Target { column: &to.name, table: "", row: 1, rules, diagnostics: &mut unseen };
    // What has no value even so, as a text that is no document, stays an error.
    let value = store::fit(value, charset, &to.ty, &mut target).map_err(|_| e.clone())?;
    cx.statement.diagnostics.warn(e);
    Ok(read_bits(value, &to.ty))
}

/// What a routine left in its frame.
#[derive(Default)]
struct Left {
    locals: Vec<Datum<'static>>,
    /// See [`Frame::assigned`].
    assigned: Vec<usize>,
}

/// Runs a routine in a frame of its own.
fn run_frame(
    cx: &mut Context,
    routine: &Arc<Routine>,
    locals: Vec<Datum<'static>>,
    grants: Option<Arc<Grants>>,
    sink: &mut ProgramSink<'_>,
) -> (Result<Datum<'static>>, Left) {
    let mut cached = cx.functions.plans.take(routine);
    let settings = cx.settings.variables().clone();
    let around = plans::enter(cx, &mut cached);
    let status = cx.statement.status.clone();
    let conditions = cx.statement.diagnostics.begin_program();
    let strict_error = cx.statement.take_strict_error();
    let lenient = std::mem::replace(&mut cx.statement.lenient_calls, false);
    let (program, assigned) = (ProgramState::default(), Vec::new());
    let frame = Frame { locals, routine: routine.clone(), assigned, at: 0, cached, program, grants };
    cx.statement.frames.push(frame);
    let within = is_in_function(cx);
    let outcome = run(cx, routine, sink, within);
    // What calls it knows its variables no more.
    let outcome = outcome.map_err(|e| executor::out_of_range::in_routine(cx, e));
    let mut left = Left::default();
    if let Some(Frame { locals, assigned, cached, .. }) = cx.statement.frames.pop() {
        cx.functions.plans.put(cached);
        left = Left { locals, assigned };
    }
    cx.statement.diagnostics.end_program(conditions);
    cx.statement.restore_strict_error(strict_error);
    cx.statement.lenient_calls = lenient;
    if within {
        // The calling statement's figures are its own again, but for ROW_COUNT(), as in MySQL.
        let row_count = cx.statement.status.row_count;
        cx.statement.status = StatementStatus { row_count, ..status };
    }
    plans::restore_settings(cx, routine, around);
    plans::restore_changed(cx, &settings, within);
    (outcome, left)
}

/// A variable whose new value could not even be computed is NULL; a column of NEW stays.
fn forget_value(cx: &mut Context, routine: &Routine, index: usize) {
    let is_of_row = routine.row_columns.iter().any(|of| of.place == index);
    let frame = cx.statement.frames.last_mut().filter(|_| !is_of_row);
    if let Some(place) = frame.and_then(|frame| frame.locals.get_mut(index)) {
        *place = Datum::Null;
    }
}

fn run(
    cx: &mut Context,
    routine: &Arc<Routine>,
    sink: &mut ProgramSink<'_>,
    within: bool,
) -> Result<Datum<'static>> {
    let mut at = 0;
    // What a RETURN counts for whose error or warning was handled: NULL where its value failed.
    let mut returned = None;
    loop {
        cx.check_interrupt()?;
        let Some(action) = routine.code.get(at) else {
            return match routine.kind {
                ProgramKind::Function => returned.ok_or_else(|| error::SP_NORETURNEND.with(&[&routine.name])),
                ProgramKind::Procedure | ProgramKind::Trigger => Ok(Datum::Null),
            };
        };
        if let Some(frame) = cx.statement.frames.last_mut() {
            frame.at = at;
        }
        if !action.keeps_conditions() {
            cx.statement.diagnostics.begin_statement();
        }
        let listed = cx.statement.diagnostics.conditions().len();
        let step = execute(cx, routine, action, sink, within);
        // It came before what else went wrong.
        let step = match cx.statement.take_strict_error() {
            Some(e) => Err(e),
            None => step,
        };
        let step = match action.evaluates() && !within {
            true => finish_transaction(cx, step),
            false => step,
        };
        // A table that is not there is missed before anything happens.
        if step.as_ref().is_err_and(|e| !e.is(error::NO_SUCH_TABLE)) {
            match action {
                Action::Assign(index, Some(_)) => forget_value(cx, routine, *index),
                Action::Return(_) => returned = Some(Datum::Null),
                _ => {}
            }
        }
        match handlers::handle(cx, routine, at, listed, step, &mut returned)? {
            ProgramStep::Next => at += 1,
            ProgramStep::To(next) => at = next,
            ProgramStep::Return(value) => return Ok(value),
        }
    }
}

impl Action {
    /// True for what leaves the list of conditions as it is.
    fn keeps_conditions(&self) -> bool {
        match self {
            Action::Statement(statement) => statement_class::keeps_diagnostics(&statement.kind),
            Action::Jump(_) | Action::DeclareCursor(..) | Action::EndHandler => true,
            _ => false,
        }
    }

    /// True for what may read tables without being a statement.
    fn evaluates(&self) -> bool {
        match self {
            Action::Assign(_, value) => value.is_some(),
            Action::JumpUnless(..) | Action::Return(_) | Action::OpenCursor(_) => true,
            _ => false,
        }
    }
}

/// Executes one instruction.
fn execute(
    cx: &mut Context,
    routine: &Arc<Routine>,
    action: &Action,
    sink: &mut ProgramSink<'_>,
    within: bool,
) -> Result<ProgramStep> {
    match action {
        Action::Statement(statement) => with_cached_plan(cx, |cx| match within {
            true => {
                privilege::check(cx, &statement.kind)?;
                executor::execute_nested(cx, statement, &routine.text)
            }
            false => call::statement(cx, statement, &routine.text, sink),
        })?,
        Action::Assign(index, value) => {
            let (value, charset) = match value {
                Some(value) => storing(cx, |cx| evaluate(cx, value))?,
                None => (Datum::Null, Charset::Binary),
            };
            let variable = routine.variables.get(*index);
            let variable = variable.ok_or_else(|| SqlError::internal("a variable without a place"))?;
            assign(cx, *index, &variable.ty, value, charset)?;
        }
        Action::JumpUnless(condition, target) => {
            if resolved(cx, condition, |cx, expr| expr.truth(cx, Row::None))? != Some(true) {
                return Ok(ProgramStep::To(*target));
            }
        }
        Action::Jump(target) => return Ok(ProgramStep::To(*target)),
        Action::Return(value) => {
            let (value, charset) = storing(cx, |cx| evaluate(cx, value))?;
            return fit(cx, value, charset, routine.returns()?, &routine.name).map(ProgramStep::Return);
        }
        Action::CaseNotFound => return Err(error::SP_CASE_NOT_FOUND.plain()),
        Action::DeclareCursor(number, _) => cursor::declare(cx, *number),
        Action::OpenCursor(number) => cursor::open(cx, routine, *number)?,
        Action::Fetch(number, into) => cursor::fetch(cx, routine, *number, into)?,
        Action::CloseCursor(number) => cursor::close(cx, *number)?,
        Action::EndHandler => return Ok(handlers::end(cx, routine)),
    }
    Ok(ProgramStep::Next)
}

/// Evaluates what a variable, a parameter or the caller gets: text that is no number is an error
/// under strict modes, as where a column gets it.
fn storing<T>(cx: &mut Context, run: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let around = std::mem::replace(&mut cx.statement.storing, true);
    let outcome = run(cx);
    cx.statement.storing = around;
    outcome
}

/// A value, and the character set of its text.
fn evaluate(cx: &mut Context, ast: &ast::Expr) -> Result<(Datum<'static>, Charset)> {
    resolved(cx, ast, |cx, expr| {
        let value = store::of_expression(expr.eval(cx, Row::None)?.into_owned(), &expr.ty);
        let charset = expr.ty.text_charset();
        Ok((value, charset))
    })
}

/// Resolves the expression of the instruction that runs, now or in an earlier call, and uses it.
/// What it reads of tables it reads as a statement within the calling one.
fn resolved<T>(
    cx: &mut Context,
    ast: &ast::Expr,
    run: impl FnOnce(&mut Context, &Expr) -> Result<T>,
) -> Result<T> {
    let reads_tables = |e: &Expr| matches!(e.node, Node::Subquery(_) | Node::Stored(..));
    let make = |cx: &mut Context, basis: &mut Basis| {
        let scope = scope(cx);
        let mut resolver = Resolver::new(cx, scope);
        let expr = resolver.expr(ast)?;
        basis.reads(&mut resolver);
        basis.evaluates(&expr);
        let reads = expr.contains(&mut |e| reads_tables(e));
        Ok((expr, reads))
    };
    with_cached_plan(cx, |cx| {
        let within = is_in_function(cx);
        privilege::check_evaluated(cx, ast)?;
        plan::run(cx, make, |cx, (expr, reads)| match reads {
            true if within => as_statement(cx, |cx| run(cx, expr)),
            // What functions change in it is taken back if it fails, as in a statement.
            true => executor::in_statement(cx, b"", |cx| run(cx, expr)),
            false => run(cx, expr),
        })
    })
}

/// Runs something that sees what the statement around it has changed so far.
pub(crate) fn as_statement<T>(cx: &mut Context, run: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    if cx.transactions.open.is_none() {
        return run(cx);
    }
    cx.storage_transaction().begin_statement(0, None); // the outermost one's time counts
    let outcome = run(cx);
    cx.storage_transaction().end_statement();
    outcome
}

/// Runs the instruction by its cached plan; what its subqueries give is this
/// execution's own.
fn with_cached_plan<T>(cx: &mut Context, run: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let plan = |cx: &mut Context| {
        let frame = cx.statement.frames.last_mut()?;
        frame.cached.plans.get_mut(frame.at).map(std::mem::take)
    };
    let cached = plan(cx);
    let around = std::mem::replace(&mut cx.statement.cached_plan, cached);
    let used_around = cx.statement.used_tables.push();
    let outcome = cx.with_own_results(run);
    cx.statement.used_tables.pop(used_around);
    let cached = std::mem::replace(&mut cx.statement.cached_plan, around);
    if let Some(frame) = cx.statement.frames.last_mut()
        && let Some(place) = frame.cached.plans.get_mut(frame.at)
    {
        *place = cached.unwrap_or_default();
    }
    outcome
}
