//! The events that say which transactions are in a file: GTID before each event group, previous
//! GTIDs at the start.

use stdx::cursor::{Cursor, put_lenenc};

use super::{
    CHECKSUM_LEN, ChecksumAlgorithm, EncodeEvent, Event, EventError, EventHeader, EventType,
    FormatDescription, append_event, tagged,
};
use crate::gtid::{Gtid, GtidSet, Uuid};

/// The GTID or anonymous-GTID event, which opens each event group. A GTID with a tag makes it a
/// tagged GTID event (`tagged.rs`), which has the same content; otherwise:
///
/// | bytes | field |
/// | --- | --- |
/// | 1 | flags: 1 = may hold statements, 0 = rows only |
/// | 16 | uuid |
/// | 8 | gno; 0 when anonymous |
/// | 1 | logical timestamp type, 2 |
/// | 8+8 | `last_committed`, `sequence_number` |
/// | 7 | immediate commit timestamp; bit 55: an original one follows |
/// | 0/7 | original commit timestamp |
/// | 1..9 | transaction length, length-encoded |
/// | 4 | immediate server version; bit 31: an original one follows |
/// | 0/4 | original server version |
/// | 0/8 | commit group ticket |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtidEvent {
    /// False when all the group's changes are row events.
    pub may_have_statements: bool,
    /// The identifier; `None` in the anonymous event. (An anonymous event's uuid field is zero.)
    pub gtid: Option<Gtid>,
    /// The newest transaction (by `sequence_number`) of this file that this one may depend on.
    pub last_committed: u64,
    /// The transaction's number in this file, from 1.
    pub sequence_number: u64,
    /// What MySQL 8 added; `None` in older files.
    pub commit: Option<CommitInfo>,
}

/// The part of a GTID event that came with MySQL 8.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitInfo {
    /// When this server committed, microseconds since 1970 (55 bits).
    pub immediate_commit_timestamp: u64,
    /// When the first server committed; `None` if that is this one (or it is not known).
    pub original_commit_timestamp: Option<u64>,
    /// Bytes of the whole group, this event included, as the writer had it (before any payload
    /// compression).
    pub transaction_length: u64,
    /// Version of the server that wrote the file, 80408 for 8.4.8. `None` before 8.0.14.
    pub immediate_server_version: Option<u32>,
    /// Version of the first server; `None` if the same.
    pub original_server_version: Option<u32>,
    /// Group of transactions that must commit in one; 0 is "none" and not written.
    pub commit_group_ticket: u64,
}

/// What every GTID event has after its header: flags, uuid, gno, type of timestamps, timestamps.
const GTID_POST_HEADER_LEN: usize = 42;
const _: () = assert!(size_of::<Uuid>() == 16);
const _: () =
    assert!(TIMESTAMP_BITS as usize == 7 * 8 - 1, "seven bytes, whose highest bit tells of an original one");

const LOGICAL_TIMESTAMP: u8 = 2;
const TIMESTAMP_BITS: u32 = 55;
const HAS_ORIGINAL_VERSION: u32 = 1 << 31;

impl GtidEvent {
    /// Reads the body of either event; `anonymous` is the header's word.
    pub(super) fn decode(body: &[u8], anonymous: bool) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let flags = c.u8()?;
        let mut uuid = Uuid::default();
        uuid.0.copy_from_slice(c.take(16)?);
        let gno = c.u64()?;
        let gtid = (!anonymous).then_some(Gtid::new(uuid, gno));
        if gtid.is_some() && !(1..=Gtid::GNO_MAX).contains(&gno) {
            return Err(EventError::Malformed("transaction number is out of range"));
        }
        let mut event = Self {
            may_have_statements: flags & 1 != 0,
            gtid,
            last_committed: 0,
            sequence_number: 0,
            commit: None,
        };
        if c.is_empty() || c.u8()? != LOGICAL_TIMESTAMP {
            return Ok(event); // MySQL 5.6
        }
        event.last_committed = c.u64()?;
        event.sequence_number = c.u64()?;
        if !c.is_empty() {
            event.commit = Some(CommitInfo::decode(&mut c)?);
        }
        Ok(event)
    }
}

impl GtidEvent {
    /// Adds `by` to the logical timestamps of a whole GTID event of such a file, whose checksum
    /// then is that of [`super::move_event`]. A `last_committed` of 0 becomes `by`: all that comes
    /// before. A tagged event may grow, and its transaction's length with it.
    ///
    /// # Errors
    /// If it is no GTID event.
    pub fn raise_logical_timestamps(
        bytes: &mut Vec<u8>,
        by: u64,
        fde: &FormatDescription,
    ) -> Result<(), EventError> {
        /// Flags, uuid, gno, type of timestamps.
        const BEFORE: usize = EventHeader::LEN + 1 + size_of::<Uuid>() + 8 + 1;
        const _: () = assert!(BEFORE + 16 == EventHeader::LEN + GTID_POST_HEADER_LEN);
        let header = EventHeader::decode(bytes)?;
        if header.event_type == EventType::GTID_TAGGED {
            let Event::Gtid(mut event) = super::decode(bytes, fde)? else {
                return Err(EventError::Truncated);
            };
            event.last_committed = event.last_committed.wrapping_add(by);
            event.sequence_number = event.sequence_number.wrapping_add(by);
            let whole = event.commit.map_or(0, |commit| commit.transaction_length);
            if let Some(following) = whole.checked_sub(bytes.len() as u64) {
                event.set_transaction_length(following, fde.checksum);
            }
            bytes.clear();
            append_event(bytes, &event, header.origin(), 0, fde.checksum);
            return Ok(());
        }
        for at in [BEFORE, BEFORE + 8] {
            let field = bytes.get_mut(at..at + 8).ok_or(EventError::Truncated)?;
            let mut number = [0; 8];
            number.copy_from_slice(field);
            field.copy_from_slice(&u64::from_le_bytes(number).wrapping_add(by).to_le_bytes());
        }
        Ok(())
    }

    /// Sets the transaction's length: this event's own, in a file with such checksums, and
    /// `following` bytes. Returns the event's own. The number is in the event in as many bytes as
    /// it needs, so both grow until they agree.
    pub fn set_transaction_length(&mut self, following: u64, checksum: ChecksumAlgorithm) -> usize {
        let around = EventHeader::LEN + if checksum == ChecksumAlgorithm::Crc32 { CHECKSUM_LEN } else { 0 };
        let (mut length, mut body) = (0, Vec::new());
        loop {
            if let Some(commit) = &mut self.commit {
                commit.transaction_length = length;
            }
            body.clear();
            self.encode_body(&mut body);
            let own = around + body.len();
            let whole = own as u64 + following;
            if self.commit.is_none() || whole == length {
                return own;
            }
            length = whole;
        }
    }
}

impl CommitInfo {
    fn decode(c: &mut Cursor<'_>) -> Result<Self, EventError> {
        let immediate = c.uint(7)?;
        let original = if immediate >> TIMESTAMP_BITS != 0 { Some(c.uint(7)?) } else { None };
        let mut info = Self {
            immediate_commit_timestamp: immediate & ((1 << TIMESTAMP_BITS) - 1),
            original_commit_timestamp: original,
            transaction_length: c.lenenc()?,
            immediate_server_version: None,
            original_server_version: None,
            commit_group_ticket: 0,
        };
        if c.remaining() >= 4 {
            let immediate = c.u32()?;
            info.immediate_server_version = Some(immediate & !HAS_ORIGINAL_VERSION);
            if immediate & HAS_ORIGINAL_VERSION != 0 {
                info.original_server_version = Some(c.u32()?);
            }
        }
        if c.remaining() >= 8 {
            info.commit_group_ticket = c.u64()?;
        }
        Ok(info)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let has_original = u64::from(self.original_commit_timestamp.is_some()) << TIMESTAMP_BITS;
        put_u56(out, self.immediate_commit_timestamp & ((1 << TIMESTAMP_BITS) - 1) | has_original);
        if let Some(original) = self.original_commit_timestamp {
            put_u56(out, original);
        }
        put_lenenc(out, self.transaction_length);
        let Some(version) = self.immediate_server_version else { return };
        let has_original = if self.original_server_version.is_some() { HAS_ORIGINAL_VERSION } else { 0 };
        out.extend_from_slice(&(version | has_original).to_le_bytes());
        if let Some(original) = self.original_server_version {
            out.extend_from_slice(&original.to_le_bytes());
        }
        if self.commit_group_ticket != 0 {
            out.extend_from_slice(&self.commit_group_ticket.to_le_bytes());
        }
    }
}

fn put_u56(out: &mut Vec<u8>, v: u64) {
    out.extend_from_slice(&v.to_le_bytes()[..7]);
}

impl EncodeEvent for GtidEvent {
    fn event_type(&self) -> EventType {
        match &self.gtid {
            Some(gtid) if !gtid.source.tag.is_none() => EventType::GTID_TAGGED,
            Some(_) => EventType::GTID,
            None => EventType::ANONYMOUS_GTID,
        }
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let gtid = self.gtid.unwrap_or(Gtid::new(Uuid::default(), 0));
        if !gtid.source.tag.is_none() {
            return tagged::encode(self, &gtid, out);
        }
        out.push(u8::from(self.may_have_statements));
        out.extend_from_slice(&gtid.source.uuid.0);
        out.extend_from_slice(&gtid.gno.to_le_bytes());
        out.push(LOGICAL_TIMESTAMP);
        out.extend_from_slice(&self.last_committed.to_le_bytes());
        out.extend_from_slice(&self.sequence_number.to_le_bytes());
        if let Some(commit) = &self.commit {
            commit.encode(out);
        }
    }
}

/// The previous-GTIDs event, second in each file: every GTID in the files before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreviousGtids(pub GtidSet);

impl EncodeEvent for PreviousGtids {
    fn event_type(&self) -> EventType {
        EventType::PREVIOUS_GTIDS
    }

    fn header_flags(&self) -> u16 {
        super::header::flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
}

/// In a file's header, after the previous GTIDs: those of them that never were in this log, but
/// were declared as executed and purged (`gtid_purged`). An ignorable event, so that other readers
/// pass over it: [`Self::MARK`], then the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgedGtids(pub GtidSet);

impl PurgedGtids {
    /// What distinguishes it from other ignorable events.
    pub(crate) const MARK: &[u8] = b"gtid_purged\0";

    /// Reads the body of an ignorable event; `None` if it is another's.
    ///
    /// # Errors
    /// `EventError::Malformed` if the set is none.
    pub fn decode(body: &[u8]) -> Result<Option<Self>, EventError> {
        match body.strip_prefix(Self::MARK) {
            Some(set) => Ok(Some(Self(GtidSet::decode(set).map_err(|_| EventError::Malformed("GTID set"))?))),
            None => Ok(None),
        }
    }
}

impl EncodeEvent for PurgedGtids {
    fn event_type(&self) -> EventType {
        EventType::IGNORABLE
    }

    fn header_flags(&self) -> u16 {
        super::header::flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::MARK);
        self.0.encode(out);
    }
}
