//! The catalog on disk: one tree, one record for each object.
//!
//! | key | value |
//! | --- | --- |
//! | `n` | next table number u64, next tree u32 |
//! | `d` name | collation u16 |
//! | `t` database 00 name | table number u64, first tree u32, text of CREATE TABLE |
//! | `f` database 00 name in lower case | see [`put_function`] |
//! | `u` user 00 host | see [`UserDef::encode`] |
//!
//! Numbers are little-endian; texts behind a length-encoded length, but for the CREATE TABLE, which is the rest. A table
//! is kept as the statement that makes it, in a form that does not depend on any session: UTF-8, time stamps in UTC.

use std::sync::Arc;

use stdx::cursor::{Cursor, Truncated, put_lenenc_bytes};
use storage::{Store, TreeId, WriteBatch};

use super::account::UserDef;
use super::build::{self, Environment, Numbers};
use super::objects::{DatabaseDef, FunctionDef, NextNumbers, State};
use super::table::TableDef;
use super::{parse_one, show};
use crate::ast::{Characteristics, DataAccess, Ident, SqlSecurity, StatementKind, TableContent, Text};
use crate::error::{Result, SqlError};
use crate::types::{Charset, Collation};
use crate::value::temporal::DateRules;
use crate::value::zone::Zone;

/// The catalog's tree.
pub const TREE: TreeId = TreeId(1);

/// A change of the catalog.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new database, or one with another collation.
    PutDatabase(String, Collation),
    /// A database is gone, which has neither tables nor functions any more.
    DropDatabase(String),
    /// A new table, with new trees.
    PutTable(Arc<TableDef>, NextNumbers),
    /// A table is gone, with its trees.
    DropTable(Arc<TableDef>),
    /// A table has another name; its rows stay.
    RenameTable(Arc<TableDef>, Arc<TableDef>),
    /// A new function.
    PutFunction(Arc<FunctionDef>),
    /// A function is gone: database, name.
    DropFunction(String, String),
    /// A new user, or a changed one.
    PutUser(UserDef),
    /// A user is gone: user, host.
    DropUser(String, String),
}

fn key(kind: u8, a: &str, b: Option<&str>) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend_from_slice(a.as_bytes());
    if let Some(b) = b {
        out.push(0);
        out.extend_from_slice(b.as_bytes());
    }
    out
}

fn table_key(table: &TableDef) -> Vec<u8> {
    key(b't', &table.database, Some(&table.name))
}

/// Writes a change to a batch.
pub fn write(change: &Change, batch: &mut WriteBatch) {
    match change {
        Change::PutDatabase(name, collation) => {
            batch.put(TREE, &key(b'd', name, None), &collation.0.to_le_bytes());
        }
        Change::DropDatabase(name) => batch.delete(TREE, &key(b'd', name, None)),
        Change::PutTable(table, next) => {
            put_table(table, batch);
            let mut value = next.table.to_le_bytes().to_vec();
            value.extend_from_slice(&next.tree.to_le_bytes());
            batch.put(TREE, b"n", &value);
        }
        Change::DropTable(table) => {
            batch.delete(TREE, &table_key(table));
            table.schema.indexes().for_each(|index| batch.drop_tree(index.tree()));
        }
        Change::RenameTable(from, to) => {
            batch.delete(TREE, &table_key(from));
            put_table(to, batch);
        }
        Change::PutFunction(function) => put_function(function, batch),
        Change::DropFunction(database, name) => {
            batch.delete(TREE, &key(b'f', database, Some(&name.to_lowercase())));
        }
        Change::PutUser(user) => {
            batch.put(TREE, &key(b'u', &user.user, Some(&user.host)), &user.encode());
        }
        Change::DropUser(user, host) => batch.delete(TREE, &key(b'u', user, Some(host))),
    }
}

fn put_table(table: &TableDef, batch: &mut WriteBatch) {
    let mut value = table.id.to_le_bytes().to_vec();
    value.extend_from_slice(&table.schema.primary.tree().0.to_le_bytes());
    value.extend_from_slice(show::create_table(table, table.auto_start, Zone::UTC).as_bytes());
    batch.put(TREE, &table_key(table), &value);
}

/// Name, definer's user and host, parameters, returns, body; sql_mode u64, two collations u16; characteristics: bits
/// (1 deterministic, 2 invoker's rights, 4 has a comment), data access u8, comment.
fn put_function(f: &FunctionDef, batch: &mut WriteBatch) {
    let mut value = Vec::new();
    for text in [&f.name, &f.definer.0, &f.definer.1, &f.parameters, &f.returns] {
        put_lenenc_bytes(&mut value, text.as_bytes());
    }
    put_lenenc_bytes(&mut value, &f.body);
    value.extend_from_slice(&f.sql_mode.to_le_bytes());
    value.extend_from_slice(&f.connection.0.to_le_bytes());
    value.extend_from_slice(&f.database_collation.0.to_le_bytes());
    let c = &f.characteristics;
    let invoker = c.security == Some(SqlSecurity::Invoker);
    value.push(
        u8::from(c.deterministic == Some(true)) | u8::from(invoker) << 1 | u8::from(c.comment.is_some()) << 2,
    );
    value.push(match c.data_access {
        None => 0,
        Some(DataAccess::ContainsSql) => 1,
        Some(DataAccess::NoSql) => 2,
        Some(DataAccess::ReadsSqlData) => 3,
        Some(DataAccess::ModifiesSqlData) => 4,
    });
    put_lenenc_bytes(&mut value, c.comment.as_deref().unwrap_or_default());
    batch.put(TREE, &key(b'f', &f.database, Some(&f.name.to_lowercase())), &value);
}

/// Makes a change in memory.
pub fn apply(change: &Change, state: &mut State) {
    match change {
        Change::PutDatabase(name, collation) => match state.databases.get_mut(name) {
            Some(database) => database.collation = *collation,
            None => {
                let database = DatabaseDef {
                    collation: *collation,
                    tables: std::collections::BTreeMap::new(),
                    functions: std::collections::BTreeMap::new(),
                };
                state.databases.insert(name.clone(), database);
            }
        },
        Change::DropDatabase(name) => drop(state.databases.remove(name)),
        Change::PutTable(table, next) => {
            put_in_state(table, state);
            state.next = *next;
        }
        Change::DropTable(table) => remove_from_state(table, state),
        Change::RenameTable(from, to) => {
            remove_from_state(from, state);
            put_in_state(to, state);
        }
        Change::PutFunction(function) => {
            if let Some(database) = state.databases.get_mut(&function.database) {
                database.functions.insert(function.name.to_lowercase(), function.clone());
            }
        }
        Change::DropFunction(database, name) => {
            if let Some(database) = state.databases.get_mut(database) {
                database.functions.remove(&name.to_lowercase());
            }
        }
        Change::PutUser(user) => {
            state.users.insert((user.user.clone(), user.host.clone()), user.clone());
        }
        Change::DropUser(user, host) => drop(state.users.remove(&(user.clone(), host.clone()))),
    }
}

fn put_in_state(table: &Arc<TableDef>, state: &mut State) {
    if let Some(database) = state.databases.get_mut(&table.database) {
        database.tables.insert(table.name.clone(), table.clone());
    }
}

fn remove_from_state(table: &TableDef, state: &mut State) {
    if let Some(database) = state.databases.get_mut(&table.database) {
        database.tables.remove(&table.name);
    }
}

/// Reads the whole catalog as of the store's checkpoint.
pub fn load(store: &Arc<Store>) -> Result<State> {
    let mut state = State::default();
    let mut cursor = store.cursor(TREE, store.checkpoint_position());
    let failed = |e: storage::StoreError| SqlError::internal(format_args!("the catalog can't be read: {e}"));
    cursor.seek_first().map_err(failed)?;
    let mut records = Vec::new();
    while cursor.valid() {
        records.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next().map_err(failed)?;
    }
    // Databases come before what is in them, for `d` is before `f` and `t`.
    for (key, value) in &records {
        let damaged = || {
            SqlError::internal(format_args!(
                "the catalog's record {:?} is damaged",
                key.escape_ascii().to_string()
            ))
        };
        read(key, value, &mut state).map_err(|e| e.unwrap_or_else(damaged))?;
    }
    Ok(state)
}

/// `Err(None)`: the record is damaged.
fn read(key: &[u8], value: &[u8], state: &mut State) -> Result<(), Option<SqlError>> {
    let (kind, name) = key.split_first().ok_or(None)?;
    let name = std::str::from_utf8(name).map_err(|_| None)?;
    let (first, second) = name.split_once('\0').unwrap_or((name, ""));
    let mut c = Cursor::new(value);
    match kind {
        b'n' => {
            state.next = NextNumbers { table: c.u64().map_err(none)?, tree: c.u32().map_err(none)? };
        }
        b'd' => {
            let collation = Collation::by_id(c.u16().map_err(none)?).ok_or(None)?;
            apply(&Change::PutDatabase(name.to_owned(), collation), state);
        }
        b't' => {
            let numbers = Numbers { table: c.u64().map_err(none)?, tree: c.u32().map_err(none)? };
            let table = read_table(first, second, c.take_rest(), numbers).map_err(Some)?;
            put_in_state(&Arc::new(table), state);
        }
        b'f' => {
            let function = read_function(first, &mut c).map_err(none)?;
            apply(&Change::PutFunction(Arc::new(function)), state);
        }
        b'u' => {
            let user = UserDef::decode(first, second, &mut c).map_err(none)?;
            apply(&Change::PutUser(user), state);
        }
        _ => return Err(None),
    }
    Ok(())
}

fn none(_: Truncated) -> Option<SqlError> {
    None
}

fn text(c: &mut Cursor<'_>) -> Result<String, Truncated> {
    String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated)
}

fn read_table(database: &str, name: &str, sql: &[u8], numbers: Numbers) -> Result<TableDef> {
    let statement = parse_one(sql, 0)?;
    let StatementKind::CreateTable(create) = statement.kind else {
        return Err(SqlError::internal(format_args!("the catalog's text of table {name} makes no table")));
    };
    let TableContent::Definition(definition) = create.content else {
        return Err(SqlError::internal(format_args!(
            "the catalog's text of table {name} defines no columns"
        )));
    };
    // What was accepted once is not judged again: all dates are allowed, and time stamps are in UTC.
    let dates = DateRules { allow_invalid: true, ..DateRules::default() };
    let collation = Collation::UTF8MB4_0900_AI_CI;
    let environment = Environment { collation, charset: Charset::Utf8mb4, dates, zone: Zone::UTC };
    build::build(database, name, &definition, environment, numbers)
}

fn read_function(database: &str, c: &mut Cursor<'_>) -> Result<FunctionDef, Truncated> {
    let name = text(c)?;
    let definer = (text(c)?, text(c)?);
    let (parameters, returns) = (text(c)?, text(c)?);
    let body = c.lenenc_bytes()?.to_vec();
    let sql_mode = c.u64()?;
    let connection = Collation::by_id(c.u16()?).ok_or(Truncated)?;
    let database_collation = Collation::by_id(c.u16()?).ok_or(Truncated)?;
    let flags = c.u8()?;
    let data_access = match c.u8()? {
        1 => Some(DataAccess::ContainsSql),
        2 => Some(DataAccess::NoSql),
        3 => Some(DataAccess::ReadsSqlData),
        4 => Some(DataAccess::ModifiesSqlData),
        _ => None,
    };
    let comment = c.lenenc_bytes()?;
    let characteristics = Characteristics {
        comment: (flags & 4 != 0).then(|| Text::new(comment)),
        language: None::<Ident>,
        deterministic: Some(flags & 1 != 0),
        data_access,
        security: (flags & 2 != 0).then_some(SqlSecurity::Invoker),
    };
    Ok(FunctionDef {
        database: database.to_owned(),
        name,
        definer,
        parameters,
        returns,
        characteristics,
        body,
        sql_mode,
        connection,
        database_collation,
        compiled: std::sync::OnceLock::new(),
    })
}
