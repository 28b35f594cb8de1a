//! Whether backups can be restored: everything is read, and a data directory is made of them.

use super::backend::inside;
use super::manifest::Manifest;
use super::repository::{Gap, Repository, backup_folder, log_order, table_name};
use super::restore::{self, Wanted};
use crate::log_tool::ToolError;
use crate::log_tool::point::Until;
use crate::log_tool::replay::Recovered;
use crate::progress::{Progress, Unit};
use crate::tool::log_number;
use binlog::gtid::GtidSet;
use std::collections::HashSet;
use std::path::Path;

/// Reads all pieces that the backups need, and all of the log; what is wrong is told, each thing.
pub(super) fn read_all(repository: &Repository, backups: &[Manifest]) -> Result<Vec<String>, ToolError> {
    let mut wrong = Vec::new();
    let mut seen = HashSet::new();
    let total = backups.iter().map(Manifest::size).sum();
    let mut progress = Progress::new(&*repository.env, "reading backups", Unit::Bytes, total);
    for backup in backups {
        let folder = backup_folder(&backup.id);
        let small = backup.files.iter().map(|stored| (inside(&folder, &stored.piece), stored));
        let tables = backup.tables.iter().map(|stored| (table_name(&stored.piece), stored));
        for (path, stored) in small.chain(tables) {
            if !seen.insert(path.clone()) {
                continue;
            }
            let read = repository.read(&path).and_then(|piece| {
                piece.read_all(&mut |bytes| {
                    progress.add(bytes.len() as u64);
                    Ok(())
                })
            });
            if let Err(e) = read.and_then(|content| restore::check(repository, &path, stored, content)) {
                wrong.push(format!("{e} (needed by the backup {})", backup.id));
            }
        }
    }
    read_log_files(repository, backups, &mut wrong)?;
    Ok(wrong)
}

/// Reads the log from the first file on that a backup needs.
fn read_log_files(
    repository: &Repository,
    backups: &[Manifest],
    wrong: &mut Vec<String>,
) -> Result<(), ToolError> {
    let Some(first) = backups.iter().min_by_key(|backup| log_order(&backup.log_first)) else { return Ok(()) };
    let mut before: Option<(String, u32)> = None;
    for name in repository.log_names()? {
        if log_order(&name) < log_order(&first.log_first) {
            continue;
        }
        let read = repository.read_log(&name, |segments, gap| {
            repository.read_segments(segments, &mut |_| Ok(()))?;
            Ok(gap)
        });
        match read {
            Ok(None) => {}
            Ok(Some(Gap { from, to })) => {
                wrong.push(format!("a piece of {name} is missing, of the bytes from {from} to {to}"));
            }
            Err(e) => wrong.push(e.to_string()),
        }
        let number = log_number(&name, &first.log_name);
        if let (Some((last, before)), Some(number)) = (&before, number)
            && number != before + 1
        {
            wrong.push(format!("log files are missing between {last} and {name}"));
        }
        before = number.map(|number| (name.clone(), number));
    }
    Ok(())
}

/// Makes a data directory of a backup in `scratch`, as it was at its end, examines it as `duramen
/// check` does, compares what was executed, and removes it.
pub(super) fn rehearse(
    repository: &Repository,
    backup: &Manifest,
    scratch: &Path,
    jobs: usize,
) -> Result<Vec<String>, ToolError> {
    let until = Until::Position { file: backup.log_last.clone(), offset: backup.log_end };
    let (restored, mut wrong) = rehearse_to(repository, backup, until, scratch, jobs)?;
    let planned: Result<GtidSet, _> = backup.gtid_executed.parse();
    if let Some(restored) = restored
        && planned.as_ref().ok() != Some(&restored.executed)
    {
        wrong.push(format!(
            "the backup {}, restored, has executed {}, and had {} when it was made",
            backup.id, restored.executed, backup.gtid_executed
        ));
    }
    Ok(wrong)
}

/// The same with all that is archived: the log between the backups and after them is replayed, from
/// the oldest one on. Returns where that ends, too.
pub(super) fn rehearse_log(
    repository: &Repository,
    backups: &[Manifest],
    scratch: &Path,
    jobs: usize,
) -> Result<(Option<String>, Vec<String>), ToolError> {
    let (Some(oldest), Some(latest)) = (backups.first(), backups.last()) else {
        return Ok((None, Vec::new()));
    };
    let (restored, mut wrong) = rehearse_to(repository, oldest, Until::End, scratch, jobs)?;
    let Some(restored) = restored else { return Ok((None, wrong)) };
    let planned: Result<GtidSet, _> = latest.gtid_executed.parse();
    if !planned.is_ok_and(|planned| planned.is_subset(&restored.executed)) {
        wrong.push(format!(
            "the log, replayed from the backup {} on, has executed {}, and the backup {} has {}",
            oldest.id, restored.executed, latest.id, latest.gtid_executed
        ));
    }
    let end = format!(
        "the log was replayed from the backup {} to {}:{}, {} transactions",
        oldest.id, restored.last_name, restored.last_end, restored.transactions
    );
    Ok((Some(end), wrong))
}

/// Makes a data directory of a backup, examines and removes it.
fn rehearse_to(
    repository: &Repository,
    backup: &Manifest,
    until: Until,
    scratch: &Path,
    jobs: usize,
) -> Result<(Option<Recovered>, Vec<String>), ToolError> {
    let env = &repository.env;
    let target = scratch.join(format!("duramen-verify-{}", backup.id));
    if env.exists(&target) {
        return Err(ToolError::Refused(format!(
            "'{}' is there: another verify is at work, or was ended and has left it. Remove it, or give --scratch another folder",
            target.display()
        )));
    }
    let wanted = Wanted { target: &target, until, keep_uuid: true, jobs };
    let restored = match restore::restore(repository, Some(backup), &wanted) {
        Ok(restored) => restored,
        // What is wrong with the archive, and not with the place.
        Err(e @ (ToolError::Refused(_) | ToolError::File { .. })) => {
            return Ok((None, vec![format!("the backup {}, restored to {}: {e}", backup.id, wanted.until)]));
        }
        Err(e) => return Err(e),
    };
    let mut wrong = Vec::new();
    let (verdict, text) = crate::repair::examined(env, &target)?;
    if verdict != 0 {
        wrong.push(format!("the backup {}, restored to {}, is not sound:\n{text}", backup.id, wanted.until));
    }
    env.remove_tree(&target).map_err(|e| ToolError::io("remove", &target, e))?;
    Ok((Some(restored), wrong))
}
