//! Condition handlers: which one a condition activates, and where the program goes on after it.
//!
//! 1. compile   A handler's body stands before the body of its block, and is jumped over. Its
//!    range says which instructions it serves: those of the block's body.
//! 2. activate  After an instruction that failed or warned, the handler of the innermost block is
//!    taken; of one block the most specific: an error's number before a SQLSTATE, this before a
//!    class ([`Program::find`]). The list of conditions is put on the stack, for RESIGNAL and GET
//!    STACKED DIAGNOSTICS.
//! 3. end       CONTINUE goes on after the statement that failed, of which IF, CASE and loops are
//!    one as a whole; EXIT after the block. What was handled is no condition any more.
//!
//! (H1) A handler serves its block's body, neither other handlers of the block nor itself. So the
//!      handlers that are active are nested as their blocks are, and there are no more of them than
//!      the parser allows blocks within each other.
//! (H2) KILL, the statement's limits of time, memory and stack, and in a function what has ended
//!      the transaction are handled by nobody.

use std::collections::HashMap;
use std::ops::Range;

use crate::session::Context;
use datum::error::{self, Condition, Diagnostics, Level, Result, SqlError};
use datum::value::Datum;
use syntax::ast::{ConditionValue, HandlerAction, ParameterMode};

use super::cursor::OpenCursor;
use super::{ProgramStep, Routine};

/// What a program has besides variables and instructions.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) handlers: Vec<Handler>,
    /// Where a CONTINUE handler goes on after the condition of an IF, CASE or loop.
    pub(super) resume: HashMap<usize, usize>,
    /// The instruction that declares each cursor.
    pub(super) cursors: Vec<usize>,
    /// What becomes of each parameter; a function's are all IN.
    pub(super) modes: Vec<ParameterMode>,
    /// What it does that a function may not do.
    pub(super) effects: Effects,
}

/// What no function or trigger may do, though a procedure that it calls may have it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Effects {
    pub(super) has_results: bool,
    pub(super) is_dynamic: bool,
    pub(super) sets_autocommit: bool,
    pub(super) commits: bool,
}

#[derive(Debug)]
pub(super) struct Handler {
    pub(super) action: HandlerAction,
    pub(super) conditions: Vec<ConditionValue>,
    /// The instructions that it serves.
    pub(super) serves: Range<usize>,
    /// Its own.
    pub(super) body: Range<usize>,
}

/// What a running program has besides its variables.
#[derive(Default)]
pub(super) struct ProgramState {
    /// The handlers that are active, the innermost last.
    pub(super) active: Vec<ActiveHandler>,
    /// Cursors by number; those never opened may be absent.
    pub(super) cursors: Vec<Option<OpenCursor>>,
    /// A prepared statement runs in it, which does not see its variables.
    pub(super) is_dynamic: bool,
}

/// A handler that has begun and not ended.
pub(super) struct ActiveHandler {
    handler: usize,
    resume: usize,
    /// What it handles.
    pub(super) condition: Condition,
    /// The conditions of the statement that it handles.
    pub(super) stacked: Diagnostics,
}

impl Program {
    /// The handler that a condition after the instruction `at` activates.
    fn find(&self, at: usize, condition: &Condition) -> Option<usize> {
        let mut best: Option<(usize, (usize, u8))> = None;
        for (number, handler) in self.handlers.iter().enumerate() {
            if !handler.serves.contains(&at) {
                continue;
            }
            let specificity =
                handler.conditions.iter().filter_map(|value| specificity(value, condition)).max();
            let Some(specificity) = specificity else { continue };
            // Blocks are nested: the innermost begins last.
            let rank = (handler.serves.start, specificity);
            if best.is_none_or(|(_, known)| known < rank) {
                best = Some((number, rank));
            }
        }
        best.map(|(number, _)| number)
    }
}

/// How exactly a handler's condition names one that has come up; `None` if it is another.
fn specificity(value: &ConditionValue, of: &Condition) -> Option<u8> {
    let (number, state) = (of.error.number, &of.error.sqlstate);
    match value {
        ConditionValue::Error(wanted) => (*wanted == u64::from(number)).then_some(3),
        ConditionValue::SqlState(wanted) => (wanted == state).then_some(2),
        ConditionValue::SqlWarning => (state.starts_with(b"01") || of.level == Level::Warning).then_some(1),
        ConditionValue::NotFound => state.starts_with(b"02").then_some(1),
        ConditionValue::SqlException => {
            let is_exception = state[0] != b'0' || state[1] > b'2';
            (is_exception && of.level == Level::Error).then_some(1)
        }
        // The compiler has put its value here.
        ConditionValue::Named(_) => None,
    }
}

/// (H2)
fn is_fatal(e: &SqlError, in_function: bool) -> bool {
    let fatal = [
        error::QUERY_INTERRUPTED,
        error::QUERY_TIMEOUT,
        error::STACK_OVERRUN_NEED_MORE,
        error::CAPACITY_EXCEEDED,
    ];
    fatal.iter().any(|code| e.is(*code)) || (in_function && e.ends_transaction())
}

/// Notes what went wrong with an instruction, and activates the handler for it or for a warning;
/// `listed` conditions were there before. The error if there is no handler for it. The value of a
/// RETURN whose warning is handled goes to `returned`.
pub(super) fn handle(
    cx: &mut Context,
    routine: &Routine,
    at: usize,
    listed: usize,
    outcome: Result<ProgramStep>,
    returned: &mut Option<Datum<'static>>,
) -> Result<ProgramStep> {
    let program = &routine.program;
    let (condition, next) = match outcome {
        Ok(step) if program.handlers.is_empty() => return Ok(step),
        Ok(step) => {
            let next = match step {
                ProgramStep::To(next) => next,
                _ => at + 1,
            };
            let new = cx.statement.diagnostics.conditions().get(listed..).unwrap_or_default();
            let is_handled = |condition: &&Condition| {
                condition.level != Level::Error && program.find(at, condition).is_some()
            };
            // The last is the one that counts.
            match new.iter().rfind(is_handled) {
                Some(condition) => {
                    let condition = condition.clone();
                    if let ProgramStep::Return(value) = step {
                        *returned = Some(value);
                    }
                    (condition, next)
                }
                None => return Ok(step),
            }
        }
        Err(e) => {
            cx.statement.status.row_count = -1;
            // No handler can tell what there is to ask: as in MySQL it ends the program, unlisted.
            if e.is(error::GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER) {
                return Err(e);
            }
            cx.statement.diagnostics.fail(&e);
            if program.handlers.is_empty() || is_fatal(&e, super::is_in_function(cx)) {
                return Err(e);
            }
            cx.check_interrupt()?;
            let is_it = |c: &&Condition| {
                c.level == Level::Error && c.error.number == e.number && c.error.message == e.message
            };
            let listed = cx.statement.diagnostics.conditions().iter().rfind(is_it).cloned();
            let condition = listed.unwrap_or_else(|| Condition::new(Level::Error, e.clone()));
            if program.find(at, &condition).is_none() {
                return Err(e);
            }
            (condition, program.resume.get(&at).copied().unwrap_or(at + 1))
        }
    };
    let Some(number) = program.find(at, &condition) else { return Ok(ProgramStep::To(next)) };
    let handler = &program.handlers[number];
    let resume = match handler.action {
        HandlerAction::Continue => next,
        HandlerAction::Exit => handler.serves.end,
    };
    let stacked = cx.statement.diagnostics.begin_handler();
    if let Some(frame) = cx.statement.frames.last_mut() {
        frame.program.active.push(ActiveHandler { handler: number, resume, condition, stacked });
    }
    Ok(ProgramStep::To(handler.body.start))
}

/// The innermost handler that is active has ended, and with it those in whose bodies its block does
/// not lie.
pub(super) fn end(cx: &mut Context, routine: &Routine) -> ProgramStep {
    cx.statement.diagnostics.end_handler();
    let active = cx.statement.frames.last_mut().map(|frame| &mut frame.program.active);
    let Some((active, ended)) = active.and_then(|active| active.pop().map(|ended| (active, ended))) else {
        return ProgramStep::Next;
    };
    let handlers = &routine.program.handlers;
    while active.last().is_some_and(|around| !handlers[around.handler].body.contains(&ended.resume)) {
        active.pop();
    }
    debug_assert!(ended.handler < handlers.len(), "H1: an active handler is one of the program's");
    ProgramStep::To(ended.resume)
}

/// The handler that is active in the program that runs; as in MySQL, what it calls has none.
pub(super) fn active(cx: &Context) -> Option<&ActiveHandler> {
    cx.statement.frames.last()?.program.active.last()
}

impl Effects {
    /// The errors of a procedure that is called from a function or trigger.
    pub(super) fn check_in_function(self) -> Result<()> {
        match self {
            Effects { is_dynamic: true, .. } => {
                Err(error::STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"Dynamic SQL"]))
            }
            Effects { has_results: true, .. } => Err(error::SP_NO_RETSET.with(&[&"function"])),
            Effects { sets_autocommit: true, .. } => Err(error::SP_CANT_SET_AUTOCOMMIT.plain()),
            Effects { commits: true, .. } => Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain()),
            _ => Ok(()),
        }
    }
}
