//! The text of error 1690: which expression's value is out of range, in the names of what runs it.

use crate::planner::{Block, expression_text, names::Names};
use crate::session::Context;
use datum::error::{self, SqlError};

/// The error of a block, whose expressions' columns have its names.
#[cold]
pub(crate) fn in_block(cx: &mut Context, e: SqlError, block: &Block) -> SqlError {
    with_names(cx, e, || Names::of_block(block, None))
}

/// The error with the text of the expression that was blamed for it, if one was.
#[cold]
pub(crate) fn with_names<'p>(cx: &mut Context, e: SqlError, names: impl FnOnce() -> Names<'p>) -> SqlError {
    if !e.is(error::DATA_OUT_OF_RANGE) {
        return e;
    }
    let Some(expr) = cx.statement.take_blamed() else { return e };
    let kind = e.message.split(" value is").next().unwrap_or_default();
    error::DATA_OUT_OF_RANGE.with(&[&kind, &expression_text::quoted(&names(), &expr)])
}
