//! What was measured: samples, the tables they make, and the bars that are read off them.

use super::contender::Counts;
use super::workload::{Durability, Outcome, Part, Who, clients};

/// What a workload measured in one part.
pub struct Table {
    pub part: Part,
    pub lines: Vec<Line>,
    /// The cell that all figures but counts are multiples of, by its name; none where they are what
    /// was measured.
    pub base: Option<String>,
}

/// One line of a table.
pub struct Line {
    pub label: String,
    pub threads: Option<u32>,
    /// By column, then by round.
    pub cells: Vec<Vec<Sample>>,
}

/// What one round of one cell gave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    pub per_second: f64,
    pub latency: Option<Percentiles>,
    /// Transactions in one group of the binary log.
    pub group_size: Option<f64>,
    /// Transactions for each flush that the disk saw, and milliseconds of a flush.
    pub per_flush: Option<f64>,
    /// Transactions for each flush of a file of the binary log.
    pub per_log_flush: Option<f64>,
    pub flush_ms: Option<f64>,
    /// Microseconds of the server's processor time for each.
    pub cpu_us: Option<f64>,
    /// The part of the machine's processors that worked, in percent: where it is all, no server
    /// goes faster.
    pub busy: Option<f64>,
    /// Log files that came from those made ahead, and that did not though they should.
    pub pool_hits: u64,
    pub pool_misses: u64,
}

/// Of the time that one transaction takes, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentiles {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Lowest, median and highest of the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// Something that was promised, and what was found.
pub struct Bar {
    pub wanted: String,
    pub found: String,
    pub met: bool,
}

impl Sample {
    /// From what the clients saw and what was counted meanwhile.
    pub fn new(outcome: &Outcome, counts: &Counts) -> Self {
        let per = |n: u64| outcome.events.filter(|_| n > 0).map(|events| events / n as f64);
        let cpu_us = counts.cpu.zip(outcome.events).map(|(cpu, events)| cpu.as_secs_f64() * 1e6 / events);
        Self {
            per_second: outcome.per_second,
            latency: outcome.latency,
            group_size: (counts.groups > 0).then(|| counts.commits as f64 / counts.groups as f64),
            per_flush: counts.disk.and_then(|d| per(d.flushes)),
            per_log_flush: counts.disk.and_then(|d| per(d.of_log)),
            flush_ms: counts.disk.and_then(|d| d.mean()).map(|t| t.as_secs_f64() * 1e3),
            cpu_us,
            busy: Some(counts.machine.0 as f64 / counts.machine.1.max(1) as f64 * 100.0),
            pool_hits: counts.pool_hits,
            pool_misses: counts.pool_misses,
        }
    }
}

impl Percentiles {
    /// From a histogram: rising values in milliseconds, and how many had them.
    pub fn of(histogram: &[(f64, u64)]) -> Option<Self> {
        let all: u64 = histogram.iter().map(|(_, n)| n).sum();
        let at = |share: f64| {
            let mut before = 0;
            let is_there = |(_, n): &&(f64, u64)| {
                before += n;
                before as f64 >= share * all as f64
            };
            histogram.iter().find(is_there).map(|(value, _)| *value)
        };
        Some(Self { p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)? })
    }
}

impl Spread {
    /// Of these values; none if there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Self { low, median, high })
    }
}

impl Line {
    /// One figure of a cell, over its rounds.
    pub fn spread(&self, column: usize, figure: impl Fn(&Sample) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.cells.get(column)?.iter().filter_map(figure))
    }

    /// The median rate of a cell.
    pub fn rate(&self, column: usize) -> Option<f64> {
        self.spread(column, |s| Some(s.per_second)).map(|s| s.median)
    }

    /// The rate of one column over that of another, round by round.
    pub fn ratio(&self, column: usize, to: usize) -> Option<Spread> {
        let rounds = self.cells.get(column)?.iter().zip(self.cells.get(to)?);
        Spread::of(rounds.map(|(a, b)| a.per_second / b.per_second))
    }
}

impl Table {
    /// The line with this label.
    pub fn line(&self, label: &str) -> Option<&Line> {
        self.lines.iter().find(|l| l.label == label)
    }

    /// The line with so many clients.
    pub fn at(&self, threads: u32) -> Option<&Line> {
        self.lines.iter().find(|l| l.threads == Some(threads))
    }

    /// A bar that Duramen at full durability is to be at least `times` as fast as a column, on each
    /// line over threads.
    pub fn times_as_fast(&self, times: f64, who: Who, durability: Durability) -> Option<Bar> {
        let ours = self.part.column(Who::Duramen, Durability::FULL)?;
        let column = self.part.column(who, durability)?;
        let ratios: Vec<(u32, f64)> =
            self.lines.iter().filter_map(|l| Some((l.threads?, l.ratio(ours, column)?.median))).collect();
        let than = if times == 1.0 { "as fast as".to_owned() } else { format!("{times} times as fast as") };
        let theirs = &self.part.columns[column].label;
        Some(Bar {
            wanted: format!("{}at least {than} {theirs}, with each number of clients", self.prefix()),
            found: by_clients(ratios.iter().map(|(n, ratio)| (*n, format!("{ratio:.2}"))), " times"),
            met: ratios.iter().all(|(_, ratio)| *ratio >= times),
        })
    }

    /// A bar that a column does not fall by more than a tenth from `from` to `to` clients.
    pub fn does_not_fall(&self, column: usize, from: u32, to: u32) -> Option<Bar> {
        let share = self.at(to)?.rate(column)? / self.at(from)?.rate(column)?;
        Some(Bar {
            wanted: format!(
                "{}{} keeps 90 % of its rate from {from} to {to} clients",
                self.prefix(),
                self.part.columns[column].label
            ),
            found: format!("{:.0} %", share * 100.0),
            met: share >= 0.9,
        })
    }

    /// The part's name in front of what is said about it.
    pub fn prefix(&self) -> String {
        let name = &self.part.name;
        match name.as_str() {
            "" => String::new(),
            _ if self.part.is_named_by_delay() => format!("flushes {name} longer: "),
            _ => format!("{name}: "),
        }
    }
}

/// Figures by the number of clients, the first with its unit:
/// `1.90 times with 1 client, 3.00 with 64`.
pub fn by_clients(figures: impl Iterator<Item = (u32, String)>, unit: &str) -> String {
    let formatted = figures.enumerate().map(|(at, (n, figure))| {
        let first = at == 0;
        format!(
            "{figure}{} with {}",
            if first { unit } else { "" },
            if first { clients(n) } else { n.to_string() }
        )
    });
    formatted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Column, Row};
    use super::*;

    #[test]
    fn percentiles_are_the_values_that_so_many_do_not_pass() {
        let histogram = [(1.0, 50), (2.0, 45), (3.0, 3), (4.0, 2)];
        assert_eq!(Percentiles::of(&histogram), Some(Percentiles { p50: 1.0, p95: 2.0, p99: 4.0 }));
        assert_eq!(Percentiles::of(&[]), None);
    }

    #[test]
    fn a_spread_has_the_median_of_even_and_odd_numbers() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { low: 1.0, median: 2.0, high: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).map(|s| s.median), Some(2.5));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let sample = |per_second| Sample { per_second, ..Sample::default() };
        // The second round was twice as fast for both: the ratio stays.
        let cells = vec![vec![sample(20.0), sample(40.0)], vec![sample(10.0), sample(20.0)]];
        let line = Line { label: String::new(), threads: Some(1), cells };
        assert_eq!(line.ratio(0, 1), Some(Spread { low: 2.0, median: 2.0, high: 2.0 }));
        assert_eq!(line.rate(0), Some(30.0));
    }

    /// Duramen and MariaDB at full durability, one round, with these rates by the number of
    /// clients.
    fn table(rates: &[(u32, f64, f64)]) -> Table {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let rows = rates.iter().map(|(n, ..)| Row::threads(*n)).collect();
        let cell = |per_second| vec![Sample { per_second, ..Sample::default() }];
        let line = |&(n, ours, theirs): &(u32, f64, f64)| Line {
            label: String::new(),
            threads: Some(n),
            cells: vec![cell(ours), cell(theirs)],
        };
        Table {
            part: Part::new("", columns.into(), rows),
            lines: rates.iter().map(line).collect(),
            base: None,
        }
    }

    #[test]
    fn a_bar_is_met_only_where_each_number_of_clients_meets_it() {
        let all = table(&[(1, 20.0, 10.0), (64, 30.0, 10.0)]);
        assert!(all.times_as_fast(2.0, Who::MariaDb, Durability::FULL).unwrap().met);
        let one = table(&[(1, 19.0, 10.0), (64, 30.0, 10.0)]);
        let bar = one.times_as_fast(2.0, Who::MariaDb, Durability::FULL).unwrap();
        assert_eq!((bar.met, bar.found.as_str()), (false, "1.90 times with 1 client, 3.00 with 64"));
        assert!(one.times_as_fast(2.0, Who::MariaDbWithoutLog, Durability::FULL).is_none());
    }

    #[test]
    fn a_fall_of_more_than_a_tenth_is_told() {
        assert!(table(&[(64, 100.0, 1.0), (256, 90.0, 1.0)]).does_not_fall(0, 64, 256).unwrap().met);
        assert!(!table(&[(64, 100.0, 1.0), (256, 89.0, 1.0)]).does_not_fall(0, 64, 256).unwrap().met);
        assert!(table(&[(64, 100.0, 1.0)]).does_not_fall(0, 64, 256).is_none());
    }
}
