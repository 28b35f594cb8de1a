//! `cargo xtask bench`: a named workload, run by the real client programs against Duramen and a MariaDB that is started
//! here, interleaved, several times, at the same durability, on the same file system.
//!
//! Reading order: [`workload`] (what is run), [`servers`] (against what), [`report`] (how it is told).
//!
//! Rates are told as ratios to MariaDB in the same round: the machine's noise hits both. The terminal shows the rates
//! too; the files show ratios only, since a rate says more about the machine than about the server.

mod report;
mod servers;
mod workload;

use crate::{Result, packages};
use servers::{Kind, Running};
use std::path::PathBuf;
use std::process::Command;
use workload::{Case, Workload};

const HELP: &str = "\
cargo xtask bench WORKLOAD ... [--rounds N] [--scale F] [--out FOLDER]

workloads:
  w1          sync_binlog 0 to 4, mariadb-slap calling a stored function that inserts a 35 kB row (2012)
  w4-insert   mariadb-slap inserting small rows, with and without preallocated logs
  all         each of them

  --rounds N  each case is run N times on each server, in turn (default 3); the median is told
  --scale F   the published number of statements times F (default 0.1)
  --out DIR   where the Markdown table and the SVG plot go (default target/bench)
";

struct Options {
    workloads: Vec<Workload>,
    rounds: usize,
    scale: f64,
    out: PathBuf,
}

/// Runs the workloads that `args` name.
pub fn run(args: &[String]) -> Result<()> {
    let Some(options) = parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    packages::ensure(packages::FOR_BENCH)?;
    let built = Command::new(env!("CARGO")).args(["build", "--release", "--bin", "duramen"]).status()?;
    if !built.success() {
        return Err("building duramen failed".into());
    }
    std::fs::create_dir_all(&options.out)?;
    for workload in &options.workloads {
        let results = measure(workload, &options)?;
        report::print(workload, &results);
        report::write(workload, &results, &options.out)?;
    }
    println!("tables and plots are in {}", options.out.display());
    Ok(())
}

fn parse(args: &[String]) -> Result<Option<Options>> {
    let mut options =
        Options { workloads: Vec::new(), rounds: 3, scale: 0.1, out: PathBuf::from("target/bench") };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            "help" | "--help" | "-h" => return Ok(None),
            "--rounds" => options.rounds = value()?.parse()?,
            "--scale" => options.scale = value()?.parse()?,
            "--out" => options.out = PathBuf::from(value()?),
            "all" => options.workloads.extend(workload::all()),
            name => match workload::named(name) {
                Some(w) => options.workloads.push(w),
                None => return Err(format!("no workload is called `{name}`\n{HELP}").into()),
            },
        }
    }
    if options.workloads.is_empty() || options.rounds == 0 { Ok(None) } else { Ok(Some(options)) }
}

/// One case and its rates, a pair for each round.
pub struct Measured {
    case: Case,
    rounds: Vec<Round>,
}

/// Statements per second of both servers in one round.
#[derive(Clone, Copy)]
pub struct Round {
    duramen: f64,
    mariadb: f64,
}

fn measure(workload: &Workload, options: &Options) -> Result<Vec<Measured>> {
    let folder = PathBuf::from("target/bench/servers");
    let start = |kind| Running::start(kind, &folder);
    let (duramen, mariadb) = (start(Kind::Duramen)?, start(Kind::MariaDb)?);
    println!("\n{}: {} against {}", workload.name, duramen.version()?, mariadb.version()?);
    for server in [&duramen, &mariadb] {
        workload.prepare(server)?;
    }
    let mut results: Vec<_> =
        workload.cases().into_iter().map(|case| Measured { case, rounds: Vec::new() }).collect();
    for round in 1..=options.rounds {
        for measured in &mut results {
            let case = &measured.case;
            let rates = Round {
                duramen: workload.run(&duramen, case, options.scale)?,
                mariadb: workload.run(&mariadb, case, options.scale)?,
            };
            println!(
                "  round {round}/{}  {:32} {:>9.0}/s {:>9.0}/s  {:.2} times",
                options.rounds,
                case.label,
                rates.duramen,
                rates.mariadb,
                rates.duramen / rates.mariadb
            );
            measured.rounds.push(rates);
        }
    }
    duramen.stop()?;
    mariadb.stop()?;
    Ok(results)
}
