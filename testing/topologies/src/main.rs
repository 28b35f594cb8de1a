//! `cargo xtask topologies`: replicas, chains, channels, rings and switches that may not diverge.

use servers::ServerKind;
use servers::arguments::{self, seed_of_the_clock};
use std::process::ExitCode;
use std::time::Duration;
use topologies::{Options, Outcome, Result, failover, isolation, plan, random, run, switch};

const HELP: &str = "\
cargo xtask topologies [NAME ..] [OPTIONS]

  duramen, mysql, mariadb        a chain of three, Duramen in the middle
  channels, channels-of-peers    two sources into one, and a replica of that
  ring, ring-with-mysql          two that follow each other, both written to
  kills, kills-behind-mysql, kills-behind-mariadb
                                 a chain of which only the middle is killed
  switch, switch-with-mysql      a semi-synchronous source that changes, planned and lost
  failover                       three servers, killed, frozen and cut off, whose source changes by `duramen failover`;
                                 needs root, for networks of their own
  isolation                      one server: which anomalies it has at each isolation level (`--source`)
  random                         a replica behind a source of random statements (`--source`)
  all                            each of these, one after another

  --seconds N       how long the load works in each (default 900)
  --kills N         how often a server is killed in this time (default: every 5 seconds)
  --seed S          what they draw from (default: of the clock; it is printed)
  --source KIND     mysql, mariadb or duramen, of `random` and `isolation` (default mysql)
  --binary PATH     the duramen to start, if not the one beside this program

Topologies with a MySQL need DURAMEN_MYSQLD, which names its server.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(|command| command.map_or(Ok(true), |command| all(&command))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("topologies: {e}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    names: Vec<String>,
    source: ServerKind,
    options: Options,
}

fn parse(args: &[String]) -> Result<Option<Command>> {
    let count = args.iter().take_while(|arg| !arg.starts_with('-') && *arg != "help").count();
    let (names, args) = args.split_at(count);
    let (mut seconds, mut kills) = (900, None);
    let (mut seed, mut binary, mut source) = (seed_of_the_clock()?, None, ServerKind::MySql);
    let runs = arguments::options(args, HELP, |name, value| {
        match name {
            "--seconds" => seconds = value.parse()?,
            "--kills" => kills = Some(value.parse()?),
            "--seed" => seed = value.parse()?,
            "--source" => {
                let kinds = [ServerKind::MySql, ServerKind::MariaDb, ServerKind::Duramen];
                let kind = kinds.into_iter().find(|kind| kind.name() == value);
                source = kind.ok_or_else(|| format!("--source is mysql, mariadb or duramen, not {value}"))?;
            }
            "--binary" => binary = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !runs {
        return Ok(None);
    }
    let options = Options {
        time: Duration::from_secs(seconds),
        seed,
        kills: kills.unwrap_or(seconds.div_ceil(5)),
        binary,
        folder: Default::default(),
    };
    let names = match names {
        [] => return Err(format!("which topology?\n{HELP}").into()),
        [all] if all == "all" => {
            plan::NAMES.iter().chain(&switch::NAMES).map(|&name| name.to_owned()).collect()
        }
        names => names.to_vec(),
    };
    Ok(Some(Command { names, source, options }))
}

/// Runs topologies one after another; true if nothing was found.
fn all(Command { names, source, options }: &Command) -> Result<bool> {
    let mut is_well = true;
    for name in names {
        let folder = tempfile::tempdir()?;
        let options = Options { folder: folder.path().to_owned(), ..options.clone() };
        println!("\n{name}: {} s, {} kills, seed {}", options.time.as_secs(), options.kills, options.seed);
        let outcome = one(name, *source, &options)?;
        outcome.lines.iter().for_each(|line| println!("  {line}"));
        outcome.findings.iter().for_each(|finding| println!("\n{finding}"));
        println!("{name}: {} findings", outcome.findings.len());
        if !outcome.findings.is_empty() {
            is_well = false;
            println!("seed {}; data and error logs are in {}", options.seed, folder.keep().display());
        }
    }
    Ok(is_well)
}

fn one(name: &str, source: ServerKind, options: &Options) -> Result<Outcome> {
    if name == "random" {
        return Ok(random::run(source, options));
    }
    if name == "failover" {
        return Ok(failover::run(options));
    }
    if name == "isolation" {
        return Ok(isolation::run(source, options));
    }
    if switch::NAMES.contains(&name) {
        return Ok(switch::run(name, options));
    }
    let plan = plan::of(name).ok_or_else(|| format!("no topology is called `{name}`\n{HELP}"))?;
    Ok(run(plan, options))
}
