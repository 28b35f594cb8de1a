//! A log that begins anew: names, numbers and transactions of nothing, positions that go on.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::gtid::GtidSet;
use binlog::log::{Log, LogError, Reset};
use binlog::{FileNumber, LogPosition};
use common::{DIR, HookLog, drain, group, ids, large_group, open, options, replayed};
use env::{Env, Fault, SimEnv};
use std::path::Path;
use std::time::Duration;

fn commit(log: &Log, id: u64) -> LogPosition {
    log.commit(group(id, 100), Box::new(())).unwrap()
}

/// Whoever resets a log has its transactions elsewhere, up to its end.
fn reset(log: &Log, named: u32) -> Result<bool, LogError> {
    log.reset(named, log.ordered(), log.ordered())
}

fn names(log: &Log) -> Vec<String> {
    log.files().into_iter().map(|file| file.name).collect()
}

fn in_folder(env: &SimEnv) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    env.read_dir(Path::new(DIR)).unwrap().iter().map(|path| name(path)).collect()
}

#[test]
fn names_and_gtids_begin_anew_and_positions_go_on() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &options()).unwrap();
    commit(&log, 1);
    log.rotate().unwrap();
    let last = commit(&log, 2);
    assert!(reset(&log, 1).unwrap());
    assert_eq!(names(&log), ["binlog.000001"]);
    assert_eq!(in_folder(&env), ["binlog.000001", "binlog.durable", "binlog.index"]);
    assert_eq!(env.read_file(&Path::new(DIR).join("binlog.index")).unwrap(), b"./binlog.000001\n");
    assert!(log.gtid_executed().is_empty() && log.gtid_purged().unwrap().is_empty());
    assert!(log.ordered() > last && log.durable() == log.ordered() && log.visible() == log.ordered());
    let position = commit(&log, 3);
    assert_eq!(
        (position.file(), log.file_name(position.file())),
        (FileNumber(3), "binlog.000001".to_owned())
    );
    assert_eq!(log.gtid_executed().count(), 1);
    log.rotate().unwrap();
    commit(&log, 4);
    assert_eq!(names(&log), ["binlog.000001", "binlog.000002"]);
    assert_eq!(ids(&log), [3, 4]);
    drop(log);

    let (log, recovered) = open(&env, &options()).unwrap();
    assert_eq!(recovered.files, [FileNumber(3), FileNumber(4)]);
    assert_eq!(recovered.reset, Some(Reset { first: FileNumber(3), tables: last }));
    assert_eq!(names(&log), ["binlog.000001", "binlog.000002", "binlog.000003"]);
    assert_eq!((ids(&log), log.gtid_executed().count()), (vec![3, 4], 2));
    log.purge_to(FileNumber(4)).unwrap();
    assert_eq!(names(&log), ["binlog.000002", "binlog.000003"]);
    assert!(reset(&log, 2_000_000_000).unwrap());
    commit(&log, 5);
    drop(log);
    let (log, _) = open(&env, &options()).unwrap();
    assert_eq!(names(&log), ["binlog.2000000000", "binlog.2000000001"]);
    assert_eq!(
        replayed(&log, LogPosition::ZERO),
        [(5, LogPosition::new(FileNumber(6), log.files()[0].size))]
    );
}

/// `gtid_purged` is empty after a reset, and may be set again: what a dump's load does.
#[test]
fn what_was_declared_as_purged_is_forgotten() {
    let env = SimEnv::new(2);
    let (log, _) = open(&env, &options()).unwrap();
    let declared: GtidSet = "11111111-1111-1111-1111-111111111111:1-5".parse().unwrap();
    assert!(log.add_purged(&declared).unwrap());
    assert!(!log.add_purged(&declared).unwrap());
    assert!(reset(&log, 1).unwrap());
    assert!(log.gtid_purged().unwrap().is_empty());
    assert!(log.add_purged(&declared).unwrap());
    drop(log);
    let (log, recovered) = open(&env, &options()).unwrap();
    assert_eq!((recovered.gtid_purged, log.gtid_executed()), (declared.clone(), declared));
    assert_eq!(names(&log), ["binlog.000001", "binlog.000002", "binlog.000003"]);
}

#[test]
fn readers_of_the_old_log_are_told() {
    let env = SimEnv::new(3);
    let (log, _) = open(&env, &options()).unwrap();
    let first = commit(&log, 1);
    log.rotate().unwrap();
    commit(&log, 2);
    let mut at_the_start = log.reader(first).unwrap();
    let mut at_the_end = log.reader(LogPosition::ZERO).unwrap();
    assert_eq!(drain(&mut at_the_end), [1, 2]);
    assert!(reset(&log, 1).unwrap());
    commit(&log, 3);
    for reader in [&mut at_the_start, &mut at_the_end] {
        assert!(matches!(reader.next(Duration::ZERO), Err(LogError::Purged { oldest: FileNumber(3), .. })));
    }
    assert!(matches!(log.reader(first), Err(LogError::Purged { .. })));
    assert_eq!(drain(&mut log.reader(LogPosition::ZERO).unwrap()), [3]);
}

#[test]
fn nothing_is_reset_that_has_more_than_the_tables() {
    let env = SimEnv::new(4);
    let (log, _) = open(&env, &options()).unwrap();
    let seen = commit(&log, 1);
    commit(&log, 2);
    assert!(!log.reset(1, seen, seen).unwrap());
    assert_eq!((names(&log), ids(&log)), (vec!["binlog.000001".to_owned()], vec![1, 2]));
}

/// A transaction that began before has its own file, and commits into the new log.
#[test]
fn a_large_transaction_goes_on() {
    let env = SimEnv::new(5);
    let mut options = options();
    options.binlog_large_commit_threshold = 1000;
    let (log, _) = open(&env, &options).unwrap();
    commit(&log, 1);
    let large = large_group(&log, 2, 3000).unwrap();
    assert!(reset(&log, 1).unwrap());
    log.commit(large, Box::new(())).unwrap();
    assert_eq!(
        (names(&log), ids(&log)),
        (vec!["binlog.000001".to_owned(), "binlog.000002".to_owned()], vec![2])
    );
    drop(log);
    assert_eq!(ids(&open(&env, &options).unwrap().0), [2]);
}

#[test]
fn what_fails_before_it_is_declared_changes_nothing() {
    let env = SimEnv::new(6);
    let (log, _) = open(&env, &options()).unwrap();
    commit(&log, 1);
    env.fail(Fault::Name, "binlog.reset", 0);
    assert!(reset(&log, 1).is_err());
    env.clear_faults();
    commit(&log, 2);
    log.rotate().unwrap();
    drop(log);
    let (log, recovered) = open(&env, &options()).unwrap();
    assert_eq!((recovered.reset, ids(&log)), (None, vec![1, 2]));
}

/// Steps m to r of `files.rs`, and those of the start after them: a power cut at each operation
/// leaves the old log whole, or the new one.
#[test]
fn every_crash_point_of_a_reset() {
    let mut options = options();
    options.max_binlog_size = 1000;
    let script = |env: &SimEnv, hook_log: &HookLog, done: &mut Vec<u32>| -> Result<(), LogError> {
        let commit =
            |log: &Log, id| log.commit(group(id, 700), hook_log.hook(id)).map_err(|e| e.log_error().clone());
        let (log, _) = open(env, &options)?;
        for id in 1..=3 {
            commit(&log, id)?;
        }
        log.maintain()?;
        reset(&log, 1)?;
        done.push(1);
        for id in 4..=5 {
            commit(&log, id)?;
        }
        log.maintain()?;
        log.purge_to(log.files()[1].number)?;
        commit(&log, 6)?;
        reset(&log, 7)?;
        done.push(2);
        commit(&log, 7)?;
        log.close()
    };
    let check = |env: &SimEnv, ordered: usize, resets: u32, what: &str| {
        let (log, recovered) = open(env, &options).unwrap_or_else(|e| panic!("{e} {what}"));
        let found = ids(&log);
        // Each log has ids and numbers in a row; which log it is, its first file says.
        let (from, to) = match names(&log)[0].as_str() {
            "binlog.000007" => (7, 7),
            _ if recovered.reset.is_some() => (4, 6),
            _ => (1, 3),
        };
        let is_later = from > 3 && resets < 1 || from > 6 && resets < 2;
        assert!(!is_later || ordered as u64 == from - 1, "{found:?} of {ordered} {what}");
        assert!(from > 3 || resets < 1, "the old log is back {what}");
        assert!(from > 6 || resets < 2, "the old log is back {what}");
        let last = (from - 1) + recovered.gtid_executed.count() as u64;
        assert!(last <= to && ordered as u64 <= last + 1, "{recovered:?} of {ordered} {what}");
        let purged = recovered.gtid_purged.count() as u64;
        assert!((from + purged..=last).eq(found.iter().copied()), "{found:?}, {recovered:?} {what}");
        // Nothing of another log is left over.
        let listed = names(&log);
        let is_log = |name: &String| name.starts_with("binlog.0") && !name.contains(".cut");
        let there = in_folder(env).into_iter().filter(is_log);
        assert_eq!(there.collect::<Vec<_>>(), listed, "{what}");
        assert!(!in_folder(env).contains(&"binlog.reset".to_owned()), "{what}");
        log.commit(group(99, 1), Box::new(())).unwrap();
        assert!(reset(&log, 1).unwrap());
    };
    let mut cut = 1;
    loop {
        let (env, hook_log, mut resets) = (SimEnv::new(cut), HookLog::default(), Vec::new());
        env.cut_at(cut);
        let done = script(&env, &hook_log, &mut resets).is_ok();
        let (ordered, resets) = (hook_log.ordered().len() + hook_log.refused().len(), resets.len() as u32);
        for seed in 0..12 {
            check(&env.reboot_with(seed), ordered, resets, &format!("after operation {cut}, seed {seed}"));
        }
        for second in 1..40 {
            let again = env.reboot_with(second);
            again.cut_at(second);
            if open(&again, &options).is_ok() && again.is_powered() {
                break;
            }
            for seed in 0..2 {
                let what = format!("after operations {cut} and {second}, seed {seed}");
                check(&again.reboot_with(seed), ordered, resets, &what);
            }
        }
        if done {
            break;
        }
        cut += 1;
    }
    println!("{cut} crash points");
    assert!(cut > 60);
}

/// Files of before and after a reset in one folder: put there by hand, for no crash leaves that.
#[test]
fn files_of_two_logs_are_refused() {
    let env = SimEnv::new(7);
    let (log, _) = open(&env, &options()).unwrap();
    commit(&log, 1);
    let path = |name: &str| Path::new(DIR).join(name);
    let old = env.read_file(&path("binlog.000001")).unwrap();
    assert!(reset(&log, 1).unwrap());
    log.rotate().unwrap();
    drop(log);
    env.replace_file(&path("binlog.000001"), &old).unwrap();
    let refused = open(&env, &options()).err().unwrap().to_string();
    assert!(refused.contains("binlog.000002 belongs to a log that was begun at another time"), "{refused}");
}
