//! Transactions that the applier has enqueued for the log, and that are not durable yet.
//!
//! The applier goes on with the next transaction meanwhile: so one flush makes many durable.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

use super::channel::{Channel, SourcePosition};
use crate::session::Context;
use crate::session::replicated::LateWork;
use datum::error::Result;

/// So many transactions wait for their flush at the most.
const PENDING_MAX: usize = 4096;

/// Those of one applier, the oldest first.
#[derive(Default)]
pub(super) struct PendingCommits {
    waiting: VecDeque<PendingCommit>,
    signal: Arc<Signal>,
}

/// Says that one of them has ended.
#[derive(Default)]
struct Signal {
    ended: Mutex<u64>,
    changed: Condvar,
}

struct PendingCommit {
    outcome: Arc<OnceLock<Result<()>>>,
    left: LateWork,
}

/// A transaction that is about to be enqueued.
pub(super) struct Ending {
    outcome: Arc<OnceLock<Result<()>>>,
    signal: Arc<Signal>,
}

impl Ending {
    /// It has ended: durable and visible, or refused.
    pub(super) fn end(&self, outcome: Result<()>) {
        // Called once.
        let _ = self.outcome.set(outcome);
        *self.signal.ended.lock() += 1;
        self.signal.changed.notify_all();
    }
}

impl PendingCommits {
    /// One that is about to be enqueued.
    pub(super) fn next(&self) -> Arc<Ending> {
        Arc::new(Ending { outcome: Arc::default(), signal: self.signal.clone() })
    }

    /// It was enqueued. Waits while there are very many; the error is that of an older one.
    pub(super) fn add(&mut self, cx: &mut Context, ending: &Ending, left: LateWork) -> Result<()> {
        self.waiting.push_back(PendingCommit { outcome: ending.outcome.clone(), left });
        self.collect(cx)?;
        if self.waiting.len() > PENDING_MAX { self.wait(cx, PENDING_MAX / 2) } else { Ok(()) }
    }

    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until all have ended; the error is that of the oldest one that failed.
    pub(super) fn await_all(&mut self, cx: &mut Context) -> Result<()> {
        self.wait(cx, 0)
    }

    fn wait(&mut self, cx: &mut Context, to: usize) -> Result<()> {
        let mut outcome = Ok(());
        while self.waiting.len() > to {
            let mut ended = self.signal.ended.lock();
            let is_over = self.waiting.front().is_some_and(|first| first.outcome.get().is_some());
            if !is_over {
                self.signal.changed.wait(&mut ended);
            }
            drop(ended);
            outcome = outcome.and(self.collect(cx));
        }
        outcome
    }

    /// Takes those off that have ended.
    pub(super) fn collect(&mut self, cx: &mut Context) -> Result<()> {
        let mut outcome = Ok(());
        while self.waiting.front().is_some_and(|first| first.outcome.get().is_some())
            && let Some(first) = self.waiting.pop_front()
        {
            if let Some(gtid) = first.left.gtid {
                cx.release_gtid(gtid);
            }
            match first.outcome.get() {
                Some(Ok(())) | None => first.left.gaps.into_iter().for_each(|gaps| gaps.learn()),
                Some(Err(e)) => outcome = outcome.and(Err(e.clone())),
            }
        }
        outcome
    }
}

/// What a channel shows of a transaction that is durable.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) position: SourcePosition,
    pub(super) mariadb_gtids: Option<String>,
}

impl Reached {
    pub(super) fn show(self, channel: &Channel) {
        channel.with(|state| {
            let progress = &mut state.progress;
            progress.executed = self.position;
            progress.applied += 1;
            if let Some(gtids) = self.mariadb_gtids {
                progress.mariadb_gtids = gtids;
            }
        });
    }
}
