//! What is known of tables' sizes.

use crate::catalog::TableDef;
use crate::session::Context;

/// Rows that a table is taken to have where nobody knows.
const ROWS_UNKNOWN: f64 = 1000.0;

/// How many rows a table has, roughly.
pub fn table_rows(_: &Context, _: &TableDef) -> f64 {
    ROWS_UNKNOWN
}
