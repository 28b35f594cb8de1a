//! A binary log file from front to back, whoever wrote it: MySQL, MariaDB or Duramen.
//!
//! Memory is one event and a window of bounded size, however long the file is; what an event's
//! header promises is believed only as far as bytes come. Lengths and checksums are verified, and
//! nothing else: what follows what is for the caller to judge. The log's own files are read by
//! `log::scan`, which knows more of them.

use crate::event::{
    self, EventError, EventHeader, EventType, FormatDescription, MAGIC, decode_format_description, flags,
};
use env::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// How much is read at once, in bytes.
const WINDOW: usize = 256 << 10;

/// Where a file's bytes come from.
pub struct Input(Bytes);

enum Bytes {
    File(BufReader<FileBytes>),
    Stream(BufReader<Box<dyn Read>>),
}

/// A file as the standard library's readers want it.
struct FileBytes {
    file: Arc<dyn File>,
    at: u64,
}

impl Read for FileBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(out, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for FileBytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.len()?.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Input {
    /// A file, from its start.
    pub fn file(file: Arc<dyn File>) -> Self {
        Self(Bytes::File(BufReader::with_capacity(WINDOW, FileBytes { file, at: 0 })))
    }

    /// A pipe.
    pub fn stream(stream: Box<dyn Read>) -> Self {
        Self(Bytes::Stream(BufReader::with_capacity(WINDOW, stream)))
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match &mut self.0 {
            Bytes::File(file) => file,
            Bytes::Stream(stream) => stream,
        }
    }

    /// Steps over `n` bytes; a pipe is read for it.
    fn skip(&mut self, n: u64) -> io::Result<()> {
        match &mut self.0 {
            Bytes::File(file) => file.seek_relative(n.try_into().map_err(|_| io::ErrorKind::InvalidInput)?),
            Bytes::Stream(stream) => io::copy(&mut stream.take(n), &mut io::sink()).map(|_| ()),
        }
    }
}

/// Why a file can't be read on.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin as a binary log does.
    #[error("this is no binary log file: it does not begin with 'fe 62 69 6e'")]
    NotALog,
    /// The bytes are no event.
    #[error("at {at}: {source}")]
    Event {
        /// Where the event starts, in bytes from the file's start.
        at: u64,
        /// What is wrong.
        source: EventError,
    },
}

impl FileError {
    /// True if bytes are missing or damaged, as at the end of a file that is being written.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Event { .. })
    }
}

/// An event as it is in its file.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    /// Where it starts, in bytes from the file's start.
    pub start: u64,
    /// The 19 bytes at its start, decoded.
    pub header: EventHeader,
    /// All of it: header, body, checksum.
    pub bytes: &'a [u8],
}

impl RawEvent<'_> {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// What is after a file's last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEnd {
    /// Nothing.
    Exact,
    /// Zeros: space made ahead, in a file that was not closed.
    Zeros,
}

/// Walks the events of one file.
pub struct FileReader {
    input: Input,
    /// Where the next event starts.
    at: u64,
    event: Vec<u8>,
    format: FormatDescription,
    in_use: bool,
    encrypted: bool,
    end: Option<FileEnd>,
}

impl FileReader {
    /// Starts after the magic number.
    ///
    /// # Errors
    /// [`FileError::NotALog`] if it has no magic number; those of reading.
    pub fn new(mut input: Input) -> Result<Self, FileError> {
        let mut magic = Vec::new();
        input.reader().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic != MAGIC {
            return Err(FileError::NotALog);
        }
        Ok(Self {
            input,
            at: MAGIC.len() as u64,
            event: Vec::new(),
            format: FormatDescription::new("", 0),
            in_use: false,
            encrypted: false,
            end: None,
        })
    }

    /// Where the next event starts.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The format of the events that come next.
    pub fn format(&self) -> &FormatDescription {
        &self.format
    }

    /// True if the file was not closed, by its format description.
    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// How the file ends, once it has.
    pub fn end(&self) -> Option<FileEnd> {
        self.end
    }

    /// Goes on at `at`, which is not before the next event's start.
    ///
    /// # Errors
    /// Those of reading.
    pub fn skip_to(&mut self, at: u64) -> Result<(), FileError> {
        self.input.skip(at.saturating_sub(self.at))?;
        self.at = self.at.max(at);
        Ok(())
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// [`FileError::Event`] if the bytes are none, or are encrypted; those of reading.
    pub fn next_event(&mut self) -> Result<Option<RawEvent<'_>>, FileError> {
        let start = self.at;
        let broken = |source| FileError::Event { at: start, source };
        if self.end.is_some() {
            return Ok(None);
        }
        if self.encrypted {
            return Err(broken(EventError::Unsupported("encrypted events")));
        }
        self.event.clear();
        self.fill(EventHeader::LEN)?;
        if self.event.iter().all(|&b| b == 0) {
            self.end = Some(if self.event.is_empty() { FileEnd::Exact } else { FileEnd::Zeros });
            return Ok(None);
        }
        let header = EventHeader::decode(&self.event).map_err(broken)?;
        self.fill(header.event_length as usize)?;
        if self.event.len() < header.event_length as usize {
            return Err(broken(EventError::Truncated));
        }
        self.take_in(&header).map_err(broken)?;
        self.at += self.event.len() as u64;
        Ok(Some(RawEvent { start, header, bytes: &self.event }))
    }

    /// Where the file ended in zeros: how many bytes there are up to the last one that is not zero;
    /// 0 where it is zeros to the end. Reads all of it.
    ///
    /// # Errors
    /// Those of reading.
    pub fn bytes_after_zeros(&mut self) -> Result<u64, FileError> {
        // The next header would have been zeros.
        let (mut searched, mut last) = (self.event.len() as u64, 0);
        loop {
            let window = self.input.reader().fill_buf()?;
            let n = window.len();
            if n == 0 {
                return Ok(last);
            }
            if let Some(i) = window.iter().rposition(|&b| b != 0) {
                last = searched + i as u64 + 1;
            }
            searched += n as u64;
            self.input.reader().consume(n);
        }
    }

    /// Verifies the event read, and learns from it how to read the next.
    fn take_in(&mut self, header: &EventHeader) -> Result<(), EventError> {
        match header.event_type {
            EventType::FORMAT_DESCRIPTION => {
                self.format = decode_format_description(&self.event)?;
                self.in_use = header.flags & flags::BINLOG_IN_USE != 0;
            }
            kind => {
                event::split(&self.event, &self.format)?;
                self.encrypted = kind == EventType::MARIADB_START_ENCRYPTION;
            }
        }
        Ok(())
    }

    /// Reads until the event has `length` bytes, or to the end. Memory grows with what comes.
    fn fill(&mut self, length: usize) -> Result<(), FileError> {
        let missing = length.saturating_sub(self.event.len()) as u64;
        self.input.reader().take(missing).read_to_end(&mut self.event)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{ChecksumAlgorithm, EventOrigin, StopEvent, append_event};

    const ORIGIN: EventOrigin = EventOrigin { timestamp: 7, server_id: 1, flags: 0 };

    fn file() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        append_event(&mut bytes, &FormatDescription::new("8.4.8", 1), ORIGIN, 4, ChecksumAlgorithm::Crc32);
        let start = bytes.len() as u64;
        append_event(&mut bytes, &StopEvent, ORIGIN, start, ChecksumAlgorithm::Crc32);
        bytes
    }

    fn reader(bytes: &[u8]) -> FileReader {
        FileReader::new(Input::stream(Box::new(io::Cursor::new(bytes.to_vec())))).unwrap()
    }

    /// The types of the events, and how the walk ended.
    fn walk(reader: &mut FileReader) -> (Vec<EventType>, Result<FileEnd, FileError>) {
        let mut types = Vec::new();
        loop {
            match reader.next_event() {
                Ok(Some(event)) => types.push(event.header.event_type),
                Ok(None) => return (types, Ok(reader.end().unwrap())),
                Err(e) => return (types, Err(e)),
            }
        }
    }

    #[test]
    fn a_whole_file_ends_where_it_ends() {
        let (types, end) = walk(&mut reader(&file()));
        assert_eq!(types, [EventType::FORMAT_DESCRIPTION, EventType::STOP]);
        assert_eq!(end.unwrap(), FileEnd::Exact);
    }

    #[test]
    fn zeros_are_an_end_and_what_is_after_them_is_counted() {
        let mut bytes = file();
        bytes.resize(bytes.len() + 1000, 0);
        let mut zeros = reader(&bytes);
        assert_eq!(walk(&mut zeros).1.unwrap(), FileEnd::Zeros);
        assert_eq!(zeros.bytes_after_zeros().unwrap(), 0);
        bytes.push(1);
        let mut zeros = reader(&bytes);
        assert_eq!(walk(&mut zeros).1.unwrap(), FileEnd::Zeros);
        assert_eq!(zeros.bytes_after_zeros().unwrap(), 1001);
    }

    #[test]
    fn a_cut_or_damaged_event_is_told_with_its_place() {
        let whole = file();
        let last = whole.len() - 23;
        for cut in last + 1..whole.len() {
            let error = walk(&mut reader(&whole[..cut])).1.unwrap_err();
            assert_eq!(error.to_string(), format!("at {last}: event is truncated"));
        }
        let mut damaged = whole.clone();
        damaged[last + 20] ^= 1;
        assert!(walk(&mut reader(&damaged)).1.unwrap_err().to_string().contains("checksum"));
        damaged[last + 12] = 0xff; // a length of almost 4 GiB
        assert!(walk(&mut reader(&damaged)).1.unwrap_err().is_damage());
        assert!(FileReader::new(Input::stream(Box::new(io::Cursor::new(b"no".to_vec())))).is_err());
    }

    #[test]
    fn events_may_be_skipped() {
        let bytes = file();
        let mut reader = reader(&bytes);
        reader.skip_to(bytes.len() as u64 - 23).unwrap();
        assert_eq!(reader.next_event().unwrap().unwrap().header.event_type, EventType::STOP);
        assert_eq!(reader.at(), bytes.len() as u64);
    }
}
