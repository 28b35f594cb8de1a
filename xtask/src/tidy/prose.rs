//! Prose, in comments and pages, is wrapped at 100 columns. Tables, code and diagrams are as wide
//! as they are.

use std::path::Path;

/// How long a line of prose may be, in characters.
const COLUMNS_MAX: usize = 100;

/// Complains of lines of prose that are longer.
pub fn check(file: &Path, text: &str) -> Vec<String> {
    // A line of a book's table of contents is one of its pages.
    if file.ends_with("SUMMARY.md") {
        return Vec::new();
    }
    let is_page = file.extension().is_some_and(|e| e == "md");
    let (mut complaints, mut is_fenced) = (Vec::new(), false);
    for (i, line) in text.lines().enumerate() {
        let prose = if is_page { Some(line) } else { comment(line) };
        let Some(prose) = prose else {
            is_fenced = false;
            continue;
        };
        if prose.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && line.chars().count() > COLUMNS_MAX && is_prose(prose) {
            let name = file.display();
            complaints.push(format!("{name}:{}: wrap the line at {COLUMNS_MAX} columns", i + 1));
        }
    }
    complaints
}

/// What a line that is a comment says.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    let rest = rest.strip_prefix(['/', '!']).unwrap_or(rest);
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// True for what can be wrapped: no code, row of a table, heading, tag or diagram, and with a blank
/// to break at.
fn is_prose(text: &str) -> bool {
    let trimmed = text.trim();
    let is_other = text.starts_with("    ") || trimmed.starts_with(['|', '<', '#']) || trimmed.contains("  ");
    let mut is_code = false;
    let breaks = trimmed.chars().take(COLUMNS_MAX).any(|c| {
        is_code ^= c == '`';
        c == ' ' && !is_code
    });
    !is_other && breaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_alone_is_told() {
        let long = "word ".repeat(25);
        let is_told = |file: &str, text: &str| !check(Path::new(file), text).is_empty();
        assert!(is_told("a.md", &long) && is_told("a.rs", &format!("/// {long}")));
        assert!(!is_told("a.rs", &format!("let a = \"{long}\";")));
        for other in ["| ", "    ", "```\n", "# ", "<svg ", "a  b "] {
            assert!(!is_told("a.md", &format!("{other}{long}")), "{other}");
        }
        assert!(!is_told("a.md", &"x".repeat(120)) && !is_told("a.md", "a line"));
    }
}
