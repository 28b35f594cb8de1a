//! A walk through a list, forward and back.

use super::ahead::Ahead;
use super::{Node, SkipList};
use crate::entry::Entry;
use binlog::LogPosition;
use std::sync::Arc;

/// A place in a list, which it keeps alive.
pub(crate) struct ListCursor {
    list: Arc<SkipList>,
    node: Node,
    ahead: Ahead,
}

// SAFETY: the node belongs to the list that the cursor keeps alive, and is only read (S1, S2).
unsafe impl Send for ListCursor {}

impl ListCursor {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(list: Arc<SkipList>) -> ListCursor {
        ListCursor { list, node: Node::NONE, ahead: Ahead::new() }
    }

    /// Moves to the first entry at or after `(key, position)`.
    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) {
        (_, self.node) = self.list.around(key, position);
        self.ahead = Ahead::new();
    }

    /// Moves to the last entry before `(key, position)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) {
        let (node, _) = self.list.around(key, position);
        self.set(node);
    }

    /// Moves on by one entry, if the cursor stands on one.
    pub(crate) fn next(&mut self) {
        if !self.node.is_none() {
            // SAFETY: a node of the list; every node has the lowest level.
            self.node = unsafe { self.node.next(0) };
            if !self.node.is_none() {
                // SAFETY: as above; the cursor keeps the list alive.
                unsafe { self.ahead.step(self.node) };
            }
        }
    }

    /// Moves on by one entry or more, if the cursor stands on one: past all versions of its key
    /// that are known to be older (S5).
    pub(crate) fn skip_versions(&mut self) {
        if !self.node.is_none() {
            // SAFETY: a linked node of the list.
            self.node = unsafe { self.node.oldest() }.unwrap_or(self.node);
            self.next();
        }
    }

    /// Moves back by one entry, if the cursor stands on one.
    pub(crate) fn previous(&mut self) {
        if !self.node.is_none() {
            let node = self.list.previous(self.node);
            self.set(node);
        }
    }

    /// The entry that the cursor stands on.
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        // SAFETY: a linked node of the list that `self` keeps alive.
        (!self.node.is_none()).then(|| unsafe { self.node.entry(self.list.stamped) })
    }

    fn set(&mut self, node: Node) {
        self.node = if node == self.list.head { Node::NONE } else { node };
    }
}
