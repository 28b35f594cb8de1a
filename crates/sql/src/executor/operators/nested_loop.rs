//! A join by looping: for each outer row the inner side is opened and walked.

use super::{Running, accepts};
use crate::expression::frame::Frame;
use crate::planner::{JoinKind, Loop};
use crate::session::Context;
use datum::error::Result;

/// A join by looping, running.
pub(crate) struct LoopRun<'p> {
    plan: &'p Loop,
    outer: Running<'p>,
    inner: Running<'p>,
    /// There is an outer row whose partners are being walked.
    inside: bool,
    /// It had one.
    matched: bool,
    /// Joined rows so far, before the filter.
    pub(super) joined: u64,
}

impl<'p> LoopRun<'p> {
    pub(super) fn new(cx: &Context, plan: &'p Loop) -> Self {
        let (outer, inner) = (Running::new(cx, &plan.outer), Running::new(cx, &plan.inner));
        Self { plan, outer, inner, inside: false, matched: false, joined: 0 }
    }

    pub(super) fn open(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<()> {
        self.inside = false;
        self.outer.open(cx, frame)
    }

    pub(super) fn next(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        loop {
            if !self.inside {
                if !self.outer.next(cx, frame)? {
                    return Ok(false);
                }
                self.inner.open(cx, frame)?;
                (self.inside, self.matched) = (true, false);
            }
            if !self.advance(cx, frame)? {
                continue;
            }
            self.joined += 1;
            if accepts(cx, &self.plan.filter, frame)? {
                return Ok(true);
            }
        }
    }

    /// Goes on with the outer row's partners; true if there is a joined row.
    fn advance(&mut self, cx: &mut Context, frame: &mut Frame) -> Result<bool> {
        if self.inner.next(cx, frame)? {
            self.matched = true;
            self.inside = matches!(self.plan.kind, JoinKind::Inner | JoinKind::Left);
            return Ok(self.plan.kind != JoinKind::Anti);
        }
        self.inside = false;
        let complemented = !self.matched && matches!(self.plan.kind, JoinKind::Left | JoinKind::Anti);
        if complemented {
            self.plan.inner_slots.iter().for_each(|&slot| frame.set_null(slot));
        }
        Ok(complemented)
    }
}
