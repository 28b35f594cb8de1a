//! Indexes and constraints: STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS, CHECK_CONSTRAINTS.

use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::show::{action_words, plain_expression};
use crate::catalog::statistics::TableStatistics;
use crate::catalog::{IndexDef, TableDef};
use crate::listing::cells;
use crate::listing::definitions::key_part;
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;

pub(super) fn statistics(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx) {
        let known = table.exact_statistics(&cx.instance);
        for index in table.shown_indexes() {
            for number in 0..index.parts.len() {
                each(part_row(&table, index, number, known.as_deref()))?;
            }
        }
    }
    Ok(())
}

fn part_row(
    table: &TableDef,
    index: &IndexDef,
    number: usize,
    known: Option<&TableStatistics>,
) -> Vec<Datum<'static>> {
    let (schema, name) = (table.database.as_str(), table.name.as_str());
    let mut row = cells![CATALOG, schema, name, i64::from(!index.unique), schema, index.name.as_str()];
    row.extend(key_part(table, index, number, known));
    row
}

pub(super) fn key_column_usage(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables_with_columns(cx) {
        for index in table.shown_indexes().filter(|index| index.unique) {
            let is_column = |part: &storage::KeyPart| !table.columns[part.column].is_key_part();
            for (number, part) in index.parts.iter().enumerate().filter(|(_, part)| is_column(part)) {
                let mut row = cells![CATALOG, table.database.as_str(), index.name.as_str(), CATALOG];
                row.extend(cells![table.database.as_str(), table.name.as_str()]);
                row.extend(cells![table.columns[part.column].name.as_str(), number as u64 + 1]);
                row.extend(std::iter::repeat_n(Datum::Null, 4));
                each(row)?;
            }
        }
        for key in &table.foreign_keys {
            for (number, (&column, referenced)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let place = number as u64 + 1;
                let mut row = cells![CATALOG, table.database.as_str(), key.name.as_str(), CATALOG];
                row.extend(cells![table.database.as_str(), table.name.as_str()]);
                row.extend(cells![table.columns[column].name.as_str(), place, place]);
                row.extend(cells![key.parent.database.as_str(), key.parent.name.as_str()]);
                row.extend(cells![referenced.as_str()]);
                each(row)?;
            }
        }
    }
    Ok(())
}

pub(super) fn referential_constraints(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx) {
        for key in &table.foreign_keys {
            let state = cx.catalog().state();
            let parent = state.table(&key.parent.database, &key.parent.name);
            let index = parent.and_then(|parent| Some((parent, key.parent_index(parent)?)));
            let unique = index.map(|(parent, index)| &parent.indexes[index]).filter(|index| index.unique);
            let unique = unique.map_or(Datum::Null, |index| Datum::owned(index.name.as_str()));
            let mut row = cells![CATALOG, table.database.as_str(), key.name.as_str(), CATALOG];
            row.extend(cells![key.parent.database.as_str()]);
            row.push(unique);
            row.extend(cells!["NONE", action_words(key.on_update), action_words(key.on_delete)]);
            row.extend(cells![table.name.as_str(), key.parent.name.as_str()]);
            each(row)?;
        }
    }
    Ok(())
}

/// A table's constraints: name, kind, and whether rows are tested.
fn constraints(table: &TableDef) -> impl Iterator<Item = (&str, &'static str, bool)> {
    let unique = table.shown_indexes().filter(|index| index.unique);
    let keys = unique.map(|index| match index.name.as_str() {
        "PRIMARY" => ("PRIMARY", "PRIMARY KEY", true),
        name => (name, "UNIQUE", true),
    });
    let foreign = table.foreign_keys.iter().map(|key| (key.name.as_str(), "FOREIGN KEY", true));
    keys.chain(foreign).chain(table.checks.iter().map(|check| (check.name.as_str(), "CHECK", check.enforced)))
}

pub(super) fn table_constraints(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx) {
        for (name, kind, enforced) in constraints(&table) {
            let mut row = cells![CATALOG, table.database.as_str(), name, table.database.as_str()];
            row.extend(cells![table.name.as_str(), kind, if enforced { "YES" } else { "NO" }]);
            each(row)?;
        }
    }
    Ok(())
}

pub(super) fn table_constraints_extensions(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx) {
        for index in table.shown_indexes().filter(|index| index.unique) {
            let names = [CATALOG, &table.database, &index.name, &table.name];
            let mut row: Vec<_> = names.into_iter().map(Datum::owned).collect();
            row.extend([Datum::Null, Datum::Null]);
            each(row)?;
        }
    }
    Ok(())
}

pub(super) fn check_constraints(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables(cx) {
        for check in &table.checks {
            each(cells![
                CATALOG,
                table.database.as_str(),
                check.name.as_str(),
                plain_expression(&check.expr)
            ])?;
        }
    }
    Ok(())
}
