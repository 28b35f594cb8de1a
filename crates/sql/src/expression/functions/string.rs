//! Functions on text. Positions count characters, from 1; lengths of results are bounded by `max_allowed_packet`.

use std::borrow::Cow;

use super::{Call, Typing, not_null};
use crate::error::{self, Result};
use crate::expression::Expr;
use crate::session::Context;
use crate::types::{Charset, Coercibility, Collation, Family, Type};
use crate::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) fn binary_type(arguments: &[Expr], _: &Typing) -> Type {
    let length = arguments.first().map_or(0, |a| a.ty.length);
    Type::text(Collation::BINARY, Coercibility::Literal, length)
}

pub(super) fn repeat_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(&arguments[..1], typing);
    let count = arguments[1].as_constant().and_then(|n| u32::try_from(n.to_integer().value).ok());
    Type { length: ty.length.saturating_mul(count.unwrap_or(u32::MAX)), ..ty }
}

/// All texts, and the separator between them.
pub(super) fn concat_ws_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::text_of(arguments, typing, |lengths| {
        let texts: u64 = lengths[1..].iter().map(|&l| u64::from(l)).sum();
        texts + u64::from(lengths[0]) * (lengths.len() as u64).saturating_sub(2)
    })
}

/// As long as LPAD() and RPAD() are asked for.
pub(super) fn pad_type(arguments: &[Expr], typing: &Typing) -> Type {
    let wanted = constant_length(&arguments[1]);
    super::text_of(arguments, typing, |_| wanted.into())
}

/// As if everything were replaced.
pub(super) fn replace_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::text_of(arguments, typing, |lengths| match lengths {
        [text, from, to] if to > from => u64::from(*text) / u64::from(*from).max(1) * u64::from(*to),
        _ => u64::from(lengths[0]),
    })
}

pub(super) fn space_type(arguments: &[Expr], typing: &Typing) -> Type {
    Type { length: constant_length(&arguments[0]), ..super::connection_text(arguments, typing) }
}

/// A constant number of characters; the most there can be where it is not known.
fn constant_length(argument: &Expr) -> u32 {
    match argument.as_constant() {
        Some(Datum::Null) => 0,
        Some(n) => n.to_integer().value.clamp(0, u32::MAX.into()) as u32,
        None => u32::MAX,
    }
}

/// True if a result of `len` bytes is too long, which makes it NULL with warning 1301.
pub(super) fn too_long(cx: &mut Context, name: &str, len: usize) -> bool {
    let max = cx.max_allowed_packet();
    if len > max {
        cx.warn(error::WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&name, &max]));
    }
    len > max
}

/// Memory for `len` bytes more, whose number a client chose: error 1041 where there is none, for this statement alone.
pub(crate) fn reserve(out: &mut Vec<u8>, len: usize) -> Result<()> {
    out.try_reserve(len).map_err(|_| error::OUT_OF_RESOURCES.plain())
}

/// `text` so many times.
fn repeated(text: &[u8], count: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    reserve(&mut out, text.len().saturating_mul(count))?;
    match text {
        [byte] => out.resize(count, *byte),
        _ => (0..count).for_each(|_| out.extend_from_slice(text)),
    }
    Ok(out)
}

fn slice(text: Cow<'_, [u8]>, range: std::ops::Range<usize>) -> Datum<'_> {
    Datum::Bytes(match text {
        Cow::Borrowed(b) => Cow::Borrowed(&b[range]),
        Cow::Owned(b) => Cow::Owned(b[range].to_vec()),
    })
}

pub(super) fn ascii<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::Int(text.first().copied().unwrap_or(0).into()))
}

/// The first character's bytes as one number.
pub(super) fn ord<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let end = call.charset(0).char_offset(&text, 1);
    Ok(Datum::Int(text[..end].iter().fold(0, |n, &b| n << 8 | i64::from(b))))
}

/// Each code is as many bytes as it needs; bytes that are no text of the result's set make it NULL.
pub(super) fn char<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut out = Vec::new();
    for i in 0..call.count() {
        let Some(code) = call.int(cx, i)? else { continue };
        let bytes = (code as u32).to_be_bytes();
        let zeros = bytes.iter().take_while(|&&b| b == 0).count().min(3);
        out.extend_from_slice(&bytes[zeros..]);
    }
    let charset = call.ty.collation.charset();
    if charset.valid_prefix(&out) < out.len() {
        let shown: String = out.iter().take(6).map(|b| format!("{b:02X}")).collect();
        cx.warn(error::INVALID_CHARACTER_STRING.with(&[&charset.name(), &shown]));
        return Ok(Datum::Null);
    }
    Ok(Datum::owned(out))
}

/// What a text is compared by. A length cuts it; collations that pad get their spaces.
pub(super) fn weight_string<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let collation = call.arguments[0].ty.collation;
    let mut text = text.into_owned();
    if call.count() > 1 {
        let count = usize::try_from(not_null!(call.int(cx, 1))).unwrap_or(usize::MAX);
        if too_long(cx, "weight_string", count) {
            return Ok(Datum::Null);
        }
        let charset = collation.charset();
        text.truncate(charset.char_offset(&text, count));
        let missing = count - charset.char_count(&text);
        if let Some(padding) = collation.padding() {
            text.extend(std::iter::repeat_n(padding, missing));
        }
    }
    let mut weights = Vec::new();
    collation.weight_string(&text, &mut weights);
    Ok(if too_long(cx, "weight_string", weights.len()) { Datum::Null } else { Datum::owned(weights) })
}

pub(super) fn length<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(call.text(cx, 0)).len() as i64))
}

pub(super) fn bit_length<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(not_null!(call.text(cx, 0)).len() as i64 * 8))
}

pub(super) fn char_length<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::Int(call.charset(0).char_count(&text) as i64))
}

pub(super) fn concat<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut out = Vec::new();
    for i in 0..call.count() {
        let text = not_null!(call.text(cx, i));
        if too_long(cx, "concat", out.len() + text.len()) {
            return Ok(Datum::Null);
        }
        reserve(&mut out, text.len())?;
        out.extend_from_slice(&text);
    }
    Ok(Datum::owned(out))
}

pub(super) fn concat_ws<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let separator = not_null!(call.text(cx, 0));
    let mut out = Vec::new();
    let mut first = true;
    for i in 1..call.count() {
        let Some(text) = call.text(cx, i)? else { continue };
        let between = if std::mem::take(&mut first) { &[][..] } else { &separator };
        let len = between.len() + text.len();
        if too_long(cx, "concat_ws", out.len() + len) {
            return Ok(Datum::Null);
        }
        reserve(&mut out, len)?;
        out.extend_from_slice(between);
        out.extend_from_slice(&text);
    }
    Ok(Datum::owned(out))
}

pub(super) fn elt<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let n = not_null!(call.int(cx, 0));
    match usize::try_from(n) {
        Ok(n) if (1..call.count()).contains(&n) => Ok(Datum::Bytes(not_null!(call.text(cx, n)))),
        _ => Ok(Datum::Null),
    }
}

pub(super) fn field<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Int(0));
    }
    for i in 1..call.count() {
        let (a, b) = (&call.arguments[0].ty, &call.arguments[i].ty);
        let by = crate::expression::compare::choose(a, b, a.collation);
        let candidate = call.value(cx, i)?;
        if by.compare(cx, &value, &candidate)?.is_some_and(|o| o.is_eq()) {
            return Ok(Datum::Int(i as i64));
        }
    }
    Ok(Datum::Int(0))
}

pub(super) fn find_in_set<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let list = not_null!(call.text(cx, 1));
    if list.is_empty() {
        return Ok(Datum::Int(0));
    }
    let collation = call.arguments[0].ty.collation;
    // Spaces at the end count here, whatever the collation pads with.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|&&b| b == b' ').count();
    let wanted = spaces(&text);
    for (i, word) in list.split(|&b| b == b',').enumerate() {
        if spaces(word) == wanted && collation.compare(&text, word).is_eq() {
            return Ok(Datum::Int(i as i64 + 1));
        }
    }
    Ok(Datum::Int(0))
}

pub(super) fn hex<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    match value {
        Datum::Null => Ok(Datum::Null),
        // A BIT column is a number, a literal of bits is bytes.
        Datum::Bytes(_)
        | Datum::Bits(_)
        | Datum::Label(..)
        | Datum::Json(_)
        | Datum::Date(_)
        | Datum::Time(_)
        | Datum::DateTime(_)
            if call.arguments[0].ty.family != Family::Bit =>
        {
            let text = value.into_bytes();
            if too_long(cx, "hex", text.len() * 2) {
                return Ok(Datum::Null);
            }
            let digit = |n: u8| b"0123456789ABCDEF"[usize::from(n)];
            Ok(Datum::owned(text.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect::<Vec<_>>()))
        }
        number => {
            let n = crate::expression::arithmetic::to_bits(cx, &number)?;
            Ok(Datum::owned(format!("{n:X}")))
        }
    }
}

pub(super) fn unhex<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let digits: Option<Vec<u8>> = text.iter().map(|&b| char::from(b).to_digit(16).map(|d| d as u8)).collect();
    let Some(mut digits) = digits else { return Ok(Datum::Null) };
    if digits.len() % 2 == 1 {
        digits.insert(0, 0);
    }
    Ok(Datum::owned(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<_>>()))
}

pub(super) fn insert<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let at = not_null!(call.int(cx, 1));
    let count = not_null!(call.int(cx, 2));
    let new = not_null!(call.text(cx, 3));
    let charset = call.charset(0);
    let chars = charset.char_count(&text) as i64;
    if at < 1 || at > chars {
        return Ok(Datum::Bytes(text));
    }
    let count = if count < 0 { chars } else { count.min(chars) };
    let start = charset.char_offset(&text, at as usize - 1);
    let end = charset.char_offset(&text, (at - 1 + count) as usize);
    let out = [&text[..start], &new, &text[end..]].concat();
    Ok(if too_long(cx, "insert", out.len()) { Datum::Null } else { Datum::owned(out) })
}

/// The position of `needle` in `text` from the character `from` (0-based); 0 if it isn't there.
fn find(charset: Charset, collation: Collation, text: &[u8], needle: &[u8], from: usize) -> i64 {
    if from > charset.char_count(text) {
        return 0;
    }
    let found = collation.find(text, needle, charset.char_offset(text, from));
    found.map_or(0, |at| charset.char_count(&text[..at]) as i64 + 1)
}

pub(super) fn instr<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let needle = not_null!(call.text(cx, 1));
    Ok(Datum::Int(find(call.charset(0), call.arguments[0].ty.collation, &text, &needle, 0)))
}

pub(super) fn locate<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let needle = not_null!(call.text(cx, 0));
    let text = not_null!(call.text(cx, 1));
    let from = if call.count() > 2 { not_null!(call.int(cx, 2)) } else { 1 };
    if from < 1 {
        return Ok(Datum::Int(0));
    }
    let collation = call.arguments[1].ty.collation;
    Ok(Datum::Int(find(call.charset(1), collation, &text, &needle, from as usize - 1)))
}

pub(super) fn left<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let n = not_null!(call.int(cx, 1)).max(0) as usize;
    let end = call.charset(0).char_offset(&text, n);
    Ok(slice(text, 0..end))
}

pub(super) fn right<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let n = not_null!(call.int(cx, 1)).max(0) as usize;
    let charset = call.charset(0);
    let start = charset.char_offset(&text, charset.char_count(&text).saturating_sub(n));
    let end = text.len();
    Ok(slice(text, start..end))
}

pub(super) fn substr<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let at = not_null!(call.int(cx, 1));
    let count = if call.count() > 2 { not_null!(call.int(cx, 2)) } else { i64::MAX };
    let charset = call.charset(0);
    let chars = charset.char_count(&text) as i64;
    let start = match at {
        0 => return Ok(Datum::borrowed(b"")),
        1.. => at - 1,
        _ => chars.saturating_add(at),
    };
    if start < 0 || start >= chars || count <= 0 {
        return Ok(Datum::borrowed(b""));
    }
    let from = charset.char_offset(&text, start as usize);
    let to = charset.char_offset(&text, start.saturating_add(count) as usize);
    Ok(slice(text, from..to))
}

pub(super) fn substring_index<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    // What is wrong with the count is an error beside a delimiter of NULL too.
    let (delimiter, count) = (call.text(cx, 1)?, call.int(cx, 2)?);
    let (Some(delimiter), Some(count)) = (delimiter, count) else { return Ok(Datum::Null) };
    if count == 0 || delimiter.is_empty() {
        return Ok(Datum::borrowed(b""));
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(i) = text[at..].windows(delimiter.len()).position(|w| w == &*delimiter) {
        found.push(at + i);
        at += i + delimiter.len();
    }
    let n = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let range = if count > 0 {
        0..found.get(n - 1).copied().unwrap_or(text.len())
    } else {
        let start = found.len().checked_sub(n).map_or(0, |i| found[i] + delimiter.len());
        start..text.len()
    };
    Ok(slice(text, range))
}

pub(super) fn lower<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::Bytes(call.text_collation(0).change_case(text, false)))
}

pub(super) fn upper<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::Bytes(call.text_collation(0).change_case(text, true)))
}

fn pad<'a>(cx: &mut Context, call: Call<'a>, name: &str, at_left: bool) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let length = not_null!(call.int(cx, 1));
    let filling = not_null!(call.text(cx, 2));
    let charset = call.ty.collation.charset();
    let Ok(length) = usize::try_from(length) else { return Ok(Datum::Null) };
    let chars = charset.char_count(&text);
    if chars >= length {
        let end = charset.char_offset(&text, length);
        return Ok(slice(text, 0..end));
    }
    if filling.is_empty() {
        return Ok(Datum::Bytes(text));
    }
    if too_long(cx, name, length) {
        return Ok(Datum::Null);
    }
    let (missing, unit) = (length - chars, charset.char_count(&filling).max(1));
    let (whole, part) = (missing / unit, &filling[..charset.char_offset(&filling, missing % unit)]);
    let mut out = Vec::new();
    reserve(&mut out, filling.len().saturating_mul(whole).saturating_add(part.len() + text.len()))?;
    if !at_left {
        out.extend_from_slice(&text);
    }
    (0..whole).for_each(|_| out.extend_from_slice(&filling));
    out.extend_from_slice(part);
    if at_left {
        out.extend_from_slice(&text);
    }
    Ok(Datum::owned(out))
}

pub(super) fn lpad<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pad(cx, call, "lpad", true)
}

pub(super) fn rpad<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pad(cx, call, "rpad", false)
}

pub(super) fn ltrim<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let start = text.iter().take_while(|&&b| b == b' ').count();
    let end = text.len();
    Ok(slice(text, start..end))
}

pub(super) fn rtrim<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let end = text.iter().rposition(|&b| b != b' ').map_or(0, |i| i + 1);
    Ok(slice(text, 0..end))
}

pub(super) fn quote<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let Some(text) = call.text(cx, 0)? else { return Ok(Datum::borrowed(b"NULL")) };
    let mut out = vec![b'\''];
    for &b in text.iter() {
        match b {
            0 => out.extend_from_slice(b"\\0"),
            0x1a => out.extend_from_slice(b"\\Z"),
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
            b => out.push(b),
        }
    }
    out.push(b'\'');
    Ok(Datum::owned(out))
}

pub(super) fn repeat<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let count = not_null!(call.int(cx, 1));
    let Some(count) = usize::try_from(count).ok().filter(|&n| n > 0 && !text.is_empty()) else {
        return Ok(Datum::borrowed(b""));
    };
    if too_long(cx, "repeat", text.len().saturating_mul(count)) {
        return Ok(Datum::Null);
    }
    Ok(Datum::owned(repeated(&text, count)?))
}

pub(super) fn space<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let count = not_null!(call.int(cx, 0)).max(0) as usize;
    if too_long(cx, "space", count) {
        return Ok(Datum::Null);
    }
    Ok(Datum::owned(repeated(b" ", count)?))
}

pub(super) fn replace<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let from = not_null!(call.text(cx, 1));
    let to = not_null!(call.text(cx, 2));
    if from.is_empty() {
        return Ok(Datum::Bytes(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(&from) {
            out.extend_from_slice(&to);
            at += from.len();
            if too_long(cx, "replace", out.len()) {
                return Ok(Datum::Null);
            }
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    Ok(Datum::owned(out))
}

pub(super) fn reverse<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let charset = call.charset(0);
    let mut out = Vec::with_capacity(text.len());
    let mut end = text.len();
    while end > 0 {
        let mut start = end - 1;
        if matches!(charset, Charset::Utf8mb3 | Charset::Utf8mb4) {
            while start > 0 && text[start] & 0xc0 == 0x80 {
                start -= 1;
            }
        }
        out.extend_from_slice(&text[start..end]);
        end = start;
    }
    Ok(Datum::owned(out))
}

pub(super) fn strcmp<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let a = not_null!(call.text(cx, 0));
    let b = not_null!(call.text(cx, 1));
    let collation = call.arguments[0].ty.collation;
    Ok(Datum::Int(collation.compare(&a, &b) as i64))
}
