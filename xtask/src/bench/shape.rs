//! Published shapes: what a setting or more clients gained where it was measured first, compared
//! with what they gain on each server here. Machines differ in all rates, and much less in these.

use super::results::{Spread, Table};
use super::workload::{Durability, Who};

/// A gain that was published: the rate of one row over that of another.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Of the workload's parts.
    pub part: &'static str,
    pub to: (String, Durability),
    pub from: (String, Durability),
    pub published: f64,
}

impl Shape {
    /// Of two rows at full durability.
    pub fn of_rows(part: &'static str, to: String, from: String, published: f64) -> Self {
        Self { part, to: (to, Durability::FULL), from: (from, Durability::FULL), published }
    }

    /// Of two settings of one row.
    pub fn of_settings(
        part: &'static str,
        row: &str,
        to: Durability,
        from: Durability,
        published: f64,
    ) -> Self {
        Self { part, to: (row.into(), to), from: (row.into(), from), published }
    }

    /// What is divided by what.
    pub fn name(&self) -> String {
        let ((to, with), (from, without)) = (&self.to, &self.from);
        if to == from { format!("{to}: {with} ÷ {without}") } else { format!("{to} ÷ {from}") }
    }

    /// The same of a server, round by round; none where it has not both of them.
    pub fn found(&self, tables: &[Table], who: Who) -> Option<Spread> {
        let table = tables.iter().find(|t| t.part.name == self.part)?;
        let cell = |(row, durability): &(String, Durability)| {
            table.line(row)?.cells.get(table.part.column(who, *durability)?)
        };
        let rounds = cell(&self.to)?.iter().zip(cell(&self.from)?);
        Spread::of(rounds.map(|(to, from)| to.per_second / from.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::{Line, Sample};
    use super::super::workload::{Column, Part, Row, clients};
    use super::*;

    #[test]
    fn a_shape_is_found_round_by_round_where_a_server_has_both_cells() {
        let columns =
            vec![Column::new(Who::Duramen, Durability::FULL), Column::new(Who::MariaDb, Durability::NONE)];
        let cell =
            |rates: [f64; 2]| rates.map(|per_second| Sample { per_second, ..Sample::default() }).to_vec();
        let line =
            |n, rates| Line { label: clients(n), threads: Some(n), cells: vec![cell(rates), cell([1.0; 2])] };
        let table = Table {
            part: Part::new("20 ms", columns, [1, 64].map(Row::threads).into()),
            lines: vec![line(1, [10.0, 20.0]), line(64, [300.0, 640.0])],
            base: None,
        };
        let shape = Shape::of_rows("20 ms", clients(64), clients(1), 28.8);
        assert_eq!(shape.name(), "64 clients ÷ 1 client");
        let found = |who| shape.found(std::slice::from_ref(&table), who);
        assert_eq!(found(Who::Duramen), Some(Spread { low: 30.0, median: 31.0, high: 32.0 }));
        assert_eq!(found(Who::MariaDb), None);
        let settings = Shape::of_settings("", "1 client", Durability::NONE, Durability::FULL, 54.1);
        assert_eq!(settings.name(), "1 client: 0/0 ÷ 1/1");
        assert_eq!(settings.found(&[table], Who::Duramen), None, "of another part");
    }
}
