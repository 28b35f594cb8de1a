//! A barrier that operations enter, and that a session may close for a while: FLUSH TABLES WITH
//! READ LOCK closes those of commits and of DDL, LOCK INSTANCE FOR BACKUP that of DDL.
//!
//! Entering an open barrier is two atomic operations. The session that closes it waits for those
//! inside; later ones wait until it opens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use storage::Interrupt;

use datum::error::{self, Result};

/// Entered by many, closed by few.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    // One enters and then checks whether it is closed, the other closes and then checks who is
    // inside: sequentially consistent, so that at least one of them sees the other.
    inside: AtomicU64,
    closed: AtomicU32,
    sleep: Mutex<()>,
    changed: Condvar,
}

/// One operation inside; leaves when dropped.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Barrier>);

/// Keeps the barrier closed until dropped.
#[derive(Debug)]
pub(crate) struct Closed(Arc<Barrier>);

/// How often a waiter checks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(50);

impl Barrier {
    /// Enters; waits while it is closed.
    ///
    /// # Errors
    /// 1205 when the time is over, 1317 when killed.
    pub(crate) fn enter(self: &Arc<Self>, interrupt: &Interrupt, timeout: Duration) -> Result<Pass> {
        loop {
            let pass = self.enter_unchecked();
            if self.closed.load(SeqCst) == 0 {
                return Ok(pass);
            }
            drop(pass);
            self.wait_open(interrupt, timeout)?;
        }
    }

    fn enter_unchecked(self: &Arc<Self>) -> Pass {
        self.inside.fetch_add(1, SeqCst);
        Pass(self.clone())
    }

    /// Waits while it is closed.
    pub(crate) fn wait_open(&self, interrupt: &Interrupt, timeout: Duration) -> Result<()> {
        if self.closed.load(SeqCst) == 0 {
            return Ok(());
        }
        self.wait(interrupt, timeout, || self.closed.load(SeqCst) == 0)
    }

    /// Closes it, and waits until nobody is inside.
    pub(crate) fn close(self: &Arc<Self>, interrupt: &Interrupt, timeout: Duration) -> Result<Closed> {
        self.closed.fetch_add(1, SeqCst);
        let closed = Closed(self.clone());
        self.wait(interrupt, timeout, || self.inside.load(SeqCst) == 0)?;
        Ok(closed)
    }

    fn wait(&self, interrupt: &Interrupt, timeout: Duration, done: impl Fn() -> bool) -> Result<()> {
        let mut left = timeout;
        let mut sleep = self.sleep.lock();
        while !done() {
            if interrupt.killed().is_some() {
                return Err(error::QUERY_INTERRUPTED.plain());
            }
            if left.is_zero() {
                return Err(error::LOCK_WAIT_TIMEOUT.plain());
            }
            let step = left.min(KILL_CHECK);
            if self.changed.wait_for(&mut sleep, step).timed_out() {
                left -= step;
            }
        }
        Ok(())
    }

    fn wake(&self) {
        drop(self.sleep.lock());
        self.changed.notify_all();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, SeqCst);
        if self.0.closed.load(SeqCst) > 0 {
            self.0.wake();
        }
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.closed.fetch_sub(1, SeqCst);
        self.0.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_barrier_waits_for_those_inside_and_keeps_others_out() {
        let (barrier, calm, soon) = (Arc::<Barrier>::default(), Interrupt::new(), Duration::from_millis(10));
        let inside = barrier.enter(&calm, soon).unwrap();
        assert_eq!(barrier.close(&calm, soon).unwrap_err().number, 1205);
        drop(inside);
        let closed = barrier.close(&calm, soon).unwrap();
        assert_eq!(barrier.enter(&calm, soon).unwrap_err().number, 1205);
        let waiting = std::thread::spawn({
            let barrier = barrier.clone();
            move || barrier.enter(&Interrupt::new(), Duration::from_secs(60)).map(drop)
        });
        drop(closed);
        waiting.join().unwrap().unwrap();
    }
}
