//! Hot-row placement: threads that hand one row lock to each other run on one processor.
//!
//! Such locks are held for some microseconds, and the hand-off dominates: waking the next waiter on
//! another processor, whose caches lack the row, costs more than the update. On one processor the
//! next waiter runs as soon as the one before it waits for its client
//! (`docs/decisions/2026-11-22-hot-row-sessions-on-one-cpu.md`).
//!
//! (G1) A thread gathers if its transactions' first lock was the same one [`OFTEN`] times one after
//!      the other, others waited for it too, and each handed it on within [`QUICK`]: so they do
//!      nothing of length while they hold it, and little before.
//! (G2) All who wait for that lock gather where the first of them happened to run. The system moves
//!      others away from there.
//! (G3) A thread is unpinned after [`IDLE`] statements without such a wait, when a statement is
//!      long, when it waits for another lock, and at its end. Nothing but time depends on where it
//!      runs.

use env::processor::{self, Stay};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Waits for the same lock before a thread is pinned. It is moved once then, which costs as much as
/// a few waits.
const OFTEN: u32 = 4;
/// Statements without a wait for that lock before a thread is unpinned.
const IDLE: u32 = 32;
/// The longest hand-off of a lock that counts as quick: a client's next command takes longer.
const QUICK: Duration = Duration::from_micros(100);
/// The fewest others before a waiter: the holder and one waiter.
const AHEAD: usize = 2;

/// On which processor the waiters of each shard's hot lock run.
#[derive(Debug)]
pub(super) struct Gathering {
    is_off: AtomicBool,
    /// The number of a processor, [`NOWHERE`] at first.
    processors: Box<[AtomicUsize]>,
}

const NOWHERE: usize = usize::MAX;

/// A wait for a lock, as it begins.
pub(super) struct Wait {
    /// The lock's hash.
    pub(super) lock: u64,
    pub(super) shard: usize,
    /// The transaction holds nothing yet.
    pub(super) is_first: bool,
    /// Who held it, and who waited already.
    pub(super) ahead: usize,
}

/// A thread's recent waits, and where it is pinned.
struct Habit {
    /// The lock that it waited for last, and how many quick hand-offs of it came in a row.
    lock: u64,
    often: u32,
    /// Statements since, while it is pinned.
    idle: u32,
    /// How often the present statement was asked whether it goes on, while the thread is pinned.
    asked: u32,
    pinned: Option<Stay>,
}

thread_local! {
    /// True if the thread is pinned; read at each statement.
    static PINNED: Cell<bool> = const { Cell::new(false) };
    static HABIT: RefCell<Habit> = const { RefCell::new(Habit { lock: 0, often: 0, idle: 0, asked: 0, pinned: None }) };
}

impl Gathering {
    pub(super) fn new(shards: usize) -> Gathering {
        let processors = (0..shards).map(|_| AtomicUsize::new(NOWHERE)).collect();
        Gathering { is_off: AtomicBool::new(false), processors }
    }

    /// Whether waiters gather from now on (`duramen_gather_hot_rows`).
    pub(super) fn set(&self, is_on: bool) {
        self.is_off.store(!is_on, Relaxed);
    }

    /// The thread is about to sleep; true if it has just been moved to the other waiters'
    /// processor.
    pub(super) fn before(&self, wait: &Wait) -> bool {
        HABIT.with_borrow_mut(|habit| {
            if wait.is_first && wait.lock == habit.lock && !self.is_off.load(Relaxed) {
                return habit.often >= OFTEN && habit.pin_to(&self.processors[wait.shard]);
            }
            habit.lock = wait.lock;
            habit.unpin();
            false
        })
    }

    /// The thread has the lock, after `waited`.
    pub(super) fn after(&self, wait: &Wait, waited: Duration) {
        if wait.ahead < AHEAD {
            return;
        }
        HABIT.with_borrow_mut(|habit| {
            let is_quick = waited <= QUICK * u32::try_from(wait.ahead).unwrap_or(u32::MAX);
            habit.often = if is_quick { habit.often.saturating_add(1) } else { 0 };
            habit.idle = if is_quick { 0 } else { habit.idle };
        });
    }
}

impl Habit {
    /// True if it moved.
    fn pin_to(&mut self, place: &AtomicUsize) -> bool {
        let here = processor::current();
        let there = match place.load(Relaxed) {
            NOWHERE => here,
            there => there,
        };
        if self.pinned.as_ref().is_some_and(|stay| stay.processor() == there) {
            return false;
        }
        self.pinned = None;
        // Or here: the process may have lost the other processor since.
        self.pinned = Stay::on(there).or_else(|| Stay::on(here));
        place.store(self.pinned.as_ref().map_or(NOWHERE, Stay::processor), Relaxed);
        self.idle = 0;
        PINNED.set(self.pinned.is_some());
        self.pinned.is_some()
    }

    fn unpin(&mut self) {
        (self.pinned, self.often, self.asked) = (None, 0, 0);
        PINNED.set(false);
    }
}

/// A statement of this thread's session has ended.
pub(super) fn statement_ended() {
    if PINNED.get() {
        HABIT.with_borrow_mut(|habit| {
            (habit.idle, habit.asked) = (habit.idle + 1, 0);
            if habit.idle > IDLE {
                habit.unpin();
            }
        });
    }
}

/// The statement of this thread's session was asked whether it goes on, as it is after some
/// hundreds of rows.
pub(super) fn goes_on() {
    if PINNED.get() {
        HABIT.with_borrow_mut(|habit| {
            habit.asked += 1;
            // Rows are counted from statement to statement: the first time may be a short one's.
            if habit.asked > 1 {
                habit.unpin();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::thread;

    const SLOW: Duration = Duration::from_millis(1);

    fn wait(lock: u64) -> Wait {
        Wait { lock, shard: 3, is_first: true, ahead: 5 }
    }

    /// A statement that waited; true if its thread moved before.
    fn statement(gathering: &Gathering, wait: &Wait, waited: Duration) -> bool {
        let moved = gathering.before(wait);
        gathering.after(wait, waited);
        statement_ended();
        moved
    }

    /// Runs on a thread of its own that is pinned already, for lock 1.
    fn gathered(test: impl FnOnce(&Gathering) + Send) {
        thread::scope(|scope| {
            scope.spawn(|| {
                let gathering = Gathering::new(8);
                let moved: Vec<_> = (0..=OFTEN + 2).map(|_| statement(&gathering, &wait(1), QUICK)).collect();
                let expected: Vec<_> = (0..=OFTEN + 2).map(|n| n == OFTEN).collect();
                assert_eq!((moved, PINNED.get()), (expected, true));
                test(&gathering);
            });
        });
    }

    #[test]
    fn who_waits_for_the_same_lock_over_and_over_stays_where_the_first_one_is() {
        gathered(|gathering| {
            let place = gathering.processors[3].load(Relaxed);
            assert_eq!(processor::current(), place);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let moved: Vec<_> =
                        (0..=OFTEN + 2).map(|_| statement(gathering, &wait(1), QUICK)).collect();
                    assert_eq!(moved.iter().filter(|moved| **moved).count(), 1);
                    assert_eq!(processor::current(), place);
                });
            });
        });
    }

    #[test]
    fn it_is_free_after_statements_that_do_not_wait() {
        gathered(|_| {
            (1..IDLE).for_each(|_| statement_ended());
            assert!(PINNED.get());
            statement_ended();
            assert!(!PINNED.get());
        });
    }

    #[test]
    fn it_is_free_when_a_statement_is_long() {
        gathered(|_| {
            goes_on();
            statement_ended();
            goes_on();
            assert!(PINNED.get(), "once each");
            goes_on();
            assert!(!PINNED.get());
        });
    }

    #[test]
    fn it_is_free_when_it_waits_for_something_else() {
        gathered(|gathering| {
            gathering.before(&wait(2));
            assert!(!PINNED.get());
        });
        gathered(|gathering| {
            gathering.before(&Wait { is_first: false, ..wait(1) });
            assert!(!PINNED.get());
        });
    }

    #[test]
    fn it_is_free_when_that_is_switched_off() {
        gathered(|gathering| {
            gathering.set(false);
            assert!(!(0..20).any(|_| statement(gathering, &wait(1), QUICK)));
            assert!(!PINNED.get());
        });
    }

    #[test]
    fn slow_or_short_queues_gather_nobody() {
        let gathering = Gathering::new(8);
        let alone = Wait { ahead: 1, ..wait(1) };
        assert!(!(0..20).any(|_| statement(&gathering, &alone, QUICK)));
        assert!(!(0..20).any(|_| statement(&gathering, &wait(1), SLOW)));
        assert!(!(0..20).any(|n| statement(&gathering, &wait(n % 2), QUICK)));
    }

    #[test]
    fn a_place_that_is_gone_is_found_anew() {
        gathered(|gathering| {
            gathering.processors[3].store(NOWHERE - 1, Relaxed);
            assert!(statement(gathering, &wait(1), QUICK));
            assert_eq!(processor::current(), gathering.processors[3].load(Relaxed));
        });
    }
}
