//! What a server shows of a case's tables and functions, in a form that two kinds of servers have
//! in common.

use super::ReplicaKind;
use super::limits::Limits;
use crate::Result;
use crate::snapshot::line;
use definition_generator::PREFIX;
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Comments of columns that clients of the source are not shown, and replicas have as columns like
/// others.
const HIDDEN: [&str; 2] = ["row identity of a table without primary key", "values of an index's expression"];

/// What one server shows of a case, by the name of the thing.
#[derive(Debug, Default)]
pub(super) struct Shown {
    things: BTreeMap<String, Vec<String>>,
}

const ROWS: &str = "rows of ";
const COUNTER: &str = "next AUTO_INCREMENT of ";
const CREATE: &str = "SHOW CREATE ";

impl Shown {
    pub(super) fn definitions(&self) -> u64 {
        self.things.keys().filter(|name| name.starts_with(CREATE)).count() as u64
    }

    pub(super) fn rows(&self) -> u64 {
        let rows = self.things.iter().filter(|(name, _)| name.starts_with(ROWS));
        rows.map(|(_, lines)| lines.len() as u64).sum()
    }

    /// What is not the same at the replica. Values of AUTO_INCREMENT that no row has may have been
    /// `drawn` at the source only. What is a known limit is reported by its reason alone (`Err`).
    pub(super) fn differences(
        &self,
        replica: &Self,
        limits: &Limits,
        drawn: bool,
    ) -> Vec<std::result::Result<String, &'static str>> {
        let names: BTreeSet<&String> = self.things.keys().chain(replica.things.keys()).collect();
        let nothing = vec!["(nothing)".to_owned()];
        let mut found = Vec::new();
        for name in names {
            if limits.kind() == ReplicaKind::MariaDb && name.starts_with(CREATE) {
                // It writes definitions in its own way.
                continue;
            }
            let ours = self.things.get(name).unwrap_or(&nothing);
            let theirs = replica.things.get(name).unwrap_or(&nothing);
            if ours == theirs || name.starts_with(COUNTER) && drawn && ours > theirs {
                continue;
            }
            if let Some(reason) = limits.of_lines(ours, theirs) {
                found.push(Err(reason));
                continue;
            }
            let only = |some: &[String], others: &[String], sign: &str| -> String {
                const SHOWN: usize = 1500;
                let mine = some.iter().filter(|line| !others.contains(line)).take(3);
                mine.map(|line| format!("  {sign} {}\n", line.chars().take(SHOWN).collect::<String>()))
                    .collect()
            };
            let text = only(ours, theirs, "source: ") + &only(theirs, ours, "replica:");
            found.push(Ok(format!("== {name}\n{text}")));
        }
        found
    }
}

/// Asks a server; `replica` says of which kind it is, unless it is the source.
pub(super) fn show(conn: &mut Conn, case: u64, replica: Option<ReplicaKind>) -> Result<Shown> {
    conn.query_drop("SET sql_mode = '', time_zone = '+00:00', character_set_results = NULL")?;
    if replica != Some(ReplicaKind::MariaDb) {
        conn.query_drop("SET information_schema_stats_expiry = 0").or_else(ignore_unknown)?;
        conn.query_drop("SET show_gipk_in_create_table_and_information_schema = ON")
            .or_else(ignore_unknown)?;
    }
    let mut shown = Shown::default();
    for database in databases(conn, case)? {
        shown.database(conn, &database)?;
    }
    Ok(shown)
}

/// A variable that this server has not.
fn ignore_unknown(e: mysql::Error) -> mysql::Result<()> {
    match e {
        mysql::Error::MySqlError(ref told) if told.code == 1193 => Ok(()),
        e => Err(e),
    }
}

/// The statements that drop what cases made.
pub(super) fn drops(conn: &mut Conn, cases: &BTreeSet<u64>) -> Result<Vec<String>> {
    let mut statements = Vec::new();
    let databases: Vec<Vec<u8>> = conn.query("SHOW DATABASES")?;
    let names = databases.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    let is_theirs = |name: &str| case_of(name).is_some_and(|case| cases.contains(&case));
    statements
        .extend(names.filter(|n| is_theirs(n)).map(|n| format!("DROP DATABASE IF EXISTS {}", quote(&n))));
    let accounts: Vec<(Vec<u8>, Vec<u8>)> = conn.query("SELECT user, host FROM mysql.user")?;
    for (user, host) in accounts {
        let (user, host) = (String::from_utf8_lossy(&user), String::from_utf8_lossy(&host));
        if is_theirs(&user) {
            statements.push(format!("DROP USER IF EXISTS {}@{}", quote(&user), quote(&host)));
        }
    }
    Ok(statements)
}

fn case_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split_once('_')?.0.parse().ok()
}

fn databases(conn: &mut Conn, case: u64) -> Result<Vec<String>> {
    let all: Vec<Vec<u8>> = conn.query("SHOW DATABASES")?;
    let names = all.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(names.filter(|name| case_of(name) == Some(case)).collect())
}

impl Shown {
    fn database(&mut self, conn: &mut Conn, database: &str) -> Result<()> {
        let tables: Vec<(Vec<u8>, Option<u64>)> = conn.exec(
            "SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema = ?",
            (database,),
        )?;
        for (table, counter) in tables {
            let table = String::from_utf8_lossy(&table).into_owned();
            self.table(conn, database, &table, counter)?;
        }
        let functions: Vec<Vec<u8>> = conn.exec(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = ?",
            (database,),
        )?;
        for name in functions {
            let name = quote(&String::from_utf8_lossy(&name));
            let rows: Vec<Row> = conn.query(format!("SHOW CREATE FUNCTION {}.{name}", quote(database)))?;
            // Before the parameters there are names, which MySQL quotes as the function's sql_mode
            // has it.
            let lines = rows.into_iter().filter_map(|row| {
                let text = text_of(row.unwrap().get(2)?);
                Some(text.split_once(" FUNCTION ").map_or(text.clone(), |(_, rest)| rest.replace('"', "`")))
            });
            let lines = lines.collect();
            self.things.insert(format!("{CREATE}FUNCTION {name}"), lines);
        }
        Ok(())
    }

    fn table(&mut self, conn: &mut Conn, database: &str, table: &str, counter: Option<u64>) -> Result<()> {
        let name = format!("{}.{}", quote(database), quote(table));
        let columns: Vec<Row> = conn.exec(
            "SELECT column_comment, column_name, column_type, is_nullable, column_default, extra, character_set_name, \
             collation_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ? \
             ORDER BY ordinal_position",
            (database, table),
        )?;
        let (mut names, mut hidden, mut lines, mut counts) = (Vec::new(), Vec::new(), Vec::new(), false);
        for row in columns {
            let values = row.unwrap();
            let text = |at: usize| match &values[at] {
                Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                _ => String::new(),
            };
            if HIDDEN.contains(&text(0).as_str()) {
                hidden.push(quote(&text(1)));
                continue;
            }
            counts |= text(5).to_lowercase().contains("auto_increment");
            names.push(quote(&text(1)));
            // Of an expression each writes its own text, and MySQL cuts bytes at a NUL.
            let has_text = text(5).contains("DEFAULT_GENERATED") || text(2).contains("binary(");
            let mut shown = values[1..].to_vec();
            if has_text {
                shown[3] = Value::NULL;
            }
            lines.push(line(&shown));
        }
        if names.is_empty() {
            return Err(format!("information_schema has no columns of {name:?}").into());
        }
        self.things.insert(format!("columns of {name}"), lines);
        let created: Option<Row> = conn.query_first(format!("SHOW CREATE TABLE {name}"))?;
        let created = created.and_then(|row| row.unwrap().get(1).map(text_of)).unwrap_or_default();
        self.things.insert(format!("{CREATE}TABLE {name}"), without_hidden(&created, &hidden));
        if counts {
            // MySQL has none before the first row.
            let next = vec![format!("{:020}", counter.unwrap_or(0).max(1))];
            self.things.insert(format!("{COUNTER}{name}"), next);
        }
        let rows: Vec<Row> = conn.query(format!("SELECT {} FROM {name}", names.join(", ")))?;
        let mut rows: Vec<String> = rows.into_iter().map(|row| line(&row.unwrap())).collect();
        rows.sort_unstable();
        self.things.insert(format!("{ROWS}{name}"), rows);
        Ok(())
    }
}

/// A line without what MySQL and Duramen write in their own ways, both of which mean the same.
fn plain(line: &str, hidden: &[String]) -> String {
    // MySQL reads the smallest integer as a number with a sign before it.
    let line = line.replace("-(9223372036854775808)", "-9223372036854775808");
    let line = without_charset(&line);
    if let Some(at) = EXPRESSIONS.iter().find_map(|mark| Some(line.find(mark)? + mark.len())) {
        return format!("{}..{}", &line[..at], &line[end_of_expression(&line, at)..]);
    }
    let is_key = ["KEY ", "UNIQUE KEY "].iter().any(|word| line.trim_start().starts_with(word));
    if is_key { with_placeholders(&line, hidden) } else { line }
}

/// Before an expression. Each server writes them in its own way; what they compute is compared with
/// the rows.
const EXPRESSIONS: [&str; 3] = [" GENERATED ALWAYS AS (", " CHECK (", " DEFAULT ("];

/// Where the parenthesis is closed that was opened before `from`.
fn end_of_expression(line: &str, from: usize) -> usize {
    let (mut depth, mut quote, mut escaped) = (1_u32, None, false);
    for (at, c) in line[from..].char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(q) if c == q => quote = None,
            Some(q) => escaped = c == '\\' && q == '\'',
            None if matches!(c, '\'' | '`' | '"') => quote = Some(c),
            None if c == '(' => depth += 1,
            None if c == ')' => {
                depth -= 1;
                if depth == 0 {
                    return from + at;
                }
            }
            None => {}
        }
    }
    line.len()
}

/// A column's character set and collation are compared by information_schema: MySQL writes them
/// where the statement named them, which is another one in the log. So it does with STORAGE, which
/// means nothing.
fn without_charset(line: &str) -> String {
    let mut line = line.replace(" /*!50606 STORAGE DISK */", "").replace(" /*!50606 STORAGE MEMORY */", "");
    for mark in [" CHARACTER SET ", " COLLATE "] {
        if let Some(from) = line.find(mark).filter(|_| !line.starts_with(')')) {
            let name = line[from + mark.len()..].find(' ').map_or(line.len(), |end| from + mark.len() + end);
            line.replace_range(from..name, "");
        }
    }
    line
}

/// A key with `(..)` for each expression, as the source shows it, and for each hidden column that
/// the replica has instead.
fn with_placeholders(line: &str, hidden: &[String]) -> String {
    let line = hidden.iter().fold(line.to_owned(), |line, column| line.replace(column, "(..)"));
    let (mut out, mut depth, mut quote) = (String::new(), 0_u32, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let was = depth;
        match quote {
            Some('\'') if c == '\\' => {
                let escaped = chars.next();
                if depth < 2 {
                    out.push(c);
                    out.extend(escaped);
                }
                continue;
            }
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '`' | '"') => quote = Some(c),
            None if c == '(' => depth += 1,
            None if c == ')' => depth = depth.saturating_sub(1),
            None => {}
        }
        match (was, depth) {
            // `a(10)` has a prefix, `(a + 1)` is an expression.
            (1, 2) if out.ends_with(['(', ',']) => out.push_str("(.."),
            (1, 2) => out.push_str("prefix"),
            (2, 1) => out.push(')'),
            (_, 0 | 1) => out.push(c),
            _ => {}
        }
    }
    out
}

/// A definition's lines, without hidden columns, a primary key of one, and the next value of
/// AUTO_INCREMENT, which is compared by itself.
fn without_hidden(created: &str, hidden: &[String]) -> Vec<String> {
    let is_hidden = |line: &str| {
        let line = line.trim_start();
        hidden.iter().any(|column| {
            line.starts_with(&format!("{column} ")) || line.starts_with(&format!("PRIMARY KEY ({column})"))
        })
    };
    let lines = lines_of(created).into_iter().filter(|line| !is_hidden(line));
    let without_counter = |line: &str| match line.split_once(" AUTO_INCREMENT=") {
        Some((before, after)) if line.starts_with(')') => {
            before.to_owned() + after.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => line.to_owned(),
    };
    // The last column or key has no comma, whichever it is.
    lines.map(|line| plain(without_counter(line).trim_end_matches(','), hidden)).collect()
}

/// The lines; names and texts may have line ends too, which end none.
fn lines_of(text: &str) -> Vec<&str> {
    let (mut lines, mut start, mut quote, mut escaped) = (Vec::new(), 0, None, false);
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(q) if c == q => quote = None,
            Some(q) => escaped = c == '\\' && q == '\'',
            None if matches!(c, '\'' | '`') => quote = Some(c),
            None if c == '\n' => {
                lines.push(&text[start..at]);
                start = at + 1;
            }
            None => {}
        }
    }
    lines.push(&text[start..]);
    lines
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    }
}
