//! How many commits a second the log takes on this machine's disk, and how many flushes they cost.
//!
//!     cargo run --release -p binlog --example commit_rate -- [folder] [row bytes] [seconds] [binlog_prealloc_num]
//!
//! Each thread commits one transaction after the other at full durability, with nothing else to do:
//! the limit of any server on this disk. The last lines compare plain flushes of a file, without a
//! log.
#![allow(clippy::unwrap_used)]

use binlog::event::QueryEvent;
use binlog::group::{EventGroup, GroupBuilder, GroupContext};
use binlog::gtid::Uuid;
use binlog::log::{Log, LogOptions};
use env::{Env, OpenMode, RealEnv};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| "data/commit_rate".to_owned()));
    let row = args.next().map_or(100, |s| s.parse().unwrap());
    let seconds = Duration::from_secs_f64(args.next().map_or(2.0, |s| s.parse().unwrap()));
    let prealloc = args.next().map_or(0, |s| s.parse().unwrap());
    println!("{}, rows of {row} bytes, {seconds:?} each, binlog_prealloc_num={prealloc}", dir.display());
    println!(
        "{:>8} {:>12} {:>10} {:>8} {:>12} {:>12}",
        "threads", "commits/s", "flushes/s", "group", "flush p50", "flush p99"
    );
    for threads in [1, 4, 64, 256] {
        run(&dir, threads, row, seconds, prealloc);
    }
    for (name, ahead) in [("appended to", false), ("overwritten", true)] {
        println!("plain fdatasync of a file {name}: {} us", plain_flush(&dir, ahead));
    }
}

fn run(dir: &Path, threads: usize, row: usize, time: Duration, prealloc: u32) {
    clear(dir);
    let mut options = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    options.binlog_prealloc_num = prealloc;
    options.max_binlog_size = 64 << 20;
    let (log, _) = Log::open(Arc::new(RealEnv), dir, options).unwrap();
    while log.pool_files() < prealloc as usize {
        thread::sleep(Duration::from_millis(10));
    }
    if prealloc > 0 {
        log.rotate().unwrap();
    }
    let flushes = log.status().flushes.get();
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = RealEnv.monotonic();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    log.commit(group(row), Box::new(())).unwrap();
                    commits.fetch_add(1, Relaxed);
                }
            });
        }
        thread::sleep(time);
        stop.store(true, Relaxed);
    });
    let took = (RealEnv.monotonic() - begun).as_secs_f64();
    let (commits, flushes) = (commits.load(Relaxed) as f64, (log.status().flushes.get() - flushes) as f64);
    let us = &log.status().flush_us;
    println!(
        "{threads:>8} {:>12.0} {:>10.0} {:>8.1} {:>9} us {:>9} us",
        commits / took,
        flushes / took,
        commits / flushes,
        format!("< {}", us.quantile_bound(0.5)),
        format!("< {}", us.quantile_bound(0.99)),
    );
    log.close().unwrap();
    clear(dir);
}

fn group(row: usize) -> EventGroup {
    let mut builder = GroupBuilder::new(GroupContext::new(1, 1_767_225_600, 80408));
    builder.begin(&QueryEvent::new(1, b"db", b"BEGIN"));
    builder.write_row(100, 2, &vec![7; row]);
    builder.end_statement();
    builder.finish_xid(1)
}

fn plain_flush(dir: &Path, ahead: bool) -> u128 {
    const ROUNDS: u32 = 2000;
    RealEnv.create_dir_all(dir).unwrap();
    let path = dir.join("plain");
    let file = RealEnv.open(&path, OpenMode::CreateNew).unwrap();
    if ahead {
        file.write_at(&vec![0; 4 << 20], 0).unwrap();
        file.sync_all().unwrap();
    }
    let begun = RealEnv.monotonic();
    for i in 0..ROUNDS {
        file.write_at(&[1; 300], u64::from(i) * 300).unwrap();
        file.sync_data().unwrap();
    }
    let took = RealEnv.monotonic() - begun;
    RealEnv.remove_file(&path).unwrap();
    (took / ROUNDS).as_micros()
}

/// Removes the log's files, and no others.
fn clear(dir: &Path) {
    for path in RealEnv.read_dir(dir).unwrap_or_default() {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("binlog.")) {
            RealEnv.remove_file(&path).unwrap();
        }
    }
}
