//! The tables of `performance_schema` about what is measured: statements by their form, and
//! metadata locks. Stages, waits and memory are not, so that their consumers are off.

use super::column::{ASCII, MB4, MB4_BIN, YES_NO, columns};
use super::mysql::moment;
use super::{Each, SystemTable, Wanted, none};
use crate::listing::cells;
use crate::session::Context;
use crate::statement_digests::Sum;
use crate::statement_events;
use datum::error::Result;
use datum::value::Datum;

const NOTHING: [&str; 2] = ["", ""];
/// What an instrument can be.
const PROPERTIES: &[&str] =
    &["singleton", "progress", "user", "global_statistics", "mutable", "controlled_by_default"];

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "events_statements_summary_by_digest",
        columns: columns! {
            SCHEMA_NAME: VarcharOf(64, MB4) or_null, DIGEST: VarcharOf(64, MB4) or_null,
            DIGEST_TEXT: LongtextOf(MB4) or_null, COUNT_STAR: Biguint, SUM_TIMER_WAIT: Biguint,
            MIN_TIMER_WAIT: Biguint, AVG_TIMER_WAIT: Biguint, MAX_TIMER_WAIT: Biguint, SUM_LOCK_TIME: Biguint,
            SUM_ERRORS: Biguint, SUM_WARNINGS: Biguint, SUM_ROWS_AFFECTED: Biguint, SUM_ROWS_SENT: Biguint,
            SUM_ROWS_EXAMINED: Biguint, SUM_CREATED_TMP_DISK_TABLES: Biguint, SUM_CREATED_TMP_TABLES: Biguint,
            SUM_SELECT_FULL_JOIN: Biguint, SUM_SELECT_FULL_RANGE_JOIN: Biguint, SUM_SELECT_RANGE: Biguint,
            SUM_SELECT_RANGE_CHECK: Biguint, SUM_SELECT_SCAN: Biguint, SUM_SORT_MERGE_PASSES: Biguint,
            SUM_SORT_RANGE: Biguint, SUM_SORT_ROWS: Biguint, SUM_SORT_SCAN: Biguint, SUM_NO_INDEX_USED: Biguint,
            SUM_NO_GOOD_INDEX_USED: Biguint, SUM_CPU_TIME: Biguint, MAX_CONTROLLED_MEMORY: Biguint,
            MAX_TOTAL_MEMORY: Biguint, COUNT_SECONDARY: Biguint, FIRST_SEEN: Timestamp6, LAST_SEEN: Timestamp6,
            QUANTILE_95: Biguint, QUANTILE_99: Biguint, QUANTILE_999: Biguint,
            QUERY_SAMPLE_TEXT: LongtextOf(MB4) or_null, QUERY_SAMPLE_SEEN: Timestamp6,
            QUERY_SAMPLE_TIMER_WAIT: Biguint,
        },
        keys: NOTHING,
        rows: statements,
    },
    SystemTable {
        name: "setup_actors",
        columns: columns! {
            HOST: Char(255, ASCII), USER: Char(32, MB4_BIN), ROLE: Char(32, MB4_BIN),
            ENABLED: Enum(YES_NO, MB4), HISTORY: Enum(YES_NO, MB4),
        },
        keys: NOTHING,
        rows: |_, _, each| each(cells!["%", "%", "%", "YES", "YES"]),
    },
    SystemTable {
        name: "setup_consumers",
        columns: columns! {
            NAME: VarcharOf(64, MB4), ENABLED: Enum(YES_NO, MB4),
        },
        keys: NOTHING,
        rows: consumers,
    },
    SystemTable {
        name: "setup_instruments",
        columns: columns! {
            NAME: VarcharOf(128, MB4), ENABLED: Enum(YES_NO, MB4), TIMED: Enum(YES_NO, MB4) or_null,
            PROPERTIES: Set(PROPERTIES, MB4),
            FLAGS: Set(&["controlled"], MB4) or_null, VOLATILITY: Int, DOCUMENTATION: LongtextOf(MB4) or_null,
        },
        keys: NOTHING,
        rows: instruments,
    },
    SystemTable {
        name: "setup_objects",
        columns: columns! {
            OBJECT_TYPE: Enum(&["EVENT", "FUNCTION", "PROCEDURE", "TABLE", "TRIGGER"], MB4),
            OBJECT_SCHEMA: VarcharOf(64, MB4) or_null, OBJECT_NAME: VarcharOf(64, MB4),
            ENABLED: Enum(YES_NO, MB4), TIMED: Enum(YES_NO, MB4),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "setup_threads",
        columns: columns! {
            NAME: VarcharOf(128, MB4), ENABLED: Enum(YES_NO, MB4), HISTORY: Enum(YES_NO, MB4),
            PROPERTIES: Set(&["singleton", "user"], MB4), VOLATILITY: Int,
            DOCUMENTATION: LongtextOf(MB4) or_null,
        },
        keys: NOTHING,
        rows: none,
    },
];

/// MySQL's consumers, in its order.
pub(crate) const CONSUMERS: [&str; 16] = [
    "events_stages_current",
    "events_stages_history",
    "events_stages_history_long",
    "events_statements_cpu",
    "events_statements_current",
    "events_statements_history",
    "events_statements_history_long",
    "events_transactions_current",
    "events_transactions_history",
    "events_transactions_history_long",
    "events_waits_current",
    "events_waits_history",
    "events_waits_history_long",
    "global_instrumentation",
    "thread_instrumentation",
    "statements_digest",
];

/// The consumers that can be switched, with their bits.
pub(crate) const SWITCHED: [(&str, u8); 3] = [
    ("events_statements_current", statement_events::CURRENT),
    ("events_statements_history", statement_events::HISTORY),
    ("events_statements_history_long", statement_events::HISTORY_LONG),
];

fn consumers(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let counts_statements = cx.instance.statement_digests().is_on();
    let (on, switched) = (cx.instance.statement_events().consumers(), SWITCHED);
    CONSUMERS.into_iter().try_for_each(|name| {
        let is_on = match name {
            "global_instrumentation" => true,
            "statements_digest" | "thread_instrumentation" => counts_statements,
            _ => switched.iter().any(|(other, bit)| *other == name && on & bit != 0) && counts_statements,
        };
        each(cells![name, if is_on { "YES" } else { "NO" }])
    })
}

fn statements(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for summary in cx.instance.statement_digests().summaries() {
        datum::bounds::check()?;
        let sum = |sum| Datum::UInt(summary.sum(sum));
        let text = |text: Option<&str>| text.map_or(Datum::Null, |text| Datum::owned(text.to_owned()));
        let (digest, normalized) = summary.digest.as_ref().map(|(d, n)| (d.as_str(), &**n)).unzip();
        let mut row = vec![text(summary.schema.as_deref()), text(digest), text(normalized)];
        row.extend([sum(Sum::Count), sum(Sum::TimerWait)]);
        row.extend(summary.times().map(Datum::UInt));
        row.extend([sum(Sum::LockTime), sum(Sum::Errors), sum(Sum::Warnings), sum(Sum::RowsAffected)]);
        row.extend([sum(Sum::RowsSent), sum(Sum::RowsExamined)]);
        row.extend(summary.counted().map(Datum::UInt));
        row.push(sum(Sum::NoIndexUsed));
        // Whether another index would be better, processor time, memory, and the secondary engine
        // are not measured.
        row.extend(std::iter::repeat_n(Datum::UInt(0), 5));
        row.extend([summary.first_seen, summary.last_seen()].map(|at| moment(cx, at)));
        row.extend([950, 990, 999].map(|of_thousand| Datum::UInt(summary.quantile(of_thousand))));
        let (sample, seen, time) = &summary.sample;
        row.extend([Datum::owned(sample.to_vec()), moment(cx, *seen), Datum::UInt(*time)]);
        each(row)?;
    }
    Ok(())
}

fn instruments(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let documentation = "Metadata locks: performance_schema.metadata_locks";
    // gh-ost looks for both words before it looks for a lock.
    let mut row = cells!["wait/lock/metadata/sql/mdl", "YES", "YES", "", None::<&str>, 0_i64];
    row.extend(cells![documentation]);
    each(row)
}
