//! Replicas that answer, are late, or disconnect.
#![allow(clippy::unwrap_used)]

use super::*;
use binlog::event::QueryEvent;
use binlog::group::{GroupBuilder, GroupContext};
use binlog::gtid::Uuid;
use binlog::log::LogOptions;
use env::{RealEnv, SimEnv};
use std::path::Path;

/// Long enough never to come.
const LONG: Duration = Duration::from_secs(600);

struct World {
    log: Arc<Log>,
    source: Arc<SemiSync>,
}

impl World {
    fn new(settings: Settings) -> Self {
        let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
        options.background = false;
        let (log, _) = Log::open(Arc::new(SimEnv::new(1)), Path::new("/data"), options).unwrap();
        let source = SemiSync::new(&log, Arc::new(RealEnv));
        source.configure(settings).unwrap();
        Self { log, source }
    }

    /// Commits concurrently with the test; returns where it ends once it is durable.
    fn begin(&self) -> (JoinHandle<()>, LogPosition) {
        let mut builder = GroupBuilder::new(GroupContext::new(1, 1_767_225_600, 80408));
        builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
        builder.write_row(100, 2, &[0, 1]);
        builder.end_statement();
        let (group, log, from) = (builder.finish_xid(1), self.log.clone(), self.log.durable());
        let session = thread::spawn(move || {
            log.commit(group, Box::new(())).unwrap();
        });
        while !self.log.wait_durable_past(from, LONG) {}
        (session, self.log.durable())
    }

    fn answer(&self, follower: &mut Follower, position: LogPosition) {
        let mut packet = vec![0xef];
        packet.extend_from_slice(&position.offset().to_le_bytes());
        packet.extend_from_slice(self.log.file_name(position.file()).as_bytes());
        follower.answered(&packet).unwrap();
    }

    /// Asks as the stream does, and answers at once.
    fn confirm(&self, follower: &mut Follower, position: LogPosition) {
        assert!(follower.ask(position, RealEnv.monotonic()));
        self.answer(follower, position);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.source.stop();
    }
}

fn enabled() -> Settings {
    Settings { enabled: true, timeout: LONG, ..Settings::default() }
}

/// Waits for what another thread is about to do.
fn eventually(what: impl Fn() -> bool) {
    while !what() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_commit_is_seen_once_a_replica_has_it() {
    let world = World::new(enabled());
    let mut follower = world.source.attach(2);
    let before = world.log.visible();
    let (session, end) = world.begin();
    eventually(|| world.source.status().wait_sessions == 1);
    assert_eq!(world.log.visible(), before);
    world.confirm(&mut follower, end);
    session.join().unwrap();
    assert_eq!(world.log.visible(), end);
    let status = world.source.status();
    assert_eq!((status.clients, status.yes_tx, status.no_tx, status.net_waits), (1, 1, 0, 1));
    assert!(status.on && status.tx_waits == 1 && status.wait_sessions == 0);
    drop(follower);
    assert_eq!(world.source.status().clients, 0);
}

#[test]
fn after_commit_it_is_seen_at_once_and_told_later() {
    let world = World::new(Settings { wait_point: WaitPoint::AfterCommit, ..enabled() });
    let mut follower = world.source.attach(2);
    let (session, end) = world.begin();
    eventually(|| world.log.visible() == end && world.source.status().wait_sessions == 1);
    assert!(!session.is_finished());
    world.confirm(&mut follower, end);
    session.join().unwrap();
}

/// To change where commits wait acknowledged those that waited, though no replica had them.
#[test]
fn commits_wait_on_when_the_wait_point_is_changed() {
    for (from, to) in
        [(WaitPoint::AfterCommit, WaitPoint::AfterSync), (WaitPoint::AfterSync, WaitPoint::AfterCommit)]
    {
        let world = World::new(Settings { wait_point: from, ..enabled() });
        let mut follower = world.source.attach(2);
        let (session, end) = world.begin();
        eventually(|| world.source.status().wait_sessions == 1);
        world.source.configure(Settings { wait_point: to, ..enabled() }).unwrap();
        thread::sleep(Duration::from_millis(20));
        assert!(!session.is_finished(), "{from:?} to {to:?}");
        world.confirm(&mut follower, end);
        session.join().unwrap();
        assert_eq!(world.log.visible(), end);
        assert_eq!((world.source.status().yes_tx, world.source.status().no_tx), (1, 0));
    }
}

#[test]
fn a_late_replica_is_not_waited_for_until_it_answers_in_time_again() {
    let timeout = Duration::from_millis(300);
    let world = World::new(Settings { timeout, ..enabled() });
    let mut follower = world.source.attach(2);
    let begun = RealEnv.monotonic();
    let (session, end) = world.begin();
    session.join().unwrap();
    assert!(RealEnv.monotonic() - begun >= timeout);
    let status = world.source.status();
    assert_eq!((status.on, status.no_times, status.yes_tx, status.no_tx), (false, 1, 0, 1));
    assert!(follower.ask(end, begun));
    world.answer(&mut follower, end);
    assert!(!world.source.status().on, "that answer came too late");
    world.begin().0.join().unwrap();
    world.confirm(&mut follower, world.log.durable());
    assert!(world.source.status().on);
    assert_eq!(world.source.status().no_tx, 2);
}

#[test]
fn as_many_replicas_as_are_wanted() {
    let world = World::new(Settings { wait_for_replica_count: 2, ..enabled() });
    let (mut a, mut again, mut b) = (world.source.attach(2), world.source.attach(2), world.source.attach(3));
    let (session, end) = world.begin();
    world.confirm(&mut a, end);
    world.confirm(&mut again, end);
    thread::sleep(Duration::from_millis(10));
    assert!(!session.is_finished(), "one replica counts once");
    world.confirm(&mut b, end);
    session.join().unwrap();
}

#[test]
fn without_replicas_only_those_wait_that_are_to() {
    let world = World::new(Settings { wait_no_replica: false, ..enabled() });
    assert!(!world.source.status().on);
    world.begin().0.join().unwrap();
    let mut follower = world.source.attach(2);
    world.confirm(&mut follower, world.log.durable());
    assert!(world.source.status().on);
    let (session, _) = world.begin();
    eventually(|| world.source.status().wait_sessions == 1);
    drop(follower);
    session.join().unwrap();
    assert!(!world.source.status().on);
}

#[test]
fn what_nobody_asked_for_counts_for_nothing() {
    let world = World::new(enabled());
    let mut follower = world.source.attach(2);
    let (first, one) = world.begin();
    let (second, two) = world.begin();
    world.answer(&mut follower, two);
    assert!(follower.ask(one, RealEnv.monotonic()));
    world.answer(&mut follower, LogPosition::new(two.file().next(), u64::from(u32::MAX)));
    thread::sleep(Duration::from_millis(10));
    assert!(!first.is_finished());
    // An answer for more than was asked stands for what was asked.
    world.answer(&mut follower, two);
    first.join().unwrap();
    assert!(!second.is_finished());
    for wrong in [&b""[..], b"\xef", b"\xee12345678binlog.000001", b"\xef12345678", &[0xef; ANSWER_MAX + 1]] {
        assert!(follower.answered(wrong).is_err(), "{wrong:?}");
    }
    world.source.stop();
    second.join().unwrap();
}

#[test]
fn a_replica_that_comes_back_with_all_of_it_says_so_by_its_position() {
    let world = World::new(enabled());
    let (session, end) = world.begin();
    let mut follower = world.source.attach(2);
    follower.holds(end);
    session.join().unwrap();
    let (session, later) = world.begin();
    world.confirm(&mut follower, later);
    session.join().unwrap();
    // Behind what it was asked for nothing is taken for granted.
    let (session, last) = world.begin();
    follower.holds(last);
    thread::sleep(Duration::from_millis(10));
    assert!(!session.is_finished());
    world.source.configure(Settings::default()).unwrap();
    session.join().unwrap();
}
