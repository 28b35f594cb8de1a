//! The catalog on disk: one tree, one record for each object.
//!
//! | key | value |
//! | --- | --- |
//! | `v` | the format of the records u8: [`FORMAT`]; none where it was 0 |
//! | `n` | next table number u64, next tree u32 |
//! | `d` name | collation u16 |
//! | `t` database 00 name | see [`put_table`] |
//! | `e` database 00 name in lower case | see [`EventDef::encode`] |
//! | `f` database 00 name in lower case | see [`put_routine`] |
//! | `p` database 00 name in lower case | a procedure, as [`put_routine`] says |
//! | `u` user 00 host | see [`UserDef::encode`] |
//! | `w` database 00 name | a view, see [`put_view`] |
//! | `x` and the key of an object that replay set aside | since when u64 (a position), the reason (the rest) |
//!
//! Numbers are little-endian; texts after a length-encoded length, but for the CREATE TABLE, which
//! is the rest. A table is kept as the statement that makes it, in a form that does not depend on
//! any session: UTF-8, time stamps in UTC.

use std::sync::Arc;

use binlog::LogPosition;
use binlog::row::ColumnType;
use stdx::cursor::{Cursor, Truncated, put_lenenc, put_lenenc_bytes};
use storage::layout::{ColumnSource, Layout, Layouts};
use storage::{Store, StoreError, TreeId, WriteBatch};

use super::account::{UserAtHost, UserDef};
use super::build::{self, Environment, Numbers, Trees};
use super::event::EventDef;
use super::objects::{CatalogState, DatabaseDef, NextNumbers, RoutineDef, RoutineTimes};
use super::set_aside::{ObjectKey, ObjectKind, SetAside};
use super::table::{ColumnDef, Default, TableDef};
use super::trigger::Triggers;
use super::view::ViewDef;
use super::{parse_one, show};
use datum::error::{Result, SqlError};
use datum::types::{Charset, Collation};
use datum::value::temporal::DateRules;
use datum::value::zone::Zone;
use syntax::ast::{
    Characteristics, CheckOption, DataAccess, Ident, RoutineKind, SqlSecurity, StatementKind, TableContent,
    Text, ViewAlgorithm,
};

/// The catalog's tree.
pub const TREE: TreeId = TreeId(1);

/// What records look like at the most. The record of a table says itself which form it has
/// ([`put_table`]).
pub const FORMAT: u8 = 6;

/// After the trees of a table's record that has the second form. No list of layouts begins so.
const SECOND_FORM: u8 = 0xFF;

/// After [`SECOND_FORM`] in a record that has the third form. No list of layouts begins so either.
const THIRD_FORM: u8 = 0xFF;

/// After the time in a record that has the fourth form. No list of layouts begins so either.
const FOURTH_FORM: u8 = 0xFF;

/// Why there is no catalog. The sentences are those of error 1815, as which a refused start prints
/// them.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    /// The store can't read its tree.
    #[error("Internal error: the catalog can't be read: {0}")]
    Unreadable(#[source] StoreError),
    /// A newer version has written it.
    #[error(
        "Internal error: the catalog is of format {format}, of a newer version than this one, which reads up to {FORMAT}"
    )]
    NewerFormat {
        /// Above [`FORMAT`].
        format: u8,
    },
    /// A record that all others depend on.
    #[error("Internal error: the catalog's record {:?} is damaged", key.escape_ascii().to_string())]
    DamagedRecord {
        /// As in the tree.
        key: Vec<u8>,
    },
    /// The store can't find the trees that were built beside the log.
    #[error("{}", SqlError::from(.0.clone()).message)]
    BuiltTrees(#[source] StoreError),
}

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
    /// A table has another name or definition; its rows stay.
    AlterTable(Arc<TableDef>, Arc<TableDef>, NextNumbers),
    /// A new function or procedure, or one with other characteristics.
    PutRoutine(Arc<RoutineDef>),
    /// A function or procedure is gone: database, name.
    DropRoutine(RoutineKind, String, String),
    /// A new event, or one that takes another one's place.
    PutEvent(Arc<EventDef>),
    /// An event is gone: database, name.
    DropEvent(String, String),
    /// A new view, or one that takes another one's place.
    PutView(Arc<ViewDef>),
    /// A view is gone.
    DropView(Arc<ViewDef>),
    /// A new user, or a changed one.
    PutUser(UserDef),
    /// A user is gone.
    DropUser(UserAtHost),
    /// Replay can't go on with an object: its record stays as it is.
    PutAside(SetAside),
    /// An object that was set aside is gone, with its record.
    DropSetAside(SetAside),
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
pub(super) fn write(change: &Change, batch: &mut WriteBatch) {
    batch.put(TREE, b"v", &[FORMAT]);
    match change {
        Change::PutDatabase(name, collation) => {
            batch.put(TREE, &key(b'd', name, None), &collation.0.to_le_bytes());
        }
        Change::DropDatabase(name) => batch.delete(TREE, &key(b'd', name, None)),
        Change::PutTable(table, next) => {
            put_table(table, batch);
            put_next(*next, batch);
        }
        Change::DropTable(table) => {
            batch.delete(TREE, &table_key(table));
            table.schema.indexes().for_each(|index| batch.drop_tree(index.tree()));
        }
        Change::AlterTable(from, to, next) => {
            batch.delete(TREE, &table_key(from));
            put_table(to, batch);
            put_next(*next, batch);
            let kept = |tree: TreeId| to.schema.indexes().any(|index| index.tree() == tree);
            let trees = from.schema.indexes().map(|index| index.tree());
            trees.filter(|tree| !kept(*tree)).for_each(|tree| batch.drop_tree(tree));
        }
        Change::PutRoutine(function) => put_routine(function, batch),
        Change::DropRoutine(kind, database, name) => {
            batch.delete(TREE, &key(routine_byte(*kind), database, Some(&name.to_lowercase())));
        }
        Change::PutEvent(event) => {
            let key = key(b'e', &event.database, Some(&event.name.to_lowercase()));
            batch.put(TREE, &key, &event.encode());
        }
        Change::DropEvent(database, name) => {
            batch.delete(TREE, &key(b'e', database, Some(&name.to_lowercase())));
        }
        Change::PutView(view) => put_view(view, batch),
        Change::DropView(view) => batch.delete(TREE, &key(b'w', &view.database, Some(&view.name))),
        Change::PutUser(user) => {
            batch.put(TREE, &key(b'u', &user.user, Some(&user.host)), &user.encode());
        }
        Change::DropUser(account) => batch.delete(TREE, &key(b'u', &account.user, Some(&account.host))),
        Change::PutAside(object) => {
            let mut value = object.since.to_u64().to_le_bytes().to_vec();
            value.extend_from_slice(object.reason.as_bytes());
            batch.put(TREE, &aside_key(&object.key), &value);
        }
        Change::DropSetAside(object) => {
            batch.delete(TREE, &aside_key(&object.key));
            batch.delete(TREE, &object_key(&object.key));
            object.trees.iter().flatten().for_each(|&tree| batch.drop_tree(tree));
        }
    }
}

/// The key of an object's record.
fn object_key(object: &ObjectKey) -> Vec<u8> {
    key(object.kind.byte(), &object.database, Some(&object.name))
}

/// The key of the record that says that an object is set aside.
fn aside_key(object: &ObjectKey) -> Vec<u8> {
    [b"x", &object_key(object)[..]].concat()
}

/// The object whose record has this key.
fn object_of(key: &[u8]) -> Option<ObjectKey> {
    let (kind, name) = key.split_first()?;
    let (database, name) = std::str::from_utf8(name).ok()?.split_once('\0')?;
    Some(ObjectKey { kind: ObjectKind::of(*kind)?, database: database.to_owned(), name: name.to_owned() })
}

fn put_next(next: NextNumbers, batch: &mut WriteBatch) {
    let mut value = next.table.to_le_bytes().to_vec();
    value.extend_from_slice(&next.tree.to_le_bytes());
    batch.put(TREE, b"n", &value);
}

/// Table number u64; number of indexes (lenenc), the tree of each u32; [`SECOND_FORM`];
/// [`THIRD_FORM`]; when it was made or altered last, in seconds since 1970, u32 (0: nobody knows);
/// [`FOURTH_FORM`]; number of layouts (lenenc), each: where it ended u64 (0: where this record
/// stands), number of columns (lenenc), each column type (code u8, metadata u16, collation u16,
/// unsigned u8), number of sources (lenenc), each: 0 and the column (lenenc), 1 and the value
/// (bytes), or 2 for NULL; number of columns that can be NULL and have no default, not even NULL
/// (lenenc), each (lenenc), since their text does not say so; the triggers, see
/// [`Triggers::encode`]; the rest is the text of CREATE TABLE.
///
/// Records without [`FOURTH_FORM`] are older and have no triggers; those without [`THIRD_FORM`] are
/// older and have no such time; those without [`SECOND_FORM`] are older still: they have no such
/// columns, and the oldest no layouts.
fn put_table(table: &TableDef, batch: &mut WriteBatch) {
    let mut value = table.id.to_le_bytes().to_vec();
    put_lenenc(&mut value, table.schema.indexes().count() as u64);
    table.schema.indexes().for_each(|index| value.extend_from_slice(&index.tree().0.to_le_bytes()));
    let layouts = table.layouts.as_ref().map_or(&[][..], |layouts| layouts.list());
    value.extend([SECOND_FORM, THIRD_FORM]);
    value.extend_from_slice(&table.created.unwrap_or(0).to_le_bytes());
    value.push(FOURTH_FORM);
    put_lenenc(&mut value, layouts.len() as u64);
    layouts.iter().for_each(|layout| put_layout(layout, &mut value));
    let without_default = columns_without_default(table);
    put_lenenc(&mut value, without_default.len() as u64);
    without_default.iter().for_each(|&column| put_lenenc(&mut value, column as u64));
    table.triggers.encode(&mut value);
    value.extend_from_slice(show::create_table(table, table.auto_start, Zone::UTC).as_bytes());
    batch.put(TREE, &table_key(table), &value);
}

/// Columns that can be NULL and of which ALTER COLUMN .. DROP DEFAULT took the default.
pub(super) fn columns_without_default(table: &TableDef) -> Vec<usize> {
    let has_none =
        |column: &ColumnDef| column.nullable && column.default == Default::None && column.generated.is_none();
    (0..table.columns.len()).filter(|&number| has_none(&table.columns[number])).collect()
}

fn put_layout(layout: &Layout, out: &mut Vec<u8>) {
    out.extend_from_slice(&layout.until.to_u64().to_le_bytes());
    put_lenenc(out, layout.types.len() as u64);
    for ty in &layout.types {
        out.push(ty.code);
        out.extend_from_slice(&ty.meta.to_le_bytes());
        out.extend_from_slice(&ty.charset.to_le_bytes());
        out.push(ty.unsigned.into());
    }
    put_lenenc(out, layout.sources.len() as u64);
    for source in &layout.sources {
        match source {
            ColumnSource::Column(column) => {
                out.push(0);
                put_lenenc(out, *column as u64);
            }
            ColumnSource::Constant(Some(raw)) => {
                out.push(1);
                put_lenenc_bytes(out, raw);
            }
            ColumnSource::Constant(None) => out.push(2),
        }
    }
}

fn read_layout(c: &mut Cursor<'_>) -> Result<Layout, Truncated> {
    let until = LogPosition::from_u64(c.u64()?);
    let (mut types, mut sources) = (Vec::new(), Vec::new());
    for _ in 0..c.lenenc()? {
        let ty = ColumnType::new(c.u8()?, c.u16()?).with_charset(c.u16()?);
        types.push(if c.u8()? == 1 { ty.unsigned() } else { ty });
    }
    for _ in 0..c.lenenc()? {
        sources.push(match c.u8()? {
            0 => ColumnSource::Column(usize::try_from(c.lenenc()?).map_err(|_| Truncated)?),
            1 => ColumnSource::Constant(Some(c.lenenc_bytes()?.into())),
            2 => ColumnSource::Constant(None),
            _ => return Err(Truncated),
        });
    }
    let is_sound = |source: &ColumnSource| match source {
        ColumnSource::Column(column) => *column < types.len(),
        ColumnSource::Constant(_) => true,
    };
    if sources.iter().all(is_sound) { Ok(Layout { until, types, sources }) } else { Err(Truncated) }
}

/// Name, definer's user and host, parameters, returns, body; sql_mode u64, two collations u16;
/// characteristics: bits (1 deterministic, 2 invoker's rights, 4 has a comment), data access u8,
/// comment; when it was made and altered, i64 each, in seconds since 1970. Older records, and those
/// of routines whose times nobody knows, end before the times.
fn put_routine(f: &RoutineDef, batch: &mut WriteBatch) {
    let mut value = Vec::new();
    for text in [&f.name, &f.definer.user, &f.definer.host, &f.parameters, &f.returns] {
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
    if let Some(RoutineTimes { created, altered }) = f.times {
        value.extend_from_slice(&created.to_le_bytes());
        value.extend_from_slice(&altered.to_le_bytes());
    }
    batch.put(TREE, &key(routine_byte(f.kind), &f.database, Some(&f.name.to_lowercase())), &value);
}

/// The first byte of the keys of functions, or of procedures.
fn routine_byte(kind: RoutineKind) -> u8 {
    match kind {
        RoutineKind::Function => b'f',
        RoutineKind::Procedure => b'p',
    }
}

/// Definer's user and host; bits u8 (1 invoker's rights, 2 MERGE, 4 TEMPTABLE, 8 CASCADED and 16
/// LOCAL CHECK OPTION, 32 made where `sql_mode` was not strict); collation u16; number of columns
/// that have names of their own (lenenc), the name of each; the rest is the query's text.
fn put_view(view: &ViewDef, batch: &mut WriteBatch) {
    let mut value = Vec::new();
    for text in [&view.definer.user, &view.definer.host] {
        put_lenenc_bytes(&mut value, text.as_bytes());
    }
    let algorithm = match view.algorithm {
        ViewAlgorithm::Undefined => 0,
        ViewAlgorithm::Merge => 2,
        ViewAlgorithm::TempTable => 4,
    };
    let check_option = match view.check_option {
        None => 0,
        Some(CheckOption::Cascaded) => 8,
        Some(CheckOption::Local) => 16,
    };
    let not_strict = if view.strict { 0 } else { 32 };
    value.push(u8::from(view.invoker) | algorithm | check_option | not_strict);
    value.extend_from_slice(&view.connection.0.to_le_bytes());
    put_lenenc(&mut value, view.columns.len() as u64);
    view.columns.iter().for_each(|column| put_lenenc_bytes(&mut value, column.as_bytes()));
    value.extend_from_slice(&view.query);
    batch.put(TREE, &key(b'w', &view.database, Some(&view.name)), &value);
}

/// Makes a change in memory that was committed at `position`.
pub(crate) fn apply(change: &Change, state: &mut CatalogState, position: LogPosition) {
    match change {
        Change::PutDatabase(name, collation) => match state.databases.get_mut(name) {
            Some(database) => database.collation = *collation,
            None => {
                let database = DatabaseDef {
                    collation: *collation,
                    tables: std::collections::BTreeMap::new(),
                    functions: std::collections::BTreeMap::new(),
                    procedures: std::collections::BTreeMap::new(),
                    events: std::collections::BTreeMap::new(),
                    views: std::collections::BTreeMap::new(),
                };
                state.databases.insert(name.clone(), database);
            }
        },
        Change::DropDatabase(name) => drop(state.databases.remove(name)),
        Change::PutTable(table, next) => {
            let table = TableDef { readable_from: position, ..TableDef::clone(table) };
            put_in_state(&Arc::new(table), state);
            state.next = *next;
        }
        Change::DropTable(table) => remove_from_state(table, state),
        Change::AlterTable(from, to, next) => {
            if from.qualified_name() != to.qualified_name() {
                remove_from_state(from, state);
            }
            put_in_state(&placed(from, to, position), state);
            state.next = *next;
        }
        Change::PutRoutine(function) => {
            if let Some(database) = state.databases.get_mut(&function.database) {
                let routines = database.routines_mut(function.kind);
                routines.insert(function.name.to_lowercase(), function.clone());
            }
        }
        Change::DropRoutine(kind, database, name) => {
            if let Some(database) = state.databases.get_mut(database) {
                database.routines_mut(*kind).remove(&name.to_lowercase());
            }
        }
        Change::PutEvent(event) => {
            if let Some(database) = state.databases.get_mut(&event.database) {
                database.events.insert(event.name.to_lowercase(), event.clone());
            }
        }
        Change::DropEvent(database, name) => {
            if let Some(database) = state.databases.get_mut(database) {
                database.events.remove(&name.to_lowercase());
            }
        }
        Change::PutView(view) => state.put_view(view),
        Change::DropView(view) => state.remove_view(&view.database, &view.name),
        Change::PutUser(user) => {
            state.users.insert(user.key(), user.clone());
        }
        Change::DropUser(account) => drop(state.users.remove(account)),
        Change::PutAside(object) => state.put_aside(object.clone()),
        Change::DropSetAside(object) => drop(state.set_aside.remove(&object.key)),
    }
}

/// The definition with the place where it begins: known only now.
fn placed(from: &TableDef, to: &Arc<TableDef>, position: LogPosition) -> Arc<TableDef> {
    let mut table = TableDef::clone(to);
    table.layouts = to.layouts.as_ref().map(|layouts| placed_layouts(layouts, position));
    let had =
        |tree: TreeId| from.schema.indexes().any(|index| index.tree() == tree && index.building().is_none());
    if !table.schema.indexes().all(|index| had(index.tree())) {
        table.readable_from = position;
    }
    Arc::new(table)
}

fn placed_layouts(layouts: &Layouts, position: LogPosition) -> Arc<Layouts> {
    let place = |layout: &Layout| match layout.until {
        LogPosition::ZERO => Layout { until: position, ..layout.clone() },
        _ => layout.clone(),
    };
    Arc::new(Layouts::new(layouts.list().iter().map(place).collect()))
}

/// Puts another definition of a table in its place.
pub(crate) fn replace(table: &Arc<TableDef>, state: &mut CatalogState) {
    put_in_state(table, state);
}

fn put_in_state(table: &Arc<TableDef>, state: &mut CatalogState) {
    state.put_table(table);
}

fn remove_from_state(table: &TableDef, state: &mut CatalogState) {
    state.remove_table(&table.database, &table.name);
}

/// Reads the whole catalog as of the store's checkpoint.
pub fn load(store: &Arc<Store>) -> Result<CatalogState, CatalogError> {
    let mut cursor = store.cursor(TREE, store.checkpoint_position());
    cursor.seek_first().map_err(CatalogError::Unreadable)?;
    let mut records = Vec::new();
    while cursor.valid() {
        records.push((cursor.key().to_vec(), cursor.value().to_vec(), cursor.position()));
        cursor.next().map_err(CatalogError::Unreadable)?;
    }
    load_records(&records)
}

/// A record as a store gives it: key, value, position.
pub type Record = (Vec<u8>, Vec<u8>, LogPosition);

/// The format that a catalog's records state, be it one that this version can't read.
pub fn format_of(records: &[Record]) -> u8 {
    let stated = records.iter().find(|(key, ..)| key == b"v");
    stated.and_then(|(_, value, _)| value.first().copied()).unwrap_or(0)
}

/// Makes a catalog of its records, in the order of their keys. What can't be read is set aside.
///
/// # Errors
/// What the whole catalog depends on.
pub fn load_records(records: &[Record]) -> Result<CatalogState, CatalogError> {
    let mut state = CatalogState::default();
    let format = format_of(records);
    if format > FORMAT {
        return Err(CatalogError::NewerFormat { format });
    }
    // Databases come before what is in them, for `d` is before all of these.
    for (key, value, position) in records {
        let Err(error) = read(key, value, *position, &mut state) else { continue };
        let reason =
            error.map_or_else(|| "its record in the catalog is damaged".to_owned(), |e| e.to_string());
        // What the whole depends on stops the start.
        let object = object_of(key).ok_or_else(|| CatalogError::DamagedRecord { key: key.clone() })?;
        let trees = trees_of_record(&object, value);
        state.put_aside(SetAside { key: object, reason, since: LogPosition::ZERO, trees });
    }
    Ok(state)
}

/// The trees that a table's record names, if that much of it can be read.
fn trees_of_record(object: &ObjectKey, value: &[u8]) -> Option<Vec<TreeId>> {
    match (object.kind, read_definition(value).ok()?.numbers.trees) {
        (ObjectKind::Table, Trees::These(trees)) => Some(trees),
        _ => None,
    }
}

/// Reads one record into a catalog, as [`load`] does.
pub(super) fn read_entry(
    key: &[u8],
    value: &[u8],
    position: LogPosition,
    state: &mut CatalogState,
) -> Result<()> {
    let damaged = || SqlError::internal("a record of the catalog that does not read back");
    read(key, value, position, state).map_err(|e| e.unwrap_or_else(damaged))
}

/// Takes out of a catalog what has this key: the record is deleted.
pub(super) fn forget_entry(key: &[u8], state: &mut CatalogState) -> Result<()> {
    let damaged = || SqlError::internal("a key of the catalog that does not read back");
    let (kind, name) = key.split_first().ok_or_else(damaged)?;
    let name = std::str::from_utf8(name).map_err(|_| damaged())?;
    let (first, second) = name.split_once('\0').unwrap_or((name, ""));
    match kind {
        b'd' => drop(state.databases.remove(first)),
        b't' => state.remove_table(first, second),
        b'f' => drop(state.databases.get_mut(first).and_then(|d| d.functions.remove(second))),
        b'p' => drop(state.databases.get_mut(first).and_then(|d| d.procedures.remove(second))),
        b'e' => drop(state.databases.get_mut(first).and_then(|d| d.events.remove(second))),
        b'u' => drop(state.users.remove(&UserAtHost::new(first, second))),
        b'w' => state.remove_view(first, second),
        b'x' => drop(object_of(&key[1..]).and_then(|object| state.set_aside.remove(&object))),
        _ => return Err(damaged()),
    }
    Ok(())
}

/// `Err(None)`: the record is damaged.
fn read(
    key: &[u8],
    value: &[u8],
    position: LogPosition,
    state: &mut CatalogState,
) -> Result<(), Option<SqlError>> {
    let (kind, name) = key.split_first().ok_or(None)?;
    let name = std::str::from_utf8(name).map_err(|_| None)?;
    let (first, second) = name.split_once('\0').unwrap_or((name, ""));
    let mut c = Cursor::new(value);
    match kind {
        b'v' => {}
        b'n' => {
            state.next = NextNumbers { table: c.u64().map_err(none)?, tree: c.u32().map_err(none)? };
        }
        b'd' => {
            let collation = Collation::by_id(c.u16().map_err(none)?).ok_or(None)?;
            apply(&Change::PutDatabase(name.to_owned(), collation), state, position);
        }
        b't' => {
            let kept = read_definition(value).map_err(none)?;
            let mut table = read_table(first, second, kept.sql, kept.numbers).map_err(Some)?;
            table.created = kept.created;
            table.triggers = kept.triggers;
            if !kept.layouts.list().is_empty() {
                table.layouts = Some(placed_layouts(&kept.layouts, position));
            }
            for number in kept.without_default {
                table.columns.get_mut(number).ok_or(None)?.default = Default::None;
            }
            put_in_state(&Arc::new(table), state);
        }
        b'f' | b'p' => {
            let of = if *kind == b'f' { RoutineKind::Function } else { RoutineKind::Procedure };
            let function = read_routine(of, first, &mut c).map_err(none)?;
            apply(&Change::PutRoutine(Arc::new(function)), state, position);
        }
        b'e' => {
            let event = EventDef::decode(first, &mut c).map_err(none)?;
            apply(&Change::PutEvent(Arc::new(event)), state, position);
        }
        b'u' => {
            let user = UserDef::decode(first, second, &mut c).map_err(none)?;
            apply(&Change::PutUser(user), state, position);
        }
        b'w' => {
            let view = read_view(first, second, &mut c).map_err(none)?;
            apply(&Change::PutView(Arc::new(view)), state, position);
        }
        b'x' => {
            let object = object_of(&key[1..]).ok_or(None)?;
            let since = LogPosition::from_u64(c.u64().map_err(none)?);
            let reason = String::from_utf8_lossy(c.take_remaining()).into_owned();
            let ObjectKey { database, name, .. } = &object;
            let table = state.table(database, name).filter(|_| object.kind == ObjectKind::Table);
            let trees = table.map(|table| table.schema.indexes().map(|index| index.tree()).collect());
            let trees = trees.or_else(|| state.set_aside(&object)?.trees.clone());
            state.put_aside(SetAside { key: object, reason, since, trees });
        }
        _ => return Err(None),
    }
    Ok(())
}

/// What [`put_table`] wrote.
struct Definition<'a> {
    numbers: Numbers,
    layouts: Layouts,
    without_default: Vec<usize>,
    created: Option<u32>,
    triggers: Triggers,
    sql: &'a [u8],
}

fn read_definition(value: &[u8]) -> Result<Definition<'_>, Truncated> {
    let mut c = Cursor::new(value);
    let table = c.u64()?;
    let mut trees = Vec::new();
    for _ in 0..c.lenenc()? {
        trees.push(TreeId(c.u32()?));
    }
    let numbers = Numbers { table, trees: Trees::These(trees) };
    let rest = c.take_remaining();
    let (is_second, rest) = rest.strip_prefix(&[SECOND_FORM]).map_or((false, rest), |rest| (true, rest));
    let (mut layouts, mut without_default) = (Vec::new(), Vec::new());
    // The oldest records have the text right here. It is no list: a table has far fewer layouts
    // than `C` says.
    if !is_second && rest.starts_with(b"CREATE ") {
        let (layouts, created, triggers) = (Layouts::new(layouts), None, Triggers::default());
        return Ok(Definition { numbers, layouts, without_default, created, triggers, sql: rest });
    }
    let third = rest.strip_prefix(&[THIRD_FORM]).filter(|_| is_second);
    let mut c = Cursor::new(third.unwrap_or(rest));
    let created = if third.is_some() { Some(c.u32()?).filter(|&seconds| seconds > 0) } else { None };
    let rest = c.take_remaining();
    let fourth = rest.strip_prefix(&[FOURTH_FORM]).filter(|_| third.is_some());
    let mut c = Cursor::new(fourth.unwrap_or(rest));
    for _ in 0..c.lenenc()? {
        layouts.push(read_layout(&mut c)?);
    }
    if is_second {
        for _ in 0..c.lenenc()? {
            without_default.push(usize::try_from(c.lenenc()?).map_err(|_| Truncated)?);
        }
    }
    let triggers = if fourth.is_some() { Triggers::decode(&mut c)? } else { Triggers::default() };
    let (layouts, sql) = (Layouts::new(layouts), c.take_remaining());
    Ok(Definition { numbers, layouts, without_default, created, triggers, sql })
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
    // What was accepted once is not judged again: all dates are allowed, and time stamps are in
    // UTC.
    let dates = DateRules { allow_invalid: true, ..DateRules::default() };
    let collation = Collation::UTF8MB4_0900_AI_CI;
    let environment = Environment {
        collation,
        charset: Charset::Utf8mb4,
        connection: Charset::Utf8mb4,
        dates,
        truncate_fraction: false,
        zone: Zone::UTC,
        shows_generated_key: false,
        explicit_timestamps: true,
        strict: true,
        from_client: false,
    };
    build::build(database, name, &definition, &[], environment, numbers)
}

fn read_routine(kind: RoutineKind, database: &str, c: &mut Cursor<'_>) -> Result<RoutineDef, Truncated> {
    let name = text(c)?;
    let definer = UserAtHost::new(text(c)?, text(c)?);
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
    let times = match c.is_empty() {
        true => None,
        false => Some(RoutineTimes { created: c.u64()?.cast_signed(), altered: c.u64()?.cast_signed() }),
    };
    let characteristics = Characteristics {
        comment: (flags & 4 != 0).then(|| Text::new(comment)),
        language: None::<Ident>,
        deterministic: Some(flags & 1 != 0),
        data_access,
        security: (flags & 2 != 0).then_some(SqlSecurity::Invoker),
    };
    Ok(RoutineDef {
        kind,
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
        times,
        compiled: std::sync::OnceLock::new(),
    })
}

/// What [`put_view`] wrote. The query is not parsed before the view is used.
fn read_view(database: &str, name: &str, c: &mut Cursor<'_>) -> Result<ViewDef, Truncated> {
    let definer = UserAtHost::new(text(c)?, text(c)?);
    let bits = c.u8()?;
    let connection = Collation::by_id(c.u16()?).ok_or(Truncated)?;
    let mut columns = Vec::new();
    for _ in 0..c.lenenc()? {
        columns.push(text(c)?);
    }
    Ok(ViewDef {
        database: database.to_owned(),
        name: name.to_owned(),
        columns,
        query: c.take_remaining().to_vec(),
        algorithm: match bits & 6 {
            2 => ViewAlgorithm::Merge,
            4 => ViewAlgorithm::TempTable,
            _ => ViewAlgorithm::Undefined,
        },
        definer,
        invoker: bits & 1 != 0,
        check_option: match bits & 24 {
            8 => Some(CheckOption::Cascaded),
            16 => Some(CheckOption::Local),
            _ => None,
        },
        connection,
        strict: bits & 32 == 0,
        lock: Arc::default(),
        parsed: std::sync::OnceLock::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of the first form, from before tables had layouts.
    fn first_form() -> Vec<u8> {
        let mut value = 7_u64.to_le_bytes().to_vec();
        put_lenenc(&mut value, 1);
        value.extend_from_slice(&9_u32.to_le_bytes());
        value.extend_from_slice(b"CREATE TABLE `t` (`a` int NOT NULL, PRIMARY KEY (`a`))");
        value
    }

    /// A record of the second form, from before tables had a time.
    fn second_form() -> Vec<u8> {
        let text = first_form();
        let trees = 8 + 1 + 4;
        [&text[..trees], &[SECOND_FORM, 0, 0], &text[trees..]].concat()
    }

    #[test]
    fn times_are_of_the_third_form() {
        let mut state = CatalogState::default();
        let database = Change::PutDatabase("db".into(), Collation::UTF8MB4_0900_AI_CI);
        apply(&database, &mut state, LogPosition::ZERO);
        assert!(matches!(read(b"tdb\0t", &second_form(), LogPosition::ZERO, &mut state), Ok(())));
        let mut table = TableDef::clone(&state.databases["db"].tables["t"]);
        assert_eq!((table.id, table.created), (7, None));
        for created in [None, Some(1), Some(u32::MAX)] {
            table.created = created;
            let mut batch = WriteBatch::new();
            put_table(&table, &mut batch);
            for operation in batch.iter() {
                if let storage::BatchOp::Put { key, value, .. } = operation {
                    assert!(matches!(read(key, value, LogPosition::ZERO, &mut state), Ok(())));
                }
            }
            assert_eq!(state.databases["db"].tables["t"].created, created);
        }
    }

    #[test]
    fn tables_of_the_first_format_are_read() {
        let mut state = CatalogState::default();
        let key = b"tdb\0t";
        let database = Change::PutDatabase("db".into(), Collation::UTF8MB4_0900_AI_CI);
        apply(&database, &mut state, LogPosition::ZERO);
        assert!(matches!(read(key, &first_form(), LogPosition::ZERO, &mut state), Ok(())));
        assert_eq!(state.databases["db"].tables["t"].id, 7);
    }
}
