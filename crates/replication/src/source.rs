//! Dump: a replica names a place in the log and is sent every event from there on.
//!
//! 1. check     the file and the position must exist; else error 1236 with the words that MySQL's replicas know.
//! 2. preamble  for each file: an artificial Rotate (its name and where reading starts), then its format description.
//! 3. events    as they are in the file, byte by byte, checksums and all.
//! 4. the end   a reader that does not wait is told so; one that waits gets a heartbeat when nothing came for its period.
//!
//! (D1) Nothing is sent that this server could still lose: the reader below stops at the durable position (C3).
//! (D2) The stream is flushed before it waits, so no event is held back.
//! (D3) A wait ends within [`PATIENCE`] of an interrupt, and of the reader's leaving, heartbeats or not.
//!
//! The preamble follows MySQL: artificial events have `end_log_pos` 0, so that a replica's own position does not move,
//! and a format description that is sent in the middle of a file also says that no server started there.

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, EventHeader, EventType, HeartbeatEvent, RotateEvent, flags,
};
use binlog::log::{Log, LogError, LogReader};
use binlog::{FileNumber, LogPosition};
use std::io;
use std::time::Duration;
use thiserror::Error;

/// The longest time between two looks at whether the reader is still wanted.
const PATIENCE: Duration = Duration::from_millis(200);
/// The first event's offset: the format description follows four magic bytes.
const FIRST_EVENT: u64 = 4;
/// Header, binary log version and server version stand before the create timestamp.
const CREATE_TIMESTAMP: usize = EventHeader::LEN + 2 + 50;
const CHECKSUM_LEN: usize = 4;

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
    /// A log file's name; empty for the oldest.
    pub file: &'a [u8],
    /// Offset of the first event in it.
    pub offset: u64,
    /// At the end: wait for more, or be done.
    pub wait: bool,
    /// Whether the first event has a checksum.
    pub checksum: ChecksumWish,
    /// After how much silence to send a sign of life.
    pub heartbeat: Option<Duration>,
    /// This server's id, for the events that are not in the log.
    pub server_id: u32,
}

/// Where the events go.
pub trait Stream {
    /// Sends an event; it may stay in a buffer until [`Stream::flush`].
    fn event(&mut self, event: &[u8]) -> io::Result<()>;
    /// Sends what is buffered.
    fn flush(&mut self) -> io::Result<()>;
    /// True once the reader is no longer wanted: killed, or the server stops. Asked at every event.
    fn is_interrupted(&mut self) -> bool;
    /// True once the reader has left. Asked while there is nothing to send.
    fn is_gone(&mut self) -> bool;
}

/// Why a stream ended before its end.
#[derive(Debug, Error)]
pub enum DumpError {
    /// Error 1236, with this text.
    #[error("{0}")]
    Fatal(String),
    /// It was interrupted.
    #[error("the dump was interrupted")]
    Interrupted,
    /// The reader is gone.
    #[error(transparent)]
    Stream(#[from] io::Error),
}

impl From<LogError> for DumpError {
    fn from(e: LogError) -> Self {
        Self::Fatal(match e {
            LogError::Purged { .. } | LogError::Missing(_) => NO_SUCH_FILE.into(),
            LogError::BadPosition(_) => "bogus data in log event".into(),
            other => other.to_string(),
        })
    }
}

const NO_SUCH_FILE: &str = "Could not find first log file name in binary log index file";

/// Sends the log. Returns at its end, if the request does not wait there.
pub fn dump(log: &Log, request: &Request<'_>, stream: &mut dyn Stream) -> Result<(), DumpError> {
    let from = start(log, request)?;
    let mut reader = log.reader(from)?;
    let mut dump = Dump { log, request, stream, checksum: request.checksum == ChecksumWish::Crc32 };
    if from.offset() > FIRST_EVENT {
        dump.announce(from.file(), from.offset())?;
        dump.old_format_description(from.file())?;
    }
    let mut silence = Duration::ZERO;
    loop {
        if dump.events(&mut reader)? {
            silence = Duration::ZERO;
        }
        dump.stream.flush()?;
        if !request.wait {
            return Ok(());
        }
        if dump.stream.is_interrupted() {
            return Err(DumpError::Interrupted);
        }
        if dump.stream.is_gone() {
            return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
        }
        let heartbeat = request.heartbeat.unwrap_or(Duration::MAX);
        let patience = PATIENCE.min(heartbeat.saturating_sub(silence));
        if dump.await_more(&mut reader, patience)? {
            silence = Duration::ZERO;
            continue;
        }
        silence = silence.saturating_add(patience);
        if silence >= heartbeat {
            dump.heartbeat(reader.position())?;
            silence = Duration::ZERO;
        }
    }
}

/// The place that the request names.
fn start(log: &Log, request: &Request<'_>) -> Result<LogPosition, DumpError> {
    let fatal = |text: &str| DumpError::Fatal(text.into());
    let files = log.files();
    let wanted = |name: &str| request.file.is_empty() || name.as_bytes() == request.file;
    let file = files.iter().find(|f| wanted(&f.name)).ok_or_else(|| fatal(NO_SUCH_FILE))?;
    if request.offset < FIRST_EVENT {
        return Err(fatal("Client requested source to start replication from position < 4"));
    }
    let durable = log.durable();
    let end = if durable.file() == file.number { durable.offset() } else { file.size };
    if request.offset > end {
        return Err(fatal("Client requested source to start replication from position > file size"));
    }
    if request.checksum == ChecksumWish::Unknown {
        return Err(fatal(
            "Replica can not handle replication events with the checksum that source is configured to log",
        ));
    }
    Ok(LogPosition::new(file.number, request.offset))
}

struct Dump<'a> {
    log: &'a Log,
    request: &'a Request<'a>,
    stream: &'a mut dyn Stream,
    /// The next event of our own has a checksum.
    checksum: bool,
}

impl Dump<'_> {
    /// Sends every event that is there; true if there was one.
    fn events(&mut self, reader: &mut LogReader) -> Result<bool, DumpError> {
        let mut any = false;
        while self.await_more(reader, Duration::ZERO)? {
            any = true;
            if self.stream.is_interrupted() {
                return Err(DumpError::Interrupted);
            }
        }
        Ok(any)
    }

    /// Sends the next event, if there is one within `patience`.
    fn await_more(&mut self, reader: &mut LogReader, patience: Duration) -> Result<bool, DumpError> {
        let Some(event) = reader.next(patience)? else { return Ok(false) };
        if event.header.event_type == EventType::FORMAT_DESCRIPTION {
            self.announce(event.file, FIRST_EVENT)?;
            let mut bytes = event.bytes.to_vec();
            close_file(&mut bytes);
            self.send_format_description(&bytes, event.fde.checksum)?;
        } else {
            self.stream.event(event.bytes)?;
        }
        Ok(true)
    }

    /// The artificial Rotate in front of a file.
    fn announce(&mut self, file: FileNumber, position: u64) -> Result<(), DumpError> {
        let name = self.log.file_name(file);
        self.send_own(&RotateEvent { position, file_name: name.as_bytes() }, 0)
    }

    /// The format description of a file that is read from its middle.
    fn old_format_description(&mut self, file: FileNumber) -> Result<(), DumpError> {
        let mut reader = self.log.reader(LogPosition::new(file, FIRST_EVENT))?;
        let event = reader.next(Duration::ZERO)?.ok_or_else(|| DumpError::Fatal(NO_SUCH_FILE.into()))?;
        let mut bytes = event.bytes.to_vec();
        close_file(&mut bytes);
        bytes[EventHeader::END_LOG_POS_OFFSET..][..4].fill(0);
        if let Some(created) = bytes.get_mut(CREATE_TIMESTAMP..CREATE_TIMESTAMP + 4) {
            created.fill(0);
        }
        let body = bytes.len().saturating_sub(CHECKSUM_LEN);
        let crc = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&crc.to_le_bytes());
        self.send_format_description(&bytes, event.fde.checksum)
    }

    fn send_format_description(
        &mut self,
        bytes: &[u8],
        checksum: ChecksumAlgorithm,
    ) -> Result<(), DumpError> {
        // From here on the file's own setting rules.
        self.checksum = checksum == ChecksumAlgorithm::Crc32;
        Ok(self.stream.event(bytes)?)
    }

    /// A sign of life, with the place that the stream has reached.
    fn heartbeat(&mut self, at: LogPosition) -> Result<(), DumpError> {
        let name = self.log.file_name(at.file());
        let event = HeartbeatEvent { file_name: name.as_bytes(), position: at.offset(), v2: false };
        self.send_own(&event, at.offset() as u32)?;
        Ok(self.stream.flush()?)
    }

    /// Sends an event that is in no file.
    fn send_own(&mut self, event: &impl EncodeEvent, end_log_pos: u32) -> Result<(), DumpError> {
        let mut bytes = vec![0; EventHeader::LEN];
        event.encode_body(&mut bytes);
        let length = bytes.len() + if self.checksum { CHECKSUM_LEN } else { 0 };
        let header = EventHeader {
            timestamp: 0,
            event_type: event.event_type(),
            server_id: self.request.server_id,
            event_length: u32::try_from(length).expect("a file name is short"),
            end_log_pos,
            flags: flags::ARTIFICIAL | event.header_flags(),
        };
        bytes[..EventHeader::LEN].copy_from_slice(&header.encode());
        if self.checksum {
            let crc = crc32fast::hash(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
        }
        Ok(self.stream.event(&bytes)?)
    }
}

/// Clears the flag of an open file. The checksum is computed without it.
fn close_file(format_description: &mut [u8]) {
    format_description[EventHeader::FLAGS_OFFSET] &= !(flags::BINLOG_IN_USE as u8);
}

#[cfg(test)]
mod tests;
