//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, as a client's statements and as those of stored programs.

use super::{find_local, handlers, scope};
use crate::expression::{Resolver, Row};
use crate::session::Context;
use datum::error::{
    self, Code, Condition, ConditionItem, ConditionItems, Diagnostics, Level, Naming, Result, SqlError,
};
use datum::types::{Charset, Coercibility, Collation, Type};
use datum::value::Datum;
use syntax::ast::{ConditionValue, Expr, ExprKind, GetDiagnostics, Ident, Signal};

/// Characters of `MESSAGE_TEXT`, and of the other items.
const MESSAGE_MAX: usize = 128;
const ITEM_MAX: usize = 64;

/// The items that have no effect, by their names.
const ITEMS: [(&str, ConditionItem); 10] = [
    ("CLASS_ORIGIN", ConditionItem::ClassOrigin),
    ("SUBCLASS_ORIGIN", ConditionItem::SubclassOrigin),
    ("CONSTRAINT_CATALOG", ConditionItem::ConstraintCatalog),
    ("CONSTRAINT_SCHEMA", ConditionItem::ConstraintSchema),
    ("CONSTRAINT_NAME", ConditionItem::ConstraintName),
    ("CATALOG_NAME", ConditionItem::CatalogName),
    ("SCHEMA_NAME", ConditionItem::SchemaName),
    ("TABLE_NAME", ConditionItem::TableName),
    ("COLUMN_NAME", ConditionItem::ColumnName),
    ("CURSOR_NAME", ConditionItem::CursorName),
];

/// SIGNAL and RESIGNAL: the error, or a warning in the list.
pub(crate) fn signal(cx: &mut Context, signal: &Signal) -> Result<()> {
    let handled = handlers::active(cx).map(|active| (active.condition.clone(), active.stacked.clone()));
    if signal.resignal && handled.is_none() {
        return Err(error::RESIGNAL_WITHOUT_ACTIVE_HANDLER.plain());
    }
    let new = match &signal.condition {
        None => None,
        Some(ConditionValue::SqlState(state)) => Some(described(state)),
        Some(ConditionValue::Named(name)) => return Err(error::SP_COND_MISMATCH.with(&[name])),
        Some(_) => return Err(error::SIGNAL_BAD_CONDITION_TYPE.plain()),
    };
    let said = items(cx, &signal.items)?;
    let (list, mut condition, is_new) = match (handled.filter(|_| signal.resignal), new) {
        (Some((handled, stacked)), None) => (Some(stacked), handled, false),
        (Some((handled, stacked)), Some(mut new)) => {
            // As in MySQL, RESIGNAL with another SQLSTATE keeps the text, and nothing else; its
            // origins are those of the server's own conditions.
            new.error.message = handled.error.message;
            new.items = None;
            (Some(stacked), new, true)
        }
        (None, Some(new)) => (None, new, true),
        (None, None) => return Err(error::RESIGNAL_WITHOUT_ACTIVE_HANDLER.plain()),
    };
    let before = condition.clone();
    said.into_iter().for_each(|item| item.apply(&mut condition));
    if let Some(mut list) = list {
        list.forget_handled();
        cx.statement.diagnostics = list;
    }
    match cx.statement.diagnostics.find_mut(&before).filter(|_| !is_new) {
        Some(listed) => listed.clone_from(&condition),
        None => cx.statement.diagnostics.push_condition(condition.clone()),
    }
    // The handler goes on after a warning: it is one of those that it handles, then.
    if signal.resignal
        && let Some(active) = cx.statement.frames.last_mut().and_then(|f| f.program.active.last_mut())
    {
        active.stacked = cx.statement.diagnostics.clone();
    }
    if condition.level == Level::Error { Err(condition.error) } else { Ok(()) }
}

/// A condition of this SQLSTATE before its items are set.
fn described(state: &[u8; 5]) -> Condition {
    let (level, code): (Level, Code) = match state {
        [b'0', b'1', ..] => (Level::Warning, error::SIGNAL_WARN),
        [b'0', b'2', ..] => (Level::Error, error::SIGNAL_NOT_FOUND),
        _ => (Level::Error, error::SIGNAL_EXCEPTION),
    };
    let error = SqlError { sqlstate: *state, naming: Naming::Complete, ..code.plain() };
    Condition { items: Some(Box::default()), ..Condition::new(level, error) }
}

/// An item with its value.
enum Said {
    Number(u16),
    Message(String),
    Other(ConditionItem, String),
}

impl Said {
    fn apply(self, to: &mut Condition) {
        match self {
            Said::Number(number) => to.error.number = number,
            Said::Message(text) => to.error.message = text,
            Said::Other(item, text) => {
                let origins = origins(to);
                let items = to.items.get_or_insert_with(|| {
                    let mut items = ConditionItems::default();
                    items.set(ConditionItem::ClassOrigin, origins.into());
                    items.set(ConditionItem::SubclassOrigin, origins.into());
                    Box::new(items)
                });
                items.set(item, text);
            }
        }
    }
}

/// Evaluates all items before one takes effect.
fn items(cx: &mut Context, items: &[(Ident, Expr)]) -> Result<Vec<Said>> {
    let mut out = Vec::with_capacity(items.len());
    for (name, value) in items {
        let scope = scope(cx);
        let expr = Resolver::new(cx, scope).expr(value)?;
        let charset = expr.ty.text_charset();
        let value = expr.eval(cx, Row::None)?.into_owned();
        if matches!(value, Datum::Null) {
            return Err(error::WRONG_VALUE_FOR_VAR.with(&[name, &"NULL"]));
        }
        if name.is("MYSQL_ERRNO") {
            let number = value.to_integer().value;
            let valid = u16::try_from(number).ok().filter(|&number| number > 0);
            let number = valid.ok_or_else(|| error::WRONG_VALUE_FOR_VAR.with(&[name, &number]))?;
            out.push(Said::Number(number));
            continue;
        }
        let text = charset.convert(value.into_bytes(), Charset::Utf8mb4).0;
        let mut text = String::from_utf8_lossy(&text).into_owned();
        let length_max = if name.is("MESSAGE_TEXT") { MESSAGE_MAX } else { ITEM_MAX };
        if let Some((end, _)) = text.char_indices().nth(length_max) {
            if cx.settings.modes().strict {
                return Err(error::COND_ITEM_TOO_LONG.with(&[name]));
            }
            text.truncate(end);
            cx.statement.diagnostics.warn(error::COND_ITEM_TRUNCATED.with(&[name]));
        }
        out.push(match ITEMS.iter().find(|(known, _)| name.is(known)) {
            Some((_, item)) => Said::Other(*item, text),
            None => Said::Message(text),
        });
    }
    Ok(out)
}

/// GET DIAGNOSTICS. A number that no condition has is noted as an error in the list, and fails
/// nothing, but for ROW_COUNT().
pub(crate) fn get_diagnostics(cx: &mut Context, get: &GetDiagnostics) -> Result<()> {
    let stacked = match get.stacked {
        true => {
            let active = handlers::active(cx);
            let active = active.ok_or_else(|| error::GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER.plain())?;
            Some(active.stacked.clone())
        }
        false => None,
    };
    let list = stacked.as_ref().unwrap_or(&cx.statement.diagnostics).conditions();
    // As in MySQL it is that of the last statement, also where a handler has run some.
    let row_count = cx.statement.status.row_count;
    let values: Vec<(Datum<'static>, Type)> = match &get.condition {
        None => {
            let number = list.len() as i64;
            let value = |name: &Ident| if name.is("NUMBER") { number } else { row_count };
            get.items.iter().map(|(_, name)| (Datum::Int(value(name)), Type::INT)).collect()
        }
        Some(number) => {
            let list = list.to_vec();
            let scope = scope(cx);
            let number = Resolver::new(cx, scope).expr(number)?.eval(cx, Row::None)?.into_owned();
            let number = match number {
                Datum::Null => 0,
                number => number.to_integer().value,
            };
            let found = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| list.get(n));
            let Some(condition) = found else {
                let e = error::DA_INVALID_CONDITION_NUMBER.plain();
                cx.statement.diagnostics.push(Level::Error, e);
                cx.statement.status.row_count = -1;
                return Ok(());
            };
            get.items.iter().map(|(_, name)| item_of(condition, name)).collect()
        }
    };
    for ((target, _), (value, ty)) in get.items.iter().zip(values) {
        put(cx, target, value, ty)?;
    }
    Ok(())
}

fn item_of(condition: &Condition, name: &Ident) -> (Datum<'static>, Type) {
    let error = &condition.error;
    if name.is("MYSQL_ERRNO") {
        return (Datum::Int(error.number.into()), Type::INT);
    }
    let text = match ITEMS.iter().find(|(known, _)| name.is(known)) {
        Some((_, item)) => match (&condition.items, item) {
            (Some(items), item) => items.get(*item).to_owned(),
            (None, ConditionItem::ClassOrigin | ConditionItem::SubclassOrigin) => {
                origins(condition).to_owned()
            }
            (None, _) => String::new(),
        },
        None if name.is("RETURNED_SQLSTATE") => String::from_utf8_lossy(&error.sqlstate).into_owned(),
        None => error.message.clone(),
    };
    let length = text.chars().count() as u32;
    let ty = Type::text(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit, length);
    (Datum::owned(text), ty)
}

/// Whose the SQLSTATE of a condition is that no SIGNAL has described.
fn origins(condition: &Condition) -> &'static str {
    match condition.error.sqlstate[0] {
        b'0'..=b'4' | b'A'..=b'H' => "ISO 9075",
        _ => "MySQL",
    }
}

/// Gives a variable an item; what is too long for it is cut, and nothing is said of that.
fn put(cx: &mut Context, target: &Expr, value: Datum<'static>, ty: Type) -> Result<()> {
    match &target.kind {
        ExprKind::UserVariable(name) => {
            cx.set_user_variable(name, value, ty);
            Ok(())
        }
        ExprKind::Column(name) => {
            let local = find_local(cx, &name.column);
            let (place, of) = local.ok_or_else(|| error::SP_UNDECLARED_VAR.with(&[&name.column]))?;
            let list: Diagnostics = cx.statement.diagnostics.clone();
            let lenient = super::assign_leniently(cx, place, &of, value, Charset::Utf8mb4);
            cx.statement.diagnostics = list;
            lenient
        }
        _ => Err(SqlError::internal("a target of GET DIAGNOSTICS that is no variable")),
    }
}
