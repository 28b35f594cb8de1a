//! Collations: how text compares.
//!
//! A [`Collation`] is the MySQL collation id and nothing else; everything known of it stands in one
//! table ([`list`]). Its operations are one set, which all of SQL and the storage's keys share:
//! [`Collation::compare`]; [`Collation::sort_key`], bytes that sort like the text, for keys,
//! orders, groups and hashes; [`Collation::same_character`] for LIKE; [`Collation::find`];
//! [`Collation::change_case`]; [`Collation::weight_string`].
//!
//! (C1) `a` and `b` compare as their sort keys do, byte by byte; equal texts have equal keys.
//! (C2) No operation fails or panics, whatever the bytes: what is no text of the set is weighed
//!      somehow.
//!
//! - [`list`]: the collations, with what SHOW COLLATION says of them; [`languages`]: the orders of
//!   single languages. [`table`], [`tailoring`]: the formats of the data files.
//! - [`unicode`], [`single_byte`]: the orders that need tables. [`elements`]: what one character
//!   weighs. [`search`]: a text within another. [`key_code`]: weights as a key's bytes. [`case`]:
//!   upper and lower case.

mod case;
mod elements;
mod key_code;
mod languages;
mod list;
mod search;
mod single_byte;
mod table;
mod tailoring;
#[cfg(test)]
mod tests;
mod unicode;

use std::borrow::Cow;
use std::cmp::Ordering;

use storage::key::collation::{Characters, Collation as KeyCollation, Order};

use super::Charset;
use crate::error::Result;
use list::{Cases, Description, Rule};

/// A collation, by MySQL's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub u16);

impl Collation {
    /// The collation of byte strings.
    pub const BINARY: Collation = Collation(63);
    /// MySQL 8's default for text.
    pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);
    /// What JSON text has.
    pub const UTF8MB4_BIN: Collation = Collation(46);

    /// All collations that Duramen knows, by id.
    pub fn all() -> impl Iterator<Item = Collation> {
        list::COLLATIONS.iter().map(|d| Collation(d.id))
    }

    /// The collation of this name, in any case; `utf8_` stands for `utf8mb3_`.
    pub fn by_name(name: &str) -> Option<Collation> {
        let lower = name.to_ascii_lowercase();
        let canonical = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        list::COLLATIONS.iter().find(|d| d.name == canonical).map(|d| Collation(d.id))
    }

    /// The collation with this id, if it is known.
    pub fn by_id(id: u16) -> Option<Collation> {
        list::find(id).map(|d| Collation(d.id))
    }

    fn description(self) -> &'static Description {
        list::find(self.0).unwrap_or(&list::BINARY)
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

    /// What fills up a text to a fixed length: zeros for bytes, nothing where trailing spaces
    /// count.
    pub fn padding(self) -> Option<u8> {
        match self {
            Collation::BINARY => Some(0),
            _ => self.pads_space().then_some(b' '),
        }
    }

    /// How much memory sorting takes for each byte, as SHOW COLLATION says.
    pub fn sort_length(self) -> u8 {
        self.description().sort_length
    }

    /// True if there are characters that weigh together what they don't weigh one by one, such as
    /// `ch` in Czech.
    pub fn has_contractions(self) -> bool {
        matches!(self.description().rule, Rule::Unicode(order) if order.has_contractions())
    }

    /// True if it is its set's default.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// Compares two texts of the collation's set.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let d = self.description();
        match d.rule {
            Rule::Bytes if d.pad_space => compare_padded(a, b),
            Rule::Bytes => a.cmp(b),
            Rule::SingleByte(order) => order.compare(a, b),
            Rule::Unicode(order) => order.compare(a, b),
        }
    }

    /// Appends bytes that compare, as bytes, like the text does under this collation; none is the
    /// beginning of another, so that more may follow. They are the same that stand in index keys.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        self.for_keys().order.encode(text, out);
    }

    /// What index keys need of it.
    pub fn for_keys(self) -> KeyCollation {
        let d = self.description();
        let order = match d.rule {
            Rule::Bytes if d.pad_space => Order::PadSpace,
            Rule::Bytes => Order::Bytes,
            Rule::SingleByte(order) => Order::Weights(order),
            Rule::Unicode(order) => Order::Weights(&**order),
        };
        let characters = match d.charset {
            Charset::Utf8mb3 | Charset::Utf8mb4 => Characters::Utf8,
            Charset::Binary | Charset::Ascii | Charset::Latin1 => Characters::Bytes,
        };
        KeyCollation { order, characters }
    }

    /// True if two characters, each given as its bytes, are the same to LIKE.
    pub fn same_character(self, a: &[u8], b: &[u8]) -> bool {
        match self.description().rule {
            Rule::Bytes => a == b,
            Rule::SingleByte(order) => a.len() == b.len() && order.begins_with(a, b),
            Rule::Unicode(order) => order.same_character(a, b),
        }
    }

    /// The first place from byte `from` on, at a character, where `text` goes on with `needle`:
    /// where the weights of the rest begin with the needle's. The length of what matched need not
    /// be the needle's. Linear in both; error 1317 if the statement was killed, 3170 if it would
    /// take too much memory.
    pub fn find(self, text: &[u8], needle: &[u8], from: usize) -> Result<Option<usize>> {
        let d = self.description();
        let is_utf8 = matches!(d.charset, Charset::Utf8mb3 | Charset::Utf8mb4);
        let is_within_character = |byte: Option<&u8>| is_utf8 && byte.is_some_and(|b| b & 0xc0 == 0x80);
        let first = (from..=text.len()).find(|&at| !is_within_character(text.get(at)));
        let Some(first) = first else { return Ok(None) };
        let rest = &text[first..];
        let found = match d.rule {
            // A text's first byte never looks like one within a character.
            Rule::Bytes if is_within_character(needle.first()) => None,
            Rule::Bytes => memchr::memmem::find(rest, needle),
            Rule::SingleByte(order) => {
                let weights =
                    rest.iter().enumerate().map(|(at, &byte)| (at, true, order.weight(byte).into()));
                search::find(weights, needle.iter().map(|&byte| order.weight(byte).into()), |at| {
                    Ok(Some(at))
                })?
            }
            Rule::Unicode(order) => order.find(rest, needle)?,
        };
        Ok(found.map(|at| first + at))
    }

    /// UPPER() and LOWER(). A character becomes one character; bytes have no case.
    pub fn change_case<'a>(self, text: Cow<'a, [u8]>, upper: bool) -> Cow<'a, [u8]> {
        match self.description().cases {
            Cases::None => text,
            Cases::Unicode(map) => Cow::Owned(map.map(&text, upper)),
            Cases::Turkish(map) => Cow::Owned(map.map_turkish(&text, upper)),
            Cases::Latin1 => {
                case::map_bytes(text, if upper { list::LATIN1_UPPER } else { list::LATIN1_LOWER })
            }
        }
    }

    /// WEIGHT_STRING(): what the text is compared by, in MySQL's form; ends soon after `max`
    /// bytes, or when the statement is to end.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>, max: usize) {
        let d = self.description();
        match d.rule {
            Rule::SingleByte(order) => order.weight_string(text, out),
            Rule::Unicode(order) => order.weight_string(text, out, max),
            Rule::Bytes if d.pad_space && matches!(d.charset, Charset::Utf8mb3 | Charset::Utf8mb4) => {
                // Code points, as wide as the set's widest.
                let mut rest = text;
                while out.len() <= max
                    && let Some(c) = unicode::next_char(&mut rest)
                {
                    let wide = c.to_be_bytes();
                    out.extend_from_slice(if d.charset == Charset::Utf8mb4 {
                        &wide[1..]
                    } else {
                        &wide[2..]
                    });
                }
            }
            Rule::Bytes => out.extend_from_slice(text),
        }
    }
}

/// Compares byte by byte as if the shorter one went on with spaces.
fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let with_spaces =
        |rest: &[u8]| rest.iter().find(|&&x| x != b' ').map_or(Ordering::Equal, |x| x.cmp(&b' '));
    a[..common]
        .cmp(&b[..common])
        .then_with(|| with_spaces(&a[common..]).then(with_spaces(&b[common..]).reverse()))
}
