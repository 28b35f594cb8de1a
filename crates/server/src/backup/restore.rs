//! A data directory of a backup and of the archived log behind it.
//!
//! 1. choose   The latest backup that does not go beyond the point.
//! 2. unpack   Its files, then the log from the file on that its tables need, to the file that has
//!    the point. All is written beside the new data directory, and verified as it is read.
//! 3. recover  The log is cut at the point; the database is opened there and closed again.
//! 4. name     The folder gets its name.

use super::manifest::{Manifest, StoredFile};
use super::piece::Content;
use super::repository::{Gap, Repository, log_order};
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
            check_archived(repository, &wanted.until)?;
            chosen = choose(repository.backups()?.warned("restore"), &wanted.until)?;
            &chosen
        }
    };
    let unfinished = Unfinished::begin(repository.env.clone(), wanted.target)?;
    eprintln!("duramen: restoring from the backup {}", backup.id);
    unpack_files(repository, backup, &unfinished.path, wanted)?;
    unpack_log(repository, backup, &unfinished.path, &wanted.until)?;
    let executed = executed(backup)?;
    let base =
        Base { log_name: &backup.log_name, last: &backup.log_last, end: backup.log_end, executed: &executed };
    recover_to(&repository.env, unfinished, wanted.target, &base, wanted.until.clone())
}

/// Refuses a position in a file of which nothing is archived.
fn check_archived(repository: &Repository, until: &Until) -> Result<(), ToolError> {
    let Until::Position { file, .. } = until else { return Ok(()) };
    let names = repository.log_names()?;
    if names.contains(file) {
        return Ok(());
    }
    let which = match (names.first(), names.last()) {
        (Some(first), Some(last)) => format!("they are {first} to {last}"),
        _ => "there are none".to_owned(),
    };
    Err(ToolError::Refused(format!("{file} is not in the files of the archive: {which}")))
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

fn executed(backup: &Manifest) -> Result<GtidSet, ToolError> {
    backup.gtid_executed.parse().map_err(|_| {
        ToolError::Refused(format!(
            "the manifest of the backup {} is damaged: gtid_executed is no set",
            backup.id
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
    if !wanted.keep_uuid {
        let written = crate::datadir::write_new_uuid(env, folder);
        written.map_err(|e| ToolError::Refused(e.to_string()))?;
    }
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
        if is_private { NewFile::create_private(env, &path)? } else { NewFile::create_data(env, &path)? };
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

/// Writes what is archived of a log file; returns how much that is, and the gap that ends it.
fn unpack_log_file(
    repository: &Repository,
    name: &str,
    path: &Path,
) -> Result<(u64, Option<Gap>), ToolError> {
    let env = &*repository.env;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (before, gap) = repository.chain(name)?;
        let mut file = NewFile::create_data(env, path)?;
        let read = repository.read_log(&before, &mut |bytes| file.append(bytes));
        // Where segments went meanwhile, their list may have had a gap, or no end.
        let now = repository.all_segments(name)?;
        if attempt < ATTEMPTS && before.iter().any(|segment| !now.contains(segment)) {
            drop(file);
            env.remove_file(path).map_err(|e| ToolError::io("remove", path, e))?;
            continue;
        }
        let end = read?;
        file.finish()?;
        return Ok((end, gap));
    }
}

/// How often a log file is read again whose segments were put together meanwhile.
const ATTEMPTS: usize = 5;

fn unpack_log(
    repository: &Repository,
    backup: &Manifest,
    folder: &Path,
    until: &Until,
) -> Result<(), ToolError> {
    for name in repository.log_names()? {
        if log_order(&name) < log_order(&backup.log_first) {
            continue;
        }
        let path = folder.join(&name);
        let (end, gap) = unpack_log_file(repository, &name, &path)?;
        let is_in_backup = (log_order(&name), end) < (log_order(&backup.log_last), backup.log_end);
        if !is_in_backup && end > 0 && has_point(repository, &path, &name, end, until)? {
            break;
        }
        if let Some(gap) = gap {
            return Err(gap_in(repository, &name, gap));
        }
        if is_in_backup && name == backup.log_last {
            return Err(ToolError::Refused(format!(
                "the repository has {end} bytes of {name}, and the backup {} needs {}: a file is missing there",
                backup.id, backup.log_end
            )));
        }
    }
    repository.sync(folder)
}

fn gap_in(repository: &Repository, name: &str, gap: Gap) -> ToolError {
    let Gap { from, to } = gap;
    let point = match from {
        0 => "(the end of the file before it)".to_owned(),
        _ => format!("{name}:{from}"),
    };
    ToolError::Refused(format!(
        "a piece is missing in '{}', of the bytes from {from} to {to}: what was committed there or later can't be restored. Put it \
         back from a copy of the folder, or end in front of it: --to={point} or earlier",
        repository.log(name).display()
    ))
}

/// True if nothing behind the file's first `end` bytes, which are at `path`, is needed.
fn has_point(
    repository: &Repository,
    path: &Path,
    name: &str,
    end: u64,
    until: &Until,
) -> Result<bool, ToolError> {
    Ok(match until {
        Until::End => false,
        Until::Position { file, offset } => file == name && *offset <= end,
        Until::Time(time) => {
            let end = end_of_log(&*repository.env, path, u64::MAX)?;
            end.last_commit.is_some_and(|commit| commit >= *time)
        }
        Until::Gtid(gtid) => gtid.is_subset(&end_of_log(&*repository.env, path, u64::MAX)?.executed),
    })
}
