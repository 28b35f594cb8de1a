//! What the commands that work on files share: their command lines, their exit, and the names of
//! files.

use crate::log_tool::ToolError;
use crate::log_tool::arguments::Arguments;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code where it could not be done.
const FAILED: u8 = 3;

/// The exit code of `duramen COMMAND`, whose error is told.
pub(crate) fn exit(command: &str, outcome: Result<u8, ToolError>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramen {command}: {error}");
            ExitCode::from(FAILED)
        }
    }
}

pub(crate) fn asks_for_help(args: &[String]) -> bool {
    args.iter().any(|arg| matches!(&**arg, "--help" | "-h" | "-?"))
}

pub(crate) fn print(text: &str) -> Result<(), ToolError> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// A folder that an option names, of a command that takes options alone.
pub(crate) fn folder(arguments: &Arguments, name: &str, what: &str) -> Result<PathBuf, ToolError> {
    if let Some(file) = arguments.files.first() {
        return Err(arguments.wrong(format!("'{file}' is no option")));
    }
    let value = arguments.value(name).map(PathBuf::from);
    value.ok_or_else(|| arguments.wrong(format!("--{name} is missing: {what}")))
}

/// A path without symbolic links and `..`, as far as it is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        // It ends with `..`.
        (Err(_), Some(parent), None) => real(parent).parent().map_or(path.clone(), Path::to_owned),
        _ => path,
    }
}

/// A file's name without the folder.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The number in a log file's name.
pub(crate) fn log_number(name: &str, base_name: &str) -> Option<u32> {
    let digits = name.strip_prefix(base_name)?.strip_prefix('.')?;
    let is_number = digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Runs `work` in so many threads, this one among them; the first error counts.
pub(crate) fn in_threads<E: Send>(jobs: usize, work: impl Fn() -> Result<(), E> + Sync) -> Result<(), E> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..jobs).map(|_| scope.spawn(&work)).collect();
        let mut outcome = work();
        for thread in threads {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(ended);
        }
        outcome
    })
}

/// The one index of binary logs among a folder's files; `None` if there is none, or several.
pub(crate) fn log_index(inside: &[PathBuf]) -> Option<&PathBuf> {
    let mut indexes = inside.iter().filter(|path| path.extension().is_some_and(|e| e == "index"));
    indexes.next().filter(|_| indexes.next().is_none())
}

/// The names of the log files that an index lists, oldest first.
pub(crate) fn listed_logs(index: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(index);
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
    names.map(|name| name.trim_start_matches("./").to_owned()).collect()
}
