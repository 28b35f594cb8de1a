//! What the layers below say, in MySQL's numbers.

use binlog::log::{CommitError, LogError};
use storage::{LockError, StoreError, TransactionError};

use super::*;

impl From<LockError> for SqlError {
    fn from(e: LockError) -> Self {
        match e {
            LockError::Deadlock | LockError::Aborted => LOCK_DEADLOCK.plain(),
            LockError::WaitTimeout => LOCK_WAIT_TIMEOUT.plain(),
            LockError::WouldBlock => LOCK_NOWAIT.plain(),
            LockError::Interrupted => QUERY_INTERRUPTED.plain(),
            LockError::TooManyLocks => LOCK_TABLE_FULL.plain(),
        }
    }
}

impl From<StoreError> for SqlError {
    fn from(e: StoreError) -> Self {
        if e.is_disk_full() { DISK_FULL.with(&[&e]) } else { SqlError::internal(e) }
    }
}

impl From<LogError> for SqlError {
    fn from(e: LogError) -> Self {
        match e {
            LogError::Purged { .. } | LogError::BadPosition(_) => {
                ERROR_WHEN_EXECUTING_COMMAND.with(&[&"a read of the binary log", &e])
            }
            LogError::InUse(_) => LOG_IN_USE.plain(),
            _ if e.is_disk_full() => DISK_FULL.with(&[&e]),
            _ => ERROR_ON_LOG.with(&[&e]),
        }
    }
}

impl From<CommitError> for SqlError {
    fn from(e: CommitError) -> Self {
        if e.log_error().is_disk_full() { DISK_FULL.with(&[&e]) } else { ERROR_DURING_COMMIT.with(&[&e]) }
    }
}

impl From<TransactionError> for SqlError {
    fn from(e: TransactionError) -> Self {
        match e {
            TransactionError::Lock(e) => e.into(),
            TransactionError::Store(e) => e.into(),
            TransactionError::Log(e) => e.into(),
            TransactionError::Commit(e) => e.into(),
            TransactionError::TooLarge { limit } => TRANS_CACHE_FULL.with(&[&limit]),
            // Whoever changes rows says which row it was; this is for those that don't.
            TransactionError::DuplicateKey { index_name, .. } => DUP_ENTRY.with(&[&"?", &index_name]),
            TransactionError::NotLocked
            | TransactionError::Stale
            | TransactionError::Row(_)
            | TransactionError::Key(_) => SqlError::internal(e),
        }
    }
}

impl From<syntax::ParseError> for SqlError {
    fn from(e: syntax::ParseError) -> Self {
        SqlError { number: e.number, sqlstate: e.sqlstate, naming: Naming::Complete, message: e.message }
    }
}
