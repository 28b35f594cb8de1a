//! Index keys: bytes that compare, one after the other, as the columns' values do.
//!
//! A key is its parts' encodings back to back, each of them *prefix-free* and in the order of its
//! values, so that concatenation keeps the order and a key can be taken apart again without a
//! separator:
//!
//! | part | bytes |
//! | --- | --- |
//! | nullable column | `00` for NULL, else `01` and the value; NULL sorts first |
//! | integer, YEAR, DATE, ENUM, SET | big-endian, the sign bit flipped if signed |
//! | FLOAT, DOUBLE | big-endian IEEE bits, flipped so that they ascend; -0 is 0 |
//! | DECIMAL, TIME, DATETIME, TIMESTAMP, BIT | as in the row image, which is in order already |
//! | string | see [`collation`] |
//! | descending part | all its bytes inverted, the NULL marker too |
//!
//! A secondary index's key goes on with the row's primary key, which makes it unique and leads to
//! the row.
//!
//! (K1) For two rows, the order of their keys is the order of their values, part by part.
//! (K2) No encoding of a part is the beginning of another encoding of that part.
//! (K3) Whether a column can be a key part is known when the schema is made, not when a row comes.

pub mod collation;
#[cfg(test)]
mod tests;

use binlog::row::{BINARY_COLLATION, ColumnType, code};

use collation::{Collation, Collations};
use smallvec::SmallVec;

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Columns of this type can't be in a key.
    #[error("a column of type {0} can't be part of a key")]
    Type(u8),
    /// The collation's order is not known.
    #[error("keys of collation {0} are not supported")]
    Collation(u16),
    /// A prefix length for a column that is no string, or one of zero.
    #[error("a prefix length is only for strings, and not zero")]
    Prefix,
    /// A BLOB or TEXT column without a prefix length.
    #[error("a BLOB or TEXT column needs a prefix length in a key")]
    PrefixMissing,
    /// The row image or the key is not what its schema says.
    #[error("a row image or key does not fit its schema")]
    Malformed,
    /// A part is longer than [`PART_LEN_MAX`].
    #[error("a key is too long")]
    TooLong,
}

/// The longest encoding of one part, in bytes. InnoDB's limit for a whole key is 3072 bytes, which
/// encoding at most doubles; a collation's weights are longer than that only for text nobody
/// writes.
pub(crate) const PART_LEN_MAX: usize = 16 << 10;
/// The most parts a key may have, as in MySQL.
pub const PARTS_MAX: usize = 16;

/// What encodes one part of a key.
#[derive(Debug, Clone)]
pub(crate) struct PartCodec {
    pub(crate) column: usize,
    nullable: bool,
    descending: bool,
    encoding: PartEncoding,
}

#[derive(Debug, Clone)]
enum PartEncoding {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    InOrder(usize),
    Text { length_len: usize, prefix: Option<usize>, padding: Option<u8>, collation: Collation },
}

const NULL: u8 = 0;
const NOT_NULL: u8 = 1;

impl PartCodec {
    /// Finds out how to encode a column (K3).
    pub(crate) fn new(
        column: usize,
        ty: &ColumnType,
        nullable: bool,
        prefix_len: Option<u32>,
        descending: bool,
        collations: &dyn Collations,
    ) -> Result<Self, KeyError> {
        let encoding = PartEncoding::new(ty, prefix_len, collations)?;
        if prefix_len.is_some() && !matches!(encoding, PartEncoding::Text { .. }) || prefix_len == Some(0) {
            return Err(KeyError::Prefix);
        }
        Ok(Self { column, nullable, descending, encoding })
    }

    /// True if the column can be NULL.
    pub(crate) fn nullable(&self) -> bool {
        self.nullable
    }

    /// Appends the encoding of a value, given as in a row image.
    pub(crate) fn encode(&self, raw: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), KeyError> {
        let start = out.len();
        match raw {
            Some(raw) => {
                if self.nullable {
                    out.push(NOT_NULL);
                }
                self.encoding.encode(raw, out)?;
            }
            None if self.nullable => out.push(NULL),
            None => return Err(KeyError::Malformed),
        }
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        if out.len() - start <= PART_LEN_MAX { Ok(()) } else { Err(KeyError::TooLong) }
    }

    /// True if the part that `key` begins with is NULL.
    pub(crate) fn is_null(&self, key: &[u8]) -> bool {
        let flip = if self.descending { 0xff } else { 0 };
        self.nullable && key.first().is_some_and(|first| first ^ flip == NULL)
    }

    /// True if [`Self::decode`] gives what [`Self::encode`] got. A text's bytes can't be derived
    /// from its weights, and zero has no sign in a key.
    pub(crate) fn is_decodable(&self) -> bool {
        !matches!(self.encoding, PartEncoding::Text { .. } | PartEncoding::Float(_))
    }

    /// Appends the value that a part encodes, as a row image has it; false for NULL, and for what
    /// can't be decoded.
    pub(crate) fn decode(&self, part: &[u8], out: &mut Vec<u8>) -> bool {
        if self.is_null(part) || !self.is_decodable() {
            return false;
        }
        let start = out.len();
        let value = &part[usize::from(self.nullable)..];
        match self.encoding {
            PartEncoding::InOrder(_) => out.extend_from_slice(value),
            _ => out.extend(value.iter().rev()),
        }
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        if let (PartEncoding::Signed(_), Some(last)) = (&self.encoding, out.last_mut()) {
            *last ^= 0x80;
        }
        true
    }

    /// The length of the part that `key` begins with.
    pub(crate) fn skip(&self, key: &[u8]) -> Result<usize, KeyError> {
        let flip = if self.descending { 0xff } else { 0 };
        let marker = usize::from(self.nullable);
        if self.nullable && key.first().ok_or(KeyError::Malformed)? ^ flip == NULL {
            return Ok(marker);
        }
        let len = match &self.encoding {
            PartEncoding::Signed(len)
            | PartEncoding::Unsigned(len)
            | PartEncoding::Float(len)
            | PartEncoding::InOrder(len) => *len,
            PartEncoding::Text { collation, .. } => collation.skip(&key[marker..], self.descending)?,
        };
        if marker + len <= key.len() { Ok(marker + len) } else { Err(KeyError::Malformed) }
    }
}

impl PartEncoding {
    fn new(ty: &ColumnType, prefix_len: Option<u32>, collations: &dyn Collations) -> Result<Self, KeyError> {
        ty.validate().map_err(|_| KeyError::Type(ty.code))?;
        let len = ty.fixed_len().unwrap_or(0);
        Ok(match ty.code {
            code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG if !ty.unsigned => {
                PartEncoding::Signed(len)
            }
            code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => {
                PartEncoding::Unsigned(len)
            }
            code::YEAR | code::DATE | code::NEWDATE | code::ENUM | code::SET => PartEncoding::Unsigned(len),
            code::FLOAT | code::DOUBLE => PartEncoding::Float(len),
            code::NEWDECIMAL | code::TIME2 | code::DATETIME2 | code::TIMESTAMP2 | code::BIT => {
                PartEncoding::InOrder(len)
            }
            code::BLOB if prefix_len.is_none() => return Err(KeyError::PrefixMissing),
            code::STRING | code::VAR_STRING | code::VARCHAR | code::BLOB => {
                PartEncoding::text(ty, prefix_len, collations)?
            }
            other => return Err(KeyError::Type(other)),
        })
    }

    fn text(ty: &ColumnType, prefix_len: Option<u32>, collations: &dyn Collations) -> Result<Self, KeyError> {
        let collation = collations.get(ty.charset).ok_or(KeyError::Collation(ty.charset))?;
        // A row image omits the zeros that pad a BINARY(n), and the spaces that pad a CHAR(n). A
        // writer that doesn't omit them has the same value.
        let padding = match (ty.code, ty.charset) {
            (code::STRING, BINARY_COLLATION) => Some(0),
            (code::STRING, _) => Some(b' '),
            _ => None,
        };
        let prefix = prefix_len.map(|n| n as usize);
        Ok(PartEncoding::Text { length_len: ty.length_len(), prefix, padding, collation })
    }

    fn encode(&self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
        match self {
            PartEncoding::Signed(len)
            | PartEncoding::Unsigned(len)
            | PartEncoding::Float(len)
            | PartEncoding::InOrder(len)
                if *len != raw.len() =>
            {
                return Err(KeyError::Malformed);
            }
            PartEncoding::Signed(_) => {
                let start = out.len();
                put_reversed(raw, out);
                out[start] ^= 0x80;
            }
            PartEncoding::Unsigned(_) => put_reversed(raw, out),
            PartEncoding::Float(_) => encode_float(raw, out),
            PartEncoding::InOrder(_) => out.extend_from_slice(raw),
            PartEncoding::Text { length_len, prefix, padding, collation } => {
                let mut text = raw.get(*length_len..).ok_or(KeyError::Malformed)?;
                if let Some(count) = prefix {
                    text = collation.prefix(text, *count);
                }
                if let Some(padding) = padding {
                    let end = text.iter().rposition(|b| b != padding).map_or(0, |last| last + 1);
                    text = &text[..end];
                }
                if text.len() > PART_LEN_MAX {
                    return Err(KeyError::TooLong);
                }
                collation.order.encode(text, out);
            }
        }
        Ok(())
    }
}

/// Appends the bytes of a little-endian number, the last one first: those of INT and BIGINT at
/// once.
fn put_reversed(raw: &[u8], out: &mut Vec<u8>) {
    if let Ok(number) = raw.try_into().map(u32::from_le_bytes) {
        out.extend_from_slice(&number.to_be_bytes());
    } else if let Ok(number) = raw.try_into().map(u64::from_le_bytes) {
        out.extend_from_slice(&number.to_be_bytes());
    } else {
        out.extend(raw.iter().rev());
    }
}

/// Little-endian IEEE bits (4 or 8 bytes) to bytes in order: positive numbers get the sign bit set,
/// negative ones are inverted.
fn encode_float(raw: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(raw.iter().rev());
    let bits = &mut out[start..];
    if bits[0] == 0x80 && bits[1..].iter().all(|&b| b == 0) {
        bits[0] = 0; // -0 equals 0
    }
    if bits[0] & 0x80 == 0 {
        bits[0] |= 0x80;
    } else {
        bits.iter_mut().for_each(|b| *b = !*b);
    }
}

/// A key, or the end of a range of keys. That of a few numbers needs no memory of its own.
pub type KeyBytes = SmallVec<[u8; 24]>;

/// The first key after all keys that begin with `prefix`; `None` if no key is greater than all of
/// them.
pub(crate) fn prefix_successor(prefix: &[u8]) -> Option<KeyBytes> {
    let last = prefix.iter().rposition(|&b| b != 0xff)?;
    let mut next = KeyBytes::from_slice(&prefix[..=last]);
    next[last] += 1;
    Some(next)
}
