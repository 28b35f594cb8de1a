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
use crate::catalog::TableDef;
use crate::expression::frame::Frame;
use crate::expression::resolve::Source;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Resolver};
use crate::planner::covering::ColumnsRead;
use crate::planner::{self, Operator, Query, block, from, join, semi_join, simplify};
use crate::session::Context;
use crate::status::Counter;
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
    done: HashSet<Vec<u8>>,
}

/// The join that finds the rows.
struct Plan {
    slots: Vec<from::Slot>,
    constant_filter: Vec<Expr>,
    from: Operator,
}

/// The tables of a join, bound.
fn bind(resolver: &mut Resolver<'_>, tables: &[ast::TableReference]) -> Result<from::From> {
    from::bind(resolver, tables, false)
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
        from::From { mut slots, mut list }: from::From,
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
        let cx = std::cell::RefCell::new(&mut *resolver.cx);
        let joiner = join::Joiner::new(&cx, &slots, &locking, ColumnsRead::everything(&slots));
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
                    cx.count(Counter::HandlerUpdate);
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
        let Some((slot, column, table)) = place else {
            let shown = assignment.column.table.as_ref().unwrap_or(&assignment.column.column);
            let is_it = |source: &Source| {
                source.find(&assignment.column.column).is_some()
                    && assignment.column.table.as_ref().is_none_or(|table| table.is(&source.alias))
            };
            refuse_view(resolver.scope.sources.iter().find(|source| is_it(source)))?;
            return Err(error::NON_UPDATABLE_TABLE.with(&[shown, &"UPDATE"]));
        };
        let number = match targets.iter().position(|t| t.slot == slot) {
            Some(number) => number,
            None => {
                let table = resolver.cx.open_table_to_write(Some(&table.database), &table.name)?;
                targets.push(Target { slot, table, done: HashSet::new() });
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
        all.push(Assignments::of_joined(resolver, &target.table, &list)?);
    }
    Ok((targets, all))
}

/// A view is found by its database, as no other derived table is.
fn refuse_view(source: Option<&Source>) -> Result<()> {
    let is_view = |source: &&Source| {
        source.as_table().is_none()
            && !source.database.is_empty()
            && !crate::system_schemas::is_system(&source.database)
    };
    match source.filter(is_view) {
        Some(_) => Err(SqlError::unsupported("views in UPDATE and DELETE of several tables")),
        None => Ok(()),
    }
}

/// Error 1706 where a table is changed under two names, and its primary key too: the second name's
/// rows would be lost.
fn check_keys(
    targets: &[Target],
    assignments: &[Vec<(usize, &ast::Assignment)>],
    slots: &[from::Slot],
) -> Result<()> {
    let alias = |target: &Target| match slots.get(target.slot) {
        Some(from::Slot::Table(_, _, alias)) => alias.to_string(),
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
            cx.count(Counter::HandlerDelete);
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
    if !update.order_by.is_empty() {
        return Err(error::WRONG_USAGE.with(&[&"UPDATE", &"ORDER BY"]));
    }
    if update.limit.is_some() {
        return Err(error::WRONG_USAGE.with(&[&"UPDATE", &"LIMIT"]));
    }
    let scope = crate::routine::scope(cx);
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    planner::name_common(&mut resolver, update.with.as_deref())?;
    let bound = bind(&mut resolver, &update.tables)?;
    let (targets, assignments) = resolve_assignments(&mut resolver, update, &bound.slots)?;
    let plan = Plan::new(&mut resolver, bound, update.filter.as_ref(), &targets)?;
    Ok((plan, targets, assignments))
}

/// Which rows a DELETE from several tables finds.
fn plan_delete(cx: &mut Context, delete: &ast::Delete, text: &[u8]) -> Result<(Plan, Vec<Target>)> {
    let scope = crate::routine::scope(cx);
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    planner::name_common(&mut resolver, delete.with.as_deref())?;
    let bound = bind(&mut resolver, &delete.from)?;
    let mut targets = Vec::with_capacity(delete.targets.len());
    for name in &delete.targets {
        let named =
            |s: &&Source| name.name.is(&s.alias) && name.database.as_ref().is_none_or(|d| **d == *s.database);
        let source = resolver.scope.sources.iter().find(named);
        let source = source.ok_or_else(|| error::UNKNOWN_TABLE.with(&[&name.name, &"MULTI DELETE"]))?;
        let Some(table) = source.as_table() else {
            refuse_view(Some(source))?;
            return Err(error::NON_UPDATABLE_TABLE.with(&[&name.name, &"DELETE"]));
        };
        let (slot, database, table) = (source.slot, table.database.clone(), table.name.clone());
        if targets.iter().any(|t: &Target| t.slot == slot) {
            return Err(error::NONUNIQ_TABLE.with(&[&name.name]));
        }
        let table = resolver.cx.open_table_to_write(Some(&database), &table)?;
        targets.push(Target { slot, table, done: HashSet::new() });
    }
    let plan = Plan::new(&mut resolver, bound, delete.filter.as_ref(), &targets)?;
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
