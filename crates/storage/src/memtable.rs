//! Where writes go first: one skip list of versions, and what is known of it.
//!
//! The newest memtable takes writes. It is *frozen* at the end of a transaction, never inside one, together with the
//! position and the notes that a checkpoint of it makes durable; from then on it only waits to be flushed.

use crate::entry::TreeId;
use crate::skiplist::SkipList;
use binlog::position::LogPosition;
use std::sync::Arc;

/// What a flush makes durable beside tables: everything up to `position` is in tables, and `notes` belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Everything up to here is in this memtable or in older ones.
    pub(crate) position: LogPosition,
    /// What the owner of the store wants to be durable with that position.
    pub(crate) notes: Arc<[u8]>,
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
