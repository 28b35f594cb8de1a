//! AUTO_INCREMENT: which number comes next. There is no auto-increment lock.
//!
//! A counter is one atomic number: the smallest value not given out yet. A statement reserves what
//! it needs at once, so concurrent inserts of single rows get consecutive numbers and each
//! statement's are its own. Numbers are not given back: a failed insert leaves a gap.
//!
//! After a restart the counter starts after everything that was ever *used*: checkpoints carry all
//! counters in their notes, and replay raises them by the rows it sees.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The smallest value not given out yet, 0 standing for "none left".
#[derive(Debug)]
pub struct Counter(AtomicU64);

/// `auto_increment_increment` and `auto_increment_offset`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series {
    /// The distance of two values.
    pub increment: u64,
    /// The first value.
    pub offset: u64,
}

impl Series {
    /// The smallest value of the series that is not below `from`.
    pub(crate) fn at_least(self, from: u64) -> Option<u64> {
        if self.increment <= 1 {
            return Some(from);
        }
        // MySQL ignores an offset that is larger than the increment.
        let offset = if self.offset > self.increment { 0 } else { self.offset };
        match from.checked_sub(offset) {
            None => Some(offset),
            Some(beyond) => beyond.div_ceil(self.increment).checked_mul(self.increment)?.checked_add(offset),
        }
    }
}

impl Counter {
    /// A counter that starts at `next`.
    pub fn new(next: u64) -> Self {
        Self(AtomicU64::new(next.max(1)))
    }

    /// The smallest value not given out yet.
    pub fn next(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Another counter that goes on at the same value.
    pub(crate) fn copy(&self) -> Self {
        Self(AtomicU64::new(self.next()))
    }

    /// True if values from `value` on were given out.
    pub(crate) fn has_passed(&self, value: u64) -> bool {
        let next = self.next();
        next == 0 || next > value
    }

    /// Reserves `count` values of a series, none above `max`; returns the first one. `None` if they
    /// don't fit.
    pub(crate) fn reserve(&self, count: u64, series: Series, max: u64) -> Option<u64> {
        // Relaxed: the value orders nothing; each is handed to one statement by the exchange
        // itself.
        let mut current = self.0.load(Relaxed);
        loop {
            let first = series.at_least(current)?;
            let last = count.saturating_sub(1).checked_mul(series.increment)?.checked_add(first)?;
            if current == 0 || first > max {
                return None;
            }
            // The numbers run out in the middle of a statement: its later rows will be refused.
            let next = last.min(max).checked_add(1).unwrap_or(0);
            match self.0.compare_exchange_weak(current, next, Relaxed, Relaxed) {
                Ok(_) => return Some(first),
                Err(seen) => current = seen,
            }
        }
    }

    /// Goes on at `next`, whatever was given out: for a table that nobody else uses now.
    pub(crate) fn restart(&self, next: u64) {
        self.0.store(next.max(1), Relaxed);
    }

    /// A row has this value: it is not given out again.
    pub(crate) fn used(&self, value: u64) {
        let next = value.saturating_add(1);
        if self.0.load(Relaxed) < next {
            self.0.fetch_max(next, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Series = Series { increment: 1, offset: 1 };

    #[test]
    fn values_are_consecutive_and_skip_what_is_used() {
        let c = Counter::new(1);
        assert_eq!(c.reserve(1, PLAIN, 255), Some(1));
        assert_eq!(c.reserve(3, PLAIN, 255), Some(2));
        c.used(10);
        c.used(7);
        assert_eq!(c.reserve(1, PLAIN, 255), Some(11));
    }

    #[test]
    fn a_series_keeps_its_distance() {
        let c = Counter::new(1);
        let series = Series { increment: 10, offset: 5 };
        assert_eq!(c.reserve(2, series, 255), Some(5));
        assert_eq!(c.reserve(1, series, 255), Some(25));
        c.used(30);
        assert_eq!(c.reserve(1, series, 255), Some(35));
    }

    #[test]
    fn the_last_value_is_given_out_once() {
        let c = Counter::new(254);
        assert_eq!(c.reserve(1, PLAIN, 255), Some(254));
        assert_eq!(c.reserve(1, PLAIN, 255), Some(255));
        assert_eq!(c.reserve(1, PLAIN, 255), None);
        let c = Counter::new(u64::MAX);
        assert_eq!(c.reserve(1, PLAIN, u64::MAX), Some(u64::MAX));
        assert_eq!(c.reserve(1, PLAIN, u64::MAX), None);
    }
}
