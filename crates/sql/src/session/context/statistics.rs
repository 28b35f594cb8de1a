//! What a session counts.

use std::sync::Arc;

use crate::status::Counters;

/// Counted since the session began; FLUSH STATUS starts the counters of SHOW STATUS again. Who asks
/// for one statement's figures takes the difference.
#[derive(Default)]
pub(crate) struct Statistics {
    /// For SHOW STATUS.
    pub(crate) counters: Arc<Counters>,
    /// What statements have read of tables.
    pub(crate) examined: Examined,
}

/// What was read of tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Examined {
    pub rows: u64,
    /// Tables and indexes that were read from one end to the other.
    pub(crate) full_scans: u64,
}
