//! Plots of distributions: values by the share of those that are not larger, a panel for each load.
//! The axis is logarithmic in what is left above, so that 99 and 99.9 % have room.

use super::super::workload::{Column, Curves};
use super::axis::{decades, tick, ticks};
use super::plot::{GRID, MARGIN, PANEL, TITLE, WIDTH, colour, text};
use crate::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::path::Path;

/// What is written at the axis, and the part of the values that is larger.
const SHARES: [(&str, f64); 5] =
    [("0 %", 1.0), ("50 %", 0.5), ("90 %", 0.1), ("99 %", 0.01), ("99.9 %", 0.001)];
/// Above the panels, and around the lines of one.
const HEAD: i32 = TITLE + 28;
const LEFT: i32 = 60;
const ABOVE: i32 = 34;
const BELOW: i32 = 30;
/// The smallest that is drawn: a logarithmic axis has no zero.
const LEAST: f64 = 0.1;

/// Draws them.
pub fn draw(curves: &Curves, path: &Path) -> Result<()> {
    let root = SVGBackend::new(path, (WIDTH as u32, u32::try_from(HEAD + PANEL)?)).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw(&Text::new(curves.title.clone(), (MARGIN, 20), text(20, HPos::Left)))?;
    let columns: Vec<Column> = curves
        .panels
        .first()
        .map_or(Vec::new(), |(_, lines)| lines.iter().map(|(column, _)| column.clone()).collect());
    let share = (WIDTH - 2 * MARGIN) / i32::try_from(columns.len().max(1))?;
    for (c, column) in columns.iter().enumerate() {
        let x = MARGIN + share * i32::try_from(c)?;
        root.draw(&Rectangle::new([(x, TITLE + 5), (x + 22, TITLE + 15)], colour(&columns, c).filled()))?;
        root.draw(&Text::new(column.label.clone(), (x + 28, TITLE + 11), text(14, HPos::Left)))?;
    }
    let width = WIDTH / i32::try_from(curves.panels.len().max(1))?;
    let range = range(curves);
    for (n, (heading, lines)) in curves.panels.iter().enumerate() {
        let panel = Frame { left: width * i32::try_from(n)? + LEFT, width: width - LEFT - MARGIN, range };
        panel.draw_axes(&root, heading)?;
        for (c, (_, values)) in lines.iter().enumerate() {
            let line = panel.line(values);
            root.draw(&PathElement::new(line, colour(&columns, c).stroke_width(2)))?;
        }
    }
    root.present()?;
    Ok(())
}

/// Around all values of all panels, so that they can be compared.
fn range(curves: &Curves) -> (f64, f64) {
    let all = || curves.panels.iter().flat_map(|(_, lines)| lines.iter().flat_map(|(_, values)| values));
    let low = all().copied().fold(f64::INFINITY, f64::min).max(LEAST);
    let high = all().copied().fold(LEAST, f64::max);
    decades(low.min(high), high)
}

/// Where a panel's lines are.
struct Frame {
    left: i32,
    width: i32,
    range: (f64, f64),
}

impl Frame {
    /// From the part of the values that is larger.
    fn x_of(&self, larger: f64) -> i32 {
        let least = SHARES[SHARES.len() - 1].1;
        self.left + (larger.max(least).ln() / least.ln() * f64::from(self.width)) as i32
    }

    fn y_of(&self, value: f64) -> i32 {
        let (low, high) = self.range;
        let share = (value.clamp(low, high) / low).ln() / (high / low).ln();
        let height = PANEL - ABOVE - BELOW;
        HEAD + ABOVE + height - (share * f64::from(height)) as i32
    }

    /// Of values in rising order.
    fn line(&self, values: &[f64]) -> Vec<(i32, i32)> {
        let all = values.len() as f64;
        let point = |(n, value): (usize, &f64)| (self.x_of((all - n as f64) / all), self.y_of(*value));
        let mut line: Vec<(i32, i32)> = values.iter().enumerate().map(point).collect();
        // Of many values that lie on one pixel's column one is enough: the largest.
        line.reverse();
        line.dedup_by_key(|(x, _)| *x);
        line
    }

    fn draw_axes<D: DrawingBackend>(
        &self,
        root: &DrawingArea<D, plotters::coord::Shift>,
        heading: &str,
    ) -> Result<()>
    where
        D::ErrorType: 'static,
    {
        let (low, high) = self.range;
        let (top, bottom) = (HEAD + ABOVE, HEAD + PANEL - BELOW);
        let middle = (self.left + self.width / 2, HEAD + 18);
        root.draw(&Text::new(heading.to_owned(), middle, text(15, HPos::Center)))?;
        for (label, larger) in SHARES {
            let x = self.x_of(larger);
            root.draw(&PathElement::new(vec![(x, top), (x, bottom)], GRID))?;
            root.draw(&Text::new(label, (x, bottom + 12), text(12, HPos::Center)))?;
        }
        for value in ticks(low, high) {
            let y = self.y_of(value);
            root.draw(&PathElement::new(vec![(self.left, y), (self.left + self.width, y)], GRID))?;
            root.draw(&Text::new(tick(value), (self.left - 6, y), text(12, HPos::Right)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_to_the_right() {
        let frame = Frame { left: 60, width: 400, range: (1.0, 100.0) };
        let mut line = frame.line(&[1.0, 2.0, 5.0, 20.0, 100.0]);
        line.reverse();
        assert!(line.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1), "{line:?}");
        assert_eq!(frame.x_of(0.5), frame.line(&[1.0, 1.0])[0].0);
        assert_eq!(frame.x_of(0.0), 460, "what is beyond the axis is at its end");
    }
}
