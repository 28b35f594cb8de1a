//! Binlog rotation: the active file, and how the next one follows it. The steps' letters are those
//! of `files.rs`.

use super::LogOptions;
use super::Shared;
use super::commit::Leader;
use super::error::LogError;
use super::names::Folder;
use super::pace::SLOTS;
use super::pool::{Pool, PoolFile};
use super::scan::FIRST_EVENT;
use super::status::LogStatus;
use crate::event::{
    CHECKSUM_LEN, ChecksumAlgorithm, EncodeEvent, EventHeader, EventOrigin, FormatDescription,
    IgnorableEvent, LogResetEvent, MAGIC, PreviousGtids, PurgedGtids, RotateEvent, StopEvent, append_event,
    flags,
};
use crate::group::{EventGroup, GtidStamp};
use crate::gtid::{GtidSet, Uuid};
use crate::position::{FileNumber, LogPosition};
use env::{File, OpenMode, Rows};
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the in-use flag's two bytes are in a file.
const FLAGS_OFFSET: u64 = FIRST_EVENT + EventHeader::FLAGS_OFFSET as u64;

const _: () = assert!(FIRST_EVENT == 4, "a file begins with four bytes of magic");

/// The file that groups are written to; the leader's (G5 of `commit.rs`).
pub(super) struct Active {
    pub(super) number: FileNumber,
    pub(super) file: Arc<dyn File>,
    /// It once more by other descriptors, one for each flush in flight (G4 of `commit.rs`). Opened
    /// before the first group was written.
    pub(super) flush_files: FlushFiles,
    /// The true end.
    pub(super) end: u64,
    /// The file's length: zeros between `end` and this.
    pub(super) allocated: u64,
    /// The last `sequence_number` given out in this file.
    pub(super) sequence: u64,
}

impl Active {
    pub(super) fn position(&self) -> LogPosition {
        LogPosition::new(self.number, self.end)
    }
}

/// By the slot of the flush.
pub(super) type FlushFiles = Arc<[Arc<dyn File>]>;

/// A file with its durable header, before it gets its name.
pub(super) struct Prepared {
    pub(super) path: PathBuf,
    file: Arc<dyn File>,
    flush_files: FlushFiles,
    end: u64,
    allocated: u64,
    /// The last `sequence_number` given out in it.
    sequence: u64,
}

impl Shared {
    /// Closes the active file with a Rotate event and goes on in the next one (steps a to e).
    pub(super) fn rotate(&self, leader: &mut Leader) -> Result<(), LogError> {
        let number = self.next_number(leader)?;
        let prepared = self.maker.prepare(&leader.gtids, 0)?;
        self.follow(leader, &prepared, number)?;
        self.switch_to(leader, prepared, number);
        Ok(())
    }

    /// The number of the file after the active one, if there may be one.
    pub(super) fn next_number(&self, leader: &Leader) -> Result<FileNumber, LogError> {
        self.progress.check()?;
        match leader.active.number {
            number if number < FileNumber::MAX => Ok(number.next()),
            _ => Err(LogError::Exhausted("file numbers")),
        }
    }

    /// Steps b to d, and the folder's flush: `prepared` becomes the file of this number.
    pub(super) fn follow(
        &self,
        leader: &mut Leader,
        prepared: &Prepared,
        number: FileNumber,
    ) -> Result<(), LogError> {
        let _write_latch = self.write_ordered(leader)?;
        let name = self.files.folder.log_name(number);
        let event = RotateEvent { position: FIRST_EVENT, file_name: name.as_bytes() };
        let closed_end = match self.close_file(&mut leader.active, &event) {
            Ok(end) => end,
            Err(e) => return Err(self.take_back(leader, prepared, e)),
        };
        let flush_latch = self.flush_latch.lock();
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        self.flush_file(leader.active.file.as_ref())?;
        drop(flush_latch);
        if let Err(e) = self.maker.name(prepared, number) {
            return Err(self.take_back(leader, prepared, e));
        }
        self.maker.sync_folder().map_err(|e| self.progress.latch_failure(&e))?;
        self.files.set_last_size(closed_end);
        self.status.rotations.add(1);
        Ok(())
    }

    /// Ends the log: Stop event, in-use flag cleared, cut, flushed.
    pub(super) fn stop(&self, leader: &mut Leader) -> Result<(), LogError> {
        self.progress.check()?;
        let _write_latch = self.write_ordered(leader)?;
        let end = match self.close_file(&mut leader.active, &StopEvent) {
            Ok(end) => end,
            Err(e) => {
                self.cut_back(&mut leader.active)?;
                return Err(e);
            }
        };
        let _flush_latch = self.flush_latch.lock();
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        self.flush_file(leader.active.file.as_ref())?;
        let ordered = leader.active.position();
        leader.active.end = end;
        self.files.set_last_size(end);
        self.advance_ordered(leader.active.position());
        self.set_written(&leader.active);
        self.advance_durable(leader.active.position());
        self.publish(ordered, None);
        Ok(())
    }

    /// Step b: writes the last event and clears the flag; returns the closed file's end. The caller
    /// flushes.
    fn close_file(&self, active: &mut Active, last: &impl EncodeEvent) -> Result<u64, LogError> {
        let mut bytes = Vec::new();
        self.maker.append(&mut bytes, active.end, last, 0);
        let end = active.end + bytes.len() as u64;
        let file = active.file.as_ref();
        let close = file
            .write_at(&bytes, active.end)
            .and_then(|()| clear_in_use(file))
            .and_then(|()| file.set_len(end));
        close
            .map_err(|e| LogError::io(format!("closing {}", self.files.folder.log_name(active.number)), e))?;
        Ok(end)
    }

    /// Takes step b back, durably, after `why`: the active file goes on without the Rotate event.
    fn take_back(&self, leader: &mut Leader, prepared: &Prepared, why: LogError) -> LogError {
        // An orphan if this fails; the next start removes it.
        let _ = self.env.remove_file(&prepared.path);
        let set = leader.active.file.write_at(&flags::BINLOG_IN_USE.to_le_bytes(), FLAGS_OFFSET);
        if let Err(e) = set {
            return self.progress.latch_failure(&LogError::io("taking a failed rotation back", e));
        }
        match self.cut_back(&mut leader.active) {
            Ok(()) => why,
            Err(latched) => latched,
        }
    }

    /// Step e, in memory. The file list moves before the durable position that leads readers to it
    /// (G6 of `commit.rs`). All that was ordered is published: it is in the file that was flushed
    /// and closed.
    pub(super) fn switch_to(&self, leader: &mut Leader, next: Prepared, number: FileNumber) {
        self.files.push(number, next.end);
        self.go_on_in(leader, next, number);
    }

    /// Step e, after the file is in the list.
    pub(super) fn go_on_in(&self, leader: &mut Leader, next: Prepared, number: FileNumber) {
        let file = next.file;
        let Prepared { flush_files, end, allocated, sequence, .. } = next;
        leader.active = Active { number, file, flush_files, end, allocated, sequence };
        leader.dependencies.restart(sequence);
        let end = leader.active.position();
        self.advance_ordered(end);
        self.set_written(&leader.active);
        self.advance_durable(end);
        self.publish(end, None);
        self.background.files_soon();
    }
}

/// Makes files and the log's own events.
pub(super) struct FileMaker {
    folder: Folder,
    pub(super) pool: Pool,
    status: Arc<LogStatus>,
    server_id: u32,
    pub(super) server_uuid: Uuid,
    pub(super) server_version: String,
    /// What each new file's header says of the log's past. A leaf latch.
    pub(super) past: Mutex<Past>,
}

/// What was before the log's first file.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// GTIDs that were declared as executed and purged (`gtid_purged`).
    pub(super) purged_by_order: GtidSet,
    /// How the log was begun anew, if it was.
    pub(super) reset: Option<LogResetEvent>,
}

impl FileMaker {
    pub(super) fn new(
        folder: Folder,
        options: &LogOptions,
        pool: Pool,
        status: Arc<LogStatus>,
        past: Past,
    ) -> Self {
        Self {
            past: Mutex::new(past),
            folder,
            pool,
            status,
            server_id: options.server_id,
            server_uuid: options.server_uuid,
            server_version: options.server_version.clone(),
        }
    }

    /// Step a: a file with a durable header, from the pool or new.
    pub(super) fn prepare(&self, previous: &GtidSet, create_timestamp: u32) -> Result<Prepared, LogError> {
        let pooled = self.pool.take();
        if self.pool.is_wanted() {
            let counter = if pooled.is_some() { &self.status.pool_hits } else { &self.status.pool_misses };
            counter.add(1);
        }
        let PoolFile { path, file, len } = pooled.map_or_else(|| self.create_file(), Ok)?;
        let header = self.file_header(previous, create_timestamp);
        let end = header.len() as u64;
        if let Err(e) = file.write_at(&header, 0).and_then(|()| file.sync_data()) {
            // Not the log's data, so nothing is lost: an orphan, which the next start removes if
            // this can't.
            let _ = self.folder.env.remove_file(&path);
            return Err(LogError::io(format!("writing the header of {}", path.display()), e));
        }
        let flush_files = self.open_for_flushes(&path)?;
        Ok(Prepared { path, file, flush_files, end, allocated: len.max(end), sequence: 0 })
    }

    /// Step a for a large transaction: its file gets what stands in front of the events.
    pub(super) fn prepare_large(
        &self,
        previous: &GtidSet,
        group: &mut EventGroup,
        stamp: &GtidStamp,
    ) -> Result<Prepared, LogError> {
        const EMPTY_EVENT: u64 = (EventHeader::LEN + CHECKSUM_LEN) as u64;
        let body_start = group.large_file().map_or(0, |file| file.body_start());
        let gtid_event = group.gtid_event_before(body_start, stamp);
        let gtid_start = body_start.saturating_sub(gtid_event.len() as u64);
        let mut header = self.file_header(previous, 0);
        let room = gtid_start.checked_sub(header.len() as u64 + EMPTY_EVENT);
        let room = room.ok_or(LogError::Exhausted("room for GTIDs in front of a large transaction"))?;
        self.append(&mut header, 0, &IgnorableEvent { room: room as usize }, 0);
        header.extend_from_slice(&gtid_event);
        let file = group.large_file().expect("only a group with a file of its own is adopted");
        let (path, file, end) = file.put_header(&header)?;
        let flush_files = self.open_for_flushes(&path)?;
        Ok(Prepared { path, file, flush_files, end, allocated: end, sequence: 1 })
    }

    fn open_for_flushes(&self, path: &Path) -> Result<FlushFiles, LogError> {
        let open = |_| self.folder.env.open(path, OpenMode::ReadWrite);
        let files: io::Result<_> = (0..SLOTS).map(open).collect();
        files.map_err(|e| LogError::io(format!("opening {}", path.display()), e))
    }

    fn create_file(&self) -> Result<PoolFile, LogError> {
        let path = self.folder.new_file();
        let create = || {
            match self.folder.env.remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            self.folder.env.open(&path, OpenMode::CreateNewRows(Rows::Log))
        };
        let file = create().map_err(|e| LogError::io(format!("making {}", path.display()), e))?;
        Ok(PoolFile { path, file, len: 0 })
    }

    fn file_header(&self, previous: &GtidSet, create_timestamp: u32) -> Vec<u8> {
        let fde = FormatDescription::new(&self.server_version, create_timestamp);
        let mut header = MAGIC.to_vec();
        self.append(&mut header, 0, &fde, flags::BINLOG_IN_USE);
        self.append(&mut header, 0, &PreviousGtids(previous.clone()), 0);
        let past = self.past.lock();
        if !past.purged_by_order.is_empty() {
            self.append(&mut header, 0, &PurgedGtids(past.purged_by_order.clone()), 0);
        }
        if let Some(reset) = &past.reset {
            self.append(&mut header, 0, reset, 0);
        }
        header
    }

    /// Appends an event of the log's own; `base` is the file offset of the buffer.
    fn append(&self, out: &mut Vec<u8>, base: u64, event: &impl EncodeEvent, flags: u16) {
        let timestamp = (self.folder.env.now() / 1_000_000) as u32;
        let start = base + out.len() as u64;
        let origin = EventOrigin { timestamp, server_id: self.server_id, flags };
        append_event(out, event, origin, start, ChecksumAlgorithm::Crc32);
    }

    /// Step d.
    pub(super) fn name(&self, prepared: &Prepared, number: FileNumber) -> Result<(), LogError> {
        let path = self.folder.log_path(number);
        self.folder.env.rename(&prepared.path, &path).map_err(|e| {
            LogError::io(format!("renaming {} to {}", prepared.path.display(), path.display()), e)
        })
    }

    /// Step e. If it fails, the file may have either name.
    pub(super) fn sync_folder(&self) -> Result<(), LogError> {
        self.folder
            .env
            .sync_dir(&self.folder.dir)
            .map_err(|e| LogError::io("flushing the binary log folder", e))
    }
}

impl Prepared {
    /// Where the next group goes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// As the first active file of a log that is being opened.
    pub(super) fn into_active(self, number: FileNumber) -> Active {
        let Self { file, flush_files, end, allocated, sequence, .. } = self;
        Active { number, file, flush_files, end, allocated, sequence }
    }
}

/// Clears the in-use flag, and the other flags that a format description never has.
pub(super) fn clear_in_use(file: &dyn File) -> io::Result<()> {
    file.write_at(&0_u16.to_le_bytes(), FLAGS_OFFSET)
}
