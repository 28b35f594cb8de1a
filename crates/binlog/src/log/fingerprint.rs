//! What identifies a log at a position: the bytes before it.
//!
//! Positions are numbers, and two logs have the same ones: those of two servers, and those of two
//! copies of one directory that both went on. Data derived from a log up to a position (the tables)
//! is stored with the log's fingerprint there, which is compared when a log is opened with it.
//! The bytes are those of the last transactions, GTIDs, commit times in microseconds and checksums
//! among them, so no two histories have the same.
//!
//! It is not a name that the log was given at its beginning: copies that part would both have it,
//! and so would a log that a restored backup began again. And it needs no byte in any file of the
//! log (C4 of ARCHITECTURE.md).

use super::Log;
use super::error::LogError;
use super::examine::{Examined, on_file, open};
use super::recovery::from_stream;
use super::scan::{self, FIRST_EVENT};
use crate::event::EventHeader;
use crate::position::LogPosition;
use env::{File, OpenMode};
use std::io::{self, ErrorKind};
use xxhash_rust::xxh3::xxh3_64;

/// So many bytes in front of a position count, if there are as many.
const LEN: u64 = 4096;

/// The flags of the file's first event, which change when it is closed, are in front of this, in
/// bytes.
const AFTER_FLAGS: u64 = FIRST_EVENT + EventHeader::LEN as u64;

/// Whether a log has in front of a position what it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InFront {
    /// The same, or nothing is known of it: the log does not have that file.
    Same,
    /// Other transactions, and nothing is wrong with them: this is another log.
    Other,
    /// Its bytes are damaged at this offset, so that can't be said.
    Damaged(u64),
}

fn of(file: &dyn File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(LEN).max(AFTER_FLAGS).min(offset);
    let mut bytes = vec![0; (offset - from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    Ok(xxh3_64(&bytes))
}

impl Log {
    /// The fingerprint of the log at a position that it has written; `None` if its file is not
    /// there any more.
    ///
    /// # Errors
    /// [`LogError::Io`]
    pub fn fingerprint(&self, position: LogPosition) -> Result<Option<u64>, LogError> {
        let folder = &self.shared.files.folder;
        if position.offset() <= FIRST_EVENT {
            return Ok(None);
        }
        let file = folder.env.open(&folder.log_path(position.file()), OpenMode::Read);
        match file.and_then(|file| of(file.as_ref(), position.offset())) {
            Ok(fingerprint) => Ok(Some(fingerprint)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => Ok(None),
            Err(e) => Err(on_file(folder, position.file(), e)),
        }
    }
}

impl Examined {
    /// Whether the log has in front of `position` what a log had there that had this fingerprint.
    ///
    /// # Errors
    /// [`LogError::Io`]; [`LogError::Corrupt`] of the file's header.
    pub fn in_front(&self, position: LogPosition, fingerprint: u64) -> Result<InFront, LogError> {
        let (number, folder) = (position.file(), &self.folder);
        let is_there = self.files.iter().any(|&(there, _)| there == number);
        // Of a log that begins anew only the file is there that it begins with.
        if self.reset.is_some() || !is_there || position.offset() <= FIRST_EVENT {
            return Ok(InFront::Same);
        }
        let file = open(folder, number)?;
        match of(file.as_ref(), position.offset()) {
            Ok(found) if found == fingerprint => return Ok(InFront::Same),
            Err(e) if e.kind() != ErrorKind::UnexpectedEof => return Err(on_file(folder, number, e)),
            _ => {}
        }
        let scanned = scan::scan(file).map_err(|e| from_stream(folder, number, 0, e).at_start())?;
        Ok(if scanned.end < position.offset() { InFront::Damaged(scanned.end) } else { InFront::Other })
    }
}
