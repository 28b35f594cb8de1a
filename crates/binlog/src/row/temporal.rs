//! DATE, TIME, DATETIME and TIMESTAMP: packed bytes to parts and back.
//!
//! The forms since MySQL 5.6 are big-endian and memory-comparable, with up to three bytes of
//! fraction. MySQL's zero dates and times beyond a day are values like others, so parts are not
//! checked against a calendar. Source: MySQL Internals, "Date and Time Data Type Representation".

use std::fmt;

/// A DATE; all zero is `0000-00-00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A TIME, -838:59:59 to 838:59:59.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Time {
    /// Below zero.
    pub negative: bool,
    /// 0 to 838.
    pub hours: u16,
    /// 0 to 59.
    pub minutes: u8,
    /// 0 to 59.
    pub seconds: u8,
    /// 0 to 999999.
    pub micros: u32,
    /// Digits of the fraction that the column keeps, 0 to 6.
    pub digits: u8,
}

/// A DATETIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime {
    /// The day.
    pub date: Date,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999999.
    pub micros: u32,
    /// Digits of the fraction that the column keeps, 0 to 6.
    pub digits: u8,
}

/// A TIMESTAMP; 0 seconds and 0 microseconds is the zero date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub seconds: u32,
    /// 0 to 999999.
    pub micros: u32,
    /// Digits of the fraction that the column keeps, 0 to 6.
    pub digits: u8,
}

/// Microseconds in one unit of a fraction of so many bytes.
const FRACTION_UNIT: [u32; 4] = [0, 10_000, 100, 1];

fn fraction_bytes(digits: u8) -> usize {
    usize::from(digits).div_ceil(2).min(3)
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |v, &b| v << 8 | u64::from(b))
}

fn put_be(out: &mut Vec<u8>, v: u64, n: usize) {
    out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
}

/// Microseconds of a whole fraction, and the other way.
fn micros_of(fraction: &[u8]) -> u32 {
    be(fraction) as u32 * FRACTION_UNIT[fraction.len().min(3)]
}

fn put_fraction(out: &mut Vec<u8>, micros: u32, digits: u8) {
    let n = fraction_bytes(digits);
    if n > 0 {
        put_be(out, u64::from(micros / FRACTION_UNIT[n]), n);
    }
}

impl Date {
    /// From the three bytes of a DATE: day 5 bits, month 4, year 15, little-endian.
    pub(crate) fn from_bytes(b: [u8; 3]) -> Self {
        let v = u32::from_le_bytes([b[0], b[1], b[2], 0]);
        Self { year: (v >> 9) as u16, month: (v >> 5 & 15) as u8, day: (v & 31) as u8 }
    }

    /// The three bytes.
    pub(crate) fn to_bytes(self) -> [u8; 3] {
        let v = u32::from(self.year) << 9 | u32::from(self.month & 15) << 5 | u32::from(self.day & 31);
        let [a, b, c, _] = v.to_le_bytes();
        [a, b, c]
    }
}

impl Time {
    /// From the packed form (`MYSQL_TYPE_TIME2`): 3 bytes and the fraction, as a whole offset by
    /// half the range.
    pub(super) fn from_packed(bytes: &[u8], digits: u8) -> Self {
        let bits = bytes.len() as u32 * 8;
        let half = 1_i64 << (bits - 1);
        let packed = be(bytes) as i64 - half;
        let fraction_bits = bits - 24;
        // The whole number is negative: its parts are those of the absolute value.
        let magnitude = packed.unsigned_abs();
        let (hms, fraction) = (magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1));
        Self {
            negative: packed < 0,
            hours: (hms >> 12 & 0x3ff) as u16,
            minutes: (hms >> 6 & 63) as u8,
            seconds: (hms & 63) as u8,
            micros: fraction as u32 * FRACTION_UNIT[fraction_bits as usize / 8],
            digits,
        }
    }

    /// Appends the packed form.
    pub(super) fn put_packed(self, out: &mut Vec<u8>) {
        let n = fraction_bytes(self.digits);
        let hms = u64::from(self.hours) << 12 | u64::from(self.minutes) << 6 | u64::from(self.seconds);
        let fraction = if n == 0 { 0 } else { u64::from(self.micros / FRACTION_UNIT[n]) };
        let magnitude = (hms << (8 * n) | fraction) as i64;
        let half = 1_i64 << (23 + 8 * n);
        let packed = if self.negative { half - magnitude } else { half + magnitude };
        put_be(out, packed as u64, 3 + n);
    }

    /// From the form before 5.6: hhmmss as a signed 3-byte number.
    pub(super) fn from_decimal(b: [u8; 3]) -> Self {
        let v = i32::from_le_bytes([0, b[0], b[1], b[2]]) >> 8;
        let n = v.unsigned_abs();
        Self {
            negative: v < 0,
            hours: (n / 10_000) as u16,
            minutes: (n / 100 % 100) as u8,
            seconds: (n % 100) as u8,
            micros: 0,
            digits: 0,
        }
    }

    /// The form before 5.6.
    pub(super) fn to_decimal(self) -> [u8; 3] {
        let n = i32::from(self.hours) * 10_000 + i32::from(self.minutes) * 100 + i32::from(self.seconds);
        let [a, b, c, _] = (if self.negative { -n } else { n }).to_le_bytes();
        [a, b, c]
    }

    /// From the 64-bit form inside JSON: `hms << 24 | micros`, negated below zero.
    pub fn from_i64(v: i64) -> Self {
        let magnitude = v.unsigned_abs();
        let hms = magnitude >> 24;
        Self {
            negative: v < 0,
            hours: (hms >> 12 & 0x3ff) as u16,
            minutes: (hms >> 6 & 63) as u8,
            seconds: (hms & 63) as u8,
            micros: (magnitude & 0xff_ffff) as u32,
            digits: 6,
        }
    }

    /// The 64-bit form inside JSON.
    pub fn to_i64(self) -> i64 {
        let hms = i64::from(self.hours) << 12 | i64::from(self.minutes) << 6 | i64::from(self.seconds);
        let magnitude = hms << 24 | i64::from(self.micros);
        if self.negative { -magnitude } else { magnitude }
    }
}

const DATETIME_OFFSET: u64 = 1 << 39;

impl DateTime {
    /// From the packed form (`MYSQL_TYPE_DATETIME2`): 5 bytes and the fraction.
    pub(super) fn from_packed(bytes: &[u8], digits: u8) -> Self {
        let (whole, fraction) = bytes.split_at(5.min(bytes.len()));
        Self::from_parts(be(whole).wrapping_sub(DATETIME_OFFSET), micros_of(fraction), digits)
    }

    /// From the 64-bit form inside JSON.
    pub fn from_i64(v: i64) -> Self {
        let magnitude = v.unsigned_abs();
        Self::from_parts(magnitude >> 24, (magnitude & 0xff_ffff) as u32, 6)
    }

    /// `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second`.
    fn from_parts(packed: u64, micros: u32, digits: u8) -> Self {
        let (ymd, hms) = (packed >> 17 & 0x3f_ffff, packed & 0x1_ffff);
        let year_month = ymd >> 5;
        let date =
            Date { year: (year_month / 13) as u16, month: (year_month % 13) as u8, day: (ymd & 31) as u8 };
        let (hour, minute, second) = ((hms >> 12) as u8, (hms >> 6 & 63) as u8, (hms & 63) as u8);
        Self { date, hour, minute, second, micros, digits }
    }

    /// The 64-bit form inside JSON.
    pub fn to_i64(self) -> i64 {
        (self.to_parts() << 24 | u64::from(self.micros)) as i64
    }

    /// What [`Self::from_parts`] reads.
    fn to_parts(self) -> u64 {
        let Date { year, month, day } = self.date;
        let ymd = (u64::from(year) * 13 + u64::from(month)) << 5 | u64::from(day);
        ymd << 17 | u64::from(self.hour) << 12 | u64::from(self.minute) << 6 | u64::from(self.second)
    }

    /// Appends the packed form.
    pub(super) fn put_packed(self, out: &mut Vec<u8>) {
        put_be(out, DATETIME_OFFSET + self.to_parts(), 5);
        put_fraction(out, self.micros, self.digits);
    }

    /// From the form before 5.6: yyyymmddhhmmss as a number.
    pub(super) fn from_decimal(v: u64) -> Self {
        let (ymd, hms) = (v / 1_000_000, v % 1_000_000);
        let date =
            Date { year: (ymd / 10_000) as u16, month: (ymd / 100 % 100) as u8, day: (ymd % 100) as u8 };
        let (hour, minute, second) = ((hms / 10_000) as u8, (hms / 100 % 100) as u8, (hms % 100) as u8);
        Self { date, hour, minute, second, micros: 0, digits: 0 }
    }

    /// The form before 5.6.
    pub(super) fn to_decimal(self) -> u64 {
        let Date { year, month, day } = self.date;
        let ymd = u64::from(year) * 10_000 + u64::from(month) * 100 + u64::from(day);
        let hms = u64::from(self.hour) * 10_000 + u64::from(self.minute) * 100 + u64::from(self.second);
        ymd * 1_000_000 + hms
    }
}

impl Timestamp {
    /// From the packed form (`MYSQL_TYPE_TIMESTAMP2`): 4 bytes and the fraction.
    pub(super) fn from_packed(bytes: &[u8], digits: u8) -> Self {
        let (whole, fraction) = bytes.split_at(4.min(bytes.len()));
        Self { seconds: be(whole) as u32, micros: micros_of(fraction), digits }
    }

    /// Appends the packed form.
    pub(super) fn put_packed(self, out: &mut Vec<u8>) {
        put_be(out, self.seconds.into(), 4);
        put_fraction(out, self.micros, self.digits);
    }

    /// The moment in UTC; the zero timestamp is the zero date.
    pub(crate) fn to_utc(self) -> DateTime {
        let Self { seconds, micros, digits } = self;
        if seconds == 0 && micros == 0 {
            return DateTime { digits, ..DateTime::default() };
        }
        let second_of_day = seconds % 86_400;
        DateTime {
            date: date_of_day(seconds / 86_400),
            hour: (second_of_day / 3600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
            micros,
            digits,
        }
    }
}

impl Timestamp {
    /// The moment's date and time in UTC; zero is the zero date, as MySQL has it.
    pub(crate) fn utc(&self) -> DateTime {
        let (day, second) = (self.seconds / 86_400, self.seconds % 86_400);
        let zero = Date { year: 0, month: 0, day: 0 };
        let date = if self.seconds == 0 { zero } else { date_of_day(day) };
        DateTime {
            date,
            hour: (second / 3600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
            micros: self.micros,
            digits: self.digits,
        }
    }
}

/// The date so many days after 1970-01-01. Counts years from March, so that the leap day is a
/// year's last.
pub(crate) fn date_of_day(days: u32) -> Date {
    let days = u64::from(days) + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    Date { year: year as u16, month: month as u8, day: day as u8 }
}

/// `.` and the first digits of the microseconds.
fn fmt_fraction(f: &mut fmt::Formatter<'_>, micros: u32, digits: u8) -> fmt::Result {
    let digits = usize::from(digits.min(6));
    if digits == 0 {
        return Ok(());
    }
    write!(f, ".{:0digits$}", micros.min(999_999) / 10_u32.pow(6 - digits as u32))
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{:02}:{:02}:{:02}", self.hours, self.minutes, self.seconds)?;
        fmt_fraction(f, self.micros, self.digits)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}:{:02}", self.date, self.hour, self.minute, self.second)?;
        fmt_fraction(f, self.micros, self.digits)
    }
}

impl fmt::Display for Timestamp {
    /// Seconds since 1970 and the fraction, as `mysqlbinlog` prints it: no time zone comes in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seconds)?;
        fmt_fraction(f, self.micros, self.digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip_at_each_precision() {
        for digits in 0..=6 {
            for (negative, hours, micros) in
                [(false, 0, 0), (true, 838, 990_000), (true, 0, 10_000), (false, 1, 120_000)]
            {
                let micros = if digits == 0 { 0 } else { micros };
                let negative = negative && (hours > 0 || micros > 0);
                let time = Time { negative, hours, minutes: 59, seconds: 1, micros, digits };
                let mut bytes = Vec::new();
                time.put_packed(&mut bytes);
                assert_eq!(Time::from_packed(&bytes, digits), time, "{bytes:x?}");
            }
        }
    }

    #[test]
    fn packed_times_order_as_bytes() {
        let texts: Vec<Vec<u8>> = [(true, 5, 0), (true, 0, 1), (false, 0, 0), (false, 0, 1), (false, 800, 0)]
            .map(|(negative, hours, micros)| {
                let mut bytes = Vec::new();
                Time { negative, hours, micros, digits: 6, ..Time::default() }.put_packed(&mut bytes);
                bytes
            })
            .into();
        assert!(texts.is_sorted());
    }

    #[test]
    fn days_become_dates() {
        for (day, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_777, "2026-11-20"),
            (49_709, "2106-02-06"),
        ] {
            assert_eq!(date_of_day(day).to_string(), text);
        }
    }
}
