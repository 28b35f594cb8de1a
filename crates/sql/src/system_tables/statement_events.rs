//! `performance_schema.events_statements_current`, `_history` and `_history_long`.
//!
//! Times are of the server's monotonic clock. What is not measured is 0: processor time and memory.
//! A statement that runs is there with its text, and what it costs once it has ended.

use std::time::Duration;

use super::column::{MB4, SystemColumn, columns};
use super::{Each, SystemTable, Wanted, none};
use crate::instance::Process;
use crate::listing::cells;
use crate::session::Context;
use crate::statement_digests::{COUNTED, StatementDigests, digest_of};
use crate::statement_events::{self, StatementEvent};
use datum::error::Result;
use datum::value::Datum;

const NOTHING: [&str; 2] = ["", ""];

const EVENT: &[SystemColumn] = columns! {
    THREAD_ID: Biguint, EVENT_ID: Biguint, END_EVENT_ID: Biguint or_null, EVENT_NAME: VarcharOf(128, MB4),
    SOURCE: VarcharOf(64, MB4) or_null, TIMER_START: Biguint or_null, TIMER_END: Biguint or_null,
    TIMER_WAIT: Biguint or_null, LOCK_TIME: Biguint, SQL_TEXT: LongtextOf(MB4) or_null,
    DIGEST: VarcharOf(64, MB4) or_null, DIGEST_TEXT: LongtextOf(MB4) or_null,
    CURRENT_SCHEMA: VarcharOf(64, MB4) or_null, OBJECT_TYPE: VarcharOf(64, MB4) or_null,
    OBJECT_SCHEMA: VarcharOf(64, MB4) or_null, OBJECT_NAME: VarcharOf(64, MB4) or_null,
    OBJECT_INSTANCE_BEGIN: Biguint or_null, MYSQL_ERRNO: Int or_null,
    RETURNED_SQLSTATE: VarcharOf(5, MB4) or_null, MESSAGE_TEXT: VarcharOf(128, MB4) or_null, ERRORS: Biguint,
    WARNINGS: Biguint, ROWS_AFFECTED: Biguint, ROWS_SENT: Biguint, ROWS_EXAMINED: Biguint,
    CREATED_TMP_DISK_TABLES: Biguint, CREATED_TMP_TABLES: Biguint, SELECT_FULL_JOIN: Biguint,
    SELECT_FULL_RANGE_JOIN: Biguint, SELECT_RANGE: Biguint, SELECT_RANGE_CHECK: Biguint, SELECT_SCAN: Biguint,
    SORT_MERGE_PASSES: Biguint, SORT_RANGE: Biguint, SORT_ROWS: Biguint, SORT_SCAN: Biguint,
    NO_INDEX_USED: Biguint, NO_GOOD_INDEX_USED: Biguint, NESTING_EVENT_ID: Biguint or_null,
    NESTING_EVENT_TYPE: Enum(&["TRANSACTION", "STATEMENT", "STAGE", "WAIT"], MB4) or_null,
    NESTING_EVENT_LEVEL: Int or_null, STATEMENT_ID: Biguint or_null, CPU_TIME: Biguint,
    MAX_CONTROLLED_MEMORY: Biguint, MAX_TOTAL_MEMORY: Biguint,
    EXECUTION_ENGINE: Enum(&["PRIMARY", "SECONDARY"], MB4) or_null,
};

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable { name: "events_statements_current", columns: EVENT, keys: NOTHING, rows: current },
    SystemTable { name: "events_statements_history", columns: EVENT, keys: NOTHING, rows: history },
    SystemTable { name: "events_statements_history_long", columns: EVENT, keys: NOTHING, rows: history_long },
    SystemTable {
        name: "events_waits_current",
        columns: columns! {
            THREAD_ID: Biguint, EVENT_ID: Biguint, END_EVENT_ID: Biguint or_null,
            EVENT_NAME: VarcharOf(128, MB4), SOURCE: VarcharOf(64, MB4) or_null,
            TIMER_START: Biguint or_null, TIMER_END: Biguint or_null, TIMER_WAIT: Biguint or_null,
            SPINS: Uint or_null, OBJECT_SCHEMA: VarcharOf(64, MB4) or_null,
            OBJECT_NAME: VarcharOf(512, MB4) or_null, INDEX_NAME: VarcharOf(64, MB4) or_null,
            OBJECT_TYPE: VarcharOf(64, MB4) or_null, OBJECT_INSTANCE_BEGIN: Biguint,
            NESTING_EVENT_ID: Biguint or_null,
            NESTING_EVENT_TYPE: Enum(&["TRANSACTION", "STATEMENT", "STAGE", "WAIT"], MB4) or_null,
            OPERATION: VarcharOf(32, MB4), NUMBER_OF_BYTES: Bigint or_null, FLAGS: Uint or_null,
        },
        keys: NOTHING,
        // Waits are not instrumented, as in MySQL where nobody switches them on.
        rows: none,
    },
];

/// Characters of a message that are shown.
const MESSAGE_MAX: usize = 128;

pub(super) fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
}

/// What a statement is, when, and what it is about: up to OBJECT_INSTANCE_BEGIN.
struct Head {
    id: u64,
    ended: bool,
    name: &'static str,
    began: Duration,
    took: Option<Duration>,
    waited: Duration,
    text: String,
    schema: Option<String>,
    digest: Option<(String, String)>,
}

impl Head {
    fn cells(self, thread: u64) -> Vec<Datum<'static>> {
        let (digest, normalized) = self.digest.unzip();
        let end = self.took.map(|took| picoseconds(self.began + took));
        let mut row = cells![thread, self.id, self.ended.then_some(self.id), self.name, None::<&str>];
        row.extend(cells![picoseconds(self.began), end, self.took.map(picoseconds)]);
        row.extend(cells![picoseconds(self.waited), self.text, digest, normalized, self.schema]);
        row.extend(cells![None::<&str>, None::<&str>, None::<&str>, None::<u64>]);
        row
    }
}

fn ended(thread: u64, event: &StatementEvent) -> Vec<Datum<'static>> {
    let (schema, digest) = event.tally.as_ref().map(|tally| StatementDigests::form_of(tally)).unzip();
    let head = Head {
        id: event.id,
        ended: true,
        name: event.name,
        began: event.began,
        took: Some(event.took),
        waited: event.waited,
        text: event.shown_text(),
        schema: schema.flatten().map(String::from),
        digest: digest.flatten().map(|(digest, text)| (digest, text.into())),
    };
    let mut row = head.cells(thread);
    let error = event.error;
    let message = event.message.chars().take(MESSAGE_MAX).collect::<String>();
    let state = error.map(|(_, state)| String::from_utf8_lossy(&state).into_owned());
    row.extend(cells![error.map_or(0, |(number, _)| i64::from(number)), state]);
    row.extend(cells![Some(message).filter(|message| !message.is_empty())]);
    row.extend(cells![
        u64::from(error.is_some()),
        event.warnings,
        event.affected,
        event.sent,
        event.examined
    ]);
    row.extend(event.counted.map(Datum::UInt));
    row.extend(cells![u64::from(event.scanned), 0_u64, None::<u64>, None::<&str>, 0_i64]);
    row.extend(cells![(event.statement > 0).then_some(event.statement), 0_u64, 0_u64, 0_u64, "PRIMARY"]);
    row
}

fn running(process: &Process, text: &[u8], since: Duration, now: Duration) -> Vec<Datum<'static>> {
    // Of a long one the end is missing: its form is known once it has ended.
    let is_whole = text.len() < statement_events::TEXT_MAX;
    let normalized = is_whole.then(|| {
        let may_go_on = || datum::bounds::check().is_ok();
        syntax::digest::normalized(text, syntax::sql_mode::DEFAULT, statement_events::TEXT_MAX, may_go_on)
    });
    let head = Head {
        id: process.events().next_id(),
        ended: false,
        name: "statement/com/Query",
        began: since,
        took: Some(now.saturating_sub(since)),
        waited: Duration::ZERO,
        text: String::from_utf8_lossy(statement_events::whole_characters(text)).into_owned(),
        schema: process.database(),
        digest: normalized.flatten().map(|text| (digest_of(&text), text)),
    };
    let mut row = head.cells(process.id);
    row.extend(cells![0_i64, None::<&str>, None::<&str>]);
    row.extend(std::iter::repeat_n(Datum::UInt(0), 5 + COUNTED.len() + 2));
    row.extend(cells![None::<u64>, None::<&str>, 0_i64, None::<u64>, 0_u64, 0_u64, 0_u64, "PRIMARY"]);
    row
}

fn current(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    if cx.instance.statement_events().consumers() & statement_events::CURRENT == 0 {
        return Ok(());
    }
    let now = cx.instance.env().monotonic_coarse();
    for process in cx.instance.processes() {
        datum::bounds::check()?;
        match process.running() {
            (Some(text), since) => each(running(&process, &text, since, now))?,
            (None, _) => {
                if let Some(event) = process.events().last() {
                    each(ended(process.id, &event))?;
                }
            }
        }
    }
    Ok(())
}

fn history(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let size = cx.instance.statement_events().shown_size();
    for process in cx.instance.processes() {
        datum::bounds::check()?;
        let events = process.events().list();
        let skipped = events.len().saturating_sub(size);
        events.iter().skip(skipped).try_for_each(|event| each(ended(process.id, event)))?;
    }
    Ok(())
}

fn history_long(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for (session, event) in cx.instance.statement_events().long() {
        datum::bounds::check()?;
        each(ended(session, &event))?;
    }
    Ok(())
}
