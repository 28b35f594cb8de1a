//! LIKE: `%` is any text, `_` any character, the escape character takes the next one as it is.
//!
//! Characters compare one by one under the collation; trailing spaces count.
//!
//! What stands between two `%` is looked for from left to right: the first place is the best one.
//! Most patterns are found by trying each place. Once that has taken more than the text's length,
//! the rest is found in linear time by Knuth, Morris and Pratt's algorithm, and what has `_`
//! between characters by a convolution ([`convolution`]), in n log n. Matching that takes long asks
//! [`datum::bounds`].

mod convolution;

use datum::bounds::{self, Ticker};
use datum::error::Result;
use datum::types::{Charset, Collation};

/// True if `text` matches `pattern` under `collation`; error 1317 if the statement was killed, 3170
/// if it may not have the memory.
pub(crate) fn matches(text: &[u8], pattern: &[u8], escape: Option<u8>, collation: Collation) -> Result<bool> {
    Matcher { escape, collation, charset: collation.charset() }.run(text, pattern)
}

/// The same for names, which are too short for it to fail.
pub(crate) fn name_matches(name: &[u8], pattern: &[u8], escape: Option<u8>, collation: Collation) -> bool {
    matches(name, pattern, escape, collation).unwrap_or(false)
}

struct Matcher {
    escape: Option<u8>,
    collation: Collation,
    charset: Charset,
}

/// One step of a pattern.
enum PatternToken<'p> {
    AnyText,
    AnyCharacter,
    Exactly(&'p [u8]),
}

impl Matcher {
    /// Greedy with one point to come back to: the last `%`.
    fn run(&self, text: &[u8], pattern: &[u8]) -> Result<bool> {
        let (mut t, mut p) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        // Characters that may be compared until trying each place is too much.
        let mut patience = text.len() + 4096;
        let mut ticker = Ticker::default();
        loop {
            patience = patience.saturating_sub(1);
            ticker.step()?;
            let matched = match self.step(&pattern[p..]) {
                Some((PatternToken::AnyText, len)) => {
                    p += len;
                    retry = Some((t, p));
                    continue;
                }
                Some((PatternToken::AnyCharacter, len)) if t < text.len() => {
                    Some((self.char_len(&text[t..]), len))
                }
                Some((PatternToken::Exactly(c), len)) => self.starts_with(&text[t..], c).map(|n| (n, len)),
                None if t == text.len() => return Ok(true),
                _ => None,
            };
            match (matched, retry) {
                (Some((text_len, pattern_len)), _) => {
                    t += text_len;
                    p += pattern_len;
                }
                (None, Some((from, after))) if from < text.len() => {
                    t = from + self.char_len(&text[from..]);
                    p = after;
                    if patience == 0 {
                        return self.run_parts(&text[t..], &pattern[p..]);
                    }
                    retry = Some((t, after));
                }
                _ => return Ok(false),
            }
        }
    }

    /// True if the text ends with what a pattern after a `%` stands for.
    fn run_parts(&self, mut text: &[u8], mut pattern: &[u8]) -> Result<bool> {
        loop {
            let mut part: Vec<Option<&[u8]>> = Vec::new();
            let mut ticker = Ticker::default();
            let is_last = loop {
                let Some((step, len)) = self.step(pattern) else { break true };
                pattern = &pattern[len..];
                match step {
                    PatternToken::AnyText => break false,
                    PatternToken::AnyCharacter => part.push(None),
                    PatternToken::Exactly(c) => part.push(Some(c)),
                }
                ticker.step()?;
            };
            if is_last {
                let Some(skipped) = self.charset.char_count(text).checked_sub(part.len()) else {
                    return Ok(false);
                };
                return self.begins_with(&text[self.charset.char_offset(text, skipped)..], &part);
            }
            match self.end_of_first(text, &part)? {
                Some(end) => text = &text[end..],
                None => return Ok(false),
            }
        }
    }

    /// Where the first place ends at which a text goes on as a part of a pattern.
    fn end_of_first(&self, text: &[u8], part: &[Option<&[u8]>]) -> Result<Option<usize>> {
        let before = part.iter().take_while(|c| c.is_none()).count();
        let trailing = part[before..].iter().rev().take_while(|c| c.is_none()).count();
        let core = &part[before..part.len() - trailing];
        // Any characters at the edges only have to be there: the first place of what is between
        // them is the best.
        let Some(begin) = self.skip(text, before) else { return Ok(None) };
        let end = match core.iter().copied().collect::<Option<Vec<_>>>() {
            Some(plain) => self.end_of_first_plain(&text[begin..], &plain)?,
            None => self.end_of_first_with_gaps(&text[begin..], core)?,
        };
        Ok(end.and_then(|end| {
            let end = begin + end;
            Some(end + self.skip(&text[end..], trailing)?)
        }))
    }

    /// The bytes of so many characters; `None` if there are fewer.
    fn skip(&self, text: &[u8], chars: usize) -> Option<usize> {
        let mut at = 0;
        for _ in 0..chars {
            at += self.char_len(text.get(at..).filter(|rest| !rest.is_empty())?);
        }
        Some(at)
    }

    /// Knuth, Morris and Pratt: being the same is an equivalence of characters.
    fn end_of_first_plain(&self, text: &[u8], part: &[&[u8]]) -> Result<Option<usize>> {
        bounds::check_for(size_of_val(part) / 2)?;
        let mut ticker = Ticker::default();
        // For each character how many of the part's first ones a text ends with that breaks off
        // after it.
        let mut borders = vec![0_usize; part.len()];
        let next = |mut matched: usize, borders: &[usize], c: &[u8]| loop {
            if self.collation.same_character(c, part[matched]) {
                return matched + 1;
            }
            match matched {
                0 => return 0,
                _ => matched = borders[matched - 1],
            }
        };
        for i in 1..part.len() {
            ticker.step()?;
            borders[i] = next(borders[i - 1], &borders, part[i]);
        }
        let (mut at, mut matched) = (0, 0);
        while matched < part.len() {
            ticker.step()?;
            let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { return Ok(None) };
            let len = self.char_len(rest);
            matched = next(matched, &borders, &rest[..len]);
            at += len;
        }
        Ok(Some(at))
    }

    fn begins_with(&self, mut text: &[u8], part: &[Option<&[u8]>]) -> Result<bool> {
        let mut ticker = Ticker::default();
        for c in part {
            ticker.step()?;
            let len = match c {
                Some(c) => self.starts_with(text, c),
                None => (!text.is_empty()).then(|| self.char_len(text)),
            };
            let Some(len) = len else { return Ok(false) };
            text = &text[len..];
        }
        Ok(true)
    }

    fn step<'p>(&self, pattern: &'p [u8]) -> Option<(PatternToken<'p>, usize)> {
        let first = *pattern.first()?;
        if Some(first) == self.escape && pattern.len() > 1 {
            let n = self.char_len(&pattern[1..]);
            return Some((PatternToken::Exactly(&pattern[1..=n]), n + 1));
        }
        Some(match first {
            b'%' => (PatternToken::AnyText, 1),
            b'_' => (PatternToken::AnyCharacter, 1),
            _ => {
                let n = self.char_len(pattern);
                (PatternToken::Exactly(&pattern[..n]), n)
            }
        })
    }

    fn char_len(&self, text: &[u8]) -> usize {
        self.charset.char_offset(text, 1).max(1)
    }

    fn starts_with(&self, text: &[u8], c: &[u8]) -> Option<usize> {
        let len = if text.is_empty() { 0 } else { self.char_len(text) };
        let found = text.get(..len).filter(|found| !found.is_empty())?;
        self.collation.same_character(found, c).then_some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        let collation = Collation::UTF8MB4_0900_AI_CI;
        matches(text.as_bytes(), pattern.as_bytes(), Some(b'\\'), collation).unwrap()
    }

    #[test]
    fn patterns() {
        assert!(like("abc", "ABC") && like("abc", "a%") && like("abc", "%c") && like("abc", "a_c"));
        assert!(like("", "%") && like("", "") && like("a%c", "a\\%c") && like("abcbc", "%bc"));
        assert!(!like("abc", "ab") && !like("abc", "a_") && !like("abc", "a\\%") && !like("abc ", "abc"));
        let bin = Collation(46);
        assert!(name_matches("aéz".as_bytes(), "a_z".as_bytes(), None, bin));
        assert!(!name_matches(b"abc", b"ABC", None, bin));
    }

    #[test]
    fn a_hostile_pattern_is_no_trouble() {
        assert!(!like(&"a".repeat(3000), &("%a".repeat(1000) + "b")));
        // Quadratic where each place is tried.
        let (text, half) = ("a".repeat(400_000), "a".repeat(200_000));
        assert!(!like(&text, &format!("%{half}b%")));
        assert!(!like(&text, &format!("%{half}b")));
        assert!(like(&text, &format!("%{half}%{half}")));
        assert!(!like(&text, &format!("%{half}%b%{half}")));
        let gaps = "_a".repeat(10_000);
        assert!(!like(&text, &format!("%a{gaps}b%")));
        assert!(like(&text, &format!("%a{gaps}a%")));
        assert!(like(&format!("{text}b"), &format!("%a{gaps}b%")));
        assert!(!like(&format!("{text}b"), &format!("%a{gaps}b_%")));
    }

    #[test]
    fn parts_are_found_as_by_trying_each_place() {
        let mut random = stdx::random::Random::new(7);
        let mut word = |letters: &[&str], len: u64| -> String {
            let len = random.below(len);
            (0..len).map(|_| letters[random.below(letters.len() as u64) as usize]).collect()
        };
        for collation in [Collation::UTF8MB4_0900_AI_CI, Collation::UTF8MB4_BIN] {
            let matcher = Matcher { escape: Some(b'\\'), collation, charset: collation.charset() };
            for _ in 0..4000 {
                let text = word(&["a", "A", "b", "ä", "%"], 12);
                let pattern = word(&["a", "b", "Ä", "%", "_", "_", "\\%"], 9);
                let expected = matcher.run(text.as_bytes(), format!("%{pattern}").as_bytes()).unwrap();
                let found = matcher.run_parts(text.as_bytes(), pattern.as_bytes()).unwrap();
                assert_eq!(found, expected, "{text} LIKE %{pattern}");
            }
        }
    }
}
