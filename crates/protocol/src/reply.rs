//! The short replies: OK, ERR, EOF, and the request for a local file.
//!
//! ```text
//! OK    00 (fe where it replaces EOF), lenenc affected rows, lenenc last insert id, 2 status, 2 warnings,
//!       lenenc info, absent if it is empty and no change follows;
//!       lenenc string of session state changes, if status has SESSION_STATE_CHANGED
//! ERR   ff, 2 number, '#', 5 SQLSTATE, the rest: message. Before the capabilities are agreed: no '#' and SQLSTATE
//! EOF   fe, 2 warnings, 2 status
//! file  fb, the rest: file name
//! ```

use crate::error::ErrorReply;
use crate::flags::{Capabilities, Status};
use crate::packet::{BUFFER, HEADER, SHRINK_ABOVE};
use stdx::cursor::{put_lenenc, put_lenenc_bytes};

/// Longer messages are cut, as MySQL's own are.
const MESSAGE_MAX: usize = 511;

/// A statement's success, or the end of a result set.
#[derive(Debug, Clone, Copy, Default)]
pub struct OkReply<'a> {
    /// Rows changed, or found with FOUND_ROWS.
    pub affected_rows: u64,
    /// The first generated AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The session's state; [`Status::SESSION_STATE_CHANGED`] is put by the writer.
    pub status: Status,
    /// `@@warning_count`.
    pub warnings: u16,
    /// Text for humans, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// What changed in the session, sent to clients that track it.
    pub changes: &'a [SessionChange<'a>],
}

/// One change of a session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A variable listed in `session_track_system_variables` was set.
    SystemVariable {
        /// Without `@@`.
        name: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// The default database is now this one.
    Schema(&'a [u8]),
    /// `session_track_state_change`: something changed (true), so the session can't be moved
    /// elsewhere unseen.
    State(bool),
    /// The GTIDs of the transaction that was committed.
    Gtids(&'a [u8]),
    /// The statements that would open the same transaction elsewhere.
    TransactionCharacteristics(&'a [u8]),
    /// What the open transaction did so far, in eight letters.
    TransactionState(&'a [u8]),
}

impl SessionChange<'_> {
    fn put(&self, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
        scratch.clear();
        let kind = match *self {
            Self::SystemVariable { name, value } => {
                put_lenenc_bytes(scratch, name);
                put_lenenc_bytes(scratch, value);
                0
            }
            Self::Schema(name) => {
                put_lenenc_bytes(scratch, name);
                1
            }
            Self::State(changed) => {
                put_lenenc_bytes(scratch, if changed { b"1" } else { b"0" });
                2
            }
            Self::Gtids(set) => {
                scratch.push(0);
                put_lenenc_bytes(scratch, set);
                3
            }
            Self::TransactionCharacteristics(text) => {
                put_lenenc_bytes(scratch, text);
                4
            }
            Self::TransactionState(text) => {
                put_lenenc_bytes(scratch, text);
                5
            }
        };
        out.push(kind);
        put_lenenc_bytes(out, scratch);
    }
}

/// Appends an OK payload; `header` is 0x00, or 0xfe instead of EOF.
pub(crate) fn put_ok(out: &mut Vec<u8>, header: u8, ok: &OkReply<'_>, capabilities: Capabilities) {
    let tracked = capabilities.has(Capabilities::SESSION_TRACK);
    let changes = if tracked { ok.changes } else { &[] };
    let mut status = ok.status.without(Status::SESSION_STATE_CHANGED);
    if !changes.is_empty() {
        status = status | Status::SESSION_STATE_CHANGED;
    }
    out.push(header);
    put_lenenc(out, ok.affected_rows);
    put_lenenc(out, ok.last_insert_id);
    out.extend_from_slice(&status.0.to_le_bytes());
    out.extend_from_slice(&ok.warnings.to_le_bytes());
    // Servers write the length without SESSION_TRACK too, whatever the manual's table says, and
    // clients count on it.
    if !ok.info.is_empty() || !changes.is_empty() {
        put_lenenc_bytes(out, ok.info);
    }
    if !changes.is_empty() {
        let (mut all, mut scratch) = (Vec::new(), Vec::new());
        for change in changes {
            change.put(&mut all, &mut scratch);
        }
        put_lenenc_bytes(out, &all);
    }
}

/// Appends an ERR payload. `with_sqlstate` is false before the capabilities are agreed.
pub(crate) fn put_error(out: &mut Vec<u8>, error: &ErrorReply, with_sqlstate: bool) {
    out.push(0xff);
    out.extend_from_slice(&error.number.to_le_bytes());
    if with_sqlstate {
        out.push(b'#');
        out.extend_from_slice(&error.sqlstate);
    }
    out.extend_from_slice(&error.message[..error.message.len().min(MESSAGE_MAX)]);
}

/// Appends an EOF payload.
pub(crate) fn put_eof(out: &mut Vec<u8>, warnings: u16, status: Status) {
    out.push(0xfe);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.0.to_le_bytes());
}

/// A reply detached from its connection, to be sent by another thread. Its last packet answers the
/// statement whose outcome is not known yet; before it are results of statements that came earlier
/// in the same command.
#[derive(Debug, Default)]
pub struct DeferredReply {
    /// Packets with their headers.
    pub(crate) bytes: Vec<u8>,
    /// Where the last packet's header begins.
    pub(crate) last_at: usize,
    pub(crate) with_sqlstate: bool,
}

impl DeferredReply {
    /// What is to be sent, as it goes over the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the last packet by an error.
    pub fn replace(&mut self, error: &ErrorReply) {
        // A payload that was split goes with all its packets: an error is never that long, and
        // keeps the first one's number.
        let payload_at = self.last_at + HEADER;
        self.bytes.truncate(payload_at);
        put_error(&mut self.bytes, error, self.with_sqlstate);
        let length = (self.bytes.len() - payload_at) as u32;
        self.bytes[self.last_at..payload_at - 1].copy_from_slice(&length.to_le_bytes()[..HEADER - 1]);
    }

    /// Empties it after it was sent.
    pub fn clear(&mut self) {
        self.bytes.clear();
        // The memory goes back to the connection's buffer, which is as small while it idles.
        if self.bytes.capacity() > SHRINK_ABOVE {
            self.bytes.shrink_to(BUFFER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(reply: &OkReply<'_>, capabilities: Capabilities) -> Vec<u8> {
        let mut out = Vec::new();
        put_ok(&mut out, 0, reply, capabilities);
        out
    }

    #[test]
    fn a_reply_that_has_become_an_error() {
        let (first, second) = (b"\x07\0\0\x01\0\x01\0\x0a\0\0\0", b"\x07\0\0\x02\0\0\0\x02\0\0\0");
        let error = ErrorReply::new(1030, b"HY000", "no");
        let mut reply = DeferredReply { bytes: first.to_vec(), last_at: 0, with_sqlstate: true };
        reply.replace(&error);
        assert_eq!(reply.bytes(), b"\x0b\0\0\x01\xff\x06\x04#HY000no");
        let bytes = [&first[..], second].concat();
        let mut reply = DeferredReply { bytes, last_at: first.len(), with_sqlstate: true };
        reply.replace(&error);
        assert_eq!(reply.bytes(), [&first[..], b"\x0b\0\0\x02\xff\x06\x04#HY000no"].concat());
    }

    #[test]
    fn info_with_and_without_session_tracking() {
        let untracked = Capabilities::SERVER.without(Capabilities::SESSION_TRACK);
        let plain = OkReply { affected_rows: 1, last_insert_id: 300, warnings: 2, ..OkReply::default() };
        assert_eq!(ok(&plain, Capabilities::SERVER), b"\0\x01\xfc\x2c\x01\0\0\x02\0");
        let with_info = OkReply { info: b"hi", ..plain };
        assert_eq!(ok(&with_info, Capabilities::SERVER), b"\0\x01\xfc\x2c\x01\0\0\x02\0\x02hi");
        assert_eq!(ok(&with_info, untracked), b"\0\x01\xfc\x2c\x01\0\0\x02\0\x02hi");
    }

    #[test]
    fn changes_only_where_they_are_tracked() {
        let untracked = Capabilities::SERVER.without(Capabilities::SESSION_TRACK);
        let changes = [
            SessionChange::SystemVariable { name: b"autocommit", value: b"OFF" },
            SessionChange::Schema(b"db"),
            SessionChange::State(true),
        ];
        let reply = OkReply { changes: &changes, ..OkReply::default() };
        assert_eq!(
            ok(&reply, Capabilities::SERVER),
            b"\0\0\0\0\x40\0\0\0\x1a\x00\x0f\x0aautocommit\x03OFF\x01\x03\x02db\x02\x02\x011"
        );
        assert_eq!(ok(&reply, untracked), b"\0\0\0\0\0\0\0");
    }

    #[test]
    fn errors_with_and_without_sqlstate() {
        let error = ErrorReply::too_many_connections();
        let mut out = Vec::new();
        put_error(&mut out, &error, false);
        assert_eq!(out, b"\xff\x10\x04Too many connections");
        out.clear();
        put_error(&mut out, &error, true);
        assert_eq!(out, b"\xff\x10\x04#08004Too many connections");
    }
}
