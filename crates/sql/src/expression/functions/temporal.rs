//! Functions on dates and times. A statement has one moment: NOW() is the same in all of it,
//! SYSDATE() is not.

use super::{Call, Function, Typing, not_null};
use crate::expression::{Expr, cast};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Family, Type};
use datum::value::temporal::{Date, DateTime, SECOND, Time, days_in_month, is_leap};
use datum::value::zone::Zone;
use datum::value::{Datum, Decimal, temporal_text};

type Value<'a> = Result<Datum<'a>>;

fn constant_fsp(arguments: &[Expr]) -> u8 {
    let fsp = arguments.first().and_then(Expr::as_constant).map_or(0, |n| n.to_integer().value);
    fsp.clamp(0, 6) as u8
}

/// NOW() and its like have no more digits of a second than six.
///
/// # Errors
/// 1426 if more are asked for.
pub(crate) fn check_precision(function: &Function, arguments: &[Expr]) -> Result<()> {
    let names = ["now", "curtime", "sysdate", "utc_time", "utc_timestamp"];
    let Some(digits) = arguments.first().and_then(Expr::as_constant) else { return Ok(()) };
    let digits = digits.to_integer().value;
    if digits > 6 && names.contains(&function.name) {
        return Err(error::TOO_BIG_PRECISION.with(&[&digits, &function.name, &6]));
    }
    Ok(())
}

pub(super) fn now_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::datetime(constant_fsp(arguments)).not_null()
}

pub(super) fn time_type(arguments: &[Expr], _: &Typing) -> Type {
    let ty = Type::time(constant_fsp(arguments)).not_null();
    // It is of one day, and has no sign.
    Type { length: ty.length - 2, ..ty }
}

/// Digits of an argument's seconds. A constant text shows how many it has.
pub(in crate::expression) fn fsp_of(argument: &Expr) -> u8 {
    if let Some(Datum::Bytes(text)) = argument.as_constant() {
        let time = temporal_text::parse_time(text).map(|read| read.value.fsp);
        return time.max(temporal_text::parse_datetime(text).map(|read| read.value.fsp)).unwrap_or(6);
    }
    let ty = &argument.ty;
    if let Some(Datum::Bits(_)) = argument.as_constant() {
        return 0;
    }
    match ty.family {
        Family::Time | Family::DateTime | Family::Decimal => ty.decimals.min(6),
        Family::Double | Family::Float => ty.decimals.min(6),
        Family::Text | Family::Label | Family::Json => 6,
        _ => 0,
    }
}

pub(super) fn argument_time_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::time(arguments.iter().map(fsp_of).max().unwrap_or(0))
}

/// Texts may have any fraction, constants too.
pub(super) fn sec_to_time_type(arguments: &[Expr], _: &Typing) -> Type {
    match arguments[0].ty.family {
        Family::Text => Type::time(6),
        _ => Type::time(fsp_of(&arguments[0])),
    }
}

pub(super) fn maketime_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::time(fsp_of(&arguments[2]))
}

pub(super) fn unix_timestamp_type(arguments: &[Expr], _: &Typing) -> Type {
    match arguments.first().map(fsp_of) {
        Some(fsp @ 1..) => Type::decimal(11 + u32::from(fsp), fsp),
        _ => Type::INT,
    }
}

pub(super) fn from_unixtime_type(arguments: &[Expr], typing: &Typing) -> Type {
    if arguments.len() > 1 {
        return super::format_type(&arguments[1..], typing);
    }
    Type::datetime(fsp_of(&arguments[0]))
}

fn fsp<'a>(cx: &mut Context, call: Call<'a>) -> Result<u8> {
    Ok(if call.count() == 0 { 0 } else { call.int(cx, 0)?.unwrap_or(0).clamp(0, 6) as u8 })
}

pub(super) fn now<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let fsp = fsp(cx, call)?;
    Ok(Datum::DateTime(cx.now().truncate(fsp)))
}

pub(super) fn sysdate<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let fsp = fsp(cx, call)?;
    Ok(Datum::DateTime(cx.wall_clock().truncate(fsp)))
}

pub(super) fn utc_timestamp<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let fsp = fsp(cx, call)?;
    Ok(Datum::DateTime(cx.now_utc().truncate(fsp)))
}

pub(super) fn curdate<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::Date(cx.today()))
}

pub(super) fn utc_date<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::Date(cx.now_utc().date))
}

pub(super) fn curtime<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let fsp = fsp(cx, call)?;
    Ok(Datum::Time(cx.now().truncate(fsp).time()))
}

pub(super) fn utc_time<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let fsp = fsp(cx, call)?;
    Ok(Datum::Time(cx.now_utc().truncate(fsp).time()))
}

pub(super) fn datetime_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<DateTime>> {
    let value = call.value(cx, i)?;
    Ok(cast::datetime(cx, &value, "datetime"))
}

pub(super) fn time_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<Time>> {
    let value = call.value(cx, i)?;
    Ok(cast::time(cx, &value))
}

/// The same where the time of day is not asked for, which warnings tell.
fn date_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<Date>> {
    let value = call.value(cx, i)?;
    Ok(cast::datetime(cx, &value, "date").map(|found| found.date))
}

/// A date whose parts are asked for: months and days of zero are such.
fn date_parts_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<Date>> {
    let value = call.value(cx, i)?;
    Ok(cast::datetime_parts(cx, &value, "date").map(|found| found.date))
}

/// The same with a time of day.
pub(super) fn parts_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<DateTime>> {
    let value = call.value(cx, i)?;
    Ok(cast::datetime_parts(cx, &value, "datetime"))
}

/// A real day of the calendar, and its number.
fn day_argument<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<(Date, i64)>> {
    let found = date_argument(cx, call, i)?;
    Ok(found.and_then(|date| Some((date, date.day_number()?))))
}

pub(super) fn date<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Date(not_null!(date_argument(cx, call, 0))))
}

pub(super) fn time<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Time(not_null!(time_argument(cx, call, 0))))
}

pub(super) fn year_type(_: &[Expr], _: &Typing) -> Type {
    Type { family: Family::Year, unsigned: true, length: 4, ..Type::INT }
}

pub(super) fn year<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::UInt(not_null!(date_parts_argument(cx, call, 0)).year.into()))
}

pub(super) fn quarter<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int((not_null!(date_parts_argument(cx, call, 0)).month.div_ceil(3)).into()))
}

pub(super) fn month<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(date_parts_argument(cx, call, 0)).month.into()))
}

pub(super) fn day<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(date_parts_argument(cx, call, 0)).day.into()))
}

pub(super) fn hour<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(time_argument(cx, call, 0)).parts().0.into()))
}

pub(super) fn minute<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(time_argument(cx, call, 0)).parts().1.into()))
}

pub(super) fn second<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(time_argument(cx, call, 0)).parts().2.into()))
}

pub(super) fn microsecond<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(time_argument(cx, call, 0)).parts().3.into()))
}

/// 0 is Monday.
pub(super) fn weekday_of(day_number: i64) -> i64 {
    (day_number + 5).rem_euclid(7)
}

pub(super) fn weekday<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(weekday_of(not_null!(day_argument(cx, call, 0)).1)))
}

pub(super) fn dayofweek<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int((weekday_of(not_null!(day_argument(cx, call, 0)).1) + 1) % 7 + 1))
}

pub(super) fn day_of_year(date: Date) -> i64 {
    let before: i64 = (1..date.month).map(|m| i64::from(days_in_month(date.year, m))).sum();
    before + i64::from(date.day)
}

pub(super) fn dayofyear<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(day_of_year(not_null!(day_argument(cx, call, 0)).0)))
}

pub(super) fn dayname<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let (_, n) = not_null!(day_argument(cx, call, 0));
    Ok(Datum::borrowed(cx.settings.locale().days[weekday_of(n) as usize].as_bytes()))
}

pub(super) fn monthname<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let month = not_null!(date_parts_argument(cx, call, 0)).month;
    let name = cx.settings.locale().months.get(usize::from(month).wrapping_sub(1));
    Ok(name.map_or(Datum::Null, |name| Datum::borrowed(name.as_bytes())))
}

pub(super) fn to_days<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(day_argument(cx, call, 0)).1))
}

pub(super) fn to_seconds<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = not_null!(datetime_argument(cx, call, 0));
    let day = value.date.day_number();
    Ok(day.map_or(Datum::Null, |day| Datum::Int(day * 86_400 + value.micros / SECOND)))
}

pub(super) fn from_days<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let n = not_null!(call.int(cx, 0));
    let found = match n {
        ..=0 => None,
        // The year 0 has 365 days, as 2001 has.
        1..366 => {
            let first = Date { year: 2001, month: 1, day: 1 }.day_number();
            first.and_then(|first| Date::from_day_number(first + n - 1)).map(|date| Date { year: 0, ..date })
        }
        _ => Date::from_day_number(n),
    };
    Ok(Datum::Date(found.unwrap_or(Date::ZERO)))
}

pub(super) fn datediff<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    // The second one is read whatever the first one is.
    let (a, b) = (day_argument(cx, call, 0)?, day_argument(cx, call, 1)?);
    Ok(a.zip(b).map_or(Datum::Null, |((_, a), (_, b))| Datum::Int(a - b)))
}

pub(super) fn last_day<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let date = not_null!(date_parts_argument(cx, call, 0));
    Ok(match days_in_month(date.year, date.month) {
        0 => Datum::Null,
        day => Datum::Date(Date { day, ..date }),
    })
}

pub(super) fn makedate<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    // As in MySQL, the day is read first.
    let day = not_null!(call.int(cx, 1));
    let year = not_null!(call.int(cx, 0));
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let first = u16::try_from(year).ok().and_then(|year| Date { year, month: 1, day: 1 }.day_number());
    let date = first.filter(|_| day > 0).and_then(|n| Date::from_day_number(n.checked_add(day - 1)?));
    Ok(date.map_or(Datum::Null, Datum::Date))
}

pub(super) fn maketime<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let hours = not_null!(call.int(cx, 0));
    let minutes = not_null!(call.int(cx, 1));
    let seconds = call.value(cx, 2)?;
    let Some(micros) = cx.decimal(&seconds)?.mul(&Decimal::from(SECOND)).and_then(|d| d.to_i64()) else {
        return Ok(Datum::Null);
    };
    if seconds.is_null() || !(0..60).contains(&minutes) || !(0..60 * SECOND).contains(&micros) {
        return Ok(Datum::Null);
    }
    let total = hours.unsigned_abs().min(839) as i64 * 3600 * SECOND + minutes * 60 * SECOND + micros;
    let signed = if hours < 0 { -total } else { total };
    let exact = Time { micros: signed, fsp: call.ty.decimals };
    Ok(Datum::Time(cut(cx, exact, || format!("{hours:02}:{minutes:02}:{:02}", micros / SECOND))))
}

/// A time cut at the ends of its range, with warning 1292 that shows what it was made of.
fn cut(cx: &mut Context, exact: Time, shown: impl FnOnce() -> String) -> Time {
    let (time, is_cut) = exact.clamp();
    if is_cut {
        cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&"time", &shown()]));
    }
    time
}

pub(super) fn time_to_sec<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(time_argument(cx, call, 0)).micros / SECOND))
}

pub(super) fn sec_to_time<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let seconds = cx.decimal(&value)?;
    let micros = seconds.mul(&Decimal::from(SECOND)).and_then(|d| d.to_i64());
    let beyond = if seconds.is_negative() { i64::MIN + 1 } else { i64::MAX };
    let exact = Time { micros: micros.unwrap_or(beyond), fsp: call.ty.decimals };
    Ok(Datum::Time(cut(cx, exact, || seconds.to_string())))
}

pub(super) fn unix_timestamp<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if call.count() == 0 {
        return Ok(Datum::Int(cx.now_utc().unix_micros().unwrap_or(0) / SECOND));
    }
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    // Of what is no moment, or one beyond what it knows, it is 0, as MySQL's.
    let local = match value {
        Datum::Int(0) | Datum::UInt(0) => None,
        _ => cast::datetime(cx, &value, "datetime").and_then(|local| local.unix_micros()),
    };
    let micros = local.map_or(0, |us| cx.settings.zone().to_utc(us).micros);
    let micros = if (0..=32_536_771_199 * SECOND).contains(&micros) { micros } else { 0 };
    if call.ty.family == Family::Integer {
        return Ok(Datum::Int(micros / SECOND));
    }
    let exact = Decimal::from_parts(micros.into(), 6).unwrap_or(Decimal::ZERO);
    Ok(Datum::Decimal(exact.truncate(call.ty.decimals)))
}

pub(super) fn convert_tz_type(arguments: &[Expr], _: &Typing) -> Type {
    Type::datetime(fsp_of(&arguments[0]))
}

/// A moment of one zone in another. Beyond what MySQL's time zones reach it stays as it is.
pub(super) fn convert_tz<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let zone = |name: &[u8]| std::str::from_utf8(name).ok().and_then(Zone::by_name);
    let (from, to) = (not_null!(call.text(cx, 1)), not_null!(call.text(cx, 2)));
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else { return Ok(Datum::Null) };
    let shown = not_null!(datetime_argument(cx, call, 0));
    let Some(micros) = shown.unix_micros() else { return Ok(Datum::Null) };
    let moment = from.to_utc(micros).micros;
    if !(SECOND..32_536_771_200 * SECOND).contains(&moment) {
        return Ok(Datum::DateTime(shown));
    }
    Ok(DateTime::from_unix_micros(to.to_local(moment), shown.fsp).map_or(Datum::Null, Datum::DateTime))
}

pub(super) fn from_unixtime<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let micros = cx.decimal(&value)?.mul(&Decimal::from(SECOND)).and_then(|d| d.to_i64());
    let Some(micros) = micros.filter(|us| (0..32_536_771_200 * SECOND).contains(us)) else {
        return Ok(Datum::Null);
    };
    let fsp = fsp_of(&call.arguments[0]);
    let local = DateTime::from_unix_micros(cx.settings.zone().to_local(micros), fsp);
    let Some(local) = local else { return Ok(Datum::Null) };
    if call.count() == 1 {
        return Ok(Datum::DateTime(local));
    }
    let format = not_null!(call.text(cx, 1));
    Ok(super::date_format::datetime(cx, local, &format))
}

/// Week numbers by MySQL's modes: bit 0 Monday first, bit 1 weeks count from 1 to 53 with the year
/// they belong to, bit 2 the first week is the one with the first such weekday (else the one with
/// four days in the year).
fn week_of(date: Date, mode: u8) -> Option<(i64, i64)> {
    let n = date.day_number()?;
    let monday_first = mode & 1 != 0;
    let of_year = mode & 2 != 0;
    let first_weekday = mode & 4 != 0;
    let weekday = |day: i64| if monday_first { weekday_of(day) } else { (weekday_of(day) + 1) % 7 };
    let mut year = i64::from(date.year);
    let first = Date { month: 1, day: 1, ..date }.day_number()?;
    let mut lead = weekday(first);
    if date.month == 1 && i64::from(date.day) <= 7 - lead {
        let in_first = if first_weekday { lead == 0 } else { lead < 4 };
        if !of_year && !in_first {
            return Some((0, year));
        }
        if !in_first {
            year -= 1;
            let length = if u16::try_from(year).is_ok_and(is_leap) { 366 } else { 365 };
            let start = first - length;
            lead = weekday(start);
            return Some((week_from(n, start, lead, first_weekday), year));
        }
    }
    let week = week_from(n, first, lead, first_weekday);
    if of_year && week >= 53 {
        let length = if is_leap(date.year) { 366 } else { 365 };
        let next = weekday(first + length);
        let next_has_first = if first_weekday { next == 0 } else { next < 4 };
        if next_has_first && n >= first + length - next {
            return Some((1, year + 1));
        }
    }
    Some((week, year))
}

/// The week that day `n` is in, of the year that starts at day `start` on weekday `lead`.
fn week_from(n: i64, start: i64, lead: i64, first_weekday: bool) -> i64 {
    let starts_at_first = if first_weekday { lead == 0 } else { lead < 4 };
    let base = if starts_at_first { start - lead } else { start + 7 - lead };
    (n - base) / 7 + 1
}

/// WEEK(date, mode); `None` unless the date is real.
pub(crate) fn week(date: Date, mode: u8) -> Option<u8> {
    // The manual's table: modes 1 and 3 count by four days, as do 4 and 6; 0, 2, 5 and 7 by the
    // first weekday.
    week_of(date, internal_mode(mode)).map(|(week, _)| week as u8)
}

/// The week's number and its year, by the mode of `WEEK(date, mode)`; `None` unless the date is
/// real.
pub(super) fn week_of_mode(date: Date, mode: u8) -> Option<(i64, i64)> {
    week_of(date, internal_mode(mode))
}

fn internal_mode(mode: u8) -> u8 {
    let mode = mode & 7;
    if mode & 1 == 0 { mode ^ 4 } else { mode }
}

pub(super) fn week_function<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let date = not_null!(date_argument(cx, call, 0));
    // The resolver has given it one.
    let mode = call.int(cx, 1)?.unwrap_or(0) as u8;
    Ok(week(date, mode).map_or(Datum::Null, |w| Datum::Int(w.into())))
}

pub(super) fn weekofyear<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let date = not_null!(date_argument(cx, call, 0));
    Ok(week(date, 3).map_or(Datum::Null, |w| Datum::Int(w.into())))
}

pub(super) fn yearweek<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let date = not_null!(date_argument(cx, call, 0));
    let mode = if call.count() > 1 { call.int(cx, 1)?.unwrap_or(0) as u8 } else { 0 };
    let found = week_of(date, internal_mode(mode) | 2);
    Ok(found.map_or(Datum::Null, |(week, year)| Datum::Int(year * 100 + week)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_as_the_manual_has_them() {
        let date = |year, month, day| Date { year, month, day };
        assert_eq!(week(date(2008, 2, 20), 0), Some(7));
        assert_eq!(week(date(2008, 2, 20), 1), Some(8));
        assert_eq!(week(date(2008, 12, 31), 1), Some(53));
        assert_eq!(week(date(2000, 1, 1), 0), Some(0));
        assert_eq!(week(date(2000, 1, 1), 2), Some(52));
        assert_eq!(week_of(date(1987, 1, 1), internal_mode(0) | 2), Some((52, 1986)));
        assert_eq!(week(date(2008, 12, 31), 3), Some(1));
    }
}
