//! Orders that need no sorting: paths whose rows come as ORDER BY wants them.

use super::access::Choice;
use super::join::Joiner;
use super::{Limit, Operator};
use crate::expression::{Expr, Node};
use crate::session::Context;

/// What sorting a row costs, in rows read.
const SORT_ROW_COST: f64 = 0.3;

/// How much less a walk must cost that hopes to find enough rows early: where those that the conditions accept all lie at
/// its end it reads everything.
const HOPE: f64 = 0.5;

/// Rows that LIMIT is taken to want where that is not known yet.
const ROWS_WANTED: f64 = 100.0;

/// How many rows a LIMIT wants, as far as that is known; nothing without one.
pub fn wanted(cx: &mut Context, limit: &Limit) -> Option<f64> {
    let ends = limit.count.iter().chain(&limit.offset);
    let is_known = ends.clone().all(|e| matches!(e.node, Node::Constant(_) | Node::Parameter(_)));
    limit.count.as_ref()?;
    let known = is_known.then(|| cx.without_diagnostics(|cx| limit.eval(cx)).ok()).flatten();
    Some(known.map_or(ROWS_WANTED, |(count, offset)| count.saturating_add(offset) as f64))
}

impl Joiner<'_> {
    /// Takes another path to the first table's rows where that gives them in the order asked for, and sorting costs more. So
    /// many rows are wanted, all if that is absent.
    pub(super) fn prefer_order(&self, from: &mut Operator, order: &[(Expr, bool)], wanted: Option<f64>) {
        let (rows, cost) = (from.rows(), from.cost());
        let Operator::Access(access) = from.first_mut() else { return };
        let Some(columns) = order_columns(order, access.slot).filter(|columns| !columns.is_empty()) else {
            return;
        };
        if access.path.clone().gives_order(&access.table, &columns) {
            return;
        }
        let share = wanted.map_or(1.0, |wanted| (wanted / rows.max(1.0)).min(1.0));
        let others = cost - access.cost;
        let mut least = cost + rows * SORT_ROW_COST;
        let mut best: Option<Choice> = None;
        for choice in self.in_order(access.slot, &access.filter, &columns) {
            let is_hope = choice.path.is_full() && !access.filter.is_empty() && share < 1.0;
            let cost = (choice.cost + others) * share;
            if cost < if is_hope { least * HOPE } else { least } {
                least = cost;
                best = Some(choice);
            }
        }
        if let Some(choice) = best {
            let accepted = access.rows * access.accepted;
            access.accepted = (accepted / choice.rows.max(1.0)).min(1.0);
            (access.rows, access.cost) = (choice.rows, choice.cost);
            access.covering = self.covering(access.slot, choice.path.index);
            access.path = choice.path;
        }
    }
}

/// The columns that rows are sorted by, if they are all of one slot.
fn order_columns(order: &[(Expr, bool)], slot: usize) -> Option<Vec<(usize, bool)>> {
    let column = |(e, descending): &(Expr, bool)| match e.node {
        Node::Column { source, column } if source == slot => Some((column, *descending)),
        _ => None,
    };
    order.iter().map(column).collect()
}

/// True if the rows come in this order already; turns the first table's walk round if needed.
pub fn gives_order(from: &mut Operator, order: &[(Expr, bool)]) -> bool {
    let given = match from.first_mut() {
        Operator::Access(access) if !order.is_empty() => match order_columns(order, access.slot) {
            Some(columns) => access.path.gives_order(&access.table, &columns),
            None => false,
        },
        _ => false,
    };
    if given {
        from.keep_order();
    }
    given
}
