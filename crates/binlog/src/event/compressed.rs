//! MariaDB's `log_bin_compress`: query and row events whose last part went through zlib.
//!
//! | bits, bytes | field |
//! | --- | --- |
//! | bit 7 | always set |
//! | bits 4..6 | algorithm: 0 zlib |
//! | bits 0..2 | n, 1 to 4 |
//! | n bytes | length before compression, big-endian |
//! | rest | zlib stream |
//!
//! Source: MariaDB Knowledge Base, "Compressing Events to Reduce Size of the Binary Log", and files
//! recorded from MariaDB 10.11.

use std::io::Read;

use stdx::cursor::Cursor;

use super::{EventError, QueryEvent};

/// Compressed bytes whose header was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressed<'a> {
    stored: &'a [u8],
    stream: &'a [u8],
    uncompressed_len: usize,
}

impl<'a> Compressed<'a> {
    pub(super) fn new(stored: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(stored);
        let head = c.u8()?;
        if head & 0x80 == 0 || head & 0x70 != 0 {
            return Err(EventError::Unsupported("compression algorithm"));
        }
        let n = usize::from(head & 7);
        if !(1..=4).contains(&n) {
            return Err(EventError::Malformed("length of compressed data"));
        }
        let uncompressed_len = c.take(n)?.iter().fold(0, |len, &b| len << 8 | usize::from(b));
        Ok(Self { stored, stream: c.take_remaining(), uncompressed_len })
    }

    /// The bytes as the event has them.
    pub(crate) fn stored(&self) -> &'a [u8] {
        self.stored
    }

    /// The bytes before compression. Memory grows with what the stream really holds, and ends at
    /// `limit`.
    ///
    /// # Errors
    /// `EventError::TooLarge` beyond `limit`, `EventError::Malformed` if the stream is broken or
    /// has another length than it says.
    pub(crate) fn uncompress(&self, limit: usize) -> Result<Vec<u8>, EventError> {
        if self.uncompressed_len > limit {
            return Err(EventError::TooLarge(self.uncompressed_len as u64));
        }
        let mut out = Vec::new();
        let mut stream = flate2::read::ZlibDecoder::new(self.stream).take(self.uncompressed_len as u64 + 1);
        stream.read_to_end(&mut out).map_err(|_| EventError::Malformed("zlib stream"))?;
        if out.len() == self.uncompressed_len {
            Ok(out)
        } else {
            Err(EventError::Malformed("length of compressed data"))
        }
    }
}

/// MariaDB's compressed query event: all but the statement is plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryCompressedEvent<'a> {
    /// The event, its statement empty.
    pub query: QueryEvent<'a>,
    /// The statement.
    pub sql: Compressed<'a>,
}

impl<'a> QueryCompressedEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut query = QueryEvent::decode(body, 0)?;
        let std::borrow::Cow::Borrowed(stored) = std::mem::take(&mut query.sql) else {
            return Err(EventError::Malformed("compressed statement"));
        };
        Ok(Self { query, sql: Compressed::new(stored)? })
    }

    /// The event with its statement, if that has at most `limit` bytes.
    ///
    /// # Errors
    /// `EventError::TooLarge` beyond `limit`, `EventError::Malformed` if the stream is broken.
    pub fn uncompress(&self, limit: usize) -> Result<QueryEvent<'a>, EventError> {
        let sql = self.sql.uncompress(limit)?.into();
        Ok(QueryEvent { sql, ..self.query.clone() })
    }
}
