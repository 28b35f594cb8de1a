//! Metadata locks: a table's definition stays as long as a transaction uses it.
//!
//! Statements hold a table's lock shared until their transaction ends. DDL holds it exclusively: it waits for those that
//! use the table, and keeps new ones out while it waits. A lock outlives its table; whoever gets one asks the catalog
//! again whether the table is still the same.
//!
//! (M1) DDL holds no shared lock while it waits for an exclusive one, and takes several in the order of their names.
//!
//! A transaction that holds one table and waits for another, which a DDL statement holds that waits for the first, is
//! not detected as a circle; the timeout ends it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use storage::Interrupt;

use crate::error::{self, Result};

/// One table's lock.
#[derive(Debug, Default)]
pub struct MetadataLock {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shared: u32,
    exclusive: bool,
    /// DDL statements that wait; new users wait behind them.
    waiting: u32,
}

/// A shared lock, given back when dropped.
#[derive(Debug)]
pub struct SharedGuard(Arc<MetadataLock>);

/// An exclusive lock, given back when dropped.
#[derive(Debug)]
pub struct ExclusiveGuard(Arc<MetadataLock>);

/// How often a waiter looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(50);

impl MetadataLock {
    /// Locks shared.
    pub fn shared(self: &Arc<Self>, interrupt: &Interrupt, timeout: Duration) -> Result<SharedGuard> {
        let mut state = self.state.lock();
        self.wait(&mut state, interrupt, timeout, |s| !s.exclusive && s.waiting == 0)?;
        state.shared += 1;
        Ok(SharedGuard(self.clone()))
    }

    /// Locks exclusively.
    pub fn exclusive(self: &Arc<Self>, interrupt: &Interrupt, timeout: Duration) -> Result<ExclusiveGuard> {
        let mut state = self.state.lock();
        state.waiting += 1;
        let outcome = self.wait(&mut state, interrupt, timeout, |s| !s.exclusive && s.shared == 0);
        state.waiting -= 1;
        match outcome {
            Ok(()) => {
                state.exclusive = true;
                Ok(ExclusiveGuard(self.clone()))
            }
            Err(e) => {
                self.changed.notify_all();
                Err(e)
            }
        }
    }

    fn wait(
        &self,
        state: &mut parking_lot::MutexGuard<'_, State>,
        interrupt: &Interrupt,
        timeout: Duration,
        free: impl Fn(&State) -> bool,
    ) -> Result<()> {
        let mut left = timeout;
        while !free(state) {
            if interrupt.killed().is_some() {
                return Err(error::QUERY_INTERRUPTED.plain());
            }
            if left.is_zero() {
                return Err(error::LOCK_WAIT_TIMEOUT.plain());
            }
            let step = left.min(KILL_CHECK);
            if self.changed.wait_for(state, step).timed_out() {
                left -= step;
            }
        }
        Ok(())
    }
}

impl SharedGuard {
    /// True if it is this table's.
    pub fn is_of(&self, lock: &Arc<MetadataLock>) -> bool {
        Arc::ptr_eq(&self.0, lock)
    }
}

impl Drop for SharedGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.shared -= 1;
        if state.shared == 0 {
            self.0.changed.notify_all();
        }
    }
}

impl Drop for ExclusiveGuard {
    fn drop(&mut self) {
        self.0.state.lock().exclusive = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddl_waits_for_users_and_keeps_new_ones_out() {
        let lock = Arc::<MetadataLock>::default();
        let (calm, soon) = (Interrupt::new(), Duration::from_millis(20));
        let user = lock.shared(&calm, soon).unwrap();
        assert_eq!(lock.exclusive(&calm, soon).unwrap_err().number, 1205);
        let second = lock.shared(&calm, soon).unwrap();
        drop((user, second));
        let ddl = lock.exclusive(&calm, soon).unwrap();
        assert_eq!(lock.shared(&calm, soon).unwrap_err().number, 1205);
        let waiter = std::thread::spawn({
            let lock = lock.clone();
            move || lock.shared(&Interrupt::new(), Duration::from_secs(60)).map(drop)
        });
        drop(ddl);
        waiter.join().unwrap().unwrap();
    }
}
