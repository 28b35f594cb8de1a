//! Group commit: how an event group becomes durable, and what the group commit leader does.
//!
//! 1. **enqueue** A session puts its event group into the queue, and gets a [`Ticket`] that it
//!    waits for.
//! 2. **order** The first thread to find no active orderer drains the queue and assigns the commit
//!    order. Each transaction gets its GTID, `sequence_number` and position, and its
//!    `last_committed` by the keys that it wrote (`dependencies.rs`). This does not wait for the
//!    previous flush.
//! 3. **stamp** Their bytes are stamped into one buffer, for which the file has room already.
//! 4. **release** The hooks are called in order: row versions enter the memtables and row locks are
//!    released, so that transactions waiting for a row go on, and may commit in the same group.
//! 5. **lead** A session whose flush has not begun leads: at once if no other flush is in flight,
//!    else when overlapping flushes pays (`pace.rs`), or when the last one ends. All that is
//!    ordered by then is the group; no timer makes it larger, except
//!    `binlog_group_commit_sync_delay`.
//! 6. **write** The buffer is written in one call.
//! 7. **flush** One `fdatasync`, if `sync_binlog` and `innodb_flush_log_at_trx_commit` ask for it;
//!    else the background flushes within milliseconds.
//! 8. **publish** The visible position moves to the group's end, unless it has to wait at the
//!    [`ack_barrier`](super::ack_barrier).
//! 9. **wake** The leader of the next group is called first, then the members of this one are
//!    woken. Completion callbacks of sessions that did not block ([`Ticket::on_complete`]) run
//!    here, which saves two context switches each.
//!
//! A transaction with a file of its own is ordered by itself, and published at once: adopting its
//! file is a rotation (`large.rs`).
//!
//! (G1) Log order is the order of the hooks, of the bytes, and of visibility.
//! (G2) Nothing is visible or acknowledged before it is as durable as the settings ask.
//! (G3) What the disk has no room for is refused before any hook saw it. What is refused is not in
//!      the log, or its bytes are cut off durably; its transaction numbers are given to others. It
//!      never reappears.
//! (G4) A failed flush is never retried: nothing of its group is published, and the log takes no
//!      more until a restart. So is a failed write of what was ordered: it overwrites zeros of the
//!      file, so no full disk makes it fail. Flushes through one descriptor run one at a time, so
//!      that a failure is known before the next one begins: the system reports it only once.
//! (G5) The holder of `leader` owns the end of the log; the holder of the write latch owns the end
//!      of what is written. A group is written under the write latch alone, and flushed without
//!      either, so that ordering goes on meanwhile.
//! (G6) Readers go as far as `durable`, which is always the end of a group, a file header, or a
//!      closed file.
//!
//! Latch order: `leader`, write latch, flush latch, `written`; the queue's latch, `published` below
//! it, and those of [`super::progress`] are leaves.
//!
//! Elsewhere: waiting for replicas (`ack_barrier.rs`), who takes which role (`queue.rs`), steps 2
//! to 4 (`order.rs`), 6 and 7 (`flush.rs`), rotation (`rotate.rs`), when flushes overlap
//! (`pace.rs`), crash recovery (`files.rs`, `recovery.rs`).

use super::Shared;
use super::dependencies::Dependencies;
use super::error::CommitError;
use super::flush::Group;
use super::queue::{CommitWaiter, Entry, Flight, Moment, QueueWait, Role, Wake};
use super::rotate::Active;
use super::stages::Stages;
use crate::group::EventGroup;
use crate::gtid::{Gtid, GtidSet, GtidSpecification};
use crate::position::LogPosition;
use env::File;
use std::sync::Arc;
use std::thread;

/// Times that a session orders what was queued while it ordered, before another takes over.
const ORDER_ROUNDS: usize = 8;

/// What the engine does when a transaction is ordered (its position in the log is fixed), or
/// refused.
pub trait CommitHook: Send {
    /// Called exactly once, in log order, one at a time, when the transaction's bytes and position
    /// are fixed, before they are written and flushed. Must not block, fail or panic. Puts row
    /// versions into the memtables and releases row locks.
    fn ordered(&mut self, position: LogPosition);

    /// Called instead when the log refuses the transaction.
    fn refused(&mut self) {}
}

impl CommitHook for () {
    fn ordered(&mut self, _: LogPosition) {}
}

/// A committed transaction, as the log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The end of its events: its commit position.
    pub position: LogPosition,
    /// As MySQL's.
    pub gtid: Gtid,
}

/// A transaction that was queued for commit. Dropping the ticket waits for the outcome, as
/// [`Ticket::wait`] does, and ignores it.
#[must_use = "a commit is acknowledged by waiting for its ticket"]
pub struct Ticket {
    shared: Arc<Shared>,
    /// None once the ticket was used.
    waiter: Option<Arc<CommitWaiter>>,
}

/// What only the holder of its latch touches (G5).
pub(super) struct Leader {
    pub(super) active: Active,
    /// Every GTID ordered so far.
    pub(super) gtids: GtidSet,
    /// Which transaction of the active file wrote which key last.
    pub(super) dependencies: Dependencies,
    /// GTIDs that sessions have reserved; nearly always none.
    pub(super) reserved: GtidSet,
    /// Groups since the last one that waited for its flush (`sync_binlog` > 1).
    unflushed_groups: u32,
    /// Stamped bytes that lead to the active file's end, not written yet.
    pub(super) unwritten: Vec<u8>,
    /// The bytes of one group larger than [`PIECE`](super::order), which follow `unwritten`; empty
    /// except while it is written.
    pub(super) body: Vec<u8>,
}

impl Leader {
    pub(super) fn new(active: Active, gtids: GtidSet, dependencies: Dependencies) -> Self {
        Self {
            active,
            gtids,
            dependencies,
            reserved: GtidSet::new(),
            unflushed_groups: 0,
            unwritten: Vec::new(),
            body: Vec::new(),
        }
    }
}

/// The end of what was written, and the file it is in; what a flush flushes.
pub(super) struct Written {
    pub(super) file: Arc<dyn File>,
    pub(super) end: LogPosition,
}

impl Ticket {
    /// Waits until the transaction is committed, as the settings ask, or until it is refused.
    ///
    /// # Errors
    /// [`CommitError`] says whether a restart may still find the transaction.
    pub fn wait(mut self) -> Result<Committed, CommitError> {
        let waiter = self.waiter.take().expect("a ticket is used once");
        await_outcome(&self.shared, &waiter)
    }

    /// As [`Ticket::on_complete`], but the calling thread leads no group: it orders what is queued,
    /// so that row locks are released, and leaves write and flush to others. For a replica's
    /// applier, which goes on with the next transaction meanwhile.
    pub fn complete_in_background(
        self,
        callback: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) {
        if let Some(waiter) = &self.waiter {
            waiter.set_never_leads();
        }
        self.on_complete(callback);
    }

    /// As [`Ticket::wait`], but without blocking: the calling thread takes the roles that it is
    /// assigned, and returns instead of parking. `callback` is called once, by this thread or by
    /// the one that finishes the transaction, in the middle of the log's work: it must neither
    /// block nor panic.
    pub fn on_complete(mut self, callback: impl FnOnce(Result<Committed, CommitError>) + Send + 'static) {
        let waiter = self.waiter.take().expect("a ticket is used once");
        waiter.set_on_complete(Box::new(callback));
        if perform_roles(&self.shared, &waiter) {
            waiter.run_on_complete();
        }
    }
}

fn await_outcome(shared: &Shared, waiter: &Arc<CommitWaiter>) -> Result<Committed, CommitError> {
    perform_roles(shared, waiter);
    waiter.outcome().expect("a session without a callback waits until it is done").clone()
}

/// Performs the roles that a session is assigned until its entry is finished; false if its reply
/// is deferred before that.
fn perform_roles(shared: &Shared, waiter: &Arc<CommitWaiter>) -> bool {
    while waiter.outcome().is_none() {
        match shared.next_role(waiter) {
            Role::DeferReply => return false,
            role => shared.perform(role),
        }
    }
    true
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(waiter) = &self.waiter {
            // A caller that drops its ticket without waiting ignores the outcome.
            let _ = await_outcome(&self.shared, waiter);
        }
    }
}

impl Shared {
    /// Step 1.
    pub(super) fn enqueue(
        self: &Arc<Self>,
        mut group: EventGroup,
        gtid: GtidSpecification,
        mut hook: Box<dyn CommitHook>,
    ) -> Ticket {
        let waiter = Arc::new(CommitWaiter::new());
        if let Err(error) = group.seal() {
            self.status.refused.add(1);
            self.report_if_full(1, &error);
            hook.refused();
            waiter.finish(Err(CommitError::Refused(error)));
            return Ticket { shared: self.clone(), waiter: Some(waiter) };
        }
        self.queue.enqueue(Entry {
            group: Some(group),
            gtid,
            hook,
            waiter: waiter.clone(),
            end: LogPosition::ZERO,
        });
        Ticket { shared: self.clone(), waiter: Some(waiter) }
    }

    pub(super) fn next_role(&self, waiter: &Arc<CommitWaiter>) -> Role {
        self.queue.assign_role(waiter, || self.moment())
    }

    pub(super) fn perform(&self, role: Role) {
        match role {
            Role::Lead(queue_wait) => self.lead(queue_wait),
            Role::Order => self.order(),
            // A park may end for no reason.
            Role::Park(_) if env::rarely(&*self.env, 8) => thread::yield_now(),
            Role::Park(None) => thread::park(),
            Role::Park(Some(timeout)) => thread::park_timeout(timeout),
            Role::Done | Role::DeferReply => {}
        }
    }

    fn moment(&self) -> Moment {
        Moment {
            is_strict: self.settings.always_waits(),
            now: self.env.monotonic(),
            delay: self.settings.group_delay(),
        }
    }

    /// Steps 2 to 4, while a flush is in flight.
    fn order(&self) {
        let guard = NoHalfGroup;
        let mut rounds = 0;
        loop {
            self.order_queued(&mut self.leader.lock());
            rounds += 1;
            if self.queue.stop_ordering(rounds == ORDER_ROUNDS || env::rarely(&*self.env, 4)) {
                break;
            }
        }
        std::mem::forget(guard);
    }

    /// Steps 2 to 9: orders what is queued, and makes all that is ordered durable.
    fn lead(&self, queue_wait: QueueWait) {
        let guard = NoHalfGroup;
        let mut leader = self.leader.lock();
        self.order_queued(&mut leader);
        let group = self.take_group(&mut leader);
        drop(leader);
        self.complete(group, Stages::begin(queue_wait));
        std::mem::forget(guard);
    }

    /// Step 5: all that is ordered. It may be nothing, if what the leader ordered was refused, or
    /// published by a rotation.
    fn take_group(&self, leader: &mut Leader) -> Group<'_> {
        let flight = self.queue.begin();
        // With another group in flight this one must not be published without a flush: that would
        // publish the other before its own.
        let waits = flight.members > 0
            && (self.settings.group_waits(&mut leader.unflushed_groups) || !flight.is_first);
        let mut write_buffer = self.write_latch.lock();
        std::mem::swap(&mut leader.unwritten, &mut write_buffer);
        let flush_file = leader.active.flush_files[flight.slot].clone();
        let (file, end) = (leader.active.file.clone(), leader.active.position());
        Group { end, file, write_buffer, flush_file, waits, flight }
    }

    /// Steps 6 to 9.
    fn complete(&self, group: Group<'_>, mut stages: Stages) {
        let Group { end, waits, flush_file, mut flight, .. } = group;
        let members = flight.members;
        if members == 0 {
            return self.publish(LogPosition::ZERO, Some(flight));
        }
        self.status.groups.add(1);
        self.status.group_size.record(members as u64);
        let written = self.write_group(group.file, end, group.write_buffer);
        let now = self.env.monotonic();
        stages.end_step(now);
        let flushed = written.and_then(|()| {
            if waits { self.flush_group(&mut flight, flush_file.as_ref(), end) } else { Ok(()) }
        });
        stages.end_step(now + flight.took.unwrap_or_default());
        match flushed {
            Ok(()) => {
                let wake = self.make_visible(end, Some(flight));
                stages.end_step(self.env.monotonic());
                self.reply(wake);
                stages.end_step(self.env.monotonic());
                stages.record(&self.status);
                self.slow_commits.log_if_slow(&stages, members, end, &self.status);
            }
            Err(latched) => self.queue.abandon(Some(flight)).wake(&Err(CommitError::Unknown(latched))),
        }
        if !waits {
            self.background.flush_soon();
        }
        self.rotate_if_full(end);
    }

    /// Steps 8 and 9, up to a position; `ended` is the caller's own group, if it leads one.
    pub(super) fn publish(&self, end: LogPosition, ended: Option<Flight>) {
        self.reply(self.make_visible(end, ended));
    }

    /// Step 8, with the first part of step 9: the next leader is called before the threads that
    /// wait for the visible position are woken, since its flush is more urgent.
    fn make_visible(&self, end: LogPosition, ended: Option<Flight>) -> Wake {
        let to = self.ack_barrier.arrive(end);
        let mut wake = self.queue.publish(to, &self.published, ended);
        wake.call_leader();
        self.advance_visible(to);
        wake
    }

    /// Called after the members are woken: they need not wait for a rotation.
    fn rotate_if_full(&self, end: LogPosition) {
        let limit = match env::rarely(&*self.env, 64) {
            true => 0,
            false => self.settings.max_binlog_size(),
        };
        if end.offset() < limit {
            return;
        }
        let mut leader = self.leader.lock();
        if leader.active.end < limit || self.progress.check().is_err() {
            return;
        }
        if let Err(error) = self.rotate(&mut leader) {
            self.full_disk.rotation_failed(&error, self.env.monotonic());
        }
    }
}

/// Aborts the process when its holder panics: recovery has to decide about a group that is half
/// written or half applied, and the other members would wait for ever. Defused by `mem::forget`.
struct NoHalfGroup;

impl Drop for NoHalfGroup {
    fn drop(&mut self) {
        tracing::error!("a panic in the middle of a commit group: the process ends, a restart recovers");
        std::process::abort();
    }
}
