//! EXISTS and IN as conditions of a block become joins with what they look into.
//!
//! - `EXISTS (..)` and `x IN (..)`: a semi-join, which gives each outer row once if it has a partner.
//! - `NOT EXISTS (..)`, and `x NOT IN (..)` where neither side can be NULL: an anti-join.
//! - `x IN (..)` that takes nothing from around it, where `x` is indexed: an inner join with the distinct rows, so that the
//!   few rows of the subquery can lead to those of a large table.
//!
//! Only a subquery that is nothing but a join with a condition is joined; others are evaluated where they stand.

use std::sync::Arc;

use storage::transaction::Locking;

use super::block::{self, Bound};
use super::from::{Item, ItemKind, List, SOURCES_MAX, Slot};
use super::merge::{adopt, shift};
use super::{Derived, JoinKind, Limit, Maker};
use crate::ast::BinaryOp;
use crate::error::Result;
use crate::expression::compare::own_order;
use crate::expression::subquery::{Candidate, Subquery, Test, new_id};
use crate::expression::{Expr, Node, Resolver};
use crate::types::Type;

/// A subquery's block, before its join was planned.
#[derive(Debug, Clone)]
pub struct Flat {
    slots: Vec<Slot>,
    list: List,
    items: Vec<Expr>,
}

/// What a block may become for the one around it, if it is nothing but a join with a condition.
pub fn flat(bound: &Bound) -> Option<Arc<Flat>> {
    let plain = bound.group.is_none()
        && bound.having.is_none()
        && !bound.limit.is_some()
        && !bound.straight
        && !bound.slots.is_empty()
        && bound.locking.iter().all(Option::is_none);
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
        Arc::new(Flat { slots: bound.slots.clone(), list: bound.list.clone(), items: bound.items.clone() })
    })
}

/// A block that is being joined with what its conditions look into.
pub struct Flattener<'a, 'c> {
    /// For planning rows that are made as a whole.
    pub resolver: &'a mut Resolver<'c>,
    /// The block's slots.
    pub slots: &'a mut Vec<Slot>,
    /// How their rows are locked.
    pub locking: &'a mut Vec<Option<Locking>>,
}

impl Flattener<'_, '_> {
    /// Replaces the conditions that can be joined.
    pub fn flatten(&mut self, list: &mut List) -> Result<()> {
        for condition in std::mem::take(&mut list.conditions) {
            let found = look_into(&condition)
                .filter(|(subquery, ..)| self.slots.len() + flat_len(subquery) <= SOURCES_MAX);
            match found {
                None => list.conditions.push(condition),
                Some((subquery, kind)) if kind == JoinKind::Semi && self.is_leading(subquery) => {
                    self.join_rows(subquery, list)?;
                }
                Some((subquery, kind)) => self.nest(subquery, kind, list),
            }
        }
        Ok(())
    }

    /// True if the subquery's rows can lead to the outer ones: it takes nothing from around it, what is looked for is an
    /// indexed column, and equal rows of it are equal to the comparison, too.
    fn is_leading(&self, subquery: &Subquery) -> bool {
        let Test::In(candidates) = &subquery.test else { return false };
        let alike = |(candidate, column): (&Candidate, &Type)| {
            matches!(candidate.column.node, Node::Column { .. })
                && candidate.column.ty.collation == column.collation
                && candidate.by == own_order(column)
        };
        let types: Vec<Type> = subquery.plan.columns.iter().map(|c| c.ty).collect();
        let is_indexed = |candidate: &Candidate| match candidate.operand.node {
            Node::Column { source, column } => match &self.slots[source] {
                Slot::Table(table, ..) => table.indexes.iter().any(|i| i.parts[0].column == column),
                Slot::Rows(..) => false,
            },
            _ => false,
        };
        subquery.parameters.is_empty()
            && candidates.iter().zip(&types).all(alike)
            && candidates.iter().any(is_indexed)
    }

    /// An inner join with the distinct rows.
    fn join_rows(&mut self, subquery: &Subquery, list: &mut List) -> Result<()> {
        let (Some(flat), Test::In(candidates)) = (&subquery.flat, &subquery.test) else { return Ok(()) };
        let Flat { slots, list: inner, items } = flat.as_ref().clone();
        let bound = Bound {
            locking: vec![None; slots.len()],
            slots,
            list: inner,
            items,
            columns: subquery.plan.columns.clone(),
            group: None,
            having: None,
            order: Vec::new(),
            distinct: true,
            limit: Limit::default(),
            straight: false,
        };
        let plan = block::plan(self.resolver, bound)?;
        let source = self.slots.len();
        for (column, Candidate { operand, by, .. }) in candidates.iter().enumerate() {
            let ty = plan.columns[column].ty;
            let read = Expr { node: Node::Column { source, column }, ty };
            list.conditions.push(equal(operand.clone(), *by, read));
        }
        let derived = Derived { id: new_id(), plan, parameters: Vec::new(), is_volatile: false };
        self.slots.push(Slot::Rows(Maker::Derived(Arc::new(derived)), "<subquery>".into()));
        self.locking.push(None);
        list.items.push(Item { kind: ItemKind::Slot(source), requires: 0 });
        Ok(())
    }

    /// A semi- or anti-join.
    fn nest(&mut self, subquery: &Subquery, kind: JoinKind, list: &mut List) {
        let Some(flat) = &subquery.flat else { return };
        let base = self.slots.len();
        let Flat { slots, list: mut inner, mut items } = flat.as_ref().clone();
        let mut adopt = adopt(&subquery.parameters, base);
        items.iter_mut().for_each(|e| e.transform(&mut adopt));
        shift(&mut inner, base, &slots, &mut adopt);
        if let Test::In(candidates) = &subquery.test {
            for Candidate { operand, column, by } in candidates {
                let mut column = column.clone();
                column.transform(&mut |e| {
                    if let Node::Column { source: 0, column } = e.node {
                        let ty = e.ty;
                        *e = Expr { ty, ..items[column].clone() };
                    }
                });
                inner.conditions.push(equal(operand.clone(), *by, column));
            }
        }
        self.slots.extend(slots);
        self.locking.resize(self.slots.len(), None);
        let own = inner.slots();
        let read = inner.conditions.iter().fold(0, |all, e| all | e.sources()) & !own;
        // Without a table that it reads, it has to follow all the others.
        let requires = if read == 0 { list.slots() } else { read };
        list.items.push(Item { kind: ItemKind::Nest(inner, kind), requires });
    }
}

fn equal(left: Expr, by: crate::expression::compare::By, right: Expr) -> Expr {
    Expr { node: Node::Compare(BinaryOp::Equal, by, Box::new([left, right])), ty: Type::BOOL }
}

fn flat_len(subquery: &Subquery) -> usize {
    subquery.flat.as_ref().map_or(0, |flat| flat.slots.len())
}

/// The subquery that a condition asks for a partner in, and what becomes of the rows that have one.
fn look_into(condition: &Expr) -> Option<(&Subquery, JoinKind)> {
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
    (fits && subquery.flat.is_some() && !subquery.is_volatile).then_some((subquery, kind))
}
