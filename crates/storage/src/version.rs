//! Which tables there are, level by level, and how that changes.
//!
//! Level 0 takes what is flushed; its tables may overlap. From level 1 down the tables of a level
//! follow each other without overlap, and each level may hold ten times as much as the one above.
//!
//! (L1) Level 0 is sorted newest first; where two of its tables overlap, all positions of the first
//!      are above all of the second.
//! (L2) Tables of a deeper level are sorted by key and share no key.
//! (L3) Of a key's versions, those in a level are newer than those in deeper levels
//!      (V1 of `view.rs`).

use crate::entry::{Entry, TreeId, Value};
use crate::error::StoreError;
use crate::memtable::Checkpoint;
use crate::merge::Source;
use crate::sstable::{LevelCursor, Table, TableContext, TableCursor, TableMeta, key_hash};
use crate::view::Found;
use binlog::LogPosition;
use std::cmp::Reverse;
use std::sync::Arc;
use stdx::cursor::{Cursor, Truncated, put_lenenc, put_lenenc_bytes};

/// Number of levels.
pub(crate) const LEVELS: usize = 7;

/// The tables of all levels at one time. Never changes.
#[derive(Clone, Default)]
pub(crate) struct Version {
    pub(crate) levels: [Arc<[Arc<Table>]>; LEVELS],
    /// The most tables of level 0 that hold one key: what a get may have to ask.
    pub(crate) level0_depth: usize,
}

/// One atomic change, as the manifest records it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) added: Vec<(usize, TableMeta)>,
    pub(crate) removed: Vec<(usize, u64)>,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) drops_added: Vec<(TreeId, LogPosition)>,
    pub(crate) drops_removed: Vec<(TreeId, LogPosition)>,
}

impl Version {
    /// This version with an edit applied. Tables that stay are shared, those that are named anew
    /// are made, also where an edit moves a table to another level.
    pub(crate) fn apply(&self, edit: &Edit, context: &Arc<TableContext>) -> Version {
        let mut version = self.clone();
        for (level, tables) in version.levels.iter_mut().enumerate() {
            let is_removed = |t: &Arc<Table>| edit.removed.contains(&(level, t.meta.number));
            let added = edit.added.iter().filter(|(l, _)| *l == level).map(|(_, meta)| {
                let known = self.tables().find(|(_, t)| t.meta.number == meta.number);
                known.map_or_else(|| Arc::new(Table::new(context.clone(), meta.clone())), |(_, t)| t.clone())
            });
            let mut list: Vec<_> = tables.iter().filter(|t| !is_removed(t)).cloned().chain(added).collect();
            if list.len() == tables.len() && list.iter().zip(tables.iter()).all(|(a, b)| Arc::ptr_eq(a, b)) {
                continue;
            }
            match level {
                0 => list.sort_by_key(|t| Reverse((t.meta.position_max, t.meta.number))),
                _ => list.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest)),
            }
            *tables = list.into();
        }
        version.level0_depth = version.depth_of_level0();
        version
    }

    /// All tables with their levels.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (usize, &Arc<Table>)> {
        self.levels.iter().enumerate().flat_map(|(level, tables)| tables.iter().map(move |t| (level, t)))
    }

    /// The numbers of all tables.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.tables().map(|(_, t)| t.meta.number)
    }

    /// The newest version of `key` (a full key) at or below `at`.
    pub(crate) fn newest(&self, key: &[u8], at: LogPosition) -> Result<Found, StoreError> {
        let hash = key_hash(key);
        let deepest = self.levels.iter().rposition(|tables| !tables.is_empty());
        for table in self.levels[0].iter().filter(|t| t.meta.overlaps(key, key)) {
            let found = table.get(key, hash, at, false)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        for (level, tables) in self.levels.iter().enumerate().skip(1) {
            let index = tables.partition_point(|t| t.meta.largest.as_slice() < key);
            if let Some(table) = tables.get(index).filter(|t| t.meta.smallest.as_slice() <= key) {
                let found = table.get(key, hash, at, Some(level) == deepest)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Adds the sources that can hold keys of `tree`, newest first.
    pub(crate) fn sources(&self, tree: TreeId, out: &mut Vec<Source>) {
        for table in self.levels[0].iter().filter(|t| t.meta.may_hold(tree)) {
            out.push(Source::Table(TableCursor::new(table.clone(), true)));
        }
        for tables in &self.levels[1..] {
            let first = tables.partition_point(|t| TreeId::of(&t.meta.largest) < tree);
            if tables.get(first).is_some_and(|t| t.meta.may_hold(tree)) {
                // Not beyond: a damaged table of other trees must not fail reads of this one.
                let end = tables.partition_point(|t| TreeId::of(&t.meta.smallest) <= tree);
                out.push(Source::Level(LevelCursor::within(tables.clone(), first..end, true)));
            }
        }
    }

    /// Adds the sources that can hold keys of `tree` or of a tree after it, newest first.
    pub(crate) fn sources_from(&self, tree: TreeId, out: &mut Vec<Source>) {
        let reaches = |t: &&Arc<Table>| TreeId::of(&t.meta.largest) >= tree;
        let level0 = self.levels[0].iter().filter(reaches);
        out.extend(level0.map(|t| Source::Table(TableCursor::new(t.clone(), false))));
        for tables in &self.levels[1..] {
            let tables: Arc<[Arc<Table>]> = tables.iter().filter(reaches).cloned().collect();
            if !tables.is_empty() {
                out.push(Source::Level(LevelCursor::new(tables, false)));
            }
        }
    }

    /// Tables of a level that overlap keys from `first` to `last`, both included.
    pub(crate) fn overlapping(&self, level: usize, first: &[u8], last: &[u8]) -> Vec<Arc<Table>> {
        self.levels[level].iter().filter(|t| t.meta.overlaps(first, last)).cloned().collect()
    }

    /// True if a level from `level` down may hold `key`.
    pub(crate) fn may_hold_from(&self, level: usize, key: &[u8]) -> bool {
        self.levels.iter().enumerate().skip(level).any(|(level, tables)| match level {
            0 => tables.iter().any(|t| t.meta.overlaps(key, key)),
            _ => {
                let index = tables.partition_point(|t| t.meta.largest.as_slice() < key);
                tables.get(index).is_some_and(|t| t.meta.smallest.as_slice() <= key)
            }
        })
    }

    /// Bytes in a level.
    pub(crate) fn level_size(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|t| t.meta.size).sum()
    }

    fn depth_of_level0(&self) -> usize {
        let depth_at = |key: &[u8]| self.levels[0].iter().filter(|t| t.meta.overlaps(key, key)).count();
        self.levels[0].iter().map(|t| depth_at(&t.meta.smallest)).max().unwrap_or(0)
    }

    /// Checks L1 and L2. They may be broken by a manifest that was tampered with, so a breach is an
    /// error, not an assertion.
    pub(crate) fn check_invariants(&self, context: &TableContext) -> Result<(), StoreError> {
        let breach = |table: &Table, what: &str| StoreError::Corrupt {
            file: context.table_path(table.meta.number),
            offset: 0,
            what: format!("manifest and {what} contradict each other"),
        };
        for (i, newer) in self.levels[0].iter().enumerate() {
            for older in &self.levels[0][i + 1..] {
                let overlap = newer.meta.overlaps(&older.meta.smallest, &older.meta.largest);
                if overlap && newer.meta.position_min <= older.meta.position_max {
                    return Err(breach(newer, "L1"));
                }
            }
        }
        for tables in &self.levels[1..] {
            for pair in tables.windows(2) {
                if pair[0].meta.largest >= pair[1].meta.smallest {
                    return Err(breach(&pair[1], "L2"));
                }
            }
        }
        Ok(())
    }
}

/// The value of a found entry, copied.
pub(crate) fn own(entry: Entry<'_>) -> (LogPosition, Option<Value>) {
    (entry.position, entry.value.map(Value::copied))
}

impl Edit {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_lenenc(out, self.added.len() as u64);
        for (level, meta) in &self.added {
            put_lenenc(out, *level as u64);
            meta.encode(out);
        }
        put_lenenc(out, self.removed.len() as u64);
        for (level, number) in &self.removed {
            put_lenenc(out, *level as u64);
            put_lenenc(out, *number);
        }
        out.push(self.checkpoint.is_some().into());
        if let Some(checkpoint) = &self.checkpoint {
            put_lenenc(out, checkpoint.position.to_u64());
            put_lenenc_bytes(out, &checkpoint.notes);
        }
        for drops in [&self.drops_added, &self.drops_removed] {
            put_lenenc(out, drops.len() as u64);
            for (tree, position) in drops {
                put_lenenc(out, tree.0.into());
                put_lenenc(out, position.to_u64());
            }
        }
        if let Some(fingerprint) = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.fingerprint) {
            out.extend_from_slice(&fingerprint.to_le_bytes());
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Edit, Truncated> {
        let mut input = Cursor::new(bytes);
        let mut edit = Edit::default();
        for _ in 0..input.lenenc()? {
            edit.added.push((level(&mut input)?, TableMeta::decode(&mut input)?));
        }
        for _ in 0..input.lenenc()? {
            edit.removed.push((level(&mut input)?, input.lenenc()?));
        }
        if input.u8()? == 1 {
            let position = LogPosition::from_u64(input.lenenc()?);
            edit.checkpoint = Some(Checkpoint::new(position, input.lenenc_bytes()?));
        }
        for drops in [&mut edit.drops_added, &mut edit.drops_removed] {
            for _ in 0..input.lenenc()? {
                let tree = u32::try_from(input.lenenc()?).map_err(|_| Truncated)?;
                drops.push((TreeId(tree), LogPosition::from_u64(input.lenenc()?)));
            }
        }
        // Older versions end here.
        if let Some(checkpoint) = &mut edit.checkpoint
            && !input.is_empty()
        {
            checkpoint.fingerprint = Some(input.u64()?);
        }
        if input.is_empty() { Ok(edit) } else { Err(Truncated) }
    }
}

fn level(input: &mut Cursor<'_>) -> Result<usize, Truncated> {
    usize::try_from(input.lenenc()?).ok().filter(|level| *level < LEVELS).ok_or(Truncated)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::build::FIRST_BUILT;
    use crate::store::Store;
    use crate::store::testing::options;
    use env::{Env, OpenMode, SimEnv};
    use std::path::Path;

    #[test]
    fn edits_come_back_and_cut_ones_are_refused() {
        let at = LogPosition::from_u64;
        let meta = TableMeta {
            number: 7,
            size: 1 << 20,
            entries: 3,
            tombstones: 1,
            outlived: 0,
            position_min: at(5),
            position_max: at(1 << 50),
            smallest: b"\0\0\0\x01a".to_vec(),
            largest: b"\0\0\0\x01b".to_vec(),
        };
        let mut edit = Edit {
            added: vec![(0, meta.clone()), (6, meta)],
            removed: vec![(1, 99)],
            checkpoint: Some(Checkpoint::new(at(77), b"notes")),
            drops_added: vec![(TreeId(3), at(4))],
            drops_removed: vec![(TreeId(1), at(2))],
        };
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        assert_eq!(Edit::decode(&bytes), Ok(edit.clone()));
        for len in 0..bytes.len() {
            assert!(Edit::decode(&bytes[..len]).is_err());
        }
        let older = bytes.len();
        edit.checkpoint.as_mut().unwrap().fingerprint = Some(1 << 60);
        bytes.clear();
        edit.encode(&mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Edit::decode(&bytes[..len]).is_ok(), len == older, "one without fingerprint is whole");
        }
        assert_eq!(Edit::decode(&bytes), Ok(edit));
    }

    /// A damaged table stopped every start whose catalog lay next to it: who read one tree to its
    /// end opened the next one's file.
    #[test]
    fn a_tree_is_read_without_the_files_of_its_neighbours() {
        let env = SimEnv::new(1);
        let store = Store::open(Arc::new(env.clone()), Path::new("/store"), options()).unwrap();
        let mut batch = WriteBatch::new();
        batch.put(TreeId(1), b"k", b"v");
        store.write(&batch, LogPosition::from_u64(5));
        let trees = [1, 2, 3].map(|n| TreeId(FIRST_BUILT + n));
        for tree in trees {
            let mut builder = store.build_trees(vec![tree], store.snapshot_visible());
            builder.put(tree, b"k", b"v").unwrap();
            builder.finish().unwrap();
        }
        let tables = env.read_dir(Path::new("/store")).unwrap();
        let mut tables: Vec<_> =
            tables.iter().filter(|t| t.extension().is_some_and(|e| e == "table")).collect();
        tables.remove(1);
        for table in tables {
            let file = env.open(table, OpenMode::ReadWrite).unwrap();
            file.set_len(3).unwrap();
        }
        let read = |tree: TreeId| -> Result<usize, StoreError> {
            let mut cursor = store.cursor(tree, LogPosition::MAX);
            let mut rows = 0;
            cursor.seek_first()?;
            while cursor.valid() {
                rows += 1;
                cursor.next()?;
            }
            cursor.seek_last()?;
            while cursor.valid() {
                rows += 1;
                cursor.prev()?;
            }
            Ok(rows)
        };
        assert!(read(trees[0]).is_err() && read(trees[2]).is_err());
        assert_eq!(read(trees[1]).unwrap(), 2);
    }
}
