//! All that can be asked of a server about its definitions and rows, as texts that can be compared.

use crate::{Result, connect};
use definition_generator::PREFIX;
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use servers::Running;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What a server shows: by the case's number and the name of the thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    things: BTreeMap<(u64, String), String>,
}

/// Something that two snapshots don't agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The case that it belongs to.
    pub case: u64,
    /// What differs, where, and how, in words.
    pub text: String,
    /// True if it is only a next value of AUTO_INCREMENT that is lower than before, and there is
    /// nothing else.
    pub is_counter_alone: bool,
}

/// What stands before a next value of AUTO_INCREMENT in the answer for information_schema.tables.
const COUNTER: &str = "counter:";

/// information_schema's columns that say something of definitions.
const SCHEMA_QUERIES: &[(&str, &str)] = &[
    (
        "columns",
        "SELECT table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type, \
         character_maximum_length, character_octet_length, numeric_precision, numeric_scale, datetime_precision, \
         character_set_name, collation_name, column_type, column_key, extra, column_comment, generation_expression \
         FROM information_schema.columns WHERE table_schema LIKE 'c%'",
    ),
    (
        "statistics",
        "SELECT table_schema, table_name, non_unique, index_name, seq_in_index, column_name, collation, sub_part, nullable, \
         index_type, index_comment, is_visible, expression FROM information_schema.statistics WHERE table_schema LIKE 'c%'",
    ),
    (
        "tables",
        "SELECT table_schema, table_name, engine, row_format, CONCAT('counter:', auto_increment), table_collation, create_options, table_comment \
         FROM information_schema.tables WHERE table_schema LIKE 'c%'",
    ),
    (
        "check_constraints",
        "SELECT constraint_schema, constraint_name, check_clause FROM information_schema.check_constraints \
         WHERE constraint_schema LIKE 'c%'",
    ),
    (
        "referential_constraints",
        "SELECT constraint_schema, table_name, constraint_name, unique_constraint_name, match_option, update_rule, \
         delete_rule, referenced_table_name FROM information_schema.referential_constraints \
         WHERE constraint_schema LIKE 'c%'",
    ),
    (
        "key_column_usage",
        "SELECT constraint_schema, table_name, constraint_name, column_name, ordinal_position, \
         position_in_unique_constraint, referenced_table_name, referenced_column_name \
         FROM information_schema.key_column_usage WHERE constraint_schema LIKE 'c%'",
    ),
    (
        "routines",
        "SELECT routine_schema, routine_name, routine_type, dtd_identifier, routine_definition, is_deterministic, sql_data_access, \
         security_type, created, last_altered, sql_mode, routine_comment, definer, character_set_client, collation_connection, database_collation \
         FROM information_schema.routines WHERE routine_schema LIKE 'c%'",
    ),
    (
        "triggers",
        "SELECT trigger_schema, trigger_name, event_manipulation, event_object_table, action_order, action_statement, \
         action_timing, created, sql_mode, definer, character_set_client, collation_connection, database_collation \
         FROM information_schema.triggers WHERE trigger_schema LIKE 'c%'",
    ),
    (
        "events",
        "SELECT event_schema, event_name, definer, time_zone, event_definition, event_type, execute_at, interval_value, \
         interval_field, sql_mode, starts, ends, status, on_completion, created, last_altered, event_comment, \
         character_set_client, collation_connection, database_collation \
         FROM information_schema.events WHERE event_schema LIKE 'c%'",
    ),
    (
        "parameters",
        "SELECT specific_schema, specific_name, ordinal_position, parameter_mode, parameter_name, dtd_identifier, character_set_name, collation_name \
         FROM information_schema.parameters WHERE specific_schema LIKE 'c%'",
    ),
];

impl Snapshot {
    /// Asks the server.
    pub fn take(server: &Running) -> Result<Self> {
        let mut conn = connect(server)?;
        // Bytes as they are stored; no mode that changes how definitions are shown.
        conn.query_drop("SET sql_mode = '', time_zone = '+00:00', character_set_results = NULL, show_create_table_skip_secondary_engine = OFF")
            .or_else(|_| conn.query_drop("SET sql_mode = '', time_zone = '+00:00', character_set_results = NULL"))?;
        let mut snapshot = Self::default();
        for (what, query) in SCHEMA_QUERIES {
            snapshot.schema(&mut conn, what, query)?;
        }
        let databases: Vec<Vec<u8>> = conn.query("SHOW DATABASES")?;
        for database in databases {
            let database = String::from_utf8_lossy(&database).into_owned();
            if let Some(case) = case_of(&database) {
                snapshot.database(&mut conn, case, &database)?;
            }
        }
        snapshot.accounts(&mut conn)?;
        Ok(snapshot)
    }

    /// How many tables, routines, accounts and databases there are.
    pub fn definitions(&self) -> u64 {
        self.things.keys().filter(|(_, name)| name.starts_with("SHOW CREATE")).count() as u64
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        let rows = self.things.iter().filter(|((_, name), _)| name.starts_with("rows of"));
        rows.map(|(_, text)| text.lines().count() as u64).sum()
    }

    /// What is not the same in `after`; one for each case.
    pub fn differences(&self, after: &Self) -> Vec<Difference> {
        let mut found: BTreeMap<u64, Difference> = BTreeMap::new();
        let keys: BTreeSet<&(u64, String)> = self.things.keys().chain(after.things.keys()).collect();
        for key in keys {
            let (then, now) = (self.things.get(key), after.things.get(key));
            if then == now {
                continue;
            }
            let nothing = String::from("(nothing)");
            let (then, now) = (then.unwrap_or(&nothing), now.unwrap_or(&nothing));
            let blank = Difference { case: key.0, text: String::new(), is_counter_alone: true };
            let difference = found.entry(key.0).or_insert(blank);
            difference.is_counter_alone &= without_counters(then) == without_counters(now);
            let _ = write!(difference.text, "{}\n{}", key.1, changed_lines(then, now));
        }
        found.into_values().collect()
    }

    /// Adds what was asked besides.
    pub(crate) fn add(&mut self, case: u64, name: String, text: &str) {
        let all = self.things.entry((case, name)).or_default();
        *all += text;
        all.push('\n');
    }

    /// Rows of information_schema, those of each table together.
    fn schema(&mut self, conn: &mut Conn, what: &str, query: &str) -> Result<()> {
        let rows: Vec<Row> = conn.query(query)?;
        let mut texts: Vec<(u64, String)> = Vec::new();
        for row in rows {
            let values = row.unwrap();
            let Some(Value::Bytes(schema)) = values.first() else { continue };
            if let Some(case) = case_of(&String::from_utf8_lossy(schema)) {
                texts.push((case, line(&values)));
            }
        }
        texts.sort_unstable();
        for (case, text) in texts {
            self.add(case, format!("information_schema.{what}"), &text);
        }
        Ok(())
    }

    fn database(&mut self, conn: &mut Conn, case: u64, database: &str) -> Result<()> {
        let quoted = quote(database);
        let text = shown(conn, &format!("SHOW CREATE DATABASE {quoted}"))?;
        self.add(case, "SHOW CREATE DATABASE".into(), &text);
        let tables: Vec<Vec<u8>> = conn.query(format!("SHOW TABLES FROM {quoted}"))?;
        for table in tables {
            let name = quote(&String::from_utf8_lossy(&table));
            let text = shown(conn, &format!("SHOW CREATE TABLE {quoted}.{name}"))?;
            self.add(case, format!("SHOW CREATE TABLE {name}"), &text);
            let columns: Vec<Row> = match conn.query(format!("SHOW COLUMNS FROM {name} FROM {quoted}")) {
                Ok(columns) => columns,
                // A view of what is not there any more.
                Err(mysql::Error::MySqlError(e)) => {
                    self.add(case, format!("columns of {name}"), &format!("error {}: {}", e.code, e.message));
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            let columns: Vec<(String, String)> = columns.into_iter().filter_map(name_and_extra).collect();
            let counting = columns.iter().find(|(_, extra)| extra.contains("auto_increment"));
            if let Some((column, _)) = counting {
                // Whatever a kill took back: the next value is none that a row has.
                let (schema, table) =
                    (text_literal(database), text_literal(&String::from_utf8_lossy(&table)));
                let text = shown(
                    conn,
                    &format!(
                        "SELECT (SELECT auto_increment FROM information_schema.tables WHERE table_schema = {schema} \
                         AND table_name = {table}) > (SELECT IFNULL(MAX({column}), 0) FROM {quoted}.{name})"
                    ),
                )?;
                self.add(case, format!("next value of {name} is new"), &text);
            }
            let columns = columns.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            let mut rows: Vec<String> =
                match conn.query::<Row, _>(format!("SELECT {columns} FROM {quoted}.{name}")) {
                    Ok(rows) => rows.into_iter().map(|row| line(&row.unwrap())).collect(),
                    Err(mysql::Error::MySqlError(e)) => vec![format!("error {}: {}", e.code, e.message)],
                    Err(e) => return Err(e.into()),
                };
            rows.sort_unstable();
            for row in rows {
                self.add(case, format!("rows of {name}"), &row);
            }
        }
        let routines: Vec<(String, String)> = conn.query(format!(
            "SELECT routine_type, routine_name FROM information_schema.routines WHERE routine_schema = {}",
            text_literal(database)
        ))?;
        for (kind, name) in routines {
            let name = quote(&name);
            let text = shown(conn, &format!("SHOW CREATE {kind} {quoted}.{name}"))?;
            self.add(case, format!("SHOW CREATE {kind} {name}"), &text);
        }
        let events: Vec<Row> = conn.query(format!("SHOW EVENTS FROM {quoted}"))?;
        for row in events {
            if let Some(Value::Bytes(name)) = row.unwrap().into_iter().nth(1) {
                let name = quote(&String::from_utf8_lossy(&name));
                let text = shown(conn, &format!("SHOW CREATE EVENT {quoted}.{name}"))?;
                self.add(case, format!("SHOW CREATE EVENT {name}"), &text);
            }
        }
        let triggers: Vec<Row> = conn.query(format!("SHOW TRIGGERS FROM {quoted}"))?;
        for row in triggers {
            if let Some(Value::Bytes(name)) = row.unwrap().into_iter().next() {
                let name = quote(&String::from_utf8_lossy(&name));
                let text = shown(conn, &format!("SHOW CREATE TRIGGER {quoted}.{name}"))?;
                self.add(case, format!("SHOW CREATE TRIGGER {name}"), &text);
            }
        }
        Ok(())
    }

    fn accounts(&mut self, conn: &mut Conn) -> Result<()> {
        let accounts: Vec<(Vec<u8>, Vec<u8>)> = conn.query("SELECT user, host FROM mysql.user")?;
        for (user, host) in accounts {
            let user = String::from_utf8_lossy(&user).into_owned();
            let Some(case) = case_of(&user) else { continue };
            let account = format!("{}@{}", quote(&user), quote(&String::from_utf8_lossy(&host)));
            let text = shown(conn, &format!("SHOW CREATE USER {account}"))?;
            self.add(case, format!("SHOW CREATE USER {account}"), &text);
            let text = shown(conn, &format!("SHOW GRANTS FOR {account}"))?;
            self.add(case, format!("SHOW GRANTS FOR {account}"), &text);
        }
        Ok(())
    }
}

/// The statements that remove what cases have made.
pub fn drop_all(server: &Running) -> Result<()> {
    let mut conn = connect(server)?;
    let databases: Vec<String> = conn.query("SHOW DATABASES")?;
    for database in databases.iter().filter(|name| case_of(name).is_some()) {
        conn.query_drop(format!("DROP DATABASE {}", quote(database)))?;
    }
    let accounts: Vec<(String, String)> = conn.query("SELECT user, host FROM mysql.user")?;
    for (user, host) in accounts.iter().filter(|(user, _)| case_of(user).is_some()) {
        conn.query_drop(format!("DROP USER {}@{}", quote(user), quote(host)))?;
    }
    Ok(())
}

/// The case that a database or an account is of.
fn case_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split_once('_')?.0.parse().ok()
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text_literal(text: &str) -> String {
    Value::from(text).as_sql(false)
}

/// A column's name in backquotes and its extras, of a row of SHOW COLUMNS.
fn name_and_extra(row: Row) -> Option<(String, String)> {
    let text = |value: &Value| match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    let values = row.unwrap();
    Some((quote(&text(values.first()?)?), text(values.last()?)?))
}

/// What SHOW answers, its rows one after the other; an error of the server as its text.
fn shown(conn: &mut Conn, statement: &str) -> Result<String> {
    match conn.query::<Row, _>(statement) {
        Ok(rows) => Ok(rows.into_iter().map(|row| line(&row.unwrap())).collect::<Vec<_>>().join("\n")),
        Err(mysql::Error::MySqlError(e)) => Ok(format!("error {}: {}", e.code, e.message)),
        Err(e) => Err(e.into()),
    }
}

/// Values as they came; bytes that are no UTF-8 in hexadecimal.
pub(crate) fn line(values: &[Value]) -> String {
    let texts = values.iter().map(|value| match value {
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("\u{2039}{text}\u{203a}"),
            Err(_) => bytes.iter().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02X}")),
        },
        other => other.as_sql(true),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// A text without next values of AUTO_INCREMENT: those of SHOW CREATE TABLE, and those that
/// [`SCHEMA_QUERIES`] mark.
fn without_counters(text: &str) -> String {
    [" AUTO_INCREMENT=", COUNTER].iter().fold(text.to_owned(), |text, mark| {
        let mut pieces = text.split(mark);
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |out, piece| out + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
    })
}

/// The lines that only one of them has.
fn changed_lines(before: &str, after: &str) -> String {
    const SHOWN: usize = 1500;
    let only = |some: &str, others: &str, sign: &str| -> String {
        let lines: Vec<&str> = others.lines().collect();
        let mine = some.lines().filter(|line| !lines.contains(line));
        mine.map(|line| format!("  {sign} {}\n", line.chars().take(SHOWN).collect::<String>())).collect()
    };
    only(before, after, "before:") + &only(after, before, "after: ")
}
