//! Random values as clauses 2.1.6 and 4.3.2 define them.

use stdx::random::Random;

/// The constant C of NURand for each of its three uses (clause 2.1.6.1).
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    last_name: u32,
    customer: u32,
    item: u32,
}

/// C for last names when the tables are loaded.
const LAST_NAME_LOAD: u32 = 157;
/// C for last names when transactions run: 66 more, which is in [65, 119] and neither 96 nor 112,
/// as the clause asks.
const LAST_NAME_RUN: u32 = 223;

impl Constants {
    /// Those that the tables are filled with.
    pub fn load() -> Self {
        Self { last_name: LAST_NAME_LOAD, customer: 259, item: 7911 }
    }

    /// Those that transactions draw with: the one of last names is another.
    pub fn run() -> Self {
        Self { last_name: LAST_NAME_RUN, ..Self::load() }
    }
}

/// A source of the specification's random values.
#[derive(Debug)]
pub struct Values {
    random: Random,
    constants: Constants,
}

impl Values {
    /// A source that repeats exactly from the same seed.
    pub fn new(seed: u64, constants: Constants) -> Self {
        Self { random: Random::new(seed), constants }
    }

    /// Uniform in `low..=high`.
    pub fn number(&mut self, low: u32, high: u32) -> u32 {
        low + self.random.below(u64::from(high - low) + 1) as u32
    }

    /// True in `percent` of a hundred draws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    /// NURand(A, x, y): a value in `low..=high`, some far likelier than others.
    fn non_uniform(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        ((self.number(0, a) | self.number(low, high)) + c) % (high - low + 1) + low
    }

    /// A customer's number in its district.
    pub fn customer(&mut self, customers: u32) -> u32 {
        self.non_uniform(1023, self.constants.customer, 1, customers)
    }

    /// An item's number.
    pub fn item(&mut self, items: u32) -> u32 {
        self.non_uniform(8191, self.constants.item, 1, items)
    }

    /// The number of a last name below `names`.
    pub fn last_name(&mut self, names: u32) -> u32 {
        self.non_uniform(255, self.constants.last_name, 0, names - 1)
    }

    /// A string of letters and digits, `low..=high` long.
    pub fn letters(&mut self, low: u32, high: u32) -> String {
        const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        self.string(ALPHABET, low, high)
    }

    /// A string of digits, `low..=high` long.
    pub fn digits(&mut self, low: u32, high: u32) -> String {
        self.string(b"0123456789", low, high)
    }

    fn string(&mut self, alphabet: &[u8], low: u32, high: u32) -> String {
        (0..self.number(low, high))
            .map(|_| char::from(alphabet[self.random.below(alphabet.len() as u64) as usize]))
            .collect()
    }

    /// 26 to 50 letters, in a tenth of the draws with ORIGINAL somewhere (clause 4.3.3.1, of items
    /// and stock).
    pub fn data(&mut self) -> String {
        let mut data = self.letters(26, 50);
        if self.percent(10) {
            let at = self.number(0, data.len() as u32 - 8) as usize;
            data.replace_range(at..at + 8, "ORIGINAL");
        }
        data
    }

    /// A postal code: four random digits and 11111 (clause 4.3.2.7).
    pub fn zip(&mut self) -> String {
        self.digits(4, 4) + "11111"
    }

    /// The numbers 1 to `n` in random order.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=n).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    /// Brings `items` into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.random.below(i as u64 + 1) as usize);
        }
    }

    /// A negative exponential draw with this mean, at most ten times it (clause 5.2.5.4).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = (self.random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * mean).min(10.0 * mean)
    }
}

/// The last name of a number: three of ten syllables (clause 4.3.2.3).
pub fn last_name(number: u32) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_of_the_clause() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn constants_keep_their_distance() {
        let distance = LAST_NAME_RUN - LAST_NAME_LOAD;
        assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
    }

    #[test]
    fn values_stay_in_range() {
        let mut values = Values::new(1, Constants::run());
        let mut seen = [0_u32; 1001];
        for _ in 0..100_000 {
            assert!((1..=3000).contains(&values.customer(3000)));
            seen[values.last_name(1000) as usize] += 1;
            assert!((26..=50).contains(&values.data().len()));
            assert!(values.exponential(2.0) <= 20.0);
        }
        assert_eq!(seen[1000], 0);
        // Uniform would be 100 each.
        assert!(seen.iter().max().is_some_and(|&most| most > 300), "last names are not skewed");
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut numbers = Values::new(7, Constants::load()).permutation(3000);
        assert_ne!(numbers[..3], [1, 2, 3]);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..=3000));
    }
}
