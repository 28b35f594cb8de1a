//! Why an instance can't be opened.
//!
//! Each cause keeps its type: [`std::error::Error::source`] leads from an [`OpenError`] down to the
//! log's, the store's or the catalog's error. [`OpenError::to_sql_error`] has what the error log
//! and `duramen check` say of it.

use std::io;

use binlog::log::LogError;
use storage::check::Damage;
use storage::{EngineError, ReplayError, StoreError, Xid};
use thiserror::Error;

use crate::catalog::record;
use datum::error::SqlError;

/// Why an instance can't be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The server's own UUID is unreadable.
    #[error("server_uuid is no UUID")]
    ServerUuid,
    /// Blocks of the catalog's tree can't be read: nothing could be started from the rest, so
    /// nothing was changed (R2 of ARCHITECTURE.md).
    #[error(
        "{} is damaged at byte {}: {}. It holds the catalog, without which nothing can be started. Nothing \
         was changed. Restore a backup or a copy of a replica; `duramen check` tells what is there, `duramen repair` makes \
         a new data directory from the binary log if that goes back far enough",
        .0.file.display(), .0.offset, .0.what
    )]
    CatalogBlock(Damage),
    /// A newer version has written the catalog: nothing was changed (R2 of ARCHITECTURE.md).
    #[error(
        "the catalog is of format {format}, of a newer version than this one, which reads up to {}. Nothing was \
         changed. Start the version that wrote it, or a newer one; 'duramen upgrade-check' tells more",
        record::FORMAT
    )]
    NewerCatalog {
        /// What its record says.
        format: u8,
    },
    /// The log can't be opened.
    #[error("{0}")]
    Log(#[source] LogError),
    /// The store can't be opened.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// Log and tables are not of one server or time: the rest of [`EngineError`].
    #[error("{0}")]
    Apart(#[source] EngineError),
    /// The log can't be replayed, or could not be: then nothing was changed. The catalog's own
    /// reasons are [`crate::catalog::FollowError`], below it.
    #[error("{0}")]
    Replay(#[source] ReplayError),
    /// Trees that nothing uses can't be dropped.
    #[error("trees of an unfinished ALTER TABLE can't be dropped: {0}")]
    Orphans(#[source] StoreError),
    /// The folder of queries' temporary files can't be emptied.
    #[error("{0}")]
    SpillFolder(#[source] io::Error),
    /// A prepared XA transaction's tables can't be locked again.
    #[error("tables of the prepared transaction {} can't be locked: {error}", xid.text())]
    Prepared {
        /// The transaction.
        xid: Xid,
        /// Why.
        #[source]
        error: SqlError,
    },
    /// The first account can't be made.
    #[error("the account root can't be made: {0}")]
    FirstAccount(#[source] SqlError),
}

impl OpenError {
    /// The error as a client would get it, with the sentence that a refused start prints.
    pub fn to_sql_error(&self) -> SqlError {
        match self {
            Self::Orphans(e) => e.clone().into(),
            Self::Prepared { error, .. } | Self::FirstAccount(error) => error.clone(),
            _ => SqlError::internal(self),
        }
    }
}

impl From<EngineError> for OpenError {
    fn from(e: EngineError) -> Self {
        match e {
            EngineError::Log(e) => Self::Log(e),
            EngineError::Store(e) => Self::Store(e),
            EngineError::Replay(e) => Self::Replay(e),
            e @ (EngineError::Apart { .. } | EngineError::OtherLog { .. }) => Self::Apart(e),
        }
    }
}

impl From<OpenError> for SqlError {
    fn from(e: OpenError) -> Self {
        e.to_sql_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogError, FollowError};
    use binlog::LogPosition;
    use std::error::Error as _;

    #[test]
    fn a_cause_is_found_in_its_own_type() {
        let cause = FollowError::from(CatalogError::NewerFormat { format: 9 });
        let error = OpenError::from(EngineError::from(ReplayError::event(LogPosition::ZERO, cause)));
        let follow = error.source().and_then(|replay| replay.source()).expect("the catalog's reason");
        assert!(matches!(
            follow.downcast_ref(),
            Some(FollowError::Catalog(CatalogError::NewerFormat { .. }))
        ));
        assert_eq!(
            SqlError::from(error).to_string(),
            "ERROR 1815 (HY000): Internal error: the transaction that ends at binary log position 0:0 can't be \
             replayed: Internal error: the catalog is of format 9, of a newer version than this one, which reads up to 6"
        );
    }
}
