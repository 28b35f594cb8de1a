//! The files that hold backups.
//!
//! | name | what |
//! | --- | --- |
//! | `repository` | what this is, for people and for programs |
//! | `repository.lock` | locked while backups are made or removed |
//! | `tables/NAME-SIZE-HASH.piece` | a table file, whichever backups need it |
//! | `logs/NAME/FROM-TO.piece` | the bytes of a log file from one offset to another |
//! | `backups/TIME/` | a backup: small files, each a piece, and `backup.piece`, which says what belongs to it and is written last |
//! | `uploads/` | in object storage: what is being uploaded in parts |
//!
//! (R1) A piece has its name only when it is whole and durable, and is never changed.
//! (R2) `backup.piece` is written when all that it names is durable: a backup that was broken off
//!      is none, and what it left is used by the next one.
//! (R3) Pieces are removed only after the backups that name them.
//! (R4) A piece is read under the path alone that it was written as (`piece.rs`).
//! (R5) What a command takes grows with the backups that it is about, and not with all that there
//!      are: a backup reads the latest manifest, a restore a few (`choose.rs`), and the log's names
//!      are listed once.
//!
//! Elsewhere: a folder and object storage, which hold the files (`backend.rs`).

use super::backend::{Backend, Lock, inside};
use super::key::Key;
use super::manifest::Manifest;
use super::piece::{PieceReader, PieceWriter};
use crate::log_tool::{ToolError, printable};
use crate::tool::in_threads;
use env::Env;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TITLE: &str = "duramen backup repository 2";
const TITLES: &str = "duramen backup repository ";
/// The longest title that is read, in bytes.
const TITLE_MAX: u64 = 4096;
/// Manifests that are read at a time: object storage takes its time for each.
const READERS: usize = 8;
/// How often a log file is read again whose segments were put together meanwhile.
const ATTEMPTS: usize = 5;

pub(super) const TABLES: &str = "tables";
pub(super) const LOGS: &str = "logs";
pub(super) const BACKUPS: &str = "backups";

/// An open repository.
pub(super) struct Repository {
    pub(super) env: Arc<dyn Env>,
    pub(super) files: Box<dyn Backend>,
    pub(super) key: Option<Key>,
    /// What is archived of the log, if it was listed.
    logs: Mutex<Option<Logs>>,
}

/// Log files, in their order, and all segments of each.
type Logs = BTreeMap<(usize, String), Vec<Segment>>;

/// Bytes of a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Its name in the repository.
    pub(super) name: String,
}

/// A gap in what is archived of a log file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The backups of a repository.
pub(super) struct Backups {
    /// Oldest first.
    pub(super) readable: Vec<Manifest>,
    /// The ids of those whose manifest can't be read, and why.
    pub(super) unreadable: Vec<(String, ToolError)>,
}

impl Backups {
    /// Those that can be read; the others are told.
    pub(super) fn warned(self, command: &str) -> Vec<Manifest> {
        for (_, why) in &self.unreadable {
            warn(command, why);
        }
        self.readable
    }
}

pub(super) fn warn(command: &str, why: &ToolError) {
    eprintln!("duramen {command}: warning: {why}. This backup is left out");
}

impl Repository {
    /// Opens one that is there.
    pub(super) fn open(
        env: &Arc<dyn Env>,
        files: Box<dyn Backend>,
        key: Option<Key>,
    ) -> Result<Self, ToolError> {
        let shown = files.shown("");
        let text = read_title(&*files)?;
        let found = Self { env: env.clone(), files, key, logs: Mutex::default() };
        match text.as_deref().map(|text| text.lines().next().unwrap_or_default()) {
            Some(TITLE) => Ok(found),
            Some(line) if line.starts_with(TITLES) => Err(ToolError::Refused(format!(
                "'{}' is of format {}, and this version of duramen knows format {} alone: back up to a new folder, and keep the \
                 version that made this one as long as you need its backups",
                shown.display(),
                printable(&line[TITLES.len()..]),
                &TITLE[TITLES.len()..]
            ))),
            _ => Err(ToolError::Refused(format!("'{}' is no repository of backups", shown.display()))),
        }
    }

    /// Opens it, or makes one where nothing is.
    pub(super) fn open_or_make(
        env: &Arc<dyn Env>,
        files: Box<dyn Backend>,
        key: Option<Key>,
    ) -> Result<Self, ToolError> {
        if is_unmade(&*files)? {
            let text = format!(
                "{TITLE}\n\nBackups of a Duramen server. 'duramen backup list --from=FOLDER' tells which, 'duramen restore --help' how\n\
                 to get one back. Nothing here is to be changed or removed by hand; 'duramen backup prune' removes old ones.\n"
            );
            files.make(text.as_bytes())?;
        }
        Self::open(env, files, key)
    }

    /// Keeps other programs from making and removing backups, and forgets what was listed.
    pub(super) fn lock(&self) -> Result<Lock, ToolError> {
        let lock = self.files.lock()?;
        self.refresh();
        Ok(lock)
    }

    /// As [`Self::lock`]; `None` if another program has it.
    pub(super) fn try_lock(&self) -> Result<Option<Lock>, ToolError> {
        let lock = self.files.try_lock()?;
        if lock.is_some() {
            self.refresh();
        }
        Ok(lock)
    }

    /// Forgets what was listed.
    pub(super) fn refresh(&self) {
        *self.logs.lock() = None;
    }

    /// What messages call a file.
    pub(super) fn shown(&self, name: &str) -> PathBuf {
        self.files.shown(name)
    }

    /// Missing files are an error.
    pub(super) fn read(&self, name: &str) -> Result<PieceReader, ToolError> {
        self.read_if_there(name)?.ok_or_else(|| {
            ToolError::Refused(format!("'{}' is missing in the repository", self.shown(name).display()))
        })
    }

    fn read_if_there(&self, name: &str) -> Result<Option<PieceReader>, ToolError> {
        let Some(input) = self.files.open(name)? else { return Ok(None) };
        PieceReader::open(input, &self.shown(name), name, self.key.as_ref()).map(Some)
    }

    /// A piece of about `len` bytes of content.
    pub(super) fn write(&self, name: &str, len: u64) -> Result<PieceWriter, ToolError> {
        let output = self.files.create(name, len)?;
        PieceWriter::create(&*self.env, output, &self.shown(name), name, self.key.as_ref())
    }

    /// Lists the log, if it was not.
    fn with_logs<T>(&self, then: impl FnOnce(&Logs) -> T) -> Result<T, ToolError> {
        let mut logs = self.logs.lock();
        let listed = match &mut *logs {
            Some(listed) => listed,
            empty => {
                let mut listed = Logs::new();
                for (name, file) in self.files.list_below(LOGS)? {
                    if is_log_name(&name)
                        && let Some(segment) = segment(&name, &file)
                    {
                        listed.entry((name.len(), name)).or_default().push(segment);
                    }
                }
                empty.insert(listed)
            }
        };
        Ok(then(listed))
    }

    /// The names of log files of which something is archived, oldest first. A folder without a
    /// piece, which a kill or a full disk leaves, is none.
    pub(super) fn log_names(&self) -> Result<Vec<String>, ToolError> {
        self.with_logs(|logs| logs.keys().map(|(_, name)| name.clone()).collect())
    }

    /// The oldest and the newest of [`Self::log_names`].
    pub(super) fn log_bounds(&self) -> Result<Option<(String, String)>, ToolError> {
        if self.files.lists_all_at_once() || self.logs.lock().is_some() {
            return self.with_logs(|logs| {
                let (oldest, newest) = (logs.first_key_value()?, logs.last_key_value()?);
                Some((oldest.0.1.clone(), newest.0.1.clone()))
            });
        }
        let mut names = self.files.list(LOGS)?;
        names.retain(|name| is_log_name(name));
        names.sort_by(|a, b| log_order(a).cmp(&log_order(b)));
        let first_of = |names: &mut dyn Iterator<Item = String>| -> Result<Option<String>, ToolError> {
            for name in names {
                if !self.list_segments(&name)?.is_empty() {
                    return Ok(Some(name));
                }
            }
            Ok(None)
        };
        let oldest = first_of(&mut names.iter().cloned())?;
        let newest = first_of(&mut names.into_iter().rev())?;
        Ok(oldest.zip(newest))
    }

    /// What is archived of a log file, from its first byte on and without gaps; and where the first
    /// gap is.
    pub(super) fn chain(&self, name: &str) -> Result<(Vec<Segment>, Option<Gap>), ToolError> {
        Ok(chain_of(self.all_segments(name)?))
    }

    /// All segments of a log file, also those that others cover.
    pub(super) fn all_segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        if self.files.lists_all_at_once() || self.logs.lock().is_some() {
            return self
                .with_logs(|logs| logs.get(&(name.len(), name.to_owned())).cloned().unwrap_or_default());
        }
        self.list_segments(name)
    }

    /// As [`Self::all_segments`], as they are now.
    fn list_segments(&self, name: &str) -> Result<Vec<Segment>, ToolError> {
        let files = self.files.list(&inside(LOGS, name))?;
        Ok(files.into_iter().filter_map(|file| segment(name, &file)).collect())
    }

    /// Notes a segment that was written just now.
    pub(super) fn note_segment(&self, log: &str, segment: Segment) {
        if let Some(logs) = &mut *self.logs.lock() {
            logs.entry((log.len(), log.to_owned())).or_default().push(segment);
        }
    }

    /// Removes a segment, also from what was listed.
    pub(super) fn remove_segment(&self, log: &str, segment: &Segment) -> Result<(), ToolError> {
        self.files.remove(&segment.name)?;
        if let Some(logs) = &mut *self.logs.lock()
            && let Some(segments) = logs.get_mut(&(log.len(), log.to_owned()))
        {
            segments.retain(|other| other != segment);
        }
        Ok(())
    }

    /// Removes what backups that were broken off left half-written: in tables, and, if not
    /// `everywhere`, in the folders that they can have been at work in. The repository is locked.
    pub(super) fn sweep(&self, everywhere: bool) -> Result<(), ToolError> {
        let mut folders = vec![TABLES.to_owned()];
        if self.files.lists_all_at_once() {
            return self.files.sweep(&folders);
        }
        for above in [LOGS, BACKUPS] {
            let mut names = self.files.list(above)?;
            if !everywhere {
                names.sort_by(|a, b| log_order(b).cmp(&log_order(a)));
                names.truncate(SWEPT);
            }
            folders.extend(names.iter().map(|name| inside(above, name)));
        }
        self.files.sweep(&folders)
    }

    /// Hands over the bytes of a log file's segments ([`Self::chain`]), each once, and says how many
    /// there are.
    pub(super) fn read_segments(
        &self,
        segments: &[Segment],
        take: &mut dyn FnMut(&[u8]) -> Result<(), ToolError>,
    ) -> Result<u64, ToolError> {
        let mut end = 0;
        for segment in segments {
            let mut known = end - segment.from;
            let content = self.read(&segment.name)?.read_all(&mut |bytes| {
                let skipped = known.min(bytes.len() as u64);
                known -= skipped;
                take(&bytes[skipped as usize..])
            })?;
            if content.len != segment.to - segment.from {
                let path = self.shown(&segment.name);
                return Err(ToolError::Refused(format!(
                    "'{}' is damaged: it has another length than its name says",
                    path.display()
                )));
            }
            end = segment.to;
        }
        Ok(end)
    }

    /// Reads what is archived of a log file by `read`, which is called again if segments were put
    /// together meanwhile: their list may have had a gap, or no end. The newest two files alone
    /// change, and those that are in several segments.
    pub(super) fn read_log<T>(
        &self,
        name: &str,
        mut read: impl FnMut(&[Segment], Option<Gap>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let names = self.log_names()?;
        let is_new = names.iter().rev().take(2).any(|new| new == name);
        let (mut before, mut gap) = self.chain(name)?;
        for attempt in 1.. {
            let done = read(&before, gap);
            if attempt == ATTEMPTS || done.is_ok() && !is_new && before.len() == 1 && gap.is_none() {
                return done;
            }
            let now = self.list_segments(name)?;
            if before.iter().all(|segment| now.contains(segment)) {
                return done;
            }
            (before, gap) = chain_of(now);
        }
        unreachable!("returned above")
    }

    /// The ids of backups, whole or not, oldest first.
    pub(super) fn ids(&self) -> Result<Vec<String>, ToolError> {
        self.files.list(BACKUPS)
    }

    /// All whole backups, oldest first; of those that can't be read, why. It is an error if none
    /// can be read, though there are some: the key may be another one.
    pub(super) fn backups(&self) -> Result<Backups, ToolError> {
        let ids = self.ids()?;
        let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let readers = READERS.min(ids.len()).max(1);
        in_threads(readers, || -> Result<(), ToolError> {
            while let Some(id) = ids.get(next.fetch_add(1, Relaxed)) {
                if let Some(found) = self.manifest(id).transpose() {
                    all.lock().push((id, found));
                }
            }
            Ok(())
        })?;
        let mut all = all.into_inner();
        all.sort_by(|a, b| a.0.cmp(b.0));
        let mut backups = Backups { readable: Vec::new(), unreadable: Vec::new() };
        for (id, found) in all {
            match found {
                Ok(manifest) => backups.readable.push(manifest),
                Err(e) => backups.unreadable.push((id.clone(), e)),
            }
        }
        if backups.readable.is_empty() && !backups.unreadable.is_empty() {
            return Err(backups.unreadable.swap_remove(0).1);
        }
        Ok(backups)
    }

    /// A backup's manifest; `None` if it has none, and so is no backup.
    pub(super) fn manifest(&self, id: &str) -> Result<Option<Manifest>, ToolError> {
        let name = inside(&backup_folder(id), MANIFEST);
        let Some(piece) = self.read_if_there(&name)? else { return Ok(None) };
        let path = self.shown(&name);
        let mut text = Vec::new();
        piece.read_all(&mut |bytes| {
            text.extend_from_slice(bytes);
            // As the largest that can be meant: a line for each of ten million tables.
            if text.len() > 2 << 30 {
                return Err(ToolError::Refused(format!("'{}' is too long", path.display())));
            }
            Ok(())
        })?;
        let manifest = Manifest::parse(id, &String::from_utf8_lossy(&text));
        manifest.map(Some).ok_or_else(|| {
            ToolError::Refused(format!(
                "'{}' is of a format that this version of duramen does not know",
                path.display()
            ))
        })
    }

    /// Writes a backup's manifest, with which it is one (R2). The repository is locked; if that
    /// turns out not to be sure any more, there is no backup.
    pub(super) fn put_manifest(&self, manifest: &Manifest) -> Result<(), ToolError> {
        let folder = backup_folder(&manifest.id);
        let (name, text) = (inside(&folder, MANIFEST), manifest.text());
        self.files.check_lock()?;
        let mut writer = self.write(&name, text.len() as u64)?;
        writer.append(text.as_bytes())?;
        writer.finish()?;
        self.files.sync(&folder)?;
        let sure = self.files.confirm_lock();
        if sure.is_err() {
            // Another program may have removed a table that it names.
            self.files.remove(&name)?;
        }
        sure
    }
}

/// True if nothing is there, or what making a repository has left that was broken off: its title is
/// written last.
fn is_unmade(files: &dyn Backend) -> Result<bool, ToolError> {
    for name in files.list("")? {
        let is_left = match name.as_str() {
            TABLES | LOGS | BACKUPS => files.list(&name)?.is_empty(),
            name => name == "repository.tmp",
        };
        if !is_left {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_title(files: &dyn Backend) -> Result<Option<String>, ToolError> {
    let Some(title) = files.open("repository")? else { return Ok(None) };
    let mut text = Vec::new();
    let read = title.take(TITLE_MAX).read_to_end(&mut text);
    read.map_err(|e| ToolError::io("read", &files.shown("repository"), e))?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// The fewest segments that have a log file's first bytes without a gap, in their order; and where
/// the first gap is: there a piece is missing, since later ones are there. One may begin in front of
/// the end of another: two programs that archive at a time do not know where the other one's end.
pub(super) fn chain_of(mut found: Vec<Segment>) -> (Vec<Segment>, Option<Gap>) {
    found.sort_by_key(|segment| segment.from);
    let mut found = found.into_iter().peekable();
    let (mut chain, mut end): (Vec<Segment>, u64) = (Vec::new(), 0);
    loop {
        let mut longest: Option<Segment> = None;
        while let Some(segment) = found.next_if(|segment| segment.from <= end) {
            if segment.to > longest.as_ref().map_or(end, |longest| longest.to) {
                longest = Some(segment);
            }
        }
        let Some(longest) = longest else { break };
        end = longest.to;
        chain.push(longest);
    }
    let gap = found.next().map(|segment| Gap { from: end, to: segment.from });
    (chain, gap)
}

/// The file that makes a backup of a folder.
pub(super) const MANIFEST: &str = "backup.piece";
/// A backup that was broken off was at work in one of the newest folders.
const SWEPT: usize = 4;

/// Where a backup's own files are, its manifest among them.
pub(super) fn backup_folder(id: &str) -> String {
    inside(BACKUPS, id)
}

/// A table's piece.
pub(super) fn table_name(piece: &str) -> String {
    inside(TABLES, piece)
}

/// The folder of a log file.
pub(super) fn log_folder(name: &str) -> String {
    inside(LOGS, name)
}

/// Puts the names of log files in their order: binlog.1000000 comes after binlog.999999.
pub(super) fn log_order(name: &str) -> (usize, &str) {
    (name.len(), name)
}

impl Segment {
    pub(super) fn new(log: &str, from: u64, to: u64) -> Self {
        Self { from, to, name: format!("{LOGS}/{log}/{from:016}-{to:016}.piece") }
    }
}

/// True for a name of a log file, whatever comes before its number.
fn is_log_name(name: &str) -> bool {
    let number = name.rsplit_once('.').map_or("", |(_, number)| number);
    number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit())
}

fn segment(log: &str, file: &str) -> Option<Segment> {
    let (from, to) = file.strip_suffix(".piece")?.split_once('-')?;
    let name = inside(&log_folder(log), file);
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to).then_some(Segment { from, to, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_segments() {
        let check = |found: &[(u64, u64)], expected: &[(u64, u64)], gap: Option<(u64, u64)>| {
            let segments = found.iter().map(|&(from, to)| Segment::new("binlog.000001", from, to));
            let (chain, found_gap) = chain_of(segments.collect());
            let chain: Vec<_> = chain.iter().map(|segment| (segment.from, segment.to)).collect();
            assert_eq!(chain, expected, "{found:?}");
            assert_eq!(found_gap.map(|gap| (gap.from, gap.to)), gap, "{found:?}");
        };
        check(&[], &[], None);
        check(&[(0, 5), (5, 9)], &[(0, 5), (5, 9)], None);
        check(&[(5, 9)], &[], Some((0, 5)));
        check(&[(0, 5), (6, 9), (9, 12)], &[(0, 5)], Some((5, 6)));
        // Put together, and not removed yet.
        check(&[(0, 5), (0, 9), (5, 9), (9, 11)], &[(0, 9), (9, 11)], None);
        // Two programs.
        check(&[(0, 7), (5, 9), (9, 12)], &[(0, 7), (5, 9), (9, 12)], None);
        check(&[(0, 7), (1, 3), (5, 9), (6, 12)], &[(0, 7), (6, 12)], None);
    }
}
