//! Texts that stand for other texts: base 64, SOUNDEX, and LOAD_FILE, which finds none.

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::error::Result;
use datum::types::{Charset, Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("from_base64", (1, 1), from_base64_type, from_base64),
    f("load_file", (1, 1), load_file_type, load_file),
    f("soundex", (1, 1), soundex_type, soundex),
    f("to_base64", (1, 1), to_base64_type, to_base64),
];

/// A line of base 64 has so many characters.
const LINE: usize = 76;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn bytes_of(argument: &Expr) -> u32 {
    let ty = &argument.ty;
    let width = if ty.family.is_text() { ty.collation.charset().char_len_max() } else { 1 };
    ty.length.saturating_mul(width)
}

fn to_base64_type(arguments: &[Expr], typing: &Typing) -> Type {
    let digits = u64::from(bytes_of(&arguments[0])).div_ceil(3) * 4;
    let length = digits + digits.saturating_sub(1) / LINE as u64;
    let width = u64::from(typing.connection.charset().char_len_max());
    Type::text(typing.connection, Coercibility::Literal, length.min(super::MADE_BYTES_MAX / width) as u32)
}

fn from_base64_type(arguments: &[Expr], _: &Typing) -> Type {
    let bytes = u64::from(arguments[0].ty.value_bytes()) * 3 / 4;
    Type::text(Collation::BINARY, Coercibility::Literal, bytes.min(super::MADE_BYTES_MAX) as u32)
}

/// A file has any length.
fn load_file_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Literal, 16 * 1024 * 1024)
}

fn soundex_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(arguments, typing);
    Type { length: ty.length.max(4), ..ty }
}

fn to_base64<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let bytes = not_null!(call.text(cx, 0));
    let digits = bytes.len().div_ceil(3) * 4;
    if super::bounded::too_long(cx, "to_base64", digits + digits / LINE) {
        return Ok(Datum::Null);
    }
    Ok(Datum::owned(base64(&bytes)))
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4 * (LINE + 1) / LINE + 1);
    for (i, three) in bytes.chunks(3).enumerate() {
        if i > 0 && i % (LINE / 4) == 0 {
            out.push(b'\n');
        }
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let group = at(0) << 16 | at(1) << 8 | at(2);
        let digit =
            |i: usize| if i <= three.len() { DIGITS[(group >> (18 - 6 * i) & 63) as usize] } else { b'=' };
        out.extend_from_slice(&[digit(0), digit(1), digit(2), digit(3)]);
    }
    out
}

fn from_base64<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(read_base64(&text).map_or(Datum::Null, Datum::owned))
}

/// What base 64 text stands for; white space counts nowhere. `None` for anything else.
fn read_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut count, mut padding) = (0_u32, 0, 0);
    for &b in text.iter().filter(|b| !b.is_ascii_whitespace()) {
        let digit = match b {
            b'=' if count >= 2 => {
                padding += 1;
                0
            }
            _ if padding > 0 => return None,
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        group = group << 6 | u32::from(digit);
        count += 1;
        if count == 4 {
            out.extend_from_slice(&group.to_be_bytes()[1..4 - padding]);
            (group, count) = (0, 0);
            if padding > 0 {
                // Nothing may follow; a further character finds `padding` set.
                count = 4;
            }
        } else if count > 4 {
            return None;
        }
    }
    (count == 0 || count == 4 && padding > 0).then_some(out)
}

/// No file can be read: the server opens none for clients, which is what MySQL says by NULL.
fn load_file<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    call.value(cx, 0)?;
    Ok(Datum::Null)
}

fn soundex<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let charset = call.charset(0);
    let (text, _) = charset.convert(text, Charset::Utf8mb4);
    let sound = sound_of(&String::from_utf8_lossy(&text));
    Ok(Datum::Bytes(Charset::Utf8mb4.convert(sound.into_bytes().into(), charset).0))
}

/// MySQL takes everything from here on for a letter.
const FIRST_LETTER_BEYOND_ASCII: char = 'À';

/// The original Soundex, of any length: vowels are dropped before repetitions are.
fn sound_of(text: &str) -> String {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |c: char| match c.to_ascii_uppercase() {
        c @ 'A'..='Z' => CODES[c as usize - 'A' as usize],
        _ => b'0',
    };
    let mut letters = text.chars().filter(|c| c.is_alphabetic() || *c >= FIRST_LETTER_BEYOND_ASCII);
    let Some(first) = letters.next() else { return String::new() };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    let mut count = 1;
    for c in letters.map(code).filter(|&c| c != b'0') {
        if c != last {
            out.push(c.into());
            count += 1;
        }
        last = c;
    }
    out.extend(std::iter::repeat_n('0', 4_usize.saturating_sub(count)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_of_the_manual() {
        for (text, sound) in [
            ("Hello", "H400"),
            ("Quadratically", "Q36324"),
            ("", ""),
            ("é1b", "é100"),
            ("Ashcraft", "A2613"),
            ("Tymczak", "T520"),
        ] {
            assert_eq!(sound_of(text), sound, "{text}");
        }
    }

    #[test]
    fn base_64_both_ways() {
        assert_eq!(base64(b"abc"), b"YWJj");
        assert_eq!(read_base64(b"YWJj"), Some(b"abc".to_vec()));
        assert_eq!(read_base64(b" YW I=\n"), Some(b"ab".to_vec()));
        for wrong in ["Y", "YWJ", "=", "YW=I", "YWI=YWJj", "Y-Jj", "Y===", "YWI=="] {
            assert_eq!(read_base64(wrong.as_bytes()), None, "{wrong}");
        }
        for len in 0..300 {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let text = base64(&bytes);
            assert!(text.split(|&b| b == b'\n').all(|line| line.len() <= LINE));
            assert_eq!(read_base64(&text), Some(bytes));
        }
    }
}
