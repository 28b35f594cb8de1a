//! SHOW: each kind makes a listing, which the statement's LIKE or WHERE then filters.

mod accounts;
mod create;
mod engine;
mod objects;
mod replication;

use super::binary_log;
use crate::listing::{Listing, server, variables};
use crate::session::Context;
use crate::status::Counter;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use syntax::ast::{Account, Limit, ObjectName, RoutineKind, Show, ShowFilter, ShowWhat, Text};

/// Runs a SHOW.
pub(crate) fn show(cx: &mut Context, show: &Show, sink: &mut dyn ResultSink) -> Result<()> {
    if let ShowWhat::BinlogEvents(which) = &show.what {
        let (skip, count) = limit(cx, which.limit.as_ref())?;
        return binary_log::events(cx, which, skip, count, sink);
    }
    if reads_dictionary(&show.what) {
        begin_transaction(cx);
    }
    let mut listing = listing(cx, &show.what)?;
    listing.filter(&show.filter, cx)?;
    if is_query(&show.what) {
        cx.statement.status.found_rows = listing.rows().len() as u64;
    }
    listing.send(cx, sink)
}

/// True for a SHOW that reads tables of the data dictionary in MySQL.
fn reads_dictionary(what: &ShowWhat) -> bool {
    use ShowWhat as W;
    matches!(
        what,
        W::Databases
            | W::Tables { .. }
            | W::TableStatus { .. }
            | W::Columns { .. }
            | W::Index { .. }
            | W::Triggers { .. }
            | W::Events { .. }
            | W::RoutineStatus(_)
            | W::CharacterSets
            | W::Collations
    )
}

/// What reads tables begins a transaction where `autocommit` is off.
fn begin_transaction(cx: &mut Context) {
    if !cx.settings.autocommit() {
        cx.transaction().used = true;
    }
}

/// True for a SHOW that is a query in MySQL, whose rows FOUND_ROWS() counts.
fn is_query(what: &ShowWhat) -> bool {
    use ShowWhat as W;
    matches!(
        what,
        W::Variables { .. }
            | W::Status { .. }
            | W::Databases
            | W::Tables { .. }
            | W::TableStatus { .. }
            | W::OpenTables { .. }
            | W::Columns { .. }
            | W::Index { .. }
            | W::Triggers { .. }
            | W::Events { .. }
            | W::RoutineStatus(_)
            | W::CountWarnings
            | W::CountErrors
            | W::Engines
            | W::CharacterSets
            | W::Collations
            | W::Plugins
    )
}

/// DESCRIBE: the columns of a table, perhaps only those that a pattern names.
pub(crate) fn describe(
    cx: &mut Context,
    table: &ObjectName,
    column: Option<&Text>,
    sink: &mut dyn ResultSink,
) -> Result<()> {
    begin_transaction(cx);
    let mut listing = objects::columns(cx, table, false)?;
    if let Some(pattern) = column {
        listing.filter(&ShowFilter::Like(pattern.clone()), cx)?;
    }
    cx.statement.status.found_rows = listing.rows().len() as u64;
    listing.send(cx, sink)
}

/// What a SHOW shows, unfiltered.
fn listing(cx: &mut Context, what: &ShowWhat) -> Result<Listing> {
    use ShowWhat as W;
    Ok(match what {
        W::Variables { global } => variables::variables(cx, *global),
        W::Status { global } => variables::status(cx, *global),
        W::Databases => objects::databases(cx),
        W::Tables { database, full, .. } => objects::tables(cx, database.as_deref(), *full)?,
        W::TableStatus { database } => objects::table_status(cx, database.as_deref())?,
        W::OpenTables { database } => objects::open_tables(cx, database.as_deref()),
        W::Columns { extended: true, .. } | W::Index { extended: true, .. } => {
            return Err(SqlError::unsupported("SHOW EXTENDED of columns and indexes"));
        }
        W::Columns { table, full, .. } => objects::columns(cx, table, *full)?,
        W::Index { table, .. } => objects::indexes(cx, table)?,
        W::Triggers { database, .. } => objects::triggers(cx, database.as_deref())?,
        W::Events { database } => objects::events(cx, database.as_deref())?,
        W::RoutineStatus(kind) => objects::routines(cx, *kind),
        W::CreateDatabase { name, if_not_exists } => create::database(cx, name, *if_not_exists)?,
        W::CreateTable(name) => create::table(cx, name)?,
        W::CreateView(name) => create::view(cx, name)?,
        W::CreateRoutine(kind, name) => create::routine(cx, *kind, name)?,
        W::CreateUser(account) => create::user(cx, account)?,
        W::CreateTrigger(name) => create::trigger(cx, name)?,
        W::CreateEvent(name) => create::event(cx, name)?,
        W::BinaryLogs => binary_log::files(cx),
        W::BinaryLogStatus => binary_log::status(cx)?,
        W::Warnings { limit: some } => limited(cx, false, some.as_ref())?,
        W::Errors { limit: some } => limited(cx, true, some.as_ref())?,
        W::CountWarnings => server::condition_count(cx, false),
        W::CountErrors => server::condition_count(cx, true),
        W::ProcessList { full } => server::processes(cx, *full),
        W::Engines => server::engines(),
        W::EngineStatus { engine, what } => engine::status(cx, engine.as_ref(), *what)?,
        W::CharacterSets => server::character_sets(),
        W::Collations => server::collations(),
        W::Plugins => server::plugins(),
        W::Privileges => accounts::privileges(),
        W::Grants { user, using } if using.is_empty() => {
            accounts::grants(cx, user.as_ref().unwrap_or(&Account::CurrentUser))?
        }
        W::Grants { .. } => return Err(SqlError::unsupported("roles")),
        W::Replicas => replication::replicas(cx),
        W::ReplicaStatus { channel, old_names } => {
            replication::replica_status(cx, channel.as_ref(), *old_names)?
        }
        W::RelaylogEvents { events, channel } => {
            replication::relaylog_events(cx, events.file.as_ref(), channel.as_ref())?
        }
        W::RoutineCode(..) => {
            let (what, how) = ("SHOW PROCEDURE|FUNCTION CODE", "--with-debug");
            return Err(error::FEATURE_DISABLED.with(&[&what, &how]));
        }
        W::Profiles | W::Profile { .. } => return Err(SqlError::unsupported("profiling")),
        W::ParseTree(_) => return Err(SqlError::unsupported("SHOW PARSE_TREE")),
        W::BinlogEvents(_) => return Err(SqlError::internal("SHOW BINLOG EVENTS is no listing")),
    })
}

fn limited(cx: &mut Context, errors: bool, given: Option<&Limit>) -> Result<Listing> {
    let (skip, count) = limit(cx, given)?;
    let mut listing = server::conditions(cx, errors);
    listing.limit(skip, count);
    Ok(listing)
}

/// LIMIT as rows to skip and rows to show.
fn limit(cx: &mut Context, limit: Option<&Limit>) -> Result<(u64, u64)> {
    let Some(limit) = limit else { return Ok((0, u64::MAX)) };
    let skip = match &limit.offset {
        Some(offset) => super::number(cx, offset)?,
        None => 0,
    };
    Ok((skip, super::number(cx, &limit.count)?))
}

/// Which counter a SHOW counts.
pub(crate) fn counter(what: &ShowWhat) -> Counter {
    use Counter as C;
    use RoutineKind as R;
    use ShowWhat as W;
    match what {
        W::Databases => C::ComShowDatabases,
        W::Tables { .. } => C::ComShowTables,
        W::TableStatus { .. } => C::ComShowTableStatus,
        W::OpenTables { .. } => C::ComShowOpenTables,
        W::Columns { .. } => C::ComShowFields,
        W::Index { .. } => C::ComShowKeys,
        W::Triggers { .. } => C::ComShowTriggers,
        W::Events { .. } | W::CreateEvent(_) => C::ComShowEvents,
        W::CreateDatabase { .. } => C::ComShowCreateDb,
        W::CreateTable(_) | W::CreateView(_) => C::ComShowCreateTable,
        W::CreateRoutine(R::Function, _) => C::ComShowCreateFunc,
        W::CreateRoutine(..) => C::ComShowCreateProc,
        W::CreateTrigger(_) => C::ComShowCreateTrigger,
        W::CreateUser(_) => C::ComShowCreateUser,
        W::RoutineStatus(R::Function) | W::RoutineCode(R::Function, _) => C::ComShowFunctionStatus,
        W::RoutineStatus(_) | W::RoutineCode(..) => C::ComShowProcedureStatus,
        W::Variables { .. } => C::ComShowVariables,
        W::Status { .. } => C::ComShowStatus,
        W::BinaryLogs => C::ComShowBinlogs,
        W::BinaryLogStatus => C::ComShowBinaryLogStatus,
        W::BinlogEvents(_) => C::ComShowBinlogEvents,
        W::RelaylogEvents { .. } => C::ComShowRelaylogEvents,
        W::Warnings { .. } | W::CountWarnings => C::ComShowWarnings,
        W::Errors { .. } | W::CountErrors => C::ComShowErrors,
        W::ProcessList { .. } => C::ComShowProcesslist,
        W::Engines => C::ComShowStorageEngines,
        W::EngineStatus { .. } => C::ComShowEngineStatus,
        W::CharacterSets => C::ComShowCharsets,
        W::Collations => C::ComShowCollations,
        W::Grants { .. } => C::ComShowGrants,
        W::Plugins => C::ComShowPlugins,
        W::Privileges => C::ComShowPrivileges,
        W::Replicas => C::ComShowReplicas,
        W::ReplicaStatus { .. } => C::ComShowReplicaStatus,
        W::Profiles => C::ComShowProfiles,
        W::Profile { .. } | W::ParseTree(_) => C::ComShowProfile,
    }
}
