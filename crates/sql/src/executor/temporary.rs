//! DDL of temporary tables: nothing is logged, no lock is needed, and nothing is committed but by
//! what MySQL says commits implicitly. A table comes and goes at once, whatever becomes of the
//! transaction; its rows are the transaction's.

use super::alter;
use crate::catalog::{Change, TableDef};
use crate::session::Context;
use crate::session::transaction::LastingChanges;
use datum::error::{self, Result};
use syntax::ast::{ObjectName, Statement, StatementKind};

/// True if the statement can only be about temporary tables: it commits nothing, and no global lock
/// keeps it back.
pub(crate) fn is_temporary(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::CreateTable(create) => create.temporary,
        StatementKind::DropTable(drop) => drop.temporary,
        _ => false,
    }
}

/// What a statement does to temporary tables that no ROLLBACK takes back.
pub(super) fn lasting(cx: &Context, kind: &StatementKind) -> LastingChanges {
    let is_there = |name: &ObjectName| cx.temporary_table(name.database.as_deref(), &name.name).is_some();
    match kind {
        StatementKind::CreateTable(create) => {
            LastingChanges { made: create.temporary, ..LastingChanges::default() }
        }
        StatementKind::DropTable(drop) => {
            let dropped = drop.temporary && drop.names.iter().any(is_there);
            LastingChanges { dropped, ..LastingChanges::default() }
        }
        _ => LastingChanges::default(),
    }
}

/// Says what ROLLBACK has left as it is.
pub(super) fn warn_of_lasting(cx: &mut Context, lasting: LastingChanges) {
    if lasting.made {
        cx.warn(error::WARN_TEMPORARY_NOT_REMOVED.plain());
    }
    if lasting.dropped {
        cx.warn(error::WARN_TEMPORARY_NOT_RESTORED.plain());
    }
}

/// True if the statement alters a temporary table.
pub(super) fn alters_temporary(cx: &Context, kind: &StatementKind) -> bool {
    let name: &ObjectName = match kind {
        StatementKind::AlterTable(alter) => &alter.name,
        StatementKind::CreateIndex(create) => &create.table,
        StatementKind::DropIndex(drop) => &drop.table,
        _ => return false,
    };
    cx.temporary_table(name.database.as_deref(), &name.name).is_some()
}

/// Refuses what a statement about temporary tables may not do now.
pub(super) fn check(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    if !is_temporary(kind) {
        return Ok(());
    }
    cx.check_temporary()
}

/// True for a change of a temporary table.
pub(super) fn is_change_of_temporary(change: &Change) -> bool {
    match change {
        Change::PutTable(table, _) | Change::DropTable(table) => table.is_temporary(),
        _ => false,
    }
}

/// Makes changes of temporary tables.
pub(super) fn apply<'a>(cx: &mut Context, changes: impl Iterator<Item = &'a Change>) -> Result<()> {
    for change in changes {
        match change {
            Change::PutTable(table, _) => {
                let table = cx.make_temporary(table)?;
                cx.put_temporary(table);
            }
            Change::DropTable(table) => cx.drop_temporary(table),
            _ => {}
        }
    }
    Ok(())
}

/// ALTER TABLE, CREATE INDEX, DROP INDEX: the rows go into a new table, which takes the old one's
/// place.
pub(super) fn alter(cx: &mut Context, statement: &Statement) -> Result<()> {
    // MySQL copies temporary tables whatever is altered, and says so.
    let mut alter = alter::plan(cx, statement)?;
    alter.counts_rows = true;
    alter::check_expressions(cx, &alter.finished.table)?;
    let mut table: TableDef = alter.finished.table.clone();
    alter.carry_auto_increment(&mut table);
    let new = cx.make_temporary(&table)?;
    match alter::copy::into_temporary(cx, &alter, new.clone()) {
        Ok(rows) => {
            cx.drop_temporary(&alter.old);
            cx.put_temporary(new);
            alter::report_counts(cx, alter, rows);
            Ok(())
        }
        Err(e) => {
            cx.retire(&new);
            Err(e)
        }
    }
}
