//! The gate: whoever keeps it lets transactions pass that are as durable as the settings ask, when
//! somebody else has them too, say.
//!
//! It stands between steps 7 and 8 of [`super::commit`] for those whom nobody may see before, or
//! behind step 8 for those of which only the reply has to wait. What waits there has been written
//! and flushed, and nobody waits for it in turn: its leader has gone on, and later groups are
//! ordered, written and flushed meanwhile.
//!
//! (K1) What has come to the gate and lies at or before its position is published, by whoever moved
//!      either of the two last. Both are `SeqCst`, each the other's partner: a mover stores its
//!      own, then looks at the other.

use super::queue::{Member, Wake};
use super::{Counter, Log, Shared};
use crate::position::LogPosition;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// Keeps the gate.
pub trait GateKeeper: Send + Sync {
    /// Transactions have come to the gate and wait there, the last one up to this position. Called
    /// by a thread that has replies to send, maybe with the log's latches: must neither block nor
    /// call the log.
    fn arrived(&self, position: LogPosition);
}

/// Up to where transactions pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// What is published.
    pub visible: LogPosition,
    /// Whose sessions are told.
    pub told: LogPosition,
}

impl Passing {
    /// Nothing waits.
    pub const ALL: Self = Self { visible: LogPosition::MAX, told: LogPosition::MAX };
}

pub(super) struct Gate {
    visible: AtomicU64,
    told: AtomicU64,
    /// Behind the last transaction that is as durable as the settings ask.
    arrived: AtomicU64,
    keeper: OnceLock<Arc<dyn GateKeeper>>,
    /// Published, and not told yet.
    untold: Mutex<Vec<Member>>,
    /// Whether transactions are counted: statistics, ordering nothing.
    pub(super) counts: AtomicBool,
    pub(super) let_pass: Counter,
    pub(super) unguarded: Counter,
}

impl Gate {
    pub(super) fn new(at: LogPosition) -> Self {
        Self {
            visible: LogPosition::MAX.to_u64().into(),
            told: LogPosition::MAX.to_u64().into(),
            arrived: at.to_u64().into(),
            keeper: OnceLock::new(),
            untold: Mutex::default(),
            counts: false.into(),
            let_pass: Counter::default(),
            unguarded: Counter::default(),
        }
    }

    /// These are as durable as the settings ask; tells up to where all that has come may be
    /// published (K1).
    pub(super) fn arrive(&self, at: LogPosition) -> LogPosition {
        let arrived = self.arrived.fetch_max(at.to_u64(), SeqCst).max(at.to_u64());
        LogPosition::from_u64(arrived.min(self.visible.load(SeqCst)))
    }

    pub(super) fn arrived(&self) -> LogPosition {
        LogPosition::from_u64(self.arrived.load(SeqCst))
    }

    fn told(&self) -> LogPosition {
        LogPosition::from_u64(self.told.load(SeqCst))
    }

    fn is_open(&self) -> bool {
        self.visible.load(SeqCst).min(self.told.load(SeqCst)) == LogPosition::MAX.to_u64()
    }

    /// Leaves those to be woken whose sessions may be told.
    fn hold(&self, wake: &mut Wake) {
        let mut untold = self.untold.lock();
        // Under the latch, so that what was put in before the gate moved is found by whoever moved
        // it.
        let told = self.told();
        if told < LogPosition::MAX || !untold.is_empty() {
            untold.append(&mut wake.members);
            let (go, stay) = untold.drain(..).partition(|member| member.committed.position <= told);
            (wake.members, *untold) = (go, stay);
        }
        drop(untold);
        if self.counts.load(Relaxed) {
            let counter = if self.is_open() { &self.unguarded } else { &self.let_pass };
            counter.add(wake.members.len() as u64);
        }
    }

    fn set(&self, passing: Passing) {
        self.visible.store(passing.visible.to_u64(), SeqCst);
        self.told.store(passing.told.to_u64(), SeqCst);
    }
}

impl Shared {
    /// Wakes those for whom the gate is open, and has the keeper see to the others.
    pub(super) fn tell(&self, mut wake: Wake) {
        let Some(keeper) = self.gate.keeper.get() else { return wake.wake(&Ok(())) };
        self.gate.hold(&mut wake);
        wake.wake(&Ok(()));
        if !self.gate.is_open()
            && let Some(last) = self.last_at_gate()
        {
            keeper.arrived(last);
        }
    }

    /// Where the last transaction ends that waits at the gate.
    fn last_at_gate(&self) -> Option<LogPosition> {
        let unseen = self.queue.last_ordered(self.gate.arrived());
        let untold = self.gate.untold.lock().iter().map(|member| member.committed.position).max();
        unseen.max(untold)
    }
}

impl Log {
    /// Names who keeps the gate, once; it is open until [`Log::set_gate`].
    pub fn keep_gate(&self, keeper: Arc<dyn GateKeeper>) {
        // A second keeper would be told of what the first one sees to.
        let _ = self.shared.gate.keeper.set(keeper);
    }

    /// Moves the gate. [`Log::pass_gate`] lets those go on that it is open for by then; others come
    /// later.
    pub fn set_gate(&self, passing: Passing) {
        self.shared.gate.set(passing);
    }

    /// Publishes what has come to the gate and may pass, and tells its sessions. To be called
    /// without latches that a [`GateKeeper`] takes.
    pub fn pass_gate(&self) {
        self.shared.publish(LogPosition::ZERO, None);
    }

    /// Transactions that wait at the gate now.
    pub fn gate_waiting(&self) -> usize {
        let gate = &self.shared.gate;
        self.shared.queue.count_ordered(gate.arrived()) + gate.untold.lock().len()
    }

    /// From now on it is counted what passes; see [`Log::gate_passed`].
    pub fn count_at_gate(&self, on: bool) {
        self.shared.gate.counts.store(on, Relaxed);
    }

    /// Transactions that a gate was kept for, and those that passed while it was open for all.
    pub fn gate_passed(&self) -> (u64, u64) {
        (self.shared.gate.let_pass.get(), self.shared.gate.unguarded.get())
    }
}
