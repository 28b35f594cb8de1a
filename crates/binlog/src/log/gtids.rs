//! Which transactions are in the log, and in which files.

use super::Log;
use super::error::LogError;
use super::progress::Published;
use super::reader::LogReader;
use crate::gtid::{Gtid, GtidSet, Uuid};
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

    /// What was published when the visible position was this, where a snapshot stands, say;
    /// `before` is what was published then or before. What lies between the two is read, and made
    /// durable for that.
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
            // What was declared as purged meanwhile is in the header of a file alone.
            if before.position.file() < position.file() {
                gtids.union(&self.previous_gtids(position.file())?);
            }
        }
        Ok(Published { position, gtids })
    }

    /// These, and those that are ordered but not visible yet.
    pub fn gtid_ordered(&self) -> GtidSet {
        self.shared.leader.lock().gtids.clone()
    }

    /// The GTIDs whose files are removed, which the oldest file says came before it, and those of
    /// [`Log::add_purged`].
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Corrupt`]
    pub fn gtid_purged(&self) -> Result<GtidSet, LogError> {
        let mut purged = match self.previous_gtids(self.shared.files.first()) {
            // It was removed just now.
            Err(LogError::Purged { .. }) => self.previous_gtids(self.shared.files.first())?,
            found => found?,
        };
        purged.union(&self.shared.maker.past.lock().purged_by_order);
        Ok(purged)
    }

    /// Declares GTIDs as executed and purged: a log file begins whose header says so. False, and
    /// nothing is done, if some of them are in the log or reserved.
    ///
    /// # Errors
    /// Those of [`Log::rotate`]; nothing has changed then, unless the log takes no more commits.
    pub fn add_purged(&self, added: &GtidSet) -> Result<bool, LogError> {
        let mut leader = self.shared.leader.lock();
        let is_free = |taken: &GtidSet| taken.intersection(added).is_empty();
        if !is_free(&leader.gtids) || !is_free(&leader.reserved) {
            return Ok(false);
        }
        let (gtids, purged) = (leader.gtids.clone(), self.shared.maker.past.lock().purged_by_order.clone());
        leader.gtids.union(added);
        self.shared.maker.past.lock().purged_by_order.union(added);
        if let Err(error) = self.shared.rotate(&mut leader) {
            leader.gtids = gtids;
            self.shared.maker.past.lock().purged_by_order = purged;
            return Err(error);
        }
        self.shared.published.lock().gtids.union(added);
        drop(leader);
        self.shared.files.update_index()?;
        Ok(true)
    }

    /// Keeps a GTID for a transaction to come, so that no other gets it. False if it is in the log.
    /// Two that ask for the same are the caller's to keep apart.
    pub fn reserve_gtid(&self, gtid: Gtid) -> bool {
        let mut leader = self.shared.leader.lock();
        let is_free = !leader.gtids.contains(gtid);
        if is_free {
            leader.reserved.add(gtid);
        }
        is_free
    }

    /// The transaction of a reserved GTID is in the log, or will not come.
    pub fn release_gtid(&self, gtid: Gtid) {
        let mut one = GtidSet::new();
        one.add(gtid);
        self.shared.leader.lock().reserved.subtract(&one);
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
