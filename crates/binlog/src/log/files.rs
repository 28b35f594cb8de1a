//! Which files the log consists of, and how one follows the other.
//!
//! The log is the files `first..=last`, numbered without gaps. The folder is the truth about where
//! it ends, the index file about where it starts, as far as the files agree (X1 of `examine.rs`);
//! everything else in the folder is an orphan.
//!
//! (F1) A file gets its log name only when its header is durable and the file before it is complete
//!      and durable. So only the last file can be torn, and never in its header.
//! (F2) No group is written to a file before its name is durable, but for the large transaction
//!      that a file is named with, and that nothing depends on before. So a number whose file is
//!      lost in a power cut was never seen by a reader, and may be used again.
//! (F3) A file is removed only when the index that starts after it is durable. What a purge that a
//!      power cut broke off has left, whatever subset of the files, is a part of the log again as
//!      far as it joins the rest; no start removes it.
//! (F4) Bytes after the end of a closed file, and zeros after the end of the active one, are
//!      not part of the log: a start cuts the last file at its true end (R1 of `scan.rs`),
//!      durably, before it names the next. What it cuts off and is not zeros it keeps in a file
//!      beside the log first.
//! (F5) A start changes nothing before it has examined all that a start reads: log and, where there
//!      are tables, their manifest (`examine.rs`).
//!
//! # Rotation from file N to N+1, and what a power cut leaves
//!
//! | | step | a power cut before the next step leaves | recovery |
//! | --- | --- | --- | --- |
//! | a | header written to `binlog.new` or a pool file, flushed | N as it was, an orphan | removes the orphan |
//! | b | Rotate event, in-use flag cleared, cut, in N | N with any of these | end by R1: before or after the Rotate |
//! | c | N flushed | N complete, an orphan | removes the orphan |
//! | d | the orphan renamed to N+1 | N complete, N+1 with its header or not there | takes N+1 as the last file, or N |
//! | e | folder flushed; the switch in memory | N and N+1, an index without N+1 | adds N+1 to the index |
//! | f | index replaced (in the background) | the new state | none |
//!
//! A failure in a or b is taken back: N is cut to its end before the Rotate event, durably, and
//! goes on (ENOSPC). So is one in d. A failed flush in c or e, or a failure to take back, latches
//! the log.
//!
//! A large transaction joins the log by the same steps (`large.rs`): its file is the one of step a,
//! whole and flushed with the transaction in it, and an orphan until step d. Being taken back it is
//! refused. A power cut after step d leaves all of it or nothing.
//!
//! # Purge of the files before K
//!
//! | | step | a power cut before the next step leaves | recovery |
//! | --- | --- | --- | --- |
//! | g | index starting at K replaces the old one, flushed | all files; the old or the new index | old: nothing happened |
//! | h | files removed, oldest first; folder flushed | any subset of them, and the new index | those that join the log are in it again; others stay, and are told (F3) |
//!
//! # Reset: the log begins anew, in a file that is named as the first
//!
//! All that the old log holds is in the tables, durably, and no transaction is ordered meanwhile
//! (`reset.rs`).
//!
//! | | step | a power cut before the next step leaves | recovery |
//! | --- | --- | --- | --- |
//! | m | header written as in a, with no GTIDs | the old log, an orphan | removes the orphan |
//! | n | the orphan renamed to `binlog.reset` | the old log, and `binlog.reset` or the orphan | `binlog.reset`: goes on with p |
//! | o | folder flushed: the old log is no more | the same | goes on with p |
//! | p | the old log's files removed, oldest first | any subset of them | goes on with p |
//! | q | index with the new file's name alone, flushed, the folder too | the old or the new index | goes on with p |
//! | r | `binlog.reset` renamed to the first file, folder flushed; the switch in memory | the new log, with its name or not | goes on with p, or none |
//!
//! What fails in m or n leaves the old log as it was. What fails later latches the log; the next
//! start goes on.
//!
//! # Startup, after a power cut in any of these, or in the last startup
//!
//! All is examined first. Then, in this order:
//!
//! | | step | a power cut before the next step leaves | recovery |
//! | --- | --- | --- | --- |
//! | s | what is after the true end of the last file N, and not zeros, copied to a file next to it: written as `binlog.cut.tmp`, flushed, renamed to `binlog.N.cut`, folder flushed | nothing, an orphan, or the copy | copies it again, or finds the same copy there |
//! | j | N cut to its true end, in-use flag cleared, flushed | N, its length or flag old or new | finds the same end |
//! | p to r | a reset that was broken off goes on | as there | as there |
//! | i | orphans removed | a subset of them | removes the rest |
//! | k | a, then d and e, for N+1 | as there | as there: an unused N+1 stays a file of the log |
//! | l | index replaced | the new state | none |
//! | t | the durable mark written (`mark.rs`), flushed | the old mark or the new one | none: the old one proves less |

use super::error::LogError;
use super::names::Folder;
use crate::position::{FileNumber, LogPosition};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io::ErrorKind;

/// One file of the log, as SHOW BINARY LOGS lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// What follows the dot in `name`.
    pub number: FileNumber,
    /// Its name, without folder.
    pub name: String,
    /// Its true size in bytes; of the active file, what was written so far.
    pub size: u64,
}

/// The files of an open log.
pub(super) struct Files {
    pub(super) folder: Folder,
    /// First to last; the last one's size is kept by the leader, not here.
    list: Mutex<VecDeque<(FileNumber, u64)>>,
    /// Held by the thread that writes the index, across its I/O; taken before `list`.
    index_latch: Mutex<IndexState>,
}

#[derive(Default)]
pub(super) struct IndexState {
    /// What the durable index says.
    pub(super) written: Option<FileRange>,
}

/// The first and the last file of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileRange {
    pub(super) first: FileNumber,
    pub(super) last: FileNumber,
}

impl Files {
    pub(super) fn new(folder: Folder, closed: Vec<(FileNumber, u64)>) -> Self {
        Self { folder, list: Mutex::new(closed.into()), index_latch: Mutex::default() }
    }

    /// The new last file, of which only the header is there.
    pub(super) fn push(&self, number: FileNumber, header_end: u64) {
        let mut list = self.list.lock();
        assert!(
            list.back().is_none_or(|&(last, _)| last.next() == number),
            "log files are numbered without gaps"
        );
        list.push_back((number, header_end));
    }

    /// The log begins anew with this file, of which only the header is there.
    pub(super) fn restart(&self, number: FileNumber, header_end: u64) {
        let mut list = self.list.lock();
        assert!(list.back().is_none_or(|&(last, _)| last < number), "positions only grow");
        list.clear();
        list.push_back((number, header_end));
    }

    /// Keeps others from the folder's log files and from the index, across I/O.
    pub(super) fn lock_index(&self) -> MutexGuard<'_, IndexState> {
        self.index_latch.lock()
    }

    /// The true size of the last file, now that it is closed.
    pub(super) fn set_last_size(&self, size: u64) {
        if let Some(last) = self.list.lock().back_mut() {
            last.1 = size;
        }
    }

    pub(super) fn first(&self) -> FileNumber {
        self.list.lock().front().expect("an open log has an active file").0
    }

    pub(super) fn last(&self) -> FileNumber {
        self.list.lock().back().expect("an open log has an active file").0
    }

    /// The size of a file that is closed; `None` for the active one and for one that is not there.
    pub(super) fn closed_size(&self, number: FileNumber) -> Option<u64> {
        let list = self.list.lock();
        let first = list.front()?.0;
        let index = number.0.checked_sub(first.0)? as usize;
        (index + 1 < list.len()).then(|| list[index].1)
    }

    /// All files, `written` being the end of the active one.
    pub(super) fn infos(&self, written: LogPosition) -> Vec<FileInfo> {
        let list = self.list.lock();
        let info = |&(number, size): &(FileNumber, u64)| FileInfo {
            number,
            name: self.folder.log_name(number),
            size: if number == written.file() { written.offset() } else { size },
        };
        list.iter().map(info).collect()
    }

    /// Writes the index if it is out of date (step f).
    pub(super) fn update_index(&self) -> Result<(), LogError> {
        let mut state = self.index_latch.lock();
        let range = FileRange { first: self.first(), last: self.last() };
        self.write_index(&mut state, range)
    }

    fn write_index(&self, state: &mut IndexState, range: FileRange) -> Result<(), LogError> {
        if state.written == Some(range) {
            return Ok(());
        }
        let mut text = String::new();
        for number in range.first.0..=range.last.0 {
            text.push_str("./");
            text.push_str(&self.folder.log_name(FileNumber(number)));
            text.push('\n');
        }
        state.written = None;
        self.folder
            .env
            .replace_file(&self.folder.index(), text.as_bytes())
            .map_err(|e| LogError::io("replacing the binary log index", e))?;
        state.written = Some(range);
        Ok(())
    }

    /// Removes the files before `keep` (steps g, h). What a failure after step g leaves is a part
    /// of the log again at the next start.
    pub(super) fn purge(&self, keep: FileNumber) -> Result<Vec<FileNumber>, LogError> {
        let mut state = self.index_latch.lock();
        let (first, last) = (self.first(), self.last());
        assert!(keep <= last, "the active log file is never purged");
        if keep <= first {
            return Ok(Vec::new());
        }
        self.write_index(&mut state, FileRange { first: keep, last })?;
        self.list.lock().retain(|&(number, _)| number >= keep);
        let gone: Vec<_> = (first.0..keep.0).map(FileNumber).collect();
        for &number in &gone {
            let path = self.folder.log_path(number);
            match self.folder.env.remove_file_of_others(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(LogError::io(format!("removing {}", path.display()), e));
                }
                _ => {}
            }
        }
        self.folder
            .env
            .sync_dir(&self.folder.dir)
            .map_err(|e| LogError::io("flushing the binary log folder", e))?;
        Ok(gone)
    }
}
