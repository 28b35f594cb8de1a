//! The lists of sources for asynchronous connection failover ([`crate::replica::failover`]).
//!
//! MySQL has these as loadable functions that are always loaded: so what is wrong with the
//! arguments is error 1123, also their number, and what is wrong with the list 3200. Groups whose
//! members are listed by themselves would need group replication: those functions are refused.

use super::{Call, Function, MANY, Typing, f};
use crate::expression::Expr;
use crate::privilege::Privileges;
use crate::replica::channel::ChannelState;
use crate::replica::failover::{FailoverSource, FailoverSources};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Coercibility, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f(ADD_MANAGED, (0, MANY), result, add_managed).volatile(),
    f(ADD_SOURCE, (0, MANY), result, add_source).volatile(),
    f(DELETE_MANAGED, (0, MANY), result, delete_managed).volatile(),
    f(DELETE_SOURCE, (0, MANY), result, delete_source).volatile(),
    f(RESET, (0, MANY), result, reset).volatile(),
];

const ADD_MANAGED: &str = "asynchronous_connection_failover_add_managed";
const ADD_SOURCE: &str = "asynchronous_connection_failover_add_source";
const DELETE_MANAGED: &str = "asynchronous_connection_failover_delete_managed";
const DELETE_SOURCE: &str = "asynchronous_connection_failover_delete_source";
const RESET: &str = "asynchronous_connection_failover_reset";

/// Limits of MySQL's table, in characters.
const CHANNEL_MAX: usize = 64;
const HOST_MAX: usize = 255;
const WEIGHT_DEFAULT: u8 = 50;

fn result(_: &[Expr], typing: &Typing) -> Type {
    Type::text(typing.connection, Coercibility::Literal, 255)
}

fn executed(name: &str) -> Datum<'static> {
    Datum::owned(format!("The UDF {name}() executed successfully."))
}

/// Error 1123: the call can't be made.
fn not_callable(name: &str, why: &str) -> SqlError {
    error::CANT_INITIALIZE_UDF.with(&[&name, &why])
}

/// Error 1123, about the arguments.
fn wrong_arguments(name: &str, why: &str) -> SqlError {
    not_callable(name, &format!("Wrong arguments: {why}"))
}

/// Error 3200: the list can't be changed so.
fn failed(name: &str, why: &str) -> SqlError {
    error::UDF_ERROR.with(&[&name, &why])
}

/// Errors 1227 and 1123: what every call asks for before it looks at its arguments' values.
fn check_session(cx: &Context, name: &str) -> Result<()> {
    let grants = cx.grants_now();
    if !grants.global.has(Privileges::SUPER) && !grants.has_dynamic("REPLICATION_SLAVE_ADMIN") {
        return Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&"SUPER or REPLICATION_SLAVE_ADMIN"]));
    }
    if cx.has_locks() {
        let why = "Can't execute the given operation because you have active locked tables.";
        return Err(not_callable(name, why));
    }
    Ok(())
}

/// Channel, host, port, network namespace, weight: checked in MySQL's order.
fn source<'a>(cx: &mut Context, call: Call<'a>, name: &str, count_max: usize) -> Result<FailoverSource> {
    const MANDATORY: usize = 3;
    let wrong = |why: &str| Err(wrong_arguments(name, why));
    if call.count() < MANDATORY {
        return wrong("You need to specify all mandatory arguments.");
    }
    if call.count() > count_max {
        return wrong(&format!("You must specify max {count_max} arguments."));
    }
    check_session(cx, name)?;
    let mut arguments = Vec::new();
    for i in 0..call.count() {
        arguments.push(call.value(cx, i)?);
    }
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next();
    let channel = match next() {
        Some(Datum::Null) => String::new(),
        Some(Datum::Bytes(channel)) => String::from_utf8_lossy(&channel).into_owned(),
        _ => return wrong("You need to specify channel name."),
    };
    let host = match next() {
        Some(Datum::Bytes(host)) if !host.is_empty() => String::from_utf8_lossy(&host).into_owned(),
        _ => return wrong("You need to specify hostname."),
    };
    // MySQL takes any number for a port, also those that none has.
    let port = match next().and_then(|port| whole(&port)).and_then(|port| u16::try_from(port).ok()) {
        Some(port) if port > 0 => port,
        _ => return wrong("You need to specify value for port."),
    };
    match next() {
        None | Some(Datum::Null) => {}
        Some(Datum::Bytes(namespace)) if namespace.is_empty() => {}
        Some(Datum::Bytes(_)) => {
            return Err(SqlError::unsupported(format_args!("{name}() with a network namespace")));
        }
        _ => return wrong("You need to specify a string value for network_namespace."),
    }
    let weight = match next() {
        None => WEIGHT_DEFAULT,
        Some(weight) => match whole(&weight).and_then(|weight| u8::try_from(weight).ok()) {
            Some(weight @ 1..=100) => weight,
            _ => return wrong("The weight argument value should be integer value between 1-100."),
        },
    };
    let unsaved = |field: &str| {
        let table = "mysql.replication_asynchronous_connection_failover";
        Err(failed(name, &format!("Error saving {field} field of {table}.")))
    };
    if channel.chars().count() > CHANNEL_MAX {
        return unsaved("channel");
    }
    if host.len() > HOST_MAX || !host.is_ascii() {
        return unsaved("host");
    }
    Ok(FailoverSource { channel, host, port, weight })
}

/// A number that is an integer already: texts, decimals and NULL are none.
fn whole(value: &Datum<'_>) -> Option<i64> {
    match value {
        Datum::Int(n) => Some(*n),
        Datum::UInt(n) => i64::try_from(*n).ok(),
        _ => None,
    }
}

fn add_source<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let source = source(cx, call, ADD_SOURCE, 5)?;
    cx.instance.channels().change_failover(|sources| match sources.add(source) {
        true => Ok(()),
        false => Err(failed(ADD_SOURCE, "Error inserting row to the table.")),
    })?;
    Ok(executed(ADD_SOURCE))
}

fn delete_source<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let source = source(cx, call, DELETE_SOURCE, 4)?;
    cx.instance.channels().change_failover(|sources| match sources.remove(&source) {
        true => Ok(()),
        false => Err(failed(DELETE_SOURCE, "Error no matching row was found to be deleted.")),
    })?;
    Ok(executed(DELETE_SOURCE))
}

fn reset<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    if call.count() > 0 {
        return Err(wrong_arguments(RESET, "The function takes no arguments."));
    }
    check_session(cx, RESET)?;
    let fails_over = |state: &mut ChannelState| state.source.auto_failover && state.is_running();
    if cx.instance.channels().all().iter().any(|channel| channel.with(fails_over)) {
        let why = "Can't execute the given operation while Replication channels configured with \
                   SOURCE_CONNECTION_AUTO_FAILOVER are running.";
        return Err(not_callable(RESET, why));
    }
    cx.instance.channels().change_failover(|sources| {
        *sources = FailoverSources::default();
        Ok(())
    })?;
    Ok(executed(RESET))
}

fn add_managed<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    refuse_group(cx, ADD_MANAGED)
}

fn delete_managed<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    refuse_group(cx, DELETE_MANAGED)
}

fn refuse_group<'a>(cx: &Context, name: &str) -> Value<'a> {
    check_session(cx, name)?;
    Err(SqlError::unsupported(format_args!("{name}() (group replication)")))
}
