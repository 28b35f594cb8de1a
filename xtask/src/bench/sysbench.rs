//! sysbench 1.0's bundled tests for databases: prepare, run with several numbers of threads, clean up.

use super::options::Options;
use super::workload::{Rate, Workload};
use crate::Result;
use servers::Running;
use servers::published::{SYSBENCH_BULK, SYSBENCH_OLTP};
use std::process::Command;

/// Every bundled test that wants a database.
pub fn tests() -> impl Iterator<Item = &'static str> {
    SYSBENCH_OLTP.into_iter().chain([SYSBENCH_BULK])
}

/// One test of sysbench.
struct Sysbench {
    test: &'static str,
    cases: Vec<Case>,
    time: u32,
    tables: u32,
    table_size: u64,
}

struct Case {
    threads: u32,
    /// sysbench's word: `auto` is with prepared statements, `disable` is without.
    ps_mode: &'static str,
}

/// Each of them.
pub fn all(options: &Options) -> Vec<Box<dyn Workload>> {
    let test = |test: &'static str| {
        let cases = |&ps_mode| options.threads.iter().map(move |&threads| Case { threads, ps_mode });
        Box::new(Sysbench {
            test,
            cases: options.ps_modes.iter().flat_map(cases).collect(),
            time: options.time,
            // The tests of random points and ranges take one table only.
            tables: if test.starts_with("select_random") { 1 } else { options.tables },
            table_size: options.table_size,
        }) as Box<dyn Workload>
    };
    tests().map(test).collect()
}

impl Workload for Sysbench {
    fn name(&self) -> String {
        self.test.into()
    }

    fn title(&self) -> String {
        format!("sysbench {}", self.test)
    }

    fn unit(&self) -> &'static str {
        // An event of bulk_insert is one row of a long INSERT.
        if self.has_own_tables() { "Rows" } else { "Transactions" }
    }

    fn cases(&self) -> Vec<String> {
        self.cases.iter().map(Case::label).collect()
    }

    fn prepare(&self, server: &Running) -> Result<()> {
        server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
        if self.has_own_tables() {
            return Ok(());
        }
        let size = format!("--table-size={}", self.table_size);
        self.sysbench(server, "prepare", &["--threads=2", &size]).map(drop)
    }

    fn run(&self, server: &Running, case: usize) -> Result<Vec<Rate>> {
        let case = &self.cases[case];
        let threads = format!("--threads={}", case.threads);
        if self.has_own_tables() {
            self.sysbench(server, "prepare", &[&threads])?;
        }
        let told = self.sysbench(
            server,
            "run",
            &[
                &threads,
                &format!("--time={}", self.time),
                &format!("--db-ps-mode={}", case.ps_mode),
                &format!("--table-size={}", self.table_size),
            ],
        )?;
        if self.has_own_tables() {
            self.sysbench(server, "cleanup", &[&threads])?;
        }
        Ok(vec![Rate::new(case.label(), events_per_second(&told)?)])
    }

    fn clean_up(&self, server: &Running) -> Result<()> {
        if self.has_own_tables() {
            return Ok(());
        }
        self.sysbench(server, "cleanup", &[]).map(drop)
    }
}

impl Sysbench {
    /// bulk_insert fills a table for each thread and knows none of the options of the others.
    fn has_own_tables(&self) -> bool {
        self.test == SYSBENCH_BULK
    }

    /// Runs one command; what it prints. Fails where it does, with what it says.
    fn sysbench(&self, server: &Running, command: &str, args: &[&str]) -> Result<String> {
        let known = |arg: &&&str| !self.has_own_tables() || !arg.starts_with("--table");
        let tables = format!("--tables={}", self.tables);
        let done = Command::new("sysbench")
            .args([self.test, "--mysql-user=root", "--mysql-db=sbtest"])
            .arg(format!("--mysql-socket={}", server.socket().display()))
            .args(std::iter::once(&tables.as_str()).chain(args).filter(known))
            .arg(command)
            .output()?;
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        if done.status.success() && !told.contains("FATAL") {
            return Ok(told);
        }
        let said: Vec<_> = told.lines().filter(|l| l.contains("FATAL") || l.contains("Error")).collect();
        let errors = String::from_utf8_lossy(&done.stderr);
        let name = server.kind().name();
        Err(format!("sysbench {} {command} on {name}: {}\n{}", self.test, said.join("\n"), errors).into())
    }
}

impl Case {
    fn label(&self) -> String {
        let threads = match self.threads {
            1 => "1 thread".to_owned(),
            n => format!("{n} threads"),
        };
        let how = if self.ps_mode == "disable" { "text" } else { "prepared" };
        format!("{threads}, {how}")
    }
}

/// The number of events over the time that sysbench took.
fn events_per_second(told: &str) -> Result<f64> {
    let after = |label: &str| {
        let line = told.lines().find_map(|l| l.trim().strip_prefix(label));
        let number = line.and_then(|l| l.trim().trim_end_matches('s').parse::<f64>().ok());
        number.ok_or_else(|| format!("sysbench did not say `{label}`:\n{told}"))
    };
    Ok(after("total number of events:")? / after("total time:")?)
}
