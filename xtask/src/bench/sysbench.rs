//! sysbench 1.0: how it is run and read, and a workload of each of its bundled tests for databases.

use super::contender::Contender;
use super::options::Options;
use super::results::Percentiles;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload, clients};
use crate::Result;
use servers::Address;
use servers::published::{SYSBENCH_BULK, SYSBENCH_OLTP};

/// Every bundled test that wants a database.
pub fn tests() -> impl Iterator<Item = &'static str> {
    SYSBENCH_OLTP.into_iter().chain([SYSBENCH_BULK])
}

/// Runs one command of a test, or of a Lua script of this project, in the database `sbtest`; what
/// it prints. Fails where it does, with what it says.
pub fn sysbench<S: AsRef<str>>(server: &Contender, test: &str, command: &str, args: &[S]) -> Result<String> {
    sysbench_at(server.address(), &server.name, test, command, args)
}

/// The same of any server, with its name.
pub fn sysbench_at<S: AsRef<str>>(
    address: &Address,
    name: &str,
    test: &str,
    command: &str,
    args: &[S],
) -> Result<String> {
    let done = address
        .sysbench()
        .args([test, "--mysql-db=sbtest", "--histogram=on"])
        .args(args.iter().map(AsRef::as_ref))
        .arg(command)
        .output()?;
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() && !printed.contains("FATAL") {
        return Ok(printed);
    }
    let said: Vec<_> = printed.lines().filter(|l| l.contains("FATAL") || l.contains("Error")).collect();
    let errors = String::from_utf8_lossy(&done.stderr);
    Err(format!("sysbench {test} {command} on {name}: {}\n{errors}", said.join("\n")).into())
}

/// Runs a test for so long, after a [`warm_up`].
pub fn run(server: &Contender, test: &str, threads: u32, seconds: u32, args: &[String]) -> Result<Outcome> {
    let warm_up = warm_up(threads);
    let mut all = vec![format!("--threads={threads}"), format!("--time={}", warm_up + seconds)];
    if warm_up > 0 {
        all.push(format!("--report-checkpoints={warm_up}"));
    }
    all.extend_from_slice(args);
    read(&sysbench(server, test, "run", &all)?)
}

/// How many seconds of a run are not counted. Each thread of sysbench compiles the test's script
/// while it runs it, for some hundred events, so that what is measured at first is this compiler,
/// the longer the more threads share the processors.
fn warm_up(threads: u32) -> u32 {
    if threads < 16 { 0 } else { threads.div_ceil(32) }
}

/// Makes the tables of the bundled tests anew.
pub fn make_tables(server: &Contender, tables: u32, table_size: u64) -> Result<()> {
    server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")?;
    sysbench(server, "oltp_read_write", "prepare", &tables_of(tables, table_size, 2)).map(drop)
}

/// The options that say which tables.
pub fn tables_of(tables: u32, table_size: u64, threads: u32) -> Vec<String> {
    vec![format!("--tables={tables}"), format!("--table-size={table_size}"), format!("--threads={threads}")]
}

/// What sysbench printed at the end of a run: rate and latencies of what came after the warm-up,
/// and all events. Each report counts events since the one before, but time since the beginning.
fn read(printed: &str) -> Result<Outcome> {
    let each = |label: &str| -> Vec<f64> {
        let lines = printed.lines().filter_map(|l| l.trim().strip_prefix(label));
        lines.filter_map(|l| l.trim().trim_end_matches('s').parse().ok()).collect()
    };
    let (events, times) = (each("total number of events:"), each("total time:"));
    let (Some(measured), Some(end)) = (events.last(), times.last()) else {
        return Err(format!("sysbench did not say what it measured:\n{printed}").into());
    };
    let warm_up: f64 = if let [warm_up, _] = times[..] { warm_up } else { 0.0 };
    Ok(Outcome {
        per_second: measured / (end - warm_up),
        events: Some(events.iter().sum()),
        latency: Percentiles::of(&histogram(printed)),
        ..Outcome::default()
    })
}

/// Lines of `milliseconds |**** count` after their heading.
fn histogram(printed: &str) -> Vec<(f64, u64)> {
    let lines = printed.lines().skip_while(|l| !l.starts_with("Latency histogram")).skip(2);
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
        if self.fills_tables() { "Rows per second" } else { "Transactions per second" }
    }

    fn parts(&self) -> Vec<Part> {
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
        let is_one_mode = self.cases.windows(2).all(|pair| pair[0].ps_mode == pair[1].ps_mode);
        let row = |case: &Case| Row { label: case.label(), threads: is_one_mode.then_some(case.threads) };
        vec![Part::new("", columns.into(), self.cases.iter().map(row).collect())]
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        if self.fills_tables() {
            return server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest").map(drop);
        }
        make_tables(server, self.tables, self.table_size)
    }

    fn run(&self, server: &Contender, _part: usize, row: usize) -> Result<Vec<Outcome>> {
        let case = &self.cases[row];
        let mut args = vec![format!("--db-ps-mode={}", case.ps_mode)];
        let threads = [format!("--threads={}", case.threads)];
        if self.fills_tables() {
            sysbench(server, self.test, "prepare", &threads)?;
        } else {
            args.extend(tables_of(self.tables, self.table_size, case.threads));
        }
        let outcome = run(server, self.test, case.threads, self.time, &args)?;
        if self.fills_tables() {
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
    fn fills_tables(&self) -> bool {
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
        let printed = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.044 |****************************************  60
       2.063 |*                                         40

General statistics:
    total time:                          2.0000s
    total number of events:              100
";
        let outcome = read(printed).unwrap();
        assert_eq!((outcome.per_second, outcome.events), (50.0, Some(100.0)));
        assert_eq!(outcome.latency, Some(Percentiles { p50: 1.044, p95: 2.063, p99: 2.063 }));
        assert!(read("nothing").is_err());
    }

    #[test]
    fn a_warm_up_counts_but_is_not_measured() {
        let report = |time: f64, events: u32| {
            format!(
                "General statistics:\n    total time:  {time:.4}s\n    total number of events:  {events}\n"
            )
        };
        let printed = format!("[ 1s ] Checkpoint report:\n{}\n{}", report(1.0, 10), report(3.0, 100));
        let outcome = read(&printed).unwrap();
        assert_eq!((outcome.per_second, outcome.events), (50.0, Some(110.0)));
        assert_eq!([1, 15, 16, 64, 128, 256].map(warm_up), [0, 0, 1, 2, 4, 8]);
    }
}
