//! Aggregates of the frames of a partition's rows, one after the other.

use std::ops::Range;

use super::partition::{Reading, Values};
use crate::expression::aggregate::{Accumulator, Aggregate};
use crate::expression::frame::RowReader;
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;

/// An aggregate of the last frame that was asked for.
pub(super) struct Sliding {
    state: Accumulator,
    range: Range<usize>,
    value: Option<Datum<'static>>,
}

impl Sliding {
    pub(super) fn new(aggregate: &Aggregate) -> Self {
        Self { state: Accumulator::new(aggregate), range: 0..0, value: None }
    }

    /// The aggregate of a frame: rows that are no longer in it are taken out, those that are new
    /// are taken in.
    pub(super) fn value(
        &mut self,
        cx: &mut Context,
        at: &mut Reading<'_>,
        aggregate: &Aggregate,
        range: Range<usize>,
        column: Option<usize>,
    ) -> Result<Datum<'static>> {
        let Reading { frame, values, readers } = at;
        if let Some(value) = &self.value
            && (self.range == range || self.range.is_empty() && range.is_empty())
        {
            return Ok(value.clone());
        }
        let goes_back = range.start < self.range.start || range.end < self.range.end;
        let mut anew = goes_back || range.start >= self.range.end;
        let mut leaving = self.range.start..range.start;
        while !anew && let Some(row) = leaving.next() {
            frame.tick(cx)?;
            let value = read(values, row, column, &mut readers.leaving)?;
            anew = !self.state.remove_value(aggregate, cx, value)?;
        }
        if anew {
            self.state = Accumulator::new(aggregate);
            self.range = range.start..range.start;
        }
        for row in self.range.end..range.end {
            frame.tick(cx)?;
            let value = read(values, row, column, &mut readers.entering)?;
            self.state.add_value(aggregate, cx, value)?;
        }
        self.range = range;
        let value = self.state.value(aggregate, cx);
        self.value = Some(value.clone());
        Ok(value)
    }
}

/// A row's value of the argument, if there is one.
fn read<'v>(
    values: &'v Values,
    row: usize,
    column: Option<usize>,
    reader: &'v mut RowReader,
) -> Result<Option<&'v Datum<'static>>> {
    column.map(|column| values.get(row, column, reader)).transpose()
}
