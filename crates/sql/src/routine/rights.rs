//! Whose rights a function runs with: its definer's, unless it says SQL SECURITY INVOKER.

use std::sync::Arc;

use super::{Action, Routine};
use crate::error::{self, Result};
use crate::privilege::{self, Grants, Stamp};
use crate::session::Context;

/// Refuses the innermost function if one of its statements or expressions needs more than it may.
pub(super) fn check(cx: &mut Context, routine: &Routine) -> Result<()> {
    let now = Stamp::now(cx);
    let known = cx.frames.last().and_then(|frame| frame.kept.granted);
    if now.is_some() && now == known {
        return Ok(());
    }
    check_now(cx, routine)?;
    // What others have granted to the caller is none of the function's own.
    if let Some(frame) = cx.frames.last_mut().filter(|_| routine.definer.is_some()) {
        frame.kept.granted = now;
    }
    Ok(())
}

fn check_now(cx: &mut Context, routine: &Routine) -> Result<()> {
    let grants = grants(cx)?;
    if grants.is_unlimited() {
        return Ok(());
    }
    for instruction in &routine.code {
        match &instruction.action {
            Action::Statement(statement) => privilege::check_nested(cx, &grants, &statement.kind)?,
            Action::Assign(_, Some(expr)) | Action::JumpUnless(expr, _) | Action::Return(expr) => {
                privilege::check_expression(cx, &grants, expr)?;
            }
            Action::Assign(_, None) | Action::Jump(_) | Action::CaseNotFound => {}
        }
    }
    Ok(())
}

/// The definer's privileges, or those that the caller runs with.
fn grants(cx: &mut Context) -> Result<Arc<Grants>> {
    let definer = cx.frames.iter().rev().find_map(|frame| frame.routine.definer.as_ref());
    let Some(definer) = definer else { return Ok(cx.grants().clone()) };
    let state = cx.catalog().state();
    let found = state.users.get(definer).map(|user| user.grants.clone());
    found.ok_or_else(|| error::NO_SUCH_USER.with(&[&definer.0, &definer.1]))
}
