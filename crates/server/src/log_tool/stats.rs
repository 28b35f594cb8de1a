//! `duramen binlog stats`: what a log is made of.
//!
//! Memory does not grow with the log: tables beyond the first thousands are counted as one, times
//! fall into a fixed number of spans that grow longer, of transactions the largest ten are kept.

use super::arguments::Arguments;
use super::input::{LogFile, log_files};
use super::transactions::{Transaction, WalkItem, walk};
use super::{EXPANDED_MAX, Outcome, ToolError};
use crate::charts::{Field, Point, commas, number, write_bars};
use crate::remote;
use binlog::event::{Decoder, Event, EventError, EventHeader, FormatDescription, RowsKind};
use binlog::file::FileError;
use binlog::json_lines::moment;
use env::{Env, UnixMicros};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use stdx::histogram::Histogram;

/// More tables are counted as one.
const TABLES_MAX: usize = 5000;
/// The most that are printed.
const TABLES_SHOWN: usize = 40;
const LARGEST: usize = 10;
/// Spans of time, and columns of the chart.
const SPANS: usize = 64;
const LINES: usize = 10;
const BAR: usize = 50;

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("stats", args, &remote::OPTIONS, &[])?;
    let files = log_files(env, &arguments)?;
    let mut stats = Stats::default();
    for file in &files {
        stats.add(&**env, file)?;
    }
    std::io::stdout().write_all(stats.text().as_bytes())?;
    Ok(Outcome::Done)
}

/// Rows and bytes of row events, by kind: inserted, updated, deleted.
#[derive(Debug, Default, Clone, Copy)]
struct TableStats {
    rows: [u64; 3],
    bytes: [u64; 3],
}

impl TableStats {
    fn all_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

#[derive(Default)]
struct Stats {
    files: u64,
    events: u64,
    bytes: u64,
    /// Statements other than those that bound transactions.
    statements: u64,
    transactions: u64,
    tables: HashMap<(Vec<u8>, Vec<u8>), TableStats>,
    other_tables: TableStats,
    sizes: Histogram,
    rate: Rate,
    /// The largest, largest first.
    largest: Vec<(u64, String, Transaction)>,
}

impl Stats {
    fn add(&mut self, env: &dyn Env, file: &LogFile) -> Result<(), ToolError> {
        self.files += 1;
        let mut decoder = Decoder::new(FormatDescription::new("", 0));
        walk(env, file, &mut |item| {
            match item {
                WalkItem::Event(raw) => {
                    let broken = |source| file.error(FileError::Event { at: raw.start, source });
                    self.events += 1;
                    self.bytes += raw.bytes.len() as u64;
                    let (header, event) = decoder.decode(raw.bytes).map_err(broken)?;
                    let counted = decoder.walk(&header, &event, EXPANDED_MAX, |decoder, header, event, _| {
                        self.event(decoder, header, event)
                    });
                    counted.map_err(broken)?;
                }
                WalkItem::Transaction(transaction) => self.transaction(file, transaction),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    fn event(
        &mut self,
        decoder: &Decoder,
        header: &EventHeader,
        event: &Event<'_>,
    ) -> Result<(), EventError> {
        let rows = match event {
            Event::Rows(rows) if rows.columns > 0 => rows,
            Event::Query(query) => {
                self.statements += u64::from(query.is_in_database());
                return Ok(());
            }
            Event::MariadbQueryCompressed(_) => {
                self.statements += 1;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let table = decoder.table_of(rows)?;
        let bytes = rows.rows.bytes(EXPANDED_MAX)?;
        let mut count = 0;
        for change in rows.iter(table, &bytes)? {
            change?;
            count += 1;
        }
        let kind = match rows.kind {
            RowsKind::Write => 0,
            RowsKind::Update => 1,
            RowsKind::Delete => 2,
        };
        let is_full = self.tables.len() >= TABLES_MAX;
        let key = (table.database.clone(), table.table.clone());
        let stats = match self.tables.get_mut(&key) {
            Some(stats) => stats,
            None if is_full => &mut self.other_tables,
            None => self.tables.entry(key).or_default(),
        };
        stats.rows[kind] += count;
        stats.bytes[kind] += u64::from(header.event_length);
        Ok(())
    }

    fn transaction(&mut self, file: &LogFile, transaction: &Transaction) {
        let size = transaction.end - transaction.start;
        self.transactions += 1;
        self.sizes.record(size);
        self.rate.add(transaction.committed);
        let index = self.largest.partition_point(|(other, ..)| *other >= size);
        if index < LARGEST {
            self.largest.insert(index, (size, file.name.clone(), transaction.clone()));
            self.largest.truncate(LARGEST);
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let (files, bytes, events) = (self.files, commas(self.bytes), commas(self.events));
        let (transactions, statements) = (commas(self.transactions), commas(self.statements));
        let _ = writeln!(out, "{files} files, {bytes} bytes of events, {events} events");
        let _ = writeln!(out, "{transactions} transactions, {statements} statements beside rows");
        if self.transactions > 0 {
            self.rate.write_span(self.transactions, &mut out);
        }
        self.write_tables(&mut out);
        self.write_sizes(&mut out);
        self.rate.write(&mut out);
        if !self.largest.is_empty() {
            out.push_str("\nlargest transactions, bytes\n");
        }
        for (size, file, transaction) in &self.largest {
            let (size, start, name) = (commas(*size), transaction.start, &transaction.name);
            let committed = moment(transaction.committed);
            let _ = writeln!(out, "{size:>15}  {file}:{start}  committed {committed}  {name}");
        }
        out
    }

    /// Most bytes first.
    fn write_tables(&self, out: &mut String) {
        let name = |(database, table): &(Vec<u8>, Vec<u8>)| {
            format!("{}.{}", String::from_utf8_lossy(database), String::from_utf8_lossy(table))
        };
        let mut tables: Vec<_> = self.tables.iter().map(|(key, stats)| (name(key), *stats)).collect();
        tables.sort_by(|a, b| b.1.all_bytes().cmp(&a.1.all_bytes()).then_with(|| a.0.cmp(&b.0)));
        let mut others = self.other_tables;
        for (_, more) in tables.iter().skip(TABLES_SHOWN) {
            for kind in 0..3 {
                others.rows[kind] += more.rows[kind];
                others.bytes[kind] += more.bytes[kind];
            }
        }
        tables.truncate(TABLES_SHOWN);
        if others.all_bytes() > 0 {
            tables.push(("all others".into(), others));
        }
        if tables.is_empty() {
            return;
        }
        let width = tables.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(5);
        let _ = writeln!(
            out,
            "\n{:width$} {:>12} {:>15} {:>12} {:>15} {:>12} {:>15}",
            "table", "inserted", "bytes", "updated", "bytes", "deleted", "bytes"
        );
        for (name, stats) in &tables {
            let _ = write!(out, "{name:width$}");
            for (rows, bytes) in stats.rows.iter().zip(stats.bytes) {
                let _ = write!(out, " {:>12} {:>15}", commas(*rows), commas(bytes));
            }
            out.push('\n');
        }
    }

    fn write_sizes(&self, out: &mut String) {
        let buckets: Vec<(u64, u64)> = self.sizes.buckets().collect();
        let is_used = |&(_, n): &(u64, u64)| n > 0;
        let (Some(first), Some(last)) = (buckets.iter().position(is_used), buckets.iter().rposition(is_used))
        else {
            return;
        };
        let label = |bound: u64| format!("{} to {}", commas(bound / 2), commas(bound.saturating_sub(1)));
        let bars: Vec<_> = buckets[first..=last].iter().map(|&(bound, n)| (label(bound), n)).collect();
        out.push_str("\ntransactions by their size in bytes\n");
        write_bars(&bars, BAR, out);
    }
}

/// Transactions in spans of time, which grow as the log goes on.
#[derive(Default)]
struct Rate {
    first: UnixMicros,
    last: UnixMicros,
    /// Microseconds of each span.
    span: u64,
    counts: Vec<u64>,
}

impl Rate {
    /// The shortest span.
    const SHORTEST: u64 = 1_000;

    fn add(&mut self, time: UnixMicros) {
        if self.counts.is_empty() {
            (self.first, self.last, self.span) = (time, time, Self::SHORTEST);
            self.counts = vec![0; SPANS];
        }
        // A clock that was set back is taken for one that stood.
        self.last = self.last.max(time);
        let since = time.saturating_sub(self.first);
        while since / self.span >= SPANS as u64 {
            self.span *= 2;
            self.counts = (0..SPANS)
                .map(|i| self.counts.get(2 * i..2 * i + 2).map_or(0, |pair| pair.iter().sum()))
                .collect();
        }
        if let Some(count) = self.counts.get_mut((since / self.span) as usize) {
            *count += 1;
        }
    }

    fn write_span(&self, transactions: u64, out: &mut String) {
        let seconds = (self.last - self.first) as f64 / 1e6;
        let _ = write!(out, "committed from {} to {} UTC", moment(self.first), moment(self.last));
        if seconds > 0.0 {
            let _ = write!(out, ": {} a second over {seconds:.1} s", number(transactions as f64 / seconds));
        }
        out.push('\n');
    }

    fn write(&self, out: &mut String) {
        let used = self.counts.iter().rposition(|&n| n > 0).map_or(0, |i| i + 1);
        if used < 2 {
            return;
        }
        let span = self.span as f64 / 1e6;
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut field = Field::new(SPANS, LINES);
        for (i, &count) in self.counts[..used].iter().enumerate().filter(|(_, n)| **n > 0) {
            field.put_bar(Point { x: i as f64 / SPANS as f64, y: count as f64 / most }, '#');
        }
        let column =
            if span < 1.0 { format!("{} ms", number(span * 1e3)) } else { format!("{} s", number(span)) };
        let _ = writeln!(out, "\ntransactions a second over time, {column} a column");
        let rate = |line: usize| match line {
            0 => number(most / span),
            l if l == LINES / 2 => number(most / span / 2.0),
            LINES => "0".into(),
            _ => String::new(),
        };
        let seconds = |i: usize| (i, format!("{:.1} s", i as f64 * span));
        field.write(rate, &[seconds(0), seconds(SPANS / 2)], out);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn spans_of_time_grow_and_lose_nothing() {
        let mut rate = Rate::default();
        for second in 0..10_000 {
            rate.add(5_000_000 + second * 1_000_000);
        }
        rate.add(1); // a clock that went back
        assert_eq!(rate.counts.iter().sum::<u64>(), 10_001);
        assert_eq!(rate.counts.len(), SPANS);
        assert!(rate.span * SPANS as u64 >= 9_999_000_000 && rate.span * SPANS as u64 / 2 < 9_999_000_000);
        let mut out = String::new();
        rate.write(&mut out);
        assert!(out.contains("transactions a second over time") && out.lines().count() == LINES + 5, "{out}");
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert!(Stats::default().text().starts_with("0 files, 0 bytes"));
    }
}
