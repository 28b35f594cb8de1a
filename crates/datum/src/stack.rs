//! Error 1436 in time: recursive code asks here, at each level, whether its thread's stack still
//! has room.
//!
//! Who asks, and so stops what nests too deep: the parser ([`syntax::parser`]); resolving an
//! expression, planning a query block or a set operation, running one, each operation of an
//! expression that is evaluated, the call of a stored function ([`check`]); EXPLAIN and printing an
//! expression ([`has_room`]), which then leave out what is deeper.
//!
//! (K1) Walks of trees that do not ask (cloning, dropping, looking for something) begin no deeper
//!      in the stack than the parsing or resolving that made the tree, and take less of it for each
//!      level.
//! (K2) What a plan holds of nested queries is bounded by their planning, which asks; derived
//!      tables are merged only as long as their expressions stay small (`planner/merge.rs` of `sql`).

use crate::error::{self, Result, SqlError};

/// What must be left, in bytes: the most that any single step takes before the next one asks. The
/// largest frames are those of compressing a packet (160 KiB) and a transaction (120 KiB), which
/// are taken at the end of a chain of calls.
pub(crate) const MARGIN: usize = 256 << 10;

/// Error 1436 if the stack is nearly used up, and those of [`crate::bounds`]: what is deep may also
/// be wide.
#[inline]
pub fn check() -> Result<()> {
    if has_room() { crate::bounds::check() } else { Err(overrun()) }
}

/// True unless the stack is nearly used up.
#[inline]
pub fn has_room() -> bool {
    !stdx::stack::is_short(MARGIN)
}

/// Error 1436, with what is used now.
#[cold]
pub fn overrun() -> SqlError {
    let (used, size) = stdx::stack::used();
    error::STACK_OVERRUN_NEED_MORE.with(&[&used, &size, &MARGIN])
}
