//! How a block computes its window functions: in steps, each over rows that are sorted by partition
//! and order.
//!
//! (W1) Windows whose terms begin alike share a sort; those of them that partition alike share a
//!      step, which buffers a partition once for all of its calls.
//! (W2) Sorts are in the order in which their windows are first named, as in MySQL: the rows come
//!      out in the order of the last one.

use crate::expression::window::WindowCall;
use crate::expression::{Expr, OrderTerm};

/// The window functions of a block.
#[derive(Debug)]
pub(crate) struct Windows {
    /// All calls: [`crate::expression::Node::Window`] is a place among them.
    pub(crate) calls: Vec<WindowCall>,
    pub(crate) steps: Vec<WindowStep>,
}

/// Calls that are computed in one pass over the rows.
#[derive(Debug)]
pub(crate) struct WindowStep {
    /// What the rows are sorted by: the partition's terms first.
    pub(crate) terms: Vec<OrderTerm>,
    /// False if the rows come sorted from the step before, or in any order will do.
    pub(crate) sorts: bool,
    /// So many of the terms tell partitions apart.
    pub(crate) partition: usize,
    /// No call looks at rows after the current one: no partition is buffered.
    pub(crate) streams: bool,
    pub(crate) calls: Vec<StepCall>,
}

/// Which call, and its peers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepCall {
    /// The call's place in [`Windows::calls`].
    pub(crate) number: usize,
    /// So many of the step's terms tell its peers apart, those of the partition among them.
    pub(crate) peers: usize,
}

impl Windows {
    /// The steps of a block's calls; nothing without any.
    pub(crate) fn of(calls: Vec<WindowCall>) -> Option<Box<Windows>> {
        if calls.is_empty() {
            return None;
        }
        let mut sorts: Vec<Sort> = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            let ascending = |expr: &Expr| OrderTerm { expr: expr.clone(), descending: false };
            let partition = call.window.partition.iter().map(ascending);
            let terms: Vec<OrderTerm> = partition.chain(call.window.order.iter().cloned()).collect();
            let place = (call.window.partition.len(), StepCall { number, peers: terms.len() });
            match sorts.iter_mut().find(|sort| begin_alike(&sort.terms, &terms)) {
                Some(sort) => {
                    sort.calls.push(place);
                    if terms.len() > sort.terms.len() {
                        sort.terms = terms;
                    }
                }
                None => sorts.push(Sort { terms, calls: vec![place] }),
            }
        }
        let mut steps: Vec<WindowStep> = Vec::new();
        for Sort { terms, calls: places } in sorts {
            let first = steps.len();
            for (partition, call) in places {
                match steps.iter_mut().skip(first).find(|step| step.partition == partition) {
                    Some(step) => step.calls.push(call),
                    None => steps.push(WindowStep {
                        terms: terms.clone(),
                        sorts: steps.len() == first && !terms.is_empty(),
                        partition,
                        streams: false,
                        calls: vec![call],
                    }),
                }
            }
        }
        for step in &mut steps {
            let streams = |call: &StepCall| calls.get(call.number).is_some_and(WindowCall::streams);
            step.streams = step.calls.iter().all(streams);
        }
        Some(Box::new(Windows { calls, steps }))
    }

    /// The expressions that the calls read.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.calls.iter().flat_map(WindowCall::expressions)
    }
}

struct Sort {
    terms: Vec<OrderTerm>,
    calls: Vec<(usize, StepCall)>,
}

/// True if rows that are sorted by the longer list are sorted by both.
fn begin_alike(a: &[OrderTerm], b: &[OrderTerm]) -> bool {
    let is_same = |(a, b): (&OrderTerm, &OrderTerm)| {
        a.descending == b.descending
            && a.expr.ty.collation == b.expr.ty.collation
            && !a.expr.is_volatile()
            && a.expr.is_same(&b.expr)
    };
    a.is_empty() == b.is_empty() && a.iter().zip(b).all(is_same)
}
