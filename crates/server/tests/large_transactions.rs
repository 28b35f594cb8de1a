//! Large transactions on the real server: concurrent with small ones, killed around their commit,
//! rolled back, and read by others.
//!
//! `DURAMEN_KILL_ROUNDS` says how often the server is killed; `DURAMEN_SEED` repeats the moments.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, now, start};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use stdx::random::Random;

/// The lowest threshold, and little memory for changes, which is exceeded soon.
const ARGS: &[&str] = &["--binlog-large-commit-threshold=1M", "--max-binlog-size=4M"];
/// Of a kilobyte each; an update of all is some 6 MB of log.
const ROWS: u64 = 3000;

fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |v| v.parse().unwrap())
}

fn make_tables(server: &Server) {
    server.sql(
        "create database d; create table d.small (id bigint primary key); \
         create table d.big (id int primary key, n int not null, c varchar(1000))",
    );
    for first in (1..=ROWS).step_by(500) {
        let rows: Vec<_> = (first..first + 500).map(|id| format!("({id}, 0, repeat('x', 1000))")).collect();
        server.sql(&format!("insert into d.big values {}", rows.join(",")));
    }
}

fn number(server: &Server, query: &str) -> u64 {
    server.sql(query).trim().parse().unwrap()
}

fn large_files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().contains(".large-")).count()
}

/// Inserts numbers until the server is gone; the last one that was acknowledged.
fn insert_numbers(server: &Server, stride: u64, first: u64, stop: &AtomicBool) -> u64 {
    let mut client = server.connect();
    let mut acknowledged = first;
    while !stop.load(Relaxed)
        && client.query(format!("insert into d.small values ({})", acknowledged + stride)).is_ok()
    {
        acknowledged += stride;
    }
    acknowledged
}

/// A large transaction is there with all its rows or not at all, and nothing acknowledged is lost,
/// wherever the server is killed: while it runs, while its file is adopted, after it.
#[test]
fn a_kill_leaves_a_large_transaction_whole_or_absent() {
    const WRITERS: u64 = 4;
    let rounds = env_number("DURAMEN_KILL_ROUNDS", 4);
    let seed = env_number("DURAMEN_SEED", now().as_nanos() as u64);
    println!("DURAMEN_SEED={seed}, {rounds} rounds");
    let mut random = Random::new(seed);
    let mut server = start(ARGS);
    make_tables(&server);
    let mut reached: Vec<u64> = (0..WRITERS).collect();
    let mut updates = number(&server, "select max(n) from d.big");
    for round in 1..=rounds {
        let (stop, committing) = (AtomicBool::new(false), AtomicBool::new(false));
        let done = AtomicU64::new(0);
        let kill_in = Duration::from_micros(random.below(60_000));
        std::thread::scope(|scope| {
            let (server, stop) = (&server, &stop);
            let writers: Vec<_> = reached
                .iter()
                .map(|&first| scope.spawn(move || insert_numbers(server, WRITERS, first, stop)))
                .collect();
            let large = scope.spawn(|| {
                let mut client = server.connect();
                client.query("begin").unwrap();
                client.query("update d.big set n = n + 1").unwrap();
                committing.store(true, Relaxed);
                if client.query("commit").is_ok() {
                    done.store(1, Relaxed);
                }
            });
            while !committing.load(Relaxed) && !large.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(kill_in);
            server.kill();
            large.join().unwrap();
            for (reached, writer) in reached.iter_mut().zip(writers) {
                *reached = writer.join().unwrap();
            }
        });
        server = server.crash_and_restart(ARGS);
        assert_eq!(large_files(server.datadir().path()), 0);
        let (least, most) =
            (number(&server, "select min(n) from d.big"), number(&server, "select max(n) from d.big"));
        println!(
            "round {round}: killed after {kill_in:?}; acknowledged: {}; found: {}",
            done.load(Relaxed),
            most - updates
        );
        assert_eq!(least, most, "a part of the transaction");
        assert!((updates + done.load(Relaxed)..=updates + 1).contains(&most));
        assert_eq!(number(&server, "select count(*) from d.big"), ROWS);
        updates = most;
        for (writer, last) in reached.iter_mut().enumerate() {
            let of_writer = format!("from d.small where id % {WRITERS} = {writer} and id >= {WRITERS}");
            let found = number(&server, &format!("select coalesce(max(id), {writer}) {of_writer}"));
            let count = number(&server, &format!("select count(*) {of_writer}"));
            assert!(found == *last || found == *last + WRITERS, "acknowledged up to {last}, found {found}");
            assert_eq!(count, found / WRITERS, "no number before the last is missing");
            *last = found;
        }
    }
    let folder = server.datadir().clone();
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    check_files(folder.path(), updates);
}

/// Others read the log's files: `mariadb-binlog` finds each update, with checksums that hold.
fn check_files(folder: &Path, updates: u64) {
    let index = std::fs::read_to_string(folder.join("binlog.index")).unwrap();
    let files = index.lines().map(|line| folder.join(line.trim_start_matches("./")));
    let output = Command::new("mariadb-binlog")
        .args(["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "-v"])
        .args(files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Ignorable") || updates == 0, "a file was joined");
    let found = text.lines().filter(|line| *line == "### UPDATE `d`.`big`").count() as u64;
    assert_eq!(found, updates * ROWS);
}

/// What is rolled back leaves no file, to a savepoint or altogether; what is left commits.
#[test]
fn rolling_back_gives_the_room_back() {
    let server = start(ARGS);
    make_tables(&server);
    let folder = server.datadir().clone();
    let mut client = server.connect();
    let mut run = |sql: &str| drop(client.query(sql).unwrap());
    run("begin");
    run("update d.big set n = n + 1");
    assert_eq!(large_files(folder.path()), 1);
    run("rollback");
    assert_eq!(large_files(folder.path()), 0);
    run("begin");
    run("update d.big set n = n + 1 where id <= 10");
    run("savepoint s");
    run("update d.big set n = n + 1");
    assert_eq!(large_files(folder.path()), 1);
    run("rollback to s");
    assert_eq!(large_files(folder.path()), 0, "what is left is small");
    run("update d.big set n = n + 10 where id <= 2000");
    run("savepoint t");
    run("update d.big set n = n + 100");
    run("rollback to t");
    assert_eq!(large_files(folder.path()), 1);
    run("commit");
    assert_eq!(large_files(folder.path()), 0);
    let server = server.crash_and_restart(ARGS);
    assert_eq!(number(&server, "select sum(n) from d.big"), 10 + 2000 * 10);
}
