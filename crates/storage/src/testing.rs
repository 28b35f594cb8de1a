//! What the tests of this crate share.

/// Random numbers in the shapes that tests want; a seed repeats a run.
#[derive(Debug, Clone)]
pub(crate) struct Random(stdx::random::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(stdx::random::Random::new(seed))
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// An index below `n`.
    pub(crate) fn index(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    /// Any number, often a small one.
    pub(crate) fn signed(&mut self) -> i64 {
        self.0.next_u64() as i64 >> self.0.below(64)
    }
}
