//! The clients whose commits are measured.
//!
//! Each inserts one row at a time, autocommitted, at the moments that are its turn; at first,
//! without a rate, at once again.

use crate::connect;
use crate::pauses::{self, Pause, Threads};
use crate::times::Times;
use mysql::prelude::Queryable;
use servers::Result;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A client that is further behind than this gives up what it should have sent: it would send it in
/// one rush.
const LATE_MAX: Duration = Duration::from_secs(30);

/// The clients, at work.
pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<()>>>,
    watcher: JoinHandle<()>,
}

struct Shared {
    stop: AtomicBool,
    commits: AtomicU64,
    /// Nanoseconds between two commits of one client; 0 without a rate.
    pause: AtomicU64,
    /// Commits under way.
    sent: AtomicUsize,
    begun: Instant,
    /// Of the last answer, or of the first commit sent after it while no other was under way;
    /// nanoseconds since `begun`.
    waiting_since: AtomicU64,
    window: Mutex<Window>,
}

/// What was measured in one window.
pub struct Window {
    begun: Instant,
    pub times: Times,
    pub pauses: Vec<Pause>,
}

impl Writers {
    /// Starts as many, and a watcher for pauses of `pause_min` and more of the server with these
    /// threads.
    pub fn start(socket: &Path, count: usize, pause_min: Duration, server: Threads) -> Result<Self> {
        let shared = Arc::new(Shared::new());
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut conn = connect(socket)?;
            conn.query_drop("USE stalls")?;
            let shared = shared.clone();
            threads.push(thread::spawn(move || {
                let done = shared.write(&mut conn);
                shared.stop.store(true, SeqCst);
                done
            }));
        }
        let watched = shared.clone();
        let watcher = thread::spawn(move || watched.watch(server, pause_min));
        Ok(Self { shared, threads, watcher })
    }

    /// Commits so far.
    pub fn count(&self) -> u64 {
        self.shared.commits.load(SeqCst)
    }

    /// From now on all together commit so many times a second, if the server lets them.
    pub fn set_rate(&self, per_second: f64) {
        let pause = self.threads.len() as f64 / per_second.max(1.0);
        self.shared.pause.store((pause * 1e9) as u64, SeqCst);
    }

    /// Forgets what was measured.
    pub fn begin_window(&self) {
        drop(self.end_window());
    }

    /// What was measured since the window began.
    pub fn end_window(&self) -> Window {
        let window = self.shared.window.lock();
        std::mem::replace(&mut *window.unwrap_or_else(|poisoned| poisoned.into_inner()), Window::begin())
    }

    /// Ends them; an error is that of a client which could not go on.
    pub fn stop(self) -> Result<()> {
        self.shared.stop.store(true, SeqCst);
        for thread in self.threads {
            thread.join().map_err(|_| "a writer panicked")??;
        }
        self.watcher.join().map_err(|_| "the watcher panicked".into())
    }
}

impl Window {
    fn begin() -> Self {
        Self { begun: Instant::now(), times: Times::default(), pauses: Vec::new() }
    }
}

impl Shared {
    fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            pause: AtomicU64::new(0),
            sent: AtomicUsize::new(0),
            begun: Instant::now(),
            waiting_since: AtomicU64::new(0),
            window: Mutex::new(Window::begin()),
        }
    }

    fn wait_from(&self, now: Instant) {
        self.waiting_since.store((now - self.begun).as_nanos() as u64, SeqCst);
    }

    fn watch(&self, server: Threads, pause_min: Duration) {
        let waiting = || {
            let since = self.begun + Duration::from_nanos(self.waiting_since.load(SeqCst));
            (self.sent.load(SeqCst) > 0).then(|| (since, since.elapsed()))
        };
        pauses::watch(
            server,
            pause_min,
            || self.stop.load(SeqCst),
            waiting,
            |began, pause| {
                if let Ok(mut window) = self.window.lock() {
                    let pause = pause.since(began, window.begun);
                    window.pauses.push(pause);
                }
            },
        );
    }

    fn write(&self, conn: &mut mysql::Conn) -> Result<()> {
        let insert = conn.prep("INSERT INTO small (c) VALUES ('sadasda sadasda')")?;
        let mut due = Instant::now();
        while !self.stop.load(SeqCst) {
            let pause = Duration::from_nanos(self.pause.load(SeqCst));
            let now = Instant::now();
            due += pause;
            if pause.is_zero() || now > due + LATE_MAX {
                due = now;
            }
            thread::sleep(due.saturating_duration_since(now));
            let sent = Instant::now();
            if self.sent.fetch_add(1, SeqCst) == 0 {
                self.wait_from(sent);
            }
            conn.exec_drop(&insert, ())?;
            let done = Instant::now();
            self.sent.fetch_sub(1, SeqCst);
            self.wait_from(done);
            self.commits.fetch_add(1, SeqCst);
            let mut window = self.window.lock().map_err(|_| "a writer panicked")?;
            window.times.add(done - sent, done - due.min(sent));
        }
        Ok(())
    }
}
