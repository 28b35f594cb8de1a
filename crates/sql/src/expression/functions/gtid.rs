//! Sets of global transaction identifiers.

use std::cmp::Ordering;
use std::time::Duration;

use binlog::gtid::GtidSet;

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::replica::channel::{Running, SourcePosition};
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::{Coercibility, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("gtid_subset", (2, 2), super::boolean, gtid_subset),
    f("gtid_subtract", (2, 2), set_type, gtid_subtract),
    f("source_pos_wait", (2, 4), super::int, source_pos_wait).volatile(),
    f("master_pos_wait", (2, 4), super::int, source_pos_wait).volatile(),
    f("wait_for_executed_gtid_set", (1, 2), super::int, wait_for_executed_gtid_set).volatile(),
];

/// How long a wait for transactions sleeps before it checks again.
const PAUSE: Duration = Duration::from_millis(5);

/// What is left may be longer than what it is taken from: an interval that is cut in two takes five
/// characters for two.
fn set_type(arguments: &[Expr], typing: &Typing) -> Type {
    const UUID_LENGTH: u64 = 36;
    let [from, taken] = [0, 1].map(|i| u64::from(arguments[i].ty.value_bytes()));
    // Of what is too short for a set, MySQL has this go below zero and around.
    let cuts = taken.wrapping_sub(UUID_LENGTH).wrapping_mul(5) / 2;
    let width = u64::from(typing.connection.charset().char_len_max());
    let bytes = from.wrapping_add(cuts).wrapping_mul(width).min(super::MADE_BYTES_MAX);
    Type::text(typing.connection, Coercibility::Literal, (bytes / width) as u32)
}

/// An argument as a set; `None` for NULL, error 1772 for what is none.
fn set<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<GtidSet>> {
    let Some(text) = call.text(cx, i)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&text);
    match text.parse() {
        Ok(set) => Ok(Some(set)),
        Err(_) => Err(error::MALFORMED_GTID_SET_SPECIFICATION.with(&[&text])),
    }
}

fn gtid_subset<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let subset = not_null!(set(cx, call, 0));
    let whole = not_null!(set(cx, call, 1));
    Ok(Datum::from_bool(subset.is_subset(&whole)))
}

fn gtid_subtract<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let mut left = not_null!(set(cx, call, 0));
    left.subtract(&not_null!(set(cx, call, 1)));
    Ok(Datum::owned(left.to_string()))
}

/// Waits until a channel's applier has done all up to a place in its source's log: 0, -1 after so
/// many seconds (0 is for ever), NULL if the applier does not run or stops. MySQL counts the events
/// that it waited for; here only their end is known.
fn source_pos_wait<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let file = not_null!(call.text(cx, 0)).into_owned();
    let offset = u64::try_from(not_null!(call.int(cx, 1))).unwrap_or(0);
    let seconds = if call.count() > 2 { not_null!(call.double(cx, 2)) } else { 0.0 };
    if seconds < 0.0 {
        return Err(error::WRONG_ARGUMENTS.with(&[&"SOURCE_POS_WAIT."]));
    }
    let name = if call.count() > 3 { not_null!(call.text(cx, 3)).into_owned() } else { Vec::new() };
    let name = String::from_utf8_lossy(&name).to_lowercase();
    let channels = cx.instance.channels();
    if call.count() < 4 && channels.all().iter().any(|channel| !channel.name().is_empty()) {
        return Err(error::REPLICA_MULTIPLE_CHANNELS_CMD.plain());
    }
    let file = String::from_utf8_lossy(&file).into_owned();
    let (Some(channel), false) = (channels.get(&name), file.is_empty()) else { return Ok(Datum::Null) };
    let limit = Duration::from_secs_f64(seconds.min(1e9));
    let mut waited = Duration::ZERO;
    loop {
        let (runs, executed) =
            channel.with(|state| (state.applier.running != Running::No, state.progress.executed.clone()));
        if !runs {
            return Ok(Datum::Null);
        }
        if is_reached(&executed, &file, offset) {
            return Ok(Datum::Int(0));
        }
        if !limit.is_zero() && waited >= limit {
            return Ok(Datum::Int(-1));
        }
        cx.interrupt.sleep(PAUSE);
        waited += PAUSE;
        cx.check_interrupt()?;
    }
}

/// Whether the place is behind another. Files are in the order of the numbers at their names' ends.
fn is_reached(executed: &SourcePosition, file: &str, offset: u64) -> bool {
    let number = |name: &str| name.rsplit_once('.').and_then(|(_, number)| number.parse::<u64>().ok());
    match number(&executed.file).cmp(&number(file)) {
        Ordering::Greater => true,
        Ordering::Equal => executed.offset >= offset,
        Ordering::Less => false,
    }
}

/// 0 once the transactions are visible here, 1 after so many seconds (0 is for ever).
fn wait_for_executed_gtid_set<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let Some(wanted) = set(cx, call, 0)? else {
        return Err(error::MALFORMED_GTID_SET_SPECIFICATION.with(&[&"NULL"]));
    };
    let seconds = if call.count() > 1 { call.double(cx, 1)? } else { Some(0.0) };
    let Some(seconds) = seconds.filter(|seconds| *seconds >= 0.0) else {
        return Err(error::WRONG_ARGUMENTS.with(&[&"WAIT_FOR_EXECUTED_GTID_SET."]));
    };
    let limit = Duration::from_secs_f64(seconds.min(1e9));
    let mut waited = Duration::ZERO;
    loop {
        if wanted.is_subset(&cx.instance.log().gtid_executed()) {
            return Ok(Datum::Int(0));
        }
        if !limit.is_zero() && waited >= limit {
            return Ok(Datum::Int(1));
        }
        cx.interrupt.sleep(PAUSE);
        waited += PAUSE;
        cx.check_interrupt()?;
    }
}
