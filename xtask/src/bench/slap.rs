//! The published workloads of `mariadb-slap`, as their authors ran them; the number of statements is scaled.

use super::options::Options;
use super::workload::{Rate, Workload};
use crate::Result;
use servers::published::W1_SCHEMA;
use servers::{Kind, Running};
use std::process::Stdio;
use std::time::Instant;

/// A published workload.
struct Slap {
    published: &'static Published,
    cases: Vec<Case>,
    scale: f64,
}

struct Published {
    name: &'static str,
    title: &'static str,
    /// What every run begins with.
    prepare: &'static [&'static str],
    cases: fn() -> Vec<Case>,
    run: fn(&Running, &Case, f64) -> Result<f64>,
}

#[derive(Clone)]
struct Case {
    label: String,
    clients: u32,
    sync_binlog: u32,
    prealloc: u32,
}

/// Each of them.
pub fn all(options: &Options) -> Vec<Box<dyn Workload>> {
    [&W1, &W4_INSERT]
        .map(|p| {
            Box::new(Slap { published: p, cases: (p.cases)(), scale: options.scale }) as Box<dyn Workload>
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

    fn unit(&self) -> &'static str {
        "Statements"
    }

    fn cases(&self) -> Vec<String> {
        self.cases.iter().map(|c| c.label.clone()).collect()
    }

    fn prepare(&self, server: &Running) -> Result<()> {
        self.published.prepare.iter().try_for_each(|script| server.sql(script).map(drop))
    }

    fn run(&self, server: &Running, case: usize) -> Result<Vec<Rate>> {
        let case = &self.cases[case];
        let rate = (self.published.run)(server, case, self.scale)?;
        Ok(vec![Rate::new(&case.label, rate)])
    }
}

const W1: Published = Published {
    name: "w1",
    title: "W1: a stored function inserts 35 kB rows",
    // mariadb-slap connects to the schema `mysqlslap` and does not make it.
    prepare: &["create database if not exists mysqlslap", W1_SCHEMA],
    cases: w1_cases,
    run: run_w1,
};

fn w1_cases() -> Vec<Case> {
    let case = |clients, sync_binlog| Case {
        label: format!("{clients} clients, sync_binlog={sync_binlog}"),
        clients,
        sync_binlog,
        prealloc: 0,
    };
    let published = (0..=4).map(|n| case(4, n));
    std::iter::once(Case { label: "1 client, sync_binlog=1".into(), ..case(1, 1) }).chain(published).collect()
}

fn run_w1(server: &Running, case: &Case, scale: f64) -> Result<f64> {
    let iterations = scaled(10_000, scale);
    // AUTO_INCREMENT starts anew with TRUNCATE, in MySQL as here.
    server.sql(&format!("truncate table test_case_9.t; set global sync_binlog={}", case.sync_binlog))?;
    let seconds = slap(
        server,
        &[
            "--query=select test_case_9.insert_data();",
            &format!("--concurrency={}", case.clients),
            &format!("--iterations={iterations}"),
        ],
    )?;
    let calls = iterations * u64::from(case.clients);
    let found =
        server.sql("select count(*), max(id) - min(id) + 1, min(length(content)) from test_case_9.t")?;
    expect(server, &found, &format!("{calls}\t{calls}\t35000"))?;
    Ok(calls as f64 / seconds)
}

const W4_INSERT: Published = Published {
    name: "w4-insert",
    title: "W4: small inserts, preallocated logs",
    prepare: &[
        "drop database if exists zwx",
        "create database zwx",
        "create table zwx.xxx (a int auto_increment, b int, c varchar(100), primary key(a))",
    ],
    cases: w4_cases,
    run: run_w4,
};

fn w4_cases() -> Vec<Case> {
    [(1, 10), (4, 10), (50, 0), (50, 10), (100, 0), (100, 10)]
        .map(|(clients, prealloc)| Case {
            label: format!("{clients} client{}, {prealloc} files ahead", if clients == 1 { "" } else { "s" }),
            clients,
            sync_binlog: 1,
            prealloc,
        })
        .to_vec()
}

fn run_w4(server: &Running, case: &Case, scale: f64) -> Result<f64> {
    // The published number of queries is for 50 and 100 clients; few clients get few, to end in like time.
    let queries = scaled(1_000_000, scale) * u64::from(case.clients.min(20)) / 20;
    let each = queries / u64::from(case.clients);
    server.sql("truncate table zwx.xxx; set global sync_binlog=1")?;
    if server.kind() == Kind::Duramen {
        server.sql(&format!("set global binlog_prealloc_num={}", case.prealloc))?;
    }
    let seconds = slap(
        server,
        &[
            "--create-schema=zwx",
            "--query=insert into xxx values (NULL, 2, 'sadasda ')",
            &format!("--concurrency={}", case.clients),
            &format!("--number-of-queries={}", each * u64::from(case.clients)),
            "--no-drop",
        ],
    )?;
    let rows = each * u64::from(case.clients);
    expect(server, &server.sql("select count(*) from zwx.xxx")?, &rows.to_string())?;
    Ok(rows as f64 / seconds)
}

fn scaled(published: u64, scale: f64) -> u64 {
    ((published as f64 * scale) as u64).max(100)
}

/// Runs `mariadb-slap`; seconds from its start to its end, as the published tables have them.
fn slap(server: &Running, args: &[&str]) -> Result<f64> {
    let started = Instant::now();
    let done =
        server.client("mariadb-slap").args(args).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let seconds = started.elapsed().as_secs_f64();
    if done.status.success() && done.stderr.is_empty() {
        Ok(seconds)
    } else {
        Err(format!("mariadb-slap on {:?}: {}", server.kind(), String::from_utf8_lossy(&done.stderr)).into())
    }
}

fn expect(server: &Running, found: &str, wanted: &str) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{:?} holds `{found}`, not `{wanted}`", server.kind()).into())
    }
}
