//! A transaction's private changes: what it will write at its commit position, and how to take any of it back.
//!
//! The set is an ordered map from full key (tree and key) to the newest change, and an undo log with one record for each
//! change, which holds the change that it replaced. A [`Mark`] is a length of the undo log. So
//!
//! - going back to a savepoint undoes the records behind its mark, newest first;
//! - the set *as of* a mark is still readable: from a newer change one goes back along the replaced ones. A statement
//!   that changes what it scans reads as of its start, and so never meets its own changes (the Halloween problem).
//!
//! Beside changes there are *shadows*: keys that the transaction must meet in its own scans though it doesn't change them.
//! Under a snapshot that is older than a row it has changed, an index entry of that row that stays as it is would not be
//! found: the snapshot doesn't have it yet. Shadows are never written.
//!
//! (S1) The change in the map was made by the undo record it names, and each record names, through the change that it
//!      replaced, the one before. Numbers descend along that chain.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use crate::batch::WriteBatch;
use crate::entry::{TREE_LEN, TreeId, Value};
use crate::temporary;

/// A place in the sequence of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Mark(usize);

impl Mark {
    /// Behind every change.
    pub const NOW: Mark = Mark(usize::MAX);
}

/// What a transaction did to a key.
#[derive(Debug, Clone)]
struct Change {
    /// `None` if it deleted the key.
    value: Option<Value>,
    is_shadow: bool,
    /// The undo record that takes this change back.
    number: usize,
}

#[derive(Debug)]
struct Undo {
    full_key: Arc<[u8]>,
    replaced: Option<Change>,
}

/// A transaction's private changes.
#[derive(Debug, Default)]
pub struct WriteSet {
    changes: BTreeMap<Arc<[u8]>, Change>,
    undo: Vec<Undo>,
    bytes: usize,
}

/// About what a change costs beside its key and value, in bytes: map node, undo record, reference counts.
const OVERHEAD: usize = 144;

impl WriteSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if nothing was changed, or all of it was taken back.
    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// The number of changes made and not taken back.
    pub fn len(&self) -> usize {
        self.undo.len()
    }

    /// About how much memory the set takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets a key's value.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.change(tree, key, Some(Value::copied(value)), false);
    }

    /// Deletes a key, whether or not anything is there.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.change(tree, key, None, false);
    }

    /// Lets own scans meet a key, with an empty value, if it isn't changed anyway.
    pub fn shadow(&mut self, tree: TreeId, key: &[u8]) {
        if self.get(tree, key, Mark::NOW).is_none() {
            self.change(tree, key, Some(Value::copied(&[])), true);
        }
    }

    fn change(&mut self, tree: TreeId, key: &[u8], value: Option<Value>, is_shadow: bool) {
        let full_key: Arc<[u8]> = tree.with_full_key(key, |full_key| full_key.into());
        let change = Change { value, is_shadow, number: self.undo.len() };
        self.bytes += cost(&full_key, &change);
        // The key is shared by the map and all undo records of this key.
        let undo = match self.changes.entry(full_key) {
            Entry::Occupied(mut current) => {
                let full_key = current.key().clone();
                Undo { full_key, replaced: Some(current.insert(change)) }
            }
            Entry::Vacant(place) => {
                let full_key = place.key().clone();
                place.insert(change);
                Undo { full_key, replaced: None }
            }
        };
        self.undo.push(undo);
    }

    /// The place behind the last change.
    pub fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    /// Takes back every change made since `mark`.
    pub fn rollback_to(&mut self, mark: Mark) {
        while self.undo.len() > mark.0 {
            let Undo { full_key, replaced } = self.undo.pop().expect("the log is longer than the mark");
            let undone = match replaced {
                Some(replaced) => self.changes.insert(full_key.clone(), replaced),
                None => self.changes.remove(&full_key),
            };
            self.bytes -= cost(&full_key, &undone.expect("S1: an undone change was in the map"));
        }
    }

    /// What the transaction had done to a key as of `mark`: nothing (`None`), deleted it (`Some(None)`), set it.
    pub fn get(&self, tree: TreeId, key: &[u8], mark: Mark) -> Option<Option<&Value>> {
        if self.undo.is_empty() {
            return None;
        }
        let change = tree.with_full_key(key, |full_key| self.changes.get(full_key))?;
        self.as_of(change, mark)
    }

    fn as_of<'a>(&'a self, mut change: &'a Change, mark: Mark) -> Option<Option<&'a Value>> {
        while change.number >= mark.0 {
            change = self.undo[change.number].replaced.as_ref()?;
        }
        Some(change.value.as_ref())
    }

    /// The first key of `tree` behind `from` (exclusive if `Bound::Excluded`) that was changed as of `mark`, and what
    /// it was set to, if it was not deleted.
    pub fn next(&self, tree: TreeId, from: Bound<&[u8]>, mark: Mark) -> Option<(&[u8], Option<&Value>)> {
        let full_key = bound(tree, from, tree.prefix().to_vec());
        let range = self.changes.range::<[u8], _>((full_key.as_ref().map(Vec::as_slice), Bound::Unbounded));
        self.first(tree, range, mark)
    }

    /// The last key of `tree` before `from`, as [`Self::next`].
    pub fn prev(&self, tree: TreeId, from: Bound<&[u8]>, mark: Mark) -> Option<(&[u8], Option<&Value>)> {
        let unbounded = match tree.0.checked_add(1) {
            Some(behind) => Bound::Excluded(behind.to_be_bytes().to_vec()),
            None => Bound::Unbounded,
        };
        let full_key = match from {
            Bound::Unbounded => unbounded,
            from => bound(tree, from, Vec::new()),
        };
        let range = self.changes.range::<[u8], _>((Bound::Unbounded, full_key.as_ref().map(Vec::as_slice)));
        self.first(tree, range.rev(), mark)
    }

    fn first<'a>(
        &'a self,
        tree: TreeId,
        range: impl Iterator<Item = (&'a Arc<[u8]>, &'a Change)>,
        mark: Mark,
    ) -> Option<(&'a [u8], Option<&'a Value>)> {
        let in_tree = range.take_while(|(full_key, _)| TreeId::of(full_key) == tree);
        let mut seen = in_tree.map(|(full_key, change)| (&full_key[TREE_LEN..], self.as_of(change, mark)));
        seen.find_map(|(key, value)| value.map(|value| (key, value)))
    }

    /// All that the transaction changed, as the store wants it, in key order; but for temporary trees.
    pub fn to_batch(&self) -> WriteBatch {
        // More than enough where a key was changed several times.
        let bytes = self.bytes.saturating_sub(self.undo.len() * OVERHEAD);
        Self::add_to(WriteBatch::with_capacity(bytes, self.changes.len()), self.lasting())
    }

    /// Full key and value (`None`: deleted) of each change in [`Self::to_batch`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let changes = self.lasting().filter(|(_, change)| !change.is_shadow);
        changes.map(|(full_key, change)| (&full_key[..], change.value.as_deref()))
    }

    /// Changes and shadows of trees that are not temporary.
    fn lasting(&self) -> impl Iterator<Item = (&Arc<[u8]>, &Change)> {
        self.changes.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&first_temporary()[..])))
    }

    /// What it changed in temporary trees.
    pub fn to_temporary_batch(&self) -> WriteBatch {
        let changes =
            self.changes.range::<[u8], _>((Bound::Included(&first_temporary()[..]), Bound::Unbounded));
        Self::add_to(WriteBatch::new(), changes)
    }

    fn add_to<'a>(
        mut batch: WriteBatch,
        changes: impl Iterator<Item = (&'a Arc<[u8]>, &'a Change)>,
    ) -> WriteBatch {
        for (full_key, change) in changes.filter(|(_, change)| !change.is_shadow) {
            let (tree, key) = (TreeId::of(full_key), &full_key[TREE_LEN..]);
            match &change.value {
                Some(value) => batch.put(tree, key, value),
                None => batch.delete(tree, key),
            }
        }
        batch
    }

    /// Walks the whole set and asserts S1. For tests.
    pub fn check_invariants(&self) {
        let mut reached = 0;
        for (full_key, change) in &self.changes {
            let mut at = Some(change);
            while let Some(change) = at {
                reached += 1;
                let undo = &self.undo[change.number];
                assert_eq!(&undo.full_key, full_key, "S1");
                at = undo.replaced.as_ref();
                assert!(at.is_none_or(|older| older.number < change.number), "S1");
            }
        }
        assert_eq!(reached, self.undo.len(), "S1: a record without its change");
        let chained = self.undo.iter().filter_map(|u| Some(cost(&u.full_key, u.replaced.as_ref()?)));
        let current = self.changes.iter().map(|(key, change)| cost(key, change));
        assert_eq!(self.bytes, current.chain(chained).sum::<usize>());
    }
}

/// What the full keys of temporary trees begin with, or lie behind.
fn first_temporary() -> [u8; TREE_LEN] {
    TreeId(temporary::FIRST).prefix()
}

fn cost(full_key: &[u8], change: &Change) -> usize {
    OVERHEAD + full_key.len() + change.value.as_ref().map_or(0, |v| v.len())
}

fn bound(tree: TreeId, from: Bound<&[u8]>, unbounded: Vec<u8>) -> Bound<Vec<u8>> {
    let full = |key: &[u8]| [tree.prefix().as_slice(), key].concat();
    match from {
        Bound::Included(key) => Bound::Included(full(key)),
        Bound::Excluded(key) => Bound::Excluded(full(key)),
        Bound::Unbounded => Bound::Included(unbounded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let seen = set.get(TREE, key, *mark).map(|v| v.map(|v| v.to_vec()));
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
