//! A commit between the log's queue and its outcome: what the log's leader does for it, and what
//! its session does then. The steps are those of the engine's story.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binlog::log::{CommitError, CommitHook, Committed, Ticket};
use binlog::position::LogPosition;

use super::{EngineStatus, Shared};
use crate::batch::WriteBatch;
use crate::large::Ready;
use crate::lock::TransactionLocks;
use crate::store::{GapsDue, Store};
use crate::temporary::Temporary;
use crate::transaction::TransactionError;

/// A transaction on its way through the log's queue. Its place is fixed when it, or one behind it,
/// is waited for.
#[must_use = "a commit is acknowledged by waiting for it"]
pub struct PendingCommit {
    pub(super) ticket: Ticket,
    /// Released when the ticket is there: too many for the leader.
    pub(super) late_locks: Option<Box<TransactionLocks>>,
    pub(super) shared: Arc<Shared>,
    /// The gaps that it is to learn.
    pub(super) learn: Option<Box<(Arc<Store>, GapsDue)>>,
    /// What it changed in temporary trees.
    pub(super) temporary: Option<Box<(Arc<Temporary>, WriteBatch)>>,
}

impl PendingCommit {
    /// Has changes of temporary trees made once the rest is in the log.
    pub(crate) fn with_temporary(mut self, temporary: Arc<Temporary>, batch: WriteBatch) -> Self {
        self.temporary = Some(Box::new((temporary, batch)));
        self
    }

    /// Steps 2 to 4: what the transaction has become in the log, once it is published.
    pub fn wait(self) -> Result<Committed, TransactionError> {
        let outcome = self.ticket.wait();
        drop(self.late_locks);
        count(&self.shared.status, &outcome);
        let committed = outcome?;
        if let Some((temporary, batch)) = self.temporary.as_deref() {
            temporary.write(batch);
        }
        if let Some((store, due)) = self.learn.as_deref() {
            store.learn_gaps(due);
        }
        Ok(committed)
    }

    /// As [`PendingCommit::wait`], but without sleeping: `witness` is called once, here or by
    /// whoever makes the transaction durable. See [`Ticket::leave`].
    pub fn leave(self, witness: impl FnOnce(Result<Committed, TransactionError>) + Send + 'static) {
        if self.late_locks.is_some() || self.learn.is_some() || self.temporary.is_some() {
            // Work that nobody should do in the middle of the log's.
            return witness(self.wait());
        }
        let shared = self.shared;
        self.ticket.leave(move |outcome| {
            count(&shared.status, &outcome);
            witness(outcome.map_err(TransactionError::from));
        });
    }
}

fn count(status: &EngineStatus, outcome: &Result<Committed, CommitError>) {
    match outcome {
        Ok(_) => status.committed.fetch_add(1, Ordering::Relaxed),
        Err(CommitError::Refused(_)) => status.rolled_back.fetch_add(1, Ordering::Relaxed),
        Err(CommitError::Unknown(_)) => 0,
    };
}

/// Step 2.
pub(super) struct Apply {
    pub(super) store: Arc<Store>,
    pub(super) shared: Arc<Shared>,
    pub(super) changes: Ready,
    pub(super) locks: Option<TransactionLocks>,
}

impl CommitHook for Apply {
    fn ordered(&mut self, position: LogPosition) {
        self.store.write_ready(&mut self.changes, position);
        self.shared.applied.store(position.to_u64(), Ordering::Release);
        self.locks = None; // released only now (Y2)
    }

    fn refused(&mut self) {
        self.locks = None;
    }
}
