//! Progress on standard error: a bar on a terminal, a line every few seconds elsewhere.

use env::Env;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How often a line is written where no terminal is.
const LINE_PAUSE: Duration = Duration::from_secs(5);
/// How often the bar is drawn.
const BAR_PAUSE: Duration = Duration::from_millis(100);
/// Characters of the bar.
const WIDTH: u64 = 40;

pub(super) struct Progress<'a> {
    env: &'a dyn Env,
    what: &'static str,
    done: u64,
    total: u64,
    reported_at: Duration,
    is_terminal: bool,
    is_drawn: bool,
}

impl<'a> Progress<'a> {
    /// Of a step that reads or writes about `total` bytes.
    pub(super) fn new(env: &'a dyn Env, what: &'static str, total: u64) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { env, what, done: 0, total, reported_at: env.monotonic(), is_terminal, is_drawn: false }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        let pause = if self.is_terminal { BAR_PAUSE } else { LINE_PAUSE };
        let now = self.env.monotonic();
        if now.saturating_sub(self.reported_at) < pause {
            return;
        }
        self.reported_at = now;
        let done = self.done.min(self.total);
        let (mb, of) = (done / 1_000_000, self.total / 1_000_000);
        if self.is_terminal {
            let filled = (done * WIDTH).checked_div(self.total).unwrap_or(WIDTH);
            let bar = "#".repeat(filled as usize) + &"-".repeat((WIDTH - filled) as usize);
            eprint!("\r{} [{bar}] {mb} of {of} MB", self.what);
            // Only a picture.
            let _ = std::io::stderr().flush();
            self.is_drawn = true;
        } else {
            eprintln!("duramen: {}: {mb} of {of} MB", self.what);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.is_drawn {
            eprintln!();
        }
    }
}
