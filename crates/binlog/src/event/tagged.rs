//! The tagged GTID event of MySQL 8.3 and later: same content as the GTID event, another encoding.
//!
//! It uses MySQL's serialization library: a version (1), the message's size, the last field that a
//! reader must know, then fields, each a number and a value. Integers are of variable length: as
//! many low bits of the first byte are set as bytes follow, the value is above them; signed ones
//! are zigzag-coded. Source: `libs/mysql/serialization/readme.md` of MySQL 8.4, and the class
//! `Gtid_event` in its source documentation.

use stdx::cursor::Cursor;

use super::{CommitInfo, EventError, GtidEvent};
use crate::gtid::{Gtid, Tag, Uuid};

const VERSION: u64 = 1;

/// No body is longer: version, size, last field and flags; 2 bytes for each of the UUID, the
/// longest tag, 9 for each of 7 integers of 64 bits, 5 for each of two versions, and the fields'
/// numbers.
pub(super) const BODY_LEN_MAX: usize = 5 + 2 * 16 + (1 + Tag::LEN_MAX) + 9 * 7 + 5 * 2 + 12;

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
    let mut gtid = Gtid::new(Uuid::default(), 0);
    let mut event = GtidEvent {
        may_have_statements: false,
        gtid: None,
        last_committed: 0,
        sequence_number: 0,
        commit: None,
    };
    while !c.is_empty() {
        match unsigned(&mut c)? {
            field::FLAGS => event.may_have_statements = unsigned(&mut c)? & 1 != 0,
            field::UUID => gtid.source.uuid = uuid(&mut c)?,
            field::GNO => gtid.gno = signed(&mut c)? as u64,
            field::TAG => gtid.source.tag = tag(&mut c)?,
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

fn tag(c: &mut Cursor<'_>) -> Result<Tag, EventError> {
    const MALFORMED: EventError = EventError::Malformed("GTID tag");
    let len = usize::try_from(unsigned(c)?).map_err(|_| EventError::Truncated)?;
    let text = std::str::from_utf8(c.take(len)?).map_err(|_| MALFORMED)?;
    text.parse().map_err(|_| MALFORMED)
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

/// Appends the body of an event that has a GTID. Like MySQL, original timestamp and version are
/// left out where they are the immediate ones.
pub(super) fn encode(event: &GtidEvent, gtid: &Gtid, out: &mut Vec<u8>) {
    let start = out.len();
    put_unsigned(VERSION, out);
    // The size of all, which fits one byte or two; it counts them too.
    let size_at = out.len();
    // Which field a reader must know at least: none.
    put_unsigned(0, out);
    let mut put = |number: u64, value: &dyn Fn(&mut Vec<u8>)| {
        put_unsigned(number, out);
        value(out);
    };
    put(field::FLAGS, &|out| put_unsigned(event.may_have_statements.into(), out));
    put(field::UUID, &|out| gtid.source.uuid.0.iter().for_each(|&byte| put_unsigned(byte.into(), out)));
    put(field::GNO, &|out| put_signed(gtid.gno as i64, out));
    put(field::TAG, &|out| {
        let tag = gtid.source.tag.as_str();
        put_unsigned(tag.len() as u64, out);
        out.extend_from_slice(tag.as_bytes());
    });
    put(field::LAST_COMMITTED, &|out| put_signed(event.last_committed as i64, out));
    put(field::SEQUENCE_NUMBER, &|out| put_signed(event.sequence_number as i64, out));
    if let Some(commit) = &event.commit {
        put(field::IMMEDIATE_COMMIT_TIMESTAMP, &|out| put_unsigned(commit.immediate_commit_timestamp, out));
        if let Some(original) = commit.original_commit_timestamp {
            put(field::ORIGINAL_COMMIT_TIMESTAMP, &|out| put_unsigned(original, out));
        }
        put(field::TRANSACTION_LENGTH, &|out| put_unsigned(commit.transaction_length, out));
        if let Some(immediate) = commit.immediate_server_version {
            put(field::IMMEDIATE_SERVER_VERSION, &|out| put_unsigned(immediate.into(), out));
        }
        if let Some(original) = commit.original_server_version {
            put(field::ORIGINAL_SERVER_VERSION, &|out| put_unsigned(original.into(), out));
        }
        if commit.commit_group_ticket != 0 {
            put(field::COMMIT_GROUP_TICKET, &|out| put_unsigned(commit.commit_group_ticket, out));
        }
    }
    let without_size = out.len() - start;
    let size = if without_size + 1 < 1 << 7 { without_size + 1 } else { without_size + 2 };
    let mut encoded = Vec::with_capacity(2);
    put_unsigned(size as u64, &mut encoded);
    out.splice(size_at..size_at, encoded);
    debug_assert!(out.len() - start == size && size <= BODY_LEN_MAX);
}

fn put_unsigned(v: u64, out: &mut Vec<u8>) {
    // Each byte holds 7 bits, but for 8 more after the first, which hold all 64.
    let more = (64 - v.leading_zeros() as usize).saturating_sub(1) / 7;
    if more >= 8 {
        out.push(0xff);
        out.extend_from_slice(&v.to_le_bytes());
        return;
    }
    let ones = (1_u64 << more) - 1;
    // The lowest bits share the first byte with the ones and the zero that ends them.
    let low_bits = 7 - more;
    out.push((((v & ((1 << low_bits) - 1)) << (more + 1)) | ones) as u8);
    out.extend_from_slice(&(v >> low_bits).to_le_bytes()[..more]);
}

fn put_signed(v: i64, out: &mut Vec<u8>) {
    put_unsigned((v << 1 ^ v >> 63) as u64, out);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gtid::Source;

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
        let source = Source { uuid: Uuid([2; 16]), tag: "ab".parse().unwrap() };
        assert_eq!(event.gtid.unwrap(), Gtid::new(source, 5));
        assert_eq!((event.last_committed, event.sequence_number), (1, 2));
        let commit = event.commit.unwrap();
        assert_eq!((commit.immediate_commit_timestamp, commit.transaction_length), (3, 4));
        assert_eq!(commit.immediate_server_version, Some(80408));
        let mut again = Vec::new();
        encode(&event, &event.gtid.unwrap(), &mut again);
        assert_eq!(again, body);
    }

    #[test]
    fn integers_of_each_length_are_read_as_they_were_written() {
        let near = |bit: u32| [(1_u64 << bit) - 1, 1 << bit, 1 << bit | 1];
        for v in (0..64).flat_map(near).chain([u64::MAX]) {
            let mut out = Vec::new();
            put_unsigned(v, &mut out);
            let bits = (64 - v.leading_zeros() as usize).max(1);
            assert_eq!(out.len(), bits.div_ceil(7).min(9), "{v:#x}");
            assert_eq!(unsigned(&mut Cursor::new(&out)).unwrap(), v);
            for v in [v as i64, (v as i64).wrapping_neg()] {
                out.clear();
                put_signed(v, &mut out);
                assert_eq!(signed(&mut Cursor::new(&out)).unwrap(), v);
            }
        }
    }

    #[test]
    fn the_largest_event_has_the_largest_length() {
        let all = u64::MAX;
        let source = Source { uuid: Uuid([0xff; 16]), tag: "t".repeat(Tag::LEN_MAX).parse().unwrap() };
        let gtid = Gtid::new(source, Gtid::GNO_MAX);
        let commit = CommitInfo {
            immediate_commit_timestamp: all,
            original_commit_timestamp: Some(all),
            transaction_length: all,
            immediate_server_version: Some(u32::MAX),
            original_server_version: Some(u32::MAX),
            commit_group_ticket: all,
        };
        let event = GtidEvent {
            may_have_statements: true,
            gtid: Some(gtid),
            last_committed: i64::MAX as u64,
            sequence_number: i64::MAX as u64,
            commit: Some(commit),
        };
        let mut body = Vec::new();
        encode(&event, &gtid, &mut body);
        assert_eq!(body.len(), BODY_LEN_MAX);
        assert_eq!(decode(&body).unwrap(), event);
    }
}
