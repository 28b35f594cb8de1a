//! Aggregates of frames that move: rows come in and, where that can be undone exactly, go out
//! again.

use super::{Accumulator, AccumulatorExtra, Aggregate, Sum};
use crate::expression::arithmetic;
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use syntax::ast::AggregateFunction;

impl Accumulator {
    /// Takes in a row's value of the argument; `None` is a row of `COUNT(*)`.
    pub(crate) fn add_value(
        &mut self,
        aggregate: &Aggregate,
        cx: &mut Context,
        value: Option<&Datum<'_>>,
    ) -> Result<()> {
        match value {
            None => self.count += 1,
            Some(value) if value.is_null() => {}
            Some(value) => {
                self.take(aggregate, cx, value.borrow(), Vec::new())?;
            }
        }
        Ok(())
    }

    /// Takes a row out that was taken in; false where the result would not be exact. Sums of
    /// doubles are not: what was added to a large number is lost when that goes.
    pub(crate) fn remove_value(
        &mut self,
        aggregate: &Aggregate,
        cx: &mut Context,
        value: Option<&Datum<'_>>,
    ) -> Result<bool> {
        use AggregateFunction as F;
        if let Some(value) = value {
            if value.is_null() {
                return Ok(true);
            }
            match (aggregate.function, &mut self.sum, &self.more) {
                (F::Count, ..) => {}
                (F::Sum | F::Avg, Sum::Integer(sum), _) => *sum -= value.to_integer().value,
                (F::Sum | F::Avg, Sum::Exact(sum), _) => match sum.sub(&cx.decimal(value)?) {
                    Some(difference) => *sum = difference,
                    None => return Ok(false),
                },
                (F::BitXor, _, AccumulatorExtra::Nothing) => self.bits ^= arithmetic::to_bits(cx, value)?,
                _ => return Ok(false),
            }
        }
        self.count = self.count.saturating_sub(1);
        Ok(true)
    }

    /// The value of the rows so far.
    pub(crate) fn value(&self, aggregate: &Aggregate, cx: &mut Context) -> Datum<'static> {
        self.clone().finish(aggregate, cx, &mut 0)
    }
}
