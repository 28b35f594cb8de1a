//! The changes of one transaction, in the form that the store applies at once.

use crate::entry::{TREE_LEN, TreeId};
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// Puts, deletes and tree drops that become one version step. A later operation on a key replaces
/// an earlier one. Tree drops take effect before everything else in the batch, wherever they stand
/// in it: they hide what was written at earlier positions.
#[derive(Debug, Default, Clone)]
pub struct WriteBatch {
    /// Full key and value of each operation, back to back.
    bytes: Vec<u8>,
    /// Inline capacity: the operations of a small transaction need no allocation.
    operations: SmallVec<[Operation; 8]>,
    /// How many of them are deletes.
    deletes: usize,
    drops: Vec<TreeId>,
}

/// About what the store stores of an operation in addition to key and value, in bytes.
const OVERHEAD: usize = 40;

/// [`WriteBatch::size`] of a batch of these operations (full key and value), without making it.
pub(crate) fn size_of<'a>(entries: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> usize {
    entries.map(|(full_key, value)| full_key.len() + value.map_or(0, <[u8]>::len) + OVERHEAD).sum()
}

/// Where these operations (full key and value) delete, by tree; only in trees for which
/// `is_wanted`, asked with the number of keys, says so.
pub(crate) fn deleted<'a>(
    entries: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    is_wanted: impl Fn(TreeId, usize) -> bool,
) -> Vec<KeyRange> {
    let mut trees: SmallVec<[Deleted<'_>; 4]> = SmallVec::new();
    for (key, _) in entries.filter(|(_, value)| value.is_none()) {
        let tree = TreeId::of(key);
        match trees.iter_mut().find(|deleted| deleted.tree == tree) {
            Some(deleted) => {
                deleted.count += 1;
                deleted.first = deleted.first.min(key);
                deleted.last = deleted.last.max(key);
            }
            None => trees.push(Deleted { tree, count: 1, first: key, last: key }),
        }
    }
    let due = trees.into_iter().filter(|deleted| is_wanted(deleted.tree, deleted.count));
    due.map(|deleted| deleted.first.to_vec()..=deleted.last.to_vec()).collect()
}

/// What is deleted of a tree: how many keys, and the least and the greatest of them.
struct Deleted<'a> {
    tree: TreeId,
    count: usize,
    first: &'a [u8],
    last: &'a [u8],
}

/// The least and the greatest of some full keys of one tree.
pub(crate) type KeyRange = RangeInclusive<Vec<u8>>;

#[derive(Debug, Clone, Copy)]
struct Operation {
    key_len: u32,
    /// `None` for a delete.
    value_len: Option<u32>,
}

/// One operation of a [`WriteBatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOp<'a> {
    /// The key's value from now on.
    Put {
        /// Whose key it is.
        tree: TreeId,
        /// The key inside the tree.
        key: &'a [u8],
        /// In the tree of a primary key, the row image.
        value: &'a [u8],
    },
    /// The key is gone from now on.
    Delete {
        /// Whose key it is.
        tree: TreeId,
        /// The key inside the tree.
        key: &'a [u8],
    },
    /// All keys that the tree had before are gone from now on.
    DropTree {
        /// Whose keys they are.
        tree: TreeId,
    },
}

impl WriteBatch {
    /// The longest key, in bytes, without the tree's prefix.
    pub(crate) const KEY_LEN_MAX: usize = (1 << 20) - 1;
    /// The longest value, in bytes.
    pub(crate) const VALUE_LEN_MAX: usize = (1 << 31) - 1;

    /// An empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// An empty batch with room for so many bytes of full keys and values, and operations.
    pub(crate) fn with_capacity(bytes: usize, operations: usize) -> WriteBatch {
        WriteBatch {
            bytes: Vec::with_capacity(bytes),
            operations: SmallVec::with_capacity(operations),
            ..WriteBatch::default()
        }
    }

    /// Sets `key` to `value`.
    ///
    /// # Panics
    /// If the key or the value is longer than [`Self::KEY_LEN_MAX`] or [`Self::VALUE_LEN_MAX`];
    /// callers' own limits lie far below.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        assert!(value.len() <= Self::VALUE_LEN_MAX, "a value of {} bytes is too long", value.len());
        self.push(tree, key, Some(value));
    }

    /// Removes `key`; no error if it isn't there.
    ///
    /// # Panics
    /// As [`Self::put`].
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.push(tree, key, None);
    }

    /// Removes all that the tree held before this batch.
    pub fn drop_tree(&mut self, tree: TreeId) {
        self.drops.push(tree);
    }

    /// Adds the operations of another batch after these.
    pub(crate) fn append(&mut self, other: &WriteBatch) {
        self.bytes.extend_from_slice(&other.bytes);
        self.operations.extend_from_slice(&other.operations);
        self.deletes += other.deletes;
        self.drops.extend_from_slice(&other.drops);
    }

    fn push(&mut self, tree: TreeId, key: &[u8], value: Option<&[u8]>) {
        assert!(key.len() <= Self::KEY_LEN_MAX, "a key of {} bytes is too long", key.len());
        self.bytes.extend_from_slice(&tree.prefix());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        let key_len = (TREE_LEN + key.len()) as u32;
        self.deletes += usize::from(value.is_none());
        self.operations.push(Operation { key_len, value_len: value.map(|v| v.len() as u32) });
    }

    /// True if the batch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.drops.is_empty()
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.operations.len() + self.drops.len()
    }

    /// About how much memory the batch will take in the store, in bytes: what to pass to
    /// `Store::admit`.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.operations.len() * OVERHEAD
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.operations.clear();
        self.deletes = 0;
        self.drops.clear();
    }

    /// The operations: tree drops first, then puts and deletes as they were added.
    pub fn iter(&self) -> impl Iterator<Item = BatchOp<'_>> {
        let drops = self.drops.iter().map(|&tree| BatchOp::DropTree { tree });
        drops.chain(self.entries().map(|(full_key, value)| {
            let (tree, key) = (TreeId::of(full_key), &full_key[TREE_LEN..]);
            match value {
                Some(value) => BatchOp::Put { tree, key, value },
                None => BatchOp::Delete { tree, key },
            }
        }))
    }

    /// Where the batch deletes, by tree; only in trees for which `is_wanted`, asked with the number
    /// of keys, says so.
    pub(crate) fn deleted(&self, is_wanted: impl Fn(TreeId, usize) -> bool) -> Vec<KeyRange> {
        if self.deletes == 0 { Vec::new() } else { deleted(self.entries(), is_wanted) }
    }

    /// The trees that are dropped.
    pub(crate) fn drops(&self) -> &[TreeId] {
        &self.drops
    }

    /// Full key and value (`None`: deleted) of each put and delete.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
        let mut rest = self.bytes.as_slice();
        self.operations.iter().map(move |operation| {
            let (key, tail) = rest.split_at(operation.key_len as usize);
            let (value, tail) = tail.split_at(operation.value_len.unwrap_or(0) as usize);
            rest = tail;
            (key, operation.value_len.map(|_| value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_with_drops_first() {
        let mut batch = WriteBatch::new();
        batch.put(TreeId(1), b"k", b"v");
        batch.delete(TreeId(2), b"");
        batch.drop_tree(TreeId(3));
        batch.put(TreeId(1), b"empty", b"");
        let all: Vec<_> = batch.iter().collect();
        assert_eq!(
            all,
            [
                BatchOp::DropTree { tree: TreeId(3) },
                BatchOp::Put { tree: TreeId(1), key: b"k", value: b"v" },
                BatchOp::Delete { tree: TreeId(2), key: b"" },
                BatchOp::Put { tree: TreeId(1), key: b"empty", value: b"" },
            ]
        );
        assert_eq!(batch.len(), 4);
        batch.clear();
        assert!(batch.is_empty() && batch.iter().next().is_none());
    }

    #[test]
    fn deleted_keys_have_their_first_and_last_key() {
        let mut batch = WriteBatch::new();
        assert!(batch.deleted(|_, _| true).is_empty());
        for key in [3, 1, 2] {
            batch.delete(TreeId(1), &[key]);
            batch.put(TreeId(2), &[key], b"");
        }
        batch.delete(TreeId(2), b"a");
        let full = |key: u8| [TreeId(1).prefix().as_slice(), &[key]].concat();
        assert_eq!(batch.deleted(|_, count| count >= 3), [full(1)..=full(3)]);
        assert_eq!(batch.deleted(|_, _| true).len(), 2);
        batch.clear();
        assert!(batch.deleted(|_, _| true).is_empty());
    }
}
