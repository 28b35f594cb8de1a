//! Which node is the newest version of a key: a table by the key's hash, beside a list.
//!
//! Most that is looked for in a memtable is one key, by who reads its row or puts a version in
//! front of the newest; a search for it misses the processor's cache at each level.
//!
//! A slot has the node that was inserted last of all keys with its hash, so it may have lost a key,
//! but one that is empty has never had any. It is stored when the node is linked (S1). So who has
//! seen a position or a lock that was given free behind an insertion finds that insertion here, as
//! in the list; who has seen neither may find it a moment later.

use super::Node;
use binlog::position::LogPosition;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What the table knows of a key.
pub(super) enum Known {
    /// The list has no version of it.
    Nothing,
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

    pub(super) fn find(&self, key: &[u8]) -> Known {
        let node = Node(self.slot(key).load(Ordering::Acquire));
        if node.is_none() {
            return Known::Nothing;
        }
        // SAFETY: slots have linked nodes of the list that has the table.
        let is_same = unsafe { node.entry(LogPosition::ZERO) }.key == key;
        if is_same { Known::Newest(node) } else { Known::Unknown }
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
