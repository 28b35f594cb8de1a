//! A form's row: the sums of all sessions.

use std::sync::atomic::Ordering::Relaxed;

use aws_lc_rs::digest;

use super::{BUCKETS, COUNTED, Form, Sum, Sums, end_of};

/// SHA-256 of a normalized text, in hexadecimal digits.
pub(crate) fn digest_of(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What statements of one form have cost.
pub(crate) struct Summary {
    /// The default database.
    pub schema: Option<Box<str>>,
    /// SHA-256 of the normalized text, in hexadecimal digits, and the text.
    pub(crate) digest: Option<(String, Box<str>)>,
    /// Microseconds since 1970.
    pub(crate) first_seen: u64,
    /// The text of the slowest one, when it was seen, and its time in picoseconds.
    pub(crate) sample: (Box<[u8]>, u64, u64),
    sums: Sums,
}

impl Summary {
    pub(super) fn of(form: &Form) -> Self {
        let sums = Sums::default();
        let mut tallies = form.tallies.lock();
        sums.add_all(&tallies.ended);
        tallies.living.retain(|tally| tally.strong_count() > 0);
        // A tally whose last owner is gone meanwhile waits for the latch, to add itself to those
        // that have ended.
        let living: Vec<_> = tallies.living.iter().filter_map(std::sync::Weak::upgrade).collect();
        living.iter().for_each(|tally| sums.add_all(&tally.sums));
        drop(tallies);
        drop(living);
        let sample = form.sample.lock().clone();
        let (schema, digest) = match &form.name {
            None => (None, None),
            Some((schema, text)) => (schema.clone(), Some((digest_of(text), text.clone()))),
        };
        let sample = (sample.text, sample.seen, form.sample_time.load(Relaxed));
        Self { schema, digest, first_seen: form.first_seen, sample, sums }
    }

    /// A sum; times are in picoseconds.
    pub(crate) fn sum(&self, sum: Sum) -> u64 {
        self.sums.sums[sum as usize].load(Relaxed)
    }

    /// What the session's counters of the same names counted, in the order of the columns.
    pub(crate) fn counted(&self) -> [u64; COUNTED.len()] {
        self.sums.counted.each_ref().map(|n| n.load(Relaxed))
    }

    /// The least, the mean and the greatest time, in picoseconds.
    pub(crate) fn times(&self) -> [u64; 3] {
        let count = self.sum(Sum::Count).max(1);
        let least = match self.sums.least.load(Relaxed) {
            0 => 0,
            complement => u64::MAX - complement,
        };
        [least, self.sum(Sum::TimerWait) / count, self.sums.most.load(Relaxed)]
    }

    /// Microseconds since 1970.
    pub(crate) fn last_seen(&self) -> u64 {
        self.sums.last_seen.load(Relaxed)
    }

    /// The time in picoseconds that so many of a thousand statements did not exceed, by buckets
    /// that are a quarter of an octave wide.
    pub(crate) fn quantile(&self, of_thousand: u64) -> u64 {
        let times: [u64; BUCKETS] = self.sums.times.each_ref().map(|n| n.load(Relaxed).into());
        let wanted = (times.iter().sum::<u64>() * of_thousand).div_ceil(1000);
        let mut seen = 0;
        let bucket = times.iter().position(|n| {
            seen += n;
            seen >= wanted && wanted > 0
        });
        bucket.map_or(0, |bucket| end_of(bucket).saturating_mul(1_000_000).min(self.times()[2]))
    }
}
