//! DDL statements become changes of the catalog.
//!
//! [`plan`] does nothing but look: at the statement, the catalog's state, and the session's
//! [`Settings`], which are those that a query event of the log carries. It is called for a client's
//! statement and again by replay (see C1 in [`super`]). Where the statement's text would not do the
//! same again (a password in clear, a key that was generated), the plan has another text for the
//! log.

mod absent;
pub(crate) mod alter;
mod event;
mod foreign_keys;
mod grant;
mod routine;
mod table;
mod trigger;
mod user;
pub(crate) mod view;

use std::sync::Arc;

use super::account::UserAtHost;
use super::auto_increment::Counter;
use super::build::{Environment, check_name};
use super::foreign_key::TableName;
use super::objects::CatalogState;
use super::record::Change;
use super::set_aside::{ObjectKind, SetAside};
use super::temporary::TemporaryTables;
use super::{ColumnDef, TableDef, ViewDef, check_not_system, database_or};
use crate::variables::sql_mode;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Collation};
use datum::value::temporal::{DateRules, SECOND};
use datum::value::zone::Zone;
use syntax::ast::{CreateTable, DatabaseOptions, ObjectName, Statement, StatementKind, TableDefinition};

/// What a session says that a DDL statement depends on.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The default database.
    pub database: Option<String>,
    pub(crate) sql_mode: u64,
    /// The character set of the statement's text ([`Charset::of_statements`]).
    pub client: Charset,
    /// `collation_connection`
    pub connection: Collation,
    /// `collation_server`
    pub server: Collation,
    /// The time zone.
    pub zone: Zone,
    /// The statement's moment: microseconds since 1970, UTC.
    pub moment: i64,
    /// Whose account it is done by.
    pub account: UserAtHost,
    /// `sql_generate_invisible_primary_key`. The log has the column that it makes.
    pub(crate) generates_key: bool,
    /// `sql_require_primary_key`
    pub requires_key: bool,
    /// `explicit_defaults_for_timestamp`
    pub(crate) explicit_timestamps: bool,
    /// Foreign keys must lead somewhere, and what they need may not be dropped.
    pub foreign_key_checks: bool,
    /// `restrict_fk_on_non_standard_key`: only a unique key can be referred to.
    pub restricts_foreign_keys: bool,
    /// `disabled_storage_engines`
    pub disabled_engines: Arc<str>,
    /// Another server's log has the statement: ALGORITHM and LOCK were about that server's work.
    pub(crate) is_replicated: bool,
    /// A client sends the statement; it is not one that the log has.
    pub(crate) from_client: bool,
    /// The session's temporary tables. What is logged never depends on them.
    pub(crate) temporary: TemporaryTables,
}

/// What a DDL statement does.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In order; empty if there is nothing to do.
    pub changes: Vec<Change>,
    /// Notes for the client: `IF EXISTS` of what does not exist.
    pub notes: Vec<SqlError>,
    /// Warnings for the client.
    pub warnings: Vec<SqlError>,
    /// The text for the log, if it isn't the statement's own.
    pub logged: Option<LoggedText>,
    /// Rows that the client is notified of.
    pub affected: u64,
    /// Tables that it does not change, but whose rows mean something else from then on.
    pub related: Vec<Arc<TableDef>>,
}

/// A statement's text for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedText {
    pub(crate) sql: Vec<u8>,
    /// How it is to be read.
    pub form: TextForm,
}

/// With which settings a statement's text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    /// With those of the session that sent it.
    Session,
    /// The same; it has the body of a stored program, which is kept as it is.
    Program,
    /// The server has written it: in UTF-8, for a `sql_mode` without [`sql_mode::SYNTAX`], whatever
    /// the session's are.
    Canonical,
    /// The same, but that its strings are of the session's `collation_connection`, which a view
    /// keeps.
    CanonicalQuery,
}

impl LoggedText {
    /// A text that the server has written.
    pub(crate) fn canonical(sql: Vec<u8>) -> Self {
        LoggedText { sql, form: TextForm::Canonical }
    }
}

impl Plan {
    fn one(change: Change) -> Self {
        Plan { changes: vec![change], ..Plan::default() }
    }

    fn nothing(note: SqlError) -> Self {
        Plan { notes: vec![note], ..Plan::default() }
    }

    /// Tables that it changes, drops or gives another meaning, for their locks; a session's own
    /// need none.
    pub(crate) fn tables(&self) -> Vec<Arc<TableDef>> {
        let of = |change: &Change| match change {
            Change::DropTable(table) | Change::AlterTable(table, ..) if !table.is_temporary() => {
                Some(table.clone())
            }
            _ => None,
        };
        let mut tables: Vec<Arc<TableDef>> = Vec::new();
        for table in self.changes.iter().filter_map(of).chain(self.related.iter().cloned()) {
            // One that gets its second new name is the same table.
            if !tables.iter().any(|other| Arc::ptr_eq(&other.lock, &table.lock)) {
                tables.push(table);
            }
        }
        tables
    }
}

impl Plan {
    /// Views that it makes, replaces or drops, for their locks.
    pub(crate) fn views(&self) -> Vec<Arc<ViewDef>> {
        let of = |change: &Change| match change {
            Change::PutView(view) | Change::DropView(view) => Some(view.clone()),
            _ => None,
        };
        self.changes.iter().filter_map(of).collect()
    }
}

/// Makes what an authentication plugin keeps of a password: plugin, password.
pub(crate) type PasswordHasher<'a> = &'a dyn Fn(&str, &[u8]) -> Result<Vec<u8>>;

/// During replay no password is met: the log has what the plugin keeps.
pub(crate) fn no_passwords(_: &str, _: &[u8]) -> Result<Vec<u8>> {
    Err(SqlError::internal("a password in the binary log"))
}

/// A CREATE TABLE .. SELECT whose query has these columns. The text for the log is that of the
/// table, without query. `auto_increment` is the AUTO_INCREMENT value after the query's rows, if
/// these don't tell it: rows that IGNORE or REPLACE left out have taken numbers, and nothing else
/// in the log says so.
pub(crate) fn create_selecting(
    create: &CreateTable,
    selected: &[ColumnDef],
    auto_increment: Option<u64>,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let mut plan = table::create(create, selected, state, settings)?;
    if let Some(Change::PutTable(table, _)) = plan.changes.first_mut() {
        if let Some(next) = auto_increment {
            let table = Arc::make_mut(table);
            table.auto_start = next;
            table.counter = Arc::new(Counter::new(next));
        }
        let mut text = table::qualified_text(table, settings);
        text.extend_from_slice(b" START TRANSACTION");
        plan.logged = Some(LoggedText::canonical(text));
    }
    Ok(plan)
}

/// True if a CREATE TABLE has nothing to do; error 1050 without IF NOT EXISTS, and those of names.
pub(crate) fn is_there(create: &CreateTable, state: &CatalogState, settings: &Settings) -> Result<bool> {
    Ok(table::existing_note(create, state, settings)?.is_some())
}

/// What `statement` does to `state`. `text` is the text that its spans point into.
pub(crate) fn plan(
    statement: &Statement,
    text: &[u8],
    state: &CatalogState,
    settings: &Settings,
    hasher: PasswordHasher<'_>,
) -> Result<Plan> {
    use StatementKind as S;
    match &statement.kind {
        S::CreateDatabase(create) => {
            create_database(&create.name, create.if_not_exists, &create.options, state, settings)
        }
        S::AlterDatabase { name, options } => {
            let name = database_or(name.as_deref(), settings.database.as_deref())?;
            alter_database(name, options, state)
        }
        S::DropDatabase { name, if_exists } => drop_database(name, *if_exists, state, settings),
        S::CreateTable(create) => table::create(create, &[], state, settings),
        S::DropTable(drop) => table::drop(drop, state, settings),
        S::TruncateTable(name) => table::truncate(name, state, settings),
        S::RenameTable(pairs) => table::rename(pairs, state, settings),
        S::CreateRoutine(create) => routine::create(create, text, state, settings),
        S::DropRoutine { kind, name, if_exists } => routine::drop(*kind, name, *if_exists, state, settings),
        S::AlterRoutine { kind, name, characteristics } => {
            routine::alter(*kind, name, characteristics, state, settings)
        }
        S::CreateUser(create) => user::create(create, state, settings, hasher),
        S::AlterUser(alter) => user::alter(alter, state, settings, hasher),
        S::DropUser { names, if_exists } => user::drop(names, *if_exists, state, settings),
        S::RenameUser(pairs) => user::rename(pairs, state, settings),
        S::Grant(grant) => grant::grant(grant, state, settings),
        S::Revoke(revoke) => grant::revoke(revoke, state, settings),
        S::CreateView(create) => view::create(create, state, settings),
        S::DropView { names, if_exists } => view::drop(names, *if_exists, state, settings),
        S::CreateTrigger(create) => trigger::create(create, text, state, settings),
        S::DropTrigger { name, if_exists } => trigger::drop(name, *if_exists, state, settings),
        S::CreateEvent(create) => event::create(create, text, state, settings),
        S::AlterEvent(alter) => event::alter(alter, text, state, settings),
        S::DropEvent { name, if_exists } => event::drop(name, *if_exists, state, settings),
        S::DropServer { name, if_exists } => absent::drop_server(name, *if_exists),
        S::DropRole { names, if_exists } => user::drop_roles(names, *if_exists, state, settings),
        _ => Err(SqlError::internal("a statement that is no DDL")),
    }
}

/// What RENAME TABLE waits for: the tables that have one of its names now, the new ones too, and
/// those whose foreign keys refer to one.
/// Whether these are free is asked once nobody else can change that, for they may become so while
/// it waits.
pub(crate) fn tables_to_rename(
    pairs: &[(ObjectName, ObjectName)],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Vec<Arc<TableDef>>> {
    let mut tables: Vec<Arc<TableDef>> = Vec::new();
    for name in pairs.iter().flat_map(|(from, to)| [from, to]) {
        let (database, name) = settings.object(name)?;
        tables.extend(state.table(database, name).cloned());
        let name = TableName { database: database.to_owned(), name: name.to_owned() };
        let children = state.referenced_by(&name);
        tables.extend(children.iter().filter_map(|c| state.table(&c.database, &c.name).cloned()));
    }
    tables.sort_by_key(|table| Arc::as_ptr(&table.lock).addr());
    tables.dedup_by(|a, b| Arc::ptr_eq(&a.lock, &b.lock));
    Ok(tables)
}

/// The table that a definition makes: to be looked at, not to be made.
pub(crate) fn provisional(
    name: &ObjectName,
    definition: &TableDefinition,
    state: &CatalogState,
    settings: &Settings,
) -> Result<TableDef> {
    table::provisional(name, definition, state, settings)
}

/// A table as the session sees it; errors 1046, 1049 and 1146.
pub(crate) fn existing_table(
    name: &ObjectName,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Arc<TableDef>> {
    let (database, name) = settings.object(name)?;
    settings.existing(state, database, name)
}

impl Settings {
    fn object<'a>(&'a self, name: &'a ObjectName) -> Result<(&'a str, &'a str)> {
        Ok((database_or(name.database.as_deref(), self.database.as_deref())?, &name.name))
    }

    /// A table as the session sees it; errors 1049 and 1146.
    fn existing(&self, state: &CatalogState, database: &str, name: &str) -> Result<Arc<TableDef>> {
        match self.temporary.get(database, name) {
            Some(table) => Ok(table.clone()),
            None => table::existing(state, database, name),
        }
    }

    /// What [`TableDef::created`] becomes: the statement's moment, as its event has it.
    fn created(&self) -> Option<u32> {
        Some((self.moment / SECOND) as u32).filter(|&seconds| seconds > 0)
    }

    /// Which incomplete dates the sql_mode allows.
    pub(crate) fn dates(&self) -> DateRules {
        let has = |bit| self.sql_mode & bit != 0;
        DateRules {
            no_zero_in_date: has(sql_mode::NO_ZERO_IN_DATE),
            no_zero_date: has(sql_mode::NO_ZERO_DATE),
            allow_invalid: has(sql_mode::ALLOW_INVALID_DATES),
        }
    }

    /// True if the sql_mode is strict.
    pub(crate) fn is_strict(&self) -> bool {
        self.sql_mode & (sql_mode::STRICT_ALL_TABLES | sql_mode::STRICT_TRANS_TABLES) != 0
    }

    fn environment(&self, database: Collation) -> Environment {
        Environment {
            collation: database,
            charset: self.client,
            connection: self.connection.charset(),
            dates: self.dates(),
            truncate_fraction: self.sql_mode & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0,
            zone: self.zone,
            shows_generated_key: self.generates_key,
            strict: self.is_strict(),
            explicit_timestamps: self.explicit_timestamps,
            from_client: self.from_client,
        }
    }
}

fn collation_of(options: &DatabaseOptions, default: Collation) -> Result<Collation> {
    if options.encryption.as_ref().is_some_and(|e| e.eq_ignore_ascii_case(b"Y")) {
        return Err(SqlError::unsupported("encryption"));
    }
    if options.read_only == Some(true) {
        return Err(SqlError::unsupported("READ ONLY databases"));
    }
    let words = syntax::ast::Charset {
        charset: options.charset.clone(),
        collation: options.collation.clone(),
        binary: false,
    };
    datum::types::resolve_collation(&words, default)
}

fn create_database(
    name: &str,
    if_not_exists: bool,
    options: &DatabaseOptions,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    check_name(name, error::WRONG_DB_NAME)?;
    // `mysql` and `sys` are there, and dumps of all databases say so.
    let is_dumped = ["mysql", "sys"].iter().any(|schema| name.eq_ignore_ascii_case(schema));
    let is_there = is_dumped || state.databases.contains_key(name);
    if !is_there {
        check_not_system(name)?;
    }
    let collation = collation_of(options, settings.server)?;
    if is_there {
        let e = error::DB_CREATE_EXISTS.with(&[&name]);
        return if if_not_exists { Ok(Plan { affected: 1, ..Plan::nothing(e) }) } else { Err(e) };
    }
    Ok(Plan { affected: 1, ..Plan::one(Change::PutDatabase(name.to_owned(), collation)) })
}

fn alter_database(name: &str, options: &DatabaseOptions, state: &CatalogState) -> Result<Plan> {
    let database = state.database(name).ok_or_else(|| error::BAD_DB_ERROR.with(&[&name]))?;
    let collation = collation_of(options, database.collation)?;
    Ok(Plan { affected: 1, ..Plan::one(Change::PutDatabase(name.to_owned(), collation)) })
}

fn drop_database(name: &str, if_exists: bool, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    check_not_system(name)?;
    let Some(database) = state.database(name) else {
        let e = error::DB_DROP_EXISTS.with(&[&name]);
        return if if_exists { Ok(Plan::nothing(e)) } else { Err(e) };
    };
    let dropped: Vec<&Arc<TableDef>> = database.tables.values().collect();
    foreign_keys::check_drops(&dropped, state, settings)?;
    let tables = database.tables.values().map(|t| Change::DropTable(t.clone()));
    let routines = database.functions.values().chain(database.procedures.values());
    let functions = routines.map(|f| Change::DropRoutine(f.kind, name.to_owned(), f.name.clone()));
    let views = database.views.values().map(|view| Change::DropView(view.clone()));
    let events = database.events.values().map(|e| Change::DropEvent(name.to_owned(), e.name.clone()));
    let of_database = |o: &&SetAside| o.key.kind != ObjectKind::User && o.key.database == name;
    let aside = state.set_aside.values().filter(of_database).cloned().map(Change::DropSetAside);
    let mut changes: Vec<Change> = tables.chain(functions).chain(views).chain(events).chain(aside).collect();
    changes.push(Change::DropDatabase(name.to_owned()));
    Ok(Plan { changes, affected: (database.tables.len() + database.views.len()) as u64, ..Plan::default() })
}
