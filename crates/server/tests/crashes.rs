//! The real server under load, killed, and on a disk that fails or is full.
//!
//! Clients write pairs of rows into two tables, a pair a transaction, and note what was
//! acknowledged. After a kill the tables must agree with each other and with the log, and hold
//! everything acknowledged, and no transaction that no client sent. `DURAMEN_KILL_ROUNDS` says how
//! often the server is killed; `DURAMEN_SEED` repeats the moments.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, now, start};
use protocol::client::Client;
use servers::disk::Disk;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use stdx::random::Random;

const CLIENTS: u64 = 8;

/// Small files and a short distance to replay: rotations and checkpoints fall into every round.
const SMALL: &[&str] = &["--max-binlog-size=256K", "--binlog-prealloc-num=3"];

fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |v| v.parse().unwrap())
}

/// The pairs that were sent, by number; and those that the server acknowledged.
#[derive(Default)]
struct Ledger {
    sent: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
}

/// Writes pairs until the server is gone or `stop` is set.
fn write_pairs(mut client: Client, next: &AtomicU64, stop: &AtomicBool) -> Ledger {
    let mut ledger = Ledger::default();
    while !stop.load(Ordering::Relaxed) {
        let pair = next.fetch_add(1, Ordering::Relaxed);
        ledger.sent.insert(pair);
        if write_pair(&mut client, pair).is_err() {
            break;
        }
        ledger.acknowledged.insert(pair);
    }
    ledger
}

fn write_pair(client: &mut Client, pair: u64) -> Result<(), protocol::client::ClientError> {
    let filler = "x".repeat((pair % 7) as usize * 100);
    client.query("begin")?;
    client.query(format!("insert into pairs.a values ({pair}, '{filler}')"))?;
    client.query(format!("insert into pairs.b (pair, c) values ({pair}, '{filler}')"))?;
    client.query("update pairs.hot set n = n + 1 where id = 1")?;
    client.query("commit")?;
    Ok(())
}

/// Writes from several clients at once until `cut`, which ends the server or the writing.
fn under_load(server: &Server, next: &AtomicU64, cut: impl FnOnce(&AtomicBool)) -> Ledger {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let client = server.connect();
                let stop = &stop;
                scope.spawn(move || write_pairs(client, next, stop))
            })
            .collect();
        cut(&stop);
        let mut all = Ledger::default();
        for writer in writers {
            let ledger = writer.join().unwrap();
            all.sent.extend(ledger.sent);
            all.acknowledged.extend(ledger.acknowledged);
        }
        all
    })
}

fn make_tables(server: &Server) {
    server.sql(
        "create database pairs; \
         create table pairs.a (pair bigint primary key, c varchar(1000)); \
         create table pairs.b (id bigint auto_increment primary key, pair bigint, c varchar(1000)); \
         create table pairs.hot (id int primary key, n bigint); \
         insert into pairs.hot values (1, 0)",
    );
}

fn numbers(server: &Server, query: &str) -> Vec<u64> {
    server.sql(query).lines().map(|l| l.parse().unwrap()).collect()
}

/// Everything acknowledged is there, nothing that nobody sent, and the tables agree.
fn check(server: &Server, ledger: &Ledger) {
    let a: BTreeSet<u64> = numbers(server, "select pair from pairs.a").into_iter().collect();
    let b = numbers(server, "select pair from pairs.b");
    let missing: Vec<_> = ledger.acknowledged.difference(&a).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    let unknown: Vec<_> = a.difference(&ledger.sent).collect();
    assert!(unknown.is_empty(), "never sent: {unknown:?}");
    assert_eq!(b.len(), a.len(), "half of a transaction survived");
    assert_eq!(b.into_iter().collect::<BTreeSet<_>>(), a);
    assert_eq!(numbers(server, "select n from pairs.hot"), [a.len() as u64]);
}

/// The log's row events and the tables hold the same transactions.
fn check_log(datadir: &Path, rows: usize) {
    let mut files: Vec<PathBuf> = std::fs::read_to_string(datadir.join("binlog.index"))
        .unwrap()
        .lines()
        .map(|l| datadir.join(l.trim_start_matches("./")))
        .collect();
    files.sort();
    let output = Command::new("mariadb-binlog")
        .args(["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "-v"])
        .args(&files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let inserted =
        |table: &str| text.lines().filter(|l| *l == format!("### INSERT INTO `pairs`.`{table}`")).count();
    assert_eq!((inserted("a"), inserted("b")), (rows, rows), "log and tables disagree");
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let rounds = env_number("DURAMEN_KILL_ROUNDS", 3);
    let seed = env_number("DURAMEN_SEED", now().as_nanos() as u64);
    println!("DURAMEN_SEED={seed}, {rounds} rounds");
    let mut random = Random::new(seed);
    let next = AtomicU64::new(1);
    let mut all = Ledger::default();
    let mut server = start(SMALL);
    make_tables(&server);
    for round in 1..=rounds {
        let life = Duration::from_millis(50 + random.below(700));
        let ledger = under_load(&server, &next, |_| {
            std::thread::sleep(life);
            server.kill();
        });
        println!("round {round}: {} of {} acknowledged", ledger.acknowledged.len(), ledger.sent.len());
        all.sent.extend(&ledger.sent);
        all.acknowledged.extend(&ledger.acknowledged);
        server = server.crash_and_restart(SMALL);
        check(&server, &all);
    }
    let rows = numbers(&server, "select pair from pairs.a").len();
    let datadir = server.datadir().clone();
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    check_log(datadir.path(), rows);
}

/// A disk that can be told to fail or to be full, and the folder it lives in.
fn disk() -> (tempfile::TempDir, Disk) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path()).unwrap();
    (folder, disk)
}

#[test]
fn after_a_failed_flush_no_commit_is_acknowledged_and_reads_go_on() {
    let (_folder, disk) = disk();
    let server = Server::start_with(&Arc::new(tempfile::tempdir().unwrap()), SMALL, &disk.variables());
    make_tables(&server);
    let next = AtomicU64::new(1);
    let ledger = under_load(&server, &next, |_| {
        std::thread::sleep(Duration::from_millis(200));
        disk.fail_flushes(true).unwrap();
    });
    // The disk is well again; the log must not believe it.
    disk.fail_flushes(false).unwrap();
    let refused = server.sql_error("insert into pairs.a values (0, '')");
    println!("{} acknowledged; then: {refused}", ledger.acknowledged.len());
    assert!(refused.contains("ERROR 1") || refused.contains("ERROR 3"), "{refused}");
    let visible = numbers(&server, "select count(*) from pairs.a");
    assert_eq!(visible, [ledger.acknowledged.len() as u64], "reads go on, at what was durable");
    let server = server.crash_and_restart(SMALL);
    check(&server, &ledger);
    server.sql("insert into pairs.a values (0, '')");
}

#[test]
fn a_full_disk_refuses_commits_until_there_is_room() {
    let (_folder, disk) = disk();
    let server = Server::start_with(&Arc::new(tempfile::tempdir().unwrap()), SMALL, &disk.variables());
    make_tables(&server);
    let next = AtomicU64::new(1);
    let mut all = under_load(&server, &next, |_| {
        std::thread::sleep(Duration::from_millis(200));
        // Until each client met the full disk.
        disk.fill(true).unwrap();
    });
    let refused = server.sql_error("insert into pairs.a values (0, repeat('x', 1000))");
    println!("{} acknowledged; then: {refused}", all.acknowledged.len());
    check_acknowledged_visible(&server, &all);
    disk.fill(false).unwrap();
    let more = under_load(&server, &next, |stop| {
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(!more.acknowledged.is_empty(), "it works again once there is room");
    all.sent.extend(&more.sent);
    all.acknowledged.extend(&more.acknowledged);
    check(&server, &all);
    let server = server.crash_and_restart(SMALL);
    check(&server, &all);
}

fn check_acknowledged_visible(server: &Server, ledger: &Ledger) {
    let found = numbers(server, "select pair from pairs.a").into_iter().collect::<BTreeSet<_>>();
    assert_eq!(found, ledger.acknowledged, "a refused transaction is not there");
}
