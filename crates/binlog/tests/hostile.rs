//! No input panics, hangs or takes memory out of proportion: random bytes, and recorded events with
//! bytes changed, cut and repeated, decoded and printed to the last value.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::LazyLock;

use binlog::event::{ChecksumAlgorithm, Decoder, EventHeader, FormatDescription, TransactionPayloadEvent};
use binlog::gtid::GtidSet;
use binlog::json_lines::JsonPrinter;
use binlog::row::{ColumnType, RowImage, json};
use binlog::text::TextPrinter;
use proptest::prelude::*;
use proptest::test_runner::Config;

/// What compressed content may grow to here.
const LIMIT: usize = 1 << 20;

/// Each recorded event without its checksum, so that damage reaches the decoders, and what was
/// known before it.
static EVENTS: LazyLock<Vec<(Decoder, Vec<u8>)>> = LazyLock::new(|| {
    let mut events = Vec::new();
    for golden in support::all() {
        let mut decoder = Decoder::new(TransactionPayloadEvent::inner_format(golden.decoder().format()));
        for (_, bytes) in golden.raw_events().into_iter().skip(1) {
            let mut bytes = bytes[..bytes.len() - 4].to_vec();
            set_length(&mut bytes);
            let before = decoder.clone();
            decoder.decode(&bytes).unwrap();
            if bytes.len() < 4096 {
                events.push((before, bytes));
            }
        }
    }
    events
});

fn set_length(event: &mut [u8]) {
    let length = event.len() as u32;
    if let Some(field) = event.get_mut(EventHeader::LENGTH_OFFSET..EventHeader::LENGTH_OFFSET + 4) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}

/// Decodes and prints, whatever comes of it. The text may be larger than the event, by the widest
/// column comment, or by what the JSON form of a column with its name takes.
fn consume(decoder: &Decoder, event: &[u8]) {
    let mut out = Vec::new();
    let result = TextPrinter::new(decoder.clone(), LIMIT).print(4, event, &mut out);
    assert!(out.len() < 256 * (event.len() + LIMIT), "{result:?}: {} bytes of text", out.len());
    out.clear();
    let as_json = JsonPrinter::new(decoder.clone(), LIMIT).print("f", 4, event, &mut out, &mut |_| {});
    assert!(out.len() < 256 * (event.len() + LIMIT), "{as_json:?}: {} bytes of JSON", out.len());
    // What is sound in one form is in the other, and JSON ends as a line.
    assert_eq!(result.is_ok(), as_json.is_ok(), "{result:?} {as_json:?}");
    assert!(as_json.is_err() || out.ends_with(b"}\n") && std::str::from_utf8(&out).is_ok());
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    fn changed_events(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
        kind in prop::option::weighted(0.1, any::<u8>()),
    ) {
        let (decoder, event) = which.get(&EVENTS);
        let mut event = event.clone();
        for (at, byte) in changes {
            // The header stays, so that what follows is looked at.
            let at = EventHeader::LEN + at.index(event.len() - EventHeader::LEN + 1);
            if let Some(b) = event.get_mut(at) {
                *b = byte;
            }
        }
        if let Some(kind) = kind {
            event[4] = kind;
        }
        if let Some(cut) = cut {
            event.truncate(EventHeader::LEN + cut.index(event.len() - EventHeader::LEN + 1));
        }
        set_length(&mut event);
        consume(decoder, &event);
    }

    #[test]
    fn random_bodies(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut event = vec![0; EventHeader::LEN];
        event[4] = kind;
        event.extend(body);
        set_length(&mut event);
        let format = FormatDescription { checksum: ChecksumAlgorithm::Off, ..FormatDescription::new("8.4.8", 0) };
        consume(&Decoder::new(format), &event);
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let decoder = Decoder::new(FormatDescription::new("8.4.8", 0));
        consume(&decoder, &bytes);
        let _ = GtidSet::decode(&bytes);
        let _ = String::from_utf8_lossy(&bytes).parse::<GtidSet>();
        let _ = json::write_text(&bytes, &mut Vec::new());
        json::diffs(&bytes).for_each(drop);
    }

    #[test]
    fn random_rows(
        types in prop::collection::vec((any::<u8>(), any::<u16>(), any::<bool>()), 0..6),
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let types: Vec<_> = types
            .into_iter()
            .map(|(code, meta, unsigned)| ColumnType { unsigned, ..ColumnType::new(code, meta) })
            .filter(|ty| ty.validate().is_ok())
            .collect();
        if let Ok((image, _)) = RowImage::split(&types, None, &bytes) {
            for field in image.fields() {
                let value = field.value().unwrap();
                let mut again = Vec::new();
                value.write_text(&mut again);
                again.clear();
                // What was decoded can be encoded, unless the bytes were none that a server writes.
                if value.encode(field.ty, &mut again).is_ok() {
                    prop_assert_eq!(again.len(), field.raw.map_or(0, <[u8]>::len));
                }
            }
        }
    }
}

/// A payload of a few hundred bytes that would be gigabytes is refused by its size, or read event
/// by event.
#[test]
fn a_payload_that_lies_about_its_size_ends() {
    let zstd = support::mysql().into_iter().find(|g| g.name == "mysql97-zstd").unwrap();
    let mut seen = 0;
    zstd.walk(|_, _, _, event| {
        let binlog::event::Event::TransactionPayload(payload) = event else { return };
        for size in [0, 1, payload.uncompressed_size - 1, payload.uncompressed_size + 1, u64::MAX] {
            let lying = TransactionPayloadEvent { uncompressed_size: size, ..payload.clone() };
            let mut events = lying.events(LIMIT).unwrap();
            let end = loop {
                match events.next_event() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(e) => break Err(e),
                }
            };
            assert!(end.is_err(), "size {size}");
        }
        seen += 1;
    });
    assert!(seen > 20);
}
