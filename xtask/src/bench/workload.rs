//! What a workload is, and which there are.
//!
//! A workload has parts, each a table: rows of work by columns of servers with their settings.
//! Every cell is run in every round.

use super::contender::{Contender, Counts};
use super::options::Options;
use super::results::{Bar, Percentiles, Table};
use super::shape::Shape;
use super::{cpu, dump, followers, hot_parent, hot_row, oltp, one_client, replica, slap, sysbench, tpcc};
use crate::Result;
use std::time::Duration;

/// Work that servers get.
pub trait Workload {
    /// Its name on the command line and of its files.
    fn name(&self) -> String;

    /// The heading of its section.
    fn title(&self) -> String;

    /// What is done and what it is to show, for the reader of the tables.
    fn about(&self) -> String;

    /// What the rates are.
    fn unit(&self) -> &'static str {
        "Transactions per second"
    }

    /// Its tables.
    fn parts(&self) -> Vec<Part>;

    /// How often its cells are run; fewer where rounds do not differ.
    fn rounds(&self, asked: usize) -> usize {
        asked
    }

    /// What its servers are started with besides what all are.
    fn arguments(&self, _who: Who) -> Vec<String> {
        Vec::new()
    }

    /// Makes what every cell needs, while flushes are as fast as the machine's.
    fn prepare(&self, server: &Contender) -> Result<()>;

    /// Runs a row of a part, by their numbers; the server has the settings of its column. Fails if
    /// a result is not what it must be.
    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>>;

    /// Removes what [`prepare`](Self::prepare) made.
    fn clean_up(&self, _server: &Contender) -> Result<()> {
        Ok(())
    }

    /// What each client's rate cannot exceed, whatever the server, if that was measured.
    fn limit(&self, _table: &Table) -> Option<f64> {
        None
    }

    /// The row that other rows are printed in multiples of; none where it is the first, or the one
    /// with the fewest clients.
    fn base_row(&self) -> Option<String> {
        None
    }

    /// What was published of it, as gains.
    fn shapes(&self) -> Vec<Shape> {
        Vec::new()
    }

    /// Plots of distributions, besides those of the tables.
    fn curves(&self) -> Vec<Curves> {
        Vec::new()
    }

    /// What was promised and what was found.
    fn bars(&self, _tables: &[Table]) -> Vec<Bar> {
        Vec::new()
    }
}

/// One table.
#[derive(Debug, Clone)]
pub struct Part {
    /// Distinguished from the workload's other parts by it; empty where there is but one.
    pub name: String,
    /// What each flush takes longer than the machine's own.
    pub delay: Duration,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What the rows' numbers count, where they are points of lines.
    pub axis: &'static str,
}

/// Values of several servers by their share, drawn as lines.
pub struct Curves {
    /// The file of the plot, and what is above it.
    pub file: String,
    pub title: String,
    /// By heading.
    pub panels: Vec<(String, Vec<Curve>)>,
}

/// A column with its values in rising order.
pub type Curve = (Column, Vec<f64>);

/// A server and how it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub label: String,
    pub who: Who,
    pub durability: Durability,
}

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Duramen,
    /// The same under callgrind, which counts its instructions.
    DuramenCounted,
    MariaDb,
    MariaDbWithoutLog,
    /// A replica with so many workers that apply.
    MySql {
        workers: u32,
    },
    /// One of those that were named by their addresses.
    Peer(usize),
}

/// `sync_binlog` and `innodb_flush_log_at_trx_commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    pub sync_binlog: u32,
    pub trx_commit: u32,
}

/// Some work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub label: String,
    /// The number of clients, where the row is a point of a line over them.
    pub threads: Option<u32>,
}

impl Part {
    /// With the machine's own flushes.
    pub fn new(name: &str, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self { name: name.into(), delay: Duration::ZERO, columns, rows, axis: "clients" }
    }

    /// With slower flushes.
    pub fn slowed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// True where its name is by how much flushes are slower.
    pub fn is_named_by_delay(&self) -> bool {
        !self.delay.is_zero() && self.name.ends_with(" ms")
    }

    /// The column's number.
    pub fn column(&self, who: Who, durability: Durability) -> Option<usize> {
        self.columns.iter().position(|c| c.who == who && c.durability == durability)
    }

    /// True where its rows are points of lines over the number of clients.
    pub fn is_over_threads(&self) -> bool {
        self.rows.iter().filter(|r| r.threads.is_some()).count() > 1
    }
}

impl Column {
    pub fn new(who: Who, durability: Durability) -> Self {
        Self { label: format!("{} {durability}", who.name(&[])), who, durability }
    }

    /// The server alone names it, where all columns are set alike.
    pub fn unset(who: Who, durability: Durability) -> Self {
        Self { label: who.name(&[]), who, durability }
    }
}

impl Who {
    /// Its name; `peers` are the names of those given by address.
    pub fn name(self, peers: &[&str]) -> String {
        match self {
            Who::Duramen => "Duramen".into(),
            Who::DuramenCounted => "Duramen under callgrind".into(),
            Who::MariaDb => "MariaDB".into(),
            Who::MariaDbWithoutLog => "MariaDB without log".into(),
            Who::MySql { workers } => format!("MySQL, {workers} workers"),
            Who::Peer(n) => peers.get(n).map_or_else(|| format!("peer {n}"), |name| (*name).to_owned()),
        }
    }
}

impl Durability {
    pub const FULL: Self = Self { sync_binlog: 1, trx_commit: 1 };
    pub const NONE: Self = Self { sync_binlog: 0, trx_commit: 0 };
    pub const EACH_SECOND: Self = Self { sync_binlog: 0, trx_commit: 2 };
    pub const ENGINE_ONLY: Self = Self { sync_binlog: 0, trx_commit: 1 };
}

impl std::fmt::Display for Durability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.sync_binlog, self.trx_commit)
    }
}

impl Row {
    pub fn named(label: impl Into<String>) -> Self {
        Self { label: label.into(), threads: None }
    }

    pub fn threads(threads: u32) -> Self {
        Self { label: clients(threads), threads: Some(threads) }
    }

    /// A point of a line over something else than clients.
    pub fn at(point: u32, label: impl Into<String>) -> Self {
        Self { label: label.into(), threads: Some(point) }
    }
}

/// So many clients, in words.
pub fn clients(n: u32) -> String {
    if n == 1 { "1 client".into() } else { format!("{n} clients") }
}

/// What came of one run, or of one kind of work in it. A time is stored as its inverse, so that
/// more is better everywhere.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What it is the rate of, where a row has several; else the row's label says it.
    pub label: Option<String>,
    pub per_second: f64,
    /// How often it happened in the whole run, a warm-up included; none where that is not counted.
    pub events: Option<f64>,
    pub latency: Option<Percentiles>,
    /// What was counted while it was measured, where that was not the whole run.
    pub counts: Option<Counts>,
}

/// The workloads that go by `name`: one, or a family.
pub fn named(name: &str, options: &Options) -> Vec<Box<dyn Workload>> {
    let is_meant: Box<dyn Fn(&str) -> bool> = match name {
        "all" => Box::new(|w| PUBLISHED.contains(&w) || BARS.contains(&w)),
        "published" => Box::new(|w| PUBLISHED.contains(&w)),
        "bars" => Box::new(|w| BARS.contains(&w)),
        "sysbench" => Box::new(|w| sysbench::tests().any(|test| test == w)),
        "w4" | "prealloc" => Box::new(|w| w.starts_with("w4-")),
        _ => Box::new(|w| w == name),
    };
    let mut all = slap::all(options);
    all.extend(oltp::all(options));
    all.push(Box::new(hot_row::HotRow::new(options)));
    all.push(Box::new(hot_parent::HotParent::new(options)));
    all.push(Box::new(one_client::OneClient::new(options)));
    all.push(Box::new(cpu::CpuPerCommit::new(options)));
    all.push(Box::new(cpu::InstructionsPerCommit::new(options)));
    all.extend(sysbench::all(options));
    all.push(Box::new(tpcc::Tpcc::new(options)));
    all.push(Box::new(dump::DumpLoad::new(options)));
    all.push(Box::new(followers::Followers::new(options)));
    all.push(Box::new(replica::Replica::new(options)));
    all.into_iter().filter(|w| is_meant(&w.name())).collect()
}

const PUBLISHED: &[&str] = &["w1", "w2", "w3", "w4-insert", "w4-update", "w5", "hot-row"];
const BARS: &[&str] = &[
    "w3",
    "log-is-free",
    "one-client",
    "slow-flush",
    "not-durable",
    "hot-row",
    "w4-insert",
    "w4-update",
    "cpu-per-commit",
    "instructions-per-commit",
];
