//! What was acknowledged or shown to anyone survives a power cut: sessions and readers record all
//! that they get while flushes overlap, files rotate and others flush, until the power goes; then
//! it is compared with the log.
//!
//! The schedule is the machine's, so a seed does not repeat a run; what must hold, holds for every
//! schedule.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::LogPosition;
use binlog::event::{self, Event, EventType};
use binlog::gtid::GtidSet;
use binlog::log::{Log, LogReader};
use common::{DIR, HookLog, group, options, replayed};
use env::SimEnv;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use stdx::random::Random;

const SESSIONS: u64 = 6;
/// Long enough for flushes to overlap (`pace.rs`).
const SYNC_TIME: Duration = Duration::from_micros(500);

/// What a thread has got from the log.
#[derive(Default)]
struct Notes {
    /// Transactions, with their positions where these are known.
    ids: Vec<(u64, Option<LogPosition>)>,
    /// A position that was called visible or durable.
    position: LogPosition,
    executed: GtidSet,
}

fn session(log: &Arc<Log>, hook_log: &HookLog, number: u64) -> Notes {
    let mut notes = Notes::default();
    for i in 1.. {
        let id = number * 1_000_000 + i;
        match log.commit(group(id, (id % 700) as usize), hook_log.hook(id)) {
            Ok(position) => notes.ids.push((id, Some(position))),
            Err(_) => break,
        }
    }
    notes
}

/// A replica, or whoever else reads the log.
fn follower(log: &Log, mut reader: LogReader, stop: &AtomicBool) -> Notes {
    let mut notes = Notes::default();
    while !stop.load(SeqCst) {
        match reader.next(Duration::from_millis(1)) {
            Ok(Some(found)) => {
                notes.position = notes.position.max(found.end());
                if found.header.event_type == EventType::XID {
                    let Ok(Event::Xid(xid)) = event::decode(found.bytes, found.fde) else { panic!() };
                    notes.ids.push((xid.0, None));
                }
            }
            Ok(None) if log.check().is_ok() => {}
            _ => break,
        }
    }
    notes
}

/// Whoever takes snapshots, and asks for the GTIDs that are in them.
fn observer(log: &Log, stop: &AtomicBool) -> Notes {
    let mut notes = Notes::default();
    while !stop.load(SeqCst) {
        notes.position = log.visible();
        notes.executed = log.gtid_executed();
    }
    notes
}

/// A store that makes checkpoints, and somebody who rotates.
fn meddler(log: &Log, stop: &AtomicBool, mut random: Random) -> Notes {
    let mut notes = Notes::default();
    while !stop.load(SeqCst) {
        thread::sleep(Duration::from_micros(random.below(1500)));
        let ordered = log.ordered();
        let done = match random.below(10) {
            0 => log.rotate(),
            1 => log.wait_visible(ordered),
            2 => log.wait_durable(ordered),
            _ => log.ensure_durable(ordered),
        };
        match done {
            Ok(()) if ordered <= log.durable() => notes.position = ordered,
            Ok(()) => {}
            Err(_) => break,
        }
    }
    notes
}

fn run(seed: u64) -> usize {
    let mut random = Random::new(seed);
    let env = SimEnv::new(seed);
    let mut options = options();
    options.background = true;
    options.max_binlog_size = [5_000, 50_000, 1 << 30][random.below(3) as usize];
    options.binlog_prealloc_num = random.below(2) as u32;
    let (log, _) = Log::open(Arc::new(env.clone()), Path::new(DIR), options.clone()).unwrap();
    let (hook_log, stop) = (HookLog::default(), AtomicBool::new(false));
    env.set_sync_time(SYNC_TIME);
    for id in 1..=20 {
        log.commit(group(id, 1), hook_log.hook(id)).unwrap();
    }
    env.cut_at(1 + random.below(400));
    let (log, hooks, stop_at) = (&log, &hook_log, &stop);
    let notes: Vec<Notes> = thread::scope(|scope| {
        let reader = log.reader(LogPosition::ZERO).unwrap();
        let meddling = Random::new(random.next_u64());
        let witnesses = [
            scope.spawn(move || follower(log, reader, stop_at)),
            scope.spawn(move || observer(log, stop_at)),
            scope.spawn(move || meddler(log, stop_at, meddling)),
        ];
        let sessions: Vec<_> = (1..=SESSIONS).map(|n| scope.spawn(move || session(log, hooks, n))).collect();
        let sessions: Vec<_> = sessions.into_iter().map(|s| s.join().unwrap()).collect();
        stop_at.store(true, SeqCst);
        sessions.into_iter().chain(witnesses.map(|w| w.join().unwrap())).collect()
    });

    let (after, recovered) = common::open(&env.reboot(), &options).unwrap();
    let found = replayed(&after, LogPosition::ZERO);
    let order: Vec<u64> = found.iter().map(|&(id, _)| id).collect();
    // A group that was being written at its place, or room that was being made, when the power went
    // was refused.
    let ordered = hook_log.ordered();
    let common = order.len().min(ordered.len());
    assert_eq!(order[..common], ordered[..common], "seed {seed}: another order than that of the hooks");
    for notes in notes {
        assert!(recovered.end >= notes.position, "seed {seed}: {} is gone", notes.position);
        assert!(notes.executed.is_subset(&recovered.gtid_executed), "seed {seed}: a GTID is gone");
        for (id, position) in notes.ids {
            let at = found.iter().find(|&&(other, _)| other == id);
            let at = at.unwrap_or_else(|| panic!("seed {seed}: transaction {id} is gone"));
            assert!(position.is_none_or(|known| known == at.1), "seed {seed}: {id} is elsewhere");
        }
    }
    found.len()
}

#[test]
fn nothing_acknowledged_is_lost() {
    let seeds = std::env::var("ACKNOWLEDGED_SEEDS").ok().map_or(60, |s| s.parse().unwrap());
    let transactions: usize = (0..seeds).map(run).sum();
    println!("{seeds} seeds, {transactions} transactions");
}
