//! INSERT through a view of a join: the columns that it names are of one of the join's tables, and
//! its rows are written there.
//!
//! What the view's conditions read of the other tables is NULL for such a row.

use std::sync::Arc;

use super::through_view::{Change, ChangedView, OTHER_TABLE};
use super::view_check::ViewCheck;
use crate::catalog::ViewDef;
use crate::catalog::view::is_insertable;
use crate::expression::resolve::Columns;
use crate::expression::{Expr, Node, Resolver, Scope};
use crate::planner::from::{self, JoinOptions, Slot};
use crate::planner::plan::Basis;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::Type;
use datum::value::Datum;
use syntax::ast::{Ident, ObjectName, TableFactor, TableReference};

/// The view, whose one table the columns `names` are of.
///
/// # Errors
/// 1471 for a view that is not insertable; 1054 for a name that the view does not have, 1348 for
/// one that is no column, 1393 for columns of several tables; 1356 if the view may not write.
pub(super) fn open(
    cx: &mut Context,
    basis: &mut Basis,
    view: &Arc<ViewDef>,
    names: &[Ident],
    change: Change<'_>,
) -> Result<ChangedView> {
    let not_insertable = || error::NON_INSERTABLE_TABLE.with(&[&change.shown, &change.verb]);
    if !is_insertable(&cx.catalog().state(), &*view.tree()?) {
        return Err(not_insertable());
    }
    let mut resolver = Resolver::new(cx, Scope::empty());
    resolver.views.targets.tracked = Some(change.privileges);
    let name = ObjectName { database: Some(view.database.as_str().into()), name: view.name.as_str().into() };
    let factor = TableFactor { name, partitions: Vec::new(), alias: None, hints: Vec::new() };
    let bound = from::bind(&mut resolver, &[TableReference::Table(factor)], JoinOptions::default())?;
    basis.reads(&mut resolver);
    let targets = std::mem::take(&mut resolver.views.targets);
    let target = targets.at(0).filter(|target| target.is_merged);
    let source = resolver.scope.sources.first();
    let (Some(target), Some(Columns::Merged(columns, exprs))) = (target, source.map(|s| &s.columns)) else {
        return Err(SqlError::unsupported("INSERT through this view of a join"));
    };
    let mut slot = None;
    for name in names {
        let at = columns.iter().position(|column| name.is(&column.meta.name));
        let at = at.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?;
        let Node::Column { source, .. } = exprs[at].node else {
            return Err(error::NONUPDATEABLE_COLUMN.with(&[name]));
        };
        if slot.is_some_and(|slot| slot != source) {
            return Err(error::VIEW_MULTIUPDATE.with(&[&view.database, &view.name]));
        }
        slot = Some(source);
    }
    let Some(Slot::Table(table, ..)) = slot.and_then(|slot| bound.slots.get(slot)) else {
        return Err(not_insertable());
    };
    let slot = slot.unwrap_or_default();
    // The view has to have INSERT on all that it joins.
    if targets.denied != 0 {
        return Err(error::VIEW_INVALID.with(&[&view.database, &view.name]));
    }
    let (columns, mut exprs) = (columns.clone(), exprs.to_vec());
    exprs.iter_mut().for_each(|e| e.transform(&mut |e| move_column(e, slot)));
    let alone = |conditions: &[Expr]| {
        let mut conditions = conditions.to_vec();
        conditions.iter_mut().for_each(|e| e.transform(&mut |e| without_others(e, slot)));
        conditions
    };
    let (conditions, checks) = (alone(&target.conditions), alone(&target.checks));
    let (database, table) = (table.database.clone(), table.name.clone());
    let table = cx.open_shared_table_to_write(&database, &table)?;
    cx.check_writable_table(&table)?;
    basis.writes(&table);
    exprs.iter().chain(&conditions).chain(&checks).for_each(|e| basis.evaluates(e));
    let check = ViewCheck::new(view, checks, 0, table.auto_column);
    Ok(ChangedView { view: view.clone(), table, columns, exprs: exprs.into(), conditions, check })
}

/// Makes a column of the slot one of source 0, and those of others columns of [`OTHER_TABLE`].
fn move_column(e: &mut Expr, slot: usize) {
    if let Node::Column { source, .. } = &mut e.node {
        *source = if *source == slot { 0 } else { OTHER_TABLE };
    }
}

/// The same, with NULL for columns of others.
fn without_others(e: &mut Expr, slot: usize) {
    move_column(e, slot);
    if let Node::Column { source: OTHER_TABLE, .. } = e.node {
        *e = Expr::constant(Datum::Null, Type { nullable: true, ..e.ty });
    }
}
