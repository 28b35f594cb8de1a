//! A data directory of a backup and of the archived log behind it.
//!
//! 1. choose   The latest backup that does not go beyond the point.
//! 2. unpack   Its files, then the log from the file on that its tables need, to the file that has
//!    the point. All is written beside the new data directory, and verified as it is read.
//! 3. recover  The log is cut at the point; the database is opened there and closed again.
//! 4. name     The folder gets its name.

use super::backend::inside;
use super::choose::choose;
use super::manifest::{Manifest, StoredFile};
use super::piece::Content;
use super::repository::{Gap, Repository, backup_folder, log_folder, log_order, table_name};
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
            chosen = choose(repository, &wanted.until)?;
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
    let in_backup = backup_folder(&backup.id);
    let small = small.map(|stored| (inside(&in_backup, &stored.piece), stored));
    let tables = backup.tables.iter().map(|stored| (table_name(&stored.piece), stored));
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
        sync(repository, folder)?;
    }
    Ok(())
}

/// Makes what was written to a folder of the new directory durable.
fn sync(repository: &Repository, folder: &Path) -> Result<(), ToolError> {
    repository.env.sync_dir(folder).map_err(|e| ToolError::io("flush the folder", folder, e))
}

fn unpack(
    repository: &Repository,
    piece: &str,
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
    check(repository, piece, stored, content)
}

/// A whole piece may yet be another one's.
pub(super) fn check(
    repository: &Repository,
    piece: &str,
    stored: &StoredFile,
    content: Content,
) -> Result<(), ToolError> {
    if content == stored.content {
        return Ok(());
    }
    Err(ToolError::Refused(format!(
        "'{}' is damaged: it is not what the backup had of {}",
        repository.shown(piece).display(),
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
    repository.read_log(name, |segments, gap| {
        if env.exists(path) {
            env.remove_file(path).map_err(|e| ToolError::io("remove", path, e))?;
        }
        let mut file = NewFile::create_data(env, path)?;
        let end = repository.read_segments(segments, &mut |bytes| file.append(bytes))?;
        file.finish()?;
        Ok((end, gap))
    })
}

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
    sync(repository, folder)
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
        repository.shown(&log_folder(name)).display()
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
