//! What the store can say when something fails.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a read, a checkpoint or the opening of the store failed. Cheap to clone, so that a
/// background failure can be returned to everyone who asks.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused; `what` says which file and what for.
    #[error("{what}: {source}")]
    Io {
        /// The file and what was done to it.
        what: String,
        /// The operating system's reason.
        source: Arc<io::Error>,
    },
    /// Bytes on disk are not what was written.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// Where the damaged part starts.
        offset: u64,
        /// What was found.
        what: String,
    },
    /// The store can't be opened as it lies there.
    #[error(
        "{0}. Nothing was changed. `duramen check` tells what else is wrong; restore the data directory from a backup, \
         or have `duramen repair` make a new one of what is sound"
    )]
    Refused(Box<StoreError>),
    /// Memory for writes is used up, and the background work that would free it fails; it is tried
    /// again and again.
    #[error("writes are stopped until a checkpoint works again: {0}")]
    Stalled(Box<StoreError>),
    /// The store was closed while a write waited for background work.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Wraps the operating system's error.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> StoreError {
        StoreError::Io { what: what.into(), source: Arc::new(source) }
    }

    /// Damage that the store is not opened with: the message has to say what to do.
    pub(crate) fn refused(self) -> StoreError {
        match self {
            StoreError::Corrupt { .. } => StoreError::Refused(Box::new(self)),
            _ => self,
        }
    }

    /// True if the device was full: trying again helps once there is room.
    pub fn is_disk_full(&self) -> bool {
        match self {
            StoreError::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            StoreError::Stalled(cause) | StoreError::Refused(cause) => cause.is_disk_full(),
            _ => false,
        }
    }

    /// True if bytes on disk are damaged: trying again does not help.
    pub fn is_corrupt(&self) -> bool {
        match self {
            StoreError::Refused(cause) => cause.is_corrupt(),
            _ => matches!(self, StoreError::Corrupt { .. }),
        }
    }
}
