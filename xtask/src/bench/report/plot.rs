//! Plots: lines over the number of clients where a table is made of them, bars elsewhere.

use super::super::results::{Line, Sample, Spread, Table};
use super::super::workload::{Column, Durability, Who, Workload};
use super::axis::{decades, tick, ticks};
use super::{figure, title};
use crate::Result;
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
pub const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
const LIMIT: RGBColor = RGBColor(0xc4, 0xc4, 0xc4);

/// Draws a table.
pub fn draw(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    if table.part.is_over_threads() {
        draw_lines(workload, table, path)
    } else {
        draw_bars(workload, table, path)
    }
}

/// A server's own colour, dark at full durability and where it is alone, else lighter.
pub fn colour(columns: &[Column], column: usize) -> RGBColor {
    const DURAMEN: [RGBColor; 2] = [RGBColor(0x9a, 0x48, 0x1e), RGBColor(0xd9, 0x9a, 0x6c)];
    const MARIADB: [RGBColor; 2] = [RGBColor(0x1f, 0x5a, 0x96), RGBColor(0x7f, 0xb2, 0xdd)];
    const WITHOUT_LOG: [RGBColor; 2] = [RGBColor(0x3c, 0x7d, 0x5a), RGBColor(0x97, 0xc7, 0xa4)];
    const PEERS: [RGBColor; 4] = [
        RGBColor(0x6d, 0x45, 0x90),
        RGBColor(0xb4, 0x97, 0xcf),
        RGBColor(0x55, 0x5b, 0x63),
        RGBColor(0xa0, 0xa6, 0xad),
    ];
    let Column { who, durability, .. } = columns[column];
    let is_alone = columns.iter().filter(|c| c.who == who).count() == 1;
    let shade = usize::from(!is_alone && durability != Durability::FULL);
    match who {
        Who::Duramen | Who::DuramenCounted => DURAMEN[shade],
        Who::MariaDb => MARIADB[shade],
        Who::MariaDbWithoutLog => WITHOUT_LOG[shade],
        Who::MySql { workers } => PEERS[2 * usize::from(workers < 8) + shade],
        Who::Peer(n) => PEERS[(2 * n + shade) % 4],
    }
}

/// Text of this size, in the middle of its line.
pub fn text(size: u32, horizontal: HPos) -> TextStyle<'static> {
    TextStyle::from((FONT, size).into_font()).pos(Pos::new(horizontal, VPos::Center))
}

pub const WIDTH: i32 = 1000;
pub const MARGIN: i32 = 16;
/// Above the first row of what the colours mean, each of these rows, and below the last.
pub const TITLE: i32 = 40;
const KEY: i32 = 20;
const BELOW_KEYS: i32 = 8;

/// What a text of this size takes, about; fonts differ.
fn width(text: &str, size: i32) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(WIDTH) * size / 2
}

/// What the colours mean: where each column's label is, in rows as wide as the picture; and how
/// high they are with the title.
fn keys(table: &Table) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (MARGIN, TITLE);
    let mut places = Vec::new();
    for column in &table.part.columns {
        let taken = 52 + width(&column.label, 14);
        if x > MARGIN && x + taken > WIDTH {
            (x, y) = (MARGIN, y + KEY);
        }
        places.push((x, y));
        x += taken;
    }
    (places, y + KEY + BELOW_KEYS)
}

/// The title, what is 1 and what the colours mean; what is left below.
fn head<'a>(root: &Area<'a>, workload: &dyn Workload, table: &Table) -> Result<Area<'a>> {
    root.fill(&WHITE)?;
    let (places, height) = keys(table);
    let (above, below) = root.split_vertically(height);
    above.draw(&Text::new(title(workload, &table.part), (MARGIN, 20), text(20, HPos::Left)))?;
    if let Some(base) = &table.base {
        let said = format!("1 is {base}");
        above.draw(&Text::new(said, (WIDTH - MARGIN, 21), text(13, HPos::Right)))?;
    }
    for (c, (x, y)) in places.into_iter().enumerate() {
        let colour = colour(&table.part.columns, c);
        above.draw(&Rectangle::new([(x, y + 5), (x + 22, y + 15)], colour.filled()))?;
        let label = table.part.columns[c].label.clone();
        above.draw(&Text::new(label, (x + 28, y + 11), text(14, HPos::Left)))?;
    }
    Ok(below)
}

/// How high a panel is.
pub const PANEL: i32 = 340;

/// A panel of lines: each figure of each column over the number of clients.
struct Panel {
    caption: String,
    /// The first is drawn as a line, the second dashed.
    figures: Vec<fn(&Sample) -> Option<f64>>,
    /// For each client, drawn grey.
    limit: Option<f64>,
}

fn panels(workload: &dyn Workload, table: &Table) -> Vec<Panel> {
    let limit = workload.limit(table);
    let in_ms = if table.base.is_some() { "" } else { ", milliseconds" };
    vec![
        Panel {
            caption: format!(
                "{}{}",
                workload.unit(),
                if limit.is_some() { "; grey: clients ÷ flush time" } else { "" }
            ),
            figures: vec![|s| Some(s.per_second)],
            limit,
        },
        Panel {
            caption: format!("Time of each{in_ms}: median, and 99th percentile (dashed)"),
            figures: vec![|s| s.latency.map(|l| l.p50), |s| s.latency.map(|l| l.p99)],
            limit: None,
        },
        Panel {
            caption: "Transactions for each flush, and in a group of the log (dashed)".into(),
            figures: vec![|s| s.per_flush, |s| s.group_size],
            limit: None,
        },
        Panel { caption: format!("Time of a flush{in_ms}"), figures: vec![|s| s.flush_ms], limit: None },
    ]
}

fn draw_lines(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    let height = keys(table).1 + 2 * PANEL;
    let root = SVGBackend::new(path, (WIDTH as u32, u32::try_from(height)?)).into_drawing_area();
    let below = head(&root, workload, table)?;
    for (area, panel) in below.split_evenly((2, 2)).iter().zip(panels(workload, table)) {
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
    of: &'static str,
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
        Some(Self { threads, left, right, bottom, top, ticks: ticks(bottom, top), of: table.part.axis })
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
    Ok(area.draw(&Text::new(axes.of, (x_at, y_at + 27), text(12, HPos::Center)))?)
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

/// A point of the whole picture as one of the area.
fn area_of(area: &Area<'_>, (x, y): (i32, i32)) -> (i32, i32) {
    let (left, top) = area.get_base_pixel();
    (x - left, y - top)
}

const BAR: i32 = 18;
const GAP: i32 = 14;

/// Of the longest bar.
const LONGEST: i32 = 600;
/// Bars that differ by a larger factor are on a logarithmic axis.
const LINEAR: f64 = 40.0;

/// From values to pixels.
struct Scale {
    left: i32,
    longest: i32,
    /// Ends of a logarithmic axis, or the value of the longest bar.
    range: (f64, f64),
    is_logarithmic: bool,
}

impl Scale {
    fn of(table: &Table, left: i32) -> Self {
        let (low, high) = (lowest(&table.lines), highest(&table.lines));
        let is_logarithmic = high / low > LINEAR;
        // The shortest bar can be seen too.
        let range = if is_logarithmic { decades(low / 1.3, high) } else { (0.0, high) };
        Self { left, longest: LONGEST.min(WIDTH - left - 90), range, is_logarithmic }
    }

    fn x_of(&self, value: f64) -> i32 {
        let (low, high) = self.range;
        let share = if self.is_logarithmic { (value / low).ln() / (high / low).ln() } else { value / high };
        self.left + (share * f64::from(self.longest)) as i32
    }

    /// Lines that help to read it: round figures of a logarithmic one, and what is 1.
    fn draw(&self, area: &Area<'_>, table: &Table, height: i32) -> Result<()> {
        let line = |value: f64| vec![(self.x_of(value), 4), (self.x_of(value), height)];
        if self.is_logarithmic {
            for value in ticks(self.range.0, self.range.1) {
                area.draw(&PathElement::new(line(value), GRID))?;
                area.draw(&Text::new(tick(value), (self.x_of(value), height + 8), text(12, HPos::Center)))?;
            }
        }
        if table.base.is_some() {
            area.draw(&PathElement::new(line(1.0), LIMIT.stroke_width(1)))?;
        }
        Ok(())
    }
}

/// Groups of bars: the rates of each line's columns, with the spread of the rounds.
fn draw_bars(workload: &dyn Workload, table: &Table, path: &Path) -> Result<()> {
    let columns = table.part.columns.len();
    let group = BAR * i32::try_from(columns)? + GAP;
    let bars = 10 + group * i32::try_from(table.lines.len())?;
    let height = keys(table).1 + bars + 40;
    let root = SVGBackend::new(path, (WIDTH as u32, u32::try_from(height)?)).into_drawing_area();
    let below = head(&root, workload, table)?;
    let left = MARGIN + 8 + table.lines.iter().map(|l| width(&l.label, 14)).max().unwrap_or(0);
    let scale = Scale::of(table, left);
    scale.draw(&below, table, bars)?;
    for (l, line) in table.lines.iter().enumerate() {
        let top = 10 + group * i32::try_from(l)?;
        let middle = top + (group - GAP) / 2;
        below.draw(&Text::new(line.label.clone(), (left - 8, middle), text(14, HPos::Right)))?;
        for c in 0..columns {
            let Some(rate) = line.spread(c, |s| Some(s.per_second)) else { continue };
            let y = top + BAR * i32::try_from(c)?;
            draw_bar(&below, &scale, rate, y, colour(&table.part.columns, c))?;
        }
    }
    let logarithmic = if scale.is_logarithmic { ", on a logarithmic axis" } else { "" };
    let unit = format!("{}{logarithmic}", workload.unit());
    below.draw(&Text::new(unit, (left, bars + 26), text(13, HPos::Left)))?;
    root.present()?;
    Ok(())
}

fn draw_bar(area: &Area<'_>, scale: &Scale, rate: Spread, top: i32, colour: RGBColor) -> Result<()> {
    let middle = top + BAR / 2;
    let bar = [(scale.left, top + 2), (scale.x_of(rate.median), top + BAR - 2)];
    area.draw(&Rectangle::new(bar, colour.filled()))?;
    let (low, high) = (scale.x_of(rate.low), scale.x_of(rate.high));
    area.draw(&PathElement::new(vec![(low, middle), (high, middle)], BLACK.stroke_width(1)))?;
    Ok(area.draw(&Text::new(figure(rate.median), (high + 6, middle), text(13, HPos::Left)))?)
}

fn rates(lines: &[Line]) -> impl Iterator<Item = Spread> {
    let of_line =
        |l: &Line| (0..l.cells.len()).filter_map(|c| l.spread(c, |s| Some(s.per_second))).collect::<Vec<_>>();
    lines.iter().flat_map(of_line).filter(|s| s.low > 0.0)
}

fn highest(lines: &[Line]) -> f64 {
    rates(lines).map(|s| s.high).fold(f64::MIN_POSITIVE, f64::max)
}

fn lowest(lines: &[Line]) -> f64 {
    rates(lines).map(|s| s.low).fold(f64::INFINITY, f64::min)
}
