//! Entries in a block, and searching it.
//!
//! The prefix that all keys of the block share is stored once, in front; each entry then holds the
//! suffix of its key. A table of offsets leads to every entry, so a search is a plain binary search
//! over slices, and going backward costs the same as going forward. Restart points with prefixes
//! shared between neighbours lost: they save a few bytes more on long textual keys, which lz4 finds
//! as well, but every search ends in a linear decode, and every step back is one.
//!
//! | part | content |
//! | --- | --- |
//! | head | length of the prefix (u32), number of entries (u32) |
//! | prefix | |
//! | offsets | u32 each: where the entry starts, counted from the block's start |
//! | entries | position (u64); suffix length × 2, plus 1 for a deletion (varint); suffix of the key; value |
//!
//! In memory, a block that stays there has a *head* of each entry after it (u64 each): the first
//! eight bytes of its suffix, filled up with zeros, so that heads are in order where keys are. A
//! search compares those first, which lie next to each other: comparing with an entry itself costs
//! two misses of the processor's cache.
//!
//! An entry ends where the next one starts. All integers are little-endian. The index of a table
//! has the same form: key and position of a block's last entry, and the block's handle as the
//! value.
//!
//! Nothing here trusts the bytes: a block that does not hold together reads as [`Damaged`].

use crate::entry::{Entry, order};
use binlog::LogPosition;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

const HEAD: usize = 8;
/// Length of an entry's head.
const ENTRY_HEAD: usize = 8;

const _: () = assert!(HEAD == 2 * size_of::<u32>());
const _: () = assert!(ENTRY_HEAD == size_of::<u64>());

/// The block's bytes contradict themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// A block in memory. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Block {
    bytes: Arc<[u8]>,
    /// Bytes in use: a buffer may be longer than the block in it.
    len: usize,
    prefix_len: usize,
    count: usize,
    /// The entries' heads are in the buffer, right after the block.
    has_heads: bool,
}

/// One entry of a block: where its parts are.
struct Parts<'a> {
    position: LogPosition,
    suffix: &'a [u8],
    value: Option<Range<usize>>,
}

impl Block {
    /// The block in the first `len` bytes of `bytes`.
    pub(crate) fn new(bytes: Arc<[u8]>, len: usize) -> Result<Block, Damaged> {
        let content = bytes.get(..len).ok_or(Damaged)?;
        let (prefix_len, count) = (u32_at(content, 0)? as usize, u32_at(content, 4)? as usize);
        let offsets = count.checked_mul(4).ok_or(Damaged)?;
        let used = HEAD.checked_add(prefix_len).and_then(|n| n.checked_add(offsets)).ok_or(Damaged)?;
        if used > len || count == 0 {
            return Err(Damaged);
        }
        Ok(Block { bytes, len, prefix_len, count, has_heads: false })
    }

    /// The same block in a buffer of its own, with heads: for one that is searched more than once.
    pub(crate) fn with_heads(self) -> Result<Block, Damaged> {
        let mut bytes = Vec::with_capacity(self.len + self.count * ENTRY_HEAD);
        bytes.extend_from_slice(&self.bytes[..self.len]);
        for index in 0..self.count {
            bytes.extend_from_slice(&head_of(self.parts(index)?.suffix).to_le_bytes());
        }
        Ok(Block { bytes: bytes.into(), has_heads: true, ..self })
    }

    /// Number of entries, at least one.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The bytes that the block is a part of.
    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    fn prefix(&self) -> &[u8] {
        &self.bytes[HEAD..HEAD + self.prefix_len]
    }

    #[inline]
    fn parts(&self, index: usize) -> Result<Parts<'_>, Damaged> {
        let table = HEAD + self.prefix_len;
        let start = u32_at(&self.bytes, table + 4 * index)? as usize;
        let end = match index + 1 < self.count {
            true => u32_at(&self.bytes, table + 4 * (index + 1))? as usize,
            false => self.len,
        };
        let mut input = self.bytes[..self.len].get(start..end).ok_or(Damaged)?;
        let (position, tail) = input.split_first_chunk::<8>().ok_or(Damaged)?;
        input = tail;
        let (suffix_len, is_deleted) = take_suffix_len(&mut input)?;
        let (key, value) = input.split_at_checked(suffix_len).ok_or(Damaged)?;
        let value = (!is_deleted).then_some(end - value.len()..end);
        Ok(Parts { position: LogPosition::from_u64(u64::from_le_bytes(*position)), suffix: key, value })
    }

    /// The number of entries before `(key, position)`.
    pub(crate) fn search(&self, key: &[u8], position: LogPosition) -> Result<usize, Damaged> {
        let prefix = self.prefix();
        let Some(suffix) = key.strip_prefix(prefix) else {
            return Ok(if key < prefix { 0 } else { self.count });
        };
        let (mut low, mut high) = match self.has_heads {
            true => self.with_head(head_of(suffix)),
            false => (0, self.count),
        };
        while low < high {
            let middle = low.midpoint(high);
            let parts = self.parts(middle)?;
            match order(parts.suffix, parts.position, suffix, position) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// From where and to where the first entry lies that is not before a key with this head:
    /// one place only, unless several entries have the head.
    fn with_head(&self, head: u64) -> (usize, usize) {
        let heads = self.bytes[self.len..].as_chunks::<ENTRY_HEAD>().0;
        let low = heads.partition_point(|&other| u64::from_le_bytes(other) < head);
        let is_one = heads.get(low + 1).is_none_or(|&other| u64::from_le_bytes(other) != head);
        (low, if is_one { self.count.min(low + 1) } else { self.count })
    }

    /// The first entry at or after `(key, position)`, if it is a version of `key`: its position
    /// and where its value lies in [`Self::bytes`].
    #[allow(clippy::type_complexity, reason = "position and value, each of which may be missing")]
    pub(crate) fn get(
        &self,
        key: &[u8],
        position: LogPosition,
    ) -> Result<Option<(LogPosition, Option<Range<usize>>)>, Damaged> {
        let index = self.search(key, position)?;
        if index == self.count {
            return Ok(None);
        }
        let parts = self.parts(index)?;
        let is_same = key.strip_prefix(self.prefix()) == Some(parts.suffix);
        Ok(is_same.then_some((parts.position, parts.value)))
    }

    /// Where the value of the first entry at or after `(key, position)` lies, if there is such an
    /// entry: how an index is asked.
    pub(crate) fn get_at_or_after(
        &self,
        key: &[u8],
        position: LogPosition,
    ) -> Result<Option<Range<usize>>, Damaged> {
        let index = self.search(key, position)?;
        if index < self.count { self.value(index).map(Some) } else { Ok(None) }
    }

    /// Where the value of entry `index` lies in [`Self::bytes`]; the entry must have one.
    pub(crate) fn value(&self, index: usize) -> Result<Range<usize>, Damaged> {
        self.parts(index)?.value.ok_or(Damaged)
    }
}

/// The first bytes of a key's suffix as a number that compares as they do.
fn head_of(suffix: &[u8]) -> u64 {
    match suffix.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => suffix
            .iter()
            .fold(0, |head, &byte| head << 8 | u64::from(byte))
            .unbounded_shl(8 * (ENTRY_HEAD - suffix.len()) as u32),
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> Result<u32, Damaged> {
    let four = bytes.get(offset..).and_then(|b| b.first_chunk::<4>()).ok_or(Damaged)?;
    Ok(u32::from_le_bytes(*four))
}

/// Length of the key's suffix, and whether the entry is a deletion.
fn take_suffix_len(input: &mut &[u8]) -> Result<(usize, bool), Damaged> {
    let mut number = 0_u32;
    for shift in (0..28).step_by(7) {
        let (&byte, tail) = input.split_first().ok_or(Damaged)?;
        *input = tail;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(((number >> 1) as usize, number & 1 == 1));
        }
    }
    Err(Damaged)
}

fn put_suffix_len(out: &mut Vec<u8>, len: usize, is_deleted: bool) {
    let mut number = (len as u32) << 1 | u32::from(is_deleted);
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A place in a block.
pub(crate) struct BlockCursor {
    block: Block,
    index: usize,
    /// Key of the entry at `index`; starts with the block's prefix.
    key: Vec<u8>,
    position: LogPosition,
    value: Option<Range<usize>>,
}

impl BlockCursor {
    /// A cursor on entry `index` of the block.
    pub(crate) fn new(block: Block, index: usize) -> Result<BlockCursor, Damaged> {
        let key = Vec::with_capacity(block.prefix_len + 32);
        let mut cursor = BlockCursor { block, index: 0, key, position: LogPosition::ZERO, value: None };
        cursor.key.extend_from_slice(&cursor.block.bytes[HEAD..HEAD + cursor.block.prefix_len]);
        cursor.set(index)?;
        Ok(cursor)
    }

    /// Changes over to entry `index` of another block, keeping the key's memory.
    pub(crate) fn change(&mut self, block: Block, index: usize) -> Result<(), Damaged> {
        self.block = block;
        self.key.clear();
        self.key.extend_from_slice(&self.block.bytes[HEAD..HEAD + self.block.prefix_len]);
        self.set(index)
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Moves to entry `index`, which is below the block's count.
    pub(crate) fn set(&mut self, index: usize) -> Result<(), Damaged> {
        let parts = self.block.parts(index)?;
        self.key.truncate(self.block.prefix_len);
        self.key.extend_from_slice(parts.suffix);
        self.position = parts.position;
        self.value = parts.value;
        self.index = index;
        Ok(())
    }

    /// Moves on; false if there is no entry after.
    pub(crate) fn next(&mut self) -> Result<bool, Damaged> {
        let is_there = self.index + 1 < self.block.count;
        if is_there {
            self.set(self.index + 1)?;
        }
        Ok(is_there)
    }

    /// Moves back; false if there is no entry before.
    pub(crate) fn previous(&mut self) -> Result<bool, Damaged> {
        let is_there = self.index > 0;
        if is_there {
            self.set(self.index - 1)?;
        }
        Ok(is_there)
    }

    /// The entry that the cursor stands on.
    #[inline]
    pub(crate) fn entry(&self) -> Entry<'_> {
        let value = self.value.clone().map(|range| &self.block.bytes[range]);
        Entry { key: &self.key, position: self.position, value }
    }

    /// Key and position of the entry.
    #[inline]
    pub(crate) fn internal_key(&self) -> (&[u8], LogPosition) {
        (&self.key, self.position)
    }
}

/// Collects the entries of one block.
#[derive(Default)]
pub(crate) struct BlockBuilder {
    /// Keys and values, back to back.
    bytes: Vec<u8>,
    entries: Vec<Pending>,
    encoded: Vec<u8>,
}

struct Pending {
    key: Range<usize>,
    position: LogPosition,
    value_len: Option<usize>,
}

impl BlockBuilder {
    /// Adds an entry after all earlier ones.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.key);
        let key = start..self.bytes.len();
        self.bytes.extend_from_slice(entry.value.unwrap_or_default());
        let value_len = entry.value.map(<[u8]>::len);
        self.entries.push(Pending { key, position: entry.position, value_len });
    }

    /// About the length of the block so far.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * 14
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Encodes the block and starts a new one.
    pub(crate) fn finish(&mut self) -> &[u8] {
        let out = &mut self.encoded;
        out.clear();
        let key = |p: &Pending| &self.bytes[p.key.clone()];
        let prefix_len = match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) => common_prefix_len(key(first), key(last)),
            _ => 0,
        };
        let prefix = self.entries.first().map_or(&[][..], |first| &key(first)[..prefix_len]);
        out.extend_from_slice(&(prefix_len as u32).to_le_bytes());
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        out.extend_from_slice(prefix);
        let table = out.len();
        out.resize(table + 4 * self.entries.len(), 0);
        for (i, entry) in self.entries.iter().enumerate() {
            let offset = u32::try_from(out.len()).expect("a block ends soon after its nominal size");
            out[table + 4 * i..][..4].copy_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&entry.position.to_u64().to_le_bytes());
            let suffix = &key(entry)[prefix_len..];
            put_suffix_len(out, suffix.len(), entry.value_len.is_none());
            out.extend_from_slice(suffix);
            out.extend_from_slice(&self.bytes[entry.key.end..][..entry.value_len.unwrap_or(0)]);
        }
        self.bytes.clear();
        self.entries.clear();
        out
    }
}

fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    type Sample = (&'static [u8], u64, Option<&'static [u8]>);

    fn build(entries: &[Sample]) -> Vec<u8> {
        let mut builder = BlockBuilder::default();
        for &(key, position, value) in entries {
            builder.add(&Entry { key, position: at(position), value });
        }
        builder.finish().to_vec()
    }

    fn open(bytes: &[u8]) -> Result<Block, Damaged> {
        Block::new(bytes.into(), bytes.len())
    }

    const ENTRIES: &[Sample] = &[
        (b"key", 9, Some(b"nine")),
        (b"key", 5, None),
        (b"key", 1, Some(b"")),
        (b"key_b", 7, Some(b"seven")),
        (b"keys", 3, None),
    ];

    #[test]
    fn entries_come_back_both_ways() {
        let block = open(&build(ENTRIES)).unwrap();
        let mut cursor = BlockCursor::new(block, 0).unwrap();
        for (i, &(key, position, value)) in ENTRIES.iter().enumerate() {
            assert_eq!(cursor.entry(), Entry { key, position: at(position), value });
            assert_eq!(cursor.next(), Ok(i + 1 < ENTRIES.len()));
        }
        for i in (0..ENTRIES.len()).rev() {
            assert_eq!(cursor.entry().position, at(ENTRIES[i].1));
            assert_eq!(cursor.previous(), Ok(i > 0));
        }
    }

    #[test]
    fn search_finds_the_first_entry_at_or_after() {
        let block = open(&build(ENTRIES)).unwrap();
        check_searches(&block);
        check_searches(&block.with_heads().unwrap());
    }

    fn check_searches(block: &Block) {
        let search = |key: &[u8], position| block.search(key, at(position)).unwrap();
        assert_eq!([search(b"a", 1), search(b"ke", 1), search(b"key", 10), search(b"key", 9)], [0, 0, 0, 0]);
        assert_eq!([search(b"key", 8), search(b"key", 5), search(b"key", 0)], [1, 1, 3]);
        assert_eq!([search(b"key_", 1), search(b"keyz", 1), search(b"z", 1)], [3, 5, 5]);
        assert_eq!(block.get(b"key", at(4)).unwrap().map(|(p, _)| p), Some(at(1)));
        assert_eq!(block.get(b"keys", at(4)), Ok(Some((at(3), None))));
        assert_eq!(block.get(b"keys", at(2)), Ok(None));
        assert_eq!(block.get(b"key_", at(2)), Ok(None));
    }

    /// Suffixes shorter than a head, as long, longer, and such that only trailing zeros distinguish
    /// from the padding.
    #[test]
    fn heads_change_no_search() {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for len in 0..=10 {
            for last in [0_u8, 1, 0xff] {
                keys.push([vec![0; len], vec![last]].concat());
                keys.push([vec![7; len], vec![last]].concat());
            }
        }
        keys.sort();
        keys.dedup();
        let mut builder = BlockBuilder::default();
        for key in keys.iter().step_by(2) {
            for position in [9, 5, 1] {
                builder.add(&Entry { key, position: at(position), value: Some(key) });
            }
        }
        let plain = open(builder.finish()).unwrap();
        let headed = plain.clone().with_heads().unwrap();
        for key in &keys {
            for position in 0..11 {
                assert_eq!(headed.search(key, at(position)), plain.search(key, at(position)), "{key:?}");
            }
        }
    }

    #[test]
    fn no_bytes_panic() {
        let good = build(ENTRIES);
        for len in 0..good.len() {
            exercise(&good[..len]);
        }
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                exercise(&bad);
            }
        }
    }

    fn exercise(bytes: &[u8]) {
        let Ok(block) = open(bytes) else { return };
        let _ = block.get(b"key_b", at(7));
        let _ = block.clone().with_heads().map(|block| block.get(b"key_b", at(7)).is_ok());
        for i in 0..block.count().min(100) {
            if let Ok(cursor) = BlockCursor::new(block.clone(), i) {
                let _ = cursor.entry();
            }
        }
    }
}
