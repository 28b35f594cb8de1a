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

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Shown as megabytes.
    Bytes,
    Rows,
}

impl Unit {
    fn shown(self, n: u64) -> u64 {
        match self {
            Self::Bytes => n / 1_000_000,
            Self::Rows => n,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "MB",
            Self::Rows => "rows",
        }
    }
}

pub(crate) struct Progress<'a> {
    env: &'a dyn Env,
    what: &'static str,
    unit: Unit,
    done: u64,
    total: u64,
    reported_at: Duration,
    is_terminal: bool,
    is_drawn: bool,
}

impl<'a> Progress<'a> {
    /// Of a step that reads or writes about `total` of them.
    pub(crate) fn new(env: &'a dyn Env, what: &'static str, unit: Unit, total: u64) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { env, what, unit, done: 0, total, reported_at: env.monotonic(), is_terminal, is_drawn: false }
    }

    pub(crate) fn add(&mut self, n: u64) {
        self.done = self.done.saturating_add(n);
        let pause = if self.is_terminal { BAR_PAUSE } else { LINE_PAUSE };
        let now = self.env.monotonic();
        if now.saturating_sub(self.reported_at) < pause {
            return;
        }
        self.reported_at = now;
        let done = self.done.min(self.total);
        let (shown, of, unit) = (self.unit.shown(done), self.unit.shown(self.total), self.unit.name());
        if self.is_terminal {
            let filled = filled(done, self.total);
            let bar = "#".repeat(filled as usize) + &"-".repeat((WIDTH - filled) as usize);
            eprint!("\r{} [{bar}] {shown} of {of} {unit}", self.what);
            // Only a picture.
            let _ = std::io::stderr().flush();
            self.is_drawn = true;
        } else {
            eprintln!("duramen: {}: {shown} of {of} {unit}", self.what);
        }
    }
}

/// How many of the bar's places are full. A source says how many there are: it may be any number.
fn filled(done: u64, total: u64) -> u64 {
    let filled = u128::from(done) * u128::from(WIDTH);
    filled.checked_div(total.into()).map_or(WIDTH, |filled| filled.min(WIDTH.into()) as u64)
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.is_drawn {
            eprintln!();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_takes_any_numbers() {
        assert_eq!([filled(0, 4), filled(2, 4), filled(4, 4), filled(0, 0)], [0, WIDTH / 2, WIDTH, WIDTH]);
        assert_eq!(filled(u64::MAX, u64::MAX), WIDTH);
        let env = env::SimEnv::new(1);
        let mut progress = Progress::new(&env, "copying", Unit::Rows, u64::MAX);
        progress.add(u64::MAX);
        progress.add(1);
        assert_eq!(progress.done, u64::MAX);
    }
}
