//! What the parts of a plan did, for EXPLAIN ANALYZE: how often they ran, how many rows they gave,
//! how long that took.
//!
//! A statement is measured while its context has a [`Profile`]: then each operator runs inside of a
//! [`super::operators::Measured`], and blocks note what they did when they are done. Otherwise
//! nothing is counted.

use std::collections::HashMap;
use std::time::Duration;

use crate::session::Context;

/// What a plan's part did, in all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Actual {
    /// How often it was opened.
    pub(crate) loops: u64,
    /// Rows that it gave.
    pub rows: u64,
    /// Time up to the first row of each run.
    pub first: Duration,
    /// Time up to the last one, of what is below it, too.
    pub total: Duration,
}

/// Which step of an operator or block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlanStage {
    /// Rows read or joined, before they are filtered.
    Source,
    /// Rows that come out.
    Output,
    /// Rows grouped.
    Groups,
    /// Rows whose window functions are computed.
    Windows,
    /// Rows sorted.
    Sort,
}

/// What the parts of the plan that runs did, by their places in memory: a plan stays where it is
/// while it runs.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    parts: HashMap<(usize, PlanStage), Actual>,
}

impl Profile {
    /// What a part did; `None` if it never ran.
    pub(crate) fn of<T>(&self, part: &T, step: PlanStage) -> Option<Actual> {
        self.parts.get(&(address(part), step)).copied()
    }

    /// The same, to be added to.
    pub(crate) fn of_mut<T>(&mut self, part: &T, step: PlanStage) -> &mut Actual {
        self.parts.entry((address(part), step)).or_default()
    }
}

fn address<T>(part: &T) -> usize {
    std::ptr::from_ref(part) as usize
}

/// The moment, if the statement is measured.
pub(crate) fn now(cx: &Context) -> Option<Duration> {
    cx.statement.profile.is_some().then(|| cx.instance.env().monotonic())
}

/// Notes a run of a part that began at `began` and gave so many rows at its end.
pub(crate) fn note<T>(cx: &mut Context, part: &T, step: PlanStage, began: Option<Duration>, rows: u64) {
    let (Some(began), Some(now)) = (began, now(cx)) else { return };
    if let Some(profile) = &mut cx.statement.profile {
        let actual = profile.of_mut(part, step);
        let spent = now.saturating_sub(began);
        actual.loops += 1;
        actual.rows += rows;
        actual.first += spent;
        actual.total += spent;
    }
}
