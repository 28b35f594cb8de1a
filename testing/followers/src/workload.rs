//! Mixed work for a source: several sessions that change rows of all types, define, go back,
//! prepare and commit.
//!
//! What they say follows from the seed; in which order the server receives it does not. Statements
//! may fail, for the sessions get in each other's way; which errors there were is in the
//! [`Report`]. A session whose server is gone waits for it to come back.

mod columns;
mod definitions;
mod rows;

use crate::{Result, connect};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use servers::{Address, ServerKind};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use stdx::random::Random;

/// What a workload has besides rows of the common types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Columns of type JSON.
    pub json: bool,
    /// Definitions in addition to the rows.
    pub definitions: bool,
    /// Accounts and privileges.
    pub accounts: bool,
    /// Branches of XA.
    pub xa: bool,
    /// Rows of megabytes and transactions of more.
    pub large: bool,
}

impl Features {
    /// All there is.
    pub const ALL: Self = Self { json: true, definitions: true, accounts: true, xa: true, large: true };

    /// What a source of this kind can do that a Duramen can follow.
    pub fn of_source(kind: ServerKind) -> Self {
        match kind {
            ServerKind::Duramen | ServerKind::MySql => Self::ALL,
            // Its JSON is text, and its accounts are its own.
            ServerKind::MariaDb => Self { json: false, accounts: false, ..Self::ALL },
        }
    }
}

/// What a workload met.
#[derive(Debug, Default, Clone)]
pub struct Report {
    /// Statements that were answered.
    pub statements: u64,
    /// Connections that were lost.
    pub lost: u64,
    /// How often each error number was the answer, and an example.
    pub refused: BTreeMap<u16, (u64, String)>,
}

/// What is behind the names of a workload's databases and accounts: several may work on one server,
/// or on servers that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suffix(pub &'static str);

/// Sessions at work.
#[derive(Debug)]
pub struct Workload {
    shared: Arc<Shared>,
    sessions: Vec<JoinHandle<Report>>,
}

#[derive(Debug)]
struct Shared {
    address: Mutex<Address>,
    stop: AtomicBool,
    suffix: Suffix,
}

/// One of the sessions, and what it draws from.
#[derive(Debug)]
struct Session {
    number: u64,
    random: Random,
    features: Features,
    suffix: Suffix,
}

/// Makes the tables that a workload needs.
pub fn prepare(address: &Address, features: Features) -> Result<()> {
    prepare_with_suffix(address, features, Suffix(""))
}

/// Makes them in databases of other names.
pub fn prepare_with_suffix(address: &Address, features: Features, suffix: Suffix) -> Result<()> {
    let mut conn = connect(address)?;
    for statement in rows::schema(features, suffix) {
        conn.query_drop(&statement).map_err(|e| format!("{e}: {statement}"))?;
    }
    Ok(())
}

impl Workload {
    /// Starts so many sessions on the tables that [`prepare`] made.
    pub fn start(address: &Address, features: Features, sessions: u64, seed: u64) -> Self {
        Self::start_with_suffix(address, features, sessions, seed, Suffix(""))
    }

    /// Starts them on the tables that [`prepare_with_suffix`] made.
    pub fn start_with_suffix(
        address: &Address,
        features: Features,
        sessions: u64,
        seed: u64,
        suffix: Suffix,
    ) -> Self {
        let address = Mutex::new(address.clone());
        let shared = Arc::new(Shared { address, stop: AtomicBool::new(false), suffix });
        let start = |number| {
            let shared = shared.clone();
            let random = Random::new(seed.wrapping_mul(1000).wrapping_add(number));
            thread::spawn(move || shared.work(Session { number, random, features, suffix }))
        };
        Self { sessions: (0..sessions).map(start).collect(), shared }
    }

    /// The server is somewhere else from now on: it was started again.
    pub fn moved(&self, address: &Address) {
        *self.shared.address.lock().unwrap_or_else(PoisonError::into_inner) = address.clone();
    }

    /// Ends the sessions between two steps.
    pub fn stop(self) -> Result<Report> {
        self.shared.stop.store(true, Relaxed);
        let mut sum = Report::default();
        for session in self.sessions {
            sum.add(session.join().map_err(|_| "a session panicked")?);
        }
        Ok(sum)
    }
}

impl Shared {
    fn work(&self, mut session: Session) -> Report {
        let mut report = Report::default();
        let mut conn = None;
        while !self.stop.load(Relaxed) {
            let Some(open) = &mut conn else {
                conn = self.connect();
                continue;
            };
            if !report.run(open, &session.next_statements()) {
                report.lost += 1;
                conn = None;
            }
        }
        report
    }

    /// A new session, if the server answers.
    fn connect(&self) -> Option<Conn> {
        let address = self.address.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut conn = connect(&address).ok();
        let begun = conn.as_mut().is_some_and(|conn| {
            conn.query_drop(format!("USE mixed{}", self.suffix.0)).is_ok()
                && conn.query_drop("SET innodb_lock_wait_timeout = 2").is_ok()
        });
        if !begun {
            thread::sleep(Duration::from_millis(50));
        }
        conn.filter(|_| begun)
    }
}

impl Session {
    fn next_statements(&mut self) -> Vec<String> {
        let on = self.features;
        match self.random.below(100) {
            0..=7 if on.definitions => self.definition(),
            8 if on.accounts => self.account(),
            9..=11 if on.xa => self.branch(),
            12 if on.large => self.large(),
            13 | 14 => self.temporary(),
            15..=40 => self.transaction(),
            _ => vec![self.change()],
        }
    }
}

impl Report {
    /// Runs a step up to its first error, after which nothing stays open. False if the connection
    /// is lost.
    fn run(&mut self, conn: &mut Conn, statements: &[String]) -> bool {
        for statement in statements {
            match conn.query_drop(statement) {
                Ok(()) => self.statements += 1,
                Err(Error::MySqlError(e)) => {
                    self.statements += 1;
                    let example =
                        || (0, format!("{}: {}", e.message, statement.chars().take(200).collect::<String>()));
                    self.refused.entry(e.code).or_insert_with(example).0 += 1;
                    // A server that is going down says so and is gone.
                    return e.code != SERVER_SHUTDOWN && reset(conn, statements);
                }
                Err(_) => return false,
            }
        }
        true
    }

    fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.lost += other.lost;
        for (code, (count, example)) in other.refused {
            self.refused.entry(code).or_insert((0, example)).0 += count;
        }
    }
}

/// ER_SERVER_SHUTDOWN
const SERVER_SHUTDOWN: u16 = 1053;

/// Takes back what a step left open.
fn reset(conn: &mut Conn, statements: &[String]) -> bool {
    let mut back = vec!["ROLLBACK".to_owned(), "DROP TEMPORARY TABLE IF EXISTS scratch".to_owned()];
    if let Some(xid) = statements[0].strip_prefix("XA START ") {
        // In whichever state the branch is, one of the two is right.
        back = vec![format!("XA END {xid}"), format!("XA ROLLBACK {xid}")];
    }
    back.iter().all(|statement| matches!(conn.query_drop(statement), Ok(()) | Err(Error::MySqlError(_))))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} statements, {} connections lost", self.statements, self.lost)?;
        for (code, (count, example)) in &self.refused {
            writeln!(f, "  {count} x {code}: {example}")?;
        }
        Ok(())
    }
}
