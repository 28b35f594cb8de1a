//! `RAND(seed)`: the numbers that MySQL gives for a seed. The manual shows them, and programs rely
//! on them.
//!
//! Two linear generators of thirty bits, the second one fed by the first.

/// A series of numbers from 0 to 1.
#[derive(Debug)]
pub(crate) struct SeededRandom {
    a: u64,
    b: u64,
}

const MODULUS: u64 = 0x3fff_ffff;

impl SeededRandom {
    /// The series of a seed, of which 32 bits count.
    pub(crate) fn new(seed: i64) -> Self {
        let start = |factor: u32, add: u32| u64::from((seed as u32).wrapping_mul(factor).wrapping_add(add));
        Self { a: start(0x1_0001, 55_555_555) % MODULUS, b: start(0x1000_0001, 0) % MODULUS }
    }

    /// The series that `rand_seed1` and `rand_seed2` begin.
    pub(crate) fn of_seeds(first: u64, second: u64) -> Self {
        Self { a: first % MODULUS, b: second % MODULUS }
    }

    /// The next number.
    pub(crate) fn draw(&mut self) -> f64 {
        self.a = (self.a * 3 + self.b) % MODULUS;
        self.b = (self.a + self.b + 33) % MODULUS;
        self.a as f64 / MODULUS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_manual() {
        let mut series = SeededRandom::new(3);
        let shown = [(); 3].map(|()| format!("{:.14}", series.draw()));
        assert_eq!(shown, ["0.90576975597606", "0.37307905813035", "0.14808605345719"]);
        // SET rand_seed1 = 123456, rand_seed2 = 654321; MySQL 9.7
        let mut series = SeededRandom::of_seeds(123_456, 654_321);
        assert_eq!([series.draw(), series.draw()], [0.0009543159985489361, 0.004426678646753243]);
        assert_eq!(SeededRandom::new(1).draw(), 0.40540353712197724);
    }
}
