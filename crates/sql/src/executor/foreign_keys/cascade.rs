//! What follows from the change of a row for those that refer to it (CASCADE, SET NULL), and that
//! nobody refers to a key which is gone.

use std::sync::Arc;

use smallvec::SmallVec;
use storage::transaction::Locking;
use syntax::ast::ReferenceAction;

use super::key::fitted;
use super::references::{Child, References, check_parents};
use super::{Changed, DEPTH_MAX, NotChanged};
use crate::catalog::TableDef;
use crate::catalog::foreign_key::{ForeignKeyDef, acts};
use crate::executor::assignments::rebuild;
use crate::executor::{RowRules, computed};
use crate::expression::row::{ImageRow, Offsets};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::value::Datum;

/// The way from the row that a statement changes to the one that follows now.
#[derive(Default)]
pub(super) struct Cascade {
    /// How many steps it is long.
    depth: usize,
    /// The tables whose rows ON UPDATE changes on it, by their numbers.
    updated: SmallVec<[u64; 4]>,
}

/// What becomes of a key that is referred to.
#[derive(Clone, Copy)]
enum ParentChange<'a> {
    Deleted,
    /// The row's image now.
    Updated(&'a [u8]),
}

impl Cascade {
    /// Deletes a row, and what follows. `instead` is the row that comes in its place.
    pub(super) fn delete(
        &mut self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: &[u8],
        instead: Option<&[u8]>,
    ) -> Changed {
        let references = References::of(cx, table)?;
        let lost = LostKeys::of(cx, table, &references, before, instead)?;
        lost.give_up(cx, &references)?;
        cx.storage_transaction().delete_row(&table.schema, before)?;
        self.children(cx, table, &references, &lost, before, ParentChange::Deleted)
    }

    /// Changes a row, and what follows.
    pub(super) fn update(
        &mut self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        before: &[u8],
        after: &[u8],
    ) -> Changed {
        let references = References::of(cx, table)?;
        let lost = LostKeys::of(cx, table, &references, before, Some(after))?;
        lost.give_up(cx, &references)?;
        cx.storage_transaction().update_row(&table.schema, before, after)?;
        let changed = changed_keys(table, before, after)?;
        if !changed.is_empty() {
            check_parents(cx, table, &references, after, Some(&changed))?;
        }
        self.children(cx, table, &references, &lost, before, ParentChange::Updated(after))
    }

    /// What follows for the rows that referred to keys which are gone, one foreign key after the
    /// other: they change, or there may be none.
    fn children(
        &mut self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        references: &References,
        lost: &LostKeys,
        before: &[u8],
        change: ParentChange<'_>,
    ) -> Changed {
        for (child, key) in references.children.iter().zip(&lost.keys) {
            let Some(key) = key else { continue };
            let action = self.action(table, child, change);
            if acts(action) {
                if !key.is_equal || action == ReferenceAction::Cascade {
                    self.follow(cx, table, child, &key.in_child, action, change)?;
                }
            } else if !key.is_equal && self.is_referred_to(cx, table, child, &key.in_child, before, change)? {
                return Err(NotChanged::Reference(child.is_in_the_way(cx)));
            }
        }
        Ok(())
    }

    /// What becomes of the rows that referred to a key which is gone (K3).
    fn action(&self, table: &TableDef, child: &Child, change: ParentChange<'_>) -> ReferenceAction {
        let of_child = child.in_child.table.id;
        match change {
            ParentChange::Deleted => child.definition().on_delete,
            ParentChange::Updated(_) if of_child == table.id || self.updated.contains(&of_child) => {
                ReferenceAction::Restrict
            }
            ParentChange::Updated(_) => child.definition().on_update,
        }
    }

    /// Changes the rows of a child that referred to a key.
    fn follow(
        &mut self,
        cx: &mut Context,
        parent: &Arc<TableDef>,
        child: &Child,
        key: &[u8],
        action: ReferenceAction,
        change: ParentChange<'_>,
    ) -> Changed {
        let table = &child.in_child.table;
        let mut scan = cx.storage_transaction().scan_referring(&table.schema, child.in_child.index, key)?;
        while let Some(row) = scan.next(cx.storage_transaction(), Locking::UPDATE)? {
            datum::bounds::check()?;
            cx.check_interrupt()?;
            cx.statement.cascaded_within |= !cx.statement.frames.is_empty();
            self.depth += 1;
            if self.depth == DEPTH_MAX {
                return Err(NotChanged::Failed(error::FK_DEPTH_EXCEEDED.with(&[&DEPTH_MAX])));
            }
            match (action, change) {
                (ReferenceAction::Cascade, ParentChange::Deleted) => self.delete(cx, table, &row, None),
                (_, change) => {
                    let after = child.changed_row(cx, parent, &row, action, change)?;
                    let way = self.updated.len();
                    if let ParentChange::Updated(_) = change {
                        self.updated.push(parent.id);
                    }
                    let outcome = self.update(cx, table, &row, &after);
                    self.updated.truncate(way);
                    outcome.map_err(|e| duplicate_of_child(cx, parent, child, &after, e))
                }
            }?;
            self.depth -= 1;
        }
        scan.end(cx.storage_transaction());
        Ok(())
    }

    /// True if a row refers to a key that is gone.
    fn is_referred_to(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        child: &Child,
        key: &[u8],
        before: &[u8],
        change: ParentChange<'_>,
    ) -> std::result::Result<bool, NotChanged> {
        // A row that refers to itself is in its own way, as in MySQL.
        if child.in_child.table.id == table.id && matches!(change, ParentChange::Deleted) {
            let own = table.schema.keys(before).map_err(SqlError::internal)?;
            if own.of(child.in_child.index).starts_with(key) {
                return Ok(true);
            }
        }
        let mut scan = cx.storage_transaction().scan_referring(
            &child.in_child.table.schema,
            child.in_child.index,
            key,
        )?;
        let found = scan.next(cx.storage_transaction(), Locking::SHARE)?.is_some();
        scan.end(cx.storage_transaction());
        Ok(found)
    }
}

/// Error 1761: a row that follows would have another row's key.
fn duplicate_of_child(
    cx: &Context,
    parent: &TableDef,
    child: &Child,
    after: &[u8],
    e: NotChanged,
) -> NotChanged {
    let NotChanged::Duplicate { index, .. } = e else { return e };
    let table = &child.in_child.table;
    let values = || -> Result<String> {
        let mut offsets = Offsets::default();
        offsets.find(table, after)?;
        let row = ImageRow { table, image: after, offsets: &offsets };
        let mut shown = Vec::with_capacity(child.in_child.to.len());
        for &column in &child.in_child.to {
            let value = row.column(column, cx.settings.zone())?;
            shown.push(String::from_utf8_lossy(&value.to_bytes()).into_owned());
        }
        Ok(shown.join("-"))
    };
    match values() {
        Ok(values) => {
            let key = &table.indexes[index].name;
            let e =
                error::FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO.with(&[&parent.name, &values, &table.name, key]);
            NotChanged::Failed(e)
        }
        Err(e) => NotChanged::Failed(e),
    }
}

/// The keys that a row had and has no longer.
struct LostKeys {
    /// One for each of [`References::children`]; `None` if the row keeps it, or had a NULL in it.
    keys: Vec<Option<LostKey>>,
}

struct LostKey {
    /// As the row's own index has it, for its lock.
    own: Vec<u8>,
    /// As the child's index has it.
    in_child: Vec<u8>,
    /// It compares as the same, though its bytes changed: no row lost its parent, but CASCADE
    /// brings the new bytes.
    is_equal: bool,
}

impl LostKeys {
    fn of(
        cx: &mut Context,
        table: &Arc<TableDef>,
        references: &References,
        before: &[u8],
        after: Option<&[u8]>,
    ) -> Result<Self> {
        if references.children.is_empty() {
            return Ok(Self { keys: Vec::new() });
        }
        let (mut offsets, mut offsets_after) = (Offsets::default(), Offsets::default());
        offsets.find(table, before)?;
        let row = ImageRow { table, image: before, offsets: &offsets };
        let row_after = match after {
            Some(after) => {
                offsets_after.find(table, after)?;
                Some(ImageRow { table, image: after, offsets: &offsets_after })
            }
            None => None,
        };
        let mut keys = Vec::with_capacity(references.children.len());
        for child in &references.children {
            let is_same = |after: &ImageRow<'_>| {
                let same = |&column: &usize| {
                    row.offsets.raw(before, column) == after.offsets.raw(after.image, column)
                };
                child.columns.iter().all(same)
            };
            if row_after.as_ref().is_some_and(is_same) {
                keys.push(None);
                continue;
            }
            let own = child.in_parent.encode(cx, row)?;
            let in_child = child.in_child.encode(cx, row)?;
            let (Some(own), Some(in_child)) = (own, in_child) else {
                keys.push(None);
                continue;
            };
            let is_equal = match row_after {
                Some(after) => child.in_parent.encode(cx, after)?.as_ref() == Some(&own),
                None => false,
            };
            keys.push(Some(LostKey { own, in_child, is_equal }));
        }
        Ok(Self { keys })
    }

    /// Takes the locks (K1).
    fn give_up(&self, cx: &mut Context, references: &References) -> Changed {
        for (child, key) in references.children.iter().zip(&self.keys) {
            if let Some(key) = key.as_ref().filter(|key| !key.is_equal) {
                let own = &child.in_parent;
                cx.storage_transaction().give_up_referenced(&own.table.schema, own.index, &key.own)?;
            }
        }
        Ok(())
    }
}

/// The foreign keys, by their numbers, whose columns a change of a row changes.
fn changed_keys(table: &TableDef, before: &[u8], after: &[u8]) -> Result<SmallVec<[usize; 4]>> {
    if table.foreign_keys.is_empty() {
        return Ok(SmallVec::new());
    }
    let (mut old, mut new) = (Offsets::default(), Offsets::default());
    old.find(table, before)?;
    new.find(table, after)?;
    let changes = |key: &ForeignKeyDef| key.columns.iter().any(|&c| old.raw(before, c) != new.raw(after, c));
    let all = table.foreign_keys.iter().enumerate();
    Ok(all.filter(|(_, key)| changes(key)).map(|(number, _)| number).collect())
}

impl Child {
    /// A row of the child as CASCADE and SET NULL make it.
    fn changed_row(
        &self,
        cx: &mut Context,
        parent: &TableDef,
        row: &[u8],
        action: ReferenceAction,
        change: ParentChange<'_>,
    ) -> std::result::Result<Vec<u8>, NotChanged> {
        let table = &self.in_child.table;
        let mut values: Vec<(usize, Datum<'static>)> = Vec::with_capacity(self.columns.len());
        match change {
            ParentChange::Updated(after) if action == ReferenceAction::Cascade => {
                let mut offsets = Offsets::default();
                offsets.find(parent, after)?;
                let after = ImageRow { table: parent, image: after, offsets: &offsets };
                for (&from, &to) in self.columns.iter().zip(&self.in_child.to) {
                    let value = fitted(cx, after, from, &table.columns[to].ty)?;
                    let is_good = value.as_ref().is_some_and(|v| !v.is_null() || table.columns[to].nullable);
                    let Some(value) = value.filter(|_| is_good) else {
                        return Err(NotChanged::Reference(self.is_in_the_way(cx)));
                    };
                    values.push((to, value.into_owned()));
                }
            }
            _ => values.extend(self.in_child.to.iter().map(|&column| (column, Datum::Null))),
        }
        let mut image = rebuild(table, row, &values)?;
        if !table.is_plain() {
            let rules = cx.store_rules(false);
            computed::complete(cx, table, &mut image, &[], RowRules { row: 1, rules }, false)?;
        }
        Ok(image)
    }
}
