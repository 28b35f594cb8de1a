//! Statements by their form, as `events_statements_summary_by_digest` counts them.

use std::cmp::Reverse;

use super::super::column::{MB4, SystemColumn, columns};
use super::super::mysql::moment;
use super::{Each, NOTHING, Shown, SystemTable, mean, percent};
use crate::session::Context;
use crate::statement_digests::{Sum, Summary};
use datum::error::Result;
use datum::value::{Datum, Decimal};

const ANALYSIS: &[SystemColumn] = columns! {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, full_scan: VarcharOf(1, MB4),
    exec_count: Biguint, err_count: Biguint, warn_count: Biguint, total_latency: VarcharOf(11, MB4) or_null,
    max_latency: VarcharOf(11, MB4) or_null, avg_latency: VarcharOf(11, MB4) or_null,
    lock_latency: VarcharOf(11, MB4) or_null, cpu_latency: VarcharOf(11, MB4) or_null, rows_sent: Biguint,
    rows_sent_avg: Decimal(21, 0), rows_examined: Biguint, rows_examined_avg: Decimal(21, 0),
    rows_affected: Biguint, rows_affected_avg: Decimal(21, 0), tmp_tables: Biguint, tmp_disk_tables: Biguint,
    rows_sorted: Biguint, sort_merge_passes: Biguint, max_controlled_memory: VarcharOf(11, MB4) or_null,
    max_total_memory: VarcharOf(11, MB4) or_null, digest: VarcharOf(64, MB4) or_null, first_seen: Timestamp6,
    last_seen: Timestamp6,
};

const ANALYSIS_RAW: &[SystemColumn] = columns! {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, full_scan: VarcharOf(1, MB4),
    exec_count: Biguint, exec_secondary_count: Biguint, err_count: Biguint, warn_count: Biguint,
    total_latency: Biguint, max_latency: Biguint, avg_latency: Biguint, lock_latency: Biguint,
    cpu_latency: Biguint, rows_sent: Biguint, rows_sent_avg: Decimal(21, 0), rows_examined: Biguint,
    rows_examined_avg: Decimal(21, 0), rows_affected: Biguint, rows_affected_avg: Decimal(21, 0),
    tmp_tables: Biguint, tmp_disk_tables: Biguint, rows_sorted: Biguint, sort_merge_passes: Biguint,
    max_controlled_memory: Biguint, max_total_memory: Biguint, digest: VarcharOf(64, MB4) or_null,
    first_seen: Timestamp6, last_seen: Timestamp6,
};

const FAILED: &[SystemColumn] = columns! {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, exec_count: Biguint, errors: Biguint,
    error_pct: Decimal(27, 4), warnings: Biguint, warning_pct: Decimal(27, 4), first_seen: Timestamp6,
    last_seen: Timestamp6, digest: VarcharOf(64, MB4) or_null,
};

/// The columns with one time, formatted and plain.
macro_rules! both {
    ($formatted:ident, $raw:ident, { $($before:tt)* }, $time:ident, { $($after:tt)* }) => {
        const $formatted: &[SystemColumn] =
            columns! { $($before)* $time: VarcharOf(11, MB4) or_null, $($after)* };
        const $raw: &[SystemColumn] = columns! { $($before)* $time: Biguint, $($after)* };
    };
}

both!(SCANS, SCANS_RAW, {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, exec_count: Biguint,
}, total_latency, {
    no_index_used_count: Biguint, no_good_index_used_count: Biguint, no_index_used_pct: Decimal(24, 0),
    rows_sent: Biguint, rows_examined: Biguint, rows_sent_avg: Decimal(21, 0) or_null,
    rows_examined_avg: Decimal(21, 0) or_null, first_seen: Timestamp6, last_seen: Timestamp6,
    digest: VarcharOf(64, MB4) or_null,
});

both!(SORTS, SORTS_RAW, {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, exec_count: Biguint,
}, total_latency, {
    sort_merge_passes: Biguint, avg_sort_merges: Decimal(21, 0), sorts_using_scans: Biguint,
    sort_using_range: Biguint, rows_sorted: Biguint, avg_rows_sorted: Decimal(21, 0), first_seen: Timestamp6,
    last_seen: Timestamp6, digest: VarcharOf(64, MB4) or_null,
});

both!(TEMPORARY, TEMPORARY_RAW, {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, exec_count: Biguint,
}, total_latency, {
    memory_tmp_tables: Biguint, disk_tmp_tables: Biguint, avg_tmp_tables_per_query: Decimal(21, 0),
    tmp_tables_to_disk_pct: Decimal(24, 0), first_seen: Timestamp6, last_seen: Timestamp6,
    digest: VarcharOf(64, MB4) or_null,
});

const SLOWEST: &[SystemColumn] = columns! {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, full_scan: VarcharOf(1, MB4),
    exec_count: Biguint, err_count: Biguint, warn_count: Biguint, total_latency: VarcharOf(11, MB4) or_null,
    max_latency: VarcharOf(11, MB4) or_null, avg_latency: VarcharOf(11, MB4) or_null, rows_sent: Biguint,
    rows_sent_avg: Decimal(21, 0), rows_examined: Biguint, rows_examined_avg: Decimal(21, 0),
    first_seen: Timestamp6, last_seen: Timestamp6, digest: VarcharOf(64, MB4) or_null,
};

const SLOWEST_RAW: &[SystemColumn] = columns! {
    query: LongtextOf(MB4) or_null, db: VarcharOf(64, MB4) or_null, full_scan: VarcharOf(1, MB4),
    exec_count: Biguint, err_count: Biguint, warn_count: Biguint, total_latency: Biguint,
    max_latency: Biguint, avg_latency: Biguint, rows_sent: Biguint, rows_sent_avg: Decimal(21, 0),
    rows_examined: Biguint, rows_examined_avg: Decimal(21, 0), first_seen: Timestamp6, last_seen: Timestamp6,
    digest: VarcharOf(64, MB4) or_null,
};

/// A view and its plain form.
macro_rules! pair {
    ($name:literal, $raw_name:literal, $columns:expr, $raw:expr, $rows:ident) => {
        [
            SystemTable {
                name: $name,
                columns: $columns,
                keys: NOTHING,
                rows: |cx, _, each| $rows(cx, Shown::Formatted, each),
            },
            SystemTable {
                name: $raw_name,
                columns: $raw,
                keys: NOTHING,
                rows: |cx, _, each| $rows(cx, Shown::Raw, each),
            },
        ]
    };
}

/// The views, each with its plain form.
static PAIRS: [[SystemTable; 2]; 6] = [
    pair!("statement_analysis", "x$statement_analysis", ANALYSIS, ANALYSIS_RAW, analysis),
    pair!(
        "statements_with_errors_or_warnings",
        "x$statements_with_errors_or_warnings",
        FAILED,
        FAILED,
        failed
    ),
    pair!("statements_with_full_table_scans", "x$statements_with_full_table_scans", SCANS, SCANS_RAW, scans),
    pair!(
        "statements_with_runtimes_in_95th_percentile",
        "x$statements_with_runtimes_in_95th_percentile",
        SLOWEST,
        SLOWEST_RAW,
        slowest
    ),
    pair!("statements_with_sorting", "x$statements_with_sorting", SORTS, SORTS_RAW, sorts),
    pair!(
        "statements_with_temp_tables",
        "x$statements_with_temp_tables",
        TEMPORARY,
        TEMPORARY_RAW,
        temporary
    ),
];

/// The views.
pub(super) const TABLES: &[SystemTable] = PAIRS.as_flattened();

/// What the session's counters of these names counted, by their place in
/// [`Summary::counted`].
#[derive(Clone, Copy)]
enum Counted {
    TmpDiskTables = 0,
    TmpTables = 1,
    SortMergePasses = 7,
    SortRange = 8,
    SortRows = 9,
    SortScan = 10,
}

/// A form, ready to be shown.
struct Form<'s> {
    summary: &'s Summary,
    shown: Shown,
}

impl Form<'_> {
    fn sum(&self, sum: Sum) -> u64 {
        self.summary.sum(sum)
    }

    fn counted(&self, what: Counted) -> u64 {
        self.summary.counted()[what as usize]
    }

    fn count(&self) -> u64 {
        self.sum(Sum::Count)
    }

    fn mean_of(&self, sum: Sum) -> Datum<'static> {
        mean(self.sum(sum), self.count())
    }

    /// `query` and `db`.
    fn names(&self) -> Vec<Datum<'static>> {
        let text = self.summary.digest.as_ref().map(|(_, text)| self.shown.statement(text));
        let schema = self.summary.schema.as_deref().map(|schema| Datum::owned(schema.to_owned()));
        vec![text.unwrap_or_default(), schema.unwrap_or_default()]
    }

    fn full_scan(&self) -> Datum<'static> {
        Datum::owned(if self.sum(Sum::NoIndexUsed) > 0 { "*" } else { "" })
    }

    fn time(&self, sum: Sum) -> Datum<'static> {
        self.shown.time(self.sum(sum))
    }

    /// `total_latency`, `max_latency`, `avg_latency`
    fn times(&self) -> [Datum<'static>; 3] {
        let [_, mean, most] = self.summary.times();
        [self.time(Sum::TimerWait), self.shown.time(most), self.shown.time(mean)]
    }

    fn digest(&self) -> Datum<'static> {
        self.summary.digest.as_ref().map_or(Datum::Null, |(digest, _)| Datum::owned(digest.clone()))
    }

    /// `first_seen` and `last_seen`.
    fn seen(&self, cx: &Context) -> [Datum<'static>; 2] {
        [self.summary.first_seen, self.summary.last_seen()].map(|at| moment(cx, at))
    }
}

/// Calls `each` with the rows of those forms that are wanted, the greatest first.
fn rows<K: Ord>(
    cx: &mut Context,
    shown: Shown,
    each: Each<'_>,
    wanted: impl Fn(&Form<'_>) -> bool,
    key: impl Fn(&Form<'_>) -> K,
    row: impl Fn(&Context, &Form<'_>) -> Vec<Datum<'static>>,
) -> Result<()> {
    let summaries = cx.instance.statement_digests().summaries();
    let mut forms: Vec<_> = summaries.iter().map(|summary| Form { summary, shown }).collect();
    forms.retain(wanted);
    forms.sort_by_cached_key(|form| Reverse(key(form)));
    for form in &forms {
        datum::bounds::check()?;
        each(row(cx, form))?;
    }
    Ok(())
}

fn analysis(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    rows(
        cx,
        shown,
        each,
        |_| true,
        |form| form.sum(Sum::TimerWait),
        |cx, form| {
            let mut row = form.names();
            row.extend([form.full_scan(), Datum::UInt(form.count())]);
            if shown == Shown::Raw {
                row.push(Datum::UInt(0)); // by a secondary engine
            }
            row.extend([Sum::Errors, Sum::Warnings].map(|sum| Datum::UInt(form.sum(sum))));
            row.extend(form.times());
            row.extend([form.time(Sum::LockTime), shown.time(0)]);
            for sum in [Sum::RowsSent, Sum::RowsExamined, Sum::RowsAffected] {
                row.extend([Datum::UInt(form.sum(sum)), form.mean_of(sum)]);
            }
            let counted =
                [Counted::TmpTables, Counted::TmpDiskTables, Counted::SortRows, Counted::SortMergePasses];
            row.extend(counted.map(|what| Datum::UInt(form.counted(what))));
            row.extend([shown.bytes(0), shown.bytes(0), form.digest()]);
            row.extend(form.seen(cx));
            row
        },
    )
}

fn failed(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let key = |form: &Form<'_>| (form.sum(Sum::Errors), form.sum(Sum::Warnings));
    // A hundred times a fraction of four digits.
    let share = |part: u64, whole: u64| {
        let (part, whole) = (i128::from(part), i128::from(whole.max(1)));
        let fraction = (part * 10_000 + whole / 2) / whole;
        Decimal::from_parts(fraction * 100, 4).map_or(Datum::Null, Datum::Decimal)
    };
    rows(
        cx,
        shown,
        each,
        |form| key(form) != (0, 0),
        key,
        |cx, form| {
            let mut row = form.names();
            row.push(Datum::UInt(form.count()));
            for sum in [Sum::Errors, Sum::Warnings] {
                row.extend([Datum::UInt(form.sum(sum)), share(form.sum(sum), form.count())]);
            }
            row.extend(form.seen(cx));
            row.push(form.digest());
            row
        },
    )
}

fn scans(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let is_wanted = |form: &Form<'_>| {
        let shows = form.summary.digest.as_ref().is_some_and(|(_, text)| text.starts_with("SHOW"));
        form.sum(Sum::NoIndexUsed) > 0 && !shows
    };
    let share = |form: &Form<'_>| (form.sum(Sum::NoIndexUsed) * 100 + form.count() / 2) / form.count().max(1);
    rows(
        cx,
        shown,
        each,
        is_wanted,
        |form| (share(form), form.sum(Sum::TimerWait)),
        |cx, form| {
            let mut row = form.names();
            row.extend([Datum::UInt(form.count()), form.time(Sum::TimerWait)]);
            row.extend([Datum::UInt(form.sum(Sum::NoIndexUsed)), Datum::UInt(0)]);
            row.push(percent(form.sum(Sum::NoIndexUsed), form.count()));
            row.extend([Sum::RowsSent, Sum::RowsExamined].map(|sum| Datum::UInt(form.sum(sum))));
            row.extend([Sum::RowsSent, Sum::RowsExamined].map(|sum| form.mean_of(sum)));
            row.extend(form.seen(cx));
            row.push(form.digest());
            row
        },
    )
}

fn sorts(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let is_wanted = |form: &Form<'_>| form.counted(Counted::SortRows) > 0;
    rows(
        cx,
        shown,
        each,
        is_wanted,
        |form| form.sum(Sum::TimerWait),
        |cx, form| {
            let mut row = form.names();
            row.extend([Datum::UInt(form.count()), form.time(Sum::TimerWait)]);
            let merges = form.counted(Counted::SortMergePasses);
            row.extend([Datum::UInt(merges), mean(merges, form.count())]);
            let counted = [Counted::SortScan, Counted::SortRange, Counted::SortRows];
            row.extend(counted.map(|what| Datum::UInt(form.counted(what))));
            row.push(mean(form.counted(Counted::SortRows), form.count()));
            row.extend(form.seen(cx));
            row.push(form.digest());
            row
        },
    )
}

fn temporary(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let key = |form: &Form<'_>| (form.counted(Counted::TmpDiskTables), form.counted(Counted::TmpTables));
    rows(
        cx,
        shown,
        each,
        |form| form.counted(Counted::TmpTables) > 0,
        key,
        |cx, form| {
            let (on_disk, all) = key(form);
            let mut row = form.names();
            row.extend([Datum::UInt(form.count()), form.time(Sum::TimerWait)]);
            row.extend([
                Datum::UInt(all),
                Datum::UInt(on_disk),
                mean(all, form.count()),
                percent(on_disk, all),
            ]);
            row.extend(form.seen(cx));
            row.push(form.digest());
            row
        },
    )
}

/// Microseconds that a form's statements took on average.
fn mean_us(summary: &Summary) -> u64 {
    (summary.times()[1] + 500_000) / 1_000_000
}

fn slowest(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let mut means: Vec<u64> = cx.instance.statement_digests().summaries().iter().map(mean_us).collect();
    means.sort_unstable();
    // The least one that more than 95 of a hundred do not exceed.
    let place = means.len() * 95 / 100;
    let least = means.get(place).copied().unwrap_or(0);
    let is_wanted = |form: &Form<'_>| mean_us(form.summary) >= least;
    rows(
        cx,
        shown,
        each,
        is_wanted,
        |form| form.summary.times()[1],
        |cx, form| {
            let mut row = form.names();
            row.extend([form.full_scan(), Datum::UInt(form.count())]);
            row.extend([Sum::Errors, Sum::Warnings].map(|sum| Datum::UInt(form.sum(sum))));
            row.extend(form.times());
            for sum in [Sum::RowsSent, Sum::RowsExamined] {
                row.extend([Datum::UInt(form.sum(sum)), form.mean_of(sum)]);
            }
            row.extend(form.seen(cx));
            row.push(form.digest());
            row
        },
    )
}
