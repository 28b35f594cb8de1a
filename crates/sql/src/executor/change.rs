//! UPDATE and DELETE of one table.
//!
//! Rows are found under exclusive locks, in their newest versions, and the whole condition is
//! tested on those. What becomes of them is said by [`super::assignments`]; a row that stays equal
//! is counted as matched, not as changed.

use std::cell::Cell;
use std::sync::Arc;

use storage::transaction::Locking;

use super::RowRules;
use super::assignments::{self, Applied, Around, Assignments};
use super::foreign_keys::{self, NotChanged};
use super::operators::{self, Running};
use super::out_of_range;
use super::sort::Sorter;
use super::through_view::{Change, ChangedView};
use super::triggers;
use crate::catalog::TableDef;
use crate::expression::frame::{self, Frame};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, OrderTerm, Resolver, Row, Scope};
use crate::index_use::Use;
use crate::planner::covering::ColumnsRead;
use crate::planner::names::Names;
use crate::planner::plan::{self, Basis, Planning};
use crate::planner::{self, Limit, Operator, Query, block, from, join, order, semi_join};
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::value::Datum;
use syntax::ast::{self, TableReference};

/// The table, if there is only one.
fn only_table(tables: &[TableReference]) -> Option<&ast::TableFactor> {
    match tables {
        [TableReference::Table(factor)] => Some(factor),
        _ => None,
    }
}

/// The one table of an UPDATE or DELETE, opened.
struct TargetTable {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Box<str>,
    hints: Vec<ast::IndexHint>,
    /// The view that it is changed through.
    view: Option<ChangedView>,
}

impl TargetTable {
    /// The same, with what optimizer hints say of its indexes.
    fn hinted(mut self, cx: &mut Context, hints: &[ast::PlanHint]) -> Self {
        if !hints.is_empty() && self.view.is_none() {
            let found = planner::hinted::index_hints(cx, hints, &self.table, &self.alias);
            self.hints = found.unwrap_or(self.hints);
        }
        self
    }

    /// Makes of error 1093 the one for a table that is changed through a view.
    fn prevented(&self, verb: &'static str) -> impl Fn(SqlError) -> SqlError + use<> {
        let view = self.view.is_some().then(|| self.alias.clone());
        move |e| match &view {
            Some(view) if e.is(error::UPDATE_TABLE_USED) => {
                error::VIEW_PREVENT_UPDATE.with(&[view, &verb, view])
            }
            _ => e,
        }
    }

    /// The scope of the one table, or view.
    fn scope(&self, cx: &Context) -> Scope {
        let locals = crate::routine::locals(cx);
        match &self.view {
            None => Scope { locals, ..Scope::of_table(self.table.clone(), &self.alias) },
            Some(view) => Scope { locals, sources: vec![view.source(&self.alias)], ..Scope::empty() },
        }
    }
}

fn single_table(
    cx: &mut Context,
    basis: &mut Basis,
    factor: &ast::TableFactor,
    with: Option<&ast::With>,
    statement: &'static str,
) -> Result<TargetTable> {
    if !factor.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    let is_common =
        |table: &ast::CommonTable| factor.name.database.is_none() && factor.name.name.is(&table.name);
    if with.is_some_and(|with| with.tables.iter().any(|table| is_common(table))) {
        return Err(error::NON_UPDATABLE_TABLE.with(&[&factor.name.name, &statement]));
    }
    let alias: Box<str> = factor.alias.as_deref().unwrap_or(&factor.name.name).into();
    let Some(table) = cx.open_to_change(factor.name.database.as_deref(), &factor.name.name)? else {
        let privileges = if statement == "DELETE" { Privileges::DELETE } else { Privileges::UPDATE };
        let change =
            Change { verb: statement, privileges, shown: &alias, names_columns: false, replaces: false };
        let view = ChangedView::open(cx, basis, &factor.name, change)?;
        if let Some(index) = factor.hints.iter().find_map(|hint| hint.indexes.first()) {
            return Err(error::KEY_DOES_NOT_EXIST.with(&[index, &alias]));
        }
        return Ok(TargetTable { table: view.table.clone(), alias, hints: Vec::new(), view: Some(view) });
    };
    cx.check_writable_table(&table)?;
    basis.writes(&table);
    Ok(TargetTable { table, alias, hints: factor.hints.clone(), view: None })
}

/// What both statements have in common: which rows, in which order, how many.
struct Target {
    /// The table's, and those of the subqueries that it is joined with.
    slots: Vec<from::Slot>,
    constant_filter: Vec<Expr>,
    from: Operator,
    table: Arc<TableDef>,
    /// The whole condition, where a row may have changed since it was found: what becomes of one
    /// row can lead back to others of the table by foreign keys.
    condition: Vec<Expr>,
    /// The rows have to be sorted by these first.
    order: Vec<OrderTerm>,
    limit: Limit,
    /// Of the last execution, for its memory.
    frame: Frame,
}

/// `sql_safe_updates`: error 1175 for a statement that reads all of a table. Asked when it is known
/// that there may be rows.
pub(super) fn check_safe(cx: &Context, from: &Operator) -> Result<()> {
    match cx.settings.safe_updates() && reads_all(from) {
        true => Err(error::UPDATE_WITHOUT_KEY_IN_SAFE_MODE.plain()),
        false => Ok(()),
    }
}

fn reads_all(from: &Operator) -> bool {
    match from {
        Operator::TableAccess(access) => access.path.is_full(),
        Operator::Loop(_) | Operator::Hash(_) => from.inputs().any(reads_all),
        Operator::One(_) | Operator::Rows(_) => false,
    }
}

/// Which rows of its table a statement names.
struct Wanted<'s> {
    with: Option<&'s ast::With>,
    filter: Option<&'s ast::Expr>,
    order_by: &'s [ast::OrderItem],
    limit: Option<&'s ast::Limit>,
    locking: Locking,
}

impl Target {
    fn resolve(
        cx: &mut Context,
        target: TargetTable,
        wanted: &Wanted<'_>,
        Planning { basis, text }: Planning<'_>,
    ) -> Result<Self> {
        let scope = target.scope(cx);
        let TargetTable { table, alias, hints, view } = target;
        let resolver = &mut Resolver::new(cx, scope).with_text(text);
        resolver.targets = vec![table.clone()];
        planner::name_common(resolver, wanted.with)?;
        let mut list = from::List::default();
        list.items.push(from::Item { kind: from::ItemKind::Slot(0), requires: 0 });
        list.conditions.extend(view.into_iter().flat_map(|view| view.conditions));
        resolver.scope.clause = "where clause";
        if let Some(filter) = wanted.filter {
            planner::conjuncts(resolver.expr(filter)?, &mut list.conditions);
        }
        resolver.scope.clause = "order clause";
        let mut order = block::order_terms(resolver, wanted.order_by, &[], false)?;
        let limit = Limit::resolve(resolver, wanted.limit)?;
        basis.reads(resolver);
        let ends = limit.count.iter().chain(&limit.offset);
        list.conditions
            .iter()
            .chain(order.iter().map(|term| &term.expr))
            .chain(ends)
            .for_each(|e| basis.evaluates(e));
        let condition = match table.referenced_by.is_empty() {
            true => Vec::new(),
            false => list.conditions.clone(),
        };
        let mut slots = vec![from::Slot::Table(table.clone(), hints, alias)];
        let mut locking = vec![Some(wanted.locking)];
        let semi_joins = match limit.is_some() && order.is_empty() {
            // Which rows LIMIT takes depends on the order in which they are found: that of the
            // table.
            true => semi_join::SemiJoins::default(),
            false => semi_join::flatten(resolver, &mut slots, &mut locking, &mut list.clone())?,
        };
        let constant_filter = block::take_constant_filter(&mut list);
        let wanted = order::wanted(resolver.cx, &limit);
        let cx = std::cell::RefCell::new(&mut *resolver.cx);
        let joiner = join::Joiner::new(&cx, &slots, &locking, ColumnsRead::everything(&slots));
        let list = joiner.with_leading(list, &semi_joins);
        let mut from = joiner.plan(list, &order, wanted)?;
        if order::gives_order(&mut from, &order) {
            order.clear();
        }
        let frame = Frame::new(slots.iter().map(from::Slot::table));
        Ok(Self { slots, constant_filter, from, table, condition, order, limit, frame })
    }

    /// True if a row is to be deleted that was changed after it was found.
    fn accepts(&self, cx: &mut Context, image: &[u8]) -> Result<bool> {
        let mut offsets = Offsets::default();
        offsets.find(&self.table, image)?;
        let row = Row::Image(ImageRow { table: &self.table, image, offsets: &offsets });
        for condition in &self.condition {
            if condition.truth(cx, row)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What finds the rows, as a query.
    fn into_query(self) -> Query {
        block::of_rows(&self.slots, self.constant_filter, self.from, self.order, self.limit)
    }

    /// Runs with the frame of the last execution, for its memory.
    fn with_frame<T>(&mut self, run: impl FnOnce(&Self, &mut Frame) -> T) -> T {
        let mut frame = std::mem::take(&mut self.frame);
        let outcome = run(self, &mut frame);
        frame.recycle();
        self.frame = frame;
        outcome
    }

    /// Calls `each` with the rows, each locked, and the number that messages have of a row: as in
    /// MySQL that of the rows read so far, but where they are sorted or joined that of the rows
    /// found.
    fn for_each(
        &self,
        cx: &mut Context,
        frame: &mut Frame,
        mut each: impl FnMut(&mut Context, ImageRow<'_>, u64) -> Result<()>,
    ) -> Result<()> {
        let (limit, _) = self.limit.eval(cx)?;
        if limit == 0 || !operators::accepts(cx, &self.constant_filter, frame)? {
            return Ok(());
        }
        if !self.limit.is_some() {
            check_safe(cx, &self.from)?;
        }
        let mut rows = Running::new(cx, &self.from);
        rows.open(cx, frame)?;
        let mut found = 0;
        if self.order.is_empty() {
            while found < limit && rows.next(cx, frame)? {
                found += 1;
                let row = frame.image_row(0).ok_or_else(|| SqlError::internal("a row of no table"))?;
                each(cx, row, rows.rows_read().unwrap_or(found))?;
            }
            rows.close(cx);
            return Ok(());
        }
        let mut sorted = Sorter::new(cx, &self.order, limit);
        while rows.next(cx, frame)? {
            sorted.push(cx, frame.row(), &[Datum::borrowed(frame.image(0).unwrap_or_default())])?;
        }
        rows.close(cx);
        let mut offsets = Offsets::default();
        let each = |cx: &mut Context, row: &mut [Datum<'_>]| {
            let (table, image) = (&*self.table, &*row[0].to_bytes());
            offsets.find(table, image)?;
            found += 1;
            each(cx, ImageRow { table, image, offsets: &offsets }, found).map(|()| true)
        };
        sorted.drain(cx, each).map(|_| ())
    }
}

pub(super) fn update(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<()> {
    cx.statement.storing = !update.ignore;
    let Some(factor) = only_table(&update.tables) else {
        return super::multi_table::update(cx, update, text);
    };
    let is_of_join = Cell::new(false);
    let outcome = plan::run(
        cx,
        |cx, basis| {
            let plan = plan_update(cx, basis, update, factor, text);
            plan.inspect_err(|e| is_of_join.set(e.is(error::VIEW_MULTIUPDATE)))
        },
        |cx, (assignments, target)| {
            let mut after = std::mem::take(&mut assignments.memory);
            let outcome = target
                .with_frame(|target, frame| update_rows(cx, update, assignments, target, frame, &mut after));
            frame::recycle(&mut after);
            assignments.memory = after;
            outcome
        },
    );
    match is_of_join.get() {
        true => super::multi_table::update(cx, update, text),
        false => outcome,
    }
}

fn update_rows(
    cx: &mut Context,
    update: &ast::Update,
    assignments: &Assignments,
    target: &Target,
    frame: &mut Frame,
    after: &mut Vec<u8>,
) -> Result<()> {
    let table = &target.table;
    let rules = cx.store_rules(update.ignore);
    let numbers = assignments.number(table);
    let (mut matched, mut changed) = (0_u64, 0_u64);
    target.for_each(cx, frame, |cx, before, row| {
        matched += 1;
        let applied = assignments.apply(cx, table, before, Around::Nothing, RowRules { row, rules }, after);
        match applied.map_err(|e| out_of_range::with_names(cx, e, || Names::of_table(table, &table.name))) {
            Ok(Applied::Changed) => {}
            Ok(Applied::Unchanged) => return triggers::after_update(cx, table, before.image, before.image),
            Ok(Applied::Skipped) => return Ok(()),
            Err(e) if update.ignore && e.is(error::CHECK_CONSTRAINT_VIOLATED) => {
                cx.warn(e);
                return Ok(());
            }
            Err(e) => return Err(e),
        }
        match triggers::update_row(cx, table, before.image, after) {
            Ok(()) => {
                if numbers {
                    table.count_row(after);
                }
                changed += 1;
                cx.count_change(table, Use::Updated);
                Ok(())
            }
            Err(e) => {
                let e = e.into_error(cx, table, after)?;
                if !update.ignore {
                    return Err(e);
                }
                cx.warn(e);
                Ok(())
            }
        }
    })?;
    cx.statement.status.found_rows = matched;
    cx.statement.status.affected = if cx.connection.count_found_rows { matched } else { changed };
    let warnings = cx.statement.diagnostics.warning_count();
    cx.statement.status.set_info(&[("Rows matched", matched), ("Changed", changed), ("Warnings", warnings)]);
    Ok(())
}

pub(super) fn delete(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<()> {
    cx.statement.storing = !delete.ignore;
    if !delete.targets.is_empty() {
        return super::multi_table::delete(cx, delete, text);
    }
    let factor = only_table(&delete.from);
    let factor = factor.ok_or_else(|| error::NON_UPDATABLE_TABLE.with(&[&"", &"DELETE"]))?;
    plan::run(
        cx,
        |cx, basis| plan_delete(cx, basis, delete, factor, text),
        |cx, target| target.with_frame(|target, frame| delete_rows(cx, target, frame, delete.ignore)),
    )
}

fn delete_rows(cx: &mut Context, target: &Target, frame: &mut Frame, ignore: bool) -> Result<()> {
    let mut deleted = 0;
    target.for_each(cx, frame, |cx, before, _| {
        let found = before.image;
        let Some(before) = foreign_keys::row_now(cx, &target.table, found)? else { return Ok(()) };
        if *before != *found && !target.accepts(cx, &before)? {
            return Ok(());
        }
        match triggers::delete_row(cx, &target.table, &before) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(NotChanged::Reference(e)) if ignore => {
                cx.warn(e);
                return Ok(());
            }
            Err(e) => return Err(e.into_error(cx, &target.table, &before)?),
        }
        cx.count_change(&target.table, Use::Deleted);
        deleted += 1;
        Ok(())
    })?;
    cx.statement.status.affected = deleted;
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
    let with = update.with.as_deref();
    let source = single_table(cx, basis, factor, with, "UPDATE")?.hinted(cx, &update.hints);
    let scope = source.scope(cx);
    let planning = Planning { basis, text };
    let prevented = source.prevented("UPDATE");
    let named = assignments::Target { scope, with, view: source.view.as_ref() };
    let assignments = Assignments::resolve(cx, &source.table, &update.assignments, named, planning);
    let mut assignments = assignments.map_err(&prevented)?;
    assignments.ignore = update.ignore;
    let wanted = Wanted {
        with,
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
        locking: Locking::UPDATE_MATCHING,
    };
    let target = Target::resolve(cx, source, &wanted, Planning { basis, text });
    Ok((assignments, target.map_err(prevented)?))
}

/// Which rows a DELETE from one table finds.
fn plan_delete(
    cx: &mut Context,
    basis: &mut Basis,
    delete: &ast::Delete,
    factor: &ast::TableFactor,
    text: &[u8],
) -> Result<Target> {
    let with = delete.with.as_deref();
    let source = single_table(cx, basis, factor, with, "DELETE")?.hinted(cx, &delete.hints);
    let wanted = Wanted {
        with,
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
        locking: Locking::UPDATE,
    };
    let prevented = source.prevented("DELETE");
    Target::resolve(cx, source, &wanted, Planning { basis, text }).map_err(prevented)
}

/// What finds an UPDATE's rows, and the slots that it changes, one bit each: for EXPLAIN.
pub(crate) fn update_plan(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<(Query, u64)> {
    match only_table(&update.tables) {
        Some(factor) => match plan_update(cx, &mut Basis::default(), update, factor, text) {
            Ok((_, target)) => Ok((target.into_query(), 1)),
            Err(e) if e.is(error::VIEW_MULTIUPDATE) => super::multi_table::update_plan(cx, update, text),
            Err(e) => Err(e),
        },
        None => super::multi_table::update_plan(cx, update, text),
    }
}

/// The same for DELETE.
pub(crate) fn delete_plan(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<(Query, u64)> {
    match only_table(&delete.from).filter(|_| delete.targets.is_empty()) {
        Some(factor) => plan_delete(cx, &mut Basis::default(), delete, factor, text)
            .map(|target| (target.into_query(), 1)),
        None => super::multi_table::delete_plan(cx, delete, text),
    }
}
