//! The binary `duramen`: sub-commands.

use env::RealEnv;
use server::manual::{self, USAGE};
use server::options::{self, Command};
use std::process::ExitCode;
use std::sync::Arc;

/// Statements are bounded by what their threads take.
#[global_allocator]
static ALLOCATOR: stdx::memory::Counting = stdx::memory::Counting;

fn main() -> ExitCode {
    env::memory::configure_allocator();
    let args: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match args.first().map(String::as_str) {
        Some("serve") => serve(&args[1..]),
        Some("probe") => probe(&args[1..]),
        Some("backup") => server::backup::run(&args[1..]),
        Some("restore") => server::backup::restore(&args[1..]),
        Some("binlog") => server::log_tool::run(&args[1..]),
        Some("check") => server::repair::check(&args[1..]),
        Some("check-schema") => server::check_schema::run(&args[1..]),
        Some("replicate") => server::replicate::run(&args[1..]),
        Some("compare") => server::compare::run(&args[1..]),
        Some("failover") => server::failover::run(&args[1..]),
        Some("repair") => server::repair::repair(&args[1..]),
        Some("upgrade-check") => server::repair::upgrade_check(&args[1..]),
        Some("completions") => manual::run_completions(&args[1..]),
        Some("manual") => manual::run_manual(&args[1..]),
        Some("--version" | "-V" | "version") => version(),
        Some("--help" | "-h" | "-?" | "help") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::FAILURE
        }
        Some(other) => {
            let nearest = stdx::suggest::nearest(other, manual::names().chain(["version", "help"]));
            let hint = nearest.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            eprintln!("duramen: unknown command '{other}'{hint}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn version() -> ExitCode {
    println!("duramen {}", env!("CARGO_PKG_VERSION"));
    ExitCode::SUCCESS
}

fn probe(args: &[String]) -> ExitCode {
    match server::probe::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramen probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &[String]) -> ExitCode {
    match options::parse(&RealEnv, args) {
        Ok(Command::Help { verbose }) => {
            print!("{}", options::help::text(verbose));
            ExitCode::SUCCESS
        }
        Ok(Command::Version) => version(),
        Ok(Command::Serve(options)) => match server::server::run(Arc::new(RealEnv), options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("duramen: {error}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("duramen: {error}");
            ExitCode::FAILURE
        }
    }
}
