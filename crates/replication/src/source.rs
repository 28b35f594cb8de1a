//! Binlog dump: a replica names a position in the log, or the transactions that it has, and is sent
//! every event from there on.
//!
//! 1. start     the file and the position must exist, or the files of all that the reader lacks;
//!    else error 1236 with the words that MySQL's replicas know (`start.rs`).
//! 2. preamble  for each file: an artificial Rotate (its name and where reading starts), then its
//!    format description (`artificial.rs`).
//! 3. events    as they are in the file, byte by byte, checksums and all, but for groups that the
//!    reader has (`skip.rs`).
//! 4. the end   a reader that does not wait gets an EOF; one that waits gets a heartbeat when
//!    nothing came for its period.
//!
//! (D1) Nothing is sent that this server could still lose: the reader below stops at the durable
//!      position (C3 of ARCHITECTURE.md).
//! (D2) The stream is flushed before it waits, so no event is held back.
//! (D3) A wait ends within [`PATIENCE`] of an interrupt, and of the reader's disconnecting,
//!      heartbeats or not.
//! (D4) Replicas are sent what is durable at once, unless they were sent a batch just before: then
//!      a little later, together with what comes meanwhile (`pace.rs`).

mod artificial;
pub mod mariadb;
mod pace;
mod skip;
mod start;

use artificial::{ArtificialEvents, StartPoint};
use binlog::event::EventType;
use binlog::gtid::GtidSet;
use binlog::log::{Log, LogError, LogReader};
use binlog::{FileNumber, LogPosition};
use pace::Pace;
use skip::Skip;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// The longest time between two checks whether the reader is still connected and wanted.
const PATIENCE: Duration = Duration::from_millis(200);
/// The first event's offset: the format description follows four magic bytes.
const FIRST_EVENT: u64 = 4;
/// MySQL's largest `max_allowed_packet`, and so the longest event that a replica takes.
const EVENT_MAX: usize = 1 << 30;

/// What the reader said of checksums before it asked (`@source_binlog_checksum`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumWish {
    /// Nothing: it does not know of checksums, and could not read ours.
    Unknown,
    /// It reads what the format description announces, and wants the first event without.
    None,
    /// It wants them from the first event on.
    Crc32,
}

/// Where and how to read.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// A log file's name; empty for the oldest, or for the one that `has` leads to.
    pub file: &'a [u8],
    /// Offset of the first event in it.
    pub offset: u64,
    /// The transactions that the reader has, if it goes by these (auto-position): they are not
    /// sent.
    pub has: Option<GtidSet>,
    /// At the end: wait for more, or be done.
    pub wait: bool,
    /// Whether the first event has a checksum.
    pub checksum: ChecksumWish,
    /// After how much silence to send a heartbeat.
    pub heartbeat: Option<Duration>,
    /// It reads heartbeats of the second version, whose positions have 64 bits.
    pub heartbeat_v2: bool,
    /// This server's id, for the events that are not in the log.
    pub server_id: u32,
}

/// Where the events go.
pub trait Stream {
    /// Sends an event; it may stay in a buffer until [`Stream::flush`].
    ///
    /// # Errors
    /// Those of sending: the stream ends with [`DumpError::Stream`].
    fn event(&mut self, event: &[u8]) -> io::Result<()>;
    /// Sends what is buffered.
    ///
    /// # Errors
    /// Those of sending: the stream ends with [`DumpError::Stream`].
    fn flush(&mut self) -> io::Result<()>;
    /// True once the reader is no longer wanted: killed, or the server stops. Asked at every event.
    fn is_interrupted(&mut self) -> bool;
    /// True once the reader has disconnected. Asked while there is nothing to send.
    fn is_gone(&mut self) -> bool;
    /// True if commits wait for the reader to have all that is durable: it is never sent later
    /// than it could be.
    fn is_awaited(&self) -> bool {
        false
    }
    /// The next event ends here in the log, unless it is one of the stream's own.
    fn reaches(&mut self, _end: LogPosition) {}
    /// The reader said that it has all before this.
    fn holds(&mut self, _position: LogPosition) {}
    /// Waits until more than `from` is durable, for `patience` at the most, or until the reader
    /// says something that this stream listens to. False if nothing happened.
    ///
    /// # Errors
    /// Those of receiving from the reader: the stream ends with [`DumpError::Stream`].
    fn wait_for_more(&mut self, log: &Log, from: LogPosition, patience: Duration) -> io::Result<bool> {
        Ok(log.wait_durable_past(from, patience))
    }
}

/// Why a stream ended before its end.
#[derive(Debug, Error)]
pub enum DumpError {
    /// Error 1236, with this text.
    #[error("{0}")]
    Fatal(String),
    /// [`Stream::is_interrupted`] said so.
    #[error("the dump was interrupted")]
    Interrupted,
    /// The reader is gone.
    #[error(transparent)]
    Stream(#[from] io::Error),
}

impl From<LogError> for DumpError {
    fn from(e: LogError) -> Self {
        Self::Fatal(match e {
            LogError::Purged { .. } | LogError::Missing { .. } => NO_SUCH_FILE.into(),
            LogError::BadPosition(_) => "bogus data in log event".into(),
            other => other.to_string(),
        })
    }
}

const NO_SUCH_FILE: &str = "Could not find first log file name in binary log index file";
/// The same in the middle of a stream: it was purged, or the log was begun anew.
const NO_NEXT_FILE: &str = "could not find next log";
const TOO_LONG: &str = "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source";

/// Sends the log. Returns at its end, if the request does not wait there.
///
/// # Errors
/// [`DumpError::Fatal`] if the log does not have what is asked for (any more) or can't be read, for
/// the reader as error 1236; [`DumpError::Interrupted`] and [`DumpError::Stream`] as [`Stream`]
/// says.
pub fn dump(log: &Log, request: &Request<'_>, stream: &mut dyn Stream) -> Result<(), DumpError> {
    let start = start::find(log, request)?;
    let from = start.position;
    let mut reader = log.reader(from)?;
    let artificial = ArtificialEvents {
        server_id: request.server_id,
        checksum: request.checksum == ChecksumWish::Crc32,
        heartbeat_v2: request.heartbeat_v2,
    };
    let start_point = if start.resumes { StartPoint::Resumed } else { StartPoint::FileStart };
    let first = log.file_name(from.file());
    let last = (first.clone(), from.offset());
    let mut dump =
        Dump { log, request, stream, artificial, start_point, skip: Skip::new(request.has.as_ref()), last };
    dump.run(&mut reader, from).map_err(|error| match error {
        DumpError::Fatal(text) => {
            let (text, (file, end)) = (if text == NO_SUCH_FILE { NO_NEXT_FILE } else { &text }, &dump.last);
            DumpError::Fatal(format!(
                "{text}; the first event '{first}' at {}, the last event read from './{file}' at {end}, the last byte \
                 read from './{file}' at {}.",
                from.offset(),
                reader.position().offset()
            ))
        }
        other => other,
    })
}

struct Dump<'a> {
    log: &'a Log,
    request: &'a Request<'a>,
    stream: &'a mut dyn Stream,
    artificial: ArtificialEvents,
    /// Where in its file the reader starts, for the next format description.
    start_point: StartPoint,
    skip: Skip<'a>,
    /// The file that it reads, and where the last event ended there.
    last: (String, u64),
}

impl Dump<'_> {
    /// Sends all there is, and then what comes, if that is wanted.
    fn run(&mut self, reader: &mut LogReader, from: LogPosition) -> Result<(), DumpError> {
        if self.request.has.is_none() {
            self.stream.holds(from);
        }
        if from.offset() > FIRST_EVENT {
            self.announce(from.file(), from.offset())?;
            self.old_format_description(from.file())?;
        }
        let mut silence = Duration::ZERO;
        let pace = Pace::new(self.log);
        loop {
            let any = self.events(reader)?;
            self.report_skipped()?;
            self.stream.flush()?;
            if !self.request.wait {
                return Ok(());
            }
            if self.stream.is_interrupted() {
                return Err(DumpError::Interrupted);
            }
            if any {
                silence = Duration::ZERO;
                if !self.stream.is_awaited() {
                    pace.wait_until_due();
                }
            }
            let heartbeat = self.request.heartbeat.unwrap_or(Duration::MAX);
            let patience = PATIENCE.min(heartbeat.saturating_sub(silence));
            if self.stream.wait_for_more(self.log, reader.position(), patience)? {
                continue;
            }
            if self.stream.is_gone() {
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
            }
            silence = silence.saturating_add(patience);
            if silence >= heartbeat {
                self.heartbeat(reader.position())?;
                silence = Duration::ZERO;
            }
        }
    }

    /// Sends every event that is there now; true if there was one.
    fn events(&mut self, reader: &mut LogReader) -> Result<bool, DumpError> {
        let (mut any, until) = (false, self.log.durable());
        while reader.position() < until && self.next(reader)? {
            any = true;
            if self.stream.is_interrupted() {
                return Err(DumpError::Interrupted);
            }
        }
        Ok(any)
    }

    /// Sends the next event, or skips the next group, if there is one.
    fn next(&mut self, reader: &mut LogReader) -> Result<bool, DumpError> {
        let Some(event) = reader.next(Duration::ZERO)? else { return Ok(false) };
        self.last.1 = event.end().offset();
        if let Some(end) = self.skip.group_end(&event).map_err(|e| DumpError::Fatal(e.to_string()))? {
            reader.skip_to(end)?;
            if self.skip.skipped(end, self.log.monotonic(), self.request.heartbeat) {
                self.report_skipped()?;
                self.stream.flush()?;
            }
            return Ok(true);
        }
        self.report_skipped()?;
        if event.bytes.len() > EVENT_MAX {
            return Err(DumpError::Fatal(TOO_LONG.into()));
        }
        if event.header.event_type == EventType::FORMAT_DESCRIPTION {
            self.last.0 = self.log.file_name(event.file);
            self.announce(event.file, FIRST_EVENT)?;
            let start_point = std::mem::replace(&mut self.start_point, StartPoint::FileStart);
            self.stream.event(&self.artificial.format_description(
                event.bytes,
                event.fde.checksum,
                start_point,
            ))?;
        } else {
            self.stream.reaches(event.end());
            self.stream.event(event.bytes)?;
        }
        Ok(true)
    }

    /// The artificial Rotate in front of a file.
    fn announce(&mut self, file: FileNumber, position: u64) -> Result<(), DumpError> {
        Ok(self.stream.event(&self.artificial.rotate(&self.log.file_name(file), position))?)
    }

    /// The format description of a file that is read from its middle.
    fn old_format_description(&mut self, file: FileNumber) -> Result<(), DumpError> {
        let mut reader = self.log.reader(LogPosition::new(file, FIRST_EVENT))?;
        let event = reader.next(Duration::ZERO)?.ok_or_else(|| DumpError::Fatal(NO_SUCH_FILE.into()))?;
        Ok(self.stream.event(&self.artificial.format_description(
            event.bytes,
            event.fde.checksum,
            StartPoint::MidFile,
        ))?)
    }

    /// Sends a heartbeat with the position after what was skipped.
    fn report_skipped(&mut self) -> Result<(), DumpError> {
        match self.skip.take_unreported() {
            Some(end) => Ok(self
                .stream
                .event(&self.artificial.heartbeat(&self.log.file_name(end.file()), end.offset()))?),
            None => Ok(()),
        }
    }

    /// Sends a heartbeat with the position that the stream has reached.
    fn heartbeat(&mut self, at: LogPosition) -> Result<(), DumpError> {
        self.stream.event(&self.artificial.heartbeat(&self.log.file_name(at.file()), at.offset()))?;
        Ok(self.stream.flush()?)
    }
}

#[cfg(test)]
mod tests;
