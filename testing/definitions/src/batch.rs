//! One batch: cases on a fresh server, and what is there of them after each way to stop and start
//! it.

use crate::snapshot::{Difference, Snapshot};
use crate::{Result, connect, launch};
use mysql::Conn;
use mysql::prelude::Queryable;
use servers::{Launch, Running};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A statement of a case, and the error that it was refused with.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its text.
    pub sql: String,
    /// The error's number and text; none if it was accepted.
    pub refused: Option<(u16, String)>,
}

/// A case that ran.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its number, which is in the name of its database too.
    pub number: u64,
    /// What it said, in order.
    pub statements: Vec<Statement>,
}

/// True if one of the statements may have drawn a value of AUTO_INCREMENT that no row has: it was
/// refused, or left rows out.
pub fn draws(statements: &[Statement]) -> bool {
    let is_drawn = |s: &Statement| {
        let writes = s.sql.starts_with("INSERT") || s.sql.starts_with("REPLACE");
        writes && (s.refused.is_some() || s.sql.starts_with("INSERT IGNORE"))
    };
    statements.iter().any(is_drawn)
}

/// How a server goes and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// SIGTERM, then a start.
    CleanStop,
    /// SIGKILL, then a start.
    Kill,
    /// A kill and a start, then a clean stop and a start.
    KillThenCleanStop,
    /// A clean stop and a start, then a kill and a start.
    CleanStopThenKill,
    /// A copy of the data directory from before the cases, and `duramen binlog replay` of the log
    /// after it.
    Replay,
}

/// What a batch found.
#[derive(Debug)]
pub enum Failure {
    /// The server ended or hung while the case ran.
    Broke(String),
    /// It didn't start; what it said.
    NoStart(Route, String),
    /// It shows something else.
    Changed(Route, Vec<Difference>),
}

/// So many characters of what a server said last are shown.
const LAST_WORDS: usize = 1000;

/// What became of the cases.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What failed, if anything did.
    pub failures: Vec<Failure>,
    /// The snapshot of the server that all this began with.
    pub snapshot: Snapshot,
}

/// Where servers are run, and which.
#[derive(Debug, Clone)]
pub struct TestBed {
    /// A folder for their data.
    pub folder: PathBuf,
    /// The server's binary, if not the one next to the running program.
    pub binary: Option<PathBuf>,
    /// Whether the log is replayed after a copy too ([`Route::Replay`]).
    pub replays: bool,
}

impl TestBed {
    /// A fresh server. No definition depends on the flush, and the log is whole after a kill either
    /// way.
    pub fn start(&self) -> Result<Running> {
        let server = small(launch(&self.folder.join("first"), self.binary.as_ref())?).start()?;
        if self.replays {
            copy_stopped(&server, &self.base())?;
        }
        Ok(server)
    }

    /// The copy from before the cases.
    fn base(&self) -> PathBuf {
        self.folder.join("base").join("data")
    }

    /// Replays the log of `from` after the copy from before the cases; what the program said if it
    /// failed.
    fn replay(&self, from: &Launch) -> Result<(Launch, Option<String>)> {
        let to = small(launch(&self.folder.join("replayed"), self.binary.as_ref())?);
        empty_home(&to.data())?;
        let binary = self.binary.clone().map_or_else(servers::duramen, Ok)?;
        let done = Command::new(binary)
            .args(["binlog", "replay", "--keep-uuid"])
            .arg(format!("--base={}", self.base().display()))
            .arg(format!("--datadir={}", to.data().display()))
            .arg(from.data())
            .output()?;
        let said = || {
            String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).chars().take(LAST_WORDS).collect()
        };
        let failed = (!done.status.success()).then(said);
        Ok((to, failed))
    }

    fn copy(&self) -> Result<Launch> {
        Ok(small(launch(&self.folder.join("copy"), self.binary.as_ref())?))
    }
}

fn small(launch: Launch) -> Launch {
    ["--innodb-buffer-pool-size=64M", "--lock-wait-timeout=5", "--log-bin-trust-function-creators=1"]
        .iter()
        .fold(launch, |launch, arg| launch.arg(*arg))
}

/// Draws the case of this number and runs it.
pub fn draw(server: &Running, seed: u64, number: u64) -> Result<Case> {
    let mut conn = connect(server)?;
    let mut case = Case { number, statements: Vec::new() };
    let mut broken = None;
    definition_generator::case(seed, number, &mut |sql| {
        if broken.is_some() {
            return false;
        }
        let answer = execute(&mut conn, sql);
        let refused = match answer {
            Ok(refused) => refused,
            Err(e) => {
                broken = Some(format!("{e}: {sql}"));
                None
            }
        };
        let is_accepted = refused.is_none() && broken.is_none();
        case.statements.push(Statement { sql: sql.to_owned(), refused });
        is_accepted
    });
    match broken {
        Some(text) => Err(text.into()),
        None => Ok(case),
    }
}

/// Runs a case's statements again.
pub fn replay(server: &Running, statements: &[Statement]) -> Result<()> {
    let mut conn = connect(server)?;
    for statement in statements {
        execute(&mut conn, &statement.sql)?;
    }
    Ok(())
}

fn execute(conn: &mut Conn, sql: &str) -> Result<Option<(u16, String)>> {
    match conn.query_drop(sql) {
        Ok(()) => Ok(None),
        Err(mysql::Error::MySqlError(e)) => Ok(Some((e.code, e.message))),
        Err(e) => Err(e.into()),
    }
}

/// Takes the server through all routes. What it shows after each must be what it shows now.
///
/// Values of AUTO_INCREMENT that nothing committed has may be given again after a kill. So counters
/// of the cases that have `drawn` such values may come back lower.
pub fn examine(test_bed: &TestBed, server: Running, drawn: &BTreeSet<u64>) -> Result<Verdict> {
    let snapshot = Snapshot::take(&server)?;
    // A kill preserves what lies there while all threads stand still.
    let copy = test_bed.copy()?;
    copy_stopped(&server, &copy.data())?;
    let mut verdict = Verdict { failures: Vec::new(), snapshot };
    let is_fine = |verdict: &Verdict| verdict.failures.is_empty();

    let launch = server.launch().clone();
    server.stop()?;
    if test_bed.replays {
        match test_bed.replay(&launch)? {
            (replayed, None) => drop(verdict.start(Route::Replay, replayed, drawn)?),
            (_, Some(said)) => verdict.failures.push(Failure::NoStart(Route::Replay, said)),
        }
    }
    if let Some(mut server) = verdict.start(Route::CleanStop, launch.clone(), drawn)?
        && is_fine(&verdict)
    {
        server.kill()?;
        drop(server);
        verdict.start(Route::CleanStopThenKill, launch, drawn)?;
    }
    if let Some(server) = verdict.start(Route::Kill, copy.clone(), drawn)?
        && is_fine(&verdict)
    {
        server.stop()?;
        verdict.start(Route::KillThenCleanStop, copy, drawn)?;
    }
    Ok(verdict)
}

impl Verdict {
    fn start(&mut self, route: Route, launch: Launch, drawn: &BTreeSet<u64>) -> Result<Option<Running>> {
        let messages_before = launch.messages().map_or(0, |text| text.len());
        let server = match launch.clone().start_again() {
            Ok(server) => server,
            Err(e) => {
                let told = launch.messages().unwrap_or_default();
                let told = told.get(messages_before..).unwrap_or(&told);
                // The last words, which may hold a definition of many lines.
                let last = told.rfind("duramen: ").and_then(|at| told.get(at..)).unwrap_or(told);
                let last: String = last.chars().take(LAST_WORDS).collect();
                self.failures.push(Failure::NoStart(route, format!("{e}\n{last}")));
                return Ok(None);
            }
        };
        let mut differences = self.snapshot.differences(&Snapshot::take(&server)?);
        if route != Route::CleanStop {
            differences.retain(|d| !(drawn.contains(&d.case) && d.is_counter_alone));
        }
        if !differences.is_empty() {
            self.failures.push(Failure::Changed(route, differences));
        }
        Ok(Some(server))
    }
}

/// Copies the data of a running server while all its threads stand still.
fn copy_stopped(server: &Running, to: &Path) -> Result<()> {
    let signal = |name: &str| Command::new("kill").args([name, &server.pid().to_string()]).status();
    empty_home(to)?;
    signal("-STOP")?;
    let copied = Command::new("cp").arg("-a").arg(server.launch().data()).arg(to).status();
    signal("-CONT")?;
    if copied?.success() { Ok(()) } else { Err("cp failed".into()) }
}

/// Makes the folder that a data directory lies in anew.
fn empty_home(data: &Path) -> Result<()> {
    let home = data.parent().ok_or("a data directory has a folder")?;
    // Missing is as good as removed.
    let _ = std::fs::remove_dir_all(home);
    Ok(std::fs::create_dir_all(home)?)
}

/// How often statements were accepted, and refused by which error.
#[derive(Debug, Default)]
pub struct Counts {
    /// Statements that were accepted.
    pub accepted: u64,
    /// Definitions that were accepted: no SET, USE or INSERT.
    pub definitions: u64,
    /// Definitions that were refused.
    pub refused_definitions: u64,
    /// Refusals by number, with an example each; those for what is not supported (1235) by what it
    /// is.
    pub refused: BTreeMap<(u16, String), (u64, String)>,
    /// Definitions that were refused because they would be read back as something else: legal ones,
    /// which a text must be found for.
    pub read_back: Vec<String>,
}

impl Counts {
    /// Counts a case.
    pub fn add(&mut self, case: &Case) {
        for statement in &case.statements {
            let word = statement.sql.split(' ').next().unwrap_or_default();
            let is_definition = matches!(word, "CREATE" | "ALTER" | "RENAME" | "DROP" | "GRANT" | "REVOKE");
            match &statement.refused {
                None => {
                    self.accepted += 1;
                    self.definitions += u64::from(is_definition);
                }
                Some((number, text)) => {
                    self.refused_definitions += u64::from(is_definition);
                    if text.contains("reads back") {
                        self.read_back.push(format!("case {}: {text}: {}", case.number, statement.sql));
                    }
                    let what =
                        if *number == 1235 { text.split(['(', '`']).next().unwrap_or_default() } else { "" };
                    self.refused.entry((*number, what.to_owned())).or_insert_with(|| (0, text.clone())).0 +=
                        1;
                }
            }
        }
    }
}
