//! EXISTS and IN as conditions of a block become joins with the subqueries' sources.
//!
//! - `EXISTS (..)` and `x IN (..)`: a semi-join, which gives each outer row once if it has a
//!   partner.
//! - `NOT EXISTS (..)`, and `x NOT IN (..)` where neither side can be NULL: an anti-join.
//!
//! Only a subquery that is nothing but a join with a condition is joined; others are evaluated
//! where they stand. There are three ways to join one, of which
//! [`super::join::Joiner::with_semi_joins`] takes the cheapest:
//!
//! - first match: the subquery's tables are read for each outer row until there is a partner.
//! - materialized, and joined ([`materialize`]): the subquery's distinct rows are made once, and an
//!   inner join with them may start from either side. It takes equalities only between both sides.
//!   UPDATE and DELETE do no other.
//! - materialized, and looked up: the rows are the inner side of the semi- or anti-join.

use std::sync::Arc;

use storage::transaction::Locking;

use super::block::Bound;
use super::from::{Item, ItemKind, List, SOURCES_MAX, Slot};
use super::merge::{adopt, shift};
use super::{JoinKind, Maker};
use crate::expression::subquery::{Candidate, Subquery, Test};
use crate::expression::{Expr, Node, Resolver};
use datum::error::Result;
use datum::types::Type;
use syntax::ast::BinaryOp;

pub(crate) use materialize::Materialized;

mod materialize;

/// A subquery's block, before its join was planned.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    pub(super) slots: Vec<Slot>,
    pub(super) list: List,
    pub(super) items: Vec<Expr>,
    /// How its rows are locked; no block around is joined with those that are.
    pub(super) locking: Vec<Option<Locking>>,
}

/// What a block may become for the one around it, if it is nothing but a join with a condition.
pub(crate) fn flat(bound: &Bound) -> Option<Arc<Flat>> {
    let plain = bound.group.is_none()
        && bound.having.is_none()
        && bound.windows.is_empty()
        && !bound.limit.is_some()
        && !bound.straight
        && !bound.slots.is_empty();
    let steady = |e: &Expr| !e.is_volatile();
    let free = |slot: &Slot| match slot {
        Slot::Rows(Maker::Derived(derived), _) => derived.parameters.is_empty(),
        Slot::Rows(Maker::Json(source), _) => {
            !source.document.contains(&mut |e| matches!(e.node, Node::Column { .. } | Node::Outer(_)))
        }
        _ => true,
    };
    let is_flat = plain
        && bound.list.conditions.iter().all(steady)
        && bound.items.iter().all(steady)
        && bound.slots.iter().all(free);
    is_flat.then(|| {
        Arc::new(Flat {
            slots: bound.slots.clone(),
            list: bound.list.clone(),
            items: bound.items.clone(),
            locking: bound.locking.clone(),
        })
    })
}

/// Replaces the conditions of a block that can be joined with the subqueries' sources.
pub(crate) fn flatten(
    resolver: &mut Resolver<'_>,
    slots: &mut Vec<Slot>,
    locking: &mut Vec<Option<Locking>>,
    list: &mut List,
) -> Result<SemiJoins> {
    let joins = SemiJoins::default();
    if !list.conditions.iter().any(|e| semi_join_of(e).is_some()) {
        return Ok(joins);
    }
    let mut flattener = Flattener { resolver, slots, locking, joins };
    flattener.flatten(list)?;
    Ok(flattener.joins)
}

/// The semi- and anti-joins of a block.
#[derive(Debug, Default)]
pub(crate) struct SemiJoins {
    /// The slots of each one's nest, one bit each, and the condition that it was.
    pub conditions: Vec<(u64, Expr)>,
    /// What can take the place of the nests.
    pub(crate) materialized: Vec<Materialized>,
}

impl SemiJoins {
    /// These slots, one bit each, and those of the rows that can take their nests' places.
    pub(crate) fn with_made(&self, slots: u64) -> u64 {
        let made = self.materialized.iter().filter(|other| other.replaces(slots));
        made.fold(slots, |all, other| all | other.made_slots())
    }
}

/// A block that is being joined with the sources of its conditions' subqueries.
struct Flattener<'a, 'c> {
    /// For planning rows that are made as a whole.
    resolver: &'a mut Resolver<'c>,
    /// The block's slots.
    slots: &'a mut Vec<Slot>,
    /// How their rows are locked.
    locking: &'a mut Vec<Option<Locking>>,
    joins: SemiJoins,
}

impl Flattener<'_, '_> {
    /// Replaces the conditions that can be joined.
    fn flatten(&mut self, list: &mut List) -> Result<()> {
        for condition in std::mem::take(&mut list.conditions) {
            let found = semi_join_of(&condition)
                .filter(|(subquery, ..)| self.slots.len() + flat_len(subquery) < SOURCES_MAX);
            match found {
                None => list.conditions.push(condition),
                Some((subquery, kind)) => {
                    let nest = self.nest(subquery, kind, list)?;
                    self.joins.conditions.push((nest, condition));
                }
            }
        }
        Ok(())
    }

    /// A semi- or anti-join; its slots, one bit each.
    fn nest(&mut self, subquery: &Subquery, kind: JoinKind, list: &mut List) -> Result<u64> {
        let Some(flat) = &subquery.flat else { return Ok(0) };
        let base = self.slots.len();
        let Flat { slots, list: mut inner, mut items, .. } = flat.as_ref().clone();
        let mut adopt = adopt(&subquery.parameters, base);
        items.iter_mut().for_each(|e| e.transform(&mut adopt));
        shift(&mut inner, base, &slots, &mut adopt);
        if let Test::In(candidates) = &subquery.test {
            for candidate in candidates {
                let Candidate { operand, by, .. } = candidate;
                inner.conditions.push(equal(operand.clone(), *by, candidate.column_of(&items)));
            }
        }
        self.slots.extend(slots);
        self.locking.resize(self.slots.len(), None);
        let own = inner.slots();
        let read = inner.conditions.iter().fold(0, |all, e| all | e.sources()) & !own;
        // Without a table that it reads, it has to follow all the others.
        let requires = if read == 0 { list.slots() } else { read };
        list.items.push(Item { kind: ItemKind::Nest(inner, kind), requires });
        self.materialize(subquery, kind, own)?;
        Ok(own)
    }
}

pub(super) fn equal(left: Expr, by: crate::expression::compare::By, right: Expr) -> Expr {
    Expr { node: Node::Compare(BinaryOp::Equal, by, Box::new([left, right])), ty: Type::BOOL }
}

fn flat_len(subquery: &Subquery) -> usize {
    subquery.flat.as_ref().map_or(0, |flat| flat.slots.len())
}

/// The subquery that a condition asks for a partner in, and what becomes of the rows that have one.
fn semi_join_of(condition: &Expr) -> Option<(&Subquery, JoinKind)> {
    let (subquery, kind) = match &condition.node {
        Node::Subquery(subquery) => (subquery, JoinKind::Semi),
        Node::Not(inner) => match &inner.node {
            Node::Subquery(subquery) => (subquery, JoinKind::Anti),
            _ => return None,
        },
        _ => return None,
    };
    let fits = match &subquery.test {
        // Without a parameter it is the same for all rows.
        Test::Exists => !subquery.parameters.is_empty(),
        Test::In(list) if kind == JoinKind::Anti => {
            list.iter().all(|c| !c.operand.ty.nullable && !c.column.ty.nullable)
        }
        Test::In(list) => list.iter().any(|c| c.operand.sources() != 0),
        _ => false,
    };
    let locks_nothing = |flat: &Arc<Flat>| flat.locking.iter().all(Option::is_none);
    let is_flat = subquery.flat.as_ref().is_some_and(locks_nothing);
    (fits && is_flat && !subquery.is_volatile).then_some((subquery, kind))
}
