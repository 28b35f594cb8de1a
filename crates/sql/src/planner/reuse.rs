//! Select items that do something, or give another value each time, and how often they are
//! computed.
//!
//! (U1) An item that ORDER BY or GROUP BY goes by, by its alias, its position or as the same
//!      expression, is computed once for a row: the value that is shown is the one that the row was
//!      sorted or grouped by. It is put into a slot of the frame of its own. Where a term only
//!      contains it (`ORDER BY alias + 0`), and in HAVING, it is computed again, as in MySQL.
//! (U2) Under WITH ROLLUP each term of GROUP BY is one item's, the first that it names or reads
//!      like: `GROUP BY a, b` of `SELECT a, a AS b` sums `b` up where it does not sum up `a`.
//! (U3) A block that sorts, and neither groups nor drops duplicates, computes such a select list
//!      after the sort, so that `SELECT @n := @n + 1, .. ORDER BY ..` numbers the rows as they
//!      come out; not where the order itself is of this kind, for MySQL computes the items before
//!      it then.

use super::Grouping;
use crate::expression::{Expr, Node, OrderTerm};
use crate::output::OutputColumn;

/// Which of a block's terms are select items that are to be computed once: numbers of the term and
/// of the item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repeated {
    keys: Vec<(usize, usize)>,
    order: Vec<(usize, usize)>,
}

/// Items that are computed once for a row.
#[derive(Debug)]
pub(crate) struct Reused {
    /// The frame's slot for those of each row that is read; the next one is for those of each row
    /// that comes out.
    pub slot: usize,
    /// What GROUP BY goes by: computed before rows are grouped.
    pub(crate) of_rows: Vec<Value>,
    /// What ORDER BY goes by: computed before rows are sorted.
    pub(crate) of_output: Vec<Value>,
}

/// An item that is computed once for a row.
#[derive(Debug)]
pub(crate) struct Value {
    /// What it is called.
    pub name: Box<str>,
    /// What it is.
    pub expr: Expr,
}

/// What stands for a select item where clauses name it: itself, or its number if it matters how
/// often it is computed, or if which of several that read the same.
pub(crate) fn reference(number: usize, item: &Expr, by_number: bool) -> Expr {
    match by_number || item.is_volatile() {
        true => Expr { node: Node::Item(number), ty: item.ty },
        false => item.clone(),
    }
}

/// The expression that a reference stands for.
pub(crate) fn resolved<'e>(e: &'e Expr, items: &'e [(String, Expr)]) -> &'e Expr {
    match e.node {
        Node::Item(number) => items.get(number).map_or(e, |(_, item)| item),
        _ => e,
    }
}

/// Puts items in the places of their references.
pub(crate) fn restore(e: &mut Expr, items: &[(String, Expr)]) {
    restore_others(e, items, &[]);
}

/// The same but for the items that GROUP BY goes by: these are known of a group
/// ([`Repeated::apply`]).
fn restore_others(e: &mut Expr, items: &[(String, Expr)], grouped: &[(usize, usize)]) {
    e.transform(&mut |e| {
        if let Node::Item(number) = e.node
            && let Some((_, item)) = items.get(number)
            && !grouped.iter().any(|(_, grouped)| *grouped == number)
        {
            *e = item.clone();
        }
    });
}

/// What else of a block has terms that may be items.
pub(crate) struct Clauses<'b> {
    pub group: Option<&'b mut Grouping>,
    pub having: Option<&'b mut Expr>,
    pub order: &'b mut [OrderTerm],
}

impl Repeated {
    /// Finds the terms that are items, and puts these in their places.
    pub(crate) fn find(
        items: &mut [(String, Expr)],
        keys: &mut [Expr],
        rollup: bool,
        having: Option<&mut Expr>,
        order: &mut [OrderTerm],
    ) -> Self {
        let mut found = Self::default();
        for (number, key) in keys.iter_mut().enumerate() {
            found.keys.extend(item_of(key, items, rollup).map(|item| (number, item)));
            restore(key, items);
        }
        if let Some(having) = having {
            restore_others(having, items, &found.keys);
        }
        for (number, OrderTerm { expr: term, .. }) in order.iter_mut().enumerate() {
            let item = item_of(term, items, rollup);
            match item.filter(|item| found.keys.iter().any(|(_, grouped)| grouped == item)) {
                Some(item) => term.node = Node::Item(item),
                None => {
                    let acts = |item: &usize| items.get(*item).is_some_and(|(_, e)| e.is_volatile());
                    found.order.extend(item.filter(acts).map(|item| (number, item)));
                    restore_others(term, items, &found.keys);
                }
            }
        }
        if rollup {
            for &(number, item) in &found.keys {
                if let Some((_, item)) =
                    items.get_mut(item).filter(|(_, e)| !matches!(e.node, Node::GroupKey(_)))
                {
                    item.node = Node::GroupKey(number);
                    item.ty.nullable = true;
                }
            }
        }
        found
    }

    /// The term of GROUP BY that a select item is.
    pub(crate) fn key_of(&self, item: usize) -> Option<usize> {
        self.keys.iter().find(|(_, grouped)| *grouped == item).map(|(number, _)| *number)
    }

    /// Has the items computed once: they, and the terms, become columns of the slots after the
    /// others.
    pub(crate) fn apply(
        &self,
        items: &mut [Expr],
        columns: &[OutputColumn],
        Clauses { group, having, order }: Clauses<'_>,
        slot: usize,
    ) -> Option<Reused> {
        let mut reused = Reused { slot, of_rows: Vec::new(), of_output: Vec::new() };
        let mut placed: Vec<(usize, Expr)> = Vec::new();
        let mut place =
            |items: &mut [Expr], item: usize, term: &mut Expr, slot: usize, values: &mut Vec<Value>| {
                if let Some((_, column)) = placed.iter().find(|(known, _)| *known == item) {
                    *term = column.clone();
                    return;
                }
                let (Some(shown), Some(column)) = (items.get_mut(item), columns.get(item)) else { return };
                let read = Expr { node: Node::Column { source: slot, column: values.len() }, ty: term.ty };
                let expr = std::mem::replace(term, read.clone());
                values.push(Value { name: column.meta.name.as_str().into(), expr });
                // Under WITH ROLLUP the item is the group's key already.
                if !matches!(shown.node, Node::GroupKey(_)) {
                    *shown = read.clone();
                }
                placed.push((item, read));
            };
        if let Some(group) = group {
            for &(number, item) in &self.keys {
                if let Some(key) = group.keys.get_mut(number).filter(|key| key.is_volatile()) {
                    place(items, item, key, slot, &mut reused.of_rows);
                }
            }
        }
        if !self.order.is_empty() {
            // With all others that act, for they are computed in the order of the select list.
            for item in 0..columns.len() {
                let Some(mut value) = items.get(item).filter(|value| acts(value)).cloned() else { continue };
                place(items, item, &mut value, slot + 1, &mut reused.of_output);
            }
        }
        for &(number, item) in &self.order {
            if let (Some(term), Some(value)) = (order.get_mut(number), items.get(item)) {
                term.expr = value.clone();
            }
        }
        for e in having.into_iter().chain(order.iter_mut().map(|term| &mut term.expr)) {
            e.transform(&mut |e| {
                if let Node::Item(number) = e.node
                    && let Some(item) = items.get(number)
                {
                    *e = item.clone();
                }
            });
        }
        (!placed.is_empty()).then_some(reused)
    }
}

/// The item that a term is, if it matters how often it is computed, or which one it is.
fn item_of(term: &Expr, items: &[(String, Expr)], rollup: bool) -> Option<usize> {
    match term.node {
        Node::Item(item) => Some(item),
        _ if rollup || term.is_volatile() => items.iter().position(|(_, item)| item.is_same(term)),
        _ => None,
    }
}

/// True if it matters when and how often an expression is computed.
fn acts(e: &Expr) -> bool {
    e.is_volatile() || e.contains(&mut |e| matches!(e.node, Node::UserVariable(_)))
}

/// (U3)
pub(crate) fn is_late(items: &[Expr], order: &[OrderTerm]) -> bool {
    !order.is_empty() && items.iter().any(acts) && !order.iter().any(|term| acts(&term.expr))
}
