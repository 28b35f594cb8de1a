//! A text within another, by their weights: Knuth, Morris and Pratt's algorithm.

use std::collections::VecDeque;

use crate::bounds::{self, Ticker};
use crate::error::Result;

/// Needles of so many weights take no memory worth asking for.
const SMALL: usize = 1024;

/// Marks a weight at which no place begins. Texts are shorter than 4 GiB.
const NO_PLACE: u32 = u32::MAX;

/// The place of the first weights that are those of `needle`, as `accept` has it, which is asked
/// for each such place and may refuse it. `text` are weights, each with the place where its
/// character begins and whether it is that character's first: a place begins with such a one. A
/// needle without weights is at the beginning.
pub(super) fn find(
    text: impl Iterator<Item = (usize, bool, u16)>,
    needle: impl Iterator<Item = u16>,
    accept: impl Fn(usize) -> Result<Option<usize>>,
) -> Result<Option<usize>> {
    let mut ticker = Ticker::default();
    let mut wanted = Vec::new();
    for weight in needle {
        wanted.push(weight);
        ticker.step()?;
    }
    if wanted.is_empty() {
        return accept(0);
    }
    if wanted.len() > SMALL {
        bounds::check_for(wanted.len() * 2 * size_of::<u32>())?;
    }
    // For each weight how many of the first ones a text ends with that breaks off after it.
    let mut borders = vec![0_u32; wanted.len()];
    let next = |mut matched: u32, borders: &[u32], weight: u16| loop {
        if wanted.get(matched as usize) == Some(&weight) {
            return matched + 1;
        }
        match matched {
            0 => return 0,
            _ => matched = borders[matched as usize - 1],
        }
    };
    for i in 1..wanted.len() {
        ticker.step()?;
        borders[i] = next(borders[i - 1], &borders, wanted[i]);
    }
    // The last weights, as many as are wanted.
    let mut last = VecDeque::with_capacity(wanted.len() + 1);
    let mut matched = 0;
    for (at, is_first, weight) in text {
        ticker.step()?;
        last.push_back(u32::try_from(at).ok().filter(|_| is_first).unwrap_or(NO_PLACE));
        if last.len() > wanted.len() {
            last.pop_front();
        }
        matched = next(matched, &borders, weight);
        if matched as usize == wanted.len()
            && let Some(&at) = last.front().filter(|&&at| at != NO_PLACE)
            && let Some(place) = accept(at as usize)?
        {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use stdx::random::Random;

    use super::super::Collation;

    /// What [`Collation::find`] is: each place is tried.
    fn tried(collation: Collation, text: &str, needle: &str, from: usize) -> Option<usize> {
        let weights = |text: &str| {
            let mut weights = Vec::new();
            collation.weight_string(text.as_bytes(), &mut weights, usize::MAX);
            weights
        };
        let mut places = (from..=text.len()).filter(|&at| text.is_char_boundary(at));
        places.find(|&at| weights(&text[at..]).starts_with(&weights(needle)))
    }

    #[test]
    fn places_are_found_as_by_trying_each() {
        let letters = ["a", "A", "ä", "b", "ß", "s", "\u{ad}", "ﬁ", "f", "i", " ", "c", "h", "z"];
        let mut random = Random::new(3);
        // One level: that a text's weights begin with a needle's is seen from their bytes.
        for name in [
            "utf8mb4_0900_ai_ci",
            "utf8mb4_general_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_bin",
            "utf8mb4_da_0900_ai_ci",
            "utf8mb4_czech_ci",
            "utf8mb4_hu_0900_ai_ci",
            "utf8mb4_swedish_ci",
        ] {
            let collation = Collation::by_name(name).unwrap();
            for _ in 0..3000 {
                let mut word = |len: u64| -> String {
                    let len = random.below(len);
                    (0..len).map(|_| letters[random.below(letters.len() as u64) as usize]).collect()
                };
                let (text, needle) = (word(14), word(4));
                let found = collation.find(text.as_bytes(), needle.as_bytes(), 0).unwrap();
                assert_eq!(found, tried(collation, &text, &needle, 0), "{name}: {needle:?} in {text:?}");
            }
        }
    }

    #[test]
    fn a_long_needle_is_no_trouble() {
        let (text, needle) = ("a".repeat(300_000), "a".repeat(100_000) + "b");
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "latin1_swedish_ci"] {
            let collation = Collation::by_name(name).unwrap();
            assert_eq!(collation.find(text.as_bytes(), needle.as_bytes(), 5).unwrap(), None, "{name}");
            assert_eq!(
                collation.find(text.as_bytes(), &needle.as_bytes()[1..9], 5).unwrap(),
                Some(5),
                "{name}"
            );
        }
    }
}
