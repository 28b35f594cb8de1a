//! ON DUPLICATE KEY UPDATE: what its assignments read.
//!
//! Source 0 is the row that is there, source 1 the one that would have been written, by the names
//! of VALUES(column), of the row alias, or of the alias's own columns. Source 2 is what the
//! assignments read of INSERT .. SELECT's query: the query gives those columns after those that
//! are written.

use std::sync::Arc;

use super::assignments::Assignments;
use super::insert::without_update;
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

/// What a statement does about duplicates; `columns` are those it writes.
pub(super) fn resolve(
    cx: &mut Context,
    table: &Arc<TableDef>,
    insert: &ast::Insert,
    columns: &[usize],
    selected: &Selected<'_>,
    planning: Planning<'_>,
) -> Result<OnDuplicate> {
    if insert.on_duplicate.is_empty() {
        return Ok(without_update(insert.replace));
    }
    if insert.replace {
        return Err(SqlError::internal("REPLACE with ON DUPLICATE KEY UPDATE"));
    }
    let mut scope = Scope::of_table(table.clone(), &table.name);
    scope.values_source = Some(1);
    if let Some(alias) = &insert.row_alias {
        scope.sources.push(alias_source(table, alias, columns)?);
    }
    scope.sources.extend(query_sources(selected));
    scope.locals = crate::routine::locals(cx);
    let mut assignments = Assignments::resolve(cx, table, &insert.on_duplicate, scope, None, planning)?;
    assignments.ignore = insert.ignore;
    Ok(OnDuplicate::Update(Arc::new(assignments)))
}

/// The new row under the name and the column names that `AS new(a, b)` gives it.
fn alias_source(table: &Arc<TableDef>, alias: &ast::RowAlias, columns: &[usize]) -> Result<Source> {
    if alias.name.is(&table.name) {
        return Err(error::NONUNIQ_TABLE.with(&[&alias.name]));
    }
    if alias.columns.is_empty() {
        return Ok(Source::table(table.clone(), &alias.name, 1));
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
pub(super) fn read_of_query(table: &TableDef, insert: &ast::Insert, query: &ast::Query) -> Vec<ColumnName> {
    let QueryBody::Select(select) = &query.body else { return Vec::new() };
    if !is_readable(query) {
        return Vec::new();
    }
    let mut names: Vec<ColumnName> = Vec::new();
    let reads_same = names_table(&select.from, table);
    for assignment in &insert.on_duplicate {
        let _ = assignment.value.clone().visit_mut::<()>(&mut |expr| {
            let ExprKind::Column(name) = &expr.kind else { return Ok(()) };
            let is_own = match &name.table {
                None => table.column_index(&name.column).is_some(),
                Some(named) => named.is(&table.name) && !reads_same,
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
    table: &TableDef,
    insert: &ast::Insert,
    query: &ast::Query,
    sources: &[Source],
) -> Result<()> {
    if insert.on_duplicate.is_empty() || !is_readable(query) {
        return Ok(());
    }
    for assignment in &insert.on_duplicate {
        assignment.value.clone().visit_mut(&mut |expr| {
            let ExprKind::Column(ColumnName { table: None, column, .. }) = &expr.kind else { return Ok(()) };
            let is_of_both =
                table.column_index(column).is_some() && sources.iter().any(|s| s.find(column).is_some());
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
fn names_table(from: &[TableReference], table: &TableDef) -> bool {
    from.iter().any(|reference| match reference {
        TableReference::Table(factor) => factor.alias.as_ref().unwrap_or(&factor.name.name).is(&table.name),
        TableReference::Group(list) => names_table(list, table),
        TableReference::Join(join) => {
            names_table(std::slice::from_ref(&join.left), table)
                || names_table(std::slice::from_ref(&join.right), table)
        }
        TableReference::Derived(derived) => derived.alias.is(&table.name),
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
