//! Numbers and BIT: what fits into such a column.

use super::{Decimal, Target};
use crate::error::{self, Result};
use crate::value::{Datum, bits_to_u64, number};
use syntax::ast::IntegerSize;

/// The range of an integer type.
pub fn integer_range(size: IntegerSize, unsigned: bool) -> (i128, i128) {
    let bits = match size {
        IntegerSize::Tiny => 8,
        IntegerSize::Small => 16,
        IntegerSize::Medium => 24,
        IntegerSize::Int => 32,
        IntegerSize::Big => 64,
    };
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

pub(super) fn integer<'a>(
    v: &Datum<'_>,
    size: IntegerSize,
    unsigned: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let converted = v.to_integer();
    let (low, high) = integer_range(size, unsigned);
    let value = match converted.value {
        n if n < low => to.out_of_range(low)?,
        n if n > high => to.out_of_range(high)?,
        _ if unsigned && is_negative_fraction(v) => to.out_of_range(0)?,
        n => {
            if !converted.whole {
                to.bad_integer(v)?;
            }
            n
        }
    };
    // Within the range of the column's type by now.
    Ok(if unsigned { Datum::UInt(value as u64) } else { Datum::Int(value as i64) })
}

/// True for an exact number below zero, which is out of an unsigned column's range even where it
/// rounds to zero.
pub(super) fn is_negative_fraction(v: &Datum<'_>) -> bool {
    matches!(v, Datum::Decimal(d) if d.is_negative())
}

pub(super) fn decimal<'a>(
    v: &Datum<'_>,
    precision: u8,
    scale: u8,
    unsigned: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    if let Datum::Double(n) = v
        && Decimal::from_f64(*n).is_none()
    {
        return to.out_of_range(Datum::Decimal(Decimal::largest(precision, scale, *n < 0.0 && !unsigned)));
    }
    let converted = v.to_decimal();
    if !converted.whole {
        match number::scan(&v.to_bytes()) {
            Some(_) if !to.rules.strict => to.note_truncated(),
            _ => to.bad_number("decimal", v)?,
        }
    }
    if unsigned && converted.value.is_negative() {
        return to.out_of_range(Datum::Decimal(Decimal::ZERO.round(scale)));
    }
    let rounded = converted.value.round(scale);
    if rounded.digits() > u32::from(precision) || rounded.shown() != scale {
        let limit = Decimal::largest(precision, scale, converted.value.is_negative() && !unsigned);
        return to.out_of_range(Datum::Decimal(limit));
    }
    if rounded != converted.value {
        to.note_truncated();
    }
    Ok(Datum::Decimal(rounded))
}

pub(super) fn floating<'a>(
    v: &Datum<'_>,
    double: bool,
    digits: Option<(u8, u8)>,
    unsigned: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let converted = v.to_f64();
    // Spaces are zero to an expression, but not to a column.
    let blank = matches!(v, Datum::Bytes(text) if text.trim_ascii().is_empty());
    if blank || !converted.whole {
        to.bad_number(if double { "DOUBLE" } else { "FLOAT" }, v)?;
    }
    let mut value = converted.value;
    if double && value.abs() == f64::MAX && number::overflows_f64(&v.to_bytes()) {
        value = to.out_of_range(value)?;
    }
    if unsigned && value < 0.0 {
        value = to.out_of_range(0.0)?;
    }
    if let Some((m, d)) = digits {
        let unit = 10_f64.powi(d.into());
        value = rounded(value, unit);
        let limit = 10_f64.powi(i32::from(m) - i32::from(d)) - 1.0 / unit;
        if value.abs() > limit {
            value = to.out_of_range(limit.copysign(value))?;
        }
    }
    if double {
        return Ok(Datum::Double(value));
    }
    if value.abs() > f64::from(f32::MAX) {
        value = to.out_of_range(f64::from(f32::MAX).copysign(value))?;
    }
    Ok(Datum::Float(value as f32))
}

/// Rounded to multiples of 1 / `unit`. What is before the point stays as it is: a large number that
/// was multiplied would be another one.
fn rounded(value: f64, unit: f64) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let whole = value.floor();
    whole + ((value - whole) * unit).round_ties_even() / unit
}

pub(super) fn bit<'a>(v: &Datum<'_>, width: u8, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let max = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let value = match v {
        Datum::Bytes(b) | Datum::Bits(b) => {
            let digits = &b[b.iter().take_while(|&&b| b == 0).count()..];
            if digits.len() > 8 { None } else { Some(bits_to_u64(digits)) }
        }
        // Their texts.
        Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => {
            return bit(&Datum::Bytes(v.to_bytes()), width, to);
        }
        Datum::Decimal(d) if d.is_negative() => return to.out_of_range(Datum::UInt(0)),
        // Cut to an integer, or to the ends of its range.
        Datum::Double(n) => Some(*n as i64 as u64),
        Datum::Float(n) => Some(*n as i64 as u64),
        other => {
            let n = other.to_integer().value;
            // Negative numbers are their two's complement.
            i64::try_from(n).map(|n| n as u64).or_else(|_| u64::try_from(n)).ok()
        }
    };
    match value.filter(|&n| n <= max) {
        Some(n) => Ok(Datum::UInt(n)),
        None if to.rules.strict => Err(error::DATA_TOO_LONG.with(&[&to.column, &to.row])),
        None => to.out_of_range(Datum::UInt(max)),
    }
}

/// A double or float on its way into a text column of so many characters: with as many digits as
/// there is room for.
pub(super) fn in_width(value: Datum<'_>, width: usize) -> Datum<'_> {
    match value {
        Datum::Double(number) if value.to_bytes().len() > width => Datum::owned(shortened(number, width)),
        // The digits that it is written with, not those that a double of it would have.
        Datum::Float(number) if value.to_bytes().len() > width => {
            let written = String::from_utf8_lossy(&value.to_bytes()).parse().unwrap_or(f64::from(number));
            Datum::owned(shortened(written, width))
        }
        other => other,
    }
}

fn shortened(number: f64, width: usize) -> String {
    let with_exponent = |digits: usize| {
        let text = format!("{:.*e}", digits - 1, number);
        match text.split_once('e') {
            Some((digits, exponent)) => format!("{}e{exponent}", without_zeros(digits)),
            None => text,
        }
    };
    let plain = |digits: usize| {
        let before =
            with_exponent(digits).split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
        let decimals = usize::try_from(digits as i32 - 1 - before).ok()?;
        Some(without_zeros(&format!("{number:.decimals$}")).to_owned())
    };
    let in_form = |digits| {
        let fits = |text: &String| text.len() <= width;
        plain(digits).filter(fits).or_else(|| Some(with_exponent(digits)).filter(fits))
    };
    // What is less than one rounds to zero where there is room for a point, but not what is less
    // than a thousandth.
    let has_point = width > 1 + usize::from(number < 0.0);
    let is_small = number.abs() < 1.0;
    let none = || match is_small {
        true if has_point && number.abs() >= 0.001 => Some("0".to_owned()),
        true => Some(number.to_string()),
        false => None,
    };
    // Not one digit of it fits: the shortest form is cut, and that is reported.
    (1..=17).rev().find_map(in_form).or_else(none).unwrap_or_else(|| with_exponent(1))
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_stay_what_they_are_when_they_are_rounded() {
        assert_eq!(rounded(-9_107_028_356_925_881_720.0, 1e10), -9_107_028_356_925_881_720.0);
        assert_eq!(rounded(802_790_357_866_308.044_51, 1e5), 802_790_357_866_308.0);
        assert_eq!([2.55, -2.55, 0.125].map(|value| rounded(value, 100.0)), [2.55, -2.55, 0.12]);
        assert_eq!(rounded(1e300, 1e5), 1e300);
        assert!(rounded(f64::INFINITY, 10.0).is_infinite());
    }

    #[test]
    fn doubles_are_shortened_to_fit() {
        for (number, width, expected) in [
            (63.25, 4, "63.2"),
            (1_234_567.5, 6, "1.23e6"),
            (0.1 / 3.0, 6, "0.0333"),
            (-12345.678, 6, "-12346"),
            (1e10, 3, "1e10"),
            (0.5, 2, "0"),
            (0.5, 1, "0.5"),
            (0.0005, 3, "0.0005"),
            (48.0, 1, "5e1"),
            (-148.0, 3, "-1e2"),
            (9.6, 1, "1e1"),
        ] {
            assert_eq!(shortened(number, width), expected, "{number} in {width}");
        }
    }
}
