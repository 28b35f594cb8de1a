//! What a statement's reply waits for inside of a transaction: that what it has read is as durable as the settings ask (C5).
//! The session need not wait for it itself, so that its thread can wait for the client's next command meanwhile.
//!
//! (L1) Nothing of the session runs before it is settled.

use std::sync::Arc;

use super::Context;
use crate::ast::StatementKind;
use crate::error::Result;
use binlog::position::LogPosition;
use storage::Engine;

/// The statement was executed, and its client may not be told yet: it has read through locks up to a position.
#[must_use = "a statement is acknowledged once it is settled"]
pub struct Unsettled(Arc<Engine>, LogPosition);

impl Unsettled {
    /// None if there is nothing to wait for.
    fn read(engine: &Arc<Engine>, newest: LogPosition) -> Option<Self> {
        (engine.log().visible() < newest).then(|| Self(engine.clone(), newest))
    }

    /// Waits until it is as durable as the settings ask.
    fn wait(self) -> Result<()> {
        Ok(self.0.wait_visible(self.1)?)
    }

    /// Does not wait: `witness` is called once, at once or by whoever makes it durable; it must neither block nor panic.
    pub fn leave(self, witness: impl FnOnce(Result<()>) + Send + 'static) {
        self.0.when_visible(self.1, |outcome| witness(outcome.map_err(Into::into)));
    }
}

impl Context {
    /// Whether the reply of a statement, which is the command's last, may be left to others: it is one packet.
    pub(super) fn set_may_leave(&mut self, wanted: bool, kind: &StatementKind) {
        use StatementKind as S;
        self.may_leave = wanted && matches!(kind, S::Insert(_) | S::Update(_) | S::Delete(_));
    }

    /// Waits until what the transaction has read through locks is as durable as the settings ask: nobody is told of a
    /// transaction before (C5).
    pub fn await_locked_reads(&self) -> Result<()> {
        self.locked_reads().map_or(Ok(()), Unsettled::wait)
    }

    /// The same at the end of a statement whose transaction goes on: leaves the wait where it may.
    pub(super) fn await_or_leave_reads(&mut self) -> Result<()> {
        if !self.may_leave {
            return self.await_locked_reads();
        }
        self.unsettled = self.locked_reads();
        Ok(())
    }

    fn locked_reads(&self) -> Option<Unsettled> {
        let open = self.transaction.as_ref()?;
        Unsettled::read(self.database.engine(), open.engine.newest_read())
    }
}
