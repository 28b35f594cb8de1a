//! What the names in a view's query mean, recorded while it is bound: with this the query's tree
//! becomes the canonical one that the view is kept as ([`crate::executor::create_view`]).
//!
//! (N1) Names are known by the places of their nodes in the tree: it is neither moved nor changed
//!      between binding and rewriting.

use std::collections::HashMap;

use crate::expression::Resolver;
use crate::expression::resolve::{Columns, Scope, Source, Visible};
use crate::session::Context;
use syntax::ast::{ColumnName, FunctionCall, Ident, Join, ObjectName, SelectItem};

/// What the nodes of a tree mean.
#[derive(Debug, Default)]
pub(crate) struct RecordedNames {
    columns: HashMap<usize, ColumnName>,
    stars: HashMap<usize, Vec<NamedColumn>>,
    item_names: HashMap<usize, String>,
    joins: HashMap<usize, Vec<(ColumnName, ColumnName)>>,
    databases: HashMap<usize, Ident>,
}

/// A column that `*` means, and what it is called.
#[derive(Debug, Clone)]
pub(crate) struct NamedColumn {
    pub(crate) column: ColumnName,
    pub(crate) name: String,
}

/// The place of a node.
fn place<T>(node: &T) -> usize {
    std::ptr::from_ref(node).addr()
}

impl RecordedNames {
    /// The column with its table; `None` for an alias of the select list.
    pub(crate) fn column(&self, name: &ColumnName) -> Option<&ColumnName> {
        self.columns.get(&place(name))
    }

    /// What `*` or `t.*` means.
    pub(crate) fn star(&self, item: &SelectItem) -> Option<&[NamedColumn]> {
        self.stars.get(&place(item)).map(Vec::as_slice)
    }

    /// What a select item without alias is called.
    pub(crate) fn item_name(&self, item: &SelectItem) -> Option<&str> {
        self.item_names.get(&place(item)).map(String::as_str)
    }

    /// What NATURAL or USING compares.
    pub(crate) fn join(&self, join: &Join) -> Option<&[(ColumnName, ColumnName)]> {
        self.joins.get(&place(join)).map(Vec::as_slice)
    }

    /// The database of a table; `None` for one of WITH.
    pub(crate) fn database_of_table(&self, name: &ObjectName) -> Option<&Ident> {
        self.databases.get(&place(name))
    }

    /// The database of a stored function; `None` for one that is built in.
    pub(crate) fn database_of_function(&self, call: &FunctionCall) -> Option<&Ident> {
        self.databases.get(&place(call))
    }
}

impl Resolver<'_> {
    /// Notes which column a name means.
    pub(crate) fn record_column(&mut self, name: &ColumnName) {
        let Some(recorded) = &mut self.recorded else { return };
        // The columns of a UNION have no table.
        let is_of_table = |column: &ColumnName| column.table.as_ref().is_some_and(|table| !table.is(""));
        if let Some(column) = meant(&self.scope, name, self.cx).filter(is_of_table) {
            recorded.columns.insert(place(name), column);
        }
    }

    /// Notes what `*` means: all that is visible, or what a source has.
    pub(crate) fn record_star(&mut self, item: &SelectItem, of: Option<&Source>) {
        let Some(recorded) = &mut self.recorded else { return };
        let (scope, cx) = (&self.scope, &*self.cx);
        let of_source = |source: &Source| -> Vec<NamedColumn> {
            let columns = source.visible().filter_map(|v| {
                Some(NamedColumn { column: named(source, source.find(&v.name)?, cx), name: v.name.into() })
            });
            columns.collect()
        };
        let columns = match (of, &scope.visible) {
            (Some(source), _) => of_source(source),
            (None, None) => scope.sources.iter().flat_map(of_source).collect(),
            (None, Some(visible)) => visible
                .iter()
                .filter_map(|v| {
                    let column = of_visible(&scope.sources, v, cx)?;
                    Some(NamedColumn { column, name: v.name.to_string() })
                })
                .collect(),
        };
        recorded.stars.insert(place(item), columns);
    }

    /// Notes what a select item without alias is called.
    pub(crate) fn record_item_name(&mut self, item: &SelectItem, name: &str) {
        if let Some(recorded) = &mut self.recorded {
            recorded.item_names.insert(place(item), name.to_owned());
        }
    }

    /// Notes a pair of columns that NATURAL or USING compares.
    pub(crate) fn record_using(&mut self, join: &Join, left: &Visible, right: &Visible) {
        let Some(recorded) = &mut self.recorded else { return };
        let sources = &self.scope.sources;
        let pair = (of_visible(sources, left, self.cx), of_visible(sources, right, self.cx));
        if let (Some(left), Some(right)) = pair {
            recorded.joins.entry(place(join)).or_default().push((left, right));
        }
    }

    /// Notes the database of a table.
    pub(crate) fn record_table(&mut self, name: &ObjectName, database: &str) {
        if let Some(recorded) = &mut self.recorded {
            recorded.databases.insert(place(name), database.into());
        }
    }

    /// Notes the database of a stored function.
    pub(crate) fn record_function(&mut self, call: &FunctionCall, database: &str) {
        if let Some(recorded) = &mut self.recorded {
            recorded.databases.insert(place(call), database.into());
        }
    }
}

/// The column that a name means, looked up as [`Resolver::expr`] does: in its own block, then in
/// those around.
fn meant(scope: &Scope, name: &ColumnName, cx: &Context) -> Option<ColumnName> {
    let is_alias =
        |scope: &Scope| name.table.is_none() && scope.aliases.iter().any(|(alias, _)| name.column.is(alias));
    if scope.aliases_first && is_alias(scope) {
        return None;
    }
    let mut next = Some(scope);
    while let Some(scope) = next {
        if let Some(found) = in_scope(scope, name, cx) {
            return Some(found);
        }
        if is_alias(scope) {
            return None;
        }
        next = scope.parent.as_deref();
    }
    None
}

fn in_scope(scope: &Scope, name: &ColumnName, cx: &Context) -> Option<ColumnName> {
    if let (Some(visible), None) = (&scope.visible, &name.table) {
        let column = visible.iter().find(|v| name.column.is(&v.name))?;
        return of_visible(&scope.sources, column, cx);
    }
    scope.sources.iter().enumerate().find_map(|(number, source)| {
        let qualified = name.table.as_ref().is_none_or(|t| t.is(&source.alias))
            && name.database.as_ref().is_none_or(|d| **d == *source.database);
        let is_seen = qualified && scope.window.contains(&number);
        let column = is_seen.then(|| source.find(&name.column)).flatten()?;
        Some(named(source, column, cx))
    })
}

/// A column that NATURAL or USING has made visible.
fn of_visible(sources: &[Source], visible: &Visible, cx: &Context) -> Option<ColumnName> {
    sources.iter().find_map(|source| {
        let column = source.find(&visible.name)?;
        source.column(column).is_same(&visible.expr).then(|| named(source, column, cx))
    })
}

/// A column by its full name: with its table's alias, or with table and database where it has none.
fn named(source: &Source, column: usize, cx: &Context) -> ColumnName {
    let (name, has_alias) = match &source.columns {
        Columns::Table(table) => (table.columns[column].name.as_str(), table.name != *source.alias),
        Columns::Made(columns) | Columns::Merged(columns, _) => {
            let is_name = crate::system_tables::schema(&source.database).is_some()
                || cx.catalog().view(&source.database, &source.alias).is_some();
            (columns[column].meta.name.as_str(), !is_name)
        }
    };
    ColumnName {
        database: (!has_alias && !source.database.is_empty()).then(|| (&*source.database).into()),
        table: Some((&*source.alias).into()),
        column: name.into(),
    }
}
