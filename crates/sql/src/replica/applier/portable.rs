//! Which changes a MariaDB may have logged as text: those that mean the same here.
//!
//! A text is computed anew, and MariaDB computes many things in another way than MySQL does: digits
//! of quotients, texts of numbers and documents, conversions, cases of letters. A replica that ran
//! such a text would go on with other rows, and nobody would know. So what is run is what is known
//! to give the same rows, and all else stops the applier:
//!
//! - INSERT, REPLACE, UPDATE and DELETE of one stored or temporary table without generated columns,
//!   and without triggers that would run, in which no order of rows decides: no LIMIT, no IGNORE where rows collide.
//! - Values of their column's family ([`value::Value::check_stored`]): literals as the column would
//!   show them, other columns, exact arithmetic, the statement's time.
//! - Conditions that compare values of one family ([`scope::Scope::condition`]).
//!
//! `duramen_replica_statements = ALL` runs the others as well.

mod scope;
mod value;

use std::borrow::Cow;
use std::sync::Arc;

use binlog::event::QueryEvent;

use crate::catalog::table::Default;
use crate::catalog::{IndexDef, TableDef, parse_one};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{Result, SqlError};
use scope::Scope;
use syntax::ast::{
    Delete, ExprKind, Insert, InsertSource, Query, QueryBody, Select, SelectItem, SelectOptions,
    StatementKind, TableContent, TableFactor, TableReference, TriggerEvent, TriggerTime, Update,
};

/// What in a statement may mean something else here.
type Reason = Cow<'static, str>;

/// `Err` with what it is that may mean something else here.
type Checked<T = ()> = std::result::Result<T, Reason>;

/// Checks a change that a MariaDB logged as text at `timestamp` (seconds since 1970), if
/// `duramen_replica_statements` says so. What can't be parsed, or is about tables that are not
/// there, is left to those who run it.
///
/// # Errors
/// 1235 for what may mean something else here.
pub(super) fn check(cx: &Context, query: &QueryEvent<'_>, timestamp: u32) -> Result<()> {
    const PORTABLE: u64 = 0;
    if cx.instance.globals().uint(ids::DURAMEN_REPLICA_STATEMENTS) != PORTABLE {
        return Ok(());
    }
    let Ok(statement) = parse_one(&query.sql, query.status.sql_mode.unwrap_or(0)) else { return Ok(()) };
    let database = std::str::from_utf8(&query.database).unwrap_or_default();
    let [client, connection, _] = query.status.charset.unwrap_or([super::settings::UTF8MB4_GENERAL_CI; 3]);
    let checker = Checker { cx, database, client, connection, timestamp };
    checker.statement(&statement.kind).map_err(|reason| {
        let message = format!(
            "A MariaDB has logged a change as text that may mean something else here: {reason}. With SET GLOBAL \
             binlog_format = ROW there, sessions that begin then log rows. SET GLOBAL duramen_replica_statements = ALL \
             here runs such texts as MySQL would; compare the servers then"
        );
        SqlError { message, ..SqlError::unsupported(reason) }
    })
}

/// What a statement's meaning depends on.
struct Checker<'a> {
    cx: &'a Context,
    database: &'a str,
    /// Collations of the source's session.
    client: u16,
    connection: u16,
    timestamp: u32,
}

impl Checker<'_> {
    fn statement(&self, kind: &StatementKind) -> Checked {
        match kind {
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => self.update(update),
            StatementKind::Delete(delete) => self.delete(delete),
            StatementKind::CreateTable(create) => match &create.content {
                TableContent::Definition(definition) if definition.query.is_some() => {
                    Err("CREATE TABLE .. SELECT".into())
                }
                _ => Ok(()),
            },
            StatementKind::LoadData(_) => Err("LOAD DATA".into()),
            StatementKind::Query(_) | StatementKind::Do(_) | StatementKind::Call { .. } => {
                Err("a function or procedure".into())
            }
            // The kinds of texts are told apart by their first words before.
            _ => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert) -> Checked {
        let Some(table) = self.table(insert.table.database.as_deref(), &insert.table.name)? else {
            return Ok(());
        };
        if !insert.partitions.is_empty() || insert.row_alias.is_some() {
            return Err("PARTITION, or an alias of rows,".into());
        }
        if table.columns.iter().any(|column| matches!(column.default, Default::Expression(_))) {
            return Err("a default that is computed".into());
        }
        if insert.ignore && !table.checks.is_empty() {
            return Err("IGNORE with a CHECK constraint".into());
        }
        if insert.replace && !table.referenced_by.is_empty() {
            return Err("REPLACE into a table that foreign keys refer to".into());
        }
        let unique = table.indexes.iter().filter(|index| index.unique).count();
        if !insert.on_duplicate.is_empty() && unique > 1 {
            return Err("ON DUPLICATE KEY UPDATE of a table with several unique keys".into());
        }
        let columns: Vec<usize> = if insert.columns.is_empty() {
            let visible = table.columns.iter().enumerate().filter(|(_, column)| column.visible);
            visible.map(|(number, _)| number).collect()
        } else {
            let Some(columns) = insert.columns.iter().map(|name| table.column_index(name)).collect() else {
                return Ok(());
            };
            columns
        };
        match &insert.source {
            InsertSource::Values(rows) => {
                let scope = self.scope(None);
                for row in rows {
                    for (&column, value) in columns.iter().zip(row) {
                        scope.assigned(value, &table.columns[column].ty)?;
                    }
                }
            }
            InsertSource::Query(query) => {
                let counts = table.shown_counter().is_some();
                if insert.replace || insert.ignore || !insert.on_duplicate.is_empty() || counts {
                    return Err("rows of a query whose order decides".into());
                }
                self.query(query, &table, &columns)?;
            }
        }
        let scope = self.scope(Some(&table));
        insert.on_duplicate.iter().try_for_each(|assignment| {
            match table.column_index(&assignment.column.column) {
                Some(column) => scope.assigned(&assignment.value, &table.columns[column].ty),
                None => Ok(()),
            }
        })
    }

    /// The rows of a query that are put into these columns of `into`: those of one table, as they
    /// are.
    fn query(&self, query: &Query, into: &TableDef, columns: &[usize]) -> Checked {
        let QueryBody::Select(select) = &query.body else { return Err("a query of several parts".into()) };
        let Select { options, items, from, filter, group_by, with_rollup: _, having, windows } = &**select;
        let is_plain = query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.into.is_none()
            && *options == SelectOptions::default()
            && group_by.is_empty()
            && having.is_none()
            && windows.is_empty();
        if !is_plain {
            return Err("a query that groups, orders or bounds its rows".into());
        }
        let Some(table) = self.one_table(from)? else { return Ok(()) };
        let scope = self.scope(Some(&table));
        let mut targets = columns.iter().map(|&column| &into.columns[column].ty);
        for item in items {
            match item {
                SelectItem::Expr { expr, .. } => match targets.next() {
                    Some(ty) => scope.assigned(expr, ty)?,
                    None => return Ok(()),
                },
                SelectItem::All | SelectItem::AllOf(_) => {
                    for column in table.columns.iter().filter(|column| column.visible) {
                        match targets.next() {
                            Some(ty) => value::Value::of_column(&column.ty).check_stored(ty)?,
                            None => return Ok(()),
                        }
                    }
                }
            }
        }
        filter.as_ref().map_or(Ok(()), |filter| scope.condition(filter))
    }

    fn update(&self, update: &Update) -> Checked {
        if update.with.is_some() || update.ignore || update.limit.is_some() {
            return Err("WITH, IGNORE or LIMIT of UPDATE".into());
        }
        let Some(table) = self.one_table(&update.tables)? else { return Ok(()) };
        check_triggers(&table, TriggerEvent::Update)?;
        let scope = self.scope(Some(&table));
        for assignment in &update.assignments {
            let Some(column) = table.column_index(&assignment.column.column) else { return Ok(()) };
            let is_of = |index: &IndexDef| index.unique && index.parts.iter().any(|part| part.column == column);
            // It decides which row has a key first.
            if !update.order_by.is_empty() && table.indexes.iter().any(is_of) {
                return Err("ORDER BY of an UPDATE of keys".into());
            }
            scope.assigned(&assignment.value, &table.columns[column].ty)?;
        }
        update.filter.as_ref().map_or(Ok(()), |filter| scope.condition(filter))
    }

    fn delete(&self, delete: &Delete) -> Checked {
        // Without LIMIT all rows go, in whatever order.
        if delete.with.is_some() || delete.ignore || delete.limit.is_some() {
            return Err("WITH, IGNORE or LIMIT of DELETE".into());
        }
        if delete.targets.len() > 1 {
            return Err("several tables".into());
        }
        let Some(table) = self.one_table(&delete.from)? else { return Ok(()) };
        check_triggers(&table, TriggerEvent::Delete)?;
        delete.filter.as_ref().map_or(Ok(()), |filter| self.scope(Some(&table)).condition(filter))
    }

    /// The one table of FROM, if it is there.
    fn one_table(&self, from: &[TableReference]) -> Checked<Option<Arc<TableDef>>> {
        match from {
            [TableReference::Table(TableFactor { name, partitions, .. })] if partitions.is_empty() => {
                self.table(name.database.as_deref(), &name.name)
            }
            [] => Err("a query without a table".into()),
            _ => Err("several tables".into()),
        }
    }

    /// A table that is there, if rows of it can be changed without running anything else.
    fn table(&self, database: Option<&str>, name: &str) -> Checked<Option<Arc<TableDef>>> {
        let database = database.unwrap_or(self.database);
        let Ok(table) = self.cx.visible_table(Some(database), name) else {
            return match self.cx.catalog().view(database, name) {
                Some(_) => Err("a view".into()),
                None => Ok(None),
            };
        };
        if table.columns.iter().any(|column| column.generated.is_some()) {
            return Err("a table with generated columns".into());
        }
        Ok(Some(table))
    }

    fn scope<'a>(&'a self, table: Option<&'a TableDef>) -> Scope<'a> {
        let &Checker { cx, client, connection, timestamp, .. } = self;
        Scope { cx, table, client, connection, timestamp }
    }
}

/// A trigger's body is computed here as well.
fn check_triggers(table: &TableDef, event: TriggerEvent) -> Checked {
    let has = |time| table.triggers.has(time, event);
    if has(TriggerTime::Before) || has(TriggerTime::After) { Err("a trigger".into()) } else { Ok(()) }
}

/// True for `DEFAULT`, which is the column's.
fn is_default(kind: &ExprKind) -> bool {
    matches!(kind, ExprKind::Default(None))
}
