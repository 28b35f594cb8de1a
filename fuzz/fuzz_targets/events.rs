//! Events of a binary log: decoded and printed to the last value, in the order in which they come,
//! so that rows meet the table maps before them.
//!
//! Each event in the input is its type, its flags (one byte), the length of its body (two bytes,
//! little-endian) and its body. Headers are made to fit, for a wrong length or checksum would end
//! everything before the decoders are reached.
#![no_main]

use binlog::event::{Decoder, EventHeader, EventType, FormatDescription, TransactionPayloadEvent};
use binlog::json_lines::JsonPrinter;
use binlog::text::TextPrinter;
use libfuzzer_sys::fuzz_target;

/// What compressed content may grow to.
const LIMIT: usize = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let format = TransactionPayloadEvent::inner_format(&FormatDescription::new("8.4.8", 0));
    let mut printer = TextPrinter::new(Decoder::new(format.clone()), LIMIT);
    let mut json = JsonPrinter::new(Decoder::new(format), LIMIT);
    let mut rest = input;
    while let [kind, flags, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (body, next) = behind.split_at(length);
        rest = next;
        let header = EventHeader {
            timestamp: 0,
            event_type: EventType(*kind),
            server_id: 1,
            event_length: (EventHeader::LEN + length) as u32,
            end_log_pos: 0,
            flags: u16::from(*flags),
        };
        let event = [&header.encode()[..], body].concat();
        let mut out = Vec::new();
        // Most are malformed; what counts is that nothing panics or grows without bound.
        let _ = printer.print(4, &event, &mut out);
        assert!(out.len() < 256 * (event.len() + LIMIT), "{} bytes of text", out.len());
        out.clear();
        let _ = json.print("file", 4, &event, &mut out, &mut |_| {});
        assert!(out.len() < 256 * (event.len() + LIMIT), "{} bytes of JSON", out.len());
    }
});
