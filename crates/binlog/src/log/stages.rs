//! How long each step of a group took: histograms, and a line in the log for a slow one.
//!
//! The clock is read once for each step of a group; nothing is measured for each transaction.
//!
//! | step | from | to |
//! | --- | --- | --- |
//! | queue wait | the session becomes the next leader | its flush may begin |
//! | write | then | the order is fixed, and its bytes are with the operating system |
//! | flush | then | they are on disk; no time where the settings don't wait |
//! | publish | then | it is visible |
//! | reply | then | every member's session is woken, or its completion callback has run |

use super::queue::QueueWait;
use super::status::LogStatus;
use crate::position::LogPosition;
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// At most one line about slow commits in this time.
const SLOW_PAUSE: Duration = Duration::from_secs(5);

/// The steps of a group, in their order.
const STEPS: [(&str, &str); 5] = [
    ("queue wait", "waiting for the flush before it"),
    ("write", "fixing the order and writing the log file"),
    ("flush", "flushing the log file to disk"),
    ("publish", "making it visible"),
    ("reply", "sending its replies"),
];

/// A group's times as its leader takes them, on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages {
    times: [Duration; STEPS.len() + 1],
    /// How many of `times` are taken.
    taken: usize,
}

impl Stages {
    /// A group whose flush may begin.
    pub(super) fn begin(queue_wait: QueueWait) -> Self {
        let mut stages = Self { times: [queue_wait.from; STEPS.len() + 1], taken: 1 };
        stages.end_step(queue_wait.to);
        stages
    }

    /// The next step has ended.
    pub(super) fn end_step(&mut self, now: Duration) {
        if let Some(time) = self.times.get_mut(self.taken) {
            *time = now;
            self.taken += 1;
        }
    }

    fn steps(&self) -> [Duration; STEPS.len()] {
        std::array::from_fn(|i| self.times[i + 1].saturating_sub(self.times[i]))
    }

    fn whole(&self) -> Duration {
        self.times[STEPS.len()].saturating_sub(self.times[0])
    }

    /// Counts a group that went through all steps. Flushes count themselves.
    pub(super) fn record(&self, status: &LogStatus) {
        let [queue_wait, write, _, publish, reply] = self.steps().map(micros);
        status.queue_wait_us.record(queue_wait);
        status.write_us.record(write);
        status.publish_us.record(publish);
        status.reply_us.record(reply);
        status.commit_us.record(micros(self.whole()));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The times in words, the slowest step first.
impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps();
        let slowest = (0..STEPS.len()).max_by_key(|&i| steps[i]).unwrap_or(0);
        let (_, words) = STEPS[slowest];
        write!(f, "took {}, most of it {words} (", Millis(self.whole()))?;
        for (i, ((name, _), time)) in STEPS.iter().zip(steps).enumerate() {
            write!(f, "{}{name} {}", if i > 0 { ", " } else { "" }, Millis(time))?;
        }
        f.write_str(")")
    }
}

struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1e3)
    }
}

/// Which commits are slow, and when one was last logged.
#[derive(Default)]
pub(super) struct SlowCommits {
    /// In microseconds; 0 is never. A plain setting, ordering nothing.
    from: AtomicU64,
    throttle: Mutex<LogThrottle>,
}

#[derive(Default)]
struct LogThrottle {
    /// When a slow group was last logged.
    last: Option<Duration>,
    /// Slow groups since then, which were not logged.
    suppressed: u64,
}

impl SlowCommits {
    pub(super) fn new(from: Duration) -> Self {
        let slow = Self::default();
        slow.set_from(from);
        slow
    }

    /// From how long on a commit is slow; zero is never.
    pub(super) fn set_from(&self, time: Duration) {
        self.from.store(micros(time), Relaxed);
    }

    /// Logs a slow group, unless one was logged within [`SLOW_PAUSE`].
    pub(super) fn log_if_slow(&self, stages: &Stages, members: usize, end: LogPosition, status: &LogStatus) {
        let from = self.from.load(Relaxed);
        if from == 0 || micros(stages.whole()) < from {
            return;
        }
        status.slow_groups.add(1);
        if let Some(suppressed) = self.throttle.lock().due(stages.times[STEPS.len()]) {
            let others =
                if suppressed > 0 { format!("; {suppressed} more were slow before") } else { String::new() };
            tracing::warn!("slow commit: a group of {members} ending at {end} {stages}{others}");
        }
    }
}

impl LogThrottle {
    /// How many were suppressed, if it is time for a line again.
    fn due(&mut self, now: Duration) -> Option<u64> {
        if self.last.is_some_and(|last| now.saturating_sub(last) < SLOW_PAUSE) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::histogram::Histogram;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Queued at 10 ms; 1 of waiting, 6 of writing, 1200 of flushing, 0 of publishing, 3 of waking.
    fn stages() -> Stages {
        let mut stages = Stages::begin(QueueWait { from: ms(10), to: ms(11) });
        [17, 1217, 1217, 1220].map(ms).into_iter().for_each(|now| stages.end_step(now));
        stages
    }

    #[test]
    fn the_slow_step_is_named() {
        assert_eq!(
            stages().to_string(),
            "took 1210.0 ms, most of it flushing the log file to disk (queue wait 1.0 ms, write 6.0 ms, flush 1200.0 ms, \
             publish 0.0 ms, reply 3.0 ms)"
        );
    }

    #[test]
    fn each_step_is_counted() {
        let status = LogStatus::default();
        stages().record(&status);
        let sums = [&status.queue_wait_us, &status.write_us, &status.publish_us, &status.reply_us];
        assert_eq!(sums.map(Histogram::sum), [1000, 6000, 0, 3000]);
        assert_eq!((status.commit_us.sum(), status.flush_us.count()), (1_210_000, 0));
    }

    #[test]
    fn slow_groups_are_counted_all_and_logged_seldom() {
        let (status, slow) = (LogStatus::default(), SlowCommits::default());
        let log_if_slow = || slow.log_if_slow(&stages(), 3, LogPosition::ZERO, &status);
        log_if_slow();
        assert_eq!(status.slow_groups.get(), 0, "never, unless set");
        slow.set_from(ms(1211));
        log_if_slow();
        assert_eq!(status.slow_groups.get(), 0);
        slow.set_from(ms(1210));
        (0..3).for_each(|_| log_if_slow());
        assert_eq!(status.slow_groups.get(), 3);
        let mut throttle = slow.throttle.lock();
        assert_eq!(throttle.suppressed, 2);
        assert_eq!(throttle.due(ms(1220) + SLOW_PAUSE), Some(2));
        assert_eq!(throttle.due(ms(1221) + SLOW_PAUSE), None);
    }
}
