//! The roles under random schedules: sessions and the stand-in take the steps that `commit.rs`
//! takes, one at a time, in any order that the latches allow, on one thread. Who sleeps goes on
//! when it was woken, not when its state says that it was called. Whatever the order, all that is
//! queued is told in the end.

use super::*;
use crate::gtid::Uuid;
use crate::log::LogError;
use crate::position::FileNumber;
use std::sync::atomic::AtomicUsize;
use stdx::random::Random;

const GTID: Gtid = Gtid { uuid: Uuid([0; 16]), gno: 1 };
/// After so many rounds whoever orders is tired.
const ORDER_ROUNDS: usize = 8;
/// More than any schedule takes.
const STEPS_MAX: usize = 100_000;

/// What a session does next.
enum Step {
    /// It puts its next transaction into the queue.
    Commit,
    /// It asks for its turn, or sees its outcome.
    Ask,
    Sleep(Option<Duration>),
    /// Its witness is to be told of so many.
    Left(usize),
    /// It waits for the log's leader, to begin a flush or only to order.
    WaitToLead,
    WaitToOrder(usize),
    /// It holds the leader, and what it took out of the queue.
    Lead(Vec<Entry>),
    Order(usize, Vec<Entry>),
    /// What it refused is out of the queue; they are told one by one before it goes on.
    Refuse(Vec<Entry>, Box<Step>),
    Begin,
    /// It gives the leader back.
    Release(usize),
    StopOrdering(usize),
    Flush(Flight, LogPosition, Duration),
    Publish(Flight, LogPosition),
    Wake(Wake),
    Tell(Vec<Member>),
}

struct Session {
    step: Step,
    seat: Arc<Seat>,
    /// Transactions still to come.
    rest: usize,
    /// Those that its witnesses were told of.
    told: Arc<AtomicUsize>,
}

struct World {
    queue: Queue,
    published: Mutex<Published>,
    sessions: Vec<Session>,
    /// Somebody holds the log's leader.
    is_led: bool,
    /// The log's end.
    end: u64,
    now: Duration,
    flush: Duration,
    untold: usize,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let queue = Queue::default();
        let session = |step, seat, rest| Session { step, seat, rest, told: Arc::default() };
        let mut sessions: Vec<_> =
            (0..1 + seed % 6).map(|_| session(Step::Commit, seat(), 1 + random.below(6) as usize)).collect();
        if random.chance(3, 4) {
            sessions.push(session(Step::Ask, queue.stand_in(), 0));
        }
        Self {
            queue,
            published: Mutex::default(),
            untold: sessions.iter().map(|session| session.rest).sum(),
            sessions,
            is_led: false,
            end: 4,
            now: Duration::ZERO,
            // Those that take turns, and those that overlap.
            flush: Duration::from_micros([50, 150, 400, 2000][random.below(4) as usize]),
            random,
        }
    }

    fn is_ready(&self, session: &Session) -> bool {
        match &session.step {
            Step::Commit => session.rest > 0,
            Step::Sleep(timeout) => timeout.is_some() || session.seat.unparked.load(Ordering::Relaxed),
            Step::Left(count) => session.told.load(Ordering::Relaxed) >= *count,
            Step::WaitToLead | Step::WaitToOrder(_) => !self.is_led,
            Step::Flush(_, _, until) => *until <= self.now,
            _ => true,
        }
    }

    /// When the first flush ends.
    fn next_end(&self) -> Option<Duration> {
        let end = |session: &Session| match &session.step {
            Step::Flush(_, _, until) => Some(*until),
            _ => None,
        };
        self.sessions.iter().filter_map(end).min()
    }

    fn take_step(&mut self, at: usize) {
        self.queue.check_members();
        self.now += Duration::from_micros(self.random.below(30));
        let step = std::mem::replace(&mut self.sessions[at].step, Step::Ask);
        self.sessions[at].step = match step {
            Step::Commit => self.commit(at),
            Step::Ask => self.ask(at),
            Step::Sleep(_) => {
                self.sessions[at].seat.unparked.store(false, Ordering::Relaxed);
                Step::Ask
            }
            Step::Left(_) => {
                self.untold -= 1;
                Step::Commit
            }
            Step::WaitToLead => {
                self.is_led = true;
                Step::Lead(self.queue.take())
            }
            Step::Lead(entries) => self.order(entries, Step::Begin),
            Step::Refuse(mut entries, next) => match entries.pop() {
                None => *next,
                Some(entry) => {
                    entry.seat.finish(Err(CommitError::Refused(LogError::Closed)));
                    Step::Refuse(entries, next)
                }
            },
            Step::Begin => self.begin(),
            Step::Flush(flight, to, _) => Step::Publish(flight, to),
            Step::Publish(flight, to) => Step::Wake(self.queue.publish(to, &self.published, Some(flight))),
            Step::Wake(mut wake) => {
                wake.call_leader();
                Step::Tell(wake.members)
            }
            Step::Tell(mut members) => match members.pop() {
                None => Step::Ask,
                Some(Member { seat, committed }) => {
                    seat.finish(Ok(committed));
                    Step::Tell(members)
                }
            },
            Step::WaitToOrder(rounds) => {
                self.is_led = true;
                Step::Order(rounds + 1, self.queue.take())
            }
            Step::Order(rounds, entries) => self.order(entries, Step::Release(rounds)),
            Step::Release(rounds) => {
                self.is_led = false;
                Step::StopOrdering(rounds)
            }
            Step::StopOrdering(rounds) => match self.queue.stop_ordering(rounds == ORDER_ROUNDS) {
                true => Step::Ask,
                false => Step::WaitToOrder(rounds),
            },
        };
    }

    fn commit(&mut self, at: usize) -> Step {
        let session = &mut self.sessions[at];
        session.rest -= 1;
        session.seat = seat();
        let seat = session.seat.clone();
        if self.random.chance(2, 3) {
            let told = session.told.clone();
            seat.set_witness(Box::new(move |_| {
                told.fetch_add(1, Ordering::Relaxed);
            }));
        }
        let hook = Box::new(());
        self.queue.enqueue(Entry { group: None, gtid: Some(GTID), hook, seat, end: LogPosition::ZERO });
        Step::Ask
    }

    fn ask(&mut self, at: usize) -> Step {
        let Session { seat, told, .. } = &self.sessions[at];
        if seat.outcome().is_some() {
            seat.tell();
            self.untold -= 1;
            return Step::Commit;
        }
        let now = self.now;
        match self.queue.turn(seat, || Moment { is_strict: true, now, delay: None }) {
            Turn::Lead(_) => Step::WaitToLead,
            Turn::Order => Step::WaitToOrder(0),
            Turn::Park(timeout) => Step::Sleep(timeout),
            Turn::Leave => Step::Left(told.load(Ordering::Relaxed) + 1),
            Turn::Done => Step::Ask,
        }
    }

    /// Fixes the places of what is queued, or refuses all of it.
    fn order(&mut self, mut entries: Vec<Entry>, next: Step) -> Step {
        if self.random.chance(1, 10) {
            self.queue.dismiss(&entries);
            return Step::Refuse(entries, Box::new(next));
        }
        for entry in &mut entries {
            self.end += 10;
            entry.end = LogPosition::new(FileNumber(1), self.end);
        }
        self.queue.add_ordered(entries.iter().map(Entry::as_member));
        next
    }

    fn begin(&mut self) -> Step {
        let mut flight = self.queue.begin();
        self.is_led = false;
        if flight.members == 0 {
            return Step::Publish(flight, LogPosition::ZERO);
        }
        let took = self.flush / 2 + self.flush * self.random.below(100) as u32 / 100;
        flight.took = Some(took);
        Step::Flush(flight, LogPosition::new(FileNumber(1), self.end), self.now + took)
    }

    /// Tells whether all were told, once nothing is left to do.
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
        self.untold == 0
    }
}

fn seat() -> Arc<Seat> {
    Arc::new(Seat::new())
}

#[test]
fn all_that_is_queued_is_told() {
    for seed in 0..10_000 {
        assert!(World::new(seed).run(), "somebody is not told: seed {seed}");
    }
}
