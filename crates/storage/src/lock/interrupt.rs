//! A session's sleep, and everything that may end it: a lock handed over, a deadlock, KILL.
//!
//! Each session has one [`Interrupt`] for its whole life. KILL sets its mark from another thread
//! and wakes it; every long wait and long loop of the session asks for the mark.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::gather;

/// What a KILL asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// `KILL QUERY`: the running statement ends.
    Query,
    /// `KILL CONNECTION`: the session ends.
    Connection,
}

/// How a lock wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The lock is held now.
    Granted,
    /// The waiter was the victim of a deadlock.
    Deadlock,
    /// Timeout or KILL: the waiter left the queue by itself.
    GivenUp,
}

const RUNNING: u8 = 0;
const KILL_QUERY: u8 = 1;
const KILL_CONNECTION: u8 = 2;

/// A session's interrupt handle.
#[derive(Debug, Default)]
pub struct Interrupt {
    /// Written under `wait`, so that a sleeper that tests it under `wait` misses no wake-up; read
    /// anywhere.
    kill: AtomicU8,
    /// The current lock wait's outcome, if it is known.
    wait: Mutex<Option<Outcome>>,
    changed: Condvar,
}

impl Interrupt {
    /// A handle with no mark set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks the session and wakes it. A `KILL CONNECTION` is not weakened by a later `KILL QUERY`.
    pub fn kill(&self, what: Killed) {
        let mark = match what {
            Killed::Query => KILL_QUERY,
            Killed::Connection => KILL_CONNECTION,
        };
        let guard = self.wait.lock();
        self.kill.fetch_max(mark, Ordering::Release); // pairs with the load in `killed`
        drop(guard);
        self.changed.notify_all();
    }

    /// The mark, if one is set.
    pub fn killed(&self) -> Option<Killed> {
        match self.kill.load(Ordering::Acquire) {
            RUNNING => None,
            KILL_QUERY => Some(Killed::Query),
            _ => Some(Killed::Connection),
        }
    }

    /// As [`Interrupt::killed`], for the session's own thread to ask now and then while a statement
    /// goes on: a long statement also unpins the thread (`gather.rs`).
    pub fn killed_at_work(&self) -> Option<Killed> {
        gather::goes_on();
        self.killed()
    }

    /// Takes back a `KILL QUERY`, when its statement has ended; on the session's own thread.
    pub fn statement_ended(&self) {
        gather::statement_ended();
        // Fails harmlessly if nothing is set or the connection was killed.
        let _ = self.kill.compare_exchange(KILL_QUERY, RUNNING, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Takes back a `KILL QUERY` that came while no statement ran, as MySQL does: the next one is
    /// not its statement. On the session's own thread.
    pub fn statement_begins(&self) {
        let _ = self.kill.compare_exchange(KILL_QUERY, RUNNING, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Sleeps for `duration`, or until a KILL; true if the whole time passed (`SLEEP()`).
    pub fn sleep(&self, duration: Duration) -> bool {
        let mut guard = self.wait.lock();
        self.changed.wait_while_for(&mut guard, |_| self.killed().is_none(), duration);
        self.killed().is_none()
    }

    /// Forgets the last wait's outcome; before the session joins a queue.
    pub(super) fn begin_wait(&self) {
        *self.wait.lock() = None;
    }

    /// Sets the outcome; called once for each wait by the thread that takes the waiter out of its
    /// queue. Wakes nobody yet.
    pub(super) fn resolve(&self, outcome: Outcome) {
        let before = self.wait.lock().replace(outcome);
        assert_eq!(before, None, "a lock wait ended twice");
    }

    /// Wakes the sleeper after [`Interrupt::resolve`], with no latch held.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        *self.wait.lock()
    }

    /// Sleeps until the outcome is known; `None` if the time passed or a KILL came first.
    pub(super) fn sleep_until_outcome(&self, timeout: Duration) -> Option<Outcome> {
        let mut guard = self.wait.lock();
        let goes_on = |o: &mut Option<Outcome>| o.is_none() && self.killed().is_none();
        self.changed.wait_while_for(&mut guard, goes_on, timeout);
        *guard
    }
}
