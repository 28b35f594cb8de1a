//! A transaction's events as one event, compressed (`binlog_transaction_compression`).
//!
//! Its session does this before it joins the queue: the leader stamps one short event. The log is
//! the only place where the transaction is, so what was compressed is expanded again and compared
//! before it may take the events' place.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::CompressionLevel;

use super::GroupBuilder;
use super::finished::Boundary;
use crate::event::{CHECKSUM_LEN, Compression, EventHeader, TransactionPayloadEvent};

/// Groups of more bytes stay as they are, as MySQL's do whose payload would not fit an event.
const COMPRESSED_MAX: usize = 1 << 30;

impl GroupBuilder {
    /// Puts the finished events into one, unless that is no shorter.
    ///
    /// Never inlined: it takes 120 KiB of stack, each page of which a commit would touch,
    /// compressed or not.
    #[inline(never)]
    pub(super) fn compress(&mut self) {
        if self.spilled.is_some() || self.bytes.len() > COMPRESSED_MAX {
            return;
        }
        let events = self.without_checksums();
        let mut payload = Vec::new();
        ruzstd::encoding::compress(&events[..], &mut payload, CompressionLevel::Fastest);
        if payload.len() >= events.len() || !expands_to(&payload, &events) {
            return;
        }
        self.bytes.clear();
        self.events.clear();
        self.event(&TransactionPayloadEvent {
            compression: Compression::Zstd,
            uncompressed_size: events.len() as u64,
            payload: &payload,
        });
    }

    /// The events as they are inside of a payload.
    fn without_checksums(&self) -> Vec<u8> {
        let mut events = Vec::with_capacity(self.bytes.len());
        let mut start = 0;
        for &Boundary { end, .. } in &self.events {
            let at = events.len();
            events.extend_from_slice(&self.bytes[start..end - CHECKSUM_LEN]);
            let length = (events.len() - at) as u32; // an event fits 4 GiB: its length was put there as such
            events[at + EventHeader::LENGTH_OFFSET..][..4].copy_from_slice(&length.to_le_bytes());
            start = end;
        }
        events
    }
}

fn expands_to(payload: &[u8], events: &[u8]) -> bool {
    let Ok(decoder) = StreamingDecoder::new(payload) else { return false };
    let mut expanded = Vec::with_capacity(events.len());
    let read = decoder.take(events.len() as u64 + 1).read_to_end(&mut expanded);
    let same = read.is_ok() && expanded == events;
    if !same {
        tracing::error!("a transaction was compressed to something else; it is logged as it is");
    }
    same
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{self, Event, EventType, FormatDescription, QueryEvent};
    use crate::group::{GroupContext, GtidStamp};
    use crate::gtid::Tag;
    use stdx::random::Random;

    fn builder(compress: bool, rows: &[Vec<u8>]) -> GroupBuilder {
        let mut context = GroupContext::new(7, 1_795_225_863, 80408);
        context.compress = compress;
        let mut builder = GroupBuilder::new(context);
        builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
        rows.iter().for_each(|row| builder.write_row(100, 3, row));
        builder.end_statement();
        builder
    }

    fn events(builder: GroupBuilder) -> Vec<Vec<u8>> {
        let group = builder.finish_xid(7);
        let stamp = GtidStamp { gtid: None, last_committed: 0, sequence_number: 1, commit_timestamp: 0 };
        let mut bytes = Vec::new();
        group.stamp(&stamp, 4, &mut bytes);
        assert_eq!(bytes.len(), group.stamped_len_max(Tag::NONE));
        let (mut at, mut events) = (0, Vec::new());
        while at < bytes.len() {
            let length = EventHeader::decode(&bytes[at..]).unwrap().event_length as usize;
            events.push(bytes[at..at + length].to_vec());
            at += length;
        }
        assert_eq!(events.len(), group.event_count());
        events
    }

    /// The events of a group but the first one, each without checksum and position.
    fn bare(event: &[u8]) -> Vec<u8> {
        let mut event = event.to_vec();
        event[EventHeader::END_LOG_POS_OFFSET..][..4].fill(0);
        event[EventHeader::LENGTH_OFFSET..][..4].fill(0);
        event
    }

    #[test]
    fn a_compressed_group_holds_the_events_of_a_plain_one() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let row = |random: &mut Random| {
                let mut row = vec![b'x'; random.below(3000) as usize];
                let noise = row.len() / (1 + random.below(20) as usize);
                random.fill(&mut row[..noise]);
                row
            };
            let rows: Vec<_> = (0..1 + random.below(60)).map(|_| row(&mut random)).collect();
            let plain = events(builder(false, &rows));
            let compressed = events(builder(true, &rows));
            let fde = FormatDescription::new("8.4.8", 0);
            let Event::TransactionPayload(payload) = event::decode(&compressed[1], &fde).unwrap() else {
                assert_eq!(plain[1..], compressed[1..], "seed {seed}: it was not worth it");
                continue;
            };
            assert_eq!(compressed.len(), 2);
            let inner = TransactionPayloadEvent::inner_format(&fde);
            let (mut inside, mut n) = (payload.events(1 << 20).unwrap(), 1);
            while let Some(bytes) = inside.next_event().unwrap() {
                event::decode(bytes, &inner).unwrap();
                let expected = bare(&plain[n][..plain[n].len() - CHECKSUM_LEN]);
                assert_eq!(bare(bytes), expected, "seed {seed}: event {n}");
                n += 1;
            }
            assert_eq!(n, plain.len(), "seed {seed}");
        }
    }

    #[test]
    fn what_gets_no_shorter_stays_and_so_does_ddl() {
        let mut noise = vec![0; 600];
        Random::new(1).fill(&mut noise);
        let types = |events: Vec<Vec<u8>>| -> Vec<_> {
            events.iter().map(|event| EventHeader::decode(event).unwrap().event_type).collect()
        };
        let plain = [EventType::GTID, EventType::QUERY, EventType::WRITE_ROWS, EventType::XID];
        let [_, remaining @ ..] = &types(events(builder(true, &[noise])))[..] else { panic!() };
        assert_eq!(remaining, &plain[1..]);
        let mut context = GroupContext::new(7, 1, 80408);
        context.compress = true;
        let sql = [b'x'; 1000];
        let group = GroupBuilder::new(context).finish_ddl(&QueryEvent::new(1, b"db", &sql));
        assert!(group.stamped_len_max(Tag::NONE) > 1000);
    }
}
