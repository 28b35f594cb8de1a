//! What a row takes beyond the values that a statement gives: expression defaults, generated
//! columns, CHECK.
//!
//! They read the row as an image. So a row with any of them is first written without, then filled
//! column by column, in the table's order, which is the order in which they may read each other.

use std::sync::Arc;

use binlog::row::RowImageBuilder;

use super::{RowRules, fit};
use crate::catalog::TableDef;
use crate::catalog::computed::Computed;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Row};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::value::{Datum, image, store};

/// Makes a row complete: evaluates the expression defaults of `defaulted` columns and all generated
/// columns, and tests the CHECK constraints. `image` has something, whatever it is, in those
/// columns. False if `ignore` says that a row that violates a constraint is left out, with a
/// warning.
pub(super) fn complete(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &mut Vec<u8>,
    defaulted: &[usize],
    row_rules: RowRules,
    ignore: bool,
) -> Result<bool> {
    fill(cx, table, image, defaulted, row_rules)?;
    check_constraints(cx, table, image, ignore)
}

/// Tests the CHECK constraints on a complete row. False if `ignore` says that a row that violates
/// one is left out, with a warning.
pub(super) fn check_constraints(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &[u8],
    ignore: bool,
) -> Result<bool> {
    if table.checks.is_empty() {
        return Ok(true);
    }
    let computed = Computed::of(cx, table)?;
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let row = Row::Image(ImageRow { table, image, offsets: &offsets });
    for (check, expr) in &computed.checks {
        if expr.truth(cx, row)? == Some(false) {
            let e = error::CHECK_CONSTRAINT_VIOLATED.with(&[&table.checks[*check].name]);
            if !ignore {
                return Err(e);
            }
            cx.warn(e);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Evaluates the expression defaults of `defaulted` columns and all generated columns.
pub(super) fn fill(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &mut Vec<u8>,
    defaulted: &[usize],
    row_rules: RowRules,
) -> Result<()> {
    let is_asked = |column: usize| table.columns[column].generated.is_some() || defaulted.contains(&column);
    fill_those(cx, table, image, is_asked, row_rules)
}

/// Evaluates the expression defaults and generated columns that are asked for.
pub(super) fn fill_those(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &mut Vec<u8>,
    is_asked: impl Fn(usize) -> bool,
    row_rules: RowRules,
) -> Result<()> {
    let computed = Computed::of(cx, table)?;
    let mut offsets = Offsets::default();
    let all = computed.defaults.iter().chain(&computed.generated);
    for (column, expr) in all.filter(|(column, _)| is_asked(*column)) {
        offsets.find(table, image)?;
        let row = Row::Image(ImageRow { table, image, offsets: &offsets });
        let value = evaluate(cx, row, expr, table, *column, row_rules)?.into_owned();
        *image = with_column(table, image, &offsets, *column, &value)?;
    }
    Ok(())
}

/// The value of a column's expression default for the row as it is now.
pub(super) fn default_value(
    cx: &mut Context,
    row: ImageRow<'_>,
    table: &Arc<TableDef>,
    column: usize,
    row_rules: RowRules,
) -> Result<Datum<'static>> {
    let computed = Computed::of(cx, table)?;
    let found = computed.defaults.iter().find(|(c, _)| *c == column);
    let (_, expr) = found.ok_or_else(|| SqlError::internal("an expression default without expression"))?;
    Ok(evaluate(cx, Row::Image(row), expr, table, column, row_rules)?.into_owned())
}

fn evaluate<'a>(
    cx: &mut Context,
    row: Row<'a>,
    expr: &'a Expr,
    table: &TableDef,
    column: usize,
    row_rules: RowRules,
) -> Result<Datum<'a>> {
    let column = &table.columns[column];
    let value = store::of_expression(expr.eval(cx, row)?, &expr.ty);
    if value.is_null() && !column.nullable {
        let e = error::BAD_NULL_ERROR.with(&[&column.name]);
        if row_rules.rules.strict {
            return Err(e);
        }
        cx.warn(e);
        return Ok(store::null_substitute(&column.ty));
    }
    let charset = expr.ty.text_charset();
    fit(cx, table, column, row_rules, value, charset)
}

/// The image with another value in one column.
fn with_column(
    table: &TableDef,
    image: &[u8],
    offsets: &Offsets,
    column: usize,
    value: &Datum<'_>,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(image.len() + 16);
    let mut builder = RowImageBuilder::new(&table.column_types, &mut out);
    for (number, definition) in table.columns.iter().enumerate() {
        match number == column {
            true => image::push(&mut builder, value, &definition.ty)?,
            false => builder.push_raw(offsets.raw(image, number)).map_err(SqlError::internal)?,
        }
    }
    builder.finish().map_err(SqlError::internal)?;
    Ok(out)
}

/// Error 3105 unless a generated column is given nothing but DEFAULT.
pub(crate) fn not_generated(table: &TableDef, column: usize) -> Result<()> {
    match table.columns[column].generated {
        None => Ok(()),
        Some(_) => Err(generated_value(table, column)),
    }
}

/// Error 3105.
pub(super) fn generated_value(table: &TableDef, column: usize) -> SqlError {
    let column = &table.columns[column];
    error::NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN.with(&[&column.name, &table.name])
}
