//! Large transactions: each writes events to a file of its own while it runs, which the log adopts
//! at commit by a rename.
//!
//! 1. begin  A transaction's events have outgrown `binlog_large_commit_threshold`: its session
//!    makes a file in the log's folder, laid out as a log file. Before the events there is room for
//!    the header and for the GTID event.
//! 2. write  The session writes events there as they come, each with its position and checksum as
//!    they will be, in pieces that do not delay the commits' flushes ([`Trail`]). ROLLBACK TO
//!    SAVEPOINT cuts the file; ROLLBACK removes it.
//! 3. seal   At commit the session writes the last events and flushes them, then joins the queue
//!    like any other.
//! 4. adopt  The orderer orders it alone: it fills the room in (header, an ignorable event over the
//!    remaining room, the GTID event), flushes that, and makes the file the next one after the
//!    active file as in any rotation. The next groups are written after it.
//!
//! Adopting costs the same for a gigabyte as for a kilobyte: its steps, and what a power cut leaves
//! of them, are those of a rotation (`files.rs`), with this file as that of step a.
//!
//! (H1) Before it is named the file is whole and durable, so that a name decides: the transaction
//!      is there with it, or not at all. A file without a log name is an orphan, which the next
//!      start removes.
//! (H2) What fails before the file is named refuses this transaction alone.
//! (H3) After a flush that failed, or a write that was taken, the file is of no use, whatever later
//!      flushes say.

use super::Shared;
use super::commit::Leader;
use super::error::{CommitError, LogError};
use super::names::Folder;
use crate::event::EncodeEvent;
use crate::event::PreviousGtids;
use crate::group::{EventGroup, GtidStamp};
use crate::gtid::Gtid;
use crate::position::LogPosition;
use env::{File, OpenMode, Rows, Trail};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Room for header and GTID event, in bytes, beside twice what the GTIDs take when the file begins:
/// enough for a thousand more intervals of them.
const HEADER_ROOM: u64 = 16 << 10;
/// Room ends where a page does.
const PAGE: u64 = 4096;

/// The file of a large transaction's events. Dropping it removes it, unless the log adopted it.
pub(crate) struct LargeFile {
    folder: Folder,
    path: PathBuf,
    file: Arc<dyn File>,
    body_start: u64,
    /// Bytes of events.
    len: u64,
    trail: Trail,
    /// A write or flush failed (H3).
    failure: Option<LogError>,
    is_adopted: bool,
}

impl fmt::Debug for LargeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LargeFile").field("path", &self.path).field("len", &self.len).finish_non_exhaustive()
    }
}

impl LargeFile {
    /// The offset of the first byte of events.
    pub(crate) fn body_start(&self) -> u64 {
        self.body_start
    }

    /// Bytes of events.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Where the file ends.
    fn end(&self) -> u64 {
        self.body_start + self.len
    }

    /// Step 2: appends events. After an error the file holds what it held, or is of no use (H3).
    pub(crate) fn append(&mut self, events: &[u8]) -> Result<(), LogError> {
        self.check()?;
        if self.end() + events.len() as u64 >= LogPosition::OFFSET_MAX {
            return Err(LogError::Exhausted("room in one file"));
        }
        let at = self.end();
        if let Err(e) = self.trail.write(&*self.file, events, at) {
            let error = self.error("writing", e);
            if self.trail.is_lost() {
                self.failure = Some(error.clone());
            }
            return Err(error);
        }
        self.len += events.len() as u64;
        Ok(())
    }

    /// Reads events back, from `offset` among them on.
    pub(crate) fn read(&self, events: &mut [u8], offset: u64) -> Result<(), LogError> {
        self.check()?;
        self.file.read_exact_at(events, self.body_start + offset).map_err(|e| self.error("reading", e))
    }

    /// Removes the events after the first `len` bytes.
    pub(crate) fn cut(&mut self, len: u64) {
        assert!(len <= self.len, "a cut makes the file no longer");
        self.len = len;
        // Only to give the room back at once: the length is set again when the file is sealed.
        let _ = self.file.set_len(self.end());
    }

    /// Step 3. What follows the events, if a step failed half-way or a cut did, goes.
    pub(crate) fn seal(&mut self) -> Result<(), LogError> {
        self.check()?;
        let set = self
            .file
            .len()
            .and_then(|len| if len == self.end() { Ok(()) } else { self.file.set_len(self.end()) });
        set.map_err(|e| self.error("cutting", e))?;
        self.flush()
    }

    /// Step 4, its first half: fills the room in. Returns the whole file, and where it ends.
    pub(super) fn put_header(&mut self, header: &[u8]) -> Result<(PathBuf, Arc<dyn File>, u64), LogError> {
        assert_eq!(header.len() as u64, self.body_start, "header and GTID event fill their room");
        self.check()?;
        self.file.write_at(header, 0).map_err(|e| self.error("writing", e))?;
        self.flush()?;
        Ok((self.path.clone(), self.file.clone(), self.end()))
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|e| {
            let error = self.error("flushing", e);
            self.failure = Some(error.clone());
            error
        })
    }

    fn check(&self) -> Result<(), LogError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn error(&self, doing: &str, error: io::Error) -> LogError {
        LogError::io(format!("{doing} {}", self.path.display()), error)
    }
}

impl Drop for LargeFile {
    fn drop(&mut self) {
        // An orphan if this fails; the next start removes it.
        if !self.is_adopted {
            let _ = self.folder.env.remove_large_file(&self.path);
        }
    }
}

impl Shared {
    /// Step 1.
    pub(super) fn begin_large_file(&self) -> Result<LargeFile, LogError> {
        self.progress.check()?;
        let mut previous = Vec::new();
        PreviousGtids(self.published.lock().gtids.clone()).encode_body(&mut previous);
        let body_start = (HEADER_ROOM + 3 * previous.len() as u64).next_multiple_of(PAGE);
        let folder = self.files.folder.clone();
        let path = folder.large_file(self.large_serial.fetch_add(1, Relaxed));
        let file = folder.env.open(&path, OpenMode::CreateNewRows(Rows::Log));
        let file = file.map_err(|e| LogError::io(format!("making {}", path.display()), e))?;
        let large = LargeFile {
            folder,
            path,
            file,
            body_start,
            len: 0,
            trail: Trail::default(),
            failure: None,
            is_adopted: false,
        };
        // Flushed with the first events: filling the room in changes blocks that are there, which
        // spares the leader's flush the journal's.
        let room = vec![0; body_start as usize];
        large.file.write_at(&room, 0).map_err(|e| large.error("writing", e))?;
        self.status.large_files.add(1);
        Ok(large)
    }

    /// Step 4. `ordered` is called with the transaction's position, before it is visible; what it
    /// adds to the ordered members is published with the file.
    pub(super) fn adopt_file(
        &self,
        leader: &mut Leader,
        group: &mut EventGroup,
        gtid: Gtid,
        ordered: &mut dyn FnMut(LogPosition),
    ) -> Result<LogPosition, CommitError> {
        let number = self.next_number(leader).map_err(CommitError::Refused)?;
        let stamp = GtidStamp {
            gtid: Some(gtid),
            last_committed: 0,
            sequence_number: 1,
            commit_timestamp: self.env.now(),
        };
        let prepared =
            self.maker.prepare_large(&leader.gtids, group, &stamp).map_err(CommitError::Refused)?;
        self.follow(leader, &prepared, number).map_err(|e| match e {
            LogError::Latched(_) => CommitError::Unknown(e),
            _ => CommitError::Refused(e),
        })?;
        if let Some(large) = group.large_file() {
            large.is_adopted = true;
        }
        self.status.large_adopted.add(1);
        let end = LogPosition::new(number, prepared.end());
        leader.gtids.add(gtid);
        ordered(end);
        self.switch_to(leader, prepared, number);
        Ok(end)
    }
}
