//! Who waits for a commit, and who does the work: the roles of [`super::commit`], given out under
//! one latch.
//!
//! A waiting session asks [`Queue::assign_role`] what to do. It leads a flush, orders what is
//! queued, or parks; when a role becomes free and only parked sessions could take it, one of them
//! is called. A session that has registered a completion callback need not park: it defers its
//! reply to the thread that finishes its entry. If only such sessions remain, the log's own thread
//! leads (the fallback leader).
//!
//! (Q1) An entry is in `entries`, or held by the thread that holds the log's `leader`, or a member
//!      in `ordered`, or finished.
//! (Q2) While `entries` is not empty some thread orders, leads, or is awake and about to ask for
//!      its role.
//! (Q3) While members wait for a flush to begin there is a next leader, or one of them is awake, or
//!      the fallback leader is called.
//! (Q4) A session that leads has an entry in the group: none does others' work after its own.
//! (Q5) No two groups in flight have the same slot, and so the same descriptor to flush through
//!      (G4 of `commit.rs`).
//!
//! [`QueueState::check_invariants`] asserts them in builds with `env::INVARIANTS`, wherever the
//! latch is released and a lost wake-up would park a thread forever.

use super::commit::{CommitHook, Committed};
use super::error::CommitError;
use super::pace::{HoldBack, Pace, SLOTS};
use super::progress::Published;
use crate::group::EventGroup;
use crate::gtid::{GtidSet, GtidSpecification};
use crate::position::LogPosition;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// The wait slot of one committing session.
pub(super) struct CommitWaiter {
    /// A [`WaiterState`]. Changed under the queue's latch, except to `Done`, which is stored after
    /// `outcome` (release; the waiter's load acquires) and never overwritten.
    state: AtomicU8,
    /// A flush for its entry was begun, or is needed no more. Read and written under the queue's
    /// latch.
    taken: AtomicBool,
    thread: OnceLock<Thread>,
    outcome: OnceLock<Outcome>,
    /// The session's completion callback, if it registered one instead of waiting.
    on_complete: Mutex<Option<OnComplete>>,
    /// Its session has other work to do than a flush: it orders, and leads no group.
    never_leads: AtomicBool,
    /// For tests that play its thread.
    #[cfg(test)]
    unparked: AtomicBool,
}

/// A parked session that was chosen for a role: dropping this unparks it, which needs no latch.
/// A guard, because a session that was called and not unparked could never be called again.
#[must_use]
struct Called(Arc<CommitWaiter>);

impl Drop for Called {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Where a transaction was committed, or why it was not.
type Outcome = Result<Committed, CommitError>;

/// Completion callback of a commit, called once.
pub(super) type OnComplete = Box<dyn FnOnce(Outcome) + Send>;

/// The states of a [`CommitWaiter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum WaiterState {
    /// Its thread runs, or does not wait for the outcome yet.
    Awake,
    /// Its thread is parked.
    Parked,
    /// Its thread was unparked to take a role.
    Called,
    /// The outcome is there.
    Done,
    /// Its session serves something else; the thread that finishes it runs the callback.
    Deferred,
}

/// What a session that waits does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Order what is queued, and lead the next flush.
    Lead(QueueWait),
    /// Order what is queued.
    Order,
    /// Park until unparked, or for this long.
    Park(Option<Duration>),
    /// Return: the thread that finishes the entry runs its completion callback.
    DeferReply,
    /// Read the outcome.
    Done,
}

/// A leader's wait for its flush to begin, on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueWait {
    pub(super) from: Duration,
    pub(super) to: Duration,
}

/// A transaction that is not ordered yet.
pub(super) struct Entry {
    /// Taken when it is stamped.
    pub(super) group: Option<EventGroup>,
    /// Assigned from when it is stamped on.
    pub(super) gtid: GtidSpecification,
    pub(super) hook: Box<dyn CommitHook>,
    pub(super) waiter: Arc<CommitWaiter>,
    pub(super) end: LogPosition,
}

impl Entry {
    /// True if its events are in a file of their own.
    pub(super) fn is_large(&self) -> bool {
        self.group.as_ref().is_some_and(EventGroup::is_large)
    }

    /// The member that it becomes once it is ordered.
    pub(super) fn as_member(&self) -> Member {
        let gtid = self.gtid.assigned().expect("each got one when it was stamped");
        Member { waiter: self.waiter.clone(), committed: Committed { position: self.end, gtid } }
    }
}

/// A transaction that is ordered: its position in the log is fixed.
pub(super) struct Member {
    pub(super) waiter: Arc<CommitWaiter>,
    pub(super) committed: Committed,
}

#[derive(Default)]
pub(super) struct Queue {
    latch: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    entries: Vec<Entry>,
    /// A thread orders `entries`, or is about to.
    ordering: bool,
    /// Ordered and not published, in log order.
    ordered: VecDeque<Member>,
    /// For how many of them, from the back, no flush was begun.
    unbegun: usize,
    /// The session that begins the next flush as soon as that may begin.
    next_leader: Option<Arc<CommitWaiter>>,
    /// When it became the next leader.
    next_since: Duration,
    /// Groups being written or flushed, and leaders that are about to take one.
    in_flight: usize,
    /// The slots in use, as bits (Q5).
    slots: u32,
    /// Groups begun so far.
    flights: u64,
    pace: Pace,
    /// How many waiting transactions end a delay.
    wake_at: Option<usize>,
    /// The waiter of the log's own thread, if there is one. It has no entry.
    fallback_leader: Option<Arc<CommitWaiter>>,
}

/// The sessions to wake once the latch is released.
#[must_use = "parked sessions are woken by the thread that takes them out of the queue"]
pub(super) struct Wake {
    pub(super) members: Vec<Member>,
    called: Option<Called>,
}

const _: () = assert!(SLOTS <= u32::BITS as usize);

/// A commit group in flight: taken out of the queue with [`Queue::begin`], returned to it when it
/// is published or has failed.
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

impl CommitWaiter {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU8::new(WaiterState::Awake as u8),
            taken: AtomicBool::new(false),
            thread: OnceLock::new(),
            outcome: OnceLock::new(),
            on_complete: Mutex::default(),
            never_leads: AtomicBool::new(false),
            #[cfg(test)]
            unparked: AtomicBool::new(false),
        }
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.get()
    }

    fn is_in(&self, state: WaiterState) -> bool {
        self.state.load(Ordering::Acquire) == state as u8
    }

    /// Moves it to another state if it is in `from`.
    fn transition(&self, from: WaiterState, to: WaiterState) -> bool {
        self.state.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Marks it awake, so that it can't be called; false if it is done.
    fn set_awake_unless_done(&self) -> bool {
        let awake = |state| (state != WaiterState::Done as u8).then_some(WaiterState::Awake as u8);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, awake).is_ok()
    }

    /// Chooses it for a role, if it is parked.
    fn call(self: &Arc<Self>) -> Option<Called> {
        self.transition(WaiterState::Parked, WaiterState::Called).then(|| Called(self.clone()))
    }

    fn unpark(&self) {
        #[cfg(test)]
        self.unparked.store(true, Ordering::Relaxed);
        self.thread.get().expect("a thread is known before its waiter says that it is parked").unpark();
    }

    /// From here on its session may defer its reply instead of parking.
    pub(super) fn set_on_complete(&self, on_complete: OnComplete) {
        *self.on_complete.lock() = Some(on_complete);
    }

    /// From here on its session leads no group, but leaves that to others; it has a callback.
    pub(super) fn set_never_leads(&self) {
        self.never_leads.store(true, Ordering::Relaxed);
    }

    pub(super) fn finish(&self, outcome: Outcome) {
        self.outcome.set(outcome).expect("an entry has one outcome");
        let before = self.state.swap(WaiterState::Done as u8, Ordering::AcqRel);
        if before == WaiterState::Parked as u8 {
            self.unpark();
        } else if before == WaiterState::Deferred as u8 {
            self.run_on_complete();
        }
    }

    /// Calls the completion callback, if it was not called yet, with the outcome, which is there.
    pub(super) fn run_on_complete(&self) {
        let on_complete = self.on_complete.lock().take();
        if let (Some(on_complete), Some(outcome)) = (on_complete, self.outcome.get()) {
            on_complete(outcome.clone());
        }
    }

    /// No role is free for its thread, which is about to park, or to return with its reply
    /// deferred: the state says which. `None` if it is done by now.
    fn set_idle(&self, may_defer: bool) -> Option<WaiterState> {
        // Before the state says that there is a thread to unpark.
        self.thread.get_or_init(thread::current);
        let defers = may_defer && self.on_complete.lock().is_some();
        let idle = if defers { WaiterState::Deferred } else { WaiterState::Parked };
        self.transition(WaiterState::Awake, idle).then_some(idle)
    }

    /// Its thread will ask for its role again, or can be called.
    fn can_take_role(&self) -> bool {
        !self.is_in(WaiterState::Deferred)
    }
}

impl Wake {
    /// Calls the next leader, if that was not done.
    pub(super) fn call_leader(&mut self) {
        drop(self.called.take());
    }

    /// Calls the next leader first, then finishes the members with this outcome.
    pub(super) fn wake(mut self, outcome: &Result<(), CommitError>) {
        self.call_leader();
        for Member { waiter, committed } in self.members {
            waiter.finish(outcome.clone().map(|()| committed));
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

    /// What the waiter's thread does next.
    ///
    /// It parks only once its state says so: a waiter that is done by then was not unparked, since
    /// its state did not say that it was parked.
    pub(super) fn assign_role(&self, waiter: &Arc<CommitWaiter>, moment: impl FnOnce() -> Moment) -> Role {
        let mut queue = self.latch.lock();
        if !waiter.set_awake_unless_done() {
            return Role::Done;
        }
        let mut timeout = None;
        if queue.may_lead(waiter) {
            let moment = moment();
            timeout = match queue.hold_back(&moment) {
                Some(HoldBack::UntilOneEnds) => None,
                Some(HoldBack::AtMost(timeout)) => Some(timeout),
                None => {
                    let from = if queue.next_leader.is_some() { queue.next_since } else { moment.now };
                    queue.next_leader = None;
                    queue.wake_at = None;
                    queue.in_flight += 1;
                    queue.pace.begin(moment.now);
                    return Role::Lead(QueueWait { from, to: moment.now });
                }
            };
            if queue.next_leader.is_none() {
                (queue.next_leader, queue.next_since) = (Some(waiter.clone()), moment.now);
            }
        }
        if !queue.ordering && !queue.entries.is_empty() {
            queue.ordering = true;
            return Role::Order;
        }
        let leads_next = queue.next_leader.as_ref().is_some_and(|next| Arc::ptr_eq(next, waiter));
        let idle = waiter.set_idle(!leads_next && queue.fallback_leader.is_some());
        // Who never leads is nobody's leader while it is awake either: it calls one.
        let leaves = idle == Some(WaiterState::Deferred) && waiter.never_leads.load(Ordering::Relaxed);
        let called = if leaves { queue.call_a_leader() } else { None };
        queue.check_invariants();
        drop(queue);
        drop(called);
        match idle {
            None => Role::Done,
            Some(WaiterState::Deferred) => Role::DeferReply,
            Some(_) => Role::Park(timeout),
        }
    }

    /// The waiter of the log's own thread. From here on sessions may defer their replies.
    pub(super) fn fallback_leader(&self) -> Arc<CommitWaiter> {
        self.latch.lock().fallback_leader.get_or_insert_with(|| Arc::new(CommitWaiter::new())).clone()
    }

    /// Takes all that is queued; the caller holds the log's `leader`.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut queue = self.latch.lock();
        let room = Vec::with_capacity(queue.entries.len());
        std::mem::replace(&mut queue.entries, room)
    }

    /// Adds members, which are ordered; the caller holds the log's `leader`.
    pub(super) fn add_ordered(&self, members: impl ExactSizeIterator<Item = Member>) {
        let mut queue = self.latch.lock();
        queue.unbegun += members.len();
        for member in members {
            let last = queue.ordered.back().map_or(LogPosition::ZERO, |last| last.committed.position);
            assert!(last <= member.committed.position, "members are added in log order (G1)");
            queue.ordered.push_back(member);
        }
    }

    /// Gives the orderer's role back, if nothing is queued, or if the caller has used up its rounds
    /// and another session can take over; false if the caller has to go on.
    pub(super) fn stop_ordering(&self, rounds_used_up: bool) -> bool {
        let mut queue = self.latch.lock();
        let others_can = || queue.entries.iter().any(|entry| entry.waiter.can_take_role());
        if !(queue.entries.is_empty() || rounds_used_up && others_can()) {
            return false;
        }
        queue.ordering = false;
        let next_orderer = queue.entries.iter().find_map(|entry| entry.waiter.call());
        // `waiting()` did not count the entries that the caller held meanwhile.
        let leader = queue.end_delay().or_else(|| queue.call_a_leader());
        queue.check_invariants();
        drop(queue);
        drop((next_orderer, leader));
        true
    }

    /// These entries were refused; the caller finishes them.
    pub(super) fn dismiss(&self, entries: &[Entry]) {
        let mut queue = self.latch.lock();
        // A waiter that is refused but not finished yet must not become the next leader, as in
        // `retire`.
        entries.iter().for_each(|entry| entry.waiter.taken.store(true, Ordering::Relaxed));
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
        queue.ordered.range(from..).for_each(|member| member.waiter.taken.store(true, Ordering::Relaxed));
        // The next leader may have been chosen while the caller was about to order its entry.
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
    fn may_lead(&self, waiter: &Arc<CommitWaiter>) -> bool {
        let free = self.next_leader.as_ref().is_none_or(|next| Arc::ptr_eq(next, waiter));
        free && if self.is_fallback_leader(waiter) {
            self.unbegun > 0
        } else {
            !waiter.taken.load(Ordering::Relaxed) && !waiter.never_leads.load(Ordering::Relaxed)
        }
    }

    fn is_fallback_leader(&self, waiter: &Arc<CommitWaiter>) -> bool {
        self.fallback_leader.as_ref().is_some_and(|fallback_leader| Arc::ptr_eq(fallback_leader, waiter))
    }

    /// What the next flush waits for before it may begin, if it has to: others in flight, or what
    /// `binlog_group_commit_sync_delay` asks for.
    fn hold_back(&mut self, moment: &Moment) -> Option<HoldBack> {
        let wait = if moment.is_strict {
            self.pace.hold_back(self.in_flight, moment.now)
        } else {
            (self.in_flight > 0).then_some(HoldBack::UntilOneEnds)
        };
        if wait.is_some() {
            return wait;
        }
        let (delay, enough) = moment.delay?;
        let since = if self.next_leader.is_some() { self.next_since } else { moment.now };
        let remaining = (since + delay).saturating_sub(moment.now);
        if remaining.is_zero() || self.waiting() >= enough {
            return None;
        }
        self.wake_at = Some(enough);
        Some(HoldBack::AtMost(remaining))
    }

    /// Calls the next leader if it delays and has what it delays for.
    fn end_delay(&self) -> Option<Called> {
        let enough = self.wake_at.is_some_and(|n| self.waiting() >= n);
        if enough { self.call_next_leader() } else { None }
    }

    fn call_next_leader(&self) -> Option<Called> {
        self.next_leader.as_ref().and_then(CommitWaiter::call)
    }

    fn land(&mut self, flight: &Flight) {
        assert!(self.slots & (1 << flight.slot) != 0, "a group gives its own slot back (Q5)");
        self.in_flight -= 1;
        self.slots &= !(1 << flight.slot);
        if let Some(took) = flight.took {
            self.pace.end(took, flight.is_first && flight.number == self.flights);
        }
    }

    /// Clears the next leader if its own entry is in a group by now, or if it is the fallback
    /// leader, since the members that it was called for may be in a group too.
    fn release_leader(&mut self) {
        let stays =
            |next: &Arc<CommitWaiter>| !next.taken.load(Ordering::Relaxed) && !self.is_fallback_leader(next);
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
        let mut members = self.ordered.range(from..).map(|member| &member.waiter);
        let called = members.clone().find_map(CommitWaiter::call);
        if called.is_some() || members.any(|waiter| waiter.can_take_role()) {
            return called;
        }
        self.fallback_leader.as_ref().and_then(CommitWaiter::call)
    }

    /// After members were taken out of `ordered`, by a leader whose group ended (`ended`) or by a
    /// rotation or checkpoint.
    fn retire(&mut self, members: Vec<Member>, ended: Option<Flight>) -> Wake {
        // A waiter that is taken out but not finished yet must not become the next leader: once it
        // is finished it would lead no flush (Q3).
        members.iter().for_each(|member| member.waiter.taken.store(true, Ordering::Relaxed));
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

    const COMMITTED: Committed = Committed { position: LogPosition::ZERO, gtid: schedules::GTID };

    const LEAD: Role = Role::Lead(QueueWait { from: Duration::ZERO, to: Duration::ZERO });

    fn now() -> Moment {
        Moment { is_strict: true, now: Duration::ZERO, delay: None }
    }

    fn waiter() -> Arc<CommitWaiter> {
        Arc::new(CommitWaiter::new())
    }

    /// A session read no outcome; the leader then finished it, while a next leader was at work.
    /// Regression: it parked here, and no thread was left to unpark it.
    #[test]
    fn a_waiter_that_was_done_before_it_parked_does_not_park() {
        let (queue, waiter) = (Queue::default(), waiter());
        waiter.finish(Ok(COMMITTED));
        assert_eq!(queue.assign_role(&waiter, now), Role::Done);
    }

    /// Its group is about to be finished, and the next one has no leader. Regression: it led an
    /// empty group, with the delay of `binlog_group_commit_sync_delay`.
    #[test]
    fn a_waiter_in_a_group_does_not_lead_another() {
        let (queue, waiter) = (Queue::default(), waiter());
        waiter.taken.store(true, Ordering::Relaxed);
        assert_eq!(queue.assign_role(&waiter, now), Role::Park(None));
    }

    /// The second session asked after the first one was to lead and before that took its group,
    /// which included the second one's entry. Regression: it stayed the next leader, so no session
    /// led.
    #[test]
    fn a_next_leader_that_is_taken_is_not_waited_for() {
        let (queue, first, second, third) = (Queue::default(), waiter(), waiter(), waiter());
        assert_eq!(queue.assign_role(&first, now), LEAD);
        assert_eq!(queue.assign_role(&second, now), Role::Park(None));
        let member = |waiter: &Arc<CommitWaiter>| Member { waiter: waiter.clone(), committed: COMMITTED };
        queue.add_ordered([member(&first), member(&second)].into_iter());
        let flight = queue.begin();
        assert_eq!(flight.members, 2);
        queue.publish(COMMITTED.position, &Mutex::default(), Some(flight)).wake(&Ok(()));
        assert_eq!(queue.assign_role(&second, now), Role::Done);
        assert_eq!(queue.assign_role(&third, now), LEAD);
    }

    /// A rotation published a member whose flush had not begun. Regression: its session asked once
    /// more before it was finished, became the next leader and returned: no session led again.
    #[test]
    fn who_is_published_and_not_finished_yet_is_not_the_next_leader() {
        let (queue, first, second) = (Queue::default(), waiter(), waiter());
        queue.add_ordered([Member { waiter: first.clone(), committed: COMMITTED }].into_iter());
        let wake = queue.publish(COMMITTED.position, &Mutex::default(), None);
        assert_eq!(queue.assign_role(&first, now), Role::Park(None));
        wake.wake(&Ok(()));
        assert_eq!(queue.assign_role(&second, now), LEAD);
    }

    #[test]
    fn one_leads_one_is_next_and_the_others_park() {
        let (queue, first, second, third) = (Queue::default(), waiter(), waiter(), waiter());
        assert_eq!(queue.assign_role(&first, now), LEAD);
        assert_eq!(queue.assign_role(&second, now), Role::Park(None));
        assert_eq!(queue.assign_role(&second, now), Role::Park(None), "woken for no reason");
        assert_eq!(queue.assign_role(&third, now), Role::Park(None));
        let flight = queue.begin();
        let wake = queue.abandon(Some(flight));
        assert!(wake.called.as_ref().is_some_and(|called| Arc::ptr_eq(&called.0, &second)));
        wake.wake(&Ok(()));
        assert_eq!(queue.assign_role(&third, now), Role::Park(None), "woken for no reason");
        assert_eq!(queue.assign_role(&second, now), LEAD);
    }

    /// A session with a completion callback, and how often that was called.
    fn deferring() -> (Arc<CommitWaiter>, Arc<AtomicU8>) {
        let (waiter, completed) = (waiter(), Arc::new(AtomicU8::new(0)));
        let counter = completed.clone();
        waiter.set_on_complete(Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        (waiter, completed)
    }

    #[test]
    fn who_has_a_callback_defers_its_reply_instead_of_parking_unless_it_is_to_lead() {
        let (queue, (first, _), (second, _), (third, completed)) =
            (Queue::default(), deferring(), deferring(), deferring());
        assert_eq!(queue.assign_role(&first, now), LEAD);
        assert_eq!(queue.assign_role(&second, now), Role::Park(None), "there is no fallback leader");
        queue.fallback_leader();
        assert_eq!(queue.assign_role(&second, now), Role::Park(None), "it leads next");
        assert_eq!(queue.assign_role(&third, now), Role::DeferReply);
        assert_eq!(completed.load(Ordering::Relaxed), 0);
        third.finish(Ok(COMMITTED));
        assert_eq!(completed.load(Ordering::Relaxed), 1);
        third.run_on_complete();
        assert_eq!(completed.load(Ordering::Relaxed), 1, "once");
    }

    #[test]
    fn who_never_leads_orders_and_calls_the_fallback_leader() {
        let (queue, (applier, completed)) = (Queue::default(), deferring());
        let fallback_leader = queue.fallback_leader();
        assert_eq!(queue.assign_role(&fallback_leader, now), Role::Park(None));
        applier.set_never_leads();
        let waiter = applier.clone();
        queue.enqueue(Entry {
            group: None,
            gtid: GtidSpecification::default(),
            hook: Box::new(()),
            waiter,
            end: LogPosition::ZERO,
        });
        assert_eq!(queue.assign_role(&applier, now), Role::Order);
        drop(queue.take());
        queue.add_ordered([Member { waiter: applier.clone(), committed: COMMITTED }].into_iter());
        assert!(queue.stop_ordering(false));
        assert_eq!(queue.assign_role(&applier, now), Role::DeferReply);
        assert!(fallback_leader.is_in(WaiterState::Called));
        assert_eq!(queue.assign_role(&fallback_leader, now), LEAD);
        let flight = queue.begin();
        assert_eq!(flight.members, 1);
        queue.publish(COMMITTED.position, &Mutex::default(), Some(flight)).wake(&Ok(()));
        assert_eq!(completed.load(Ordering::Relaxed), 1);
    }

    /// The third session deferred its reply, for there was a next leader; the first one's group
    /// took the next leader's entry, and not that of the third.
    #[test]
    fn the_fallback_leader_leads_where_all_have_deferred_their_replies() {
        let (queue, first, next, (deferred, completed)) = (Queue::default(), waiter(), waiter(), deferring());
        let fallback_leader = queue.fallback_leader();
        assert_eq!(queue.assign_role(&fallback_leader, now), Role::Park(None));
        assert_eq!(queue.assign_role(&first, now), LEAD);
        assert_eq!(queue.assign_role(&next, now), Role::Park(None));
        assert_eq!(queue.assign_role(&deferred, now), Role::DeferReply);
        let member = |waiter: &Arc<CommitWaiter>| Member { waiter: waiter.clone(), committed: COMMITTED };
        queue.add_ordered([member(&first), member(&next)].into_iter());
        let flight = queue.begin();
        queue.add_ordered([member(&deferred)].into_iter());
        assert!(queue.stop_ordering(false));
        assert!(fallback_leader.is_in(WaiterState::Called));
        assert_eq!(queue.assign_role(&fallback_leader, now), Role::Park(None), "one is in flight");
        let wake = queue.abandon(Some(flight));
        assert!(queue.latch.lock().next_leader.is_none(), "no member is left to lead for");
        wake.wake(&Ok(()));
        assert_eq!(completed.load(Ordering::Relaxed), 1);

        let (late, completed) = deferring();
        queue.add_ordered([member(&late)].into_iter());
        late.set_idle(true).unwrap();
        assert!(queue.stop_ordering(false));
        assert_eq!(queue.assign_role(&fallback_leader, now), LEAD);
        let flight = queue.begin();
        assert_eq!(flight.members, 1);
        queue.publish(COMMITTED.position, &Mutex::default(), Some(flight)).wake(&Ok(()));
        assert_eq!(completed.load(Ordering::Relaxed), 1);
        assert_eq!(queue.assign_role(&fallback_leader, now), Role::Park(None));
    }
}
