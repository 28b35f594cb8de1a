//! `cargo xtask bench`: a named workload, run by the real client programs against Duramen and a MariaDB that is started
//! here, interleaved, several times, at the same durability, on the same file system.
//!
//! Reading order: [`options`], [`workload`] (what a workload is), [`slap`], [`sysbench`], [`tpcc`], [`dump`] (those there
//! are), [`report`] (how it is told).
//!
//! Rates are told as ratios to MariaDB in the same round: the machine's noise hits both. The terminal shows the rates
//! too; the files show ratios only, since a rate says more about the machine than about the server.

mod dump;
mod options;
mod report;
mod slap;
mod sysbench;
mod tpcc;
mod workload;

use crate::{Result, packages};
use options::{HELP, Options};
use servers::{Kind, Launch, Running};
use std::path::Path;
use std::process::Command;
use workload::Workload;

/// Runs the workloads that `args` name.
pub fn run(args: &[String]) -> Result<()> {
    let Some(options) = Options::parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    let workloads = options.workloads()?;
    packages::ensure(packages::FOR_BENCH)?;
    let programs = ["build", "--bin", "duramen", "--bin", "tpcc", "--profile"];
    if !Command::new(env!("CARGO")).args(programs).arg(&options.profile).status()?.success() {
        return Err("building duramen and tpcc failed".into());
    }
    std::fs::create_dir_all(&options.out)?;
    for workload in &workloads {
        let results = measure(workload.as_ref(), &options)?;
        report::print(workload.as_ref(), &results);
        report::write(workload.as_ref(), &results, &options.out)?;
    }
    println!("tables and plots are in {}", options.out.display());
    Ok(())
}

/// One line of the table and its rates, a pair for each round.
pub struct Measured {
    label: String,
    rounds: Vec<Round>,
}

/// What both servers did per second in one round.
#[derive(Clone, Copy)]
pub struct Round {
    duramen: f64,
    mariadb: f64,
}

fn measure(workload: &dyn Workload, options: &Options) -> Result<Vec<Measured>> {
    let folder = Path::new("target/bench/servers");
    let start = |kind| Launch::new(kind, folder)?.binary(options.binary("duramen")).start();
    let (duramen, mariadb) = (start(Kind::Duramen)?, start(Kind::MariaDb)?);
    println!("\n{}: {} against {}", workload.name(), duramen.version()?, mariadb.version()?);
    for server in [&duramen, &mariadb] {
        workload.prepare(server)?;
    }
    let cases = workload.cases();
    let mut results: Vec<Vec<Measured>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 1..=options.rounds {
        for (case, measured) in results.iter_mut().enumerate() {
            println!("  round {round}/{}  {}", options.rounds, cases[case]);
            run_case(workload, case, &duramen, &mariadb, measured)?;
        }
    }
    for server in [duramen, mariadb] {
        workload.clean_up(&server)?;
        server.stop()?;
    }
    Ok(results.into_iter().flatten().collect())
}

fn run_case(
    workload: &dyn Workload,
    case: usize,
    duramen: &Running,
    mariadb: &Running,
    measured: &mut Vec<Measured>,
) -> Result<()> {
    let ours = workload.run(duramen, case)?;
    let theirs = workload.run(mariadb, case)?;
    for (i, (our, their)) in ours.into_iter().zip(theirs).enumerate() {
        let rates = Round { duramen: our.per_second, mariadb: their.per_second };
        println!(
            "      {:44} {:>9.1}/s {:>9.1}/s  {:.2} times",
            our.label,
            rates.duramen,
            rates.mariadb,
            rates.duramen / rates.mariadb
        );
        if measured.len() <= i {
            measured.push(Measured { label: our.label, rounds: Vec::new() });
        }
        measured[i].rounds.push(rates);
    }
    Ok(())
}
