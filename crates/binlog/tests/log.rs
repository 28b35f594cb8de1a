//! The log in fair weather: commits, files, policies, readers.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::event::{self, Event, EventHeader, EventType};
use binlog::gtid::{Gtid, GtidSpecification};
use binlog::log::{LogError, Ticket};
use binlog::{FileNumber, LogPosition};
use common::{DIR, HookLog, UUID, drain, group, ids, open, options, replayed};
use env::{Env, File, OpenMode, SimEnv};
use std::path::Path;
use std::time::Duration;

fn wait_all(tickets: Vec<Ticket>) {
    for ticket in tickets {
        ticket.wait().unwrap();
    }
}

#[test]
fn commits_are_found_again_in_order() {
    let env = SimEnv::new(1);
    let (log, recovered) = open(&env, &options()).unwrap();
    assert_eq!((recovered.end, recovered.clean_shutdown), (LogPosition::ZERO, true));
    let hook_log = HookLog::default();
    let mut positions = Vec::new();
    for id in 1..=5 {
        positions.push((id, log.commit(group(id, 100), hook_log.hook(id)).unwrap()));
    }
    assert_eq!(hook_log.ordered(), [1, 2, 3, 4, 5]);
    assert_eq!(replayed(&log, LogPosition::ZERO), positions);
    assert_eq!(replayed(&log, positions[2].1), positions[3..]);
    let end = positions[4].1;
    assert_eq!((log.ordered(), log.visible(), log.durable(), log.end()), (end, end, end, end));
    assert_eq!(log.gtid_executed().to_string(), format!("{UUID}:1-5"));
    log.close().unwrap();
    assert!(matches!(log.commit(group(6, 1), hook_log.hook(6)).unwrap_err().log_error(), LogError::Closed));
    assert_eq!(hook_log.refused(), [6]);

    let (log, recovered) = open(&env, &options()).unwrap();
    assert!(recovered.clean_shutdown && recovered.cut_bytes == 0);
    assert_eq!((recovered.end, recovered.files.as_slice()), (end, &[FileNumber(1)][..]));
    assert!(log.end() > end && log.end().file() == FileNumber(2));
    assert_eq!(log.commit(group(7, 100), hook_log.hook(7)).unwrap().file(), FileNumber(2));
    assert_eq!(log.gtid_executed().to_string(), format!("{UUID}:1-6"));
    assert_eq!(ids(&log), [1, 2, 3, 4, 5, 7]);
}

/// Many tickets on one thread: the first wait leads for all of them.
#[test]
fn a_group_costs_one_write_and_one_flush_however_many_join() {
    for members in [1, 64] {
        let env = SimEnv::new(2);
        let (log, _) = open(&env, &options()).unwrap();
        let hook_log = HookLog::default();
        log.commit(group(0, 10), hook_log.hook(0)).unwrap();
        for round in 0..10 {
            let before = env.counters();
            let id = |i| 1 + round * members + i;
            let tickets: Vec<Ticket> =
                (0..members).map(|i| log.enqueue(group(id(i), 10), hook_log.hook(id(i)))).collect();
            let positions: Vec<_> = tickets.into_iter().map(|t| t.wait().unwrap().position).collect();
            assert!(positions.is_sorted());
            let after = env.counters();
            assert_eq!(
                (after.syncs - before.syncs, after.writes - before.writes),
                (1, 1),
                "{members} members"
            );
        }
        assert_eq!(log.status().groups.get(), 11);
        assert_eq!(log.status().flushes.get(), 11);
        assert_eq!(hook_log.ordered(), (0..=10 * members).collect::<Vec<_>>());
    }
}

#[test]
fn a_group_shares_last_committed_and_sequence_numbers_restart_with_the_file() {
    let env = SimEnv::new(3);
    let (log, _) = open(&env, &options()).unwrap();
    let three = |from: u64| {
        let tickets: Vec<_> = (from..from + 3).map(|id| log.enqueue(group(id, 1), Box::new(()))).collect();
        wait_all(tickets);
    };
    three(1);
    three(4);
    log.rotate().unwrap();
    three(7);
    let mut found = Vec::new();
    log.replay::<LogError>(LogPosition::ZERO, &mut |e| {
        if let Ok(Event::Gtid(gtid)) = event::decode(e.event.bytes, e.event.fde) {
            assert_eq!(e.gtid, gtid.gtid);
            found.push((gtid.last_committed, gtid.sequence_number, gtid.gtid.unwrap().gno));
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(
        found,
        [(0, 1, 1), (0, 2, 2), (0, 3, 3), (3, 4, 4), (3, 5, 5), (3, 6, 6), (0, 1, 7), (0, 2, 8), (0, 3, 9)]
    );
}

#[test]
fn foreign_gtids_stay_and_own_ones_go_round_them() {
    let env = SimEnv::new(4);
    let (log, _) = open(&env, &options()).unwrap();
    let other = Gtid::new(binlog::gtid::Uuid([8; 16]), 40);
    log.enqueue_with_gtid(group(1, 1), GtidSpecification::Assigned(other), Box::new(())).wait().unwrap();
    let second = GtidSpecification::Assigned(Gtid::new(UUID, 2));
    log.enqueue_with_gtid(group(2, 1), second, Box::new(())).wait().unwrap();
    log.commit(group(3, 1), Box::new(())).unwrap();
    log.commit(group(4, 1), Box::new(())).unwrap();
    let expected = format!("{UUID}:1-3,\n{}:40", other.source).replace('\n', "");
    assert_eq!(log.gtid_executed().to_string().replace('\n', ""), expected);
    let (_, recovered) = open(&env.reboot(), &options()).unwrap();
    assert_eq!(recovered.gtid_executed, log.gtid_executed());
}

fn headers(bytes: &[u8]) -> Vec<EventHeader> {
    let (mut at, mut found) = (4, Vec::new());
    assert_eq!(bytes[..4], event::MAGIC);
    while at < bytes.len() {
        let header = EventHeader::decode(&bytes[at..]).unwrap();
        event::verify_checksum(&bytes[at..at + header.event_length as usize]).unwrap();
        at += header.event_length as usize;
        assert_eq!(header.end_log_pos as usize, at);
        found.push(header);
    }
    found
}

#[test]
fn files_rotate_at_their_size_and_closed_ones_are_whole() {
    let env = SimEnv::new(5);
    let mut options = options();
    options.max_binlog_size = 4096;
    let (log, _) = open(&env, &options).unwrap();
    for id in 1..=100 {
        log.commit(group(id, 300), Box::new(())).unwrap();
    }
    let files = log.files();
    assert!(files.len() > 10);
    assert_eq!(log.status().rotations.get() as usize, files.len() - 1);
    log.maintain().unwrap();
    let index = env.read_file(&Path::new(DIR).join("binlog.index")).unwrap();
    let listed: Vec<String> = String::from_utf8(index).unwrap().lines().map(|l| l[2..].to_owned()).collect();
    assert_eq!(listed, files.iter().map(|f| f.name.clone()).collect::<Vec<_>>());
    log.close().unwrap();
    for (i, file) in files.iter().enumerate() {
        let bytes = env.read_file(&Path::new(DIR).join(&file.name)).unwrap();
        let headers = headers(&bytes);
        let last = if i + 1 == files.len() { EventType::STOP } else { EventType::ROTATE };
        if last == EventType::ROTATE {
            assert_eq!(bytes.len() as u64, file.size);
        }
        assert_eq!(headers[0].event_type, EventType::FORMAT_DESCRIPTION);
        assert_eq!(headers[0].flags, 0, "the in-use flag is clear");
        assert_eq!(headers[1].event_type, EventType::PREVIOUS_GTIDS);
        assert_eq!(headers.last().unwrap().event_type, last);
    }
    let (log, _) = open(&env, &options).unwrap();
    assert_eq!(ids(&log), (1..=100).collect::<Vec<_>>());
}

#[test]
fn the_active_file_is_in_use_and_has_zeros_ahead() {
    let env = SimEnv::new(6);
    let (log, _) = open(&env, &options()).unwrap();
    let position = log.commit(group(1, 10), Box::new(())).unwrap();
    let bytes = env.read_file(&Path::new(DIR).join("binlog.000001")).unwrap();
    assert_eq!(headers(&bytes[..position.offset() as usize])[0].flags, event::flags::BINLOG_IN_USE);
    assert!(bytes.len() as u64 > position.offset() + 100_000);
    assert!(bytes[position.offset() as usize..].iter().all(|&b| b == 0));
    assert_eq!(log.files()[0].size, position.offset());
    // What fits the space made ahead changes no length.
    let before = env.counters().written_bytes;
    log.commit(group(2, 10), Box::new(())).unwrap();
    assert!(env.counters().written_bytes - before < 1000);
    assert_eq!(
        env.open(&Path::new(DIR).join("binlog.000001"), OpenMode::Read).unwrap().len().unwrap(),
        bytes.len() as u64
    );
}

#[test]
fn the_pool_serves_rotations_and_survives_restarts() {
    let env = SimEnv::new(7);
    let mut options = options();
    (options.max_binlog_size, options.binlog_prealloc_num) = (8192, 3);
    let (log, _) = open(&env, &options).unwrap();
    assert_eq!((log.pool_files(), log.status().pool_misses.get()), (0, 1), "the first file never waits");
    log.maintain().unwrap();
    assert_eq!(log.pool_files(), 3);
    assert_eq!(env.counters_of("prealloc").syncs, 3, "once for each file");
    for id in 1..=4 {
        log.rotate().unwrap();
        let before = env.counters_of("prealloc").written_bytes;
        log.commit(group(id, 100), Box::new(())).unwrap();
        assert!(env.counters_of("prealloc").written_bytes - before < 1000 || id == 4);
    }
    assert_eq!((log.status().pool_hits.get(), log.status().pool_misses.get()), (3, 2));
    log.maintain().unwrap();
    log.close().unwrap();
    let (log, _) = open(&env, &options).unwrap();
    let made = env.counters().written_bytes;
    log.maintain().unwrap();
    assert_eq!(env.counters().written_bytes - made, 0, "the earlier run's files are good");
    assert_eq!(log.pool_files(), 3);
    log.set_prealloc_num(1);
    log.maintain().unwrap();
    assert_eq!(log.pool_files(), 1);
    log.rotate().unwrap();
    log.set_prealloc_num(0);
    log.maintain().unwrap();
    assert_eq!(ids(&log), [1, 2, 3, 4]);
    let left = env.read_dir(Path::new(DIR)).unwrap();
    assert!(left.iter().all(|p| !p.to_string_lossy().contains("prealloc")), "{left:?}");
}

#[test]
fn policies_decide_which_group_waits_for_its_flush() {
    // sync_binlog, trx_commit, flushes of ten groups
    for (sync, trx, flushes) in
        [(1, 1, 10), (1, 2, 10), (0, 1, 10), (0, 2, 0), (0, 0, 0), (2, 2, 5), (3, 0, 3)]
    {
        let env = SimEnv::new(8);
        let (log, _) = open(&env, &options()).unwrap();
        log.set_sync_binlog(sync);
        log.set_trx_commit(trx);
        for id in 1..=10 {
            let position = log.commit(group(id, 1), Box::new(())).unwrap();
            assert_eq!(log.visible(), position);
        }
        assert_eq!(log.status().flushes.get(), flushes, "sync_binlog={sync}, trx_commit={trx}");
        let seen = drain(&mut log.reader(LogPosition::ZERO).unwrap());
        assert_eq!(
            seen.len() as u64,
            [10, 9][usize::from(flushes == 3)].min(flushes * u64::from(sync.max(1)).min(10))
        );
        log.maintain().unwrap();
        assert_eq!(log.durable(), log.visible());
        assert_eq!(drain(&mut log.reader(LogPosition::ZERO).unwrap()).len(), 10);
        let flushed = log.status().flushes.get();
        log.ensure_durable(log.visible()).unwrap();
        log.wait_durable(log.visible()).unwrap();
        log.wait_visible(log.ordered()).unwrap();
        assert_eq!(log.status().flushes.get(), flushed);
    }
}

#[test]
fn large_groups_are_written_in_pieces_with_one_flush() {
    let env = SimEnv::new(9);
    let (log, _) = open(&env, &options()).unwrap();
    let before = env.counters();
    let sizes = [10, 3 << 20, 10, 400_000, 700_000, 600_000, 5 << 20];
    let tickets: Vec<_> =
        sizes.iter().enumerate().map(|(i, &n)| log.enqueue(group(i as u64, n), Box::new(()))).collect();
    wait_all(tickets);
    let after = env.counters();
    assert_eq!(after.syncs - before.syncs, 1);
    assert!(after.writes - before.writes <= 8);
    assert_eq!(ids(&open(&env.reboot(), &options()).unwrap().0), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn readers_follow_across_files_and_start_at_any_event() {
    let env = SimEnv::new(10);
    let (log, _) = open(&env, &options()).unwrap();
    let mut follower = log.reader(LogPosition::ZERO).unwrap();
    assert_eq!(drain(&mut follower), []);
    let first = log.commit(group(1, 50), Box::new(())).unwrap();
    assert_eq!(drain(&mut follower), [1]);
    log.rotate().unwrap();
    log.rotate().unwrap();
    log.commit(group(2, 50), Box::new(())).unwrap();
    assert_eq!(drain(&mut follower), [2]);
    assert_eq!(follower.position(), log.durable());
    assert_eq!(drain(&mut log.reader(first).unwrap()), [2]);

    let mut reader = log.reader(LogPosition::ZERO).unwrap();
    let mut ends = Vec::new();
    while let Some(event) = reader.next(Duration::ZERO).unwrap() {
        ends.push((event.end(), event.header.event_type));
    }
    let types: Vec<_> = ends.iter().map(|&(_, t)| t).collect();
    let header = [EventType::FORMAT_DESCRIPTION, EventType::PREVIOUS_GTIDS];
    let body = [EventType::GTID, EventType::QUERY, EventType::WRITE_ROWS, EventType::XID];
    let expected =
        [&header[..], &body, &[EventType::ROTATE], &header, &[EventType::ROTATE], &header, &body].concat();
    assert_eq!(types, expected);
    for (i, &(end, _)) in ends.iter().enumerate() {
        let mut reader = log.reader(end).unwrap();
        let next = reader.next(Duration::ZERO).unwrap().map(|e| e.end());
        assert_eq!(next, ends.get(i + 1).map(|&(end, _)| end), "after {end}");
    }
    let inside = LogPosition::new(first.file(), first.offset() - 3);
    let refused = log.reader(inside).and_then(|mut r| r.next(Duration::ZERO).map(|_| ()));
    assert!(matches!(refused, Err(LogError::BadPosition(p)) if p == inside));
    let past_end = LogPosition::new(log.end().file(), log.end().offset() + 1);
    assert!(matches!(log.reader(past_end).err(), Some(LogError::BadPosition(_))));
    assert!(matches!(log.reader(LogPosition::new(FileNumber(9), 4)).err(), Some(LogError::Purged { .. })));
}

#[test]
fn purge_keeps_what_is_needed_and_tells_readers() {
    let env = SimEnv::new(11);
    let (log, _) = open(&env, &options()).unwrap();
    for id in 1..=5 {
        log.commit(group(id, 50), Box::new(())).unwrap();
        log.rotate().unwrap();
    }
    let mut reader = log.reader(LogPosition::ZERO).unwrap();
    reader.next(Duration::ZERO).unwrap();
    log.set_purge_floor(LogPosition::new(FileNumber(4), 200));
    assert!(matches!(log.purge_to(FileNumber(5)), Err(LogError::InUse(FileNumber(4)))));
    assert_eq!(log.purge_to(FileNumber(3)).unwrap(), [FileNumber(1), FileNumber(2)]);
    assert_eq!(log.purge_to(FileNumber(3)).unwrap(), []);
    assert!(matches!(reader.next(Duration::ZERO), Err(LogError::Purged { oldest: FileNumber(3), .. })));
    log.set_purge_floor(LogPosition::MAX);
    assert!(matches!(log.purge_to(FileNumber(7)), Err(LogError::InUse(FileNumber(6)))));
    assert_eq!(ids(&log), [3, 4, 5]);
    log.purge_to(FileNumber(6)).unwrap();
    assert_eq!((ids(&log), log.files().len()), (vec![], 1));
    let (log, recovered) = open(&env.reboot(), &options()).unwrap();
    assert_eq!(recovered.gtid_executed.to_string(), format!("{UUID}:1-5"));
    assert_eq!(recovered.gtid_purged, recovered.gtid_executed);
    log.commit(group(6, 1), Box::new(())).unwrap();
    assert_eq!(log.gtid_executed().to_string(), format!("{UUID}:1-6"));
}

#[test]
fn a_dropped_ticket_is_committed_all_the_same() {
    let env = SimEnv::new(12);
    let (log, _) = open(&env, &options()).unwrap();
    drop(log.enqueue(group(1, 1), Box::new(())));
    assert_eq!(ids(&log), [1]);
}

#[test]
fn a_missing_file_in_the_middle_stops_the_start_and_one_in_front_does_not() {
    let env = SimEnv::new(13);
    let (log, _) = open(&env, &options()).unwrap();
    for id in 1..=4 {
        log.commit(group(id, 1), Box::new(())).unwrap();
        log.rotate().unwrap();
    }
    log.close().unwrap();
    env.remove_file(&Path::new(DIR).join("binlog.000001")).unwrap();
    let (log, _) = open(&env, &options()).unwrap();
    assert_eq!(ids(&log), [2, 3, 4]);
    log.close().unwrap();
    let copy = env.read_file(&Path::new(DIR).join("binlog.000003")).unwrap();
    env.remove_file(&Path::new(DIR).join("binlog.000003")).unwrap();
    assert!(
        matches!(open(&env, &options()), Err(LogError::Missing { file, .. }) if &*file == "binlog.000003")
    );
    let file: std::sync::Arc<dyn File> =
        env.open(&Path::new(DIR).join("binlog.000003"), OpenMode::CreateNew).unwrap();
    file.write_at(&copy, 0).unwrap();
    let (log, _) = open(&env, &options()).unwrap();
    assert_eq!(ids(&log), [2, 3, 4]);
}

#[test]
fn damage_in_a_closed_file_is_reported_not_cut() {
    let env = SimEnv::new(14);
    let (log, _) = open(&env, &options()).unwrap();
    let position = log.commit(group(1, 100), Box::new(())).unwrap();
    log.rotate().unwrap();
    log.commit(group(2, 1), Box::new(())).unwrap();
    let file = env.open(&Path::new(DIR).join("binlog.000001"), OpenMode::ReadWrite).unwrap();
    file.write_at(b"\xff", position.offset() - 60).unwrap();
    let mut reader = log.reader(LogPosition::ZERO).unwrap();
    let error = loop {
        match reader.next(Duration::ZERO) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("read over the damage"),
            Err(e) => break e,
        }
    };
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
}
