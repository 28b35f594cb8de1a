//! A store read without opening it: what is damaged in its files, and a new store made of what is
//! not.
//!
//! For tools that work on a data directory which no server runs on. Nothing here changes the store
//! that is read.
//!
//! 1. read     The manifest says which tables there are ([`StoreFiles::read`]).
//! 2. check    Every block of every table is read ([`StoreFiles::check`]).
//! 3. salvage  All tables are merged into new ones; blocks that can't be read are skipped and
//!    reported ([`StoreFiles::salvage`]).
//!
//! (K1) Entries keep their positions: a row's position says which columns it has (`layout.rs`). Of
//!      a key's versions only the newest is copied, and none that is deleted or whose tree was
//!      dropped: nobody has a snapshot.
//! (K2) Where a block is lost, what older tables have for its keys comes to light, though the lost
//!      block may have replaced or deleted it. Such entries are copied and counted
//!      ([`Salvaged::doubtful`]): most of the keys in such a range are not in the lost block at
//!      all.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use binlog::LogPosition;
use env::Env;

use crate::cache::BlockCache;
use crate::entry::{Entry, TREE_LEN, TreeId, order};
use crate::error::StoreError;
use crate::manifest::{Manifest, manifest_path};
use crate::memtable::Checkpoint;
use crate::output::{Output, OutputOptions};
use crate::sstable::block::Block;
use crate::sstable::{
    BlockCursor, Compression, FORMAT_VERSION, Graveyard, Handle, Table, TableContext, TableMeta,
};
use crate::survivors::Sink;
use crate::tables::{Files, replay};
use crate::version::{Edit, LEVELS};
use crate::view::Drops;

/// The size at which a salvaged table ends, in bytes.
const TABLE_SIZE: u64 = 16 << 20;

/// The format of table files that this version writes, and the only one that it reads.
pub const TABLE_FORMAT: u32 = FORMAT_VERSION;

/// Takes an entry: key, value, position.
pub(crate) type VisitEntry<'a> = &'a mut dyn FnMut(&[u8], &[u8], LogPosition);

/// A store's files, as its manifest names them.
pub struct StoreFiles {
    context: Arc<TableContext>,
    checkpoint: Checkpoint,
    /// By level; in level 0 in any order.
    tables: Vec<(usize, Arc<Table>)>,
    drops: Drops,
    instead_of: Option<StoreError>,
    newer: Vec<NewerManifest>,
}

/// A manifest that is newer than the one that `CURRENT` names, and sound.
#[derive(Debug, Clone)]
pub struct NewerManifest {
    /// Its file's name.
    pub name: String,
    /// The position that its tables stand for.
    pub position: LogPosition,
}

/// A table file that the manifest names.
#[derive(Debug, Clone)]
pub struct TableFile {
    /// In the store's folder.
    pub path: PathBuf,
    /// Its length in bytes, as the manifest says.
    pub size: u64,
    /// Entries in it: versions of rows and index entries.
    pub entries: u64,
    /// The trees that it may hold.
    pub trees: RangeInclusive<TreeId>,
}

/// What can't be read in a table file.
#[derive(Debug, Clone)]
pub struct Damage {
    /// The table file's path.
    pub file: PathBuf,
    /// Where, in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
    /// What is lost by it.
    pub lost: Lost,
}

/// What is lost where a table file is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Nothing: the filter or the properties, which are made anew from the entries.
    Nothing,
    /// The entries of a block, which lie between these full keys, the first excluded.
    Block {
        /// The last key before it; of the first block the first key.
        after: Vec<u8>,
        /// Its last key.
        last: Vec<u8>,
    },
    /// All entries of the table, from the first full key to the last.
    Table {
        /// The first key.
        first: Vec<u8>,
        /// The last key.
        last: Vec<u8>,
        /// How many.
        entries: u64,
    },
}

impl Damage {
    /// The trees that may have lost entries; `None` if none has.
    pub fn trees(&self) -> Option<RangeInclusive<TreeId>> {
        match &self.lost {
            Lost::Nothing => None,
            Lost::Block { after: first, last } | Lost::Table { first, last, .. } => {
                Some(TreeId::of(first)..=TreeId::of(last))
            }
        }
    }
}

/// What became of a store.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Entries in the new store.
    pub entries: u64,
    /// Entries of tables that could not be read: versions of rows and index entries, so rows at the
    /// most.
    pub lost: u64,
    /// Entries that may be out of date or deleted (K2), by tree.
    pub doubtful: Vec<(TreeId, u64)>,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

impl StoreFiles {
    /// Reads the manifest of the store in `dir`; `None` if there is no store yet.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it can't be said which tables make up the store;
    /// [`StoreError::Io`].
    pub fn read(env: &Arc<dyn Env>, dir: &Path) -> Result<Option<StoreFiles>, StoreError> {
        let files = Files::list(&**env, dir)?;
        let found = Manifest::examine(&**env, dir, &files.manifests, files.tables.len())?;
        if let Some(doubt) = found.doubt {
            return Err(doubt);
        }
        if found.edits.is_empty() {
            return Ok(None);
        }
        let (checkpoint, added, drops) = replay(found.edits);
        let context = context(env, dir);
        let table = |(level, meta): (usize, TableMeta)| (level, Arc::new(Table::new(context.clone(), meta)));
        let mut tables: Vec<_> = added.into_iter().map(table).collect();
        tables.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.meta.smallest.cmp(&y.meta.smallest)));
        let newer = found.newer.into_iter().map(|(number, edits)| NewerManifest {
            name: manifest_path(dir, number).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            position: replay(edits).0.position,
        });
        let (newer, instead_of) = (newer.collect(), found.instead_of);
        Ok(Some(StoreFiles { context, checkpoint, tables, drops, instead_of, newer }))
    }

    /// True if what can't be read is what a crash in the first checkpoint leaves: a start makes all
    /// tables of the log, if that has everything, and removes no file.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn in_first_checkpoint(env: &Arc<dyn Env>, dir: &Path) -> Result<bool, StoreError> {
        let files = Files::list(&**env, dir)?;
        Ok(Manifest::examine(&**env, dir, &files.manifests, files.tables.len())?.doubt.is_some())
    }

    /// The position that the tables stand for.
    pub fn position(&self) -> LogPosition {
        self.checkpoint.position
    }

    /// The log's fingerprint at that position.
    pub fn log_fingerprint(&self) -> Option<u64> {
        self.checkpoint.fingerprint
    }

    /// What is wrong with `CURRENT`, if the newest manifest counts instead of the one that it
    /// should name.
    pub fn instead_of(&self) -> Option<&StoreError> {
        self.instead_of.as_ref()
    }

    /// Manifests that are newer than the one that counts: `CURRENT` is an old copy, or the process
    /// ended before it named them.
    pub fn newer(&self) -> &[NewerManifest] {
        &self.newer
    }

    /// All table files.
    pub fn files(&self) -> Vec<TableFile> {
        let file = |(_, table): &(usize, Arc<Table>)| TableFile {
            path: self.context.table_path(table.meta.number),
            size: table.meta.size,
            entries: table.meta.entries,
            trees: TreeId::of(&table.meta.smallest)..=TreeId::of(&table.meta.largest),
        };
        self.tables.iter().map(file).collect()
    }

    /// Calls `visit` with the path of each table file and the format that its last bytes state, be
    /// it one that this version can't read.
    pub fn formats(&self, visit: &mut dyn FnMut(PathBuf, Result<u32, StoreError>)) {
        for (_, table) in &self.tables {
            visit(self.context.table_path(table.meta.number), table.format());
        }
    }

    /// Reads every block of every table and says what is damaged. `progress` is called for each
    /// file that was read, with its length in bytes.
    pub fn check(&self, progress: &mut dyn FnMut(u64)) -> Vec<Damage> {
        let mut damage = Vec::new();
        for (_, table) in &self.tables {
            if let Err(error) = table.verify(&mut || true) {
                self.check_blocks(table, &error, &mut damage);
            }
            progress(table.meta.size);
        }
        damage
    }

    /// All that is damaged in a table that is not sound.
    fn check_blocks(&self, table: &Arc<Table>, first: &StoreError, damage: &mut Vec<Damage>) {
        let before = damage.len();
        let mut walk = TableWalk::new(table.clone());
        while walk.next(damage) {}
        let offset = offset_of(first);
        if damage[before..].iter().any(|found| found.offset == offset) {
            return;
        }
        let lost =
            if table.is_filter_or_properties(offset) { Lost::Nothing } else { whole_table(&table.meta) };
        damage.push(Damage { file: path_of(table, &self.context), offset, what: what_of(first), lost });
    }

    /// The entries of one tree, as its newest versions are. What can't be read is added to
    /// `damage`.
    pub fn read_tree(&self, tree: TreeId, damage: &mut Vec<Damage>, visit: VisitEntry<'_>) {
        let tables = self.tables.iter().filter(|(_, table)| table.meta.may_hold(tree));
        let mut merge = Walk::new(tables);
        while let Some(entry) = merge.next(damage) {
            if TreeId::of(entry.key) > tree {
                break;
            }
            if TreeId::of(entry.key) == tree
                && let Some(value) = entry.value
                && entry.position >= self.drops.floor(tree, LogPosition::MAX)
            {
                visit(&entry.key[TREE_LEN..], value, entry.position);
            }
        }
    }

    /// Makes a store in the folder `target`, which is there and empty, of all that can be read,
    /// without the trees that `excludes` names. Its checkpoint is that of this store. `progress` is
    /// called with the bytes that were read.
    ///
    /// # Errors
    /// [`StoreError::Io`], of the new files only.
    pub fn salvage(
        &self,
        target: &Path,
        excludes: &dyn Fn(TreeId) -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Salvaged, StoreError> {
        let context = context(&self.context.env, target);
        let next_number = AtomicU64::new(1);
        let options = OutputOptions {
            compression: Compression::All,
            table_size: TABLE_SIZE,
            below: Vec::new(),
            overlap_flushes: false,
        };
        let mut output = Output::new(&context, &next_number, options);
        let mut salvaged = Salvaged::default();
        let mut merge = Walk::new(self.tables.iter());
        let mut damage = Vec::new();
        while let Some(entry) = merge.next(&mut damage) {
            let tree = TreeId::of(entry.key);
            let is_there =
                entry.value.is_some() && entry.position >= self.drops.floor(tree, LogPosition::MAX);
            if !is_there || excludes(tree) {
                continue;
            }
            output.add(&entry, false)?;
            salvaged.entries += 1;
            let bytes = entry.key.len() + entry.value.map_or(0, <[u8]>::len);
            progress(bytes as u64);
            if merge.is_doubtful() {
                match salvaged.doubtful.last_mut() {
                    Some((last, count)) if *last == tree => *count += 1,
                    _ => salvaged.doubtful.push((tree, 1)),
                }
            }
        }
        let added = output.finish()?.into_iter().map(|meta| (LEVELS - 1, meta)).collect();
        let entries: u64 = self.tables.iter().map(|(_, table)| table.meta.entries).sum();
        salvaged.lost = entries.saturating_sub(merge.entries);
        salvaged.damage = damage;
        let edit = Edit { added, checkpoint: Some(self.checkpoint.clone()), ..Edit::default() };
        let mut manifest = Manifest::new(context.env.clone(), target, 0);
        manifest.commit(&edit, || edit.clone(), || next_number.fetch_add(1, Ordering::Relaxed))?;
        Ok(salvaged)
    }
}

fn context(env: &Arc<dyn Env>, dir: &Path) -> Arc<TableContext> {
    let (cache, graveyard) = (BlockCache::new(0), Graveyard::default());
    Arc::new(TableContext { env: env.clone(), dir: dir.to_owned(), cache, graveyard })
}

fn path_of(table: &Table, context: &TableContext) -> PathBuf {
    context.table_path(table.meta.number)
}

fn whole_table(meta: &TableMeta) -> Lost {
    Lost::Table { first: meta.smallest.clone(), last: meta.largest.clone(), entries: meta.entries }
}

fn offset_of(error: &StoreError) -> u64 {
    match error {
        StoreError::Corrupt { offset, .. } => *offset,
        _ => 0,
    }
}

/// Without the file, which [`Damage::file`] has.
fn what_of(error: &StoreError) -> String {
    match error {
        StoreError::Corrupt { what, .. } => what.clone(),
        StoreError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            "the file is missing".to_owned()
        }
        StoreError::Io { source, .. } => format!("it can't be read: {source}"),
        other => other.to_string(),
    }
}

/// All entries of one table, over what can't be read. Memory: one block and the index.
struct TableWalk {
    table: Arc<Table>,
    /// `None` until the first step.
    index: Option<Block>,
    /// The number of the block after the current one.
    next_block: usize,
    data: Option<BlockCursor>,
    /// The last key of the block before, or the table's first key.
    after: Vec<u8>,
    /// Entries that were read.
    entries: u64,
    is_over: bool,
}

impl TableWalk {
    fn new(table: Arc<Table>) -> TableWalk {
        let after = table.meta.smallest.clone();
        TableWalk { table, index: None, next_block: 0, data: None, after, entries: 0, is_over: false }
    }

    fn entry(&self) -> Option<Entry<'_>> {
        self.data.as_ref().map(BlockCursor::entry)
    }

    /// Goes to the next entry; false at the end.
    fn next(&mut self, damage: &mut Vec<Damage>) -> bool {
        if let Some(data) = &mut self.data {
            match data.next() {
                Ok(true) => {
                    self.entries += 1;
                    return true;
                }
                Ok(false) => {}
                Err(_) => {
                    self.report_block(damage, self.next_block - 1, "block contradicts itself".to_owned())
                }
            }
        }
        self.data = None;
        while !self.is_over && self.data.is_none() {
            self.enter_block(damage);
        }
        self.entries += u64::from(self.data.is_some());
        self.data.is_some()
    }

    /// The next block, if it can be read.
    fn enter_block(&mut self, damage: &mut Vec<Damage>) {
        let index = match &self.index {
            Some(index) => index.clone(),
            None => match self.table.index() {
                Ok(index) => self.index.insert(index).clone(),
                Err(error) => return self.give_up(damage, &error),
            },
        };
        if self.next_block >= index.count() {
            self.is_over = true;
            return;
        }
        let block = self.next_block;
        self.next_block += 1;
        let handle = match self.handle(&index, block) {
            Ok(handle) => handle,
            Err(error) => return self.give_up(damage, &error),
        };
        match self.table.data(handle, false).map(|data| BlockCursor::new(data, 0)) {
            Ok(Ok(cursor)) => self.data = Some(cursor),
            Ok(Err(_)) => self.report_block(damage, block, "block contradicts itself".to_owned()),
            Err(error) => self.report_block(damage, block, what_of(&error)),
        }
        if block > 0 {
            self.after = last_key(&index, block - 1).unwrap_or_default();
        }
    }

    fn handle(&self, index: &Block, block: usize) -> Result<Handle, StoreError> {
        let range = index.value(block).map_err(|_| self.table.index_damaged())?;
        self.table.handle(&index.bytes()[range])
    }

    /// A block that can't be read: its keys are those after the block before it, up to what the
    /// index says.
    fn report_block(&self, damage: &mut Vec<Damage>, block: usize, what: String) {
        let Some(index) = &self.index else { return };
        let offset = self.handle(index, block).map_or(0, |handle| handle.offset);
        let after = match block.checked_sub(1) {
            Some(before) => last_key(index, before),
            None => Some(self.table.meta.smallest.clone()),
        };
        let last = last_key(index, block).unwrap_or_else(|| self.table.meta.largest.clone());
        let lost = Lost::Block { after: after.unwrap_or_else(|| self.after.clone()), last };
        damage.push(Damage { file: self.table.path(), offset, what, lost });
    }

    /// The remaining table is lost: no index leads to it.
    fn give_up(&mut self, damage: &mut Vec<Damage>, error: &StoreError) {
        self.is_over = true;
        let lost = whole_table(&self.table.meta);
        damage.push(Damage { file: self.table.path(), offset: offset_of(error), what: what_of(error), lost });
    }
}

fn last_key(index: &Block, block: usize) -> Option<Vec<u8>> {
    let cursor = BlockCursor::new(index.clone(), block).ok()?;
    let key = cursor.internal_key().0;
    (key.len() >= TREE_LEN).then(|| key.to_vec())
}

/// Tables that follow each other without overlap, as one: one table of level 0, or a deeper level.
struct LevelWalk {
    table: Option<TableWalk>,
    remaining: VecDeque<Arc<Table>>,
    entries: u64,
}

impl LevelWalk {
    fn new(tables: impl IntoIterator<Item = Arc<Table>>) -> LevelWalk {
        LevelWalk { table: None, remaining: tables.into_iter().collect(), entries: 0 }
    }

    fn entry(&self) -> Option<Entry<'_>> {
        self.table.as_ref()?.entry()
    }

    fn next(&mut self, damage: &mut Vec<Damage>) {
        loop {
            if let Some(table) = &mut self.table {
                if table.next(damage) {
                    return;
                }
                self.entries += table.entries;
            }
            self.table = self.remaining.pop_front().map(TableWalk::new);
            if self.table.is_none() {
                return;
            }
        }
    }

    fn entries(&self) -> u64 {
        self.entries + self.table.as_ref().map_or(0, |table| table.entries)
    }
}

/// Keys of which entries are lost.
struct LostRange {
    first: Vec<u8>,
    last: Vec<u8>,
    /// The newest position that may be lost.
    newest: LogPosition,
}

/// The newest version of each key of many tables, deletions too.
struct Walk {
    levels: Vec<LevelWalk>,
    /// Which level the last entry came from; `None` at the start.
    last: Option<usize>,
    key: Vec<u8>,
    /// Lost ranges noted so far, without those that the walk has passed.
    lost: Vec<LostRange>,
    positions: Vec<(PathBuf, LogPosition)>,
    noted: usize,
    /// Entries that were read, all versions.
    entries: u64,
}

impl Walk {
    /// `tables` are ordered by level and, below level 0, by key.
    fn new<'a>(tables: impl Iterator<Item = &'a (usize, Arc<Table>)>) -> Walk {
        let mut levels = Vec::new();
        let mut deeper: Vec<Vec<Arc<Table>>> = vec![Vec::new(); LEVELS];
        let mut positions = Vec::new();
        for (level, table) in tables {
            positions.push((table.path(), table.meta.position_max));
            match level {
                0 => levels.push(LevelWalk::new([table.clone()])),
                _ => deeper[*level].push(table.clone()),
            }
        }
        levels.extend(deeper.into_iter().filter(|tables| !tables.is_empty()).map(LevelWalk::new));
        Walk { levels, last: None, key: Vec::new(), lost: Vec::new(), positions, noted: 0, entries: 0 }
    }

    /// The newest version of the next key.
    fn next(&mut self, damage: &mut Vec<Damage>) -> Option<Entry<'_>> {
        match self.last {
            None => self.levels.iter_mut().for_each(|level| level.next(damage)),
            Some(last) => self.levels[last].next(damage),
        }
        let mut is_first = self.last.is_none();
        let found = loop {
            self.note_lost(damage);
            let least = self.levels.iter().enumerate().filter_map(|(i, level)| Some((i, level.entry()?)));
            let least =
                least.min_by(|(_, a), (_, b)| order(a.key, a.position, b.key, b.position)).map(|(i, _)| i);
            let Some(least) = least else { break None };
            // What is out of order, or no full key, is of no manifest and no block that this
            // program wrote.
            let is_new = self.levels[least]
                .entry()
                .is_some_and(|e| e.key.len() >= TREE_LEN && (is_first || e.key > self.key.as_slice()));
            if is_new {
                break Some(least);
            }
            is_first = false;
            self.levels[least].next(damage);
        };
        self.entries = self.levels.iter().map(LevelWalk::entries).sum();
        self.last = Some(found?);
        let entry = self.levels[found?].entry()?;
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        Some(entry)
    }

    fn note_lost(&mut self, damage: &[Damage]) {
        for found in &damage[self.noted.min(damage.len())..] {
            let (Lost::Block { after: first, last } | Lost::Table { first, last, .. }) = &found.lost else {
                continue;
            };
            let newest = self.positions.iter().find(|(path, _)| *path == found.file);
            let newest = newest.map_or(LogPosition::MAX, |(_, position)| *position);
            self.lost.push(LostRange { first: first.clone(), last: last.clone(), newest });
        }
        self.noted = damage.len();
    }

    /// True if the entry that was returned last lies where a newer one may be lost (K2).
    fn is_doubtful(&mut self) -> bool {
        let Some(entry) = self.last.and_then(|last| self.levels[last].entry()) else { return false };
        self.lost.retain(|lost| lost.last.as_slice() >= entry.key);
        self.lost.iter().any(|lost| lost.first.as_slice() <= entry.key && entry.position < lost.newest)
    }
}
