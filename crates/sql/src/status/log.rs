//! What the log counted, as rows of `SHOW STATUS`.
//!
//! MariaDB's names where it counts the same (`Binlog_commits`, `Binlog_group_commits`, `Binlog_bytes_written`); the rest
//! is this server's own. Times are microseconds.

use super::{Rows, Status};
use binlog::log::Log;
use std::sync::{Arc, Weak};

/// Adds the log's rows to the status.
pub fn register(status: &Status, log: &Arc<Log>) {
    let log = Arc::downgrade(log);
    status.add_source(move |rows| {
        if let Some(log) = Weak::upgrade(&log) {
            add_rows(&log, rows);
        }
    });
}

fn add_rows(log: &Log, rows: &mut Rows) {
    let status = log.status();
    rows.push("Binlog_commits", status.transactions.get());
    rows.push("Binlog_group_commits", status.groups.get());
    rows.push("Binlog_bytes_written", status.bytes_written.get());
    rows.push("Duramen_log_background_flushes", status.background_flushes.get());
    rows.push("Duramen_log_flushes", status.flushes.get());
    rows.push("Duramen_log_refused", status.refused.get());
    rows.push("Duramen_log_rotations", status.rotations.get());
    rows.push("Duramen_prealloc_files", log.pool_files());
    rows.push("Duramen_prealloc_hits", status.pool_hits.get());
    rows.push("Duramen_prealloc_made", status.pool_made.get());
    rows.push("Duramen_prealloc_misses", status.pool_misses.get());
    rows.push_histogram("Duramen_log_flush_us", &status.flush_us);
    rows.push_histogram("Duramen_log_group_size", &status.group_size);
    let place =
        |position: binlog::LogPosition| format!("{}:{}", log.file_name(position.file()), position.offset());
    rows.push("Duramen_log_durable_position", place(log.durable()));
    rows.push("Duramen_log_visible_position", place(log.visible()));
    rows.push("Duramen_log_end_position", place(log.end()));
}
