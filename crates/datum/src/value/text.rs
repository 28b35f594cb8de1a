//! How values print: the text protocol's form, which is also what string functions see.

use std::borrow::Cow;
use std::io::Write;

use super::Datum;

/// Appends the text of a value; nothing for NULL.
pub fn write(datum: &Datum<'_>, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Int(v) => write_integer(v.unsigned_abs(), *v < 0, out),
        Datum::UInt(v) => write_integer(*v, false, out),
        Datum::Double(v) => write_f64(*v, out),
        Datum::Float(v) => write_f32(*v, out),
        Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) => out.extend_from_slice(b),
        // A damaged document ends where the damage is.
        Datum::Json(document) => super::json::write_text(document, out).unwrap_or_default(),
        Datum::Decimal(v) => print(out, v),
        Datum::Date(v) => print(out, v),
        Datum::Time(v) => print(out, v),
        Datum::DateTime(v) => print(out, v),
        Datum::Year(v) => print(out, format_args!("{v:04}")),
    }
}

fn print(out: &mut Vec<u8>, v: impl std::fmt::Display) {
    write!(out, "{v}").expect("writing to a Vec cannot fail");
}

fn write_integer(mut magnitude: u64, negative: bool, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (magnitude % 10) as u8;
        magnitude /= 10;
        if magnitude == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The shortest digits that read back as the same double; an exponent where the point would be more
/// than 15 digits away, and no digits behind it.
pub(crate) fn write_f64(v: f64, out: &mut Vec<u8>) {
    let text = format!("{v:e}");
    write_scientific(&even_at_a_tie(v, text), out);
}

/// Where two texts of the shortest length are equally near, MySQL's has the even digit at its end,
/// and Rust's may have the other one.
fn even_at_a_tie(v: f64, text: String) -> String {
    /// Shorter ones are never in the middle between two.
    const DIGITS: usize = 16;
    /// That so many zeros stand behind the 5 shows that nothing else does.
    const ZEROS: usize = 24;
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let is_odd = mantissa.ends_with(['1', '3', '5', '7', '9']);
    if digits < DIGITS || !is_odd {
        return text;
    }
    let exact = format!("{v:.places$e}", places = digits + ZEROS);
    let exact = exact.split_once('e').map_or("", |(mantissa, _)| mantissa);
    let Some((before, after)) = exact.split_at_checked(mantissa.len()) else { return text };
    let is_tie = after.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|b| b == b'0'));
    let even = format!("{before}e{exponent}");
    match is_tie && before.ends_with(['0', '2', '4', '6', '8']) && even.parse() == Ok(v) {
        true => even,
        false => text,
    }
}

/// A FLOAT has six significant digits.
pub(crate) fn write_f32(v: f32, out: &mut Vec<u8>) {
    write_scientific(&format!("{:.5e}", f64::from(v)), out);
}

/// A FLOAT as string functions and text columns see it, which have 12 characters for it: where it
/// is longer it has an exponent. Results show it in full.
pub(crate) fn write_f32_as_text(v: f32, out: &mut Vec<u8>) {
    const WIDTH: usize = 12;
    let start = out.len();
    write_f32(v, out);
    if out.len() - start > WIDTH {
        out.truncate(start);
        let text = format!("{:.5e}", f64::from(v));
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        print(out, format_args!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.')));
    }
}

/// A double with a fixed number of digits after the point, as DOUBLE(m, d) and ROUND(x, d) show
/// it.
pub fn write_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let (start, decimals) = (out.len(), usize::from(decimals));
    print(out, format_args!("{v}"));
    match out[start..].iter().rev().position(|&b| b == b'.') {
        Some(places) => {
            out.truncate(start);
            let told = places.min(decimals);
            // Of two texts that are equally near, it is the one with the even digit at its end.
            print(out, format_args!("{v:.told$}"));
            // What comes after the digits that say the number from others is zeros.
            out.resize(out.len() + decimals - told, b'0');
        }
        None if decimals > 0 && v.is_finite() => {
            out.push(b'.');
            out.resize(out.len() + decimals, b'0');
        }
        None => {}
    }
}

/// A number's digits with zeros before them, as ZEROFILL shows it.
pub fn zero_filled(digits: Cow<'_, [u8]>, width: usize) -> Cow<'_, [u8]> {
    if digits.len() >= width {
        return digits;
    }
    let mut padded = vec![b'0'; width - digits.len()];
    padded.extend_from_slice(&digits);
    Cow::Owned(padded)
}

/// Rewrites `d.ddde[-]x`.
fn write_scientific(text: &str, out: &mut Vec<u8>) {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return out.extend_from_slice(text.as_bytes());
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let mut digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    out.extend_from_slice(sign.as_bytes());
    let point = exponent + 1;
    match point {
        -14..=0 => print(out, format_args!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))),
        1..=15 if digits.len() <= point as usize => print(out, format_args!("{digits:0<0$}", point as usize)),
        // Digits behind the point keep the exponent away from one more place before it.
        1..=16 if digits.len() > point as usize => {
            print(out, format_args!("{}.{}", &digits[..point as usize], &digits[point as usize..]));
        }
        _ if digits == "0" => out.push(b'0'),
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            print(out, format_args!("{first}{point}{rest}e{exponent}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(datum: Datum<'_>) -> String {
        let mut out = Vec::new();
        write(&datum, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_as_mysql_prints_them() {
        for (v, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1.2345678901234568e17, "1.2345678901234568e17"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (123456.789, "123456.789"),
            (4_434_700_178_874_687.5, "4434700178874687.5"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (-0.000_000_000_009_570_200_097_620_742, "-0.000000000009570200097620742"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            // In the middle between two texts of 17 digits.
            (128.142_852_783_203_12, "128.14285278320312"),
        ] {
            assert_eq!(show(Datum::Double(v)), text);
        }
        assert_eq!(show(Datum::Float(3.151_592_7)), "3.15159");
        assert_eq!(show(Datum::Float(16_777_216.0)), "16777200");
        assert_eq!(show(Datum::Float(0.1)), "0.1");
        let show = |v| String::from_utf8(Datum::Float(v).into_bytes().into_owned()).unwrap();
        for (v, text) in [
            (20_231_231_000_000.0, "2.02312e13"),
            (1e12, "1e12"),
            (123_456_789_012.0, "123457000000"),
            (-123_456_789_012.0, "-1.23457e11"),
            (0.000_000_123_456_7, "1.23457e-7"),
            (1e14, "1e14"),
            (20_231_231.0, "20231200"),
        ] {
            assert_eq!(show(v), text);
        }
    }

    #[test]
    fn doubles_with_a_fixed_number_of_digits() {
        for (v, decimals, text) in [
            (1e14, 5, "100000000000000.00000"),
            (-1.5, 5, "-1.50000"),
            (2.5, 0, "2"),
            (9_999.999_023_437_5, 3, "9999.999"),
            (9_999.999_023_437_5, 5, "9999.99902"),
            (0.125, 2, "0.12"),
            // In the middle between two texts of 17 digits.
            (123_456_789_012_345.12, 5, "123456789012345.12000"),
        ] {
            let mut out = Vec::new();
            write_fixed(v, decimals, &mut out);
            assert_eq!(String::from_utf8(out).as_deref(), Ok(text));
        }
    }

    #[test]
    fn integers_at_their_ends() {
        assert_eq!(show(Datum::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(show(Datum::UInt(u64::MAX)), "18446744073709551615");
        assert_eq!(show(Datum::Int(0)), "0");
        assert_eq!(show(Datum::Year(7)), "0007");
    }
}
