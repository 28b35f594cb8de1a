//! The log in the repository: each file's bytes, as far as they are known to be flushed.
//!
//! (L1) Only what the server has noted as flushed is archived (`binlog.durable`): what it may yet
//!      take back, or lose in a power cut, is never in a repository. The note follows a flush by 20
//!      milliseconds. Where there is no note that can be read, all whole events are archived.
//! (L2) What is archived of a file is its beginning, and what comes is appended, as segments. Many
//!      small ones at its end become one, so that a file that is open for months has some hundred
//!      ([`merge_from`]); when the next file has begun, all become one. The new one is there before
//!      those that it covers are removed.
//! (L3) A repository has one history: what is archived of the last file must be what the server
//!      has there. After RESET BINARY LOGS AND GTIDS, or where an older state was restored, another
//!      repository is needed.
//! (L4) Appending to the newest file, or beginning the next one, needs no lock: prune removes files
//!      before those that the latest backup needs. Making one segment of a closed file does: it
//!      would come back after prune has removed it. Two programs that append at a time do not know
//!      of each other's segments: these have the same bytes where they overlap, and none is removed
//!      before a longer one is there, so that together they have all (`chain_of`).

use super::repository::{Repository, Segment, chain_of, log_folder, log_order};
use super::source::{OpenedLog, Source};
use crate::log_tool::ToolError;
use crate::tool::log_number;
use binlog::LogPosition;
use binlog::event::{EventHeader, LogResetEvent, MAGIC};
use binlog::log::durable_mark;

/// Read at once, in bytes.
const PIECE: usize = 1 << 20;

/// Segments that are put together while a file is open: so many, none longer than that, in bytes.
/// What comes each second is a few kilobytes; 64 of what was put together become one again. Longer
/// ones are left: a file has not many of them.
const MERGED: [(usize, u64); 2] = [(32, 64 << 10), (64, 2 << 20)];

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
    /// A closed file is in several segments, which waits for the lock (L4).
    pub(super) is_merge_due: bool,
}

/// What archiving is to do besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Archiving {
    /// The repository is compared with the server (L3), and what was archived is made durable.
    pub(super) is_first: bool,
    /// The repository is locked (L4).
    pub(super) is_locked: bool,
    /// Where a backup's tables are; log files in front of that are not archived, nor those in front
    /// of what is archived already.
    pub(super) tables: Option<LogPosition>,
}

impl ArchivedLog {
    /// The last file, and where it ends.
    pub(super) fn end(&self) -> (Option<&String>, u64) {
        (self.names.last(), self.end)
    }
}

/// Archives what the repository lacks.
pub(super) fn archive(
    repository: &Repository,
    source: &Source<'_>,
    archiving: Archiving,
) -> Result<ArchivedLog, ToolError> {
    // Then the note is read: another program that archives without a lock has archived what it says
    // at the most. Then the server's files, which have what it says.
    let bounds = repository.log_bounds()?;
    let mark = durable_mark(source.env, source.path, &source.log_name)
        .map_err(|e| ToolError::io("read the durable mark", source.path, e))?;
    let files = source.log()?;
    let reset = files.first().map_or(Ok(None), OpenedLog::reset)?;
    let shift = reset.as_ref().map_or(0, |reset| reset.first as i64 - reset.named as i64);
    if let (true, Some((_, newest))) = (archiving.is_first, &bounds) {
        compare(repository, &files, newest)?;
    }
    let needed = first_needed(archiving.tables, reset.as_ref())?;
    let oldest = bounds.map(|(oldest, _)| oldest);
    let mut archived =
        ArchivedLog { names: Vec::new(), end: 0, added: 0, shift, needed, is_merge_due: false };
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
        archived.end = archive_file(repository, file, limit, is_last, archiving, &mut archived)?;
        archived.names.push(file.name.clone());
        if archiving.is_first {
            // A program that was ended has written what it had not flushed the name of.
            repository.files.sync(&log_folder(&file.name))?;
        }
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
    archiving: Archiving,
    archived: &mut ArchivedLog,
) -> Result<u64, ToolError> {
    let all = repository.all_segments(&log.name)?;
    let is_covering = all.len() > 1;
    let (mut segments, _) = chain_of(all);
    let have = segments.last().map_or(0, |segment| segment.to);
    let len = log.file.len().map_err(|e| log.failed(e))?;
    // A closed file has no byte too many. One whose end is not known to be flushed is not closed.
    let is_closed = !is_last && limit == u64::MAX;
    let end = if is_closed { len } else { log.end(have.min(len))?.min(limit) };
    if end < have {
        return Err(other_history(&log.name));
    }
    archived.added += end - have;
    let is_several = segments.len() > 1;
    if is_closed && is_several && archiving.is_locked {
        return write_over(repository, log, 0, end).map(|()| end);
    }
    if is_closed
        && is_covering
        && archiving.is_locked
        && have == end
        && let [whole] = &segments[..]
    {
        // A program that was ended has left what it had put together, or another one's was not known
        // to it. The names are made durable before others go.
        repository.files.sync(&log_folder(&log.name))?;
        remove_others(repository, log, whole)?;
    }
    archived.is_merge_due |= is_closed && is_several;
    if end > have {
        segments.push(write(repository, log, have, end)?);
        archived.is_merge_due |= is_closed && segments.len() > 1;
    }
    if !is_closed && let Some(from) = merge_from(&segments) {
        write_over(repository, log, from, end)?;
    }
    Ok(end)
}

/// Where the small segments at the end begin that are put together, if there are enough of them.
fn merge_from(segments: &[Segment]) -> Option<u64> {
    MERGED.iter().rev().find_map(|(count, len_max)| {
        let small = segments.iter().rev().take_while(|segment| segment.to - segment.from <= *len_max);
        let n = small.count();
        (n >= *count).then(|| segments[segments.len() - n].from)
    })
}

/// Makes one segment of all from an offset on (L2).
fn write_over(repository: &Repository, log: &OpenedLog, from: u64, end: u64) -> Result<(), ToolError> {
    let whole = write(repository, log, from, end)?;
    remove_others(repository, log, &whole)
}

/// Removes what a segment that is durable covers.
fn remove_others(repository: &Repository, log: &OpenedLog, whole: &Segment) -> Result<(), ToolError> {
    for segment in repository.all_segments(&log.name)? {
        if segment != *whole && segment.from >= whole.from && segment.to <= whole.to {
            repository.remove_segment(&log.name, &segment)?;
        }
    }
    Ok(())
}

fn write(repository: &Repository, log: &OpenedLog, from: u64, to: u64) -> Result<Segment, ToolError> {
    let segment = Segment::new(&log.name, from, to);
    let mut writer = repository.write(&segment.name, to - from)?;
    let (mut bytes, mut at) = (vec![0; PIECE.min((to - from) as usize)], from);
    while at < to {
        let n = PIECE.min((to - at) as usize);
        log.file.read_exact_at(&mut bytes[..n], at).map_err(|e| log.failed(e))?;
        writer.append(&bytes[..n])?;
        at += n as u64;
    }
    writer.finish()?;
    repository.files.sync(&log_folder(&log.name))?;
    repository.note_segment(&log.name, segment.clone());
    Ok(segment)
}

/// The last file of which something is archived must be the server's (L3).
fn compare(repository: &Repository, files: &[OpenedLog], last: &str) -> Result<(), ToolError> {
    let Some(log) = files.iter().find(|log| log.name == last) else {
        let is_purged = files.first().is_some_and(|first| log_order(&first.name) > log_order(last));
        return Err(match is_purged {
            // Nothing is wrong with the server: the archive has a gap, and must not hide it.
            true => ToolError::Refused(format!(
                "the server has purged log files behind {last}, which is the last one in the repository: the archive would have a \
                 gap. Begin another repository, and keep log files longer (binlog_expire_logs_seconds) or archive more often"
            )),
            false => other_history(last),
        });
    };
    repository.read_log(last, |segments, _| {
        segments.iter().try_for_each(|segment| compare_segment(repository, log, segment))
    })
}

fn compare_segment(
    repository: &Repository,
    log: &OpenedLog,
    Segment { from, to, name }: &Segment,
) -> Result<(), ToolError> {
    let (mut at, mut ours) = (*from, Vec::new());
    repository.read(name)?.read_all(&mut |theirs| {
        ours.resize(theirs.len(), 0);
        let n = log.file.read_at(&mut ours, at).map_err(|e| log.failed(e))?;
        let mut theirs = theirs.to_vec();
        if (at..at + theirs.len() as u64).contains(&FLAGS) && n > (FLAGS - at) as usize {
            // Whether the file was closed is no difference.
            let flags = (FLAGS - at) as usize;
            (theirs[flags], ours[flags]) = (0, 0);
        }
        at += theirs.len() as u64;
        if n == theirs.len() && ours == theirs { Ok(()) } else { Err(other_history(&log.name)) }
    })?;
    if at == *to {
        return Ok(());
    }
    Err(ToolError::Refused(format!(
        "'{}' has another length than its name says",
        repository.shown(name).display()
    )))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends so many pieces of a length, and puts them together as `archive_file` does: returns
    /// the segments that there are at the end, the most at a time, and all bytes that were written.
    fn appended(pieces: u64, len: u64) -> (usize, usize, u64) {
        let (mut segments, mut most, mut written) = (Vec::<Segment>::new(), 0, 0);
        for piece in 0..pieces {
            let end = (piece + 1) * len;
            segments.push(Segment::new("binlog.000001", piece * len, end));
            written += len;
            if let Some(from) = merge_from(&segments) {
                segments.retain(|segment| segment.to <= from);
                segments.push(Segment::new("binlog.000001", from, end));
                written += end - from;
            }
            most = most.max(segments.len());
        }
        (segments.len(), most, written)
    }

    #[test]
    fn a_file_that_is_open_for_long_has_few_segments() {
        // A gigabyte, in a piece each second: over three weeks, over a week, and in some minutes.
        for len in [500, 1_600, 100_000, 3 << 20] {
            let pieces = (1 << 30) / len;
            let (last, most, written) = appended(pieces, len);
            let times = written as f64 / (pieces * len) as f64;
            println!(
                "{pieces} pieces of {len} bytes: {last} segments, {most} at most, written {times:.1} times"
            );
            assert!(most < 620, "{pieces} pieces of {len} bytes: {most}");
            assert!(times < 6.0, "{pieces} pieces of {len} bytes: written {times} times");
        }
    }
}
