//! What foreign keys ask of rows: that a key which is referred to stays, and which rows refer to
//! one that goes.
//!
//! (X7) Whoever refers to a key holds its *reference lock* shared; whoever takes that key away
//!      holds it exclusively. So a key that was found stays until the transaction that refers to it
//!      ends. It is a lock of its own, on a key that no row has: changes of the row's other columns
//!      and new references do not wait for each other, and many transactions refer to one row at
//!      once. What XA has prepared has no shared locks after a start: its rows are asked instead.
//! (X8) A key that is not found may be about to be committed. Who has put it there holds the lock
//!      of the unique key itself, so that is waited for before the answer is no.
//!
//! Both look at the newest version and at all that the transaction itself has done, the running
//! statement too.

use std::sync::Arc;

use crate::entry::{TreeId, Value};
use crate::lock::WaitPolicy;
use crate::schema::{Index, TableSchema};
use crate::write_set::Mark;

use super::read::{LockedRow, Locking, ReadMode};
use super::scan::{Direction, KeyRange, Scan};
use super::{Transaction, TransactionError};

/// Follows a key where it names its reference lock: no key of a row is another one with this byte
/// after it, for keys are no prefixes of each other.
const REFERENCE: u8 = 0xFF;

impl Transaction {
    /// True if a row has a key that begins with `key`, of whole parts, in an index (numbered as by
    /// [`TableSchema::index`]). If so, it keeps it until the transaction ends (X7).
    ///
    /// # Errors
    /// [`TransactionError::Lock`] if a lock is not granted; those of reading the store.
    pub fn refer_to(
        &mut self,
        schema: &TableSchema,
        number: usize,
        key: &[u8],
    ) -> Result<bool, TransactionError> {
        let index = schema.index(number).expect("the caller names an index of the table");
        // The first parts of a longer key are none that the index knows.
        let is_unique = index.unique_part(key).is_ok_and(|unique| unique == Some(key));
        // The key of a row, which is in no other.
        let is_row = number == 0 && is_unique;
        self.lock_reference(index, key, Locking::SHARE)?;
        self.wait_for_prepared(index.tree(), key, true)?;
        if self.find_key(index, key, is_row)? {
            return Ok(true);
        }
        if !is_unique {
            return Ok(false);
        }
        self.lock(index.tree(), key, Locking::SHARE).map_err(|error| self.lock_failed(error))?; // X8
        self.find_key(index, key, is_row)
    }

    /// Makes sure that nobody refers to a key from now on, and that who did so has ended: before
    /// the row that has it loses it (X7).
    ///
    /// # Errors
    /// As [`Self::refer_to`].
    pub fn give_up_referenced(
        &mut self,
        schema: &TableSchema,
        index: usize,
        key: &[u8],
    ) -> Result<(), TransactionError> {
        let index = schema.index(index).expect("the caller names an index of the table");
        self.lock_reference(index, key, Locking::UPDATE)
    }

    /// Waits for transactions that XA has prepared and that put a row under such a key, or
    /// `deletes`.
    fn wait_for_prepared(&mut self, tree: TreeId, key: &[u8], deletes: bool) -> Result<(), TransactionError> {
        let mut ended = Vec::new();
        while let Some(owner) = self.engine.prepared_with_key(tree, key, deletes, &ended) {
            self.locks.set_weight(self.rows_changed);
            let policy = WaitPolicy::Wait(self.options.lock_wait_timeout);
            self.locks.wait_for_end(owner, policy).map_err(|error| self.lock_failed(error))?;
            // What it did is in the store now.
            ended.push(owner);
        }
        Ok(())
    }

    fn lock_reference(
        &mut self,
        index: &Index,
        key: &[u8],
        locking: Locking,
    ) -> Result<(), TransactionError> {
        let mut reference = Vec::with_capacity(key.len() + 1);
        reference.extend_from_slice(key);
        reference.push(REFERENCE);
        self.lock(index.tree(), &reference, locking).map_err(|error| self.lock_failed(error))?;
        Ok(())
    }

    /// True if a row has a key that begins so now. Nothing is locked: for who has the table to
    /// itself.
    ///
    /// # Errors
    /// Those of reading the store.
    pub fn has_key(
        &mut self,
        schema: &TableSchema,
        index: usize,
        key: &[u8],
    ) -> Result<bool, TransactionError> {
        let index = schema.index(index).expect("the caller names an index of the table");
        self.find_key(index, key, false)
    }

    /// The same; `is_row` says that it is the whole key of a row.
    fn find_key(&mut self, index: &Index, key: &[u8], is_row: bool) -> Result<bool, TransactionError> {
        let (tree, range) = (index.tree(), KeyRange::prefix(key));
        if is_row {
            return Ok(self.newest(tree, key, Mark::NOW)?.is_some());
        }
        let mut scan = self.scan_guarded(tree, range, Direction::Forward, ReadMode::Newest, None);
        scan.mark = Mark::NOW;
        let found = scan.next(self)?;
        if found {
            // Whose version it is counts as read (X4).
            let found = scan.key().to_vec();
            self.newest(tree, &found, Mark::NOW)?;
        }
        scan.end(self);
        Ok(found)
    }

    /// The rows whose keys in an index begin with `key`, of whole parts. The caller has made sure
    /// that there will be no others ([`Self::give_up_referenced`]).
    ///
    /// # Errors
    /// [`TransactionError::Lock`] if a transaction that XA has prepared is about to put one there,
    /// and does not end in time.
    pub fn scan_referring(
        &mut self,
        schema: &Arc<TableSchema>,
        index: usize,
        key: &[u8],
    ) -> Result<ReferringScan, TransactionError> {
        let tree = schema.index(index).expect("the caller names an index of the table").tree();
        self.wait_for_prepared(tree, key, false)?;
        let mut scan =
            self.scan_guarded(tree, KeyRange::prefix(key), Direction::Forward, ReadMode::Newest, None);
        scan.mark = Mark::NOW;
        Ok(ReferringScan { schema: schema.clone(), index, key: key.to_vec(), scan })
    }
}

/// A scan of the rows that refer to a key. They may be changed and deleted while it goes.
pub struct ReferringScan {
    schema: Arc<TableSchema>,
    index: usize,
    key: Vec<u8>,
    scan: Scan,
}

impl ReferringScan {
    /// The next row, locked; `None` after the last one. A row that has another key once it is
    /// locked is none of them: nobody else can give one this key, for its row is being taken away.
    ///
    /// # Errors
    /// Those of [`Transaction::get_locked`].
    pub fn next(
        &mut self,
        transaction: &mut Transaction,
        locking: Locking,
    ) -> Result<Option<Value>, TransactionError> {
        while self.scan.next(transaction)? {
            let primary = match self.index {
                0 => self.scan.key(),
                index => self.schema.secondary[index - 1].primary_key_in(self.scan.key())?,
            };
            let tree = self.schema.primary.tree();
            let locked = transaction.get_locked_as_of(tree, primary, locking, Mark::NOW)?;
            let LockedRow::Locked { row: Some(row), .. } = locked else { continue };
            if self.schema.keys(&row)?.of(self.index).starts_with(&self.key) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Ends it, and recycles its buffers.
    pub fn end(self, transaction: &mut Transaction) {
        self.scan.end(transaction);
    }
}
