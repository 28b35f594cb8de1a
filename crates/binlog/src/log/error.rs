//! What the log can say went wrong.

use crate::gtid::Gtid;
use crate::position::{FileNumber, LogPosition};
use std::fmt;
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
    /// A file holds what the log never writes, or lacks what it wrote.
    #[error("binary log file {file} is damaged at offset {offset}: {why}{}", Remedy(.loss.as_deref(), *.stops_start))]
    Corrupt {
        /// Its name.
        file: Arc<str>,
        /// In bytes.
        offset: u64,
        /// What is wrong there.
        why: Arc<str>,
        /// What going on in front of the damage would lose; `None` where that is not known.
        loss: Option<Arc<Loss>>,
        /// True if it was found before anything was changed, and stops the start.
        stops_start: bool,
    },
    /// A file that the log had is not there.
    #[error(
        "binary log file {file} is missing, though {proof}. Nothing was changed. Put it back, restore a backup or a copy of a \
         replica, or run `duramen repair --accept-loss`, which writes down what is lost"
    )]
    Missing {
        /// Its name.
        file: Arc<str>,
        /// How it is known that it was there.
        proof: Arc<str>,
    },
    /// There is no log of the name that was asked for, but one of another name.
    #[error(
        "there is no binary log named {wanted} here, but {file} is there: the log of this data directory has another name. \
         Nothing was changed. Give --log-bin={there}; or, if that file has nothing to do with this server, move it away"
    )]
    OtherName {
        /// The name that was asked for.
        wanted: Arc<str>,
        /// A file of the other log.
        file: Arc<str>,
        /// The other log's name.
        there: Arc<str>,
    },
    /// What was asked for was purged, or never existed.
    #[error("binary log file {} is not there (any more); the oldest is {}", .wanted.0, .oldest.0)]
    Purged {
        /// The file asked for.
        wanted: FileNumber,
        /// The first that is left.
        oldest: FileNumber,
    },
    /// After the end of the log, or inside an event.
    #[error("there is no event at binary log position {0}")]
    BadPosition(LogPosition),
    /// The file is still needed: it is active, or recovery may read it.
    #[error("binary log file {} is still in use", .0.0)]
    InUse(FileNumber),
    /// A flush failed earlier, and nothing is known of what it should have made durable.
    #[error("the binary log stopped after a failure, and needs a restart: {0}")]
    Latched(Arc<str>),
    /// [`Log::close`](super::Log::close) was called, and nothing failed before.
    #[error("the binary log is closed")]
    Closed,
    /// The last file number or transaction number was given out.
    #[error("the binary log has no more {0}")]
    Exhausted(&'static str),
}

/// What a log that is damaged would lose if it went on in front of the damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The last transaction in front of the damage that is in its file; `None` if there is none.
    pub last_good: Option<Gtid>,
    /// Where it ends: its file's name, and the offset in bytes.
    pub last_good_end: (String, u64),
    /// Whole transactions after the damage.
    pub whole_groups_after: u64,
    /// The last of them that has a GTID.
    pub last_gtid_after: Option<Gtid>,
}

/// What a person can do about damage.
struct Remedy<'a>(Option<&'a Loss>, bool);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(loss) = self.0 {
            let (file, offset) = &loss.last_good_end;
            match loss.last_good {
                Some(gtid) => {
                    write!(f, ". The last good transaction is {gtid}, which ends at {file}:{offset}")?;
                }
                // What is in front of the place where reading began was not read.
                None => write!(f, ". The file is good up to {file}:{offset}")?,
            }
            match (loss.whole_groups_after, loss.last_gtid_after) {
                (0, _) => write!(f, "; no whole transaction lies behind the damage")?,
                (n, None) => write!(f, "; {n} whole transactions lie behind the damage")?,
                (n, Some(last)) => write!(f, "; {n} whole transactions lie behind the damage, up to {last}")?,
            }
            f.write_str(
                ". To cut the log there would take back transactions that were flushed, and give out their GTIDs again",
            )?;
        }
        if self.1 {
            f.write_str(
                ". Nothing was changed. Restore a backup or a copy of a replica, or run `duramen repair --accept-loss`, \
                 which writes down what is lost",
            )?;
        }
        Ok(())
    }
}

impl LogError {
    /// What the system said, and what was being done, to which file.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into().into(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(file: &str, offset: u64, why: impl Into<String>) -> Self {
        Self::Corrupt { file: file.into(), offset, why: why.into().into(), loss: None, stops_start: false }
    }

    pub(crate) fn damage(file: &str, offset: u64, why: impl Into<String>, loss: Loss) -> Self {
        let (why, loss) = (why.into().into(), Some(Arc::new(loss)));
        Self::Corrupt { file: file.into(), offset, why, loss, stops_start: true }
    }

    /// This was found by an examination.
    pub(crate) fn at_start(mut self) -> Self {
        if let Self::Corrupt { stops_start, .. } = &mut self {
            *stops_start = true;
        }
        self
    }

    /// True if a file, a place in one, or a whole file is not as the log left it: nothing that
    /// trying again would change.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::Missing { .. })
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
    /// Nothing of it was written, or what was is cut off for good; [`super::CommitHook::refused`]
    /// was called. Nobody will ever see the transaction.
    #[error("the transaction was not written to the binary log: {0}")]
    Refused(LogError),
    /// It was written but could not be flushed. The log takes no more; a restart may find the
    /// transaction or not, and it was not visible until then.
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
