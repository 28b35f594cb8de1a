//! DDL is read back before it is ordered: what could not be read later is refused now
//! (R1 of ARCHITECTURE.md).
//!
//! What a DDL statement makes is kept twice, as text each time: in the catalog's records, which a
//! start reads, and in the statement's event, which recovery and replicas plan again. Both are read
//! here, by the functions that will read them then, from the bytes that they will have, and
//! compared with the definitions in memory.
//!
//! 1. encode   The records are put into the batch, the statement into an event.
//! 2. records  The batch's entries are read as a start reads them ([`record::read_entry`]).
//! 3. event    The event is decoded and planned as replay plans it ([`replay::plan_event`]): with
//!    the settings that it carries (`sql_mode`, character sets, time zone, default database), and
//!    none of the session's.
//! 4. compare  Every object that the statement is about must be the same in all three catalogs.
//!
//! (R1a) A batch with a change of the catalog comes from [`checked_records`] alone, so nothing that
//! fails to come back
//!       is ever logged.
//!
//! A statement that would fail at a start fails here with that very error: 1059 for a name that
//! becomes too long, 1117 for too many columns, 1436 for an expression that nests too deep as it is
//! written. What comes back as something else is refused with 1235.

use binlog::LogPosition;
use binlog::event::{
    ChecksumAlgorithm, Event, EventOrigin, FormatDescription, QueryEvent, append_event, decode,
};
use storage::{BatchOp, TreeId, WriteBatch};

use super::account::UserAtHost;
use super::new_definitions;
use super::objects::{CatalogState, RoutineDef};
use super::record::{self, Change};
use super::replay;
use super::set_aside::ObjectKey;
use super::table::TableDef;
use datum::error::{Result, SqlError};
use syntax::ast::{Characteristics, DataAccess, RoutineKind, SqlSecurity};

/// The position that the trial catalogs give to what is changed. It only has to be the same in all.
const TRIAL: LogPosition = LogPosition::ZERO;

/// The records of a DDL statement's changes, once records and event have been read back. `state` is
/// the catalog that the statement is about to change, `timestamp` the event's (seconds since 1970),
/// `built` the trees that were built for it.
///
/// # Errors
/// What reading them back fails with; 1235 if something else comes back.
pub(crate) fn checked_records(
    changes: &[Change],
    event: &QueryEvent<'_>,
    timestamp: u32,
    state: &CatalogState,
    built: &[TreeId],
) -> Result<WriteBatch> {
    changes.iter().try_for_each(|change| new_definitions::check(change, state))?;
    let mut batch = WriteBatch::new();
    changes.iter().for_each(|change| record::write(change, &mut batch));
    let mut made = state.clone();
    changes.iter().for_each(|change| record::apply(change, &mut made, TRIAL));
    let from_records = read_records(&batch, state)?;
    let from_event = read_event(event, timestamp, state, built)?;
    for object in changes.iter().flat_map(objects) {
        for (read, from) in [(&from_records, "the catalog"), (&from_event, "the binary log")] {
            if let Some(what) = object.difference(&made, read) {
                return Err(SqlError::unsupported(format_args!(
                    "a definition that reads back from {from} as another one ({object}: {what})"
                )));
            }
        }
    }
    Ok(batch)
}

/// The catalog with the batch's records in place of those that they replace.
fn read_records(batch: &WriteBatch, state: &CatalogState) -> Result<CatalogState> {
    let mut read = state.clone();
    for operation in batch.iter() {
        match operation {
            BatchOp::Put { tree: record::TREE, key, value } => {
                record::read_entry(key, value, TRIAL, &mut read)?;
            }
            BatchOp::Delete { tree: record::TREE, key } => record::forget_entry(key, &mut read)?,
            BatchOp::Put { .. } | BatchOp::Delete { .. } | BatchOp::DropTree { .. } => {}
        }
    }
    Ok(read)
}

/// The catalog as replay makes it of the event's bytes.
fn read_event(
    event: &QueryEvent<'_>,
    timestamp: u32,
    state: &CatalogState,
    built: &[TreeId],
) -> Result<CatalogState> {
    let mut bytes = Vec::new();
    let origin = EventOrigin { timestamp, ..EventOrigin::default() };
    append_event(&mut bytes, event, origin, 0, ChecksumAlgorithm::Crc32);
    let mut format = FormatDescription::new("", 0);
    format.checksum = ChecksumAlgorithm::Crc32;
    let Event::Query(query) = decode(&bytes, &format).map_err(SqlError::internal)? else {
        return Err(SqlError::internal("a statement's event is none"));
    };
    let mut read = state.clone();
    let (plan, _) = replay::plan_event(&query, timestamp, state, |_| Ok(built.to_vec()))?;
    plan.changes.iter().for_each(|change| record::apply(change, &mut read, TRIAL));
    Ok(read)
}

/// Something that the catalog has under a name.
enum Object<'a> {
    Database(&'a str),
    Table(&'a str, &'a str),
    Routine(RoutineKind, &'a str, &'a str),
    Event(&'a str, &'a str),
    View(&'a str, &'a str),
    User(&'a str, &'a str),
    SetAside(&'a ObjectKey),
}

/// The names that a change gives or takes.
fn objects(change: &Change) -> Vec<Object<'_>> {
    use Change as C;
    match change {
        C::PutDatabase(name, _) | C::DropDatabase(name) => vec![Object::Database(name)],
        C::PutTable(table, _) | C::DropTable(table) => vec![Object::Table(&table.database, &table.name)],
        C::AlterTable(from, to, _) => {
            vec![Object::Table(&from.database, &from.name), Object::Table(&to.database, &to.name)]
        }
        C::PutRoutine(f) => vec![Object::Routine(f.kind, &f.database, &f.name)],
        C::DropRoutine(kind, database, name) => vec![Object::Routine(*kind, database, name)],
        C::PutEvent(event) => vec![Object::Event(&event.database, &event.name)],
        C::DropEvent(database, name) => vec![Object::Event(database, name)],
        C::PutView(view) | C::DropView(view) => vec![Object::View(&view.database, &view.name)],
        C::PutUser(user) => vec![Object::User(&user.user, &user.host)],
        C::DropUser(account) => vec![Object::User(&account.user, &account.host)],
        C::DropSetAside(object) | C::PutAside(object) => vec![Object::SetAside(&object.key)],
    }
}

impl std::fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Object::Database(name) => write!(f, "database {name}"),
            Object::Table(database, name) => write!(f, "table {database}.{name}"),
            Object::Routine(kind, database, name) => {
                write!(f, "{} {database}.{name}", kind.name().to_lowercase())
            }
            Object::Event(database, name) => write!(f, "event {database}.{name}"),
            Object::View(database, name) => write!(f, "view {database}.{name}"),
            Object::User(user, host) => write!(f, "account '{user}'@'{host}'"),
            Object::SetAside(key) => key.fmt(f),
        }
    }
}

impl Object<'_> {
    /// What of the object differs between two catalogs; `None` if nothing does.
    fn difference(&self, made: &CatalogState, read: &CatalogState) -> Option<&'static str> {
        match self {
            Object::Database(name) => {
                let collation = |state: &CatalogState| state.database(name).map(|d| d.collation);
                (collation(made) != collation(read)).then_some("collation")
            }
            Object::Table(database, name) => {
                both(made.table(database, name), read.table(database, name), |a, b| table_difference(a, b))
            }
            Object::Routine(kind, database, name) => {
                let (made, read) = (made.routine(*kind, database, name), read.routine(*kind, database, name));
                both(made, read, |a, b| function_difference(a, b))
            }
            Object::Event(database, name) => {
                both(made.event(database, name), read.event(database, name), |a, b| a.difference(b))
            }
            Object::View(database, name) => {
                both(made.view(database, name), read.view(database, name), |a, b| a.difference(b))
            }
            Object::User(user, host) => {
                let key = UserAtHost::new(*user, *host);
                both(made.users.get(&key), read.users.get(&key), |a, b| (a != b).then_some("account"))
            }
            Object::SetAside(key) => {
                both(made.set_aside(key), read.set_aside(key), |a, b| (a != b).then_some("reason"))
            }
        }
    }
}

/// Compares what is there in both catalogs.
fn both<T>(
    made: Option<&T>,
    read: Option<&T>,
    difference: impl FnOnce(&T, &T) -> Option<&'static str>,
) -> Option<&'static str> {
    match (made, read) {
        (None, None) => None,
        (Some(made), Some(read)) => difference(made, read),
        _ => Some("existence"),
    }
}

fn table_difference(made: &TableDef, read: &TableDef) -> Option<&'static str> {
    // All fields are named, so that a new one is not forgotten.
    let TableDef {
        id,
        database,
        name,
        columns,
        column_types,
        widths: _, // of the types
        indexes,
        checks,
        foreign_keys,
        referenced_by: _, // of the catalog's state
        triggers,
        auto_column,
        auto_start,
        collation,
        comment,
        options,
        created,
        schema,
        layouts,
        readable_from: _, // of the running server
        computed: _,      // of the expressions
        trigger_programs: _,
        counter: _, // in the checkpoint's notes
        statistics: _,
        lock: _,
    } = made;
    let trees = |table: &TableDef| table.schema.indexes().map(|index| index.tree()).collect::<Vec<_>>();
    let layouts_of =
        |layouts: &Option<_>| layouts.as_deref().map(storage::layout::Layouts::list).map(<[_]>::to_vec);
    let same = [
        (*id == read.id, "number"),
        (*database == read.database && *name == read.name, "name"),
        (*columns == read.columns, "columns"),
        (*column_types == read.column_types && schema.types() == read.schema.types(), "types"),
        (*indexes == read.indexes, "indexes"),
        (*checks == read.checks, "CHECK constraints"),
        (*foreign_keys == read.foreign_keys, "FOREIGN KEY constraints"),
        (*triggers == read.triggers, "triggers"),
        (*auto_column == read.auto_column, "AUTO_INCREMENT column"),
        (*auto_start == read.auto_start, "AUTO_INCREMENT"),
        (*collation == read.collation, "collation"),
        (*comment == read.comment, "COMMENT"),
        (*options == read.options, "options"),
        (*created == read.created, "time of creation"),
        (trees(made) == trees(read), "trees"),
        (layouts_of(layouts) == layouts_of(&read.layouts), "layouts"),
    ];
    same.iter().find(|(is_same, _)| !is_same).map(|(_, what)| *what)
}

fn function_difference(made: &RoutineDef, read: &RoutineDef) -> Option<&'static str> {
    let RoutineDef {
        kind: _, // found by it
        database,
        name,
        definer,
        parameters,
        returns,
        characteristics: c,
        body,
        sql_mode,
        connection,
        database_collation,
        times,
        compiled: _, // of the rest
    } = made;
    let r = &read.characteristics;
    let text = |c: &Characteristics| c.comment.as_ref().map(|text| text.to_vec());
    let is_invoker = |c: &Characteristics| c.security == Some(SqlSecurity::Invoker);
    let data_access = |c: &Characteristics| c.data_access.filter(|data| *data != DataAccess::ContainsSql);
    let same = [
        (*database == read.database && *name == read.name, "name"),
        (*definer == read.definer, "DEFINER"),
        (*parameters == read.parameters, "parameters"),
        (*returns == read.returns, "RETURNS"),
        (text(c).unwrap_or_default() == text(r).unwrap_or_default(), "COMMENT"),
        (c.deterministic.unwrap_or(false) == r.deterministic.unwrap_or(false), "DETERMINISTIC"),
        (is_invoker(c) == is_invoker(r), "SQL SECURITY"),
        (data_access(c) == data_access(r), "data access"),
        (*body == read.body, "body"),
        (*sql_mode == read.sql_mode, "sql_mode"),
        (*connection == read.connection && *database_collation == read.database_collation, "collation"),
        (*times == read.times, "time of creation"),
    ];
    same.iter().find(|(is_same, _)| !is_same).map(|(_, what)| *what)
}
