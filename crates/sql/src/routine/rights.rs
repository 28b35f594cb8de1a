//! Whose rights a function runs with: its definer's, unless it says SQL SECURITY INVOKER.

use std::sync::Arc;

use super::{Action, ProgramKind, Routine};
use crate::catalog::TableDef;
use crate::privilege::{self, Grants, Privileges, Uses};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{ObjectName, RoutineKind};

impl Routine {
    /// What each instruction uses. `owns` returns whether a table has a column.
    pub(crate) fn uses<'a>(
        &'a self,
        owns: &'a dyn Fn(&ObjectName, &str) -> bool,
    ) -> impl Iterator<Item = Uses<'a>> {
        self.code.iter().filter_map(move |action| match action {
            Action::Statement(statement) | Action::DeclareCursor(_, statement) => {
                Some(privilege::uses_of(&statement.kind, owns))
            }
            Action::Assign(_, Some(expr)) => Some(privilege::uses_of_expression(expr, owns)),
            Action::JumpUnless(expr, _) | Action::Return(expr) => {
                Some(privilege::uses_of_expression(expr, owns))
            }
            _ => None,
        })
    }
}

/// What a trigger may do: what its definer may.
///
/// # Errors
/// 1449 if there is no such account, 1142 if it may not have triggers on the table, or not use the
/// rows that the trigger uses.
pub(super) fn of_trigger(cx: &Context, trigger: &Routine, table: &TableDef) -> Result<Arc<Grants>> {
    let definer = trigger.definer.as_ref();
    let definer = definer.ok_or_else(|| SqlError::internal("a trigger without a definer"))?;
    let state = cx.catalog().state();
    let found = state.users.get(definer).map(|user| user.grants.clone());
    let grants = found.ok_or_else(|| error::NO_SUCH_USER.with(&[&definer.user, &definer.host]))?;
    let mut wanted = Privileges::TRIGGER;
    if trigger.reads_rows() {
        wanted = wanted | Privileges::SELECT;
    }
    if trigger.assigns_rows() {
        wanted = wanted | Privileges::UPDATE;
    }
    let missing = wanted.without(grants.in_database(&table.database));
    match missing.is_empty() {
        true => Ok(grants),
        false => {
            let shown: [&dyn std::fmt::Display; 4] = [&missing, &definer.user, &definer.host, &table.name];
            Err(error::TABLEACCESS_DENIED_ERROR.with(&shown))
        }
    }
}

/// What a function may do that is called now: what its definer may, or what its caller runs with
/// (`None`: the session's account). A definer may call the function, as anybody who calls it may.
///
/// # Errors
/// 1449 if there is no such account, 1370 if it may not call the function.
pub(super) fn of_call(cx: &Context, routine: &Routine) -> Result<Option<Arc<Grants>>> {
    let Some(definer) = &routine.definer else {
        return Ok(cx.statement.frames.last().and_then(|frame| frame.grants().cloned()));
    };
    let state = cx.catalog().state();
    let found = state.users.get(definer).map(|user| user.grants.clone());
    let grants = found.ok_or_else(|| error::NO_SUCH_USER.with(&[&definer.user, &definer.host]))?;
    let kind = match routine.kind {
        ProgramKind::Procedure => RoutineKind::Procedure,
        _ => RoutineKind::Function,
    };
    if !grants.on_routine(kind, &routine.database, &routine.name).has(Privileges::EXECUTE) {
        let shown = format!("{}.{}", routine.database, routine.name);
        return Err(error::PROCACCESS_DENIED_ERROR.with(&[&"execute", &definer.user, &definer.host, &shown]));
    }
    Ok(Some(grants))
}
