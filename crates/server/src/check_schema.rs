//! `duramen check-schema`: what of a schema written for MySQL or MariaDB would be refused here, or
//! mean something else, before anything is made.
//!
//! 1. cut: the script becomes statements, as the client `mysql` reads it (`script.rs` of the
//!    server); a running server is asked for its definitions (`remote/definitions.rs`).
//! 2. try: each statement that defines something is run in a database of its own, empty and thrown
//!    away behind it (`trial.rs`). Statements about rows are only counted.
//! 3. blame: a table that is refused is tried again without each of its elements (`elements.rs`):
//!    what it can be made without is the cause, and the rest goes on to be examined.
//! 4. report: a line for each finding, with the way out (`report.rs`).
//!
//! (C1) What is said is what the server says: the statements run in the server's own code.
//! (C2) Nothing is changed: a server is only read, and nothing written outside of the folder for
//!      temporary files.

mod elements;
mod help;
pub(crate) mod report;
mod trial;

use crate::log_tool::ToolError;
pub(crate) use help::TEXT as HELP;

use crate::log_tool::arguments::{Arguments, Takes};
use crate::remote::definitions::{Definition, Definitions, ObjectKind};
use crate::remote::{self, Remote};
use crate::script::{Script, Statement};
use env::{Env, RealEnv};
use report::Report;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use trial::Trial;

/// It could not be done.
const FAILED: u8 = 3;

/// The stack that statements have, in bytes: that of a session of the largest `thread_stack`.
const STACK: usize = 64 << 20;

/// Does what the arguments after `duramen check-schema` ask. Exit codes: see its help.
pub fn run(args: &[String]) -> ExitCode {
    match check(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramen check-schema: {error}");
            ExitCode::from(FAILED)
        }
    }
}

fn check(args: &[String]) -> Result<u8, ToolError> {
    let mut out = std::io::stdout();
    if args.iter().any(|arg| matches!(&**arg, "--help" | "-h" | "-?")) {
        out.write_all(help::TEXT.as_bytes())?;
        return Ok(0);
    }
    let arguments = Arguments::parse("check-schema", args, &options(), &[])?;
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let report = match (Remote::of(&env, &arguments)?, &arguments.files[..]) {
        (Some(remote), []) => examine(|| of_server(&remote, arguments.value("database")))?,
        (None, [file]) if file == "-" => {
            examine(|| of_script("standard input", BufReader::new(std::io::stdin())))?
        }
        (None, [file]) => {
            #[allow(clippy::disallowed_methods, reason = "a script of the user's is no file of a database")]
            let opened = File::open(file).map_err(|e| ToolError::io("open", Path::new(file), e))?;
            examine(|| of_script(file, BufReader::with_capacity(1 << 20, opened)))?
        }
        _ => {
            let text = "give one file with SQL statements, - for standard input, or --server=HOST:PORT";
            return Err(arguments.wrong(text.into()));
        }
    };
    let text = if arguments.has("json") { report.json() } else { report.text() };
    out.write_all(text.as_bytes())?;
    Ok(report.exit_code())
}

fn options() -> Vec<Takes> {
    let own = [Takes::Nothing("json"), Takes::Value("database")];
    own.into_iter().chain(remote::OPTIONS).collect()
}

/// Runs on a thread whose stack carries what a session's does.
fn examine(work: impl FnOnce() -> Result<Report, ToolError> + Send) -> Result<Report, ToolError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("check-schema".into()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || {
            stdx::stack::begin(STACK);
            work()
        });
        let thread = thread.map_err(|e| ToolError::Refused(format!("no thread: {e}")))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn of_script(name: &str, reader: impl BufRead) -> Result<Report, ToolError> {
    let mut trial = Trial::begin()?;
    let mut report = Report::new(name);
    let mut script = Script::new(name, reader);
    while let Some(statement) =
        script.next_statement().map_err(|e| ToolError::io("read", Path::new(name), e))?
    {
        trial.examine(&statement, &mut report);
    }
    report.is_unfinished = script.is_unfinished();
    report.not_read = script.files();
    Ok(report)
}

/// `database` is the one to examine; all that are not the server's own if it is `None`.
fn of_server(remote: &Remote, database: Option<&str>) -> Result<Report, ToolError> {
    let mut definitions = Definitions::connect(remote)?;
    let databases = match database {
        Some(one) => vec![one.to_owned()],
        None => definitions.databases()?,
    };
    examine_server(Trial::begin()?, remote, &mut definitions, &databases, &|_| true)
}

/// Examines what `is_wanted` of some databases of a server that will be followed, on a stack like a
/// session's.
///
/// # Errors
/// The server's.
pub(crate) fn examine_definitions(
    remote: &Remote,
    databases: &[String],
    is_wanted: &(dyn Fn(&Definition) -> bool + Sync),
) -> Result<Report, ToolError> {
    examine(|| {
        let mut definitions = Definitions::connect(remote)?;
        examine_server(Trial::for_replica()?, remote, &mut definitions, databases, is_wanted)
    })
}

fn examine_server(
    mut trial: Trial,
    remote: &Remote,
    definitions: &mut Definitions,
    databases: &[String],
    is_wanted: &(dyn Fn(&Definition) -> bool + Sync),
) -> Result<Report, ToolError> {
    let mut report = Report::new(&remote.server());
    let mut hidden = Vec::new();
    let mut database = String::new();
    // Tables may refer to later ones.
    let mut settings = vec!["SET foreign_key_checks = 0".to_owned()];
    if trial.is_for_replica() {
        // As where they are made.
        settings.push("SET sql_mode = ''".to_owned());
    }
    let each = |definition: Definition| {
        if !is_wanted(&definition) {
            return Ok(());
        }
        if definition.kind != ObjectKind::Database && definition.database != database {
            database.clone_from(&definition.database);
            settings.push(format!("USE {}", syntax::unparse::ident(&database)));
        }
        let source: Arc<str> = definition.place().into();
        let is_replicated = trial.is_for_replica();
        let definition = if is_replicated { definition.with_expression_defaults() } else { definition };
        for text in settings.drain(..).chain([definition.text]) {
            trial.examine(
                &Statement { source: source.clone(), line: 1, text: text.into_bytes() },
                &mut report,
            );
        }
        Ok(())
    };
    definitions.of(databases, each, |object| hidden.push(object))?;
    report.not_seen.extend(hidden);
    Ok(report)
}
