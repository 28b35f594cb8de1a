//! `duramen compare`: whether two servers hold the same rows at one place of the first one's log.
//!
//! 1. align (`align.rs`): both are read in snapshots, the second one's where it has applied just
//!    what the first one's has.
//! 2. pair (`pairs.rs`): the tables of both, and what of their columns can be compared.
//! 3. sum (`work.rs`): each chunk of a table is counted and summed by the servers, in several
//!    sessions; where the sums differ, the rows' digests are fetched (`rows.rs`).
//! 4. report (`report.rs`).
//!
//! (C1) Equal means equal: every column of every row is in the sums, or the report names what is
//!      not.
//! (C2) Nothing is changed. With `--pause` the second server's applier stops for a moment, and is
//!      started again in any case.

mod align;
mod help;
mod pairs;
mod report;
mod rows;
mod work;

pub(crate) use help::TEXT as HELP;

use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::{ToolError, printable};
use crate::remote::Remote;
use crate::remote::place::Facts;
use align::Alignment;
use env::{Env, RealEnv};
use report::Report;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// It could not be done.
const FAILED: u8 = 3;

/// How long a server may take for the rows of a chunk, which may be a whole table.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What the command line asks for.
struct Options {
    databases: Vec<String>,
    tables: Vec<String>,
    threads: usize,
    /// Rows of a chunk, if it is said.
    chunk_rows: Option<u64>,
    /// So many keys of a table are listed.
    shown: usize,
    alignment: Alignment,
    /// How long the second server may take to get where the first one is.
    wait: Duration,
}

impl Options {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let alignment = match (arguments.has("pause"), arguments.has("at-rest")) {
            (false, false) => Alignment::Wait,
            (true, false) => Alignment::Pause,
            (false, true) => Alignment::WithoutWriters,
            (true, true) => return Err(arguments.wrong("--pause and --at-rest exclude each other".into())),
        };
        let list = |name| arguments.values(name).flat_map(|v| v.split(',')).map(str::to_owned).collect();
        Ok(Self {
            databases: list("database"),
            tables: list("table"),
            threads: arguments.positive("threads")?.unwrap_or(4).min(64) as usize,
            chunk_rows: arguments.positive("chunk-rows")?,
            shown: arguments.number("rows")?.unwrap_or(20) as usize,
            alignment,
            wait: Duration::from_secs(arguments.number("wait")?.unwrap_or(60)),
        })
    }
}

/// Does what the arguments after `duramen compare` ask. Exit codes: see its help.
pub fn run(args: &[String]) -> ExitCode {
    match compare(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramen compare: {}", printable(&error.to_string()));
            ExitCode::from(FAILED)
        }
    }
}

const OPTIONS: [Takes; 11] = [
    Takes::Nothing("json"),
    Takes::Nothing("pause"),
    Takes::Nothing("at-rest"),
    Takes::Value("user"),
    Takes::Value("password"),
    Takes::Value("database"),
    Takes::Value("table"),
    Takes::Value("threads"),
    Takes::Value("chunk-rows"),
    Takes::Value("rows"),
    Takes::Value("wait"),
];

fn compare(args: &[String]) -> Result<u8, ToolError> {
    let mut out = std::io::stdout();
    if args.iter().any(|arg| matches!(&**arg, "--help" | "-h" | "-?")) {
        out.write_all(help::TEXT.as_bytes())?;
        return Ok(0);
    }
    let arguments = Arguments::parse("compare", args, &OPTIONS, &[])?;
    let options = Options::of(&arguments)?;
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let [first, second] = &arguments.files[..] else {
        return Err(
            arguments.wrong("give two servers: SOURCE and REPLICA, each as HOST:PORT or a URL".into())
        );
    };
    let [source, replica] = [first, second].map(|text| Remote::parse(&env, text, &arguments));
    let source = Side::of(source?.with_patience(PATIENCE))?;
    let replica = Side::of(replica?.with_patience(PATIENCE))?;
    let mut aligned = align::align(&env, &source, &replica, &options)?;
    let mut report = Report::new(&source, &replica, &aligned);
    let tables = pairs::find(&mut aligned, &options, &mut report)?;
    work::compare(&env, aligned, tables, &options, &mut report)?;
    let text = if arguments.has("json") { report.json() } else { printable(&report.text()) };
    out.write_all(text.as_bytes())?;
    Ok(report.exit_code())
}

/// One of the two servers.
struct Side {
    remote: Remote,
    facts: Facts,
}

impl Side {
    fn of(remote: Remote) -> Result<Self, ToolError> {
        let facts = Facts::of(&mut remote.session()?)?;
        Ok(Self { remote, facts })
    }
}
