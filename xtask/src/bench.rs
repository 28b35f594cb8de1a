//! `cargo xtask bench`: workloads run by the real client programs against Duramen, a MariaDB that
//! is started here, and any server given by its address; in turn, several times, at the same
//! durability, on the same file system, on this disk or one that is slower.
//!
//! Reading order: [`options`], [`workload`] (what a workload is), [`contender`] (a server that
//! takes part), [`measure`] (how cells are run), [`results`] (what comes of them), [`relative`] (in
//! multiples of one cell), [`shape`] (compared with what was published), [`report`] (how it is
//! printed). Workloads: [`slap`] is W1 and W4's inserts, [`oltp`] is W2, W3, W4's updates, W5, and
//! what durability costs; [`hot_row`], [`hot_parent`], [`one_client`], [`cpu`], [`sysbench`] (its
//! bundled tests),
//! [`tpcc`], [`dump`], [`followers`], [`replica`]. [`flush`] measures flushes alone, [`callgrind`]
//! counts instructions, [`session`] is a client without a program, [`machine`] says what all is
//! measured on.
//!
//! What counts are ratios of the same round: the machine's noise hits all servers. A rate alone
//! says more about the machine than about the server.

mod callgrind;
mod contender;
mod cpu;
mod dump;
mod failover_times;
mod flush;
mod followers;
mod hot_parent;
mod hot_row;
mod machine;
mod measure;
mod oltp;
mod one_client;
mod options;
mod relative;
mod replica;
mod report;
mod results;
mod session;
mod shape;
mod slap;
mod sysbench;
mod tpcc;
mod workload;

use crate::{Result, packages};
use machine::Machine;
use measure::Progress;
use options::{HELP, Options};
use report::Promises;
use std::process::Command;
use workload::Workload;

/// Where the servers' data are, and what is measured of the disk: a link to a folder elsewhere does
/// too.
pub const SERVERS: &str = "target/bench/servers";

/// Runs the workloads that `args` name.
pub fn run(args: &[String]) -> Result<()> {
    if let [command, rest @ ..] = args
        && command == flush::COMMAND
    {
        return flush::child(rest);
    }
    if let [command, files @ ..] = args
        && command == "failover-times"
    {
        return failover_times::run(files);
    }
    let Some(options) = Options::parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    let workloads = options.workloads()?;
    packages::ensure(packages::FOR_BENCH)?;
    build(&workloads, &options)?;
    std::fs::create_dir_all(&options.out)?;
    std::fs::create_dir_all(SERVERS)?;
    let machine = Machine::of_this(&options)?;
    println!("{}", machine.text());
    let mut progress = Progress::new(&workloads, &options);
    let (mut promises, mut failed) = (Promises::default(), Vec::new());
    for workload in &workloads {
        // One that fails leaves the figures of the others.
        let done = measure::measure(workload.as_ref(), &options, &mut progress).and_then(|measured| {
            report::print(workload.as_ref(), &measured);
            promises.add(workload.as_ref(), &measured);
            report::write(workload.as_ref(), &measured, &machine, &options)
        });
        if let Err(e) = done {
            eprintln!("{} failed: {e}", workload.name());
            failed.push(workload.name());
        }
    }
    promises.write_reports(&machine, &options)?;
    report::write_index(&options.out)?;
    println!("tables and plots are in {}", options.out.display());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// Builds what is run: the server, and the driver of TPC-C where that is asked for.
fn build(workloads: &[Box<dyn Workload>], options: &Options) -> Result<()> {
    let mut binaries = Vec::new();
    if options.duramen.is_none() {
        binaries.extend(["--bin", "duramen"]);
    }
    if workloads.iter().any(|w| w.name() == "tpcc") {
        binaries.extend(["--bin", "tpcc"]);
    }
    if binaries.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--profile", &options.profile]).args(binaries);
    if command.status()?.success() { Ok(()) } else { Err("building what is measured failed".into()) }
}
