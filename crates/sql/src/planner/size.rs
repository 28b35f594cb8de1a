//! How large tables and parts of them are, for those who choose paths.
//!
//! 1. dive    Where all keys of a path are constants or parameters, the storage is asked how many
//!    entries lie in its ranges: memtables and blocks' indexes say, with a block or two of a table
//!    on disk.
//! 2. group   Else the index's statistics say how many rows have the same leading columns, on
//!    average.
//! 3. guess   Else a column that is bound leaves a tenth, a range a third.
//!
//! (Z1) What is found out here decides about costs and nothing else: parameters may be others at
//!      the next execution (P1).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::access::{AccessPath, Key};
use super::key_ranges;
use crate::catalog::TableDef;
use crate::catalog::statistics::TableStatistics;
use crate::expression::{Expr, Node};
use crate::session::Context;

/// Rows that a table is taken to have where nobody knows.
const ROWS_UNKNOWN: f64 = 1000.0;

/// The fewest rows that a table is taken to have.
const ROWS_MIN: f64 = 1.0;

/// The most alternatives of a path that are looked up one by one.
const DIVES_MAX: usize = 16;

/// An entry that is shorter than this part of its row is worth a walk over its index instead of the
/// rows.
const SHORT: f64 = 0.5;

/// The part of a row's cost that does not depend on how long it is.
const ENTRY_COST: f64 = 0.5;

/// The share of rows that each column bound by an equality leaves, where nothing is known.
const BOUND_SHARE: f64 = 0.1;

/// The same for a range with one end, and with both.
const HALF_OPEN_SHARE: f64 = 0.3;
const CLOSED_SHARE: f64 = 0.1;

/// What is known of one table, as far as it was asked for.
pub(crate) struct TableSize<'a> {
    table: &'a TableDef,
    cx: &'a RefCell<&'a mut Context>,
    known: OnceCell<Option<Arc<TableStatistics>>>,
    /// What dives found, by index, number of keys, and number of ranges after them.
    dives: RefCell<HashMap<(usize, usize, usize), Option<f64>>>,
}

impl<'a> TableSize<'a> {
    /// Of a table; nothing is asked yet.
    pub(crate) fn new(cx: &'a RefCell<&'a mut Context>, table: &'a TableDef) -> Self {
        Self { table, cx, known: OnceCell::new(), dives: RefCell::default() }
    }

    fn known(&self) -> Option<&TableStatistics> {
        self.known.get_or_init(|| self.table.current_statistics(&self.cx.borrow().instance)).as_deref()
    }

    pub(crate) fn rows(&self) -> f64 {
        self.known().map_or(ROWS_UNKNOWN, |known| (known.rows() as f64).max(ROWS_MIN))
    }

    /// What an entry of an index costs to read in a walk over all of it, in rows read: less, if it
    /// is much shorter.
    pub(crate) fn width(&self, index: usize) -> f64 {
        let bytes = |index: usize| {
            let tree = self.table.schema.index(index)?.tree();
            Some(self.known()?.index(tree)?.entry_bytes as f64)
        };
        match (bytes(index), bytes(0)) {
            (Some(entry), Some(row)) if entry < row * SHORT => ENTRY_COST + (1.0 - ENTRY_COST) * entry / row,
            _ => 1.0,
        }
    }

    /// Rows that a path gives each time that it is opened; it has so many alternatives of keys.
    pub(crate) fn of_path(&self, path: &AccessPath, alternatives: usize) -> f64 {
        let all = self.rows();
        let index = &self.table.indexes[path.index];
        let whole =
            path.keys.len() == index.parts.len() && index.parts.iter().all(|p| p.prefix_len.is_none());
        if index.unique && whole && path.keys.iter().flatten().all(|key| matches!(key, Key::Value(..))) {
            return (alternatives as f64).min(all);
        }
        let rows = match self.dive(path, alternatives) {
            Some(rows) => rows,
            None => self.guess(path, alternatives),
        };
        rows.clamp(ROWS_MIN, all)
    }

    fn guess(&self, path: &AccessPath, alternatives: usize) -> f64 {
        let bound = path.keys.len();
        let mut rows = match self.group(path.index, bound) {
            Some(rows) => rows,
            None => self.rows() * BOUND_SHARE.powi(bound as i32),
        };
        rows *= alternatives as f64;
        if let Some(range) = path.ranges.first() {
            let is_closed = range.lower.is_some() && range.upper.is_some();
            rows *= if is_closed { CLOSED_SHARE } else { HALF_OPEN_SHARE };
        }
        rows
    }

    /// Rows that have the same values in the first columns of an index, on average.
    fn group(&self, index: usize, columns: usize) -> Option<f64> {
        let known = self.known()?;
        let tree = self.table.schema.index(index)?.tree();
        let distinct = *known.index(tree)?.distinct.get(columns.checked_sub(1)?)?;
        Some(self.rows() / (distinct as f64).max(1.0))
    }

    /// Asks the storage, if all keys are known already.
    fn dive(&self, path: &AccessPath, alternatives: usize) -> Option<f64> {
        if alternatives > DIVES_MAX || !path.expressions().all(is_known_now) {
            return None;
        }
        let place = (path.index, path.keys.len(), path.ranges.len());
        if let Some(found) = self.dives.borrow().get(&place) {
            return *found;
        }
        let found = self.index_dive(path);
        self.dives.borrow_mut().insert(place, found);
        found
    }

    fn index_dive(&self, path: &AccessPath) -> Option<f64> {
        let mut cx = self.cx.borrow_mut();
        // The execution will say what is wrong with a value.
        let ranges = cx.without_diagnostics(|cx| key_ranges::without_rows(cx, self.table, path)).ok()?;
        let tree = self.table.schema.index(path.index)?.tree();
        let store = cx.instance.engine().store_of(tree);
        let mut rows = 0;
        for range in &ranges {
            let (lower, upper) =
                (range.lower.as_ref().map(|end| &end[..]), range.upper.as_ref().map(|end| &end[..]));
            rows += store.estimate_range(tree, lower, upper).ok()?;
        }
        Some(rows as f64)
    }
}

/// True for a value that costs nothing to find out before the statement runs.
fn is_known_now(e: &Expr) -> bool {
    matches!(e.node, Node::Constant(_) | Node::Misread(_) | Node::Parameter(_))
}
