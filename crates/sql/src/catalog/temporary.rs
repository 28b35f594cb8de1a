//! Temporary tables: a session's own names, which hide those of the catalog.
//!
//! They are in no record, no log and no other session's sight. Their trees lie in the temporary
//! store ([`storage::temporary`]); a table is planned with provisional numbers ([`provisional`])
//! and gets its own when it is made ([`with_trees`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use storage::TreeId;
use storage::temporary::FIRST;

use super::TableDef;
use super::build::{Numbers, Trees};
use super::draft::schema_of;
use datum::error::Result;

/// Temporary tables have numbers from here on, which no table map has.
const FIRST_TABLE: u64 = 1 << 48;

/// A session's temporary tables, by database and name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct TemporaryTables(Arc<BTreeMap<String, BTreeMap<String, Arc<TableDef>>>>);

impl TemporaryTables {
    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.0.get(database)?.get(name)
    }

    /// Adds a table, or puts another definition in its place.
    pub(crate) fn put(&mut self, table: Arc<TableDef>) {
        let tables = Arc::make_mut(&mut self.0);
        tables.entry(table.database.clone()).or_default().insert(table.name.clone(), table);
    }

    /// Takes a table out.
    pub(crate) fn remove(&mut self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        let tables = Arc::make_mut(&mut self.0);
        let of_database = tables.get_mut(database)?;
        let removed = of_database.remove(name);
        if of_database.is_empty() {
            tables.remove(database);
        }
        removed
    }

    /// Takes all out.
    pub(crate) fn take(&mut self) -> Vec<Arc<TableDef>> {
        let tables = std::mem::take(&mut self.0);
        tables.values().flat_map(|tables| tables.values().cloned()).collect()
    }
}

/// The numbers of a temporary table until it is made.
pub(crate) fn provisional() -> Numbers {
    Numbers { table: FIRST_TABLE, trees: Trees::From(FIRST) }
}

/// A temporary table with trees of its own, one for each index.
pub(crate) fn with_trees(table: &TableDef, trees: &[TreeId]) -> Result<TableDef> {
    let id = FIRST_TABLE + trees.first().map_or(0, |tree| u64::from(tree.0));
    let mut table = table.clone();
    table.id = id;
    table.schema =
        Arc::new(schema_of(id, &table.database, &table.name, &table.columns, &table.indexes, trees)?);
    Ok(table)
}

/// The trees of a table.
pub(crate) fn trees_of(table: &TableDef) -> Vec<TreeId> {
    table.schema.indexes().map(|index| index.tree()).collect()
}
