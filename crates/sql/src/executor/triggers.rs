//! Triggers at work: what runs for a row that a statement inserts, updates or deletes.
//!
//! Whoever changes rows for a statement calls these around the change itself
//! ([`super::foreign_keys`]): before it, with the row that is to be, which the trigger may change;
//! and after it. Rows that follow by foreign keys have no triggers, as in InnoDB, nor have those
//! that a log brings.
//!
//! A table without triggers pays one look at an empty list.
//!
//! (G1) What a trigger changes is a statement within the one that it runs for: it fails with it.
//!      Its rows are in the log, and replicas run nothing.
//! (G2) A row is looked at as a whole (NOT NULL, generated columns, CHECK) when the triggers before
//!      the change have ended.

use std::borrow::Cow;
use std::sync::Arc;

use super::assignments::rebuild;
use super::foreign_keys::{self, NotChanged};
use super::{RowRules, fit};
use crate::catalog::TableDef;
use crate::expression::row::{ImageRow, Offsets};
use crate::routine::trigger::{self, TriggerRows};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::value::Datum;
use syntax::ast::{TriggerEvent, TriggerTime};

/// What the triggers before a change have assigned, also where one of them fails then.
#[derive(Debug, Default)]
pub(super) struct AssignedColumns {
    /// The columns, by number.
    pub(super) all: Vec<usize>,
    /// Those that got NULL, even where a later trigger has thought better of it.
    pub(super) nulls: Vec<usize>,
}

/// True if triggers see rows before they are inserted.
pub(super) fn run_before_insert(table: &TableDef) -> bool {
    has(table, TriggerTime::Before, TriggerEvent::Insert)
}

/// True if triggers see rows before they are updated.
pub(super) fn run_before_update(table: &TableDef) -> bool {
    has(table, TriggerTime::Before, TriggerEvent::Update)
}

/// True if triggers see rows that are deleted.
pub(super) fn run_around_delete(table: &TableDef) -> bool {
    has(table, TriggerTime::Before, TriggerEvent::Delete)
        || has(table, TriggerTime::After, TriggerEvent::Delete)
}

fn has(table: &TableDef, time: TriggerTime, event: TriggerEvent) -> bool {
    !table.triggers.is_empty() && table.triggers.has(time, event)
}

/// Before a row is inserted, which becomes what the triggers make of it.
pub(super) fn before_insert(
    cx: &mut Context,
    table: &Arc<TableDef>,
    new: &mut Vec<u8>,
    assigned: &mut AssignedColumns,
) -> Result<()> {
    before(cx, table, TriggerEvent::Insert, None, new, assigned)
}

/// After a row was inserted.
pub(super) fn after_insert(cx: &mut Context, table: &Arc<TableDef>, new: &[u8]) -> Result<()> {
    after(cx, table, TriggerEvent::Insert, None, Some(new))
}

/// The same before a row is updated.
pub(super) fn before_update(
    cx: &mut Context,
    table: &Arc<TableDef>,
    old: &[u8],
    new: &mut Vec<u8>,
    assigned: &mut AssignedColumns,
) -> Result<()> {
    before(cx, table, TriggerEvent::Update, Some(old), new, assigned)
}

/// After a row was updated, or was found to be so already.
pub(super) fn after_update(cx: &mut Context, table: &Arc<TableDef>, old: &[u8], new: &[u8]) -> Result<()> {
    after(cx, table, TriggerEvent::Update, Some(old), Some(new))
}

fn before(
    cx: &mut Context,
    table: &Arc<TableDef>,
    event: TriggerEvent,
    old: Option<&[u8]>,
    new: &mut Vec<u8>,
    assigned: &mut AssignedColumns,
) -> Result<()> {
    if !has(table, TriggerTime::Before, event) {
        return Ok(());
    }
    run_all(cx, table, TriggerTime::Before, event, old, Some(new), assigned)
}

fn after(
    cx: &mut Context,
    table: &Arc<TableDef>,
    event: TriggerEvent,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
) -> Result<()> {
    if !has(table, TriggerTime::After, event) {
        return Ok(());
    }
    let mut new = new.map(<[u8]>::to_vec);
    run_all(cx, table, TriggerTime::After, event, old, new.as_mut(), &mut AssignedColumns::default())
}

/// Runs the triggers of a time and event one after the other; each sees what those before it made
/// of the new row.
fn run_all(
    cx: &mut Context,
    table: &Arc<TableDef>,
    time: TriggerTime,
    event: TriggerEvent,
    old: Option<&[u8]>,
    mut new: Option<&mut Vec<u8>>,
    columns: &mut AssignedColumns,
) -> Result<()> {
    if !has(table, time, event) {
        return Ok(());
    }
    let programs = trigger::programs(table);
    let (mut offsets_old, mut offsets_new) = (Offsets::default(), Offsets::default());
    if let Some(old) = old {
        offsets_old.find(table, old)?;
    }
    let old = old.map(|image| ImageRow { table, image, offsets: &offsets_old });
    for (_, program) in
        table.triggers.list().iter().zip(programs.iter()).filter(|(trigger, _)| trigger.is_of(time, event))
    {
        let program = program.as_ref().map_err(Clone::clone)?;
        let new_row = match &new {
            Some(image) => {
                offsets_new.find(table, image)?;
                Some(ImageRow { table, image, offsets: &offsets_new })
            }
            None => None,
        };
        let rows = TriggerRows { old, new: new_row };
        let assigned = trigger::run(cx, program, table, rows, &mut columns.all)?;
        if let Some(image) = &mut new
            && !assigned.is_empty()
        {
            let nulls = assigned.iter().filter(|(_, value)| value.is_null());
            columns.nulls.extend(nulls.map(|(column, _)| *column));
            **image = with_values(cx, table, image, assigned)?;
        }
    }
    Ok(())
}

/// The row with the values that a trigger has assigned, which fit their columns already: as the
/// columns have them, TIMESTAMP in UTC.
fn with_values(
    cx: &mut Context,
    table: &Arc<TableDef>,
    image: &[u8],
    assigned: Vec<(usize, Datum<'static>)>,
) -> Result<Vec<u8>> {
    let row_rules = RowRules { row: 1, rules: cx.store_rules(false) };
    let mut values = Vec::with_capacity(assigned.len());
    for (number, value) in assigned {
        let column = &table.columns[number];
        let charset = column.ty.text_charset();
        let value = match value.is_null() {
            true => value,
            false => fit(cx, table, column, row_rules, value, charset)?,
        };
        values.push((number, value));
    }
    rebuild(table, image, &values)
}

/// Updates a row and lets the triggers see it, of which those before have.
pub(super) fn update_row(
    cx: &mut Context,
    table: &Arc<TableDef>,
    old: &[u8],
    new: &[u8],
) -> std::result::Result<(), NotChanged> {
    if row_now(cx, table, old)?.is_none_or(|now| *now != *old) {
        return Err(error::CHECKREAD.with(&[&table.name]).into());
    }
    foreign_keys::update_row(cx, table, old, new)?;
    Ok(after_update(cx, table, old, new)?)
}

/// Deletes a row, and runs the triggers around that. False if those before it have led to its end
/// already.
pub(super) fn delete_row(
    cx: &mut Context,
    table: &Arc<TableDef>,
    old: &[u8],
) -> std::result::Result<bool, NotChanged> {
    delete(cx, table, old, |cx, old| foreign_keys::delete_row(cx, table, old))
}

/// The same for a row in whose place another one is put.
pub(super) fn delete_replaced(
    cx: &mut Context,
    table: &Arc<TableDef>,
    old: &[u8],
    new: &[u8],
) -> std::result::Result<bool, NotChanged> {
    delete(cx, table, old, |cx, old| foreign_keys::delete_replaced(cx, table, old, new))
}

fn delete(
    cx: &mut Context,
    table: &Arc<TableDef>,
    old: &[u8],
    change: impl FnOnce(&mut Context, &[u8]) -> std::result::Result<(), NotChanged>,
) -> std::result::Result<bool, NotChanged> {
    let Some(old) = row_now(cx, table, old)? else { return Ok(false) };
    let mut assigned = AssignedColumns::default();
    run_all(cx, table, TriggerTime::Before, TriggerEvent::Delete, Some(&old), None, &mut assigned)?;
    let Some(now) = row_now(cx, table, &old)? else { return Ok(false) };
    change(cx, &now)?;
    after(cx, table, TriggerEvent::Delete, Some(&now), None)?;
    Ok(true)
}

/// A row as it is now, for statements within the one that has found it (triggers, functions) may
/// have reached it by foreign keys of the table: `None` if it is gone.
fn row_now<'i>(cx: &mut Context, table: &Arc<TableDef>, image: &'i [u8]) -> Result<Option<Cow<'i, [u8]>>> {
    if table.foreign_keys.is_empty() || !cx.statement.cascaded_within {
        return Ok(Some(Cow::Borrowed(image)));
    }
    let keys = table.schema.keys(image).map_err(SqlError::internal)?;
    let tree = table.schema.primary.tree();
    let now = cx.storage_transaction().get_newest_for_update(tree, keys.primary())?;
    Ok(now.map(|row| Cow::Owned(row.to_vec())))
}
