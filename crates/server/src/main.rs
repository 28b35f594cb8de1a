//! The binary `duramen`: sub-commands.

use env::RealEnv;
use server::options::{self, Command};
use std::process::ExitCode;
use std::sync::Arc;

/// Statements are bounded by what their threads take.
#[global_allocator]
static ALLOCATOR: stdx::memory::Counting = stdx::memory::Counting;

const USAGE: &str = "\
duramen: a database server that speaks MySQL's protocol and whose binary log is its only log.

    duramen serve            run the server; 'duramen serve --help' tells its options
    duramen probe            tell what full durability will cost on this disk; 'duramen probe --help' tells more
    duramen backup           back up a server, running or not; list, verify and remove backups; 'duramen backup --help' tells how
    duramen restore          make a data directory of a backup, as it was at any moment; 'duramen restore --help' tells how
    duramen binlog           read, verify, cut and replay binary log files; 'duramen binlog --help' tells more
    duramen check            examine a data directory that no server runs on: what is sound, damaged, lost
    duramen check-schema     tell what of a schema written for MySQL would be refused or differ, before anything is made
    duramen replicate        copy all databases of a running server and follow it; 'duramen replicate --help' tells how
    duramen compare          tell whether two servers hold the same rows, and which differ
    duramen failover         make a replica the source, planned or because the source is lost; 'duramen failover --help' tells how
    duramen repair           make a new data directory of one that is damaged; 'duramen repair --help' tells how
    duramen --version        tell the version
    duramen --help           tell this
";

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
            let nearest = stdx::suggest::nearest(
                other,
                [
                    "serve",
                    "probe",
                    "backup",
                    "restore",
                    "binlog",
                    "check",
                    "check-schema",
                    "compare",
                    "failover",
                    "repair",
                    "replicate",
                    "version",
                    "help",
                ],
            );
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
