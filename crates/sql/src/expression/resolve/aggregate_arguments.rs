//! What an aggregate works on: one expression, several, or texts in an order.

use super::{Resolver, collate};
use crate::expression::aggregate::Aggregate;
use crate::expression::aggregate::group_concat::Concat;
use crate::expression::{Expr, OrderTerm};
use datum::error::{self, Result};
use datum::types::{Family, Type, code};
use syntax::ast::{self, AggregateFunction, ExprKind, Literal};
use syntax::unparse;

/// GROUP_CONCAT gives a VARCHAR only up to this group_concat_max_len.
const SHORT_TEXT_BYTES: u32 = 512;

impl Resolver<'_> {
    /// An aggregate with its arguments resolved.
    pub(super) fn aggregate_of(&mut self, ast: &ast::Aggregate) -> Result<Aggregate> {
        if ast.function == AggregateFunction::GroupConcat {
            return self.group_concat(ast);
        }
        let increment = self.cx.settings.div_precision_increment();
        if super::json::is_gathering(ast.function) {
            let documents = self.gathered(ast)?;
            return Aggregate::new(ast.function, ast.distinct, Some(documents), increment);
        }
        let mut arguments = self.list(&ast.arguments)?.into_iter();
        let mut aggregate = Aggregate::new(ast.function, ast.distinct, arguments.next(), increment)?;
        aggregate.rest = arguments.collect();
        if let (AggregateFunction::Min | AggregateFunction::Max, Some(argument)) =
            (ast.function, &aggregate.argument)
        {
            collate::check_order(argument, unparse::aggregate_name(ast.function))?;
        }
        Ok(aggregate)
    }

    /// GROUP_CONCAT: the arguments' texts one after the other are its one argument.
    fn group_concat(&mut self, ast: &ast::Aggregate) -> Result<Aggregate> {
        let parts = self.list(&ast.arguments)?;
        let mut order = Vec::with_capacity(ast.order_by.len());
        for item in &ast.order_by {
            let expr = self.order_of(&item.expr, &parts)?;
            order.push(OrderTerm { expr, descending: item.descending });
        }
        // Rows are told apart by the arguments, not by the text that they make.
        let rest = if ast.distinct && parts.len() > 1 { parts.clone() } else { Vec::new() };
        // Each row's number has the digits of the type, as a column would have them.
        let mut columns = parts;
        for part in columns.iter_mut().filter(|e| e.ty.family == Family::Decimal && !e.is_row_independent()) {
            collate::with_digits(part, part.ty.decimals);
        }
        let mut text = self.native("concat", columns)?;
        let charset = text.ty.collation.charset();
        let bytes = u32::try_from(self.cx.settings.group_concat_max_len()).unwrap_or(u32::MAX);
        let code = if bytes > SHORT_TEXT_BYTES { code::LONG_BLOB } else { 0 };
        text.ty = Type {
            family: Family::Text,
            length: bytes.saturating_mul(charset.char_len_max()),
            code,
            ..text.ty
        };
        let separator = match &ast.separator {
            Some(separator) => {
                let bytes = separator.to_vec();
                self.cx.settings.statement_charset().convert(bytes.into(), charset).0.into_owned().into()
            }
            None => b",".as_slice().into(),
        };
        let mut aggregate = Aggregate::new(ast.function, ast.distinct, Some(text), 0)?;
        aggregate.rest = rest;
        aggregate.concat = Some(Box::new(Concat { order, separator, charset }));
        Ok(aggregate)
    }

    /// An ORDER BY's expression; a number is the place of an argument.
    fn order_of(&mut self, expr: &ast::Expr, parts: &[Expr]) -> Result<Expr> {
        let ExprKind::Literal(Literal::Integer(place)) = expr.kind else { return self.expr(expr) };
        let found = usize::try_from(place).ok().and_then(|n| parts.get(n.checked_sub(1)?));
        found.cloned().ok_or_else(|| error::BAD_FIELD_ERROR.with(&[&place, &"order clause"]))
    }
}
