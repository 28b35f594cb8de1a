//! One column's value: decoded from its bytes, encoded to them, printed.

use std::fmt::Write;

use super::column_type::{ColumnType, code, read_length};
use super::decimal::Decimal;
use super::temporal::{Date, DateTime, Time, Timestamp};
use super::{RowError, json, number};

/// A column's value. Strings, documents and numbers of many digits borrow from the image.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // the names are the column types'
pub enum Value<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal<'a>),
    /// CHAR, VARCHAR, TEXT and their binary sisters; VECTOR too.
    Bytes(&'a [u8]),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Timestamp(Timestamp),
    /// 0, or 1901 to 2155.
    Year(u16),
    /// The bits as a number.
    Bit(u64),
    /// The element's number from 1; 0 is the empty string of an invalid value.
    Enum(u16),
    /// A bit for each element.
    Set(u64),
    /// A document in MySQL's binary form.
    Json(&'a [u8]),
    /// Changes to a document, in a partial update: see [`json::diffs`].
    JsonDiffs(&'a [u8]),
    /// SRID and well-known binary.
    Geometry(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Decodes `raw`, which are all of a value's bytes, its length before it included.
    ///
    /// # Errors
    /// [`RowError::Truncated`] for another number of bytes than the type has; others if the bytes
    /// are no value of it.
    #[inline]
    pub fn decode(ty: &ColumnType, raw: &'a [u8]) -> Result<Self, RowError> {
        let int = |bytes: &[u8]| {
            if ty.unsigned { Value::UInt(little(bytes)) } else { Value::Int(little_signed(bytes)) }
        };
        if let Some(len) = ty.fixed_len()
            && raw.len() != len
        {
            return Err(RowError::Truncated);
        }
        let digits = ty.meta as u8;
        Ok(match ty.code {
            code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG => int(raw),
            code::YEAR => Value::Year(if raw[0] == 0 { 0 } else { 1900 + u16::from(raw[0]) }),
            code::FLOAT => Value::Float(f32::from_bits(little(raw) as u32)),
            code::DOUBLE => Value::Double(f64::from_bits(little(raw))),
            code::NEWDECIMAL => {
                Value::Decimal(Decimal { bytes: raw, precision: (ty.meta >> 8) as u8, scale: ty.meta as u8 })
            }
            code::DATE | code::NEWDATE => Value::Date(Date::from_bytes([raw[0], raw[1], raw[2]])),
            code::TIME => Value::Time(Time::from_decimal([raw[0], raw[1], raw[2]])),
            code::DATETIME => Value::DateTime(DateTime::from_decimal(little(raw))),
            code::TIMESTAMP => {
                Value::Timestamp(Timestamp { seconds: little(raw) as u32, micros: 0, digits: 0 })
            }
            code::TIME2 => Value::Time(Time::from_packed(raw, digits)),
            code::DATETIME2 => Value::DateTime(DateTime::from_packed(raw, digits)),
            code::TIMESTAMP2 => Value::Timestamp(Timestamp::from_packed(raw, digits)),
            code::BIT => Value::Bit(raw.iter().fold(0, |v, &b| v << 8 | u64::from(b))),
            code::ENUM => Value::Enum(little(raw) as u16),
            code::SET => Value::Set(little(raw)),
            code::NULL => Value::Null,
            code::VARCHAR | code::VAR_STRING | code::STRING | code::BLOB | code::VECTOR => {
                Value::Bytes(content(ty, raw)?)
            }
            code::JSON => Value::Json(content(ty, raw)?),
            code::GEOMETRY => Value::Geometry(content(ty, raw)?),
            other => return Err(RowError::UnknownType(other)),
        })
    }

    /// Appends the value's bytes, its length before it included. NULL has none.
    ///
    /// # Errors
    /// If the value is not of this type, or out of its range. Nothing is rounded or converted.
    #[inline]
    pub fn encode(&self, ty: &ColumnType, out: &mut Vec<u8>) -> Result<(), RowError> {
        match (ty.code, *self) {
            (_, Value::Null) => Ok(()),
            (
                code::TINY | code::SHORT | code::INT24 | code::LONG | code::LONGLONG,
                Value::Int(_) | Value::UInt(_),
            ) => self.encode_int(ty, out),
            (code::YEAR, Value::Year(y)) if y == 0 || (1901..=2155).contains(&y) => {
                out.push(y.saturating_sub(1900) as u8);
                Ok(())
            }
            (code::FLOAT, Value::Float(v)) => put(out, &v.to_bits().to_le_bytes()),
            (code::DOUBLE, Value::Double(v)) => put(out, &v.to_bits().to_le_bytes()),
            (code::NEWDECIMAL, Value::Decimal(d)) => {
                if (d.precision, d.scale) != ((ty.meta >> 8) as u8, ty.meta as u8)
                    || Some(d.bytes.len()) != ty.fixed_len()
                {
                    return Err(RowError::OutOfRange("DECIMAL"));
                }
                put(out, d.bytes)
            }
            (code::DATE | code::NEWDATE, Value::Date(d)) => put(out, &d.to_bytes()),
            (code::TIME, Value::Time(t)) => put(out, &t.to_decimal()),
            (code::DATETIME, Value::DateTime(t)) => put(out, &t.to_decimal().to_le_bytes()),
            (code::TIMESTAMP, Value::Timestamp(t)) => put(out, &t.seconds.to_le_bytes()),
            (code::TIME2, Value::Time(t)) => {
                Time { digits: ty.meta as u8, ..t }.put_packed(out);
                Ok(())
            }
            (code::DATETIME2, Value::DateTime(t)) => {
                DateTime { digits: ty.meta as u8, ..t }.put_packed(out);
                Ok(())
            }
            (code::TIMESTAMP2, Value::Timestamp(t)) => {
                Timestamp { digits: ty.meta as u8, ..t }.put_packed(out);
                Ok(())
            }
            (code::BIT, Value::Bit(v)) => {
                let bits = u32::from(ty.meta);
                if bits < 64 && v >> bits != 0 {
                    return Err(RowError::OutOfRange("BIT"));
                }
                put(out, &v.to_be_bytes()[8 - (bits as usize).div_ceil(8)..])
            }
            (code::ENUM, Value::Enum(v)) => put_uint(out, v.into(), ty.meta.into()),
            (code::SET, Value::Set(v)) => put_uint(out, v, ty.meta.into()),
            (code::VARCHAR | code::VAR_STRING | code::STRING, Value::Bytes(b)) => {
                if b.len() > usize::from(ty.meta) {
                    return Err(RowError::OutOfRange("string"));
                }
                put_content(ty, b, out)
            }
            (code::BLOB | code::VECTOR, Value::Bytes(b))
            | (code::JSON, Value::Json(b) | Value::JsonDiffs(b))
            | (code::GEOMETRY, Value::Geometry(b)) => put_content(ty, b, out),
            _ => Err(RowError::WrongValue(ty.code)),
        }
    }

    fn encode_int(&self, ty: &ColumnType, out: &mut Vec<u8>) -> Result<(), RowError> {
        let len = ty.fixed_len().unwrap_or(0);
        let bits = 8 * len as u32;
        let value = match *self {
            Value::Int(v) => i128::from(v),
            Value::UInt(v) => i128::from(v),
            _ => return Err(RowError::WrongValue(ty.code)),
        };
        let range =
            if ty.unsigned { 0..1_i128 << bits } else { -(1_i128 << (bits - 1))..1_i128 << (bits - 1) };
        if !range.contains(&value) {
            return Err(RowError::OutOfRange("integer"));
        }
        put(out, &value.to_le_bytes()[..len])
    }

    /// Appends the value as a result set's text: shortest floats, `2026-11-20 01:02:03.50`, JSON as
    /// text.
    ///
    /// ENUM and SET are given as their numbers (the names are the table's), BIT as its number,
    /// TIMESTAMP in UTC, NULL as `NULL`. A damaged JSON document ends where the damage is.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match *self {
            Value::Bytes(b) | Value::Geometry(b) | Value::JsonDiffs(b) => out.extend_from_slice(b),
            Value::Json(b) => drop(json::write_text(b, out)),
            _ => self.fmt_text(&mut ByteWriter(out)).unwrap_or_default(),
        }
    }

    fn fmt_text(&self, out: &mut impl Write) -> std::fmt::Result {
        match *self {
            Value::Null => out.write_str("NULL"),
            Value::Int(v) => write!(out, "{v}"),
            Value::UInt(v) | Value::Bit(v) | Value::Set(v) => write!(out, "{v}"),
            Value::Enum(v) => write!(out, "{v}"),
            Value::Year(v) => write!(out, "{v:04}"),
            Value::Float(v) => number::write_float(out, v),
            Value::Double(v) => number::write_double(out, v),
            Value::Decimal(v) => write!(out, "{v}"),
            Value::Date(v) => write!(out, "{v}"),
            Value::Time(v) => write!(out, "{v}"),
            Value::DateTime(v) => write!(out, "{v}"),
            Value::Timestamp(v) => write!(out, "{}", v.to_utc()),
            Value::Bytes(_) | Value::Json(_) | Value::JsonDiffs(_) | Value::Geometry(_) => Ok(()),
        }
    }
}

/// Lets `write!` append to bytes.
pub(crate) struct ByteWriter<'a>(pub(crate) &'a mut Vec<u8>);

impl Write for ByteWriter<'_> {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.0.extend_from_slice(s.as_bytes());
        Ok(())
    }
}

/// At most 8 bytes, little-endian.
#[inline]
fn little(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b)),
    }
}

#[inline]
fn little_signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    (little(bytes) << unused) as i64 >> unused
}

/// The bytes after the length, which must be all that remain.
#[inline]
fn content<'a>(ty: &ColumnType, raw: &'a [u8]) -> Result<&'a [u8], RowError> {
    let prefix = ty.length_len();
    let len = read_length(raw, prefix)?;
    raw.get(prefix..).filter(|remaining| remaining.len() == len).ok_or(RowError::Truncated)
}

fn put_content(ty: &ColumnType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    put_uint(out, bytes.len() as u64, ty.length_len())?;
    put(out, bytes)
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), RowError> {
    out.extend_from_slice(bytes);
    Ok(())
}

fn put_uint(out: &mut Vec<u8>, v: u64, len: usize) -> Result<(), RowError> {
    let bytes = v.to_le_bytes();
    if bytes[len..].iter().any(|&b| b != 0) {
        return Err(RowError::OutOfRange("value"));
    }
    put(out, &bytes[..len])
}
