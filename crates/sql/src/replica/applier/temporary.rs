//! Temporary tables that statements of a source's log make: each of the source's sessions has its
//! own, and a table of another session may have the same name.
//!
//! The applier's session has the tables of one of them at a time. They outlive STOP REPLICA, and
//! are gone when the server ends or the source was started anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use storage::temporary::Temporary;

use super::Applier;
use crate::catalog::temporary::{TemporaryTables, trees_of};
use crate::instance::Instance;
use crate::session::Context;

/// The temporary tables of a source's sessions.
pub(crate) struct SourceTemporaryTables {
    store: Arc<Temporary>,
    /// Of each session that has some, but for those that the applier's session has now.
    of_sessions: BTreeMap<u32, TemporaryTables>,
    /// Whose tables the applier's session has.
    present: u32,
    /// When the source was started, in seconds since 1970; 0 while that is not known.
    source_started: u32,
}

impl SourceTemporaryTables {
    fn new(instance: &Instance) -> Self {
        let store = instance.engine().temporary().clone();
        Self { store, of_sessions: BTreeMap::new(), present: 0, source_started: 0 }
    }

    /// The next statement is one of this session of the source.
    fn enter(&mut self, cx: &mut Context, session: u32) {
        if session == self.present {
            return;
        }
        let mut tables = self.of_sessions.remove(&session).unwrap_or_default();
        cx.swap_temporary_tables(&mut tables);
        if !tables.is_empty() {
            self.of_sessions.insert(self.present, tables);
        }
        self.present = session;
    }

    /// The applier's session has none of them any more.
    fn detach(&mut self, cx: &mut Context) {
        // No session of a source has this number.
        self.enter(cx, 0);
        cx.drop_all_temporary();
    }

    fn drop_all(&mut self) {
        for mut tables in std::mem::take(&mut self.of_sessions).into_values() {
            for table in tables.take() {
                self.store.drop_trees(&trees_of(&table));
            }
        }
    }
}

impl Drop for SourceTemporaryTables {
    fn drop(&mut self) {
        self.drop_all();
    }
}

impl Applier {
    /// What a former applier of the channel has left.
    pub(super) fn temporary_of(instance: &Instance, channel: &super::Channel) -> SourceTemporaryTables {
        let left = channel.with(|state| state.temporary.take());
        left.unwrap_or_else(|| SourceTemporaryTables::new(instance))
    }

    /// The next statement is one of this session of the source.
    pub(super) fn enter_source_session(&mut self, session: u32) {
        self.temporary.enter(self.session.context(), session);
    }

    /// A log file begins. `started` is 0, or when the source was started: its sessions of before
    /// are gone, and have not logged that their tables are.
    pub(super) fn source_started(&mut self, started: u32) {
        let before = self.temporary.source_started;
        if started == 0 || started == before {
            return;
        }
        self.temporary.source_started = started;
        if before != 0 {
            self.temporary.detach(self.session.context());
            self.temporary.drop_all();
        }
    }
}

/// The next applier of the channel goes on with them.
impl Drop for Applier {
    fn drop(&mut self) {
        self.abandon_group();
        self.temporary.detach(self.session.context());
        let nothing = SourceTemporaryTables::new(&self.instance);
        let tables = std::mem::replace(&mut self.temporary, nothing);
        if !tables.of_sessions.is_empty() {
            self.channel.with(|state| state.temporary = Some(tables));
        }
    }
}
