//! COLUMNS, and what types say of themselves there, in ROUTINES and in PARAMETERS.

use super::schemas::CATALOG;
use super::{Each, Wanted, views};
use crate::catalog::{ColumnDef, show};
use crate::listing::cells;
use crate::listing::definitions::{column_extra, column_key, view_extra};
use crate::session::Context;
use datum::error::Result;
use datum::types::{Collation, DataType};
use datum::value::Datum;
use syntax::ast::IntegerSize;

/// A column among those of its table.
struct ColumnEntry<'a> {
    schema: &'a str,
    table: &'a str,
    number: usize,
    key: &'static str,
    extra: String,
}

pub(super) fn columns(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for (schema, table) in wanted.system_tables_with_columns(cx) {
        for (number, column) in table.definitions().iter().enumerate() {
            let place =
                ColumnEntry { schema: schema.name, table: table.name, number, key: "", extra: String::new() };
            each(row(cx, &place, column))?;
        }
    }
    for table in wanted.tables_with_columns(cx) {
        for (place, (number, column)) in table.shown_columns().enumerate() {
            let key = column_key(&table, number);
            let extra = column_extra(&table, number);
            let place =
                ColumnEntry { schema: &table.database, table: &table.name, number: place, key, extra };
            each(row(cx, &place, column))?;
        }
    }
    views::each_column(cx, wanted, &mut |cx, view, number, column| {
        let (schema, table) = (&view.database, &view.name);
        let extra = view_extra(column).to_owned();
        let place = ColumnEntry { schema, table, number, key: "", extra };
        each(row(cx, &place, column))
    })
}

fn row(cx: &Context, place: &ColumnEntry<'_>, column: &ColumnDef) -> Vec<Datum<'static>> {
    let mut row = cells![
        CATALOG,
        place.schema,
        place.table,
        column.name.as_str(),
        place.number as u64 + 1,
        show::plain_default(column, cx.settings.zone()),
        if column.nullable { "YES" } else { "NO" },
    ];
    row.extend(type_cells(&column.ty));
    row.extend(cells![
        column.ty.to_string(),
        place.key,
        place.extra.as_str(),
        cx.grants_now().of_columns(place.schema),
        column.comment.as_str(),
        column.generated.as_ref().map_or(String::new(), |generated| show::plain_expression(&generated.expr)),
        None::<i64>,
    ]);
    row
}

pub(super) fn columns_extensions(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for table in wanted.tables_with_columns(cx) {
        for (_, column) in table.shown_columns() {
            let names = [CATALOG, &table.database, &table.name, &column.name];
            let mut row: Vec<_> = names.into_iter().map(Datum::owned).collect();
            row.extend([Datum::Null, Datum::Null]);
            each(row)?;
        }
    }
    Ok(())
}

/// DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE,
/// DATETIME_PRECISION, CHARACTER_SET_NAME and COLLATION_NAME of a type.
pub(super) fn type_cells(ty: &DataType) -> Vec<Datum<'static>> {
    let (precision, scale) = numeric(ty);
    let fsp = match ty {
        DataType::Time(fsp) | DataType::DateTime(fsp) | DataType::Timestamp(fsp) => Some(u64::from(*fsp)),
        _ => None,
    };
    let collation = ty.is_character().then(|| ty.collation());
    let (characters, octets) = lengths(ty).unzip();
    cells![
        data_type(ty),
        characters,
        octets,
        precision,
        scale,
        fsp,
        collation.map(|c| c.charset().name()),
        collation.map(Collation::name),
    ]
}

/// The type's name without length, digits and sign.
fn data_type(ty: &DataType) -> String {
    let full = ty.to_string();
    full.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

/// The longest text in characters and in bytes; those of a LOB are counted in bytes.
fn lengths(ty: &DataType) -> Option<(i64, i64)> {
    use DataType::{Char, Enum, Lob, Set, VarChar};
    let bytes = i64::from(ty.byte_length());
    match ty {
        Char { .. } | VarChar { .. } | Enum { .. } | Set { .. } => {
            Some((i64::from(ty.display_length()), bytes))
        }
        Lob { .. } => Some((bytes, bytes)),
        _ => None,
    }
}

/// Digits in all, and after the point.
fn numeric(ty: &DataType) -> (Option<u64>, Option<u64>) {
    match ty {
        DataType::Integer { size, sign, .. } => {
            let digits = match size {
                IntegerSize::Tiny => 3,
                IntegerSize::Small => 5,
                IntegerSize::Medium => 7,
                IntegerSize::Int => 10,
                IntegerSize::Big if sign.unsigned => 20,
                IntegerSize::Big => 19,
            };
            (Some(digits), Some(0))
        }
        DataType::Decimal { precision, scale, .. } => (Some((*precision).into()), Some((*scale).into())),
        DataType::Floating { digits: Some((m, d)), .. } => (Some((*m).into()), Some((*d).into())),
        DataType::Floating { double, .. } => (Some(if *double { 22 } else { 12 }), None),
        DataType::Bit(width) => (Some((*width).into()), None),
        _ => (None, None),
    }
}
