//! Session-state tracking: what a statement changed in the session, for clients that asked to be
//! reported with its OK (CLIENT_SESSION_TRACK).
//!
//! Statements note what they change while they run; nothing is noted for clients that do not ask.
//! What is reported of it is decided at the end, by the settings `session_track_*` as they are
//! then. Transactions have a file of their own.

mod transactions;

use binlog::gtid::{Gtid, GtidSet};

use super::{Context, variables};
use crate::variables::{SessionVariables, VariableId, ids};
use datum::sink::StateChange;
use transactions::Transactions;
pub(crate) use transactions::is_unsafe;

/// What the running statement changed so far.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// The client asked to be notified.
    on: bool,
    variables: Vec<VariableId>,
    schema: bool,
    /// Anything that another session would have to be given too.
    state: bool,
    gtids: Gtids,
    /// What the session has committed.
    own_gtids: GtidSet,
    /// The statement began while all GTIDs were asked for.
    whole: bool,
    /// The client is to be notified of all GTIDs.
    all_gtids: bool,
    /// What transactions have done.
    pub(crate) transactions: Transactions,
}

/// `session_track_gtids`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Gtids {
    #[default]
    Off,
    Own,
    All,
}

impl Tracker {
    /// Starts or stops taking notes.
    pub(super) fn switch(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    /// The settings were changed.
    pub(super) fn configure(&mut self, settings: &SessionVariables) {
        if !self.on {
            return;
        }
        self.gtids = match settings.uint(ids::SESSION_TRACK_GTIDS) {
            0 => Gtids::Off,
            1 => Gtids::Own,
            _ => Gtids::All,
        };
        self.transactions.configure(settings.uint(ids::SESSION_TRACK_TRANSACTION_INFO));
    }

    /// A statement of the client's begins.
    pub(super) fn statement_begins(&mut self) {
        self.whole = self.gtids == Gtids::All;
        self.transactions.statement_begins();
    }

    /// It has succeeded. `committed`: it left no transaction open, and rolled none back.
    pub(super) fn statement_ends(&mut self, has_rows: bool, committed: bool) {
        self.all_gtids |= self.whole && committed;
        self.transactions.statement_ends(has_rows);
    }

    /// The client is to be notified of GTIDs.
    pub(super) fn follows_gtids(&self) -> bool {
        self.gtids != Gtids::Off
    }

    /// A transaction or a definition of the session's is in the log.
    pub(crate) fn committed(&mut self, gtid: Gtid) {
        if self.gtids == Gtids::Own {
            self.own_gtids.add(gtid);
        }
    }

    /// A variable of the session was set.
    pub(crate) fn variable(&mut self, id: VariableId) {
        if self.on && !self.variables.contains(&id) {
            self.variables.push(id);
        }
        self.state();
    }

    /// The default database was chosen.
    pub(crate) fn schema(&mut self) {
        self.schema |= self.on;
        self.state();
    }

    /// Something else of the session changed: a user variable, a prepared statement.
    pub(crate) fn state(&mut self) {
        self.state |= self.on;
    }

    fn is_empty(&self) -> bool {
        !self.state
            && !self.schema
            && self.variables.is_empty()
            && !self.all_gtids
            && self.own_gtids.is_empty()
            && !self.transactions.is_on()
    }
}

/// What is reported to the client of the notes, which are forgotten.
pub(super) fn take_changes(cx: &mut Context) -> Vec<StateChange> {
    if cx.tracker.is_empty() {
        return Vec::new();
    }
    let tracker = &mut cx.tracker;
    let (on, gtids) = (tracker.on, tracker.gtids);
    let transactions = std::mem::take(&mut tracker.transactions);
    let mut notes = std::mem::replace(tracker, Tracker { on, gtids, ..Tracker::default() });
    let mut changes = Vec::new();
    for id in notes.variables {
        if is_tracked(cx.settings.variables().text(ids::SESSION_TRACK_SYSTEM_VARIABLES), id.variable().name())
            && let Some(value) = variables::shown(cx, id, false)
        {
            changes.push(StateChange::Variable(id.variable().name(), value));
        }
    }
    if notes.schema && cx.settings.variables().bool(ids::SESSION_TRACK_SCHEMA) {
        changes.push(StateChange::Schema(cx.default_database().unwrap_or_default().to_owned()));
    }
    if notes.state && cx.settings.variables().bool(ids::SESSION_TRACK_STATE_CHANGE) {
        changes.push(StateChange::State);
    }
    if notes.all_gtids {
        notes.own_gtids = cx.instance.log().gtid_executed();
    }
    if !notes.own_gtids.is_empty() {
        changes.push(StateChange::Gtids(notes.own_gtids.to_string()));
    }
    cx.tracker.transactions = transactions;
    let (locked, next) = (cx.locks.tables.has_tables(), cx.transactions.next);
    cx.tracker.transactions.report(locked, next, &mut changes);
    changes
}

/// True if `name` is in the list of names, or the list is `*`.
fn is_tracked(list: &str, name: &str) -> bool {
    list.split(',').map(str::trim).any(|item| item == "*" || item.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::is_tracked;

    #[test]
    fn lists_of_names() {
        assert!(is_tracked("time_zone, AutoCommit", "autocommit"));
        assert!(is_tracked("*", "autocommit"));
        assert!(!is_tracked("", "autocommit"));
        assert!(!is_tracked("autocommits", "autocommit"));
    }
}
