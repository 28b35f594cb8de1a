//! Whose rights a function runs with: its definer's, unless it says SQL SECURITY INVOKER.

use std::sync::Arc;

use super::{Action, Routine};
use crate::catalog::TableDef;
use crate::privilege::{self, Grants, Privileges, Stamp, Uses};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::ObjectName;

/// Refuses the innermost function if one of its statements or expressions needs more than it may.
pub(super) fn check(cx: &mut Context, routine: &Routine) -> Result<()> {
    let now = Stamp::now(cx);
    let known = cx.statement.frames.last().and_then(|frame| frame.cached.granted);
    if now.is_some() && now == known {
        return Ok(());
    }
    check_now(cx, routine)?;
    // What others have granted to the caller is none of the function's own.
    if let Some(frame) = cx.statement.frames.last_mut().filter(|_| routine.definer.is_some()) {
        frame.cached.granted = now;
    }
    Ok(())
}

fn check_now(cx: &mut Context, routine: &Routine) -> Result<()> {
    let inside = cx.statement.frames.last().and_then(|frame| frame.grants().cloned());
    let grants = match inside {
        Some(grants) => grants,
        None => cx.grants().clone(),
    };
    if grants.is_unlimited() {
        return Ok(());
    }
    for action in &routine.code {
        match action {
            Action::Statement(statement) => privilege::check_nested(cx, &grants, &statement.kind)?,
            Action::Assign(_, Some(expr)) => privilege::check_expression(cx, &grants, expr)?,
            Action::JumpUnless(expr, _) | Action::Return(expr) => {
                privilege::check_expression(cx, &grants, expr)?;
            }
            Action::Assign(_, None) | Action::Jump(_) | Action::CaseNotFound => {}
        }
    }
    Ok(())
}

impl Routine {
    /// What each instruction uses. `owns` returns whether a table has a column.
    pub(crate) fn uses<'a>(
        &'a self,
        owns: &'a dyn Fn(&ObjectName, &str) -> bool,
    ) -> impl Iterator<Item = Uses<'a>> {
        self.code.iter().filter_map(move |action| match action {
            Action::Statement(statement) => Some(privilege::uses_of(&statement.kind, owns)),
            Action::Assign(_, Some(expr)) => Some(privilege::uses_of_expression(expr, owns)),
            Action::JumpUnless(expr, _) | Action::Return(expr) => {
                Some(privilege::uses_of_expression(expr, owns))
            }
            Action::Assign(_, None) | Action::Jump(_) | Action::CaseNotFound => None,
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
    if !grants.in_database(&routine.database).has(Privileges::EXECUTE) {
        let shown = format!("{}.{}", routine.database, routine.name);
        return Err(error::PROCACCESS_DENIED_ERROR.with(&[&"execute", &definer.user, &definer.host, &shown]));
    }
    Ok(Some(grants))
}
