//! Large transactions: the session builds the memtable, the log's leader only attaches it.
//!
//! The log's leader applies each transaction's changes to the active memtable while all other
//! commits wait. For hundreds of thousands of rows that takes a second. So the session of a large
//! transaction builds a memtable of its changes before it joins the log's queue, concurrently with
//! other commits; the leader only stamps the position and attaches the memtable, which takes as
//! long for a gigabyte as for a megabyte.
//!
//! 1. build    The session builds a skip list of the changes that nobody else can see
//!    ([`CommitChanges`]).
//! 2. attach   The transaction's position is known: the list is stamped with it. The active
//!    memtable is frozen, the list becomes the newest frozen memtable, and a new active one begins.
//!    Readers see all of that as one new view.
//!
//! (B1) The list is newer than all that was written before it and older than all that is written
//!      after it (V1 of `view.rs`). It is flushed together with the memtable that it caused to be
//!      frozen.
//! (B2) The gaps of its trees are discarded once it is attached to the view: a search for a gap
//!      that began before is discarded too, one that begins later reads a view that has the list
//!      (D2 of `gaps.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binlog::LogPosition;

use crate::batch::{self, WriteBatch};
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::memtable::{Checkpoint, Frozen};
use crate::skiplist::SkipList;
use crate::store::{GapsDue, Store, distance};
use crate::write_set::WriteSet;

/// A transaction is large if its changes fill one part in so many of a memtable.
const LARGE_SHARE: usize = 4;

/// A transaction's changes on their way to the store.
pub(crate) enum CommitChanges {
    /// They go into the active memtable.
    Batch(WriteBatch),
    /// They are a memtable; `None` once it was attached.
    Memtable(Option<DetachedMemtable>),
}

/// A memtable of one transaction.
pub(crate) struct DetachedMemtable {
    list: SkipList,
    /// The trees that it puts rows into.
    trees: Vec<TreeId>,
}

impl DetachedMemtable {
    /// Of changes in key order: full key and value.
    fn of<'a>(changes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> Self {
        let list = SkipList::new();
        let mut trees = Vec::new();
        let mut writer = list.writer();
        for (key, value) in changes {
            writer.insert(key, LogPosition::ZERO, value);
            let tree = TreeId::of(key);
            if value.is_some() && !trees.contains(&tree) {
                trees.push(tree);
            }
        }
        drop(writer);
        Self { list, trees }
    }
}

impl Store {
    /// Step 1 for a batch; a small one is returned as it is.
    pub(crate) fn build_changes(&self, batch: WriteBatch) -> CommitChanges {
        if batch.size() < self.large_min() || !batch.drops().is_empty() {
            return CommitChanges::Batch(batch);
        }
        CommitChanges::Memtable(Some(DetachedMemtable::of(batch.entries())))
    }

    /// Step 1 directly from a write set, once the store [admits](Self::admit) it: large changes are
    /// not copied into a batch first.
    pub(crate) fn admit_changes(&self, writes: &WriteSet) -> Result<(CommitChanges, GapsDue), StoreError> {
        // The write set's size is an upper bound of the batch's, and costs nothing to ask.
        if writes.bytes() >= self.large_min() {
            let size = batch::size_of(writes.entries());
            if size >= self.large_min() {
                self.admit(size)?;
                let changes = DetachedMemtable::of(writes.entries());
                return Ok((CommitChanges::Memtable(Some(changes)), self.gaps_due_of(writes)));
            }
        }
        let batch = writes.to_batch();
        self.admit(batch.size())?;
        let due = self.gaps_due(&batch);
        Ok((CommitChanges::Batch(batch), due))
    }

    /// The size in bytes from which a transaction is large.
    fn large_min(&self) -> usize {
        self.core.options.memtable_size / LARGE_SHARE
    }

    /// Step 2: as [`Self::write`], which it is for a batch that is not large.
    pub(crate) fn write_changes(&self, changes: &mut CommitChanges, position: LogPosition) {
        match changes {
            CommitChanges::Batch(batch) => self.write(batch, position),
            CommitChanges::Memtable(memtable) => {
                let memtable = memtable.take().expect("a transaction is written once");
                self.attach_memtable(memtable, position);
            }
        }
    }

    fn attach_memtable(&self, DetachedMemtable { mut list, trees }: DetachedMemtable, position: LogPosition) {
        list.stamp(position);
        let list = Arc::new(list);
        let core = &*self.core;
        let mut writing = core.writing.lock();
        assert!(position > writing.last, "P1: {position} written after {}", writing.last);
        let notes = core.notes.load().as_ref().map(|source| source(position)).unwrap_or_default();
        // Both frozen memtables get the same checkpoint: no flush takes the older one alone (B1).
        let checkpoint = Checkpoint::new(position, &notes);
        let drops = std::mem::take(&mut writing.drops).into();
        let before = std::mem::take(&mut writing.log_distance);
        let log_distance = distance(writing.last, position);
        core.current.update(|view| {
            let active = std::mem::replace(&mut view.active, core.options.memtable());
            let older = Frozen { list: active, checkpoint: checkpoint.clone(), drops, log_distance: before };
            let own = Frozen { list, checkpoint, drops: Arc::default(), log_distance };
            view.frozen.splice(0..0, [own, older]);
        });
        core.current.gaps.put_many(&trees);
        writing.last = position;
        core.last.store(position.to_u64(), Ordering::Release);
        drop(writing);
        core.signals.wake_background();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::store::testing;
    use crate::testing::Random;

    const TREE: TreeId = TreeId(7);

    fn rows(store: &Store, at: LogPosition) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut cursor = store.cursor(TREE, at);
        cursor.seek_first().unwrap();
        let mut rows = BTreeMap::new();
        while cursor.valid() {
            rows.insert(cursor.key().to_vec(), cursor.value().to_vec());
            cursor.next().unwrap();
        }
        rows
    }

    /// Large and small transactions alternate over the same keys: each snapshot sees what it
    /// should, before and after flushes.
    #[test]
    fn large_and_small_transactions_stand_in_the_order_of_the_log() {
        let (store, _dir) = testing::store();
        let mut random = Random::new(5);
        let mut model = BTreeMap::new();
        let mut snapshots = Vec::new();
        let mut large = 0;
        for step in 1..=60_u64 {
            let position = LogPosition::from_u64(step * 10);
            let (mut batch, mut writes) = (WriteBatch::new(), WriteSet::new());
            let rows = if random.below(3) == 0 { 3000 } else { 1 + random.below(50) };
            for _ in 0..rows {
                let key = random.below(4000).to_be_bytes();
                if random.below(4) == 0 {
                    batch.delete(TREE, &key);
                    writes.delete(TREE, &key);
                    model.remove(key.as_slice());
                } else {
                    let value = vec![step as u8; random.index(160)];
                    batch.put(TREE, &key, &value);
                    writes.put(TREE, &key, &value);
                    model.insert(key.to_vec(), value);
                }
            }
            let mut changes = match random.below(2) {
                0 => store.build_changes(batch),
                _ => store.admit_changes(&writes).unwrap().0,
            };
            large += u32::from(matches!(changes, CommitChanges::Memtable(_)));
            store.write_changes(&mut changes, position);
            if step % 7 == 0 {
                snapshots.push((store.snapshot(position), model.clone()));
            }
            if random.below(6) == 0 {
                store.flush_once().unwrap();
            }
            assert_eq!(super::tests::rows(&store, position), model, "step {step}");
        }
        assert!((5..55).contains(&large), "{large}");
        for flushed in [false, true] {
            for (snapshot, model) in &snapshots {
                assert_eq!(&super::tests::rows(&store, snapshot.position()), model, "flushed: {flushed}");
            }
            store.checkpoint(b"").unwrap();
        }
        assert_eq!(store.checkpoint_position(), LogPosition::from_u64(600));
    }

    #[test]
    fn a_large_transaction_discards_the_gap_of_a_reader() {
        let (store, _dir) = testing::store();
        let mut position = LogPosition::from_u64(10);
        let mut write = |change: &dyn Fn(&mut WriteBatch, &[u8])| {
            let mut batch = WriteBatch::new();
            (0..4000_u64).for_each(|n| change(&mut batch, &n.to_be_bytes()));
            let mut changes = store.build_changes(batch);
            assert!(matches!(changes, CommitChanges::Memtable(_)), "it is meant to be large");
            position = LogPosition::from_u64(position.to_u64() + 10);
            store.write_changes(&mut changes, position);
            rows(&store, position).len()
        };
        let value = [1; 80];
        assert_eq!(write(&|batch, key| batch.put(TREE, key, &value)), 4000);
        assert_eq!(
            write(&|batch, key| (0..2).for_each(|_| batch.delete(TREE, &[key, &[0; 60]].concat()))),
            4000
        );
        assert_eq!(write(&|batch, key| (0..8).for_each(|_| batch.delete(TREE, key))), 0);
        assert_eq!(write(&|batch, key| batch.put(TREE, key, &value)), 4000, "no gap hides them");
    }
}
