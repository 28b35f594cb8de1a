//! INSERT and REPLACE.
//!
//! 1. resolve  The table is opened, the column list becomes numbers.
//! 2. values   Each row's values come from the statement's text or from a query.
//! 3. write    The [`Writer`] makes rows of them.

use std::sync::Arc;

use super::on_duplicate::{self, Selected};
use super::query;
use super::writer::{Draft, Given, OnDuplicate, Writer, charset_of, reads_columns};
use crate::ast::{self, ExprKind, InsertSource, Literal, LoadDuplicates, UnaryOp};
use crate::catalog::{ColumnDef, TableDef};
use crate::error::{self, Result, SqlError};
use crate::expression::resolve::Scope;
use crate::expression::{Expr, Node, Resolver, Row};
use crate::planner::{Plan, Query};
use crate::session::Context;
use crate::types::{Charset, Type};
use crate::value::{Datum, Decimal};

/// Runs an INSERT or REPLACE.
pub(super) fn execute(cx: &mut Context, insert: &ast::Insert, text: &[u8]) -> Result<()> {
    if !insert.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    cx.storing = !insert.ignore;
    if insert.priority == ast::Priority::Delayed {
        let word = if insert.replace { "REPLACE" } else { "INSERT" };
        cx.warn(error::WARN_LEGACY_SYNTAX_CONVERTED.with(&[&format_args!("{word} DELAYED"), &word]));
    }
    let table = cx.open_table_to_write(insert.table.database.as_deref(), &insert.table.name)?;
    cx.check_writable_table(&table)?;
    let columns = column_numbers(&table, &insert.columns)?;
    match &insert.source {
        InsertSource::Values(rows) => values(cx, insert, table, &columns, rows, text),
        InsertSource::Query(query) => selected(cx, insert, table, &columns, query, text),
    }
}

/// The columns named, or all visible ones.
pub(super) fn column_numbers(table: &TableDef, names: &[ast::Ident]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..table.columns.len()).filter(|&c| table.columns[c].visible).collect());
    }
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let number = table.column_index(name);
        let number = number.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?;
        if numbers.contains(&number) {
            return Err(error::FIELD_SPECIFIED_TWICE.with(&[name]));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// INSERT .. VALUES, and .. SET.
fn values(
    cx: &mut Context,
    insert: &ast::Insert,
    table: Arc<TableDef>,
    columns: &[usize],
    rows: &[Vec<ast::Expr>],
    text: &[u8],
) -> Result<()> {
    // `VALUES ()`: all defaults.
    let fits =
        |row: &Vec<ast::Expr>| row.len() == columns.len() || row.is_empty() && insert.columns.is_empty();
    if let Some(wrong) = rows.iter().position(|row| !fits(row)) {
        return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&(wrong + 1)]));
    }
    let on_duplicate = on_duplicate::resolve(cx, &table, insert, columns, &Selected::default(), text)?;
    let mut given = vec![Given::Default; table.columns.len()];
    let mut writer = Writer::new(cx, table, on_duplicate, insert.ignore, rows.len() as u64);
    let bare = Bare::new(cx);
    for row in rows {
        let mut all_bare = true;
        for (expr, &column) in row.iter().zip(columns) {
            match bare.value(cx, expr) {
                Some(value) => given[column] = value,
                None => all_bare = false,
            }
        }
        if all_bare {
            writer.write(cx, &mut given)?;
        } else {
            given.fill(Given::Default);
            computed_row(cx, &mut writer, row, columns, &mut given, text)?;
        }
    }
    writer.finish(cx);
    if rows.len() > 1 {
        cx.status.info = writer.info(cx);
    }
    Ok(())
}

/// Values that need no evaluation: literals and parameters, and DEFAULT. Most rows have no others.
struct Bare {
    /// The character set that text is in, if it needs no conversion.
    charset: Option<Charset>,
}

impl Bare {
    fn new(cx: &Context) -> Self {
        let connection = cx.connection_collation().charset();
        Self { charset: (cx.client_charset() == connection).then_some(connection) }
    }

    fn value<'a>(&self, cx: &Context, expr: &'a ast::Expr) -> Option<Given<'a>> {
        let (value, charset) = match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal)?,
            ExprKind::Default(None) => return Some(Given::Default),
            ExprKind::Parameter(number) => {
                let ty = cx.parameters.get(*number as usize)?.ty;
                let charset = if ty.family.is_text() { ty.collation.charset() } else { Charset::Ascii };
                (cx.parameter(*number as usize), charset)
            }
            ExprKind::Unary { op: UnaryOp::Minus, operand } => match &operand.kind {
                ExprKind::Literal(Literal::Integer(n)) => {
                    (Datum::Int(i64::try_from(-i128::from(*n)).ok()?), Charset::Ascii)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Given::Value(value, charset))
    }

    fn literal<'a>(&self, literal: &'a Literal) -> Option<(Datum<'a>, Charset)> {
        let value = match literal {
            Literal::Null => Datum::Null,
            Literal::Bool(b) => Datum::from_bool(*b),
            Literal::Integer(n) => i64::try_from(*n).map_or(Datum::UInt(*n), Datum::Int),
            Literal::Decimal(digits) => Datum::Decimal(Decimal::parse(digits.as_bytes()).0),
            Literal::Float(text) => Datum::Double(text.parse().ok().filter(|v: &f64| v.is_finite())?),
            Literal::String { bytes, introducer: None } => {
                return Some((Datum::borrowed(bytes), self.charset?));
            }
            Literal::String { bytes, introducer: Some(name) }
                if Charset::by_name(name) == Some(Charset::Binary) =>
            {
                return Some((Datum::borrowed(bytes), Charset::Binary));
            }
            Literal::Hex { bytes, introducer: None } | Literal::Bit { bytes, introducer: None } => {
                return Some((Datum::Bits(bytes[..].into()), Charset::Binary));
            }
            _ => return None,
        };
        Some((value, Charset::Ascii))
    }
}

/// A row with expressions, which may read the columns before them.
fn computed_row(
    cx: &mut Context,
    writer: &mut Writer,
    row: &[ast::Expr],
    columns: &[usize],
    given: &mut [Given<'_>],
    text: &[u8],
) -> Result<()> {
    let mut exprs = Vec::with_capacity(row.len());
    let mut resolver = resolver(cx, &writer.table, text);
    for ast in row {
        exprs.push(match ast.kind {
            ExprKind::Default(None) => None,
            _ => Some(resolver.expr(ast)?),
        });
    }
    if exprs.iter().flatten().any(reads_columns) {
        let mut draft = writer.draft(cx)?;
        for (expr, &column) in exprs.iter().zip(columns) {
            set(cx, writer, &mut draft, column, expr.as_ref())?;
        }
        return writer.write_draft(cx, draft);
    }
    for (expr, &column) in exprs.into_iter().zip(columns) {
        let Some(expr) = expr else { continue };
        let charset = charset_of(&expr);
        let value = match expr.node {
            Node::Constant(value) => value,
            _ => expr.eval(cx, Row::None)?.into_owned(),
        };
        given[column] = Given::Value(value, charset);
    }
    writer.write(cx, given)
}

/// Resolves expressions that may read the row that is being made, as source 0.
pub(super) fn resolver<'c>(cx: &'c mut Context, table: &Arc<TableDef>, text: &'c [u8]) -> Resolver<'c> {
    let locals = crate::routine::locals(cx);
    let scope = Scope { locals, ..Scope::of_table(table.clone(), &table.name) };
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    resolver.targets = vec![table.clone()];
    resolver
}

/// Gives a draft's column the value of an expression, or its default.
pub(super) fn set(
    cx: &mut Context,
    writer: &mut Writer,
    draft: &mut Draft,
    column: usize,
    expr: Option<&Expr>,
) -> Result<()> {
    let given = match expr {
        Some(expr) => writer.evaluate(cx, draft, expr)?,
        None => Given::Default,
    };
    writer.set(cx, draft, column, given)
}

/// INSERT .. SELECT.
fn selected(
    cx: &mut Context,
    insert: &ast::Insert,
    table: Arc<TableDef>,
    columns: &[usize],
    query: &ast::Query,
    text: &[u8],
) -> Result<()> {
    let names = on_duplicate::read_of_query(&table, insert, query);
    let widened = on_duplicate::widened(query, &names);
    let plan = Plan::new(cx, widened.as_ref().unwrap_or(query), text)?.query;
    let types: Vec<_> = plan.columns.iter().map(|c| c.ty).collect();
    if types.len() != columns.len() + names.len() {
        return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&1]));
    }
    let read = Selected { names: &names, columns: &plan.columns[columns.len()..] };
    let on_duplicate = on_duplicate::resolve(cx, &table, insert, columns, &read, text)?;
    let width = table.columns.len();
    let mut writer = Writer::new(cx, table, on_duplicate, insert.ignore, 0);
    query::run(cx, &plan, &mut |cx, values| {
        let mut given = selected_row(values, &types, columns, width);
        if !names.is_empty() {
            writer.selected = values[columns.len()..].iter().map(|v| v.clone().into_owned()).collect();
        }
        writer.write(cx, &mut given)?;
        Ok(true)
    })?;
    if !insert.on_duplicate.is_empty() {
        writer.last_number = 0; // which of them it was is not told
    }
    writer.finish(cx);
    cx.status.info = writer.info(cx);
    Ok(())
}

/// What a query's row gives each of a table's columns.
fn selected_row<'a>(
    values: &'a [Datum<'_>],
    types: &[Type],
    columns: &[usize],
    width: usize,
) -> Vec<Given<'a>> {
    let mut given = vec![Given::Default; width];
    for ((value, ty), &column) in values.iter().zip(types).zip(columns) {
        given[column] = Given::Value(value.borrow(), ty.collation.charset());
    }
    given
}

/// Fills a new table with a query's rows: `selected` are the table's columns that they are for.
pub(super) fn fill(
    cx: &mut Context,
    table: Arc<TableDef>,
    selected: &[ColumnDef],
    query: &Query,
    duplicates: LoadDuplicates,
) -> Result<()> {
    let ignore = duplicates == LoadDuplicates::Ignore;
    cx.storing = !ignore;
    let columns: Vec<_> = selected.iter().filter_map(|column| table.column_index(&column.name)).collect();
    let on_duplicate = without_update(duplicates == LoadDuplicates::Replace);
    let width = table.columns.len();
    let mut writer = Writer::new(cx, table, on_duplicate, ignore, 0);
    let types: Vec<Type> = query.columns.iter().map(|column| column.ty).collect();
    query::run(cx, query, &mut |cx, values| {
        writer.write(cx, &mut selected_row(values, &types, &columns, width)).map(|()| true)
    })?;
    writer.finish(cx);
    cx.status.info = writer.info(cx);
    Ok(())
}

/// What an INSERT without ON DUPLICATE KEY UPDATE does about duplicates.
pub(super) fn without_update(replace: bool) -> OnDuplicate {
    if replace { OnDuplicate::Replace } else { OnDuplicate::Fail }
}
