//! What conditions leave of rows.

use crate::expression::{Expr, Node};
use syntax::ast::{BinaryOp, Truth};

/// The share of rows that a condition is expected to accept, by its kind alone: what MySQL takes
/// where it knows nothing.
pub(crate) fn selectivity(condition: &Expr) -> f64 {
    const EQUAL: f64 = 0.1;
    const INEQUALITY: f64 = 0.3333;
    const BETWEEN: f64 = 0.1111;
    /// Of millions of conditions those behind these make no difference.
    const COUNTED_MAX: usize = 1000;
    let turned = |share: f64, negated: bool| if negated { 1.0 - share } else { share };
    match &condition.node {
        Node::Compare(op, ..) => match op {
            BinaryOp::Equal | BinaryOp::NullSafeEqual => EQUAL,
            BinaryOp::NotEqual => 1.0 - EQUAL,
            _ => INEQUALITY,
        },
        Node::Between(_, _, negated) => turned(BETWEEN, *negated),
        Node::Like(like) => turned(BETWEEN, like.negated),
        Node::In(_, list, negated) => turned((list.len() as f64 * EQUAL).min(0.5), *negated),
        Node::Is(_, Truth::Null, negated) => turned(EQUAL, *negated),
        // Of what is accepted as a whole nothing is known.
        Node::Not(x) => Some(selectivity(x)).filter(|s| *s < 1.0).map_or(1.0, |s| 1.0 - s),
        Node::And(list) => list.iter().take(COUNTED_MAX).map(selectivity).product(),
        Node::Or(list) => 1.0 - list.iter().take(COUNTED_MAX).map(|e| 1.0 - selectivity(e)).product::<f64>(),
        Node::RowIn(list) => selectivity(&list.any),
        _ => 1.0,
    }
}
