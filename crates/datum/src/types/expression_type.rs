//! An expression's static type: known before the first row, it chooses how operands compare and
//! what a result column says of itself.

use super::{Charset, Collation, DataType, code};
use crate::sink::{ColumnMeta, column_flag};

/// What kind of value an expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The literal NULL.
    Null,
    /// Integers; the sign is in [`Type::unsigned`].
    Integer,
    /// Exact decimals.
    Decimal,
    /// Single-precision numbers (columns only).
    Float,
    /// Double-precision numbers.
    Double,
    /// Text and byte strings.
    Text,
    /// BIT columns.
    Bit,
    /// Days of the calendar.
    Date,
    /// Times of day and spans of time.
    Time,
    /// Dates with a time, time stamps.
    DateTime,
    /// YEAR columns.
    Year,
    /// JSON documents.
    Json,
    /// ENUM and SET columns.
    Label,
}

impl Family {
    /// True for what is a number without conversion.
    pub fn is_numeric(self) -> bool {
        matches!(
            self,
            Family::Integer | Family::Decimal | Family::Float | Family::Double | Family::Bit | Family::Year
        )
    }

    /// True for dates and times.
    pub fn is_temporal(self) -> bool {
        matches!(self, Family::Date | Family::Time | Family::DateTime)
    }

    /// True for what has a collation.
    pub fn is_text(self) -> bool {
        matches!(self, Family::Text | Family::Label)
    }
}

/// How strongly a text insists on its collation; the lower one wins. The manual's "Collation
/// Coercibility".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// COLLATE.
    Explicit,
    /// Two that can't be brought together.
    None,
    /// A column, a routine's variable.
    Implicit,
    /// USER(), VERSION().
    System,
    /// A literal, a user variable.
    Literal,
    /// A number made text.
    Numeric,
    /// NULL.
    Ignorable,
}

/// Which type CREATE TABLE .. SELECT gives the column that it makes of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// One that holds its digits or characters.
    ByLength,
    /// The type that is reported to clients: of MIN, MAX, IFNULL and set operations.
    AsDescribed,
    /// One that holds its digits, but BIGINT for all that INT's may exceed: of subqueries that read
    /// tables. Of texts, also of set operations.
    OfSubquery,
}

/// An expression's static type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    /// What kind of value.
    pub family: Family,
    /// The collation of text; `binary` for byte strings and everything else.
    pub collation: Collation,
    /// How strongly it insists on it.
    pub coercibility: Coercibility,
    /// The longest value in characters.
    pub length: u32,
    /// Digits after the point or the second; 31 if not fixed.
    pub decimals: u8,
    /// Numbers: never negative.
    pub unsigned: bool,
    /// Integers: 1 and 0 mean true and false, as JSON has them.
    pub boolean: bool,
    /// It can be NULL.
    pub nullable: bool,
    /// What is reported to clients of it where that is narrower than the family: a column's type,
    /// or 0.
    pub code: u8,
    /// What a column is made of it as.
    pub made: Made,
}

/// [`Type::decimals`] of doubles.
pub const NOT_FIXED: u8 = 31;

impl Type {
    /// The character set that values are in as texts: JSON prints as utf8mb4, numbers and dates in
    /// ASCII, which every set contains.
    pub fn text_charset(&self) -> Charset {
        match self.family {
            Family::Json => Charset::Utf8mb4,
            family if family.is_text() => self.collation.charset(),
            _ => Charset::Ascii,
        }
    }

    const fn number(family: Family, length: u32, decimals: u8) -> Type {
        Type {
            family,
            collation: Collation::BINARY,
            coercibility: Coercibility::Numeric,
            length,
            decimals,
            unsigned: false,
            boolean: false,
            nullable: true,
            code: 0,
            made: Made::ByLength,
        }
    }

    /// The literal NULL.
    pub const NULL: Type = Type { coercibility: Coercibility::Ignorable, ..Type::number(Family::Null, 0, 0) };
    /// A truth value.
    pub const BOOL: Type = Type { boolean: true, ..Type::number(Family::Integer, 1, 0) };
    /// BIGINT.
    pub const INT: Type = Type::number(Family::Integer, 21, 0);
    /// BIGINT UNSIGNED.
    pub const UINT: Type = Type { unsigned: true, ..Type::number(Family::Integer, 21, 0) };
    /// Can be NULL; digits after the point are not fixed.
    pub const DOUBLE: Type = Type::number(Family::Double, 23, NOT_FIXED);
    /// Can be NULL; text in `utf8mb4_bin`.
    pub const JSON: Type = Type {
        collation: Collation::UTF8MB4_BIN,
        coercibility: Coercibility::Implicit,
        ..Type::number(Family::Json, u32::MAX / 4, NOT_FIXED)
    };
    /// Can be NULL; shown with 10 characters.
    pub const DATE: Type = Type::number(Family::Date, 10, 0);

    /// DECIMAL(precision, scale).
    pub const fn decimal(precision: u32, scale: u8) -> Type {
        // A sign, and a point where something is after it.
        Type::number(Family::Decimal, precision + 1 + (scale > 0) as u32, scale)
    }

    /// TIME(fsp).
    pub const fn time(fsp: u8) -> Type {
        Type::number(Family::Time, 10 + fsp as u32 + (fsp > 0) as u32, fsp)
    }

    /// DATETIME(fsp).
    pub const fn datetime(fsp: u8) -> Type {
        Type::number(Family::DateTime, 19 + fsp as u32 + (fsp > 0) as u32, fsp)
    }

    /// Text of at most so many characters.
    pub const fn text(collation: Collation, coercibility: Coercibility, length: u32) -> Type {
        Type { collation, coercibility, ..Type::number(Family::Text, length, NOT_FIXED) }
    }

    /// The same, never NULL.
    pub const fn not_null(self) -> Type {
        Type { nullable: false, ..self }
    }

    /// As a reference to one has it; `nullable` if it can be NULL there.
    pub fn of_column(ty: &DataType, nullable: bool) -> Type {
        if *ty == DataType::Json {
            return Type { nullable, decimals: 0, ..Type::JSON };
        }
        let (family, is_text) = match ty {
            DataType::Integer { .. } => (Family::Integer, false),
            DataType::Decimal { .. } => (Family::Decimal, false),
            DataType::Floating { double: true, .. } => (Family::Double, false),
            DataType::Floating { double: false, .. } => (Family::Float, false),
            DataType::Bit(_) => (Family::Bit, false),
            DataType::Char { .. } | DataType::VarChar { .. } | DataType::Lob { .. } => (Family::Text, true),
            DataType::Enum { .. } | DataType::Set { .. } => (Family::Label, true),
            DataType::Date => (Family::Date, false),
            DataType::Time(_) => (Family::Time, false),
            DataType::DateTime(_) | DataType::Timestamp(_) => (Family::DateTime, false),
            DataType::Year => (Family::Year, false),
            DataType::Json => (Family::Json, false),
        };
        Type {
            family,
            collation: ty.collation(),
            coercibility: if is_text || family == Family::Bit {
                Coercibility::Implicit
            } else {
                Coercibility::Numeric
            },
            length: match ty {
                DataType::Floating { double: true, digits: None, .. } => 22,
                _ => ty.display_length(),
            },
            decimals: ty.decimals(),
            unsigned: ty.is_unsigned(),
            boolean: false,
            nullable,
            code: match ty {
                DataType::Enum { .. } => code::ENUM,
                DataType::Set { .. } => code::SET,
                DataType::Integer { .. }
                | DataType::Timestamp(_)
                | DataType::Lob { .. }
                | DataType::Char { .. } => ty.protocol_code(),
                _ => 0,
            },
            made: Made::ByLength,
        }
    }

    /// Digits of a number before the point.
    pub fn integer_digits(&self) -> u32 {
        match self.family {
            Family::Decimal => self.precision().saturating_sub(u32::from(self.decimals)).max(1),
            Family::Integer if self.unsigned => self.length.clamp(1, 20),
            Family::Integer => self.length.saturating_sub(1).clamp(1, 20),
            Family::Bit => self.length.max(1),
            Family::Year => 4,
            Family::Date => 8,
            Family::Time => 7,
            Family::DateTime => 14,
            _ => 20,
        }
    }

    /// All digits of a decimal.
    pub fn precision(&self) -> u32 {
        self.length.saturating_sub(u32::from(self.decimals > 0) + u32::from(!self.unsigned)).max(1)
    }

    /// A double with a fixed number of digits after the point.
    pub fn fixed_double(length: u32, decimals: u8) -> Type {
        Type { length, decimals, ..Type::DOUBLE }
    }

    /// What leaves its column: an ENUM or SET is described as text, and all texts have no number of
    /// decimals.
    pub fn computed(self) -> Type {
        let made = Made::ByLength;
        match self.family {
            // A literal of bits has no sign and no decimals, though it is bytes.
            Family::Text if self.unsigned => Type { made, ..self },
            Family::Text | Family::Label | Family::Json => Type { decimals: NOT_FIXED, made, ..self },
            _ => Type { made, ..self },
        }
    }

    /// The same, a column made of which is of the type that is reported to clients.
    pub fn made_as_described(self) -> Type {
        Type { made: Made::AsDescribed, ..self }
    }

    /// BIGINT of so many digits.
    pub fn integer_of(digits: u32, unsigned: bool) -> Type {
        Type { unsigned, length: (digits + u32::from(!unsigned)).min(21), ..Type::INT }
    }

    /// The characters of the longest text that a value makes.
    pub fn text_length(&self) -> u32 {
        match self.family {
            // A literal's own digits say nothing of it.
            Family::Double => 22,
            _ => self.length,
        }
    }

    /// The bytes of the longest text.
    pub fn byte_length(&self) -> u32 {
        let is_text = self.family.is_text() || self.family == Family::Json;
        let width = if is_text { self.collation.charset().char_len_max() } else { 1 };
        self.text_length().saturating_mul(width)
    }

    /// The bytes of a value's text where its type alone counts: a double's have its own length,
    /// JSON's no end.
    pub fn value_bytes(&self) -> u32 {
        match self.family {
            Family::Double => self.length,
            Family::Json => u32::MAX,
            _ => self.byte_length(),
        }
    }

    /// Digits after the point of a number that has a fixed count of them, as `FLOAT(7,2)` has.
    pub fn fixed_digits(&self) -> Option<u8> {
        let is_number = self.family.is_numeric() || self.family == Family::Null;
        (is_number && self.decimals < NOT_FIXED).then_some(self.decimals)
    }

    /// What a result column of this type says of itself; names are left empty.
    pub fn column_meta(&self) -> ColumnMeta {
        let (type_code, collation) = match self.family {
            Family::Null => (code::NULL, Collation::BINARY),
            Family::Integer if self.code != 0 => (self.code, Collation::BINARY),
            Family::Integer => (code::LONGLONG, Collation::BINARY),
            Family::Decimal => (code::NEWDECIMAL, Collation::BINARY),
            Family::Float => (code::FLOAT, Collation::BINARY),
            Family::Double => (code::DOUBLE, Collation::BINARY),
            Family::Bit => (code::BIT, Collation::BINARY),
            Family::Date => (code::DATE, Collation::BINARY),
            Family::Time => (code::TIME, Collation::BINARY),
            Family::DateTime if self.code != 0 => (self.code, Collation::BINARY),
            Family::DateTime => (code::DATETIME, Collation::BINARY),
            Family::Year => (code::YEAR, Collation::BINARY),
            Family::Json => (code::JSON, self.collation),
            Family::Text if self.code != 0 => (self.code, self.collation),
            Family::Text => (text_code(self.byte_length()), self.collation),
            Family::Label => (code::STRING, self.collation),
        };
        let mut flags = 0;
        if !self.nullable {
            flags |= column_flag::NOT_NULL;
        }
        if self.unsigned {
            flags |= column_flag::UNSIGNED;
        }
        let is_number_of_bits = self.family == Family::Bit;
        if collation == Collation::BINARY && !is_number_of_bits || collation.name().ends_with("_bin") {
            flags |= column_flag::BINARY;
        }
        ColumnMeta {
            collation: collation.0,
            length: match self.family {
                Family::Text | Family::Label | Family::Json => self.byte_length(),
                _ => self.length,
            },
            type_code,
            flags,
            decimals: self.decimals,
            ..ColumnMeta::default()
        }
    }
}

/// What a text that is no column is described as, by its longest value's bytes.
fn text_code(bytes: u32) -> u8 {
    match bytes {
        0..=0xFFFF => code::VAR_STRING,
        0x1_0000..=0xFF_FFFF => code::MEDIUM_BLOB,
        _ => code::LONG_BLOB,
    }
}

impl DataType {
    /// The type that is reported to clients of a column.
    pub fn protocol_code(&self) -> u8 {
        use syntax::ast::IntegerSize as S;
        match self {
            DataType::Integer { size, .. } => match size {
                S::Tiny => code::TINY,
                S::Small => code::SHORT,
                S::Medium => code::INT24,
                S::Int => code::LONG,
                S::Big => code::LONGLONG,
            },
            DataType::Decimal { .. } => code::NEWDECIMAL,
            DataType::Floating { double: true, .. } => code::DOUBLE,
            DataType::Floating { .. } => code::FLOAT,
            DataType::Bit(_) => code::BIT,
            DataType::Char { .. } | DataType::Enum { .. } | DataType::Set { .. } => code::STRING,
            DataType::VarChar { .. } => code::VAR_STRING,
            DataType::Lob { .. } => code::BLOB,
            DataType::Date => code::DATE,
            DataType::Time(_) => code::TIME,
            DataType::DateTime(_) => code::DATETIME,
            DataType::Timestamp(_) => code::TIMESTAMP,
            DataType::Year => code::YEAR,
            DataType::Json => code::JSON,
        }
    }
}
