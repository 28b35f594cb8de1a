//! Who waits for a commit, and who does the work: the roles of [`super::commit`], given out under
//! one latch.
//!
//! A waiting session asks [`Queue::turn`] what to do. It leads a flush, orders what is queued, or
//! sleeps; whenever a role falls free while only sleepers are left to take it, one of them is
//! called. Instead of sleeping a session may leave, and have its client told by whoever finishes
//! its entry; if none but such are left, the log's own thread leads.
//!
//! (Q1) An entry is in `entries`, or in the hands of whoever holds the log's `leader`, or a member
//!      in `ordered`, or finished.
//! (Q2) While `entries` is not empty somebody orders, leads, or is awake and about to ask for its
//!      turn.
//! (Q3) While members wait for a flush to begin there is a next leader, or one of them is awake, or
//!      the stand-in is called.
//! (Q4) A session that leads has an entry in the group: none does others' work after its own.
//! (Q5) No two groups in flight have the same slot, and so the same descriptor to flush through
//!      (G4 of `commit.rs`).
//!
//! [`QueueState::check_invariants`] walks over them in builds that do (`env::INVARIANTS`), whenever
//! the latch is given back at a place where somebody may fall asleep for good.

use super::commit::{CommitHook, Committed};
use super::error::CommitError;
use super::pace::{Pace, SLOTS};
use super::progress::Published;
use crate::group::EventGroup;
use crate::gtid::{Gtid, GtidSet};
use crate::position::LogPosition;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// Where a waiting session is found.
pub(super) struct Seat {
    /// `WAITING`, `PARKED`, `CALLED` or `DONE`. Changed under the queue's latch, but for `DONE`,
    /// which is stored after `outcome` (release; the waiter's load acquires) and never overwritten.
    state: AtomicU8,
    /// A flush for its entry was begun, or is needed no more. Read and written under the queue's
    /// latch.
    taken: AtomicBool,
    thread: OnceLock<Thread>,
    outcome: OnceLock<Outcome>,
    /// Whom its session wants told, so that it need not wait itself.
    witness: Mutex<Option<Witness>>,
    /// For tests that play its thread.
    #[cfg(test)]
    unparked: AtomicBool,
}

/// A sleeper that was chosen for a role: it wakes when this is dropped, which needs no latch.
/// Nobody can be called and left asleep: it could not be called again.
#[must_use]
struct Called(Arc<Seat>);

impl Drop for Called {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// What a transaction has become, or why not.
type Outcome = Result<Committed, CommitError>;

/// Is told once what became of a transaction.
pub(super) type Witness = Box<dyn FnOnce(Outcome) + Send>;

/// Awake, or not waited for yet.
const WAITING: u8 = 0;
/// Its thread is parked.
const PARKED: u8 = 1;
/// It was woken to take a role.
const CALLED: u8 = 2;
/// The outcome is there.
const DONE: u8 = 3;
/// Its session does something else; whoever finishes it tells its witness.
const LEFT: u8 = 4;

/// What a session that waits does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Order what is queued, and lead the next flush.
    Lead(Since),
    /// Order what is queued.
    Order,
    /// Sleep until woken, or for as long as it says.
    Park(Option<Duration>),
    /// Go: its witness will be told.
    Leave,
    /// See the outcome.
    Done,
}

/// A leader's wait for its flush to begin, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) waited: Duration,
    pub(super) now: Duration,
}

/// A transaction whose place is not fixed yet.
pub(super) struct Entry {
    /// Taken when it is stamped.
    pub(super) group: Option<EventGroup>,
    /// The GTID it must have: an applier's. `None` gets the next one of this server.
    pub(super) gtid: Option<Gtid>,
    pub(super) hook: Box<dyn CommitHook>,
    pub(super) seat: Arc<Seat>,
    pub(super) end: LogPosition,
}

impl Entry {
    /// True if its events are in a file of their own.
    pub(super) fn is_large(&self) -> bool {
        self.group.as_ref().is_some_and(EventGroup::is_large)
    }

    /// What it is once it is ordered.
    pub(super) fn as_member(&self) -> Member {
        let gtid = self.gtid.expect("each got one when it was stamped");
        Member { seat: self.seat.clone(), committed: Committed { position: self.end, gtid } }
    }
}

/// A transaction whose place is fixed.
pub(super) struct Member {
    pub(super) seat: Arc<Seat>,
    pub(super) committed: Committed,
}

#[derive(Default)]
pub(super) struct Queue {
    latch: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    entries: Vec<Entry>,
    /// Somebody orders `entries`, or is about to.
    ordering: bool,
    /// Ordered and not published, in log order.
    ordered: VecDeque<Member>,
    /// For how many of them, from the back, no flush was begun.
    unbegun: usize,
    /// Who begins the next flush as soon as it may.
    next_leader: Option<Arc<Seat>>,
    /// When it became that.
    next_since: Duration,
    /// Groups being written or flushed: who leads, or is about to.
    in_flight: usize,
    /// The slots that they have, as bits (Q5).
    slots: u32,
    /// Groups begun so far.
    flights: u64,
    pace: Pace,
    /// How many waiting transactions end a delay.
    wake_at: Option<usize>,
    /// The seat of the log's own thread, if it has one. It has no entry.
    stand_in: Option<Arc<Seat>>,
}

/// Who is to be told after the latch was left.
#[must_use = "sleepers are woken by whoever takes them out of the queue"]
pub(super) struct Wake {
    pub(super) members: Vec<Member>,
    called: Option<Called>,
}

const _: () = assert!(SLOTS <= u32::BITS as usize);

/// A group on its way: taken out of the queue with [`Queue::begin`], given back when it is
/// published or has failed.
pub(super) struct Flight {
    /// How many members are in it, and in no earlier one.
    pub(super) members: usize,
    pub(super) slot: usize,
    /// No other group was in flight when it began.
    pub(super) is_first: bool,
    number: u64,
    /// How long its flush took, if it had one.
    pub(super) took: Option<Duration>,
}

/// What decides when a flush may begin.
pub(super) struct Moment {
    /// Every group waits for its flush, so that they may overlap.
    pub(super) is_strict: bool,
    /// The monotonic clock.
    pub(super) now: Duration,
    /// `binlog_group_commit_sync_delay`, and how many transactions end it.
    pub(super) delay: Option<(Duration, usize)>,
}

impl Seat {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU8::new(WAITING),
            taken: AtomicBool::new(false),
            thread: OnceLock::new(),
            outcome: OnceLock::new(),
            witness: Mutex::default(),
            #[cfg(test)]
            unparked: AtomicBool::new(false),
        }
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.get()
    }

    /// From here on its thread can't be called; false if it is done.
    fn is_awake(&self) -> bool {
        let awake = |state| (state != DONE).then_some(WAITING);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, awake).is_ok()
    }

    /// Chooses it for a role, if it is parked.
    fn call(self: &Arc<Self>) -> Option<Called> {
        let called = self.state.compare_exchange(PARKED, CALLED, Ordering::AcqRel, Ordering::Acquire);
        called.is_ok().then(|| Called(self.clone()))
    }

    fn unpark(&self) {
        #[cfg(test)]
        self.unparked.store(true, Ordering::Relaxed);
        self.thread.get().expect("a thread is known before its seat says that it is parked").unpark();
    }

    /// From here on its session may leave instead of sleeping.
    pub(super) fn set_witness(&self, witness: Witness) {
        *self.witness.lock() = Some(witness);
    }

    pub(super) fn finish(&self, outcome: Outcome) {
        self.outcome.set(outcome).expect("an entry has one outcome");
        match self.state.swap(DONE, Ordering::AcqRel) {
            PARKED => self.unpark(),
            LEFT => self.tell(),
            _ => {}
        }
    }

    /// Tells the witness the outcome, which is there.
    pub(super) fn tell(&self) {
        let witness = self.witness.lock().take();
        if let (Some(witness), Some(outcome)) = (witness, self.outcome.get()) {
            witness(outcome.clone());
        }
    }

    /// Its thread has nothing to do: from here on it sleeps, or is gone. An error if it is done by
    /// now.
    fn rest(&self, may_leave: bool) -> Result<u8, u8> {
        // Before the state says that there is someone to wake.
        self.thread.get_or_init(thread::current);
        let rest = if may_leave && self.witness.lock().is_some() { LEFT } else { PARKED };
        self.state.compare_exchange(WAITING, rest, Ordering::AcqRel, Ordering::Acquire).map(|_| rest)
    }

    /// Its thread will ask for its turn again, or can be called.
    fn is_here(&self) -> bool {
        self.state.load(Ordering::Acquire) != LEFT
    }
}

impl Wake {
    /// Calls the next leader, if that was not done.
    pub(super) fn call_leader(&mut self) {
        drop(self.called.take());
    }

    /// Calls the next leader first, then tells the members how it went.
    pub(super) fn wake(mut self, outcome: &Result<(), CommitError>) {
        self.call_leader();
        for Member { seat, committed } in self.members {
            seat.finish(outcome.clone().map(|()| committed));
        }
    }
}

impl Queue {
    pub(super) fn enqueue(&self, entry: Entry) {
        let mut queue = self.latch.lock();
        queue.entries.push(entry);
        let called = queue.end_delay();
        drop(queue);
        drop(called);
    }

    /// What the seat's thread does next.
    ///
    /// It parks only once its state says so: a seat that is done by then was not woken, for nobody
    /// knew that it slept.
    pub(super) fn turn(&self, seat: &Arc<Seat>, moment: impl FnOnce() -> Moment) -> Turn {
        let mut queue = self.latch.lock();
        if !seat.is_awake() {
            return Turn::Done;
        }
        let mut timeout = None;
        if queue.may_lead(seat) {
            let moment = moment();
            timeout = match queue.hold_back(&moment) {
                Some(timeout) => timeout,
                None => {
                    let waited = if queue.next_leader.is_some() { queue.next_since } else { moment.now };
                    queue.next_leader = None;
                    queue.wake_at = None;
                    queue.in_flight += 1;
                    queue.pace.begin(moment.now);
                    return Turn::Lead(Since { waited, now: moment.now });
                }
            };
            if queue.next_leader.is_none() {
                (queue.next_leader, queue.next_since) = (Some(seat.clone()), moment.now);
            }
        }
        if !queue.ordering && !queue.entries.is_empty() {
            queue.ordering = true;
            return Turn::Order;
        }
        let leads_next = queue.next_leader.as_ref().is_some_and(|next| Arc::ptr_eq(next, seat));
        let rests = seat.rest(!leads_next && queue.stand_in.is_some());
        queue.check_invariants();
        match rests {
            Err(_) => Turn::Done,
            Ok(LEFT) => Turn::Leave,
            Ok(_) => Turn::Park(timeout),
        }
    }

    /// A seat for the log's own thread. From here on sessions may leave.
    pub(super) fn stand_in(&self) -> Arc<Seat> {
        self.latch.lock().stand_in.get_or_insert_with(|| Arc::new(Seat::new())).clone()
    }

    /// Takes all that is queued; the caller holds the log's `leader`.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut queue = self.latch.lock();
        let room = Vec::with_capacity(queue.entries.len());
        std::mem::replace(&mut queue.entries, room)
    }

    /// Their places are fixed; the caller holds the log's `leader`.
    pub(super) fn add_ordered(&self, members: impl ExactSizeIterator<Item = Member>) {
        let mut queue = self.latch.lock();
        queue.unbegun += members.len();
        for member in members {
            let last = queue.ordered.back().map_or(LogPosition::ZERO, |last| last.committed.position);
            assert!(last <= member.committed.position, "members are added in log order (G1)");
            queue.ordered.push_back(member);
        }
    }

    /// Whoever ordered asks whether it may stop: when nothing is queued, or when it is tired and
    /// others can go on.
    pub(super) fn stop_ordering(&self, tired: bool) -> bool {
        let mut queue = self.latch.lock();
        let others_can = || queue.entries.iter().any(|entry| entry.seat.is_here());
        if !(queue.entries.is_empty() || tired && others_can()) {
            return false;
        }
        queue.ordering = false;
        let heir = queue.entries.iter().find_map(|entry| entry.seat.call());
        // What was in the caller's hands was not counted meanwhile.
        let leader = queue.end_delay().or_else(|| queue.call_a_leader());
        queue.check_invariants();
        drop(queue);
        drop((heir, leader));
        true
    }

    /// These entries were refused; the caller finishes them.
    pub(super) fn dismiss(&self, entries: &[Entry]) {
        let mut queue = self.latch.lock();
        // Who is refused but not told yet must not wait to lead, as in `retire`.
        entries.iter().for_each(|entry| entry.seat.taken.store(true, Ordering::Relaxed));
        queue.release_leader();
        let called = queue.call_a_leader();
        queue.check_invariants();
        drop(queue);
        drop(called);
    }

    /// A flush begins for all that is ordered. The caller leads, and holds the log's `leader`.
    pub(super) fn begin(&self) -> Flight {
        let mut queue = self.latch.lock();
        let members = std::mem::take(&mut queue.unbegun);
        let from = queue.ordered.len() - members;
        queue.ordered.range(from..).for_each(|member| member.seat.taken.store(true, Ordering::Relaxed));
        // It may have asked for its turn while the caller was about to order its entry.
        queue.release_leader();
        let slot = queue.slots.trailing_ones() as usize;
        assert!(slot < SLOTS, "there are no more groups in flight than slots (Q5)");
        let is_first = queue.slots == 0;
        queue.slots |= 1 << slot;
        queue.flights += 1;
        Flight { members, slot, is_first, number: queue.flights, took: None }
    }

    /// Takes the members up to a position, and adds their GTIDs to those published. `ended` is the
    /// caller's own group, if it leads one.
    pub(super) fn publish(
        &self,
        to: LogPosition,
        published: &Mutex<Published>,
        ended: Option<Flight>,
    ) -> Wake {
        let mut queue = self.latch.lock();
        let count = queue.ordered.partition_point(|member| member.committed.position <= to);
        let members: Vec<Member> = queue.ordered.drain(..count).collect();
        let mut published = published.lock();
        published.position = published.position.max(to);
        members.iter().for_each(|member| published.gtids.add(member.committed.gtid));
        drop(published);
        queue.retire(members, ended)
    }

    /// Asserts Q1, which holds between any two steps.
    #[cfg(test)]
    fn check_members(&self) {
        self.latch.lock().check_members();
    }

    /// Where the last member up to a position ends.
    pub(super) fn last_ordered(&self, to: LogPosition) -> Option<LogPosition> {
        let queue = self.latch.lock();
        let count = queue.ordered.partition_point(|member| member.committed.position <= to);
        Some(queue.ordered.get(count.checked_sub(1)?)?.committed.position)
    }

    /// How many members there are up to a position.
    pub(super) fn count_ordered(&self, to: LogPosition) -> usize {
        self.latch.lock().ordered.partition_point(|member| member.committed.position <= to)
    }

    /// Takes all members: the log has failed.
    pub(super) fn abandon(&self, ended: Option<Flight>) -> Wake {
        let mut queue = self.latch.lock();
        let members = queue.ordered.drain(..).collect();
        queue.retire(members, ended)
    }

    /// Those of GTIDs that are ordered and not published, added to those published.
    pub(super) fn gtids(&self, published: &Mutex<Published>) -> GtidSet {
        let queue = self.latch.lock();
        let mut gtids = published.lock().gtids.clone();
        queue.ordered.iter().for_each(|member| gtids.add(member.committed.gtid));
        gtids
    }
}

impl QueueState {
    fn waiting(&self) -> usize {
        self.entries.len() + self.unbegun
    }

    /// Q4.
    fn may_lead(&self, seat: &Arc<Seat>) -> bool {
        let free = self.next_leader.as_ref().is_none_or(|next| Arc::ptr_eq(next, seat));
        free && if self.stands_in(seat) { self.unbegun > 0 } else { !seat.taken.load(Ordering::Relaxed) }
    }

    fn stands_in(&self, seat: &Arc<Seat>) -> bool {
        self.stand_in.as_ref().is_some_and(|stand_in| Arc::ptr_eq(stand_in, seat))
    }

    /// How long the next flush has to wait before it may begin, if it has to: for others in flight,
    /// or as `binlog_group_commit_sync_delay` asks.
    fn hold_back(&mut self, moment: &Moment) -> Option<Option<Duration>> {
        let wait = if moment.is_strict {
            self.pace.hold_back(self.in_flight, moment.now)
        } else {
            (self.in_flight > 0).then_some(None)
        };
        if wait.is_some() {
            return wait;
        }
        let (delay, enough) = moment.delay?;
        let since = if self.next_leader.is_some() { self.next_since } else { moment.now };
        let rest = (since + delay).saturating_sub(moment.now);
        if rest.is_zero() || self.waiting() >= enough {
            return None;
        }
        self.wake_at = Some(enough);
        Some(Some(rest))
    }

    /// Calls the next leader if it delays and has what it delays for.
    fn end_delay(&self) -> Option<Called> {
        let enough = self.wake_at.is_some_and(|n| self.waiting() >= n);
        if enough { self.call_next_leader() } else { None }
    }

    fn call_next_leader(&self) -> Option<Called> {
        self.next_leader.as_ref().and_then(Seat::call)
    }

    fn land(&mut self, flight: &Flight) {
        assert!(self.slots & (1 << flight.slot) != 0, "a group gives its own slot back (Q5)");
        self.in_flight -= 1;
        self.slots &= !(1 << flight.slot);
        if let Some(took) = flight.took {
            self.pace.end(took, flight.is_first && flight.number == self.flights);
        }
    }

    /// Nobody is the next leader if whoever was is taken, or the stand-in, for whom it was called
    /// may be taken too.
    fn release_leader(&mut self) {
        let stays = |next: &Arc<Seat>| !next.taken.load(Ordering::Relaxed) && !self.stands_in(next);
        if !self.next_leader.as_ref().is_some_and(stays) {
            self.next_leader = None;
        }
    }

    /// Q3.
    fn call_a_leader(&self) -> Option<Called> {
        if self.next_leader.is_some() || self.unbegun == 0 {
            return None;
        }
        let from = self.ordered.len() - self.unbegun;
        let mut members = self.ordered.range(from..).map(|member| &member.seat);
        let called = members.clone().find_map(Seat::call);
        if called.is_some() || members.any(|seat| seat.is_here()) {
            return called;
        }
        self.stand_in.as_ref().and_then(Seat::call)
    }

    /// After members were taken out of `ordered`, by a leader whose group ended or by somebody
    /// else.
    fn retire(&mut self, members: Vec<Member>, ended: Option<Flight>) -> Wake {
        // Who is taken out but not told yet must not wait to lead: nobody would lead once it is
        // told (Q3).
        members.iter().for_each(|member| member.seat.taken.store(true, Ordering::Relaxed));
        let was_full = self.pace.is_full(self.in_flight);
        if let Some(flight) = ended {
            self.land(&flight);
        }
        if self.unbegun > self.ordered.len() {
            // A rotation or a checkpoint flushed for some that waited for a flush of their own.
            self.unbegun = self.ordered.len();
            self.release_leader();
        }
        let may_begin = self.in_flight == 0 || was_full && !self.pace.is_full(self.in_flight);
        let next = if may_begin { self.call_next_leader() } else { None };
        let called = next.or_else(|| self.call_a_leader());
        self.check_invariants();
        Wake { members, called }
    }
}

mod invariants;
#[cfg(test)]
mod schedules;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gtid::Uuid;

    const COMMITTED: Committed =
        Committed { position: LogPosition::ZERO, gtid: Gtid { uuid: Uuid([0; 16]), gno: 1 } };

    const LEAD: Turn = Turn::Lead(Since { waited: Duration::ZERO, now: Duration::ZERO });

    fn now() -> Moment {
        Moment { is_strict: true, now: Duration::ZERO, delay: None }
    }

    fn seat() -> Arc<Seat> {
        Arc::new(Seat::new())
    }

    /// A session looked for its outcome and found none; the leader then finished it, while a next
    /// leader was at work. It once parked here, with nobody left to wake it.
    #[test]
    fn a_seat_that_was_done_before_it_parked_does_not_park() {
        let (queue, seat) = (Queue::default(), seat());
        seat.finish(Ok(COMMITTED));
        assert_eq!(queue.turn(&seat, now), Turn::Done);
    }

    /// Its group is about to be finished, and nobody leads the next one: it once led an empty
    /// group, with the delay of `binlog_group_commit_sync_delay`.
    #[test]
    fn a_seat_in_a_group_does_not_lead_another() {
        let (queue, seat) = (Queue::default(), seat());
        seat.taken.store(true, Ordering::Relaxed);
        assert_eq!(queue.turn(&seat, now), Turn::Park(None));
    }

    /// The second session asked between the first one's turn and its group, which then took the
    /// second one's entry as well: it once stayed the next leader for ever, and nobody led.
    #[test]
    fn a_next_leader_that_is_taken_is_not_waited_for() {
        let (queue, first, second, third) = (Queue::default(), seat(), seat(), seat());
        assert_eq!(queue.turn(&first, now), LEAD);
        assert_eq!(queue.turn(&second, now), Turn::Park(None));
        let member = |seat: &Arc<Seat>| Member { seat: seat.clone(), committed: COMMITTED };
        queue.add_ordered([member(&first), member(&second)].into_iter());
        let flight = queue.begin();
        assert_eq!(flight.members, 2);
        queue.publish(COMMITTED.position, &Mutex::default(), Some(flight)).wake(&Ok(()));
        assert_eq!(queue.turn(&second, now), Turn::Done);
        assert_eq!(queue.turn(&third, now), LEAD);
    }

    /// A rotation published what nobody had begun to flush. Its session asked once more before it
    /// was told, became the next leader and left: nobody led again.
    #[test]
    fn who_is_published_and_not_told_yet_is_not_the_next_leader() {
        let (queue, first, second) = (Queue::default(), seat(), seat());
        queue.add_ordered([Member { seat: first.clone(), committed: COMMITTED }].into_iter());
        let wake = queue.publish(COMMITTED.position, &Mutex::default(), None);
        assert_eq!(queue.turn(&first, now), Turn::Park(None));
        wake.wake(&Ok(()));
        assert_eq!(queue.turn(&second, now), LEAD);
    }

    #[test]
    fn one_leads_one_is_next_and_the_others_park() {
        let (queue, first, second, third) = (Queue::default(), seat(), seat(), seat());
        assert_eq!(queue.turn(&first, now), LEAD);
        assert_eq!(queue.turn(&second, now), Turn::Park(None));
        assert_eq!(queue.turn(&second, now), Turn::Park(None), "woken for no reason");
        assert_eq!(queue.turn(&third, now), Turn::Park(None));
        let flight = queue.begin();
        let wake = queue.abandon(Some(flight));
        assert!(wake.called.as_ref().is_some_and(|called| Arc::ptr_eq(&called.0, &second)));
        wake.wake(&Ok(()));
        assert_eq!(queue.turn(&third, now), Turn::Park(None), "woken for no reason");
        assert_eq!(queue.turn(&second, now), LEAD);
    }

    /// A session that leaves, and how often its client was told.
    fn leaver() -> (Arc<Seat>, Arc<AtomicU8>) {
        let (seat, told) = (seat(), Arc::new(AtomicU8::new(0)));
        let counter = told.clone();
        seat.set_witness(Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        (seat, told)
    }

    #[test]
    fn who_has_a_witness_leaves_instead_of_sleeping_unless_it_is_to_lead() {
        let (queue, (first, _), (second, _), (third, told)) =
            (Queue::default(), leaver(), leaver(), leaver());
        assert_eq!(queue.turn(&first, now), LEAD);
        assert_eq!(queue.turn(&second, now), Turn::Park(None), "there is nobody who could stand in");
        queue.stand_in();
        assert_eq!(queue.turn(&second, now), Turn::Park(None), "it leads next");
        assert_eq!(queue.turn(&third, now), Turn::Leave);
        assert_eq!(told.load(Ordering::Relaxed), 0);
        third.finish(Ok(COMMITTED));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        third.tell();
        assert_eq!(told.load(Ordering::Relaxed), 1, "once");
    }

    /// The second left, for there was a next leader; that one was taken by the first one's group,
    /// the second was not.
    #[test]
    fn the_stand_in_leads_where_all_have_left() {
        let (queue, first, next, (left, told)) = (Queue::default(), seat(), seat(), leaver());
        let stand_in = queue.stand_in();
        assert_eq!(queue.turn(&stand_in, now), Turn::Park(None));
        assert_eq!(queue.turn(&first, now), LEAD);
        assert_eq!(queue.turn(&next, now), Turn::Park(None));
        assert_eq!(queue.turn(&left, now), Turn::Leave);
        let member = |seat: &Arc<Seat>| Member { seat: seat.clone(), committed: COMMITTED };
        queue.add_ordered([member(&first), member(&next)].into_iter());
        let flight = queue.begin();
        queue.add_ordered([member(&left)].into_iter());
        assert!(queue.stop_ordering(false));
        assert_eq!(stand_in.state.load(Ordering::Relaxed), CALLED);
        assert_eq!(queue.turn(&stand_in, now), Turn::Park(None), "one is in flight");
        let wake = queue.abandon(Some(flight));
        assert!(queue.latch.lock().next_leader.is_none(), "nobody is left to lead for");
        wake.wake(&Ok(()));
        assert_eq!(told.load(Ordering::Relaxed), 1);

        let (late, told) = leaver();
        queue.add_ordered([member(&late)].into_iter());
        late.rest(true).unwrap();
        assert!(queue.stop_ordering(false));
        assert_eq!(queue.turn(&stand_in, now), LEAD);
        let flight = queue.begin();
        assert_eq!(flight.members, 1);
        queue.publish(COMMITTED.position, &Mutex::default(), Some(flight)).wake(&Ok(()));
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(queue.turn(&stand_in, now), Turn::Park(None));
    }
}
