//! MariaDB replicas of Duramen, as they are: by file and offset and by GTID, with parallel apply,
//! over a network that fails, and with servers that are killed. All tables are equal in the end,
//! nothing was refused, and nothing lags.
//!
//! `DURAMEN_FOLLOW_SECONDS` is how long the source works in each test, `DURAMEN_SEED` what it does.
#![allow(clippy::unwrap_used)]

use followers::mariadb::{Apply, Positions, Replica, let_in, port_option};
use followers::proxy::Proxy;
use followers::workload::{Features, Workload, prepare};
use followers::{await_that, patience, seed, working_time};
use servers::{Launch, Running, ServerKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use stdx::random::Random;

/// What the source does: all there is.
const FEATURES: Features = Features::ALL;

/// A source, and the port for its replicas.
fn source(folder: &Path) -> (Running, u16) {
    source_with(folder, &[])
}

fn source_with(folder: &Path, options: &[&str]) -> (Running, u16) {
    let port = servers::free_port().unwrap();
    let source = Launch::new(ServerKind::Duramen, folder).unwrap().arg(port_option(port));
    // Several files, and transactions that have their own.
    let source = source.arg("--max-binlog-size=4M").arg("--binlog-large-commit-threshold=1M");
    let source = options.iter().fold(source, |source, option| source.arg(*option));
    let source = source.start().unwrap();
    let_in(&source).unwrap();
    (source, port)
}

fn check_equal(source: &Running, replica: &Replica) {
    let begun = Instant::now();
    replica.await_source(source, patience().unwrap()).unwrap();
    let executed = source.sql("SELECT @@GLOBAL.gtid_executed").unwrap();
    println!("caught up with {executed} after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(replica.differences(source).unwrap(), Vec::<String>::new());
}

fn follows(positions: Positions, apply: Apply) {
    let folder = tempfile::tempdir().unwrap();
    let (source, port) = source(folder.path());
    prepare(source.address(), FEATURES).unwrap();
    let replica = Replica::start(folder.path(), apply).unwrap();
    replica.follow(port, positions).unwrap();
    let work = Workload::start(source.address(), FEATURES, 6, seed().unwrap());
    std::thread::sleep(working_time(Duration::from_secs(6)).unwrap());
    println!("{}", work.stop().unwrap());
    check_equal(&source, &replica);
    // A replica that the source does not greet rightly would have gone by file without a word.
    let using = if positions == Positions::Gtid { "Slave_Pos" } else { "No" };
    assert_eq!(replica.status().unwrap()["Using_Gtid"], using);
}

#[test]
fn by_file_and_offset() {
    follows(Positions::File, Apply::InOrder);
}

#[test]
fn by_gtid() {
    follows(Positions::Gtid, Apply::InOrder);
}

#[test]
fn in_parallel_by_group_commits() {
    follows(Positions::Gtid, Apply::Conservative);
}

#[test]
fn in_parallel_optimistically() {
    follows(Positions::Gtid, Apply::Optimistic);
}

/// The source is killed and started again while it works, and the network between the two fails.
#[test]
fn a_source_that_is_killed() {
    let run = Run::start(FEATURES, Positions::Gtid, Apply::Optimistic);
    let (source, replica, _way) =
        run.through(&[Trouble::KillSource, Trouble::Cut, Trouble::Block, Trouble::Delay]);
    check_equal(&source, &replica);
}

/// The replica is killed and started again. It goes by GTID, which it keeps in the transaction
/// itself: what it has done it knows. That is so for rows; definitions and XA are not atomic with
/// the position on MariaDB's side.
#[test]
fn a_replica_that_is_killed() {
    let features = Features { definitions: false, xa: false, ..FEATURES };
    let run = Run::start(features, Positions::Gtid, Apply::Conservative);
    let (source, replica, _way) = run.through(&[Trouble::KillReplica, Trouble::Cut, Trouble::KillSource]);
    check_equal(&source, &replica);
}

/// By file and offset the position of a lost connection is found again in the middle of groups, and
/// across clean restarts; but not within rows with documents, which are longer as texts.
#[test]
fn lost_connections_by_file_and_offset() {
    let features = Features { json: false, ..FEATURES };
    let run = Run::start(features, Positions::File, Apply::InOrder);
    let (source, replica, _way) =
        run.through(&[Trouble::Cut, Trouble::Delay, Trouble::RestartReplica, Trouble::Cut, Trouble::Block]);
    check_equal(&source, &replica);
}

/// What goes wrong between a source and its replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Cut,
    Block,
    Delay,
    KillSource,
    KillReplica,
    RestartReplica,
}

/// A source at work, a network, a replica.
struct Run {
    folder: tempfile::TempDir,
    source: Running,
    proxy: Proxy,
    replica: Replica,
    work: Workload,
    random: Random,
}

impl Run {
    fn start(features: Features, positions: Positions, apply: Apply) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ((source, port), seed) = (source(folder.path()), seed().unwrap());
        prepare(source.address(), features).unwrap();
        let proxy = Proxy::to(port).unwrap();
        let replica = Replica::start(folder.path(), apply).unwrap();
        replica.follow(proxy.port(), positions).unwrap();
        let work = Workload::start(source.address(), features, 4, seed);
        Self { folder, source, proxy, replica, work, random: Random::new(seed) }
    }

    /// Lets one trouble after the other happen while the source works, then lets both be in peace.
    fn through(mut self, troubles: &[Trouble]) -> (Running, Replica, (Proxy, tempfile::TempDir)) {
        let mut met = BTreeMap::new();
        let end = Instant::now() + working_time(Duration::from_secs(8)).unwrap();
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200 + self.random.below(1200)));
            let trouble = troubles[self.random.below(troubles.len() as u64) as usize];
            self = self.meet(trouble);
            *met.entry(trouble).or_insert(0) += 1;
            self.replica.check().unwrap_or_else(|e| panic!("after {trouble:?}: {e}"));
        }
        self.proxy.delay(Duration::ZERO);
        println!("{met:?}; {}", self.work.stop().unwrap());
        (self.source, self.replica, (self.proxy, self.folder))
    }

    fn meet(mut self, trouble: Trouble) -> Self {
        let pause = Duration::from_millis(self.random.below(500));
        match trouble {
            Trouble::Cut => self.proxy.cut(),
            Trouble::Block => {
                self.proxy.block(true);
                std::thread::sleep(pause);
                self.proxy.block(false);
            }
            Trouble::Delay => self.proxy.delay(pause / 200),
            Trouble::KillSource => {
                self.source.kill().unwrap();
                self.source = self.source.restart().unwrap();
                self.work.moved(self.source.address());
            }
            Trouble::KillReplica => self.replica = self.replica.crash().unwrap(),
            Trouble::RestartReplica => self.replica = self.replica.restart().unwrap(),
        }
        self
    }
}

/// sysbench's mix concurrent with the workload, applied in parallel; the log is compressed, which
/// MariaDB would not read.
#[test]
fn beside_sysbench() {
    let folder = tempfile::tempdir().unwrap();
    let (source, port) = source_with(folder.path(), &["--binlog-transaction-compression=ON"]);
    prepare(source.address(), FEATURES).unwrap();
    let replica = Replica::start(folder.path(), Apply::Optimistic).unwrap();
    replica.follow(port, Positions::Gtid).unwrap();
    source.sql("CREATE DATABASE sbtest").unwrap();
    let time = working_time(Duration::from_secs(5)).unwrap();
    let sysbench = |command: &str| {
        let done = source
            .address()
            .sysbench()
            .args(["oltp_read_write", "--tables=3", "--table-size=2000", "--threads=4"])
            .args([&format!("--time={}", time.as_secs()), "--mysql-db=sbtest", command])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    };
    sysbench("prepare");
    let work = Workload::start(source.address(), FEATURES, 2, seed().unwrap());
    sysbench("run");
    println!("{}", work.stop().unwrap());
    check_equal(&source, &replica);
}

/// Replicas say where they are, and get MariaDB's error where that is not possible.
#[test]
fn places_by_gtid() {
    let folder = tempfile::tempdir().unwrap();
    let (source, port) = source(folder.path());
    source
        .sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
        .unwrap();
    let replica = Replica::start(folder.path(), Apply::Conservative).unwrap();
    replica.follow(port, Positions::Gtid).unwrap();
    check_equal(&source, &replica);
    let place = replica.server().sql("SELECT @@gtid_slave_pos").unwrap();
    let number = source.sql("SELECT @@gtid_executed").unwrap();
    assert_eq!(place.rsplit('-').next(), number.rsplit('-').next(), "{place} is {number}");

    // UNTIL stops after a GTID, and START goes on from there.
    let (domain_and_server, sequence) = place.rsplit_once('-').unwrap();
    let until = sequence.parse::<u64>().unwrap() + 2;
    let replica_sql = |script: &str| replica.server().sql(script).unwrap();
    replica_sql("STOP SLAVE");
    source.sql("INSERT INTO d.t VALUES (2); INSERT INTO d.t VALUES (3); INSERT INTO d.t VALUES (4)").unwrap();
    replica_sql(&format!("START SLAVE UNTIL master_gtid_pos='{domain_and_server}-{until}'"));
    let stopped = || Ok(replica.status()?["Slave_SQL_Running"] == "No");
    await_that("stopped by UNTIL", patience().unwrap(), stopped).unwrap();
    assert_eq!(replica_sql("SELECT MAX(a) FROM d.t"), "3");
    replica_sql("STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID=current_pos; START SLAVE");
    check_equal(&source, &replica);

    // By file and offset, and back: both positions are kept.
    replica_sql("STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID=no; START SLAVE");
    source.sql("FLUSH BINARY LOGS; INSERT INTO d.t VALUES (5)").unwrap();
    check_equal(&source, &replica);
    replica_sql("STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID=slave_pos; START SLAVE");
    source.sql("INSERT INTO d.t VALUES (6)").unwrap();
    check_equal(&source, &replica);

    let refused = |place: &str| {
        replica_sql("STOP SLAVE");
        replica_sql(&format!("SET GLOBAL gtid_slave_pos='{place}'; START SLAVE"));
        await_that("an error", patience().unwrap(), || Ok(replica.status()?["Last_IO_Errno"] != "0"))
            .unwrap();
        let status = replica.status().unwrap();
        assert_eq!(status["Last_IO_Errno"], "1236");
        status["Last_IO_Error"].clone()
    };
    let ahead = refused("0-1-1000");
    assert!(ahead.contains("start from GTID 0-1-1000, which is not in the master's binlog'"), "{ahead}");
    let diverged = refused("0-7-5");
    assert!(diverged.contains("the slave has diverged due to executing extra erroneous"), "{diverged}");
    source
        .sql("FLUSH BINARY LOGS; INSERT INTO d.t VALUES (7); PURGE BINARY LOGS TO 'binlog.000003'")
        .unwrap();
    let purged = refused("");
    assert!(
        purged.contains("required binary logs have been purged")
            || purged.contains("required binlog files have been purged"),
        "{purged}"
    );
}
