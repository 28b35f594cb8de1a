//! `cargo xtask docs`: the pages of docs/ as a book.
//!
//! 1. check  Each page stands in SUMMARY.md, no link leads nowhere or out of the book, and the
//!    source files and functions that pages name are there.
//! 2. build  mdBook makes the book, where it is installed; the pages are plain Markdown, and are
//!    read without it too.

use crate::Result;
use crate::tidy::{files_of, pages};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BOOK: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// Not of the book, but full of names.
const GUIDE: &str = "CONTRIBUTING.md";
/// Decisions and measurements name the code of their day.
const FROZEN: [&str; 2] = ["docs/decisions", "docs/benchmarks"];

/// Checks the book, then builds it.
pub fn run() -> Result<()> {
    let written = files_of(Path::new(BOOK), "md")?;
    let mut complaints = unlisted(&fs::read_to_string(SUMMARY)?, &written);
    for page in &written {
        let text = fs::read_to_string(page)?;
        complaints.extend(pages::links(page, &text));
        if !FROZEN.iter().any(|folder| page.starts_with(folder)) {
            complaints.extend(strays(page, &text));
            complaints.extend(missing_names(page, &text));
        }
    }
    let guide = Path::new(GUIDE);
    complaints.extend(missing_names(guide, &fs::read_to_string(guide)?));
    if !complaints.is_empty() {
        return Err(complaints.join("\n").into());
    }
    println!("{} pages: each is in {SUMMARY}, and what they link to and name is there", written.len());
    build()
}

/// Complains of pages that the book's table of contents lacks.
fn unlisted(summary: &str, written: &[PathBuf]) -> Vec<String> {
    let pages = written.iter().filter(|page| *page != Path::new(SUMMARY));
    let missing = pages.filter(|page| {
        let name = page.strip_prefix(BOOK).unwrap_or(page);
        !summary.contains(&format!("]({})", name.display()))
    });
    missing.map(|page| format!("{}: name it in {SUMMARY}", page.display())).collect()
}

/// Complains of links out of the book, which mdBook would turn into links to pages that it does not
/// make.
fn strays(page: &Path, text: &str) -> Vec<String> {
    let depth = page.components().count() - 1;
    let out = "../".repeat(depth);
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains(&format!("]({out}")));
    lines
        .map(|(i, _)| {
            format!(
                "{}:{}: the link leads out of the book: name the file in backticks",
                page.display(),
                i + 1
            )
        })
        .collect()
}

/// Complains of source files that are not there, and of functions, `name()`, that the file named
/// last before them in the same paragraph, list item or row lacks.
fn missing_names(page: &Path, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut source: Option<(&str, String)> = None;
    for (i, line) in text.lines().enumerate() {
        if begins_anew(line) {
            source = None;
        }
        for name in line.split('`').skip(1).step_by(2) {
            let location = format!("{}:{}", page.display(), i + 1);
            if is_source(name) {
                match fs::read_to_string(name) {
                    Ok(code) => source = Some((name, code)),
                    Err(_) => complaints.push(format!("{location}: no file {name} is there: mend the name")),
                }
            } else if let (Some(function), Some((file, code))) = (function_named(name), &source)
                && !["(", "<"].iter().any(|end| code.contains(&format!("fn {function}{end}")))
            {
                complaints.push(format!("{location}: {file} has no function {function}: mend the name"));
            }
        }
    }
    complaints
}

/// True for a blank line, a row, a list's item and a heading.
fn begins_anew(line: &str) -> bool {
    let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.trim().is_empty()
        || line.starts_with(['|', '-', '#'])
        || (item.len() < line.len() && item.starts_with(". "))
}

/// True for a path of a source file, from the repository's root.
fn is_source(name: &str) -> bool {
    let tops = ["crates/", "testing/", "xtask/", "fuzz/", "bench/"];
    tops.iter().any(|top| name.starts_with(top)) && name.ends_with(".rs") && !name.contains([' ', '*', '{'])
}

/// The function of `name()` or `Type::name()`.
fn function_named(name: &str) -> Option<&str> {
    let name = name.strip_suffix("()")?;
    let function = name.rsplit("::").next()?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!function.is_empty() && function.chars().all(is_name)).then_some(function)
}

fn build() -> Result<()> {
    let Ok(done) = Command::new("mdbook").args(["build", BOOK]).status() else {
        println!("no book was built: `cargo install mdbook --locked` installs mdbook");
        return Ok(());
    };
    if done.success() { Ok(()) } else { Err(format!("mdbook build {BOOK}: {done}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_the_summary_lacks_are_told() {
        let written = ["docs/SUMMARY.md", "docs/a.md", "docs/formats/b.md"].map(PathBuf::from);
        assert_eq!(unlisted("- [A](a.md)\n  - [B](formats/b.md)", &written), Vec::<String>::new());
        assert_eq!(unlisted("- [A](a.md)", &written), ["docs/formats/b.md: name it in docs/SUMMARY.md"]);
    }

    #[test]
    fn links_out_of_the_book_are_told() {
        assert_eq!(strays(Path::new("docs/formats/a.md"), "[b](../b.md)"), Vec::<String>::new());
        assert_eq!(strays(Path::new("docs/formats/a.md"), "x\n[b](../../README.md)").len(), 1);
        assert_eq!(strays(Path::new("docs/a.md"), "[b](../README.md)").len(), 1);
    }

    #[test]
    fn names_are_looked_for_in_the_file_named_before_them() {
        assert_eq!(function_named("Type::name()"), Some("name"));
        assert_eq!((function_named("NOW()"), function_named("name")), (None, None));
        assert!(
            is_source("crates/sql/src/lib.rs") && !is_source("lib.rs") && !is_source("crates/*/src/a.rs")
        );
        assert!(begins_anew("12. a") && begins_anew("") && !begins_anew("12 a") && !begins_anew("a. b"));
        let page = Path::new("docs/a.md");
        let missing = missing_names(page, "`name()` in `crates/nowhere.rs`, `name()`");
        assert_eq!(missing, ["docs/a.md:1: no file crates/nowhere.rs is there: mend the name"]);
    }
}
