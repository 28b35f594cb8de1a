//! Which events are others on the stream, and how one is made.

use binlog::event::{CHECKSUM_LEN, ChecksumAlgorithm, EventError, EventHeader, EventType, PayloadEvents};

/// True if a payload's events are those of an XA transaction that commits in one phase. Others are
/// known by their first.
pub(super) fn ends_in_one_phase(events: &mut PayloadEvents<'_>) -> Result<bool, EventError> {
    let opens = |event: &[u8]| event.windows(XA_START.len()).any(|text| text == XA_START);
    if !events.next_event()?.is_some_and(opens) {
        return Ok(false);
    }
    while let Some(event) = events.next_event()? {
        if EventHeader::decode(event)?.event_type == EventType::XA_PREPARE {
            return Ok(event.get(EventHeader::LEN).is_some_and(|&one_phase| one_phase != 0));
        }
    }
    Ok(false)
}

const XA_START: &[u8] = b"XA START ";

/// True for the events that other ones stand for on the stream.
pub(super) fn is_translated(event_type: EventType) -> bool {
    event_type.is_gtid()
        || matches!(
            event_type,
            EventType::PREVIOUS_GTIDS
                | EventType::TRANSACTION_PAYLOAD
                | EventType::QUERY
                | EventType::ROWS_QUERY
        )
}

/// True for the last event of a group that BEGIN or XA START opened.
pub(super) fn ends_group(event_type: EventType) -> bool {
    matches!(event_type, EventType::XID | EventType::XA_PREPARE)
}

/// Appends an event with this body: length, offset and checksum are computed.
pub(super) fn put_event(
    out: &mut Vec<u8>,
    header: &EventHeader,
    end_log_pos: u32,
    checksum: ChecksumAlgorithm,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.resize(start + EventHeader::LEN, 0);
    body(out);
    let summed = checksum == ChecksumAlgorithm::Crc32 || header.event_type == EventType::FORMAT_DESCRIPTION;
    let length = out.len() - start + if summed { CHECKSUM_LEN } else { 0 };
    let header = EventHeader { event_length: length as u32, end_log_pos, ..*header };
    out[start..start + EventHeader::LEN].copy_from_slice(&header.encode());
    if summed {
        let crc = crc32fast::hash(&out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }
}
