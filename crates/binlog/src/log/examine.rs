//! Examining a log before anything is changed: the first half of a start. The second is
//! `recovery.rs`.
//!
//! Reads the folder, the index, the durable mark, the headers that matter and all of the last file,
//! and says what the log consists of, where it ends, and what a start would remove, cut and
//! rewrite. Changes nothing, so that a start can examine the tables too before it writes the first
//! byte, and tools can read a log that is damaged.
//!
//! (X1) Which files make up the log follows from the files: from the last one back as far as
//!      numbers have no gap. The index says where the log starts, but files in front of that which
//!      fit the others (a purge that was broken off, or an index that lies) are taken back into the
//!      log; they can be purged again. Files that don't fit stay where they are, and are reported.
//!      **No start removes a log file**, but for those of a log that was reset (`binlog.reset` says
//!      so).
//! (X2) An index that is damaged or missing is written anew if the files leave no doubt: no gap,
//!      each header whole and saying that everything before it came before, all of the same reset.
//!      Else the start stops.
//! (X3) The last file ends after its last whole group, and what follows is a torn tail, unless
//!      something proves that the log was flushed further: [`Examined::check`],
//!      [`Examined::require_durable`], `recovery.rs`. Then it is damage.
//! (X4) A file that does not go on from the one before it, by what both say of earlier transactions
//!      and of resets, is another log's, or in another's place: that stops the start, wherever it
//!      is. That a file in front of what a start reads is cut, or has no header that can be read,
//!      is reported: the tables have what was in it.

use super::error::{LogError, Loss};
use super::mark::{self, MarkRead};
use super::names::Folder;
use super::recovery::{Recovered, from_stream};
use super::reset::Reset;
use super::rotate::Past;
use super::scan::{self, ClosedBy, EventStream, FIRST_EVENT, FileHeader, GroupsAfter, Scanned, StreamError};
use crate::event::LogResetEvent;
use crate::gtid::{Gtid, GtidSet};
use crate::position::{FileNumber, LogPosition};
use env::{Env, File, OpenMode};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where a log keeps no mark (a version that had none wrote it, or the mark was lost), commit times
/// have to do: so long after it was written a group has been flushed. The log flushes within
/// milliseconds, and a power cut that tears what was written so long ago would have followed a disk
/// that was stuck all the time.
const FLUSHED_WITHIN: Duration = Duration::from_mins(10);

/// In what state the index file was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexState {
    /// It lists files without a gap.
    Sound,
    /// There is none. The log is new, or it is written anew from the files.
    Missing,
    /// It holds what the log never writes, and is written anew from the files.
    Damaged(String),
}

/// Something that a person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file's name, without folder.
    pub file: String,
    /// The place in it, in bytes from its start; `None` if it is about the whole file.
    pub offset: Option<u64>,
    /// What there is, and what a start does about it.
    pub what: String,
    /// True if it stops the start.
    pub is_damage: bool,
}

/// What [`examine`] found.
#[derive(Debug, Clone)]
pub struct Examined {
    /// What the log would be, opened now. Nothing is cut off yet.
    pub recovered: Recovered,
    /// The index file.
    pub index: IndexState,
    /// Files that no start needs, and removes: unfinished ones of what was broken off.
    pub orphans: Vec<PathBuf>,
    /// Log files that don't fit the others (X1). They stay where they are.
    pub strays: Vec<PathBuf>,
    /// What earlier starts cut off (`binlog.000008.cut`).
    pub cut_files: Vec<PathBuf>,
    /// Up to where the log says that it was flushed, at least; `None` if it does not say.
    pub durable: Option<LogPosition>,
    /// What was found, for the error log.
    pub findings: Vec<Finding>,
    pub(super) folder: Folder,
    /// With their lengths; of the last one it is the true end.
    pub(super) files: Vec<(FileNumber, u64)>,
    /// Serial numbers of complete pool files.
    pub(super) pool: Vec<u64>,
    /// What the last file's header says.
    pub(super) past: Past,
    pub(super) last: Option<LastFile>,
    /// A reset to go on with: the number in the new first file's name.
    pub(super) reset: Option<u32>,
    damage: Option<LogError>,
}

/// The last file, of which a start changes the end.
#[derive(Debug, Clone)]
pub(super) struct LastFile {
    pub(super) number: FileNumber,
    pub(super) path: PathBuf,
    /// The true end.
    pub(super) end: u64,
    pub(super) len: u64,
    pub(super) in_use: bool,
    pub(super) last_gtid: Option<Gtid>,
    pub(super) closed_by: Option<ClosedBy>,
    groups_after: GroupsAfter,
}

/// Examines the log of this name in `dir`; a log that is not there is a new one. No other process
/// may have it open.
///
/// # Errors
/// [`LogError::Corrupt`] or [`LogError::Missing`] if it can't even be said what the log consists
/// of; [`LogError::Io`]. Damage that does not make the log's end unknown is in what is returned:
/// see [`Examined::check`].
pub fn examine(env: Arc<dyn Env>, dir: &Path, base_name: &str) -> Result<Examined, LogError> {
    let folder = Folder::new(env, dir, base_name);
    let mut examined = Examined {
        recovered: Recovered {
            files: Vec::new(),
            end: LogPosition::ZERO,
            gtid_executed: GtidSet::new(),
            gtid_purged: GtidSet::new(),
            clean_shutdown: true,
            cut_bytes: 0,
            cut_file: None,
            reset: None,
        },
        index: IndexState::Missing,
        orphans: Vec::new(),
        strays: Vec::new(),
        cut_files: Vec::new(),
        durable: None,
        findings: Vec::new(),
        folder,
        files: Vec::new(),
        pool: Vec::new(),
        past: Past::default(),
        last: None,
        reset: None,
        damage: None,
    };
    examined.all().map_err(LogError::at_start)?;
    Ok(examined)
}

impl Examined {
    /// An error if the log is damaged, so that it must not be opened: going on would take back what
    /// was flushed.
    ///
    /// # Errors
    /// [`LogError::Corrupt`], [`LogError::Missing`]
    pub fn check(&self) -> Result<(), LogError> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Something else proves that the log was flushed up to `position` (`proof` says what, as in
    /// "the tables hold .."): an error if bytes that are no whole group lie before it in the last
    /// file. `Ok` if the log reaches it, or belongs to something else altogether, which is for the
    /// caller to tell.
    ///
    /// # Errors
    /// [`LogError::Corrupt`]
    pub fn require_durable(&self, position: LogPosition, proof: &str) -> Result<(), LogError> {
        match &self.last {
            Some(last) if position.file() == last.number && position.offset() > last.end => {
                let is_torn = self.recovered.cut_bytes > 0;
                if is_torn { Err(self.damage_at_end(proof)) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Reads all files that are closed, from `position` on, which is where a group ends: what is
    /// about to be replayed.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] if one of them is not whole, or if its transactions are not those that
    /// the next one says came before; [`LogError::Io`].
    pub fn verify_from(&self, position: LogPosition) -> Result<(), LogError> {
        let Some((&(last, end), closed)) = self.files.split_last() else { return Ok(()) };
        if last == position.file() && (FIRST_EVENT..end).contains(&position.offset()) {
            self.check_boundary(last, position.offset())?;
        }
        for &(number, len) in closed.iter().filter(|(number, _)| *number >= position.file()) {
            let from = if number == position.file() { position.offset() } else { 0 };
            self.verify_closed(number, from, len).map_err(LogError::at_start)?;
        }
        Ok(())
    }

    /// Fails unless an event begins at this place of the last file: another file lies under its
    /// name.
    fn check_boundary(&self, number: FileNumber, offset: u64) -> Result<(), LogError> {
        let scanned = scan::scan_from(open(&self.folder, number)?, offset);
        let scanned = scanned.map_err(|e| from_stream(&self.folder, number, offset, e))?;
        if scanned.end > offset {
            return Ok(());
        }
        let why = "the tables have what the log had up to here, and no event begins here: this is another file, or \
                   another server's";
        Err(LogError::corrupt(&self.file_name(number), offset, why.to_owned()).at_start())
    }

    /// The name of a file of this number, without folder.
    pub fn file_name(&self, number: FileNumber) -> String {
        self.folder.log_name(number)
    }

    /// A position by its file's name, as in `binlog.000002:409`; in words if it is of the log of
    /// before a reset.
    pub fn place(&self, position: LogPosition) -> String {
        let (number, offset) = (position.file(), position.offset());
        match self.recovered.reset {
            // Its file is gone, and names began anew.
            Some(reset) if number < reset.first => {
                format!("{position} of the log of before RESET BINARY LOGS AND GTIDS")
            }
            _ if number.0 == 0 => "the log's beginning".to_owned(),
            _ => format!("{}:{offset}", self.folder.log_name(number)),
        }
    }

    fn all(&mut self) -> Result<(), LogError> {
        let logs = self.list()?;
        self.read_mark(logs.is_empty())?;
        if !self.examine_reset(&logs)? {
            let numbers = self.log_files(&logs)?;
            self.examine_files(&numbers)?;
        }
        self.judge_end();
        Ok(())
    }

    fn verify_closed(&self, number: FileNumber, from: u64, len: u64) -> Result<(), LogError> {
        let folder = &self.folder;
        let file = open(folder, number)?;
        let scan = |from| scan::scan_from(file.clone(), from).map_err(|e| from_stream(folder, number, 0, e));
        let mut scanned = scan(from)?;
        let mut is_partial = from > scanned.header.end;
        let (name, next_name) = (folder.log_name(number), folder.log_name(number.next()));
        let damage = |scanned: &Scanned, groups_after: &GroupsAfter, why: String| {
            Err(LogError::damage(&name, scanned.end, why, loss(&name, scanned, groups_after)))
        };
        if scanned.closed_by.is_none() {
            if scanned.end < len {
                let groups_after = scan::resync(file.clone(), &scanned.header.fde, scanned.end, len);
                let groups_after = groups_after.map_err(|e| on_file(folder, number, e))?;
                let why =
                    "no whole transaction is here, but a file before the last one was flushed as a whole";
                return damage(&scanned, &groups_after, why.to_owned());
            }
            // A start cut it at its end, or another program did: the next file's header shows
            // which.
            scanned = scan(0)?;
            is_partial = false;
        } else if scanned.end < len {
            tracing::warn!(
                file = %name, offset = scanned.end,
                "the binary log: {} bytes behind the file's last event are no part of the log, and are not read",
                len - scanned.end
            );
        }
        // The tables have all of the file. Nothing in it will be replayed, but what the next file
        // goes on from has to be known: it may be a copy of this one. Damage in front of what the
        // tables have, which stops nothing, leaves that open.
        if is_partial && scanned.first_sequence.is_none() {
            match scan(0) {
                Ok(whole) if whole.end >= from => scanned = whole,
                Err(e) if !e.is_damage() => return Err(e),
                _ => return Ok(()),
            }
            is_partial = false;
        }
        let next = read_header(open(folder, number.next())?);
        let next = next.map_err(|e| from_stream(folder, number.next(), 0, e))?;
        let without = |set: &GtidSet, other: &GtidSet| {
            let mut left = set.clone();
            left.subtract(other);
            left
        };
        let more = without(&scanned.gtids, &next.previous);
        if !more.is_empty() {
            let why = format!("it does not say that {more} came before it, which are in {name}");
            return Err(LogError::corrupt(&next_name, FIRST_EVENT, why));
        }
        let lacking =
            |scanned: &Scanned| without(&without(&next.previous, &scanned.gtids), &next.purged_by_order);
        let mut lack = lacking(&scanned);
        if scanned.closed_by.is_none() {
            if lack.is_empty() {
                return Ok(());
            }
            let why = format!("the file ends here, but {next_name} says that {lack} came before it");
            return damage(&scanned, &GroupsAfter::default(), why);
        }
        // What was not read of a file that the tables have a part of: numbers in the file, which
        // begin at 1, count it, so it is read only where they say that something is wrong.
        let is_counted = |first: u64| lack.count() == u128::from(first.saturating_sub(1));
        if is_partial && !scanned.first_sequence.is_some_and(is_counted) {
            lack = lacking(&scan(0)?);
            is_partial = false;
        }
        if lack.is_empty() || is_partial {
            return Ok(());
        }
        let why = format!(
            "it says that {lack} came before it, which {name} does not have, nor any file before that: a file in front \
             of it is missing, or is another log's"
        );
        Err(LogError::corrupt(&next_name, FIRST_EVENT, why))
    }

    /// Looks at the folder. Returns all files with a log file's name, by the number in it.
    fn list(&mut self) -> Result<Vec<(u32, PathBuf)>, LogError> {
        let folder = &self.folder;
        let paths = match folder.env.read_dir(&folder.dir) {
            Ok(paths) => paths,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(LogError::io(format!("reading the folder {}", folder.dir.display()), e)),
        };
        let mut logs = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(named) = folder.named(&name) {
                logs.push((named, path));
            } else if let Some((serial, complete)) = folder.pool_serial(&name) {
                if complete { self.pool.push(serial) } else { self.orphans.push(path) }
            } else if folder.is_cut_file(&name) {
                self.cut_files.push(path);
            } else if path == folder.new_file()
                || path == folder.unfinished_cut_file()
                || folder.is_large_file(&name)
            {
                self.orphans.push(path);
            }
        }
        logs.sort_unstable();
        Ok(logs)
    }

    fn read_mark(&mut self, is_new: bool) -> Result<(), LogError> {
        let path = self.folder.durable_mark();
        match mark::read(&self.folder).map_err(|e| LogError::io(path.display().to_string(), e))? {
            MarkRead::At(position) => self.durable = Some(position),
            MarkRead::Missing if is_new => {}
            MarkRead::Missing => self.find(
                file_name(&path),
                None,
                "it is missing or empty, as in a copy of a running server's directory, or in one of a version that had \
                 none; it is written anew. So nothing tells up to where the log was flushed: if the server was not \
                 stopped cleanly, damage near the log's end may pass for the torn end that a power cut leaves",
            ),
            MarkRead::Damaged => self.find(
                file_name(&path),
                Some(0),
                "it is damaged, so it does not tell up to where the log was flushed; it is written anew",
            ),
        }
        Ok(())
    }

    pub(super) fn find(&mut self, file: String, offset: Option<u64>, what: impl Into<String>) {
        self.findings.push(Finding { file, offset, what: what.into(), is_damage: false });
    }

    /// A reset that was broken off after its point of no return: the log is the file that it
    /// begins with. False if there is none.
    fn examine_reset(&mut self, old: &[(u32, PathBuf)]) -> Result<bool, LogError> {
        let path = self.folder.reset_file();
        if !self.folder.env.exists(&path) {
            return Ok(false);
        }
        let header = read_header_of(&self.folder, &path)?;
        let (first, named) = numbers_of_reset(&path, header.reset.as_ref())?.ok_or_else(|| {
            LogError::corrupt(&file_name(&path), 0, "it does not say what the log begins anew with")
        })?;
        self.folder.set_shift(first, named);
        self.reset = Some(named);
        self.find(
            file_name(&path),
            None,
            format!(
                "RESET BINARY LOGS AND GTIDS was broken off behind its point of no return; it is finished, and the {} \
                 files of the log before it are removed",
                old.len()
            ),
        );
        self.examine_last(first, &path)?;
        self.recovered.files = vec![first];
        Ok(true)
    }

    /// The files that make up the log (X1, X2), which may be none.
    fn log_files(&mut self, logs: &[(u32, PathBuf)]) -> Result<Vec<FileNumber>, LogError> {
        // All files of a log that was begun anew say so.
        if let Some((_, newest)) = logs.last() {
            let header = read_header_of(&self.folder, newest)?;
            if let Some((first, named)) = numbers_of_reset(newest, header.reset.as_ref())? {
                self.folder.set_shift(first, named);
            }
        }
        let number = |path: &PathBuf| self.folder.log_number(&file_name(path));
        let numbers: Vec<FileNumber> = logs.iter().filter_map(|(_, path)| number(path)).collect();
        let (state, listed) = self.read_index()?;
        self.index = state;
        let without_gap = numbers.windows(2).rev().take_while(|pair| pair[0].next() == pair[1]).count();
        let run = numbers.len().saturating_sub(without_gap + 1);
        let (apart, together) = numbers.split_at(run);
        let Some((&first, &last)) = together.first().zip(together.last()) else {
            return self.no_files(listed.map(|(_, last)| last));
        };
        let gap = |number: FileNumber| {
            self.missing(number, "there are files in front of it and behind it".to_owned())
        };
        let start = match (listed, apart.last()) {
            (Some((_, listed_last)), _) if last < listed_last => {
                return Err(self.missing(listed_last, self.is_listed()));
            }
            (Some((listed_first, _)), Some(&before)) if before >= listed_first => {
                return Err(gap(FileNumber(first.0 - 1)));
            }
            (Some((listed_first, _)), _) => self.take_back(first, listed_first)?,
            (None, Some(_)) => return Err(gap(FileNumber(first.0 - 1))),
            (None, None) => {
                self.check_headers(together)?;
                first
            }
        };
        let (before, files): (Vec<_>, Vec<_>) = numbers.iter().partition(|&&number| number < start);
        for number in before {
            self.strays.push(self.folder.log_path(number));
            self.find(
                self.folder.log_name(number),
                None,
                "it lies in front of the log, as the index says, and does not fit it: what is left of a purge, \
                 probably. It is no part of the log; remove it by hand if it is not needed",
            );
        }
        if listed.is_none() {
            let (first, last) = (self.folder.log_name(files[0]), self.folder.log_name(last));
            let what = match &self.index {
                IndexState::Damaged(why) => format!("it is damaged ({why})"),
                _ => "it is missing".to_owned(),
            };
            let what =
                format!("{what}, and is written anew from the files that are there: {first} to {last}");
            self.find(file_name(&self.folder.index()), None, what);
        }
        Ok(files)
    }

    fn missing(&self, number: FileNumber, proof: String) -> LogError {
        LogError::Missing { file: self.folder.log_name(number).into(), proof: proof.into() }
    }

    fn is_listed(&self) -> String {
        let index = file_name(&self.folder.index());
        format!(
            "{index} lists it (if there never was such a file, {index} is damaged: move it away, and a start writes it anew \
             from the files that are there)"
        )
    }

    /// What follows where no log file is there.
    fn no_files(&self, listed_last: Option<FileNumber>) -> Result<Vec<FileNumber>, LogError> {
        match (&self.index, listed_last, self.durable) {
            (_, Some(last), _) => Err(self.missing(last, self.is_listed())),
            (_, _, Some(durable)) => {
                let mark = file_name(&self.folder.durable_mark());
                Err(self.missing(durable.file(), format!("{mark} says that the log reached it")))
            }
            (IndexState::Damaged(why), ..) => {
                let why = format!("{why}, and no log file is there");
                Err(LogError::corrupt(&file_name(&self.folder.index()), 0, why))
            }
            _ => self.no_other_name().map(|()| Vec::new()),
        }
    }

    /// An error if a log of another name is there: a server that began a new one next to it would
    /// be empty, and give out the other's GTIDs again.
    fn no_other_name(&self) -> Result<(), LogError> {
        let folder = &self.folder;
        let found = folder.other_log();
        let found = found
            .map_err(|e| LogError::io(format!("looking for log files in {}", folder.dir.display()), e))?;
        found.map_or(Ok(()), |(file, there)| {
            let wanted = folder.base().into();
            Err(LogError::OtherName { wanted, file: file.into(), there: there.into() })
        })
    }

    /// The first and the last number in the index file; `None` if it is not there or not as the log
    /// writes it.
    fn read_index(&self) -> Result<(IndexState, Option<(FileNumber, FileNumber)>), LogError> {
        let path = self.folder.index();
        let text = match self.folder.env.read_file(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((IndexState::Missing, None)),
            Err(e) => return Err(LogError::io(format!("reading {}", path.display()), e)),
        };
        let damaged = |why: String| Ok((IndexState::Damaged(why), None));
        let mut numbers: Vec<FileNumber> = Vec::new();
        for line in String::from_utf8_lossy(&text).lines().filter(|line| !line.trim().is_empty()) {
            let Some(number) = self.folder.log_number(line.trim()) else {
                return damaged(format!("it lists {line:?}"));
            };
            if numbers.last().is_some_and(|before| before.next() != number) {
                return damaged(format!("{line:?} does not follow the line before"));
            }
            numbers.push(number);
        }
        match numbers.first().copied().zip(numbers.last().copied()) {
            Some(range) => Ok((IndexState::Sound, Some(range))),
            None => damaged("it lists no file".to_owned()),
        }
    }

    /// Where the log starts if files without a gap start at `first` and those of the index at
    /// `listed`: as far in front of the index as they fit (X1).
    fn take_back(&mut self, first: FileNumber, listed: FileNumber) -> Result<FileNumber, LogError> {
        let mut start = first.max(listed);
        while start > first {
            let before = FileNumber(start.0 - 1);
            let fits = (|| {
                let (one, next) = (self.header(before)?, self.header(start)?);
                if one.reset != next.reset {
                    let why = "it belongs to a log that was begun at another time";
                    return Err(LogError::corrupt(&self.folder.log_name(before), 0, why));
                }
                let len = self.len(before)?;
                self.verify_closed(before, 0, len)
            })();
            match fits {
                Ok(_) => start = before,
                Err(e) if e.is_damage() => break,
                Err(e) => return Err(e),
            }
        }
        if start < listed {
            let what = format!(
                "it starts with {}, but the files from {} on are there and fit: they are a part of the log again. A \
                 purge was broken off, or the index is wrong",
                self.folder.log_name(listed),
                self.folder.log_name(start)
            );
            self.find(file_name(&self.folder.index()), None, what);
        }
        Ok(start)
    }

    /// X2: what headers say must leave no doubt.
    fn check_headers(&self, files: &[FileNumber]) -> Result<(), LogError> {
        let mut before: Option<FileHeader> = None;
        for &number in files {
            let header = self.header(number)?;
            let fits = before.as_ref().is_none_or(|before| {
                before.reset == header.reset && before.previous.is_subset(&header.previous)
            });
            if !fits {
                let why = format!(
                    "{} does not follow the file before it, so the index can't be written anew from the files",
                    self.folder.log_name(number)
                );
                return Err(LogError::corrupt(&file_name(&self.folder.index()), 0, why));
            }
            before = Some(header);
        }
        Ok(())
    }

    fn examine_files(&mut self, numbers: &[FileNumber]) -> Result<(), LogError> {
        for &number in numbers {
            self.files.push((number, self.len(number)?));
        }
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return Ok(()) };
        self.examine_last(last, &self.folder.log_path(last))?;
        let oldest = self.header(first)?;
        self.damage = self.check_chain(numbers)?;
        if oldest.reset != self.past.reset {
            let why =
                format!("{} belongs to a log that was begun at another time", self.folder.log_name(last));
            return Err(LogError::corrupt(&self.folder.log_name(first), 0, why));
        }
        self.recovered.gtid_purged = oldest.previous;
        self.recovered.gtid_purged.union(&self.past.purged_by_order);
        self.recovered.files = numbers.to_vec();
        Ok(())
    }

    /// Reads all of the last file.
    fn examine_last(&mut self, number: FileNumber, path: &Path) -> Result<(), LogError> {
        let folder = &self.folder;
        let failed = |e| LogError::io(path.display().to_string(), e);
        let file = folder.env.open(path, OpenMode::Read).map_err(failed)?;
        let scanned = scan::scan(file.clone()).map_err(|e| from_stream(folder, number, 0, e))?;
        let (end, len) = (scanned.end, file.len().map_err(failed)?);
        let cut_bytes = bytes_after(file.as_ref(), end).map_err(failed)?;
        let groups_after = if scanned.closed_by.is_none() {
            scan::resync(file, &scanned.header.fde, end, end + cut_bytes).map_err(failed)?
        } else {
            GroupsAfter::default()
        };
        match self.files.last_mut() {
            Some(last) => last.1 = end,
            None => self.files.push((number, end)),
        }
        let report = &mut self.recovered;
        report.end = LogPosition::new(number, scanned.groups_end);
        report.clean_shutdown = scanned.closed_by == Some(ClosedBy::Stop) && !scanned.header.in_use;
        report.cut_bytes = cut_bytes;
        report.gtid_executed = scanned.gtids;
        report.reset = scanned.header.reset.as_ref().map(Reset::from_event);
        let header = scanned.header;
        self.past = Past { purged_by_order: header.purged_by_order, reset: header.reset };
        self.last = Some(LastFile {
            number,
            path: path.to_owned(),
            end,
            len,
            in_use: header.in_use,
            last_gtid: scanned.last_gtid,
            closed_by: scanned.closed_by,
            groups_after,
        });
        Ok(())
    }

    /// X3: whether what follows the last file's end is a torn tail.
    fn judge_end(&mut self) {
        let Some(last) = &self.last else { return };
        let name = self.folder.log_name(last.number);
        let waited = |(first, last): (u64, u64)| Duration::from_micros(last.saturating_sub(first));
        let damage = match self.durable {
            Some(durable) if durable.file() > last.number => Some(self.damage_at_end(&format!(
                "it was flushed up to {}: files are missing, or this one's header, which says how \
                 files are numbered, was cut",
                self.place(durable)
            ))),
            Some(durable) if durable.file() == last.number && durable.offset() > last.end => {
                Some(self.damage_at_end(&format!("the log was flushed up to {}", durable.offset())))
            }
            Some(_) => None,
            None if last.groups_after.committed.is_some_and(|times| waited(times) > FLUSHED_WITHIN) => {
                Some(self.damage_at_end("there are transactions behind it that were committed much later"))
            }
            None => None,
        };
        let what = match &damage {
            Some(damage) => damage.to_string(),
            None if self.recovered.cut_bytes > 0 => format!(
                "{} bytes are no whole transaction, as after a crash: they are cut off, and kept",
                self.recovered.cut_bytes
            ),
            None => return,
        };
        let is_damage = damage.is_some();
        self.findings.push(Finding { file: name, offset: Some(last.end), what, is_damage });
        self.damage = self.damage.take().or(damage);
    }

    /// The last file must have been longer; `proof` says how that is known.
    fn damage_at_end(&self, proof: &str) -> LogError {
        let Some(last) = &self.last else { return self.missing(FileNumber(0), String::new()) };
        let name = self.folder.log_name(last.number);
        let what = match self.recovered.cut_bytes {
            0 => "the log ends here",
            _ => "no whole transaction is here",
        };
        let loss = Loss {
            last_good: last.last_gtid,
            last_good_end: (name.clone(), self.recovered.end.offset()),
            whole_groups_after: last.groups_after.whole,
            last_gtid_after: last.groups_after.last_gtid,
        };
        LogError::damage(&name, last.end, format!("{what}, but {proof}"), loss)
    }

    /// What is after the last file's end: whole groups, and the last one's GTID.
    pub(super) fn whole_groups_after(&self) -> (u64, Option<Gtid>) {
        self.last.as_ref().map_or((0, None), |last| (last.groups_after.whole, last.groups_after.last_gtid))
    }

    pub(super) fn header(&self, number: FileNumber) -> Result<FileHeader, LogError> {
        read_header(open(&self.folder, number)?).map_err(|e| from_stream(&self.folder, number, 0, e))
    }

    fn len(&self, number: FileNumber) -> Result<u64, LogError> {
        open(&self.folder, number)?.len().map_err(|e| on_file(&self.folder, number, e))
    }
}

fn loss(name: &str, scanned: &Scanned, groups_after: &GroupsAfter) -> Loss {
    Loss {
        last_good: scanned.last_gtid,
        last_good_end: (name.to_owned(), scanned.groups_end),
        whole_groups_after: groups_after.whole,
        last_gtid_after: groups_after.last_gtid,
    }
}

/// What a file's header says of a reset: the log's first file, and the number in its name.
fn numbers_of_reset(
    path: &Path,
    reset: Option<&LogResetEvent>,
) -> Result<Option<(FileNumber, u32)>, LogError> {
    let Some(&LogResetEvent { first, named, .. }) = reset else { return Ok(None) };
    let fit = |number: u64| u32::try_from(number).ok().filter(|&n| n > 0);
    match (fit(first).filter(|&n| FileNumber(n) <= FileNumber::MAX), fit(named)) {
        (Some(first), Some(named)) => Ok(Some((FileNumber(first), named))),
        _ => Err(LogError::corrupt(&file_name(path), 0, "no log begins with such numbers")),
    }
}

/// The header of a file whose number is not known yet.
fn read_header_of(folder: &Folder, path: &Path) -> Result<FileHeader, LogError> {
    let header = folder.env.open(path, OpenMode::Read).map_err(StreamError::Io).and_then(read_header);
    header.map_err(|e| match e {
        StreamError::Io(e) => LogError::io(path.display().to_string(), e),
        StreamError::Event(e) => LogError::corrupt(&file_name(path), 0, e.to_string()),
    })
}

fn read_header(file: Arc<dyn File>) -> Result<FileHeader, StreamError> {
    let limit = file.len()?;
    scan::read_file_header(&mut EventStream::of_header(file), limit)
}

/// How many bytes there are from `end` to the file's last one that is not zero.
fn bytes_after(file: &dyn File, end: u64) -> io::Result<u64> {
    let mut piece = vec![0; 256 << 10];
    let (mut at, mut last) = (end, end);
    loop {
        let n = file.read_at(&mut piece, at)?;
        if n == 0 {
            return Ok(last - end);
        }
        if let Some(i) = piece[..n].iter().rposition(|&b| b != 0) {
            last = at + i as u64 + 1;
        }
        at += n as u64;
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn open(folder: &Folder, number: FileNumber) -> Result<Arc<dyn File>, LogError> {
    folder.env.open(&folder.log_path(number), OpenMode::Read).map_err(|e| on_file(folder, number, e))
}

pub(super) fn on_file(folder: &Folder, number: FileNumber, error: io::Error) -> LogError {
    LogError::io(folder.log_path(number).display().to_string(), error)
}
