//! A MySQL replica of Duramen, as it is: by GTID auto-position, with parallel workers, under a
//! sysbench load, over a network that fails, and with servers that are killed. All tables are equal
//! in the end, nothing was refused, and nothing lags.
//!
//! MySQL is not on every machine: `DURAMEN_MYSQLD` names its server. Where there is none a test
//! says so and has shown nothing. `DURAMEN_FOLLOW_SECONDS` is how long the source works in each
//! test, `DURAMEN_SEED` what it does.
#![allow(clippy::unwrap_used)]

use followers::mysql_server::{Replica, is_at_hand, let_in};
use followers::proxy::Proxy;
use followers::workload::{Features, Workload, prepare};
use followers::{patience, seed, working_time};
use servers::{Launch, Running, ServerKind, find};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use stdx::random::Random;

/// Appliers that work side by side.
const WORKERS: u32 = 4;

fn source(folder: &Path) -> Running {
    let source = Launch::new(ServerKind::Duramen, folder).unwrap();
    // Several files, and transactions that have their own.
    let source = source.arg("--max-binlog-size=4M").arg("--binlog-large-commit-threshold=1M");
    let source = source.start().unwrap();
    let_in(&source).unwrap();
    source
}

fn check_equal(source: &Running, replica: &Replica) {
    let begun = Instant::now();
    replica.await_source(source, patience().unwrap()).unwrap();
    let executed = source.sql("SELECT @@GLOBAL.gtid_executed").unwrap();
    println!("caught up with {executed} after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(replica.differences(source).unwrap(), Vec::<String>::new());
}

/// sysbench at work on a database of its own; `None`, and said so, where it is not installed.
fn sysbench(source: &Running, time: Duration) -> Option<Child> {
    if find("sysbench").is_none() {
        println!("without a load beside: sysbench is not installed");
        return None;
    }
    source.sql("CREATE DATABASE IF NOT EXISTS sbtest").unwrap();
    let run = |what: &str, more: &[String]| {
        let mut command = source.address().sysbench();
        command
            .args(["oltp_write_only", "--tables=2", "--table-size=2000", "--threads=2"])
            .args(more)
            .arg(what);
        command.stdout(Stdio::null());
        command
    };
    assert!(run("prepare", &[]).status().unwrap().success());
    let more = [format!("--time={}", time.as_secs().max(1)), "--mysql-ignore-errors=all".to_owned()];
    Some(run("run", &more).spawn().unwrap())
}

#[test]
fn by_auto_position_in_parallel_beside_a_load() {
    if !is_at_hand() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    prepare(source.address(), Features::ALL).unwrap();
    let replica = Replica::start(folder.path(), WORKERS).unwrap();
    replica.follow(source.port()).unwrap();
    let time = working_time(Duration::from_secs(10)).unwrap();
    let load = sysbench(&source, time);
    let work = Workload::start(source.address(), Features::ALL, 6, seed().unwrap());
    std::thread::sleep(time);
    println!("{}", work.stop().unwrap());
    if let Some(mut load) = load {
        assert!(load.wait().unwrap().success());
    }
    check_equal(&source, &replica);
}

#[test]
fn through_kills_restarts_and_cuts() {
    if !is_at_hand() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut source = source(folder.path());
    prepare(source.address(), Features::ALL).unwrap();
    let mut replica = Replica::start(folder.path(), WORKERS).unwrap();
    let proxy = Proxy::to(source.port()).unwrap();
    replica.follow(proxy.port()).unwrap();
    let seed = seed().unwrap();
    let work = Workload::start(source.address(), Features::ALL, 4, seed);
    let (mut random, start) = (Random::new(seed), Instant::now());
    let time = working_time(Duration::from_secs(20)).unwrap();
    // Each of them at least once.
    let mut round = 0;
    while round < 4 || start.elapsed() < time {
        std::thread::sleep(Duration::from_millis(500 + random.below(2000)));
        let what = if round < 4 { round } else { random.below(5) };
        match what {
            0 => proxy.cut(),
            1 => {
                source.kill().unwrap();
                source = source.restart().unwrap();
            }
            2 => replica = replica.crash().unwrap(),
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
