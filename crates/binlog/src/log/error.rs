//! What the log can say went wrong.

use crate::position::{FileNumber, LogPosition};
use std::io;
use std::sync::Arc;

/// Why the log can't do what was asked. Cheap to clone: every member of a failed group gets it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The operating system said no.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, to which file.
        what: Arc<str>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A file holds what the log never writes.
    #[error("binary log file {file} is damaged at offset {offset}: {why}")]
    Corrupt {
        /// Its name.
        file: Arc<str>,
        /// In bytes.
        offset: u64,
        /// What is wrong there.
        why: Arc<str>,
    },
    /// A file between others is not there.
    #[error("binary log file {0} is missing")]
    Missing(Arc<str>),
    /// What was asked for was purged, or never existed.
    #[error("binary log file {} is not there (any more); the oldest is {}", .wanted.0, .oldest.0)]
    Purged {
        /// The file asked for.
        wanted: FileNumber,
        /// The first that is left.
        oldest: FileNumber,
    },
    /// Behind the end of the log, or inside an event.
    #[error("there is no event at binary log position {0}")]
    BadPosition(LogPosition),
    /// The file is still needed: it is active, or recovery may read it.
    #[error("binary log file {} is still in use", .0.0)]
    InUse(FileNumber),
    /// A flush failed earlier, and nothing is known of what it should have made durable.
    #[error("the binary log stopped after a failure, and needs a restart: {0}")]
    Latched(Arc<str>),
    /// The log was closed.
    #[error("the binary log is closed")]
    Closed,
    /// The last file number or transaction number was given out.
    #[error("the binary log has no more {0}")]
    Exhausted(&'static str),
}

impl LogError {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into().into(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(file: &str, offset: u64, why: impl Into<String>) -> Self {
        Self::Corrupt { file: file.into(), offset, why: why.into().into() }
    }

    /// True when the disk is full: the same commit may succeed once there is room.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}

/// Why a commit was not acknowledged.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// Nothing of it was written, or what was is cut off for good; [`super::CommitHook::refused`] was called. Nobody
    /// will ever see the transaction.
    #[error("the transaction was not written to the binary log: {0}")]
    Refused(LogError),
    /// It was written but could not be flushed. The log takes no more; a restart may find the transaction or not, and
    /// nobody was shown it until then.
    #[error("the transaction's fate is unknown until a restart: {0}")]
    Unknown(LogError),
}

impl CommitError {
    /// The failure beneath.
    pub fn log_error(&self) -> &LogError {
        match self {
            Self::Refused(e) | Self::Unknown(e) => e,
        }
    }
}
