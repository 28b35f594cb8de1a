//! The hot parent: all clients insert rows that refer to one row, compared with rows that refer to
//! many and rows that refer to none; and the same where the parent counts its children.

use super::SERVERS;
use super::contender::Contender;
use super::options::Options;
use super::results::{Bar, Table};
use super::sysbench;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::fmt::Write;

const PARENTS: u32 = 10_000;
const CLIENTS: u32 = 64;
const SCRIPT: &str = include_str!("children.lua");

/// Inserts of children, by a Lua script of this project.
pub struct HotParent {
    time: u32,
}

impl HotParent {
    pub fn new(options: &Options) -> Self {
        Self { time: options.time }
    }
}

const ROWS: [(&str, &[&str]); 5] = [
    ("no foreign key", &["--free=on"]),
    ("children of 10,000 parents", &["--parents=10000"]),
    ("children of one", &[]),
    ("children of 10,000, which count them", &["--parents=10000", "--counted=on"]),
    ("children of one, which counts them", &["--counted=on"]),
];

impl Workload for HotParent {
    fn name(&self) -> String {
        "hot-parent".into()
    }

    fn title(&self) -> String {
        "The hot parent".into()
    }

    fn about(&self) -> String {
        format!(
            "{CLIENTS} clients insert rows with a foreign key, one a transaction. Where the parent counts its children the same \
             transaction adds 1 to its counter; what deadlocks is done again, and counted once. After each run the counters must \
             tell exactly the children."
        )
    }

    fn parts(&self) -> Vec<Part> {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        vec![Part::new("", columns.into(), ROWS.map(|(label, _)| Row::named(label)).into())]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
        let mut script = String::from(
            "USE sbtest; CREATE TABLE parents (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB; \
             CREATE TABLE free (id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, v VARCHAR(20), KEY (parent)) ENGINE=InnoDB; \
             CREATE TABLE children (id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, v VARCHAR(20), KEY (parent), \
             FOREIGN KEY (parent) REFERENCES parents (id)) ENGINE=InnoDB;\n",
        );
        let rows: Vec<String> = (1..=PARENTS).map(|id| format!("({id},0)")).collect();
        writeln!(script, "INSERT INTO parents VALUES {};", rows.join(","))?;
        server.sql(&script).map(drop)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        let path = format!("{SERVERS}/children.lua");
        std::fs::write(&path, SCRIPT)?;
        let count = || -> Result<[f64; 2]> {
            let children = server.sql("SELECT COUNT(*) FROM sbtest.children")?.parse()?;
            Ok([children, server.sql("SELECT SUM(n) FROM sbtest.parents")?.parse()?])
        };
        let before = count()?;
        let (label, args) = ROWS[row];
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let outcome = sysbench::run(server, &path, CLIENTS, self.time, &args)?;
        let after = count()?;
        let (children, counted) = (after[0] - before[0], after[1] - before[1]);
        let events = outcome.events.unwrap_or(0.0);
        let right = match (label.contains("count"), label.starts_with("no")) {
            (_, true) => children == 0.0 && counted == 0.0,
            (true, _) => children == counted && children >= events,
            _ => children >= events && counted == 0.0,
        };
        match right {
            true => Ok(vec![outcome]),
            false => Err(format!(
                "{}: {children} children, {counted} counted, {events} acknowledged ({label})",
                server.name
            )
            .into()),
        }
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        tables.iter().filter_map(one_to_many_ratio).collect()
    }
}

fn one_to_many_ratio(table: &Table) -> Option<Bar> {
    let [many, one] = [ROWS[1].0, ROWS[2].0].map(|label| table.line(label));
    let share = one?.rate(0)? / many?.rate(0)?;
    Some(Bar {
        wanted: "children of one parent at 90 % of the rate of children of many, at least".into(),
        found: format!("{:.0} %", share * 100.0),
        met: share >= 0.9,
    })
}
