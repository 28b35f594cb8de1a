//! Column types, as declared. Ranges and defaults (what `CHAR` without a length is, what
//! `TEXT(70000)` becomes) are the executor's business.

use super::{Ident, Text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// TINYINT to BIGINT. `BOOL` is `TINYINT(1)`; `SERIAL` is a `BIGINT UNSIGNED` with attributes.
    Integer {
        size: IntegerSize,
        width: Option<u32>,
        sign: Sign,
    },
    /// `DECIMAL`, `NUMERIC`, `FIXED`
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: Sign,
    },
    /// `FLOAT`, `FLOAT(p)` and `FLOAT(m, d)`.
    Float {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: Sign,
    },
    /// `DOUBLE`, and `REAL` unless REAL_AS_FLOAT is set.
    Double {
        precision: Option<u32>,
        scale: Option<u32>,
        sign: Sign,
    },
    Bit {
        width: Option<u32>,
    },
    Char {
        length: Option<u64>,
        charset: Charset,
    },
    Varchar {
        length: u64,
        charset: Charset,
    },
    Binary {
        length: Option<u64>,
    },
    Varbinary {
        length: u64,
    },
    Text {
        size: LobSize,
        length: Option<u64>,
        charset: Charset,
    },
    Blob {
        size: LobSize,
        length: Option<u64>,
    },
    Enum {
        members: Vec<Text>,
        charset: Charset,
    },
    Set {
        members: Vec<Text>,
        charset: Charset,
    },
    Date,
    /// Digits after the second: 0 if absent.
    Time {
        precision: Option<u32>,
    },
    Datetime {
        precision: Option<u32>,
    },
    Timestamp {
        precision: Option<u32>,
    },
    Year,
    Json,
    Geometry(GeometryKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntegerSize {
    Tiny,
    Small,
    Medium,
    Int,
    Big,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LobSize {
    Tiny,
    /// `TEXT`, `BLOB`, of which a length chooses the size.
    Normal,
    Medium,
    Long,
}

/// ZEROFILL implies UNSIGNED; both are set then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sign {
    pub unsigned: bool,
    pub zerofill: bool,
}

/// What was said of a character type's character set. `ASCII` is latin1, `UNICODE` ucs2, `NATIONAL`
/// utf8mb3, `BYTE` binary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Charset {
    pub charset: Option<Ident>,
    pub collation: Option<Ident>,
    /// The attribute `BINARY`: the character set's `_bin` collation.
    pub binary: bool,
}

impl DataType {
    /// What is said of the character set, if the type has one.
    pub fn charset(&self) -> Option<&Charset> {
        match self {
            DataType::Char { charset, .. }
            | DataType::Varchar { charset, .. }
            | DataType::Text { charset, .. }
            | DataType::Enum { charset, .. }
            | DataType::Set { charset, .. } => Some(charset),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeometryKind {
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

impl DataType {
    /// What was said of the character set, if the type has one.
    pub(crate) fn charset_mut(&mut self) -> Option<&mut Charset> {
        use DataType::*;
        match self {
            Char { charset, .. }
            | Varchar { charset, .. }
            | Text { charset, .. }
            | Enum { charset, .. }
            | Set { charset, .. } => Some(charset),
            _ => None,
        }
    }
}
