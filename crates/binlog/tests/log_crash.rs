//! The log in foul weather: power cuts at every operation, failing writes and flushes, full disks.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::gtid::GtidSpecification;
use binlog::log::{CommitError, Committed, Log, LogError, LogOptions};
use binlog::{FileNumber, LogPosition};
use common::{DIR, HookLog, drain, group, ids, large_group, open, options, replayed};
use env::{Env, Fault, OpenMode, SimEnv};
use std::path::Path;
use std::sync::Arc;
use stdx::random::Random;

/// What the outside world knows of a log that lost power.
#[derive(Default)]
struct World {
    /// Every transaction whose place was fixed, in order; after them those that the power cut
    /// refused: their bytes may have reached the disk, and then so has their place.
    order: Vec<(u64, LogPosition)>,
    /// How many of them must be there: acknowledged as durable, or seen by a reader.
    owed: usize,
    /// The furthest file that a purge was tried up to.
    purged_to: u32,
    next_id: u64,
    /// No later life may use a position at or below it.
    used: LogPosition,
    sync_binlog: u32,
    trx_commit: u8,
}

impl World {
    fn owe_up_to(&mut self, position: LogPosition) {
        self.owed =
            self.owed.max(self.order.partition_point(|&(_, p)| p <= position && p < LogPosition::MAX));
    }

    /// C2 at the log's level: what is there is a piece of the order, without what was purged, with
    /// all that is owed.
    fn check(&mut self, log: &Log, start: LogPosition) {
        assert!(start > self.used, "position {start} was used before: {}", self.used);
        let found = replayed(log, LogPosition::ZERO);
        let purged = self
            .order
            .iter()
            .position(|&(_, p)| p.file() >= log.files()[0].number)
            .unwrap_or(self.order.len());
        let purgeable = self.order.partition_point(|&(_, p)| p.file().0 < self.purged_to);
        assert!(purged <= purgeable, "{purged} first transactions are gone, {purgeable} were purged");
        let end = purged + found.len();
        for (known, found) in self.order[purged..].iter_mut().zip(&found) {
            if known.1 == LogPosition::MAX {
                known.1 = found.1;
            }
        }
        assert!(end >= self.owed.max(purged), "{end} transactions are there, {} are owed", self.owed);
        assert_eq!(Some(found.as_slice()), self.order.get(purged..end));
        self.order.truncate(end);
        self.owed = end;
    }
}

/// One life of the log: random work until the power goes. An error is the power cut's.
fn live(world: &mut World, env: &SimEnv, random: &mut Random) -> Result<(), LogError> {
    let mut options = options();
    options.max_binlog_size = 500 + random.below(8000);
    options.binlog_prealloc_num = random.below(3) as u32;
    options.binlog_large_commit_threshold = 200 + random.below(2000);
    (world.sync_binlog, world.trx_commit) = (random.below(4) as u32, random.below(3) as u8);
    (options.sync_binlog, options.trx_commit) = (world.sync_binlog, world.trx_commit);
    let (log, _) = open(env, &options)?;
    world.check(&log, log.end());
    let hook_log = HookLog::default();
    let mut reader = log.reader(LogPosition::ZERO)?;
    loop {
        let result = act(world, &log, &hook_log, &mut reader, random);
        world.used = world.used.max(log.durable());
        match result {
            Ok(()) if env.is_powered() => {}
            Ok(()) => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}

fn act(
    world: &mut World,
    log: &Arc<Log>,
    hook_log: &HookLog,
    reader: &mut binlog::log::LogReader,
    random: &mut Random,
) -> Result<(), LogError> {
    match random.below(20) {
        0 => log.rotate()?,
        1 => log.maintain()?,
        2 => {
            world.sync_binlog = random.below(4) as u32;
            log.set_sync_binlog(world.sync_binlog);
        }
        3 => {
            world.trx_commit = random.below(3) as u8;
            log.set_trx_commit(world.trx_commit);
        }
        4 => {
            let files = log.files();
            let keep = files[random.below(files.len() as u64) as usize].number;
            world.purged_to = world.purged_to.max(keep.0);
            log.purge_to(keep)?;
            *reader = log.reader(LogPosition::ZERO)?;
        }
        5 | 6 => {
            while let Some(event) = reader.next(std::time::Duration::ZERO)? {
                world.used = world.used.max(event.end());
            }
            world.owe_up_to(reader.position());
        }
        7 => {
            log.ensure_durable(log.visible())?;
            world.owe_up_to(log.visible());
        }
        8 if random.chance(1, 10) => {
            log.close()?;
            world.owe_up_to(LogPosition::MAX);
            return Err(LogError::Closed);
        }
        _ => commit_some(world, log, hook_log, random)?,
    }
    Ok(())
}

fn commit_some(
    world: &mut World,
    log: &Arc<Log>,
    hook_log: &HookLog,
    random: &mut Random,
) -> Result<(), LogError> {
    let members = 1 + random.below(5);
    let mut tickets = Vec::new();
    for _ in 0..members {
        world.next_id += 1;
        let (id, size) = (world.next_id, random.below(900) as usize);
        let group = match random.below(4) {
            0 => large_group(log, id, 3 * size),
            _ => Ok(group(id, size)),
        };
        match group {
            Ok(group) if random.chance(19, 20) => {
                let tag = ["", "", "a", "another_tag"][random.below(4) as usize].parse().unwrap();
                let gtid = GtidSpecification::Automatic(tag);
                tickets.push(log.enqueue_with_gtid(group, gtid, hook_log.hook(id)));
            }
            Ok(rolled_back) => drop(rolled_back),
            Err(e) if tickets.is_empty() => return Err(e),
            Err(_) => break,
        }
    }
    let outcomes: Vec<_> = tickets.into_iter().map(|t| t.wait()).collect();
    // A refusal without a power cut is for good, but this disk has no other fault.
    world
        .order
        .extend(hook_log.take().into_iter().map(|(id, position)| (id, position.unwrap_or(LogPosition::MAX))));
    for outcome in outcomes {
        match outcome {
            Ok(Committed { position, .. }) if world.sync_binlog == 1 || world.trx_commit == 1 => {
                assert!(log.durable() >= position, "acknowledged, but not durable (G2)");
                world.owe_up_to(position);
            }
            Ok(_) => {}
            Err(e) => return Err(e.log_error().clone()),
        }
    }
    Ok(())
}

/// Several lives of one disk, each ended by a power cut in the middle of some operation.
#[test]
fn power_cuts_anywhere_leave_a_prefix_with_all_that_is_owed() {
    let seeds: u64 = std::env::var("CRASH_SEEDS").ok().map_or(3000, |s| s.parse().unwrap());
    let first: u64 = std::env::var("CRASH_FIRST").ok().map_or(0, |s| s.parse().unwrap());
    let (mut lives, mut transactions) = (0_u64, 0);
    for seed in first..first + seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut random = Random::new(seed);
            let env = SimEnv::new(seed);
            let env = if seed % 2 == 0 { env } else { env.with_rare_paths() };
            let mut env = if seed % 10 < 8 { env } else { env.encrypted() };
            let mut world = World::default();
            for _ in 0..4 {
                env.cut_at(1 + random.below(120));
                let ended = live(&mut world, &env, &mut random);
                assert!(
                    !env.is_powered() || matches!(ended, Err(LogError::Closed)),
                    "stopped without a power cut: {ended:?}"
                );
                env = env.reboot();
            }
            let (log, _) = open(&env, &options()).unwrap();
            world.check(&log, log.end());
            world.next_id
        });
        transactions +=
            outcome.unwrap_or_else(|_| panic!("failed with seed {seed}: CRASH_FIRST={seed} CRASH_SEEDS=1"));
        lives += 4;
    }
    println!("{seeds} seeds from {first}, {lives} lives, {transactions} transactions");
}

/// Steps a to l of `files.rs`, exhaustively: a script with every one of them, cut at each
/// operation, with many outcomes of each cut, and the recovery itself cut at each of its
/// operations.
#[test]
fn every_crash_point_of_rotation_purge_and_startup() {
    let mut options = options();
    options.binlog_prealloc_num = 1;
    options.max_binlog_size = 4096;
    options.binlog_large_commit_threshold = 1000;
    let script = |env: &SimEnv, hook_log: &HookLog| -> Result<(), LogError> {
        let commit =
            |log: &Log, id| log.commit(group(id, 700), hook_log.hook(id)).map_err(|e| e.log_error().clone());
        let (log, _) = open(env, &options)?;
        commit(&log, 1)?;
        log.rotate()?; // from no pool
        commit(&log, 2)?;
        log.maintain()?;
        log.rotate()?; // from the pool
        commit(&log, 3)?;
        log.purge_to(FileNumber(2))?;
        log.rotate()?;
        log.purge_to(FileNumber(4))?;
        let committed = log.commit(large_group(&log, 4, 1500)?, hook_log.hook(4));
        committed.map_err(|e| e.log_error().clone())?;
        drop(large_group(&log, 99, 1500)?); // rolled back
        commit(&log, 5)?;
        log.close()?;
        let (log, _) = open(env, &options)?;
        let _running = large_group(&log, 99, 1500)?;
        commit(&log, 6)?;
        Ok(())
    };
    let check = |env: &SimEnv, hook_log: &HookLog, what: &dyn Fn() -> String| {
        let (log, recovered) = open(env, &options).unwrap_or_else(|e| panic!("{e} after {}", what()));
        let (found, ordered) = (ids(&log), [hook_log.ordered(), hook_log.refused()].concat());
        let last = recovered.gtid_executed.count() as u64;
        assert!(ordered.len() as u64 - last <= 1, "{found:?} of {ordered:?} after {}", what());
        assert!(
            found.is_empty() || (found[0]..=last).eq(found.iter().copied()),
            "{found:?} after {}",
            what()
        );
        assert!(found.first().is_none_or(|&id| id <= 5), "{found:?} after {}", what());
        assert_eq!(recovered.files.len() + 1, log.files().len());
        log.commit(group(99, 1), Box::new(())).unwrap();
        log.rotate().unwrap();
        let names: Vec<_> = env.read_dir(Path::new(DIR)).unwrap();
        let strays = names.iter().filter(|p| {
            let name = p.file_name().unwrap().to_string_lossy();
            name.ends_with(".new")
                || name.contains(".large-")
                || name.ends_with(".tmp") && !name.ends_with("binlog.tmp")
        });
        assert_eq!(strays.count(), 0, "{names:?} after {}", what());
    };
    let mut cut = 1;
    loop {
        let (env, hook_log) = (SimEnv::new(cut), HookLog::default());
        env.cut_at(cut);
        let done = script(&env, &hook_log).is_ok();
        for seed in 0..20 {
            check(&env.reboot_with(seed), &hook_log, &|| format!("a cut at operation {cut}, seed {seed}"));
        }
        for second in 1..40 {
            let again = env.reboot_with(second);
            again.cut_at(second);
            if open(&again, &options).is_ok() && again.is_powered() {
                break;
            }
            for seed in 0..4 {
                let what = || format!("cuts at operations {cut} and {second}, seed {seed}");
                check(&again.reboot_with(seed), &hook_log, &what);
            }
        }
        if done {
            break;
        }
        cut += 1;
    }
    println!("{cut} crash points");
    assert!(cut > 50);
}

/// E4: after a failed flush nothing is acknowledged, whatever later flushes say; reads go on; a
/// restart is clean.
#[test]
fn a_failed_flush_latches_the_log() {
    for seed in 0..200 {
        let env = SimEnv::new(seed);
        let (log, _) = open(&env, &options()).unwrap();
        let hook_log = HookLog::default();
        let good = log.commit(group(1, 100), hook_log.hook(1)).unwrap();
        env.fail(Fault::Sync, "", 0);
        let tickets: Vec<_> = (2..=4).map(|id| log.enqueue(group(id, 2000), hook_log.hook(id))).collect();
        for ticket in tickets {
            assert!(matches!(ticket.wait(), Err(CommitError::Unknown(_))), "seed {seed}");
        }
        let refused = log.commit(group(5, 1), hook_log.hook(5)).unwrap_err();
        assert!(matches!(refused, CommitError::Refused(LogError::Latched(_))), "{refused}");
        assert_eq!((hook_log.ordered(), hook_log.refused()), (vec![1, 2, 3, 4], vec![5]));
        assert_eq!((log.visible(), log.durable()), (good, good));
        assert!(log.wait_visible(log.ordered()).is_err() && log.ensure_durable(log.end()).is_err());
        assert!(log.rotate().is_err() && log.close().is_err() && log.check().is_err());
        assert_eq!(ids(&log), [1], "reads go on");
        drop(log);
        let (log, _) = open(&env.reboot(), &options()).unwrap();
        let found = ids(&log);
        assert!([1, 2, 3, 4].starts_with(&found) && !found.is_empty(), "seed {seed}: {found:?}");
        log.commit(group(9, 1), hook_log.hook(9)).unwrap();
    }
}

/// G4 without a leader: the background's flush fails.
#[test]
fn a_failed_background_flush_latches_the_log() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &options()).unwrap();
    log.set_sync_binlog(0);
    log.set_trx_commit(2);
    let position = log.commit(group(1, 100), Box::new(())).unwrap();
    env.fail(Fault::Sync, "", 0);
    log.maintain().unwrap();
    assert!(log.wait_durable(position).is_err());
    assert!(log.commit(group(2, 1), Box::new(())).is_err());
    assert_eq!(drain(&mut log.reader(LogPosition::ZERO).unwrap()), []);
}

/// G3: a group that could not be written never reappears, and its GTIDs go to others.
#[test]
fn a_failed_write_refuses_its_group_for_good() {
    for seed in 0..300 {
        let env = SimEnv::new(seed);
        let mut random = Random::new(seed);
        let (log, _) = open(&env, &options()).unwrap();
        let hook_log = HookLog::default();
        log.commit(group(1, 100), hook_log.hook(1)).unwrap();
        // Small ones need room, which a new file has not; large ones make it by being written. Room
        // is first tried to be made for more than what is needed.
        let size = if random.chance(1, 2) { 300 } else { 300_000 };
        log.rotate().unwrap();
        for _ in 0..2 {
            env.fail(Fault::Write, "", 0);
        }
        let tickets: Vec<_> = (2..=4).map(|id| log.enqueue(group(id, size), hook_log.hook(id))).collect();
        let outcomes: Vec<_> = tickets.into_iter().map(|t| t.wait()).collect();
        env.clear_faults();
        let refused = outcomes.iter().all(|o| matches!(o, Err(CommitError::Refused(LogError::Io { .. }))));
        assert!(refused || outcomes.iter().all(Result::is_ok), "seed {seed}: {outcomes:?}");
        if random.chance(1, 2) {
            log.commit(group(5, 100), hook_log.hook(5)).unwrap();
        }
        let after = env.reboot();
        let (log, recovered) = open(&after, &options()).unwrap();
        assert_eq!(ids(&log), hook_log.ordered(), "seed {seed}");
        assert_eq!(recovered.gtid_executed.count(), hook_log.ordered().len() as u128);
        assert_eq!(recovered.gtid_executed.intervals().count(), 1, "no GTID was burnt");
    }
}

/// G4: what was ordered overwrites zeros of the file. If that fails it is as if a flush had.
#[test]
fn a_failed_write_into_room_that_was_made_latches_the_log() {
    for seed in 0..100 {
        let env = SimEnv::new(seed);
        let (log, _) = open(&env, &options()).unwrap();
        let hook_log = HookLog::default();
        let good = log.commit(group(1, 100), hook_log.hook(1)).unwrap();
        env.fail(Fault::Write, "", 0);
        let tickets: Vec<_> = (2..=4).map(|id| log.enqueue(group(id, 300), hook_log.hook(id))).collect();
        for ticket in tickets {
            assert!(matches!(ticket.wait(), Err(CommitError::Unknown(_))), "seed {seed}");
        }
        assert!(matches!(log.commit(group(5, 1), hook_log.hook(5)), Err(CommitError::Refused(_))));
        assert_eq!((hook_log.ordered(), hook_log.refused()), (vec![1, 2, 3, 4], vec![5]));
        assert_eq!((log.visible(), log.durable()), (good, good));
        assert!(log.wait_visible(log.ordered()).is_err() && log.ensure_durable(log.ordered()).is_err());
        assert!(log.rotate().is_err() && log.close().is_err() && log.check().is_err());
        assert_eq!(ids(&log), [1], "reads go on");
        drop(log);
        let found = ids(&open(&env.reboot(), &options()).unwrap().0);
        assert!([1, 2, 3, 4].starts_with(&found) && !found.is_empty(), "seed {seed}: {found:?}");
    }
}

/// A full disk refuses, loses nothing acknowledged, and works again once there is room.
#[test]
fn a_full_disk_refuses_until_there_is_room() {
    for seed in 0..100 {
        let env = SimEnv::new(seed);
        let mut random = Random::new(seed);
        let mut options = options();
        options.max_binlog_size = 6000;
        options.binlog_prealloc_num = random.below(2) as u32;
        let (log, _) = open(&env, &options).unwrap();
        let hook_log = HookLog::default();
        env.set_capacity(Some(env.used() + 20_000 + random.below(20_000)));
        let mut refused = 0;
        for id in 1..=200 {
            match log.commit(group(id, random.below(1500) as usize), hook_log.hook(id)) {
                Ok(_) => {}
                Err(CommitError::Refused(e)) => {
                    assert!(e.is_disk_full(), "seed {seed}: {e}");
                    refused += 1;
                }
                Err(e) => panic!("seed {seed}: {e}"),
            }
            // The pool may fail to grow; that is only logged.
            let _ = log.maintain();
        }
        assert!(refused > 0 && !hook_log.ordered().is_empty());
        let check = |env: &SimEnv| {
            let (log, _) = open(env, &options).unwrap();
            assert_eq!(ids(&log), hook_log.ordered(), "seed {seed}");
        };
        env.set_capacity(None);
        log.commit(group(1000, 2000), hook_log.hook(1000)).unwrap();
        log.rotate().unwrap();
        log.commit(group(1001, 2000), hook_log.hook(1001)).unwrap();
        check(&env.reboot());
    }
}

/// Each operation of a rotation fails with EIO in turn: the log goes on in the old file or the new
/// one, or latches; nothing acknowledged is lost.
#[test]
fn a_rotation_that_fails_is_taken_back_or_latches() {
    let (mut taken_back, mut latched) = (0, 0);
    for fault in [Fault::Write, Fault::Sync, Fault::SetLen, Fault::Name, Fault::SyncDir] {
        for nth in 0..4 {
            for seed in 0..20 {
                let env = SimEnv::new(seed);
                let (log, _) = open(&env, &options()).unwrap();
                let hook_log = HookLog::default();
                log.commit(group(1, 100), hook_log.hook(1)).unwrap();
                env.fail(fault, "", nth);
                let rotated = log.rotate();
                env.clear_faults();
                match log.commit(group(2, 100), hook_log.hook(2)) {
                    Ok(_) if rotated.is_err() => taken_back += 1,
                    Ok(_) => {}
                    Err(e) => {
                        assert!(matches!(e, CommitError::Refused(LogError::Latched(_))), "{e}");
                        latched += 1;
                    }
                }
                assert_eq!(ids(&log), hook_log.ordered());
                if log.check().is_ok() {
                    log.rotate().unwrap();
                    log.commit(group(3, 100), hook_log.hook(3)).unwrap();
                }
                let (log, _) = open(&env.reboot(), &options()).unwrap();
                assert_eq!(ids(&log), hook_log.ordered(), "{fault:?} number {nth}, seed {seed}");
            }
        }
    }
    assert!(taken_back > 0 && latched > 0, "{taken_back} taken back, {latched} latched");
}

/// A group torn in the middle is cut with all after it, whole groups too.
#[test]
fn a_torn_group_is_cut_with_all_after_it() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &options()).unwrap();
    let ends: Vec<_> = (1..=5).map(|id| log.commit(group(id, 600), Box::new(())).unwrap()).collect();
    let path = Path::new(DIR).join("binlog.000001");
    let whole = env.read_file(&path).unwrap();
    drop(log);
    let mut random = Random::new(1);
    for round in 0..200 {
        let torn = 1 + random.below(4) as usize;
        let (from, to) = (ends[torn - 1].offset(), ends[torn].offset());
        let at = from + random.below(to - from);
        let file = env.open(&path, OpenMode::ReadWrite).unwrap();
        file.write_at(&whole, 0).unwrap();
        let damage = [0, whole[at as usize] ^ 0x40][usize::from(random.chance(1, 2))];
        file.write_at(&[damage], at).unwrap();
        if damage == whole[at as usize] {
            continue;
        }
        let (log, recovered) = open(&env, &options()).unwrap();
        assert_eq!(ids(&log), (1..=torn as u64).collect::<Vec<_>>(), "round {round}: byte {at}");
        assert_eq!(recovered.end, ends[torn - 1]);
        assert!(recovered.cut_bytes > 0 && !recovered.clean_shutdown);
        drop(log);
        for path in env.read_dir(Path::new(DIR)).unwrap().iter().skip(1) {
            env.remove_file(path).unwrap();
        }
        env.open(&path, OpenMode::ReadWrite).unwrap();
    }
}

/// Nothing in a file, however wrong, panics recovery.
#[test]
fn hostile_files_do_not_panic() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let env = SimEnv::new(seed);
        let base: LogOptions = options();
        let (log, _) = open(&env, &base).unwrap();
        for id in 1..=3 {
            log.commit(group(id, 50), Box::new(())).unwrap();
        }
        drop(log);
        let file = env.open(&Path::new(DIR).join("binlog.000001"), OpenMode::ReadWrite).unwrap();
        for _ in 0..=random.below(4) {
            let mut noise = vec![0; 1 + random.below(8) as usize];
            random.fill(&mut noise);
            file.write_at(&noise, random.below(900)).unwrap();
        }
        if random.chance(1, 3) {
            file.set_len(random.below(900)).unwrap();
        }
        if let Ok((log, _)) = open(&env, &base) {
            assert!([1, 2, 3].starts_with(&ids(&log)), "seed {seed}");
        }
    }
}
