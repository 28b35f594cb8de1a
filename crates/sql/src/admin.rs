//! Looking around and keeping house: SET, SHOW, KILL, FLUSH, PURGE, SHUTDOWN.
//!
//! - [`set`]: variables. [`show`], [`crate::listing`]: what SHOW shows, and how it is filtered.
//! - [`binary_log`], [`event_info`]: the log as clients see it.
//! - [`control`]: what changes the server or other sessions. [`replica`]: this server as a replica.
//!   [`xa`]: XA RECOVER. [`master_key`]: ALTER INSTANCE ROTATE .. MASTER KEY.
//!
//! Accounts are objects of the catalog: CREATE USER and its like are DDL (`catalog::ddl`).
//!
//! Whether the account may is asked before ([`crate::privilege`]), but for what depends on a
//! statement's arguments.

pub(crate) mod binary_log;
pub(crate) mod control;
mod event_info;
mod master_key;
pub(crate) mod replica;
pub(crate) mod set;
pub(crate) mod show;
#[cfg(test)]
mod tests;
pub(crate) mod xa;

use crate::expression::{Resolver, Row};
use crate::privilege::check_kill_number;
use crate::routine;
use crate::session::Context;
use crate::status::Counter;
use datum::error::Result;
use datum::sink::ResultSink;
use datum::value::Datum;
use syntax::ast::{Explain, PurgeTo, SetItem, Statement, StatementKind};

/// Runs a statement of this kind, and returns whether it had a result set; `None` if it is of
/// another kind.
pub(crate) fn execute(
    cx: &mut Context,
    statement: &Statement,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Option<Result<bool>> {
    use StatementKind as S;
    let (counter, done) = match &statement.kind {
        S::Set(items) if !matches!(items[..], [SetItem::Password { .. }]) => {
            (Counter::ComSetOption, set::set(cx, items, statement.span.of(text)).map(|()| false))
        }
        S::Show(show) => (show::counter(&show.what), show::show(cx, show, sink).map(|()| true)),
        S::Explain(explain) => match &**explain {
            Explain::Table { table, column } => {
                (Counter::ComShowFields, show::describe(cx, table, column.as_ref(), sink).map(|()| true))
            }
            _ => return None,
        },
        S::Kill { what, id } => {
            let id = check_kill_number(id).and_then(|()| number(cx, id));
            (Counter::ComKill, id.and_then(|id| control::kill(cx, *what, id)).map(|()| false))
        }
        S::Flush(flush) => (Counter::ComFlush, control::flush(cx, flush).map(|()| false)),
        S::PurgeBinaryLogs(to) => {
            let counter = match to {
                PurgeTo::File(_) => Counter::ComPurge,
                PurgeTo::Before(_) => Counter::ComPurgeBeforeDate,
            };
            (counter, binary_log::purge(cx, to).map(|()| false))
        }
        S::Reset(what) => (Counter::ComReset, control::reset(cx, what).map(|()| false)),
        S::InstallPlugin { name, library } => {
            (Counter::ComAdminCommands, control::install_plugin(name, library).map(|()| false))
        }
        S::ChangeReplicationSource { .. }
        | S::ChangeReplicationFilter { .. }
        | S::StartReplica(_)
        | S::StopReplica { .. } => {
            let counter = match &statement.kind {
                S::ChangeReplicationSource { .. } => Counter::ComChangeReplicationSource,
                S::ChangeReplicationFilter { .. } => Counter::ComChangeReplFilter,
                S::StartReplica(_) => Counter::ComReplicaStart,
                _ => Counter::ComReplicaStop,
            };
            (counter, replica::execute(cx, &statement.kind).map(|()| false))
        }
        S::RotateMasterKey(of) => (Counter::ComAlterInstance, master_key::rotate(cx, *of).map(|()| false)),
        S::Shutdown => (Counter::ComAdminCommands, control::shutdown(cx).map(|()| false)),
        _ => return None,
    };
    cx.count(counter);
    Some(done)
}

/// The value of an expression that stands in a statement of this kind.
fn evaluate(cx: &mut Context, ast: &syntax::ast::Expr) -> Result<Datum<'static>> {
    let scope = routine::scope(cx);
    let expr = Resolver::new(cx, scope).expr(ast)?;
    Ok(expr.eval(cx, Row::None)?.into_owned())
}

/// The same as a number that is not negative; what is, is as large as can be.
fn number(cx: &mut Context, ast: &syntax::ast::Expr) -> Result<u64> {
    let value = evaluate(cx, ast)?.to_integer().value;
    Ok(u64::try_from(value).unwrap_or(u64::MAX))
}
