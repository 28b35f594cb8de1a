//! What clients read of `performance_schema`: variables, counters, sessions and locks. A thread has
//! the number of its connection.

use super::column::{ASCII, MB4, SystemColumn, YES_NO, columns};
use super::{Each, SystemTable, Wanted, locks, none, server};
use crate::listing::server::processes_of;
use crate::listing::{Listing, cells, variables};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;

const NOTHING: [&str; 2] = ["", ""];

/// A variable or counter.
const VARIABLE: &[SystemColumn] =
    columns! { VARIABLE_NAME: VarcharOf(64, MB4), VARIABLE_VALUE: VarcharOf(1024, MB4) or_null };

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "data_lock_waits",
        columns: columns! {
            ENGINE: VarcharOf(32, MB4), REQUESTING_ENGINE_LOCK_ID: VarcharOf(128, MB4),
            REQUESTING_ENGINE_TRANSACTION_ID: Biguint or_null, REQUESTING_THREAD_ID: Biguint or_null,
            REQUESTING_EVENT_ID: Biguint or_null, REQUESTING_OBJECT_INSTANCE_BEGIN: Biguint,
            BLOCKING_ENGINE_LOCK_ID: VarcharOf(128, MB4), BLOCKING_ENGINE_TRANSACTION_ID: Biguint or_null,
            BLOCKING_THREAD_ID: Biguint or_null, BLOCKING_EVENT_ID: Biguint or_null,
            BLOCKING_OBJECT_INSTANCE_BEGIN: Biguint,
        },
        keys: NOTHING,
        rows: locks::waits,
    },
    SystemTable {
        name: "data_locks",
        columns: columns! {
            ENGINE: VarcharOf(32, MB4), ENGINE_LOCK_ID: VarcharOf(128, MB4),
            ENGINE_TRANSACTION_ID: Biguint or_null, THREAD_ID: Biguint or_null, EVENT_ID: Biguint or_null,
            OBJECT_SCHEMA: VarcharOf(64, MB4) or_null, OBJECT_NAME: VarcharOf(64, MB4) or_null,
            PARTITION_NAME: VarcharOf(64, MB4) or_null, SUBPARTITION_NAME: VarcharOf(64, MB4) or_null,
            INDEX_NAME: VarcharOf(64, MB4) or_null, OBJECT_INSTANCE_BEGIN: Biguint,
            LOCK_TYPE: VarcharOf(32, MB4), LOCK_MODE: VarcharOf(32, MB4), LOCK_STATUS: VarcharOf(32, MB4),
            LOCK_DATA: VarcharOf(8192, MB4) or_null,
        },
        keys: NOTHING,
        rows: locks::locks,
    },
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
        name: "metadata_locks",
        columns: columns! {
            OBJECT_TYPE: VarcharOf(64, MB4), OBJECT_SCHEMA: VarcharOf(64, MB4) or_null,
            OBJECT_NAME: VarcharOf(64, MB4) or_null, COLUMN_NAME: VarcharOf(64, MB4) or_null,
            OBJECT_INSTANCE_BEGIN: Biguint, LOCK_TYPE: VarcharOf(32, MB4), LOCK_DURATION: VarcharOf(32, MB4),
            LOCK_STATUS: VarcharOf(32, MB4), SOURCE: VarcharOf(64, MB4) or_null,
            OWNER_THREAD_ID: Biguint or_null, OWNER_EVENT_ID: Biguint or_null,
        },
        keys: NOTHING,
        rows: locks::metadata,
    },
    SystemTable {
        name: "processlist",
        columns: columns! {
            ID: Biguint, USER: VarcharOf(32, MB4) or_null, HOST: VarcharOf(261, ASCII) or_null,
            DB: VarcharOf(64, MB4) or_null, COMMAND: VarcharOf(16, MB4) or_null, TIME: Bigint or_null,
            STATE: VarcharOf(64, MB4) or_null, INFO: LongtextOf(MB4) or_null,
            EXECUTION_ENGINE: Enum(&["PRIMARY", "SECONDARY"], MB4) or_null,
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
    SystemTable {
        name: "threads",
        columns: columns! {
            THREAD_ID: Biguint, NAME: VarcharOf(128, MB4), TYPE: VarcharOf(10, MB4),
            PROCESSLIST_ID: Biguint or_null, PROCESSLIST_USER: VarcharOf(32, MB4) or_null,
            PROCESSLIST_HOST: VarcharOf(255, ASCII) or_null, PROCESSLIST_DB: VarcharOf(64, MB4) or_null,
            PROCESSLIST_COMMAND: VarcharOf(16, MB4) or_null, PROCESSLIST_TIME: Bigint or_null,
            PROCESSLIST_STATE: VarcharOf(64, MB4) or_null, PROCESSLIST_INFO: LongtextOf(MB4) or_null,
            PARENT_THREAD_ID: Biguint or_null, ROLE: VarcharOf(64, MB4) or_null,
            INSTRUMENTED: Enum(YES_NO, MB4), HISTORY: Enum(YES_NO, MB4),
            CONNECTION_TYPE: VarcharOf(16, MB4) or_null, THREAD_OS_ID: Biguint or_null,
            RESOURCE_GROUP: VarcharOf(64, MB4) or_null,
            EXECUTION_ENGINE: Enum(&["PRIMARY", "SECONDARY"], MB4) or_null, CONTROLLED_MEMORY: Biguint,
            MAX_CONTROLLED_MEMORY: Biguint, TOTAL_MEMORY: Biguint, MAX_TOTAL_MEMORY: Biguint,
            TELEMETRY_ACTIVE: Enum(YES_NO, MB4),
        },
        keys: NOTHING,
        rows: threads,
    },
    SystemTable {
        name: "user_defined_functions",
        columns: columns! {
            UDF_NAME: VarcharOf(64, MB4), UDF_RETURN_TYPE: VarcharOf(20, MB4), UDF_TYPE: VarcharOf(20, MB4),
            UDF_LIBRARY: VarcharOf(1024, MB4) or_null, UDF_USAGE_COUNT: Bigint or_null,
        },
        keys: NOTHING,
        // Loadable functions there are none.
        rows: none,
    },
    SystemTable {
        name: "user_variables_by_thread",
        columns: columns! {
            THREAD_ID: Biguint, VARIABLE_NAME: VarcharOf(64, MB4), VARIABLE_VALUE: Blob or_null,
        },
        keys: NOTHING,
        rows: user_variables,
    },
];

fn all(listing: Listing, each: Each<'_>) -> Result<()> {
    listing.into_rows().into_iter().try_for_each(each)
}

fn processlist(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    server::processlist(cx, wanted, &mut |mut row| {
        row.push(Datum::owned("PRIMARY"));
        each(row)
    })
}

/// The threads of all sessions, for whoever may read the table; the server's own are not listed.
fn threads(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    processes_of(cx, true, true).into_rows().into_iter().try_for_each(|row| {
        let mut row = row.into_iter();
        let id = row.next().unwrap_or_default();
        let mut thread =
            vec![id.clone(), Datum::owned("thread/sql/one_connection"), Datum::owned("FOREGROUND"), id];
        thread.extend(row);
        thread.extend(cells![
            None::<u64>,
            None::<&str>,
            "YES",
            "YES",
            None::<&str>,
            None::<u64>,
            None::<&str>
        ]);
        thread.extend(cells!["PRIMARY", 0_u64, 0_u64, 0_u64, 0_u64, "NO"]);
        each(thread)
    })
}

/// The variables of all sessions, for whoever may read the table.
fn user_variables(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    for process in cx.instance.processes() {
        let mut names: Vec<Box<str>> = process.user_variables().lock().keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            datum::bounds::check()?;
            // One value at a time: they may be long, and the session may be at it.
            let value = process.user_variables().lock().get(&name).map(|(value, _)| value.clone());
            let Some(value) = value else { continue };
            let value =
                if value.is_null() { Datum::Null } else { Datum::owned(value.to_bytes().into_owned()) };
            each(vec![Datum::UInt(process.id), Datum::owned(name.as_bytes().to_vec()), value])?;
        }
    }
    Ok(())
}
