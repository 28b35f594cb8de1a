//! Which changes a MariaDB may have logged as text: those that mean the same here.
//!
//! A text is computed anew, and MariaDB computes many things in another way than MySQL does: digits
//! of quotients, texts of numbers and documents, conversions, cases of letters. A replica that ran
//! such a text would go on with other rows, and nobody would know. So what is run is what is known
//! to give the same rows, and all else stops the applier:
//!
//! - INSERT, REPLACE, UPDATE and DELETE of one stored or temporary table without generated columns,
//!   and without triggers that would run, in which no order of rows decides: no LIMIT, no IGNORE
//!   where rows collide.
//! - Values of their column's family ([`value::Value::check_stored`]): literals as the column would
//!   show them, other columns, exact arithmetic, the statement's time.
//! - Conditions that compare values of one family ([`scope::Scope::condition`]).
//! - ALTER TABLE that computes no new values for the rows that are there.
//!
//! `duramen_replica_statements = ALL` runs the others as well.

mod scope;
mod value;

use std::borrow::Cow;
use std::sync::Arc;

use binlog::event::QueryEvent;

use crate::catalog::{IndexDef, TableDef, parse_one};
use crate::session::Context;
use crate::variables::{ids, sql_mode};
use datum::error::{Result, SqlError};
use datum::types::DataType;
use datum::value::zone::Zone;
use scope::Scope;
use syntax::ast::{
    AlterAction, AlterTable, ColumnDefault, Delete, ExprKind, Insert, InsertSource, Query, QueryBody, Select,
    SelectItem, SelectOptions, StatementKind, TableContent, TableFactor, TableReference, TriggerEvent,
    TriggerTime, Update,
};

/// What in a statement may mean something else here.
type Reason = Cow<'static, str>;

/// `Err` with what it is that may mean something else here.
type Checked<T = ()> = std::result::Result<T, Reason>;

/// Checks a statement that a MariaDB logged as text at `timestamp` (seconds since 1970), if
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
    let has_no_escapes = query.status.sql_mode.unwrap_or(0) & sql_mode::NO_BACKSLASH_ESCAPES != 0;
    let is_repeated_hour = is_in_repeated_hour(query, timestamp);
    let checker = Checker { cx, database, client, connection, timestamp, has_no_escapes, is_repeated_hour };
    checker.statement(&statement.kind).map_err(|reason| {
        let advice = match statement.kind {
            StatementKind::AlterTable(_) => "",
            _ => " With SET GLOBAL binlog_format = ROW there, sessions that begin then log rows.",
        };
        let message = format!(
            "A MariaDB has logged a change as text that may mean something else here: {reason}.{advice} SET GLOBAL \
             duramen_replica_statements = ALL here runs such texts as MySQL would; compare the servers then"
        );
        SqlError { message, ..SqlError::unsupported(reason) }
    })
}

/// True in the hour of the session's time zone of which the clock's time is not enough to say when
/// it was: MariaDB knows that for NOW().
fn is_in_repeated_hour(query: &QueryEvent<'_>, timestamp: u32) -> bool {
    let zone = query.status.time_zone.as_deref().and_then(|name| std::str::from_utf8(name).ok());
    let Some(zone) = zone.and_then(Zone::by_name) else { return false };
    let local = zone.to_local(i64::from(timestamp) * 1_000_000);
    let offset = |utc| zone.to_local(utc) - utc;
    const HOURS: i64 = 3 * 3_600 * 1_000_000;
    let utc = i64::from(timestamp) * 1_000_000;
    // Another moment that the clock shows as this one.
    [offset(utc - HOURS), offset(utc + HOURS)].iter().any(|&other| {
        let twin = local - other;
        twin != utc && zone.to_local(twin) == local
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
    has_no_escapes: bool,
    is_repeated_hour: bool,
}

impl Checker<'_> {
    fn statement(&self, kind: &StatementKind) -> Checked {
        use StatementKind::{AlterTable, Delete, Insert, Update};
        if self.is_repeated_hour && matches!(kind, Insert(_) | Update(_) | Delete(_) | AlterTable(_)) {
            return Err("the hour that comes twice when the clocks are set back".into());
        }
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
            StatementKind::AlterTable(alter) => self.alter(alter),
            StatementKind::LoadData(_) => Err("LOAD DATA".into()),
            StatementKind::Query(_) | StatementKind::Do(_) | StatementKind::Call { .. } => {
                Err("a function or procedure".into())
            }
            // Definitions compute nothing.
            _ => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert) -> Checked {
        let Some(table) = self.table(insert.table.database.as_deref(), &insert.table.name)? else {
            return Ok(());
        };
        check_triggers(&table, TriggerEvent::Insert)?;
        if insert.replace {
            check_triggers(&table, TriggerEvent::Delete)?;
        }
        if !insert.on_duplicate.is_empty() {
            check_triggers(&table, TriggerEvent::Update)?;
        }
        if !insert.partitions.is_empty() || insert.row_alias.is_some() {
            return Err("PARTITION, or an alias of rows,".into());
        }
        if insert.ignore && !table.checks.is_empty() {
            return Err("IGNORE with a CHECK constraint".into());
        }
        if insert.replace && !table.referenced_by.is_empty() {
            return Err("REPLACE into a table that foreign keys refer to".into());
        }
        // A number that is given out is in no row.
        let given = insert.columns.iter().any(|name| table.column_index(name) == table.auto_column);
        let is_free = |index: &&IndexDef| {
            let is_counted = matches!(&index.parts[..], [part] if Some(part.column) == table.auto_column);
            is_counted && !given && !insert.columns.is_empty()
        };
        let unique = table.indexes.iter().filter(|index| index.unique && !is_free(index)).count();
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
        let given = |number: &usize| columns.contains(number);
        let mut left_out = (0..table.columns.len()).filter(|number| !given(number));
        left_out.try_for_each(|number| self.scope(None).default(&table.columns[number]))?;
        match &insert.source {
            InsertSource::Values(rows) => {
                let scope = self.scope(None);
                for row in rows {
                    for (&column, value) in columns.iter().zip(row) {
                        scope.assigned(value, &table.columns[column])?;
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
                Some(column) => scope.assigned(&assignment.value, &table.columns[column]),
                None => Ok(()),
            }
        })
    }

    /// The rows of a query that are put into these columns of `into`: those of one table, as they
    /// are.
    fn query(&self, query: &Query, into: &TableDef, columns: &[usize]) -> Checked {
        let QueryBody::Select(select) = &query.body else { return Err("a query of several parts".into()) };
        let Select { hints: _, options, items, from, filter, group_by, with_rollup: _, having, windows } =
            &**select;
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
        let table = match &from[..] {
            [] => None,
            from => match self.one_table(from)? {
                Some(table) => Some(table),
                None => return Ok(()),
            },
        };
        let source = self.scope(table.as_deref());
        let mut targets = columns.iter().map(|&column| &into.columns[column]);
        for item in items {
            match item {
                SelectItem::Expr { expr, .. } => match targets.next() {
                    Some(target) => source.assigned(expr, target)?,
                    None => return Ok(()),
                },
                SelectItem::All | SelectItem::AllOf(_) => {
                    let columns = table.iter().flat_map(|table| &table.columns);
                    for column in columns.filter(|column| column.visible) {
                        match targets.next() {
                            Some(target) if column.nullable && !target.nullable => {
                                return Err(scope::IMPLICIT_DEFAULT);
                            }
                            Some(target) => value::Value::of_column(&column.ty).check_stored(&target.ty)?,
                            None => return Ok(()),
                        }
                    }
                }
            }
        }
        filter.as_ref().map_or(Ok(()), |filter| source.condition(filter))
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
            let is_of =
                |index: &IndexDef| index.unique && index.parts.iter().any(|part| part.column == column);
            // It decides which row has a key first.
            if !update.order_by.is_empty() && table.indexes.iter().any(is_of) {
                return Err("ORDER BY of an UPDATE of keys".into());
            }
            scope.assigned(&assignment.value, &table.columns[column])?;
        }
        update.filter.as_ref().map_or(Ok(()), |filter| scope.condition(filter))
    }

    /// The rows that are there get new columns, or values of another type.
    fn alter(&self, alter: &AlterTable) -> Checked {
        let Ok(table) =
            self.cx.visible_table(alter.name.database.as_deref().or(Some(self.database)), &alter.name.name)
        else {
            return Ok(());
        };
        let scope = self.scope(Some(&table));
        for action in &alter.actions {
            match action {
                AlterAction::AddColumns(added) => added.iter().try_for_each(|(column, _)| {
                    match (&column.attributes.default, &column.attributes.generated) {
                        (Some(ColumnDefault::Expression(value)), _) => scope.value(value).map(drop),
                        (_, Some(generated)) => scope.value(&generated.expr).map(drop),
                        _ => Ok(()),
                    }
                })?,
                AlterAction::ChangeColumn { old: name, definition, .. } => {
                    let old = table.column_index(name).map(|number| &table.columns[number]);
                    let new = DataType::resolve(&definition.ty, &definition.name, table.collation);
                    if let (Some(old), Ok(new)) = (old, new) {
                        value::check_altered(&old.ty, &new)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
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
        let &Checker { cx, client, connection, timestamp, has_no_escapes, .. } = self;
        Scope { cx, table, client, connection, timestamp, has_no_escapes }
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
