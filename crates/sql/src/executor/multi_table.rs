//! UPDATE and DELETE of several tables, or of one table joined with others.
//!
//! The join finds the rows as they were when the statement began, whatever the statement has
//! changed meanwhile; the rows of the tables that are changed are locked exclusively, those of the
//! others shared. A row that the join meets several times is changed once, by the first of them.

use std::collections::HashSet;
use std::sync::Arc;

use storage::transaction::Locking;

use super::RowRules;
use super::assignments::{Applied, Around, Assignments};
use super::change::check_safe;
use super::foreign_keys::NotChanged;
use super::operators::{self, Running};
use super::triggers;
use super::view_target;
use crate::catalog::TableDef;
use crate::expression::frame::Frame;
use crate::expression::resolve::Source;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Resolver};
use crate::index_use::Use;
use crate::planner::covering::ColumnsRead;
use crate::planner::hinted::HintedOrder;
use crate::planner::{self, Operator, Query, block, from, join, semi_join, simplify};
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast;

/// Bytes that the keys of the changed rows may take; their locks and their changes take several
/// times as much.
const MEMORY_MAX: usize = 256 << 20;

/// A table that is changed: its slot, and the rows that were changed already, by their primary
/// keys.
struct Target {
    slot: usize,
    table: Arc<TableDef>,
    /// What the statement calls the view that it is changed through.
    view: Option<Box<str>>,
    done: HashSet<Vec<u8>>,
}

/// The join that finds the rows.
struct Plan {
    slots: Vec<from::Slot>,
    constant_filter: Vec<Expr>,
    from: Operator,
}

/// The tables of a join, bound; what is done to rows of views in it is noted.
fn bind(
    resolver: &mut Resolver<'_>,
    tables: &[ast::TableReference],
    hints: &[ast::PlanHint],
    privileges: Privileges,
) -> Result<from::From> {
    resolver.views.targets.tracked = Some(privileges);
    let mut bound = from::bind(resolver, tables, from::JoinOptions { straight: fixes_order(hints), hints })?;
    bound.list.conditions.extend(resolver.views.targets.conditions().cloned());
    Ok(bound)
}

/// True for JOIN_FIXED_ORDER.
fn fixes_order(hints: &[ast::PlanHint]) -> bool {
    hints.iter().any(|hint| hint.form.class == ast::HintClass::FixedOrder)
}

/// The table in a slot.
fn table_of(slots: &[from::Slot], slot: usize) -> Option<&Arc<TableDef>> {
    match slots.get(slot) {
        Some(from::Slot::Table(table, ..)) => Some(table),
        _ => None,
    }
}

impl Plan {
    fn new(
        resolver: &mut Resolver<'_>,
        from::From { mut slots, mut list, names }: from::From,
        hints: &[ast::PlanHint],
        filter: Option<&ast::Expr>,
        targets: &[Target],
    ) -> Result<Self> {
        targets.iter().try_for_each(|target| resolver.cx.check_writable_table(&target.table))?;
        resolver.scope.clause = "where clause";
        resolver.targets = targets.iter().map(|t| t.table.clone()).collect();
        if let Some(filter) = filter {
            planner::conjuncts(resolver.expr(filter)?, &mut list.conditions);
        }
        simplify::simplify(&mut list);
        let locking = |slot| match targets.iter().any(|t| t.slot == slot) {
            true => Locking::UPDATE,
            false => Locking::SHARE,
        };
        let mut locking: Vec<_> = (0..slots.len()).map(|slot| Some(locking(slot))).collect();
        let semi_joins = semi_join::flatten(resolver, &mut slots, &mut locking, &mut list.clone())?;
        let constant_filter = block::take_constant_filter(&mut list);
        let hinted = HintedOrder::new(resolver.cx, hints, &slots, &names, &semi_joins);
        let cx = std::cell::RefCell::new(&mut *resolver.cx);
        let joiner = join::Joiner::new(&cx, &slots, &locking, ColumnsRead::everything(&slots));
        let joiner = joiner.with_order(hinted);
        let from = joiner.plan(joiner.with_leading(list, &semi_joins), &[], None)?;
        Ok(Self { slots, constant_filter, from })
    }

    /// What finds the rows, as a query, and the slots that are changed, one bit each.
    fn into_query(self, targets: &[Target]) -> (Query, u64) {
        let changed = targets.iter().fold(0, |all, t| all | 1 << t.slot);
        let query = block::of_rows(
            &self.slots,
            self.constant_filter,
            self.from,
            Vec::new(),
            planner::Limit::default(),
        );
        (query, changed)
    }

    /// Calls `each` with each joined row.
    fn for_each(
        &self,
        cx: &mut Context,
        mut each: impl FnMut(&mut Context, &Frame) -> Result<()>,
    ) -> Result<()> {
        let tables = (0..self.slots.len()).map(|slot| table_of(&self.slots, slot).cloned());
        let mut frame = Frame::new(tables);
        if !operators::accepts(cx, &self.constant_filter, &frame)? {
            return Ok(());
        }
        check_safe(cx, &self.from)?;
        let mut rows = Running::new(cx, &self.from);
        rows.open(cx, &mut frame)?;
        while rows.next(cx, &mut frame)? {
            each(cx, &frame)?;
        }
        Ok(())
    }
}

impl Target {
    /// The table in a slot, open to be written; what a view names is no temporary table.
    fn open(
        resolver: &mut Resolver<'_>,
        slot: usize,
        table: &TableDef,
        view: Option<&Source>,
    ) -> Result<Self> {
        let (database, name) = (&table.database, &table.name);
        let table = match view {
            Some(_) => resolver.cx.open_shared_table_to_write(database, name)?,
            None => resolver.cx.open_table_to_write(Some(database), name)?,
        };
        let view = view.map(|source| source.alias.clone());
        Ok(Target { slot, table, view, done: HashSet::new() })
    }

    /// The slot's row as it is now, if there is one that was not changed yet.
    fn take(&mut self, cx: &mut Context, frame: &Frame, memory: &mut usize) -> Result<Option<Vec<u8>>> {
        let Some(image) = frame.image(self.slot) else { return Ok(None) };
        let keys = self.table.schema.keys(image).map_err(SqlError::internal)?;
        if !self.done.insert(keys.primary().to_vec()) {
            return Ok(None);
        }
        *memory += keys.primary().len() + 64;
        if *memory > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        // The same table may be there under another name, too, and the row may have been changed by
        // that.
        let tree = self.table.schema.primary.tree();
        let now = cx.storage_transaction().get_newest_for_update(tree, keys.primary())?;
        Ok(now.map(|row| row.to_vec()))
    }
}

/// UPDATE of several tables.
pub(super) fn update(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<()> {
    let (plan, mut targets, mut assignments) = plan_update(cx, update, text)?;
    let rules = cx.store_rules(update.ignore);
    assignments.iter_mut().for_each(|a| a.ignore = update.ignore);
    let (mut matched, mut changed, mut memory) = (0_u64, 0_u64, 0);
    let (mut offsets, mut after) = (Offsets::default(), Vec::new());
    plan.for_each(cx, |cx, frame| {
        for (target, assignments) in targets.iter_mut().zip(&assignments) {
            let Some(before) = target.take(cx, frame, &mut memory)? else { continue };
            matched += 1;
            let table = &target.table;
            offsets.find(table, &before)?;
            let row = ImageRow { table, image: &before, offsets: &offsets };
            match assignments.apply(
                cx,
                table,
                row,
                Around::Frame(frame),
                RowRules { row: matched, rules },
                &mut after,
            ) {
                Ok(Applied::Changed) => {}
                Ok(Applied::Unchanged) => {
                    triggers::after_update(cx, table, &before, &before)?;
                    continue;
                }
                Ok(Applied::Skipped) => continue,
                Err(e) if update.ignore && e.is(error::CHECK_CONSTRAINT_VIOLATED) => {
                    cx.warn(e);
                    continue;
                }
                Err(e) => return Err(e),
            }
            match triggers::update_row(cx, table, &before, &after) {
                Ok(()) => {
                    table.count_row(&after);
                    changed += 1;
                    cx.count_change(table, Use::Updated);
                }
                Err(e) => {
                    let e = e.into_error(cx, table, &after)?;
                    if !update.ignore {
                        return Err(e);
                    }
                    cx.warn(e);
                }
            }
        }
        Ok(())
    })?;
    cx.statement.status.found_rows = 0;
    cx.statement.status.affected = if cx.connection.count_found_rows { matched } else { changed };
    let warnings = cx.statement.diagnostics.warning_count();
    cx.statement.status.set_info(&[("Rows matched", matched), ("Changed", changed), ("Warnings", warnings)]);
    Ok(())
}

/// SET, by the tables whose columns it names.
fn resolve_assignments(
    resolver: &mut Resolver<'_>,
    update: &ast::Update,
    slots: &[from::Slot],
) -> Result<(Vec<Target>, Vec<Assignments>)> {
    let mut targets: Vec<Target> = Vec::new();
    let mut by_target: Vec<Vec<(usize, &ast::Assignment)>> = Vec::new();
    let mut views = view_target::Targets::default();
    resolver.scope.clause = "field list";
    for assignment in &update.assignments {
        let found = resolver.assigned(&assignment.column)?;
        // What a derived table has is not its own to change, though it was merged into the join.
        let is_named = |slot: usize| {
            resolver.scope.sources.iter().any(|source| source.slot == slot && source.as_table().is_some())
        };
        let place = match found.node {
            Node::Column { source, column } if is_named(source) => {
                table_of(slots, source).map(|table| (source, column, table))
            }
            _ => None,
        };
        let (slot, column, view) = match place {
            Some((slot, column, _)) => (slot, column, None),
            None => {
                let source = named_source(resolver, &assignment.column);
                let assigned = match &source {
                    Some(source) => {
                        let is_table = |slot| table_of(slots, slot).is_some();
                        views.assigned(resolver, source, &assignment.column, &found, is_table)?
                    }
                    None => None,
                };
                let view = source.as_ref().filter(|s| resolver.views.targets.at(s.slot).is_some());
                let column = &assignment.column;
                let (slot, column) = assigned.ok_or_else(|| match view {
                    Some(view) => error::NON_UPDATABLE_TABLE.with(&[&view.alias, &"UPDATE"]),
                    None => {
                        let shown = column.table.as_ref().unwrap_or(&column.column);
                        error::NON_UPDATABLE_TABLE.with(&[shown, &"UPDATE"])
                    }
                })?;
                (slot, column, source)
            }
        };
        let number = match targets.iter().position(|t| t.slot == slot) {
            Some(number) => number,
            None => {
                let table =
                    table_of(slots, slot).ok_or_else(|| SqlError::internal("a target without a table"))?;
                targets.push(Target::open(resolver, slot, table, view.as_ref())?);
                by_target.push(Vec::new());
                targets.len() - 1
            }
        };
        by_target[number].push((column, assignment));
    }
    check_keys(&targets, &by_target, slots)?;
    resolver.targets = targets.iter().map(|t| t.table.clone()).collect();
    let mut all = Vec::with_capacity(targets.len());
    for (target, list) in targets.iter().zip(by_target) {
        let assignments = Assignments::of_joined(resolver, &target.table, &list);
        let mut assignments = assignments.map_err(|e| prevented(e, &targets, "UPDATE"))?;
        assignments.check = views.check(resolver, target.slot, &target.table);
        all.push(assignments);
    }
    Ok((targets, all))
}

/// Makes of error 1093 the one for a table that is changed through a view.
fn prevented(e: SqlError, targets: &[Target], verb: &'static str) -> SqlError {
    match targets.iter().find_map(|target| target.view.as_ref()) {
        Some(view) if e.is(error::UPDATE_TABLE_USED) => error::VIEW_PREVENT_UPDATE.with(&[view, &verb, view]),
        _ => e,
    }
}

/// The source that an assignment's column is of.
fn named_source(resolver: &Resolver<'_>, name: &ast::ColumnName) -> Option<Source> {
    let is_it = |source: &&Source| {
        source.find(&name.column).is_some()
            && name.table.as_ref().is_none_or(|table| table.is(&source.alias))
            && name.database.as_ref().is_none_or(|database| **database == *source.database)
    };
    resolver.scope.sources.iter().find(is_it).cloned()
}

/// Error 1706 where a table is changed under two names, and its primary key too: the second name's
/// rows would be lost.
fn check_keys(
    targets: &[Target],
    assignments: &[Vec<(usize, &ast::Assignment)>],
    slots: &[from::Slot],
) -> Result<()> {
    let alias = |target: &Target| match (&target.view, slots.get(target.slot)) {
        (Some(view), _) => view.to_string(),
        (None, Some(from::Slot::Table(_, _, alias))) => alias.to_string(),
        _ => String::new(),
    };
    for (number, (target, list)) in targets.iter().zip(assignments).enumerate() {
        let key = target.table.indexes.first();
        let changes_key =
            key.is_some_and(|k| k.parts.iter().any(|p| list.iter().any(|(c, _)| *c == p.column)));
        let same = |(n, t): &(usize, &Target)| *n != number && Arc::ptr_eq(&t.table, &target.table);
        if let (true, Some((_, other))) = (changes_key, targets.iter().enumerate().find(same)) {
            return Err(error::MULTI_UPDATE_KEY_CONFLICT.with(&[&alias(target), &alias(other)]));
        }
    }
    Ok(())
}

/// DELETE from several tables.
pub(super) fn delete(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<()> {
    let (plan, mut targets) = plan_delete(cx, delete, text)?;
    let (mut deleted, mut memory) = (0, 0);
    plan.for_each(cx, |cx, frame| {
        for target in &mut targets {
            let Some(row) = target.take(cx, frame, &mut memory)? else { continue };
            match triggers::delete_row(cx, &target.table, &row) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(NotChanged::Reference(e)) if delete.ignore => {
                    cx.warn(e);
                    continue;
                }
                Err(e) => return Err(e.into_error(cx, &target.table, &row)?),
            }
            cx.count_change(&target.table, Use::Deleted);
            deleted += 1;
        }
        Ok(())
    })?;
    cx.statement.status.found_rows = 0;
    cx.statement.status.affected = deleted;
    Ok(())
}

/// What an UPDATE of several tables does: to which rows, and what becomes of them.
fn plan_update(
    cx: &mut Context,
    update: &ast::Update,
    text: &[u8],
) -> Result<(Plan, Vec<Target>, Vec<Assignments>)> {
    // That a view is one of a join is only known once it was looked at.
    let is_of_view = matches!(update.tables[..], [ast::TableReference::Table(_)]);
    if !is_of_view {
        check_unlimited(update)?;
    }
    let scope = crate::routine::scope(cx);
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    planner::name_common(&mut resolver, update.with.as_deref())?;
    let bound = bind(&mut resolver, &update.tables, &update.hints, Privileges::UPDATE)?;
    let (targets, assignments) = resolve_assignments(&mut resolver, update, &bound.slots)?;
    let plan = Plan::new(&mut resolver, bound, &update.hints, update.filter.as_ref(), &targets);
    let plan = plan.map_err(|e| prevented(e, &targets, "UPDATE"))?;
    check_unlimited(update)?;
    Ok((plan, targets, assignments))
}

/// Error 1221 for an order or a limit, which only an UPDATE of one table has.
fn check_unlimited(update: &ast::Update) -> Result<()> {
    if !update.order_by.is_empty() {
        return Err(error::WRONG_USAGE.with(&[&"UPDATE", &"ORDER BY"]));
    }
    match update.limit {
        Some(_) => Err(error::WRONG_USAGE.with(&[&"UPDATE", &"LIMIT"])),
        None => Ok(()),
    }
}

/// Which rows a DELETE from several tables finds.
fn plan_delete(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<(Plan, Vec<Target>)> {
    let scope = crate::routine::scope(cx);
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    planner::name_common(&mut resolver, delete.with.as_deref())?;
    let bound = bind(&mut resolver, &delete.from, &delete.hints, Privileges::DELETE)?;
    let mut targets = Vec::with_capacity(delete.targets.len());
    for name in &delete.targets {
        let named =
            |s: &&Source| name.name.is(&s.alias) && name.database.as_ref().is_none_or(|d| **d == *s.database);
        let source = resolver.scope.sources.iter().find(named);
        let source = source.ok_or_else(|| error::UNKNOWN_TABLE.with(&[&name.name, &"MULTI DELETE"]))?;
        let (slot, view) = match source.as_table() {
            Some(_) => (source.slot, None),
            None => {
                let source = source.clone();
                let slot = view_target::deleted(&resolver, &source)?;
                let slot = slot.ok_or_else(|| error::NON_UPDATABLE_TABLE.with(&[&name.name, &"DELETE"]))?;
                (slot, Some(source))
            }
        };
        if targets.iter().any(|t: &Target| t.slot == slot) {
            return Err(error::NONUNIQ_TABLE.with(&[&name.name]));
        }
        let table =
            table_of(&bound.slots, slot).ok_or_else(|| SqlError::internal("a target without a table"))?;
        targets.push(Target::open(&mut resolver, slot, table, view.as_ref())?);
    }
    let plan = Plan::new(&mut resolver, bound, &delete.hints, delete.filter.as_ref(), &targets);
    let plan = plan.map_err(|e| prevented(e, &targets, "DELETE"))?;
    Ok((plan, targets))
}

/// What finds an UPDATE's rows, and the slots that it changes: for EXPLAIN.
pub(super) fn update_plan(cx: &mut Context, update: &ast::Update, text: &[u8]) -> Result<(Query, u64)> {
    plan_update(cx, update, text).map(|(plan, targets, _)| plan.into_query(&targets))
}

/// The same for DELETE.
pub(super) fn delete_plan(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<(Query, u64)> {
    plan_delete(cx, delete, text).map(|(plan, targets)| plan.into_query(&targets))
}
