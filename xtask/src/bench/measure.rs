//! Running workloads: the servers that their columns want, every cell in every round, columns in
//! turn.

use super::contender::{Contender, FILES_AHEAD};
use super::options::Options;
use super::results::{Line, Sample, Table};
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload};
use crate::Result;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

/// What a workload measured, and what of.
pub struct Measured {
    pub versions: Vec<String>,
    /// The names of the servers given by address.
    pub peers: Vec<String>,
    pub tables: Vec<Table>,
}

/// How far all of it is.
pub struct Progress {
    began: Instant,
    done: usize,
    all: usize,
}

impl Progress {
    /// Before the first of these workloads.
    pub fn new(workloads: &[Box<dyn Workload>], options: &Options) -> Self {
        let cells = |part: &Part| part.rows.len() * with_peers(part, options).len();
        let of = |w: &dyn Workload| w.parts().iter().map(cells).sum::<usize>() * w.rounds(options.rounds);
        let all = workloads.iter().map(|w| of(w.as_ref())).sum();
        Self { began: Instant::now(), done: 0, all }
    }

    fn advance(&mut self) -> String {
        self.done += 1;
        let gone = self.began.elapsed();
        let remaining = gone.mul_f64(self.all.saturating_sub(self.done) as f64 / self.done as f64);
        format!("[{}/{}, {} gone, {} to go]", self.done, self.all, clock(gone), clock(remaining))
    }
}

fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// Runs a workload.
pub fn measure(workload: &dyn Workload, options: &Options, progress: &mut Progress) -> Result<Measured> {
    let mut parts = workload.parts();
    for part in &mut parts {
        part.columns = with_peers(part, options);
    }
    let mut servers = BTreeMap::new();
    for column in parts.iter().flat_map(|p| &p.columns) {
        if let Entry::Vacant(new) = servers.entry(column.who) {
            new.insert(Contender::new(column.who, options, workload.arguments(column.who))?);
        }
    }
    let versions = servers.values().map(Contender::version).collect::<Result<Vec<_>>>()?;
    println!("\n{}: {}", workload.name(), versions.join(", "));
    let done = run_rounds(workload, &parts, &servers, options, progress);
    for (_, server) in servers {
        server.stop()?;
    }
    let peers = options.peers.iter().map(|p| p.name.clone()).collect();
    Ok(Measured { versions, peers, tables: done? })
}

/// A part's columns, and one for each server given by address next to each of MariaDB's. Such a
/// server cannot be slowed.
fn with_peers(part: &Part, options: &Options) -> Vec<Column> {
    let mut columns = part.columns.clone();
    if !part.delay.is_zero() {
        return columns;
    }
    let named_alike = |c: &Column, name: &str| c.label.replace("MariaDB", name);
    for (n, peer) in options.peers.iter().enumerate() {
        let like = part.columns.iter().filter(|c| c.who == Who::MariaDb);
        columns.extend(like.map(|c| Column {
            label: named_alike(c, &peer.name),
            who: Who::Peer(n),
            durability: c.durability,
        }));
    }
    columns
}

fn run_rounds(
    workload: &dyn Workload,
    parts: &[Part],
    servers: &BTreeMap<Who, Contender>,
    options: &Options,
    progress: &mut Progress,
) -> Result<Vec<Table>> {
    // The last is prepared first: what MariaDB makes, Duramen may be compared with.
    for server in servers.values().rev() {
        server.set_durability(Durability::NONE)?;
        workload.prepare(server)?;
        server.set_files_ahead(FILES_AHEAD)?;
    }
    let mut tables: Vec<Table> =
        parts.iter().map(|part| Table { part: part.clone(), lines: Vec::new(), base: None }).collect();
    for round in 0..workload.rounds(options.rounds) {
        for (p, part) in parts.iter().enumerate() {
            for at in 0..part.rows.len() {
                // There and back: what drifts while they run, as a disk's speed, favors neither.
                let r = if round % 2 == 0 { at } else { part.rows.len() - 1 - at };
                let row = &part.rows[r];
                for turn in 0..part.columns.len() {
                    let c = (turn + round) % part.columns.len();
                    let column = &part.columns[c];
                    let cell = CellNumbers { part: p, row: r };
                    let samples = run_cell(workload, &servers[&column.who], cell, part, column)?;
                    let rate = samples.first().map_or(0.0, |(_, s)| s.per_second);
                    println!(
                        "  {} {} {}, {}: {rate:.1}/s",
                        progress.advance(),
                        part.name,
                        row.label,
                        column.label
                    );
                    for (outcome, sample) in samples {
                        tables[p].add(row, &outcome, c, sample);
                    }
                }
            }
        }
    }
    for server in servers.values() {
        workload.clean_up(server)?;
    }
    Ok(tables)
}

/// Numbers of a part of a workload's tables, and of a row of it.
#[derive(Clone, Copy)]
struct CellNumbers {
    part: usize,
    row: usize,
}

fn run_cell(
    workload: &dyn Workload,
    server: &Contender,
    cell: CellNumbers,
    part: &Part,
    column: &Column,
) -> Result<Vec<(Outcome, Sample)>> {
    server.set_durability(column.durability)?;
    server.delay_flushes(part.delay)?;
    let before = server.counts()?;
    let outcomes = workload.run(server, cell.part, cell.row);
    let counts = server.counts()?.since(before);
    server.delay_flushes(Duration::ZERO)?;
    Ok(outcomes?
        .into_iter()
        .map(|outcome| {
            let sample = Sample::new(&outcome, outcome.counts.as_ref().unwrap_or(&counts));
            (outcome, sample)
        })
        .collect())
}

impl Table {
    fn add(&mut self, row: &Row, outcome: &Outcome, column: usize, sample: Sample) {
        let label = outcome.label.as_ref().unwrap_or(&row.label);
        let at = self.lines.iter().position(|l| l.label == *label).unwrap_or_else(|| {
            let cells = vec![Vec::new(); self.part.columns.len()];
            self.lines.push(Line { label: label.clone(), threads: row.threads, cells });
            self.lines.len() - 1
        });
        self.lines[at].cells[column].push(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::Peer;
    use super::*;
    use servers::Address;

    #[test]
    fn a_server_given_by_address_is_beside_mariadb_where_nothing_is_slowed() {
        let mut options = Options::default();
        options.peers.push(Peer { name: "other".into(), address: Address::tcp("127.0.0.1", 3306, "a", "b") });
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let part = Part::new("", columns.into(), vec![Row::threads(1)]);
        let labels =
            |part: &Part| with_peers(part, &options).into_iter().map(|c| c.label).collect::<Vec<_>>();
        assert_eq!(labels(&part), ["Duramen 1/1", "MariaDB 1/1", "other 1/1"]);
        assert_eq!(labels(&part.slowed(Duration::from_millis(20))), ["Duramen 1/1", "MariaDB 1/1"]);
    }
}
