//! WEEK() without a mode in a table's definition.
//!
//! Its mode is the session's `default_week_format`, which the log does not have: the definition
//! would be another one after a replay, and its rows and keys would depend on who writes them. As
//! in MySQL the mode becomes part of the definition. What is not 0 is written into the statement's
//! text before anything else is done with it, so that the log has it as well;
//! [`crate::catalog::draft`] takes 0 for what is missing still. A view's is written by
//! [`super::create_view`].

use super::key_parts::Rewritten;
use crate::catalog::ddl::TextForm;
use crate::catalog::draft::lacks_week_mode;
use crate::catalog::parse_one;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{Result, SqlError};
use syntax::ast::visit::{self, Visitor};
use syntax::ast::{
    AlterAction, Check, ColumnAttributes, ColumnDefault, Expr, ExprKind, KeyDefinition, KeyPart, Span,
    Statement, StatementKind, TableContent,
};

/// The statement with the session's mode in each call that has none; `None` if there is nothing to
/// write.
pub(super) fn rewrite(cx: &Context, statement: &Statement, text: &[u8]) -> Result<Option<Rewritten>> {
    let mode = cx.settings.default_week_format();
    if mode == 0 {
        return Ok(None);
    }
    let mut calls = Calls(Vec::new());
    calls.of_definition(&statement.kind);
    if calls.0.is_empty() {
        return Ok(None);
    }
    // Calls may stand within each other.
    calls.0.sort_unstable_by_key(|span| span.end);
    let (mut out, mut at) = (Vec::with_capacity(text.len() + 16), statement.span.start as usize);
    for span in calls.0 {
        let parenthesis = span.range().end.saturating_sub(1);
        match text.get(at..parenthesis) {
            Some(before) if text[parenthesis..].starts_with(b")") => out.extend_from_slice(before),
            _ => return Err(SqlError::internal("a call of WEEK() without its text")),
        }
        out.extend_from_slice(format!(", {mode}").as_bytes());
        at = parenthesis;
    }
    out.extend_from_slice(text.get(at..statement.span.end as usize).unwrap_or_default());
    let statement = parse_one(&out, cx.settings.variables().uint(ids::SQL_MODE))?;
    Ok(Some(Rewritten { statement, text: out, form: TextForm::Session }))
}

/// Where the calls without a mode stand in the text.
struct Calls(Vec<Span>);

impl Visitor<'_> for Calls {
    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Function(call) = &expr.kind
            && lacks_week_mode(call)
        {
            self.0.push(expr.span);
        }
        visit::walk_expr(self, expr);
    }
}

impl Calls {
    fn of_definition(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreateTable(create) => {
                let TableContent::Definition(definition) = &create.content else { return };
                definition.columns.iter().for_each(|column| self.of_attributes(&column.attributes));
                definition.keys.iter().for_each(|key| self.of_key(key));
                definition.checks.iter().for_each(|check| self.of_check(check));
            }
            StatementKind::AlterTable(alter) => {
                alter.actions.iter().for_each(|action| self.of_action(action))
            }
            StatementKind::CreateIndex(create) => self.of_key(&create.key),
            _ => {}
        }
    }

    fn of_action(&mut self, action: &AlterAction) {
        match action {
            AlterAction::AddColumns(columns) => {
                columns.iter().for_each(|(column, _)| self.of_attributes(&column.attributes));
            }
            AlterAction::ChangeColumn { definition, .. } => self.of_attributes(&definition.attributes),
            AlterAction::AddKey(key) => self.of_key(key),
            AlterAction::AddCheck(check) => self.of_check(check),
            AlterAction::SetDefault { default, .. } => self.of_default(default),
            _ => {}
        }
    }

    fn of_attributes(&mut self, attributes: &ColumnAttributes) {
        attributes.default.iter().for_each(|default| self.of_default(default));
        attributes.generated.iter().for_each(|generated| self.expr(&generated.expr));
        attributes.checks.iter().for_each(|check| self.of_check(check));
    }

    fn of_default(&mut self, default: &ColumnDefault) {
        if let ColumnDefault::Expression(expr) = default {
            self.expr(expr);
        }
    }

    fn of_key(&mut self, key: &KeyDefinition) {
        for part in &key.parts {
            if let KeyPart::Expression { expr, .. } = part {
                self.expr(expr);
            }
        }
    }

    fn of_check(&mut self, check: &Check) {
        self.expr(&check.expr);
    }
}
