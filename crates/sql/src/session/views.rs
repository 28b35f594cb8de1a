//! Views as a session uses them: found, locked, and found to be the same again.
//!
//! A statement that uses a view holds its metadata lock until the transaction ends, as it does with
//! tables. Within a view names mean what all sessions share: temporary tables hide no table there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Context;
use crate::catalog::metadata_lock::MetadataLockType;
use crate::catalog::{TableDef, ViewDef, check_not_system, database_or};
use crate::system_schemas;
use datum::error::{self, Result};

impl Context {
    /// The view of this name, for a statement that reads it: its definition stays as it is until
    /// the transaction ends.
    pub(crate) fn open_view(&mut self, database: Option<&str>, name: &str) -> Result<Option<Arc<ViewDef>>> {
        let database = database_or(database, self.default_database())?.to_owned();
        loop {
            let Some(view) = self.catalog().view(&database, name) else { return Ok(None) };
            let held = self.transaction().tables.iter().any(|guard| guard.is_of(&view.lock));
            if held || self.locks.tables.kind_of(&view.lock).is_some() {
                return Ok(Some(view));
            }
            self.publish_transaction();
            let guard = self.lock_metadata(&view.lock, MetadataLockType::Read, false, &[])?;
            // DDL may have been faster.
            if self.is_current_view(&view) {
                self.transactions.published.holds(&view.lock, guard.kind());
                self.transaction().tables.push(guard);
                return Ok(Some(view));
            }
        }
    }

    /// The view of this name, for looking at its definition.
    pub(crate) fn visible_view(&self, database: Option<&str>, name: &str) -> Option<Arc<ViewDef>> {
        if self.temporary_table(database, name).is_some() {
            return None;
        }
        self.catalog().view(database.or(self.default_database())?, name)
    }

    /// A table that a view reads, though the session may have one of its own under that name.
    pub(crate) fn open_shared_table(&mut self, database: &str, name: &str) -> Result<Arc<TableDef>> {
        check_not_system(database)?;
        self.track_table(MetadataLockType::Read);
        self.publish_transaction();
        self.open_stored(database, name, MetadataLockType::Read)
    }

    /// The same for a table that a view is changed through to.
    pub(crate) fn open_shared_table_to_write(&mut self, database: &str, name: &str) -> Result<Arc<TableDef>> {
        check_not_system(database)?;
        self.track_table(MetadataLockType::Write);
        self.publish_transaction();
        self.open_stored(database, name, MetadataLockType::Write)
    }

    /// True if this is still the view's definition.
    pub(super) fn is_current_view(&self, view: &Arc<ViewDef>) -> bool {
        self.catalog().view(&view.database, &view.name).is_some_and(|now| Arc::ptr_eq(&now, view))
    }

    /// Opens the views of a plan once more; false if the plan may not be theirs any more. It was
    /// when the catalog's definitions had the number `definitions`: what a definer may do, and what
    /// the views are about, is one of these.
    pub(crate) fn reopen_views(&mut self, views: &[Arc<ViewDef>], definitions: u64) -> Result<bool> {
        if views.is_empty() {
            return Ok(true);
        }
        // A session's own table could have taken the name of a view.
        if self.has_temporary_tables() {
            return Ok(false);
        }
        for view in views {
            let now = self.open_view(Some(&view.database), &view.name)?;
            if !now.is_some_and(|now| Arc::ptr_eq(&now, view)) {
                return Ok(false);
            }
        }
        Ok(self.catalog().definitions_epoch().load(Ordering::Acquire) == definitions)
    }

    /// The tables and views that a view leads to, by database and name; none if it is no view.
    /// Error 1356 if one is not there.
    pub(super) fn below_view(&self, database: &str, name: &str) -> Result<BTreeSet<(String, String)>> {
        let state = self.catalog().state();
        let Some(view) = state.view(database, name) else { return Ok(BTreeSet::new()) };
        let tree = view.tree()?;
        let below = state.below_view(&tree)?;
        let is_stored = |(database, _): &(String, String)| !system_schemas::is_reserved(database);
        let below: BTreeSet<(String, String)> = below.into_iter().filter(is_stored).collect();
        let is_there = |(database, name): &(String, String)| {
            state.table(database, name).is_some() || state.view(database, name).is_some()
        };
        match below.iter().all(is_there) {
            true => Ok(below),
            false => Err(error::VIEW_INVALID.with(&[&view.database, &view.name])),
        }
    }
}
