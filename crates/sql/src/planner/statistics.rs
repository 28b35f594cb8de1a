//! What is known of tables' sizes.

use crate::catalog::TableDef;
use crate::session::Context;

/// Rows that a table is taken to have where nobody knows.
const ROWS_UNKNOWN: f64 = 1000.0;

/// The fewest rows that a table is taken to have: it may have grown when a kept plan runs.
const ROWS_MIN: f64 = 10.0;

/// How many rows a table has, roughly.
pub fn table_rows(cx: &Context, table: &TableDef) -> f64 {
    let tree = table.schema.primary.tree();
    let store = cx.database.engine().store_of(tree);
    // What can't be read is told by those who read it for its rows.
    let estimate = store.estimate(tree);
    estimate.map_or(ROWS_UNKNOWN, |rows| (rows as f64).max(ROWS_MIN))
}
