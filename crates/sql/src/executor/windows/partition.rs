//! A partition, buffered: its rows, and what calls read of each of them.

use super::aggregates::Sliding;
use super::bounds::{Bounds, Moving};
use super::extreme::Extreme;
use super::{Out, SortKey};
use crate::expression::Expr;
use crate::expression::frame::{Frame, RowReader, RowSet};
use crate::expression::window::{self, Bound, Function, WindowCall};
use crate::planner::windows::{StepCall, WindowStep, Windows};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use syntax::ast::{AggregateFunction, WindowFunction};

/// Columns of a buffered row: the key, where its terms end, and the row.
const ROW_COLUMNS: usize = 3;

/// The values that calls read of a partition's rows. The first says how many terms a row has in
/// common with the one before.
pub(super) struct Values {
    rows: RowSet,
}

impl Values {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A value of a row. A reader is used for these values alone.
    pub(super) fn get<'v>(
        &'v self,
        row: usize,
        column: usize,
        reader: &'v mut RowReader,
    ) -> Result<&'v Datum<'static>> {
        const NOTHING: &Datum<'static> = &Datum::Null;
        Ok(self.rows.read(row, reader)?.get(column).unwrap_or(NOTHING))
    }
}

/// What a call reads of the values, each with a block of its own where they are in a file.
#[derive(Default)]
pub(super) struct Readers {
    peers: RowReader,
    pub(super) value: RowReader,
    pub(super) current: RowReader,
    pub(super) start: RowReader,
    pub(super) end: RowReader,
    pub(super) entering: RowReader,
    pub(super) leaving: RowReader,
}

/// So many calls of a step have readers of their own: blocks are as large as settings allow.
const READERS_MAX: usize = 16;

/// What a call looks at: the current row, and the values of all rows.
pub(super) struct Reading<'r> {
    pub(super) frame: &'r mut Frame,
    pub(super) values: &'r Values,
    pub(super) readers: &'r mut Readers,
}

/// The partition that is being read.
pub(super) struct Partition<'p> {
    calls: Vec<Call<'p>>,
    width: usize,
    rows: RowSet,
    values: Values,
    /// The next step goes by the rows' keys.
    hands_on_keys: bool,
    made: Vec<Datum<'static>>,
}

/// A call, and what of each row it reads.
struct Call<'p> {
    call: &'p WindowCall,
    number: usize,
    /// So many terms tell its peers apart.
    peers: usize,
    /// The argument: an expression and its column.
    argument: Option<(&'p Expr, usize)>,
    bounds: Bounds<'p>,
    /// Buckets, rows of an offset, or the number of a row; absent if none was meant.
    count: Option<usize>,
}

impl<'p> Partition<'p> {
    /// No row yet.
    ///
    /// # Errors
    /// 1210 and 3586 for numbers of rows that can't be.
    pub(super) fn new(
        cx: &mut Context,
        plan: &'p Windows,
        step: &'p WindowStep,
        hands_on_keys: bool,
    ) -> Result<Self> {
        let mut width = 1;
        let mut calls = Vec::with_capacity(step.calls.len());
        for &StepCall { number, peers } in &step.calls {
            if let Some(call) = plan.calls.get(number) {
                calls.push(Call::new(cx, call, number, peers, &mut width)?);
            }
        }
        let values = Values { rows: RowSet::new(cx, width) };
        let rows = RowSet::new(cx, ROW_COLUMNS);
        Ok(Self { calls, width, rows, values, hands_on_keys, made: Vec::new() })
    }

    /// Takes the frame's row in.
    pub(super) fn add(
        &mut self,
        cx: &mut Context,
        frame: &Frame,
        key: SortKey<'_>,
        row: &[u8],
        common: Option<usize>,
    ) -> Result<()> {
        let SortKey { bytes, ends } = if self.hands_on_keys { key } else { SortKey::default() };
        self.rows.push(&mut [Datum::borrowed(bytes), Datum::borrowed(ends), Datum::borrowed(row)])?;
        self.made.clear();
        self.made.push(Datum::UInt(common.unwrap_or(0) as u64));
        for call in &self.calls {
            for expr in call.argument.iter().map(|(expr, _)| *expr).chain(call.bounds.read()) {
                self.made.push(expr.eval(cx, frame.row())?.into_owned());
            }
        }
        self.values.rows.push(&mut self.made)
    }

    /// Hands the rows on with what the calls give, and forgets them; false if no more are wanted.
    pub(super) fn finish(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        slots: &[usize],
        out: Out<'_>,
    ) -> Result<bool> {
        if self.rows.is_empty() {
            return Ok(true);
        }
        let rows = std::mem::replace(&mut self.rows, RowSet::new(cx, ROW_COLUMNS));
        let next = Values { rows: RowSet::new(cx, self.width) };
        let values = std::mem::replace(&mut self.values, next);
        let mut states: Vec<CallState> = self.calls.iter().map(CallState::new).collect();
        let mut readers = Vec::new();
        readers.resize_with(self.calls.len().min(READERS_MAX), Readers::default);
        let mut reader = RowReader::default();
        for number in 0..rows.len() {
            frame.tick(cx)?;
            let [key, ends, row] = rows.read(number, &mut reader)? else { continue };
            let (Datum::Bytes(key), Datum::Bytes(ends), Datum::Bytes(row)) = (key, ends, row) else {
                continue;
            };
            frame.take_row(slots, row)?;
            for (place, (call, state)) in self.calls.iter().zip(&mut states).enumerate() {
                let Some(readers) = readers.get_mut(place % READERS_MAX) else { continue };
                let mut at = Reading { frame, values: &values, readers };
                let value = state.value(cx, &mut at, call, number)?;
                let value = window::as_result(value, &call.call.ty);
                if frame.windows.len() <= call.number {
                    frame.windows.resize(call.number + 1, Datum::Null);
                }
                if let Some(place) = frame.windows.get_mut(call.number) {
                    *place = value;
                }
            }
            if !out(cx, frame, SortKey { bytes: key, ends })? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'p> Call<'p> {
    fn new(
        cx: &mut Context,
        call: &'p WindowCall,
        number: usize,
        peers: usize,
        width: &mut usize,
    ) -> Result<Self> {
        use WindowFunction as F;
        let (argument, count) = match &call.function {
            Function::Aggregate(aggregate) => (aggregate.argument.as_ref(), None),
            Function::Native(F::Ntile, arguments) => (None, count(cx, call, arguments.first(), 1)?),
            Function::Native(F::Lead | F::Lag, arguments) => {
                let rows = match arguments.get(1) {
                    Some(rows) => window::count(cx, call.name(), 0, rows)?,
                    None => Some(1),
                };
                (arguments.first(), rows)
            }
            Function::Native(F::NthValue, arguments) => {
                (arguments.first(), count(cx, call, arguments.get(1), 1)?)
            }
            Function::Native(_, arguments) => (arguments.first(), None),
        };
        let argument = argument.map(|expr| (expr, *width));
        *width += usize::from(argument.is_some());
        let bounds = Bounds::new(cx, call, width)?;
        Ok(Self { call, number, peers, argument, bounds, count })
    }
}

fn count(cx: &mut Context, call: &WindowCall, expr: Option<&Expr>, least: u64) -> Result<Option<usize>> {
    expr.map_or(Ok(None), |expr| window::count(cx, call.name(), least, expr))
}

/// The rows that are sorted alike.
#[derive(Default)]
pub(super) struct Peers {
    pub(super) first: usize,
    /// The row after the last one.
    pub(super) end: usize,
    /// How many groups of them there were so far.
    groups: u64,
}

impl Peers {
    /// Goes on to a row.
    fn advance(&mut self, cx: &Context, at: &mut Reading<'_>, row: usize, terms: usize) -> Result<()> {
        let Reading { frame, values, readers } = at;
        if row < self.end {
            return Ok(());
        }
        self.first = row;
        self.end = row + 1;
        self.groups += 1;
        while self.end < values.len() {
            frame.tick(cx)?;
            match values.get(self.end, 0, &mut readers.peers)? {
                Datum::UInt(common) if *common >= terms as u64 => self.end += 1,
                _ => break,
            }
        }
        Ok(())
    }
}

/// What a call keeps while it goes through a partition.
struct CallState {
    peers: Peers,
    moving: Moving,
    of_frame: OfFrame,
}

enum OfFrame {
    None,
    Sliding(Box<Sliding>),
    Extreme(Box<Extreme>),
}

impl CallState {
    fn new(call: &Call<'_>) -> Self {
        use AggregateFunction as F;
        let of_frame = match &call.call.function {
            Function::Native(..) => OfFrame::None,
            Function::Aggregate(aggregate)
                if matches!(aggregate.function, F::Min | F::Max)
                    && !matches!(call.call.window.frame.start, Bound::First) =>
            {
                OfFrame::Extreme(Box::default())
            }
            Function::Aggregate(aggregate) => OfFrame::Sliding(Box::new(Sliding::new(aggregate))),
        };
        Self { peers: Peers::default(), moving: Moving::default(), of_frame }
    }

    /// What the call gives for a row, which the frame holds.
    fn value(
        &mut self,
        cx: &mut Context,
        at: &mut Reading<'_>,
        call: &Call<'_>,
        row: usize,
    ) -> Result<Datum<'static>> {
        use WindowFunction as F;
        self.peers.advance(cx, at, row, call.peers)?;
        let rows = at.values.len();
        let (function, arguments) = match &call.call.function {
            Function::Native(function, arguments) => (*function, arguments),
            Function::Aggregate(aggregate) => {
                let range = self.moving.at(cx, at, &call.bounds, row, &self.peers)?;
                let column = call.argument.map(|(_, column)| column);
                return match &mut self.of_frame {
                    OfFrame::Extreme(extreme) => extreme.value(cx, at, aggregate, range, column),
                    OfFrame::Sliding(sliding) => sliding.value(cx, at, aggregate, range, column),
                    OfFrame::None => Ok(Datum::Null),
                };
            }
        };
        let chosen = match function {
            F::RowNumber => return Ok(Datum::UInt(row as u64 + 1)),
            F::Rank => return Ok(Datum::UInt(self.peers.first as u64 + 1)),
            F::DenseRank => return Ok(Datum::UInt(self.peers.groups)),
            F::PercentRank if rows < 2 => return Ok(Datum::Double(0.0)),
            F::PercentRank => return Ok(Datum::Double(self.peers.first as f64 / (rows - 1) as f64)),
            F::CumeDist => return Ok(Datum::Double(self.peers.end as f64 / rows as f64)),
            F::Ntile => return Ok(Datum::UInt(bucket(row, rows, call.count.unwrap_or(1)))),
            F::Lead => call.count.and_then(|offset| row.checked_add(offset)).filter(|row| *row < rows),
            F::Lag => call.count.and_then(|offset| row.checked_sub(offset)),
            F::FirstValue | F::LastValue | F::NthValue => {
                let range = self.moving.at(cx, at, &call.bounds, row, &self.peers)?;
                let number = match function {
                    F::FirstValue => Some(range.start),
                    F::LastValue => range.end.checked_sub(1),
                    _ => call.count.and_then(|n| range.start.checked_add(n.checked_sub(1)?)),
                };
                number.filter(|number| range.contains(number))
            }
        };
        match (chosen, call.argument) {
            (Some(chosen), Some((_, column))) => {
                at.values.get(chosen, column, &mut at.readers.value).cloned()
            }
            _ => match (function, arguments.get(2)) {
                (F::Lead | F::Lag, Some(default)) => Ok(default.eval(cx, at.frame.row())?.into_owned()),
                _ => Ok(Datum::Null),
            },
        }
    }
}

/// NTILE: the first buckets have one row more where the rows can't be divided evenly.
fn bucket(row: usize, rows: usize, buckets: usize) -> u64 {
    let (Some(size), Some(larger)) = (rows.checked_div(buckets), rows.checked_rem(buckets)) else { return 0 };
    let in_larger = larger * (size + 1);
    let number = match row < in_larger {
        true => row / (size + 1),
        // There are smaller ones only if they have rows.
        false => larger + (row - in_larger).checked_div(size).unwrap_or(0),
    };
    number as u64 + 1
}
