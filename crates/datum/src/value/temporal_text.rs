//! Reading dates and times from text and from numbers, as forgiving as MySQL.
//!
//! Text comes in two forms: with separators (`2024-1-2 3:4:5.6`, any punctuation will do) and
//! without (`20240102030405.6`). Two-digit years below 70 are of the 2000s. A reader returns the
//! value and whether something was left over or cut ([`Read::truncated`]); `None` means that the
//! text is no date or time at all.

use super::temporal::{Date, DateTime, SECOND, Time};
use super::zone::Zone;

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read<T> {
    /// What the part that could be read gives.
    pub value: T,
    /// True if the text went on with something else, or the value was cut to its type's range.
    pub truncated: bool,
    /// True if the seventh digit of the second rounded the value away from zero.
    pub(crate) rounded_up: bool,
}

fn read<T>(value: T, truncated: bool) -> Option<Read<T>> {
    Some(Read { value, truncated, rounded_up: false })
}

impl Read<DateTime> {
    /// The value with no more than the first six digits of the second, as TIME_TRUNCATE_FRACTIONAL
    /// asks for.
    pub fn cut(self) -> DateTime {
        let back = self.rounded_up.then(|| self.value.add_micros(-1)).flatten();
        back.unwrap_or(self.value)
    }
}

impl Read<Time> {
    /// The value with no more than the first six digits of the second, as TIME_TRUNCATE_FRACTIONAL
    /// asks for.
    pub(crate) fn cut(self) -> Time {
        let back = i64::from(self.rounded_up && !self.truncated) * self.value.micros.signum();
        Time { micros: self.value.micros - back, ..self.value }
    }
}

/// The next run of digits, at most `max` of them.
fn digits<'a>(text: &mut &'a [u8], max: usize) -> &'a [u8] {
    let n = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let (head, tail) = text.split_at(n);
    *text = tail;
    head
}

fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0_u32, |v, d| v.saturating_mul(10).saturating_add(u32::from(d - b'0')))
}

/// A fraction's digits as microseconds, rounded at the seventh; the second value is the digits
/// given, at most 6, the third says that it was rounded up.
fn micros(digits: &[u8]) -> (u32, u8, bool) {
    let mut value = 0;
    for i in 0..6 {
        value = value * 10 + digits.get(i).map_or(0, |d| u32::from(d - b'0'));
    }
    let up = digits.get(6).is_some_and(|&d| d >= b'5');
    (value + u32::from(up), digits.len().min(6) as u8, up)
}

fn full_year(year: u32, digits: usize) -> u32 {
    match (digits, year) {
        (1..=2, 0..=69) => 2000 + year,
        (1..=2, _) => 1900 + year,
        _ => year,
    }
}

/// Reads a date with an optional time of day.
pub fn parse_datetime(text: &[u8]) -> Option<Read<DateTime>> {
    let text = text.trim_ascii();
    let run = text.iter().take_while(|b| b.is_ascii_digit()).count();
    match text.get(run) {
        _ if run == 0 => None,
        None | Some(b'.') if run >= 5 => parse_compact(text, run),
        Some(b'T' | b't' | b' ') if run >= 6 => parse_compact(text, run),
        _ => parse_separated(text),
    }
}

/// The same for a text that may name its offset from UTC: it is that moment as the zone has it.
pub fn parse_datetime_in(text: &[u8], zone: Zone) -> Option<Read<DateTime>> {
    let (bare, Some(minutes)) = split_offset(text) else { return parse_datetime(text) };
    let read = parse_datetime(bare)?;
    let utc = read.value.add_micros(-i64::from(minutes) * 60 * SECOND)?;
    Some(Read { value: zone.show(utc), ..read })
}

/// True if `text`, as which `read` was read, goes on after the date with more than an offset from
/// UTC or a separator, which nothing follows.
pub fn goes_on(text: &[u8], read: &Read<DateTime>) -> bool {
    let end = text.iter().rposition(|b| !b.is_ascii_punctuation() && !b.is_ascii_whitespace());
    let bare = &text[..end.map_or(0, |last| last + 1)];
    read.truncated && split_offset(text).1.is_none() && parse_datetime(bare).is_none_or(|read| read.truncated)
}

/// True if a text that is a date has a time of day too: digits after the day.
pub fn has_time(text: &[u8]) -> bool {
    let mut runs = text.split(|b| !b.is_ascii_digit()).filter(|run| !run.is_empty());
    match runs.next().map_or(0, <[u8]>::len) {
        0..5 => runs.nth(2).is_some(),
        5..9 => runs.next().is_some(),
        _ => true,
    }
}

/// Takes the offset off a date with a time of day up to its seconds, such as
/// `2024-01-02 03:04:05+02:00`, in minutes east of UTC.
pub fn split_offset(text: &[u8]) -> (&[u8], Option<i32>) {
    let text = text.trim_ascii_end();
    let Some((rest, [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2])) = text.split_last_chunk::<6>() else {
        return (text, None);
    };
    let digits = [h1, h2, m1, m2];
    if !digits.iter().all(|d| d.is_ascii_digit())
        || !has_seconds(rest)
        || !rest.last().is_some_and(u8::is_ascii_digit)
    {
        return (text, None);
    }
    let two = |a: &u8, b: &u8| i32::from(a - b'0') * 10 + i32::from(b - b'0');
    let (hours, minutes) = (two(h1, h2), two(m1, m2));
    let total = if *sign == b'-' { -(hours * 60 + minutes) } else { hours * 60 + minutes };
    let known = minutes < 60 && (-(13 * 60 + 59)..=14 * 60).contains(&total) && (total != 0 || *sign == b'+');
    if known { (rest, Some(total)) } else { (text, None) }
}

/// True if there are digits for hours, minutes and seconds, with something between them.
fn has_seconds(text: &[u8]) -> bool {
    let mut runs = text.split(|b| !b.is_ascii_digit()).filter(|run| !run.is_empty());
    let of_date = if runs.next().is_some_and(|run| run.len() > 4) { 0 } else { 2 };
    runs.count() >= of_date + 3
}

fn parse_separated(mut text: &[u8]) -> Option<Read<DateTime>> {
    /// Larger numbers are no part of a date, however many zeros stand before smaller ones.
    const PART_MAX: u32 = 999_999;
    let mut parts = [0_u32; 6];
    let year = digits(&mut text, usize::MAX);
    parts[0] = if year.len() == 2 { full_year(number(year), 2) } else { number(year) };
    let mut fraction: &[u8] = &[];
    let mut count = 1;
    while count < 6 {
        let before = text;
        let separators = text.iter().take_while(|&&b| is_separator(b, count)).count();
        text = &text[separators..];
        let part = digits(&mut text, usize::MAX);
        if separators == 0 || part.is_empty() {
            text = before;
            break;
        }
        parts[count] = number(part).min(PART_MAX);
        count += 1;
    }
    if count < 3 {
        return None;
    }
    if count == 6
        && let Some(rest) = text.strip_prefix(b".")
    {
        text = rest;
        fraction = digits(&mut text, usize::MAX);
    }
    assemble(parts, fraction, !text.trim_ascii().is_empty())
}

fn is_separator(b: u8, part: usize) -> bool {
    b.is_ascii_punctuation() || part == 3 && (b.is_ascii_whitespace() || b == b'T')
}

fn parse_compact(text: &[u8], run: usize) -> Option<Read<DateTime>> {
    let year_digits = if matches!(run, 8 | 14..) { 4 } else { 2 };
    let mut rest = text;
    let mut parts = [0_u32; 6];
    parts[0] = full_year(number(digits(&mut rest, year_digits)), year_digits);
    let mut count = 1;
    while count < 6 && rest.first().is_some_and(u8::is_ascii_digit) {
        parts[count] = number(digits(&mut rest, 2));
        count += 1;
    }
    if count < 3 {
        return None;
    }
    if count == 3 && matches!(rest.first(), Some(b'T' | b't' | b' ')) {
        let mut time = &rest[1..];
        while count < 6 && time.first().is_some_and(u8::is_ascii_digit) {
            parts[count] = number(digits(&mut time, 2));
            count += 1;
            time = time.strip_prefix(b":").unwrap_or(time);
        }
        rest = time;
    }
    let mut fraction: &[u8] = &[];
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        fraction = digits(&mut rest, usize::MAX);
    }
    assemble(parts, fraction, !rest.trim_ascii().is_empty())
}

fn assemble(parts: [u32; 6], fraction: &[u8], truncated: bool) -> Option<Read<DateTime>> {
    let [year, month, day, hour, minute, second] = parts;
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (us, fsp, rounded_up) = micros(fraction);
    let date = Date { year: year as u16, month: month as u8, day: day as u8 };
    let seconds = i64::from((hour * 60 + minute) * 60 + second);
    let value = DateTime { date, micros: seconds * SECOND, fsp };
    let value = match us {
        1_000_000 => value.add_micros(SECOND)?,
        us => DateTime { micros: value.micros + i64::from(us), ..value },
    };
    Some(Read { value, truncated, rounded_up })
}

/// Reads a number as `YYYYMMDD`, `YYMMDD`, `YYYYMMDDhhmmss` or `YYMMDDhhmmss`; 0 is the zero date.
pub(crate) fn datetime_from_number(n: i64) -> Option<DateTime> {
    let n = u64::try_from(n).ok()?;
    let (date, time) = match n {
        0 => return Some(DateTime::ZERO),
        1..=100 => return None,
        101..=99_991_231 => (n, 0),
        _ => (n / 1_000_000, n % 1_000_000),
    };
    let date = match date {
        101..=691_231 => date + 20_000_000,
        700_101..=991_231 => date + 19_000_000,
        _ => date,
    };
    if date > 99_991_231 {
        return None;
    }
    let two = |v: u64| (v % 100) as u32;
    let parts =
        [(date / 10_000) as u32, two(date / 100), two(date), two(time / 10_000), two(time / 100), two(time)];
    assemble(parts, &[], false).map(|r| r.value)
}

/// Reads a time: `[-][D ]hh:mm[:ss[.ffffff]]`, `hhmmss[.ffffff]`, or the time of a date with one.
pub fn parse_time(text: &[u8]) -> Option<Read<Time>> {
    let text = text.trim_ascii_start();
    let (negative, mut rest) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // Shorter ones are read as a time, as far as they are one.
    if rest.len() >= 12 {
        let form = datetime_form(rest);
        if form == DateTimeForm::Incomplete {
            return None;
        }
        if form == DateTimeForm::Complete {
            return parse_datetime(rest).map(|r| Read {
                value: r.value.time(),
                truncated: r.truncated,
                rounded_up: r.rounded_up && r.value.micros > 0,
            });
        }
    }
    rest = rest.trim_ascii_end();
    let first = digits(&mut rest, usize::MAX);
    if first.is_empty() && !rest.starts_with(b".") {
        return None;
    }
    let (h, m, s);
    let mut has_seconds = true;
    let after_space = rest.trim_ascii_start();
    if rest.starts_with(b" ") && after_space.first().is_some_and(u8::is_ascii_digit) {
        rest = after_space;
        h = u64::from(number(first)) * 24 + u64::from(number(digits(&mut rest, 10)));
        m = colon_part(&mut rest).unwrap_or(0);
        s = colon_part(&mut rest).unwrap_or(0);
    } else if matches!(rest, [b':', digit, ..] if digit.is_ascii_digit()) {
        h = number(first).into();
        m = colon_part(&mut rest).unwrap_or(0);
        let seconds = colon_part(&mut rest);
        has_seconds = seconds.is_some();
        s = seconds.unwrap_or(0);
    } else {
        let n = u64::from(number(first));
        (h, m, s) = (n / 10_000, (n / 100 % 100) as u32, (n % 100) as u32);
    }
    let mut fraction: &[u8] = &[];
    if has_seconds && let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        fraction = digits(&mut rest, usize::MAX);
    }
    time_from_parts(negative, h, m, s, fraction, !rest.trim_ascii().is_empty())
}

/// True if the text, read as a time, is a date with one.
pub(crate) fn is_shaped_as_datetime(text: &[u8]) -> bool {
    datetime_form(text) == DateTimeForm::Complete && parse_datetime(text).is_some()
}

/// How far a text has the form of a date with a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateTimeForm {
    /// It has none of it, and may be a time.
    Absent,
    /// Digits alone that are too few, or a date without a time of day.
    Incomplete,
    /// Date and time of day, of any values.
    Complete,
}

/// The form of a text: parts with signs between them are those of a date where a space follows the
/// third one.
fn datetime_form(text: &[u8]) -> DateTimeForm {
    const SECOND: usize = 5;
    let run = text.iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    match text.get(run) {
        _ if !text.first().is_some_and(u8::is_ascii_digit) => return DateTimeForm::Absent,
        None | Some(b'.') if run >= 12 => return DateTimeForm::Complete,
        None => return DateTimeForm::Incomplete,
        Some(b'.') => return DateTimeForm::Absent,
        _ => {}
    }
    let mut rest = text;
    let (mut parts, mut has_sign, mut has_space) = (0, false, false);
    while parts <= SECOND && rest.first().is_some_and(u8::is_ascii_digit) {
        if number(digits(&mut rest, usize::MAX)) > 999_999 {
            return DateTimeForm::Absent;
        }
        parts += 1;
        if parts == 3 && rest.first() == Some(&b'T') {
            rest = &rest[1..];
            continue;
        }
        while let Some((sign, after)) = rest.split_first()
            && parts <= SECOND
            && (sign.is_ascii_punctuation() || sign.is_ascii_whitespace())
        {
            if sign.is_ascii_whitespace() {
                if parts != 3 {
                    return DateTimeForm::Absent;
                }
                has_space = true;
            }
            (has_sign, rest) = (true, after);
        }
    }
    match parts {
        _ if has_sign && !has_space => DateTimeForm::Absent,
        0..=3 => DateTimeForm::Incomplete,
        _ => DateTimeForm::Complete,
    }
}

fn colon_part(text: &mut &[u8]) -> Option<u32> {
    let mut rest = text.strip_prefix(b":")?;
    let part = digits(&mut rest, 10);
    if part.is_empty() {
        return None;
    }
    *text = rest;
    Some(number(part))
}

fn time_from_parts(
    negative: bool,
    h: u64,
    m: u32,
    s: u32,
    fraction: &[u8],
    rest: bool,
) -> Option<Read<Time>> {
    if m > 59 || s > 59 {
        return None;
    }
    let (us, fsp, rounded_up) = micros(fraction);
    let time = Time::new(negative, h.min(10_000) as u32, m, s, us, fsp);
    let (value, cut) = time.clamp();
    Some(Read { value, truncated: cut || rest, rounded_up })
}

/// Reads a number as `hhmmss`, or as a date with a time.
pub(crate) fn time_from_number(n: i64) -> Option<Read<Time>> {
    let magnitude = n.unsigned_abs();
    if magnitude > 9_999_999 {
        return read(datetime_from_number(n)?.time(), false);
    }
    let two = |v: u64| (v % 100) as u32;
    time_from_parts(n < 0, magnitude / 10_000, two(magnitude / 100), two(magnitude), &[], false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_all_their_forms() {
        for (text, expected) in [
            ("2024-01-02", "2024-01-02 00:00:00"),
            ("2024-1-2 3:4:5", "2024-01-02 03:04:05"),
            ("2024-01-02T03:04:05.5", "2024-01-02 03:04:05.5"),
            ("2024/01/02 03.04.05", "2024-01-02 03:04:05"),
            ("24-01-02", "2024-01-02 00:00:00"),
            ("70-01-02", "1970-01-02 00:00:00"),
            ("20240102", "2024-01-02 00:00:00"),
            ("240102", "2024-01-02 00:00:00"),
            ("20240102030405", "2024-01-02 03:04:05"),
            ("240102030405", "2024-01-02 03:04:05"),
            ("20240102030405.25", "2024-01-02 03:04:05.25"),
            ("0000-00-00", "0000-00-00 00:00:00"),
            ("2024-02-31", "2024-02-31 00:00:00"),
            ("2023-12-31 23:59:59.9999999", "2024-01-01 00:00:00.000000"),
        ] {
            let got = parse_datetime(text.as_bytes()).map(|r| (r.value.to_string(), r.truncated));
            assert_eq!(got, Some((expected.to_owned(), false)), "{text:?}");
        }
        for text in ["", "x", "2024-13-01", "2024-01-02 25:00:00", "2024", "1"] {
            assert_eq!(parse_datetime(text.as_bytes()), None, "{text:?}");
        }
        assert!(parse_datetime(b"2024-01-02 x").unwrap().truncated);
        let goes_on = |text: &[u8]| goes_on(text, &parse_datetime(text).unwrap());
        assert!(goes_on(b"2024-01-02 x") && goes_on(b"2024-01-02 x,") && goes_on(b"2024-01-02 10:00:00 x"));
        for text in ["2024-01-02", "2024-01-02,", "2024-01-02 10:", "2024-01-02 10:00:00+02:00"] {
            assert!(!goes_on(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn times_in_all_their_forms() {
        for (text, expected) in [
            ("12:34:56", "12:34:56"),
            ("12:34", "12:34:00"),
            ("123456", "12:34:56"),
            ("56", "00:00:56"),
            ("-1:2:3.5", "-01:02:03.5"),
            ("2 03:04:05", "51:04:05"),
            ("1 1", "25:00:00"),
            ("2024-01-02 03:04:05", "03:04:05"),
            ("838:59:59", "838:59:59"),
        ] {
            let got = parse_time(text.as_bytes()).map(|r| (r.value.to_string(), r.truncated));
            assert_eq!(got, Some((expected.to_owned(), false)), "{text:?}");
        }
        assert!(parse_time(b"900:00:00").unwrap().truncated);
        assert_eq!(parse_time(b"12:60:00"), None);
        assert_eq!(parse_time(b"abc"), None);
    }

    #[test]
    fn numbers_as_dates() {
        let show = |n| datetime_from_number(n).map(|d| d.to_string());
        assert_eq!(show(20_240_102).as_deref(), Some("2024-01-02 00:00:00"));
        assert_eq!(show(240_102).as_deref(), Some("2024-01-02 00:00:00"));
        assert_eq!(show(20_240_102_030_405).as_deref(), Some("2024-01-02 03:04:05"));
        assert_eq!(show(0).as_deref(), Some("0000-00-00 00:00:00"));
        assert_eq!(show(20_241_302), None);
        assert_eq!(show(-1), None);
        assert_eq!(time_from_number(-12_345).map(|t| t.value.to_string()).as_deref(), Some("-01:23:45"));
    }
}
