//! What a session counts.

use std::sync::Arc;

use crate::index_use::SessionUses;
use crate::statement_events::SessionEvents;
use crate::status::{Counter, Counters};

/// Counted since the session began; FLUSH STATUS starts the counters of SHOW STATUS again. Who asks
/// for one statement's figures takes the difference.
#[derive(Default)]
pub(crate) struct Statistics {
    /// For SHOW STATUS.
    pub(crate) counters: Arc<Counters>,
    /// What statements have read of tables.
    pub(crate) examined: Examined,
    /// Which indexes it has used.
    pub(crate) uses: SessionUses,
    /// The statements that it ran last.
    pub(crate) events: Arc<SessionEvents>,
}

impl Statistics {
    /// Counts a row that was read of a table or an index, if one was found.
    pub(crate) fn count_row(&mut self, found: bool) {
        self.examined.rows += u64::from(found);
        self.counters.add(Counter::InnodbRowsRead, u64::from(found));
    }
}

/// What was read of tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Examined {
    pub rows: u64,
    /// Tables and indexes that were read from one end to the other.
    pub(crate) full_scans: u64,
}
