//! Between JSON and SQL values.
//!
//! A SQL value becomes a JSON scalar: numbers and truth values as such, text as a string, decimals,
//! dates, times and byte strings as *opaque* values that remember their type. A JSON scalar becomes
//! a SQL value; objects and arrays have none.

use std::borrow::Cow;

use binlog::row::{self, code};

use super::{Json, Node, Tree, compare, parse};
use crate::error::{self, Result, SqlError};
use crate::types::{Charset, Family, Type};
use crate::value::image::{from_row_date, from_row_datetime, from_row_time, to_row_datetime, to_row_time};
use crate::value::{Converted, Datum, Decimal, bits_to_u64};

/// What the type of an expression says of its values' JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The character set of text.
    pub charset: Charset,
    /// Integers are truth values.
    pub boolean: bool,
    /// The column type that byte strings remember.
    pub bytes_type: u8,
}

impl Origin {
    /// Text in utf8mb4, numbers, dates.
    pub const PLAIN: Origin = Origin { charset: Charset::Utf8mb4, boolean: false, bytes_type: code::VARCHAR };

    /// Of an expression's type.
    pub fn of(ty: &Type) -> Self {
        let charset = if ty.family.is_text() { ty.collation.charset() } else { Charset::Utf8mb4 };
        // A BLOB of each size is known by its length.
        let bytes_type = match (ty.family, ty.length) {
            (Family::Bit, _) => code::BIT,
            (_, 65_535) => code::BLOB,
            (_, 16_777_215) => 250,
            (_, u32::MAX) => 251,
            _ => code::VARCHAR,
        };
        Origin { charset, boolean: ty.boolean, bytes_type }
    }
}

/// A SQL value as JSON: NULL is null, text is a string.
pub fn from_datum(value: Datum<'_>, source: Origin) -> Result<Tree<'_>> {
    Ok(match value {
        Datum::Null => Tree::Null,
        Datum::Int(v) if source.boolean => Tree::Bool(v != 0),
        Datum::Int(v) => Tree::Int(v),
        Datum::UInt(v) => Tree::UInt(v),
        Datum::Year(v) => Tree::UInt(v.into()),
        Datum::Double(v) => Tree::Double(v),
        Datum::Float(v) => Tree::Double(v.into()),
        Datum::Decimal(d) => Tree::Opaque(code::NEWDECIMAL, opaque_decimal(&d)?.into()),
        Datum::Date(d) => packed(code::DATE, to_row_datetime(d.midnight()).to_i64()),
        Datum::Time(t) => packed(code::TIME, to_row_time(t).to_i64()),
        Datum::DateTime(t) => packed(code::DATETIME, to_row_datetime(t).to_i64()),
        Datum::Bits(bytes) => Tree::Opaque(source.bytes_type, bytes),
        Datum::Bytes(bytes) if source.charset == Charset::Binary => Tree::Opaque(source.bytes_type, bytes),
        Datum::Bytes(text) | Datum::Label(_, text) => Tree::String(utf8(text, source.charset)?),
        Datum::Json(document) => stored(document)?,
    })
}

/// A document as a tree that borrows from it, if it can.
pub fn stored(document: Cow<'_, [u8]>) -> Result<Tree<'_>> {
    match document {
        Cow::Borrowed(document) => super::root(document).map(Tree::Stored),
        Cow::Owned(document) => Ok(Tree::Document(document)),
    }
}

fn packed<'a>(field_type: u8, packed: i64) -> Tree<'a> {
    Tree::Opaque(field_type, packed.to_le_bytes().to_vec().into())
}

/// Text as JSON has it; error 1300 for bytes that are no text.
pub fn utf8(text: Cow<'_, [u8]>, charset: Charset) -> Result<Cow<'_, [u8]>> {
    if text.is_ascii() {
        return Ok(text);
    }
    let valid = charset.valid_prefix(&text);
    if valid < text.len() {
        let shown: String = text[valid..].iter().take(6).map(|b| format!("{b:02X}")).collect();
        return Err(error::INVALID_CHARACTER_STRING.with(&[&charset.name(), &shown]));
    }
    Ok(if charset == Charset::Utf8mb4 { text } else { charset.convert(text, Charset::Utf8mb4).0 })
}

fn opaque_decimal(d: &Decimal) -> Result<Vec<u8>> {
    let digits = d.digits_shown();
    let (integer, _) = digits.parts();
    let scale = d.shown();
    let precision = (integer.trim_start_matches('0').len().max(1) + usize::from(scale)) as u8;
    let mut out = vec![precision, scale];
    row::Decimal::encode_text(&d.to_string(), precision, scale, &mut out).map_err(SqlError::internal)?;
    Ok(out)
}

/// The decimal inside an opaque value.
pub(crate) fn decimal(bytes: &[u8]) -> Option<Decimal> {
    let [precision, scale, digits @ ..] = bytes else { return None };
    let valid = *precision <= 65 && scale <= precision && *scale <= 30;
    let len = row::decimal::encoded_len(*precision, *scale);
    (valid && digits.len() == len).then(|| Decimal::from_binary(digits, *precision, *scale))
}

/// The SQL value that a JSON scalar is; `None` for objects, arrays and null. Strings are text in
/// utf8mb4.
pub fn to_scalar<'a>(value: Json<'a>) -> Option<Datum<'a>> {
    Some(match value.node().ok()? {
        Node::Null | Node::Container(_) => return None,
        Node::Bool(v) => Datum::from_bool(v),
        Node::Int(v) => Datum::Int(v),
        Node::UInt(v) => Datum::UInt(v),
        Node::Double(v) => Datum::Double(v),
        Node::String(text) => Datum::borrowed(text),
        Node::Opaque(field_type, bytes) => {
            let packed = || bytes.try_into().ok().map(i64::from_le_bytes);
            match field_type {
                code::NEWDECIMAL => Datum::Decimal(decimal(bytes)?),
                code::DATE => Datum::Date(from_row_date(row::DateTime::from_i64(packed()?).date)),
                code::TIME => Datum::Time(from_row_time(row::Time::from_i64(packed()?))),
                code::DATETIME | code::TIMESTAMP => {
                    Datum::DateTime(from_row_datetime(row::DateTime::from_i64(packed()?)))
                }
                code::BIT => Datum::UInt(bits_to_u64(bytes)),
                _ => Datum::borrowed(bytes),
            }
        }
    })
}

/// [`to_scalar`] of a whole document's bytes; `None` also if they are damaged.
pub(crate) fn document_scalar(document: &[u8]) -> Option<Datum<'_>> {
    to_scalar(Json::document(document).ok()?)
}

/// A document as a number; `whole` is false for what is none.
pub(crate) fn to_number<T>(
    document: &[u8],
    zero: T,
    convert: impl FnOnce(&Datum<'_>) -> Converted<T>,
) -> Converted<T> {
    match document_scalar(document) {
        Some(scalar) => convert(&scalar),
        None => Converted { value: zero, whole: false },
    }
}

/// A document as a date or time, which only strings, dates and times are.
pub(crate) fn to_temporal(document: &[u8]) -> Option<Datum<'_>> {
    document_scalar(document)
        .filter(|d| matches!(d, Datum::Bytes(_) | Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_)))
}

/// JSON_TYPE.
pub fn type_name(node: &Node<'_>) -> &'static str {
    match node {
        Node::Null => "NULL",
        Node::Bool(_) => "BOOLEAN",
        Node::Int(_) => "INTEGER",
        Node::UInt(_) => "UNSIGNED INTEGER",
        Node::Double(_) => "DOUBLE",
        Node::String(_) => "STRING",
        Node::Container(c) if c.is_object() => "OBJECT",
        Node::Container(_) => "ARRAY",
        Node::Opaque(field_type, _) => match *field_type {
            code::NEWDECIMAL => "DECIMAL",
            code::DATE => "DATE",
            code::TIME => "TIME",
            code::DATETIME => "DATETIME",
            code::TIMESTAMP => "TIMESTAMP",
            code::BIT => "BIT",
            code::GEOMETRY => "GEOMETRY",
            t if compare::is_blob(t) => "BLOB",
            _ => "OPAQUE",
        },
    }
}

/// Why a value is no document for a function, or a column.
#[derive(Debug)]
pub enum Unsuitable {
    /// The text is not JSON.
    Text(parse::ParseError),
    /// A byte string.
    Binary,
    /// A number, a date.
    NoText,
    /// Anything else.
    Other(SqlError),
}

/// The document that a value is, or whose text it is.
pub fn document(value: Datum<'_>, charset: Charset) -> Result<Cow<'_, [u8]>, Unsuitable> {
    match value {
        Datum::Json(document) => Ok(document),
        Datum::Bits(_) => Err(Unsuitable::Binary),
        Datum::Bytes(_) | Datum::Label(..) if charset == Charset::Binary => Err(Unsuitable::Binary),
        Datum::Bytes(text) | Datum::Label(_, text) => {
            let text = utf8(text, charset).map_err(Unsuitable::Other)?;
            let tree = parse::parse(&text).map_err(Unsuitable::Text)?;
            super::encode(&tree).map(Cow::Owned).map_err(Unsuitable::Other)
        }
        _ => Err(Unsuitable::NoText),
    }
}
