//! The hot row: all clients update one row, compared with the same update spread over many.

use super::SERVERS;
use super::contender::Contender;
use super::oltp::MAGNETIC;
use super::options::Options;
use super::results::{Bar, Table};
use super::sysbench;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::fmt::Write;
use std::time::Duration;

/// Rows of the table of counters.
pub const ROWS: u32 = 100_000;
const CLIENTS: u32 = 64;
const SCRIPT: &str = include_str!("update.lua");

/// Updates of one row or of many, by a Lua script of this project.
pub struct HotRow {
    time: u32,
}

impl HotRow {
    pub fn new(options: &Options) -> Self {
        Self { time: options.time }
    }
}

/// What [`run`] does.
#[derive(Clone, Copy)]
pub enum Update {
    /// Row 1.
    Hot,
    /// One of all.
    Spread,
    /// Nothing: a round trip.
    Nothing,
}

/// The script's file, for sysbench.
pub fn script() -> Result<String> {
    let path = format!("{SERVERS}/update.lua");
    std::fs::write(&path, SCRIPT)?;
    Ok(path)
}

/// Makes so many counters anew, all zero.
pub fn make_counters(server: &Contender, rows: u32) -> Result<()> {
    server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
    let mut script = String::from(
        "USE sbtest; CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;\n",
    );
    for from in (1..=rows).step_by(10_000) {
        let rows: Vec<String> = (from..=rows.min(from + 9_999)).map(|id| format!("({id},0)")).collect();
        writeln!(script, "INSERT INTO counters VALUES {};", rows.join(","))?;
    }
    server.sql(&script).map(drop)
}

/// Runs the script, and makes sure that the counters show as many updates as were acknowledged.
pub fn run(server: &Contender, update: Update, threads: u32, seconds: u32) -> Result<Outcome> {
    let args: &[String] = match update {
        Update::Hot => &["--rows=1".into()],
        Update::Spread => &[format!("--rows={ROWS}")],
        Update::Nothing => &["--nothing=on".into()],
    };
    let sum = || -> Result<f64> { Ok(server.sql("SELECT SUM(n) FROM sbtest.counters")?.parse()?) };
    let before = sum()?;
    let outcome = sysbench::run(server, &script()?, threads, seconds, args)?;
    let counted = sum()? - before;
    let acknowledged = if matches!(update, Update::Nothing) { 0.0 } else { outcome.events.unwrap_or(0.0) };
    if counted == acknowledged {
        Ok(outcome)
    } else {
        Err(format!("{} counted {counted} of {acknowledged} acknowledged updates", server.name).into())
    }
}

const ROW_LABELS: [(&str, Update); 2] =
    [("one row", Update::Hot), ("spread over 100,000 rows", Update::Spread)];

impl Workload for HotRow {
    fn name(&self) -> String {
        "hot-row".into()
    }

    fn title(&self) -> String {
        "The hot row".into()
    }

    fn about(&self) -> String {
        format!(
            "{CLIENTS} clients send `UPDATE counters SET n = n + 1 WHERE id = ..`, all for one row, then for one of {ROWS}. After \
             each run the counters must tell exactly the acknowledged updates."
        )
    }

    fn unit(&self) -> &'static str {
        "Updates per second"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, delay| {
            let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
            let rows = ROW_LABELS.map(|(label, _)| Row::named(label));
            Part::new(name, columns.into(), rows.into()).slowed(delay)
        };
        vec![part("this disk", Duration::ZERO), part("20 ms", MAGNETIC)]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        make_counters(server, ROWS)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        Ok(vec![run(server, ROW_LABELS[row].1, CLIENTS, self.time)?])
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        tables.iter().filter_map(hot_to_spread_ratio).collect()
    }
}

fn hot_to_spread_ratio(table: &Table) -> Option<Bar> {
    let [hot, spread] = ROW_LABELS.map(|(label, _)| table.line(label));
    let (hot, spread) = (hot?, spread?);
    let share = hot.rate(0)? / spread.rate(0)?;
    let others = table.part.columns.iter().enumerate().skip(1);
    let times = others
        .filter_map(|(c, column)| Some(format!("{:.1} times {}", hot.ratio(0, c)?.median, column.label)));
    Some(Bar {
        wanted: format!("{}one row at 85 % of the rate of many, at least", table.prefix()),
        found: format!("{:.0} %; on one row {}", share * 100.0, times.collect::<Vec<_>>().join(", ")),
        met: share >= 0.85,
    })
}
