//! Rows put off until all have come: they are looked at by their keys, and given in the order in
//! which they came.

use super::Budget;
use super::codec;
use super::sort::{Sorted, Sorter};
use crate::status::Counter;
use datum::error::Result;
use datum::value::Datum;

/// Bytes of a row's number in front of it.
const NUMBER: usize = 8;

/// Rows put off.
#[derive(Debug)]
pub(crate) struct PutOff {
    by_key: Sorter,
    next: u64,
    record: Vec<u8>,
}

impl PutOff {
    /// Nothing yet, with as much memory as an operation has that is short of it.
    pub(crate) fn new(budget: &Budget) -> Self {
        budget.count(Counter::CreatedTmpDiskTables);
        Self { by_key: Sorter::new(budget.another(), u64::MAX), next: 0, record: Vec::new() }
    }

    /// The same, where only the first row of each key counts.
    pub(crate) fn unique(budget: &Budget) -> Self {
        let Self { by_key, next, record } = Self::new(budget);
        Self { by_key: by_key.unique(), next, record }
    }

    /// Puts a row off.
    pub(crate) fn push(&mut self, key: &[u8], values: &[Datum<'_>]) -> Result<()> {
        self.record.clear();
        self.record.extend_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        codec::put_row(values, &mut self.record);
        self.by_key.push(key, &self.record)
    }

    /// Notes a key without a row.
    pub(crate) fn mark(&mut self, key: &[u8]) -> Result<()> {
        self.by_key.push(key, &[])
    }

    /// Shows `wanted` all keys in order, and whether there is a row; the rows that it wants, in the
    /// order in which they came.
    pub(crate) fn rows(self, mut wanted: impl FnMut(&[u8], bool) -> bool) -> Result<Rows> {
        let mut by_number = Sorter::new(self.by_key.budget().another(), u64::MAX);
        let mut sorted = self.by_key.finish()?;
        while let Some((key, record)) = sorted.advance()? {
            let row = record.split_at_checked(NUMBER);
            if wanted(key, row.is_some())
                && let Some((number, values)) = row
            {
                by_number.push(number, values)?;
            }
        }
        drop(sorted);
        Ok(Rows(by_number.finish()?))
    }
}

/// Rows in the order in which they came.
#[derive(Debug)]
pub(crate) struct Rows(Sorted);

impl Rows {
    /// Calls `each` with the rows until it says false.
    pub(crate) fn drain(mut self, mut each: impl FnMut(&mut [Datum<'_>]) -> Result<bool>) -> Result<()> {
        while let Some((_, row)) = self.0.advance()? {
            let mut values = Vec::new();
            codec::take_row(row, &mut values)?;
            if !each(&mut values)? {
                break;
            }
        }
        Ok(())
    }
}
