//! A subquery's rows made once, without those that are equal, in the place of a semi- or anti-join
//! that reads its tables for each outer row.
//!
//! 1. Its conditions are divided: those that read nothing of the outer row belong to what is made;
//!    the others tie the rows to the outer ones.
//! 2. What the latter read of the subquery's tables are the columns that are made.
//! 3. If they are equalities that go by the same order as DISTINCT, an outer row has one partner at
//!    most, and the semi-join is an inner join, which may start from the subquery's rows.

use std::sync::Arc;

use super::super::block::{self, Bound};
use super::super::from::{Item, ItemKind, List, SOURCES_MAX, Slot};
use super::super::{Body, Derived, JoinKind, Limit, Maker, Size};
use super::{Flat, Flattener, equal};
use crate::expression::compare::{By, own_order};
use crate::expression::subquery::{Candidate, Subquery, Test, new_id};
use crate::expression::{Expr, Node};
use crate::output::OutputColumn;
use datum::error::Result;
use syntax::ast::BinaryOp;

/// What a row costs that is made, compared with those before it, and kept, in rows read.
const MADE_ROW_COST: f64 = 0.5;

/// Rows that can take the place of a nest.
#[derive(Debug)]
pub(crate) struct Materialized {
    /// The nest's slots, one bit each.
    nest: u64,
    /// What is joined instead.
    item: Item,
    /// What the joined rows must fulfil.
    conditions: Vec<Expr>,
    /// It is an inner join that may start from the rows; else they are looked up.
    is_joined: bool,
}

impl Materialized {
    /// True if one of these slots is in the nest.
    pub(super) fn replaces(&self, slots: u64) -> bool {
        self.nest & slots != 0
    }

    /// The slots of what is joined instead.
    pub(super) fn made_slots(&self) -> u64 {
        self.item.slots()
    }

    /// The list, where the condition still stands as such, with an inner join instead, if it can be
    /// one.
    pub(crate) fn joined_in(&self, list: &List, conditions: &[(u64, Expr)]) -> Option<List> {
        let (_, condition) = conditions.iter().find(|(nest, _)| self.is_joined && *nest == self.nest)?;
        let mut list = list.clone();
        list.conditions.retain(|e| !e.is_same(condition));
        list.conditions.extend(self.conditions.iter().cloned());
        list.items.push(self.item.clone());
        Some(list)
    }

    /// The list with the rows in the nest's place.
    pub(crate) fn replaced_in(&self, list: &List) -> List {
        let mut list = list.clone();
        for item in list.items.iter_mut().filter(|item| item.slots() == self.nest) {
            *item = self.item.clone();
        }
        list.conditions.extend(self.conditions.iter().cloned());
        list
    }
}

/// A subquery's conditions, divided. Columns are those of its own slots until [`Ties::in_block`].
struct Ties<'s> {
    subquery: &'s Subquery,
    /// What is made.
    own: List,
    /// Its columns.
    outputs: Vec<Expr>,
    /// Outer operands, how they compare, and which columns they equal.
    equal: Vec<(Expr, By, usize)>,
    /// Other conditions on both.
    others: Vec<Expr>,
}

impl<'s> Ties<'s> {
    /// `None` if something inside of the join itself reads the outer row.
    fn new(subquery: &'s Subquery, flat: &Flat) -> Option<Self> {
        let Flat { list, items, .. } = flat;
        let own = List { items: list.items.clone(), conditions: Vec::new() };
        let mut ties = Ties { subquery, own, outputs: Vec::new(), equal: Vec::new(), others: Vec::new() };
        if any_condition(&ties.own, &mut |e| ties.reads_outer(e)) {
            return None;
        }
        if let Test::In(candidates) = &subquery.test {
            for candidate in candidates {
                let Candidate { operand, by, .. } = candidate;
                let inner = candidate.column_of(items);
                if ties.reads_outer(&inner) {
                    return None;
                }
                let output = ties.output(&inner);
                ties.equal.push((operand.clone(), *by, output));
            }
        }
        for condition in &list.conditions {
            ties.add(condition);
        }
        Some(ties)
    }

    fn add(&mut self, condition: &Expr) {
        if !self.reads_outer(condition) {
            self.own.conditions.push(condition.clone());
            return;
        }
        if let Node::Compare(BinaryOp::Equal, by, pair) = &condition.node {
            let [a, b] = &**pair;
            for (inner, outer) in [(a, b), (b, a)] {
                if inner.sources() != 0 && !self.reads_outer(inner) && outer.sources() == 0 {
                    let (output, mut outer) = (self.output(inner), outer.clone());
                    self.put_parameters(&mut outer);
                    self.equal.push((outer, *by, output));
                    return;
                }
            }
        }
        self.others.push(condition.clone());
    }

    /// True if an expression takes something from the outer row. What comes from around the outer
    /// block is no such thing.
    fn reads_outer(&self, e: &Expr) -> bool {
        e.contains(&mut |e| match e.node {
            Node::Outer(number) => self.subquery.parameters.get(number).is_none_or(|p| p.sources() != 0),
            _ => false,
        })
    }

    fn output(&mut self, e: &Expr) -> usize {
        let is_it = |other: &Expr| other.is_same(e) && other.ty == e.ty;
        self.outputs.iter().position(is_it).unwrap_or_else(|| {
            self.outputs.push(e.clone());
            self.outputs.len() - 1
        })
    }

    /// Puts what is taken from the outer row in the place of its numbers.
    fn put_parameters(&self, e: &mut Expr) {
        e.transform(&mut |e| {
            if let Node::Outer(number) = e.node
                && let Some(value) = self.subquery.parameters.get(number)
            {
                *e = value.clone();
            }
        });
    }

    /// True if no two of the rows that DISTINCT leaves are partners of the same outer row.
    fn are_unique(&self) -> bool {
        let alike = |(_, by, output): &(Expr, By, usize)| {
            *by != By::Json && *by == own_order(&self.outputs[*output].ty)
        };
        self.others.is_empty() && !self.equal.is_empty() && self.equal.iter().all(alike)
    }

    /// The other conditions in the outer block's terms, where the made rows are in slot `source`.
    fn others_in_block(&mut self, source: usize) -> Vec<Expr> {
        let mut others = std::mem::take(&mut self.others);
        for condition in &mut others {
            condition.transform(&mut |e| {
                if let Node::Column { .. } = e.node {
                    let column = self.output(e);
                    e.node = Node::Column { source, column };
                }
            });
            self.put_parameters(condition);
        }
        others
    }

    /// Has what is made take what it reads from around the outer block by numbers of its own; what
    /// those are.
    fn take_parameters(&mut self) -> Vec<Expr> {
        let (mut numbers, mut taken) = (Vec::new(), Vec::new());
        let parameters = &self.subquery.parameters;
        let mut renumber = |e: &mut Expr| {
            let Node::Outer(number) = &mut e.node else { return };
            let Some(value) = parameters.get(*number) else { return };
            *number = numbers.iter().position(|known| known == number).unwrap_or_else(|| {
                numbers.push(*number);
                taken.push(value.clone());
                numbers.len() - 1
            });
        };
        each_condition(&mut self.own, &mut |e| e.transform(&mut renumber));
        self.outputs.iter_mut().for_each(|e| e.transform(&mut renumber));
        taken
    }
}

impl Flattener<'_, '_> {
    /// Plans the rows that can take the place of a subquery's nest, if there can be any.
    pub(super) fn materialize(&mut self, subquery: &Subquery, kind: JoinKind, nest: u64) -> Result<()> {
        let Some(flat) = &subquery.flat else { return Ok(()) };
        let source = self.slots.len();
        let Some(mut ties) = Ties::new(subquery, flat).filter(|_| source < SOURCES_MAX) else {
            return Ok(());
        };
        let is_joined = kind == JoinKind::Semi && ties.are_unique();
        // A hash table of the only table of a nest does the same.
        if !is_joined && (flat.slots.len() < 2 || ties.equal.is_empty()) {
            return Ok(());
        }
        let others = ties.others_in_block(source);
        let parameters = ties.take_parameters();
        let equal = ties.equal.iter().map(|(outer, by, column)| {
            let ty = ties.outputs[*column].ty;
            equal(outer.clone(), *by, Expr { node: Node::Column { source, column: *column }, ty })
        });
        let conditions: Vec<Expr> = equal.chain(others).collect();
        let columns = ties.outputs.iter().map(|e| OutputColumn::computed(&name(e, &flat.slots), e.ty));
        let bound = Bound {
            locking: vec![None; flat.slots.len()],
            slots: flat.slots.clone(),
            columns: columns.collect(),
            list: ties.own,
            items: ties.outputs,
            group: None,
            having: None,
            windows: Vec::new(),
            order: Vec::new(),
            distinct: true,
            limit: Limit::default(),
            straight: false,
            hints: Default::default(),
            repeated: Default::default(),
            counts_all: false,
        };
        let plan = block::plan(self.resolver, bound)?;
        let size = match &plan.body {
            Body::Block(block) => {
                let made = block.from.rows().max(1.0);
                let most = distinct_rows(self, &flat.slots, &block.items);
                let rows = most.map_or(made, |most| made.min(most));
                Some(Size { rows, cost: block.from.cost() + made * MADE_ROW_COST })
            }
            _ => None,
        };
        let derived = Derived { id: new_id(), plan, parameters, is_volatile: false, size };
        self.slots.push(Slot::Rows(Maker::Derived(Arc::new(derived)), "<subquery>".into()));
        self.locking.push(None);
        let own = Item { kind: ItemKind::Slot(source), requires: 0 };
        self.joins.materialized.push(match is_joined {
            true => Materialized { nest, item: own, conditions, is_joined },
            false => {
                let requires = conditions.iter().fold(0, |all, e| all | e.sources()) & !(1 << source);
                let list = List { items: vec![own], conditions };
                let item = Item { kind: ItemKind::Nest(list, kind), requires };
                Materialized { nest, item, conditions: Vec::new(), is_joined }
            }
        });
        Ok(())
    }
}

/// The most rows that DISTINCT leaves of columns, where indexes that begin with them tell.
fn distinct_rows(flattener: &Flattener<'_, '_>, slots: &[Slot], items: &[Expr]) -> Option<f64> {
    let values = |e: &Expr| {
        let Node::Column { source, column } = e.node else { return None };
        let Slot::Table(table, ..) = &slots[source] else { return None };
        let index = table.indexes.iter().position(|index| index.parts[0].column == column)?;
        let known = table.current_statistics(&flattener.resolver.cx.instance)?;
        let sample = known.index(table.schema.index(index)?.tree())?;
        sample.distinct.first().map(|values| *values as f64)
    };
    items.iter().map(values).product::<Option<f64>>().map(|rows| rows.max(1.0))
}

/// What a made column is called.
fn name(e: &Expr, slots: &[Slot]) -> String {
    let name = match e.node {
        Node::Column { source, column } => match &slots[source] {
            Slot::Table(table, ..) => table.columns.get(column).map(|c| c.name.clone()),
            Slot::Rows(maker, _) => maker.columns().get(column).map(|c| c.meta.name.clone()),
        },
        _ => None,
    };
    name.unwrap_or_else(|| "<expression>".to_owned())
}

/// True if `test` holds for any condition of a list or of its nests.
fn any_condition(list: &List, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    list.conditions.iter().any(&mut *test)
        || list.items.iter().any(|item| match &item.kind {
            ItemKind::Slot(_) => false,
            ItemKind::Nest(inner, _) => any_condition(inner, test),
        })
}

/// Calls `f` with each condition of a list and of its nests.
fn each_condition(list: &mut List, f: &mut dyn FnMut(&mut Expr)) {
    list.conditions.iter_mut().for_each(&mut *f);
    for item in &mut list.items {
        if let ItemKind::Nest(inner, _) = &mut item.kind {
            each_condition(inner, f);
        }
    }
}
