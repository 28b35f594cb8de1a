//! Numbers and BIT: what fits into such a column.

use super::{Decimal, Target};
use crate::ast::IntegerSize;
use crate::error::{self, Result};
use crate::value::{Datum, bits_to_u64, number};

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

/// True for an exact number below zero, which is out of an unsigned column's range even where it rounds to zero.
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
        let scaled = (value * unit).round_ties_even() / unit;
        value = if scaled.is_finite() { scaled } else { value };
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
