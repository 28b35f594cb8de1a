//! Equalities that follow from others: of `a = b AND b = 5` follows `a = 5`, which may lead to an
//! index.
//!
//! Columns that a list's conditions say are equal, and values known before the block that one of
//! them equals, are a class; each of its columns equals the value. Inner sides of joins learn what
//! is known around them.
//!
//! (P1) Equality is passed on only among comparisons of the same kind (the same collation, for
//!      text): `1 = '1'` and `'1' <> '01'` show why.

use super::from::{ItemKind, List, SlotColumn};
use crate::expression::compare::By;
use crate::expression::{Expr, Node};
use datum::types::Type;
use syntax::ast::BinaryOp;

/// What a column equals.
#[derive(Debug, Clone)]
struct ColumnEquality {
    column: SlotColumn,
    /// The column as an expression.
    read: Expr,
    by: By,
    value: Expr,
}

/// A list with what follows from its conditions.
pub(super) fn propagated(mut list: List) -> List {
    if has_pair(&list) {
        add(&mut list, &[]);
    }
    list
}

/// True if any condition makes two columns equal: without one nothing follows, as in most
/// statements.
fn has_pair(list: &List) -> bool {
    let in_nest = |item: &super::from::Item| match &item.kind {
        ItemKind::Nest(inner, _) => has_pair(inner),
        ItemKind::Slot(_) => false,
    };
    list.conditions.iter().any(|e| pair_of(e).is_some()) || list.items.iter().any(in_nest)
}

fn add(list: &mut List, around: &[ColumnEquality]) {
    let mut known: Vec<ColumnEquality> = list.conditions.iter().filter_map(value_of).collect();
    let given = known.len();
    known.extend_from_slice(around);
    let pair = |e: &Expr| pair_of(e).map(|(a, b, by)| (a.clone(), b.clone(), by));
    let pairs: Vec<(Expr, Expr, By)> = list.conditions.iter().filter_map(pair).collect();
    if !known.is_empty() && !pairs.is_empty() {
        close(&mut known, &pairs);
        let own = list.slots();
        let first_new = given + around.len();
        let new = known[first_new..]
            .iter()
            .filter(|k| own >> k.column.slot & 1 == 1)
            .map(ColumnEquality::condition);
        list.conditions.extend(new.collect::<Vec<_>>());
    }
    for item in &mut list.items {
        if let ItemKind::Nest(inner, _) = &mut item.kind {
            add(inner, &known);
        }
    }
}

/// Learns of equal columns until nothing new follows.
fn close(known: &mut Vec<ColumnEquality>, pairs: &[(Expr, Expr, By)]) {
    let mut at = 0;
    while let Some(ColumnEquality { column, by, value, .. }) = known.get(at).cloned() {
        at += 1;
        for (a, b, _) in pairs.iter().filter(|(.., pair_by)| *pair_by == by) {
            for (one, other) in [(a, b), (b, a)] {
                let Some(next) = SlotColumn::of(other).filter(|_| SlotColumn::of(one) == Some(column)) else {
                    continue;
                };
                if !known.iter().any(|k| k.column == next) {
                    known.push(ColumnEquality {
                        column: next,
                        read: other.clone(),
                        by,
                        value: value.clone(),
                    });
                }
            }
        }
    }
}

impl ColumnEquality {
    fn condition(&self) -> Expr {
        let pair = Box::new([self.read.clone(), self.value.clone()]);
        Expr { node: Node::Compare(BinaryOp::Equal, self.by, pair), ty: Type::BOOL }
    }
}

/// True if equality of this kind is passed on.
fn is_transitive(by: By) -> bool {
    matches!(by, By::Integer | By::Text(_) | By::Decimal | By::DateTime)
}

/// An equality of a column with a value that is known before the block, and cheap.
fn value_of(condition: &Expr) -> Option<ColumnEquality> {
    let Node::Compare(BinaryOp::Equal, by, pair) = &condition.node else { return None };
    let is_known = |e: &Expr| {
        matches!(e.node, Node::Constant(_) | Node::Misread(_) | Node::Parameter(_) | Node::Outer(_))
    };
    let [a, b] = &**pair;
    let (column, read, value) = match (SlotColumn::of(a), SlotColumn::of(b)) {
        (Some(column), None) if is_known(b) => (column, a, b),
        (None, Some(column)) if is_known(a) => (column, b, a),
        _ => return None,
    };
    is_transitive(*by).then(|| ColumnEquality { column, read: read.clone(), by: *by, value: value.clone() })
}

/// An equality of two columns.
fn pair_of(condition: &Expr) -> Option<(&Expr, &Expr, By)> {
    let Node::Compare(BinaryOp::Equal, by, pair) = &condition.node else { return None };
    let [a, b] = &**pair;
    (is_transitive(*by) && SlotColumn::of(a).is_some() && SlotColumn::of(b).is_some()).then_some((a, b, *by))
}
