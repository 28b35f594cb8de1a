//! What is promised of a replica, read off the tables.

use super::{DURAMEN, EIGHT, FOUR, GROUPS, LAG, ONE_SESSION};
use crate::bench::results::{Bar, Line, Table};
use crate::bench::workload::{Durability, Who};

/// Of a published replica at 0/2.
const PUBLISHED: f64 = 7050.0;
/// A durable replica over MySQL's, and what it retains of the rate of one that is not.
const OVER_DURABLE: f64 = 10.0;
const RETAINED: f64 = 0.95;
/// With a backlog, over the others.
const OVER_OTHERS: f64 = 3.0;

/// Each of them; the source's rates are those of its one session, round by round.
pub fn all(tables: &[Table], source_rates: &[f64]) -> Vec<Bar> {
    let mut bars: Vec<Bar> = tables
        .iter()
        .filter(|t| t.part.name == ONE_SESSION)
        .flat_map(|t| one_session(t, source_rates))
        .collect();
    let others = [(EIGHT, "MySQL with 8 workers"), (Who::MariaDb, "MariaDB with 8 threads")];
    for table in tables.iter().filter(|t| t.part.name.starts_with("from ")) {
        bars.extend(others.iter().filter_map(|(who, name)| catch_up(table, *who, name)));
    }
    bars.extend(flushes(tables));
    bars.extend(tables.iter().filter(|t| t.part.name == GROUPS).filter_map(groups));
    bars
}

fn one_session(table: &Table, source_rates: &[f64]) -> Vec<Bar> {
    let named =
        |met, wanted: String, found: String| Bar { wanted: format!("{ONE_SESSION}: {wanted}"), found, met };
    let rates =
        |line: &Line, column: usize| line.cells[column].iter().map(|s| s.per_second).collect::<Vec<_>>();
    let of = |who, durability| table.part.column(who, durability);
    let (Some(ours), Some(line)) = (of(DURAMEN, Durability::FULL), table.lines.first()) else {
        return Vec::new();
    };
    let mut bars = Vec::new();
    let shares =
        rates(line, ours).into_iter().zip(source_rates).map(|(ours, source)| ours / source.min(PUBLISHED));
    if let Some(least) = shares.reduce(f64::min) {
        let wanted = format!("{PUBLISHED:.0} a second, or the source's own rate where that is lower");
        bars.push(named(least >= 1.0, wanted, format!("at least {least:.1} times that in each round")));
    }
    if let Some(ratio) = of(FOUR, Durability::FULL).and_then(|theirs| line.ratio(ours, theirs)) {
        let wanted = format!("at least {OVER_DURABLE:.0} times MySQL's durable replica");
        bars.push(named(ratio.median >= OVER_DURABLE, wanted, format!("{:.1} times", ratio.median)));
    }
    if let Some(ratio) = of(DURAMEN, Durability::EACH_SECOND).and_then(|other| line.ratio(ours, other)) {
        let wanted = format!("at 1/1 at least {:.0} % of the rate at 0/2", RETAINED * 100.0);
        bars.push(named(ratio.median >= RETAINED, wanted, format!("{:.0} %", ratio.median * 100.0)));
    }
    bars
}

fn catch_up(table: &Table, who: Who, name: &str) -> Option<Bar> {
    let column = table.part.column(who, Durability::FULL)?;
    let ratios: Vec<(&str, f64)> =
        table.lines.iter().filter_map(|l| Some((l.label.as_str(), l.ratio(0, column)?.median))).collect();
    let found: Vec<String> =
        ratios.iter().map(|(label, ratio)| format!("{ratio:.1} times ({label})")).collect();
    Some(Bar {
        wanted: format!("{}catches up at least {OVER_OTHERS:.0} times as fast as {name}", table.prefix()),
        found: found.join(", "),
        met: ratios.iter().all(|(_, ratio)| *ratio >= OVER_OTHERS),
    })
}

/// Flushes that the disk saw, over groups, in each cell of Duramen at full durability with a
/// backlog.
fn flushes(tables: &[Table]) -> Option<Bar> {
    let cells = tables.iter().filter(|t| t.part.name != LAG && t.part.name != GROUPS).flat_map(|table| {
        let column = table.part.column(DURAMEN, Durability::FULL);
        table.lines.iter().filter_map(move |line| line.cells.get(column?)).flatten()
    });
    let most = cells.filter_map(|s| Some(s.group_size? / s.per_flush?)).reduce(f64::max)?;
    Some(Bar {
        wanted: "with a backlog, at most one flush for each group of commits".into(),
        found: format!("{most:.2}"),
        met: most <= 1.0,
    })
}

fn groups(table: &Table) -> Option<Bar> {
    let sizes: Vec<(u32, f64)> = table
        .lines
        .iter()
        .filter_map(|l| Some((l.threads?, l.spread(0, |s| s.group_size)?.median)))
        .collect();
    let (first, last) = (sizes.first()?, sizes.last()?);
    let found: Vec<String> = sizes.iter().map(|(n, size)| format!("{size:.1} of {n}")).collect();
    Some(Bar {
        wanted: "groups grow with the backlog".into(),
        found: format!("transactions in a group: {}", found.join(", ")),
        met: last.1 > first.1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::Sample;
    use crate::bench::workload::{Column, Part, Row};

    fn table(name: &str, columns: Vec<Column>, rates: &[f64]) -> Table {
        let sample = |rate: &f64| {
            vec![Sample {
                per_second: *rate,
                group_size: Some(20.0),
                per_flush: Some(25.0),
                ..Sample::default()
            }]
        };
        let line = Line { label: "work".into(), threads: None, cells: rates.iter().map(sample).collect() };
        Table { part: Part::new(name, columns, vec![Row::named("work")]), lines: vec![line], base: None }
    }

    #[test]
    fn one_sessions_promises_are_met_by_the_lower_of_both_rates() {
        let column = |who, durability| Column::new(who, durability);
        let columns = || {
            vec![
                column(DURAMEN, Durability::FULL),
                column(DURAMEN, Durability::EACH_SECOND),
                column(FOUR, Durability::FULL),
            ]
        };
        let met = |rates: &[f64], source: f64| {
            let bars = all(&[table(ONE_SESSION, columns(), rates)], &[source]);
            bars.iter().map(|bar| bar.met).collect::<Vec<_>>()
        };
        assert_eq!(met(&[9000.0, 9100.0, 800.0], 5000.0), [true, true, true, true]);
        assert_eq!(met(&[4000.0, 4300.0, 500.0], 5000.0), [false, false, false, true]);
        assert!(met(&[4000.0, 4000.0, 300.0], 3000.0)[0]);
    }

    #[test]
    fn every_row_must_be_three_times_as_fast() {
        let columns = || [DURAMEN, EIGHT].map(|who| Column::new(who, Durability::FULL)).into();
        assert!(all(&[table("from a MySQL", columns(), &[300.0, 100.0])], &[])[0].met);
        assert!(!all(&[table("from a MySQL", columns(), &[299.0, 100.0])], &[])[0].met);
    }
}
