//! Lists the locks held and waited for, for `performance_schema.data_locks`.
//!
//! A shard's latch is held for [`LISTED_AT_ONCE`] entries at a time, and none while the caller
//! processes them: the list is no consistent snapshot, and commits go on meanwhile.

use env::UnixMicros;

use super::range::Span;
use super::{LockManager, LockMode, OwnerId};
use crate::TreeId;

/// Entries that are copied under one latch: some ten microseconds.
pub(super) const LISTED_AT_ONCE: usize = 256;
/// Bytes of a key that are listed.
pub(super) const KEY_LISTED_MAX: usize = 128;

/// A place in the lock table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPlace {
    /// The shard's number.
    pub shard: usize,
    /// The slot's number in the shard.
    pub slot: usize,
}

/// A lock that is held or waited for.
#[derive(Debug, Clone)]
pub struct ListedLock {
    /// Whose.
    pub owner: OwnerId,
    /// The index, or [`super::NAMES`].
    pub tree: TreeId,
    /// The key's beginning.
    pub key: Vec<u8>,
    /// How it is held or wanted.
    pub mode: LockMode,
    /// No other key has it as long as the lock is there.
    pub place: LockPlace,
    /// Those that must give theirs up, or the one that must get it first, if it is waited for;
    /// `None` if it is held.
    pub waits_for: Option<Vec<(OwnerId, LockMode)>>,
}

impl LockManager {
    /// Hands over all locks of keys; those of [`super::NAMES`] where somebody waits.
    ///
    /// # Errors
    /// Those of `each`, which end the listing.
    pub fn list<E>(&self, mut each: impl FnMut(ListedLock) -> Result<(), E>) -> Result<(), E> {
        let mut listed = Vec::new();
        for (number, slot) in self.shards.iter().enumerate() {
            let mut next = Some(0);
            while let Some(from) = next {
                next = slot.0.lock().list(number, from, &mut listed);
                listed.drain(..).try_for_each(&mut each)?;
            }
        }
        Ok(())
    }

    /// The ranges of this tree that transactions keep free of new rows, and whose they are.
    pub fn list_ranges(&self, tree: TreeId) -> Vec<(OwnerId, Span)> {
        self.ranges.list(tree)
    }

    /// Those that wait now, and since when.
    pub fn waits(&self) -> Vec<(OwnerId, UnixMicros)> {
        self.graph.lock().since()
    }
}
