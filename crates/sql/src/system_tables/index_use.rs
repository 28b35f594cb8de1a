//! Which indexes are used, in `performance_schema`: rows, not times, which are not measured.
//!
//! Rows that a walk over all of a table reads, and those that are written, are said of no index,
//! as in MySQL; changes and deletions of the primary key.

use std::sync::Arc;

use hashbrown::HashSet;

use super::column::{MB4, SystemColumn, columns};
use super::{Each, SystemTable, Wanted};
use crate::catalog::TableDef;
use crate::index_use::{Use, Used};
use crate::listing::cells;
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use storage::TreeId;

/// `io_columns! { NAME: Type, .. }`: these, and the counts and times of all kinds of use.
macro_rules! io_columns {
    ($($first:tt)*) => {
        columns! {
            $($first)*
            COUNT_STAR: Biguint, SUM_TIMER_WAIT: Biguint, MIN_TIMER_WAIT: Biguint, AVG_TIMER_WAIT: Biguint,
            MAX_TIMER_WAIT: Biguint, COUNT_READ: Biguint, SUM_TIMER_READ: Biguint, MIN_TIMER_READ: Biguint,
            AVG_TIMER_READ: Biguint, MAX_TIMER_READ: Biguint, COUNT_WRITE: Biguint, SUM_TIMER_WRITE: Biguint,
            MIN_TIMER_WRITE: Biguint, AVG_TIMER_WRITE: Biguint, MAX_TIMER_WRITE: Biguint,
            COUNT_FETCH: Biguint, SUM_TIMER_FETCH: Biguint, MIN_TIMER_FETCH: Biguint,
            AVG_TIMER_FETCH: Biguint, MAX_TIMER_FETCH: Biguint, COUNT_INSERT: Biguint,
            SUM_TIMER_INSERT: Biguint, MIN_TIMER_INSERT: Biguint, AVG_TIMER_INSERT: Biguint,
            MAX_TIMER_INSERT: Biguint, COUNT_UPDATE: Biguint, SUM_TIMER_UPDATE: Biguint,
            MIN_TIMER_UPDATE: Biguint, AVG_TIMER_UPDATE: Biguint, MAX_TIMER_UPDATE: Biguint,
            COUNT_DELETE: Biguint, SUM_TIMER_DELETE: Biguint, MIN_TIMER_DELETE: Biguint,
            AVG_TIMER_DELETE: Biguint, MAX_TIMER_DELETE: Biguint,
        }
    };
}

const BY_INDEX: &[SystemColumn] = io_columns! {
    OBJECT_TYPE: VarcharOf(64, MB4) or_null, OBJECT_SCHEMA: VarcharOf(64, MB4) or_null,
    OBJECT_NAME: VarcharOf(64, MB4) or_null, INDEX_NAME: VarcharOf(64, MB4) or_null,
};

const BY_TABLE: &[SystemColumn] = io_columns! {
    OBJECT_TYPE: VarcharOf(64, MB4) or_null, OBJECT_SCHEMA: VarcharOf(64, MB4) or_null,
    OBJECT_NAME: VarcharOf(64, MB4) or_null,
};

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "table_io_waits_summary_by_index_usage",
        columns: BY_INDEX,
        keys: ["OBJECT_SCHEMA", "OBJECT_NAME"],
        rows: by_index,
    },
    SystemTable {
        name: "table_io_waits_summary_by_table",
        columns: BY_TABLE,
        keys: ["OBJECT_SCHEMA", "OBJECT_NAME"],
        rows: by_table,
    },
];

/// A table, and how each of its indexes was used, by name; what no index is said of comes last.
pub(super) struct TableUse {
    pub(super) table: Arc<TableDef>,
    pub(super) indexes: Vec<(Option<String>, Used)>,
}

impl TableUse {
    /// All of its uses.
    pub(super) fn sum(&self) -> Used {
        self.indexes.iter().fold(Used::default(), |mut sum, (_, used)| {
            sum.add(used);
            sum
        })
    }
}

/// The indexes that there are.
fn known(cx: &Context) -> HashSet<TreeId> {
    let state = cx.catalog().state();
    let all = state.databases.values().flat_map(|database| database.tables.values());
    all.flat_map(|table| table.schema.indexes().map(|index| index.tree())).collect()
}

/// TRUNCATE of one of the tables, which begins both anew.
pub(crate) fn clear(cx: &Context) {
    cx.instance.index_uses().clear(&known(cx));
}

/// How the tables that are wanted were used.
pub(super) fn uses(cx: &Context, wanted: &Wanted) -> Vec<TableUse> {
    let used = cx.instance.index_uses().now(&known(cx));
    let of = |table: Arc<TableDef>| {
        let mut none = Used::default();
        let mut indexes = Vec::new();
        for (number, index) in table.indexes.iter().enumerate() {
            let Some(tree) = table.schema.index(number).map(|index| index.tree()) else { continue };
            let mut used = used.get(&tree).copied().unwrap_or_default();
            for what in [Use::Scanned, Use::Inserted] {
                none.0[what as usize] += std::mem::take(&mut used.0[what as usize]);
            }
            match index.parts.iter().any(|part| table.columns[part.column].is_row_id()) {
                // The table has no primary key to show.
                true => none.add(&used),
                false => indexes.push((Some(index.name.clone()), used)),
            }
        }
        indexes.push((None, none));
        TableUse { table, indexes }
    };
    wanted.tables(cx).into_iter().map(of).collect()
}

/// COUNT_STAR and what follows. Times are 0.
fn cells_of(used: &Used) -> Vec<Datum<'static>> {
    let fetched = used.of(Use::Fetched) + used.of(Use::Scanned);
    let changes = [Use::Inserted, Use::Updated, Use::Deleted].map(|what| used.of(what));
    let written = changes.iter().sum::<u64>();
    let counts = [fetched + written, fetched, written, fetched].into_iter().chain(changes);
    counts.flat_map(|count| [count, 0, 0, 0, 0]).map(Datum::UInt).collect()
}

fn by_index(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for TableUse { table, indexes } in uses(cx, wanted) {
        datum::bounds::check()?;
        for (name, used) in indexes {
            let mut row = cells!["TABLE", table.database.as_str(), table.name.as_str(), name];
            row.extend(cells_of(&used));
            each(row)?;
        }
    }
    Ok(())
}

fn by_table(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for of_table in uses(cx, wanted) {
        datum::bounds::check()?;
        let table = &of_table.table;
        let mut row = cells!["TABLE", table.database.as_str(), table.name.as_str()];
        row.extend(cells_of(&of_table.sum()));
        each(row)?;
    }
    Ok(())
}
