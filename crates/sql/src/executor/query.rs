//! Running a plan: a block's rows go to their groups, to the sorter, or straight out; set
//! operations join bodies.
//!
//! (Q1) Memory is bounded: what keeps rows goes on in temporary files beyond its limit
//!      ([`crate::spill`]).

use std::sync::Arc;

use smallvec::SmallVec;

use super::distinct::Distinct;
use super::group::Groups;
use super::operators::Running;
use super::out_of_range;
use super::profile::{self, PlanStage};
use super::set_operation;
use super::sort::Sorter;
use super::windows::WindowRows;
use crate::expression::Row;
use crate::expression::frame::{Frame, RowSet};
use crate::expression::subquery::SubqueryResult;
use crate::planner::reuse::Value;
use crate::planner::{Block, Body, Duplicates, Operator, Query};
use crate::session::Context;
use crate::status::Counter;
use datum::error::Result;
use datum::types::Type;
use datum::value::Datum;

/// Takes a row; false if no more are wanted.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&mut Context, &mut [Datum<'_>]) -> Result<bool>;

/// Runs a query; returns how many rows it gave.
///
/// How many there are for FOUND_ROWS() is [`Context::rows_found`] then: those that it gave and
/// those that OFFSET left out, and under SQL_CALC_FOUND_ROWS those that LIMIT left out, too.
pub(crate) fn run(cx: &mut Context, query: &Query, each: Each<'_>) -> Result<u64> {
    datum::stack::check()?;
    if let Body::Block(block) = &query.body {
        return run_block(cx, block, each);
    }
    let (count, offset) = query.limit.eval(cx)?;
    let mut limit_filter = LimitFilter::new(count, offset, None).counting(query.counts_all);
    if limit_filter.is_full() {
        cx.statement.rows_found = 0;
        return Ok(0);
    }
    if query.order.is_empty() {
        body(cx, &query.body, &mut |cx, values| limit_filter.pass(cx, values, each))?;
    } else {
        let wanted = if query.counts_all { u64::MAX } else { count.saturating_add(offset) };
        let mut sorter = Sorter::new(cx, &query.order, wanted);
        body(cx, &query.body, &mut |cx, values| {
            sorter.push(cx, Row::Values(values), values)?;
            Ok(true)
        })?;
        sorter.drain(cx, |cx, values| limit_filter.pass(cx, values, each))?;
    }
    cx.statement.rows_found = limit_filter.found;
    Ok(limit_filter.passed)
}

/// All rows of a query, or the first ones.
pub(crate) fn rows(cx: &mut Context, query: &Query, limit: Option<u64>) -> Result<RowSet> {
    let mut rows = RowSet::new(cx, query.columns.len());
    run(cx, query, &mut |_, values| {
        rows.push(values)?;
        Ok(limit.is_none_or(|limit| (rows.len() as u64) < limit))
    })?;
    Ok(rows)
}

/// The rows of a derived table for these parameters, cached or made now.
pub(crate) fn derived_rows(
    cx: &mut Context,
    id: u64,
    plan: &Query,
    parameters: Vec<Datum<'static>>,
    is_volatile: bool,
) -> Result<Arc<RowSet>> {
    let is_cached = !is_volatile || parameters.is_empty();
    if is_cached
        && let Some(cached) = cx.statement.subquery_results().get(&id)
        && cached.parameters == parameters
    {
        return Ok(cached.rows.clone());
    }
    cx.count(Counter::CreatedTmpTables);
    let stacked = parameters.clone();
    let rows = Arc::new(cx.with_parameters(stacked, |cx| rows(cx, plan, None))?);
    if is_cached {
        cx.statement
            .subquery_results()
            .insert(id, SubqueryResult { parameters, rows: rows.clone(), ..SubqueryResult::default() });
    }
    Ok(rows)
}

/// Calls `each` with the rows of a query's body, until it says false.
pub(crate) fn body(cx: &mut Context, body: &Body, each: Each<'_>) -> Result<()> {
    datum::stack::check()?;
    match body {
        Body::Block(block) => run_block(cx, block, each).map(|_| ()),
        // A row goes out through as many calls as it came from.
        Body::Nested(query) => run(cx, query, &mut |cx, values| {
            datum::stack::check()?;
            each(cx, values)
        })
        .map(|_| ()),
        Body::Set(set) => set_operation::run(cx, set, each),
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
struct LimitFilter<'p> {
    skip: u64,
    left: u64,
    passed: u64,
    /// Rows that it let out, that OFFSET left out, and that LIMIT left out if `counts_all`.
    found: u64,
    counts_all: bool,
    distinct: Option<Distinct<'p>>,
    stopped: bool,
}

impl<'p> LimitFilter<'p> {
    fn new(count: u64, offset: u64, distinct: Option<Distinct<'p>>) -> Self {
        Self { skip: offset, left: count, passed: 0, found: 0, counts_all: false, distinct, stopped: false }
    }

    /// The same, which counts the rows that LIMIT leaves out.
    fn counting(self, counts_all: bool) -> Self {
        Self { counts_all, ..self }
    }

    /// Lets a row out if it is its turn; false if no more are wanted.
    fn pass(&mut self, cx: &mut Context, values: &mut [Datum<'_>], each: Each<'_>) -> Result<bool> {
        if let Some(distinct) = &mut self.distinct
            && !distinct.is_new(values)?
        {
            return Ok(true);
        }
        self.count(cx, values, each)
    }

    fn count(&mut self, cx: &mut Context, values: &mut [Datum<'_>], each: Each<'_>) -> Result<bool> {
        self.found += 1;
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        if self.left == 0 {
            return Ok(true); // counted, and nothing else
        }
        self.left -= 1;
        self.passed += 1;
        self.stopped = !each(cx, values)? || self.left == 0 && !self.counts_all;
        Ok(!self.stopped)
    }

    /// Lets the rows out that had to wait for all others.
    fn finish(mut self, cx: &mut Context, each: Each<'_>) -> Result<u64> {
        if let Some(distinct) = self.distinct.take()
            && !self.stopped
        {
            distinct.finish(cx, |cx, values| self.count(cx, values, each))?;
        }
        cx.statement.rows_found = self.found;
        Ok(self.passed)
    }

    /// True if the next row is counted, and not wanted.
    fn is_counting_only(&self) -> bool {
        self.skip > 0 || self.left == 0
    }

    fn is_full(&self) -> bool {
        self.left == 0 && !self.counts_all
    }
}

fn run_block(cx: &mut Context, block: &Block, each: Each<'_>) -> Result<u64> {
    let began = profile::now(cx);
    let passed = block_rows(cx, block, each).map_err(|e| out_of_range::in_block(cx, e, block))?;
    profile::note(cx, block, PlanStage::Output, began, passed);
    Ok(passed)
}

fn block_rows(cx: &mut Context, block: &Block, each: Each<'_>) -> Result<u64> {
    let began = profile::now(cx);
    let (count, offset) = block.limit.eval(cx)?;
    let is_asked = block.distinct && block.duplicates != Duplicates::Sorted;
    let types: Vec<Type> = if is_asked { block.items.iter().map(|e| e.ty).collect() } else { Vec::new() };
    let distinct = match block.duplicates {
        _ if !is_asked => None,
        Duplicates::Adjacent => Some(Distinct::adjacent(cx, &types)),
        Duplicates::Anywhere | Duplicates::Sorted => Some(Distinct::new(cx, &types)),
    };
    let limit_filter = LimitFilter::new(count, offset, distinct).counting(block.counts_all);
    if limit_filter.is_full() {
        cx.statement.rows_found = 0;
        return Ok(0);
    }
    let mut out = BlockOutput {
        block,
        windows: block.windows.as_ref().map(|windows| WindowRows::new(cx, windows, block.slots.len())),
        sorter: (!block.order.is_empty()).then(|| sorter(cx, block, count.saturating_add(offset))),
        limit_filter,
        values: Vec::new(),
        each,
    };
    for derived in &block.made_first {
        derived_rows(cx, derived.id, &derived.plan, Vec::new(), derived.is_volatile)?;
    }
    let mut frame = cx.scratch.frames.get(block.slots.iter());
    if passes_constant_filter(cx, block)? {
        out.rows(cx, &mut frame)?;
    } else if let Some(group) = &block.group {
        let groups = Groups::new(cx, group, block.slots.len());
        groups.finish(cx, &mut frame, &mut |cx, frame| out.emit(cx, frame))?;
    }
    if let Some(windows) = out.windows.take() {
        let given = windows.finish(cx, &mut frame, &mut |cx, frame| out.output(cx, frame))?;
        profile::note(cx, block, PlanStage::Windows, began, given);
    }
    if let Some(sorter) = out.sorter.take() {
        let sorted = match block.late_items {
            true => sorter.drain(cx, |cx, row| out.late(cx, &mut frame, row))?,
            false => sorter.drain(cx, |cx, values| out.limit_filter.pass(cx, values, out.each))?,
        };
        profile::note(cx, block, PlanStage::Sort, began, sorted);
    }
    cx.scratch.frames.put(frame);
    let BlockOutput { limit_filter, each, .. } = out;
    limit_filter.finish(cx, each)
}

/// The sorter of a block that so many rows are wanted of.
fn sorter<'p>(cx: &mut Context, block: &'p Block, wanted: u64) -> Sorter<'p> {
    let takes_all = block.distinct || block.counts_all;
    let sorter = Sorter::new(cx, &block.order, if takes_all { u64::MAX } else { wanted });
    let sorter = if block.late_items { sorter } else { sorter.of_items(&block.items) };
    if block.distinct && block.duplicates == Duplicates::Sorted { sorter.unique() } else { sorter }
}

/// True if the conditions that read no source let any row through.
fn passes_constant_filter(cx: &mut Context, block: &Block) -> Result<bool> {
    for condition in &block.constant_filter {
        if condition.truth(cx, Row::None)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts how a block reads its sources: what is read as a whole, or by ranges; what is looked up
/// by keys is not counted.
fn count_sources(cx: &Context, operator: &Operator, is_first: &mut bool) {
    let (is_whole, is_range) = match operator {
        Operator::Loop(join) => {
            count_sources(cx, &join.outer, is_first);
            return count_sources(cx, &join.inner, is_first);
        }
        Operator::Hash(join) => {
            count_sources(cx, &join.outer, is_first);
            return count_sources(cx, &join.inner, is_first);
        }
        Operator::One(_) => return,
        Operator::TableAccess(access) => (access.path.is_full(), access.path.is_range()),
        Operator::Rows(_) => (true, false),
    };
    let is_first = std::mem::take(is_first);
    match (is_whole, is_range, is_first) {
        (true, _, true) => cx.count(Counter::SelectScan),
        (true, _, false) => cx.count(Counter::SelectFullJoin),
        (_, true, true) => cx.count(Counter::SelectRange),
        (_, true, false) => cx.count(Counter::SelectFullRangeJoin),
        (false, false, _) => {}
    }
}

/// Where a block's rows go.
struct BlockOutput<'o, 'p> {
    block: &'p Block,
    windows: Option<WindowRows<'p>>,
    sorter: Option<Sorter<'p>>,
    limit_filter: LimitFilter<'p>,
    /// Memory for a row's values.
    values: Vec<Datum<'static>>,
    each: Each<'o>,
}

impl BlockOutput<'_, '_> {
    fn rows(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        let began = profile::now(cx);
        count_sources(cx, &self.block.from, &mut true);
        let mut from = Running::new(cx, &self.block.from);
        from.open(cx, frame)?;
        let of_rows = self.block.reused.as_ref().filter(|reused| !reused.of_rows.is_empty());
        let Some(group) = &self.block.group else {
            while from.next(cx, frame)? {
                if !self.emit(cx, frame)? {
                    break;
                }
            }
            from.close(cx);
            return Ok(());
        };
        let block = self.block;
        let mut groups = Groups::new(cx, group, block.slots.len());
        let (mut made, mut more) = (0, true);
        let mut each = |cx: &mut Context, frame: &mut Frame| {
            made += 1;
            self.emit(cx, frame)
        };
        while more && from.next(cx, frame)? {
            if let Some(reused) = of_rows {
                compute(cx, frame, reused.slot, &reused.of_rows)?;
            }
            more = groups.add(cx, frame, &mut each)?;
            if block.first_only {
                break;
            }
        }
        from.close(cx);
        if more {
            groups.finish(cx, frame, &mut each)?;
        }
        profile::note(cx, block, PlanStage::Groups, began, made);
        Ok(())
    }

    /// A row's way to the window functions, or out; false if no more are wanted.
    fn emit(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        if let Some(having) = &self.block.having
            && having.truth(cx, frame.row())? != Some(true)
        {
            return Ok(true);
        }
        match &mut self.windows {
            Some(windows) => windows.add(cx, frame).map(|()| true),
            None => self.output(cx, frame),
        }
    }

    /// A row's way out, or into the sorter; false if no more are wanted.
    fn output(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        if let Some(reused) = &self.block.reused
            && !reused.of_output.is_empty()
        {
            compute(cx, frame, reused.slot + 1, &reused.of_output)?;
        }
        if self.sorter.is_none()
            && self.limit_filter.distinct.is_none()
            && self.limit_filter.is_counting_only()
        {
            return self.limit_filter.count(cx, &mut [], self.each);
        }
        if self.block.late_items
            && let Some(sorter) = &mut self.sorter
        {
            let mut row = Vec::new();
            let slots: SmallVec<[usize; 8]> = (0..self.block.slots.len()).collect();
            frame.put(&slots, &mut row);
            return sorter.push(cx, frame.row(), &[Datum::owned(row)]).map(|()| true);
        }
        self.give(cx, frame)
    }

    /// A row that comes out of the sorter as the frame that it went in as.
    fn late(&mut self, cx: &mut Context, frame: &mut Frame, row: &[Datum<'_>]) -> Result<bool> {
        if self.limit_filter.is_counting_only() {
            return self.limit_filter.count(cx, &mut [], self.each);
        }
        let slots: SmallVec<[usize; 8]> = (0..self.block.slots.len()).collect();
        if let Some(Datum::Bytes(row)) = row.first() {
            frame.take(&slots, row)?;
        }
        self.give(cx, frame)
    }

    /// Computes the select list, and puts the row on its way.
    fn give(&mut self, cx: &mut Context, frame: &Frame) -> Result<bool> {
        let row = frame.row();
        let items = &self.block.items;
        if items.len() <= FEW {
            let mut few: [Datum<'_>; FEW] = Default::default();
            for (value, expr) in few.iter_mut().zip(items) {
                *value = expr.eval(cx, row)?;
            }
            return self.put(cx, row, &mut few[..items.len()]);
        }
        let mut values: Vec<Datum<'_>> = std::mem::take(&mut self.values);
        values.reserve_exact(items.len());
        for expr in items {
            values.push(expr.eval(cx, row)?);
        }
        let more = self.put(cx, row, &mut values)?;
        self.values = recycled(values);
        Ok(more)
    }

    fn put(&mut self, cx: &mut Context, row: Row<'_>, values: &mut [Datum<'_>]) -> Result<bool> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(cx, row, values).map(|()| true),
            None => self.limit_filter.pass(cx, values, self.each),
        }
    }
}

/// Computes values for the row, and puts them into a slot.
fn compute(cx: &mut Context, frame: &mut Frame, slot: usize, values: &[Value]) -> Result<()> {
    let mut computed = Vec::with_capacity(values.len());
    for value in values {
        computed.push(value.expr.eval(cx, frame.row())?.into_owned());
    }
    frame.set_computed(slot, computed);
    Ok(())
}

/// Rows of so many values have them on the stack.
pub(super) const FEW: usize = 4;

/// An empty vector in the memory of another one, for values that live otherwise.
pub(super) fn recycled<'b>(mut values: Vec<Datum<'_>>) -> Vec<Datum<'b>> {
    values.clear();
    values.into_iter().map(|_| Datum::Null).collect()
}
