//! The columns of a view, as DESCRIBE and `information_schema` show them: those that its query has
//! now. Nothing is locked for that, and nobody is waited for.

use std::sync::Arc;

use super::create_select;
use crate::catalog::{ColumnDef, ViewDef};
use crate::expression::{Resolver, Scope};
use crate::planner;
use crate::session::Context;
use datum::error::{Result, SqlError};

/// A view's columns.
///
/// # Errors
/// Those of a statement that uses the view: 1356, 1449, 1462.
pub(crate) fn view_columns(cx: &mut Context, view: &Arc<ViewDef>) -> Result<Vec<ColumnDef>> {
    let mut resolver = Resolver::new(cx, Scope::empty());
    resolver.views.looks_only = true;
    resolver.strict = view.strict;
    let mut columns = resolver.in_view(view, planner::query)?.columns;
    for (column, name) in columns.iter_mut().zip(&view.columns) {
        column.meta.name.clone_from(name);
    }
    Ok(columns.iter().map(|column| create_select::definition(cx, column, false)).collect())
}

/// What is wrong with a view, if somebody uses it now.
pub(crate) fn fault(cx: &mut Context, view: &Arc<ViewDef>) -> Option<SqlError> {
    view_columns(cx, view).err()
}
