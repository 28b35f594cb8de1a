//! A part of a pattern with gaps, `a_b`, is looked for at all places of a text at once, by a
//! convolution.
//!
//! Characters that are the same to LIKE get the same number, drawn at random. A place matches where
//! the sum of `(p - t)²` over the part's characters `p` and the text's `t`, gaps left out, is zero.
//! Without the constant that is a sum of products of what stands so far apart, which a number
//! theoretic transform finds for as many places as the part is long in n log n steps (Clifford and
//! Clifford, "Simple deterministic wildcard matching"). Numbers are taken modulo a prime, so that a
//! sum may be zero where nothing matches, with a chance of one in a thousand millions: each place
//! is compared before it counts.

use std::collections::HashMap;

use super::Matcher;
use datum::bounds::{self, Ticker};
use datum::error::Result;

/// 15 · 2^27 + 1, which has roots of unity of the order 2^27.
const PRIME: u64 = 2_013_265_921;
/// Generates all numbers but zero.
const GENERATOR: u64 = 31;
/// Characters of a part for which a convolution is worth its while, and for which there is one.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=1 << 25;

impl Matcher {
    /// Where the first place ends at which a text goes on as a part of a pattern whose first and
    /// last are characters.
    pub(super) fn end_of_first_with_gaps(
        &self,
        text: &[u8],
        part: &[Option<&[u8]>],
    ) -> Result<Option<usize>> {
        if LENGTHS.contains(&part.len()) {
            return self.end_of_first_by_convolution(text, part);
        }
        let mut at = 0;
        let mut ticker = Ticker::default();
        loop {
            ticker.step()?;
            if self.begins_with(&text[at..], part)? {
                return Ok(Some(at + self.charset.char_offset(&text[at..], part.len())));
            }
            match text.get(at..).filter(|rest| !rest.is_empty()) {
                Some(rest) => at += self.char_len(rest),
                None => return Ok(None),
            }
        }
    }

    fn end_of_first_by_convolution(&self, text: &[u8], part: &[Option<&[u8]>]) -> Result<Option<usize>> {
        let len = (2 * part.len()).next_power_of_two();
        // Five arrays of numbers, and a block's places.
        bounds::check_for(len * (5 * 4 + size_of::<usize>()))?;
        let transform = Transform::new(len)?;
        let mut numbers = Numbers { matcher: self, classes: HashMap::new(), drawn: 0 };
        // Backwards, as a convolution takes them: the characters, and where there are any.
        let (mut part_numbers, mut is_character) = (vec![0; len], vec![0; len]);
        let mut constant = 0;
        for (c, i) in part.iter().zip((0..part.len()).rev()) {
            if let Some(c) = c {
                let number = numbers.of(c, true)?;
                part_numbers[i] = number;
                is_character[i] = 1;
                constant = add(constant, multiply(number, number));
            }
        }
        transform.forward(&mut part_numbers)?;
        transform.forward(&mut is_character)?;

        let (mut block, mut squares) = (vec![0; len], vec![0; len]);
        // Where each character of the block begins.
        let mut places: Vec<usize> = Vec::with_capacity(len);
        let mut at = 0;
        loop {
            places.clear();
            let mut end = at;
            while places.len() < len && end < text.len() {
                let char_len = self.char_len(&text[end..]);
                let number = numbers.of(&text[end..end + char_len], false)?;
                block[places.len()] = number;
                squares[places.len()] = multiply(number, number);
                places.push(end);
                end += char_len;
            }
            if places.len() < part.len() {
                return Ok(None);
            }
            block[places.len()..].fill(0);
            squares[places.len()..].fill(0);
            transform.forward(&mut block)?;
            transform.forward(&mut squares)?;
            for i in 0..len {
                let products = multiply(block[i], part_numbers[i]);
                block[i] = subtract(multiply(squares[i], is_character[i]), add(products, products));
            }
            transform.inverse(&mut block)?;
            for place in 0..=places.len() - part.len() {
                if add(block[place + part.len() - 1], constant) == 0
                    && self.begins_with(&text[places[place]..], part)?
                {
                    let end_place = place + part.len();
                    return Ok(Some(places.get(end_place).copied().unwrap_or(end)));
                }
            }
            // The last places that the part would not have fitted at begin the next block.
            match places.get(places.len() - part.len() + 1) {
                Some(&next) if end < text.len() => at = next,
                _ => return Ok(None),
            }
        }
    }
}

/// The numbers of characters.
struct Numbers<'m> {
    matcher: &'m Matcher,
    /// Those of the part's characters that weigh the same, which need not be the same to LIKE.
    classes: HashMap<Vec<u8>, Vec<(Vec<u8>, u32)>>,
    drawn: u64,
}

impl Numbers<'_> {
    /// A character's number; characters that the part lacks have zero, which no other has.
    fn of(&mut self, c: &[u8], is_in_part: bool) -> Result<u32> {
        let collation = self.matcher.collation;
        let mut key = Vec::with_capacity(16);
        collation.weight_string(c, &mut key, usize::MAX);
        if !is_in_part {
            let same = |known: &&(Vec<u8>, u32)| collation.same_character(c, &known.0);
            return Ok(self
                .classes
                .get(&key)
                .and_then(|class| class.iter().find(same))
                .map_or(0, |known| known.1));
        }
        let class = self.classes.entry(key).or_default();
        let mut ticker = Ticker::default();
        for (known, number) in class.iter() {
            ticker.step()?;
            if collation.same_character(c, known) {
                return Ok(*number);
            }
        }
        self.drawn += 1;
        let number = (stdx::random::Random::new(self.drawn).below(PRIME - 1) + 1) as u32;
        class.push((c.to_vec(), number));
        Ok(number)
    }
}

fn add(a: u32, b: u32) -> u32 {
    let sum = u64::from(a) + u64::from(b);
    (if sum >= PRIME { sum - PRIME } else { sum }) as u32
}

fn subtract(a: u32, b: u32) -> u32 {
    add(a, (PRIME - u64::from(b)) as u32 % PRIME as u32)
}

fn multiply(a: u32, b: u32) -> u32 {
    (u64::from(a) * u64::from(b) % PRIME) as u32
}

fn power(mut base: u32, mut exponent: u64) -> u32 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    result
}

/// Number theoretic transforms of a length that is a power of two.
struct Transform {
    /// The powers of a root of unity, half as many as the length.
    roots: Vec<u32>,
}

impl Transform {
    fn new(len: usize) -> Result<Self> {
        let root = power(GENERATOR as u32, (PRIME - 1) / len as u64);
        let mut roots = Vec::with_capacity(len / 2);
        let mut power = 1;
        let mut ticker = Ticker::default();
        for _ in 0..len / 2 {
            ticker.step()?;
            roots.push(power);
            power = multiply(power, root);
        }
        Ok(Self { roots })
    }

    /// Leaves the values in the order of their reversed bits, which products do not mind.
    fn forward(&self, values: &mut [u32]) -> Result<()> {
        let mut half = values.len() / 2;
        let mut stride = 1;
        while half > 0 {
            for pairs in values.chunks_exact_mut(2 * half) {
                bounds::check()?;
                let (low, high) = pairs.split_at_mut(half);
                for ((a, b), &root) in low.iter_mut().zip(high).zip(self.roots.iter().step_by(stride)) {
                    (*a, *b) = (add(*a, *b), multiply(subtract(*a, *b), root));
                }
            }
            half /= 2;
            stride *= 2;
        }
        Ok(())
    }

    /// Takes the values in that order.
    fn inverse(&self, values: &mut [u32]) -> Result<()> {
        let len = values.len();
        let mut half = 1;
        let mut stride = len / 2;
        while half < len {
            for pairs in values.chunks_exact_mut(2 * half) {
                bounds::check()?;
                let (low, high) = pairs.split_at_mut(half);
                for ((a, b), &root) in low.iter_mut().zip(high).zip(self.roots.iter().step_by(stride)) {
                    let product = multiply(*b, root);
                    (*a, *b) = (add(*a, product), subtract(*a, product));
                }
            }
            half *= 2;
            stride /= 2;
        }
        // Roots were taken forwards: the values come out backwards, but for the first.
        values[1..].reverse();
        let scale = power(len as u32, PRIME - 2);
        values.iter_mut().for_each(|value| *value = multiply(*value, scale));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::types::Collation;

    #[test]
    fn finds_what_trying_each_place_finds() {
        let mut random = stdx::random::Random::new(3);
        for collation in [Collation::UTF8MB4_0900_AI_CI, Collation::UTF8MB4_BIN] {
            let matcher = Matcher { escape: None, collation, charset: collation.charset() };
            let mut found = 0;
            for _ in 0..300 {
                let len = random.below(400);
                let letters = ["a", "A", "a", "a", "ä", "b"];
                let text: String = (0..len).map(|_| letters[random.below(6) as usize]).collect();
                let mut part: Vec<Option<&[u8]>> = vec![Some(b"a")];
                for _ in 0..random.below(40) {
                    part.push((random.below(3) == 0).then_some(b"a"));
                }
                part.push(Some("b".as_bytes()));
                let by_convolution = matcher.end_of_first_by_convolution(text.as_bytes(), &part).unwrap();
                let mut places = text.char_indices().map(|(at, _)| at);
                let first = places.find(|&at| matcher.begins_with(&text.as_bytes()[at..], &part).unwrap());
                let expected = first
                    .map(|at| at + text[at..].chars().take(part.len()).map(char::len_utf8).sum::<usize>());
                assert_eq!(by_convolution, expected, "{part:?} in {text}");
                found += usize::from(expected.is_some());
            }
            assert!(found > 50, "{found}");
        }
    }
}
