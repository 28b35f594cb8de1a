//! The old source takes no writes any more: one that was the source until now, or one that was cut
//! off and comes back beside its successor.

use super::Failover;
use crate::failover::plan::Plan;
use crate::log_tool::ToolError;
use crate::remote::{Runs, text};

impl Failover<'_> {
    /// Ends the clients' connections to a server that is no source any more, and may not know it:
    /// a commit there waits for an acknowledgement that never comes, and others wait for it.
    fn end_sessions(&mut self, number: usize) -> Result<(), ToolError> {
        let ids = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command NOT LIKE 'Binlog Dump%' \
             AND user NOT IN ('system user', 'event_scheduler', 'unauthenticated user')";
        let rows = self.server(number)?.session.rows(ids)?;
        let ids: Vec<String> = rows.into_iter().filter_map(|row| row.into_iter().next()?.map(text)).collect();
        if !ids.is_empty() {
            self.report(number, &format!("{} connections of clients are ended", ids.len()));
        }
        for id in ids {
            // It may have ended by itself.
            let _ = self.run(number, &format!("KILL {id}"));
        }
        Ok(())
    }

    /// Of a server beside the source: it stays fenced, whatever fails afterwards.
    pub(super) fn fence_returned(&mut self, number: usize) -> Result<(), ToolError> {
        let [super_read_only] = self.server(number)?.session.first("SELECT @@global.super_read_only")?;
        if super_read_only.as_deref() != Some("1") {
            self.end_sessions(number)?;
        }
        let fenced = self.fence(number);
        self.undo.clear();
        fenced.map_err(|error| {
            ToolError::Refused(format!(
                "{error}. If its commits wait for acknowledgements, end that server: it starts with super_read_only = ON of its \
                 configuration, and this command goes on"
            ))
        })
    }

    /// It takes no writes from now on, until that is taken back.
    pub(super) fn fence(&mut self, number: usize) -> Result<(), ToolError> {
        self.report(number, "refuses writes from now on (super_read_only = ON)");
        let wait = self.wait.as_secs().max(1);
        let before =
            self.server(number)?.session.first::<2>("SELECT @@global.read_only, @@global.super_read_only")?;
        let [read_only, super_read_only] = before.map(|value| value.unwrap_or_else(|| "0".to_owned()));
        self.run(number, &format!("SET SESSION lock_wait_timeout = {wait}"))?;
        // In this order: read_only = OFF switches the other off, too.
        if super_read_only == "0" {
            self.undo
                .push((number, format!("SET GLOBAL super_read_only = OFF, GLOBAL read_only = {read_only}")));
        }
        self.run(number, "SET GLOBAL super_read_only = ON")?;
        // These may be committed in spite of it, and would be on this server alone.
        let branches = self.server(number)?.session.rows("XA RECOVER")?.len();
        if branches > 0 {
            return Err(ToolError::Refused(format!(
                "{} has {branches} prepared XA transactions: XA COMMIT or XA ROLLBACK them first (XA RECOVER lists them)",
                self.name(number)
            )));
        }
        Ok(())
    }

    /// Whoever was fenced beside the source has nothing else than it.
    pub(super) fn check_fenced(&mut self, plan: &Plan) -> Result<(), ToolError> {
        for &number in &plan.fenced {
            let mut beyond = self.server(number)?.executed()?;
            beyond.subtract(&self.server(plan.target)?.executed()?);
            if !beyond.is_empty() {
                return Err(ToolError::Refused(format!(
                    "{0} has committed {beyond}, which {1} has not, and could not follow it. {0} refuses writes from now on: make it anew \
                     (duramen replicate, duramen restore), with another server_id",
                    self.name(number),
                    self.name(plan.target)
                )));
            }
        }
        Ok(())
    }
}
