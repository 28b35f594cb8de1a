//! Views in UPDATE and DELETE of several tables: which of their tables is changed.
//!
//! A view is one of the tables of the join, with its own tables merged into it. What of it can be
//! changed is what [`planner::view_target`](crate::planner::view_target) has noted of it.

use std::sync::Arc;

use super::view_check::ViewCheck;
use crate::catalog::TableDef;
use crate::catalog::view::is_updatable;
use crate::expression::resolve::Source;
use crate::expression::{Expr, Node, Resolver};
use crate::planner::view_target::ViewTarget;
use crate::privilege::{self, Privileges};
use datum::error::{self, Result, SqlError};
use syntax::ast::{ColumnName, ObjectName, ViewAlgorithm};

/// The views that an UPDATE assigns to.
#[derive(Default)]
pub(super) struct Targets {
    /// Their first slots, and the slots of the tables that are changed.
    changed: Vec<(usize, usize)>,
}

impl Targets {
    /// The slot and the column that a view's column is, for an assignment; `None` if its rows can't
    /// be changed.
    ///
    /// # Errors
    /// 1348 for a column that is none of a table's, 1393 for one of another table than those
    /// assigned to before, 1142 and 1356 for what may not be changed.
    pub(super) fn assigned(
        &mut self,
        resolver: &Resolver<'_>,
        source: &Source,
        name: &ColumnName,
        found: &Expr,
        is_table: impl Fn(usize) -> bool,
    ) -> Result<Option<(usize, usize)>> {
        let Some(target) = changeable(resolver, source, Privileges::UPDATE)? else { return Ok(None) };
        let Node::Column { source: slot, column } = found.node else {
            return Err(error::NONUPDATEABLE_COLUMN.with(&[&name.column]));
        };
        if resolver.views.targets.fixed & 1 << slot != 0 || !is_table(slot) {
            return Ok(None);
        }
        let (database, view) = (&target.view.database, &target.view.name);
        let first = target.slots.start;
        match self.changed.iter().find(|(of, _)| *of == first) {
            Some((_, changed)) if *changed != slot => {
                return Err(error::VIEW_MULTIUPDATE.with(&[database, view]));
            }
            Some(_) => {}
            None => self.changed.push((first, slot)),
        }
        check_denied(resolver, target, slot)?;
        Ok(Some((slot, column)))
    }

    /// What the view that a slot is changed through asks of its rows.
    pub(super) fn check(
        &self,
        resolver: &Resolver<'_>,
        slot: usize,
        table: &TableDef,
    ) -> Option<Arc<ViewCheck>> {
        let (first, _) = self.changed.iter().find(|(_, changed)| *changed == slot)?;
        let target = resolver.views.targets.at(*first)?;
        ViewCheck::new(&target.view, target.checks.clone(), slot, table.auto_column)
    }
}

/// The slot of the table that a view's rows are deleted from; `None` if they can't be.
///
/// # Errors
/// 1395 for a view of a join; 1142 and 1356 for what may not be changed.
pub(super) fn deleted(resolver: &Resolver<'_>, source: &Source) -> Result<Option<usize>> {
    let Some(target) = changeable(resolver, source, Privileges::DELETE)? else { return Ok(None) };
    if target.slots.len() > 1 {
        return Err(error::VIEW_DELETE_MERGE_VIEW.with(&[&target.view.database, &target.view.name]));
    }
    check_denied(resolver, target, target.slots.start)?;
    Ok(Some(target.slots.start))
}

/// The view that a source is, if its rows can be changed.
fn changeable<'r>(
    resolver: &'r Resolver<'_>,
    source: &Source,
    privileges: Privileges,
) -> Result<Option<&'r ViewTarget>> {
    let Some(target) = resolver.views.targets.at(source.slot) else { return Ok(None) };
    let view = &target.view;
    if resolver.views.targets.fixed & 1 << source.slot != 0 {
        let is_made = view.algorithm == ViewAlgorithm::TempTable;
        if is_made || !is_updatable(&resolver.cx.catalog().state(), &*view.tree()?) {
            return Ok(None);
        }
    }
    // The statement's own check knows no columns of views, so it may not have found what an
    // unqualified name assigns to.
    let name = ObjectName { database: Some(view.database.as_str().into()), name: view.name.as_str().into() };
    privilege::check_change_in_view(resolver.cx, resolver.cx.grants_now(), &name, privileges)?;
    match target.is_merged {
        true => Ok(Some(target)),
        false => Err(SqlError::unsupported("changes of this view in a statement of several tables")),
    }
}

/// Error 1356 for a table that the view may not change.
fn check_denied(resolver: &Resolver<'_>, target: &ViewTarget, slot: usize) -> Result<()> {
    match resolver.views.targets.denied & 1 << slot {
        0 => Ok(()),
        _ => Err(error::VIEW_INVALID.with(&[&target.view.database, &target.view.name])),
    }
}
