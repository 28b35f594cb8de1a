//! A data directory of a backup and of the archived log behind it.
//!
//! 1. choose   The latest backup that does not go beyond the point.
//! 2. unpack   Its files, then the log from the file on that its tables need, to the file that has
//!    the point. All is written beside the new data directory, and verified as it is read.
//! 3. recover  The log is cut at the point; the database is opened there and closed again.
//! 4. name     The folder gets its name.

use super::manifest::{Manifest, StoredFile};
use super::piece::Content;
use super::repository::{Repository, log_order};
use crate::log_tool::output::NewFile;
use crate::log_tool::point::Until;
use crate::log_tool::replay::{Base, Recovered, Unfinished, recover_to};
use crate::log_tool::{ToolError, end_of_log};
use crate::progress::{Progress, Unit};
use crate::tool::in_threads;
use binlog::gtid::GtidSet;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What is wanted.
pub(super) struct Wanted<'a> {
    pub(super) target: &'a Path,
    pub(super) until: Until,
    /// The new server is the old one, and has its UUID.
    pub(super) keep_uuid: bool,
    pub(super) jobs: usize,
}

/// Makes the data directory of `backup`, or of the one that suits best.
pub(super) fn restore(
    repository: &Repository,
    backup: Option<&Manifest>,
    wanted: &Wanted<'_>,
) -> Result<Recovered, ToolError> {
    let chosen;
    let backup = match backup {
        Some(backup) => backup,
        None => {
            chosen = choose(repository.backups()?, &wanted.until)?;
            &chosen
        }
    };
    eprintln!("duramen restore: from the backup {}", backup.id);
    let unfinished = Unfinished::begin(repository.env.clone(), wanted.target)?;
    unpack_files(repository, backup, &unfinished.path, wanted)?;
    unpack_log(repository, backup, &unfinished.path, &wanted.until)?;
    let base = Base { log_name: &backup.log_name, last: &backup.log_last, end: backup.log_end };
    recover_to(&repository.env, unfinished, wanted.target, &base, wanted.until.clone())
}

/// The latest backup that does not go beyond the point.
fn choose(mut backups: Vec<Manifest>, until: &Until) -> Result<Manifest, ToolError> {
    let Some(oldest) = backups.first().cloned() else {
        return Err(ToolError::Refused("there is no backup in the repository".into()));
    };
    let is_before = |backup: &Manifest| match until {
        Until::End => true,
        Until::Time(time) => backup.until < *time,
        Until::Position { file, offset } => {
            (log_order(&backup.log_last), backup.log_end) <= (log_order(file), *offset)
        }
        Until::Gtid(gtid) => {
            let executed: Result<GtidSet, _> = backup.gtid_executed.parse();
            let is_last = backup.gtid_last.parse::<GtidSet>().is_ok_and(|last| last == *gtid);
            is_last || executed.is_ok_and(|executed| !gtid.is_subset(&executed))
        }
    };
    backups.retain(is_before);
    backups.pop().ok_or_else(|| {
        ToolError::Refused(format!(
            "the oldest backup, {}, goes beyond {until}: it ends at {}:{}",
            oldest.id, oldest.log_last, oldest.log_end
        ))
    })
}

fn unpack_files(
    repository: &Repository,
    backup: &Manifest,
    folder: &Path,
    wanted: &Wanted<'_>,
) -> Result<(), ToolError> {
    let env = &*repository.env;
    let store = folder.join(storage::STORE_FOLDER);
    env.create_dir_all(&store).map_err(|e| ToolError::io("make the folder", &store, e))?;
    let small = backup.files.iter().filter(|stored| wanted.keep_uuid || stored.path != "auto.cnf");
    let in_backup = repository.backup(&backup.id);
    let small = small.map(|stored| (in_backup.join(&stored.piece), stored));
    let tables = backup.tables.iter().map(|stored| (repository.table(&stored.piece), stored));
    let all: Vec<_> = small.chain(tables).collect();
    let progress = Mutex::new(Progress::new(env, "restoring tables", Unit::Bytes, backup.size()));
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ToolError> {
        while let Some((piece, stored)) = all.get(next.fetch_add(1, Relaxed)) {
            unpack(repository, piece, stored, folder, &progress)?;
        }
        Ok(())
    };
    in_threads(wanted.jobs, work)?;
    for folder in [folder, &store] {
        repository.sync(folder)?;
    }
    Ok(())
}

fn unpack(
    repository: &Repository,
    piece: &Path,
    stored: &StoredFile,
    folder: &Path,
    progress: &Mutex<Progress<'_>>,
) -> Result<(), ToolError> {
    let (env, path) = (&*repository.env, folder.join(&stored.path));
    let is_private = stored.path.ends_with("key.pem") || stored.path == "replica-channels";
    let mut file =
        if is_private { NewFile::create_private(env, &path)? } else { NewFile::create(env, &path)? };
    let content = repository.read(piece)?.read_all(&mut |bytes| {
        progress.lock().add(bytes.len() as u64);
        file.append(bytes)
    })?;
    file.finish()?;
    check(piece, stored, content)
}

/// A whole piece may yet be another one's.
pub(super) fn check(piece: &Path, stored: &StoredFile, content: Content) -> Result<(), ToolError> {
    if content == stored.content {
        return Ok(());
    }
    Err(ToolError::Refused(format!(
        "'{}' is damaged: it is not what the backup had of {}",
        piece.display(),
        stored.path
    )))
}

/// How often a log file is read again whose segments were put together meanwhile.
const ATTEMPTS: usize = 5;

fn unpack_log(
    repository: &Repository,
    backup: &Manifest,
    folder: &Path,
    until: &Until,
) -> Result<(), ToolError> {
    let env = &*repository.env;
    for name in repository.log_names()? {
        if log_order(&name) < log_order(&backup.log_first) {
            continue;
        }
        let path = folder.join(&name);
        let mut attempt = 0;
        let end = loop {
            attempt += 1;
            let before = repository.segments(&name)?;
            let mut file = NewFile::create(env, &path)?;
            let read = repository.read_log(&name, &mut |bytes| file.append(bytes));
            if read.is_err() && attempt < ATTEMPTS && repository.segments(&name)? != before {
                drop(file);
                env.remove_file(&path).map_err(|e| ToolError::io("remove", &path, e))?;
                continue;
            }
            let end = read?;
            file.finish()?;
            break end;
        };
        if name == backup.log_last && end < backup.log_end {
            return Err(ToolError::Refused(format!(
                "the repository has {end} bytes of {name}, and the backup {} needs {}: a file is missing there",
                backup.id, backup.log_end
            )));
        }
        let is_of_backup = log_order(&name) < log_order(&backup.log_last);
        if !is_of_backup && has_point(repository, &path, &name, until)? {
            break;
        }
    }
    repository.sync(folder)
}

/// True if no later log file is needed.
fn has_point(repository: &Repository, path: &Path, name: &str, until: &Until) -> Result<bool, ToolError> {
    Ok(match until {
        Until::End => false,
        Until::Position { file, .. } => file == name,
        Until::Time(time) => {
            let end = end_of_log(&*repository.env, path, u64::MAX)?;
            end.last_commit.is_some_and(|commit| commit >= *time)
        }
        Until::Gtid(gtid) => gtid.is_subset(&end_of_log(&*repository.env, path, u64::MAX)?.executed),
    })
}
