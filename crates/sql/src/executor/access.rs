//! Walking an access path: its keys are evaluated and encoded when it is opened, then its ranges
//! are walked.
//!
//! (A1) A path gives every row that the conditions accept, and perhaps others: the conditions are
//!      tested again. So a value that a column can't hold exactly makes no narrower range: the walk
//!      goes by the columns before it.
//! (A2) A condition that the keys imply ([`TableAccess::implied_by_keys`]) is not tested, if all of
//!      them are held exactly, and the row that is read is the one that the key led to.

use std::sync::Arc;

use storage::transaction::{Direction, IndexScan, KeyRange, LockedRow, Locking, ReadMode};

use super::writer::reads_columns;
use crate::catalog::TableDef;
use crate::expression::frame::{self, Frame};
use crate::expression::{Expr, Node};
use crate::index_use::{Counts, Use};
use crate::planner::TableAccess;
use crate::planner::key_ranges::{KeyRanges, Ranges};
use crate::session::Context;
use crate::status::Counter;
use datum::error::{Result, SqlError};

/// A walk over a path's rows.
pub(crate) struct Scan<'p> {
    plan: &'p TableAccess,
    mode: ReadMode,
    /// A single row at most: its primary key, until it was looked up.
    point: Option<Vec<u8>>,
    ranges: KeyRanges,
    next_range: usize,
    scan: Option<IndexScan>,
    /// Rows come from the index's entries, and are made here.
    covered: bool,
    /// The conditions that need no test (A2); those after the end do.
    implied_by_keys: &'p [bool],
    image: Vec<u8>,
    /// The next row of the range is its first, which the search for the range has found.
    at_first: bool,
    /// See [`Scan::rows_read`].
    rows_read: u64,
    /// Where rows of the index are counted, once the walk was open.
    used: Option<Arc<Counts>>,
    /// Which conditions could be ranges of a key, where all of the table is read and locked.
    of_keys: Vec<bool>,
}

impl<'p> Scan<'p> {
    /// A walk that is not open yet.
    pub(crate) fn new(plan: &'p TableAccess) -> Self {
        Scan {
            plan,
            mode: ReadMode::Snapshot,
            point: None,
            ranges: KeyRanges::new(),
            next_range: 0,
            scan: None,
            covered: false,
            implied_by_keys: &[],
            image: Vec::new(),
            at_first: false,
            rows_read: 0,
            used: None,
            of_keys: Vec::new(),
        }
    }

    /// Rows that were read so far to be changed, whether the conditions accepted them or not; those
    /// left out that a range of a key would not have had, which MySQL would read.
    pub(crate) fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// Starts anew, with keys for the rows that the frame holds now.
    pub(crate) fn open(&mut self, cx: &mut Context, frame: &Frame) -> Result<()> {
        let autocommit = !cx.transaction().explicit;
        self.mode = match self.plan.locking {
            Some(locking) => ReadMode::Locking(locking),
            None if cx.locks_reads() => ReadMode::Locking(Locking::SHARE),
            None => cx.storage_transaction().plain_read_mode(autocommit),
        };
        // A row that is to be locked is looked up.
        self.covered = self.plan.covering.is_some() && self.mode == ReadMode::Snapshot;
        if self.used.is_none() {
            let tree = self.plan.table.schema.index(self.plan.path.index).map(|index| index.tree());
            let tree = tree.unwrap_or(self.plan.table.schema.primary.tree());
            self.used = Some(cx.statistics.uses.of(cx.instance.index_uses(), tree));
        }
        self.scan = None;
        self.next_range = 0;
        self.ranges.clear();
        self.point = None;
        self.implied_by_keys = &[];
        let path = &self.plan.path;
        if path.is_full() {
            cx.statistics.examined.full_scans += 1;
            if self.plan.locking.is_some() && self.of_keys.len() < self.plan.filter.len() {
                let is_of_key = |condition: &Expr| is_range(&self.plan.table, self.plan.slot, condition);
                self.of_keys = self.plan.filter.iter().map(is_of_key).collect();
            }
            self.ranges.push(KeyRange::all());
            return Ok(());
        }
        let Ranges { point, mut ranges, is_exact, .. } = Ranges::of(cx, frame, &self.plan.table, path)?;
        if is_exact && point.is_none() && (path.index == 0 || self.mode == ReadMode::Snapshot) {
            self.implied_by_keys = self.plan.implied_by_keys();
        }
        if path.direction == Direction::Backward {
            ranges.reverse();
        }
        (self.point, self.ranges) = (point, ranges);
        Ok(())
    }

    /// Puts the next row that the conditions accept into the frame; false after the last one.
    pub(crate) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        loop {
            frame.tick(cx)?;
            if !self.step(cx, frame)? {
                return Ok(false);
            }
            let lock = cx.storage_transaction().row_lock();
            let rejecting = self.rejecting(cx, frame)?;
            let is_out_of_range = rejecting.is_some_and(|number| self.of_keys.get(number) == Some(&true));
            self.rows_read += u64::from(!is_out_of_range);
            if rejecting.is_none() {
                if self.has_lock() || self.wait_for_row(cx, frame)? {
                    return Ok(true);
                }
            } else if matches!(self.mode, ReadMode::Locking(_)) && self.has_lock() {
                cx.storage_transaction().reject_row(lock);
            }
        }
    }

    /// The number of a condition that does not hold, of those that the keys do not imply.
    fn rejecting(&self, cx: &mut Context, frame: &Frame) -> Result<Option<usize>> {
        for (number, condition) in self.plan.filter.iter().enumerate() {
            let is_implied = self.implied_by_keys.get(number) == Some(&true);
            if !is_implied && condition.truth(cx, frame.row())? != Some(true) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn has_lock(&self) -> bool {
        self.scan.as_ref().is_none_or(IndexScan::is_locked)
    }

    /// Waits for a row that somebody else has locked, which the conditions accept as it was; true
    /// if they still do.
    fn wait_for_row(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        let Some(scan) = &mut self.scan else { return Ok(true) };
        if !scan.wait_for_row(cx.storage_transaction())? {
            return Ok(false);
        }
        frame.set_image(self.plan.slot, scan.row())?;
        let lock = cx.storage_transaction().row_lock();
        let accepted = super::operators::accepts(cx, &self.plan.filter, frame)?;
        if !accepted {
            cx.storage_transaction().reject_row(lock);
        }
        Ok(accepted)
    }

    fn step(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        if let Some(mut key) = self.point.take() {
            let found = self.get(cx, &key, frame);
            frame::recycle(&mut key);
            cx.scratch.key = key;
            return found;
        }
        loop {
            if let Some(scan) = self.scan.as_mut().filter(|_| self.covered) {
                let found = scan.next_entry(cx.storage_transaction())?;
                self.count_step(cx, found);
                if found {
                    return self.set_entry(frame).map(|()| true);
                }
                self.close(cx);
            } else if let Some(scan) = &mut self.scan {
                if scan.next(cx.storage_transaction())? {
                    frame.set_image(self.plan.slot, scan.row())?;
                    self.count_step(cx, true);
                    return Ok(true);
                }
                self.count_step(cx, false);
                self.close(cx);
            }
            let Some(range) = self.ranges.get_mut(self.next_range) else { return Ok(false) };
            let range = std::mem::replace(range, KeyRange::all());
            self.next_range += 1;
            let path = &self.plan.path;
            self.count_search(cx);
            let transaction = cx.storage_transaction();
            let schema = &self.plan.table.schema;
            self.scan = Some(transaction.scan_index(schema, path.index, range, path.direction, self.mode));
        }
    }

    /// Counts the search for a range, as MySQL's storage engines are counted.
    fn count_search(&mut self, cx: &Context) {
        let path = &self.plan.path;
        cx.count(Counter::HandlerReadKey);
        if path.is_full() {
            let backward = path.direction == Direction::Backward;
            cx.count(if backward { Counter::HandlerReadLast } else { Counter::HandlerReadFirst });
        }
        self.at_first = !self.is_table_scan();
    }

    /// Counts a step to the next row of a range, or to its end.
    fn count_step(&mut self, cx: &mut Context, found: bool) {
        cx.statistics.count_row(found);
        if found && let Some(used) = &self.used {
            used.count(if self.is_table_scan() { Use::Scanned } else { Use::Fetched });
        }
        if std::mem::take(&mut self.at_first) {
            return;
        }
        let path = &self.plan.path;
        cx.count(match path.direction {
            Direction::Backward => Counter::HandlerReadPrev,
            Direction::Forward if self.is_table_scan() => Counter::HandlerReadRndNext,
            // Where a unique key has led to a row, there is nothing to go on to.
            Direction::Forward if !found && self.has_unique_keys() => return,
            Direction::Forward => Counter::HandlerReadNext,
        });
    }

    fn is_table_scan(&self) -> bool {
        let path = &self.plan.path;
        path.is_full() && path.index == 0 && path.direction == Direction::Forward
    }

    fn has_unique_keys(&self) -> bool {
        let (table, path) = (&self.plan.table, &self.plan.path);
        table
            .indexes
            .get(path.index)
            .is_some_and(|index| index.unique && path.keys.len() == index.parts.len())
    }

    /// Ends the walk of the range at hand. Who asks for no further rows does so for the sake of its
    /// memory.
    pub(crate) fn close(&mut self, cx: &mut Context) {
        if let Some(scan) = self.scan.take() {
            scan.end(cx.storage_transaction());
        }
    }

    /// Puts what the entry at hand says of its row into the frame.
    fn set_entry(&mut self, frame: &mut Frame) -> Result<()> {
        let (Some(scan), Some(columns)) = (&self.scan, &self.plan.covering) else { return Ok(()) };
        let schema = &self.plan.table.schema;
        let index = schema.index(self.plan.path.index);
        let index = index.ok_or_else(|| SqlError::internal("a path by no index"))?;
        self.image.clear();
        schema.decode_key(index, columns, scan.key(), &mut self.image).map_err(SqlError::internal)?;
        frame.set_image(self.plan.slot, &self.image)
    }

    /// Reads one row by its primary key.
    fn get(&self, cx: &mut Context, key: &[u8], frame: &mut Frame) -> Result<bool> {
        let tree = self.plan.table.schema.primary.tree();
        let transaction = cx.storage_transaction();
        let row = match self.mode {
            ReadMode::Locking(locking) => match transaction.get_locked(tree, key, locking)? {
                LockedRow::Locked { row, .. } => row,
                LockedRow::Skipped => None,
            },
            ReadMode::Snapshot | ReadMode::Newest => transaction.get(tree, key)?,
        };
        cx.count(Counter::HandlerReadKey);
        cx.statistics.count_row(row.is_some());
        if row.is_some()
            && let Some(used) = &self.used
        {
            used.count(Use::Fetched);
        }
        match row {
            Some(row) => frame.set_image(self.plan.slot, &row).map(|()| true),
            None => Ok(false),
        }
    }
}

/// True for a comparison of the first column of one of the table's indexes with what reads no
/// columns.
fn is_range(table: &TableDef, slot: usize, condition: &Expr) -> bool {
    let is_key = |e: &Expr| {
        let column = match e.node {
            Node::Column { source, column } if source == slot => column,
            _ => return false,
        };
        table.indexes.iter().any(|index| index.parts.first().is_some_and(|part| part.column == column))
    };
    let is_constant = |e: &Expr| !reads_columns(e);
    match &condition.node {
        Node::Compare(_, _, pair) => {
            is_key(&pair[0]) && is_constant(&pair[1]) || is_key(&pair[1]) && is_constant(&pair[0])
        }
        Node::Between(operands, _, false) => {
            is_key(&operands[0]) && is_constant(&operands[1]) && is_constant(&operands[2])
        }
        Node::In(operand, list, false) => is_key(operand) && list.iter().all(|(_, e)| is_constant(e)),
        _ => false,
    }
}
