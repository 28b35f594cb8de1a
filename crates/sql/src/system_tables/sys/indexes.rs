//! Indexes, tables and AUTO_INCREMENT columns: which are used how, and which are there for nothing.

use super::super::column::{MB4, NAMES, SystemColumn, WORDS, columns};
use super::super::index_use::{TableUse, uses};
use super::{Each, Shown, SystemTable, Wanted};
use crate::catalog::{ColumnDef, IndexDef, TableDef};
use crate::index_use::Use;
use crate::listing::cells;
use crate::session::Context;
use crate::system_schemas;
use datum::error::Result;
use datum::types::DataType;
use datum::value::{Datum, Decimal};
use syntax::ast::IntegerSize;
use syntax::unparse::ident;

const OF_TABLE: [&str; 2] = ["table_schema", "table_name"];
const OF_OBJECT: [&str; 2] = ["object_schema", "object_name"];

const INDEX_STATISTICS: &[SystemColumn] = columns! {
    table_schema: VarcharOf(64, MB4) or_null, table_name: VarcharOf(64, MB4) or_null,
    index_name: VarcharOf(64, MB4) or_null, rows_selected: Biguint, select_latency: VarcharOf(11, MB4) or_null,
    rows_inserted: Biguint, insert_latency: VarcharOf(11, MB4) or_null, rows_updated: Biguint,
    update_latency: VarcharOf(11, MB4) or_null, rows_deleted: Biguint,
    delete_latency: VarcharOf(11, MB4) or_null,
};

const INDEX_STATISTICS_RAW: &[SystemColumn] = columns! {
    table_schema: VarcharOf(64, MB4) or_null, table_name: VarcharOf(64, MB4) or_null,
    index_name: VarcharOf(64, MB4) or_null, rows_selected: Biguint, select_latency: Biguint,
    rows_inserted: Biguint, insert_latency: Biguint, rows_updated: Biguint, update_latency: Biguint,
    rows_deleted: Biguint, delete_latency: Biguint,
};

const TABLE_STATISTICS: &[SystemColumn] = columns! {
    table_schema: VarcharOf(64, MB4) or_null, table_name: VarcharOf(64, MB4) or_null,
    total_latency: VarcharOf(11, MB4) or_null, rows_fetched: Biguint,
    fetch_latency: VarcharOf(11, MB4) or_null, rows_inserted: Biguint,
    insert_latency: VarcharOf(11, MB4) or_null, rows_updated: Biguint,
    update_latency: VarcharOf(11, MB4) or_null, rows_deleted: Biguint,
    delete_latency: VarcharOf(11, MB4) or_null, io_read_requests: Decimal(42, 0) or_null,
    io_read: VarcharOf(11, MB4) or_null, io_read_latency: VarcharOf(11, MB4) or_null,
    io_write_requests: Decimal(42, 0) or_null, io_write: VarcharOf(11, MB4) or_null,
    io_write_latency: VarcharOf(11, MB4) or_null, io_misc_requests: Decimal(42, 0) or_null,
    io_misc_latency: VarcharOf(11, MB4) or_null,
};

const TABLE_STATISTICS_RAW: &[SystemColumn] = columns! {
    table_schema: VarcharOf(64, MB4) or_null, table_name: VarcharOf(64, MB4) or_null, total_latency: Biguint,
    rows_fetched: Biguint, fetch_latency: Biguint, rows_inserted: Biguint, insert_latency: Biguint,
    rows_updated: Biguint, update_latency: Biguint, rows_deleted: Biguint, delete_latency: Biguint,
    io_read_requests: Decimal(42, 0) or_null, io_read: Decimal(41, 0) or_null,
    io_read_latency: Decimal(42, 0) or_null, io_write_requests: Decimal(42, 0) or_null,
    io_write: Decimal(41, 0) or_null, io_write_latency: Decimal(42, 0) or_null,
    io_misc_requests: Decimal(42, 0) or_null, io_misc_latency: Decimal(42, 0) or_null,
};

const FULL_SCANS: &[SystemColumn] = columns! {
    object_schema: VarcharOf(64, MB4) or_null, object_name: VarcharOf(64, MB4) or_null,
    rows_full_scanned: Biguint, latency: VarcharOf(11, MB4) or_null,
};

const FULL_SCANS_RAW: &[SystemColumn] = columns! {
    object_schema: VarcharOf(64, MB4) or_null, object_name: VarcharOf(64, MB4) or_null,
    rows_full_scanned: Biguint, latency: Biguint,
};

/// The views.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "schema_auto_increment_columns",
        columns: columns! {
            table_schema: Name, table_name: Name, column_name: Name or_null, data_type: Text or_null,
            column_type: Mediumtext(WORDS), is_signed: Int, is_unsigned: Int, max_value: Biguint or_null,
            auto_increment: Biguint or_null, auto_increment_ratio: UnsignedDecimal(25, 4) or_null,
        },
        keys: OF_TABLE,
        rows: auto_increment,
    },
    SystemTable {
        name: "schema_index_statistics",
        columns: INDEX_STATISTICS,
        keys: OF_TABLE,
        rows: |cx, wanted, each| index_statistics(cx, wanted, Shown::Formatted, each),
    },
    SystemTable {
        name: "schema_redundant_indexes",
        columns: columns! {
            table_schema: Name, table_name: Name, redundant_index_name: Name or_null,
            redundant_index_columns: TextOf(NAMES) or_null, redundant_index_non_unique: Int or_null,
            dominant_index_name: Name or_null, dominant_index_columns: TextOf(NAMES) or_null,
            dominant_index_non_unique: Int or_null, subpart_exists: Int,
            sql_drop_index: VarcharOf(223, MB4) or_null,
        },
        keys: OF_TABLE,
        rows: redundant,
    },
    SystemTable {
        name: "schema_table_statistics",
        columns: TABLE_STATISTICS,
        keys: OF_TABLE,
        rows: |cx, wanted, each| table_statistics(cx, wanted, Shown::Formatted, each),
    },
    SystemTable {
        name: "schema_tables_with_full_table_scans",
        columns: FULL_SCANS,
        keys: OF_OBJECT,
        rows: |cx, wanted, each| full_scans(cx, wanted, Shown::Formatted, each),
    },
    SystemTable {
        name: "schema_unused_indexes",
        columns: columns! {
            object_schema: VarcharOf(64, MB4) or_null, object_name: VarcharOf(64, MB4) or_null,
            index_name: VarcharOf(64, MB4) or_null,
        },
        keys: OF_OBJECT,
        rows: unused,
    },
    SystemTable {
        name: "x$schema_flattened_keys",
        columns: columns! {
            table_schema: Name, table_name: Name, index_name: Name or_null, non_unique: Int or_null,
            subpart_exists: Bigint or_null, index_columns: TextOf(NAMES) or_null,
        },
        keys: OF_TABLE,
        rows: flattened,
    },
    SystemTable {
        name: "x$schema_index_statistics",
        columns: INDEX_STATISTICS_RAW,
        keys: OF_TABLE,
        rows: |cx, wanted, each| index_statistics(cx, wanted, Shown::Raw, each),
    },
    SystemTable {
        name: "x$schema_table_statistics",
        columns: TABLE_STATISTICS_RAW,
        keys: OF_TABLE,
        rows: |cx, wanted, each| table_statistics(cx, wanted, Shown::Raw, each),
    },
    SystemTable {
        name: "x$schema_tables_with_full_table_scans",
        columns: FULL_SCANS_RAW,
        keys: OF_OBJECT,
        rows: |cx, wanted, each| full_scans(cx, wanted, Shown::Raw, each),
    },
];

fn of_users(cx: &Context, wanted: &Wanted) -> Vec<TableUse> {
    let mut all = uses(cx, wanted);
    all.retain(|of_table| !system_schemas::is_reserved(&of_table.table.database));
    all
}

fn unused(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for TableUse { table, indexes } in of_users(cx, wanted) {
        for (name, used) in indexes {
            let Some(number) = name.as_deref().and_then(|name| table.index_named(name)) else { continue };
            if !table.indexes[number].unique && used.of(Use::Fetched) == 0 {
                each(cells![table.database.as_str(), table.name.as_str(), name])?;
            }
        }
    }
    Ok(())
}

fn index_statistics(cx: &mut Context, wanted: &Wanted, shown: Shown, each: Each<'_>) -> Result<()> {
    for TableUse { table, indexes } in uses(cx, wanted) {
        for (name, used) in indexes.into_iter().filter(|(name, _)| name.is_some()) {
            let mut row = cells![table.database.as_str(), table.name.as_str(), name];
            for what in [Use::Fetched, Use::Inserted, Use::Updated, Use::Deleted] {
                row.extend([Datum::UInt(used.of(what)), shown.time(0)]);
            }
            each(row)?;
        }
    }
    Ok(())
}

fn table_statistics(cx: &mut Context, wanted: &Wanted, shown: Shown, each: Each<'_>) -> Result<()> {
    for of_table in uses(cx, wanted) {
        let (table, used) = (&of_table.table, of_table.sum());
        let mut row = cells![table.database.as_str(), table.name.as_str()];
        row.push(shown.time(0));
        let fetched = used.of(Use::Fetched) + used.of(Use::Scanned);
        let changes = [Use::Inserted, Use::Updated, Use::Deleted].map(|what| used.of(what));
        for count in [fetched].into_iter().chain(changes) {
            row.extend([Datum::UInt(count), shown.time(0)]);
        }
        // Of the files of single tables nothing is known: there are none.
        row.extend(std::iter::repeat_n(Datum::Null, 8));
        each(row)?;
    }
    Ok(())
}

fn full_scans(cx: &mut Context, wanted: &Wanted, shown: Shown, each: Each<'_>) -> Result<()> {
    let mut all: Vec<_> = uses(cx, wanted)
        .into_iter()
        .map(|of_table| (of_table.sum().of(Use::Scanned), of_table.table))
        .filter(|(rows, _)| *rows > 0)
        .collect();
    all.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    all.into_iter().try_for_each(|(rows, table)| {
        let mut row = cells![table.database.as_str(), table.name.as_str(), rows];
        row.push(shown.time(0));
        each(row)
    })
}

/// An index as `x$schema_flattened_keys` has it.
struct Flat<'t> {
    index: &'t IndexDef,
    /// The names of its columns, with commas between them; expressions have none.
    columns: String,
    has_prefix: bool,
}

fn flat<'t>(table: &'t TableDef) -> Vec<Flat<'t>> {
    let of = |index: &'t IndexDef| {
        let columns = index.parts.iter().map(|part| &table.columns[part.column]);
        let named: Vec<&str> = columns.filter(|c| !c.is_key_part()).map(|c| c.name.as_str()).collect();
        let has_prefix = index.parts.iter().any(|part| part.prefix_len.is_some());
        Flat { index, columns: named.join(","), has_prefix }
    };
    table.shown_indexes().map(of).collect()
}

impl Flat<'_> {
    /// True if whatever an index does, another one does too.
    fn is_covered_by(&self, other: &Flat<'_>) -> bool {
        let begins =
            |columns: &str, with: &str| columns.strip_prefix(with).is_some_and(|more| more.starts_with(','));
        if self.columns == other.columns {
            // Of two alike the unique one is better, and the primary key is best.
            let rank = |flat: &Flat<'_>| (!flat.index.unique, flat.index.name != "PRIMARY");
            return (rank(self), &self.index.name) > (rank(other), &other.index.name);
        }
        !self.index.unique && begins(&other.columns, &self.columns)
            || other.index.unique && begins(&self.columns, &other.columns)
    }
}

fn flattened(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx).iter().filter(|table| !system_schemas::is_reserved(&table.database)) {
        for key in flat(table) {
            let mut row = cells![table.database.as_str(), table.name.as_str(), key.index.name.as_str()];
            row.extend(cells![i64::from(!key.index.unique), i64::from(key.has_prefix)]);
            row.extend(cells![(!key.columns.is_empty()).then_some(key.columns)]);
            each(row)?;
        }
    }
    Ok(())
}

fn redundant(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx).iter().filter(|table| !system_schemas::is_reserved(&table.database)) {
        datum::bounds::check()?;
        let keys = flat(table);
        let named = || keys.iter().filter(|key| !key.columns.is_empty());
        for key in named() {
            for other in named().filter(|other| !std::ptr::eq(other.index, key.index)) {
                if !key.is_covered_by(other) {
                    continue;
                }
                let (schema, name) = (table.database.as_str(), table.name.as_str());
                let mut row = cells![schema, name];
                for Flat { index, columns, .. } in [key, other] {
                    row.extend(cells![index.name.as_str(), columns.as_str(), i64::from(!index.unique)]);
                }
                let drop = ident(&key.index.name);
                row.extend(cells![
                    i64::from(key.has_prefix || other.has_prefix),
                    format!("ALTER TABLE {}.{} DROP INDEX {drop}", ident(schema), ident(name)),
                ]);
                each(row)?;
            }
        }
    }
    Ok(())
}

/// The greatest number that a column holds, whether it is unsigned, and its type without more;
/// nothing if it is no integer.
fn range_of(column: &ColumnDef) -> Option<(u64, bool, &'static str)> {
    let DataType::Integer { size, sign, .. } = &column.ty else { return None };
    let (bits, name) = match size {
        IntegerSize::Tiny => (8, "tinyint"),
        IntegerSize::Small => (16, "smallint"),
        IntegerSize::Medium => (24, "mediumint"),
        IntegerSize::Int => (32, "int"),
        IntegerSize::Big => (64, "bigint"),
    };
    let largest = u64::MAX >> (64 - bits);
    Some((if sign.unsigned { largest } else { largest >> 1 }, sign.unsigned, name))
}

fn auto_increment(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    let mut found = Vec::new();
    for table in wanted.tables_with_columns(cx) {
        if system_schemas::is_reserved(&table.database) {
            continue;
        }
        let Some((next, number)) = table.shown_counter().zip(table.auto_column) else { continue };
        let column = &table.columns[number];
        let Some((largest, unsigned, name)) = range_of(column) else { continue };
        // Of four digits, rounded.
        let ratio = (i128::from(next) * 10_000 + i128::from(largest / 2)) / i128::from(largest);
        let mut row = cells![table.database.as_str(), table.name.as_str(), column.name.as_str(), name];
        row.extend(cells![column.ty.to_string(), i64::from(!unsigned), i64::from(unsigned), largest, next]);
        row.push(Decimal::from_parts(ratio, 4).map_or(Datum::Null, Datum::Decimal));
        found.push((ratio, largest, row));
    }
    found.sort_by_key(|(ratio, largest, _)| (std::cmp::Reverse(*ratio), *largest));
    found.into_iter().try_for_each(|(_, _, row)| each(row))
}
