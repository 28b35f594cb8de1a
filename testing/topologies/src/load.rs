//! What a source does: the mixed workload of the followers' tests, sysbench, and writers that
//! append and remember what was acknowledged.

use followers::workload::{Features, Report, Suffix, Workload, prepare_with_suffix};
use followers::{Result, connect};
use mysql::Conn;
use mysql::prelude::Queryable;
use servers::{Address, find};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Sessions of the mixed workload, and writers, for each source.
const SESSIONS: u64 = 4;
const WRITERS: u64 = 3;
/// The load of sysbench is started anew after so many seconds, and after each kill.
const SYSBENCH_SECONDS: u64 = 5;

/// What a load consists of.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// What the mixed workload has.
    pub features: Features,
    /// Behind the names of its databases.
    pub suffix: Suffix,
    /// Writers' numbers begin here.
    pub first_writer: u64,
    /// The database of the writers' tables; other loads may write there, too.
    pub database: &'static str,
}

/// A load at work.
#[derive(Debug)]
pub struct Load {
    share: Share,
    workload: Workload,
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<()>>,
    sysbench: Option<JoinHandle<u64>>,
}

#[derive(Debug)]
struct Shared {
    address: Mutex<Address>,
    stop: AtomicBool,
    /// A writer each.
    acknowledged: Vec<Mutex<Acknowledged>>,
}

/// The rows of one writer that were acknowledged.
#[derive(Debug, Clone, Default)]
pub struct Acknowledged {
    writer: u64,
    numbers: BTreeSet<u64>,
}

/// What a load came to.
#[derive(Debug, Default)]
pub struct Done {
    /// Of the mixed workload.
    pub report: Report,
    /// Rounds of sysbench that ended without an error.
    pub sysbench: u64,
    /// Of the writers.
    pub acknowledged: Vec<Acknowledged>,
}

/// Makes the writers' tables: one with a key, and one without, where a transaction that is applied
/// twice shows.
pub fn prepare_writers(address: &Address, database: &str) -> Result<()> {
    let mut conn = connect(address)?;
    for statement in [
        format!("CREATE DATABASE {database}"),
        format!("CREATE TABLE {database}.keyed (writer INT, n BIGINT, PRIMARY KEY (writer, n))"),
        format!("CREATE TABLE {database}.plain (writer INT, n BIGINT, KEY (writer))"),
        format!("CREATE TABLE {database}.sums (writer INT PRIMARY KEY, n BIGINT NOT NULL)"),
    ] {
        conn.query_drop(&statement).map_err(|e| format!("{e}: {statement}"))?;
    }
    Ok(())
}

impl Share {
    /// Makes what the load needs, but for the writers' tables.
    pub fn prepare(&self, address: &Address) -> Result<()> {
        prepare_with_suffix(address, self.features, self.suffix)?;
        let mut conn = connect(address)?;
        for writer in self.first_writer..self.first_writer + WRITERS {
            conn.query_drop(format!("INSERT INTO {}.sums VALUES ({writer}, 0)", self.database))?;
        }
        if find("sysbench").is_none() {
            println!("without sysbench, which is not installed");
            return Ok(());
        }
        conn.query_drop(format!("CREATE DATABASE sbtest{}", self.suffix.0))?;
        let prepared = self.sysbench(address).arg("prepare").output()?;
        if !prepared.status.success() {
            return Err(format!("sysbench: {}", String::from_utf8_lossy(&prepared.stdout)).into());
        }
        Ok(())
    }

    fn sysbench(&self, address: &Address) -> Command {
        let mut command = address.sysbench();
        command.args(["oltp_read_write", "--tables=2", "--table-size=1000", "--threads=2"]);
        command.args([format!("--time={SYSBENCH_SECONDS}"), format!("--mysql-db=sbtest{}", self.suffix.0)]);
        // Definitions of others and deadlocks.
        command.args(["--mysql-ignore-errors=1213,1020,1205,1290"]);
        command.stdin(Stdio::null());
        command
    }
}

impl Load {
    /// Starts it on what [`Share::prepare`] made.
    pub fn start(address: &Address, share: Share, seed: u64) -> Self {
        let writers = share.first_writer..share.first_writer + WRITERS;
        let acknowledged =
            writers.map(|writer| Mutex::new(Acknowledged { writer, numbers: BTreeSet::new() }));
        let shared = Arc::new(Shared {
            address: Mutex::new(address.clone()),
            stop: AtomicBool::new(false),
            acknowledged: acknowledged.collect(),
        });
        let writers = (0..shared.acknowledged.len()).map(|number| {
            let shared = shared.clone();
            thread::spawn(move || shared.write(share.database, &shared.acknowledged[number]))
        });
        let writers = writers.collect();
        let sysbench = find("sysbench").map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.sysbench(share))
        });
        let workload = Workload::start_with_suffix(address, share.features, SESSIONS, seed, share.suffix);
        Self { share, workload, shared, writers, sysbench }
    }

    /// The database of the writers' tables.
    pub fn database(&self) -> &'static str {
        self.share.database
    }

    /// What is behind the names of its databases and branches.
    pub fn suffix(&self) -> &'static str {
        self.share.suffix.0
    }

    /// The source is somewhere else from now on.
    pub fn moved(&self, address: &Address) {
        self.workload.moved(address);
        *lock(&self.shared.address) = address.clone();
    }

    /// What the writers were told so far.
    pub fn acknowledged_so_far(&self) -> Vec<Acknowledged> {
        self.shared.acknowledged.iter().map(|one| lock(one).clone()).collect()
    }

    /// Ends it between two steps of each session.
    pub fn stop(self) -> Result<Done> {
        self.shared.stop.store(true, Relaxed);
        let mut done = Done { report: self.workload.stop()?, ..Done::default() };
        for writer in self.writers {
            writer.join().map_err(|_| "a writer panicked")?;
        }
        done.acknowledged = self.shared.acknowledged.iter().map(|one| lock(one).clone()).collect();
        if let Some(sysbench) = self.sysbench {
            done.sysbench = sysbench.join().map_err(|_| "sysbench's thread panicked")?;
        }
        Ok(done)
    }
}

impl Shared {
    fn address(&self) -> Address {
        lock(&self.address).clone()
    }

    fn write(&self, database: &str, acknowledged: &Mutex<Acknowledged>) {
        let writer = lock(acknowledged).writer;
        let mut conn = None;
        for n in 0.. {
            if self.stop.load(Relaxed) {
                break;
            }
            let Some(open) = &mut conn else {
                thread::sleep(Duration::from_millis(20));
                conn = connect(&self.address()).ok();
                continue;
            };
            match append(open, database, writer, n) {
                Ok(()) => drop(lock(acknowledged).numbers.insert(n)),
                // What became of this one is not known.
                Err(_) => conn = None,
            }
        }
    }

    /// Runs sysbench again and again; how often to its end.
    fn sysbench(&self, share: Share) -> u64 {
        let mut runs = 0;
        while !self.stop.load(Relaxed) {
            let mut run = share.sysbench(&self.address());
            run.arg("run").stdout(Stdio::null()).stderr(Stdio::null());
            let done = run.status().is_ok_and(|status| status.success());
            runs += u64::from(done);
            if !done {
                thread::sleep(Duration::from_millis(200));
            }
        }
        runs
    }
}

fn lock<T>(of_all: &Mutex<T>) -> MutexGuard<'_, T> {
    of_all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One transaction of a writer.
fn append(conn: &mut Conn, database: &str, writer: u64, n: u64) -> mysql::Result<()> {
    conn.query_drop("BEGIN")?;
    conn.query_drop(format!("INSERT INTO {database}.keyed VALUES ({writer}, {n})"))?;
    conn.query_drop(format!("INSERT INTO {database}.plain VALUES ({writer}, {n})"))?;
    conn.query_drop(format!("UPDATE {database}.sums SET n = n + 1 WHERE writer = {writer}"))?;
    conn.query_drop("COMMIT")
}

impl Acknowledged {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Acknowledged rows that a server does not have, in words.
    pub fn missing_at(&self, conn: &mut Conn, database: &str) -> Result<Option<String>> {
        let there: Vec<u64> =
            conn.query(format!("SELECT n FROM {database}.keyed WHERE writer = {}", self.writer))?;
        Ok(self.lost(&there.into_iter().collect()))
    }

    fn lost(&self, there: &BTreeSet<u64>) -> Option<String> {
        let lost: Vec<&u64> = self.numbers.difference(there).collect();
        let (count, first) = (lost.len(), &lost[..lost.len().min(5)]);
        let text =
            || format!("acknowledged and missing of writer {}: {count} rows, {first:?} ..", self.writer);
        (count > 0).then(text)
    }

    /// What a server's tables have of this writer that is not right: an acknowledged row that is
    /// missing, and a row that is there twice.
    pub fn wrong_at(&self, conn: &mut Conn, database: &str) -> Result<Vec<String>> {
        let writer = self.writer;
        let mut read = |table: &str| -> Result<Vec<u64>> {
            Ok(conn.query(format!("SELECT n FROM {database}.{table} WHERE writer = {writer}"))?)
        };
        let (keyed, mut plain, sums) = (read("keyed")?, read("plain")?, read("sums")?);
        let there: BTreeSet<u64> = keyed.into_iter().collect();
        let mut wrong: Vec<String> = self.lost(&there).into_iter().collect();
        plain.sort_unstable();
        let is_twice = plain.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || plain.len() != there.len() || sums != [there.len() as u64] {
            wrong.push(format!(
                "writer {writer} has {} rows with a key, {} without{}, and {sums:?} in its sum",
                there.len(),
                plain.len(),
                if is_twice { " (some twice)" } else { "" }
            ));
        }
        Ok(wrong)
    }
}
