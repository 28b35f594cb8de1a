//! Aggregates belong to a query block: the innermost one whose columns their arguments read.

use super::Resolver;
use super::windows::WindowPlace;
use crate::expression::aggregate::Aggregate;
use crate::expression::{Expr, Node};
use datum::error::{self, Result};
use syntax::ast;

impl Resolver<'_> {
    pub(super) fn aggregate(&mut self, ast: &ast::Aggregate) -> Result<Expr> {
        if let Some(over) = &ast.over {
            return self.window_aggregate(ast, over);
        }
        // An aggregate's argument may hold no aggregate.
        let aggregates = self.scope.aggregates.take();
        // Names in it are columns, even where the clause prefers the select list's.
        let aliases_first = std::mem::take(&mut self.scope.aliases_first);
        let known = self.scope.parameters.len();
        let having_columns = self.scope.having_columns.take();
        let in_aggregate = std::mem::replace(&mut self.scope.in_aggregate, aggregates.is_some());
        // ANY_VALUE() of a window function aggregates nothing.
        let is_any = ast.function == ast::AggregateFunction::AnyValue;
        let place = if is_any { self.scope.windows.place.clone() } else { WindowPlace::Refused };
        let window_place = std::mem::replace(&mut self.scope.windows.place, place);
        let aggregate = self.aggregate_of(ast)?;
        self.scope.windows.place = window_place;
        self.scope.in_aggregate = in_aggregate;
        self.scope.having_columns = having_columns;
        self.scope.aggregates = aggregates;
        self.scope.aliases_first = aliases_first;
        if is_any && let Some(argument) = aggregate.argument.as_ref().filter(|e| e.has_window()) {
            return Ok(Expr { node: Node::Coalesce(vec![argument.clone()]), ty: aggregate.ty });
        }
        if is_of_outer_block(&aggregate)
            && let Some(around) = self.scope.parent.take()
        {
            self.scope.parameters.truncate(known);
            return self.outer_aggregate(ast, *around);
        }
        let Some(aggregates) = &mut self.scope.aggregates else {
            return Err(error::INVALID_GROUP_FUNC_USE.plain());
        };
        let ty = aggregate.ty;
        let number = aggregates.len();
        aggregates.push(aggregate);
        Ok(Expr { node: Node::Aggregate(number), ty })
    }

    /// An aggregate of the block around: its value comes as a parameter.
    fn outer_aggregate(&mut self, ast: &ast::Aggregate, around: super::Scope) -> Result<Expr> {
        let own = std::mem::replace(&mut self.scope, around);
        let aggregate = self.aggregate(ast);
        let around = std::mem::replace(&mut self.scope, own);
        self.scope.parent = Some(Box::new(around));
        Ok(self.scope.outer(aggregate?))
    }
}

/// True if an aggregate's argument reads columns of the blocks around, and none of its own.
fn is_of_outer_block(aggregate: &Aggregate) -> bool {
    let reads =
        |test: fn(&Node) -> bool| aggregate.expressions().any(|read| read.contains(&mut |e| test(&e.node)));
    reads(|n| matches!(n, Node::Outer(_))) && !reads(|n| matches!(n, Node::Column { .. }))
}
