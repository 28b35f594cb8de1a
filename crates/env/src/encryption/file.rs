//! An encrypted file, whose positions are those of its content.
//!
//! | where in the file | what |
//! | --- | --- |
//! | 0 | the header, 8192 bytes |
//! | 8192 | the content in blocks of 16 bytes, each encrypted by itself; the last is filled up |
//! | 8192 + length | 15 bytes that say nothing, so that the last block is whole |
//!
//! What callers rely on ((E1) to (E5)) stays true because:
//!
//! (X1) A file of any length holds whole blocks for all of its content: where a write, a full disk
//!      or a power cut left the file's length, the content ends 15 bytes before.
//! (X2) A block is in one sector. One that is written again to append to it is the old block or
//!      the new one, whatever is torn, and both have the bytes that were there.
//! (X3) A block that is all zeros was never written and is zeros ([`super::xts`]); what is after
//!      the end of the content counts for nothing, and is made zeros where the file grows.
//! (X4) A reader of bytes that are written, while bytes after them in the same block are, sees the
//!      block before or after: writers of this process count their writes and name the blocks that
//!      they complete, and a reader that met such a write reads again. Another process that writes
//!      can't be seen; [`super::Encryption::set_watches_other_writers`] reads a last block until it
//!      is twice the same.

use super::header::HEADER;
use super::xts::{BLOCK, Xts};
use crate::File;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Bytes after the content.
const FILLER: u64 = BLOCK as u64 - 1;
const B: u64 = BLOCK as u64;
/// The longest content: more than file systems hold, and sums with it don't overflow.
const END_MAX: u64 = i64::MAX as u64 - (1 << 32);
/// Bytes that are read or written, and thus held twice, at once.
const PART: usize = 1 << 20;

/// What all handles of a file in this process have in common.
pub(super) struct Shared {
    pub(super) xts: Xts,
    writer: Mutex<Writer>,
    /// Twice the writes that completed blocks, and 1 more while there is one.
    writes: AtomicU64,
    /// The blocks that the last of them completed.
    completed: [AtomicU64; 2],
}

#[derive(Default)]
struct Writer {
    /// The content's length, once it was asked for and as long as nothing failed.
    len: Option<u64>,
    /// The block in which the last write ended, decrypted.
    last: Option<(u64, [u8; BLOCK])>,
}

impl Shared {
    pub(super) fn new(xts: Xts) -> Self {
        let completed = [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)];
        Self { xts, writer: Mutex::default(), writes: AtomicU64::new(0), completed }
    }
}

/// A handle of it.
pub(super) struct EncryptedFile {
    pub(super) inner: Arc<dyn File>,
    pub(super) shared: Arc<Shared>,
    pub(super) watches_other_writers: bool,
}

impl EncryptedFile {
    /// Reads and decrypts blocks from number `first` on; `bytes` says how many bytes are wanted,
    /// and is cut to what there is before the file's end, [`FILLER`] included.
    fn read_blocks(&self, bytes: &mut Vec<u8>, first: u64) -> io::Result<()> {
        let n = self.inner.read_at(bytes, HEADER + first * B)?;
        bytes.truncate(n);
        let whole = n / BLOCK * BLOCK;
        self.shared.xts.decrypt(&mut bytes[..whole], first);
        Ok(())
    }

    /// As [`Self::read_blocks`], where blocks may be completed meanwhile (X4).
    fn read_among_writers(&self, wanted: usize, first: u64) -> io::Result<Vec<u8>> {
        let shared = &self.shared;
        let blocks = first..first + (wanted / BLOCK) as u64 + 1;
        for _ in 0..3 {
            let mut bytes = vec![0; wanted];
            let begun = shared.writes.load(SeqCst);
            self.read_blocks(&mut bytes, first)?;
            if shared.writes.load(SeqCst) == begun && begun.is_multiple_of(2) {
                return Ok(bytes);
            }
            let is_met = shared.completed.iter().any(|block| blocks.contains(&block.load(SeqCst)));
            // If it was one write, that began or ended meanwhile or did neither, these are its
            // blocks.
            if !is_met && shared.writes.load(SeqCst) - begun <= 1 {
                return Ok(bytes);
            }
        }
        let mut bytes = vec![0; wanted];
        let _writer = shared.writer.lock();
        self.read_blocks(&mut bytes, first)?;
        Ok(bytes)
    }

    /// Has the block at the end of the first `len` bytes read until it is twice the same.
    fn await_same(&self, bytes: &mut [u8], first: u64, len: usize) -> io::Result<()> {
        let at = (len - 1) / BLOCK * BLOCK;
        for _ in 0..1000 {
            let mut again = vec![0; BLOCK];
            self.read_blocks(&mut again, first + (at / BLOCK) as u64)?;
            if again.len() < BLOCK || again[..] == bytes[at..at + BLOCK] {
                return Ok(());
            }
            bytes[at..at + BLOCK].copy_from_slice(&again);
        }
        Ok(())
    }

    fn content_len(&self) -> io::Result<u64> {
        Ok(self.inner.len()?.saturating_sub(HEADER + FILLER))
    }

    fn known_len(&self, writer: &mut Writer) -> io::Result<u64> {
        match writer.len {
            Some(len) => Ok(len),
            None => Ok(*writer.len.insert(self.content_len()?)),
        }
    }

    /// The block with this number, zeros after the content's end.
    fn block(&self, writer: &Writer, number: u64, len: u64) -> io::Result<[u8; BLOCK]> {
        let valid = len.saturating_sub(number * B).min(B) as usize;
        if let Some((last, block)) = writer.last
            && last == number
        {
            return Ok(block);
        }
        let mut block = [0; BLOCK];
        if valid > 0 {
            let mut bytes = vec![0; BLOCK];
            self.read_blocks(&mut bytes, number)?;
            let bytes = bytes.get(..valid).ok_or(io::ErrorKind::UnexpectedEof)?;
            block[..valid].copy_from_slice(bytes);
        }
        Ok(block)
    }

    /// Makes what is after the content's end zeros, before the file grows by more than a write
    /// there (X3).
    fn fill_up(&self, writer: &mut Writer, len: u64) -> io::Result<()> {
        let number = len / B;
        // Two blocks: the content's last one, and all of the filler.
        let mut bytes = [0; 2 * BLOCK];
        let end = (len + FILLER - number * B) as usize;
        if !len.is_multiple_of(B) {
            bytes[..BLOCK].copy_from_slice(&self.block(writer, number, len)?);
            self.shared.xts.encrypt(&mut bytes[..BLOCK], number);
        }
        self.completing([number, u64::MAX], || self.inner.write_at(&bytes[..end], HEADER + number * B))
    }

    /// Runs a write that completes these blocks (X4).
    fn completing(&self, blocks: [u64; 2], write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if blocks == [u64::MAX; 2] {
            return write();
        }
        // In this order: a reader that does not find the blocks yet has read before they change,
        // and one that finds the next write's finds that there was one.
        self.shared.writes.fetch_add(1, SeqCst);
        for (slot, block) in self.shared.completed.iter().zip(blocks) {
            slot.store(block, SeqCst);
        }
        let written = write();
        self.shared.writes.fetch_add(1, SeqCst);
        written
    }

    fn write_part(&self, writer: &mut Writer, bytes: &[u8], offset: u64) -> io::Result<()> {
        let len = self.known_len(writer)?;
        let end = offset.saturating_add(bytes.len() as u64);
        if end > END_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if offset > len {
            self.fill_up(writer, len)?;
        }
        let (first, after) = (offset / B, end.div_ceil(B));
        let (skipped, total) = ((offset - first * B) as usize, ((after - first) * B) as usize);
        let mut content = vec![0; total + FILLER as usize];
        content[skipped..][..bytes.len()].copy_from_slice(bytes);
        let mut completed = [u64::MAX; 2];
        if skipped > 0 {
            completed[0] = first;
            content[..skipped].copy_from_slice(&self.block(writer, first, len)?[..skipped]);
        }
        if end < len && !end.is_multiple_of(B) {
            let within = (end % B) as usize;
            completed[1] = after - 1;
            let block = self.block(writer, after - 1, len)?;
            content[total - BLOCK + within..total].copy_from_slice(&block[within..]);
        }
        let mut last = [0; BLOCK];
        last.copy_from_slice(&content[total - BLOCK..total]);
        self.shared.xts.encrypt(&mut content[..total], first);
        // Only where the file grows there is something after the end that has to be there.
        let grown = (end + FILLER - first * B) as usize;
        content.truncate(if end > len { grown } else { total });
        self.completing(completed, || self.inner.write_at(&content, HEADER + first * B))?;
        *writer = Writer { len: Some(len.max(end)), last: Some((after - 1, last)) };
        Ok(())
    }

    fn read_part(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset > END_MAX {
            return Ok(0);
        }
        let first = offset / B;
        let skipped = (offset - first * B) as usize;
        // With the filler: if it is there, so is what was asked for (X1).
        let wanted = skipped + buf.len() + FILLER as usize;
        let mut bytes = self.read_among_writers(wanted, first)?;
        let len = bytes.len().saturating_sub(FILLER as usize);
        if len <= skipped {
            return Ok(0);
        }
        if self.watches_other_writers && !len.is_multiple_of(BLOCK) {
            self.await_same(&mut bytes, first, len)?;
        }
        buf[..len - skipped].copy_from_slice(&bytes[skipped..len]);
        Ok(len - skipped)
    }
}

impl File for EncryptedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        for part in buf.chunks_mut(PART) {
            let n = self.read_part(part, offset + done as u64)?;
            done += n;
            if n < part.len() {
                break;
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut writer = self.shared.writer.lock();
        let mut at = offset;
        for part in bytes.chunks(PART) {
            if let Err(e) = self.write_part(&mut writer, part, at) {
                *writer = Writer::default();
                return Err(e);
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.inner.sync_all()
    }

    fn begin_writing(&self, offset: u64, len: u64) {
        self.inner.begin_writing(HEADER + offset, len);
    }

    fn await_written(&self, offset: u64, len: u64) -> io::Result<()> {
        self.inner.await_written(HEADER + offset, len)
    }

    fn len(&self) -> io::Result<u64> {
        self.content_len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > END_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut writer = self.shared.writer.lock();
        let now = self.known_len(&mut writer)?;
        let before = std::mem::take(&mut *writer);
        if len > now {
            self.fill_up(&mut Writer { len: None, ..before }, now)?;
        }
        self.inner.set_len(if len == 0 { HEADER } else { HEADER + len + FILLER })
    }

    fn is_encrypted(&self) -> bool {
        true
    }
}
