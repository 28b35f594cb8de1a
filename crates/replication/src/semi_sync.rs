//! The semi-synchronous source and its replicas' acks: a commit is seen, or acknowledged, once
//! enough replicas have said that they have it.
//!
//! 1. attach    the dump to a replica that can (`@rpl_semi_sync_replica`) attaches a [`Follower`].
//! 2. ask       each event that it is sent begins with two bytes; of the last transaction in each
//!    batch they ask for an answer, which stands for all before.
//! 3. wait      transactions that are durable here wait at the log's ack barrier
//!    ([`AckBarrierOwner`]): to be seen, or to be acknowledged once they are seen, as
//!    `rpl_semi_sync_source_wait_point` says.
//! 4. answer    the position that `rpl_semi_sync_source_wait_for_replica_count` replicas have
//!    reached moves the ack barrier.
//! 5. fall back when one waits longer than `rpl_semi_sync_source_timeout` the barrier opens for
//!    all: the source is off.
//! 6. catch up  when as many replicas answer in time again, it is on again.
//!
//! (Y1) Only what a replica was asked for counts, and it is asked for nothing that this server
//!      could still lose (D1 of `source.rs`).
//! (Y2) A transaction that waits here blocks no other: the log orders, writes and flushes the next
//!      groups meanwhile.
//! (Y3) No commit waits longer than the timeout, whatever becomes of replicas, and none once the
//!      server stops.

mod follower;

pub use follower::{ANSWER_MAX, Follower};

use binlog::LogPosition;
use binlog::log::{AckBarrierOwner, AckBarrierPosition, Log};
use env::Env;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Where a commit waits (`rpl_semi_sync_source_wait_point`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPoint {
    /// Before anybody may see it.
    AfterSync,
    /// Before its session is sent its OK.
    AfterCommit,
}

/// The variables `rpl_semi_sync_source_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `.._enabled`
    pub enabled: bool,
    /// `.._timeout`: the longest wait.
    pub timeout: Duration,
    /// `.._wait_point`
    pub wait_point: WaitPoint,
    /// `.._wait_for_replica_count`: 1 or more.
    pub wait_for_replica_count: usize,
    /// `.._wait_no_replica`: wait also while fewer replicas than that are attached.
    pub wait_no_replica: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            timeout: Duration::from_secs(10),
            wait_point: WaitPoint::AfterSync,
            wait_for_replica_count: 1,
            wait_no_replica: true,
        }
    }
}

/// What `Rpl_semi_sync_source_*` shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Replicas attached.
    pub clients: u64,
    /// Commits wait: enabled, and not fallen back.
    pub on: bool,
    /// Times it was switched off.
    pub no_times: u64,
    /// Commits that replicas have acknowledged.
    pub yes_tx: u64,
    /// Commits that went on without.
    pub no_tx: u64,
    /// Waits for commits.
    pub tx_waits: u64,
    /// Microseconds of these.
    pub tx_wait_time: u64,
    /// Answers of replicas.
    pub net_waits: u64,
    /// Commits that wait now.
    pub wait_sessions: u64,
}

/// The source's side, one for a server.
pub struct SemiSync {
    log: Weak<Log>,
    env: Arc<dyn Env>,
    state: Mutex<SemiSyncState>,
    /// Signalled when there is a new first wait, and at the stop.
    changed: Condvar,
    watch: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct SemiSyncState {
    settings: Settings,
    on: bool,
    is_stopping: bool,
    next_id: u64,
    followers: HashMap<u64, Attached>,
    /// How far enough replicas have come; never goes back.
    acked: LogPosition,
    /// Groups that wait, with the moment they came, oldest first.
    waits: VecDeque<(LogPosition, Duration)>,
    counts: Status,
}

struct Attached {
    server_id: u32,
    acked: LogPosition,
}

impl SemiSync {
    /// Owns the ack barrier of `log`, which stays open until [`SemiSync::configure`] enables it.
    pub fn new(log: &Arc<Log>, env: Arc<dyn Env>) -> Arc<Self> {
        let semi_sync = Arc::new(Self {
            log: Arc::downgrade(log),
            env,
            state: Mutex::default(),
            changed: Condvar::new(),
            watch: Mutex::default(),
        });
        log.set_ack_barrier_owner(semi_sync.clone());
        semi_sync
    }

    /// New values of the variables.
    ///
    /// # Errors
    /// The system has no thread for the timeouts; nothing has changed then.
    pub fn configure(self: &Arc<Self>, settings: Settings) -> io::Result<()> {
        if settings.enabled {
            self.start_watch()?;
        }
        let Some(log) = self.log.upgrade() else { return Ok(()) };
        if settings.enabled {
            log.count_ack_barrier(true);
        }
        self.update(|state| state.configure(settings));
        if !settings.enabled {
            log.count_ack_barrier(false);
        }
        Ok(())
    }

    /// The variables as they are.
    pub fn settings(&self) -> Settings {
        self.state.lock().settings
    }

    /// A replica's stream begins.
    pub fn attach(self: &Arc<Self>, server_id: u32) -> Follower {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.followers.insert(id, Attached { server_id, acked: LogPosition::ZERO });
        drop(state);
        Follower::new(self.clone(), id)
    }

    /// Releases all commits that wait, and makes none wait from now on: the server stops.
    pub fn stop(&self) {
        self.update(|state| {
            state.is_stopping = true;
            state.on = false;
            state.waits.clear();
        });
        self.changed.notify_all();
        if let Some(watch) = self.watch.lock().take() {
            // A panic in it was printed when it happened.
            let _ = watch.join();
        }
    }

    /// Counters.
    pub fn status(&self) -> Status {
        let state = self.state.lock();
        let mut status = Status { clients: state.followers.len() as u64, on: state.on, ..state.counts };
        drop(state);
        if let Some(log) = self.log.upgrade() {
            (status.yes_tx, status.no_tx) = log.ack_barrier_counts();
            status.wait_sessions = log.waiting_at_ack_barrier() as u64;
        }
        status
    }

    fn detach(&self, id: u64) {
        self.update(|state| {
            state.followers.remove(&id);
            state.need_replicas();
        });
    }

    /// A replica has all up to here; `lag` is how long ago that became durable here, if it says so
    /// in answer to a question.
    fn acknowledge(&self, id: u64, position: LogPosition, lag: Option<Duration>) {
        let now = self.env.monotonic();
        let name = |at: LogPosition| self.name(at);
        self.update(|state| state.acknowledge(id, position, lag, now, &name));
    }

    /// Changes the state and moves the ack barrier accordingly.
    fn update(&self, change: impl FnOnce(&mut SemiSyncState)) {
        let Some(log) = self.log.upgrade() else { return };
        let mut state = self.state.lock();
        change(&mut state);
        log.move_ack_barrier(state.passing());
        drop(state);
        log.release_at_ack_barrier();
    }

    fn name(&self, at: LogPosition) -> String {
        let known = self.log.upgrade().filter(|_| at > LogPosition::ZERO);
        known.map_or_else(String::new, |log| log.file_name(at.file()))
    }

    fn start_watch(self: &Arc<Self>) -> io::Result<()> {
        let mut watch = self.watch.lock();
        if watch.is_none() {
            let semi_sync = self.clone();
            let thread = thread::Builder::new().name("semi-sync".into());
            *watch = Some(thread.spawn(move || semi_sync.watch())?);
        }
        Ok(())
    }

    /// Falls back in time (Y3).
    fn watch(&self) {
        while let Some(late) = self.await_timeout() {
            let name = |at: LogPosition| self.name(at);
            self.update(|state| {
                // It may have been acknowledged just now.
                if state.waits.front().is_some_and(|&(first, _)| first <= late) {
                    state.time_out(&name);
                }
            });
        }
    }

    /// What has waited for too long; `None` at the stop.
    fn await_timeout(&self) -> Option<LogPosition> {
        let mut state = self.state.lock();
        while !state.is_stopping {
            let Some(&(first, since)) = state.waits.front() else {
                self.changed.wait(&mut state);
                continue;
            };
            let waited = self.env.monotonic().saturating_sub(since);
            let remaining = state.settings.timeout.saturating_sub(waited);
            if remaining.is_zero() {
                return Some(first);
            }
            self.wait_for(&mut state, remaining);
        }
        None
    }

    fn wait_for(&self, state: &mut MutexGuard<'_, SemiSyncState>, remaining: Duration) {
        // A changed timeout is seen this soon.
        const RECHECK: Duration = Duration::from_secs(1);
        self.changed.wait_for(state, remaining.min(RECHECK));
    }
}

impl AckBarrierOwner for SemiSync {
    fn arrived(&self, position: LogPosition) {
        let now = self.env.monotonic();
        let mut state = self.state.lock();
        if state.arrived(position, now) && state.waits.len() == 1 {
            self.changed.notify_all();
        }
    }
}

impl SemiSyncState {
    fn passing(&self) -> AckBarrierPosition {
        match self.settings.wait_point {
            _ if !self.on => AckBarrierPosition::OPEN,
            // What was published with AFTER_COMMIT, before the setting was changed, still waits.
            WaitPoint::AfterSync => AckBarrierPosition { visible: self.acked, replied: self.acked },
            WaitPoint::AfterCommit => AckBarrierPosition { replied: self.acked, ..AckBarrierPosition::OPEN },
        }
    }

    fn configure(&mut self, settings: Settings) {
        let was = std::mem::replace(&mut self.settings, settings);
        if settings.enabled && !was.enabled && !self.is_stopping {
            tracing::info!("Semi-sync replication enabled on the source.");
            self.on = true;
        } else if was.enabled && !settings.enabled {
            self.on = false;
            self.waits.clear();
            tracing::info!("Semi-sync replication disabled on the source.");
        }
        self.need_replicas();
        self.count_acks();
    }

    /// Without `wait_no_replica` no commit waits for replicas that are not there.
    fn need_replicas(&mut self) {
        let settings = &self.settings;
        if !settings.wait_no_replica && self.followers.len() < settings.wait_for_replica_count {
            self.switch_off();
        }
    }

    fn switch_off(&mut self) {
        if std::mem::take(&mut self.on) {
            self.counts.no_times += 1;
            self.waits.clear();
            tracing::info!("Semi-sync replication switched OFF.");
        }
    }

    fn time_out(&mut self, name: &dyn Fn(LogPosition) -> String) {
        if let Some(&(late, _)) = self.waits.front() {
            tracing::warn!(
                "Timeout waiting for reply of binlog (file: {}, pos: {}), semi-sync up to file {}, position {}.",
                name(late),
                late.offset(),
                name(self.acked),
                self.acked.offset(),
            );
            self.switch_off();
        }
    }

    /// True if it waits from now on.
    fn arrived(&mut self, position: LogPosition, now: Duration) -> bool {
        let is_known = self.waits.back().is_some_and(|&(last, _)| position <= last);
        if !self.on || is_known || position <= self.acked {
            return false;
        }
        self.waits.push_back((position, now));
        self.counts.tx_waits += 1;
        true
    }

    fn acknowledge(
        &mut self,
        id: u64,
        position: LogPosition,
        lag: Option<Duration>,
        now: Duration,
        name: &dyn Fn(LogPosition) -> String,
    ) {
        self.counts.net_waits += u64::from(lag.is_some());
        let Some(follower) = self.followers.get_mut(&id) else { return };
        follower.acked = follower.acked.max(position);
        self.count_acks();
        while let Some((_, since)) = self.waits.pop_front_if(|&mut (wait, _)| wait <= self.acked) {
            self.counts.tx_wait_time += now.saturating_sub(since).as_micros() as u64;
        }
        // A commit of that moment would not have waited too long. Half of it, for it may have been
        // durable before the stream came to it.
        let in_time = lag.is_some_and(|lag| lag <= self.settings.timeout / 2);
        let may = self.settings.enabled && !self.on && !self.is_stopping;
        if may && in_time && position <= self.acked {
            self.on = true;
            tracing::info!(
                "Semi-sync replication switched ON at ({}, {}).",
                name(position),
                position.offset()
            );
        }
    }

    /// As far as the n-th of the replicas has come, each counted once.
    fn count_acks(&mut self) {
        let mut acked: HashMap<u32, LogPosition> = HashMap::new();
        for follower in self.followers.values() {
            let furthest = acked.entry(follower.server_id).or_default();
            *furthest = follower.acked.max(*furthest);
        }
        let mut acked: Vec<_> = acked.into_values().collect();
        acked.sort_unstable_by(|a, b| b.cmp(a));
        let enough = self.settings.wait_for_replica_count.saturating_sub(1);
        self.acked = acked.get(enough).copied().unwrap_or_default().max(self.acked);
    }
}

#[cfg(test)]
mod tests;
