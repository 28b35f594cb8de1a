//! CREATE TABLE .. SELECT: a table and its rows in one event group.
//!
//! 1. plan   The query is planned; its columns and those of the statement make the definition.
//! 2. fill   The rows go into a temporary table of that definition, as INSERT would put them there:
//!    what is wrong with them is known before anything shared is touched. CREATE TEMPORARY TABLE ..
//!    SELECT ends here.
//! 3. log    With other DDL kept away, the table gets its numbers, and the rows are copied into a
//!    transaction that begins with the statement as `CREATE TABLE .. START TRANSACTION`, which is
//!    how MySQL logs it. A crash leaves table and rows, or neither.

use std::sync::Arc;

use storage::transaction::{Direction, KeyRange, ReadMode};

use super::{alter, insert};
use crate::catalog::ddl::{self, Plan};
use crate::catalog::read_back::checked_records;
use crate::catalog::table::Default;
use crate::catalog::{Change, ColumnDef, TableDef};
use crate::output::OutputColumn;
use crate::planner::plan;
use crate::session::Context;
use datum::error::{Result, SqlError};
use datum::types::{DataType, Made, NOT_FIXED, ROW_SIZE_MAX, Type, code};
use syntax::ast::{CreateTable, Statement, StatementKind, TableContent, TableQuery};

/// A CREATE TABLE .. SELECT.
pub(super) struct CreateSelect<'s> {
    create: &'s CreateTable,
    query: &'s TableQuery,
}

impl<'s> CreateSelect<'s> {
    /// `None` for any other statement.
    pub(super) fn of(kind: &'s StatementKind) -> Option<Self> {
        let StatementKind::CreateTable(create) = kind else { return None };
        match &create.content {
            TableContent::Definition(definition) => {
                Some(Self { create, query: definition.query.as_deref()? })
            }
            TableContent::Like(_) => None,
        }
    }
}

/// Executes one. What was open is committed already, unless the table is temporary.
pub(super) fn execute(
    cx: &mut Context,
    statement: &Statement,
    CreateSelect { create, query: source }: CreateSelect<'_>,
    text: &[u8],
) -> Result<()> {
    // Only to look at: the state may be another one when the table is made.
    if ddl::is_there(create, &cx.catalog().state(), &cx.ddl_settings())? {
        return add_notes(
            cx,
            &ddl::create_selecting(create, &[], None, &cx.catalog().state(), &cx.ddl_settings())?,
        );
    }
    let mut filled = None;
    let outcome = super::in_statement(cx, statement.span.of(text), |cx| {
        let query = plan::query_once(cx, &source.query, text)?;
        let strict = cx.settings.modes().strict;
        let selected: Vec<ColumnDef> = query.columns.iter().map(|c| definition(cx, c, strict)).collect();
        let planned =
            ddl::create_selecting(create, &selected, None, &cx.catalog().state(), &cx.ddl_settings())?;
        let Some(Change::PutTable(table, _)) = planned.changes.first() else {
            return Ok(None);
        };
        alter::check_expressions(cx, table)?;
        planned.warnings.iter().for_each(|warning| cx.warn(warning.clone()));
        let table = cx.make_temporary(table)?;
        filled = Some(table.clone());
        insert::fill(cx, table, &selected, &query, source.duplicates)?;
        Ok(Some(selected))
    });
    let Some(table) = filled else { return outcome.map(|_| ()) };
    match outcome {
        Ok(Some(_)) if create.temporary => {
            cx.put_temporary(table);
            Ok(())
        }
        Ok(Some(selected)) => {
            // The rows are the temporary table's from here on, and no lock is held.
            let logged = cx.commit().and_then(|()| log(cx, create, &selected, &table));
            cx.retire(&table);
            logged
        }
        outcome => {
            cx.retire(&table);
            outcome.map(|_| ())
        }
    }
}

fn add_notes(cx: &mut Context, plan: &Plan) -> Result<()> {
    plan.notes.iter().for_each(|note| cx.statement.diagnostics.note(note.clone()));
    Ok(())
}

/// Makes the table, with the rows of `filled`.
pub(super) fn log(
    cx: &mut Context,
    create: &CreateTable,
    selected: &[ColumnDef],
    filled: &Arc<TableDef>,
) -> Result<()> {
    let instance = cx.instance.clone();
    let catalog = instance.catalog();
    let largest = alter::largest_number(cx, filled)?;
    let next = filled.counter.next();
    let next = largest.filter(|largest| next > largest.saturating_add(1)).map(|_| next);
    let _one_at_a_time = catalog.lock_ddl();
    let plan = ddl::create_selecting(create, selected, next, &catalog.state(), &cx.ddl_settings())?;
    let Some(Change::PutTable(table, _)) = plan.changes.first() else {
        // Somebody has made it meanwhile.
        return add_notes(cx, &plan);
    };
    plan.notes.iter().for_each(|note| cx.statement.diagnostics.note(note.clone()));
    let text =
        plan.logged.clone().ok_or_else(|| SqlError::internal("a CREATE TABLE .. SELECT without text"))?;
    let mut event = cx.ddl_event(text, &plan.changes);
    // The text says NULL and DEFAULT of each TIMESTAMP; `mysqlbinlog` prints the setting as a SET,
    // which fails within a transaction.
    event.status.explicit_defaults_for_timestamp = None;
    let records = checked_records(&plan.changes, &event, cx.statement.timestamp(), &catalog.state(), &[])?;
    let mut transaction = cx.logged_transaction();
    transaction.begin_statement(cx.statement.timestamp(), None);
    transaction.define(&event, &records);
    let mut reader = cx.scratch_transaction();
    let mut scan =
        reader.scan_index(&filled.schema, 0, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut rows = 0_u64;
    while scan.next(&mut reader)? {
        rows += 1;
        if rows.is_multiple_of(alter::INTERRUPT_STEPS) {
            cx.check_interrupt()?;
        }
        transaction.insert_row(&table.schema, scan.row())?;
    }
    drop(scan);
    transaction.end_statement();
    if let Some(position) = cx.log.replicated().source_position {
        transaction.set_source_position(position);
    }
    table.counter.used(filled.counter.next().saturating_sub(1));
    catalog.put_counters(&plan.changes);
    let committed = transaction.commit().inspect_err(|_| catalog.forget_counters())?;
    let committed = committed.ok_or_else(|| SqlError::internal("a statement that was not logged"))?;
    cx.committed(committed.gtid);
    if rows > 0 {
        cx.note_changes(&[table.id]);
    }
    catalog.publish(&plan.changes, committed.position);
    catalog.forget_counters();
    Ok(())
}

/// What a result column is as a table's: a table's column stays what it is there, but for what
/// makes it count or compute; what is computed gets a type that holds it.
///
/// Dates without NULL have a default where `sql_mode` is not strict, whatever NO_ZERO_DATE says.
pub(super) fn definition(cx: &Context, column: &OutputColumn, strict: bool) -> ColumnDef {
    let name = column.meta.name.clone();
    let origin = cx.visible_table(Some(&column.meta.database), &column.meta.org_table).ok();
    let origin = origin.filter(|_| !column.meta.org_table.is_empty());
    let stored =
        origin.as_ref().and_then(|table| Some(&table.columns[table.column_index(&column.meta.org_name)?]));
    let nullable = column.ty.nullable;
    let null = Default::Value(datum::value::Datum::Null);
    if let Some(stored) = stored {
        let counts = origin.as_ref().and_then(|table| table.auto_column).is_some_and(|column| {
            origin.as_ref().is_some_and(|table| std::ptr::eq(&table.columns[column], stored))
        });
        let default = match &stored.default {
            // What counts there has no default, and is not to be named here either.
            Default::None if counts && !nullable => {
                Default::Value(datum::value::store::implicit_default(&stored.ty))
            }
            Default::None | Default::Expression(_) if nullable => null,
            Default::Expression(_) => Default::None,
            Default::Value(value) if value.is_null() && !nullable => Default::None,
            default => default.clone(),
        };
        return ColumnDef { name, nullable, default, generated: None, visible: true, ..stored.clone() };
    }
    let ty = column_type(&column.ty);
    let default = match &ty {
        _ if nullable => null,
        DataType::Integer { .. }
        | DataType::Decimal { .. }
        | DataType::Floating { .. }
        | DataType::Time(_)
        | DataType::VarChar { .. } => Default::Value(datum::value::store::implicit_default(&ty)),
        DataType::Date | DataType::DateTime(_) if !strict => {
            Default::Value(datum::value::store::implicit_default(&ty))
        }
        _ => Default::None,
    };
    ColumnDef {
        name,
        ty,
        nullable,
        default,
        on_update_now: false,
        comment: String::new(),
        visible: true,
        generated: None,
    }
}

/// Integers of fewer digits than this are INT.
const BIGINT_LENGTH: u32 = 12;
/// And of a subquery's integers, sign included.
const BIGINT_LENGTH_OF_SUBQUERY: u32 = 10;
/// Longer text is TEXT (MySQL's CONVERT_IF_BIGGER_TO_BLOB).
const VARCHAR_LENGTH_MAX: u32 = 512;

/// The column type that holds an expression's values.
pub(super) fn column_type(ty: &Type) -> DataType {
    use datum::types::Family as F;
    use syntax::ast::{IntegerSize, Sign};
    let sign = Sign { unsigned: ty.unsigned, zerofill: false };
    let by_length = ty.made == Made::ByLength;
    let fsp = ty.decimals.min(6);
    match ty.family {
        F::Null => DataType::VarChar { length: 0, collation: datum::types::Collation::BINARY },
        F::Integer => {
            let size = match (ty.made, ty.code) {
                (Made::AsDescribed, code::TINY) => IntegerSize::Tiny,
                (Made::AsDescribed, code::SHORT) => IntegerSize::Small,
                (Made::AsDescribed, code::INT24) => IntegerSize::Medium,
                (Made::AsDescribed, code::LONG) => IntegerSize::Int,
                (Made::AsDescribed, _) => IntegerSize::Big,
                (Made::OfSubquery, _) if ty.length >= BIGINT_LENGTH_OF_SUBQUERY => IntegerSize::Big,
                (Made::OfSubquery, _) => IntegerSize::Int,
                (_, code::TINY | code::SHORT | code::INT24 | code::LONG) => IntegerSize::Int,
                _ if ty.length < BIGINT_LENGTH => IntegerSize::Int,
                _ => IntegerSize::Big,
            };
            DataType::Integer { size, sign, width: None }
        }
        F::Decimal => {
            let scale = ty.decimals.min(30);
            let precision = ty.precision().clamp(u32::from(scale).max(1), 65) as u8;
            DataType::Decimal { precision, scale, sign }
        }
        F::Float | F::Double => {
            // What computes has no more digits before the point than a double has for sure.
            let width = if by_length { 22 } else { ty.length.clamp(1, 255) as u8 };
            let digits = (ty.decimals < NOT_FIXED).then_some((width.max(ty.decimals), ty.decimals));
            DataType::Floating { double: ty.family == F::Double, digits, sign }
        }
        F::Bit => DataType::Bit(ty.length.clamp(1, 64) as u8),
        F::Text if ty.made == Made::AsDescribed && ty.code == code::STRING && ty.length <= 0xFF => {
            DataType::Char { length: ty.length as u8, collation: ty.collation }
        }
        F::Text if !by_length && matches!(ty.code, code::BLOB | code::LONG_BLOB) => {
            let length = if ty.made == Made::AsDescribed { ty.length } else { ty.byte_length() };
            let length_bytes = match length {
                0..=0xFFFF => 2,
                0x1_0000..=0xFF_FFFF => 3,
                _ => 4,
            };
            DataType::Lob { length_bytes, collation: ty.collation }
        }
        F::Text if ty.made == Made::AsDescribed && ty.byte_length() <= ROW_SIZE_MAX => {
            DataType::VarChar { length: ty.length as u16, collation: ty.collation }
        }
        F::Text | F::Label if ty.length <= VARCHAR_LENGTH_MAX && ty.code != code::LONG_BLOB => {
            DataType::VarChar { length: ty.length as u16, collation: ty.collation }
        }
        F::Text | F::Label => {
            let is_short = ty.byte_length() <= 0xFFFF && ty.code != code::BLOB;
            let length_bytes = if is_short { 2 } else { 4 };
            DataType::Lob { length_bytes, collation: ty.collation }
        }
        F::Date => DataType::Date,
        F::Time => DataType::Time(fsp),
        F::DateTime if ty.code == code::TIMESTAMP => DataType::Timestamp(fsp),
        F::DateTime => DataType::DateTime(fsp),
        F::Year if ty.made == Made::OfSubquery => {
            DataType::Integer { size: IntegerSize::Int, sign, width: None }
        }
        F::Year => DataType::Year,
        F::Json => DataType::Json,
    }
}
