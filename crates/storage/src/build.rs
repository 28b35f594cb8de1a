//! New trees from what is there: an index that ALTER TABLE adds, a table that it makes anew.
//!
//! 1. begin   A snapshot is held; the trees are named. Who changes rows from now on changes these
//!    trees too.
//! 2. put     The snapshot's rows give entries, in any order. What fills the buffer is sorted and
//!    written as a *run*.
//! 3. finish  The runs are merged into tables of the last level, made durable, and named by one
//!    edit.
//!
//! The entries carry the snapshot's position, so they lie under all that writers did to these trees
//! meanwhile, whichever came first: that is why they go to the last level, below whatever has been
//! flushed and compacted since.
//!
//! (B1) While a tree is built, no deletion in it is dropped although there seems to be no older
//!      version: the row that it deletes may be about to be put.
//! (B2) Nobody reads a tree as a table's before its build has ended. A statement's trees are in a
//!      checkpoint before it is logged, so that replay finds them with the values that clients have
//!      seen. Where replay does not find them, it builds them once more, from the rows as of the
//!      statement's place in the log.
//! (B3) Trees of builds are numbered from [`FIRST_BUILT`] by a counter of the running process,
//!      which begins after all trees on disk ([`Store::find_built_trees`]) and all that the catalog
//!      and the notes name, before replay builds any. After a crash the trees of an unfinished
//!      build, which no SQL table has, are found at the next start and dropped after replay.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::core::Core;
use crate::entry::{Entry, TreeId};
use crate::error::StoreError;
use crate::merge::{Merge, Source};
use crate::output::{Output, OutputOptions};
use crate::snapshot::Snapshot;
use crate::sstable::{Compression, LevelCursor, Table, TableMeta};
use crate::store::Store;
use crate::survivors::{Retention, Sink, pass_survivors};
use crate::version::{Edit, LEVELS};
use binlog::LogPosition;

/// The first number of trees that are built; those below are given by the catalog.
pub const FIRST_BUILT: u32 = 1 << 31;
/// The deepest level.
const LAST: usize = LEVELS - 1;

/// Why a build failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BuildError {
    /// Two entries have the same key: the first one's, without the tree.
    #[error("two rows have the same key")]
    Duplicate {
        /// That of the index which was to be unique.
        tree: TreeId,
        /// Without the tree's prefix.
        key: Vec<u8>,
    },
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A build of new trees. Dropping it unfinished removes its files.
pub struct TreeBuilder {
    core: Arc<Core>,
    trees: Vec<TreeId>,
    /// Protects the versions that the entries come from, and those that deletions hide.
    snapshot: Snapshot,
    buffer: Buffer,
    /// Sorted tables that no edit names.
    runs: Vec<Arc<[Arc<Table>]>>,
}

impl Store {
    /// A number for a tree to be built.
    pub fn new_tree(&self) -> TreeId {
        TreeId(self.core.next_built.fetch_add(1, Ordering::Relaxed))
    }

    /// Begins to build `trees` from what `snapshot` sees. Called before anybody writes to them.
    pub fn build_trees(&self, trees: Vec<TreeId>, snapshot: Snapshot) -> TreeBuilder {
        self.core.building.lock().extend(trees.iter().copied());
        let (core, buffer, runs) = (self.core.clone(), Buffer::default(), Vec::new());
        TreeBuilder { core, trees, snapshot, buffer, runs }
    }

    /// Drops trees that were built, or begun, for nothing. Nobody writes to them any more.
    ///
    /// # Errors
    /// If the manifest can't be written.
    pub fn discard_trees(&self, trees: &[TreeId]) -> Result<(), StoreError> {
        let last = self.core.writing.lock().last;
        self.drop_trees(trees, |_| LogPosition::from_u64(last.to_u64() + 1))
    }

    fn drop_trees(
        &self,
        trees: &[TreeId],
        position_of: impl Fn(TreeId) -> LogPosition,
    ) -> Result<(), StoreError> {
        let drops: Vec<_> = trees.iter().map(|&tree| (tree, position_of(tree))).collect();
        let edit = Edit { drops_added: drops.clone(), ..Edit::default() };
        self.core.tables.commit(edit, |view| {
            let known = Arc::make_mut(&mut view.drops);
            drops.iter().for_each(|&(tree, position)| known.add(tree, position));
        })
    }

    /// Discards gaps in trees that were built: called once no reader is left that began before the
    /// build had ended.
    pub fn forget_gaps(&self, trees: &[TreeId]) {
        trees.iter().for_each(|tree| self.core.current.gaps.forget(*tree));
    }

    /// At a start, before replay: the built trees that have entries. No number of theirs, nor one
    /// of a tree that was dropped, is given again (B3).
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Corrupt`] of the table files that are read.
    pub fn find_built_trees(&self) -> Result<Vec<TreeId>, StoreError> {
        // Entries of a dropped tree may still lie below, where a new tree of that number would meet
        // them.
        let view = self.core.current.load();
        let dropped = view.drops.iter().map(|(tree, _)| tree).filter(|tree| tree.0 >= FIRST_BUILT);
        dropped.for_each(|tree| self.tree_in_use(tree));
        // What the manifest says of the tables is enough to give no number twice, whatever else can
        // be read.
        let largest = view.version.tables().map(|(_, table)| TreeId::of(&table.meta.largest)).max();
        largest.filter(|tree| tree.0 >= FIRST_BUILT).into_iter().for_each(|tree| self.tree_in_use(tree));
        drop(view);
        let (mut trees, mut tree) = (Vec::new(), TreeId(FIRST_BUILT));
        loop {
            let found = match self.next_tree(tree) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => {
                    // Readers of those rows will get the error. A start needs them only to tidy up.
                    tracing::error!("trees of unfinished ALTER TABLEs are not looked for: {error}");
                    break;
                }
            };
            trees.push(found);
            self.tree_in_use(found);
            let Some(next) = found.0.checked_add(1) else { break };
            tree = TreeId(next);
        }
        Ok(trees)
    }

    /// At a start, after replay: drops built trees that `is_named` does not know.
    ///
    /// # Errors
    /// Those of [`Self::find_built_trees`], and [`StoreError::Io`] if the manifest can't be
    /// written.
    pub fn drop_orphans(&self, is_named: impl Fn(TreeId) -> bool) -> Result<Vec<TreeId>, StoreError> {
        let orphans: Vec<TreeId> =
            self.find_built_trees()?.into_iter().filter(|tree| !is_named(*tree)).collect();
        if orphans.is_empty() {
            return Ok(orphans);
        }
        let version = self.core.current.load().version.clone();
        let after = |tree: TreeId| {
            let newest =
                version.tables().filter(|(_, t)| t.meta.may_hold(tree)).map(|(_, t)| t.meta.position_max);
            LogPosition::from_u64(newest.max().unwrap_or(LogPosition::ZERO).to_u64() + 1)
        };
        self.drop_trees(&orphans, after)?;
        Ok(orphans)
    }

    /// True if the tree has a key, as of `position`.
    ///
    /// # Errors
    /// Those of `Cursor::seek`.
    pub fn has_entries(&self, tree: TreeId, position: LogPosition) -> Result<bool, StoreError> {
        let mut cursor = self.cursor(tree, position);
        cursor.seek_first()?;
        Ok(cursor.valid())
    }

    /// No number at or below this is given to a tree to be built.
    pub fn tree_in_use(&self, tree: TreeId) {
        self.core.next_built.fetch_max(tree.0.saturating_add(1), Ordering::Relaxed);
    }

    /// The first tree at or after `tree` that has entries, dropped or not.
    fn next_tree(&self, tree: TreeId) -> Result<Option<TreeId>, StoreError> {
        let view = self.core.current.load();
        let mut merge = Merge::new(view.sources_from(tree));
        let mut place = tree;
        loop {
            merge.seek(&place.prefix(), LogPosition::MAX)?;
            let Some(found) = merge.entry().map(|e| (TreeId::of(e.key), e.position)) else { return Ok(None) };
            if found.1 >= view.drops.floor(found.0, LogPosition::MAX) {
                return Ok(Some(found.0));
            }
            let Some(next) = found.0.0.checked_add(1) else { return Ok(None) };
            place = TreeId(next);
        }
    }
}

impl TreeBuilder {
    /// The position of the entries.
    pub fn position(&self) -> LogPosition {
        self.snapshot.position()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`] once entries are sorted, not at the second one;
    /// [`BuildError::Store`] if a file can't be written. The build is to be dropped then.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<(), BuildError> {
        self.buffer.push(tree, key, value);
        if self.buffer.bytes.len() < self.core.options.memtable_size {
            return Ok(());
        }
        self.write_run()
    }

    /// Makes all that was put durable, under whatever writers have done to the trees since the
    /// build began.
    ///
    /// # Errors
    /// As [`Self::put`], and [`BuildError::Store`] if log or manifest can't be written.
    pub fn finish(mut self) -> Result<(), BuildError> {
        let log = &self.core.options.durability;
        let position = self.position();
        log.ensure_durable(position)
            .map_err(|e| StoreError::io(format!("flush the log up to {position}"), e))?;
        let mut tables = if self.runs.is_empty() {
            self.write_buffer(Compression::All)?
        } else {
            self.write_run()?;
            self.merge_runs()?
        };
        let _no_compaction = self.core.compacting.lock();
        let _no_flush = self.core.flushing.lock();
        let mut edit = Edit::default();
        let version = self.core.current.load().version.clone();
        if let (Some(first), Some(last)) = (tables.first(), tables.last()) {
            let lower = version.overlapping(LAST, &first.smallest, &last.largest);
            if !lower.is_empty() {
                edit.removed = lower.iter().map(|t| (LAST, t.meta.number)).collect();
                tables = self.merge_with_last_level(tables, lower)?;
            }
        }
        edit.added = tables.into_iter().map(|meta| (LAST, meta)).collect();
        if !edit.added.is_empty() {
            self.core.tables.commit(edit, |_| {})?;
        }
        self.core.building.lock().retain(|tree| !self.trees.contains(tree));
        Ok(())
    }

    /// Merges what was built with tables of the last level that lie among it.
    fn merge_with_last_level(
        &self,
        built: Vec<TableMeta>,
        lower: Vec<Arc<Table>>,
    ) -> Result<Vec<TableMeta>, BuildError> {
        let built = self.unnamed(built);
        built.iter().for_each(|t| t.retire());
        let sources = [built, lower.into()].map(|tables| Source::Level(LevelCursor::new(tables, false)));
        let mut merge = Merge::new(sources.into());
        merge.seek(&[], LogPosition::MAX)?;
        let drops = self.core.tables.durable_drops();
        let retention = Retention { horizon: self.core.horizon(), drops: &drops, older_may_hold: &|_| false };
        let mut output = self.output(Compression::All);
        let written = pass_survivors(&mut merge, &retention, &mut output).and_then(|()| output.finish());
        Ok(self.core.written_or_removed(written, &output)?)
    }

    fn output(&self, compression: Compression) -> Output<'_> {
        let options = OutputOptions {
            compression,
            table_size: self.core.options.table_size(),
            below: Vec::new(),
            overlap_flushes: self.core.options.background,
        };
        Output::new(&self.core.tables.context, &self.core.tables.next_number, options)
    }

    fn unnamed(&self, tables: Vec<TableMeta>) -> Arc<[Arc<Table>]> {
        let context = &self.core.tables.context;
        tables.into_iter().map(|meta| Arc::new(Table::new(context.clone(), meta))).collect()
    }

    fn write_run(&mut self) -> Result<(), BuildError> {
        let tables = self.write_buffer(Compression::LargeRows)?;
        let run = self.unnamed(tables);
        self.runs.push(run);
        Ok(())
    }

    fn write_buffer(&mut self, compression: Compression) -> Result<Vec<TableMeta>, BuildError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.sort();
        let position = self.position();
        let mut output = self.output(compression);
        let mut last: &[u8] = &[];
        let mut written = Ok(());
        for (key, value) in buffer.entries() {
            if key == last {
                written = Err(duplicate(key));
                break;
            }
            last = key;
            if let Err(e) = output.add(&Entry { key, position, value: Some(value) }, false) {
                written = Err(e.into());
                break;
            }
        }
        self.ended(written, output)
    }

    fn merge_runs(&mut self) -> Result<Vec<TableMeta>, BuildError> {
        let runs = self.runs.iter().map(|run| Source::Level(LevelCursor::new(run.clone(), false)));
        let mut merge = Merge::new(runs.collect());
        merge.seek(&[], LogPosition::MAX)?;
        let mut output = self.output(Compression::All);
        let mut last = Vec::new();
        let written = loop {
            let Some(entry) = merge.entry() else { break Ok(()) };
            if entry.key == last {
                break Err(duplicate(entry.key));
            }
            last.clear();
            last.extend_from_slice(entry.key);
            if let Err(e) = output.add(&entry, false).and_then(|()| merge.next()) {
                break Err(e.into());
            }
        };
        self.ended(written, output)
    }

    /// The tables, or the error, after which their files are removed.
    fn ended(
        &self,
        written: Result<(), BuildError>,
        mut output: Output<'_>,
    ) -> Result<Vec<TableMeta>, BuildError> {
        let outcome = match &written {
            Ok(()) => output.finish(),
            Err(BuildError::Store(e)) => Err(e.clone()),
            Err(BuildError::Duplicate { .. }) => {
                let _ = output.finish();
                output.started().iter().for_each(|&number| self.core.tables.context.graveyard.add(number));
                Ok(Vec::new())
            }
        };
        let tables = self.core.written_or_removed(outcome, &output)?;
        written.map(|()| tables)
    }
}

impl Drop for TreeBuilder {
    fn drop(&mut self) {
        self.core.building.lock().retain(|tree| !self.trees.contains(tree));
        self.runs.drain(..).for_each(|run| run.iter().for_each(|table| table.retire()));
        self.core.tables.bury();
    }
}

impl Core {
    /// Trees that are being built. Taken by a flush or compaction after it has its view, under its
    /// latch: a build that ends waits for that latch.
    pub(crate) fn trees_building(&self) -> HashSet<TreeId> {
        self.building.lock().clone()
    }
}

fn duplicate(full_key: &[u8]) -> BuildError {
    let key = full_key.get(crate::entry::TREE_LEN..).unwrap_or_default().to_vec();
    BuildError::Duplicate { tree: TreeId::of(full_key), key }
}

/// Entries in memory: full keys and values, back to back.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    entries: Vec<(usize, usize, usize)>,
}

impl Buffer {
    fn push(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&tree.prefix());
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.entries.push((start, key_end, self.bytes.len()));
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
    }

    fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries
            .iter()
            .map(|&(start, key_end, end)| (&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }
}
