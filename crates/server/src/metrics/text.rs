//! Status as metrics, in Prometheus' text format 0.0.4.
//!
//! - What has a name of MySQL's has the name that mysqld_exporter gives it:
//!   `mysql_global_status_questions`, `mysql_global_status_commands_total{command="select"}`,
//!   `mysql_global_status_handlers_total{handler="write"}`.
//! - What is this server's own is `duramen_...`; counters end in `_total`.
//! - Histograms of microseconds (`..._us`) are reported in seconds. Their buckets are the same ones
//!   always, for rates over them need that.
//! - Texts, positions mostly, are no metrics.

use sql::status::{Distribution, MetricKind, Rows, Value};
use std::fmt::Write;

/// The exponents of the histograms' bounds: 16 µs to 16 s, and groups of 1 to 1023.
const MICROS: std::ops::RangeInclusive<u32> = 4..=24;
const SIZES: std::ops::RangeInclusive<u32> = 1..=10;

/// How the rows of the buffer pool's pages begin. They have names of their own ([`pages`]).
const PAGES: &str = "Innodb_buffer_pool_pages_";

/// Rows of `SHOW GLOBAL STATUS` that are one metric with a label.
struct Family {
    /// How the rows' names begin; the rest is the label's value.
    prefix: &'static str,
    /// The metric's name after `mysql_global_status_`.
    metric: &'static str,
    label: &'static str,
    help: &'static str,
}

const FAMILIES: [Family; 4] = [
    Family { prefix: "Com_", metric: "commands_total", label: "command", help: "Statements by kind" },
    Family {
        prefix: "Handler_",
        metric: "handlers_total",
        label: "handler",
        help: "Accesses to tables by kind",
    },
    Family {
        prefix: "Connection_errors_",
        metric: "connection_errors_total",
        label: "error",
        help: "Connections that failed, by reason",
    },
    Family {
        prefix: "Innodb_rows_",
        metric: "innodb_row_ops_total",
        label: "operation",
        help: "Rows of tables by what was done to them",
    },
];

/// What this server's own numbers mean, by their names in `SHOW GLOBAL STATUS` after `Duramen_`.
const HELP: [(&str, &str); 35] = [
    ("ddl_committed", "Changes of definitions that were committed."),
    ("disk_available_bytes", "Bytes of the data directory's disk that are free for the server."),
    ("disk_bytes", "Bytes of the data directory's disk."),
    ("log_background_flushes", "Flushes of the log that no commit waited for."),
    ("log_flushes", "Flushes of the log."),
    ("log_refused", "Transactions that the log refused."),
    ("log_rotations", "Log files begun since the start."),
    ("log_slow_groups", "Groups that took duramen_slow_commit_time or longer."),
    ("oldest_transaction_seconds", "Since when the oldest open transaction is open."),
    ("prealloc_files", "Log files that are made ahead."),
    ("prealloc_hits", "Rotations that found a log file made ahead."),
    ("prealloc_made", "Log files that were made ahead."),
    ("prealloc_misses", "Rotations that found none though binlog_prealloc_num asks for them."),
    ("recovery_distance_bytes", "Bytes of log that a restart would replay."),
    ("replica_channels", "Channels that have a source."),
    ("replica_channels_stopped", "Those of them that have a thread which does not run though it should."),
    ("replica_lag_seconds", "Seconds_Behind_Source, the greatest of all channels."),
    (
        "replica_unsent_bytes",
        "Durable bytes of log that a reader of the log was not sent yet, the most of all.",
    ),
    ("replicas", "Connections that are sent the log."),
    ("row_lock_gathered", "Times that a session moved to the processor of others who wait for the same row."),
    ("row_lock_timeouts", "Waits for row locks that lasted too long."),
    ("row_locks", "Row locks that are held."),
    ("store_compacted_bytes", "Bytes that compactions read."),
    ("store_compactions", "Compactions of tables on disk."),
    ("store_entries", "Entries of tables on disk, old versions and deletions included."),
    ("store_flushes", "Memtables written to disk as tables."),
    ("store_memtable_bytes", "Bytes in memtables."),
    ("store_memtables_frozen", "Full memtables that wait to be written."),
    ("store_snapshots", "Snapshots that keep old versions."),
    ("store_table_bytes", "Bytes of tables on disk."),
    ("store_tables", "Tables on disk."),
    ("store_writes_slowed", "Writers that were slowed down to let tables be written."),
    ("store_writes_stopped", "Writers that had to wait for tables to be written."),
    ("transactions_committed", "Transactions that were committed."),
    ("transactions_rolled_back", "Transactions that were rolled back."),
];

/// The whole text.
pub(super) fn of(rows: &Rows, version: &str) -> String {
    let mut out = String::with_capacity(32 << 10);
    head(&mut out, "duramen_info", "gauge", "The server's version.");
    let _ = writeln!(out, "duramen_info{{version=\"{version}\"}} 1");
    FAMILIES.iter().for_each(|family| labelled(&mut out, rows, family));
    pages(&mut out, rows);
    let is_labelled =
        |name: &str| name.starts_with(PAGES) || FAMILIES.iter().any(|family| name.starts_with(family.prefix));
    for (name, value) in rows.iter().filter(|(name, _)| !is_labelled(name)) {
        match value {
            Value::Number(kind, n) => number(&mut out, name, *kind, *n),
            Value::Distribution(distribution) => histogram(&mut out, name, distribution),
            Value::Text(_) => {}
        }
    }
    out
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn labelled(out: &mut String, rows: &Rows, family: &Family) {
    let Family { prefix, metric, label, help } = family;
    let name = format!("mysql_global_status_{metric}");
    head(out, &name, "counter", &format!("{help}: {prefix}... of SHOW GLOBAL STATUS."));
    for (row, value) in rows.iter() {
        if let (Some(kind), Value::Number(_, n)) = (row.strip_prefix(prefix), value) {
            let _ = writeln!(out, "{name}{{{label}=\"{kind}\"}} {n}");
        }
    }
}

/// The pages by what is in them, which together are all; the changed ones are reported once more
/// for themselves.
fn pages(out: &mut String, rows: &Rows) {
    let name = "mysql_global_status_buffer_pool_pages";
    head(
        out,
        name,
        "gauge",
        &format!("Pages of the buffer pool by state: {PAGES}... of SHOW GLOBAL STATUS."),
    );
    let all = rows.iter().filter_map(|(row, value)| match value {
        Value::Number(_, n) => Some((row.strip_prefix(PAGES)?, *n)),
        _ => None,
    });
    let mut dirty = 0;
    for (state, n) in all {
        match state {
            "dirty" => dirty = n,
            "total" => {}
            state => {
                let _ = writeln!(out, "{name}{{state=\"{state}\"}} {n}");
            }
        }
    }
    let name = "mysql_global_status_buffer_pool_dirty_pages";
    head(out, name, "gauge", &format!("{PAGES}dirty of SHOW GLOBAL STATUS."));
    let _ = writeln!(out, "{name} {dirty}");
}

fn number(out: &mut String, row: &str, kind: MetricKind, value: u64) {
    let lower = row.to_ascii_lowercase();
    let (name, kind) = match (lower.strip_prefix("duramen_"), kind) {
        (Some(_), MetricKind::Counter) => (format!("{lower}_total"), "counter"),
        (Some(_), MetricKind::Gauge) => (lower, "gauge"),
        (None, MetricKind::Counter) => (format!("mysql_global_status_{lower}"), "counter"),
        (None, MetricKind::Gauge) => (format!("mysql_global_status_{lower}"), "gauge"),
    };
    let own = row.strip_prefix("Duramen_");
    match own.and_then(|own| HELP.iter().find(|(name, _)| *name == own)) {
        Some((_, help)) => head(out, &name, kind, help),
        None => head(out, &name, kind, &format!("{row} of SHOW GLOBAL STATUS.")),
    }
    let _ = writeln!(out, "{name} {value}");
}

fn histogram(out: &mut String, row: &str, distribution: &Distribution) {
    let lower = row.to_ascii_lowercase();
    let micros = lower.strip_suffix("_us");
    let name = micros.map_or_else(|| lower.clone(), |name| format!("{name}_seconds"));
    head(out, &name, "histogram", distribution.help);
    let exponents = if micros.is_some() { MICROS } else { SIZES };
    for exponent in exponents {
        let bound = 1_u64 << exponent;
        let counted = distribution.buckets.iter().filter(|(b, _)| *b <= bound).map(|(_, n)| n).sum::<u64>();
        // A time below 16 was cut to whole microseconds, and is below 16; a size below 16 is 15 at
        // most.
        let le = if micros.is_some() { seconds(bound) } else { (bound - 1).to_string() };
        let _ = writeln!(out, "{name}_bucket{{le=\"{le}\"}} {counted}");
    }
    let sum = if micros.is_some() { seconds(distribution.sum) } else { distribution.sum.to_string() };
    let count = distribution.count;
    let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
}

fn seconds(micros: u64) -> String {
    format!("{}", micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::histogram::Histogram;

    fn text() -> String {
        let (times, sizes) = (Histogram::default(), Histogram::default());
        [3, 20, 1_000_000, 100_000_000].iter().for_each(|&v| times.record(v));
        [1, 1, 2, 5000].iter().for_each(|&v| sizes.record(v));
        let mut rows = Rows::default();
        rows.push("Com_select", 7_u64);
        rows.push("Questions", 9_u64);
        rows.push("Handler_read_key", 11_u64);
        rows.push("Connection_errors_accept", 1_u64);
        rows.push("Innodb_rows_read", 6_u64);
        rows.gauge("Innodb_buffer_pool_pages_data", 5_u64);
        rows.gauge("Innodb_buffer_pool_pages_dirty", 3_u64);
        rows.gauge("Innodb_buffer_pool_pages_total", 8_u64);
        rows.gauge("Duramen_row_locks", 2_u64);
        rows.push("Duramen_log_flushes", 4_u64);
        rows.text("Duramen_log_end_position", "binlog.000001:4");
        rows.push_histogram("Duramen_log_flush_us", "One flush.", &times);
        rows.push_histogram("Duramen_log_group_size", "Transactions in a group.", &sizes);
        of(&rows, "1.2.3")
    }

    #[test]
    fn names_are_the_exporters_or_our_own() {
        let text = text();
        for line in [
            "duramen_info{version=\"1.2.3\"} 1",
            "mysql_global_status_commands_total{command=\"select\"} 7",
            "mysql_global_status_handlers_total{handler=\"read_key\"} 11",
            "mysql_global_status_connection_errors_total{error=\"accept\"} 1",
            "mysql_global_status_innodb_row_ops_total{operation=\"read\"} 6",
            "mysql_global_status_buffer_pool_pages{state=\"data\"} 5",
            "mysql_global_status_buffer_pool_dirty_pages 3",
            "# TYPE mysql_global_status_questions counter\nmysql_global_status_questions 9",
            "# TYPE duramen_row_locks gauge\nduramen_row_locks 2",
            "duramen_log_flushes_total 4",
        ] {
            assert!(text.contains(&format!("{line}\n")), "no {line} in {text}");
        }
        assert!(!text.contains("position") && !text.contains("total\"} 8"));
    }

    #[test]
    fn histograms_are_cumulative_with_inclusive_bounds() {
        let text = text();
        for line in [
            "# TYPE duramen_log_flush_seconds histogram",
            "duramen_log_flush_seconds_bucket{le=\"0.000016\"} 1",
            "duramen_log_flush_seconds_bucket{le=\"0.000032\"} 2",
            "duramen_log_flush_seconds_bucket{le=\"16.777216\"} 3",
            "duramen_log_flush_seconds_bucket{le=\"+Inf\"} 4",
            "duramen_log_flush_seconds_sum 101.000023",
            "duramen_log_group_size_bucket{le=\"1\"} 2",
            "duramen_log_group_size_bucket{le=\"3\"} 3",
            "duramen_log_group_size_bucket{le=\"1023\"} 3",
            "duramen_log_group_size_count 4",
        ] {
            assert!(text.contains(&format!("{line}\n")), "no {line} in {text}");
        }
    }

    #[test]
    fn every_metric_has_help_and_type_once_before_its_values() {
        let text = text();
        let mut told = std::collections::HashSet::new();
        for line in text.lines() {
            match line.strip_prefix("# TYPE ").and_then(|l| l.split(' ').next()) {
                Some(name) => assert!(told.insert(name.to_owned()), "{name} twice"),
                None if line.starts_with('#') => {}
                None => {
                    let name = line.split(['{', ' ']).next().unwrap_or_default();
                    let of_histogram = |suffix| name.strip_suffix(suffix).is_some_and(|n| told.contains(n));
                    let known =
                        told.contains(name) || ["_bucket", "_sum", "_count"].into_iter().any(of_histogram);
                    assert!(known, "{line} is of no metric");
                }
            }
        }
    }
}
