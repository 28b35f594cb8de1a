//! A transaction: a private write set over a snapshot, row locks taken as it goes, and its part of
//! the log.
//!
//! 1. begin      Nothing is shared, nothing is registered but the session's interrupt handle.
//! 2. read       The first consistent read takes the snapshot; READ COMMITTED takes a new one with
//!    each statement. Locking reads see the newest version of a row, whoever wrote it, once they
//!    hold its lock (`read.rs`, `scan.rs`, `index_scan.rs`), and keep what they have read free of
//!    new rows (`guard.rs`).
//! 3. change     Each changed row goes to the write set and to the event group (`rows.rs`). Nobody
//!    else sees either.
//! 4. statement  Each statement begins with a mark. If it fails, both go back to the mark; a
//!    savepoint is a mark too.
//! 5. commit     All that can fail is done first. Then the group joins the log; when its position
//!    is fixed, the log's leader applies the changes to the store and releases the locks
//!    (`engine.rs`); when it is published, we return.
//!
//! (X1) Rollback, of any extent, changes nothing that is shared but locks, and it gives up locks
//!      only as a whole.
//! (X2) The write set is what the events of the group do to the trees: both are written by the same
//!      calls, both roll back to the same marks. Changes of temporary trees are in the write set
//!      only, and go to a store of their own (`temporary.rs`) after the logged changes are
//!      committed.
//! (X3) A row is changed only under its exclusive lock, and so are the unique keys that it gives up
//!      or takes.
//! (X4) What was read through a lock may not be durable yet (C5 of ARCHITECTURE.md).
//!      [`Transaction::newest_read`] names the newest position read; a session waits for it before
//!      it replies to its client.
//! (X5) After a deadlock or an abort the transaction can only roll back.
//! (X6) A snapshot taken after a row was read through a lock is not older than that row. The other
//!      way round it can be: then a row that the transaction has changed is newer than what its
//!      snapshot has of it, and its index entries in the snapshot are those of another row version.
//!      Entries that lead to a row of other keys are skipped, and entries that the change did not
//!      touch are shadowed in the write set, so that own scans return each row once.

mod error;
mod guard;
mod images;
mod index_scan;
mod read;
mod references;
mod rows;
mod scan;
mod xa;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use binlog::LogPosition;
use binlog::event::{EncodedQuery, rows_flags};
use binlog::group::{GroupBuilder, GroupContext};
use binlog::gtid::GtidSpecification;
use binlog::log::Committed;
use smallvec::SmallVec;

use crate::cursor::CursorBuffers;
use crate::engine::{Engine, PendingCommit};
use crate::lock::{Interrupt, LockError, OwnerId, TransactionLocks};
use crate::snapshot::Snapshot;
use crate::write_set::{self, WriteSet};
use images::PartialImages;

pub use error::TransactionError;
pub use images::RowImages;
pub use index_scan::IndexScan;
use read::LockedKey;
pub use read::{LockedRow, Locking, OnLocked, ReadMode, RowLock};
pub use references::ReferringScan;
pub use scan::{Direction, KeyRange, Scan};

/// What a transaction's consistent reads see. READ UNCOMMITTED is taken as READ COMMITTED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All see what was committed before the first of them read.
    #[default]
    RepeatableRead,
    /// As before; and outside of autocommit plain reads take shared locks
    /// ([`Transaction::plain_read_mode`]).
    Serializable,
}

/// What a transaction must know of its session.
#[derive(Debug, Clone)]
pub struct TransactionOptions {
    /// The isolation level.
    pub isolation: Isolation,
    /// `innodb_lock_wait_timeout`.
    pub lock_wait_timeout: Duration,
    /// Server id, statement time and version, for the events.
    pub context: GroupContext,
    /// The `BEGIN` that precedes the first row event.
    pub begin: Arc<EncodedQuery>,
    /// What its GTID is to be.
    pub gtid: GtidSpecification,
}

/// A place to go back to.
#[derive(Debug, Clone, Copy)]
pub struct Savepoint {
    writes: write_set::Mark,
    group: binlog::group::Mark,
    rows_changed: u64,
    changed: usize,
}

/// Buffers recycled from one transaction to the next of the same session.
#[derive(Default)]
pub struct TransactionBuffers {
    writes: WriteSet,
    key_buffers: [Vec<u8>; 2],
    cursor: CursorBuffers,
    /// How long its group was: a session's transactions resemble each other.
    group_len: Option<usize>,
}

/// A longer buffer for keys is freed, not recycled. In bytes.
const KEY_BUFFER_RECYCLED_MAX: usize = 4 << 10;

/// A transaction, large enough to lie in a box. Dropping it rolls it back.
pub struct Transaction {
    engine: Arc<Engine>,
    options: TransactionOptions,
    snapshot: Option<Snapshot>,
    locks: TransactionLocks,
    writes: WriteSet,
    group: GroupBuilder,
    /// The statements that are running, the outermost first: a stored function's run inside of
    /// another.
    statements: SmallVec<[Savepoint; 1]>,
    /// Text to be logged before the outermost statement's first row.
    rows_query: Option<Vec<u8>>,
    row_images: RowImages,
    partial: PartialImages,
    /// Buffers for the keys of a row as it is and as it was.
    key_buffers: [Vec<u8>; 2],
    /// For the scan that begins next.
    cursor_buffers: CursorBuffers,
    /// Tables mapped in this statement's part of the group, by their ids.
    mapped: SmallVec<[u64; 4]>,
    /// All tables mapped, by their ids.
    changed: SmallVec<[u64; 4]>,
    newest_read: LogPosition,
    /// The lock of the row that was read last, if it is new.
    row_lock: Option<RowLock>,
    locked_row: LockedKey,
    rows_changed: u64,
    must_roll_back: bool,
    /// It is one of XA.
    branch: Option<Box<xa::Branch>>,
}

impl TransactionBuffers {
    fn recycle(mut writes: WriteSet, mut key_buffers: [Vec<u8>; 2], cursor: CursorBuffers) -> Self {
        writes.clear();
        key_buffers
            .iter_mut()
            .filter(|b| b.capacity() > KEY_BUFFER_RECYCLED_MAX)
            .for_each(|b| *b = Vec::new());
        Self { writes, key_buffers, cursor, group_len: None }
    }
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, interrupt: Arc<Interrupt>, options: TransactionOptions) -> Self {
        let locks = engine.locks().begin(interrupt, engine.options().locks_max);
        let group = GroupBuilder::new(options.context);
        Self {
            engine,
            options,
            snapshot: None,
            locks,
            writes: WriteSet::new(),
            group,
            statements: SmallVec::new(),
            rows_query: None,
            row_images: RowImages::Full,
            partial: PartialImages::default(),
            key_buffers: Default::default(),
            cursor_buffers: CursorBuffers::default(),
            mapped: SmallVec::new(),
            changed: SmallVec::new(),
            newest_read: LogPosition::ZERO,
            row_lock: None,
            locked_row: LockedKey::default(),
            rows_changed: 0,
            must_roll_back: false,
            branch: None,
        }
    }

    /// Uses the recycled buffers of an earlier transaction; before its first change.
    pub fn reuse_buffers(&mut self, buffers: TransactionBuffers) {
        let TransactionBuffers { writes, key_buffers, cursor, group_len } = buffers;
        (self.writes, self.key_buffers, self.cursor_buffers) = (writes, key_buffers, cursor);
        if let Some(len) = group_len {
            self.group.expect(len);
        }
    }

    /// Its name in the lock table.
    pub fn owner(&self) -> OwnerId {
        self.locks.owner()
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// True if it changed a row and did not take that back.
    pub fn has_changes(&self) -> bool {
        !self.group.is_empty()
    }

    /// True if it can only roll back (X5).
    pub fn must_roll_back(&self) -> bool {
        self.must_roll_back
    }

    /// Bytes of memory that its changes take, in the write set and in the event group, without what
    /// the event group has spilled to a file.
    pub fn bytes(&self) -> usize {
        self.writes.bytes() + self.group.memory() + self.locks.note_bytes()
    }

    /// Sets `innodb_lock_wait_timeout` for what follows.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.options.lock_wait_timeout = timeout;
    }

    /// The newest position of a version that it read through a lock, which may not be visible yet
    /// (X4). Wait for it with [`Engine::wait_visible`] before the client gets what was read. Commit
    /// implies it.
    pub fn newest_read(&self) -> LogPosition {
        self.newest_read
    }

    /// The snapshot of consistent reads, taken now if there is none yet
    /// (`START TRANSACTION WITH CONSISTENT SNAPSHOT` asks for it at once). It sees all that the
    /// transaction has read through locks (X6), which may have to be waited for.
    pub fn snapshot(&mut self) -> &Snapshot {
        let (engine, newest_read) = (&self.engine, self.newest_read);
        self.snapshot.get_or_insert_with(|| {
            // Fails if the log has stopped. Then the transaction can't commit, but it may read what
            // was visible.
            let _ = engine.wait_visible(newest_read);
            engine.snapshot()
        })
    }

    /// Where the snapshot stands, if there is one already.
    pub fn snapshot_position(&self) -> Option<LogPosition> {
        self.snapshot.as_ref().map(Snapshot::position)
    }

    /// True if a row that was read through a lock may be newer than the snapshot (X6).
    fn has_read_past_snapshot(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| self.newest_read > snapshot.position())
    }

    /// Begins a statement, or one inside of a running one. `timestamp` (seconds since 1970) is that
    /// of its events; `rows_query` is its text, if that is to be logged before its rows.
    pub fn begin_statement(&mut self, timestamp: u32, rows_query: Option<&[u8]>) {
        if self.statements.is_empty() {
            if self.options.isolation == Isolation::ReadCommitted {
                self.snapshot = None;
            }
            self.group.context_mut().timestamp = timestamp;
            self.rows_query = rows_query.map(<[u8]>::to_vec);
        }
        self.statements.push(self.savepoint());
    }

    /// Sets the flags of rows events for the statement that begins next:
    /// [`binlog::event::rows_flags`].
    pub fn set_rows_flags(&mut self, flags: u16) {
        if self.statements.is_empty() {
            self.group.context_mut().rows_flags = flags;
        }
    }

    /// Says that replicas need not look at foreign keys for the rows that follow, up to the
    /// statement's end: what these do to other rows is logged as rows.
    pub fn log_references(&mut self) {
        self.group.context_mut().rows_flags |= rows_flags::NO_FOREIGN_KEY_CHECKS;
    }

    /// Sets `binlog_row_image` for the changes that follow.
    pub fn set_row_images(&mut self, images: RowImages) {
        self.row_images = images;
    }

    /// Ends the innermost statement: its changes belong to the one around it, or to the
    /// transaction.
    pub fn end_statement(&mut self) {
        self.statements.pop();
        if self.statements.is_empty() {
            self.group.end_statement();
            self.mapped.clear();
        }
    }

    /// Ends the innermost statement and takes its changes back. Its locks stay.
    pub fn rollback_statement(&mut self) {
        if let Some(begun) = self.statements.pop() {
            self.rollback_to(begun);
        }
    }

    /// A place to come back to with [`Self::rollback_to`]. Going back to an earlier one makes it
    /// void.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            writes: self.writes.mark(),
            group: self.group.mark(),
            rows_changed: self.rows_changed,
            changed: self.changed.len(),
        }
    }

    /// How many rows it has changed.
    pub fn rows_changed(&self) -> u64 {
        self.rows_changed
    }

    /// The numbers of the tables whose rows it changes, temporary ones aside.
    pub fn changed_tables(&self) -> &[u64] {
        &self.changed
    }

    /// Takes back all changes made since. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.writes.rollback_to(savepoint.writes);
        self.group.truncate(savepoint.group);
        self.rows_changed = savepoint.rows_changed;
        self.changed.truncate(savepoint.changed);
        // The table maps may have been truncated too: the changes that follow map their tables
        // again.
        self.group.end_statement();
        self.mapped.clear();
    }

    /// Throws all changes away and gives all locks back.
    pub fn rollback(self: Box<Self>) {
        if self.has_changes() {
            self.engine.status().rolled_back.fetch_add(1, Relaxed);
        }
    }

    /// Commits, and returns once the log has published it, as durable as the settings ask: its
    /// place and its GTID, or `None` if it changed nothing.
    ///
    /// # Errors
    /// [`TransactionError::Commit`] says if the transaction is gone or its fate unknown. After any
    /// other error it is gone.
    pub fn commit(self: Box<Self>) -> Result<Option<Committed>, TransactionError> {
        match self.enqueue(&mut TransactionBuffers::default())? {
            Some(pending) => pending.wait().map(Some),
            None => Ok(None),
        }
    }

    /// The first half of [`Self::commit`]: does all that can fail, and joins the log's queue.
    /// `None` if the transaction changed nothing. Its buffers are recycled into `buffers`.
    ///
    /// # Errors
    /// `LockError::Aborted` if the transaction must roll back, [`TransactionError::Store`] if
    /// writes are stopped: nothing of it is logged then.
    pub fn enqueue(
        mut self: Box<Self>,
        buffers: &mut TransactionBuffers,
    ) -> Result<Option<PendingCommit>, TransactionError> {
        if self.must_roll_back {
            return Err(LockError::Aborted.into());
        }
        let temporary = self.engine.temporary();
        let of_temporary = self.writes.to_temporary_batch();
        if let Some(batch) = &of_temporary {
            temporary.admit(batch)?;
        }
        if self.group.is_empty() {
            assert!(self.writes.entries().next().is_none(), "X2: changes without events");
            if let Some(batch) = &of_temporary {
                temporary.write(batch);
            }
            *buffers = TransactionBuffers::recycle(self.writes, self.key_buffers, self.cursor_buffers);
            return Ok(None);
        }
        self.locks.prepare_release();
        let (changes, due) = self.engine.store().admit_changes(&self.writes)?;
        // Before other commits wait for this one: freeing a large write set takes a while.
        *buffers = TransactionBuffers::recycle(self.writes, self.key_buffers, self.cursor_buffers);
        buffers.group_len = Some(self.group.memory());
        let group = match &self.branch {
            None => self.group.finish_xid(self.engine.next_xid()),
            Some(branch) => Self::finish_branch(self.group, branch, true),
        };
        // The snapshot goes before the wait for the disk, so that compaction need not wait for it
        // too.
        drop(self.snapshot);
        let pending = self.engine.enqueue_changes(group, changes, due, Some(self.locks), self.options.gtid);
        Ok(Some(match of_temporary {
            Some(batch) => pending.with_temporary(self.engine.temporary().clone(), batch),
            None => pending,
        }))
    }

    /// The place of own changes that the running statement reads at: those made before it began.
    fn read_mark(&self) -> write_set::Mark {
        self.statements.last().map_or(write_set::Mark::NOW, |s| s.writes)
    }

    /// Remembers a failed lock request that ends the transaction (X5).
    fn lock_failed(&mut self, error: LockError) -> TransactionError {
        self.must_roll_back |= error.ends_transaction();
        error.into()
    }
}
