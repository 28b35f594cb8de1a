//! Charts in the terminal: a field of characters with labels next to it and below it, and bars.

use std::fmt::Write as _;

/// A point of a [`Field`]: 0 is left and bottom, 1 right and top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A character of a [`Field`]; lines count from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) line: usize,
}

/// A field that marks are put into.
pub(crate) struct Field {
    columns: usize,
    lines: usize,
    cells: Vec<Vec<char>>,
}

impl Field {
    /// An empty field of so many steps from corner to corner.
    pub(crate) fn new(columns: usize, lines: usize) -> Self {
        Self { columns, lines, cells: vec![vec![' '; columns + 1]; lines + 1] }
    }

    /// Where a point is.
    pub(crate) fn cell(&self, Point { x, y }: Point) -> Cell {
        let column = (x.clamp(0.0, 1.0) * self.columns as f64).round() as usize;
        Cell { column, line: self.lines - (y.clamp(0.0, 1.0) * self.lines as f64).round() as usize }
    }

    pub(crate) fn put(&mut self, point: Point, mark: char) {
        let Cell { column, line } = self.cell(point);
        if let Some(cell) = self.cells.get_mut(line).and_then(|l| l.get_mut(column)) {
            *cell = mark;
        }
    }

    /// A mark in each line from the bottom up to the point.
    pub(crate) fn put_bar(&mut self, point: Point, mark: char) {
        let Cell { column, line: top } = self.cell(point);
        for line in self.cells.iter_mut().skip(top) {
            if let Some(cell) = line.get_mut(column) {
                *cell = mark;
            }
        }
    }

    /// Appends the field: `label` says what stands beside a line, `below` what stands under a
    /// column.
    pub(crate) fn write(&self, label: impl Fn(usize) -> String, below: &[(usize, String)], out: &mut String) {
        for (i, line) in self.cells.iter().enumerate() {
            let line: String = line.iter().collect();
            let _ = writeln!(out, "{:>10} |{}", label(i), line.trim_end());
        }
        let mut under = vec![' '; self.columns + 4];
        for (column, text) in below {
            for (i, character) in text.chars().enumerate() {
                if let Some(cell) = under.get_mut(column + i) {
                    *cell = character;
                }
            }
        }
        let under: String = under.into_iter().collect();
        let _ = writeln!(out, "{:>10} +{}\n{:>12}{}", "", "-".repeat(self.columns + 1), "", under.trim_end());
    }
}

/// Appends a bar for each label and count, the longest `width` characters long. A count that is not
/// 0 has a bar.
pub(crate) fn write_bars(bars: &[(String, u64)], width: usize, out: &mut String) {
    let most = bars.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1);
    let labels = bars.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    for (label, n) in bars {
        let length = (u128::from(*n) * width as u128).div_ceil(u128::from(most)) as usize;
        let bar = "#".repeat(length);
        let space = if length > 0 { " " } else { "" };
        let _ = writeln!(out, "{label:>labels$} |{bar}{space}{}", commas(*n));
    }
}

/// A count with commas between thousands.
pub(crate) fn commas(value: u64) -> String {
    group_digits(&value.to_string())
}

/// A value to three digits, for more are not meant, with commas between thousands.
pub(crate) fn number(value: f64) -> String {
    let step = 10_f64.powf(value.max(1.0).log10().floor() - 2.0).max(if value < 10.0 { 0.1 } else { 1.0 });
    let rounded = (value / step).round() * step;
    if value < 9.95 { format!("{rounded:.1}") } else { group_digits(&format!("{rounded:.0}")) }
}

fn group_digits(digits: &str) -> String {
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_are_meant() {
        let check = |value, expected: &str| assert_eq!(number(value), expected);
        check(0.0, "0.0");
        check(4.44, "4.4");
        check(9.99, "10");
        check(49.75, "50");
        check(1234.4, "1,230");
        check(1_234_567.0, "1,230,000");
        assert_eq!(commas(1_234_567), "1,234,567");
        assert_eq!(commas(123), "123");
    }

    #[test]
    fn marks_are_where_they_are_put() {
        let mut field = Field::new(4, 2);
        field.put(Point { x: 0.0, y: 1.0 }, 'a');
        field.put(Point { x: 1.0, y: 0.0 }, 'b');
        field.put(Point { x: 7.0, y: -3.0 }, 'c');
        field.put_bar(Point { x: 0.5, y: 0.5 }, '#');
        let mut out = String::new();
        field.write(|line| line.to_string(), &[(0, "x".into()), (4, "yz".into())], &mut out);
        let expected = [
            "         0 |a",
            "         1 |  #",
            "         2 |  # c",
            "           +-----",
            "            x   yz",
        ];
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bars_go_by_the_longest() {
        let mut out = String::new();
        write_bars(&[("a".into(), 4000), ("bc".into(), 0), ("d".into(), 1)], 10, &mut out);
        assert_eq!(out, " a |########## 4,000\nbc |0\n d |# 1\n");
    }
}
