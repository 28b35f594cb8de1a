//! Writing a table: entries in order, front to back; the caller flushes the file.

use super::block::BlockBuilder;
use super::{FORMAT_VERSION, Handle, MAGIC, PACKED_LZ4, PACKED_NOT, TableMeta, checksum, filter, key_hash};
use crate::entry::{Entry, order};
use binlog::LogPosition;
use env::{File, Trail};
use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

/// A data block ends when it has grown to this, in bytes.
const BLOCK_SIZE: usize = 8 << 10;
/// Bytes collected for one write.
const WRITE_SIZE: usize = env::PIECE;

/// How blocks are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Only blocks of a large row or a few: for tables that are soon merged again. Writing 35 kB of
    /// text costs the file system more than lz4 takes to make it small; many small rows are better
    /// written at once.
    LargeRows,
    /// Every block, where it saves at least an eighth.
    All,
}

impl Compression {
    fn wants(self, block: &[u8]) -> bool {
        self == Compression::All || block.len() >= 2 * BLOCK_SIZE
    }
}

/// Writes one table. If anything fails the file is of no use, and is to be removed.
pub(crate) struct TableBuilder {
    file: Arc<dyn File>,
    compression: Compression,
    /// Where `pending` goes.
    written: u64,
    trail: Trail,
    pending: Vec<u8>,
    data: BlockBuilder,
    index: BlockBuilder,
    hashes: Vec<u64>,
    last_key: Vec<u8>,
    last_position: LogPosition,
    meta: TableMeta,
}

impl TableBuilder {
    /// Starts table `number` in `file`, which is empty.
    pub(crate) fn new(file: Arc<dyn File>, number: u64, compression: Compression) -> TableBuilder {
        TableBuilder {
            file,
            compression,
            written: 0,
            trail: Trail::default(),
            pending: Vec::with_capacity(WRITE_SIZE + 2 * BLOCK_SIZE),
            data: BlockBuilder::default(),
            index: BlockBuilder::default(),
            hashes: Vec::new(),
            last_key: Vec::new(),
            last_position: LogPosition::ZERO,
            meta: TableMeta {
                number,
                size: 0,
                entries: 0,
                tombstones: 0,
                outlived: 0,
                position_min: LogPosition::MAX,
                position_max: LogPosition::ZERO,
                smallest: Vec::new(),
                largest: Vec::new(),
            },
        }
    }

    /// Adds an entry, which stands after all earlier ones (T1).
    pub(crate) fn add(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let is_new_key = self.meta.entries == 0 || entry.key != self.last_key;
        if is_new_key {
            assert!(self.meta.entries == 0 || entry.key > self.last_key.as_slice(), "T1: keys ascend");
            self.hashes.push(key_hash(entry.key));
            self.last_key.clear();
            self.last_key.extend_from_slice(entry.key);
        } else {
            let by_place = order(&self.last_key, self.last_position, entry.key, entry.position);
            assert_eq!(by_place, Ordering::Less, "T1: versions of a key descend");
        }
        if self.meta.entries == 0 {
            self.meta.smallest.extend_from_slice(entry.key);
        }
        self.last_position = entry.position;
        self.meta.entries += 1;
        self.meta.tombstones += u64::from(entry.value.is_none());
        self.meta.position_min = self.meta.position_min.min(entry.position);
        self.meta.position_max = self.meta.position_max.max(entry.position);
        self.data.add(entry);
        if self.data.size() >= BLOCK_SIZE { self.end_block() } else { Ok(()) }
    }

    /// Counts an entry, just added, that only a snapshot needs.
    pub(crate) fn count_outlived(&mut self) {
        self.meta.outlived += 1;
    }

    /// Length of the file so far, about.
    pub(crate) fn size(&self) -> u64 {
        self.written + (self.pending.len() + self.data.size()) as u64
    }

    /// The last full key added.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Writes the last blocks and the footer; the file is returned to be flushed. At least one
    /// entry was added.
    pub(crate) fn finish(mut self) -> io::Result<(TableMeta, Arc<dyn File>)> {
        assert!(self.meta.entries > 0, "a table has entries");
        if !self.data.is_empty() {
            self.end_block()?;
        }
        self.meta.largest.extend_from_slice(&self.last_key);
        let filter = filter::build(&self.hashes);
        let filter = self.put_block(&filter, PACKED_NOT, filter.len())?;
        let index = self.index.finish().to_vec();
        let index = self.put_block(&index, PACKED_NOT, index.len())?;
        let mut properties = Vec::new();
        self.meta.encode(&mut properties);
        let properties = self.put_block(&properties, PACKED_NOT, properties.len())?;
        self.put_footer(index, filter, properties);
        self.write_pending()?;
        self.meta.size = self.written;
        Ok((self.meta, self.file))
    }

    fn end_block(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.data);
        let content = block.finish();
        let packed = self.compression.wants(content).then(|| lz4_flex::block::compress(content));
        let handle = match packed {
            Some(packed) if packed.len() < content.len() - content.len() / 8 => {
                self.put_block(&packed, PACKED_LZ4, content.len())?
            }
            _ => self.put_block(content, PACKED_NOT, content.len())?,
        };
        self.data = block;
        let (key, position) = (self.last_key.as_slice(), self.last_position);
        self.index.add(&Entry { key, position, value: Some(&handle.encode()) });
        Ok(())
    }

    fn put_block(&mut self, payload: &[u8], packed: u8, unpacked_len: usize) -> io::Result<Handle> {
        let too_long = |_| io::Error::other("block beyond 4 GiB");
        let start = self.pending.len();
        let offset = self.written + start as u64;
        self.pending.extend_from_slice(payload);
        self.pending.push(packed);
        self.pending.extend_from_slice(&u32::try_from(unpacked_len).map_err(too_long)?.to_le_bytes());
        let sum = checksum(self.meta.number, offset, &self.pending[start..]);
        self.pending.extend_from_slice(&sum.to_le_bytes());
        let len = u32::try_from(self.pending.len() - start).map_err(too_long)?;
        if self.pending.len() >= WRITE_SIZE {
            self.write_pending()?;
        }
        Ok(Handle { offset, len })
    }

    fn put_footer(&mut self, index: Handle, filter: Handle, properties: Handle) {
        let start = self.pending.len();
        let offset = self.written + start as u64;
        for handle in [index, filter, properties] {
            self.pending.extend_from_slice(&handle.encode());
        }
        self.pending.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let sum = checksum(self.meta.number, offset, &self.pending[start..]);
        self.pending.extend_from_slice(&sum.to_le_bytes());
        self.pending.extend_from_slice(&MAGIC);
    }

    fn write_pending(&mut self) -> io::Result<()> {
        self.trail.write(&*self.file, &self.pending, self.written)?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use env::{Env, OpenMode, PIECE, SimEnv};
    use std::path::Path;

    #[test]
    fn no_flood_of_a_table_stands_before_the_disk() {
        for value_len in [100, 3 * PIECE] {
            let (env, path) = (SimEnv::new(1), Path::new("/t"));
            let file = env.open(path, OpenMode::CreateNew).unwrap();
            let mut builder = TableBuilder::new(file, 1, Compression::LargeRows);
            let mut random = stdx::random::Random::new(1);
            for n in 0..8 * PIECE / value_len {
                let value: Vec<u8> = (0..value_len).map(|_| random.below(256) as u8).collect();
                let (key, position) = (&(n as u64).to_be_bytes()[..], LogPosition::from_u64(1));
                builder.add(&Entry { key, position, value: Some(&value) }).unwrap();
            }
            let (meta, _) = builder.finish().unwrap();
            assert!(meta.size > 6 * PIECE as u64, "{}", meta.size);
            let most = env.backlog_max(path).unwrap() as usize;
            assert!((PIECE..=2 * PIECE + 2 * BLOCK_SIZE + PIECE).contains(&most), "{value_len}: {most}");
        }
    }
}
