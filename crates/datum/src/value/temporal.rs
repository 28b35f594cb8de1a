//! Dates, times of day and both together, as MySQL has them: with zero dates, with times from
//! -838:59:59 to 838:59:59, with microseconds.
//!
//! These types hold what a text or a number *said*; whether a sql_mode lets a zero date or the 31st
//! of February into a column is decided where values are stored ([`Date::check`]). Calendar
//! arithmetic is on day numbers of the proleptic Gregorian calendar, day 0 being year 0's "day 0"
//! as `TO_DAYS` counts.

use std::fmt;

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;
/// 838:59:59 in microseconds.
pub(crate) const TIME_MAX: i64 = ((838 * 60 + 59) * 60 + 59) * SECOND;

/// A calendar date; month and day can be 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A time of day, or a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Microseconds, at most [`TIME_MAX`] either way.
    pub micros: i64,
    /// Digits shown after the second.
    pub fsp: u8,
}

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime {
    /// May be a zero date.
    pub date: Date,
    /// Microseconds since midnight, below [`DAY`].
    pub micros: i64,
    /// Digits shown after the second.
    pub fsp: u8,
}

/// Which incomplete dates are let through; from the sql_mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct DateRules {
    /// Dates with a month or day of 0 are refused, but for the zero date.
    pub no_zero_in_date: bool,
    /// 0000-00-00 is refused.
    pub no_zero_date: bool,
    /// Days up to 31 are let through in each month.
    pub allow_invalid: bool,
}

/// True for leap years; the year 0 is none, as in MySQL.
pub fn is_leap(year: u16) -> bool {
    year != 0 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// The number of days in a month; 0 for month 0.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(is_leap(year)),
        _ => 0,
    }
}

impl Date {
    /// 0000-00-00.
    pub const ZERO: Date = Date { year: 0, month: 0, day: 0 };

    /// True for 0000-00-00.
    pub(crate) fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// True if it is a day of the calendar.
    pub(crate) fn is_real(self) -> bool {
        self.month > 0 && self.day > 0 && self.day <= days_in_month(self.year, self.month)
    }

    /// True if the rules allow it.
    pub fn check(self, rules: DateRules) -> bool {
        if self.is_zero() {
            return !rules.no_zero_date;
        }
        if self.month == 0 || self.day == 0 {
            return !rules.no_zero_in_date && self.month <= 12 && self.day <= 31;
        }
        self.month <= 12
            && self.day <= if rules.allow_invalid { 31 } else { days_in_month(self.year, self.month) }
    }

    /// The day's number as `TO_DAYS` counts; `None` unless the date is real.
    pub fn day_number(self) -> Option<i64> {
        self.is_real().then(|| {
            let (y, m) = (i64::from(self.year), i64::from(self.month));
            let y = if m <= 2 { y - 1 } else { y };
            let day_of_year = (153 * ((m + 9) % 12) + 2) / 5 + i64::from(self.day) - 1;
            // The Gregorian year 0 would be a leap year; its January and February are a day later
            // here.
            let shift = i64::from(self.year == 0 && m <= 2);
            y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + day_of_year + 60 + shift
        })
    }

    /// The date of a day number; `None` beyond the years 0 to 9999.
    pub fn from_day_number(n: i64) -> Option<Self> {
        if n < 60 {
            let (month, day) = if n <= 31 { (1, n) } else { (2, n - 31) };
            return (n >= 1).then_some(Date { year: 0, month, day: day as u8 });
        }
        let z = n - 60;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = (doy - (153 * mp + 2) / 5 + 1) as u8;
        let month = if mp < 10 { mp + 3 } else { mp - 9 } as u8;
        let year = yoe + era * 400 + i64::from(month <= 2);
        (0..=9999).contains(&year).then_some(Date { year: year as u16, month, day })
    }

    /// `YYYYMMDD`.
    pub fn to_number(self) -> u64 {
        u64::from(self.year) * 10_000 + u64::from(self.month) * 100 + u64::from(self.day)
    }

    /// 00:00:00 of that day, with no digits after the second.
    pub fn midnight(self) -> DateTime {
        DateTime { date: self, micros: 0, fsp: 0 }
    }
}

/// 10^(6 - fsp): microseconds of the last digit shown.
fn unit(fsp: u8) -> i64 {
    10_i64.pow(6 - u32::from(fsp.min(6)))
}

fn round_to(micros: i64, fsp: u8) -> i64 {
    let unit = unit(fsp);
    (micros + unit / 2 * i64::from(unit > 1)) / unit * unit
}

impl Time {
    /// From hours, minutes, seconds and microseconds.
    pub fn new(negative: bool, hours: u32, minutes: u32, seconds: u32, micros: u32, fsp: u8) -> Self {
        let total = ((i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds)) * SECOND;
        let total = total + i64::from(micros);
        Self { micros: if negative { -total } else { total }, fsp }
    }

    /// Hours, minutes, seconds and microseconds of its absolute value.
    pub fn parts(self) -> (u32, u32, u32, u32) {
        let micros = self.micros.unsigned_abs();
        let seconds = micros / SECOND as u64;
        (
            (seconds / 3600) as u32,
            (seconds / 60 % 60) as u32,
            (seconds % 60) as u32,
            (micros % 1_000_000) as u32,
        )
    }

    /// Rounded to `fsp` digits after the second.
    pub fn round(self, fsp: u8) -> Self {
        let magnitude = round_to(self.micros.abs(), fsp);
        Self { micros: magnitude * self.micros.signum(), fsp }
    }

    /// Cut, not rounded, to `fsp` digits.
    pub fn truncate(self, fsp: u8) -> Self {
        Self { micros: self.micros / unit(fsp) * unit(fsp), fsp }
    }

    /// Cut at ±838:59:59; true if it was beyond.
    pub fn clamp(self) -> (Self, bool) {
        let micros = self.micros.clamp(-TIME_MAX, TIME_MAX);
        (Self { micros, ..self }, micros != self.micros)
    }

    /// `hhmmss` with the sign, without the fraction.
    pub(crate) fn to_number(self) -> i64 {
        let (h, m, s, _) = self.parts();
        (i64::from(h) * 10_000 + i64::from(m) * 100 + i64::from(s)) * if self.micros < 0 { -1 } else { 1 }
    }
}

impl DateTime {
    /// 0000-00-00 00:00:00.
    pub const ZERO: DateTime = DateTime { date: Date::ZERO, micros: 0, fsp: 0 };

    /// The time of day.
    pub fn time(self) -> Time {
        Time { micros: self.micros, fsp: self.fsp }
    }

    /// Rounded to `fsp` digits after the second; `None` if that leaves the calendar.
    pub fn round(self, fsp: u8) -> Option<Self> {
        let micros = round_to(self.micros, fsp);
        if micros < DAY {
            return Some(Self { micros, fsp, ..self });
        }
        let date = Date::from_day_number(self.date.day_number()? + 1)?;
        Some(Self { date, micros: micros - DAY, fsp })
    }

    /// Cut, not rounded, to `fsp` digits.
    pub fn truncate(self, fsp: u8) -> Self {
        Self { micros: self.micros / unit(fsp) * unit(fsp), fsp, ..self }
    }

    /// Moved by microseconds; `None` if it isn't a real date or leaves the years 0 to 9999.
    pub fn add_micros(self, micros: i64) -> Option<Self> {
        let total = self.micros.checked_add(micros)?;
        let day = self.date.day_number()?.checked_add(total.div_euclid(DAY))?;
        Some(Self { date: Date::from_day_number(day)?, micros: total.rem_euclid(DAY), ..self })
    }

    /// Moved by months; the day is cut to the month's last.
    pub fn add_months(self, months: i64) -> Option<Self> {
        if self.date.month == 0 {
            return None;
        }
        let total = (i64::from(self.date.year) * 12 + i64::from(self.date.month) - 1).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12)).ok().filter(|&y| y <= 9999)?;
        let month = total.rem_euclid(12) as u8 + 1;
        let day = self.date.day.min(days_in_month(year, month));
        Some(Self { date: Date { year, month, day }, ..self })
    }

    /// Microseconds since 1970-01-01 00:00:00 in the same zone; `None` unless the date is real.
    pub fn unix_micros(self) -> Option<i64> {
        Some((self.date.day_number()? - UNIX_EPOCH_DAY) * DAY + self.micros)
    }

    /// The moment `micros` after 1970-01-01 00:00:00.
    pub fn from_unix_micros(micros: i64, fsp: u8) -> Option<Self> {
        let date = Date::from_day_number(micros.div_euclid(DAY) + UNIX_EPOCH_DAY)?;
        Some(Self { date, micros: micros.rem_euclid(DAY), fsp })
    }

    /// `YYYYMMDDhhmmss`, without the fraction.
    pub(crate) fn to_number(self) -> u64 {
        self.date.to_number() * 1_000_000 + self.time().to_number().unsigned_abs()
    }

    /// True for 0000-00-00 00:00:00.
    pub fn is_zero(self) -> bool {
        self.date.is_zero() && self.micros == 0
    }
}

/// `TO_DAYS('1970-01-01')`.
const UNIX_EPOCH_DAY: i64 = 719_528;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (h, m, s, us) = self.parts();
        let sign = if self.micros < 0 { "-" } else { "" };
        write!(f, "{sign}{h:02}:{m:02}:{s:02}")?;
        fraction(f, us, self.fsp)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (h, m, s, us) = self.time().parts();
        write!(f, "{} {h:02}:{m:02}:{s:02}", self.date)?;
        fraction(f, us, self.fsp)
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, micros: u32, fsp: u8) -> fmt::Result {
    match fsp.min(6) {
        0 => Ok(()),
        fsp => write!(f, ".{:0width$}", i64::from(micros) / unit(fsp), width = usize::from(fsp)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_are_those_of_to_days() {
        for (date, n) in
            [((1970, 1, 1), 719_528), ((0, 1, 1), 1), ((2000, 2, 29), 730_544), ((9999, 12, 31), 3_652_424)]
        {
            let date = Date { year: date.0, month: date.1, day: date.2 };
            assert_eq!(date.day_number(), Some(n), "{date}");
            assert_eq!(Date::from_day_number(n), Some(date));
        }
        for n in 1..=3_652_424 {
            assert_eq!(Date::from_day_number(n).and_then(Date::day_number), Some(n));
        }
        assert_eq!(Date::from_day_number(3_652_425), None);
        assert_eq!(Date { year: 2001, month: 2, day: 29 }.day_number(), None);
    }

    #[test]
    fn rounding_carries_over() {
        let t = DateTime { date: Date { year: 1999, month: 12, day: 31 }, micros: DAY - 1, fsp: 6 };
        assert_eq!(t.to_string(), "1999-12-31 23:59:59.999999");
        assert_eq!(t.round(0).unwrap().to_string(), "2000-01-01 00:00:00");
        assert_eq!(Time::new(true, 1, 2, 3, 500_000, 6).round(0).to_string(), "-01:02:04");
        assert_eq!(Time::new(true, 1, 2, 3, 450_000, 6).round(1).to_string(), "-01:02:03.5");
    }

    #[test]
    fn moving_along_the_calendar() {
        let jan31 = Date { year: 2024, month: 1, day: 31 }.midnight();
        assert_eq!(jan31.add_months(1).unwrap().date.to_string(), "2024-02-29");
        assert_eq!(jan31.add_months(-25_000), None);
        assert_eq!(jan31.add_micros(-1).unwrap().to_string(), "2024-01-30 23:59:59");
        assert_eq!(DateTime::from_unix_micros(jan31.unix_micros().unwrap(), 0), Some(jan31));
    }
}
