//! Sorting: rows by the bytes of their keys.

use crate::error::{self, Result};
use crate::expression::frame::{MEMORY_MAX, text_len};
use crate::expression::{Expr, Row, aggregate};
use crate::session::Context;
use crate::value::Datum;

/// Sorts rows by their keys; keeps no more than are wanted.
pub struct Sorter<'p> {
    order: &'p [(Expr, bool)],
    limit: usize,
    rows: Vec<(Vec<u8>, usize, Vec<Datum<'static>>)>,
    pushed: usize,
    memory: usize,
}

impl<'p> Sorter<'p> {
    /// A sorter of at most `limit` rows.
    pub fn new(order: &'p [(Expr, bool)], limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Sorter { order, limit, rows: Vec::new(), pushed: 0, memory: 0 }
    }

    /// Takes a row in: `values` is what comes out, `row` what its keys are made from.
    ///
    /// # Errors
    /// 1038 if the rows take more memory than there may be.
    pub fn push(&mut self, cx: &mut Context, row: Row<'_>, values: Vec<Datum<'static>>) -> Result<()> {
        let mut key = Vec::new();
        for (expr, descending) in self.order {
            let start = key.len();
            let value = expr.eval(cx, row)?;
            aggregate::sort_key(&value, &expr.ty, &mut key)?;
            if *descending {
                key[start..].iter_mut().for_each(|b| *b = !*b);
            }
        }
        self.memory += key.len() + weight(&values);
        self.rows.push((key, self.pushed, values));
        self.pushed += 1;
        if self.rows.len() >= self.limit.saturating_mul(2).saturating_add(1024) {
            self.cut();
        }
        if self.memory > MEMORY_MAX {
            self.cut();
            if self.memory > MEMORY_MAX {
                return Err(error::OUT_OF_SORTMEMORY.plain());
            }
        }
        Ok(())
    }

    /// Rows with equal keys stay in the order they came.
    fn sort(&mut self) {
        self.rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    fn cut(&mut self) {
        if self.rows.len() > self.limit {
            self.sort();
            self.rows.truncate(self.limit);
            self.memory = self.rows.iter().map(|(key, _, values)| key.len() + weight(values)).sum();
        }
    }

    /// The rows in order.
    pub fn finish(mut self) -> impl Iterator<Item = Vec<Datum<'static>>> {
        self.sort();
        self.rows.truncate(self.limit);
        self.rows.into_iter().map(|(_, _, values)| values)
    }
}

fn weight(values: &[Datum<'_>]) -> usize {
    values.iter().map(|d| std::mem::size_of::<Datum<'_>>() + text_len(d)).sum::<usize>() + 64
}
