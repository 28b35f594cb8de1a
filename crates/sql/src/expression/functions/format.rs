//! Numbers made readable: FORMAT, FORMAT_BYTES, FORMAT_PICO_TIME.

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::locale::{self, Locale};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Family, Type};
use datum::value::{Datum, text};

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("format", (2, 3), format_type, format),
    f("format_bytes", (1, 1), amount_type, format_bytes),
    f("format_pico_time", (1, 1), amount_type, format_pico_time),
];

/// FORMAT shows so many digits after the point at most.
const DECIMALS_MAX: i64 = 30;

/// An amount with its unit.
fn amount_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::Literal, 11)
}

fn format_type(arguments: &[Expr], typing: &Typing) -> Type {
    // A separator for each three digits, and what is after the point.
    let digits = arguments[0].ty.text_length();
    let length = digits.saturating_add(digits / 3).saturating_add(DECIMALS_MAX as u32 + 2);
    Type::text(typing.connection, Coercibility::Literal, length)
}

fn format<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    let decimals = not_null!(call.int(cx, 1)).clamp(0, DECIMALS_MAX) as u8;
    let locale = if call.count() > 2 { named(cx, call)? } else { locale::at(locale::ENGLISH) };
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let family = call.arguments[0].ty.family;
    let mut plain = Vec::new();
    if matches!(family, Family::Integer | Family::Decimal | Family::Bit | Family::Year) {
        let rounded = cx.decimal(&value)?.round(decimals);
        let digits = rounded.digits_shown();
        let (whole, fraction) = digits.parts();
        let negative = digits.is_negative;
        let sign = if negative { "-" } else { "" };
        let point = if decimals > 0 { "." } else { "" };
        let width = usize::from(decimals);
        plain.extend_from_slice(format!("{sign}{whole}{point}{fraction:0<width$}").as_bytes());
    } else {
        text::write_fixed(cx.double(&value)?, decimals, &mut plain);
    }
    Ok(Datum::owned(group(&plain, locale)))
}

fn named<'a>(cx: &mut Context, call: Call<'a>) -> Result<&'static Locale> {
    let name = call.text(cx, 2)?;
    if let Some(found) = name.as_ref().and_then(|name| locale::by_name(name)) {
        return Ok(found);
    }
    let shown = name.map_or("NULL".into(), |name| String::from_utf8_lossy(&name).into_owned());
    cx.warn(error::UNKNOWN_LOCALE.with(&[&shown]));
    Ok(locale::at(locale::ENGLISH))
}

/// Puts the separators between the digits of `-123456.78`.
fn group(plain: &[u8], locale: &Locale) -> Vec<u8> {
    let digits = usize::from(plain.first() == Some(&b'-'));
    let end = plain.iter().position(|&b| b == b'.').unwrap_or(plain.len());
    let mut out = plain[..digits].to_vec();
    for (i, &digit) in plain[digits..end].iter().enumerate() {
        let left = end - digits - i;
        let at_group = left % 3 == 0 && locale.group == 3
            || locale.group == 2 && (left == 3 || left > 3 && (left - 3) % 2 == 0);
        if i > 0 && at_group {
            out.extend_from_slice(locale.separator.as_bytes());
        }
        out.push(digit);
    }
    if end < plain.len() {
        out.extend_from_slice(locale.point.as_bytes());
        out.extend_from_slice(&plain[end + 1..]);
    }
    out
}

/// Two digits after the point, with the largest unit that the number reaches; whole numbers in the
/// smallest.
fn scaled<'a>(n: f64, units: &[(f64, &str)], smallest: &str, width: usize) -> Datum<'a> {
    let found = units.iter().find(|(size, _)| n.abs() >= *size);
    Datum::owned(match found {
        None => format!("{:>width$} {smallest}", n.trunc()),
        Some((size, name)) if n.abs() / size >= 100_000.0 => {
            format!("{} {name}", exponent(n / size))
        }
        Some((size, name)) => format!("{:.2} {name}", n / size),
    })
}

/// `1.85e+07`
fn exponent(n: f64) -> String {
    let text = format!("{n:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e+{exponent:0>2}")
}

/// A number of bytes, as FORMAT_BYTES() gives it.
pub(crate) fn bytes(n: f64) -> Datum<'static> {
    const KIB: f64 = 1024.0;
    const UNITS: [(f64, &str); 6] = [
        (KIB * KIB * KIB * KIB * KIB * KIB, "EiB"),
        (KIB * KIB * KIB * KIB * KIB, "PiB"),
        (KIB * KIB * KIB * KIB, "TiB"),
        (KIB * KIB * KIB, "GiB"),
        (KIB * KIB, "MiB"),
        (KIB, "KiB"),
    ];
    scaled(n, &UNITS, "bytes", 4)
}

fn format_bytes<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(bytes(not_null!(call.double(cx, 0))))
}

/// A time in picoseconds, as FORMAT_PICO_TIME() gives it.
pub(crate) fn pico_time(n: f64) -> Datum<'static> {
    const SECOND: f64 = 1e12;
    const UNITS: [(f64, &str); 7] = [
        (86_400.0 * SECOND, "d"),
        (3600.0 * SECOND, "h"),
        (60.0 * SECOND, "min"),
        (SECOND, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
    ];
    scaled(n, &UNITS, "ps", 3)
}

fn format_pico_time<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(pico_time(not_null!(call.double(cx, 0))))
}

/// Characters of a statement that `sys.format_statement()` leaves.
const STATEMENT_MAX: usize = 64;

/// A statement on one line, with its middle left out if it is long, as `sys.format_statement()`
/// gives it.
pub(crate) fn statement(text: &str) -> String {
    let count = text.chars().count();
    if count <= STATEMENT_MAX {
        return text.replace('\n', " ");
    }
    let each = STATEMENT_MAX / 2 - 2;
    let start = text.chars().take(each);
    let end = text.chars().skip(count - each);
    let all = start.chain(" ... ".chars()).chain(end);
    all.map(|c| if c == '\n' { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_by_locale() {
        let show = |n: &str, name: &str| {
            String::from_utf8(group(n.as_bytes(), locale::by_name(name.as_bytes()).unwrap())).unwrap()
        };
        assert_eq!(show("-123456789.5", "en_US"), "-123,456,789.5");
        assert_eq!(show("123456789.5", "ta_IN"), "12,34,56,789.5");
        assert_eq!(show("123", "ta_IN"), "123");
        assert_eq!(show("1234", "de_DE"), "1.234");
        assert_eq!(show("1234.50", "pt_PT"), "1234,50");
    }
}
