//! Functions that describe the session and the server.

use super::{Call, Typing, not_null};
use crate::expression::Expr;
use crate::session::Context;
use crate::variables::VERSION;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

fn text<'a>(text: impl Into<String>) -> Value<'a> {
    Ok(Datum::owned(text.into()))
}

pub(super) fn version_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::System, VERSION.len() as u32)
}

pub(super) fn version<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    text(cx.version())
}

pub(super) fn user<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    text(cx.connection.user_text())
}

pub(super) fn current_user<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    text(cx.effective_account().to_string())
}

pub(super) fn database<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    match cx.default_database() {
        Some(name) => text(name),
        None => Ok(Datum::Null),
    }
}

pub(super) fn connection_id<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::UInt(cx.logged_thread_id()))
}

/// The thread that serves a connection; here it has the connection's number. NULL if there is no
/// such connection.
pub(super) fn ps_thread_id<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let id = not_null!(call.int(cx, 0));
    let found = cx.instance.processes().iter().any(|process| i64::try_from(process.id) == Ok(id));
    Ok(if found { Datum::UInt(id as u64) } else { Datum::Null })
}

pub(super) fn row_count<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(cx.statement.status.row_count))
}

pub(super) fn found_rows<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(cx.statement.status.found_rows as i64))
}

pub(super) fn last_insert_id<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if call.count() == 0 {
        return Ok(Datum::UInt(cx.statement.status.last_insert_id));
    }
    let value = call.value(cx, 0)?;
    let id = if value.is_null() { 0 } else { cx.integer(&value)? as u64 };
    cx.set_last_insert_id(id);
    Ok(if value.is_null() { Datum::Null } else { Datum::UInt(id) })
}

pub(super) fn charset<'a>(_: &mut Context, call: Call<'a>) -> Value<'a> {
    text(call.charset(0).name())
}

pub(super) fn collation<'a>(_: &mut Context, call: Call<'a>) -> Value<'a> {
    text(call.arguments[0].ty.collation.name())
}

pub(super) fn coercibility<'a>(_: &mut Context, call: Call<'a>) -> Value<'a> {
    Ok(Datum::Int(call.arguments[0].ty.coercibility as i64))
}

/// The most characters of a query attribute that are reported as its length.
const ATTRIBUTE_LENGTH: u32 = 65_535;

pub(super) fn attribute_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit, ATTRIBUTE_LENGTH)
}

/// A named value that the client sent along with the statement, as text; NULL if there is none of
/// the name.
pub(super) fn query_attribute<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = not_null!(call.text(cx, 0));
    let found = cx.statement.query_attributes.iter().find(|(known, _)| **known == *name);
    Ok(found.map_or(Datum::Null, |(_, value)| value.clone()))
}

/// No role can be active: there are none.
pub(super) fn current_role<'a>(_: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::borrowed(b"NONE"))
}

pub(super) fn sleep<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let Some(seconds) = call.double(cx, 0)?.filter(|s| *s >= 0.0) else {
        return Err(error::WRONG_ARGUMENTS.with(&[&"sleep."]));
    };
    let interrupted = cx.sleep(seconds);
    // KILL QUERY is an answer, 1; a killed connection has nobody to answer to.
    cx.check_connection()?;
    Ok(Datum::Int(interrupted.into()))
}

pub(super) fn benchmark<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let count = not_null!(call.int(cx, 0));
    for _ in 0..count {
        cx.check_interrupt()?;
        call.value(cx, 1)?;
    }
    Ok(Datum::Int(0))
}
