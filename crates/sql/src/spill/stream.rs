//! Records in a temporary file: each a key and a payload, in the order in which they were written.
//!
//! ```text
//! block   record..            whole records, about as many as the block size takes
//! record  key length (4, LE)  payload length (4, LE)  key  payload
//! ```

use std::ops::Range;

use super::file::{SpillBlock, SpillFile};
use datum::error::{self, Result, SqlError};

/// Bytes in front of a record's key.
const HEAD: usize = 8;

/// Gathers records into blocks, and writes these.
#[derive(Debug)]
pub(crate) struct Writer {
    size: usize,
    block: Vec<u8>,
    stream: Stream,
}

/// Records that were written.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    blocks: Vec<SpillBlock>,
    records: u64,
}

impl Stream {
    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }
}

impl Writer {
    /// A writer of blocks of about so many bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, block: Vec::new(), stream: Stream::default() }
    }

    /// Writes a record; true if a block begins with it.
    pub(crate) fn push(&mut self, file: &mut SpillFile, key: &[u8], payload: &[u8]) -> Result<bool> {
        if !self.block.is_empty() && self.block.len() + HEAD + key.len() + payload.len() > self.size {
            self.flush(file)?;
        }
        let begins = self.block.is_empty();
        put_record(key, payload, &mut self.block)?;
        self.stream.records += 1;
        if self.block.len() >= self.size {
            self.flush(file)?;
        }
        Ok(begins)
    }

    fn flush(&mut self, file: &mut SpillFile) -> Result<()> {
        self.stream.blocks.push(file.append(&self.block)?);
        self.block.clear();
        // The memory of a block is charged, that of one very large row is not.
        self.block.shrink_to(self.size);
        Ok(())
    }

    /// Writes what is left; what was written.
    pub(crate) fn finish(mut self, file: &mut SpillFile) -> Result<Stream> {
        if !self.block.is_empty() {
            self.flush(file)?;
        }
        Ok(self.stream)
    }
}

/// Appends a record.
pub(super) fn put_record(key: &[u8], payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
    for part in [key, payload] {
        let len = u32::try_from(part.len()).map_err(|_| error::OUT_OF_SORTMEMORY.plain())?;
        out.extend_from_slice(&len.to_le_bytes());
    }
    out.extend_from_slice(key);
    out.extend_from_slice(payload);
    Ok(())
}

/// Reads records from the first on.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    block: Vec<u8>,
    next_block: usize,
    key: Range<usize>,
    payload: Range<usize>,
}

impl Reader {
    /// Goes on to the next record; false after the last one.
    pub(crate) fn advance(&mut self, file: &SpillFile, stream: &Stream) -> Result<bool> {
        if self.payload.end == self.block.len() {
            let Some(&place) = stream.blocks.get(self.next_block) else { return Ok(false) };
            self.next_block += 1;
            (self.key, self.payload) = (0..0, 0..0);
            file.read(place, &mut self.block)?;
        }
        let head = self.payload.end;
        let len = |at: usize| -> Option<usize> {
            let bytes = self.block.get(at..at + 4)?;
            usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
        };
        let lens = len(head).zip(len(head + 4));
        let (key, payload) = lens.ok_or_else(damaged)?;
        let start = head + HEAD;
        let end = start.saturating_add(key).saturating_add(payload);
        if end > self.block.len() {
            return Err(damaged());
        }
        (self.key, self.payload) = (start..start + key, start + key..end);
        Ok(true)
    }

    /// Goes in front of a block's first record.
    pub(crate) fn seek(&mut self, file: &SpillFile, stream: &Stream, block: usize) -> Result<()> {
        (self.key, self.payload) = (0..0, 0..0);
        if self.next_block != block + 1 {
            let place = stream.blocks.get(block).ok_or_else(damaged)?;
            // Nothing is there until it was read.
            self.next_block = 0;
            file.read(*place, &mut self.block)?;
            self.next_block = block + 1;
        }
        Ok(())
    }

    /// True if the record is the last one of its block.
    pub(crate) fn is_at_block_end(&self) -> bool {
        self.payload.end == self.block.len()
    }

    /// The record's key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.block[self.key.clone()]
    }

    /// The record's payload.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.block[self.payload.clone()]
    }
}

/// What was read is not what was written.
pub(super) fn damaged() -> SqlError {
    SqlError::internal("a temporary file is damaged")
}
