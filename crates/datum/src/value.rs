//! Values while a statement runs.
//!
//! A [`Datum`] is one value on its way through an expression. Text is borrowed from where it lies
//! (a row image, the statement, the table's definition) as long as nothing changes it, so that a
//! scan allocates nothing per value. A datum does not know its column or character set: those are
//! the static type of the expression it came from.
//!
//! - [`decimal`], [`temporal`], [`temporal_text`], [`number`]: what the parts are and how they read
//!   from text.
//! - [`text`]: how each prints. [`zone`]: time zones.
//! - [`store`]: a datum becomes a column's value, with MySQL's ranges, strictness and warnings.
//! - [`image`]: to and from the columns of a row image.
//! - [`json`][]: documents.

pub mod decimal;
pub mod image;
pub mod json;
pub mod number;
pub mod store;
pub mod temporal;
pub mod temporal_text;
pub mod text;
pub mod zone;

use std::borrow::Cow;

pub use decimal::Decimal;
pub use temporal::{Date, DateTime, Time};

/// One value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Datum<'a> {
    /// Unknown or absent; SQL's NULL, not a document's.
    #[default]
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A double-precision number.
    Double(f64),
    /// A single-precision number, which prints with six digits.
    Float(f32),
    /// An exact decimal.
    Decimal(Decimal),
    /// A character or byte string.
    Bytes(Cow<'a, [u8]>),
    /// A BIT value or a hexadecimal literal: a byte string that is a big-endian number where a
    /// number is wanted.
    Bits(Cow<'a, [u8]>),
    /// Without a time of day; may be a zero date.
    Date(Date),
    /// A time of day or a span, up to 838:59:59 either way.
    Time(Time),
    /// Also of TIMESTAMP columns.
    DateTime(DateTime),
    /// A YEAR, which prints with four digits.
    Year(u16),
    /// A member of an ENUM or the members of a SET: its number and its text.
    Label(u64, Cow<'a, [u8]>),
    /// A JSON document in MySQL's binary form.
    Json(Cow<'a, [u8]>),
}

/// A converted value, and whether the whole of the original took part in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Converted<T> {
    /// What the part that could be used gives.
    pub value: T,
    /// False if text went on after the number, or did not start with one.
    pub whole: bool,
}

impl<T> Converted<T> {
    fn whole(value: T) -> Self {
        Self { value, whole: true }
    }

    fn map<U>(self, f: impl FnOnce(T) -> U) -> Converted<U> {
        Converted { value: f(self.value), whole: self.whole }
    }
}

impl<'a> Datum<'a> {
    /// 1 or 0.
    pub fn from_bool(truth: bool) -> Self {
        Datum::Int(truth.into())
    }

    /// A string of its own.
    pub fn owned(bytes: impl Into<Vec<u8>>) -> Self {
        Datum::Bytes(Cow::Owned(bytes.into()))
    }

    /// A borrowed string.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Datum::Bytes(Cow::Borrowed(bytes))
    }

    /// The bytes of a text or document; 0 for anything else.
    pub fn text_len(&self) -> usize {
        match self {
            Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) | Datum::Json(b) => b.len(),
            _ => 0,
        }
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// True for strings, which need parsing where a number or date is wanted.
    pub fn is_text(&self) -> bool {
        matches!(self, Datum::Bytes(_))
    }

    /// The same value with text of its own.
    pub fn into_owned(self) -> Datum<'static> {
        let own = |b: Cow<'a, [u8]>| Cow::Owned(b.into_owned());
        match self {
            Datum::Bytes(b) => Datum::Bytes(own(b)),
            Datum::Bits(b) => Datum::Bits(own(b)),
            Datum::Label(n, b) => Datum::Label(n, own(b)),
            Datum::Json(b) => Datum::Json(own(b)),
            Datum::Null => Datum::Null,
            Datum::Int(v) => Datum::Int(v),
            Datum::UInt(v) => Datum::UInt(v),
            Datum::Double(v) => Datum::Double(v),
            Datum::Float(v) => Datum::Float(v),
            Datum::Decimal(v) => Datum::Decimal(v),
            Datum::Date(v) => Datum::Date(v),
            Datum::Time(v) => Datum::Time(v),
            Datum::DateTime(v) => Datum::DateTime(v),
            Datum::Year(v) => Datum::Year(v),
        }
    }

    /// The same value borrowing this one's text.
    pub fn borrow(&self) -> Datum<'_> {
        match self {
            Datum::Bytes(b) => Datum::Bytes(Cow::Borrowed(b)),
            Datum::Bits(b) => Datum::Bits(Cow::Borrowed(b)),
            Datum::Label(n, b) => Datum::Label(*n, Cow::Borrowed(b)),
            Datum::Json(b) => Datum::Json(Cow::Borrowed(b)),
            other => other.clone(),
        }
    }

    /// As a double. NULL is 0.
    pub fn to_f64(&self) -> Converted<f64> {
        match self {
            Datum::Null => Converted::whole(0.0),
            Datum::Int(v) => Converted::whole(*v as f64),
            Datum::UInt(v) | Datum::Label(v, _) => Converted::whole(*v as f64),
            Datum::Double(v) => Converted::whole(*v),
            Datum::Float(v) => Converted::whole((*v).into()),
            Datum::Decimal(v) => Converted::whole(v.to_f64()),
            Datum::Bytes(b) => {
                let (value, len) = number::parse_f64(b);
                // No text at all is 0 without a word.
                Converted { value, whole: number::is_whole(b, len) }
            }
            Datum::Bits(b) => Converted::whole(bits_to_u64(b) as f64),
            Datum::Year(v) => Converted::whole((*v).into()),
            Datum::Json(document) => json::convert::to_number(document, 0.0, |d| d.to_f64()),
            Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => self.to_decimal().map(|d| d.to_f64()),
        }
    }

    /// As an exact decimal. NULL is 0; doubles out of range are the largest decimal.
    pub fn to_decimal(&self) -> Converted<Decimal> {
        match self {
            Datum::Null => Converted::whole(Decimal::ZERO),
            Datum::Int(v) => Converted::whole((*v).into()),
            Datum::UInt(v) | Datum::Label(v, _) => Converted::whole((*v).into()),
            Datum::Double(v) => {
                let limit = || Decimal::largest(decimal::PRECISION_MAX, 0, *v < 0.0);
                Converted::whole(Decimal::from_f64(*v).unwrap_or_else(limit))
            }
            Datum::Float(v) => Datum::Double((*v).into()).to_decimal(),
            Datum::Decimal(v) => Converted::whole(*v),
            Datum::Bytes(b) => {
                let (value, len) = Decimal::parse(b);
                Converted { value, whole: len > 0 && number::is_whole(b, len) }
            }
            Datum::Bits(b) => Converted::whole(bits_to_u64(b).into()),
            Datum::Year(v) => Converted::whole(u64::from(*v).into()),
            Datum::Json(document) => json::convert::to_number(document, Decimal::ZERO, |d| d.to_decimal()),
            Datum::Date(v) => Converted::whole(v.to_number().into()),
            Datum::Time(v) => Converted::whole(with_fraction(v.to_number().into(), *v)),
            Datum::DateTime(v) => Converted::whole(with_fraction(v.to_number().into(), v.time())),
        }
    }

    /// As an integer, rounded; saturated at what `i128` holds. NULL is 0.
    pub fn to_integer(&self) -> Converted<i128> {
        match self {
            Datum::Null => Converted::whole(0),
            Datum::Int(v) => Converted::whole((*v).into()),
            Datum::UInt(v) | Datum::Label(v, _) => Converted::whole((*v).into()),
            Datum::Double(v) => Converted::whole(round_half_even(*v)),
            Datum::Float(v) => Converted::whole(round_half_even((*v).into())),
            Datum::Bytes(b) => {
                let number = number::parse_integer(b);
                Converted { value: number.value, whole: number.len > 0 && number::is_whole(b, number.len) }
            }
            Datum::Bits(b) => Converted::whole(bits_to_u64(b).into()),
            Datum::Year(v) => Converted::whole((*v).into()),
            Datum::Decimal(v) => Converted::whole(decimal_to_integer(v)),
            Datum::Json(document) => json::convert::to_number(document, 0, |d| d.to_integer()),
            Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => {
                self.to_decimal().map(|d| decimal_to_integer(&d))
            }
        }
    }

    /// As a truth value; `None` for NULL.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Datum::Null => None,
            Datum::Int(v) => Some(*v != 0),
            Datum::UInt(v) | Datum::Label(v, _) => Some(*v != 0),
            Datum::Decimal(v) => Some(!v.is_zero()),
            // JSON is true unless it equals the number 0.
            Datum::Json(document) => Some(json::is_true(document)),
            other => Some(other.to_f64().value != 0.0),
        }
    }

    /// As text, in its own allocation only where it must be printed.
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        match self {
            Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) => b,
            Datum::Float(v) => {
                let mut out = Vec::new();
                text::write_f32_as_text(v, &mut out);
                Cow::Owned(out)
            }
            other => {
                let mut out = Vec::new();
                text::write(&other, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// As text; borrows where it is text already.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        self.borrow().into_bytes()
    }

    /// As a date and time; `None` if it is none. A time counts from `today`, which is
    /// not asked for else.
    pub fn to_datetime(&self, today: impl FnOnce() -> Date) -> Option<DateTime> {
        match self {
            Datum::Null | Datum::Double(_) | Datum::Float(_) => match self.to_integer().value {
                0 => None,
                n => temporal_text::datetime_from_number(i64::try_from(n).ok()?),
            },
            Datum::Date(d) => Some(d.midnight()),
            Datum::DateTime(d) => Some(*d),
            Datum::Time(t) => DateTime { date: today(), micros: 0, fsp: t.fsp }.add_micros(t.micros),
            Datum::Bytes(b) | Datum::Label(_, b) => temporal_text::parse_datetime(b).map(|r| r.value),
            Datum::Json(document) => json::convert::to_temporal(document)?.to_datetime(today),
            Datum::Decimal(d) => {
                let whole = temporal_text::datetime_from_number(d.truncate(0).to_i64()?)?;
                let micros = d.sub(&d.truncate(0))?.mul(&Decimal::from(temporal::SECOND))?.to_i64()?;
                DateTime { fsp: d.shown().min(6), ..whole }.add_micros(micros)
            }
            // A YEAR is its first day.
            Datum::Year(year) => Some(Date { year: *year, month: 1, day: 1 }.midnight()),
            Datum::Int(_) | Datum::UInt(_) | Datum::Bits(_) => {
                temporal_text::datetime_from_number(i64::try_from(self.to_integer().value).ok()?)
            }
        }
    }

    /// The same with a seventh digit of the second cut, not rounded, as TIME_TRUNCATE_FRACTIONAL
    /// asks for.
    pub fn to_datetime_cut(&self, today: impl FnOnce() -> Date) -> Option<DateTime> {
        match self {
            Datum::Bytes(b) | Datum::Label(_, b) => temporal_text::parse_datetime(b).map(|r| r.cut()),
            Datum::Decimal(d) => Datum::Decimal(d.truncate(6)).to_datetime(today),
            other => other.to_datetime(today),
        }
    }

    /// The same for a time.
    pub fn to_time_cut(&self) -> Option<Time> {
        match self {
            Datum::Bytes(b) | Datum::Label(_, b) => temporal_text::parse_time(b).map(|r| r.cut()),
            Datum::Decimal(d) => Datum::Decimal(d.truncate(6)).to_time(),
            other => other.to_time(),
        }
    }

    /// As a time; `None` if it is none.
    pub fn to_time(&self) -> Option<Time> {
        match self {
            Datum::Null => None,
            Datum::Time(t) => Some(*t),
            Datum::DateTime(d) => Some(d.time()),
            Datum::Date(_) | Datum::Year(_) => Some(Time::default()),
            Datum::Bytes(b) | Datum::Label(_, b) => temporal_text::parse_time(b).map(|r| r.value),
            Datum::Json(document) => json::convert::to_temporal(document)?.to_time(),
            Datum::Decimal(_) | Datum::Double(_) | Datum::Float(_) => {
                temporal_text::parse_time(self.to_decimal().value.to_string().as_bytes()).map(|r| r.value)
            }
            Datum::Int(_) | Datum::UInt(_) | Datum::Bits(_) => {
                let n = i64::try_from(self.to_integer().value).ok()?;
                temporal_text::time_from_number(n).map(|r| r.value)
            }
        }
    }
}

/// A BIT value or hexadecimal literal as a number: the last eight bytes, big-endian.
pub fn bits_to_u64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |v, &b| v << 8 | u64::from(b))
}

fn round_half_even(v: f64) -> i128 {
    v.round_ties_even() as i128
}

fn decimal_to_integer(d: &Decimal) -> i128 {
    match (d.to_i64(), d.to_u64()) {
        (Some(v), _) => v.into(),
        (_, Some(v)) => v.into(),
        _ if d.is_negative() => i128::MIN,
        _ => i128::MAX,
    }
}

fn with_fraction(whole: Decimal, time: Time) -> Decimal {
    let (_, _, _, us) = time.parts();
    let signed = if time.micros < 0 { -i128::from(us) } else { us.into() };
    let fraction = Decimal::from_parts(signed, 6).unwrap_or(Decimal::ZERO).truncate(time.fsp);
    whole.add(&fraction).unwrap_or(whole)
}
