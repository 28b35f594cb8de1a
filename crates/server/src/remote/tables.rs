//! The tables of a server: their columns, and a key by which they can be cut into chunks.

use super::definitions::string_literal;
use super::{Runs, text};
use crate::log_tool::ToolError;
use syntax::unparse;

/// How a column's values are asked for, compared and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Integers and DECIMAL: their text is the value, and a literal.
    Number,
    /// FLOAT: its text has six digits, so it is asked for as a DOUBLE.
    Float,
    Double,
    /// Dates and times, which are texts of digits.
    Time,
    /// CHAR and VARCHAR.
    Text,
    /// BINARY and VARBINARY.
    Bytes,
    /// TEXT and BLOB of all lengths.
    Long,
    Json,
    /// ENUM, SET and BIT: the number behind the value.
    Numbered,
    /// What is asked for as it is.
    Other,
}

impl Class {
    fn of(data_type: &str) -> Self {
        match data_type {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => Self::Number,
            "float" => Self::Float,
            "double" => Self::Double,
            "date" | "time" | "datetime" | "timestamp" | "year" => Self::Time,
            "char" | "varchar" => Self::Text,
            "binary" | "varbinary" => Self::Bytes,
            "enum" | "set" | "bit" => Self::Numbered,
            "json" => Self::Json,
            t if t.ends_with("text") || t.ends_with("blob") => Self::Long,
            _ => Self::Other,
        }
    }

    /// True if an index on it is in an order that ranges of literals can follow.
    fn is_chunkable(self) -> bool {
        matches!(self, Self::Number | Self::Time | Self::Text | Self::Bytes)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) class: Class,
    /// In lower case, without length.
    pub(crate) data_type: String,
    pub(crate) is_generated: bool,
    pub(crate) is_nullable: bool,
    /// Of texts: character set and collation.
    pub(crate) collation: Option<(String, String)>,
}

impl Column {
    /// Its quoted name.
    pub(crate) fn quoted(&self) -> String {
        unparse::ident(&self.name)
    }

    /// The expression whose text is the whole value.
    pub(crate) fn exact(&self) -> String {
        match self.class {
            Class::Float => format!("({} + 0e0)", self.quoted()),
            Class::Numbered => format!("({} + 0)", self.quoted()),
            _ => self.quoted(),
        }
    }
}

/// A base table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// The columns that an index begins with, by which it is cut into chunks; empty if it can't be.
    pub(crate) chunk_key: Vec<Column>,
    /// The columns of its primary key, or of the first unique key that holds no NULL.
    pub(crate) unique_key: Vec<Column>,
    /// As statistics have it.
    pub(crate) rows_estimate: u64,
    /// Bytes of a row, as statistics have it.
    pub(crate) row_length: u64,
}

impl Table {
    /// `database.table`, quoted.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", unparse::ident(&self.database), unparse::ident(&self.name))
    }

    /// Its name for people.
    pub(crate) fn place(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }
}

/// At most so many columns of an index make the ranges of chunks.
const CHUNK_COLUMNS_MAX: usize = 4;

/// The base tables of a database, by name.
///
/// # Errors
/// The server's.
pub(crate) fn of(server: &mut dyn Runs, database: &str) -> Result<Vec<Table>, ToolError> {
    let literal = string_literal(database);
    let rows = server.rows(&format!(
        "SELECT TABLE_NAME, COALESCE(TABLE_ROWS, 0), COALESCE(AVG_ROW_LENGTH, 0) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = {literal} AND TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_NAME"
    ))?;
    let mut tables = Vec::new();
    for row in rows {
        let mut cells = row.into_iter().map(|cell| cell.map(text).unwrap_or_default());
        let mut next = || cells.next().unwrap_or_default();
        let (name, rows_estimate, row_length) = (next(), next(), next());
        let columns = columns(server, &literal, &name)?;
        let (chunk_key, unique_key) = keys(server, &literal, &name, &columns)?;
        tables.push(Table {
            database: database.to_owned(),
            name,
            columns,
            chunk_key,
            unique_key,
            rows_estimate: rows_estimate.parse().unwrap_or(0),
            row_length: row_length.parse().unwrap_or(0),
        });
    }
    Ok(tables)
}

fn columns(server: &mut dyn Runs, database: &str, table: &str) -> Result<Vec<Column>, ToolError> {
    let rows = server.rows(&format!(
        "SELECT COLUMN_NAME, LOWER(DATA_TYPE), COALESCE(GENERATION_EXPRESSION, ''), IS_NULLABLE, CHARACTER_SET_NAME, \
         COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {database} AND TABLE_NAME = {} \
         ORDER BY ORDINAL_POSITION",
        string_literal(table)
    ))?;
    let column = |row: Vec<Option<Vec<u8>>>| {
        let mut cells = row.into_iter().map(|cell| cell.map(text));
        let mut next = || cells.next().flatten();
        let name = next().unwrap_or_default();
        let data_type = next().unwrap_or_default();
        let is_generated = next().is_some_and(|expression| !expression.is_empty());
        let is_nullable = next().is_some_and(|answer| answer == "YES");
        let collation = next().zip(next());
        Column { name, class: Class::of(&data_type), data_type, is_generated, is_nullable, collation }
    };
    Ok(rows.into_iter().map(column).collect())
}

/// The key for chunks, and the unique one.
fn keys(
    server: &mut dyn Runs,
    database: &str,
    table: &str,
    columns: &[Column],
) -> Result<(Vec<Column>, Vec<Column>), ToolError> {
    let rows = server.rows(&format!(
        "SELECT INDEX_NAME, COLUMN_NAME, COALESCE(SUB_PART, 0), COALESCE(COLLATION, 'A') FROM \
         information_schema.STATISTICS WHERE TABLE_SCHEMA = {database} AND TABLE_NAME = {} AND NON_UNIQUE = 0 \
         ORDER BY INDEX_NAME = 'PRIMARY' DESC, INDEX_NAME, SEQ_IN_INDEX",
        string_literal(table)
    ))?;
    let mut indexes: Vec<(String, Vec<Option<Column>>)> = Vec::new();
    for row in rows {
        let mut cells = row.into_iter().map(|cell| cell.map(text).unwrap_or_default());
        let mut next = || cells.next().unwrap_or_default();
        let (index, name, part, order) = (next(), next(), next(), next());
        // An index on an expression has no column, one on a prefix not the column's order.
        let is_whole = part == "0" && order == "A";
        let column = columns.iter().find(|c| is_whole && c.name.eq_ignore_ascii_case(&name)).cloned();
        match indexes.last_mut() {
            Some((last, parts)) if *last == index => parts.push(column),
            _ => indexes.push((index, vec![column])),
        }
    }
    let whole = |parts: &[Option<Column>]| -> Option<Vec<Column>> {
        parts.iter().map(|part| part.clone().filter(|c| !c.is_nullable)).collect()
    };
    let unique = indexes.iter().find_map(|(_, parts)| whole(parts)).unwrap_or_default();
    let chunk = unique.iter().take_while(|c| c.class.is_chunkable()).take(CHUNK_COLUMNS_MAX);
    Ok((chunk.cloned().collect(), unique))
}
