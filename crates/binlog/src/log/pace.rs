//! When a flush may begin while others are in flight.
//!
//! A commit that comes during a flush needs the next one. If that has to wait for the first to end,
//! a client waits for one and a half to two flushes; if it may begin at once, for one. Most disks
//! flush side by side in the time of one; some, and some file systems, take one after the other,
//! and on these more flushes only make each of them longer. So it is measured: what a flush takes
//! alone, and what it takes with others. A disk may also just have become slower, as network disks
//! do that are given fewer requests than they are sent: before fewer flushes are allowed, some are
//! timed alone again.
//!
//! Flushes begin at least a sixteenth of a flush's time apart, so that commits still gather in
//! groups. Where a flush takes hardly longer than the work of a group there is nothing to gain, and
//! flushes run one at a time.
//!
//! Where the processors are busy, a flushing thread also waits for one of them, often longer than
//! for the disk. More flushes would make that worse. So we use the 12.5th percentile as the flush
//! latency.

use smallvec::SmallVec;
use std::time::Duration;

/// The most flushes in flight.
pub const SLOTS: usize = 16;
/// The least time between the beginnings of two flushes, in microseconds: about what a group costs
/// the processor.
const APART_MIN_US: u64 = 100;
/// Flushes that take no longer than this run one at a time.
pub const SEQUENTIAL_FLUSH_MAX: Duration = Duration::from_micros(3 * APART_MIN_US);
/// Overlapping pays as long as a flush takes less than this many halves of what it takes alone:
/// with one flush at a time, a commit waits for three halves of a flush on average.
const PAYS_HALVES: u64 = 3;
/// Flushes alone before overlapping is tried (again); doubled with each trial that fails, up to
/// [`PATIENCE_MAX`]. A trial costs little: two flushes at a time on a disk that takes one after the
/// other.
const PATIENCE: u32 = 16;
const PATIENCE_MAX: u32 = 1024;
/// Flushes that a judgement needs, at least, and those that are remembered: the times of a disk
/// that others use too vary a lot.
const SAMPLE: usize = 16;
/// Flushes alone that distinguish a disk that has become slower from one that flushes sequentially.
const CHECKS: usize = 5;

/// The measurements, and what they allow.
#[derive(Debug)]
pub(super) struct Pace {
    /// Flushes that may be in flight: doubled as long as it pays, halved when it does not.
    limit: usize,
    /// Overlapping does not seem to pay; flushes run one at a time until that is known.
    doubt: Option<Doubt>,
    /// Microseconds of the last flushes that met no other, in no order.
    alone: Times,
    /// What one of them takes.
    alone_us: u64,
    /// Flushes alone since the limit became one.
    alone_count: u32,
    patience: u32,
    /// What a flush took alone when overlapping was given up last.
    given_up_us: u64,
    /// Microseconds of all flushes that met others, since the limit changed.
    together: Times,
    last_begun: Duration,
}

/// Microseconds of some flushes: as many as tell what one takes.
type Times = SmallVec<[u64; 2 * SLOTS]>;

/// Whether flushes took too long because of each other.
#[derive(Debug)]
struct Doubt {
    /// What they took, in microseconds.
    together_us: u64,
    /// What those took that were timed alone since.
    alone: Times,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            limit: 1,
            doubt: None,
            alone: Times::new(),
            alone_us: 0,
            alone_count: 0,
            patience: PATIENCE,
            given_up_us: 0,
            together: Times::new(),
            last_begun: Duration::ZERO,
        }
    }
}

/// What the next flush waits for before it may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldBack {
    /// One of those in flight has to end.
    UntilOneEnds,
    /// So much time has to pass, or one of those in flight to end.
    AtMost(Duration),
}

impl Pace {
    /// What the next flush waits for while `in_flight` others are; `None` if it may begin.
    pub(super) fn hold_back(&self, in_flight: usize, now: Duration) -> Option<HoldBack> {
        if in_flight == 0 {
            return None;
        }
        if self.is_full(in_flight) {
            return Some(HoldBack::UntilOneEnds);
        }
        let remaining = (self.last_begun + self.apart()).saturating_sub(now);
        (!remaining.is_zero()).then_some(HoldBack::AtMost(remaining))
    }

    /// True if no more flushes may begin.
    pub(super) fn is_full(&self, in_flight: usize) -> bool {
        in_flight >= if self.doubt.is_some() { 1 } else { self.limit }
    }

    fn apart(&self) -> Duration {
        Duration::from_micros((self.alone_us / SLOTS as u64).max(APART_MIN_US))
    }

    pub(super) fn begin(&mut self, now: Duration) {
        self.last_begun = now;
    }

    /// A flush has taken so long; `alone` if no other was in flight at any time of it.
    pub(super) fn end(&mut self, took: Duration, alone: bool) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX / 16);
        match &mut self.doubt {
            Some(doubt) => {
                if alone {
                    doubt.alone.push(took_us);
                    if doubt.alone.len() == CHECKS {
                        self.decide();
                    }
                }
            }
            None if alone => self.end_alone(took_us),
            None => {
                self.together.push(took_us);
                if self.together.len() >= SAMPLE.max(2 * self.limit) {
                    self.judge();
                }
            }
        }
    }

    fn end_alone(&mut self, took_us: u64) {
        if self.alone.len() < SAMPLE {
            self.alone.push(took_us);
        } else {
            self.alone[self.alone_count as usize % SAMPLE] = took_us;
        }
        self.alone_count = self.alone_count.wrapping_add(1);
        self.alone_us = typical(&self.alone);
        if self.alone_us > 2 * self.given_up_us {
            // Not the disk any more on which it did not pay.
            self.patience = PATIENCE;
        }
        if self.limit == 1 && self.alone_count >= self.patience && is_long(self.alone_us) {
            self.change_limit(2);
        }
    }

    /// Whether overlapping seems to pay, now that there were enough flushes to tell.
    fn judge(&mut self) {
        let together_us = typical(&self.together);
        if !is_long(together_us) {
            self.flush_sequentially();
        } else if pays(together_us, self.alone_us) {
            self.patience = PATIENCE;
            self.change_limit((2 * self.limit).min(SLOTS));
        } else {
            self.doubt = Some(Doubt { together_us, alone: Times::new() });
        }
    }

    /// Whether it was the overlapping, now that some were alone.
    fn decide(&mut self) {
        let Some(doubt) = self.doubt.take() else { return };
        let alone_us = typical(&doubt.alone);
        if pays(doubt.together_us, alone_us) {
            (self.alone, self.alone_us) = (doubt.alone, alone_us);
            return self.change_limit(self.limit);
        }
        if self.limit > 2 {
            return self.change_limit(self.limit / 2);
        }
        self.given_up_us = self.alone_us;
        self.patience = (2 * self.patience).min(PATIENCE_MAX);
        self.flush_sequentially();
    }

    fn flush_sequentially(&mut self) {
        self.change_limit(1);
        self.alone.clear();
        self.alone_count = 0;
    }

    fn change_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.together.clear();
    }
}

/// What a flush takes that waits for nothing but the disk: one of eight takes no longer.
fn typical(times: &[u64]) -> u64 {
    let mut rising = Times::from_slice(times);
    rising.sort_unstable();
    rising.get(times.len() / 8).copied().unwrap_or_default()
}

/// True if it is worth while to begin others meanwhile.
fn is_long(flush_us: u64) -> bool {
    Duration::from_micros(flush_us) > SEQUENTIAL_FLUSH_MAX
}

/// True if flushes that take so long with others are better than taking turns.
fn pays(together_us: u64, alone_us: u64) -> bool {
    2 * together_us < PAYS_HALVES * alone_us
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::random::Random;

    /// Flushes a disk does, one begun as soon as it may; returns how many ended in `seconds`, and
    /// the limit then.
    fn run(pace: &mut Pace, flush: Duration, side_by_side: bool, seconds: u64) -> (usize, usize) {
        let (mut now, mut ended) = (Duration::ZERO, 0);
        // When each began and will end, and whether it has met another.
        let mut flights: Vec<(Duration, Duration, bool)> = Vec::new();
        while now < Duration::from_secs(seconds) {
            now += Duration::from_micros(50);
            flights.retain(|&(begun, end, met)| {
                let over = end <= now;
                if over {
                    pace.end(end - begun, !met);
                    ended += 1;
                }
                !over
            });
            if pace.hold_back(flights.len(), now).is_none() {
                pace.begin(now);
                let free = flights.iter().map(|f| f.1).max().filter(|_| !side_by_side).unwrap_or(now);
                let met = !flights.is_empty();
                flights.iter_mut().for_each(|f| f.2 = true);
                flights.push((now, free + flush, met));
            }
        }
        (ended, pace.limit)
    }

    #[test]
    fn a_disk_that_flushes_side_by_side_is_given_many() {
        for us in [600, 3_500, 20_000] {
            let mut pace = Pace::default();
            let flush = Duration::from_micros(us);
            run(&mut pace, flush, true, 2);
            let (ended, limit) = run(&mut pace, flush, true, 2);
            assert_eq!(limit, SLOTS);
            let apart = us.div_ceil(16).max(APART_MIN_US) + 50;
            assert!(ended as u64 >= 2_000_000 / apart * 9 / 10, "{us} us: {ended}");
        }
    }

    #[test]
    fn a_disk_that_flushes_one_by_one_is_given_one() {
        let mut pace = Pace::default();
        let flush = Duration::from_millis(20);
        run(&mut pace, flush, false, 20);
        let (ended, _) = run(&mut pace, flush, false, 20);
        assert!(ended >= 900, "no time is lost: {ended}");
        assert!(pace.patience >= 256, "it is tried less and less: {}", pace.patience);
    }

    #[test]
    fn a_fast_disk_flushes_sequentially_and_a_change_is_noticed() {
        let mut pace = Pace::default();
        assert_eq!(run(&mut pace, Duration::from_micros(50), true, 1).1, 1);
        run(&mut pace, Duration::from_millis(3), true, 1);
        assert_eq!(pace.limit, SLOTS);
        run(&mut pace, Duration::from_millis(20), false, 20);
        assert!(pace.patience > PATIENCE);
    }

    /// With 256 clients on two processors most flushes took several times longer than the disk did.
    #[test]
    fn a_fast_disk_with_busy_processors_flushes_sequentially() {
        let mut pace = Pace::default();
        let mut random = Random::new(7);
        let mut together = 0;
        for _ in 0..10_000 {
            let late = if random.below(10) < 4 { 0 } else { random.below(3000) };
            let alone = pace.is_full(1);
            together += usize::from(!alone);
            pace.end(Duration::from_micros(200 + late), alone);
        }
        assert!(together < 1000, "{together} of 10,000");
    }

    /// The same disk was a slow one before.
    #[test]
    fn a_disk_that_becomes_fast_flushes_sequentially_though_processors_are_busy() {
        let mut pace = Pace::default();
        run(&mut pace, Duration::from_millis(20), true, 2);
        assert_eq!(pace.limit, SLOTS);
        (0..4 * SLOTS as u64).for_each(|n| pace.end(Duration::from_micros(200 + n % 3 * 1000), false));
        assert_eq!(pace.limit, 1);
    }

    /// A disk that was given fewer requests now and then was given less and less of them itself:
    /// each time flushes became slower, that was taken for what they did to each other.
    #[test]
    fn a_disk_that_becomes_slow_and_fast_again_is_given_many_soon() {
        let mut pace = Pace::default();
        for round in 0..8 {
            run(&mut pace, Duration::from_micros(400), true, 2);
            run(&mut pace, Duration::from_millis(20), true, 1);
            assert_eq!(pace.limit, SLOTS, "round {round}: {pace:?}");
            let (ended, _) = run(&mut pace, Duration::from_millis(20), true, 1);
            assert!(ended >= 700, "round {round}: {ended}, {pace:?}");
        }
    }
}
