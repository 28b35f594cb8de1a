//! The operators of a block's join, running.
//!
//! Each is opened, as often as its place in the join asks for, and then asked for its next row,
//! which it puts into its slots of the frame (the Volcano model, with the row kept in one place
//! instead of handed up). What an operator reads of the sources before it lies in the same frame.

mod hash;
mod measured;
mod nested_loop;
mod rows;

use super::access::Scan;
use crate::expression::Expr;
use crate::expression::frame::Frame;
use crate::planner::Operator;
use crate::session::Context;
use datum::error::Result;

pub(crate) use measured::Measured;

/// An operator that runs.
#[allow(
    clippy::large_enum_variant,
    reason = "a walk of a table is the common one, and is not to be allocated"
)]
pub(crate) enum Running<'p> {
    /// One row without sources; true until it was given.
    One(&'p [Expr], bool),
    /// A table's rows.
    TableAccess(Scan<'p>),
    /// Rows made as a whole.
    Rows(rows::RowsRun<'p>),
    /// A join by looping.
    Loop(Box<nested_loop::LoopRun<'p>>),
    /// A join by a hash table.
    Hash(Box<hash::HashRun<'p>>),
    /// One of them, for EXPLAIN ANALYZE.
    Measured(Box<Measured<'p>>),
}

impl<'p> Running<'p> {
    /// An operator that is not open yet.
    pub(crate) fn new(cx: &Context, plan: &'p Operator) -> Self {
        if cx.statement.profile.is_none() {
            return Self::unmeasured(cx, plan); // which is large: made where it goes, not moved there
        }
        Running::Measured(Box::new(Measured::new(plan, Self::unmeasured(cx, plan))))
    }

    fn unmeasured(cx: &Context, plan: &'p Operator) -> Self {
        match plan {
            Operator::One(filter) => Running::One(filter, false),
            Operator::TableAccess(access) => Running::TableAccess(Scan::new(access)),
            Operator::Rows(rows) => Running::Rows(rows::RowsRun::new(rows)),
            Operator::Loop(join) => Running::Loop(Box::new(nested_loop::LoopRun::new(cx, join))),
            Operator::Hash(join) => Running::Hash(Box::new(hash::HashRun::new(cx, join))),
        }
    }

    /// Starts anew, for the rows that the frame holds now.
    pub(crate) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        match self {
            Running::One(_, ahead) => {
                *ahead = true;
                Ok(())
            }
            Running::TableAccess(scan) => scan.open(cx, frame),
            Running::Rows(rows) => rows.open(cx, frame),
            Running::Loop(join) => join.open(cx, frame),
            Running::Hash(join) => join.open(cx, frame),
            Running::Measured(measured) => measured.open(cx, frame),
        }
    }

    /// No further rows are asked for: leaves memory to the next walk of a table.
    pub(crate) fn close(&mut self, cx: &mut Context) {
        if let Running::TableAccess(scan) = self {
            scan.close(cx);
        }
    }

    /// Rows that the walk of one table has read, also those that its conditions left out; `None`
    /// for a join.
    pub(crate) fn rows_read(&self) -> Option<u64> {
        match self {
            Running::TableAccess(scan) => Some(scan.rows_read()),
            _ => None,
        }
    }

    /// Puts the next row into the frame; false after the last one.
    pub(crate) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        match self {
            Running::One(filter, ahead) => Ok(std::mem::take(ahead) && accepts(cx, filter, frame)?),
            Running::TableAccess(scan) => scan.next(cx, frame),
            Running::Rows(rows) => rows.next(cx, frame),
            Running::Loop(join) => join.next(cx, frame),
            Running::Hash(join) => join.next(cx, frame),
            Running::Measured(measured) => measured.next(cx, frame),
        }
    }
}

/// True if all conditions hold for the frame's row.
pub(crate) fn accepts(cx: &mut Context, filter: &[Expr], frame: &Frame) -> Result<bool> {
    for condition in filter {
        if condition.truth(cx, frame.row())? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}
