//! What a transaction depends on: which of those before it in the file wrote a key that it writes.
//!
//! A replica applies two transactions concurrently unless the later one's `last_committed` names
//! the earlier one or one after it. Sessions report which keys they wrote, as hashes
//! ([`crate::group::GroupBuilder::writes_key`]). From their history the orderer takes the newest
//! transaction that wrote one of these; as MySQL's `WRITESET` does, whose history forgets
//! everything when it is full. This one forgets the oldest key of a bucket, which is a cache line,
//! and keeps for each bucket the newest transaction that it forgot: that is what a key depends on
//! which is not found.
//!
//! (W1) A transaction's dependency is not older than the last one that wrote a key of its own, nor
//!      than the last one that did not report its keys (DDL, a transaction of very many rows), nor
//!      newer than the last one ordered before those that held their locks at the same time.
//!      Nor is it 0 where another came before those: to MySQL's applier 0 is "not known", and it
//!      waits for all that came before.
//! (W2) Two keys of one hash are taken for one key, which only makes a dependency newer.

/// Keys that a bucket holds.
const WAYS: usize = 7;

/// Some keys and who wrote them last: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    /// The half of the keys' hashes that did not choose the bucket.
    tags: [u32; WAYS],
    /// The `sequence_number`s of the keys' last writers; 0 is none.
    writers: [u32; WAYS],
    /// The newest writer of a key that was forgotten.
    forgotten: u32,
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// Who wrote which key last, in one file.
#[derive(Debug)]
pub(super) struct Dependencies {
    /// A power of two of them.
    buckets: Box<[Bucket]>,
    /// The last transaction that did not report its keys.
    barrier: u64,
    /// `binlog_transaction_dependency_history_size`, of which the number of buckets was made.
    history_size: usize,
}

impl Dependencies {
    /// A history of at least so many keys (`binlog_transaction_dependency_history_size`).
    pub(super) fn new(history_size: usize) -> Self {
        let buckets = history_size.div_ceil(WAYS).next_power_of_two();
        Self { buckets: vec![Bucket::default(); buckets].into(), barrier: 0, history_size }
    }

    /// Forgets everything; what follows depends on the transaction `last`. For a new file, whose
    /// numbers begin again, and for numbers that were taken back.
    pub(super) fn restart(&mut self, last: u64) {
        self.buckets.fill(Bucket::default());
        self.barrier = last;
    }

    /// Follows a changed `binlog_transaction_dependency_history_size`; `last` is the last
    /// transaction so far.
    pub(super) fn resize(&mut self, history_size: usize, last: u64) {
        if history_size != self.history_size {
            *self = Self::new(history_size);
            self.barrier = last;
        }
    }

    /// The `last_committed` of the transaction `number`, which wrote these keys (none: it doesn't
    /// tell), and is ordered together with all after `ordered`: they held their locks at the same
    /// time.
    pub(super) fn add(&mut self, keys: &[u64], number: u64, ordered: u64) -> u64 {
        if keys.is_empty() {
            self.barrier = number;
            return ordered;
        }
        let Ok(writer) = u32::try_from(number) else {
            // After hundreds of gigabytes in one file.
            self.barrier = number;
            return ordered;
        };
        let newest = keys.iter().fold(0, |newest, key| newest.max(self.write(*key, writer)));
        self.barrier.max(u64::from(newest)).max(1).min(ordered)
    }

    /// Who wrote the key last, before `writer` did now.
    fn write(&mut self, key: u64, writer: u32) -> u32 {
        let mask = self.buckets.len() - 1;
        let bucket = &mut self.buckets[key as usize & mask];
        bucket.write((key >> 32) as u32, writer)
    }
}

impl Bucket {
    fn write(&mut self, tag: u32, writer: u32) -> u32 {
        if let Some(way) = self.tags.iter().position(|t| *t == tag) {
            // The transaction's own, if it wrote the key before.
            let last = self.writers[way];
            self.writers[way] = writer;
            return if last == writer { 0 } else { last };
        }
        let newest = self.forgotten;
        let oldest = (1..WAYS).fold(0, |oldest, way| match self.writers[way] < self.writers[oldest] {
            true => way,
            false => oldest,
        });
        self.forgotten = newest.max(self.writers[oldest]);
        (self.tags[oldest], self.writers[oldest]) = (tag, writer);
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use stdx::random::Random;

    /// A hash as good as the real ones.
    fn hash(key: u64) -> u64 {
        Random::new(key).next_u64()
    }

    /// Exactly who wrote what.
    #[derive(Default)]
    struct Model {
        writers: HashMap<u64, u64>,
        barrier: u64,
    }

    impl Model {
        fn add(&mut self, keys: &[u64], number: u64) -> u64 {
            let last = |writers: &HashMap<u64, u64>, key| writers.get(key).copied().unwrap_or(0);
            let newest = keys.iter().map(|key| last(&self.writers, key)).max();
            self.writers.extend(keys.iter().map(|key| (*key, number)));
            if keys.is_empty() {
                self.barrier = number;
            }
            newest.unwrap_or(0).max(self.barrier)
        }
    }

    /// One at a time, with keys out of so many. Returns the dependencies and what the model has.
    fn run(seed: u64, history_size: usize, keys: u64, steps: u64) -> Vec<(u64, u64)> {
        let mut random = Random::new(seed);
        let (mut history, mut model) = (Dependencies::new(history_size), Model::default());
        let mut pairs = Vec::new();
        let mut ordered = 0;
        for number in 1..=steps {
            if random.chance(1, 3) {
                ordered = number - 1;
            }
            let count = if random.chance(1, 50) { 0 } else { 1 + random.below(4) };
            // Transactions that are ordered together wrote different keys.
            let written: Vec<u64> = (0..count).map(|_| hash(random.below(keys))).collect();
            let together = written.iter().any(|k| model.writers.get(k).is_some_and(|w| *w > ordered));
            if together || model.barrier > ordered || written.is_empty() {
                ordered = number - 1;
            }
            let found = history.add(&written, number, ordered);
            let exact = if written.is_empty() {
                model.add(&written, number);
                ordered
            } else {
                model.add(&written, number).max(1).min(ordered)
            };
            assert!(found <= ordered && found < number, "seed {seed}: {number} depends on {found}");
            assert!(found >= exact, "seed {seed}: {number} depends on {exact}, not {found}");
            pairs.push((found, exact));
        }
        pairs
    }

    #[test]
    fn a_dependency_is_never_older_than_the_last_writer() {
        for seed in 0..200 {
            let mut random = Random::new(1000 + seed);
            run(seed, 1 + random.below(300) as usize, 1 + random.below(1000), 3000);
        }
    }

    #[test]
    fn what_the_history_has_room_for_is_exact() {
        for seed in 0..20 {
            assert!(run(seed, 25_000, 2000, 5000).iter().all(|(found, exact)| found == exact), "seed {seed}");
        }
    }

    /// Keys that nobody wrote before, many times as many as there is room for: what they depend on
    /// lies far back.
    #[test]
    fn new_keys_depend_on_what_is_long_gone() {
        let mut history = Dependencies::new(25_000);
        let near = (1..=200_000_u64).filter(|n| history.add(&[hash(*n)], *n, n - 1) + 5000 > *n).count();
        assert!(near < 5000 + 2000, "{near} of 200,000 depend on one of the last 5,000");
    }

    #[test]
    fn a_new_file_and_another_size_begin_again() {
        let mut history = Dependencies::new(100);
        assert_eq!(history.add(&[1], 1, 0), 0);
        assert_eq!(history.add(&[1, 1], 2, 1), 1);
        assert_eq!(history.add(&[2], 3, 2), 1, "which is not the first");
        history.resize(100, 3);
        assert_eq!(history.add(&[3], 4, 3), 1);
        history.resize(200, 4);
        assert_eq!(history.add(&[3], 5, 4), 4);
        history.restart(1);
        assert_eq!(history.add(&[3], 2, 1), 1);
        assert_eq!(history.add(&[], 3, 2), 2);
        assert_eq!(history.add(&[9], 4, 3), 3);
        assert_eq!(history.add(&[9], 1 << 32, 1 << 31), 1 << 31);
        assert_eq!(history.add(&[8], (1 << 32) + 1, 1 << 32), 1 << 32);
    }
}
