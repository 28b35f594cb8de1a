//! The first event of each file: who wrote it and how its events look.

use stdx::cursor::Cursor;

use super::{CHECKSUM_LEN, EncodeEvent, EventError, EventType};

/// How a file's events are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumAlgorithm {
    /// No checksum after events.
    Off,
    /// Four bytes of CRC-32 (IEEE, as zlib's) after each event.
    Crc32,
}

/// The format description event.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 2 | binary log version, 4 |
/// | 2 | 50 | server version, NUL-padded |
/// | 52 | 4 | create timestamp |
/// | 56 | 1 | length of the common header, 19 |
/// | 57 | n | post-header length of each event type from 1 on |
/// | 57+n | 1 | checksum algorithm: 0 off, 1 CRC-32 (absent before MySQL 5.6.1) |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatDescription {
    /// The writer's version, as `SELECT VERSION()` says.
    pub server_version: String,
    /// Seconds since 1970 when the server started; 0 in files made by a rotation.
    pub create_timestamp: u32,
    /// Bytes of each type's fixed part; index 0 is type 1.
    pub post_header_lengths: Vec<u8>,
    /// What is after each event of the file.
    pub checksum: ChecksumAlgorithm,
}

/// The lengths that MySQL writes since 8.3 (types 1 to 42); format description's own is 57 + 42.
const POST_HEADER_LENGTHS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10, 10, 10, 42,
    42, 0, 18, 52, 0, 10, 40, 0, 0,
];

/// The lengths of MariaDB's types, 160 to 171, as 10.11 writes them.
const MARIADB_POST_HEADER_LENGTHS: [u8; 12] = [0, 4, 19, 4, 0, 13, 8, 8, 8, 10, 10, 10];

const SERVER_VERSION_LEN: usize = 50;

// By the type's number, from 1 on: its own, which is 57 and what follows, and those of GTID and
// anonymous GTID events.
const _: () =
    assert!(POST_HEADER_LENGTHS[14] as usize == 2 + SERVER_VERSION_LEN + 4 + 1 + POST_HEADER_LENGTHS.len());
const _: () = assert!(POST_HEADER_LENGTHS[32] as usize == 1 + 16 + 8 + 1 + 8 + 8);
const _: () = assert!(POST_HEADER_LENGTHS[33] == POST_HEADER_LENGTHS[32]);

impl FormatDescription {
    /// What this server writes: CRC-32, the types of MySQL 8.4. Versions longer than 49 bytes are
    /// cut.
    pub fn new(server_version: &str, create_timestamp: u32) -> Self {
        let mut end = server_version.len().min(SERVER_VERSION_LEN - 1);
        while !server_version.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            server_version: server_version[..end].to_owned(),
            create_timestamp,
            post_header_lengths: POST_HEADER_LENGTHS.to_vec(),
            checksum: ChecksumAlgorithm::Crc32,
        }
    }

    /// The same for replicas of MariaDB, which needs the lengths of its own types too (up to 171).
    #[must_use]
    pub fn with_mariadb_types(mut self) -> Self {
        let first = usize::from(EventType::MARIADB_ANNOTATE_ROWS.0) - 1;
        self.post_header_lengths.resize(first, 0);
        self.post_header_lengths.extend_from_slice(&MARIADB_POST_HEADER_LENGTHS);
        self
    }

    /// The length of a type's fixed part; `None` if the writer did not know the type.
    pub(crate) fn post_header_length(&self, event_type: EventType) -> Option<usize> {
        let index = usize::from(event_type.0).checked_sub(1)?;
        self.post_header_lengths.get(index).map(|&n| usize::from(n))
    }

    /// Bytes after each event's body.
    pub fn checksum_len(&self) -> usize {
        match self.checksum {
            ChecksumAlgorithm::Off => 0,
            ChecksumAlgorithm::Crc32 => CHECKSUM_LEN,
        }
    }

    /// True when a MariaDB server wrote the file.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.contains("MariaDB")
    }

    /// Reads what stands after the common header, the checksum (which this event has in any case)
    /// included.
    pub(super) fn decode(body: &[u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        if c.u16()? != 4 {
            return Err(EventError::Malformed("binary log version is not 4"));
        }
        let name = c.take(SERVER_VERSION_LEN)?;
        let name = &name[..name.iter().position(|&b| b == 0).unwrap_or(name.len())];
        let server_version = String::from_utf8_lossy(name).into_owned();
        let create_timestamp = c.u32()?;
        if c.u8()? != super::EventHeader::LEN as u8 {
            return Err(EventError::Malformed("common header is not 19 bytes long"));
        }
        let remaining = c.take_remaining();
        let (lengths, checksum) = if knows_checksums(&server_version) {
            let (lengths, tail) = remaining
                .split_at_checked(remaining.len().saturating_sub(1 + CHECKSUM_LEN))
                .unwrap_or((remaining, &[]));
            match tail.first() {
                Some(0) => (lengths, ChecksumAlgorithm::Off),
                Some(1) => (lengths, ChecksumAlgorithm::Crc32),
                _ => return Err(EventError::Malformed("unknown checksum algorithm")),
            }
        } else {
            (remaining, ChecksumAlgorithm::Off)
        };
        if lengths.len() > 255 {
            return Err(EventError::Malformed("too many event types"));
        }
        Ok(Self { server_version, create_timestamp, post_header_lengths: lengths.to_vec(), checksum })
    }
}

impl EncodeEvent for FormatDescription {
    fn event_type(&self) -> EventType {
        EventType::FORMAT_DESCRIPTION
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let mut version = [0; SERVER_VERSION_LEN];
        let n = self.server_version.len().min(SERVER_VERSION_LEN);
        version[..n].copy_from_slice(&self.server_version.as_bytes()[..n]);
        out.extend_from_slice(&4_u16.to_le_bytes());
        out.extend_from_slice(&version);
        out.extend_from_slice(&self.create_timestamp.to_le_bytes());
        out.push(super::EventHeader::LEN as u8);
        out.extend_from_slice(&self.post_header_lengths);
        out.push(match self.checksum {
            ChecksumAlgorithm::Off => 0,
            ChecksumAlgorithm::Crc32 => 1,
        });
    }
}

/// MySQL writes the algorithm since 5.6.1, MariaDB since 5.3.
fn knows_checksums(version: &str) -> bool {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|s| s.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    let number = (part(), part(), part());
    number >= if version.contains("MariaDB") { (5, 3, 0) } else { (5, 6, 1) }
}
