//! The small events: XID, rotate, stop, rows query, ignorable, heartbeat, and what old
//! statement-format files hold.

use stdx::cursor::{Cursor, put_lenenc_bytes};

use super::{EncodeEvent, EventError, EventType, header::flags};

/// Ends an event group: commit, with the engine's transaction number (8 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XidEvent(pub u64);

impl EncodeEvent for XidEvent {
    fn event_type(&self) -> EventType {
        EventType::XID
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }
}

/// Ends a file (or stands at the head of a stream): where to go on. 8 bytes position, then the
/// file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotateEvent<'a> {
    /// Offset of the next event, 4 in a new file.
    pub position: u64,
    /// The next file's name, without folder.
    pub file_name: &'a [u8],
}

impl<'a> RotateEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        Ok(Self { position: c.u64()?, file_name: c.take_remaining() })
    }
}

impl EncodeEvent for RotateEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::ROTATE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(self.file_name);
    }
}

/// Ends the last file of a server that was shut down. No body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopEvent;

impl EncodeEvent for StopEvent {
    fn event_type(&self) -> EventType {
        EventType::STOP
    }

    fn encode_body(&self, _out: &mut Vec<u8>) {}
}

/// The statement that the row events after it come from (`binlog_rows_query_log_events`).
///
/// One byte that once was the length and is skipped (MySQL writes 0), then the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsQueryEvent<'a> {
    /// The statement's text.
    pub sql: &'a [u8],
}

impl<'a> RowsQueryEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        c.u8()?;
        Ok(Self { sql: c.take_remaining() })
    }
}

impl EncodeEvent for RowsQueryEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::ROWS_QUERY
    }

    fn header_flags(&self) -> u16 {
        flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.push(0);
        out.extend_from_slice(self.sql);
    }
}

/// Nothing: room in a file that is not needed. Readers that do not know an event's type skip it for
/// its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnorableEvent {
    /// Bytes of zeros in it.
    pub room: usize,
}

impl EncodeEvent for IgnorableEvent {
    fn event_type(&self) -> EventType {
        EventType::IGNORABLE
    }

    fn header_flags(&self) -> u16 {
        flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.room, 0);
    }
}

/// In an event group that a replica has committed: where the group ends in its source's log, for a
/// source that is not followed by GTIDs. An ignorable event, so that other readers pass over it:
/// [`Self::MARK`], the channel's name after a length-encoded length, then what the applier wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePositionEvent<'a> {
    /// The channel that the group came by; empty for the default channel.
    pub channel: &'a [u8],
    /// The place in the source's log, in the replica's own form.
    pub position: &'a [u8],
}

impl<'a> SourcePositionEvent<'a> {
    /// What distinguishes it from other ignorable events.
    pub(crate) const MARK: &'static [u8] = b"source_position\0";

    /// Reads the body of an ignorable event; `None` if it is another's.
    ///
    /// # Errors
    /// `EventError::Truncated` if it ends in the channel's name.
    pub fn decode(body: &'a [u8]) -> Result<Option<Self>, EventError> {
        let Some(rest) = body.strip_prefix(Self::MARK) else { return Ok(None) };
        let mut c = Cursor::new(rest);
        let channel = c.lenenc_bytes()?;
        Ok(Some(Self { channel, position: c.take_remaining() }))
    }
}

impl EncodeEvent for SourcePositionEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::IGNORABLE
    }

    fn header_flags(&self) -> u16 {
        flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::MARK);
        put_lenenc_bytes(out, self.channel);
        out.extend_from_slice(self.position);
    }
}

/// In a file's header, of a log that was begun anew (`RESET BINARY LOGS AND GTIDS`): which file the
/// new log begins with, and where the tables were then. All of its files have it. An ignorable
/// event, so that other readers pass over it: [`Self::MARK`], then three numbers of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogResetEvent {
    /// The number of the new log's first file, counted on from the old log's last one.
    pub first: u64,
    /// The number in its name.
    pub named: u64,
    /// A packed position: what the old log held was in the tables up to here, and that was all.
    pub tables: u64,
}

impl LogResetEvent {
    /// What distinguishes it from other ignorable events.
    pub(crate) const MARK: &[u8] = b"log_reset\0";

    /// Reads the body of an ignorable event; `None` if it is another's.
    ///
    /// # Errors
    /// `EventError::Truncated` if it ends before its three numbers.
    pub fn decode(body: &[u8]) -> Result<Option<Self>, EventError> {
        let Some(numbers) = body.strip_prefix(Self::MARK) else { return Ok(None) };
        let mut c = Cursor::new(numbers);
        Ok(Some(Self { first: c.u64()?, named: c.u64()?, tables: c.u64()? }))
    }
}

impl EncodeEvent for LogResetEvent {
    fn event_type(&self) -> EventType {
        EventType::IGNORABLE
    }

    fn header_flags(&self) -> u16 {
        flags::IGNORABLE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::MARK);
        for number in [self.first, self.named, self.tables] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Sent on an idle stream, never in a file: the source lives and is at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatEvent<'a> {
    /// The source's current file.
    pub file_name: &'a [u8],
    /// The offset there. The first version has it in the header's `end_log_pos` alone.
    pub position: u64,
    /// True for the second version, whose position has 64 bits.
    pub v2: bool,
}

impl<'a> HeartbeatEvent<'a> {
    pub(super) fn decode(body: &'a [u8], end_log_pos: u32) -> Self {
        Self { file_name: body, position: end_log_pos.into(), v2: false }
    }

    /// The second version is a list of fields: 1 type, 1..9 length, value. Type 1 is the file name,
    /// 2 the position (length-encoded), 0 the end.
    pub(super) fn decode_v2(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let mut event = Self { file_name: &[], position: 0, v2: true };
        while !c.is_empty() {
            match c.u8()? {
                0 => break,
                1 => event.file_name = c.lenenc_bytes()?,
                2 => event.position = Cursor::new(c.lenenc_bytes()?).lenenc()?,
                _ => drop(c.lenenc_bytes()?),
            }
        }
        Ok(event)
    }
}

impl EncodeEvent for HeartbeatEvent<'_> {
    fn event_type(&self) -> EventType {
        if self.v2 { EventType::HEARTBEAT_V2 } else { EventType::HEARTBEAT }
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        if !self.v2 {
            out.extend_from_slice(self.file_name);
            return;
        }
        out.push(1);
        stdx::cursor::put_lenenc_bytes(out, self.file_name);
        let mut position = Vec::with_capacity(9);
        stdx::cursor::put_lenenc(&mut position, self.position);
        out.push(2);
        stdx::cursor::put_lenenc_bytes(out, &position);
        out.push(0);
    }
}

/// Ends the first phase of an XA transaction: it is prepared, or (one phase) committed.
///
/// 1 byte one-phase flag, 4 bytes format id, 4 bytes each length of gtrid and bqual, then both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaPrepareEvent<'a> {
    /// `XA COMMIT .. ONE PHASE`.
    pub one_phase: bool,
    /// The XID's format number.
    pub format_id: i32,
    /// Global transaction id, at most 64 bytes.
    pub gtrid: &'a [u8],
    /// Branch qualifier, at most 64 bytes.
    pub bqual: &'a [u8],
}

impl<'a> XaPrepareEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let one_phase = c.u8()? != 0;
        let format_id = c.u32()? as i32;
        let (gtrid_len, bqual_len) = (c.u32()? as usize, c.u32()? as usize);
        if gtrid_len > 64 || bqual_len > 64 {
            return Err(EventError::Malformed("XID is longer than 128 bytes"));
        }
        Ok(Self { one_phase, format_id, gtrid: c.take(gtrid_len)?, bqual: c.take(bqual_len)? })
    }
}

impl EncodeEvent for XaPrepareEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::XA_PREPARE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.one_phase));
        out.extend_from_slice(&self.format_id.to_le_bytes());
        out.extend_from_slice(&(self.gtrid.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.bqual.len() as u32).to_le_bytes());
        out.extend_from_slice(self.gtrid);
        out.extend_from_slice(self.bqual);
    }
}

/// Statement format: `LAST_INSERT_ID()` (kind 1) or the next AUTO_INCREMENT value (kind 2) of the
/// next statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntvarEvent {
    /// 1 or 2.
    pub kind: u8,
    /// What the function returns, or the column gets, if the statement asks for it.
    pub value: u64,
}

impl IntvarEvent {
    pub(super) fn decode(body: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        Ok(Self { kind: c.u8()?, value: c.u64()? })
    }
}

/// Statement format: the two seeds of `RAND()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandEvent {
    /// The first seed.
    pub(crate) seed1: u64,
    /// The second seed.
    pub(crate) seed2: u64,
}

impl RandEvent {
    /// Both seeds.
    pub fn seeds(&self) -> (u64, u64) {
        (self.seed1, self.seed2)
    }

    pub(super) fn decode(body: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        Ok(Self { seed1: c.u64()?, seed2: c.u64()? })
    }
}

/// Statement format: a user variable that the next statement reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserVarEvent<'a> {
    /// Its name, without `@`.
    pub name: &'a [u8],
    /// Its value; `None` is NULL.
    pub value: Option<UserVarValue<'a>>,
}

/// A user variable's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserVarValue<'a> {
    /// 0 string, 1 real, 2 integer, 4 decimal (the server's `Item_result`).
    pub kind: u8,
    /// Collation by number.
    pub charset: u32,
    /// The value in that kind's binary form.
    pub bytes: &'a [u8],
    /// An integer is unsigned.
    pub unsigned: bool,
}

impl<'a> UserVarEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let name_len = c.u32()? as usize;
        let name = c.take(name_len)?;
        if c.u8()? != 0 {
            return Ok(Self { name, value: None });
        }
        let kind = c.u8()?;
        let charset = c.u32()?;
        let value_len = c.u32()? as usize;
        let bytes = c.take(value_len)?;
        // The flags byte came later than the event.
        let unsigned = !c.is_empty() && c.u8()? & 1 != 0;
        Ok(Self { name, value: Some(UserVarValue { kind, charset, bytes, unsigned }) })
    }
}
