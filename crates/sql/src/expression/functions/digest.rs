//! Hashes: MD5, SHA-1, SHA-2, those of statements; and random bytes.

use std::borrow::Cow;

use aws_lc_rs::digest;
use md5::{Digest, Md5};

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::{Context, syntax_error};
use crate::variables::ids;
use datum::bounds::parse_options;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, Type};
use datum::value::Datum;
use syntax::parser;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("md5", (1, 1), super::text_of_at_most::<32>, md5),
    f("random_bytes", (1, 1), random_bytes_type, random_bytes).volatile(),
    f("sha", (1, 1), super::text_of_at_most::<40>, sha1),
    f("sha1", (1, 1), super::text_of_at_most::<40>, sha1),
    f("sha2", (2, 2), sha2_type, sha2),
    f("statement_digest", (1, 1), super::text_of_at_most::<64>, statement_digest),
    f("statement_digest_text", (1, 1), super::text_of_at_most::<NORMALIZED_MAX>, statement_digest_text),
];

/// The longest normalized statement, in bytes.
const NORMALIZED_MAX: u32 = 65_535;

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

/// A statement without its values; error 3676 for what is none.
fn normalized(cx: &mut Context, call: Call<'_>) -> Result<Option<String>> {
    let Some(text) = call.text(cx, 0)? else { return Ok(None) };
    let (text, _) = call.charset(0).convert(text, Charset::Utf8mb4);
    let sql_mode = cx.settings.variables().uint(ids::SQL_MODE);
    let options = parse_options(sql_mode);
    let parsed = match parser::parse(&text, &options).map_err(SqlError::from) {
        Ok(Some(statement)) if statement.parameters == 0 => {
            let may_go_on = || datum::bounds::check().is_ok();
            let max = NORMALIZED_MAX as usize;
            let normalized = syntax::digest::normalized(&text, sql_mode, max, may_go_on);
            return if normalized.is_some() {
                Ok(normalized)
            } else {
                Err(datum::error::QUERY_INTERRUPTED.plain())
            };
        }
        Ok(Some(_)) => syntax_error("?"),
        Ok(None) => error::EMPTY_QUERY.plain(),
        Err(e) => e,
    };
    Err(error::DIGEST_PARSE_FAILED.with(&[&parsed.message]))
}

fn statement_digest_text<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(normalized(cx, call));
    let (text, _) = Charset::Utf8mb4.convert(text.into_bytes().into(), call.ty.collation.charset());
    Ok(Datum::owned(text))
}

/// SHA-256 of the normalized text; MySQL's is of numbers that its own parser has for words.
fn statement_digest<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(normalized(cx, call));
    Ok(Datum::owned(hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())))
}

fn random_bytes<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let count = not_null!(call.int(cx, 0));
    if !(1..=RANDOM_MAX).contains(&count) {
        return Err(error::DATA_OUT_OF_RANGE.with(&[&"length", &"random_bytes"]));
    }
    let mut bytes = vec![0; count as usize];
    cx.instance.env().random(&mut bytes);
    Ok(Datum::owned(bytes))
}
