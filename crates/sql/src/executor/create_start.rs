//! CREATE TABLE .. START TRANSACTION: how a log has CREATE TABLE .. SELECT, so that
//! `mysqlbinlog | mysql` sends it.
//!
//! 1. start   The table is made as a temporary one of the session's, where BINLOG finds it by its
//!    name.
//! 2. rows    BINLOG statements put rows into it; nothing but COMMIT and ROLLBACK is allowed
//!    besides them (error 3977).
//! 3. commit  The table and its rows become one event group, as after CREATE TABLE .. SELECT
//!    ([`create_select::log`]).
//!
//! Whatever rolls the transaction back drops the table: until COMMIT nobody else knows of it.

use std::sync::Arc;

use super::{alter, create_select};
use crate::catalog::ddl;
use crate::catalog::{Change, TableDef};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{CreateTable, StatementKind, TableContent, TransactionOptions};

/// A table that COMMIT makes.
pub(crate) struct StartedTable {
    create: Box<CreateTable>,
    /// The session's temporary table of this name.
    filled: Arc<TableDef>,
}

impl StartedTable {
    /// The temporary table that has the rows.
    pub(crate) fn filled(&self) -> &Arc<TableDef> {
        &self.filled
    }
}

/// The statement, if it is one.
pub(crate) fn of(kind: &StatementKind) -> Option<&CreateTable> {
    let StatementKind::CreateTable(create) = kind else { return None };
    match &create.content {
        TableContent::Definition(definition) if definition.start_transaction => Some(create),
        _ => None,
    }
}

/// Error 3977 between such a statement and its COMMIT or ROLLBACK.
pub(super) fn check(cx: &Context, kind: &StatementKind) -> Result<()> {
    use StatementKind as S;
    match kind {
        S::Binlog(_) | S::Commit(_) | S::Rollback(_) => Ok(()),
        _ if cx.transactions.started_table.is_some() => {
            Err(error::STATEMENT_NOT_ALLOWED_AFTER_START_TRANSACTION.plain())
        }
        _ => Ok(()),
    }
}

/// Begins the transaction. What was open is committed already.
pub(super) fn start(cx: &mut Context, create: &CreateTable) -> Result<()> {
    if create.temporary {
        return Err(error::NOT_ALLOWED_WITH_START_TRANSACTION.with(&[&"to create temporary tables."]));
    }
    let plan = ddl::create_selecting(create, &[], None, &cx.catalog().state(), &cx.ddl_settings())?;
    plan.warnings.iter().for_each(|warning| cx.warn(warning.clone()));
    let Some(Change::PutTable(table, _)) = plan.changes.first() else {
        // IF NOT EXISTS: the rows are for the table that is there.
        plan.notes.iter().for_each(|note| cx.statement.diagnostics.note(note.clone()));
        return cx.begin(TransactionOptions::default());
    };
    if cx.temporary_table(Some(&table.database), &table.name).is_some() {
        return Err(SqlError::unsupported(
            "CREATE TABLE .. START TRANSACTION beside a temporary table of that name",
        ));
    }
    alter::check_expressions(cx, table)?;
    let filled = cx.make_temporary(table)?;
    cx.put_temporary(filled.clone());
    cx.transactions.started_table = Some(StartedTable { create: Box::new(create.clone()), filled });
    cx.begin(TransactionOptions::default()).inspect_err(|_| cx.rollback())
}

/// COMMIT: logs the table with its rows. Nothing if no such statement is open.
pub(super) fn commit(cx: &mut Context) -> Result<()> {
    let Some(StartedTable { create, filled }) = cx.transactions.started_table.take() else { return Ok(()) };
    cx.forget_temporary(&filled);
    let logged = cx.commit().and_then(|()| {
        let _passes = cx.enter_definition()?;
        create_select::log(cx, &create, &[], &filled)
    });
    cx.retire(&filled);
    logged
}
