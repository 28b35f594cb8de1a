//! The clients whose commits are measured.
//!
//! Each inserts one row at a time, autocommitted, at the moments that are its turn; at first, without a rate, at once again.

use crate::connect;
use crate::times::Times;
use mysql::prelude::Queryable;
use servers::Result;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A client that is further behind than this gives up what it should have sent: it would send it in one rush.
const BEHIND_MAX: Duration = Duration::from_secs(30);

/// The clients, at work.
pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    commits: AtomicU64,
    /// Nanoseconds between two commits of one client; 0 without a rate.
    pause: AtomicU64,
    window: Mutex<Times>,
}

impl Writers {
    /// Starts as many.
    pub fn start(socket: &Path, count: usize) -> Result<Self> {
        let shared = Arc::new(Shared::default());
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
        Ok(Self { shared, threads })
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
    pub fn end_window(&self) -> Times {
        let window = self.shared.window.lock();
        std::mem::take(&mut *window.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Ends them; an error is that of a client which could not go on.
    pub fn stop(self) -> Result<()> {
        self.shared.stop.store(true, SeqCst);
        for thread in self.threads {
            thread.join().map_err(|_| "a writer panicked")??;
        }
        Ok(())
    }
}

impl Shared {
    fn write(&self, conn: &mut mysql::Conn) -> Result<()> {
        let insert = conn.prep("INSERT INTO small (c) VALUES ('sadasda sadasda')")?;
        let mut due = Instant::now();
        while !self.stop.load(SeqCst) {
            let pause = Duration::from_nanos(self.pause.load(SeqCst));
            let now = Instant::now();
            due += pause;
            if pause.is_zero() || now > due + BEHIND_MAX {
                due = now;
            }
            thread::sleep(due.saturating_duration_since(now));
            let sent = Instant::now();
            conn.exec_drop(&insert, ())?;
            let done = Instant::now();
            self.commits.fetch_add(1, SeqCst);
            let mut window = self.window.lock().map_err(|_| "a writer panicked")?;
            window.add(done - sent, done - due.min(sent));
        }
        Ok(())
    }
}
