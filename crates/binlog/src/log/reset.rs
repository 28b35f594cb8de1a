//! RESET BINARY LOGS AND GTIDS: the log begins anew, without the transactions that it had.
//!
//! The log is what the tables are recovered from, so its files may go only when the tables hold all
//! of it. The caller blocks commits, makes a checkpoint, and passes its position. Steps m to r, and
//! what a power cut leaves of them, are in `files.rs`.
//!
//! Names and transaction numbers begin anew, positions don't: they are the versions of rows, so the
//! new log's first file has the number after the old log's last one, whatever its name says. The
//! difference is in the header of each file of the new log, with the position up to which the
//! tables had everything: tables that are after it belong to another log.
//!
//! Readers of the old log get [`LogError::Purged`], those too that had read all of it: that the
//! numbers of transactions begin anew is not for them to find out by themselves.

use super::commit::Leader;
use super::error::LogError;
use super::files::{FileRange, IndexState};
use super::names::Folder;
use super::rotate::{Past, Prepared};
use super::{Log, Shared};
use crate::event::LogResetEvent;
use crate::gtid::GtidSet;
use crate::position::{FileNumber, LogPosition};
use env::Env;
use std::io;

/// How a log was begun anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// The new log's first file.
    pub first: FileNumber,
    /// Up to where tables must be to belong to it.
    pub tables: LogPosition,
}

impl Reset {
    pub(super) fn from_event(event: &LogResetEvent) -> Self {
        let first = FileNumber(u32::try_from(event.first).unwrap_or(u32::MAX));
        Self { first, tables: LogPosition::from_u64(event.tables) }
    }
}

impl Log {
    /// Begins the log anew with a file that has the number `named` in its name. `tables` is where a
    /// durable checkpoint has been made, since everything up to `seen` was visible. False, and
    /// nothing is done, if something was ordered after `seen`.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Exhausted`]: nothing has changed. [`LogError::Latched`]: a
    /// restart finds the old log or the new one.
    pub fn reset(&self, named: u32, tables: LogPosition, seen: LogPosition) -> Result<bool, LogError> {
        let shared = &*self.shared;
        let mut leader = shared.leader.lock();
        // Who is not published yet would add its GTID afterwards.
        if leader.active.position() != seen || shared.progress.visible.get() < seen {
            return Ok(false);
        }
        let number = shared.next_number(&leader)?;
        let reset = LogResetEvent { first: number.0.into(), named: named.into(), tables: tables.to_u64() };
        let past = Past { purged_by_order: GtidSet::new(), reset: Some(reset) };
        let before = std::mem::replace(&mut *shared.maker.past.lock(), past);
        let begun = shared.maker.prepare(&GtidSet::new(), 0).and_then(|next| shared.declare(next));
        match begun {
            Ok(next) => shared.finish_reset(&mut leader, next, number, named).map(|()| true),
            Err(error) => {
                *shared.maker.past.lock() = before;
                Err(error)
            }
        }
    }
}

impl Shared {
    /// Step n.
    fn declare(&self, next: Prepared) -> Result<Prepared, LogError> {
        let path = self.files.folder.reset_file();
        match self.env.rename(&next.path, &path) {
            Ok(()) => Ok(next),
            Err(e) => {
                // An orphan if this fails; the next start removes it.
                let _ = self.env.remove_file(&next.path);
                Err(LogError::io(format!("renaming {} to {}", next.path.display(), path.display()), e))
            }
        }
    }

    /// Steps o to r.
    fn finish_reset(
        &self,
        leader: &mut Leader,
        next: Prepared,
        number: FileNumber,
        named: u32,
    ) -> Result<(), LogError> {
        let folder = &self.files.folder;
        self.maker.sync_folder().map_err(|e| self.progress.latch_failure(&e))?;
        // Of what was written and not flushed nothing matters any more; a thread that still writes
        // it is let finish.
        drop(self.write_ordered(leader)?);
        let mut index = self.files.lock_index();
        // From here on readers get an error, since their files are gone, before other files have
        // their names.
        self.files.restart(number, next.end());
        replace_old(folder, named)
            .map_err(|e| self.progress.latch_failure(&LogError::io("beginning the binary log anew", e)))?;
        folder.set_shift(number, named);
        *index = IndexState { written: Some(FileRange { first: number, last: number }) };
        drop(index);
        leader.gtids = GtidSet::new();
        self.published.lock().gtids = GtidSet::new();
        self.go_on_in(leader, next, number);
        Ok(())
    }
}

/// Steps p to r: the file of step n gets the name with this number.
pub(super) fn replace_old(folder: &Folder, named: u32) -> io::Result<()> {
    let env: &dyn Env = folder.env.as_ref();
    for path in env.read_dir(&folder.dir)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if folder.named(&name).is_some() {
            env.remove_file(&path)?;
        }
    }
    let name = folder.numbered(named.into());
    env.replace_file(&folder.index(), format!("./{name}\n").as_bytes())?;
    env.sync_dir(&folder.dir)?;
    env.rename(&folder.reset_file(), &folder.dir.join(name))?;
    env.sync_dir(&folder.dir)
}
