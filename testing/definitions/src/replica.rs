//! Definitions on a replica: what the server accepted, a MySQL or MariaDB that follows it by GTID
//! can follow, and shows the same (R1 of ARCHITECTURE.md for copies).
//!
//! 1. One source runs batch after batch of cases, and one replica follows it.
//! 2. After each batch the replica is waited for. A transaction that it stops at is stepped over,
//!    and belongs to the case whose database or account it names.
//! 3. What both [`show`](shown::show) of each case is compared. Then the cases' objects are
//!    dropped, at the source.
//! 4. A case that stopped the replica or differs is run again with fewer statements as long as it
//!    still does.
//!
//! What a replica cannot have by limits of its own is counted by its reason ([`Limits`]); every
//! other difference is a finding.

mod follower;
mod limits;
mod shown;

use crate::batch::{Case, Counts, Statement, draw, draws, replay};
use crate::reduce::reduce;
use crate::run::{Finding, Options};
use crate::{Result, connect, launch};
use follower::Follower;
use limits::Limits;
use mysql::prelude::Queryable;
use servers::{Address, Running};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Which replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaKind {
    /// Without an address: `DURAMEN_MYSQLD`, or `mysqld` on the path.
    MySql,
    /// Without an address: `mariadbd` on the path.
    MariaDb,
}

/// The replica that is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Which.
    pub kind: ReplicaKind,
    /// One that runs, whose replication is set up anew; else one is started.
    pub at: Option<Address>,
}

impl Wanted {
    /// Reads `mysql` or `mariadb`, perhaps with `:user:password@host:port` after it.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, at) = text.split_once(':').map_or((text, None), |(name, at)| (name, Some(at)));
        let kind = match name {
            "mysql" => ReplicaKind::MySql,
            "mariadb" => ReplicaKind::MariaDb,
            _ => return Err(format!("`{text}` begins neither with mysql nor with mariadb").into()),
        };
        Ok(Self { kind, at: at.map(Address::parse).transpose()? })
    }

    /// Why it can't be started, if so.
    pub fn is_missing(&self) -> Option<String> {
        match (&self.at, self.kind) {
            (Some(_), _) => None,
            (None, ReplicaKind::MySql) => servers::mysqld().err().map(|e| e.to_string()),
            (None, ReplicaKind::MariaDb) if servers::find("mariadbd").is_none() => {
                Some("mariadbd is not installed".to_owned())
            }
            (None, ReplicaKind::MariaDb) => None,
        }
    }
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Who followed.
    pub replica: String,
    /// Cases that ran.
    pub cases: u64,
    /// Tables and functions compared.
    pub compared: u64,
    /// Rows in these tables, together.
    pub rows: u64,
    /// Statements.
    pub counts: Counts,
    /// Cases of which the replica cannot have something, by the reason.
    pub limited: BTreeMap<&'static str, u64>,
    /// What must not be.
    pub findings: Vec<Finding>,
}

/// What became of some cases at the replica.
#[derive(Debug, Default)]
struct Verdict {
    /// In words, by case.
    failures: BTreeMap<u64, String>,
    limited: BTreeMap<u64, &'static str>,
    compared: u64,
    rows: u64,
}

/// A source and its replica.
struct Pair {
    source: Running,
    follower: Follower,
    limits: Limits,
}

/// Runs batches until one of the bounds is met; `report` gets each finding at once.
pub fn run(
    folder: &Path,
    binary: Option<&PathBuf>,
    wanted: &Wanted,
    options: &Options,
    mut report: impl FnMut(&Finding),
) -> Result<Outcome> {
    let mut pair = Pair::start(folder, binary, wanted)?;
    let mut outcome = Outcome { replica: pair.follower.version()?, ..Outcome::default() };
    let until = Instant::now() + options.time;
    let mut next = options.first;
    while outcome.counts.definitions < options.definitions
        && Instant::now() < until
        && outcome.findings.len() < options.most
    {
        let cases = (next..next + options.batch).map(|number| draw(&pair.source, options.seed, number));
        let cases = cases.collect::<Result<Vec<Case>>>()?;
        let verdict = pair.examine(&cases)?;
        pair.clean(&cases)?;
        outcome.add(&cases, &verdict);
        for case in cases.iter().filter(|case| verdict.failures.contains_key(&case.number)) {
            let finding = pair.reduced(options, case, &verdict.failures[&case.number])?;
            report(&finding);
            outcome.findings.push(finding);
            if outcome.findings.len() >= options.most {
                break;
            }
        }
        next += options.batch;
    }
    Ok(outcome)
}

impl Pair {
    fn start(folder: &Path, binary: Option<&PathBuf>, wanted: &Wanted) -> Result<Self> {
        let launch = launch(&folder.join("source"), binary)?
            .arg("--innodb-buffer-pool-size=64M")
            .arg("--log-bin-trust-function-creators=1");
        let port = servers::free_port()?;
        let launch = match wanted.kind {
            ReplicaKind::MySql => launch,
            ReplicaKind::MariaDb => launch.arg(followers::mariadb::port_option(port)),
        };
        let source = launch.start()?;
        let port = if wanted.kind == ReplicaKind::MySql { source.port() } else { port };
        let follower = Follower::start(folder, wanted, &source, port)?;
        Ok(Self { source, follower, limits: Limits::of(wanted.kind) })
    }

    /// Waits for the replica and compares; nothing else runs meanwhile.
    fn examine(&mut self, cases: &[Case]) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for stop in self.follower.await_source(&self.source)? {
            let case = stop.case.filter(|number| cases.iter().any(|case| case.number == *number));
            let case =
                case.ok_or_else(|| format!("the replica stopped at no case's statement: {}", stop.text))?;
            // What builds on a statement that was skipped stops it again: the first one is
            // reported.
            if verdict.failures.contains_key(&case) || verdict.limited.contains_key(&case) {
                continue;
            }
            match self.limits.of_stop(&stop) {
                Some(reason) => drop(verdict.limited.insert(case, reason)),
                None => drop(verdict.failures.insert(case, format!("== it stopped: {}\n", stop.text))),
            }
        }
        let (mut ours, mut theirs) = (connect(&self.source)?, self.follower.connect()?);
        for case in cases {
            let number = case.number;
            if verdict.failures.contains_key(&number) || verdict.limited.contains_key(&number) {
                continue;
            }
            let kind = self.follower.kind();
            let source = shown::show(&mut ours, number, None)?;
            let replica = shown::show(&mut theirs, number, Some(kind))?;
            verdict.compared += source.definitions();
            verdict.rows += source.rows();
            for difference in source.differences(&replica, &self.limits, draws(&case.statements)) {
                match difference {
                    Ok(text) => *verdict.failures.entry(number).or_default() += &text,
                    Err(reason) => drop(verdict.limited.insert(number, reason)),
                }
            }
        }
        Ok(verdict)
    }

    /// Drops what the cases made, here and there.
    fn clean(&mut self, cases: &[Case]) -> Result<()> {
        let numbers: BTreeSet<u64> = cases.iter().map(|case| case.number).collect();
        let mut conn = connect(&self.source)?;
        for statement in shown::drops(&mut conn, &numbers)? {
            conn.query_drop(statement)?;
        }
        // Whatever it lacks it can't drop.
        self.follower.await_source(&self.source)?;
        let mut conn = self.follower.connect()?;
        let left = shown::drops(&mut conn, &numbers)?;
        if !left.is_empty() {
            conn.query_drop("SET sql_log_bin = 0")?;
            for statement in left {
                conn.query_drop(statement)?;
            }
        }
        Ok(())
    }

    fn failure_of(&mut self, number: u64, statements: &[Statement]) -> Result<Option<String>> {
        replay(&self.source, statements)?;
        let case = Case { number, statements: statements.to_vec() };
        let mut verdict = self.examine(std::slice::from_ref(&case))?;
        self.clean(&[case])?;
        Ok(verdict.failures.remove(&number))
    }

    /// Reports a case that fails, reduced to what it takes.
    fn reduced(&mut self, options: &Options, case: &Case, of_batch: &str) -> Result<Finding> {
        let accepted: Vec<Statement> =
            case.statements.iter().filter(|s| s.refused.is_none()).cloned().collect();
        let (number, seed) = (case.number, options.seed);
        let mut statements = accepted;
        let mut failure = None;
        if options.attempts > 0 && self.failure_of(number, &statements)?.is_some() {
            statements = reduce(statements, options.attempts, &mut |fewer| {
                Ok(self.failure_of(number, fewer)?.is_some())
            })?;
            failure = self.failure_of(number, &statements)?;
        }
        let how = if failure.is_some() { "" } else { " (as its batch showed it)" };
        let script: String = statements.iter().map(|s| format!("{};\n", s.sql)).collect();
        let told = failure.as_deref().unwrap_or(of_batch);
        Ok(Finding { case: number, text: format!("--seed {seed} --case {number}{how}:\n{script}{told}") })
    }
}

impl Outcome {
    fn add(&mut self, cases: &[Case], verdict: &Verdict) {
        cases.iter().for_each(|case| self.counts.add(case));
        self.cases += cases.len() as u64;
        self.compared += verdict.compared;
        self.rows += verdict.rows;
        for reason in verdict.limited.values() {
            *self.limited.entry(reason).or_default() += 1;
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(f, "replica: {}", self.replica)?;
        writeln!(f, "{} cases, {} statements accepted", self.cases, counts.accepted)?;
        writeln!(
            f,
            "{} definitions accepted, {} refused; {} tables and functions and {} rows compared",
            counts.definitions, counts.refused_definitions, self.compared, self.rows
        )?;
        for (reason, count) in &self.limited {
            writeln!(f, "  {count} cases that the replica cannot have: {reason}")?;
        }
        write!(f, "{} findings", self.findings.len())
    }
}
