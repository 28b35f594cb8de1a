//! A table's definition, as everything in this crate sees it.
//!
//! A [`TableDef`] never changes: DDL makes a new one. It carries what must outlive that: the counter of AUTO_INCREMENT and
//! the metadata lock, both shared by all definitions of the same table.

use std::sync::Arc;

use binlog::row::ColumnType;
use storage::schema::TableSchema;

use super::auto_increment::Counter;
use super::metadata_lock::MetadataLock;
use crate::types::{Collation, DataType};
use crate::value::Datum;

/// A table.
#[derive(Debug)]
pub struct TableDef {
    /// Its number in table map events. Another one after TRUNCATE.
    pub id: u64,
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Its columns, in the order of the row image.
    pub columns: Vec<ColumnDef>,
    /// The columns' types as the row image has them.
    pub column_types: Vec<ColumnType>,
    /// Its indexes, the primary key first.
    pub indexes: Vec<IndexDef>,
    /// The AUTO_INCREMENT column.
    pub auto_column: Option<usize>,
    /// The AUTO_INCREMENT value it was created with.
    pub auto_start: u64,
    /// Its default collation.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// ROW_FORMAT and the other options that are kept and shown, as they are shown.
    pub options: String,
    /// The engine's view.
    pub schema: Arc<TableSchema>,
    /// The AUTO_INCREMENT counter.
    pub counter: Arc<Counter>,
    /// Who uses it now.
    pub lock: Arc<MetadataLock>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// It can be NULL.
    pub nullable: bool,
    /// What it is if nothing is given.
    pub default: Default,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// COMMENT.
    pub comment: String,
    /// It is one of `*`.
    pub visible: bool,
}

/// A column's default.
#[derive(Debug, Clone)]
pub enum Default {
    /// There is none: a value must be given.
    None,
    /// A value that fits the column, or NULL.
    Value(Datum<'static>),
    /// CURRENT_TIMESTAMP.
    Now,
}

/// An index.
#[derive(Debug, Clone)]
pub struct IndexDef {
    /// Its name; `PRIMARY` for the primary key.
    pub name: String,
    /// No two rows may have the same key.
    pub unique: bool,
    /// What its keys are made of.
    pub parts: Vec<storage::schema::KeyPart>,
    /// COMMENT.
    pub comment: String,
    /// The planner may use it.
    pub visible: bool,
}

impl TableDef {
    /// The column of this name, in any case.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// The index of this name, in any case.
    pub fn index_named(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(name))
    }
}

impl ColumnDef {
    /// The default, if it is the same for every row.
    pub fn constant_default(&self) -> Option<Datum<'static>> {
        match &self.default {
            Default::Value(value) => Some(value.clone()),
            Default::None if self.nullable => Some(Datum::Null),
            Default::None | Default::Now => None,
        }
    }
}
