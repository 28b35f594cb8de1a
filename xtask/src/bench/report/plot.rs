//! Plots: lines over the number of clients where a table is made of them, bars elsewhere.

use super::super::results::{Line, Sample, Spread, Table};
use super::super::workload::{Column, Who, Workload};
use super::{figure, title};
use crate::Result;
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
const LIMIT: RGBColor = RGBColor(0xc4, 0xc4, 0xc4);

/// Draws a table.
pub fn draw(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    if table.part.is_over_threads() {
        draw_lines(workload, table, path)
    } else {
        draw_bars(workload, table, path)
    }
}

/// Shades of a server's own colour, for its settings.
fn colour(columns: &[Column], column: usize) -> RGBColor {
    const DURAMEN: [RGBColor; 2] = [RGBColor(0x9a, 0x48, 0x1e), RGBColor(0xd9, 0x9a, 0x6c)];
    const MARIADB: [RGBColor; 2] = [RGBColor(0x1f, 0x5a, 0x96), RGBColor(0x7f, 0xb2, 0xdd)];
    const WITHOUT_LOG: [RGBColor; 2] = [RGBColor(0x3c, 0x7d, 0x5a), RGBColor(0x97, 0xc7, 0xa4)];
    const PEERS: [RGBColor; 4] = [
        RGBColor(0x6d, 0x45, 0x90),
        RGBColor(0xb4, 0x97, 0xcf),
        RGBColor(0x55, 0x5b, 0x63),
        RGBColor(0xa0, 0xa6, 0xad),
    ];
    let who = columns[column].who;
    let shade = columns[..column].iter().filter(|c| c.who == who).count();
    match who {
        Who::Duramen | Who::DuramenCounted => DURAMEN[shade % 2],
        Who::MariaDb => MARIADB[shade % 2],
        Who::MariaDbWithoutLog => WITHOUT_LOG[shade % 2],
        Who::Peer(n) => PEERS[(2 * n + shade) % 4],
    }
}

fn text(size: u32, horizontal: HPos) -> TextStyle<'static> {
    TextStyle::from((FONT, size).into_font()).pos(Pos::new(horizontal, VPos::Center))
}

/// The title and what the colours mean; what is left below.
fn head<'a>(root: &Area<'a>, workload: &dyn Workload, table: &Table) -> Result<Area<'a>> {
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(66);
    above.draw(&Text::new(title(workload, &table.part), (16, 22), text(20, HPos::Left)))?;
    let mut x = 16;
    for (c, column) in table.part.columns.iter().enumerate() {
        let colour = colour(&table.part.columns, c);
        above.draw(&Rectangle::new([(x, 44), (x + 22, 54)], colour.filled()))?;
        above.draw(&Text::new(column.label.clone(), (x + 28, 50), text(14, HPos::Left)))?;
        x += 52 + 8 * i32::try_from(column.label.chars().count())?;
    }
    Ok(below)
}

/// A panel of lines: each figure of each column over the number of clients.
struct Panel {
    caption: String,
    /// The first is drawn as a line, the second dashed.
    figures: Vec<fn(&Sample) -> Option<f64>>,
    /// For each client, drawn grey.
    limit: Option<f64>,
}

fn panels(unit: &str, limit: Option<f64>) -> Vec<Panel> {
    vec![
        Panel {
            caption: format!("{unit}{}", if limit.is_some() { "; grey: clients ÷ flush time" } else { "" }),
            figures: vec![|s| Some(s.per_second)],
            limit,
        },
        Panel {
            caption: "milliseconds each: median, and 99th percentile (dashed)".into(),
            figures: vec![|s| s.latency.map(|l| l.p50), |s| s.latency.map(|l| l.p99)],
            limit: None,
        },
        Panel {
            caption: "for each flush, and in a group of the log (dashed)".into(),
            figures: vec![|s| s.per_flush, |s| s.group_size],
            limit: None,
        },
        Panel { caption: "milliseconds of a flush".into(), figures: vec![|s| s.flush_ms], limit: None },
    ]
}

fn draw_lines(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    let root = SVGBackend::new(path, (1000, 746)).into_drawing_area();
    let below = head(&root, workload, table)?;
    for (area, panel) in below.split_evenly((2, 2)).iter().zip(panels(workload.unit(), workload.limit(table)))
    {
        draw_panel(area, table, &panel)?;
    }
    root.present()?;
    Ok(())
}

/// What is drawn of one cell.
struct Point {
    threads: f64,
    spread: Spread,
}

fn points(table: &Table, column: usize, figure: fn(&Sample) -> Option<f64>) -> Vec<Point> {
    let point = |line: &Line| {
        let spread = line.spread(column, figure).filter(|s| s.low > 0.0)?;
        Some(Point { threads: f64::from(line.threads?), spread })
    };
    table.lines.iter().filter_map(point).collect()
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// What a panel's axes go over.
struct Axes {
    threads: Vec<f64>,
    left: f64,
    right: f64,
    bottom: f64,
    top: f64,
    ticks: Vec<f64>,
}

impl Axes {
    /// Around every figure of the panel; none where there is none.
    fn of(table: &Table, panel: &Panel) -> Option<Self> {
        let threads: Vec<f64> = table.lines.iter().filter_map(|l| l.threads).map(f64::from).collect();
        let columns = 0..table.part.columns.len();
        let all = columns.flat_map(|c| panel.figures.iter().flat_map(move |f| points(table, c, *f)));
        let spread = all.map(|p| p.spread).reduce(|a, b| Spread {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
            ..a
        })?;
        let (bottom, top) = decades(spread.low, spread.high);
        let (left, right) = (threads.first()? * 0.9, threads.last()? * 1.1);
        Some(Self { threads, left, right, bottom, top, ticks: ticks(bottom, top) })
    }
}

fn draw_panel(area: &Area<'_>, table: &Table, panel: &Panel) -> Result<()> {
    let Some(axes) = Axes::of(table, panel) else {
        let text = Text::new(format!("{}: not counted", panel.caption), (60, 30), text(14, HPos::Left));
        return Ok(area.draw(&text)?);
    };
    let mut chart: Chart<'_> = ChartBuilder::on(area)
        .caption(&panel.caption, (FONT, 15))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(58)
        .build_cartesian_2d((axes.left..axes.right).log_scale(), (axes.bottom..axes.top).log_scale())?;
    draw_axes(area, &mut chart, &axes)?;
    if let Some(limit) = panel.limit {
        let (first, last) = (axes.left.max(axes.bottom / limit), axes.right.min(axes.top / limit));
        let ends = vec![(first, first * limit), (last, last * limit)];
        chart.draw_series([PathElement::new(ends, LIMIT.stroke_width(3))])?;
    }
    for c in 0..table.part.columns.len() {
        draw_column(&mut chart, table, panel, c)?;
    }
    Ok(())
}

/// Grid and labels, drawn by hand: numbers of clients are no powers of ten.
fn draw_axes(area: &Area<'_>, chart: &mut Chart<'_>, axes: &Axes) -> Result<()> {
    let Axes { left, right, bottom, top, .. } = *axes;
    let upright = axes.threads.iter().map(|&x| vec![(x, bottom), (x, top)]);
    let level = axes.ticks.iter().map(|&y| vec![(left, y), (right, y)]);
    chart.draw_series(upright.chain(level).map(|ends| PathElement::new(ends, GRID)))?;
    for &x in &axes.threads {
        let (x_at, y_at) = area_of(area, chart.backend_coord(&(x, bottom)));
        area.draw(&Text::new(format!("{x}"), (x_at, y_at + 12), text(12, HPos::Center)))?;
    }
    for &y in &axes.ticks {
        let (x_at, y_at) = area_of(area, chart.backend_coord(&(left, y)));
        area.draw(&Text::new(tick(y), (x_at - 6, y_at), text(12, HPos::Right)))?;
    }
    let (x_at, y_at) = area_of(area, chart.backend_coord(&((left * right).sqrt(), bottom)));
    Ok(area.draw(&Text::new("clients", (x_at, y_at + 27), text(12, HPos::Center)))?)
}

/// A server's figures: the first with the spread of its rounds.
fn draw_column(chart: &mut Chart<'_>, table: &Table, panel: &Panel, column: usize) -> Result<()> {
    let colour = colour(&table.part.columns, column);
    for (n, figure) in panel.figures.iter().enumerate() {
        let points = points(table, column, *figure);
        let line: Vec<(f64, f64)> = points.iter().map(|p| (p.threads, p.spread.median)).collect();
        if n > 0 {
            chart.draw_series(DashedLineSeries::new(line, 5, 4, colour.stroke_width(1)))?;
            continue;
        }
        chart.draw_series(line.iter().map(|p| Circle::new(*p, 3, colour.filled())))?;
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        let spread = points.iter().map(|p| vec![(p.threads, p.spread.low), (p.threads, p.spread.high)]);
        chart.draw_series(spread.map(|ends| PathElement::new(ends, colour.stroke_width(1))))?;
    }
    Ok(())
}

/// A place of the whole picture as one of the area.
fn area_of(area: &Area<'_>, (x, y): (i32, i32)) -> (i32, i32) {
    let (left, top) = area.get_base_pixel();
    (x - left, y - top)
}

/// A range of a logarithmic axis around the figures, ending at steps of 1, 2 and 5.
fn decades(low: f64, high: f64) -> (f64, f64) {
    let steps = |from: f64| {
        let decade = 10f64.powf(from.log10().floor());
        [1.0, 2.0, 5.0, 10.0].map(|step| step * decade)
    };
    let bottom = steps(low).into_iter().rfind(|s| *s <= low).unwrap_or(low);
    let top = steps(high).into_iter().find(|s| *s >= high).unwrap_or(high);
    if top / bottom < 2.0 { (bottom / 2.0, top * 2.0) } else { (bottom * 0.95, top * 1.05) }
}

fn ticks(bottom: f64, top: f64) -> Vec<f64> {
    let range = bottom.log10().floor() as i32..=top.log10().ceil() as i32;
    let steps: &[f64] = if top / bottom > 2000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = range.flat_map(|n| steps.iter().map(move |step| step * 10f64.powi(n)));
    all.filter(|y| (bottom..=top).contains(y)).collect()
}

fn tick(y: f64) -> String {
    match y {
        y if y >= 1000.0 => format!("{:.0}k", y / 1000.0),
        y if y >= 1.0 => format!("{y:.0}"),
        y => format!("{y:.2}").trim_end_matches('0').to_owned(),
    }
}

const BAR: i32 = 18;
const GAP: i32 = 14;

/// Groups of bars: the rates of each line's columns, with the spread of the rounds.
fn draw_bars(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    let columns = table.part.columns.len();
    let group = BAR * i32::try_from(columns)? + GAP;
    let height = 66 + 40 + group * i32::try_from(table.lines.len())?;
    let root = SVGBackend::new(path, (1000, u32::try_from(height)?)).into_drawing_area();
    let below = head(&root, workload, table)?;
    // Work of different kinds, as round trips and flushes are, is not compared.
    let has_one_scale = highest(&table.lines) / lowest(&table.lines) < 200.0;
    for (l, line) in table.lines.iter().enumerate() {
        let top = 10 + group * i32::try_from(l)?;
        let middle = top + (group - GAP) / 2;
        below.draw(&Text::new(line.label.clone(), (282, middle), text(14, HPos::Right)))?;
        let widest = if has_one_scale { highest(&table.lines) } else { highest(std::slice::from_ref(line)) };
        for c in 0..columns {
            let Some(rate) = line.spread(c, |s| Some(s.per_second)) else { continue };
            let x = |value: f64| 290 + (value / widest * 600.0) as i32;
            let y = top + BAR * i32::try_from(c)?;
            let bar = [(290, y + 2), (x(rate.median), y + BAR - 2)];
            below.draw(&Rectangle::new(bar, colour(&table.part.columns, c).filled()))?;
            let spread = vec![(x(rate.low), y + BAR / 2), (x(rate.high), y + BAR / 2)];
            below.draw(&PathElement::new(spread, BLACK.stroke_width(1)))?;
            below.draw(&Text::new(
                figure(rate.median),
                (x(rate.high) + 6, y + BAR / 2),
                text(13, HPos::Left),
            ))?;
        }
    }
    let scale = if has_one_scale { "" } else { "; each group on a scale of its own" };
    let unit = format!("{}{scale}", workload.unit());
    below.draw(&Text::new(unit, (290, height - 66 - 18), text(13, HPos::Left)))?;
    root.present()?;
    Ok(())
}

fn rates(lines: &[Line]) -> impl Iterator<Item = Spread> {
    let of_line =
        |l: &Line| (0..l.cells.len()).filter_map(|c| l.spread(c, |s| Some(s.per_second))).collect::<Vec<_>>();
    lines.iter().flat_map(of_line)
}

fn highest(lines: &[Line]) -> f64 {
    rates(lines).map(|s| s.high).fold(f64::MIN_POSITIVE, f64::max)
}

fn lowest(lines: &[Line]) -> f64 {
    rates(lines).map(|s| s.low).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_ends_at_round_figures_around_the_values() {
        let (bottom, top) = decades(23.0, 4100.0);
        assert!((bottom..23.0).contains(&20.0) && (4100.0..top).contains(&5000.0), "{bottom} to {top}");
        assert_eq!(ticks(bottom, top), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        let (bottom, top) = decades(7.0, 7.0);
        assert!(bottom < 5.0 && top > 10.0, "one value has an axis too: {bottom} to {top}");
        assert_eq!([0.05, 0.5, 20.0, 5000.0].map(tick), ["0.05", "0.5", "20", "5k"]);
    }
}
