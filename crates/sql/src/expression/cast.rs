//! CAST, CONVERT and the conversions that a result's type implies.

mod year;

use super::{arithmetic, functions};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Charset, Collation, DataType, Family, Type};
use datum::value::json::{self, convert, convert::Origin};
use datum::value::temporal::DateRules;
use datum::value::{Date, DateTime, Datum, Decimal, Time, number, temporal_text, text};

/// What a value is cast to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// BIGINT.
    Signed,
    /// BIGINT UNSIGNED.
    Unsigned,
    /// DECIMAL(precision, scale).
    Decimal(u8, u8),
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// DECIMAL, of whatever digits, of what a function gives, which gives no warning if it is no
    /// number.
    QuietDecimal,
    /// DOUBLE of a TEXT column, which gives no warning of values that are no numbers.
    QuietDouble,
    /// CHAR in a character set (from, to), cut to a number of characters.
    Char(Charset, Charset, Option<u32>),
    /// The same of what CASE, IF or NULLIF chose, whose type is a text's: where a number is wanted,
    /// it is that of the value itself.
    Chosen(Charset, Charset),
    /// DECIMAL of so many digits after the point, DOUBLE or FLOAT, as the type of a CASE or IF has
    /// it, of the number that was chosen: where a text is wanted, it is that of the number itself.
    ChosenNumber(Family, u8),
    /// The text of a ZEROFILL column's number: as many digits.
    ZeroFilled(u8),
    /// The text of a FLOAT or DOUBLE that has so many digits after the point.
    Fixed(u8),
    /// BINARY, cut or padded with zero bytes to a number of bytes.
    Binary(Option<u32>),
    /// The day of a point in time; NULL if it is none.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// What a result's type implies: DATETIME(fsp) of a date or time, incomplete dates as they are.
    Moment(u8),
    /// 1901 to 2155, or 0; numbers below 100 are years from 1970 to 2069.
    Year,
    /// JSON, text being read as a document.
    Json(Origin),
    /// JSON, text becoming a string.
    JsonScalar(Origin),
}

impl To {
    /// The conversion into a type that CAST and RETURNING name alike; `None` if they differ over
    /// it, or have it not.
    pub(crate) fn of(ty: &DataType) -> Option<To> {
        Some(match *ty {
            DataType::Decimal { precision, scale, .. } => To::Decimal(precision, scale),
            DataType::Floating { double: true, .. } => To::Double,
            DataType::Floating { .. } => To::Float,
            DataType::Date => To::Date,
            DataType::Time(fsp) => To::Time(fsp),
            DataType::DateTime(fsp) => To::DateTime(fsp),
            DataType::Year => To::Year,
            _ => return None,
        })
    }
}

/// Converts; NULL stays NULL, and what is no date becomes NULL with warning 1292.
pub(crate) fn cast<'a>(cx: &mut Context, value: Datum<'a>, to: &To) -> Result<Datum<'a>> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    Ok(match *to {
        To::Signed => {
            let n = match &value {
                Datum::Bytes(_) => {
                    let (n, fits) = whole_number_of(cx, &value)?;
                    if n > i128::from(i64::MAX) && fits {
                        cx.warn(error::UNKNOWN_ERROR.with(&[&TO_NEGATIVE]));
                    }
                    // Beyond 64 bits it ends at the largest one without a sign, which is -1.
                    n.clamp(i64::MIN.into(), u64::MAX.into())
                }
                Datum::Json(_) => cx.integer(&value)?,
                // Numbers that are no integers end at the largest signed one; integers go around.
                Datum::Decimal(_) | Datum::Double(_) | Datum::Float(_) => {
                    arithmetic::to_bits(cx, &value)? as i64 as i128
                }
                _ => value.to_integer().value,
            };
            Datum::Int(match i64::try_from(n) {
                Ok(n) => n,
                Err(_) => u64::try_from(n).map_or(if n < 0 { i64::MIN } else { i64::MAX }, |n| n as i64),
            })
        }
        To::Unsigned => {
            let n = match &value {
                Datum::Bytes(_) => {
                    let (n, fits) = whole_number_of(cx, &value)?;
                    if n < 0 && fits {
                        cx.warn(error::UNKNOWN_ERROR.with(&[&TO_POSITIVE]));
                    }
                    n.max(i64::MIN.into())
                }
                Datum::Json(_) => cx.integer(&value)?,
                Datum::Decimal(_) => {
                    let n = value.to_integer().value;
                    if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&n) {
                        cx.truncated("DECIMAL", &value)?;
                    }
                    n
                }
                _ => value.to_integer().value,
            };
            Datum::UInt(match u64::try_from(n) {
                Ok(n) => n,
                Err(_) => i64::try_from(n).map_or(if n < 0 { 0 } else { u64::MAX }, |n| n as u64),
            })
        }
        To::Decimal(precision, scale) => {
            let exact = cx.decimal(&value)?;
            let rounded = exact.round(scale);
            if rounded.digits() > u32::from(precision) {
                let shown = format!("cast({exact} as decimal({precision},{scale}))");
                cx.warn(error::WARN_DATA_OUT_OF_RANGE.with(&[&shown, &1]));
                return Ok(Datum::Decimal(Decimal::largest(precision, scale, exact.is_negative())));
            }
            Datum::Decimal(rounded)
        }
        To::Float => Datum::Float(cx.double(&value)? as f32),
        To::Double => Datum::Double(cx.double(&value)?),
        To::QuietDouble => Datum::Double(value.to_f64().value),
        To::QuietDecimal => {
            if number::scan(&value.to_bytes()).is_none() {
                let e = error::TRUNCATED_WRONG_VALUE_FOR_FIELD.with(&[&"DECIMAL", &0, &"", &-1]);
                if cx.statement.storing && cx.settings.modes().strict {
                    return Err(e);
                }
                cx.warn(e);
            }
            Datum::Decimal(value.to_decimal().value)
        }
        To::Chosen(from, to) => return cast(cx, value, &To::Char(from, to, None)),
        To::ChosenNumber(Family::Decimal, scale) => return cast(cx, value, &To::Decimal(65, scale)),
        To::ChosenNumber(Family::Float, _) => return cast(cx, value, &To::Float),
        To::ChosenNumber(..) => return cast(cx, value, &To::Double),
        To::Char(from, to, length) => {
            let is_text =
                matches!(value, Datum::Bytes(_) | Datum::Label(..) | Datum::Bits(_) | Datum::Json(_));
            let (bytes, _) =
                if is_text { from.convert(value.into_bytes(), to) } else { (value.into_bytes(), false) };
            if from == Charset::Binary && to.valid_prefix(&bytes) < bytes.len() {
                return Ok(invalid_text(cx, &bytes, to));
            }
            let end = length.map_or(bytes.len(), |n| to.char_offset(&bytes, n as usize));
            if end < bytes.len() {
                cut(cx, "CHAR", end, length, &bytes)?;
                return Ok(Datum::owned(&bytes[..end]));
            }
            Datum::Bytes(bytes)
        }
        To::Fixed(decimals) => {
            let mut out = Vec::new();
            text::write_fixed(value.to_f64().value, decimals, &mut out);
            Datum::owned(out)
        }
        To::ZeroFilled(width) => Datum::Bytes(text::zero_filled(value.into_bytes(), width.into())),
        To::Binary(length) => {
            let mut bytes = value.into_bytes();
            if let Some(n) = length.map(|n| n as usize)
                && n != bytes.len()
                && n <= cx.settings.max_allowed_packet()
            {
                if n < bytes.len() {
                    cut(cx, "BINARY", n, length, &bytes)?;
                }
                let missing = n.saturating_sub(bytes.len());
                let bytes = bytes.to_mut();
                datum::bounds::reserve(bytes, missing)?;
                bytes.resize(n, 0);
            }
            Datum::Bytes(bytes)
        }
        To::Date => match datetime(cx, &value, "date") {
            Some(d) => Datum::Date(d.date),
            None => Datum::Null,
        },
        To::DateTime(fsp) => match datetime(cx, &value, "datetime") {
            Some(_) if cx.settings.modes().truncate_fraction => {
                let read = value.to_datetime_cut(|| cx.today());
                read.map_or(Datum::Null, |d| Datum::DateTime(d.truncate(fsp)))
            }
            Some(d) => d.round(fsp).map_or(Datum::Null, Datum::DateTime),
            None => Datum::Null,
        },
        To::Moment(fsp) => match value.to_datetime(|| cx.today()).and_then(|d| d.round(fsp)) {
            Some(d) => Datum::DateTime(d),
            None => Datum::Null,
        },
        To::Time(fsp) => match time(cx, &value) {
            Some(_) if cx.settings.modes().truncate_fraction => {
                let read = value.to_time_cut();
                read.map_or(Datum::Null, |t| Datum::Time(t.truncate(fsp).clamp().0))
            }
            Some(t) => Datum::Time(t.round(fsp).clamp().0),
            None => Datum::Null,
        },
        To::Json(source) => match value {
            Datum::Bytes(_) | Datum::Label(..) if source.charset != Charset::Binary => {
                functions::json::document(value, source.charset, 1, "cast_as_json").map(Datum::Json)?
            }
            other => json_scalar(other, source)?,
        },
        To::JsonScalar(source) => json_scalar(value, source)?,
        To::Year => year::cast(cx, &value)?,
    })
}

fn json_scalar(value: Datum<'_>, source: Origin) -> Result<Datum<'_>> {
    if let Datum::Json(_) = value {
        return Ok(value);
    }
    let tree = convert::from_datum(value, source)?;
    json::encode(&tree).map(|document| Datum::Json(document.into()))
}

/// A value in a result's family, where it is of another.
pub(crate) fn to_type<'a>(cx: &mut Context, value: Datum<'a>, ty: &Type) -> Result<Datum<'a>> {
    let to = match (ty.family, &value) {
        (Family::Integer, Datum::Int(_) | Datum::UInt(_)) => return Ok(value),
        (Family::Decimal, Datum::Decimal(d)) if d.shown() == ty.decimals => return Ok(value),
        (Family::Decimal, _) => To::Decimal(65, ty.decimals),
        (Family::Double, _) => To::Double,
        (Family::Float, Datum::Float(_)) => return Ok(value),
        (Family::Float, _) => To::Float,
        (Family::Integer, _) if ty.unsigned => To::Unsigned,
        (Family::Integer, _) => To::Signed,
        (Family::DateTime, Datum::Date(_)) => To::Moment(ty.decimals),
        (Family::DateTime, Datum::DateTime(d)) if d.fsp != ty.decimals => To::Moment(ty.decimals),
        (Family::Time, Datum::Time(t)) if t.fsp != ty.decimals => To::Time(ty.decimals),
        _ => return Ok(value),
    };
    cast(cx, value, &to)
}

/// Warning 1292: text was cut. More than spaces is meant.
fn cut(cx: &mut Context, kind: &str, kept: usize, length: Option<u32>, text: &[u8]) -> Result<()> {
    if text[kept..].iter().all(|&b| b == b' ') {
        return Ok(());
    }
    cx.truncated(&format!("{kind}({})", length.unwrap_or(0)), &Datum::borrowed(text))
}

const TO_NEGATIVE: &str = "Cast to signed converted positive out-of-range integer to its negative complement";
const TO_POSITIVE: &str = "Cast to unsigned converted negative integer to its positive complement";

/// The integer that text starts with: digits only, as CAST reads it.
pub(super) fn whole_number(cx: &mut Context, value: &Datum<'_>) -> Result<i128> {
    whole_number_of(cx, value).map(|(number, _)| number)
}

/// The same, and whether 64 bits hold it.
fn whole_number_of(cx: &mut Context, value: &Datum<'_>) -> Result<(i128, bool)> {
    let bytes = value.to_bytes();
    let trimmed = bytes[datum::value::number::blanks(&bytes)..].trim_ascii_end();
    let signs = usize::from(matches!(trimmed.first(), Some(b'-' | b'+')));
    let digits = trimmed[signs..].iter().take_while(|b| b.is_ascii_digit()).count();
    let number = datum::value::number::parse_integer(&trimmed[..signs + digits]);
    let fits = (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number.value);
    if digits == 0 || signs + digits < trimmed.len() || !fits {
        cx.truncated("INTEGER", value)?;
    }
    Ok((number.value, fits))
}

/// Bytes that are no text of the set: NULL, with warning 1300.
fn invalid_text(cx: &mut Context, bytes: &[u8], to: Charset) -> Datum<'static> {
    let wrong = &bytes[to.valid_prefix(bytes)..];
    let shown: String = wrong.iter().take(6).map(|b| format!("{b:02X}")).collect();
    cx.warn(error::INVALID_CHARACTER_STRING.with(&[&to.name(), &shown]));
    Datum::Null
}

/// As a date with a time, or a warning.
pub(crate) fn datetime(cx: &mut Context, value: &Datum<'_>, kind: &str) -> Option<DateTime> {
    if value.is_null() {
        return None;
    }
    let found = read_datetime(cx, value, kind, cx.settings.modes().dates);
    // Nothing is wrong with what is a date already, though it may not be used now.
    if found.is_none() && !matches!(value, Datum::Date(_) | Datum::DateTime(_)) {
        warn_incorrect(cx, value, kind);
    }
    found
}

/// As a date with a time whose parts are asked for, or a warning. Months and days may be zero, and
/// a whole date that is stored.
pub(crate) fn datetime_parts(cx: &mut Context, value: &Datum<'_>, kind: &str) -> Option<DateTime> {
    if value.is_null() {
        return None;
    }
    let modes = cx.settings.modes().dates;
    let is_stored = matches!(value, Datum::Date(_) | Datum::DateTime(_));
    let rules = DateRules { no_zero_in_date: false, no_zero_date: modes.no_zero_date && !is_stored, ..modes };
    let found = read_datetime(cx, value, kind, rules);
    if found.is_none() && !is_stored {
        warn_incorrect(cx, value, kind);
    }
    found
}

/// Where only a date is asked for, numbers up to 100 are one of the year 2000, without a month or
/// a day: 0 is 2000-00-00. With a time 0 is the zero date, and the others are none.
fn date_of_short_number(value: &Datum<'_>) -> Option<Date> {
    let number = match value {
        Datum::Decimal(d) => d.truncate(0).to_i64()?,
        Datum::Int(_) | Datum::UInt(_) | Datum::Bits(_) | Datum::Double(_) | Datum::Float(_) => {
            i64::try_from(value.to_integer().value).ok()?
        }
        _ => return None,
    };
    match number {
        0..=31 | 100 => Some(Date { year: 2000, month: (number / 100) as u8, day: (number % 100) as u8 }),
        _ => None,
    }
}

/// A date with a time that these rules allow; a text that goes on after it gives a warning.
fn read_datetime(cx: &mut Context, value: &Datum<'_>, kind: &str, rules: DateRules) -> Option<DateTime> {
    let (Datum::Bytes(text) | Datum::Label(_, text)) = value else {
        if kind == "date"
            && let Some(date) = date_of_short_number(value)
        {
            return Some(date.midnight()).filter(|d| d.date.check(rules));
        }
        return value.to_datetime(|| cx.today()).filter(|d| d.date.check(rules));
    };
    let read = temporal_text::parse_datetime_in(text, cx.settings.zone());
    let read = read.filter(|read| read.value.date.check(rules))?;
    if temporal_text::goes_on(text, &read) {
        let kind = if kind == "datetime" && !temporal_text::has_time(text) { "date" } else { kind };
        cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&kind, &String::from_utf8_lossy(text)]));
    }
    Some(read.value)
}

/// As a time, or a warning.
pub(crate) fn time(cx: &mut Context, value: &Datum<'_>) -> Option<Time> {
    if let Datum::Bytes(text) = value
        && let Some(read) = temporal_text::parse_time(text)
    {
        if read.truncated {
            let shown = String::from_utf8_lossy(text);
            cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&"time", &shown]));
        }
        return Some(read.value);
    }
    let found = value.to_time();
    if found.is_none() && !value.is_null() {
        warn_incorrect(cx, value, "time");
    }
    found
}

/// Warning 1292 for a value that is none of this kind.
pub(super) fn warn_incorrect(cx: &mut Context, value: &Datum<'_>, kind: &str) {
    if let Datum::Json(_) = value {
        let kind =
            if kind == "datetime" { "DATETIME/TIMESTAMP".to_owned() } else { kind.to_ascii_uppercase() };
        return cx.warn(error::INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &"", &1]));
    }
    let shown = String::from_utf8_lossy(&value.to_bytes()).into_owned();
    // A number that is no date is none with a time either.
    let is_whole = matches!(value, Datum::Int(_) | Datum::UInt(_) | Datum::Year(_));
    let (how, kind) = match kind {
        "date" if is_whole => ("Incorrect", "datetime"),
        "datetime" => ("Incorrect", kind),
        _ => ("Truncated incorrect", kind),
    };
    let mut e = error::TRUNCATED_WRONG_VALUE.plain();
    e.message = format!("{how} {kind} value: '{shown}'");
    cx.warn(e);
}

/// The type that a cast gives.
pub(crate) fn result_type(to: &To, of: &Type, collation: Collation) -> Type {
    use datum::types::Coercibility::{self, Implicit};
    let nullable = match to {
        // What is no number is 0.
        To::Signed
        | To::Unsigned
        | To::Decimal(..)
        | To::Float
        | To::Double
        | To::QuietDouble
        | To::QuietDecimal
        | To::ChosenNumber(..)
        | To::Fixed(_)
        | To::ZeroFilled(_) => of.nullable,
        _ => true,
    };
    let ty = match *to {
        To::Json(_) | To::JsonScalar(_) => Type::JSON,
        To::Signed => Type::INT,
        To::Unsigned => Type::UINT,
        To::Decimal(precision, scale) => Type::decimal(precision.into(), scale),
        To::Float => Type { family: Family::Float, ..Type::DOUBLE },
        To::Double | To::QuietDouble => Type::DOUBLE,
        To::QuietDecimal => Type::decimal(65, 30),
        To::ChosenNumber(Family::Decimal, scale) => Type::decimal(65, scale),
        To::ChosenNumber(family, _) => Type { family, ..Type::DOUBLE },
        To::Chosen(_, charset) => Type::text(collation, Implicit, text_length(of, charset)),
        To::Char(_, charset, length) => {
            Type::text(collation, Implicit, length.unwrap_or_else(|| text_length(of, charset)))
        }
        // Beside a CHAR it is one, as any number is.
        To::Fixed(_) => Type {
            code: datum::types::code::STRING,
            ..Type::text(collation, Coercibility::Numeric, of.text_length())
        },
        To::ZeroFilled(width) => Type::text(collation, Coercibility::Numeric, width.into()),
        To::Binary(length) => {
            Type::text(Collation::BINARY, Implicit, length.unwrap_or_else(|| of.value_bytes()))
        }
        To::Date => Type::DATE,
        To::Time(fsp) => Type::time(fsp),
        To::DateTime(fsp) | To::Moment(fsp) => Type::datetime(fsp),
        To::Year => Type { family: Family::Year, unsigned: true, length: 4, ..Type::INT },
    };
    Type { nullable, ..ty }
}

/// The characters that a value has as a text of this set: bytes may be a character each.
pub(crate) fn text_length(of: &Type, to: Charset) -> u32 {
    if to == Charset::Binary { of.value_bytes() } else { of.text_length() }
}
