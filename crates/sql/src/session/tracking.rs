//! Session-state tracking: what a statement changed in the session, for clients that asked to be told with its OK
//! (CLIENT_SESSION_TRACK).
//!
//! Statements note what they change while they run; nothing is noted for clients that do not ask. What is told of it is
//! decided at the end, by the settings `session_track_system_variables`, `session_track_schema` and
//! `session_track_state_change` as they are then.

use super::{Context, variables};
use crate::sink::StateChange;
use crate::variables::{VariableId, ids};

/// What the running statement changed so far.
#[derive(Debug, Default)]
pub struct Tracker {
    /// The client asked to be told.
    on: bool,
    variables: Vec<VariableId>,
    schema: bool,
    /// Anything that another session would have to be given too.
    state: bool,
}

impl Tracker {
    /// Starts or stops taking notes.
    pub fn switch(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    /// A variable of the session was set.
    pub fn variable(&mut self, id: VariableId) {
        if self.on && !self.variables.contains(&id) {
            self.variables.push(id);
        }
        self.state();
    }

    /// The default database was chosen.
    pub fn schema(&mut self) {
        self.schema |= self.on;
        self.state();
    }

    /// Something else of the session changed: a user variable, a prepared statement.
    pub fn state(&mut self) {
        self.state |= self.on;
    }

    fn is_empty(&self) -> bool {
        !self.state && !self.schema && self.variables.is_empty()
    }
}

/// What the client is told of the notes, which are forgotten.
pub(super) fn take_changes(cx: &mut Context) -> Vec<StateChange> {
    if cx.tracker.is_empty() {
        return Vec::new();
    }
    let on = cx.tracker.on;
    let notes = std::mem::replace(&mut cx.tracker, Tracker { on, ..Tracker::default() });
    let mut changes = Vec::new();
    for id in notes.variables {
        if is_tracked(cx.variables().text(ids::SESSION_TRACK_SYSTEM_VARIABLES), id.variable().name())
            && let Some(value) = variables::shown(cx, id, false)
        {
            changes.push(StateChange::Variable(id.variable().name(), value));
        }
    }
    if notes.schema && cx.variables().bool(ids::SESSION_TRACK_SCHEMA) {
        changes.push(StateChange::Schema(cx.default_database().unwrap_or_default().to_owned()));
    }
    if notes.state && cx.variables().bool(ids::SESSION_TRACK_STATE_CHANGE) {
        changes.push(StateChange::State);
    }
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
