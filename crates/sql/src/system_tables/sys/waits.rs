//! Who waits for whom: for rows, and for tables.

use std::collections::HashMap;

use super::super::column::{MB4, SystemColumn, columns};
use super::{Each, NOTHING, Shown, SystemTable, Table, number_of, text_of};
use crate::listing::cells;
use crate::session::Context;
use datum::error::Result;
use datum::value::{DateTime, Datum, Time};
use syntax::unparse::ident;

const ROWS: &[SystemColumn] = columns! {
    wait_started: Datetime or_null, wait_age: Time or_null, wait_age_secs: Bigint or_null,
    locked_table: Mediumtext(MB4) or_null, locked_table_schema: VarcharOf(64, MB4) or_null,
    locked_table_name: VarcharOf(64, MB4) or_null, locked_table_partition: VarcharOf(64, MB4) or_null,
    locked_table_subpartition: VarcharOf(64, MB4) or_null, locked_index: VarcharOf(64, MB4) or_null,
    locked_type: VarcharOf(32, MB4), waiting_trx_id: Biguint, waiting_trx_started: Datetime,
    waiting_trx_age: Time or_null, waiting_trx_rows_locked: Biguint, waiting_trx_rows_modified: Biguint,
    waiting_pid: Biguint, waiting_query: LongtextOf(MB4) or_null, waiting_lock_id: VarcharOf(128, MB4),
    waiting_lock_mode: VarcharOf(32, MB4), blocking_trx_id: Biguint, blocking_pid: Biguint,
    blocking_query: LongtextOf(MB4) or_null, blocking_lock_id: VarcharOf(128, MB4),
    blocking_lock_mode: VarcharOf(32, MB4), blocking_trx_started: Datetime, blocking_trx_age: Time or_null,
    blocking_trx_rows_locked: Biguint, blocking_trx_rows_modified: Biguint,
    sql_kill_blocking_query: VarcharOf(33, MB4), sql_kill_blocking_connection: VarcharOf(27, MB4),
};

const TABLES_LOCKED: &[SystemColumn] = columns! {
    object_schema: VarcharOf(64, MB4) or_null, object_name: VarcharOf(64, MB4) or_null,
    waiting_thread_id: Biguint, waiting_pid: Biguint or_null, waiting_account: TextOf(MB4) or_null,
    waiting_lock_type: VarcharOf(32, MB4), waiting_lock_duration: VarcharOf(32, MB4),
    waiting_query: LongtextOf(MB4) or_null, waiting_query_secs: Bigint or_null,
    waiting_query_rows_affected: Biguint or_null, waiting_query_rows_examined: Biguint or_null,
    blocking_thread_id: Biguint, blocking_pid: Biguint or_null, blocking_account: TextOf(MB4) or_null,
    blocking_lock_type: VarcharOf(32, MB4), blocking_lock_duration: VarcharOf(32, MB4),
    sql_kill_blocking_query: VarcharOf(31, MB4) or_null,
    sql_kill_blocking_connection: VarcharOf(25, MB4) or_null,
};

/// The views.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "innodb_lock_waits",
        columns: ROWS,
        keys: NOTHING,
        rows: |cx, _, each| rows(cx, Shown::Formatted, each),
    },
    SystemTable {
        name: "schema_table_lock_waits",
        columns: TABLES_LOCKED,
        keys: NOTHING,
        rows: |cx, _, each| tables(cx, Shown::Formatted, each),
    },
    SystemTable {
        name: "x$innodb_lock_waits",
        columns: ROWS,
        keys: NOTHING,
        rows: |cx, _, each| rows(cx, Shown::Raw, each),
    },
    SystemTable {
        name: "x$schema_table_lock_waits",
        columns: TABLES_LOCKED,
        keys: NOTHING,
        rows: |cx, _, each| tables(cx, Shown::Raw, each),
    },
];

/// Seconds from a moment until another; nothing where one is not known.
fn seconds(since: &Datum<'_>, now: Option<DateTime>) -> Option<i64> {
    let Datum::DateTime(since) = since else { return None };
    Some((now?.unix_micros()? - since.unix_micros()?) / 1_000_000)
}

/// A span of seconds as a TIME.
fn age(seconds: Option<i64>) -> Datum<'static> {
    let Some(seconds) = seconds else { return Datum::Null };
    let whole = u32::try_from(seconds.unsigned_abs()).unwrap_or(u32::MAX);
    let time = Time::new(seconds < 0, whole / 3600, whole / 60 % 60, whole % 60, 0, 0);
    Datum::Time(time.clamp().0)
}

fn rows(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let waits = Table::read(cx, "performance_schema", "data_lock_waits")?;
    if waits.rows.is_empty() {
        return Ok(());
    }
    let locks = Table::read(cx, "performance_schema", "data_locks")?;
    let transactions = Table::read(cx, "information_schema", "INNODB_TRX")?;
    let now = super::moment(cx, cx.real_moment() as u64);
    let by_id = |table: &Table, name: &str| -> HashMap<String, usize> {
        let named = table.rows.iter().enumerate();
        named.filter_map(|(number, row)| Some((text_of(table.cell(row, name))?, number))).collect()
    };
    let locks_by_id = by_id(&locks, "ENGINE_LOCK_ID");
    let transactions_by_id = by_id(&transactions, "trx_id");
    let row_of = |table: &'_ HashMap<String, usize>, id: &Datum<'_>| table.get(&text_of(id)?).copied();
    let mut found = Vec::new();
    for wait in &waits.rows {
        datum::bounds::check()?;
        let (wanted_id, held_id) =
            (waits.cell(wait, "REQUESTING_ENGINE_LOCK_ID"), waits.cell(wait, "BLOCKING_ENGINE_LOCK_ID"));
        let transaction = |name: &str| row_of(&transactions_by_id, waits.cell(wait, name));
        let (Some(wanted), Some(held), Some(waiting), Some(blocking)) = (
            row_of(&locks_by_id, wanted_id),
            row_of(&locks_by_id, held_id),
            transaction("REQUESTING_ENGINE_TRANSACTION_ID"),
            transaction("BLOCKING_ENGINE_TRANSACTION_ID"),
        ) else {
            // It has ended between the tables.
            continue;
        };
        let lock = |row: usize, name: &str| locks.cell(&locks.rows[row], name).clone();
        let of = |row: usize, name: &str| transactions.cell(&transactions.rows[row], name).clone();
        let started = of(waiting, "trx_wait_started");
        let waited = seconds(&started, now);
        let query =
            |row: usize| text_of(&of(row, "trx_query")).map_or(Datum::Null, |text| shown.statement(&text));
        let names = ["OBJECT_SCHEMA", "OBJECT_NAME"].map(|name| text_of(&lock(wanted, name)));
        let table = match &names {
            [Some(schema), Some(name)] => Datum::owned(format!("{}.{}", ident(schema), ident(name))),
            _ => Datum::Null,
        };
        let mut row = vec![started, age(waited), waited.map_or(Datum::Null, Datum::Int), table];
        row.extend(
            [
                "OBJECT_SCHEMA",
                "OBJECT_NAME",
                "PARTITION_NAME",
                "SUBPARTITION_NAME",
                "INDEX_NAME",
                "LOCK_TYPE",
            ]
            .map(|name| lock(wanted, name)),
        );
        let since = |row: usize| age(seconds(&of(row, "trx_started"), now));
        row.extend([of(waiting, "trx_id"), of(waiting, "trx_started"), since(waiting)]);
        row.extend(
            ["trx_rows_locked", "trx_rows_modified", "trx_mysql_thread_id"].map(|name| of(waiting, name)),
        );
        row.extend([query(waiting), wanted_id.clone(), lock(wanted, "LOCK_MODE")]);
        let session = of(blocking, "trx_mysql_thread_id");
        let number = number_of(&session).unwrap_or(0);
        row.extend([of(blocking, "trx_id"), session, query(blocking), held_id.clone()]);
        row.extend([lock(held, "LOCK_MODE"), of(blocking, "trx_started"), since(blocking)]);
        row.extend(["trx_rows_locked", "trx_rows_modified"].map(|name| of(blocking, name)));
        row.extend(cells![format!("KILL QUERY {number}"), format!("KILL {number}")]);
        found.push((waited, row));
    }
    found.sort_by_key(|(waited, _)| std::cmp::Reverse(*waited));
    found.into_iter().try_for_each(|(_, row)| each(row))
}

fn tables(cx: &mut Context, shown: Shown, each: Each<'_>) -> Result<()> {
    let locks = Table::read(cx, "performance_schema", "metadata_locks")?;
    let status = |row: &[Datum<'static>]| text_of(locks.cell(row, "LOCK_STATUS"));
    let processes: HashMap<u64, _> = cx.instance.processes().into_iter().map(|p| (p.id, p)).collect();
    let now = cx.instance.env().monotonic_coarse();
    let same =
        |a: &[Datum<'static>], b: &[Datum<'static>], name: &str| locks.cell(a, name) == locks.cell(b, name);
    for waiting in locks.rows.iter().filter(|row| status(row).as_deref() == Some("PENDING")) {
        datum::bounds::check()?;
        for blocking in locks.rows.iter().filter(|row| status(row).as_deref() == Some("GRANTED")) {
            let is_one =
                ["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME"].iter().all(|n| same(waiting, blocking, n));
            if !is_one || same(waiting, blocking, "OWNER_THREAD_ID") {
                continue;
            }
            let session = |row: &[Datum<'static>]| number_of(locks.cell(row, "OWNER_THREAD_ID")).unwrap_or(0);
            let account = |id: u64| {
                let process = processes.get(&id)?;
                Some(format!("{}@{}", process.user().user, process.user().host))
            };
            let (id, other) = (session(waiting), session(blocking));
            let (query, since) = processes.get(&id).map(|process| process.running()).unzip();
            let text = query.flatten().map(|text| String::from_utf8_lossy(&text).into_owned());
            let mut row: Vec<_> =
                ["OBJECT_SCHEMA", "OBJECT_NAME"].map(|name| locks.cell(waiting, name).clone()).into();
            row.extend(cells![id, id, account(id)]);
            let kind =
                |row: &[Datum<'static>]| ["LOCK_TYPE", "LOCK_DURATION"].map(|n| locks.cell(row, n).clone());
            row.extend(kind(waiting));
            row.push(text.map_or(Datum::Null, |text| shown.statement(&text)));
            row.extend(cells![since.map(|since| now.saturating_sub(since).as_secs() as i64)]);
            row.extend(cells![None::<u64>, None::<u64>, other, other, account(other)]);
            row.extend(kind(blocking));
            row.extend(cells![format!("KILL QUERY {other}"), format!("KILL {other}")]);
            each(row)?;
        }
    }
    Ok(())
}
