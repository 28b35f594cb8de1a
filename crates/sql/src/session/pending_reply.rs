//! Deferred replies: a statement's reply waits for its commit, or until what it has read is as
//! durable as the settings ask (C5 of ARCHITECTURE.md). The session's thread need not wait: it can
//! read the client's next command, and the thread that makes the commit durable sends the reply.
//!
//! (L1) Nothing of the session runs before it is complete: a session would not see its own changes.
//! (L2) Until then a commit holds its pass through the commit barrier, for FLUSH TABLES WITH READ
//!      LOCK, and its metadata locks: DDL that comes next must see its rows.

use std::sync::Arc;

use super::Context;
use crate::catalog::metadata_lock::Guards;
use crate::catalog::metadata_lock::barrier::Pass;
use binlog::LogPosition;
use binlog::log::Committed;
use datum::error::Result;
use storage::engine::GapsToLearn;
use storage::{Engine, PendingCommit};
use syntax::ast::StatementKind;

/// The statement was executed, and its reply may not be sent yet.
#[must_use = "a statement is acknowledged once it is complete"]
pub struct PendingReply(PendingWork);

enum PendingWork {
    /// A transaction in the log's queue, and what it holds (L2).
    Commit { pending: PendingCommit, tables: Guards, pass: Option<Pass> },
    /// It has read, through locks, rows up to this position.
    Read(Arc<Engine>, LogPosition),
}

impl PendingReply {
    pub(super) fn commit(pending: PendingCommit, tables: Guards, pass: Option<Pass>) -> Self {
        Self(PendingWork::Commit { pending, tables, pass })
    }

    /// None if there is nothing to wait for.
    pub(super) fn read(engine: &Arc<Engine>, newest: LogPosition) -> Option<Self> {
        (engine.log().visible() < newest).then(|| Self(PendingWork::Read(engine.clone(), newest)))
    }

    /// Waits until it is as durable as the settings ask; gives the transaction's name, if it was a
    /// commit.
    pub(super) fn wait(self) -> Result<Option<Committed>> {
        match self.0 {
            PendingWork::Commit { pending, .. } => Ok(Some(pending.wait()?)),
            PendingWork::Read(engine, newest) => Ok(engine.wait_visible(newest).map(|()| None)?),
        }
    }

    /// As [`Self::on_complete`], but this thread leads no commit group: see
    /// [`PendingCommit::complete_in_background`].
    pub(super) fn complete_in_background(
        self,
        witness: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Option<GapsToLearn> {
        match self.0 {
            PendingWork::Commit { pending, tables, pass } => pending.complete_in_background(move |outcome| {
                drop((tables, pass));
                witness(outcome.map(drop).map_err(Into::into));
            }),
            read @ PendingWork::Read(..) => {
                Self(read).on_complete(witness);
                None
            }
        }
    }

    /// Does not wait: `witness` is called once, inline or by the thread that makes it durable; it
    /// must neither block nor panic.
    pub fn on_complete(self, witness: impl FnOnce(Result<()>) + Send + 'static) {
        match self.0 {
            PendingWork::Commit { pending, tables, pass } => pending.on_complete(move |outcome| {
                drop((tables, pass));
                witness(outcome.map(drop).map_err(Into::into));
            }),
            PendingWork::Read(engine, newest) => {
                engine.when_visible(newest, |outcome| witness(outcome.map_err(Into::into)));
            }
        }
    }
}

impl Context {
    /// Whether the reply of a statement, which is the command's last, may be deferred: it is OK or
    /// an error, which replaces the OK in the output buffer, and nothing of the session waits for
    /// the outcome.
    pub(super) fn set_may_defer_reply(&mut self, wanted: bool, kind: &StatementKind) {
        use StatementKind as S;
        self.log.may_defer_reply = wanted
            && matches!(kind, S::Insert(_) | S::Update(_) | S::Delete(_) | S::Commit(_))
            && !self.tracker.follows_gtids()
            && self.log.owned_gtid().is_none();
    }

    /// COMMIT, or the end of a statement with autocommit: defers its reply where it may.
    pub(crate) fn commit_or_defer(&mut self) -> Result<()> {
        if !self.log.may_defer_reply || self.has_retired() {
            return self.commit();
        }
        self.refuse_in_branch()?;
        self.log.pending_reply = self.enqueue_open()?;
        Ok(())
    }

    /// Waits until what the transaction has read through locks is as durable as the settings ask:
    /// no client learns of a transaction before (C5 of ARCHITECTURE.md).
    pub(crate) fn await_locked_reads(&self) -> Result<()> {
        self.locked_reads().map_or(Ok(()), |pending_reply| pending_reply.wait().map(drop))
    }

    /// The same at the end of a statement whose transaction goes on: defers the wait where it may.
    pub(super) fn await_or_defer_reads(&mut self) -> Result<()> {
        if !self.log.may_defer_reply {
            return self.await_locked_reads();
        }
        self.log.pending_reply = self.locked_reads();
        Ok(())
    }

    fn locked_reads(&self) -> Option<PendingReply> {
        let open = self.transactions.open.as_ref()?;
        PendingReply::read(self.instance.engine(), open.storage_transaction.newest_read())
    }
}
