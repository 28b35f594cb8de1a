//! What makes documents of values, and one document of several.

use std::borrow::Cow;

use super::super::bounded::Growing;
use super::super::not_null;
use super::{Call, add_up, finish, unsuitable};
use crate::expression::Node;
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::Charset;
use datum::value::Datum;
use datum::value::json::convert::{self, Origin, Unsuitable};
use datum::value::json::{self, Json, Node as Kind, Tree, damaged, merge};

type Value<'a> = Result<Datum<'a>>;

pub(super) fn array<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut elements = Vec::with_capacity(call.count());
    let mut bytes = 0;
    for i in 0..call.count() {
        elements.push(call.json(cx, i, &mut bytes)?);
    }
    finish(cx, &Tree::Array(elements))
}

pub(super) fn object<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut members = Vec::with_capacity(call.count() / 2);
    let mut bytes = 0;
    for i in (0..call.count()).step_by(2) {
        let name = call.value(cx, i)?;
        add_up(cx, &mut bytes, name.text_len())?;
        let name = member_name(name, Origin::of(&call.arguments[i].ty))?;
        members.push((name, call.json(cx, i + 1, &mut bytes)?));
    }
    finish(cx, &Tree::object(members))
}

/// A member's name: anything but NULL (3158) and byte strings (3144).
pub(crate) fn member_name(value: Datum<'_>, source: Origin) -> Result<Cow<'_, [u8]>> {
    match value {
        Datum::Null => Err(error::JSON_DOCUMENT_NULL_KEY.plain()),
        Datum::Bits(_) => Err(error::INVALID_JSON_CHARSET.with(&[&"binary"])),
        Datum::Bytes(_) if source.charset == Charset::Binary => {
            Err(error::INVALID_JSON_CHARSET.with(&[&"binary"]))
        }
        value @ (Datum::Bytes(_) | Datum::Label(..)) => convert::utf8(value.into_bytes(), source.charset),
        other => Ok(other.into_bytes()),
    }
}

/// So many bytes are quoted at once.
const PIECE: usize = 4096;

pub(super) fn quote<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(text(cx, &call, "json_quote"));
    let mut out = Growing::new(cx);
    let mut quoted = Vec::new();
    out.push(b"\"")?;
    for piece in text.chunks(PIECE) {
        quoted.clear();
        json::write_quoted(piece, &mut quoted);
        out.push(&quoted[1..quoted.len() - 1])?;
    }
    out.push(b"\"")?;
    Ok(out.finish(cx, "json_quote"))
}

/// A text argument in utf8mb4; error 3064 for what is no text.
fn text<'a>(cx: &mut Context, call: &Call<'a>, function: &str) -> Result<Option<Cow<'a, [u8]>>> {
    match call.value(cx, 0)? {
        Datum::Null => Ok(None),
        value @ (Datum::Bytes(_) | Datum::Label(..)) => {
            convert::utf8(value.into_bytes(), Origin::of(&call.arguments[0].ty).charset).map(Some)
        }
        _ => Err(error::INCORRECT_TYPE.with(&[&1, &function])),
    }
}

pub(super) fn unquote<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    // `column ->> '$.a'`: the string is borrowed from the row.
    if let Node::Call(function, arguments) = &call.arguments[0].node
        && function.name == "json_extract"
        && let [_, path] = arguments.as_slice()
        && let Node::JsonPath(_, path) = &path.node
        && !path.is_multiple()
    {
        let inner = Call { arguments, ..call };
        let document = not_null!(inner.document(cx, 0, "json_extract"));
        if let Cow::Borrowed(document) = document {
            let found = path.find_one(json::root(document)?).map_err(damaged)?;
            return found.map_or(Ok(Datum::Null), unquoted);
        }
        let found = path.find_one(json::root(&document)?).map_err(damaged)?;
        return Ok(found.map_or(Ok(Datum::Null), unquoted)?.into_owned());
    }
    let value = call.value(cx, 0)?;
    if let Datum::Json(document) = &value {
        return Ok(Datum::owned(json::unquoted(document).into_owned()));
    }
    drop(value);
    let text = not_null!(text(cx, &call, "json_unquote"));
    if text.len() < 2 || !text.starts_with(b"\"") || !text.ends_with(b"\"") {
        return Ok(Datum::Bytes(text));
    }
    match json::parse(&text) {
        Ok(Tree::String(inner)) => Ok(Datum::owned(inner.into_owned())),
        Ok(_) => Ok(Datum::owned(text.into_owned())),
        Err(e) => Err(unsuitable(Unsuitable::Text(e), 1, "json_unquote")),
    }
}

/// A string without its quotes; the text of anything else.
fn unquoted(value: Json<'_>) -> Result<Datum<'_>> {
    if let Kind::String(text) = value.node().map_err(damaged)? {
        return Ok(Datum::borrowed(text));
    }
    let mut document = Vec::new();
    value.write_document(&mut document).map_err(damaged)?;
    Ok(Datum::owned(json::unquoted(&document).into_owned()))
}

pub(super) fn merge<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    cx.warn(error::WARN_DEPRECATED_SYNTAX.with(&[&"JSON_MERGE", &"JSON_MERGE_PRESERVE/JSON_MERGE_PATCH"]));
    preserve_all(cx, call, "json_merge")
}

pub(super) fn merge_preserve<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    preserve_all(cx, call, "json_merge_preserve")
}

fn preserve_all<'a>(cx: &mut Context, call: Call<'a>, name: &str) -> Value<'a> {
    let first = not_null!(call.document(cx, 0, name));
    let mut bytes = first.len();
    let mut merged = convert::stored(first)?;
    for i in 1..call.count() {
        let next = not_null!(call.document(cx, i, name));
        // Nothing of a document is lost but its own frame.
        add_up(cx, &mut bytes, next.len() / 2)?;
        merged = merge::preserve(merged, convert::stored(next)?)?;
    }
    finish(cx, &merged)
}

/// NULL takes the place of a document until one comes that replaces it whole.
pub(super) fn merge_patch<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut patched = None;
    for i in 0..call.count() {
        let next = call.document(cx, i, "json_merge_patch")?.map(convert::stored).transpose()?;
        patched = match (patched, next) {
            (_, None) => None,
            (_, Some(next)) if i == 0 || !next.is_object() => Some(next),
            (None, Some(_)) => None,
            (Some(document), Some(next)) => Some(merge::patch(document, next)?),
        };
    }
    patched.map_or(Ok(Datum::Null), |tree| finish(cx, &tree))
}
