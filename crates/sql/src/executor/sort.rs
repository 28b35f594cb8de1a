//! Sorting rows by ORDER BY's expressions.

use smallvec::{SmallVec, smallvec};

use super::query::{FEW, recycled};
use crate::expression::{Expr, Node, OrderTerm, Row, aggregate, frame};
use crate::session::Context;
use crate::spill::{Purpose, codec, sort};
use crate::status::Counter;
use datum::error::Result;
use datum::value::Datum;

/// Sorts rows by their keys; keeps no more than are wanted.
pub(crate) struct Sorter<'p> {
    order: &'p [OrderTerm],
    /// Which of a row's values is the one that it is ordered by.
    places: SmallVec<[Option<usize>; 4]>,
    records: sort::Sorter,
    key: Vec<u8>,
    values: Vec<u8>,
    /// How many values a row has.
    width: usize,
}

impl<'p> Sorter<'p> {
    /// A sorter of at most `limit` rows.
    pub(crate) fn new(cx: &mut Context, order: &'p [OrderTerm], limit: u64) -> Self {
        let records = sort::Sorter::new(cx.budget(Purpose::Sort), limit);
        let [key, values] = std::mem::take(&mut cx.scratch.sort);
        Sorter { order, places: smallvec![None; order.len()], records, key, values, width: 0 }
    }

    /// The same of rows whose values are these expressions': what is a column among them is not
    /// read again.
    pub(crate) fn of_items(mut self, items: &[Expr]) -> Self {
        for (OrderTerm { expr, .. }, place) in self.order.iter().zip(&mut self.places) {
            let is_column = matches!(expr.node, Node::Column { .. });
            *place = items.iter().position(|item| is_column && item.is_same(expr));
        }
        self
    }

    /// The same of rows that differ: of those with equal keys the first. There is no limit then.
    pub(crate) fn unique(self) -> Self {
        Sorter { records: self.records.unique(), ..self }
    }

    /// Takes a row in: `values` is what comes out, `row` what its keys are made from.
    pub(crate) fn push(&mut self, cx: &mut Context, row: Row<'_>, values: &[Datum<'_>]) -> Result<()> {
        self.key.clear();
        for (OrderTerm { expr, descending }, place) in self.order.iter().zip(&self.places) {
            let start = self.key.len();
            match place.and_then(|place| values.get(place)) {
                Some(value) => aggregate::sort_key(value, &expr.ty, &mut self.key)?,
                None => aggregate::sort_key(&expr.eval(cx, row)?, &expr.ty, &mut self.key)?,
            }
            if *descending {
                self.key[start..].iter_mut().for_each(|b| *b = !*b);
            }
        }
        self.width = values.len();
        self.values.clear();
        codec::put_row(values, &mut self.values);
        self.records.push(&self.key, &self.values)
    }

    /// Calls `each` with the rows in order, those with equal keys in the order in which they came,
    /// until it says false. Returns how many there were.
    pub(crate) fn drain(
        mut self,
        cx: &mut Context,
        mut each: impl FnMut(&mut Context, &mut [Datum<'_>]) -> Result<bool>,
    ) -> Result<u64> {
        frame::recycle(&mut self.key);
        frame::recycle(&mut self.values);
        cx.scratch.sort = [self.key, self.values];
        let mut sorted = self.records.finish()?;
        let mut memory = Vec::new();
        let mut count = 0;
        while let Some((_, row)) = sorted.advance()? {
            count += 1;
            let more = if self.width <= FEW {
                let mut few: [Datum<'_>; FEW] = Default::default();
                codec::fill_row(row, &mut few[..self.width])?;
                each(cx, &mut few[..self.width])?
            } else {
                let mut values: Vec<Datum<'_>> = memory;
                codec::take_row(row, &mut values)?;
                let more = each(cx, &mut values)?;
                memory = recycled(values);
                more
            };
            if !more {
                break;
            }
        }
        cx.statistics.counters.add(Counter::SortRows, count);
        cx.count(Counter::SortScan);
        Ok(count)
    }
}
