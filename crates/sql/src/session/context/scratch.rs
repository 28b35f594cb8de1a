//! Memory that one statement is done with and the next one uses again.

use crate::expression::frame::FramePool;

/// Buffers that statements recycle, to spare an allocation for each row or transaction. They hold
/// nothing between two uses, so nothing resets them.
#[derive(Default)]
pub(crate) struct Scratch {
    /// For what a transaction changes and locks.
    pub(in crate::session) transaction: storage::transaction::TransactionBuffers,
    /// For the key of a row that is looked up.
    pub(crate) key: Vec<u8>,
    /// For the key and the values of a row that is to be sorted.
    pub(crate) sort: [Vec<u8>; 2],
    /// For the rows of the blocks that run.
    pub(crate) frames: FramePool,
}
