//! What a session keeps of the functions that it calls, from one call to the next: their plans.
//!
//! A body's plans are cached like those of the client's statements ([`crate::planner::plan`]), one
//! for each instruction. They are a session's own, though the compiled body is shared: settings and
//! user variables are the session's.
//!
//! (P1) A function runs under settings of its creation. Where these are not the session's, both get
//!      a number: the same settings of the session with the same function's give the same number
//!      again, or no plan would ever be good.

use std::sync::Arc;

use super::Routine;
use crate::planner::plan::CachedPlan;
use crate::session::Context;
use crate::variables::{SessionVariables, Value, VariableId, ids};

/// Functions whose plans a session keeps.
const FUNCTIONS_MAX: usize = 32;

/// The functions that a session called last, the newest last.
#[derive(Default)]
pub(crate) struct RoutinePlans {
    called: Vec<RoutineCache>,
}

/// The cached plans of one function.
pub(super) struct RoutineCache {
    routine: Arc<Routine>,
    /// Of each instruction.
    pub(super) plans: Vec<CachedPlan>,
    /// (P1) The number of the session's settings around the call, and of those inside.
    numbers: Option<(u64, u64)>,
}

impl RoutinePlans {
    /// Takes the cached plans of a function that is called now, until they are put back.
    pub(super) fn take(&mut self, routine: &Arc<Routine>) -> RoutineCache {
        match self.called.iter().position(|cached| Arc::ptr_eq(&cached.routine, routine)) {
            Some(place) => self.called.remove(place),
            None => RoutineCache {
                routine: routine.clone(),
                plans: routine.code.iter().map(|_| CachedPlan::default()).collect(),
                numbers: None,
            },
        }
    }

    /// Keeps it for the next call.
    pub(super) fn put(&mut self, cached: RoutineCache) {
        if self.called.len() >= FUNCTIONS_MAX {
            self.called.remove(0);
        }
        self.called.push(cached);
    }
}

/// The session's settings around a call, where the function's are others.
pub(super) struct CallerSettings {
    sql_mode: Value,
    collation: Value,
    number: u64,
    number_inside: u64,
}

/// Brings the settings of the function's creation.
pub(super) fn enter(cx: &mut Context, cached: &mut RoutineCache) -> Option<CallerSettings> {
    let (routine, variables) = (cached.routine.clone(), cx.settings.variables());
    let same = variables.uint(ids::SQL_MODE) == routine.sql_mode
        && variables.text(ids::COLLATION_CONNECTION) == routine.connection.name();
    if same {
        return None;
    }
    let sql_mode = variables.get(ids::SQL_MODE).clone();
    let collation = variables.get(ids::COLLATION_CONNECTION).clone();
    let number = cx.settings.version();
    cx.change_variables(|v| {
        v.put(ids::SQL_MODE, Value::UInt(routine.sql_mode));
        v.put(ids::COLLATION_CONNECTION, Value::Text(routine.connection.name().into()));
    });
    match cached.numbers {
        Some((around, inside)) if around == number => cx.settings.are_again(inside),
        _ => cached.numbers = Some((number, cx.settings.version())),
    }
    Some(CallerSettings { sql_mode, collation, number, number_inside: cx.settings.version() })
}

/// Brings the settings around the call back.
pub(super) fn restore_settings(cx: &mut Context, routine: &Routine, around: Option<CallerSettings>) {
    let Some(around) = around else {
        // They were the routine's own, but it may have set others.
        let variables = cx.settings.variables();
        let is_same = variables.uint(ids::SQL_MODE) == routine.sql_mode
            && variables.text(ids::COLLATION_CONNECTION) == routine.connection.name();
        if !is_same {
            cx.change_variables(|v| {
                v.put(ids::SQL_MODE, Value::UInt(routine.sql_mode));
                v.put(ids::COLLATION_CONNECTION, Value::Text(routine.connection.name().into()));
            });
        }
        return;
    };
    let unchanged = cx.settings.version() == around.number_inside;
    cx.change_variables(|v| {
        v.put(ids::SQL_MODE, around.sql_mode);
        v.put(ids::COLLATION_CONNECTION, around.collation);
    });
    if unchanged {
        cx.settings.are_again(around.number);
    }
}

/// What a routine may set for itself alone: its caller has it as before, as in MySQL.
const RESTORED: [VariableId; 6] = [
    ids::SQL_MODE,
    ids::CHARACTER_SET_CLIENT,
    ids::CHARACTER_SET_CONNECTION,
    ids::CHARACTER_SET_DATABASE,
    ids::COLLATION_CONNECTION,
    ids::COLLATION_DATABASE,
];
/// Besides, a function or trigger.
const RESTORED_WITHIN: [VariableId; 8] = [
    ids::FOREIGN_KEY_CHECKS,
    ids::UNIQUE_CHECKS,
    ids::SQL_SAFE_UPDATES,
    ids::SQL_NOTES,
    ids::SQL_WARNINGS,
    ids::SQL_QUOTE_SHOW_CREATE,
    ids::SQL_BIG_SELECTS,
    ids::SQL_BUFFER_RESULT,
];
/// Besides, a procedure.
const RESTORED_OF_PROCEDURE: [VariableId; 1] = [ids::SQL_SELECT_LIMIT];

/// Brings back what the routine has set, and may only set for itself. `within`: it ran within the
/// calling statement.
pub(super) fn restore_changed(cx: &mut Context, before: &SessionVariables, within: bool) {
    let now = cx.settings.variables();
    if now.is_shared_with(before) {
        return;
    }
    let more = if within { &RESTORED_WITHIN[..] } else { &RESTORED_OF_PROCEDURE };
    let changed: Vec<VariableId> =
        RESTORED.iter().chain(more).copied().filter(|&id| now.get(id) != before.get(id)).collect();
    if !changed.is_empty() {
        cx.change_variables(|v| changed.iter().for_each(|&id| v.put(id, before.get(id).clone())));
    }
}
