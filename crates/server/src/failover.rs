//! `duramen failover`: another server becomes the source.
//!
//! 1. ask (`fleet.rs`): all servers that were named say who they are, and whom they follow.
//! 2. decide (`plan.rs`): who is promoted, and whether that loses nothing. No server is changed.
//! 3. carry out (`steps.rs`): fence, catch up, promote, follow, open.

mod fleet;
mod help;
mod plan;
mod steps;

pub(crate) use help::TEXT as HELP;

use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::{ToolError, printable};
use crate::remote::Remote;
use crate::tool;
use env::{Env, RealEnv};
use plan::Wishes;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use steps::{Account, Failover};

const OPTIONS: [Takes; 11] = [
    Takes::Value("to"),
    Takes::Nothing("dry-run"),
    Takes::Value("wait"),
    Takes::Nothing("source-is-off"),
    Takes::Nothing("accept-loss"),
    Takes::Nothing("skip-own-transactions"),
    Takes::Value("waited-for"),
    Takes::Value("replication-user"),
    Takes::Value("replication-password"),
    Takes::Value("user"),
    Takes::Value("password"),
];

/// How long a statement may take beside what `--wait` says.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that has not answered for so long when it is asked first counts as one that does not.
const LOGIN: Duration = Duration::from_secs(5);

/// Does what the arguments after `duramen failover` ask. Exit codes: see its help.
pub fn run(args: &[String]) -> ExitCode {
    tool::exit("failover", failover(args))
}

fn failover(args: &[String]) -> Result<u8, ToolError> {
    if tool::asks_for_help(args) {
        tool::print(help::TEXT)?;
        return Ok(0);
    }
    let arguments = Arguments::parse("failover", args, &OPTIONS, &[])?;
    if arguments.files.len() < 2 {
        return Err(arguments.wrong("name all servers of the group: the source and its replicas".into()));
    }
    let wait = Duration::from_secs(arguments.number("wait")?.unwrap_or(60));
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let patience = wait.saturating_add(PATIENCE);
    let remotes = arguments.files.iter().map(|text| {
        Ok(Remote::parse(&env, text, &arguments)?.with_patience(patience).with_login_within(LOGIN))
    });
    let remotes = remotes.collect::<Result<Vec<_>, ToolError>>()?;
    let to = arguments.value("to").map(|text| number_of(&env, text, &remotes, &arguments)).transpose()?;
    let wishes = Wishes {
        to,
        source_is_off: arguments.has("source-is-off"),
        accepts_loss: arguments.has("accept-loss"),
        skips_own: arguments.has("skip-own-transactions"),
        waited_for: arguments.positive("waited-for")?.map(|count| count as usize),
    };
    let account = arguments.value("replication-user").map(|user| Account {
        user: user.to_owned(),
        password: arguments.value("replication-password").unwrap_or_default().to_owned(),
    });
    let (servers, members) = fleet::connect(remotes)?;
    let plan = plan::plan(&members, &wishes)?;
    plan.notes.iter().for_each(|note| println!("Note: {}", printable(note)));
    let mut failover = Failover::new(&env, servers, wait, account);
    if arguments.has("dry-run") {
        print!("{}", printable(&failover.explanation(&plan)));
        println!("Nothing was done (--dry-run).");
        return Ok(0);
    }
    let outcome = failover.carry_out(&plan, &wishes);
    failover.warnings().iter().for_each(|warning| println!("Warning: {}", printable(warning)));
    // A new source whose replicas do not follow may wait for them at each commit.
    outcome.map(|()| u8::from(!failover.warnings().is_empty()))
}

/// Which of the servers `--to` names.
fn number_of(
    env: &Arc<dyn Env>,
    text: &str,
    remotes: &[Remote],
    arguments: &Arguments,
) -> Result<usize, ToolError> {
    let to = Remote::parse(env, text, arguments)?.server();
    remotes
        .iter()
        .position(|remote| remote.server() == to)
        .ok_or_else(|| arguments.wrong(format!("--to={text} is none of the servers that are named")))
}
