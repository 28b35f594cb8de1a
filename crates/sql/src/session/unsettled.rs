//! A commit that the session does not wait for itself, so that its thread can wait for the client's next command meanwhile.
//!
//! (L1) Nothing of the session runs before it is settled: a session would not see its own changes.
//! (L2) Until then it keeps what every commit keeps: its pass, for FLUSH TABLES WITH READ LOCK, and the metadata locks, for a
//!      definition that comes next must see its rows.

use super::Context;
use crate::ast::StatementKind;
use crate::catalog::metadata_lock::Guard;
use crate::catalog::metadata_lock::gate::Pass;
use crate::error::Result;
use binlog::log::Committed;
use storage::PendingCommit;

/// A transaction in the log's queue.
#[must_use = "a commit is acknowledged once it is settled"]
pub struct Unsettled {
    pub(super) pending: PendingCommit,
    pub(super) tables: Vec<Guard>,
    pub(super) pass: Option<Pass>,
}

impl Unsettled {
    /// Waits until it is as durable as the settings ask.
    pub(super) fn wait(self) -> Result<Committed> {
        Ok(self.pending.wait()?)
    }

    /// Does not wait: `witness` is called once, at once or by whoever makes it durable; it must neither block nor panic.
    pub fn leave(self, witness: impl FnOnce(Result<()>) + Send + 'static) {
        let Self { pending, tables, pass } = self;
        pending.leave(move |outcome| {
            drop((tables, pass));
            witness(outcome.map(drop).map_err(Into::into));
        });
    }
}

impl Context {
    /// Whether the commit of a statement, which is the command's last, may be left to others: nothing of the session
    /// waits for its outcome.
    pub(super) fn set_may_leave(&mut self, wanted: bool, kind: &StatementKind) {
        use StatementKind as S;
        self.may_leave = wanted
            && matches!(kind, S::Insert(_) | S::Update(_) | S::Delete(_) | S::Commit(_))
            && !self.tracker.follows_gtids()
            && self.owned_gtid().is_none();
    }

    /// COMMIT, or the end of a statement with autocommit: leaves the commit unsettled where it may.
    pub(crate) fn commit_or_leave(&mut self) -> Result<()> {
        if !self.may_leave || self.has_retired() {
            return self.commit();
        }
        self.refuse_in_branch()?;
        self.unsettled = self.enqueue_open()?;
        Ok(())
    }
}
