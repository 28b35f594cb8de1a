//! A session that runs an event, and the one that ends it: nobody's clients.

use super::grants::CachedGrants;
use super::{Session, finish_transaction};
use crate::catalog::event::EventDef;
use crate::routine::call;
use crate::variables::{Value, ids};
use datum::error::{self, Result};
use datum::sink::ResultSink;
use syntax::ast::StatementKind;

impl Session {
    /// Runs an event's body with its definer's rights and in its time zone.
    ///
    /// A transaction that the body leaves open is committed, after an error of the body too; one
    /// that was killed is rolled back.
    ///
    /// # Errors
    /// 1449 and 1044 for the definer, and those of its statements and of the commit; 1399 for a
    /// branch of XA that is left open.
    pub(crate) fn run_event(&mut self, event: &EventDef, sink: &mut dyn ResultSink) -> Result<()> {
        stdx::memory::release_deferred();
        let program = event.program()?;
        let zone = Value::Text(event.zone.as_str().into());
        self.cx.change_variables(|v| v.put(ids::TIME_ZONE, zone));
        self.cx.interrupt.statement_begins();
        self.process.begin(&event.body, self.cx.instance.env().monotonic_coarse());
        let bounded = self.cx.begin_bounds();
        self.cx.begin_client_statement(&StatementKind::UnlockTables);
        let outcome = call::run_event(&mut self.cx, &program, &event.definer, sink);
        let outcome = finish_transaction(&mut self.cx, outcome);
        let is_killed = outcome.as_ref().is_err_and(|e| e.is(error::QUERY_INTERRUPTED));
        let outcome = if is_killed { outcome } else { self.cx.commit().and(outcome) };
        self.cx.statement.end();
        drop(bounded);
        self.process.end(self.cx.instance.env().monotonic_coarse(), self.cx.default_database());
        self.cx.interrupt.statement_ended();
        outcome
    }

    /// Runs a statement of the server itself, which may do anything.
    pub(crate) fn execute_unlimited(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> Result<()> {
        self.cx.connection.cached_grants = CachedGrants::everything();
        self.execute(text, sink)
    }
}
