//! sysbench 1.0: how it is run and read, and a workload of each of its bundled tests for databases.

use super::contender::Contender;
use super::options::Options;
use super::results::Percentiles;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload, clients};
use crate::Result;
use servers::published::{SYSBENCH_BULK, SYSBENCH_OLTP};

/// Every bundled test that wants a database.
pub fn tests() -> impl Iterator<Item = &'static str> {
    SYSBENCH_OLTP.into_iter().chain([SYSBENCH_BULK])
}

/// Runs one command of a test, or of a Lua script of this project, in the database `sbtest`; what it prints. Fails where it
/// does, with what it says.
pub fn sysbench<S: AsRef<str>>(server: &Contender, test: &str, command: &str, args: &[S]) -> Result<String> {
    let done = server
        .address()
        .sysbench()
        .args([test, "--mysql-db=sbtest", "--histogram=on"])
        .args(args.iter().map(AsRef::as_ref))
        .arg(command)
        .output()?;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() && !told.contains("FATAL") {
        return Ok(told);
    }
    let said: Vec<_> = told.lines().filter(|l| l.contains("FATAL") || l.contains("Error")).collect();
    let errors = String::from_utf8_lossy(&done.stderr);
    Err(format!("sysbench {test} {command} on {}: {}\n{errors}", server.name, said.join("\n")).into())
}

/// Runs a test for so long.
pub fn run(server: &Contender, test: &str, threads: u32, seconds: u32, args: &[String]) -> Result<Outcome> {
    let mut all = vec![format!("--threads={threads}"), format!("--time={seconds}")];
    all.extend_from_slice(args);
    read(&sysbench(server, test, "run", &all)?)
}

/// Makes the tables of the bundled tests anew.
pub fn make_tables(server: &Contender, tables: u32, table_size: u64) -> Result<()> {
    server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
    sysbench(server, "oltp_read_write", "prepare", &tables_of(tables, table_size, 2)).map(drop)
}

fn tables_of(tables: u32, table_size: u64, threads: u32) -> Vec<String> {
    vec![format!("--tables={tables}"), format!("--table-size={table_size}"), format!("--threads={threads}")]
}

/// What sysbench told at the end of a run.
fn read(told: &str) -> Result<Outcome> {
    let after = |label: &str| {
        let line = told.lines().find_map(|l| l.trim().strip_prefix(label));
        let number = line.and_then(|l| l.trim().trim_end_matches('s').parse::<f64>().ok());
        number.ok_or_else(|| format!("sysbench did not say `{label}`:\n{told}"))
    };
    let events = after("total number of events:")?;
    Ok(Outcome {
        label: None,
        per_second: events / after("total time:")?,
        events: Some(events),
        latency: Percentiles::of(&histogram(told)),
    })
}

/// Lines of `milliseconds |**** count` behind their heading.
fn histogram(told: &str) -> Vec<(f64, u64)> {
    let lines = told.lines().skip_while(|l| !l.starts_with("Latency histogram")).skip(2);
    let parse = |line: &str| {
        let (value, rest) = line.split_once('|')?;
        Some((value.trim().parse().ok()?, rest.split_whitespace().next_back()?.parse().ok()?))
    };
    lines.map_while(parse).collect()
}

/// One bundled test.
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

    fn about(&self) -> String {
        format!("{} tables of {} rows, sysbench's own distribution of keys.", self.tables, self.table_size)
    }

    fn unit(&self) -> &'static str {
        // An event of bulk_insert is one row of a long INSERT.
        if self.has_own_tables() { "Rows per second" } else { "Transactions per second" }
    }

    fn parts(&self) -> Vec<Part> {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let is_one_mode = self.cases.windows(2).all(|pair| pair[0].ps_mode == pair[1].ps_mode);
        let row = |case: &Case| Row { label: case.label(), threads: is_one_mode.then_some(case.threads) };
        vec![Part::new("", columns.into(), self.cases.iter().map(row).collect())]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        if self.has_own_tables() {
            return server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest").map(drop);
        }
        make_tables(server, self.tables, self.table_size)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        let case = &self.cases[row];
        let mut args = vec![format!("--db-ps-mode={}", case.ps_mode)];
        let threads = [format!("--threads={}", case.threads)];
        if self.has_own_tables() {
            sysbench(server, self.test, "prepare", &threads)?;
        } else {
            args.extend(tables_of(self.tables, self.table_size, case.threads));
        }
        let outcome = run(server, self.test, case.threads, self.time, &args)?;
        if self.has_own_tables() {
            sysbench(server, self.test, "cleanup", &threads)?;
        }
        Ok(vec![outcome])
    }

    fn clean_up(&self, server: &Contender) -> Result<()> {
        server.sql("DROP DATABASE sbtest").map(drop)
    }
}

impl Sysbench {
    /// bulk_insert fills a table for each thread and knows none of the options of the others.
    fn has_own_tables(&self) -> bool {
        self.test == SYSBENCH_BULK
    }
}

impl Case {
    fn label(&self) -> String {
        let how = if self.ps_mode == "disable" { "text" } else { "prepared" };
        format!("{}, {how}", clients(self.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_a_run_is_read() {
        let told = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.044 |****************************************  60
       2.063 |*                                         40

SQL statistics:
    total number of events:              100

General statistics:
    total time:                          2.0000s
    total number of events:              100
";
        let outcome = read(told).unwrap();
        assert_eq!((outcome.per_second, outcome.events), (50.0, Some(100.0)));
        assert_eq!(outcome.latency, Some(Percentiles { p50: 1.044, p95: 2.063, p99: 2.063 }));
        assert!(read("nothing").is_err());
    }
}
