//! DECIMAL: exact decimal numbers of up to 65 digits, 30 of them after the point.
//!
//! A number is an integer mantissa of at most 76 digits and a count of digits after the point.
//! Results wider than 65 digits are refused by the caller's choice ([`Decimal::digits`]). Rounding
//! is half away from zero, as MySQL's.
//!
//! A quotient carries more digits than it shows (MySQL computes it in whole words of nine digits),
//! so that `1/3*3` is 1.0000; [`Decimal::shown`] is the number of digits that it prints and is
//! stored with.

use std::cmp::Ordering;
use std::fmt;

use ethnum::{I256, U256};
use smallvec::SmallVec;

/// An exact decimal number; see the module's comment.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    mantissa: I256,
    scale: u8,
    shown: u8,
}

/// The widest DECIMAL.
pub const PRECISION_MAX: u8 = 65;
/// The most digits after the point.
pub(crate) const SCALE_MAX: u8 = 30;
/// A literal's digits after the point.
const LITERAL_SCALE_MAX: u8 = 64;
/// Digits that a mantissa can always hold.
const DIGITS_MAX: u32 = 76;

/// Digits of a long number are made so many at a time: the largest power of ten below 2^64.
const DIGITS_AT_ONCE: U256 = U256::new(10_u128.pow(19));

fn pow10(n: u32) -> I256 {
    I256::from(10).pow(n)
}

impl Decimal {
    /// 0.
    pub const ZERO: Decimal = Decimal { mantissa: I256::ZERO, scale: 0, shown: 0 };

    fn new(mantissa: I256, scale: u8) -> Self {
        Self { mantissa, scale, shown: scale }
    }

    /// `mantissa / 10^scale`; `None` if the scale is beyond 30.
    pub fn from_parts(mantissa: i128, scale: u8) -> Option<Self> {
        (scale <= SCALE_MAX).then(|| Self::new(I256::from(mantissa), scale))
    }

    /// Reads a number from the start of `text` (white space before it is skipped): digits, a point,
    /// an exponent. Returns it with the number of bytes read, 0 if there is no number. Digits that
    /// don't fit are rounded away at the right, and the largest number stands for what is larger.
    pub fn parse(text: &[u8]) -> (Decimal, usize) {
        Self::parse_to_scale(text, SCALE_MAX)
    }

    /// Reads a literal, which keeps its digits after the point beyond the 30 that a column can
    /// have: what is computed of it is rounded once, not twice.
    pub fn parse_literal(text: &[u8]) -> Decimal {
        Self::parse_to_scale(text, LITERAL_SCALE_MAX).0
    }

    fn parse_to_scale(text: &[u8], scale_max: u8) -> (Decimal, usize) {
        let number = match super::number::scan(text) {
            Some(number) => number,
            None => return (Decimal::ZERO, 0),
        };
        let mut mantissa = I256::ZERO;
        let mut scale = 0_i64;
        let mut dropped = None;
        let mut digits = 0;
        for (i, &digit) in number.digits().enumerate() {
            let behind_point = i >= number.integer.len();
            if dropped.is_some() || digits >= DIGITS_MAX - 1 {
                dropped.get_or_insert(digit);
                scale -= i64::from(!behind_point);
                continue;
            }
            mantissa = mantissa * 10 + I256::from(digit - b'0');
            digits += u32::from(mantissa != I256::ZERO);
            scale += i64::from(behind_point);
        }
        if dropped.is_some_and(|d| d >= b'5') {
            mantissa += 1;
        }
        if number.negative {
            mantissa = -mantissa;
        }
        (Self::from_exponent(mantissa, scale - i64::from(number.exponent), scale_max), number.len)
    }

    /// `mantissa / 10^scale` for any scale, rounded or saturated into what fits.
    fn from_exponent(mantissa: I256, scale: i64, scale_max: u8) -> Self {
        if mantissa == I256::ZERO {
            return Self::new(mantissa, scale.clamp(0, i64::from(scale_max)) as u8);
        }
        if scale < 0 {
            let power = scale.unsigned_abs().min(u64::from(DIGITS_MAX)) as u32;
            let widened = pow10(power).checked_mul(mantissa).filter(|_| scale > -i64::from(DIGITS_MAX));
            return widened
                .map_or_else(|| Self::largest(PRECISION_MAX, 0, mantissa < 0), |m| Self::new(m, 0));
        }
        if scale > i64::from(scale_max) {
            let excess = scale - i64::from(scale_max);
            if excess > i64::from(DIGITS_MAX) {
                return Self::new(I256::ZERO, scale_max);
            }
            return Self::new(divide_rounding(mantissa, pow10(excess as u32)), scale_max);
        }
        Self::new(mantissa, scale as u8)
    }

    /// The nearest number with 17 significant digits; `None` for infinities, NaN and what is out of
    /// range.
    pub(crate) fn from_f64(v: f64) -> Option<Self> {
        if !v.is_finite() {
            return None;
        }
        let text = format!("{v:e}");
        let (d, _) = Self::parse(text.as_bytes());
        (v.abs() < 1e65).then_some(d)
    }

    /// Reads a row image's DECIMAL: groups of nine digits in four bytes, shorter ones at both ends,
    /// the first bit flipped, and all bits of a negative number. Missing bytes count as zero.
    pub fn from_binary(bytes: &[u8], precision: u8, scale: u8) -> Self {
        const GROUP_LEN: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
        let negative = bytes.first().is_some_and(|b| b & 0x80 == 0);
        let mask = if negative { 0xff } else { 0 };
        let mut at = 0;
        let mut mantissa = I256::ZERO;
        let mut take = |digits: usize| {
            let mut group = 0_u32;
            for _ in 0..GROUP_LEN[digits] {
                let sign = if at == 0 { 0x80 } else { 0 };
                group = group << 8 | u32::from(bytes.get(at).copied().unwrap_or(mask) ^ mask ^ sign);
                at += 1;
            }
            let unit = 10_u32.pow(digits as u32);
            mantissa = mantissa * I256::from(unit) + I256::from(group % unit);
        };
        let whole = usize::from(precision.min(PRECISION_MAX).saturating_sub(scale));
        take(whole % 9);
        (0..whole / 9 + usize::from(scale) / 9).for_each(|_| take(9));
        take(usize::from(scale) % 9);
        Self::new(if negative { -mantissa } else { mantissa }, scale)
    }

    /// Appends it with all digits that it carries: the two scales, the mantissa's length in bytes,
    /// the mantissa (two's complement, little-endian).
    pub fn put(&self, out: &mut Vec<u8>) {
        let bytes = self.mantissa.to_le_bytes();
        let sign = if self.is_negative() { 0xff } else { 0 };
        let len = bytes.iter().rposition(|b| *b != sign).map_or(0, |last| last + 1);
        // The last byte kept says the sign.
        let needs_sign = len.checked_sub(1).map_or(sign, |last| bytes[last]) >> 7 != sign >> 7;
        let len = if len == 0 || needs_sign { len + 1 } else { len }.min(bytes.len());
        out.extend_from_slice(&[self.scale, self.shown, len as u8]);
        out.extend_from_slice(&bytes[..len]);
    }

    /// Takes what [`Self::put`] wrote off the start of `bytes`; returns the rest too.
    pub fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[scale, shown, len], rest) = bytes.split_first_chunk()?;
        let (kept, rest) = rest.split_at_checked(len.into())?;
        let sign = if kept.last()? >> 7 == 1 { 0xff } else { 0 };
        let mut mantissa = [sign; 32];
        mantissa.get_mut(..kept.len())?.copy_from_slice(kept);
        (u32::from(scale) <= DIGITS_MAX)
            .then(|| (Self { mantissa: I256::from_le_bytes(mantissa), scale, shown }, rest))
    }

    /// The largest number of a DECIMAL(precision, scale), or the smallest.
    pub fn largest(precision: u8, scale: u8, negative: bool) -> Self {
        let mantissa = pow10(u32::from(precision)) - 1;
        Self::new(if negative { -mantissa } else { mantissa }, scale)
    }

    /// Digits after the point that it prints.
    pub fn shown(&self) -> u8 {
        self.shown
    }

    /// True for 0.
    pub fn is_zero(&self) -> bool {
        self.mantissa == I256::ZERO
    }

    /// True below 0.
    pub fn is_negative(&self) -> bool {
        self.mantissa < I256::ZERO
    }

    /// The number of significant digits in its printed form, those after the point included.
    pub fn digits(&self) -> u32 {
        let mut rest = self.round(self.shown).mantissa.unsigned_abs();
        let mut n = 0;
        while rest != ethnum::U256::ZERO {
            rest /= 10;
            n += 1;
        }
        n
    }

    /// Rounded half away from zero to `scale` digits after the point (filled with zeros if it has
    /// fewer). A number too large to be widened keeps fewer digits.
    pub fn round(&self, scale: u8) -> Self {
        match scale.cmp(&self.scale) {
            Ordering::Equal => Self::new(self.mantissa, scale),
            Ordering::Less => {
                Self::new(divide_rounding(self.mantissa, pow10(u32::from(self.scale - scale))), scale)
            }
            Ordering::Greater => match self.mantissa.checked_mul(pow10(u32::from(scale - self.scale))) {
                Some(mantissa) => Self::new(mantissa, scale),
                None => *self,
            },
        }
    }

    /// Cut, not rounded, to `scale` digits after the point.
    pub fn truncate(&self, scale: u8) -> Self {
        if scale >= self.scale {
            return self.round(scale);
        }
        Self::new(self.mantissa / pow10(u32::from(self.scale - scale)), scale)
    }

    /// Rounded to tens, hundreds, ... : `n` digits before the point become zero.
    pub fn round_tens(&self, n: u32, truncate: bool) -> Self {
        if n >= DIGITS_MAX {
            return Self::ZERO;
        }
        let whole = if truncate { self.truncate(0) } else { *self };
        let unit = pow10(n + u32::from(whole.scale).min(DIGITS_MAX - n));
        let units = if truncate { whole.mantissa / unit } else { divide_rounding(whole.mantissa, unit) };
        units.checked_mul(pow10(n)).map_or(Self::ZERO, |m| Self::new(m, 0))
    }

    /// The largest integer not above it.
    pub fn floor(&self) -> Self {
        let unit = pow10(u32::from(self.scale));
        Self::new(self.mantissa.div_euclid(unit), 0)
    }

    /// The smallest integer not below it.
    pub fn ceil(&self) -> Self {
        self.negate().floor().negate()
    }

    /// Its negative.
    pub fn negate(&self) -> Self {
        Self { mantissa: -self.mantissa, ..*self }
    }

    /// Brings two numbers to the same scale; the wider one loses digits where a mantissa would
    /// overflow.
    fn aligned(a: &Self, b: &Self) -> (I256, I256, u8) {
        let scale = a.scale.max(b.scale);
        let (wide_a, wide_b) = (a.round(scale), b.round(scale));
        if wide_a.scale == wide_b.scale {
            return (wide_a.mantissa, wide_b.mantissa, scale);
        }
        let scale = a.scale.min(b.scale);
        (a.round(scale).mantissa, b.round(scale).mantissa, scale)
    }

    fn shown_as(mut self, shown: u8) -> Self {
        self.shown = shown.min(self.scale);
        self
    }

    /// The sum; `None` beyond 65 digits.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let (a, b, scale) = Self::aligned(self, other);
        Self::new(a.checked_add(b)?, scale).shown_as(self.shown.max(other.shown)).checked()
    }

    /// The difference; `None` beyond 65 digits.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.negate())
    }

    /// The product, with at most 30 digits after the point; `None` beyond 65 digits before it.
    pub fn mul(&self, other: &Self) -> Option<Self> {
        let (mut a, mut b) = (*self, *other);
        let product = loop {
            if let Some(m) = a.mantissa.checked_mul(b.mantissa) {
                break m;
            }
            match (a.scale, b.scale) {
                (0, 0) => return None,
                (x, y) if x >= y => a = a.round(x - 1),
                (_, y) => b = b.round(y - 1),
            }
        };
        let shown = (self.shown + other.shown).min(SCALE_MAX);
        let product = Self::new(product, a.scale + b.scale);
        // The fraction gives way to the digits before the point.
        let whole = product.digits().saturating_sub(product.scale.into());
        let room = u32::from(PRECISION_MAX).saturating_sub(whole) as u8;
        let kept = product.scale.min(SCALE_MAX + 9).min(room);
        product.round(kept).shown_as(shown).checked()
    }

    /// The quotient, `increment` digits more after the point than the dividend shows; `None` if
    /// the divisor is 0 or the result is beyond 65 digits.
    pub fn div(&self, other: &Self, increment: u8) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let words = |digits: u8| digits.div_ceil(9) * 9;
        let (a, b) = (words(self.scale), words(other.scale));
        let increment = increment.saturating_sub(a - self.scale + b - other.scale);
        let mut scale = words((a + b + increment).min(2 * SCALE_MAX));
        let shown = self.shown.saturating_add(increment).min(SCALE_MAX);
        loop {
            // self / other at `scale` digits: widen the dividend by scale + other.scale -
            // self.scale digits.
            let widen = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
            let dividend = match u32::try_from(widen) {
                Ok(n) if n <= DIGITS_MAX => self.mantissa.checked_mul(pow10(n)),
                Ok(_) => None,
                Err(_) => Some(self.mantissa / pow10(widen.unsigned_abs())),
            };
            match dividend {
                Some(dividend) => {
                    return Self::new(dividend / other.mantissa, scale).shown_as(shown).checked();
                }
                None if scale > 0 => scale -= 1,
                None => return None,
            }
        }
    }

    /// The remainder, with the dividend's sign; `None` if the divisor is 0.
    pub fn rem(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let (a, b, scale) = Self::aligned(self, other);
        if b == I256::ZERO {
            return None;
        }
        Some(Self::new(a % b, scale).shown_as(self.shown.max(other.shown)))
    }

    fn checked(self) -> Option<Self> {
        (self.digits() <= u32::from(PRECISION_MAX)).then_some(self)
    }

    /// The nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        if self.mantissa.unsigned_abs() < ethnum::U256::from(1_u64 << 53) && self.scale <= 22 {
            return self.mantissa.as_i64() as f64 / 10_f64.powi(i32::from(self.scale));
        }
        let text = format!("{}e-{}", self.mantissa, self.scale);
        text.parse().unwrap_or(f64::NAN)
    }

    /// Rounded to an integer; `None` if it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.round(0).mantissa).ok()
    }

    /// Rounded to an unsigned integer; `None` if it is negative or does not fit.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.round(0).mantissa).ok()
    }

    /// The decimal digits of the printed form.
    pub fn digits_shown(&self) -> Digits {
        let shown = self.round(self.shown);
        let scale = usize::from(shown.scale);
        let mut ascii = SmallVec::new();
        let mut rest = shown.mantissa.unsigned_abs();
        while rest > U256::from(u64::MAX) {
            let mut few = (rest % DIGITS_AT_ONCE).as_u64();
            for _ in 0..19 {
                ascii.push(b'0' + (few % 10) as u8);
                few /= 10;
            }
            rest /= DIGITS_AT_ONCE;
        }
        let mut rest = rest.as_u64();
        while rest > 0 || ascii.len() <= scale {
            ascii.push(b'0' + (rest % 10) as u8);
            rest /= 10;
        }
        ascii.reverse();
        Digits { is_negative: shown.is_negative(), point: ascii.len() - scale, ascii }
    }
}

/// The digits of a number as it is printed: at least one in front of the point.
#[derive(Debug)]
pub struct Digits {
    /// It is less than zero.
    pub is_negative: bool,
    ascii: SmallVec<[u8; DIGITS_MAX as usize + 1]>,
    point: usize,
}

impl Digits {
    /// Those in front of the point and those after it.
    pub fn parts(&self) -> (&str, &str) {
        let (integer, fraction) = self.ascii.split_at(self.point);
        let text = |digits| std::str::from_utf8(digits).unwrap_or_default();
        (text(integer), text(fraction))
    }
}

fn divide_rounding(dividend: I256, divisor: I256) -> I256 {
    let (quotient, remainder) = (dividend / divisor, dividend % divisor);
    // |remainder| * 2 may overflow; compare with the rest instead.
    if remainder.unsigned_abs() < divisor.unsigned_abs() - remainder.unsigned_abs() {
        quotient
    } else if dividend < I256::ZERO {
        quotient - 1
    } else {
        quotient + 1
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Self {
        Self::new(I256::from(v), 0)
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Self {
        Self::new(I256::from(v), 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        let whole = |d: &Self| d.truncate(0).mantissa;
        let fraction = |d: &Self| d.mantissa % pow10(u32::from(d.scale));
        let widened = |d: &Self, f: I256| f * pow10(60 - u32::from(d.scale).min(60));
        whole(self)
            .cmp(&whole(other))
            .then_with(|| widened(self, fraction(self)).cmp(&widened(other, fraction(other))))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits_shown();
        let (integer, fraction) = digits.parts();
        let sign = if digits.is_negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{integer}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(text: &str) -> Decimal {
        let (d, n) = Decimal::parse(text.as_bytes());
        assert_eq!(n, text.len(), "{text}");
        d
    }

    #[test]
    fn digits_are_those_of_the_whole_mantissa() {
        for text in
            ["18446744073709551615", "18446744073709551616", "10000000000000000000", "99999999999999999999"]
        {
            assert_eq!(d(text).to_string(), text);
        }
        let nines = "9".repeat(65);
        assert_eq!(d(&nines).to_string(), nines);
        assert_eq!(d("1000000000000000000000000000000000000000").to_string().len(), 40);
    }

    #[test]
    fn parsing_and_printing() {
        for text in ["0", "0.00", "-1.50", "123456789012345678901234567890.123456789012345678901234567890"] {
            assert_eq!(d(text).to_string(), text);
        }
        assert_eq!(d("1.5e3").to_string(), "1500");
        assert_eq!(d("15e-3").to_string(), "0.015");
        assert_eq!(d(".5").to_string(), "0.5");
        assert_eq!(d("-0.0").to_string(), "0.0");
        assert_eq!(Decimal::parse(b" 12abc").1, 3);
        assert_eq!(Decimal::parse(b"abc").1, 0);
        assert_eq!(d("1e500"), Decimal::largest(65, 0, false));
        assert_eq!(d("1e-500").to_string(), format!("0.{}", "0".repeat(30)));
        assert_eq!(Decimal::parse("9".repeat(5000).as_bytes()).0, Decimal::largest(65, 0, false));
    }

    #[test]
    fn arithmetic_as_mysql_shows_it() {
        let show = |d: Option<Decimal>| d.map(|d| d.to_string());
        assert_eq!(show(d("1").div(&d("3"), 4)).as_deref(), Some("0.3333"));
        assert_eq!(show(d("2").div(&d("3"), 4)).as_deref(), Some("0.6667"));
        assert_eq!(show(d("1").div(&d("3"), 4).and_then(|q| q.mul(&d("3")))).as_deref(), Some("1.0000"));
        assert_eq!(show(d("1.10").add(&d("2.205"))).as_deref(), Some("3.305"));
        assert_eq!(show(d("1.10").mul(&d("2.2"))).as_deref(), Some("2.420"));
        assert_eq!(show(d("-7.5").rem(&d("2"))).as_deref(), Some("-1.5"));
        assert_eq!(show(d("1").div(&d("0"), 4)), None);
        let huge = Decimal::largest(65, 0, false);
        assert_eq!(show(huge.add(&d("1"))), None);
        assert_eq!(show(huge.mul(&d("10"))), None);
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        assert_eq!(d("2.5").to_i64(), Some(3));
        assert_eq!(d("-2.5").to_i64(), Some(-3));
        assert_eq!(d("-0.5").round(0).to_string(), "-1");
        assert_eq!(d("1.005").round(2).to_string(), "1.01");
        assert_eq!(d("-1.5").floor().to_string(), "-2");
        assert_eq!(d("-1.5").ceil().to_string(), "-1");
        assert_eq!(d("1555.5").round_tens(2, false).to_string(), "1600");
        assert_eq!(d("1555.5").round_tens(2, true).to_string(), "1500");
        assert_eq!(d("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(d("18446744073709551616").to_u64(), None);
    }

    #[test]
    fn order_across_scales() {
        assert!(
            d("1.10") == d("1.1") && d("1.2") > d("1.19") && d("-1.2") < d("-1.19") && d("-0.5") < d("0")
        );
        assert!(Decimal::largest(65, 0, false) > d("0.000000000000000000000000000001"));
        assert_eq!(Decimal::from_f64(0.1).map(|d| d.to_string()).as_deref(), Some("0.1"));
        assert_eq!(d("123.456").to_f64(), 123.456);
    }
}
