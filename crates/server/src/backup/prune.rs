//! Old backups go, with all that only they need.

use super::backend::inside;
use super::manifest::Manifest;
use super::repository::{
    BACKUPS, Backups, MANIFEST, Repository, TABLES, backup_folder, log_folder, log_order, table_name,
};
use crate::log_tool::ToolError;
use crate::tool::in_threads;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Files that are removed at a time: object storage takes its time for each.
const REMOVERS: usize = 8;

/// What remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Keep {
    /// So many of the latest.
    pub(super) last: Option<u64>,
    /// Those of so many days, and the one before them, so that each moment of these days can be
    /// restored.
    pub(super) days: Option<u64>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pruned {
    pub(super) backups: usize,
    pub(super) tables: usize,
    pub(super) logs: usize,
}

const DAY: u64 = 24 * 3600 * 1_000_000;

/// The numbers of the backups that remain: the latest one always does.
fn first_retained(backups: &[Manifest], keep: Keep, now: u64) -> usize {
    let by_number = keep.last.map(|n| backups.len().saturating_sub(usize::try_from(n).unwrap_or(usize::MAX)));
    let by_days = keep.days.map(|days| {
        let from = now.saturating_sub(days.saturating_mul(DAY));
        backups.iter().rposition(|backup| backup.until <= from).unwrap_or(0)
    });
    let first = match (by_number, by_days) {
        (Some(a), Some(b)) => a.min(b),
        (Some(first), None) | (None, Some(first)) => first,
        (None, None) => 0,
    };
    first.min(backups.len().saturating_sub(1))
}

/// Log files are removed by what manifests say of the first one that is needed. It only grows from
/// one backup to the next, so one that says a later file than a later backup is not what was
/// written.
fn check_order(backups: &[Manifest]) -> Result<(), ToolError> {
    let mut by_end: Vec<&Manifest> = backups.iter().collect();
    by_end.sort_by_key(|backup| (log_order(&backup.log_last), backup.log_end));
    let wrong = by_end.windows(2).find(|pair| log_order(&pair[0].log_first) > log_order(&pair[1].log_first));
    match wrong {
        None => Ok(()),
        Some(pair) => Err(ToolError::Refused(format!(
            "the backups {} and {} contradict each other: the earlier one says that it needs the log from {} on, the later one from {}. \
             Nothing is removed: 'duramen backup verify --all' tells more",
            pair[0].id, pair[1].id, pair[0].log_first, pair[1].log_first
        ))),
    }
}

/// Removes what `keep` does not keep, and what backups that were broken off left. What was listed is
/// removed only if no other program had the lock since: a backup that began meanwhile would have a
/// folder that looks broken off, and use tables that none has needed yet.
pub(super) fn prune(repository: &Repository, keep: Keep) -> Result<Pruned, ToolError> {
    let Backups { readable: backups, unreadable } = repository.backups()?;
    if let Some((id, why)) = unreadable.first() {
        return Err(ToolError::Refused(format!(
            "{why}. What this backup needs is not known, so nothing is removed: put the file back from a copy, or remove the folder \
             '{}' to give this backup up",
            repository.shown(&backup_folder(id)).display()
        )));
    }
    let mut pruned = Pruned::default();
    if backups.is_empty() {
        return Ok(pruned);
    }
    check_order(&backups)?;
    repository.sweep(true)?;
    let first = first_retained(&backups, keep, repository.env.now());
    let (gone, remaining) = backups.split_at(first);
    repository.files.confirm_lock()?;
    each(gone, |backup| {
        // Without its manifest it is no backup any more (R3 of `repository.rs`).
        let folder = backup_folder(&backup.id);
        repository.files.remove_while_locked(&inside(&folder, MANIFEST))?;
        repository.files.sync(&folder)
    })?;
    pruned.backups = gone.len();
    let ids: HashSet<&str> = remaining.iter().map(|backup| backup.id.as_str()).collect();
    let mut folders = repository.ids()?;
    folders.retain(|id| !ids.contains(id.as_str()));
    repository.files.confirm_lock()?;
    each(&folders, |id| repository.files.remove_folder(&backup_folder(id)))?;
    repository.files.sync(BACKUPS)?;
    let needed: HashSet<&str> =
        remaining.iter().flat_map(|backup| &backup.tables).map(|stored| stored.piece.as_str()).collect();
    let mut tables = repository.files.list(TABLES)?;
    tables.retain(|piece| !needed.contains(piece.as_str()));
    repository.files.confirm_lock()?;
    each(&tables, |piece| repository.files.remove_while_locked(&table_name(piece)))?;
    pruned.tables = tables.len();
    let first_log = remaining.iter().map(|backup| log_order(&backup.log_first)).min();
    let mut logs = repository.log_names()?;
    logs.retain(|name| first_log.is_some_and(|first| log_order(name) < first));
    repository.files.confirm_lock()?;
    each(&logs, |name| repository.files.remove_folder(&log_folder(name)))?;
    pruned.logs = logs.len();
    Ok(pruned)
}

/// Removes several things at a time.
fn each<T: Sync>(things: &[T], remove: impl Fn(&T) -> Result<(), ToolError> + Sync) -> Result<(), ToolError> {
    let next = AtomicUsize::new(0);
    in_threads(REMOVERS.min(things.len()).max(1), || {
        while let Some(thing) = things.get(next.fetch_add(1, Relaxed)) {
            remove(thing)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_others_contradict_stops_it() {
        let backup = |first: u32, last: u32| Manifest {
            id: format!("{last}"),
            log_first: format!("binlog.{first:06}"),
            log_last: format!("binlog.{last:06}"),
            ..Manifest::default()
        };
        assert!(check_order(&[backup(1, 2), backup(1, 3), backup(3, 4)]).is_ok());
        let forged = check_order(&[backup(1, 2), backup(3, 3), backup(2, 4)]);
        let told = forged.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("3 and 4 contradict"), "{told}");
        assert!(check_order(&[backup(3, 3), backup(1, 2)]).is_ok(), "whatever the clock said");
    }

    #[test]
    fn the_latest_and_those_of_the_days_remain() {
        let backup = |day: u64| Manifest { id: format!("{day}"), until: day * DAY, ..Manifest::default() };
        let all: Vec<_> = (1..=10).map(backup).collect();
        let first = |last, days| first_retained(&all, Keep { last, days }, 10 * DAY + 5);
        assert_eq!(first(Some(3), None), 7);
        assert_eq!(first(Some(0), None), 9, "one remains");
        assert_eq!(first(Some(30), None), 0);
        // Each moment of the last two days can be restored from the backup of day 8.
        assert_eq!(first(None, Some(2)), 7);
        assert_eq!(first(None, Some(200)), 0);
        assert_eq!(first(Some(1), Some(4)), 5);
    }
}
