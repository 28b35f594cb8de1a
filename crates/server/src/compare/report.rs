//! What was compared and what differs, as lines and as one JSON object.

use super::Side;
use super::align::Aligned;
use crate::repair::report::{array, object, quoted};
use std::fmt::Write as _;

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    OnlyOnSource,
    OnlyOnReplica,
    Differs,
}

/// A row that is not the same on both.
#[derive(Debug)]
pub(super) struct Difference {
    how: How,
    /// Its key, for people.
    pub(super) key: String,
    /// Those that differ, if it is on both.
    columns: Vec<String>,
}

impl Difference {
    pub(super) fn only_on_source(key: String) -> Self {
        Self { how: How::OnlyOnSource, key, columns: Vec::new() }
    }

    pub(super) fn only_on_replica(key: String) -> Self {
        Self { how: How::OnlyOnReplica, key, columns: Vec::new() }
    }

    pub(super) fn differs(key: String, columns: Vec<String>) -> Self {
        Self { how: How::Differs, key, columns }
    }
}

/// A table that both have.
#[derive(Debug)]
pub(super) struct TableReport {
    name: String,
    /// Rows of the source.
    pub(super) rows: u64,
    pub(super) differing_chunks: u64,
    pub(super) differences: Vec<Difference>,
    /// More rows differ than are listed.
    pub(super) is_cut: bool,
}

impl TableReport {
    pub(super) fn of(name: String) -> Self {
        Self { name, rows: 0, differing_chunks: 0, differences: Vec::new(), is_cut: false }
    }

    pub(super) fn add(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
    }
}

/// All of it.
pub(super) struct Report {
    source: String,
    replica: String,
    /// The servers' kinds and versions.
    kinds: [String; 2],
    place: Option<String>,
    extra: Option<String>,
    /// Whole tables and columns that one server lacks.
    lacking: Vec<String>,
    /// Names of tables that one server lacks.
    missing: Vec<String>,
    not_compared: Vec<String>,
    pub(super) tables: Vec<TableReport>,
}

impl Report {
    pub(super) fn new(source: &Side, replica: &Side, aligned: &Aligned) -> Self {
        Self {
            source: source.remote.server(),
            replica: replica.remote.server(),
            kinds: [source.facts.name(), replica.facts.name()],
            place: aligned.place.as_ref().map(ToString::to_string),
            extra: aligned.extra.as_ref().map(ToString::to_string),
            lacking: Vec::new(),
            missing: Vec::new(),
            not_compared: Vec::new(),
            tables: Vec::new(),
        }
    }

    pub(super) fn only_on_source(&mut self, table: String) {
        self.lacking.push(format!("{table}: only on {}", self.source));
        self.missing.push(table);
    }

    pub(super) fn only_on_replica(&mut self, table: String) {
        self.lacking.push(format!("{table}: only on {}", self.replica));
        self.missing.push(table);
    }

    pub(super) fn column_only_on_source(&mut self, table: &str, column: &str) {
        self.lacking.push(format!("{table}: the column '{column}' is only on {}", self.source));
    }

    pub(super) fn column_only_on_replica(&mut self, table: &str, column: &str) {
        self.lacking.push(format!("{table}: the column '{column}' is only on {}", self.replica));
    }

    pub(super) fn not_compared(&mut self, table: &str, column: &str, why: &str) {
        self.not_compared.push(format!("{table}: the column '{column}' is not compared: {why}"));
    }

    /// True if it says of a table that one server lacks it.
    pub(super) fn names(&self, table: &str) -> bool {
        self.missing.iter().any(|name| name == table)
    }

    fn differing(&self) -> impl Iterator<Item = &TableReport> {
        self.tables.iter().filter(|table| table.differing_chunks > 0)
    }

    fn is_equal(&self) -> bool {
        self.lacking.is_empty() && self.differing().next().is_none()
    }

    /// See the help.
    pub(super) fn exit_code(&self) -> u8 {
        u8::from(!self.is_equal())
    }

    fn word(&self, how: How) -> String {
        match how {
            How::OnlyOnSource => format!("only on {}", self.source),
            How::OnlyOnReplica => format!("only on {}", self.replica),
            How::Differs => "differs".to_owned(),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for line in self.lacking.iter().chain(&self.not_compared) {
            let _ = writeln!(out, "{line}");
        }
        for table in self.differing() {
            let _ = writeln!(out, "{}: rows differ", table.name);
            for Difference { how, key, columns } in &table.differences {
                let _ = write!(out, "    {}: {key}", self.word(*how));
                let _ = match columns.is_empty() {
                    true => writeln!(out),
                    false => writeln!(out, ", in {}", columns.join(", ")),
                };
            }
            if table.is_cut {
                let _ = writeln!(out, "    and more: {} chunks differ", table.differing_chunks);
            }
        }
        if let Some(extra) = &self.extra {
            let _ = writeln!(out, "{} has executed what {} has not: {extra}", self.replica, self.source);
        }
        let rows = self.tables.iter().fold(0_u64, |rows, table| rows.saturating_add(table.rows));
        let [ours, theirs] = &self.kinds;
        let _ = match self.is_equal() {
            true => write!(out, "equal: {} tables with {rows} rows", self.tables.len()),
            false => write!(
                out,
                "different: {} of {} tables, which have {rows} rows",
                self.differing().count() + self.missing.len(),
                self.tables.len() + self.missing.len()
            ),
        };
        let _ = write!(out, " on {} ({ours}) and {} ({theirs})", self.source, self.replica);
        let _ = match &self.place {
            Some(place) => writeln!(out, " at {place}"),
            None => writeln!(out),
        };
        out
    }

    /// For programs.
    pub(super) fn json(&self) -> String {
        let strings = |list: &[String]| array(list.iter().map(|text| quoted(text)));
        let difference = |d: &Difference| {
            let how = match d.how {
                How::OnlyOnSource => "only_on_source",
                How::OnlyOnReplica => "only_on_replica",
                How::Differs => "differs",
            };
            object(&[("how", quoted(how)), ("key", quoted(&d.key)), ("columns", strings(&d.columns))])
        };
        let table = |t: &TableReport| {
            object(&[
                ("table", quoted(&t.name)),
                ("rows", t.rows.to_string()),
                ("equal", (t.differing_chunks == 0).to_string()),
                ("differing_chunks", t.differing_chunks.to_string()),
                ("differences", array(t.differences.iter().map(difference))),
                ("more", t.is_cut.to_string()),
            ])
        };
        let optional = |text: &Option<String>| text.as_ref().map_or("null".to_owned(), |text| quoted(text));
        let all = object(&[
            ("equal", self.is_equal().to_string()),
            ("source", quoted(&self.source)),
            ("replica", quoted(&self.replica)),
            ("place", optional(&self.place)),
            ("only_on_replica_gtids", optional(&self.extra)),
            ("lacking", strings(&self.lacking)),
            ("not_compared", strings(&self.not_compared)),
            ("tables", array(self.tables.iter().map(table))),
        ]);
        format!("{all}\n")
    }
}
