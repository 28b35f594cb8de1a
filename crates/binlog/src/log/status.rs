//! What the log counts, for SHOW STATUS and the metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stdx::histogram::Histogram;

/// A number that only grows. Statistics order nothing, so every access is relaxed.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters of one log since it was opened.
#[derive(Debug, Default)]
pub struct LogStatus {
    /// Transactions written and ordered.
    pub transactions: Counter,
    /// Groups they were written in.
    pub groups: Counter,
    /// Flushes for commits: by leaders, by the background, by threads that waited for a position.
    pub flushes: Counter,
    /// Of these, those that no commit waited for.
    pub background_flushes: Counter,
    /// Bytes of event groups.
    pub bytes_written: Counter,
    /// Transactions refused.
    pub refused: Counter,
    /// How often a new file followed the active one.
    pub rotations: Counter,
    /// Files begun for large transactions.
    pub large_files: Counter,
    /// Large transactions whose files the log adopted.
    pub large_adopted: Counter,
    /// New files that came out of the preallocation pool.
    pub pool_hits: Counter,
    /// New files that could not, though the pool was asked for files.
    pub pool_misses: Counter,
    /// Files the pool made or took over from an earlier run.
    pub pool_made: Counter,
    /// Transactions in each group.
    pub group_size: Histogram,
    /// Groups that took as long as a slow commit.
    pub slow_groups: Counter,
    /// Microseconds from the queueing of a group's first transaction, or of the one that leads it,
    /// until its flush might begin.
    pub queue_wait_us: Histogram,
    /// Microseconds of fixing a group's order and writing its bytes.
    pub write_us: Histogram,
    /// Microseconds of each flush.
    pub flush_us: Histogram,
    /// Microseconds of making a group visible.
    pub publish_us: Histogram,
    /// Microseconds of waking a group's sessions.
    pub reply_us: Histogram,
    /// Microseconds of all of it.
    pub commit_us: Histogram,
}
