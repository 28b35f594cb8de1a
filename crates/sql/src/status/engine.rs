//! What log, store and locks counted, as rows of `SHOW STATUS`.
//!
//! MySQL's and MariaDB's names where they count the same (`Binlog_commits`,
//! `Innodb_row_lock_waits`); the rest is this server's own. Names that end in `_us` are
//! microseconds.

use super::{Rows, Status};
use binlog::LogPosition;
use binlog::log::{FileInfo, Log};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use storage::{Engine, LockManager};

/// Adds the engine's rows to the status.
pub(crate) fn register(status: &Status, engine: &Arc<Engine>) {
    let engine = Arc::downgrade(engine);
    status.add_source(move |rows| {
        if let Some(engine) = Weak::upgrade(&engine) {
            add_engine(&engine, rows);
            add_log(engine.log(), rows);
            add_store(&engine, rows);
            add_pages(&engine, rows);
            add_locks(engine.locks(), rows);
        }
    });
}

fn add_engine(engine: &Engine, rows: &mut Rows) {
    let status = engine.status();
    rows.push("Duramen_transactions_committed", status.committed.load(Relaxed));
    rows.push("Duramen_transactions_rolled_back", status.rolled_back.load(Relaxed));
    rows.push("Duramen_ddl_committed", status.ddl.load(Relaxed));
}

/// Bytes of log after a position; `files` are [`Log::files`].
pub(crate) fn bytes_after(files: &[FileInfo], at: LogPosition) -> u64 {
    let later = files.iter().filter(|file| file.number >= at.file());
    later
        .map(|file| if file.number == at.file() { file.size.saturating_sub(at.offset()) } else { file.size })
        .sum()
}

fn add_store(engine: &Engine, rows: &mut Rows) {
    let store = engine.store();
    let stats = store.stats();
    rows.gauge(
        "Duramen_recovery_distance_bytes",
        bytes_after(&engine.log().files(), store.checkpoint_position()),
    );
    rows.gauge("Innodb_buffer_pool_bytes_data", stats.cache_bytes + stats.memtable_bytes as u64);
    rows.push("Innodb_buffer_pool_read_requests", stats.cache_hits + stats.cache_misses);
    rows.push("Innodb_buffer_pool_reads", stats.cache_misses);
    rows.gauge("Duramen_store_memtable_bytes", stats.memtable_bytes);
    rows.gauge("Duramen_store_memtables_frozen", stats.memtables_frozen);
    rows.gauge("Duramen_store_tables", stats.tables.iter().sum::<usize>());
    rows.gauge("Duramen_store_table_bytes", stats.table_bytes);
    rows.gauge("Duramen_store_entries", stats.entries);
    rows.gauge("Duramen_store_snapshots", stats.snapshots);
    rows.push("Duramen_store_flushes", stats.flushes);
    rows.push("Duramen_store_compactions", stats.compactions);
    rows.push("Duramen_store_compacted_bytes", stats.compacted_bytes);
    rows.push("Duramen_store_writes_slowed", stats.writes_slowed);
    rows.push("Duramen_store_writes_stopped", stats.writes_stopped);
}

/// Bytes of a page, in which MySQL counts: `innodb_page_size`.
pub(crate) const PAGE: u64 = 16_384;

/// The block cache and the memtables, which are what waits to be written, as the pages that they
/// would be.
fn add_pages(engine: &Engine, rows: &mut Rows) {
    let stats = engine.store().stats();
    let changed = stats.memtable_bytes as u64;
    let dirty = changed.div_ceil(PAGE);
    let cached = stats.cache_bytes.div_ceil(PAGE);
    let room = (engine.options().block_cache_size as u64).saturating_sub(stats.cache_bytes) / PAGE;
    rows.gauge("Innodb_buffer_pool_bytes_dirty", changed);
    rows.gauge("Innodb_buffer_pool_pages_data", cached + dirty);
    rows.gauge("Innodb_buffer_pool_pages_dirty", dirty);
    rows.gauge("Innodb_buffer_pool_pages_free", room);
    rows.gauge("Innodb_buffer_pool_pages_misc", 0_u64);
    rows.gauge("Innodb_buffer_pool_pages_total", cached + dirty + room);
    rows.gauge("Innodb_page_size", PAGE);
}

fn add_locks(locks: &LockManager, rows: &mut Rows) {
    let status = locks.status();
    let (waits, micros) = (status.waits.load(Relaxed), status.wait_micros.load(Relaxed));
    rows.push("Innodb_deadlocks", status.deadlocks.load(Relaxed));
    rows.gauge("Innodb_row_lock_current_waits", status.waiting_now.load(Relaxed));
    rows.push("Innodb_row_lock_time", micros / 1000);
    rows.gauge("Innodb_row_lock_time_avg", (micros / 1000).checked_div(waits).unwrap_or(0));
    rows.gauge("Innodb_row_lock_time_max", status.wait_micros_max.load(Relaxed) / 1000);
    rows.push("Innodb_row_lock_waits", waits);
    rows.push("Duramen_row_lock_gathered", status.gathered.load(Relaxed));
    rows.push("Duramen_row_lock_timeouts", status.timeouts.load(Relaxed));
    rows.gauge("Duramen_row_locks", locks.len());
}

fn add_log(log: &Log, rows: &mut Rows) {
    let status = log.status();
    rows.push("Binlog_commits", status.transactions.get());
    rows.push("Binlog_group_commits", status.groups.get());
    rows.push("Binlog_bytes_written", status.bytes_written.get());
    rows.push("Duramen_log_background_flushes", status.background_flushes.get());
    rows.push("Duramen_log_flushes", status.flushes.get());
    rows.push("Duramen_log_refused", status.refused.get());
    rows.push("Duramen_log_rotations", status.rotations.get());
    rows.gauge("Duramen_prealloc_files", log.pool_files());
    rows.push("Duramen_prealloc_hits", status.pool_hits.get());
    rows.push("Duramen_prealloc_made", status.pool_made.get());
    rows.push("Duramen_prealloc_misses", status.pool_misses.get());
    rows.push_histogram("Duramen_log_flush_us", "One flush of the log.", &status.flush_us);
    rows.push("Duramen_log_slow_groups", status.slow_groups.get());
    let stages = [
        (
            "Duramen_log_queue_wait_us",
            "From a leader's wait for its turn until its flush may begin.",
            &status.queue_wait_us,
        ),
        ("Duramen_log_write_us", "Fixing a group's order and writing its bytes.", &status.write_us),
        ("Duramen_log_publish_us", "Making a group visible.", &status.publish_us),
        ("Duramen_log_reply_us", "Sending a group's replies.", &status.reply_us),
        ("Duramen_log_commit_us", "A group from its leader's wait to its last reply.", &status.commit_us),
    ];
    for (name, help, histogram) in stages {
        rows.push_histogram(name, help, histogram);
    }
    rows.push_histogram("Duramen_log_group_size", "Transactions in a group.", &status.group_size);
    let place = |position: LogPosition| format!("{}:{}", log.file_name(position.file()), position.offset());
    rows.text("Duramen_log_durable_position", place(log.durable()));
    rows.text("Duramen_log_visible_position", place(log.visible()));
    rows.text("Duramen_log_end_position", place(log.end()));
}
