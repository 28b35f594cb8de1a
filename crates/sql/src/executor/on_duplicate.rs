//! ON DUPLICATE KEY UPDATE: what its assignments read.
//!
//! Source 0 is the row that is there, source 1 the one that would have been written, by the names
//! of VALUES(column), of the row alias, or of the alias's own columns. Source 2 is what the
//! assignments read of INSERT .. SELECT's query: the query gives those columns after those that
//! are written.

use std::sync::Arc;

use super::assignments::{Assignments, Target};
use super::insert::without_update;
use super::through_view::ChangedView;
use super::writer::OnDuplicate;
use crate::catalog::TableDef;
use crate::expression::resolve::{Columns, Scope, Source};
use crate::output::OutputColumn;
use crate::planner::plan::Planning;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use syntax::ast::{self, ColumnName, ExprKind, QueryBody, SelectItem, TableReference};

/// What assignments read of the query.
#[derive(Default)]
pub(super) struct Selected<'a> {
    /// The columns, by the names that the assignments have for them.
    pub(super) names: &'a [ColumnName],
    /// What they are.
    pub(super) columns: &'a [OutputColumn],
}

/// What a statement writes to.
#[derive(Clone, Copy)]
pub(super) struct Into<'a> {
    pub(super) table: &'a Arc<TableDef>,
    /// The view that it goes through.
    pub(super) view: Option<&'a ChangedView>,
    /// The columns that it gives, by number.
    pub(super) columns: &'a [usize],
}

impl Into<'_> {
    /// What names find: the table's or the view's columns.
    fn source(self, insert: &ast::Insert) -> Source {
        match self.view {
            Some(view) => view.source(&insert.table.name),
            None => Source::table(self.table.clone(), &self.table.name, 0),
        }
    }
}

/// What a statement does about duplicates.
pub(super) fn resolve(
    cx: &mut Context,
    insert: &ast::Insert,
    into: Into<'_>,
    selected: &Selected<'_>,
    planning: Planning<'_>,
) -> Result<OnDuplicate> {
    if insert.on_duplicate.is_empty() {
        return Ok(without_update(insert.replace));
    }
    if insert.replace {
        return Err(SqlError::internal("REPLACE with ON DUPLICATE KEY UPDATE"));
    }
    let mut scope = Scope { sources: vec![into.source(insert)], ..Scope::empty() };
    scope.values_source = Some(1);
    if let Some(alias) = &insert.row_alias {
        scope.sources.push(alias_source(into, insert, alias)?);
    }
    scope.sources.extend(query_sources(selected));
    scope.locals = crate::routine::locals(cx);
    let target = Target { scope, with: None, view: into.view };
    let mut assignments = Assignments::resolve(cx, into.table, &insert.on_duplicate, target, planning)?;
    assignments.ignore = insert.ignore;
    Ok(OnDuplicate::Update(Arc::new(assignments)))
}

/// The new row under the name and the column names that `AS new(a, b)` gives it.
fn alias_source(into: Into<'_>, insert: &ast::Insert, alias: &ast::RowAlias) -> Result<Source> {
    let Into { table, view, columns } = into;
    if alias.name.is(&insert.table.name) {
        return Err(error::NONUNIQ_TABLE.with(&[&alias.name]));
    }
    if alias.columns.is_empty() {
        return match view {
            Some(view) => view.new_row(alias, columns),
            None => Ok(Source::table(table.clone(), &alias.name, 1)),
        };
    }
    if alias.columns.len() != columns.len() {
        return Err(error::VIEW_WRONG_LIST.plain());
    }
    let mut names = vec![""; table.columns.len()];
    for (at, (name, &column)) in alias.columns.iter().zip(columns).enumerate() {
        if alias.columns[..at].iter().any(|n| n.is(name)) {
            return Err(error::DUP_FIELDNAME.with(&[name]));
        }
        names[column] = name;
    }
    if let Some(view) = view {
        return view.new_row(alias, columns);
    }
    let made = names.iter().enumerate().map(|(c, name)| OutputColumn::stored(table, &alias.name, c, name));
    Ok(made_source(&alias.name, "", made.collect(), 1))
}

fn made_source(alias: &str, database: &str, columns: Vec<OutputColumn>, slot: usize) -> Source {
    let columns = Columns::Made(columns.into());
    Source { alias: alias.into(), database: database.into(), columns, slot, nullable: false }
}

/// What is read of the query: a source for each name that stands before a dot.
fn query_sources(selected: &Selected<'_>) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for of in selected.names {
        let alias = of.table.as_ref().map_or("", |t| t.as_str());
        let database = of.database.as_ref().map_or("", |d| d.as_str());
        if sources.iter().any(|s| *s.alias == *alias && *s.database == *database) {
            continue;
        }
        let named = |(name, column): (&ColumnName, &OutputColumn)| {
            let mut column = column.clone();
            let same = name.table == of.table && name.database == of.database;
            column.meta.name = if same { name.column.to_string() } else { String::new() };
            column
        };
        let columns = selected.names.iter().zip(selected.columns).map(named).collect();
        sources.push(made_source(alias, database, columns, 2));
    }
    sources
}

/// The columns that assignments read and that are the query's, if it is one that may be read so:
/// neither grouped nor joined to others by UNION and its like.
pub(super) fn read_of_query(into: Into<'_>, insert: &ast::Insert, query: &ast::Query) -> Vec<ColumnName> {
    let QueryBody::Select(select) = &query.body else { return Vec::new() };
    if !is_readable(query) {
        return Vec::new();
    }
    let mut names: Vec<ColumnName> = Vec::new();
    let own = into.source(insert);
    let reads_same = names_table(&select.from, &insert.table.name);
    for assignment in &insert.on_duplicate {
        let _ = assignment.value.clone().visit_mut::<()>(&mut |expr| {
            let ExprKind::Column(name) = &expr.kind else { return Ok(()) };
            let is_own = match &name.table {
                None => own.find(&name.column).is_some(),
                Some(named) => named.is(&insert.table.name) && !reads_same,
            };
            if !is_own && !names.contains(name) {
                names.push(name.clone());
            }
            Ok(())
        });
    }
    names
}

/// Error 1052 for a name in the assigned values that means a column of the table as well as one of
/// the query that can be read.
pub(super) fn check_names(
    into: Into<'_>,
    insert: &ast::Insert,
    query: &ast::Query,
    sources: &[Source],
) -> Result<()> {
    if insert.on_duplicate.is_empty() || !is_readable(query) {
        return Ok(());
    }
    let own = into.source(insert);
    for assignment in &insert.on_duplicate {
        assignment.value.clone().visit_mut(&mut |expr| {
            let ExprKind::Column(ColumnName { table: None, column, .. }) = &expr.kind else { return Ok(()) };
            let is_of_both = own.find(column).is_some() && sources.iter().any(|s| s.find(column).is_some());
            match is_of_both {
                true => Err(error::NON_UNIQ_ERROR.with(&[column, &"field list"])),
                false => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// True for a query whose columns assignments may read.
fn is_readable(query: &ast::Query) -> bool {
    let QueryBody::Select(select) = &query.body else { return false };
    let is_grouped = !select.group_by.is_empty() || select.options.distinct || select.having.is_some();
    !is_grouped && query.with.is_none()
}

/// True if the table is read without an alias.
fn names_table(from: &[TableReference], table: &str) -> bool {
    from.iter().any(|reference| match reference {
        TableReference::Table(factor) => factor.alias.as_ref().unwrap_or(&factor.name.name).is(table),
        TableReference::Group(list) => names_table(list, table),
        TableReference::Join(join) => {
            names_table(std::slice::from_ref(&join.left), table)
                || names_table(std::slice::from_ref(&join.right), table)
        }
        TableReference::Derived(derived) => derived.alias.is(table),
        TableReference::JsonTable(_) => false,
    })
}

/// The query with these columns after its own; `None` if there are none.
pub(super) fn widened(query: &ast::Query, names: &[ColumnName]) -> Option<ast::Query> {
    if names.is_empty() {
        return None;
    }
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        for name in names {
            let expr = ast::Expr { kind: ExprKind::Column(name.clone()), span: query.span };
            select.items.push(SelectItem::Expr { expr, alias: None });
        }
    }
    Some(query)
}

/// How often a statement says VALUES(column).
pub(super) fn count_values(insert: &ast::Insert) -> usize {
    let mut count = 0;
    for assignment in &insert.on_duplicate {
        let _ = assignment.value.clone().visit_mut::<()>(&mut |expr| {
            count += usize::from(matches!(expr.kind, ExprKind::Values(_)));
            Ok(())
        });
    }
    count
}

/// VALUES(column) has had its day since row aliases came.
pub(super) fn warn_of_values(cx: &mut Context, count: usize) {
    const INSTEAD: &str = "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the \
                           ON DUPLICATE KEY UPDATE clause with alias.col";
    for _ in 0..count {
        cx.warn(error::WARN_DEPRECATED_SYNTAX.with(&[&"VALUES function", &INSTEAD]));
    }
}
