//! The order of a join, and how each of its steps is done.
//!
//! Every order that outer joins and STRAIGHT_JOIN allow is tried for up to [`EXHAUSTIVE_MAX`]
//! operands, and given up where it costs more than the best one so far; beyond, the cheapest next
//! step is taken each time. A step loops over the inner side, by the best access path that the
//! tables before it allow, or looks up a hash table where no index helps.
//!
//! Hints leave fewer orders ([`super::hinted`]).
//!
//! A list with semi-joins has several forms ([`super::semi_join`]): each is ordered, and the
//! cheapest planned.
//!
//! (J1) A condition stands at the first place where all that it reads is there; those of an ON
//!      clause inside of their nest, so that they decide about the null complement, and those of
//!      WHERE outside.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::OnceLock;

use storage::LockMode;
use storage::transaction::Locking;

use super::access::{self, Candidate, Choice};
use super::covering::ColumnsRead;
use super::from::{Item, ItemKind, List, Slot, SlotColumn};
use super::hinted::{HintedOrder, UNFOLLOWED_COST};
use super::propagate::propagated;
use super::semi_join::{Materialized, SemiJoins};
use super::size::TableSize;
use super::statistics::selectivity;
use super::{Hash, JoinKind, Loop, Maker, Operator, Rows, Size, TableAccess};
use crate::catalog::computed::Computed;
use crate::expression::compare::By;
use crate::expression::{Expr, Node, OrderTerm};
use crate::session::Context;
use datum::error::Result;
use syntax::ast::{BinaryOp, IndexHintAction, IndexHintScope};

/// How many operands are brought into the best of all orders.
const EXHAUSTIVE_MAX: usize = 7;

/// Rows that a derived table is taken to have.
const ROWS_DERIVED: f64 = 100.0;

/// What a row of a hash table costs, in rows read.
pub(crate) const HASH_ROW_COST: f64 = 0.2;

/// The share of the rows that have a partner in a semi-join, or none in an anti-join.
const SELECTIVITY: f64 = 0.5;

/// Plans the joins of one block.
pub(crate) struct Joiner<'a> {
    slots: &'a [Slot],
    locking: &'a [Option<Locking>],
    /// What is read of the slots' columns.
    read: ColumnsRead,
    /// How large the slots' tables are; nothing for what is no table.
    sizes: Vec<Option<TableSize<'a>>>,
    /// `sql_safe_updates`: where rows are changed, any index is better than none.
    safe: bool,
    /// Cost and rows of nests for one row before them: by the place of their items, and the slots
    /// filled before that their conditions read. Without it, planning would take twice as long for
    /// each level of nests.
    nests: RefCell<HashMap<NestKey, NestEstimate>>,
    /// What hints ask for.
    order: HintedOrder,
}

/// Where a nest's items lie, and the slots filled before it that its conditions read.
type NestKey = (*const Item, u64);
/// A nest's cost, and its rows.
type NestEstimate = (f64, f64);

/// A join so far: what is filled, what comes out, what it cost.
#[derive(Clone, Copy)]
struct Prefix {
    filled: u64,
    rows: f64,
    cost: f64,
    /// The part of the cost that is there before the first row: of what is made as a whole.
    startup: f64,
}

/// A search for the best order of a list.
struct Search<'s> {
    items: &'s [Item],
    /// How many hints are followed.
    hints: usize,
    conditions: &'s [Expr],
    best: Option<(f64, Vec<usize>)>,
}

/// How a source is joined.
enum Method {
    /// By this path, for each row before it.
    Loop(Choice),
    /// All of it once, by this path.
    Hash(Choice),
}

impl<'a> Joiner<'a> {
    /// A planner for the block that has these slots.
    pub(crate) fn new(
        cx: &'a RefCell<&'a mut Context>,
        slots: &'a [Slot],
        locking: &'a [Option<Locking>],
        read: ColumnsRead,
    ) -> Self {
        for slot in slots {
            if let Slot::Table(table, ..) = slot
                && table.has_key_parts()
            {
                // Without them their indexes are not used; writing rows reports why they are
                // not there.
                let _ = Computed::of(&mut cx.borrow_mut(), table);
            }
        }
        let size = |slot: &'a Slot| match slot {
            Slot::Table(table, ..) => Some(TableSize::new(cx, table)),
            Slot::Rows(..) => None,
        };
        let changes = |locking: &Locking| locking.mode == LockMode::Exclusive;
        let safe = locking.iter().flatten().any(changes) && cx.borrow().settings.safe_updates();
        let sizes = slots.iter().map(size).collect();
        let order = HintedOrder::default();
        Self { slots, locking, read, safe, sizes, nests: RefCell::default(), order }
    }

    /// The same, with the order that hints ask for.
    pub(crate) fn with_order(self, order: HintedOrder) -> Self {
        Self { order, ..self }
    }

    /// The operators of FROM and WHERE. `order` is what the rows are sorted by afterwards, `wanted`
    /// how many of them are wanted, if not all.
    pub(crate) fn plan(&self, list: List, order: &[OrderTerm], wanted: Option<f64>) -> Result<Operator> {
        for slot in self.slots {
            if let Slot::Table(table, hints, alias) = slot {
                access::check_hints(table, hints, alias)?;
            }
        }
        let mut operator = self.list(list, 0);
        self.prefer_order(&mut operator, order, wanted, IndexHintScope::OrderBy);
        Ok(operator)
    }

    /// The cheapest form of a list in which rows may take the place of semi- and anti-joins, with
    /// what follows from its conditions. `wanted` is how many rows are wanted, if not all.
    pub(crate) fn with_semi_joins(&self, list: List, others: &[Materialized], wanted: Option<f64>) -> List {
        if others.is_empty() {
            return propagated(list);
        }
        // Those that were not chosen before may be better together with those that were.
        let mut best = list;
        let mut cost = self.cost_of_list(&propagated(best.clone()), wanted);
        for other in others {
            let candidate = other.replaced_in(&best);
            let candidate_cost = self.cost_of_list(&propagated(candidate.clone()), wanted);
            if candidate_cost < cost {
                (best, cost) = (candidate, candidate_cost);
            }
        }
        propagated(best)
    }

    /// The list of rows to be changed, whose conditions stand as such, with inner joins in the
    /// place of those whose rows lead to the ones to be changed. Others are tested with the row, so
    /// that it is not locked for longer than that where nothing becomes of it.
    pub(crate) fn with_leading(&self, list: List, joins: &SemiJoins) -> List {
        let mut best = list;
        for other in &joins.materialized {
            let Some(candidate) = other.joined_in(&best, &joins.conditions).map(propagated) else { continue };
            if self.cost_of_list(&candidate, None) < self.cost_of_list(&best, None) {
                best = candidate;
            }
        }
        best
    }

    /// What joining a list costs if so many of its rows are wanted.
    fn cost_of_list(&self, list: &List, wanted: Option<f64>) -> f64 {
        // They are known by where their items lie, and the list is not the last one to lie there.
        self.nests.borrow_mut().clear();
        let Prefix { rows, cost, startup, .. } = self.cost_of_items(list, 0);
        self.nests.borrow_mut().clear();
        let share = wanted.map_or(1.0, |wanted| (wanted / rows.max(1.0)).min(1.0));
        startup + (cost - startup) * share
    }

    /// What joining a list costs for one row before it, in its best order.
    fn cost_of_items(&self, list: &List, filled: u64) -> Prefix {
        let start = Prefix { filled, rows: 1.0, cost: 0.0, startup: 0.0 };
        let (order, hints) = self.best_order(&list.items, &list.conditions, filled);
        let extended = |prefix, &n: &usize| self.extended(prefix, &list.items[n], &list.conditions);
        let mut prefix = order.iter().fold(start, extended);
        prefix.cost += (self.order.len() - hints) as f64 * UNFOLLOWED_COST;
        prefix
    }

    /// A list whose conditions may read `around`, the slots that are filled before.
    fn list(&self, list: List, around: u64) -> Operator {
        let List { items, mut conditions } = list;
        let (order, _) = self.best_order(&items, &conditions, around);
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let mut filled = around;
        let mut operator: Option<Operator> = None;
        for number in order {
            let Some(item) = items[number].take() else { continue };
            let slots = item.slots();
            operator = Some(self.step(operator, item, filled, &mut conditions));
            filled |= slots;
        }
        let mut operator = operator.unwrap_or(Operator::One(Vec::new()));
        // What gives another value each time is asked of whole rows.
        operator.filter_mut().append(&mut conditions);
        operator
    }

    /// Adds an item to the join.
    fn step(&self, outer: Option<Operator>, item: Item, filled: u64, conditions: &mut Vec<Expr>) -> Operator {
        let slots = item.slots();
        let ready = take_ready(conditions, filled | slots);
        match (item.kind, outer) {
            (ItemKind::Slot(slot), None) => self.leaf(slot, filled, ready),
            (ItemKind::Slot(slot), Some(outer)) => {
                self.join(outer, slot, filled, JoinKind::Inner, ready, Vec::new())
            }
            (ItemKind::Nest(mut list, kind), outer) => {
                let outer = outer.unwrap_or(Operator::One(Vec::new()));
                if let Some(slot) = single(&list) {
                    let on = std::mem::take(&mut list.conditions);
                    return self.join(outer, slot, filled, kind, on, ready);
                }
                let inner_slots = bits(list.slots());
                let inner = self.list(list, filled);
                let rows = joined_rows(outer.rows(), inner.rows(), kind);
                Operator::Loop(Box::new(Loop { outer, inner, kind, inner_slots, filter: ready, rows }))
            }
        }
    }

    /// Joins a source: `on` decides which rows are partners, `filter` which joined rows go on.
    fn join(
        &self,
        outer: Operator,
        slot: usize,
        filled: u64,
        kind: JoinKind,
        on: Vec<Expr>,
        filter: Vec<Expr>,
    ) -> Operator {
        let method = self.method(slot, filled, outer.rows(), on.iter());
        let inner_slots = vec![slot];
        if let Method::Loop(_) = method {
            let inner = self.leaf(slot, filled, on);
            let rows = joined_rows(outer.rows(), inner.rows(), kind);
            return Operator::Loop(Box::new(Loop { outer, inner, kind, inner_slots, filter, rows }));
        }
        let own = 1 << slot;
        let (inside, across): (Vec<_>, Vec<_>) = on.into_iter().partition(|e| e.sources() & !own == 0);
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in across {
            match hash_key(condition, filled, own) {
                Ok(key) => keys.push(key),
                Err(condition) => rest.push(condition),
            }
        }
        let inner = self.leaf(slot, 0, inside);
        let rows = joined_rows(outer.rows(), (inner.rows() / outer.rows().max(1.0)).max(1.0), kind);
        Operator::Hash(Box::new(Hash {
            outer,
            inner,
            kind,
            inner_slots,
            keys,
            on: rest,
            filter,
            rows,
            ordered: false,
        }))
    }

    /// A source by itself, with all conditions that can be tested when it is read.
    fn leaf(&self, slot: usize, filled: u64, mut conditions: Vec<Expr>) -> Operator {
        // Cheap ones first.
        conditions
            .sort_by_key(|e| e.contains(&mut |e| matches!(e.node, Node::Subquery(_) | Node::Stored(..))));
        match &self.slots[slot] {
            Slot::Table(table, ..) => {
                let choice = self.choose(slot, filled, conditions.iter());
                let covering = self.covering(slot, choice.path.index);
                Operator::TableAccess(Box::new(TableAccess {
                    slot,
                    table: table.clone(),
                    path: choice.path,
                    rows: choice.rows,
                    accepted: choice.accepted,
                    cost: choice.cost,
                    covering,
                    implied_by_keys: OnceLock::new(),
                    filter: conditions,
                    locking: self.locking[slot],
                }))
            }
            Slot::Rows(maker, _) => Operator::Rows(Box::new(Rows {
                slot,
                maker: maker.clone(),
                keys: lookup(maker, slot, filled, &conditions),
                filter: conditions,
                rows: self.made(slot).rows,
            })),
        }
    }

    /// The best path to a source's rows, or all of them if it is no table.
    fn choose<'e>(
        &self,
        slot: usize,
        available: u64,
        conditions: impl Iterator<Item = &'e Expr> + Clone,
    ) -> Choice {
        match (self.candidate(slot, available), &self.sizes[slot]) {
            (Some(candidate), Some(size)) => candidate.choose(conditions, size),
            _ => Choice {
                path: access::full_scan(),
                rows: self.made(slot).rows,
                accepted: conditions.map(selectivity).product(),
                cost: self.made(slot).rows,
            },
        }
    }

    /// How large rows are that are made as a whole; making a table's costs nothing.
    fn made(&self, slot: usize) -> Size {
        let size = match &self.slots[slot] {
            Slot::Rows(Maker::Derived(derived), _) => derived.size,
            _ => None,
        };
        size.unwrap_or(Size { rows: ROWS_DERIVED, cost: 0.0 })
    }

    /// A slot's table; nothing for what is no table.
    fn candidate(&self, slot: usize, available: u64) -> Option<Candidate<'_>> {
        let Slot::Table(table, hints, _) = &self.slots[slot] else { return None };
        let read = self.locking[slot].is_none().then_some(&self.read);
        let scope = IndexHintScope::Join;
        Some(Candidate { table, slot, available, hints, scope, forced: self.safe, read })
    }

    /// The columns that are read of a slot, if an index of its table holds all of them, and no row
    /// has to be locked.
    pub(super) fn covering(&self, slot: usize, index: usize) -> Option<Box<[usize]>> {
        let Slot::Table(table, ..) = &self.slots[slot] else { return None };
        self.locking[slot].is_none().then(|| self.read.held_by(slot, table, index)).flatten()
    }

    /// True if a hint asks for an index that gives an order, of this scope.
    pub(super) fn is_order_forced(&self, slot: usize, scope: IndexHintScope) -> bool {
        let hints = self.candidate(slot, 0).map_or(&[][..], |candidate| candidate.hints);
        hints.iter().any(|hint| hint.action == IndexHintAction::Force && hint.scope == scope)
    }

    /// Paths to the rows of the first slot that give them in an order.
    pub(super) fn in_order(
        &self,
        slot: usize,
        filter: &[Expr],
        order: &[(usize, bool)],
        scope: IndexHintScope,
    ) -> Vec<Choice> {
        match (self.candidate(slot, 0), &self.sizes[slot]) {
            (Some(candidate), Some(size)) => candidate.in_scope(scope).in_order(filter, size, order),
            _ => Vec::new(),
        }
    }

    /// How to join a source to so many rows.
    fn method<'e>(
        &self,
        slot: usize,
        filled: u64,
        before: f64,
        on: impl Iterator<Item = &'e Expr> + Clone,
    ) -> Method {
        let by_loop = self.choose(slot, filled, on.clone());
        let own = 1 << slot;
        let dependent = match &self.slots[slot] {
            Slot::Rows(maker, _) => maker.sources() != 0,
            Slot::Table(..) => false,
        };
        let has_key = on.clone().any(|e| hash_sides(e, filled, own).is_some());
        if dependent || !has_key || by_loop.path.sources() & filled != 0 {
            return Method::Loop(by_loop);
        }
        let whole = self.choose(slot, 0, on.filter(|e| e.sources() & !own == 0));
        let hash_cost = whole.cost + (before + whole.rows) * HASH_ROW_COST;
        if hash_cost < before * by_loop.cost { Method::Hash(whole) } else { Method::Loop(by_loop) }
    }

    /// The numbers of the items in the order in which they are joined, and how many hints it
    /// follows (O1 of `hinted.rs`).
    fn best_order(&self, items: &[Item], conditions: &[Expr], around: u64) -> (Vec<usize>, usize) {
        let all = self.order.len();
        if items.len() < 2 {
            return ((0..items.len()).collect(), all);
        }
        let followed = (1..=all).rev().find_map(|hints| {
            let order = self.order_by_hints(items, conditions, around, hints)?;
            Some((order, hints))
        });
        followed.unwrap_or_else(|| {
            let order = self.order_by_hints(items, conditions, around, 0);
            (order.unwrap_or_else(|| (0..items.len()).collect()), 0)
        })
    }

    /// The best order that follows so many hints, if one does.
    fn order_by_hints(
        &self,
        items: &[Item],
        conditions: &[Expr],
        around: u64,
        hints: usize,
    ) -> Option<Vec<usize>> {
        let start = Prefix { filled: around, rows: 1.0, cost: 0.0, startup: 0.0 };
        let mut search = Search { items, hints, conditions, best: None };
        let mut order = Vec::with_capacity(items.len());
        if items.len() <= EXHAUSTIVE_MAX {
            self.search(&mut search, &mut order, start);
        }
        match search.best {
            Some((_, order)) => Some(order),
            None if items.len() <= EXHAUSTIVE_MAX && hints > 0 => None,
            None => self.greedy_order(&search, start),
        }
    }

    fn search(&self, search: &mut Search<'_>, order: &mut Vec<usize>, prefix: Prefix) {
        if search.best.as_ref().is_some_and(|(cost, _)| prefix.cost >= *cost) {
            return;
        }
        if order.len() == search.items.len() {
            search.best = Some((prefix.cost, order.clone()));
            return;
        }
        for number in 0..search.items.len() {
            let item = &search.items[number];
            if order.contains(&number) || !self.may_follow(search, item, prefix.filled) {
                continue;
            }
            let next = self.extended(prefix, item, search.conditions);
            order.push(number);
            self.search(search, order, next);
            order.pop();
        }
    }

    /// True if an item may be joined next.
    fn may_follow(&self, search: &Search<'_>, item: &Item, filled: u64) -> bool {
        item.requires & !filled == 0 && self.order.allows(search.hints, search.items, item, filled)
    }

    /// The cheapest next step each time; nothing if hints lead to none.
    fn greedy_order(&self, search: &Search<'_>, mut prefix: Prefix) -> Option<Vec<usize>> {
        let mut left: Vec<usize> = (0..search.items.len()).collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let mut best: Option<(usize, Prefix)> = None;
            for (at, &number) in left.iter().enumerate() {
                let item = &search.items[number];
                if !self.may_follow(search, item, prefix.filled) {
                    continue;
                }
                let next = self.extended(prefix, item, search.conditions);
                if best.as_ref().is_none_or(|(_, b)| next.cost + next.rows < b.cost + b.rows) {
                    best = Some((at, next));
                }
            }
            let Some((at, next)) = best else {
                if search.hints > 0 {
                    return None;
                }
                order.append(&mut left);
                break;
            };
            order.push(left.remove(at));
            prefix = next;
        }
        Some(order)
    }

    /// What the join costs with one more item.
    fn extended(&self, prefix: Prefix, item: &Item, conditions: &[Expr]) -> Prefix {
        let slots = item.slots();
        let filled = prefix.filled | slots;
        let news = conditions.iter().filter(|e| {
            let read = e.sources();
            read & !filled == 0 && read & slots != 0
        });
        let (cost, rows, startup) = match &item.kind {
            ItemKind::Slot(slot) => self.cost_of(*slot, prefix, news),
            ItemKind::Nest(list, kind) => match single(list) {
                Some(slot) => {
                    let (cost, rows, startup) = self.cost_of(slot, prefix, list.conditions.iter());
                    (cost, joined_rows(prefix.rows, rows / prefix.rows.max(1.0), *kind), startup)
                }
                None => {
                    let (cost, rows) = self.nest(list, prefix.filled);
                    (prefix.rows * cost, joined_rows(prefix.rows, rows, *kind), 0.0)
                }
            },
        };
        Prefix { filled, rows, cost: prefix.cost + cost, startup: prefix.startup + startup }
    }

    /// What a nest costs for one row before it, and how many rows it has then.
    fn nest(&self, list: &List, filled: u64) -> (f64, f64) {
        let key = (list.items.as_ptr(), filled & list.read());
        if let Some(&known) = self.nests.borrow().get(&key) {
            return known;
        }
        let inner = self.cost_of_items(list, filled);
        self.nests.borrow_mut().insert(key, (inner.cost, inner.rows));
        (inner.cost, inner.rows)
    }

    /// What joining a source costs, the rows that there are then, and the part of the cost before
    /// the first of them.
    fn cost_of<'e>(
        &self,
        slot: usize,
        prefix: Prefix,
        conditions: impl Iterator<Item = &'e Expr> + Clone,
    ) -> (f64, f64, f64) {
        let making = self.made(slot).cost;
        match self.method(slot, prefix.filled, prefix.rows, conditions) {
            Method::Loop(choice) => {
                let rows = prefix.rows * choice.rows * choice.accepted;
                (making + prefix.rows * choice.cost, rows, making)
            }
            Method::Hash(choice) => {
                let startup = making + choice.cost + choice.rows * HASH_ROW_COST;
                let rows = prefix.rows.max(choice.rows * choice.accepted);
                (startup + prefix.rows * HASH_ROW_COST, rows, startup)
            }
        }
    }
}

/// What a virtual table's rows are looked up by.
fn lookup(maker: &Maker, slot: usize, filled: u64, conditions: &[Expr]) -> Vec<Option<Expr>> {
    let Maker::Provider(provider) = maker else { return Vec::new() };
    let value =
        |column: usize| conditions.iter().find_map(|e| wanted(e, SlotColumn { slot, column }, filled));
    provider.keys().into_iter().map(|column| value(column).cloned()).collect()
}

/// What a column must be equal to, byte by byte, if the condition says that and the value is known
/// before.
fn wanted(condition: &Expr, column: SlotColumn, filled: u64) -> Option<&Expr> {
    let Node::Compare(BinaryOp::Equal, By::Text(collation), pair) = &condition.node else { return None };
    let is_column = |e: &Expr| SlotColumn::of(e) == Some(column);
    let is_known = |e: &Expr| e.sources() & !filled == 0 && !e.is_volatile();
    let [a, b] = &**pair;
    if *collation != collation.charset().binary_collation() {
        return None;
    }
    match () {
        () if is_column(a) && is_known(b) => Some(b),
        () if is_column(b) && is_known(a) => Some(a),
        () => None,
    }
}

/// The only source of a nest that is joined as one.
fn single(list: &List) -> Option<usize> {
    match list.items[..] {
        [Item { kind: ItemKind::Slot(slot), .. }] => {
            list.conditions.iter().all(|e| !e.is_volatile()).then_some(slot)
        }
        _ => None,
    }
}

fn joined_rows(outer: f64, inner: f64, kind: JoinKind) -> f64 {
    match kind {
        JoinKind::Inner => outer * inner,
        JoinKind::Left => outer * inner.max(1.0),
        JoinKind::Semi | JoinKind::Anti => outer * SELECTIVITY,
    }
}

/// Takes the conditions out that can be tested when these slots are filled.
fn take_ready(conditions: &mut Vec<Expr>, filled: u64) -> Vec<Expr> {
    let is_ready = |e: &Expr| {
        let read = e.sources();
        read & !filled == 0 && (read != 0 || !e.is_volatile())
    };
    let (ready, rest) = std::mem::take(conditions).into_iter().partition(is_ready);
    *conditions = rest;
    ready
}

/// Which operand of an equality reads only the outer side (0 or 1), if the other reads only the
/// inner one.
fn hash_sides(condition: &Expr, filled: u64, own: u64) -> Option<usize> {
    let Node::Compare(BinaryOp::Equal, _, pair) = &condition.node else { return None };
    let [a, b] = [pair[0].sources(), pair[1].sources()];
    let outer = |read: u64| read != 0 && read & !filled == 0;
    let inner = |read: u64| read == own;
    match () {
        () if outer(a) && inner(b) => Some(0),
        () if outer(b) && inner(a) => Some(1),
        () => None,
    }
}

type HashKey = (Expr, Expr, By);

/// An equality as the key of a hash join: outer operand, inner operand, how they compare.
fn hash_key(condition: Expr, filled: u64, own: u64) -> Result<HashKey, Expr> {
    match hash_sides(&condition, filled, own) {
        None => Err(condition),
        Some(side) => match condition.node {
            Node::Compare(_, by, pair) => {
                let [a, b] = *pair;
                Ok(if side == 0 { (a, b, by) } else { (b, a, by) })
            }
            node => Err(Expr { node, ty: condition.ty }),
        },
    }
}

fn bits(slots: u64) -> Vec<usize> {
    (0..64).filter(|i| slots >> i & 1 == 1).collect()
}
