//! Character sets: which bytes are text, how many characters they are, and the same text in another
//! set.

use std::borrow::Cow;

use super::Collation;

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Bytes without a meaning.
    Binary,
    /// 7-bit ASCII.
    Ascii,
    /// MySQL's latin1, which is Windows code page 1252 with the five unused bytes mapped to C1
    /// controls.
    Latin1,
    /// UTF-8 of at most three bytes a character.
    Utf8mb3,
    /// UTF-8.
    Utf8mb4,
}

impl Charset {
    /// All of them.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// The set that a statement of a client with this set has behind the door
    /// ([`crate::client_text`]): UTF-8, or bytes that nobody has said the meaning of.
    pub fn of_statements(self) -> Charset {
        match self {
            Charset::Ascii | Charset::Latin1 => Charset::Utf8mb4,
            Charset::Binary | Charset::Utf8mb3 | Charset::Utf8mb4 => self,
        }
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Ascii => "ascii",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// MySQL's description, as `SHOW CHARACTER SET` has it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Binary => "Binary pseudo charset",
            Charset::Ascii => "US ASCII",
            Charset::Latin1 => "cp1252 West European",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The set of this name, in any case; `utf8` means `utf8mb3`, as in MySQL 8.4.
    pub fn by_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::ALL.into_iter().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// The longest character, in bytes.
    pub fn char_len_max(self) -> u32 {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// The collation a column of this set has if none is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::BINARY,
            Charset::Ascii => Collation(11),
            Charset::Latin1 => Collation(8),
            Charset::Utf8mb3 => Collation(33),
            Charset::Utf8mb4 => Collation::UTF8MB4_0900_AI_CI,
        }
    }

    /// The set's `_bin` collation.
    pub fn binary_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::BINARY,
            Charset::Ascii => Collation(65),
            Charset::Latin1 => Collation(47),
            Charset::Utf8mb3 => Collation(83),
            Charset::Utf8mb4 => Collation(46),
        }
    }

    /// The length of the longest prefix of `text` that is valid in this set; `text.len()` if all of
    /// it is.
    pub fn valid_prefix(self, text: &[u8]) -> usize {
        match self {
            Charset::Binary | Charset::Latin1 => text.len(),
            Charset::Ascii => text.iter().position(|&b| b >= 0x80).unwrap_or(text.len()),
            Charset::Utf8mb4 => utf8_prefix(text),
            Charset::Utf8mb3 => {
                let valid = utf8_prefix(text);
                text[..valid].iter().position(|&b| b >= 0xf0).unwrap_or(valid)
            }
        }
    }

    /// The number of characters in valid text.
    pub fn char_count(self, text: &[u8]) -> usize {
        match self {
            Charset::Utf8mb3 | Charset::Utf8mb4 => starts(text),
            _ => text.len(),
        }
    }

    /// The byte offset after the first `n` characters; the text's length if it has no more than
    /// that.
    pub fn char_offset(self, text: &[u8], n: usize) -> usize {
        match self {
            Charset::Utf8mb3 | Charset::Utf8mb4 => {
                let starts = text.iter().enumerate().filter(|&(_, &b)| b & 0xc0 != 0x80);
                starts.map(|(i, _)| i).nth(n).unwrap_or(text.len())
            }
            _ => n.min(text.len()),
        }
    }

    /// `text` of this set in the set `to`. Characters that `to` lacks become `?`, and the second
    /// value is true.
    pub fn convert<'a>(self, text: Cow<'a, [u8]>, to: Charset) -> (Cow<'a, [u8]>, bool) {
        if self == to || to == Charset::Binary || self == Charset::Binary || text.is_ascii() {
            return (text, false);
        }
        match (self, to) {
            (Charset::Utf8mb3, Charset::Utf8mb4) => (text, false),
            (Charset::Utf8mb4, Charset::Utf8mb3) if !text.iter().any(|&b| b >= 0xf0) => (text, false),
            _ => {
                let mut lost = false;
                let decoded = self.decode(&text);
                let converted = decoded.chars().flat_map(|c| {
                    to.encode(c).unwrap_or_else(|| {
                        lost = true;
                        vec![b'?']
                    })
                });
                (Cow::Owned(converted.collect()), lost)
            }
        }
    }

    fn decode(self, text: &[u8]) -> String {
        match self {
            Charset::Latin1 => text.iter().map(|&b| latin1_to_char(b)).collect(),
            _ => String::from_utf8_lossy(text).into_owned(),
        }
    }

    fn encode(self, c: char) -> Option<Vec<u8>> {
        match self {
            Charset::Ascii => c.is_ascii().then(|| vec![c as u8]),
            Charset::Latin1 => latin1_from_char(c).map(|b| vec![b]),
            Charset::Utf8mb3 if c.len_utf8() > 3 => None,
            _ => Some(c.to_string().into_bytes()),
        }
    }
}

/// The number of bytes that begin a character of UTF-8. Of so few at a time that a byte holds their
/// sum, which the compiler makes of many at once.
fn starts(text: &[u8]) -> usize {
    let sum = |few: &[u8]| few.iter().map(|&b| u8::from(b & 0xc0 != 0x80)).sum::<u8>();
    text.chunks(u8::MAX.into()).map(|few| usize::from(sum(few))).sum()
}

fn utf8_prefix(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(e) => e.valid_up_to(),
    }
}

/// Code page 1252's characters for the bytes 0x80 to 0x9f; those it leaves open stand for
/// themselves.
const CP1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

fn latin1_to_char(b: u8) -> char {
    match b {
        0x80..=0x9f => CP1252[usize::from(b - 0x80)],
        _ => char::from(b),
    }
}

fn latin1_from_char(c: char) -> Option<u8> {
    match u32::from(c) {
        n @ (0..=0x7f | 0xa0..=0xff) => Some(n as u8),
        _ => CP1252.iter().position(|&k| k == c).map(|i| 0x80 + i as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_know_their_bytes() {
        assert_eq!(Charset::Utf8mb3.valid_prefix("aé😀".as_bytes()), 3);
        assert_eq!(Charset::Utf8mb4.valid_prefix(b"a\xff"), 1);
        assert_eq!(Charset::Ascii.valid_prefix("aé".as_bytes()), 1);
        assert_eq!(Charset::Utf8mb4.char_offset("é€x".as_bytes(), 2), 5);
        let (latin1, lost) = Charset::Utf8mb4.convert("é€ж".as_bytes().into(), Charset::Latin1);
        assert_eq!((&*latin1, lost), (&b"\xe9\x80?"[..], true));
        let (utf8, lost) = Charset::Latin1.convert(latin1, Charset::Utf8mb4);
        assert_eq!((&*utf8, lost), ("é€?".as_bytes(), false));
    }
}
