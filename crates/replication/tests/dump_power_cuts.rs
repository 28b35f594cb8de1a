//! No follower holds what the source lacks after a power cut, at any setting: replicas read dumps
//! while sessions commit, files rotate and flushes overlap, until the power goes; then they go on
//! at the restarted source, and must end as it is. In half of the runs commits wait for one of
//! them: then it has all that was acknowledged.
//!
//! The schedule is the machine's, so a seed does not repeat a run; what must hold, holds for every
//! schedule. `DUMP_SEEDS` is how many seeds to run.
#![allow(clippy::unwrap_used)]

use binlog::LogPosition;
use binlog::event::{Event, EventType, FormatDescription, QueryEvent, decode, decode_format_description};
use binlog::group::{EventGroup, GroupBuilder, GroupContext};
use binlog::gtid::Uuid;
use binlog::log::{Log, LogError, LogOptions};
use env::{Env, RealEnv, SimEnv};
use replication::semi_sync::{Follower, SemiSync, Settings, WaitPoint};
use replication::source::{ChecksumWish, DumpError, Request, Stream, dump};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use stdx::random::Random;

const SESSIONS: u64 = 5;
const FOLLOWERS: u64 = 3;
/// Long enough for flushes to overlap, and for a follower to come before one has ended.
const SYNC_TIME: Duration = Duration::from_micros(500);

fn group(id: u64, padding: usize) -> EventGroup {
    let mut builder = GroupBuilder::new(GroupContext::new(1, 1_767_225_600, 80408));
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder.write_row(100, 2, &vec![id as u8; padding + 1]);
    builder.end_statement();
    builder.finish_xid(id)
}

fn open(env: &SimEnv, options: &LogOptions) -> Arc<Log> {
    let (log, _) = Log::open(Arc::new(env.clone()), Path::new("/data"), options.clone()).unwrap();
    log.set_purge_floor(LogPosition::MAX);
    log
}

/// Any setting, and sometimes files that are full soon.
fn options(random: &mut Random) -> LogOptions {
    let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    options.sync_binlog = [0, 1, 3][random.below(3) as usize];
    options.trx_commit = random.below(3) as u8;
    options.max_binlog_size = [5_000, 50_000, 1 << 30][random.below(3) as usize];
    options.binlog_prealloc_num = random.below(2) as u32;
    options
}

/// A replica: it keeps what it is sent, reads slowly at times, and loses its connection at times.
struct Replica<'a> {
    random: Random,
    fde: FormatDescription,
    file: Vec<u8>,
    /// After the last transaction: where it asks to go on.
    position: u64,
    transactions: Vec<u64>,
    stop: &'a AtomicBool,
    patience: u64,
    acks: Option<Acks<'a>>,
}

/// How a replica acknowledges.
struct Acks<'a> {
    source: &'a Arc<SemiSync>,
    log: &'a Log,
    follower: Option<Follower>,
    next_end: LogPosition,
    /// Where the last transaction ends that it has not been asked for.
    unasked: Option<LogPosition>,
}

impl Acks<'_> {
    fn answer(&mut self) {
        let (Some(end), Some(follower)) = (self.unasked.take(), &mut self.follower) else { return };
        if follower.ask(end, RealEnv.monotonic()) {
            let mut answer = vec![0xef];
            answer.extend(end.offset().to_le_bytes());
            answer.extend(self.log.file_name(end.file()).as_bytes());
            follower.answered(&answer).unwrap();
        }
    }
}

impl<'a> Replica<'a> {
    fn new(seed: u64, stop: &'a AtomicBool) -> Self {
        let fde = FormatDescription::new("8.4.8", 0);
        let (random, transactions) = (Random::new(seed), Vec::new());
        let file = Vec::new();
        Self { random, fde, file, position: 4, transactions, stop, patience: 0, acks: None }
    }

    /// One connection after the other, each where the last one ended.
    fn follow(&mut self, log: &Log, wait: bool) -> Result<(), DumpError> {
        loop {
            let (file, offset) = (self.file.clone(), self.position);
            let (checksum, heartbeat) = (ChecksumWish::Crc32, Some(Duration::from_millis(1)));
            let (has, heartbeat_v2) = (None, false);
            let request =
                Request { file: &file, offset, has, wait, checksum, heartbeat, heartbeat_v2, server_id: 1 };
            self.patience = 1 + self.random.below(300);
            if let Some(acks) = &mut self.acks {
                (acks.follower, acks.unasked) = (Some(acks.source.attach(2)), None);
            }
            match dump(log, &request, self) {
                Err(DumpError::Interrupted) if !self.stop.load(SeqCst) => {}
                other => return other,
            }
        }
    }
}

impl Stream for Replica<'_> {
    fn event(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes[4] == EventType::FORMAT_DESCRIPTION.0 {
            self.fde = decode_format_description(bytes).unwrap();
        }
        match decode(bytes, &self.fde).unwrap() {
            Event::Rotate(to) => {
                self.file = to.file_name.to_vec();
                self.position = to.position;
            }
            Event::Xid(xid) => {
                self.transactions.push(xid.0);
                if let Some(acks) = &mut self.acks {
                    acks.unasked = Some(acks.next_end);
                }
                self.position = u64::from(u32::from_le_bytes([bytes[13], bytes[14], bytes[15], bytes[16]]));
            }
            _ => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(acks) = &mut self.acks {
            acks.answer();
        }
        if self.random.below(8) == 0 {
            thread::sleep(Duration::from_micros(self.random.below(2000)));
        }
        Ok(())
    }

    fn is_interrupted(&mut self) -> bool {
        self.patience = self.patience.saturating_sub(1);
        self.patience == 0 || self.stop.load(SeqCst)
    }

    fn is_gone(&mut self) -> bool {
        false
    }

    fn is_awaited(&self) -> bool {
        self.acks.is_some()
    }

    fn reaches(&mut self, end: LogPosition) {
        if let Some(acks) = &mut self.acks {
            acks.next_end = end;
        }
    }

    fn holds(&mut self, position: LogPosition) {
        if let Some(follower) = self.acks.as_mut().and_then(|acks| acks.follower.as_mut()) {
            follower.holds(position);
        }
    }
}

/// Commits until the power is gone; what was acknowledged.
fn session(log: &Log, number: u64, is_over: &AtomicBool) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    for i in 1.. {
        let id = number * 1_000_000 + i;
        let done = log.commit(group(id, (id % 700) as usize), Box::new(()));
        if done.is_err() || is_over.load(SeqCst) {
            break;
        }
        acknowledged.push(id);
    }
    acknowledged
}

/// A source whose commits wait for one replica, as long as that takes.
fn semi_sync(log: &Arc<Log>, random: &mut Random) -> Arc<SemiSync> {
    let source = SemiSync::new(log, Arc::new(RealEnv));
    let wait_point = [WaitPoint::AfterSync, WaitPoint::AfterCommit][random.below(2) as usize];
    let timeout = Duration::from_secs(3600);
    source.configure(Settings { enabled: true, timeout, wait_point, ..Settings::default() }).unwrap();
    source
}

/// Somebody who rotates, and a store that makes checkpoints.
fn meddler(log: &Log, stop: &AtomicBool, mut random: Random) {
    while !stop.load(SeqCst) {
        thread::sleep(Duration::from_micros(random.below(3000)));
        let done = if random.below(4) == 0 { log.rotate() } else { log.ensure_durable(log.ordered()) };
        if done.is_err() {
            return;
        }
    }
}

fn replayed(log: &Log) -> Vec<u64> {
    let mut found = Vec::new();
    log.replay::<LogError>(LogPosition::ZERO, &mut |event| {
        if event.event.header.event_type == EventType::XID {
            let Ok(Event::Xid(xid)) = decode(event.event.bytes, event.event.fde) else { panic!() };
            found.push(xid.0);
        }
        Ok(())
    })
    .unwrap();
    found
}

fn run(seed: u64) -> usize {
    let mut random = Random::new(seed);
    let env = SimEnv::new(seed);
    let options = options(&mut random);
    let log = open(&env, &options);
    env.set_sync_time(SYNC_TIME);
    env.cut_at(1 + random.below(400));
    let stop = AtomicBool::new(false);
    let seeds: Vec<u64> = (0..FOLLOWERS).map(|_| random.next_u64()).collect();
    let mut replicas: Vec<_> = seeds.into_iter().map(|seed| Replica::new(seed, &stop)).collect();
    let source = (random.below(2) == 0).then(|| semi_sync(&log, &mut random));
    let is_over = AtomicBool::new(false);
    let acknowledged: Vec<u64> = thread::scope(|scope| {
        let (log, stop, is_over, source) = (&log, &stop, &is_over, &source);
        let meddling = Random::new(random.next_u64());
        scope.spawn(move || {
            meddler(log, stop, meddling);
            // The machine is off: what waits for an answer needs no report.
            is_over.store(true, SeqCst);
            source.as_ref().inspect(|source| source.stop());
        });
        for replica in &mut replicas {
            replica.acks = source.as_ref().map(|source| Acks {
                source,
                log,
                follower: None,
                next_end: LogPosition::ZERO,
                unasked: None,
            });
            scope.spawn(move || {
                let _ = replica.follow(log, true);
                replica.acks = None;
            });
        }
        let sessions: Vec<_> =
            (1..=SESSIONS).map(|n| scope.spawn(move || session(log, n, is_over))).collect();
        let acknowledged = sessions.into_iter().flat_map(|session| session.join().unwrap()).collect();
        stop.store(true, SeqCst);
        acknowledged
    });
    if source.is_some() {
        let lost = acknowledged.iter().find(|id| !replicas.iter().any(|r| r.transactions.contains(id)));
        assert_eq!(lost, None, "seed {seed}: it was acknowledged, and no replica has it");
    }

    let after = open(&env.reboot(), &options);
    let left = replayed(&after);
    stop.store(false, SeqCst);
    for replica in &mut replicas {
        let held = replica.transactions.len();
        let same = left.iter().zip(&replica.transactions).take_while(|(a, b)| a == b).count();
        assert!(
            same == held,
            "seed {seed}: a follower holds what the source lacks, from {same} on: {:?}, not {:?}",
            &replica.transactions[same..],
            &left[same..]
        );
        let gone_on = replica.follow(&after, false);
        assert!(gone_on.is_ok(), "seed {seed}: after {held} transactions: {gone_on:?}");
        assert_eq!(replica.transactions, left, "seed {seed}: a follower differs");
    }
    left.len()
}

#[test]
fn no_follower_holds_what_a_power_cut_took_back() {
    let seeds = std::env::var("DUMP_SEEDS").ok().map_or(60, |s| s.parse().unwrap());
    let transactions: usize = (0..seeds).map(run).sum();
    println!("{seeds} seeds, {transactions} transactions");
}

/// While no flush passes nothing is sent at any setting, acknowledged or not; once it passes all of
/// it is.
#[test]
fn a_paused_flush_holds_every_follower_back() {
    for (sync_binlog, trx_commit) in [(1, 1), (0, 1), (1, 0), (0, 2), (0, 0), (2, 2)] {
        let env = SimEnv::new(1);
        let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
        (options.sync_binlog, options.trx_commit) = (sync_binlog, trx_commit);
        let log = open(&env, &options);
        log.commit(group(1, 10), Box::new(())).unwrap();
        log.ensure_durable(log.end()).unwrap();
        env.hold_syncs();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let log = &log;
            let commit = |id| move || log.commit(group(id, 10), Box::new(())).unwrap();
            let sessions: Vec<_> = (2..=5).map(|id| scope.spawn(commit(id))).collect();
            env.wait_for_held_syncs(1);
            thread::sleep(Duration::from_millis(5));
            let mut replica = Replica::new(1, &stop);
            replica.follow(log, false).unwrap();
            assert_eq!(replica.transactions, [1], "at {sync_binlog}/{trx_commit}");
            env.release_syncs();
            let ends: Vec<_> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
            log.wait_durable(ends.into_iter().max().unwrap()).unwrap();
            replica.follow(log, false).unwrap();
            assert_eq!(replica.transactions.len(), 5, "at {sync_binlog}/{trx_commit}");
        });
    }
}

/// What was acknowledged without a flush comes to a follower within milliseconds, not when the
/// system writes it back.
#[test]
fn the_background_shows_followers_what_nobody_waits_for() {
    let env = SimEnv::new(1);
    let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    (options.sync_binlog, options.trx_commit) = (0, 0);
    let log = open(&env, &options);
    let clock = RealEnv;
    for id in 1..=20 {
        let committed = log.commit(group(id, 10), Box::new(())).unwrap();
        let begun = clock.monotonic();
        log.wait_durable(committed).unwrap();
        let took = clock.monotonic() - begun;
        // Milliseconds on a machine that has nothing else to do; half a minute if nothing but the
        // system's own write-back flushes.
        assert!(took < Duration::from_secs(10), "a follower waits {took:?} for transaction {id}");
    }
}
