//! The definitions that a running server has, as `mysqldump --no-data` would write them.

use super::{Remote, RemoteSession, Runs, text};
use crate::log_tool::ToolError;
use protocol::client::Row;
use std::borrow::Cow;
use syntax::ast::{Statement, StatementKind, TableContent};
use syntax::parser::{ParseOptions, parse};
use syntax::{ParseError, sql_mode, unparse};

/// Databases that belong to a server.
const SYSTEM: [&str; 5] = ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];

/// What a definition makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Database,
    Table,
    Function,
    Procedure,
    View,
    Trigger,
    Event,
}

impl ObjectKind {
    /// As statements name it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Database => "DATABASE",
            Self::Table => "TABLE",
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
            Self::View => "VIEW",
            Self::Trigger => "TRIGGER",
            Self::Event => "EVENT",
        }
    }
}

/// An object of a server.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) kind: ObjectKind,
    pub(crate) database: String,
    /// That of the database for a database.
    pub(crate) name: String,
    /// The statement that makes it.
    pub(crate) text: String,
    /// Variables of the session that made it, which belong to it: name and value.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Definition {
    /// The same with constants as defaults of a MariaDB's TEXT columns in parentheses, as its
    /// replica takes them.
    pub(crate) fn with_expression_defaults(self) -> Self {
        if self.kind != ObjectKind::Table {
            return self;
        }
        match sql::replica::with_expression_defaults(self.text.as_bytes(), 0) {
            Some(text) => Self { text: String::from_utf8_lossy(&text).into_owned(), ..self },
            None => self,
        }
    }

    /// False for a statement that does something else than to make the object: it is run here, by
    /// an account that may do everything. What is no statement at all is refused where it is run.
    fn makes_its_object(&self) -> bool {
        let Ok(statement) = self.parsed() else { return true };
        use StatementKind as S;
        match (statement.map(|statement| statement.kind), self.kind) {
            (Some(S::CreateDatabase(_)), ObjectKind::Database)
            | (Some(S::CreateView(_)), ObjectKind::View)
            | (Some(S::CreateTrigger(_)), ObjectKind::Trigger)
            | (Some(S::CreateEvent(_)), ObjectKind::Event) => true,
            (Some(S::CreateRoutine(routine)), kind) => routine.kind.name() == kind.word(),
            (Some(S::CreateTable(create)), ObjectKind::Table) => match &create.content {
                TableContent::Definition(definition) => definition.query.is_none() && !create.temporary,
                TableContent::Like(_) => false,
            },
            _ => false,
        }
    }

    /// Its text; that of an event makes one that does not run as long as this server follows its
    /// source, as where an event comes by the source's log.
    pub(crate) fn text_for_replica(&self) -> Cow<'_, str> {
        let Ok(Some(Statement { kind: StatementKind::CreateEvent(create), .. })) = self.parsed() else {
            return Cow::Borrowed(&self.text);
        };
        let status = create.options.status_span.range();
        let (before, after) = (&self.text[..status.start], &self.text[status.end..]);
        Cow::Owned(format!("{before} DISABLE ON REPLICA {after}"))
    }

    fn parsed(&self) -> Result<Option<Statement>, ParseError> {
        let mode = self.settings.iter().find(|(name, _)| *name == "sql_mode");
        let words = mode.map_or("", |(_, words)| words).split(',');
        let sql_mode = words.filter_map(sql_mode::expand).fold(0, |all, word| all | word);
        parse(self.text.as_bytes(), &ParseOptions { sql_mode, ..ParseOptions::default() })
    }

    /// Its name for people.
    pub(crate) fn place(&self) -> String {
        match self.kind {
            ObjectKind::Database => self.database.clone(),
            _ => format!("{}.{}", self.database, self.name),
        }
    }
}

/// Lists objects of a database: a query for their names, and which columns of the result of SHOW
/// CREATE have the text and the settings.
struct Objects {
    kind: ObjectKind,
    names: &'static str,
    text: usize,
    settings: &'static [(usize, &'static str)],
}

const OF_ROUTINES: &[(usize, &str)] =
    &[(1, "sql_mode"), (3, "character_set_client"), (4, "collation_connection")];

/// In the order of a dump: what others name comes first.
const OBJECTS: [Objects; 6] = [
    Objects {
        kind: ObjectKind::Table,
        names: "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? \
                AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1",
        text: 1,
        settings: &[],
    },
    Objects {
        kind: ObjectKind::Function,
        names: "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? \
                AND ROUTINE_TYPE = 'FUNCTION' ORDER BY 1",
        text: 2,
        settings: OF_ROUTINES,
    },
    Objects {
        kind: ObjectKind::Procedure,
        names: "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? \
                AND ROUTINE_TYPE = 'PROCEDURE' ORDER BY 1",
        text: 2,
        settings: OF_ROUTINES,
    },
    Objects {
        kind: ObjectKind::View,
        names: "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? ORDER BY 1",
        text: 1,
        settings: &[(2, "character_set_client"), (3, "collation_connection")],
    },
    Objects {
        kind: ObjectKind::Trigger,
        names: "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ? \
                ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER",
        text: 2,
        settings: OF_ROUTINES,
    },
    Objects {
        kind: ObjectKind::Event,
        names: "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ? ORDER BY 1",
        text: 3,
        settings: &[
            (1, "sql_mode"),
            (2, "time_zone"),
            (4, "character_set_client"),
            (5, "collation_connection"),
        ],
    },
];

/// A server that is asked for its definitions.
pub(crate) struct Definitions {
    session: RemoteSession,
}

impl Definitions {
    /// Logs in.
    ///
    /// # Errors
    /// As [`Remote::connect`].
    pub(crate) fn connect(remote: &Remote) -> Result<Self, ToolError> {
        let mut session = remote.session()?;
        session.rows("SET SESSION sql_quote_show_create = 1")?;
        Ok(Self { session })
    }

    /// The databases that are not the server's own.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn databases(&mut self) -> Result<Vec<String>, ToolError> {
        databases(&mut self.session)
    }

    /// Calls `each` with every definition of some databases: the databases first, then their
    /// tables, and each view behind those that it names.
    ///
    /// # Errors
    /// The server can't be reached any more, or refuses what every account may ask. Objects whose
    /// definitions it does not show are handed to `hidden`, with the reason. Those of `each`.
    pub(crate) fn of(
        &mut self,
        databases: &[String],
        mut each: impl FnMut(Definition) -> Result<(), ToolError>,
        mut hidden: impl FnMut(String),
    ) -> Result<(), ToolError> {
        for database in databases {
            let sql = format!("SHOW CREATE DATABASE {}", unparse::ident(database));
            let [_, created] = self.session.first(&sql)?;
            let definition = Definition {
                kind: ObjectKind::Database,
                database: database.clone(),
                name: database.clone(),
                text: created.unwrap_or_default(),
                settings: Vec::new(),
            };
            each(self.checked(definition, &sql)?)?;
        }
        for objects in &OBJECTS {
            let mut found = Vec::new();
            for database in databases {
                self.objects(objects, database, &mut found, &mut hidden)?;
            }
            if objects.kind == ObjectKind::View {
                found = in_order(found);
            }
            found.into_iter().try_for_each(&mut each)?;
        }
        Ok(())
    }

    /// An answer to SHOW CREATE, if it is one.
    fn checked(&self, definition: Definition, sql: &str) -> Result<Definition, ToolError> {
        match definition.makes_its_object() {
            true => Ok(definition),
            false => Err(ToolError::Refused(format!(
                "{}: {sql} is answered by another statement",
                self.session.remote().server()
            ))),
        }
    }

    fn objects(
        &mut self,
        objects: &Objects,
        database: &str,
        found: &mut Vec<Definition>,
        hidden: &mut dyn FnMut(String),
    ) -> Result<(), ToolError> {
        let what = objects.kind.word();
        let literal = string_literal(database);
        for name in names(&mut self.session, &objects.names.replace('?', &literal))? {
            let sql = format!("SHOW CREATE {what} {}.{}", unparse::ident(database), unparse::ident(&name));
            let place = format!("{} {database}.{name}", what.to_lowercase());
            let row = match self.session.rows(&sql) {
                Ok(rows) => rows.into_iter().next().unwrap_or_default(),
                Err(e) => {
                    hidden(format!("{place}: {e}"));
                    continue;
                }
            };
            match definition(objects, database, name, &row) {
                Some(definition) => found.push(self.checked(definition, &sql)?),
                None => hidden(format!("{place}: the account may not")),
            }
        }
        Ok(())
    }
}

/// Views behind those that they name; those that name each other in a circle come last.
fn in_order(views: Vec<Definition>) -> Vec<Definition> {
    let name =
        |view: &Definition| format!("{}.{}", unparse::ident(&view.database), unparse::ident(&view.name));
    let names: Vec<String> = views.iter().map(name).collect();
    let mut waiting: Vec<(usize, Definition)> = views.into_iter().enumerate().collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    loop {
        let left: Vec<usize> = waiting.iter().map(|(at, _)| *at).collect();
        let needs = |(at, view): &(usize, Definition)| {
            left.iter().any(|other| other != at && view.text.contains(&names[*other]))
        };
        let (later, next): (Vec<_>, Vec<_>) = waiting.into_iter().partition(needs);
        if next.is_empty() {
            ordered.extend(later.into_iter().map(|(_, view)| view));
            return ordered;
        }
        ordered.extend(next.into_iter().map(|(_, view)| view));
        waiting = later;
    }
}

/// The databases of a server that are not its own.
///
/// # Errors
/// The server's.
pub(crate) fn databases(server: &mut dyn Runs) -> Result<Vec<String>, ToolError> {
    let is_own = |name: &String| SYSTEM.iter().any(|own| name.eq_ignore_ascii_case(own));
    Ok(names(server, "SHOW DATABASES")?.into_iter().filter(|name| !is_own(name)).collect())
}

fn names(server: &mut dyn Runs, sql: &str) -> Result<Vec<String>, ToolError> {
    let rows = server.rows(sql)?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten().map(text)).collect())
}

/// `None` if the server keeps the text from this account.
fn definition(objects: &Objects, database: &str, name: String, row: &Row) -> Option<Definition> {
    let cell = |column: usize| row.get(column)?.clone().map(text);
    Some(Definition {
        kind: objects.kind,
        database: database.to_owned(),
        name,
        text: cell(objects.text)?,
        settings: objects.settings.iter().filter_map(|&(column, name)| Some((name, cell(column)?))).collect(),
    })
}

/// A text as a literal, whatever `sql_mode` says of backslashes.
pub(crate) fn string_literal(text: &str) -> String {
    match text.contains('\\') {
        false => format!("'{}'", text.replace('\'', "''")),
        true => format!("_utf8mb4 0x{}", hex(text.as_bytes())),
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_else_is_no_definition() {
        let makes = |kind, text: &str| {
            let settings = vec![("sql_mode", "ANSI_QUOTES".to_owned())];
            let (database, name) = ("d".to_owned(), "o".to_owned());
            Definition { kind, database, name, text: text.to_owned(), settings }.makes_its_object()
        };
        assert!(makes(ObjectKind::Database, "CREATE DATABASE `d` /*!40100 DEFAULT CHARACTER SET latin1 */"));
        assert!(makes(ObjectKind::Table, "CREATE TABLE `o` (a INT)"));
        assert!(makes(ObjectKind::Procedure, "CREATE PROCEDURE \"o\"() SELECT 1"));
        assert!(makes(ObjectKind::Table, "what can't be read is refused where it is run"));
        for text in [
            "SHUTDOWN",
            "CREATE USER u",
            "CREATE TABLE o AS SELECT LOAD_FILE('f')",
            "CREATE TABLE o LIKE mysql.user",
            "CREATE TEMPORARY TABLE o (a INT)",
            "SELECT 1 INTO OUTFILE 'f'",
        ] {
            assert!(!makes(ObjectKind::Table, text) && !makes(ObjectKind::Database, text), "{text}");
        }
        assert!(!makes(ObjectKind::Function, "CREATE PROCEDURE o() SELECT 1"));
    }

    #[test]
    fn views_come_behind_those_that_they_name() {
        let view = |name: &str, text: &str| Definition {
            kind: ObjectKind::View,
            database: "d".to_owned(),
            name: name.to_owned(),
            text: format!("CREATE VIEW `d`.`{name}` AS select * from {text}"),
            settings: Vec::new(),
        };
        let order = |views| in_order(views).into_iter().map(|view| view.name).collect::<Vec<_>>();
        assert_eq!(
            order(vec![view("a", "`d`.`b`"), view("b", "`d`.`c`"), view("c", "`d`.`t`")]),
            ["c", "b", "a"]
        );
        assert_eq!(
            order(vec![view("a", "`d`.`b`"), view("b", "`d`.`a`"), view("c", "`e`.`a`")]),
            ["c", "a", "b"]
        );
        assert!(order(Vec::new()).is_empty());
    }
}
