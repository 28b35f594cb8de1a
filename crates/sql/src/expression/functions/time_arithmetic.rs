//! Sums and differences of times: ADDTIME, SUBTIME, TIMEDIFF, TIMESTAMP of two, and of months as
//! numbers.

use super::temporal::{fsp_of, time_argument};
use super::{Call, Function, Typing, f, not_null};
use crate::expression::{Expr, cast};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Family, Type, code};
use datum::value::temporal::SECOND;
use datum::value::{DateTime, Datum, Time};

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("addtime", (2, 2), sum_type, addtime),
    f("period_add", (2, 2), super::int, period_add),
    f("period_diff", (2, 2), super::int, period_diff),
    f("subtime", (2, 2), sum_type, subtime),
    f("timediff", (2, 2), super::temporal::argument_time_type, timediff),
    f("timestamp", (1, 2), timestamp_type, timestamp),
];

/// Times stay times, dates with times stay such; all else is text.
fn sum_type(arguments: &[Expr], typing: &Typing) -> Type {
    let fsp = arguments.iter().map(fsp_of).max().unwrap_or(0);
    match arguments[0].ty.family {
        Family::Time => Type::time(fsp),
        Family::DateTime | Family::Date => Type::datetime(fsp),
        _ => Type { code: code::STRING, ..Type::text(typing.connection, Coercibility::Literal, 29) },
    }
}

fn timestamp_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::datetime(arguments.iter().map(fsp_of).max().unwrap_or(0))
}

/// A value that may be a time, or a date with one.
#[derive(Clone, Copy)]
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

/// Reads a value as what it looks like; `None` for NULL and, with a warning, for what is neither.
fn moment(cx: &mut Context, value: &Datum<'_>) -> Option<Moment> {
    let is_time = match value {
        Datum::Time(_) => true,
        Datum::Bytes(text) => {
            let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
            text.starts_with(b"-") || digits > 0 && digits < 8 && text.get(digits) != Some(&b'-')
        }
        Datum::Int(n) => n.unsigned_abs() <= 8_385_959,
        Datum::UInt(n) => *n <= 8_385_959,
        Datum::Decimal(_) | Datum::Double(_) | Datum::Float(_) => value.to_f64().value.abs() < 8_386_000.0,
        _ => false,
    };
    if is_time {
        cast::time(cx, value).map(Moment::Time)
    } else {
        cast::datetime(cx, value, "datetime").map(Moment::DateTime)
    }
}

/// Six digits if there is a fraction: how text results show it.
fn fraction_of(micros: i64) -> u8 {
    if micros % SECOND == 0 { 0 } else { 6 }
}

fn sum<'a>(cx: &mut Context, call: Call<'a>, sign: i64) -> Value<'a> {
    let value = call.value(cx, 0)?;
    let span = call.value(cx, 1)?;
    let Some(from) = moment(cx, &value) else { return Ok(Datum::Null) };
    // Of a date with a time, the time is what is added.
    let Some(span) = cast::time(cx, &span) else { return Ok(Datum::Null) };
    let is_text = call.ty.family == Family::Text;
    let moved = match from {
        Moment::Time(t) => {
            let micros = t.micros + sign * span.micros;
            let fsp = if is_text { fraction_of(micros) } else { call.ty.decimals };
            let (time, cut) = Time { micros, fsp }.clamp();
            if cut {
                cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&"time", &Time { micros, fsp }]));
            }
            Datum::Time(time)
        }
        Moment::DateTime(d) => match d.add_micros(sign * span.micros) {
            Some(moved) => {
                let fsp = if is_text { fraction_of(moved.micros) } else { call.ty.decimals };
                Datum::DateTime(DateTime { fsp, ..moved })
            }
            None => {
                cx.warn(error::DATETIME_FUNCTION_OVERFLOW.with(&[&"datetime"]));
                return Ok(Datum::Null);
            }
        },
    };
    Ok(match (is_text, moved) {
        (true, moved) => Datum::Bytes(moved.into_bytes()),
        (false, moved) => moved,
    })
}

fn addtime<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    sum(cx, call, 1)
}

fn subtime<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    sum(cx, call, -1)
}

/// Both must be times, or both dates with times.
fn timediff<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let a = call.value(cx, 0)?;
    let Some(a) = moment(cx, &a) else { return Ok(Datum::Null) };
    let b = call.value(cx, 1)?;
    let Some(b) = moment(cx, &b) else { return Ok(Datum::Null) };
    let micros = match (a, b) {
        (Moment::Time(a), Moment::Time(b)) => Some(a.micros - b.micros),
        (Moment::DateTime(a), Moment::DateTime(b)) => {
            a.unix_micros().zip(b.unix_micros()).map(|(a, b)| a - b)
        }
        _ => None,
    };
    let Some(micros) = micros else { return Ok(Datum::Null) };
    let exact = Time { micros, fsp: call.ty.decimals };
    let (time, cut) = exact.clamp();
    if cut {
        cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&"time", &exact]));
    }
    Ok(Datum::Time(time))
}

/// `TIMESTAMP(date [, time])`: the date with a time, moved by a time.
fn timestamp<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    let value = match cast::datetime(cx, &value, "datetime") {
        Some(value) => value,
        None => return Ok(Datum::Null),
    };
    let moved = if call.count() > 1 {
        let span = not_null!(time_argument(cx, call, 1));
        value.add_micros(span.micros)
    } else {
        Some(value)
    };
    Ok(moved.and_then(|d| d.round(call.ty.decimals)).map_or(Datum::Null, Datum::DateTime))
}

/// `YYMM` or `YYYYMM` as a number of months; error 1210 for anything else.
fn months(period: i64, function: &str) -> Result<i64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(error::WRONG_ARGUMENTS.with(&[&function]));
    }
    Ok(full_year(year) * 12 + month - 1)
}

fn full_year(year: i64) -> i64 {
    match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    }
}

fn period_add<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let period = not_null!(call.int(cx, 0));
    let added = match call.value(cx, 1)? {
        Datum::UInt(n) => n as i64,
        _ => not_null!(call.int(cx, 1)),
    };
    // MySQL counts in 64 bits without a sign, and around: before the year 0 comes a period that is
    // none.
    let sum = months(period, "period_add")?.wrapping_add(added) as u64;
    let year = full_year((sum / 12) as i64);
    Ok(Datum::Int(year.wrapping_mul(100).wrapping_add((sum % 12) as i64 + 1)))
}

fn period_diff<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let a = not_null!(call.int(cx, 0));
    let b = not_null!(call.int(cx, 1));
    Ok(Datum::Int(months(a, "period_diff")? - months(b, "period_diff")?))
}
