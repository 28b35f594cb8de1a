//! A column's type, as declared and checked: lengths filled in, limits kept, character set
//! resolved.

use std::collections::HashMap;
use std::fmt;

use binlog::row::{ColumnType, code};

use super::{Charset, Collation, Members};
use crate::error::{self, Result, SqlError};
use crate::value::{Datum, store};
use syntax::ast::{self, IntegerSize, LobSize, Sign};

/// A column's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// TINYINT to BIGINT; the width is kept where MySQL still shows it.
    Integer {
        /// How wide.
        size: IntegerSize,
        /// Unsigned, zero-filled.
        sign: Sign,
        /// Display width.
        width: Option<u8>,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits, 1 to 65.
        precision: u8,
        /// Digits after the point, 0 to 30.
        scale: u8,
        /// Unsigned, zero-filled.
        sign: Sign,
    },
    /// FLOAT and DOUBLE.
    Floating {
        /// True for double precision, false for FLOAT.
        double: bool,
        /// (m, d), if the column rounds.
        digits: Option<(u8, u8)>,
        /// Unsigned, zero-filled.
        sign: Sign,
    },
    /// BIT(1 to 64).
    Bit(u8),
    /// CHAR and BINARY.
    Char {
        /// Characters, 0 to 255.
        length: u8,
        /// `binary` makes it BINARY.
        collation: Collation,
    },
    /// VARCHAR and VARBINARY.
    VarChar {
        /// Characters, 0 to 65535.
        length: u16,
        /// `binary` makes it VARBINARY.
        collation: Collation,
    },
    /// The TEXT and BLOB types.
    Lob {
        /// Bytes of the length: 1 (TINY) to 4 (LONG).
        length_bytes: u8,
        /// `binary` makes it a BLOB.
        collation: Collation,
    },
    /// One of its members, by number.
    Enum {
        /// The members, in the column's character set.
        members: Members,
        /// How they compare.
        collation: Collation,
    },
    /// Any of its members, one bit each.
    Set {
        /// The members, in the column's character set.
        members: Members,
        /// How they compare.
        collation: Collation,
    },
    /// Without a time of day.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// TIMESTAMP(fsp).
    Timestamp(u8),
    /// 1901 to 2155, and 0.
    Year,
    /// In MySQL's binary form.
    Json,
}

/// The widest row of fixed-size parts, and the longest VARCHAR, in bytes.
pub const ROW_SIZE_MAX: u32 = 65_535;

impl DataType {
    /// Checks a declared type. `name` is the column's, for errors; `default` what it has if no
    /// character set is named.
    pub fn resolve(declared: &ast::DataType, name: &str, default: Collation) -> Result<DataType> {
        use ast::DataType as D;
        Ok(match declared {
            D::Integer { size, width, sign } => integer(*size, *width, *sign, name)?,
            D::Decimal { precision, scale, sign } => {
                decimal(precision.unwrap_or(10), scale.unwrap_or(0), *sign, name)?
            }
            D::Float { precision, scale: None, sign } => match precision {
                Some(54..) => return Err(error::WRONG_FIELD_SPEC.with(&[&name])),
                Some(25..) => DataType::Floating { double: true, digits: None, sign: *sign },
                _ => DataType::Floating { double: false, digits: None, sign: *sign },
            },
            D::Float { precision, scale, sign } => floating(false, *precision, *scale, *sign, name)?,
            D::Double { precision, scale, sign } => floating(true, *precision, *scale, *sign, name)?,
            D::Bit { width } => match width.unwrap_or(1) {
                w @ 1..=64 => DataType::Bit(w as u8),
                0 => return Err(error::INVALID_FIELD_SIZE.with(&[&name])),
                _ => return Err(error::TOO_BIG_DISPLAYWIDTH.with(&[&name, &64])),
            },
            D::Char { length, charset } => {
                char_type(length.unwrap_or(1), resolve_collation(charset, default)?, name)?
            }
            D::Binary { length } => char_type(length.unwrap_or(1), Collation::BINARY, name)?,
            D::Varchar { length, charset } => varchar(*length, resolve_collation(charset, default)?, name)?,
            D::Varbinary { length } => varchar(*length, Collation::BINARY, name)?,
            D::Text { size, length, charset } => lob(*size, *length, resolve_collation(charset, default)?),
            D::Blob { size, length } => lob(*size, *length, Collation::BINARY),
            D::Enum { members, charset } => {
                let collation = resolve_collation(charset, default)?;
                DataType::Enum {
                    members: check_members(members, collation, name, "ENUM", 65_535)?,
                    collation,
                }
            }
            D::Set { members, charset } => {
                let collation = resolve_collation(charset, default)?;
                DataType::Set { members: check_members(members, collation, name, "SET", 64)?, collation }
            }
            D::Date => DataType::Date,
            D::Time { precision } => DataType::Time(fsp(*precision, name)?),
            D::Datetime { precision } => DataType::DateTime(fsp(*precision, name)?),
            D::Timestamp { precision } => DataType::Timestamp(fsp(*precision, name)?),
            D::Year => DataType::Year,
            D::Json => DataType::Json,
            D::Geometry(_) => return Err(SqlError::unsupported("spatial columns")),
        })
    }

    /// The type in a table map, which is how the row image's bytes read.
    pub fn column_type(&self) -> ColumnType {
        let plain = |code, meta| ColumnType::new(code, meta);
        let text = |code, meta, c: Collation| ColumnType::new(code, meta).with_charset(c.0);
        let signed = |ty: ColumnType, sign: Sign| if sign.unsigned { ty.unsigned() } else { ty };
        match self {
            DataType::Integer { size, sign, .. } => signed(plain(integer_code(*size), 0), *sign),
            DataType::Decimal { precision, scale, sign } => {
                signed(plain(code::NEWDECIMAL, u16::from(*precision) << 8 | u16::from(*scale)), *sign)
            }
            DataType::Floating { double: true, sign, .. } => signed(plain(code::DOUBLE, 8), *sign),
            DataType::Floating { double: false, sign, .. } => signed(plain(code::FLOAT, 4), *sign),
            DataType::Bit(width) => plain(code::BIT, u16::from(*width)),
            DataType::Char { collation, .. } => text(code::STRING, self.byte_length() as u16, *collation),
            DataType::VarChar { collation, .. } => text(code::VARCHAR, self.byte_length() as u16, *collation),
            DataType::Lob { length_bytes, collation } => {
                text(code::BLOB, u16::from(*length_bytes), *collation)
            }
            DataType::Enum { members, collation } => {
                text(code::ENUM, 1 + u16::from(members.len() > 255), *collation)
            }
            DataType::Set { members, collation } => text(code::SET, set_bytes(members.len()), *collation),
            DataType::Date => plain(code::DATE, 0),
            DataType::Time(fsp) => plain(code::TIME2, u16::from(*fsp)),
            DataType::DateTime(fsp) => plain(code::DATETIME2, u16::from(*fsp)),
            DataType::Timestamp(fsp) => plain(code::TIMESTAMP2, u16::from(*fsp)),
            DataType::Year => plain(code::YEAR, 0),
            DataType::Json => plain(code::JSON, 4),
        }
    }

    /// The collation of text; `binary` for everything else.
    pub fn collation(&self) -> Collation {
        match self {
            DataType::Char { collation, .. }
            | DataType::VarChar { collation, .. }
            | DataType::Lob { collation, .. }
            | DataType::Enum { collation, .. }
            | DataType::Set { collation, .. } => *collation,
            _ => Collation::BINARY,
        }
    }

    /// True for the types that have a character set to name: not BINARY, VARBINARY and BLOB.
    pub fn is_character(&self) -> bool {
        self.is_string() && self.collation() != Collation::BINARY
    }

    /// True for the types whose text says which character set they have: those of texts, and ENUM
    /// and SET of bytes.
    pub fn names_charset(&self) -> bool {
        self.is_character() || matches!(self, DataType::Enum { .. } | DataType::Set { .. })
    }

    /// True for texts and byte strings.
    pub fn is_string(&self) -> bool {
        use DataType::{Char, Enum, Lob, Set, VarChar};
        matches!(self, Char { .. } | VarChar { .. } | Lob { .. } | Enum { .. } | Set { .. })
    }

    /// The character set that values are in as texts: JSON prints as utf8mb4, numbers and dates in
    /// ASCII, which every set contains.
    pub fn text_charset(&self) -> Charset {
        match self {
            DataType::Json => Charset::Utf8mb4,
            _ if self.is_string() => self.collation().charset(),
            _ => Charset::Ascii,
        }
    }

    /// True for DATE, DATETIME and TIMESTAMP.
    pub fn has_date(&self) -> bool {
        matches!(self, DataType::Date | DataType::DateTime(_) | DataType::Timestamp(_))
    }

    /// True for UNSIGNED.
    pub fn is_unsigned(&self) -> bool {
        match self {
            DataType::Integer { sign, .. }
            | DataType::Decimal { sign, .. }
            | DataType::Floating { sign, .. } => sign.unsigned,
            DataType::Bit(_) | DataType::Year => true,
            _ => false,
        }
    }

    /// True for ZEROFILL.
    pub fn is_zerofill(&self) -> bool {
        match self {
            DataType::Integer { sign, .. }
            | DataType::Decimal { sign, .. }
            | DataType::Floating { sign, .. } => sign.zerofill,
            _ => false,
        }
    }

    /// The longest value in bytes.
    pub fn byte_length(&self) -> u32 {
        match self {
            DataType::Char { length, collation } => u32::from(*length) * collation.charset().char_len_max(),
            DataType::VarChar { length, collation } => {
                u32::from(*length) * collation.charset().char_len_max()
            }
            DataType::Lob { length_bytes, .. } => lob_length_max(*length_bytes) as u32,
            DataType::Enum { collation, .. } | DataType::Set { collation, .. } => {
                self.display_length().saturating_mul(collation.charset().char_len_max())
            }
            _ => self.display_length(),
        }
    }

    /// Bytes that it adds to a row's size, as MySQL counts against [`ROW_SIZE_MAX`].
    pub fn row_bytes(&self) -> u32 {
        let ty = self.column_type();
        match self {
            DataType::Char { .. } => self.byte_length(),
            DataType::VarChar { .. } => self.byte_length() + 1 + u32::from(self.byte_length() > 255),
            DataType::Lob { length_bytes, .. } => u32::from(*length_bytes) + 8,
            DataType::Json => 4 + 8,
            _ => ty.fixed_len().unwrap_or(0) as u32,
        }
    }

    /// The longest value's characters, as the protocol says a client.
    pub fn display_length(&self) -> u32 {
        match self {
            DataType::Integer { size, sign, width } => {
                width.map_or_else(|| integer_display(*size, sign.unsigned), u32::from)
            }
            DataType::Decimal { precision, scale, sign } => {
                u32::from(*precision) + u32::from(*scale > 0) + u32::from(!sign.unsigned)
            }
            DataType::Floating { digits: Some((m, _)), .. } => u32::from(*m),
            DataType::Floating { double, .. } => {
                if *double {
                    22
                } else {
                    12
                }
            }
            DataType::Bit(width) => u32::from(*width),
            DataType::Char { length, .. } => u32::from(*length),
            DataType::VarChar { length, .. } => u32::from(*length),
            DataType::Lob { .. } => self.byte_length(),
            DataType::Enum { members, collation } => {
                let count = |m: &[u8]| collation.charset().char_count(m) as u32;
                members.iter().map(|m| count(m)).max().unwrap_or(0)
            }
            DataType::Set { members, collation } => {
                let chars: usize = members.iter().map(|m| collation.charset().char_count(m) + 1).sum();
                (chars as u32).saturating_sub(1)
            }
            DataType::Date => 10,
            DataType::Time(fsp) => 10 + fraction_length(*fsp),
            DataType::DateTime(fsp) | DataType::Timestamp(fsp) => 19 + fraction_length(*fsp),
            DataType::Year => 4,
            DataType::Json => u32::MAX,
        }
    }

    /// Digits after the point or the second that it shows; 31 where that isn't fixed.
    pub fn decimals(&self) -> u8 {
        match self {
            DataType::Decimal { scale, .. } => *scale,
            DataType::Floating { digits, .. } => digits.map_or(31, |(_, d)| d),
            DataType::Time(fsp) | DataType::DateTime(fsp) | DataType::Timestamp(fsp) => *fsp,
            _ => 0,
        }
    }
}

/// The last byte count that a TEXT or BLOB of so many length bytes holds.
pub(crate) fn lob_length_max(length_bytes: u8) -> u64 {
    (1_u64 << (8 * u32::from(length_bytes))) - 1
}

fn fraction_length(fsp: u8) -> u32 {
    if fsp == 0 { 0 } else { 1 + u32::from(fsp) }
}

fn integer_code(size: IntegerSize) -> u8 {
    match size {
        IntegerSize::Tiny => code::TINY,
        IntegerSize::Small => code::SHORT,
        IntegerSize::Medium => code::INT24,
        IntegerSize::Int => code::LONG,
        IntegerSize::Big => code::LONGLONG,
    }
}

fn integer_display(size: IntegerSize, unsigned: bool) -> u32 {
    match (size, unsigned) {
        (IntegerSize::Tiny, false) => 4,
        (IntegerSize::Tiny, true) => 3,
        (IntegerSize::Small, false) => 6,
        (IntegerSize::Small, true) => 5,
        (IntegerSize::Medium, false) => 9,
        (IntegerSize::Medium, true) => 8,
        (IntegerSize::Int, false) => 11,
        (IntegerSize::Int, true) => 10,
        (IntegerSize::Big, _) => 20,
    }
}

fn integer(size: IntegerSize, width: Option<u32>, sign: Sign, name: &str) -> Result<DataType> {
    if width.is_some_and(|w| w > 255) {
        return Err(error::TOO_BIG_DISPLAYWIDTH.with(&[&name, &255]));
    }
    // MySQL 8.4 forgets display widths but for ZEROFILL and the booleans' TINYINT(1).
    let shown = match (size, width) {
        (_, w) if sign.zerofill => Some(w.unwrap_or_else(|| integer_display(size, true)) as u8),
        (IntegerSize::Tiny, Some(1)) if !sign.unsigned => Some(1),
        _ => None,
    };
    Ok(DataType::Integer { size, sign, width: shown })
}

fn decimal(precision: u32, scale: u32, sign: Sign, name: &str) -> Result<DataType> {
    let precision = if precision == 0 { 10.max(scale) } else { precision };
    if scale > 30 {
        return Err(error::TOO_BIG_SCALE.with(&[&scale, &name, &30]));
    }
    if precision > 65 {
        return Err(error::TOO_BIG_PRECISION.with(&[&precision, &name, &65]));
    }
    if scale > precision {
        return Err(error::M_BIGGER_THAN_D.with(&[&name]));
    }
    Ok(DataType::Decimal { precision: precision as u8, scale: scale as u8, sign })
}

fn floating(
    double: bool,
    precision: Option<u32>,
    scale: Option<u32>,
    sign: Sign,
    name: &str,
) -> Result<DataType> {
    let digits = match (precision, scale) {
        (Some(m), _) if m > 255 => return Err(error::TOO_BIG_DISPLAYWIDTH.with(&[&name, &255])),
        (_, Some(d)) if d > 30 => return Err(error::TOO_BIG_SCALE.with(&[&d, &name, &30])),
        (Some(m), Some(d)) if d > m => return Err(error::M_BIGGER_THAN_D.with(&[&name])),
        (Some(m), Some(d)) => Some((m as u8, d as u8)),
        _ => None,
    };
    Ok(DataType::Floating { double, digits, sign })
}

fn char_type(length: u64, collation: Collation, name: &str) -> Result<DataType> {
    match u8::try_from(length) {
        Ok(length) => Ok(DataType::Char { length, collation }),
        Err(_) => Err(error::TOO_BIG_FIELDLENGTH.with(&[&name, &255])),
    }
}

fn varchar(length: u64, collation: Collation, name: &str) -> Result<DataType> {
    let max = ROW_SIZE_MAX / collation.charset().char_len_max();
    match u16::try_from(length) {
        Ok(n) if u32::from(n) <= max => Ok(DataType::VarChar { length: n, collation }),
        _ => Err(error::TOO_BIG_FIELDLENGTH.with(&[&name, &max])),
    }
}

/// A TEXT or BLOB with a length is the smallest type that holds as many characters.
fn lob(size: LobSize, length: Option<u64>, collation: Collation) -> DataType {
    let length_bytes = match (size, length) {
        (LobSize::Normal, Some(chars)) => {
            let bytes = chars.saturating_mul(collation.charset().char_len_max().into());
            (1..=4).find(|&n| bytes <= lob_length_max(n)).unwrap_or(4)
        }
        (LobSize::Tiny, _) => 1,
        (LobSize::Normal, None) => 2,
        (LobSize::Medium, _) => 3,
        (LobSize::Long, _) => 4,
    };
    DataType::Lob { length_bytes, collation }
}

fn fsp(precision: Option<u32>, name: &str) -> Result<u8> {
    match precision.unwrap_or(0) {
        p @ 0..=6 => Ok(p as u8),
        p => Err(error::TOO_BIG_PRECISION.with(&[&p, &name, &6])),
    }
}

/// Bytes of a SET with so many members.
fn set_bytes(members: usize) -> u16 {
    match members.div_ceil(8) {
        n @ 0..=4 => n.max(1) as u16,
        _ => 8,
    }
}

/// The collation that a column's charset words mean.
pub fn resolve_collation(words: &ast::Charset, default: Collation) -> Result<Collation> {
    let charset = match &words.charset {
        Some(name) => Some(Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[name]))?),
        None => None,
    };
    if let Some(name) = &words.collation {
        let collation = Collation::by_name(name).ok_or_else(|| error::UNKNOWN_COLLATION.with(&[name]))?;
        return match charset {
            Some(charset) if charset != collation.charset() => {
                Err(error::COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &charset.name()]))
            }
            _ => Ok(collation),
        };
    }
    Ok(match charset {
        Some(charset) if words.binary => charset.binary_collation(),
        Some(charset) => charset.default_collation(),
        None if words.binary => default.charset().binary_collation(),
        None => default,
    })
}

/// A member of an ENUM or SET as it is kept and looked for: without the spaces at its end, unless
/// it is a byte string.
pub(crate) fn trim_member(text: &[u8], collation: Collation) -> &[u8] {
    let mut rest = text;
    while let [before @ .., b' '] = rest
        && collation != Collation::BINARY
    {
        rest = before;
    }
    rest
}

fn check_members(
    members: &[ast::Text],
    collation: Collation,
    name: &str,
    kind: &str,
    max: usize,
) -> Result<Members> {
    if members.len() > max {
        return Err(error::TOO_BIG_SET.with(&[&name]));
    }
    let charset = collation.charset();
    let in_set = |m: &ast::Text| -> Box<[u8]> {
        Charset::Utf8mb4.convert(trim_member(m, collation).into(), charset).0.into_owned().into()
    };
    let members: Vec<_> = members.iter().map(in_set).collect();
    // By their keys: there may be 65,535.
    let mut known = HashMap::with_capacity(members.len());
    for member in &members {
        let mut key = Vec::new();
        collation.sort_key(member, &mut key);
        if let Some(other) = known.insert(key, member) {
            let shown = collation.charset().convert((&**other).into(), Charset::Utf8mb4).0;
            return Err(error::DUPLICATED_VALUE_IN_TYPE.with(&[
                &name,
                &String::from_utf8_lossy(&shown),
                &kind,
            ]));
        }
        if kind == "SET" && member.contains(&b',') {
            let value = String::from_utf8_lossy(member);
            return Err(error::ILLEGAL_VALUE_FOR_TYPE.with(&[&"set", &value]));
        }
    }
    Ok(members.into_iter().collect())
}

impl fmt::Display for DataType {
    /// As SHOW CREATE TABLE writes it, without character set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Integer { size, width, .. } => {
                f.write_str(match size {
                    IntegerSize::Tiny => "tinyint",
                    IntegerSize::Small => "smallint",
                    IntegerSize::Medium => "mediumint",
                    IntegerSize::Int => "int",
                    IntegerSize::Big => "bigint",
                })?;
                width.map_or(Ok(()), |w| write!(f, "({w})"))?;
            }
            DataType::Decimal { precision, scale, .. } => write!(f, "decimal({precision},{scale})")?,
            DataType::Floating { double, digits, .. } => {
                f.write_str(if *double { "double" } else { "float" })?;
                digits.map_or(Ok(()), |(m, d)| write!(f, "({m},{d})"))?;
            }
            DataType::Bit(width) => write!(f, "bit({width})")?,
            DataType::Char { length, collation: Collation::BINARY } => write!(f, "binary({length})")?,
            DataType::Char { length, .. } => write!(f, "char({length})")?,
            DataType::VarChar { length, collation: Collation::BINARY } => write!(f, "varbinary({length})")?,
            DataType::VarChar { length, .. } => write!(f, "varchar({length})")?,
            DataType::Lob { length_bytes, collation } => {
                f.write_str(["tiny", "", "medium", "long"][usize::from(*length_bytes - 1)])?;
                f.write_str(if *collation == Collation::BINARY { "blob" } else { "text" })?;
            }
            DataType::Enum { members, collation } => write_members(f, "enum", members, *collation)?,
            DataType::Set { members, collation } => write_members(f, "set", members, *collation)?,
            DataType::Date => f.write_str("date")?,
            DataType::Time(fsp) => write_fsp(f, "time", *fsp)?,
            DataType::DateTime(fsp) => write_fsp(f, "datetime", *fsp)?,
            DataType::Timestamp(fsp) => write_fsp(f, "timestamp", *fsp)?,
            DataType::Year => f.write_str("year")?,
            DataType::Json => f.write_str("json")?,
        }
        if self.is_unsigned() && !matches!(self, DataType::Bit(_) | DataType::Year) {
            f.write_str(" unsigned")?;
        }
        f.write_str(if self.is_zerofill() { " zerofill" } else { "" })
    }
}

fn write_fsp(f: &mut fmt::Formatter<'_>, name: &str, fsp: u8) -> fmt::Result {
    if fsp == 0 { f.write_str(name) } else { write!(f, "{name}({fsp})") }
}

fn write_members(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    members: &[Box<[u8]>],
    collation: Collation,
) -> fmt::Result {
    let quoted = |member: &[u8]| {
        let text = collation.charset().convert(member.into(), Charset::Utf8mb4).0;
        let mut out = Vec::new();
        store::quoted(&Datum::borrowed(&text), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    let quoted: Vec<_> = members.iter().map(|member| quoted(member)).collect();
    write!(f, "{name}({})", quoted.join(","))
}
