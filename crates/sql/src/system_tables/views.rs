//! Views: VIEWS, VIEW_TABLE_USAGE, VIEW_ROUTINE_USAGE, and their rows in TABLES and COLUMNS.

use std::sync::Arc;

use super::schemas::CATALOG;
use super::{Each, Wanted};
use crate::catalog::{ViewDef, view};
use crate::executor::view_columns::view_columns;
use crate::listing::cells;
use crate::privilege::Privileges;
use crate::session::Context;
use datum::error::Result;
use datum::types::Charset;
use datum::value::Datum;
use syntax::ast::CheckOption;

impl Wanted {
    /// The views that are wanted and of which the account may know, by schema and name.
    pub(super) fn views(&self, cx: &Context) -> Vec<Arc<ViewDef>> {
        self.views_of(cx, |schema| cx.grants_now().sees_definitions(schema))
    }

    /// Those whose columns it may know.
    fn views_with_columns(&self, cx: &Context) -> Vec<Arc<ViewDef>> {
        self.views_of(cx, |schema| cx.grants_now().sees_columns(schema))
    }

    fn views_of(&self, cx: &Context, sees: impl Fn(&str) -> bool) -> Vec<Arc<ViewDef>> {
        let state = cx.catalog().state();
        let databases = state.databases.iter().filter(|(name, _)| self.schema(name) && sees(name));
        let views = databases.flat_map(|(_, database)| database.views.values());
        views.filter(|view| self.table(&view.name)).cloned().collect()
    }
}

/// True if the account may read a view's query.
fn sees_query(cx: &Context, view: &ViewDef) -> bool {
    let wanted = Privileges::SELECT | Privileges::SHOW_VIEW;
    view.definer == cx.connection.account || cx.grants_now().in_database(&view.database).has(wanted)
}

pub(super) fn views(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for view in wanted.views(cx) {
        let state = cx.catalog().state();
        let is_merged = view.algorithm != syntax::ast::ViewAlgorithm::TempTable;
        let updatable = is_merged && view.tree().is_ok_and(|tree| view::is_updatable(&state, &tree));
        let query = if sees_query(cx, &view) { view.query.clone() } else { Vec::new() };
        each(cells![
            CATALOG,
            view.database.as_str(),
            view.name.as_str(),
            query,
            match view.check_option {
                None => "NONE",
                Some(CheckOption::Local) => "LOCAL",
                Some(CheckOption::Cascaded) => "CASCADED",
            },
            if updatable { "YES" } else { "NO" },
            view.definer.to_string(),
            view.security_word(),
            Charset::Utf8mb4.name(),
            view.connection.name(),
        ])?;
    }
    Ok(())
}

pub(super) fn view_table_usage(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for view in wanted.views(cx) {
        let Ok(tree) = view.tree() else { continue };
        for (database, table) in view::Uses::of(&tree).tables {
            each(cells![CATALOG, view.database.as_str(), view.name.as_str(), CATALOG, database, table])?;
        }
    }
    Ok(())
}

pub(super) fn view_routine_usage(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for view in wanted.views(cx) {
        let Ok(tree) = view.tree() else { continue };
        for (database, function) in view::Uses::of(&tree).functions {
            each(cells![CATALOG, view.database.as_str(), view.name.as_str(), CATALOG, database, function])?;
        }
    }
    Ok(())
}

/// The rows of TABLES.
pub(super) fn as_tables(cx: &mut Context, wanted: &Wanted, each: Each<'_>) -> Result<()> {
    for view in wanted.views(cx) {
        let mut row = cells![CATALOG, view.database.as_str(), view.name.as_str(), "VIEW"];
        row.extend(std::iter::repeat_n(Datum::Null, 16));
        row.extend(cells!["VIEW"]);
        each(row)?;
    }
    Ok(())
}

/// The columns of views, for COLUMNS. What is wrong with a view is a warning.
pub(super) fn each_column(
    cx: &mut Context,
    wanted: &Wanted,
    each: &mut dyn FnMut(&Context, &ViewDef, usize, &crate::catalog::ColumnDef) -> Result<()>,
) -> Result<()> {
    for view in wanted.views_with_columns(cx) {
        match view_columns(cx, &view) {
            Ok(columns) => {
                for (number, column) in columns.iter().enumerate() {
                    each(cx, &view, number, column)?;
                }
            }
            Err(e) => {
                datum::bounds::check()?;
                cx.statement.diagnostics.warn(e);
            }
        }
    }
    Ok(())
}
