//! Walking over queries to change them in place.
//!
//! The counterpart of [`super::visit`] for queries and expressions: a [`VisitorMut`] is called for
//! each part on the way down. What it overrides it goes into itself, by calling the `walk_`
//! function of the same name. A match without `_` arms keeps this complete when the tree grows.

use std::sync::Arc;

use super::{
    Expr, ExprKind, FrameBound, JoinCondition, JsonOn, Over, Query, QueryBody, Select, SelectItem,
    TableReference, WindowSpec,
};

/// Changes the parts of a tree.
pub trait VisitorMut {
    /// A query, as a statement or inside of another.
    fn query(&mut self, query: &mut Query) {
        walk_query(self, query);
    }

    /// What a query consists of.
    fn body(&mut self, body: &mut QueryBody) {
        walk_body(self, body);
    }

    /// A SELECT, as a query or as a side of UNION.
    fn select(&mut self, select: &mut Select) {
        walk_select(self, select);
    }

    /// A table reference in FROM.
    fn table(&mut self, table: &mut TableReference) {
        walk_table(self, table);
    }

    /// An expression.
    fn expr(&mut self, expr: &mut Expr) {
        walk_expr(self, expr);
    }
}

/// The parts of a query. A table of WITH that somebody else has too is copied.
pub fn walk_query<V: VisitorMut + ?Sized>(v: &mut V, query: &mut Query) {
    if let Some(with) = &mut query.with {
        with.tables.iter_mut().for_each(|table| v.query(&mut Arc::make_mut(table).query));
    }
    v.body(&mut query.body);
    query.order_by.iter_mut().for_each(|item| v.expr(&mut item.expr));
    if let Some(limit) = &mut query.limit {
        v.expr(&mut limit.count);
        limit.offset.iter_mut().for_each(|e| v.expr(e));
    }
}

/// The parts of a query's body.
pub fn walk_body<V: VisitorMut + ?Sized>(v: &mut V, body: &mut QueryBody) {
    match body {
        QueryBody::Select(select) => v.select(select),
        QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(|e| v.expr(e)),
        QueryBody::Table(_) => {}
        QueryBody::SetOperation { left, right, .. } => {
            v.body(left);
            v.body(right);
        }
        QueryBody::Nested(query) => v.query(query),
    }
}

/// The parts of a SELECT.
pub fn walk_select<V: VisitorMut + ?Sized>(v: &mut V, select: &mut Select) {
    for item in &mut select.items {
        if let SelectItem::Expr { expr, .. } = item {
            v.expr(expr);
        }
    }
    select.from.iter_mut().for_each(|t| v.table(t));
    let clauses = select.filter.iter_mut().chain(&mut select.group_by).chain(&mut select.having);
    clauses.for_each(|e| v.expr(e));
    select.windows.iter_mut().for_each(|(_, window)| walk_window(v, window));
}

/// The parts of a table reference.
pub fn walk_table<V: VisitorMut + ?Sized>(v: &mut V, table: &mut TableReference) {
    match table {
        TableReference::Table(_) => {}
        TableReference::Derived(derived) => v.query(&mut derived.query),
        TableReference::JsonTable(json) => v.expr(&mut json.document),
        TableReference::Join(join) => {
            v.table(&mut join.left);
            v.table(&mut join.right);
            if let JoinCondition::On(on) = &mut join.condition {
                v.expr(on);
            }
        }
        TableReference::Group(tables) => tables.iter_mut().for_each(|t| v.table(t)),
    }
}

fn walk_window<V: VisitorMut + ?Sized>(v: &mut V, window: &mut WindowSpec) {
    window.partition_by.iter_mut().for_each(|e| v.expr(e));
    window.order_by.iter_mut().for_each(|item| v.expr(&mut item.expr));
    if let Some(frame) = &mut window.frame {
        for bound in [&mut frame.start, &mut frame.end] {
            if let FrameBound::Preceding(e, _) | FrameBound::Following(e, _) = bound {
                v.expr(e);
            }
        }
    }
}

fn walk_over<V: VisitorMut + ?Sized>(v: &mut V, over: &mut Over) {
    if let Over::Window(window) = over {
        walk_window(v, window);
    }
}

/// The parts of an expression.
pub fn walk_expr<V: VisitorMut + ?Sized>(v: &mut V, expr: &mut Expr) {
    use ExprKind as E;
    match &mut expr.kind {
        E::InQuery { query, .. } | E::Quantified { query, .. } | E::Exists(query) | E::Subquery(query) => {
            v.query(query);
        }
        E::Aggregate(aggregate) => {
            aggregate.arguments.iter_mut().for_each(|e| v.expr(e));
            aggregate.order_by.iter_mut().for_each(|item| v.expr(&mut item.expr));
            if let Some(over) = &mut aggregate.over {
                walk_over(v, over);
            }
        }
        E::Window(call) => {
            call.arguments.iter_mut().for_each(|e| v.expr(e));
            walk_over(v, &mut call.over);
        }
        E::JsonValue(json) => {
            for on in [&mut json.on_empty, &mut json.on_error].into_iter().flatten() {
                if let JsonOn::Default(e) = on {
                    v.expr(e);
                }
            }
        }
        E::Literal(_)
        | E::Column(_)
        | E::UserVariable(_)
        | E::AssignUserVariable { .. }
        | E::SystemVariable(_)
        | E::Parameter(_)
        | E::Unary { .. }
        | E::Binary { .. }
        | E::And(_)
        | E::Or(_)
        | E::Is { .. }
        | E::Between { .. }
        | E::InList { .. }
        | E::Like { .. }
        | E::Regexp { .. }
        | E::Row(_)
        | E::Case { .. }
        | E::Cast { .. }
        | E::ConvertUsing { .. }
        | E::Collate { .. }
        | E::DateArithmetic { .. }
        | E::Function(_)
        | E::Trim { .. }
        | E::Extract { .. }
        | E::TimestampDiff { .. }
        | E::GetFormat { .. }
        | E::Char { .. }
        | E::WeightString { .. }
        | E::Match { .. }
        | E::Default(_)
        | E::Values(_) => {}
    }
    expr.children_mut().into_iter().for_each(|e| v.expr(e));
}
