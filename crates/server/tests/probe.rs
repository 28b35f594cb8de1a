//! `duramen probe` as a person runs it: on a disk, with a server, with mistakes, and interrupted.
#![allow(clippy::unwrap_used)]

mod common;

use common::{DURAMEN, Server, now, run, start};
use env::{Env, OpenMode, RealEnv};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Nothing of the probe may be left in a folder.
fn is_clean(folder: &std::path::Path) -> bool {
    std::fs::read_dir(folder)
        .unwrap()
        .all(|e| !e.unwrap().file_name().to_string_lossy().starts_with("duramen-"))
}

#[test]
fn predicts_and_checks_the_prediction_with_a_server() {
    let server = start(&["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2", "--max-connections=100"]);
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("plot.svg");
    let begun = now();
    let (status, text, progress) = run(&[
        "probe",
        "--time=2",
        &format!("--server=127.0.0.1:{}", server.port),
        &format!("--svg={}", svg.display()),
        folder.path().to_str().unwrap(),
    ]);
    assert!(status.success(), "{text}{progress}");
    assert!(now() - begun < Duration::from_secs(60), "bounded time");
    println!("{text}");
    for part in
        ["in space made ahead", "appended", "A round trip over loopback", "full durability", "a power cut"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(text.contains("with sync_binlog=0 and innodb_flush_log_at_trx_commit=2"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80 || l.starts_with("The disk of")), "{text}");
    let table = text.split("predicted/s").nth(1).unwrap();
    let measured: Vec<_> = table.lines().filter(|l| l.contains(" % ")).collect();
    assert_eq!(measured.len(), 4, "1, 4, 16 and 64 clients, and the server does not take 256: {table}");
    assert!(table.contains("not measured: more than its max_connections"), "{table}");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert_eq!((drawn.matches("<polyline").count(), drawn.matches("</svg>").count()), (3, 1));
    assert!(is_clean(folder.path()));
    assert!(!server.sql("SHOW DATABASES").contains("duramen_probe"), "the probe's database stayed");
}

#[test]
fn mistakes_are_told_at_once() {
    let server = start(&[]);
    server.sql("CREATE USER bob IDENTIFIED BY 'secret'");
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let check = |args: &[&str], expected: &str| {
        let (status, _, error) = run(args);
        assert!(!status.success() && error.contains(expected), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "one reason, told before anything is measured: {error}");
        assert!(is_clean(folder.path()), "{args:?}");
    };
    let at = format!("--server=127.0.0.1:{}", server.port);
    let (file, missing) = (folder.path().join("file"), folder.path().join("missing"));
    drop(RealEnv.open(&file, OpenMode::CreateNew).unwrap());
    check(&["probe", missing.to_str().unwrap()], "there is no folder");
    check(&["probe", file.to_str().unwrap()], "can't make the folder");
    check(&["probe", here, "--svg=/nowhere/plot.svg"], "can't write '/nowhere/plot.svg'");
    check(&["probe", "--server=nonsense"], "write --server=HOST:PORT");
    check(
        &["probe", "--time=2", here, &at, "--user=bob", "--password=wrong"],
        "Access denied for user 'bob'",
    );
    check(&["probe", "--time=2", here, &at, "--user=bob", "--password=secret"], "CREATE DATABASE");
    let (status, help, _) = run(&["probe", "--help"]);
    assert!(status.success() && help.contains("--server=HOST:PORT"));
}

#[test]
fn an_interrupted_probe_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for after in [300, 1500] {
        let mut probe =
            Command::new(DURAMEN).args(["probe", "--time=4", path]).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let pid = rustix::process::Pid::from_child(&probe);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert!(!probe.wait().unwrap().success());
        assert!(is_clean(folder.path()), "interrupted after {after} ms");
    }
}

/// A disk of 20 ms is slower than all noise: what is predicted for it is what a server on it
/// reaches.
#[test]
fn the_prediction_for_an_old_disk_comes_true() {
    let folder = tempfile::tempdir().unwrap();
    let disk = servers::disk::Disk::new(&folder.path().join("disk")).unwrap();
    disk.delay_flushes(Duration::from_millis(20)).unwrap();
    let data = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_with(&data, &[], &disk.variables());
    let output = Command::new(DURAMEN)
        .args(["probe", "--time=5", &format!("--server=127.0.0.1:{}", server.port)])
        .arg(folder.path())
        .envs(disk.variables())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{text}");
    let table = text.split("predicted/s").nth(1).unwrap();
    let percent = |line: &str| -> f64 { line.split_whitespace().nth(3).unwrap().parse().unwrap() };
    let reached: Vec<_> = table.lines().filter(|l| l.contains(" % ")).map(percent).collect();
    // With more clients other work on the machine is felt.
    assert!(reached[..3].iter().all(|p| (50.0..200.0).contains(p)), "{reached:?}");
}

#[test]
fn a_full_disk_is_told_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let disk = servers::disk::Disk::new(&folder.path().join("disk")).unwrap();
    disk.fill(true).unwrap();
    let probe =
        Command::new(DURAMEN).arg("probe").arg(folder.path()).envs(disk.variables()).output().unwrap();
    let error = String::from_utf8(probe.stderr).unwrap();
    assert!(!probe.status.success() && error.contains("No space left on device"), "{error}");
    assert!(is_clean(folder.path()));
}
