//! What the status page lists: who waits for whom, the longest transactions, the statements that
//! cost the most, who follows this server and whom it follows, how full the store is.
//!
//! All of it is read where SHOW ENGINE DURAMEN STATUS and `performance_schema` read it, piece by
//! piece, so that no commit waits for long; nothing is counted for it.
//!
//! (M1) Lists have a length of their caller's choice, and no more than [`LOCKS_EXAMINED_MAX`] row
//!      locks are read for one of them.
//! (M2) No value of a row or statement is in them: of statements the normalized text, of locks the
//!      table and index, of errors the number.

mod followers;
mod statements;
mod waits;

pub use followers::{ChannelSummary, FollowerSummary};
pub use statements::{StatementCost, StatementCosts, TopStatement};
pub use waits::{BlockedSession, TransactionSummary, WaitTarget};

use crate::Instance;
use crate::status::engine::bytes_after;

/// Row locks that are read to find who waits for whom.
pub const LOCKS_EXAMINED_MAX: usize = 100_000;

/// How full log and store are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named as its row of SHOW STATUS, or as the variable that bounds it")]
pub struct EngineSummary {
    /// Why the log takes no more commits.
    pub log_failure: Option<String>,
    pub log_files: usize,
    pub log_file_bytes: u64,
    pub durable_position: String,
    /// Bytes of log that a restart would replay.
    pub recovery_distance_bytes: u64,
    pub recovery_distance_max: u64,
    pub memtable_bytes: u64,
    pub memtable_size: u64,
    pub memtables_frozen: usize,
    pub memtables_max: usize,
    /// Tables on disk, level by level.
    pub levels: [usize; 7],
    pub table_bytes: u64,
    pub cache_bytes: u64,
    pub buffer_pool_size: u64,
    /// The last flush or compaction in the background failed.
    pub store_failure: Option<String>,
}

impl Instance {
    /// How full log and store are.
    pub fn engine_summary(&self) -> EngineSummary {
        let engine = self.engine();
        let (log, store, options) = (engine.log(), engine.store(), engine.options());
        let stats = store.stats();
        let files = log.files();
        let durable = log.durable();
        let failure = stats.flush_failure.as_ref().or(stats.compaction_failure.as_ref());
        EngineSummary {
            log_failure: log.check().err().map(|error| error.to_string()),
            log_files: files.len(),
            log_file_bytes: files.iter().map(|file| file.size).sum(),
            durable_position: format!("{}:{}", log.file_name(durable.file()), durable.offset()),
            recovery_distance_bytes: bytes_after(&files, store.checkpoint_position()),
            recovery_distance_max: options.log_distance_max,
            memtable_bytes: stats.memtable_bytes as u64,
            memtable_size: options.memtable_size as u64,
            memtables_frozen: stats.memtables_frozen,
            memtables_max: options.memtables_max,
            levels: stats.tables,
            table_bytes: stats.table_bytes,
            cache_bytes: stats.cache_bytes,
            buffer_pool_size: options.block_cache_size as u64,
            store_failure: failure.map(ToString::to_string),
        }
    }
}
