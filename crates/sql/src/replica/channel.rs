//! A channel: one source that this server follows, the two threads that do it, and how far they
//! are.
//!
//! Sessions say what is wanted (START and STOP REPLICA), the threads tell what they do. Both sides
//! meet in [`Channel`], under one latch.

use std::sync::Arc;
use std::time::Duration;

use binlog::gtid::GtidSet;
use parking_lot::{Condvar, Mutex};

use super::applier::temporary::SourceTemporaryTables;
use super::filters::Filters;
use super::source::SourceConfig;

/// The two threads of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaThread {
    /// Reads the source's log (IO_THREAD).
    Receiver,
    /// Does it again (SQL_THREAD).
    Applier,
}

/// What a thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Running {
    /// Shown as `No`.
    #[default]
    No,
    /// `Connecting`: only the receiver.
    Connecting,
    /// Shown as `Yes`: of a receiver, its source sends.
    Yes,
}

/// Why a thread stopped, or could not connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadError {
    /// MySQL's error number.
    pub number: u16,
    /// What SHOW REPLICA STATUS says.
    pub message: String,
    /// Microseconds since 1970.
    pub at: u64,
}

/// What is known of one thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadStatus {
    /// START REPLICA was said, STOP REPLICA was not.
    pub wanted: bool,
    /// What it is about.
    pub running: Running,
    /// `Replica_IO_State`, `Replica_SQL_Running_State`.
    pub state: &'static str,
    /// Its last error; START REPLICA clears it.
    pub last_error: Option<ThreadError>,
    /// Its id in SHOW PROCESSLIST; 0 while it does not run.
    pub process: u64,
}

/// Where an applier stops by itself (START REPLICA UNTIL).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// Before the first transaction of the set.
    BeforeGtids(GtidSet),
    /// When all of the set are executed.
    AfterGtids(GtidSet),
    /// At a position of the source's log.
    Position {
        /// The source's log file.
        file: String,
        /// Behind the last event that is wanted.
        offset: u64,
    },
}

/// A place in the source's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourcePosition {
    /// The file's name; empty at its first.
    pub file: String,
    /// Behind the last event.
    pub offset: u64,
}

impl SourcePosition {
    /// Whether it is later in the log than another one. Log files of one name are numbered: a
    /// longer number is a later one.
    pub fn is_after(&self, other: &Self) -> bool {
        let key = |position: &Self| (position.file.len(), position.file.clone(), position.offset);
        key(self) > key(other)
    }
}

/// How far the threads are.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// `server_id` of the source, once connected.
    pub source_server_id: u32,
    /// What its time zone SYSTEM is called; empty before it is connected to.
    pub source_time_zone: String,
    /// `server_uuid` of the source, once connected; empty of a MariaDB.
    pub source_uuid: String,
    /// `version()` of the source, once connected.
    pub source_version: String,
    /// The source waits for acknowledgements, and gets them.
    pub acknowledges: bool,
    /// Up to where the receiver has read.
    pub read: SourcePosition,
    /// Up to where the applier has committed.
    pub executed: SourcePosition,
    /// GTIDs received since the channel was configured or the server started.
    pub retrieved: GtidSet,
    /// MariaDB's GTIDs, the last of each domain, up to where the applier has committed
    /// (`gtid_slave_pos`); empty of other sources.
    pub mariadb_gtids: String,
    /// When the source committed what is being applied, seconds since 1970; 0 while nothing is.
    pub applying_since: u32,
    /// The source's clock, in seconds, minus ours.
    pub clock_difference: i64,
    /// Bytes received and not applied.
    pub queued_bytes: u64,
    /// Heartbeats received.
    pub heartbeats: u64,
    /// When the last one came, microseconds since 1970; 0 for never.
    pub last_heartbeat: u64,
    /// Transactions applied since the server started.
    pub applied: u64,
    /// Seconds that SOURCE_DELAY still holds the applier back; `None` while it does not.
    pub remaining_delay: Option<u32>,
}

/// What `server` does for channels.
pub trait SourceThreads: Send + Sync {
    /// Starts a thread of the channel; it ends when [`Channel::is_wanted`] says no more, or by an
    /// error, and tells so by [`Channel::ended`].
    ///
    /// # Errors
    /// The system gives no thread.
    fn start(&self, channel: &Arc<Channel>, thread: ReplicaThread) -> std::io::Result<()>;
}

/// One source that this server follows.
pub struct Channel {
    name: String,
    state: Mutex<ChannelState>,
    changed: Condvar,
}

/// What a channel's latch guards.
#[derive(Default)]
pub struct ChannelState {
    /// What CHANGE REPLICATION SOURCE has said.
    pub source: SourceConfig,
    /// USER and PASSWORD of START REPLICA, which no file keeps; `None` for those of `source`.
    pub login: Option<(String, String)>,
    /// What the applier leaves out.
    pub filters: Filters,
    /// What is known of the IO_THREAD.
    pub receiver: ThreadStatus,
    /// What is known of the SQL_THREAD.
    pub applier: ThreadStatus,
    /// Where the applier stops.
    pub until: Option<Until>,
    /// Event groups to skip (`sql_replica_skip_counter` when it was started).
    pub skip: u64,
    /// How far the threads are.
    pub progress: Progress,
    /// The temporary tables of the source's sessions, while no applier has them.
    pub(crate) temporary: Option<SourceTemporaryTables>,
    /// Called when a thread is to end: it wakes a read from the source, or a lock wait.
    wake: [Option<Box<dyn Fn() + Send>>; 2],
}

impl ChannelState {
    /// What is known of a thread.
    pub fn thread(&self, thread: ReplicaThread) -> &ThreadStatus {
        match thread {
            ReplicaThread::Receiver => &self.receiver,
            ReplicaThread::Applier => &self.applier,
        }
    }

    fn thread_mut(&mut self, thread: ReplicaThread) -> &mut ThreadStatus {
        match thread {
            ReplicaThread::Receiver => &mut self.receiver,
            ReplicaThread::Applier => &mut self.applier,
        }
    }

    /// True while a thread runs, or is about to end.
    pub fn is_running(&self) -> bool {
        self.receiver.running != Running::No || self.applier.running != Running::No
    }

    /// The position is another: both threads begin where `source` says.
    pub(crate) fn begin_anew(&mut self) {
        let at = SourcePosition { file: self.source.log_file.clone(), offset: self.source.log_position };
        self.progress.read = at.clone();
        self.progress.executed = at;
        self.progress.retrieved = GtidSet::new();
        self.progress.mariadb_gtids.clear();
        self.temporary = None;
        self.until = None;
    }

    /// Another server is the source: what was received of the one before is applied, or gone. The
    /// applier still stops where START REPLICA said.
    pub(super) fn move_to(&mut self, host: &str, port: u16, given_at: u64) {
        self.source.move_to(host, port, given_at);
        let at = SourcePosition { file: String::new(), offset: self.source.log_position };
        self.progress.read = at.clone();
        self.progress.executed = at;
        self.progress.source_uuid.clear();
        self.progress.source_server_id = 0;
    }

    /// Seconds that the applier is behind the source, as MySQL reckons them: `None` where it does
    /// not run, or has nothing to apply and the receiver is not connected. `now` is in seconds
    /// since 1970.
    pub(crate) fn replication_lag(&self, now: u64) -> Option<u64> {
        if self.applier.running == Running::No {
            return None;
        }
        match self.progress.applying_since {
            0 => (self.receiver.running == Running::Yes).then_some(0),
            since => {
                let now = i64::try_from(now).unwrap_or(i64::MAX);
                let behind = now - i64::from(since);
                Some(u64::try_from(behind.saturating_add(self.progress.clock_difference)).unwrap_or(0))
            }
        }
    }

    /// Up to where the source's log was read, which is never before what was executed: a receiver
    /// that connects anew begins at the start of a file, and what is executed is not sent again.
    pub(crate) fn read_position(&self) -> &SourcePosition {
        let Progress { read, executed, .. } = &self.progress;
        let base_name =
            |position: &SourcePosition| position.file.rfind('.').map(|end| position.file[..end].to_owned());
        let is_one_log = base_name(read) == base_name(executed);
        if is_one_log && executed.is_after(read) { executed } else { read }
    }

    /// The source, with the user and password that the receiver logs in with.
    pub fn source_to_log_in(&self) -> SourceConfig {
        let (user, password) = self.user_and_password();
        SourceConfig { user: user.to_owned(), password: password.to_owned(), ..self.source.clone() }
    }

    /// With which user and password the receiver logs in.
    pub fn user_and_password(&self) -> (&str, &str) {
        match &self.login {
            Some((user, password)) => (user, password),
            None => (&self.source.user, &self.source.password),
        }
    }
}

impl Channel {
    /// A channel whose threads don't run.
    pub fn new(name: &str, source: SourceConfig) -> Self {
        let state = ChannelState { source, ..ChannelState::default() };
        Self { name: name.to_owned(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Its name; empty for the default channel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads or changes what is known of it; whoever waits looks again. Must not block.
    pub fn with<T>(&self, run: impl FnOnce(&mut ChannelState) -> T) -> T {
        let mut state = self.state.lock();
        let result = run(&mut state);
        drop(state);
        self.changed.notify_all();
        result
    }

    /// Whether a thread is to go on.
    pub fn is_wanted(&self, thread: ReplicaThread) -> bool {
        self.state.lock().thread(thread).wanted
    }

    /// What wakes a thread that is to end; a thread says it when it begins.
    pub fn set_wake(&self, thread: ReplicaThread, wake: Option<Box<dyn Fn() + Send>>) {
        self.state.lock().wake[thread as usize] = wake;
    }

    /// Has a thread run that does not run yet; what stopped it before is forgotten.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(self: &Arc<Self>, thread: ReplicaThread, by: &dyn SourceThreads) -> std::io::Result<()> {
        let mut state = self.state.lock();
        let status = state.thread_mut(thread);
        status.wanted = true;
        if status.running != Running::No {
            return Ok(());
        }
        status.last_error = None;
        status.running = if thread == ReplicaThread::Receiver { Running::Connecting } else { Running::Yes };
        drop(state);
        by.start(self, thread).inspect_err(|_| self.ended(thread, None))
    }

    /// Asks a thread to end.
    pub fn stop(&self, thread: ReplicaThread) {
        let mut state = self.state.lock();
        state.thread_mut(thread).wanted = false;
        if let Some(wake) = &state.wake[thread as usize] {
            wake();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Wakes a thread that is to look what it does next: a receiver's connection ends.
    pub fn interrupt(&self, thread: ReplicaThread) {
        if let Some(wake) = &self.state.lock().wake[thread as usize] {
            wake();
        }
    }

    /// A thread has ended, by an error or because it was asked to.
    pub fn ended(&self, thread: ReplicaThread, error: Option<ThreadError>) {
        self.with(|state| {
            state.wake[thread as usize] = None;
            let status = state.thread_mut(thread);
            let last_error = error.or(status.last_error.take());
            *status = ThreadStatus { last_error, ..ThreadStatus::default() };
        });
    }

    /// Waits until `is_so` of it, for `patience` at the most; false if it is not so by then.
    pub fn wait_until(&self, patience: Duration, mut is_so: impl FnMut(&ChannelState) -> bool) -> bool {
        let mut state = self.state.lock();
        !self.changed.wait_while_for(&mut state, |state| !is_so(state), patience).timed_out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_lag_the_source_are_reckoned_as_mysql_does() {
        let mut state = ChannelState::default();
        assert_eq!(state.replication_lag(100), None, "no applier");
        state.applier.running = Running::Yes;
        assert_eq!(state.replication_lag(100), None, "all done, and nobody to ask for more");
        state.receiver.running = Running::Yes;
        assert_eq!(state.replication_lag(100), Some(0));
        state.progress.applying_since = 70;
        state.progress.clock_difference = -10;
        assert_eq!(state.replication_lag(100), Some(20));
        state.progress.clock_difference = -40;
        assert_eq!(state.replication_lag(100), Some(0), "never negative");
        state.receiver.running = Running::No;
        state.progress.clock_difference = 0;
        assert_eq!(state.replication_lag(100), Some(30), "what was received is still applied");
        (state.progress.applying_since, state.progress.queued_bytes) = (0, 500);
        assert_eq!(state.replication_lag(100), None, "nobody brings what the receiver has dropped");
    }

    /// After STOP and START REPLICA the receiver was at the start of the file, and so the applier
    /// in front of it.
    #[test]
    fn what_is_executed_was_read() {
        let at = |offset| SourcePosition { file: "binlog.000003".into(), offset };
        let mut state = ChannelState::default();
        (state.progress.read, state.progress.executed) = (at(238), at(900));
        assert_eq!(*state.read_position(), at(900));
        state.progress.read = at(1000);
        assert_eq!(*state.read_position(), at(1000));
        for (file, what) in [("binlog.000002", "an earlier file"), ("other.1000000", "another log")] {
            state.progress.executed = SourcePosition { file: file.into(), offset: 5000 };
            assert_eq!(*state.read_position(), at(1000), "{what}");
        }
    }

    #[test]
    fn a_later_file_is_after_any_offset_of_an_earlier_one() {
        let at = |file: &str, offset| SourcePosition { file: file.into(), offset };
        assert!(at("b.000002", 4).is_after(&at("b.000001", 900)));
        assert!(at("b.1000000", 4).is_after(&at("b.999999", 4)));
        assert!(!at("b.000001", 899).is_after(&at("b.000001", 900)));
        assert!(!at("b.000001", 900).is_after(&at("b.000001", 900)));
    }
}
