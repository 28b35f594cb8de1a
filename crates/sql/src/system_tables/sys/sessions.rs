//! What sessions do: `processlist`, and `session` without those that replicate.

use super::super::column::{MB4, SystemColumn, columns};
use super::super::statement_events::picoseconds;
use super::{Each, NOTHING, Shown, SystemTable};
use crate::listing::cells;
use crate::session::Context;
use crate::statement_events::StatementEvent;
use datum::error::Result;
use datum::value::Datum;

const STATES: &[&str] = &["ACTIVE", "COMMITTED", "ROLLED BACK"];

/// The columns, with times and memory of this type.
macro_rules! session_columns {
    (
        $amount:ident $(($($of:expr),*))?, $memory:ident ($($of_memory:expr),*),
        $wait:ident ($($of_wait:expr),*)
    ) => {
        columns! {
            thd_id: Biguint, conn_id: Biguint or_null, user: VarcharOf(288, MB4) or_null,
            db: VarcharOf(64, MB4) or_null, command: VarcharOf(16, MB4) or_null,
            state: VarcharOf(64, MB4) or_null, time: Bigint or_null,
            current_statement: LongtextOf(MB4) or_null,
            execution_engine: Enum(&["PRIMARY", "SECONDARY"], MB4) or_null,
            statement_latency: $amount $(($($of),*))? or_null, progress: Decimal(26, 2) or_null,
            lock_latency: $amount $(($($of),*))? or_null, cpu_latency: $amount $(($($of),*))? or_null,
            rows_examined: Biguint or_null, rows_sent: Biguint or_null, rows_affected: Biguint or_null,
            tmp_tables: Biguint or_null, tmp_disk_tables: Biguint or_null, full_scan: VarcharOf(3, MB4),
            last_statement: LongtextOf(MB4) or_null, last_statement_latency: $amount $(($($of),*))? or_null,
            current_memory: $memory ($($of_memory),*) or_null, last_wait: VarcharOf(128, MB4) or_null,
            last_wait_latency: $wait ($($of_wait),*) or_null, source: VarcharOf(64, MB4) or_null,
            trx_latency: $amount $(($($of),*))? or_null, trx_state: Enum(STATES, MB4) or_null,
            trx_autocommit: Enum(&["YES", "NO"], MB4) or_null, pid: VarcharOf(1024, MB4) or_null,
            program_name: VarcharOf(1024, MB4) or_null,
        }
    };
}

const FORMATTED: &[SystemColumn] =
    session_columns!(VarcharOf(11, MB4), VarcharOf(11, MB4), VarcharOf(13, MB4));
const RAW: &[SystemColumn] = session_columns!(Biguint, Decimal(41, 0), VarcharOf(20, MB4));

/// The views.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "processlist",
        columns: FORMATTED,
        keys: NOTHING,
        rows: |cx, _, each| sessions(cx, Shown::Formatted, true, each),
    },
    SystemTable {
        name: "session",
        columns: FORMATTED,
        keys: NOTHING,
        rows: |cx, _, each| sessions(cx, Shown::Formatted, false, each),
    },
    SystemTable {
        name: "x$processlist",
        columns: RAW,
        keys: NOTHING,
        rows: |cx, _, each| sessions(cx, Shown::Raw, true, each),
    },
    SystemTable {
        name: "x$session",
        columns: RAW,
        keys: NOTHING,
        rows: |cx, _, each| sessions(cx, Shown::Raw, false, each),
    },
];

/// Sessions, those that do the same for the longest first. Like the others of its kind it is for
/// whoever may read `sys`.
fn sessions(cx: &mut Context, shown: Shown, all: bool, each: Each<'_>) -> Result<()> {
    let now = cx.instance.env().monotonic_coarse();
    let mut rows = Vec::new();
    for process in cx.instance.processes() {
        datum::bounds::check()?;
        let replicates = cx.instance.replicas().command(process.id);
        if replicates.is_some() && !all {
            continue;
        }
        let (text, since) = process.running();
        let last = process.events().last();
        let last = last.as_ref();
        let time = now.saturating_sub(since);
        let user = process.user();
        let is_running = text.is_some();
        let statement = text.map(|text| shown.statement(&String::from_utf8_lossy(&text)));
        let command = if is_running { "Query" } else { replicates.unwrap_or("Sleep") };
        let of_last = |value: fn(&StatementEvent) -> u64| last.filter(|_| !is_running).map(value);
        let mut row = cells![process.id, process.id, format!("{}@{}", user.user, user.host)];
        row.extend(cells![process.database(), command]);
        row.extend(cells![is_running.then(|| process.state()), time.as_secs() as i64]);
        row.extend([statement.unwrap_or_default(), Datum::owned("PRIMARY")]);
        let running_time = if is_running { Some(picoseconds(time)) } else { None };
        row.extend([running_time.map_or(Datum::Null, |time| shown.time(time)), Datum::Null]);
        let waited = of_last(|event| picoseconds(event.waited));
        row.extend([waited.map_or(Datum::Null, |time| shown.time(time)), Datum::Null]);
        row.extend(cells![of_last(|event| event.examined), of_last(|event| event.sent)]);
        row.extend(cells![of_last(|event| event.affected)]);
        row.extend(cells![of_last(|event| event.counted[1]), of_last(|event| event.counted[0])]);
        row.extend(cells![if last.is_some_and(|event| event.scanned && !is_running) { "YES" } else { "NO" }]);
        let last = last.filter(|_| !is_running);
        let text = last.map(|event| shown.statement(&event.shown_text()));
        row.push(text.unwrap_or_default());
        row.push(last.map_or(Datum::Null, |event| shown.time(picoseconds(event.took))));
        // Memory and waits are not measured.
        row.extend(std::iter::repeat_n(Datum::Null, 4));
        let transaction = process.transaction().now();
        let open = transaction.as_ref().map(|seen| {
            let micros = (cx.real_moment() as u64).saturating_sub(seen.since);
            shown.time(micros.saturating_mul(1_000_000))
        });
        row.push(open.unwrap_or_default());
        row.extend(cells![transaction.as_ref().map(|_| "ACTIVE")]);
        row.extend(cells![transaction.as_ref().map(|seen| if seen.explicit { "NO" } else { "YES" })]);
        row.extend([Datum::Null, Datum::Null]);
        rows.push((time, row));
    }
    rows.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    rows.into_iter().try_for_each(|(_, row)| each(row))
}
