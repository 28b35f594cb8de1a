//! How soon after one batch a follower is sent the next.
//!
//! Each read of the log's end costs the machine some tens of microseconds, for each follower and
//! each commit group: two threads are woken, the server's and the follower's, to pass on a few
//! hundred bytes. Where groups follow each other fast, followers that take them one by one take a
//! noticeable part of the CPUs from the sessions that commit. So after each batch a follower's
//! stream sleeps, the longer the more of them there are, and collects what comes meanwhile. It
//! sleeps without waiting for the log, so that no committing session has to wake it, and all of
//! them sleep until the same moment: the first read brings the new bytes into the CPU's cache for
//! all. If nothing came during that time the follower is sent what comes next at once.

use binlog::log::{Following, Log};
use std::thread;
use std::time::Duration;

/// All followers together read the log's end at this interval, evenly: 2,000 times a second.
const APART: Duration = Duration::from_micros(500);
/// But each of them after this time at the latest.
const APART_MAX: Duration = Duration::from_millis(5);

/// One follower's pace.
pub(super) struct Pace<'a> {
    log: &'a Log,
    following: Following<'a>,
}

impl<'a> Pace<'a> {
    pub(super) fn new(log: &'a Log) -> Self {
        Self { log, following: log.follow() }
    }

    /// Waits until the next batch is due. To be called after a batch.
    pub(super) fn wait_until_due(&self) {
        thread::sleep(until_due(self.log.monotonic(), apart(self.following.count())));
    }
}

/// The time between two batches of one of so many followers.
fn apart(followers: usize) -> Duration {
    APART.saturating_mul(u32::try_from(followers).unwrap_or(u32::MAX)).clamp(APART, APART_MAX)
}

/// The time until the clock is at a multiple of `apart`, which is not zero.
fn until_due(now: Duration, apart: Duration) -> Duration {
    let past = now.as_nanos() % apart.as_nanos();
    apart.saturating_sub(Duration::from_nanos(past as u64))
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

    #[test]
    fn followers_read_at_the_same_moments() {
        let due = |now: u64| {
            let now = Duration::from_micros(now);
            now + until_due(now, APART_MAX)
        };
        for now in [10_000, 10_001, 12_345, 14_999] {
            assert_eq!(due(now), Duration::from_millis(15));
        }
        assert_eq!(due(15_000), Duration::from_millis(20));
    }
}
