//! What an ALTER TABLE takes, and whether ALGORITHM and LOCK allow it.

use storage::layout::{self, ColumnSource};

use super::super::Settings;
use super::draft::Changed;
use super::has_all_layouts;
use crate::catalog::draft::Finished;
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use datum::error::{self, Result};
use datum::types::DataType;
use datum::value::{DateTime, Datum, image, store};
use syntax::ast::{AlterAlgorithm, AlterLock, AlterTable};

/// What has to be done.
#[derive(Debug, Clone)]
pub(crate) enum AlterWork {
    /// Nothing but a new definition; rows that are there have these columns, if others than the
    /// table now.
    Definition {
        /// Where each column comes from in a row of before.
        sources: Option<Vec<ColumnSource>>,
    },
    /// Indexes are built concurrently with writers.
    Indexes {
        /// As above.
        sources: Option<Vec<ColumnSource>>,
    },
    /// All rows are written anew, while nobody changes them.
    Copy,
}

/// The best algorithm that MySQL has for it, and why not a better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Instant,
    Inplace,
    Copy,
}

const TYPE_CHANGE: &str = "Cannot change column type INPLACE";
const TYPE_REBUILD: &str = "Need to rebuild the table to change column type";
const NULLS_CONVERTED: &str = "cannot silently convert NULL values, as required in this SQL_MODE";
const KEY_PART: &str = "ADD COLUMN col...VIRTUAL, ADD INDEX(col)";
const KEYLESS: &str = "Dropping a primary key is not allowed without also adding a new primary key";

struct Findings {
    needs: Needs,
    /// Why COPY.
    reason: Option<&'static str>,
    copy: bool,
    /// A value is computed for each row, for which MySQL gives no reason.
    computes: bool,
    indexes: bool,
}

impl Findings {
    fn need(&mut self, needs: Needs) {
        self.needs = self.needs.max(needs);
    }

    /// A value is computed for each row.
    fn copy_computing(&mut self) {
        self.copy_for(None);
        self.computes = true;
    }

    fn copy_for(&mut self, reason: Option<&'static str>) {
        self.need(Needs::Copy);
        self.copy = true;
        self.reason = self.reason.or(reason);
    }
}

/// Compares old and new. True if MySQL would copy the rows.
pub(super) fn classify(
    old: &TableDef,
    new: &Finished,
    changed: &Changed,
    alter: &AlterTable,
    settings: &Settings,
) -> Result<(AlterWork, bool)> {
    let mut found =
        Findings { needs: Needs::Instant, reason: None, copy: false, computes: false, indexes: false };
    if changed.has_options {
        found.need(Needs::Inplace);
    }
    if changed.force {
        found.need(Needs::Inplace);
        found.copy = true;
    }
    if changed.new_checks {
        found.copy_for(None);
    }
    columns(old, new, settings, &mut found);
    indexes(old, new, &mut found);
    if !settings.is_replicated {
        check_clauses(alter, &found)?;
    }
    let asks_copy = alter.algorithm == Some(AlterAlgorithm::Copy);
    let sources = sources(old, new, settings)?;
    let counts_rows = asks_copy || found.needs == Needs::Copy;
    if found.copy || asks_copy || sources.is_some() && has_all_layouts(old.layouts.as_ref()) {
        return Ok((AlterWork::Copy, counts_rows));
    }
    let work = if found.indexes { AlterWork::Indexes { sources } } else { AlterWork::Definition { sources } };
    Ok((work, counts_rows))
}

fn columns(old: &TableDef, new: &Finished, settings: &Settings, found: &mut Findings) {
    let origins: Vec<usize> = new.columns.iter().flatten().copied().collect();
    if !origins.is_sorted() {
        found.need(Needs::Inplace);
    }
    for (column, origin) in new.table.columns.iter().zip(&new.columns) {
        match origin {
            Some(origin) => changed_column(old, *origin, column, settings, found),
            None => added_column(column, settings, found),
        }
    }
    let auto = |table: &TableDef| table.auto_column.map(|c| table.columns[c].name.to_ascii_lowercase());
    if new.table.auto_column.is_some() && auto(old) != auto(&new.table) {
        match new.table.auto_column.and_then(|c| new.columns[c]) {
            // The rows are numbered while the table is built anew.
            None => {
                found.need(Needs::Inplace);
                found.copy = true;
            }
            origin if origin != old.auto_column => found.copy_for(None),
            Some(_) => {}
        }
    }
}

fn added_column(column: &ColumnDef, settings: &Settings, found: &mut Findings) {
    match &column.generated {
        Some(generated) if generated.stored => found.copy_computing(),
        Some(_) if column.is_key_part() => {
            found.need(Needs::Inplace);
            found.copy = true;
            found.reason = found.reason.or(Some(KEY_PART));
        }
        // It is in the row's image here, so all rows are written anew.
        Some(_) => {
            found.need(Needs::Inplace);
            found.copy = true;
        }
        None if matches!(column.default, Default::Expression(_)) => found.copy_computing(),
        // A zero date is no value for the rows that are there, if there are any.
        None if filler_is_zero_date(column, settings) => found.copy_for(None),
        None => {}
    }
}

fn filler_is_zero_date(column: &ColumnDef, settings: &Settings) -> bool {
    column.ty.has_date()
        && !column.nullable
        && column.default == Default::None
        && settings.dates().no_zero_date
}

fn changed_column(
    old: &TableDef,
    origin: usize,
    column: &ColumnDef,
    settings: &Settings,
    found: &mut Findings,
) {
    let before = &old.columns[origin];
    let is_indexed = old.indexes.iter().any(|i| i.parts.iter().any(|p| p.column == origin));
    if before.generated != column.generated {
        return found.copy_for(Some(TYPE_CHANGE));
    }
    if before.ty != column.ty {
        match compare_types(&before.ty, &column.ty) {
            Similarity::Extended => {}
            Similarity::Longer => found.need(Needs::Inplace),
            Similarity::Other => return found.copy_for(Some(TYPE_CHANGE)),
        }
    }
    if before.nullable && !column.nullable && !settings.is_strict() {
        found.copy_for(Some(NULLS_CONVERTED));
    }
    if before.nullable != column.nullable {
        found.need(Needs::Inplace);
        // Rows must be looked at, or the form of keys changes.
        found.copy |= before.nullable || is_indexed;
    }
}

enum Similarity {
    /// Rows and keys are the same, and more values are possible.
    Extended,
    /// The same; MySQL does this INPLACE.
    Longer,
    Other,
}

fn compare_types(before: &DataType, now: &DataType) -> Similarity {
    use DataType as D;
    let bytes = |ty: &DataType| {
        let ty = ty.column_type();
        (ty.code, ty.meta, ty.unsigned, ty.charset)
    };
    match (before, now) {
        (D::Integer { .. }, D::Integer { .. }) if bytes(before) == bytes(now) => Similarity::Extended,
        (D::Enum { members: a, collation: x }, D::Enum { members: b, collation: y })
        | (D::Set { members: a, collation: x }, D::Set { members: b, collation: y })
            if x == y && b.starts_with(a) && bytes(before) == bytes(now) =>
        {
            Similarity::Extended
        }
        (D::VarChar { length: a, collation: x }, D::VarChar { length: b, collation: y })
            if x == y && a <= b && (before.byte_length() < 256) == (now.byte_length() < 256) =>
        {
            Similarity::Longer
        }
        _ => Similarity::Other,
    }
}

/// True if an index of the new table has the keys that it had in the old one.
pub(super) fn same_index(old: &TableDef, origin: usize, new: &Finished, index: usize) -> bool {
    let (before, now) = (&old.indexes[origin], &new.table.indexes[index]);
    before.unique == now.unique
        && before.parts.len() == now.parts.len()
        && before.parts.iter().zip(&now.parts).all(|(a, b)| {
            new.columns[b.column] == Some(a.column)
                && a.prefix_len == b.prefix_len
                && a.descending == b.descending
        })
}

fn indexes(old: &TableDef, new: &Finished, found: &mut Findings) {
    let primary = new.indexes[0];
    if primary.is_none_or(|origin| origin != 0 || !same_index(old, 0, new, 0)) {
        found.copy = true;
        // The generated key takes the place of one that is dropped.
        match new.table.has_generated_key() {
            true => found.copy_for(Some(KEYLESS)),
            false => found.need(Needs::Inplace),
        }
    }
    for (index, origin) in new.indexes.iter().enumerate().skip(1) {
        if origin.is_none_or(|origin| !same_index(old, origin, new, index)) {
            found.indexes = true;
            found.need(Needs::Inplace);
            // Writers keep it by the definition of before.
            found.copy |=
                new.table.indexes[index].parts.iter().any(|part| !is_as_before(old, new, part.column));
        }
    }
    let kept = |origin: usize| new.indexes.contains(&Some(origin));
    if !(0..old.indexes.len()).all(kept) {
        found.need(Needs::Inplace);
    }
}

/// True if a column was there before, with the same form in keys.
fn is_as_before(old: &TableDef, new: &Finished, column: usize) -> bool {
    let Some(origin) = new.columns[column] else { return false };
    let (before, now) = (&old.columns[origin], &new.table.columns[column]);
    before.nullable == now.nullable && before.ty.column_type() == now.ty.column_type()
}

fn check_clauses(alter: &AlterTable, found: &Findings) -> Result<()> {
    use AlterAlgorithm as G;
    let lock = alter.lock.filter(|lock| *lock != AlterLock::Default);
    let refuse = |what: &str, instead: &str, reason: Option<&str>| -> Result<()> {
        Err(match reason {
            Some(reason) => error::ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&what, &reason, &instead]),
            None => error::ALTER_OPERATION_NOT_SUPPORTED.with(&[&what, &instead]),
        })
    };
    match alter.algorithm {
        Some(G::Instant) if lock.is_some() => {
            return Err(error::WRONG_USAGE.with(&[&"ALGORITHM=INSTANT", &"LOCK=NONE/SHARED/EXCLUSIVE"]));
        }
        Some(G::Instant) if found.needs > Needs::Instant || found.copy => {
            let instead = match (found.needs, found.reason) {
                (Needs::Copy, None) if !found.computes => "ALGORITHM=COPY",
                _ => "ALGORITHM=COPY/INPLACE",
            };
            let reason = found.reason.map(|reason| if reason == TYPE_CHANGE { TYPE_REBUILD } else { reason });
            return refuse("ALGORITHM=INSTANT", instead, reason);
        }
        Some(G::Inplace) if found.needs == Needs::Copy => {
            return refuse("ALGORITHM=INPLACE", "ALGORITHM=COPY", found.reason);
        }
        _ => {}
    }
    let copies = found.copy || alter.algorithm == Some(G::Copy);
    if lock == Some(AlterLock::None) && copies {
        let reason = match found.reason {
            None if found.computes => None,
            reason => Some(reason.unwrap_or("COPY algorithm requires a lock")),
        };
        return refuse("LOCK=NONE", "LOCK=SHARED", reason);
    }
    Ok(())
}

/// Where the new columns come from in a row of before; `None` if nothing changes for rows.
fn sources(old: &TableDef, new: &Finished, settings: &Settings) -> Result<Option<Vec<ColumnSource>>> {
    let is_same = new.columns.len() == old.columns.len()
        && new.columns.iter().enumerate().all(|(number, origin)| *origin == Some(number));
    if is_same {
        return Ok(None);
    }
    let mut sources = Vec::with_capacity(new.columns.len());
    for (column, origin) in new.table.columns.iter().zip(&new.columns) {
        sources.push(match origin {
            Some(origin) => ColumnSource::Column(*origin),
            None => ColumnSource::Constant(constant(column, &filler(column, settings))?),
        });
    }
    Ok(Some(sources))
}

fn constant(column: &ColumnDef, value: &Datum<'_>) -> Result<Option<Box<[u8]>>> {
    let mut pushed = Ok(());
    let ty = column.ty.column_type();
    let raw = layout::constant(&ty, |builder| pushed = image::push(builder, value, &column.ty));
    pushed.map(|()| raw)
}

/// What a new column is in the rows that are there.
pub(crate) fn filler(column: &ColumnDef, settings: &Settings) -> Datum<'static> {
    match &column.default {
        Default::Value(value) => value.clone(),
        Default::Now => {
            let is_utc = matches!(column.ty, DataType::Timestamp(_));
            let moment = DateTime::from_unix_micros(settings.moment, 6).unwrap_or(DateTime::ZERO);
            let moment = if is_utc { moment } else { settings.zone.show(moment) };
            Datum::DateTime(moment.truncate(column.ty.decimals()))
        }
        Default::None | Default::Expression(_) if column.nullable => Datum::Null,
        Default::None | Default::Expression(_) => store::implicit_default(&column.ty),
    }
}
