//! `duramen replicate`: one command from a running MySQL, MariaDB or Duramen to a Duramen that
//! follows it.
//!
//! 1. ask (`source.rs`): who the source is, and whether it can be followed at all.
//! 2. try: every definition, in an empty database (`check_schema.rs`): what can't be carried over
//!    stops here, before hours are spent.
//! 3. copy (`copy.rs`): rows, in chunks, by several sessions that read one snapshot of the source;
//!    before them the tables are made, behind them what would act on rows (`objects.rs`), and the
//!    accounts (`accounts.rs`).
//! 4. follow (`follow.rs`): what the snapshot had counts as executed, and the channel begins behind
//!    it. The process goes on as `duramen serve`.
//!
//! (R1) What ends is the source at one place: rows of an earlier, interrupted try stay where their
//!      chunk's checksum is the source's now, and are copied again where it is not.
//! (R2) Until that is so the directory says that it is unfinished (`unfinished.rs`), and no server
//!      starts on it.
//!
//! The source is only read: its tables are locked against writes for the moment in which the
//! snapshot is taken.

mod accounts;
mod copy;
mod follow;
mod help;
mod local;
mod objects;
mod source;
mod unfinished;

use crate::check_schema;
pub(crate) use help::TEXT as HELP;

use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::{ToolError, printable};
use crate::options::{self, Command, Options};
use crate::remote::definitions::{Definition, ObjectKind, string_literal};
use crate::remote::snapshot::Snapshot;
use crate::remote::{Remote, Runs, text};
use env::{Env, RealEnv};
use local::Local;
use source::Source;
use sql::variables::ids;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use unfinished::Unfinished;
pub(crate) use unfinished::is_unfinished;

/// It could not be done.
const FAILED: u8 = 3;

/// How long the source may take for the rows of a chunk, which may be a whole table.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

const OPTIONS: [Takes; 7] = [
    Takes::Value("from"),
    Takes::Value("threads"),
    Takes::Value("ignore-database"),
    Takes::Value("ignore-table"),
    Takes::Nothing("ignore-refused"),
    Takes::Nothing("no-accounts"),
    Takes::Nothing("copy-only"),
];

/// Does what the arguments after `duramen replicate` ask. Exit codes: see its help.
pub fn run(args: &[String]) -> ExitCode {
    match replicate(args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("duramen replicate: {}", printable(&error.to_string()));
            ExitCode::from(FAILED)
        }
    }
}

fn replicate(args: &[String]) -> Result<ExitCode, ToolError> {
    if args.iter().any(|arg| matches!(&**arg, "--help" | "-h" | "-?")) {
        std::io::stdout().write_all(help::TEXT.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (own, of_server) = divide(args);
    let arguments = Arguments::parse("replicate", &own, &OPTIONS, &[])?;
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let Some(from) = arguments.value("from") else {
        return Err(arguments.wrong("--from=mysql://USER:PASSWORD@HOST:PORT is missing".into()));
    };
    let remote = Remote::parse(&env, from, &arguments)?.with_patience(PATIENCE);
    let parsed = options::parse(&*env, &of_server).map_err(|e| ToolError::Options(e.to_string()))?;
    let Command::Serve(options) = parsed else {
        return Err(arguments.wrong("give what 'duramen serve' needs: --datadir, --server-id ..".into()));
    };
    let encrypting = crate::encryption::of_server(&env, &options);
    copy(&encrypting.map_err(|e| ToolError::Refused(e.to_string()))?, &remote, &options, &arguments)?;
    if arguments.has("copy-only") {
        return Ok(ExitCode::SUCCESS);
    }
    say("the server starts, and follows");
    match crate::server::run(env, options) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(e) => Err(ToolError::Refused(e.to_string())),
    }
}

/// Options of this command, and those of `duramen serve`.
fn divide(args: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut own, mut of_server) = (Vec::new(), Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let name = arg.trim_start_matches('-').split('=').next().unwrap_or_default().replace('_', "-");
        let option = OPTIONS.iter().find(|option| option.name() == name);
        match option {
            Some(Takes::Value(_)) if !arg.contains('=') => {
                own.extend([Some(arg), rest.next()].into_iter().flatten().cloned())
            }
            Some(_) => own.push(arg.clone()),
            None => of_server.push(arg.clone()),
        }
    }
    (own, of_server)
}

/// A step, for the person at the terminal.
fn say(text: &str) {
    eprintln!("duramen: {}", printable(text));
}

/// What is not carried over: names of databases, and of tables as `database.table`.
struct Ignored {
    databases: Vec<String>,
    tables: Vec<String>,
    /// Views, triggers, routines and events that are refused are left out.
    refused: bool,
}

impl Ignored {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let list = |name| -> Vec<String> {
            arguments.values(name).flat_map(|v| v.split(',')).map(str::to_owned).collect()
        };
        let tables = list("ignore-table");
        if let Some(name) = tables.iter().find(|name| !name.contains('.')) {
            return Err(arguments.wrong(format!("--ignore-table={name}: name it DATABASE.TABLE")));
        }
        Ok(Self { databases: list("ignore-database"), tables, refused: arguments.has("ignore-refused") })
    }

    /// A name that the source does not have is a mistake that would be seen too late.
    fn check(&self, remote: &Remote, databases: &[String]) -> Result<(), ToolError> {
        let unknown = |what: &str, name: &str| {
            Err(ToolError::Refused(format!("{} has no {what} '{name}' to ignore", remote.server())))
        };
        if let Some(name) = self.databases.iter().find(|name| !databases.contains(name)) {
            return unknown("database", name);
        }
        let mut session = remote.session()?;
        for name in &self.tables {
            let sql = format!(
                "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES \
                 WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = {}",
                string_literal(name)
            );
            let mut found = session.rows(&sql)?.into_iter().flatten().flatten().map(text);
            // The server may compare without regard to case.
            if !found.any(|found| found == *name) {
                return unknown("table", name);
            }
        }
        Ok(())
    }

    /// True for what is carried over. Triggers of a table that is not go with it.
    fn wants(&self, definition: &Definition) -> bool {
        let is_table = definition.kind == ObjectKind::Table;
        let is_ignored = is_table && self.tables.contains(&definition.place());
        !is_ignored && !self.databases.contains(&definition.database)
    }
}

/// Makes the data directory a copy of the source that follows it, or goes on with one.
fn copy(
    env: &Arc<dyn Env>,
    remote: &Remote,
    options: &Options,
    arguments: &Arguments,
) -> Result<(), ToolError> {
    let ignored = Ignored::of(arguments)?;
    let threads = arguments.positive("threads")?.unwrap_or(4).min(64) as usize;
    let mut source = Source::ask(remote, options)?;
    let all = source.databases()?;
    ignored.check(remote, &all)?;
    let databases: Vec<String> = all.into_iter().filter(|name| !ignored.databases.contains(name)).collect();
    say(&format!("{} is {}, with {} databases", remote.server(), source.facts.name(), databases.len()));
    if let Some(advice) = source.advice()? {
        say(&advice);
    }
    let left_out = try_definitions(remote, &databases, &ignored)?;

    let mut unfinished = Unfinished::begin(env, &options.path(ids::DATADIR), &source)?;
    let local = Local::open(env, options)?;
    let snapshot = Snapshot::take_without_branches(remote, &source.facts, threads)?;
    say(&format!("the copy is the source at {}", snapshot.place));
    let wanted = |d: &Definition| ignored.wants(d) && !left_out.contains(&d.place());
    let definitions = objects::read(remote, &databases, &wanted)?;
    let kept = objects::make_tables(&local, &definitions, &mut unfinished)?;
    let place = copy::rows(env, &local, snapshot, &databases, &ignored, &kept)?;
    let mut missed = match arguments.has("no-accounts") {
        true => Vec::new(),
        false => accounts::copy(&local, remote, &source.facts)?,
    };
    missed.extend(objects::make_others(&local, &definitions)?);
    for line in &missed {
        say(&format!("not carried over: {line}"));
    }
    let own = follow::begin(&local, remote, &source, &place, &ignored)?;
    unfinished.end()?;
    local.close()?;
    say(&format!("done: what {} writes from here on is applied", remote.server()));
    match source.is_mariadb() {
        true => say("to follow this server from there one day: docs/moving.md, 'And back'"),
        false => say(&format!(
            "to follow this server from there one day, say there first: SET GLOBAL gtid_purged = '+{own}'"
        )),
    }
    Ok(())
}

/// Tries all definitions; returns the places of those that are left out.
fn try_definitions(
    remote: &Remote,
    databases: &[String],
    ignored: &Ignored,
) -> Result<Vec<String>, ToolError> {
    let report = check_schema::examine_definitions(remote, databases, &|d| ignored.wants(d))?;
    let refused: Vec<String> = report.refused().map(str::to_owned).collect();
    if refused.is_empty() && report.not_seen().is_empty() {
        say(&format!("{} definitions were tried, and all are taken", report.tried()));
        return Ok(refused);
    }
    eprint!("{}", printable(&report.text()));
    if !report.not_seen().is_empty() {
        return Err(ToolError::Refused(
            "the account does not see the definitions above: grant it SELECT, SHOW VIEW, TRIGGER, EVENT and SHOW_ROUTINE on all"
                .into(),
        ));
    }
    let tables = objects::read(remote, databases, &|d| {
        matches!(d.kind, ObjectKind::Table | ObjectKind::Database)
            && ignored.wants(d)
            && refused.contains(&d.place())
    })?;
    match tables.first() {
        Some(table) => Err(ToolError::Refused(format!(
            "nothing was copied: what is refused above can't be carried over. Change it on the source, or leave tables out by \
             --ignore-table={} ..",
            table.place()
        ))),
        None if ignored.refused => Ok(refused),
        None => Err(ToolError::Refused(
            "nothing was copied: what is refused above can't be carried over. Change or drop it on the source, or say \
             --ignore-refused to go on without"
                .into(),
        )),
    }
}
