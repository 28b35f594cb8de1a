//! MariaDB's own events: its GTIDs, lists of them, and what stands around row events.
//!
//! They are in no file of this server's; those that replicas of MariaDB need are written for them.
//!
//! Source: MariaDB documentation, "Replication Protocol", the pages on these events.

use stdx::cursor::Cursor;

use super::{EncodeEvent, EventError, EventType};

/// A MariaDB GTID: domain, server, number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MariadbGtid {
    /// Replication domain.
    pub domain_id: u32,
    /// The server that committed first.
    pub server_id: u32,
    /// Number in the domain.
    pub sequence: u64,
}

impl std::fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.domain_id, self.server_id, self.sequence)
    }
}

/// Bits of [`MariadbGtidEvent::flags`].
pub mod gtid_flags {
    /// No transaction: one statement, without an end event.
    pub const STANDALONE: u8 = 1;
    /// A group-commit number follows.
    pub const GROUP_COMMIT_ID: u8 = 2;
    /// All tables are transactional.
    pub const TRANSACTIONAL: u8 = 4;
    /// May be applied in parallel.
    pub const ALLOW_PARALLEL: u8 = 8;
    /// Waited for a row lock.
    pub const WAITED: u8 = 16;
    /// The group is one statement that changes definitions.
    pub const DDL: u8 = 32;
    /// The first phase of an XA transaction; its XID follows.
    pub const PREPARED_XA: u8 = 64;
    /// The second phase of an XA transaction; its XID follows.
    pub const COMPLETED_XA: u8 = 128;
}

/// Bits of [`MariadbGtidEvent::extra_flags`].
pub mod gtid_extra_flags {
    /// An ALTER TABLE begins at the source (`binlog_alter_two_phase`). Whether it succeeds is said
    /// by a later group, which has the statement again.
    pub const START_ALTER: u8 = 2;
    /// It has succeeded.
    pub const COMMIT_ALTER: u8 = 4;
    /// It has failed.
    pub const ROLLBACK_ALTER: u8 = 8;
}

/// MariaDB's GTID event: it opens a group, and stands for the `BEGIN` too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MariadbGtidEvent<'a> {
    /// Whole GTID; the server's number is the header's.
    pub gtid: MariadbGtid,
    /// See [`gtid_flags`].
    pub flags: u8,
    /// The group commit it was part of.
    pub commit_id: Option<u64>,
    /// The XA transaction: format number, global id and branch qualifier.
    pub xid: Option<(u32, &'a [u8], &'a [u8])>,
    /// See [`gtid_extra_flags`].
    pub extra_flags: u8,
}

impl<'a> MariadbGtidEvent<'a> {
    /// Reads the body; the server's id is the header's.
    pub(super) fn decode(body: &'a [u8], server_id: u32) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let sequence = c.u64()?;
        let domain_id = c.u32()?;
        let flags = c.u8()?;
        let mut event = Self {
            gtid: MariadbGtid { domain_id, server_id, sequence },
            flags,
            commit_id: None,
            xid: None,
            extra_flags: 0,
        };
        if flags & gtid_flags::GROUP_COMMIT_ID != 0 {
            event.commit_id = Some(c.u64()?);
        }
        if flags & (gtid_flags::PREPARED_XA | gtid_flags::COMPLETED_XA) != 0 {
            let format_id = c.u32()?;
            let (gtrid, bqual) = (usize::from(c.u8()?), usize::from(c.u8()?));
            event.xid = Some((format_id, c.take(gtrid)?, c.take(bqual)?));
        }
        if !c.is_empty() {
            event.extra_flags = c.u8()?;
        }
        Ok(event)
    }

    /// True if a transaction begins here, which XID or COMMIT ends.
    pub fn begins_transaction(&self) -> bool {
        self.flags & gtid_flags::STANDALONE == 0
    }
}

/// Bytes of the event's fixed part. The six after the flags are zeros, or belong to what the flags
/// announce.
const GTID_BODY_LEN_MIN: usize = 19;

impl EncodeEvent for MariadbGtidEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::MARIADB_GTID
    }

    /// What is present decides about the flags that say so.
    fn encode_body(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut flags = self.flags & !gtid_flags::GROUP_COMMIT_ID;
        if self.commit_id.is_some() {
            flags |= gtid_flags::GROUP_COMMIT_ID;
        }
        out.extend_from_slice(&self.gtid.sequence.to_le_bytes());
        out.extend_from_slice(&self.gtid.domain_id.to_le_bytes());
        out.push(flags);
        if let Some(id) = self.commit_id {
            out.extend_from_slice(&id.to_le_bytes());
        }
        if let Some((format_id, gtrid, bqual)) = self.xid {
            out.extend_from_slice(&format_id.to_le_bytes());
            out.extend_from_slice(&[gtrid.len() as u8, bqual.len() as u8]);
            out.extend_from_slice(gtrid);
            out.extend_from_slice(bqual);
        }
        if self.extra_flags != 0 {
            out.push(self.extra_flags);
        }
        out.resize(out.len().max(start + GTID_BODY_LEN_MIN), 0);
    }
}

/// MariaDB's GTID list, at the start of each file: the last GTID of each domain and server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MariadbGtidListEvent {
    /// Four bits of flags.
    pub flags: u8,
    /// At most one for each pair of domain and server, in the order of the file.
    pub gtids: Vec<MariadbGtid>,
}

/// The list's first word is a count of so many bits, and flags.
const COUNT_BITS: u32 = 28;

impl MariadbGtidListEvent {
    /// A flag: the stream ends here, for the reader wanted no more (`START SLAVE UNTIL`).
    pub const UNTIL_REACHED: u8 = 1;

    pub(super) fn decode(body: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let head = c.u32()?;
        let count = head & ((1 << COUNT_BITS) - 1);
        let mut gtids = Vec::new();
        for _ in 0..count {
            gtids.push(MariadbGtid { domain_id: c.u32()?, server_id: c.u32()?, sequence: c.u64()? });
        }
        Ok(Self { flags: (head >> COUNT_BITS) as u8, gtids })
    }
}

impl EncodeEvent for MariadbGtidListEvent {
    fn event_type(&self) -> EventType {
        EventType::MARIADB_GTID_LIST
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let head = self.gtids.len() as u32 | u32::from(self.flags) << COUNT_BITS;
        out.extend_from_slice(&head.to_le_bytes());
        for gtid in &self.gtids {
            out.extend_from_slice(&gtid.domain_id.to_le_bytes());
            out.extend_from_slice(&gtid.server_id.to_le_bytes());
            out.extend_from_slice(&gtid.sequence.to_le_bytes());
        }
    }
}

/// The statement that the row events after it come from, as MariaDB has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MariadbAnnotateRowsEvent<'a> {
    /// The statement's text.
    pub sql: &'a [u8],
}

impl EncodeEvent for MariadbAnnotateRowsEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::MARIADB_ANNOTATE_ROWS
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.sql);
    }
}

/// MariaDB's encryption marker: the events after it are encrypted, and are not read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartEncryptionEvent {
    /// The scheme, 1.
    pub(crate) scheme: u8,
    /// Which generation of the key encrypts the file; the key itself is not in it.
    pub(crate) key_version: u32,
    /// What each event's place is mixed with.
    pub(crate) nonce: [u8; 12],
}

impl StartEncryptionEvent {
    pub(super) fn decode(body: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let (scheme, key_version) = (c.u8()?, c.u32()?);
        let mut nonce = [0; 12];
        nonce.copy_from_slice(c.take(12)?);
        Ok(Self { scheme, key_version, nonce })
    }
}

/// The file name of MariaDB's binlog checkpoint event: older files are not needed for recovery.
pub(super) fn checkpoint_file(body: &[u8]) -> Result<&[u8], EventError> {
    let mut c = Cursor::new(body);
    let n = c.u32()? as usize;
    Ok(c.take(n)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn body(event: &impl EncodeEvent) -> Vec<u8> {
        let mut out = Vec::new();
        event.encode_body(&mut out);
        out
    }

    #[test]
    fn what_is_written_is_read() {
        let gtid = MariadbGtid { domain_id: 3, server_id: 7, sequence: 1 << 40 };
        let standalone = gtid_flags::STANDALONE | gtid_flags::DDL;
        let grouped = gtid_flags::GROUP_COMMIT_ID | gtid_flags::TRANSACTIONAL;
        let xid = Some((1, &b"global"[..], &b"branch"[..]));
        for (flags, commit_id, xid) in [
            (standalone, None, None),
            (grouped, Some(12), None),
            (gtid_flags::PREPARED_XA, None, xid),
            (gtid_flags::COMPLETED_XA | grouped, Some(12), xid),
        ] {
            let event = MariadbGtidEvent { gtid, flags, commit_id, xid, extra_flags: 0 };
            let body = body(&event);
            assert!(body.len() >= GTID_BODY_LEN_MIN);
            assert_eq!(MariadbGtidEvent::decode(&body, 7).unwrap(), event);
        }
        let list =
            MariadbGtidListEvent { flags: MariadbGtidListEvent::UNTIL_REACHED, gtids: vec![gtid, gtid] };
        assert_eq!(MariadbGtidListEvent::decode(&body(&list)).unwrap(), list);
    }
}
