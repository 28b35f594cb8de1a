//! Hash index of a list: from a key to the node of its newest version.
//!
//! Most searches in a memtable are for one key, to read its row or to put a newer version of it; a
//! search of the list misses the processor's cache at each level.
//!
//! A slot has the node that was inserted last of all keys with its hash, so it may have lost a key,
//! but one that is empty has never had any. It is stored when the node is linked (S1). So a thread
//! that has seen a position published, or a lock released, after an insertion finds that insertion
//! here, as in the list; other threads may find it a moment later.

use super::Node;
use binlog::LogPosition;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What the table knows of a key.
pub(super) enum NewestLookup {
    /// The list has no version of it.
    Absent,
    /// This is its newest version.
    Newest(Node),
    /// There may be one.
    Unknown,
}

/// The table.
pub(super) struct Newest {
    hasher: DefaultHashBuilder,
    /// A power of two of them.
    slots: Box<[AtomicPtr<u8>]>,
}

impl Newest {
    /// For about so many keys. Its memory is the system's until it is used.
    pub(super) fn new(keys: usize) -> Newest {
        let slots = Box::new_zeroed_slice(keys.max(1).next_power_of_two());
        // SAFETY: an atomic pointer of zeros is one to nothing.
        Newest { hasher: DefaultHashBuilder::default(), slots: unsafe { slots.assume_init() } }
    }

    pub(super) fn find(&self, key: &[u8]) -> NewestLookup {
        let node = Node(self.slot(key).load(Ordering::Acquire));
        if node.is_none() {
            return NewestLookup::Absent;
        }
        // SAFETY: slots have linked nodes of the list that has the table.
        let is_same = unsafe { node.entry(LogPosition::ZERO) }.key == key;
        if is_same { NewestLookup::Newest(node) } else { NewestLookup::Unknown }
    }

    /// The node is linked; by the writer of the list.
    pub(super) fn set(&self, key: &[u8], node: Node) {
        self.slot(key).store(node.0, Ordering::Release);
    }

    fn slot(&self, key: &[u8]) -> &AtomicPtr<u8> {
        let hash = self.hasher.hash_one(key) as usize;
        &self.slots[hash & (self.slots.len() - 1)]
    }
}
