//! START and STOP REPLICA.

use std::sync::Arc;
use std::time::Duration;

use super::{channels_of, check_unambiguous};
use crate::replica::channel::{Running, Until};
use crate::replica::{Channel, ReplicaThread};
use crate::session::Context;
use crate::variables::{Assigned, ids};
use binlog::gtid::GtidSet;
use datum::error::{self, Result, SqlError};
use syntax::ast::{ReplicaThreads, StartReplica, Text};

/// How often a session that waits for threads to end looks whether it is killed.
const PAUSE: Duration = Duration::from_millis(100);

/// The threads that a statement names, in the order of MySQL.
fn named(threads: ReplicaThreads) -> impl Iterator<Item = ReplicaThread> {
    let receiver = threads.io.then_some(ReplicaThread::Receiver);
    receiver.into_iter().chain(threads.sql.then_some(ReplicaThread::Applier))
}

/// START REPLICA.
pub(super) fn start(cx: &mut Context, start: &StartReplica) -> Result<()> {
    let instance = cx.instance.clone();
    let channels = instance.channels();
    let _administers = channels.administer()?;
    let channel = start.channel.as_ref();
    if !start.until.is_empty() {
        check_unambiguous(cx, channel)?;
    }
    let login = login(start)?;
    let affected = channels_of(cx, channel)?;
    let has_id = instance.globals().uint(ids::SERVER_ID) != 0;
    if !has_id || affected.iter().any(|channel| channel.with(|state| state.source.host.is_empty())) {
        return Err(error::BAD_REPLICA.plain());
    }
    let until = until(cx, start)?;
    let skip = if start.threads.sql { skip(cx, &affected)? } else { 0 };
    let Some(threads) = channels.threads() else {
        return Err(SqlError::unsupported("START REPLICA in a program that follows no source"));
    };
    if login.is_some() && cx.connection.tls.is_none() {
        cx.statement.diagnostics.note(error::INSECURE_PLAIN_TEXT.plain());
    }
    for channel in affected {
        let is_running = |thread| channel.with(|state| state.thread(thread).running != Running::No);
        if named(start.threads).all(is_running) {
            cx.statement.diagnostics.note(error::REPLICA_CHANNEL_WAS_RUNNING.with(&[&channel.name()]));
            continue;
        }
        for thread in named(start.threads).filter(|thread| !is_running(*thread)) {
            channel.with(|state| match thread {
                ReplicaThread::Receiver => state.login.clone_from(&login),
                ReplicaThread::Applier => {
                    state.until.clone_from(&until);
                    state.skip = skip;
                }
            });
            channel.start(thread, &*threads).map_err(SqlError::internal)?;
        }
    }
    Ok(())
}

/// USER and PASSWORD, which are for the receiver.
fn login(start: &StartReplica) -> Result<Option<(String, String)>> {
    let given = |name: &str| {
        let found = start.connection.iter().rev().find(|(option, _)| option.as_str() == name);
        found.map(|(_, text)| text.to_str_lossy().into_owned())
    };
    if !start.connection.is_empty() && !start.threads.io {
        return Err(error::SQLTHREAD_WITH_SECURE_REPLICA.plain());
    }
    for refused in ["DEFAULT_AUTH", "PLUGIN_DIR"] {
        if given(refused).is_some_and(|value| !value.is_empty()) {
            return Err(SqlError::unsupported(format_args!("{refused} of START REPLICA")));
        }
    }
    Ok(given("USER").map(|user| (user, given("PASSWORD").unwrap_or_default())))
}

/// Where the applier stops.
fn until(cx: &mut Context, start: &StartReplica) -> Result<Option<Until>> {
    if start.until.is_empty() {
        return Ok(None);
    }
    if !start.threads.sql {
        cx.statement.diagnostics.note(error::UNTIL_COND_IGNORED.plain());
        return Ok(None);
    }
    let given = |name: &str| start.until.iter().rev().find(|(option, _)| option.as_str() == name);
    let set = |text: &Text| -> Result<GtidSet> {
        let text = text.to_str_lossy();
        text.parse().map_err(|_| error::MALFORMED_GTID_SET_SPECIFICATION.with(&[&text]))
    };
    if let Some((_, text)) = given("SQL_BEFORE_GTIDS") {
        return Ok(Some(Until::BeforeGtids(set(text)?)));
    }
    if let Some((_, text)) = given("SQL_AFTER_GTIDS") {
        return Ok(Some(Until::AfterGtids(set(text)?)));
    }
    // Transactions are committed in the source's order: there are no gaps, and nothing is missing
    // when the applier begins.
    if given("SQL_AFTER_MTS_GAPS").is_some() {
        return Ok(Some(Until::AfterGtids(GtidSet::new())));
    }
    let relay = [given("RELAY_LOG_FILE"), given("RELAY_LOG_POS")];
    let source = [given("SOURCE_LOG_FILE"), given("SOURCE_LOG_POS")];
    match (source, relay) {
        ([Some((_, file)), Some((_, offset))], [None, None]) if start.until.len() == 2 => {
            let file = file.to_str_lossy().into_owned();
            if !is_numbered(&file) {
                return Err(error::BAD_REPLICA_UNTIL_COND.plain());
            }
            if !cx.instance.globals().bool(ids::SKIP_REPLICA_START) {
                cx.statement.diagnostics.note(error::MISSING_SKIP_REPLICA.plain());
            }
            let offset = offset.to_str_lossy().parse().unwrap_or(u64::MAX);
            Ok(Some(Until::Position { file, offset }))
        }
        ([None, None], [Some(_), Some(_)]) => {
            Err(SqlError::unsupported("UNTIL RELAY_LOG_FILE (there is no relay log)"))
        }
        _ => Err(error::BAD_REPLICA_UNTIL_COND.plain()),
    }
}

/// A log file's name ends in its number.
fn is_numbered(file: &str) -> bool {
    let number = file.rsplit_once('.').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// `sql_replica_skip_counter`, which one applier takes.
fn skip(cx: &mut Context, affected: &[Arc<Channel>]) -> Result<u64> {
    let globals = cx.instance.globals().clone();
    let skip = globals.uint(ids::SQL_REPLICA_SKIP_COUNTER);
    if skip == 0 {
        return Ok(0);
    }
    let idle = |channel: &&Arc<Channel>| channel.with(|state| state.applier.running == Running::No);
    let mut starting = affected.iter().filter(idle);
    let (Some(channel), None) = (starting.next(), starting.next()) else {
        return match affected {
            [_] | [] => Ok(0),
            _ => Err(error::REPLICA_CHANNEL_SQL_SKIP_COUNTER.plain()),
        };
    };
    if channel.with(|state| state.source.auto_position) {
        cx.warn(error::SQL_REPLICA_SKIP_COUNTER_USED_WITH_GTID_MODE_ON.plain());
        return Ok(0);
    }
    globals.set(ids::SQL_REPLICA_SKIP_COUNTER, &Assigned::UInt(0), false).map_err(SqlError::from)?;
    Ok(skip)
}

/// STOP REPLICA: asks the threads to end, and waits until they have, for `rpl_stop_replica_timeout`
/// at the most.
pub(super) fn stop(cx: &mut Context, threads: ReplicaThreads, channel: Option<&Text>) -> Result<()> {
    // A thread that waits for a lock of this session would never end.
    if cx.has_locks() {
        return Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain());
    }
    let affected = channels_of(cx, channel)?;
    let mut stopping = Vec::new();
    for channel in affected {
        let is_running = |thread| channel.with(|state| state.thread(thread).running != Running::No);
        let running: Vec<_> = named(threads).filter(|thread| is_running(*thread)).collect();
        if running.is_empty() {
            cx.statement.diagnostics.note(error::REPLICA_CHANNEL_WAS_NOT_RUNNING.with(&[&channel.name()]));
        }
        running.iter().for_each(|thread| channel.stop(*thread));
        stopping.extend(running.into_iter().map(|thread| (channel.clone(), thread)));
    }
    let mut patience = Duration::from_secs(cx.instance.globals().uint(ids::RPL_STOP_REPLICA_TIMEOUT));
    for (channel, thread) in stopping {
        loop {
            let pause = patience.min(PAUSE);
            if channel.wait_until(pause, |state| state.thread(thread).running == Running::No) {
                break;
            }
            cx.check_interrupt()?;
            patience = patience.saturating_sub(pause);
            if patience.is_zero() {
                return Err(match thread {
                    ReplicaThread::Receiver => error::STOP_REPLICA_IO_THREAD_TIMEOUT.plain(),
                    ReplicaThread::Applier => error::STOP_REPLICA_SQL_THREAD_TIMEOUT.plain(),
                });
            }
        }
    }
    Ok(())
}
