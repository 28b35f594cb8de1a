//! What a receiver hands to the applier: events, with their places in the source's log.

use std::sync::Arc;

/// An event of a source's log.
#[derive(Debug, Clone)]
pub struct ReceivedEvent {
    /// The event as it was sent.
    pub bytes: Vec<u8>,
    /// The name of the source's log file.
    pub file: Arc<str>,
    /// Where it ends in that file; 0 for an event that is in no file.
    pub end: u64,
}

impl ReceivedEvent {
    /// Bytes that it takes in memory.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of::<Self>()
    }
}
