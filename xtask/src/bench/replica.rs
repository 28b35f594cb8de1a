//! Replicas of the same sources: Duramen, MySQL with 4 and 8 workers and MariaDB with 8 optimistic
//! threads, each with a log of its own. What one session inserted (the published table), backlogs
//! of many sessions, how groups grow with a backlog, and lag at a steady load.
//!
//! A backlog is made once in a round while no replica runs. Each column's server in turn is put at
//! its beginning ([`follow`]), from a dump of the source's tables ([`source`]), and is measured
//! from START REPLICA to the moment at which it has all. In the end its rows are the source's.
//! [`lag`] has the other measurement, [`bars`] what was promised.

mod bars;
mod follow;
mod lag;
mod source;

use super::contender::Contender;
use super::oltp::NETWORK;
use super::options::Options;
use super::results::{Bar, Percentiles, Table};
use super::workload::{Column, Curves, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use follow::Following;
use servers::ServerKind;
use source::{LogPlace, Snapshot, Source};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SESSIONS: u32 = 64;
/// What one session inserts is a part of the other backlogs, for it takes longer to make.
const ONE_SESSIONS_SHARE: u32 = 4;
/// Backlogs over which groups grow.
const POINTS: [u32; 5] = [10, 100, 1000, 10_000, 100_000];
/// Transactions a second of the steady loads.
const RATES: [u32; 2] = [200, 1000];

const DURAMEN: Who = Who::Duramen;
const FOUR: Who = Who::MySql { workers: 4 };
const EIGHT: Who = Who::MySql { workers: 8 };

/// The names of parts that promises are about.
const ONE_SESSION: &str = "one session";
const GROUPS: &str = "groups";
const LAG: &str = "lag";

/// Catch-up and lag of replicas.
pub struct Replica {
    parts: Vec<(Part, Vec<Case>)>,
    transactions: u32,
    duramen: PathBuf,
    time: Duration,
    /// Why there is no MySQL.
    without_mysql: Option<String>,
    sources: RefCell<BTreeMap<&'static str, Source>>,
    backlog: RefCell<Option<Backlog>>,
    /// What one session inserted at the source in a second, round by round.
    rates_at_source: RefCell<Vec<f64>>,
    /// By row of the lag's part and server.
    lags: RefCell<BTreeMap<(usize, Who), Vec<f64>>>,
}

/// A row.
#[derive(Clone, Copy)]
struct Case {
    source: ServerKind,
    work: Work,
}

#[derive(Clone, Copy)]
enum Work {
    /// A backlog of a test's transactions by so many sessions.
    Backlog { test: &'static str, sessions: u32, transactions: u32 },
    /// A load of so many a second.
    Steady(u32),
}

/// What the columns of a row catch up with in turn.
struct Backlog {
    at: (usize, usize),
    snapshot: Snapshot,
    end: LogPlace,
    /// Columns that have caught up.
    done: usize,
}

impl Replica {
    pub fn new(options: &Options) -> Self {
        let without_mysql = servers::mysqld().err().map(|reason| reason.to_string());
        Self {
            parts: parts(options.backlog, without_mysql.is_none()),
            transactions: options.backlog,
            duramen: options.duramen(),
            time: Duration::from_secs(u64::from(options.time) * 5),
            without_mysql,
            sources: RefCell::default(),
            backlog: RefCell::default(),
            rates_at_source: RefCell::default(),
            lags: RefCell::default(),
        }
    }
}

fn parts(backlog: u32, has_mysql: bool) -> Vec<(Part, Vec<Case>)> {
    let mut parts = vec![one_session(backlog, has_mysql)];
    if has_mysql {
        parts.push(catch_up("from a MySQL", ServerKind::MySql, &[FOUR, EIGHT], backlog));
    }
    parts.push(catch_up("from a MariaDB", ServerKind::MariaDb, &[Who::MariaDb], backlog));
    let all = if has_mysql { &[FOUR, EIGHT, Who::MariaDb][..] } else { &[Who::MariaDb] };
    parts.push(catch_up("from a Duramen", ServerKind::Duramen, all, backlog));
    parts.push(groups(backlog, has_mysql));
    parts.push(lag_part(all));
    parts
}

fn columns(others: &[Who]) -> Vec<Column> {
    std::iter::once(&DURAMEN).chain(others).map(|who| Column::new(*who, Durability::FULL)).collect()
}

/// The published table: both settings of each server.
fn one_session(backlog: u32, has_mysql: bool) -> (Part, Vec<Case>) {
    let (source, other) =
        if has_mysql { (ServerKind::MySql, FOUR) } else { (ServerKind::MariaDb, Who::MariaDb) };
    let both = |who| [Durability::FULL, Durability::EACH_SECOND].map(|d| Column::new(who, d));
    let columns = [DURAMEN, other].into_iter().flat_map(both).collect();
    let transactions = backlog.div_ceil(ONE_SESSIONS_SHARE);
    let work = Work::Backlog { test: "oltp_insert", sessions: 1, transactions };
    let rows = vec![Row::named("oltp_insert by one session")];
    (Part::new(ONE_SESSION, columns, rows).slowed(NETWORK), vec![Case { source, work }])
}

fn catch_up(name: &str, source: ServerKind, others: &[Who], transactions: u32) -> (Part, Vec<Case>) {
    let tests = ["oltp_write_only", "oltp_insert"];
    let case = |test| Case { source, work: Work::Backlog { test, sessions: SESSIONS, transactions } };
    let part = Part::new(name, columns(others), tests.map(Row::named).into());
    (part.slowed(NETWORK), tests.map(case).into())
}

fn groups(backlog: u32, has_mysql: bool) -> (Part, Vec<Case>) {
    let (source, other) =
        if has_mysql { (ServerKind::MySql, EIGHT) } else { (ServerKind::MariaDb, Who::MariaDb) };
    let points = || POINTS.into_iter().filter(|n| *n <= backlog);
    let row = |n: u32| Row::at(n, format!("{n} transactions"));
    let case = |n| {
        let work = Work::Backlog { test: "oltp_insert", sessions: SESSIONS, transactions: n };
        Case { source, work }
    };
    let mut part = Part::new(GROUPS, columns(&[other]), points().map(row).collect()).slowed(NETWORK);
    part.axis = "transactions of the backlog";
    (part, points().map(case).collect())
}

fn lag_part(others: &[Who]) -> (Part, Vec<Case>) {
    let rows = RATES.map(|n| Row::named(format!("{n} a second")));
    let cases = RATES.map(|n| Case { source: ServerKind::Duramen, work: Work::Steady(n) });
    (Part::new(LAG, columns(others), rows.into()).slowed(NETWORK), cases.into())
}

impl Workload for Replica {
    fn name(&self) -> String {
        "replica".into()
    }

    fn title(&self) -> String {
        "Replicas that catch up, and how far they are behind".into()
    }

    fn about(&self) -> String {
        let left_out = self.without_mysql.as_ref().map(|reason| format!(" MySQL is left out: {reason}."));
        format!(
            "Replicas of the same source, each with its own log; flushes take 0.6 ms longer. MySQL preserves the commit order and \
             finds what is independent by writesets; its coordinator yields its processor again and again while no worker is free, \
             which is processor time, too. MariaDB applies optimistically with 8 threads and goes by its own GTIDs. A backlog of \
             {} transactions is made while no replica runs, by sessions of sysbench at a source at 0/2 without slower flushes, and \
             measured from START REPLICA to the moment at which the replica has all of it; its rows are the source's then. \
             *{ONE_SESSION}*: a quarter of the backlog, inserted by one session (2020: 230 a second at 1/1, 7050 at 0/2, from a \
             source that made 200 and 3770). *{GROUPS}*: inserts of {SESSIONS} sessions. *{LAG}*: oltp_write_only by {} sessions \
             at a steady rate at a Duramen with the same flushes; the time is that from a client's OK at the source to the moment \
             at which a query at the replica finds the row, looked for five thousand times a second.{}",
            self.transactions,
            lag::SESSIONS,
            left_out.unwrap_or_default(),
        )
    }

    fn parts(&self) -> Vec<Part> {
        self.parts.iter().map(|(part, _)| part.clone()).collect()
    }

    fn arguments(&self, who: Who) -> Vec<String> {
        follow::arguments(who)
    }

    fn prepare(&self, _server: &Contender) -> Result<()> {
        // A replica gets its rows when it is put at a place of a source.
        Ok(())
    }

    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>> {
        let (Part { delay, columns, .. }, cases) = &self.parts[part];
        let case = cases[row];
        server.delay_flushes(Duration::ZERO)?;
        let mut sources = self.sources.borrow_mut();
        let source = self.source(&mut sources, case.source)?;
        let outcome = match case.work {
            Work::Steady(per_second) => self.lag(server, source, row, per_second, *delay)?,
            Work::Backlog { .. } => {
                let mut backlog = self.backlog.borrow_mut();
                let is_there = |b: &Backlog| b.at == (part, row) && b.done < columns.len();
                if !backlog.as_ref().is_some_and(is_there) {
                    *backlog = Some(self.make_backlog(source, (part, row), case.work)?);
                }
                let backlog = backlog.as_mut().ok_or("no backlog")?;
                backlog.done += 1;
                catch_up_with(server, source, backlog, *delay)?
            }
        };
        Ok(vec![outcome])
    }

    fn clean_up(&self, _server: &Contender) -> Result<()> {
        self.sources.borrow_mut().clear();
        Ok(())
    }

    fn curves(&self) -> Vec<Curves> {
        let lags = self.lags.borrow();
        let Some((part, _)) = self.parts.iter().find(|(part, _)| part.name == LAG) else { return Vec::new() };
        let flush = NETWORK.as_secs_f64() * 1e3;
        let of_row = |(r, row): (usize, &Row)| {
            let of = |column: &Column| {
                let lags = lags.get(&(r, column.who))?;
                Some((column.clone(), lags.iter().map(|ms| ms / flush).collect()))
            };
            (row.label.clone(), part.columns.iter().filter_map(of).collect())
        };
        vec![Curves {
            file: "replica-lag-percentiles.svg".into(),
            title: "Lag behind the source's commits, in flushes of 0.6 ms, by percentile".into(),
            panels: part.rows.iter().enumerate().map(of_row).collect(),
        }]
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        bars::all(tables, &self.rates_at_source.borrow())
    }
}

impl Replica {
    /// A source of this kind, started where it is wanted first.
    fn source<'a>(
        &self,
        sources: &'a mut BTreeMap<&'static str, Source>,
        kind: ServerKind,
    ) -> Result<&'a Source> {
        if !sources.contains_key(kind.name()) {
            let source = Source::start(kind, &self.duramen)?;
            sources.insert(kind.name(), source);
        }
        sources.get(kind.name()).ok_or_else(|| "no source".into())
    }

    fn make_backlog(&self, source: &Source, at: (usize, usize), work: Work) -> Result<Backlog> {
        let Work::Backlog { test, sessions, transactions } = work else { return Err("no backlog".into()) };
        let snapshot = source.begin()?;
        let taken = source.work(test, sessions, transactions)?;
        if sessions == 1 {
            self.rates_at_source.borrow_mut().push(f64::from(transactions) / taken.as_secs_f64());
        }
        Ok(Backlog { at, snapshot, end: source.place()?, done: 0 })
    }

    fn lag(
        &self,
        server: &Contender,
        source: &Source,
        row: usize,
        rate: u32,
        delay: Duration,
    ) -> Result<Outcome> {
        let snapshot = source.begin()?;
        let mut following = Following::at(server, source, &snapshot)?;
        following.start()?;
        following.wait_for(&snapshot.place)?;
        source.set(Durability::FULL, delay)?;
        server.delay_flushes(delay)?;
        let before = server.counts()?;
        let lags = lag::measure(source, server, rate, self.time)?;
        let end = source.place()?;
        following.wait_for(&end)?;
        let counts = server.counts()?.since(before);
        following.stop()?;
        let latency = Percentiles::of(&lags.iter().map(|ms| (*ms, 1)).collect::<Vec<_>>());
        let mut all = self.lags.borrow_mut();
        let all = all.entry((row, server.who)).or_default();
        all.extend(lags);
        all.sort_by(f64::total_cmp);
        // A rate has an end, where there was nothing to wait for.
        let per_second = latency.map_or(0.0, |l| 1e3 / l.p50.max(1e-3));
        let events = Some((end.transactions - snapshot.place.transactions) as f64);
        Ok(Outcome { per_second, events, latency, counts: Some(counts), ..Outcome::default() })
    }
}

/// Puts a replica at a backlog's beginning, and measures how long it takes for it.
fn catch_up_with(server: &Contender, source: &Source, backlog: &Backlog, delay: Duration) -> Result<Outcome> {
    let mut following = Following::at(server, source, &backlog.snapshot)?;
    server.delay_flushes(delay)?;
    let before = server.counts()?;
    let began = Instant::now();
    following.start()?;
    following.wait_for(&backlog.end)?;
    let taken = began.elapsed().as_secs_f64();
    let counts = server.counts()?.since(before);
    following.stop()?;
    let transactions = (backlog.end.transactions - backlog.snapshot.place.transactions) as f64;
    Ok(Outcome {
        per_second: transactions / taken,
        events: Some(transactions),
        counts: Some(counts),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_case_and_no_backlog_is_larger_than_asked() {
        for (backlog, has_mysql) in [(1_000_000, true), (1_000_000, false), (500, true), (1, true)] {
            for (part, cases) in parts(backlog, has_mysql) {
                assert_eq!(part.rows.len(), cases.len(), "{}", part.name);
                for case in cases {
                    if let Work::Backlog { transactions, .. } = case.work {
                        assert!((1..=backlog).contains(&transactions), "{}", part.name);
                    }
                }
            }
        }
    }

    #[test]
    fn without_mysql_neither_its_columns_nor_its_source_is_there() {
        for (part, cases) in parts(1000, false) {
            assert!(!part.columns.iter().any(|c| matches!(c.who, Who::MySql { .. })), "{}", part.name);
            assert!(!cases.iter().any(|case| case.source == ServerKind::MySql), "{}", part.name);
        }
    }
}
