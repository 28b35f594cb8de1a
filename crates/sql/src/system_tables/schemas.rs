//! Databases and tables: SCHEMATA, TABLES, PARTITIONS.

use super::{Each, SystemSchema, Wanted, listed, views};
use crate::catalog::TableDef;
use crate::listing::cells;
use crate::listing::definitions::{sizes, times};
use crate::session::Context;
use datum::error::Result;
use datum::types::Collation;
use datum::value::Datum;

/// What every row says of its catalog.
pub(super) const CATALOG: &str = "def";

/// The databases that are wanted and of which the account may know.
fn databases(cx: &Context, wanted: &Wanted) -> Vec<(String, Collation)> {
    let state = cx.catalog().state();
    let seen = |name: &str| wanted.schema(name) && cx.grants_now().sees_database(name);
    let system = |schema: &'static SystemSchema| (schema.name.to_owned(), schema.collation);
    let mut all: Vec<_> = listed(cx).filter(|schema| wanted.schema(schema.name)).map(system).collect();
    let stored = state.databases.iter().filter(|(name, _)| seen(name));
    all.extend(stored.map(|(name, database)| (name.clone(), database.collation)));
    all
}

pub(super) fn schemata(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for (name, collation) in databases(cx, wanted) {
        let charset = collation.charset().name();
        each(cells![CATALOG, name, charset, collation.name(), None::<&str>, "NO"])?;
    }
    Ok(())
}

pub(super) fn schemata_extensions(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    databases(cx, wanted).into_iter().try_for_each(|(name, _)| each(cells![CATALOG, name, ""]))
}

pub(super) fn tables(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for (schema, table) in wanted.system_tables(cx) {
        let engine = schema.engine_of(table);
        let is_view = engine.is_none();
        let mut row = cells![
            CATALOG,
            schema.name,
            table.name,
            if is_view { schema.table_type() } else { "BASE TABLE" },
            engine,
            10_i64,
            (!is_view).then_some("Dynamic"),
        ];
        row.extend(std::iter::repeat_n(Datum::Null, 13));
        row.extend(cells![""]);
        each(row)?;
    }
    wanted.tables(cx).iter().try_for_each(|table| each(table_row(cx, table)))?;
    views::as_tables(cx, wanted, each)?;
    // As MySQL shows a table that it can't open: by name, with the error.
    wanted.tables_set_aside(cx).into_iter().try_for_each(|object| {
        let kind = if object.key.is_view() { "VIEW" } else { "BASE TABLE" };
        let mut row = cells![CATALOG, object.key.database.as_str(), object.key.name.as_str(), kind];
        row.extend(std::iter::repeat_n(Datum::Null, 16));
        row.extend(cells![object.error().message]);
        each(row)
    })
}

/// CREATE_OPTIONS: in MySQL's order, and its mix of cases.
fn create_options(table: &TableDef) -> String {
    const ORDER: &[&str] = &[
        "max_rows",
        "min_rows",
        "avg_row_length",
        "row_format",
        "stats_sample_pages",
        "stats_auto_recalc",
        "key_block_size",
        "stats_persistent",
        "pack_keys",
        "checksum",
        "delay_key_write",
    ];
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut options: Vec<(String, &str)> = table
        .options
        .split_whitespace()
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .filter(|(name, value)| *value != "0" || !matches!(name.as_str(), "checksum" | "delay_key_write"))
        .collect();
    options.sort_by_key(|(name, _)| place(name));
    let shown = options.iter().map(|(name, value)| match name.as_str() {
        "key_block_size" => format!("KEY_BLOCK_SIZE={value}"),
        name => format!("{name}={value}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn table_row(cx: &Context, table: &TableDef) -> Vec<Datum<'static>> {
    let mut row =
        cells![CATALOG, table.database.as_str(), table.name.as_str(), "BASE TABLE", "InnoDB", 10_i64];
    row.extend(cells!["Dynamic"]);
    row.extend(sizes(cx, table));
    row.extend(cells![table.shown_counter()]);
    row.extend(times(cx, table));
    row.extend(cells![table.collation.name(), None::<i64>, create_options(table), table.comment.as_str()]);
    row
}

pub(super) fn tables_extensions(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    wanted.tables(cx).iter().try_for_each(|table| {
        each(cells![CATALOG, table.database.as_str(), table.name.as_str(), None::<&str>, None::<&str>])
    })
}

/// A table without partitions has a row too.
pub(super) fn partitions(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    wanted.tables(cx).iter().try_for_each(|table| {
        let mut row = cells![CATALOG, table.database.as_str(), table.name.as_str()];
        row.extend(std::iter::repeat_n(Datum::Null, 9));
        row.extend(sizes(cx, table));
        row.extend(times(cx, table));
        row.extend(cells![None::<i64>, "", None::<&str>, None::<&str>]);
        each(row)
    })
}
