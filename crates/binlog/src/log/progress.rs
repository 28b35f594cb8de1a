//! How far the log has come, and waiting for it.
//!
//! (A1) Marks only move forward.
//! (A2) `durable` <= written <= `ordered`, and `visible` <= `ordered`. Each mark moves in one
//!      place, which asserts it: [`Shared::advance_ordered`], [`Shared::advance_written`],
//!      [`Shared::advance_durable`], [`Shared::advance_visible`]. A mark that is compared with may
//!      have moved on meanwhile, which never makes a true answer false (A1).

use super::commit::Written;
use super::error::LogError;
use super::{Log, Shared};
use crate::gtid::GtidSet;
use crate::position::LogPosition;
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// A position that moves forward only, and the threads that wait for it: for any move, or for one
/// past a position.
///
/// Position and counts are `SeqCst`, each the other's partner: a mover stores the position, then
/// loads the count of waiters; a waiter counts itself, then loads the position. One of them sees
/// the other, and a move without waiters costs no system call.
pub(super) struct Mark {
    at: AtomicU64,
    waiters: AtomicUsize,
    latch: Mutex<()>,
    moved: Condvar,
    watcher_count: AtomicUsize,
    watchers: Mutex<BinaryHeap<Watcher>>,
}

/// Called once when a mark has reached a position, or never will.
type OnReached = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// A registered wait for a position. The greatest is the one to call first.
struct Watcher {
    wanted: Reverse<LogPosition>,
    on_reached: OnReached,
}

impl PartialEq for Watcher {
    fn eq(&self, other: &Self) -> bool {
        self.wanted == other.wanted
    }
}

impl Eq for Watcher {}

impl PartialOrd for Watcher {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Watcher {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.wanted.cmp(&other.wanted)
    }
}

impl Mark {
    fn new(at: LogPosition) -> Self {
        Self {
            at: AtomicU64::new(at.to_u64()),
            waiters: AtomicUsize::new(0),
            latch: Mutex::new(()),
            moved: Condvar::new(),
            watcher_count: AtomicUsize::new(0),
            watchers: Mutex::default(),
        }
    }

    pub(super) fn get(&self) -> LogPosition {
        LogPosition::from_u64(self.at.load(SeqCst))
    }

    /// Waits while `goes_on`, which is asked under the latch, for `timeout` at the most between two
    /// moves.
    fn wait_while(&self, timeout: Duration, mut goes_on: impl FnMut() -> bool) {
        let mut latch = self.latch.lock();
        self.waiters.fetch_add(1, SeqCst);
        while goes_on() && !self.moved.wait_for(&mut latch, timeout).timed_out() {}
        self.waiters.fetch_sub(1, SeqCst);
    }

    fn wake(&self) {
        if self.waiters.load(SeqCst) > 0 {
            drop(self.latch.lock());
            self.moved.notify_all();
        }
    }

    /// Takes those whose position is reached; all, if `ends`.
    fn take_watchers(&self, ends: bool) -> Vec<Watcher> {
        let mut due = Vec::new();
        if self.watcher_count.load(SeqCst) > 0 {
            let (mut watchers, at) = (self.watchers.lock(), self.get());
            while watchers.peek().is_some_and(|first| ends || first.wanted.0 <= at) {
                due.extend(watchers.pop());
            }
            self.watcher_count.fetch_sub(due.len(), SeqCst);
        }
        due
    }
}

/// The transactions that may be seen: where the last one ends, and which they are. The two always
/// agree.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// The end of the last of them.
    pub position: LogPosition,
    /// All of them, in files that were purged too.
    pub gtids: GtidSet,
}

/// Called whenever more of the log is durable, by the thread that flushed it: must not block. For
/// readers that wait for something else as well.
pub type DurableListener = Arc<dyn Fn() + Send + Sync>;

/// The log's marks, and its latch after a failure.
pub(super) struct Progress {
    /// The end of the last group that is ordered.
    pub(super) ordered: Mark,
    /// The end of the last group that snapshots may see.
    pub(super) visible: Mark,
    /// The end of the last byte that is flushed, as far as readers may go.
    pub(super) durable: Mark,
    /// Called when `durable` moves. Their number is the mark's partner as the count of its waiters
    /// is.
    listeners: Mutex<Vec<DurableListener>>,
    listener_count: AtomicUsize,
    /// Who follows the log; only for their pace, ordering nothing.
    followers: AtomicUsize,
    failure: OnceLock<LogError>,
    closed: AtomicBool,
}

/// Counts as a follower of the log until it is dropped.
pub struct Following<'a>(&'a AtomicUsize);

impl Following<'_> {
    /// How many follow the log now.
    pub fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Progress {
    pub(super) fn new(at: LogPosition) -> Self {
        Self {
            ordered: Mark::new(at),
            visible: Mark::new(at),
            durable: Mark::new(at),
            listeners: Mutex::default(),
            listener_count: AtomicUsize::new(0),
            followers: AtomicUsize::new(0),
            failure: OnceLock::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Moves a mark forward; a lower position changes nothing.
    fn advance(&self, mark: &Mark, to: LogPosition) {
        if mark.at.fetch_max(to.to_u64(), SeqCst) < to.to_u64() {
            mark.wake();
            self.notify_watchers(mark);
            if std::ptr::eq(mark, &self.durable) {
                self.notify_listeners();
            }
        }
    }

    /// Refuses everything from now on (G4 of `commit.rs`). The first failure stays.
    pub(super) fn latch_failure(&self, error: &LogError) -> LogError {
        let failure = self.failure.get_or_init(|| {
            tracing::error!(%error, "the binary log takes no more commits until a restart");
            LogError::Latched(error.to_string().into())
        });
        self.wake_all();
        failure.clone()
    }

    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
        self.wake_all();
    }

    pub(super) fn failure(&self) -> Option<LogError> {
        self.failure.get().cloned()
    }

    /// An error if the log takes no more.
    pub(super) fn check(&self) -> Result<(), LogError> {
        match self.failure.get() {
            Some(failure) => Err(failure.clone()),
            None if self.closed.load(SeqCst) => Err(LogError::Closed),
            None => Ok(()),
        }
    }

    /// Waits until `mark` is at or past `wanted` (`Ok`), or never will be.
    pub(super) fn wait(&self, mark: &Mark, wanted: LogPosition) -> Result<(), LogError> {
        let outcome = Arc::new(OnceLock::new());
        let (reported, thread) = (outcome.clone(), thread::current());
        self.watch(mark, wanted, move |reached| {
            let _ = reported.set(reached);
            thread.unpark();
        });
        loop {
            match outcome.get() {
                Some(reached) => return reached.clone(),
                None => thread::park(),
            }
        }
    }

    /// Calls `on_reached` once `mark` is at or past `wanted` (`Ok`), or never will be: at once, or
    /// in the thread that moves it.
    pub(super) fn watch(
        &self,
        mark: &Mark,
        wanted: LogPosition,
        on_reached: impl FnOnce(Result<(), LogError>) + Send + 'static,
    ) {
        if mark.get() >= wanted {
            return on_reached(Ok(()));
        }
        let mut watchers = mark.watchers.lock();
        mark.watcher_count.fetch_add(1, SeqCst);
        if mark.get() < wanted && self.check().is_ok() {
            return watchers.push(Watcher { wanted: Reverse(wanted), on_reached: Box::new(on_reached) });
        }
        mark.watcher_count.fetch_sub(1, SeqCst);
        drop(watchers);
        on_reached(if mark.get() >= wanted { Ok(()) } else { self.check() });
    }

    fn notify_watchers(&self, mark: &Mark) {
        for Watcher { wanted, on_reached } in mark.take_watchers(self.check().is_err()) {
            on_reached(if mark.get() >= wanted.0 { Ok(()) } else { self.check() });
        }
    }

    /// Waits until the durable mark is past `from`, for `timeout` at the most; returns whether it
    /// is.
    /// Returns at once when the log is closed.
    pub(super) fn wait_past(&self, from: LogPosition, timeout: Duration) -> bool {
        if self.durable.get() <= from && !timeout.is_zero() {
            let is_open = || !self.closed.load(SeqCst);
            self.durable.wait_while(timeout, || self.durable.get() <= from && is_open());
        }
        self.durable.get() > from
    }

    pub(super) fn add_listener(&self, listener: DurableListener) {
        self.listeners.lock().push(listener);
        self.listener_count.fetch_add(1, SeqCst);
    }

    pub(super) fn remove_listener(&self, listener: &DurableListener) {
        let mut listeners = self.listeners.lock();
        if let Some(index) = listeners.iter().position(|other| Arc::ptr_eq(other, listener)) {
            listeners.swap_remove(index);
            self.listener_count.fetch_sub(1, SeqCst);
        }
    }

    fn notify_listeners(&self) {
        if self.listener_count.load(SeqCst) > 0 {
            self.listeners.lock().iter().for_each(|listener| listener());
        }
    }

    fn wake_all(&self) {
        for mark in [&self.ordered, &self.visible, &self.durable] {
            mark.wake();
            self.notify_watchers(mark);
        }
        self.notify_listeners();
    }
}

/// Where the marks move (A2).
impl Shared {
    /// All up to here is ordered. The caller holds `leader`.
    pub(super) fn advance_ordered(&self, to: LogPosition) {
        assert!(to > self.progress.ordered.get(), "the log only grows (G1)");
        self.progress.advance(&self.progress.ordered, to);
    }

    /// Bytes are with the operating system. The caller has the write latch, or holds `leader` while
    /// no group is on its way to be written.
    pub(super) fn advance_written(&self, now: Written) {
        assert!(now.end <= self.progress.ordered.get(), "what is written is ordered (A2)");
        let mut written = self.written.lock();
        assert!(written.end <= now.end, "what was written stays so (A1)");
        *written = now;
    }

    /// All up to here is flushed: readers may go so far, and the durable mark follows soon.
    pub(super) fn advance_durable(&self, to: LogPosition) {
        assert!(to <= self.written.lock().end, "what is durable was written (A2)");
        self.progress.advance(&self.progress.durable, to);
        self.background.mark_soon();
    }

    /// Snapshots may see so far.
    pub(super) fn advance_visible(&self, to: LogPosition) {
        assert!(to <= self.progress.ordered.get(), "what is visible is ordered (A2)");
        self.progress.advance(&self.progress.visible, to);
    }
}

impl Log {
    /// Waits until a transaction is durable; something flushes it within milliseconds.
    ///
    /// # Errors
    /// `LogError::Latched` or `LogError::Closed` if it never will be.
    pub fn wait_durable(&self, position: LogPosition) -> Result<(), LogError> {
        self.shared.progress.wait(&self.shared.progress.durable, position)
    }

    /// Waits until the log is durable past `from`, for `timeout` at the most; returns whether it
    /// is.
    pub fn wait_durable_past(&self, from: LogPosition, timeout: Duration) -> bool {
        self.shared.progress.wait_past(from, timeout)
    }

    /// Counts the caller as a follower.
    pub fn follow(&self) -> Following<'_> {
        let followers = &self.shared.progress.followers;
        followers.fetch_add(1, Relaxed);
        Following(followers)
    }

    /// Calls `listener` whenever more is durable, and when the log fails or is closed, until
    /// [`Log::remove_durable_listener`].
    pub fn add_durable_listener(&self, listener: DurableListener) {
        self.shared.progress.add_listener(listener);
    }

    /// The listener may be called once more while this runs, and not after it.
    pub fn remove_durable_listener(&self, listener: &DurableListener) {
        self.shared.progress.remove_listener(listener);
    }

    /// Calls `on_visible` once an ordered transaction is published, or never will be: at once, or
    /// in the middle of the log's work, where it must neither block nor panic.
    pub fn when_visible(
        &self,
        position: LogPosition,
        on_visible: impl FnOnce(Result<(), LogError>) + Send + 'static,
    ) {
        self.shared.progress.watch(&self.shared.progress.visible, position, on_visible);
    }

    /// Waits until an ordered transaction is published.
    ///
    /// # Errors
    /// `LogError::Latched` or `LogError::Closed` if it never will be.
    pub fn wait_visible(&self, position: LogPosition) -> Result<(), LogError> {
        self.shared.progress.wait(&self.shared.progress.visible, position)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gtid::Uuid;
    use crate::log::LogOptions;
    use env::SimEnv;
    use std::path::Path;

    fn log() -> Arc<Log> {
        let mut options = LogOptions::new(1, Uuid([1; 16]), "8.4.8");
        options.background = false;
        Log::open(Arc::new(SimEnv::new(1)), Path::new("/log"), options).unwrap().0
    }

    fn past_ordered(log: &Log) -> LogPosition {
        LogPosition::from_u64(log.ordered().to_u64() + 1)
    }

    #[test]
    #[should_panic = "what is visible is ordered"]
    fn nothing_is_visible_before_it_is_ordered() {
        let log = log();
        log.shared.advance_visible(past_ordered(&log));
    }

    #[test]
    #[should_panic = "what is durable was written"]
    fn nothing_is_durable_before_it_is_written() {
        let log = log();
        log.shared.advance_durable(past_ordered(&log));
    }

    #[test]
    #[should_panic = "what is written is ordered"]
    fn nothing_is_written_before_it_is_ordered() {
        let log = log();
        let file = log.shared.written.lock().file.clone();
        log.shared.advance_written(Written { file, end: past_ordered(&log) });
    }

    #[test]
    #[should_panic = "the log only grows"]
    fn no_position_is_assigned_twice() {
        let log = log();
        log.shared.advance_ordered(log.ordered());
    }
}
