//! Emulated users: each draws transactions from its deck and waits for every one (clauses 5.2.2 to
//! 5.2.5).

use crate::Result;
use crate::random::{Constants, Values};
use crate::report::{Outcome, Sample};
use crate::scale::{DISTRICTS, Scale};
use crate::session::{Form, Session, Target};
use crate::transactions::{self, Effect, End, Failure, Home, Transaction, TransactionType};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How the mix is run.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Terminals, each a thread and a connection.
    pub terminals: u32,
    /// How long.
    pub time: Duration,
    /// Keying and think times of clause 5.2.5; without them a terminal never pauses.
    pub thinks: bool,
    /// How statements are sent.
    pub form: Form,
    /// Terminals draw from this seed and their number.
    pub seed: u64,
}

/// Runs the mix. A terminal whose connection is lost ends, and so does one that meets an error it
/// cannot retry; the outcome has both.
pub fn run(target: &Target, scale: &Scale, mix: &Mix) -> Result<Outcome> {
    // All connect before any begins, so that no terminal measures the others' connecting.
    let sessions: Vec<Session> =
        (0..mix.terminals).map(|_| Session::open(target, mix.form)).collect::<Result<_>>()?;
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let stop = &stop;
        let terminals: Vec<_> = (0..)
            .zip(sessions)
            .map(|(i, session)| {
                let terminal = Terminal::new(i, session, scale, mix);
                scope.spawn(move || terminal.work(stop, started + mix.time))
            })
            .collect();
        terminals
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| Outcome::ended("a terminal panicked")))
            .collect()
    });
    let mut all = Outcome { elapsed: started.elapsed(), ..Outcome::default() };
    outcomes.into_iter().for_each(|o| all.add(o));
    Ok(all)
}

struct Terminal {
    session: Session,
    home: Home,
    values: Values,
    deck: Vec<TransactionType>,
    thinks: bool,
    outcome: Outcome,
}

impl Terminal {
    fn new(number: u32, session: Session, scale: &Scale, mix: &Mix) -> Self {
        let home = Home {
            warehouse: number % scale.warehouses + 1,
            district: number / scale.warehouses % DISTRICTS + 1,
            scale: *scale,
        };
        Self {
            session,
            home,
            values: Values::new(mix.seed.wrapping_mul(1_000_003) + u64::from(number), Constants::run()),
            deck: Vec::new(),
            thinks: mix.thinks,
            outcome: Outcome::default(),
        }
    }

    fn work(mut self, stop: &AtomicBool, until: Instant) -> Outcome {
        while !stop.load(Ordering::Relaxed) && Instant::now() < until {
            let kind = self.draw_card();
            self.pause(keying_seconds(kind));
            let transaction = transactions::draw(kind, &self.home, &mut self.values);
            let begun = Instant::now();
            if let Err(failure) = self.run(kind, transaction.as_ref(), begun) {
                if failure.is_lost_connection() {
                    self.outcome.lost_connections += 1;
                    // What was in flight may or may not be there.
                    self.outcome.in_flight += 1;
                } else {
                    self.outcome.errors.push(format!("{}: {failure}", kind.name()));
                }
                stop.store(true, Ordering::Relaxed);
                break;
            }
            let mean = think_seconds(kind);
            let think = self.values.exponential(mean);
            self.pause(think);
        }
        self.outcome
    }

    /// Runs a transaction until it ends otherwise than by a deadlock or timeout.
    fn run(
        &mut self,
        kind: TransactionType,
        transaction: &dyn Transaction,
        begun: Instant,
    ) -> std::result::Result<(), Failure> {
        let mut retries = 0;
        let end = loop {
            match transaction.run(&mut self.session) {
                Ok(end) => break end,
                Err(failure) => {
                    if !failure.is_retryable() {
                        return Err(failure);
                    }
                    retries += 1;
                    self.session.command("ROLLBACK")?;
                }
            }
        };
        let is_rolled_back = end == End::RolledBack;
        self.outcome.samples.push(Sample { kind, time: begun.elapsed(), retries, is_rolled_back });
        match end {
            End::Committed(Effect::Order { warehouse, district, order }) => {
                self.outcome.orders.push((warehouse, district, order));
            }
            End::Committed(Effect::Payment) => self.outcome.payments += 1,
            End::Committed(Effect::None) | End::RolledBack => {}
        }
        Ok(())
    }

    /// The next transaction: a deck of 23 cards gives the mix that clause 5.2.3 asks for at least
    /// (5.2.4.2).
    fn draw_card(&mut self) -> TransactionType {
        if self.deck.is_empty() {
            const CARDS: [(TransactionType, usize); 5] = [
                (TransactionType::NewOrder, 10),
                (TransactionType::Payment, 10),
                (TransactionType::OrderStatus, 1),
                (TransactionType::Delivery, 1),
                (TransactionType::StockLevel, 1),
            ];
            self.deck = CARDS.iter().flat_map(|&(kind, count)| std::iter::repeat_n(kind, count)).collect();
            self.values.shuffle(&mut self.deck);
        }
        self.deck.pop().unwrap_or(TransactionType::NewOrder)
    }

    fn pause(&self, seconds: f64) {
        if self.thinks {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
    }
}

/// The least time to enter an input (clause 5.2.5.7).
fn keying_seconds(kind: TransactionType) -> f64 {
    match kind {
        TransactionType::NewOrder => 18.0,
        TransactionType::Payment => 3.0,
        TransactionType::OrderStatus | TransactionType::Delivery | TransactionType::StockLevel => 2.0,
    }
}

/// The mean time to think about an output (clause 5.2.5.7).
fn think_seconds(kind: TransactionType) -> f64 {
    match kind {
        TransactionType::NewOrder | TransactionType::Payment => 12.0,
        TransactionType::OrderStatus => 10.0,
        TransactionType::Delivery | TransactionType::StockLevel => 5.0,
    }
}
