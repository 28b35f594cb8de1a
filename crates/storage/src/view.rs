//! What a reader reads: one consistent set of memtables and tables.
//!
//! A view never changes; freezing, flush and compaction publish a new one. A reader loads the
//! current view without a latch and keeps it alive for as long as it reads.
//!
//! (V1) Every version of a key in an earlier source of the list active, frozen (newest first), L0
//!      (newest first), L1, L2, .. is newer than all its versions in a later one. So the first
//!      source that has a version at or below a snapshot has the one that the snapshot sees.
//! (V2) A view published later shows the same rows to every live snapshot.

use crate::entry::{TreeId, Value};
use crate::error::StoreError;
use crate::gaps::Gaps;
use crate::memtable::Frozen;
use crate::merge::{Merge, Source};
use crate::skiplist::{ListCursor, SkipList};
use crate::version::{Version, own};
use arc_swap::ArcSwap;
use binlog::LogPosition;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One consistent set of memtables and tables.
#[derive(Clone)]
pub(crate) struct View {
    /// Takes writes.
    pub(crate) active: Arc<SkipList>,
    /// Newest first.
    pub(crate) frozen: Vec<Frozen>,
    pub(crate) version: Arc<Version>,
    pub(crate) drops: Arc<Drops>,
}

/// When trees were dropped. A drop hides all versions written before it from snapshots at or after
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Positions ascending.
    by_tree: BTreeMap<TreeId, Vec<LogPosition>>,
}

/// What was found for a key: who wrote it, and the value unless it was deleted.
pub(crate) type Found = Option<(LogPosition, Option<Value>)>;

impl View {
    /// The newest version of `key` (a full key) at or below `at`, tree drops not considered.
    pub(crate) fn newest(&self, key: &[u8], at: LogPosition) -> Result<Found, StoreError> {
        for list in self.lists() {
            if let Some(entry) = list.version(key, at) {
                return Ok(Some(own(entry)));
            }
        }
        self.version.newest(key, at)
    }

    /// Adds the sources of all entries of a tree, newest first (M1 of `merge.rs`).
    pub(crate) fn sources(&self, tree: TreeId, out: &mut Vec<Source>) {
        // The active memtable even if it is empty: a reader that searches for a gap has to see what
        // is put meanwhile.
        let frozen = self.frozen.iter().map(|f| &f.list).filter(|list| !list.is_empty());
        let lists = std::iter::once(&self.active).chain(frozen);
        out.extend(lists.map(|list| Source::Memtable(ListCursor::new(list.clone()))));
        self.version.sources(tree, out);
    }

    /// Sources of all entries of `tree` and of the trees after it, newest first. Files of others
    /// are not touched.
    pub(crate) fn sources_from(&self, tree: TreeId) -> Vec<Source> {
        let mut sources: Vec<_> =
            self.lists().map(|list| Source::Memtable(ListCursor::new(list.clone()))).collect();
        self.version.sources_from(tree, &mut sources);
        sources
    }

    /// Asserts V1 for the memtables as a whole, and the order of the drops. V1 for each key takes a
    /// walk over all entries: [`Self::check_entries`].
    pub(crate) fn check_invariants(&self) {
        for (at, list) in self.lists().enumerate() {
            let again = self.lists().take(at).any(|other| Arc::ptr_eq(other, list));
            assert!(!again, "V1: a memtable is in a view once");
        }
        let checkpoints = self.frozen.iter().rev().map(|frozen| frozen.checkpoint.position);
        assert!(checkpoints.is_sorted(), "V1: frozen memtables are in the order of their checkpoints");
        let ascends = |positions: &Vec<LogPosition>| positions.is_sorted_by(|a, b| a < b);
        assert!(self.drops.by_tree.values().all(ascends), "the drops of a tree ascend");
    }

    /// Asserts V1, and so L3 of `version.rs`, of each version of each key. Reads everything.
    pub(crate) fn check_entries(&self) -> Result<(), StoreError> {
        // The oldest version of each key in the sources so far.
        let mut oldest: BTreeMap<Vec<u8>, LogPosition> = BTreeMap::new();
        for source in self.sources_from(TreeId(0)) {
            let mut here = BTreeMap::new();
            let mut entries = Merge::new(vec![source]);
            entries.seek(&[], LogPosition::MAX)?;
            while let Some(entry) = entries.entry() {
                let before = oldest.get(entry.key);
                assert!(
                    before.is_none_or(|before| entry.position < *before),
                    "V1: {:?} of {} is not older than a newer source's {before:?}",
                    entry.key,
                    entry.position
                );
                here.insert(entry.key.to_vec(), entry.position);
                entries.next()?;
            }
            oldest.append(&mut here);
        }
        Ok(())
    }

    /// Memory of all memtables, in bytes.
    pub(crate) fn memtable_bytes(&self) -> usize {
        self.lists().map(|list| list.bytes()).sum()
    }

    pub(crate) fn lists(&self) -> impl Iterator<Item = &Arc<SkipList>> {
        std::iter::once(&self.active).chain(self.frozen.iter().map(|f| &f.list))
    }
}

impl Drops {
    /// Versions of `tree` before this position are hidden from a snapshot at `at`.
    pub(crate) fn floor(&self, tree: TreeId, at: LogPosition) -> LogPosition {
        let Some(positions) = self.by_tree.get(&tree) else { return LogPosition::ZERO };
        let seen = positions.partition_point(|&p| p <= at);
        seen.checked_sub(1).map_or(LogPosition::ZERO, |last| positions[last])
    }

    /// The first drop of `tree` after `position`: what hides a version written there.
    pub(crate) fn first_after(&self, tree: TreeId, position: LogPosition) -> Option<LogPosition> {
        let positions = self.by_tree.get(&tree)?;
        positions.get(positions.partition_point(|&p| p <= position)).copied()
    }

    /// The drops up to `position`. What a flush or compaction omits because of a drop must not come
    /// back if the drop itself, not yet durable, is lost.
    pub(crate) fn up_to(&self, position: LogPosition) -> Drops {
        let mut drops = self.clone();
        drops.by_tree.values_mut().for_each(|positions| positions.retain(|&p| p <= position));
        drops.by_tree.retain(|_, positions| !positions.is_empty());
        drops
    }

    /// All drops.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TreeId, LogPosition)> {
        self.by_tree.iter().flat_map(|(&tree, positions)| positions.iter().map(move |&p| (tree, p)))
    }

    /// Forgets a drop that hides nothing any more.
    pub(crate) fn remove(&mut self, tree: TreeId, position: LogPosition) {
        if let Some(positions) = self.by_tree.get_mut(&tree) {
            positions.retain(|&p| p != position);
            if positions.is_empty() {
                self.by_tree.remove(&tree);
            }
        }
    }

    /// Adds a drop; `position` is after all earlier ones of the tree.
    pub(crate) fn add(&mut self, tree: TreeId, position: LogPosition) {
        let positions = self.by_tree.entry(tree).or_default();
        if positions.last().is_none_or(|&last| last < position) {
            positions.push(position);
        }
    }
}

/// The current view, and how often it was replaced.
pub(crate) struct CurrentView {
    view: ArcSwap<View>,
    /// Stored after the view, loaded before it: a reader that sees the old number only loads the
    /// view again.
    generation: AtomicU64,
    /// Runs of dead keys, whichever source they lie in.
    pub(crate) gaps: Gaps,
    /// Held while a view is made from the one before it.
    publishing: Mutex<()>,
}

impl CurrentView {
    pub(crate) fn new(view: View) -> CurrentView {
        let generation = AtomicU64::new(0);
        CurrentView {
            view: ArcSwap::from_pointee(view),
            generation,
            gaps: Gaps::default(),
            publishing: Mutex::new(()),
        }
    }

    /// The current view, for long use.
    pub(crate) fn load(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// The current view, for a short read.
    pub(crate) fn peek(&self) -> arc_swap::Guard<Arc<View>> {
        self.view.load()
    }

    /// Changes with every published view.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Publishes a changed view. `change` does no I/O.
    pub(crate) fn update(&self, change: impl FnOnce(&mut View)) {
        let latch = self.publishing.lock();
        let mut view = View::clone(&self.view.load());
        change(&mut view);
        if env::INVARIANTS {
            view.check_invariants();
        }
        let old = self.view.swap(Arc::new(view));
        self.generation.fetch_add(1, Ordering::Release);
        drop(latch);
        // May free a memtable, which takes a while.
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::memtable::Checkpoint;
    use crate::store::testing;

    #[test]
    #[should_panic = "V1: a memtable"]
    fn a_memtable_that_is_frozen_and_active_is_noticed() {
        let (store, _dir) = testing::store();
        store.core.current.update(|view| {
            let checkpoint = Checkpoint::new(LogPosition::from_u64(10), b"");
            let list = view.active.clone();
            view.frozen.push(Frozen { list, checkpoint, drops: Arc::default(), log_distance: 0 });
        });
    }

    /// The newer version of a row in the older memtable.
    #[test]
    #[should_panic = "is not older than a newer source's"]
    fn versions_in_the_wrong_order_are_noticed() {
        let (store, _dir) = testing::store();
        for position in [10, 20] {
            let mut batch = WriteBatch::new();
            batch.put(TreeId(7), b"a", b"1");
            store.write(&batch, LogPosition::from_u64(position));
            store.begin_checkpoint(|_| Vec::new());
        }
        store.check_invariants().unwrap();
        let mut view = View::clone(&store.core.current.load());
        view.frozen.reverse();
        view.check_entries().unwrap();
    }

    #[test]
    fn a_drop_hides_what_was_before_it_from_snapshots_after_it() {
        let at = LogPosition::from_u64;
        let mut drops = Drops::default();
        drops.add(TreeId(1), at(10));
        drops.add(TreeId(1), at(20));
        let floor = |s| drops.floor(TreeId(1), at(s)).to_u64();
        assert_eq!([floor(9), floor(10), floor(19), floor(20), floor(99)], [0, 10, 10, 20, 20]);
        assert_eq!(drops.floor(TreeId(2), at(99)), LogPosition::ZERO);
        let after = |p| drops.first_after(TreeId(1), at(p)).map(LogPosition::to_u64);
        assert_eq!([after(9), after(10), after(20)], [Some(10), Some(20), None]);
        drops.remove(TreeId(1), at(10));
        assert_eq!(drops.iter().collect::<Vec<_>>(), [(TreeId(1), at(20))]);
    }
}
