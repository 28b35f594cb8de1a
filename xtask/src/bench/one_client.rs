//! One client: a durable commit costs a round trip and one flush, nothing else.

use super::contender::Contender;
use super::flush;
use super::hot_row::{self, Update};
use super::oltp::{MAGNETIC, NETWORK};
use super::options::Options;
use super::results::{Bar, Spread, Table};
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::time::Duration;

/// Round trips, flushes and commits of one client, each measured alone in the same round.
pub struct OneClient {
    time: u32,
}

const SSD: Duration = Duration::from_micros(3500);
const ROUND_TRIP: &str = "a round trip (DO 1)";
const COMMIT: &str = "a commit (UPDATE by key)";
const FLUSH: &str = "a flush of a commit's bytes";

impl OneClient {
    pub fn new(options: &Options) -> Self {
        Self { time: options.time }
    }
}

impl Workload for OneClient {
    fn name(&self) -> String {
        "one-client".into()
    }

    fn title(&self) -> String {
        "One client".into()
    }

    fn about(&self) -> String {
        "One connection, one statement after another; and write and fdatasync of as many bytes as a commit has in the log, into \
         space made ahead, on the same file system and the same disk. The limit is 1 ÷ (round trip + flush)."
            .into()
    }

    fn unit(&self) -> &'static str {
        "Statements, or flushes, per second"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, delay| {
            let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
            Part::new(name, columns.into(), [ROUND_TRIP, COMMIT, FLUSH].map(Row::named).into()).slowed(delay)
        };
        vec![
            part("this disk", Duration::ZERO),
            part("0.6 ms", NETWORK),
            part("3.5 ms", SSD),
            part("20 ms", MAGNETIC),
        ]
    }

    fn base_row(&self) -> Option<String> {
        Some(COMMIT.into())
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        hot_row::make_counters(server, hot_row::ROWS)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        Ok(vec![match row {
            0 => hot_row::run(server, Update::Nothing, 1, 1)?,
            1 => hot_row::run(server, Update::Spread, 1, self.time)?,
            _ => flush::alone(server, bytes_of_a_commit(server)?, 1)?,
        }])
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        tables.iter().filter_map(share_of_the_limit).collect()
    }
}

/// What one such update adds to the server's binary log.
fn bytes_of_a_commit(server: &Contender) -> Result<u64> {
    let before = server.counts()?;
    // Set back at once: the counters stay as they were set.
    server.sql("UPDATE sbtest.counters SET n = n + 1 WHERE id = 1; UPDATE sbtest.counters SET n = n - 1 WHERE id = 1")?;
    let bytes = server.counts()?.since(before).bytes / 2;
    if bytes > 0 { Ok(bytes) } else { Err(format!("{} counts no bytes of its log", server.name).into()) }
}

fn share_of_the_limit(table: &Table) -> Option<Bar> {
    let rates = |label| -> Option<Vec<f64>> {
        Some(table.line(label)?.cells.first()?.iter().map(|s| s.per_second).collect())
    };
    let (round_trip, commit, flush) = (rates(ROUND_TRIP)?, rates(COMMIT)?, rates(FLUSH)?);
    let rounds = round_trip.iter().zip(&commit).zip(&flush);
    let share = Spread::of(rounds.map(|((trip, commit), flush)| commit * (1.0 / trip + 1.0 / flush)))?;
    Some(Bar {
        wanted: format!("{}at least 90 % of 1 ÷ (round trip + flush)", table.prefix()),
        found: format!(
            "{:.0} % ({:.0} to {:.0})",
            share.median * 100.0,
            share.low * 100.0,
            share.high * 100.0
        ),
        met: share.median >= 0.9,
    })
}
