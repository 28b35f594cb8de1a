//! `duramen binlog`: binary log files read, verified, measured, searched, cut, and replayed to a
//! point in time.
//!
//! Files are those of MySQL, MariaDB or Duramen. Each command reads them from front to back, event
//! by event: memory is bounded by the largest event, whatever the files' sizes. No command changes
//! a file that it reads.
//!
//! Reading order: [`arguments`], [`input`] (which files, and which of their events), then a module
//! for each command. Elsewhere: events as text and JSON, and reading a file (`binlog`). The
//! commands are described in docs/binlog-tool.md.

pub(crate) mod arguments;
mod cut;
mod find;
mod group;
mod help;
mod input;
pub(crate) mod output;
pub(crate) mod point;
mod print;
pub(crate) mod replay;
mod rewrite;
mod stats;
mod stream;
mod transactions;
mod verify;

pub(crate) use transactions::end_of_log;

pub(crate) use help::OVERVIEW;

use crate::encryption::with_keys;
use binlog::file::FileError;
use env::Env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use thiserror::Error;

/// Compressed statements, rows and events may have so many bytes: as the longest event that is
/// read.
const EXPANDED_MAX: usize = binlog::event::EVENT_LENGTH_MAX as usize;

/// Why a command can't do what it was asked.
#[derive(Debug, Error)]
pub enum ToolError {
    /// The command line.
    #[error("{0}")]
    Options(String),
    /// A binary log file.
    #[error("{file}: {source}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong.
        source: FileError,
    },
    /// Any other file.
    #[error("can't {action} '{}': {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// Standard output: it is full, or its reader closed the pipe.
    #[error("can't write: {0}")]
    Output(#[from] io::Error),
    /// The request can't be fulfilled; the text says everything.
    #[error("{0}")]
    Refused(String),
}

/// A text for a terminal: what another server says may have control characters in it.
pub(crate) fn printable(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match is_harmless(c) {
            true => out.push(c),
            false => out.extend(c.escape_default()),
        }
        out
    })
}

impl ToolError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// True if the reader of the output closed the pipe, as `head` does.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// What a command found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Damage, or nothing found: reported, and exit code 1.
    Bad,
}

/// The help of `binlog` and of each of its commands, with their names.
pub(crate) fn helps() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = [
        ("binlog print", "print"),
        ("binlog verify", "verify"),
        ("binlog stats", "stats"),
        ("binlog find", "find"),
        ("binlog cut", "cut"),
        ("binlog rewrite", "rewrite"),
        ("binlog replay", "replay"),
    ];
    std::iter::once(("binlog", OVERVIEW)).chain(parts.into_iter().map(|(name, part)| (name, help::of(part))))
}

const COMMANDS: [&str; 8] = ["print", "verify", "stats", "find", "cut", "rewrite", "replay", "help"];

/// Does what the arguments after `duramen binlog` ask. Exit codes: 0 for done, 1 for damage or
/// nothing found, 2 for what can't be done.
pub fn run(args: &[String]) -> ExitCode {
    match with_keys(args, command) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::from(1),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramen binlog: {error}");
            ExitCode::from(2)
        }
    }
}

fn command(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let Some((name, rest)) = args.split_first() else {
        return Err(ToolError::Options(format!("a command is missing\n\n{}", help::OVERVIEW)));
    };
    if rest.iter().any(|arg| matches!(&**arg, "--help" | "-h" | "-?")) {
        return print_help(help::of(name));
    }
    match name.as_str() {
        "print" => print::run(env, rest),
        "verify" => verify::run(env, rest),
        "stats" => stats::run(env, rest),
        "find" => find::run(env, rest),
        "cut" => cut::run(env, rest),
        "rewrite" => rewrite::run(env, rest),
        "replay" => replay::run(env, rest),
        "--help" | "-h" | "-?" => print_help(help::OVERVIEW),
        "help" => print_help(rest.first().map_or(help::OVERVIEW, |name| help::of(name))),
        other => {
            let nearest = stdx::suggest::nearest(other, COMMANDS);
            let hint = nearest.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            Err(ToolError::Options(format!("unknown command '{other}'{hint}\n\n{}", help::OVERVIEW)))
        }
    }
}

fn print_help(text: &str) -> Result<Outcome, ToolError> {
    use std::io::Write as _;
    io::stdout().write_all(text.as_bytes())?;
    Ok(Outcome::Done)
}
