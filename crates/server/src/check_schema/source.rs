//! The definitions that a running server has, as `mysqldump --no-data` would write them.

use super::script::Statement;
use crate::log_tool::ToolError;
use crate::log_tool::remote::Remote;
use protocol::client::Client;
use std::sync::Arc;

/// Databases that belong to a server.
const SYSTEM: [&str; 5] = ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];

/// Lists objects of a database: a query for their names, what SHOW CREATE calls them, and which
/// column of its result has the text.
struct Objects {
    names: &'static str,
    what: &'static str,
    column: usize,
}

/// In the order of a dump: what others name comes first.
const OBJECTS: [Objects; 6] = [
    Objects {
        names: "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? \
                AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1",
        what: "TABLE",
        column: 1,
    },
    Objects {
        names: "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? \
                AND ROUTINE_TYPE = 'FUNCTION' ORDER BY 1",
        what: "FUNCTION",
        column: 2,
    },
    Objects {
        names: "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? \
                AND ROUTINE_TYPE = 'PROCEDURE' ORDER BY 1",
        what: "PROCEDURE",
        column: 2,
    },
    Objects {
        names: "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY 1",
        what: "VIEW",
        column: 1,
    },
    Objects {
        names: "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ? ORDER BY 1",
        what: "TRIGGER",
        column: 2,
    },
    Objects {
        names: "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ? ORDER BY 1",
        what: "EVENT",
        column: 3,
    },
];

/// A server's definitions, in statements whose source is the object's name.
pub(super) struct Source {
    remote: Remote,
    client: Client,
}

impl Source {
    pub(super) fn connect(remote: Remote) -> Result<Source, ToolError> {
        let client = remote.connect()?;
        let mut source = Source { remote, client };
        source.rows("SET NAMES utf8mb4")?;
        source.rows("SET SESSION sql_quote_show_create = 1")?;
        Ok(source)
    }

    /// The databases that are not the server's own.
    pub(super) fn databases(&mut self) -> Result<Vec<String>, ToolError> {
        let rows = self.rows("SHOW DATABASES")?;
        let names = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(names.filter(|name| !SYSTEM.iter().any(|own| name.eq_ignore_ascii_case(own))).collect())
    }

    /// Calls `each` with every definition of a database.
    ///
    /// # Errors
    ///
    /// The server can't be reached any more, or refuses what every account may ask. Objects whose
    /// definitions it does not show are handed to `hidden`, with the reason.
    pub(super) fn definitions(
        &mut self,
        database: &str,
        mut each: impl FnMut(&Statement),
        mut hidden: impl FnMut(String),
    ) -> Result<(), ToolError> {
        let mut statement = |source: &str, text: String| {
            each(&Statement { source: Arc::from(source), line: 1, text: text.into_bytes() });
        };
        let quoted = syntax::unparse::ident(database);
        let created = self.rows(&format!("SHOW CREATE DATABASE {quoted}"))?;
        if let Some(text) = cell(&created, 1) {
            statement(database, text);
        }
        statement(database, format!("USE {quoted}"));
        // Tables may refer to later ones, and functions be used before they are made.
        statement(database, "SET foreign_key_checks = 0".to_owned());
        let literal = format!("'{}'", database.replace('\\', "\\\\").replace('\'', "''"));
        for Objects { names, what, column } in &OBJECTS {
            let names = self.rows(&names.replace('?', &literal))?;
            for name in names.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
                let place = format!("{database}.{name}");
                let sql = format!("SHOW CREATE {what} {quoted}.{}", syntax::unparse::ident(&name));
                match self.rows(&sql).map(|rows| cell(&rows, *column)) {
                    Ok(Some(text)) => statement(&place, text),
                    Ok(None) => hidden(format!("{} {place}: the account may not", what.to_lowercase())),
                    Err(e) => hidden(format!("{} {place}: {e}", what.to_lowercase())),
                }
            }
        }
        Ok(())
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, ToolError> {
        let result = self.client.query(sql).map_err(|e| self.remote.refused(sql, &e))?;
        let text = |cell: Option<Vec<u8>>| cell.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(result.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
    }
}

fn cell(rows: &[Vec<Option<String>>], column: usize) -> Option<String> {
    rows.first()?.get(column)?.clone()
}
