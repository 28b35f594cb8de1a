//! Rows that are made as a whole: derived and virtual tables.
//!
//! They are made when they are first wanted, and kept as long as what they take from around them
//! stays the same.

use std::sync::Arc;

use super::accepts;
use crate::executor::query;
use crate::expression::Expr;
use crate::expression::frame::{Frame, RowSet};
use crate::expression::functions::json;
use crate::planner::{JsonSource, Maker, Provider, Rows};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use datum::value::json::convert::Origin;

/// A walk over rows that were made.
pub(crate) struct RowsRun<'p> {
    plan: &'p Rows,
    rows: Arc<RowSet>,
    provided: Provided,
    at: usize,
}

impl<'p> RowsRun<'p> {
    pub(super) fn new(plan: &'p Rows) -> Self {
        Self { plan, rows: Arc::default(), provided: Provided::default(), at: 0 }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        self.at = 0;
        self.rows = made(cx, self.plan, &mut self.provided, frame)?;
        Ok(())
    }

    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        while self.at < self.rows.len() {
            frame.tick(cx)?;
            frame.set_row(self.plan.slot, &self.rows, self.at)?;
            self.at += 1;
            if accepts(cx, &self.plan.filter, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The rows, made now or before.
fn made(cx: &mut Context, plan: &Rows, last: &mut Provided, frame: &Frame) -> Result<Arc<RowSet>> {
    let derived = match &plan.maker {
        Maker::Derived(derived) => derived,
        Maker::Provider(provider) => return last.rows(cx, &**provider, &plan.keys, frame),
        Maker::Json(source) => return json_rows(cx, source, frame),
    };
    let mut parameters = Vec::with_capacity(derived.parameters.len());
    for parameter in &derived.parameters {
        parameters.push(parameter.eval(cx, frame.row())?.into_owned());
    }
    query::derived_rows(cx, derived.id, &derived.plan, parameters, derived.is_volatile)
}

/// The rows that a virtual table gave last, and what they were looked up by.
#[derive(Default)]
struct Provided {
    keys: Vec<Option<Datum<'static>>>,
    rows: Option<Arc<RowSet>>,
}

impl Provided {
    fn rows(
        &mut self,
        cx: &mut Context,
        provider: &dyn Provider,
        keys: &[Option<Expr>],
        frame: &Frame,
    ) -> Result<Arc<RowSet>> {
        let mut wanted = Vec::with_capacity(keys.len());
        for key in keys {
            let value = key.as_ref().map(|key| key.eval(cx, frame.row())).transpose()?;
            wanted.push(value.map(Datum::into_owned));
        }
        if let Some(rows) = self.rows.as_ref().filter(|_| self.keys == wanted) {
            return Ok(rows.clone());
        }
        let mut rows = RowSet::new(cx, provider.columns().len());
        provider.rows(cx, &wanted, &mut |values| rows.push(values))?;
        let rows = Arc::new(rows);
        *self = Provided { keys: wanted, rows: Some(rows.clone()) };
        Ok(rows)
    }
}

/// The rows of a JSON document; a document that is NULL has none.
fn json_rows(cx: &mut Context, source: &JsonSource, frame: &Frame) -> Result<Arc<RowSet>> {
    let mut rows = RowSet::new(cx, source.columns.len());
    let value = source.document.eval(cx, frame.row())?;
    if !value.is_null() {
        let charset = Origin::of(&source.document.ty).charset;
        let document = json::document(value, charset, 1, "json_table")?;
        source.table.rows(&document, &mut |row| rows.push(row))?;
    }
    Ok(Arc::new(rows))
}
