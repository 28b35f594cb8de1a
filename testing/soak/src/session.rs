//! A session that says sentences of the grammar, and what the watchdog sees of it.

use crate::grammar::Grammar;
use crate::{DATABASE, Outcome, connect, hostile};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use stdx::random::Random;

/// The connection, the beginning of the statement, and when it began.
type Running = (u32, String, Instant);

/// What a session is doing.
#[derive(Debug)]
pub(crate) struct Watched {
    now: Mutex<Option<Running>>,
    killed: Mutex<Option<Killed>>,
    /// Its statements are killed after this time.
    pub(crate) patience: Duration,
    /// They have to end so soon after.
    pub(crate) grace: Duration,
}

/// When a statement was killed.
#[derive(Debug, Clone, Copy)]
struct Killed {
    first: Instant,
    last: Instant,
}

/// A KILL that has no effect is sent again after so long.
const KILL_AGAIN: Duration = Duration::from_millis(200);

/// So many characters of a statement are shown.
const SHOWN: usize = 2000;

impl Watched {
    pub(crate) fn new(patience: Duration, grace: Duration) -> Self {
        Self { now: Mutex::default(), killed: Mutex::default(), patience, grace }
    }

    /// The connection, the statement and when it began, while one runs.
    pub(crate) fn current(&self) -> Option<Running> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True when a KILL is to be sent: at first, and again as long as the statement runs. A KILL
    /// that comes while the server still reads the statement's text is for nobody, as in MySQL.
    pub(crate) fn take_kill(&self) -> bool {
        let mut killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = killed.is_none();
        let killed = killed.get_or_insert_with(|| Killed { first: Instant::now(), last: Instant::now() });
        let is_due = is_first || killed.last.elapsed() > KILL_AGAIN;
        if is_due {
            killed.last = Instant::now();
        }
        is_due
    }

    /// How long ago its statement was killed.
    pub(crate) fn killed_since(&self) -> Option<Duration> {
        let killed = *self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        killed.map(|killed| killed.first.elapsed())
    }

    fn set(&self, now: Option<Running>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
        *self.killed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What a session says.
#[derive(Clone, Copy)]
pub(crate) enum Says<'a> {
    /// Sentences of a grammar.
    Sentences(&'a Grammar),
    /// Hostile statements, of so many bytes at most.
    Hostile(usize),
}

/// A session of the soak.
pub(crate) struct Session<'a> {
    socket: PathBuf,
    says: Says<'a>,
    random: Random,
    number: u32,
    watched: &'a Watched,
    outcome: Outcome,
}

impl<'a> Session<'a> {
    /// Session `number`; the same number and seed say the same sentences.
    pub(crate) fn new(socket: &Path, says: Says<'a>, seed: u64, number: u32, watched: &'a Watched) -> Self {
        let random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number)));
        Self { socket: socket.to_owned(), says, random, number, watched, outcome: Outcome::default() }
    }

    /// Says sentences until it is stopped, or until a connection breaks off.
    pub(crate) fn work(mut self, stop: &AtomicBool) -> Outcome {
        while !stop.load(Ordering::Relaxed) {
            // A new session now and then: settings and transactions of the old one go.
            if let Err(broken) = self.connection(stop) {
                self.outcome.findings.push(broken);
                break;
            }
        }
        self.watched.set(None);
        self.outcome
    }

    fn connection(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let open = || -> crate::Result<Conn> {
            let mut conn = connect(&self.socket)?;
            conn.query_drop(format!("USE {DATABASE}"))?;
            if let Says::Hostile(_) = self.says {
                conn.query_drop("SET group_concat_max_len = 60000000")?;
                conn.query_drop(hostile::VARIABLES)?;
            }
            Ok(conn)
        };
        let mut conn = open().map_err(|e| format!("session {}: {e}", self.number))?;
        for _ in 0..200 {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let sql = match self.says {
                Says::Sentences(grammar) => grammar.sentence(&mut self.random),
                Says::Hostile(len) => hostile::statement(&mut self.random, len),
            };
            let shown: String = sql.chars().take(SHOWN).collect();
            self.watched.set(Some((conn.connection_id(), shown.clone(), Instant::now())));
            let is_prepared = self.random.chance(1, 8);
            let answer =
                if is_prepared { prepared(&mut conn, &sql, &mut self.random) } else { conn.query_drop(&sql) };
            let killed = self.watched.killed_since();
            self.watched.set(None);
            if let (Says::Hostile(_), Some(took)) = (self.says, killed)
                && took > self.outcome.slowest_end.0
            {
                self.outcome.slowest_end = (took, shown.chars().take(100).collect());
            }
            match answer {
                Ok(()) => self.outcome.successes += 1,
                Err(mysql::Error::MySqlError(e)) => *self.outcome.errors.entry(e.code).or_default() += 1,
                Err(mysql::Error::DriverError(_)) => {}
                // What comes after the end of the whole server is no finding of its own, but
                // reports what may have ended it.
                Err(e) => return Err(format!("session {} broke off ({e}): {shown}", self.number)),
            }
            self.outcome.statements += 1;
        }
        Ok(())
    }
}

/// Prepares the sentence, and executes it with as many values as it wants.
fn prepared(conn: &mut Conn, sql: &str, random: &mut Random) -> mysql::Result<()> {
    let statement = conn.prep(sql)?;
    let values: Vec<Value> = (0..statement.num_params()).map(|_| value(random)).collect();
    conn.exec_drop(&statement, values)?;
    conn.close(statement)
}

fn value(random: &mut Random) -> Value {
    match random.below(6) {
        0 => Value::NULL,
        1 => Value::Int(random.next_u64() as i64),
        2 => Value::UInt(random.below(10)),
        3 => Value::Double(random.below(1000) as f64 / 8.0),
        4 => Value::Bytes(b"abc".to_vec()),
        _ => Value::Date(2024, 2, 29, 12, 0, 0, random.below(1_000_000) as u32),
    }
}
