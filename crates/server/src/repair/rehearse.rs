//! The statements that a start would do again, planned as it does before it changes anything: one
//! that can't be followed stops it, or sets objects aside. Bytes and checksums say nothing of that.

use binlog::LogPosition;
use binlog::event::decode_format_description;
use binlog::file::{FileReader, Input};
use binlog::log::{Examined, LogError};
use env::{Env, OpenMode};
use sql::catalog::{Rehearsal, record};
use std::path::Path;

/// What a start would come to.
#[derive(Default)]
pub(super) struct Rehearsed {
    /// The statement that would stop it.
    pub(super) stops: Option<Stop>,
    /// Objects that it would set aside: their names, and why.
    pub(super) aside: Vec<(String, String)>,
}

/// A statement that stops a start.
pub(super) struct Stop {
    /// The file's name, and where its transaction begins and ends in it, in bytes.
    pub(super) file: String,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Why, and the statement.
    pub(super) why: String,
}

/// Why the statements were not read to the end.
enum Ended {
    Stopped(String, LogPosition),
    Unreadable,
}

impl From<LogError> for Ended {
    fn from(_: LogError) -> Self {
        Self::Unreadable
    }
}

/// Plans the statements after `from`, where the catalog has these records. It returns without a
/// finding where the log can't be read: that is reported elsewhere.
pub(super) fn rehearse(
    env: &dyn Env,
    dir: &Path,
    log: &Examined,
    from: LogPosition,
    records: Vec<record::Record>,
) -> Rehearsed {
    let mut rehearsal = Rehearsal::new(records);
    let log_start = log.recovered.reset.map_or(LogPosition::ZERO, |r| LogPosition::new(r.first, 0));
    let outcome = log.statements(from.max(log_start), &mut |query, timestamp, position| {
        if is_bracket(&query.sql) || query.sql.starts_with(b"XA ") {
            return Ok(());
        }
        let planned = rehearsal.statement(query, timestamp, position);
        planned.map_err(|why| Ended::Stopped(why.to_string(), position))
    });
    let mut rehearsed = Rehearsed::default();
    if let Err(Ended::Stopped(why, position)) = outcome {
        let (file, end) = (log.file_name(position.file()), position.offset());
        let start = start_of(env, &dir.join(&file), end).unwrap_or(0);
        rehearsed.stops = Some(Stop { file, start, end, why });
    }
    let aside = rehearsal.set_aside().iter();
    rehearsed.aside = aside.map(|(key, why)| (key.to_string(), why.clone())).collect();
    rehearsed
}

/// `BEGIN` and `COMMIT` around row events mean nothing, as in replay.
fn is_bracket(sql: &[u8]) -> bool {
    [&b"BEGIN"[..], b"COMMIT"].iter().any(|word| sql.eq_ignore_ascii_case(word))
}

/// Where the transaction begins that ends at `end`.
fn start_of(env: &dyn Env, path: &Path, end: u64) -> Option<u64> {
    let file = env.open(path, OpenMode::Read).ok()?;
    let mut reader = FileReader::new(Input::file(file)).ok()?;
    decode_format_description(reader.next_event().ok()??.bytes).ok()?;
    let mut start = None;
    while let Ok(Some(event)) = reader.next_event()
        && event.start < end
    {
        if event.header.event_type.is_gtid() {
            start = Some(event.start);
        }
    }
    start
}
