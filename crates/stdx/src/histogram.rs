//! Lock-free histograms of latencies and sizes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets by power of two: bucket `i` counts values `v` with `2^(i-1) <= v < 2^i`, bucket 0 counts
/// zeros.
///
/// The counters are independent statistics; nothing is ordered by them, so every access is relaxed.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; 65],
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; 65], sum: AtomicU64::new(0) }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&self, value: u64) {
        self.buckets[(64 - value.leading_zeros()) as usize].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// The number of values counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|b| b.load(Relaxed)).sum()
    }

    /// The sum of all values counted, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }

    /// The exclusive upper bound of the bucket in which the `q`-quantile (0 to 1) lies; 0 when
    /// nothing was counted.
    pub fn quantile_bound(&self, q: f64) -> u64 {
        let wanted = (self.count() as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bound, n) in self.buckets() {
            seen += n;
            if seen >= wanted {
                return bound;
            }
        }
        0
    }

    /// Each bucket's exclusive upper bound (saturated at `u64::MAX`) and count, smallest first.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().enumerate().map(|(i, b)| {
            let bound = 1_u64.checked_shl(i as u32).unwrap_or(u64::MAX);
            (bound, b.load(Relaxed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_their_power_of_two() {
        let h = Histogram::default();
        assert_eq!(h.quantile_bound(0.5), 0);
        for v in [0, 1, 2, 3, 4, u64::MAX] {
            h.record(v);
        }
        let filled: Vec<_> = h.buckets().filter(|&(_, n)| n > 0).collect();
        assert_eq!(filled, [(1, 1), (2, 1), (4, 2), (8, 1), (u64::MAX, 1)]);
        assert_eq!(h.count(), 6);
        assert_eq!(h.quantile_bound(0.5), 4);
        assert_eq!(h.quantile_bound(1.0), u64::MAX);
    }
}
