//! The functions of `sys` that people call; here they are built in. As stored ones they ask for
//! EXECUTE.

use super::{Call, Function, Typing, f, format, information, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

static FUNCTIONS: &[Function] = &[
    f("format_bytes", (1, 1), text_type, format_bytes),
    f("format_statement", (1, 1), text_type, format_statement),
    f("format_time", (1, 1), text_type, format_time),
    f("list_add", (2, 2), text_type, list_add),
    f("list_drop", (2, 2), text_type, list_drop),
    f("ps_thread_id", (1, 1), number_type, ps_thread_id).volatile(),
    f("quote_identifier", (1, 1), text_type, quote_identifier),
    f("version_major", (0, 0), number_type, |cx, _| version(cx, 0)),
    f("version_minor", (0, 0), number_type, |cx, _| version(cx, 1)),
    f("version_patch", (0, 0), number_type, |cx, _| version(cx, 2)),
];

/// The function of this name, in any case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name))
}

fn text_type(_: &[Expr], _: &Typing) -> Type {
    Type { nullable: true, ..Type::text(Collation::UTF8MB4_0900_AI_CI, Coercibility::Literal, 16_383) }
}

fn number_type(_: &[Expr], _: &Typing) -> Type {
    Type { nullable: true, ..Type::UINT }
}

fn owned<'a>(text: impl Into<Vec<u8>>) -> Value<'a> {
    Ok(Datum::owned(text))
}

fn format_bytes<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(format::bytes(not_null!(call.double(cx, 0))))
}

fn format_statement<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    owned(format::statement(&String::from_utf8_lossy(&text)))
}

/// Unlike FORMAT_PICO_TIME() it goes up to weeks.
fn format_time<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    const SECOND: f64 = 1e12;
    const UNITS: [(f64, &str); 8] = [
        (7.0 * 86_400.0 * SECOND, "w"),
        (86_400.0 * SECOND, "d"),
        (3600.0 * SECOND, "h"),
        (60.0 * SECOND, "m"),
        (SECOND, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
    ];
    let mut text = not_null!(call.text(cx, 0)).into_owned();
    let n = cx.double(&Datum::borrowed(&text))?;
    match UNITS.iter().find(|(size, _)| n >= *size) {
        // As a double: without zeros at the end.
        Some((size, name)) => owned(format!("{} {name}", (n / size * 100.0).round() / 100.0)),
        None => {
            text.extend_from_slice(b" ps");
            owned(text)
        }
    }
}

/// The items of a list with commas between them.
fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

/// An item that is there already is there twice then, as in MySQL.
fn list_add<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let list = call.text(cx, 0)?;
    let item = call.text(cx, 1)?.ok_or_else(|| error::INVALID_USE_OF_NULL.plain())?;
    let list = list.as_deref().unwrap_or_default().trim_ascii();
    if list.is_empty() {
        return owned(item.into_owned());
    }
    // Commas around the list go.
    let start = list.iter().position(|byte| *byte != b',').unwrap_or(list.len());
    let end = list.iter().rposition(|byte| *byte != b',').map_or(start, |last| last + 1);
    owned([&list[start..end], b",", &*item].concat())
}

fn list_drop<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let list = call.text(cx, 0)?;
    let item = call.text(cx, 1)?.ok_or_else(|| error::INVALID_USE_OF_NULL.plain())?;
    let Some(list) = list else { return Ok(Datum::Null) };
    owned(items(&list).filter(|other| **other != *item).collect::<Vec<_>>().join(&b','))
}

/// Of the own connection for NULL.
fn ps_thread_id<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if call.value(cx, 0)?.is_null() {
        return information::connection_id(cx, call);
    }
    information::ps_thread_id(cx, call)
}

fn quote_identifier<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = not_null!(call.text(cx, 0));
    owned(syntax::unparse::ident(&String::from_utf8_lossy(&name)))
}

/// A part of the version's number.
fn version<'a>(cx: &mut Context, part: usize) -> Value<'a> {
    let version = cx.version();
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    let number = version.split('.').nth(part).and_then(|part| digits(part).parse().ok());
    Ok(Datum::UInt(number.unwrap_or(0)))
}
