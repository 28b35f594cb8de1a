//! Damage: flipped bits, changed bytes, cut files. A start gives what was acknowledged, or refuses,
//! names the file, and changes nothing (R2 of ARCHITECTURE.md).
//!
//! `BITROT_TRIALS` says how many random trials to run, `BITROT_FIRST` where to begin.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::log::{Examined, IndexState, Log, LogError, LogOptions, Recovered, examine};
use binlog::{FileNumber, LogPosition};
use common::{DIR, HookLog, group, ids, large_group, open, options, replayed};
use env::{Env, OpenMode, SimEnv};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stdx::random::Random;

fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// All files of the folder, with what they hold.
fn folder(env: &SimEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = env.read_dir(Path::new(DIR)).unwrap();
    paths.into_iter().map(|path| (path.clone(), env.read_file(&path).unwrap())).collect()
}

fn flip(env: &SimEnv, name: &str, offset: u64, mask: u8) {
    let file = env.open(&path(name), OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_at(&[byte[0] ^ mask], offset).unwrap();
    file.sync_all().unwrap();
}

fn examined(env: &SimEnv) -> Examined {
    examine(Arc::new(env.clone()), Path::new(DIR), "binlog").unwrap()
}

/// As the engine opens a log whose tables are empty.
fn open_whole(env: &SimEnv, options: &LogOptions) -> Result<(Arc<Log>, Recovered), LogError> {
    let examined = examine(Arc::new(env.clone()), Path::new(DIR), &options.base_name)?;
    examined.check()?;
    examined.verify_from(LogPosition::ZERO)?;
    let (log, recovered) = Log::adopt(options.clone(), examined)?;
    log.set_purge_floor(LogPosition::MAX);
    Ok((log, recovered))
}

/// The start refuses, says all of `words`, and changes nothing.
fn check_refused(env: &SimEnv, words: &[&str]) {
    let before = folder(env);
    let error = open(env, &options()).err().expect("the start refuses").to_string();
    for word in words {
        assert!(error.contains(word), "{error:?} does not say {word:?}");
    }
    assert!(folder(env) == before, "something was changed");
}

fn commit(log: &Log, ids: std::ops::RangeInclusive<u64>) -> Vec<LogPosition> {
    ids.map(|id| log.commit(group(id, 200), Box::new(())).unwrap()).collect()
}

/// A bit flipped early in the active file after an unclean stop: the start cut the file there,
/// without a word, and gave the GTIDs of 56 transactions of 400 to others that were flushed long
/// before.
#[test]
fn damage_in_the_middle_of_the_active_file_is_no_torn_tail() {
    for maintained in [300, 400] {
        let env = SimEnv::new(1);
        let (log, _) = open(&env, &options()).unwrap();
        let mut ends = commit(&log, 1..=maintained);
        log.maintain().unwrap();
        ends.extend(commit(&log, maintained + 1..=400));
        drop(log);
        flip(&env, "binlog.000001", ends[99].offset() + 70, 4);
        let good = format!("ends at binlog.000001:{}", ends[99].offset());
        let offset = format!("binlog.000001 is damaged at offset {}", ends[99].offset());
        let gtid = |n| format!("{}:{n}", common::UUID);
        check_refused(
            &env,
            &[
                &offset,
                &good,
                &gtid(100),
                "299 whole transactions",
                &gtid(400),
                "duramen repair --accept-loss",
            ],
        );
        let found = examined(&env);
        assert_eq!(found.recovered.end, ends[99]);
        let finding = found.findings.iter().find(|finding| finding.is_damage).unwrap();
        assert_eq!((finding.file.as_str(), finding.offset), ("binlog.000001", Some(ends[99].offset())));
        // Put right, it starts.
        flip(&env, "binlog.000001", ends[99].offset() + 70, 4);
        assert_eq!(ids(&open(&env, &options()).unwrap().0), (1..=400).collect::<Vec<_>>());
    }
}

/// A closed file that became longer has all that it had. Replay went on after its end, and the
/// start failed.
#[test]
fn bytes_after_a_closed_file_are_no_part_of_the_log() {
    for more in [&[0; 100][..], b"garbage", &[0]] {
        for is_rotated in [true, false] {
            let env = SimEnv::new(7);
            let (log, _) = open(&env, &options()).unwrap();
            commit(&log, 1..=5);
            let (log, first) = if is_rotated {
                log.rotate().unwrap();
                (log, "binlog.000001")
            } else {
                log.close().unwrap();
                drop(log);
                (open(&env, &options()).unwrap().0, "binlog.000001")
            };
            commit(&log, 6..=9);
            drop(log);
            let file = env.open(&path(first), OpenMode::ReadWrite).unwrap();
            file.write_at(more, file.len().unwrap()).unwrap();
            file.sync_all().unwrap();
            let (log, _) = open_whole(&env, &options()).unwrap();
            assert_eq!(ids(&log), (1..=9).collect::<Vec<_>>(), "rotated: {is_rotated}");
            drop(log);
            let held = env.read_file(&path(first)).unwrap();
            assert!(held.ends_with(more), "a start cut it");
        }
    }
}

/// After the mark a torn tail and damage can't be distinguished: both are cut off, and saved.
#[test]
fn what_is_cut_off_is_saved() {
    let env = SimEnv::new(2);
    let (log, _) = open(&env, &options()).unwrap();
    let ends = commit(&log, 1..=5);
    drop(log);
    let whole = env.read_file(&path("binlog.000001")).unwrap();
    flip(&env, "binlog.000001", ends[2].offset() + 3, 1);
    let damaged = env.read_file(&path("binlog.000001")).unwrap();
    let (log, recovered) = open(&env, &options()).unwrap();
    assert_eq!((ids(&log), recovered.end), (vec![1, 2, 3], ends[2]));
    assert_eq!(recovered.cut_file, Some(path("binlog.000001.cut")));
    assert!(!recovered.clean_shutdown);
    let (from, to) = (ends[2].offset() as usize, ends[4].offset() as usize);
    assert_eq!(env.read_file(&path("binlog.000001.cut")).unwrap(), &damaged[from..to]);
    assert_eq!(env.read_file(&path("binlog.000001")).unwrap().len(), from, "its length says where it was");
    drop(log);
    // The same once more, as if the power had gone before the file was cut; then with other bytes.
    for (content, cut_file) in [(&damaged, "binlog.000001.cut"), (&whole, "binlog.000001.cut-2")] {
        env.remove_file(&path("binlog.000002")).unwrap();
        env.remove_file(&path("binlog.durable")).unwrap();
        env.replace_file(&path("binlog.index"), b"./binlog.000001\n").unwrap();
        let file = env.open(&path("binlog.000001"), OpenMode::ReadWrite).unwrap();
        file.write_at(&content[..to], 0).unwrap();
        flip(&env, "binlog.000001", ends[2].offset() + 4, u8::from(cut_file.ends_with('2')));
        let (log, recovered) = open(&env, &options()).unwrap();
        assert_eq!(recovered.cut_file, Some(path(cut_file)));
        assert_eq!(log.files().len(), 2, "they are no log files");
        assert_eq!(examined(&env).cut_files.len(), usize::from(cut_file.ends_with('2')) + 1);
    }
}

/// After a clean stop: the start refused, but had cut the file, cleared its flag and made the next
/// one.
#[test]
fn damage_after_a_clean_stop_changes_nothing() {
    let env = SimEnv::new(3);
    let (log, _) = open(&env, &options()).unwrap();
    let ends = commit(&log, 1..=20);
    log.close().unwrap();
    drop(log);
    for offset in [ends[10].offset() + 5, ends[18].offset() + 1, ends[19].offset() + 3] {
        flip(&env, "binlog.000001", offset, 0x10);
        check_refused(&env, &["binlog.000001", "offset"]);
        flip(&env, "binlog.000001", offset, 0x10);
    }
    let file = env.open(&path("binlog.000001"), OpenMode::ReadWrite).unwrap();
    let (len, whole) = (file.len().unwrap(), env.read_file(&path("binlog.000001")).unwrap());
    for cut in [ends[4].offset(), ends[4].offset() + 9, ends[19].offset()] {
        file.set_len(cut).unwrap();
        check_refused(&env, &["binlog.000001", "flushed up to"]);
        file.write_at(&whole, 0).unwrap();
    }
    assert_eq!(file.len().unwrap(), len);
    env.remove_file(&path("binlog.000001")).unwrap();
    check_refused(&env, &["binlog.000001 is missing"]);
}

/// Where an older version kept no mark: what was committed much later proves that a place was
/// flushed.
#[test]
fn without_a_mark_commit_times_decide() {
    for (minutes, is_damage) in [(0, false), (9, false), (11, true)] {
        let env = SimEnv::new(4);
        let (log, _) = open(&env, &options()).unwrap();
        let ends = commit(&log, 1..=3);
        env.advance(Duration::from_secs(60 * minutes));
        commit(&log, 4..=5);
        drop(log);
        env.remove_file(&path("binlog.durable")).unwrap();
        flip(&env, "binlog.000001", ends[0].offset() + 75, 1);
        if is_damage {
            check_refused(&env, &["binlog.000001", "much later", "3 whole transactions"]);
        } else {
            assert_eq!(ids(&open(&env, &options()).unwrap().0), [1], "{minutes} minutes");
        }
    }
}

/// A flipped bit in the index had the first log file removed, which may have been the only copy of
/// what it held.
#[test]
fn a_damaged_index_costs_no_file() {
    for files in 1..=3 {
        let env = SimEnv::new(5);
        let (log, _) = open(&env, &options()).unwrap();
        for id in 1..=files {
            commit(&log, id..=id);
            if id < files {
                log.rotate().unwrap();
            }
        }
        log.maintain().unwrap();
        drop(log);
        let index = env.read_file(&path("binlog.index")).unwrap();
        let (mut opened, mut refused) = (0, 0);
        for bit in 0..8 * index.len() as u64 {
            let again = env.copy_after_cut(bit);
            flip(&again, "binlog.index", bit / 8, 1 << (bit % 8));
            let before = folder(&again);
            match open(&again, &options()) {
                Ok((log, _)) => {
                    assert_eq!(ids(&log), (1..=files).collect::<Vec<_>>(), "bit {bit}");
                    assert!(before.keys().all(|path| again.exists(path)));
                    log.maintain().unwrap();
                    let text = again.read_file(&path("binlog.index")).unwrap();
                    assert_eq!(text.iter().filter(|&&b| b == b'\n').count() as u64, files + 1);
                    opened += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("binlog."), "bit {bit}: {error}");
                    assert!(folder(&again) == before, "bit {bit}: something was changed");
                    refused += 1;
                }
            }
        }
        assert!(opened > 4 * refused, "{files} files: {opened} opened, {refused} refused");
        let again = env.copy_after_cut(1);
        again.remove_file(&path("binlog.index")).unwrap();
        assert_eq!(examined(&again).index, IndexState::Missing);
        assert_eq!(ids(&open(&again, &options()).unwrap().0).len() as u64, files);
    }
}

#[test]
fn an_index_that_is_lost_with_a_file_is_not_made_up() {
    let env = SimEnv::new(6);
    let (log, _) = open(&env, &options()).unwrap();
    for id in 1..=4 {
        commit(&log, id..=id);
        log.rotate().unwrap();
    }
    log.close().unwrap();
    env.remove_file(&path("binlog.000003")).unwrap();
    env.remove_file(&path("binlog.index")).unwrap();
    check_refused(&env, &["binlog.000003 is missing"]);
}

/// What is left of a purge that was broken off: files that fit are in the log again, others stay
/// where they are.
#[test]
fn what_a_purge_left_is_not_removed_by_a_start() {
    let env = SimEnv::new(7);
    let (log, _) = open(&env, &options()).unwrap();
    for id in 1..=5 {
        commit(&log, id..=id);
        log.rotate().unwrap();
    }
    log.maintain().unwrap();
    let before = folder(&env);
    log.purge_to(FileNumber(4)).unwrap();
    drop(log);
    let restore = |name: &str| env.replace_file(&path(name), &before[&path(name)]).unwrap();
    restore("binlog.000003");
    assert_eq!(examined(&env).recovered.files[0], FileNumber(3));
    restore("binlog.000001");
    let found = examined(&env);
    assert_eq!((found.recovered.files[0], &found.strays[..]), (FileNumber(3), &[path("binlog.000001")][..]));
    flip(&env, "binlog.000003", before[&path("binlog.000003")].len() as u64 - 50, 1);
    let (log, _) = open(&env, &options()).unwrap();
    assert_eq!(
        (ids(&log), log.files()[0].number),
        (vec![4, 5], FileNumber(4)),
        "one that is damaged does not fit"
    );
    assert!(env.exists(&path("binlog.000001")) && env.exists(&path("binlog.000003")));
}

/// A forgotten `--log-bin`: the start gave an empty server, which gave out the same GTIDs again.
#[test]
fn a_log_of_another_name_is_not_passed_over() {
    let env = SimEnv::new(13);
    let other = LogOptions { base_name: "mysql-bin".to_owned(), ..options() };
    let (log, _) = open(&env, &other).unwrap();
    commit(&log, 1..=2);
    drop(log);
    check_refused(&env, &["mysql-bin.000001", "--log-bin=mysql-bin"]);
    assert_eq!(ids(&open(&env, &other).unwrap().0), [1, 2]);
    for number in 1..=2 {
        env.remove_file(&path(&format!("mysql-bin.{number:06}"))).unwrap();
    }
    check_refused(&env, &["mysql-bin.index", "--log-bin=mysql-bin"]);
    // What only has such a name is no log.
    env.remove_file(&path("mysql-bin.index")).unwrap();
    for name in ["data.000001", "data.index"] {
        env.replace_file(&path(name), b"something else").unwrap();
    }
    open(&env, &options()).unwrap();
    // Where this log is there, others are nobody's concern.
    open(&env, &other).err().expect("binlog.000001 is there");
    env.replace_file(&path("mysql-bin.000001"), &env.read_file(&path("binlog.000001")).unwrap()).unwrap();
    open(&env, &options()).unwrap();
}

#[test]
fn a_damaged_reset_changes_nothing() {
    let env = SimEnv::new(8);
    let (log, _) = open(&env, &options()).unwrap();
    commit(&log, 1..=3);
    let unfinished = large_group(&log, 9, 10).unwrap();
    log.maintain().unwrap();
    // Power goes between the declaration and the removal of the old files.
    env.fail(env::Fault::SyncDir, "", 0);
    assert!(log.reset(1, log.ordered(), log.ordered()).is_err());
    drop((unfinished, log));
    let env = (0..100).map(|seed| env.copy_after_cut(seed)).find(|env| env.exists(&path("binlog.reset")));
    let env = env.expect("the new name may survive");
    env.open(&path("binlog.large-7"), OpenMode::CreateNew).unwrap();
    for offset in [2, 30, 90, 160, 200] {
        flip(&env, "binlog.reset", offset, 2);
        check_refused(&env, &["binlog.reset"]);
        flip(&env, "binlog.reset", offset, 2);
    }
    let (log, recovered) = open(&env, &options()).unwrap();
    assert!(recovered.reset.is_some() && ids(&log).is_empty() && !env.exists(&path("binlog.large-7")));
}

/// A log of five files of two transactions each, stopped cleanly, and where its transactions end.
fn five_files(seed: u64) -> (SimEnv, Vec<LogPosition>) {
    let env = SimEnv::new(seed);
    let (log, _) = open(&env, &options()).unwrap();
    let mut ends = Vec::new();
    for n in 0..5 {
        ends.extend(commit(&log, 2 * n + 1..=2 * n + 2));
        if n < 4 {
            log.rotate().unwrap();
        }
    }
    log.close().unwrap();
    (env, ends)
}

/// A file of a copy that went on with less: it ends with Rotate, as a whole file does.
#[test]
fn a_closed_file_that_lacks_transactions_is_refused() {
    let (env, ends) = five_files(10);
    let other = SimEnv::new(10);
    let (log, _) = open(&other, &options()).unwrap();
    for ids in [1..=2, 3..=3] {
        commit(&log, ids);
        log.rotate().unwrap();
    }
    drop(log);
    let found = examined(&env);
    for from in [LogPosition::ZERO, ends[0], ends[1], ends[2], ends[3], ends[7]] {
        found.verify_from(from).unwrap();
    }
    let less = other.read_file(&path("binlog.000002")).unwrap();
    env.replace_file(&path("binlog.000002"), &less).unwrap();
    let words = ["binlog.000003 is damaged", "binlog.000002 does not have", &format!("{}:4 ", common::UUID)];
    let error = open_whole(&env, &options()).err().unwrap().to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
    for from in [ends[0], ends[1]] {
        assert!(examined(&env).verify_from(from).is_err(), "{from}");
    }
    examined(&env).verify_from(ends[4]).unwrap();
}

/// A copy of the last file under the next name, which a restored backup left there: the start did
/// all of its transactions a second time.
#[test]
fn a_copy_of_a_file_behind_it_is_refused() {
    let (env, ends) = five_files(12);
    let last = env.read_file(&path("binlog.000005")).unwrap();
    env.replace_file(&path("binlog.000006"), &last).unwrap();
    let before = folder(&env);
    let found = examined(&env);
    for from in [LogPosition::ZERO, ends[0], ends[8], ends[9]] {
        let error = found.verify_from(from).expect_err("it is found").to_string();
        for word in ["binlog.000006 is damaged", "which are in binlog.000005"] {
            assert!(error.contains(word), "{error}");
        }
    }
    assert!(folder(&env) == before, "something was changed");
}

/// The file that recovery begins in the middle of: what is in front of that place counts, too.
#[test]
fn a_closed_file_that_lacks_its_end_is_refused() {
    let write = |per_file: &[std::ops::RangeInclusive<u64>]| {
        let env = SimEnv::new(11);
        let (log, _) = open(&env, &options()).unwrap();
        let mut ends = Vec::new();
        for ids in per_file {
            ends.extend(commit(&log, ids.clone()));
            log.rotate().unwrap();
        }
        log.close().unwrap();
        (env, ends)
    };
    let (env, ends) = write(&[1..=3, 4..=8, 9..=9]);
    let (less, _) = write(&[1..=3, 4..=7]);
    for from in &ends {
        examined(&env).verify_from(*from).unwrap();
    }
    let less = less.read_file(&path("binlog.000002")).unwrap();
    env.replace_file(&path("binlog.000002"), &less).unwrap();
    for from in [ends[1], ends[3], ends[5]] {
        let error = examined(&env).verify_from(from).unwrap_err().to_string();
        assert!(error.contains(&format!("{}:8 ", common::UUID)), "{from}: {error}");
    }
    // Cut to its header, it lacks what the tables have, too.
    let header = 2 * ends[3].offset() - ends[4].offset();
    env.replace_file(&path("binlog.000002"), &less[..header as usize]).unwrap();
    for from in [ends[1], ends[3], ends[5], ends[7]] {
        let error = examined(&env).verify_from(from).unwrap_err().to_string();
        assert!(error.contains(&format!("{}:4-8 ", common::UUID)), "{from}: {error}");
    }
}

/// A file after the checkpoint is taken out, and those after it renumbered.
#[test]
fn a_file_that_was_taken_out_is_missed_though_the_rest_is_renumbered() {
    let (env, ends) = five_files(12);
    let index = env.read_file(&path("binlog.index")).unwrap();
    for n in 3..5 {
        let next = env.read_file(&path(&format!("binlog.00000{}", n + 1))).unwrap();
        env.replace_file(&path(&format!("binlog.00000{n}")), &next).unwrap();
    }
    env.remove_file(&path("binlog.000005")).unwrap();
    env.remove_file(&path("binlog.durable")).unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&index).unwrap().lines().take(4).collect();
    env.replace_file(&path("binlog.index"), (lines.join("\n") + "\n").as_bytes()).unwrap();
    for from in [LogPosition::ZERO, ends[0], ends[2]] {
        let error = examined(&env).verify_from(from).unwrap_err().to_string();
        assert!(error.contains("binlog.000003") && error.contains(":5-6 "), "{error}");
    }
}

/// Another part of the database proves that the log was longer.
#[test]
fn a_checkpoint_after_a_torn_tail_is_damage() {
    let env = SimEnv::new(9);
    let (log, _) = open(&env, &options()).unwrap();
    let ends = commit(&log, 1..=5);
    drop(log);
    flip(&env, "binlog.000001", ends[1].offset() + 3, 1);
    let found = examined(&env);
    assert!(found.check().is_ok() && found.require_durable(ends[1], "").is_ok());
    let error = found.require_durable(ends[2], "the tables say so").unwrap_err();
    assert!(error.to_string().contains("the tables say so") && error.is_damage(), "{error}");
}

/// What is done to a file.
#[derive(Debug)]
enum Rot {
    Bit,
    Byte,
    Truncation,
}

fn spoil(env: &SimEnv, path: &Path, random: &mut Random) -> Option<(Rot, u64)> {
    let file = env.open(path, OpenMode::ReadWrite).unwrap();
    let mut content = env.read_file(path).unwrap();
    // Most of an active file may be zeros made ahead.
    let used = content.iter().rposition(|&b| b != 0).map_or(0, |last| last as u64 + 1);
    let upto = if random.chance(1, 10) { content.len() as u64 } else { used };
    if upto == 0 {
        return None;
    }
    let at = random.below(upto);
    let rot = match random.below(6) {
        0 => Rot::Truncation,
        1 | 2 => Rot::Byte,
        _ => Rot::Bit,
    };
    let byte = &mut content[at as usize];
    match rot {
        Rot::Truncation => file.set_len(at).unwrap(),
        Rot::Byte => *byte = byte.wrapping_add(1 + random.below(255) as u8),
        Rot::Bit => *byte ^= 1 << random.below(8),
    }
    if !matches!(rot, Rot::Truncation) {
        file.write_at(&[*byte], at).unwrap();
    }
    file.sync_all().unwrap();
    Some((rot, at))
}

/// A life of a log: commits, rotations, purges, now and then a reset. Returns what was acknowledged
/// since.
fn live(env: &SimEnv, options: &LogOptions, random: &mut Random) -> (Arc<Log>, Vec<(u64, LogPosition)>) {
    let hook_log = HookLog::default();
    let (log, _) = open(env, options).unwrap();
    let mut order = Vec::new();
    for id in 1..=5 + random.below(30) {
        match random.below(24) {
            0 => log.rotate().unwrap(),
            1 | 2 => log.maintain().unwrap(),
            3 => {
                let files = log.files();
                log.purge_to(files[random.below(files.len() as u64) as usize].number).unwrap();
            }
            4 if random.chance(1, 3) => {
                assert!(log.reset(1 + random.below(9) as u32, log.ordered(), log.ordered()).unwrap());
            }
            _ => {}
        }
        let size = random.below(900) as usize;
        let group =
            if random.chance(1, 8) { large_group(&log, id, 2 * size).unwrap() } else { group(id, size) };
        log.commit(group, hook_log.hook(id)).unwrap();
        order.extend(hook_log.take().into_iter().map(|(id, position)| (id, position.unwrap())));
    }
    let first = log.files()[0].number;
    order.retain(|(_, position)| position.file() >= first);
    (log, order)
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// All transactions are there.
    Whole,
    /// The end after what is known to be flushed was cut off, and saved.
    Cut,
    Refused,
    /// The start succeeded; a reader of the damaged bytes gets an error.
    ReportedToReader,
}

fn trial(seed: u64) -> Option<Outcome> {
    let mut random = Random::new(seed);
    let mut env = SimEnv::new(seed);
    let mut options = options();
    options.max_binlog_size = [700, 3000, 1 << 20][random.below(3) as usize];
    options.binlog_prealloc_num = random.below(2) as u32;
    options.binlog_large_commit_threshold = 600;
    let (log, order) = live(&env, &options, &mut random);
    let clean = random.chance(1, 2);
    if clean {
        log.close().unwrap();
    } else if random.chance(2, 3) {
        log.maintain().unwrap();
    }
    drop(log);
    if random.chance(1, 2) {
        env = env.reboot();
    }
    let known = examined(&env).durable.unwrap_or_default();
    let owed = if clean { order.len() } else { order.partition_point(|&(_, position)| position <= known) };
    let paths = env.read_dir(Path::new(DIR)).unwrap();
    let spoilt = &paths[random.below(paths.len() as u64) as usize];
    let name = spoilt.file_name().unwrap().to_string_lossy().into_owned();
    let (rot, at) = spoil(&env, spoilt, &mut random)?;
    let what = format!("seed {seed}: {rot:?} of {name} at {at}, clean: {clean}, {} files", paths.len());
    let before = folder(&env);
    let names_it = |error: &LogError| {
        let text = error.to_string();
        // An index that lists a file that never was is as good as a file that is gone.
        assert!(text.contains(&name) || name == "binlog.index" && text.contains("binlog."), "{what}: {text}");
    };
    let (log, recovered) = match open_whole(&env, &options) {
        Ok(opened) => opened,
        Err(error) => {
            names_it(&error);
            assert!(folder(&env) == before, "{what}: refused, but something was changed");
            return Some(Outcome::Refused);
        }
    };
    let mut found = Vec::new();
    let read = log.replay::<LogError>(LogPosition::ZERO, &mut |event| {
        if event.is_last {
            found.push(event.position);
        }
        Ok(())
    });
    if let Err(error) = read {
        names_it(&error);
        return Some(Outcome::ReportedToReader);
    }
    let found = replayed(&log, LogPosition::ZERO);
    assert_eq!(found, order[..found.len()], "{what}");
    assert!(found.len() >= owed, "{what}: {} of {owed} that are owed, of {}", found.len(), order.len());
    assert_eq!(recovered.gtid_executed.intervals().count(), usize::from(!recovered.gtid_executed.is_empty()));
    if found.len() == order.len() {
        return Some(Outcome::Whole);
    }
    assert!(matches!(rot, Rot::Truncation) || recovered.cut_file.is_some(), "{what}: cut, and not kept");
    Some(Outcome::Cut)
}

/// One file is damaged somewhere, after a clean stop, a killed process or a power cut.
#[test]
fn bit_rot_is_refused_or_does_no_harm() {
    let number = |name: &str, default| std::env::var(name).ok().map_or(default, |s| s.parse().unwrap());
    let (first, trials) = (number("BITROT_FIRST", 0), number("BITROT_TRIALS", 600));
    let mut outcomes = BTreeMap::new();
    for seed in first..first + trials {
        let outcome = std::panic::catch_unwind(|| trial(seed));
        let outcome = outcome.unwrap_or_else(|_| panic!("failed with BITROT_FIRST={seed} BITROT_TRIALS=1"));
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    println!("{trials} trials from {first}: {outcomes:?}");
    assert!(outcomes.contains_key(&Some(Outcome::Refused)) && outcomes.contains_key(&Some(Outcome::Whole)));
}
