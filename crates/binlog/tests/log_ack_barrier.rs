//! The ack barrier between durable and visible (`AFTER_SYNC`), or between visible and replied
//! (`AFTER_COMMIT`): transactions that wait there block no others.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::LogPosition;
use binlog::log::{AckBarrierOwner, AckBarrierPosition, Log, LogOptions};
use common::{DIR, group, large_group, options};
use env::SimEnv;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Records the transactions that arrive at the barrier.
#[derive(Default)]
struct Notes(Mutex<Vec<LogPosition>>);

impl AckBarrierOwner for Notes {
    fn arrived(&self, position: LogPosition) {
        self.0.lock().push(position);
    }
}

fn open(options: LogOptions) -> (Arc<Log>, Arc<Notes>) {
    let (log, _) = Log::open(Arc::new(SimEnv::new(1)), Path::new(DIR), options).unwrap();
    let notes = Arc::<Notes>::default();
    log.set_ack_barrier_owner(notes.clone());
    (log, notes)
}

fn begin(log: &Arc<Log>, id: u64) -> JoinHandle<LogPosition> {
    let log = log.clone();
    thread::spawn(move || log.commit(group(id, 10), Box::new(())).unwrap())
}

/// Commits in the background, one after the other until each is durable; returns where they end.
fn begin_all(log: &Arc<Log>, ids: &[u64]) -> (Vec<JoinHandle<LogPosition>>, Vec<LogPosition>) {
    let one = |&id| {
        let from = log.durable();
        let session = begin(log, id);
        while !log.wait_durable_past(from, Duration::from_secs(60)) {}
        (session, log.durable())
    };
    ids.iter().map(one).unzip()
}

fn join(session: JoinHandle<LogPosition>) -> LogPosition {
    session.join().unwrap()
}

/// Waits for what another thread is about to do.
fn eventually(what: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if what() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("it never came");
}

const CLOSED: AckBarrierPosition =
    AckBarrierPosition { visible: LogPosition::ZERO, replied: LogPosition::MAX };

#[test]
fn what_waits_at_the_barrier_is_durable_and_nobody_sees_it() {
    let (log, notes) = open(options());
    let before = log.commit(group(1, 10), Box::new(())).unwrap();
    log.move_ack_barrier(CLOSED);
    let (mut sessions, ends) = begin_all(&log, &[2, 3, 4]);
    eventually(|| log.waiting_at_ack_barrier() == 3 && notes.0.lock().contains(&ends[2]));
    assert_eq!(log.visible(), before);
    assert_eq!(log.published().position, before);
    assert!(sessions.iter().all(|session| !session.is_finished()));
    let status = log.status();
    assert_eq!(status.flushes.get(), status.groups.get(), "each group went on to its flush");

    log.move_ack_barrier(AckBarrierPosition { visible: ends[1], ..CLOSED });
    log.release_at_ack_barrier();
    assert_eq!([sessions.remove(0), sessions.remove(0)].map(join), ends[..2]);
    assert_eq!((log.visible(), log.waiting_at_ack_barrier()), (ends[1], 1));
    assert!(!sessions[0].is_finished());

    log.move_ack_barrier(AckBarrierPosition::OPEN);
    log.release_at_ack_barrier();
    assert_eq!(join(sessions.remove(0)), ends[2]);
    assert_eq!(log.published().position, ends[2]);
    assert_eq!(log.published().gtids.count(), 4);
}

#[test]
fn after_commit_only_the_reply_waits() {
    let (log, notes) = open(options());
    log.count_ack_barrier(true);
    log.move_ack_barrier(AckBarrierPosition { visible: LogPosition::MAX, replied: LogPosition::ZERO });
    let (mut sessions, ends) = begin_all(&log, &[1, 2]);
    eventually(|| log.waiting_at_ack_barrier() == 2 && notes.0.lock().contains(&ends[1]));
    assert_eq!(log.visible(), ends[1]);
    assert!(sessions.iter().all(|session| !session.is_finished()));
    log.move_ack_barrier(AckBarrierPosition { visible: LogPosition::MAX, replied: ends[0] });
    log.release_at_ack_barrier();
    assert_eq!(join(sessions.remove(0)), ends[0]);
    assert!(!sessions[0].is_finished());
    log.move_ack_barrier(AckBarrierPosition::OPEN);
    log.release_at_ack_barrier();
    assert_eq!(join(sessions.remove(0)), ends[1]);
    assert_eq!(log.ack_barrier_counts(), (1, 1));
}

#[test]
fn what_may_pass_before_it_comes_does_not_wait() {
    let (log, notes) = open(options());
    log.move_ack_barrier(AckBarrierPosition {
        visible: LogPosition::new(binlog::FileNumber(9), 4),
        ..CLOSED
    });
    let end = log.commit(group(1, 10), Box::new(())).unwrap();
    assert_eq!((log.visible(), notes.0.lock().len()), (end, 0));
}

/// A rotation and a large transaction publish what is ordered, but not past the barrier. The
/// position that its owner gets is a transaction's end, not that of a file's header.
#[test]
fn rotations_and_large_transactions_wait_too() {
    let mut small = options();
    small.binlog_large_commit_threshold = 1 << 20;
    let (log, notes) = open(small);
    let before = log.commit(group(1, 10), Box::new(())).unwrap();
    log.move_ack_barrier(CLOSED);
    let (mut sessions, ends) = begin_all(&log, &[2]);
    log.rotate().unwrap();
    let large = large_group(&log, 3, 3 << 20).unwrap();
    assert!(large.is_large());
    let other = log.clone();
    sessions.push(thread::spawn(move || other.commit(large, Box::new(())).unwrap()));
    eventually(|| log.waiting_at_ack_barrier() == 2);
    assert_eq!(log.visible(), before);
    let last = *notes.0.lock().last().unwrap();
    assert!(last > ends[0] && last.file() > ends[0].file());
    log.move_ack_barrier(AckBarrierPosition { visible: last, ..CLOSED });
    log.release_at_ack_barrier();
    assert_eq!(join(sessions.remove(0)), ends[0]);
    assert_eq!(join(sessions.remove(0)), last);
    assert!(notes.0.lock().iter().all(|&at| at == ends[0] || at == last), "{:?}", notes.0.lock());
}

#[test]
fn a_stop_opens_the_barrier() {
    let (log, _) = open(options());
    log.move_ack_barrier(CLOSED);
    let (mut sessions, ends) = begin_all(&log, &[1]);
    log.close().unwrap();
    assert_eq!(join(sessions.remove(0)), ends[0]);
}
