//! The log under many threads, with its background at work: on the real disk, and on a simulated
//! one that fails.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::LogPosition;
use binlog::log::{CommitError, Log, LogError};
use common::{DIR, HookLog, drain, group, ids, options, replayed};
use env::{Env, Fault, RealEnv, SimEnv};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use stdx::random::Random;

fn open_with_threads(env: Arc<dyn Env>, dir: &Path, max_size: u64, prealloc: u32) -> Arc<Log> {
    let mut options = options();
    options.background = true;
    options.max_binlog_size = max_size;
    options.binlog_prealloc_num = prealloc;
    let (log, _) = Log::open(env, dir, options).unwrap();
    log.set_purge_floor(LogPosition::MAX);
    log
}

/// A session's commit, which it waits for by parking or by a completion callback.
fn commit(log: &Log, defers: bool, id: u64, hook_log: &HookLog) -> LogPosition {
    let ticket = log.enqueue(group(id, (id % 300) as usize), hook_log.hook(id));
    if !defers {
        return ticket.wait().unwrap().position;
    }
    let (sender, outcome) = mpsc::channel();
    ticket.on_complete(move |committed| sender.send(committed).unwrap());
    outcome.recv_timeout(Duration::from_secs(60)).expect("a completion callback was lost").unwrap().position
}

/// `threads` sessions commit `each`, some of which defer their replies instead of parking; a reader
/// follows; another thread rotates, purges nothing, and changes the policies.
fn hammer(log: &Arc<Log>, threads: u64, each: u64, change_policies: bool) {
    let hook_log = HookLog::default();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let mut reader = log.reader(LogPosition::ZERO).unwrap();
            let mut found = Vec::new();
            while found.len() < (threads * each) as usize {
                // An event that it waits for opens a group, or is the log's own; its XID is still
                // to come.
                reader
                    .next(Duration::from_millis(20))
                    .unwrap()
                    .inspect(|e| assert!(e.end() <= log.durable()));
                found.append(&mut drain(&mut reader));
            }
            found
        });
        let meddler = scope.spawn(|| {
            let mut random = Random::new(1);
            while !stop.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
                match random.below(if change_policies { 4 } else { 1 }) {
                    1 => log.set_sync_binlog(random.below(4) as u32),
                    2 => log.set_trx_commit(random.below(3) as u8),
                    3 => log.ensure_durable(log.visible()).unwrap(),
                    _ if random.chance(1, 10) => log.rotate().unwrap(),
                    _ => {}
                }
            }
        });
        let sessions: Vec<_> = (0..threads)
            .map(|t| {
                let (log, hook_log) = (log.clone(), hook_log.clone());
                scope.spawn(move || {
                    let mut last = LogPosition::ZERO;
                    for i in 0..each {
                        let id = 1 + t * each + i;
                        let position = commit(&log, t % 3 > 0, id, &hook_log);
                        assert!(position > last && position <= log.visible());
                        last = position;
                    }
                })
            })
            .collect();
        sessions.into_iter().for_each(|s| s.join().unwrap());
        stop.store(true, Ordering::SeqCst);
        meddler.join().unwrap();
        assert_eq!(follower.join().unwrap(), hook_log.ordered(), "a reader sees the order of the hooks (G1)");
    });
    log.wait_durable(log.visible()).unwrap();
    assert_eq!(ids(log), hook_log.ordered());
    assert_eq!(log.gtid_executed().count(), u128::from(threads * each));
}

#[test]
fn many_threads_on_the_real_disk() {
    for (threads, each, prealloc) in [(1, 300, 0), (4, 200, 2), (16, 100, 0), (64, 40, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let log = open_with_threads(Arc::new(RealEnv), dir.path(), 200_000, prealloc);
        hammer(&log, threads, each, true);
        log.close().unwrap();
        drop(log);
        let log = open_with_threads(Arc::new(RealEnv), dir.path(), 200_000, prealloc);
        assert_eq!(ids(&log).len() as u64, threads * each);
    }
}

#[test]
fn many_threads_on_the_simulated_disk() {
    for seed in 0..60 {
        let env = SimEnv::new(seed);
        let env = if seed % 2 == 0 { env } else { env.with_rare_paths() };
        if seed % 4 == 3 {
            env.set_sync_time(Duration::from_micros(400));
        }
        let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 20_000, (seed % 3) as u32);
        hammer(&log, 2 + seed % 15, 30, seed % 2 == 0);
    }
}

/// No wake-up is lost: sessions that do nothing but commit, on a disk that takes no time, race with
/// each other in every step of leading, parking and handing over.
#[test]
fn no_wake_up_is_lost() {
    for (threads, deferring) in [(2, 0), (2, 2), (3, 2), (8, 0), (8, 8), (64, 0), (64, 40), (64, 64)] {
        let env = SimEnv::new(1);
        let log = open_with_threads(Arc::new(env), Path::new(DIR), 1 << 30, 0);
        let (left, log, hook_log) = (&AtomicU64::new(20_000), &log, &HookLog::default());
        thread::scope(|scope| {
            for number in 0..threads {
                scope.spawn(move || {
                    let take = |n: u64| n.checked_sub(1);
                    while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
                        commit(log, number < deferring, 1, hook_log);
                    }
                });
            }
        });
        assert_eq!(log.status().transactions.get(), 20_000);
    }
}

/// Has the log learn that flushes take long, so that they may overlap.
fn overlap(env: &SimEnv, log: &Log) {
    env.set_sync_time(Duration::from_micros(500));
    for _ in 0..20 {
        log.commit(group(1_000_000_000, 1), Box::new(())).unwrap();
    }
}

/// A commit that comes during a flush is as durable after its own flush, whatever becomes of the
/// first one.
#[test]
fn flushes_overlap_and_each_publishes_what_was_written_before_it() {
    let env = SimEnv::new(4);
    let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 1 << 30, 0);
    overlap(&env, &log);
    env.hold_syncs();
    thread::scope(|scope| {
        let first = scope.spawn(|| log.commit(group(1, 1), Box::new(())).unwrap());
        env.wait_for_held_syncs(1);
        let second = scope.spawn(|| log.commit(group(2, 1), Box::new(())).unwrap());
        env.wait_for_held_syncs(2);
        env.release_sync(2);
        let second = second.join().unwrap();
        assert_eq!((log.visible(), log.durable()), (second, second));
        let found = ids(&open_after_cut(&env));
        assert!(found.ends_with(&[1, 2]), "{found:?}");
        env.release_syncs();
        assert!(first.join().unwrap() < second);
    });
}

/// What another machine finds on a disk as it is now, without ending this one.
fn open_after_cut(env: &SimEnv) -> Arc<Log> {
    common::open(&env.copy_after_cut(7), &options()).unwrap().0
}

/// The system reports a failure once for each descriptor: with one for all, the flush that returns
/// first would be believed although its bytes are lost.
#[test]
fn a_failure_reaches_every_flush_in_flight() {
    for seed in 0..20 {
        let env = SimEnv::new(seed);
        let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 1 << 30, 0);
        overlap(&env, &log);
        let good = log.visible();
        env.hold_syncs();
        env.fail(Fault::Sync, "", 0);
        thread::scope(|scope| {
            let first = scope.spawn(|| log.commit(group(1, 1), Box::new(())));
            env.wait_for_held_syncs(1);
            let second = scope.spawn(|| log.commit(group(2, 1), Box::new(())));
            env.wait_for_held_syncs(2);
            env.release_sync(2);
            let second = second.join().unwrap();
            env.release_syncs();
            assert!(matches!(second, Err(CommitError::Unknown(_))), "seed {seed}");
            assert!(matches!(first.join().unwrap(), Err(CommitError::Unknown(_))), "seed {seed}");
        });
        assert_eq!((log.visible(), log.durable()), (good, good));
    }
}

/// While one flush is held, everybody who comes joins the next group: two flushes for 65 sessions,
/// and hand-over to a parked one.
#[test]
fn sessions_that_arrive_during_a_flush_share_the_next_one() {
    let env = SimEnv::new(3);
    let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 1 << 30, 0);
    let before = log.status().flushes.get();
    env.hold_syncs();
    thread::scope(|scope| {
        let first = scope.spawn(|| log.commit(group(1, 1), Box::new(())).unwrap());
        env.wait_for_held_syncs(1);
        assert_eq!(log.visible(), log.durable());
        assert!(log.ordered() > log.visible(), "locks are released before the flush (C5)");
        let tickets: Vec<_> = (2..=65).map(|id| log.enqueue(group(id, 1), Box::new(()))).collect();
        let others: Vec<_> = tickets.into_iter().map(|t| scope.spawn(move || t.wait().unwrap())).collect();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(log.status().groups.get(), 1);
        env.release_syncs();
        let first = first.join().unwrap();
        assert!(others.into_iter().all(|other| other.join().unwrap().position > first));
    });
    assert_eq!((log.status().groups.get(), log.status().flushes.get() - before), (2, 2));
}

/// Deferred replies are sent by the leader of their group: that time is the group's.
#[test]
fn deferred_replies_are_in_the_step_of_replies() {
    let env = SimEnv::new(3);
    let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 1 << 30, 0);
    let deferred = AtomicUsize::new(0);
    let (reply, replies) = mpsc::channel();
    env.hold_syncs();
    thread::scope(|scope| {
        scope.spawn(|| log.commit(group(1, 1), Box::new(())).unwrap());
        env.wait_for_held_syncs(1);
        for id in 2..=9 {
            let (ticket, env) = (log.enqueue(group(id, 1), Box::new(())), env.clone());
            let (deferred, reply) = (&deferred, reply.clone());
            scope.spawn(move || {
                ticket.on_complete(move |_| {
                    env.advance(Duration::from_millis(1));
                    reply.send(()).unwrap();
                });
                deferred.fetch_add(1, Ordering::SeqCst);
            });
        }
        // One of them waits to lead the next group.
        let begun = RealEnv.monotonic();
        while deferred.load(Ordering::SeqCst) < 7 && RealEnv.monotonic() - begun < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
        env.release_syncs();
    });
    // A log that is closed before the log's own thread led would reply itself, in no group.
    (0..8).for_each(|_| replies.recv_timeout(Duration::from_secs(60)).expect("each is replied to"));
    log.close().unwrap();
    let (reply, commit) = (log.status().reply_us.sum(), log.status().commit_us.sum());
    assert!((7000..=8100).contains(&reply) && commit >= reply, "{reply} of {commit} us");
}

#[test]
fn a_delay_gathers_sessions_until_there_are_enough() {
    let begun = RealEnv.monotonic();
    for seed in 0..50 {
        let env = SimEnv::new(seed);
        let log = open_with_threads(Arc::new(env), Path::new(DIR), 1 << 30, 0);
        log.set_group_commit_delay(20_000_000, 8);
        thread::scope(|scope| {
            for id in 0..8 {
                let log = &log;
                scope.spawn(move || log.commit(group(id, 1), Box::new(())).unwrap());
            }
        });
        assert_eq!(log.status().groups.get(), 1);
    }
    assert!(RealEnv.monotonic() - begun < Duration::from_secs(20), "somebody waited for nobody");
}

/// Commits that don't wait are flushed within milliseconds all the same (C3 of ARCHITECTURE.md is
/// not silence).
#[test]
fn the_background_flushes_what_nobody_waits_for() {
    let env = SimEnv::new(5);
    let log = open_with_threads(Arc::new(env), Path::new(DIR), 1 << 30, 0);
    log.set_sync_binlog(0);
    log.set_trx_commit(2);
    let mut reader = log.reader(LogPosition::ZERO).unwrap();
    drain(&mut reader);
    for id in 1..=3 {
        let position = log.commit(group(id, 1), Box::new(())).unwrap();
        assert!(reader.next(Duration::from_secs(10)).unwrap().is_some(), "a reader that waits is woken");
        drain(&mut reader);
        log.wait_durable(position).unwrap();
    }
    assert_eq!(log.status().flushes.get(), 3);
}

/// A flush fails, or the power, under concurrent sessions: all of them get the error, none hangs,
/// nothing acknowledged is lost.
#[test]
fn failures_under_load_reach_every_session() {
    for seed in 0..300 {
        let env = SimEnv::new(seed);
        let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 5_000, (seed % 3) as u32);
        let mut random = Random::new(seed);
        if seed % 10 == 0 {
            overlap(&env, &log);
        }
        let strict = random.chance(2, 3);
        if !strict {
            log.set_sync_binlog(2);
            log.set_trx_commit(2);
        }
        if random.chance(1, 2) {
            env.fail(Fault::Sync, "", random.below(60));
        } else {
            env.cut_at(1 + random.below(200));
        }
        let acknowledged: Vec<(u64, LogPosition)> = thread::scope(|scope| {
            let sessions: Vec<_> = (0..8_u64)
                .map(|t| {
                    let (log, env) = (log.clone(), env.clone());
                    scope.spawn(move || {
                        let mut acknowledged = Vec::new();
                        for i in 1.. {
                            match log.commit(group(t * 1_000_000 + i, 100), Box::new(())) {
                                Ok(position) => acknowledged.push((t * 1_000_000 + i, position)),
                                Err(CommitError::Unknown(_) | CommitError::Refused(LogError::Latched(_))) => {
                                    break;
                                }
                                // No room could be made: the machine has no power.
                                Err(CommitError::Refused(_)) if !env.is_powered() => break,
                                Err(e) => panic!("seed {seed}: {e}"),
                            }
                            if i >= 1000 {
                                break; // the fault hit something else
                            }
                        }
                        acknowledged
                    })
                })
                .collect();
            sessions.into_iter().flat_map(|s| s.join().unwrap()).collect()
        });
        drop(log);
        let (log, _) = common::open(&env.reboot(), &options()).unwrap();
        if strict {
            let found = replayed(&log, LogPosition::ZERO);
            for acknowledged in acknowledged {
                assert!(found.contains(&acknowledged), "seed {seed}: {acknowledged:?} is lost");
            }
        }
    }
}

/// What a commit leaves behind may hold the log: then one of its threads ends it.
#[test]
fn a_thread_of_the_log_may_let_go_of_it_last() {
    let env = SimEnv::new(4);
    let log = open_with_threads(Arc::new(env.clone()), Path::new(DIR), 1 << 30, 0);
    let ((sender, ended), held) = (mpsc::channel(), log.clone());
    env.hold_syncs();
    log.enqueue(group(1, 1), Box::new(())).complete_in_background(move |_| {
        drop(held);
        sender.send(()).unwrap();
    });
    env.wait_for_held_syncs(1);
    drop(log);
    env.release_syncs();
    ended.recv_timeout(Duration::from_secs(60)).expect("the log has not ended");
}
