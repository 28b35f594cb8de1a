//! WITH CHECK OPTION: what a view asks of the rows that a statement writes through it.

use std::sync::Arc;

use super::through_view::ChangedView;
use crate::catalog::{TableDef, ViewDef};
use crate::expression::frame::Frame;
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Row};
use crate::session::Context;
use datum::error::{self, Result, SqlError};

/// What a view asks of the rows of one of its tables.
pub(super) struct ViewCheck {
    database: String,
    view: String,
    conditions: Vec<Expr>,
    /// The source that the table is in them.
    slot: usize,
    /// They read the table's AUTO_INCREMENT column.
    pub(super) reads_number: bool,
}

/// What a view asks of what an INSERT, REPLACE or LOAD DATA writes through it; nothing by default.
#[derive(Default)]
pub(super) struct ThroughView {
    /// Its database and its name.
    name: Option<(String, String)>,
    /// WITH CHECK OPTION.
    pub(super) check: Option<Arc<ViewCheck>>,
    /// What rows fulfil that REPLACE may delete.
    conditions: Vec<Expr>,
}

impl ThroughView {
    pub(super) fn new(view: Option<ChangedView>, replaces: bool) -> Self {
        let Some(view) = view else { return Self::default() };
        let conditions = if replaces { view.conditions } else { Vec::new() };
        let name = Some((view.view.database.clone(), view.view.name.clone()));
        Self { name, check: view.check, conditions }
    }

    /// Error 1423 for a column that is not given and has no default; `None` where no view is
    /// written through.
    pub(super) fn no_default(&self) -> Option<SqlError> {
        let (database, view) = self.name.as_ref()?;
        Some(error::NO_DEFAULT_FOR_VIEW_FIELD.with(&[database, view]))
    }

    /// Error 3059 for a row in the way of REPLACE that the view does not show.
    pub(super) fn check_replaced(&self, cx: &mut Context, table: &Arc<TableDef>, image: &[u8]) -> Result<()> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let mut offsets = Offsets::default();
        offsets.find(table, image)?;
        let row = Row::Image(ImageRow { table, image, offsets: &offsets });
        for condition in &self.conditions {
            if condition.truth(cx, row)? != Some(true) {
                return Err(error::VIEW_REPLACE_INVISIBLE_ROWS.plain());
            }
        }
        Ok(())
    }
}

impl ViewCheck {
    /// `None` if any row may be written. The AUTO_INCREMENT column is the written table's, if it
    /// has one.
    pub(super) fn new(
        view: &ViewDef,
        conditions: Vec<Expr>,
        slot: usize,
        auto_column: Option<usize>,
    ) -> Option<Arc<ViewCheck>> {
        if conditions.is_empty() {
            return None;
        }
        let is_number = |e: &Expr| match e.node {
            Node::Column { source, column } => source == slot && auto_column == Some(column),
            _ => false,
        };
        let reads_number = conditions.iter().any(|e| e.contains(&mut |e| is_number(e)));
        let (database, view) = (view.database.clone(), view.name.clone());
        Some(Arc::new(ViewCheck { database, view, conditions, slot, reads_number }))
    }

    /// Error 1369 for a row that the view would not have; with IGNORE a warning, and false.
    /// `joined` has the rows of the other tables of a join.
    pub(super) fn passes(
        &self,
        cx: &mut Context,
        table: &Arc<TableDef>,
        image: &[u8],
        joined: Option<&Frame>,
        ignore: bool,
    ) -> Result<bool> {
        let mut offsets = Offsets::default();
        offsets.find(table, image)?;
        let written = Row::Image(ImageRow { table, image, offsets: &offsets });
        let rows: Vec<Row<'_>>;
        let row = match joined {
            None => written,
            Some(frame) => {
                let row = |slot: usize| match frame.image_row(slot) {
                    _ if slot == self.slot => written,
                    Some(row) => Row::Image(row),
                    None => Row::Values(&[]), // NULL in all columns
                };
                rows = (0..frame.len()).map(row).collect();
                Row::Joined(&rows)
            }
        };
        for condition in &self.conditions {
            if condition.truth(cx, row)? == Some(true) {
                continue;
            }
            let e = error::VIEW_CHECK_FAILED.with(&[&self.database, &self.view]);
            if !ignore {
                return Err(e);
            }
            cx.warn(e);
            return Ok(false);
        }
        Ok(true)
    }
}
