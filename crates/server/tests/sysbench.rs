//! Every bundled test of sysbench 1.0 for databases, with prepared statements and without: prepare,
//! run, clean up, and not one error.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use servers::published::{SYSBENCH_BULK, SYSBENCH_OLTP};
use std::process::Command;

#[test]
fn each_test_runs_prepared() {
    run_each("auto");
}

#[test]
fn each_test_runs_as_text() {
    run_each("disable");
}

#[test]
fn many_threads() {
    let server = started();
    let size = ["--tables=4", "--table-size=500"];
    let with = |more: &[&'static str]| [&size, more].concat();
    sysbench(&server, "oltp_read_write", "prepare", &with(&["--threads=2"]));
    for (threads, mode) in [("--threads=256", "auto"), ("--threads=64", "disable"), ("--threads=1", "auto")] {
        let mode = if mode == "auto" { "--db-ps-mode=auto" } else { "--db-ps-mode=disable" };
        sysbench(&server, "oltp_read_write", "run", &with(&[threads, mode, "--time=3"]));
    }
    sysbench(&server, "oltp_read_write", "cleanup", &size);
}

fn started() -> Server {
    let server = start(&["--max-connections=600"]);
    server.sql("CREATE DATABASE sbtest");
    server
}

fn run_each(ps_mode: &str) {
    let server = started();
    let mode = format!("--db-ps-mode={ps_mode}");
    for test in SYSBENCH_OLTP {
        // The tests of random points and ranges take one table only.
        let tables = if test.starts_with("select_random") { "--tables=1" } else { "--tables=2" };
        let size = [tables, "--table-size=1000"];
        sysbench(&server, test, "prepare", &size);
        sysbench(&server, test, "run", &[&size[..], &["--threads=4", "--time=1", &mode]].concat());
        sysbench(&server, test, "cleanup", &size);
        assert_eq!(server.sql("SHOW TABLES FROM sbtest"), "", "{test} left tables");
    }
    sysbench(&server, SYSBENCH_BULK, "prepare", &["--threads=4"]);
    sysbench(&server, SYSBENCH_BULK, "run", &["--threads=4", "--time=1", &mode]);
    let sums = server.sql("SELECT COUNT(*) = MAX(id) AND COUNT(*) > 0 FROM sbtest.sbtest1");
    assert_eq!(sums, "1\n", "rows of bulk_insert are missing");
    sysbench(&server, SYSBENCH_BULK, "cleanup", &["--threads=4"]);
}

/// Runs one command of a test; fails with what sysbench says where it does, or where it counts
/// reconnects.
fn sysbench(server: &Server, test: &str, command: &str, args: &[&str]) {
    let done = Command::new("sysbench")
        .args([test, "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=sbtest"])
        .arg(format!("--mysql-port={}", server.port))
        .args(args)
        .arg(command)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    let clean = done.status.success() && !told.contains("FATAL");
    let steady = command != "run" || told.contains("reconnects:                          0 ");
    assert!(clean && steady, "{test} {command} {args:?}: {told}{}", String::from_utf8_lossy(&done.stderr));
}
