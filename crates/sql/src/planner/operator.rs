//! What plans describe themselves: the expressions in them, what they cost and give, which slots
//! they read.

use super::{Block, Body, Maker, Operator, Query, TableAccess, access, join};
use crate::expression::Expr;
use crate::output::OutputColumn;

impl Operator {
    /// The conditions on what it gives.
    pub(crate) fn filter(&self) -> &[Expr] {
        match self {
            Operator::One(filter) => filter,
            Operator::TableAccess(access) => &access.filter,
            Operator::Rows(rows) => &rows.filter,
            Operator::Loop(join) => &join.filter,
            Operator::Hash(join) => &join.filter,
        }
    }

    /// The conditions on what it gives, to be changed.
    pub(crate) fn filter_mut(&mut self) -> &mut Vec<Expr> {
        match self {
            Operator::One(filter) => filter,
            Operator::TableAccess(access) => &mut access.filter,
            Operator::Rows(rows) => &mut rows.filter,
            Operator::Loop(join) => &mut join.filter,
            Operator::Hash(join) => &mut join.filter,
        }
    }

    /// The operators whose rows it joins, the outer one first.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Operator> {
        let pair = match self {
            Operator::Loop(join) => Some([&join.outer, &join.inner]),
            Operator::Hash(join) => Some([&join.outer, &join.inner]),
            Operator::One(_) | Operator::TableAccess(_) | Operator::Rows(_) => None,
        };
        pair.into_iter().flatten()
    }

    /// Calls `f` with each expression in it.
    pub(crate) fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.filter().iter().for_each(&mut *f);
        self.inputs().for_each(|input| input.each_expr(f));
        match self {
            Operator::One(_) | Operator::TableAccess(_) | Operator::Loop(_) => {}
            Operator::Rows(rows) => match &rows.maker {
                Maker::Derived(derived) => derived.plan.each_expr(f),
                Maker::Json(source) => f(&source.document),
                Maker::Provider(_) => rows.keys.iter().flatten().for_each(f),
            },
            Operator::Hash(join) => {
                join.on.iter().for_each(&mut *f);
                join.keys.iter().for_each(|(a, b, _)| {
                    f(a);
                    f(b);
                });
            }
        }
    }

    /// The operator that gives the first rows of a chain of joins.
    pub(crate) fn first_mut(&mut self) -> &mut Operator {
        match self {
            Operator::Loop(join) => join.outer.first_mut(),
            Operator::Hash(join) => join.outer.first_mut(),
            other => other,
        }
    }

    /// The joins of a chain keep the order of its first rows.
    pub(crate) fn keep_order(&mut self) {
        match self {
            Operator::Loop(join) => join.outer.keep_order(),
            Operator::Hash(join) => {
                join.ordered = true;
                join.outer.keep_order();
            }
            _ => {}
        }
    }

    /// Appends the slots that it fills.
    pub(crate) fn slots(&self, out: &mut Vec<usize>) {
        match self {
            Operator::TableAccess(access) => out.push(access.slot),
            Operator::Rows(rows) => out.push(rows.slot),
            Operator::One(_) | Operator::Loop(_) | Operator::Hash(_) => {}
        }
        self.inputs().for_each(|input| input.slots(out));
    }

    /// What running it once is expected to cost, in rows read.
    pub(crate) fn cost(&self) -> f64 {
        match self {
            Operator::One(_) => 0.0,
            Operator::TableAccess(access) => access.cost,
            Operator::Rows(rows) => rows.rows,
            Operator::Loop(join) => join.outer.cost() + join.outer.rows() * join.inner.cost(),
            Operator::Hash(join) => {
                let rows = join.outer.rows() + join.inner.rows();
                join.outer.cost() + join.inner.cost() + rows * join::HASH_ROW_COST
            }
        }
    }

    /// Rows that are expected.
    pub(crate) fn rows(&self) -> f64 {
        match self {
            Operator::One(_) => 1.0,
            Operator::TableAccess(access) => access.rows * access.accepted,
            Operator::Rows(rows) => rows.rows,
            Operator::Loop(join) => join.rows,
            Operator::Hash(join) => join.rows,
        }
    }
}

impl TableAccess {
    /// For each condition whether the path's keys see to it that it holds, should all of them turn
    /// out to be integers in columns of integers ([`access::Candidate::is_implied`]).
    pub(crate) fn implied_by_keys(&self) -> &[bool] {
        self.implied_by_keys.get_or_init(|| {
            let candidate = self.candidate();
            self.filter.iter().map(|e| candidate.is_implied(&self.path, e)).collect()
        })
    }

    /// The table as its path was chosen, with all others read before.
    fn candidate(&self) -> access::Candidate<'_> {
        access::Candidate {
            table: &self.table,
            slot: self.slot,
            available: !(1 << self.slot),
            hints: &[],
            scope: syntax::ast::IndexHintScope::Join,
            forced: false,
            read: None,
        }
    }

    /// True if the path's keys see to all conditions.
    pub(crate) fn is_narrowed_by_keys_only(&self) -> bool {
        let candidate = self.candidate();
        self.filter.iter().all(|e| candidate.is_key_of(&self.path, e))
    }
}

impl Maker {
    /// The columns of the rows.
    pub(crate) fn columns(&self) -> Vec<OutputColumn> {
        match self {
            Maker::Derived(derived) => derived.plan.columns.clone(),
            Maker::Provider(provider) => provider.columns(),
            Maker::Json(source) => source.columns.clone(),
        }
    }

    /// The slots that it reads, one bit each.
    pub(crate) fn sources(&self) -> u64 {
        match self {
            Maker::Derived(derived) => derived.parameters.iter().fold(0, |all, p| all | p.sources()),
            Maker::Provider(_) => 0,
            Maker::Json(source) => source.document.sources(),
        }
    }
}

impl Query {
    /// A query of a body's rows, in whatever order they come.
    pub(crate) fn new(body: Body, columns: Vec<OutputColumn>) -> Self {
        let (order, limit, described) = Default::default();
        Self { body, columns, described, order, limit, counts_all: false }
    }

    /// SQL_CALC_FOUND_ROWS: has rows be counted beyond the outermost LIMIT, or not.
    pub(crate) fn count_all(&mut self, on: bool) {
        self.counts_all = on;
        if let Body::Block(block) = &mut self.body {
            block.counts_all = on;
        }
    }

    /// Calls `f` with each expression in it.
    pub(crate) fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.order.iter().for_each(|term| f(&term.expr));
        self.body.each_expr(f);
    }

    /// True if running it again may give something else, though its parameters are the same.
    pub(crate) fn is_volatile(&self) -> bool {
        let mut found = false;
        self.each_expr(&mut |e| {
            found |= e.is_volatile()
                || e.contains(&mut |e| matches!(e.node, crate::expression::Node::UserVariable(_)));
        });
        found
    }
}

impl Body {
    fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Body::Block(block) => block.each_expr(f),
            Body::Values(rows) => rows.iter().flatten().for_each(f),
            Body::Set(set) => {
                set.left.body.each_expr(f);
                set.right.body.each_expr(f);
            }
            Body::Nested(query) => query.each_expr(f),
        }
    }
}

impl Block {
    fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.from.each_expr(f);
        let keys = self.group.iter().flat_map(|g| &g.keys);
        let arguments = self.group.iter().flat_map(|g| &g.aggregates).flat_map(|a| a.expressions());
        let windows = self.windows.iter().flat_map(|windows| windows.expressions());
        let order = self.order.iter().map(|term| &term.expr);
        let reused = self.reused.iter().flat_map(|r| r.of_rows.iter().chain(&r.of_output)).map(|v| &v.expr);
        self.constant_filter
            .iter()
            .chain(&self.items)
            .chain(keys)
            .chain(arguments)
            .chain(&self.having)
            .chain(windows)
            .chain(order)
            .chain(reused)
            .for_each(f);
    }
}
