//! What can go wrong in a transaction.

use binlog::log::{CommitError, LogError};
use binlog::row::RowError;

use crate::error::StoreError;
use crate::key::KeyError;
use crate::lock::LockError;

/// Why a transaction could not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransactionError {
    /// A lock was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another row has this key already (1062).
    #[error("duplicate entry for key {index_name}")]
    DuplicateKey {
        /// The index, numbered as by `TableSchema::index`.
        index: usize,
        /// As messages have it, without the table.
        index_name: String,
        /// The primary key of the row that has it, for REPLACE and ON DUPLICATE KEY UPDATE.
        existing: Vec<u8>,
    },
    /// The changes take more memory than a transaction may (1197).
    #[error("the transaction's changes take more than {limit} bytes")]
    TooLarge {
        /// The setting that bounds them, in bytes.
        limit: usize,
    },
    /// The file that the events of a large transaction go to can't be written.
    #[error(transparent)]
    Log(LogError),
    /// The row was changed without having been read under its lock: an error of the caller's (X3).
    #[error("a row was changed without having been locked")]
    NotLocked,
    /// The row is not any more what the caller takes it for; the transaction itself has changed it
    /// since (X2).
    #[error("a row was changed by way of an outdated image")]
    Stale,
    /// The row image or a key does not fit the schema.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A stored row does not fit the definition of its time.
    #[error("a row of an earlier definition of its table is damaged: {0}")]
    Row(#[from] RowError),
    /// The store could not read, or does not take writes now.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log refused the commit, or its fate is unknown.
    #[error(transparent)]
    Commit(#[from] CommitError),
}
