//! Locks by name, server-wide: what GET_LOCK takes. A session may hold several, and one several
//! times.
//!
//! (N1) A name is in the table as long as somebody holds it.
//! (N2) A session that would close a cycle of waits gets error 3058 at once, and waits for
//!      nothing.
//! (N3) A session's locks go when it ends or is reset.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use storage::Interrupt;

use datum::error::{self, Result};

/// A waiter checks for KILL so often; a released lock wakes it at once.
const KILL_SEEN_AFTER: Duration = Duration::from_millis(50);

/// The server's named locks.
#[derive(Debug, Default)]
pub(crate) struct NamedLocks {
    state: Mutex<NamedLockTable>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct NamedLockTable {
    held: HashMap<String, HeldLock>,
    /// What each waiting session waits for.
    waiting: HashMap<u64, String>,
}

#[derive(Debug)]
struct HeldLock {
    owner: u64,
    count: u32,
}

impl NamedLockTable {
    /// Takes the lock if it is free or the session's own.
    fn take(&mut self, name: &str, session: u64) -> bool {
        match self.held.get_mut(name) {
            None => {
                self.held.insert(name.to_owned(), HeldLock { owner: session, count: 1 });
                true
            }
            Some(held) if held.owner == session => {
                held.count += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// True if the holder of `name` waits, through others, for `session`.
    fn closes_cycle(&self, name: &str, session: u64) -> bool {
        let mut name = name;
        // Each session waits for one lock at most, and no cycle was let in before: the walk ends.
        loop {
            let Some(held) = self.held.get(name) else { return false };
            if held.owner == session {
                return true;
            }
            match self.waiting.get(&held.owner) {
                Some(next) => name = next,
                None => return false,
            }
        }
    }
}

impl NamedLocks {
    /// Takes a lock, waiting for `limit` at most (for ever if `None`); false if the time is over.
    /// Error 3058 for a deadlock, 1317 if the statement was killed.
    pub(crate) fn acquire(
        &self,
        name: &str,
        session: u64,
        limit: Option<Duration>,
        interrupt: &Interrupt,
    ) -> Result<bool> {
        let mut state = self.state.lock();
        let mut left = limit;
        loop {
            if state.take(name, session) {
                return Ok(true);
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            if state.closes_cycle(name, session) {
                return Err(error::USER_LOCK_DEADLOCK.plain());
            }
            let pause = left.map_or(KILL_SEEN_AFTER, |left| left.min(KILL_SEEN_AFTER));
            state.waiting.insert(session, name.to_owned());
            let timed_out = self.released.wait_for(&mut state, pause).timed_out();
            state.waiting.remove(&session);
            if timed_out {
                left = left.map(|left| left.saturating_sub(pause));
            }
            if interrupt.killed().is_some() {
                return Err(error::QUERY_INTERRUPTED.plain());
            }
        }
    }

    /// Gives back one hold of a lock: true if it was the session's, false if another's, `None` if
    /// nobody's.
    pub(crate) fn release(&self, name: &str, session: u64) -> Option<bool> {
        let mut state = self.state.lock();
        let held = state.held.get_mut(name)?;
        if held.owner != session {
            return Some(false);
        }
        held.count -= 1;
        if held.count == 0 {
            state.held.remove(name);
            self.released.notify_all();
        }
        Some(true)
    }

    /// Gives back all of a session's locks; how many holds there were.
    pub(crate) fn release_all(&self, session: u64) -> u64 {
        let mut released = 0;
        self.state.lock().held.retain(|_, held| {
            let own = held.owner == session;
            released += if own { u64::from(held.count) } else { 0 };
            !own
        });
        if released > 0 {
            self.released.notify_all();
        }
        released
    }

    /// The session that holds a lock.
    pub(crate) fn owner(&self, name: &str) -> Option<u64> {
        self.state.lock().held.get(name).map(|held| held.owner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    #[test]
    fn locks_are_held_as_often_as_taken() {
        let (locks, interrupt) = (NamedLocks::default(), Interrupt::new());
        assert_eq!(locks.release("a", 1), None);
        assert_eq!(locks.acquire("a", 1, NOW, &interrupt), Ok(true));
        assert_eq!(locks.acquire("a", 1, NOW, &interrupt), Ok(true));
        assert_eq!(locks.acquire("a", 2, NOW, &interrupt), Ok(false));
        assert_eq!(locks.release("a", 2), Some(false));
        assert_eq!((locks.release("a", 1), locks.owner("a")), (Some(true), Some(1)));
        assert_eq!((locks.release("a", 1), locks.owner("a")), (Some(true), None));
        assert_eq!(locks.acquire("b", 2, NOW, &interrupt), Ok(true));
        assert_eq!(locks.acquire("c", 2, NOW, &interrupt), Ok(true));
        assert_eq!((locks.release_all(2), locks.release_all(2)), (2, 0));
    }

    #[test]
    fn a_cycle_is_refused_and_a_release_wakes() {
        let locks = Arc::new(NamedLocks::default());
        let interrupt = Interrupt::new();
        locks.acquire("a", 1, NOW, &interrupt).unwrap();
        locks.acquire("b", 2, NOW, &interrupt).unwrap();
        let waiter = locks.clone();
        let other = std::thread::spawn(move || waiter.acquire("a", 2, None, &Interrupt::new()));
        while !locks.state.lock().waiting.contains_key(&2) {
            std::thread::yield_now();
        }
        assert_eq!(locks.acquire("b", 1, None, &interrupt).unwrap_err().number, 3058);
        locks.release("a", 1);
        assert_eq!(other.join().unwrap(), Ok(true));
    }

    #[test]
    fn a_killed_statement_stops_waiting() {
        let (locks, interrupt) = (NamedLocks::default(), Interrupt::new());
        locks.acquire("a", 1, NOW, &interrupt).unwrap();
        interrupt.kill(storage::lock::Killed::Query);
        assert_eq!(locks.acquire("a", 2, None, &interrupt).unwrap_err().number, 1317);
    }
}
