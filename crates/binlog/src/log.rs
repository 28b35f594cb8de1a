//! The log: files, group commit, recovery, readers.
//!
//! One append-only sequence of event groups, cut into MySQL binary log files. It is the only log: a
//! commit is durable when its group is, recovery replays it, replicas and change readers read it.
//!
//! Reading order:
//! - [`commit`]: the commit path, with the invariants G1 to G6; its stages [`order`] and [`flush`],
//!   its roles [`queue`] and their [`pace`];
//! - [`files`]: the files, and every crash point of rotation, purge and startup, with F1 to F4;
//! - [`dependencies`]: which transactions a replica may apply concurrently;
//! - [`rotate`]: the active file and the next; [`pool`]: files made ahead; [`large`]: large
//!   transactions;
//! - [`reset`]: beginning anew;
//! - [`examine`], [`recovery`] and [`scan`]: what a crash left, and damage; [`mark`]: up to where
//!   the log was flushed; [`fingerprint`]: what identifies a log; [`chain`]: whether its
//!   files are in order;
//! - [`reader`]: reading while it is written;
//! - [`gtids`]: which transactions are where;
//! - [`ack_barrier`]: semi-synchronous replication: transactions wait until replicas have them;
//! - [`stages`]: how long each step took;
//! - [`progress`], [`background`], [`status`], [`full_disk`], [`names`], [`error`]: their helpers.
//!
//! Deliberately absent: a second log, a flush of anything else at commit, timers that only make
//! groups larger, retries after a failed flush, and reading of files that others wrote (the log's
//! own are all in one form: MySQL 8.4's).

mod ack_barrier;
mod background;
mod chain;
mod commit;
mod dependencies;
mod error;
mod examine;
mod files;
mod fingerprint;
mod flush;
mod full_disk;
mod gtids;
mod large;
mod mark;
mod names;
mod order;
mod pace;
mod pool;
mod progress;
mod queue;
mod reader;
mod recovery;
mod reset;
mod rotate;
mod scan;
mod stages;
mod statements;
mod status;

pub use ack_barrier::{AckBarrierOwner, AckBarrierPosition};
pub use background::FLUSH_DELAY;
pub use commit::{CommitHook, Committed, Ticket};
pub use error::{CommitError, LogError, Loss};
pub use examine::{Examined, Finding, IndexState, examine};
pub use files::FileInfo;
pub use fingerprint::InFront;
pub(crate) use large::LargeFile;
pub use pace::{SEQUENTIAL_FLUSH_MAX, SLOTS as FLUSHES_MAX};
pub use progress::{DurableListener, Following, Published};
pub use reader::{LogEvent, LogReader, ReplayedEvent};
pub use recovery::Recovered;
pub use reset::Reset;
pub use scan::{WholeGroups, whole_groups_after};
pub use status::{Counter, LogStatus};

use crate::group::{EventGroup, GroupBuilder};
use crate::gtid::{GtidSpecification, Uuid};
use crate::position::{FileNumber, LogPosition};
use ack_barrier::AckBarrier;
use background::Background;
use commit::{Leader, Written};
use dependencies::Dependencies;
use env::{Env, Rows};
use files::Files;
use full_disk::FullDisk;
use mark::DurableMark;
use parking_lot::Mutex;
use pool::Pool;
use progress::Progress;
use queue::Queue;
use recovery::Found;
use rotate::FileMaker;
use stages::SlowCommits;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// How often a mark that is damaged is read again.
const MARK_READS: usize = 10;

/// Up to where the log of a data directory is flushed at least, as a server that may be running has
/// noted it; `None` if it has not.
///
/// # Errors
/// Those of reading.
pub fn durable_mark(env: &Arc<dyn Env>, dir: &Path, base_name: &str) -> io::Result<Option<LogPosition>> {
    let folder = names::Folder::new(env.clone(), dir, base_name);
    for _ in 0..MARK_READS {
        match mark::read(&folder)? {
            mark::MarkRead::At(position) => return Ok(Some(position)),
            mark::MarkRead::Missing => return Ok(None),
            // It is being overwritten.
            mark::MarkRead::Damaged => {}
        }
    }
    Ok(None)
}

/// How to open a log. Fields with a MySQL name are that variable.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// What file names start with (`log_bin_basename` without the folder).
    pub base_name: String,
    /// The log rotates when the active file has this many bytes.
    pub max_binlog_size: u64,
    /// How many files to make ahead.
    pub binlog_prealloc_num: u32,
    /// A transaction whose events take more bytes than this gets a file of its own, which becomes
    /// part of the log.
    pub binlog_large_commit_threshold: u64,
    /// How many keys are remembered with the transaction that wrote them last, for
    /// `last_committed`.
    pub binlog_transaction_dependency_history_size: usize,
    /// 1: each group is flushed before it is acknowledged; N: each N-th; 0: none. The background
    /// flushes the others within milliseconds.
    pub sync_binlog: u32,
    /// `innodb_flush_log_at_trx_commit`: 1 is as `sync_binlog` = 1; with 2 and 0 `sync_binlog`
    /// decides. The stricter of the two wins.
    pub trx_commit: u8,
    /// Microseconds that a leader waits for others to join; 0 by default.
    pub binlog_group_commit_sync_delay: u64,
    /// It waits no longer once this many joined; 0 is no such limit.
    pub binlog_group_commit_sync_no_delay_count: usize,
    /// Commits that take at least this long are logged in the error log; zero is never.
    pub slow_commit: Duration,
    /// In the headers of the log's own events.
    pub server_id: u32,
    /// What GTIDs are given out under.
    pub server_uuid: Uuid,
    /// In format descriptions, `8.4.8` for instance.
    pub server_version: String,
    /// False: no threads; [`Log::maintain`] does their work.
    pub background: bool,
}

impl LogOptions {
    /// MySQL's defaults for a server.
    pub fn new(server_id: u32, server_uuid: Uuid, server_version: &str) -> Self {
        Self {
            base_name: "binlog".to_owned(),
            max_binlog_size: 1 << 30,
            binlog_prealloc_num: 0,
            binlog_large_commit_threshold: 16 << 20,
            binlog_transaction_dependency_history_size: 25_000,
            sync_binlog: 1,
            trx_commit: 1,
            binlog_group_commit_sync_delay: 0,
            binlog_group_commit_sync_no_delay_count: 0,
            slow_commit: Duration::ZERO,
            server_id,
            server_uuid,
            server_version: server_version.to_owned(),
            background: true,
        }
    }
}

/// Settings that change while the log runs. Each is read on its own, at the next group, so all
/// accesses are relaxed.
struct Settings {
    sync_binlog: AtomicU32,
    trx_commit: AtomicU8,
    max_binlog_size: AtomicU64,
    large_commit_threshold: AtomicU64,
    dependency_history_size: AtomicUsize,
    delay_us: AtomicU64,
    no_delay_count: AtomicUsize,
}

impl Settings {
    fn max_binlog_size(&self) -> u64 {
        self.max_binlog_size.load(Relaxed)
    }

    /// Whether the group just written waits for its flush; `unflushed` counts those that did not.
    fn group_waits(&self, unflushed: &mut u32) -> bool {
        let every = match (self.sync_binlog.load(Relaxed), self.trx_commit.load(Relaxed)) {
            (_, 1) => 1,
            (0, _) => return false,
            (n, _) => n,
        };
        *unflushed = unflushed.saturating_add(1);
        if *unflushed >= every {
            *unflushed = 0;
        }
        *unflushed == 0
    }

    /// Whether every group waits for its flush.
    fn always_waits(&self) -> bool {
        self.trx_commit.load(Relaxed) == 1 || self.sync_binlog.load(Relaxed) == 1
    }

    /// How long a leader waits for how many.
    fn group_delay(&self) -> Option<(Duration, usize)> {
        let delay = self.delay_us.load(Relaxed);
        let enough = match self.no_delay_count.load(Relaxed) {
            0 => usize::MAX,
            n => n,
        };
        (delay > 0).then(|| (Duration::from_micros(delay), enough))
    }
}

/// What the log's handles, tickets and threads share.
struct Shared {
    env: Arc<dyn Env>,
    settings: Settings,
    queue: Queue,
    /// Held to order, take a group, rotate or close (G5 of `log/commit.rs`).
    leader: Mutex<Leader>,
    /// One write at a time (G5 of `log/commit.rs`), from the buffer inside.
    write_latch: Mutex<Vec<u8>>,
    written: Mutex<Written>,
    /// One flush at a time that is not a group's (G4 of `log/commit.rs`).
    flush_latch: Mutex<()>,
    progress: Progress,
    ack_barrier: AckBarrier,
    published: Mutex<Published>,
    files: Files,
    mark: DurableMark,
    maker: FileMaker,
    background: Background,
    status: Arc<LogStatus>,
    slow_commits: SlowCommits,
    full_disk: FullDisk,
    /// A packed position; raised by checkpoints, read by purges, ordering nothing else.
    purge_floor: AtomicU64,
    /// What the next large transaction's file is named by.
    large_serial: AtomicU64,
}

/// An open log. All methods may be called from any thread.
pub struct Log {
    shared: Arc<Shared>,
}

impl Log {
    /// Examines the log in `dir`, puts it right after whatever happened to it, and opens a new
    /// file: [`examine`] and [`Log::adopt`], for a caller that checks nothing in between. No other
    /// process may have it open; the caller holds the data directory's lock.
    ///
    /// # Errors
    /// [`LogError::Missing`] or [`LogError::Corrupt`] if the files are not what any crash of the
    /// log leaves; nothing was changed then. [`LogError::Io`].
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        options: LogOptions,
    ) -> Result<(Arc<Log>, Recovered), LogError> {
        let examined = examine(env, dir, &options.base_name)?;
        Self::adopt(options, examined)
    }

    /// Opens a log that was examined, and not changed since: finishes what was broken off, cuts the
    /// last file at its end, and begins a new file. What is cut off is saved to a file next to it,
    /// and logged in the error log.
    ///
    /// # Errors
    /// Those of [`Examined::check`], with nothing changed; [`LogError::Io`], after which the log is
    /// to be examined again.
    pub fn adopt(options: LogOptions, examined: Examined) -> Result<(Arc<Log>, Recovered), LogError> {
        examined.check()?;
        let dir = &examined.folder.dir;
        make_folder(examined.folder.env.as_ref(), dir)
            .map_err(|e| LogError::io(format!("making the folder {}", dir.display()), e))?;
        let found = recovery::adopt(examined)?;
        let report = found.report.clone();
        let shared = Arc::new(Shared::start(&options, found)?);
        shared.files.update_index()?;
        shared.mark.flush(shared.progress.durable.get())?;
        if options.background {
            Background::start(&shared).map_err(|e| LogError::io("starting the log's threads", e))?;
            shared.background.files_soon();
        }
        Ok((Arc::new(Log { shared }), report))
    }

    /// Moves finished events of a transaction that runs out of memory, if it has many, to a file of
    /// its own. To be called now and then while it grows; nearly always it costs a comparison.
    ///
    /// # Errors
    /// [`LogError::Io`]: the disk is full, say. The group is as it was, and may be cut back, or
    /// tried again.
    pub fn relieve(&self, group: &mut GroupBuilder) -> Result<(), LogError> {
        if !group.is_due(self.shared.settings.large_commit_threshold.load(Relaxed)) {
            return Ok(());
        }
        let spilled = group.spill(|| self.shared.begin_large_file());
        spilled.inspect_err(|error| self.shared.report_if_full(0, error))
    }

    /// Queues a transaction. It is ordered, and its hook called, when it or a later one is waited
    /// for.
    pub fn enqueue(&self, group: EventGroup, hook: Box<dyn CommitHook>) -> Ticket {
        self.shared.enqueue(group, GtidSpecification::default(), hook)
    }

    /// As [`Log::enqueue`], with what is to be its GTID. The caller knows that an assigned one was
    /// not executed yet.
    pub fn enqueue_with_gtid(
        &self,
        group: EventGroup,
        gtid: GtidSpecification,
        hook: Box<dyn CommitHook>,
    ) -> Ticket {
        self.shared.enqueue(group, gtid, hook)
    }

    /// Commits a transaction: `Ok` once it is published and as durable as the settings ask.
    ///
    /// # Errors
    /// [`CommitError`] says whether a restart may still find the transaction.
    pub fn commit(&self, group: EventGroup, hook: Box<dyn CommitHook>) -> Result<LogPosition, CommitError> {
        self.enqueue(group, hook).wait().map(|committed| committed.position)
    }

    /// The end of the last transaction that is ordered.
    pub fn ordered(&self) -> LogPosition {
        self.shared.progress.ordered.get()
    }

    /// The end of the last transaction that may be seen; what a snapshot is.
    pub fn visible(&self) -> LogPosition {
        self.shared.progress.visible.get()
    }

    /// The end of the last transaction that survives a crash; readers stop here.
    pub fn durable(&self) -> LogPosition {
        self.shared.progress.durable.get()
    }

    /// The end of what is written.
    pub fn end(&self) -> LogPosition {
        self.shared.written.lock().end
    }

    /// Makes the log durable up to a position at or before [`Log::end`] or [`Log::ordered`],
    /// flushing it if it is not.
    ///
    /// # Errors
    /// `LogError::BadPosition` for a position that is not in the log yet; those of a flush, which
    /// latches the log.
    pub fn ensure_durable(&self, position: LogPosition) -> Result<(), LogError> {
        if self.durable() >= position {
            return Ok(());
        }
        let is_ahead = || position > self.end().max(self.ordered());
        // A hook gets its position before the marks move, and may have passed it on: wait for the
        // orderer to finish.
        if is_ahead() {
            drop(self.shared.leader.lock());
        }
        if is_ahead() {
            return Err(LogError::BadPosition(position));
        }
        self.shared.flush_to(position)
    }

    /// An error if the log takes no more commits: a flush failed, or it is closed.
    ///
    /// # Errors
    /// What later commits would get.
    pub fn check(&self) -> Result<(), LogError> {
        self.shared.progress.check()
    }

    /// FLUSH BINARY LOGS: closes the active file and opens the next.
    ///
    /// # Errors
    /// If the active file can't be completed, or the next one can't be made.
    pub fn rotate(&self) -> Result<(), LogError> {
        self.shared.rotate(&mut self.shared.leader.lock())?;
        self.shared.files.update_index()
    }

    /// `binlog_encryption`: whether files that are made from now on are encrypted. If that changes,
    /// the next one begins. False if there are no keys, and nothing changes.
    ///
    /// # Errors
    /// Those of [`Log::rotate`]; the setting is the old one then.
    pub fn set_encryption(&self, encrypts: bool) -> Result<bool, LogError> {
        let env = &self.shared.files.folder.env;
        if env.encrypts(Rows::Log) == encrypts {
            return Ok(true);
        }
        if !env.set_encrypts(Rows::Log, encrypts) {
            return Ok(false);
        }
        self.rotate().inspect_err(|_| {
            env.set_encrypts(Rows::Log, !encrypts);
        })?;
        Ok(true)
    }

    /// True if the file of this number is encrypted on the disk; readers get it decrypted.
    pub fn is_encrypted(&self, number: FileNumber) -> bool {
        let folder = &self.shared.files.folder;
        folder.env.master_key_of(&folder.log_path(number)).is_ok_and(|key| key.is_some())
    }

    /// PURGE BINARY LOGS TO: removes the files before `keep`, and returns their numbers. Readers
    /// of theirs get [`LogError::Purged`].
    ///
    /// # Errors
    /// [`LogError::InUse`] if `keep` is after the active file or the purge floor; nothing is
    /// removed then.
    pub fn purge_to(&self, keep: FileNumber) -> Result<Vec<FileNumber>, LogError> {
        let floor = LogPosition::from_u64(self.shared.purge_floor.load(Relaxed)).file();
        let first_needed = floor.min(self.shared.files.last());
        if keep > first_needed {
            return Err(LogError::InUse(first_needed));
        }
        self.shared.files.purge(keep)
    }

    /// Files from this position on are still needed, by recovery or by a reader. The last call
    /// counts; until the first one nothing is purged.
    pub fn set_purge_floor(&self, position: LogPosition) {
        self.shared.purge_floor.store(position.to_u64(), Relaxed);
    }

    /// All files, oldest first.
    pub fn files(&self) -> Vec<FileInfo> {
        self.shared.files.infos(self.end())
    }

    /// The name of a file of this number, without folder.
    pub fn file_name(&self, number: FileNumber) -> String {
        self.shared.files.folder.log_name(number)
    }

    /// The clock of the log's environment, monotonic.
    pub fn monotonic(&self) -> Duration {
        self.shared.env.monotonic()
    }

    /// Counters.
    pub fn status(&self) -> &LogStatus {
        &self.shared.status
    }

    /// Files in the preallocation pool now.
    pub fn pool_files(&self) -> usize {
        self.shared.maker.pool.ready()
    }

    /// Reads from a position on: the end of an event, or offset 0 or 4 of a file for its start.
    ///
    /// # Errors
    /// [`LogError::Purged`] and [`LogError::BadPosition`] (that of a position inside an event may
    /// come with the first read).
    pub fn reader(&self, from: LogPosition) -> Result<LogReader, LogError> {
        LogReader::open(self.shared.clone(), from)
    }

    /// Gives every event of the complete groups after `from`, up to what is durable now, to
    /// `visitor`, in order.
    ///
    /// # Errors
    /// Those of `visitor`, and of reading, as `E`.
    pub fn replay<E: From<LogError>>(
        &self,
        from: LogPosition,
        visitor: &mut dyn FnMut(ReplayedEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        reader::replay(&self.shared, from, visitor)
    }

    /// Sets `sync_binlog`, from the next group on.
    pub fn set_sync_binlog(&self, groups: u32) {
        self.shared.settings.sync_binlog.store(groups, Relaxed);
    }

    /// Sets `innodb_flush_log_at_trx_commit`, from the next group on.
    pub fn set_trx_commit(&self, policy: u8) {
        self.shared.settings.trx_commit.store(policy, Relaxed);
    }

    /// Sets `max_binlog_size`, from the next group on, and for the files that the pool makes from
    /// now on.
    pub fn set_max_binlog_size(&self, bytes: u64) {
        self.shared.settings.max_binlog_size.store(bytes, Relaxed);
        self.shared.maker.pool.set_file_size(bytes);
    }

    /// Sets `binlog_large_commit_threshold`, for transactions that have no file yet.
    pub fn set_large_commit_threshold(&self, bytes: u64) {
        self.shared.settings.large_commit_threshold.store(bytes, Relaxed);
    }

    /// Sets `binlog_transaction_dependency_history_size`, from the next group on.
    pub fn set_dependency_history_size(&self, keys: usize) {
        self.shared.settings.dependency_history_size.store(keys, Relaxed);
    }

    /// Sets `binlog_prealloc_num`. The background makes or removes files.
    pub fn set_prealloc_num(&self, files: u32) {
        self.shared.maker.pool.set_wanted(files);
        self.shared.background.files_soon();
    }

    /// Sets `binlog_group_commit_sync_delay` (microseconds) and
    /// `binlog_group_commit_sync_no_delay_count`.
    pub fn set_group_commit_delay(&self, micros: u64, no_delay_count: usize) {
        self.shared.settings.delay_us.store(micros, Relaxed);
        self.shared.settings.no_delay_count.store(no_delay_count, Relaxed);
    }

    /// Sets from how long on a commit is logged in the error log; zero is never.
    pub fn set_slow_commit(&self, time: Duration) {
        self.shared.slow_commits.set_from(time);
    }

    /// Does what the background threads do, here and now: flushes what is written, notes that down,
    /// writes the index, fills the pool.
    ///
    /// # Errors
    /// If index or pool can't be written. A flush that fails latches the log instead.
    pub fn maintain(&self) -> Result<(), LogError> {
        self.shared.flush_in_background();
        self.shared.write_mark();
        self.shared.maintain_files(&|_| false)
    }

    /// Clean shutdown: ends the log with a Stop event, flushed. Later commits are refused.
    ///
    /// # Errors
    /// If the log's end can't be written or flushed: the next start finds the log as after a crash.
    pub fn close(&self) -> Result<(), LogError> {
        self.move_ack_barrier(AckBarrierPosition::OPEN);
        self.release_at_ack_barrier();
        self.shared.background.stop();
        let mut leader = self.shared.leader.lock();
        self.shared.stop(&mut leader)?;
        let marked = self.shared.mark.flush(self.durable());
        self.shared.progress.close();
        drop(leader);
        self.shared.files.update_index().and(marked)
    }
}

/// Makes a folder and those above it, durably (E2 of `env/src/lib.rs`), if it is not there.
///
/// # Errors
/// The system's.
pub(crate) fn make_folder(env: &dyn Env, dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|path| !env.exists(path)).collect();
    env.create_dir_all(dir)?;
    let parents = missing.iter().rev().filter_map(|path| path.parent());
    parents
        .map(|path| if path == Path::new("") { Path::new(".") } else { path })
        .try_for_each(|path| env.sync_dir(path))
}

impl Drop for Log {
    fn drop(&mut self) {
        // Without `close` the files stay as after a crash; the next start repairs them.
        self.shared.background.stop();
    }
}

impl Shared {
    /// Steps k and what is in memory only: the log on a folder that was put right.
    fn start(options: &LogOptions, found: Found) -> Result<Shared, LogError> {
        let folder = found.folder;
        let status = Arc::new(LogStatus::default());
        let size = options.max_binlog_size;
        let history_size = options.binlog_transaction_dependency_history_size;
        let pool = Pool::new(folder.clone(), options.binlog_prealloc_num, size, found.pool);
        let maker = FileMaker::new(folder.clone(), options, pool, status.clone(), found.past);
        let executed = found.report.gtid_executed;
        let number = match found.files.last() {
            Some(&(FileNumber::MAX, _)) => return Err(LogError::Exhausted("file numbers")),
            Some(&(last, _)) => last.next(),
            None => FileNumber(1),
        };
        let created = (folder.env.now() / 1_000_000) as u32;
        let prepared = maker.prepare(&executed, created)?;
        maker.name(&prepared, number)?;
        let mark = DurableMark::open(&folder)?;
        maker.sync_folder()?;
        let active = prepared.into_active(number);
        let end = active.position();
        let files = Files::new(folder.clone(), found.files);
        files.push(number, end.offset());
        Ok(Shared {
            env: folder.env,
            settings: Settings {
                sync_binlog: options.sync_binlog.into(),
                trx_commit: options.trx_commit.into(),
                max_binlog_size: size.into(),
                large_commit_threshold: options.binlog_large_commit_threshold.into(),
                dependency_history_size: history_size.into(),
                delay_us: options.binlog_group_commit_sync_delay.into(),
                no_delay_count: options.binlog_group_commit_sync_no_delay_count.into(),
            },
            queue: Queue::default(),
            written: Mutex::new(Written { file: active.file.clone(), end }),
            leader: Mutex::new(Leader::new(active, executed.clone(), Dependencies::new(history_size))),
            write_latch: Mutex::default(),
            flush_latch: Mutex::new(()),
            progress: Progress::new(end),
            ack_barrier: AckBarrier::new(end),
            published: Mutex::new(Published { position: end, gtids: executed }),
            files,
            mark,
            maker,
            background: Background::default(),
            status,
            slow_commits: SlowCommits::new(options.slow_commit),
            full_disk: FullDisk::default(),
            purge_floor: AtomicU64::new(0),
            large_serial: AtomicU64::new(1),
        })
    }
}
