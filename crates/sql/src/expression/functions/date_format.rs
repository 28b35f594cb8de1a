//! DATE_FORMAT, TIME_FORMAT, GET_FORMAT: dates and times as text.

use std::io::Write;

use super::temporal::{day_of_year, parts_argument, time_argument, week_of_mode, weekday_of};
use super::{Call, Function, f, not_null};
use crate::locale::Locale;
use crate::session::Context;
use datum::bounds::Ticker;
use datum::error::Result;
use datum::value::{Date, DateTime, Datum, Time};
use syntax::ast::GetFormatOf;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("date_format", (2, 2), super::format_type, date_format),
    f("time_format", (2, 2), super::format_type, time_format),
];

/// The characters of the longest text that a format makes, names in any language included.
pub(super) fn length_of(format: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(format);
    let mut letters = text.chars();
    let mut length = 0_u32;
    while let Some(letter) = letters.next() {
        length = length.saturating_add(match (letter, letters.as_str().chars().next()) {
            ('%', Some(specifier)) => {
                letters.next();
                match specifier {
                    'M' | 'W' => 64,
                    'a' | 'b' => 32,
                    'r' => 11,
                    'T' => 8,
                    'H' | 'k' => 7,
                    'f' => 6,
                    'D' | 'X' | 'Y' | 'x' => 4,
                    'j' => 3,
                    'I' | 'S' | 'U' | 'V' | 'c' | 'd' | 'e' | 'h' | 'i' | 'l' | 'm' | 'p' | 's' | 'u'
                    | 'v' | 'y' => 2,
                    _ => 1,
                }
            }
            _ => 1,
        });
    }
    length
}

fn date_format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = not_null!(parts_argument(cx, call, 0));
    let format = not_null!(call.text(cx, 1));
    Ok(datetime(cx, value, &format))
}

/// Specifiers of dates see the day zero.
fn time_format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let time = not_null!(time_argument(cx, call, 0));
    let format = not_null!(call.text(cx, 1));
    let max = cx.settings.max_allowed_packet();
    Ok(write(cx.settings.locale(), Date::ZERO, time, &format, max).map_or(Datum::Null, Datum::owned))
}

/// A date and time in a format of the manual's table under DATE_FORMAT; NULL if it lacks what a
/// specifier asks for.
pub(super) fn datetime<'a>(cx: &Context, value: DateTime, format: &[u8]) -> Datum<'a> {
    write(cx.settings.locale(), value.date, value.time(), format, cx.settings.max_allowed_packet())
        .map_or(Datum::Null, Datum::owned)
}

/// What is longer than `max` bytes ends soon after them.
fn write(locale: &Locale, date: Date, time: Time, format: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut ticker = Ticker::default();
    if format.is_empty() {
        return None;
    }
    if time.micros < 0 {
        out.push(b'-');
    }
    let mut rest = format.iter();
    while let Some(&b) = rest.next() {
        if out.len() > max || ticker.step().is_err() {
            break;
        }
        match rest.as_slice().first() {
            Some(&specifier) if b == b'%' => {
                rest.next();
                write_part(locale, date, time, specifier, &mut out)?;
            }
            _ => out.push(b),
        }
    }
    Some(out)
}

/// One specifier; `None` where the date has no such part.
fn write_part(locale: &Locale, date: Date, time: Time, specifier: u8, out: &mut Vec<u8>) -> Option<()> {
    let (h, m, s, us) = time.parts();
    let Date { year, month, day } = date;
    let half = if h % 24 < 12 { "AM" } else { "PM" };
    let twelve = (h % 24 + 11) % 12 + 1;
    let month_place = || usize::from(month).checked_sub(1);
    let weekday = || date.day_number().map(|n| weekday_of(n) as usize);
    let written = match specifier {
        b'Y' => write!(out, "{year:04}"),
        b'y' => write!(out, "{:02}", year % 100),
        b'm' => write!(out, "{month:02}"),
        b'c' => write!(out, "{month}"),
        b'd' => write!(out, "{day:02}"),
        b'e' => write!(out, "{day}"),
        b'D' => write!(out, "{day}{}", ordinal(day)),
        b'M' => out.write_all(locale.months.get(month_place()?)?.as_bytes()),
        b'b' => out.write_all(locale.months_short.get(month_place()?)?.as_bytes()),
        b'W' => out.write_all(locale.days[weekday()?].as_bytes()),
        b'a' => out.write_all(locale.days_short[weekday()?].as_bytes()),
        b'w' => write!(out, "{}", (weekday()? + 1) % 7),
        b'j' => {
            date.day_number()?;
            write!(out, "{:03}", day_of_year(date))
        }
        b'H' => write!(out, "{h:02}"),
        b'k' => write!(out, "{h}"),
        b'h' | b'I' => write!(out, "{twelve:02}"),
        b'l' => write!(out, "{twelve}"),
        b'i' => write!(out, "{m:02}"),
        b's' | b'S' => write!(out, "{s:02}"),
        b'f' => write!(out, "{us:06}"),
        b'p' => out.write_all(half.as_bytes()),
        b'r' => write!(out, "{twelve:02}:{m:02}:{s:02} {half}"),
        b'T' => write!(out, "{h:02}:{m:02}:{s:02}"),
        b'U' => write!(out, "{:02}", week_of_mode(date, 0)?.0),
        b'u' => write!(out, "{:02}", week_of_mode(date, 1)?.0),
        b'V' => write!(out, "{:02}", week_of_mode(date, 2)?.0),
        b'v' => write!(out, "{:02}", week_of_mode(date, 3)?.0),
        b'X' => write!(out, "{:04}", week_of_mode(date, 2)?.1),
        b'x' => write!(out, "{:04}", week_of_mode(date, 3)?.1),
        other => out.write_all(&[other]),
    };
    written.ok()
}

fn ordinal(day: u8) -> &'static str {
    match (day, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// `GET_FORMAT(of, region)`: the manual's table.
pub(crate) static GET_FORMAT_DATE: Function =
    f("get_format", (1, 1), super::text_of_at_most::<17>, get_date_format);
/// The same of times.
pub(crate) static GET_FORMAT_TIME: Function =
    f("get_format", (1, 1), super::text_of_at_most::<17>, get_time_format);
/// The same of both.
pub(crate) static GET_FORMAT_DATETIME: Function =
    f("get_format", (1, 1), super::text_of_at_most::<17>, get_datetime_format);

/// GET_FORMAT for what stands before its comma.
pub(crate) fn get_format(of: GetFormatOf) -> &'static Function {
    match of {
        GetFormatOf::Date => &GET_FORMAT_DATE,
        GetFormatOf::Time => &GET_FORMAT_TIME,
        GetFormatOf::Datetime => &GET_FORMAT_DATETIME,
    }
}

/// Regions in the order of the tables below.
const REGIONS: [&[u8]; 5] = [b"usa", b"jis", b"iso", b"eur", b"internal"];

fn by_region<'a>(cx: &mut Context, call: Call<'a>, formats: [&'static [u8]; 5]) -> Value<'a> {
    let region = not_null!(call.text(cx, 0));
    let place = REGIONS.iter().position(|r| r.eq_ignore_ascii_case(&region));
    Ok(place.map_or(Datum::Null, |place| Datum::borrowed(formats[place])))
}

fn get_date_format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    by_region(cx, call, [b"%m.%d.%Y", b"%Y-%m-%d", b"%Y-%m-%d", b"%d.%m.%Y", b"%Y%m%d"])
}

fn get_time_format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    by_region(cx, call, [b"%h:%i:%s %p", b"%H:%i:%s", b"%H:%i:%s", b"%H.%i.%s", b"%H%i%s"])
}

fn get_datetime_format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    const WITH_DOTS: &[u8] = b"%Y-%m-%d %H.%i.%s";
    const WITH_COLONS: &[u8] = b"%Y-%m-%d %H:%i:%s";
    by_region(cx, call, [WITH_DOTS, WITH_COLONS, WITH_COLONS, WITH_DOTS, b"%Y%m%d%H%i%s"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale;

    fn show(text: &str, format: &str) -> Option<String> {
        let d = datum::value::temporal_text::parse_datetime(text.as_bytes()).unwrap().value;
        let out = write(locale::at(locale::ENGLISH), d.date, d.time(), format.as_bytes(), usize::MAX);
        out.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn examples_of_the_manual() {
        for (text, format, expected) in [
            ("2009-10-04 22:23:00", "%W %M %Y", "Sunday October 2009"),
            ("2007-10-04 22:23:00", "%H:%i:%s", "22:23:00"),
            ("1900-10-04 22:23:00", "%D %y %a %d %m %b %j", "4th 00 Thu 04 10 Oct 277"),
            ("1997-10-04 22:23:00", "%H %k %I %r %T %S %w", "22 22 10 10:23:00 PM 22:23:00 00 6"),
            ("1999-01-01", "%X %V", "1998 52"),
            ("2006-06-00", "%d", "00"),
            ("2009-10-04 23:00:00", "%%x%", "%x%"),
        ] {
            assert_eq!(show(text, format).as_deref(), Some(expected), "{format}");
        }
        assert_eq!(show("2006-06-00", "%W"), None);
        assert_eq!(show("2006-00-00", "%M"), None);
        assert_eq!(show("2006-01-01", ""), None);
        let long = Time::new(false, 100, 0, 0, 0, 0);
        let out =
            write(locale::at(locale::ENGLISH), Date::ZERO, long, b"%H %k %h %I %l", usize::MAX).unwrap();
        assert_eq!(out, b"100 100 04 04 4");
    }
}
