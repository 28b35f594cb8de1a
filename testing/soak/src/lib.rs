//! The soak: random SQL from a [`grammar`], nonsense included, from several sessions at once over
//! the real server.
//!
//! Some sessions are [`hostile`]: their statements are as long, deep and slow as can be, and are
//! killed after a while. Each has to end soon after.
//!
//! Nothing is said about results. What counts is that the server stays: no panic in its error log,
//! no session that breaks off, no statement that neither ends nor can be killed, no memory beyond a
//! bound; and after a kill -9 at the end it comes back with every table as it was.

pub mod grammar;
pub mod hostile;
mod session;

use grammar::Grammar;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use servers::{Launch, Running, ServerKind};
use session::{Says, Session, Watched};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use servers::Result;

/// The database that the sessions play in.
const DATABASE: &str = "soak";
/// A statement is killed after this time, and counts as hanging when it goes on for as long again.
const PATIENCE: Duration = Duration::from_secs(10);

/// A hostile session's statement is killed after this time.
const HOSTILE_PATIENCE: Duration = Duration::from_millis(1500);
/// How often the sessions are looked at.
const WATCH_EVERY: Duration = Duration::from_millis(50);
/// What one statement may take, in bytes.
const STATEMENT_MEMORY: u64 = 512 << 20;

/// How a soak goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long.
    pub time: Duration,
    /// Sessions at once.
    pub sessions: u32,
    /// Hostile sessions concurrent with them.
    pub hostile: u32,
    /// Texts of hostile sessions have at most so many bytes or so.
    pub text_max: usize,
    /// A hostile statement has to end so soon after it was killed.
    pub grace: Duration,
    /// Sessions draw from this and their number.
    pub seed: u64,
    /// Bound of the server's resident memory, in MiB.
    pub memory_mib_max: u64,
}

/// What a soak came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Statements that were answered.
    pub statements: u64,
    /// Of these, without an error.
    pub successes: u64,
    /// Of these, killed for their time.
    pub killed: u64,
    /// The most memory the server had, in MiB.
    pub memory_mib: u64,
    /// How long a hostile statement went on after it was killed, at most, and what it began with.
    pub slowest_end: (Duration, String),
    /// How often each error was met.
    pub errors: BTreeMap<u16, u64>,
    /// What must not be.
    pub findings: Vec<String>,
}

/// Soaks a Duramen that is started in `folder`.
pub fn run(folder: &Path, options: &Options) -> Result<Outcome> {
    let launch = Launch::new(ServerKind::Duramen, folder)?;
    let launch = [
        "--innodb-lock-wait-timeout=1",
        "--lock-wait-timeout=1",
        "--sync-binlog=0",
        "--innodb-flush-log-at-trx-commit=0",
    ]
    .iter()
    .fold(launch, |launch, arg| launch.arg(*arg));
    let launch = launch.arg(format!("--duramen-statement-memory-max={STATEMENT_MEMORY}"));
    let mut server = launch.start()?;
    let mut conn = connect(server.socket())?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE}"))?;
    conn.query_drop(format!("USE {DATABASE}"))?;
    hostile::TABLES.iter().try_for_each(|table| conn.query_drop(table))?;
    drop(conn);
    let mut outcome = soak(&mut server, options)?;
    let panics = server.messages()?;
    outcome.findings.extend(panics.lines().filter(|l| l.contains("panick")).map(str::to_owned));
    if server.is_up()? {
        check_restart(server, &mut outcome)?;
    } else {
        outcome.findings.push("the server ended".into());
    }
    Ok(outcome)
}

fn soak(server: &mut Running, options: &Options) -> Result<Outcome> {
    let (grammar, stop) = (Grammar::sql(), AtomicBool::new(false));
    let plain = (0..options.sessions).map(|_| Watched::new(PATIENCE, PATIENCE));
    let hostile = (0..options.hostile).map(|_| Watched::new(HOSTILE_PATIENCE, options.grace));
    let watched: Vec<Watched> = plain.chain(hostile).collect();
    let mut outcome = Outcome::default();
    let until = Instant::now() + options.time;
    std::thread::scope(|scope| -> Result<()> {
        let sessions: Vec<_> = (0..)
            .zip(&watched)
            .map(|(i, watched)| {
                let says = match i < options.sessions {
                    true => Says::Sentences(&grammar),
                    false => Says::Hostile(options.text_max),
                };
                let session = Session::new(server.socket(), says, options.seed, i, watched);
                let stop = &stop;
                scope.spawn(move || session.work(stop))
            })
            .collect();
        while Instant::now() < until && outcome.findings.is_empty() && server.is_up()? {
            std::thread::sleep(WATCH_EVERY);
            watch(server, &watched, options, &mut outcome)?;
        }
        stop.store(true, Ordering::Relaxed);
        // A session that waits for a lock or scans still gets the time that a statement has.
        let end = Instant::now() + PATIENCE * 2;
        while sessions.iter().any(|s| !s.is_finished()) && Instant::now() < end && server.is_up()? {
            std::thread::sleep(WATCH_EVERY);
            watch(server, &watched, options, &mut outcome)?;
        }
        if sessions.iter().any(|s| !s.is_finished()) && server.is_up()? {
            outcome.findings.push(format!("sessions hang; {}", stacks(server)));
            server.kill()?;
        }
        for session in sessions {
            let told = session.join().map_err(|_| "a session of the soak panicked")?;
            outcome.add(told);
        }
        Ok(())
    })?;
    Ok(outcome)
}

/// Kills what takes too long, and measures.
fn watch(server: &Running, watched: &[Watched], options: &Options, outcome: &mut Outcome) -> Result<()> {
    for (i, session) in watched.iter().enumerate() {
        let Some((id, sql, since)) = session.current() else { continue };
        let is_first = session.killed_since().is_none();
        if since.elapsed() > session.patience && session.take_kill() {
            // The session may just have ended.
            let _ = connect(server.socket()).and_then(|mut c| Ok(c.query_drop(format!("KILL QUERY {id}"))?));
            outcome.killed += u64::from(is_first);
        }
        if session.killed_since().is_some_and(|since| since > session.grace) {
            let running: Vec<_> = watched.iter().filter_map(|w| w.current().map(|(_, sql, _)| sql)).collect();
            outcome.findings.push(format!(
                "session {i} hangs, KILL QUERY or not: {sql}\nall run: {running:#?}\n{}",
                stacks(server)
            ));
            break;
        }
    }
    if let Ok(kib) = server.resident_kib() {
        outcome.memory_mib = outcome.memory_mib.max(kib >> 10);
    }
    if outcome.memory_mib > options.memory_mib_max {
        let running: Vec<_> = watched.iter().filter_map(|w| w.current().map(|(_, sql, _)| sql)).collect();
        outcome.findings.push(format!("{} MiB of memory while these ran: {running:#?}", outcome.memory_mib));
    }
    Ok(())
}

/// Where the server's threads are, if `gdb` is there to say it.
fn stacks(server: &Running) -> String {
    let pid = server.pid().to_string();
    let told = Command::new("gdb").args(["-p", &pid, "-batch", "-ex", "thread apply all bt 30"]).output();
    let Ok(told) = told else { return "gdb would tell where".into() };
    let told = String::from_utf8_lossy(&told.stdout);
    // Of the frames, those of the project.
    let ours = |l: &&str| l.starts_with("Thread ") || l.contains(" at crates/");
    told.lines().filter(ours).collect::<Vec<_>>().join("\n")
}

/// Kills the server, starts it again, and compares what the tables hold.
fn check_restart(mut server: Running, outcome: &mut Outcome) -> Result<()> {
    let before = contents(&server)?;
    server.kill()?;
    let server = server.restart()?;
    let after = contents(&server)?;
    for lost in before.difference(&after) {
        outcome.findings.push(format!("not there after kill and restart: {lost}"));
    }
    for new in after.difference(&before) {
        outcome.findings.push(format!("new after kill and restart: {new}"));
    }
    server.stop()
}

/// Each table's definition and rows. Rows that are there more than once are distinguished by their
/// count.
fn contents(server: &Running) -> Result<BTreeSet<String>> {
    let mut conn = connect(server.socket())?;
    conn.query_drop(format!("USE {DATABASE}"))?;
    let tables: Vec<String> = conn.query("SHOW TABLES")?;
    let mut all = BTreeSet::new();
    for table in tables {
        let definition: Option<(String, String)> = conn.query_first(format!("SHOW CREATE TABLE {table}"))?;
        all.extend(definition.map(|(_, text)| without_counter(&text)));
        let rows: Vec<mysql::Row> = conn.query(format!("SELECT * FROM {table}"))?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            let values: Vec<_> = row.unwrap().iter().map(|v| v.as_sql(true)).collect();
            *counts.entry(values.join(", ")).or_default() += 1;
        }
        all.extend(counts.into_iter().map(|(row, count)| format!("{table}: {count} times {row}")));
    }
    Ok(all)
}

/// The text of CREATE TABLE without AUTO_INCREMENT's next value: one that nothing committed has
/// drawn may be given again.
fn without_counter(definition: &str) -> String {
    let is_counter = |word: &&str| word.starts_with("AUTO_INCREMENT=");
    definition.split(' ').filter(|w| !is_counter(w)).collect::<Vec<_>>().join(" ")
}

fn connect(socket: &Path) -> Result<Conn> {
    let socket = socket.to_string_lossy().into_owned();
    let options = OptsBuilder::default().user(Some("root")).socket(Some(socket)).prefer_socket(false);
    Ok(Conn::new(options.read_timeout(Some(PATIENCE * 3)))?)
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.successes += other.successes;
        for (number, count) in other.errors {
            *self.errors.entry(number).or_default() += count;
        }
        self.findings.extend(other.findings);
        if other.slowest_end.0 > self.slowest_end.0 {
            self.slowest_end = other.slowest_end;
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} statements, {} without an error, {} killed",
            self.statements, self.successes, self.killed
        )?;
        writeln!(f, "{} MiB of memory at most", self.memory_mib)?;
        let (time, text) = &self.slowest_end;
        writeln!(f, "hostile statements ended {} ms after KILL at most: {text}", time.as_millis())?;
        let mut errors: Vec<_> = self.errors.iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let errors: Vec<_> = errors.iter().map(|(number, count)| format!("{number} ({count})")).collect();
        writeln!(f, "errors: {}", errors.join(", "))?;
        for finding in &self.findings {
            writeln!(f, "\n{finding}")?;
        }
        write!(f, "{} findings", self.findings.len())
    }
}
