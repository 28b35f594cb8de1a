//! Start options: from the command line and my.cnf to the values that the server starts with.
//!
//! 1. [`arguments`] cuts the command line into named options, [`file`] does the same for the files
//!    it names.
//! 2. [`names`] finds what each name means: a system variable, its `skip-` form, or one of the few
//!    others.
//! 3. Files first, then the command line: the last one wins.
//!
//! (O1) An option that is not understood stops the start, with its name, where it stands, and the
//!      nearest right one; the prefix `loose-` makes that a warning.
//!
//! Elsewhere: which options there are and what they take (`sql::variables`), the text of `--help`
//! ([`help`]). MySQL's shortening of option names to any unambiguous beginning is not supported.

mod arguments;
mod file;
pub mod help;
mod names;

use env::Env;
use names::{Meaning, Special};
use sql::replica::FilterOption;
use sql::variables::{GlobalVariables, OptionError, VariableId, ids};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// What the server starts with.
pub struct Options {
    /// Every system variable at its start value.
    pub variables: Arc<GlobalVariables>,
    /// The log files' name in front of their number.
    pub(crate) log_base_name: String,
    /// The Unix socket's path is the user's choice, not ours.
    pub(crate) socket_was_asked_for: bool,
    /// Replication filters.
    pub(crate) filters: Vec<FilterOption>,
    /// What was accepted without effect, to be logged once the log is open.
    pub warnings: Vec<String>,
}

impl Options {
    /// A directory or file that a variable names.
    pub fn path(&self, id: VariableId) -> PathBuf {
        PathBuf::from(&*self.variables.text(id))
    }
}

/// What the command line asks for.
pub enum Command {
    /// Start the server.
    Serve(Options),
    /// Tell of the options; all of them, those without effect too, if `verbose`.
    Help {
        /// Given with `--verbose`.
        verbose: bool,
    },
    /// Tell the version.
    Version,
}

/// Where an option stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    CommandLine,
    File { path: PathBuf, line: usize },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::CommandLine => f.write_str("on the command line"),
            Origin::File { path, line } => write!(f, "in {}, line {line}", path.display()),
        }
    }
}

/// An option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    name: String,
    value: Option<String>,
    origin: Origin,
}

/// What stops the start.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// No such option.
    #[error("unknown option '--{name}' ({origin}){}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// As it was written.
        name: String,
        /// Where.
        origin: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A value that the option does not take.
    #[error("{error} ({origin})")]
    BadValue {
        /// What is wrong with it.
        error: OptionError,
        /// Where.
        origin: String,
    },
    /// Anything else: `{0}` says everything.
    #[error("{0}")]
    Other(String),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "; 'duramen serve --help' lists them".into(),
        |name| format!("; did you mean '--{name}'?"),
    )
}

/// Understands the arguments after `duramen serve`.
pub fn parse(env: &dyn Env, args: &[String]) -> Result<Command, OptionsError> {
    let line = arguments::parse(args)?;
    let asked = |wanted| line.iter().any(|w| names::special(&w.name) == Some(wanted));
    if asked(Special::Help) {
        return Ok(Command::Help { verbose: asked(Special::Verbose) });
    }
    if asked(Special::Version) {
        return Ok(Command::Version);
    }
    let mut options = Options {
        variables: Arc::new(GlobalVariables::new()),
        log_base_name: "binlog".into(),
        socket_was_asked_for: false,
        filters: Vec::new(),
        warnings: Vec::new(),
    };
    for from_file in files(env, &line)? {
        apply(&mut options, &from_file)?;
    }
    for from_line in &line {
        apply(&mut options, from_line)?;
    }
    complete(&mut options);
    Ok(Command::Serve(options))
}

/// The options in the files that the command line names.
fn files(env: &dyn Env, line: &[Written]) -> Result<Vec<Written>, OptionsError> {
    let mut found = Vec::new();
    for written in line.iter().filter(|w| names::special(&w.name) == Some(Special::DefaultsFile)) {
        let path = written.value.as_deref().unwrap_or_default();
        file::read(env, path.as_ref(), &mut found)?;
    }
    Ok(found)
}

fn apply(options: &mut Options, written: &Written) -> Result<(), OptionsError> {
    let (name, loose) = names::without_loose(&written.name);
    let result = match names::meaning(name) {
        Some(Meaning::Variable { id, negated }) => set_variable(options, written, id, negated),
        Some(Meaning::Special(special)) => set_special(options, written, special),
        None => Err(OptionsError::Unknown {
            name: written.name.clone(),
            origin: written.origin.to_string(),
            nearest: names::nearest(name),
        }),
    };
    match result {
        Err(error) if loose => {
            options.warnings.push(error.to_string());
            Ok(())
        }
        result => result,
    }
}

fn set_variable(
    options: &mut Options,
    written: &Written,
    id: VariableId,
    negated: bool,
) -> Result<(), OptionsError> {
    let variable = id.variable();
    let value = match (negated, written.value.as_deref()) {
        (true, None) => Some("OFF"),
        (true, Some(_)) => {
            return Err(OptionsError::Other(format!(
                "'--{}' takes no value ({})",
                written.name, written.origin
            )));
        }
        (false, value) => value,
    };
    let is_log_file = id == ids::GENERAL_LOG_FILE || id == ids::SLOW_QUERY_LOG_FILE;
    if let Some(path) = value.filter(|path| is_log_file && !sql::may_be_statement_log(path)) {
        return Err(OptionsError::Other(format!(
            "'--{}' names '{path}', which does not end in '.log': lines would be appended to it ({})",
            written.name, written.origin
        )));
    }
    if variable.is_harmless() {
        options.warnings.push(format!("{}: {}", variable.name(), variable.help()));
    }
    options
        .variables
        .set_option(id, value)
        .map_err(|error| OptionsError::BadValue { error, origin: written.origin.to_string() })
}

fn set_special(options: &mut Options, written: &Written, special: Special) -> Result<(), OptionsError> {
    match (special, written.value.as_deref()) {
        (Special::LogBin, Some(name)) => {
            let plain = !name.is_empty() && !name.contains(['/', '.', '\0', '\n']);
            if !plain {
                return Err(OptionsError::Other(format!(
                    "'{name}' is no value for log_bin: a name without dots and slashes; log files are in the data \
                     directory ({})",
                    written.origin
                )));
            }
            name.clone_into(&mut options.log_base_name);
        }
        (Special::NoLogBin, _) => {
            return Err(OptionsError::Other(format!(
                "'--{}': the binary log is the database's only log, so it can't be off ({})",
                written.name, written.origin
            )));
        }
        (Special::Filter(rule), value) => {
            let value = value.unwrap_or_default();
            let filter = FilterOption::parse(rule, value).ok_or_else(|| {
                let (name, origin) = (&written.name, &written.origin);
                OptionsError::Other(format!(
                    "'{value}' is no value for {name}: [channel:] and then a database, database.table, or from->to \
                     ({origin})"
                ))
            })?;
            options.filters.push(filter);
        }
        (Special::NoEffect, _) => options.warnings.push(format!("{} has no effect", written.name)),
        _ => {}
    }
    Ok(())
}

/// Fills in what depends on other options.
fn complete(options: &mut Options) {
    let datadir = options.path(ids::DATADIR);
    options.socket_was_asked_for = !options.variables.text(ids::SOCKET).is_empty();
    for (id, file) in [(ids::SOCKET, "duramen.sock"), (ids::PID_FILE, "duramen.pid")] {
        if options.variables.text(id).is_empty() {
            let path = datadir.join(file).to_string_lossy().into_owned();
            options.variables.put(id, sql::variables::Value::Text(path.into()));
        }
    }
}

#[cfg(test)]
mod tests;
