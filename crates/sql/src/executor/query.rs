//! Running a plan: a block's rows go to their groups, to the sorter, or straight out; set operations join bodies.
//!
//! (Q1) Memory is bounded: sorting, grouping, DISTINCT, derived tables and subqueries give error 1038 beyond
//!      [`MEMORY_MAX`] instead of growing on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::group::Groups;
use super::operators::Running;
use super::profile::{self, Step};
use super::sort::Sorter;
use crate::ast::SetOp;
use crate::error::{self, Result};
use crate::expression::frame::{Frame, MEMORY_MAX, RowSet};
use crate::expression::subquery::Kept;
use crate::expression::{Row, aggregate};
use crate::planner::{Block, Body, Query, SetOperation, Side};
use crate::session::Context;
use crate::types::Type;
use crate::value::Datum;

/// Takes a row; false if no more are wanted.
pub type Each<'e> = &'e mut dyn FnMut(&mut Context, &mut [Datum<'_>]) -> Result<bool>;

/// Runs a query; returns how many rows it gave.
pub fn run(cx: &mut Context, query: &Query, each: Each<'_>) -> Result<u64> {
    let (count, offset) = query.limit.eval(cx)?;
    let mut gate = Gate::new(count, offset, None);
    if gate.is_full() {
        return Ok(0);
    }
    if query.order.is_empty() {
        body(cx, &query.body, &mut |cx, values| gate.pass(cx, values, each))?;
        return Ok(gate.passed);
    }
    let mut sorter = Sorter::new(cx, &query.order, count.saturating_add(offset));
    body(cx, &query.body, &mut |cx, values| {
        sorter.push(cx, Row::Values(values), values)?;
        Ok(true)
    })?;
    sorter.drain(cx, |cx, values| gate.pass(cx, values, each))?;
    Ok(gate.passed)
}

/// All rows of a query, or the first ones.
pub fn rows(cx: &mut Context, query: &Query, limit: Option<u64>) -> Result<RowSet> {
    let mut rows = RowSet::new(query.columns.len());
    run(cx, query, &mut |_, values| {
        rows.push(values)?;
        Ok(limit.is_none_or(|limit| (rows.len() as u64) < limit))
    })?;
    Ok(rows)
}

/// The rows that a derived table gives for these parameters, kept from before or made now.
pub fn kept_rows(
    cx: &mut Context,
    id: u64,
    plan: &Query,
    parameters: Vec<Datum<'static>>,
    is_volatile: bool,
) -> Result<Arc<RowSet>> {
    if !is_volatile
        && let Some(kept) = cx.kept_results().get(&id)
        && kept.parameters == parameters
    {
        return Ok(kept.rows.clone());
    }
    let stacked = parameters.clone();
    let rows = Arc::new(cx.with_parameters(stacked, |cx| rows(cx, plan, None))?);
    if !is_volatile {
        cx.kept_results().insert(id, Kept { parameters, rows: rows.clone(), keys: None });
    }
    Ok(rows)
}

fn body(cx: &mut Context, body: &Body, each: Each<'_>) -> Result<()> {
    match body {
        Body::Block(block) => run_block(cx, block, each).map(|_| ()),
        Body::Nested(query) => run(cx, query, each).map(|_| ()),
        Body::Set(set) => set_operation(cx, set, each),
        Body::Values(rows) => {
            for row in rows {
                let mut values = Vec::with_capacity(row.len());
                for expr in row {
                    values.push(expr.eval(cx, Row::None)?);
                }
                if !each(cx, &mut values)? {
                    break;
                }
            }
            Ok(())
        }
    }
}

/// Counts rows off to LIMIT and OFFSET, and drops duplicates.
struct Gate<'p> {
    skip: u64,
    left: u64,
    passed: u64,
    distinct: Option<Distinct<'p>>,
}

impl<'p> Gate<'p> {
    fn new(count: u64, offset: u64, distinct: Option<Distinct<'p>>) -> Self {
        Self { skip: offset, left: count, passed: 0, distinct }
    }

    /// Lets a row out if it is its turn; false if no more are wanted.
    fn pass(&mut self, cx: &mut Context, values: &mut [Datum<'_>], each: Each<'_>) -> Result<bool> {
        if let Some(distinct) = &mut self.distinct
            && !distinct.is_new(values)?
        {
            return Ok(true);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        self.left = self.left.saturating_sub(1);
        self.passed += 1;
        Ok(each(cx, values)? && self.left > 0)
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// Rows that were seen, by their keys.
struct Distinct<'p> {
    types: &'p [Type],
    seen: HashSet<Vec<u8>>,
    memory: usize,
}

impl<'p> Distinct<'p> {
    fn new(types: &'p [Type]) -> Self {
        Self { types, seen: HashSet::new(), memory: 0 }
    }

    fn is_new(&mut self, values: &[Datum<'_>]) -> Result<bool> {
        let key = key_of(values, self.types)?;
        self.memory += key.len() + 64;
        if self.memory > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        Ok(self.seen.insert(key))
    }
}

fn key_of(values: &[Datum<'_>], types: &[Type]) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    for (value, ty) in values.iter().zip(types) {
        aggregate::sort_key(value, ty, &mut key)?;
    }
    Ok(key)
}

fn run_block(cx: &mut Context, block: &Block, each: Each<'_>) -> Result<u64> {
    let began = profile::now(cx);
    let passed = block_rows(cx, block, each)?;
    profile::note(cx, block, Step::Output, began, passed);
    Ok(passed)
}

fn block_rows(cx: &mut Context, block: &Block, each: Each<'_>) -> Result<u64> {
    let began = profile::now(cx);
    let (count, offset) = block.limit.eval(cx)?;
    let types: Vec<Type> =
        if block.distinct { block.items.iter().map(|e| e.ty).collect() } else { Vec::new() };
    let mut gate = Gate::new(count, offset, block.distinct.then(|| Distinct::new(&types)));
    if gate.is_full() {
        return Ok(0);
    }
    let kept = if block.distinct { u64::MAX } else { count.saturating_add(offset) };
    let mut out = Out {
        block,
        sorter: (!block.order.is_empty()).then(|| Sorter::new(cx, &block.order, kept)),
        gate: &mut gate,
        values: Vec::with_capacity(block.items.len()),
        each,
    };
    let mut frame = Frame::new(block.slots.iter().cloned());
    if open_gate(cx, block)? {
        out.rows(cx, &mut frame)?;
    } else if let Some(group) = &block.group {
        let groups = Groups::new(group, block.slots.len());
        groups.finish(cx, &mut frame, &mut |cx, frame| out.emit(cx, frame))?;
    }
    let Out { sorter, gate, each, .. } = out;
    if let Some(sorter) = sorter {
        let sorted = sorter.drain(cx, |cx, values| gate.pass(cx, values, each))?;
        profile::note(cx, block, Step::Sort, began, sorted);
    }
    Ok(gate.passed)
}

/// True if the conditions that read no source let any row through.
fn open_gate(cx: &mut Context, block: &Block) -> Result<bool> {
    for condition in &block.gate {
        if condition.truth(cx, Row::None)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where a block's rows go.
struct Out<'o, 'p> {
    block: &'p Block,
    sorter: Option<Sorter<'p>>,
    gate: &'o mut Gate<'p>,
    /// Memory for a row's values.
    values: Vec<Datum<'static>>,
    each: Each<'o>,
}

impl Out<'_, '_> {
    fn rows(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        let began = profile::now(cx);
        let mut from = Running::new(cx, &self.block.from);
        from.open(cx, frame)?;
        let Some(group) = &self.block.group else {
            while from.next(cx, frame)? {
                if !self.emit(cx, frame)? {
                    break;
                }
            }
            return Ok(());
        };
        let mut groups = Groups::new(group, self.block.slots.len());
        while from.next(cx, frame)? {
            groups.add(cx, frame)?;
        }
        let mut made = 0;
        let block = self.block;
        groups.finish(cx, frame, &mut |cx, frame| {
            made += 1;
            self.emit(cx, frame)
        })?;
        profile::note(cx, block, Step::Groups, began, made);
        Ok(())
    }

    /// A row's way out, or into the sorter; false if no more are wanted.
    fn emit(&mut self, cx: &mut Context, frame: &Frame) -> Result<bool> {
        let row = frame.row();
        if let Some(having) = &self.block.having
            && having.truth(cx, row)? != Some(true)
        {
            return Ok(true);
        }
        let mut values = recycled(std::mem::take(&mut self.values));
        for expr in &self.block.items {
            values.push(expr.eval(cx, row)?);
        }
        if let Some(sorter) = &mut self.sorter {
            sorter.push(cx, row, &values)?;
            self.values = recycled(values);
            return Ok(true);
        }
        let more = self.gate.pass(cx, &mut values, self.each)?;
        self.values = recycled(values);
        Ok(more)
    }
}

/// An empty vector in the memory of another one, for values that live otherwise.
pub(super) fn recycled<'b>(mut values: Vec<Datum<'_>>) -> Vec<Datum<'b>> {
    values.clear();
    values.into_iter().map(|_| Datum::Null).collect()
}

fn set_operation(cx: &mut Context, set: &SetOperation, each: Each<'_>) -> Result<()> {
    let mut distinct = (!set.all).then(|| Distinct::new(&set.types));
    if set.op == SetOp::Union {
        let mut more = true;
        for operand in [&set.left, &set.right] {
            if !more {
                break;
            }
            side(cx, operand, &mut |cx, values| {
                if let Some(distinct) = &mut distinct
                    && !distinct.is_new(values)?
                {
                    return Ok(true);
                }
                more = each(cx, values)?;
                Ok(more)
            })?;
        }
        return Ok(());
    }
    let mut others: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut memory = 0;
    side(cx, &set.right, &mut |_, values| {
        let key = key_of(values, &set.types)?;
        memory += key.len() + 64;
        if memory > MEMORY_MAX {
            return Err(error::OUT_OF_SORTMEMORY.plain());
        }
        *others.entry(key).or_default() += 1;
        Ok(true)
    })?;
    side(cx, &set.left, &mut |cx, values| {
        let key = key_of(values, &set.types)?;
        let partners = others.get_mut(&key);
        let had = partners.as_ref().is_some_and(|n| **n > 0);
        if set.all
            && let Some(partners) = partners
        {
            *partners = partners.saturating_sub(1);
        }
        if had != (set.op == SetOp::Intersect) {
            return Ok(true);
        }
        if let Some(distinct) = &mut distinct
            && !distinct.is_new(values)?
        {
            return Ok(true);
        }
        each(cx, values)
    })
}

/// Runs an operand; its values are brought to the result's types.
fn side(cx: &mut Context, side: &Side, each: Each<'_>) -> Result<()> {
    let Some(convert) = &side.convert else { return body(cx, &side.body, each) };
    body(cx, &side.body, &mut |cx, values| {
        let row = Row::Values(values);
        let mut converted = Vec::with_capacity(convert.len());
        for expr in convert {
            converted.push(expr.eval(cx, row)?);
        }
        each(cx, &mut converted)
    })
}
