//! What followers of the log cost those who commit: the same inserts with none, with some that keep
//! up, and with some that have stopped reading. And how far they lag where nobody waits for
//! the disk.
//!
//! A follower takes the stream and throws it away, so that what is measured is the server's part.

mod delay;
mod follower;

use super::contender::Contender;
use super::options::Options;
use super::results::{Bar, Table};
use super::sysbench;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use follower::Follower;
use std::time::{Duration, Instant};

const CLIENTS: u32 = 64;
const TABLES: u32 = 4;
/// How long followers may take for the rest, after the last commit.
const PATIENCE: Duration = Duration::from_secs(30);
/// What all commits must keep of their rate.
const SHARE_MIN: f64 = 0.9;

/// Inserts of sysbench while followers read.
pub struct Followers {
    time: u32,
}

impl Followers {
    pub fn new(options: &Options) -> Self {
        Self { time: options.time }
    }
}

/// How many there are, and whether they read.
struct Case {
    label: &'static str,
    followers: usize,
    reads: bool,
}

const CASES: [Case; 4] = [
    Case { label: "no follower", followers: 0, reads: true },
    Case { label: "one follower", followers: 1, reads: true },
    Case { label: "ten followers", followers: 10, reads: true },
    Case { label: "ten that have stopped", followers: 10, reads: false },
];

const ONE: usize = 1;
const TEN: usize = 2;
/// The part that is about their being late.
const LATE: &str = "behind the commit";

impl Workload for Followers {
    fn name(&self) -> String {
        "followers".into()
    }

    fn title(&self) -> String {
        "Followers of the log".into()
    }

    fn about(&self) -> String {
        format!(
            "sysbench oltp_insert, {CLIENTS} clients, while so many followers are sent the log from its end on. They read the \
             stream and throw it away, or ask for it and read nothing. Those that read must have all of it in the end. *{LATE}*: one \
             client commits 50 rows a second, and the latency is the time from its OK to when the last of the followers has \
             the row, 0 where it had it before."
        )
    }

    fn parts(&self) -> Vec<Part> {
        let columns = |durability| [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, durability));
        let rows = CASES.map(|case| Row::named(case.label));
        let mut late = columns(Durability::FULL).to_vec();
        late.extend(columns(Durability::NONE));
        vec![
            Part::new("", columns(Durability::FULL).into(), rows.into()),
            Part::new(LATE, late, [ONE, TEN].map(|n| Row::named(CASES[n].label)).into()),
        ]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        sysbench::make_tables(server, TABLES, 1000)
    }

    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>> {
        let case = &CASES[if part == 0 { row } else { [ONE, TEN][row] }];
        let begin = |n| Follower::start(server.address(), 1000 + n as u32, case.reads);
        let followers = (0..case.followers).map(begin).collect::<Result<Vec<_>>>()?;
        if part > 0 {
            let latency = delay::measure(server, &followers, Duration::from_secs(self.time.into()))?;
            followers.into_iter().try_for_each(Follower::stop)?;
            // A rate has an end, where there was nothing to wait for.
            let per_second = latency.map_or(0.0, |l| 1e3 / l.p50.max(1e-3));
            return Ok(vec![Outcome { per_second, latency, ..Outcome::default() }]);
        }
        let before = written(server)?;
        let tables = format!("--tables={TABLES}");
        let outcome = sysbench::run(server, "oltp_insert", CLIENTS, self.time, &[tables])?;
        let written = written(server)? - before;
        let ended = Instant::now();
        while case.reads && followers.iter().any(|follower| follower.received() < written) {
            if ended.elapsed() > PATIENCE {
                return Err(format!("{}: a follower has not all of {written} bytes", server.name).into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        followers.into_iter().try_for_each(Follower::stop)?;
        Ok(vec![outcome])
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        let compared = |table: &Table, case: &Case| {
            let share = table.line(case.label)?.rate(0)? / table.line(CASES[0].label)?.rate(0)?;
            let wanted =
                format!("{}: at least {:.0} % of the rate without any", case.label, SHARE_MIN * 100.0);
            Some(Bar { wanted, found: format!("{:.0} %", share * 100.0), met: share >= SHARE_MIN })
        };
        tables.iter().flat_map(|table| CASES[1..].iter().filter_map(|case| compared(table, case))).collect()
    }
}

/// Bytes of events in the log so far.
fn written(server: &Contender) -> Result<u64> {
    let row = server.sql("SHOW GLOBAL STATUS LIKE 'Binlog_bytes_written'")?;
    Ok(row.split_whitespace().last().ok_or("the server does not count its log's bytes")?.parse()?)
}
