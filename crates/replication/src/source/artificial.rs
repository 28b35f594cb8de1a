//! Events that are in no file, or not as they are sent: artificial Rotates, heartbeats, format
//! descriptions.
//!
//! Their form follows MySQL: artificial events have `end_log_pos` 0, so that a replica's own
//! position does not move, and a format description that is sent in the middle of a file also says
//! that no server started there.

use binlog::event::{ChecksumAlgorithm, EncodeEvent, EventHeader, HeartbeatEvent, RotateEvent, flags};

/// Header, binary log version and server version stand before the create timestamp.
const CREATE_TIMESTAMP: usize = EventHeader::LEN + 2 + 50;
const CHECKSUM_LEN: usize = 4;

/// Makes the events that are in no file.
pub(super) struct ArtificialEvents {
    /// In their headers.
    pub(super) server_id: u32,
    /// The next one has a checksum: the reader's wish at first, then as the file's format
    /// description says.
    pub(super) checksum: bool,
    /// Heartbeats have positions of 64 bits.
    pub(super) heartbeat_v2: bool,
}

impl ArtificialEvents {
    /// The artificial Rotate: where the events after it are from.
    pub(super) fn rotate(&self, file_name: &str, position: u64) -> Vec<u8> {
        self.event(&RotateEvent { position, file_name: file_name.as_bytes() }, 0)
    }

    /// A heartbeat, with the position that the stream has reached.
    pub(super) fn heartbeat(&self, file_name: &str, position: u64) -> Vec<u8> {
        let event = HeartbeatEvent { file_name: file_name.as_bytes(), position, v2: self.heartbeat_v2 };
        self.event(&event, position as u32)
    }

    /// A file's format description as readers get it. After it the file's own setting of checksums
    /// rules.
    pub(super) fn format_description(
        &mut self,
        bytes: &[u8],
        checksum: ChecksumAlgorithm,
        start_point: StartPoint,
    ) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        // The flag of an open file. The checksum is computed without it.
        bytes[EventHeader::FLAGS_OFFSET] &= !(flags::BINLOG_IN_USE as u8);
        if start_point == StartPoint::MidFile {
            bytes[EventHeader::END_LOG_POS_OFFSET..][..4].fill(0);
        }
        if start_point != StartPoint::FileStart {
            if let Some(created) = bytes.get_mut(CREATE_TIMESTAMP..CREATE_TIMESTAMP + 4) {
                created.fill(0);
            }
            let body = bytes.len().saturating_sub(CHECKSUM_LEN);
            let crc = crc32fast::hash(&bytes[..body]);
            bytes[body..].copy_from_slice(&crc.to_le_bytes());
        }
        self.checksum = checksum == ChecksumAlgorithm::Crc32;
        bytes
    }

    fn event(&self, event: &impl EncodeEvent, end_log_pos: u32) -> Vec<u8> {
        let mut bytes = vec![0; EventHeader::LEN];
        event.encode_body(&mut bytes);
        let length = bytes.len() + if self.checksum { CHECKSUM_LEN } else { 0 };
        let header = EventHeader {
            timestamp: 0,
            event_type: event.event_type(),
            server_id: self.server_id,
            event_length: u32::try_from(length).expect("a file name is short"),
            end_log_pos,
            flags: flags::ARTIFICIAL | event.header_flags(),
        };
        bytes[..EventHeader::LEN].copy_from_slice(&header.encode());
        if self.checksum {
            let crc = crc32fast::hash(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
        }
        bytes
    }
}

/// What of a file the reader gets after its format description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartPoint {
    /// All of it.
    FileStart,
    /// What it does not have: an earlier stream ended in this file.
    Resumed,
    /// What is after some position.
    MidFile,
}
