//! Reading one key: as the snapshot has it, or the newest version under a lock; own changes first.

use binlog::LogPosition;
use smallvec::SmallVec;

use crate::entry::{TreeId, Value};
use crate::lock::{Acquired, LockError, LockMode, Span, WaitPolicy};
use crate::write_set::Mark;

use super::{Isolation, Transaction, TransactionError};

/// How a read sees and locks rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// A consistent read: the snapshot, without locks.
    Snapshot,
    /// The newest versions, without locks: for a secondary index whose rows are locked one by one.
    Newest,
    /// The newest versions, each locked before it is read.
    Locking(Locking),
}

/// How a locking read locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    /// `FOR SHARE`, or `FOR UPDATE` and DML.
    pub mode: LockMode,
    /// What to do with a row that somebody else has locked.
    pub on_locked: OnLocked,
}

impl Locking {
    /// Exclusive, waiting: what UPDATE and DELETE do.
    pub const UPDATE: Locking = Locking { mode: LockMode::Exclusive, on_locked: OnLocked::Wait };
    /// What UPDATE does by a scan: see [`OnLocked::SemiConsistent`].
    pub const UPDATE_MATCHING: Locking =
        Locking { mode: LockMode::Exclusive, on_locked: OnLocked::SemiConsistent };
    /// Shared, waiting.
    pub const SHARE: Locking = Locking { mode: LockMode::Shared, on_locked: OnLocked::Wait };
}

/// What to do with a row that somebody else has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLocked {
    /// Wait for it, as long as the session's timeout allows.
    Wait,
    /// A scan by the primary key under READ COMMITTED gives the row as it was committed last,
    /// without its lock ([`super::IndexScan::is_locked`]): only if that one matches the condition
    /// is it worth a wait. InnoDB's semi-consistent read. Elsewhere: wait.
    SemiConsistent,
    /// `NOWAIT`: fail.
    Fail,
    /// `SKIP LOCKED`: go on as if it were not there.
    Skip,
}

/// A row read under a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockedRow {
    /// It is locked, and this is its newest version; `None` if there is none (the key is locked
    /// nevertheless).
    Locked {
        /// The row image.
        row: Option<Value>,
        /// True if the transaction held no lock on it before.
        new: bool,
    },
    /// Somebody else has it, and it is to be skipped.
    Skipped,
}

/// The lock of a row, by how many its transaction had then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLock(usize);

/// The key of the row that was locked last, exclusively: that which is changed next, nearly always.
/// It need not be asked of the lock table again.
#[derive(Debug, Default)]
pub(super) struct LockedKey {
    tree: Option<TreeId>,
    key: SmallVec<[u8; 24]>,
}

impl LockedKey {
    fn set(&mut self, tree: TreeId, key: &[u8]) {
        self.tree = Some(tree);
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    pub(super) fn is(&self, tree: TreeId, key: &[u8]) -> bool {
        self.tree == Some(tree) && self.key.as_slice() == key
    }

    /// A lock was given back, which may be this one.
    fn forget(&mut self) {
        self.tree = None;
    }
}

/// A row, and when it was committed: zero if it is the transaction's own.
pub(super) type Version = (LogPosition, Value);

impl Transaction {
    /// How a plain SELECT reads: by the snapshot, but with shared locks under SERIALIZABLE outside
    /// of autocommit.
    pub fn plain_read_mode(&self, autocommit: bool) -> ReadMode {
        match self.options.isolation {
            Isolation::Serializable if !autocommit => ReadMode::Locking(Locking::SHARE),
            _ => ReadMode::Snapshot,
        }
    }

    /// A consistent read of one key: own changes made before the running statement, or what the
    /// snapshot has.
    ///
    /// # Errors
    /// Those of reading the store.
    pub fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Value>, TransactionError> {
        if let Some(own) = self.writes.get(tree, key, self.read_mark()) {
            return Ok(own.value().map(Value::copied));
        }
        // A temporary tree is this session's alone: the newest is what it sees.
        let at = if tree.is_temporary() { LogPosition::MAX } else { self.snapshot().position() };
        let found = self.engine.store_of(tree).version(tree, key, at)?;
        self.as_now(tree, found)
    }

    /// A version found in the store, with the columns that its table has now.
    pub(super) fn as_now(
        &self,
        tree: TreeId,
        found: Option<(LogPosition, Option<Value>)>,
    ) -> Result<Option<Value>, TransactionError> {
        let Some((position, Some(row))) = found else { return Ok(None) };
        match self.engine.layouts(tree) {
            Some(layouts) => Ok(Some(layouts.upgrade(position, &row)?.unwrap_or(row))),
            None => Ok(Some(row)),
        }
    }

    /// Locks one key and reads its newest version: own changes made before the running statement,
    /// or what was committed last, though it may not be durable yet (X4). If there is no row,
    /// nobody may put one there from now on; under READ COMMITTED the key stays locked instead.
    ///
    /// # Errors
    /// [`TransactionError::Lock`] if the key is not granted; those of reading the store.
    pub fn get_locked(
        &mut self,
        tree: TreeId,
        key: &[u8],
        locking: Locking,
    ) -> Result<LockedRow, TransactionError> {
        let mark = self.read_mark();
        let locked = self.get_locked_as_of(tree, key, locking, mark)?;
        match locked {
            LockedRow::Locked { row: None, new } if self.takes_range_locks() => {
                let acquired = if new { Acquired::New } else { Acquired::Already };
                self.locks.lock_gap(tree, key, acquired).map_err(|error| self.lock_failed(error))?;
                Ok(LockedRow::Locked { row: None, new: false })
            }
            locked => Ok(locked),
        }
    }

    /// True if locking reads also lock the gaps between the rows they read: all levels but READ
    /// COMMITTED.
    pub(super) fn takes_range_locks(&self) -> bool {
        self.options.isolation != Isolation::ReadCommitted
    }

    /// Locks a range that is about to be read against inserts. With `SKIP LOCKED`, rows already
    /// being inserted into it are skipped.
    pub(super) fn lock_range(
        &mut self,
        tree: TreeId,
        span: Span,
        on_locked: OnLocked,
    ) -> Result<(), TransactionError> {
        self.locks.set_weight(self.rows_changed);
        match self.locks.lock_range(tree, span, self.wait_policy(on_locked)) {
            Err(LockError::WouldBlock) if on_locked == OnLocked::Skip => Ok(()),
            locked => locked.map_err(|error| self.lock_failed(error)),
        }
    }

    pub(super) fn get_locked_as_of(
        &mut self,
        tree: TreeId,
        key: &[u8],
        locking: Locking,
        mark: Mark,
    ) -> Result<LockedRow, TransactionError> {
        Ok(match self.get_locked_version(tree, key, locking, mark)? {
            Some((version, new)) => LockedRow::Locked { row: version.map(|(_, row)| row), new },
            None => LockedRow::Skipped,
        })
    }

    /// The newest version, and true if its lock is new; `None` if it is to be skipped.
    pub(super) fn get_locked_version(
        &mut self,
        tree: TreeId,
        key: &[u8],
        locking: Locking,
        mark: Mark,
    ) -> Result<Option<(Option<Version>, bool)>, TransactionError> {
        let acquired = match self.lock(tree, key, locking) {
            Ok(acquired) => acquired,
            Err(LockError::WouldBlock) if locking.on_locked == OnLocked::Skip => return Ok(None),
            Err(error) => return Err(self.lock_failed(error)),
        };
        self.row_lock = (acquired == Acquired::New).then(|| RowLock(self.locks.len()));
        let version = self.newest_version(tree, key, mark)?;
        if version.is_some() && locking.mode == LockMode::Exclusive {
            self.locked_row.set(tree, key);
        }
        Ok(Some((version, acquired == Acquired::New)))
    }

    /// [`Self::get_locked`] for UPDATE and DELETE by key.
    ///
    /// # Errors
    /// Those of [`Self::get_locked`].
    pub fn get_for_update(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Value>, TransactionError> {
        match self.get_locked(tree, key, Locking::UPDATE)? {
            LockedRow::Locked { row, .. } => Ok(row),
            LockedRow::Skipped => Ok(None),
        }
    }

    /// As [`Self::get_for_update`], but with the changes of the running statement too: for REPLACE
    /// and ON DUPLICATE KEY UPDATE, whose rows may meet rows of the same statement.
    ///
    /// # Errors
    /// Those of [`Self::get_locked`].
    pub fn get_newest_for_update(
        &mut self,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<Value>, TransactionError> {
        match self.get_locked_as_of(tree, key, Locking::UPDATE, Mark::NOW)? {
            LockedRow::Locked { row, .. } => Ok(row),
            LockedRow::Skipped => Ok(None),
        }
    }

    /// The lock of the row that was read last, if it is new.
    pub fn row_lock(&self) -> Option<RowLock> {
        self.row_lock
    }

    /// Under READ COMMITTED, gives back the lock of a row that the statement's condition rejects,
    /// if it is the newest of all. Under other levels the lock stays, as InnoDB has it.
    pub fn reject_row(&mut self, lock: Option<RowLock>) {
        if lock == Some(RowLock(self.locks.len())) && self.options.isolation == Isolation::ReadCommitted {
            self.unlock_newest();
            self.row_lock = None;
        }
    }

    /// As [`Self::reject_row`], right after the row was read.
    pub fn unlock_rejected(&mut self) {
        self.reject_row(self.row_lock);
    }

    /// Locks a key.
    pub(super) fn lock(&mut self, tree: TreeId, key: &[u8], locking: Locking) -> Result<Acquired, LockError> {
        let policy = self.wait_policy(locking.on_locked);
        self.locks.set_weight(self.rows_changed);
        self.locks.lock(tree, key, locking.mode, policy)
    }

    /// Gives back the lock that was acquired last.
    pub(super) fn unlock_newest(&mut self) {
        self.locks.unlock_newest();
        self.locked_row.forget();
    }

    fn wait_policy(&self, on_locked: OnLocked) -> WaitPolicy {
        match on_locked {
            OnLocked::Wait | OnLocked::SemiConsistent => WaitPolicy::Wait(self.options.lock_wait_timeout),
            OnLocked::Fail | OnLocked::Skip => WaitPolicy::NoWait,
        }
    }

    /// The newest version of a locked key; own changes as of `mark` first.
    pub(super) fn newest(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mark: Mark,
    ) -> Result<Option<Value>, TransactionError> {
        Ok(self.newest_version(tree, key, mark)?.map(|(_, value)| value))
    }

    pub(super) fn newest_version(
        &mut self,
        tree: TreeId,
        key: &[u8],
        mark: Mark,
    ) -> Result<Option<Version>, TransactionError> {
        if let Some(own) = self.writes.get(tree, key, mark) {
            return Ok(own.value().map(|row| (LogPosition::ZERO, Value::copied(row))));
        }
        let found = self.engine.store_of(tree).latest(tree, key)?;
        let Some((position, _)) = found else { return Ok(None) };
        if !tree.is_temporary() {
            self.newest_read = self.newest_read.max(position);
        }
        Ok(self.as_now(tree, found)?.map(|row| (position, row)))
    }
}
