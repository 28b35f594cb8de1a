//! The preload library, under programs that everyone has.
#![allow(clippy::unwrap_used)]

use servers::disk::Disk;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with a file.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), b"some bytes").unwrap();
    folder
}

/// Runs a program with `file` under the disk; how long it took, if it succeeded.
fn run(folder: &TempDir, disk: &Disk, program: &[&str]) -> Option<Duration> {
    let began = Instant::now();
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(folder).envs(disk.variables());
    command.output().unwrap().status.success().then(|| began.elapsed())
}

const FLUSH: &[&str] = &["sync", "--data", "file"];
const SYNC_WRITES: &[&str] =
    &["dd", "if=/dev/zero", "of=file", "bs=1", "count=3", "oflag=dsync", "conv=notrunc"];
const GROW: &[&str] = &["dd", "if=/dev/zero", "of=file", "bs=100", "count=1"];

#[test]
fn a_slow_disk_takes_its_time_for_each_flush_and_counts_it() {
    let folder = folder();
    let disk = Disk::new(folder.path()).unwrap();
    assert!(run(&folder, &disk, FLUSH).is_some());
    assert_eq!(disk.seen().unwrap().flushes, 1);
    disk.delay_flushes(Duration::from_millis(20)).unwrap();
    let before = disk.seen().unwrap();
    assert!(run(&folder, &disk, FLUSH).unwrap() >= Duration::from_millis(20));
    assert!(run(&folder, &disk, SYNC_WRITES).unwrap() >= Duration::from_millis(60));
    let seen = disk.seen().unwrap().since(before);
    assert_eq!(seen.flushes, 4);
    assert!(seen.mean().unwrap() >= Duration::from_millis(20), "{seen:?}");
    disk.delay_flushes(Duration::ZERO).unwrap();
    let again = disk.seen().unwrap();
    assert!(run(&folder, &disk, FLUSH).is_some());
    assert!(disk.seen().unwrap().since(again).mean().unwrap() < seen.mean().unwrap());
}

#[test]
fn a_failing_disk_fails_flushes_and_a_full_one_growth() {
    let folder = folder();
    let disk = Disk::new(folder.path()).unwrap();
    disk.fail_flushes(true).unwrap();
    assert!(run(&folder, &disk, FLUSH).is_none());
    assert!(run(&folder, &disk, SYNC_WRITES).is_none());
    assert!(run(&folder, &disk, GROW).is_some(), "a write alone does not fail");
    disk.fail_flushes(false).unwrap();
    disk.fill(true).unwrap();
    assert!(run(&folder, &disk, FLUSH).is_some());
    assert!(run(&folder, &disk, SYNC_WRITES).is_some(), "what overwrites finds room");
    assert!(run(&folder, &disk, &[GROW, &["oflag=append", "conv=notrunc"]].concat()).is_none());
    disk.fill(false).unwrap();
    assert!(run(&folder, &disk, GROW).is_some());
}
