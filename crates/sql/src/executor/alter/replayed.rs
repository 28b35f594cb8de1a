//! An ALTER TABLE of the log whose trees the store does not have: they are built again, from the
//! rows as of its place.
//!
//! Replay does this where the store is older than the checkpoint that the statement made (A1): a
//! base that was copied from a running server, a recovery to a point in time. The statement's
//! settings are those of its event, which the session of replay has taken over
//! ([`Context::take_over`]). What is not a function of them and of the rows is not what it was:
//! UUID() and the like are refused (error 1674); logs of older versions have them.
//!
//! Nobody else is there: no locks, no writers, and what the statement tested then is not tested
//! again.

use std::sync::Arc;

use storage::build::{BuildError, TreeBuilder};
use storage::transaction::Direction;
use storage::{Cursor, Snapshot, Store, StoreError, TreeId};

use super::build::{Interim, no_duplicate};
use super::copy::Copy;
use super::counting_index;
use crate::catalog::ddl::alter::{Alter, AlterWork};
use crate::catalog::{TableDef, counted_value};
use crate::session::Context;
use datum::error::{Result, SqlError};

/// Builds the trees of [`Alter::to_build`]. They are durable when this returns, at the position of
/// the last group that was replayed; if the server dies before a checkpoint has the statement, the
/// next start drops them and builds them again.
pub(crate) fn build_trees(cx: &mut Context, alter: &Alter) -> Result<Vec<TreeId>> {
    let store = cx.instance.engine().store().clone();
    let trees: Vec<TreeId> = alter.to_build().iter().map(|_| store.new_tree()).collect();
    tracing::info!(
        table = %format_args!("{}.{}", alter.old.database, alter.old.name),
        trees = trees.len(),
        "the statement's trees are not in the tables: building them from the rows"
    );
    let snapshot = store.snapshot_visible();
    let builder = store.build_trees(trees.clone(), snapshot.clone());
    let rows = OldRows { store: &store, table: &alter.old, snapshot: &snapshot };
    match &alter.work {
        AlterWork::Copy => copy(cx, alter, trees.clone(), &rows, builder)?,
        AlterWork::Indexes { .. } | AlterWork::Definition { .. } => {
            index(alter, trees.clone(), &rows, builder)?
        }
    }
    Ok(trees)
}

fn copy(
    cx: &mut Context,
    alter: &Alter,
    trees: Vec<TreeId>,
    rows: &OldRows<'_>,
    mut builder: TreeBuilder,
) -> Result<()> {
    let copy = Copy::replayed(cx, alter, trees)?;
    let mut number = 0;
    rows.each_by(copy.order(), |old| {
        number += 1;
        let image = copy.row(cx, old, number)?;
        copy.put(cx, &mut builder, &image)
    })?;
    builder.finish().map_err(|e| match e {
        BuildError::Store(e) => e.into(),
        e @ BuildError::Duplicate { .. } => SqlError::internal(e),
    })
}

fn index(alter: &Alter, trees: Vec<TreeId>, rows: &OldRows<'_>, mut builder: TreeBuilder) -> Result<()> {
    let interim = Interim::new(alter, trees)?;
    let schema = &interim.table.schema;
    rows.each(|row| {
        let keys = schema.keys(row).map_err(SqlError::internal)?;
        for (tree, number) in interim.numbered() {
            builder.put(tree, keys.of(number), &[]).map_err(no_duplicate)?;
        }
        Ok(())
    })?;
    builder.finish().map_err(no_duplicate)
}

/// A table's rows as the statement found them.
struct OldRows<'a> {
    store: &'a Arc<Store>,
    table: &'a TableDef,
    snapshot: &'a Snapshot,
}

impl OldRows<'_> {
    /// Calls `each` with every row, in the order of the primary key, with the columns that the
    /// table had.
    fn each(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut cursor = self.store.cursor(self.table.schema.primary.tree(), self.snapshot.position());
        cursor.seek_first()?;
        while cursor.valid() {
            self.row(&cursor, &mut each)?;
            cursor.next()?;
        }
        Ok(())
    }

    /// The same in the order of an index, by its number.
    fn each_by(&self, order: usize, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let schema = &self.table.schema;
        let Some(index) = schema.index(order).filter(|_| order > 0) else { return self.each(each) };
        let mut entries = self.store.cursor(index.tree(), self.snapshot.position());
        let mut rows = self.store.cursor(schema.primary.tree(), self.snapshot.position());
        entries.seek_first()?;
        while entries.valid() {
            let key = index.primary_key_in(entries.key()).map_err(SqlError::internal)?;
            rows.seek(key)?;
            if !rows.valid() || rows.key() != key {
                return Err(SqlError::internal("an entry of an index without its row"));
            }
            self.row(&rows, &mut each)?;
            entries.next()?;
        }
        Ok(())
    }

    /// Calls `each` with the row where the cursor is.
    fn row(&self, cursor: &Cursor, each: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let upgraded = match &self.table.layouts {
            Some(layouts) => {
                layouts.upgrade(cursor.position(), cursor.value()).map_err(SqlError::internal)?
            }
            None => None,
        };
        match upgraded {
            Some(row) => each(&row),
            None => each(cursor.value()),
        }
    }
}

/// The AUTO_INCREMENT counter of the table that an ALTER TABLE has made, as the statement left it:
/// after all numbers that rows have, and where the statement has set it back.
pub(crate) fn set_counter(store: &Arc<Store>, alter: &Alter, new: &TableDef) -> Result<()> {
    let is_set_back = match alter.work {
        AlterWork::Definition { .. } => alter.auto_increment.filter(|asked| new.counter.has_passed(*asked)),
        AlterWork::Indexes { .. } | AlterWork::Copy => None,
    };
    if is_set_back.is_none() && !matches!(alter.work, AlterWork::Copy) {
        return Ok(());
    }
    // Rows that stay are as in the old definition: the new one's layouts know of no position yet.
    let table = if is_set_back.is_some() { &*alter.old } else { new };
    let Some(largest) = largest_number(store, table)? else { return Ok(()) };
    match is_set_back {
        Some(asked) => new.counter.restart(asked.max(largest.saturating_add(1))),
        None => new.counter.used(largest),
    }
    Ok(())
}

/// As [`super::largest_number`], as of the last group that was replayed.
fn largest_number(store: &Arc<Store>, table: &TableDef) -> Result<Option<u64>> {
    let Some((number, direction)) = counting_index(table) else { return Ok(None) };
    let Some(index) = table.schema.index(number) else { return Ok(None) };
    let snapshot = store.snapshot_visible();
    let mut cursor = store.cursor(index.tree(), snapshot.position());
    match direction {
        Direction::Forward => cursor.seek_first()?,
        Direction::Backward => cursor.seek_last()?,
    }
    if !cursor.valid() {
        return Ok(Some(0));
    }
    let primary = table.schema.primary.tree();
    let key = match number {
        0 => cursor.key(),
        _ => index.primary_key_in(cursor.key()).map_err(SqlError::internal)?,
    };
    let gone = || SqlError::internal("an index has an entry without a row");
    let (position, row) = store.version(primary, key, snapshot.position())?.ok_or_else(gone)?;
    let row = row.ok_or_else(gone)?;
    let upgraded = match &table.layouts {
        Some(layouts) => layouts.upgrade(position, &row).map_err(SqlError::internal)?,
        None => None,
    };
    Ok(Some(counted_value(table, &upgraded.unwrap_or(row)).unwrap_or(0)))
}

/// True if trees that notes name can be those of the table: they have entries if the table has
/// rows.
pub(crate) fn are_there(store: &Arc<Store>, old: &TableDef, trees: &[TreeId]) -> Result<bool, StoreError> {
    let snapshot = store.snapshot_visible();
    let has_rows = store.has_entries(old.schema.primary.tree(), snapshot.position())?;
    for tree in trees {
        if store.has_entries(*tree, snapshot.position())? != has_rows {
            return Ok(false);
        }
    }
    Ok(true)
}
