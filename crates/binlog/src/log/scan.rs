//! Reading a log file event by event.
//!
//! [`EventStream`] walks a file through a window of bounded size. [`scan`] finds the true end of a
//! file that was not closed: checksums, positions and the length in each GTID event decide.
//! [`resync`] finds whole groups after a bad place.
//!
//! (R1) A group is complete when its events, each with the right checksum and `end_log_pos`, fill
//!      exactly the length that its GTID event says. The true end is after the last complete group
//!      that has only complete ones before it.

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
/// The same of a header: most are shorter.
const HEADER_PIECE: usize = 4 << 10;

/// A cursor over a file's events.
pub(super) struct EventStream {
    file: Arc<dyn File>,
    /// Its first `filled` bytes are the file's from `window_start` on.
    window: Vec<u8>,
    filled: usize,
    window_start: u64,
    /// How much is read at once, in bytes.
    piece: usize,
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
        Self { file, window: Vec::new(), filled: 0, window_start: at, piece: WINDOW, at }
    }

    /// As [`Self::new`], to read no more than the header of a file.
    pub(super) fn of_header(file: Arc<dyn File>) -> Self {
        Self { piece: HEADER_PIECE, ..Self::new(file, FIRST_EVENT) }
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

    /// The next event's header; `None` at `limit`. Nothing after `limit` is read.
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

    /// The whole of the event that `header` opens, its checksum verified, and steps after it.
    /// Takes as much memory as the event, which lies before `limit`.
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

    /// Verifies the event that `header` opens and steps after it, in bounded memory however long
    /// it is.
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

    /// Reads the window anew from the current offset on, `n` bytes at least. Its memory stays, for
    /// who follows a growing file comes here for each little piece of it, and shrinks back after a
    /// long event.
    fn refill(&mut self, n: usize, limit: u64) -> Result<(), StreamError> {
        let want = ((n.max(self.piece) as u64).min(limit - self.at) as usize).max(n);
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
    /// The offset after them.
    pub(super) end: u64,
}

/// Reads the start of a log file, and leaves the stream after it.
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
            let purged_by_order = read_own(stream, &fde, limit, |body| PurgedGtids::decode(body).ok()?)?;
            let reset = read_own(stream, &fde, limit, |body| LogResetEvent::decode(body).ok()?)?;
            let purged_by_order = purged_by_order.map_or_else(GtidSet::new, |purged| purged.0);
            Ok(FileHeader { fde, in_use, previous: previous.0, purged_by_order, reset, end: stream.at })
        }
        _ => Err(EventError::Malformed("second event is not previous GTIDs").into()),
    }
}

/// The next event of a header, if it is the ignorable one that `decode` knows; anything else is
/// left where it is. A header is never torn, so an ignorable event that is damaged here is an
/// error: what it says decides how files are numbered.
fn read_own<T>(
    stream: &mut EventStream,
    fde: &FormatDescription,
    limit: u64,
    decode: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, StreamError> {
    let start = stream.at;
    let header = match stream.header(limit) {
        Ok(Some(header)) if header.event_type == EventType::IGNORABLE => header,
        Err(StreamError::Io(e)) => return Err(e.into()),
        _ => return Ok(None),
    };
    let own = match event::decode(stream.event(&header, fde, limit)?, fde)? {
        Event::Ignorable(body) => decode(body),
        _ => None,
    };
    if own.is_none() {
        stream.seek(start);
    }
    Ok(own)
}

/// What was found in a file that may not have been closed.
pub(super) struct Scanned {
    pub(super) header: FileHeader,
    /// The true end (R1).
    pub(super) end: u64,
    /// After the last group; before a Rotate or Stop event.
    pub(super) groups_end: u64,
    /// Every GTID before the end, those of earlier files too.
    pub(super) gtids: GtidSet,
    /// The last of those in this file.
    pub(super) last_gtid: Option<Gtid>,
    /// The `sequence_number` of the first group that was read: numbers begin at 1 in each file.
    pub(super) first_sequence: Option<u64>,
    /// What its last event is, if that is one that ends a file.
    pub(super) closed_by: Option<ClosedBy>,
}

/// An event that ends a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosedBy {
    /// The log went on in the next file.
    Rotate,
    /// A clean shutdown.
    Stop,
}

/// Finds the true end of a file; an error of kind `Event` says that not even its header is whole.
pub(super) fn scan(file: Arc<dyn File>) -> Result<Scanned, StreamError> {
    scan_from(file, 0)
}

/// As [`scan`], without the groups before `from`, where a group ends.
pub(super) fn scan_from(file: Arc<dyn File>, from: u64) -> Result<Scanned, StreamError> {
    let limit = file.len()?;
    let mut stream = EventStream::new(file, FIRST_EVENT);
    let header = read_file_header(&mut stream, limit)?;
    let (end, gtids) = (header.end.max(from), header.previous.clone());
    stream.seek(end);
    let (last_gtid, first_sequence) = (None, None);
    let mut scanned =
        Scanned { header, end, groups_end: end, gtids, last_gtid, first_sequence, closed_by: None };
    loop {
        match scan_step(&mut stream, &scanned.header.fde, limit) {
            Ok(ScanStep::Group(gtid, sequence)) => {
                scanned.first_sequence.get_or_insert(sequence);
                if let Some(gtid) = gtid {
                    scanned.gtids.add(gtid);
                    scanned.last_gtid = Some(gtid);
                }
                scanned.groups_end = stream.at();
            }
            Ok(ScanStep::Other) => scanned.groups_end = stream.at(),
            Ok(ScanStep::Closed(by)) => scanned.closed_by = Some(by),
            Ok(ScanStep::End) | Err(StreamError::Event(_)) => return Ok(scanned),
            Err(e) => return Err(e),
        }
        scanned.end = stream.at();
        if scanned.closed_by.is_some() {
            return Ok(scanned);
        }
    }
}

/// Longer is no Rotate event, in bytes: a file's name has no more.
const ROTATE_MAX: u64 = 600;

/// True if the last event of a file of `len` bytes is a Rotate.
pub(super) fn ends_with_rotate(file: Arc<dyn File>, len: u64) -> io::Result<bool> {
    let fde = FormatDescription::new("", 0);
    let mut stream = EventStream::new(file, len);
    for at in len.saturating_sub(ROTATE_MAX).max(FIRST_EVENT)..len.saturating_sub(EventHeader::LEN as u64) {
        stream.seek(at);
        let verified = match stream.header(len) {
            Ok(Some(header))
                if header.event_type == EventType::ROTATE && at + u64::from(header.event_length) == len =>
            {
                stream.verify(&header, &fde, len)
            }
            Ok(_) | Err(StreamError::Event(_)) => continue,
            Err(StreamError::Io(e)) => return Err(e),
        };
        match verified {
            Ok(()) => return Ok(true),
            Err(StreamError::Event(_)) => {}
            Err(StreamError::Io(e)) => return Err(e),
        }
    }
    Ok(false)
}

enum ScanStep {
    /// A transaction, and its `sequence_number`.
    Group(Option<Gtid>, u64),
    /// A whole event outside any group that this code has no use for; a later version may have
    /// written it.
    Other,
    Closed(ClosedBy),
    End,
}

/// Reads over one group, or one event outside groups.
fn scan_step(stream: &mut EventStream, fde: &FormatDescription, limit: u64) -> Result<ScanStep, StreamError> {
    let Some(header) = stream.header(limit)? else { return Ok(ScanStep::End) };
    match header.event_type {
        kind if kind.is_gtid() => {}
        EventType::ROTATE => {
            return stream.verify(&header, fde, limit).map(|()| ScanStep::Closed(ClosedBy::Rotate));
        }
        EventType::STOP => {
            return stream.verify(&header, fde, limit).map(|()| ScanStep::Closed(ClosedBy::Stop));
        }
        _ => return stream.verify(&header, fde, limit).map(|()| ScanStep::Other),
    }
    let start = stream.at();
    let GtidHead { gtid, sequence, length } = decode_gtid(stream.event(&header, fde, limit)?, fde)?;
    let end = start.checked_add(length).filter(|&end| end <= limit).ok_or(EventError::Truncated)?;
    while let Some(header) = stream.header(end)? {
        stream.verify(&header, fde, end)?;
    }
    Ok(ScanStep::Group(gtid, sequence))
}

/// Whole groups after a place where no event is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GroupsAfter {
    /// How many.
    pub(super) whole: u64,
    /// The last of them that has a GTID.
    pub(super) last_gtid: Option<Gtid>,
    /// Commit times, in microseconds since 1970: of the first GTID event that is whole, and the
    /// latest of a whole group.
    pub(super) committed: Option<(u64, u64)>,
}

/// GTID events are shorter, in bytes.
const GTID_EVENT_MAX: u32 = 512;

/// Finds the whole groups between `from` and `limit`, at any offset: a header that says where it
/// is, checksums, and the length in the GTID event identify them (R1). Takes bounded
/// memory, and reads each byte a few times at most: bytes that only pretend to be groups end the
/// search when they have cost that.
pub(super) fn resync(
    file: Arc<dyn File>,
    fde: &FormatDescription,
    from: u64,
    limit: u64,
) -> io::Result<GroupsAfter> {
    let (mut stream, mut groups_after) = (EventStream::new(file, from), GroupsAfter::default());
    let mut budget = 4 * limit.saturating_sub(from);
    while let Some(header) = stream.find_gtid_event(limit)? {
        let start = stream.at();
        let committed =
            whole(stream.event(&header, fde, limit).map(|bytes| committed_at(bytes, fde)))?.flatten();
        if let Some(committed) = committed {
            let (first, _) = *groups_after.committed.get_or_insert((committed, committed));
            stream.seek(start);
            if let Some(ScanStep::Group(gtid, _)) = whole(scan_step(&mut stream, fde, limit))? {
                groups_after.whole += 1;
                groups_after.last_gtid = gtid.or(groups_after.last_gtid);
                let last = groups_after.committed.map_or(committed, |(_, last)| last.max(committed));
                groups_after.committed = Some((first, last));
                continue;
            }
        }
        let cost = stream.at() - start + u64::from(header.event_length);
        let Some(left) = budget.checked_sub(cost) else { break };
        budget = left;
        stream.seek(start + 1);
    }
    Ok(groups_after)
}

/// Whole transactions in a part of a log file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WholeGroups {
    /// How many.
    pub count: u64,
    /// The last of them that has a GTID.
    pub last_gtid: Option<Gtid>,
}

/// Finds the whole transactions after `from`, where no whole event is, in a file in MySQL's form
/// whose format description is `format`: they say whether bytes are missing at the end, or damaged
/// in the middle.
///
/// # Errors
/// The system's.
pub fn whole_groups_after(
    file: Arc<dyn File>,
    format: &FormatDescription,
    from: u64,
) -> io::Result<WholeGroups> {
    let limit = file.len()?;
    let groups_after = resync(file, format, from, limit)?;
    Ok(WholeGroups { count: groups_after.whole, last_gtid: groups_after.last_gtid })
}

/// What was read, if it was as it should be.
fn whole<T>(read: Result<T, StreamError>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(StreamError::Event(_)) => Ok(None),
        Err(StreamError::Io(e)) => Err(e),
    }
}

/// When a transaction was committed, by its GTID event, in microseconds since 1970.
fn committed_at(bytes: &[u8], fde: &FormatDescription) -> Option<u64> {
    match event::decode(bytes, fde) {
        Ok(Event::Gtid(gtid)) => gtid.commit.map(|commit| commit.immediate_commit_timestamp),
        _ => None,
    }
}

impl EventStream {
    /// Goes on to the next place before `limit` that looks like the header of a GTID event.
    fn find_gtid_event(&mut self, limit: u64) -> io::Result<Option<EventHeader>> {
        while self.at + EventHeader::LEN as u64 <= limit {
            let at = self.at;
            let window = match self.load(EventHeader::LEN, limit) {
                Ok(window) => window,
                Err(StreamError::Io(e)) => return Err(e),
                Err(StreamError::Event(_)) => return Ok(None),
            };
            let found = window.windows(EventHeader::LEN).enumerate().find_map(|(i, bytes)| {
                if !EventType(bytes[4]).is_gtid() {
                    return None;
                }
                let header = EventHeader::decode(bytes).ok()?;
                let end = at + i as u64 + u64::from(header.event_length);
                let is_there =
                    header.event_length <= GTID_EVENT_MAX && end <= limit && header.end_log_pos == end as u32;
                is_there.then_some((i, header))
            });
            let searched = (window.len() - EventHeader::LEN + 1) as u64;
            match found {
                Some((i, header)) => {
                    self.at += i as u64;
                    return Ok(Some(header));
                }
                None => self.at += searched,
            }
        }
        Ok(None)
    }
}

/// What a GTID event says.
pub(super) struct GtidHead {
    pub(super) gtid: Option<Gtid>,
    /// Its `sequence_number`.
    pub(super) sequence: u64,
    /// How many bytes the group has.
    pub(super) length: u64,
}

/// Reads a GTID event. It fails if that does not say how long its group is.
pub(super) fn decode_gtid(bytes: &[u8], fde: &FormatDescription) -> Result<GtidHead, EventError> {
    match event::decode(bytes, fde)? {
        Event::Gtid(gtid) => match gtid.commit {
            Some(commit) if commit.transaction_length > bytes.len() as u64 => Ok(GtidHead {
                gtid: gtid.gtid,
                sequence: gtid.sequence_number,
                length: commit.transaction_length,
            }),
            _ => Err(EventError::Malformed("GTID event does not say how long its group is")),
        },
        _ => Err(EventError::Malformed("not a GTID event")),
    }
}
