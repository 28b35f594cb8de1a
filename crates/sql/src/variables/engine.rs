//! The variables that are settings of log and store: how the engine is opened with them, and how it
//! follows their changes.

use super::error::VariableError;
use super::global::GlobalVariables;
use super::ids;
use super::value::Value;
use binlog::gtid::Uuid;
use binlog::log::{Log, LogOptions};
use std::sync::{Arc, Weak};
use std::time::Duration;
use storage::EngineOptions;
use storage::lock::LockManager;

/// The engine's options as the server starts. `base_name` stands in front of the log files'
/// numbers.
pub(crate) fn engine_options(globals: &GlobalVariables, base_name: &str, server_uuid: Uuid) -> EngineOptions {
    let usize_of = |id| usize::try_from(globals.uint(id)).unwrap_or(usize::MAX);
    let mut options = EngineOptions::new(log_options(globals, base_name, server_uuid));
    options.memtable_size = usize_of(ids::DURAMEN_MEMTABLE_SIZE);
    options.memtables_max = usize_of(ids::DURAMEN_MEMTABLES_MAX);
    options.block_cache_size = usize_of(ids::INNODB_BUFFER_POOL_SIZE);
    options.log_distance_max = globals.uint(ids::DURAMEN_RECOVERY_DISTANCE_MAX);
    options.locks_max = usize_of(ids::DURAMEN_ROW_LOCKS_MAX);
    options.transaction_size_max = usize_of(ids::DURAMEN_TRANSACTION_SIZE_MAX);
    options
}

fn log_options(globals: &GlobalVariables, base_name: &str, server_uuid: Uuid) -> LogOptions {
    let u32_of = |id| u32::try_from(globals.uint(id)).unwrap_or(u32::MAX);
    let mut options = LogOptions::new(u32_of(ids::SERVER_ID), server_uuid, &globals.text(ids::VERSION));
    base_name.clone_into(&mut options.base_name);
    options.max_binlog_size = globals.uint(ids::MAX_BINLOG_SIZE);
    options.binlog_prealloc_num = u32_of(ids::BINLOG_PREALLOC_NUM);
    options.binlog_large_commit_threshold = globals.uint(ids::BINLOG_LARGE_COMMIT_THRESHOLD);
    options.binlog_transaction_dependency_history_size =
        usize::try_from(globals.uint(ids::BINLOG_TRANSACTION_DEPENDENCY_HISTORY_SIZE)).unwrap_or(usize::MAX);
    options.sync_binlog = u32_of(ids::SYNC_BINLOG);
    options.trx_commit = trx_commit(globals);
    options.binlog_group_commit_sync_delay = globals.uint(ids::BINLOG_GROUP_COMMIT_SYNC_DELAY);
    options.binlog_group_commit_sync_no_delay_count = no_delay_count(globals);
    options.slow_commit = Duration::from_secs_f64(globals.double(ids::DURAMEN_SLOW_COMMIT_TIME));
    options
}

/// From now on `SET GLOBAL` of the log's settings changes the log.
pub(crate) fn follow(globals: &Arc<GlobalVariables>, log: &Arc<Log>) {
    on_change(globals, log, ids::SYNC_BINLOG, |log, n| {
        log.set_sync_binlog(u32::try_from(n).unwrap_or(u32::MAX))
    });
    on_change(globals, log, ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT, |log, n| log.set_trx_commit(n as u8));
    on_change(globals, log, ids::MAX_BINLOG_SIZE, Log::set_max_binlog_size);
    on_change(globals, log, ids::BINLOG_LARGE_COMMIT_THRESHOLD, Log::set_large_commit_threshold);
    on_change(globals, log, ids::BINLOG_TRANSACTION_DEPENDENCY_HISTORY_SIZE, |log, keys| {
        log.set_dependency_history_size(usize::try_from(keys).unwrap_or(usize::MAX));
    });
    on_change(globals, log, ids::BINLOG_PREALLOC_NUM, |log, n| {
        log.set_prealloc_num(u32::try_from(n).unwrap_or(u32::MAX));
    });
    let encrypted = Arc::downgrade(log);
    globals.on_change(ids::BINLOG_ENCRYPTION, move |value| {
        let (Some(log), Value::Bool(encrypts)) = (Weak::upgrade(&encrypted), value) else { return Ok(()) };
        match log.set_encryption(*encrypts) {
            Ok(true) => Ok(()),
            Ok(false) => Err(VariableError::NoBinlogKey),
            Err(e) => Err(VariableError::Rotation(e.to_string())),
        }
    });
    let slow = Arc::downgrade(log);
    globals.on_change(ids::DURAMEN_SLOW_COMMIT_TIME, move |value| {
        if let (Some(log), Value::Double(seconds)) = (Weak::upgrade(&slow), value) {
            log.set_slow_commit(Duration::from_secs_f64(*seconds));
        }
        Ok(())
    });
    let other = Arc::downgrade(globals);
    on_change(globals, log, ids::BINLOG_GROUP_COMMIT_SYNC_DELAY, move |log, micros| {
        if let Some(globals) = Weak::upgrade(&other) {
            log.set_group_commit_delay(micros, no_delay_count(&globals));
        }
    });
    let other = Arc::downgrade(globals);
    on_change(globals, log, ids::BINLOG_GROUP_COMMIT_SYNC_NO_DELAY_COUNT, move |log, count| {
        if let Some(globals) = Weak::upgrade(&other) {
            let micros = globals.uint(ids::BINLOG_GROUP_COMMIT_SYNC_DELAY);
            log.set_group_commit_delay(micros, usize::try_from(count).unwrap_or(usize::MAX));
        }
    });
}

/// From now on `SET GLOBAL duramen_gather_hot_rows` changes the locks' ways.
pub(crate) fn follow_locks(globals: &GlobalVariables, locks: &Arc<LockManager>) {
    locks.set_gathering(globals.bool(ids::DURAMEN_GATHER_HOT_ROWS));
    let locks = Arc::downgrade(locks);
    globals.on_change(ids::DURAMEN_GATHER_HOT_ROWS, move |value| {
        if let (Some(locks), Value::Bool(is_on)) = (Weak::upgrade(&locks), value) {
            locks.set_gathering(*is_on);
        }
        Ok(())
    });
}

fn on_change(
    globals: &GlobalVariables,
    log: &Arc<Log>,
    id: super::VariableId,
    apply: impl Fn(&Log, u64) + Send + Sync + 'static,
) {
    // The variables outlive the log.
    let log = Arc::downgrade(log);
    globals.on_change(id, move |value| {
        if let (Some(log), Value::UInt(n)) = (Weak::upgrade(&log), value) {
            apply(&log, *n);
        }
        Ok(())
    });
}

fn trx_commit(globals: &GlobalVariables) -> u8 {
    globals.uint(ids::INNODB_FLUSH_LOG_AT_TRX_COMMIT) as u8
}

fn no_delay_count(globals: &GlobalVariables) -> usize {
    usize::try_from(globals.uint(ids::BINLOG_GROUP_COMMIT_SYNC_NO_DELAY_COUNT)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::variables::Assigned;
    use env::SimEnv;
    use std::path::Path;

    #[test]
    fn the_log_opens_with_the_variables_and_follows_them() {
        let globals = Arc::new(GlobalVariables::new());
        globals.set_option(ids::SYNC_BINLOG, Some("7")).unwrap();
        globals.set_option(ids::MAX_BINLOG_SIZE, Some("64K")).unwrap();
        let mut options = engine_options(&globals, "mysql-bin", Uuid([1; 16])).log;
        assert_eq!((options.sync_binlog, options.trx_commit, options.max_binlog_size), (7, 1, 65_536));
        assert!(options.server_version.starts_with("8.4.8-duramen-"));
        options.background = false;
        let (log, _) = Log::open(Arc::new(SimEnv::new(1)), Path::new("/data"), options).unwrap();
        follow(&globals, &log);
        assert_eq!(log.files()[0].name, "mysql-bin.000001");
        globals.set(ids::BINLOG_PREALLOC_NUM, &Assigned::Int(3), false).unwrap();
        log.maintain().unwrap();
        assert_eq!(log.pool_files(), 3);
        drop(log);
        globals.set(ids::SYNC_BINLOG, &Assigned::Int(1), false).unwrap();
    }
}
