//! The ordered list inside a memtable: one writer, readers without any lock.
//!
//! A skip list whose nodes lie in an arena. A node is written completely before the first link to
//! it is stored, never changes after that except for its links, and lives as long as the list. A
//! list that was filled before its entries' position was known has that for all of them (S6). So a
//! reader needs nothing but `Acquire` loads of links, and slices of keys and values stay valid as
//! long as the list is borrowed or shared.
//!
//! Bytes of a node, eight-byte aligned:
//!
//! | offset | size | what |
//! | --- | --- | --- |
//! | 0 | 8 | position |
//! | 8 | 8 | link back, a hint (S3) |
//! | 16 | 4 | key length (24 bits), then tower height (7 bits), then [`OLDER`] |
//! | 20 | 4 | value length, or [`DELETED`] |
//! | 24 | 8 × height | links forward, lowest first |
//! | | 0 or 8 | link to the key's oldest version, where [`OLDER`] says so (S5) |
//! | | | key, then value |
//!
//! (S1) A link is stored with `Release` after all bytes of the node it leads to; it is loaded with
//!      `Acquire`.
//! (S2) Nodes are never unlinked or moved, and the arena is freed with the list only.
//! (S3) The link back leads to *some* earlier node: the right one, or an even earlier one for a
//!      moment during an insertion. A reader walks forward from there.
//! (S4) Only the holder of [`Writer`] (one at a time, by a latch) stores links or allocates.
//! (S5) A version that was put before others of its key knows the oldest of them, so that a
//!      walk skips a row's many versions in one step. Versions come in the order of the log, hence
//!      nothing is put after the oldest; were it so, a walk would meet it.
//! (S6) An entry's position is the greater one of its node's and of the list's. A list has one,
//!      once and before it is shared, only if its nodes have none; nothing is inserted after that.
//!      So a large transaction is stamped by one store.
//! (S7) A memtable has a hash index (`newest.rs`), which leads from a key to its newest version
//!      without a search.
//!
//! Elsewhere: nodes (`node.rs`) and their memory (`arena.rs`), insertions, one or several
//! (`writer.rs`, `together.rs`), walks (`cursor.rs`, `ahead.rs`), the directory (`newest.rs`).
//!
//! `crossbeam-skiplist` lost: it allocates each node and each key, counts references on every step,
//! and has no way back in less than a search. This is the only module of the crate with unsafe
//! code.
#![allow(unsafe_code, reason = "nodes of varying size linked by atomics; see S1 to S4")]

mod ahead;
mod arena;
mod cursor;
mod newest;
mod node;
mod together;
mod writer;

use crate::entry::Entry;
use arena::Arena;
use binlog::LogPosition;
pub(crate) use cursor::ListCursor;
use newest::{Newest, NewestLookup};
use node::Node;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use writer::Writer;

/// The tallest tower.
const HEIGHT_MAX: usize = 12;
/// What an entry takes, for the size of a directory.
const ENTRY_BYTES: usize = 256;

/// The list. Shared by `Arc` between its writer and readers.
pub(crate) struct SkipList {
    head: Node,
    /// The position of all entries, if they have no own (S6).
    stamped: LogPosition,
    /// The tallest tower so far; a reader that sees an old value only searches longer.
    height: AtomicUsize,
    bytes: AtomicUsize,
    len: AtomicUsize,
    newest: Option<Newest>,
    arena: Mutex<Arena>,
}

// SAFETY: what raw pointers lead to is shared by the rules S1 to S4; the arena itself is guarded by
// its latch.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl Default for SkipList {
    fn default() -> SkipList {
        SkipList::new()
    }
}

impl SkipList {
    /// An empty list.
    pub(crate) fn new() -> SkipList {
        let bytes = AtomicUsize::new(0);
        let (arena, head) = Arena::new(&bytes);
        SkipList {
            head,
            stamped: LogPosition::ZERO,
            height: AtomicUsize::new(1),
            bytes,
            len: AtomicUsize::new(0),
            newest: None,
            arena: Mutex::new(arena),
        }
    }

    /// An empty list with a directory (S7), for about so many bytes of entries.
    pub(crate) fn with_directory(bytes: usize) -> SkipList {
        SkipList { newest: Some(Newest::new(bytes / ENTRY_BYTES)), ..SkipList::new() }
    }

    /// Gives all entries, which have none yet, their position.
    pub(crate) fn stamp(&mut self, position: LogPosition) {
        self.stamped = position;
    }

    /// Memory taken from the system, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of entries that every reader meets from now on.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// True if nothing was inserted yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The right to insert; held by one thread at a time (S4).
    pub(crate) fn writer(&self) -> Writer<'_> {
        assert!(self.stamped == LogPosition::ZERO, "S6: nothing is inserted into a list with a position");
        Writer { list: self, arena: self.arena.lock() }
    }

    /// The first entry at or after `(key, position)`.
    pub(crate) fn seek(&self, key: &[u8], position: LogPosition) -> Option<Entry<'_>> {
        let (_, node) = self.around(key, position);
        // SAFETY: a node of this list, which is borrowed for the entry's lifetime.
        (!node.is_none()).then(|| unsafe { node.entry(self.stamped) })
    }

    /// The newest version of `key` at or below `position`.
    pub(crate) fn version(&self, key: &[u8], position: LogPosition) -> Option<Entry<'_>> {
        match self.newest.as_ref().map(|newest| newest.find(key)) {
            Some(NewestLookup::Absent) => return None,
            Some(NewestLookup::Newest(node)) => {
                // SAFETY: a linked node of this list, which is borrowed for the entry's lifetime.
                let entry = unsafe { node.entry(self.stamped) };
                if entry.position <= position {
                    return Some(entry);
                }
            }
            Some(NewestLookup::Unknown) | None => {}
        }
        self.seek(key, position).filter(|entry| entry.key == key)
    }

    /// The neighbours of the place `(key, position)`: the last node before it, or the head,
    /// and the first one at or after it, or none. Both as they were met: asking the first for its
    /// link again could lead to a node that was put in between meanwhile, and still is before
    /// the place.
    fn around(&self, key: &[u8], position: LogPosition) -> (Node, Node) {
        self.descend(key, position, |_, _| {})
    }

    /// As [`Self::around`]; calls `passed` with the last node before the place on every level,
    /// from the highest one down.
    #[inline(always)]
    fn descend(
        &self,
        key: &[u8],
        position: LogPosition,
        mut passed: impl FnMut(usize, Node),
    ) -> (Node, Node) {
        let mut node = self.head;
        let mut after = Node::NONE;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            loop {
                // SAFETY: `node` is the head or was reached on this level or a higher one, so its
                // tower has it.
                let next = unsafe { node.next(level) };
                // SAFETY: as above.
                unsafe { node.prefetch_below(level) };
                // SAFETY: `next` is a linked node where it is not none.
                if next.is_none() || next == after || !unsafe { next.is_before(key, position, self.stamped) }
                {
                    after = next;
                    break;
                }
                node = next;
            }
            passed(level, node);
        }
        (node, after)
    }

    /// Roughly the number of entries from the full key `first` up to `end`: counted on the
    /// highest level that has enough of them.
    pub(crate) fn count_between(&self, first: &[u8], end: &[u8]) -> usize {
        let (_, level, count) = self.between(first, end);
        // A quarter of the nodes reaches the next level.
        count << (2 * level)
    }

    /// About the entry that has this share (0 to 1) of those from `first` up to `end` before it, if
    /// there are any.
    pub(crate) fn entry_between(&self, first: &[u8], end: &[u8], share: f64) -> Option<Entry<'_>> {
        let (mut node, level, count) = self.between(first, end);
        if count == 0 {
            return None;
        }
        for _ in 0..((count as f64 * share) as usize).min(count - 1) {
            // SAFETY: a node of this list that was met on this level; the links after it only gain
            // nodes.
            node = unsafe { node.next(level) };
        }
        // SAFETY: as above; `between` counted this many nodes from the first one on.
        Some(unsafe { node.entry(self.stamped) })
    }

    /// The nodes from `first` up to `end` on the highest level that has enough of them: the
    /// first, the level, how many.
    fn between(&self, first: &[u8], end: &[u8]) -> (Node, usize, usize) {
        const ENOUGH: usize = 32;
        let mut node = self.head;
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            let mut count = 0;
            // SAFETY: as in `around`: every node met was reached on this level or a higher one.
            let start = unsafe {
                let mut next = node.next(level);
                while !next.is_none() && next.is_before(first, LogPosition::MAX, self.stamped) {
                    node = next;
                    next = node.next(level);
                }
                let start = next;
                while !next.is_none() && next.is_before(end, LogPosition::MAX, self.stamped) {
                    count += 1;
                    next = next.next(level);
                }
                start
            };
            if count >= ENOUGH || level == 0 {
                return (start, level, count);
            }
        }
        (Node::NONE, 0, 0)
    }

    /// The node before `node`, exactly (S3), or the head.
    fn previous(&self, node: Node) -> Node {
        // SAFETY: all nodes met are linked nodes of this list or its head.
        unsafe {
            let mut before = Node(node.link_back().load(Ordering::Acquire));
            loop {
                let next = before.next(0);
                if next == node {
                    return before;
                }
                before = next;
            }
        }
    }
}

#[cfg(test)]
mod tests;
