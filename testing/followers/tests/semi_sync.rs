//! A replica that acknowledges, a MariaDB, a MySQL or a Duramen: what Duramen has acknowledged is
//! on it, whenever Duramen is killed; and a replica that stops holds nothing up for longer than it
//! may.
//!
//! `DURAMEN_KILL_ROUNDS` is how often the source is killed, `DURAMEN_MYSQLD` names MySQL's server.
//! Where there is none a test says so and has shown nothing.
#![allow(clippy::unwrap_used)]

use followers::mariadb::{self, Apply, Positions, port_option};
use followers::proxy::Proxy;
use followers::{Result, await_that, connect, mysql_server, seed};
use mysql::prelude::Queryable;
use servers::{Launch, Running, ServerKind};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use stdx::random::Random;

const SESSIONS: u64 = 8;
/// How long a replica may take to connect, or for what it has received.
const PATIENCE: Duration = Duration::from_secs(60);

/// A source whose commits wait for a replica, with a table `d.t`.
fn source(folder: &Path, timeout: Duration, point: &str, options: &[String]) -> Running {
    let source = Launch::new(ServerKind::Duramen, folder)
        .unwrap()
        .arg("--max-binlog-size=256K")
        .arg("--rpl-semi-sync-source-enabled=ON")
        .arg(format!("--rpl-semi-sync-source-timeout={}", timeout.as_millis()))
        .arg(format!("--rpl-semi-sync-source-wait-point={point}"));
    let source = options.iter().fold(source, |source, option| source.arg(option)).start().unwrap();
    // Nobody acknowledges these.
    source.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF").unwrap();
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (id BIGINT PRIMARY KEY, s VARCHAR(100))").unwrap();
    source
}

/// A semi-synchronous replica of either server.
enum Replica {
    MariaDb(mariadb::Replica),
    MySql(mysql_server::Replica),
}

impl Replica {
    fn of_mariadb(folder: &Path, source: &Running, port: u16, positions: Positions) -> Self {
        mariadb::let_in(source).unwrap();
        let replica = mariadb::Replica::start(folder, Apply::InOrder).unwrap();
        replica.server().sql("SET GLOBAL rpl_semi_sync_slave_enabled = ON").unwrap();
        replica.follow(port, positions).unwrap();
        Self::MariaDb(replica)
    }

    fn of_mysql(folder: &Path, source: &Running, port: u16) -> Self {
        mysql_server::let_in(source).unwrap();
        let replica = mysql_server::Replica::start(folder, 4).unwrap();
        let plugin = "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'";
        replica.server().sql(plugin).unwrap();
        replica.server().sql("SET GLOBAL rpl_semi_sync_replica_enabled = ON").unwrap();
        replica.follow(port).unwrap();
        Self::MySql(replica)
    }

    fn of_duramen(folder: &Path, source: &Running, port: u16) -> Self {
        mysql_server::let_in(source).unwrap();
        let replica = mysql_server::Replica::duramen(&folder.join("replica"), &[]).unwrap();
        let plugin = "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'";
        replica.server().sql(plugin).unwrap();
        replica.server().sql("SET GLOBAL rpl_semi_sync_replica_enabled = ON").unwrap();
        replica.follow(port).unwrap();
        Self::MySql(replica)
    }

    fn server(&self) -> &Running {
        match self {
            Self::MariaDb(replica) => replica.server(),
            Self::MySql(replica) => replica.server(),
        }
    }

    fn await_source(&self, source: &Running) -> Result<()> {
        match self {
            Self::MariaDb(replica) => replica.await_source(source, PATIENCE),
            Self::MySql(replica) => replica.await_source(source, PATIENCE),
        }
    }

    fn differences(&self, source: &Running) -> Result<Vec<String>> {
        match self {
            Self::MariaDb(replica) => replica.differences(source),
            Self::MySql(replica) => replica.differences(source),
        }
    }
}

fn status(server: &Running, name: &str) -> String {
    let row = server.sql(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_source_{name}'")).unwrap();
    row.split('\t').nth(1).unwrap().trim().to_owned()
}

fn await_status(server: &Running, name: &str, wanted: &str) {
    let description = format!("Rpl_semi_sync_source_{name} = {wanted}");
    await_that(&description, PATIENCE, || Ok(status(server, name) == wanted)).unwrap();
}

/// Inserts until the server is gone; what was acknowledged.
fn write(source: &Running, first: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    // It may be killed before that.
    let Ok(mut conn) = connect(source.address()) else { return acknowledged };
    for id in first.. {
        if conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, REPEAT('x', {}))", id % 100)).is_err() {
            break;
        }
        acknowledged.push(id);
    }
    acknowledged
}

/// Who follows in a test of kills, and how.
#[derive(Debug, Clone, Copy)]
enum Follower {
    MariaDb(Positions),
    MySql,
    Duramen,
}

fn kills(follower: Follower, point: &str) {
    let rounds = std::env::var("DURAMEN_KILL_ROUNDS").ok().map_or(3, |s| s.parse().unwrap());
    let mut random = Random::new(seed().unwrap());
    let folder = tempfile::tempdir().unwrap();
    // The port of MariaDB's replicas stays.
    let port = servers::free_port().unwrap();
    let mut source = source(folder.path(), Duration::from_secs(600), point, &[port_option(port)]);
    let target = |source: &Running| match follower {
        Follower::MariaDb(_) => port,
        Follower::MySql | Follower::Duramen => source.port(),
    };
    let proxy = Proxy::to(target(&source)).unwrap();
    let replica = match follower {
        Follower::MariaDb(positions) => Replica::of_mariadb(folder.path(), &source, proxy.port(), positions),
        Follower::MySql => Replica::of_mysql(folder.path(), &source, proxy.port()),
        Follower::Duramen => Replica::of_duramen(folder.path(), &source, proxy.port()),
    };
    source.sql("SET GLOBAL rpl_semi_sync_source_enabled = ON").unwrap();
    let mut total = 0;
    for round in 0..rounds {
        await_status(&source, "clients", "1");
        let lifetime = Duration::from_millis(100 + random.below(900));
        let first = |session: u64| (session * rounds + round) * 1_000_000;
        let (killed, acknowledged) = thread::scope(|scope| {
            let sessions: Vec<_> = (1..=SESSIONS)
                .map(|session| {
                    let source = &source;
                    scope.spawn(move || write(source, first(session)))
                })
                .collect();
            thread::sleep(lifetime);
            let killed = Command::new("kill").args(["-9", &source.pid().to_string()]).status().unwrap();
            let acknowledged = sessions.into_iter().flat_map(|session| session.join().unwrap());
            (killed, acknowledged.collect::<Vec<u64>>())
        });
        assert!(killed.success());
        source.kill().unwrap();
        total += acknowledged.len();
        let last_message = source.messages().unwrap();
        assert!(!last_message.contains("Timeout waiting for reply"), "it fell back: {last_message}");

        // What it has received it applies by itself.
        let mut missing = Vec::new();
        let all_there = await_that("all that was acknowledged", PATIENCE, || {
            let there: HashSet<u64> =
                connect(replica.server().address())?.query("SELECT id FROM d.t")?.into_iter().collect();
            missing = acknowledged.iter().filter(|id| !there.contains(id)).copied().collect();
            Ok(missing.is_empty())
        });
        all_there.unwrap_or_else(|e| panic!("round {round}: {e}: the replica lacks {missing:?}"));
        source = source.restart().unwrap();
        proxy.point_to(target(&source));
    }
    assert!(total > 0, "nothing was committed");
    await_status(&source, "clients", "1");
    replica.await_source(&source).unwrap();
    assert_eq!(replica.differences(&source).unwrap(), Vec::<String>::new());
    println!("{follower:?}: {rounds} kills, {total} acknowledged commits, all on the replica");
}

#[test]
fn what_is_acknowledged_is_on_the_replica_when_the_source_is_killed() {
    kills(Follower::MariaDb(Positions::Gtid), "AFTER_SYNC");
}

#[test]
fn by_file_and_offset_and_after_commit_too() {
    kills(Follower::MariaDb(Positions::File), "AFTER_COMMIT");
}

#[test]
fn what_is_acknowledged_is_on_a_mysql_replica() {
    if mysql_server::is_at_hand() {
        kills(Follower::MySql, "AFTER_SYNC");
    }
}

#[test]
fn what_is_acknowledged_is_on_a_replica_that_is_a_duramen() {
    kills(Follower::Duramen, "AFTER_SYNC");
    kills(Follower::Duramen, "AFTER_COMMIT");
}

/// The source asks again before the replica has answered: a replica that joins late reads many
/// transactions at once. All of it is answered, over one connection.
#[test]
fn a_duramen_that_joins_late_answers_each_question() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), Duration::from_secs(600), "AFTER_SYNC", &[]);
    let replica = Replica::of_duramen(folder.path(), &source, source.port());
    replica.await_source(&source).unwrap();
    replica.server().sql("STOP REPLICA").unwrap();
    for id in 0..300 {
        source.sql(&format!("INSERT INTO d.t VALUES ({id}, REPEAT('x', 90))")).unwrap();
    }
    source.sql("SET GLOBAL rpl_semi_sync_source_enabled = ON").unwrap();
    let written = thread::scope(|scope| {
        let sessions: Vec<_> = (1..=SESSIONS)
            .map(|session| {
                let source = &source;
                scope.spawn(move || {
                    let mut conn = connect(source.address()).unwrap();
                    for id in 0..100 {
                        conn.query_drop(format!("INSERT INTO d.t VALUES ({}, '')", session * 1_000 + id))
                            .unwrap();
                    }
                })
            })
            .collect();
        replica.server().sql("START REPLICA").unwrap();
        let written = await_that("all commits", PATIENCE, || Ok(sessions.iter().all(|s| s.is_finished())));
        let messages = replica.server().messages().unwrap();
        if written.is_err() {
            // The sessions wait for ever.
            let mut conn = connect(source.address()).unwrap();
            conn.query_drop("SET GLOBAL rpl_semi_sync_source_enabled = OFF").unwrap();
        }
        assert!(!messages.contains("Error reading from source"), "{messages}");
        written
    });
    written.unwrap();
    replica.await_source(&source).unwrap();
    assert_eq!(replica.differences(&source).unwrap(), Vec::<String>::new());
}

fn signal(server: &Running, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.pid().to_string()]).status().unwrap().success());
}

#[test]
fn a_replica_that_stops_holds_nothing_up_for_longer_than_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let timeout = Duration::from_secs(2);
    let port = servers::free_port().unwrap();
    let source = source(folder.path(), timeout, "AFTER_SYNC", &[port_option(port)]);
    let replica = Replica::of_mariadb(folder.path(), &source, port, Positions::Gtid);
    source.sql("SET GLOBAL rpl_semi_sync_source_enabled = ON").unwrap();
    await_status(&source, "clients", "1");
    source.sql("INSERT INTO d.t VALUES (1, '')").unwrap();
    assert_eq!(status(&source, "yes_tx"), "1");

    signal(replica.server(), "-STOP");
    let begun = Instant::now();
    source.sql("INSERT INTO d.t VALUES (2, '')").unwrap();
    let took = begun.elapsed();
    assert!(took >= timeout, "{took:?}");
    assert_eq!((status(&source, "status"), status(&source, "no_tx")), ("OFF".into(), "1".into()));
    let begun = Instant::now();
    source.sql("INSERT INTO d.t VALUES (3, '')").unwrap();
    assert!(begun.elapsed() < timeout);
    let messages = source.messages().unwrap();
    assert!(messages.contains("Timeout waiting for reply of binlog (file: "), "{messages}");
    assert!(messages.contains("Semi-sync replication switched OFF."), "{messages}");

    signal(replica.server(), "-CONT");
    await_that("on again", PATIENCE, || {
        source.sql("REPLACE INTO d.t VALUES (4, '')")?;
        Ok(status(&source, "status") == "ON")
    })
    .unwrap();
    assert!(source.messages().unwrap().contains("Semi-sync replication switched ON at ("));

    // A stop waits for nobody.
    source.sql("SET GLOBAL rpl_semi_sync_master_timeout = 600000").unwrap();
    signal(replica.server(), "-STOP");
    let address = source.address().clone();
    let waits = thread::spawn(move || {
        address.sql("INSERT INTO d.t VALUES (5, '')").map(drop).map_err(|e| e.to_string())
    });
    await_status(&source, "wait_sessions", "1");
    let begun = Instant::now();
    source.stop().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    signal(replica.server(), "-CONT");
    waits.join().unwrap().unwrap();
}
