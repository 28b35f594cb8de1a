//! `cargo xtask compatibility`: asks the real server for every statement and function of the MySQL
//! manual, and writes the answers into `docs/compatibility-tables.md`, between its markers.
//!
//! The lists are `compatibility/functions.txt` and `compatibility/statements.txt`: a line has a
//! name and what is asked. Errors 1235, 1305 and 1064 mean "not yet"; any other error but the one
//! that a line expects makes the chore fail, for then the line asks the wrong thing.

use crate::{Result, packages};
use servers::{Launch, Running, ServerKind};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const FUNCTIONS: &str = include_str!("compatibility/functions.txt");
const STATEMENTS: &str = include_str!("compatibility/statements.txt");
const TABLES: &str = "docs/compatibility-tables.md";
const BEGIN: &str = "<!-- made by `cargo xtask compatibility` -->";
const END: &str = "<!-- end -->";

/// What every line finds.
const SETTING: &str = "\
DROP DATABASE IF EXISTS compatibility;
CREATE DATABASE compatibility;
USE compatibility;
CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(20), ts TIMESTAMP NULL);
CREATE TABLE u (id INT PRIMARY KEY, n INT);
INSERT INTO t VALUES (1, 10, 'a', NULL);
INSERT INTO u VALUES (1, 10);
";

/// Errors that mean that the server does not have it.
const NOT_YET: [u16; 3] = [1064, 1235, 1305];

/// A line of a list.
struct Probe<'t> {
    group: &'t str,
    name: &'t str,
    sql: &'t str,
    /// The error that a server gives that has it; 0 for none.
    expected: u16,
}

/// Runs the chore; `--profile NAME` chooses the server's build, `dev` unless it is said.
pub fn run(args: &[String]) -> Result<()> {
    packages::ensure(packages::FOR_TESTS)?;
    let profile = match args {
        [flag, profile] if flag == "--profile" => profile.as_str(),
        [] => "dev",
        _ => return Err("usage: cargo xtask compatibility [--profile NAME]".into()),
    };
    let build = ["build", "--profile", profile, "--bin", "duramen"];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        return Err("building the server failed".into());
    }
    let target = Path::new("target");
    let binary = target.join(if profile == "dev" { "debug" } else { profile }).join("duramen");
    let server = Launch::new(ServerKind::Duramen, &target.join("compatibility"))?.binary(binary).start()?;
    let mut text = String::new();
    let mut wrong = Vec::new();
    section(&server, "Functions and operators", FUNCTIONS, "SELECT ", &mut text, &mut wrong)?;
    section(&server, "Statements", STATEMENTS, "", &mut text, &mut wrong)?;
    server.stop()?;
    if !wrong.is_empty() {
        return Err(format!("these lines ask the wrong thing:\n{}", wrong.join("\n")).into());
    }
    rewrite(&text)
}

/// One list's tables.
fn section(
    server: &Running,
    title: &str,
    list: &str,
    prefix: &str,
    text: &mut String,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let probes = read(list)?;
    let mut rows = String::new();
    let mut known = 0;
    let mut group = "";
    for probe in &probes {
        if probe.group != group {
            group = probe.group;
            write!(rows, "\n### {group}\n\n| name | state |\n| --- | --- |\n")?;
        }
        let error = ask(server, &format!("{prefix}{}", probe.sql))?;
        let state = match error {
            _ if error == probe.expected => "yes",
            error if NOT_YET.contains(&error) => "not yet",
            error => {
                wrong.push(format!("{}: error {error}", probe.name));
                continue;
            }
        };
        known += usize::from(state == "yes");
        writeln!(rows, "| `{}` | {state} |", probe.name)?;
    }
    write!(text, "\n## {title}\n\n{known} of {} are there.\n{rows}", probes.len())?;
    Ok(())
}

fn read(list: &str) -> Result<Vec<Probe<'_>>> {
    let mut group = "";
    let mut probes = Vec::new();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            group = name;
        } else if !line.is_empty() && !line.starts_with("# ") {
            let (name, sql) = line.split_once(" | ").ok_or_else(|| format!("no ` | ` in `{line}`"))?;
            let (expected, sql) = match sql.strip_prefix('!').and_then(|rest| rest.split_once(' ')) {
                Some((number, sql)) => (number.parse()?, sql),
                None => (0, sql),
            };
            probes.push(Probe { group, name, sql, expected });
        }
    }
    Ok(probes)
}

/// The number of the error that the statements end with; 0 if they succeed.
fn ask(server: &Running, sql: &str) -> Result<u16> {
    // Statements of a function's body have semicolons of their own.
    let delimiter = if sql.contains("BEGIN ") && sql.starts_with("CREATE ") { "//" } else { ";" };
    let script = format!("{SETTING}DELIMITER {delimiter}\n{sql}{delimiter}\n");
    let mut client = server
        .client("mariadb")
        .arg("--batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    client.stdin.take().ok_or("the client has no input")?.write_all(script.as_bytes())?;
    let output = client.wait_with_output()?;
    if output.status.success() {
        return Ok(0);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let error = errors.lines().find_map(|line| line.strip_prefix("ERROR "));
    let number = error.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    let setting = SETTING.lines().count();
    let line = error.and_then(|rest| rest.split("at line ").nth(1)?.split(':').next()?.parse::<usize>().ok());
    if line.is_some_and(|line| line <= setting) {
        return Err(format!("the tables could not be made: {errors}").into());
    }
    number.ok_or_else(|| format!("`{sql}`: {errors}").into())
}

/// Puts the tables between the markers.
fn rewrite(tables: &str) -> Result<()> {
    let old = fs::read_to_string(TABLES)?;
    let (before, rest) = old.split_once(BEGIN).ok_or("the first marker is missing")?;
    let (_, after) = rest.split_once(END).ok_or("the second marker is missing")?;
    fs::write(TABLES, format!("{before}{BEGIN}\n{tables}\n{END}{after}"))?;
    println!("wrote {TABLES}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_well_formed() {
        for list in [FUNCTIONS, STATEMENTS] {
            let probes = read(list).unwrap();
            assert!(probes.len() > 100);
            let mut names: Vec<_> = probes.iter().map(|p| (p.group, p.name)).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "each name once in a group");
            assert!(probes.iter().all(|p| !p.group.is_empty() && !p.sql.is_empty()));
        }
    }
}
