//! The ack barrier of semi-synchronous replication: transactions that are as durable here as the
//! settings ask wait until replicas have acknowledged them.
//!
//! With `AFTER_SYNC` it is between steps 7 and 8 of [`super::commit`]: nobody sees a transaction
//! before its acknowledgement. With `AFTER_COMMIT` it is after step 8: only the reply to the client
//! waits. Transactions at the barrier are written and flushed, and block no thread: their leader
//! has gone on, and later groups are ordered, written and flushed meanwhile.
//!
//! (K1) A transaction that has arrived at the barrier, and whose position is at or below the
//!      barrier's, is published by the thread that moved the later of the two. Both are `SeqCst`,
//!      each the other's partner: a thread stores its own position, then loads the other.

use super::queue::{Member, Wake};
use super::{Counter, Log, Shared};
use crate::position::LogPosition;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// Moves the barrier as replicas acknowledge transactions.
pub trait AckBarrierOwner: Send + Sync {
    /// Transactions wait at the barrier, the last one ending at this position. Called by a thread
    /// that has replies to send, maybe with the log's latches: must neither block nor call the log.
    fn arrived(&self, position: LogPosition);
}

/// Up to where transactions pass the barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckBarrierPosition {
    /// What may be published.
    pub visible: LogPosition,
    /// Of what clients may get their reply.
    pub replied: LogPosition,
}

impl AckBarrierPosition {
    /// No transaction waits.
    pub const OPEN: Self = Self { visible: LogPosition::MAX, replied: LogPosition::MAX };
}

pub(super) struct AckBarrier {
    visible: AtomicU64,
    replied: AtomicU64,
    /// The end of the last transaction that is as durable as the settings ask.
    arrived: AtomicU64,
    owner: OnceLock<Arc<dyn AckBarrierOwner>>,
    /// Published transactions whose clients wait for their reply.
    unreplied: Mutex<Vec<Member>>,
    /// Whether transactions are counted: statistics, ordering nothing.
    pub(super) counts: AtomicBool,
    /// `Rpl_semi_sync_source_yes_tx`.
    pub(super) acknowledged: Counter,
    /// `Rpl_semi_sync_source_no_tx`.
    pub(super) unacknowledged: Counter,
}

impl AckBarrier {
    pub(super) fn new(at: LogPosition) -> Self {
        Self {
            visible: LogPosition::MAX.to_u64().into(),
            replied: LogPosition::MAX.to_u64().into(),
            arrived: at.to_u64().into(),
            owner: OnceLock::new(),
            unreplied: Mutex::default(),
            counts: false.into(),
            acknowledged: Counter::default(),
            unacknowledged: Counter::default(),
        }
    }

    /// All up to `at` is as durable as the settings ask; returns up to where transactions may be
    /// published (K1).
    pub(super) fn arrive(&self, at: LogPosition) -> LogPosition {
        let arrived = self.arrived.fetch_max(at.to_u64(), SeqCst).max(at.to_u64());
        LogPosition::from_u64(arrived.min(self.visible.load(SeqCst)))
    }

    pub(super) fn arrived(&self) -> LogPosition {
        LogPosition::from_u64(self.arrived.load(SeqCst))
    }

    fn replied(&self) -> LogPosition {
        LogPosition::from_u64(self.replied.load(SeqCst))
    }

    fn is_open(&self) -> bool {
        self.visible.load(SeqCst).min(self.replied.load(SeqCst)) == LogPosition::MAX.to_u64()
    }

    /// Takes the members out of `wake` whose clients have to wait for their reply, and adds those
    /// that need wait no longer.
    fn hold_unacknowledged(&self, wake: &mut Wake) {
        let mut unreplied = self.unreplied.lock();
        // Loaded under the latch, so that the thread that moves the barrier finds what was added
        // before.
        let replied = self.replied();
        if replied < LogPosition::MAX || !unreplied.is_empty() {
            unreplied.append(&mut wake.members);
            let (pass, wait) = unreplied.drain(..).partition(|member| member.committed.position <= replied);
            (wake.members, *unreplied) = (pass, wait);
        }
        drop(unreplied);
        if self.counts.load(Relaxed) {
            let counter = if self.is_open() { &self.unacknowledged } else { &self.acknowledged };
            counter.add(wake.members.len() as u64);
        }
    }

    fn move_to(&self, position: AckBarrierPosition) {
        // In this order, so that what is published finds its reply allowed.
        self.replied.store(position.replied.to_u64(), SeqCst);
        self.visible.store(position.visible.to_u64(), SeqCst);
    }
}

impl Shared {
    /// Finishes the members that may pass the barrier, and notifies its owner of those that wait.
    pub(super) fn reply(&self, mut wake: Wake) {
        let Some(owner) = self.ack_barrier.owner.get() else { return wake.wake(&Ok(())) };
        self.ack_barrier.hold_unacknowledged(&mut wake);
        wake.wake(&Ok(()));
        if !self.ack_barrier.is_open()
            && let Some(last) = self.last_at_ack_barrier()
        {
            owner.arrived(last);
        }
    }

    /// Where the last transaction ends that waits at the barrier.
    fn last_at_ack_barrier(&self) -> Option<LogPosition> {
        let unseen = self.queue.last_ordered(self.ack_barrier.arrived());
        let unreplied =
            self.ack_barrier.unreplied.lock().iter().map(|member| member.committed.position).max();
        unseen.max(unreplied)
    }
}

impl Log {
    /// Sets the barrier's owner, once; the barrier is open until [`Log::move_ack_barrier`].
    pub fn set_ack_barrier_owner(&self, owner: Arc<dyn AckBarrierOwner>) {
        // A second owner would be notified of transactions that the first one releases.
        let _ = self.shared.ack_barrier.owner.set(owner);
    }

    /// Moves the barrier. Transactions that wait and may pass now do so with
    /// [`Log::release_at_ack_barrier`].
    pub fn move_ack_barrier(&self, position: AckBarrierPosition) {
        self.shared.ack_barrier.move_to(position);
    }

    /// Publishes the transactions at the barrier that may pass, and completes their commits. To be
    /// called without latches that an [`AckBarrierOwner`] takes.
    pub fn release_at_ack_barrier(&self) {
        self.shared.publish(LogPosition::ZERO, None);
    }

    /// Transactions that wait at the barrier now.
    pub fn waiting_at_ack_barrier(&self) -> usize {
        let barrier = &self.shared.ack_barrier;
        self.shared.queue.count_ordered(barrier.arrived()) + barrier.unreplied.lock().len()
    }

    /// Starts or stops counting the transactions that pass; see [`Log::ack_barrier_counts`].
    pub fn count_ack_barrier(&self, on: bool) {
        self.shared.ack_barrier.counts.store(on, Relaxed);
    }

    /// Transactions that passed while the barrier was in use, and those that passed while it was
    /// open.
    pub fn ack_barrier_counts(&self) -> (u64, u64) {
        (self.shared.ack_barrier.acknowledged.get(), self.shared.ack_barrier.unacknowledged.get())
    }
}
