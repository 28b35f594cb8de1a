//! Dates, times and YEAR: what fits into such a column, in the session's rules.

use super::numbers::is_negative_fraction;
use super::{Target, printable};
use crate::error::{self, Result};
use crate::value::temporal::{Date, DateTime, SECOND, TIME_MAX, Time};
use crate::value::{Datum, number, temporal_text};

/// 1292; where the session isn't strict, 1265 for what does not read as one at all, else 1264.
fn incorrect<T>(kind: &str, v: &Datum<'_>, zero: T, to: &mut Target<'_>) -> Result<T> {
    if !to.rules.strict {
        let unreadable = match (kind, v) {
            ("time", Datum::Bytes(text)) => {
                !text.trim_ascii().starts_with(b"-") && number::scan(text).is_none()
            }
            ("time", _) => false,
            (_, Datum::Year(_)) => true,
            (_, Datum::Bytes(text)) => temporal_text::parse_datetime(text).is_none(),
            (_, Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Float(_) | Datum::Decimal(_)) => {
                v.to_datetime(|| Date::ZERO).is_none() && v.to_f64().value < LARGEST_NUMBER
            }
            _ => false,
        };
        return if unreadable { to.truncated(zero) } else { to.out_of_range(zero) };
    }
    let shown = printable(&v.to_bytes());
    Err(error::INCORRECT_VALUE.with(&[&kind, &shown, &to.column, &to.row]))
}

/// Numbers from here on have more digits than a date and time has.
const LARGEST_NUMBER: f64 = 1e14;

/// A date with a time that the session's rules allow; `None` if there is none in the value.
fn checked_datetime(v: &Datum<'_>, to: &Target<'_>) -> Option<(DateTime, bool)> {
    let (value, truncated) = match v {
        Datum::Bytes(b) | Datum::Label(_, b) => {
            let read = temporal_text::parse_datetime_in(b, to.rules.zone)?;
            let value = if to.rules.truncate_fraction { read.cut() } else { read.value };
            (value, read.truncated)
        }
        Datum::Int(0) | Datum::UInt(0) | Datum::Year(0) => (DateTime::ZERO, false),
        // CAST makes it the year's first day; stored it is a number of a month and a day.
        Datum::Year(_) => return None,
        Datum::Double(_) | Datum::Float(_) if v.to_integer().value == 0 => (DateTime::ZERO, false),
        Datum::Decimal(n) => {
            let value = match to.rules.truncate_fraction {
                true => v.to_datetime_cut(|| to.rules.today())?,
                false => v.to_datetime(|| to.rules.today())?,
            };
            // A number that is a date alone has no place for a fraction.
            match n.truncate(0).digits() <= 8 {
                true => (value.date.midnight(), value.micros != 0),
                false => (value, false),
            }
        }
        other => (other.to_datetime(|| to.rules.today())?, false),
    };
    value.date.check(to.rules.dates).then_some((value, truncated))
}

pub(super) fn date<'a>(v: &Datum<'_>, to: &mut Target<'_>) -> Result<Datum<'a>> {
    match checked_datetime(v, to) {
        Some((value, truncated)) => {
            if truncated {
                to.trailing("date", v)?;
            } else if value.micros != 0 {
                to.note_incorrect("date", v);
            }
            Ok(Datum::Date(value.date))
        }
        None => incorrect("date", v, Datum::Date(Date::ZERO), to),
    }
}

pub(super) fn datetime(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<DateTime> {
    let zero = DateTime { fsp, ..DateTime::ZERO };
    let Some((value, truncated)) = checked_datetime(v, to) else {
        return incorrect("datetime", v, zero, to);
    };
    if truncated {
        to.trailing("datetime", v)?;
    }
    if to.rules.truncate_fraction {
        return Ok(value.truncate(fsp));
    }
    match value.round(fsp) {
        Some(rounded) => Ok(rounded),
        None if to.rules.strict => Err(error::DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"])),
        None => incorrect("datetime", v, value.truncate(fsp), to),
    }
}

/// 2038-01-19 03:14:07 UTC.
const TIMESTAMP_MAX: i64 = i32::MAX as i64;

pub(super) fn timestamp<'a>(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let local = datetime(v, fsp, to)?;
    if local.is_zero() {
        return Ok(Datum::DateTime(local));
    }
    let zero = DateTime { fsp, ..DateTime::ZERO };
    let Some(moment) = local.unix_micros().map(|us| to.rules.zone.to_utc(us)) else {
        return incorrect("datetime", v, Datum::DateTime(zero), to);
    };
    match DateTime::from_unix_micros(moment.micros, fsp) {
        Some(_) if moment.in_gap && to.rules.strict => incorrect("datetime", v, Datum::DateTime(zero), to),
        Some(utc) if (1..=TIMESTAMP_MAX).contains(&moment.micros.div_euclid(SECOND)) => {
            if moment.in_gap {
                to.diagnostics.warn(error::WARN_INVALID_TIMESTAMP.with(&[&to.column, &to.row]));
            }
            Ok(Datum::DateTime(utc))
        }
        _ => incorrect("datetime", v, Datum::DateTime(zero), to),
    }
}

pub(super) fn time<'a>(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let read = match v {
        Datum::Bytes(b) | Datum::Label(_, b) if b.trim_ascii().is_empty() => {
            return Ok(Datum::Time(Time { micros: 0, fsp }));
        }
        Datum::Bytes(b) | Datum::Label(_, b) => {
            let read = temporal_text::parse_time(b);
            // Its date is left out.
            if temporal_text::is_shaped_as_datetime(b.trim_ascii())
                && read.as_ref().is_some_and(|r| !r.truncated)
            {
                to.note_incorrect("time", v);
            }
            read
        }
        Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Float(_) | Datum::Decimal(_) => {
            return time_of_number(v, fsp, to);
        }
        other => {
            other.to_time().map(|value| temporal_text::Read { value, truncated: false, rounded_up: false })
        }
    };
    let Some(read) = read else {
        let zero = Time { micros: 0, fsp };
        return incorrect("time", v, Datum::Time(zero), to);
    };
    if read.truncated {
        if read.value.micros.abs() >= TIME_MAX {
            return incorrect("time", v, Datum::Time(read.value.round(fsp)), to);
        }
        to.trailing("time", v)?;
    }
    let fitted = if to.rules.truncate_fraction { read.cut().truncate(fsp) } else { read.value.round(fsp) };
    Ok(Datum::Time(fitted.clamp().0))
}

/// A number as a time: `hhmmss`, or the time of `YYYYMMDDhhmmss`. One that is too large is the
/// largest time.
fn time_of_number<'a>(v: &Datum<'_>, fsp: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    const LARGEST: f64 = 8_385_959.0;
    const WITH_DATE: f64 = 1e10;
    let number = v.to_f64().value;
    let has_date = number >= WITH_DATE;
    let read = if to.rules.truncate_fraction { v.to_time_cut() } else { v.to_time() };
    let Some(value) = read.filter(|_| has_date || number.abs() < LARGEST + 1.0) else {
        let largest = if number < 0.0 { -TIME_MAX } else { TIME_MAX };
        let micros = if number.abs() > LARGEST { largest } else { 0 };
        return incorrect("time", v, Datum::Time(Time { micros, fsp }), to);
    };
    if has_date {
        to.note_incorrect("time", v);
    }
    let fitted = if to.rules.truncate_fraction { value.truncate(fsp) } else { value.round(fsp) };
    Ok(Datum::Time(fitted.clamp().0))
}

pub(super) fn year<'a>(v: &Datum<'_>, to: &mut Target<'_>) -> Result<Datum<'a>> {
    match v {
        Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => {
            let value = v.to_datetime(|| to.rules.today()).map_or(0, |moment| moment.date.year);
            return year(&Datum::UInt(value.into()), to);
        }
        v if is_negative_fraction(v) => return to.out_of_range(Datum::Year(0)),
        // Doubles are cut, decimals rounded.
        Datum::Double(_) | Datum::Float(_) if v.to_f64().value < 0.0 => {
            return to.out_of_range(Datum::Year(0));
        }
        Datum::Double(_) | Datum::Float(_) => {
            return year(&Datum::Int(v.to_f64().value.trunc() as i64), to);
        }
        _ => {}
    }
    let converted = v.to_integer();
    if !converted.whole && matches!(converted.value, 0..=99 | 1901..=2155) {
        to.bad_integer(v)?;
        if number::scan(&v.to_bytes()).is_none() {
            return Ok(Datum::Year(0));
        }
    }
    match converted.value {
        // Text of other than four digits is a year of two.
        0 if v.is_text() && v.to_bytes().len() != 4 => Ok(Datum::Year(2000)),
        0 => Ok(Datum::Year(0)),
        n @ 1..=69 => Ok(Datum::Year(2000 + n as u16)),
        n @ 70..=99 => Ok(Datum::Year(1900 + n as u16)),
        n @ 1901..=2155 => Ok(Datum::Year(n as u16)),
        _ => to.out_of_range(Datum::Year(0)),
    }
}
