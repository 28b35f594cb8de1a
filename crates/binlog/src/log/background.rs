//! What the log does beside the commits: flushes when they don't wait, writes the index, fills the
//! pool; and leads where no session is left that could.
//!
//! Four threads, so that making a file never delays a flush, a flush no leader, and the durable
//! mark nobody. Without them ([`super::LogOptions::background`] is false) [`super::Log::maintain`]
//! does the work of all but the leader when called, for tests that want to know what happens when.

use super::Shared;
use super::mark::MARK_DELAY;
use super::pool::StopOrRest;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long written bytes may wait for a background flush to begin.
pub const FLUSH_DELAY: Duration = Duration::from_millis(2);
/// When what failed (a full disk, mostly) is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// While commits come in, the pool rests for this many times what its last piece of zeros took, so
/// that it has a tenth of the disk's time.
const REST: u32 = 9;
/// But never longer, which a shutdown might have to wait for.
const REST_MAX: Duration = Duration::from_millis(200);

/// Wakes the threads; the leader is woken as sessions are.
#[derive(Default)]
pub(super) struct Background {
    flush: Bell,
    files: Bell,
    mark: Bell,
    stop: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A flag to wait for. The flag is set before the latch is taken, so ringing a rung bell costs one
/// swap.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    latch: Mutex<()>,
    condvar: Condvar,
}

impl Bell {
    fn ring(&self) {
        if !self.rung.swap(true, SeqCst) {
            drop(self.latch.lock());
            self.condvar.notify_all();
        }
    }

    /// Waits until it rings, for `timeout` at the most if there is one, and silences it.
    fn wait(&self, timeout: Option<Duration>) {
        let mut latch = self.latch.lock();
        if !self.rung.load(SeqCst) {
            match timeout {
                Some(timeout) => drop(self.condvar.wait_for(&mut latch, timeout)),
                None => self.condvar.wait(&mut latch),
            }
        }
        // A swap, not a store: it must see what the last ring of the bell stands for.
        self.rung.swap(false, SeqCst);
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
        threads.push(spawn("log-leader", leader_loop)?);
        Ok(())
    }

    /// Something was written that nobody flushes.
    pub(super) fn flush_soon(&self) {
        self.flush.ring();
    }

    /// The index or the pool is behind.
    pub(super) fn files_soon(&self) {
        self.files.ring();
    }

    /// More of the log is durable than the mark says.
    pub(super) fn mark_soon(&self) {
        self.mark.ring();
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.flush.ring();
        self.files.ring();
        self.mark.ring();
        for thread in self.threads.lock().drain(..) {
            thread.thread().unpark();
            // A panic in it was printed when it happened.
            let _ = thread.join();
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

/// The stand-in of `queue.rs`.
fn leader_loop(shared: &Shared) {
    let seat = shared.queue.stand_in();
    while !shared.background.stops() {
        shared.take_turn(shared.turn(&seat));
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
        let stop_or_rest = |took: Duration| {
            let groups = shared.status.groups.get();
            if seen.replace(groups) != groups {
                thread::sleep((took * REST).min(REST_MAX));
            }
            shared.background.stops()
        };
        retry = match shared.maintain_files(&stop_or_rest) {
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
    /// Flushes what is written; a failure latches the log, which tells about it.
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
    pub(super) fn maintain_files(&self, stop: StopOrRest<'_>) -> Result<(), super::LogError> {
        self.files.update_index()?;
        self.maker
            .pool
            .fill(&self.status, stop)
            .map_err(|e| super::LogError::io("making a binary log file ahead", e))
    }
}
