//! `sys`: what `performance_schema` and `information_schema` have, as people want to read it. Most
//! views are there twice: `x$view` has plain numbers, the other one times and texts that are short.
//!
//! A view is there if what it is about is counted: those about memory, files and stages are not.
//! What MySQL makes of views is made here of the same rows. Functions of `sys` are built in
//! (`crate::expression::functions::sys`).
//!
//! - [`statements`]: by their form. [`indexes`]: indexes, tables and AUTO_INCREMENT columns.
//!   [`waits`]: who waits for whom. [`sessions`]: what sessions do. [`server`]: versions and
//!   metrics.

mod indexes;
mod server;
mod sessions;
mod statements;
mod waits;

use super::column::SystemColumn;
use super::{Each, SystemTable, Wanted};
use crate::expression::functions::format;
use crate::session::Context;
use datum::error::Result;
use datum::value::{DateTime, Datum, Decimal};

/// The views, by subject.
pub(super) const TABLES: &[&[SystemTable]] =
    &[indexes::TABLES, server::TABLES, sessions::TABLES, statements::TABLES, waits::TABLES];

const NOTHING: [&str; 2] = ["", ""];

/// Whether values are for programs or for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// As they are.
    Raw,
    /// With units, and cut.
    Formatted,
}

impl Shown {
    /// A time in picoseconds.
    fn time(self, picoseconds: u64) -> Datum<'static> {
        match self {
            Shown::Raw => Datum::UInt(picoseconds),
            Shown::Formatted => format::pico_time(picoseconds as f64),
        }
    }

    /// A number of bytes.
    fn bytes(self, n: u64) -> Datum<'static> {
        match self {
            Shown::Raw => Datum::UInt(n),
            Shown::Formatted => format::bytes(n as f64),
        }
    }

    /// The text of a statement, which [`format::statement`] cuts.
    fn statement(self, text: &str) -> Datum<'static> {
        match self {
            Shown::Raw => Datum::owned(text.to_owned()),
            Shown::Formatted => Datum::owned(format::statement(text)),
        }
    }
}

/// The mean, rounded to a whole number; 0 of nothing.
fn mean(sum: u64, count: u64) -> Datum<'static> {
    let (sum, count) = (i128::from(sum), i128::from(count));
    let mean = if count == 0 { 0 } else { (sum + count / 2) / count };
    Decimal::from_parts(mean, 0).map_or(Datum::Null, Datum::Decimal)
}

/// How many of a hundred, rounded to a whole number; 0 of nothing.
fn percent(part: u64, whole: u64) -> Datum<'static> {
    mean(part.saturating_mul(100), whole)
}

/// A moment in microseconds since 1970, in the session's time zone, to the second.
fn moment(cx: &Context, at: u64) -> Option<DateTime> {
    let local = cx.settings.zone().to_local(i64::try_from(at).unwrap_or(i64::MAX));
    DateTime::from_unix_micros(local, 0)
}

/// The rows of another system table.
struct Table {
    columns: &'static [SystemColumn],
    rows: Vec<Vec<Datum<'static>>>,
}

impl Table {
    /// All rows of a table that there is.
    fn read(cx: &mut Context, schema: &str, name: &str) -> Result<Self> {
        let Some((_, table)) = super::find(schema, name)? else {
            return Ok(Self { columns: &[], rows: Vec::new() });
        };
        let mut rows = Vec::new();
        (table.rows)(cx, &Wanted::default(), &mut |row| {
            datum::bounds::check()?;
            rows.push(row);
            Ok(())
        })?;
        Ok(Self { columns: table.columns, rows })
    }

    /// A row's value.
    fn cell<'r>(&self, row: &'r [Datum<'static>], name: &str) -> &'r Datum<'static> {
        let at = self.columns.iter().position(|column| column.name == name);
        at.and_then(|at| row.get(at)).unwrap_or(&Datum::Null)
    }
}

/// A value as text; nothing for NULL.
fn text_of(value: &Datum<'_>) -> Option<String> {
    (!value.is_null()).then(|| String::from_utf8_lossy(&value.to_bytes()).into_owned())
}

/// A number; nothing for NULL and what is none.
fn number_of(value: &Datum<'_>) -> Option<u64> {
    match value {
        Datum::UInt(n) => Some(*n),
        Datum::Int(n) => u64::try_from(*n).ok(),
        _ => None,
    }
}
