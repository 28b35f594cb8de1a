//! The events of a group that are in a file of their own, beside the log (`log/large.rs`).
//!
//! Finished events move there with the position and the checksum that they keep. Going back to a
//! mark among them fetches the beginning of the rows event that was open there, or, when little is
//! left, all of it, and the group is one in memory again.
//!
//! (B3) The file ends where a finished event does.
//! (B4) An error while events are fetched back is returned when the group is sealed, at the latest:
//!      nothing of it is committed.

use super::finished::Boundary;
use super::{GroupBuilder, Mark};
use crate::event::{CHECKSUM_LEN, EventHeader};
use crate::log::{LargeFile, LogError};

/// Events of a group that has a file already are moved when they are this many bytes; and when a
/// group is cut to less, it needs no file.
const PIECE: usize = 1 << 20;

/// What was moved, and where to.
#[derive(Debug)]
pub(super) struct Spilled {
    file: LargeFile,
    events: usize,
    /// Events could not be fetched back (B4).
    failure: Option<LogError>,
}

impl Spilled {
    /// Bytes moved.
    pub(super) fn len(&self) -> usize {
        self.file.len() as usize
    }

    /// Events moved.
    pub(super) fn events(&self) -> usize {
        self.events
    }

    pub(super) fn file_mut(&mut self) -> &mut LargeFile {
        &mut self.file
    }

    /// Moves `bytes`, finished events with these ends in the group, after those that are there.
    /// After an error they are as they were, but for being stamped.
    pub(super) fn take(&mut self, bytes: &mut [u8], events: &[Boundary]) -> Result<(), LogError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let base = self.len();
        stamp(bytes, base, events, self.file.body_start());
        self.file.append(bytes)?;
        self.events += events.len();
        Ok(())
    }

    /// The first bytes of the group up to `until`, from `from` on.
    fn fetch(&mut self, from: usize, until: usize) -> Vec<u8> {
        let mut bytes = vec![0; until - from];
        if let Err(error) = self.file.read(&mut bytes, from as u64) {
            self.failure.get_or_insert(error);
        }
        bytes
    }
}

impl GroupBuilder {
    /// True if finished events are to leave memory: there are more than `threshold` bytes, or a
    /// piece for the file that the group has.
    pub(crate) fn is_due(&self, threshold: u64) -> bool {
        match &self.spilled {
            None => self.bytes.len() as u64 > threshold,
            Some(_) => self.bytes.len() as u64 > threshold.min(PIECE as u64),
        }
    }

    /// Moves the finished events out of memory, to the group's file or to the one that `begin`
    /// makes. After an error the group is as it was.
    pub(crate) fn spill(
        &mut self,
        begin: impl FnOnce() -> Result<LargeFile, LogError>,
    ) -> Result<(), LogError> {
        let base = self.base();
        let finished = self.open.map_or(self.len(), |open| open.start) - base;
        if finished == 0 {
            return Ok(());
        }
        let spilled = match self.spilled.take() {
            Some(spilled) => spilled,
            None => Box::new(Spilled { file: begin()?, events: 0, failure: None }),
        };
        let spilled = self.spilled.insert(spilled);
        let taken = spilled.take(&mut self.bytes[..finished], &self.events);
        if taken.is_err() && spilled.len() == 0 {
            self.spilled = None;
        }
        taken?;
        self.events.clear();
        self.bytes.drain(..finished);
        self.bytes.shrink_to(2 * PIECE);
        Ok(())
    }

    /// Goes back to a mark among the moved events.
    pub(super) fn truncate_spilled(&mut self, to: Mark) {
        let Some(mut spilled) = self.spilled.take() else { return };
        self.events.clear();
        // A group whose events are lost keeps its file, and so the failure.
        if to.bytes <= PIECE && spilled.failure.is_none() {
            self.bytes = spilled.fetch(0, to.bytes);
            if spilled.failure.is_none() {
                self.events = ends(&self.bytes[..to.open.map_or(to.bytes, |open| open.start)]);
                debug_assert_eq!(self.events.len(), to.events);
                return;
            }
        }
        let keep = to.open.map_or(to.bytes, |open| open.start);
        self.bytes = spilled.fetch(keep, to.bytes);
        spilled.file.cut(keep as u64);
        spilled.events = to.events;
        self.spilled = Some(spilled);
    }
}

/// Where each of some whole events ends.
fn ends(events: &[u8]) -> Vec<Boundary> {
    let (mut at, mut ends) = (0, Vec::new());
    while let Some(length) =
        events.get(at + EventHeader::LENGTH_OFFSET..).and_then(|remaining| remaining.first_chunk())
    {
        at += (u32::from_le_bytes(*length) as usize).max(EventHeader::LEN);
        ends.push(Boundary::at(at));
    }
    ends
}

/// Sets `end_log_pos` and checksum of events whose first one begins at `base` in the group, for a
/// file whose groups' events begin at `body_start`.
fn stamp(bytes: &mut [u8], base: usize, ends: &[Boundary], body_start: u64) {
    let mut from = 0;
    for &Boundary { end, .. } in ends {
        let event = &mut bytes[from..end - base];
        let end_log_pos = (body_start + end as u64) as u32;
        event[EventHeader::END_LOG_POS_OFFSET..][..4].copy_from_slice(&end_log_pos.to_le_bytes());
        let (summed, crc) = event.split_at_mut(event.len() - CHECKSUM_LEN);
        crc.copy_from_slice(&crc32fast::hash(summed).to_le_bytes());
        from = end - base;
    }
}
