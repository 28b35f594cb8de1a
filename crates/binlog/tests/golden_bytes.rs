//! What MySQL wrote, decoded and encoded again, is byte-equal: whole events, and each row's image
//! from its values.
#![allow(clippy::unwrap_used)]

mod support;

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, Event, EventHeader, EventType, FormatDescription, MetadataField,
    OptionalMetadata, RowsEvent, StopEvent, TableDetails, TableMapEvent, append_event, flags2,
};
use binlog::row::{RowImage, RowImageBuilder, Value};

fn encoded(
    event: &impl EncodeEvent,
    header: &EventHeader,
    format: &FormatDescription,
    start: u64,
) -> Vec<u8> {
    let mut out = Vec::new();
    append_event(&mut out, event, header.origin(), start, format.checksum);
    out
}

#[test]
fn mysqls_events_are_encoded_to_the_same_bytes() {
    for golden in support::mysql().into_iter().chain([support::tagged()]) {
        golden.walk(|decoder, bytes, header, event| {
            let inside_payload = decoder.format().checksum == ChecksumAlgorithm::Off;
            let start = if inside_payload { 0 } else { u64::from(header.end_log_pos) - bytes.len() as u64 };
            let encode = |event: &dyn Fn() -> Vec<u8>| event();
            let format = decoder.format();
            let mut again = encode(&|| match event {
                Event::FormatDescription(e) => encoded(e, header, format, start),
                Event::PreviousGtids(e) => encoded(e, header, format, start),
                Event::Gtid(e) => encoded(e, header, format, start),
                Event::Query(e) => encoded(e, header, format, start),
                Event::TableMap(e) => encoded(e, header, format, start),
                Event::Rows(e) => encoded(e, header, format, start),
                Event::Xid(e) => encoded(e, header, format, start),
                Event::Rotate(e) => encoded(e, header, format, start),
                Event::Stop => encoded(&StopEvent, header, format, start),
                Event::RowsQuery(e) => encoded(e, header, format, start),
                Event::XaPrepare(e) => encoded(e, header, format, start),
                Event::TransactionPayload(e) => encoded(e, header, format, start),
                other => panic!("{}: {other:?}", golden.name),
            });
            if inside_payload {
                again[13..17].copy_from_slice(&bytes[13..17]);
            }
            assert_eq!(again, bytes, "{}: {event:?}", golden.name);
        });
    }
}

/// `explicit_defaults_for_timestamp` was ON at both servers, as it is by default since 10.10.
#[test]
fn mariadbs_statements_say_that_timestamps_have_no_defaults_of_their_own() {
    let mut statements = 0;
    for golden in support::mariadb() {
        golden.walk(|_, _, _, event| {
            if let Event::Query(query) = event
                && let Some(flags) = query.status.flags2
            {
                assert_ne!(flags & flags2::MARIADB_EXPLICIT_TIMESTAMPS, 0, "{}: {query:?}", golden.name);
                statements += 1;
            }
        });
    }
    assert!(statements > 20, "{statements}");
}

/// MySQL computes the length of a transaction, which is in its first event, as we do.
#[test]
fn mysqls_transactions_have_the_length_that_is_computed() {
    let mut tagged = 0;
    for golden in support::mysql().into_iter().chain([support::tagged()]) {
        let mut decoder = golden.decoder();
        for (_, bytes) in golden.raw_events() {
            let (header, Event::Gtid(mut event)) = decoder.decode(bytes).unwrap() else { continue };
            let length = event.commit.unwrap().transaction_length;
            let own = event.set_transaction_length(length - bytes.len() as u64, ChecksumAlgorithm::Crc32);
            assert_eq!((own, event.commit.unwrap().transaction_length), (bytes.len(), length));
            tagged += u32::from(header.event_type == EventType::GTID_TAGGED);
        }
    }
    assert_eq!(tagged, 16);
}

fn image_from_values(image: &RowImage<'_>, present: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = RowImageBuilder::with_present(image.types(), Some(present), &mut out);
    for field in image.fields() {
        builder.push(&field.value().unwrap()).unwrap();
    }
    builder.finish().unwrap();
    out
}

fn check_rows(rows: &RowsEvent<'_>, table: &TableMapEvent) -> usize {
    let bytes = rows.rows.bytes(support::LIMIT).unwrap();
    let mut count = 0;
    for change in rows.iter(table, &bytes).unwrap() {
        let change = change.unwrap();
        let after_present = if rows.present_after.is_empty() { rows.present } else { rows.present_after };
        for (image, present) in [(change.before, rows.present), (change.after, after_present)] {
            let Some(image) = image else { continue };
            assert_eq!(image_from_values(&image, present), image.bytes());
            count += 1;
        }
    }
    count
}

#[test]
fn row_images_are_built_from_their_values() {
    for golden in support::mysql() {
        let mut images = 0;
        golden.walk(|decoder, _, _, event| {
            if let Event::Rows(rows) = event
                && rows.columns > 0
            {
                images += check_rows(rows, decoder.table_of(rows).unwrap());
            }
        });
        assert!(images > 300, "{}: {images} images", golden.name);
    }
}

#[test]
fn decimals_are_encoded_from_their_text() {
    for golden in support::mysql() {
        golden.walk(|decoder, _, _, event| {
            let Event::Rows(rows) = event else { return };
            let table = decoder.table_of(rows).unwrap();
            let bytes = rows.rows.bytes(support::LIMIT).unwrap();
            for field in
                rows.iter(table, &bytes).unwrap().flat_map(|c| c.unwrap().after).flat_map(|i| i.fields())
            {
                if let Value::Decimal(d) = field.value().unwrap() {
                    let mut again = Vec::new();
                    binlog::row::Decimal::encode_text(&d.to_string(), d.precision, d.scale, &mut again)
                        .unwrap();
                    assert_eq!(again, d.bytes, "{d}");
                }
            }
        });
    }
}

/// `binlog_row_metadata=MINIMAL` is derived from the columns alone.
#[test]
fn minimal_metadata_is_what_mysql_writes() {
    let [_, minimal, _] = support::mysql();
    let mut tables = 0;
    minimal.walk(|_, _, _, event| {
        if let Event::TableMap(table) = event {
            assert_eq!(OptionalMetadata::minimal(&table.columns), table.metadata, "{table:?}");
            tables += 1;
        }
    });
    assert!(tables > 30);
}

#[test]
fn full_metadata_is_what_mysql_writes() {
    let [full, ..] = support::mysql();
    let mut tables = 0;
    full.walk(|_, _, _, event| {
        let Event::TableMap(table) = event else { return };
        let mut details = TableDetails {
            names: table.metadata.column_names().unwrap().to_vec(),
            primary_key: table.metadata.primary_key().unwrap_or_default(),
            ..TableDetails::default()
        };
        let mut geometries = Vec::new();
        for field in &table.metadata.0 {
            match field {
                MetadataField::SetValues(v) => details.set_values = v.clone(),
                MetadataField::EnumValues(v) => details.enum_values = v.clone(),
                MetadataField::GeometryTypes(v) => geometries = v.clone(),
                MetadataField::Visibility(bits) => {
                    details.visible =
                        (0..table.columns.len()).map(|i| bits[i / 8] & 0x80 >> (i % 8) != 0).collect();
                }
                _ => {}
            }
        }
        assert!(geometries.iter().all(|&kind| kind == 0));
        assert_eq!(OptionalMetadata::full(&table.columns, details), table.metadata);
        tables += 1;
    });
    assert!(tables > 30);
}
