//! RESET BINARY LOGS AND GTIDS of the real server: under load and killed, and as the first step of
//! a replica's set-up.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, run, start};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use stdx::random::Random;

const WRITERS: usize = 4;
/// Small files, so that each log has several.
const SMALL: &[&str] = &["--max-binlog-size=16K", "--binlog-prealloc-num=1"];

/// Inserts numbers until the server is gone or `stop` is set; which were acknowledged.
fn write(server: &Server, next: &AtomicU64, stop: &AtomicBool) -> Vec<u64> {
    let mut client = server.connect();
    let mut acknowledged = Vec::new();
    while !stop.load(Relaxed) {
        let number = next.fetch_add(1, Relaxed);
        if client.query(format!("INSERT INTO d.t VALUES ({number})")).is_err() {
            break;
        }
        acknowledged.push(number);
    }
    acknowledged
}

/// Resets the log again and again while others commit, for a while; then the server is killed, or
/// the writers stop.
fn reset_under_load(server: &Server, next: &AtomicU64, time: Duration, kill: bool) -> (Vec<u64>, u64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(|| write(server, next, &stop))).collect();
        let resets = scope.spawn(|| {
            let (mut client, mut resets) = (server.connect(), 0);
            while !stop.load(Relaxed) && client.query("RESET BINARY LOGS AND GTIDS").is_ok() {
                resets += 1;
            }
            resets
        });
        std::thread::sleep(time);
        if kill {
            server.kill();
        }
        stop.store(true, Relaxed);
        let acknowledged = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        (acknowledged, resets.join().unwrap())
    })
}

fn rows(server: &Server) -> BTreeSet<u64> {
    server.sql("SELECT a FROM d.t").lines().map(|line| line.parse().unwrap()).collect()
}

fn log_names(server: &Server) -> Vec<String> {
    let listed = server.sql("SHOW BINARY LOGS");
    listed.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn resets_under_load_lose_nothing_when_the_server_is_killed() {
    let rounds: u32 = std::env::var("DURAMEN_KILL_ROUNDS").map_or(4, |v| v.parse().unwrap());
    let mut random = Random::new(7);
    let mut server = start(SMALL);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    let (next, mut owed, mut resets) = (AtomicU64::new(0), BTreeSet::new(), 0);
    for _ in 0..rounds {
        let time = Duration::from_millis(200 + random.below(600));
        let (acknowledged, done) = reset_under_load(&server, &next, time, true);
        owed.extend(acknowledged);
        resets += done;
        server = server.crash_and_restart(SMALL);
        let found = rows(&server);
        let lost: Vec<_> = owed.difference(&found).collect();
        assert!(lost.is_empty(), "{lost:?} were acknowledged");
        let names = log_names(&server);
        let last = names.last().unwrap().rsplit_once('.').unwrap().1.parse::<usize>().unwrap();
        assert_eq!(last, names.len(), "a log begins with file 1, and {names:?} has all of its files");
        owed = found;
    }
    println!("{} rows, {resets} resets", owed.len());
    assert!(resets > 0);

    // What the last log has is what was committed since.
    let (acknowledged, _) = reset_under_load(&server, &next, Duration::from_millis(300), false);
    assert!(!acknowledged.is_empty());
    server.sql("RESET MASTER; INSERT INTO d.t VALUES (-1); INSERT INTO d.t VALUES (-2)");
    assert!(server.sql("SELECT @@GLOBAL.gtid_executed").trim().ends_with(":1-2"));
    let files: Vec<_> = log_names(&server).iter().map(|name| server.file(name)).collect();
    let datadir = server.datadir().clone();
    assert!(server.terminate().0.success());
    let mut args = vec!["binlog", "verify"];
    args.extend(files.iter().map(|path| path.to_str().unwrap()));
    let (status, out, error) = run(&args);
    assert!(status.success(), "{out}{error}");
    drop(datadir);
}

/// What `mysqldump --set-gtid-purged=ON` begins with, on a server that was tried out before.
#[test]
fn a_dump_that_declares_its_gtids_loads_after_a_reset() {
    let server = start(&[]);
    let dumped = "aaaaaaaa-0000-0000-0000-000000000001:1-5";
    let dump = format!(
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
         SET @@SESSION.SQL_LOG_BIN= 0;
         SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{dumped}';
         CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1);
         SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;"
    );
    server.sql(&dump);
    assert!(server.sql_error(&dump).contains("must not overlap"));
    server.sql("DROP DATABASE d; RESET BINARY LOGS AND GTIDS");
    server.sql(&dump);
    let server = server.crash_and_restart(&[]);
    assert_eq!(server.sql("SELECT @@GLOBAL.gtid_purged").trim(), dumped);
    let has_all = format!("SELECT GTID_SUBSET('{dumped}', @@GLOBAL.gtid_executed), COUNT(*) FROM d.t");
    assert_eq!(server.sql(&has_all).trim(), "1\t1");
}
