//! How many entries lie in a range of keys, roughly and cheaply: for planners.
//!
//! A table on disk that lies in the range counts as a whole; of one that reaches across an end of
//! it, the index block says how large a part lies inside. A memtable is counted on a level of its
//! towers that has few nodes in the range. Old versions and deletions count like rows. For a whole
//! tree nothing is read but index blocks, which are in memory as a rule; for a range that covers a
//! few blocks of a table, the two at its ends are read as well.

use std::ops::Bound;

use binlog::LogPosition;

use crate::entry::{TREE_LEN, TreeId};
use crate::error::StoreError;
use crate::sstable::{BlockCursor, Table};
use crate::store::Store;
use crate::view::View;

/// Ranges of so many blocks of a table are counted to the entry at their ends.
const BLOCKS_FEW: usize = 8;

impl Store {
    /// Roughly how many entries of `tree` there are.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Corrupt`] of the table files that are read.
    pub fn estimate(&self, tree: TreeId) -> Result<u64, StoreError> {
        let (first, end) = whole(tree);
        self.current().peek().estimate(&first, &end, false)
    }

    /// Roughly how many entries of `tree` there are between two keys.
    ///
    /// # Errors
    /// Those of [`Self::estimate`].
    pub fn estimate_range(
        &self,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<u64, StoreError> {
        let (start, end) = whole(tree);
        let full = |key: &[u8], after: bool| {
            let mut full = Vec::with_capacity(TREE_LEN + key.len() + 1);
            tree.full_key(key, &mut full);
            // The successor of a key is the key with a zero byte appended.
            full.extend(after.then_some(0));
            full
        };
        let first = match lower {
            Bound::Included(key) => full(key, false),
            Bound::Excluded(key) => full(key, true),
            Bound::Unbounded => start.to_vec(),
        };
        let end = match upper {
            Bound::Excluded(key) => full(key, false),
            Bound::Included(key) => full(key, true),
            Bound::Unbounded => end.to_vec(),
        };
        if first >= end {
            return Ok(0);
        }
        self.current().peek().estimate(&first, &end, true)
    }

    /// Full keys of `tree`, at most so many, evenly spread over its entries as far as index blocks
    /// show. They may be of no row.
    pub(crate) fn spread(&self, tree: TreeId, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let (first, end) = whole(tree);
        self.current().peek().spread(&first, &end, count)
    }
}

/// The full keys at which a tree begins (inclusive) and ends (exclusive).
fn whole(tree: TreeId) -> ([u8; 4], [u8; 4]) {
    (tree.prefix(), TreeId(tree.0.saturating_add(1)).prefix())
}

impl View {
    /// Roughly how many entries there are from the full key `first` up to `end`.
    fn estimate(&self, first: &[u8], end: &[u8], fine: bool) -> Result<u64, StoreError> {
        let mut entries = self.lists().map(|list| list.count_between(first, end) as u64).sum();
        for table in self.tables_between(first, end) {
            entries += table.estimate(first, end, fine)?;
        }
        Ok(entries)
    }

    fn tables_between<'v>(&'v self, first: &'v [u8], end: &'v [u8]) -> impl Iterator<Item = &'v Table> {
        let overlaps =
            |table: &&Table| table.meta.smallest.as_slice() < end && table.meta.largest.as_slice() >= first;
        self.version.tables().map(|(_, table)| &**table).filter(overlaps)
    }

    /// See [`Store::spread`]: each key is of the list or table in which its share of all entries
    /// falls.
    fn spread(&self, first: &[u8], end: &[u8], count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let lists: Vec<_> = self.lists().map(|list| (list, list.count_between(first, end) as f64)).collect();
        let mut tables = Vec::new();
        for table in self.tables_between(first, end) {
            tables.push((table, table.estimate(first, end, false)? as f64));
        }
        let weights = || lists.iter().map(|(_, n)| *n).chain(tables.iter().map(|(_, n)| *n));
        let total: f64 = weights().sum();
        let mut keys = Vec::with_capacity(count);
        for number in 0..count {
            let mut rank = total * (number as f64 + 0.5) / count as f64;
            let Some((source, weight)) = weights().enumerate().find(|(_, weight)| {
                let is_inside = rank < *weight;
                rank -= if is_inside { 0.0 } else { *weight };
                is_inside
            }) else {
                continue;
            };
            let share = rank / weight;
            match lists.get(source) {
                Some((list, _)) => {
                    keys.extend(list.entry_between(first, end, share).map(|e| e.key.to_vec()));
                }
                None => keys.push(tables[source - lists.len()].0.key_between(first, end, share)?),
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }
}

impl Table {
    fn estimate(&self, first: &[u8], end: &[u8], fine: bool) -> Result<u64, StoreError> {
        let meta = &self.meta;
        if meta.smallest.as_slice() >= first && meta.largest.as_slice() < end {
            return Ok(meta.entries);
        }
        let index = self.index()?;
        let [from, to] = self.blocks(first, end)?;
        let in_block = meta.entries as f64 / index.count() as f64;
        let blocks = (to - from) as f64;
        if !fine || to - from > BLOCKS_FEW {
            // Both ends lie in blocks of which about a half is inside.
            return Ok(((blocks + 0.5) * in_block).min(meta.entries as f64) as u64);
        }
        let ([before, len], [inside, _]) = (self.rank_in(from, first)?, self.rank_in(to, end)?);
        if from == to {
            return Ok(inside.saturating_sub(before) as u64);
        }
        let between = (blocks - 1.0) * in_block;
        Ok((len - before + inside) as u64 + between as u64)
    }

    /// The blocks in which keys from `first` on and up to `end` lie, by their numbers.
    fn blocks(&self, first: &[u8], end: &[u8]) -> Result<[usize; 2], StoreError> {
        let index = self.index()?;
        let rank = |key: &[u8]| index.search(key, LogPosition::MAX).map_err(|_| self.index_damaged());
        Ok([rank(first)?, rank(end)?])
    }

    /// The entries of a block before a key, and all of them; there are none in the block
    /// after the last.
    fn rank_in(&self, block: usize, key: &[u8]) -> Result<[usize; 2], StoreError> {
        let index = self.index()?;
        if block >= index.count() {
            return Ok([0, 0]);
        }
        let place = index.value(block).map_err(|_| self.index_damaged())?;
        let handle = self.handle(&index.bytes()[place])?;
        let entries = self.data(handle, true)?;
        let rank = entries.search(key, LogPosition::MAX).map_err(|_| self.damaged(handle, "block"))?;
        Ok([rank, entries.count()])
    }

    /// A key at this share (0 to 1) of those from `first` up to `end`.
    fn key_between(&self, first: &[u8], end: &[u8], share: f64) -> Result<Vec<u8>, StoreError> {
        let index = self.index()?;
        let [from, to] = self.blocks(first, end)?;
        let block = from + ((to - from) as f64 * share) as usize;
        let cursor = BlockCursor::new(index.clone(), block.min(index.count() - 1));
        Ok(cursor.map_err(|_| self.index_damaged())?.entry().key.to_vec())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::store::testing::store;

    #[test]
    fn ranges_are_estimated_in_memory_and_on_disk() {
        let (store, _dir) = store();
        let size = 30_000_u32;
        for key in 0..size {
            let mut batch = WriteBatch::new();
            batch.put(TreeId(7), &key.to_be_bytes(), b"a row of some bytes");
            store.write(&batch, LogPosition::from_u64(1 + u64::from(key)));
        }
        let check = |what: &str| {
            for (from, to) in [(0, 5), (100, 101), (17, 400), (5000, 9000), (29_990, 40_000), (9, 9), (9, 3)]
            {
                let (lower, upper) = (u32::to_be_bytes(from), u32::to_be_bytes(to));
                let (lower, upper) = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
                let estimate = store.estimate_range(TreeId(7), lower, upper).unwrap() as f64;
                let size = f64::from(to.min(size)) - f64::from(from.min(to));
                assert!(
                    estimate >= size * 0.3 - 20.0 && estimate <= size * 3.0 + 20.0,
                    "{what}: {from} to {to} is estimated at {estimate}"
                );
            }
            let keys = store.spread(TreeId(7), 10).unwrap();
            assert_eq!(keys.len(), 10, "{what}");
            for (number, key) in (0..).zip(keys) {
                let key = f64::from(u32::from_be_bytes(key[4..8].try_into().unwrap()));
                let wanted = f64::from(size) * (f64::from(number) + 0.5) / 10.0;
                assert!((key - wanted).abs() < f64::from(size) / 10.0, "{what}: {key} instead of {wanted}");
            }
        };
        check("in memory");
        store.checkpoint(&[]).unwrap();
        check("on disk");
    }

    #[test]
    fn a_tree_is_estimated_in_memory_and_on_disk() {
        let (store, _dir) = store();
        let at = LogPosition::from_u64;
        let sizes = [0_u32, 3, 1000, 20_000];
        for (tree, size) in (1..).zip(sizes) {
            for key in 0..size {
                let mut batch = WriteBatch::new();
                batch.put(TreeId(tree), &key.to_be_bytes(), b"a row of some bytes");
                store.write(&batch, at(u64::from(tree) * 1_000_000 + u64::from(key)));
            }
        }
        let check = |what: &str| {
            for (tree, size) in (1..).zip(sizes) {
                let (estimate, size) = (store.estimate(TreeId(tree)).unwrap() as f64, f64::from(size));
                assert!(
                    estimate >= size * 0.3 - 300.0 && estimate <= size * 3.0 + 300.0,
                    "{what}: tree {tree} of {size} rows is estimated at {estimate}"
                );
            }
        };
        check("in memory");
        store.checkpoint(&[]).unwrap();
        check("on disk");
    }
}
