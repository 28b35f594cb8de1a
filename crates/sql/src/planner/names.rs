//! What a plan's places are called: the columns of a block's slots, its groups, and what comes from
//! around it.

use super::windows::Windows;
use super::{Block, Grouping, Operator, Query};
use crate::catalog::TableDef;
use crate::expression::Expr;
use crate::routine::Locals;
use syntax::unparse::ident;

/// What a query takes from the one around it.
#[derive(Clone, Copy)]
pub(crate) struct Around<'p> {
    /// The names there.
    pub(crate) names: &'p Names<'p>,
    /// The values that are taken.
    pub(crate) values: &'p [Expr],
}

/// The names of a block's places.
pub(crate) struct Names<'p> {
    /// The sources' names and those of their columns.
    sources: Vec<(String, Vec<String>)>,
    /// The databases of those that are tables.
    databases: Vec<Option<&'p str>>,
    group: Option<&'p Grouping>,
    windows: Option<&'p Windows>,
    around: Option<Around<'p>>,
    /// The routine's variables.
    locals: Locals,
}

impl<'p> Names<'p> {
    pub(crate) fn of_block(block: &'p Block, around: Option<Around<'p>>) -> Self {
        let mut sources: Vec<(String, Vec<String>)> = Vec::with_capacity(block.names.len());
        for (name, table) in block.names.iter().zip(&block.slots) {
            let columns = table.iter().flat_map(|t| &t.columns).map(|c| c.name.clone());
            sources.push((name.to_string(), columns.collect()));
        }
        name_made_rows(&block.from, &mut sources);
        if let Some(reused) = &block.reused {
            for (slot, values) in [(reused.slot, &reused.of_rows), (reused.slot + 1, &reused.of_output)] {
                if let Some((_, columns)) = sources.get_mut(slot) {
                    *columns = values.iter().map(|value| value.name.to_string()).collect();
                }
            }
        }
        let databases = block.slots.iter().map(|t| t.as_ref().map(|t| t.database.as_str())).collect();
        let (group, windows) = (block.group.as_ref(), block.windows.as_deref());
        Self { sources, databases, group, windows, around, locals: Locals::default() }
    }

    /// Those of what sees only a query's columns: ORDER BY of a set operation.
    pub(crate) fn of_columns(query: &Query, around: Option<Around<'p>>) -> Self {
        let columns = query.columns.iter().map(|c| c.meta.name.clone()).collect();
        Self {
            sources: vec![(String::new(), columns)],
            databases: Vec::new(),
            group: None,
            windows: None,
            around,
            locals: Locals::default(),
        }
    }

    /// Those of an expression that stands alone, and reads no columns.
    pub(crate) fn none() -> Self {
        Self {
            sources: Vec::new(),
            databases: Vec::new(),
            group: None,
            windows: None,
            around: None,
            locals: Locals::default(),
        }
    }

    /// Those of one table, called so.
    pub(crate) fn of_table(table: &'p TableDef, alias: &str) -> Self {
        let columns = table.columns.iter().map(|c| c.name.clone()).collect();
        let (sources, databases) = (vec![(alias.to_owned(), columns)], vec![Some(table.database.as_str())]);
        Self { sources, databases, group: None, windows: None, around: None, locals: Locals::default() }
    }

    /// The same where a routine's variables are seen.
    pub(crate) fn with_locals(self, locals: Locals) -> Self {
        Self { locals, ..self }
    }

    /// What a routine's variable is called: MySQL adds its number, `a@0`.
    pub(crate) fn local(&self, number: usize) -> String {
        self.locals.shown(number).unwrap_or_else(|| format!("<variable {number}>"))
    }

    /// What a source's column is called in full, each part in backticks.
    pub(crate) fn quoted_column(&self, source: usize, column: usize) -> String {
        let database = self.databases.get(source).copied().flatten();
        let (name, columns) = match self.sources.get(source) {
            Some((name, columns)) => (Some(name.as_str()), columns.as_slice()),
            None => (None, [].as_slice()),
        };
        let parts = [database, name.filter(|n| !n.is_empty()), columns.get(column).map(String::as_str)];
        parts.into_iter().flatten().map(ident).collect::<Vec<_>>().join(".")
    }

    /// What a source's column is called.
    pub(crate) fn column(&self, source: usize, column: usize) -> String {
        let Some((name, columns)) = self.sources.get(source) else { return format!("<{source}.{column}>") };
        let shown = columns.get(column).map_or_else(|| format!("<{column}>"), Clone::clone);
        if name.is_empty() { shown } else { format!("{name}.{shown}") }
    }

    /// The same with its database before it, if it has one.
    pub(crate) fn full_column(&self, source: usize, column: usize) -> String {
        let name = self.column(source, column);
        match self.databases.get(source) {
            Some(Some(database)) => format!("{database}.{name}"),
            _ => name,
        }
    }

    /// What a source is called.
    pub(crate) fn source(&self, source: usize) -> &str {
        self.sources.get(source).map_or("", |(name, _)| name)
    }

    /// How the block groups.
    pub(crate) fn group(&self) -> Option<&'p Grouping> {
        self.group
    }

    /// The block's window functions.
    pub(crate) fn windows(&self) -> Option<&'p Windows> {
        self.windows
    }

    /// A value that comes from around, and the names it reads there.
    pub(crate) fn outer(&self, number: usize) -> Option<(&'p Names<'p>, &'p Expr)> {
        let around = self.around?;
        Some((around.names, around.values.get(number)?))
    }
}

fn name_made_rows(operator: &Operator, sources: &mut [(String, Vec<String>)]) {
    if let Operator::Rows(rows) = operator
        && let Some((_, columns)) = sources.get_mut(rows.slot)
    {
        *columns = rows.maker.columns().into_iter().map(|c| c.meta.name).collect();
    }
    operator.inputs().for_each(|input| name_made_rows(input, sources));
}
