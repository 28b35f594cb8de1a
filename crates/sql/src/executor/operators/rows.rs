//! Rows that are made as a whole: derived and virtual tables.
//!
//! They are made when they are first wanted, and kept as long as what they take from around them stays the same.

use std::sync::Arc;

use super::accepts;
use crate::error::Result;
use crate::executor::query;
use crate::expression::frame::{Frame, RowSet};
use crate::planner::{Maker, Rows};
use crate::session::Context;

/// A walk over rows that were made.
pub struct RowsRun<'p> {
    plan: &'p Rows,
    rows: Arc<RowSet>,
    at: usize,
}

impl<'p> RowsRun<'p> {
    pub(super) fn new(plan: &'p Rows) -> Self {
        Self { plan, rows: Arc::default(), at: 0 }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        self.at = 0;
        self.rows = made(cx, &self.plan.maker, frame)?;
        Ok(())
    }

    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        while self.at < self.rows.len() {
            frame.tick(cx)?;
            frame.set_row(self.plan.slot, &self.rows, self.at);
            self.at += 1;
            if accepts(cx, &self.plan.filter, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The rows, made now or before.
pub fn made(cx: &mut Context, maker: &Maker, frame: &Frame) -> Result<Arc<RowSet>> {
    let derived = match maker {
        Maker::Derived(derived) => derived,
        Maker::Provider(provider) => {
            let mut rows = RowSet::new(provider.columns().len());
            provider.rows(cx, &mut |values| rows.push(values))?;
            return Ok(Arc::new(rows));
        }
    };
    let mut parameters = Vec::with_capacity(derived.parameters.len());
    for parameter in &derived.parameters {
        parameters.push(parameter.eval(cx, frame.row())?.into_owned());
    }
    query::kept_rows(cx, derived.id, &derived.plan, parameters, derived.is_volatile)
}
