//! The threads of connections: one for each, and some that wait for the next one
//! (`thread_cache_size`).
//!
//! Clients that connect for every call would otherwise pay for a thread's start each time.
//!
//! (H1) A connection that was accepted runs at once: on a waiting thread if there is one that no
//!      other connection is meant for, else on a new one.
//! (H2) Work does not unwind: the caller that submits it catches its panics.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How late a session's timers may go off, in nanoseconds.
const TIMER_SLACK_NS: u64 = 1000;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that serve connections.
#[derive(Default)]
pub struct Threads {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    created: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    /// Threads that wait, those included that `work` is meant for.
    idle: usize,
    work: VecDeque<Work>,
    is_closed: bool,
}

/// The system lets a thread's timers go off up to 50 µs late, to wake several at once. A session
/// that waits for its flush to begin waits for little longer than that.
fn wake_on_time() {
    // Without it, commits on a slow disk take a little longer.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(TIMER_SLACK_NS));
}

impl Threads {
    /// Runs `work` on a thread of its own, which has a stack of `stack` bytes if it is new, and
    /// afterwards waits for more unless `cache` threads do already.
    pub(crate) fn run(
        self: &Arc<Self>,
        stack: usize,
        cache: usize,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.idle > waiting.work.len() {
            waiting.work.push_back(Box::new(work));
            drop(waiting);
            self.arrived.notify_one();
            return Ok(());
        }
        drop(waiting);
        let threads = self.clone();
        let thread = std::thread::Builder::new().name("session".into()).stack_size(stack);
        thread.spawn(move || {
            stdx::stack::begin(stack);
            wake_on_time();
            work();
            while let Some(next) = threads.next(cache) {
                next();
            }
        })?;
        self.created.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Waits for the next work; `None` if this thread is one too many.
    fn next(&self, cache: usize) -> Option<Work> {
        let mut waiting = self.waiting.lock();
        if waiting.idle >= cache {
            return None;
        }
        waiting.idle += 1;
        while waiting.work.is_empty() && !waiting.is_closed {
            self.arrived.wait(&mut waiting);
        }
        waiting.idle -= 1;
        waiting.work.pop_front()
    }

    /// Lets waiting threads end, and those that finish their work later.
    pub(crate) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.arrived.notify_all();
    }

    /// Threads that wait.
    pub(crate) fn cached(&self) -> u64 {
        self.waiting.lock().idle as u64
    }

    /// Threads started so far.
    pub(crate) fn created(&self) -> u64 {
        self.created.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::mpsc;
    use std::thread::{ThreadId, current};
    use std::time::Duration;

    /// Runs something on a thread; says on which, once it has ended and the thread has gone to
    /// wait.
    fn run(threads: &Arc<Threads>, cache: usize) -> ThreadId {
        let before = threads.cached();
        let (sender, receiver) = mpsc::channel();
        threads.run(1 << 20, cache, move || sender.send(current().id()).unwrap()).unwrap();
        let id = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        while cache > 0 && threads.cached() < before.max(1) {
            std::thread::yield_now();
        }
        id
    }

    #[test]
    fn a_thread_serves_one_connection_after_the_other() {
        let threads = Arc::<Threads>::default();
        let first = run(&threads, 1);
        assert_eq!(run(&threads, 1), first);
        assert_eq!((threads.created(), threads.cached()), (1, 1));
    }

    #[test]
    fn work_never_waits_for_a_thread_that_is_meant_for_other_work() {
        let threads = Arc::<Threads>::default();
        run(&threads, 1);
        let (go, held) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..3 {
            let (held, sender) = (held.clone(), sender.clone());
            let work = move || {
                sender.send(()).unwrap();
                held.lock().recv().unwrap();
            };
            threads.run(1 << 20, 1, work).unwrap();
        }
        (0..3).for_each(|_| receiver.recv_timeout(Duration::from_secs(60)).unwrap());
        assert_eq!(threads.created(), 3);
        (0..3).for_each(|_| go.send(()).unwrap());
        threads.close();
    }

    #[test]
    fn a_closed_cache_keeps_nobody() {
        let threads = Arc::<Threads>::default();
        run(&threads, 4);
        threads.close();
        while threads.cached() > 0 {
            std::thread::yield_now();
        }
        run(&threads, 0);
        assert_eq!(threads.created(), 2);
    }
}
