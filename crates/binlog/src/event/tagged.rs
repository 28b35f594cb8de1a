//! The tagged GTID event of MySQL 8.3 and later, read: same content as the GTID event, another
//! encoding.
//!
//! It uses MySQL's serialization library: a version (1), the message's size, the last field that a
//! reader must know, then fields, each a number and a value. Integers are of variable length: as
//! many low bits of the first byte are set as bytes follow, the value is above them; signed ones
//! are zigzag-coded. Source: `libs/mysql/serialization/readme.md` of MySQL 8.4, and the class
//! `Gtid_event` in its source documentation.

use stdx::cursor::Cursor;

use super::{CommitInfo, EventError, GtidEvent};
use crate::gtid::{Gtid, Uuid, parse_tag};

const VERSION: u64 = 1;

/// The fields' numbers.
mod field {
    pub(super) const FLAGS: u64 = 0;
    pub(super) const UUID: u64 = 1;
    pub(super) const GNO: u64 = 2;
    pub(super) const TAG: u64 = 3;
    pub(super) const LAST_COMMITTED: u64 = 4;
    pub(super) const SEQUENCE_NUMBER: u64 = 5;
    pub(super) const IMMEDIATE_COMMIT_TIMESTAMP: u64 = 6;
    pub(super) const ORIGINAL_COMMIT_TIMESTAMP: u64 = 7;
    pub(super) const TRANSACTION_LENGTH: u64 = 8;
    pub(super) const IMMEDIATE_SERVER_VERSION: u64 = 9;
    pub(super) const ORIGINAL_SERVER_VERSION: u64 = 10;
    pub(super) const COMMIT_GROUP_TICKET: u64 = 11;
    pub(super) const LAST: u64 = COMMIT_GROUP_TICKET;
}

/// Reads the body.
pub(super) fn decode(body: &[u8]) -> Result<GtidEvent, EventError> {
    let mut c = Cursor::new(body);
    if unsigned(&mut c)? != VERSION {
        return Err(EventError::Unsupported("serialization version"));
    }
    if unsigned(&mut c)? != body.len() as u64 {
        return Err(EventError::Malformed("size of a tagged GTID event"));
    }
    // Field numbers here count from 1; 0 says that every field may be skipped.
    if unsigned(&mut c)? > field::LAST + 1 {
        return Err(EventError::Unsupported("field of a tagged GTID event"));
    }
    let mut commit = CommitInfo {
        immediate_commit_timestamp: 0,
        original_commit_timestamp: None,
        transaction_length: 0,
        immediate_server_version: None,
        original_server_version: None,
        commit_group_ticket: 0,
    };
    let mut gtid = Gtid { uuid: Uuid::default(), gno: 0 };
    let mut event = GtidEvent {
        may_have_statements: false,
        gtid: None,
        tag: String::new(),
        last_committed: 0,
        sequence_number: 0,
        commit: None,
    };
    while !c.is_empty() {
        match unsigned(&mut c)? {
            field::FLAGS => event.may_have_statements = unsigned(&mut c)? & 1 != 0,
            field::UUID => gtid.uuid = uuid(&mut c)?,
            field::GNO => gtid.gno = signed(&mut c)? as u64,
            field::TAG => event.tag = tag(&mut c)?,
            field::LAST_COMMITTED => event.last_committed = signed(&mut c)? as u64,
            field::SEQUENCE_NUMBER => event.sequence_number = signed(&mut c)? as u64,
            field::IMMEDIATE_COMMIT_TIMESTAMP => commit.immediate_commit_timestamp = unsigned(&mut c)?,
            field::ORIGINAL_COMMIT_TIMESTAMP => commit.original_commit_timestamp = Some(unsigned(&mut c)?),
            field::TRANSACTION_LENGTH => commit.transaction_length = unsigned(&mut c)?,
            field::IMMEDIATE_SERVER_VERSION => {
                commit.immediate_server_version = Some(unsigned(&mut c)? as u32)
            }
            field::ORIGINAL_SERVER_VERSION => commit.original_server_version = Some(unsigned(&mut c)? as u32),
            field::COMMIT_GROUP_TICKET => commit.commit_group_ticket = unsigned(&mut c)?,
            // The length of a field that isn't known is not either; all after it are later
            // versions' too.
            _ => drop(c.take_remaining()),
        }
    }
    if !(1..=Gtid::GNO_MAX).contains(&gtid.gno) {
        return Err(EventError::Malformed("transaction number is out of range"));
    }
    event.gtid = Some(gtid);
    event.commit = Some(commit);
    Ok(event)
}

fn uuid(c: &mut Cursor<'_>) -> Result<Uuid, EventError> {
    let mut uuid = Uuid::default();
    for byte in &mut uuid.0 {
        *byte = u8::try_from(unsigned(c)?).map_err(|_| EventError::Malformed("byte of a UUID"))?;
    }
    Ok(uuid)
}

fn tag(c: &mut Cursor<'_>) -> Result<String, EventError> {
    let len = usize::try_from(unsigned(c)?).map_err(|_| EventError::Truncated)?;
    let text = std::str::from_utf8(c.take(len)?).map_err(|_| EventError::Malformed("GTID tag"))?;
    Ok(parse_tag(text, true)?)
}

/// `n` low bits set: `n` more bytes; all 8 set: the value is in the 8 bytes after.
fn unsigned(c: &mut Cursor<'_>) -> Result<u64, EventError> {
    let first = c.u8()?;
    let more = first.trailing_ones() as usize;
    if more == 8 {
        return Ok(c.u64()?);
    }
    let low = u64::from(first) >> (more + 1);
    let high = c.uint(more)?;
    // With 7 more bytes the first holds nothing, and the shift is by 0.
    Ok(low | high << (7 - more))
}

fn signed(c: &mut Cursor<'_>) -> Result<i64, EventError> {
    let v = unsigned(c)?;
    Ok((v >> 1) as i64 ^ -((v & 1) as i64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn integers_of_the_documentation() {
        let unsigned_of = |bytes: &[u8]| unsigned(&mut Cursor::new(bytes)).unwrap();
        let signed_of = |bytes: &[u8]| signed(&mut Cursor::new(bytes)).unwrap();
        assert_eq!(unsigned_of(&[0]), 0);
        assert_eq!(unsigned_of(&[0xfe]), 127);
        assert_eq!(unsigned_of(&[0x01, 0x02]), 128);
        assert_eq!(unsigned_of(&[0xfb, 0xff, 0x07]), 65535);
        assert_eq!(signed_of(&[0xf3, 0xff, 0x0f]), 65535);
        assert_eq!(signed_of(&[0xeb, 0xff, 0x0f]), -65535);
        assert_eq!(signed_of(&[0xfb, 0xff, 0x0f]), -65536);
        assert_eq!(unsigned_of(&[0xff, 1, 0, 0, 0, 0, 0, 0, 0x80]), 1 << 63 | 1);
        assert_eq!(unsigned_of(&[0x7f, 1, 0, 0, 0, 0, 0, 0x80]), 1 << 55 | 1);
    }

    #[test]
    fn an_event_with_a_tag() {
        // version, size, last field; flags 1; uuid of 16 times 2; gno 5; tag "ab"; 4: 1; 5: 2; 6:
        // 3; 8: 4; 9: 80408
        let mut body = vec![2, 0, 0, 0, 2, 2];
        body.extend([4; 16]);
        body.extend([4, 5 << 2, 6, 2 << 1, b'a', b'b', 8, 1 << 2, 10, 2 << 2, 12, 3 << 1, 16, 4 << 1, 18]);
        body.extend([(80408 << 3 | 3) as u8, (80408 >> 5) as u8, (80408 >> 13) as u8]);
        body[1] = (body.len() as u8) << 1;
        let event = decode(&body).unwrap();
        assert_eq!(event.gtid.unwrap(), Gtid { uuid: Uuid([2; 16]), gno: 5 });
        assert_eq!((event.tag.as_str(), event.last_committed, event.sequence_number), ("ab", 1, 2));
        let commit = event.commit.unwrap();
        assert_eq!((commit.immediate_commit_timestamp, commit.transaction_length), (3, 4));
        assert_eq!(commit.immediate_server_version, Some(80408));
    }
}
