//! A transaction's private changes: what it will write at its commit position, and how to take any
//! of it back.
//!
//! The set is a list of all changes, oldest first, their keys and values back to back, and the
//! newest change of each full key (tree and key) in key order. Each change says which one of its
//! key it replaced. A [`Mark`] is a length of the list. So
//!
//! - going back to a savepoint takes the changes after its mark off the end, newest first;
//! - the set *as of* a mark is still readable: from a newer change one goes back along the replaced
//!   ones. A statement that changes what it scans reads as of its start, and so never meets its own
//!   changes (the Halloween problem).
//!
//! Nothing is allocated for a change: a small transaction takes three pieces of memory, and gives
//! three back.
//!
//! In addition to changes there are *shadows*: keys that the transaction must meet in its own scans
//! though it doesn't change them. Under a snapshot that is older than a row it has changed, an
//! index entry of that row that stays as it is would not be found: the snapshot doesn't have it
//! yet. Shadows are never written.
//!
//! (S1) The order has each key's newest change, which names the one of this key that it replaced,
//!      and so on. Numbers descend along that chain, and every change is in one.

mod order;
mod pieces;

use std::cmp::Ordering;
use std::ops::Bound;

use crate::batch::WriteBatch;
use crate::entry::{TREE_LEN, TreeId};
use order::{Order, OrderSlot};
use pieces::{ByteSpan, Pieces};

/// A place in the sequence of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Mark(usize);

impl Mark {
    /// After every change.
    pub(crate) const NOW: Mark = Mark(usize::MAX);
}

/// What a transaction did to a key. Its bytes are the full key and the value.
#[derive(Debug)]
struct Change {
    /// The full key's beginning: see [`Sought`].
    head: u64,
    span: ByteSpan,
    key_len: usize,
    effect: Effect,
    /// The number of the change of the same key that was the newest before.
    replaced: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Put,
    Delete,
    Shadow,
}

/// A key to compare with. Its tree and first bytes, zeros after a shorter key, are one number,
/// which is in order: it nearly always decides.
#[derive(Clone, Copy)]
struct Sought<'k> {
    head: u64,
    key: &'k [u8],
}

impl<'k> Sought<'k> {
    fn new(tree: TreeId, key: &'k [u8]) -> Self {
        let first = key.first_chunk().map_or_else(
            || key.iter().zip([24, 16, 8]).map(|(&byte, shift)| u32::from(byte) << shift).sum(),
            |first| u32::from_be_bytes(*first),
        );
        Self { head: u64::from(tree.0) << 32 | u64::from(first), key }
    }
}

/// A transaction's private changes.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    bytes: Pieces,
    /// All changes that were not taken back; their numbers are their indexes here.
    changes: Vec<Change>,
    /// The newest change of each key.
    newest: Order,
}

/// What a change costs in addition to its key and value, in bytes.
const OVERHEAD: usize = size_of::<Change>() + size_of::<usize>();
/// Room that a set begins with.
const SMALL_CHANGES: usize = 16;
/// A larger capacity is freed, not recycled. In changes.
const CHANGES_RECYCLED_MAX: usize = 4 * SMALL_CHANGES;

/// What a transaction has made of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnWrite<'a> {
    /// Nothing is there any more.
    Delete,
    /// This value is there.
    Put(&'a [u8]),
}

impl<'a> OwnWrite<'a> {
    /// The value; `None` if the key is gone.
    pub(crate) fn value(self) -> Option<&'a [u8]> {
        match self {
            Self::Delete => None,
            Self::Put(value) => Some(value),
        }
    }
}

impl WriteSet {
    /// An empty set.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// True if nothing was changed, or all of it was taken back.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// About how much memory the set takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + self.changes.len() * OVERHEAD
    }

    /// Sets a key's value.
    pub(crate) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.change(tree, key, value, Effect::Put);
    }

    /// Deletes a key, whether or not anything is there.
    pub(crate) fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.change(tree, key, &[], Effect::Delete);
    }

    /// Lets own scans meet a key, with an empty value, if it isn't changed anyway.
    pub(crate) fn shadow(&mut self, tree: TreeId, key: &[u8]) {
        if self.get(tree, key, Mark::NOW).is_none() {
            self.change(tree, key, &[], Effect::Shadow);
        }
    }

    fn change(&mut self, tree: TreeId, key: &[u8], value: &[u8], effect: Effect) {
        if self.changes.is_empty() {
            self.changes.reserve(SMALL_CHANGES);
        }
        let number = self.changes.len();
        let (slot, replaced) = self.find(tree, key);
        match replaced {
            Some(_) => self.newest.replace(slot, number),
            None => self.newest.insert(slot, number),
        }
        let span = self.bytes.push([&tree.prefix(), key, value]);
        let (head, key_len) = (Sought::new(tree, key).head, TREE_LEN + key.len());
        self.changes.push(Change { head, span, key_len, effect, replaced });
    }

    /// Where a key is in the order or would be, and its newest change.
    fn find(&self, tree: TreeId, key: &[u8]) -> (OrderSlot, Option<usize>) {
        let sought = Sought::new(tree, key);
        let slot = self.newest.partition_slot(|number| self.order(number, sought).is_lt());
        let newest = self.newest.at(slot).filter(|&number| self.order(number, sought).is_eq());
        (slot, newest)
    }

    /// How a change's key compares with one that is searched for.
    fn order(&self, number: usize, sought: Sought<'_>) -> Ordering {
        let order = self.changes[number].head.cmp(&sought.head);
        order.then_with(|| self.full_key(number)[TREE_LEN..].cmp(sought.key))
    }

    fn full_key(&self, number: usize) -> &[u8] {
        let change = &self.changes[number];
        &self.bytes.at(change.span)[..change.key_len]
    }

    /// What a change set its key to; `None` if it deleted it.
    fn value(&self, number: usize) -> Option<&[u8]> {
        let change = &self.changes[number];
        (change.effect != Effect::Delete).then(|| &self.bytes.at(change.span)[change.key_len..])
    }

    /// The place after the last change.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.changes.len())
    }

    /// Takes back every change made since `mark`.
    pub(crate) fn rollback_to(&mut self, mark: Mark) {
        for number in (mark.0..self.changes.len()).rev() {
            let full_key = self.full_key(number);
            let (slot, newest) = self.find(TreeId::of(full_key), &full_key[TREE_LEN..]);
            debug_assert_eq!(newest, Some(number), "S1: the last change is the newest of its key");
            match self.changes[number].replaced {
                Some(replaced) => self.newest.replace(slot, replaced),
                None => self.newest.remove(slot),
            }
            self.bytes.pop(self.changes[number].span);
            self.changes.truncate(number);
        }
    }

    /// Forgets all changes; a small set's memory is recycled.
    pub(crate) fn clear(&mut self) {
        if self.changes.capacity() > CHANGES_RECYCLED_MAX || !self.bytes.is_small() {
            *self = Self::default();
            return;
        }
        self.bytes.clear();
        self.changes.clear();
        self.newest.clear();
    }

    /// What the transaction had made of a key as of `mark`, if anything.
    pub(crate) fn get(&self, tree: TreeId, key: &[u8], mark: Mark) -> Option<OwnWrite<'_>> {
        if self.changes.is_empty() {
            return None;
        }
        self.as_of(self.find(tree, key).1?, mark)
    }

    fn as_of(&self, mut number: usize, mark: Mark) -> Option<OwnWrite<'_>> {
        while number >= mark.0 {
            number = self.changes[number].replaced?;
        }
        Some(self.value(number).map_or(OwnWrite::Delete, OwnWrite::Put))
    }

    /// The first key of `tree` after `from` (exclusive if `Bound::Excluded`) that was changed as
    /// of `mark`, and what it was set to, if it was not deleted.
    pub(crate) fn next(
        &self,
        tree: TreeId,
        from: Bound<&[u8]>,
        mark: Mark,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        let first = self.newest.partition_slot(|number| match from {
            Bound::Included(key) => self.order(number, Sought::new(tree, key)).is_lt(),
            Bound::Excluded(key) => self.order(number, Sought::new(tree, key)).is_le(),
            Bound::Unbounded => self.tree(number) < tree,
        });
        self.first(tree, self.newest.from(first), mark)
    }

    /// The last key of `tree` before `from`, as [`Self::next`].
    pub(crate) fn prev(
        &self,
        tree: TreeId,
        from: Bound<&[u8]>,
        mark: Mark,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        let end = self.newest.partition_slot(|number| match from {
            Bound::Included(key) => self.order(number, Sought::new(tree, key)).is_le(),
            Bound::Excluded(key) => self.order(number, Sought::new(tree, key)).is_lt(),
            Bound::Unbounded => self.tree(number) <= tree,
        });
        self.first(tree, self.newest.before(end), mark)
    }

    fn tree(&self, number: usize) -> TreeId {
        TreeId((self.changes[number].head >> 32) as u32)
    }

    fn first(
        &self,
        tree: TreeId,
        numbers: impl Iterator<Item = usize>,
        mark: Mark,
    ) -> Option<(&[u8], Option<&[u8]>)> {
        let mut in_tree = numbers.take_while(|&number| self.tree(number) == tree);
        in_tree
            .find_map(|number| Some((&self.full_key(number)[TREE_LEN..], self.as_of(number, mark)?.value())))
    }

    /// All that the transaction changed, as the store wants it, in key order; but for temporary
    /// trees.
    pub(crate) fn to_batch(&self) -> WriteBatch {
        // More than enough where a key was changed several times.
        Self::batch_of(WriteBatch::with_capacity(self.bytes.len(), self.newest.len()), self.entries())
    }

    /// What it changed in temporary trees, if anything.
    pub(crate) fn to_temporary_batch(&self) -> Option<WriteBatch> {
        let first = self.newest.partition_slot(|number| !self.tree(number).is_temporary());
        let mut written = self.written(self.newest.from(first)).peekable();
        written.peek()?;
        Some(Self::batch_of(WriteBatch::new(), written))
    }

    /// Full key and value (`None`: deleted) of each change in [`Self::to_batch`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.written(self.newest.all().take_while(|&number| !self.tree(number).is_temporary()))
    }

    /// Those of these changes that are not shadows.
    fn written(&self, numbers: impl Iterator<Item = usize>) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let written = numbers.filter(|&number| self.changes[number].effect != Effect::Shadow);
        written.map(|number| (self.full_key(number), self.value(number)))
    }

    fn batch_of<'a>(
        mut batch: WriteBatch,
        changes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    ) -> WriteBatch {
        for (full_key, value) in changes {
            let (tree, key) = (TreeId::of(full_key), &full_key[TREE_LEN..]);
            match value {
                Some(value) => batch.put(tree, key, value),
                None => batch.delete(tree, key),
            }
        }
        batch
    }

    /// Walks the whole set and asserts S1.
    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        let mut reached = 0;
        let newest: Vec<usize> = self.newest.all().collect();
        assert!(
            newest.is_sorted_by(|&a, &b| self.full_key(a) < self.full_key(b)),
            "S1: each key once, in order"
        );
        for newest in newest {
            let mut at = Some(newest);
            while let Some(number) = at {
                reached += 1;
                assert_eq!(self.full_key(number), self.full_key(newest), "S1");
                at = self.changes[number].replaced;
                assert!(at.is_none_or(|older| older < number), "S1");
            }
        }
        assert_eq!(reached, self.changes.len(), "S1: a change that nothing leads to");
        let lengths = self.changes.iter().map(|change| self.bytes.at(change.span).len());
        assert_eq!(self.bytes.len(), lengths.sum::<usize>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const TREE: TreeId = TreeId(3);

    fn all(set: &WriteSet, mark: Mark) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let mut forward = Vec::new();
        let mut from = Bound::Unbounded;
        while let Some((key, value)) = set.next(TREE, from, mark) {
            forward.push((key.to_vec(), value.map(|v| v.to_vec())));
            from = Bound::Excluded(key);
        }
        let mut backward = Vec::new();
        let mut from = Bound::Unbounded;
        while let Some((key, value)) = set.prev(TREE, from, mark) {
            backward.push((key.to_vec(), value.map(|v| v.to_vec())));
            from = Bound::Excluded(key);
        }
        backward.reverse();
        assert_eq!(forward, backward);
        forward
    }

    #[test]
    fn keys_are_ordered_bytewise_however_short() {
        let mut set = WriteSet::new();
        let mut model = BTreeMap::new();
        for first in [0_u8, 1, 255] {
            for len in 0..8_usize {
                for last in [0_u8, 1, 255] {
                    let mut key = vec![first; len];
                    key.push(last);
                    set.put(TREE, &key, &[last]);
                    model.insert(key, Some(vec![last]));
                }
            }
        }
        set.put(TREE, b"", b"first");
        model.insert(Vec::new(), Some(b"first".to_vec()));
        set.check_invariants();
        assert_eq!(all(&set, Mark::NOW), model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_shadow_is_met_but_not_written() {
        let mut set = WriteSet::new();
        set.put(TREE, b"a", b"1");
        set.shadow(TREE, b"a");
        set.shadow(TREE, b"b");
        assert_eq!(
            all(&set, Mark::NOW),
            [(b"a".to_vec(), Some(b"1".to_vec())), (b"b".to_vec(), Some(vec![]))]
        );
        assert_eq!(set.to_batch().len(), 1);
        set.delete(TREE, b"b");
        assert_eq!(set.to_batch().len(), 2, "a change of the key is one");
        set.check_invariants();
    }

    #[test]
    fn a_cleared_set_is_like_a_new_one_and_keeps_a_little_memory() {
        let mut set = WriteSet::new();
        for (count, room) in [
            (0, 0),
            (3, SMALL_CHANGES),
            (10, SMALL_CHANGES),
            (10 * CHANGES_RECYCLED_MAX, 0),
            (2, SMALL_CHANGES),
        ] {
            for key in (0..count).rev() {
                set.put(TREE, &key.to_be_bytes(), b"value");
            }
            set.check_invariants();
            assert_eq!(all(&set, Mark::NOW).len(), count);
            set.clear();
            set.check_invariants();
            assert!(set.is_empty() && set.bytes() == 0 && all(&set, Mark::NOW).is_empty());
            assert_eq!(set.changes.capacity(), room);
        }
    }

    #[test]
    fn every_mark_shows_what_was_there_and_can_be_gone_back_to() {
        let mut set = WriteSet::new();
        let mut model: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        let mut past = vec![(set.mark(), model.clone())];
        set.put(TreeId(2), b"z", b"another tree");
        set.put(TreeId(4), b"a", b"another tree");
        for i in 0..40_u8 {
            let key = [i * 2 % 5];
            let value = (i % 3 != 0).then(|| vec![i]);
            match &value {
                Some(value) => set.put(TREE, &key, value),
                None => set.delete(TREE, &key),
            }
            model.insert(key.to_vec(), value);
            past.push((set.mark(), model.clone()));
            set.check_invariants();
        }
        for (mark, model) in past.iter().rev() {
            assert_eq!(all(&set, *mark), model.clone().into_iter().collect::<Vec<_>>());
            for (key, value) in model {
                let seen = set.get(TREE, key, *mark).map(|own| own.value().map(<[u8]>::to_vec));
                assert_eq!(seen, Some(value.clone()));
            }
        }
        for (mark, model) in past.iter().rev() {
            set.rollback_to(*mark);
            set.check_invariants();
            assert_eq!(all(&set, Mark::NOW), model.clone().into_iter().collect::<Vec<_>>());
        }
        assert!(set.is_empty() && set.bytes() == 0 && set.to_batch().is_empty());
    }
}
