//! Binary log events: bytes to structures and back.
//!
//! An event is a 19-byte header, a body, and (as the file's format description says) a CRC-32 of
//! both. [`decode`] takes the bytes of exactly one event, checks length and CRC, and borrows from
//! them. [`append_event`] writes one.
//!
//! (V1) No input panics or makes more memory than a small multiple of its own size be taken; what
//!      can expand (transaction payloads, MariaDB's compressed events) does so only when asked,
//!      within a limit.
//! (V2) What MySQL 8.4 and later wrote in row format and this code decoded is encoded to the same
//!      bytes again.
//! (V3) An event type that is not known keeps its bytes ([`Event::Unknown`]); an event of a known
//!      type that breaks its own format is an [`EventError`].
//!
//! Reading order: [`header`], [`format_description`], then one file for each kind. Elsewhere:
//! values inside rows (`row`), a whole transaction's events ahead of their positions (`group`),
//! text (`text`).

pub(crate) mod checksum;
mod compressed;
mod control;
mod decoder;
mod format_description;
mod gtid;
mod header;
mod load;
pub(crate) mod mariadb;
mod metadata;
mod payload;
mod query;
mod rows;
pub(crate) mod table_map;
mod tagged;

use stdx::cursor::Truncated;

pub use compressed::{Compressed, QueryCompressedEvent};
pub use control::{
    HeartbeatEvent, IgnorableEvent, IntvarEvent, LogResetEvent, RandEvent, RotateEvent, RowsQueryEvent,
    SourcePositionEvent, StopEvent, UserVarEvent, UserVarValue, XaPrepareEvent, XidEvent,
};
pub use decoder::Decoder;
pub use format_description::{ChecksumAlgorithm, FormatDescription};
pub use gtid::{CommitInfo, GtidEvent, PreviousGtids, PurgedGtids};
pub use header::{EventHeader, EventType, flags};
pub use load::{LoadBlockEvent, LoadDeleteEvent, LoadDuplicates, LoadQueryEvent};
pub use mariadb::{
    MariadbAnnotateRowsEvent, MariadbGtid, MariadbGtidEvent, MariadbGtidListEvent, StartEncryptionEvent,
    gtid_extra_flags, gtid_flags,
};
pub use metadata::{DefaultCharset, MetadataField, OptionalMetadata, TableDetails};
pub use payload::{Compression, Depth, PayloadEvents, TransactionPayloadEvent};
pub use query::{Account, EncodedQuery, QueryEvent, StatusVars, UpdatedDatabases, flags2};
pub use rows::{RowChange, RowChanges, RowsData, RowsEvent, RowsKind, rows_flags};
pub use table_map::{EncodedTableMap, TableMapEvent};

use crate::gtid::{GtidError, GtidSet};

/// The four bytes a file starts with; its first event is at offset 4.
pub const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];

/// Bytes of a CRC-32.
pub const CHECKSUM_LEN: usize = 4;

/// No tagged GTID event is longer.
pub(crate) const TAGGED_GTID_EVENT_LEN_MAX: usize = EventHeader::LEN + tagged::BODY_LEN_MAX + CHECKSUM_LEN;

/// No event is longer: the largest `max_allowed_packet`, 1 GiB, and room for what surrounds one row
/// of that size.
pub const EVENT_LENGTH_MAX: u32 = (1 << 30) + (1 << 20);

/// Why bytes are no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The event ends before its content does.
    #[error("event is truncated")]
    Truncated,
    /// The header's length is not that of the bytes given.
    #[error("event is {header} bytes long by its header, but {given} are given")]
    Length {
        /// What the header says.
        header: u32,
        /// The bytes given.
        given: usize,
    },
    /// The CRC-32 does not match.
    #[error("event checksum is {found:#010x}, computed {computed:#010x}")]
    Checksum {
        /// What the event says.
        found: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// Longer than this code reads; the number is in bytes.
    #[error("event of {0} bytes is too large")]
    TooLarge(u64),
    /// Breaks its format.
    #[error("malformed event: {0}")]
    Malformed(&'static str),
    /// A row inside is damaged.
    #[error("row: {0}")]
    Row(#[from] crate::row::RowError),
    /// Correct, but of a form that is not read here.
    #[error("unsupported event: {0}")]
    Unsupported(&'static str),
}

impl From<Truncated> for EventError {
    fn from(_: Truncated) -> Self {
        EventError::Truncated
    }
}

impl From<GtidError> for EventError {
    fn from(e: GtidError) -> Self {
        match e {
            GtidError::Malformed => EventError::Malformed("GTID set"),
            GtidError::Truncated => EventError::Truncated,
        }
    }
}

/// A decoded event's content. Its header is [`EventHeader::decode`]d apart.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // each variant is its structure's comment
pub enum Event<'a> {
    FormatDescription(FormatDescription),
    PreviousGtids(PreviousGtids),
    Gtid(GtidEvent),
    Query(QueryEvent<'a>),
    TableMap(TableMapEvent),
    Rows(RowsEvent<'a>),
    Xid(XidEvent),
    Rotate(RotateEvent<'a>),
    Stop,
    RowsQuery(RowsQueryEvent<'a>),
    Heartbeat(HeartbeatEvent<'a>),
    XaPrepare(XaPrepareEvent<'a>),
    Intvar(IntvarEvent),
    Rand(RandEvent),
    UserVar(UserVarEvent<'a>),
    LoadBlock(LoadBlockEvent<'a>),
    LoadDelete(LoadDeleteEvent),
    LoadQuery(LoadQueryEvent<'a>),
    TransactionPayload(TransactionPayloadEvent<'a>),
    MariadbGtid(MariadbGtidEvent<'a>),
    MariadbGtidList(MariadbGtidListEvent),
    /// The oldest file that MariaDB's recovery needs.
    MariadbBinlogCheckpoint(&'a [u8]),
    /// The statement that the row events after it come from.
    MariadbAnnotateRows(&'a [u8]),
    MariadbStartEncryption(StartEncryptionEvent),
    MariadbQueryCompressed(QueryCompressedEvent<'a>),
    /// To be skipped; the bytes mean something to others.
    Ignorable(&'a [u8]),
    /// A type that is not known here, its body as it is.
    Unknown(&'a [u8]),
}

/// What can be written as an event.
pub trait EncodeEvent {
    /// The header's type.
    fn event_type(&self) -> EventType;

    /// The header's flags that this kind of event always has.
    fn header_flags(&self) -> u16 {
        0
    }

    /// Appends what stands between header and checksum.
    fn encode_body(&self, out: &mut Vec<u8>);
}

/// What an event's header says besides its kind, length and position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventOrigin {
    /// Seconds since 1970.
    pub timestamp: u32,
    /// `server_id` of the server that the event comes from.
    pub server_id: u32,
    /// Flags besides those that the kind of event always has.
    pub flags: u16,
}

/// Appends a whole event that starts at offset `start` of its file: header, body, and the CRC-32 if
/// `checksum` says so (a format description always has one).
///
/// # Panics
/// If the event would be longer than 4 GiB.
pub fn append_event(
    out: &mut Vec<u8>,
    event: &impl EncodeEvent,
    origin: EventOrigin,
    start: u64,
    checksum: ChecksumAlgorithm,
) {
    let at = out.len();
    let mut header = EventHeader {
        timestamp: origin.timestamp,
        event_type: event.event_type(),
        server_id: origin.server_id,
        event_length: 0,
        end_log_pos: 0,
        flags: origin.flags | event.header_flags(),
    };
    out.extend_from_slice(&header.encode());
    event.encode_body(out);
    let summed = checksum == ChecksumAlgorithm::Crc32 || header.event_type == EventType::FORMAT_DESCRIPTION;
    let length = out.len() - at + if summed { CHECKSUM_LEN } else { 0 };
    header.event_length =
        u32::try_from(length).expect("an event fits 4 GiB: its parts are bounded far below");
    header.end_log_pos = (start + length as u64) as u32;
    out[at..at + EventHeader::LEN].copy_from_slice(&header.encode());
    if summed {
        let crc = event_crc(&out[at..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }
}

/// Gives an event another place: `end_log_pos` for `start` (left as it is where there is none), and
/// the checksum.
///
/// # Errors
/// `EventError::Truncated` if it has no room for header and checksum; it may be half changed then.
pub fn move_event(event: &mut [u8], start: u64, checksum: ChecksumAlgorithm) -> Result<(), EventError> {
    let header = EventHeader::decode(event)?;
    if header.end_log_pos != 0 {
        let end = start.wrapping_add(event.len() as u64) as u32;
        let place = EventHeader::END_LOG_POS_OFFSET..EventHeader::END_LOG_POS_OFFSET + 4;
        event.get_mut(place).ok_or(EventError::Truncated)?.copy_from_slice(&end.to_le_bytes());
    }
    if checksum == ChecksumAlgorithm::Crc32 {
        let (summed, crc) = event.split_last_chunk_mut::<CHECKSUM_LEN>().ok_or(EventError::Truncated)?;
        if summed.len() < EventHeader::LEN {
            return Err(EventError::Truncated);
        }
        *crc = event_crc(summed).to_le_bytes();
    }
    Ok(())
}

/// The CRC-32 of an event's header and body. The in-use flag of a format description counts as
/// clear, so that closing a file changes that bit alone.
fn event_crc(event: &[u8]) -> u32 {
    const TYPE_OFFSET: usize = 4;
    let in_use = flags::BINLOG_IN_USE as u8;
    if event[TYPE_OFFSET] != EventType::FORMAT_DESCRIPTION.0 || event[EventHeader::FLAGS_OFFSET] & in_use == 0
    {
        return crc32fast::hash(event);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&event[..EventHeader::FLAGS_OFFSET]);
    hasher.update(&[event[EventHeader::FLAGS_OFFSET] & !in_use]);
    hasher.update(&event[EventHeader::FLAGS_OFFSET + 1..]);
    hasher.finalize()
}

/// Checks an event's CRC-32, which its last four bytes are.
///
/// # Errors
/// `EventError::Checksum` if it differs, `EventError::Truncated` if there is no room for header and
/// checksum.
pub fn verify_checksum(event: &[u8]) -> Result<(), EventError> {
    let (summed, crc) = event.split_last_chunk::<CHECKSUM_LEN>().ok_or(EventError::Truncated)?;
    if summed.len() < EventHeader::LEN {
        return Err(EventError::Truncated);
    }
    let (found, computed) = (u32::from_le_bytes(*crc), event_crc(summed));
    if found == computed { Ok(()) } else { Err(EventError::Checksum { found, computed }) }
}

/// Decodes the bytes of one event of a file that `fde` describes: length and CRC-32 are checked.
///
/// # Errors
/// Any [`EventError`].
pub fn decode<'a>(bytes: &'a [u8], fde: &FormatDescription) -> Result<Event<'a>, EventError> {
    let (header, body) = split(bytes, fde)?;
    if header.event_type == EventType::FORMAT_DESCRIPTION {
        return decode_format_description(bytes).map(Event::FormatDescription);
    }
    decode_body(&header, body, fde)
}

/// Splits one event into its header and body; length and CRC-32 are checked.
///
/// # Errors
/// `EventError::Length`, `EventError::Checksum` and `EventError::Truncated`.
pub fn split<'a>(bytes: &'a [u8], fde: &FormatDescription) -> Result<(EventHeader, &'a [u8]), EventError> {
    let header = EventHeader::decode(bytes)?;
    if header.event_length as usize != bytes.len() {
        return Err(EventError::Length { header: header.event_length, given: bytes.len() });
    }
    if header.event_type == EventType::FORMAT_DESCRIPTION {
        // It says itself whether it has a checksum; the four bytes stay in its body.
        return Ok((header, &bytes[EventHeader::LEN..]));
    }
    let body_end = bytes.len().checked_sub(fde.checksum_len()).filter(|&end| end >= EventHeader::LEN);
    let body = &bytes[EventHeader::LEN..body_end.ok_or(EventError::Truncated)?];
    if fde.checksum == ChecksumAlgorithm::Crc32 {
        verify_checksum(bytes)?;
    }
    Ok((header, body))
}

/// Decodes a file's first event, whose bytes these are.
///
/// # Errors
/// Any [`EventError`]: also if it is another event.
pub fn decode_format_description(bytes: &[u8]) -> Result<FormatDescription, EventError> {
    let header = EventHeader::decode(bytes)?;
    if header.event_type != EventType::FORMAT_DESCRIPTION {
        return Err(EventError::Malformed("first event is no format description"));
    }
    if header.event_length as usize != bytes.len() {
        return Err(EventError::Length { header: header.event_length, given: bytes.len() });
    }
    let fde = FormatDescription::decode(&bytes[EventHeader::LEN..])?;
    if fde.checksum == ChecksumAlgorithm::Crc32 {
        verify_checksum(bytes)?;
    }
    Ok(fde)
}

fn decode_body<'a>(
    header: &EventHeader,
    body: &'a [u8],
    fde: &FormatDescription,
) -> Result<Event<'a>, EventError> {
    Ok(match header.event_type {
        EventType::PREVIOUS_GTIDS => Event::PreviousGtids(PreviousGtids(GtidSet::decode(body)?)),
        EventType::GTID => Event::Gtid(GtidEvent::decode(body, false)?),
        EventType::ANONYMOUS_GTID => Event::Gtid(GtidEvent::decode(body, true)?),
        EventType::QUERY => Event::Query(QueryEvent::decode(body, header.flags)?),
        EventType::XID => Event::Xid(XidEvent(stdx::cursor::Cursor::new(body).u64()?)),
        EventType::ROTATE => Event::Rotate(RotateEvent::decode(body)?),
        EventType::STOP => Event::Stop,
        EventType::ROWS_QUERY => Event::RowsQuery(RowsQueryEvent::decode(body)?),
        EventType::HEARTBEAT => Event::Heartbeat(HeartbeatEvent::decode(body, header.end_log_pos)),
        EventType::HEARTBEAT_V2 => Event::Heartbeat(HeartbeatEvent::decode_v2(body)?),
        EventType::XA_PREPARE => Event::XaPrepare(XaPrepareEvent::decode(body)?),
        EventType::INTVAR => Event::Intvar(IntvarEvent::decode(body)?),
        EventType::RAND => Event::Rand(RandEvent::decode(body)?),
        EventType::USER_VAR => Event::UserVar(UserVarEvent::decode(body)?),
        EventType::BEGIN_LOAD_QUERY | EventType::APPEND_BLOCK => {
            Event::LoadBlock(LoadBlockEvent::decode(header.event_type, body)?)
        }
        EventType::DELETE_FILE => {
            Event::LoadDelete(LoadDeleteEvent { file_id: stdx::cursor::Cursor::new(body).u32()? })
        }
        EventType::EXECUTE_LOAD_QUERY => Event::LoadQuery(LoadQueryEvent::decode(body, header.flags)?),
        EventType::IGNORABLE => Event::Ignorable(body),
        EventType::GTID_TAGGED => Event::Gtid(tagged::decode(body)?),
        EventType::TABLE_MAP => Event::TableMap(TableMapEvent::decode(body, table_id_len(header, fde))?),
        EventType::TRANSACTION_PAYLOAD => Event::TransactionPayload(TransactionPayloadEvent::decode(body)?),
        EventType::MARIADB_GTID => Event::MariadbGtid(MariadbGtidEvent::decode(body, header.server_id)?),
        EventType::MARIADB_GTID_LIST => Event::MariadbGtidList(MariadbGtidListEvent::decode(body)?),
        EventType::MARIADB_BINLOG_CHECKPOINT => {
            Event::MariadbBinlogCheckpoint(mariadb::checkpoint_file(body)?)
        }
        EventType::MARIADB_ANNOTATE_ROWS => Event::MariadbAnnotateRows(body),
        EventType::MARIADB_START_ENCRYPTION => {
            Event::MariadbStartEncryption(StartEncryptionEvent::decode(body)?)
        }
        EventType::MARIADB_QUERY_COMPRESSED => {
            Event::MariadbQueryCompressed(QueryCompressedEvent::decode(body)?)
        }
        kind if RowsEvent::is_rows(kind) => {
            Event::Rows(RowsEvent::decode(kind, body, table_id_len(header, fde))?)
        }
        _ => Event::Unknown(body),
    })
}

/// Servers before 5.1.4 had table ids of 4 bytes, and say so by a fixed part of 6.
fn table_id_len(header: &EventHeader, fde: &FormatDescription) -> usize {
    if fde.post_header_length(header.event_type) == Some(6) { 4 } else { 6 }
}
