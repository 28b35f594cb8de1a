//! Reading the log while it is written: for replicas, change readers and recovery.
//!
//! A reader goes as far as the durable position (G6 of `commit.rs`) and waits there. It reads from
//! the files, whose tail the system has in memory. What it is given was verified: lengths,
//! positions and checksums.

use super::Shared;
use super::error::LogError;
use super::recovery::from_stream;
use super::scan::{self, EventStream, FIRST_EVENT, FileHeader};
use crate::event::{EventHeader, EventType, FormatDescription};
use crate::gtid::Gtid;
use crate::position::{FileNumber, LogPosition};
use env::OpenMode;
use std::sync::Arc;
use std::time::Duration;

/// Walks the events of all files from a position on.
pub struct LogReader {
    shared: Arc<Shared>,
    number: FileNumber,
    stream: EventStream,
    fde: FormatDescription,
    /// No event of this position was read yet: an error means that there is none.
    unproven: bool,
    /// The event given last ends its file.
    has_ended: bool,
}

/// An event as it is in its file.
#[derive(Debug, Clone, Copy)]
pub struct LogEvent<'a> {
    /// The number of the log file that holds it.
    pub file: FileNumber,
    /// Where it starts there.
    pub start: u64,
    /// The 19 bytes at its start, decoded.
    pub header: EventHeader,
    /// All of it: header, body, checksum.
    pub bytes: &'a [u8],
    /// How to decode it; of a format description itself, what was known before it.
    pub fde: &'a FormatDescription,
}

impl LogEvent<'_> {
    /// Where it ends.
    pub fn end(&self) -> LogPosition {
        LogPosition::new(self.file, self.start + self.bytes.len() as u64)
    }
}

/// An event of a complete event group.
#[derive(Debug, Clone, Copy)]
pub struct ReplayedEvent<'a> {
    /// The event; the group's first one is its GTID event.
    pub event: LogEvent<'a>,
    /// The transaction's position: the end of its group.
    pub position: LogPosition,
    /// Its identifier; `None` if it is anonymous.
    pub gtid: Option<Gtid>,
    /// True for the group's last event.
    pub is_last: bool,
}

impl LogReader {
    /// Starts at `from`, which is the end of an event, or the start of a file (offset 0 or 4), of
    /// which the format description is read first. [`LogPosition::ZERO`] is the start of the oldest
    /// file.
    pub(super) fn open(shared: Arc<Shared>, from: LogPosition) -> Result<Self, LogError> {
        let oldest = shared.files.first();
        let from = if from == LogPosition::ZERO { LogPosition::new(oldest, 0) } else { from };
        if from.file() < oldest {
            return Err(LogError::Purged { wanted: from.file(), oldest });
        }
        if from > shared.progress.durable.get() && from.offset() > FIRST_EVENT {
            return Err(LogError::BadPosition(from));
        }
        let mut reader = Self::open_file(shared, from.file())?;
        if from.offset() > FIRST_EVENT {
            reader.fde = reader.file_header()?.fde;
            if from.offset() > reader.limit()? {
                return Err(LogError::BadPosition(from));
            }
            reader.stream.seek(from.offset());
            reader.unproven = true;
        }
        Ok(reader)
    }

    fn open_file(shared: Arc<Shared>, number: FileNumber) -> Result<Self, LogError> {
        let open = || {
            let path = shared.files.folder.log_path(number);
            let file = shared.env.open(&path, OpenMode::Read);
            file.map_err(|e| LogError::io(format!("opening {}", path.display()), e))
        };
        let file = open().or_else(|_| {
            // It may be about to get its name.
            drop(shared.files.lock_index());
            open()
        });
        // Looked at after the opening: in a log that was begun anew meanwhile another file may
        // have the name.
        let oldest = shared.files.first();
        if number < oldest || file.is_err() && number > shared.files.last() {
            return Err(LogError::Purged { wanted: number, oldest });
        }
        let file = file?;
        let fde = FormatDescription::new(&shared.maker.server_version, 0);
        let stream = EventStream::new(file, FIRST_EVENT);
        Ok(Self { shared, number, stream, fde, unproven: false, has_ended: false })
    }

    /// What the file's first two events say; the reader stands after them.
    pub(super) fn file_header(&mut self) -> Result<FileHeader, LogError> {
        let limit = self.limit()?;
        let header = scan::read_file_header(&mut self.stream, limit);
        header.map_err(|e| from_stream(&self.shared.files.folder, self.number, 0, e))
    }

    /// Goes on at `end`, where a group ends that begins with the event given last. Its other events
    /// are not read.
    ///
    /// # Errors
    /// [`LogError::BadPosition`] if this file's durable part does not reach as far.
    pub fn skip_to(&mut self, end: LogPosition) -> Result<(), LogError> {
        if end.file() != self.number || end < self.position() || end.offset() > self.limit()? {
            return Err(LogError::BadPosition(end));
        }
        self.stream.seek(end.offset());
        Ok(())
    }

    /// Where the next event starts.
    pub fn position(&self) -> LogPosition {
        LogPosition::new(self.number, self.stream.at())
    }

    /// The next event; at the end of what is durable, the next one that becomes so within
    /// `timeout`, or `None`.
    ///
    /// The end of a file leads to the next one without a word: its format description follows. (A
    /// closed file ends with a Rotate or Stop event, unless the server crashed.)
    ///
    /// # Errors
    /// [`LogError::Purged`] once the reader's file is. [`LogError::Corrupt`] if the file is
    /// damaged.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<LogEvent<'_>>, LogError> {
        let limit = loop {
            // Read once: a limit of before a rotation and a file of after it would leave out what
            // came between.
            let durable = self.shared.progress.durable.get();
            let limit = self.limit_at(durable)?;
            let here = self.position();
            // What lies after the last event of a closed file is not the log's.
            let is_over = self.has_ended && durable.file() > self.number;
            if here.offset() < limit && !is_over {
                break limit;
            }
            if durable.file() > self.number {
                let next = Self::open_file(self.shared.clone(), self.number.next())?;
                *self = next;
            } else if !self.shared.progress.wait_past(here, timeout) {
                return Ok(None);
            }
        };
        let Self { shared, number, stream, fde, unproven, has_ended } = self;
        let (number, start, is_unproven) = (*number, stream.at(), *unproven);
        let error = |e| match (is_unproven, from_stream(&shared.files.folder, number, start, e)) {
            // A file that is purged is cut before its name goes.
            _ if number < shared.files.first() => {
                LogError::Purged { wanted: number, oldest: shared.files.first() }
            }
            (true, LogError::Corrupt { .. }) => LogError::BadPosition(LogPosition::new(number, start)),
            (_, error) => error,
        };
        let header = match stream.header(limit) {
            Ok(header) => header.expect("the stream stands before its limit"),
            Err(e) => return Err(error(e)),
        };
        if header.event_type == EventType::FORMAT_DESCRIPTION {
            let bytes = stream.event(&header, fde, limit).map_err(error)?;
            *fde = crate::event::decode_format_description(bytes).map_err(|e| error(e.into()))?;
            stream.seek(start);
        }
        let bytes = stream.event(&header, fde, limit).map_err(error)?;
        *unproven = false;
        *has_ended = matches!(header.event_type, EventType::ROTATE | EventType::STOP);
        Ok(Some(LogEvent { file: number, start, header, bytes, fde }))
    }

    /// How far this reader may go in its file now.
    fn limit(&self) -> Result<u64, LogError> {
        self.limit_at(self.shared.progress.durable.get())
    }

    /// How far it may go in its file while so much is durable.
    fn limit_at(&self, durable: LogPosition) -> Result<u64, LogError> {
        if durable.file() == self.number {
            return Ok(durable.offset());
        }
        match self.shared.files.closed_size(self.number) {
            Some(size) => Ok(size),
            None => Err(LogError::Purged { wanted: self.number, oldest: self.shared.files.first() }),
        }
    }
}

/// Gives every event of the complete groups after `from`, as far as the log is durable now, to
/// `visitor`.
pub(super) fn replay<E: From<LogError>>(
    shared: &Arc<Shared>,
    from: LogPosition,
    visitor: &mut dyn FnMut(ReplayedEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let until = shared.progress.durable.get();
    let mut reader = LogReader::open(shared.clone(), from)?;
    let folder = shared.files.folder.clone();
    let mut group: Option<(LogPosition, Option<Gtid>)> = None;
    while reader.position() < until {
        let Some(event) = reader.next(Duration::ZERO)? else { return Ok(()) };
        if event.header.event_type.is_gtid() {
            let scan::GtidHead { gtid, length, .. } = scan::decode_gtid(event.bytes, event.fde)
                .map_err(|e| from_stream(&folder, event.file, event.start, e.into()))?;
            let end = event.start.saturating_add(length).min(LogPosition::OFFSET_MAX);
            group = Some((LogPosition::new(event.file, end), gtid));
        }
        let Some((position, gtid)) = group else { continue };
        if event.end() > position {
            let why = "an event crosses the end of its group";
            return Err(LogError::corrupt(&folder.log_name(event.file), event.start, why).into());
        }
        let is_last = event.end() == position;
        visitor(ReplayedEvent { event, position, gtid, is_last })?;
        if is_last {
            group = None;
        }
    }
    Ok(())
}
