//! What every event starts with: the 19-byte common header, and the numbers of the event types.

use std::fmt;

use stdx::cursor::Cursor;

use super::{EventError, EventOrigin};

/// The kind of an event, as its header numbers it. Numbers from 160 on are MariaDB's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventType(pub u8);

macro_rules! event_types {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        #[allow(missing_docs)] // the names are the documentation
        impl EventType {
            $(pub const $name: EventType = EventType($number);)*

            /// The name that SHOW BINLOG EVENTS prints.
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "Unknown",
                }
            }
        }
    };
}

event_types! {
    START_V3 = 1, "Start_v3";
    QUERY = 2, "Query";
    STOP = 3, "Stop";
    ROTATE = 4, "Rotate";
    INTVAR = 5, "Intvar";
    SLAVE = 7, "Slave";
    APPEND_BLOCK = 9, "Append_block";
    DELETE_FILE = 11, "Delete_file";
    RAND = 13, "RAND";
    USER_VAR = 14, "User var";
    FORMAT_DESCRIPTION = 15, "Format_desc";
    XID = 16, "Xid";
    BEGIN_LOAD_QUERY = 17, "Begin_load_query";
    EXECUTE_LOAD_QUERY = 18, "Execute_load_query";
    TABLE_MAP = 19, "Table_map";
    WRITE_ROWS_V1 = 23, "Write_rows_v1";
    UPDATE_ROWS_V1 = 24, "Update_rows_v1";
    DELETE_ROWS_V1 = 25, "Delete_rows_v1";
    INCIDENT = 26, "Incident";
    HEARTBEAT = 27, "Heartbeat";
    IGNORABLE = 28, "Ignorable";
    ROWS_QUERY = 29, "Rows_query";
    WRITE_ROWS = 30, "Write_rows";
    UPDATE_ROWS = 31, "Update_rows";
    DELETE_ROWS = 32, "Delete_rows";
    GTID = 33, "Gtid";
    ANONYMOUS_GTID = 34, "Anonymous_Gtid";
    PREVIOUS_GTIDS = 35, "Previous_gtids";
    TRANSACTION_CONTEXT = 36, "Transaction_context";
    VIEW_CHANGE = 37, "View_change";
    XA_PREPARE = 38, "XA_prepare";
    PARTIAL_UPDATE_ROWS = 39, "Update_rows_partial";
    TRANSACTION_PAYLOAD = 40, "Transaction_payload";
    HEARTBEAT_V2 = 41, "Heartbeat";
    GTID_TAGGED = 42, "Gtid_tagged_log_event";
    MARIADB_ANNOTATE_ROWS = 160, "Annotate_rows";
    MARIADB_BINLOG_CHECKPOINT = 161, "Binlog_checkpoint";
    MARIADB_GTID = 162, "Gtid";
    MARIADB_GTID_LIST = 163, "Gtid_list";
    MARIADB_START_ENCRYPTION = 164, "Start_encryption";
    MARIADB_QUERY_COMPRESSED = 165, "Query_compressed";
    MARIADB_WRITE_ROWS_COMPRESSED_V1 = 166, "Write_rows_compressed_v1";
    MARIADB_UPDATE_ROWS_COMPRESSED_V1 = 167, "Update_rows_compressed_v1";
    MARIADB_DELETE_ROWS_COMPRESSED_V1 = 168, "Delete_rows_compressed_v1";
    MARIADB_WRITE_ROWS_COMPRESSED = 169, "Write_rows_compressed";
    MARIADB_UPDATE_ROWS_COMPRESSED = 170, "Update_rows_compressed";
    MARIADB_DELETE_ROWS_COMPRESSED = 171, "Delete_rows_compressed";
}

impl EventType {
    /// True for the events that begin a transaction in MySQL's logs: with a GTID, with a tagged
    /// one, and without.
    pub fn is_gtid(self) -> bool {
        matches!(self, Self::GTID | Self::GTID_TAGGED | Self::ANONYMOUS_GTID)
    }
}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

/// Bits of [`EventHeader::flags`].
pub mod flags {
    /// Format description only: the file was not closed. Counts as clear in the event's checksum.
    pub const BINLOG_IN_USE: u16 = 0x1;
    /// The statement depends on the thread (temporary tables).
    pub const THREAD_SPECIFIC: u16 = 0x4;
    /// The statement needs no `USE` before it.
    pub const SUPPRESS_USE: u16 = 0x8;
    /// Made up by the sender; not in any file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// Written by a replica's receiver.
    pub const RELAY_LOG: u16 = 0x40;
    /// A reader that does not know the type may skip the event.
    pub const IGNORABLE: u16 = 0x80;
    /// MariaDB: not to be replicated.
    pub const MARIADB_SKIP_REPLICATION: u16 = 0x8000;
}

/// The common header of version 4.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 4 | timestamp, seconds since 1970 |
/// | 4 | 1 | type |
/// | 5 | 4 | server id |
/// | 9 | 4 | length of the whole event: header, body, checksum |
/// | 13 | 4 | `end_log_pos`, the file offset after the event, modulo 2^32 |
/// | 17 | 2 | flags |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHeader {
    /// When the statement started, seconds since 1970; 0 in artificial events.
    pub timestamp: u32,
    /// The kind of event.
    pub event_type: EventType,
    /// The server that the event was first written by.
    pub server_id: u32,
    /// Bytes of the whole event.
    pub event_length: u32,
    /// File offset after the event, modulo 2^32; 0 in artificial events and inside a transaction
    /// payload.
    pub end_log_pos: u32,
    /// See [`flags`].
    pub flags: u16,
}

// timestamp, type, server_id; event_length; end_log_pos; flags.
const _: () = assert!(EventHeader::LENGTH_OFFSET == 4 + 1 + 4);
const _: () = assert!(EventHeader::END_LOG_POS_OFFSET == EventHeader::LENGTH_OFFSET + 4);
const _: () = assert!(EventHeader::FLAGS_OFFSET == EventHeader::END_LOG_POS_OFFSET + 4);
const _: () = assert!(EventHeader::LEN == EventHeader::FLAGS_OFFSET + 2);
const _: () = assert!(EventHeader::LEN == 19, "MySQL's, since 4.0");

impl EventHeader {
    /// Bytes of the header.
    pub const LEN: usize = 19;
    /// Where `event_length` is.
    pub const LENGTH_OFFSET: usize = 9;
    /// Where `end_log_pos` is.
    pub const END_LOG_POS_OFFSET: usize = 13;
    /// Where the flags are.
    pub const FLAGS_OFFSET: usize = 17;

    /// What an event has from this header that replaces its own.
    pub fn origin(&self) -> EventOrigin {
        EventOrigin { timestamp: self.timestamp, server_id: self.server_id, flags: self.flags }
    }

    /// The 19 bytes.
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0..4].copy_from_slice(&self.timestamp.to_le_bytes());
        out[4] = self.event_type.0;
        out[5..9].copy_from_slice(&self.server_id.to_le_bytes());
        out[9..13].copy_from_slice(&self.event_length.to_le_bytes());
        out[13..17].copy_from_slice(&self.end_log_pos.to_le_bytes());
        out[17..19].copy_from_slice(&self.flags.to_le_bytes());
        out
    }

    /// Reads the first 19 of `bytes`, of which more may follow. Checks that the length is possible.
    ///
    /// # Errors
    /// `EventError::Truncated` if there are fewer bytes; `EventError::Malformed` or
    /// `EventError::TooLarge` for an impossible length.
    pub fn decode(bytes: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(bytes);
        let header = Self {
            timestamp: c.u32()?,
            event_type: EventType(c.u8()?),
            server_id: c.u32()?,
            event_length: c.u32()?,
            end_log_pos: c.u32()?,
            flags: c.u16()?,
        };
        if (header.event_length as usize) < Self::LEN {
            return Err(EventError::Malformed("event is shorter than its header"));
        }
        if header.event_length > super::EVENT_LENGTH_MAX {
            return Err(EventError::TooLarge(header.event_length.into()));
        }
        Ok(header)
    }
}
