//! What is stored, and its order.
//!
//! An *entry* is one version of one key: the tree's number and the key, the log position of the
//! transaction that wrote it, and the value, or nothing if that transaction deleted the key. Inside
//! the store a key always carries its tree as a four-byte big-endian prefix (the *full key*), so
//! that one keyspace holds all trees, each in one piece.
//!
//! (O1) Entries are ordered by full key, bytewise; versions of one key newest first. So the first
//!      entry at or after `(key, snapshot)` is the version that the snapshot sees, if its key is
//!      the same.

use binlog::LogPosition;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The number of a tree: one index of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

/// Length of the tree's prefix in a full key, in bytes.
pub(crate) const TREE_LEN: usize = 4;
const _: () = assert!(TREE_LEN == size_of::<TreeId>());

impl TreeId {
    /// The prefix of all full keys of this tree.
    pub(crate) fn prefix(self) -> [u8; TREE_LEN] {
        self.0.to_be_bytes()
    }

    /// The tree that a full key belongs to.
    pub(crate) fn of(full_key: &[u8]) -> TreeId {
        let prefix = full_key.first_chunk().expect("a full key starts with its tree");
        TreeId(u32::from_be_bytes(*prefix))
    }

    /// Replaces `out` with the full key of `key`.
    pub(crate) fn full_key(self, key: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.prefix());
        out.extend_from_slice(key);
    }

    /// Calls `f` with the full key of `key`, which is made on the stack if it is short.
    pub(crate) fn with_full_key<T>(self, key: &[u8], f: impl FnOnce(&[u8]) -> T) -> T {
        const SHORT: usize = 128;
        let len = TREE_LEN + key.len();
        if len <= SHORT {
            let mut full_key = [0; SHORT];
            full_key[..TREE_LEN].copy_from_slice(&self.prefix());
            full_key[TREE_LEN..len].copy_from_slice(key);
            return f(&full_key[..len]);
        }
        let mut full_key = Vec::with_capacity(len);
        self.full_key(key, &mut full_key);
        f(&full_key)
    }
}

/// One version of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Tree and key.
    pub(crate) key: &'a [u8],
    /// Who wrote it.
    pub(crate) position: LogPosition,
    /// `None` if the key was deleted.
    pub(crate) value: Option<&'a [u8]>,
}

/// The order of entries (O1).
#[inline]
pub(crate) fn order(a: &[u8], a_position: LogPosition, b: &[u8], b_position: LogPosition) -> Ordering {
    compare(a, b).then(b_position.cmp(&a_position))
}

/// The order of full keys. Most differ in their first eight bytes, tree and number, which are
/// compared without a call.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    const WORD: usize = size_of::<u64>();
    match (a.first_chunk::<WORD>(), b.first_chunk::<WORD>()) {
        (Some(x), Some(y)) => {
            let order = u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
            order.then_with(|| a[WORD..].cmp(&b[WORD..]))
        }
        _ => a.cmp(b),
    }
}

/// A value as it is handed out: cheap to clone, and independent of the store's memtables.
///
/// From a table's block it is a share of that block in memory; from a memtable it is one copy, so
/// that a value held for long never keeps a whole memtable alive.
#[derive(Clone)]
pub struct Value {
    bytes: Arc<[u8]>,
    range: Range<usize>,
}

impl Value {
    /// A copy of `bytes`.
    pub(crate) fn copied(bytes: &[u8]) -> Value {
        Value { range: 0..bytes.len(), bytes: bytes.into() }
    }

    /// A part of a shared block.
    pub(crate) fn shared(bytes: Arc<[u8]>, range: Range<usize>) -> Value {
        assert!(range.start <= range.end && range.end <= bytes.len(), "a value lies inside its block");
        Value { bytes, range }
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_bytewise() {
        let words = [vec![0; 8], vec![1, 0, 0, 0, 0, 0, 0, 0], vec![0, 0, 0, 0, 0, 0, 0, 1], vec![255; 8]];
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for word in &words {
            keys.extend((0..=8).map(|len| word[..len].to_vec()));
            keys.extend([vec![0], vec![255], vec![1, 2, 3]].map(|rest| [&word[..], &rest].concat()));
        }
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            assert_eq!(compare(a, b), a.cmp(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn versions_of_a_key_stand_newest_first() {
        let at = LogPosition::from_u64;
        assert_eq!(order(b"a", at(1), b"b", at(9)), Ordering::Less);
        assert_eq!(order(b"a", at(9), b"a", at(1)), Ordering::Less);
        assert_eq!(order(b"a", at(9), b"aa", at(1)), Ordering::Less);
        assert_eq!(order(b"a", at(9), b"a", at(9)), Ordering::Equal);
    }
}
