//! `cargo xtask bench failover-times FILE ..`: draws how long nobody could write, from what runs of
//! `cargo xtask topologies failover` have printed, into `docs/benchmarks/failover-times.svg`.
//!
//! A row for each trouble, a dot for each time it happened, on a logarithmic axis.

use super::report::axis::{decades, tick, ticks};
use super::report::plot::{GRID, MARGIN, TITLE, WIDTH, text};
use crate::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeMap;
use std::path::Path;

/// Height of a row, in pixels, and where its dots begin.
const ROW: i32 = 44;
const LEFT: i32 = 250;
/// The least that is drawn, in milliseconds: how often the runs look.
const LEAST: f64 = 5.0;
const DOT: RGBColor = RGBColor(0x9a, 0x48, 0x1e);

/// Draws what these files have.
///
/// # Errors
/// A file can't be read, or none has a line of a trouble's times.
pub fn run(files: &[String]) -> Result<()> {
    let mut troubles = BTreeMap::<String, Vec<f64>>::new();
    for file in files {
        for (trouble, times) in times(&std::fs::read_to_string(file)?) {
            troubles.entry(trouble).or_default().extend(times);
        }
    }
    if troubles.is_empty() {
        return Err(
            "no file has lines such as `SourceKilled, ms: 510 498`: name what `topologies failover` has \
                    printed"
                .into(),
        );
    }
    let path = Path::new("docs/benchmarks/failover-times.svg");
    draw(&troubles, path)?;
    println!("wrote {}", path.display());
    for (trouble, times) in &mut troubles {
        times.sort_by(f64::total_cmp);
        let of = |part: usize| times[(times.len() - 1) * part / 100];
        println!("{trouble}: {} times, median {} ms, most {} ms", times.len(), of(50), of(100));
    }
    Ok(())
}

/// The times without a write, in milliseconds, of each trouble that a text has lines of.
fn times(text: &str) -> Vec<(String, Vec<f64>)> {
    let of_line = |line: &str| {
        let (trouble, times) = line.trim().split_once(", ms: ")?;
        let times: Option<Vec<f64>> = times.split(' ').map(|time| time.parse().ok()).collect();
        Some((trouble.to_owned(), times?))
    };
    text.lines().filter_map(of_line).collect()
}

/// `SourceCutOff` as people write it.
fn words(trouble: &str) -> String {
    let mut words = String::new();
    for letter in trouble.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

fn draw(troubles: &BTreeMap<String, Vec<f64>>, path: &Path) -> Result<()> {
    let all = || troubles.values().flatten().map(|time| time.max(LEAST));
    let (low, high) = decades(all().fold(f64::INFINITY, f64::min), all().fold(LEAST, f64::max));
    let right = WIDTH - 2 * MARGIN;
    let x_of = |time: f64| LEFT + ((time / low).ln() / (high / low).ln() * f64::from(right - LEFT)) as i32;
    let bottom = TITLE + ROW * i32::try_from(troubles.len())?;
    let size = (u32::try_from(WIDTH)?, u32::try_from(bottom + 50)?);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = "Three servers, semi-synchronous: how long nobody could write";
    root.draw(&Text::new(title, (MARGIN, 20), text(20, HPos::Left)))?;
    for time in ticks(low, high) {
        root.draw(&PathElement::new(vec![(x_of(time), TITLE), (x_of(time), bottom)], GRID))?;
        root.draw(&Text::new(tick(time / 1000.0), (x_of(time), bottom + 12), text(12, HPos::Center)))?;
    }
    root.draw(&Text::new("seconds", ((LEFT + right) / 2, bottom + 32), text(12, HPos::Center)))?;
    for (row, (trouble, times)) in (0..).zip(troubles) {
        let middle = TITLE + ROW * row + ROW / 2;
        let label = format!("{} ({})", words(trouble), times.len());
        root.draw(&Text::new(label, (LEFT - 14, middle), text(14, HPos::Right)))?;
        for (n, time) in (0..).zip(times) {
            // Equal times do not hide each other.
            let y = middle - ROW / 4 + n * 7 % (ROW / 2);
            root.draw(&Circle::new((x_of(time.max(LEAST)), y), 3, DOT.mix(0.6).filled()))?;
        }
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_of_the_lines_that_have_them() {
        let text =
            "failover: 60 s\n  SourceCutOff, ms: 1500 20\nPlanned: 2 times\nPlanned, ms: 7\nPlanned, ms: x\n";
        assert_eq!(times(text), [("SourceCutOff".into(), vec![1500.0, 20.0]), ("Planned".into(), vec![7.0])]);
        assert_eq!(words("SourceCutOff"), "source cut off");
    }
}
