//! The transaction payload event: a transaction's events in one zstd frame
//! (`binlog_transaction_compression`).
//!
//! The body is a list of fields: type (length-encoded), length, value. Type 0 ends the list (and
//! has no length), 1 is the payload's size, 2 the compression (0 zstd, 255 none), 3 the size before
//! it; the numbers are length-encoded. The payload is after the list. The events in it have no
//! checksums, and positions that mean nothing.
//!
//! A kilobyte can expand to gigabytes, so the events are read from the stream one by one: memory is
//! one event and the zstd window, whatever the payload holds.

use std::io::{self, Read};

use stdx::cursor::{Cursor, put_lenenc, put_lenenc_bytes};

use super::{
    ChecksumAlgorithm, Decoder, EncodeEvent, Event, EventError, EventHeader, EventType, FormatDescription,
};

/// What is logged instead of a transaction's events if they are compressed. The GTID event stays
/// outside, in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionPayloadEvent<'a> {
    /// How the payload is compressed.
    pub compression: Compression,
    /// Bytes of the events before compression.
    pub uncompressed_size: u64,
    /// The compressed events.
    pub payload: &'a [u8],
}

/// How a payload is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard.
    Zstd,
    /// Not at all.
    None,
}

const FIELD_END: u64 = 0;
const FIELD_PAYLOAD_SIZE: u64 = 1;
const FIELD_COMPRESSION: u64 = 2;
const FIELD_UNCOMPRESSED_SIZE: u64 = 3;
const ZSTD: u64 = 0;
const NONE: u64 = 255;

impl<'a> TransactionPayloadEvent<'a> {
    pub(super) fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let (mut compression, mut uncompressed_size, mut payload_size) = (Compression::None, None, None);
        loop {
            let field = c.lenenc()?;
            if field == FIELD_END {
                break;
            }
            let mut value = Cursor::new(c.lenenc_bytes()?);
            match field {
                FIELD_PAYLOAD_SIZE => payload_size = Some(value.lenenc()?),
                FIELD_UNCOMPRESSED_SIZE => uncompressed_size = Some(value.lenenc()?),
                FIELD_COMPRESSION => {
                    compression = match value.lenenc()? {
                        ZSTD => Compression::Zstd,
                        NONE => Compression::None,
                        _ => return Err(EventError::Unsupported("payload compression")),
                    }
                }
                _ => {} // a later version's, to be skipped
            }
        }
        let payload = c.take_remaining();
        if payload_size.is_some_and(|size| size != payload.len() as u64) {
            return Err(EventError::Malformed("size of a transaction payload"));
        }
        let uncompressed_size = uncompressed_size.unwrap_or(payload.len() as u64);
        Ok(Self { compression, uncompressed_size, payload })
    }

    /// Reads the events. None may be longer than `event_length_max`.
    ///
    /// # Errors
    /// `EventError::Malformed` if the frame does not begin as one.
    pub fn events(&self, event_length_max: usize) -> Result<PayloadEvents<'a>, EventError> {
        let stream: Box<dyn Read + 'a> = match self.compression {
            Compression::None => Box::new(self.payload),
            Compression::Zstd => Box::new(
                ruzstd::decoding::StreamingDecoder::new(self.payload)
                    .map_err(|_| EventError::Malformed("zstd frame"))?,
            ),
        };
        // One byte more than there should be shows that there are more.
        let stream = stream.take(self.uncompressed_size.saturating_add(1));
        Ok(PayloadEvents { stream, left: self.uncompressed_size, event_length_max, event: Vec::new() })
    }

    /// The format description for the events inside: that of the file, without checksums.
    pub fn inner_format(fde: &FormatDescription) -> FormatDescription {
        FormatDescription { checksum: ChecksumAlgorithm::Off, ..fde.clone() }
    }
}

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Directly in the file: the header's position counts.
    File,
    /// In a transaction payload: its position means nothing, and it has no checksum.
    Payload,
}

impl Decoder {
    /// Gives the event that was decoded last to `visit`; if it is a transaction payload, then the
    /// events in it too, each with the decoder that knows its tables. None of these may be longer
    /// than `limit`.
    ///
    /// # Errors
    /// Those of `visit`, of decoding, and of [`PayloadEvents::next_event`]; `EventError::Malformed`
    /// for a payload inside another.
    pub fn walk(
        &self,
        header: &EventHeader,
        event: &Event<'_>,
        limit: usize,
        mut visit: impl FnMut(&Decoder, &EventHeader, &Event<'_>, Depth) -> Result<(), EventError>,
    ) -> Result<(), EventError> {
        visit(self, header, event, Depth::File)?;
        let Event::TransactionPayload(payload) = event else { return Ok(()) };
        let mut decoder = Decoder::new(TransactionPayloadEvent::inner_format(self.format()));
        let mut events = payload.events(limit)?;
        while let Some(bytes) = events.next_event()? {
            let (header, event) = decoder.decode(bytes)?;
            if matches!(event, Event::TransactionPayload(_)) {
                return Err(EventError::Malformed("transaction payload inside another"));
            }
            visit(&decoder, &header, &event, Depth::Payload)?;
        }
        Ok(())
    }
}

impl EncodeEvent for TransactionPayloadEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::TRANSACTION_PAYLOAD
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let compression = match self.compression {
            Compression::Zstd => ZSTD,
            Compression::None => NONE,
        };
        let mut field = |kind: u64, value: u64| {
            let mut bytes = Vec::with_capacity(9);
            put_lenenc(&mut bytes, value);
            put_lenenc(out, kind);
            put_lenenc_bytes(out, &bytes);
        };
        field(FIELD_COMPRESSION, compression);
        if self.compression != Compression::None {
            field(FIELD_UNCOMPRESSED_SIZE, self.uncompressed_size);
        }
        field(FIELD_PAYLOAD_SIZE, self.payload.len() as u64);
        put_lenenc(out, FIELD_END);
        out.extend_from_slice(self.payload);
    }
}

/// The events of a payload, read from its stream.
pub struct PayloadEvents<'a> {
    stream: io::Take<Box<dyn Read + 'a>>,
    left: u64,
    event_length_max: usize,
    event: Vec<u8>,
}

impl PayloadEvents<'_> {
    /// The next event's bytes, to be decoded with [`TransactionPayloadEvent::inner_format`]; `None`
    /// at the end.
    ///
    /// # Errors
    /// `EventError::Malformed` if the frame is broken or has another size than it says,
    /// `EventError::TooLarge` for an event beyond the limit.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>, EventError> {
        let broken = |_| EventError::Malformed("zstd frame");
        self.event.clear();
        if self.left == 0 {
            let more = self.stream.read(&mut [0]).map_err(broken)?;
            return if more == 0 {
                Ok(None)
            } else {
                Err(EventError::Malformed("size of a transaction payload"))
            };
        }
        self.fill(EventHeader::LEN)?;
        let length = EventHeader::decode(&self.event)?.event_length as usize;
        if length > self.event_length_max {
            return Err(EventError::TooLarge(length as u64));
        }
        self.fill(length)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or(EventError::Malformed("size of a transaction payload"))?;
        Ok(Some(&self.event))
    }

    /// Reads until the event has `length` bytes. Memory grows with what comes, not with what the
    /// header promised.
    fn fill(&mut self, length: usize) -> Result<(), EventError> {
        let missing = (length - self.event.len()) as u64;
        let got = self.stream.by_ref().take(missing).read_to_end(&mut self.event);
        match got {
            Ok(n) if n as u64 == missing => Ok(()),
            Ok(_) => Err(EventError::Truncated),
            Err(_) => Err(EventError::Malformed("zstd frame")),
        }
    }
}
