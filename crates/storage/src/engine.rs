//! The engine: log, store and locks, opened and closed together, and combined at commit.
//!
//! A commit, from here on (the story's first half is in [`crate::transaction`]):
//!
//! 1. enqueue  The session has done all that can fail. Its event group joins the log's queue, with
//!    a hook that owns the batch of changes and the row locks.
//! 2. ordered  The transaction's place in the log is fixed; its bytes may not be written yet. The
//!    hook puts the batch into the store (a large one comes as a memtable of its own, `large.rs`),
//!    stamped with the transaction's position, and then releases the locks (C5 of ARCHITECTURE.md),
//!    though a flush may be in flight. It neither blocks nor fails. Very many locks are released by
//!    the session instead, so that the leader takes no longer for one transaction than for another.
//! 3. publish The log advances its visible position past the group. New snapshots see it.
//! 4. wait     The session's ticket returns: the transaction is as durable as the settings ask.
//!
//! Refused groups were never in the store: their hook only releases the locks.
//!
//! (Y1) The store's versions are written by whoever orders alone, or by replay before anybody does,
//!      in log order.
//! (Y2) A version is in the store before the lock on its key is released: who gets the lock next
//!      sees it.
//! (Y3) What is written is never taken out of the store again. If the write or flush fails, the
//!      versions stay above the visible position for ever: consistent reads don't see them, and
//!      whoever reads one through a lock waits for a position that never comes, and gets the log's
//!      error.
//! (Y4) The store's checkpoint is at or before the log's end: it lets the log flush first.
//!
//! Elsewhere: steps 2 and 4 (`engine/pending.rs`), what happens after a restart (`replay.rs`).

mod pending;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use binlog::event::QueryEvent;
use binlog::group::{EventGroup, GroupBuilder, GroupContext};
use binlog::gtid::GtidSpecification;
use binlog::log::{Committed, Examined, InFront, Log, LogError, LogOptions, Recovered};
use binlog::{FileNumber, LogPosition};
use env::Env;
use parking_lot::{Mutex, RwLock};

use crate::batch::{BatchOp, WriteBatch};
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::large::CommitChanges;
use crate::layout::{LayoutRegistry, Layouts};
use crate::lock::{Interrupt, LockManager, OwnerId, TransactionLocks};
use crate::prepared::{self, Content, Prepared, Xid};
use crate::replay::{self, Cause, ReplayError, ReplayTarget, Replayed};
use crate::snapshot::Snapshot;
use crate::source_position::SourcePosition;
use crate::store::{ExaminedStore, GapsDue, LogDurability, Store, StoreOptions};
use crate::temporary::Temporary;
use crate::transaction::{Transaction, TransactionError, TransactionOptions};
use pending::Apply;

pub use pending::{GapsToLearn, PendingCommit};

/// How to open an engine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The log's options; its files lie in the data directory.
    pub log: LogOptions,
    /// A memtable is frozen at this size, in bytes.
    pub memtable_size: usize,
    /// Memory for all memtables, counted in memtables.
    pub memtables_max: usize,
    /// Memory for blocks of tables, in bytes (`innodb_buffer_pool_size`).
    pub block_cache_size: usize,
    /// About how many bytes of log may have to be replayed after a crash.
    pub log_distance_max: u64,
    /// Flush and compact in threads of the store's own.
    pub background: bool,
    /// The most row locks that one transaction may hold.
    pub locks_max: usize,
    /// The most memory that one transaction's changes may take, in bytes.
    pub transaction_size_max: usize,
}

impl EngineOptions {
    /// Defaults for a server of moderate size.
    pub fn new(log: LogOptions) -> Self {
        Self {
            log,
            memtable_size: 32 << 20,
            memtables_max: 4,
            block_cache_size: 128 << 20,
            log_distance_max: 256 << 20,
            background: true,
            locks_max: 4 << 20,
            transaction_size_max: 1 << 30,
        }
    }
}

/// Row locks that the log's leader releases for a transaction, some 50 ns each.
const RELEASED_BY_LEADER_MAX: usize = 2000;

/// The folder of the store inside the data directory.
pub const STORE_FOLDER: &str = "store";
/// That of the temporary tables' store.
/// The folder of temporary tables, inside the data directory.
pub const TEMPORARY_FOLDER: &str = "temporary";

/// Why the engine does not start, stop or do a chore.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// The log's reason.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log could not be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The tables hold more than the log, or begin before it: files were lost or mixed up.
    #[error(
        "tables and log do not belong together: the tables (folder {STORE_FOLDER}{manifest}) are at {tables}, and the \
         log {log}{needed}. Log files are missing, or files are those of another time or server. Nothing was \
         changed. Put the missing log files back, or restore a backup or a copy of a replica; `duramen check` tells what is \
         there"
    )]
    Apart {
        /// The manifest that says so, after a comma; nothing if there is none.
        manifest: String,
        /// The log file from which on the tables need the log, if it is not there, in words.
        needed: String,
        /// The store's checkpoint, by the name of its file.
        tables: String,
        /// From where to where the log goes, in words.
        log: String,
    },
    /// The tables were made of another log, which has the same positions.
    #[error(
        "tables and log do not belong together: in front of {tables}, up to which the tables (folder {STORE_FOLDER}) \
         hold the log, {file} has other transactions than the tables were made of. Tables or log files are those of another \
         time or server. Nothing was changed. Put back the files that belong together, or restore a backup or a copy of a \
         replica; `duramen check` tells what is there"
    )]
    OtherLog {
        /// The store's checkpoint, by the name of its file.
        tables: String,
        /// The log file in which it is.
        file: String,
    },
}

/// Counters for SHOW STATUS; independent statistics, so every access is relaxed. Those of locks,
/// log and store are with these.
#[derive(Debug, Default)]
pub struct EngineStatus {
    /// Transactions committed that changed rows.
    pub committed: AtomicU64,
    /// Transactions with changes that were rolled back, or refused by the log.
    pub rolled_back: AtomicU64,
    /// DDL statements committed.
    pub ddl: AtomicU64,
}

/// What became of a prepared transaction that was to be committed or rolled back.
#[derive(Debug)]
pub enum FinishedBranch {
    /// There is none of this name.
    Unknown,
    /// It had changed nothing, of which nothing is logged.
    Unchanged,
    /// Its end is in the log.
    Logged(Committed),
}

/// What names a group that is committed for a source, or by `gtid_next`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Replicated<'a> {
    /// What its GTID is to be.
    pub gtid: GtidSpecification,
    /// Where it ends in the source's log, if that is not known by its GTID.
    pub source_position: Option<&'a SourcePosition>,
}

/// Log, store and locks.
pub struct Engine {
    options: EngineOptions,
    log: Arc<Log>,
    store: Arc<Store>,
    temporary: Arc<Temporary>,
    locks: Arc<LockManager>,
    shared: Arc<Shared>,
    next_xid: AtomicU64,
    /// XA transactions by name: `None` while a session runs one.
    branches: Mutex<BTreeMap<Xid, Option<Prepared>>>,
    /// Those that are about to be committed or rolled back: until then they are looked for as
    /// before. Latched after `branches`.
    finishing: Mutex<Vec<(OwnerId, Arc<Content>)>>,
    /// How many are prepared or about to end.
    prepared_count: AtomicUsize,
    layouts: LayoutRegistry,
    env: Arc<dyn Env>,
    recovered: Recovered,
    /// Set once, when the log was replayed.
    replayed: OnceLock<Replayed>,
}

/// What commit hooks need.
#[derive(Default)]
struct Shared {
    /// The position of the last transaction whose changes are in the store, packed. Stored by the
    /// hook with release order after the store was written; loaded with acquire order by readers of
    /// the newest versions.
    applied: AtomicU64,
    status: EngineStatus,
    notes: RwLock<Option<NotesSource>>,
}

type NotesSource = Arc<dyn Fn(LogPosition) -> Vec<u8> + Send + Sync>;

/// The store's view of the log.
struct Durability(Arc<Log>);

impl LogDurability for Durability {
    fn ensure_durable(&self, position: LogPosition) -> io::Result<()> {
        self.0.ensure_durable(position).map_err(io::Error::other)?;
        assert!(self.0.durable() >= position, "the write-ahead rule: no table before its log");
        Ok(())
    }

    fn fingerprint(&self, position: LogPosition) -> io::Result<Option<u64>> {
        self.0.fingerprint(position).map_err(io::Error::other)
    }
}

impl Engine {
    /// Opens the data directory `dir`, made if missing, and replays what the store lacks of the
    /// log. The caller holds the directory's lock.
    ///
    /// # Errors
    /// Those of [`Self::open_rehearsed`] and [`Self::replay`].
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        options: EngineOptions,
        target: &mut dyn ReplayTarget,
    ) -> Result<Arc<Engine>, EngineError> {
        let engine = Engine::open_without_replay(env, dir, options)?;
        engine.replay(target)?;
        Ok(engine)
    }

    /// The first half of [`Self::open`]: log and store are open, and the store is as of its
    /// checkpoint. Nothing but [`Self::replay`] is called next; the target may hold the engine.
    ///
    /// # Errors
    /// Those of [`Self::open_rehearsed`].
    pub(crate) fn open_without_replay(
        env: Arc<dyn Env>,
        dir: &Path,
        options: EngineOptions,
    ) -> Result<Arc<Engine>, EngineError> {
        Engine::open_rehearsed(env, dir, options, &mut |_, _, _| Ok(()))
    }

    /// As [`Self::open_without_replay`]. `rehearse` is given each statement that replay will be
    /// given (but `BEGIN` and its like, and those that were compressed with rows), with the
    /// timestamp and the end of its event, while nothing is changed yet. What it fails with is why
    /// nothing should be.
    ///
    /// # Errors
    /// What stops a start: damage, log and tables that don't belong together, what `rehearse` says,
    /// and the operating system's errors. Nothing was changed where the message says so.
    pub fn open_rehearsed(
        env: Arc<dyn Env>,
        dir: &Path,
        options: EngineOptions,
        rehearse: &mut dyn FnMut(&QueryEvent<'_>, u32, LogPosition) -> Result<(), Cause>,
    ) -> Result<Arc<Engine>, EngineError> {
        // Log and tables are examined before either is changed: what does not belong together stays
        // as it is (R2 of ARCHITECTURE.md).
        let examined = binlog::log::examine(env.clone(), dir, &options.log.base_name)?;
        examined.check()?;
        let examined_store = Store::examine(env.clone(), &dir.join(STORE_FOLDER))?;
        check_together(&examined_store, &examined)?;
        replay::rehearse(&examined, examined_store.checkpoint_position(), rehearse)?;
        let (log, recovered) = Log::adopt(options.log.clone(), examined)?;
        let store_options = StoreOptions {
            memtable_size: options.memtable_size,
            memtables_max: options.memtables_max,
            block_cache_size: options.block_cache_size,
            log_distance_max: options.log_distance_max,
            background: options.background,
            durability: Arc::new(Durability(log.clone())),
        };
        let temporary = Temporary::new(env.clone(), &dir.join(TEMPORARY_FOLDER), &store_options)?;
        let store = examined_store.adopt(store_options)?;
        Ok(Arc::new(Engine {
            locks: LockManager::new(env.clone()),
            // Any number will do that is not used twice between two starts: XIDs name transactions
            // to humans only.
            next_xid: AtomicU64::new(1),
            layouts: LayoutRegistry::default(),
            options,
            log,
            store,
            temporary: Arc::new(temporary),
            shared: Arc::default(),
            branches: Mutex::default(),
            finishing: Mutex::default(),
            prepared_count: AtomicUsize::new(0),
            env,
            recovered,
            replayed: OnceLock::new(),
        }))
    }

    /// The second half of [`Self::open`]: replays what the store lacks of the log.
    ///
    /// # Errors
    /// What can't be read or repeated, with its position in the log. The engine is of no use then.
    pub fn replay(&self, target: &mut dyn ReplayTarget) -> Result<(), EngineError> {
        target.begin(&self.store)?;
        let log_start = self.recovered.reset.map_or(LogPosition::ZERO, |r| LogPosition::new(r.first, 0));
        let (replayed, prepared) = replay::replay(&self.log, log_start, &self.store, target)?;
        self.shared.applied.store(self.log.visible().to_u64(), Ordering::Release);
        let visible = self.log.clone();
        self.store.set_visible_source(move || visible.visible());
        for (xid, content) in prepared {
            self.adopt_prepared(xid, content);
        }
        self.move_purge_floor();
        assert!(self.replayed.set(replayed).is_ok(), "an engine is replayed once");
        Ok(())
    }

    /// The log that it was opened with, for readers, rotation and status.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The trees that the log's transactions are applied to.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The store of temporary tables.
    pub fn temporary(&self) -> &Arc<Temporary> {
        &self.temporary
    }

    /// The store that a tree is in.
    pub fn store_of(&self, tree: TreeId) -> &Arc<Store> {
        match self.temporary.store() {
            Some(temporary) if tree.is_temporary() => temporary,
            _ => &self.store,
        }
    }

    /// The row locks.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// How it was opened.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Its door to files, clock and randomness.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }

    /// What the log found when it was opened.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// What was replayed when the engine was opened.
    pub fn replayed(&self) -> Replayed {
        self.replayed.get().cloned().unwrap_or_default()
    }

    /// Counters.
    pub fn status(&self) -> &EngineStatus {
        &self.shared.status
    }

    /// Begins a transaction of the session that `interrupt` belongs to.
    pub fn begin(
        self: &Arc<Self>,
        interrupt: Arc<Interrupt>,
        options: TransactionOptions,
    ) -> Box<Transaction> {
        Box::new(Transaction::new(self.clone(), interrupt, options))
    }

    /// A snapshot of what is visible now. Its position in the log is its position.
    pub fn snapshot(&self) -> Snapshot {
        self.store.snapshot_visible()
    }

    /// The position of the last transaction whose changes are in the store, visible or not.
    pub(crate) fn applied(&self) -> LogPosition {
        LogPosition::from_u64(self.shared.applied.load(Ordering::Acquire))
    }

    /// Where the newest versions are. A rotation moves the visible position too, and applies
    /// nothing.
    pub(crate) fn newest(&self) -> LogPosition {
        self.applied().max(self.log.visible())
    }

    /// A snapshot of the newest versions, which may not be visible yet: what locking reads see.
    pub(crate) fn newest_snapshot(&self) -> Snapshot {
        loop {
            let snapshot = self.store.snapshot(self.newest());
            // Versions are dropped by what is visible. Nothing that this snapshot sees can have
            // been, unless the visible position passed it before it was registered.
            if self.log.visible() <= snapshot.position() {
                return snapshot;
            }
        }
    }

    /// Waits until what was read at `position` may be returned to the client: see
    /// [`Transaction::newest_read`].
    ///
    /// # Errors
    /// [`LogError::Latched`] or [`LogError::Closed`] if it never will be visible.
    pub fn wait_visible(&self, position: LogPosition) -> Result<(), LogError> {
        if self.log.visible() >= position { Ok(()) } else { self.log.wait_visible(position) }
    }

    /// As [`Engine::wait_visible`], but without waiting: see [`Log::when_visible`].
    pub fn when_visible(
        &self,
        position: LogPosition,
        witness: impl FnOnce(Result<(), LogError>) + Send + 'static,
    ) {
        self.log.when_visible(position, witness);
    }

    /// Says what a table's rows were before its instant ALTERs, by the tree of its rows; `None` if
    /// they were always as they are now. The caller keeps readers of the table away meanwhile
    /// (metadata locks).
    pub fn set_layouts(&self, tree: TreeId, layouts: Option<Arc<Layouts>>) {
        self.layouts.set(tree, layouts);
    }

    /// See [`Self::set_layouts`].
    pub fn layouts(&self, tree: TreeId) -> Option<Arc<Layouts>> {
        self.layouts.of(tree)
    }

    pub(crate) fn next_xid(&self) -> u64 {
        self.next_xid.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a name for an XA transaction that begins; false if there is one of this name.
    pub fn reserve_xid(&self, xid: &Xid) -> bool {
        let mut branches = self.branches.lock();
        let free = !branches.contains_key(xid);
        if free {
            branches.insert(xid.clone(), None);
        }
        free
    }

    /// Gives the name of an XA transaction back that was neither prepared nor goes on.
    pub fn release_xid(&self, xid: &Xid) {
        let mut branches = self.branches.lock();
        if branches.get(xid).is_some_and(Option::is_none) {
            branches.remove(xid);
        }
    }

    /// The XA transactions that are prepared, with what they are about.
    pub fn prepared(&self) -> Vec<(Xid, Vec<(String, String)>)> {
        let branches = self.branches.lock();
        let prepared = branches.iter().filter_map(|(xid, p)| Some((xid, p.as_ref()?)));
        prepared.map(|(xid, p)| (xid.clone(), p.content.tables.clone())).collect()
    }

    /// A prepared transaction that puts a row under a key which begins so, or `deletes` one: after
    /// a start it has neither shared locks nor those of references. None of those in `ended`.
    pub(crate) fn prepared_with_key(
        &self,
        tree: TreeId,
        key: &[u8],
        deletes: bool,
        ended: &[OwnerId],
    ) -> Option<OwnerId> {
        if self.prepared_count.load(Relaxed) == 0 {
            return None;
        }
        let is_it = |operation: BatchOp<'_>| match operation {
            BatchOp::Put { tree: of, key: put, .. } => !deletes && of == tree && put.starts_with(key),
            BatchOp::Delete { tree: of, key: gone } => deletes && of == tree && gone.starts_with(key),
            BatchOp::DropTree { .. } => false,
        };
        let has_it =
            |owner: OwnerId, content: &Content| !ended.contains(&owner) && content.batch.iter().any(is_it);
        let branches = self.branches.lock();
        let mut prepared = branches.values().flatten();
        let found = prepared.find(|prepared| has_it(prepared.locks.owner(), &prepared.content));
        found.map(|prepared| prepared.locks.owner()).or_else(|| {
            let finishing = self.finishing.lock();
            finishing.iter().find(|(owner, content)| has_it(*owner, content)).map(|(owner, _)| *owner)
        })
    }

    pub(crate) fn add_prepared(&self, xid: Xid, prepared: Prepared) {
        self.branches.lock().insert(xid, Some(prepared));
        self.prepared_count.fetch_add(1, Relaxed);
    }

    /// A prepared transaction that was found at the start acquires its locks again; nobody else has
    /// any yet.
    fn adopt_prepared(&self, xid: Xid, content: prepared::Content) {
        let mut locks = self.locks.begin(Arc::new(Interrupt::new()), usize::MAX);
        let taken = content.relock(&mut locks);
        debug_assert!(taken.is_ok(), "two prepared transactions hold one key: {taken:?}");
        tracing::info!("the XA transaction {} is prepared", xid.text());
        self.add_prepared(xid, Prepared { content: Arc::new(content), locks });
    }

    /// XA COMMIT or ROLLBACK of a prepared transaction: `query` is that statement.
    ///
    /// # Errors
    /// If writes are stopped, the transaction stays prepared; if the log refuses the commit, see
    /// `binlog::log::CommitError`.
    pub fn finish_prepared(
        &self,
        xid: &Xid,
        commit: bool,
        context: GroupContext,
        query: &QueryEvent<'_>,
        replicated: Replicated<'_>,
    ) -> Result<FinishedBranch, TransactionError> {
        let mut branches = self.branches.lock();
        let taken = branches.get_mut(xid).and_then(Option::take);
        let Some(prepared) = taken else { return Ok(FinishedBranch::Unknown) };
        let owner = prepared.locks.owner();
        self.finishing.lock().push((owner, prepared.content.clone()));
        drop(branches);
        let outcome = self.finish_branch(xid, prepared, commit, context, query, replicated);
        self.finishing.lock().retain(|(other, _)| *other != owner);
        self.prepared_count.fetch_sub(1, Relaxed);
        outcome
    }

    fn finish_branch(
        &self,
        xid: &Xid,
        prepared: Prepared,
        commit: bool,
        context: GroupContext,
        query: &QueryEvent<'_>,
        replicated: Replicated<'_>,
    ) -> Result<FinishedBranch, TransactionError> {
        let Prepared { content, mut locks } = prepared;
        if !content.is_logged() {
            drop(locks);
            self.branches.lock().remove(xid);
            return Ok(FinishedBranch::Unchanged);
        }
        let (mut group, mut batch) = (GroupBuilder::new(context), content.finish(xid, commit));
        if let Some(position) = replicated.source_position {
            group.event(&position.event());
            position.record(&mut batch);
        }
        if let Err(e) = self.store.admit(batch.size()) {
            self.add_prepared(xid.clone(), Prepared { content, locks });
            return Err(e.into());
        }
        locks.prepare_release();
        let group = group.finish_ddl(query);
        let committed = self.enqueue(group, batch, Some(locks), replicated.gtid).wait()?;
        self.branches.lock().remove(xid);
        Ok(FinishedBranch::Logged(committed))
    }

    /// Step 1 of a commit.
    pub(crate) fn enqueue(
        &self,
        group: EventGroup,
        batch: WriteBatch,
        locks: Option<TransactionLocks>,
        gtid: GtidSpecification,
    ) -> PendingCommit {
        let due = self.store.gaps_due(&batch);
        self.enqueue_changes(group, self.store.build_changes(batch), due, locks, gtid)
    }

    /// As [`Self::enqueue`], with changes in the form that the store applies.
    pub(crate) fn enqueue_changes(
        &self,
        group: EventGroup,
        changes: CommitChanges,
        due: GapsDue,
        locks: Option<TransactionLocks>,
        gtid: GtidSpecification,
    ) -> PendingCommit {
        let (locks, late_locks) = match locks {
            Some(locks) if locks.len() > RELEASED_BY_LEADER_MAX => (None, Some(Box::new(locks))),
            locks => (locks, None),
        };
        let hook = Box::new(Apply { store: self.store.clone(), shared: self.shared.clone(), changes, locks });
        let ticket = self.log.enqueue_with_gtid(group, gtid, hook);
        let learn = (!due.is_empty()).then(|| Box::new((self.store.clone(), due)));
        PendingCommit { ticket, late_locks, shared: self.shared.clone(), learn, temporary: None }
    }

    /// Commits a DDL statement: its text is the event group, and the catalog's changes carry its
    /// position. The caller keeps others away from the tables and from the catalog (metadata
    /// locks).
    ///
    /// # Errors
    /// If writes are stopped, or the log refuses the commit: nothing has changed then, but see
    /// `binlog::log::CommitError`.
    pub fn commit_ddl(
        &self,
        context: GroupContext,
        query: &QueryEvent<'_>,
        mut batch: WriteBatch,
        replicated: Replicated<'_>,
    ) -> Result<Committed, TransactionError> {
        let mut group = GroupBuilder::new(context);
        if let Some(position) = replicated.source_position {
            group.event(&position.event());
            position.record(&mut batch);
        }
        self.store.admit(batch.size())?;
        let (group, gtid) = (group.finish_ddl(query), replicated.gtid);
        let committed = self.enqueue(group, batch, None, gtid).wait()?;
        self.shared.status.ddl.fetch_add(1, Ordering::Relaxed);
        Ok(committed)
    }

    /// Logs a transaction that changes nothing, for its name's sake.
    ///
    /// # Errors
    /// If the log refuses the commit: see `binlog::log::CommitError`.
    pub fn commit_empty(
        &self,
        context: GroupContext,
        begin: &QueryEvent<'_>,
        commit: &QueryEvent<'_>,
        replicated: Replicated<'_>,
    ) -> Result<Committed, TransactionError> {
        let (mut group, mut batch) = (GroupBuilder::new(context), WriteBatch::new());
        group.begin(begin);
        if let Some(position) = replicated.source_position {
            group.event(&position.event());
            position.record(&mut batch);
        }
        self.enqueue(group.finish_ddl(commit), batch, None, replicated.gtid).wait()
    }

    /// Where checkpoints get their notes from: bytes that mean something to whoever sits on the
    /// engine, and come back as `Store::checkpoint_notes` after a restart. The source is called
    /// with the position that they must hold for, by the log's leader; it must neither block nor
    /// call the engine.
    pub fn set_notes_source(&self, source: impl Fn(LogPosition) -> Vec<u8> + Send + Sync + 'static) {
        let source: NotesSource = Arc::new(source);
        *self.shared.notes.write() = Some(source.clone());
        self.store.set_notes_source(move |position| source(position));
    }

    /// Makes all that is committed durable in tables, so that nothing of it has to be replayed.
    ///
    /// # Errors
    /// If log, tables or manifest can't be written. What the last checkpoint had stays.
    pub fn checkpoint(&self) -> Result<LogPosition, EngineError> {
        let notes = self.shared.notes.read().clone();
        let position =
            self.store.checkpoint_with(|position| notes.map_or_else(Vec::new, |notes| notes(position)))?;
        self.move_purge_floor();
        Ok(position)
    }

    /// Removes log files before `keep` (`PURGE BINARY LOGS TO`), but none that recovery needs:
    /// makes a checkpoint first if it needs one of them. The file that the last transaction is in
    /// stays, even when the log has gone on to another. Returns what was removed.
    ///
    /// # Errors
    /// Those of [`Self::checkpoint`] and [`Log::purge_to`].
    pub fn purge_log_to(&self, keep: FileNumber) -> Result<Vec<FileNumber>, EngineError> {
        if self.store.checkpoint_position().file() < keep {
            self.checkpoint()?;
        }
        self.move_purge_floor();
        Ok(self.log.purge_to(keep.min(self.store.checkpoint_position().file()))?)
    }

    /// RESET BINARY LOGS AND GTIDS: the log begins anew, in a file with this number in its name.
    /// The tables keep everything. The caller keeps commits away, or waits for long.
    ///
    /// # Errors
    /// Those of [`Self::checkpoint`] and [`Log::reset`].
    pub fn reset_log(&self, named: u32) -> Result<(), EngineError> {
        loop {
            let ordered = self.log.ordered();
            self.log.wait_visible(ordered)?;
            let tables = self.checkpoint()?;
            if self.log.reset(named, tables, ordered)? {
                return Ok(());
            }
        }
    }

    /// Recovery reads the log from the checkpoint on.
    fn move_purge_floor(&self) {
        self.log.set_purge_floor(self.store.checkpoint_position());
    }

    /// Clean shutdown: ends the log, then makes a checkpoint, so that the next start replays
    /// nothing. Sessions have ended; later commits are refused.
    ///
    /// # Errors
    /// Those of [`Log::close`] and [`Self::checkpoint`].
    pub fn close(&self) -> Result<(), EngineError> {
        self.log.close()?;
        self.checkpoint()?;
        Ok(())
    }
}

/// Checks that the store's checkpoint lies on this log, that the log goes back to it (Y4), and that
/// what is to be replayed is whole.
fn check_together(store: &ExaminedStore, examined: &Examined) -> Result<(), EngineError> {
    let recovered = &examined.recovered;
    let tables = store.checkpoint_position();
    // The checkpoint made the log durable up to its position first: what is torn before that is
    // damaged.
    examined.require_durable(
        tables,
        &format!("the tables hold what the log had up to {}", examined.place(tables)),
    )?;
    let log_end = recovered.end;
    let log_start = recovered.files.first().copied().unwrap_or(FileNumber(1));
    // An empty store belongs to a log from its first file on, one that has all of an earlier log to
    // that of the next.
    let needed = match recovered.reset {
        Some(reset) if tables >= reset.tables => tables.file().max(reset.first),
        _ => tables.file().max(FileNumber(1)),
    };
    // Tables without any log are never those of a new server: the log is there first.
    let is_log_gone = recovered.files.is_empty() && store.has_tables();
    if let Some(why) = store.newer_than_log(log_end) {
        return Err(why.refused().into());
    }
    if tables > log_end || log_start > needed || is_log_gone {
        let apart = || {
            let manifest = store
                .manifest_name()
                .map(|name| format!(", {name}, which CURRENT names"))
                .unwrap_or_default();
            let needed = match (log_start > needed, recovered.reset) {
                (false, _) => String::new(),
                (true, Some(reset)) if needed < reset.first => {
                    ", and they need files of the log of before RESET BINARY \
                     LOGS AND GTIDS, which are not there"
                        .to_owned()
                }
                (true, _) => {
                    format!(", and they need it from {} on, which is not there", examined.file_name(needed))
                }
            };
            let log = match is_log_gone {
                true => "is not there".to_owned(),
                false => {
                    format!("goes from {} to {}", examined.file_name(log_start), examined.place(log_end))
                }
            };
            EngineError::Apart { manifest, needed, tables: examined.place(tables), log }
        };
        let why = store.doubt().cloned().or_else(|| store.torn_record());
        return Err(why.map_or_else(apart, |why| why.refused().into()));
    }
    examined.verify_from(tables)?;
    let Some(fingerprint) = store.log_fingerprint() else { return Ok(()) };
    let file = || examined.file_name(tables.file());
    match examined.in_front(tables, fingerprint)? {
        InFront::Same => Ok(()),
        InFront::Other => Err(EngineError::OtherLog { tables: examined.place(tables), file: file() }),
        InFront::Damaged(offset) => {
            tracing::error!(
                file = %file(), offset,
                "the binary log is damaged here, in front of what the tables have: nothing of it is replayed, but replicas, \
                 and recovery to a point, can't get past it. Make them anew from a copy of the tables as they are now"
            );
            Ok(())
        }
    }
}
