//! `x IN (SELECT ..)` by keys: what MySQL calls unique_subquery, index_subquery, and IN made
//! EXISTS.
//!
//! Where an index leads from the operands to the subquery's rows that equal them, these are looked
//! up for each outer row, instead of all rows being read once and kept. Whoever locks what it reads
//! locks no more than what it looked up, then.
//!
//! 1. The equalities of operands and columns join the subquery's conditions. The operands are
//!    parameters, behind those that the subquery has ([`Subquery`]).
//! 2. The plan is taken if the operands are keys in it, and one look is cheap.
//! 3. Two other plans say whether the answer is unknown where no row equals: one for columns that
//!    are NULL, one for operands that are.
//!
//! [`Subquery`]: crate::expression::subquery::Subquery

use super::block::{self, Bound};
use super::semi_join::{Flat, equal};
use super::{Body, Limit, Operator, Query};
use crate::expression::subquery::{Candidate, new_id};
use crate::expression::{Expr, Node, Resolver};
use crate::output::OutputColumn;
use crate::planner::from::Slot;
use datum::error::Result;
use datum::types::Type;
use syntax::ast::Truth;

/// How IN finds the rows that equal its operands.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The rows that equal them.
    pub equal: Search,
    /// The rows that differ in no column but those of their own that are NULL, where any may be.
    pub(crate) with_null: Option<Search>,
    /// The same where operands are NULL, too, if any may be.
    pub(crate) of_null: Option<Search>,
}

/// Asks whether there is a row.
#[derive(Debug)]
pub(crate) struct Search {
    /// Tells what it gave from what other subqueries gave.
    pub id: u64,
    /// What it runs.
    pub plan: Query,
    /// It takes the subquery's own parameters, and not the operands.
    pub(crate) own_parameters: Option<usize>,
}

impl Lookup {
    /// All that it may run.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &Query> {
        let others = self.with_null.iter().chain(&self.of_null);
        std::iter::once(&self.equal).chain(others).map(|search| &search.plan)
    }
}

/// What a look is expected to cost at most, in rows read, if reading all rows is not much more.
const CHEAP_COST: f64 = 50.0;

/// How many looks have to be cheaper than reading all rows, if they are not cheap.
const OUTER_ROWS: f64 = 100.0;

/// The plans that look the rows of a subquery up by these candidates' operands, if an index leads
/// to them. `plan` reads all of them; `own` is how many parameters it has.
pub(crate) fn plan(
    resolver: &mut Resolver<'_>,
    plan: &Query,
    flat: &Flat,
    candidates: &[Candidate],
    own: usize,
) -> Result<Option<Lookup>> {
    let columns: Vec<Expr> = candidates.iter().map(|c| c.column_of(&flat.items)).collect();
    if !columns.iter().any(|column| may_be_key(column, &flat.slots)) {
        return Ok(None);
    }
    let operand = |number: usize| Expr { node: Node::Outer(own + number), ty: candidates[number].operand.ty };
    let equality = |number: usize| equal(operand(number), candidates[number].by, columns[number].clone());
    let numbers = 0..candidates.len();
    let by_key = bound(flat, numbers.clone().map(equality).collect());
    let by_key = block::plan(resolver, by_key)?;
    let (Body::Block(one), Body::Block(all)) = (&by_key.body, &plan.body) else { return Ok(None) };
    let cost = one.from.cost();
    if !reads_operands(&one.from, own) || cost > CHEAP_COST && cost * OUTER_ROWS > all.from.cost() {
        return Ok(None);
    }
    // A row without a column that is known to differ.
    let unknown = |number: usize, of_null: bool| {
        let is_null = |e: Expr| Expr { node: Node::Is(Box::new(e), Truth::Null, false), ty: Type::BOOL };
        let (left, right) = (operand(number), columns[number].clone());
        let mut alternatives = Vec::new();
        if candidates.len() > 1 {
            alternatives.push(equality(number));
        } else if of_null && left.ty.nullable {
            return None;
        }
        if right.ty.nullable {
            alternatives.push(is_null(right));
        }
        if of_null && left.ty.nullable {
            alternatives.push(is_null(left));
        }
        Some(match alternatives.len() {
            1 => alternatives.swap_remove(0),
            _ => Expr { node: Node::Or(alternatives), ty: Type::BOOL },
        })
    };
    let mut search = |of_null: bool| -> Result<Search> {
        let conditions = numbers.clone().filter_map(|number| unknown(number, of_null)).collect();
        let plan = block::plan(resolver, bound(flat, conditions))?;
        Ok(Search { id: new_id(), plan, own_parameters: (candidates.len() == 1).then_some(own) })
    };
    let has_null = columns.iter().any(|column| column.ty.nullable);
    let of_null = candidates.iter().any(|c| c.operand.ty.nullable);
    Ok(Some(Lookup {
        with_null: has_null.then(|| search(false)).transpose()?,
        of_null: of_null.then(|| search(true)).transpose()?,
        equal: Search { id: new_id(), plan: by_key, own_parameters: None },
    }))
}

/// A subquery's block with more conditions, whose rows are asked for one by one.
fn bound(flat: &Flat, conditions: Vec<Expr>) -> Bound {
    let mut list = flat.list.clone();
    list.conditions.extend(conditions);
    Bound {
        slots: flat.slots.clone(),
        list,
        columns: flat.items.iter().map(|e| OutputColumn::computed("", e.ty)).collect(),
        items: flat.items.clone(),
        group: None,
        having: None,
        windows: Vec::new(),
        order: Vec::new(),
        distinct: false,
        limit: Limit::default(),
        locking: flat.locking.clone(),
        straight: false,
        hints: Default::default(),
        repeated: Default::default(),
        counts_all: false,
    }
}

/// False if no index has to do with what an operand is compared with.
fn may_be_key(compared: &Expr, slots: &[Slot]) -> bool {
    let table = |source: usize| match slots.get(source) {
        Some(Slot::Table(table, ..)) => Some(table),
        _ => None,
    };
    match compared.node {
        Node::Column { source, column } => table(source).is_some_and(|table| {
            let has_it = |index: &crate::catalog::IndexDef| index.parts.iter().any(|p| p.column == column);
            table.indexes.iter().any(has_it)
        }),
        // There may be an index on the expression.
        _ => {
            let has_computed = |source| table(source).is_some_and(|table| table.computed.get().is_some());
            (0..slots.len()).filter(|source| compared.sources() >> source & 1 == 1).any(has_computed)
        }
    }
}

/// True if a table of a join is read by keys that operands are; `own` is how many parameters are
/// none.
fn reads_operands(operator: &Operator, own: usize) -> bool {
    let is_operand = |e: &Expr| e.contains(&mut |e| matches!(e.node, Node::Outer(number) if number >= own));
    let is_key = match operator {
        Operator::TableAccess(access) => access.path.expressions().any(is_operand),
        _ => false,
    };
    is_key || operator.inputs().any(|input| reads_operands(input, own))
}
