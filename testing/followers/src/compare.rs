//! Whether two servers hold the same rows.

use crate::Result;
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use std::collections::BTreeSet;

/// What no application made.
const SYSTEM: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];
/// How many differing rows of a table are shown.
const SHOWN: usize = 3;

/// The tables of one server, each as `database.table`.
pub fn tables(conn: &mut Conn) -> Result<BTreeSet<(String, String)>> {
    let all: Vec<(String, String)> = conn.query(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'",
    )?;
    Ok(all.into_iter().filter(|(database, _)| !SYSTEM.contains(&database.as_str())).collect())
}

/// What differs between the tables of two servers, in words; empty where they are equal. Nobody may
/// change them meanwhile.
pub fn differences(source: &mut Conn, follower: &mut Conn) -> Result<Vec<String>> {
    differences_in(source, follower, |_| true)
}

/// The same for the databases of which `is_compared` is true.
pub fn differences_in(
    source: &mut Conn,
    follower: &mut Conn,
    is_compared: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    for conn in [&mut *source, &mut *follower] {
        conn.query_drop("SET time_zone = '+00:00'")?;
    }
    let (ours, theirs) = (tables(source)?, tables(follower)?);
    let mut found = Vec::new();
    for (database, table) in ours.union(&theirs).filter(|(database, _)| is_compared(database)) {
        let name = format!("`{database}`.`{table}`");
        let key = (database.clone(), table.clone());
        match (ours.contains(&key), theirs.contains(&key)) {
            (true, true) => found.extend(of_table(source, follower, &name)?),
            (true, false) => found.push(format!("{name} is not at the follower")),
            _ => found.push(format!("{name} is at the follower only")),
        }
    }
    Ok(found)
}

/// Rows sorted by their contents: the servers' collations and row orders are their own.
fn rows(conn: &mut Conn, name: &str) -> Result<Vec<String>> {
    let rows: Vec<Row> = conn.query(format!("SELECT * FROM {name}"))?;
    let mut texts: Vec<String> = rows.into_iter().map(|row| text(row.unwrap())).collect();
    texts.sort_unstable();
    Ok(texts)
}

fn text(values: Vec<Value>) -> String {
    let texts: Vec<String> = values.iter().map(|value| value.as_sql(true)).collect();
    texts.join(", ")
}

fn of_table(source: &mut Conn, follower: &mut Conn, name: &str) -> Result<Option<String>> {
    let (ours, theirs) = (rows(source, name)?, rows(follower, name)?);
    if ours == theirs {
        return Ok(None);
    }
    let only = |some: &[String], others: &[String]| -> String {
        let lacking = some.iter().filter(|row| others.binary_search(row).is_err());
        lacking.take(SHOWN).map(|row| format!("\n    {}", cut(row))).collect()
    };
    Ok(Some(format!(
        "{name}: {} rows at the source, {} at the follower\n  only at the source:{}\n  only at the follower:{}",
        ours.len(),
        theirs.len(),
        only(&ours, &theirs),
        only(&theirs, &ours)
    )))
}

/// The start of a row, which may be megabytes.
fn cut(row: &str) -> String {
    const LENGTH: usize = 1000;
    row.chars().take(LENGTH).collect()
}
