//! Conditions that say less or more than they seem to: outer joins whose null complement the
//! condition rejects are inner joins; IS NULL finds the dates that stand for NULL.

use super::JoinKind;
use super::from::{Item, ItemKind, List};
use crate::expression::compare::By;
use crate::expression::{Expr, Node};
use datum::types::{Family, Type, code};
use datum::value::{DateTime, Datum};
use syntax::ast::{BinaryOp, Truth};

/// Turns outer joins into inner ones where the conditions around them accept no row of NULLs.
pub(crate) fn simplify(list: &mut List) {
    loop {
        let rejected = list.conditions.iter().fold(0, |all, e| all | rejects(e));
        let opened = list.items.iter().position(|item| match &item.kind {
            ItemKind::Nest(inner, JoinKind::Left) => inner.slots() & rejected != 0,
            _ => false,
        });
        let Some(at) = opened else { break };
        if let Item { kind: ItemKind::Nest(inner, _), .. } = list.items.remove(at) {
            list.items.extend(inner.items);
            list.conditions.extend(inner.conditions);
        }
    }
    for item in &mut list.items {
        if let ItemKind::Nest(inner, _) = &mut item.kind {
            simplify(inner);
        }
    }
}

/// "For DATE and DATETIME columns that are declared as NOT NULL, you can find the special date
/// '0000-00-00' by" IS NULL (the manual's "Comparison Functions and Operators"): where it has to
/// hold, it asks for that date.
pub(crate) fn zero_date(condition: Expr) -> Expr {
    let column = match &condition.node {
        Node::Is(x, Truth::Null, false) => x,
        Node::Not(not) => match &not.node {
            Node::Is(x, Truth::Null, true) => x,
            _ => return condition,
        },
        _ => return condition,
    };
    let is_date =
        matches!(column.ty.family, Family::Date | Family::DateTime) && column.ty.code != code::TIMESTAMP;
    if !is_date || column.ty.nullable || !matches!(column.node, Node::Column { .. }) {
        return condition;
    }
    let zero = Expr::constant(Datum::DateTime(DateTime::ZERO), Type::datetime(0));
    let pair = Box::new([(**column).clone(), zero]);
    Expr { node: Node::Compare(BinaryOp::Equal, By::DateTime, pair), ty: Type::BOOL }
}

/// The sources of which a row of NULLs makes the condition other than true.
fn rejects(e: &Expr) -> u64 {
    match &e.node {
        Node::Compare(op, _, _) if *op == BinaryOp::NullSafeEqual => 0,
        Node::Compare(_, _, pair) => strict(&pair[0]) | strict(&pair[1]),
        Node::Is(x, Truth::Null | Truth::Unknown, true) | Node::Is(x, Truth::True | Truth::False, false) => {
            strict(x)
        }
        Node::Between(three, _, false) => strict(&three[0]),
        Node::In(x, _, _) => strict(x),
        Node::Like(like) => strict(&like.operand) | strict(&like.pattern),
        Node::And(list) => list.iter().fold(0, |all, e| all | rejects(e)),
        Node::Or(list) => list.iter().fold(u64::MAX, |all, e| all & rejects(e)),
        Node::RowIn(list) => rejects(&list.any),
        _ => strict(e),
    }
}

/// The sources of which a row of NULLs makes the expression NULL.
fn strict(e: &Expr) -> u64 {
    match &e.node {
        Node::Column { .. } => e.sources(),
        Node::Negate(x) | Node::BitNot(x) | Node::Not(x) | Node::Cast(_, x) | Node::Transcode(_, _, x) => {
            strict(x)
        }
        Node::Arithmetic(_, pair) => strict(&pair[0]) | strict(&pair[1]),
        Node::Compare(op, _, pair) if *op != BinaryOp::NullSafeEqual => strict(&pair[0]) | strict(&pair[1]),
        _ => 0,
    }
}
