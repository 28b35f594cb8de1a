//! UPDATE and DELETE of one table.
//!
//! Rows are found under exclusive locks, in their newest versions, and the whole condition is tested on those. A row is
//! changed by copying the columns that nobody assigns to, as bytes, and writing the others; a row that comes out equal is
//! counted as matched, not as changed.

use std::sync::Arc;

use binlog::row::RowImageBuilder;
use storage::TransactionError;
use storage::transaction::Locking;

use super::computed;
use super::fit;
use super::operators::{self, Running};
use super::sort::Sorter;
use super::writer::{charset_of, duplicate_entry, now};
use crate::ast::{self, ExprKind, TableReference};
use crate::catalog::TableDef;
use crate::catalog::table::Default;
use crate::error::{self, Result, SqlError};
use crate::explain::{blame, names::Names};
use crate::expression::frame::Frame;
use crate::expression::resolve::unknown_column;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Resolver, Row, Scope};
use crate::planner::covering::ColumnsRead;
use crate::planner::plan::{self, Basis};
use crate::planner::{self, Limit, Operator, Query, block, from, join, order};
use crate::session::Context;
use crate::status::Counter;
use crate::value::{Datum, image, store};
use crate::variables::ids;

/// `SET a = .., b = ..`
pub(super) struct Assignments {
    list: Vec<(usize, Assigned)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned to.
    touched: Vec<usize>,
    /// A later assignment reads a column that an earlier one writes: each must be applied before the next.
    sequential: bool,
    /// IGNORE: a row that would violate a constraint stays as it is, with a warning.
    pub(super) ignore: bool,
}

enum Assigned {
    Expr(Expr),
    /// A parameter's value, whatever type it has.
    Parameter(usize),
    Default,
}

/// What assignments read besides the row that they change.
#[derive(Clone, Copy)]
pub(super) enum Around<'a> {
    /// Nothing.
    Nothing,
    /// The row that an INSERT would have written, as a second source, and what its query gave besides, as a third.
    New(Row<'a>, Row<'a>),
    /// The joined row that the changed one is a part of, which is read instead of it.
    Frame(&'a Frame),
}

impl Assignments {
    /// Resolves them; the table is the scope's source 0.
    pub(super) fn resolve(
        cx: &mut Context,
        table: &Arc<TableDef>,
        assignments: &[ast::Assignment],
        scope: Scope,
        (basis, text): (&mut Basis, &[u8]),
    ) -> Result<Self> {
        let mut resolver = Resolver::new(cx, scope).with_text(text);
        resolver.targets = vec![table.clone()];
        let mut list = Vec::with_capacity(assignments.len());
        let mut sequential = false;
        for assignment in assignments {
            // A bare name is the table's own column, whatever else has one of that name.
            let shown = &assignment.column.column;
            let target = match &assignment.column.table {
                None => table.column_index(shown),
                Some(_) => resolver.scope.find(&assignment.column)?.and_then(|e| e.as_column()),
            };
            let column = target.ok_or_else(|| unknown_column(&assignment.column, "field list"))?;
            let value = match assignment.value.kind {
                ExprKind::Default(None) => Assigned::Default,
                ExprKind::Parameter(number) => {
                    computed::not_generated(table, column)?;
                    basis.takes(number);
                    Assigned::Parameter(number as usize)
                }
                _ => {
                    computed::not_generated(table, column)?;
                    let expr = resolver.expr(&assignment.value)?;
                    basis.evaluates(&expr);
                    let earlier: Vec<usize> = list.iter().map(|(c, _)| *c).collect();
                    expr.walk(&mut |e| sequential |= e.as_column().is_some_and(|c| earlier.contains(&c)));
                    Assigned::Expr(expr)
                }
            };
            list.push((column, value));
        }
        basis.reads(&mut resolver);
        Ok(Self { touched: untouched_moments(table, &list), list, sequential, ignore: false })
    }

    /// Resolves those of one table of a join, as column numbers and trees.
    pub(super) fn of_joined(
        resolver: &mut Resolver<'_>,
        table: &TableDef,
        assignments: &[(usize, &ast::Assignment)],
    ) -> Result<Self> {
        let mut list = Vec::with_capacity(assignments.len());
        for (column, assignment) in assignments {
            let value = match &assignment.value.kind {
                ExprKind::Default(None) => Assigned::Default,
                _ => {
                    computed::not_generated(table, *column)?;
                    Assigned::Expr(resolver.expr(&assignment.value)?)
                }
            };
            list.push((*column, value));
        }
        Ok(Self { touched: untouched_moments(table, &list), list, sequential: false, ignore: false })
    }

    /// The row after them; `None` if it stays as it is.
    pub(super) fn apply(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: &[u8],
        around: Around<'_>,
        rules: store::Rules,
        number: u64,
    ) -> Result<Option<Vec<u8>>> {
        let mut after = before.to_vec();
        let all: Vec<&(usize, Assigned)> = self.list.iter().collect();
        let steps: Vec<&[&(usize, Assigned)]> =
            if self.sequential { all.chunks(1).collect() } else { vec![&all] };
        for step in steps {
            after = self.step(cx, table, &after, around, rules, number, step)?;
        }
        if after == before {
            return Ok(None);
        }
        if !self.touched.is_empty() {
            let moments = self.touched.iter().map(|&c| (c, now(cx, &table.columns[c].ty))).collect();
            after = rebuild(table, &after, moments)?;
        }
        if !table.is_plain() {
            let how = (number, self.ignore);
            if !computed::complete(cx, table, &mut after, &self.defaulted(table), rules, how)? {
                return Ok(None);
            }
        }
        Ok(Some(after))
    }

    /// Columns that are set to a default that is an expression.
    fn defaulted(&self, table: &TableDef) -> Vec<usize> {
        let is_expression = |c: usize| matches!(table.columns[c].default, Default::Expression(_));
        let all =
            self.list.iter().filter(|(c, value)| matches!(value, Assigned::Default) && is_expression(*c));
        all.map(|(c, _)| *c).collect()
    }

    #[allow(clippy::too_many_arguments, reason = "one step of `apply`, with all that it has")]
    fn step(
        &self,
        cx: &mut Context,
        table: &TableDef,
        image: &[u8],
        around: Around<'_>,
        rules: store::Rules,
        number: u64,
        assignments: &[&(usize, Assigned)],
    ) -> Result<Vec<u8>> {
        let mut offsets = Offsets::default();
        offsets.find(table, image)?;
        let old = Row::Image(ImageRow { table, image, offsets: &offsets });
        let both;
        let row = match around {
            Around::New(new, selected) => {
                both = [old, new, selected];
                Row::Joined(&both)
            }
            Around::Frame(frame) => frame.row(),
            Around::Nothing => old,
        };
        let mut values = Vec::with_capacity(assignments.len());
        for (column, assigned) in assignments {
            let definition = &table.columns[*column];
            let (value, charset) = match assigned {
                Assigned::Default if definition.generated.is_some() => continue,
                Assigned::Default => match &definition.default {
                    Default::Expression(_) => continue, // evaluated when the row is complete
                    Default::Now => {
                        values.push((*column, now(cx, &definition.ty)));
                        continue;
                    }
                    Default::Value(value) => {
                        values.push((*column, value.clone()));
                        continue;
                    }
                    Default::None => {
                        return Err(error::NO_DEFAULT_FOR_FIELD.with(&[&definition.name]));
                    }
                },
                Assigned::Expr(expr) => (expr.eval(cx, row)?, charset_of(expr)),
                Assigned::Parameter(number) => cx.parameter_text(*number),
            };
            if value.is_null() && !definition.nullable {
                let e = error::BAD_NULL_ERROR.with(&[&definition.name]);
                if rules.strict {
                    return Err(e);
                }
                cx.warn(e);
                values.push((*column, store::null_substitute(&definition.ty)));
                continue;
            }
            values.push((*column, fit(cx, table, definition, (number, rules), (value, charset))?));
        }
        rebuild(table, image, values)
    }
}

/// The columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned to.
fn untouched_moments(table: &TableDef, list: &[(usize, Assigned)]) -> Vec<usize> {
    let untouched = |c: &usize| !list.iter().any(|(column, _)| column == c);
    (0..table.columns.len()).filter(|&c| table.columns[c].on_update_now).filter(untouched).collect()
}

/// The image with some columns replaced; a later value of the same column wins.
pub(super) fn rebuild(table: &TableDef, image: &[u8], values: Vec<(usize, Datum<'_>)>) -> Result<Vec<u8>> {
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let mut out = Vec::with_capacity(image.len() + 16);
    let mut builder = RowImageBuilder::new(&table.column_types, &mut out);
    for (number, column) in table.columns.iter().enumerate() {
        match values.iter().rev().find(|(c, _)| *c == number) {
            Some((_, value)) => image::push(&mut builder, value, &column.ty)?,
            None => builder.push_raw(offsets.raw(image, number)).map_err(SqlError::internal)?,
        }
    }
    builder.finish().map_err(SqlError::internal)?;
    Ok(out)
}

/// The table, if there is only one.
fn only_table(tables: &[TableReference]) -> Option<&ast::TableFactor> {
    match tables {
        [TableReference::Table(factor)] => Some(factor),
        _ => None,
    }
}

/// The one table of an UPDATE or DELETE, opened.
fn single_table(
    cx: &mut Context,
    factor: &ast::TableFactor,
) -> Result<(Arc<TableDef>, Box<str>, Vec<ast::IndexHint>)> {
    if !factor.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    let table = cx.open_table_to_write(factor.name.database.as_deref(), &factor.name.name)?;
    cx.check_writable_table(&table)?;
    let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
    Ok((table, alias.into(), factor.hints.clone()))
}

/// What both statements have in common: which rows, in which order, how many.
struct Target {
    slots: [from::Slot; 1],
    gate: Vec<Expr>,
    from: Operator,
    table: Arc<TableDef>,
    /// The rows have to be sorted by these first.
    order: Vec<(Expr, bool)>,
    limit: Limit,
}

/// `sql_safe_updates`: error 1175 for a statement that reads all of a table. Asked when it is known that there may be rows.
pub(super) fn check_safe(cx: &Context, from: &Operator) -> Result<()> {
    match cx.variables().bool(ids::SQL_SAFE_UPDATES) && reads_all(from) {
        true => Err(error::UPDATE_WITHOUT_KEY_IN_SAFE_MODE.plain()),
        false => Ok(()),
    }
}

fn reads_all(from: &Operator) -> bool {
    match from {
        Operator::Access(access) => access.path.keys.is_empty() && access.path.range.is_none(),
        Operator::Loop(join) => reads_all(&join.outer) || reads_all(&join.inner),
        Operator::Hash(join) => reads_all(&join.outer) || reads_all(&join.inner),
        Operator::One(_) | Operator::Rows(_) => false,
    }
}

/// Which rows of its table a statement names.
struct Wanted<'s> {
    filter: Option<&'s ast::Expr>,
    order_by: &'s [ast::OrderItem],
    limit: Option<&'s ast::Limit>,
    locking: Locking,
}

impl Target {
    fn resolve(
        cx: &mut Context,
        (table, alias, hints): (Arc<TableDef>, Box<str>, Vec<ast::IndexHint>),
        wanted: &Wanted<'_>,
        (basis, text): (&mut Basis, &[u8]),
    ) -> Result<Self> {
        let scope = scope_of(cx, &table, &alias);
        let resolver = &mut Resolver::new(cx, scope).with_text(text);
        resolver.targets = vec![table.clone()];
        let mut list = from::List::default();
        list.items.push(from::Item { kind: from::ItemKind::Slot(0), requires: 0 });
        resolver.scope.clause = "where clause";
        if let Some(filter) = wanted.filter {
            planner::conjuncts(resolver.expr(filter)?, &mut list.conditions);
        }
        resolver.scope.clause = "order clause";
        let mut order = block::order_terms(resolver, wanted.order_by, &[])?;
        let limit = Limit::resolve(resolver, wanted.limit)?;
        basis.reads(resolver);
        let ends = limit.count.iter().chain(&limit.offset);
        list.conditions
            .iter()
            .chain(order.iter().map(|(e, _)| e))
            .chain(ends)
            .for_each(|e| basis.evaluates(e));
        let slots = [from::Slot::Table(table.clone(), hints, alias)];
        let locking = [Some(wanted.locking)];
        let gate = block::take_gate(&mut list);
        let wanted = order::wanted(resolver.cx, &limit);
        let cx = std::cell::RefCell::new(&mut *resolver.cx);
        let joiner = join::Joiner::new(&cx, &slots, &locking, ColumnsRead::everything(&slots));
        let mut from = joiner.plan(list, &order, wanted)?;
        if order::gives_order(&mut from, &order) {
            order.clear();
        }
        Ok(Self { slots, gate, from, table, order, limit })
    }

    /// What finds the rows, as a query.
    fn into_query(self) -> Query {
        block::of_rows(&self.slots, self.gate, self.from, self.order, self.limit)
    }

    /// Calls `each` with the rows, each locked.
    fn for_each(
        &self,
        cx: &mut Context,
        mut each: impl FnMut(&mut Context, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (limit, _) = self.limit.eval(cx)?;
        let mut frame = Frame::new(std::iter::once(Some(self.table.clone())));
        if limit == 0 || !operators::accepts(cx, &self.gate, &frame)? {
            return Ok(());
        }
        if !self.limit.is_some() {
            check_safe(cx, &self.from)?;
        }
        let mut rows = Running::new(cx, &self.from);
        rows.open(cx, &mut frame)?;
        let mut sorted = Sorter::new(cx, &self.order, limit);
        let mut done = 0;
        while rows.next(cx, &mut frame)? {
            let image = frame.image(0).unwrap_or_default();
            if self.order.is_empty() {
                each(cx, image)?;
                done += 1;
                if done == limit {
                    return Ok(());
                }
            } else {
                sorted.push(cx, frame.row(), &[Datum::borrowed(image)])?;
            }
        }
        sorted.drain(cx, |cx, row| each(cx, &row[0].to_bytes()).map(|()| true)).map(|_| ())
    }
}

/// The scope of the one table.
fn scope_of(cx: &Context, table: &Arc<TableDef>, alias: &str) -> Scope {
    Scope { locals: crate::routine::locals(cx), ..Scope::of_table(table.clone(), alias) }
}

/// UPDATE.
pub(super) fn update(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<()> {
    if update.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    cx.storing = !update.ignore;
    let Some(factor) = only_table(&update.tables) else {
        return super::multi_table::update(cx, update, text);
    };
    plan::run(
        cx,
        |cx, basis| plan_update(cx, basis, update, factor, text),
        |cx, (assignments, target)| update_rows(cx, update, assignments, target),
    )
}

fn update_rows(
    cx: &mut Context,
    update: &ast::Update,
    assignments: &Assignments,
    target: &Target,
) -> Result<()> {
    let table = &target.table;
    let rules = cx.store_rules(update.ignore);
    let (mut matched, mut changed) = (0_u64, 0_u64);
    target.for_each(cx, |cx, before| {
        matched += 1;
        let applied = assignments.apply(cx, table, before, Around::Nothing, rules, matched);
        let after =
            match applied.map_err(|e| blame::with_names(cx, e, || Names::of_table(table, &table.name))) {
                Ok(Some(after)) => after,
                Ok(None) => return Ok(()),
                Err(e) if update.ignore && e.is(error::CHECK_CONSTRAINT_VIOLATED) => {
                    cx.warn(e);
                    return Ok(());
                }
                Err(e) => return Err(e),
            };
        match cx.transaction().engine.update_row(&table.schema, before, &after) {
            Ok(()) => {
                table.count_row(&after);
                changed += 1;
                cx.count(Counter::HandlerUpdate);
                Ok(())
            }
            Err(TransactionError::DuplicateKey { index, .. }) => {
                let e = duplicate_entry(cx, table, index, &after)?;
                if !update.ignore {
                    return Err(e);
                }
                cx.warn(e);
                Ok(())
            }
            Err(e) => Err(e.into()),
        }
    })?;
    cx.status.affected = if cx.count_found_rows { matched } else { changed };
    let warnings = cx.diagnostics.warning_count();
    cx.status.info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    Ok(())
}

/// DELETE.
pub(super) fn delete(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<()> {
    if delete.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    cx.storing = !delete.ignore;
    if !delete.targets.is_empty() {
        return super::multi_table::delete(cx, delete, text);
    }
    let factor = only_table(&delete.from);
    let factor = factor.ok_or_else(|| SqlError::internal("DELETE of several tables that names none"))?;
    plan::run(cx, |cx, basis| plan_delete(cx, basis, delete, factor, text), delete_rows)
}

fn delete_rows(cx: &mut Context, target: &Target) -> Result<()> {
    let mut deleted = 0;
    target.for_each(cx, |cx, before| {
        cx.transaction().engine.delete_row(&target.table.schema, before)?;
        cx.count(Counter::HandlerDelete);
        deleted += 1;
        Ok(())
    })?;
    cx.status.affected = deleted;
    Ok(())
}

/// What an UPDATE of one table does: to which rows, and what becomes of them.
fn plan_update(
    cx: &mut Context,
    basis: &mut Basis,
    update: &ast::Update,
    factor: &ast::TableFactor,
    text: &[u8],
) -> Result<(Assignments, Target)> {
    let source = single_table(cx, factor)?;
    let (table, alias, _) = &source;
    basis.writes(table);
    let scope = scope_of(cx, table, alias);
    let mut assignments = Assignments::resolve(cx, table, &update.assignments, scope, (basis, text))?;
    assignments.ignore = update.ignore;
    let wanted = Wanted {
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
        locking: Locking::UPDATE_MATCHING,
    };
    Ok((assignments, Target::resolve(cx, source, &wanted, (basis, text))?))
}

/// Which rows a DELETE from one table finds.
fn plan_delete(
    cx: &mut Context,
    basis: &mut Basis,
    delete: &ast::Delete,
    factor: &ast::TableFactor,
    text: &[u8],
) -> Result<Target> {
    let source = single_table(cx, factor)?;
    basis.writes(&source.0);
    let wanted = Wanted {
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
        locking: Locking::UPDATE,
    };
    Target::resolve(cx, source, &wanted, (basis, text))
}

/// What finds an UPDATE's rows, and the slots that it changes, one bit each: for EXPLAIN.
pub(crate) fn update_plan(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<(Query, u64)> {
    if update.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    match only_table(&update.tables) {
        Some(factor) => plan_update(cx, &mut Basis::default(), update, factor, text)
            .map(|(_, target)| (target.into_query(), 1)),
        None => super::multi_table::update_plan(cx, update, text),
    }
}

/// The same for DELETE.
pub(crate) fn delete_plan(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<(Query, u64)> {
    if delete.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    match only_table(&delete.from).filter(|_| delete.targets.is_empty()) {
        Some(factor) => plan_delete(cx, &mut Basis::default(), delete, factor, text)
            .map(|target| (target.into_query(), 1)),
        None => super::multi_table::delete_plan(cx, delete, text),
    }
}
