//! The transaction that a session has open, and what is known of the next one.

use std::sync::Arc;

use binlog::log::Published;
use storage::transaction::Isolation;
use syntax::ast;

use crate::executor::create_start::StartedTable;
use crate::session::open_transaction::OpenTransaction;
use crate::session::transaction::{Characteristics, LastingChanges, SessionTransaction};
use crate::session::xa::Branch;

/// The session's transactions. COMMIT and ROLLBACK end what is open; COM_RESET_CONNECTION rolls it
/// back and forgets the rest.
#[derive(Default)]
pub(crate) struct TransactionState {
    /// The transaction, if one is open.
    pub(crate) open: Option<SessionTransaction>,
    /// How the next transaction differs from the session's settings (SET TRANSACTION without
    /// scope).
    pub(crate) next: Characteristics,
    /// What others may know of the open one.
    pub(in crate::session) published: Arc<OpenTransaction>,
    /// The XA branch that the session runs.
    pub(in crate::session) branch: Option<Branch>,
    /// A table that COMMIT makes.
    pub(crate) started_table: Option<StartedTable>,
}

impl TransactionState {
    /// True inside of a transaction that outlives its statements.
    pub(crate) fn is_explicit(&self) -> bool {
        self.open.as_ref().is_some_and(|t| t.explicit)
    }

    /// What the open transaction has done that ROLLBACK does not take back.
    pub(crate) fn lasting(&self) -> LastingChanges {
        self.open.as_ref().map_or(LastingChanges::default(), |open| open.lasting)
    }

    /// Where the open transaction's snapshot is in the log, if it began WITH CONSISTENT SNAPSHOT.
    pub(crate) fn snapshot_start(&self) -> Option<&Published> {
        self.open.as_ref()?.start.as_ref()
    }

    /// What the open transaction is like, for one that is chained to it.
    pub(crate) fn characteristics(&self) -> Option<Characteristics> {
        let open = self.open.as_ref()?;
        let isolation = match open.storage_transaction.isolation() {
            Isolation::ReadCommitted => ast::Isolation::ReadCommitted,
            Isolation::RepeatableRead => ast::Isolation::RepeatableRead,
            Isolation::Serializable => ast::Isolation::Serializable,
        };
        Some(Characteristics { isolation: Some(isolation), read_only: Some(open.read_only) })
    }
}
