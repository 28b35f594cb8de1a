//! Making it durable: steps 6 and 7 of [`super::commit`], and flushes for others.

use super::Shared;
use super::commit::{Leader, Written};
use super::error::LogError;
use super::queue::Flight;
use super::rotate::Active;
use crate::position::LogPosition;
use env::File;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::time::Duration;

/// A commit group that its leader has taken: its end, and the bytes that lead to it, under the
/// write latch.
pub(super) struct Group<'a> {
    pub(super) end: LogPosition,
    pub(super) file: Arc<dyn File>,
    pub(super) write_buffer: MutexGuard<'a, Vec<u8>>,
    /// The file by the group's own descriptor.
    pub(super) flush_file: Arc<dyn File>,
    /// As `sync_binlog` and `innodb_flush_log_at_trx_commit` ask.
    pub(super) waits: bool,
    pub(super) flight: Flight,
}

impl Shared {
    /// Step 6. The next group may be ordered, but not written meanwhile.
    pub(super) fn write_group(
        &self,
        file: Arc<dyn File>,
        end: LogPosition,
        mut write_buffer: MutexGuard<'_, Vec<u8>>,
    ) -> Result<(), LogError> {
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        if !write_buffer.is_empty() {
            let start = end.offset() - write_buffer.len() as u64;
            let written = file.write_at(&write_buffer, start);
            written.map_err(|e| self.write_failed(LogError::io("writing the binary log", e)))?;
            write_buffer.clear();
            self.advance_written(Written { file, end });
        }
        Ok(())
    }

    /// Step 7: one flush, of all that was written before it began; also in the rare case that a
    /// later group's has ended before, so that groups and flushes count the same.
    pub(super) fn flush_group(
        &self,
        flight: &mut Flight,
        file: &dyn File,
        end: LogPosition,
    ) -> Result<(), LogError> {
        flight.took = Some(self.flush_file(file)?);
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        self.advance_durable(end);
        Ok(())
    }

    /// Writes what is ordered and not taken yet. All up to the end is written then, and stays so as
    /// long as the caller holds the write latch that it gets.
    pub(super) fn write_ordered(&self, leader: &mut Leader) -> Result<MutexGuard<'_, Vec<u8>>, LogError> {
        let write_buffer = self.write_latch.lock();
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        if !leader.unwritten.is_empty() {
            leader.write_unwritten().map_err(|e| self.write_failed(e))?;
            self.set_written(&leader.active);
        }
        Ok(write_buffer)
    }

    /// Latches the log, as after a failed flush (G4 of `commit.rs`): later transactions are ordered
    /// after these bytes and may have read their rows.
    fn write_failed(&self, error: LogError) -> LogError {
        self.progress.latch_failure(&error)
    }

    pub(super) fn set_written(&self, active: &Active) {
        self.advance_written(Written { file: active.file.clone(), end: active.position() });
    }

    /// Cuts the file at the end that the leader knows, durably; or latches. All up to there is
    /// written.
    pub(super) fn cut_back(&self, active: &mut Active) -> Result<(), LogError> {
        let _flush_latch = self.flush_latch.lock();
        self.progress.check()?;
        active.allocated = active.end;
        let cut = active.file.set_len(active.end).and_then(|()| active.file.sync_data());
        cut.map_err(|e| {
            self.progress.latch_failure(&LogError::io("cutting a refused group off the binary log", e))
        })?;
        let flushed = self.written.lock().end;
        self.advance_durable(flushed);
        Ok(())
    }

    /// Makes the log durable up to `wanted` at least, in one flush or none; or latches
    /// (G4 of `commit.rs`). Not for groups, which have descriptors of their own.
    pub(super) fn flush_to(&self, wanted: LogPosition) -> Result<(), LogError> {
        if self.written.lock().end < wanted {
            drop(self.write_ordered(&mut self.leader.lock())?);
        }
        let _flush_latch = self.flush_latch.lock();
        if self.progress.durable.get() >= wanted {
            return Ok(());
        }
        if let Some(failure) = self.progress.failure() {
            return Err(failure);
        }
        let (file, end) = {
            let written = self.written.lock();
            (written.file.clone(), written.end)
        };
        assert!(end >= wanted, "nobody knows of a position that is not ordered");
        self.flush_file(file.as_ref())?;
        self.advance_durable(end);
        Ok(())
    }

    /// One flush, counted and timed; latches if it fails. No two at a time may use one descriptor
    /// (G4 of `commit.rs`).
    pub(super) fn flush_file(&self, file: &dyn File) -> Result<Duration, LogError> {
        let begun = self.env.monotonic();
        let result = file.sync_data();
        let took = self.env.monotonic().saturating_sub(begun);
        self.status.flushes.add(1);
        self.status.flush_us.record(took.as_micros() as u64);
        result.map_err(|e| self.progress.latch_failure(&LogError::io("flushing the binary log", e)))?;
        Ok(took)
    }
}
