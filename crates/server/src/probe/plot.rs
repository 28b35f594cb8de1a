//! Rates over clients on log axes, for the terminal and as SVG.

use crate::charts::{Field, Point, number};
use std::fmt::Write as _;

/// The plot in the terminal, in characters.
const COLUMNS: usize = 64;
const LINES: usize = 17;
/// The SVG's field inside its labels, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 50.0;
/// The colours of predicted lines, and of what was measured.
const COLOURS: [&str; 3] = ["#8a4b2a", "#c98b2f", "#5b7f95"];
const MEASURED: &str = "#222222";

/// A rate that so many clients reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateAt {
    pub(super) clients: f64,
    /// Commits per second.
    pub(super) rate: f64,
}

/// A line of the plot.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) label: String,
    /// Its points in the terminal.
    pub(super) mark: char,
    /// Ascending by clients.
    pub(super) points: Vec<RateAt>,
    /// Points only, and no line between them.
    pub(super) is_measured: bool,
}

/// Both axes' ends, which are powers: of 2 for clients, of 10 for rates.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axes {
    clients: (f64, f64),
    rates: (f64, f64),
}

impl Axes {
    fn of(lines: &[Line]) -> Self {
        let points = || lines.iter().flat_map(|line| &line.points);
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
        };
        let clients = ends(&mut points().map(|p| p.clients.max(1.0).log2()));
        let rates = ends(&mut points().map(|p| p.rate.max(0.1).log10()));
        let apart = |(low, high): (f64, f64)| {
            if low > high { (0.0, 1.0) } else { (low.floor(), high.ceil().max(low.floor() + 1.0)) }
        };
        Self { clients: apart(clients), rates: apart(rates) }
    }

    fn scaled(&self, RateAt { clients, rate }: RateAt) -> Point {
        let part = |value: f64, (low, high): (f64, f64)| ((value - low) / (high - low)).clamp(0.0, 1.0);
        Point { x: part(clients.max(1.0).log2(), self.clients), y: part(rate.max(0.1).log10(), self.rates) }
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.rates.0 as i32..=self.rates.1 as i32).map(|power| 10_f64.powi(power))
    }

    fn doublings(&self) -> impl Iterator<Item = f64> {
        (self.clients.0 as i32..=self.clients.1 as i32).map(|power| 2_f64.powi(power))
    }
}

/// The plot in characters, with a legend.
pub(super) fn text(lines: &[Line]) -> String {
    let axes = Axes::of(lines);
    let mut field = Field::new(COLUMNS, LINES);
    for line in lines.iter().filter(|line| !line.is_measured) {
        between(&line.points).for_each(|point| field.put(axes.scaled(point), '.'));
    }
    for line in lines {
        line.points.iter().for_each(|&point| field.put(axes.scaled(point), line.mark));
    }
    let mut out = String::from("commits per second over clients\n");
    let cell = |point| field.cell(axes.scaled(point));
    let line_of = |rate| cell(RateAt { clients: 1.0, rate }).line;
    let rate = |line| axes.decades().find(|&rate| line_of(rate) == line).map(number).unwrap_or_default();
    let column_of = |clients| cell(RateAt { clients, rate: 1.0 }).column;
    let clients = axes.doublings().step_by(2).map(|clients| (column_of(clients), format!("{clients}")));
    field.write(rate, &clients.collect::<Vec<_>>(), &mut out);
    for line in lines {
        let _ = writeln!(out, "{:>12} {}", line.mark, line.label);
    }
    out.truncate(out.trim_end().len());
    out
}

/// Points between those of a line, straight on log axes, one for each column of the terminal.
fn between(points: &[RateAt]) -> impl Iterator<Item = RateAt> {
    points.windows(2).flat_map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        (0..=COLUMNS).map(move |step| {
            let part = step as f64 / COLUMNS as f64;
            let on_way = |from: f64, to: f64| from * (to / from).powf(part);
            RateAt { clients: on_way(from.clients, to.clients), rate: on_way(from.rate, to.rate) }
        })
    })
}

/// The plot as an SVG file's content.
pub(super) fn svg(lines: &[Line]) -> String {
    let axes = Axes::of(lines);
    let at = |point| {
        let Point { x, y } = axes.scaled(point);
        (LEFT + x * WIDTH, TOP + (1.0 - y) * HEIGHT)
    };
    let (width, bottom) = (LEFT + WIDTH + 30.0, TOP + HEIGHT);
    let height = bottom + 65.0 + 22.0 * lines.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"18\">Commits per second over clients</text>\n"
    );
    for rate in axes.decades() {
        let (y, x) = (at(RateAt { clients: 1.0, rate }).1, LEFT + WIDTH);
        let _ = writeln!(out, "<path d=\"M{LEFT} {y:.1}H{x}\" stroke=\"#dddddd\"/>");
        let (x, y, text) = (LEFT - 8.0, y + 5.0, number(rate));
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>");
    }
    for clients in axes.doublings() {
        let (x, y) = (at(RateAt { clients, rate: 1.0 }).0, bottom + 22.0);
        let _ = writeln!(out, "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#eeeeee\"/>");
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{clients}</text>");
    }
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888888\"/>"
    );
    for (i, line) in lines.iter().enumerate() {
        let colour = if line.is_measured { MEASURED } else { COLOURS[i % COLOURS.len()] };
        let places: Vec<_> = line.points.iter().map(|&point| at(point)).collect();
        if !line.is_measured {
            let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let path = path.join(" ");
            let _ = writeln!(
                out,
                "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"/>"
            );
        }
        let legend = bottom + 52.0 + 22.0 * i as f64;
        let fill = if line.is_measured { "white" } else { colour };
        for (x, y) in places.into_iter().chain([(LEFT + 6.0, legend - 5.0)]) {
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            );
        }
        let _ = writeln!(out, "<text x=\"{}\" y=\"{legend}\">{}</text>", LEFT + 20.0, line.label);
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let line = |label: &str, mark, points: &[(f64, f64)], is_measured| Line {
            label: label.into(),
            mark,
            points: points.iter().map(|&(clients, rate)| RateAt { clients, rate }).collect(),
            is_measured,
        };
        vec![
            line("predicted", '*', &[(1.0, 50.0), (16.0, 800.0), (256.0, 9000.0)], false),
            line("measured", 'M', &[(1.0, 40.0)], true),
        ]
    }

    #[test]
    fn axes_end_at_powers() {
        assert_eq!(Axes::of(&lines()), Axes { clients: (0.0, 8.0), rates: (1.0, 4.0) });
        assert_eq!(Axes::of(&[]), Axes { clients: (0.0, 1.0), rates: (0.0, 1.0) });
    }

    #[test]
    fn the_terminal_has_each_point_and_the_legend() {
        let text = text(&lines());
        assert_eq!(text.matches('*').count(), 4, "{text}");
        assert!(text.contains("    10,000 |") && text.contains("M measured"), "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS + 16), "{text}");
        assert!(super::text(&[]).starts_with("commits per second"));
    }

    #[test]
    fn the_svg_has_each_point_and_no_line_through_what_was_measured() {
        let svg = svg(&lines());
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (1, 6));
        assert!(svg.ends_with("</svg>\n"));
    }
}
