//! COMPRESS and UNCOMPRESS: four bytes of length, low byte first, and a zlib stream.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("compress", (1, 1), compressed_type, compress),
    f("uncompress", (1, 1), uncompressed_type, uncompress),
    f("uncompressed_length", (1, 1), super::int, uncompressed_length),
];

const HEADER: usize = 4;
/// The length's upper two bits have no meaning.
const LENGTH_MASK: u32 = 0x3fff_ffff;

fn compressed_type(arguments: &[Expr], _: &Typing) -> Type {
    // What zlib needs at most, after the length and before a dot.
    let bytes = arguments[0].ty.value_bytes();
    let bound = bytes.saturating_add((bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 18);
    Type::text(Collation::BINARY, Coercibility::Literal, bound.min(16 * 1024 * 1024))
}

fn uncompressed_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Literal, 16 * 1024 * 1024)
}

fn compress<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    if text.is_empty() {
        return Ok(Datum::borrowed(b""));
    }
    let mut out = (text.len() as u32 & LENGTH_MASK).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(&mut out, Compression::default());
    let written = encoder.write_all(&text).and_then(|()| encoder.finish().map(|_| ()));
    if written.is_err() {
        return Ok(Datum::Null);
    }
    // A CHAR column would lose a space at the end.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(if super::bounded::too_long(cx, "compress", out.len()) { Datum::Null } else { Datum::owned(out) })
}

/// The length that the text says it had.
fn length_of(text: &[u8]) -> Option<u32> {
    let (head, rest) = text.split_first_chunk::<HEADER>()?;
    (!rest.is_empty()).then_some(u32::from_le_bytes(*head) & LENGTH_MASK)
}

fn uncompress<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    if text.is_empty() {
        return Ok(Datum::borrowed(b""));
    }
    let Some(length) = length_of(&text) else {
        cx.warn(error::ZLIB_Z_DATA_ERROR.plain());
        return Ok(Datum::Null);
    };
    let max = cx.settings.max_allowed_packet();
    if length as usize > max {
        cx.warn(error::TOO_BIG_FOR_UNCOMPRESS.with(&[&max]));
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    // One byte more than promised is one too many; what is not there takes no memory.
    let read = ZlibDecoder::new(&text[HEADER..]).take(u64::from(length) + 1).read_to_end(&mut out);
    let code = match read {
        Ok(n) if n == length as usize => return Ok(Datum::owned(out)),
        Ok(n) if n > length as usize => error::ZLIB_Z_BUF_ERROR,
        _ => error::ZLIB_Z_DATA_ERROR,
    };
    cx.warn(code.plain());
    Ok(Datum::Null)
}

fn uncompressed_length<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    if text.is_empty() {
        return Ok(Datum::Int(0));
    }
    let Some(length) = length_of(&text) else {
        cx.warn(error::ZLIB_Z_DATA_ERROR.plain());
        return Ok(Datum::Int(0));
    };
    Ok(Datum::Int(length.into()))
}
