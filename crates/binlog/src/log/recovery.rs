//! Adopting a log that was examined (`examine.rs`): what a crash left is put right before anything
//! is written. The cases are in `files.rs`.
//!
//! # Torn tail or damage
//!
//! The last file ends after its last whole group (R1 of `scan.rs`). What follows may be what a
//! power cut left of writes that were not flushed: that is cut off, for it was never acknowledged.
//! Or it may have been flushed, and be damaged: a flipped bit, a truncated file. To cut the
//! log there would take back what was acknowledged, and give its GTIDs to other transactions. The
//! bytes alone don't distinguish the two. Up to sixteen flushes overlap, groups are written while
//! earlier ones are in flight, and at `sync_binlog` = 0 any number is written in front of a flush
//! that is slow; of all these writes a power cut leaves any subset, so that whole groups after a
//! torn one prove nothing. What proves that a place was flushed:
//!
//! (Z1) The durable mark (`mark.rs`) lies after it. The mark is written after the flush that it
//!      records has returned, so whatever a power cut leaves of mark and log, the log reaches at
//!      least to the mark, in whole groups: marks are ends of groups, of headers and of closed
//!      files only (G6 of `commit.rs`). This never refuses what a power cut can leave, at any
//!      setting. It finds all damage up to some milliseconds before the end of a process that died,
//!      some seconds before a power cut.
//! (Z2) The tables' checkpoint lies after it: a checkpoint makes the log durable first
//!      ([`super::Examined::require_durable`]).
//! (Z3) It is in a file before the last one, which was flushed before its successor got a name
//!      (F1 of `files.rs`) ([`super::Examined::verify_from`]).
//! (Z4) Only where there is no mark: a whole group after it was committed more than ten minutes
//!      after the first that can be read there. A disk that was stuck so long makes this wrong;
//!      then a person has to say that the tail may go.
//!
//! Damage stops the start, with nothing changed. After the last proof a torn tail and damage are
//! the same; that is cut off, saved to a file, and logged.

use super::error::LogError;
use super::examine::{Examined, LastFile};
use super::names::Folder;
use super::reset::{self, Reset};
use super::rotate::{Past, clear_in_use};
use super::scan::{ClosedBy, StreamError};
use crate::gtid::GtidSet;
use crate::position::{FileNumber, LogPosition};
use env::{File, OpenMode, PIECE, Rows};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What [`super::Log::open`] found.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The files that were there, oldest first, and are part of the log.
    pub files: Vec<FileNumber>,
    /// The end of the last complete event group; [`LogPosition::ZERO`] if there was no file.
    pub end: LogPosition,
    /// Every GTID in the log, and in files purged from it.
    pub gtid_executed: GtidSet,
    /// Of these, the ones in purged files, and those that were declared as purged.
    pub gtid_purged: GtidSet,
    /// False if the log does not end with a clean shutdown's Stop event.
    pub clean_shutdown: bool,
    /// Bytes after the last file's end that are no complete group, up to the last one that is not
    /// zero.
    pub cut_bytes: u64,
    /// The file that they were saved to when they were cut off.
    pub cut_file: Option<PathBuf>,
    /// How the log was begun anew last, if it was.
    pub reset: Option<Reset>,
}

/// The log's files, put right.
pub(super) struct Found {
    pub(super) folder: Folder,
    pub(super) report: Recovered,
    pub(super) files: Vec<(FileNumber, u64)>,
    /// Serial numbers of complete pool files.
    pub(super) pool: Vec<u64>,
    /// What the last file's header says.
    pub(super) past: Past,
}

/// Steps p to r of `files.rs` if a reset was broken off, and i, s and j.
pub(super) fn adopt(examined: Examined) -> Result<Found, LogError> {
    examined.check()?;
    for finding in &examined.findings {
        match finding.offset {
            Some(offset) => tracing::warn!(file = %finding.file, offset, "the binary log: {}", finding.what),
            None => tracing::warn!(file = %finding.file, "the binary log: {}", finding.what),
        }
    }
    let mut report = examined.recovered.clone();
    if let Some(last) = &examined.last {
        report.cut_file = close_last(&examined, last)?;
        if !report.clean_shutdown {
            log_unclean_stop(&examined, last, report.cut_file.as_deref());
        }
    }
    let folder = &examined.folder;
    if let Some(named) = examined.reset {
        let error = |e| LogError::io("beginning the binary log anew", e);
        // The name of before need not be durable: the process alone may have died.
        folder.env.sync_dir(&folder.dir).map_err(error)?;
        reset::replace_old(folder, named).map_err(error)?;
    }
    for path in &examined.orphans {
        remove(folder, path)?;
    }
    let Examined { folder, files, pool, past, .. } = examined;
    Ok(Found { folder, report, files, pool, past })
}

/// Says that the log was not closed, and what that came to.
fn log_unclean_stop(examined: &Examined, last: &LastFile, cut_file: Option<&Path>) {
    let name = examined.folder.log_name(last.number);
    let end = examined.recovered.end.offset();
    let last_gtid = last.last_gtid.map_or("none in this file".to_owned(), |gtid| gtid.to_string());
    if last.closed_by == Some(ClosedBy::Rotate) {
        let next = examined.file_name(last.number.next());
        return tracing::warn!(
            file = %name, end, %last_gtid,
            "the server was not shut down cleanly; nothing was cut off the binary log, which goes on in {next} by its last \
             event, and {next} is not there: a crash in a rotation leaves that. If it was there, its transactions are lost"
        );
    }
    let Some(cut_file) = cut_file else {
        return tracing::warn!(
            file = %name, end, %last_gtid,
            "the server was not shut down cleanly; the binary log ends with a whole transaction, and nothing was cut off"
        );
    };
    let (whole_groups_after, last_gtid_after) = examined.whole_groups_after();
    let lost = match last_gtid_after {
        Some(gtid) => format!("; {whole_groups_after} whole transactions are in them, up to {gtid}"),
        None => String::new(),
    };
    tracing::warn!(
        file = %name, end, %last_gtid, cut_bytes = examined.recovered.cut_bytes, kept_in = %cut_file.display(),
        "the server was not shut down cleanly; bytes behind the end of the binary log are no whole transaction that is known \
         to have been flushed, and were cut off and kept{lost}"
    );
}

/// Cuts the last file at its true end and clears its flag, durably (step j). What is cut off and
/// not zeros is saved first (step s), in the file that is returned.
fn close_last(examined: &Examined, last: &LastFile) -> Result<Option<PathBuf>, LogError> {
    let folder = &examined.folder;
    let failed = |e| LogError::io(last.path.display().to_string(), e);
    let file = folder.env.open(&last.path, OpenMode::ReadWrite).map_err(failed)?;
    let cut_file = match examined.recovered.cut_bytes {
        0 => None,
        bytes => Some(save_cut_bytes(folder, last, file.as_ref(), bytes)?),
    };
    let close = || {
        if last.len != last.end {
            file.set_len(last.end)?;
        }
        if last.in_use {
            clear_in_use(file.as_ref())?;
        }
        // Also when nothing changed: a crash of the process alone left bytes that are complete, but
        // never flushed.
        file.sync_all()
    };
    close().map_err(failed)?;
    Ok(cut_file)
}

/// Step s: copies `bytes` after the end of the last file to a file next to it, durably. A start
/// that was broken off may have done so already.
fn save_cut_bytes(
    folder: &Folder,
    last: &LastFile,
    file: &dyn File,
    bytes: u64,
) -> Result<PathBuf, LogError> {
    let (source, temporary) = (Part { file, from: last.end, len: bytes }, folder.unfinished_cut_file());
    let failed = |path: &Path, e| {
        LogError::io(format!("keeping the end of {} in {}", last.path.display(), path.display()), e)
    };
    let mut nth = 0;
    loop {
        nth += 1;
        let path = folder.cut_file(last.number, nth);
        if folder.env.exists(&path) {
            let other = folder.env.open(&path, OpenMode::Read).map_err(|e| failed(&path, e))?;
            let len = other.len().map_err(|e| failed(&path, e))?;
            let other = Part { file: other.as_ref(), from: 0, len };
            if !source.is_same(&other).map_err(|e| failed(&path, e))? {
                continue;
            }
        } else {
            remove(folder, &temporary)?;
            let copy = || {
                let copy = folder.env.open(&temporary, OpenMode::CreateNewRows(Rows::Log))?;
                source.copy_to(copy.as_ref())?;
                copy.sync_all()?;
                folder.env.rename(&temporary, &path)
            };
            copy().map_err(|e| failed(&path, e))?;
        }
        folder.env.sync_dir(&folder.dir).map_err(|e| failed(&path, e))?;
        return Ok(path);
    }
}

/// Bytes of a part that are read at once.
#[derive(Clone, Copy)]
struct Piece {
    /// Where it begins in the part, in bytes.
    at: u64,
    /// In bytes.
    len: usize,
}

/// Some bytes of a file.
struct Part<'a> {
    file: &'a dyn File,
    from: u64,
    len: u64,
}

impl Part<'_> {
    fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let len = self.len;
        (0..len).step_by(PIECE).map(move |at| Piece { at, len: (len - at).min(PIECE as u64) as usize })
    }

    fn read(&self, Piece { at, len }: Piece) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, self.from + at)?;
        Ok(bytes)
    }

    fn copy_to(&self, target: &dyn File) -> io::Result<()> {
        self.pieces().try_for_each(|piece| target.write_at(&self.read(piece)?, piece.at))
    }

    fn is_same(&self, other: &Part<'_>) -> io::Result<bool> {
        if self.len != other.len {
            return Ok(false);
        }
        for piece in self.pieces() {
            if self.read(piece)? != other.read(piece)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn remove(folder: &Folder, path: &Path) -> Result<(), LogError> {
    match folder.env.remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(LogError::io(format!("removing {}", path.display()), e))
        }
        _ => Ok(()),
    }
}

/// An error met at `offset` of a file.
pub(super) fn from_stream(folder: &Folder, number: FileNumber, offset: u64, error: StreamError) -> LogError {
    match error {
        StreamError::Io(e) => LogError::io(folder.log_path(number).display().to_string(), e),
        StreamError::Event(e) => LogError::corrupt(&folder.log_name(number), offset, e.to_string()),
    }
}
