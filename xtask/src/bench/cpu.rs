//! What a commit costs the processor, by the number of clients: groups share the work.

use super::callgrind::{self, Instructions};
use super::contender::Contender;
use super::hot_row::{self, ROWS, Update};
use super::options::Options;
use super::results::{Bar, Table, by_clients};
use super::sysbench;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::cell::Cell;
use std::time::Duration;

const CLIENTS: [u32; 3] = [1, 16, 64];

/// The server's processor time for each commit, with 1, 16 and 64 clients.
pub struct CpuPerCommit {
    time: u32,
}

impl CpuPerCommit {
    pub fn new(options: &Options) -> Self {
        Self { time: options.time }
    }
}

impl Workload for CpuPerCommit {
    fn name(&self) -> String {
        "cpu-per-commit".into()
    }

    fn title(&self) -> String {
        "Processor time for each commit".into()
    }

    fn about(&self) -> String {
        "`UPDATE counters SET n = n + 1` of one of 100,000 rows; what the server's process took of the processors, the kernel's \
         work for it included, over the number of commits."
            .into()
    }

    fn unit(&self) -> &'static str {
        "Commits for each second of the server's processor time"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, delay| {
            let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
            Part::new(name, columns.into(), CLIENTS.map(Row::threads).into()).slowed(delay)
        };
        vec![part("this disk", Duration::ZERO), part("0.6 ms", super::oltp::NETWORK)]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        hot_row::make_counters(server, ROWS)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        let before = server.counts()?;
        let outcome = hot_row::run(server, Update::Spread, CLIENTS[row], self.time)?;
        let taken = server.counts()?.since(before).cpu.zip(outcome.events);
        // Of a server that is given by its address nothing is known.
        let per_second = taken.map(|(cpu, commits)| commits / cpu.as_secs_f64());
        Ok(per_second.map(|per_second| Outcome { per_second, ..outcome }).into_iter().collect())
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        tables.iter().filter_map(falls_as_groups_grow).collect()
    }
}

fn falls_as_groups_grow(table: &Table) -> Option<Bar> {
    let cpu = |threads| table.at(threads)?.spread(0, |s| s.cpu_us).map(|s| s.median);
    Some(falls(table.prefix(), "less processor time", [cpu(1)?, cpu(16)?, cpu(64)?]))
}

fn falls(prefix: String, what: &str, costs: [f64; 3]) -> Bar {
    let shares = CLIENTS.into_iter().zip(costs).skip(1);
    let figures = shares.map(|(n, cost)| (n, format!("{:.0}", cost / costs[0] * 100.0)));
    Bar {
        wanted: format!(
            "{prefix}{what} for each commit with 16 clients than with one, and with 64 than with 16"
        ),
        found: format!("{} of what one takes", by_clients(figures, " %")),
        met: costs.is_sorted_by(|before, after| after < before),
    }
}

/// The server's instructions for each commit, with 1, 16 and 64 clients.
pub struct InstructionsPerCommit {
    /// The log's part of them, by the row: counted with the whole.
    log: [Cell<f64>; CLIENTS.len()],
}

/// A flush so slow that the clients wait for it and not for callgrind, which is some fifty times
/// slower than the processor.
const FLUSH: Duration = Duration::from_millis(150);

/// The two parts.
const PROCESS: &str = "the process";
const LOG: &str = "its log";

impl InstructionsPerCommit {
    pub fn new(_options: &Options) -> Self {
        Self { log: Default::default() }
    }
}

impl Workload for InstructionsPerCommit {
    fn name(&self) -> String {
        "instructions-per-commit".into()
    }

    fn title(&self) -> String {
        "Instructions for each commit".into()
    }

    fn about(&self) -> String {
        "`UPDATE counters SET n = n + 1` of one of 100,000 rows, with the server under callgrind, which counts the instructions \
         of its process without the kernel's: those of a longer run less those of a shorter one, so that connecting does not \
         count, over the commits by which they differ. Its log's are those of the log's functions and what they call, but for \
         what they do for others: putting rows into memtables, releasing locks, replying. They are what a group shares. \
         Slow commits are not told of (duramen_slow_commit_time=0)."
            .into()
    }

    fn unit(&self) -> &'static str {
        "Commits for a million instructions"
    }

    fn parts(&self) -> Vec<Part> {
        let columns = vec![Column::new(Who::DuramenCounted, Durability::FULL)];
        let part = |name| Part::new(name, columns.clone(), CLIENTS.map(Row::threads).into()).slowed(FLUSH);
        [PROCESS, LOG].map(part).into()
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        // Under callgrind on a busy machine some commits are slow: a line in the log takes as much
        // as seven of its commits.
        server.sql("SET GLOBAL duramen_slow_commit_time = 0")?;
        hot_row::make_counters(server, ROWS)
    }

    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>> {
        if part > 0 {
            return Ok(vec![Outcome { per_second: 1e6 / self.log[row].get(), ..Outcome::default() }]);
        }
        let clients = CLIENTS[row];
        // Few clients commit seldom. All rounds change less than a tenth of the rows, else the
        // server reads the table's statistics again.
        let seconds = [15, 6, 4][row];
        // What was left to do from before is done in a run that does not count.
        counted(server, clients, 1)?;
        let (few, many) = (counted(server, clients, 1)?, counted(server, clients, seconds)?);
        let (instructions, commits) = (many.0 - few.0, many.1 - few.1);
        self.log[row].set(instructions.log as f64 / commits);
        let per_commit = instructions.all as f64 / commits;
        Ok(vec![Outcome { per_second: 1e6 / per_commit, ..Outcome::default() }])
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        let instructions = |table: &Table, threads| Some(1e6 / table.at(threads)?.rate(0)?);
        let bar = |table: &Table| {
            let costs = [instructions(table, 1)?, instructions(table, 16)?, instructions(table, 64)?];
            Some(falls(table.prefix(), "fewer instructions", costs))
        };
        tables.iter().filter_map(bar).collect()
    }
}

/// Instructions and commits of a run.
fn counted(server: &Contender, threads: u32, seconds: u32) -> Result<(Instructions, f64)> {
    let script = hot_row::script()?;
    callgrind::instructions(server)?;
    let done = sysbench::run(server, &script, threads, seconds, &[format!("--rows={ROWS}")])?;
    Ok((callgrind::instructions(server)?, done.events.unwrap_or(0.0)))
}
