//! Walking over a tree: what the store has, merged with the transaction's own changes, in key
//! order, either way.
//!
//! A scan belongs to a statement, which may change rows between its steps. It goes by the changes
//! made before the statement began and by one position of the store, so that it never meets what
//! the statement itself does: an UPDATE that moves rows ahead changes each of them once.
//!
//! A locking scan finds its keys at the newest position of the moment it begins. It locks each, and
//! then reads its newest version, which may be another one, or gone. The caller has to test every
//! row again, for it may not be the row that the index led to. Except under READ COMMITTED it keeps
//! the range free of new rows, piece by piece, each from where the one before ended to a key some
//! way ahead (`guard.rs`): a scan that ends early leaves the rest to others.
//!
//! (N1) `own` is the nearest own change not yet passed, looked up once: what the statement adds
//!      ahead is not looked at again and again.

use std::ops::Bound;
use std::sync::Arc;

use binlog::position::LogPosition;

use crate::cursor::Cursor;
use crate::entry::{TreeId, Value};
use crate::key::KeyBytes;
use crate::layout::Layouts;
use crate::snapshot::Snapshot;
use crate::write_set::Mark;

use super::guard::Guard;
use super::read::{Access, LockedRow, Locking, OnLocked};
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
        Self { lower: Bound::Included(KeyBytes::from_slice(prefix)), upper: Self::behind(prefix) }
    }

    /// The end of a range behind all keys that begin with `prefix`.
    pub fn behind(prefix: &[u8]) -> Bound<KeyBytes> {
        crate::key::behind_prefix(prefix).map_or(Bound::Unbounded, Bound::Excluded)
    }

    /// The end that a scan comes to first.
    pub(super) fn near_end(&self, direction: Direction) -> Bound<&[u8]> {
        let end = match direction {
            Direction::Forward => &self.lower,
            Direction::Backward => &self.upper,
        };
        end.as_ref().map(KeyBytes::as_slice)
    }

    /// The other one.
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

/// A scan of one tree. [`Self::next`] moves it; it stands nowhere before and behind its rows.
pub struct Scan {
    pub(super) tree: TreeId,
    pub(super) range: KeyRange,
    pub(super) direction: Direction,
    access: Access,
    /// Own changes behind this are not seen.
    pub(super) mark: Mark,
    /// Keeps what the cursor sees.
    pub(super) snapshot: Snapshot,
    pub(super) cursor: Cursor,
    place: Place,
    own: Own,
    current: Current,
    /// Keeps others from inserting where it reads.
    pub(super) guard: Option<Guard>,
    /// What the rows were before instant ALTERs.
    layouts: Option<Arc<Layouts>>,
}

/// What the cursor has to do before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has not been brought to the range yet.
    Outside,
    /// Its row was passed.
    Passed,
    /// Nothing: its row comes next, or it is behind the last one.
    Ahead,
}

/// The nearest own change that is not passed yet (N1).
enum Own {
    /// To be looked up from the range's near end.
    FromEnd,
    /// To be looked up behind this key.
    From(Vec<u8>),
    /// `None` for a deletion.
    At(Vec<u8>, Option<Value>),
    /// There is none.
    Behind,
}

enum Current {
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
    pub fn scan(&mut self, tree: TreeId, range: KeyRange, direction: Direction, access: Access) -> Scan {
        let guard = match access {
            Access::Locking(locking) if self.keeps_ranges() && !tree.is_temporary() => {
                Some(Guard::new(locking.on_locked))
            }
            _ => None,
        };
        self.scan_guarded(tree, range, direction, access, guard)
    }

    pub(super) fn scan_guarded(
        &mut self,
        tree: TreeId,
        range: KeyRange,
        direction: Direction,
        access: Access,
        guard: Option<Guard>,
    ) -> Scan {
        let store = self.engine.store_of(tree).clone();
        let snapshot = match access {
            _ if tree.is_temporary() => store.snapshot_visible(),
            Access::Snapshot => self.snapshot().clone(),
            Access::Newest | Access::Locking(_) => self.engine.newest_snapshot(),
        };
        let memory = std::mem::take(&mut self.cursor_memory);
        let cursor = store.cursor_in(memory, tree, snapshot.position());
        Scan {
            tree,
            direction,
            access,
            mark: self.read_mark(),
            snapshot,
            cursor,
            place: Place::Outside,
            own: Own::FromEnd,
            current: Current::Nowhere,
            guard,
            layouts: self.engine.layouts(tree),
            range,
        }
    }
}

impl Scan {
    /// Ends it, and leaves its memory to the next one.
    pub(super) fn end(self, transaction: &mut Transaction) {
        transaction.cursor_memory = self.cursor.into_memory();
    }

    /// Moves to the next row; false behind the last one.
    #[allow(clippy::should_implement_trait, reason = "it can fail, and needs the transaction")]
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        loop {
            self.find(transaction)?;
            let Access::Locking(locking) = self.access else {
                self.upgrade()?;
                return Ok(self.is_valid());
            };
            if !self.is_valid() {
                return Ok(false);
            }
            if locking.on_locked == OnLocked::LookFirst && !transaction.keeps_ranges() {
                if self.look_first(transaction, locking)? {
                    return Ok(true);
                }
                continue;
            }
            match transaction.get_locked_as_of(self.tree, self.key(), locking, self.mark)? {
                LockedRow::Locked { row: Some(newest), .. } => {
                    // What is an own change stays so: nobody else can have changed the row since.
                    if matches!(self.current, Current::Stored) {
                        self.current = Current::Newest(newest);
                    }
                    return Ok(true);
                }
                LockedRow::Locked { row: None, new } => {
                    if new {
                        transaction.unlock_rejected();
                    }
                    self.keep_key(transaction)?;
                }
                LockedRow::Skipped => {}
            }
        }
    }

    /// Gives a row of an earlier definition the columns of now.
    fn upgrade(&mut self) -> Result<(), TransactionError> {
        if let (Current::Stored, Some(layouts)) = (&self.current, &self.layouts)
            && let Some(row) = layouts.upgrade(self.cursor.position(), self.cursor.value())?
        {
            self.current = Current::Newest(row);
        }
        Ok(())
    }

    /// Locks the row if that needs no wait, else reads what was committed last of it; false if
    /// there is none.
    fn look_first(
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
            self.current = Current::Foreign(row);
        } else if matches!(self.current, Current::Stored) {
            self.current = Current::Newest(row);
        }
        Ok(true)
    }

    /// False if it stands on a row that somebody else has locked.
    pub(super) fn is_locked(&self) -> bool {
        !matches!(self.current, Current::Foreign(_))
    }

    /// Waits for the lock of a row that somebody else has; false if it is gone then.
    pub(super) fn wait_for_row(&mut self, transaction: &mut Transaction) -> Result<bool, TransactionError> {
        let (Access::Locking(locking), Current::Foreign(_)) = (self.access, &self.current) else {
            return Ok(self.is_valid());
        };
        let waiting = Locking { on_locked: OnLocked::Wait, ..locking };
        let locked = transaction.get_locked_version(self.tree, self.key(), waiting, self.mark)?;
        match locked.and_then(|(version, _)| version) {
            Some((_, row)) => self.current = Current::Newest(row),
            None => transaction.unlock_rejected(),
        }
        Ok(matches!(self.current, Current::Newest(_)))
    }

    /// The position of the store that it goes by.
    pub fn position(&self) -> LogPosition {
        self.snapshot.position()
    }

    /// True if it stands on a row.
    pub fn is_valid(&self) -> bool {
        !matches!(self.current, Current::Nowhere)
    }

    /// The row's key.
    ///
    /// # Panics
    /// If the scan stands nowhere, as [`Self::value`] does.
    pub fn key(&self) -> &[u8] {
        match &self.current {
            Current::Nowhere => panic!("the scan stands on a row"),
            Current::Own(key, _) => key,
            Current::Stored | Current::Newest(_) | Current::Foreign(_) => self.cursor.key(),
        }
    }

    /// The row.
    pub fn value(&self) -> &[u8] {
        match &self.current {
            Current::Nowhere => panic!("the scan stands on a row"),
            Current::Stored => self.cursor.value(),
            Current::Own(_, value) | Current::Newest(value) | Current::Foreign(value) => value,
        }
    }

    /// Moves to the next key that the cursor or an own change has, whatever its lock.
    fn find(&mut self, transaction: &mut Transaction) -> Result<(), TransactionError> {
        self.current = Current::Nowhere;
        loop {
            self.move_cursor()?;
            if self.guard.is_some() {
                self.keep_range(transaction)?;
            }
            self.look_up_own(transaction);
            let (stored, own) = self.nearest();
            if stored {
                self.place = Place::Passed;
            }
            if !own {
                if stored {
                    self.current = Current::Stored;
                }
                return Ok(());
            }
            let Own::At(key, value) = std::mem::replace(&mut self.own, Own::Behind) else {
                unreachable!("an own change is nearest")
            };
            self.own = Own::From(key.clone());
            if let Some(value) = value {
                self.current = Current::Own(key, value);
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
            (Some(stored), Own::At(own, _)) => {
                let order = match self.direction {
                    Direction::Forward => stored.cmp(own),
                    Direction::Backward => stored.cmp(own).reverse(),
                };
                (order.is_le(), order.is_ge())
            }
            (stored, own) => (stored.is_some(), matches!(own, Own::At(..))),
        }
    }

    fn look_up_own(&mut self, transaction: &Transaction) {
        let from = match &self.own {
            Own::FromEnd => self.range.near_end(self.direction),
            Own::From(key) => Bound::Excluded(key.as_slice()),
            Own::At(..) | Own::Behind => return,
        };
        let found = match self.direction {
            Direction::Forward => transaction.writes.next(self.tree, from, self.mark),
            Direction::Backward => transaction.writes.prev(self.tree, from, self.mark),
        };
        let found = found.filter(|(key, _)| self.range.contains(key, self.direction));
        self.own = found.map_or(Own::Behind, |(key, value)| Own::At(key.to_vec(), value.map(Value::copied)));
    }

    fn move_cursor(&mut self) -> Result<(), TransactionError> {
        match std::mem::replace(&mut self.place, Place::Ahead) {
            Place::Ahead => Ok(()),
            Place::Passed => self.step(),
            Place::Outside => seek(&mut self.cursor, self.range.near_end(self.direction), self.direction),
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

/// Brings a cursor to the first key behind an end, as seen by who goes in this direction.
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
