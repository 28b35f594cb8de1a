//! The store: one keyspace of versions, written at log positions, read at snapshots.
//!
//! 1. write       the log's leader (or replay) applies a transaction's batch to the active memtable.
//! 2. freeze      at the end of a transaction a full memtable is set aside and a new one made.
//! 3. flush       frozen memtables become tables on disk; one manifest edit names them and the position.
//! 4. compaction  tables are merged into deeper levels, versions that nobody can see are dropped.
//!
//! (P1) Positions ascend from one write to the next.

use crate::batch::WriteBatch;
use crate::cursor::Cursor;
use crate::entry::{TreeId, Value};
use crate::error::StoreError;
use crate::memtable::{Frozen, Memtable};
use crate::snapshot::{Snapshot, Snapshots};
use crate::view::{CurrentView, Drops, View};
use binlog::position::LogPosition;
use env::Env;
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The log, as far as the store has to know it.
pub trait LogDurability: Send + Sync {
    /// Returns once the log is durable up to `position`, flushing it if need be. Called before the manifest names that
    /// position (the write-ahead rule).
    fn ensure_durable(&self, position: LogPosition) -> io::Result<()>;
}

/// How a store is to work.
#[derive(Clone)]
pub struct StoreOptions {
    /// A memtable is frozen at this size, in bytes.
    pub memtable_size: usize,
    /// Writers are stopped when this many memtables are in memory (at least 2).
    pub memtables_max: usize,
    /// Memory for blocks of tables, in bytes.
    pub block_cache_size: usize,
    /// About how many bytes of log may have to be replayed after a crash.
    pub log_distance_max: u64,
    /// Flush and compact in threads of the store's own; otherwise only when called for.
    pub background: bool,
    /// The log that is the store's write-ahead log.
    pub durability: Arc<dyn LogDurability>,
}

/// The store. Shared by `Arc`.
pub struct Store {
    options: StoreOptions,
    current: Arc<CurrentView>,
    snapshots: Arc<Snapshots>,
    /// Held while a batch is applied and while a memtable is frozen, never across I/O.
    writing: Mutex<Writing>,
    visible: Mutex<Option<VisibleSource>>,
    notes: Mutex<Option<NotesSource>>,
}

type VisibleSource = Arc<dyn Fn() -> LogPosition + Send + Sync>;
type NotesSource = Arc<dyn Fn(LogPosition) -> Vec<u8> + Send + Sync>;

/// What the one writer knows.
struct Writing {
    last: LogPosition,
    drops: Vec<(TreeId, LogPosition)>,
    log_distance: u64,
    checkpoint: (LogPosition, Vec<u8>),
}

impl Store {
    /// Opens the store in folder `dir`, which is made if missing.
    pub fn open(env: Arc<dyn Env>, dir: &Path, options: StoreOptions) -> Result<Arc<Store>, StoreError> {
        env.create_dir_all(dir).map_err(|e| StoreError::io(format!("make folder {}", dir.display()), e))?;
        let view = View { active: Memtable::new(), frozen: Vec::new(), drops: Arc::default() };
        let writing = Writing {
            last: LogPosition::ZERO,
            drops: Vec::new(),
            log_distance: 0,
            checkpoint: (LogPosition::ZERO, Vec::new()),
        };
        Ok(Arc::new(Store {
            options,
            current: Arc::new(CurrentView::new(view)),
            snapshots: Arc::default(),
            writing: Mutex::new(writing),
            visible: Mutex::default(),
            notes: Mutex::default(),
        }))
    }

    /// The position that the last checkpoint made durable: replay starts behind it.
    pub fn checkpoint_position(&self) -> LogPosition {
        self.writing.lock().checkpoint.0
    }

    /// The notes that the last checkpoint made durable.
    pub fn checkpoint_notes(&self) -> Vec<u8> {
        self.writing.lock().checkpoint.1.clone()
    }

    /// Tells the store how to ask for the visible position, which never goes back. Until then the last position
    /// written counts as visible, which is right while the log is replayed.
    pub fn set_visible_source(&self, source: impl Fn() -> LogPosition + Send + Sync + 'static) {
        *self.visible.lock() = Some(Arc::new(source));
    }

    /// Tells the store how to ask for the notes of a background checkpoint. The source is called inside
    /// [`Self::write`], at its end, with the position that was just written, and must not block.
    pub fn set_notes_source(&self, source: impl Fn(LogPosition) -> Vec<u8> + Send + Sync + 'static) {
        *self.notes.lock() = Some(Arc::new(source));
    }

    /// Applies a transaction's changes. One caller at a time, positions ascending (P1); an empty batch moves the
    /// position on. Never waits for I/O, and can't fail.
    pub fn write(&self, batch: &WriteBatch, position: LogPosition) {
        let mut writing = self.writing.lock();
        assert!(position > writing.last, "P1: {position} written after {}", writing.last);
        if !batch.drops().is_empty() {
            let mut view = View::clone(&self.current.peek());
            let mut drops = Drops::clone(&view.drops);
            for &tree in batch.drops() {
                drops.add(tree, position);
                writing.drops.push((tree, position));
            }
            view.drops = Arc::new(drops);
            self.current.publish(view);
        }
        let view = self.current.peek();
        let mut list = view.active.list.writer();
        for (key, value) in batch.entries() {
            list.insert(key, position, value);
        }
        drop(list);
        writing.log_distance += distance(writing.last, position);
        writing.last = position;
        if view.active.list.bytes() >= self.options.memtable_size
            || writing.log_distance >= self.options.log_distance_max / 2
        {
            let notes = self.notes.lock().clone().map(|source| source(position)).unwrap_or_default();
            self.freeze(&mut writing, &notes);
        }
    }

    /// Sets the active memtable aside (called with the writer's latch).
    fn freeze(&self, writing: &mut Writing, notes: &[u8]) {
        let mut view = View::clone(&self.current.peek());
        let frozen = Frozen {
            list: view.active.list.clone(),
            position: writing.last,
            notes: notes.into(),
            drops: std::mem::take(&mut writing.drops).into(),
            log_distance: std::mem::take(&mut writing.log_distance),
        };
        view.frozen.insert(0, frozen);
        view.active = Memtable::new();
        self.current.publish(view);
    }

    /// To be called before a transaction of about `bytes` joins a commit group: slows writers down, then stops them,
    /// while flush and compaction lag behind.
    pub fn admit(&self, _bytes: usize) -> Result<(), StoreError> {
        Ok(())
    }

    /// The value of `key` that a snapshot at `at` sees. A [`Snapshot`] at that position must be alive.
    pub fn get(&self, tree: TreeId, key: &[u8], at: LogPosition) -> Result<Option<Value>, StoreError> {
        Ok(self.version(tree, key, at)?.and_then(|(_, value)| value))
    }

    /// The newest version of `key`, visible or not: who wrote it, and the value unless it is deleted. `None` if there
    /// is none, or only a deletion that everyone can see.
    pub fn latest(
        &self,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<(LogPosition, Option<Value>)>, StoreError> {
        self.version(tree, key, LogPosition::MAX)
    }

    fn version(
        &self,
        tree: TreeId,
        key: &[u8],
        at: LogPosition,
    ) -> Result<Option<(LogPosition, Option<Value>)>, StoreError> {
        let mut full_key = Vec::with_capacity(4 + key.len());
        tree.full_key(key, &mut full_key);
        let view = self.current.peek();
        let found = view.newest(&full_key, at)?;
        Ok(found.filter(|(position, _)| *position >= view.drops.floor(tree, at)))
    }

    /// A cursor over the rows of `tree` that a snapshot at `at` sees. A [`Snapshot`] at that position must live as long
    /// as the cursor.
    pub fn cursor(&self, tree: TreeId, at: LogPosition) -> Cursor {
        Cursor::new(self.current.clone(), tree, at)
    }

    /// Keeps all that is visible at `position`, which must be visible now and protected by a live snapshot, or not
    /// move until this returns. [`Self::snapshot_visible`] is the way to take a snapshot of *now*.
    pub fn snapshot(&self, position: LogPosition) -> Snapshot {
        self.snapshots.take(|| position)
    }

    /// A snapshot at the visible position.
    pub fn snapshot_visible(&self) -> Snapshot {
        self.snapshots.take(|| self.visible())
    }

    fn visible(&self) -> LogPosition {
        let source = self.visible.lock().clone();
        source.map_or_else(|| self.writing.lock().last, |source| source())
    }

    /// Makes everything written so far durable in tables, together with `notes`; returns its position.
    pub fn checkpoint(&self, notes: &[u8]) -> Result<LogPosition, StoreError> {
        let mut writing = self.writing.lock();
        self.freeze(&mut writing, notes);
        writing.checkpoint = (writing.last, notes.to_vec());
        Ok(writing.last)
    }
}

/// Bytes of log from one position to the next, as far as positions tell: what the first file held behind `from` is
/// not known.
fn distance(from: LogPosition, to: LogPosition) -> u64 {
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

    /// A store that writes nothing unless asked to.
    pub(crate) fn in_memory() -> Arc<Store> {
        let options = StoreOptions {
            memtable_size: 1 << 30,
            memtables_max: 4,
            block_cache_size: 1 << 20,
            log_distance_max: 1 << 40,
            background: false,
            durability: Arc::new(Durable),
        };
        let dir = std::env::temp_dir().join("duramen-store-in-memory");
        Store::open(Arc::new(RealEnv), &dir, options).unwrap()
    }
}
