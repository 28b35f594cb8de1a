//! A transaction's events when they are complete, and how the leader stamps them.

use std::num::NonZeroU32;

use super::spilled::Spilled;
use super::{GroupContext, Keys};
use crate::event::checksum::crc_at;
use crate::event::{
    CHECKSUM_LEN, ChecksumAlgorithm, CommitInfo, EncodeEvent, EventHeader, GtidEvent,
    TAGGED_GTID_EVENT_LEN_MAX,
};
use crate::gtid::{Gtid, Tag};
use crate::log::{LargeFile, LogError};

/// A finished event inside the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// Offset after the event, checksum included.
    pub(super) end: usize,
    /// What its CRC multiplies `end_log_pos` by; `None` in an event so small that the leader sums
    /// it.
    pub(super) factor: Option<NonZeroU32>,
}

impl Boundary {
    /// Of an event whose CRC is not computed yet.
    pub(super) fn at(end: usize) -> Self {
        Self { end, factor: None }
    }
}

/// What the leader decides about a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GtidStamp {
    /// The group's GTID; `None` writes an anonymous event.
    pub gtid: Option<Gtid>,
    /// The newest `sequence_number` of this file that the group may depend on.
    pub last_committed: u64,
    /// The group's own number in this file, from 1.
    pub sequence_number: u64,
    /// The moment of commit, microseconds since 1970.
    pub commit_timestamp: u64,
}

impl GtidStamp {
    fn tag(&self) -> Tag {
        self.gtid.map_or(Tag::NONE, |gtid| gtid.source.tag)
    }
}

/// Encoded events of one transaction, complete but for the GTID event, `end_log_pos` and what it
/// does to the CRCs.
#[derive(Debug)]
pub struct EventGroup {
    pub(super) context: GroupContext,
    pub(super) may_have_statements: bool,
    /// Bytes after the GTID event.
    pub(super) len: usize,
    pub(super) event_count: usize,
    /// Hashes of the keys that it wrote; none if it does not report them.
    pub(super) keys: Keys,
    pub(super) body: Body,
}

/// Where the events after the GTID event are.
#[derive(Debug)]
pub(super) enum Body {
    Memory {
        bytes: Vec<u8>,
        events: Vec<Boundary>,
    },
    /// In a file of their own, but for the last ones until the group is sealed.
    Spilled {
        spilled: Box<Spilled>,
        in_memory: Vec<u8>,
        /// Their ends are counted in the group.
        events: Vec<Boundary>,
    },
}

impl EventGroup {
    /// Bytes the stamped group takes, GTID event and checksums included: at most, if its GTID has a
    /// tag; exactly, if it has none (B1).
    pub fn stamped_len_max(&self, tag: Tag) -> usize {
        let gtid_event =
            if tag.is_none() { self.untagged_gtid_event_len() } else { TAGGED_GTID_EVENT_LEN_MAX };
        gtid_event + self.len
    }

    /// How many events the stamped group has.
    pub fn event_count(&self) -> usize {
        self.event_count
    }

    /// Hashes of the keys that it wrote; none if it does not report them.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Appends the whole group for file offset `start` to `out`.
    ///
    /// # Panics
    /// If the group is in a file of its own: the log joins it instead.
    pub fn stamp(&self, stamp: &GtidStamp, start: u64, out: &mut Vec<u8>) {
        let Body::Memory { bytes, events } = &self.body else { panic!("{NOT_STAMPED}") };
        out.reserve(self.stamped_len_max(stamp.tag()));
        let body_start = start + self.append_gtid_event(stamp, start, out);
        let at = out.len();
        out.extend_from_slice(bytes);
        patch(&mut out[at..], events, body_start);
    }

    /// Appends the GTID event alone to `gtid_out`, and patches the rest where it is: a large
    /// group's own bytes are written after it, without a copy. Returns those bytes.
    ///
    /// A group is stamped in place once; the CRCs start from position 0.
    ///
    /// # Panics
    /// As [`Self::stamp`].
    pub(crate) fn stamp_in_place(self, stamp: &GtidStamp, start: u64, gtid_out: &mut Vec<u8>) -> Vec<u8> {
        let body_start = start + self.append_gtid_event(stamp, start, gtid_out);
        let Body::Memory { mut bytes, events } = self.body else { panic!("{NOT_STAMPED}") };
        patch(&mut bytes, &events, body_start);
        bytes
    }

    /// Writes what is left in memory of a group that has a file of its own, and flushes it: its
    /// session's last work before it joins the queue.
    pub(crate) fn seal(&mut self) -> Result<(), LogError> {
        let Body::Spilled { spilled, in_memory, events } = &mut self.body else { return Ok(()) };
        spilled.take(&mut std::mem::take(in_memory), &std::mem::take(events))?;
        spilled.file_mut().seal()
    }

    /// The file of its own, if it has one.
    pub(crate) fn large_file(&mut self) -> Option<&mut LargeFile> {
        match &mut self.body {
            Body::Memory { .. } => None,
            Body::Spilled { spilled, .. } => Some(spilled.file_mut()),
        }
    }

    /// True if it has a file of its own.
    pub fn is_large(&self) -> bool {
        matches!(self.body, Body::Spilled { .. })
    }

    /// Appends the GTID event for file offset `start`; returns its length.
    fn append_gtid_event(&self, stamp: &GtidStamp, start: u64, out: &mut Vec<u8>) -> u64 {
        let (event, length) = self.gtid_event(stamp);
        self.append_event(&event, length, start, out);
        length as u64
    }

    /// The whole GTID event of a group whose other events begin at this offset of a file.
    pub(crate) fn gtid_event_before(&self, body_start: u64, stamp: &GtidStamp) -> Vec<u8> {
        let (event, length) = self.gtid_event(stamp);
        let mut bytes = Vec::with_capacity(length);
        self.append_event(&event, length, body_start.saturating_sub(length as u64), &mut bytes);
        bytes
    }

    fn append_event(&self, event: &GtidEvent, length: usize, start: u64, out: &mut Vec<u8>) {
        let at = out.len();
        let header = EventHeader {
            timestamp: self.context.timestamp,
            event_type: event.event_type(),
            server_id: self.context.server_id,
            event_length: length as u32,
            end_log_pos: (start + length as u64) as u32,
            flags: 0,
        };
        out.extend_from_slice(&header.encode());
        event.encode_body(out);
        let crc = crc32fast::hash(&out[at..]);
        out.extend_from_slice(&crc.to_le_bytes());
        debug_assert_eq!(out.len() - at, length);
    }

    /// The GTID event, and how long it will be.
    fn gtid_event(&self, stamp: &GtidStamp) -> (GtidEvent, usize) {
        let length = self.untagged_gtid_event_len();
        let mut event = GtidEvent {
            may_have_statements: self.may_have_statements,
            gtid: stamp.gtid,
            last_committed: stamp.last_committed,
            sequence_number: stamp.sequence_number,
            commit: Some(CommitInfo {
                immediate_commit_timestamp: stamp.commit_timestamp,
                original_commit_timestamp: self.context.original.map(|o| o.timestamp),
                transaction_length: (self.len + length) as u64,
                immediate_server_version: Some(self.context.server_version),
                original_server_version: self.context.original.map(|o| o.server_version),
                commit_group_ticket: 0,
            }),
        };
        if stamp.tag().is_none() {
            return (event, length);
        }
        let length = event.set_transaction_length(self.len as u64, ChecksumAlgorithm::Crc32);
        (event, length)
    }

    /// The event holds the group's length, its own included, in as few bytes as that needs.
    fn untagged_gtid_event_len(&self) -> usize {
        const POST_HEADER: usize = 1 + 16 + 8 + 1 + 8 + 8;
        let originals = if self.context.original.is_some() { 7 + 4 } else { 0 };
        let fixed_len = EventHeader::LEN + POST_HEADER + 7 + 4 + originals + CHECKSUM_LEN;
        let total = (self.len + fixed_len) as u64;
        let width = match total {
            ..=249 => 1,
            250..=0xfffc => 3,
            0xfffd..=0xff_fffb => 4,
            _ => 9,
        };
        fixed_len + width
    }
}

const NOT_STAMPED: &str = "the events of a large group have their positions already";

/// Sets `end_log_pos` and CRC of each event. Offsets beyond 4 GiB wrap, as MySQL's do.
fn patch(bytes: &mut [u8], events: &[Boundary], start: u64) {
    let mut from = 0;
    for event in events {
        let end_log_pos = (start + event.end as u64) as u32;
        let at = from + EventHeader::END_LOG_POS_OFFSET;
        bytes[at..at + 4].copy_from_slice(&end_log_pos.to_le_bytes());
        let (summed, crc) = bytes[from..event.end].split_at_mut(event.end - from - CHECKSUM_LEN);
        let sum = match event.factor {
            None => crc32fast::hash(summed),
            Some(factor) => {
                let at_zero = u32::from_le_bytes([crc[0], crc[1], crc[2], crc[3]]);
                crc_at(at_zero, factor.get(), end_log_pos)
            }
        };
        crc.copy_from_slice(&sum.to_le_bytes());
        from = event.end;
    }
}
