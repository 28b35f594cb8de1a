//! What changes the server or other sessions: KILL, FLUSH, RESET, SHUTDOWN.

use crate::instance::Kill;
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{Flush, FlushLock, FlushOption, FlushWhat, Ident, KillWhat, ResetWhat, Text};

/// KILL. Who kills themselves gets error 1317, as from any other's KILL.
pub(crate) fn kill(cx: &mut Context, what: KillWhat, id: u64) -> Result<()> {
    let unknown = || error::NO_SUCH_THREAD.with(&[&id]);
    let process = cx.instance.processes().into_iter().find(|p| p.id == id).ok_or_else(unknown)?;
    if process.user().user != cx.connection.user.user {
        let may = cx.need_any(Privileges::SUPER, "CONNECTION_ADMIN", "CONNECTION_ADMIN");
        let may = may.and_then(|()| cx.need_power_over(process.account()));
        may.map_err(|_| error::KILL_DENIED_ERROR.with(&[&id]))?;
    }
    let what = match what {
        KillWhat::Connection => Kill::Connection,
        KillWhat::Query => Kill::Query,
    };
    match id == cx.connection.id {
        // It is notified before its connection ends.
        true => process.interrupt(what),
        false => process.kill(what),
    }
    cx.check_interrupt()
}

/// FLUSH, which commits first.
pub(crate) fn flush(cx: &mut Context, flush: &Flush) -> Result<()> {
    cx.commit()?;
    match &flush.what {
        // Definitions have no other form than that in memory, so there is nothing to close.
        FlushWhat::Tables { lock: FlushLock::None, tables } => {
            for table in tables {
                let database = crate::catalog::database_or(table.database.as_deref(), cx.default_database())?;
                cx.catalog().table(database, &table.name)?;
            }
            Ok(())
        }
        FlushWhat::Tables { lock: FlushLock::Read, tables } if tables.is_empty() => cx.lock_global(),
        FlushWhat::Tables { lock: FlushLock::Read, tables } => cx.lock_flushed(tables),
        FlushWhat::Tables { lock: FlushLock::Export, .. } => {
            Err(SqlError::unsupported("FLUSH TABLES .. FOR EXPORT"))
        }
        FlushWhat::Options(options) => {
            if let Some(refused) = options.iter().find_map(unsupported) {
                return Err(SqlError::unsupported(refused));
            }
            options.iter().try_for_each(|option| flush_one(cx, option))
        }
    }
}

fn unsupported(option: &FlushOption) -> Option<&'static str> {
    match option {
        FlushOption::UserResources => Some("FLUSH USER_RESOURCES"),
        FlushOption::OptimizerCosts => Some("FLUSH OPTIMIZER_COSTS"),
        FlushOption::Hosts => Some("FLUSH HOSTS"),
        _ => None,
    }
}

fn flush_one(cx: &mut Context, option: &FlushOption) -> Result<()> {
    let log = cx.instance.log();
    match option {
        FlushOption::BinaryLogs => log.rotate().map_err(SqlError::from),
        FlushOption::Logs => {
            cx.instance.statement_logs().reopen_general();
            cx.instance.statement_logs().reopen_slow();
            log.rotate().map_err(SqlError::from)
        }
        FlushOption::GeneralLogs => {
            cx.instance.statement_logs().reopen_general();
            Ok(())
        }
        FlushOption::SlowLogs => {
            cx.instance.statement_logs().reopen_slow();
            Ok(())
        }
        FlushOption::EngineLogs => log.ensure_durable(log.end()).map_err(SqlError::internal),
        FlushOption::Status => {
            cx.instance.status().restart(&cx.statistics.counters);
            Ok(())
        }
        // There are none.
        FlushOption::RelayLogs { channel } => super::replica::channels_of(cx, channel.as_ref()).map(drop),
        FlushOption::Privileges => {
            cx.instance.flush_privileges();
            Ok(())
        }
        // Messages go to standard error.
        _ => Ok(()),
    }
}

pub(crate) fn reset(cx: &mut Context, what: &[ResetWhat]) -> Result<()> {
    let refused = what.iter().find_map(|what| match what {
        ResetWhat::BinaryLogsAndGtids { .. } | ResetWhat::Replica { .. } => None,
        ResetWhat::QueryCache => Some("RESET QUERY CACHE"),
    });
    if let Some(refused) = refused {
        return Err(SqlError::unsupported(refused));
    }
    what.iter().try_for_each(|what| match what {
        ResetWhat::BinaryLogsAndGtids { to } => super::binary_log::reset(cx, to.unwrap_or(1)),
        ResetWhat::Replica { all, channel } => super::replica::reset(cx, *all, channel.as_ref()),
        _ => Ok(()),
    })
}

/// INSTALL PLUGIN: the semi-synchronous source and replica are there without, by MySQL's names;
/// nothing else can be installed.
pub(crate) fn install_plugin(name: &Ident, library: &Text) -> Result<()> {
    const BUILT_IN: [(&str, &str); 4] = [
        ("rpl_semi_sync_source", "semisync_source.so"),
        ("rpl_semi_sync_master", "semisync_master.so"),
        ("rpl_semi_sync_replica", "semisync_replica.so"),
        ("rpl_semi_sync_slave", "semisync_slave.so"),
    ];
    let library = library.to_str_lossy();
    let is_it =
        |&(built_in, of): &(&str, &str)| built_in.eq_ignore_ascii_case(name.as_str()) && of == library;
    if BUILT_IN.iter().any(is_it) {
        return Ok(());
    }
    Err(SqlError::unsupported(format!("the plugin {}", name.as_str())))
}

/// SHUTDOWN: the reply still goes out.
pub(crate) fn shutdown(cx: &mut Context) -> Result<()> {
    cx.instance.request_shutdown();
    Ok(())
}
