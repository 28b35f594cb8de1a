//! The system's monotonic clock, precise or as of its last tick. The standard library has the one
//! only, and what it says can't be compared with the other; other crates ask for both in ways that
//! tools which count instructions do not bear.
#![allow(unsafe_code, reason = "one call with a pointer to what it fills")]

use std::sync::LazyLock;
use std::time::Duration;

/// The zero of both.
static START: LazyLock<Duration> = LazyLock::new(|| read(libc::CLOCK_MONOTONIC));

/// The time now.
pub(crate) fn precise() -> Duration {
    since_start(libc::CLOCK_MONOTONIC)
}

/// The time at the last tick.
pub(crate) fn coarse() -> Duration {
    since_start(libc::CLOCK_MONOTONIC_COARSE)
}

fn since_start(clock: libc::clockid_t) -> Duration {
    // The zero first, which is read once.
    let start = *START;
    read(clock).saturating_sub(start)
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills what it is given a pointer to, which outlives it.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(outcome, 0, "every system has both clocks");
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarse_clock_follows_the_precise_one() {
        for _ in 0..1000 {
            let (before, coarse, after) = (precise(), coarse(), precise());
            assert!(before <= after && coarse <= after);
            // A machine under load may stop between two readings, but not for as long as this.
            assert!(before.saturating_sub(coarse) < Duration::from_secs(1));
        }
    }
}
