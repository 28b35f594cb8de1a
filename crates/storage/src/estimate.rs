//! How many entries lie in a range of keys, roughly and cheaply: for planners.
//!
//! A table on disk that lies in the range counts as a whole; of one that reaches across an end of it, the index block says
//! how large a part lies inside. A memtable is counted on a level of its towers that has few nodes in the range. Old
//! versions and deletions count like rows, and nothing is read but index blocks, which are in memory as a rule.

use binlog::position::LogPosition;

use crate::entry::TreeId;
use crate::error::StoreError;
use crate::sstable::Table;
use crate::store::Store;
use crate::view::View;

impl Store {
    /// Roughly how many entries of `tree` there are.
    pub fn estimate(&self, tree: TreeId) -> Result<u64, StoreError> {
        let (first, behind) = (tree.prefix(), TreeId(tree.0.saturating_add(1)).prefix());
        self.current().peek().estimate(&first, &behind)
    }
}

impl View {
    /// Roughly how many entries there are from the full key `first` up to `behind`.
    fn estimate(&self, first: &[u8], behind: &[u8]) -> Result<u64, StoreError> {
        let mut entries = self.lists().map(|list| list.count_between(first, behind) as u64).sum();
        for (_, table) in self.version.tables() {
            let meta = &table.meta;
            if meta.smallest.as_slice() < behind && meta.largest.as_slice() >= first {
                entries += table.estimate(first, behind)?;
            }
        }
        Ok(entries)
    }
}

impl Table {
    fn estimate(&self, first: &[u8], behind: &[u8]) -> Result<u64, StoreError> {
        let meta = &self.meta;
        if meta.smallest.as_slice() >= first && meta.largest.as_slice() < behind {
            return Ok(meta.entries);
        }
        let index = self.index()?;
        let rank = |key: &[u8]| index.search(key, LogPosition::MAX).map_err(|_| self.index_damaged());
        let blocks = rank(behind)? - rank(first)?;
        // Both ends lie in blocks of which about a half is inside.
        let share = (blocks as f64 + 0.5) / index.count() as f64;
        Ok((meta.entries as f64 * share.min(1.0)) as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::store::testing::store;

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
