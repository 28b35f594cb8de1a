//! The session's temporary tables: how they are found, made and dropped.
//!
//! (T1) A dropped table's trees are given back only when no transaction has changes of them: what a
//!      transaction has done to a table that is dropped within it is still in its write set.

use std::sync::Arc;

use storage::TreeId;

use super::Context;
use crate::catalog::temporary::{TemporaryTables, trees_of, with_trees};
use crate::catalog::{TableDef, database_or};
use datum::error::{self, Result};

/// A session's temporary tables, and what is left of dropped ones.
#[derive(Debug, Default)]
pub(super) struct SessionTemporaryTables {
    pub(super) tables: TemporaryTables,
    /// Trees that go with the open transaction (T1).
    retired: Vec<TreeId>,
}

impl Context {
    /// The session's temporary tables.
    pub(crate) fn temporary_tables(&self) -> &TemporaryTables {
        &self.temporary.tables
    }

    /// True if there are any.
    pub(crate) fn has_temporary_tables(&self) -> bool {
        !self.temporary.tables.is_empty()
    }

    /// The temporary table of this name, if there is one: it hides the other one.
    pub(crate) fn temporary_table(&self, database: Option<&str>, name: &str) -> Option<&Arc<TableDef>> {
        let tables = &self.temporary.tables;
        if tables.is_empty() {
            return None;
        }
        tables.get(database.or(self.default_database())?, name)
    }

    /// A table as the session's statements see it, for looking at its definition; errors 1046, 1049
    /// and 1146.
    pub(crate) fn visible_table(&self, database: Option<&str>, name: &str) -> Result<Arc<TableDef>> {
        match self.temporary_table(database, name) {
            Some(table) => Ok(table.clone()),
            None => self.catalog().table(database_or(database, self.default_database())?, name),
        }
    }

    /// Gives the session other temporary tables, and the caller those that it had.
    pub(crate) fn swap_temporary_tables(&mut self, tables: &mut TemporaryTables) {
        std::mem::swap(&mut self.temporary.tables, tables);
    }

    /// Error 4091 in a branch of XA, which another session may end.
    pub(crate) fn check_temporary(&self) -> Result<()> {
        if self.transactions.branch.is_some() { Err(error::XA_TEMP_TABLE.plain()) } else { Ok(()) }
    }

    /// Gives a temporary table trees; it is not yet among the session's.
    pub(crate) fn make_temporary(&self, table: &TableDef) -> Result<Arc<TableDef>> {
        let temporary = self.instance.engine().temporary();
        let trees = temporary.new_trees(table.indexes.len())?;
        match with_trees(table, &trees) {
            Ok(table) => Ok(Arc::new(table)),
            Err(e) => {
                temporary.drop_trees(&trees);
                Err(e)
            }
        }
    }

    /// Makes a temporary table one of the session's.
    pub(crate) fn put_temporary(&mut self, table: Arc<TableDef>) {
        self.temporary.tables.put(table);
    }

    /// Drops a temporary table.
    pub(crate) fn drop_temporary(&mut self, table: &TableDef) {
        self.forget_temporary(table);
        self.retire(table);
    }

    /// Nobody finds a temporary table any more; its trees stay.
    pub(crate) fn forget_temporary(&mut self, table: &TableDef) {
        self.temporary.tables.remove(&table.database, &table.name);
    }

    /// Gives the trees of a table back that nobody finds any more.
    pub(crate) fn retire(&mut self, table: &TableDef) {
        self.temporary.retired.extend(trees_of(table));
        if self.transactions.open.is_none() {
            self.drop_retired();
        }
    }

    /// The transaction has ended (T1).
    pub(super) fn has_retired(&self) -> bool {
        !self.temporary.retired.is_empty()
    }

    pub(super) fn drop_retired(&mut self) {
        if !self.temporary.retired.is_empty() {
            let trees = std::mem::take(&mut self.temporary.retired);
            self.instance.engine().temporary().drop_trees(&trees);
        }
    }

    /// The session ends, or begins anew; it has no transaction.
    pub(crate) fn drop_all_temporary(&mut self) {
        for table in self.temporary.tables.take() {
            self.retire(&table);
        }
    }
}
