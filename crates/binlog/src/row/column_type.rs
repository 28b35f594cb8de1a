//! What a table map says of a column, and how many bytes such a value takes.

use super::RowError;

/// Type numbers, `MYSQL_TYPE_*`.
#[allow(missing_docs)] // the names are MySQL's
pub mod code {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// The collation number of binary strings.
pub const BINARY_COLLATION: u16 = 63;

/// A column's type.
///
/// | code | `meta` |
/// | --- | --- |
/// | FLOAT, DOUBLE | bytes: 4, 8 |
/// | NEWDECIMAL | precision << 8 \| scale |
/// | VARCHAR, VAR_STRING, STRING | longest value in bytes |
/// | BIT | number of bits |
/// | ENUM, SET | bytes a value takes |
/// | BLOB, JSON, GEOMETRY, VECTOR | bytes of the length before the value |
/// | TIME2, DATETIME2, TIMESTAMP2 | digits of fractional seconds |
///
/// ENUM and SET have their own code here; a table map has them as STRING.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// A constant of [`code`].
    pub code: u8,
    /// See above; 0 for other types.
    pub meta: u16,
    /// Integers, and nominally FLOAT, DOUBLE and DECIMAL.
    pub unsigned: bool,
    /// Collation by number, for character types, ENUM and SET; [`BINARY_COLLATION`] for binary
    /// strings; 0 if not known.
    pub charset: u16,
}

impl ColumnType {
    /// A type without sign or collation.
    pub const fn new(code: u8, meta: u16) -> Self {
        Self { code, meta, unsigned: false, charset: 0 }
    }

    /// The same, unsigned.
    pub const fn unsigned(self) -> Self {
        Self { unsigned: true, ..self }
    }

    /// The same with a collation.
    pub const fn with_charset(self, charset: u16) -> Self {
        Self { charset, ..self }
    }

    /// True for the types that a table map's signedness bits count.
    pub(crate) const fn is_numeric(&self) -> bool {
        matches!(
            self.code,
            code::TINY
                | code::SHORT
                | code::INT24
                | code::LONG
                | code::LONGLONG
                | code::YEAR
                | code::FLOAT
                | code::DOUBLE
                | code::NEWDECIMAL
        )
    }

    /// True for the types that a table map's character sets count: strings and texts, binary ones
    /// too.
    pub(crate) const fn is_character(&self) -> bool {
        matches!(self.code, code::STRING | code::VAR_STRING | code::VARCHAR | code::BLOB)
    }

    /// True for ENUM and SET.
    pub(crate) const fn is_enum_or_set(&self) -> bool {
        matches!(self.code, code::ENUM | code::SET)
    }

    /// Bytes of every value, where they don't differ.
    #[inline]
    pub const fn fixed_len(&self) -> Option<usize> {
        Some(match self.code {
            code::TINY | code::YEAR => 1,
            code::SHORT => 2,
            code::INT24 | code::DATE | code::NEWDATE | code::TIME => 3,
            code::LONG | code::FLOAT | code::TIMESTAMP => 4,
            code::LONGLONG | code::DOUBLE | code::DATETIME => 8,
            code::NEWDECIMAL => super::decimal::encoded_len((self.meta >> 8) as u8, self.meta as u8),
            code::TIME2 => 3 + fraction_len(self.meta),
            code::DATETIME2 => 5 + fraction_len(self.meta),
            code::TIMESTAMP2 => 4 + fraction_len(self.meta),
            code::BIT => (self.meta as usize).div_ceil(8),
            code::ENUM | code::SET => self.meta as usize,
            code::NULL => 0,
            _ => return None,
        })
    }

    /// Bytes of the length that stands before a value; 0 for types of fixed size.
    #[inline]
    pub const fn length_len(&self) -> usize {
        match self.code {
            code::VARCHAR | code::VAR_STRING | code::STRING => 1 + (self.meta > 255) as usize,
            code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR => self.meta as usize,
            _ => 0,
        }
    }

    /// What says how long a value is.
    pub fn width(&self) -> Width {
        match self.fixed_len() {
            Some(len) => Width::Fixed(len),
            None => Width::Counted(self.length_len()),
        }
    }

    /// Bytes that the value at the start of `bytes` takes, its length included.
    ///
    /// # Errors
    /// [`RowError::Truncated`] if there are fewer bytes.
    #[inline]
    pub fn value_len(&self, bytes: &[u8]) -> Result<usize, RowError> {
        self.width().value_len(bytes)
    }

    /// Checks that the code is known and `meta` possible, so that the rest of the codec need not.
    ///
    /// # Errors
    /// [`RowError::UnknownType`] and [`RowError::BadMetadata`].
    pub fn validate(&self) -> Result<(), RowError> {
        let ok = match self.code {
            code::TINY..=code::NEWDATE if !matches!(self.code, code::FLOAT | code::DOUBLE) => true,
            code::FLOAT => self.meta == 4,
            code::DOUBLE => self.meta == 8,
            code::VARCHAR | code::VAR_STRING => true,
            code::STRING => self.meta <= 1023,
            code::BIT => (1..=64).contains(&self.meta),
            code::TIMESTAMP2 | code::DATETIME2 | code::TIME2 => self.meta <= 6,
            code::NEWDECIMAL => {
                let (precision, scale) = (self.meta >> 8, self.meta & 0xff);
                (1..=65).contains(&precision) && scale <= 30.min(precision)
            }
            code::ENUM => (1..=2).contains(&self.meta),
            code::SET => (1..=8).contains(&self.meta),
            code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR => (1..=4).contains(&self.meta),
            _ => return Err(RowError::UnknownType(self.code)),
        };
        if ok { Ok(()) } else { Err(RowError::BadMetadata(self.code, self.meta)) }
    }
}

/// What says how many bytes a column's value takes. Asked of the type once, it is known for all
/// rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The type: so many.
    Fixed(usize),
    /// A length of so many bytes before the value.
    Counted(usize),
}

impl Width {
    /// Bytes that the value at the start of `bytes` takes, its length included.
    ///
    /// # Errors
    /// [`RowError::Truncated`] if there are fewer bytes.
    #[inline]
    pub fn value_len(self, bytes: &[u8]) -> Result<usize, RowError> {
        let len = match self {
            Width::Fixed(len) => len,
            Width::Counted(prefix) => prefix + read_length(bytes, prefix)?,
        };
        if len <= bytes.len() { Ok(len) } else { Err(RowError::Truncated) }
    }
}

/// Bytes that fractional seconds of so many digits take.
pub(super) const fn fraction_len(digits: u16) -> usize {
    let bytes = (digits as usize).div_ceil(2);
    if bytes < 3 { bytes } else { 3 }
}

/// Reads a little-endian length of `n` bytes (at most 4).
#[inline]
pub(super) fn read_length(bytes: &[u8], n: usize) -> Result<usize, RowError> {
    let prefix = bytes.get(..n).ok_or(RowError::Truncated)?;
    Ok(match *prefix {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]) as usize,
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => return Err(RowError::Truncated),
    })
}
