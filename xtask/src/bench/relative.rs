//! Tables in multiples of one of their cells, for pages that are kept: a rate says more about its
//! machine than about a server.

use super::measure::Measured;
use super::results::{Line, Percentiles, Sample, Table};
use super::workload::{Durability, Part, Who, Workload};

impl Measured {
    /// The same with each table in multiples of its base.
    pub fn in_multiples(&self, workload: &dyn Workload) -> Self {
        let row = workload.base_row();
        Self {
            versions: self.versions.clone(),
            peers: self.peers.clone(),
            tables: self.tables.iter().map(|table| table.in_multiples(row.as_deref())).collect(),
        }
    }
}

impl Table {
    /// The same with rates and times as multiples of the base's median: MariaDB's at full
    /// durability, in the row of this name or the one with the fewest clients. Counts are left:
    /// groups, and how busy the machine was. One base for all rounds keeps their spread, and what
    /// is divided round by round stays as it is.
    fn in_multiples(&self, row: Option<&str>) -> Self {
        let (column, line) = (self.part.base_column(), self.base_line(row));
        let base = line.map_or_else(Sample::default, |l| l.median(column));
        let multiples = |cell: &Vec<Sample>| cell.iter().map(|sample| sample.over(&base)).collect();
        let relative = |l: &Line| Line {
            label: l.label.clone(),
            threads: l.threads,
            cells: l.cells.iter().map(multiples).collect(),
        };
        let label = line.map_or("", |l| l.label.as_str());
        Self {
            part: self.part.clone(),
            lines: self.lines.iter().map(relative).collect(),
            base: Some(format!("{}, {label}", self.part.columns[column].label)),
        }
    }

    fn base_line(&self, row: Option<&str>) -> Option<&Line> {
        let named = row.and_then(|label| self.line(label));
        let with_fewest = self.lines.iter().filter(|l| l.threads.is_some()).min_by_key(|l| l.threads);
        named.or(with_fewest).or(self.lines.first())
    }
}

impl Line {
    /// The median of each figure of a cell that has multiples.
    fn median(&self, column: usize) -> Sample {
        let median = |figure: fn(&Sample) -> Option<f64>| self.spread(column, figure).map(|s| s.median);
        Sample {
            per_second: self.rate(column).unwrap_or_default(),
            latency: median(|s| s.latency.map(|l| l.p50))
                .map(|p50| Percentiles { p50, ..Percentiles::default() }),
            flush_ms: median(|s| s.flush_ms),
            cpu_us: median(|s| s.cpu_us),
            ..Sample::default()
        }
    }
}

impl Part {
    /// MariaDB's at full durability, or what is nearest to it.
    fn base_column(&self) -> usize {
        let of = |who| self.columns.iter().position(|c| c.who == who);
        self.column(Who::MariaDb, Durability::FULL)
            .or(of(Who::MariaDb))
            .or(of(Who::MariaDbWithoutLog))
            .or(of(Who::MySql { workers: 8 }))
            .unwrap_or(0)
    }
}

impl Sample {
    /// Times are those of the base's median transaction.
    fn over(&self, base: &Self) -> Self {
        let over = |value: Option<f64>, base: Option<f64>| Some(value? / base.filter(|b| *b > 0.0)?);
        let median = base.latency.map(|l| l.p50).filter(|ms| *ms > 0.0);
        let latency = self.latency.zip(median).map(|(Percentiles { p50, p95, p99 }, median)| Percentiles {
            p50: p50 / median,
            p95: p95 / median,
            p99: p99 / median,
        });
        Self {
            per_second: self.per_second / base.per_second,
            latency,
            flush_ms: over(self.flush_ms, base.flush_ms),
            cpu_us: over(self.cpu_us, base.cpu_us),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Column, Row};
    use super::*;

    fn sample(per_second: f64) -> Sample {
        let ms = 1e3 / per_second;
        let latency = Some(Percentiles { p50: ms, p95: 2.0 * ms, p99: 3.0 * ms });
        Sample { per_second, latency, cpu_us: Some(10.0 * ms), group_size: Some(7.0), ..Sample::default() }
    }

    /// Duramen and MariaDB in two rounds, the second twice as fast for all.
    fn table(labels: [&str; 2], threads: [Option<u32>; 2]) -> Table {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let rounds = |rate| vec![sample(rate), sample(2.0 * rate)];
        let lines = [(0, 400.0, 200.0), (1, 150.0, 100.0)].map(|(l, ours, theirs)| Line {
            label: labels[l].into(),
            threads: threads[l],
            cells: vec![rounds(ours), rounds(theirs)],
        });
        Table {
            part: Part::new("", columns.into(), labels.map(Row::named).into()),
            lines: lines.into(),
            base: None,
        }
    }

    #[test]
    fn the_base_is_mariadb_with_the_fewest_clients() {
        let relative = table(["16 clients", "1 client"], [Some(16), Some(1)]).in_multiples(None);
        assert_eq!(relative.base.as_deref(), Some("MariaDB 1/1, 1 client"));
        let rates = relative.lines.iter().flat_map(|l| [l.rate(0), l.rate(1)]).collect::<Vec<_>>();
        assert_eq!(rates, [Some(4.0), Some(2.0), Some(1.5), Some(1.0)]);
        let spread = relative.lines[1].spread(1, |s| Some(s.per_second)).unwrap();
        assert_eq!((spread.low, spread.high), (2.0 / 3.0, 4.0 / 3.0), "the base's own rounds differ too");
        assert_eq!(relative.lines[0].ratio(0, 1), table(["", ""], [None, None]).lines[0].ratio(0, 1));
    }

    #[test]
    fn a_named_row_is_the_base_and_else_the_first() {
        let base = |row| table(["a", "b"], [None, None]).in_multiples(row).base;
        assert_eq!(base(None).as_deref(), Some("MariaDB 1/1, a"));
        assert_eq!(base(Some("b")).as_deref(), Some("MariaDB 1/1, b"));
        assert_eq!(base(Some("gone")).as_deref(), Some("MariaDB 1/1, a"));
    }

    #[test]
    fn times_are_multiples_too_and_counts_are_left() {
        let relative = table(["a", "b"], [None, None]).in_multiples(None);
        // MariaDB's medians are of 5 and 2.5 ms.
        let ours = relative.lines[0].cells[0][0];
        let [p50, p95, p99] = [2.5, 5.0, 7.5].map(|ms| ms / 3.75);
        assert_eq!(ours.latency, Some(Percentiles { p50, p95, p99 }));
        assert_eq!((ours.cpu_us, ours.group_size, ours.flush_ms), (Some(p50), Some(7.0), None));
    }
}
