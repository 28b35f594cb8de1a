//! Sessions that read lists and append to them in transactions, and remember what they were told:
//! a history for [`histories::check`].
//!
//! A list is a row's text, read by its primary key or by another one. After some hundred appends
//! all sessions go on to new lists, so that no list becomes long, and each generation of lists is a
//! history of its own: a transaction stays in one.

use crate::Result;
use histories::{Found, Operation, Outcome, Transaction};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, Opts, OptsBuilder};
use servers::Address;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use stdx::random::Random;

/// Lists of a generation, and appends until the next one begins.
const LISTS: u64 = 8;
const APPENDS: u64 = 400;
/// Operations of a transaction, at most.
const OPERATIONS: u64 = 5;
/// A server that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(5);
/// ER_OPTION_PREVENTS_STATEMENT: the server is read-only.
const READ_ONLY: u16 = 1290;

/// Sessions at work.
#[derive(Debug)]
pub struct Appends {
    shared: Arc<Shared>,
    sessions: Vec<JoinHandle<Vec<Transaction>>>,
}

#[derive(Debug)]
struct Shared {
    level: &'static str,
    /// Where sessions try their luck, in turn.
    addresses: Mutex<Vec<Address>>,
    stop: AtomicBool,
    begun: Instant,
    appended: AtomicU64,
    committed: AtomicU64,
}

/// What sessions did.
#[derive(Debug, Default)]
pub struct History(Vec<Transaction>);

/// Makes the lists' table.
pub fn prepare(address: &Address) -> Result<()> {
    let mut conn = connect(address)?;
    conn.query_drop("CREATE DATABASE lists")?;
    let table = "CREATE TABLE lists.t (k BIGINT PRIMARY KEY, other BIGINT NOT NULL, v MEDIUMTEXT NOT NULL, KEY (other))";
    Ok(conn.query_drop(table)?)
}

fn connect(address: &Address) -> Result<Conn> {
    let (user, password) = address.login();
    let options = OptsBuilder::default()
        .user(Some(user))
        .pass(Some(password))
        .prefer_socket(false)
        .tcp_connect_timeout(Some(SILENCE))
        .read_timeout(Some(SILENCE))
        .write_timeout(Some(SILENCE));
    let options = match (address.socket_path(), address.host_and_port()) {
        (Some(path), _) => options.socket(Some(path.to_string_lossy())),
        (None, Some((host, port))) => options.ip_or_hostname(Some(host)).tcp_port(port),
        (None, None) => return Err("the address is neither a socket nor a port".into()),
    };
    Ok(Conn::new(Opts::from(options))?)
}

impl Appends {
    /// Starts `sessions` at an isolation level. Each goes to the first of the addresses that it can
    /// work at, and to the next one when that fails.
    pub fn start(addresses: Vec<Address>, level: &'static str, sessions: u64, seed: u64) -> Self {
        let shared = Arc::new(Shared {
            level,
            addresses: Mutex::new(addresses),
            stop: AtomicBool::new(false),
            begun: Instant::now(),
            appended: AtomicU64::new(0),
            committed: AtomicU64::new(0),
        });
        let sessions = (0..sessions).map(|number| {
            let shared = shared.clone();
            let random = Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            thread::spawn(move || shared.session(number, random))
        });
        Self { sessions: sessions.collect(), shared }
    }

    /// Tells how many transactions that appended something were acknowledged so far.
    pub fn counter(&self) -> impl Fn() -> u64 + Send + 'static {
        let shared = self.shared.clone();
        move || shared.committed.load(Relaxed)
    }

    /// Ends the sessions, and reads all lists from a server that has everything.
    ///
    /// # Errors
    /// If a session panicked, or the server can't be read.
    pub fn stop(mut self, last: &Address) -> Result<History> {
        self.shared.stop.store(true, Relaxed);
        let mut history = Vec::new();
        for session in std::mem::take(&mut self.sessions) {
            history.extend(session.join().map_err(|_| "a session panicked")?);
        }
        let begun = self.shared.now();
        let rows: Vec<(u64, String)> = connect(last)?.query("SELECT k, v FROM lists.t ORDER BY k")?;
        let mut generations: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
        for (list, text) in rows {
            let read = Operation::Read { list, elements: elements(&text)? };
            generations.entry(list / LISTS).or_default().push(read);
        }
        history.extend(generations.into_values().map(|operations| Transaction {
            session: u64::MAX,
            begun,
            ended: begun + 1,
            outcome: Outcome::Committed,
            operations,
        }));
        Ok(History(history))
    }
}

impl Drop for Appends {
    /// Sessions end by themselves soon after.
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
    }
}

impl History {
    /// How many transactions ended in each way: committed, rolled back, not known.
    pub fn counts(&self) -> [usize; 3] {
        let all = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown];
        all.map(|outcome| self.0.iter().filter(|one| one.outcome == outcome).count())
    }

    /// What is wrong with it, one generation after another; see [`histories::check`].
    pub fn check(self, in_real_time: bool) -> Vec<Found> {
        let mut generations: BTreeMap<u64, Vec<Transaction>> = BTreeMap::new();
        for transaction in self.0 {
            let list = transaction.operations.first().map(|operation| match operation {
                Operation::Append { list, .. } | Operation::Read { list, .. } => list / LISTS,
            });
            if let Some(generation) = list {
                generations.entry(generation).or_default().push(transaction);
            }
        }
        generations.into_values().flat_map(|history| histories::check(&history, in_real_time)).collect()
    }
}

impl Shared {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn session(&self, number: u64, mut random: Random) -> Vec<Transaction> {
        let mut done = Vec::new();
        let mut conn = None;
        let mut place = 0;
        while !self.stop.load(Relaxed) {
            let Some(open) = &mut conn else {
                conn = self.open(place).ok();
                if conn.is_none() {
                    place += 1;
                    thread::sleep(Duration::from_millis(10));
                }
                continue;
            };
            let mut transaction = Transaction {
                session: number,
                begun: self.now(),
                ended: 0,
                outcome: Outcome::Aborted,
                operations: Vec::new(),
            };
            let keeps = self.run(open, &mut transaction, &mut random);
            transaction.ended = self.now();
            if transaction.outcome == Outcome::Committed
                && transaction.operations.iter().any(|one| matches!(one, Operation::Append { .. }))
            {
                self.committed.fetch_add(1, Relaxed);
            }
            done.push(transaction);
            if !keeps {
                conn = None;
                place += 1;
            }
        }
        done
    }

    fn open(&self, place: usize) -> Result<Conn> {
        let address = {
            let all = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
            all[place % all.len()].clone()
        };
        let mut conn = connect(&address)?;
        conn.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.level))?;
        Ok(conn)
    }

    /// Runs one; false if the session has to go somewhere else.
    fn run(&self, conn: &mut Conn, transaction: &mut Transaction, random: &mut Random) -> bool {
        let generation = self.appended.load(Relaxed) / APPENDS;
        let mut work = || -> mysql::Result<()> {
            conn.query_drop("BEGIN")?;
            for _ in 0..=random.below(OPERATIONS) {
                let list = generation * LISTS + random.below(LISTS);
                if random.chance(1, 2) {
                    let element = self.appended.fetch_add(1, Relaxed);
                    // Before it is done: what fails may have been done all the same.
                    transaction.operations.push(Operation::Append { list, element });
                    conn.query_drop(format!(
                        "INSERT INTO lists.t VALUES ({list}, {list}, '{element}') \
                         ON DUPLICATE KEY UPDATE v = CONCAT(v, ',{element}')"
                    ))?;
                } else {
                    let key = if random.chance(1, 4) { "other" } else { "k" };
                    let text: Option<String> =
                        conn.query_first(format!("SELECT v FROM lists.t WHERE {key} = {list}"))?;
                    // What can't be read is an element that nobody appended.
                    let elements =
                        text.map_or(Ok(Vec::new()), |text| elements(&text)).unwrap_or(vec![u64::MAX]);
                    transaction.operations.push(Operation::Read { list, elements });
                }
            }
            Ok(())
        };
        if let Err(e) = work() {
            let keeps = matches!(&e, Error::MySqlError(e) if e.code != READ_ONLY);
            return keeps && conn.query_drop("ROLLBACK").is_ok();
        }
        match conn.query_drop("COMMIT") {
            Ok(()) => transaction.outcome = Outcome::Committed,
            Err(Error::MySqlError(e)) if e.code == READ_ONLY => return false,
            Err(_) => {
                transaction.outcome = Outcome::Unknown;
                return false;
            }
        }
        true
    }
}

fn elements(text: &str) -> Result<Vec<u64>> {
    text.split(',').map(|element| element.parse().map_err(|_| format!("no list: {text}").into())).collect()
}
