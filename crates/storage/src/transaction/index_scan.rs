//! A table's rows in the order of one of its indexes: a scan of that index's tree, and the rows
//! that its entries lead to.

use std::sync::Arc;

use binlog::LogPosition;

use crate::entry::{TreeId, Value};
use crate::schema::TableSchema;
use crate::write_set::OwnWrite;

use super::guard::Guard;
use super::read::ReadMode;
use super::scan::{Direction, KeyRange, Scan};
use super::{Transaction, TransactionError};

impl Transaction {
    /// A scan of the rows of a table in the order of one of its indexes, numbered as by
    /// `TableSchema::index`.
    pub fn scan_index(
        &mut self,
        schema: &Arc<TableSchema>,
        index: usize,
        range: KeyRange,
        direction: Direction,
        mode: ReadMode,
    ) -> IndexScan {
        let tree = schema.index(index).expect("the caller names an index of the table").tree();
        let scan = match mode {
            // The rows are locked, not the entries that lead to them.
            ReadMode::Locking(locking) if index != 0 => {
                let locks_range = self.takes_range_locks() && !schema.is_temporary();
                let guard = locks_range.then(|| Guard::new(locking.on_locked));
                self.scan_guarded(tree, range, direction, ReadMode::Newest, guard)
            }
            mode => self.scan(tree, range, direction, mode),
        };
        IndexScan { schema: schema.clone(), index, mode, scan, row: None }
    }
}

/// A scan of a table's rows by one of its indexes.
pub struct IndexScan {
    schema: Arc<TableSchema>,
    index: usize,
    mode: ReadMode,
    scan: Scan,
    /// The row that a secondary index's entry led to.
    row: Option<Value>,
}

impl IndexScan {
    /// Ends it, and recycles its buffers for the transaction's next scan. Dropping a scan frees
    /// them instead.
    pub fn end(self, transaction: &mut Transaction) {
        self.scan.end(transaction);
    }

    /// Moves to the next row; false after the last one.
    ///
    /// A locking scan by a secondary index finds its entries first and reads the rows' newest
    /// versions later: whether the row is still in the range is the caller's to test.
    ///
    /// # Errors
    /// Those of [`Transaction::get_locked`] if it locks; otherwise those of reading.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and needs the transaction")]
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        if self.index == 0 {
            return self.scan.next(transaction);
        }
        self.row = None;
        while self.row.is_none() {
            if !self.scan.next(transaction)? {
                return Ok(false);
            }
            let schema = self.schema.clone();
            let primary_key = schema.secondary[self.index - 1].primary_key_in(self.scan.key())?;
            self.row = self.read(transaction, schema.primary.tree(), primary_key)?;
        }
        Ok(true)
    }

    /// Moves to the next entry without reading its row, for a consistent read of what is in the
    /// entries themselves; false after the last one. [`Self::row`] is not to be asked then.
    ///
    /// # Errors
    /// Those of reading: [`TransactionError`] of store, log, or key.
    pub fn next_entry(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        while self.scan.next(transaction)? {
            if self.index == 0 || transaction.writes.is_empty() || self.is_of_now(transaction)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// False for an entry of a row that the transaction has changed since: the snapshot still has
    /// it (X6).
    fn is_of_now(&self, transaction: &Transaction) -> Result<bool, TransactionError> {
        let key = self.schema.secondary[self.index - 1].primary_key_in(self.scan.key())?;
        match transaction.writes.get(self.schema.primary.tree(), key, self.scan.mark) {
            Some(own) => Ok(self.own_row(own)?.is_some()),
            None => Ok(true),
        }
    }

    /// False if somebody else has the row locked, which is as it was committed last
    /// ([`OnLocked::SemiConsistent`]).
    pub fn is_locked(&self) -> bool {
        self.scan.is_locked()
    }

    /// Waits for the lock that [`Self::is_locked`] says is missing, and reads the row again; false
    /// if it is gone then.
    ///
    /// # Errors
    /// Those of [`Transaction::get_locked`].
    pub fn wait_for_row(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        self.scan.wait_for_row(transaction)
    }

    /// The row's image.
    ///
    /// # Panics
    /// If the scan stands nowhere.
    pub fn row(&self) -> &[u8] {
        match &self.row {
            Some(row) => row,
            None => self.scan.value(),
        }
    }

    /// The key in the index that led to the row.
    ///
    /// # Panics
    /// If the scan stands nowhere.
    pub fn key(&self) -> &[u8] {
        self.scan.key()
    }

    /// The row that an entry leads to, read by the scan's mode.
    fn read(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<Value>, TransactionError> {
        let mark = self.scan.mark;
        match self.mode {
            ReadMode::Locking(locking) => match transaction.get_locked_version(tree, key, locking, mark)? {
                Some((Some((position, row)), _)) => self.if_current(position, row),
                Some((None, true)) => {
                    transaction.unlock_rejected();
                    Ok(None)
                }
                Some((None, false)) | None => Ok(None),
            },
            ReadMode::Newest | ReadMode::Snapshot => {
                if let Some(own) = transaction.writes.get(tree, key, mark) {
                    return self.own_row(own);
                }
                let found = transaction.engine.store_of(tree).version(tree, key, self.scan.position())?;
                transaction.as_now(tree, found)
            }
        }
    }

    /// A row that was changed after the entry was found is met by its new entry, if that is in the
    /// range: nobody can put one to where the scan has been. Without such a guard it is met here.
    fn if_current(&self, position: LogPosition, row: Value) -> Result<Option<Value>, TransactionError> {
        let is_current = self.scan.guard.is_none()
            || position <= self.scan.position()
            || self.schema.keys(&row)?.of(self.index) == self.scan.key();
        Ok(is_current.then_some(row))
    }

    /// A row that the transaction has changed, if the entry is one of it as it is now (X6).
    fn own_row(&self, own: OwnWrite<'_>) -> Result<Option<Value>, TransactionError> {
        let OwnWrite::Put(row) = own else { return Ok(None) };
        let is_its_entry = self.schema.keys(row)?.of(self.index) == self.scan.key();
        Ok(is_its_entry.then(|| Value::copied(row)))
    }
}
