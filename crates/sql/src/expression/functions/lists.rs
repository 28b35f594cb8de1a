//! Functions that choose from a list by bits or by size: MAKE_SET, EXPORT_SET, INTERVAL.

use super::bounded::Growing;
use super::{Call, Function, MANY, Typing, f, not_null};
use crate::expression::Expr;
use crate::expression::compare::By;
use crate::session::Context;
use datum::error::Result;
use datum::types::{Family, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("export_set", (3, 5), export_set_type, export_set).joined(1, 4),
    f("interval", (2, MANY), super::int, interval),
    f("make_set", (2, MANY), make_set_type, make_set).joined(1, MANY),
];

/// Each text and a comma.
fn make_set_type(arguments: &[Expr], typing: &Typing) -> Type {
    super::made_text(&arguments[1..], typing, |lengths| {
        lengths.iter().map(|&l| u64::from(l)).sum::<u64>() + lengths.len() as u64 - 1
    })
}

/// The longer of the two texts for each bit, and what separates them.
fn export_set_type(arguments: &[Expr], typing: &Typing) -> Type {
    let texts = &arguments[1..arguments.len().min(4)];
    super::made_text(texts, typing, |lengths| {
        let separator = lengths.get(2).copied().unwrap_or(1);
        u64::from(lengths[0].max(lengths[1])) * 64 + u64::from(separator) * 63
    })
}

/// The texts whose bit is set, joined by commas; NULL ones are left out.
fn make_set<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let bits = not_null!(call.int(cx, 0));
    let mut out = Growing::new(cx);
    let mut first = true;
    for i in 1..call.count().min(65) {
        if bits >> (i - 1) & 1 == 0 {
            continue;
        }
        let Some(text) = call.text(cx, i)? else { continue };
        if !std::mem::take(&mut first) {
            out.push(b",")?;
        }
        out.push(&text)?;
    }
    Ok(out.finish(cx, "make_set"))
}

/// `EXPORT_SET(bits, on, off [, separator [, count]])`: the lowest bit first.
fn export_set<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let bits = not_null!(call.int(cx, 0));
    let on = not_null!(call.text(cx, 1));
    let off = not_null!(call.text(cx, 2));
    let separator = if call.count() > 3 { not_null!(call.text(cx, 3)) } else { b",".into() };
    let count = if call.count() > 4 { not_null!(call.int(cx, 4)) } else { 64 };
    let count = if (0..=64).contains(&count) { count } else { 64 };
    let longest = on.len().max(off.len()) + separator.len();
    if super::bounded::too_long(cx, "export_set", longest.saturating_mul(count as usize)) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    for i in 0..count {
        if i > 0 {
            out.extend_from_slice(&separator);
        }
        out.extend_from_slice(if bits >> i & 1 == 1 { &on } else { &off });
    }
    Ok(Datum::owned(out))
}

/// How many of the ascending numbers the first one reaches; -1 for NULL.
fn interval<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let exact = |family| {
        matches!(family, Family::Integer | Family::Decimal | Family::Bit | Family::Year | Family::Null)
    };
    let by = if call.arguments.iter().all(|a| exact(a.ty.family)) { By::Decimal } else { By::Double };
    let value = call.value(cx, 0)?;
    if value.is_null() {
        return Ok(Datum::Int(-1));
    }
    // What is no number is said once, and not with each bound.
    let value = if let By::Double = by { Datum::Double(cx.double(&value)?) } else { value };
    for i in 1..call.count() {
        let bound = call.value(cx, i)?;
        if by.compare(cx, &value, &bound)?.is_some_and(|order| order.is_lt()) {
            return Ok(Datum::Int(i as i64 - 1));
        }
    }
    Ok(Datum::Int(call.count() as i64 - 1))
}
