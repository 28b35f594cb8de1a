//! DISTINCT: of equal rows, the first.
//!
//! The keys of the rows so far are kept. Once they take more memory than there may be, no further
//! ones are: rows with other keys are put off, and the first of each come when all have been seen.
//! Where equal rows come side by side, the last row's key is all that is kept.

use hashbrown::HashSet;

use crate::expression::aggregate;
use crate::session::Context;
use crate::spill::put_off::PutOff;
use crate::spill::{Budget, KEY_OVERHEAD, Purpose};
use crate::status::Counter;
use datum::error::Result;
use datum::types::Type;
use datum::value::Datum;

/// Rows that were seen, by their keys.
pub(crate) struct Distinct<'p> {
    types: &'p [Type],
    seen: HashSet<Vec<u8>>,
    /// Equal rows come side by side.
    adjacent: bool,
    budget: Budget,
    put_off: Option<PutOff>,
    key: Vec<u8>,
    /// The key of the row before, where that is enough; empty before the first.
    last: Vec<u8>,
}

impl<'p> Distinct<'p> {
    /// None yet, of rows of these types.
    pub(crate) fn new(cx: &Context, types: &'p [Type]) -> Self {
        cx.count(Counter::CreatedTmpTables);
        Self { adjacent: false, ..Self::adjacent(cx, types) }
    }

    /// None yet, of rows that come with equal ones side by side.
    pub(crate) fn adjacent(cx: &Context, types: &'p [Type]) -> Self {
        let budget = cx.budget(Purpose::Table);
        Self {
            types,
            seen: HashSet::new(),
            adjacent: true,
            budget,
            put_off: None,
            key: Vec::new(),
            last: Vec::new(),
        }
    }

    /// True if the row is the first of its kind; false if it is not, or is to be waited for.
    pub(crate) fn is_new(&mut self, values: &[Datum<'_>]) -> Result<bool> {
        self.key.clear();
        key_of(values, self.types, &mut self.key)?;
        if self.adjacent {
            std::mem::swap(&mut self.last, &mut self.key);
            return Ok(self.last != self.key);
        }
        if self.seen.contains(&self.key) {
            return Ok(false);
        }
        if let Some(put_off) = &mut self.put_off {
            put_off.push(&self.key, values)?;
            return Ok(false);
        }
        self.seen.insert(self.key.clone());
        if !self.budget.charge(self.key.len() + KEY_OVERHEAD) {
            self.put_off = Some(PutOff::unique(&self.budget));
        }
        Ok(true)
    }

    /// Calls `each` with the first of each kind of the rows that had to wait, until it says false.
    pub(crate) fn finish(
        mut self,
        cx: &mut Context,
        mut each: impl FnMut(&mut Context, &mut [Datum<'_>]) -> Result<bool>,
    ) -> Result<()> {
        let Some(put_off) = self.put_off.take() else { return Ok(()) };
        drop(self);
        put_off.rows(|_, _| true)?.drain(|row| each(cx, row))
    }
}

/// Appends a row's key: equal for rows that are equal.
pub(crate) fn key_of(values: &[Datum<'_>], types: &[Type], key: &mut Vec<u8>) -> Result<()> {
    for (value, ty) in values.iter().zip(types) {
        aggregate::sort_key(value, ty, key)?;
    }
    Ok(())
}
