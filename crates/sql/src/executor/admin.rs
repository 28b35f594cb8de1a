//! KILL, FLUSH, PURGE BINARY LOGS, SHUTDOWN.

use binlog::FileNumber;

use crate::ast::{self, Flush, FlushOption, FlushWhat, KillWhat, PurgeTo};
use crate::database::Kill;
use crate::error::{self, Result, SqlError};
use crate::expression::{Resolver, Row};
use crate::session::Context;
use crate::status::Counter;

/// KILL.
pub(super) fn kill(cx: &mut Context, what: KillWhat, id: &ast::Expr) -> Result<()> {
    cx.count(Counter::ComKill);
    let scope = crate::routine::scope(cx);
    let expr = Resolver::new(cx, scope).expr(id)?;
    let value = expr.eval(cx, Row::None)?;
    let unknown = || error::NO_SUCH_THREAD.with(&[&String::from_utf8_lossy(&value.to_bytes())]);
    let id = u64::try_from(value.to_integer().value).map_err(|_| unknown())?;
    let process = cx.database.processes().into_iter().find(|p| p.id == id).ok_or_else(unknown)?;
    if process.user().0 != cx.user.0 && !cx.is_administrator() {
        return Err(error::KILL_DENIED_ERROR.with(&[&id]));
    }
    process.kill(match what {
        KillWhat::Query => Kill::Query,
        KillWhat::Connection => Kill::Connection,
    });
    // A session that kills itself ends here.
    cx.check_interrupt()
}

/// FLUSH: logs rotate; for the rest there is nothing to be flushed.
pub(super) fn flush(cx: &mut Context, flush: &Flush) -> Result<()> {
    cx.count(Counter::ComFlush);
    cx.need_administrator("RELOAD")?;
    let options = match &flush.what {
        FlushWhat::Tables { lock: ast::FlushLock::None, .. } => return Ok(()),
        FlushWhat::Tables { .. } => return Err(SqlError::unsupported("FLUSH TABLES WITH READ LOCK")),
        FlushWhat::Options(options) => options,
    };
    for option in options {
        match option {
            FlushOption::BinaryLogs | FlushOption::Logs => cx.database.log().rotate()?,
            FlushOption::RelayLogs { .. } => return Err(SqlError::unsupported("relay logs")),
            _ => {}
        }
    }
    Ok(())
}

/// PURGE BINARY LOGS.
pub(super) fn purge(cx: &mut Context, to: &PurgeTo) -> Result<()> {
    cx.count(Counter::ComPurge);
    cx.need_administrator("SUPER or BINLOG_ADMIN")?;
    let keep = match to {
        PurgeTo::File(name) => file_named(cx, &name.to_str_lossy())?,
        PurgeTo::Before(_) => return Err(SqlError::unsupported("PURGE BINARY LOGS BEFORE")),
    };
    cx.database.engine().purge_log_to(keep).map_err(SqlError::internal)?;
    Ok(())
}

/// The log file of this name; error 1373.
pub(super) fn file_named(cx: &Context, name: &str) -> Result<FileNumber> {
    let files = cx.database.log().files();
    let found = files.iter().find(|f| f.name == name);
    found.map(|f| f.number).ok_or_else(|| error::BINLOG_PURGE_UNKNOWN_LOG.plain())
}

/// SHUTDOWN.
pub(super) fn shutdown(cx: &mut Context) -> Result<()> {
    cx.need_administrator("SHUTDOWN")?;
    cx.database.request_shutdown();
    Ok(())
}
