//! Foreign keys at work: what a changed row means for the rows that it refers to, and for those
//! that refer to it.
//!
//! Whoever changes rows does so by [`insert_row`], [`update_row`] and [`delete_row`]. A table
//! without references pays one look at two empty lists.
//!
//! 1. change    The row itself is changed first, so that a row may refer to itself.
//! 2. parents   Each foreign key whose columns are new, and none of them NULL, must find its parent
//!    (error 1452), which keeps its key from then on.
//! 3. children  Rows that referred to a key which is gone follow: CASCADE and SET NULL change them,
//!    each by these same steps; otherwise there may be none (error 1451).
//!
//! As in MySQL, NO ACTION and RESTRICT are tested row by row, and the foreign keys are asked one
//! after the other, in the order of their names. What follows is rows of the same statement in the
//! log: replicas and readers see each, and are told not to do it once more.
//!
//! (K1) A key that is referred to is given up under its reference lock, exclusively, before anybody
//!      looks for rows that refer to it (X7 of `storage/src/transaction/references.rs`).
//! (K2) The tables are looked up once for a statement, and their definitions stay as they are until
//!      the transaction ends.
//! (K3) Actions that lead on to other rows end after [`DEPTH_MAX`] steps: error 3008. A table that
//!      ON UPDATE has changed rows of already is not changed again, but asked, as InnoDB does it.

mod cascade;
mod key;
mod references;

use std::borrow::Cow;
use std::sync::Arc;

use storage::TransactionError;

use super::writer;
use crate::catalog::TableDef;
use crate::session::Context;
use cascade::Cascade;
use datum::error::{Result, SqlError};
use references::check_parents;

pub(super) use references::NewForeignKeys;
pub(crate) use references::References;

/// Rows on the way from the one that a statement changes to one that follows, both counted, as in
/// InnoDB.
const DEPTH_MAX: usize = 15;

/// Why a row was not changed.
pub(super) enum NotChanged {
    /// Another row has the key: the index, and that row's primary key.
    Duplicate {
        index: usize,
        existing: Vec<u8>,
    },
    /// Errors 1451 and 1452: under IGNORE the row is left as it was, with a warning.
    Reference(SqlError),
    Failed(SqlError),
}

impl From<TransactionError> for NotChanged {
    fn from(e: TransactionError) -> Self {
        match e {
            TransactionError::DuplicateKey { index, existing, .. } => {
                NotChanged::Duplicate { index, existing }
            }
            e => NotChanged::Failed(e.into()),
        }
    }
}

impl From<SqlError> for NotChanged {
    fn from(e: SqlError) -> Self {
        NotChanged::Failed(e)
    }
}

impl NotChanged {
    /// The statement's error. Fails itself, with that, where IGNORE makes no warning of it; `after`
    /// is the row that was to be.
    pub(super) fn into_error(self, cx: &Context, table: &TableDef, after: &[u8]) -> Result<SqlError> {
        match self {
            NotChanged::Duplicate { index, .. } => writer::duplicate_entry(cx, table, index, after),
            NotChanged::Reference(e) => Ok(e),
            NotChanged::Failed(e) => Err(e),
        }
    }
}

impl Context {
    /// True if foreign keys are checked, and act, in the running statement.
    fn checks_foreign_keys(&self) -> bool {
        self.settings.foreign_key_checks() && !self.statement.ignores_foreign_keys
    }
}

type Changed = std::result::Result<(), NotChanged>;

/// A row that DELETE has found, as it is now: those that went before it may have changed it, or
/// have taken it along. `None` if it is gone.
pub(super) fn row_now<'i>(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &'i [u8],
) -> Result<Option<Cow<'i, [u8]>>> {
    if table.referenced_by.is_empty()
        || !cx.checks_foreign_keys()
        || !References::of(cx, table)?.affected(cx, table)?.leads_back
    {
        return Ok(Some(Cow::Borrowed(image)));
    }
    let keys = table.schema.keys(image).map_err(SqlError::internal)?;
    let tree = table.schema.primary.tree();
    let now = cx.storage_transaction().get_newest_for_update(tree, keys.primary())?;
    Ok(now.map(|row| Cow::Owned(row.to_vec())))
}

/// Inserts a row, which must find its parents.
pub(super) fn insert_row(cx: &mut Context, table: &Arc<TableDef>, image: &[u8]) -> Changed {
    if table.foreign_keys.is_empty() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().insert_row(&table.schema, image)?);
    }
    with_savepoint(cx, table, |cx| {
        cx.storage_transaction().insert_row(&table.schema, image)?;
        let references = References::of(cx, table)?;
        check_parents(cx, table, &references, image, None)
    })
}

/// Changes a row that was read under its lock.
pub(super) fn update_row(cx: &mut Context, table: &Arc<TableDef>, before: &[u8], after: &[u8]) -> Changed {
    if !table.has_references() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().update_row(&table.schema, before, after)?);
    }
    with_savepoint(cx, table, |cx| {
        map_together(cx, table)?;
        Cascade::default().update(cx, table, before, after)
    })
}

/// Deletes a row that was read under its lock.
pub(super) fn delete_row(cx: &mut Context, table: &Arc<TableDef>, before: &[u8]) -> Changed {
    delete(cx, table, before, None)
}

/// Deletes a row in whose place another one is put: as in MySQL, who refers to a key that the new
/// row has too goes on doing so.
pub(super) fn delete_replaced(
    cx: &mut Context,
    table: &Arc<TableDef>,
    before: &[u8],
    after: &[u8],
) -> Changed {
    delete(cx, table, before, Some(after))
}

fn delete(cx: &mut Context, table: &Arc<TableDef>, before: &[u8], after: Option<&[u8]>) -> Changed {
    if table.referenced_by.is_empty() || !cx.checks_foreign_keys() {
        log_references(cx, table);
        return Ok(cx.storage_transaction().delete_row(&table.schema, before)?);
    }
    with_savepoint(cx, table, |cx| {
        map_together(cx, table)?;
        Cascade::default().delete(cx, table, before, after)
    })
}

/// Has the log name the tables together whose rows may change with one of this table.
fn map_together(cx: &mut Context, table: &Arc<TableDef>) -> Changed {
    let references = References::of(cx, table)?;
    let tables = &references.affected(cx, table)?.tables;
    if tables.len() > 1 {
        cx.storage_transaction().map_together(tables.iter().map(|table| &*table.schema));
    }
    Ok(())
}

/// Replicas are told that they need not look at the table's foreign keys.
fn log_references(cx: &mut Context, table: &TableDef) {
    if table.has_references() {
        cx.storage_transaction().log_references();
    }
}

/// Takes back what was done where a reference is in the way of it: the statement may go on.
fn with_savepoint(
    cx: &mut Context,
    table: &TableDef,
    change: impl FnOnce(&mut Context) -> Changed,
) -> Changed {
    log_references(cx, table);
    let before = cx.storage_transaction().savepoint();
    let outcome = change(cx);
    if let Err(NotChanged::Reference(_)) = &outcome {
        cx.storage_transaction().rollback_to(before);
    }
    outcome
}
