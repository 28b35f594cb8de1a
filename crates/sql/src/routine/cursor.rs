//! Cursors of stored programs: OPEN runs the query, FETCH takes one of its rows after the other.
//!
//! All rows are made when the cursor is opened, so that it holds no snapshot and sees no later
//! change; beyond `tmp_table_size` they are in a temporary file ([`RowSet`]). The query sees the
//! variables that its declaration sees, with the values that they have at OPEN.

use super::{Action, Routine, assign, with_cached_plan};
use crate::executor::{in_statement, query};
use crate::expression::frame::{RowReader, RowSet};
use crate::planner::{Query, plan};
use crate::privilege;
use crate::session::{Context, ReadLocks};
use datum::error::{self, Result, SqlError};
use datum::types::Charset;
use datum::value::{Datum, store};
use syntax::ast::StatementKind;

/// The rows of an open cursor.
pub(super) struct OpenCursor {
    rows: RowSet,
    reader: RowReader,
    next: usize,
    charsets: Vec<Charset>,
}

fn slot(cx: &mut Context, number: usize) -> Option<&mut Option<OpenCursor>> {
    let cursors = &mut cx.statement.frames.last_mut()?.program.cursors;
    if cursors.len() <= number {
        cursors.resize_with(number + 1, || None);
    }
    cursors.get_mut(number)
}

/// A block begins: its cursor is closed, whatever an earlier round has left.
pub(super) fn declare(cx: &mut Context, number: usize) {
    if let Some(cursor) = slot(cx, number) {
        *cursor = None;
    }
}

/// Runs the query of a cursor; error 1325 if it is open already.
pub(super) fn open(cx: &mut Context, routine: &Routine, number: usize) -> Result<()> {
    if slot(cx, number).is_some_and(|cursor| cursor.is_some()) {
        return Err(error::SP_CURSOR_ALREADY_OPEN.plain());
    }
    let declared = routine.program.cursors.get(number).copied().unwrap_or_default();
    let Some(Action::DeclareCursor(_, statement)) = routine.code.get(declared) else {
        return Err(SqlError::internal("a cursor without a declaration"));
    };
    let StatementKind::Query(query) = &statement.kind else {
        return Err(SqlError::internal("a cursor without a query"));
    };
    let at = place(cx, declared);
    let opened = with_cached_plan(cx, |cx| {
        privilege::check(cx, &statement.kind)?;
        in_statement(cx, statement.span.of(&routine.text), |cx| {
            let make =
                |cx: &mut Context, basis: &mut plan::Basis| plan::query(cx, basis, query, &routine.text);
            // It is a SELECT.
            cx.with_read_locks(ReadLocks::Never, |cx| plan::run(cx, make, |cx, plan| materialize(cx, plan)))
        })
    });
    place(cx, at);
    let opened = opened?;
    if let Some(cursor) = slot(cx, number) {
        *cursor = Some(opened);
    }
    Ok(())
}

/// Has the program stand at another instruction, whose variables and plan are then used; returns
/// where it stood.
fn place(cx: &mut Context, at: usize) -> usize {
    cx.statement.frames.last_mut().map_or(at, |frame| std::mem::replace(&mut frame.at, at))
}

fn materialize(cx: &mut Context, plan: &Query) -> Result<OpenCursor> {
    let mut rows = RowSet::new(cx, plan.columns.len());
    let mut row = Vec::new();
    query::run(cx, plan, &mut |_, values| {
        row.clear();
        let typed = values.iter().zip(&plan.columns);
        row.extend(typed.map(|(value, column)| store::of_expression(value.clone().into_owned(), &column.ty)));
        rows.push(&mut row)?;
        Ok(true)
    })?;
    let charsets = plan.columns.iter().map(|column| column.ty.collation.charset()).collect();
    Ok(OpenCursor { rows, reader: RowReader::default(), next: 0, charsets })
}

/// FETCH: the next row's values go to these variables. Error 1329 after the last row.
pub(super) fn fetch(cx: &mut Context, routine: &Routine, number: usize, into: &[usize]) -> Result<()> {
    let cursor = slot(cx, number).and_then(Option::as_mut);
    let cursor = cursor.ok_or_else(|| error::SP_CURSOR_NOT_OPEN.plain())?;
    if cursor.charsets.len() != into.len() {
        return Err(error::SP_WRONG_NO_OF_FETCH_ARGS.plain());
    }
    if cursor.next >= cursor.rows.len() {
        return Err(error::SP_FETCH_NO_DATA.plain());
    }
    let row: Vec<Datum<'static>> = cursor.rows.read(cursor.next, &mut cursor.reader)?.to_vec();
    cursor.next += 1;
    let charsets = cursor.charsets.clone();
    for ((value, charset), &variable) in row.into_iter().zip(charsets).zip(into) {
        let ty = routine.variables.get(variable).map(|variable| variable.ty.clone());
        let ty = ty.ok_or_else(|| SqlError::internal("a variable without a place"))?;
        assign(cx, variable, &ty, value, charset)?;
    }
    Ok(())
}

/// Forgets the rows; error 1326 if it is not open.
pub(super) fn close(cx: &mut Context, number: usize) -> Result<()> {
    let closed = slot(cx, number).and_then(Option::take);
    closed.map(drop).ok_or_else(|| error::SP_CURSOR_NOT_OPEN.plain())
}
