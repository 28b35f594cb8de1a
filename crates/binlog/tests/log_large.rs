//! Large transactions: events in a file of their own, which the log adopts by a rename.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::LogPosition;
use binlog::event::{
    EncodedTableMap, Event, EventHeader, FormatDescription, OptionalMetadata, QueryEvent, TableMapEvent,
    decode,
};
use binlog::group::{GroupBuilder, GroupContext, Mark};
use binlog::gtid::{GtidSpecification, Tag};
use binlog::log::{CommitError, CommitHook, Log, LogError, LogOptions};
use binlog::row::{ColumnType, code};
use common::{DIR, HookLog, UUID, group, ids, large_group, open, options};
use env::{Env, Fault, SimEnv};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use stdx::random::Random;

fn with_threshold(bytes: u64) -> LogOptions {
    LogOptions { binlog_large_commit_threshold: bytes, ..options() }
}

/// The events of the last group but for its GTID event, without their positions and checksums.
fn last_group(log: &Log) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    log.replay::<LogError>(LogPosition::ZERO, &mut |replayed| {
        if replayed.event.header.event_type.is_gtid() {
            events.clear();
            return Ok(());
        }
        let mut bytes = replayed.event.bytes[..replayed.event.bytes.len() - 4].to_vec();
        bytes[EventHeader::END_LOG_POS_OFFSET..][..4].fill(0);
        events.push(bytes);
        Ok(())
    })
    .unwrap();
    events
}

fn builder() -> GroupBuilder {
    let mut context = GroupContext::new(1, 1_767_225_600, 80408);
    context.row_event_max_size = 3000;
    let mut builder = GroupBuilder::new(context);
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder
}

fn large_files(env: &SimEnv) -> usize {
    let names = env.read_dir(Path::new(DIR)).unwrap();
    names.iter().filter(|path| path.to_string_lossy().contains(".large-")).count()
}

/// The same statements, with and without a file: the same events, whatever was taken back on the
/// way.
#[test]
fn events_are_the_same_with_and_without_a_file() {
    let (mut joined, mut fetched_back) = (0, 0);
    for seed in 0..60 {
        let env = SimEnv::new(seed);
        let (log, _) = open(&env, &with_threshold(20_000)).unwrap();
        let mut random = Random::new(seed);
        let (mut spilled, mut plain) = (builder(), builder());
        let mut marks: Vec<(Mark, Mark)> = Vec::new();
        let rows = if seed % 4 == 0 { 9000 } else { 1500 };
        for _ in 0..rows {
            if random.chance(1, 40) {
                marks.push((spilled.mark(), plain.mark()));
            }
            if random.chance(1, 300) && !marks.is_empty() {
                marks.truncate(1 + random.below(marks.len() as u64) as usize);
                let (to, plain_to) = marks[marks.len() - 1];
                let was_large = spilled.memory() < spilled.len();
                spilled.truncate(to);
                plain.truncate(plain_to);
                fetched_back += u32::from(was_large && spilled.memory() == spilled.len());
            }
            let row = vec![random.below(256) as u8; random.below(400) as usize];
            for builder in [&mut spilled, &mut plain] {
                match row.len() % 7 {
                    0 => builder.delete_row(7, 3, &row),
                    1 => builder.update_row(7, 3, &row, &row),
                    2 => builder.end_statement(),
                    _ => builder.write_row(7, 3, &row),
                }
            }
            log.relieve(&mut spilled).unwrap();
            assert!(spilled.memory() <= 24_000, "{} bytes in memory", spilled.memory());
            assert_eq!(spilled.len(), plain.len());
        }
        let (spilled, plain) = (spilled.finish_xid(1), plain.finish_xid(1));
        assert_eq!(
            (spilled.stamped_len_max(Tag::NONE), spilled.event_count()),
            (plain.stamped_len_max(Tag::NONE), plain.event_count())
        );
        joined += u32::from(spilled.is_large());
        log.commit(spilled, Box::new(())).unwrap();
        let with_file = last_group(&log);
        log.commit(plain, Box::new(())).unwrap();
        assert!(with_file == last_group(&log), "seed {seed}");
        assert_eq!(large_files(&env), 0);
    }
    assert!(joined > 40 && fetched_back > 5, "{joined} joined, {fetched_back} fetched back");
}

/// Small ones before it, after it and in the same queue: the order is the queue's, and its file
/// goes on as the active one.
#[test]
fn a_large_transaction_is_a_file_that_the_log_goes_on_in() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &with_threshold(1000)).unwrap();
    let hook_log = HookLog::default();
    let mut tickets = Vec::new();
    for id in 1..=6 {
        let group = if id % 3 == 0 { large_group(&log, id, 9000).unwrap() } else { group(id, 300) };
        assert_eq!(group.is_large(), id % 3 == 0);
        // The last two are of one source, the others of another.
        let tag = if id < 5 { Tag::NONE } else { "tag".parse().unwrap() };
        tickets.push(log.enqueue_with_gtid(group, GtidSpecification::Automatic(tag), hook_log.hook(id)));
    }
    let committed: Vec<_> = tickets.into_iter().map(|t| t.wait().unwrap()).collect();
    assert_eq!(hook_log.ordered(), [1, 2, 3, 4, 5, 6]);
    assert!(committed.is_sorted_by(|a, b| a.position < b.position));
    let names: Vec<String> =
        committed.iter().map(|c| c.gtid.to_string().replace(&UUID.to_string(), "U")).collect();
    assert_eq!(names, ["U:1", "U:2", "U:3", "U:4", "U:tag:1", "U:tag:2"]);
    assert_eq!(committed.iter().map(|c| c.position.file().0).collect::<Vec<_>>(), [1, 1, 2, 2, 2, 3]);
    assert_eq!(log.files().len(), 3);
    assert_eq!((log.status().large_files.get(), log.status().large_adopted.get()), (2, 2));
    // The file's second event names what came before it, and its numbers begin anew.
    let file = env.read_file(&Path::new(DIR).join("binlog.000002")).unwrap();
    let fde = FormatDescription::new("8.4.8", 0);
    let (mut at, mut seen) = (4, Vec::new());
    while at < file.len() && seen.len() < 4 {
        let length = EventHeader::decode(&file[at..]).unwrap().event_length as usize;
        seen.push(decode(&file[at..at + length], &fde).unwrap());
        at += length;
    }
    let [_, Event::PreviousGtids(previous), Event::Ignorable(_), Event::Gtid(gtid)] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(previous.0.count(), 2);
    assert_eq!((gtid.last_committed, gtid.sequence_number), (0, 1));
    drop(log);
    let (log, recovered) = open(&env.reboot(), &options()).unwrap();
    assert_eq!(ids(&log), [1, 2, 3, 4, 5, 6]);
    assert_eq!(recovered.gtid_executed.count(), 6);
}

/// H2: a disk that is full refuses the large transaction, while small ones go on; its file goes
/// with it.
#[test]
fn a_full_disk_refuses_the_large_transaction_alone() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &with_threshold(10_000)).unwrap();
    let hook_log = HookLog::default();
    log.commit(group(1, 100), hook_log.hook(1)).unwrap(); // makes room for the small ones
    for room in [100, 20_000, 30_000, 60_000] {
        env.set_capacity(Some(env.used() + room));
        match large_group(&log, 2, 40_000) {
            Err(error) => assert!(error.is_disk_full(), "{error}"),
            Ok(group) => match log.commit(group, hook_log.hook(2)) {
                Err(CommitError::Refused(error)) => assert!(error.is_disk_full(), "{error}"),
                done => panic!("with room for {room}: {done:?}"),
            },
        }
        assert_eq!(large_files(&env), 0);
        log.commit(group(3, 100), hook_log.hook(3)).unwrap();
    }
    env.set_capacity(None);
    log.commit(large_group(&log, 4, 40_000).unwrap(), hook_log.hook(4)).unwrap();
    assert_eq!(ids(&log), hook_log.ordered());
    let (log, recovered) = open(&env.reboot(), &options()).unwrap();
    assert_eq!(ids(&log), hook_log.ordered());
    assert_eq!(recovered.gtid_executed.intervals().count(), 1, "no GTID was burnt");
}

/// H3: a failed flush of its own file, or a write whose failure is reported later, is the end of
/// the transaction, and of nothing else.
#[test]
fn a_failed_flush_of_its_own_refuses_the_large_transaction_alone() {
    let (small, several_pieces) = (4000, 4 * env::PIECE);
    let faults = [
        (Fault::Sync, 0, small),
        (Fault::Sync, 1, small),
        (Fault::Await, 0, several_pieces),
        (Fault::Await, 2, several_pieces),
    ];
    for (seed, (fault, nth, size)) in faults.into_iter().enumerate() {
        let env = SimEnv::new(seed as u64);
        let (log, _) = open(&env, &with_threshold(1000)).unwrap();
        let hook_log = HookLog::default();
        env.fail(fault, ".large-", nth);
        let failed = match large_group(&log, 1, size) {
            Err(e) => e,
            Ok(group) => match log.commit(group, hook_log.hook(1)) {
                Err(CommitError::Refused(e)) => e,
                done => panic!("{fault:?} {nth}: {done:?}"),
            },
        };
        assert!(matches!(failed, LogError::Io { .. }), "{failed}");
        env.clear_faults();
        log.commit(group(2, 100), hook_log.hook(2)).unwrap();
        assert_eq!((ids(&log), large_files(&env)), (vec![2], 0));
    }
}

/// What may delay the others' flushes, and what the leader's flush of the header has
/// left to do.
#[test]
fn no_flood_of_a_large_transaction_stands_before_the_disk() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &with_threshold(100_000)).unwrap();
    let group = large_group(&log, 1, 4_000_000).unwrap();
    let path = env.read_dir(Path::new(DIR)).unwrap();
    let path = path.into_iter().find(|path| path.to_string_lossy().contains(".large-")).unwrap();
    assert!(env.backlog_max(&path).unwrap() <= 3 * env::PIECE as u64);
    let before = env.counters_of("large").syncs;
    log.commit(group, Box::new(())).unwrap();
    assert_eq!((before, env.counters_of("large").syncs), (0, 2), "sealed, and the header");
}

/// Each operation of a join fails in turn: the transaction is refused and the log goes on, or the
/// log latches; what is there after a restart is what was ordered, or that and the one whose fate
/// was unknown.
#[test]
fn a_join_that_fails_is_taken_back_or_latches() {
    let (mut taken_back, mut latched) = (0, 0);
    for fault in [Fault::Write, Fault::Sync, Fault::SetLen, Fault::Name, Fault::SyncDir] {
        for nth in 0..4 {
            for seed in 0..20 {
                let env = SimEnv::new(seed);
                let (log, _) = open(&env, &with_threshold(1000)).unwrap();
                let hook_log = HookLog::default();
                log.commit(group(1, 100), hook_log.hook(1)).unwrap();
                let large = large_group(&log, 2, 3000).unwrap();
                env.fail(fault, "", nth);
                let joined = log.commit(large, hook_log.hook(2));
                env.clear_faults();
                let mut possible = vec![hook_log.ordered()];
                match &joined {
                    Ok(_) => assert_eq!(hook_log.ordered(), [1, 2]),
                    Err(CommitError::Refused(_)) => {
                        assert_eq!((hook_log.ordered(), hook_log.refused()), (vec![1], vec![2]));
                        taken_back += 1;
                    }
                    Err(CommitError::Unknown(_)) => {
                        assert!(log.check().is_err());
                        possible.push(vec![1, 2]);
                        latched += 1;
                    }
                }
                assert_eq!(ids(&log), hook_log.ordered());
                if log.check().is_ok() {
                    log.commit(group(3, 100), hook_log.hook(3)).unwrap();
                    log.commit(large_group(&log, 4, 3000).unwrap(), hook_log.hook(4)).unwrap();
                    possible = vec![hook_log.ordered()];
                }
                let (log, _) = open(&env.reboot(), &options()).unwrap();
                let found = ids(&log);
                assert!(possible.contains(&found), "{fault:?} number {nth}, seed {seed}: {found:?}");
            }
        }
    }
    assert!(taken_back > 0 && latched > 0, "{taken_back} taken back, {latched} latched");
}

/// The store's flush once asked for a position that its memtable had from a hook, while the log's
/// marks had not reached it: there was no such position, and writers were refused for a while.
#[test]
fn a_position_that_a_hook_has_reported_can_be_made_durable_at_once() {
    struct SendPosition(Sender<LogPosition>);
    impl CommitHook for SendPosition {
        fn ordered(&mut self, position: LogPosition) {
            self.0.send(position).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &with_threshold(1000)).unwrap();
    let (sender, positions) = channel();
    let ask =
        |positions: Receiver<LogPosition>| positions.iter().for_each(|p| log.ensure_durable(p).unwrap());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(positions));
        for id in 1..=6 {
            let group = if id % 2 == 0 { large_group(&log, id, 3000).unwrap() } else { group(id, 100) };
            log.commit(group, Box::new(SendPosition(sender.clone()))).unwrap();
        }
        drop(sender);
        asking.join().unwrap();
    });
    assert!(log.ensure_durable(LogPosition::new(log.end().file().next(), 4)).is_err());
}

/// The file is one that others read: `mariadb-binlog` verifies each checksum, skips the room after
/// the header, and prints all rows.
#[test]
fn mariadb_binlog_reads_a_file_that_was_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = Log::open(Arc::new(env::RealEnv), folder.path(), with_threshold(10_000)).unwrap();
    let table = TableMapEvent {
        table_id: 100,
        flags: 1,
        database: b"db".to_vec(),
        table: b"t".to_vec(),
        columns: vec![ColumnType::new(code::LONGLONG, 0)],
        nullable: vec![0],
        metadata: OptionalMetadata::default(),
    };
    for rows in [2, 20_000, 3] {
        let mut builder = builder();
        builder.table_map(&EncodedTableMap::from(&table));
        for n in 0..rows {
            let mut row = vec![0];
            row.extend_from_slice(&u64::to_le_bytes(n));
            builder.write_row(100, 1, &row);
            log.relieve(&mut builder).unwrap();
        }
        builder.end_statement();
        log.commit(builder.finish_xid(rows), Box::new(())).unwrap();
    }
    log.close().unwrap();
    for (number, rows) in [(1, 2), (2, 20_003)] {
        let path = folder.path().join(format!("binlog.{number:06}"));
        let output = Command::new("mariadb-binlog")
            .args(["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "-vv"])
            .arg(&path)
            .output()
            .expect("mariadb-binlog is needed: Debian's package mariadb-client");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.matches("### INSERT INTO `db`.`t`").count(), rows);
        assert!(!printed.contains("BINLOG_IN_USE") && !printed.contains("was not closed"), "it is closed");
    }
}
