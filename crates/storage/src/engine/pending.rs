//! A commit from the log's queue to its outcome: what the log's leader does for it, and what its
//! session does afterwards. The steps are those of `engine.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binlog::LogPosition;
use binlog::log::{CommitError, CommitHook, Committed, Ticket};

use super::{EngineStatus, Shared};
use crate::batch::WriteBatch;
use crate::large::CommitChanges;
use crate::lock::TransactionLocks;
use crate::store::{GapsDue, Store};
use crate::temporary::Temporary;
use crate::transaction::TransactionError;

/// A transaction in the log's queue. Its position is assigned when somebody waits for it or for a
/// later one.
#[must_use = "a commit is acknowledged by waiting for it"]
pub struct PendingCommit {
    pub(super) ticket: Ticket,
    /// Locks that the session releases after its ticket returns: too many for the leader.
    pub(super) late_locks: Option<Box<TransactionLocks>>,
    pub(super) shared: Arc<Shared>,
    /// Deleted keys around which it records gaps (`gaps.rs`).
    pub(super) learn: Option<Box<(Arc<Store>, GapsDue)>>,
    /// What it changed in temporary trees.
    pub(super) temporary: Option<Box<(Arc<Temporary>, WriteBatch)>>,
}

impl PendingCommit {
    /// Applies `batch` to the temporary tables once the logged changes are committed.
    pub(crate) fn with_temporary(mut self, temporary: Arc<Temporary>, batch: WriteBatch) -> Self {
        self.temporary = Some(Box::new((temporary, batch)));
        self
    }

    /// Steps 2 to 4: waits until the log has published the transaction, and returns its position
    /// and GTID.
    ///
    /// # Errors
    /// Those of `binlog::log::Ticket::wait`.
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

    /// As [`PendingCommit::wait`], but does not block: `complete` is called once, either here or by
    /// the thread that makes the transaction durable. See [`Ticket::on_complete`].
    pub fn on_complete(self, complete: impl FnOnce(Result<Committed, TransactionError>) + Send + 'static) {
        if self.late_locks.is_some() || self.learn.is_some() || self.temporary.is_some() {
            // The log's leader must not do this work for the session: block instead.
            return complete(self.wait());
        }
        let shared = self.shared;
        self.ticket.on_complete(move |outcome| {
            count(&shared.status, &outcome);
            complete(outcome.map_err(TransactionError::from));
        });
    }

    /// As [`PendingCommit::on_complete`], but the calling thread leads no group. Blocks only where
    /// locks would be held until then that the next transaction may ask for. What is left to do
    /// once the transaction is durable is returned.
    pub fn complete_in_background(
        mut self,
        complete: impl FnOnce(Result<Committed, TransactionError>) + Send + 'static,
    ) -> Option<GapsToLearn> {
        if self.late_locks.is_some() || self.temporary.is_some() {
            complete(self.wait());
            return None;
        }
        let (shared, learn) = (self.shared, self.learn.take());
        self.ticket.complete_in_background(move |outcome| {
            count(&shared.status, &outcome);
            complete(outcome.map_err(TransactionError::from));
        });
        learn.map(GapsToLearn)
    }
}

/// Deleted keys around which gaps are recorded once their transaction is durable.
pub struct GapsToLearn(Box<(Arc<Store>, GapsDue)>);

impl GapsToLearn {
    /// Records them: the transaction is durable.
    pub fn learn(self) {
        let (store, due) = &*self.0;
        store.learn_gaps(due);
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
    pub(super) changes: CommitChanges,
    pub(super) locks: Option<TransactionLocks>,
}

impl CommitHook for Apply {
    fn ordered(&mut self, position: LogPosition) {
        self.store.write_changes(&mut self.changes, position);
        self.shared.applied.store(position.to_u64(), Ordering::Release);
        self.locks = None; // released only now (Y2)
    }

    fn refused(&mut self) {
        self.locks = None;
    }
}
