//! Which backup a restore begins with: the latest one that does not go beyond the point, found by
//! reading few manifests (R5 of `repository.rs`).
//!
//! Backups are named after the time at which they were taken, so the later ones go further. Where
//! the clock was set back they may not: what is found is a backup in front of the point in any
//! case, and if the search finds none, all are looked at.

use super::manifest::Manifest;
use super::repository::{Repository, log_order, warn};
use crate::log_tool::ToolError;
use crate::log_tool::point::Until;
use binlog::gtid::GtidSet;
use std::collections::BTreeMap;

/// The latest backup that can be read; those after it are told.
pub(super) fn latest(repository: &Repository, command: &str) -> Result<Option<Manifest>, ToolError> {
    let mut search = Search::new(repository)?;
    let latest = search.last_in(0, search.ids.len());
    search.finish(latest, command)
}

/// The latest backup that does not go beyond the point.
pub(super) fn choose(repository: &Repository, until: &Until) -> Result<Manifest, ToolError> {
    let mut search = Search::new(repository)?;
    let chosen = search.before(until);
    if let Some(chosen) = search.finish(chosen, "restore")? {
        return Ok(chosen);
    }
    let oldest = (0..search.ids.len()).find_map(|at| search.read(at).cloned());
    Err(ToolError::Refused(match oldest {
        None => "there is no backup in the repository".into(),
        Some(oldest) => format!(
            "the oldest backup, {}, goes beyond {until}: it ends at {}:{}",
            oldest.id, oldest.log_last, oldest.log_end
        ),
    }))
}

fn is_before(backup: &Manifest, until: &Until) -> bool {
    match until {
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
    }
}

/// What was read of each backup.
struct Search<'a> {
    repository: &'a Repository,
    /// Oldest first.
    ids: Vec<String>,
    /// `Ok(None)` is no backup.
    read: BTreeMap<usize, Result<Option<Manifest>, ToolError>>,
}

impl<'a> Search<'a> {
    fn new(repository: &'a Repository) -> Result<Self, ToolError> {
        Ok(Self { repository, ids: repository.ids()?, read: BTreeMap::new() })
    }

    /// A backup, if it is one and can be read.
    fn read(&mut self, at: usize) -> Option<&Manifest> {
        let read = self.read.entry(at).or_insert_with(|| self.repository.manifest(&self.ids[at]));
        read.as_ref().ok()?.as_ref()
    }

    /// The last backup of a range that can be read.
    fn last_in(&mut self, from: usize, to: usize) -> Option<usize> {
        (from..to).rev().find(|at| self.read(*at).is_some())
    }

    fn is_before(&mut self, at: usize, until: &Until) -> bool {
        self.read(at).is_some_and(|backup| is_before(backup, until))
    }

    fn before(&mut self, until: &Until) -> Option<usize> {
        let last = self.last_in(0, self.ids.len())?;
        if self.is_before(last, until) {
            return Some(last);
        }
        // The one that is wanted is `best`, or in the range.
        let (mut from, mut to, mut best) = (0, last, None);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.last_in(from, middle + 1) {
                Some(at) if self.is_before(at, until) => (best, from) = (Some(at), middle + 1),
                Some(at) => to = at,
                None => from = middle + 1,
            }
        }
        best.or_else(|| (0..last).rev().find(|at| self.is_before(*at, until)))
    }

    /// The one that was found; what could not be read after it is told. If none can be read, though
    /// there are some, why: the key may be another one.
    fn finish(&mut self, found: Option<usize>, command: &str) -> Result<Option<Manifest>, ToolError> {
        let is_any_readable = self.read.values().any(|read| matches!(read, Ok(Some(_))));
        if !is_any_readable && self.read.values().any(Result::is_err) {
            let read = std::mem::take(&mut self.read);
            return Err(read.into_values().find_map(Result::err).expect("there is one"));
        }
        for why in self.read.range(found.unwrap_or(0)..).filter_map(|(_, read)| read.as_ref().err()) {
            warn(command, why);
        }
        Ok(found.and_then(|at| self.read(at).cloned()))
    }
}
