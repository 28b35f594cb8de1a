//! Insertions, one at a time.

use super::arena::NodeLinks;
use super::newest::NewestLookup;
use super::{Arena, Node, SkipList};
use binlog::LogPosition;
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;

/// The right to insert into a [`SkipList`].
pub(crate) struct Writer<'a> {
    pub(super) list: &'a SkipList,
    pub(super) arena: MutexGuard<'a, Arena>,
}

impl Writer<'_> {
    /// Adds an entry. It stands before one with the same key and position, so that readers
    /// meet the last one inserted and skip the older one as an older version.
    pub(crate) fn insert(&mut self, key: &[u8], position: LogPosition, value: Option<&[u8]>) {
        let height = self.arena.random_height();
        match self.newest_version(key, position) {
            Some(newest) if height == 1 => self.insert_before(newest, key, position, value),
            _ => {
                self.find_before(key, position);
                self.insert_after(height, key, position, value);
            }
        }
    }

    /// The newest version of the key, if it is known without a search and `position` belongs in
    /// front of it.
    pub(super) fn newest_version(&self, key: &[u8], position: LogPosition) -> Option<Node> {
        let NewestLookup::Newest(node) = self.list.newest.as_ref()?.find(key) else { return None };
        // SAFETY: a linked node of this list.
        (unsafe { node.entry(LogPosition::ZERO) }.position <= position).then_some(node)
    }

    /// Adds a version with a tower of one level: all that has to be known is the node before it, to
    /// which the newest one so far has an exact link back while nobody inserts.
    pub(super) fn insert_before(
        &mut self,
        newest: Node,
        key: &[u8],
        position: LogPosition,
        value: Option<&[u8]>,
    ) {
        // SAFETY: a linked node.
        let oldest = unsafe { newest.oldest() }.unwrap_or(newest);
        let node = self.arena.node(
            NodeLinks { height: 1, oldest: Some(oldest) },
            key,
            position,
            value,
            &self.list.bytes,
        );
        // SAFETY: as in `insert_after`; the link back leads to the head or a linked node.
        unsafe {
            let before = Node(newest.link_back().load(Ordering::Relaxed));
            node.link_back().store(before.0, Ordering::Relaxed);
            node.link(0).store(newest.0, Ordering::Relaxed);
            before.link(0).store(node.0, Ordering::Release);
            newest.link_back().store(node.0, Ordering::Release);
        }
        self.count(key, Some(node));
    }

    /// Adds an entry after `before`, the nodes that precede its place.
    pub(super) fn insert_after(
        &mut self,
        height: usize,
        key: &[u8],
        position: LogPosition,
        value: Option<&[u8]>,
    ) {
        let list = self.list;
        let oldest = self.oldest_of(key);
        let is_newest = !self.follows_a_version_of(key);
        let node = self.arena.node(NodeLinks { height, oldest }, key, position, value, &list.bytes);
        if height > list.height.load(Ordering::Relaxed) {
            list.height.store(height, Ordering::Relaxed);
        }
        let before = &mut self.arena.before;
        // SAFETY: `before[level]` is the head or a node of at least `level + 1` levels; the new
        // node is not linked yet, and each link to it is stored with `Release` after everything in
        // it (S1). Its own link back is set before.
        unsafe {
            node.link_back().store(before[0].0, Ordering::Relaxed);
            for (level, before) in before.iter_mut().enumerate().take(height) {
                let next = before.next(level);
                node.link(level).store(next.0, Ordering::Relaxed);
                before.link(level).store(node.0, Ordering::Release);
                if level == 0 && !next.is_none() {
                    next.link_back().store(node.0, Ordering::Release);
                }
                *before = node;
            }
        }
        self.count(key, is_newest.then_some(node));
    }

    /// An entry is linked, which may be the newest version of its key.
    pub(super) fn count(&self, key: &[u8], newest: Option<Node>) {
        if let (Some(node), Some(directory)) = (newest, &self.list.newest) {
            directory.set(key, node);
        }
        self.list.len.fetch_add(1, Ordering::Release);
    }

    /// True if a version of the key precedes the place: it did not come in the order of the log.
    pub(super) fn follows_a_version_of(&self, key: &[u8]) -> bool {
        let before = self.arena.before[0];
        // SAFETY: `before` is the head or a linked node.
        before != self.list.head && unsafe { before.entry(LogPosition::ZERO) }.key == key
    }

    /// The oldest version of the key that the place is before, if that is this one (S5).
    pub(super) fn oldest_of(&self, key: &[u8]) -> Option<Node> {
        // SAFETY: `before` is the head or a linked node; what its link leads to is linked.
        unsafe {
            let next = self.arena.before[0].next(0);
            let same = !next.is_none() && next.entry(LogPosition::ZERO).key == key;
            same.then(|| next.oldest().unwrap_or(next))
        }
    }

    /// Sets `before` to the last node before the place, on every level.
    pub(super) fn find_before(&mut self, key: &[u8], position: LogPosition) {
        let (list, last) = (self.list, self.arena.before[0]);
        // SAFETY: nodes met are the head or linked, and every node has the lowest level.
        let fits = unsafe {
            let next = last.next(0);
            (last == list.head || last.is_before(key, position, LogPosition::ZERO))
                && (next.is_none() || !next.is_before(key, position, LogPosition::ZERO))
        };
        if !fits {
            list.descend(key, position, |level, node| self.arena.before[level] = node);
        }
    }
}
