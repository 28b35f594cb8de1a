//! What clients read of `performance_schema`: variables, counters and sessions.

use super::column::{SystemColumn, columns};
use super::{Each, SystemTable, Wanted, server};
use crate::admin::listing::Listing;
use crate::admin::show::variables;
use crate::error::Result;
use crate::session::Context;

const NOTHING: [&str; 2] = ["", ""];

/// A variable or counter.
const VARIABLE: &[SystemColumn] =
    columns! { VARIABLE_NAME: Varchar(64), VARIABLE_VALUE: Varchar(1024) or_null };

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "global_status",
        columns: VARIABLE,
        keys: NOTHING,
        rows: |cx, _, each| all(variables::status(cx, true), each),
    },
    SystemTable {
        name: "global_variables",
        columns: VARIABLE,
        keys: NOTHING,
        rows: |cx, _, each| all(variables::variables(cx, true), each),
    },
    SystemTable {
        name: "processlist",
        columns: columns! {
            ID: Biguint, USER: Varchar(32) or_null, HOST: Varchar(261) or_null, DB: Varchar(64) or_null,
            COMMAND: Varchar(16) or_null, TIME: Bigint or_null, STATE: Varchar(64) or_null, INFO: Text or_null,
            EXECUTION_ENGINE: Varchar(9) or_null,
        },
        keys: NOTHING,
        rows: processlist,
    },
    SystemTable {
        name: "session_status",
        columns: VARIABLE,
        keys: NOTHING,
        rows: |cx, _, each| all(variables::status(cx, false), each),
    },
    SystemTable {
        name: "session_variables",
        columns: VARIABLE,
        keys: NOTHING,
        rows: |cx, _, each| all(variables::variables(cx, false), each),
    },
];

fn all(listing: Listing, each: Each<'_>) -> Result<()> {
    listing.into_rows().into_iter().try_for_each(each)
}

fn processlist(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    server::processlist(cx, wanted, &mut |mut row| {
        row.push(crate::value::Datum::owned("PRIMARY"));
        each(row)
    })
}
