//! Tables on disk: sorted, immutable, each block checksummed.
//!
//! A file holds data blocks, a filter over its keys, an index of its data blocks, its properties
//! and a footer; the byte tables are in `docs/formats/tables.md`. It is written once, front to
//! back, flushed, then named by the manifest.
//!
//! - [`block`]: entries in a block, and searching it.
//! - [`filter`]: says "surely not here" for most keys that a table lacks.
//! - [`builder`]: writing a file.
//! - [`table`]: opening it, reading blocks, gets.
//! - [`cursor`]: moving over one table, and over a whole level.
//!
//! (T1) Entries of a file stand in the store's order (O1 of `entry.rs`), no place twice.
//! (T2) All versions of a key that a file holds are all that its level holds (beyond level 0): keys
//!      are never split.
//! (T3) Bytes are used only after their checksum, seeded with the file's number and the block's
//!      place, was found right.

pub(crate) mod block;
pub(crate) mod builder;
pub(crate) mod cursor;
pub(crate) mod filter;
pub(crate) mod table;

pub(crate) use block::BlockCursor;
pub(crate) use builder::{Compression, TableBuilder};
pub(crate) use cursor::{LevelCursor, TableCursor};
pub(crate) use table::{Graveyard, Table, TableContext};

use crate::entry::{TREE_LEN, TreeId};
use binlog::LogPosition;
use stdx::cursor::{Cursor, Truncated, put_lenenc, put_lenenc_bytes};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// What is known of a table without opening it. Stored in the manifest and in the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableMeta {
    /// The number in the file's name.
    pub(crate) number: u64,
    /// Length of the file in bytes.
    pub(crate) size: u64,
    /// Number of entries.
    pub(crate) entries: u64,
    /// How many of them are deletions.
    pub(crate) tombstones: u64,
    /// How many were retained for a snapshot although a newer version replaces them.
    pub(crate) outlived: u64,
    /// Position of the oldest entry.
    pub(crate) position_min: LogPosition,
    /// Position of the newest entry.
    pub(crate) position_max: LogPosition,
    /// First full key.
    pub(crate) smallest: Vec<u8>,
    /// Last full key.
    pub(crate) largest: Vec<u8>,
}

impl TableMeta {
    /// True if the table can hold keys from `first` to `last`, both included.
    pub(crate) fn overlaps(&self, first: &[u8], last: &[u8]) -> bool {
        self.smallest.as_slice() <= last && first <= self.largest.as_slice()
    }

    /// True if the table can hold keys of `tree`.
    pub(crate) fn may_hold(&self, tree: TreeId) -> bool {
        TreeId::of(&self.smallest) <= tree && tree <= TreeId::of(&self.largest)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.number, self.size, self.entries, self.tombstones, self.outlived] {
            put_lenenc(out, number);
        }
        put_lenenc(out, self.position_min.to_u64());
        put_lenenc(out, self.position_max.to_u64());
        put_lenenc_bytes(out, &self.smallest);
        put_lenenc_bytes(out, &self.largest);
    }

    pub(crate) fn decode(input: &mut Cursor<'_>) -> Result<TableMeta, Truncated> {
        let meta = TableMeta {
            number: input.lenenc()?,
            size: input.lenenc()?,
            entries: input.lenenc()?,
            tombstones: input.lenenc()?,
            outlived: input.lenenc()?,
            position_min: LogPosition::from_u64(input.lenenc()?),
            position_max: LogPosition::from_u64(input.lenenc()?),
            smallest: input.lenenc_bytes()?.to_vec(),
            largest: input.lenenc_bytes()?.to_vec(),
        };
        let is_full_key = |key: &[u8]| key.len() >= TREE_LEN;
        let is_sound = is_full_key(&meta.smallest) && meta.smallest <= meta.largest;
        if is_sound { Ok(meta) } else { Err(Truncated) }
    }
}

/// Where a block lies in its file, its trailer included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

impl Handle {
    pub(crate) const LEN: usize = 12;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..8].copy_from_slice(&self.offset.to_le_bytes());
        out[8..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    pub(crate) fn decode(input: &mut Cursor<'_>) -> Result<Handle, Truncated> {
        Ok(Handle { offset: input.u64()?, len: input.u32()? })
    }
}

/// The trailer after each block: how it is packed (1), its unpacked length (4), checksum (8) of
/// block and trailer so far.
pub(crate) const TRAILER_LEN: usize = 13;
pub(crate) const PACKED_NOT: u8 = 0;
pub(crate) const PACKED_LZ4: u8 = 1;

/// Handles of index, filter and properties (36), version (4), checksum (8), magic (8).
pub(crate) const FOOTER_LEN: usize = 56;
pub(crate) const FORMAT_VERSION: u32 = 1;
pub(crate) const MAGIC: [u8; 8] = *b"DURAMEN\x01";

const _: () = assert!(Handle::LEN == size_of::<u64>() + size_of::<u32>());
const _: () = assert!(TRAILER_LEN == 1 + size_of::<u32>() + size_of::<u64>());
const _: () = assert!(FOOTER_LEN == 3 * Handle::LEN + 4 + 8 + 8);

/// The checksum of bytes at `offset` of file `number` (T3): bytes in the wrong place count as
/// damaged, too.
pub(crate) fn checksum(number: u64, offset: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, number.rotate_left(40) ^ offset)
}

/// The hash of a full key that filters are made of.
pub(crate) fn key_hash(full_key: &[u8]) -> u64 {
    xxh3_64(full_key)
}
