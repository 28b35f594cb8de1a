//! Locks by name: GET_LOCK and its like. The table of them is [`crate::session::named_locks`].

use std::time::Duration;

use super::{Call, Function, f};
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("get_lock", (2, 2), super::int, get_lock).volatile(),
    f("is_free_lock", (1, 1), super::boolean, is_free_lock).volatile(),
    f("is_used_lock", (1, 1), super::uint, is_used_lock).volatile(),
    f("release_all_locks", (0, 0), super::uint, release_all_locks).volatile(),
    f("release_lock", (1, 1), super::boolean, release_lock).volatile(),
];

/// A lock's name has so many characters at most.
const NAME_MAX: usize = 64;

/// Locks whose names begin so are those of this program's own commands (`duramen failover`): who
/// may not administer replication could keep these from their work.
const RESERVED: &str = "duramen ";

/// Error 1227: the account may not take a reserved lock.
fn check_reserved(cx: &Context, name: &str) -> Result<()> {
    let grants = cx.grants_now();
    let may = grants.global.has(Privileges::SUPER) || grants.has_dynamic("REPLICATION_SLAVE_ADMIN");
    match name.starts_with(RESERVED) && !may {
        true => Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"SUPER or REPLICATION_SLAVE_ADMIN"])),
        false => Ok(()),
    }
}

/// The lock that the first argument names; case does not count. Errors 3057, 4163.
fn name<'a>(cx: &mut Context, call: Call<'a>) -> Result<String> {
    let Some(text) = call.text(cx, 0)? else { return Err(error::USER_LOCK_WRONG_NAME.with(&[&"NULL"])) };
    let text = String::from_utf8_lossy(&text);
    match text.chars().count() {
        0 => Err(error::USER_LOCK_WRONG_NAME.with(&[&text])),
        1..=NAME_MAX => Ok(text.to_lowercase()),
        _ => Err(error::USER_LOCK_OVERLONG_NAME.with(&[&text, &NAME_MAX])),
    }
}

/// 1 once it is held, 0 after so many seconds; a negative number waits for ever.
fn get_lock<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = name(cx, call)?;
    check_reserved(cx, &name)?;
    let seconds = call.double(cx, 1)?.unwrap_or(0.0);
    let limit = (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.round().min(1e9)));
    let instance = cx.instance.clone();
    let granted = instance.named_locks().acquire(&name, cx.connection.id, limit, &cx.interrupt)?;
    cx.locks.holds_named |= granted;
    Ok(Datum::from_bool(granted))
}

/// 1 if it was held here, 0 if elsewhere, NULL if nowhere.
fn release_lock<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = name(cx, call)?;
    let released = cx.instance.named_locks().release(&name, cx.connection.id);
    Ok(released.map_or(Datum::Null, Datum::from_bool))
}

fn release_all_locks<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    Ok(Datum::UInt(cx.release_named_locks()))
}

fn is_free_lock<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = name(cx, call)?;
    Ok(Datum::from_bool(cx.instance.named_locks().owner(&name).is_none()))
}

/// The holder's connection.
fn is_used_lock<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let name = name(cx, call)?;
    Ok(cx.instance.named_locks().owner(&name).map_or(Datum::Null, Datum::UInt))
}
