//! Replies as a client reads them.

use super::ClientError;
use crate::error::ErrorReply;
use crate::flags::{Capabilities, Status};
use stdx::cursor::Cursor;

/// How a statement without rows ended, or a result set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OkPacket {
    /// Rows changed.
    pub affected_rows: u64,
    /// The first generated AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The session's state.
    pub status: Status,
    /// `@@warning_count`.
    pub warnings: u16,
    /// Text for humans.
    pub info: Vec<u8>,
    /// Changes of the session's state, as they stand in the packet.
    pub changes: Vec<u8>,
}

/// A row of text values.
pub type Row = Vec<Option<Vec<u8>>>;

/// What one statement returns, read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// Column names; empty if there was no result set.
    pub columns: Vec<Vec<u8>>,
    /// In the order they came; empty if there was no result set.
    pub rows: Vec<Row>,
    /// The OK packet, or the EOF after the rows.
    pub ok: OkPacket,
}

pub(super) fn read_ok(packet: &[u8], capabilities: Capabilities) -> Result<OkPacket, ClientError> {
    let mut c = Cursor::new(packet);
    c.u8()?;
    let (affected_rows, last_insert_id) = (c.lenenc()?, c.lenenc()?);
    let (status, warnings) = (Status(c.u16()?), c.u16()?);
    let mut ok = OkPacket { affected_rows, last_insert_id, status, warnings, ..OkPacket::default() };
    if !c.is_empty() {
        ok.info = c.lenenc_bytes()?.to_vec();
        if capabilities.has(Capabilities::SESSION_TRACK) && status.has(Status::SESSION_STATE_CHANGED) {
            ok.changes = c.lenenc_bytes()?.to_vec();
        }
    }
    Ok(ok)
}

pub(super) fn read_eof(packet: &[u8]) -> Result<OkPacket, ClientError> {
    let mut c = Cursor::new(packet);
    c.u8()?;
    let warnings = c.u16()?;
    Ok(OkPacket { warnings, status: Status(c.u16()?), ..OkPacket::default() })
}

pub(super) fn read_error(packet: &[u8]) -> Result<ErrorReply, ClientError> {
    let mut c = Cursor::new(packet);
    c.u8()?;
    let number = c.u16()?;
    let mut sqlstate = *b"HY000";
    if c.remaining_slice().first() == Some(&b'#') {
        c.u8()?;
        sqlstate.copy_from_slice(c.take(5)?);
    }
    Ok(ErrorReply { number, sqlstate, message: c.take_remaining().to_vec() })
}

pub(super) fn read_row(packet: &[u8], columns: usize) -> Result<Row, ClientError> {
    let mut c = Cursor::new(packet);
    let mut row = Row::with_capacity(columns);
    for _ in 0..columns {
        if c.remaining_slice().first() == Some(&0xfb) {
            c.u8()?;
            row.push(None);
        } else {
            row.push(Some(c.lenenc_bytes()?.to_vec()));
        }
    }
    Ok(row)
}
