//! What changes documents at paths. Containers on the way to a change are opened, the rest is
//! copied as it lies.

use binlog::row::RowError;

use super::super::not_null;
use super::{Call, finish};
use crate::session::Context;
use datum::bounds;
use datum::error::{self, Result};
use datum::value::Datum;
use datum::value::json::edit::{self, Mode};
use datum::value::json::path::Leg;
use datum::value::json::{Path, Tree, convert, damaged};

type Value<'a> = Result<Datum<'a>>;

pub(super) fn set<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pairs(cx, call, "json_set", allow, |tree, legs, value| edit::set(tree, legs, value, Mode::Set))
}

pub(super) fn insert<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pairs(cx, call, "json_insert", allow, |tree, legs, value| edit::set(tree, legs, value, Mode::Insert))
}

pub(super) fn replace<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pairs(cx, call, "json_replace", allow, |tree, legs, value| edit::set(tree, legs, value, Mode::Replace))
}

pub(super) fn array_append<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    pairs(cx, call, "json_array_append", allow, edit::append)
}

pub(super) fn array_insert<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let cell = |path: &Path| match path.legs().last() {
        Some(Leg::Cell(_)) => Ok(()),
        _ => Err(error::INVALID_JSON_PATH_ARRAY_CELL.plain()),
    };
    pairs(cx, call, "json_array_insert", cell, edit::insert)
}

fn allow(_: &Path) -> Result<()> {
    Ok(())
}

/// A document, then paths and values, one change after the other.
fn pairs<'a>(
    cx: &mut Context,
    call: Call<'a>,
    name: &str,
    check: impl Fn(&Path) -> Result<()>,
    change: impl Fn(&mut Tree<'a>, &[Leg], Tree<'a>) -> Result<(), RowError>,
) -> Value<'a> {
    let mut tree = convert::stored(not_null!(call.document(cx, 0, name)))?;
    let mut bytes = 0;
    for i in (1..call.count() - 1).step_by(2) {
        let path = not_null!(call.single_path(cx, i));
        bounds::check()?;
        check(&path)?;
        let value = call.json(cx, i + 1, &mut bytes)?;
        change(&mut tree, path.legs(), value).map_err(damaged)?;
    }
    finish(cx, &tree)
}

pub(super) fn remove<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut tree = convert::stored(not_null!(call.document(cx, 0, "json_remove")))?;
    for i in 1..call.count() {
        bounds::check()?;
        let path = not_null!(call.single_path(cx, i));
        if path.legs().is_empty() {
            return Err(error::JSON_VACUOUS_PATH.plain());
        }
        edit::remove(&mut tree, path.legs()).map_err(damaged)?;
    }
    finish(cx, &tree)
}
