//! A table's expressions, ready for use: generated columns, expression defaults, CHECK constraints.

use std::sync::Arc;

use super::draft::parse_stored;
use super::table::{Default, TableDef};
use crate::expression::{Expr, Node, Resolver, Scope};
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::DataType;

/// A table's expressions. Their row is the table's.
#[derive(Debug)]
pub(crate) struct Computed {
    /// Generated columns, in order.
    pub(crate) generated: Vec<(usize, Expr)>,
    /// Columns with an expression default, in order.
    pub defaults: Vec<(usize, Expr)>,
    /// CHECK constraints that are enforced, by their numbers.
    pub checks: Vec<(usize, Expr)>,
    /// A VIRTUAL column whose value is another one in another time zone. MySQL computes it where it
    /// is read; here it is what it was where the row was written.
    zone_dependent: Option<usize>,
}

impl Computed {
    /// A table's expressions: compiled at the first call.
    pub(crate) fn of(cx: &mut Context, table: &Arc<TableDef>) -> Result<Arc<Computed>> {
        if let Some(computed) = table.computed.get() {
            return Ok(computed.clone());
        }
        let computed = Arc::new(Self::compile(cx, table)?);
        Ok(table.computed.get_or_init(|| computed).clone())
    }

    /// Error 1235 for a column that MySQL computes anew for each reader, with another value in
    /// another time zone. Its rows can't be those of a MySQL.
    pub(crate) fn time_zone_error(&self, table: &TableDef) -> Option<SqlError> {
        let name = &table.columns[self.zone_dependent?].name;
        Some(SqlError::unsupported(format_args!(
            "the VIRTUAL column {}.{}.{name}, whose value depends on the reader's time zone: here it has the writer's, as if it were STORED",
            table.database, table.name
        )))
    }

    fn compile(cx: &mut Context, table: &Arc<TableDef>) -> Result<Computed> {
        let mut computed = Computed {
            generated: Vec::new(),
            defaults: Vec::new(),
            checks: Vec::new(),
            zone_dependent: None,
        };
        let mut zone_dependent = Vec::new();
        let scope = Scope::of_table(table.clone(), &table.name);
        let mut resolver = Resolver::new(cx, scope);
        resolver.of_definition = true;
        for (number, column) in table.columns.iter().enumerate() {
            let refused = |name: &str| match &column.generated {
                Some(_) => error::GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&column.name, &name]),
                None => {
                    error::DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&column.name, &name])
                }
            };
            match (&column.generated, &column.default) {
                (Some(generated), _) => {
                    let expr = resolver.expr(&parse_stored(&generated.expr)?)?;
                    stored_function(&expr).map_or(Ok(()), |name| Err(refused(&name)))?;
                    if !generated.stored
                        && !column.is_key_part()
                        && depends_on_zone(&expr, table, number, &zone_dependent)
                    {
                        zone_dependent.push(number);
                    }
                    computed.generated.push((number, expr));
                }
                (None, Default::Expression(text)) => {
                    let expr = resolver.expr(&parse_stored(text)?)?;
                    stored_function(&expr).map_or(Ok(()), |name| Err(refused(&name)))?;
                    computed.defaults.push((number, expr));
                }
                _ => {}
            }
        }
        for (number, check) in table.checks.iter().enumerate() {
            let expr = resolver.expr(&parse_stored(&check.expr)?)?;
            if let Some(name) = stored_function(&expr) {
                return Err(error::CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&check.name, &name]));
            }
            if check.enforced {
                computed.checks.push((number, expr));
            }
        }
        computed.zone_dependent = zone_dependent.first().copied();
        Ok(computed)
    }
}

/// True if a generated column's value may be another one in another time zone: what a TIMESTAMP
/// shows, or another one of these columns, takes part in it, or it becomes a TIMESTAMP.
fn depends_on_zone(expr: &Expr, table: &TableDef, number: usize, zone_dependent: &[usize]) -> bool {
    let is_timestamp = |column: usize| matches!(table.columns[column].ty, DataType::Timestamp(_));
    if is_timestamp(number) {
        let is_the_same = |column: usize| is_timestamp(column) && !zone_dependent.contains(&column);
        return !matches!(expr.node, Node::Column { column, .. } if is_the_same(column));
    }
    let mut depends = false;
    expr.walk(&mut |e| {
        depends |= match &e.node {
            &Node::Column { column, .. } => is_timestamp(column) || zone_dependent.contains(&column),
            Node::Call(function, _) => matches!(function.name, "from_unixtime" | "unix_timestamp"),
            _ => false,
        };
    });
    depends
}

/// The name of a stored function that an expression calls.
fn stored_function(expr: &Expr) -> Option<String> {
    let mut found = None;
    expr.walk(&mut |e| {
        if let Node::Stored(routine, _) = &e.node {
            found.get_or_insert_with(|| format!("`{}`", routine.name()));
        }
    });
    found
}
