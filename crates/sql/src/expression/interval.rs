//! INTERVAL arithmetic, EXTRACT and TIMESTAMPDIFF.

use super::functions::temporal::fsp_of;
use super::{Expr, cast};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Family, Type, code};
use datum::value::temporal::{DAY, SECOND};
use datum::value::{DateTime, Datum, Decimal, Time};
use syntax::ast::IntervalUnit;

/// A span: months and microseconds, each of either sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    months: i64,
    micros: i64,
}

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// True if the unit has a part below a day.
fn has_time(unit: IntervalUnit) -> bool {
    use IntervalUnit as U;
    !matches!(unit, U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth)
}

/// The width that is reported to clients for EXTRACT: the digits that there can be, and a sign.
pub(crate) fn extracted_width(unit: IntervalUnit) -> u32 {
    use IntervalUnit as U;
    match unit {
        U::Quarter => 2,
        U::Month | U::Week | U::Day | U::Minute | U::Second => 3,
        U::Hour => 4,
        U::Year | U::MinuteSecond => 5,
        U::HourMinute => 6,
        U::Microsecond | U::YearMonth => 7,
        U::HourSecond => 8,
        U::DayHour | U::SecondMicrosecond => 9,
        U::DayMinute | U::MinuteMicrosecond => 11,
        U::DaySecond => 13,
        U::HourMicrosecond => 14,
        U::DayMicrosecond => 20,
    }
}

/// The result's type: a date stays one if whole days are added; text stays text.
pub(crate) fn result_type(date: &Type, amount: &Expr, unit: IntervalUnit, connection: Collation) -> Type {
    let micros = matches!(
        unit,
        IntervalUnit::Microsecond
            | IntervalUnit::SecondMicrosecond
            | IntervalUnit::MinuteMicrosecond
            | IntervalUnit::HourMicrosecond
            | IntervalUnit::DayMicrosecond
    );
    // Seconds may have a fraction, and those of a text any.
    let is_bits = matches!(amount.as_constant(), Some(Datum::Bits(_)));
    let of_amount = match amount.ty.family {
        _ if unit != IntervalUnit::Second => 0,
        Family::Text | Family::Label | Family::Json if !is_bits => 6,
        _ => fsp_of(amount),
    };
    let fsp = if micros {
        6
    } else if date.decimals > 6 {
        of_amount
    } else {
        date.decimals.max(of_amount)
    };
    match date.family {
        Family::Date if !has_time(unit) => Type::DATE,
        Family::Date | Family::DateTime => Type::datetime(fsp),
        Family::Time if has_time(unit) => Type::time(fsp),
        Family::Time => Type::datetime(fsp),
        _ => Type { code: code::STRING, ..Type::text(connection, Coercibility::Literal, 29) },
    }
}

/// What an interval is added to.
pub(crate) enum Start {
    /// A time, which stays one.
    Time(Time),
    /// A date with a time, and whether it was said without one.
    Date(DateTime, bool),
}

impl Start {
    /// `None` if `date` is no date, which is warned of; `ty` is the type of the sum.
    pub(crate) fn read(cx: &mut Context, date: &Datum<'_>, ty: &Type) -> Option<Start> {
        match (date, ty.family) {
            (Datum::Time(time), Family::Time) => Some(Start::Time(*time)),
            _ => Some(Start::Date(cast::datetime(cx, date, "datetime")?, is_date_only(date))),
        }
    }

    /// `date + INTERVAL amount unit`, or minus; NULL if the result leaves the calendar.
    pub(crate) fn add<'a>(
        self,
        cx: &mut Context,
        amount: &Datum<'_>,
        unit: IntervalUnit,
        subtract: bool,
        ty: &Type,
    ) -> Result<Datum<'a>> {
        if amount.is_null() {
            return Ok(Datum::Null);
        }
        let Some(mut span) = span(cx, amount, unit)? else { return Ok(Datum::Null) };
        if subtract {
            span = Span { months: span.months.saturating_neg(), micros: span.micros.saturating_neg() };
        }
        let (from, date_only) = match self {
            Start::Time(time) => {
                let moved = Time { micros: time.micros.saturating_add(span.micros), fsp: ty.decimals };
                let (clamped, beyond) = moved.clamp();
                return Ok(if beyond { Datum::Null } else { Datum::Time(clamped) });
            }
            Start::Date(from, date_only) => (from, date_only),
        };
        let moved = from.add_months(span.months).and_then(|d| d.add_micros(span.micros));
        let Some(moved) = moved else {
            cx.warn(error::DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"]));
            return Ok(Datum::Null);
        };
        let fraction = if moved.micros % SECOND != 0 { 6 } else { 0 };
        let shown = match ty.family {
            Family::Text => fraction,
            _ => ty.decimals.max(from.fsp.min(6)),
        };
        let moved = DateTime { fsp: shown, ..moved };
        Ok(match ty.family {
            Family::Date => Datum::Date(moved.date),
            Family::DateTime => Datum::DateTime(moved),
            _ if date_only && !has_time(unit) => Datum::owned(moved.date.to_string()),
            _ => Datum::owned(moved.to_string()),
        })
    }
}

/// True for an amount that goes back in time.
pub(crate) fn is_negative(cx: &mut Context, amount: &Datum<'_>, unit: IntervalUnit) -> Result<bool> {
    Ok(span(cx, amount, unit)?.is_some_and(|span| span.months < 0 || span.micros < 0))
}

/// True for dates without a time of day, as texts and numbers too.
fn is_date_only(v: &Datum<'_>) -> bool {
    const LAST_DATE: i128 = 99_991_231;
    match v {
        Datum::Date(_) => true,
        Datum::Bytes(text) | Datum::Label(_, text) => {
            let text = text.trim_ascii();
            text.len() <= 10 && !text.iter().any(|b| b" Tt".contains(b))
        }
        Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Decimal(_) => {
            v.to_integer().value <= LAST_DATE
        }
        _ => false,
    }
}

/// The amount as a span. `DAY_HOUR` and its like read `'1 2'`: the parts are the text's numbers,
/// the last one the smallest unit.
fn span(cx: &mut Context, amount: &Datum<'_>, unit: IntervalUnit) -> Result<Option<Span>> {
    use IntervalUnit as U;
    let units: &[i64] = match unit {
        U::SecondMicrosecond => &[SECOND, 1],
        U::MinuteMicrosecond => &[MINUTE, SECOND, 1],
        U::MinuteSecond => &[MINUTE, SECOND],
        U::HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
        U::HourSecond => &[HOUR, MINUTE, SECOND],
        U::HourMinute => &[HOUR, MINUTE],
        U::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
        U::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
        U::DayMinute => &[DAY, HOUR, MINUTE],
        U::DayHour => &[DAY, HOUR],
        U::YearMonth => &[12, 1],
        _ => return single(cx, amount, unit),
    };
    let text = amount.to_bytes();
    let negative = text.trim_ascii_start().starts_with(b"-");
    let numbers: Vec<&[u8]> = text.split(|b| !b.is_ascii_digit()).filter(|n| !n.is_empty()).collect();
    if numbers.len() > units.len() {
        return Ok(None);
    }
    let micro_unit = units.last() == Some(&1) && unit != U::YearMonth;
    let skipped = units.len() - numbers.len();
    let mut total = 0_i64;
    for (i, number) in numbers.iter().enumerate() {
        let digits = std::str::from_utf8(number).unwrap_or("0");
        let mut value: i64 = digits.parse().unwrap_or(i64::MAX);
        // '1.5' SECOND_MICROSECOND is one second and 500000 microseconds.
        if micro_unit && i + 1 == numbers.len() && digits.len() < 6 {
            value *= 10_i64.pow(6 - digits.len() as u32);
        }
        total = total.saturating_add(value.saturating_mul(units[skipped + i]));
    }
    let total = if negative { -total } else { total };
    Ok(Some(if unit == U::YearMonth {
        Span { months: total, micros: 0 }
    } else {
        Span { months: 0, micros: total }
    }))
}

fn single(cx: &mut Context, amount: &Datum<'_>, unit: IntervalUnit) -> Result<Option<Span>> {
    use IntervalUnit as U;
    let is_whole = matches!(amount, Datum::Int(_) | Datum::UInt(_) | Datum::Bits(_));
    if unit == U::Second && !is_whole {
        let amount = cx.decimal(amount)?;
        within_integers(cx, amount)?;
        let exact = amount.mul(&Decimal::from(SECOND)).and_then(|d| d.to_i64());
        let beyond = if amount.is_negative() { i64::MIN } else { i64::MAX };
        return Ok(Some(Span { months: 0, micros: exact.unwrap_or(beyond) }));
    }
    let n = match amount {
        Datum::Bytes(_) => cast::whole_number(cx, amount)?,
        Datum::Decimal(amount) => within_integers(cx, *amount)?.into(),
        _ => cx.integer(amount)?,
    };
    // What is beyond the signed integers counts as its two's complement.
    let n = i64::try_from(n).or_else(|_| u64::try_from(n).map(|n| n as i64)).unwrap_or(i64::MIN);
    let (months, micros) = match unit {
        U::Second => (0, n.saturating_mul(SECOND)),
        U::Month => (n, 0),
        U::Quarter => (n.saturating_mul(3), 0),
        U::Year => (n.saturating_mul(12), 0),
        U::Week => (0, n.saturating_mul(7 * DAY)),
        U::Day => (0, n.saturating_mul(DAY)),
        U::Hour => (0, n.saturating_mul(HOUR)),
        U::Minute => (0, n.saturating_mul(MINUTE)),
        _ => (0, n),
    };
    Ok(Some(Span { months, micros }))
}

/// The integer next to a decimal: one that is beyond the signed integers is the last of them, with
/// a warning.
fn within_integers(cx: &mut Context, amount: Decimal) -> Result<i64> {
    let number = Datum::Decimal(amount).to_integer().value;
    let clamped = i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX });
    if i128::from(clamped) != number {
        cx.truncated("DECIMAL", &Datum::Decimal(amount))?;
    }
    Ok(clamped)
}

/// `EXTRACT(unit FROM value)`.
pub(crate) fn extract<'a>(cx: &mut Context, value: &Datum<'_>, unit: IntervalUnit) -> Datum<'a> {
    use IntervalUnit as U;
    if value.is_null() {
        return Datum::Null;
    }
    let is_time = match value {
        Datum::Date(_) | Datum::DateTime(_) => false,
        Datum::Time(_) => true,
        // Text with a date in it has a day of its own.
        Datum::Bytes(text) => has_time(unit) && !text.get(1..).is_some_and(|rest| rest.contains(&b'-')),
        _ => matches!(unit, U::Hour | U::Minute | U::Second | U::Microsecond),
    };
    let (date, time) = if is_time {
        match cast::time(cx, value) {
            Some(t) => (datum::value::Date::ZERO, t),
            None => return Datum::Null,
        }
    } else {
        match cast::datetime_parts(cx, value, "datetime") {
            Some(d) => (d.date, d.time()),
            None => return Datum::Null,
        }
    };
    let (h, m, s, us) = time.parts();
    let (h, m, s, us) = (i64::from(h), i64::from(m), i64::from(s), i64::from(us));
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let magnitude = match unit {
        U::Microsecond => us,
        U::Second => s,
        U::Minute => m,
        U::Hour => h,
        U::Day => day,
        U::Week => {
            super::functions::temporal::week(date, cx.settings.default_week_format()).map_or(0, i64::from)
        }
        U::Month => month,
        U::Quarter => (month + 2) / 3,
        U::Year => year,
        U::SecondMicrosecond => s * SECOND + us,
        U::MinuteMicrosecond => (m * 100 + s) * SECOND + us,
        U::MinuteSecond => m * 100 + s,
        U::HourMicrosecond => (h * 10_000 + m * 100 + s) * SECOND + us,
        U::HourSecond => h * 10_000 + m * 100 + s,
        U::HourMinute => h * 100 + m,
        U::DayMicrosecond => (day * 1_000_000 + h * 10_000 + m * 100 + s) * SECOND + us,
        U::DaySecond => day * 1_000_000 + h * 10_000 + m * 100 + s,
        U::DayMinute => day * 10_000 + h * 100 + m,
        U::DayHour => day * 100 + h,
        U::YearMonth => year * 100 + month,
    };
    Datum::Int(if is_time && time.micros < 0 { -magnitude } else { magnitude })
}

/// `TIMESTAMPDIFF(unit, from, to)`: whole units.
pub(crate) fn difference<'a>(unit: IntervalUnit, a: DateTime, b: DateTime) -> Datum<'a> {
    use IntervalUnit as U;
    let (Some(start), Some(end)) = (a.unix_micros(), b.unix_micros()) else { return Datum::Null };
    let micros = end - start;
    Datum::Int(match unit {
        U::Microsecond => micros,
        U::Second => micros / SECOND,
        U::Minute => micros / MINUTE,
        U::Hour => micros / HOUR,
        U::Day => micros / DAY,
        U::Week => micros / (7 * DAY),
        U::Quarter => months_between(a, b) / 3,
        U::Year => months_between(a, b) / 12,
        _ => months_between(a, b),
    })
}

fn months_between(a: DateTime, b: DateTime) -> i64 {
    if (b.date, b.micros) < (a.date, a.micros) {
        return -months_between(b, a);
    }
    let months = |d: DateTime| i64::from(d.date.year) * 12 + i64::from(d.date.month);
    let short = (b.date.day, b.micros) < (a.date.day, a.micros);
    months(b) - months(a) - i64::from(short)
}
