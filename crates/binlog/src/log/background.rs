//! The log's own threads: they flush what no commit waits for, write the index and the durable
//! mark, fill the pool, and lead when all sessions have deferred their replies.
//!
//! Four threads, so that making a file never delays a flush, a flush never delays the fallback
//! leader, and the durable mark never delays either. Without them
//! ([`super::LogOptions::background`] is false) [`super::Log::maintain`] does the work of all but
//! the leader when called, for tests that fix the schedule.

use super::Shared;
use super::mark::MARK_DELAY;
use super::pool::StopOrPause;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long written bytes may wait for a background flush to begin.
pub const FLUSH_DELAY: Duration = Duration::from_millis(2);
/// How long until failed work (mostly for a full disk) is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// While commits come in, the pool pauses for this many times what its last piece of zeros took, so
/// that it uses a tenth of the disk's time.
const PAUSE_FACTOR: u32 = 9;
/// But never longer, which a shutdown might have to wait for.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// Wakes the threads; the leader is woken as sessions are.
#[derive(Default)]
pub(super) struct Background {
    flush: WakeFlag,
    files: WakeFlag,
    mark: WakeFlag,
    stop: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A flag to wait for. The flag is set before the latch is taken, so setting a flag that is set
/// costs one swap.
#[derive(Default)]
struct WakeFlag {
    is_set: AtomicBool,
    latch: Mutex<()>,
    condvar: Condvar,
}

impl WakeFlag {
    fn set(&self) {
        if !self.is_set.swap(true, SeqCst) {
            drop(self.latch.lock());
            self.condvar.notify_all();
        }
    }

    /// Waits until it is set, for `timeout` at the most if there is one, and clears it.
    fn wait(&self, timeout: Option<Duration>) {
        let mut latch = self.latch.lock();
        if !self.is_set.load(SeqCst) {
            match timeout {
                Some(timeout) => drop(self.condvar.wait_for(&mut latch, timeout)),
                None => self.condvar.wait(&mut latch),
            }
        }
        // A swap, not a store: it must see what was stored before the flag was set last.
        self.is_set.swap(false, SeqCst);
    }
}

impl Background {
    pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
        let spawn = |name: &str, work: fn(&Shared)| {
            let shared = shared.clone();
            thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared))
        };
        let mut threads = shared.background.threads.lock();
        threads.push(spawn("log-flush", flush_loop)?);
        threads.push(spawn("log-files", files_loop)?);
        threads.push(spawn("log-mark", mark_loop)?);
        // The waiter is there before its thread runs: sessions defer their replies from the first
        // commit on, and the thread asks for its role when it begins.
        shared.queue.fallback_leader();
        threads.push(spawn("log-leader", leader_loop)?);
        Ok(())
    }

    /// Something was written that no commit flushes.
    pub(super) fn flush_soon(&self) {
        self.flush.set();
    }

    /// The index or the pool is out of date.
    pub(super) fn files_soon(&self) {
        self.files.set();
    }

    /// More of the log is durable than the mark says.
    pub(super) fn mark_soon(&self) {
        self.mark.set();
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.flush.set();
        self.files.set();
        self.mark.set();
        let own = thread::current().id();
        for thread in self.threads.lock().drain(..) {
            thread.thread().unpark();
            // One of them may let go of the log last, with a commit's hook: it ends by itself.
            if thread.thread().id() != own {
                // A panic in it was printed when it happened.
                let _ = thread.join();
            }
        }
    }

    fn stops(&self) -> bool {
        self.stop.load(SeqCst)
    }
}

fn flush_loop(shared: &Shared) {
    loop {
        shared.background.flush.wait(None);
        if shared.background.stops() {
            return;
        }
        thread::sleep(FLUSH_DELAY);
        shared.flush_in_background();
    }
}

/// Notes down up to where the log is flushed (`mark.rs`).
fn mark_loop(shared: &Shared) {
    loop {
        shared.background.mark.wait(shared.mark.flush_due());
        if shared.background.stops() {
            return;
        }
        // Parked, not asleep: a stop unparks it.
        thread::park_timeout(MARK_DELAY);
        shared.write_mark();
    }
}

/// The fallback leader of `queue.rs`.
fn leader_loop(shared: &Shared) {
    let waiter = shared.queue.fallback_leader();
    while !shared.background.stops() {
        shared.perform(shared.next_role(&waiter));
    }
}

fn files_loop(shared: &Shared) {
    let mut retry = None;
    loop {
        shared.background.files.wait(retry);
        if shared.background.stops() {
            return;
        }
        let seen = Cell::new(shared.status.groups.get());
        let stop_or_pause = |took: Duration| {
            let groups = shared.status.groups.get();
            if seen.replace(groups) != groups {
                thread::sleep((took * PAUSE_FACTOR).min(PAUSE_MAX));
            }
            shared.background.stops()
        };
        retry = match shared.maintain_files(&stop_or_pause) {
            Ok(()) => None,
            Err(error) => {
                if retry.is_none() {
                    tracing::warn!(%error, "the binary log's files could not be prepared; trying again");
                }
                Some(RETRY_DELAY)
            }
        };
    }
}

impl Shared {
    /// Flushes what is written; a failure latches the log, which logs it.
    pub(super) fn flush_in_background(&self) {
        let wanted = self.written.lock().end;
        if wanted > self.progress.durable.get() && self.flush_to(wanted).is_ok() {
            self.status.background_flushes.add(1);
        }
    }

    pub(super) fn write_mark(&self) {
        self.mark.write(self.progress.durable.get());
    }

    /// Brings the index and the pool up to date.
    pub(super) fn maintain_files(&self, stop: StopOrPause<'_>) -> Result<(), super::LogError> {
        self.files.update_index()?;
        self.maker
            .pool
            .fill(&self.status, stop)
            .map_err(|e| super::LogError::io("making a binary log file ahead", e))
    }
}
