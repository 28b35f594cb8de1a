//! UNION, INTERSECT and EXCEPT, VALUES, and queries in parentheses.
//!
//! The result's columns are named after the first operand; their types hold the values of both, by
//! the same rules as those of CASE.

use super::{Body, Limit, Query, SetOperation, Side};
use crate::expression::resolve::{Source, collate};
use crate::expression::{Expr, Node, Resolver};
use crate::output::OutputColumn;
use datum::error::{self, Result, SqlError};
use datum::types::{Collation, Family, Made, Type, code};
use syntax::ast::{self, QueryBody};

/// Plans a query whose body is no plain SELECT.
pub(crate) fn plan(resolver: &mut Resolver<'_>, query: &ast::Query) -> Result<Query> {
    if !query.locking.is_empty() {
        return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE of a set operation"));
    }
    let Operand { body, columns } = body(resolver, &query.body)?;
    let counts_all = first_options(&query.body).is_some_and(|options| options.calc_found_rows);
    // ORDER BY sees the result's columns and nothing else.
    let names: std::sync::Arc<[OutputColumn]> = columns.clone().into();
    resolver.scope.sources = vec![Source::derived("", names, 0, None)];
    resolver.scope.clause = "order clause";
    let items: Vec<(String, Expr)> = columns
        .iter()
        .enumerate()
        .map(|(column, c)| (c.meta.name.clone(), Expr { node: Node::Column { source: 0, column }, ty: c.ty }))
        .collect();
    for item in &query.order_by {
        if let ast::ExprKind::Column(ast::ColumnName { table: Some(table), .. }) = &item.expr.kind {
            return Err(error::TABLENAME_NOT_ALLOWED_HERE.with(&[table, &"SELECT", &"global ORDER clause"]));
        }
    }
    let mut order = Vec::with_capacity(query.order_by.len());
    for (number, item) in query.order_by.iter().enumerate() {
        let terms = super::block::order_terms(resolver, std::slice::from_ref(item), &items, false);
        let is_of_several = matches!(query.body, QueryBody::SetOperation { .. });
        let is_later =
            |e: &SqlError| e.is(error::INVALID_GROUP_FUNC_USE) || e.is(error::WINDOW_INVALID_WINDOW_FUNC_USE);
        order.extend(terms.map_err(|e| match is_of_several && is_later(&e) {
            true => error::AGGREGATE_ORDER_FOR_UNION.with(&[&(number + 1)]),
            false => e,
        })?);
    }
    resolver.scope.sources.clear();
    let limit = Limit::resolve(resolver, query.limit.as_ref())?;
    resolver.scope.reset();
    Ok(Query { order, limit, counts_all, ..Query::new(body, columns) })
}

/// The options of the SELECT that comes first.
fn first_options(mut body: &QueryBody) -> Option<&ast::SelectOptions> {
    loop {
        body = match body {
            QueryBody::Select(select) => return Some(&select.options),
            QueryBody::SetOperation { left, .. } => left,
            QueryBody::Nested(query) => &query.body,
            QueryBody::Values(_) | QueryBody::Table(_) => return None,
        };
    }
}

/// A planned operand, or a planned body.
struct Operand {
    body: Body,
    columns: Vec<OutputColumn>,
}

/// `UNION ALL` and its like.
struct Operator {
    op: ast::SetOp,
    all: bool,
}

/// Plans a body. A chain of set operations is a tree that is high on the left: it is taken apart
/// without recursion.
fn body(resolver: &mut Resolver<'_>, body: &QueryBody) -> Result<Operand> {
    datum::stack::check()?;
    let (mut first, mut chain) = (body, Vec::new());
    while let QueryBody::SetOperation { op, all, left, right } = first {
        chain.push((Operator { op: *op, all: *all }, &**right));
        first = left;
    }
    let mut planned = operand(resolver, first)?;
    resolver.beyond_first = true;
    while let Some((operator, right)) = chain.pop() {
        planned = join_sides(resolver, operator, planned, right)?;
    }
    Ok(planned)
}

/// One set operation, whose left operand is planned.
fn join_sides(
    resolver: &mut Resolver<'_>,
    Operator { op, all }: Operator,
    left: Operand,
    right: &QueryBody,
) -> Result<Operand> {
    let right = body(resolver, right)?;
    let mut columns = left.columns;
    if columns.len() != right.columns.len() {
        return Err(error::WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
    }
    let types: Vec<Type> = columns.iter().map(|c| c.ty).collect();
    let other_types: Vec<Type> = right.columns.iter().map(|c| c.ty).collect();
    let common = common_types(resolver, &types, &other_types)?;
    let left = Side { body: left.body, convert: conversion(resolver, &types, &common)? };
    let right = Side { body: right.body, convert: conversion(resolver, &other_types, &common)? };
    for (column, ty) in columns.iter_mut().zip(&common) {
        let name = std::mem::take(&mut column.meta.name);
        // What holds the rows of a BLOB has room for its characters' bytes.
        let is_long = ty.family == Family::Text && ty.code == code::BLOB;
        let made = if is_long { Made::OfSubquery } else { Made::AsDescribed };
        *column = OutputColumn::computed(&name, Type { made, ..*ty });
    }
    let body = Body::Set(Box::new(SetOperation { op, all, left, right, types: common }));
    Ok(Operand { body, columns })
}

/// An operand that is no set operation itself.
fn operand(resolver: &mut Resolver<'_>, operand: &QueryBody) -> Result<Operand> {
    let bare = |resolver: &mut Resolver<'_>, select: &ast::Select| {
        // It has no ORDER BY, LIMIT or locking clause of its own.
        let clauses = ast::Query::of(QueryBody::Values(Vec::new()), ast::Span::default());
        let bound = super::block::bind(resolver, select, &clauses)?;
        let mut plan = super::block::plan(resolver, bound)?;
        plan.count_all(false);
        Ok(Operand { body: plan.body, columns: plan.columns })
    };
    match operand {
        QueryBody::SetOperation { .. } => body(resolver, operand),
        QueryBody::Values(rows) => values(resolver, rows),
        QueryBody::Nested(query) => {
            let mut plan = super::query(resolver, query)?;
            plan.count_all(false); // only what comes out of the whole is counted
            let columns = plan.columns.clone();
            Ok(Operand { body: Body::Nested(Box::new(plan)), columns })
        }
        QueryBody::Select(select) => bare(resolver, select),
        QueryBody::Table(name) => bare(resolver, &super::block::whole_table(name, ast::Span::default())),
    }
}

/// The types of the result's columns.
fn common_types(resolver: &mut Resolver<'_>, a: &[Type], b: &[Type]) -> Result<Vec<Type>> {
    let mut common = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(b) {
        let mut pair = [placeholder(0, a), placeholder(1, b)];
        for side in pair.iter_mut().filter(|side| side.ty.family == Family::Json) {
            // Beside others a document is its text.
            side.ty.family = Family::Text;
        }
        let mut ty = collate::common_type([a, b].into_iter(), resolver.cx.settings.connection_collation());
        if ty.family == Family::Text {
            let has_bits = pair.iter().any(|side| side.ty.family == Family::Bit);
            let unified = resolver.unify(&mut pair, "UNION")?;
            ty.collation = if has_bits { Collation::BINARY } else { unified };
            if ty.collation == Collation::BINARY {
                ty.length = pair.iter().map(|side| side.ty.byte_length()).max().unwrap_or(0);
            }
        }
        common.push(ty);
    }
    Ok(common)
}

fn placeholder(column: usize, ty: &Type) -> Expr {
    Expr { node: Node::Column { source: 0, column }, ty: *ty }
}

/// How values of some types become those of others; `None` if they are the same.
fn conversion(resolver: &mut Resolver<'_>, from: &[Type], to: &[Type]) -> Result<Option<Vec<Expr>>> {
    let mut changed = false;
    let mut list = Vec::with_capacity(from.len());
    for (column, (from, to)) in from.iter().zip(to).enumerate() {
        let expr = collate::convert(placeholder(column, from), to, resolver.typing())?;
        changed |= !matches!(expr.node, Node::Column { .. });
        list.push(expr);
    }
    Ok(changed.then_some(list))
}

/// VALUES has so many columns at most. SELECT has no limit, in MySQL neither.
const VALUES_COLUMNS_MAX: usize = 4096;

/// `VALUES ROW(..), ROW(..)`
fn values(resolver: &mut Resolver<'_>, rows: &[Vec<ast::Expr>]) -> Result<Operand> {
    let mut resolved: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
    for row in rows {
        let row = resolver.list(row)?;
        if resolved.first().is_some_and(|first| first.len() != row.len()) {
            return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&(resolved.len() + 1)]));
        }
        resolved.push(row);
    }
    let width = resolved.first().map_or(0, Vec::len);
    if width > VALUES_COLUMNS_MAX {
        return Err(error::TOO_MANY_FIELDS.plain());
    }
    let mut types: Vec<Type> = resolved.first().map_or(Vec::new(), |row| row.iter().map(|e| e.ty).collect());
    for row in &resolved {
        let own: Vec<Type> = row.iter().map(|e| e.ty).collect();
        types = common_types(resolver, &types, &own)?;
    }
    let typing = resolver.typing();
    for row in &mut resolved {
        for (expr, ty) in row.iter_mut().zip(&types) {
            let own = std::mem::replace(expr, placeholder(0, ty));
            *expr = collate::convert(own, ty, typing)?;
        }
    }
    let columns = (0..width).map(|i| OutputColumn::computed(&format!("column_{i}"), types[i])).collect();
    Ok(Operand { body: Body::Values(resolved), columns })
}
