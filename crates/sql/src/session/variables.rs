//! `@@name` and SET, on top of the registry in [`crate::variables`].

use super::Context;
use crate::ast::{self, ExprKind, SetItem, SystemVariable, VariableScope};
use crate::error::{self, Result, SqlError};
use crate::expression::{Resolver, Row};
use crate::types::{Charset, Collation, DataType, Type};
use crate::value::Datum;
use crate::variables::{self as registry, Assigned, Value, VariableId, ids};

fn find(name: &ast::VariableName) -> Result<VariableId> {
    let full = match &name.component {
        Some(component) => format!("{component}.{}", name.name),
        None => name.name.to_string(),
    };
    registry::find(&full).ok_or_else(|| error::UNKNOWN_SYSTEM_VARIABLE.with(&[&full]))
}

/// Reads `@@name`.
pub fn read<'a>(cx: &mut Context, variable: &SystemVariable) -> Result<Datum<'a>> {
    let id = find(&variable.name)?;
    let scope = match variable.scope {
        None => None,
        Some(VariableScope::Session) => Some(registry::Scope::Session),
        Some(_) => Some(registry::Scope::Global),
    };
    if let (None | Some(registry::Scope::Session), Some(value)) = (scope, computed(cx, id)) {
        return Ok(value);
    }
    let value = registry::read(cx.database.globals(), cx.variables(), id, scope)?;
    if let Some(value) = computed_global(cx, id) {
        return Ok(value);
    }
    Ok(datum(&id.variable().select(&value)))
}

/// The value as SHOW VARIABLES prints it.
pub fn shown(cx: &mut Context, id: VariableId, global: bool) -> Option<String> {
    let variable = id.variable();
    let text = |d: Datum<'_>| String::from_utf8_lossy(&d.to_bytes()).into_owned();
    if global && !variable.has_global() {
        return None;
    }
    if let Some(value) = computed_global(cx, id) {
        return Some(text(value));
    }
    if !global && let Some(value) = computed(cx, id) {
        return Some(text(value));
    }
    let scope = if global { Some(registry::Scope::Global) } else { None };
    let value = registry::read(cx.database.globals(), cx.variables(), id, scope).ok()?;
    Some(variable.show(&value).into_owned())
}

fn computed<'a>(cx: &mut Context, id: VariableId) -> Option<Datum<'a>> {
    Some(match id {
        ids::ERROR_COUNT => Datum::UInt(cx.diagnostics.error_count()),
        ids::WARNING_COUNT => Datum::UInt(cx.diagnostics.warning_count()),
        ids::LAST_INSERT_ID | ids::IDENTITY => Datum::UInt(cx.status.last_insert_id),
        ids::PSEUDO_THREAD_ID => Datum::UInt(cx.id),
        ids::TIMESTAMP => {
            let micros = crate::value::Decimal::from_parts(cx.moment().into(), 6)?;
            Datum::Decimal(micros)
        }
        _ => return None,
    })
}

fn computed_global<'a>(cx: &Context, id: VariableId) -> Option<Datum<'a>> {
    match id {
        ids::GTID_EXECUTED => Some(Datum::owned(cx.database.log().gtid_executed().to_string())),
        ids::GTID_PURGED => Some(Datum::borrowed(b"")),
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

/// SET: its items in order; the first that fails ends it.
pub fn set(cx: &mut Context, items: &[SetItem]) -> Result<()> {
    for item in items {
        match item {
            SetItem::UserVariable { name, value } => {
                let (datum, ty) = evaluate(cx, value)?;
                cx.set_user_variable(name, datum, ty);
            }
            SetItem::Variable { scope, name, value } => set_variable(cx, *scope, name, value.as_ref())?,
            SetItem::Names { charset, collation } => set_names(cx, charset.as_deref(), collation.as_deref())?,
            SetItem::CharacterSet(charset) => set_character_set(cx, charset.as_deref())?,
            SetItem::Transaction { scope, isolation, read_only } => {
                set_transaction(cx, *scope, *isolation, *read_only)?;
            }
            SetItem::Password { .. } => return Err(SqlError::internal("SET PASSWORD is no variable")),
            SetItem::ResourceGroup(_) => return Err(SqlError::unsupported("resource groups")),
        }
    }
    Ok(())
}

fn evaluate(cx: &mut Context, ast: &ast::Expr) -> Result<(Datum<'static>, Type)> {
    let scope = crate::routine::scope(cx);
    let expr = Resolver::new(cx, scope).expr(ast)?;
    let value = expr.eval(cx, Row::None)?.into_owned();
    Ok((value, expr.ty))
}

fn set_variable(
    cx: &mut Context,
    scope: Option<VariableScope>,
    name: &ast::VariableName,
    value: Option<&ast::Expr>,
) -> Result<()> {
    if scope.is_none()
        && name.component.is_none()
        && let Some((index, ty)) = crate::routine::find_local(cx, &name.name)
    {
        return set_local(cx, index, &ty, value);
    }
    let id = find(name)?;
    let assigned = match value {
        None => Assigned::Default,
        // A bare word: ON, utf8mb4, ANSI.
        Some(ast::Expr { kind: ExprKind::Column(word), .. }) if word.table.is_none() => {
            Assigned::Text(word.column.to_string())
        }
        Some(value) => assigned(evaluate(cx, value)?.0),
    };
    match scope {
        Some(VariableScope::Persist | VariableScope::PersistOnly) => {
            Err(SqlError::unsupported("SET PERSIST"))
        }
        Some(VariableScope::Global) => set_global(cx, id, &assigned),
        None | Some(VariableScope::Session) => set_session(cx, id, &assigned),
    }
}

fn assigned(value: Datum<'_>) -> Assigned {
    match value {
        Datum::Null => Assigned::Null,
        Datum::Int(v) => Assigned::Int(v),
        Datum::UInt(v) => Assigned::UInt(v),
        Datum::Double(_) | Datum::Float(_) | Datum::Decimal(_) => Assigned::Double(value.to_f64().value),
        other => Assigned::Text(String::from_utf8_lossy(&other.to_bytes()).into_owned()),
    }
}

/// A routine's variable.
fn set_local(cx: &mut Context, index: usize, ty: &DataType, value: Option<&ast::Expr>) -> Result<()> {
    let (value, given) = match value {
        Some(value) => evaluate(cx, value)?,
        None => (Datum::Null, Type::NULL),
    };
    crate::routine::assign(cx, index, ty, value, given.collation.charset())
}

fn set_global(cx: &mut Context, id: VariableId, assigned: &Assigned) -> Result<()> {
    cx.need_administrator("SUPER or SYSTEM_VARIABLES_ADMIN")?;
    let strict = cx.variables().uint(ids::SQL_MODE) & registry::sql_mode::STRICT_ALL_TABLES != 0;
    let warning = cx.database.globals().set(id, assigned, strict)?;
    warn(cx, warning);
    Ok(())
}

fn warn(cx: &mut Context, warning: Option<registry::Warning>) {
    if let Some(warning) = warning {
        let mut e = error::TRUNCATED_WRONG_VALUE.plain();
        e.number = warning.number;
        e.message = warning.message;
        cx.warn(e);
    }
}

fn set_session(cx: &mut Context, id: VariableId, assigned: &Assigned) -> Result<()> {
    if id.variable().needs_admin() {
        cx.need_administrator("SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")?;
    }
    match id {
        ids::LAST_INSERT_ID | ids::IDENTITY => {
            if let Assigned::Int(_) | Assigned::UInt(_) = assigned {
                cx.status.last_insert_id = match *assigned {
                    Assigned::Int(v) => v.max(0) as u64,
                    Assigned::UInt(v) => v,
                    _ => 0,
                };
            }
            return Ok(());
        }
        // The connection's number in the log: kept as it is, which is the truth.
        ids::PSEUDO_THREAD_ID => return Ok(()),
        ids::AUTOCOMMIT => return set_autocommit(cx, assigned),
        ids::TRANSACTION_ISOLATION | ids::TRANSACTION_READ_ONLY if cx.in_transaction() => {}
        _ => {}
    }
    let globals = cx.database.globals().clone();
    let warning = cx.change_variables(|v| v.set(&globals, id, assigned))?;
    warn(cx, warning);
    Ok(())
}

/// Switching autocommit on commits what is open.
fn set_autocommit(cx: &mut Context, assigned: &Assigned) -> Result<()> {
    let before = cx.autocommit();
    let globals = cx.database.globals().clone();
    cx.change_variables(|v| v.set(&globals, ids::AUTOCOMMIT, assigned))?;
    if !before && cx.autocommit() {
        if !cx.frames.is_empty() {
            return Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain());
        }
        cx.commit()?;
    }
    Ok(())
}

fn set_names(cx: &mut Context, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[&name]))?,
        None => Charset::Utf8mb4,
    };
    let collation = match collation {
        Some(name) => {
            let found = Collation::by_name(name).ok_or_else(|| error::UNKNOWN_COLLATION.with(&[&name]))?;
            if found.charset() != charset {
                return Err(error::COLLATION_CHARSET_MISMATCH.with(&[&found.name(), &charset.name()]));
            }
            found
        }
        None => charset.default_collation(),
    };
    put_charsets(cx, charset, collation);
    Ok(())
}

/// SET CHARACTER SET: the connection's is the database's.
fn set_character_set(cx: &mut Context, charset: Option<&str>) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[&name]))?,
        None => Charset::Utf8mb4,
    };
    let database = Collation::by_name(cx.variables().text(ids::COLLATION_DATABASE));
    put_charsets(cx, charset, database.unwrap_or(Collation::UTF8MB4_0900_AI_CI));
    Ok(())
}

/// What the client sends and gets, and the connection's collation.
pub fn put_charsets(cx: &mut Context, charset: Charset, connection: Collation) {
    let text = |name: &str| Value::Text(name.into());
    cx.change_variables(|v| {
        v.put(ids::CHARACTER_SET_CLIENT, text(charset.name()));
        v.put(ids::CHARACTER_SET_RESULTS, text(charset.name()));
        v.put(ids::CHARACTER_SET_CONNECTION, text(connection.charset().name()));
        v.put(ids::COLLATION_CONNECTION, text(connection.name()));
    });
}

fn set_transaction(
    cx: &mut Context,
    scope: Option<VariableScope>,
    isolation: Option<ast::Isolation>,
    read_only: Option<bool>,
) -> Result<()> {
    let Some(scope) = scope else {
        if cx.in_transaction() {
            return Err(error::CANT_CHANGE_TX_CHARACTERISTICS.plain());
        }
        cx.next_transaction.isolation = isolation.or(cx.next_transaction.isolation);
        cx.next_transaction.read_only = read_only.or(cx.next_transaction.read_only);
        return Ok(());
    };
    let level = isolation.map(|isolation| Assigned::Int(isolation as i64));
    let settings = [
        (ids::TRANSACTION_ISOLATION, level),
        (ids::TRANSACTION_READ_ONLY, read_only.map(|on| Assigned::Int(on.into()))),
    ];
    for (id, assigned) in settings {
        match assigned {
            Some(assigned) if scope == VariableScope::Global => set_global(cx, id, &assigned)?,
            Some(assigned) => set_session(cx, id, &assigned)?,
            None => {}
        }
    }
    Ok(())
}
