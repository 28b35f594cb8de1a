//! The SELECTs of a statement and their numbers: in the order of the plan, each before those nested
//! in it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use crate::expression::{Expr, Node};
use crate::planner::{Block, Body, Maker, Operator, Query};
use datum::error::Result;
use datum::stack;

/// Where a nested query stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubqueryClause {
    /// As a derived table.
    From,
    /// In a condition, whose rows are joined.
    Materialized,
    /// In the select list.
    Projection,
    /// Anywhere else.
    Condition,
}

/// A query nested in a block.
#[derive(Debug, Clone)]
pub(crate) struct Nested<'p> {
    /// What it runs.
    pub query: &'p Query,
    /// What it takes from around it.
    pub parameters: Cow<'p, [Expr]>,
    /// It may give something else each time.
    pub(crate) is_volatile: bool,
    /// Its rows are looked up by the operands of IN.
    pub(crate) is_lookup: bool,
    /// Where it stands.
    pub place: SubqueryClause,
}

impl SubqueryClause {
    /// True if its rows are a source of the block.
    pub(crate) fn is_source(self) -> bool {
        matches!(self, SubqueryClause::From | SubqueryClause::Materialized)
    }
}

/// The numbers of a plan's SELECTs.
#[derive(Debug, Default)]
pub(crate) struct SelectNumbers {
    numbers: HashMap<usize, u64>,
    /// How many of them are materialized, which makes no others primary.
    materialized: usize,
    /// The plan nests too deep for the stack, and something was left out.
    is_cut: Cell<bool>,
}

impl SelectNumbers {
    /// Numbers all SELECTs of a query.
    pub(crate) fn of(query: &Query) -> Self {
        let mut numbers = Self::default();
        numbers.add(&query.body);
        numbers
    }

    /// True if there is stack enough to go into a nested query. Else it is left out, and
    /// [`Self::check`] fails.
    pub(crate) fn has_room(&self) -> bool {
        let has_room = stack::has_room();
        if !has_room {
            self.is_cut.set(true);
        }
        has_room
    }

    /// Error 1436 if something was left out.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cut.get() { Err(stack::overrun()) } else { Ok(()) }
    }

    fn add(&mut self, body: &Body) {
        if !self.has_room() {
            return;
        }
        let next = self.numbers.len() as u64 + 1;
        match body {
            Body::Block(block) => {
                self.numbers.insert(address(body), next);
                for inner in nested(block) {
                    self.materialized += usize::from(inner.place == SubqueryClause::Materialized);
                    self.add(&inner.query.body);
                }
            }
            Body::Values(_) => {
                self.numbers.insert(address(body), next);
            }
            Body::Set(set) => {
                self.add(&set.left.body);
                self.add(&set.right.body);
            }
            Body::Nested(query) => self.add(&query.body),
        }
    }

    /// The number of a body's first SELECT.
    pub(crate) fn first(&self, mut body: &Body) -> u64 {
        loop {
            match body {
                Body::Block(_) | Body::Values(_) => {
                    return self.numbers.get(&address(body)).copied().unwrap_or(1);
                }
                Body::Set(set) => body = &set.left.body,
                Body::Nested(query) => body = &query.body,
            }
        }
    }

    /// True if there are several besides those that are materialized.
    pub(crate) fn are_several(&self) -> bool {
        self.numbers.len() > self.materialized + 1
    }
}

fn address(body: &Body) -> usize {
    std::ptr::from_ref(body) as usize
}

/// The queries nested in a block, each once.
pub(crate) fn nested(block: &Block) -> Vec<Nested<'_>> {
    let mut found = Vec::new();
    block.items.iter().for_each(|e| subqueries(e, SubqueryClause::Projection, &mut found));
    in_operator(&block.from, &mut found);
    let keys = block.group.iter().flat_map(|g| &g.keys);
    let arguments = block.group.iter().flat_map(|g| &g.aggregates).flat_map(|a| a.expressions());
    let order = block.order.iter().map(|term| &term.expr);
    let windows = block.windows.iter().flat_map(|windows| windows.expressions());
    let others = block.constant_filter.iter().chain(keys).chain(arguments).chain(&block.having);
    let others = others.chain(windows).chain(order);
    others.for_each(|e| subqueries(e, SubqueryClause::Condition, &mut found));
    found
}

/// Adds the queries nested in an expression that are not there yet.
pub(crate) fn subqueries<'p>(expr: &'p Expr, place: SubqueryClause, found: &mut Vec<Nested<'p>>) {
    if let Node::Subquery(subquery) = &expr.node
        && !found.iter().any(|n| std::ptr::eq(n.query, subquery.main_plan()))
    {
        found.push(Nested {
            query: subquery.main_plan(),
            parameters: subquery.main_parameters().into(),
            is_volatile: subquery.is_volatile,
            is_lookup: subquery.lookup.is_some(),
            place,
        });
    }
    expr.children().into_iter().for_each(|child| subqueries(child, place, found));
}

fn in_operator<'p>(operator: &'p Operator, found: &mut Vec<Nested<'p>>) {
    operator.inputs().for_each(|input| in_operator(input, found));
    match operator {
        Operator::One(_) | Operator::TableAccess(_) | Operator::Loop(_) => {}
        Operator::Rows(rows) => {
            if let Maker::Derived(derived) = &rows.maker {
                found.push(Nested {
                    query: &derived.plan,
                    parameters: derived.parameters.as_slice().into(),
                    is_volatile: derived.is_volatile,
                    is_lookup: false,
                    place: if derived.size.is_some() {
                        SubqueryClause::Materialized
                    } else {
                        SubqueryClause::From
                    },
                });
            }
        }
        Operator::Hash(join) => {
            join.on.iter().for_each(|e| subqueries(e, SubqueryClause::Condition, found));
        }
    }
    operator.filter().iter().for_each(|e| subqueries(e, SubqueryClause::Condition, found));
}
