//! System tables: `information_schema`, and what clients read of `performance_schema` and `mysql`.
//! Nothing of them is stored; their rows are made from the catalog, the settings and the counters
//! when a query asks for them.
//!
//! 1. find     FROM asks [`find`] before the catalog. Names of these schemas and their tables are
//!    the same in any case.
//! 2. narrow   Equalities that the query demands of the schema's and the table's name reach the
//!    maker of the rows as [`Wanted`], so that reading one table does not list all. The query
//!    tests its conditions nevertheless.
//! 3. make     Each table is a function that hands over its rows; the columns are in
//!    [`column::SystemColumn`]s.
//!
//! (T1) A row is made only of what the account may know of: SHOW's rules.
//! (T2) The grant tables in `mysql` are there to be read, not to be loaded: accounts are objects of
//!      the catalog, and a dump carries them as statements. So they are listed by whatever names
//!      the schema, SHOW TABLES FROM mysql and information_schema, and not by SHOW TABLES alone in
//!      the default database, which is how dump tools ask for what they are to carry. Those are the
//!      logs, of which the tools carry the definitions only. So it is with all of `sys`, which some
//!      tools take for a database like others.
//!
//! - [`information_schema`] and [`innodb`], [`performance_schema`], [`index_use`], [`instruments`],
//!   [`replication`] and [`statement_events`], [`mysql`], [`sys`]: which tables there are.
//!   [`schemas`], [`columns`], [`keys`], [`routines`], [`views`], [`server`], [`accounts`],
//!   [`locks`], [`channels`]: their rows.

mod accounts;
mod channels;
pub(crate) mod column;
mod columns;
mod events;
mod index_use;
mod information_schema;
mod innodb;
mod instruments;
mod keys;
mod locks;
mod mysql;
mod performance_schema;
mod replication;
mod routines;
mod schemas;
mod server;
mod statement_events;
mod sys;
mod triggers;
mod views;

use std::sync::Arc;

use crate::catalog::{ColumnDef, ObjectKey, SetAside, TableDef};
use crate::listing::definitions::as_shown;
use crate::output::OutputColumn;
use crate::planner::Provider;
use crate::session::Context;
use datum::error::{self, Result};
use datum::types::Collation;
use datum::value::Datum;

use column::SystemColumn;

pub(crate) use index_use::clear as clear_index_uses;
pub(crate) use instruments::{CONSUMERS, SWITCHED};

/// Takes a row: a value for each column.
pub(crate) type Each<'e> = &'e mut dyn FnMut(Vec<Datum<'static>>) -> Result<()>;

/// A schema of system tables.
#[derive(Debug)]
pub(crate) struct SystemSchema {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The collation that tables in it would have.
    pub collation: Collation,
    /// What is said to keep its tables; `None` if they are views.
    pub engine: Option<&'static str>,
    /// Its tables without [`Self::grant_tables`] are listed by SHOW TABLES alone, too (T2).
    carried: bool,
    /// The tables that are listed with the schema, by what they are about.
    pub tables: &'static [&'static [SystemTable]],
    /// Those that are listed where the schema is named (T2); as in MySQL they are InnoDB's.
    pub(crate) grant_tables: &'static [SystemTable],
}

/// A table whose rows are made when a query asks for them.
#[derive(Debug)]
pub(crate) struct SystemTable {
    /// Its name, as it is shown.
    pub name: &'static str,
    pub(crate) columns: &'static [SystemColumn],
    /// The columns with the names of schema and table that rows are looked up by; empty if there is
    /// none.
    pub keys: [&'static str; 2],
    /// Makes the rows.
    pub rows: fn(&mut Context, &Wanted, Each<'_>) -> Result<()>,
}

/// What the query demands of schema and table; without, all are wanted.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    schema: Option<String>,
    table: Option<String>,
}

pub(crate) const SCHEMAS: [SystemSchema; 4] = [
    SystemSchema {
        name: "information_schema",
        collation: Collation(33),
        engine: None,
        carried: true,
        tables: &[information_schema::TABLES, innodb::TABLES],
        grant_tables: &[],
    },
    SystemSchema {
        name: "mysql",
        collation: Collation::UTF8MB4_0900_AI_CI,
        engine: Some("CSV"),
        carried: true,
        tables: &[mysql::LOGS],
        grant_tables: mysql::GRANT_TABLES,
    },
    SystemSchema {
        name: "performance_schema",
        collation: Collation::UTF8MB4_0900_AI_CI,
        engine: Some("PERFORMANCE_SCHEMA"),
        carried: true,
        tables: &[
            index_use::TABLES,
            instruments::TABLES,
            performance_schema::TABLES,
            replication::TABLES,
            statement_events::TABLES,
        ],
        grant_tables: &[],
    },
    SystemSchema {
        name: "sys",
        collation: Collation::UTF8MB4_0900_AI_CI,
        engine: None,
        carried: false,
        tables: sys::TABLES,
        grant_tables: &[],
    },
];

/// The schema of this name, in any case.
pub(crate) fn schema(name: &str) -> Option<&'static SystemSchema> {
    const ALL: &[SystemSchema] = &SCHEMAS;
    ALL.iter().find(|schema| schema.name.eq_ignore_ascii_case(name))
}

/// The system table of this name, if the database is a schema of them; errors 1109 and 1146 if it
/// has none of this name.
pub(crate) fn find(
    database: &str,
    name: &str,
) -> Result<Option<(&'static SystemSchema, &'static SystemTable)>> {
    let Some(schema) = schema(database) else { return Ok(None) };
    match schema.table(name) {
        Some(table) => Ok(Some((schema, table))),
        None if schema.name == "information_schema" => {
            Err(error::UNKNOWN_TABLE.with(&[&name.to_uppercase(), &schema.name]))
        }
        None => Err(error::NO_SUCH_TABLE.with(&[&schema.name, &name])),
    }
}

/// The schemas of which an account may know.
pub(crate) fn listed(cx: &Context) -> impl Iterator<Item = &'static SystemSchema> {
    const ALL: &[SystemSchema] = &SCHEMAS;
    ALL.iter().filter(|schema| cx.grants_now().sees_database(schema.name))
}

impl SystemSchema {
    /// Its table of this name, in any case.
    pub(crate) fn table(&self, name: &str) -> Option<&'static SystemTable> {
        self.all_tables().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Its tables that SHOW TABLES lists where the schema is the default database (T2).
    pub(crate) fn carried_tables(&self) -> impl Iterator<Item = &'static SystemTable> + use<> {
        let tables = if self.carried { self.tables } else { &[] };
        tables.iter().copied().flatten()
    }

    pub(crate) fn all_tables(&self) -> impl Iterator<Item = &'static SystemTable> + use<> {
        self.tables.iter().copied().flatten().chain(self.grant_tables)
    }

    /// What its tables are called; those that InnoDB is said to keep are base tables.
    pub(crate) fn table_type(&self) -> &'static str {
        match (self.engine, self.name) {
            (Some(_), _) => "BASE TABLE",
            (None, "sys") => "VIEW",
            (None, _) => "SYSTEM VIEW",
        }
    }

    /// What is said to keep one of its tables; `None` if it is a view.
    pub(crate) fn engine_of(&self, table: &SystemTable) -> Option<&'static str> {
        let is_grant_table = self.grant_tables.iter().any(|other| std::ptr::eq(other, table));
        if is_grant_table { Some("InnoDB") } else { self.engine }
    }
}

impl SystemTable {
    /// Its columns as definitions.
    pub(crate) fn definitions(&self) -> Vec<ColumnDef> {
        self.columns.iter().map(SystemColumn::definition).collect()
    }
}

/// A system table as a source of rows.
#[derive(Debug)]
pub(crate) struct SystemRows {
    schema: &'static SystemSchema,
    table: &'static SystemTable,
    alias: Box<str>,
}

impl SystemRows {
    /// A table under its alias.
    pub(crate) fn new(schema: &'static SystemSchema, table: &'static SystemTable, alias: &str) -> Self {
        Self { schema, table, alias: alias.into() }
    }
}

impl Provider for SystemRows {
    fn columns(&self) -> Vec<OutputColumn> {
        self.table.columns.iter().map(|column| column.output(self.schema, self.table, &self.alias)).collect()
    }

    fn keys(&self) -> Vec<usize> {
        let place = |key: &&str| self.table.columns.iter().position(|column| column.name == *key);
        self.table.keys.iter().filter_map(place).collect()
    }

    fn rows(
        &self,
        cx: &mut Context,
        keys: &[Option<Datum<'static>>],
        each: &mut dyn FnMut(&mut [Datum<'_>]) -> Result<()>,
    ) -> Result<()> {
        if keys.iter().any(|key| matches!(key, Some(Datum::Null))) {
            return Ok(());
        }
        let mut names = keys.iter().map(|key| key.as_ref().map(name_of));
        let wanted = Wanted { schema: names.next().flatten(), table: names.next().flatten() };
        (self.table.rows)(cx, &wanted, &mut |row| {
            debug_assert_eq!(
                row.len(),
                self.table.columns.len(),
                "a value for each column of {}",
                self.table.name
            );
            let values = self.table.columns.iter().zip(row).map(|(column, value)| column.value(value));
            each(&mut values.collect::<Vec<_>>())
        })
    }
}

/// A name as a query asks for it; names do not end in spaces, and comparisons do not mind them.
fn name_of(value: &Datum<'_>) -> String {
    String::from_utf8_lossy(&value.to_bytes()).trim_end_matches(' ').to_owned()
}

impl Wanted {
    /// True if rows of this schema are wanted.
    pub(crate) fn schema(&self, name: &str) -> bool {
        self.schema.as_deref().is_none_or(|wanted| wanted == name)
    }

    /// True if rows of this table are wanted.
    pub(crate) fn table(&self, name: &str) -> bool {
        self.table.as_deref().is_none_or(|wanted| wanted == name)
    }

    /// The stored tables that are wanted and of which the account may know, by schema and name.
    pub(crate) fn tables(&self, cx: &Context) -> Vec<Arc<TableDef>> {
        self.tables_of(cx, |schema| cx.grants_now().sees_definitions(schema))
    }

    /// Those whose columns it may know.
    pub(crate) fn tables_with_columns(&self, cx: &Context) -> Vec<Arc<TableDef>> {
        self.tables_of(cx, |schema| cx.grants_now().sees_columns(schema))
    }

    fn tables_of(&self, cx: &Context, sees: impl Fn(&str) -> bool) -> Vec<Arc<TableDef>> {
        let state = cx.catalog().state();
        let sees = |name: &str| self.schema(name) && sees(name);
        if let (Some(schema), Some(table)) = (&self.schema, &self.table) {
            let found = state.table(schema, table).filter(|_| sees(schema));
            return found.map(|table| as_shown(cx, table.clone())).into_iter().collect();
        }
        let databases = state.databases.iter().filter(|(name, _)| sees(name));
        let tables = databases.flat_map(|(_, database)| database.tables.values());
        tables.filter(|table| self.table(&table.name)).map(|table| as_shown(cx, table.clone())).collect()
    }

    /// The tables that are set aside and wanted, of which the account may know.
    pub(crate) fn tables_set_aside(&self, cx: &Context) -> Vec<SetAside> {
        let state = cx.catalog().state();
        let is_wanted = |object: &&SetAside| {
            let ObjectKey { database, name, .. } = &object.key;
            self.schema(database) && self.table(name) && cx.grants_now().sees_definitions(database)
        };
        let of_databases = state.databases.keys().flat_map(|database| state.tables_set_aside(database));
        of_databases.filter(is_wanted).cloned().collect()
    }

    /// The system tables that are wanted and of which the account may know.
    pub(crate) fn system_tables(&self, cx: &Context) -> Vec<(&'static SystemSchema, &'static SystemTable)> {
        self.system_tables_of(|schema| cx.grants_now().sees_definitions(schema))
    }

    /// Those whose columns it may know.
    pub(crate) fn system_tables_with_columns(
        &self,
        cx: &Context,
    ) -> Vec<(&'static SystemSchema, &'static SystemTable)> {
        self.system_tables_of(|schema| cx.grants_now().sees_columns(schema))
    }

    fn system_tables_of(
        &self,
        sees: impl Fn(&str) -> bool,
    ) -> Vec<(&'static SystemSchema, &'static SystemTable)> {
        const ALL: &[SystemSchema] = &SCHEMAS;
        let schemas = ALL.iter().filter(|schema| self.schema(schema.name) && sees(schema.name));
        let pairs = schemas.flat_map(|schema| schema.all_tables().map(move |table| (schema, table)));
        pairs.filter(|(_, table)| self.table(table.name)).collect()
    }
}

/// No rows: of what this server does not have.
fn none(_: &mut Context, _: &Wanted, _: Each<'_>) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_columns_and_names_are_unique() {
        for table in SCHEMAS.iter().flat_map(SystemSchema::all_tables) {
            let named = |key: &str| table.columns.iter().filter(|c| c.name == key).count();
            assert!(table.columns.iter().all(|c| named(c.name) == 1), "{}", table.name);
            assert!(table.keys.iter().all(|key| key.is_empty() || named(key) == 1), "{}", table.name);
        }
    }

    #[test]
    fn their_names_are_known_without_them() {
        assert_eq!(SCHEMAS.map(|schema| schema.name), crate::system_schemas::NAMES);
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert!(find("Information_Schema", "tables").unwrap().is_some());
        assert!(find("test", "TABLES").unwrap().is_none());
        assert_eq!(find("information_schema", "nothing").unwrap_err().number, 1109);
        assert!(find("mysql", "user").unwrap().is_some() && find("mysql", "slow_log").unwrap().is_some());
        assert_eq!(find("mysql", "nothing").unwrap_err().number, 1146);
    }
}
