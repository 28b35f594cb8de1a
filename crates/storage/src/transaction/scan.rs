//! Walking over a tree: what the store has, merged with the transaction's own changes, in key
//! order, either way.
//!
//! A scan belongs to a statement, which may change rows between its steps. It goes by the changes
//! made before the statement began and by one position of the store, so that it never meets what
//! the statement itself does: an UPDATE that moves rows ahead changes each of them once.
//!
//! A locking scan finds its keys at the newest position of the moment it begins. It locks each, and
//! then reads its newest version, which may be another one, or gone. The caller has to test every
//! row again, for it may not be the row that the index led to. Except under READ COMMITTED it locks
//! the range against inserts, piece by piece, each from where the one before ended to a key some
//! way ahead (`guard.rs`): a scan that ends early does not lock the remaining range.
//!
//! (N1) `own` is the nearest own change not yet passed, and is looked up once: changes that the
//!      statement adds ahead are not searched again and again.

use std::ops::Bound;
use std::sync::Arc;

use binlog::LogPosition;

use crate::cursor::Cursor;
use crate::entry::{TreeId, Value};
use crate::key::KeyBytes;
use crate::layout::Layouts;
use crate::snapshot::Snapshot;
use crate::write_set::Mark;

use super::guard::Guard;
use super::read::{LockedRow, Locking, OnLocked, ReadMode};
use super::{Transaction, TransactionError};

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// By ascending keys.
    Forward,
    /// By descending keys.
    Backward,
}

/// The keys that a scan covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<KeyBytes>,
    /// Where it ends.
    pub upper: Bound<KeyBytes>,
}

impl KeyRange {
    /// Every key of the tree.
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { lower: Bound::Included(KeyBytes::from_slice(prefix)), upper: Self::prefix_end(prefix) }
    }

    /// The end of a range after all keys that begin with `prefix`.
    pub fn prefix_end(prefix: &[u8]) -> Bound<KeyBytes> {
        crate::key::prefix_successor(prefix).map_or(Bound::Unbounded, Bound::Excluded)
    }

    /// The end that a scan comes to first.
    pub(super) fn near_end(&self, direction: Direction) -> Bound<&[u8]> {
        let end = match direction {
            Direction::Forward => &self.lower,
            Direction::Backward => &self.upper,
        };
        end.as_ref().map(KeyBytes::as_slice)
    }

    /// The end that a scan comes to last.
    pub(super) fn far_end(&self, direction: Direction) -> Bound<&[u8]> {
        let end = match direction {
            Direction::Forward => &self.upper,
            Direction::Backward => &self.lower,
        };
        end.as_ref().map(KeyBytes::as_slice)
    }

    pub(super) fn contains(&self, key: &[u8], direction: Direction) -> bool {
        // The near end was sought for.
        match direction {
            Direction::Forward => match &self.upper {
                Bound::Included(end) => key <= end.as_slice(),
                Bound::Excluded(end) => key < end.as_slice(),
                Bound::Unbounded => true,
            },
            Direction::Backward => match &self.lower {
                Bound::Included(end) => key >= end.as_slice(),
                Bound::Excluded(end) => key > end.as_slice(),
                Bound::Unbounded => true,
            },
        }
    }
}

/// A scan of one tree. [`Self::next`] moves it; before the first and after the last row it stands
/// nowhere.
pub struct Scan {
    pub(super) tree: TreeId,
    pub(super) range: KeyRange,
    pub(super) direction: Direction,
    mode: ReadMode,
    /// Own changes after this are not seen.
    pub(super) mark: Mark,
    /// Keeps what the cursor sees.
    pub(super) snapshot: Snapshot,
    pub(super) cursor: Cursor,
    cursor_move: CursorMove,
    own: OwnChange,
    current: CurrentRow,
    /// Keeps others from inserting where it reads.
    pub(super) guard: Option<Guard>,
    /// What the rows were before instant ALTERs.
    layouts: Option<Arc<Layouts>>,
}

/// How the cursor has to move before its row is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorMove {
    /// It has not been brought to the range yet.
    Seek,
    /// Its row was passed.
    Step,
    /// It stands on the row that comes next, or after the last one.
    Stay,
}

/// The nearest own change that is not passed yet (N1).
enum OwnChange {
    /// To be looked up from the range's near end.
    FindFirst,
    /// To be looked up after this key.
    FindAfter(Vec<u8>),
    /// `None` for a deletion.
    Found(Vec<u8>, Option<Value>),
    /// There is none.
    Exhausted,
}

enum CurrentRow {
    Nowhere,
    /// The cursor's row as it stands there.
    Stored,
    /// An own change.
    Own(Vec<u8>, Value),
    /// Another version of the cursor's key: the newest, read under its lock, or one with the
    /// columns of now.
    Newest(Value),
    /// The newest version of the cursor's key, which somebody else has locked.
    Foreign(Value),
}

impl Transaction {
    /// A scan of `tree` for the running statement.
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, direction: Direction, mode: ReadMode) -> Scan {
        let guard = match mode {
            ReadMode::Locking(locking) if self.takes_range_locks() && !tree.is_temporary() => {
                Some(Guard::new(locking.on_locked))
            }
            _ => None,
        };
        self.scan_guarded(tree, range, direction, mode, guard)
    }

    pub(super) fn scan_guarded(
        &mut self,
        tree: TreeId,
        range: KeyRange,
        direction: Direction,
        mode: ReadMode,
        guard: Option<Guard>,
    ) -> Scan {
        let store = self.engine.store_of(tree).clone();
        let snapshot = match mode {
            _ if tree.is_temporary() => store.snapshot_visible(),
            ReadMode::Snapshot => self.snapshot().clone(),
            ReadMode::Newest | ReadMode::Locking(_) => self.engine.newest_snapshot(),
        };
        let buffers = std::mem::take(&mut self.cursor_buffers);
        let cursor = store.cursor_in(buffers, tree, snapshot.position());
        Scan {
            tree,
            direction,
            mode,
            mark: self.read_mark(),
            snapshot,
            cursor,
            cursor_move: CursorMove::Seek,
            own: OwnChange::FindFirst,
            current: CurrentRow::Nowhere,
            guard,
            layouts: self.engine.layouts(tree),
            range,
        }
    }
}

impl Scan {
    /// Ends it, and recycles its buffers for the transaction's next scan.
    pub(super) fn end(self, transaction: &mut Transaction) {
        transaction.cursor_buffers = self.cursor.into_buffers();
    }

    /// Moves to the next row; false after the last one.
    ///
    /// # Errors
    /// Those of [`Transaction::get_locked`] if it locks; otherwise those of reading.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and needs the transaction")]
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        loop {
            self.find(transaction)?;
            let ReadMode::Locking(locking) = self.mode else {
                self.upgrade()?;
                return Ok(self.is_valid());
            };
            if !self.is_valid() {
                return Ok(false);
            }
            if locking.on_locked == OnLocked::SemiConsistent && !transaction.takes_range_locks() {
                if self.read_semi_consistent(transaction, locking)? {
                    return Ok(true);
                }
                continue;
            }
            match transaction.get_locked_as_of(self.tree, self.key(), locking, self.mark)? {
                LockedRow::Locked { row: Some(newest), .. } => {
                    // What is an own change stays so: nobody else can have changed the row since.
                    if matches!(self.current, CurrentRow::Stored) {
                        self.current = CurrentRow::Newest(newest);
                    }
                    return Ok(true);
                }
                LockedRow::Locked { row: None, new } => {
                    if new {
                        transaction.unlock_rejected();
                    }
                    self.lock_gap_at_key(transaction)?;
                }
                LockedRow::Skipped => {}
            }
        }
    }

    /// Gives a row of an earlier definition the columns of now.
    fn upgrade(&mut self) -> Result<(), TransactionError> {
        if let (CurrentRow::Stored, Some(layouts)) = (&self.current, &self.layouts)
            && let Some(row) = layouts.upgrade(self.cursor.position(), self.cursor.value())?
        {
            self.current = CurrentRow::Newest(row);
        }
        Ok(())
    }

    /// InnoDB's semi-consistent read: locks the row if that needs no wait, else reads its last
    /// committed version; false if there is no row.
    fn read_semi_consistent(
        &mut self,
        transaction: &mut Transaction,
        locking: Locking,
    ) -> Result<bool, TransactionError> {
        let without_wait = Locking { on_locked: OnLocked::Skip, ..locking };
        let locked = transaction.get_locked_version(self.tree, self.key(), without_wait, self.mark)?;
        let (version, is_locked) = match locked {
            Some((version, _)) => (version, true),
            None => (transaction.newest_version(self.tree, self.key(), self.mark)?, false),
        };
        let Some((_, row)) = version else {
            if is_locked {
                transaction.unlock_rejected();
            }
            return Ok(false);
        };
        if !is_locked {
            self.current = CurrentRow::Foreign(row);
        } else if matches!(self.current, CurrentRow::Stored) {
            self.current = CurrentRow::Newest(row);
        }
        Ok(true)
    }

    /// False if it stands on a row that somebody else has locked.
    pub(super) fn is_locked(&self) -> bool {
        !matches!(self.current, CurrentRow::Foreign(_))
    }

    /// Waits for the lock of a row that somebody else has; false if it is gone then.
    pub(super) fn wait_for_row(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        let (ReadMode::Locking(locking), CurrentRow::Foreign(_)) = (self.mode, &self.current) else {
            return Ok(self.is_valid());
        };
        let waiting = Locking { on_locked: OnLocked::Wait, ..locking };
        let locked = transaction.get_locked_version(self.tree, self.key(), waiting, self.mark)?;
        match locked.and_then(|(version, _)| version) {
            Some((_, row)) => self.current = CurrentRow::Newest(row),
            None => transaction.unlock_rejected(),
        }
        Ok(matches!(self.current, CurrentRow::Newest(_)))
    }

    /// The position of the store that it goes by.
    pub fn position(&self) -> LogPosition {
        self.snapshot.position()
    }

    /// True if it stands on a row.
    pub(crate) fn is_valid(&self) -> bool {
        !matches!(self.current, CurrentRow::Nowhere)
    }

    /// The row's key.
    ///
    /// # Panics
    /// If the scan stands nowhere, as [`Self::value`] does.
    pub fn key(&self) -> &[u8] {
        match &self.current {
            CurrentRow::Nowhere => panic!("the scan stands on a row"),
            CurrentRow::Own(key, _) => key,
            CurrentRow::Stored | CurrentRow::Newest(_) | CurrentRow::Foreign(_) => self.cursor.key(),
        }
    }

    /// The row.
    pub fn value(&self) -> &[u8] {
        match &self.current {
            CurrentRow::Nowhere => panic!("the scan stands on a row"),
            CurrentRow::Stored => self.cursor.value(),
            CurrentRow::Own(_, value) | CurrentRow::Newest(value) | CurrentRow::Foreign(value) => value,
        }
    }

    /// Moves to the next key that the cursor or an own change has, whatever its lock.
    fn find(&mut self, transaction: &mut Transaction) -> Result<(), TransactionError> {
        self.current = CurrentRow::Nowhere;
        loop {
            self.move_cursor()?;
            if self.guard.is_some() {
                self.lock_range_at_cursor(transaction)?;
            }
            self.find_own_change(transaction);
            let (stored, own) = self.nearest();
            if stored {
                self.cursor_move = CursorMove::Step;
            }
            if !own {
                if stored {
                    self.current = CurrentRow::Stored;
                }
                return Ok(());
            }
            let OwnChange::Found(key, value) = std::mem::replace(&mut self.own, OwnChange::Exhausted) else {
                unreachable!("an own change is nearest")
            };
            self.own = OwnChange::FindAfter(key.clone());
            if let Some(value) = value {
                self.current = CurrentRow::Own(key, value);
                return Ok(());
            }
        }
    }

    /// Whether the cursor's row and the own change are the nearest one; both if they have the same
    /// key.
    fn nearest(&self) -> (bool, bool) {
        let stored = self.cursor.valid().then(|| self.cursor.key());
        let stored = stored.filter(|key| self.range.contains(key, self.direction));
        match (stored, &self.own) {
            (Some(stored), OwnChange::Found(own, _)) => {
                let order = match self.direction {
                    Direction::Forward => stored.cmp(own),
                    Direction::Backward => stored.cmp(own).reverse(),
                };
                (order.is_le(), order.is_ge())
            }
            (stored, own) => (stored.is_some(), matches!(own, OwnChange::Found(..))),
        }
    }

    fn find_own_change(&mut self, transaction: &Transaction) {
        let from = match &self.own {
            OwnChange::FindFirst => self.range.near_end(self.direction),
            OwnChange::FindAfter(key) => Bound::Excluded(key.as_slice()),
            OwnChange::Found(..) | OwnChange::Exhausted => return,
        };
        let found = match self.direction {
            Direction::Forward => transaction.writes.next(self.tree, from, self.mark),
            Direction::Backward => transaction.writes.prev(self.tree, from, self.mark),
        };
        let found = found.filter(|(key, _)| self.range.contains(key, self.direction));
        self.own = found.map_or(OwnChange::Exhausted, |(key, value)| {
            OwnChange::Found(key.to_vec(), value.map(Value::copied))
        });
    }

    fn move_cursor(&mut self) -> Result<(), TransactionError> {
        match std::mem::replace(&mut self.cursor_move, CursorMove::Stay) {
            CursorMove::Stay => Ok(()),
            CursorMove::Step => self.step(),
            CursorMove::Seek => seek(&mut self.cursor, self.range.near_end(self.direction), self.direction),
        }
    }

    fn step(&mut self) -> Result<(), TransactionError> {
        step(&mut self.cursor, self.direction)
    }
}

pub(super) fn step(cursor: &mut Cursor, direction: Direction) -> Result<(), TransactionError> {
    match direction {
        Direction::Forward => cursor.next()?,
        Direction::Backward => cursor.prev()?,
    }
    Ok(())
}

/// Moves a cursor to the first key inside a bound, in the scan's direction.
pub(super) fn seek(
    cursor: &mut Cursor,
    from: Bound<&[u8]>,
    direction: Direction,
) -> Result<(), TransactionError> {
    match (direction, from) {
        (Direction::Forward, Bound::Unbounded) => cursor.seek_first()?,
        (Direction::Backward, Bound::Unbounded) => cursor.seek_last()?,
        (Direction::Forward, Bound::Included(key) | Bound::Excluded(key)) => cursor.seek(key)?,
        (Direction::Backward, Bound::Included(key) | Bound::Excluded(key)) => cursor.seek_for_prev(key)?,
    }
    match from {
        Bound::Excluded(key) if cursor.valid() && cursor.key() == key => step(cursor, direction),
        _ => Ok(()),
    }
}
