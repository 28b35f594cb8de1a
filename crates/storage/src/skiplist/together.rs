//! Several insertions at a time: a search waits for memory at each step, so those of a
//! transaction's keys wait side by side.
//!
//! All places are searched for first, interleaved step by step; each step prefetches what the next
//! one reads. Then the entries are linked one after another. What was linked meanwhile is met by
//! going on from where the search ended.

use super::node::SEARCH_LINES;
use super::{HEIGHT_MAX, Node, Writer};
use binlog::LogPosition;
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// As many searches at a time. More entries are likely those of one statement, whose keys ascend:
/// each place is right after the one before then.
const TOGETHER: usize = 16;

/// An entry on its way to its place.
struct Search<'k> {
    key: &'k [u8],
    value: Option<&'k [u8]>,
    height: usize,
    node: Node,
    level: usize,
    /// The last nodes before the place, and those that followed them when they were found, per
    /// level.
    before: [Node; HEIGHT_MAX],
    after: [Node; HEIGHT_MAX],
    /// True once `before` is complete.
    is_over: bool,
}

impl Search<'_> {
    /// One comparison; on the next one's way to the processor.
    fn step(&mut self, position: LogPosition) {
        // SAFETY: `node` is the head or a linked node that was reached on this level or a higher
        // one.
        unsafe {
            let next = self.node.next(self.level);
            let known = self.after.get(self.level + 1) == Some(&next);
            if next.is_none() || known || !next.is_before(self.key, position, LogPosition::ZERO) {
                (self.before[self.level], self.after[self.level]) = (self.node, next);
                self.is_over = self.level == 0;
                self.level = self.level.saturating_sub(1);
            } else {
                self.node = next;
            }
            Node(self.node.link(self.level).load(Ordering::Relaxed)).prefetch_lines(SEARCH_LINES);
        }
    }
}

impl Writer<'_> {
    /// Adds entries of one position, as [`Writer::insert`] does one after another.
    pub(crate) fn insert_all<'k>(
        &mut self,
        entries: impl ExactSizeIterator<Item = (&'k [u8], Option<&'k [u8]>)>,
        position: LogPosition,
    ) {
        if !(2..=TOGETHER).contains(&entries.len()) {
            return entries.for_each(|(key, value)| self.insert(key, position, value));
        }
        // Not collected: the whole array would be moved.
        let mut searches: SmallVec<[Search<'k>; TOGETHER]> = SmallVec::new();
        searches.extend(entries.map(|(key, value)| self.search_for(key, value)));
        self.search_together(&mut searches, position);
        for search in &searches {
            self.insert_found(search, position);
        }
    }

    fn search_for<'k>(&mut self, key: &'k [u8], value: Option<&'k [u8]>) -> Search<'k> {
        let (head, level) = (self.list.head, self.list.height.load(Ordering::Relaxed) - 1);
        let (before, after) = ([head; HEIGHT_MAX], [Node::NONE; HEIGHT_MAX]);
        let height = self.arena.random_height();
        Search { key, value, height, node: head, level, before, after, is_over: false }
    }

    fn search_together(&self, searches: &mut [Search<'_>], position: LogPosition) {
        let is_known =
            |search: &Search<'_>| search.height == 1 && self.newest_version(search.key, position).is_some();
        let mut open: SmallVec<[&mut Search<'_>; TOGETHER]> =
            searches.iter_mut().filter(|search| !is_known(search)).collect();
        while !open.is_empty() {
            open.iter_mut().for_each(|search| search.step(position));
            open.retain(|search| !search.is_over);
        }
    }

    /// Links an entry whose place was searched for, or is known.
    fn insert_found(&mut self, search: &Search<'_>, position: LogPosition) {
        let &Search { key, value, height, .. } = search;
        match self.newest_version(key, position) {
            Some(newest) if height == 1 => return self.insert_before(newest, key, position, value),
            // Another key took its slot meanwhile.
            _ if !search.is_over => self.find_before(key, position),
            _ => self.go_on_from(search, position),
        }
        self.insert_after(height, key, position, value);
    }

    /// Sets `before` to what the search found, and goes on past what was linked since.
    fn go_on_from(&mut self, search: &Search<'_>, position: LogPosition) {
        for level in 0..self.list.height.load(Ordering::Relaxed) {
            let mut node = search.before[level];
            // SAFETY: nodes met are the head or linked, on a level that they were reached on.
            unsafe {
                let mut next = node.next(level);
                while next != search.after[level] && next.is_before(search.key, position, LogPosition::ZERO) {
                    node = next;
                    next = node.next(level);
                }
            }
            self.arena.before[level] = node;
        }
    }
}
