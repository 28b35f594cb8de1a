//! What reads documents: JSON_EXTRACT, JSON_KEYS, JSON_CONTAINS and their like.

use std::collections::HashSet;

use super::super::bounded::too_long;
use super::super::not_null;
use super::{Call, array_of, finish, own};
use crate::session::Context;
use datum::bounds::{self, Ticker};
use datum::error::Result;
use datum::types::{Charset, Family};
use datum::value::Datum;
use datum::value::json::compare::{compare, sort_key};
use datum::value::json::convert::{self, Origin};
use datum::value::json::{self, Json, Node, Tree, damaged};

type Value<'a> = Result<Datum<'a>>;

pub(super) fn extract<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_extract"));
    let root = json::root(&document)?;
    if call.count() == 2 {
        let path = not_null!(call.path(cx, 1));
        if path.is_multiple() {
            return array_of(cx, path.find(root).map_err(damaged)?);
        }
        return match path.find_one(root).map_err(damaged)? {
            Some(found) => own(found),
            None => Ok(Datum::Null),
        };
    }
    let mut found = Vec::new();
    for i in 1..call.count() {
        let path = not_null!(call.path(cx, i));
        found.extend(path.find(root).map_err(damaged)?);
    }
    array_of(cx, found)
}

pub(super) fn keys<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_keys"));
    let mut value = json::root(&document)?;
    if call.count() > 1 {
        let path = not_null!(call.single_path(cx, 1));
        match path.find_one(value).map_err(damaged)? {
            Some(found) => value = found,
            None => return Ok(Datum::Null),
        }
    }
    match value.container().filter(|c| c.is_object()) {
        Some(object) => {
            let key = |i| object.key(i).map(|k| Tree::String(k.into()));
            let keys: Result<Vec<_>, _> = (0..object.len()).map(key).collect();
            finish(cx, &Tree::Array(keys.map_err(damaged)?))
        }
        None => Ok(Datum::Null),
    }
}

pub(super) fn length<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_length"));
    let mut value = json::root(&document)?;
    if call.count() > 1 {
        let path = not_null!(call.path(cx, 1));
        let found = path.find(value).map_err(damaged)?;
        match found.first() {
            None => return Ok(Datum::Null),
            Some(_) if path.is_multiple() => return Ok(Datum::Int(found.len() as i64)),
            Some(found) => value = *found,
        }
    }
    Ok(Datum::Int(value.container().map_or(1, |c| c.len() as i64)))
}

pub(super) fn depth<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_depth"));
    let depth = json::root(&document)?.depth().map_err(damaged)?;
    Ok(Datum::Int(depth as i64))
}

pub(super) fn type_name<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_type"));
    let node = json::root(&document)?.node().map_err(damaged)?;
    Ok(Datum::borrowed(convert::type_name(&node).as_bytes()))
}

pub(super) fn valid<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let charset = Origin::of(&call.arguments[0].ty).charset;
    Ok(match call.value(cx, 0)? {
        // What is neither text nor a document is none, NULL or not.
        Datum::Null if !matches!(call.arguments[0].ty.family, Family::Text | Family::Json | Family::Null) => {
            Datum::from_bool(false)
        }
        Datum::Null => Datum::Null,
        Datum::Json(_) => Datum::from_bool(true),
        Datum::Bytes(text) | Datum::Label(_, text) if charset != Charset::Binary => {
            let text = convert::utf8(text, charset);
            Datum::from_bool(text.is_ok_and(|text| json::parse(&text).is_ok()))
        }
        _ => Datum::from_bool(false),
    })
}

pub(super) fn pretty<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_pretty"));
    let (mut out, max) = (Vec::new(), cx.settings.max_allowed_packet());
    match json::write_pretty(&document, max, &mut out) {
        Err(_) if too_long(cx, "json_pretty", out.len()) => Ok(Datum::Null),
        Err(e) => Err(damaged(e)),
        Ok(()) => Ok(Datum::owned(out)),
    }
}

pub(super) fn storage_size<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_storage_size"));
    Ok(Datum::Int(document.len() as i64))
}

/// Documents are always written anew, so no change leaves room behind.
pub(super) fn storage_free<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    not_null!(call.document(cx, 0, "json_storage_free"));
    Ok(Datum::Int(0))
}

pub(super) fn contains<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_contains"));
    let candidate = not_null!(call.document(cx, 1, "json_contains"));
    let mut target = json::root(&document)?;
    if call.count() > 2 {
        let path = not_null!(call.single_path(cx, 2));
        match path.find_one(target).map_err(damaged)? {
            Some(found) => target = found,
            None => return Ok(Datum::Null),
        }
    }
    contained(target, json::root(&candidate)?).map(Datum::from_bool)
}

/// The manual's rules: every element of an array in some element, every member of an object in its
/// namesake, scalars that are equal.
fn contained(target: Json<'_>, candidate: Json<'_>) -> Result<bool> {
    let (outer, inner) = (target.node().map_err(damaged)?, candidate.node().map_err(damaged)?);
    match (outer, inner) {
        (Node::Container(outer), Node::Container(inner)) if outer.is_object() && inner.is_object() => {
            for i in 0..inner.len() {
                bounds::check()?;
                let key = inner.key(i).map_err(damaged)?;
                match outer.find(key).map_err(damaged)? {
                    Some(value) if contained(value, inner.value(i).map_err(damaged)?)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Node::Container(outer), Node::Container(inner)) if !outer.is_object() && !inner.is_object() => {
            for i in 0..inner.len() {
                if !any_contains(&outer, inner.value(i).map_err(damaged)?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Node::Container(outer), _) if !outer.is_object() => any_contains(&outer, candidate),
        (Node::Container(_), _) | (_, Node::Container(_)) => Ok(false),
        _ => Ok(compare(target, candidate).map_err(damaged)?.is_eq()),
    }
}

fn any_contains(array: &json::Container<'_>, candidate: Json<'_>) -> Result<bool> {
    let mut ticker = Ticker::default();
    for i in 0..array.len() {
        ticker.step()?;
        if contained(array.value(i).map_err(damaged)?, candidate)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn contains_path<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let document = not_null!(call.document(cx, 0, "json_contains_path"));
    let all = not_null!(call.one_or_all(cx, 1, "json_contains_path"));
    let root = json::root(&document)?;
    let mut result = all;
    for i in 2..call.count() {
        let path = not_null!(call.path(cx, i));
        let found = path.find_one(root).map_err(damaged)?.is_some();
        if found != all {
            result = found;
            break;
        }
    }
    Ok(Datum::from_bool(result))
}

pub(super) fn overlaps<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let a = not_null!(call.document(cx, 0, "json_overlaps"));
    let b = not_null!(call.document(cx, 1, "json_overlaps"));
    overlap(json::root(&a)?, json::root(&b)?).map(Datum::from_bool)
}

fn overlap(a: Json<'_>, b: Json<'_>) -> Result<bool> {
    let mut ticker = Ticker::default();
    if let (Node::Container(x), Node::Container(y)) = (a.node().map_err(damaged)?, b.node().map_err(damaged)?)
        && x.is_object()
        && y.is_object()
    {
        for i in 0..x.len() {
            ticker.step()?;
            if let Some(other) = y.find(x.key(i).map_err(damaged)?).map_err(damaged)?
                && compare(x.value(i).map_err(damaged)?, other).map_err(damaged)?.is_eq()
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let is_array = |v: Json<'_>| v.container().is_some_and(|c| !c.is_object());
    if !is_array(a) && !is_array(b) {
        return Ok(compare(a, b).map_err(damaged)?.is_eq());
    }
    // Equal values have equal sort keys.
    let mut seen = HashSet::new();
    let mut key = Vec::new();
    for element in elements(a).map_err(damaged)? {
        ticker.step()?;
        key.clear();
        sort_key(element, &mut key).map_err(damaged)?;
        seen.insert(key.clone());
    }
    for element in elements(b).map_err(damaged)? {
        ticker.step()?;
        key.clear();
        sort_key(element, &mut key).map_err(damaged)?;
        if seen.contains(&key) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An array's elements; any other value is the only element.
fn elements(value: Json<'_>) -> Result<Vec<Json<'_>>, binlog::row::RowError> {
    match value.node()? {
        Node::Container(array) if !array.is_object() => (0..array.len()).map(|i| array.value(i)).collect(),
        _ => Ok(vec![value]),
    }
}

pub(super) fn member_of<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let value = convert::from_datum(value, Origin::of(&call.arguments[0].ty))?;
    let document = not_null!(call.document(cx, 1, "member of"));
    let value = json::encode(&value)?;
    let value = json::root(&value)?;
    let mut ticker = Ticker::default();
    for element in elements(json::root(&document)?).map_err(damaged)? {
        ticker.step()?;
        if compare(element, value).map_err(damaged)?.is_eq() {
            return Ok(Datum::from_bool(true));
        }
    }
    Ok(Datum::from_bool(false))
}
