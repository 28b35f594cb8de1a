//! Assignments of UPDATE and ON DUPLICATE KEY UPDATE: what becomes of a row.
//!
//! The columns that nobody assigns to are copied, as bytes; the others are evaluated, made to fit,
//! and written. A row that comes out equal stays as it is, and its ON UPDATE CURRENT_TIMESTAMP
//! columns with it.

use std::cell::RefCell;
use std::sync::Arc;

use binlog::row::RowImageBuilder;
use smallvec::SmallVec;

use super::computed;
use super::through_view::ChangedView;
use super::triggers::AssignedColumns;
use super::view_check::ViewCheck;
use super::writer::{charset_of, is_now_for_null, now};
use super::{RowRules, fit, triggers};
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use crate::expression::frame::Frame;
use crate::expression::resolve::unknown_column;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Resolver, Row, Scope};
use crate::planner;
use crate::planner::plan::Planning;
use crate::session::{Context, Parameter};
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use datum::value::{Datum, image, store};
use syntax::ast::{self, ExprKind};

/// `SET a = .., b = ..`
pub(super) struct Assignments {
    list: Vec<(usize, AssignedValue)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned to.
    touched: Vec<usize>,
    /// A later assignment reads a column that an earlier one writes, or may, as an expression
    /// default does: each must be applied before the next.
    sequential: bool,
    /// IGNORE: a row that would violate a constraint stays as it is, with a warning.
    pub(super) ignore: bool,
    /// What a view that the row is changed through asks of it.
    pub(super) check: Option<Arc<ViewCheck>>,
    /// Memory for the row after them, of the last execution.
    pub(super) memory: Vec<u8>,
}

/// What assignments made of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    Changed,
    Unchanged,
    /// It stays as it is under IGNORE, for it may not become so; there is a warning.
    Skipped,
}

enum AssignedValue {
    Expr(Expr),
    /// A parameter's value, whatever type it has.
    Parameter(usize),
    Default,
    /// The column itself: it stays as it is, even where its value is one that may not be stored
    /// now.
    Itself,
}

/// What assignments read besides the row that they change.
#[derive(Clone, Copy)]
pub(super) enum Around<'a> {
    Nothing,
    /// The row that an INSERT would have written, as a second source, and what its query gave
    /// besides, as a third; and the columns whose NULL the statement was warned of.
    New(Row<'a>, Row<'a>, &'a RefCell<Vec<usize>>),
    /// The joined row that the changed one is a part of, which is read instead of it.
    Frame(&'a Frame),
}

/// What assignments name, and where.
pub(super) struct Target<'a> {
    pub(super) scope: Scope,
    pub(super) with: Option<&'a ast::With>,
    /// The view that the rows are changed through.
    pub(super) view: Option<&'a ChangedView>,
}

/// How a row is made.
#[derive(Clone, Copy)]
struct AssignmentInput<'a> {
    table: &'a Arc<TableDef>,
    around: Around<'a>,
    row_rules: RowRules,
    /// The statement's, if they are not in the context.
    parameters: &'a [Parameter],
}

impl Assignments {
    /// Resolves them; the table is the scope's source 0.
    pub(super) fn resolve(
        cx: &mut Context,
        table: &Arc<TableDef>,
        assignments: &[ast::Assignment],
        Target { scope, with, view }: Target<'_>,
        Planning { basis, text }: Planning<'_>,
    ) -> Result<Self> {
        // ON DUPLICATE KEY UPDATE may read the table under another name.
        let targets_by_name = scope.values_source.is_some();
        let mut resolver = Resolver::new(cx, scope).with_text(text);
        resolver.targets = vec![table.clone()];
        resolver.targets_by_name = targets_by_name;
        planner::name_common(&mut resolver, with)?;
        let refuse = |e: &Expr| view.map_or(Ok(()), |view| view.check_reads(e));
        // Its columns have other names than the table's, and may be no columns.
        let of_view = resolver.scope.sources.first().is_some_and(|source| source.as_table().is_none());
        let mut list = Vec::with_capacity(assignments.len());
        let mut sequential = false;
        for assignment in assignments {
            let shown = &assignment.column.column;
            let found = match assignment.column.table {
                // A bare name is the target's own column, whatever else has one of that name.
                None => {
                    let own = resolver.scope.sources.first();
                    own.and_then(|own| own.find(shown).map(|column| own.column(column)))
                }
                Some(_) => resolver.scope.find(&assignment.column)?,
            };
            let target = match found {
                Some(found) if of_view => {
                    refuse(&found)?;
                    let column = found.as_column();
                    Some(column.ok_or_else(|| error::NONUPDATEABLE_COLUMN.with(&[shown]))?)
                }
                found => found.and_then(|e| e.as_column()),
            };
            let column = target.ok_or_else(|| unknown_column(&assignment.column, "field list"))?;
            let value = match assignment.value.kind {
                ExprKind::Default(None) => {
                    sequential |= has_expression_default(table, column);
                    AssignedValue::Default
                }
                ExprKind::Parameter(number) => {
                    computed::not_generated(table, column)?;
                    basis.takes(number);
                    AssignedValue::Parameter(number as usize)
                }
                _ => {
                    computed::not_generated(table, column)?;
                    let expr = resolver.expr(&assignment.value)?;
                    refuse(&expr)?;
                    basis.evaluates(&expr);
                    if matches!(expr.node, Node::Column { source: 0, column: c } if c == column) {
                        list.push((column, AssignedValue::Itself));
                        continue;
                    }
                    let earlier: Vec<usize> = list.iter().map(|(c, _)| *c).collect();
                    expr.walk(&mut |e| sequential |= e.as_column().is_some_and(|c| earlier.contains(&c)));
                    AssignedValue::Expr(expr)
                }
            };
            list.push((column, value));
        }
        basis.reads(&mut resolver);
        Ok(Self {
            touched: untouched_moments(table, &list),
            list,
            sequential,
            ignore: false,
            check: view.and_then(|view| view.check.clone()),
            memory: Vec::new(),
        })
    }

    /// Resolves those of one table of a join, as column numbers and trees.
    pub(super) fn of_joined(
        resolver: &mut Resolver<'_>,
        table: &TableDef,
        assignments: &[(usize, &ast::Assignment)],
    ) -> Result<Self> {
        let mut list = Vec::with_capacity(assignments.len());
        let mut sequential = false;
        for (column, assignment) in assignments {
            let value = match &assignment.value.kind {
                ExprKind::Default(None) => {
                    sequential |= has_expression_default(table, *column);
                    AssignedValue::Default
                }
                _ => {
                    computed::not_generated(table, *column)?;
                    AssignedValue::Expr(resolver.expr(&assignment.value)?)
                }
            };
            list.push((*column, value));
        }
        Ok(Self {
            touched: untouched_moments(table, &list),
            list,
            sequential,
            ignore: false,
            check: None,
            memory: Vec::new(),
        })
    }

    /// True if they may change the AUTO_INCREMENT column.
    pub(super) fn number(&self, table: &TableDef) -> bool {
        self.list.iter().any(|(column, _)| table.auto_column == Some(*column))
    }

    /// Makes the row after them in `after`, and after the triggers that run before the update.
    pub(super) fn apply(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: ImageRow<'_>,
        around: Around<'_>,
        row_rules: RowRules,
        after: &mut Vec<u8>,
    ) -> Result<Applied> {
        // Expressions look for parameters in the context; without such their values need not be
        // copied.
        let evaluates = self.list.iter().any(|(_, assigned)| matches!(assigned, AssignedValue::Expr(_)));
        let parameters = if evaluates { Vec::new() } else { std::mem::take(&mut cx.statement.parameters) };
        let stepped = self.steps(
            cx,
            before,
            AssignmentInput { table, around, row_rules, parameters: &parameters },
            after,
        );
        if !evaluates {
            cx.statement.parameters = parameters;
        }
        stepped?;
        let changes = after != before.image;
        if changes && !self.touched.is_empty() {
            let moments: Vec<_> = self.touched.iter().map(|&c| (c, now(cx, &table.columns[c].ty))).collect();
            *after = rebuild(table, after, &moments)?;
        }
        let is_triggered = triggers::run_before_update(table);
        if !is_triggered && !changes {
            return Ok(Applied::Unchanged);
        }
        if is_triggered && !self.before_update(cx, table, before.image, after, row_rules)? {
            return Ok(Applied::Skipped);
        }
        let is_complete =
            table.is_plain() || computed::complete(cx, table, after, &[], row_rules, self.ignore)?;
        let passes = match &self.check {
            Some(check) if is_complete => {
                let joined = match around {
                    Around::Frame(frame) => Some(frame),
                    Around::Nothing | Around::New(..) => None,
                };
                check.passes(cx, table, after, joined, self.ignore)?
            }
            _ => is_complete,
        };
        Ok(match passes {
            true if is_triggered && after == before.image => Applied::Unchanged,
            true => Applied::Changed,
            false => Applied::Skipped,
        })
    }

    /// Lets the triggers see the row, and change it, before it is looked at as a whole. A NULL that
    /// they put where none may be is error 1048 in every mode; false with IGNORE, which skips the
    /// row.
    fn before_update(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: &[u8],
        after: &mut Vec<u8>,
        row_rules: RowRules,
    ) -> Result<bool> {
        if !table.is_plain() {
            computed::fill(cx, table, after, &[], row_rules)?;
        }
        let mut assigned = AssignedColumns::default();
        triggers::before_update(cx, table, before, after, &mut assigned)?;
        for column in null_where_none_may_be(table, after)? {
            let definition = &table.columns[column];
            if assigned.nulls.contains(&column) {
                let e = error::BAD_NULL_ERROR.with(&[&definition.name]);
                return if self.ignore { Ok(false) } else { Err(e) };
            }
            let substitute = no_null(cx, definition, row_rules)?;
            *after = rebuild(table, after, &[(column, substitute)])?;
        }
        Ok(true)
    }

    /// Makes the image after all assignments.
    fn steps(
        &self,
        cx: &mut Context,
        before: ImageRow<'_>,
        way: AssignmentInput<'_>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let at_a_time = if self.sequential { 1 } else { self.list.len().max(1) };
        let mut steps = self.list.chunks(at_a_time);
        self.step(cx, before, way, steps.next().unwrap_or_default(), after)?;
        for step in steps {
            let (table, image, mut offsets) = (before.table, std::mem::take(after), Offsets::default());
            offsets.find(table, &image)?;
            self.step(cx, ImageRow { table, image: &image, offsets: &offsets }, way, step, after)?;
        }
        Ok(())
    }

    /// Makes the image after some of the assignments, all of which read the one before.
    fn step(
        &self,
        cx: &mut Context,
        before: ImageRow<'_>,
        way: AssignmentInput<'_>,
        assignments: &[(usize, AssignedValue)],
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let old = Row::Image(before);
        let AssignmentInput { table, around, row_rules, parameters } = way;
        let both;
        let row = match around {
            Around::New(new, selected, _) => {
                both = [old, new, selected];
                Row::Joined(&both)
            }
            Around::Frame(frame) => frame.row(),
            Around::Nothing => old,
        };
        let mut values: SmallVec<[(usize, Datum<'_>); 4]> = SmallVec::with_capacity(assignments.len());
        for (column, assigned) in assignments {
            let definition = &table.columns[*column];
            let (value, charset) = match assigned {
                AssignedValue::Itself => continue,
                AssignedValue::Default if definition.generated.is_some() => continue,
                AssignedValue::Default => match &definition.default {
                    Default::Expression(_) => {
                        let value = computed::default_value(cx, before, table, *column, row_rules)?;
                        values.push((*column, value));
                        continue;
                    }
                    Default::Now => {
                        values.push((*column, now(cx, &definition.ty)));
                        continue;
                    }
                    Default::Value(value) => {
                        values.push((*column, value.clone()));
                        continue;
                    }
                    Default::None => {
                        let was_null = before.offsets.raw(before.image, *column).is_none();
                        values.push((*column, no_default(cx, definition, was_null, row_rules)?));
                        continue;
                    }
                },
                AssignedValue::Expr(expr) => {
                    let value = expr.eval_with_own_digits(cx, row)?;
                    (store::of_expression(value, &expr.ty), charset_of(expr))
                }
                AssignedValue::Parameter(number) => match parameters.get(*number) {
                    Some(parameter) => (parameter.value.borrow(), parameter.charset()),
                    None => cx.statement.parameter_text(*number),
                },
            };
            if value.is_null() && !definition.nullable {
                // A trigger may still give it a value.
                let value = match triggers::run_before_update(table) {
                    true => Datum::Null,
                    false => match around {
                        _ if is_now_for_null(cx, definition) => now(cx, &definition.ty),
                        Around::New(.., reported) if reported.borrow().contains(column) => {
                            store::null_substitute(&definition.ty)
                        }
                        Around::New(.., reported) => {
                            reported.borrow_mut().push(*column);
                            no_null(cx, definition, row_rules)?
                        }
                        _ => no_null(cx, definition, row_rules)?,
                    },
                };
                values.push((*column, value));
                continue;
            }
            values.push((*column, fit(cx, table, definition, row_rules, value, charset)?));
        }
        replaced(before, &values, after)
    }
}

/// What DEFAULT is for a column without one: of an ENUM NULL, or its first member; else an error,
/// or, with a warning, the type's zero in place of what is not NULL.
fn no_default(
    cx: &mut Context,
    column: &ColumnDef,
    was_null: bool,
    row_rules: RowRules,
) -> Result<Datum<'static>> {
    if let DataType::Enum { .. } = column.ty {
        return Ok(implied_default(column));
    }
    let e = error::NO_DEFAULT_FOR_FIELD.with(&[&column.name]);
    if row_rules.rules.strict {
        return Err(e);
    }
    cx.warn(e);
    Ok(if was_null { Datum::Null } else { store::implicit_default(&column.ty) })
}

/// NULL, or where none may be the type's zero.
pub(super) fn implied_default(column: &ColumnDef) -> Datum<'static> {
    if column.nullable { Datum::Null } else { store::implicit_default(&column.ty) }
}

/// What is stored for NULL in a column that has none.
fn no_null(cx: &mut Context, column: &ColumnDef, row_rules: RowRules) -> Result<Datum<'static>> {
    if is_now_for_null(cx, column) {
        return Ok(now(cx, &column.ty));
    }
    let e = error::BAD_NULL_ERROR.with(&[&column.name]);
    if row_rules.rules.strict {
        return Err(e);
    }
    cx.warn(e);
    Ok(store::null_substitute(&column.ty))
}

/// The columns of a row that are NULL and may not be, as triggers left it.
pub(super) fn null_where_none_may_be(table: &TableDef, image: &[u8]) -> Result<Vec<usize>> {
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let is_wrong = |(number, column): (usize, &ColumnDef)| {
        let may_be = column.nullable || column.generated.is_some();
        (!may_be && offsets.raw(image, number).is_none()).then_some(number)
    };
    Ok(table.columns.iter().enumerate().filter_map(is_wrong).collect())
}

fn has_expression_default(table: &TableDef, column: usize) -> bool {
    matches!(table.columns[column].default, Default::Expression(_))
}

/// The columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned to.
fn untouched_moments(table: &TableDef, list: &[(usize, AssignedValue)]) -> Vec<usize> {
    let untouched = |c: &usize| !list.iter().any(|(column, _)| column == c);
    (0..table.columns.len()).filter(|&c| table.columns[c].on_update_now).filter(untouched).collect()
}

/// The image with some columns replaced; a later value of the same column wins.
pub(super) fn rebuild(table: &TableDef, image: &[u8], values: &[(usize, Datum<'_>)]) -> Result<Vec<u8>> {
    let (mut offsets, mut out) = (Offsets::default(), Vec::new());
    offsets.find(table, image)?;
    replaced(ImageRow { table, image, offsets: &offsets }, values, &mut out)?;
    Ok(out)
}

fn replaced(row: ImageRow<'_>, values: &[(usize, Datum<'_>)], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    out.reserve(row.image.len() + 16);
    let mut builder = RowImageBuilder::new(&row.table.column_types, out);
    for (number, column) in row.table.columns.iter().enumerate() {
        match values.iter().rev().find(|(c, _)| *c == number) {
            Some((_, value)) => image::push(&mut builder, value, &column.ty)?,
            None => builder.push_raw(row.offsets.raw(row.image, number)).map_err(SqlError::internal)?,
        }
    }
    builder.finish().map_err(SqlError::internal)
}
