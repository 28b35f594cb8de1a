//! Which MariaDB GTID a transaction has, and where the transaction of a GTID is.
//!
//! All transactions are in one domain, for the log is one order. A transaction's sequence number is
//! its number in that order: how many transactions the log's header counts in front of its file
//! (Previous_gtids), and its number in the file. The server's number is that of its events'
//! headers: the server that it was first committed on.
//!
//! So the number grows by one from transaction to transaction, whatever their MySQL GTIDs are, and
//! follows from the files alone. On a server that has only transactions of its own it is the GTID's
//! number, too.

use super::super::DumpError;
use binlog::event::{Event, EventHeader, MariadbGtid, decode};
use binlog::gtid::GtidSet;
use binlog::log::{Log, LogError, LogReader};
use binlog::{FileNumber, LogPosition};
use std::time::Duration;

/// The domain of all transactions.
pub const DOMAIN: u32 = 0;
/// The first event's offset.
const FIRST_EVENT: u64 = 4;

/// Where a stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// The log file's name.
    pub(super) file: String,
    /// The first event's offset in it.
    pub(super) offset: u64,
    /// How many transactions are in the files before it.
    pub(super) before: u64,
}

/// How many GTIDs a set has, if that is a sequence number.
pub(super) fn count(previous: &GtidSet) -> Option<u64> {
    u64::try_from(previous.count()).ok().filter(|&count| count < u64::MAX / 2)
}

/// The start of a stream at an offset in a file; an empty name is the oldest file.
///
/// # Errors
/// [`DumpError::Fatal`] if there is no such file.
pub(super) fn by_position(log: &Log, file: &[u8], offset: u64) -> Result<Start, DumpError> {
    let files = log.files();
    let found = files.iter().find(|f| file.is_empty() || f.name.as_bytes() == file);
    let found = found.ok_or_else(|| DumpError::Fatal(super::super::NO_SUCH_FILE.into()))?;
    Ok(Start { file: found.name.clone(), offset, before: before(log, found.number)? })
}

/// The start of a stream for a replica that has everything up to `state`, GTIDs with commas between
/// them (`@slave_connect_state`). Those of other domains are of other sources.
///
/// # Errors
/// [`DumpError::Fatal`] if the text is none, or the position is not there (any more), in MariaDB's
/// words.
pub(super) fn by_gtid(log: &Log, state: &str) -> Result<Start, DumpError> {
    let malformed = || DumpError::Fatal(format!("Could not parse GTID list: '{state}'"));
    let mut wanted = None;
    for text in state.split(',').filter(|text| !text.trim().is_empty()) {
        let gtid = parse(text).ok_or_else(malformed)?;
        wanted = if gtid.domain_id == DOMAIN { Some(gtid) } else { wanted };
    }
    let sequence = wanted.map_or(0, |gtid| gtid.sequence);
    let durable = log.durable().file();
    for file in log.files().iter().rev().filter(|file| file.number <= durable) {
        let before = match before(log, file.number) {
            Ok(before) if before <= sequence => before,
            Ok(_) => continue,
            Err(DumpError::Fatal(text)) if text == super::super::NO_SUCH_FILE => break,
            Err(error) => return Err(error),
        };
        let start = |offset| Start { file: file.name.clone(), offset, before };
        if before == sequence {
            return Ok(start(FIRST_EVENT));
        }
        let Some(wanted) = wanted else { break };
        return match find(log, file.number, before, wanted.sequence)? {
            Some(found) if found.gtid == wanted => Ok(start(found.end)),
            Some(_) => Err(DumpError::Fatal(diverged(wanted))),
            None => Err(DumpError::Fatal(not_there(wanted))),
        };
    }
    Err(DumpError::Fatal(TOO_OLD.into()))
}

/// The GTID of the last transaction in front of a position in the log: what `binlog_gtid_pos()`
/// gives on MariaDB.
///
/// # Errors
/// As for [`by_position`].
pub fn gtid_at(log: &Log, file: &[u8], offset: u64) -> Result<Option<MariadbGtid>, DumpError> {
    let files = log.files();
    let found = files.iter().find(|f| f.name.as_bytes() == file);
    let number = found.ok_or_else(|| DumpError::Fatal(super::super::NO_SUCH_FILE.into()))?.number;
    let before = before(log, number)?;
    let mut last = None;
    let mut groups = Groups::open(log, number, before)?;
    while let Some(group) = groups.next()? {
        if group.end > offset {
            break;
        }
        last = Some(group.gtid);
    }
    Ok(last)
}

/// The GTID that a text is, `domain-server-sequence`.
pub fn parse(text: &str) -> Option<MariadbGtid> {
    let mut parts = text.trim().splitn(3, '-');
    let (domain, server, sequence) = (parts.next()?, parts.next()?, parts.next()?);
    Some(MariadbGtid {
        domain_id: domain.parse().ok()?,
        server_id: server.parse().ok()?,
        sequence: sequence.parse().ok()?,
    })
}

/// How many transactions are in front of a file.
fn before(log: &Log, number: FileNumber) -> Result<u64, DumpError> {
    count(&log.previous_gtids(number)?).ok_or_else(|| DumpError::Fatal("too many GTIDs".into()))
}

/// A group of the file that is searched.
struct Found {
    gtid: MariadbGtid,
    end: u64,
}

/// The group with this number.
fn find(log: &Log, file: FileNumber, before: u64, sequence: u64) -> Result<Option<Found>, DumpError> {
    let mut groups = Groups::open(log, file, before)?;
    while let Some(group) = groups.next()? {
        if group.gtid.sequence == sequence {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

/// Walks the groups of one file.
struct Groups {
    reader: LogReader,
    file: FileNumber,
    before: u64,
}

impl Groups {
    fn open(log: &Log, file: FileNumber, before: u64) -> Result<Self, LogError> {
        Ok(Self { reader: log.reader(LogPosition::new(file, FIRST_EVENT))?, file, before })
    }

    fn next(&mut self) -> Result<Option<Found>, DumpError> {
        loop {
            let Some(event) = self.reader.next(Duration::ZERO)? else { return Ok(None) };
            if event.file != self.file {
                return Ok(None);
            }
            let Some((gtid, length)) = opening(&event.header, event.bytes, event.fde) else { continue };
            let server_id = event.header.server_id;
            let (start, sequence) = (event.start, self.before + gtid);
            let end = start + length;
            self.reader.skip_to(LogPosition::new(self.file, end))?;
            let gtid = MariadbGtid { domain_id: DOMAIN, server_id, sequence };
            return Ok(Some(Found { gtid, end }));
        }
    }
}

/// Of an event that opens a group: its transaction's number in the file, and the group's length.
fn opening(header: &EventHeader, bytes: &[u8], fde: &binlog::event::FormatDescription) -> Option<(u64, u64)> {
    match header.event_type.is_gtid().then(|| decode(bytes, fde)) {
        Some(Ok(Event::Gtid(gtid))) => Some((gtid.sequence_number, gtid.commit?.transaction_length)),
        _ => None,
    }
}

const TOO_OLD: &str = "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old \
    and required binlog files have been purged.";

fn not_there(wanted: MariadbGtid) -> String {
    format!(
        "Error: connecting slave requested to start from GTID {wanted}, which is not in the master's binlog"
    )
}

fn diverged(wanted: MariadbGtid) -> String {
    format!(
        "{}. Since the master's binlog contains GTIDs with higher sequence numbers, it probably means that the slave has \
         diverged due to executing extra erroneous transactions",
        not_there(wanted)
    )
}
