//! XA: transactions whose end is decided elsewhere, in two phases.
//!
//! A session runs a branch from XA START to XA PREPARE; then the engine keeps it, whatever becomes
//! of the session, and any session may commit it or roll it back (`xa_detach_on_prepare`, which
//! MySQL has on by default). Until it ends, the tables that it changes keep their definitions.
//!
//! | state | what is allowed |
//! | --- | --- |
//! | ACTIVE | statements; XA END |
//! | IDLE | XA PREPARE, XA COMMIT .. ONE PHASE, XA ROLLBACK |
//! | ROLLBACK ONLY, after a deadlock | XA END, which says so; XA ROLLBACK |

use std::sync::Arc;

use binlog::event::EncodedQuery;
use storage::{FinishedBranch, XID_PART_MAX, Xid};

use super::Context;
use crate::catalog::metadata_lock::Guard;
use crate::statement_class::{StatementClass, commits_implicitly};
use crate::status::Counter;
use datum::error::{self, Result, SqlError};
use syntax::ast::{self, StatementKind, Xa};

/// The branch that a session runs.
pub(crate) struct Branch {
    xid: Xid,
    state: BranchState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchState {
    Active,
    Idle,
    /// The engine has rolled it back already.
    RollbackOnly,
}

impl BranchState {
    fn name(self) -> &'static str {
        match self {
            BranchState::Active => "ACTIVE",
            BranchState::Idle => "IDLE",
            BranchState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

fn not_in(state: &str) -> SqlError {
    error::XAER_RMFAIL.with(&[&state])
}

fn xid_of(given: &ast::Xid) -> Result<Xid> {
    let (gtrid, bqual) = (given.gtrid.to_vec(), given.bqual.to_vec());
    let format = u32::try_from(given.format).ok().filter(|format| *format <= i32::MAX as u32);
    let fits = (1..=XID_PART_MAX).contains(&gtrid.len()) && bqual.len() <= XID_PART_MAX;
    match format {
        Some(format) if fits => Ok(Xid { format, gtrid, bqual }),
        _ => Err(error::XAER_INVAL.plain()),
    }
}

impl Context {
    /// Within a branch: error 1399 for what would end its transaction, and for any statement once
    /// it is idle.
    pub(crate) fn check_branch(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        let Some(branch) = &self.transactions.branch else { return Ok(()) };
        let ends = commits_implicitly(kind)
            || matches!(kind, S::Commit(_) | S::Rollback(_) | S::LockTables(_) | S::LockInstance);
        let rows = matches!(StatementClass::of(kind), StatementClass::Query | StatementClass::Change);
        match branch.state {
            BranchState::RollbackOnly if ends || rows => Err(error::XA_RBROLLBACK.plain()),
            BranchState::Active if !ends => Ok(()),
            _ if ends || rows => Err(not_in(branch.state.name())),
            _ => Ok(()),
        }
    }

    /// Runs an XA statement other than XA RECOVER.
    pub(crate) fn xa(&mut self, statement: &Xa) -> Result<()> {
        match statement {
            Xa::Start { join: true, .. } | Xa::Start { resume: true, .. } => Err(error::XAER_INVAL.plain()),
            Xa::Start { xid, .. } => self.xa_start(xid_of(xid)?),
            Xa::End { suspend: true, .. } | Xa::End { for_migrate: true, .. } => {
                Err(error::XAER_INVAL.plain())
            }
            Xa::End { xid, .. } => self.xa_end(&xid_of(xid)?),
            Xa::Prepare(xid) => self.xa_prepare(&xid_of(xid)?),
            Xa::Commit { xid, one_phase } => self.xa_commit(&xid_of(xid)?, *one_phase),
            Xa::Rollback(xid) => self.xa_rollback(&xid_of(xid)?),
            Xa::Recover { .. } => Err(SqlError::internal("XA RECOVER shows rows")),
        }
    }

    fn xa_start(&mut self, xid: Xid) -> Result<()> {
        self.count(Counter::ComXaStart);
        if let Some(branch) = &self.transactions.branch {
            return Err(not_in(branch.state.name()));
        }
        if self.transactions.is_explicit() || self.locks.tables.has_tables() {
            return Err(error::XAER_OUTSIDE.plain());
        }
        if !self.instance.engine().reserve_xid(&xid) {
            return Err(error::XAER_DUPID.plain());
        }
        let text = xid.text();
        let start = self.bracket_event(format!("XA START {text}").into_bytes());
        self.log.begin_event = Some(Arc::new(EncodedQuery::from(&start)));
        let opened = self.begin(ast::TransactionOptions::default());
        self.log.begin_event = None;
        opened.inspect_err(|_| self.instance.engine().release_xid(&xid))?;
        let end = self.bracket_event(format!("XA END {text}").into_bytes());
        self.storage_transaction().set_xa(xid.clone(), end);
        self.tracker.transactions.is_branch(&xid);
        self.transactions.branch = Some(Branch { xid, state: BranchState::Active });
        Ok(())
    }

    fn xa_end(&mut self, xid: &Xid) -> Result<()> {
        self.count(Counter::ComXaEnd);
        let Some(branch) = &mut self.transactions.branch else { return Err(not_in("NON-EXISTING")) };
        match branch.state {
            BranchState::RollbackOnly => Err(error::XA_RBDEADLOCK.plain()),
            _ if branch.xid != *xid => Err(error::XAER_NOTA.plain()),
            BranchState::Active => {
                branch.state = BranchState::Idle;
                Ok(())
            }
            BranchState::Idle => Err(not_in("IDLE")),
        }
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<()> {
        self.count(Counter::ComXaPrepare);
        match &self.transactions.branch {
            None => return Err(not_in("NON-EXISTING")),
            Some(branch) if branch.state != BranchState::Idle => return Err(not_in(branch.state.name())),
            Some(branch) if branch.xid != *xid => return Err(error::XAER_NOTA.plain()),
            Some(_) => {}
        }
        let _pass = self.enter_commit()?;
        let Some(open) = self.take_transaction() else {
            return Err(SqlError::internal("an XA branch without a transaction"));
        };
        let (transaction, guards) = open.into_parts();
        self.transactions.branch = None;
        // Kept first: from the moment that it is prepared another session may commit it.
        self.instance.hold_branch_locks(xid, guards.into_vec());
        let newest = transaction.newest_read();
        let prepared = transaction.prepare().inspect_err(|_| {
            self.instance.release_branch_locks(xid);
            self.instance.engine().release_xid(xid);
        })?;
        match prepared {
            Some(prepared) => self.committed(prepared.gtid),
            None => {
                self.instance.engine().wait_visible(newest)?;
                self.log_empty()?;
            }
        }
        Ok(())
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<()> {
        self.count(Counter::ComXaCommit);
        let Some(branch) = &self.transactions.branch else {
            return match one_phase && self.is_prepared(xid) {
                true => Err(error::XAER_INVAL.plain()),
                false => self.finish_prepared(xid, true),
            };
        };
        match branch.state {
            _ if branch.xid != *xid => Err(not_in(branch.state.name())),
            BranchState::RollbackOnly => {
                self.end_branch();
                Err(error::XA_RBROLLBACK.plain())
            }
            BranchState::Idle if one_phase => {
                self.commit_open()?;
                self.end_branch();
                Ok(())
            }
            state => Err(not_in(state.name())),
        }
    }

    fn xa_rollback(&mut self, xid: &Xid) -> Result<()> {
        self.count(Counter::ComXaRollback);
        match &self.transactions.branch {
            None => self.finish_prepared(xid, false),
            Some(branch) if branch.xid != *xid || branch.state == BranchState::Active => {
                Err(not_in(branch.state.name()))
            }
            Some(_) => {
                self.end_branch();
                Ok(())
            }
        }
    }

    fn is_prepared(&self, xid: &Xid) -> bool {
        self.instance.engine().prepared().iter().any(|(prepared, _)| prepared == xid)
    }

    fn finish_prepared(&mut self, xid: &Xid, commit: bool) -> Result<()> {
        if self.transactions.is_explicit() {
            return Err(error::XAER_OUTSIDE.plain());
        }
        let _pass = self.enter_commit()?;
        let verb = if commit { "COMMIT" } else { "ROLLBACK" };
        let event = self.bracket_event(format!("XA {verb} {}", xid.text()).into_bytes());
        let engine = self.instance.engine();
        let tables = engine.prepared().into_iter().find(|(prepared, _)| commit && prepared == xid);
        match engine.finish_prepared(xid, commit, self.group_context(), &event, self.log.gtid())? {
            FinishedBranch::Unknown => return Err(error::XAER_NOTA.plain()),
            FinishedBranch::Unchanged => {
                self.instance.release_branch_locks(xid);
                self.log_empty()?;
            }
            FinishedBranch::Logged(committed) => {
                self.instance.release_branch_locks(xid);
                let state = self.catalog().state();
                let tables = tables.iter().flat_map(|(_, names)| names);
                let ids = tables.filter_map(|(database, name)| Some(state.table(database, name)?.id));
                self.note_changes(&ids.collect::<Vec<_>>());
                self.committed(committed.gtid);
            }
        }
        Ok(())
    }

    /// Error 1399 within a branch, which only XA ends.
    pub(super) fn refuse_in_branch(&self) -> Result<()> {
        match &self.transactions.branch {
            Some(branch) => Err(not_in(branch.state.name())),
            None => Ok(()),
        }
    }

    /// The engine has rolled the transaction back, for a deadlock: of a branch only its name is
    /// left.
    pub(super) fn branch_lost(&mut self) {
        if let Some(branch) = &mut self.transactions.branch {
            branch.state = BranchState::RollbackOnly;
        }
    }

    /// Rolls back what is left of the branch, and gives its name back.
    pub(super) fn end_branch(&mut self) {
        if let Some(branch) = self.transactions.branch.take() {
            self.rollback();
            self.instance.engine().release_xid(&branch.xid);
        }
    }
}

/// The metadata locks of prepared branches.
pub(crate) type Branches = std::collections::BTreeMap<Xid, Vec<Guard>>;
