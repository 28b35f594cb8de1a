//! Where writes go first: one skip list of versions, and what is known of it.
//!
//! The newest memtable takes writes. It is *frozen* at the end of a transaction, never inside one,
//! together with the position and the notes that a checkpoint of it makes durable; from then on it
//! only waits to be flushed.

use crate::entry::TreeId;
use crate::skiplist::SkipList;
use binlog::LogPosition;
use parking_lot::Mutex;
use std::sync::Arc;

/// What a flush makes durable in addition to tables: everything up to `position` is in tables, and
/// `notes` belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Everything up to here is in this memtable or in older ones.
    pub(crate) position: LogPosition,
    /// What the owner of the store wants to be durable with that position.
    pub(crate) notes: Arc<[u8]>,
    /// The log's fingerprint at that position; known only once the log is durable there.
    pub(crate) fingerprint: Option<u64>,
}

impl Checkpoint {
    /// A checkpoint in the making.
    pub(crate) fn new(position: LogPosition, notes: &[u8]) -> Self {
        Self { position, notes: notes.into(), fingerprint: None }
    }
}

/// A memtable that takes no more writes, and the checkpoint that flushing it makes.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) list: Arc<SkipList>,
    pub(crate) checkpoint: Checkpoint,
    /// Trees dropped while this memtable took writes.
    pub(crate) drops: Arc<[(TreeId, LogPosition)]>,
    /// Bytes of log that its transactions take.
    pub(crate) log_distance: u64,
}

/// Memtables that were flushed. A background thread frees each once nobody reads it any more:
/// giving some gigabytes back to the system takes a while, during which no session, least of all
/// the log's leader, should stall because it was the last reader.
#[derive(Default)]
pub(crate) struct Retired(Mutex<Vec<Arc<SkipList>>>);

impl Retired {
    /// Takes memtables that no view to come will have.
    pub(crate) fn add(&self, lists: impl IntoIterator<Item = Arc<SkipList>>) {
        self.0.lock().extend(lists);
    }

    /// Frees those that nobody reads.
    pub(crate) fn bury(&self) {
        // Nobody can begin to read one that is only here.
        let unread: Vec<_> = self.0.lock().extract_if(.., |list| Arc::strong_count(list) == 1).collect();
        drop(unread);
    }

    /// True if all are freed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::batch::WriteBatch;
    use crate::entry::TreeId;
    use crate::store::testing;
    use binlog::LogPosition;
    use std::sync::Arc;

    #[test]
    fn a_memtable_is_not_freed_by_its_last_reader() {
        let (store, _dir) = testing::store();
        let mut batch = WriteBatch::new();
        batch.put(TreeId(7), b"a", b"1");
        store.write(&batch, LogPosition::from_u64(10));
        let reader = store.core.current.load();
        let list = Arc::downgrade(&reader.active);
        store.checkpoint(b"").unwrap();
        assert!(!store.core.retired.is_empty(), "it is still read");
        drop(reader);
        assert!(list.upgrade().is_some(), "the reader has not freed it");
        store.core.bury();
        assert!(list.upgrade().is_none() && store.core.retired.is_empty());
    }
}
