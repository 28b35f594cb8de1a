//! `max_execution_time`: statements that are interrupted when their time is over.
//!
//! One thread for all sessions, started with the first limit, sleeps until the next deadline and
//! interrupts the statement as KILL QUERY would, wherever it is: in a scan, a sort, a wait for a
//! lock. A statement that ends in time takes its deadline off the list first, so none is
//! interrupted for its predecessor's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use env::Env;
use parking_lot::{Condvar, Mutex};
use storage::Interrupt;
use storage::lock::Killed;

/// The deadlines of all sessions.
#[derive(Default)]
pub(crate) struct Deadlines {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    /// By time and a number that makes them different.
    waiting: BTreeMap<(Duration, u64), (Arc<Interrupt>, Arc<AtomicBool>)>,
    last_number: u64,
    has_thread: bool,
}

/// A running statement's deadline, taken off the list when dropped.
pub(crate) struct Deadline {
    shared: Arc<Shared>,
    key: (Duration, u64),
    passed: Arc<AtomicBool>,
}

impl Deadlines {
    /// Interrupts after `limit`, unless what is returned was dropped before. Without a thread,
    /// which the system may refuse, there is no limit.
    pub(crate) fn set(&self, env: &Arc<dyn Env>, interrupt: &Arc<Interrupt>, limit: Duration) -> Deadline {
        let passed = Arc::<AtomicBool>::default();
        let mut list = self.shared.list.lock();
        list.last_number += 1;
        let key = (env.monotonic() + limit, list.last_number);
        list.waiting.insert(key, (interrupt.clone(), passed.clone()));
        if !list.has_thread {
            let (shared, env) = (Arc::downgrade(&self.shared), env.clone());
            let thread = std::thread::Builder::new().name("deadlines".into());
            list.has_thread = thread.spawn(move || watch(&shared, &*env)).is_ok();
        }
        if list.waiting.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.shared.changed.notify_one();
        }
        drop(list);
        Deadline { shared: self.shared.clone(), key, passed }
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.shared.changed.notify_one();
    }
}

impl Deadline {
    /// True if the time was over before the statement was.
    pub(crate) fn has_passed(&self) -> bool {
        self.passed.load(Relaxed)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.shared.list.lock().waiting.remove(&self.key);
    }
}

/// Interrupts what is overdue; ends with the last owner of the list.
fn watch(shared: &std::sync::Weak<Shared>, env: &dyn Env) {
    const LONGEST: Duration = Duration::from_secs(1);
    while let Some(shared) = shared.upgrade() {
        let mut list = shared.list.lock();
        let now = env.monotonic();
        while let Some(entry) = list.waiting.first_entry().filter(|e| e.key().0 <= now) {
            let (interrupt, passed) = entry.remove();
            passed.store(true, Relaxed);
            interrupt.kill(Killed::Query);
        }
        let next = list.waiting.first_key_value().map_or(LONGEST, |((at, _), _)| *at - now);
        shared.changed.wait_for(&mut list, next.min(LONGEST));
    }
}
