//! Merging tables into deeper levels.
//!
//! 1. Pick: the level that is fullest against its limit gives a table (level 0: a group of tables
//!    that overlap each other); tables of the next level that overlap it are added. A dropped
//!    tree's tables go first; tables that are mostly garbage, and small ones that begin or end with
//!    a dropped tree, are picked when no level is full.
//! 2. Move: a table that overlaps nothing in the next level just changes its level, in the manifest
//!    only. So rows loaded in key order are written once (U2 of `output.rs`).
//! 3. Merge: otherwise all are merged, versions that nobody needs are dropped, and one edit
//!    replaces the inputs by the outputs.
//!
//! (C1) One compaction at a time. Flushes go on meanwhile: they only add newer tables to level 0.
//! (C2) A group from level 0 holds, with a table, all older ones that overlap it: newer versions
//!      never sink below older ones (L3 of `version.rs`).

use crate::core::Core;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::merge::{Merge, Source};
use crate::output::{Output, OutputOptions};
use crate::sstable::{Compression, LevelCursor, Table, TableCursor, TableMeta};
use crate::survivors::{Retention, pass_survivors};
use crate::version::{Edit, LEVELS, Version};
use crate::view::Drops;
use binlog::LogPosition;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Level 0 is full when one key may lie in this many of its tables, ..
const LEVEL0_DEPTH: usize = 4;
/// .. or when it has this many tables in all.
const LEVEL0_TABLES: usize = 24;
/// Tables of this level and above are not packed: they are merged again soon.
const LAST_UNPACKED_LEVEL: usize = 1;
/// A table with fewer entries is never merged for its garbage alone.
const GARBAGE_ENTRIES_MIN: u64 = 256;
/// A larger table is never merged only because a tree in it was dropped, in bytes.
const SMALL_TABLE: u64 = 1 << 20;

/// Work to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Tables that change their level: numbers.
    Move { from: usize, to: usize, tables: Vec<u64> },
    /// Tables whose only tree was dropped for everyone.
    Forget { tables: Vec<(usize, u64)> },
    /// Tables of `level` and of `target` to be merged into `target` (which may be the same level).
    Merge { level: usize, target: usize, upper: Vec<u64>, lower: Vec<u64> },
}

/// What picking depends on in addition to the tables.
pub(crate) struct Limits {
    /// Bytes that level 1 may hold; each deeper one ten times more.
    pub(crate) level1_size: u64,
    /// No snapshot, alive or future, is below this.
    pub(crate) oldest: LogPosition,
}

/// The most urgent job, if there is one.
pub(crate) fn pick(version: &Version, drops: &Drops, limits: &Limits) -> Option<Job> {
    let fullest = (0..LEVELS - 1)
        .map(|level| (fullness(version, level, limits), level))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    forgettable(version, drops, limits)
        .or_else(|| match fullest {
            Some((fullness, 0)) if fullness >= 1.0 => pick_level0(version),
            Some((fullness, level)) if fullness >= 1.0 => pick_level(version, level),
            _ => None,
        })
        .or_else(|| pick_garbage(version, limits))
        .or_else(|| pick_dropped(version, drops, limits))
}

/// How full a level is against its limit; 1 and more is too full.
fn fullness(version: &Version, level: usize, limits: &Limits) -> f64 {
    if level == 0 {
        let depth = version.level0_depth as f64 / LEVEL0_DEPTH as f64;
        return depth.max(version.levels[0].len() as f64 / LEVEL0_TABLES as f64);
    }
    version.level_size(level) as f64 / (limits.level1_size as f64 * 10_f64.powi(level as i32 - 1))
}

/// True if the tree of a table's key was dropped before every snapshot, and after all that the
/// table has.
fn is_dropped(table: &Table, key: &[u8], drops: &Drops, limits: &Limits) -> bool {
    table.meta.position_max < drops.floor(TreeId::of(key), limits.oldest)
}

/// Tables that hold nothing but a tree that was dropped before every snapshot.
fn forgettable(version: &Version, drops: &Drops, limits: &Limits) -> Option<Job> {
    let is_gone = |t: &Table| {
        TreeId::of(&t.meta.smallest) == TreeId::of(&t.meta.largest)
            && is_dropped(t, &t.meta.smallest, drops, limits)
    };
    let gone = version.tables().filter(|(_, t)| is_gone(t)).map(|(level, t)| (level, t.meta.number));
    let tables: Vec<_> = gone.collect();
    (!tables.is_empty()).then_some(Job::Forget { tables })
}

/// From level 0: all tables that can move at once, or else the group around the oldest table.
fn pick_level0(version: &Version) -> Option<Job> {
    let level0 = &version.levels[0];
    let is_alone = |t: &Arc<Table>| {
        let meta = &t.meta;
        level0.iter().filter(|o| o.meta.overlaps(&meta.smallest, &meta.largest)).count() == 1
            && version.overlapping(1, &meta.smallest, &meta.largest).is_empty()
    };
    let movable: Vec<u64> = level0.iter().filter(|t| is_alone(t)).map(|t| t.meta.number).collect();
    if !movable.is_empty() {
        return Some(Job::Move { from: 0, to: 1, tables: movable });
    }
    let upper = overlapping_group(level0, level0.last()?);
    let (first, last) = span(&upper)?;
    let lower = version.overlapping(1, &first, &last);
    Some(Job::Merge { level: 0, target: 1, upper: numbers(&upper), lower: numbers(&lower) })
}

/// `seed` and all tables that overlap it, directly or through others (C2).
fn overlapping_group(tables: &[Arc<Table>], seed: &Arc<Table>) -> Vec<Arc<Table>> {
    let (mut first, mut last) = (seed.meta.smallest.clone(), seed.meta.largest.clone());
    loop {
        let group: Vec<_> = tables.iter().filter(|t| t.meta.overlaps(&first, &last)).cloned().collect();
        let Some(wider) = span(&group).filter(|s| *s != (first.clone(), last.clone())) else { return group };
        (first, last) = wider;
    }
}

/// From a deeper level: the table that overlaps least of the next one, for its size.
fn pick_level(version: &Version, level: usize) -> Option<Job> {
    let burden = |t: &Arc<Table>| {
        let below = version.overlapping(level + 1, &t.meta.smallest, &t.meta.largest);
        below.iter().map(|t| t.meta.size).sum::<u64>() as f64 / t.meta.size.max(1) as f64
    };
    let burdens = version.levels[level].iter().map(|t| (burden(t), t));
    let (_, table) = burdens.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(merge_down(version, level, table))
}

fn merge_down(version: &Version, level: usize, table: &Arc<Table>) -> Job {
    let lower = version.overlapping(level + 1, &table.meta.smallest, &table.meta.largest);
    let upper = vec![table.meta.number];
    if lower.is_empty() && !is_mostly_garbage(&table.meta) {
        return Job::Move { from: level, to: level + 1, tables: upper };
    }
    Job::Merge { level, target: level + 1, upper, lower: numbers(&lower) }
}

/// A table that is worth a merge for the room, and the scans, that it saves. Only once no snapshot
/// needs what it keeps: then the merge gets rid of it, here or one level further down each time.
fn pick_garbage(version: &Version, limits: &Limits) -> Option<Job> {
    let is_worth = |t: &Arc<Table>| is_mostly_garbage(&t.meta) && t.meta.position_max <= limits.oldest;
    let (level, table) = version.tables().find(|(level, t)| *level > 0 && is_worth(t))?;
    Some(merge_alone(version, level, table))
}

/// A small table that begins or ends with a dropped tree. Several small trees share a table, which
/// no full level would ever ask for: where tables are made and dropped all the time, their files
/// would become ever more. What is left begins and ends with trees that are there.
fn pick_dropped(version: &Version, drops: &Drops, limits: &Limits) -> Option<Job> {
    let is_worth = |t: &Arc<Table>| {
        t.meta.size <= SMALL_TABLE
            && [&t.meta.smallest, &t.meta.largest].iter().any(|key| is_dropped(t, key, drops, limits))
    };
    let (level, table) = version.tables().find(|(level, t)| *level > 0 && is_worth(t))?;
    Some(merge_alone(version, level, table))
}

/// One table, merged for what it holds that nobody needs: within its level, or with those below
/// that it overlaps.
fn merge_alone(version: &Version, level: usize, table: &Arc<Table>) -> Job {
    let is_above_others = (level + 1..LEVELS)
        .any(|below| !version.overlapping(below, &table.meta.smallest, &table.meta.largest).is_empty());
    let upper = vec![table.meta.number];
    match is_above_others {
        // A move would take along what is to go.
        true => {
            let lower = version.overlapping(level + 1, &table.meta.smallest, &table.meta.largest);
            Job::Merge { level, target: level + 1, upper, lower: numbers(&lower) }
        }
        false => Job::Merge { level, target: level, upper, lower: Vec::new() },
    }
}

fn is_mostly_garbage(meta: &TableMeta) -> bool {
    meta.entries >= GARBAGE_ENTRIES_MIN && (meta.tombstones + meta.outlived) * 3 >= meta.entries
}

fn numbers(tables: &[Arc<Table>]) -> Vec<u64> {
    tables.iter().map(|t| t.meta.number).collect()
}

/// The first and the last key of some tables.
fn span(tables: &[Arc<Table>]) -> Option<(Vec<u8>, Vec<u8>)> {
    let first = tables.iter().map(|t| &t.meta.smallest).min()?;
    let last = tables.iter().map(|t| &t.meta.largest).max()?;
    Some((first.clone(), last.clone()))
}

/// Tables of one level that are merged, by number.
#[derive(Clone, Copy)]
struct LevelInput<'a> {
    level: usize,
    tables: &'a [u64],
}

impl Core {
    /// Does the most urgent job; false if there is none.
    pub(crate) fn compact_once(&self) -> Result<bool, StoreError> {
        let _one_at_a_time = self.compacting.lock();
        let view = self.current.load();
        let limits = Limits { level1_size: self.options.level1_size(), oldest: self.horizon().oldest() };
        let drops = self.tables.durable_drops();
        let Some(job) = pick(&view.version, &drops, &limits) else { return Ok(false) };
        let edit = match &job {
            Job::Move { from, to, tables } => Edit {
                added: metas(&view.version, *to, tables),
                removed: tables.iter().map(|&number| (*from, number)).collect(),
                ..Edit::default()
            },
            Job::Forget { tables } => Edit { removed: tables.clone(), ..Edit::default() },
            Job::Merge { level, target, upper, lower } => {
                let (upper_input, lower_input) = (
                    LevelInput { level: *level, tables: upper },
                    LevelInput { level: *target, tables: lower },
                );
                let added = self.merge_tables(&view.version, &drops, upper_input, lower_input)?;
                let upper = upper.iter().map(|&number| (*level, number));
                let removed = upper.chain(lower.iter().map(|&number| (*target, number))).collect();
                Edit { added, removed, ..Edit::default() }
            }
        };
        self.tables.commit(edit, |_| {})?;
        self.counters.compactions.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Merges tables of one level into those of a deeper one, `lower`, where the new tables go.
    fn merge_tables(
        &self,
        version: &Version,
        drops: &Drops,
        upper: LevelInput<'_>,
        lower: LevelInput<'_>,
    ) -> Result<Vec<(usize, TableMeta)>, StoreError> {
        let of = |input: LevelInput<'_>| -> Vec<Arc<Table>> {
            let is_chosen = |t: &&Arc<Table>| input.tables.contains(&t.meta.number);
            version.levels[input.level].iter().filter(is_chosen).cloned().collect()
        };
        let target = lower.level;
        let (upper, lower) = (of(upper), of(lower));
        let inputs: Vec<_> = upper.iter().chain(&lower).cloned().collect();
        let Some((first, last)) = span(&inputs) else { return Ok(Vec::new()) };
        let mut sources: Vec<_> =
            upper.into_iter().map(|t| Source::Table(TableCursor::new(t, false))).collect();
        sources.push(Source::Level(LevelCursor::new(lower.into(), false)));
        let mut merge = Merge::new(sources);
        merge.seek(&[], LogPosition::MAX)?;
        let building = self.trees_building();
        let retention = Retention {
            horizon: self.horizon(),
            drops,
            older_may_hold: &|key| {
                version.may_hold_from(target + 1, key) || building.contains(&TreeId::of(key))
            },
        };
        let is_packed = target > LAST_UNPACKED_LEVEL;
        let options = OutputOptions {
            compression: if is_packed { Compression::All } else { Compression::LargeRows },
            table_size: self.options.table_size(),
            overlap_flushes: self.options.background,
            below: if target + 1 < LEVELS {
                version.overlapping(target + 1, &first, &last)
            } else {
                Vec::new()
            },
        };
        let mut output = Output::new(&self.tables.context, &self.tables.next_number, options);
        let written = pass_survivors(&mut merge, &retention, &mut output).and_then(|()| output.finish());
        let tables = self.written_or_removed(written, &output)?;
        let bytes = inputs.iter().map(|t| t.meta.size).sum();
        self.counters.compacted_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(tables.into_iter().map(|meta| (target, meta)).collect())
    }
}

fn metas(version: &Version, to: usize, numbers: &[u64]) -> Vec<(usize, TableMeta)> {
    let chosen = version.tables().filter(|(_, t)| numbers.contains(&t.meta.number));
    chosen.map(|(_, t)| (to, t.meta.clone())).collect()
}
