//! CAST(.. AS YEAR).
//!
//! 1. Text is read up to its first character that is no digit; more after the digits is warning
//!    1292, no digits at all 1525 and NULL. What follows goes by the number.
//! 2. Dates give their year, times that of today, everything else its integer, rounded.
//! 3. 1 to 69 are years from 2001, 70 to 99 those from 1970; 0 is the year 2000 as text, and the
//!    year 0 as a number. What is neither that nor a year from 1901 to 2155 is NULL with warning
//!    1292.

use super::super::arithmetic;
use crate::session::Context;
use datum::error::{self, Result};
use datum::value::Datum;

/// The year of a value that is not NULL. A strict session that changes data fails with 1292, not
/// with 1525, as in MySQL.
pub(super) fn cast(cx: &mut Context, value: &Datum<'_>) -> Result<Datum<'static>> {
    let (number, is_text) = match value {
        Datum::Year(year) => return Ok(shown(*year)),
        Datum::Bytes(text) => match leading_number(text) {
            Some((number, whole)) => {
                if !whole {
                    cx.truncated("YEAR", value)?;
                }
                (number, true)
            }
            None => {
                let text = String::from_utf8_lossy(text).into_owned();
                cx.warn(error::WRONG_VALUE.with(&[&"YEAR", &text]));
                return Ok(Datum::Null);
            }
        },
        Datum::Date(date) => (date.year.into(), false),
        Datum::DateTime(moment) => (moment.date.year.into(), false),
        Datum::Time(_) => (cx.today().year.into(), false),
        other => (arithmetic::to_bits(cx, other)? as i64, false),
    };
    Ok(match number {
        0 if is_text => shown(2000),
        0 => shown(0),
        1..=69 => shown(2000 + number as u16),
        70..=99 => shown(1900 + number as u16),
        1901..=2155 => shown(number as u16),
        _ => {
            cx.truncated("YEAR", &Datum::Int(number))?;
            Datum::Null
        }
    })
}

/// The year 0 of a cast is the one digit `0`; only a column of the type fills it with zeros.
fn shown(year: u16) -> Datum<'static> {
    match year {
        0 => Datum::UInt(0),
        year => Datum::Year(year),
    }
}

/// The digits that a text begins with, as 64 bits, and whether nothing follows; `None` without
/// digits, with a minus, or beyond 64 bits.
fn leading_number(text: &[u8]) -> Option<(i64, bool)> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse::<u64>().ok()?;
    // MySQL takes it for a signed one.
    Some((number as i64, digits == text.len()))
}
