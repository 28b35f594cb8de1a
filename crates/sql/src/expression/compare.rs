//! How two operands compare: chosen from their types once, applied to each pair of values.
//!
//! The manual's "Type Conversion in Expression Evaluation", in order: two texts as text, two
//! integers as integers, exact numbers as decimals, a date or time against anything that reads as
//! one as dates, everything else as doubles.

use std::cmp::Ordering;

use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Collation, Family, Type};
use datum::value::json::{self, convert::Origin};
use datum::value::{Date, Datum, temporal_text};
use syntax::ast::BinaryOp;

/// What values are compared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Integers of any sign.
    Integer,
    /// Exact decimals.
    Decimal,
    /// Approximate numbers.
    Double,
    /// Text under a collation.
    Text(Collation),
    /// Times of day and spans, by microseconds.
    Time,
    /// Points in time; a date is its midnight.
    DateTime,
    /// JSON values.
    Json,
}

/// How values of these two types compare; texts have been brought to `collation` already.
pub(crate) fn choose(left: &Type, right: &Type, collation: Collation) -> By {
    use Family as F;
    let (a, b) = (left.family, right.family);
    let exact = |f: F| matches!(f, F::Integer | F::Decimal | F::Bit | F::Year);
    let integer = |f: F| matches!(f, F::Integer | F::Bit | F::Year);
    match (a, b) {
        (F::Null, F::Null) => By::Text(collation),
        (F::Null, other) | (other, F::Null) => alone(other, collation),
        (F::Json, _) | (_, F::Json) => By::Json,
        _ if a.is_text() && b.is_text() => By::Text(collation),
        (F::Label, f) | (f, F::Label) if integer(f) => By::Integer,
        _ if integer(a) && integer(b) => By::Integer,
        _ if exact(a) && exact(b) => By::Decimal,
        (F::Time, F::Time) => By::Time,
        (F::Time, f) | (f, F::Time) if f.is_text() => By::Time,
        _ if a.is_temporal() && (b.is_temporal() || b.is_text()) => By::DateTime,
        _ if b.is_temporal() && a.is_text() => By::DateTime,
        (F::Time, f) | (f, F::Time) if exact(f) => By::Decimal,
        _ if a.is_temporal() && exact(b) || b.is_temporal() && exact(a) => By::DateTime,
        _ => By::Double,
    }
}

fn alone(family: Family, collation: Collation) -> By {
    match family {
        Family::Integer | Family::Bit | Family::Year => By::Integer,
        Family::Decimal => By::Decimal,
        Family::Float | Family::Double => By::Double,
        Family::Time => By::Time,
        Family::Date | Family::DateTime => By::DateTime,
        Family::Json => By::Json,
        Family::Text | Family::Label | Family::Null => By::Text(collation),
    }
}

/// How values of one type sort among themselves.
pub(crate) fn own_order(ty: &Type) -> By {
    alone(ty.family, ty.collation)
}

impl By {
    /// Compares; `None` if either is NULL.
    pub(crate) fn compare(self, cx: &mut Context, a: &Datum<'_>, b: &Datum<'_>) -> Result<Option<Ordering>> {
        if a.is_null() {
            return Ok(None);
        }
        if b.is_null() {
            // The left side has been made a number by then, and what is wrong with it said.
            if let (By::Decimal | By::Double, Datum::Bytes(_)) = (self, a) {
                cx.double(a)?;
            }
            return Ok(None);
        }
        Ok(Some(match self {
            By::Integer => match (a, b) {
                (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
                (Datum::UInt(a), Datum::UInt(b)) => a.cmp(b),
                _ => a.to_integer().value.cmp(&b.to_integer().value),
            },
            By::Decimal => cx.decimal(a)?.cmp(&cx.decimal(b)?),
            By::Double => {
                let (a, b) = (cx.double(a)?, cx.double(b)?);
                a.partial_cmp(&b).unwrap_or(Ordering::Equal)
            }
            By::Text(collation) => match (a, b) {
                (Datum::Bytes(a), Datum::Bytes(b)) => collation.compare(a, b),
                _ => collation.compare(&a.to_bytes(), &b.to_bytes()),
            },
            By::Time => {
                let key = |t: Option<datum::value::Time>| t.map(|t| t.micros);
                let (a, b) = (time(cx, a), time(cx, b));
                key(a).cmp(&key(b))
            }
            By::Json => json_order(a, b)?,
            By::DateTime => {
                let key = |d: Option<datum::value::DateTime>| d.map(|d| (d.date, d.micros));
                let (a, b) = (datetime(cx, a, b), datetime(cx, b, a));
                key(a).cmp(&key(b))
            }
        }))
    }
}

/// JSON values as they lie, others made JSON.
fn json_order(a: &Datum<'_>, b: &Datum<'_>) -> Result<Ordering> {
    let encoded = |d: &Datum<'_>| match d {
        Datum::Json(_) => Ok(Vec::new()),
        other => json::encode(&json::convert::from_datum(other.borrow(), Origin::PLAIN)?),
    };
    let (made_a, made_b) = (encoded(a)?, encoded(b)?);
    fn root<'d>(d: &'d Datum<'_>, made: &'d [u8]) -> Result<json::Json<'d>> {
        json::root(if let Datum::Json(document) = d { document } else { made })
    }
    json::compare::compare(root(a, &made_a)?, root(b, &made_b)?).map_err(json::damaged)
}

impl By {
    /// Appends bytes that are equal for values, not NULL, that compare as equal.
    pub(crate) fn key(self, cx: &mut Context, value: &Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
        match self {
            By::Double => {
                let value = cx.double(value)?;
                super::aggregate::key_by(self, &Datum::Double(value), out)
            }
            By::Decimal => {
                let value = cx.decimal(value)?;
                super::aggregate::key_by(self, &Datum::Decimal(value), out)
            }
            By::DateTime => match datetime(cx, value, value) {
                Some(value) => super::aggregate::key_by(self, &Datum::DateTime(value), out),
                None => super::aggregate::key_by(self, &Datum::DateTime(Default::default()), out),
            },
            _ => super::aggregate::key_by(self, value, out),
        }
    }
}

/// As a date with a time; text that is none sorts before all, with warning 1292, which tells what
/// the other value is. A year beside dates that rows give is before its first day, and equals none
/// of them.
fn datetime(cx: &mut Context, v: &Datum<'_>, other: &Datum<'_>) -> Option<datum::value::DateTime> {
    if let Datum::Year(year) = v {
        return Some(Date { year: *year, month: 0, day: 0 }.midnight());
    }
    let kind = if matches!(other, Datum::Date(_)) { "date" } else { "datetime" };
    if let Datum::Bytes(text) | Datum::Label(_, text) = v
        && let Some(read) = temporal_text::parse_datetime_in(text, cx.settings.zone())
    {
        if temporal_text::goes_on(text, &read) {
            cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&kind, &String::from_utf8_lossy(text)]));
        }
        return Some(read.value);
    }
    let found = v.to_datetime(|| cx.today());
    if found.is_none() && v.is_text() {
        super::cast::warn_incorrect(cx, v, kind);
    }
    found
}

/// As a time; text that is none sorts before all, with warning 1292.
fn time(cx: &mut Context, v: &Datum<'_>) -> Option<datum::value::Time> {
    let found = v.to_time();
    if found.is_none() && v.is_text() {
        super::cast::warn_incorrect(cx, v, "time");
    }
    found
}

/// True if `order` is what the operator asks for.
pub(crate) fn holds(op: BinaryOp, order: Ordering) -> bool {
    match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => order.is_eq(),
        BinaryOp::NotEqual => order.is_ne(),
        BinaryOp::Less => order.is_lt(),
        BinaryOp::LessOrEqual => order.is_le(),
        BinaryOp::Greater => order.is_gt(),
        BinaryOp::GreaterOrEqual => order.is_ge(),
        _ => false,
    }
}

/// A value as a condition. Text that is no number counts as what it starts with, with a warning.
pub(crate) fn truth(cx: &mut Context, value: &Datum<'_>) -> Result<Option<bool>> {
    match value {
        Datum::Bytes(_) => Ok(Some(cx.double(value)? != 0.0)),
        other => Ok(other.truth()),
    }
}
