//! Hashes: MD5, SHA-1, SHA-2, and random bytes.

use std::borrow::Cow;

use aws_lc_rs::digest;
use md5::{Digest, Md5};

use super::{Call, Function, Typing, f, not_null};
use crate::error::{self, Result};
use crate::expression::Expr;
use crate::session::Context;
use crate::types::{Coercibility, Collation, Type};
use crate::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("md5", (1, 1), super::text_of_at_most::<32>, md5),
    f("random_bytes", (1, 1), random_bytes_type, random_bytes).volatile(),
    f("sha", (1, 1), super::text_of_at_most::<40>, sha1),
    f("sha1", (1, 1), super::text_of_at_most::<40>, sha1),
    f("sha2", (2, 2), sha2_type, sha2),
];

/// RANDOM_BYTES gives so many at most.
const RANDOM_MAX: i64 = 1024;

fn sha2_type(arguments: &[Expr], typing: &Typing) -> Type {
    let bits = arguments[1].as_constant().map_or(512, |bits| bits.to_integer().value);
    let length = match bits {
        224 => 56,
        384 => 96,
        512 => 128,
        _ => 64,
    };
    Type::text(typing.connection, Coercibility::Literal, length)
}

fn random_bytes_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Literal, RANDOM_MAX as u32)
}

/// Two lower-case hexadecimal digits for each byte.
pub(super) fn hex(bytes: &[u8]) -> Vec<u8> {
    let digit = |n: u8| b"0123456789abcdef"[usize::from(n)];
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

fn md5<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::owned(hex(&Md5::digest(&text))))
}

fn sha1<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::owned(hex(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &text).as_ref())))
}

/// `SHA2(text, bits)`: NULL for bits other than 224, 256 (also 0), 384 and 512.
fn sha2<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text: Cow<'_, [u8]> = not_null!(call.text(cx, 0));
    let algorithm = match not_null!(call.int(cx, 1)) {
        0 | 256 => &digest::SHA256,
        224 => &digest::SHA224,
        384 => &digest::SHA384,
        512 => &digest::SHA512,
        _ => {
            cx.warn(error::WRONG_PARAMETERS_TO_NATIVE_FCT.with(&[&"sha2"]));
            return Ok(Datum::Null);
        }
    };
    Ok(Datum::owned(hex(digest::digest(algorithm, &text).as_ref())))
}

fn random_bytes<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let count = not_null!(call.int(cx, 0));
    if !(1..=RANDOM_MAX).contains(&count) {
        return Err(error::DATA_OUT_OF_RANGE.with(&[&"length", &"random_bytes"]));
    }
    let mut bytes = vec![0; count as usize];
    cx.database.env().random(&mut bytes);
    Ok(Datum::owned(bytes))
}
