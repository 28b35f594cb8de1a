//! Opening the log: what a crash left is put right before anything is written. The cases are in `files.rs`.

use super::error::LogError;
use super::names::Folder;
use super::reset::{self, Reset};
use super::rotate::{Past, clear_in_use};
use super::scan::{self, EventStream, FIRST_EVENT, FileHeader, Scanned, StreamError};
use crate::event::LogResetEvent;
use crate::gtid::GtidSet;
use crate::position::{FileNumber, LogPosition};
use env::{File, OpenMode};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// What [`super::Log::open`] found.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The files that were there, oldest first, and are part of the log.
    pub files: Vec<FileNumber>,
    /// Behind the last complete event group; [`LogPosition::ZERO`] if there was no file.
    pub end: LogPosition,
    /// Every GTID in the log, and in files purged from it.
    pub gtid_executed: GtidSet,
    /// Of these, the ones in purged files, and those that were declared as purged.
    pub gtid_purged: GtidSet,
    /// False if the last file was not closed, by a crash or a power cut.
    pub clean_shutdown: bool,
    /// Bytes cut off its end because they were no complete group. Zeros made ahead are not counted.
    pub cut_bytes: u64,
    /// How the log was begun anew last, if it was.
    pub reset: Option<Reset>,
}

/// The log's files, put right.
pub(super) struct Found {
    pub(super) report: Recovered,
    pub(super) files: Vec<(FileNumber, u64)>,
    /// Serial numbers of complete pool files.
    pub(super) pool: Vec<u64>,
    /// What the last file's header says.
    pub(super) past: Past,
}

/// Steps i and j of `files.rs`, and checks.
pub(super) fn recover(folder: &Folder) -> Result<Found, LogError> {
    finish_reset(folder)?;
    let listing = list(folder)?;
    let numbers = log_files(folder, &listing)?;
    let mut found = Found {
        report: Recovered {
            files: numbers.clone(),
            end: LogPosition::ZERO,
            gtid_executed: GtidSet::new(),
            gtid_purged: GtidSet::new(),
            clean_shutdown: true,
            cut_bytes: 0,
            reset: None,
        },
        files: Vec::new(),
        pool: listing.pool,
        past: Past::default(),
    };
    for &number in &numbers {
        let size = open(folder, number)?.len().map_err(|e| on_file(folder, number, e))?;
        found.files.push((number, size));
    }
    if let Some(&last) = numbers.last() {
        let (scanned, cut) = close_last(folder, last)?;
        found.files.last_mut().expect("numbers is not empty").1 = scanned.end;
        let report = &mut found.report;
        report.end = LogPosition::new(last, scanned.groups_end);
        report.clean_shutdown = scanned.closed && !scanned.header.in_use;
        report.cut_bytes = cut;
        report.gtid_executed = scanned.gtids;
        let oldest = read_header(open(folder, numbers[0])?);
        let oldest = oldest.map_err(|e| from_stream(folder, numbers[0], 0, e))?;
        if oldest.reset != scanned.header.reset {
            let why = format!("{} belongs to a log that was begun at another time", folder.log_name(last));
            return Err(LogError::corrupt(&folder.log_name(numbers[0]), 0, why));
        }
        report.gtid_purged = oldest.previous;
        report.gtid_purged.union(&scanned.header.purged_by_order);
        report.reset = scanned.header.reset.as_ref().map(Reset::from_event);
        found.past = Past { purged_by_order: scanned.header.purged_by_order, reset: scanned.header.reset };
    }
    Ok(found)
}

/// Steps p to r of a reset that was broken off behind its point of no return.
fn finish_reset(folder: &Folder) -> Result<(), LogError> {
    let path = folder.reset_file();
    if !folder.env.exists(&path) {
        return Ok(());
    }
    let (_, named) = read_reset(&path, folder)?.ok_or_else(|| {
        LogError::corrupt(&path.to_string_lossy(), 0, "it does not say what the log begins anew with")
    })?;
    let error = |e| LogError::io("beginning the binary log anew", e);
    // The name of before need not be durable: the process alone may have died.
    folder.env.sync_dir(&folder.dir).map_err(error)?;
    reset::replace_old(folder, named).map_err(error)
}

/// What a file's header says of a reset: the log's first file, and the number in its name.
fn read_reset(path: &Path, folder: &Folder) -> Result<Option<(FileNumber, u32)>, LogError> {
    let name = path.to_string_lossy();
    let header =
        folder.env.open(path, OpenMode::Read).map_err(StreamError::Io).and_then(read_header).map_err(
            |e| match e {
                StreamError::Io(e) => LogError::io(name.clone(), e),
                StreamError::Event(e) => LogError::corrupt(&name, 0, e.to_string()),
            },
        )?;
    let Some(LogResetEvent { first, named, .. }) = header.reset else { return Ok(None) };
    let fit = |number: u64| u32::try_from(number).ok().filter(|&n| n > 0);
    match (fit(first), fit(named)) {
        (Some(first), Some(named)) => Ok(Some((FileNumber(first), named))),
        _ => Err(LogError::corrupt(&name, 0, "no log begins with such numbers")),
    }
}

struct Listing {
    /// Numbers of all files with a log file's name, in order.
    logs: Vec<FileNumber>,
    pool: Vec<u64>,
}

/// Looks at the folder, and removes what no run needs (step i).
fn list(folder: &Folder) -> Result<Listing, LogError> {
    let mut listing = Listing { logs: Vec::new(), pool: Vec::new() };
    let what = || format!("reading the folder {}", folder.dir.display());
    let (mut orphans, mut logs) = (Vec::new(), Vec::new());
    for path in folder.env.read_dir(&folder.dir).map_err(|e| LogError::io(what(), e))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(named) = folder.named(&name) {
            logs.push((named, path, name));
        } else if let Some((serial, complete)) = folder.pool_serial(&name) {
            if complete { listing.pool.push(serial) } else { orphans.push(path) }
        } else if path == folder.new_file() || folder.is_large_file(&name) {
            orphans.push(path);
        }
    }
    // All files of a log that was begun anew say so.
    if let Some((_, newest, _)) = logs.iter().max()
        && let Some((first, named)) = read_reset(newest, folder)?
    {
        folder.set_shift(first, named);
    }
    listing.logs = logs.iter().filter_map(|(_, _, name)| folder.log_number(name)).collect();
    listing.logs.sort_unstable();
    for path in orphans {
        remove(folder, &path)?;
    }
    Ok(listing)
}

/// The files that make up the log: those from the index's first on (F3).
fn log_files(folder: &Folder, listing: &Listing) -> Result<Vec<FileNumber>, LogError> {
    let indexed = read_index(folder)?;
    let first = indexed.first().copied().unwrap_or(FileNumber(0));
    let (purged, numbers): (Vec<_>, Vec<_>) = listing.logs.iter().partition(|&&number| number < first);
    for number in purged {
        remove(folder, &folder.log_path(number))?;
    }
    // Files gone from the front were removed by hand, as is often done. Anything else is a gap.
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0].next() != pair[1]) {
        return Err(LogError::Missing(folder.log_name(pair[0].next()).into()));
    }
    match (indexed.last(), numbers.last()) {
        (Some(&wanted), last) if last.is_none_or(|&last| last < wanted) => {
            Err(LogError::Missing(folder.log_name(wanted).into()))
        }
        _ => Ok(numbers),
    }
}

/// The numbers in the index file; none if there is no such file.
fn read_index(folder: &Folder) -> Result<Vec<FileNumber>, LogError> {
    let path = folder.index();
    let text = match folder.env.read_file(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(LogError::io(format!("reading {}", path.display()), e)),
    };
    let mut numbers = Vec::new();
    for line in String::from_utf8_lossy(&text).lines().filter(|line| !line.trim().is_empty()) {
        let number = folder.log_number(line.trim());
        let error = || LogError::corrupt(&path.to_string_lossy(), 0, format!("it lists {line:?}"));
        numbers.push(number.ok_or_else(error)?);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Cuts the last file at its true end and clears its flag, durably (step j). Returns also how many bytes that were not
/// zeros were cut.
fn close_last(folder: &Folder, number: FileNumber) -> Result<(Scanned, u64), LogError> {
    let file = open(folder, number)?;
    let scanned = scan::scan(file.clone()).map_err(|e| from_stream(folder, number, 0, e))?;
    let cut = cut_bytes(file.as_ref(), scanned.end).map_err(|e| on_file(folder, number, e))?;
    let close = || {
        if file.len()? != scanned.end {
            file.set_len(scanned.end)?;
        }
        if scanned.header.in_use {
            clear_in_use(file.as_ref())?;
        }
        // Also when nothing changed: a crash of the process alone left bytes that are complete, but never flushed.
        file.sync_all()
    };
    close().map_err(|e| on_file(folder, number, e))?;
    Ok((scanned, cut))
}

/// How many bytes there are from `end` to the file's last one that is not zero.
fn cut_bytes(file: &dyn File, end: u64) -> io::Result<u64> {
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

fn read_header(file: Arc<dyn File>) -> Result<FileHeader, StreamError> {
    let limit = file.len()?;
    scan::read_file_header(&mut EventStream::new(file, FIRST_EVENT), limit)
}

fn open(folder: &Folder, number: FileNumber) -> Result<Arc<dyn File>, LogError> {
    folder.env.open(&folder.log_path(number), OpenMode::ReadWrite).map_err(|e| on_file(folder, number, e))
}

fn remove(folder: &Folder, path: &Path) -> Result<(), LogError> {
    match folder.env.remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(LogError::io(format!("removing {}", path.display()), e))
        }
        _ => Ok(()),
    }
}

fn on_file(folder: &Folder, number: FileNumber, error: io::Error) -> LogError {
    LogError::io(folder.log_path(number).display().to_string(), error)
}

/// An error met at `offset` of a file.
pub(super) fn from_stream(folder: &Folder, number: FileNumber, offset: u64, error: StreamError) -> LogError {
    match error {
        StreamError::Io(e) => on_file(folder, number, e),
        StreamError::Event(e) => LogError::corrupt(&folder.log_name(number), offset, e.to_string()),
    }
}
