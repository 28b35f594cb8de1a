//! What came of the applications, as a table, and a second one of the statements that failed.

use super::Outcome;
use super::catalogue::Application;
use super::recorder::Failure;
use crate::Result;
use std::fmt;
use std::fs;

const PAGE: &str = "docs/compatibility.md";
const BEGIN: &str = "<!-- made by `cargo xtask applications` -->";
const END: &str = "<!-- end of the applications -->";
const HEADING: &str = "\
| application | version | exercised | result | statements | migration's time, MySQL's is 1 |
| --- | --- | --- | --- | --- | --- |";
const FAILURES: &str = "\
| error | application | message | statement |
| --- | --- | --- | --- |";
/// Characters of a statement that are shown.
const SHOWN: usize = 160;

/// An application's row of the table, and those of the statements that failed.
#[derive(Debug)]
pub struct Row {
    title: String,
    row: String,
    failed: Vec<String>,
}

impl Row {
    /// `there` is what it did on MySQL.
    pub fn new(application: &Application, version: String, here: &Outcome, there: Option<&Outcome>) -> Self {
        let failures: Vec<&Failure> = match there {
            Some(there) => {
                here.failures.iter().filter(|f| !there.failures.iter().any(|t| alike(f, t))).collect()
            }
            None => here.failures.iter().collect(),
        };
        let difference = there.and_then(|there| difference(&here.printed, &there.printed));
        let why = |said: &str| match failures.last() {
            Some(failure) => format!("{} ({})", shown(&failure.message), failure.error),
            None => shown(said),
        };
        let result = match (&here.stopped, there.and_then(|t| t.stopped.as_ref()), difference) {
            (Some(_), Some(_), _) => "stops, on MySQL too".to_owned(),
            (Some(said), None, _) => format!("stops: {}", why(said)),
            (None, Some(said), _) => format!("runs, not on MySQL: {}", shown(said)),
            (None, _, Some(lines)) => format!("differs: {lines}"),
            (None, _, None) if !failures.is_empty() => format!("runs; {} statements fail", failures.len()),
            (None, None, None) if there.is_some() => "runs, as on MySQL".to_owned(),
            (None, None, None) => "runs".to_owned(),
        };
        let ratio = there.map_or_else(
            || "-".to_owned(),
            |there| format!("{:.1}", here.migration.as_secs_f64() / there.migration.as_secs_f64()),
        );
        let row = format!(
            "| {} | {version} | {} | {result} | {} | {ratio} |",
            application.title, application.used, here.statements
        );
        let mut failed: Vec<String> = failures
            .iter()
            .map(|f| {
                let (message, statement) = (shown(&f.message), shown(&f.statement));
                format!("| {} | {} | {message} | `{statement}` |", f.error, application.title)
            })
            .collect();
        failed.dedup();
        Self { title: application.title.to_owned(), row, failed }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.row, self.failed.join("\n"))
    }
}

/// Puts the rows between the markers; rows of applications that were not run stay.
pub fn write(rows: &[Row]) -> Result<()> {
    let old = fs::read_to_string(PAGE)?;
    let (before, rest) = old.split_once(BEGIN).ok_or("the first marker is missing")?;
    let (block, after) = rest.split_once(END).ok_or("the second marker is missing")?;
    let (table, list) = merged(block, rows);
    let list = if list.is_empty() {
        "No statement failed that MySQL takes.".to_owned()
    } else {
        format!("Statements that fail here only:\n\n{FAILURES}\n{}", list.join("\n"))
    };
    let table = table.join("\n");
    fs::write(PAGE, format!("{before}{BEGIN}\n\n{HEADING}\n{table}\n\n{list}\n\n{END}{after}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// The rows of both tables, in the catalogue's order.
fn merged(block: &str, rows: &[Row]) -> (Vec<String>, Vec<String>) {
    let (mut table, mut failures) = (Vec::new(), Vec::new());
    for application in super::APPLICATIONS {
        let title = application.title;
        if let Some(row) = rows.iter().find(|r| r.title == title) {
            table.push(row.row.clone());
            failures.extend(row.failed.iter().cloned());
            continue;
        }
        table.extend(block.lines().find(|l| l.starts_with(&format!("| {title} |"))).map(str::to_owned));
        let of_it = |line: &&str| line.split(" | ").nth(1) == Some(title);
        failures.extend(block.lines().filter(of_it).map(str::to_owned));
    }
    (table, failures)
}

/// True if two failures are of one statement, numbers and generated names aside.
fn alike(one: &Failure, other: &Failure) -> bool {
    one.error == other.error && outline(&one.statement) == outline(&other.statement)
}

fn outline(statement: &str) -> String {
    statement.chars().filter(|c| !c.is_ascii_hexdigit()).take(80).collect()
}

/// The first lines that differ.
fn difference(here: &[String], there: &[String]) -> Option<String> {
    let empty = String::new();
    (0..here.len().max(there.len())).find_map(|n| {
        let (here, there) = (here.get(n).unwrap_or(&empty), there.get(n).unwrap_or(&empty));
        (here != there).then(|| format!("`{}`, on MySQL `{}`", shown(here), shown(there)))
    })
}

/// On one line, without comments, shortened, as a cell of a table takes it.
fn shown(text: &str) -> String {
    let mut uncommented = text.to_owned();
    while let Some((begin, end)) =
        uncommented.find("/* ").and_then(|b| Some((b, b + uncommented[b..].find("*/")? + 2)))
    {
        uncommented.replace_range(begin..end, "");
    }
    let words =
        uncommented.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('`', "'");
    if words.chars().count() <= SHOWN {
        return words;
    }
    format!("{} ..", words.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_applications_that_were_not_run_stay() {
        let (first, second) = (super::super::APPLICATIONS[0].title, super::super::APPLICATIONS[1].title);
        let failed = format!("| 1235 | {second} | no | `x` |");
        let block = format!("| {second} | old |\n| {first} | old |\n\n{failed}\n| 1 | {first} | no | `x` |");
        let new = Row { title: first.into(), row: "new".into(), failed: Vec::new() };
        let (table, failures) = merged(&block, &[new]);
        assert_eq!(table, ["new".to_owned(), format!("| {second} | old |")]);
        assert_eq!(failures, [failed]);
    }

    #[test]
    fn failures_are_alike_but_for_generated_names() {
        let failure =
            |error, statement: &str| Failure { error, message: String::new(), statement: statement.into() };
        assert!(alike(
            &failure(1062, "INSERT INTO u VALUES ('9af1')"),
            &failure(1062, "INSERT INTO u VALUES ('77b')")
        ));
        assert!(!alike(&failure(1062, "INSERT INTO u"), &failure(1062, "UPDATE u")));
        assert!(!alike(&failure(1062, "INSERT INTO u"), &failure(1064, "INSERT INTO u")));
    }
}
