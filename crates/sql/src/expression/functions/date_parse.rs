//! STR_TO_DATE: text read by a format, the inverse of DATE_FORMAT.

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::locale::{self, Locale};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Family, Type};
use datum::value::temporal::SECOND;
use datum::value::{Date, DateTime, Datum, Time};

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[f("str_to_date", (2, 2), result_type, str_to_date)];

/// A constant format says whether there will be a date, a time, or both.
fn result_type(arguments: &[Expr], _: &Typing) -> Type {
    let format = match arguments[1].as_constant() {
        None | Some(Datum::Null) => return Type::datetime(6),
        Some(format) => format.to_bytes(),
    };
    let (date, time, micros) = parts_of(&format);
    match (date, time) {
        (_, false) => Type::DATE,
        (false, true) => Type::time(if micros { 6 } else { 0 }),
        (true, true) => Type::datetime(if micros { 6 } else { 0 }),
    }
}

/// Whether a format has parts of a date, of a time, and microseconds.
fn parts_of(format: &[u8]) -> (bool, bool, bool) {
    let mut found = (false, false, false);
    let mut rest = format.iter();
    while let Some(&b) = rest.next() {
        if b != b'%' {
            continue;
        }
        match rest.next() {
            Some(b'f') => found = (found.0, true, true),
            Some(b'H' | b'S' | b'I' | b'T' | b'h' | b'i' | b'k' | b'l' | b'p' | b'r' | b's') => {
                found.1 = true
            }
            Some(
                b'M' | b'V' | b'U' | b'X' | b'Y' | b'W' | b'a' | b'b' | b'c' | b'j' | b'm' | b'v' | b'u'
                | b'x' | b'y' | b'd' | b'D' | b'e' | b'w',
            ) => found.0 = true,
            _ => {}
        }
    }
    found
}

fn str_to_date<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let format = not_null!(call.text(cx, 1));
    let mut reader = Reader { rest: &text, locale: locale::at(locale::ENGLISH), read: Parsed::default() };
    let value = reader.run(&format).and_then(|()| reader.read.finish());
    let rest_is_blank = reader.rest.trim_ascii().is_empty();
    let Some((date, micros)) =
        value.filter(|(date, _)| call.ty.family == Family::Time || acceptable(cx, *date))
    else {
        let shown = String::from_utf8_lossy(&text).into_owned();
        cx.warn(error::WRONG_VALUE_FOR_TYPE.with(&[&"datetime", &shown, &"str_to_date"]));
        return Ok(Datum::Null);
    };
    if !rest_is_blank {
        let shown = String::from_utf8_lossy(&text).into_owned();
        let kind = match call.ty.family {
            Family::Date => "date",
            Family::Time => "time",
            _ => "datetime",
        };
        cx.warn(error::TRUNCATED_WRONG_VALUE.with(&[&kind, &shown]));
    }
    Ok(match call.ty.family {
        Family::Date => Datum::Date(date),
        Family::Time => {
            let days = i64::from(date.day) * 24 * 3600 * SECOND;
            Datum::Time(Time { micros: days + micros, fsp: call.ty.decimals }.clamp().0)
        }
        _ => Datum::DateTime(DateTime { date, micros, fsp: call.ty.decimals }),
    })
}

/// STR_TO_DATE goes by the sql_mode, as columns do.
fn acceptable(cx: &Context, date: Date) -> bool {
    date.check(cx.settings.modes().dates)
}

/// What has been read so far.
#[derive(Default)]
struct Parsed {
    year: u16,
    month: u8,
    day: u8,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    afternoon: Option<bool>,
    twelve_hours: bool,
    day_of_year: Option<i64>,
    week: Option<Week>,
    weekday: Option<i64>,
    week_year: Option<u16>,
}

/// A week number, and how weeks count.
#[derive(Clone, Copy)]
struct Week {
    number: i64,
    monday_first: bool,
    /// `%V`, `%v`: it belongs to the year of `%X`, `%x`.
    with_year: bool,
}

impl Parsed {
    /// The date and the time; `None` if the parts make none.
    fn finish(&self) -> Option<(Date, i64)> {
        let mut hour = self.hour;
        if self.twelve_hours || self.afternoon.is_some() {
            if hour == 0 || hour > 12 {
                return None;
            }
            hour = hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
        }
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let seconds = i64::from((hour * 60 + self.minute) * 60 + self.second);
        Some((self.date()?, seconds * SECOND + i64::from(self.micros)))
    }

    fn date(&self) -> Option<Date> {
        if let Some(n) = self.day_of_year.filter(|&n| n > 0) {
            let first = Date { year: self.year, month: 1, day: 1 }.day_number()?;
            return Date::from_day_number(first + n - 1);
        }
        if let (Some(week), Some(weekday)) = (self.week, self.weekday) {
            return self.date_of_week(week, weekday);
        }
        (self.month <= 12 && self.day <= 31).then_some(Date {
            year: self.year,
            month: self.month,
            day: self.day,
        })
    }

    /// The day of a week and a weekday (0 is Sunday).
    fn date_of_week(&self, week: Week, weekday: i64) -> Option<Date> {
        let year = if week.with_year { self.week_year? } else { self.year };
        if week.with_year != self.week_year.is_some() || week.with_year && week.number == 0 {
            return None;
        }
        let first = Date { year, month: 1, day: 1 }.day_number()?;
        let monday_based = super::temporal::weekday_of(first);
        let day = if week.monday_first {
            // The week with the year's first Thursday is the first.
            let start = if monday_based <= 3 { -monday_based } else { 7 - monday_based };
            start + (week.number - 1) * 7 + (weekday + 6) % 7
        } else {
            let sunday_based = (monday_based + 1) % 7;
            let start = if sunday_based == 0 { 0 } else { 7 - sunday_based };
            start + (week.number - 1) * 7 + weekday
        };
        Date::from_day_number(first + day).filter(|_| first + day > 0)
    }
}

struct Reader<'t> {
    rest: &'t [u8],
    locale: &'static Locale,
    read: Parsed,
}

impl Reader<'_> {
    /// Reads by the format; `None` if the text does not follow it. A text that ends early leaves
    /// the rest zero.
    fn run(&mut self, format: &[u8]) -> Option<()> {
        let mut format = format.iter();
        while let Some(&b) = format.next() {
            if self.rest.is_empty() {
                break;
            }
            if b.is_ascii_whitespace() {
                self.rest = self.rest.trim_ascii_start();
                continue;
            }
            match format.as_slice().first() {
                Some(&specifier) if b == b'%' => {
                    format.next();
                    self.part(specifier)?;
                }
                _ => self.literal(b)?,
            }
        }
        Some(())
    }

    fn literal(&mut self, b: u8) -> Option<()> {
        self.rest = self.rest.trim_ascii_start().strip_prefix(&[b])?;
        Some(())
    }

    /// A number of at most so many digits.
    fn number(&mut self, digits_max: usize) -> Option<u32> {
        self.rest = self.rest.trim_ascii_start();
        let count = self.rest.iter().take(digits_max).take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    fn year(&mut self, digits_max: usize) -> Option<u16> {
        let before = self.rest.trim_ascii_start().len();
        let year = self.number(digits_max)? as u16;
        Some(match before - self.rest.len() {
            1..=2 if year < 70 => year + 2000,
            1..=2 => year + 1900,
            _ => year,
        })
    }

    /// One of some names, in any case, the longest that fits.
    fn name(&mut self, names: &[&str]) -> Option<usize> {
        self.rest = self.rest.trim_ascii_start();
        let fits = |name: &str| {
            self.rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
        };
        let found = (0..names.len()).filter(|&i| fits(names[i])).max_by_key(|&i| names[i].len())?;
        self.rest = &self.rest[names[found].len()..];
        Some(found)
    }

    /// A word of letters that is one of some names or the start of a single one, in any case.
    fn word(&mut self, names: &[&str]) -> Option<usize> {
        self.rest = self.rest.trim_ascii_start();
        let len = self.rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let (word, rest) = self.rest.split_at(len);
        let starts =
            |i: &usize| names[*i].as_bytes().get(..len).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let mut found = (0..names.len()).filter(starts);
        let first = found.next().filter(|_| len > 0)?;
        let chosen = match found.next() {
            None => first,
            // May is the start of no other, but a name may be one of another language's.
            Some(_) => (0..names.len()).find(|&i| names[i].as_bytes().eq_ignore_ascii_case(word))?,
        };
        self.rest = rest;
        Some(chosen)
    }

    fn part(&mut self, specifier: u8) -> Option<()> {
        match specifier {
            b'Y' => self.read.year = self.year(4)?,
            b'y' => self.read.year = self.year(2)?,
            b'm' | b'c' => self.read.month = self.number(2)? as u8,
            b'd' | b'e' => self.read.day = self.number(2)? as u8,
            b'D' => {
                self.read.day = self.number(2)? as u8;
                self.rest = self.rest.get(2..)?;
            }
            b'M' => self.read.month = self.word(&self.locale.months)? as u8 + 1,
            b'b' => self.read.month = self.word(&self.locale.months_short)? as u8 + 1,
            b'W' => self.read.weekday = Some((self.word(&self.locale.days)? as i64 + 1) % 7),
            b'a' => self.read.weekday = Some((self.word(&self.locale.days_short)? as i64 + 1) % 7),
            b'w' => self.read.weekday = Some(self.number(1).filter(|&n| n < 7)?.into()),
            b'j' => self.read.day_of_year = Some(self.number(3)?.into()),
            b'U' | b'u' | b'V' | b'v' => {
                let number = i64::from(self.number(2).filter(|&n| n <= 53)?);
                let week = Week {
                    number,
                    monday_first: matches!(specifier, b'u' | b'v'),
                    with_year: matches!(specifier, b'V' | b'v'),
                };
                self.read.week = Some(week);
            }
            b'X' | b'x' => self.read.week_year = Some(self.year(4)?),
            b'r' | b'T' => self.clock(specifier == b'r')?,
            b'.' => self.skip(|b| b.is_ascii_punctuation()),
            b'@' => self.skip(|b| b.is_ascii_alphabetic()),
            b'#' => self.skip(|b| b.is_ascii_digit()),
            other => return self.time_part(other),
        }
        Some(())
    }

    fn time_part(&mut self, specifier: u8) -> Option<()> {
        match specifier {
            b'H' | b'k' => self.read.hour = self.number(2)?,
            b'h' | b'I' | b'l' => {
                self.read.twelve_hours = true;
                self.read.hour = self.number(2)?;
            }
            b'i' => self.read.minute = self.number(2)?,
            b's' | b'S' => self.read.second = self.number(2)?,
            b'f' => {
                let before = self.rest.trim_ascii_start().len();
                let number = self.number(6)?;
                self.read.micros = number * 10_u32.pow(6 - (before - self.rest.len()) as u32);
            }
            b'p' => self.read.afternoon = Some(self.name(&["AM", "PM"])? == 1),
            other => self.literal(other)?,
        }
        Some(())
    }

    /// `%T` is `%H:%i:%S`, `%r` is `%I:%i:%S %p`.
    fn clock(&mut self, twelve_hours: bool) -> Option<()> {
        let format: &[u8] = if twelve_hours { b"%I:%i:%S %p" } else { b"%H:%i:%S" };
        self.run(format)
    }

    fn skip(&mut self, what: fn(&u8) -> bool) {
        let count = self.rest.iter().take_while(|b| what(b)).count();
        self.rest = &self.rest[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: &str) -> Option<String> {
        let mut reader =
            Reader { rest: text.as_bytes(), locale: locale::at(locale::ENGLISH), read: Parsed::default() };
        reader.run(format.as_bytes())?;
        let (date, micros) = reader.read.finish()?;
        Some(DateTime { date, micros, fsp: if micros % SECOND == 0 { 0 } else { 6 } }.to_string())
    }

    #[test]
    fn examples_of_the_manual() {
        for (text, format, expected) in [
            ("01,5,2013", "%d,%m,%Y", Some("2013-05-01 00:00:00")),
            ("May 1, 2013", "%M %d,%Y", Some("2013-05-01 00:00:00")),
            ("a09:30:17", "a%h:%i:%s", Some("0000-00-00 09:30:17")),
            ("a09:30:17", "%h:%i:%s", None),
            ("09:30:17a", "%h:%i:%s", Some("0000-00-00 09:30:17")),
            ("abc", "abc", Some("0000-00-00 00:00:00")),
            ("9", "%m", Some("0000-09-00 00:00:00")),
            ("9", "%s", Some("0000-00-00 00:00:09")),
            ("200442 Monday", "%X%V %W", Some("2004-10-18 00:00:00")),
            ("2013-05-01 11:12:13.5 PM", "%Y-%m-%d %h:%i:%s.%f %p", Some("2013-05-01 23:12:13.500000")),
            ("60 70", "%y %j", Some("2060-03-10 00:00:00")),
            ("25:00", "%H:%i", None),
            ("Sept5 2020", "%M%d %Y", Some("2020-09-05 00:00:00")),
            ("Ju 5 2020", "%M %d %Y", None),
            ("January 5 2020", "%b %d %Y", None),
            ("Mo 2020 Ja 5", "%W %Y %b %d", Some("2020-01-05 00:00:00")),
        ] {
            assert_eq!(read(text, format).as_deref(), expected, "{text} by {format}");
        }
        assert_eq!(parts_of(b"%Y-%m"), (true, false, false));
        assert_eq!(parts_of(b"%T.%f"), (false, true, true));
    }
}
