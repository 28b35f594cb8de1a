//! Index statistics: rows of a table, and distinct values of the columns of its indexes.
//!
//! Each index is sampled (`storage::statistics`) when the planner first asks, by ANALYZE TABLE, and
//! when a tenth of the table's entries have changed since, as with InnoDB's
//! `innodb_stats_auto_recalc`. Changes are not counted: they are estimated from the number of
//! entries in the tree, which a planner asks for anyway.
//!
//! (S1) One session at a time samples; others use the older statistics, or wait if there are none.
//! (S2) Statistics are of trees, not of index numbers: they stay valid when ALTER TABLE adds or
//!      drops others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use storage::{IndexSample, StoreError, TreeId};

use super::TableDef;
use crate::instance::Instance;

/// Fewer changes never cause a new sample.
const CHANGES_FEW: u64 = 16;

/// Unless a table doubled or halved, its statistics are used for this long: a busy table is not
/// sampled all the time.
const SAMPLE_AGE_MIN: Duration = Duration::from_secs(1);

/// A table's statistics, shared by the statements that use the table.
#[derive(Debug, Default)]
pub struct Statistics {
    latest: RwLock<Option<Arc<TableStatistics>>>,
    /// Held while sampling (S1).
    sampling: Mutex<()>,
    version: AtomicU64,
}

/// One sample of all indexes of a table.
#[derive(Debug)]
pub(crate) struct TableStatistics {
    /// When it was taken (monotonic).
    taken: Duration,
    /// For each index its tree and what it held; the primary key first.
    indexes: Vec<(TreeId, IndexSample)>,
}

impl Statistics {
    /// Grows with each new sample.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

impl TableStatistics {
    pub(crate) fn rows(&self) -> u64 {
        self.indexes.first().map_or(0, |(_, sample)| sample.rows)
    }

    /// What an index holds, by its tree.
    pub(crate) fn index(&self, tree: TreeId) -> Option<&IndexSample> {
        self.indexes.iter().find(|(t, _)| *t == tree).map(|(_, sample)| sample)
    }

    /// Bytes of all rows.
    pub(crate) fn data_length(&self) -> u64 {
        self.indexes.first().map_or(0, |(_, sample)| length(sample))
    }

    /// Bytes of all entries of secondary indexes.
    pub(crate) fn index_length(&self) -> u64 {
        self.indexes.iter().skip(1).map(|(_, sample)| length(sample)).sum()
    }

    /// How many entries came or went, if there are so many now.
    fn changes(&self, entries: u64) -> u64 {
        self.indexes.first().map_or(entries, |(_, sample)| sample.entries.abs_diff(entries))
    }

    /// True if the number of entries has changed enough for a new sample.
    fn is_outdated(&self, entries: u64, now: impl FnOnce() -> Duration) -> bool {
        let (changes, before) = (self.changes(entries), entries.saturating_sub(self.changes(entries)));
        let few = changes <= CHANGES_FEW || changes <= entries / 10;
        !few && (changes > before || now().saturating_sub(self.taken) >= SAMPLE_AGE_MIN)
    }
}

fn length(sample: &IndexSample) -> u64 {
    sample.rows.saturating_mul(sample.entry_bytes)
}

impl TableDef {
    /// Statistics for the planner, sampled again if they are outdated. `None` if the table can't be
    /// read: reading its rows reports why.
    pub(crate) fn current_statistics(&self, instance: &Instance) -> Option<Arc<TableStatistics>> {
        let entries = self.entries(instance).ok()?;
        self.statistics_unless(instance, |known| known.is_outdated(entries, || instance.env().monotonic()))
    }

    /// As [`Self::current_statistics`], for SHOW: sampled again after any change.
    pub(crate) fn exact_statistics(&self, instance: &Instance) -> Option<Arc<TableStatistics>> {
        let entries = self.entries(instance).ok()?;
        self.statistics_unless(instance, |known| known.changes(entries) > 0)
    }

    /// Samples all indexes: ANALYZE TABLE.
    pub(crate) fn analyze(&self, instance: &Instance) -> Result<Arc<TableStatistics>, StoreError> {
        let _sampling = self.statistics.sampling.lock();
        self.sample_indexes(instance)
    }

    fn entries(&self, instance: &Instance) -> Result<u64, StoreError> {
        let tree = self.schema.primary.tree();
        instance.engine().store_of(tree).estimate(tree)
    }

    fn statistics_unless(
        &self,
        instance: &Instance,
        is_outdated: impl Fn(&TableStatistics) -> bool,
    ) -> Option<Arc<TableStatistics>> {
        let is_good = |known: &Arc<TableStatistics>| {
            self.trees().all(|t| known.index(t).is_some()) && !is_outdated(known)
        };
        let latest = || self.statistics.latest.read().clone();
        let known = latest();
        if known.as_ref().is_some_and(is_good) {
            return known;
        }
        let _sampling = match (self.statistics.sampling.try_lock(), &known) {
            (Some(sampling), _) => sampling,
            (None, Some(_)) => return known,
            (None, None) => self.statistics.sampling.lock(),
        };
        match latest().filter(is_good) {
            Some(known) => Some(known),
            None => self.sample_indexes(instance).ok(),
        }
    }

    fn sample_indexes(&self, instance: &Instance) -> Result<Arc<TableStatistics>, StoreError> {
        let store = instance.engine().store_of(self.schema.primary.tree());
        let mut indexes: Vec<(TreeId, IndexSample)> = Vec::with_capacity(self.indexes.len());
        for index in self.schema.indexes().filter(|index| index.building().is_none()) {
            let rows = indexes.first().map(|(_, sample)| sample.rows);
            indexes.push((index.tree(), index.sample(store, rows)?));
        }
        let known = Arc::new(TableStatistics { taken: instance.env().monotonic(), indexes });
        *self.statistics.latest.write() = Some(known.clone());
        self.statistics.version.fetch_add(1, Ordering::Release);
        Ok(known)
    }

    /// The trees of the indexes that readers use.
    fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.schema.indexes().filter(|index| index.building().is_none()).map(|index| index.tree())
    }

    /// How many values the first `parts` columns of an index have, if it was sampled.
    pub(crate) fn cardinality(&self, known: &TableStatistics, index: &str, parts: usize) -> Option<u64> {
        let index = self.schema.indexes().find(|i| i.name() == index)?;
        known.index(index.tree())?.distinct.get(parts.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_outdated_by_a_tenth_and_not_too_often() {
        let check = |then: u64, now: u64, seconds: u64, expected: bool| {
            let sample = IndexSample { rows: then, entries: then, distinct: vec![then], entry_bytes: 10 };
            let known = TableStatistics { taken: Duration::ZERO, indexes: vec![(TreeId(1), sample)] };
            let outdated = known.is_outdated(now, || Duration::from_secs(seconds));
            assert_eq!(outdated, expected, "{then} entries, {now} after {seconds} s");
        };
        check(0, 0, 9, false);
        check(0, 16, 9, false);
        check(0, 17, 0, true);
        check(1000, 1090, 9, false);
        check(1000, 1200, 0, false);
        check(1000, 1200, 1, true);
        check(1000, 3000, 0, true);
        check(1000, 300, 0, true);
        check(1000, 800, 0, false);
        check(1000, 800, 1, true);
    }
}
