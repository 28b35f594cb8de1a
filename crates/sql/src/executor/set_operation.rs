//! UNION, INTERSECT and EXCEPT.
//!
//! UNION gives its operands' rows one after the other. For the other two the right operand's rows
//! are counted by their keys, and each row of the left one looks for a partner. Where there are too
//! many keys, no further ones are counted: rows of both sides with other keys are put off, and meet
//! when all have been seen.

use std::collections::HashMap;

use super::distinct::{Distinct, key_of};
use super::query::{self, Each};
use crate::expression::Row;
use crate::planner::{Body, SetOperation, Side};
use crate::session::Context;
use crate::spill::put_off::PutOff;
use crate::spill::{Budget, KEY_OVERHEAD, Purpose};
use crate::status::Counter;
use datum::error::Result;
use datum::value::Datum;
use syntax::ast::SetOp;

/// After the key of a row that was put off: which side it is of. The right side comes first.
const RIGHT: u8 = 0;
const LEFT: u8 = 1;

/// Runs a set operation.
pub(crate) fn run(cx: &mut Context, set: &SetOperation, each: Each<'_>) -> Result<()> {
    let mut distinct = (!set.all).then(|| Distinct::new(cx, &set.types));
    let mut more = true;
    let out = &mut |cx: &mut Context, values: &mut [Datum<'_>]| {
        if let Some(distinct) = &mut distinct
            && !distinct.is_new(values)?
        {
            return Ok(true);
        }
        // A row goes out through as many calls as it came from.
        datum::stack::check()?;
        more = each(cx, values)?;
        Ok(more)
    };
    match set.op {
        SetOp::Union => union(cx, set, out)?,
        _ => match_rows(cx, set, out)?,
    }
    match distinct.filter(|_| more) {
        Some(distinct) => distinct.finish(cx, each),
        None => Ok(()),
    }
}

fn union(cx: &mut Context, set: &SetOperation, each: Each<'_>) -> Result<()> {
    let mut more = true;
    for operand in operands(set) {
        if more {
            side(cx, operand, &mut |cx, values| {
                more = each(cx, values)?;
                Ok(more)
            })?;
        }
    }
    Ok(())
}

/// The operands of a chain of UNIONs, which is one from the left in the tree: all at once, whose
/// recursion would take stack for each. Duplicates that an inner UNION would drop are dropped by
/// the outer one.
fn operands(set: &SetOperation) -> Vec<&Side> {
    let mut operands = vec![&set.right];
    let mut left = &set.left;
    while left.convert.is_none()
        && let Body::Set(inner) = &left.body
        && inner.op == SetOp::Union
        && (inner.all || !set.all)
    {
        operands.push(&inner.right);
        left = &inner.left;
    }
    operands.push(left);
    operands.reverse();
    operands
}

/// INTERSECT and EXCEPT.
fn match_rows(cx: &mut Context, set: &SetOperation, each: Each<'_>) -> Result<()> {
    let mut partners = Partners::new(cx, set);
    side(cx, &set.right, &mut |_, values| {
        partners.key.clear();
        key_of(values, &set.types, &mut partners.key)?;
        partners.count()?;
        Ok(true)
    })?;
    let mut more = true;
    side(cx, &set.left, &mut |cx, values| {
        partners.key.clear();
        key_of(values, &set.types, &mut partners.key)?;
        if let Some(count) = partners.counts.get_mut(&partners.key) {
            if partners.judge.lets_through(count) {
                more = each(cx, values)?;
            }
            return Ok(more);
        }
        match &mut partners.put_off {
            Some(put_off) => {
                partners.key.push(LEFT);
                put_off.push(&partners.key, values)?;
            }
            None if partners.judge.lets_through(&mut 0) => more = each(cx, values)?,
            None => {}
        }
        Ok(more)
    })?;
    if more { partners.finish(cx, each) } else { Ok(()) }
}

/// Decides about a left row by how many partners are left.
#[derive(Clone, Copy)]
struct Judge {
    intersect: bool,
    all: bool,
}

impl Judge {
    fn lets_through(self, partners: &mut u64) -> bool {
        let had = *partners > 0;
        if self.all {
            *partners = partners.saturating_sub(1);
        }
        had == self.intersect
    }
}

/// The right operand's rows.
struct Partners {
    judge: Judge,
    counts: HashMap<Vec<u8>, u64>,
    budget: Budget,
    put_off: Option<PutOff>,
    key: Vec<u8>,
}

impl Partners {
    fn new(cx: &Context, set: &SetOperation) -> Self {
        let judge = Judge { intersect: set.op == SetOp::Intersect, all: set.all };
        cx.count(Counter::CreatedTmpTables);
        let budget = cx.budget(Purpose::Table);
        Self { judge, counts: HashMap::new(), budget, put_off: None, key: Vec::new() }
    }

    /// Counts a right row, whose key was made.
    fn count(&mut self) -> Result<()> {
        if let Some(count) = self.counts.get_mut(&self.key) {
            *count += 1;
            return Ok(());
        }
        if let Some(put_off) = &mut self.put_off {
            self.key.push(RIGHT);
            return put_off.mark(&self.key);
        }
        self.counts.insert(self.key.clone(), 1);
        if !self.budget.charge(self.key.len() + KEY_OVERHEAD) {
            self.put_off = Some(PutOff::new(&self.budget));
        }
        Ok(())
    }

    /// Lets the rows that were put off meet.
    fn finish(mut self, cx: &mut Context, each: Each<'_>) -> Result<()> {
        let Some(put_off) = self.put_off.take() else { return Ok(()) };
        let judge = self.judge;
        drop(self);
        let (mut current, mut count) = (Vec::new(), 0);
        let rows = put_off.rows(|key, is_left| {
            let key = &key[..key.len().saturating_sub(1)];
            if current != key {
                current.clear();
                current.extend_from_slice(key);
                count = 0;
            }
            if is_left {
                return judge.lets_through(&mut count);
            }
            count += 1;
            false
        })?;
        rows.drain(|row| each(cx, row))
    }
}

/// Runs an operand; its values are brought to the result's types.
fn side(cx: &mut Context, side: &Side, each: Each<'_>) -> Result<()> {
    let Some(convert) = &side.convert else { return query::body(cx, &side.body, each) };
    query::body(cx, &side.body, &mut |cx, values| {
        let row = Row::Values(values);
        let mut converted = Vec::with_capacity(convert.len());
        for expr in convert {
            converted.push(expr.eval(cx, row)?);
        }
        each(cx, &mut converted)
    })
}
