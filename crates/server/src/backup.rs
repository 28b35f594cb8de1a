//! `duramen backup` and `duramen restore`: backups of a server, running or not, in a folder or in
//! object storage.
//!
//! The log is the database, and tables on disk never change. So a backup is the tables at one
//! moment and the log from there on; the next one copies only the tables that are new, and the
//! log's new bytes; and every moment behind a backup can be restored, as far as the log was
//! archived. Nothing is locked at the server, and nothing is asked of it: its files are read.
//!
//! 1. take     `source.rs` opens the files in an order in which nothing refers to what is missing;
//!    `take.rs` copies tables, `logs.rs` the log; the manifest (`manifest.rs`) makes it a backup.
//! 2. restore  `choose.rs` finds the backup, `restore.rs` puts a data directory together, in which
//!    the log is cut at the point and replayed, as `duramen binlog replay` does.
//! 3. verify   `verify.rs` reads everything and restores it into a place that goes again.
//! 4. prune    `prune.rs` removes old ones.
//!
//! Elsewhere: the repository's files (`repository.rs`), their format (`piece.rs`), and where they
//! are (`backend.rs`, with a folder in `folder.rs` and object storage in `bucket.rs`).
//!
//! (B1) All that is read is verified: by itself, as what its path says, tables and small files
//!      against the manifest, and the log as one history with the backup. What is damaged or missing
//!      is told, and never restored.
//! (B2) A backup that is broken off, by a kill or a power cut, is none, and damages no other one.

mod backend;
mod bucket;
mod choose;
mod folder;
mod help;
mod key;
mod lease;
mod location;
mod logs;
mod manifest;
mod piece;
mod prune;
mod rate;
mod repository;
mod restore;
#[cfg(test)]
mod simulated;
mod source;
mod take;
mod verify;

use crate::encryption::with_keys;
use crate::log_tool::ToolError;
pub(crate) use help::{BACKUP, RESTORE};

use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::point::Until;
use crate::tool::{asks_for_help, exit, folder, print, real};
use binlog::json_lines::moment;
use env::Env;
use key::Key;
use location::Location;
use logs::Archiving;
use manifest::Manifest;
use prune::Keep;
use rate::Rate;
use repository::{Backups, Repository};
use restore::Wanted;
use source::Source;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use take::Taken;

/// Threads that copy, if nothing else is said.
const JOBS: u64 = 2;
/// More would wait for the disk, each with its buffers.
const JOBS_MAX: u64 = 64;
/// How often the log is archived by `--continuous`.
const PAUSE: Duration = Duration::from_secs(1);

/// Something is wrong with a backup.
const BAD: u8 = 1;

/// Does what the arguments after `duramen backup` ask. Exit codes: see its help.
pub fn run(args: &[String]) -> ExitCode {
    exit("backup", with_keys(args, command))
}

/// Does what the arguments after `duramen restore` ask. Exit codes: see its help.
pub fn restore(args: &[String]) -> ExitCode {
    exit("restore", with_keys(args, run_restore))
}

fn command(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    if asks_for_help(args) || args.is_empty() {
        return print(help::BACKUP).map(|()| 0);
    }
    prepare()?;
    match args[0].as_str() {
        "list" => list(env, &args[1..]),
        "verify" => run_verify(env, &args[1..]),
        "prune" => run_prune(env, &args[1..]),
        name if name.starts_with('-') => run_take(env, args),
        other => {
            let nearest = stdx::suggest::nearest(other, ["list", "verify", "prune"]);
            let hint = nearest.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            Err(ToolError::Options(format!(
                "unknown command '{other}'{hint}; 'duramen backup --help' tells more"
            )))
        }
    }
}

/// What the system lets the process do.
fn prepare() -> Result<(), ToolError> {
    crate::resources::raise_file_limit();
    crate::resources::report_file_size_limit()
        .map_err(|e| ToolError::Refused(format!("can't say how SIGXFSZ is to be handled: {e}")))
}

fn key(env: &dyn Env, arguments: &Arguments) -> Result<Option<Key>, ToolError> {
    arguments.value("key-file").map(|path| Key::read(env, Path::new(path))).transpose()
}

fn jobs(arguments: &Arguments) -> Result<usize, ToolError> {
    match arguments.positive("jobs")?.unwrap_or(JOBS) {
        jobs if jobs <= JOBS_MAX => Ok(jobs as usize),
        _ => Err(arguments.wrong(format!("--jobs is at most {JOBS_MAX}: each thread takes some megabytes"))),
    }
}

/// What an option names where backups are.
fn location(arguments: &Arguments, name: &str, what: &str) -> Result<Location, ToolError> {
    let path = folder(arguments, name, what)?;
    Location::parse(&path.to_string_lossy())
}

/// The repository that `--from` names.
fn opened(env: &Arc<dyn Env>, arguments: &Arguments) -> Result<Repository, ToolError> {
    let from = location(arguments, "from", "the folder or the address with the backups")?;
    let key = key(&**env, arguments)?;
    Repository::open(env, from.connect(env, arguments)?, key)
}

/// The options of a command, and those of object storage.
fn options<const N: usize>(own: [Takes; N]) -> Vec<Takes> {
    own.into_iter().chain(location::OPTIONS).collect()
}

/// Nothing but backups is made in their folder.
fn refuse_inside(repository: Option<&Path>, path: &Path, arguments: &Arguments) -> Result<(), ToolError> {
    match repository.is_some_and(|repository| path.starts_with(repository)) {
        true => Err(arguments.wrong(format!("'{}' is inside the folder of the backups", path.display()))),
        false => Ok(()),
    }
}

const TAKE_OPTIONS: [Takes; 7] = [
    Takes::Value("datadir"),
    Takes::Value("to"),
    Takes::Value("key-file"),
    Takes::Value("jobs"),
    Takes::Nothing("continuous"),
    Takes::Value("every"),
    Takes::Value("rate"),
];

fn run_take(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    let arguments = Arguments::parse("backup", args, &options(TAKE_OPTIONS), &[])?;
    let datadir = real(&folder(&arguments, "datadir", "the server's data directory")?);
    let to = location(&arguments, "to", "the folder or the address that gets the backup")?;
    let files = to.connect(env, &arguments)?;
    if let Some(to) = files.local_folder()
        && to.starts_with(&datadir)
    {
        return Err(arguments.wrong(format!(
            "'{}' is inside the data directory, with which it would be lost: --to names another place",
            to.display()
        )));
    }
    refuse_inside(files.local_folder(), &datadir, &arguments)?;
    let is_continuous = arguments.has("continuous");
    let every = arguments.positive("every")?.map(Duration::from_secs);
    if every.is_some() && !is_continuous {
        return Err(arguments.wrong("--every says how often --continuous takes a backup".to_owned()));
    }
    let jobs = jobs(&arguments)?;
    let source = Source::open(env, &datadir, Rate::new(arguments.positive("rate")?))?;
    let repository = Repository::open_or_make(env, files, key(&**env, &arguments)?)?;
    let lock = repository.lock()?;
    let last = take(&repository, &source, jobs, true)?;
    drop(lock);
    if is_continuous {
        Archiver { repository, source, jobs, every, last, idle_told: false }.run()?;
    }
    Ok(0)
}

/// Takes a backup, and tells what it came to. The repository is locked.
fn take(
    repository: &Repository,
    source: &Source<'_>,
    jobs: usize,
    is_first: bool,
) -> Result<Taken, ToolError> {
    let begun = repository.env.monotonic();
    let taken = take::take(repository, source, jobs, is_first)?;
    let Manifest { id, log_last, log_end, gtid_executed, tables, .. } = &taken.manifest;
    print(&format!(
        "backup {id}: {} tables, {} MB of them new, and {} MB of log, in {:.1} s\nit ends at {log_last}:{log_end}\n\
         gtid_executed: {gtid_executed}\n",
        tables.len(),
        taken.copied / 1_000_000,
        taken.log.added / 1_000_000,
        (repository.env.monotonic() - begun).as_secs_f64()
    ))?;
    Ok(taken)
}

/// Archives the log until the program is ended, and takes backups.
struct Archiver<'a> {
    repository: Repository,
    source: Source<'a>,
    jobs: usize,
    every: Option<Duration>,
    /// The last backup.
    last: Taken,
    /// It was said that nothing was committed since.
    idle_told: bool,
}

impl Archiver<'_> {
    fn run(mut self) -> Result<(), ToolError> {
        let env = self.repository.env.clone();
        let (mut due, mut was_told) = (self.due(), false);
        eprintln!("duramen backup: archiving the log every second, until this program is ended");
        loop {
            std::thread::sleep(PAUSE);
            let is_due = due.is_some_and(|due| env.monotonic() >= due);
            match self.archive(is_due) {
                Ok(is_done) => {
                    was_told = false;
                    if is_done {
                        due = self.due();
                    }
                }
                // What goes on is told once: somebody removes old backups, the disk is full, or
                // object storage does not answer. What is there now is looked at again.
                Err(Stop::ForNow(e)) => {
                    self.repository.refresh();
                    if !std::mem::replace(&mut was_told, true) {
                        eprintln!("duramen backup: {e}; trying again");
                    }
                }
                Err(Stop::ForGood(e)) => return Err(e),
            }
        }
    }

    /// When the next backup is due.
    fn due(&self) -> Option<Duration> {
        self.every.map(|every| self.repository.env.monotonic() + every)
    }

    /// Archives the log, and takes a backup if one is due and would have anything new. True if none
    /// is due any more.
    fn archive(&mut self, is_due: bool) -> Result<bool, Stop> {
        // Without a lock where that takes long (L4 of `logs.rs`).
        let is_locked = !self.repository.files.is_lock_costly();
        let lock = is_locked.then(|| self.repository.lock()).transpose().map_err(Stop::ForNow)?;
        let archiving = Archiving { is_locked, ..Archiving::default() };
        let log = logs::archive(&self.repository, &self.source, archiving)?;
        if log.is_merge_due
            && let Some(_lock) = self.repository.try_lock().map_err(Stop::ForNow)?
        {
            let archiving = Archiving { is_locked: true, ..Archiving::default() };
            logs::archive(&self.repository, &self.source, archiving)?;
        }
        if is_due && log.end() != self.last.log.end() {
            let lock = match lock {
                Some(lock) => Some(lock),
                None => self.repository.try_lock().map_err(Stop::ForNow)?,
            };
            // The log goes on being archived while another program has it.
            let Some(_lock) = lock else { return Ok(false) };
            let is_first = self.repository.files.local_folder().is_some();
            self.last = take(&self.repository, &self.source, self.jobs, is_first)?;
            self.idle_told = false;
        } else if is_due && !std::mem::replace(&mut self.idle_told, true) {
            let id = &self.last.manifest.id;
            eprintln!(
                "duramen backup: nothing was committed since the backup {id}: there is none until something is"
            );
        }
        Ok(is_due)
    }
}

/// Why archiving stops.
enum Stop {
    /// It is tried again.
    ForNow(ToolError),
    ForGood(ToolError),
}

impl From<ToolError> for Stop {
    fn from(e: ToolError) -> Self {
        match e {
            ToolError::Io { .. } => Self::ForNow(e),
            _ => Self::ForGood(e),
        }
    }
}

const LIST_OPTIONS: [Takes; 2] = [Takes::Value("from"), Takes::Value("key-file")];

fn list(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    let arguments = Arguments::parse("backup list", args, &options(LIST_OPTIONS), &[])?;
    let repository = opened(env, &arguments)?;
    let backups = repository.backups()?.warned("backup list");
    for backup in &backups {
        let Manifest { id, until, log_last, log_end, tables, .. } = backup;
        print(&format!(
            "{id}  {} tables, {} MB, to {log_last}:{log_end}, last commit {} UTC\n",
            tables.len(),
            backup.size() / 1_000_000,
            moment(*until)
        ))?;
    }
    match (backups.is_empty(), repository.log_names()?.pop()) {
        (false, Some(name)) => {
            let end = repository.chain(&name)?.0.last().map_or(0, |segment| segment.to);
            print(&format!("log archived to {name}:{end}\n"))?;
        }
        _ => print("no backup\n")?,
    }
    Ok(0)
}

const VERIFY_OPTIONS: [Takes; 6] = [
    Takes::Value("from"),
    Takes::Value("key-file"),
    Takes::Value("jobs"),
    Takes::Value("scratch"),
    Takes::Nothing("all"),
    Takes::Nothing("read-only"),
];

fn run_verify(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    let arguments = Arguments::parse("backup verify", args, &options(VERIFY_OPTIONS), &[])?;
    let repository = opened(env, &arguments)?;
    let scratch = real(&arguments.value("scratch").map_or_else(std::env::temp_dir, PathBuf::from));
    refuse_inside(repository.files.local_folder(), &scratch, &arguments)?;
    let Backups { readable: backups, unreadable } = repository.backups()?;
    let Some(latest) = backups.last() else {
        return Err(ToolError::Refused("there is no backup in the repository".into()));
    };
    let jobs = jobs(&arguments)?;
    let mut wrong = verify::read_all(&repository, &backups)?;
    wrong.extend(unreadable.into_iter().map(|(_, why)| why.to_string()));
    let mut restored = 0;
    if wrong.is_empty() && !arguments.has("read-only") {
        let rehearsed = if arguments.has("all") { &backups[..] } else { std::slice::from_ref(latest) };
        for backup in rehearsed {
            wrong.extend(verify::rehearse(&repository, backup, &scratch, jobs)?);
            restored += 1;
        }
        let (replayed, bad) = verify::rehearse_log(&repository, &backups, &scratch, jobs)?;
        wrong.extend(bad);
        if let Some(text) = replayed {
            print(&format!("{text}\n"))?;
        }
    }
    for text in &wrong {
        print(&format!("{text}\n"))?;
    }
    if wrong.is_empty() {
        let n = backups.len();
        print(&format!("{n} backups read, {restored} of them restored: all is well\n"))?;
    }
    Ok(if wrong.is_empty() { 0 } else { BAD })
}

const PRUNE_OPTIONS: [Takes; 4] =
    [Takes::Value("from"), Takes::Value("key-file"), Takes::Value("keep-last"), Takes::Value("keep-days")];

fn run_prune(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    let arguments = Arguments::parse("backup prune", args, &options(PRUNE_OPTIONS), &[])?;
    let keep = Keep { last: arguments.positive("keep-last")?, days: arguments.positive("keep-days")? };
    if keep == Keep::default() {
        return Err(arguments.wrong("--keep-last or --keep-days says what remains".to_owned()));
    }
    let repository = opened(env, &arguments)?;
    let _lock = repository.lock()?;
    let pruned = prune::prune(&repository, keep)?;
    print(&format!(
        "removed {} backups, {} tables and {} log files\n",
        pruned.backups, pruned.tables, pruned.logs
    ))?;
    Ok(0)
}

const RESTORE_OPTIONS: [Takes; 6] = [
    Takes::Value("from"),
    Takes::Value("datadir"),
    Takes::Value("to"),
    Takes::Value("key-file"),
    Takes::Value("jobs"),
    Takes::Nothing("keep-uuid"),
];

fn run_restore(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    if asks_for_help(args) || args.is_empty() {
        return print(help::RESTORE).map(|()| 0);
    }
    prepare()?;
    let arguments = Arguments::parse("restore", args, &options(RESTORE_OPTIONS), &[])?;
    let repository = opened(env, &arguments)?;
    let target = real(&folder(&arguments, "datadir", "the data directory to make")?);
    refuse_inside(repository.files.local_folder(), &target, &arguments)?;
    let until = Until::parse(&arguments, "to")?;
    let wanted =
        Wanted { target: &target, until, keep_uuid: arguments.has("keep-uuid"), jobs: jobs(&arguments)? };
    let begun = env.monotonic();
    let restored = restore::restore(&repository, None, &wanted)?;
    print(&format!(
        "restored, with {} transactions behind the backup, in {:.1} s\nended at {}:{}, {}\ngtid_executed: {}\nstart it with: {}\n",
        restored.transactions,
        (env.monotonic() - begun).as_secs_f64(),
        restored.last_name,
        restored.last_end,
        restored.ended_with,
        restored.executed.to_string().replace('\n', ""),
        restored.start_line
    ))?;
    Ok(0)
}
