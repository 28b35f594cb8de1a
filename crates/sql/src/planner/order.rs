//! Orders that need no sorting: paths whose rows come as ORDER BY wants them, or with those side by
//! side that GROUP BY puts into one group or that are one for DISTINCT.

use super::access::Choice;
use super::join::Joiner;
use super::{Limit, Operator, TableAccess};
use crate::catalog::TableDef;
use crate::expression::{Expr, Node, OrderTerm};
use crate::session::Context;
use datum::types::DataType;
use syntax::ast::IndexHintScope;

/// What sorting a row costs, in rows read, or finding its group among others.
const SORT_ROW_COST: f64 = 0.3;

/// How much less a walk must cost that hopes to find enough rows early: where those that the
/// conditions accept all lie at its end it reads everything.
const HOPE: f64 = 0.5;

/// Rows that LIMIT is taken to want where that is not known yet.
const ROWS_WANTED: f64 = 100.0;

/// How rows come that GROUP BY or DISTINCT take for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// Anywhere among the others.
    No,
    /// Side by side.
    Adjacent,
    /// Side by side, and in the order of ORDER BY.
    Ordered,
}

impl Together {
    pub(super) fn is_so(self) -> bool {
        self != Together::No
    }
}

/// How many rows a LIMIT wants, as far as that is known; nothing without one.
pub(crate) fn wanted(cx: &mut Context, limit: &Limit) -> Option<f64> {
    let ends = limit.count.iter().chain(&limit.offset);
    let is_known = ends.clone().all(|e| matches!(e.node, Node::Constant(_) | Node::Parameter(_)));
    limit.count.as_ref()?;
    let known = is_known.then(|| cx.without_diagnostics(|cx| limit.eval(cx)).ok()).flatten();
    Some(known.map_or(ROWS_WANTED, |(count, offset)| count.saturating_add(offset) as f64))
}

impl Joiner<'_> {
    /// Takes another path to the first table's rows where that gives them in the order asked for,
    /// and sorting costs more. So many rows are wanted, all if that is absent.
    pub(super) fn prefer_order(
        &self,
        from: &mut Operator,
        order: &[OrderTerm],
        wanted: Option<f64>,
        scope: IndexHintScope,
    ) {
        let (rows, cost) = (from.rows(), from.cost());
        let Operator::TableAccess(access) = from.first_mut() else { return };
        let Some(columns) = order_columns(order, access).filter(|columns| !columns.is_empty()) else {
            return;
        };
        let is_forced = self.is_order_forced(access.slot, scope);
        if access.path.clone().gives_order(&access.table, &columns) && !is_forced {
            return;
        }
        let share = wanted.map_or(1.0, |wanted| (wanted / rows.max(1.0)).min(1.0));
        let others = cost - access.cost;
        let mut least = if is_forced { f64::INFINITY } else { cost + rows * SORT_ROW_COST };
        let mut best: Option<Choice> = None;
        for choice in self.in_order(access.slot, &access.filter, &columns, scope) {
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

impl Joiner<'_> {
    /// Has rows with the same values of `keys` come side by side, if an index has them so and that
    /// is no dearer; best of all in the order asked for.
    pub(super) fn bring_together(&self, from: &mut Operator, keys: &[Expr], order: &[OrderTerm]) -> Together {
        let arrangements = match from.first_mut() {
            Operator::TableAccess(access) => arrangements(&access.table, access.slot, keys, order),
            _ => Vec::new(),
        };
        for arrangement in arrangements {
            self.prefer_order(from, &arrangement, None, IndexHintScope::GroupBy);
            if gives_order(from, &arrangement) {
                let is_ordered = arrangement.iter().zip(order).all(|(a, b)| is_same_term(a, b));
                return if is_ordered { Together::Ordered } else { Together::Adjacent };
            }
        }
        Together::No
    }
}

/// The orders that bring equal values of columns together: ORDER BY's, if it goes by them, and
/// those of the table's indexes.
fn arrangements(table: &TableDef, slot: usize, keys: &[Expr], order: &[OrderTerm]) -> Vec<Vec<OrderTerm>> {
    // Moments of a TIMESTAMP may look the same that are an hour apart.
    let is_stable = |column: usize| !matches!(table.columns[column].ty, DataType::Timestamp(_));
    let is_usable = |e: &Expr| column_of(e, slot, table).is_some_and(is_stable);
    let mut found = Vec::new();
    // Before they are compared with each other: other expressions may be any number.
    if keys.is_empty() || !keys.iter().all(is_usable) {
        return found;
    }
    let mut columns: Vec<&Expr> = Vec::new();
    for key in keys {
        if !columns.iter().any(|column| column.is_same(key)) {
            columns.push(key);
        }
    }
    if let Some(last) = order.last()
        && order.iter().all(|term| columns.iter().any(|column| column.is_same(&term.expr)))
    {
        let rest = columns.iter().filter(|column| !order.iter().any(|term| term.expr.is_same(column)));
        let rest = rest.map(|&column| OrderTerm { expr: column.clone(), descending: last.descending });
        found.push(order.iter().cloned().chain(rest).collect());
    }
    for index in &table.indexes {
        let place = |e: &&Expr| {
            let column = column_of(e, slot, table);
            index.parts.iter().position(|part| Some(part.column) == column).unwrap_or(usize::MAX)
        };
        let mut sorted = columns.clone();
        sorted.sort_by_key(place);
        let of_part = |e: &&Expr| index.parts.get(place(e)).is_some_and(|part| part.descending);
        let terms = sorted.iter().map(|e| OrderTerm { expr: (*e).clone(), descending: of_part(e) });
        found.push(terms.collect());
    }
    found
}

fn is_same_term(a: &OrderTerm, b: &OrderTerm) -> bool {
    a.expr.is_same(&b.expr) && a.descending == b.descending
}

/// The column that an expression is, with the column's own collation.
fn column_of(e: &Expr, slot: usize, table: &TableDef) -> Option<usize> {
    match e.node {
        Node::Column { source, column } if source == slot => {
            let ty = &table.columns[column].ty;
            (!e.ty.family.is_text() || e.ty.collation == ty.collation()).then_some(column)
        }
        _ => None,
    }
}

/// The columns that rows are sorted by, if they are all of one slot.
fn order_columns(order: &[OrderTerm], access: &TableAccess) -> Option<Vec<(usize, bool)>> {
    let column = |term: &OrderTerm| {
        column_of(&term.expr, access.slot, &access.table).map(|column| (column, term.descending))
    };
    order.iter().map(column).collect()
}

/// True if the rows come in this order already; turns the first table's walk round if needed.
pub(crate) fn gives_order(from: &mut Operator, order: &[OrderTerm]) -> bool {
    let given = match from.first_mut() {
        Operator::TableAccess(access) if !order.is_empty() => match order_columns(order, access) {
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
