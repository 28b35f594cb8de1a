//! A connection that runs the statements of the transactions, prepared or as text.

use crate::Result;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row, Statement, Value};
use std::collections::HashMap;
use std::path::PathBuf;

/// Where the server is and which database is used.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its Unix socket; TCP where there is none.
    pub socket: Option<PathBuf>,
    /// Its port on `host`.
    pub port: u16,
    /// Its name or address.
    pub host: String,
    /// Who logs in.
    pub user: String,
    /// With which password.
    pub password: String,
    /// The database of the tables.
    pub database: String,
}

impl Target {
    /// A server on this machine, by its socket, as root.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self { socket: Some(path.into()), ..Self::default() }
    }

    /// Connects, without choosing a database.
    pub fn connect(&self) -> Result<Conn> {
        let options = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(Some(&self.password))
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .socket(self.socket.as_ref().map(|s| s.to_string_lossy().into_owned()))
            .prefer_socket(false)
            // A session keeps its statements itself; the client's own cache would close the oldest.
            .stmt_cache_size(0);
        Ok(Conn::new(Opts::from(options))?)
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            socket: None,
            port: 3306,
            host: "127.0.0.1".into(),
            user: "root".into(),
            password: String::new(),
            database: "tpcc".into(),
        }
    }
}

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Prepared once, executed with parameters in the binary protocol.
    Prepared,
    /// As text with the values in it.
    Text,
}

/// A connection of a terminal.
#[derive(Debug)]
pub struct Session {
    conn: Conn,
    form: Form,
    /// By their text.
    prepared: HashMap<&'static str, Statement>,
}

impl Session {
    /// Connects to the target's database.
    pub fn open(target: &Target, form: Form) -> Result<Self> {
        let mut conn = target.connect()?;
        conn.query_drop(format!("USE {}", target.database))?;
        Ok(Self { conn, form, prepared: HashMap::new() })
    }

    /// Runs a statement with `?` for each value; its rows.
    pub fn rows(&mut self, sql: &'static str, values: Vec<Value>) -> mysql::Result<Vec<Row>> {
        match self.form {
            Form::Text => self.conn.query(with_values(sql, &values)),
            Form::Prepared => {
                let statement = self.statement(sql)?;
                self.conn.exec(statement, values)
            }
        }
    }

    /// Runs a statement that has one row or none.
    pub fn row(&mut self, sql: &'static str, values: Vec<Value>) -> mysql::Result<Option<Row>> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Runs a change; the number of rows it affected.
    pub fn change(&mut self, sql: &'static str, values: Vec<Value>) -> mysql::Result<u64> {
        match self.form {
            Form::Text => self.conn.query_drop(with_values(sql, &values))?,
            Form::Prepared => {
                let statement = self.statement(sql)?;
                self.conn.exec_drop(statement, values)?;
            }
        }
        Ok(self.conn.affected_rows())
    }

    /// Runs a statement without values or rows, such as COMMIT.
    pub fn command(&mut self, sql: &str) -> mysql::Result<()> {
        self.conn.query_drop(sql)
    }

    fn statement(&mut self, sql: &'static str) -> mysql::Result<Statement> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.conn.prep(sql)?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// The statement's text with each `?` replaced; none of the texts has one in a string.
fn with_values(sql: &str, values: &[Value]) -> String {
    let mut text = String::with_capacity(sql.len() + 16 * values.len());
    let mut values = values.iter();
    for piece in sql.split_inclusive('?') {
        text.push_str(piece.trim_end_matches('?'));
        if piece.ends_with('?') {
            text.push_str(&values.next().map_or_else(|| "?".into(), |v| v.as_sql(false)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_a_text() {
        let values = [Value::from(3), Value::from("it's"), Value::NULL];
        assert_eq!(
            with_values("SET a = ?, b = ? WHERE c <=> ?", &values),
            r"SET a = 3, b = 'it\'s' WHERE c <=> NULL"
        );
    }
}
