//! The sections of the report.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use binlog::LogPosition;
use binlog::log::{Log, LogStatus};
use stdx::histogram::Histogram;
use storage::{Engine, EngineOptions, LockManager, StoreStats};

use crate::catalog::{CatalogState, SetAside};
use crate::status::engine::bytes_after;
use crate::variables::{GlobalVariables, ids};

pub(super) fn transactions(engine: &Engine) -> String {
    let status = engine.status();
    format!(
        "{} committed, {} rolled back, {} changes of definitions\n",
        status.committed.load(Relaxed),
        status.rolled_back.load(Relaxed),
        status.ddl.load(Relaxed)
    )
}

pub(super) fn log(log: &Log, globals: &GlobalVariables) -> String {
    let mut out = match log.check() {
        Ok(()) => String::new(),
        Err(error) => format!("NO COMMIT IS TAKEN ANY MORE: {error}\n"),
    };
    let place = |at: LogPosition| format!("{}:{}", log.file_name(at.file()), at.offset());
    let _ = writeln!(out, "Written up to {}", place(log.end()));
    let _ = writeln!(out, "Durable up to {}", place(log.durable()));
    let _ = writeln!(out, "Visible up to {}", place(log.visible()));
    let (every, policy) = (globals.uint(ids::SYNC_BINLOG), globals.uint(ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT));
    let waits = match (every, policy) {
        (1, _) | (_, 1) => "Every group waits for its flush".to_owned(),
        (0, _) => "No group waits for its flush".to_owned(),
        (n, _) => format!("One of {n} groups waits for its flush"),
    };
    let _ = writeln!(out, "{waits} (sync_binlog={every}, innodb_flush_log_at_trx_commit={policy})");
    let files = log.files();
    let bytes = files.iter().map(|file| file.size).sum();
    let status = log.status();
    let _ = writeln!(
        out,
        "Files: {}, with {}; rotations since the start: {}; files made ahead: {} of {}",
        files.len(),
        size(bytes),
        status.rotations.get(),
        log.pool_files(),
        globals.uint(ids::BINLOG_PREALLOC_NUM)
    );
    out
}

pub(super) fn groups(status: &LogStatus) -> String {
    let (transactions, groups) = (status.transactions.get(), status.groups.get());
    let sizes = &status.group_size;
    let mut out = format!(
        "{transactions} transactions in {groups} groups, {} in one on average; half of the groups have at most {}, 99 % at \
         most {}\n{} transactions refused\n{} of events written\n",
        ratio(transactions, groups),
        sizes.quantile_bound(0.5).saturating_sub(1),
        sizes.quantile_bound(0.99).saturating_sub(1),
        status.refused.get(),
        size(status.bytes_written.get()),
    );
    let steps = [
        ("waiting for the flush before", &status.queue_wait_us),
        ("fixing the order and writing", &status.write_us),
        ("publishing", &status.publish_us),
        ("sending the replies", &status.reply_us),
        ("a group in all, its flush included", &status.commit_us),
    ];
    steps.iter().for_each(|(what, micros)| out.push_str(&times(what, micros)));
    let _ = writeln!(out, "{} groups were slow (duramen_slow_commit_time)", status.slow_groups.get());
    out
}

pub(super) fn flushes(status: &LogStatus) -> String {
    let (flushes, background) = (status.flushes.get(), status.background_flushes.get());
    format!(
        "{flushes} flushes, {background} of them in the background\n{}",
        times("a flush", &status.flush_us)
    )
}

pub(super) fn checkpoint(log: &Log, at: LogPosition, stats: &StoreStats, options: &EngineOptions) -> String {
    let place = match at {
        LogPosition::ZERO => "no checkpoint was made yet".to_owned(),
        _ => format!("tables hold everything up to {}:{}", log.file_name(at.file()), at.offset()),
    };
    let mut out = format!(
        "A restart replays {} of log: {place}\nA checkpoint is made at the latest \
         after {} (duramen_recovery_distance_max)\n{} checkpoints since the start\n",
        size(bytes_after(&log.files(), at)),
        size(options.log_distance_max),
        stats.flushes
    );
    if let Some(error) = &stats.flush_failure {
        let _ = writeln!(out, "THE LAST ONE FAILED and is tried again: {error}");
    }
    out
}

pub(super) fn memtables(stats: &StoreStats, options: &EngineOptions) -> String {
    format!(
        "{} in memtables; {} are full and wait to be written, of {} at most (duramen_memtables_max)\nWriters slowed down {} \
         times, stopped {} times\n",
        size(stats.memtable_bytes as u64),
        stats.memtables_frozen,
        options.memtables_max,
        stats.writes_slowed,
        stats.writes_stopped
    )
}

pub(super) fn tables(stats: &StoreStats) -> String {
    let levels: Vec<_> = stats.tables.iter().enumerate().map(|(level, n)| format!("{level}: {n}")).collect();
    let mut out = format!(
        "{} tables on disk, {}, {} entries with old versions and deletions\nBy level {}\n{} compactions since the start, {} \
         read by them\n",
        stats.tables.iter().sum::<usize>(),
        size(stats.table_bytes),
        stats.entries,
        levels.join(", "),
        stats.compactions,
        size(stats.compacted_bytes)
    );
    if let Some(error) = &stats.compaction_failure {
        let _ = writeln!(out, "THE LAST COMPACTION FAILED and is tried again: {error}");
    }
    out
}

pub(super) fn cache(stats: &StoreStats, options: &EngineOptions) -> String {
    let asked = stats.cache_hits + stats.cache_misses;
    let found = if asked == 0 { 100.0 } else { 100.0 * stats.cache_hits as f64 / asked as f64 };
    format!(
        "{} of blocks in memory, of {} (innodb_buffer_pool_size)\n{asked} blocks asked for, {found:.1} % of them found there\n",
        size(stats.cache_bytes),
        size(options.block_cache_size as u64),
    )
}

pub(super) fn locks(locks: &LockManager) -> String {
    let status = locks.status();
    let (waits, micros) = (status.waits.load(Relaxed), status.wait_micros.load(Relaxed));
    format!(
        "{} row locks held; {} waits now\n{waits} waits so far, {} on average, the longest {}\n{} deadlocks, {} waits \
         timed out\n",
        locks.len(),
        status.waiting_now.load(Relaxed),
        time(micros.checked_div(waits).unwrap_or(0)),
        time(status.wait_micros_max.load(Relaxed)),
        status.deadlocks.load(Relaxed),
        status.timeouts.load(Relaxed)
    )
}

pub(super) fn snapshots(log: &Log, stats: &StoreStats) -> String {
    match stats.oldest_snapshot {
        None => "No snapshot keeps old versions\n".to_owned(),
        Some(oldest) => format!(
            "{} snapshots keep old versions; the oldest is at {}:{}, {} of log ago\n",
            stats.snapshots,
            log.file_name(oldest.file()),
            oldest.offset(),
            size(bytes_after(&log.files(), oldest))
        ),
    }
}

pub(super) fn large(status: &LogStatus, globals: &GlobalVariables) -> String {
    let (begun, joined) = (status.large_files.get(), status.large_adopted.get());
    format!(
        "{begun} transactions got a file of their own, from {} of events on (binlog_large_commit_threshold); {joined} of these \
         files became log files\n",
        size(globals.uint(ids::BINLOG_LARGE_COMMIT_THRESHOLD))
    )
}

/// How long something takes.
fn times(what: &str, micros: &Histogram) -> String {
    let count = micros.count();
    let [half, most] = [0.5, 0.99].map(|q| time(micros.quantile_bound(q)));
    let mean = time(micros.sum().checked_div(count).unwrap_or(0));
    format!("{what}: {mean} on average; half below {half}, 99 % below {most}\n")
}

fn ratio(sum: u64, count: u64) -> String {
    if count == 0 { "0".into() } else { format!("{:.1}", sum as f64 / count as f64) }
}

/// Microseconds, in a unit that fits.
fn time(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{micros} us"),
        10_000..10_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// Bytes, in a unit that fits.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        10_485_760..10_737_418_240 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// What can't be used, and why.
pub(super) fn set_aside(state: &CatalogState) -> String {
    let line = |object: &SetAside| match object.since {
        LogPosition::ZERO => format!("SET ASIDE: {}: {}\n", object.key, object.reason),
        since => format!("SET ASIDE since {since}: {}: {}\n", object.key, object.reason),
    };
    state.set_aside.values().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        assert_eq!([size(10_239), size(20_480), size(1 << 30)], ["10239 bytes", "20 KiB", "1024 MiB"]);
        assert_eq!([time(9_999), time(12_345), time(90_000_000)], ["9999 us", "12 ms", "90 s"]);
    }
}
