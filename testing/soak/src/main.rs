//! `cargo xtask soak`: random SQL from several sessions.

use servers::arguments::{self, seed_of_the_clock};
use soak::{Options, Result};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
cargo xtask soak [OPTIONS]

  --minutes N       how long (default 15)
  --sessions N      sessions at once (default 8)
  --hostile N       hostile sessions beside them (default 3)
  --text BYTES      the longest texts of hostile sessions (default 30000000)
  --grace SECONDS   how soon a hostile statement has to end after KILL (default 1; 10 in a debug build)
  --seed S          what they draw from (default: of the clock; it is printed)
  --memory MIB      bound of the server's resident memory (default 6144: sorts of 256 MiB in each session, and 512 of cache)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(|options| options.map_or(Ok(true), |o| soak(&o))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("soak: {e}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Option<Options>> {
    let seed = seed_of_the_clock()?;
    let mut options = Options {
        time: Duration::from_secs(900),
        sessions: 8,
        hostile: 3,
        text_max: 30_000_000,
        grace: Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 }),
        seed,
        memory_mib_max: 6144,
    };
    let runs = arguments::options(args, HELP, |name, value| {
        match name {
            "--minutes" => options.time = Duration::from_secs_f64(value.parse::<f64>()? * 60.0),
            "--sessions" => options.sessions = value.parse()?,
            "--hostile" => options.hostile = value.parse()?,
            "--text" => options.text_max = value.parse()?,
            "--grace" => options.grace = Duration::from_secs_f64(value.parse()?),
            "--seed" => options.seed = value.parse()?,
            "--memory" => options.memory_mib_max = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(runs.then_some(options))
}

/// Soaks and reports; true if nothing was found.
fn soak(options: &Options) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    println!("seed {}", options.seed);
    let outcome = soak::run(folder.path(), options)?;
    println!("{outcome}");
    if !outcome.findings.is_empty() {
        println!("data and error log are in {}", folder.keep().display());
    }
    Ok(outcome.findings.is_empty())
}
