//! Functions on text. Positions count characters, from 1; lengths of results are bounded
//! ([`super::bounded`]).

use std::borrow::Cow;

use memchr::memmem;

use super::bounded::{Growing, too_long};
use super::{Call, Typing, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::bounds::{self, reserve};
use datum::error::{self, Result};
use datum::types::{Charset, Coercibility, Collation, Family, Type, code};
use datum::value::Datum;
use datum::value::temporal::{Date, SECOND};

type Value<'a> = Result<Datum<'a>>;

/// Two hexadecimal digits are a byte.
pub(super) fn unhex_type(arguments: &[Expr], _: &Typing) -> Type {
    let length = arguments[0].ty.value_bytes().div_ceil(2);
    Type::text(Collation::BINARY, Coercibility::Literal, length)
}

/// Two digits for each byte of a text, and sixteen for a number.
pub(super) fn hex_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = &arguments[0].ty;
    let length = if ty.family.is_numeric() { 16 } else { ty.byte_length().saturating_mul(2) };
    Type::text(typing.connection, Coercibility::Literal, length)
}

/// The longest of the texts to choose from.
pub(super) fn elt_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::text_of(&arguments[1..], typing, |lengths| lengths.iter().copied().max().unwrap_or(0).into())
}

/// A part of the first argument.
pub(super) fn part_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::like_first(&arguments[..1], typing)
}

/// LEFT and RIGHT: as many characters as are asked for.
pub(super) fn ends_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(&arguments[..1], typing);
    Type { length: known_count(&arguments[1]).map_or(ty.length, |n| ty.length.min(n)), ..ty }
}

/// SUBSTR: what is left after a position that is known, and as many characters of it as are asked
/// for.
pub(super) fn substr_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(&arguments[..1], typing);
    let mut length = ty.length;
    match arguments[1].as_constant().filter(|n| !n.is_null()).map(|n| n.to_integer().value) {
        Some(0) => length = 0,
        Some(start @ 1..) => {
            length = length.saturating_sub(u32::try_from(start - 1).unwrap_or(u32::MAX));
        }
        Some(start) => length = length.min(u32::try_from(-start).unwrap_or(u32::MAX)),
        None => {}
    }
    let is_nowhere = matches!(arguments[1].as_constant(), Some(Datum::Null));
    if let Some(n) = arguments.get(2).and_then(known_count).filter(|_| !is_nowhere) {
        length = length.min(n);
    }
    Type { length, ..ty }
}

/// A constant number of characters; less than none is none.
fn known_count(argument: &Expr) -> Option<u32> {
    let count = argument.as_constant().filter(|n| !n.is_null())?;
    Some(count.to_integer().value.clamp(0, u32::MAX.into()) as u32)
}

/// Results whose length is not known have so many characters.
const UNKNOWN_LENGTH: u32 = 16 * 1024 * 1024;

pub(super) fn repeat_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(&arguments[..1], typing);
    let Some(count) = known_count(&arguments[1]) else { return Type { length: UNKNOWN_LENGTH, ..ty } };
    let width = ty.collation.charset().char_len_max();
    Type { length: ty.length.saturating_mul(count).min(UNKNOWN_LENGTH / width), ..ty }
}

/// All texts, and the separator between them.
pub(super) fn concat_ws_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::made_text(arguments, typing, |lengths| {
        let texts: u64 = lengths[1..].iter().map(|&l| u64::from(l)).sum();
        texts + u64::from(lengths[0]) * (lengths.len() as u64).saturating_sub(2)
    })
}

/// As long as LPAD() and RPAD() are asked for.
pub(super) fn pad_type(arguments: &[Expr], typing: &Typing) -> Type {
    Type { length: constant_length(&arguments[1]), ..super::like_first(&arguments[..1], typing) }
}

/// INSERT(): the text, and what is put into it.
pub(super) fn insert_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::made_of_first(arguments, typing, |lengths| u64::from(lengths[0]) + u64::from(lengths[3]))
}

/// REPLACE(): so many times the text as what is put into it has characters but one, as MySQL
/// reckons.
pub(super) fn replace_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::made_of_first(arguments, typing, |lengths| {
        u64::from(lengths[0]) * u64::from(lengths[2].saturating_sub(1)).max(1)
    })
}

pub(super) fn space_type(arguments: &[Expr], typing: &Typing) -> Type {
    let length = match arguments[0].as_constant() {
        Some(Datum::Null) => 0,
        _ => constant_length(&arguments[0]),
    };
    Type { length, ..super::connection_text(arguments, typing) }
}

/// A constant number of characters; the most there can be where it is not known.
fn constant_length(argument: &Expr) -> u32 {
    match argument.as_constant() {
        Some(Datum::Null) | None => UNKNOWN_LENGTH,
        Some(n) => n.to_integer().value.clamp(0, UNKNOWN_LENGTH.into()) as u32,
    }
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

/// The bytes of WEIGHT_STRING(), as MySQL reckons them: a text's weights by its collation, eight
/// for most of what is none.
pub(in crate::expression) fn weight_length(operand: &Type) -> u32 {
    const BYTES_MIN: u32 = 8;
    let ty = operand;
    let length = match ty.family {
        family if family.is_temporal() => BYTES_MIN,
        Family::Text | Family::Label => {
            let weights = match (ty.collation.name(), ty.collation.charset()) {
                (_, Charset::Binary | Charset::Latin1 | Charset::Ascii) => 1,
                ("utf8mb4_0900_bin", _) => 16,
                (name, Charset::Utf8mb4) if name.ends_with("_general_ci") => 8,
                (name, Charset::Utf8mb4) if name.ends_with("_bin") => 12,
                (name, _) if name.ends_with("_general_ci") || name.ends_with("_bin") => 6,
                (_, charset) => 16 * charset.char_len_max(),
            };
            ty.text_length().saturating_mul(weights)
        }
        Family::Json => 3 * (Type::JSON.length),
        _ => ty.text_length(),
    };
    length.max(BYTES_MIN)
}

/// The sort key of what is no text: eight bytes, the sign's bit turned; `None` for numbers that are
/// no integers.
fn number_weight(value: &Datum<'_>) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    const TIME_OFFSET: i64 = 0x8000 << 32;
    let date_number = |d: &Date| i64::from(d.year) << 9 | i64::from(d.month) << 5 | i64::from(d.day);
    let clock = |micros: i64| {
        let (seconds, micros) = (micros / SECOND, micros % SECOND);
        (((seconds / 3600) << 12) + ((seconds / 60 % 60) << 6) + seconds % 60) * (1 << 24) + micros
    };
    Some(match value {
        Datum::Int(n) => *n as u64 ^ SIGN,
        Datum::UInt(n) => *n,
        Datum::Year(year) => u64::from(*year),
        Datum::Label(number, _) => *number ^ SIGN,
        Datum::Bits(bits) => bits.iter().fold(0, |n, &b| n << 8 | u64::from(b)),
        Datum::Date(date) => date_number(date) as u64 ^ SIGN,
        Datum::DateTime(d) => {
            let month = i64::from(d.date.year) * 13 + i64::from(d.date.month);
            let packed = (month << 5 | i64::from(d.date.day)) << 41 | clock(d.micros);
            packed as u64 ^ SIGN
        }
        Datum::Time(time) => {
            let packed = clock(time.micros.abs());
            let packed = if time.micros < 0 { TIME_OFFSET - packed - 1 } else { TIME_OFFSET + packed };
            packed as u64 ^ SIGN
        }
        _ => return None,
    })
}

/// What a text is compared by. A length cuts it; collations that pad get their spaces. What is no
/// text has its sort key.
pub(super) fn weight_string<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if !matches!(call.arguments[0].ty.family, Family::Text | Family::Null) {
        let value = call.value(cx, 0)?;
        return Ok(number_weight(&value).map_or(Datum::Null, |key| Datum::owned(key.to_be_bytes())));
    }
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
    collation.weight_string(&text, &mut weights, cx.settings.max_allowed_packet());
    Ok(Datum::owned(weights))
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
    let list = call.arguments[1].eval_as_text(cx, call.row)?;
    // Of a SET column the members count, not the texts of the value.
    let members = match &list {
        Datum::Null => return Ok(Datum::Null),
        Datum::Label(bits, _) if call.arguments[1].ty.code == code::SET => Some(*bits),
        _ => None,
    };
    let list = list.into_bytes();
    if list.is_empty() {
        return Ok(Datum::Int(0));
    }
    let collation = call.arguments[0].ty.collation;
    // Spaces at the end count here, whatever the collation pads with.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|&&b| b == b' ').count();
    let wanted = spaces(&text);
    for (i, word) in list.split(|&b| b == b',').enumerate() {
        bounds::check()?;
        if spaces(word) == wanted && collation.compare(&text, word).is_eq() {
            let number = match members {
                Some(bits) => (0..64).filter(|n| bits >> n & 1 == 1).nth(i).unwrap_or(i as i64),
                None => i as i64,
            };
            return Ok(Datum::Int(number + 1));
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
    let new = not_null!(call.text(cx, 3));
    let at = not_null!(call.int(cx, 1));
    let count = not_null!(call.int(cx, 2));
    let charset = call.charset(0);
    let chars = charset.char_count(&text) as i64;
    if at < 1 || at > chars {
        return Ok(Datum::Bytes(text));
    }
    let count = if count < 0 { chars } else { count.min(chars) };
    let start = charset.char_offset(&text, at as usize - 1);
    let end = charset.char_offset(&text, (at - 1 + count) as usize);
    if too_long(cx, "insert", text.len() - (end - start) + new.len()) {
        return Ok(Datum::Null);
    }
    Ok(Datum::owned([&text[..start], &new, &text[end..]].concat()))
}

/// The position of `needle` in `text` from the character `from` (0-based); 0 if it isn't there.
fn find<'a>(charset: Charset, collation: Collation, text: &[u8], needle: &[u8], from: usize) -> Value<'a> {
    if from > charset.char_count(text) {
        return Ok(Datum::Int(0));
    }
    let found = collation.find(text, needle, charset.char_offset(text, from))?;
    Ok(Datum::Int(found.map_or(0, |at| charset.char_count(&text[..at]) as i64 + 1)))
}

pub(super) fn instr<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let needle = not_null!(call.text(cx, 1));
    find(call.charset(0), call.arguments[0].ty.collation, &text, &needle, 0)
}

pub(super) fn locate<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let needle = not_null!(call.text(cx, 0));
    let text = not_null!(call.text(cx, 1));
    let from = if call.count() > 2 { not_null!(call.int(cx, 2)) } else { 1 };
    if from < 1 {
        return Ok(Datum::Int(0));
    }
    let collation = call.arguments[1].ty.collation;
    find(call.charset(1), collation, &text, &needle, from as usize - 1)
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
    // What is wrong with the count is an error next to a delimiter of NULL too.
    let (delimiter, count) = (call.text(cx, 1)?, call.int(cx, 2)?);
    let (Some(delimiter), Some(count)) = (delimiter, count) else { return Ok(Datum::Null) };
    if count == 0 || delimiter.is_empty() {
        return Ok(Datum::borrowed(b""));
    }
    let finder = memmem::Finder::new(&delimiter);
    let n = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let range = if count > 0 {
        0..finder.find_iter(&text).nth(n - 1).unwrap_or(text.len())
    } else {
        // Counted from the left, where they overlap.
        let found = finder.find_iter(&text).count();
        let from = found.checked_sub(n).and_then(|i| finder.find_iter(&text).nth(i));
        from.map_or(0, |at| at + delimiter.len())..text.len()
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
    let filling = not_null!(call.text(cx, 2));
    let length = not_null!(call.int(cx, 1));
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
    let len = filling.len().saturating_mul(whole).saturating_add(part.len() + text.len());
    if too_long(cx, name, len) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    reserve(&mut out, len)?;
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
    let mut out = Growing::new(cx);
    out.push(b"'")?;
    let is_escaped = |&b: &u8| matches!(b, 0 | 0x1a | b'\'' | b'\\');
    for plain in text.split_inclusive(is_escaped) {
        let (escape, plain) = match plain.split_last() {
            Some((0, plain)) => (&b"\\0"[..], plain),
            Some((0x1a, plain)) => (&b"\\Z"[..], plain),
            Some((b'\'', plain)) => (&b"\\'"[..], plain),
            Some((b'\\', plain)) => (&b"\\\\"[..], plain),
            _ => (&b""[..], plain),
        };
        out.push(plain)?;
        out.push(escape)?;
    }
    out.push(b"'")?;
    Ok(out.finish(cx, "quote"))
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
    let mut out = Growing::new(cx);
    let mut copied = 0;
    for at in memmem::find_iter(&text, &from) {
        out.push(&text[copied..at])?;
        out.push(&to)?;
        copied = at + from.len();
        if out.is_too_long() {
            break;
        }
    }
    if copied == 0 && !out.is_too_long() {
        return Ok(Datum::Bytes(text));
    }
    out.push(&text[copied..])?;
    Ok(out.finish(cx, "replace"))
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
