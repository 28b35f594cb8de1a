//! `cargo xtask test`: what a change has to pass, in the order in which a mistake shows soonest.

use crate::{Result, drivers, packages, readers, tidy};
use std::process::Command;
use std::time::Instant;

/// Runs everything; stops at the first step that fails.
pub fn run(args: &[String]) -> Result<()> {
    // Seeds of the crash tests, kills of the real server, share of the published workloads.
    let (seeds, rounds, scale) = match args {
        [] => ("10000", "50", "0.1"),
        [flag] if flag == "--quick" => ("200", "3", "0.01"),
        [flag] if flag == "--full" => ("10000", "50", "1"),
        other => {
            return Err(
                format!("`cargo xtask test` knows --quick and --full, not `{}`", other.join(" ")).into()
            );
        }
    };
    packages::ensure(packages::FOR_TESTS)?;
    drivers::run()?;
    readers::run()?;
    tidy::run()?;
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    // The binary first: the tests of the server start it as its users do.
    cargo(&["build", "--profile", "checked", "--bin", "duramen"], &[])?;
    let amounts = [
        ("DURAMEN_SEEDS", seeds),
        ("CRASH_SEEDS", seeds),
        ("DURAMEN_KILL_ROUNDS", rounds),
        ("DURAMEN_SCALE", scale),
    ];
    cargo(&["test", "--profile", "checked", "--workspace", "--no-fail-fast"], &amounts)
}

fn cargo(args: &[&str], vars: &[(&str, &str)]) -> Result<()> {
    println!("\n== cargo {}", args.join(" "));
    let started = Instant::now();
    let status = Command::new(env!("CARGO")).args(args).envs(vars.iter().copied()).status()?;
    println!("== {:.0} s", started.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", args.join(" ")).into()) }
}
