//! `UPDATE performance_schema.setup_consumers SET ENABLED = ..`: which tables of statements have
//! rows; and what tools say to `setup_instruments` before they read them. They are no tables of the
//! catalog; of conditions those are taken that tools write.

use datum::error::{self, Result, SqlError};
use datum::types::Collation;
use syntax::ast::{self, BinaryOp, ExprKind, Literal, TableReference};

use crate::like;
use crate::session::Context;
use crate::system_tables::{CONSUMERS, SWITCHED};

/// A row of the table.
struct Consumer {
    name: &'static str,
    /// The bit that switches it.
    bit: Option<u8>,
    is_on: bool,
}

/// Runs the statement if it is about this table.
pub(super) fn update(cx: &mut Context, update: &ast::Update) -> Option<Result<()>> {
    let [TableReference::Table(factor)] = update.tables.as_slice() else { return None };
    let database = factor.name.database.as_deref().or(cx.default_database());
    if !database.is_some_and(|database| database.eq_ignore_ascii_case("performance_schema")) {
        return None;
    }
    match factor.name.name.to_ascii_lowercase().as_str() {
        "setup_consumers" => Some(switch(cx, update)),
        "setup_instruments" => Some(enable(cx, update)),
        _ => None,
    }
}

/// `UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'`: what is
/// measured is measured anyway, so that no row is another one. Nothing can be switched off.
fn enable(cx: &mut Context, update: &ast::Update) -> Result<()> {
    let enables = |assignment: &ast::Assignment| {
        let column = &assignment.column.column;
        let is_yes = text_of(&assignment.value).is_some_and(|text| text.eq_ignore_ascii_case(b"YES"));
        (column.is("ENABLED") || column.is("TIMED")) && is_yes
    };
    if !update.assignments.iter().all(enables) {
        return Err(SqlError::unsupported("this UPDATE of performance_schema.setup_instruments"));
    }
    let status = &mut cx.statement.status;
    (status.found_rows, status.affected) = (0, 0);
    status.set_info(&[("Rows matched", 0), ("Changed", 0), ("Warnings", 0)]);
    Ok(())
}

fn switch(cx: &mut Context, update: &ast::Update) -> Result<()> {
    let unsupported = || SqlError::unsupported("this UPDATE of performance_schema.setup_consumers");
    if update.with.is_some() || update.limit.is_some() || !update.order_by.is_empty() {
        return Err(unsupported());
    }
    let [assignment] = update.assignments.as_slice() else { return Err(unsupported()) };
    if !assignment.column.column.is("ENABLED") {
        return Err(match assignment.column.column.is("NAME") {
            true => unsupported(),
            false => error::BAD_FIELD_ERROR.with(&[&assignment.column.column, &"field list"]),
        });
    }
    let on = match text_of(&assignment.value) {
        Some(text) if text.eq_ignore_ascii_case(b"YES") => true,
        Some(text) if text.eq_ignore_ascii_case(b"NO") => false,
        Some(_) => return Err(error::WARN_DATA_TRUNCATED.with(&[&"ENABLED", &1])),
        None => return Err(unsupported()),
    };
    let events = cx.instance.statement_events();
    let (mut matched, mut changed) = (0, 0);
    for name in CONSUMERS {
        let bit = SWITCHED.iter().find(|(switched, _)| *switched == name).map(|(_, bit)| *bit);
        let is_on = bit.map_or(!name.starts_with("events_"), |bit| events.consumers() & bit != 0);
        let consumer = Consumer { name, bit, is_on };
        let holds = update.filter.as_ref().map_or(Ok(true), |filter| holds(filter, &consumer));
        if !holds? {
            continue;
        }
        matched += 1;
        if is_on == on {
            continue;
        }
        // What is not measured can't be switched on, nor the server's own counting off.
        if let Some(bit) = consumer.bit {
            events.switch(bit, on);
            changed += 1;
        }
    }
    let status = &mut cx.statement.status;
    (status.found_rows, status.affected) = (matched, changed);
    status.set_info(&[("Rows matched", matched), ("Changed", changed), ("Warnings", 0)]);
    Ok(())
}

/// A string as it is written.
fn text_of(e: &ast::Expr) -> Option<&[u8]> {
    match &e.kind {
        ExprKind::Literal(Literal::String { bytes, introducer: None }) => Some(&bytes[..]),
        _ => None,
    }
}

/// True if a condition holds for a consumer; error 1235 for one that is beyond this.
fn holds(condition: &ast::Expr, consumer: &Consumer) -> Result<bool> {
    let collation = Collation::UTF8MB4_0900_AI_CI;
    let beyond = || SqlError::unsupported("this condition on performance_schema.setup_consumers");
    let value = |e: &ast::Expr| match &e.kind {
        ExprKind::Column(name) if name.column.is("NAME") => Ok(consumer.name),
        ExprKind::Column(name) if name.column.is("ENABLED") => Ok(if consumer.is_on { "YES" } else { "NO" }),
        _ => Err(beyond()),
    };
    match &condition.kind {
        ExprKind::And(list) => {
            list.iter().try_fold(true, |all, condition| Ok(holds(condition, consumer)? && all))
        }
        ExprKind::Or(list) => {
            list.iter().try_fold(false, |any, condition| Ok(holds(condition, consumer)? || any))
        }
        ExprKind::Binary { op: op @ (BinaryOp::Equal | BinaryOp::NotEqual), left, right } => {
            let text = text_of(right).ok_or_else(beyond)?;
            let is_equal = value(left)?.as_bytes().eq_ignore_ascii_case(text);
            Ok(is_equal == (*op == BinaryOp::Equal))
        }
        ExprKind::InList { operand, list, negated } => {
            let value = value(operand)?;
            let mut is_in = false;
            for e in list {
                is_in |= value.as_bytes().eq_ignore_ascii_case(text_of(e).ok_or_else(beyond)?);
            }
            Ok(is_in != *negated)
        }
        ExprKind::Like { operand, pattern, escape: None, negated } => {
            let pattern = text_of(pattern).ok_or_else(beyond)?;
            Ok(like::matches(value(operand)?.as_bytes(), pattern, Some(b'\\'), collation)? != *negated)
        }
        _ => Err(beyond()),
    }
}
