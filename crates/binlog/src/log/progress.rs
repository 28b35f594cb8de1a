//! How far the log has come, and waiting for it.

use super::error::LogError;
use crate::gtid::GtidSet;
use crate::position::LogPosition;
use parking_lot::{Condvar, Mutex};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// A position that moves forward only.
#[derive(Debug)]
pub(super) struct Mark(AtomicU64);

impl Mark {
    fn new(at: LogPosition) -> Self {
        Self(AtomicU64::new(at.to_u64()))
    }

    pub(super) fn get(&self) -> LogPosition {
        LogPosition::from_u64(self.0.load(SeqCst))
    }
}

/// The transactions that may be seen: where the last one ends, and which they are. The two always agree.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Behind the last of them.
    pub position: LogPosition,
    /// All of them, in files that were purged too.
    pub gtids: GtidSet,
}

/// The log's marks, its latch after a failure, and those who wait for either.
///
/// Marks and the count of waiters are `SeqCst`, each the other's partner: a mover stores the mark, then looks for
/// waiters; a waiter counts itself, then looks at the mark. One of them sees the other, and nobody pays for waking when
/// no one waits.
pub(super) struct Progress {
    /// Behind the last group whose place is fixed.
    pub(super) ordered: Mark,
    /// Behind the last group that snapshots may see.
    pub(super) visible: Mark,
    /// Behind the last byte that is flushed, as far as readers may go.
    pub(super) durable: Mark,
    failure: OnceLock<LogError>,
    closed: AtomicBool,
    waiters: AtomicUsize,
    latch: Mutex<()>,
    changed: Condvar,
}

impl Progress {
    pub(super) fn new(at: LogPosition) -> Self {
        Self {
            ordered: Mark::new(at),
            visible: Mark::new(at),
            durable: Mark::new(at),
            failure: OnceLock::new(),
            closed: AtomicBool::new(false),
            waiters: AtomicUsize::new(0),
            latch: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Moves a mark forward; a position behind it changes nothing.
    pub(super) fn advance(&self, mark: &Mark, to: LogPosition) {
        if mark.0.fetch_max(to.to_u64(), SeqCst) < to.to_u64() {
            self.wake();
        }
    }

    /// Refuses everything from now on (G4). The first failure stays.
    pub(super) fn latch_failure(&self, error: &LogError) -> LogError {
        let failure = self.failure.get_or_init(|| {
            tracing::error!(%error, "the binary log takes no more commits until a restart");
            LogError::Latched(error.to_string().into())
        });
        self.wake();
        failure.clone()
    }

    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
        self.wake();
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

    /// Waits until `mark` is at `wanted` or behind it (`Ok`), or never will be.
    pub(super) fn wait(&self, mark: &Mark, wanted: LogPosition) -> Result<(), LogError> {
        if mark.get() >= wanted {
            return Ok(());
        }
        let mut latch = self.latch.lock();
        self.waiters.fetch_add(1, SeqCst);
        let result = loop {
            if mark.get() >= wanted {
                break Ok(());
            }
            if let Err(e) = self.check() {
                break Err(e);
            }
            self.changed.wait(&mut latch);
        };
        self.waiters.fetch_sub(1, SeqCst);
        result
    }

    /// Waits until the durable mark is past `from`, for `timeout` at the most; tells whether it is. Returns at once
    /// when the log takes no more.
    pub(super) fn wait_past(&self, from: LogPosition, timeout: Duration) -> bool {
        if self.durable.get() > from {
            return true;
        }
        if timeout.is_zero() {
            return false;
        }
        let mut latch = self.latch.lock();
        self.waiters.fetch_add(1, SeqCst);
        // One wait, and whoever wants more calls again: a wake-up for another mark ends it early, which is harmless.
        if self.durable.get() <= from && self.check().is_ok() {
            self.changed.wait_for(&mut latch, timeout);
        }
        self.waiters.fetch_sub(1, SeqCst);
        self.durable.get() > from
    }

    fn wake(&self) {
        if self.waiters.load(SeqCst) > 0 {
            drop(self.latch.lock());
            self.changed.notify_all();
        }
    }
}
