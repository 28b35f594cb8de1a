//! Group commit: how an event group becomes durable.
//!
//! 1. **enqueue** A session puts its event group into the queue and gets a [`Ticket`].
//! 2. **lead** It waits for its ticket; if nobody leads, it does. The leader takes the whole queue: that is the group.
//! 3. **order** The group's order is the queue's. Each transaction gets its GTID, `sequence_number` and position; all
//!    get the same `last_committed`, for they held their locks together when the group was taken.
//! 4. **write** The stamped bytes go into one buffer and the file, in one write, or a few if there are many.
//! 5. **release** The hooks are called in order: row versions enter the memtables, row locks are released.
//! 6. **flush** One `fdatasync`, if `sync_binlog` and `innodb_flush_log_at_trx_commit` ask for it; else the background
//!    flushes within milliseconds. The next group queues up meanwhile: its size finds itself, there is no timer.
//! 7. **publish** The visible position moves behind the group.
//! 8. **wake** Leadership goes to a session of the next group first, then the members of this one are woken.
//!
//! A transaction with a file of its own is a group of its own, for which steps 3, 4 and 6 are a rotation (`large.rs`).
//!
//! (G1) Log order is the order of the queue, of the hooks, and of visibility.
//! (G2) Nothing is visible or acknowledged before it is as durable as the settings ask.
//! (G3) A group is refused as a whole, before any hook saw it: its bytes are cut off durably, its transaction numbers
//!      given to others. It never reappears.
//! (G4) A failed flush is never retried: nothing of its group is published, and the log takes no more until a restart.
//!      Flushes take turns, so that a failure is known before another flush begins: the system tells it only once.
//! (G5) Whoever holds `leader` owns the end of the log. No other latch is held while a file is written; the flush turn
//!      is the only one held while it is flushed.
//! (G6) Readers go as far as `durable`, which is always the end of a group, a file header, or a closed file.
//!
//! Latch order: `leader`, flush turn, `written`; the queue's latch and those of [`super::progress`] are leaves.
//!
//! Elsewhere: rotation (`rotate.rs`), what a crash leaves (`files.rs`, `recovery.rs`).

use super::Shared;
use super::error::{CommitError, LogError};
use super::rotate::Active;
use crate::group::{EventGroup, GtidStamp};
use crate::gtid::{Gtid, GtidSet, Uuid};
use crate::position::LogPosition;
use env::File;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// Stamped bytes are written when they are this many; a transaction larger than this is written from its own buffer.
const PIECE: usize = 1 << 20;
/// A small group that does not fit the space made ahead writes this many zeros behind itself, in the same write, so
/// that the next ones do. Bytes.
const PAD: u64 = 1 << 20;
/// Groups larger than this, in bytes, don't: they would write their own size again.
const PAD_WORTH: u64 = PAD / 8;

/// What the engine does when a transaction's place in the log is fixed, or refused.
pub trait CommitHook: Send {
    /// Called exactly once, by the leader, in log order, one at a time, after the bytes were written and before they
    /// are flushed. Must not block, fail or panic. Puts row versions into the memtables and releases row locks.
    fn ordered(&mut self, position: LogPosition);

    /// Called instead when the group can't be written.
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

/// A transaction's place in the queue. Dropping it waits for it: the transaction is committed or refused, whoever looks.
#[must_use = "a commit is acknowledged by waiting for its ticket"]
pub struct Ticket {
    shared: Arc<Shared>,
    seat: Arc<Seat>,
}

/// Where a waiting session is found.
struct Seat {
    /// `WAITING`, `PARKED`, `LEAD` or `DONE`. Written under the queue's latch, but for `DONE`, which the leader of the
    /// seat's own group stores after `outcome` (release; the waiter's load acquires).
    state: AtomicU8,
    /// Its entry is in a group, which somebody leads. Read and written under the queue's latch.
    taken: AtomicBool,
    thread: OnceLock<Thread>,
    outcome: OnceLock<Result<Committed, CommitError>>,
}

/// Not waited for yet.
const WAITING: u8 = 0;
/// Its thread is parked.
const PARKED: u8 = 1;
/// Leadership was handed to its thread.
const LEAD: u8 = 2;
/// The outcome is there.
const DONE: u8 = 3;

/// What a session that waits does next.
enum Turn {
    Lead,
    Park,
    Done,
}

/// A transaction on its way.
struct Entry {
    /// Taken when it is stamped.
    group: Option<EventGroup>,
    /// The GTID it must have: an applier's. `None` gets the next one of this server.
    gtid: Option<Gtid>,
    hook: Box<dyn CommitHook>,
    seat: Arc<Seat>,
    end: LogPosition,
}

impl Entry {
    /// True if its events are in a file of their own.
    fn is_large(&self) -> bool {
        self.group.as_ref().is_some_and(EventGroup::is_large)
    }
}

#[derive(Default)]
pub(super) struct Queue {
    latch: Mutex<QueueState>,
    /// Signalled when a delaying leader has what it delays for.
    grown: Condvar,
}

#[derive(Default)]
struct QueueState {
    entries: Vec<Entry>,
    /// Somebody leads, or was told to.
    led: bool,
    /// Entries at which a delaying leader wants to be woken.
    wake_at: Option<usize>,
}

/// What only the leader touches (G5).
pub(super) struct Leader {
    pub(super) active: Active,
    /// Every GTID ordered so far.
    pub(super) gtids: GtidSet,
    /// Groups since the last one that waited for its flush (`sync_binlog` > 1).
    unflushed_groups: u32,
    /// Stamped bytes on their way to the file; kept for its capacity.
    buffer: Vec<u8>,
}

impl Leader {
    pub(super) fn new(active: Active, gtids: GtidSet) -> Self {
        Self { active, gtids, unflushed_groups: 0, buffer: Vec::new() }
    }
}

/// The end of what was written, and the file it is in; what a flush flushes.
pub(super) struct Written {
    pub(super) file: Arc<dyn File>,
    pub(super) end: LogPosition,
}

impl Ticket {
    /// Waits until the transaction is committed, as the settings ask, or until it is refused.
    pub fn wait(self) -> Result<Committed, CommitError> {
        self.settle()
    }

    fn settle(&self) -> Result<Committed, CommitError> {
        loop {
            if let Some(outcome) = self.seat.outcome.get() {
                return outcome.clone();
            }
            match self.shared.queue.turn(&self.seat) {
                Turn::Lead => self.shared.lead(),
                Turn::Park => thread::park(),
                Turn::Done => {}
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Whoever dropped it without waiting did not want to know.
        let _ = self.settle();
    }
}

impl Queue {
    /// Step 2: what the seat's thread does next.
    ///
    /// It parks only once its state says so: a seat that is done by then was not woken, for nobody knew that it slept.
    fn turn(&self, seat: &Seat) -> Turn {
        let mut queue = self.latch.lock();
        let state = seat.state.load(Ordering::Acquire);
        if state == DONE {
            return Turn::Done;
        }
        // Whoever leads has an entry in the queue, so no group is empty, and nobody does another group's work before
        // its own reply.
        if !queue.led && !seat.taken.load(Ordering::Relaxed) || state == LEAD {
            queue.led = true;
            seat.state.store(WAITING, Ordering::Relaxed);
            return Turn::Lead;
        }
        // Before the state says that there is someone to wake.
        seat.thread.get_or_init(thread::current);
        match seat.state.compare_exchange(WAITING, PARKED, Ordering::AcqRel, Ordering::Acquire) {
            Err(DONE) => Turn::Done,
            _ => Turn::Park,
        }
    }

    /// Step 8, first half: the first parked session of the next group leads; if there is none, the next to wait does.
    fn hand_over(&self) {
        let mut queue = self.latch.lock();
        let parked = |e: &&Entry| e.seat.state.load(Ordering::Relaxed) == PARKED;
        let next = queue.entries.iter().find(parked).map(|e| e.seat.clone());
        queue.led = next.is_some();
        let Some(seat) = next else { return };
        seat.state.store(LEAD, Ordering::Relaxed);
        drop(queue);
        seat.unpark();
    }

    /// Takes the queue up to the first large transaction, or that alone if it is the first.
    fn take(&self) -> Vec<Entry> {
        let mut queue = self.latch.lock();
        let left = match queue.entries.iter().position(Entry::is_large) {
            Some(at) => queue.entries.split_off(at.max(1)),
            None => Vec::with_capacity(queue.entries.len()),
        };
        let group = std::mem::replace(&mut queue.entries, left);
        group.iter().for_each(|entry| entry.seat.taken.store(true, Ordering::Relaxed));
        group
    }

    /// Waits for more sessions to join, as `binlog_group_commit_sync_delay` asks.
    fn delay(&self, delay: Duration, enough: usize) {
        let mut queue = self.latch.lock();
        if queue.entries.len() < enough {
            queue.wake_at = Some(enough);
            self.grown.wait_while_for(&mut queue, |q| q.entries.len() < enough, delay);
            queue.wake_at = None;
        }
    }
}

impl Seat {
    fn new() -> Self {
        Self {
            state: AtomicU8::new(WAITING),
            taken: AtomicBool::new(false),
            thread: OnceLock::new(),
            outcome: OnceLock::new(),
        }
    }

    fn unpark(&self) {
        self.thread.get().expect("a thread is known before its seat says that it is parked").unpark();
    }

    /// Step 8, second half.
    fn finish(&self, outcome: Result<Committed, CommitError>) {
        self.outcome.set(outcome).expect("an entry is in one group, and has one outcome");
        if self.state.swap(DONE, Ordering::AcqRel) == PARKED {
            self.unpark();
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
            hook.refused();
            seat.finish(Err(CommitError::Refused(error)));
            return Ticket { shared: self.clone(), seat };
        }
        let entry = Entry { group: Some(group), gtid, hook, seat: seat.clone(), end: LogPosition::ZERO };
        let mut queue = self.queue.latch.lock();
        queue.entries.push(entry);
        if queue.wake_at.is_some_and(|n| queue.entries.len() >= n) {
            self.queue.grown.notify_one();
        }
        Ticket { shared: self.clone(), seat }
    }

    /// Steps 2 to 8, for the queue as it is.
    fn lead(&self) {
        let guard = NoHalfGroup;
        let mut leader = self.leader.lock();
        if let Some((delay, enough)) = self.settings.group_delay() {
            self.queue.delay(delay, enough);
        }
        let mut group = self.queue.take();
        assert!(!group.is_empty(), "a leader's own entry is in the queue");
        let outcome = self.commit_group(&mut leader, &mut group);
        if outcome.is_ok() && leader.active.end >= self.settings.max_binlog_size() {
            // Rare, and the members need not wait for it.
            finish_members(group, &outcome);
            if let Err(error) = self.rotate(&mut leader) {
                tracing::warn!(%error, "could not rotate the binary log; the next group tries again");
            }
            drop(leader);
            self.queue.hand_over();
        } else {
            drop(leader);
            self.queue.hand_over();
            finish_members(group, &outcome);
        }
        std::mem::forget(guard);
    }

    /// Steps 3 to 7.
    fn commit_group(&self, leader: &mut Leader, group: &mut [Entry]) -> Result<(), CommitError> {
        if let [entry] = &mut *group
            && entry.is_large()
        {
            return self.commit_large(leader, entry);
        }
        let start = leader.active.end;
        if let Err(error) = self.write_or_cut(leader, group) {
            self.status.refused.add(group.len() as u64);
            group.iter_mut().for_each(|entry| entry.hook.refused());
            return Err(error);
        }
        let end = leader.active.position();
        assert!(end > self.progress.ordered.get(), "the log only grows (G1)");
        *self.written.lock() = Written { file: leader.active.file.clone(), end };
        for entry in group.iter_mut() {
            entry.hook.ordered(entry.end);
        }
        self.progress.advance(&self.progress.ordered, end);
        self.count(group.len(), leader.active.end - start);
        if self.settings.group_waits(&mut leader.unflushed_groups) {
            self.flush_to(end).map_err(CommitError::Unknown)?;
        } else {
            self.background.flush_soon();
        }
        self.publish(group, end);
        Ok(())
    }

    /// Steps 3 to 7 for a transaction with a file of its own (`large.rs`).
    fn commit_large(&self, leader: &mut Leader, entry: &mut Entry) -> Result<(), CommitError> {
        let joined = match entry.gtid {
            Some(gtid) => Ok(gtid),
            None => next_gtid(&leader.gtids, self.maker.server_uuid),
        };
        let group = entry.group.as_mut().expect("an entry is stamped once");
        let joined = joined.map_err(CommitError::Refused).and_then(|gtid| {
            entry.gtid = Some(gtid);
            self.join(leader, group, gtid, &mut |position| entry.hook.ordered(position))
        });
        match joined {
            Ok(end) => {
                entry.end = end;
                self.count(1, group.stamped_len() as u64);
                Ok(())
            }
            Err(error) => {
                self.status.refused.add(1);
                entry.hook.refused();
                Err(error)
            }
        }
    }

    fn count(&self, transactions: usize, bytes: u64) {
        self.status.transactions.add(transactions as u64);
        self.status.groups.add(1);
        self.status.group_size.record(transactions as u64);
        self.status.bytes_written.add(bytes);
    }

    /// Steps 3 and 4, or nothing of them (G3).
    fn write_or_cut(&self, leader: &mut Leader, group: &mut [Entry]) -> Result<(), CommitError> {
        self.progress.check().map_err(CommitError::Refused)?;
        let before = (leader.active.end, leader.active.sequence);
        let Err(error) = self.order_and_write(leader, group) else { return Ok(()) };
        (leader.active.end, leader.active.sequence) = before;
        leader.gtids = self.executed.lock().clone();
        leader.buffer = Vec::new();
        match self.cut_back(&mut leader.active) {
            Ok(()) => Err(CommitError::Refused(error)),
            Err(latched) => Err(CommitError::Unknown(latched)),
        }
    }

    /// Steps 3 and 4.
    fn order_and_write(&self, leader: &mut Leader, group: &mut [Entry]) -> Result<(), LogError> {
        let Leader { active, gtids, buffer, .. } = leader;
        let commit_timestamp = self.env.now();
        let last_committed = active.sequence;
        let mut at = active.end;
        buffer.clear();
        for entry in group {
            let events = entry.group.take().expect("an entry is stamped once");
            let gtid = match entry.gtid {
                Some(gtid) => gtid,
                None => next_gtid(gtids, self.maker.server_uuid)?,
            };
            gtids.add(gtid);
            entry.gtid = Some(gtid);
            active.sequence += 1;
            let stamp = GtidStamp {
                gtid: Some(gtid),
                last_committed,
                sequence_number: active.sequence,
                commit_timestamp,
            };
            let start = at;
            at += events.stamped_len() as u64;
            if at > LogPosition::OFFSET_MAX - PAD {
                return Err(LogError::Exhausted("room in one file"));
            }
            entry.end = LogPosition::new(active.number, at);
            if events.stamped_len() <= PIECE {
                events.stamp(&stamp, start, buffer);
            } else {
                let body = events.stamp_in_place(&stamp, start, buffer);
                active.append(buffer)?;
                active.append(&body)?;
                buffer.clear();
            }
            if buffer.len() >= PIECE {
                active.append(buffer)?;
                buffer.clear();
            }
        }
        active.append_padded(buffer, self.settings.max_binlog_size())?;
        assert_eq!(active.end, at, "each group is as long as it said (B1)");
        Ok(())
    }

    /// Cuts the file at the end that the leader knows, durably; or latches.
    pub(super) fn cut_back(&self, active: &mut Active) -> Result<(), LogError> {
        let _turn = self.flush_turn.lock();
        self.progress.check()?;
        active.allocated = active.end;
        let cut = active.file.set_len(active.end).and_then(|()| active.file.sync_data());
        cut.map_err(|e| {
            self.progress.latch_failure(&LogError::io("cutting a refused group off the binary log", e))
        })?;
        let flushed = self.written.lock().end;
        self.progress.advance(&self.progress.durable, flushed);
        Ok(())
    }

    /// Step 6: makes the log durable up to `wanted` at least, in one flush or none; or latches (G4).
    pub(super) fn flush_to(&self, wanted: LogPosition) -> Result<(), LogError> {
        let _turn = self.flush_turn.lock();
        if self.progress.durable.get() >= wanted {
            return Ok(());
        }
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        let (file, end) = {
            let written = self.written.lock();
            (written.file.clone(), written.end)
        };
        assert!(end >= wanted, "nobody knows of a position that is not written");
        self.flush_file(file.as_ref())?;
        self.progress.advance(&self.progress.durable, end);
        Ok(())
    }

    /// One flush, in its turn, counted and timed; latches if it fails.
    pub(super) fn flush_file(&self, file: &dyn File) -> Result<(), LogError> {
        let begun = self.env.monotonic();
        let result = file.sync_data();
        let took = self.env.monotonic().saturating_sub(begun);
        self.status.flushes.add(1);
        self.status.flush_us.record(took.as_micros() as u64);
        result.map_err(|e| self.progress.latch_failure(&LogError::io("flushing the binary log", e)))
    }

    /// Step 7.
    fn publish(&self, group: &[Entry], end: LogPosition) {
        let mut executed = self.executed.lock();
        for entry in group {
            executed.add(entry.gtid.expect("each member got one when it was ordered"));
        }
        drop(executed);
        self.progress.advance(&self.progress.visible, end);
    }
}

/// Ends the process unless it is forgotten, so when its holder panics: a group half written or half applied is for
/// recovery to judge, and the other members would wait for ever.
struct NoHalfGroup;

impl Drop for NoHalfGroup {
    fn drop(&mut self) {
        tracing::error!("a panic in the middle of a commit group: the process ends, a restart recovers");
        std::process::abort();
    }
}

/// Step 8, second half.
fn finish_members(group: Vec<Entry>, outcome: &Result<(), CommitError>) {
    for entry in group {
        let committed = || Committed {
            position: entry.end,
            gtid: entry.gtid.expect("each member got one when it was ordered"),
        };
        entry.seat.finish(outcome.clone().map(|()| committed()));
    }
}

fn next_gtid(gtids: &GtidSet, uuid: Uuid) -> Result<Gtid, LogError> {
    let gno = gtids.next_gno(uuid);
    if gno > Gtid::GNO_MAX { Err(LogError::Exhausted("transaction numbers")) } else { Ok(Gtid { uuid, gno }) }
}

impl Active {
    /// Writes at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_at(bytes, self.end).map_err(|e| LogError::io("writing the binary log", e))?;
        self.end += bytes.len() as u64;
        self.allocated = self.allocated.max(self.end);
        Ok(())
    }

    /// Writes at the end; when that grows the file, and by little, some zeros behind it, as far as `limit`. They spare
    /// the next groups' flushes the journal write that a changed length costs.
    fn append_padded(&mut self, buffer: &mut Vec<u8>, limit: u64) -> Result<(), LogError> {
        let length = buffer.len();
        let end = self.end + length as u64;
        if end <= self.allocated || length as u64 > PAD_WORTH || end >= limit || length == 0 {
            return self.append(buffer);
        }
        buffer.resize(length + PAD.min(limit - end) as usize, 0);
        let padded = self.file.write_at(buffer, self.end);
        let padded_end = self.end + buffer.len() as u64;
        buffer.truncate(length);
        if padded.is_err() {
            // The disk may have room for the group, if not for the zeros.
            return self.append(buffer);
        }
        self.end = end;
        self.allocated = padded_end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: Committed =
        Committed { position: LogPosition::ZERO, gtid: Gtid { uuid: Uuid([0; 16]), gno: 1 } };

    /// A session looked for its outcome and found none; the leader then finished it, while a next leader was at work.
    /// It once parked here, with nobody left to wake it.
    #[test]
    fn a_seat_that_was_done_before_it_parked_does_not_park() {
        let (queue, seat) = (Queue::default(), Seat::new());
        queue.latch.lock().led = true;
        seat.finish(Ok(COMMITTED));
        assert!(matches!(queue.turn(&seat), Turn::Done));
    }

    /// Its group is about to be finished, and nobody leads the next one: it once led an empty group, with the delay of
    /// `binlog_group_commit_sync_delay`.
    #[test]
    fn a_seat_in_a_group_does_not_lead_another() {
        let (queue, seat) = (Queue::default(), Seat::new());
        seat.taken.store(true, Ordering::Relaxed);
        assert!(matches!(queue.turn(&seat), Turn::Park));
    }

    #[test]
    fn one_leads_and_the_others_park() {
        let (queue, first, second) = (Queue::default(), Seat::new(), Seat::new());
        assert!(matches!(queue.turn(&first), Turn::Lead));
        assert!(matches!(queue.turn(&second), Turn::Park));
        assert!(matches!(queue.turn(&second), Turn::Park), "woken for no reason");
        queue.hand_over();
        assert!(!queue.latch.lock().led, "nobody in the queue is parked: the next to wait leads");
        second.finish(Ok(COMMITTED));
        assert!(matches!(queue.turn(&second), Turn::Done));
    }
}
