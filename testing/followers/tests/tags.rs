//! Transactions whose GTIDs have tags, which MySQL has since 8.3, from a MySQL through a Duramen to
//! another MySQL: whatever is killed in between, each server has executed the same ones in the end.
//!
//! `DURAMEN_MYSQLD` names a MySQL server; where there is none a test says so and has shown nothing.
//! `DURAMEN_FOLLOW_SECONDS` is how long the source works.
#![allow(clippy::unwrap_used)]

use followers::mysql_server::{Replica, is_at_hand, let_in};
use followers::proxy::Proxy;
use followers::{await_that, patience, seed, working_time};
use servers::{Launch, Running, ServerKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use stdx::random::Random;

/// Another server, under no tag and two.
const ELSEWHERE: [&str; 3] = [
    "5e0a2b7c-0000-11f0-8000-0000000000aa",
    "5e0a2b7c-0000-11f0-8000-0000000000aa:zone",
    "5e0a2b7c-0000-11f0-8000-0000000000aa:a_tag_of_thirty_two_characters__",
];

fn mysql(folder: &Path) -> Running {
    let launch = Launch::new(ServerKind::MySql, folder).unwrap().arg("--max-binlog-size=64K");
    let source = launch.start().unwrap();
    let_in(&source).unwrap();
    source
}

/// The statements of one round: transactions with tags and without, one that is large, one that is
/// compressed, a definition, and names from elsewhere.
fn round(number: u64, random: &mut Random) -> String {
    let tag = ["", ":shop", ":shop", ":_b"][random.below(4) as usize];
    let elsewhere = format!("{}:{}", ELSEWHERE[random.below(3) as usize], number + 1);
    let large = if random.chance(1, 8) { 300_000 } else { 10 };
    format!(
        "SET gtid_next = 'AUTOMATIC{tag}';
         INSERT INTO d.t (word) VALUES ('alone');
         BEGIN; INSERT INTO d.t (word) VALUES ('two'), ('rows'); UPDATE d.t SET n = n + 1 WHERE id % 7 = 3; COMMIT;
         INSERT INTO d.t (word) VALUES (REPEAT('large', {large}));
         SET binlog_transaction_compression = ON;
         INSERT INTO d.t (word) VALUES (REPEAT('compressed', 100));
         SET binlog_transaction_compression = OFF;
         CREATE TABLE d.of_{number} (a INT PRIMARY KEY);
         SET gtid_next = '{elsewhere}'; BEGIN; INSERT INTO d.t (word) VALUES ('named'); COMMIT;
         SET gtid_next = 'AUTOMATIC:zone'; DELETE FROM d.t WHERE id % 5 = 2; SET gtid_next = 'AUTOMATIC';"
    )
}

fn prepare(source: &Running) {
    let table = "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, word LONGTEXT, n INT DEFAULT 0)";
    source.sql(&format!("CREATE DATABASE d; {table}")).unwrap();
}

/// What both have executed, but for what each of them did for itself.
fn check_equal(source: &Running, replica: &Replica) {
    replica.await_source(source, patience().unwrap()).unwrap();
    assert_eq!(replica.differences(source).unwrap(), Vec::<String>::new());
}

fn executed(server: &Running) -> String {
    server.sql("SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '')").unwrap()
}

#[test]
fn from_mysql_through_duramen_to_mysql_and_kills() {
    if !is_at_hand() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = mysql(&folder.path().join("source"));
    prepare(&source);
    // Several files, and transactions that have their own.
    let options = ["--max-binlog-size=64K", "--binlog-large-commit-threshold=1M"];
    let mut middle = Replica::duramen(&folder.path().join("middle"), &options).unwrap();
    middle.follow(source.port()).unwrap();
    // With the source's account for replicas.
    middle.await_source(&source, patience().unwrap()).unwrap();
    let proxy = Proxy::to(middle.server().port()).unwrap();
    let mut last = Replica::start(&folder.path().join("last"), 4).unwrap();
    last.follow(proxy.port()).unwrap();
    let mut random = Random::new(seed().unwrap());
    let (time, start) = (working_time(Duration::from_secs(15)).unwrap(), Instant::now());
    let over = Arc::new(AtomicBool::new(false));
    let work = thread::spawn({
        let (address, over) = (source.address().clone(), over.clone());
        let mut choices = Random::new(random.next_u64());
        move || {
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) {
                address.sql(&round(rounds, &mut choices)).unwrap();
                rounds += 1;
            }
            rounds
        }
    });
    let mut kills = 0;
    while kills < 4 || start.elapsed() < time {
        thread::sleep(Duration::from_millis(500 + random.below(2000)));
        match kills % 4 {
            0 | 1 => middle = middle.crash().unwrap(),
            2 => middle = middle.restart().unwrap(),
            _ => last = last.crash().unwrap(),
        }
        proxy.point_to(middle.server().port());
        middle.check().unwrap();
        last.check().unwrap();
        kills += 1;
    }
    over.store(true, Ordering::Relaxed);
    println!("{} rounds, {kills} kills", work.join().unwrap());
    check_equal(&source, &middle);
    check_equal(middle.server(), &last);
    let of_source = executed(&source);
    println!("source: {of_source}\nlast: {}", executed(last.server()));
    assert!([":shop:1-", ":zone:1-"].iter().all(|tag| of_source.contains(tag)));
    let others = |server: &Running| {
        server.sql(&format!("SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '{of_source}')")).unwrap()
    };
    let uuid = middle.server().sql("SELECT @@server_uuid").unwrap();
    let first = format!("{uuid}:1-2");
    assert_eq!([others(middle.server()), others(last.server())], [first.clone(), first]);
    // It gives out tags of its own, which go to the last one too.
    let own =
        "SET gtid_next = 'AUTOMATIC:own'; INSERT INTO d.t (word) VALUES ('own'); CREATE TABLE d.own (a INT)";
    middle.server().sql(own).unwrap();
    check_equal(middle.server(), &last);
    assert_eq!(others(last.server()), format!("{uuid}:1-2:own:1-2"));
}

/// UNTIL with a tagged transaction: before it, and after it.
#[test]
fn an_applier_stops_where_a_tagged_transaction_says() {
    if !is_at_hand() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = mysql(&folder.path().join("source"));
    prepare(&source);
    source
        .sql(
            "SET gtid_next = 'AUTOMATIC:stop'; INSERT INTO d.t (id) VALUES (1); INSERT INTO d.t (id) VALUES (2);
             SET gtid_next = 'AUTOMATIC'; INSERT INTO d.t (id) VALUES (3);",
        )
        .unwrap();
    let uuid = source.sql("SELECT @@server_uuid").unwrap();
    let replica = Replica::duramen(&folder.path().join("replica"), &[]).unwrap();
    replica.follow(source.port()).unwrap();
    replica.await_source(&source, patience().unwrap()).unwrap();
    let until = |condition: &str, gno: u32| {
        replica
            .server()
            .sql(&format!("STOP REPLICA; START REPLICA UNTIL {condition} = '{uuid}:stop:{gno}'"))
            .unwrap();
    };
    until("SQL_BEFORE_GTIDS", 4);
    let insert = |id: u32| format!("INSERT INTO d.t (id) VALUES ({id})");
    let more = (4..=6).map(insert).collect::<Vec<_>>().join("; ");
    source.sql(&format!("SET gtid_next = 'AUTOMATIC:stop'; {more}")).unwrap();
    let stops_at = |last: &str| {
        let stopped = || Ok(replica.status()?["Replica_SQL_Running"] == "No");
        await_that("stopped", patience().unwrap(), stopped).unwrap();
        assert_eq!(replica.server().sql("SELECT MAX(id) FROM d.t").unwrap(), last);
        replica.check().unwrap();
    };
    stops_at("4");
    until("SQL_AFTER_GTIDS", 4);
    stops_at("5");
    replica.server().sql("START REPLICA").unwrap();
    check_equal(&source, &replica);
    let status = replica.status().unwrap();
    assert!(status["Retrieved_Gtid_Set"].contains(":stop:"), "{status:?}");
    assert!(status["Executed_Gtid_Set"].contains(":stop:1-5"), "{status:?}");
}
