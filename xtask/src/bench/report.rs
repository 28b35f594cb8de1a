//! How results are told: a table in the terminal, the same as Markdown, and a plot.

use super::Measured;
use super::workload::Workload;
use crate::Result;
use plotters::prelude::*;
use std::fmt::Write;
use std::path::Path;

struct Line {
    label: String,
    duramen: f64,
    mariadb: f64,
    /// Lowest, median and highest of the rounds' ratios.
    ratio: [f64; 3],
}

fn lines(results: &[Measured]) -> Vec<Line> {
    results
        .iter()
        .map(|m| {
            let ratios = sorted(m.rounds.iter().map(|r| r.duramen / r.mariadb));
            Line {
                label: m.label.clone(),
                duramen: median(&sorted(m.rounds.iter().map(|r| r.duramen))),
                mariadb: median(&sorted(m.rounds.iter().map(|r| r.mariadb))),
                ratio: [ratios[0], median(&ratios), ratios[ratios.len() - 1]],
            }
        })
        .collect()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Prints the medians.
pub fn print(workload: &dyn Workload, results: &[Measured]) {
    println!(
        "\n{}\n{:44} {:>10} {:>10} {:>7}   of the rounds",
        workload.title(),
        "",
        "Duramen/s",
        "MariaDB/s",
        "ratio"
    );
    for l in lines(results) {
        let [low, middle, high] = l.ratio;
        let bar = "█".repeat((middle * 8.0).round() as usize);
        println!(
            "{:44} {:>10.0} {:>10.0} {:>7.2}   {low:.2} to {high:.2}  {bar}",
            l.label, l.duramen, l.mariadb, middle
        );
    }
}

/// Writes `NAME.md` and `NAME.svg` into `folder`.
pub fn write(workload: &dyn Workload, results: &[Measured], folder: &Path) -> Result<()> {
    let lines = lines(results);
    std::fs::write(folder.join(format!("{}.md", workload.name())), markdown(workload, &lines)?)?;
    plot(workload, &lines, &folder.join(format!("{}.svg", workload.name())))
}

fn markdown(workload: &dyn Workload, lines: &[Line]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "## {}\n", workload.title())?;
    writeln!(
        text,
        "{} per second relative to MariaDB (1.00) in the same round; both at full durability.\n",
        workload.unit()
    )?;
    writeln!(text, "| | Duramen ÷ MariaDB | lowest and highest round |\n| --- | --- | --- |")?;
    for l in lines {
        let [low, middle, high] = l.ratio;
        writeln!(text, "| {} | {middle:.2} | {low:.2} to {high:.2} |", l.label)?;
    }
    writeln!(text, "\n![{}]({}.svg)", workload.title(), workload.name())?;
    Ok(text)
}

const DURAMEN: RGBColor = RGBColor(0x8a, 0x4b, 0x2a);
const MARIADB: RGBColor = RGBColor(0xa9, 0xb4, 0xc2);

/// Bars of the ratio with the spread of its rounds, and MariaDB's 1.00 as a line.
fn plot(workload: &dyn Workload, lines: &[Line], path: &Path) -> Result<()> {
    let height = 90 + 44 * lines.len() as u32;
    let root = SVGBackend::new(path, (930, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let widest = lines.iter().map(|l| l.ratio[2]).fold(1.0, f64::max) * 1.1;
    let rows = lines.len() as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{} (MariaDB = 1)", workload.title()), ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(28)
        .y_label_area_size(300)
        .build_cartesian_2d(0.0..widest, 0.0..rows)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_label_formatter(&|x| format!("{x:.1}"))
        .draw()?;
    for (i, l) in lines.iter().enumerate() {
        let middle = rows - i as f64 - 0.5;
        let [low, ratio, high] = l.ratio;
        chart
            .draw_series([Rectangle::new([(0.0, middle - 0.3), (ratio, middle + 0.3)], DURAMEN.filled())])?;
        chart.draw_series([PathElement::new([(low, middle), (high, middle)], BLACK.stroke_width(2))])?;
        let (x, y) = chart.backend_coord(&(0.0, middle));
        let style = TextStyle::from(("sans-serif", 15)).pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Right,
            plotters::style::text_anchor::VPos::Center,
        ));
        root.draw(&Text::new(l.label.clone(), (x - 8, y), style))?;
        let (x, y) = chart.backend_coord(&(high, middle));
        root.draw(&Text::new(format!("{ratio:.2}"), (x + 6, y - 7), ("sans-serif", 15)))?;
    }
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, rows)], MARIADB.stroke_width(3))])?;
    root.present()?;
    Ok(())
}
