//! State that [`Store`](crate::Store), its writer and its background threads share, and its
//! latches.

use crate::entry::TreeId;
use crate::error::StoreError;
use crate::memtable::{Checkpoint, Frozen, Retired};
use crate::skiplist::SkipList;
use crate::snapshot::{Horizon, Snapshots};
use crate::store::StoreOptions;
use crate::tables::Tables;
use crate::view::CurrentView;
use arc_swap::ArcSwapOption;
use binlog::LogPosition;
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub(crate) type VisibleSource = Box<dyn Fn() -> LogPosition + Send + Sync>;
pub(crate) type NotesSource = Box<dyn Fn(LogPosition) -> Vec<u8> + Send + Sync>;

/// What [`Store`](crate::Store), its writer and its background threads share.
///
/// Latches, outermost first: `flushing` or `compacting`, the tables' own, `writing`, the view's
/// own. The first two and the tables' are held across I/O; nothing that a reader or a writer does
/// takes them.
pub(crate) struct Core {
    pub(crate) options: StoreOptions,
    pub(crate) current: Arc<CurrentView>,
    pub(crate) tables: Tables,
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) visible: ArcSwapOption<VisibleSource>,
    pub(crate) notes: ArcSwapOption<NotesSource>,
    /// Held while a batch is applied and while a memtable is frozen.
    pub(crate) writing: Mutex<Writing>,
    /// The last position written; stored with `Release` at the end of a write, so that one who
    /// loads it reads that write's versions.
    pub(crate) last: AtomicU64,
    pub(crate) flushing: Mutex<()>,
    pub(crate) compacting: Mutex<()>,
    /// A leaf in the order of latches.
    pub(crate) retired: Retired,
    pub(crate) signals: Signals,
    pub(crate) counters: Counters,
    /// Trees that are being built (`build.rs`); a leaf.
    pub(crate) building: Mutex<HashSet<TreeId>>,
    /// The next number of a tree to be built.
    pub(crate) next_built: AtomicU32,
}

/// What only the writer changes.
#[derive(Default)]
pub(crate) struct Writing {
    pub(crate) last: LogPosition,
    /// Tree drops since the active memtable was begun.
    pub(crate) drops: Vec<(TreeId, LogPosition)>,
    /// Bytes of log that the active memtable's transactions take.
    pub(crate) log_distance: u64,
}

/// How background threads and waiting writers notify each other.
#[derive(Default)]
pub(crate) struct Signals {
    /// What last failed: (flush, compaction).
    pub(crate) failures: Mutex<(Option<StoreError>, Option<StoreError>)>,
    /// Something to do for the background; goes with `failures`.
    pub(crate) work: Condvar,
    /// A flush or compaction ended; goes with `failures`.
    pub(crate) progress: Condvar,
    pub(crate) closing: AtomicBool,
}

/// Counts since the store was opened.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) flushes: AtomicU64,
    pub(crate) compactions: AtomicU64,
    pub(crate) compacted_bytes: AtomicU64,
    pub(crate) writes_slowed: AtomicU64,
    pub(crate) writes_stopped: AtomicU64,
}

impl Core {
    /// The position that new snapshots are taken at.
    pub(crate) fn visible(&self) -> LogPosition {
        match &*self.visible.load() {
            Some(source) => source(),
            None => LogPosition::from_u64(self.last.load(Ordering::Acquire)),
        }
    }

    /// Which versions are needed from now on.
    pub(crate) fn horizon(&self) -> Horizon {
        self.snapshots.horizon(|| self.visible())
    }

    /// Frees files and memory that nobody reads any more.
    pub(crate) fn bury(&self) {
        self.tables.bury();
        self.retired.bury();
    }

    /// Sets the active memtable aside, with the position and the notes that flushing it makes
    /// durable; returns it.
    pub(crate) fn freeze(&self, writing: &mut Writing, notes: &[u8]) -> Arc<SkipList> {
        let checkpoint = Checkpoint::new(writing.last, notes);
        let drops = std::mem::take(&mut writing.drops).into();
        let log_distance = std::mem::take(&mut writing.log_distance);
        // Only this writer, which holds the latch, replaces it.
        let list = self.current.peek().active.clone();
        self.current.update(|view| {
            view.active = self.options.memtable();
            view.frozen.insert(0, Frozen { list: list.clone(), checkpoint, drops, log_distance });
        });
        self.signals.wake_background();
        list
    }
}

impl Signals {
    /// Wakes the background threads.
    pub(crate) fn wake_background(&self) {
        let _failures = self.failures.lock();
        self.work.notify_all();
    }
}
