//! `@@name`, on top of the registry in [`crate::variables`]. SET is in [`crate::admin::set`].

use binlog::gtid::GtidSet;
use binlog::log::Log;

use super::Context;
use crate::variables::{self as registry, Value, VariableId, ids};
use datum::error::{self, Result};
use datum::types::{Charset, Collation};
use datum::value::Datum;
use syntax::ast::{self, SystemVariable, VariableScope};

fn find(name: &ast::VariableName) -> Result<VariableId> {
    let full = match &name.component {
        Some(component) => format!("{component}.{}", name.name),
        None => name.name.to_string(),
    };
    registry::find(&full).ok_or_else(|| error::UNKNOWN_SYSTEM_VARIABLE.with(&[&full]))
}

/// Reads `@@name`.
pub(crate) fn read<'a>(cx: &mut Context, variable: &SystemVariable) -> Result<Datum<'a>> {
    let id = find(&variable.name)?;
    let scope = match variable.scope {
        None => None,
        Some(VariableScope::Session) => Some(registry::Scope::Session),
        Some(_) => Some(registry::Scope::Global),
    };
    if let (None | Some(registry::Scope::Session), Some(value)) = (scope, computed(cx, id)) {
        return Ok(value);
    }
    let value = registry::read(cx.instance.globals(), cx.settings.variables(), id, scope)?;
    if let Some(value) = computed_global(cx, id) {
        return Ok(value);
    }
    Ok(datum(&id.variable().select(&value)))
}

/// The value as SHOW VARIABLES prints it.
pub(crate) fn shown(cx: &mut Context, id: VariableId, global: bool) -> Option<String> {
    let variable = id.variable();
    let text = |d: Datum<'_>| String::from_utf8_lossy(&d.to_bytes()).into_owned();
    if global && !variable.has_global() {
        return None;
    }
    if let Some(value) = computed_global(cx, id) {
        return Some(text(value));
    }
    if let (false, ids::WARNING_COUNT | ids::ERROR_COUNT) = (global, id) {
        return Some("0".to_owned()); // SHOW VARIABLES has begun a list of its own
    }
    if !global && let Some(value) = computed(cx, id) {
        return Some(text(value));
    }
    let scope = if global { Some(registry::Scope::Global) } else { None };
    let value = registry::read(cx.instance.globals(), cx.settings.variables(), id, scope).ok()?;
    Some(variable.show(&value).into_owned())
}

fn computed<'a>(cx: &mut Context, id: VariableId) -> Option<Datum<'a>> {
    Some(match id {
        ids::ERROR_COUNT => Datum::UInt(cx.statement.diagnostics.counts_before().1),
        ids::WARNING_COUNT => Datum::UInt(cx.statement.diagnostics.counts_before().0),
        ids::LAST_INSERT_ID | ids::IDENTITY => Datum::UInt(cx.statement.status.last_insert_id),
        ids::GTID_NEXT => Datum::owned(cx.log.gtid_next_text()),
        ids::GTID_OWNED => Datum::owned(cx.log.owned_gtid().map(|gtid| gtid.to_string()).unwrap_or_default()),
        ids::PSEUDO_THREAD_ID => Datum::UInt(cx.logged_thread_id()),
        ids::TIMESTAMP => {
            let micros = datum::value::Decimal::from_parts(cx.statement.moment().into(), 6)?;
            Datum::Decimal(micros)
        }
        _ => return None,
    })
}

/// `gtid_purged`; empty if the oldest log file can't be read.
fn gtid_purged(log: &Log) -> GtidSet {
    log.gtid_purged().unwrap_or_else(|error| {
        tracing::warn!(%error, "the oldest log file's GTIDs can't be read");
        GtidSet::new()
    })
}

fn computed_global<'a>(cx: &Context, id: VariableId) -> Option<Datum<'a>> {
    match id {
        ids::GTID_EXECUTED => Some(Datum::owned(cx.instance.log().gtid_executed().to_string())),
        ids::GTID_PURGED => Some(Datum::owned(gtid_purged(cx.instance.log()).to_string())),
        ids::GTID_OWNED => Some(Datum::owned(cx.instance.owned_gtids().text())),
        _ => None,
    }
}

fn datum<'a>(value: &Value) -> Datum<'a> {
    match value {
        Value::Null => Datum::Null,
        Value::Bool(b) => Datum::from_bool(*b),
        Value::Int(v) => Datum::Int(*v),
        Value::UInt(v) => Datum::UInt(*v),
        Value::Double(v) => Datum::Double(*v),
        Value::Text(text) => Datum::owned(text.as_bytes()),
    }
}

/// What the client sends and gets, and the connection's collation.
pub(crate) fn put_charsets(cx: &mut Context, charset: Charset, connection: Collation) {
    let text = |name: &str| Value::Text(name.into());
    cx.change_variables(|v| {
        v.put(ids::CHARACTER_SET_CLIENT, text(charset.name()));
        v.put(ids::CHARACTER_SET_RESULTS, text(charset.name()));
        v.put(ids::CHARACTER_SET_CONNECTION, text(connection.charset().name()));
        v.put(ids::COLLATION_CONNECTION, text(connection.name()));
    });
}
