//! `cargo xtask definitions`: definitions at the edges, until the server doesn't keep one.

use definitions::batch::TestBed;
use definitions::replica::{self, Wanted};
use definitions::run::{Options, run};
use definitions::{Result, kills, launch, rot};
use servers::arguments::{self, seed_of_the_clock};
use std::path::PathBuf;
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
  --reduce N        times that a finding's statements are run again to make them fewer (default 150)
  --replay yes      the log is replayed behind a copy from before, too (duramen binlog replay)
  --kills ROUNDS    instead: sessions that rebuild, index, rename and drop while the server is killed so often
  --rot TRIALS      instead: files of a data directory damaged, one at a time, and the server started on each
  --replica WHICH   instead: a replica follows by GTID, and is compared: mysql (DURAMEN_MYSQLD, or mysqld on the PATH),
                    mariadb, or one that runs and may be reset, as in mysql:user:password@127.0.0.1:3306
  --binary PATH     another server than the one built beside this program
";

/// What the person asked for.
struct Asked {
    options: Options,
    kills: Option<u64>,
    trials: Option<u64>,
    replica: Option<Wanted>,
    replays: bool,
    binary: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(|asked| asked.map_or(Ok(true), |asked| answer(&asked))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("definitions: {e}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Option<Asked>> {
    let options = Options { seed: seed_of_the_clock()?, ..Options::default() };
    let mut asked = Asked { options, kills: None, trials: None, replica: None, replays: false, binary: None };
    let runs = arguments::options(args, HELP, |name, value| {
        let options = &mut asked.options;
        match name {
            "--count" => options.definitions = value.parse()?,
            "--minutes" => options.time = Duration::from_secs_f64(value.parse::<f64>()? * 60.0),
            "--seed" => options.seed = value.parse()?,
            "--case" => (options.first, options.batch, options.definitions) = (value.parse()?, 1, 1),
            "--batch" => options.batch = value.parse()?,
            "--most" => options.most = value.parse()?,
            "--reduce" => options.attempts = value.parse()?,
            "--replay" => asked.replays = arguments::yes_or_no(value)?,
            "--kills" => asked.kills = Some(value.parse()?),
            "--replica" => asked.replica = Some(Wanted::parse(value)?),
            "--rot" => asked.trials = Some(value.parse()?),
            "--binary" => asked.binary = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(runs.then_some(asked))
}

/// Runs and reports; true if nothing was found.
fn answer(asked: &Asked) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let seed = asked.options.seed;
    println!("seed {seed}");
    if let Some(rounds) = asked.kills {
        let launch = launch(folder.path(), asked.binary.as_ref())?;
        let outcome = kills::run(launch, &kills::Options { rounds, seed, sessions: 4 });
        if outcome.is_err() {
            println!("data and error log are in {}", folder.keep().display());
        }
        println!("{:?}", outcome?);
        return Ok(true);
    }
    if let Some(wanted) = &asked.replica {
        let outcome =
            replica::run(folder.path(), asked.binary.as_ref(), wanted, &asked.options, |finding| {
                println!("\n{}", finding.text);
            })?;
        println!("\n{outcome}");
        return Ok(outcome.findings.is_empty());
    }
    let test_bed =
        TestBed { folder: folder.path().to_owned(), binary: asked.binary.clone(), replays: asked.replays };
    if let Some(trials) = asked.trials {
        let outcome = rot::run(&test_bed, &rot::Options { trials, seed }, |finding| println!("\n{finding}"))?;
        println!("\n{outcome}");
        return Ok(outcome.findings.is_empty());
    }
    let outcome = run(&test_bed, &asked.options, |finding| println!("\n{}", finding.text))?;
    println!("\n{outcome}");
    Ok(outcome.findings.is_empty())
}
