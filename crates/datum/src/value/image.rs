//! Between values and row images: what [`super::store::fit`] made is written, what lies in an image
//! is read.
//!
//! The bytes are the binary log's business (`binlog::row`); here stands only which value of ours is
//! which value there. A TIMESTAMP lies in UTC, so reading it needs the session's time zone.

use std::borrow::Cow;

use binlog::row::{self, ColumnType, RowImageBuilder, Value, code};

use super::temporal::{Date, DateTime, SECOND, Time};
use super::{Datum, Decimal, store};
use crate::error::{Result, SqlError};
use crate::types::{Collation, DataType};
use crate::value::zone::Zone;

/// Appends a value that was made to fit `ty` as the image's next column.
pub fn push(builder: &mut RowImageBuilder<'_>, value: &Datum<'_>, ty: &DataType) -> Result<()> {
    let wrong = |e: row::RowError| SqlError::internal(format_args!("{e} ({ty})"));
    let value = match (value, ty) {
        (Datum::Null, _) => Value::Null,
        (Datum::Decimal(d), DataType::Decimal { precision, scale, .. }) => {
            let mut bytes = Vec::with_capacity(32);
            row::Decimal::encode_text(&d.to_string(), *precision, *scale, &mut bytes).map_err(wrong)?;
            let decimal = row::Decimal { bytes: &bytes, precision: *precision, scale: *scale };
            return builder.push(&Value::Decimal(decimal)).map_err(wrong);
        }
        (Datum::UInt(v), DataType::Bit(_)) => Value::Bit(*v),
        (Datum::Int(v), _) => Value::Int(*v),
        (Datum::UInt(v), _) => Value::UInt(*v),
        (Datum::Double(v), _) => Value::Double(*v),
        (Datum::Float(v), _) => Value::Float(*v),
        // A BINARY's filling is not in the image.
        (Datum::Bytes(b), DataType::Char { collation: Collation::BINARY, .. }) => {
            Value::Bytes(&b[..b.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1)])
        }
        (Datum::Bytes(b), _) => Value::Bytes(b),
        (Datum::Label(n, _), DataType::Enum { .. }) => Value::Enum(*n as u16),
        (Datum::Label(n, _), _) => Value::Set(*n),
        (Datum::Date(d), _) => Value::Date(to_row_date(*d)),
        (Datum::Time(t), _) => Value::Time(to_row_time(*t)),
        (Datum::DateTime(t), DataType::Timestamp(fsp)) => {
            let micros = if t.is_zero() { 0 } else { t.unix_micros().unwrap_or(0) };
            Value::Timestamp(row::Timestamp {
                seconds: (micros / SECOND) as u32,
                micros: (micros % SECOND) as u32,
                digits: *fsp,
            })
        }
        (Datum::DateTime(t), _) => Value::DateTime(to_row_datetime(*t)),
        (Datum::Year(y), _) => Value::Year(*y),
        (Datum::Json(document), DataType::Json) => Value::Json(document),
        (Datum::Decimal(_) | Datum::Bits(_) | Datum::Json(_), _) => {
            return Err(SqlError::internal(format_args!("a value that was not made to fit {ty}")));
        }
    };
    builder.push(&value).map_err(wrong)
}

fn to_row_date(d: Date) -> row::Date {
    row::Date { year: d.year, month: d.month, day: d.day }
}

/// Our time as a row image has it.
pub(super) fn to_row_time(t: Time) -> row::Time {
    let (hours, minutes, seconds, micros) = t.parts();
    row::Time {
        negative: t.micros < 0,
        hours: hours as u16,
        minutes: minutes as u8,
        seconds: seconds as u8,
        micros,
        digits: t.fsp,
    }
}

/// Our date and time as a row image has it.
pub(super) fn to_row_datetime(t: DateTime) -> row::DateTime {
    let (hour, minute, second, micros) = t.time().parts();
    row::DateTime {
        date: to_row_date(t.date),
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        micros,
        digits: t.fsp,
    }
}

/// A row image's date as ours.
pub(super) fn from_row_date(d: row::Date) -> Date {
    Date { year: d.year, month: d.month, day: d.day }
}

/// A row image's time as ours.
pub(super) fn from_row_time(t: row::Time) -> Time {
    Time::new(t.negative, t.hours.into(), t.minutes.into(), t.seconds.into(), t.micros, t.digits)
}

/// A row image's date and time as ours.
pub(super) fn from_row_datetime(t: row::DateTime) -> DateTime {
    DateTime {
        date: from_row_date(t.date),
        micros: (i64::from(t.hour) * 3600 + i64::from(t.minute) * 60 + i64::from(t.second)) * SECOND
            + i64::from(t.micros),
        fsp: t.digits,
    }
}

/// The value whose bytes are `raw`. `zone` is the session's.
pub fn read<'a>(raw: &'a [u8], column_type: &ColumnType, ty: &'a DataType, zone: Zone) -> Result<Datum<'a>> {
    // What most columns are, without the way round by a value of the log's.
    if matches!(column_type.code, code::STRING | code::VARCHAR)
        && let Some(text) = raw.get(if column_type.meta > 255 { 2 } else { 1 }..)
    {
        return Ok(Datum::Bytes(padded(text, ty)));
    }
    let value = Value::decode(column_type, raw)
        .map_err(|e| SqlError::internal(format_args!("a stored row is damaged: {e}")))?;
    Ok(match value {
        Value::Null => Datum::Null,
        Value::Int(v) => Datum::Int(v),
        Value::UInt(v) => Datum::UInt(v),
        Value::Float(v) => Datum::Float(v),
        Value::Double(v) => Datum::Double(v),
        Value::Decimal(d) => Datum::Decimal(Decimal::from_binary(d.bytes, d.precision, d.scale)),
        Value::Bytes(b) => Datum::Bytes(padded(b, ty)),
        Value::Date(d) => Datum::Date(from_row_date(d)),
        Value::Time(t) => Datum::Time(from_row_time(t)),
        Value::DateTime(t) => Datum::DateTime(from_row_datetime(t)),
        Value::Timestamp(t) => Datum::DateTime(from_timestamp(t, zone)),
        Value::Year(y) => Datum::Year(y),
        Value::Bit(bits) => Datum::Bits(Cow::Owned(bit_bytes(bits, column_type.meta))),
        Value::Enum(n) => {
            let members = members(ty);
            let text = usize::from(n).checked_sub(1).and_then(|i| members.get(i)).map_or(&b""[..], |m| m);
            Datum::Label(n.into(), Cow::Borrowed(text))
        }
        Value::Set(bits) => Datum::Label(bits, Cow::Owned(store::set_text(bits, members(ty)))),
        Value::Json(document) => Datum::Json(Cow::Borrowed(document)),
        Value::JsonDiffs(_) | Value::Geometry(_) => {
            return Err(SqlError::unsupported("partial JSON and spatial values"));
        }
    })
}

fn members(ty: &DataType) -> &[Box<[u8]>] {
    match ty {
        DataType::Enum { members, .. } | DataType::Set { members, .. } => members,
        _ => &[],
    }
}

fn padded<'a>(bytes: &'a [u8], ty: &DataType) -> Cow<'a, [u8]> {
    match ty {
        DataType::Char { length, collation: Collation::BINARY } if bytes.len() < usize::from(*length) => {
            let mut bytes = bytes.to_vec();
            bytes.resize(usize::from(*length), 0);
            Cow::Owned(bytes)
        }
        _ => Cow::Borrowed(bytes),
    }
}

fn bit_bytes(bits: u64, width: u16) -> Vec<u8> {
    bits.to_be_bytes()[8 - usize::from(width).div_ceil(8).clamp(1, 8)..].to_vec()
}

fn from_timestamp(t: row::Timestamp, zone: Zone) -> DateTime {
    let zero = DateTime { fsp: t.digits, ..DateTime::ZERO };
    if t.seconds == 0 && t.micros == 0 {
        return zero;
    }
    let micros = zone.to_local(i64::from(t.seconds) * SECOND + i64::from(t.micros));
    DateTime::from_unix_micros(micros, t.digits).unwrap_or(zero)
}
