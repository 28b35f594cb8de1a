//! Calls that need no more than the rows so far: no partition is buffered for them.

use crate::expression::aggregate::Accumulator;
use crate::expression::frame::Frame;
use crate::expression::window::{self, Function, WindowCall};
use crate::planner::windows::{WindowStep, Windows};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;
use syntax::ast::WindowFunction;

/// The calls of a step, at a row.
pub(super) struct Stream<'p> {
    calls: Vec<Running<'p>>,
    /// The row's number in its partition.
    row: u64,
}

/// A call, with what it keeps of the rows so far.
struct Running<'p> {
    call: &'p WindowCall,
    number: usize,
    /// So many terms tell its peers apart.
    peers: usize,
    /// The number of the first of the row's peers, and of the group of peers.
    rank: u64,
    dense_rank: u64,
    first: Datum<'static>,
    state: Option<Accumulator>,
}

impl<'p> Stream<'p> {
    pub(super) fn new(plan: &'p Windows, step: &'p WindowStep) -> Self {
        let running = |call: &crate::planner::windows::StepCall| {
            plan.calls.get(call.number).map(|of| Running {
                call: of,
                number: call.number,
                peers: call.peers,
                rank: 0,
                dense_rank: 0,
                first: Datum::Null,
                state: None,
            })
        };
        Self { calls: step.calls.iter().filter_map(running).collect(), row: 0 }
    }

    /// Computes the calls for the frame's row, which has so many of its first terms in common with
    /// the one before; none if it begins a partition.
    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame, common: Option<usize>) -> Result<()> {
        self.row = if common.is_some() { self.row + 1 } else { 1 };
        for running in &mut self.calls {
            let value = running.next(cx, frame, self.row, common)?;
            if let Some(place) = frame.windows.get_mut(running.number) {
                *place = window::as_result(value, &running.call.ty);
            }
        }
        Ok(())
    }
}

impl Running<'_> {
    fn next(
        &mut self,
        cx: &mut Context,
        frame: &Frame,
        row: u64,
        common: Option<usize>,
    ) -> Result<Datum<'static>> {
        if common.is_none_or(|common| common < self.peers) {
            self.dense_rank = if common.is_some() { self.dense_rank + 1 } else { 1 };
            self.rank = row;
        }
        Ok(match &self.call.function {
            Function::Native(WindowFunction::RowNumber, _) => Datum::UInt(row),
            Function::Native(WindowFunction::Rank, _) => Datum::UInt(self.rank),
            Function::Native(WindowFunction::DenseRank, _) => Datum::UInt(self.dense_rank),
            Function::Native(_, arguments) => {
                if common.is_none()
                    && let Some(argument) = arguments.first()
                {
                    self.first = argument.eval(cx, frame.row())?.into_owned();
                }
                self.first.clone()
            }
            Function::Aggregate(aggregate) => {
                if common.is_none() {
                    self.state = None;
                }
                let state = self.state.get_or_insert_with(|| Accumulator::new(aggregate));
                state.add(aggregate, cx, frame.row(), None)?;
                state.value(aggregate, cx)
            }
        })
    }
}
