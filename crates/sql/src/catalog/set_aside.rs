//! Objects that are set aside: the server runs without them rather than not at all
//! (R1 of ARCHITECTURE.md), and keeps all that a repair of them needs (R2 of ARCHITECTURE.md).
//!
//! A start sets a table, view, function or account aside when it can't read its record, or can't
//! replay what the log has of it. From then on
//!
//! - statements that name it fail with error 1812, which says why; `DROP` alone still works, and
//!   ends the matter;
//! - lists of tables show it, so that a dump fails rather than leave it out;
//! - row events of it are skipped by replay, so its rows are those of before: [`SetAside::since`]
//!   says from where on;
//! - no log file is purged, no unknown tree is dropped, and no name is given twice: what is needed
//!   to bring it back stays.
//!
//! What replay sets aside is noted in a record of its own (`x`), for the next start begins after
//! that place.

use binlog::LogPosition;
use storage::TreeId;

use super::account::UserAtHost;
use super::objects::CatalogState;
use datum::error::{self, Result, SqlError};
use syntax::ast::RoutineKind;

/// What kind of object it is: the first byte of its record's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    /// An SQL table and all of its trees.
    Table = b't' as isize,
    /// A stored function.
    Function = b'f' as isize,
    /// A stored procedure.
    Procedure = b'p' as isize,
    Event = b'e' as isize,
    /// An account.
    User = b'u' as isize,
    View = b'w' as isize,
}

/// Names one object: kind; database or user; name (a function's in lower case) or host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    pub(crate) kind: ObjectKind,
    /// Its database; an account's user.
    pub database: String,
    /// Its name, a function's in lower case; an account's host.
    pub name: String,
}

/// An object that is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Which.
    pub key: ObjectKey,
    /// Why, for people.
    pub reason: String,
    /// The end of the first event group that was not applied to it; zero if its record can't be
    /// read.
    pub since: LogPosition,
    /// Its trees, as far as its record says.
    pub trees: Option<Vec<TreeId>>,
}

impl ObjectKind {
    /// The kind whose records' keys begin with this byte.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        use ObjectKind as K;
        [K::Table, K::Function, K::Procedure, K::Event, K::User, K::View]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }

    /// The first byte of its records' keys.
    pub(crate) fn byte(self) -> u8 {
        self as u8
    }
}

impl ObjectKey {
    pub(crate) fn table(database: &str, name: &str) -> Self {
        Self { kind: ObjectKind::Table, database: database.to_owned(), name: name.to_owned() }
    }

    /// A function's, its name in any case.
    pub(crate) fn function(database: &str, name: &str) -> Self {
        Self { kind: ObjectKind::Function, database: database.to_owned(), name: name.to_lowercase() }
    }

    /// A function's or procedure's, its name in any case.
    pub(crate) fn routine(kind: RoutineKind, database: &str, name: &str) -> Self {
        let kind = match kind {
            RoutineKind::Function => ObjectKind::Function,
            RoutineKind::Procedure => ObjectKind::Procedure,
        };
        Self { kind, database: database.to_owned(), name: name.to_lowercase() }
    }

    /// An event's, its name in any case.
    pub(crate) fn event(database: &str, name: &str) -> Self {
        Self { kind: ObjectKind::Event, database: database.to_owned(), name: name.to_lowercase() }
    }

    pub(crate) fn view(database: &str, name: &str) -> Self {
        Self { kind: ObjectKind::View, database: database.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn is_view(&self) -> bool {
        self.kind == ObjectKind::View
    }

    /// An account's.
    pub fn user(user: &str, host: &str) -> Self {
        Self { kind: ObjectKind::User, database: user.to_owned(), name: host.to_owned() }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (database, name) = (&self.database, &self.name);
        match self.kind {
            ObjectKind::Table => write!(f, "table {database}.{name}"),
            ObjectKind::Function => write!(f, "function {database}.{name}"),
            ObjectKind::Procedure => write!(f, "procedure {database}.{name}"),
            ObjectKind::Event => write!(f, "event {database}.{name}"),
            ObjectKind::View => write!(f, "view {database}.{name}"),
            ObjectKind::User => write!(f, "account '{database}'@'{name}'"),
        }
    }
}

impl SetAside {
    /// Error 1812.
    pub fn error(&self) -> SqlError {
        let what = format!("{}, which was set aside at a start: {}", self.key, self.reason);
        let mut error = error::TABLESPACE_MISSING.with(&[&what]);
        if self.key.kind != ObjectKind::Table {
            error.message = format!("The definition is missing for {what}");
        }
        error
    }
}

impl CatalogState {
    /// An object that is set aside.
    pub(crate) fn set_aside(&self, key: &ObjectKey) -> Option<&SetAside> {
        if self.set_aside.is_empty() { None } else { self.set_aside.get(key) }
    }

    /// Error 1812 if the name is that of an object that is set aside.
    pub(crate) fn check_usable(&self, key: &ObjectKey) -> Result<()> {
        self.set_aside(key).map_or(Ok(()), |object| Err(object.error()))
    }

    /// A table or view that is set aside.
    pub(crate) fn table_set_aside(&self, database: &str, name: &str) -> Option<&SetAside> {
        let table = self.set_aside(&ObjectKey::table(database, name));
        table.or_else(|| self.set_aside(&ObjectKey::view(database, name)))
    }

    /// The names of a database's tables and views that are set aside.
    pub(crate) fn tables_set_aside<'a>(&'a self, database: &'a str) -> impl Iterator<Item = &'a SetAside> {
        let is_it = move |key: &ObjectKey| {
            matches!(key.kind, ObjectKind::Table | ObjectKind::View) && key.database == database
        };
        self.set_aside.values().filter(move |object| is_it(&object.key))
    }

    /// Takes an object out of use.
    pub(crate) fn put_aside(&mut self, object: SetAside) {
        let ObjectKey { kind, database, name } = &object.key;
        match kind {
            ObjectKind::Table => self.remove_table(database, name),
            ObjectKind::Function => {
                drop(self.databases.get_mut(database).and_then(|d| d.functions.remove(name)));
            }
            ObjectKind::Procedure => {
                drop(self.databases.get_mut(database).and_then(|d| d.procedures.remove(name)));
            }
            ObjectKind::Event => {
                drop(self.databases.get_mut(database).and_then(|d| d.events.remove(name)));
            }
            ObjectKind::View => self.remove_view(database, name),
            ObjectKind::User => drop(self.users.remove(&UserAtHost::new(&**database, &**name))),
        }
        self.set_aside.insert(object.key.clone(), object);
    }
}
