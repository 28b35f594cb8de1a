//! A workload's results as a page of Markdown.

use super::super::machine::Machine;
use super::super::measure::Measured;
use super::super::results::{Bar, Line, Sample, Spread, Table};
use super::super::shape::Shape;
use super::super::workload::{Part, Who, Workload};
use super::{compared, figure, title, verdict};
use crate::Result;
use std::fmt::Write;

/// The page; `plot` names the file of a part's plot, if it is drawn.
pub fn section(
    workload: &dyn Workload,
    measured: &Measured,
    bars: &[Bar],
    machine: &Machine,
    plot: impl Fn(&Part) -> Option<String>,
) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "# {}\n\n{}\n", workload.title(), workload.about())?;
    if !bars.is_empty() {
        writeln!(text, "| promised | found | |\n| --- | --- | --- |")?;
        for bar in bars {
            writeln!(text, "| {} | {} | {} |", bar.wanted, bar.found, verdict(bar))?;
        }
        writeln!(text)?;
    }
    write_shapes(&mut text, workload, measured)?;
    for table in &measured.tables {
        write_table(&mut text, workload, table)?;
        writeln!(text)?;
        if let Some(name) = plot(&table.part) {
            writeln!(text, "![{}]({name})\n", title(workload, &table.part))?;
        }
        write_notes(&mut text, table, &measured.peers)?;
        write_details(&mut text, table)?;
    }
    for curves in workload.curves() {
        writeln!(text, "![{}]({})\n", curves.title, curves.file)?;
    }
    writeln!(text, "## Measured on and with\n")?;
    writeln!(
        text,
        "`cargo xtask bench {}`: {}. {}",
        workload.name(),
        measured.versions.join("; "),
        machine.text()
    )?;
    Ok(text)
}

/// What was published, compared with the same of each server; shapes of which no server has both
/// rows are omitted.
fn write_shapes(text: &mut String, workload: &dyn Workload, measured: &Measured) -> Result<()> {
    let found = |shape: &Shape, who| shape.found(&measured.tables, who);
    let mut servers: Vec<Who> = measured.tables.iter().flat_map(|t| &t.part.columns).map(|c| c.who).collect();
    servers.sort_unstable();
    servers.dedup();
    let mut shapes = workload.shapes();
    shapes.retain(|shape| servers.iter().any(|who| found(shape, *who).is_some()));
    // Published was what servers with a log did.
    servers.retain(|who| *who != Who::MariaDbWithoutLog && shapes.iter().any(|s| found(s, *who).is_some()));
    if shapes.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "What was published, as times of one rate over another, and the same of each server here.\n"
    )?;
    let peers: Vec<&str> = measured.peers.iter().map(String::as_str).collect();
    let mut heading = vec![String::new(), "published".into()];
    heading.extend(servers.iter().map(|who| who.name(&peers)));
    row(text, &heading)?;
    row(text, &vec!["---".to_owned(); heading.len()])?;
    for shape in &shapes {
        let part =
            measured.tables.iter().find(|t| t.part.name == shape.part).map_or(String::new(), Table::prefix);
        let mut cells = vec![format!("{part}{}", shape.name()), figure(shape.published)];
        cells.extend(servers.iter().map(|who| found(shape, *who).map_or("-".into(), times)));
        row(text, &cells)?;
    }
    Ok(writeln!(text)?)
}

/// The page of what was promised in all of a run's workloads.
pub fn promises(bars: &[(String, Bar)], machine: &Machine) -> Result<String> {
    let mut text = String::from(
        "# What was promised, and what was found\n\n| workload | promised | found | |\n| --- | --- | --- | --- |\n",
    );
    for (name, bar) in bars {
        writeln!(text, "| [{name}]({name}.md) | {} | {} | {} |", bar.wanted, bar.found, verdict(bar))?;
    }
    writeln!(text, "\n{}", machine.text())?;
    Ok(text)
}

/// What leads to pages, by their files and headings.
pub fn index(pages: &[(String, String)], has_promises: bool) -> Result<String> {
    let mut text = String::from(
        "# What was measured\n\nWritten by `cargo xtask bench`; what it measures, and how, is in [benchmarks](../benchmarks.md).\n\n",
    );
    if has_promises {
        writeln!(text, "- [What was promised, and what was found](promises.md)")?;
    }
    for (file, heading) in pages {
        writeln!(text, "- [{heading}]({file})")?;
    }
    Ok(text)
}

fn write_table(text: &mut String, workload: &dyn Workload, table: &Table) -> Result<()> {
    if !table.part.name.is_empty() {
        let flush = if table.part.is_named_by_delay() { " longer for each flush" } else { "" };
        writeln!(text, "## {}{flush}\n", capitalized(&table.part.name))?;
    }
    let columns = &table.part.columns;
    let pairs = compared(table);
    let and =
        if pairs.is_empty() { "" } else { ", and how many times as fast Duramen was in the same round" };
    let multiples = table.base.as_ref().map_or(String::new(), |base| format!(" in multiples of {base}"));
    writeln!(text, "{}{multiples}{and}.\n", workload.unit())?;
    let mut heading: Vec<String> = vec![String::new()];
    heading.extend(columns.iter().map(|c| c.label.clone()));
    let is_one_of_ours = pairs.iter().all(|(ours, _)| *ours == 0);
    heading.extend(pairs.iter().map(|&(ours, other)| {
        let ours = if is_one_of_ours { "" } else { &columns[ours].label };
        format!("{ours} ÷ {}", columns[other].label).trim_start().to_owned()
    }));
    row(text, &heading)?;
    row(text, &vec!["---".to_owned(); heading.len()])?;
    for line in &table.lines {
        let rates = (0..columns.len()).map(|c| line.rate(c).map_or("-".into(), figure));
        let ratios = pairs.iter().map(|&(ours, other)| line.ratio(ours, other).map_or("-".into(), times));
        row(text, &std::iter::once(line.label.clone()).chain(rates).chain(ratios).collect::<Vec<_>>())?;
    }
    if let Some(base) = &table.base {
        writeln!(
            text,
            "\n1.00 is {base}, the median of its rounds: its rate here, and its median time, flush and processor time in the details."
        )?;
    }
    Ok(())
}

/// What the reader must know to read the table rightly.
fn write_notes(text: &mut String, table: &Table, peers: &[String]) -> Result<()> {
    if table.part.delay.is_zero() {
        return Ok(());
    }
    for (c, column) in table.part.columns.iter().enumerate() {
        let is_seen = table.lines.iter().any(|l| l.spread(c, |s| s.flush_ms).is_some());
        if !is_seen {
            writeln!(
                text,
                "No flush of {} was seen by the preload library, so that its rates are those of the machine's own disk.\n",
                column.label
            )?;
        }
    }
    if !peers.is_empty() {
        let peers = peers.join(", ");
        writeln!(text, "Not of this table, since their flushes cannot be slowed from here: {peers}.\n")?;
    }
    Ok(())
}

/// A figure of a sample, with its heading and what it is in, which multiples are not.
type Detail = (&'static str, &'static str, fn(&Sample) -> Option<f64>);

const DETAILS: [Detail; 9] = [
    ("median time", " ms", |s| s.latency.map(|l| l.p50)),
    ("95 % of times", " ms", |s| s.latency.map(|l| l.p95)),
    ("99 % of times", " ms", |s| s.latency.map(|l| l.p99)),
    ("in a group of the log", "", |s| s.group_size),
    ("for each flush", "", |s| s.per_flush),
    ("for each flush of the log", "", |s| s.per_log_flush),
    ("flush", " ms", |s| s.flush_ms),
    ("processor", " µs", |s| s.cpu_us),
    ("machine busy %", "", |s| s.busy),
];

/// The spread of the rates, latencies, and what the server did; columns without any figure are left
/// out.
fn write_details(text: &mut String, table: &Table) -> Result<()> {
    let columns = &table.part.columns;
    let has = |(_, _, figure): &&Detail| {
        table.lines.iter().any(|l| (0..columns.len()).any(|c| l.spread(c, figure).is_some()))
    };
    let details: Vec<&Detail> = DETAILS.iter().filter(has).collect();
    writeln!(text, "<details><summary>Rounds, latencies, groups, flushes, processor time</summary>\n")?;
    let mut heading = vec![String::new(), "server".into(), "lowest to highest rate".into()];
    let is_measured = table.base.is_none();
    let named = |(name, unit, _): &&Detail| format!("{name}{}", if is_measured { unit } else { "" });
    heading.extend(details.iter().map(named));
    row(text, &heading)?;
    row(text, &vec!["---".to_owned(); heading.len()])?;
    for line in &table.lines {
        for (c, column) in columns.iter().enumerate() {
            row(text, &detail_row(line, c, &column.label, &details))?;
        }
    }
    writeln!(text, "\n</details>\n")?;
    Ok(())
}

fn detail_row(line: &Line, column: usize, label: &str, details: &[&Detail]) -> Vec<String> {
    let rates = line.spread(column, |s| Some(s.per_second));
    let mut cells = vec![line.label.clone(), label.to_owned()];
    cells.push(rates.map_or("-".into(), |s| format!("{} to {}", figure(s.low), figure(s.high))));
    cells.extend(
        details.iter().map(|(_, _, of)| line.spread(column, of).map_or("-".into(), |s| figure(s.median))),
    );
    cells
}

fn times(ratio: Spread) -> String {
    let Spread { low, median, high } = ratio;
    let [low, median, high] = [low, median, high].map(figure);
    if low == high { median } else { format!("{median} ({low} to {high})") }
}

fn row(text: &mut String, cells: &[String]) -> Result<()> {
    Ok(writeln!(text, "| {} |", cells.join(" | "))?)
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
