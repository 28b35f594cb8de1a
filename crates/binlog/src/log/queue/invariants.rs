//! What the queue promises (Q1 to Q5), as assertions over the whole of it.

use super::*;

impl QueueState {
    /// Asserts Q1 to Q5, in builds with `env::INVARIANTS`. The caller holds the latch, and has
    /// called the sessions that it had to call.
    pub(super) fn check_invariants(&self) {
        if env::INVARIANTS {
            self.check_members();
            self.check_flights();
            self.check_roles();
        }
    }

    /// Q1: what is queued is not finished; of what is ordered, a flush was begun for all but the
    /// last `unbegun`.
    pub(super) fn check_members(&self) {
        let begun = self.ordered.len().checked_sub(self.unbegun);
        let begun = begun.expect("Q1: what waits for a flush to begin is ordered");
        for entry in &self.entries {
            assert!(entry.waiter.outcome().is_none(), "Q1: a queued entry is not finished");
            assert!(!entry.waiter.is_taken(), "Q1: a queued entry is in no group");
        }
        for (at, member) in self.ordered.iter().enumerate() {
            assert!(member.waiter.outcome().is_none(), "Q1: a member is not finished");
            assert_eq!(member.waiter.is_taken(), at < begun, "Q1: the groups begun are the oldest members");
        }
        let positions = self.ordered.iter().map(|member| member.committed.position);
        assert!(positions.is_sorted(), "G1: members are in log order");
    }

    /// Q5.
    fn check_flights(&self) {
        let with_slot = self.slots.count_ones() as usize;
        assert!(with_slot <= self.in_flight, "Q5: each slot is that of a group in flight");
        assert!(with_slot <= SLOTS, "Q5: there are so many slots");
    }

    /// Q2, Q3 and Q4: a thread that has to act is awake, or an awake one will call it.
    fn check_roles(&self) {
        // A leader that has its role but not its group yet orders, and takes all that is ordered.
        let is_begun = self.in_flight > self.slots.count_ones() as usize;
        let fallback_wakes =
            || self.fallback_leader.as_ref().is_some_and(|waiter| waiter.will_ask_for_role());
        let unbegun = || self.ordered.iter().rev().take(self.unbegun);
        if !self.entries.is_empty() && !self.ordering && !is_begun {
            let queued = self.entries.iter().any(|entry| entry.waiter.will_ask_for_role());
            let ordered = unbegun().any(|member| member.waiter.will_ask_for_role());
            let next = self.next_leader.as_ref().is_some_and(|waiter| waiter.will_ask_for_role());
            assert!(queued || ordered || next || fallback_wakes(), "Q2: a session will order what is queued");
        }
        if self.unbegun > 0 && !self.ordering && !is_begun {
            let awake = unbegun().any(|member| member.waiter.will_ask_for_role());
            assert!(self.next_leader.is_some() || awake || fallback_wakes(), "Q3: a session will lead");
        }
        if let Some(next) = &self.next_leader {
            assert!(!next.is_taken(), "Q4: the next leader's entry is in no group yet");
            let is_called = next.will_ask_for_role() || self.in_flight > 0 || self.wake_at.is_some();
            assert!(is_called, "Q3: the next leader sleeps only until a group ends, or its delay does");
        }
    }
}

impl CommitWaiter {
    fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// Its thread is awake, or was called: it asks for its role before it parks.
    fn will_ask_for_role(&self) -> bool {
        self.is_in(WaiterState::Awake) || self.is_in(WaiterState::Called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked() -> Arc<CommitWaiter> {
        let waiter = Arc::new(CommitWaiter::new());
        waiter.state.store(WaiterState::Parked as u8, Ordering::Relaxed);
        waiter
    }

    fn entry(waiter: Arc<CommitWaiter>) -> Entry {
        Entry {
            group: None,
            gtid: GtidSpecification::default(),
            hook: Box::new(()),
            waiter,
            end: LogPosition::ZERO,
        }
    }

    #[test]
    #[should_panic = "Q2"]
    fn an_entry_of_a_parked_session_that_nobody_will_call_is_noticed() {
        let queue = QueueState { entries: vec![entry(parked())], ..QueueState::default() };
        queue.check_invariants();
    }

    #[test]
    #[should_panic = "Q3"]
    fn a_next_leader_that_nobody_will_call_is_noticed() {
        let queue = QueueState { next_leader: Some(parked()), ..QueueState::default() };
        queue.check_invariants();
    }

    #[test]
    #[should_panic = "Q5"]
    fn a_slot_without_a_group_is_noticed() {
        let queue = QueueState { slots: 1, ..QueueState::default() };
        queue.check_invariants();
    }

    #[test]
    fn an_entry_of_a_session_that_is_awake_is_accepted() {
        let waiter = Arc::new(CommitWaiter::new());
        QueueState { entries: vec![entry(waiter)], ..QueueState::default() }.check_invariants();
    }
}
