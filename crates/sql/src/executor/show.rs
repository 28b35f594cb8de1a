//! SHOW, DESCRIBE: a table of values made up from the catalog, the log or the session.
//!
//! Each form makes a [`Listing`]: columns and rows. LIKE tests the first column, WHERE any of them, both here, once for
//! all forms.

mod binlog;
mod objects;
mod server;

use super::output::{Output, OutputColumn};
use super::{Done, ROWS};
use crate::ast::{Explain, Show, ShowFilter, ShowWhat};
use crate::error::{Result, SqlError};
use crate::expression::{Expr, Node, Resolver, Row, Scope, like};
use crate::session::Context;
use crate::sink::ResultSink;
use crate::status::Counter;
use crate::types::Collation;
use crate::value::Datum;

/// Columns and rows of a SHOW statement.
#[derive(Default)]
struct Listing {
    columns: Vec<OutputColumn>,
    rows: Vec<Vec<Datum<'static>>>,
}

impl Listing {
    /// Text columns of these names.
    fn of_texts(names: &[&str]) -> Self {
        Listing { columns: names.iter().map(|n| OutputColumn::text(n, 1024)).collect(), rows: Vec::new() }
    }

    fn push(&mut self, row: Vec<Datum<'static>>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
}

fn text(value: impl Into<String>) -> Datum<'static> {
    Datum::owned(value.into())
}

fn optional(value: Option<impl Into<String>>) -> Datum<'static> {
    value.map_or(Datum::Null, text)
}

/// Runs a SHOW statement.
pub(super) fn execute(cx: &mut Context, show: &Show, sink: &mut dyn ResultSink) -> Result<Done> {
    count(cx, &show.what);
    let listing = listing(cx, &show.what)?;
    send(cx, listing, &show.filter, sink)
}

/// DESCRIBE; EXPLAIN of a statement is yet to come.
pub(super) fn explain(cx: &mut Context, explain: &Explain, sink: &mut dyn ResultSink) -> Result<Done> {
    match explain {
        Explain::Table { table, column } => {
            let listing = objects::columns(cx, table, false)?;
            let filter = column.clone().map_or(ShowFilter::None, ShowFilter::Like);
            send(cx, listing, &filter, sink)
        }
        _ => Err(SqlError::unsupported("EXPLAIN")),
    }
}

fn listing(cx: &mut Context, what: &ShowWhat) -> Result<Listing> {
    use ShowWhat as W;
    match what {
        W::Databases => Ok(objects::databases(cx)),
        W::Tables { database, full, .. } => objects::tables(cx, database.as_deref(), *full),
        W::TableStatus { database } => objects::table_status(cx, database.as_deref()),
        W::Columns { table, full, .. } => objects::columns(cx, table, *full),
        W::Index { table, .. } => objects::indexes(cx, table),
        W::CreateDatabase { name, if_not_exists } => objects::create_database(cx, name, *if_not_exists),
        W::CreateTable(name) => objects::create_table(cx, name),
        W::CreateRoutine(kind, name) => objects::create_routine(cx, *kind, name),
        W::CreateUser(account) => objects::create_user(cx, account),
        W::RoutineStatus(kind) => Ok(objects::routine_status(cx, *kind)),
        W::Triggers { .. } => Ok(objects::triggers()),
        W::Events { .. } => Ok(objects::events()),
        W::OpenTables { .. } => Ok(Listing::of_texts(&["Database", "Table", "In_use", "Name_locked"])),
        W::Variables { global } => Ok(server::variables(cx, *global)),
        W::Status { global } => Ok(server::status(cx, *global)),
        W::Warnings { limit } => server::conditions(cx, false, limit.as_ref()),
        W::Errors { limit } => server::conditions(cx, true, limit.as_ref()),
        W::CountWarnings => Ok(server::count("@@session.warning_count", cx.diagnostics.warning_count())),
        W::CountErrors => Ok(server::count("@@session.error_count", cx.diagnostics.error_count())),
        W::ProcessList { full } => Ok(server::processes(cx, *full)),
        W::Engines => Ok(server::engines()),
        W::CharacterSets => Ok(server::character_sets()),
        W::Collations => Ok(server::collations()),
        W::Grants { user, .. } => server::grants(cx, user.as_ref()),
        W::Plugins => Ok(server::plugins()),
        W::Privileges => Ok(Listing::of_texts(&["Privilege", "Context", "Comment"])),
        W::BinaryLogs => binlog::files(cx),
        W::BinaryLogStatus => binlog::status(cx),
        W::BinlogEvents(events) => binlog::events(cx, events),
        W::Replicas => Ok(Listing::of_texts(&["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"])),
        W::ReplicaStatus { .. } => Ok(Listing::of_texts(&["Replica_IO_State", "Source_Host"])),
        W::CreateView(_) => Err(SqlError::unsupported("views")),
        W::CreateTrigger(_) => Err(SqlError::unsupported("triggers")),
        W::CreateEvent(_) => Err(SqlError::unsupported("events")),
        W::RelaylogEvents { .. } => Err(SqlError::unsupported("relay logs")),
        W::EngineStatus { .. } => Err(SqlError::unsupported("SHOW ENGINE")),
        W::RoutineCode(..) => Err(SqlError::unsupported("SHOW FUNCTION CODE")),
        W::Profiles | W::Profile { .. } => Err(SqlError::unsupported("profiles")),
        W::ParseTree(_) => Err(SqlError::unsupported("SHOW PARSE_TREE")),
    }
}

fn send(cx: &mut Context, listing: Listing, filter: &ShowFilter, sink: &mut dyn ResultSink) -> Result<Done> {
    let condition = match filter {
        ShowFilter::Where(ast) => Some(where_condition(cx, &listing, ast)?),
        _ => None,
    };
    let mut output = Output::begin(cx, sink, listing.columns)?;
    let mut sent = 0;
    for mut row in listing.rows {
        let wanted = match (filter, &condition) {
            (ShowFilter::Like(pattern), _) => {
                let first = row[0].to_bytes();
                like::matches(&first, pattern, Some(b'\\'), Collation(33))?
            }
            (_, Some(condition)) => condition.truth(cx, Row::Values(&row))? == Some(true),
            _ => true,
        };
        if wanted {
            output.row(&mut row)?;
            sent += 1;
        }
    }
    cx.status.found_rows = sent;
    Ok(ROWS)
}

fn where_condition(cx: &mut Context, listing: &Listing, ast: &crate::ast::Expr) -> Result<Expr> {
    let column = |(i, c): (usize, &OutputColumn)| {
        (c.meta.name.as_str().into(), Expr { node: Node::Column { source: 0, column: i }, ty: c.ty })
    };
    let aliases = listing.columns.iter().enumerate().map(column).collect();
    let scope = Scope { aliases, aliases_first: true, clause: "where clause", ..Scope::default() };
    Resolver::new(cx, scope).expr(ast)
}

fn count(cx: &Context, what: &ShowWhat) {
    use ShowWhat as W;
    cx.count(match what {
        W::Databases => Counter::ComShowDatabases,
        W::Tables { .. } => Counter::ComShowTables,
        W::TableStatus { .. } => Counter::ComShowTableStatus,
        W::Columns { .. } => Counter::ComShowFields,
        W::Index { .. } => Counter::ComShowKeys,
        W::CreateDatabase { .. } => Counter::ComShowCreateDb,
        W::CreateTable(_) => Counter::ComShowCreateTable,
        W::CreateRoutine(..) => Counter::ComShowCreateFunc,
        W::Variables { .. } => Counter::ComShowVariables,
        W::Status { .. } => Counter::ComShowStatus,
        W::BinaryLogs => Counter::ComShowBinlogs,
        W::BinaryLogStatus => Counter::ComShowBinaryLogStatus,
        W::BinlogEvents(_) => Counter::ComShowBinlogEvents,
        W::ProcessList { .. } => Counter::ComShowProcesslist,
        W::Engines => Counter::ComShowStorageEngines,
        W::CharacterSets => Counter::ComShowCharsets,
        W::Collations => Counter::ComShowCollations,
        W::Grants { .. } => Counter::ComShowGrants,
        W::Errors { .. } => Counter::ComShowErrors,
        _ => Counter::ComShowWarnings,
    });
}
