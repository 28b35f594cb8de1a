//! How soon after one batch a follower is sent the next.
//!
//! Each look at the log costs the machine some microseconds, for each follower and each group of commits: two threads are woken,
//! the server's and the follower's, to pass on a few hundred bytes. Where groups follow each other fast, followers that take them
//! one by one take a noticeable part of the processors from those who commit. So the looks of all followers together are bounded:
//! the more there are, the more each of them gathers. After a rest a follower is sent what comes at once.

use binlog::log::{Following, Log};
use std::thread;
use std::time::Duration;

/// All followers together look this often, with even looks: 2,000 times a second.
const APART: Duration = Duration::from_micros(500);
/// But each of them after this time at the latest.
const APART_MAX: Duration = Duration::from_millis(5);

/// One follower's pace.
pub(super) struct Pace<'a> {
    log: &'a Log,
    following: Following<'a>,
    last: Duration,
}

impl<'a> Pace<'a> {
    pub(super) fn new(log: &'a Log) -> Self {
        Self { log, following: log.follow(), last: Duration::ZERO }
    }

    /// Waits until the next batch is due. To be called when there is something to send.
    pub(super) fn keep(&mut self) {
        let since = self.log.monotonic().saturating_sub(self.last);
        let rest = apart(self.following.count()).saturating_sub(since);
        if !rest.is_zero() {
            thread::sleep(rest);
        }
        self.last = self.log.monotonic();
    }
}

/// The time between two batches of one of so many followers.
fn apart(followers: usize) -> Duration {
    APART.saturating_mul(u32::try_from(followers).unwrap_or(u32::MAX)).min(APART_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_followers_the_more_each_gathers() {
        assert_eq!(apart(1), Duration::from_micros(500));
        assert_eq!(apart(4), Duration::from_millis(2));
        assert_eq!(apart(10), APART_MAX);
        assert_eq!(apart(usize::MAX), APART_MAX);
    }
}
