//! Tombstone-run cache: later scans skip ranges known to hold only deleted keys.
//!
//! A table that serves as a queue has all its deletions at one end, where every reader starts.
//! Flush and compaction get rid of them in time, but a reader can't wait for that. So a reader that
//! stepped over a run of dead keys records a *gap*: there is no row between these two keys, and
//! there was none since this position. Later readers seek past it.
//!
//! 1. A cursor meets some dead keys in a row: it asks for a gap here ([`Run::dead`]) and seeks past
//!    it.
//! 2. There is none, and the run goes on: the cursor opens a *search*, goes back to the run's first
//!    key, and reads the newest version of each key from there on, visible to it or not.
//! 3. Meanwhile, and later, each put goes through [`Gaps::put`]: it cuts searches short and gaps in
//!    two.
//! 4. At the run's end the search becomes a gap, merged with those that it touches.
//!
//! (D1) In a gap no key has a row for a snapshot at or after `since`, unless it is put later; then
//!      the gap is cut before the put can be visible.
//! (D2) No put is missed: the writer inserts first, then checks gaps and searches; the reader opens
//!      its search first, then reads entries. Both have a `SeqCst` fence in between, so one of them
//!      sees the other. A memtable that the reader's view lacks was begun before the search or is
//!      filled after it; the former is checked for. One that comes filled (`large.rs`) is in the
//!      view before readers search for its keys.
//!
//! Gaps are in memory only, few per tree, and found again when lost. So that no reader meets a long
//! run, transactions that delete record gaps too: each time that [`LEARN_AFTER`] keys of a tree are
//! deleted, by one transaction or by many, the last of them walks over the run that its keys are
//! in, once it is committed (`Store::learn_gaps`).

use crate::entry::{TREE_LEN, TreeId};
use binlog::LogPosition;
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

/// Dead keys in a row after which a reader searches for a gap.
const SEARCH_AFTER: usize = 24;
/// Deleted keys of a tree for which one walk is made: more than a reader takes without a search,
/// and few enough that the reader who comes just before the walk does not feel them.
const LEARN_AFTER: u32 = 32;
/// Trees share tallies of deleted keys: a walk too many does no harm.
const TALLIES: usize = 256;
const GAPS_PER_TREE_MAX: usize = 64;
const TREES_MAX: usize = 1024;

/// What is known of runs of dead keys, for all trees.
pub(crate) struct Gaps {
    /// Gaps and searches; while there are none, puts check nothing else (D2).
    count: AtomicUsize,
    trees: RwLock<HashMap<TreeId, TreeGaps>>,
    /// Keys deleted since the last walk.
    tallies: [AtomicU32; TALLIES],
}

impl Default for Gaps {
    fn default() -> Gaps {
        let tallies = [const { AtomicU32::new(0) }; TALLIES];
        Gaps { count: AtomicUsize::new(0), trees: RwLock::default(), tallies }
    }
}

#[derive(Default)]
struct TreeGaps {
    /// By first full key.
    gaps: BTreeMap<Vec<u8>, Gap>,
    searches: Vec<Search>,
    next_search: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Gap {
    /// The first full key that is not in the gap any more.
    end: Vec<u8>,
    since: LogPosition,
}

/// Keys that a reader is walking over; the far end is still open.
struct Search {
    id: u64,
    low: Vec<u8>,
    high: Vec<u8>,
    is_forward: bool,
}

impl Gaps {
    /// Invalidates gaps and searches around full keys that were put; called by the writer after the
    /// entries were inserted.
    pub(crate) fn put(&self, keys: impl Iterator<Item = impl AsRef<[u8]>>) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        for key in keys {
            let key = key.as_ref();
            let tree = TreeId::of(key);
            let is_hit = self.trees.read().get(&tree).is_some_and(|t| t.is_hit(key));
            if is_hit && let Some(gaps) = self.trees.write().get_mut(&tree) {
                let before = gaps.gaps.len();
                gaps.cut(key);
                self.recount(before, gaps.gaps.len());
            }
        }
    }

    /// As [`Self::put`], for so many keys of these trees that checking each would take too long:
    /// discards all gaps of the trees, and no search that is open now becomes one.
    pub(crate) fn put_many(&self, trees: &[TreeId]) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut all = self.trees.write();
        for tree in trees {
            let Some(gaps) = all.get_mut(tree) else { continue };
            let before = gaps.gaps.len();
            gaps.gaps.clear();
            gaps.searches.iter_mut().for_each(|search| search.high.clone_from(&search.low));
            self.recount(before, 0);
        }
    }

    /// Counts deleted keys of a tree; true if the transaction that deletes them is to record the
    /// gap around them.
    pub(crate) fn is_due(&self, tree: TreeId, deleted: usize) -> bool {
        let tally = &self.tallies[tree.0 as usize % TALLIES];
        let deleted = u32::try_from(deleted).unwrap_or(u32::MAX).min(LEARN_AFTER);
        let is_due = tally.fetch_add(deleted, Ordering::Relaxed) + deleted >= LEARN_AFTER;
        if is_due {
            tally.store(0, Ordering::Relaxed);
        }
        is_due
    }

    /// Discards all gaps of a tree; nobody searches in it now.
    pub(crate) fn forget(&self, tree: TreeId) {
        let mut trees = self.trees.write();
        if let Some(gaps) = trees.get_mut(&tree) {
            let before = gaps.gaps.len();
            gaps.gaps.clear();
            self.recount(before, 0);
        }
    }

    /// The gap that holds `key` and is one for a snapshot at `at`: its first key, the first after
    /// it, and since when.
    pub(crate) fn around(&self, key: &[u8], at: LogPosition) -> Option<(Vec<u8>, Vec<u8>, LogPosition)> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let trees = self.trees.read();
        let (start, gap) = trees.get(&TreeId::of(key))?.around(key)?;
        (gap.since <= at).then(|| (start.clone(), gap.end.clone(), gap.since))
    }

    fn open(&self, tree: TreeId, low: Vec<u8>, high: Vec<u8>, is_forward: bool) -> u64 {
        let mut trees = self.trees.write();
        if trees.len() >= TREES_MAX && !trees.contains_key(&tree) {
            trees.retain(|_, t| !t.searches.is_empty());
            let remaining: usize = trees.values().map(|t| t.gaps.len() + t.searches.len()).sum();
            self.count.store(remaining, Ordering::Relaxed);
        }
        let gaps = trees.entry(tree).or_default();
        gaps.next_search += 1;
        let id = gaps.next_search;
        gaps.searches.push(Search { id, low, high, is_forward });
        self.count.fetch_add(1, Ordering::Relaxed);
        drop(trees);
        fence(Ordering::SeqCst);
        id
    }

    /// Ends a search; with an outcome it becomes a gap that ends at `edge` (forward: the first key
    /// that is not in it, backward: the first that is).
    fn close(&self, tree: TreeId, id: u64, outcome: Option<(&[u8], LogPosition)>) {
        let mut trees = self.trees.write();
        let Some(gaps) = trees.get_mut(&tree) else { return };
        let Some(index) = gaps.searches.iter().position(|s| s.id == id) else { return };
        let Search { mut low, mut high, is_forward, .. } = gaps.searches.swap_remove(index);
        let before = gaps.gaps.len() + 1;
        if let Some((edge, since)) = outcome {
            match is_forward {
                true => high = high.min(edge.to_vec()),
                false => low = low.max(edge.to_vec()),
            }
            gaps.add(low, Gap { end: high, since });
        }
        self.recount(before, gaps.gaps.len());
    }

    /// Called with the latch on `trees` for writing.
    fn recount(&self, before: usize, after: usize) {
        self.count.fetch_add(after, Ordering::Relaxed);
        self.count.fetch_sub(before, Ordering::Relaxed);
    }
}

impl TreeGaps {
    fn around(&self, key: &[u8]) -> Option<(&Vec<u8>, &Gap)> {
        let range = (Bound::Unbounded, Bound::Included(key));
        self.gaps.range::<[u8], _>(range).next_back().filter(|(_, gap)| key < gap.end.as_slice())
    }

    fn is_hit(&self, key: &[u8]) -> bool {
        self.around(key).is_some() || self.searches.iter().any(|s| s.holds(key))
    }

    /// Takes `key` out of gaps and searches (D1).
    fn cut(&mut self, key: &[u8]) {
        for search in self.searches.iter_mut().filter(|s| s.holds(key)) {
            match search.is_forward {
                true => search.high = key.to_vec(),
                false => search.low = successor(key),
            }
        }
        let Some((start, gap)) = self.around(key).map(|(start, gap)| (start.clone(), gap.clone())) else {
            return;
        };
        self.gaps.remove(&start);
        self.add(start, Gap { end: key.to_vec(), since: gap.since });
        // A table that is empty, and is filled now, would get an empty gap after each row.
        if gap.end.starts_with(&key[..TREE_LEN]) {
            self.add(successor(key), gap);
        }
    }

    /// Adds a gap from `start`, merged with those that it touches or overlaps.
    fn add(&mut self, mut start: Vec<u8>, mut gap: Gap) {
        if start >= gap.end {
            return;
        }
        while let Some((first, other)) =
            self.gaps.range(..=gap.end.clone()).next_back().map(|(k, g)| (k.clone(), g.clone()))
        {
            if other.end < start {
                break;
            }
            self.gaps.remove(&first);
            start = start.min(first);
            gap.end = gap.end.max(other.end);
            gap.since = gap.since.max(other.since);
        }
        if self.gaps.len() >= GAPS_PER_TREE_MAX {
            // Which one goes is not worth thinking about: with so many, each is short.
            self.gaps.pop_last();
        }
        self.gaps.insert(start, gap);
    }
}

impl Search {
    fn holds(&self, key: &[u8]) -> bool {
        self.low.as_slice() <= key && key < self.high.as_slice()
    }
}

/// The first full key after `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A run of dead keys that a cursor is in.
pub(crate) struct Run<'a> {
    gaps: &'a Gaps,
    tree: TreeId,
    at: LogPosition,
    is_forward: bool,
    dead: usize,
    first: Vec<u8>,
    search: Option<u64>,
    since: LogPosition,
}

impl<'a> Run<'a> {
    /// A run without any dead key yet.
    pub(crate) fn new(gaps: &'a Gaps, tree: TreeId, at: LogPosition, is_forward: bool) -> Run<'a> {
        Run { gaps, tree, at, is_forward, dead: 0, first: Vec::new(), search: None, since: LogPosition::ZERO }
    }

    /// Counts `key` as dead, with all its versions at or below `since`. If a place is returned the
    /// cursor is to seek there anew: forward to the first entry at or after it, backward to the
    /// last one before it. `is_current` says if the cursor's view is the current one.
    pub(crate) fn dead(
        &mut self,
        key: &[u8],
        since: LogPosition,
        is_current: impl FnOnce() -> bool,
    ) -> Option<Vec<u8>> {
        self.dead += 1;
        self.since = self.since.max(since);
        if self.dead == 1 {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        if self.dead == SEARCH_AFTER {
            return self.open(is_current);
        }
        // Asked at once, then less and less often.
        if !self.dead.is_power_of_two() {
            return None;
        }
        let (start, end, since) = self.gaps.around(key, self.at)?;
        self.since = self.since.max(since);
        Some(if self.is_forward { end } else { start })
    }

    /// Opens a search from the run's first key on, and sends the cursor back there: a put between a
    /// key that it saw and the opening would be missed otherwise (D2).
    fn open(&mut self, is_current: impl FnOnce() -> bool) -> Option<Vec<u8>> {
        let (low, high, place) = match self.is_forward {
            true => (self.first.clone(), TreeId(self.tree.0 + 1).prefix().to_vec(), self.first.clone()),
            false => (self.tree.prefix().to_vec(), successor(&self.first), successor(&self.first)),
        };
        self.since = LogPosition::ZERO;
        self.search = Some(self.gaps.open(self.tree, low, high, self.is_forward));
        if !is_current() {
            self.close(None);
            return None;
        }
        Some(place)
    }

    /// Ends the run before a key that is not dead, or not for everyone (`None`: at the tree's
    /// end).
    pub(crate) fn end(&mut self, key: Option<&[u8]>) {
        if self.search.is_some() {
            let edge = match (self.is_forward, key) {
                (true, Some(key)) => key.to_vec(),
                (true, None) => TreeId(self.tree.0 + 1).prefix().to_vec(),
                (false, Some(key)) => successor(key),
                (false, None) => self.tree.prefix().to_vec(),
            };
            self.close(Some(&edge));
        }
        self.dead = 0;
    }

    fn close(&mut self, edge: Option<&[u8]>) {
        if let Some(id) = self.search.take() {
            self.gaps.close(self.tree, id, edge.map(|edge| (edge, self.since)));
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.close(None);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TREE: TreeId = TreeId(1);

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    fn key(n: u8) -> Vec<u8> {
        [TREE.prefix().as_slice(), &[n]].concat()
    }

    /// A run over keys from..to that are dead since `since`.
    fn pass(gaps: &Gaps, from: u8, to: u8, since: u64) {
        let mut run = Run::new(gaps, TREE, at(100), true);
        for n in from..to {
            run.dead(&key(n), at(since), || true);
        }
        run.end(Some(&key(to)));
    }

    fn around(gaps: &Gaps, n: u8, snapshot: u64) -> Option<(Vec<u8>, Vec<u8>)> {
        gaps.around(&key(n), at(snapshot)).map(|(start, end, _)| (start, end))
    }

    #[test]
    fn a_run_becomes_a_gap_for_later_readers() {
        let gaps = Gaps::default();
        pass(&gaps, 1, 50, 7);
        assert_eq!(around(&gaps, 40, 7), Some((key(1), key(50))));
        assert_eq!(around(&gaps, 40, 6), None);
        assert_eq!((around(&gaps, 50, 9), around(&gaps, 0, 9)), (None, None));
        pass(&gaps, 50, 80, 9);
        assert_eq!(around(&gaps, 60, 9).unwrap(), (key(1), key(80)), "joined");
        assert_eq!(gaps.count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_put_cuts_gaps_and_searches() {
        let gaps = Gaps::default();
        pass(&gaps, 1, 90, 7);
        gaps.put([key(60)].iter());
        assert_eq!(around(&gaps, 60, 50), None);
        assert_eq!(around(&gaps, 59, 50).unwrap().1, key(60));
        assert_eq!(around(&gaps, 61, 50).unwrap(), (successor(&key(60)), key(90)));
        let mut run = Run::new(&gaps, TREE, at(100), true);
        for n in 100..140 {
            run.dead(&key(n), at(7), || true);
        }
        gaps.put([key(130)].iter());
        run.end(None);
        assert_eq!(around(&gaps, 129, 50).unwrap().1, key(130));
        assert_eq!(around(&gaps, 131, 50), None);
        assert_eq!(gaps.count.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn many_puts_discard_all_gaps_of_their_trees() {
        let gaps = Gaps::default();
        pass(&gaps, 1, 90, 7);
        for is_forward in [true, false] {
            let mut run = Run::new(&gaps, TREE, at(100), is_forward);
            for n in 100..140 {
                run.dead(&key(if is_forward { n } else { 240 - n }), at(7), || true);
            }
            gaps.put_many(&[TreeId(TREE.0 + 1)]);
            assert!(!is_forward || around(&gaps, 40, 50).is_some(), "another tree's");
            gaps.put_many(&[TREE]);
            run.end(Some(&key(if is_forward { 141 } else { 99 })));
            assert!((0..255).all(|n| around(&gaps, n, 50).is_none()), "forward: {is_forward}");
            assert_eq!(gaps.count.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn an_aborted_run_records_nothing() {
        let gaps = Gaps::default();
        let mut run = Run::new(&gaps, TREE, at(100), false);
        for n in (0..100).rev() {
            run.dead(&key(n), at(7), || true);
        }
        drop(run);
        let mut run = Run::new(&gaps, TREE, at(100), true);
        (0..100).for_each(|n| {
            run.dead(&key(n), at(7), || false);
        });
        run.end(None);
        assert_eq!(gaps.count.load(Ordering::Relaxed), 0);
    }
}
