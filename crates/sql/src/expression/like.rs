//! LIKE: `%` is any text, `_` any character, the escape character takes the next one as it is.
//!
//! Characters compare one by one under the collation; trailing spaces count.

use super::Expr;
use crate::types::{Charset, Collation};

/// A LIKE.
#[derive(Debug, Clone)]
pub struct Like {
    /// The text.
    pub operand: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// The escape character; `None` if there is none.
    pub escape: Option<u8>,
    /// How characters compare.
    pub collation: Collation,
    /// NOT LIKE.
    pub negated: bool,
}

impl Like {
    /// True if the text matches.
    pub fn matches(&self, text: &[u8], pattern: &[u8]) -> bool {
        matches(text, pattern, self.escape, self.collation)
    }
}

/// True if `text` matches `pattern` under `collation`.
pub fn matches(text: &[u8], pattern: &[u8], escape: Option<u8>, collation: Collation) -> bool {
    Matcher { escape, collation, charset: collation.charset() }.run(text, pattern)
}

struct Matcher {
    escape: Option<u8>,
    collation: Collation,
    charset: Charset,
}

/// One step of a pattern.
enum Step<'p> {
    AnyText,
    AnyCharacter,
    Exactly(&'p [u8]),
}

impl Matcher {
    /// Greedy with one point to come back to: the last `%`, so the work is at most text × pattern.
    fn run(&self, text: &[u8], pattern: &[u8]) -> bool {
        let (mut t, mut p) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let matched = match self.step(&pattern[p..]) {
                Some((Step::AnyText, len)) => {
                    p += len;
                    retry = Some((t, p));
                    continue;
                }
                Some((Step::AnyCharacter, len)) if t < text.len() => Some((self.char_len(&text[t..]), len)),
                Some((Step::Exactly(c), len)) => self.starts_with(&text[t..], c).map(|n| (n, len)),
                None if t == text.len() => return true,
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
                    retry = Some((t, after));
                }
                _ => return false,
            }
        }
    }

    fn step<'p>(&self, pattern: &'p [u8]) -> Option<(Step<'p>, usize)> {
        let first = *pattern.first()?;
        if Some(first) == self.escape && pattern.len() > 1 {
            let n = self.char_len(&pattern[1..]);
            return Some((Step::Exactly(&pattern[1..=n]), n + 1));
        }
        Some(match first {
            b'%' => (Step::AnyText, 1),
            b'_' => (Step::AnyCharacter, 1),
            _ => {
                let n = self.char_len(pattern);
                (Step::Exactly(&pattern[..n]), n)
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
        matches(text.as_bytes(), pattern.as_bytes(), Some(b'\\'), collation)
    }

    #[test]
    fn patterns() {
        assert!(like("abc", "ABC") && like("abc", "a%") && like("abc", "%c") && like("abc", "a_c"));
        assert!(like("", "%") && like("", "") && like("a%c", "a\\%c") && like("abcbc", "%bc"));
        assert!(!like("abc", "ab") && !like("abc", "a_") && !like("abc", "a\\%") && !like("abc ", "abc"));
        let bin = Collation(46);
        assert!(matches("aéz".as_bytes(), "a_z".as_bytes(), None, bin));
        assert!(!matches(b"abc", b"ABC", None, bin));
    }

    #[test]
    fn a_hostile_pattern_is_no_trouble() {
        assert!(!like(&"a".repeat(3000), &("%a".repeat(1000) + "b")));
    }
}
