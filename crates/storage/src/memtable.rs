//! Where writes go first: one skip list of versions, and what is known of it.
//!
//! The newest memtable takes writes. It is *frozen* at the end of a transaction, never inside one, together with the
//! position and the notes that a checkpoint of it makes durable; from then on it only waits to be flushed.

use crate::entry::TreeId;
use crate::skiplist::SkipList;
use binlog::position::LogPosition;
use std::sync::Arc;

/// The memtable that takes writes.
#[derive(Clone)]
pub(crate) struct Memtable {
    pub(crate) list: Arc<SkipList>,
}

/// A memtable that takes no more writes, and the checkpoint that flushing it makes.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) list: Arc<SkipList>,
    /// Everything up to here is in this memtable or in older ones.
    pub(crate) position: LogPosition,
    /// What the owner of the store wants to be durable with that position.
    pub(crate) notes: Arc<[u8]>,
    /// Trees dropped while this memtable took writes.
    pub(crate) drops: Arc<[(TreeId, LogPosition)]>,
    /// Bytes of log behind the previous checkpoint that this one covers.
    pub(crate) log_distance: u64,
}

impl Memtable {
    pub(crate) fn new() -> Memtable {
        Memtable { list: Arc::new(SkipList::new()) }
    }
}
