//! An operator whose rows are counted and timed, for EXPLAIN ANALYZE.

use std::time::Duration;

use super::Running;
use crate::executor::profile::{self, PlanStage};
use crate::expression::frame::Frame;
use crate::planner::Operator;
use crate::session::Context;
use datum::error::Result;

/// An operator that runs and is measured.
pub(crate) struct Measured<'p> {
    plan: &'p Operator,
    inner: Running<'p>,
    /// Time spent in it since it was opened.
    spent: Duration,
    /// Its first row, or that there is none, was measured since it was opened.
    answered: bool,
}

impl<'p> Measured<'p> {
    pub(super) fn new(plan: &'p Operator, inner: Running<'p>) -> Self {
        Self { plan, inner, spent: Duration::ZERO, answered: false }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        let began = profile::now(cx).unwrap_or_default();
        let outcome = self.inner.open(cx, frame);
        self.spent = profile::now(cx).unwrap_or_default().saturating_sub(began);
        self.answered = false;
        for step in [PlanStage::Source, PlanStage::Output] {
            if let Some(profile) = &mut cx.statement.profile {
                let actual = profile.of_mut(self.plan, step);
                actual.loops += 1;
                actual.total += self.spent;
            }
        }
        outcome
    }

    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        let began = profile::now(cx).unwrap_or_default();
        let joined_before = self.rows_joined(frame);
        let found = self.inner.next(cx, frame)?;
        // A scan reads once more than there are rows.
        let behind_last = !found && matches!(self.plan, Operator::TableAccess(_));
        let joined = self.rows_joined(frame).wrapping_sub(joined_before);
        let spent = profile::now(cx).unwrap_or_default().saturating_sub(began);
        self.spent += spent;
        let first = !std::mem::replace(&mut self.answered, true);
        let rows =
            [(PlanStage::Source, joined - u64::from(behind_last)), (PlanStage::Output, u64::from(found))];
        for (step, rows) in rows {
            if let Some(profile) = &mut cx.statement.profile {
                let actual = profile.of_mut(self.plan, step);
                actual.total += spent;
                actual.rows += rows;
                if first {
                    actual.first += self.spent;
                }
            }
        }
        Ok(found)
    }

    /// Rows of the source so far, before the filter.
    fn rows_joined(&self, frame: &Frame) -> u64 {
        match &self.inner {
            Running::Loop(join) => join.joined,
            Running::Hash(join) => join.joined,
            Running::One(_, ahead) => u64::from(!ahead),
            _ => frame.steps(),
        }
    }
}
