//! A source that sends anything: bytes of recorded events are changed at random, and their
//! checksums made right again. The applier applies them or stops with an error; it never panics,
//! and the server starts from what it took.
//!
//! `DURAMEN_ROUNDS` is how many logs are spoilt, `DURAMEN_SEED` the first one's seed.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../binlog/tests/support/mod.rs"]
mod support;

use std::sync::Arc;

use binlog::event::{ChecksumAlgorithm, EventHeader, move_event};
use common::{Server, rows};
use sql::replica::{Applier, Channel, ReceivedEvent, SourceConfig};
use stdx::random::Random;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// The recorded log with some bytes of some events changed.
fn spoilt(golden: &support::Golden, random: &mut Random) -> Vec<Arc<ReceivedEvent>> {
    let raw = golden.raw_events();
    let often = 1 + random.below(200);
    let mut events = Vec::new();
    for (number, (at, bytes)) in raw.into_iter().enumerate() {
        let mut bytes = bytes.to_vec();
        let room = (bytes.len() as u64).saturating_sub(EventHeader::LEN as u64 + 4);
        if number > 0 && room > 0 && random.below(often) == 0 {
            for _ in 0..1 + random.below(3) {
                let place = EventHeader::LEN + random.below(room) as usize;
                bytes[place] = random.below(256) as u8;
            }
            // Another type, now and then.
            if random.below(8) == 0 {
                bytes[4] = random.below(180) as u8;
            }
            move_event(&mut bytes, at, ChecksumAlgorithm::Crc32).unwrap();
        }
        let end = at + bytes.len() as u64;
        events.push(Arc::new(ReceivedEvent { bytes, file: "binlog.000001".into(), end }));
    }
    events
}

fn round(seed: u64) {
    let mut random = Random::new(seed);
    let all = support::all();
    let golden = &all[random.below(all.len() as u64) as usize];
    let events = spoilt(golden, &mut random);
    let server = Server::new(seed);
    let source = SourceConfig { host: "hostile".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", source));
    channel.with(|state| state.applier.wanted = true);
    let mut applier = Applier::new(&server.instance, &channel).unwrap();
    let mut stops = 0;
    for event in &events {
        if applier.apply(event).is_err() {
            stops += 1;
            if stops > 50 {
                break;
            }
        }
    }
    // Its own commits never fail here.
    applier.finish().unwrap();
    let server = server.restart();
    let mut session = server.session();
    let all = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables WHERE table_type = \
               'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')";
    for table in rows(&mut session, all) {
        let checked = rows(&mut session, &format!("CHECK TABLE {}", table[0]));
        assert!(checked.iter().all(|row| row[3] == "OK"), "seed {seed}: {checked:?}");
    }
}

#[test]
fn no_event_of_a_source_ends_the_server() {
    let first = setting("DURAMEN_SEED", 1);
    for seed in first..first + setting("DURAMEN_ROUNDS", 60) {
        round(seed);
    }
}
