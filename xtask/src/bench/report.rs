//! How results are printed: a table in the terminal, the same and more as Markdown ([`markdown`]),
//! and plots ([`plot`], on [`axis`]; [`curves`]).

pub mod axis;
mod curves;
mod markdown;
pub mod plot;

use super::machine::Machine;
use super::measure::Measured;
use super::options::Options;
use super::results::{Bar, Table};
use super::workload::{Part, Who, Workload};
use crate::Result;
use std::path::Path;

/// What was promised and what was found, of all workloads of a run.
#[derive(Default)]
pub struct Promises {
    bars: Vec<(String, Bar)>,
}

impl Promises {
    /// Those of a workload.
    pub fn add(&mut self, workload: &dyn Workload, measured: &Measured) {
        self.bars.extend(workload.bars(&measured.tables).into_iter().map(|bar| (workload.name(), bar)));
    }

    /// Prints them, and writes `promises.md`.
    pub fn write_reports(&self, machine: &Machine, options: &Options) -> Result<()> {
        if self.bars.is_empty() {
            return Ok(());
        }
        println!();
        for (name, bar) in &self.bars {
            println!("{:7} {name}: {}: {}", if bar.met { "met" } else { "missed" }, bar.wanted, bar.found);
        }
        let text = markdown::promises(&self.bars, machine)?;
        Ok(std::fs::write(options.out.join(PROMISES), text)?)
    }
}

/// Prints the medians.
pub fn print(workload: &dyn Workload, measured: &Measured) {
    println!("\n{}", workload.title());
    for table in &measured.tables {
        let heading: Vec<String> = table.part.columns.iter().map(|c| format!("{:>24}", c.label)).collect();
        println!("{:44}{}", table.part.name, heading.concat());
        for line in &table.lines {
            let rates = (0..table.part.columns.len()).map(|c| line.rate(c).map_or("-".into(), figure));
            let cells: Vec<String> = rates.map(|rate| format!("{rate:>24}")).collect();
            println!("{:44}{}", line.label, cells.concat());
        }
    }
}

/// The plots that a run draws unless all are asked for: what `docs/benchmarks.md` shows of five
/// claims. The pages have every figure as a table; thirty plots that change with each run are
/// thirty files that nobody compares.
const DRAWN: [&str; 5] = [
    "w3-20-ms.svg",
    "slow-flush-20-ms.svg",
    "not-durable-oltp_write_only.svg",
    "hot-row-20-ms.svg",
    "replica-groups.svg",
];

/// Writes `NAME.md` and the plots that are drawn of it into the options' folder; in multiples if
/// they ask for it.
pub fn write(
    workload: &dyn Workload,
    measured: &Measured,
    machine: &Machine,
    options: &Options,
) -> Result<()> {
    let bars = workload.bars(&measured.tables);
    let multiples = options.relative.then(|| measured.in_multiples(workload));
    let shown = multiples.as_ref().unwrap_or(measured);
    for table in &shown.tables {
        if let Some(name) = plot_name(workload, &table.part, options) {
            plot::draw(workload, table, &options.out.join(name))?;
        }
    }
    for curves in workload.curves() {
        curves::draw(&curves, &options.out.join(&curves.file))?;
    }
    let plot = |part: &Part| plot_name(workload, part, options);
    let text = markdown::section(workload, shown, &bars, machine, plot)?;
    Ok(std::fs::write(options.out.join(format!("{}.md", workload.name())), text)?)
}

/// Writes `README.md`, which leads to every page of the folder, of whichever run.
pub fn write_index(folder: &Path) -> Result<()> {
    let files = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut names: Vec<String> = files.iter().filter_map(|f| f.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".md") && name != INDEX && name != PROMISES);
    names.sort_unstable();
    let heading = |name: &String| -> Result<(String, String)> {
        let text = std::fs::read_to_string(folder.join(name))?;
        let first = text.lines().next().unwrap_or_default();
        Ok((name.clone(), first.trim_start_matches('#').trim().to_owned()))
    };
    let pages = names.iter().map(heading).collect::<Result<Vec<_>>>()?;
    let text = markdown::index(&pages, folder.join(PROMISES).exists())?;
    Ok(std::fs::write(folder.join(INDEX), text)?)
}

const INDEX: &str = "README.md";
const PROMISES: &str = "promises.md";

fn verdict(bar: &Bar) -> &'static str {
    if bar.met { "met" } else { "**missed**" }
}

/// The file of a part's plot, if it is drawn.
fn plot_name(workload: &dyn Workload, part: &Part, options: &Options) -> Option<String> {
    let part = part.name.replace(' ', "-").replace('.', "_");
    let dash = if part.is_empty() { "" } else { "-" };
    let name = format!("{}{dash}{part}.svg", workload.name());
    (options.all_plots || DRAWN.contains(&name.as_str())).then_some(name)
}

/// The workload's title and the part's name.
fn title(workload: &dyn Workload, part: &Part) -> String {
    let flush = if part.is_named_by_delay() { " a flush" } else { "" };
    if part.name.is_empty() {
        workload.title()
    } else {
        format!("{}: {}{flush}", workload.title(), part.name)
    }
}

/// Columns of Duramen and of another server that are set alike, or Duramen's only one next to each
/// other one.
fn compared(table: &Table) -> Vec<(usize, usize)> {
    let columns = &table.part.columns;
    let ours: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].who == Who::Duramen).collect();
    let others = (0..columns.len()).filter(|&c| columns[c].who != Who::Duramen);
    others
        .filter_map(|other| {
            let alike = ours.iter().find(|&&c| columns[c].durability == columns[other].durability);
            let ours = alike.or(if ours.len() == 1 { ours.first() } else { None })?;
            Some((*ours, other))
        })
        .collect()
}

/// A figure with three digits that count.
fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v if v >= 0.01 || v == 0.0 => format!("{v:.3}"),
        v => format!("{v:.5}"),
    }
}
