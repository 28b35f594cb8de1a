//! The text of error 1690: which expression's value is out of range, in the names of what runs it.

use crate::planner::Block;
use crate::planner::{expression_text, names::Names};
use crate::session::{Context, OutOfRange};
use datum::error::{self, Naming, SqlError};

/// The error of a block, whose expressions' columns have its names.
#[cold]
pub(crate) fn in_block(cx: &mut Context, e: SqlError, block: &Block) -> SqlError {
    with_names(cx, e, || Names::of_block(block, None))
}

/// The error of an expression of a routine, which has no columns.
#[cold]
pub(crate) fn in_routine(cx: &mut Context, e: SqlError) -> SqlError {
    with_names(cx, e, Names::none)
}

/// The error with the text of the expression that was blamed for it, if one was.
#[cold]
pub(crate) fn with_names<'p>(cx: &mut Context, e: SqlError, names: impl FnOnce() -> Names<'p>) -> SqlError {
    if e.naming != Naming::Noted {
        return e;
    }
    let locals = crate::routine::locals(cx);
    let Some(OutOfRange { ty, expr }) = cx.statement.take_blamed() else { return e };
    error::DATA_OUT_OF_RANGE.with(&[&ty, &expression_text::quoted(&names().with_locals(locals), &expr)])
}
