//! Many ordered sources read as one.
//!
//! The sources that stand on an entry are kept in a binary heap of their indexes, the one whose
//! entry comes next on top. Moving on moves the top source and sifts it down, unless it still comes
//! before the second one, which is known: a run of one source costs one comparison a step.
//!
//! A view of one tree leaves sources alone that have come to another tree: a memtable holds all of
//! them.
//!
//! (M1) Sources are given newest first. Where two stand on the same place, the one given first
//!      comes first.
//! (M2) All sources stand behind the place asked for (forward), or all in front of it (backward);
//!      turning round seeks.

use crate::entry::{Entry, TREE_LEN, TreeId, order};
use crate::error::StoreError;
use crate::skiplist::ListCursor;
use crate::sstable::{LevelCursor, TableCursor};
use binlog::position::LogPosition;
use std::cmp::Ordering;

/// One ordered source of entries.
pub(crate) enum Source {
    /// A memtable.
    Memtable(ListCursor),
    /// One table.
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

    /// Key and position of the entry.
    #[inline]
    fn place(&self) -> Option<(&[u8], LogPosition)> {
        match self {
            Source::Memtable(cursor) => cursor.entry().map(|e| (e.key, e.position)),
            Source::Table(cursor) => cursor.place(),
            Source::Level(cursor) => cursor.place(),
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

    /// As [`Self::next`], past older versions of the same key too if that costs nothing.
    fn leave_key(&mut self) -> Result<(), StoreError> {
        match self {
            Source::Memtable(cursor) => cursor.leave_key(),
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

/// Room for so many sources is left to another view.
const SOURCES_KEPT: usize = 8;

/// Memory that a view leaves: room, and nothing in it.
#[derive(Default)]
pub(crate) struct MergeMemory {
    sources: Vec<Source>,
    heap: Vec<usize>,
}

/// The merged view.
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// Indexes into `sources`; a heap by [`Merge::comes_first`].
    heap: Vec<usize>,
    /// Where in `heap` the source is that comes next behind the top.
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

    /// The same of one tree's entries, without sources yet ([`Merge::refill`]), in the memory of an
    /// earlier one.
    pub(crate) fn of_tree(memory: MergeMemory, tree: TreeId) -> Merge {
        let MergeMemory { sources, heap } = memory;
        Merge { sources, heap, second: 1, direction: Direction::Forward, prefix: Some(tree.prefix()) }
    }

    /// Changes over to the sources that `fill` adds; stands nowhere then.
    pub(crate) fn refill(&mut self, fill: impl FnOnce(&mut Vec<Source>)) {
        self.heap.clear();
        self.sources.clear();
        fill(&mut self.sources);
    }

    /// What it leaves for another one.
    pub(crate) fn into_memory(mut self) -> MergeMemory {
        self.heap.clear();
        self.sources.clear();
        self.heap.shrink_to(SOURCES_KEPT);
        self.sources.shrink_to(SOURCES_KEPT);
        MergeMemory { sources: self.sources, heap: self.heap }
    }

    /// Key and position of the entry that the view stands on.
    #[inline]
    pub(crate) fn place(&self) -> Option<(&[u8], LogPosition)> {
        self.heap.first().and_then(|&top| self.sources[top].place())
    }

    /// The entry that the view stands on.
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        self.heap.first().and_then(|&top| self.sources[top].entry())
    }

    /// Moves to the first entry at or behind `(key, position)`.
    pub(crate) fn seek(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        for source in &mut self.sources {
            source.seek(key, position)?;
        }
        self.rebuild(Direction::Forward);
        Ok(())
    }

    /// Moves to the last entry in front of `(key, position)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        for source in &mut self.sources {
            source.seek_before(key, position)?;
        }
        self.rebuild(Direction::Backward);
        Ok(())
    }

    /// As [`Self::seek`], but only moves sources that still stand in front of the place. Going
    /// forward only.
    pub(crate) fn skip_to(&mut self, key: &[u8], position: LogPosition) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Forward);
        for &index in &self.heap {
            let source = &mut self.sources[index];
            if source.place().is_some_and(|(k, p)| order(k, p, key, position) == Ordering::Less) {
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
            self.settle_top();
        }
        Ok(())
    }

    /// Moves on by one entry at least, leaving out what comes behind it of the same key if that
    /// costs nothing. Going forward only.
    pub(crate) fn leave_key(&mut self) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Forward);
        if let Some(&top) = self.heap.first() {
            self.sources[top].leave_key()?;
            self.settle_top();
        }
        Ok(())
    }

    /// Moves back by one entry. Going backward only.
    pub(crate) fn previous(&mut self) -> Result<(), StoreError> {
        debug_assert_eq!(self.direction, Direction::Backward);
        if let Some(&top) = self.heap.first() {
            self.sources[top].previous()?;
            self.settle_top();
        }
        Ok(())
    }

    fn rebuild(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        let mut heap = std::mem::take(&mut self.heap);
        heap.extend((0..self.sources.len()).filter(|&i| self.is_inside(i)));
        self.heap = heap;
        for place in (0..self.heap.len() / 2).rev() {
            self.sift_down(place);
        }
        self.find_second();
    }

    /// True if a source stands on an entry of the view.
    fn is_inside(&self, source: usize) -> bool {
        let place = self.sources[source].place();
        place.is_some_and(|(key, _)| self.prefix.is_none_or(|prefix| key.starts_with(&prefix)))
    }

    fn find_second(&mut self) {
        self.second = match self.heap[..] {
            [_, left, right, ..] if self.comes_first(right, left) => 2,
            _ => 1,
        };
    }

    /// Restores the heap after its top source moved.
    fn settle_top(&mut self) {
        if !self.is_inside(self.heap[0]) {
            self.heap.swap_remove(0);
        } else if self.heap.get(self.second).is_none_or(|&second| self.comes_first(self.heap[0], second)) {
            return;
        }
        self.sift_down(0);
        self.find_second();
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(&left_source) = self.heap.get(left) else { return };
            let child = match self.heap.get(right) {
                Some(&right_source) if self.comes_first(right_source, left_source) => right,
                _ => left,
            };
            if !self.comes_first(self.heap[child], self.heap[place]) {
                return;
            }
            self.heap.swap(child, place);
            place = child;
        }
    }

    /// True if source `a` is to be read before source `b`; both stand on an entry.
    fn comes_first(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y)) = (self.sources[a].place(), self.sources[b].place()) else { return false };
        let by_place = order(x.0, x.1, y.0, y.1);
        match self.direction {
            Direction::Forward => by_place.then(a.cmp(&b)) == Ordering::Less,
            Direction::Backward => by_place.then(a.cmp(&b)) == Ordering::Greater,
        }
    }
}
