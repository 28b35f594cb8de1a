//! Addresses of the Internet protocols as numbers, bytes and text.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("inet6_aton", (1, 1), address_type, inet6_aton),
    f("inet6_ntoa", (1, 1), super::text_of_at_most::<39>, inet6_ntoa),
    f("inet_aton", (1, 1), super::uint, inet_aton),
    f("inet_ntoa", (1, 1), super::text_of_at_most::<31>, inet_ntoa),
    f("is_ipv4", (1, 1), super::boolean, is_ipv4),
    f("is_ipv4_compat", (1, 1), super::boolean, is_ipv4_compat),
    f("is_ipv4_mapped", (1, 1), super::boolean, is_ipv4_mapped),
    f("is_ipv6", (1, 1), super::boolean, is_ipv6),
];

fn address_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Implicit, 16)
}

/// Warning 1411: this is no such value.
fn wrong(cx: &mut Context, value: &Datum<'_>, function: &str) {
    let text = value.to_bytes();
    let text = String::from_utf8_lossy(&text);
    let shown = if value.is_text() { format!("'{text}'") } else { text.into_owned() };
    cx.warn(error::WRONG_VALUE_FOR_TYPE.with(&[&"string", &shown, &function]));
}

/// Four numbers of one to three decimal digits: `010` is ten, where Rust's parser, and resolvers
/// that take it for octal, would say otherwise.
fn v4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split(|&b| b == b'.');
    for octet in &mut octets {
        let digits = parts.next().filter(|part| (1..=3).contains(&part.len()))?;
        *octet = decimal_octet(digits)?;
    }
    parts.next().is_none().then(|| octets.into())
}

/// The number of any count of decimal digits, up to 255: none are 0.
fn decimal_octet(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |number, &b| {
        let digit = b.is_ascii_digit().then(|| b - b'0')?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// An IPv4 address at the end is read as one alone is.
fn v6(text: &[u8]) -> Option<Ipv6Addr> {
    let text = std::str::from_utf8(text).ok()?;
    let Some(colon) = text.rfind(':').filter(|_| text.contains('.')) else { return text.parse().ok() };
    let [a, b, c, d] = v4(&text.as_bytes()[colon + 1..])?.octets();
    format!("{}:{a:02x}{b:02x}:{c:02x}{d:02x}", &text[..colon]).parse().ok()
}

/// `a.b.c.d` as a number; `a.b` and `a.b.c` leave out zeros in the middle, and so do two dots side
/// by side. A number stands at the end.
fn short_address(text: &[u8]) -> Option<u64> {
    if !text.last()?.is_ascii_digit() {
        return None;
    }
    let (mut number, mut count) = (0, 0);
    for part in text.split(|&b| b == b'.') {
        number = number << 8 | u64::from(decimal_octet(part)?);
        count += 1;
        if count > 4 {
            return None;
        }
    }
    Some(match count {
        3 => number >> 8 << 16 | number & 255,
        2 => number >> 8 << 24 | number & 255,
        _ => number,
    })
}

fn inet_aton<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let number = short_address(&value.to_bytes());
    if number.is_none() {
        wrong(cx, &value, "inet_aton");
    }
    Ok(number.map_or(Datum::Null, Datum::UInt))
}

fn inet_ntoa<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let number = cx.integer(&value)?;
    match u32::try_from(number) {
        Ok(number) => Ok(Datum::owned(Ipv4Addr::from_bits(number).to_string())),
        Err(_) => {
            cx.warn(error::WRONG_VALUE_FOR_TYPE.with(&[&"integer", &number, &"inet_ntoa"]));
            Ok(Datum::Null)
        }
    }
}

fn inet6_aton<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let text = value.to_bytes();
    if let Some(address) = v4(&text) {
        return Ok(Datum::owned(address.octets()));
    }
    if let Some(address) = v6(&text) {
        return Ok(Datum::owned(address.octets()));
    }
    wrong(cx, &value, "inet6_aton");
    Ok(Datum::Null)
}

/// The 16 or 4 bytes of a byte string; text is no address.
fn inet6_ntoa<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let ty = &call.arguments[0].ty;
    let bytes = value.to_bytes();
    if ty.family.is_text() && ty.collation == Collation::BINARY {
        if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
            return Ok(Datum::owned(Ipv4Addr::from(octets).to_string()));
        }
        if let Ok(octets) = <[u8; 16]>::try_from(&*bytes) {
            return Ok(Datum::owned(print_v6(Ipv6Addr::from(octets))));
        }
    }
    wrong(cx, &value, "inet6_ntoa");
    Ok(Datum::Null)
}

/// Also IPv4-compatible addresses show their last four bytes as such.
fn print_v6(address: Ipv6Addr) -> String {
    let octets = address.octets();
    let v4 = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    if octets[..12].iter().all(|&b| b == 0) && (octets[12] != 0 || octets[13] != 0) {
        return format!("::{v4}");
    }
    address.to_string()
}

fn is_ipv4<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::from_bool(v4(&not_null!(call.text(cx, 0))).is_some()))
}

fn is_ipv6<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::from_bool(v6(&not_null!(call.text(cx, 0))).is_some()))
}

fn has_prefix<'a>(cx: &mut Context, call: Call<'a>, prefix: [u8; 12]) -> Value<'a> {
    let is_bytes = call.arguments[0].ty.collation == Collation::BINARY;
    let Some(bytes) = call.text(cx, 0)? else { return Ok(Datum::Int(0)) };
    let rest = bytes.strip_prefix(&prefix).filter(|rest| is_bytes && rest.len() == 4);
    // `::` and `::1` are addresses of their own.
    let special = |rest: &[u8]| prefix == [0; 12] && matches!(rest, [0, 0, 0, 0 | 1]);
    Ok(Datum::from_bool(rest.is_some_and(|rest| !special(rest))))
}

fn is_ipv4_compat<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    has_prefix(cx, call, [0; 12])
}

fn is_ipv4_mapped<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    has_prefix(cx, call, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_parts_left_out() {
        for (text, number) in [
            ("10.0.5.9", Some(167_773_449)),
            ("127.1", Some(0x7f00_0001)),
            ("1.2.3", Some(0x0102_0003)),
            ("255", Some(255)),
            ("256.0.0.1", None),
            ("1..2", Some(0x0100_0002)),
            ("...1", Some(1)),
            ("....1", None),
            ("1.", None),
            ("0001.1.1.1", Some(0x0101_0101)),
            ("1.2.3.4.5", None),
            ("", None),
        ] {
            assert_eq!(short_address(text.as_bytes()), number, "{text}");
        }
    }

    #[test]
    fn octets_have_up_to_three_digits() {
        assert_eq!(v4(b"010.099.1.000"), Some(Ipv4Addr::new(10, 99, 1, 0)));
        for text in ["0001.1.1.1", "1.2.3.256", "1.2.3", "1.2.3.4.", "1..2.3", "+1.2.3.4", "1.2.3.4.5"] {
            assert_eq!(v4(text.as_bytes()), None, "{text}");
        }
        assert_eq!(v6(b"::ffff:001.2.3.4"), Some(Ipv4Addr::new(1, 2, 3, 4).to_ipv6_mapped()));
        for text in ["::0001.1.1.1", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", ":1.2.3.4"] {
            assert_eq!(v6(text.as_bytes()), None, "{text}");
        }
    }
}
