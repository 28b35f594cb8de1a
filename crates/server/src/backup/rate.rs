//! How fast tables are copied, at most: the disk's time is the server's first.

use env::Env;
use parking_lot::Mutex;
use std::time::Duration;

/// A rate that all threads share.
pub(super) struct Rate {
    /// Bytes in a second; `None` without a limit.
    limit: Option<u64>,
    /// On the clock of `Env::monotonic`: what was let through takes until then.
    busy_until: Mutex<Duration>,
}

impl Rate {
    /// `mib` in MiB a second.
    pub(super) fn new(mib: Option<u64>) -> Self {
        Self { limit: mib.map(|mib| mib.saturating_mul(1 << 20)), busy_until: Mutex::default() }
    }

    /// Waits until so many bytes may be copied.
    pub(super) fn wait(&self, env: &dyn Env, bytes: u64) {
        let pause = self.pause(env.monotonic(), bytes);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }

    fn pause(&self, now: Duration, bytes: u64) -> Duration {
        let Some(limit) = self.limit else { return Duration::ZERO };
        let mut busy_until = self.busy_until.lock();
        let begin = now.max(*busy_until);
        *busy_until = begin + Duration::from_secs_f64(bytes as f64 / limit as f64);
        begin - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_share_the_rate() {
        let rate = Rate::new(Some(2));
        let pause = |now: u64, mib: u64| rate.pause(Duration::from_millis(now), mib << 20).as_millis();
        assert_eq!(pause(1000, 1), 0);
        assert_eq!(pause(1000, 1), 500);
        assert_eq!(pause(1250, 1), 750);
        assert_eq!(pause(9000, 1), 0, "what was not used is not made up for");
        assert_eq!(pause(9000, 1), 500);
        assert_eq!(Rate::new(None).pause(Duration::ZERO, u64::MAX), Duration::ZERO);
        assert_eq!(Rate::new(Some(u64::MAX)).pause(Duration::ZERO, 1), Duration::ZERO);
    }
}
