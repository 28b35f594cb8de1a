//! Duramen as a replica: of itself, of a MySQL and of a MariaDB, under a mixed workload, over a
//! network that fails, and with servers that are killed. All tables are equal in the end, and so
//! are the executed GTIDs.
//!
//! `DURAMEN_MYSQLD` names a MySQL server; where there is none a test says so and has shown nothing.
//! `DURAMEN_FOLLOW_SECONDS` is how long the source works in each test, `DURAMEN_SEED` what it does.
#![allow(clippy::unwrap_used)]

use followers::mysql_server::{Replica, is_at_hand, let_in};
use followers::proxy::Proxy;
use followers::workload::{Features, Workload, prepare};
use followers::{await_that, compare, connect, patience, seed, working_time};
use mysql::prelude::Queryable;
use servers::{Launch, Running, ServerKind};
use std::path::Path;
use std::time::{Duration, Instant};
use stdx::random::Random;

fn source(kind: ServerKind, folder: &Path) -> Running {
    let source = Launch::new(kind, &folder.join("source")).unwrap().arg("--max-binlog-size=4M");
    let source = match kind {
        ServerKind::Duramen => source.arg("--binlog-large-commit-threshold=1M"),
        ServerKind::MySql => source.arg("--log-bin-trust-function-creators=ON"),
        ServerKind::MariaDb => source.arg("--log-bin-trust-function-creators=ON"),
    };
    let source = source.start().unwrap();
    match kind {
        ServerKind::MariaDb => {
            let account = "CREATE USER replica@'%' IDENTIFIED BY 'secret'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'";
            source.sql(account).unwrap();
        }
        _ => let_in(&source).unwrap(),
    }
    source
}

fn check_equal(source: &Running, replica: &Replica) {
    let begun = Instant::now();
    if source.kind() == ServerKind::MariaDb {
        replica.await_mariadb(source, patience().unwrap()).unwrap();
    } else {
        replica.await_source(source, patience().unwrap()).unwrap();
    }
    println!("caught up after {:.1} s", begun.elapsed().as_secs_f64());
    let mut ours = connect(source.address()).unwrap();
    let mut theirs = connect(replica.server().address()).unwrap();
    assert_eq!(compare::differences(&mut ours, &mut theirs).unwrap(), Vec::<String>::new());
}

fn follow(replica: &Replica, source: &Running) {
    match source.kind() {
        ServerKind::MariaDb => replica.follow_mariadb(source.port()).unwrap(),
        _ => replica.follow(source.port()).unwrap(),
    }
}

fn under_work(kind: ServerKind) {
    let folder = tempfile::tempdir().unwrap();
    let source = source(kind, folder.path());
    let features = Features::of_source(kind);
    prepare(source.address(), features).unwrap();
    let replica = Replica::duramen(folder.path(), &[]).unwrap();
    follow(&replica, &source);
    let time = working_time(Duration::from_secs(10)).unwrap();
    let work = Workload::start(source.address(), features, 6, seed().unwrap());
    std::thread::sleep(time);
    println!("{}", work.stop().unwrap());
    check_equal(&source, &replica);
    // All of it is in its own log and tables.
    let replica = replica.crash().unwrap();
    check_equal(&source, &replica);
}

#[test]
fn a_replica_of_duramen() {
    under_work(ServerKind::Duramen);
}

#[test]
fn a_replica_of_mysql() {
    if is_at_hand() {
        under_work(ServerKind::MySql);
    }
}

#[test]
fn a_replica_of_mariadb() {
    under_work(ServerKind::MariaDb);
}

/// Statements do what they did at a MariaDB: with its random numbers, its generated ones and its
/// variables; a trigger that it left as it was stays.
#[test]
fn texts_of_mariadb_do_what_they_did_there() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(ServerKind::MariaDb, folder.path());
    source
        .sql(
            "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a DOUBLE, b VARCHAR(50));
             CREATE TABLE u (id INT PRIMARY KEY);
             CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW SET NEW.id = NEW.id + 1;
             CREATE TRIGGER IF NOT EXISTS g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1;
             CREATE TABLE c AS SELECT 1 AS x;
             SET binlog_format = STATEMENT, @v = 'ü', @n = -12.5, insert_id = 70;
             INSERT INTO t (a, b) VALUES (RAND(), @v), (RAND(), @n);
             INSERT INTO t (a, b) SELECT RAND() * id, CONCAT(LAST_INSERT_ID(), @v) FROM t;
             UPDATE t SET b = NOW(), a = a + 1 WHERE id = 70;
             CREATE TABLE cut (at TIME, d DATETIME DEFAULT '2000-01-01 10:00:00.9');
             INSERT INTO cut (at) VALUES ('12:34:56.7');
             SET sql_mode = 'TIME_ROUND_FRACTIONAL'; INSERT INTO cut VALUES ('12:34:56.7', '2000-01-01 10:00:00.9');
             INSERT INTO u VALUES (1);",
        )
        .unwrap();
    // RAND() is none of those that a replica runs without being told to.
    let replica = Replica::duramen(folder.path(), &["--duramen-replica-statements=ALL"]).unwrap();
    follow(&replica, &source);
    check_equal(&source, &replica);
}

#[test]
fn through_kills_restarts_and_cuts() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = source(ServerKind::Duramen, folder.path());
    prepare(source.address(), Features::ALL).unwrap();
    let mut replica = Replica::duramen(folder.path(), &[]).unwrap();
    let proxy = Proxy::to(source.port()).unwrap();
    replica.follow(proxy.port()).unwrap();
    let seed = seed().unwrap();
    let work = Workload::start(source.address(), Features::ALL, 4, seed);
    let (mut random, start) = (Random::new(seed), Instant::now());
    let time = working_time(Duration::from_secs(20)).unwrap();
    let mut round = 0;
    while round < 5 || start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(300 + random.below(1500)));
        match if round < 5 { round } else { random.below(6) } {
            0 => proxy.cut(),
            1 => {
                source.kill().unwrap();
                source = source.restart().unwrap();
            }
            2 | 5 => replica = replica.crash().unwrap(),
            3 => source = source.restart().unwrap(),
            _ => replica = replica.restart().unwrap(),
        }
        work.moved(source.address());
        proxy.point_to(source.port());
        replica.check().unwrap();
        round += 1;
    }
    println!("{round} interruptions; {}", work.stop().unwrap());
    check_equal(&source, &replica);
}

/// A computed column that the events lack is cut as it was at the source, in whichever mode.
#[test]
fn computed_columns_are_cut_as_the_source_cut_them() {
    let mut kinds = vec![ServerKind::Duramen];
    if is_at_hand() {
        kinds.push(ServerKind::MySql);
    }
    for kind in kinds {
        let folder = tempfile::tempdir().unwrap();
        let source = source(kind, folder.path());
        source
            .sql(
                "CREATE DATABASE d; USE d; SET sql_mode = '', binlog_row_image = MINIMAL;
                 CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), s SET('red', 'green') AS (CONCAT('x', a)) STORED,
                   v VARCHAR(3) AS (CONCAT(a, '123456')) VIRTUAL, k SET('red') AS (CONCAT('x', 'y')) STORED);
                 SET sql_mode = DEFAULT; CREATE TABLE of_another_mode (a INT); SET sql_mode = '';
                 INSERT INTO t (id) VALUES (1); INSERT INTO t (id, a) VALUES (2, 'red');
                 UPDATE t SET a = 'green' WHERE id = 1;",
            )
            .unwrap();
        let replica = Replica::duramen(folder.path(), &[]).unwrap();
        follow(&replica, &source);
        check_equal(&source, &replica);
    }
}

/// Rows of a table without a key that one statement inserts and deletes, by triggers.
#[test]
fn a_row_without_a_key_is_found_in_the_statement_that_inserted_it() {
    let mut kinds = vec![ServerKind::Duramen, ServerKind::MariaDb];
    if is_at_hand() {
        kinds.push(ServerKind::MySql);
    }
    for kind in kinds {
        let folder = tempfile::tempdir().unwrap();
        let source = source(kind, folder.path());
        source
            .sql(
                "CREATE DATABASE d; USE d; CREATE TABLE audit (what VARCHAR(20), k INT, old TEXT, new TEXT);
                 CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10));
                 CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW INSERT INTO audit VALUES ('b', NEW.id, NULL, NEW.a);
                 CREATE TRIGGER d BEFORE INSERT ON t FOR EACH ROW DELETE FROM audit WHERE k = NEW.id;
                 INSERT INTO t VALUES (33, 'x'), (1, 'y');
                 CREATE TABLE plain (a INT, b TEXT); BEGIN; INSERT INTO plain VALUES (1, 'x'), (2, NULL);
                 UPDATE plain SET b = 'z'; DELETE FROM plain WHERE a = 1; COMMIT;
                 CREATE TABLE sums (n INT, other INT); INSERT INTO sums VALUES (0, 0), (5, 5), (0, 1);
                 CREATE TABLE keyed (k INT NOT NULL UNIQUE, n INT, KEY (n)); INSERT INTO keyed VALUES (1, 0), (100, 0);",
            )
            .unwrap();
        // One event changes a row again that it has changed before.
        let mut conn = connect(source.address()).unwrap();
        for statement in [
            "CREATE FUNCTION d.f(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
             BEGIN UPDATE d.sums SET n = n + 1 WHERE other = 0; RETURN x; END",
            "CREATE FUNCTION d.g(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
             BEGIN UPDATE d.keyed SET n = n + x, k = k + 1 WHERE k < 50; RETURN x; END",
            "SELECT SUM(d.f(id)) FROM d.t",
            "SELECT SUM(d.g(id)) FROM d.t",
        ] {
            conn.query_drop(statement).unwrap();
        }
        let replica = Replica::duramen(folder.path(), &[]).unwrap();
        follow(&replica, &source);
        check_equal(&source, &replica);
    }
}

/// An applier that stopped is started again while the source is idle: what it lacks is sent anew at
/// once, not with the source's next transaction.
#[test]
fn an_applier_starts_again_behind_an_idle_source() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(ServerKind::Duramen, folder.path());
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)").unwrap();
    let replica = Replica::duramen(folder.path(), &[]).unwrap();
    replica.follow(source.port()).unwrap();
    replica.await_source(&source, patience().unwrap()).unwrap();
    replica.server().sql("INSERT INTO d.t VALUES (1)").unwrap();
    source.sql("INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2)").unwrap();
    let stopped = || Ok(replica.status()?["Last_SQL_Errno"] == "1062");
    await_that("stopped", patience().unwrap(), stopped).unwrap();
    // The receiver goes on waiting for the source.
    replica.server().sql("DELETE FROM d.t; START REPLICA").unwrap();
    replica.await_source(&source, Duration::from_secs(5)).unwrap();
    check_equal(&source, &replica);
    assert!(!replica.server().messages().unwrap().contains("Error reading from source"));
}

/// What it has applied goes on to a replica of its own.
#[test]
fn in_the_middle_of_a_chain() {
    let folder = tempfile::tempdir().unwrap();
    let first = source(ServerKind::Duramen, folder.path());
    prepare(first.address(), Features::ALL).unwrap();
    let middle = Replica::duramen(&folder.path().join("middle"), &[]).unwrap();
    middle.follow(first.port()).unwrap();
    let last = Replica::duramen(&folder.path().join("last"), &["--server-id=5"]).unwrap();
    last.follow(middle.server().port()).unwrap();
    let time = working_time(Duration::from_secs(5)).unwrap();
    let work = Workload::start(first.address(), Features::ALL, 4, seed().unwrap());
    std::thread::sleep(time);
    println!("{}", work.stop().unwrap());
    check_equal(&first, &middle);
    check_equal(&first, &last);
}
