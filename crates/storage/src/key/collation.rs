//! How strings become bytes that compare as their collation says, and end where they end.
//!
//! A key part must be followed by others without disturbing the order, so a string's encoding is
//! *prefix-free*: none is the beginning of another. Three orders:
//!
//! - `Bytes` (`binary`, NO PAD `_bin` collations): the bytes, with 00 written as `00 FF`, and
//!   `00 00` at the end. What ends first sorts first.
//! - `PadSpace` (other `_bin` collations): strings compare as if padded with endless spaces, so
//!   `'a' = 'a '` and `'a\t' < 'a'`. Trailing spaces are cut. What a space, or the end, sorts
//!   against depends on what follows the run of spaces it begins, so that is written after it:
//!   `20 01` if the run is followed by a byte below 20, `20 02` at the end, `20 03` if by a byte
//!   above. (Padding in fixed chunks, as others do it, makes short strings long.)
//! - `Weights`: a collation's weights, in a form without zeros that whoever has the tables defines,
//!   and a 00 at the end.

use std::fmt;

use super::KeyError;

/// A collation, as far as keys are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Collation {
    /// How strings compare.
    pub order: Order,
    /// How many bytes make a character, for prefix lengths.
    pub characters: Characters,
}

/// How strings compare.
#[derive(Clone, Copy)]
pub enum Order {
    /// Byte by byte; the shorter first.
    Bytes,
    /// Byte by byte, the shorter padded with spaces.
    PadSpace,
    /// Byte by byte, once the function has made weights of them.
    Weights(&'static dyn Weights),
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Bytes => "Bytes",
            Order::PadSpace => "PadSpace",
            Order::Weights(_) => "Weights",
        })
    }
}

/// A collation's weight function.
pub trait Weights: Send + Sync {
    /// Appends the weights of `text` as bytes other than zero: two texts compare as these compare
    /// byte by byte, the shorter first. A PAD SPACE collation takes care of trailing spaces itself.
    fn append(&self, text: &[u8], out: &mut Vec<u8>);
}

/// How many bytes make a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// As in `binary` and the single-byte character sets.
    Bytes,
    /// As UTF-8 has it.
    Utf8,
}

/// Where a table's schema finds its collations.
pub trait Collations {
    /// The collation with this number, if its order is known.
    fn get(&self, id: u16) -> Option<Collation>;
}

/// The collations that need no tables: `binary` and `_bin` ones of single-byte character sets and
/// UTF-8.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinaryCollations;

/// `_bin` of the single-byte character sets, by the numbers of `information_schema.COLLATIONS`:
/// macce, latin1, cp1251, macroman, cp1257, armscii8, ascii, cp1250, cp1256, cp866, dec8, greek,
/// hebrew, hp8, keybcs2, koi8r, koi8u, latin2, latin5, latin7, cp850, cp852, swe7, tis620, geostd8.
const SINGLE_BYTE: [u16; 25] =
    [43, 47, 50, 53, 58, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 77, 78, 79, 80, 81, 82, 89, 93];
const UTF8MB4_BIN: u16 = 46;
const BINARY: u16 = 63;
const UTF8MB3_BIN: u16 = 83;
const UTF8MB4_0900_BIN: u16 = 309;

impl Collations for BinaryCollations {
    fn get(&self, id: u16) -> Option<Collation> {
        let (order, characters) = match id {
            BINARY => (Order::Bytes, Characters::Bytes),
            UTF8MB4_0900_BIN => (Order::Bytes, Characters::Utf8),
            UTF8MB4_BIN | UTF8MB3_BIN => (Order::PadSpace, Characters::Utf8),
            _ if SINGLE_BYTE.contains(&id) => (Order::PadSpace, Characters::Bytes),
            _ => return None,
        };
        Some(Collation { order, characters })
    }
}

impl Order {
    /// Appends the encoding of `text`.
    pub fn encode(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Order::Bytes => encode_bytes(text, out),
            Order::PadSpace => encode_pad_space(text, out),
            Order::Weights(weights) => {
                let start = out.len();
                weights.append(text, out);
                debug_assert!(!out[start..].contains(&0), "a zero would end the weights");
                out.push(0);
            }
        }
    }
}

impl Collation {
    /// The length of the encoded string that `key` begins with; `inverted` if its bytes are
    /// (descending parts).
    pub(super) fn skip(&self, key: &[u8], inverted: bool) -> Result<usize, KeyError> {
        let flip = if inverted { 0xff } else { 0 };
        let (marker, end) = match self.order {
            Order::PadSpace => (b' ', END_OF_STRING),
            Order::Bytes => (0, 0),
            Order::Weights(_) => {
                let end = key.iter().position(|&b| b ^ flip == 0).ok_or(KeyError::Malformed)?;
                return Ok(end + 1);
            }
        };
        let mut at = 0;
        loop {
            let found = key[at..].iter().position(|&b| b ^ flip == marker).ok_or(KeyError::Malformed)?;
            let next = *key.get(at + found + 1).ok_or(KeyError::Malformed)?;
            at += found + 2;
            if next ^ flip == end {
                return Ok(at);
            }
        }
    }

    /// The first `count` characters of `text`.
    pub(crate) fn prefix<'a>(&self, text: &'a [u8], count: usize) -> &'a [u8] {
        let starts_character = |b: u8| b & 0xc0 != 0x80;
        let end = match self.characters {
            Characters::Bytes => Some(count),
            Characters::Utf8 => {
                let starts = text.iter().enumerate().filter(|&(_, &b)| starts_character(b));
                starts.map(|(at, _)| at).nth(count)
            }
        };
        &text[..end.unwrap_or(text.len()).min(text.len())]
    }
}

fn encode_bytes(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(zero) = text.iter().position(|&b| b == 0) {
        out.extend_from_slice(&text[..=zero]);
        out.push(0xff);
        text = &text[zero + 1..];
    }
    out.extend_from_slice(text);
    out.extend_from_slice(&[0, 0]);
}

const BEFORE_LOWER: u8 = 1;
const END_OF_STRING: u8 = 2;
const BEFORE_HIGHER: u8 = 3;

fn encode_pad_space(text: &[u8], out: &mut Vec<u8>) {
    let end = text.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    let mut rest = &text[..end];
    while let Some(space) = rest.iter().position(|&b| b == b' ') {
        out.extend_from_slice(&rest[..space]);
        rest = &rest[space..];
        let run = rest.iter().position(|&b| b != b' ').expect("trailing spaces are cut");
        let follows = if rest[run] < b' ' { BEFORE_LOWER } else { BEFORE_HIGHER };
        for _ in 0..run {
            out.extend_from_slice(&[b' ', follows]);
        }
        rest = &rest[run..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[b' ', END_OF_STRING]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::cmp::Ordering;

    fn encoded(collation: &Collation, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        collation.order.encode(text, &mut out);
        out
    }

    /// PAD SPACE by its definition.
    fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
        let at = |s: &[u8], i: usize| s.get(i).copied().unwrap_or(b' ');
        (0..a.len().max(b.len()))
            .map(|i| at(a, i).cmp(&at(b, i)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// All strings of up to four letters from an alphabet around the special bytes.
    fn strings() -> Vec<Vec<u8>> {
        let mut all = vec![vec![]];
        let mut from = 0;
        for _ in 0..4 {
            let to = all.len();
            for i in from..to {
                for letter in [0, 1, 0x1f, b' ', b'!', 0xff] {
                    let longer = [all[i].as_slice(), &[letter]].concat();
                    all.push(longer);
                }
            }
            from = to;
        }
        all
    }

    #[test]
    fn encodings_compare_as_the_strings_and_none_begins_another() {
        for id in [BINARY, UTF8MB4_BIN] {
            let compare = |a: &[u8], b: &[u8]| if id == BINARY { a.cmp(b) } else { compare_padded(a, b) };
            let collation = BinaryCollations.get(id).unwrap();
            let strings: Vec<_> = strings().into_iter().map(|s| (encoded(&collation, &s), s)).collect();
            for (key, s) in &strings {
                assert_eq!(collation.skip(&[key.as_slice(), b"tail"].concat(), false).unwrap(), key.len());
                for (other_key, other) in &strings {
                    assert_eq!(key.cmp(other_key), compare(s, other), "{s:?} {other:?}");
                    assert!(key == other_key || !key.starts_with(other_key));
                }
            }
        }
    }

    #[test]
    fn prefixes_count_characters() {
        let utf8 = BinaryCollations.get(UTF8MB4_BIN).unwrap();
        assert_eq!(utf8.prefix("héllo".as_bytes(), 2), "hé".as_bytes());
        assert_eq!(utf8.prefix("hé".as_bytes(), 9), "hé".as_bytes());
        assert_eq!(utf8.prefix(&[0x80, 0x80], 0), &[0x80, 0x80], "no character at all");
        let binary = BinaryCollations.get(BINARY).unwrap();
        assert_eq!(binary.prefix("hé".as_bytes(), 2), &"hé".as_bytes()[..2]);
    }

    #[test]
    fn a_cut_key_is_an_error() {
        for id in [BINARY, UTF8MB4_BIN] {
            let collation = BinaryCollations.get(id).unwrap();
            let key = encoded(&collation, b"a \0b");
            for cut in 0..key.len() {
                assert_eq!(collation.skip(&key[..cut], false), Err(KeyError::Malformed));
            }
        }
    }

    struct Doubled;

    impl Weights for Doubled {
        fn append(&self, text: &[u8], out: &mut Vec<u8>) {
            text.iter().for_each(|&b| out.extend([b, b]));
        }
    }

    #[test]
    fn weights_end_where_they_end() {
        let collation = Collation { order: Order::Weights(&Doubled), characters: Characters::Bytes };
        let key = encoded(&collation, b"ab");
        assert_eq!(key, b"aabb\0");
        assert_eq!(collation.skip(b"aabb\0tail", false), Ok(5));
        let inverted: Vec<u8> = key.iter().map(|b| !b).collect();
        assert_eq!(collation.skip(&inverted, true), Ok(5));
        assert_eq!(collation.skip(b"aabb", false), Err(KeyError::Malformed));
    }
}
