//! A small seeded generator for tests and simulations; never for secrets.

/// SplitMix64 (Steele, Lea, Flood 2014): one `u64` of state, full period, good enough to choose
/// fates with.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers for ever.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Sixty-four random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`; 0 if `n` is 0. (Multiply-shift; the bias is below 2^-32 for the small
    /// `n` of tests.)
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True in `numerator` of `denominator` cases.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_by_seed_and_stays_in_range() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        let mut seen = [0; 10];
        for _ in 0..10_000 {
            let n = a.below(10);
            assert_eq!(n, b.below(10));
            seen[n as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 800), "{seen:?}");
        assert_eq!(a.below(0), 0);
        let mut bytes = [0; 11];
        a.fill(&mut bytes);
        assert_ne!(bytes, [0; 11]);
    }
}
