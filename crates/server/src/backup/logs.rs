//! The log in the repository: each file's bytes, as far as they are known to be flushed.
//!
//! (L1) Only what the server has noted as flushed is archived (`binlog.durable`): what it may yet
//!      take back, or lose in a power cut, is never in a repository. The note follows a flush by 20
//!      milliseconds. Where there is no note that can be read, all whole events are archived.
//! (L2) What is archived of a file is its beginning, and what comes is appended, as segments. When
//!      the next file has begun, the segments become one.
//! (L3) A repository has one history: what is archived of the last file must be what the server
//!      has there. After RESET BINARY LOGS AND GTIDS, or where an older state was restored, another
//!      repository is needed.

use super::repository::{Repository, Segment, log_order, segment_name};
use super::source::{OpenedLog, Source};
use crate::log_tool::ToolError;
use crate::tool::log_number;
use binlog::LogPosition;
use binlog::event::{EventHeader, LogResetEvent, MAGIC};
use binlog::log::durable_mark;

/// Read at once, in bytes.
const PIECE: usize = 1 << 20;

/// Where the byte is that says whether a file was closed.
const FLAGS: u64 = (MAGIC.len() + EventHeader::FLAGS_OFFSET) as u64;

/// What is archived now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArchivedLog {
    /// The files of which something is archived and that the server has, oldest first.
    pub(super) names: Vec<String>,
    /// Bytes of the last one.
    pub(super) end: u64,
    /// Bytes that were added.
    pub(super) added: u64,
    /// What is added to the number in a log file's name for the number in positions.
    pub(super) shift: i64,
    /// The number in positions of the first file that the tables need; `None` if they need all.
    pub(super) needed: Option<u32>,
}

impl ArchivedLog {
    /// The last file, and where it ends.
    pub(super) fn end(&self) -> (Option<&String>, u64) {
        (self.names.last(), self.end)
    }
}

/// Archives what the repository lacks. `is_first`: the repository is compared with the server (L3).
/// `tables`: where a backup's tables are; log files in front of that are not archived, nor those in
/// front of what is archived already.
pub(super) fn archive(
    repository: &Repository,
    source: &Source<'_>,
    is_first: bool,
    tables: Option<LogPosition>,
) -> Result<ArchivedLog, ToolError> {
    // The note is read first: the files have what it says.
    let mark = durable_mark(source.env, source.path, &source.log_name)
        .map_err(|e| ToolError::io("read the durable mark", source.path, e))?;
    let files = source.log()?;
    let reset = files.first().map_or(Ok(None), OpenedLog::reset)?;
    let shift = reset.as_ref().map_or(0, |reset| reset.first as i64 - reset.named as i64);
    if is_first {
        compare(repository, &files)?;
    }
    let needed = first_needed(tables, reset.as_ref())?;
    let oldest = repository.oldest_log()?;
    let mut archived = ArchivedLog { names: Vec::new(), end: 0, added: 0, shift, needed };
    for (i, file) in files.iter().enumerate() {
        let is_last = i + 1 == files.len();
        let number = log_number(&file.name, &source.log_name).map(|number| i64::from(number) + shift);
        let is_useless = match (&oldest, needed, number) {
            (Some(oldest), _, _) => log_order(&file.name) < log_order(oldest),
            (None, Some(first), Some(number)) => number < i64::from(first),
            _ => false,
        };
        if is_useless {
            continue;
        }
        let limit = match (mark, number) {
            (Some(mark), Some(number)) if number > i64::from(mark.file().0) => break,
            (Some(mark), Some(number)) if number == i64::from(mark.file().0) => mark.offset(),
            _ => u64::MAX,
        };
        archived.end = archive_file(repository, file, limit, is_last, &mut archived.added)?;
        archived.names.push(file.name.clone());
    }
    Ok(archived)
}

/// The number in positions of the first log file that tables at this position need. Where the log
/// was begun anew the tables have all of the old one, and may yet be called after it.
fn first_needed(
    tables: Option<LogPosition>,
    reset: Option<&LogResetEvent>,
) -> Result<Option<u32>, ToolError> {
    let (Some(tables), Some(reset)) = (tables, reset) else { return Ok(tables.map(|at| at.file().0)) };
    if u64::from(tables.file().0) >= reset.first {
        return Ok(Some(tables.file().0));
    }
    if tables < LogPosition::from_u64(reset.tables) {
        return Err(ToolError::Refused(
            "the log was begun anew (RESET BINARY LOGS AND GTIDS) while the tables were read: try again"
                .into(),
        ));
    }
    Ok(Some(u32::try_from(reset.first).unwrap_or(u32::MAX)))
}

/// Returns how many bytes of the file are archived now.
fn archive_file(
    repository: &Repository,
    log: &OpenedLog,
    limit: u64,
    is_last: bool,
    added: &mut u64,
) -> Result<u64, ToolError> {
    let segments = repository.segments(&log.name)?;
    let have = segments.last().map_or(0, |segment| segment.to);
    let len = log.file.len().map_err(|e| log.failed(e))?;
    // A closed file has no byte too many. One whose end is not known to be flushed is not closed.
    let is_closed = !is_last && limit == u64::MAX;
    let end = if is_closed { len } else { log.end(have.min(len))?.min(limit) };
    if end < have {
        return Err(other_history(&log.name));
    }
    let from = if is_closed && segments.len() > 1 { 0 } else { have };
    if end > from {
        write(repository, log, from, end)?;
        *added += end - have;
    }
    if is_closed && segments.len() > 1 {
        // They are in the whole one (L2).
        for segment in repository.all_segments(&log.name)? {
            if (segment.from, segment.to) != (0, end) {
                repository.remove(&segment.path)?;
            }
        }
    }
    Ok(end)
}

fn write(repository: &Repository, log: &OpenedLog, from: u64, to: u64) -> Result<(), ToolError> {
    let folder = repository.log(&log.name);
    repository.make_folder(&folder)?;
    let mut writer = repository.write(&folder.join(segment_name(from, to)))?;
    let (mut bytes, mut at) = (vec![0; PIECE], from);
    while at < to {
        let n = PIECE.min((to - at) as usize);
        log.file.read_exact_at(&mut bytes[..n], at).map_err(|e| log.failed(e))?;
        writer.append(&bytes[..n])?;
        at += n as u64;
    }
    writer.finish()?;
    repository.sync(&folder)
}

/// The last file of which something is archived must be the server's (L3).
fn compare(repository: &Repository, files: &[OpenedLog]) -> Result<(), ToolError> {
    let Some(last) = repository.log_names()?.pop() else { return Ok(()) };
    let Some(log) = files.iter().find(|log| log.name == last) else {
        let is_purged = files.first().is_some_and(|first| log_order(&first.name) > log_order(&last));
        return Err(match is_purged {
            // Nothing is wrong with the server: the archive has a gap, and must not hide it.
            true => ToolError::Refused(format!(
                "the server has purged log files behind {last}, which is the last one in the repository: the archive would have a \
                 gap. Begin another repository, and keep log files longer (binlog_expire_logs_seconds) or archive more often"
            )),
            false => other_history(&last),
        });
    };
    for Segment { from, to, path } in repository.segments(&last)? {
        let (mut at, mut ours) = (from, Vec::new());
        repository.read(&path)?.read_all(&mut |theirs| {
            ours.resize(theirs.len(), 0);
            let n = log.file.read_at(&mut ours, at).map_err(|e| log.failed(e))?;
            let mut theirs = theirs.to_vec();
            if (at..at + theirs.len() as u64).contains(&FLAGS) && n > (FLAGS - at) as usize {
                // Whether the file was closed is no difference.
                let flags = (FLAGS - at) as usize;
                (theirs[flags], ours[flags]) = (0, 0);
            }
            at += theirs.len() as u64;
            if n == theirs.len() && ours == theirs { Ok(()) } else { Err(other_history(&last)) }
        })?;
        if at != to {
            return Err(ToolError::Refused(format!(
                "'{}' has another length than its name says",
                path.display()
            )));
        }
    }
    Ok(())
}

fn other_history(name: &str) -> ToolError {
    ToolError::Refused(format!(
        "what the repository has of {name} is not what the server has: they are of two histories (an older state was restored, or \
         the log was begun anew). Begin another repository"
    ))
}

impl OpenedLog {
    fn failed(&self, e: std::io::Error) -> ToolError {
        ToolError::io("read", std::path::Path::new(&self.name), e)
    }
}
