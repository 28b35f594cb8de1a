//! Published measurements, and promises, that are measured with sysbench's bundled tests: W2, W3,
//! W4's updates, W5, and what a log, a flush and durability cost.

use super::contender::{Contender, FILES_AHEAD};
use super::options::Options;
use super::results::{Bar, Line, Table, by_clients};
use super::shape::Shape;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload, clients};
use super::{flush, sysbench};
use crate::Result;
use std::time::Duration;

/// A workload of one or more bundled tests.
struct Oltp {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// With the runs of its rows.
    parts: Vec<(Part, Vec<Run>)>,
    tables: u32,
    table_size: u64,
    time: u32,
    bars: fn(&[Table]) -> Vec<Bar>,
    shapes: Vec<Shape>,
}

/// What a row does.
enum Run {
    Test {
        test: &'static str,
        threads: u32,
        args: &'static [&'static str],
        files_ahead: u32,
    },
    /// One flush at a time of a file next to the server's, so many bytes each.
    Flush {
        bytes: u64,
    },
}

const UNIFORM: &[&str] = &["--rand-type=uniform"];
const SPECIAL: &[&str] = &["--rand-type=special"];

/// Flushes of disks that were measured: magnetic disks, and a cloud's network disks.
pub const MAGNETIC: Duration = Duration::from_millis(20);
pub const NETWORK: Duration = Duration::from_micros(600);

/// What a group of small commits about is in the log.
const COMMIT_BYTES: u64 = 512;

impl Run {
    fn test(test: &'static str, threads: u32, args: &'static [&'static str]) -> Self {
        Run::Test { test, threads, args, files_ahead: FILES_AHEAD }
    }
}

/// Each of them.
pub fn all(options: &Options) -> Vec<Box<dyn Workload>> {
    [w2, w3, w4_update, w5, log_is_free, slow_flush, not_durable]
        .map(|make| Box::new(make(options)) as Box<dyn Workload>)
        .into()
}

/// A test over numbers of clients.
fn over_threads(threads: &[u32], test: &'static str, args: &'static [&'static str]) -> (Vec<Row>, Vec<Run>) {
    threads.iter().map(|&n| (Row::threads(n), Run::test(test, n, args))).unzip()
}

const FULL: Durability = Durability::FULL;

fn w2(options: &Options) -> Oltp {
    let part = |name, delay| {
        let columns = [Who::Duramen, Who::MariaDb]
            .into_iter()
            .flat_map(|who| [FULL, Durability::NONE].map(|d| Column::new(who, d)));
        let part = Part::new(name, columns.collect(), vec![Row::named("8 clients")]).slowed(delay);
        (part, vec![Run::test("oltp_read_write", 8, SPECIAL)])
    };
    Oltp {
        name: "w2",
        title: "W2: full durability and none",
        about: "sysbench oltp_read_write, 8 clients, keys by the special distribution (2010, on a magnetic disk: 1436.83 at 0/0, \
                26.58 at 1/1, 54 times slower).",
        parts: vec![part("this disk", Duration::ZERO), part("20 ms", MAGNETIC)],
        shapes: vec![Shape::of_settings("20 ms", "8 clients", Durability::NONE, FULL, 1436.83 / 26.58)],
        ..Oltp::of(options)
    }
}

fn w3(options: &Options) -> Oltp {
    let log = |d| Column::new(Who::MariaDb, d);
    let no_log = |d| Column::new(Who::MariaDbWithoutLog, d);
    let part = |name, delay, mariadb: Vec<Column>| {
        let (rows, runs) = over_threads(&options.threads, "oltp_read_write", UNIFORM);
        let columns = [vec![Column::new(Who::Duramen, FULL)], mariadb].concat();
        (Part::new(name, columns, rows).slowed(delay), runs)
    };
    let all = [log(FULL), log(Durability::ENGINE_ONLY), no_log(FULL), no_log(Durability::NONE)];
    Oltp {
        name: "w3",
        title: "W3: group commit, and what the binary log costs",
        about: "sysbench oltp_read_write on several tables (2011, slow flush: MySQL's rate rises from 22 with one client to 1669 \
                with 256; with the binary log it is half of that without; with a fast flush it falls from 64 clients on).",
        parts: vec![
            part("this disk", Duration::ZERO, vec![log(FULL), no_log(FULL)]),
            part("20 ms", MAGNETIC, all.into()),
        ],
        bars: |tables| {
            let free = |t: &Table| t.times_as_fast(1.0, Who::MariaDbWithoutLog, FULL);
            let steady = |t: &Table| t.does_not_fall(0, 64, 256);
            tables.iter().flat_map(|t| [free(t), steady(t), w3_rise(t)]).flatten().collect()
        },
        shapes: w3_shapes(),
        ..Oltp::of(options)
    }
}

/// The published shape, on the server that it was published of: a group shares the slow flush.
fn w3_rise(table: &Table) -> Option<Bar> {
    let mariadb = table.part.column(Who::MariaDb, FULL).filter(|_| !table.part.delay.is_zero())?;
    let rates: Vec<(u32, f64)> =
        table.lines.iter().filter_map(|l| Some((l.threads?, l.rate(mariadb)?))).collect();
    let [(_, first), more @ ..] = &rates[..] else { return None };
    let figures = more.iter().map(|(n, rate)| (*n, format!("{:.1}", rate / first)));
    Some(Bar {
        wanted: format!("{}as published, MariaDB's rate rises with the clients", table.prefix()),
        found: by_clients(figures, " times"),
        met: rates.is_sorted_by(|(_, fewer), (_, more)| fewer < more),
    })
}

/// By the published rates with group commit, at `1/1` but for one.
fn w3_shapes() -> Vec<Shape> {
    let slow = [(4, 51.42), (16, 191.81), (64, 633.89), (256, 1669.11)];
    let mut shapes: Vec<Shape> =
        slow.map(|(n, rate)| Shape::of_rows("20 ms", clients(n), clients(1), rate / 21.99)).into();
    shapes.push(Shape::of_settings("20 ms", &clients(1), Durability::ENGINE_ONLY, FULL, 33.11 / 21.99));
    let fast = [(16, 1, 3409.97 / 371.17), (64, 1, 3860.01 / 371.17), (256, 64, 2145.32 / 3860.01)];
    shapes.extend(fast.map(|(to, from, gain)| Shape::of_rows("this disk", clients(to), clients(from), gain)));
    shapes
}

fn w4_update(options: &Options) -> Oltp {
    let cases = [(50, 0), (100, 0), (50, 10), (100, 10)];
    let (rows, runs) = cases
        .map(|(threads, files_ahead)| {
            let row = Row::named(format!("{}, {files_ahead} files ahead", clients(threads)));
            (row, Run::Test { test: "oltp_update_index", threads, args: UNIFORM, files_ahead })
        })
        .into_iter()
        .unzip();
    let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, FULL));
    Oltp {
        name: "w4-update",
        title: "W4: updates of an indexed column, preallocated logs",
        about: "sysbench oltp_update_index on 5 tables, log files of 64 MiB (2012: 10 files ahead gained 48.6 % with 50 clients and \
                29 % with 100). MariaDB has no such setting; its rows with and without are the same work.",
        parts: vec![(Part::new("", columns.into(), rows), runs)],
        tables: 5,
        bars: super::slap::prealloc_gain,
        shapes: super::slap::prealloc_shapes([(50, 1.486), (100, 1.29)]),
        ..Oltp::of(options)
    }
}

fn w5(options: &Options) -> Oltp {
    let columns = [Who::Duramen, Who::MariaDb]
        .into_iter()
        .flat_map(|who| [FULL, Durability::EACH_SECOND].map(|d| Column::new(who, d)));
    let part = Part::new("0.6 ms", columns.collect(), vec![Row::named("1 client")]).slowed(NETWORK);
    Oltp {
        name: "w5",
        title: "W5: one client's inserts on a network disk",
        about: "sysbench oltp_insert, one client (2020, 0.6 ms a flush: about 200 at 1/1 and 3770 at 0/2, 18 times as fast).",
        parts: vec![(part, vec![Run::test("oltp_insert", 1, UNIFORM)])],
        shapes: vec![Shape::of_settings("0.6 ms", "1 client", Durability::EACH_SECOND, FULL, 3770.0 / 200.0)],
        ..Oltp::of(options)
    }
}

fn log_is_free(options: &Options) -> Oltp {
    let part = |name, delay| {
        let (rows, runs) = over_threads(&options.threads, "oltp_write_only", UNIFORM);
        let columns = vec![Column::new(Who::Duramen, FULL), Column::new(Who::MariaDbWithoutLog, FULL)];
        (Part::new(name, columns, rows).slowed(delay), runs)
    };
    Oltp {
        name: "log-is-free",
        title: "The log is free",
        about: "sysbench oltp_write_only: Duramen with its log, at full durability, beside a MariaDB whose binary log is switched \
                off (skip-log-bin) and whose engine flushes at each commit. W3 asks the same of oltp_read_write.",
        parts: vec![part("this disk", Duration::ZERO), part("20 ms", MAGNETIC)],
        bars: |tables| {
            tables.iter().filter_map(|t| t.times_as_fast(1.0, Who::MariaDbWithoutLog, FULL)).collect()
        },
        ..Oltp::of(options)
    }
}

const ALONE: &str = "one flush alone";

fn slow_flush(options: &Options) -> Oltp {
    let part = |name, delay| {
        let (mut rows, mut runs) = over_threads(&options.threads, "oltp_update_non_index", UNIFORM);
        rows.push(Row::named(ALONE));
        runs.push(Run::Flush { bytes: COMMIT_BYTES });
        let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, FULL));
        (Part::new(name, columns.into(), rows).slowed(delay), runs)
    };
    Oltp {
        name: "slow-flush",
        title: "Clients ÷ flush time",
        about: "sysbench oltp_update_non_index: each client can commit once in a flush's time, no more. `one flush alone` is \
                write and fdatasync of a small commit's bytes into space made ahead, on the same disk, one after another.",
        parts: vec![part("0.6 ms", NETWORK), part("20 ms", MAGNETIC)],
        bars: |tables| tables.iter().flat_map(share_of_the_limit).collect(),
        ..Oltp::of(options)
    }
}

/// Duramen's rate over clients × the rate of one flush alone.
fn share_of_the_limit(table: &Table) -> Option<Bar> {
    let alone = table.line(ALONE)?.rate(0)?;
    let share = |l: &Line| {
        Some((l.threads?, l.rate(0)? / (f64::from(l.threads?) * alone), l.spread(0, |s| s.busy)?.median))
    };
    let shares: Vec<(u32, f64, f64)> = table.lines.iter().filter_map(share).collect();
    let figures = shares.iter().map(|(n, share, _)| (*n, format!("{:.0}", share * 100.0)));
    // No server does more than the processors.
    let bound = shares.iter().find(|(.., busy)| *busy >= 95.0);
    let bound = bound
        .map_or(String::new(), |(n, ..)| format!("; the processors are all busy from {} on", clients(*n)));
    Some(Bar {
        wanted: format!(
            "{}at least 90 % of clients ÷ flush time up to 64 clients, 80 % with 256",
            table.prefix()
        ),
        found: format!("{}{bound}", by_clients(figures, " %")),
        met: shares.iter().all(|(n, share, _)| *share >= if *n <= 64 { 0.9 } else { 0.8 }),
    })
}

fn not_durable(options: &Options) -> Oltp {
    let threads: Vec<u32> = if options.quick { vec![16, 64, 256] } else { vec![16, 64, 128, 256] };
    let columns = vec![
        Column::new(Who::Duramen, FULL),
        Column::new(Who::MariaDb, Durability::EACH_SECOND),
        Column::new(Who::MariaDb, FULL),
    ];
    let part = |test: &'static str| {
        let (rows, runs) = over_threads(&threads, test, UNIFORM);
        (Part::new(test, columns.clone(), rows), runs)
    };
    Oltp {
        name: "not-durable",
        title: "Durable beside not durable",
        about: "Duramen at full durability beside a MariaDB that flushes once a second (0/2), and one that is durable too (1/1).",
        parts: ["oltp_insert", "oltp_update_index", "oltp_write_only"].map(part).into(),
        bars: |tables| {
            let above = |t: &Table| t.times_as_fast(1.0, Who::MariaDb, Durability::EACH_SECOND);
            let twice = |t: &Table| t.times_as_fast(2.0, Who::MariaDb, FULL);
            let steady = |t: &Table| t.does_not_fall(0, 64, 256);
            tables.iter().flat_map(|t| [above(t), twice(t), steady(t)]).flatten().collect()
        },
        ..Oltp::of(options)
    }
}

impl Oltp {
    /// With the options' tables and time, and nothing to do.
    fn of(options: &Options) -> Self {
        Oltp {
            name: "",
            title: "",
            about: "",
            parts: Vec::new(),
            tables: options.tables,
            table_size: options.table_size,
            time: options.time,
            bars: |_| Vec::new(),
            shapes: Vec::new(),
        }
    }
}

impl Workload for Oltp {
    fn name(&self) -> String {
        self.name.into()
    }

    fn title(&self) -> String {
        self.title.into()
    }

    fn about(&self) -> String {
        format!("{} {} tables of {} rows.", self.about, self.tables, self.table_size)
    }

    fn parts(&self) -> Vec<Part> {
        self.parts.iter().map(|(part, _)| part.clone()).collect()
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        sysbench::make_tables(server, self.tables, self.table_size)
    }

    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>> {
        let outcome = match &self.parts[part].1[row] {
            Run::Flush { bytes } => flush::alone(server, *bytes, self.time)?,
            Run::Test { test, threads, args, files_ahead } => {
                server.set_files_ahead(*files_ahead)?;
                let mut all: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
                all.push(format!("--tables={}", self.tables));
                all.push(format!("--table-size={}", self.table_size));
                sysbench::run(server, test, *threads, self.time, &all)?
            }
        };
        Ok(vec![outcome])
    }

    fn limit(&self, table: &Table) -> Option<f64> {
        table.line(ALONE)?.rate(0)
    }

    fn shapes(&self) -> Vec<Shape> {
        self.shapes.clone()
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        (self.bars)(tables)
    }
}
