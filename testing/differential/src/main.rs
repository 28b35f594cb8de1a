//! `cargo xtask differential`: random statements on Duramen and on MariaDB, until one differs.

use differential::Result;
use differential::peers::{How, Peers};
use differential::run::{Options, run};
use servers::arguments::{self, seed_of_the_clock, yes_or_no};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
cargo xtask differential [OPTIONS]

  --statements N        how many are compared, about (default 100000)
  --seed S              what the episodes are drawn from (default: of the clock; it is printed)
  --episode E           one episode alone, by the seed that its finding told
  --reduce SECONDS      how long a finding is reduced (default 20)
  --judge ADDRESS       asks this MySQL about findings too: USER:PASSWORD@HOST:PORT
  --against ADDRESS     compares with this MySQL, not with a MariaDB; the user may change and drop everything
  --prepared yes        statements are prepared, their literals parameters, and queries executed twice
  --definitions yes     definitions of columns and warnings are compared too, beside a MySQL; what differs is listed
  --types yes           types of columns are compared too
  --queries yes         queries alone, of tables that are filled once
  --views yes           tables are read and changed through views, too; beside a MySQL
  --triggers yes        changes of tables run triggers; beside a MySQL
  --routines yes        stored functions and procedures are made and used; beside a MySQL, which needs
                        log_bin_trust_function_creators if it has a binary log
  --foreign-keys yes    tables refer to each other; beside a MySQL 9.7, for others take references in another order
  --most N              findings after which the run ends (default 20)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(|command| command.map_or(Ok(true), |c| compare(&c))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("differential: {e}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    options: Options,
    judge: Option<String>,
    against: Option<String>,
    how: How,
}

fn parse(args: &[String]) -> Result<Option<Command>> {
    let mut options = Options { statements: 100_000, seed: seed_of_the_clock()?, ..Options::default() };
    let (mut judge, mut against, mut how) = (None, None, How::default());
    let runs = arguments::options(args, HELP, |name, value| {
        match name {
            "--statements" => options.statements = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--episode" => options.episode = Some(value.parse()?),
            "--reduce" => options.reduction = Duration::from_secs(value.parse()?),
            "--judge" => judge = Some(value.to_owned()),
            "--against" => against = Some(value.to_owned()),
            "--prepared" => how.is_prepared = yes_or_no(value)?,
            "--types" => how.with_types = yes_or_no(value)?,
            "--definitions" => how.with_definitions = yes_or_no(value)?,
            "--views" => options.views = yes_or_no(value)?,
            "--triggers" => options.triggers = yes_or_no(value)?,
            "--routines" => options.routines = yes_or_no(value)?,
            "--foreign-keys" => options.foreign_keys = yes_or_no(value)?,
            "--queries" => options.queries_alone = yes_or_no(value)?,
            "--most" => options.most = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(runs.then_some(Command { options, judge, against, how }))
}

/// Runs and reports; true if nothing was found.
fn compare(Command { options, judge, against, how }: &Command) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let mut peers = Peers::start(folder.path(), against.as_deref())?;
    peers.how = *how;
    if let Some(address) = judge {
        peers = peers.with_judge(address)?;
    }
    println!("seed {}", options.seed);
    let summary = run(&mut peers, options, |finding| println!("\n{finding}"))?;
    println!("\n{summary}");
    Ok(summary.findings.is_empty() && summary.panics.is_empty())
}
