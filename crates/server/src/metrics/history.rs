//! Five minutes of what SHOW GLOBAL STATUS counts, in bounded memory.
//!
//! 1. sample   Once a second a thread gathers the status, as a scrape does, and keeps the rows of
//!    [`COLUMNS`] and quantiles of the second that has passed ([`TIMES`]).
//! 2. push     The oldest sample goes for the newest.
//! 3. read     A page asks for the samples after the last one that it has.
//!
//! (R1) There are [`SAMPLES`] samples at most, of one size: below 128 KiB. What statements have
//!      cost is remembered at [`COST_MOMENTS`] moments, of 240 KB each at most.
//! (R2) Nothing is counted for the history: each column is a row of SHOW GLOBAL STATUS.

use parking_lot::Mutex;
use sql::monitor::StatementCosts;
use sql::status::{Distribution, Rows, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How often a sample is taken.
pub(super) const PERIOD: Duration = Duration::from_secs(1);
/// Five minutes.
pub(super) const SAMPLES: usize = 300;
/// How often it is remembered what statements have cost, and for how many times.
const COST_PERIOD: Duration = Duration::from_secs(60);
const COST_MOMENTS: usize = 6;

/// Rows of SHOW GLOBAL STATUS, by their names there.
pub(super) const COLUMNS: [&str; 32] = [
    "Binlog_bytes_written",
    "Binlog_commits",
    "Binlog_group_commits",
    "Duramen_disk_available_bytes",
    "Duramen_disk_bytes",
    "Duramen_log_flushes",
    "Duramen_log_refused",
    "Duramen_log_slow_groups",
    "Duramen_oldest_transaction_seconds",
    "Duramen_recovery_distance_bytes",
    "Duramen_replica_lag_seconds",
    "Duramen_replica_unsent_bytes",
    "Duramen_replicas",
    "Duramen_row_lock_timeouts",
    "Duramen_row_locks",
    "Duramen_store_compacted_bytes",
    "Duramen_store_memtable_bytes",
    "Duramen_store_memtables_frozen",
    "Duramen_store_table_bytes",
    "Duramen_store_writes_slowed",
    "Duramen_store_writes_stopped",
    "Duramen_transactions_rolled_back",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_deadlocks",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Questions",
    "Slow_queries",
    "Threads_connected",
    "Threads_running",
];

/// Times of the second before a sample, in microseconds: the mean, or a bound that so many of a
/// thousand values stay below; 0 if nothing was counted.
pub(super) const TIMES: [(&str, &str, Option<u64>); 6] = [
    ("commit_p50_us", "Duramen_log_commit_us", Some(500)),
    ("commit_p99_us", "Duramen_log_commit_us", Some(990)),
    ("commit_p999_us", "Duramen_log_commit_us", Some(999)),
    ("flush_mean_us", "Duramen_log_flush_us", None),
    ("flush_p50_us", "Duramen_log_flush_us", Some(500)),
    ("flush_p99_us", "Duramen_log_flush_us", Some(990)),
];

/// The status at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// The first one is 1.
    pub(super) number: u64,
    /// Milliseconds since 1970.
    pub(super) at_ms: u64,
    pub(super) columns: [u64; COLUMNS.len()],
    pub(super) times: [u64; TIMES.len()],
}

const _: () = assert!(size_of::<Sample>() * SAMPLES < 128 << 10);

/// The samples, and what the next one is made of.
#[derive(Default)]
pub(super) struct History {
    ring: Mutex<Ring>,
    costs: Mutex<VecDeque<(Duration, Arc<StatementCosts>)>>,
}

#[derive(Default)]
struct Ring {
    samples: VecDeque<Sample>,
    taken: u64,
    /// Histograms as they were at the last sample, by their names.
    before: Vec<(&'static str, Distribution)>,
}

impl History {
    /// Takes a sample of these rows.
    pub(super) fn push(&self, rows: &Rows, at_ms: u64) {
        let mut ring = self.ring.lock();
        let (mut columns, mut now) = ([0; COLUMNS.len()], Vec::new());
        for (name, value) in rows.iter() {
            match value {
                Value::Number(_, n) => {
                    if let Ok(at) = COLUMNS.binary_search(&name) {
                        columns[at] = *n;
                    }
                }
                Value::Distribution(distribution) => {
                    if let Some((_, row, _)) = TIMES.iter().find(|(_, row, _)| *row == name) {
                        now.push((*row, distribution.clone()));
                    }
                }
                Value::Text(_) => {}
            }
        }
        let of = |row: &str, all: &[(&str, Distribution)]| {
            all.iter().find(|(name, _)| *name == row).map(|(_, distribution)| distribution.clone())
        };
        let times = TIMES.map(|(_, row, of_thousand)| {
            let (now, before) = (of(row, &now), of(row, &ring.before));
            now.map_or(0, |now| time_between(before.as_ref(), &now, of_thousand))
        });
        ring.before = now;
        ring.taken += 1;
        let number = ring.taken;
        if ring.samples.len() >= SAMPLES {
            ring.samples.pop_front();
        }
        ring.samples.push_back(Sample { number, at_ms, columns, times });
    }

    /// The samples after the one with this number, the oldest first.
    pub(super) fn after(&self, number: u64) -> Vec<Sample> {
        self.ring.lock().samples.iter().filter(|sample| sample.number > number).copied().collect()
    }

    /// Remembers what statements have cost, if it is time; `now` is monotonic.
    pub(super) fn remember_costs(&self, now: Duration, costs: impl FnOnce() -> StatementCosts) {
        let mut all = self.costs.lock();
        if all.back().is_some_and(|(at, _)| now.saturating_sub(*at) < COST_PERIOD) {
            return;
        }
        if all.len() >= COST_MOMENTS {
            all.pop_front();
        }
        all.push_back((now, Arc::new(costs())));
    }

    /// What statements had cost at the earliest moment that is remembered, and when that was.
    pub(super) fn earliest_costs(&self) -> Option<(Duration, Arc<StatementCosts>)> {
        self.costs.lock().front().cloned()
    }

    /// In how many seconds the disk is full if it goes on like this; `None` if it does not fill, or
    /// less than a minute is known.
    pub(super) fn seconds_until_disk_full(&self) -> Option<u64> {
        let column = COLUMNS.binary_search(&"Duramen_disk_available_bytes").ok()?;
        let ring = self.ring.lock();
        let samples: Vec<(f64, f64)> = ring
            .samples
            .iter()
            .map(|sample| (sample.at_ms as f64 / 1000.0, sample.columns[column] as f64))
            .collect();
        drop(ring);
        let slope = slope(&samples)?;
        let (_, left) = *samples.last()?;
        (slope < 0.0).then(|| (left / -slope) as u64)
    }
}

/// The mean, or a quantile's bound, of what was counted after `before`.
fn time_between(before: Option<&Distribution>, now: &Distribution, of_thousand: Option<u64>) -> u64 {
    let (count_before, sum_before) = before.map_or((0, 0), |before| (before.count, before.sum));
    let count = now.count.saturating_sub(count_before);
    let Some(of_thousand) = of_thousand else {
        return now.sum.wrapping_sub(sum_before).checked_div(count).unwrap_or(0);
    };
    let wanted = (count * of_thousand).div_ceil(1000);
    let counted_before = |bound: u64| {
        let buckets = before.map_or(&[][..], |before| &before.buckets);
        buckets.iter().find(|(b, _)| *b == bound).map_or(0, |(_, n)| *n)
    };
    let mut seen = 0;
    let found = now.buckets.iter().find(|(bound, n)| {
        seen += n.saturating_sub(counted_before(*bound));
        wanted > 0 && seen >= wanted
    });
    found.map_or(0, |(bound, _)| *bound)
}

/// Of the line through the points by least squares; `None` for less than a minute.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let ((first, _), (last, _)) = (points.first()?, points.last()?);
    if last - first < 60.0 {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x - first).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points {
        let dx = x - first - mean_x;
        above += dx * (y - mean_y);
        below += dx * dx;
    }
    Some(above / below)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use stdx::histogram::Histogram;

    fn column(sample: &Sample, name: &str) -> u64 {
        sample.columns[COLUMNS.binary_search(&name).unwrap()]
    }

    #[test]
    fn columns_are_found_by_their_names() {
        assert!(COLUMNS.is_sorted());
        let history = History::default();
        let mut rows = Rows::default();
        rows.push("Questions", 7_u64);
        rows.gauge("Threads_running", 2_u64);
        rows.push("Com_select", 3_u64);
        history.push(&rows, 5000);
        let sample = history.after(0)[0];
        assert_eq!((sample.number, sample.at_ms), (1, 5000));
        assert_eq!((column(&sample, "Questions"), column(&sample, "Threads_running")), (7, 2));
        assert!(history.after(1).is_empty());
    }

    /// R1
    #[test]
    fn a_day_takes_no_more_memory_than_five_minutes() {
        let history = History::default();
        let mut rows = Rows::default();
        for second in 0..86_400_u64 {
            rows = Rows::default();
            rows.push("Questions", second);
            history.push(&rows, second * 1000);
            history.remember_costs(Duration::from_secs(second), StatementCosts::default);
        }
        drop(rows);
        let ring = history.ring.lock();
        assert_eq!((ring.samples.len(), ring.samples.back().unwrap().number), (SAMPLES, 86_400));
        assert!(ring.samples.capacity() * size_of::<Sample>() < 256 << 10);
        assert_eq!(history.costs.lock().len(), COST_MOMENTS);
        let earliest = history.earliest_costs().unwrap().0;
        assert_eq!(earliest, Duration::from_secs(86_400 - 360));
    }

    #[test]
    fn times_are_those_of_the_last_second() {
        let (history, flushes) = (History::default(), Histogram::default());
        let sample = || {
            let mut rows = Rows::default();
            rows.push_histogram("Duramen_log_flush_us", "Flushes.", &flushes);
            history.push(&rows, 0);
            history.after(0).last().unwrap().times[3..].to_vec()
        };
        assert_eq!(sample(), [0, 0, 0]);
        (0..99).for_each(|_| flushes.record(100));
        flushes.record(5000);
        assert_eq!(sample(), [149, 128, 128]);
        (0..10).for_each(|_| flushes.record(5000));
        assert_eq!(sample(), [5000, 8192, 8192]);
        assert_eq!(sample(), [0, 0, 0]);
    }

    #[test]
    fn the_disk_is_full_when_its_line_ends() {
        let until_full = |seconds: u64, used_each: i64| {
            let history = History::default();
            for second in 0..=seconds {
                let mut rows = Rows::default();
                // Room is taken in steps, as files are made.
                let used = used_each * (second as i64 / 10 * 10);
                rows.gauge("Duramen_disk_available_bytes", 1_000_000 - used);
                history.push(&rows, second * 1000);
            }
            history.seconds_until_disk_full()
        };
        assert_eq!(until_full(59, 1000), None, "too little is known");
        assert_eq!(until_full(100, 0), None);
        assert_eq!(until_full(100, -100), None);
        let seconds = until_full(200, 1000).unwrap();
        assert!((780..=820).contains(&seconds), "{seconds}");
    }
}
