//! `cargo xtask definitions`: definitions at the edges, until the server doesn't keep one.

use definitions::Result;
use definitions::batch::Place;
use definitions::run::{Options, run};
use servers::arguments::{self, seed_of_the_clock};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
cargo xtask definitions [OPTIONS]

  --count N         ends when so many definitions were accepted (default 10000)
  --minutes M       ends after this time (default 60)
  --seed S          what the cases are drawn from (default: of the clock; it is printed)
  --case C          this case alone, by the number that its finding told
  --batch N         cases between restarts (default 200)
  --most N          findings after which the run ends (default 10)
  --binary PATH     another server than the one built beside this program
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(|told| told.map_or(Ok(true), |(options, binary)| define(&options, binary))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("definitions: {e}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Option<(Options, Option<std::path::PathBuf>)>> {
    let seed = seed_of_the_clock()?;
    let mut options =
        Options { seed, first: 1, definitions: 10_000, time: Duration::from_secs(3600), batch: 200, most: 10 };
    let mut binary = None;
    let runs = arguments::options(args, HELP, |name, value| {
        match name {
            "--count" => options.definitions = value.parse()?,
            "--minutes" => options.time = Duration::from_secs_f64(value.parse::<f64>()? * 60.0),
            "--seed" => options.seed = value.parse()?,
            "--case" => (options.first, options.batch, options.definitions) = (value.parse()?, 1, 1),
            "--batch" => options.batch = value.parse()?,
            "--most" => options.most = value.parse()?,
            "--binary" => binary = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(runs.then_some((options, binary)))
}

/// Runs and tells; true if nothing was found.
fn define(options: &Options, binary: Option<std::path::PathBuf>) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    println!("seed {}", options.seed);
    let place = Place { folder: folder.path().to_owned(), binary };
    let outcome = run(&place, options, |finding| println!("\n{}", finding.text))?;
    println!("\n{outcome}");
    Ok(outcome.findings.is_empty())
}
