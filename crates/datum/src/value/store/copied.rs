//! What ALTER TABLE copies: a value of a column on its way into another column's type.
//!
//! Most values are as if they were inserted. Some go by way of a text or an integer, as MySQL
//! copies them; [`copied`] is that step, before the one that makes them fit.

use super::Target;
use crate::error::{self, Result};
use crate::types::DataType;
use crate::value::{Datum, number, text};

/// A value of a column of type `before` as it is on its way into `after`.
///
/// # Errors
/// 1292 in strict sessions for what is no integer, or none of 64 bits.
pub fn copied<'a>(
    value: Datum<'a>,
    before: &DataType,
    after: &DataType,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    use DataType as D;
    if value.is_null() {
        return Ok(value);
    }
    let value = match before {
        // With all digits after the point that the column has.
        D::Floating { digits: Some((_, decimals)), .. } if after.is_string() => {
            let mut out = Vec::new();
            text::write_fixed(value.to_f64().value, *decimals, &mut out);
            Datum::Bytes(out.into())
        }
        _ => value,
    };
    if before.is_zerofill() && after.is_string() {
        return Ok(Datum::Bytes(text::zero_filled(value.into_bytes(), before.display_length() as usize)));
    }
    match (before, after) {
        (D::Char { .. } | D::VarChar { .. }, D::Bit(_)) => integer_of_text(&value, to),
        (D::Lob { .. }, D::Bit(_)) => Ok(leading_integer(&value)),
        (D::Decimal { sign, .. }, D::Integer { .. } | D::Bit(_)) => {
            integer_of_decimal(value, !sign.unsigned, matches!(after, D::Bit(_)), to)
        }
        (D::Date | D::Time(_) | D::DateTime(_) | D::Timestamp(_), D::Bit(_)) => {
            Ok(wide_integer(value.to_integer().value))
        }
        (D::Floating { double, .. }, D::Integer { .. } | D::Bit(_) | D::Year) => {
            integer_of_double(value, *double, to)
        }
        (D::Char { .. } | D::VarChar { .. }, D::Decimal { .. }) => {
            decimal_of_text(&value, to)?;
            Ok(value)
        }
        (D::Lob { .. }, D::Decimal { .. }) => Ok(leading_number(value)),
        (D::Date | D::Time(_) | D::DateTime(_) | D::Timestamp(_), D::Year) => {
            Ok(wide_integer(value.to_integer().value))
        }
        (D::Year | D::Json, D::Date | D::Time(_) | D::DateTime(_) | D::Timestamp(_))
        // Numbers from 101 to 9999 and of five digits are dates, texts of them are not, or others.
        | (
            D::Integer { .. } | D::Decimal { .. } | D::Floating { .. },
            D::Date | D::DateTime(_) | D::Timestamp(_),
        )
        | (D::Floating { .. }, D::Char { .. } | D::VarChar { .. })
        // With a fraction it is the text of no member.
        | (D::Floating { .. } | D::Decimal { .. }, D::Enum { .. } | D::Set { .. }) => {
            Ok(Datum::Bytes(value.into_bytes()))
        }
        (D::Set { .. }, D::Enum { .. }) => Ok(Datum::Bytes(value.into_bytes())),
        (
            D::Integer { .. }
            | D::Decimal { .. }
            | D::Floating { .. }
            | D::Year
            | D::Date
            | D::Time(_)
            | D::DateTime(_)
            | D::Timestamp(_),
            D::Json,
        ) => Ok(Datum::Bytes(value.into_bytes())),
        _ => Ok(value),
    }
}

fn wide_integer<'a>(n: i128) -> Datum<'a> {
    match i64::try_from(n) {
        Ok(n) => Datum::Int(n),
        Err(_) => Datum::UInt(u64::try_from(n).unwrap_or(if n < 0 { 0 } else { u64::MAX })),
    }
}

/// The sign and digits that a text starts with, and how many bytes that is.
fn digits_of(text: &[u8]) -> (i128, usize) {
    let spaces = number::blanks(text);
    let sign = usize::from(matches!(text.get(spaces), Some(b'-' | b'+')));
    let digits = text[spaces + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = spaces + sign + digits;
    if digits == 0 { (0, 0) } else { (number::parse_integer(&text[..end]).value, end) }
}

fn leading_integer<'a>(value: &Datum<'_>) -> Datum<'a> {
    wide_integer(digits_of(&value.to_bytes()).0)
}

/// Digits and spaces, and nothing else.
fn integer_of_text<'a>(value: &Datum<'_>, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let text = value.to_bytes();
    let (n, read) = digits_of(&text);
    if read == 0 || !text[read..].trim_ascii_start().is_empty() {
        incorrect("INTEGER", &text, to)?;
    }
    Ok(wide_integer(n))
}

/// One of 64 bits with a sign, also on its way into BIGINT UNSIGNED, unless the column is UNSIGNED
/// itself.
fn integer_of_decimal<'a>(
    value: Datum<'a>,
    is_signed: bool,
    for_bits: bool,
    to: &mut Target<'_>,
) -> Result<Datum<'a>> {
    let n = value.to_integer().value;
    let most = if is_signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
    let kept = n.clamp(i64::MIN.into(), most);
    if kept != n {
        incorrect("DECIMAL", &value.to_bytes(), to)?;
    }
    Ok(if kept != n || for_bits { wide_integer(kept) } else { value })
}

/// One of 64 bits with a sign, also on its way into BIGINT UNSIGNED. Where a FLOAT is none, MySQL
/// copies what the processor makes of it, even in strict sessions: that is refused in all.
fn integer_of_double<'a>(value: Datum<'a>, is_double: bool, to: &mut Target<'_>) -> Result<Datum<'a>> {
    let number = value.to_f64().value;
    if (i64::MIN as f64..i64::MAX as f64).contains(&number) {
        return Ok(value);
    }
    if !is_double {
        return Err(error::TRUNCATED_WRONG_VALUE.with(&[&"INTEGER", &super::printable(&value.to_bytes())]));
    }
    incorrect("INTEGER", &value.to_bytes(), to)?;
    Ok(Datum::Int(if number < 0.0 { i64::MIN } else { i64::MAX }))
}

/// A text that goes on after its number; one that has none is refused by the column.
fn decimal_of_text(value: &Datum<'_>, to: &mut Target<'_>) -> Result<()> {
    let text = value.to_bytes();
    match number::scan(&text) {
        Some(found) if !text[found.len..].trim_ascii_start().is_empty() => incorrect("DECIMAL", &text, to),
        _ => Ok(()),
    }
}

/// The number that a text starts with, if it does.
fn leading_number(value: Datum<'_>) -> Datum<'_> {
    let text = value.to_bytes();
    match number::scan(&text) {
        Some(found) => Datum::owned(&text[..found.len]),
        None => value,
    }
}

fn incorrect(kind: &str, shown: &[u8], to: &mut Target<'_>) -> Result<()> {
    let shown = super::printable(shown);
    to.complain(error::TRUNCATED_WRONG_VALUE.with(&[&kind, &shown]), ())
}
