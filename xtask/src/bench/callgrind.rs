//! Instructions of a server, counted by callgrind, for machines whose own counters cannot be read.

use super::contender::Contender;
use crate::Result;
use std::collections::HashMap;
use std::fs;
use std::ops::Sub;
use std::path::PathBuf;
use std::process::Command;

/// What the server is run under. Fair: else a thread that waits for its turn may wait for seconds.
pub const COMMAND: [&str; 5] = [
    "valgrind",
    "--tool=callgrind",
    "--fair-sched=yes",
    PIPES,
    "--callgrind-out-file=target/bench/servers/callgrind.%p",
];

/// Where the server is spoken to: by itself it would be in its own folder for temporary files.
const PIPES: &str = "--vgdb-prefix=target/bench/servers/vgdb";

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Instructions {
    pub all: u64,
    /// Those of the log's own functions, and of what they call: the part that a group can share.
    pub log: u64,
}

impl Sub for Instructions {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { all: self.all.saturating_sub(other.all), log: self.log.saturating_sub(other.log) }
    }
}

/// The instructions since this was asked last, or since the start.
pub fn instructions(server: &Contender) -> Result<Instructions> {
    let pid = server.pid().ok_or_else(|| format!("{} was not started here", server.name))?.to_string();
    let done = Command::new("callgrind_control").args([PIPES, "--dump", &pid]).output()?;
    if !done.status.success() {
        return Err(format!("callgrind_control: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    let dumps = dumps(&pid)?;
    if dumps.is_empty() {
        return Err(format!("no dump of callgrind: {}", String::from_utf8_lossy(&done.stdout)).into());
    }
    let mut sum = Instructions::default();
    for dump in dumps {
        let counted = read(&fs::read_to_string(&dump)?)?;
        sum = Instructions { all: sum.all + counted.all, log: sum.log + counted.log };
        // Each dump counts from the one before.
        fs::remove_file(dump)?;
    }
    Ok(sum)
}

/// `callgrind.PID.1` and so on; `callgrind.PID` itself is written at the end.
fn dumps(pid: &str) -> Result<Vec<PathBuf>> {
    let prefix = format!("callgrind.{pid}.");
    let files = fs::read_dir("target/bench/servers")?.collect::<std::io::Result<Vec<_>>>()?;
    let is_dump = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix));
    Ok(files.into_iter().map(|f| f.path()).filter(is_dump).collect())
}

/// In the names of the log's functions.
const LOG: &str = "binlog::log::";
/// In the names of what the log calls for others: row versions for the memtables, locks to release,
/// replies.
const FOR_OTHERS: [&str; 4] = ["storage::", "sql::", "server::", "FnOnce::call_once"];

/// Reads a dump: of each function (`fn=`) lines of an address and a cost, and of each that it calls
/// (`cfn=`, `calls=`) one line with all that those calls cost. A name is written once,
/// `(number) name`, and is its number from then on.
fn read(dump: &str) -> Result<Instructions> {
    let mut names = Names::default();
    let (mut function, mut callee, mut is_call) = ("", "", false);
    let mut counted = Instructions { all: totals(dump)?, log: 0 };
    for line in dump.lines() {
        if let Some(entry) = line.strip_prefix("fn=") {
            function = names.of(entry);
        } else if let Some(entry) = line.strip_prefix("cfn=") {
            callee = names.of(entry);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line.split_whitespace().nth(1).map_or(Ok(0), str::parse::<u64>)?;
            let is_own = !is_call || !callee.contains(LOG) && !FOR_OTHERS.iter().any(|o| callee.contains(o));
            if function.contains(LOG) && is_own {
                counted.log += cost;
            }
            is_call = false;
        }
    }
    Ok(counted)
}

fn totals(dump: &str) -> Result<u64> {
    let line = dump.lines().find_map(|l| l.strip_prefix("totals:"));
    let totals = line.and_then(|t| t.trim().parse().ok());
    totals.ok_or_else(|| "a dump of callgrind without totals".into())
}

/// Names of functions by their numbers.
#[derive(Default)]
struct Names<'a> {
    names: HashMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    fn of(&mut self, entry: &'a str) -> &'a str {
        match entry.split_once(' ') {
            Some((number, name)) if number.starts_with('(') => {
                self.names.insert(number, name);
                name
            }
            _ => self.names.get(entry).copied().unwrap_or(entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "\
positions: line
events: Ir
summary: 5000

fn=(1) sql::session::execute
10 700
cfn=(2) binlog::log::commit::<impl binlog::log::Shared>::take_turn
calls=2 20
+5 3000

fn=(2)
20 100
cfn=(3) binlog::log::order::stamp
calls=4 30
* 900
cfn=(4) <storage::engine::Apply as binlog::CommitHook>::ordered
calls=4 40
* 1500
cfn=(5) pwrite64
calls=1 50
+1 40

fn=(3)
fi=(9) vec.rs
30 600
-3 8

totals: 5000
";

    #[test]
    fn the_logs_part_is_its_own_functions_and_what_they_call_for_it() {
        assert_eq!(read(DUMP).unwrap(), Instructions { all: 5000, log: 100 + 40 + 600 + 8 });
        assert!(read("fn=(1) a\n1 2\n").is_err(), "without totals");
    }
}
