//! MIN and MAX of frames whose start moves.
//!
//! Of a frame's rows those are kept that may become its smallest or largest value once the rows
//! before them have left: each is worse than the one before, and all that come after it are worse
//! still. Their number is bounded; beyond that rows are left out, and looked at again if all that
//! were kept have left the frame.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use super::partition::Reading;
use crate::expression::aggregate::Aggregate;
use crate::expression::compare;
use crate::session::Context;
use datum::error::Result;
use datum::types::Type;
use datum::value::Datum;
use syntax::ast::AggregateFunction;

/// Rows that are kept at most.
const CANDIDATES_MAX: usize = 4096;

/// The rows that may become the best one of a frame.
#[derive(Default)]
pub(super) struct Extreme {
    candidates: VecDeque<usize>,
    /// Rows after the last candidate, none better than it, were left out.
    is_cut: bool,
    range: Range<usize>,
}

impl Extreme {
    /// The smallest or largest value of a frame, the first of those that are equal.
    pub(super) fn value(
        &mut self,
        cx: &mut Context,
        at: &mut Reading<'_>,
        aggregate: &Aggregate,
        range: Range<usize>,
        column: Option<usize>,
    ) -> Result<Datum<'static>> {
        let column = column.unwrap_or(0);
        let goes_back = range.start < self.range.start || range.end < self.range.end;
        while self.candidates.front().is_some_and(|row| *row < range.start) {
            self.candidates.pop_front();
        }
        if goes_back || range.start >= self.range.end || self.is_cut && self.candidates.is_empty() {
            self.candidates.clear();
            self.is_cut = false;
            self.range = range.start..range.start;
        }
        for row in self.range.end..range.end {
            at.frame.tick(cx)?;
            self.push(cx, at, aggregate, row, column)?;
        }
        self.range = range;
        match self.candidates.front() {
            Some(row) => at.values.get(*row, column, &mut at.readers.value).cloned(),
            None => Ok(Datum::Null),
        }
    }

    fn push(
        &mut self,
        cx: &mut Context,
        at: &mut Reading<'_>,
        aggregate: &Aggregate,
        row: usize,
        column: usize,
    ) -> Result<()> {
        let Reading { values, readers, .. } = at;
        let by = compare::own_order(&aggregate.argument.as_ref().map_or(Type::NULL, |e| e.ty));
        let better = match aggregate.function {
            AggregateFunction::Min => Ordering::Less,
            _ => Ordering::Greater,
        };
        let value = values.get(row, column, &mut readers.entering)?;
        if value.is_null() {
            return Ok(());
        }
        while let Some(last) = self.candidates.back() {
            let known = values.get(*last, column, &mut readers.leaving)?;
            if by.compare(cx, value, known)? != Some(better) {
                break;
            }
            self.candidates.pop_back();
            // What was left out was no better than that.
            self.is_cut = false;
        }
        if self.is_cut {
            return Ok(());
        }
        match self.candidates.len() < CANDIDATES_MAX {
            true => self.candidates.push_back(row),
            false => self.is_cut = true,
        }
        Ok(())
    }
}
