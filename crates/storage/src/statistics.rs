//! Index statistics (cardinality) by sampling: for planners, and for people.
//!
//! A small index is walked, and what is counted is exact. In a large one some keys are looked up
//! that are evenly spread over its entries, and the rows around each that have the same leading
//! columns are counted, or estimated where they are many. A row of a group of `n` stands for one
//! `n`th of a distinct value, so the mean of these shares, times the rows, is the number of values:
//! groups are met as often as they have rows. (A count of neighbours that differ, which InnoDB
//! makes in its sample pages, meets no border at all between groups that are larger than a page.)
//!
//! NULL counts as one value (`innodb_stats_method=nulls_equal`).

use std::ops::Bound;

use crate::cursor::Cursor;
use crate::error::StoreError;
use crate::key::prefix_successor;
use crate::schema::Index;
use crate::store::Store;

/// An index of so many rows is walked.
const WALKED_MAX: u64 = 1000;

/// Keys looked up in larger ones, as many as InnoDB reads pages
/// (`innodb_stats_persistent_sample_pages`).
const DIVES: usize = 20;

/// Groups are counted so far, and estimated beyond.
const COUNTED_MAX: u64 = 32;

/// What an index holds, roughly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSample {
    /// How many rows of the table it has, counted or estimated.
    pub rows: u64,
    /// Entries in its tree: rows, old versions and deletions, as [`Store::estimate`] counts.
    pub entries: u64,
    /// Distinct values of its first column, of its first two, and so on.
    pub distinct: Vec<u64>,
    /// Bytes of a row's key and value, on average.
    pub entry_bytes: u64,
}

impl Index {
    /// Samples the index as it is visible now. `rows` is the table's row count, if the caller knows
    /// it already.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Corrupt`] of the table files that are read.
    pub fn sample(&self, store: &Store, rows: Option<u64>) -> Result<IndexSample, StoreError> {
        let entries = store.estimate(self.tree())?;
        let snapshot = store.snapshot_visible();
        let cursor = store.cursor(self.tree(), snapshot.position());
        let mut sampler = Sampler { index: self, store, cursor, bytes: 0, taken: 0, ends: Vec::new() };
        // The estimate may be some times too high: versions and deletions count, and memtables are
        // counted coarsely.
        if entries <= 4 * WALKED_MAX
            && let Some(distinct) = sampler.walk()?
        {
            return Ok(sampler.sample(sampler.taken, entries, distinct));
        }
        let rows = rows.unwrap_or(entries);
        let distinct = sampler.dive(rows)?;
        Ok(sampler.sample(rows, entries, distinct))
    }
}

struct Sampler<'a> {
    index: &'a Index,
    store: &'a Store,
    cursor: Cursor,
    /// Bytes of the rows met.
    bytes: u64,
    /// The rows met.
    taken: u64,
    /// Where the parts of the key at hand end.
    ends: Vec<usize>,
}

impl Sampler<'_> {
    fn sample(&self, rows: u64, entries: u64, distinct: Vec<u64>) -> IndexSample {
        IndexSample { rows, entries, distinct, entry_bytes: self.bytes / self.taken.max(1) }
    }

    /// Takes the row that the cursor stands on into account, and returns its key.
    fn take(&mut self) -> Vec<u8> {
        let key = self.cursor.key().to_vec();
        self.bytes += (key.len() + self.cursor.value().len()) as u64;
        self.taken += 1;
        if self.index.part_ends(&key, &mut self.ends).is_err() {
            // A key that can't be decoded fails when its row is read; here it counts as a distinct
            // value.
            self.ends.clear();
            self.ends.resize(self.index.parts().len(), key.len());
        }
        key
    }

    /// Counts all rows, unless there are too many.
    fn walk(&mut self) -> Result<Option<Vec<u64>>, StoreError> {
        let mut distinct = vec![0; self.index.parts().len()];
        let (mut before, mut ends_before) = (Vec::new(), vec![0; distinct.len()]);
        self.cursor.seek_first()?;
        while self.cursor.valid() {
            if self.taken == WALKED_MAX {
                (self.bytes, self.taken) = (0, 0);
                return Ok(None);
            }
            let key = self.take();
            let is_new = |n: usize| self.taken == 1 || key[..self.ends[n]] != before[..ends_before[n]];
            let first_new = (0..distinct.len()).find(|&n| is_new(n)).unwrap_or(distinct.len());
            distinct[first_new..].iter_mut().for_each(|count| *count += 1);
            before = key;
            ends_before.clone_from(&self.ends);
            self.cursor.next()?;
        }
        Ok(Some(distinct))
    }

    /// Index dives: looks keys up and measures the groups that they belong to, in a table of so
    /// many rows.
    fn dive(&mut self, rows: u64) -> Result<Vec<u64>, StoreError> {
        let mut shares = vec![0.0; self.index.parts().len()];
        for full_key in self.store.spread(self.index.tree(), DIVES)? {
            let key = full_key.strip_prefix(&self.index.tree().prefix()[..]).unwrap_or_default();
            self.cursor.seek(key)?;
            if !self.cursor.valid() {
                self.cursor.seek_last()?;
            }
            if self.cursor.valid() {
                self.measure_groups(&mut shares)?;
            }
        }
        let value_count = |share: &f64| (rows as f64 * share / self.taken.max(1) as f64).round() as u64;
        let mut distinct: Vec<u64> = shares.iter().map(value_count).collect();
        let mut least = 1.min(rows);
        for count in &mut distinct {
            *count = (*count).clamp(least, rows.max(least));
            least = *count;
        }
        Ok(distinct)
    }

    /// Adds the share that the row at hand has in each of its groups.
    fn measure_groups(&mut self, shares: &mut [f64]) -> Result<(), StoreError> {
        let key = self.take();
        let ends = std::mem::take(&mut self.ends);
        let is_row =
            |n: usize| self.index.unique_part(&key).is_ok_and(|part| part.map(<[u8]>::len) == Some(ends[n]));
        let mut size = 1;
        // The groups of fewer columns are larger.
        for n in (0..shares.len()).rev() {
            if !is_row(n) {
                size = self.group_size(&key[..ends[n]], size)?;
            }
            shares[n] += 1.0 / size as f64;
        }
        self.ends = ends;
        Ok(())
    }

    /// How many rows there are whose keys begin so; at least so many.
    fn group_size(&mut self, prefix: &[u8], least: u64) -> Result<u64, StoreError> {
        let mut size = 0;
        if least < COUNTED_MAX {
            self.cursor.seek(prefix)?;
            while size < COUNTED_MAX && self.cursor.valid() && self.cursor.key().starts_with(prefix) {
                size += 1;
                self.cursor.next()?;
            }
            if size < COUNTED_MAX {
                return Ok(size.max(least));
            }
        }
        let end = prefix_successor(prefix);
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let estimate = self.store.estimate_range(self.index.tree(), Bound::Included(prefix), upper)?;
        Ok(estimate.max(COUNTED_MAX).max(least))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::batch::WriteBatch;
    use crate::entry::TreeId;
    use crate::key::collation::BinaryCollations;
    use crate::schema::{Column, IndexDefinition, KeyPart, TableSchema};
    use crate::store::testing::store;
    use binlog::LogPosition;
    use binlog::row::{ColumnType, code};

    /// An index on (a, b) in tree 2, with a primary key.
    fn schema() -> TableSchema {
        let column =
            |name: &str| Column { name: name.into(), ty: ColumnType::new(code::LONG, 0), nullable: true };
        let id = Column { nullable: false, ..column("id") };
        let index = |name: &str, tree, columns: &[usize], unique| IndexDefinition {
            name: name.into(),
            tree: TreeId(tree),
            parts: columns.iter().map(|&c| KeyPart::ascending(c)).collect(),
            unique,
        };
        let (primary, k) = (index("PRIMARY", 1, &[0], true), index("k", 2, &[1, 2], false));
        let columns = vec![id, column("a"), column("b")];
        TableSchema::new(1, "d", "t", columns, primary, vec![k], &BinaryCollations).unwrap()
    }

    /// Checks what is found of so many rows, in memory and on disk; a wrong by this factor at most.
    fn check(rows: u32, values: impl Fn(u32) -> (u32, u32), factor: f64) {
        let (store, _dir) = store();
        let schema = schema();
        let index = &schema.secondary[0];
        let mut model = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
        for id in 0..rows {
            let (a, b) = values(id);
            model[0].insert((a, 0));
            model[1].insert((a, b));
            let mut key = Vec::new();
            index.encode_values(&[Some(&a.to_le_bytes()), Some(&b.to_le_bytes())], &mut key).unwrap();
            schema.primary.encode_values(&[Some(&id.to_le_bytes())], &mut key).unwrap();
            let mut batch = WriteBatch::new();
            batch.put(TreeId(2), &key, &[]);
            store.write(&batch, LogPosition::from_u64(1 + u64::from(id)));
        }
        let check = |what: &str| {
            let sample = index.sample(&store, None).unwrap();
            let found = [sample.rows, sample.distinct[0], sample.distinct[1]];
            for (found, count) in found.into_iter().zip([rows as usize, model[0].len(), model[1].len()]) {
                let (found, count) = (found as f64, count as f64);
                assert!(
                    found >= (count / factor).floor() && found <= (count * factor).ceil(),
                    "{what}: {sample:?} of {rows} rows, {} and {} values",
                    model[0].len(),
                    model[1].len()
                );
            }
        };
        check("in memory");
        store.checkpoint(&[]).unwrap();
        check("on disk");
    }

    #[test]
    fn small_indexes_are_counted_exactly() {
        check(0, |id| (id, id), 1.0);
        check(1, |id| (id, id), 1.0);
        check(700, |id| (id % 3, id % 50), 1.0);
        check(1000, |id| (id / 10, id), 1.0);
    }

    #[test]
    fn large_indexes_are_sampled() {
        check(20_000, |id| (id, id), 2.5);
        check(20_000, |id| (id % 4, id % 100), 2.5);
        check(20_000, |id| (7, id % 500), 2.5);
        check(20_000, |id| (id % 200, id), 2.5);
        // Half of the rows have values of their own, the others share one.
        check(20_000, |id| if id % 2 == 0 { (id, 0) } else { (1, 1) }, 3.0);
    }
}
