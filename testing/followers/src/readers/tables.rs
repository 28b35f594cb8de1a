//! The tables that a reader rebuilt, compared with those of the source, each value in words that
//! every language can say:
//!
//! - numbers in decimal, a DECIMAL with all its digits, a BIT as a number, a float in any notation
//!   that reads back the same;
//! - times, dates and moments as the server prints them, TIMESTAMP in UTC;
//! - text in UTF-8 and bytes as they are, both in hexadecimal; ENUM and SET as their members' text;
//! - a JSON document as any text that the server takes for the same document, in hexadecimal;
//! - `NULL`, and `?` for what the reader says it cannot express.

use super::Reader;
use crate::Result;
use mysql::prelude::Queryable;
use mysql::{Conn, Row, from_value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many differences of a table are shown.
const SHOWN: usize = 5;
/// How much of a value is shown.
const CUT: usize = 60;

struct Column {
    name: String,
    kind: ColumnKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Plain,
    Float,
    Double,
    Text,
    /// The log omits the zeros at the end.
    Binary,
    Json,
}

/// Rows by their first value where that column is called `id`, else by all their values.
type Rows = BTreeMap<String, Vec<Vec<String>>>;

/// What differs between the source's tables of `schemas` and those that the reader wrote to `out`;
/// no session may change them meanwhile.
pub fn differences(source: &mut Conn, schemas: &[&str], out: &Path, reader: &Reader) -> Result<Vec<String>> {
    source.query_drop("SET NAMES utf8mb4")?;
    source.query_drop("SET time_zone = '+00:00'")?;
    let found = read(out)?;
    let mut differences = Vec::new();
    let mut known = BTreeSet::new();
    for schema in schemas {
        let tables: Vec<String> = source.exec(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name",
            (schema,),
        )?;
        for table in tables {
            let name = format!("{schema}.{table}");
            if !reader.misses.contains(&name.as_str()) {
                let columns = columns(source, schema, &table)?;
                let ours = rows_of(source, schema, &table, &columns)?;
                let empty = Vec::new();
                let theirs = by_key(found.get(&name).unwrap_or(&empty), &columns);
                let all = of_table(source, &columns, &ours, &theirs, reader)?;
                differences.extend(all.into_iter().take(SHOWN).map(|d| format!("{name}: {d}")));
            }
            known.insert(name);
        }
    }
    let is_asked = |name: &String| schemas.iter().any(|schema| name.starts_with(&format!("{schema}.")));
    let gone = found.keys().filter(|name| is_asked(name) && !known.contains(*name));
    differences.extend(gone.map(|name| format!("{name} is at the reader only")));
    Ok(differences)
}

fn read(out: &Path) -> Result<BTreeMap<String, Vec<Vec<String>>>> {
    let mut tables: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in std::fs::read_to_string(out)?.lines() {
        let mut cells = line.split('\t').map(str::to_owned);
        let table = cells.next().unwrap_or_default();
        tables.entry(table).or_default().push(cells.collect());
    }
    Ok(tables)
}

fn columns(source: &mut Conn, schema: &str, table: &str) -> Result<Vec<Column>> {
    let all: Vec<(String, String)> = source.exec(
        "SELECT column_name, data_type FROM information_schema.columns
         WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position",
        (schema, table),
    )?;
    Ok(all.into_iter().map(|(name, ty)| Column { kind: kind(&ty), name }).collect())
}

fn kind(ty: &str) -> ColumnKind {
    match ty {
        "float" => ColumnKind::Float,
        "double" => ColumnKind::Double,
        "json" => ColumnKind::Json,
        "binary" => ColumnKind::Binary,
        "char" | "varchar" | "enum" | "set" | "varbinary" => ColumnKind::Text,
        _ if ty.ends_with("text") || ty.ends_with("blob") => ColumnKind::Text,
        _ => ColumnKind::Plain,
    }
}

fn rows_of(source: &mut Conn, schema: &str, table: &str, columns: &[Column]) -> Result<Rows> {
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    // Each is asked for as text: the words are the server's own.
    let types: Vec<(String, String)> = source.exec(
        "SELECT data_type, COALESCE(character_set_name, '') FROM information_schema.columns
         WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position",
        (schema, table),
    )?;
    let asked = columns.iter().zip(&types).map(|(column, (ty, charset))| {
        let name = quote(&column.name);
        match column.kind {
            ColumnKind::Float | ColumnKind::Double => format!("CAST({name} AS DOUBLE)"),
            ColumnKind::Json => format!("LOWER(HEX(CAST({name} AS CHAR CHARACTER SET utf8mb4)))"),
            ColumnKind::Text if !charset.is_empty() => format!("LOWER(HEX(CONVERT({name} USING utf8mb4)))"),
            ColumnKind::Text | ColumnKind::Binary => format!("LOWER(HEX({name}))"),
            ColumnKind::Plain if ty == "bit" || ty == "year" => format!("CAST({name} + 0 AS CHAR)"),
            ColumnKind::Plain => format!("CAST({name} AS CHAR)"),
        }
    });
    let asked: Vec<String> = asked.collect();
    let rows: Vec<Row> =
        source.query(format!("SELECT {} FROM {}.{}", asked.join(", "), quote(schema), quote(table)))?;
    let texts = |row: Row| -> Vec<String> {
        row.unwrap().into_iter().map(|v| from_value::<Option<String>>(v).unwrap_or("NULL".into())).collect()
    };
    Ok(by_key(&rows.into_iter().map(texts).collect::<Vec<_>>(), columns))
}

fn by_key(rows: &[Vec<String>], columns: &[Column]) -> Rows {
    let by_id = columns.first().is_some_and(|c| c.name == "id");
    let mut keyed = Rows::new();
    for row in rows {
        // The row id of a table without a primary key stands after the columns that clients are
        // shown.
        let cells = &row[..row.len().min(columns.len())];
        let key = if by_id { cells.first().cloned().unwrap_or_default() } else { cells.join("\t") };
        keyed.entry(key).or_default().push(cells.to_vec());
    }
    keyed
}

fn of_table(
    source: &mut Conn,
    columns: &[Column],
    ours: &Rows,
    theirs: &Rows,
    reader: &Reader,
) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for key in keys {
        match (ours.get(key), theirs.get(key)) {
            (Some(ours), Some(theirs)) if ours.len() == theirs.len() => {
                for (row, shown) in ours.iter().zip(theirs) {
                    if row.len() != shown.len() {
                        differences.push(format!("row {key} has {} values, not {}", shown.len(), row.len()));
                        continue;
                    }
                    for ((column, value), shown) in columns.iter().zip(row).zip(shown) {
                        if !same(source, column, value, shown, reader)? {
                            let (value, shown) = (cut(column, value), cut(column, shown));
                            differences.push(format!(
                                "row {}, {}: {value} is shown as {shown}",
                                short(key),
                                column.name
                            ));
                        }
                    }
                }
            }
            (ours, theirs) => {
                let count = |rows: Option<&Vec<_>>| rows.map_or(0, Vec::len);
                differences.push(format!(
                    "row {} is there {} times, at the reader {} times",
                    short(key),
                    count(ours),
                    count(theirs)
                ));
            }
        }
    }
    Ok(differences)
}

fn same(source: &mut Conn, column: &Column, value: &str, shown: &str, reader: &Reader) -> Result<bool> {
    if value == shown {
        return Ok(true);
    }
    let is_known = reader.differences.iter().any(|(name, ours, theirs)| {
        *name == column.name && *ours == readable(column, value) && *theirs == readable(column, shown)
    });
    if is_known || value == "NULL" || shown == "NULL" {
        return Ok(is_known);
    }
    Ok(match column.kind {
        ColumnKind::Float => value.parse::<f32>()? == shown.parse::<f32>()?,
        ColumnKind::Double => value.parse::<f64>()? == shown.parse::<f64>()?,
        ColumnKind::Binary => value.trim_end_matches("00") == shown.trim_end_matches("00"),
        ColumnKind::Json => {
            let ask = "SELECT CAST(? AS JSON) = CAST(? AS JSON)";
            let answer: Option<Option<u8>> = source.exec_first(ask, (text(value), text(shown)))?;
            answer == Some(Some(1))
        }
        ColumnKind::Plain | ColumnKind::Text => false,
    })
}

/// A value as the lists of known differences have it.
fn readable(column: &Column, value: &str) -> String {
    match column.kind {
        ColumnKind::Text | ColumnKind::Json if value != "NULL" => text(value),
        _ => value.to_owned(),
    }
}

fn text(hex: &str) -> String {
    let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).unwrap_or(b'?');
    String::from_utf8_lossy(&hex.as_bytes().chunks(2).map(byte).collect::<Vec<_>>()).into_owned()
}

fn cut(column: &Column, value: &str) -> String {
    short(&readable(column, value))
}

fn short(value: &str) -> String {
    value.chars().take(CUT).collect()
}
