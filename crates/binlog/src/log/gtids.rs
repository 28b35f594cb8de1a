//! Which transactions are in the log, and in which files.

use super::Log;
use super::error::LogError;
use super::progress::Published;
use super::reader::LogReader;
use crate::gtid::{GtidSet, Uuid};
use crate::position::{FileNumber, LogPosition};

impl Log {
    /// What this log's own transactions are named by.
    pub fn server_uuid(&self) -> Uuid {
        self.shared.maker.server_uuid
    }

    /// Every GTID published here, and in the files before.
    pub fn gtid_executed(&self) -> GtidSet {
        self.shared.published.lock().gtids.clone()
    }

    /// What may be seen now. The position is at [`Log::visible`], or is about to be.
    pub fn published(&self) -> Published {
        self.shared.published.lock().clone()
    }

    /// What was published when the visible position was this, where a snapshot stands, say; `before` is what was
    /// published then or before. What lies between the two is read, and made durable for that.
    ///
    /// # Errors
    /// Those of [`Log::reader`]: `before` is too old, say.
    pub fn published_at(&self, position: LogPosition, before: Published) -> Result<Published, LogError> {
        let mut gtids = before.gtids;
        if before.position < position {
            self.ensure_durable(position)?;
            self.replay::<LogError>(before.position, &mut |event| {
                if event.is_last && event.position <= position {
                    event.gtid.into_iter().for_each(|gtid| gtids.add(gtid));
                }
                Ok(())
            })?;
        }
        Ok(Published { position, gtids })
    }

    /// These, and those whose place is fixed but which nobody may see yet.
    pub fn gtid_ordered(&self) -> GtidSet {
        self.shared.leader.lock().gtids.clone()
    }

    /// The GTIDs whose files are removed: what the oldest file says came before it.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Corrupt`]
    pub fn gtid_purged(&self) -> Result<GtidSet, LogError> {
        match self.previous_gtids(self.shared.files.first()) {
            // It was removed just now.
            Err(LogError::Purged { .. }) => self.previous_gtids(self.shared.files.first()),
            found => found,
        }
    }

    /// The GTIDs of all files before this one, as its header has them.
    ///
    /// # Errors
    /// [`LogError::Purged`] if the file is not there, or not durable yet.
    pub fn previous_gtids(&self, file: FileNumber) -> Result<GtidSet, LogError> {
        let mut reader = LogReader::open(self.shared.clone(), LogPosition::new(file, 0))?;
        Ok(reader.file_header()?.previous)
    }
}
