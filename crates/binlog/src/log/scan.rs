//! Reading a log file event by event.
//!
//! [`EventStream`] walks a file through a window of bounded size. [`scan`] finds the true end of a file that was not
//! closed: checksums, positions and the length in each GTID event decide.
//!
//! (R1) A group is complete when its events, each with the right checksum and `end_log_pos`, fill exactly the length
//!      that its GTID event says. The true end is behind the last complete group that has only complete ones before it.

use crate::event::{
    self, ChecksumAlgorithm, Event, EventError, EventHeader, EventType, FormatDescription, LogResetEvent,
    MAGIC, PurgedGtids, flags,
};
use crate::gtid::{Gtid, GtidSet};
use env::File;
use std::io;
use std::sync::Arc;

/// Where the first event is, in bytes.
pub(super) const FIRST_EVENT: u64 = MAGIC.len() as u64;
/// How much is read at once, in bytes.
const WINDOW: usize = 256 << 10;

/// A cursor over a file's events.
pub(super) struct EventStream {
    file: Arc<dyn File>,
    /// Its first `filled` bytes are the file's from `window_start` on.
    window: Vec<u8>,
    filled: usize,
    window_start: u64,
    at: u64,
}

/// Why an event can't be read.
#[derive(Debug)]
pub(super) enum StreamError {
    Io(io::Error),
    /// The bytes are no event.
    Event(EventError),
}

impl From<io::Error> for StreamError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl From<EventError> for StreamError {
    fn from(e: EventError) -> Self {
        Self::Event(e)
    }
}

impl EventStream {
    pub(super) fn new(file: Arc<dyn File>, at: u64) -> Self {
        Self { file, window: Vec::new(), filled: 0, window_start: at, at }
    }

    /// The offset of the next event.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Goes to another offset.
    pub(super) fn seek(&mut self, at: u64) {
        self.at = at;
        if at < self.window_start || at > self.window_start + self.filled as u64 {
            self.filled = 0;
            self.window_start = at;
        }
    }

    /// The next event's header; `None` at `limit`. Nothing behind `limit` is read.
    pub(super) fn header(&mut self, limit: u64) -> Result<Option<EventHeader>, StreamError> {
        if self.at >= limit {
            return Ok(None);
        }
        if limit - self.at < EventHeader::LEN as u64 {
            return Err(EventError::Truncated.into());
        }
        let header = EventHeader::decode(self.load(EventHeader::LEN, limit)?)?;
        let end = self.at + u64::from(header.event_length);
        if end > limit {
            return Err(EventError::Truncated.into());
        }
        if header.end_log_pos != end as u32 {
            return Err(EventError::Malformed("end_log_pos is not where the event ends").into());
        }
        Ok(Some(header))
    }

    /// The whole of the event that `header` opens, its checksum verified, and steps behind it. Takes as much memory as
    /// the event, which lies before `limit`.
    pub(super) fn event(
        &mut self,
        header: &EventHeader,
        fde: &FormatDescription,
        limit: u64,
    ) -> Result<&[u8], StreamError> {
        let length = header.event_length as usize;
        self.load(length, limit)?;
        let from = (self.at - self.window_start) as usize;
        let bytes = &self.window[from..from + length];
        event::split(bytes, fde)?;
        self.at += length as u64;
        Ok(bytes)
    }

    /// Verifies the event that `header` opens and steps behind it, in bounded memory however long it is.
    fn verify(
        &mut self,
        header: &EventHeader,
        fde: &FormatDescription,
        limit: u64,
    ) -> Result<(), StreamError> {
        let length = u64::from(header.event_length);
        if length <= WINDOW as u64 || fde.checksum == ChecksumAlgorithm::Off {
            return self.event(header, fde, limit).map(|_| ());
        }
        let (mut hasher, end) = (crc32fast::Hasher::new(), self.at + length);
        while self.at < end - 4 {
            let n = (end - 4 - self.at).min(WINDOW as u64) as usize;
            hasher.update(&self.load(n, limit)?[..n]);
            self.at += n as u64;
        }
        let crc = self.load(4, limit)?;
        let found = u32::from_le_bytes([crc[0], crc[1], crc[2], crc[3]]);
        self.at = end;
        let computed = hasher.finalize();
        if found == computed { Ok(()) } else { Err(EventError::Checksum { found, computed }.into()) }
    }

    /// At least `n` bytes from the current offset on.
    fn load(&mut self, n: usize, limit: u64) -> Result<&[u8], StreamError> {
        let mut from = (self.at - self.window_start) as usize;
        if from + n > self.filled {
            self.refill(n, limit)?;
            from = 0;
        }
        Ok(&self.window[from..self.filled])
    }

    /// Reads the window anew from the current offset on, `n` bytes at least. Its memory stays, for who follows a growing file
    /// comes here for each little piece of it, and shrinks back behind a long event.
    fn refill(&mut self, n: usize, limit: u64) -> Result<(), StreamError> {
        let want = ((n.max(WINDOW) as u64).min(limit - self.at) as usize).max(n);
        if self.window.len() < want {
            self.window.resize(want, 0);
        } else if self.window.len() > WINDOW.max(want) {
            self.window.truncate(WINDOW.max(want));
            self.window.shrink_to_fit();
        }
        (self.window_start, self.filled) = (self.at, 0);
        self.filled = self.file.read_at(&mut self.window[..want], self.at)?;
        if self.filled < n { Err(EventError::Truncated.into()) } else { Ok(()) }
    }
}

/// What a file's first events say.
pub(super) struct FileHeader {
    pub(super) fde: FormatDescription,
    pub(super) in_use: bool,
    pub(super) previous: GtidSet,
    /// Of these, the ones that were declared as purged.
    pub(super) purged_by_order: GtidSet,
    /// How the log was begun anew, if it was.
    pub(super) reset: Option<LogResetEvent>,
    /// The offset behind them.
    pub(super) end: u64,
}

/// Reads the start of a log file, and leaves the stream behind it.
pub(super) fn read_file_header(stream: &mut EventStream, limit: u64) -> Result<FileHeader, StreamError> {
    let mut magic = [0; MAGIC.len()];
    if stream.file.read_at(&mut magic, 0)? < magic.len() || magic != MAGIC {
        return Err(EventError::Malformed("file does not start with the magic number").into());
    }
    stream.seek(FIRST_EVENT);
    let header = stream.header(limit)?.ok_or(EventError::Truncated)?;
    let fde = FormatDescription::new("", 0);
    let bytes = stream.event(&header, &fde, limit)?;
    let fde = event::decode_format_description(bytes)?;
    let in_use = header.flags & flags::BINLOG_IN_USE != 0;
    let header = stream.header(limit)?.ok_or(EventError::Truncated)?;
    match event::decode(stream.event(&header, &fde, limit)?, &fde)? {
        Event::PreviousGtids(previous) => {
            let purged_by_order = read_own(stream, &fde, limit, |body| PurgedGtids::decode(body).ok()?);
            let reset = read_own(stream, &fde, limit, |body| LogResetEvent::decode(body).ok()?);
            let purged_by_order = purged_by_order.map_or_else(GtidSet::new, |purged| purged.0);
            Ok(FileHeader { fde, in_use, previous: previous.0, purged_by_order, reset, end: stream.at })
        }
        _ => Err(EventError::Malformed("second event is not previous GTIDs").into()),
    }
}

/// The next event of a header, if it is the ignorable one that `decode` knows; anything else is left where it is.
fn read_own<T>(
    stream: &mut EventStream,
    fde: &FormatDescription,
    limit: u64,
    decode: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let start = stream.at;
    let read = stream.header(limit).ok().flatten().filter(|header| header.event_type == EventType::IGNORABLE);
    let bytes = read.and_then(|header| stream.event(&header, fde, limit).ok());
    let own = bytes.and_then(|bytes| match event::decode(bytes, fde) {
        Ok(Event::Ignorable(body)) => decode(body),
        _ => None,
    });
    if own.is_none() {
        stream.seek(start);
    }
    own
}

/// What was found in a file that may not have been closed.
pub(super) struct Scanned {
    pub(super) header: FileHeader,
    /// The true end (R1).
    pub(super) end: u64,
    /// Behind the last group; before a Rotate or Stop event.
    pub(super) groups_end: u64,
    /// Every GTID before the end, those of earlier files too.
    pub(super) gtids: GtidSet,
    /// A Rotate or Stop event is its last.
    pub(super) closed: bool,
}

/// Finds the true end of a file; an error of kind `Event` says that not even its header is whole.
pub(super) fn scan(file: Arc<dyn File>) -> Result<Scanned, StreamError> {
    let limit = file.len()?;
    let mut stream = EventStream::new(file, FIRST_EVENT);
    let header = read_file_header(&mut stream, limit)?;
    let (end, gtids) = (header.end, header.previous.clone());
    let mut scanned = Scanned { header, end, groups_end: end, gtids, closed: false };
    loop {
        match step(&mut stream, &scanned.header.fde, limit) {
            Ok(Step::Group(gtid)) => {
                if let Some(gtid) = gtid {
                    scanned.gtids.add(gtid);
                }
                scanned.groups_end = stream.at();
            }
            Ok(Step::Other) => scanned.groups_end = stream.at(),
            Ok(Step::Closed) => scanned.closed = true,
            Ok(Step::End) | Err(StreamError::Event(_)) => return Ok(scanned),
            Err(e) => return Err(e),
        }
        scanned.end = stream.at();
        if scanned.closed {
            return Ok(scanned);
        }
    }
}

enum Step {
    Group(Option<Gtid>),
    /// A whole event outside any group that this code has no use for; a later version may have written it.
    Other,
    Closed,
    End,
}

/// Reads over one group, or one event outside groups.
fn step(stream: &mut EventStream, fde: &FormatDescription, limit: u64) -> Result<Step, StreamError> {
    let Some(header) = stream.header(limit)? else { return Ok(Step::End) };
    match header.event_type {
        EventType::GTID | EventType::ANONYMOUS_GTID => {}
        EventType::ROTATE | EventType::STOP => {
            return stream.verify(&header, fde, limit).map(|()| Step::Closed);
        }
        _ => return stream.verify(&header, fde, limit).map(|()| Step::Other),
    }
    let start = stream.at();
    let (gtid, length) = decode_gtid(stream.event(&header, fde, limit)?, fde)?;
    let end = start.checked_add(length).filter(|&end| end <= limit).ok_or(EventError::Truncated)?;
    while let Some(header) = stream.header(end)? {
        stream.verify(&header, fde, end)?;
    }
    Ok(Step::Group(gtid))
}

/// What a GTID event says: the identifier, and how many bytes the group has.
pub(super) fn decode_gtid(bytes: &[u8], fde: &FormatDescription) -> Result<(Option<Gtid>, u64), EventError> {
    match event::decode(bytes, fde)? {
        Event::Gtid(gtid) => match gtid.commit {
            Some(commit) if commit.transaction_length > bytes.len() as u64 => {
                Ok((gtid.gtid, commit.transaction_length))
            }
            _ => Err(EventError::Malformed("GTID event does not say how long its group is")),
        },
        _ => Err(EventError::Malformed("not a GTID event")),
    }
}
