//! Range locks, the counterpart of InnoDB's gap locks: they keep new rows out of a range that was
//! read under locks.
//!
//! 1. read A locking scan registers the range that it is going to read, and gets the open
//!    transactions that have put a key into it: it waits for them, for theirs are the rows that it
//!    would miss. Only then it reads.
//! 2. insert A transaction that is about to insert a row, or an index entry, checks whether its key
//!    lies in another's range. If so it waits for that transaction's end, without the key's lock,
//!    and tries again; else it notes the key. While nobody has a range in the tree that is the load
//!    of a counter and the note.
//! 3. wait    Every transaction that has a range or a note holds a key of its own, its *name*,
//!    exclusively. To wait for its end is to ask for that key: so these waits are waits for row
//!    locks, with their queue, timeout, deadlock detection and KILL.
//! 4. release Ranges and notes go before the locks do, all together.
//!
//! Ranges exclude inserts only: any number of transactions may have the same one. If two of them
//! insert into it, each waits for the other, and one gives way (1213), as with InnoDB's gap locks.
//!
//! (R1) Of a range and an insert into it exactly one finds the other. The reader raises the tree's
//!      counter before it reads a transaction's notes, and notes are written under the latch under
//!      which the counter was read as zero. With a counter above zero both sides work under the
//!      latch of the tree's ranges.
//! (R2) A key is noted before its row is in the write set, and the note stays until the row is in
//!      the store or the transaction is rolled back. So who finds neither note nor row, having
//!      listed the range, will never find the row.
//! (R3) Latch order: a tree's ranges, then a shard of writers, then one writer's notes. No lock is
//!      asked for under these.
//! (R4) A transaction's ranges of a tree are disjoint, in order, and at most [`SPANS_MAX`]: beyond
//!      that neighbours become one, with what lies between them.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{Acquired, LockError, LockMode, OwnerId, TransactionLocks, WaitPolicy};
use crate::TreeId;

/// The tree of the keys by which transactions wait for each other's ends: an owner's number,
/// big-endian. No index has it.
pub const NAMES: TreeId = TreeId(u32::MAX);
/// The most ranges that a transaction has in a tree.
const SPANS_MAX: usize = 64;
/// Trees share latches and counters by their numbers; so many of each.
const TREE_SHARDS: usize = 64;
const WRITER_SHARDS: usize = 8;
/// Noted keys are sorted in runs of so many.
const RUN: usize = 256;
/// What a note takes in addition to its key, in bytes.
const NOTE_LEN: usize = size_of::<Note>();

/// A range of keys: from `lower` up to, not including, `upper`; `None` is the end of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The first key.
    pub lower: Vec<u8>,
    /// The first key after the range.
    pub upper: Option<Vec<u8>>,
}

impl Span {
    /// The range between two ends.
    pub fn new(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Self {
        let lower = match lower {
            Bound::Included(key) => key.to_vec(),
            Bound::Excluded(key) => successor(key),
            Bound::Unbounded => Vec::new(),
        };
        let upper = match upper {
            Bound::Included(key) => Some(successor(key)),
            Bound::Excluded(key) => Some(key.to_vec()),
            Bound::Unbounded => None,
        };
        Self { lower, upper }
    }

    /// The range that has this one and no other.
    pub fn key(key: &[u8]) -> Self {
        Self::new(Bound::Included(key), Bound::Included(key))
    }

    fn ends_before(&self, key: &[u8]) -> bool {
        self.upper.as_deref().is_some_and(|upper| upper <= key)
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && !self.ends_before(key)
    }

    /// Grows to take in a range that doesn't begin before it.
    fn extend(&mut self, next: Span) {
        if self.upper.is_some() && next.upper.as_ref().is_none_or(|upper| Some(upper) > self.upper.as_ref()) {
            self.upper = next.upper;
        }
    }
}

/// The least key after `key`.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// One transaction's ranges of one tree (R4).
#[derive(Debug, Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn add(&mut self, span: Span) {
        // Those that touch it become one with it.
        let first = self.0.partition_point(|s| s.upper.as_ref().is_some_and(|upper| *upper < span.lower));
        let touches = |s: &Span| span.upper.as_ref().is_none_or(|upper| s.lower <= *upper);
        let count = self.0[first..].iter().take_while(|s| touches(s)).count();
        let mut merged = span;
        for mut other in self.0.drain(first..first + count) {
            if other.lower < merged.lower {
                std::mem::swap(&mut other, &mut merged);
            }
            merged.extend(other);
        }
        self.0.insert(first, merged);
        if self.0.len() > SPANS_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let spans = std::mem::take(&mut self.0);
        for (number, span) in spans.into_iter().enumerate() {
            match self.0.last_mut() {
                Some(last) if number % 2 == 1 => last.extend(span),
                _ => self.0.push(span),
            }
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        let at = self.0.partition_point(|s| s.ends_before(key));
        self.0.get(at).is_some_and(|s| s.contains(key))
    }
}

/// The keys at which a transaction has put rows or entries, sorted in runs when they are read.
/// Inline capacity: a few keys need no allocation.
#[derive(Debug, Default)]
struct Notes {
    bytes: SmallVec<[u8; 96]>,
    keys: SmallVec<[Note; 4]>,
    /// How many runs are sorted.
    sorted: usize,
}

/// Where a noted key lies.
#[derive(Debug, Clone, Copy)]
struct Note {
    start: usize,
    len: u32,
    tree: TreeId,
}

impl Note {
    fn key(self, bytes: &[u8]) -> (TreeId, &[u8]) {
        (self.tree, &bytes[self.start..self.start + self.len as usize])
    }
}

impl Notes {
    fn push(&mut self, tree: TreeId, key: &[u8]) {
        self.keys.push(Note { start: self.bytes.len(), len: key.len() as u32, tree });
        self.bytes.extend_from_slice(key);
    }

    /// Sorts what was added since: readers pay for the order, not writers.
    fn meets(&mut self, tree: TreeId, span: &Span) -> bool {
        let bytes = &self.bytes;
        let (runs, _) = self.keys.as_chunks_mut::<RUN>();
        runs[self.sorted..].iter_mut().for_each(|run| run.sort_unstable_by_key(|note| note.key(bytes)));
        self.sorted = runs.len();
        let (runs, unsorted) = self.keys.as_chunks::<RUN>();
        let within = |note: &Note| note.tree == tree && span.contains(note.key(&self.bytes).1);
        let run_meets = |run: &[Note; RUN]| {
            let first = run.partition_point(|note| note.key(&self.bytes) < (tree, span.lower.as_slice()));
            run.get(first).is_some_and(within)
        };
        unsorted.iter().any(within) || runs.iter().any(run_meets)
    }
}

/// A transaction that puts rows or entries somewhere.
#[derive(Debug)]
pub(super) struct Writer {
    owner: OwnerId,
    notes: Mutex<Notes>,
}

impl Writer {
    fn meets(&self, tree: TreeId, span: &Span) -> bool {
        self.notes.lock().meets(tree, span)
    }
}

/// Ranges of one tree, and whose they are.
type Held = Vec<(OwnerId, Spans)>;

/// Some of the trees.
#[derive(Debug, Default)]
struct Trees {
    /// How many transactions have ranges in one of them, each counted for each tree (R1).
    count: AtomicUsize,
    held: Mutex<HashMap<TreeId, Held>>,
}

/// The ranges and the writers of all transactions.
#[derive(Debug)]
pub(super) struct Ranges {
    trees: Box<[Trees]>,
    writers: [Mutex<Vec<Arc<Writer>>>; WRITER_SHARDS],
}

impl Default for Ranges {
    fn default() -> Self {
        Self { trees: (0..TREE_SHARDS).map(|_| Trees::default()).collect(), writers: Default::default() }
    }
}

impl Ranges {
    fn trees(&self, tree: TreeId) -> &Trees {
        &self.trees[tree.0 as usize % TREE_SHARDS]
    }

    fn writers(&self, owner: OwnerId) -> &Mutex<Vec<Arc<Writer>>> {
        &self.writers[owner.0 as usize % WRITER_SHARDS]
    }

    /// Lists a range; the others who have put keys into it. True if it is the owner's first of the
    /// tree.
    fn add(&self, owner: OwnerId, tree: TreeId, span: Span) -> (bool, Vec<OwnerId>) {
        let trees = self.trees(tree);
        let mut held = trees.held.lock();
        let ranges = held.entry(tree).or_default();
        let at = ranges.iter().position(|(o, _)| *o == owner);
        let spans = match at {
            Some(at) => &mut ranges[at].1,
            None => {
                trees.count.fetch_add(1, Relaxed);
                ranges.push((owner, Spans::default()));
                let last = ranges.len() - 1;
                &mut ranges[last].1
            }
        };
        let mut writers = Vec::new();
        spans.add(span.clone());
        for shard in &self.writers {
            let met = |writer: &&Arc<Writer>| writer.owner != owner && writer.meets(tree, &span);
            writers.extend(shard.lock().iter().filter(met).map(|writer| writer.owner));
        }
        (at.is_none(), writers)
    }

    /// Notes a key; fails with the name of another in whose range it lies.
    fn note(&self, writer: &Writer, tree: TreeId, key: &[u8]) -> Result<(), OwnerId> {
        let trees = self.trees(tree);
        {
            let mut notes = writer.notes.lock();
            if trees.count.load(Relaxed) == 0 {
                notes.push(tree, key);
                return Ok(());
            }
        }
        let held = trees.held.lock();
        let others = held.get(&tree).into_iter().flatten().filter(|(owner, _)| *owner != writer.owner);
        match others.into_iter().find(|(_, spans)| spans.contains(key)) {
            // Whoever listed a range since the key was noted waits for us.
            Some(_) if writer.meets(tree, &Span::key(key)) => Ok(()),
            Some((owner, _)) => Err(*owner),
            None => {
                writer.notes.lock().push(tree, key);
                Ok(())
            }
        }
    }

    fn remove(&self, owner: OwnerId, tree: TreeId) {
        let trees = self.trees(tree);
        let mut held = trees.held.lock();
        if let Some(ranges) = held.get_mut(&tree) {
            ranges.retain(|(o, _)| *o != owner);
            trees.count.fetch_sub(1, Relaxed);
            if ranges.is_empty() {
                held.remove(&tree);
            }
        }
    }

    /// The ranges of a tree, and whose they are.
    pub(super) fn list(&self, tree: TreeId) -> Vec<(OwnerId, Span)> {
        let trees = self.trees(tree);
        if trees.count.load(Relaxed) == 0 {
            return Vec::new();
        }
        let held = trees.held.lock();
        let all = held.get(&tree).into_iter().flatten();
        all.flat_map(|(owner, spans)| spans.0.iter().map(|span| (*owner, span.clone()))).collect()
    }

    /// True if nobody has a range or writes.
    pub(super) fn is_empty(&self) -> bool {
        let none = |trees: &Trees| trees.count.load(Relaxed) == 0 && trees.held.lock().is_empty();
        self.trees.iter().all(none) && self.writers.iter().all(|w| w.lock().is_empty())
    }
}

impl TransactionLocks {
    /// Keeps others from inserting into a range of a tree until the transaction ends, and waits for
    /// the open transactions that have inserted into it, so that the range can be read. With
    /// [`WaitPolicy::NoWait`] the range is locked too, but they are not waited for.
    ///
    /// # Errors
    /// Those of [`Self::lock`]. The range may be locked all the same.
    pub(crate) fn lock_range(
        &mut self,
        tree: TreeId,
        span: Span,
        policy: WaitPolicy,
    ) -> Result<(), LockError> {
        self.lock_name()?;
        let (first, writers) = self.manager.ranges.add(self.owner, tree, span);
        if first {
            self.range_trees.push(tree);
        }
        writers.into_iter().try_for_each(|writer| self.wait_for_end(writer, policy))
    }

    /// Keeps others from inserting at a key where nothing is. Only right after a
    /// [`TransactionLocks::lock`] of the key, which it gives back if that returned
    /// [`Acquired::New`]: others may read there too.
    ///
    /// # Errors
    /// Those of [`Self::lock_range`].
    pub(crate) fn lock_gap(&mut self, tree: TreeId, key: &[u8], acquired: Acquired) -> Result<(), LockError> {
        let place = self.held.len().saturating_sub(1);
        // With the key's lock held nobody has put anything there.
        self.lock_range(tree, Span::key(key), WaitPolicy::NoWait)?;
        if acquired == Acquired::New {
            self.unlock(place);
        }
        Ok(())
    }

    /// Before the first [`Self::enter_ranges`].
    ///
    /// # Errors
    /// Those of [`Self::lock`].
    pub(crate) fn begin_writing(&mut self) -> Result<(), LockError> {
        if self.writer.is_none() {
            self.lock_name()?;
            let writer = Arc::new(Writer { owner: self.owner, notes: Mutex::default() });
            self.manager.ranges.writers(self.owner).lock().push(writer.clone());
            self.writer = Some(writer);
        }
        Ok(())
    }

    /// Before a row or an entry is put to a key, whose lock is held if it has one. Neither waits
    /// nor locks anything.
    ///
    /// # Errors
    /// Another has a range with this key; it is to be tried again when that one has ended.
    pub(crate) fn enter_ranges(&mut self, tree: TreeId, key: &[u8]) -> Result<(), OwnerId> {
        let writer = self.writer.as_ref().expect("begin_writing comes before");
        self.note_bytes += NOTE_LEN + key.len();
        self.manager.ranges.note(writer, tree, key)
    }

    /// About how much memory the notes of its keys take, in bytes.
    pub(crate) fn note_bytes(&self) -> usize {
        self.note_bytes
    }

    /// Waits until another transaction has ended.
    ///
    /// # Errors
    /// Those of [`Self::lock`].
    pub(crate) fn wait_for_end(&mut self, other: OwnerId, policy: WaitPolicy) -> Result<(), LockError> {
        self.lock(NAMES, &other.0.to_be_bytes(), LockMode::Shared, policy)?;
        self.unlock_newest();
        Ok(())
    }

    /// Locks the key by which others wait for the transaction's end. Nobody else asks for it
    /// before.
    fn lock_name(&mut self) -> Result<(), LockError> {
        if self.writer.is_none() && self.range_trees.is_empty() {
            self.lock(NAMES, &self.owner.0.to_be_bytes(), LockMode::Exclusive, WaitPolicy::NoWait)?;
        }
        Ok(())
    }

    pub(super) fn release_ranges(&mut self) {
        for tree in self.range_trees.drain(..) {
            self.manager.ranges.remove(self.owner, tree);
        }
        if self.writer.take().is_some() {
            self.manager.ranges.writers(self.owner).lock().retain(|writer| writer.owner != self.owner);
            self.note_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lower: u8, upper: u8) -> Span {
        Span { lower: vec![lower], upper: Some(vec![upper]) }
    }

    #[test]
    fn a_range_has_its_ends_as_they_were_said() {
        let both = Span::new(Bound::Included(b"b"), Bound::Included(b"d"));
        let neither = Span::new(Bound::Excluded(b"b"), Bound::Excluded(b"d"));
        let check = |key: &[u8], in_both, in_neither| {
            assert_eq!((both.contains(key), neither.contains(key)), (in_both, in_neither), "{key:?}");
        };
        check(b"a", false, false);
        check(b"b", true, false);
        check(b"b\0", true, true);
        check(b"c", true, true);
        check(b"d", true, false);
        check(b"d\0", false, false);
        assert!(Span::new(Bound::Unbounded, Bound::Unbounded).contains(b""));
    }

    /// Against the set of all keys of one byte.
    #[test]
    fn ranges_of_a_transaction_cover_what_was_added_and_stay_few() {
        let mut random = stdx::random::Random::new(11);
        for _ in 0..300 {
            let (mut spans, mut model) = (Spans::default(), [false; 256]);
            let many = random.below(2) == 0;
            for _ in 0..if many { 200 } else { 30 } {
                let lower = random.below(256) as u8;
                let upper = lower.saturating_add(1 + random.below(if many { 2 } else { 20 }) as u8);
                let added = match random.below(40) {
                    0 => Span { lower: vec![lower], upper: None },
                    _ => span(lower, upper),
                };
                (0..=255).filter(|&k| added.contains(&[k])).for_each(|k| model[k as usize] = true);
                spans.add(added);
            }
            assert!(spans.0.len() <= SPANS_MAX);
            assert!(
                spans.0.is_sorted_by(|a, b| a.upper.as_ref().is_some_and(|upper| *upper < b.lower)),
                "R4"
            );
            for key in 0..=255_u8 {
                assert!(spans.contains(&[key]) || !model[key as usize], "{key} was lost");
                assert!(many || spans.contains(&[key]) == model[key as usize], "{key} was never added");
            }
        }
    }

    #[test]
    fn noted_keys_are_found_in_sorted_runs_and_after_them() {
        let mut random = stdx::random::Random::new(12);
        let mut notes = Notes::default();
        let mut model = std::collections::BTreeSet::new();
        for _ in 0..3 * RUN + 40 {
            let (tree, key) = (TreeId(random.below(3) as u32), (random.below(20_000) as u16).to_be_bytes());
            notes.push(tree, &key);
            model.insert((tree, key));
            let lower = random.below(20_000) as u16;
            let span = Span {
                lower: lower.to_be_bytes().to_vec(),
                upper: Some((lower + random.below(30) as u16).to_be_bytes().to_vec()),
            };
            let expected = model.iter().any(|(noted, key)| *noted == tree && span.contains(key));
            assert_eq!(notes.meets(tree, &span), expected, "{span:?}");
        }
    }
}
