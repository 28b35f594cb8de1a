//! The roles under random schedules: sessions and the fallback leader take the steps that
//! `commit.rs` takes, one at a time, in any order that the latches allow, on one thread. A parked
//! session goes on when it was unparked, not when its state says that it was called. Whatever the
//! order, every queued transaction is finished in the end.

use super::*;
use crate::gtid::{Gtid, Source, Tag, Uuid};
use crate::log::LogError;
use crate::position::FileNumber;
use std::sync::atomic::AtomicUsize;
use stdx::random::Random;

pub(super) const GTID: Gtid = Gtid { source: Source { uuid: Uuid([0; 16]), tag: Tag::NONE }, gno: 1 };
/// After so many rounds the orderer lets another session take over.
const ORDER_ROUNDS: usize = 8;
/// More than any schedule takes.
const STEPS_MAX: usize = 100_000;

/// What a session does next.
enum SessionStep {
    /// It puts its next transaction into the queue.
    Commit,
    /// It asks for its role, or reads its outcome.
    AskForRole,
    Park(Option<Duration>),
    /// Its callbacks are to be called so many times.
    AwaitCallbacks(usize),
    /// It waits for the log's leader, to begin a flush or only to order.
    WaitToLead,
    WaitToOrder(usize),
    /// It holds the leader, and what it took out of the queue.
    Lead(Vec<Entry>),
    Order(usize, Vec<Entry>),
    /// The entries that it refused are out of the queue; it finishes them one by one, then goes on.
    Refuse(Vec<Entry>, Box<SessionStep>),
    Begin,
    /// It gives the leader back.
    Release(usize),
    StopOrdering(usize),
    Flush(Flight, LogPosition, Duration),
    Publish(Flight, LogPosition),
    Wake(Wake),
    Finish(Vec<Member>),
}

struct Session {
    step: SessionStep,
    waiter: Arc<CommitWaiter>,
    /// Transactions still to come.
    remaining: usize,
    /// How often its callbacks were called.
    completed: Arc<AtomicUsize>,
}

struct World {
    queue: Queue,
    published: Mutex<Published>,
    sessions: Vec<Session>,
    /// A session holds the log's `leader`.
    is_led: bool,
    /// The log's end.
    end: u64,
    now: Duration,
    flush: Duration,
    unfinished: usize,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let queue = Queue::default();
        let session =
            |step, waiter, remaining| Session { step, waiter, remaining, completed: Arc::default() };
        let mut sessions: Vec<_> = (0..1 + seed % 6)
            .map(|_| session(SessionStep::Commit, waiter(), 1 + random.below(6) as usize))
            .collect();
        if random.chance(3, 4) {
            sessions.push(session(SessionStep::AskForRole, queue.fallback_leader(), 0));
        }
        Self {
            queue,
            published: Mutex::default(),
            unfinished: sessions.iter().map(|session| session.remaining).sum(),
            sessions,
            is_led: false,
            end: 4,
            now: Duration::ZERO,
            // Flushes that run one at a time, and flushes that overlap.
            flush: Duration::from_micros([50, 150, 400, 2000][random.below(4) as usize]),
            random,
        }
    }

    fn is_ready(&self, session: &Session) -> bool {
        match &session.step {
            SessionStep::Commit => session.remaining > 0,
            SessionStep::Park(timeout) => {
                timeout.is_some() || session.waiter.unparked.load(Ordering::Relaxed)
            }
            SessionStep::AwaitCallbacks(count) => session.completed.load(Ordering::Relaxed) >= *count,
            SessionStep::WaitToLead | SessionStep::WaitToOrder(_) => !self.is_led,
            SessionStep::Flush(_, _, until) => *until <= self.now,
            _ => true,
        }
    }

    /// When the first flush ends.
    fn next_end(&self) -> Option<Duration> {
        let end = |session: &Session| match &session.step {
            SessionStep::Flush(_, _, until) => Some(*until),
            _ => None,
        };
        self.sessions.iter().filter_map(end).min()
    }

    fn take_step(&mut self, at: usize) {
        self.queue.check_members();
        self.now += Duration::from_micros(self.random.below(30));
        let step = std::mem::replace(&mut self.sessions[at].step, SessionStep::AskForRole);
        self.sessions[at].step = match step {
            SessionStep::Commit => self.commit(at),
            SessionStep::AskForRole => self.ask(at),
            SessionStep::Park(_) => {
                self.sessions[at].waiter.unparked.store(false, Ordering::Relaxed);
                SessionStep::AskForRole
            }
            SessionStep::AwaitCallbacks(_) => {
                self.unfinished -= 1;
                SessionStep::Commit
            }
            SessionStep::WaitToLead => {
                self.is_led = true;
                SessionStep::Lead(self.queue.take())
            }
            SessionStep::Lead(entries) => self.order(entries, SessionStep::Begin),
            SessionStep::Refuse(mut entries, next) => match entries.pop() {
                None => *next,
                Some(entry) => {
                    entry.waiter.finish(Err(CommitError::Refused(LogError::Closed)));
                    SessionStep::Refuse(entries, next)
                }
            },
            SessionStep::Begin => self.begin(),
            SessionStep::Flush(flight, to, _) => SessionStep::Publish(flight, to),
            SessionStep::Publish(flight, to) => {
                SessionStep::Wake(self.queue.publish(to, &self.published, Some(flight)))
            }
            SessionStep::Wake(mut wake) => {
                wake.call_leader();
                SessionStep::Finish(wake.members)
            }
            SessionStep::Finish(mut members) => match members.pop() {
                None => SessionStep::AskForRole,
                Some(Member { waiter, committed }) => {
                    waiter.finish(Ok(committed));
                    SessionStep::Finish(members)
                }
            },
            SessionStep::WaitToOrder(rounds) => {
                self.is_led = true;
                SessionStep::Order(rounds + 1, self.queue.take())
            }
            SessionStep::Order(rounds, entries) => self.order(entries, SessionStep::Release(rounds)),
            SessionStep::Release(rounds) => {
                self.is_led = false;
                SessionStep::StopOrdering(rounds)
            }
            SessionStep::StopOrdering(rounds) => match self.queue.stop_ordering(rounds == ORDER_ROUNDS) {
                true => SessionStep::AskForRole,
                false => SessionStep::WaitToOrder(rounds),
            },
        };
    }

    fn commit(&mut self, at: usize) -> SessionStep {
        let session = &mut self.sessions[at];
        session.remaining -= 1;
        session.waiter = waiter();
        let waiter = session.waiter.clone();
        if self.random.chance(2, 3) {
            let completed = session.completed.clone();
            waiter.set_on_complete(Box::new(move |_| {
                completed.fetch_add(1, Ordering::Relaxed);
            }));
        }
        let hook = Box::new(());
        self.queue.enqueue(Entry {
            group: None,
            gtid: GtidSpecification::Assigned(GTID),
            hook,
            waiter,
            end: LogPosition::ZERO,
        });
        SessionStep::AskForRole
    }

    fn ask(&mut self, at: usize) -> SessionStep {
        let Session { waiter, completed, .. } = &self.sessions[at];
        if waiter.outcome().is_some() {
            waiter.run_on_complete();
            self.unfinished -= 1;
            return SessionStep::Commit;
        }
        let now = self.now;
        match self.queue.assign_role(waiter, || Moment { is_strict: true, now, delay: None }) {
            Role::Lead(_) => SessionStep::WaitToLead,
            Role::Order => SessionStep::WaitToOrder(0),
            Role::Park(timeout) => SessionStep::Park(timeout),
            Role::DeferReply => SessionStep::AwaitCallbacks(completed.load(Ordering::Relaxed) + 1),
            Role::Done => SessionStep::AskForRole,
        }
    }

    /// Assigns positions to what is queued, or refuses all of it.
    fn order(&mut self, mut entries: Vec<Entry>, next: SessionStep) -> SessionStep {
        if self.random.chance(1, 10) {
            self.queue.dismiss(&entries);
            return SessionStep::Refuse(entries, Box::new(next));
        }
        for entry in &mut entries {
            self.end += 10;
            entry.end = LogPosition::new(FileNumber(1), self.end);
        }
        self.queue.add_ordered(entries.iter().map(Entry::as_member));
        next
    }

    fn begin(&mut self) -> SessionStep {
        let mut flight = self.queue.begin();
        self.is_led = false;
        if flight.members == 0 {
            return SessionStep::Publish(flight, LogPosition::ZERO);
        }
        let took = self.flush / 2 + self.flush * self.random.below(100) as u32 / 100;
        flight.took = Some(took);
        SessionStep::Flush(flight, LogPosition::new(FileNumber(1), self.end), self.now + took)
    }

    /// Takes steps until none is possible; true if every transaction was finished.
    fn run(mut self) -> bool {
        // One of them is slower than the others for a while.
        let mut slow = usize::MAX;
        for _ in 0..STEPS_MAX {
            if self.random.chance(1, 20) {
                slow = self.random.below(2 * self.sessions.len() as u64) as usize;
            }
            let mut ready: Vec<usize> =
                (0..self.sessions.len()).filter(|&at| self.is_ready(&self.sessions[at])).collect();
            if ready.iter().any(|&at| at != slow) {
                ready.retain(|&at| at != slow);
            }
            match (ready.len() as u64, self.next_end()) {
                (0, Some(end)) => self.now = end,
                (0, None) => break,
                (count, _) => {
                    let chosen = self.random.below(count) as usize;
                    self.take_step(ready[chosen]);
                }
            }
        }
        self.unfinished == 0
    }
}

fn waiter() -> Arc<CommitWaiter> {
    Arc::new(CommitWaiter::new())
}

#[test]
fn all_that_is_queued_is_finished() {
    for seed in 0..10_000 {
        assert!(World::new(seed).run(), "a transaction is not finished: seed {seed}");
    }
}
