//! The log as clients see it: SHOW BINARY LOGS and their like, PURGE, RESET.
//!
//! (B1) Nothing after the durable position is shown: a crash could take it back.

use std::time::Duration;

use binlog::event::{
    Decoder, EVENT_LENGTH_MAX, Event, EventError, EventHeader, EventType, TransactionPayloadEvent,
};
use binlog::gtid::GtidSet;
use binlog::log::{FileInfo, Log, Published};
use binlog::{FileNumber, LogPosition};

use super::event_info;
use crate::instance::Instance;
use crate::listing::{Listing, cells, int, text, uint};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use datum::value::temporal::SECOND;
use datum::value::{Datum, temporal_text};
use syntax::ast::{LogEvents, PurgeTo};

/// Log files start with four bytes that are no event.
const FIRST_EVENT: u64 = 4;

/// SHOW BINARY LOGS.
pub(crate) fn files(cx: &Context) -> Listing {
    let mut out = Listing::new([text("Log_name", 255), uint("File_size"), text("Encrypted", 3)]);
    for file in cx.instance.log().files() {
        let encrypted = if cx.instance.log().is_encrypted(file.number) { "Yes" } else { "No" };
        out.push(cells![file.name, file.size, encrypted]);
    }
    out
}

/// SHOW BINARY LOG STATUS: where the visible transactions end, and which these are. In a
/// transaction that began WITH CONSISTENT SNAPSHOT these are the transactions that it sees, so that
/// a dump needs no lock to know where it starts.
pub(crate) fn status(cx: &Context) -> Result<Listing> {
    let log = cx.instance.log();
    let Published { position, gtids } = cx.published_log()?;
    let mut out = Listing::new([
        text("File", 255),
        uint("Position"),
        text("Binlog_Do_DB", 255),
        text("Binlog_Ignore_DB", 255),
        text("Executed_Gtid_Set", 65_535),
    ]);
    out.push(cells![log.file_name(position.file()), position.offset(), "", "", gtids.to_string()]);
    Ok(out)
}

/// What is assigned to `gtid_purged`, taken apart: true if it is to be added, as a `+` in front
/// says. `None`: no set.
pub(crate) fn parse_purged(text: &str) -> Option<(bool, GtidSet)> {
    let text = text.trim();
    let (adds, set) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    Some((adds, set.parse().ok()?))
}

/// SET GLOBAL gtid_purged: transactions are declared as executed, and as not in this log any more.
pub(crate) fn set_purged(cx: &Context, adds: bool, set: &GtidSet) -> Result<()> {
    let cannot = |why: &str| error::CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS.with(&[&why]);
    let log = cx.instance.log();
    let mut added = set.clone();
    if !adds {
        let before = log.gtid_purged().map_err(SqlError::internal)?;
        if !before.is_subset(set) {
            return Err(cannot("the new value must be a superset of the old value"));
        }
        added.subtract(&before);
    }
    if added.is_empty() || log.add_purged(&added).map_err(SqlError::internal)? {
        return Ok(());
    }
    Err(cannot("the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED"))
}

/// SHOW BINLOG EVENTS: the events of one file, the first unless one is named, `count` of them after
/// `skip` others. Rows go out as they are read.
pub(crate) fn events(
    cx: &mut Context,
    which: &LogEvents,
    skip: u64,
    count: u64,
    sink: &mut dyn ResultSink,
) -> Result<()> {
    let log = cx.instance.log().clone();
    let file = match &which.file {
        Some(name) => named(&log, name).ok_or_else(|| cannot_show("Could not find target log"))?,
        None => log.files().into_iter().next().ok_or_else(|| cannot_show("Could not find target log"))?,
    };
    let from = which.from.unwrap_or(FIRST_EVENT).max(FIRST_EVENT);
    let columns = Listing::new([
        text("Log_name", 20),
        int("Pos"),
        text("Event_type", 20),
        uint("Server_id"),
        int("End_log_pos"),
        text("Info", 65_535),
    ]);
    let mut output = columns.begin(cx, sink)?;
    if LogPosition::new(file.number, from) >= log.durable() {
        return Ok(());
    }
    let mut reader =
        log.reader(LogPosition::new(file.number, from)).map_err(|e| cannot_show(&e.to_string()))?;
    let mut decoder: Option<Decoder> = None;
    let mut seen = 0;
    while seen - skip.min(seen) < count {
        cx.check_interrupt()?;
        let next = reader.next(Duration::ZERO).map_err(|e| cannot_show(&e.to_string()))?;
        let Some(event) = next.filter(|event| event.file == file.number) else { break };
        let decoder = decoder.get_or_insert_with(|| Decoder::new(event.fde.clone()));
        let (header, decoded) = decoder.decode(event.bytes).map_err(unreadable)?;
        let end = u64::from(header.end_log_pos);
        let mut show = |header: &EventHeader, event: &Event<'_>, start: u64| -> Result<()> {
            seen += 1;
            if seen <= skip || seen - skip > count {
                return Ok(());
            }
            output.row(&mut [
                Datum::borrowed(file.name.as_bytes()),
                Datum::UInt(start),
                Datum::borrowed(header.event_type.name().as_bytes()),
                Datum::UInt(header.server_id.into()),
                Datum::UInt(end),
                Datum::borrowed(&event_info::info(header, event)),
            ])
        };
        show(&header, &decoded, event.start)?;
        if let Event::TransactionPayload(payload) = &decoded {
            // Events inside have no place of their own: MySQL shows them where theirs ends.
            let format = TransactionPayloadEvent::inner_format(decoder.format());
            let mut inside = payload.events(EVENT_LENGTH_MAX as usize).map_err(unreadable)?;
            let mut decoder = Decoder::new(format);
            while let Some(bytes) = inside.next_event().map_err(unreadable)? {
                let (header, decoded) = decoder.decode(bytes).map_err(unreadable)?;
                show(&header, &decoded, end)?;
            }
        }
    }
    Ok(())
}

fn unreadable(error: EventError) -> SqlError {
    cannot_show(&error.to_string())
}

fn named(log: &Log, name: &[u8]) -> Option<FileInfo> {
    let name = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
    log.files().into_iter().find(|file| file.name.as_bytes() == name)
}

fn cannot_show(why: &str) -> SqlError {
    error::ERROR_WHEN_EXECUTING_COMMAND.with(&[&"SHOW BINLOG EVENTS", &why])
}

/// PURGE BINARY LOGS. A file that somebody is sent stays, and those after it, with warning 1867 as
/// in MySQL; so does what recovery still needs, whatever was asked for (1868).
pub(crate) fn purge(cx: &mut Context, to: &PurgeTo) -> Result<()> {
    let log = cx.instance.log().clone();
    let keep = match to {
        PurgeTo::File(name) => {
            named(&log, name).ok_or_else(|| error::BINLOG_PURGE_UNKNOWN_LOG.plain())?.number
        }
        PurgeTo::Before(moment) => first_since(&log, unix_micros(cx, moment)?)?,
    };
    check_nothing_aside(&cx.instance)?;
    let asked = log.files().iter().filter(|file| file.number < keep).count();
    let (until, readers) = match first_read(&cx.instance) {
        Some((file, readers)) if file < keep => (file, readers),
        _ => (keep, 0),
    };
    let removed = cx.instance.engine().purge_log_to(until).map_err(SqlError::internal)?;
    tracing::info!("purged {} binary log files before {}", removed.len(), log.file_name(keep));
    // Of what is removed meanwhile by another nothing is said.
    let first = log.files().first().map_or(keep, |file| file.number);
    let stays = format!("./{}", log.file_name(first));
    if first == until && readers > 0 {
        cx.warn(error::WARN_PURGE_LOG_IN_USE.with(&[&stays, &readers, &removed.len(), &asked]));
    } else if first < until {
        cx.warn(error::WARN_PURGE_LOG_IS_ACTIVE.with(&[&stays]));
    }
    Ok(())
}

/// The oldest file that a connection is being sent, and how many are sent that one.
fn first_read(instance: &Instance) -> Option<(FileNumber, usize)> {
    let sent = instance.replicas().sent();
    let files: Vec<FileNumber> = sent.iter().filter_map(|sent| Some(sent.position?.file())).collect();
    let first = *files.iter().min()?;
    Some((first, files.iter().filter(|file| **file == first).count()))
}

/// Error 1378 while an object is set aside: what the log has of it is needed to bring it back.
fn check_nothing_aside(instance: &Instance) -> Result<()> {
    match instance.catalog().state().set_aside.values().next() {
        None => Ok(()),
        Some(object) => {
            let mut error = error::LOG_IN_USE.plain();
            error.message +=
                &format!(": {} is set aside, and may need any of the log to be repaired", object.key);
            Err(error)
        }
    }
}

/// RESET BINARY LOGS AND GTIDS: commits, and the log begins anew in a file of this number. The
/// tables keep everything.
pub(crate) fn reset(cx: &mut Context, number: u64) -> Result<()> {
    /// What MySQL leaves below the last number that a name may have.
    const NUMBER_MAX: u32 = 2_000_000_000;
    let named = u32::try_from(number).ok().filter(|number| (1..=NUMBER_MAX).contains(number));
    let named =
        named.ok_or_else(|| error::RESET_SOURCE_TO_VALUE_OUT_OF_RANGE.with(&[&number, &NUMBER_MAX]))?;
    check_nothing_aside(&cx.instance)?;
    let _closed = cx.begin_reset()?;
    cx.instance.engine().reset_log(named).map_err(SqlError::internal)?;
    tracing::info!(
        "the binary log begins anew with {}",
        cx.instance.log().file_name(cx.instance.log().end().file())
    );
    Ok(())
}

/// Removes the log files that were left for the next one more than `binlog_expire_logs_seconds`
/// ago, as far as recovery can do without them; nothing where that is 0 or
/// `binlog_expire_logs_auto_purge` is off.
pub fn purge_expired_log_files(instance: &Instance) -> Result<()> {
    let globals = instance.globals();
    let seconds = globals.uint(ids::BINLOG_EXPIRE_LOGS_SECONDS);
    let is_needed = check_nothing_aside(instance).is_err();
    if seconds == 0 || is_needed || !globals.bool(ids::BINLOG_EXPIRE_LOGS_AUTO_PURGE) {
        return Ok(());
    }
    let log = instance.log();
    let now = i64::try_from(instance.env().now()).unwrap_or(i64::MAX);
    let mut keep = first_since(log, now - seconds as i64 * SECOND)?;
    if let Some((read, _)) = first_read(instance) {
        keep = keep.min(read);
    }
    if log.files().first().is_none_or(|oldest| oldest.number >= keep) {
        return Ok(());
    }
    let removed = instance.engine().purge_log_to(keep).map_err(SqlError::internal)?;
    if let (Some(&first), Some(&last)) = (removed.first(), removed.last()) {
        tracing::info!(
            "the log files {} to {} are expired and purged",
            log.file_name(first),
            log.file_name(last)
        );
    }
    Ok(())
}

/// A date and time of the session's zone, in microseconds since 1970.
fn unix_micros(cx: &mut Context, moment: &syntax::ast::Expr) -> Result<i64> {
    let value = super::evaluate(cx, moment)?;
    let local = match &value {
        Datum::DateTime(moment) => Some(*moment),
        Datum::Date(date) => Some(date.midnight()),
        other => temporal_text::parse_datetime(&other.to_bytes()).map(|read| read.value),
    };
    let local = local.and_then(|moment| moment.unix_micros());
    let local = local.ok_or_else(|| error::WRONG_ARGUMENTS.with(&[&"PURGE LOGS BEFORE"]))?;
    Ok(cx.settings.zone().to_utc(local).micros)
}

/// The oldest file that was still written to at or after a moment. A file was left when the next
/// one was begun, which the next one's first event says.
fn first_since(log: &Log, moment: i64) -> Result<FileNumber> {
    let files = log.files();
    for pair in files.windows(2) {
        if begun(log, pair[1].number)? >= moment {
            return Ok(pair[0].number);
        }
    }
    Ok(files.last().map_or(FileNumber(0), |file| file.number))
}

/// When a file was begun, in microseconds since 1970.
fn begun(log: &Log, file: FileNumber) -> Result<i64> {
    let mut reader = log.reader(LogPosition::new(file, FIRST_EVENT)).map_err(SqlError::internal)?;
    let first = reader.next(Duration::ZERO).map_err(SqlError::internal)?;
    let header = first.filter(|e| e.header.event_type == EventType::FORMAT_DESCRIPTION).map(|e| e.header);
    Ok(header.map_or(i64::MAX, |h| i64::from(h.timestamp) * SECOND))
}
