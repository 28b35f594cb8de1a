//! The published workloads of `mariadb-slap`, as their authors ran them; the number of statements
//! is scaled.

use super::contender::{Contender, FILES_AHEAD};
use super::oltp::MAGNETIC;
use super::options::Options;
use super::results::{Bar, Table};
use super::shape::Shape;
use super::workload::{Column, Durability, Outcome, Part, Row, Who, Workload, clients};
use crate::Result;
use servers::published::W1_SCHEMA;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A published workload.
struct Slap {
    published: &'static Published,
    parts: Vec<(Part, Vec<Case>)>,
    scale: f64,
}

struct Published {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// What every run begins with.
    prepare: &'static [&'static str],
    parts: fn() -> Vec<(Part, Vec<Case>)>,
    run: fn(&Contender, &Case, f64) -> Result<Outcome>,
    bars: fn(&[Table]) -> Vec<Bar>,
    base_row: Option<&'static str>,
    shapes: fn() -> Vec<Shape>,
}

#[derive(Clone, Copy)]
struct Case {
    clients: u32,
    sync_binlog: u32,
    files_ahead: u32,
    /// The published number of statements is divided by it, on a disk that would take too long.
    share: u64,
}

/// Each of them.
pub fn all(options: &Options) -> Vec<Box<dyn Workload>> {
    [&W1, &W4_INSERT]
        .map(|p| {
            Box::new(Slap { published: p, parts: (p.parts)(), scale: options.scale }) as Box<dyn Workload>
        })
        .into()
}

impl Workload for Slap {
    fn name(&self) -> String {
        self.published.name.into()
    }

    fn title(&self) -> String {
        self.published.title.into()
    }

    fn about(&self) -> String {
        self.published.about.into()
    }

    fn unit(&self) -> &'static str {
        "Statements per second"
    }

    fn parts(&self) -> Vec<Part> {
        self.parts.iter().map(|(part, _)| part.clone()).collect()
    }

    fn base_row(&self) -> Option<String> {
        self.published.base_row.map(str::to_owned)
    }

    fn prepare(&self, server: &Contender) -> Result<()> {
        self.published.prepare.iter().try_for_each(|script| server.sql(script).map(drop))
    }

    fn run(&self, server: &Contender, part: usize, row: usize) -> Result<Vec<Outcome>> {
        Ok(vec![(self.published.run)(server, &self.parts[part].1[row], self.scale)?])
    }

    fn shapes(&self) -> Vec<Shape> {
        (self.published.shapes)()
    }

    fn bars(&self, tables: &[Table]) -> Vec<Bar> {
        (self.published.bars)(tables)
    }
}

const W1: Published = Published {
    name: "w1",
    title: "W1: sync_binlog 0 to 4, 35 kB rows",
    about: "mariadb-slap calls a stored function that inserts a row of 35 kB, from four connections, a new one for each call \
            (2012: 40,000 calls took 64.6, 44.4, 34.2 and 18.7 s at sync_binlog 1 to 4, and 18.0 s at 0). The slow disk's part has \
            trx_commit=2, for by the published rate at 0 the engine's log was not flushed at each commit.",
    // mariadb-slap connects to the schema `mysqlslap` and does not make it.
    prepare: &["create database if not exists mysqlslap", W1_SCHEMA],
    parts: w1_parts,
    run: run_w1,
    bars: w1_shape,
    base_row: None,
    shapes: w1_shapes,
};

fn w1_parts() -> Vec<(Part, Vec<Case>)> {
    let part = |name, delay: Duration, trx_commit, share| {
        let columns = [Who::Duramen, Who::MariaDb]
            .map(|who| Column::unset(who, Durability { sync_binlog: 1, trx_commit }));
        let case = |clients, sync_binlog| Case { clients, sync_binlog, files_ahead: FILES_AHEAD, share };
        let cases = vec![case(1, 1), case(4, 0), case(4, 1), case(4, 2), case(4, 3), case(4, 4)];
        let label = |c: &Case| format!("{}, sync_binlog={}", clients(c.clients), c.sync_binlog);
        let rows = cases.iter().map(|c| Row::named(label(c))).collect();
        (Part::new(name, columns.into(), rows).slowed(delay), cases)
    };
    vec![part("this disk", Duration::ZERO, 1, 1), part("20 ms", MAGNETIC, 2, 5)]
}

fn run_w1(server: &Contender, case: &Case, scale: f64) -> Result<Outcome> {
    let iterations = scaled(10_000 / case.share, scale, 40);
    // AUTO_INCREMENT starts anew with TRUNCATE, in MySQL as here.
    server.sql(&format!("truncate table test_case_9.t; set global sync_binlog={}", case.sync_binlog))?;
    let calls = iterations * u64::from(case.clients);
    let outcome = slap(
        server,
        calls,
        &[
            "--query=select test_case_9.insert_data();",
            &format!("--concurrency={}", case.clients),
            &format!("--iterations={iterations}"),
        ],
    )?;
    let found =
        server.sql("select count(*), max(id) - min(id) + 1, min(length(content)) from test_case_9.t")?;
    expect(server, &found, &format!("{calls}\t{calls}\t35000"))?;
    Ok(outcome)
}

/// By the published times.
fn w1_shapes() -> Vec<Shape> {
    let durability = Durability { sync_binlog: 1, trx_commit: 2 };
    let row = |n: u32| (format!("4 clients, sync_binlog={n}"), durability);
    let shape = |(n, seconds)| Shape { part: "20 ms", to: row(n), from: row(1), published: 64.6 / seconds };
    [(2, 44.4), (3, 34.2), (4, 18.7), (0, 18.0)].map(shape).into()
}

/// The published shape, on the server that it was published of.
fn w1_shape(tables: &[Table]) -> Vec<Bar> {
    let shape = |table: &Table| {
        let mariadb = table.part.columns.iter().position(|c| c.who == Who::MariaDb)?;
        let at = |n: u32| table.line(&format!("4 clients, sync_binlog={n}"))?.rate(mariadb);
        let gain = at(4)? / at(1)?;
        Some(Bar {
            wanted: format!("{}as published, MariaDB is faster at sync_binlog=4 than at 1", table.prefix()),
            found: format!("{gain:.2} times"),
            met: gain > 1.0,
        })
    };
    tables.iter().filter(|t| !t.part.delay.is_zero()).filter_map(shape).collect()
}

const W4_INSERT: Published = Published {
    name: "w4-insert",
    title: "W4: small inserts, preallocated logs",
    about: "mariadb-slap inserts small rows, log files of 64 MiB (2012: 10 files ahead gained 81.7 % with 50 clients and 51.9 % \
            with 100). MariaDB has no such setting; its rows with and without are the same work.",
    prepare: &[
        "drop database if exists zwx",
        "create database zwx",
        "create table zwx.xxx (a int auto_increment, b int, c varchar(100), primary key(a))",
    ],
    parts: w4_parts,
    run: run_w4,
    bars: prealloc_gain,
    // Not the first: that is the one with the fewest clients.
    base_row: Some("1 client, 10 files ahead"),
    shapes: || prealloc_shapes([(50, 1.817), (100, 1.519)]),
};

fn w4_parts() -> Vec<(Part, Vec<Case>)> {
    let case = |clients, files_ahead| Case { clients, sync_binlog: 1, files_ahead, share: 1 };
    // Files are made once in a round.
    let cases = vec![case(50, 0), case(100, 0), case(1, 10), case(4, 10), case(50, 10), case(100, 10)];
    let label = |c: &Case| format!("{}, {} files ahead", clients(c.clients), c.files_ahead);
    let rows = cases.iter().map(|c| Row::named(label(c))).collect();
    let columns = [Who::Duramen, Who::MariaDb].map(|who| Column::new(who, Durability::FULL));
    vec![(Part::new("", columns.into(), rows), cases)]
}

fn run_w4(server: &Contender, case: &Case, scale: f64) -> Result<Outcome> {
    // The published number of queries is for 50 and 100 clients; few clients get few, to end in
    // like time.
    let queries = scaled(1_000_000, scale, 100) * u64::from(case.clients.min(20)) / 20;
    let each = queries.div_ceil(u64::from(case.clients));
    let rows = each * u64::from(case.clients);
    server.sql("truncate table zwx.xxx")?;
    server.set_files_ahead(case.files_ahead)?;
    let outcome = slap(
        server,
        rows,
        &[
            "--create-schema=zwx",
            "--query=insert into xxx values (NULL, 2, 'sadasda ')",
            &format!("--concurrency={}", case.clients),
            &format!("--number-of-queries={rows}"),
            "--no-drop",
        ],
    )?;
    expect(server, &server.sql("select count(*) from zwx.xxx")?, &rows.to_string())?;
    Ok(outcome)
}

/// What ten files ahead gained over none, by the number of clients.
pub fn prealloc_shapes(gains: [(u32, f64); 2]) -> Vec<Shape> {
    let row = |n, files: u32| format!("{}, {files} files ahead", clients(n));
    gains.map(|(n, published)| Shape::of_rows("", row(n, 10), row(n, 0), published)).into()
}

/// What ten files ahead gain over none, for Duramen, with 50 and with 100 clients.
pub fn prealloc_gain(tables: &[Table]) -> Vec<Bar> {
    let gain = |table: &Table, n| {
        let line = |files: u32| table.line(&format!("{}, {files} files ahead", clients(n)));
        let gain = line(10)?.rate(0)? / line(0)?.rate(0)?;
        Some(Bar {
            wanted: format!("Duramen gains from 10 files made ahead, {}", clients(n)),
            found: format!("{:+.0} %", (gain - 1.0) * 100.0),
            met: gain > 1.0,
        })
    };
    tables.iter().flat_map(|t| [gain(t, 50), gain(t, 100), no_wait_for_files(t)]).flatten().collect()
}

/// With ten files ahead, each new file is one of them.
fn no_wait_for_files(table: &Table) -> Option<Bar> {
    let lines = table.lines.iter().filter(|l| l.label.contains(", 10 files"));
    let rounds: Vec<_> = lines.filter_map(|l| l.cells.first()).flatten().collect();
    let (hits, misses) =
        rounds.iter().fold((0, 0), |(hits, misses), s| (hits + s.pool_hits, misses + s.pool_misses));
    Some(Bar {
        wanted: "with 10 files ahead no commit waits for a file to be made".into(),
        found: format!("{hits} of {} new files were there", hits + misses),
        met: misses == 0,
    })
}

fn scaled(published: u64, scale: f64, least: u64) -> u64 {
    ((published as f64 * scale) as u64).max(least)
}

/// Runs `mariadb-slap`; seconds from its start to its end, as the published tables have them.
fn slap(server: &Contender, statements: u64, args: &[&str]) -> Result<Outcome> {
    let started = Instant::now();
    let mut client = server.address().client("mariadb-slap");
    let done = client.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let seconds = started.elapsed().as_secs_f64();
    if done.status.success() && done.stderr.is_empty() {
        let events = statements as f64;
        Ok(Outcome { per_second: events / seconds, events: Some(events), ..Outcome::default() })
    } else {
        Err(format!("mariadb-slap on {}: {}", server.name, String::from_utf8_lossy(&done.stderr)).into())
    }
}

fn expect(server: &Contender, found: &str, wanted: &str) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{} holds `{found}`, not `{wanted}`", server.name).into())
    }
}
