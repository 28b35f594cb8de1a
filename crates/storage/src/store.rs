//! The store: one keyspace of versions, written at log positions, read at snapshots.
//!
//! 1. write       the log's leader (or replay) applies a transaction's batch to the active
//!    memtable.
//! 2. freeze at the end of a transaction a full memtable is frozen and a new one begun.
//! 3. flush       frozen memtables become tables on disk; one manifest edit names them and the
//!    position (`flush.rs`).
//! 4. compaction  tables are merged into deeper levels, versions that nobody sees are dropped
//!    (`compaction.rs`).
//!
//! (P1) Positions ascend from one write to the next.
//! (P2) The durable state is always that of one position, the checkpoint: what is after it is
//!      replayed from the log.
//! (P3) A read at a position needs a live [`Snapshot`] there, or else flush and compaction may drop
//!      the versions that it needs.

use crate::background;
use crate::batch::{self, KeyRange, WriteBatch};
use crate::cache::BlockCache;
use crate::core::{Core, Counters, Signals, Writing};
use crate::cursor::{Cursor, CursorBuffers};
use crate::entry::{TREE_LEN, TreeId, Value};
use crate::error::StoreError;
use crate::manifest::{CURRENT, Manifest};
use crate::memtable::Retired;
use crate::skiplist::SkipList;
use crate::snapshot::{Snapshot, Snapshots};
use crate::sstable::{Graveyard, Table, TableContext};
use crate::tables::{Examined, Tables};
use crate::write_set::WriteSet;
use arc_swap::ArcSwapOption;
use binlog::LogPosition;
use env::Env;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The log, as far as the store has to know it.
pub trait LogDurability: Send + Sync {
    /// Returns once the log is durable up to `position`, flushing it if need be. Called before the
    /// manifest names that position (the write-ahead rule).
    ///
    /// # Errors
    /// If the log could not be flushed: the manifest does not name the position then.
    fn ensure_durable(&self, position: LogPosition) -> io::Result<()>;

    /// The log's fingerprint at a position that is durable ([`binlog::log::Log::fingerprint`]);
    /// `None` if it has none.
    ///
    /// # Errors
    /// If the log can't be read.
    fn fingerprint(&self, _position: LogPosition) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// How a store is to work.
#[derive(Clone)]
pub struct StoreOptions {
    /// A memtable is frozen at this size, in bytes.
    pub memtable_size: usize,
    /// Memory for all memtables, counted in memtables (at least 2): writers are stopped beyond it.
    pub memtables_max: usize,
    /// Memory for blocks of tables, their filters and indexes, in bytes.
    pub block_cache_size: usize,
    /// About how many bytes of log may have to be replayed after a crash.
    pub log_distance_max: u64,
    /// Flush and compact in threads of the store's own; otherwise only when called for.
    pub background: bool,
    /// The log that is the store's write-ahead log.
    pub durability: Arc<dyn LogDurability>,
}

impl StoreOptions {
    /// An empty memtable.
    pub(crate) fn memtable(&self) -> Arc<SkipList> {
        Arc::new(SkipList::with_directory(self.memtable_size))
    }

    /// Tables end at this size, in bytes.
    pub(crate) fn table_size(&self) -> u64 {
        (self.memtable_size as u64 / 2).clamp(16 << 10, 16 << 20)
    }

    /// Level 1 may hold this many bytes.
    pub(crate) fn level1_size(&self) -> u64 {
        8 * self.table_size()
    }
}

/// The store. Shared by `Arc`; dropping it ends its threads, without a checkpoint.
pub struct Store {
    pub(crate) core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
    _lock: Box<dyn Send + Sync>,
}

impl Store {
    /// Opens the store in folder `dir`, which is made if missing. `Io` with `WouldBlock` inside if
    /// another process has it open.
    ///
    /// # Errors
    /// Those of [`Self::examine`] and [`ExaminedStore::adopt`].
    pub fn open(env: Arc<dyn Env>, dir: &Path, options: StoreOptions) -> Result<Arc<Store>, StoreError> {
        Store::examine(env, dir)?.adopt(options)
    }

    /// The first half of [`Self::open`], which changes nothing: reads what the store's files say.
    /// [`StoreError::Refused`] if they are damaged.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if they are damaged, [`StoreError::Io`] if they can't be read or
    /// another process has the store open.
    pub(crate) fn examine(env: Arc<dyn Env>, dir: &Path) -> Result<ExaminedStore, StoreError> {
        // A copy of a store has no lock file, nor has a folder that is not there.
        let path = dir.join(LOCK);
        let lock = if env.exists(&path) { Some(lock_store(&*env, dir)?) } else { None };
        let found = Examined::read(&env, dir).map_err(StoreError::refused)?;
        Ok(ExaminedStore { env, dir: dir.to_owned(), lock, found })
    }

    /// The position that the last checkpoint made durable: replay starts after it.
    pub fn checkpoint_position(&self) -> LogPosition {
        self.core.tables.checkpoint().position
    }

    /// The notes that the last checkpoint made durable.
    pub fn checkpoint_notes(&self) -> Vec<u8> {
        self.core.tables.checkpoint().notes.to_vec()
    }

    /// Sets the source of the visible position, which never goes back. Until then the last position
    /// written counts as visible, which is right while the log is replayed. The source must not
    /// call the store.
    pub fn set_visible_source(&self, source: impl Fn() -> LogPosition + Send + Sync + 'static) {
        self.core.visible.store(Some(Arc::new(Box::new(source))));
    }

    /// Sets the source of the notes of background checkpoints. It is called inside [`Self::write`],
    /// at its end, with the position that was just written; it must not block or call the store.
    pub fn set_notes_source(&self, source: impl Fn(LogPosition) -> Vec<u8> + Send + Sync + 'static) {
        self.core.notes.store(Some(Arc::new(Box::new(source))));
    }

    /// Applies a transaction's changes. One caller at a time, positions ascending (P1); an empty
    /// batch moves the position on. Never waits for I/O, and can't fail.
    ///
    /// # Panics
    /// If `position` is not after the last one.
    pub fn write(&self, batch: &WriteBatch, position: LogPosition) {
        let core = &*self.core;
        let mut writing = core.writing.lock();
        assert!(position > writing.last, "P1: {position} written after {}", writing.last);
        if !batch.drops().is_empty() {
            writing.drops.extend(batch.drops().iter().map(|&tree| (tree, position)));
            core.current.update(|view| {
                let drops = Arc::make_mut(&mut view.drops);
                batch.drops().iter().for_each(|&tree| drops.add(tree, position));
            });
        }
        // Only this writer and a freeze, which takes its latch, replace the active memtable.
        let active = core.current.peek().active.clone();
        active.writer().insert_all(batch.entries(), position);
        let puts = batch.entries().filter(|(_, value)| value.is_some());
        core.current.gaps.put(puts.map(|(key, _)| key));
        writing.log_distance += distance(writing.last, position);
        writing.last = position;
        core.last.store(position.to_u64(), Ordering::Release);
        let is_far = writing.log_distance >= core.options.log_distance_max / 2;
        let is_full = active.bytes() >= core.options.memtable_size;
        if is_far || is_full || env::rarely(&*core.tables.context.env, 256) {
            let notes = core.notes.load().as_ref().map(|source| source(position)).unwrap_or_default();
            drop(core.freeze(&mut writing, &notes));
        }
    }

    /// To be called before a transaction of about `bytes` joins a commit group: slows writers down,
    /// then stops them, while flush and compaction lag behind. Fails with [`StoreError::Stalled`]
    /// where waiting won't help now. The caller holds nothing that a flush or the log needs.
    ///
    /// # Errors
    /// [`StoreError::Stalled`], and [`StoreError::Closed`] if the store is closed meanwhile.
    pub fn admit(&self, bytes: usize) -> Result<(), StoreError> {
        self.core.admit(bytes)
    }

    /// The value of `key` that a snapshot at `at` sees (P3).
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Corrupt`] of the table files that are read.
    pub fn get(&self, tree: TreeId, key: &[u8], at: LogPosition) -> Result<Option<Value>, StoreError> {
        Ok(self.version(tree, key, at)?.and_then(|(_, value)| value))
    }

    /// The newest version of `key`, visible or not: who wrote it, and the value unless it is
    /// deleted. `None` if there is none, or only a deletion that is durable already.
    ///
    /// # Errors
    /// Those of [`Self::get`].
    #[allow(clippy::type_complexity, reason = "position and value, each of which may be missing")]
    pub fn latest(
        &self,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<(LogPosition, Option<Value>)>, StoreError> {
        self.version(tree, key, LogPosition::MAX)
    }

    /// The version of `key` that a snapshot at `at` sees, as by [`Self::latest`].
    ///
    /// # Errors
    /// Those of [`Self::get`].
    #[allow(clippy::type_complexity, reason = "as above")]
    pub fn version(
        &self,
        tree: TreeId,
        key: &[u8],
        at: LogPosition,
    ) -> Result<Option<(LogPosition, Option<Value>)>, StoreError> {
        let view = self.core.current.peek();
        let found = tree.with_full_key(key, |full_key| view.newest(full_key, at))?;
        Ok(found.filter(|(position, _)| *position >= view.drops.floor(tree, at)))
    }

    /// A cursor over the rows of `tree` that a snapshot at `at` sees (P3).
    pub fn cursor(&self, tree: TreeId, at: LogPosition) -> Cursor {
        self.cursor_in(CursorBuffers::default(), tree, at)
    }

    /// The same, with the buffers of an earlier cursor.
    pub(crate) fn cursor_in(&self, buffers: CursorBuffers, tree: TreeId, at: LogPosition) -> Cursor {
        Cursor::new(self.core.current.clone(), buffers, tree, at)
    }

    pub(crate) fn current(&self) -> &crate::view::CurrentView {
        &self.core.current
    }

    /// Key ranges in which a transaction, about to be written, deletes so much that it should
    /// record gaps afterwards (`gaps.rs`).
    pub fn gaps_due(&self, batch: &WriteBatch) -> GapsDue {
        GapsDue(batch.deleted(|tree, deleted| self.core.current.gaps.is_due(tree, deleted)))
    }

    /// As [`Self::gaps_due`], from the transaction's private changes.
    pub(crate) fn gaps_due_of(&self, writes: &WriteSet) -> GapsDue {
        let is_due = |tree, deleted| self.core.current.gaps.is_due(tree, deleted);
        GapsDue(batch::deleted(writes.entries(), is_due))
    }

    /// Learns the gaps around keys that were deleted, now that this is visible, so that no reader
    /// has to step over them: queue tables delete at one end. Errors are ignored: gaps are only a
    /// cache.
    pub fn learn_gaps(&self, due: &GapsDue) {
        for keys in &due.0 {
            let (first, last) = (&keys.start()[TREE_LEN..], &keys.end()[TREE_LEN..]);
            let snapshot = self.snapshot_visible();
            let mut cursor = self.cursor(TreeId::of(keys.start()), snapshot.position());
            // The walks record the gaps: to both sides of the last key, and of the first if rows
            // are in between.
            let _ = cursor.seek(last);
            let _ = cursor.seek_for_prev(last);
            if cursor.valid() && cursor.key() > first {
                let _ = cursor.seek(first);
                let _ = cursor.seek_for_prev(first);
            }
        }
    }

    /// Keeps what is visible at `position`, which must be protected already: by another live
    /// snapshot at the same position, or because the visible position can't move.
    /// [`Self::snapshot_visible`] takes one of *now*.
    pub fn snapshot(&self, position: LogPosition) -> Snapshot {
        self.core.snapshots.take(|| position)
    }

    /// A snapshot at the visible position.
    pub fn snapshot_visible(&self) -> Snapshot {
        self.core.snapshots.take(|| self.core.visible())
    }

    /// Makes everything written so far durable in tables, together with `notes`; returns its
    /// position.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the log can't be flushed, or tables or manifest can't be written.
    pub fn checkpoint(&self, notes: &[u8]) -> Result<LogPosition, StoreError> {
        self.checkpoint_with(|_| notes.to_vec())
    }

    /// As [`Self::checkpoint`], with notes made for exactly that position; see
    /// [`Self::set_notes_source`].
    ///
    /// # Errors
    /// Those of [`Self::checkpoint`].
    pub(crate) fn checkpoint_with(
        &self,
        notes: impl FnOnce(LogPosition) -> Vec<u8>,
    ) -> Result<LogPosition, StoreError> {
        let begun = self.begin_checkpoint(notes);
        self.finish_checkpoint(&begun)?;
        Ok(begun.position)
    }

    /// The first half of [`Self::checkpoint_with`], which does no I/O: what was written so far
    /// waits to be flushed, with `notes`.
    pub fn begin_checkpoint(&self, notes: impl FnOnce(LogPosition) -> Vec<u8>) -> BegunCheckpoint {
        let mut writing = self.core.writing.lock();
        let notes = notes(writing.last);
        let list = self.core.freeze(&mut writing, &notes);
        BegunCheckpoint { list, position: writing.last }
    }

    /// The second half: returns once a manifest edit holds the position and its notes, or those of
    /// a checkpoint that was begun later. After an error it may be called again.
    ///
    /// # Errors
    /// Those of [`Self::checkpoint`].
    pub fn finish_checkpoint(&self, begun: &BegunCheckpoint) -> Result<(), StoreError> {
        while self.core.is_frozen(&begun.list) {
            self.core.flush_once()?;
        }
        assert!(self.checkpoint_position() >= begun.position, "F3: the checkpoint is there, or a later one");
        self.core.bury();
        Ok(())
    }

    /// Flushes frozen memtables, if there are any: what a background thread does by itself.
    ///
    /// # Errors
    /// Those of [`Self::checkpoint`]; the memtables stay frozen.
    pub fn flush_once(&self) -> Result<bool, StoreError> {
        let done = self.core.flush_once();
        self.core.bury();
        done
    }

    /// Does one step of compaction, if there is something to do: what a background thread does by
    /// itself.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] of the tables that are read, [`StoreError::Io`] of these and the new
    /// ones. The old tables stay.
    pub fn compact_once(&self) -> Result<bool, StoreError> {
        let done = self.core.compact_once();
        self.core.bury();
        done
    }

    /// Reads the files of all tables that can hold entries of these trees, whole and past the
    /// cache, and returns what is wrong with them. `go_on` is asked now and then; after a no the
    /// remaining files are skipped.
    pub fn verify_trees(&self, trees: &[TreeId], go_on: &mut dyn FnMut() -> bool) -> Vec<StoreError> {
        let view = self.core.current.load();
        let holds = |table: &Table| trees.iter().any(|tree| table.meta.may_hold(*tree));
        let tables = view.version.tables().map(|(_, table)| table).filter(|table| holds(table));
        tables.filter_map(|table| table.verify(go_on).err()).collect()
    }

    /// Asserts that all sources of all keys are in order (V1 of `view.rs`, L1 to L3 of
    /// `version.rs`) and that the manifest says what is in memory. Reads everything: for tests.
    ///
    /// # Errors
    /// Files that can't be read.
    pub fn check_invariants(&self) -> Result<(), StoreError> {
        self.core.tables.check_invariants()?;
        let view = self.core.current.load();
        view.check_invariants();
        view.check_entries()
    }

    /// What the store holds and did.
    pub fn stats(&self) -> StoreStats {
        let core = &*self.core;
        let view = core.current.load();
        let (cache_bytes, cache_hits, cache_misses) = core.tables.context.cache.usage();
        let (snapshots, oldest_snapshot) = core.snapshots.summary();
        let failures = core.signals.failures.lock();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreStats {
            memtable_bytes: view.memtable_bytes(),
            memtables_frozen: view.frozen.len(),
            tables: view.version.levels.each_ref().map(|tables| tables.len()),
            table_bytes: view.version.tables().map(|(_, t)| t.meta.size).sum(),
            entries: view.version.tables().map(|(_, t)| t.meta.entries).sum(),
            cache_bytes,
            cache_hits,
            cache_misses,
            snapshots,
            oldest_snapshot,
            flushes: count(&core.counters.flushes),
            compactions: count(&core.counters.compactions),
            compacted_bytes: count(&core.counters.compacted_bytes),
            writes_slowed: count(&core.counters.writes_slowed),
            writes_stopped: count(&core.counters.writes_stopped),
            flush_failure: failures.0.clone(),
            compaction_failure: failures.1.clone(),
        }
    }
}

/// A checkpoint that is not yet durable: see [`Store::begin_checkpoint`].
#[derive(Clone)]
pub struct BegunCheckpoint {
    /// The memtable that goes with it.
    list: Arc<SkipList>,
    position: LogPosition,
}

/// Deleted keys around which gaps are to be learnt: see [`Store::gaps_due`].
#[derive(Debug)]
pub struct GapsDue(Vec<KeyRange>);

impl GapsDue {
    /// True if there is nothing to learn.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        background::stop(&self.core, std::mem::take(&mut self.threads));
        self.core.bury();
    }
}

/// What the store holds and did since it was opened.
#[derive(Debug, Clone)]
pub struct StoreStats {
    /// Memory of all memtables.
    pub memtable_bytes: usize,
    /// Memtables that wait to be flushed.
    pub memtables_frozen: usize,
    /// Number of tables, level by level.
    pub tables: [usize; 7],
    /// Bytes of all tables on disk.
    pub table_bytes: u64,
    /// Entries in all tables, old versions and deletions included.
    pub entries: u64,
    /// Bytes of blocks in memory.
    pub cache_bytes: u64,
    /// Blocks found in memory.
    pub cache_hits: u64,
    /// Blocks not found there.
    pub cache_misses: u64,
    /// Different positions that live snapshots stand on.
    pub snapshots: usize,
    /// The oldest of them.
    pub oldest_snapshot: Option<LogPosition>,
    /// Flushes that made a checkpoint.
    pub flushes: u64,
    /// Compactions, moves included.
    pub compactions: u64,
    /// Bytes of tables that compactions read.
    pub compacted_bytes: u64,
    /// Times a writer was slowed down.
    pub writes_slowed: u64,
    /// Times a writer was stopped.
    pub writes_stopped: u64,
    /// Why the last flush in the background failed, if it did.
    pub flush_failure: Option<StoreError>,
    /// Why the last compaction in the background failed, if it did.
    pub compaction_failure: Option<StoreError>,
}

/// A store's files, read and found sound; nothing was changed, and dropping it changes nothing.
pub struct ExaminedStore {
    env: Arc<dyn Env>,
    dir: PathBuf,
    lock: Option<Box<dyn Send + Sync>>,
    found: Examined,
}

impl ExaminedStore {
    /// The position of the checkpoint: the log must go back to it.
    pub(crate) fn checkpoint_position(&self) -> LogPosition {
        self.found.checkpoint.position
    }

    /// The log's fingerprint at that position, when the checkpoint was made; `None` if it was not
    /// noted.
    pub(crate) fn log_fingerprint(&self) -> Option<u64> {
        self.found.checkpoint.fingerprint
    }

    /// True if there are tables, named by a manifest or not.
    pub(crate) fn has_tables(&self) -> bool {
        self.found.has_tables()
    }

    /// The name of the manifest that counts; `None` if there is none.
    pub(crate) fn manifest_name(&self) -> Option<String> {
        let path = self.found.manifest_path(&self.dir);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.filter(|_| self.found.has_manifest())
    }

    /// The manifest's last record, if it can't be read: torn by a power cut, or damaged. The
    /// checkpoint is that of the record before it.
    pub(crate) fn torn_record(&self) -> Option<StoreError> {
        let offset = self.found.torn_at?;
        let what = format!(
            "the last record can't be read, and the checkpoint of the one before it, at {}, does not fit the log",
            self.checkpoint_position()
        );
        Some(StoreError::Corrupt { file: self.found.manifest_path(&self.dir), offset, what })
    }

    /// Why the store, which seems to be empty, may have lost what it had. It is to be adopted only
    /// if the log has everything from its first file on.
    pub(crate) fn doubt(&self) -> Option<&StoreError> {
        self.found.doubt.as_ref()
    }

    /// Why the manifest that counts is not the one that should, if the log ends at `log_end` in
    /// front of what a newer one stands for (N5 of `manifest.rs`).
    pub(crate) fn newer_than_log(&self, log_end: LogPosition) -> Option<StoreError> {
        let newer = self.found.newer.iter().find(|newer| newer.position > log_end)?;
        let what = format!(
            "it names {}, but {} is newer and sound, and has the tables up to {}, which is more than the binary log has: \
             it is an old copy, and to go on from it would lose transactions",
            self.manifest_name().unwrap_or_default(),
            newer.name,
            newer.position
        );
        Some(StoreError::Corrupt { file: self.dir.join(CURRENT), offset: 0, what })
    }

    /// Logs which sound manifests are removed, and why.
    fn warn_of_newer_manifests(&self) {
        let counts = self.manifest_name().unwrap_or_default();
        for newer in &self.found.newer {
            tracing::warn!(
                manifest = %newer.name, tables = newer.tables, position = %newer.position,
                "{CURRENT} names {counts}, but a newer manifest is there, and sound: the last process ended before it was put to \
                 use, or {CURRENT} and {counts} are an old copy. It is removed, with the tables that only it names; the binary \
                 log has all that is in them, and is replayed from {} on",
                self.checkpoint_position()
            );
        }
    }

    /// The second half of [`Store::open`], to be called once it is certain that log and store
    /// belong together: takes the files over, removes those that nothing names, and starts to flush
    /// and compact.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder can't be written or another process has the store open.
    pub(crate) fn adopt(self, options: StoreOptions) -> Result<Arc<Store>, StoreError> {
        self.warn_of_newer_manifests();
        let ExaminedStore { env, dir, lock, found } = self;
        make_dir(&*env, &dir).map_err(|e| StoreError::io(format!("open store {}", dir.display()), e))?;
        let lock = lock.map_or_else(|| lock_store(&*env, &dir), Ok)?;
        if let Some(why) = &found.instead_of {
            tracing::warn!(
                "{why}; the newest manifest is sound, and all its tables are there: going on from it"
            );
        }
        if let Some(why) = &found.doubt {
            tracing::warn!("{why}; all tables are made from the binary log again, and no file is removed");
        }
        let last = found.checkpoint.position;
        let cache = BlockCache::new(options.block_cache_size);
        let context = TableContext { env, dir, cache, graveyard: Graveyard::default() };
        let (tables, current) = Tables::adopt(Arc::new(context), options.memtable(), found)?;
        let core = Arc::new(Core {
            options,
            current,
            tables,
            snapshots: Arc::new(Snapshots::default()),
            visible: ArcSwapOption::empty(),
            notes: ArcSwapOption::empty(),
            writing: Mutex::new(Writing { last, ..Writing::default() }),
            last: AtomicU64::new(last.to_u64()),
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            retired: Retired::default(),
            signals: Signals::default(),
            counters: Counters::default(),
            building: Mutex::default(),
            next_built: AtomicU32::new(crate::build::FIRST_BUILT),
        });
        let threads = if core.options.background { background::start(&core)? } else { Vec::new() };
        Ok(Arc::new(Store { core, threads, _lock: lock }))
    }
}

/// The file that the process holds which has the store open.
const LOCK: &str = "LOCK";

fn lock_store(env: &dyn Env, dir: &Path) -> Result<Box<dyn Send + Sync>, StoreError> {
    env.lock_file(&dir.join(LOCK)).map_err(|e| StoreError::io(format!("open store {}", dir.display()), e))
}

/// Makes the store's folder, durable in name, with those above it.
fn make_dir(env: &dyn Env, dir: &Path) -> io::Result<()> {
    if Manifest::is_there(env, dir) {
        // A manifest was begun: whoever did that came past this.
        return Ok(());
    }
    let missing: Vec<&Path> =
        dir.ancestors().take_while(|d| !d.as_os_str().is_empty() && !env.exists(d)).collect();
    env.create_dir_all(dir)?;
    // The folder's own name always: an earlier process may have made it and not come this far.
    for made in missing.into_iter().rev().chain([dir]) {
        let above = made.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        env.sync_dir(above)?;
    }
    Ok(())
}

/// Bytes of log from one position to the next, as far as positions show: what the first file held
/// after `from` is not known.
pub(crate) fn distance(from: LogPosition, to: LogPosition) -> u64 {
    if from.file() == to.file() { to.offset() - from.offset() } else { to.offset() }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Stores for tests.
    #![allow(clippy::unwrap_used)]
    use super::*;
    use env::RealEnv;

    /// A log that is always durable.
    pub(crate) struct Durable;

    impl LogDurability for Durable {
        fn ensure_durable(&self, _position: LogPosition) -> io::Result<()> {
            Ok(())
        }
    }

    /// Small memtables, and no threads.
    pub(crate) fn options() -> StoreOptions {
        StoreOptions {
            memtable_size: 1 << 20,
            memtables_max: 4,
            block_cache_size: 1 << 20,
            log_distance_max: 1 << 40,
            background: false,
            durability: Arc::new(Durable),
        }
    }

    /// A new store in a folder that goes with it.
    pub(crate) fn store() -> (Arc<Store>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        (Store::open(Arc::new(RealEnv), dir.path(), options()).unwrap(), dir)
    }
}
