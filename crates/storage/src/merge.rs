//! Many ordered sources read as one.
//!
//! The sources that stand on an entry are in a binary heap of their indexes, the one whose entry
//! comes next on top. Moving on moves the top source and sifts it down, unless it still comes
//! before the second one, which is known: a run of one source costs one comparison a step.
//!
//! A merge of one tree ignores sources that have reached another tree: a memtable holds all of
//! them.
//!
//! (M1) Sources are given newest first. Where two stand on the same place, the one given first
//!      comes first.
//! (M2) All sources stand at or after the key asked for (forward), or all before it (backward);
//!      changing the direction takes a seek.

use crate::entry::{Entry, TREE_LEN, TreeId, order};
use crate::error::StoreError;
use crate::skiplist::ListCursor;
use crate::sstable::{LevelCursor, TableCursor};
use binlog::LogPosition;
use std::cmp::Ordering;

/// One ordered source of entries.
pub(crate) enum Source {
    Memtable(ListCursor),
    Table(TableCursor),
    /// Tables that follow each other.
    Level(LevelCursor),
}

impl Source {
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Source::Memtable(cursor) => cursor.entry(),
            Source::Table(cursor) => cursor.entry(),
            Source::Level(cursor) => cursor.entry(),
        }
    }

    /// Key and position of the entry (LevelDB's internal key).
    #[inline]
    fn internal_key(&self) -> Option<(&[u8], LogPosition)> {
        match self {
            Source::Memtable(cursor) => cursor.entry().map(|e| (e.key, e.position)),
            Source::Table(cursor) => cursor.internal_key(),
            Source::Level(cursor) => cursor.internal_key(),
        }
    }

    fn seek(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.seek(key, position),
            Source::Table(cursor) => return cursor.seek(key, position),
            Source::Level(cursor) => return cursor.seek(key, position),
        }
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.seek_before(key, position),
            Source::Table(cursor) => return cursor.seek_before(key, position),
            Source::Level(cursor) => return cursor.seek_before(key, position),
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.next(),
            Source::Table(cursor) => return cursor.next(),
            Source::Level(cursor) => return cursor.next(),
        }
        Ok(())
    }

    /// As [`Self::next`], and skips older versions of the same key if that costs nothing.
    fn skip_versions(&mut self) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.skip_versions(),
            Source::Table(cursor) => return cursor.next(),
            Source::Level(cursor) => return cursor.next(),
        }
        Ok(())
    }

    fn previous(&mut self) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.previous(),
            Source::Table(cursor) => return cursor.previous(),
            Source::Level(cursor) => return cursor.previous(),
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Capacity for so many sources is recycled.
const SOURCES_RECYCLED_MAX: usize = 8;

/// The empty buffers of a merge, for the next one.
#[derive(Default)]
pub(crate) struct MergeBuffers {
    sources: Vec<Source>,
    heap: Vec<usize>,
}

/// The merged view.
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// Indexes into `sources`; a heap by [`Merge::comes_first`].
    heap: Vec<usize>,
    /// The index in `heap` of the source that comes next after the top.
    second: usize,
    direction: Direction,
    /// What the keys of the view begin with: a tree, or nothing for all trees.
    prefix: Option<[u8; TREE_LEN]>,
}

impl Merge {
    /// A view that stands nowhere yet.
    pub(crate) fn new(sources: Vec<Source>) -> Merge {
        let heap = Vec::with_capacity(sources.len());
        Merge { heap, sources, second: 1, direction: Direction::Forward, prefix: None }
    }

    /// The same of one tree's entries, without sources yet ([`Merge::refill`]), with the buffers of
    /// an earlier one.
    pub(crate) fn of_tree(buffers: MergeBuffers, tree: TreeId) -> Merge {
        let MergeBuffers { sources, heap } = buffers;
        Merge { sources, heap, second: 1, direction: Direction::Forward, prefix: Some(tree.prefix()) }
    }

    /// Changes over to the sources that `fill` adds; stands nowhere then.
    pub(crate) fn refill(&mut self, fill: impl FnOnce(&mut Vec<Source>)) {
        self.heap.clear();
        self.sources.clear();
        fill(&mut self.sources);
    }

    /// Its buffers, for the next one.
    pub(crate) fn into_buffers(mut self) -> MergeBuffers {
        self.heap.clear();
        self.sources.clear();
        self.heap.shrink_to(SOURCES_RECYCLED_MAX);
        self.sources.shrink_to(SOURCES_RECYCLED_MAX);
        MergeBuffers { sources: self.sources, heap: self.heap }
    }

    /// Key and position of the entry that the view stands on.
    #[inline]
    pub(crate) fn internal_key(&self) -> Option<(&[u8], LogPosition)> {
        self.heap.first().and_then(|&top| self.sources[top].internal_key())
    }

    /// The entry that the view stands on.
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        self.heap.first().and_then(|&top| self.sources[top].entry())
    }

    /// Moves to the first entry at or after `(key, position)`.
    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        for source in &mut self.sources {
            source.seek(key, position)?;
        }
        self.rebuild(Direction::Forward);
        Ok(())
    }

    /// Moves to the last entry before `(key, position)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        for source in &mut self.sources {
            source.seek_before(key, position)?;
        }
        self.rebuild(Direction::Backward);
        Ok(())
    }

    /// As [`Self::seek`], but only moves sources that still stand before the place. Going
    /// forward only.
    pub(crate) fn skip_to(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Forward);
        for &index in &self.heap {
            let source = &mut self.sources[index];
            if source.internal_key().is_some_and(|(k, p)| order(k, p, key, position) == Ordering::Less) {
                source.seek(key, position)?;
            }
        }
        self.rebuild(Direction::Forward);
        Ok(())
    }

    /// Moves on by one entry. Going forward only.
    pub(crate) fn next(&mut self) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Forward);
        if let Some(&top) = self.heap.first() {
            self.sources[top].next()?;
            self.restore_heap();
        }
        Ok(())
    }

    /// Moves on by one entry at least, and skips older versions of the same key if that costs
    /// nothing. Going forward only.
    pub(crate) fn skip_versions(&mut self) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Forward);
        if let Some(&top) = self.heap.first() {
            self.sources[top].skip_versions()?;
            self.restore_heap();
        }
        Ok(())
    }

    /// Moves back by one entry. Going backward only.
    pub(crate) fn previous(&mut self) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Backward);
        if let Some(&top) = self.heap.first() {
            self.sources[top].previous()?;
            self.restore_heap();
        }
        Ok(())
    }

    fn rebuild(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        let mut heap = std::mem::take(&mut self.heap);
        heap.extend((0..self.sources.len()).filter(|&i| self.is_inside(i)));
        self.heap = heap;
        for node in (0..self.heap.len() / 2).rev() {
            self.sift_down(node);
        }
        self.find_second();
    }

    /// True if a source stands on an entry of the view.
    fn is_inside(&self, source: usize) -> bool {
        let key = self.sources[source].internal_key();
        key.is_some_and(|(key, _)| self.prefix.is_none_or(|prefix| key.starts_with(&prefix)))
    }

    fn find_second(&mut self) {
        self.second = match self.heap[..] {
            [_, left, right, ..] if self.comes_first(right, left) => 2,
            _ => 1,
        };
    }

    /// Restores the heap after its top source moved.
    fn restore_heap(&mut self) {
        if !self.is_inside(self.heap[0]) {
            self.heap.swap_remove(0);
        } else if self.heap.get(self.second).is_none_or(|&second| self.comes_first(self.heap[0], second)) {
            return;
        }
        self.sift_down(0);
        self.find_second();
    }

    fn sift_down(&mut self, mut node: usize) {
        loop {
            let (left, right) = (2 * node + 1, 2 * node + 2);
            let Some(&left_source) = self.heap.get(left) else { return };
            let child = match self.heap.get(right) {
                Some(&right_source) if self.comes_first(right_source, left_source) => right,
                _ => left,
            };
            if !self.comes_first(self.heap[child], self.heap[node]) {
                return;
            }
            self.heap.swap(child, node);
            node = child;
        }
    }

    /// True if source `a` is to be read before source `b`; both stand on an entry.
    fn comes_first(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y)) = (self.sources[a].internal_key(), self.sources[b].internal_key()) else {
            return false;
        };
        let by_key = order(x.0, x.1, y.0, y.1);
        match self.direction {
            Direction::Forward => by_key.then(a.cmp(&b)) == Ordering::Less,
            Direction::Backward => by_key.then(a.cmp(&b)) == Ordering::Greater,
        }
    }
}
