//! The catalog: databases, tables, views, stored functions and users.
//!
//! It lives twice: as records in a tree of the store ([`record`]), and in memory as a
//! [`CatalogState`], which statements read. A DDL statement becomes a list of [`Change`]s
//! ([`ddl::plan`]), which are written to a batch and made in memory.
//!
//! 1. plan     From the statement, the state, and what the session says: names checked, numbers
//!    given.
//! 2. check    Records and event are read back, and must come to the same definitions
//!    ([`read_back`]).
//! 3. commit   The engine logs the statement's text and applies the batch at its position. DDL is
//!    atomic: both or none.
//! 4. publish  The changes are made in memory; statements from now on see them.
//!
//! At a start the records are read as of the store's checkpoint, and the DDL statements after it
//! are planned and applied again, in their places among the row events ([`Replay`]).
//!
//! (C1) What a DDL statement does is a function of its logged text and settings and of the state
//!      before it, numbers included; so replay gives each table and tree the number that it had,
//!      but for trees that it builds.
//! (C2) One DDL statement at a time, from plan to publish.
//! (C3) A definition that a transaction uses is not changed before it ends ([`metadata_lock`]).
//! (C4) A statement that names trees built for it is logged only once a checkpoint has these trees
//!      and, in its notes, says whose they are: replay finds them there, with the values that
//!      clients have seen. Where the notes name no trees, or not those of this statement (the store
//!      is older than the statement: a copy of a running server, a recovery to a point), replay
//!      builds them from the rows as of the statement's place in the log.

pub(crate) mod account;
pub(crate) mod auto_increment;
pub mod build;
pub(crate) mod change_times;
pub(crate) mod collations;
pub(crate) mod computed;
pub(crate) mod ddl;
pub(crate) mod deprecated;
pub(crate) mod draft;
pub(crate) mod engine_name;
pub(crate) mod event;
pub(crate) mod foreign_key;
pub(crate) mod metadata_lock;
mod new_definitions;
pub(crate) mod objects;
pub(crate) mod read_back;
pub mod record;
mod replay;
pub(crate) mod set_aside;
pub mod show;
pub(crate) mod statistics;
pub(crate) mod table;
mod table_map;
pub(crate) mod temporary;
pub(crate) mod trigger;
pub(crate) mod view;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use binlog::LogPosition;
use parking_lot::{Mutex, MutexGuard, RwLock};
use storage::TreeId;

pub use account::{UserAtHost, UserDef};
pub use objects::{CatalogState, RoutineDef};
pub use record::{CatalogError, Change};
pub use replay::{FollowError, Rehearsal};
pub(crate) use replay::{Replay, settings_of};
pub use set_aside::{ObjectKey, SetAside};
pub use table::{ColumnDef, IndexDef, TableDef};
pub(crate) use view::ViewDef;

use self::auto_increment::Counter;
use crate::system_schemas;
use datum::bounds::parse_options;
use datum::error::{self, Result, SqlError};
use syntax::ast::{RoutineKind, Statement};
use syntax::parser::parse;

/// The catalog in memory.
#[derive(Default)]
pub struct Catalog {
    state: RwLock<Arc<CatalogState>>,
    /// Held by the DDL statement that runs (C2).
    ddl: Mutex<()>,
    /// Counts the changes of accounts.
    accounts_epoch: AtomicU64,
    definitions_epoch: AtomicU64,
    /// Trees that were built for statements that are about to be logged (C4).
    pending: Mutex<Pending>,
    /// AUTO_INCREMENT counters of tables that are about to be published, by their numbers.
    counters: Mutex<Vec<(u64, Arc<Counter>)>>,
}

/// Trees that were built for tables, by the tables' numbers.
pub(crate) type Pending = HashMap<u64, BuiltTrees>;

/// Trees that were built for a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuiltTrees {
    /// In the order of the indexes.
    pub trees: Vec<TreeId>,
    /// [`statement_hash`]; `None` in notes of versions that did not say.
    pub statement: Option<u64>,
}

/// What notes describe the statement that trees were built for: its text, as the log will have it.
pub fn statement_hash(text: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text)
}

impl Catalog {
    /// A catalog of what was read at the start.
    pub fn new(state: CatalogState) -> Self {
        Self {
            state: RwLock::new(Arc::new(state)),
            ddl: Mutex::new(()),
            accounts_epoch: AtomicU64::new(0),
            definitions_epoch: AtomicU64::new(0),
            pending: Mutex::default(),
            counters: Mutex::default(),
        }
    }

    /// Everything as it is now. What is held stays as it is.
    pub fn state(&self) -> Arc<CatalogState> {
        self.state.read().clone()
    }

    /// A table; errors 1049 and 1146.
    pub fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>> {
        let state = self.state.read();
        match state.table(database, name) {
            Some(table) => Ok(table.clone()),
            None if let Some(object) = state.table_set_aside(database, name) => Err(object.error()),
            None if state.databases.contains_key(database) => {
                Err(error::NO_SUCH_TABLE.with(&[&database, &name]))
            }
            None => Err(error::BAD_DB_ERROR.with(&[&database])),
        }
    }

    /// True if this is still the table's definition.
    pub(crate) fn is_current(&self, table: &Arc<TableDef>) -> bool {
        let state = self.state.read();
        state.table(&table.database, &table.name).is_some_and(|now| Arc::ptr_eq(now, table))
    }

    pub(crate) fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.state.read().view(database, name).cloned()
    }

    /// A stored function.
    pub(crate) fn function(&self, database: &str, name: &str) -> Option<Arc<RoutineDef>> {
        self.state.read().function(database, name).cloned()
    }

    /// A stored function or procedure.
    pub(crate) fn routine(&self, kind: RoutineKind, database: &str, name: &str) -> Option<Arc<RoutineDef>> {
        self.state.read().routine(kind, database, name).cloned()
    }

    /// Keeps other DDL away.
    pub(crate) fn lock_ddl(&self) -> MutexGuard<'_, ()> {
        self.ddl.lock()
    }

    /// Makes changes visible that were committed at `position`; the caller has [`Self::lock_ddl`].
    pub(crate) fn publish(&self, changes: &[Change], position: LogPosition) {
        let mut state = self.state.write();
        let state = Arc::make_mut(&mut state);
        changes.iter().for_each(|change| record::apply(change, state, position));
        if changes.iter().any(|change| matches!(change, Change::PutUser(_) | Change::DropUser(..))) {
            self.accounts_epoch.fetch_add(1, Ordering::Release);
        }
        self.definitions_epoch.fetch_add(1, Ordering::Release);
    }

    /// Moves with every change of an account, after the change is visible: sessions then ask again
    /// what they may do.
    pub(crate) fn accounts_epoch(&self) -> &AtomicU64 {
        &self.accounts_epoch
    }

    /// Moves with every change of a definition or an account, in the same moment for those who ask
    /// for definitions: what was found after a look at it is as it was, as long as it stays.
    pub(crate) fn definitions_epoch(&self) -> &AtomicU64 {
        &self.definitions_epoch
    }

    /// Puts another definition of the same table in its place, in memory only: one whose index is
    /// being built, or the one from before.
    pub(crate) fn replace(&self, table: &Arc<TableDef>) {
        let mut state = self.state.write();
        record::replace(table, Arc::make_mut(&mut state));
        self.definitions_epoch.fetch_add(1, Ordering::Release);
    }

    /// At a start: everything as of the store's checkpoint.
    pub(crate) fn put_state(&self, state: CatalogState) {
        *self.state.write() = Arc::new(state);
    }

    /// From now on checkpoints describe trees that were built for a table, until
    /// [`Self::forget_pending`].
    pub fn put_pending(&self, table: u64, built: BuiltTrees) {
        self.pending.lock().insert(table, built);
    }

    /// See [`Self::put_pending`].
    pub fn forget_pending(&self, table: u64) {
        self.pending.lock().remove(&table);
    }

    /// From now on checkpoints describe the counters of tables that `changes` make, until
    /// [`Self::forget_counters`]: a checkpoint may have their records before they are published,
    /// and a table that is altered has another number then.
    pub(crate) fn put_counters(&self, changes: &[Change]) {
        let counted = changes.iter().filter_map(|change| match change {
            Change::PutTable(table, _) | Change::AlterTable(_, table, _) => Some(table),
            _ => None,
        });
        let counted = counted.filter(|table| table.auto_column.is_some());
        self.counters.lock().extend(counted.map(|table| (table.id, table.counter.clone())));
    }

    /// See [`Self::put_counters`]: they are published, or never will be. The caller has
    /// [`Self::lock_ddl`].
    pub(crate) fn forget_counters(&self) {
        self.counters.lock().clear();
    }

    /// A checkpoint's notes, pairs of u64: all AUTO_INCREMENT counters (table number and next
    /// value), trees that were built for statements about to be logged (table number with its
    /// highest bit set, and tree), and these statements' hashes (table number with its two highest
    /// bits set, and hash).
    pub(crate) fn notes(&self) -> Vec<u8> {
        let mut out = notes(&self.state.read(), &self.pending.lock());
        for (table, counter) in self.counters.lock().iter() {
            out.extend_from_slice(&table.to_le_bytes());
            out.extend_from_slice(&counter.next().to_le_bytes());
        }
        out
    }
}

/// Marks the table number of a pending tree in the notes.
const PENDING: u64 = 1 << 63;
/// Marks, with [`PENDING`], the table number of a pending statement's hash.
const STATEMENT: u64 = 1 << 62;

/// See [`Catalog::notes`].
pub(crate) fn notes(state: &CatalogState, pending: &Pending) -> Vec<u8> {
    let mut out = Vec::new();
    let mut pair = |key: u64, value: u64| {
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&value.to_le_bytes());
    };
    for (table, built) in pending {
        built.trees.iter().for_each(|tree| pair(table | PENDING, tree.0.into()));
        built.statement.into_iter().for_each(|hash| pair(table | PENDING | STATEMENT, hash));
    }
    for table in state.databases.values().flat_map(|d| d.tables.values()).filter(|t| t.auto_column.is_some())
    {
        pair(table.id, table.counter.next());
    }
    out
}

/// Raises counters to what a checkpoint's notes say, and returns the trees they describe. Notes of
/// tables that are gone mean nothing.
pub(crate) fn read_notes(state: &CatalogState, notes: &[u8]) -> Pending {
    let mut next = HashMap::new();
    let mut pending = Pending::new();
    let mut c = stdx::cursor::Cursor::new(notes);
    while let (Ok(table), Ok(value)) = (c.u64(), c.u64()) {
        if table & PENDING == 0 {
            next.insert(table, value);
            continue;
        }
        let built = pending.entry(table & !(PENDING | STATEMENT)).or_default();
        match table & STATEMENT {
            0 => built.trees.push(TreeId(value as u32)),
            _ => built.statement = Some(value),
        }
    }
    for table in state.databases.values().flat_map(|d| d.tables.values()) {
        match next.get(&table.id) {
            Some(0) => table.counter.used(u64::MAX),
            Some(&value) => table.counter.used(value - 1),
            None => {}
        }
    }
    pending
}

/// Parses a text that holds one statement.
pub(crate) fn parse_one(text: &[u8], sql_mode: u64) -> Result<Statement> {
    let options = parse_options(sql_mode);
    parse(text, &options)?.ok_or_else(|| error::EMPTY_QUERY.plain())
}

/// The value of a column that counts, in a row image.
pub(crate) fn counted_value(table: &TableDef, image: &[u8]) -> Option<u64> {
    let column = table.auto_column?;
    let mut offsets = crate::expression::row::Offsets::default();
    offsets.find(table, image).ok()?;
    let row = crate::expression::row::ImageRow { table, image, offsets: &offsets };
    match row.column(column, datum::value::zone::Zone::UTC) {
        Ok(value) => u64::try_from(value.to_integer().value).ok(),
        Err(_) => None,
    }
}

impl TableDef {
    /// Tells the counter of a row that was written.
    pub(crate) fn count_row(&self, image: &[u8]) {
        if let Some(value) = counted_value(self, image) {
            self.counter.used(value);
        }
    }
}

/// The name of a database, or error 1046.
pub(crate) fn database_or<'a>(given: Option<&'a str>, default: Option<&'a str>) -> Result<&'a str> {
    given.or(default).ok_or_else(|| error::NO_DB_SELECTED.plain())
}

/// Errors of names that clients may not change.
pub(crate) fn check_not_system(database: &str) -> Result<()> {
    if system_schemas::is_reserved(database) {
        return Err(SqlError::unsupported(format_args!("the system schema {database}")));
    }
    Ok(())
}
