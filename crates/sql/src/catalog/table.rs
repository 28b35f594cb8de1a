//! A table's definition, as everything in this crate sees it.
//!
//! A [`TableDef`] never changes: DDL makes a new one. It carries what must outlive that: the
//! counter of AUTO_INCREMENT, what is known of the rows, and the metadata lock, shared by all
//! definitions of the same table.

use std::sync::{Arc, OnceLock};

use binlog::LogPosition;
use binlog::row::{ColumnType, Width};
use storage::KeyPart;
use storage::layout::Layouts;
use storage::schema::TableSchema;

use super::auto_increment::Counter;
use super::computed::Computed;
use super::foreign_key::{ForeignKeyDef, TableName};
use super::metadata_lock::MetadataLock;
use super::statistics::Statistics;
use super::trigger::{TriggerPrograms, Triggers};
use datum::types::{Collation, DataType};
use datum::value::Datum;

/// What the catalog's record says of a table, and what the running server adds: the engine's
/// schema, counter, statistics, lock.
#[derive(Debug, Clone)]
pub struct TableDef {
    /// Its number in table map events. Another one after TRUNCATE.
    pub id: u64,
    /// A stored table is found by it in `CatalogState::databases`, byte for byte.
    pub database: String,
    /// A stored table is found by it in `DatabaseDef::tables`, byte for byte.
    pub name: String,
    /// Its columns, in the order of the row image.
    pub columns: Vec<ColumnDef>,
    /// The columns' types as the row image has them.
    pub(crate) column_types: Vec<ColumnType>,
    /// How long their values are.
    pub(crate) widths: Vec<Width>,
    /// Its indexes, the primary key first.
    pub indexes: Vec<IndexDef>,
    /// Its CHECK constraints, by name.
    pub checks: Vec<CheckDef>,
    /// What its rows refer to, by name.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The tables whose foreign keys refer to its rows, by name: database and table. The catalog's
    /// state keeps it ([`super::objects`]).
    pub referenced_by: Arc<[TableName]>,
    /// What is run for each row that a statement changes.
    pub(crate) triggers: Triggers,
    /// The AUTO_INCREMENT column.
    pub(crate) auto_column: Option<usize>,
    /// The AUTO_INCREMENT value it was created with.
    pub auto_start: u64,
    /// Its default collation.
    pub collation: Collation,
    /// What COMMENT says; empty without.
    pub comment: String,
    /// ROW_FORMAT and the other options that are kept and shown, as they are shown.
    pub options: String,
    /// When it was made or altered last, in seconds since 1970, as the statement's event says;
    /// `None` in records of versions that did not say.
    pub created: Option<u32>,
    /// The engine's view. While an index is being built, it has that index after those of
    /// `indexes`.
    pub schema: Arc<TableSchema>,
    /// What its rows were before instant ALTERs.
    pub layouts: Option<Arc<Layouts>>,
    /// Where the trees that it has now were made, by CREATE, TRUNCATE or a rebuild since the start.
    /// A snapshot older than this does not see its rows, or not by all of its indexes: error 1412.
    pub(crate) readable_from: LogPosition,
    /// Its expressions, ready for use, once somebody has asked for them.
    pub(crate) computed: OnceLock<Arc<Computed>>,
    /// Its triggers, compiled for this definition, once one has been run.
    pub(crate) trigger_programs: OnceLock<TriggerPrograms>,
    /// The AUTO_INCREMENT counter.
    pub counter: Arc<Counter>,
    /// What is known of its rows.
    pub statistics: Arc<Statistics>,
    /// Who uses it now.
    pub lock: Arc<MetadataLock>,
}

/// As declared, or as the server added it: see [`ColumnDef::is_hidden`].
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// As declared; found in any case.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// It can be NULL.
    pub nullable: bool,
    /// What it is if nothing is given.
    pub default: Default,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub(crate) on_update_now: bool,
    /// What COMMENT says; empty without. Columns that the server adds have one of its own.
    pub comment: String,
    /// It is one of `*`.
    pub visible: bool,
    /// Its value is computed from the others.
    pub(crate) generated: Option<Generated>,
}

/// GENERATED ALWAYS AS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    /// The expression's text, as SHOW CREATE TABLE has it.
    pub expr: Box<str>,
    /// STORED. The value is in the row's image either way.
    pub stored: bool,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDef {
    /// As declared, or given by the server.
    pub name: String,
    /// The expression's text, as SHOW CREATE TABLE has it.
    pub expr: Box<str>,
    /// Rows are tested.
    pub(crate) enforced: bool,
}

/// A column's default.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// There is none: a value must be given.
    None,
    /// A value that fits the column, or NULL.
    Value(Datum<'static>),
    /// CURRENT_TIMESTAMP.
    Now,
    /// `(expression)`: its text.
    Expression(Box<str>),
}

/// As declared; its tree is in [`TableDef::schema`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDef {
    /// Its name; `PRIMARY` for the primary key.
    pub name: String,
    /// No two rows may have the same key.
    pub unique: bool,
    /// What its keys are made of.
    pub parts: Vec<storage::schema::KeyPart>,
    /// What COMMENT says; empty without.
    pub comment: String,
    /// The planner may use it.
    pub visible: bool,
    /// A foreign key made it, and it goes once another index does its work.
    pub generated: bool,
}

impl TableDef {
    /// The column of this name, in any case, if it is shown.
    pub(crate) fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name) && !c.is_hidden())
    }

    /// The index of this name, in any case.
    pub(crate) fn index_named(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(name))
    }

    /// The CHECK constraint of this name, in any case.
    pub(crate) fn check_named(&self, name: &str) -> Option<&CheckDef> {
        self.checks.iter().find(|check| check.name.eq_ignore_ascii_case(name))
    }

    /// The foreign key of this name, in any case.
    pub fn foreign_key_named(&self, name: &str) -> Option<&ForeignKeyDef> {
        self.foreign_keys.iter().find(|key| key.name.eq_ignore_ascii_case(name))
    }

    /// True if rows of other tables, or its own, depend on its rows, or they on others.
    pub fn has_references(&self) -> bool {
        !self.foreign_keys.is_empty() || !self.referenced_by.is_empty()
    }

    /// Its database and its name.
    pub fn qualified_name(&self) -> TableName {
        TableName { database: self.database.clone(), name: self.name.clone() }
    }

    /// True if writing a row takes no expressions: no generated column, no expression default, no
    /// CHECK.
    pub(crate) fn is_plain(&self) -> bool {
        self.checks.is_empty() && !self.columns.iter().any(ColumnDef::is_computed)
    }

    /// True if it has an index on an expression.
    pub(crate) fn has_key_parts(&self) -> bool {
        self.columns.iter().any(ColumnDef::is_key_part)
    }

    /// The columns that clients are shown, with their numbers.
    pub(crate) fn shown_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden())
    }

    /// The indexes that clients are shown.
    pub(crate) fn shown_indexes(&self) -> impl Iterator<Item = &IndexDef> {
        self.indexes.iter().filter(|index| !index.parts.iter().any(|p| self.columns[p.column].is_row_id()))
    }

    /// The next AUTO_INCREMENT number, if a column that is shown has them.
    pub(crate) fn shown_counter(&self) -> Option<u64> {
        self.auto_column.filter(|&column| !self.columns[column].is_row_id()).map(|_| self.counter.next())
    }

    /// The index in whose order InnoDB would keep the rows, by its number: the primary key; in a
    /// table without one the first unique key of whole columns that are stored and NOT NULL. 0,
    /// which is the row id, where there is none either.
    pub(crate) fn clustering_index(&self) -> usize {
        let orders = |part: &KeyPart| {
            let column = &self.columns[part.column];
            let is_stored = column.generated.as_ref().is_none_or(|generated| generated.stored);
            part.prefix_len.is_none() && !column.nullable && is_stored
        };
        let is_row_id = |index: &IndexDef| index.parts.iter().any(|p| self.columns[p.column].is_row_id());
        match self.indexes.first() {
            Some(primary) if is_row_id(primary) => {
                let clusters = |index: &IndexDef| index.unique && index.parts.iter().all(orders);
                (1..self.indexes.len()).find(|&number| clusters(&self.indexes[number])).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// True for a session's temporary table.
    pub(crate) fn is_temporary(&self) -> bool {
        self.schema.is_temporary()
    }

    /// True if its key is the invisible one that a table without a primary key gets.
    pub(crate) fn has_generated_key(&self) -> bool {
        self.columns.iter().any(|c| c.is_row_id() || c.name == super::build::GENERATED_KEY && !c.visible)
    }

    /// The definition as it was given, without the key that the table got; to be shown, not to be
    /// used. `None` if it has its own key.
    pub(crate) fn without_generated_key(&self) -> Option<TableDef> {
        let of_key = |index: &IndexDef| matches!(&index.parts[..], [part] if part.column == 0);
        if !self.has_generated_key() || !self.indexes.first().is_some_and(of_key) {
            return None;
        }
        let mut table = self.clone();
        table.columns.remove(0);
        table.indexes.remove(0);
        table.indexes.retain(|index| index.parts.iter().all(|part| part.column > 0));
        table.indexes.iter_mut().flat_map(|index| &mut index.parts).for_each(|part| part.column -= 1);
        table.auto_column = table.auto_column.and_then(|column| column.checked_sub(1));
        Some(table)
    }
}

impl ColumnDef {
    /// True for the key of a table without one, which clients are not shown.
    pub(crate) fn is_row_id(&self) -> bool {
        !self.visible && self.comment == super::build::ROW_ID_COMMENT
    }

    /// True for the values of an index's expression.
    pub(crate) fn is_key_part(&self) -> bool {
        !self.visible && self.generated.is_some() && self.comment == super::build::KEY_PART_COMMENT
    }

    /// True for what clients are not shown: the key of a table without one, the values of an
    /// index's expression.
    pub(crate) fn is_hidden(&self) -> bool {
        !self.visible && (self.is_row_id() || self.is_key_part())
    }

    /// True if its values, or its default ones, are computed.
    pub(crate) fn is_computed(&self) -> bool {
        self.generated.is_some() || matches!(self.default, Default::Expression(_))
    }

    /// The expression of an index that the column has the values of.
    pub(crate) fn key_expression(&self) -> Option<&str> {
        self.generated.as_ref().filter(|_| self.is_key_part()).map(|generated| &*generated.expr)
    }

    /// The default, if it is the same for every row.
    pub(crate) fn constant_default(&self) -> Option<Datum<'static>> {
        match &self.default {
            Default::Value(value) => Some(value.clone()),
            Default::None if self.nullable => Some(Datum::Null),
            Default::None | Default::Now | Default::Expression(_) => None,
        }
    }
}
