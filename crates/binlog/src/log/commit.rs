//! Group commit: how an event group becomes durable, and what the group commit leader does.
//!
//! 1. **enqueue** A session puts its event group into the queue, and gets a [`Ticket`] that it
//!    waits for.
//! 2. **order** Whoever finds nobody at it takes the whole queue and fixes its order. Each
//!    transaction gets its GTID, `sequence_number` and position, and its `last_committed` by the
//!    keys that it wrote (`dependencies.rs`). This does not wait for the flush before.
//! 3. **stamp** Their bytes are stamped into one buffer, for which the file has room already.
//! 4. **release** The hooks are called in order: row versions enter the memtables, row locks are
//!    released, so that whoever waits for a row goes on at once, and may join the same flush.
//! 5. **lead** A session whose flush has not begun leads: at once if no other flush is in flight,
//!    else when that pays (`pace.rs`), or when the last one ends. All that is ordered by then is
//!    the group, whose size finds itself. (Only `binlog_group_commit_sync_delay` makes a commit
//!    wait that might go on.)
//! 6. **write** The buffer is written at once.
//! 7. **flush** One `fdatasync`, if `sync_binlog` and `innodb_flush_log_at_trx_commit` ask for it;
//!    else the background flushes within milliseconds.
//! 8. **publish** The visible position moves behind the group, unless it has to wait at the
//!    [`gate`](super::gate).
//! 9. **wake** The leader of the next group is called first, then the members of this one are
//!    woken. Those whose sessions have left to wait for their client's next command
//!    ([`Ticket::leave`]) are told right here, which spares two switches between threads for each.
//!
//! A transaction with a file of its own is ordered by itself, and published at once: joining it is
//! a rotation (`large.rs`).
//!
//! (G1) Log order is the order of the hooks, of the bytes, and of visibility.
//! (G2) Nothing is visible or acknowledged before it is as durable as the settings ask.
//! (G3) What the disk has no room for is refused before any hook saw it. What is refused is not in
//!      the log, or its bytes are cut off durably; its transaction numbers are given to others. It
//!      never reappears.
//! (G4) A failed flush is never retried: nothing of its group is published, and the log takes no
//!      more until a restart. So is a failed write of what was ordered: it overwrites zeros of the
//!      file, so no full disk makes it fail. Flushes take turns, so that a failure is known before
//!      another flush begins: the system tells it only once.
//! (G5) Whoever holds `leader` owns the end of the log; whoever has the write turn owns the end of
//!      what is written. A group is written with the write turn alone, and flushed without either,
//!      so that ordering goes on meanwhile.
//! (G6) Readers go as far as `durable`, which is always the end of a group, a file header, or a
//!      closed file.
//!
//! Latch order: `leader`, write turn, flush turn, `written`; the queue's latch, `published` below
//! it, and those of [`super::progress`] are leaves.
//!
//! Elsewhere: waiting for what is not here (`gate.rs`), who takes which role (`queue.rs`), steps 2
//! to 4 (`order.rs`), 6 and 7 (`flush.rs`), rotation (`rotate.rs`), when flushes overlap
//! (`pace.rs`), what a crash leaves (`files.rs`, `recovery.rs`).

use super::Shared;
use super::dependencies::Dependencies;
use super::error::CommitError;
use super::flush::Group;
use super::queue::{Entry, Flight, Moment, Seat, Since, Turn, Wake};
use super::rotate::Active;
use super::stages::Stages;
use crate::group::EventGroup;
use crate::gtid::{Gtid, GtidSet};
use crate::position::LogPosition;
use env::File;
use std::sync::Arc;
use std::thread;

/// Times that a session orders what came in while it ordered, before others have to.
const ORDER_ROUNDS: usize = 8;

/// What the engine does when a transaction's place in the log is fixed, or refused.
pub trait CommitHook: Send {
    /// Called exactly once, in log order, one at a time, when the transaction's bytes and place are
    /// fixed, before they are written and flushed. Must not block, fail or panic. Puts row versions
    /// into the memtables and releases row locks.
    fn ordered(&mut self, position: LogPosition);

    /// Called instead when the log refuses the transaction.
    fn refused(&mut self) {}
}

impl CommitHook for () {
    fn ordered(&mut self, _: LogPosition) {}
}

/// What a transaction has become in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Behind its events: its place in the log.
    pub position: LogPosition,
    /// Its name among replicas.
    pub gtid: Gtid,
}

/// A transaction's place in the queue. Dropping it waits for it: the transaction is committed or
/// refused, whoever looks.
#[must_use = "a commit is acknowledged by waiting for its ticket"]
pub struct Ticket {
    shared: Arc<Shared>,
    /// None once its session has left.
    seat: Option<Arc<Seat>>,
}

/// What only the holder of its latch touches (G5).
pub(super) struct Leader {
    pub(super) active: Active,
    /// Every GTID ordered so far.
    pub(super) gtids: GtidSet,
    /// Who wrote which key last in the active file.
    pub(super) dependencies: Dependencies,
    /// GTIDs that are kept for those who have asked for them; nearly always none.
    pub(super) reserved: GtidSet,
    /// Groups since the last one that waited for its flush (`sync_binlog` > 1).
    unflushed_groups: u32,
    /// Stamped bytes that lead to the active file's end, not written yet.
    pub(super) unwritten: Vec<u8>,
    /// A large transaction's own bytes, behind `unwritten`; empty but while it is written.
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
    pub fn wait(mut self) -> Result<Committed, CommitError> {
        let seat = self.seat.take().expect("a ticket is used once");
        settle(&self.shared, &seat)
    }

    /// As [`Ticket::wait`], for a session that has something else to do: it works as long as there
    /// is work for it, but does not sleep. `witness` is called once, here or by whoever finishes
    /// the transaction, in the middle of the log's work: it must neither block nor panic.
    pub fn leave(mut self, witness: impl FnOnce(Result<Committed, CommitError>) + Send + 'static) {
        let seat = self.seat.take().expect("a ticket is used once");
        seat.set_witness(Box::new(witness));
        if work(&self.shared, &seat) {
            seat.tell();
        }
    }
}

fn settle(shared: &Shared, seat: &Arc<Seat>) -> Result<Committed, CommitError> {
    work(shared, seat);
    seat.outcome().expect("a session without a witness stays until it is done").clone()
}

/// Takes the roles that fall to a session until its entry is finished; false if it leaves before.
fn work(shared: &Shared, seat: &Arc<Seat>) -> bool {
    while seat.outcome().is_none() {
        match shared.turn(seat) {
            Turn::Leave => return false,
            turn => shared.take_turn(turn),
        }
    }
    true
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(seat) = &self.seat {
            // Whoever dropped it without waiting did not want to know.
            let _ = settle(&self.shared, seat);
        }
    }
}

impl Shared {
    /// Step 1.
    pub(super) fn enqueue(
        self: &Arc<Self>,
        mut group: EventGroup,
        gtid: Option<Gtid>,
        mut hook: Box<dyn CommitHook>,
    ) -> Ticket {
        let seat = Arc::new(Seat::new());
        if let Err(error) = group.seal() {
            self.status.refused.add(1);
            self.tell_if_full(1, &error);
            hook.refused();
            seat.finish(Err(CommitError::Refused(error)));
            return Ticket { shared: self.clone(), seat: Some(seat) };
        }
        self.queue.enqueue(Entry {
            group: Some(group),
            gtid,
            hook,
            seat: seat.clone(),
            end: LogPosition::ZERO,
        });
        Ticket { shared: self.clone(), seat: Some(seat) }
    }

    pub(super) fn turn(&self, seat: &Arc<Seat>) -> Turn {
        self.queue.turn(seat, || self.moment())
    }

    pub(super) fn take_turn(&self, turn: Turn) {
        match turn {
            Turn::Lead(since) => self.lead(since),
            Turn::Order => self.order(),
            // A park may end for no reason.
            Turn::Park(_) if env::rarely(&*self.env, 8) => thread::yield_now(),
            Turn::Park(None) => thread::park(),
            Turn::Park(Some(timeout)) => thread::park_timeout(timeout),
            Turn::Done | Turn::Leave => {}
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
    fn lead(&self, since: Since) {
        let guard = NoHalfGroup;
        let mut leader = self.leader.lock();
        self.order_queued(&mut leader);
        let group = self.take_group(&mut leader);
        drop(leader);
        self.complete(group, Stages::begin(since));
        std::mem::forget(guard);
    }

    /// Step 5: all that is ordered. It may be nothing, if what the leader ordered was refused, or
    /// published by a rotation.
    fn take_group(&self, leader: &mut Leader) -> Group<'_> {
        let flight = self.queue.begin();
        // What others in flight have promised must not be published without their flush.
        let waits = flight.members > 0
            && (self.settings.group_waits(&mut leader.unflushed_groups) || !flight.is_first);
        let mut turn = self.write_turn.lock();
        std::mem::swap(&mut leader.unwritten, &mut turn);
        let flush_file = leader.active.flush_files[flight.slot].clone();
        let (file, end) = (leader.active.file.clone(), leader.active.position());
        Group { end, file, turn, flush_file, waits, flight }
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
        let written = self.write_group(group.file, end, group.turn);
        let now = self.env.monotonic();
        stages.end_step(now);
        let flushed = written.and_then(|()| {
            if waits { self.flush_group(&mut flight, flush_file.as_ref(), end) } else { Ok(()) }
        });
        stages.end_step(now + flight.took.unwrap_or_default());
        match flushed {
            Ok(()) => {
                let wake = self.show(end, Some(flight));
                stages.end_step(self.env.monotonic());
                self.tell(wake);
                stages.end_step(self.env.monotonic());
                stages.record(&self.status);
                self.slow_commits.judge(&stages, members, end, &self.status);
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
        self.tell(self.show(end, ended));
    }

    /// Step 8, with the first part of step 9: those who are told that it is visible can wait longer
    /// than the next flush.
    fn show(&self, end: LogPosition, ended: Option<Flight>) -> Wake {
        let to = self.gate.arrive(end);
        let mut wake = self.queue.publish(to, &self.published, ended);
        wake.call_leader();
        self.show_up_to(to);
        wake
    }

    /// The members need not wait for it.
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

/// Ends the process unless it is forgotten, so when its holder panics: a group half written or half
/// applied is for recovery to judge, and the other members would wait for ever.
struct NoHalfGroup;

impl Drop for NoHalfGroup {
    fn drop(&mut self) {
        tracing::error!("a panic in the middle of a commit group: the process ends, a restart recovers");
        std::process::abort();
    }
}
