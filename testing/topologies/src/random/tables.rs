//! Whether a database is the same at source and replica: what there is in it, its columns, and
//! rows. Texts of definitions are compared elsewhere (`cargo xtask differential`).

use super::sessions::{conn_of, quoted};
use crate::Result;
use crate::node::Node;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Error, Row, Value};
use servers::ServerKind;
use std::collections::BTreeSet;

/// How many differing lines are shown of each kind.
const SHOWN: usize = 3;

/// What differs in a database, in words.
pub(super) fn differences(source: &Node, replica: &Node, database: &str) -> Result<Vec<String>> {
    let (mut ours, mut theirs) = (conn_of(source)?, conn_of(replica)?);
    let mut found = Vec::new();
    let unreadable = unreadable_views(&mut ours, database)?;
    for query in listings(source.kind() == ServerKind::MariaDb) {
        let query = query.replace("{}", &literal(&Value::Bytes(database.into())));
        let query = query.replace("{unreadable}", &unreadable);
        let (here, there) = (lines(&mut ours, &query)?, lines(&mut theirs, &query)?);
        found.extend(difference("definitions", &here, &there));
    }
    let tables = |conn: &mut Conn| -> Result<BTreeSet<String>> {
        let all: Vec<(String, String)> = conn.query(format!("SHOW FULL TABLES FROM {}", quoted(database)))?;
        Ok(all.into_iter().filter(|(_, ty)| ty == "BASE TABLE").map(|(name, _)| name).collect())
    };
    let (here, there) = (tables(&mut ours)?, tables(&mut theirs)?);
    for table in here.intersection(&there) {
        let name = format!("{}.{}", quoted(database), quoted(table));
        let mut rows = format!("SELECT * FROM {name}");
        let mut here = lines(&mut ours, &rows)?;
        // A source that can't compute a VIRTUAL column for its reader has what it is made of; in a
        // strict sql_mode it may not even open the table.
        if here.first().is_some_and(|line| line.starts_with(FAILED)) {
            ours.query_drop("SET SESSION sql_mode = ''")?;
            rows = format!("SELECT {} FROM {name}", stored_columns(&mut ours, database, table)?);
            here = lines(&mut ours, &rows)?;
        }
        let there = lines(&mut theirs, &rows)?;
        // A VIRTUAL column has the value that its reader's sql_mode gives it.
        if here != there {
            ours.query_drop("SET SESSION sql_mode = ''")?;
            here = lines(&mut ours, &rows)?;
        }
        let has_failed = |lines: &[String]| lines.first().is_some_and(|line| line.starts_with(FAILED));
        let are_rows = !has_failed(&here) && !has_failed(&there);
        if here != there && are_rows && source.kind() == ServerKind::MariaDb {
            here = with_documents(&mut ours, &mut theirs, &rows)?;
        }
        if let Some(text) = difference(&name, &here, &there) {
            let shown = lines(&mut ours, &format!("SHOW CREATE TABLE {name}"))?;
            found.push(format!("{text}\n{}", shown.concat()));
        }
        ours.query_drop("SET SESSION sql_mode = DEFAULT")?;
    }
    Ok(found)
}

/// What there is in a database.
fn listings(is_mariadb: bool) -> Vec<&'static str> {
    let mut all = vec![
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = {}",
        "SELECT trigger_name, event_object_table, event_manipulation, action_timing FROM information_schema.triggers WHERE trigger_schema = {}",
        "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = {}",
        "SELECT event_name FROM information_schema.events WHERE event_schema = {}",
        "SELECT table_name, column_name, ordinal_position FROM information_schema.columns WHERE table_schema = {} AND table_name NOT IN ({unreadable})",
        // MariaDB and MySQL differ in which expressions of a view may be NULL.
        "SELECT table_name, column_name, is_nullable FROM information_schema.columns WHERE table_schema = {} AND table_name IN
         (SELECT table_name FROM information_schema.tables WHERE table_schema = {} AND table_type = 'BASE TABLE')",
    ];
    if !is_mariadb {
        all.push("SELECT table_name, column_name, is_nullable FROM information_schema.columns WHERE table_schema = {} AND table_name NOT IN ({unreadable})");
        all.push("SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = {}");
    }
    all
}

/// Views, as a list of strings, whose text the source has stored so that it can't read it itself: a
/// MariaDB does where the name of a common table expression has a backquote. It lists no columns.
fn unreadable_views(conn: &mut Conn, database: &str) -> Result<String> {
    let all: Vec<(String, String)> = conn.query(format!("SHOW FULL TABLES FROM {}", quoted(database)))?;
    let mut names = vec!["''".to_owned()];
    for (name, _) in all.into_iter().filter(|(_, ty)| ty == "VIEW") {
        let shown = lines(conn, &format!("SHOW CREATE VIEW {}.{}", quoted(database), quoted(&name)))?;
        if shown == [format!("{FAILED}{SYNTAX_ERROR}")] {
            names.push(literal(&Value::Bytes(name.into())));
        }
    }
    Ok(names.join(", "))
}

/// As a session writes it that compares: backslashes escape.
fn literal(value: &Value) -> String {
    value.as_sql(false)
}

/// ER_PARSE_ERROR
const SYNTAX_ERROR: u16 = 1064;

/// What the line of a query begins with that has failed.
const FAILED: &str = "error ";

/// The names of a table's columns, without VIRTUAL ones.
fn stored_columns(conn: &mut Conn, database: &str, table: &str) -> Result<String> {
    let query = "SELECT column_name FROM information_schema.columns \
         WHERE table_schema = ? AND table_name = ? AND extra NOT LIKE '%VIRTUAL GENERATED%' ORDER BY ordinal_position";
    let names: Vec<String> = conn.exec(query, (database, table))?;
    Ok(names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
}

/// A query's rows, sorted, or its error.
fn lines(conn: &mut Conn, query: &str) -> Result<Vec<String>> {
    let rows: Vec<Row> = match conn.query(query) {
        Ok(rows) => rows,
        // Generated columns may fail at both.
        Err(Error::MySqlError(e)) => return Ok(vec![format!("{FAILED}{}", e.code)]),
        Err(e) => return Err(e.into()),
    };
    let mut lines: Vec<String> = rows.into_iter().map(|row| line(&row.unwrap())).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// A row, to be shown and compared.
fn line(values: &[Value]) -> String {
    values.iter().map(|value| value.as_sql(true)).collect::<Vec<_>>().join(", ")
}

/// A query's rows at a MariaDB, whose JSON is a text: each such text as the document that the
/// replica makes of it, with its spaces, order of keys and digits of numbers.
fn with_documents(source: &mut Conn, replica: &mut Conn, query: &str) -> Result<Vec<String>> {
    let is_json = |column: &Column| column.column_type() == ColumnType::MYSQL_TYPE_JSON;
    let are_json: Vec<bool> = replica.query_iter(query)?.columns().as_ref().iter().map(is_json).collect();
    let mut lines = Vec::new();
    for row in source.query::<Row, _>(query)? {
        let mut values = row.unwrap();
        for (value, _) in values.iter_mut().zip(&are_json).filter(|(_, is_json)| **is_json) {
            if *value != Value::NULL {
                let document = replica.query_first(format!("SELECT CAST({} AS JSON)", literal(value)))?;
                *value = document.ok_or("a SELECT without a row")?;
            }
        }
        lines.push(line(&values));
    }
    lines.sort_unstable();
    Ok(lines)
}

fn difference(what: &str, here: &[String], there: &[String]) -> Option<String> {
    if here == there {
        return None;
    }
    let only = |some: &[String], others: &[String]| -> String {
        let lacking = some.iter().filter(|line| !others.contains(line)).take(SHOWN);
        lacking.map(|line| format!("\n    {}", line.chars().take(1500).collect::<String>())).collect()
    };
    Some(format!(
        "{what}: {} at the source, {} at the replica\n  only at the source:{}\n  only at the replica:{}",
        here.len(),
        there.len(),
        only(here, there),
        only(there, here)
    ))
}
