//! Character sets and collations: which bytes are text, and how text compares.
//!
//! A [`Collation`] is the MySQL collation id and nothing else; everything known of it stands in one table below. Three
//! questions are answered here: are these bytes valid text of the set ([`Charset::valid_prefix`]), how do two texts
//! compare ([`Collation::compare`]), and which bytes sort like the text ([`Collation::sort_key`]).
//!
//! Exact for every input: `binary` and the `_bin` collations. The case-insensitive ones are exact for ASCII text; text
//! beyond ASCII is refused by them with error 1235 instead of being compared wrongly. They grow by giving
//! [`Weights`] more than its ASCII tables.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::error::{Result, SqlError};

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Bytes without a meaning.
    Binary,
    /// 7-bit ASCII.
    Ascii,
    /// MySQL's latin1, which is Windows code page 1252 with the five unused bytes mapped to C1 controls.
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

    /// The length of the longest prefix of `text` that is valid in this set; `text.len()` if all of it is.
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
            Charset::Utf8mb3 | Charset::Utf8mb4 => text.iter().filter(|&&b| b & 0xc0 != 0x80).count(),
            _ => text.len(),
        }
    }

    /// The byte offset behind the first `n` characters; the text's length if it has no more than that.
    pub fn char_offset(self, text: &[u8], n: usize) -> usize {
        match self {
            Charset::Utf8mb3 | Charset::Utf8mb4 => {
                let starts = text.iter().enumerate().filter(|&(_, &b)| b & 0xc0 != 0x80);
                starts.map(|(i, _)| i).nth(n).unwrap_or(text.len())
            }
            _ => n.min(text.len()),
        }
    }

    /// `text` of this set in the set `to`. Characters that `to` lacks become `?`, and the second value is true.
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

fn utf8_prefix(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(e) => e.valid_up_to(),
    }
}

/// Code page 1252's characters for the bytes 0x80 to 0x9f; those it leaves open stand for themselves.
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

/// A collation, by MySQL's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub u16);

/// How a collation weighs characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weights {
    /// By byte value (which is code point order in UTF-8).
    Bytes,
    /// ASCII letters by their upper case; the rest of ASCII by value.
    AsciiUpper,
    /// The default Unicode collation element table's primary weights.
    UnicodePrimary,
}

struct Description {
    id: u16,
    name: &'static str,
    charset: Charset,
    weights: Weights,
    pad_space: bool,
}

const fn row(
    id: u16,
    name: &'static str,
    charset: Charset,
    weights: Weights,
    pad_space: bool,
) -> Description {
    Description { id, name, charset, weights, pad_space }
}

/// Source: the manual's chapter on character sets ("SHOW COLLATION" and "Unicode Character Sets").
const COLLATIONS: &[Description] = &[
    row(8, "latin1_swedish_ci", Charset::Latin1, Weights::AsciiUpper, true),
    row(11, "ascii_general_ci", Charset::Ascii, Weights::AsciiUpper, true),
    row(33, "utf8mb3_general_ci", Charset::Utf8mb3, Weights::AsciiUpper, true),
    row(45, "utf8mb4_general_ci", Charset::Utf8mb4, Weights::AsciiUpper, true),
    row(46, "utf8mb4_bin", Charset::Utf8mb4, Weights::Bytes, true),
    row(47, "latin1_bin", Charset::Latin1, Weights::Bytes, true),
    row(63, "binary", Charset::Binary, Weights::Bytes, false),
    row(65, "ascii_bin", Charset::Ascii, Weights::Bytes, true),
    row(83, "utf8mb3_bin", Charset::Utf8mb3, Weights::Bytes, true),
    row(255, "utf8mb4_0900_ai_ci", Charset::Utf8mb4, Weights::UnicodePrimary, false),
    row(309, "utf8mb4_0900_bin", Charset::Utf8mb4, Weights::Bytes, false),
];

impl Collation {
    /// The collation of byte strings.
    pub const BINARY: Collation = Collation(63);
    /// MySQL 8's default for text.
    pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);

    /// All collations that Duramen knows, by id.
    pub fn all() -> impl Iterator<Item = Collation> {
        COLLATIONS.iter().map(|d| Collation(d.id))
    }

    /// The collation of this name, in any case; `utf8_` stands for `utf8mb3_`.
    pub fn by_name(name: &str) -> Option<Collation> {
        let lower = name.to_ascii_lowercase();
        let canonical = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        COLLATIONS.iter().find(|d| d.name == canonical).map(|d| Collation(d.id))
    }

    /// The collation with this id, if it is known.
    pub fn by_id(id: u16) -> Option<Collation> {
        COLLATIONS.iter().any(|d| d.id == id).then_some(Collation(id))
    }

    fn description(self) -> &'static Description {
        const BINARY: &Description = &row(63, "binary", Charset::Binary, Weights::Bytes, false);
        COLLATIONS.iter().find(|d| d.id == self.0).unwrap_or(BINARY)
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// The character set it orders.
    pub fn charset(self) -> Charset {
        self.description().charset
    }

    /// True if trailing spaces don't count.
    pub fn pads_space(self) -> bool {
        self.description().pad_space
    }

    /// True if equal texts are equal bytes (but for trailing spaces where the collation pads).
    pub fn is_binary(self) -> bool {
        self.description().weights == Weights::Bytes
    }

    /// True if it is its set's default.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// Compares two texts of the collation's set. Error 1235 for text that the collation can't weigh yet.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Result<Ordering> {
        let d = self.description();
        if a == b {
            return Ok(Ordering::Equal);
        }
        let (a, b) = if d.pad_space { (trim_spaces(a), trim_spaces(b)) } else { (a, b) };
        if d.weights == Weights::Bytes {
            return Ok(if d.pad_space {
                compare_padded(a.iter().copied(), b.iter().copied())
            } else {
                a.cmp(b)
            });
        }
        d.check_weighable(a)?;
        d.check_weighable(b)?;
        let (a, b) = (d.weigh(a), d.weigh(b));
        Ok(if d.pad_space { compare_padded(a, b) } else { a.cmp(b) })
    }

    /// Appends bytes that compare, as bytes, like the text does under this collation. They end where the text ends:
    /// a caller that puts something behind them has to delimit.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let d = self.description();
        let text = if d.pad_space { trim_spaces(text) } else { text };
        if d.weights == Weights::Bytes {
            out.extend_from_slice(text);
            return Ok(());
        }
        d.check_weighable(text)?;
        out.extend(d.weigh(text));
        Ok(())
    }

    /// Refuses text that the collation can't weigh yet, with error 1235.
    pub fn check(self, text: &[u8]) -> Result<()> {
        self.description().check_weighable(text)
    }

    /// The weight of one ASCII byte, for LIKE and other character-wise work; the byte itself beyond ASCII.
    pub fn fold(self, byte: u8) -> u8 {
        match self.description().weights {
            Weights::Bytes => byte,
            Weights::AsciiUpper | Weights::UnicodePrimary => byte.to_ascii_uppercase(),
        }
    }
}

impl Description {
    fn check_weighable(&self, text: &[u8]) -> Result<()> {
        if self.weights == Weights::Bytes || text.is_ascii() {
            return Ok(());
        }
        Err(SqlError::unsupported(format_args!("comparing non-ASCII text under {}", self.name)))
    }

    fn weigh<'a>(&self, text: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        let table: &'static [u8; 128] = match self.weights {
            Weights::UnicodePrimary => &UNICODE_PRIMARY,
            _ => &ASCII_UPPER,
        };
        text.iter().map(move |&b| table[usize::from(b & 0x7f)]).filter(|&w| w != IGNORED)
    }
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    &text[..end]
}

/// Compares as if the shorter one went on with spaces.
fn compare_padded(mut a: impl Iterator<Item = u8>, mut b: impl Iterator<Item = u8>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => match x.unwrap_or(b' ').cmp(&y.unwrap_or(b' ')) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
}

/// The weight of characters that don't count at all.
const IGNORED: u8 = 0xff;

const ASCII_UPPER: [u8; 128] = {
    let mut table = [0; 128];
    let mut i = 0;
    while i < 128 {
        table[i] = (i as u8).to_ascii_uppercase();
        i += 1;
    }
    table
};

/// ASCII in the order of the default Unicode collation element table: white space, punctuation, symbols, digits,
/// letters; the other control characters are ignorable.
const UNICODE_PRIMARY: [u8; 128] = {
    let order = b"\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut table = [IGNORED; 128];
    let mut i = 0;
    while i < order.len() {
        let c = order[i];
        table[c as usize] = i as u8 + 1;
        table[c.to_ascii_lowercase() as usize] = i as u8 + 1;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(collation: &str, a: &str, b: &str) -> Ordering {
        let collation = Collation::by_name(collation).unwrap();
        let order = collation.compare(a.as_bytes(), b.as_bytes()).unwrap();
        let key = |s: &str| {
            let mut out = Vec::new();
            collation.sort_key(s.as_bytes(), &mut out).unwrap();
            out
        };
        if !a.chars().chain(b.chars()).any(|c| c < ' ') || !collation.pads_space() {
            assert_eq!(key(a).cmp(&key(b)), order, "sort keys agree with the comparison of {a:?} and {b:?}");
        }
        order
    }

    #[test]
    fn case_and_padding() {
        use Ordering::*;
        assert_eq!(compare("utf8mb4_0900_ai_ci", "abc", "ABC"), Equal);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "abc", "abc "), Less);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "a\0b", "ab"), Equal);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "_", "0"), Less);
        assert_eq!(compare("utf8mb4_0900_ai_ci", "$", "~"), Greater);
        assert_eq!(compare("utf8mb4_general_ci", "abc", "ABC  "), Equal);
        assert_eq!(compare("utf8mb4_general_ci", "_", "a"), Greater);
        assert_eq!(compare("utf8mb4_bin", "a", "A"), Greater);
        assert_eq!(compare("utf8mb4_bin", "a", "a "), Equal);
        assert_eq!(compare("utf8mb4_bin", "a", "a\t"), Greater);
        assert_eq!(compare("utf8mb4_0900_bin", "a", "a "), Less);
        assert_eq!(compare("binary", "a", "a "), Less);
    }

    #[test]
    fn text_that_cannot_be_weighed_is_refused() {
        let ci = Collation::UTF8MB4_0900_AI_CI;
        assert_eq!(ci.compare("é".as_bytes(), b"e").unwrap_err().number, 1235);
        assert_eq!(ci.compare("é".as_bytes(), "é".as_bytes()), Ok(Ordering::Equal));
        assert_eq!(Collation(46).compare("é".as_bytes(), b"e"), Ok(Ordering::Greater));
    }

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
