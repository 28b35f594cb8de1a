//! The tables of `information_schema` about the engine, by the names and columns that InnoDB has
//! there: `INNODB_*`. Who reads them needs PROCESS.
//!
//! - `INNODB_CMP*`: nothing is compressed by pages of other sizes, so that all counters are zero.
//! - `INNODB_FOREIGN`, `INNODB_FOREIGN_COLS`: foreign keys, by the names that they have within
//!   their database.
//! - `INNODB_METRICS`: what is counted under InnoDB's names in SHOW STATUS, all of it always on.
//! - `INNODB_TABLES`, `INNODB_TABLESPACES`: each table has a tablespace of its own number. All
//!   tables share files; the size is what the table's rows and keys take, as in `TABLES`.
//!   ENCRYPTION is Y once all of the files are encrypted.
//! - `INNODB_TRX`: transactions that have used a table or taken their snapshot ([`super::locks`]).

use super::column::{SystemColumn, columns};
use super::{Each, SystemTable, Wanted, locks, none};
use crate::catalog::TableDef;
use crate::catalog::foreign_key::ForeignKeyDef;
use crate::listing::cells;
use crate::session::Context;
use crate::status::engine::PAGE;
use crate::variables::ids;
use datum::error::Result;
use datum::value::temporal::SECOND;
use datum::value::{DateTime, Datum};
use env::Rows;
use std::path::{Path, PathBuf};
use storage::STORE_FOLDER;
use syntax::ast::ReferenceAction;

const NOTHING: [&str; 2] = ["", ""];

/// Pages that are compressed and decompressed.
const CMP: &[SystemColumn] = columns! {
    page_size: Int, compress_ops: Int, compress_ops_ok: Int, compress_time: Int, uncompress_ops: Int,
    uncompress_time: Int,
};

/// Memory for compressed pages.
const CMPMEM: &[SystemColumn] = columns! {
    page_size: Int, buffer_pool_instance: Int, pages_used: Int, pages_free: Int, relocation_ops: Bigint,
    relocation_time: Int,
};

/// Pages that are compressed and decompressed, by index.
const CMP_PER_INDEX: &[SystemColumn] = columns! {
    database_name: Varchar(192), table_name: Varchar(192), index_name: Varchar(192), compress_ops: Int,
    compress_ops_ok: Int, compress_time: Int, uncompress_ops: Int, uncompress_time: Int,
};

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable { name: "INNODB_CMP", columns: CMP, keys: NOTHING, rows: compressed },
    SystemTable { name: "INNODB_CMPMEM", columns: CMPMEM, keys: NOTHING, rows: compressed },
    SystemTable { name: "INNODB_CMPMEM_RESET", columns: CMPMEM, keys: NOTHING, rows: compressed },
    SystemTable { name: "INNODB_CMP_PER_INDEX", columns: CMP_PER_INDEX, keys: NOTHING, rows: none },
    SystemTable { name: "INNODB_CMP_PER_INDEX_RESET", columns: CMP_PER_INDEX, keys: NOTHING, rows: none },
    SystemTable { name: "INNODB_CMP_RESET", columns: CMP, keys: NOTHING, rows: compressed },
    SystemTable {
        name: "INNODB_FOREIGN",
        columns: columns! {
            ID: Varchar(129) or_null, FOR_NAME: Varchar(129) or_null, REF_NAME: Varchar(129) or_null,
            N_COLS: Bigint, TYPE: Biguint,
        },
        keys: NOTHING,
        rows: foreign_keys,
    },
    SystemTable {
        name: "INNODB_FOREIGN_COLS",
        columns: columns! {
            ID: Varchar(129) or_null, FOR_COL_NAME: Varchar(64), REF_COL_NAME: Varchar(64), POS: Uint,
        },
        keys: NOTHING,
        rows: foreign_key_columns,
    },
    SystemTable {
        name: "INNODB_METRICS",
        columns: columns! {
            NAME: Varchar(193), SUBSYSTEM: Varchar(193), COUNT: Bigint, MAX_COUNT: Bigint or_null,
            MIN_COUNT: Bigint or_null, AVG_COUNT: Float or_null, COUNT_RESET: Bigint,
            MAX_COUNT_RESET: Bigint or_null, MIN_COUNT_RESET: Bigint or_null, AVG_COUNT_RESET: Float or_null,
            TIME_ENABLED: Datetime or_null, TIME_DISABLED: Datetime or_null, TIME_ELAPSED: Bigint or_null,
            TIME_RESET: Datetime or_null, STATUS: Varchar(193), TYPE: Varchar(193), COMMENT: Varchar(193),
        },
        keys: NOTHING,
        rows: metrics,
    },
    SystemTable {
        name: "INNODB_TABLES",
        columns: columns! {
            TABLE_ID: Biguint, NAME: Varchar(655), FLAG: Int, N_COLS: Int, SPACE: Bigint,
            ROW_FORMAT: Varchar(12) or_null, ZIP_PAGE_SIZE: Uint, SPACE_TYPE: Varchar(10) or_null,
            INSTANT_COLS: Int, TOTAL_ROW_VERSIONS: Int,
        },
        keys: NOTHING,
        rows: tables,
    },
    SystemTable {
        name: "INNODB_TABLESPACES",
        columns: columns! {
            SPACE: Uint, NAME: Varchar(655), FLAG: Uint, ROW_FORMAT: Varchar(22) or_null, PAGE_SIZE: Uint,
            ZIP_PAGE_SIZE: Uint, SPACE_TYPE: Varchar(10) or_null, FS_BLOCK_SIZE: Uint, FILE_SIZE: Biguint,
            ALLOCATED_SIZE: Biguint, AUTOEXTEND_SIZE: Biguint, SERVER_VERSION: Varchar(10) or_null,
            SPACE_VERSION: Uint, ENCRYPTION: Varchar(1) or_null, STATE: Varchar(10) or_null,
        },
        keys: NOTHING,
        rows: tablespaces,
    },
    SystemTable {
        name: "INNODB_TRX",
        columns: columns! {
            trx_id: Biguint, trx_state: Varchar(13), trx_started: Datetime,
            trx_requested_lock_id: Varchar(126) or_null, trx_wait_started: Datetime or_null,
            trx_weight: Biguint, trx_mysql_thread_id: Biguint, trx_query: Varchar(1024) or_null,
            trx_operation_state: Varchar(64) or_null, trx_tables_in_use: Biguint, trx_tables_locked: Biguint,
            trx_lock_structs: Biguint, trx_lock_memory_bytes: Biguint, trx_rows_locked: Biguint,
            trx_rows_modified: Biguint, trx_concurrency_tickets: Biguint, trx_isolation_level: Varchar(16),
            trx_unique_checks: Int, trx_foreign_key_checks: Int,
            trx_last_foreign_key_error: Varchar(256) or_null, trx_adaptive_hash_latched: Int,
            trx_adaptive_hash_timeout: Biguint, trx_is_read_only: Int, trx_autocommit_non_locking: Int,
            trx_schedule_weight: Biguint or_null,
        },
        keys: NOTHING,
        rows: locks::transactions,
    },
];

/// Pages of these sizes could be compressed ones: sums of zero.
fn compressed(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    [1024_i64, 2048, 4096, 8192, 16384]
        .into_iter()
        .try_for_each(|size| each(cells![size, 0_i64, 0_i64, 0_i64, 0_i64, 0_i64]))
}

/// Name, subsystem, the counter in SHOW STATUS, type, comment.
const METRICS: [(&str, &str, &str, &str, &str); 19] = [
    (
        "buffer_pool_bytes_data",
        "buffer",
        "Innodb_buffer_pool_bytes_data",
        "value",
        "Bytes of blocks and memtables",
    ),
    ("buffer_pool_bytes_dirty", "buffer", "Innodb_buffer_pool_bytes_dirty", "value", "Bytes of memtables"),
    (
        "buffer_pool_pages_data",
        "buffer",
        "Innodb_buffer_pool_pages_data",
        "value",
        "Blocks and memtables, in pages",
    ),
    ("buffer_pool_pages_dirty", "buffer", "Innodb_buffer_pool_pages_dirty", "value", "Memtables, in pages"),
    (
        "buffer_pool_pages_free",
        "buffer",
        "Innodb_buffer_pool_pages_free",
        "value",
        "Room for blocks, in pages",
    ),
    (
        "buffer_pool_pages_total",
        "buffer",
        "Innodb_buffer_pool_pages_total",
        "value",
        "Block cache and memtables, in pages",
    ),
    (
        "buffer_pool_read_requests",
        "buffer",
        "Innodb_buffer_pool_read_requests",
        "status_counter",
        "Blocks asked for",
    ),
    (
        "buffer_pool_reads",
        "buffer",
        "Innodb_buffer_pool_reads",
        "status_counter",
        "Blocks not found in memory",
    ),
    ("innodb_page_size", "server", "Innodb_page_size", "value", "Bytes of a page, the unit of the counters"),
    ("lock_deadlocks", "lock", "Innodb_deadlocks", "counter", "Deadlocks"),
    (
        "lock_row_lock_current_waits",
        "lock",
        "Innodb_row_lock_current_waits",
        "status_counter",
        "Waits for row locks now",
    ),
    (
        "lock_row_lock_time",
        "lock",
        "Innodb_row_lock_time",
        "status_counter",
        "Milliseconds waited for row locks",
    ),
    (
        "lock_row_lock_time_avg",
        "lock",
        "Innodb_row_lock_time_avg",
        "value",
        "Milliseconds of a wait on average",
    ),
    (
        "lock_row_lock_time_max",
        "lock",
        "Innodb_row_lock_time_max",
        "value",
        "Milliseconds of the longest wait",
    ),
    ("lock_row_lock_waits", "lock", "Innodb_row_lock_waits", "status_counter", "Waits for row locks"),
    ("lock_timeouts", "lock", "Duramen_row_lock_timeouts", "counter", "Waits for row locks that timed out"),
    ("log_checkpoints", "log", "Duramen_store_flushes", "counter", "Checkpoints"),
    (
        "trx_rollbacks",
        "transaction",
        "Duramen_transactions_rolled_back",
        "counter",
        "Transactions rolled back",
    ),
    (
        "trx_rw_commits",
        "transaction",
        "Duramen_transactions_committed",
        "counter",
        "Transactions committed that changed something",
    ),
];

fn metrics(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let status = cx.instance.status().rows(None);
    let counter = |name: &str| {
        let found = status.iter().find(|(n, _)| n == name);
        found.and_then(|(_, value)| value.parse::<i64>().ok())
    };
    let elapsed = counter("Uptime").unwrap_or(0);
    let start = cx.instance.env().now() as i64 - elapsed * SECOND;
    let start = DateTime::from_unix_micros(cx.settings.zone().to_local(start), 0);
    for (name, subsystem, of, kind, comment) in METRICS {
        let Some(count) = counter(of) else { continue };
        let average = (kind != "value" && elapsed > 0).then(|| count as f64 / elapsed as f64);
        let mut row = cells![name, subsystem];
        for _ in 0..2 {
            row.extend(cells![count, None::<i64>, None::<i64>, average]);
        }
        row.extend(cells![start, None::<DateTime>, elapsed, None::<DateTime>, "enabled", kind, comment]);
        each(row)?;
    }
    Ok(())
}

/// All stored tables, temporary ones aside.
fn each_table(
    cx: &mut Context,
    mut row: impl FnMut(&Context, &TableDef) -> Vec<Datum<'static>>,
    each: Each<'_>,
) -> Result<()> {
    let state = cx.catalog().state();
    let all = state.databases.values().flat_map(|database| database.tables.values());
    all.into_iter().try_for_each(|table| each(row(cx, table)))
}

fn tables(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let row = |_: &Context, table: &TableDef| {
        let versions = table.layouts.as_ref().map_or(0, |layouts| layouts.list().len() as i64);
        // As InnoDB counts its three hidden columns.
        let columns = table.shown_columns().count() as i64 + 3;
        let name = format!("{}/{}", table.database, table.name);
        cells![
            table.id,
            name,
            FLAG_OF_TABLE,
            columns,
            table.id as i64,
            "Dynamic",
            0_u64,
            "Single",
            0_i64,
            versions
        ]
    };
    each_table(cx, row, each)
}

/// What a foreign key does, as InnoDB's bits.
fn actions(key: &ForeignKeyDef) -> u64 {
    let bit = |action, [cascade, set_null, no_action]: [u64; 3]| match action {
        ReferenceAction::Cascade => cascade,
        ReferenceAction::SetNull => set_null,
        ReferenceAction::NoAction => no_action,
        ReferenceAction::Restrict | ReferenceAction::SetDefault => 0,
    };
    bit(key.on_delete, [1, 2, 16]) | bit(key.on_update, [4, 8, 32])
}

fn foreign_keys(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for table in state.databases.values().flat_map(|database| database.tables.values()) {
        for key in &table.foreign_keys {
            let id = format!("{}/{}", table.database, key.name);
            let child = format!("{}/{}", table.database, table.name);
            let parent = format!("{}/{}", key.parent.database, key.parent.name);
            each(cells![id, child, parent, key.columns.len() as i64, actions(key)])?;
        }
    }
    Ok(())
}

fn foreign_key_columns(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let state = cx.catalog().state();
    for table in state.databases.values().flat_map(|database| database.tables.values()) {
        for key in &table.foreign_keys {
            let id = format!("{}/{}", table.database, key.name);
            for (number, (column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let column = table.columns[*column].name.as_str();
                each(cells![id.as_str(), column, parent.as_str(), number as u64 + 1])?;
            }
        }
    }
    Ok(())
}

/// DYNAMIC rows, in a tablespace of their own.
const FLAG_OF_TABLE: i64 = 33;
/// The same of a tablespace.
const FLAG_OF_TABLESPACE: u64 = 16417;

/// True if new files of tables are encrypted, and all that are there: any table may have rows in
/// any of them.
fn are_tables_encrypted(cx: &Context) -> bool {
    let env = cx.instance.env();
    let folder = Path::new(&*cx.instance.globals().text(ids::DATADIR)).join(STORE_FOLDER);
    let has_rows = |path: &PathBuf| !path.ends_with("CURRENT") && !path.ends_with("LOCK");
    env.encrypts(Rows::Tables)
        && env.read_dir(&folder).is_ok_and(|files| {
            // One that is gone meanwhile has no rows.
            files
                .iter()
                .filter(|path| has_rows(path))
                .all(|path| !matches!(env.master_key_of(path), Ok(None)))
        })
}

fn tablespaces(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let version = cx.version().split('-').next().unwrap_or_default().to_owned();
    let page = PAGE;
    let encryption = if are_tables_encrypted(cx) { "Y" } else { "N" };
    let row = |cx: &Context, table: &TableDef| {
        let known = table.exact_statistics(&cx.instance);
        let size = known.map_or(0, |known| known.data_length() + known.index_length());
        let name = format!("{}/{}", table.database, table.name);
        let mut row = cells![table.id, name, FLAG_OF_TABLESPACE, "Dynamic", page, 0_u64, "Single", 4096_u64];
        row.extend(cells![size, size, 0_u64, version.as_str(), 1_u64, encryption, "normal"]);
        row
    };
    each_table(cx, row, each)
}
