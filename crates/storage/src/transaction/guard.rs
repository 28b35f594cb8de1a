//! How a locking scan locks the range that it reads against inserts (`lock/range.rs` has the
//! locks).
//!
//! 1. ahead  The cursor finds a key some way ahead, or the end of the range.
//! 2. lock   The piece up to there is locked as a range. Who has put a row into it before has ended
//!    when that returns.
//! 3. read   If anything was committed since the cursor's position, the cursor is made again at the
//!    newest one; and in any case brought back to where the piece begins.
//!
//! The first piece ends with the first key, and each further one is four times as long, so that one
//! that stops early (`LIMIT`) has locked little more than it has read. After the first thousand
//! keys the remaining range is locked at once: a long scan should not walk it twice. Queues are
//! read with `SKIP LOCKED`, row by row: who takes a row should not keep others from adding some.
//!
//! A whole primary key needs no range: where its row is, no other can be put.

use std::ops::Bound;

use crate::lock::Span;

use super::read::OnLocked;
use super::scan::{Direction, Scan, seek, step};
use super::{Transaction, TransactionError};

/// How far a scan's range is locked.
pub(super) struct Guard {
    on_locked: OnLocked,
    /// Nothing of the range lies after what is locked.
    done: bool,
    /// The last key of what is locked.
    last: Option<Vec<u8>>,
    /// How many keys the next piece is to have.
    ahead: usize,
}

const GROWTH: usize = 4;
/// A longer piece is replaced by the whole remaining range. In keys.
const AHEAD_MAX: usize = 1024;

impl Guard {
    pub(super) fn new(on_locked: OnLocked) -> Self {
        Self { on_locked, done: false, last: None, ahead: 1 }
    }
}

impl Scan {
    /// Extends the locked part of the range until it covers the cursor's key. The cursor may stand
    /// on another key afterwards.
    pub(super) fn lock_range_at_cursor(
        &mut self,
        transaction: &mut Transaction,
    ) -> Result<(), TransactionError> {
        while let Some(guard) = self.guard.as_mut().filter(|guard| !guard.done) {
            if self.cursor.valid() && guard.reaches(self.cursor.key(), self.direction) {
                return Ok(());
            }
            if guard.last.is_none() && self.cursor.valid() && is_whole_key(&self.range, self.cursor.key()) {
                guard.done = true;
                return Ok(());
            }
            self.lock_next_piece(transaction)?;
        }
        Ok(())
    }

    /// Locks the key of a row that was gone when its lock was granted against inserts.
    pub(super) fn lock_gap_at_key(&mut self, transaction: &mut Transaction) -> Result<(), TransactionError> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let (span, on_locked) = (Span::key(self.key()), guard.on_locked);
        transaction.lock_range(self.tree, span, on_locked)
    }

    fn lock_next_piece(&mut self, transaction: &mut Transaction) -> Result<(), TransactionError> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        let outcome = self.lock_piece(&mut guard, transaction);
        self.guard = Some(guard);
        outcome
    }

    fn lock_piece(
        &mut self,
        guard: &mut Guard,
        transaction: &mut Transaction,
    ) -> Result<(), TransactionError> {
        let moved = (2..=AHEAD_MAX).contains(&guard.ahead);
        let end = if guard.ahead > AHEAD_MAX { None } else { self.advance_cursor(guard.ahead)? };
        let from = guard.last.take();
        let near = from.as_ref().map_or(self.range.near_end(self.direction), |key| Bound::Excluded(key));
        let far = end.as_ref().map_or(self.range.far_end(self.direction), |key| Bound::Included(key));
        let span = match self.direction {
            Direction::Forward => Span::new(near, far),
            Direction::Backward => Span::new(far, near),
        };
        transaction.lock_range(self.tree, span, guard.on_locked)?;
        let is_newest = transaction.engine.newest() <= self.snapshot.position();
        if !is_newest {
            self.snapshot = transaction.engine.newest_snapshot();
            self.cursor = transaction.engine.store().cursor(self.tree, self.snapshot.position());
        }
        if moved || !is_newest {
            seek(&mut self.cursor, near, self.direction)?;
        }
        guard.done = end.is_none();
        guard.last = end;
        if guard.on_locked != OnLocked::Skip {
            guard.ahead = guard.ahead.saturating_mul(GROWTH);
        }
        Ok(())
    }

    /// Moves to the `count`th key from here on and returns it; `None` at the end of the range.
    fn advance_cursor(&mut self, count: usize) -> Result<Option<Vec<u8>>, TransactionError> {
        for _ in 1..count {
            if !self.is_within() {
                break;
            }
            step(&mut self.cursor, self.direction)?;
        }
        Ok(self.is_within().then(|| self.cursor.key().to_vec()))
    }

    fn is_within(&self) -> bool {
        self.cursor.valid() && self.range.contains(self.cursor.key(), self.direction)
    }
}

impl Guard {
    fn reaches(&self, key: &[u8], direction: Direction) -> bool {
        self.last.as_deref().is_some_and(|last| match direction {
            Direction::Forward => key <= last,
            Direction::Backward => key >= last,
        })
    }
}

/// True if the range is that of one key, which is this one: keys of an index are no prefixes of
/// each other.
fn is_whole_key(range: &super::scan::KeyRange, key: &[u8]) -> bool {
    matches!(&range.lower, Bound::Included(lower) if lower.as_slice() == key)
        && match &range.upper {
            Bound::Excluded(upper) => crate::key::prefix_successor(key).is_some_and(|end| end == *upper),
            Bound::Included(upper) => upper.as_slice() == key,
            Bound::Unbounded => false,
        }
}
