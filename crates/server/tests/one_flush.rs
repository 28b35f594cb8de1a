//! C1: a commit group costs one flush of one file. Counted where the operating system sees them, by
//! `strace`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Follows a server's flushes until it is dropped or asked.
struct Trace {
    strace: Child,
    file: tempfile::NamedTempFile,
}

impl Trace {
    fn of(server: &Server) -> Trace {
        let file = tempfile::NamedTempFile::new().unwrap();
        let strace = Command::new("strace")
            // Paths of descriptors (-y) distinguish the log's flushes from those of files made in
            // the background.
            .args(["-f", "-y", "-e", "trace=fsync,fdatasync,sync_file_range,msync,io_uring_enter", "-p"])
            .arg(server.pid().to_string())
            .arg("-o")
            .arg(file.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(500));
        Trace { strace, file }
    }

    /// The flushes of the active log file since the trace began.
    fn end(mut self) -> u64 {
        std::thread::sleep(Duration::from_millis(300));
        let pid = rustix::process::Pid::from_child(&self.strace);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.strace.wait().unwrap();
        let text = std::fs::read_to_string(self.file.path()).unwrap();
        let of_log = |l: &&str| l.contains("sync(") && l.contains("/binlog.0");
        text.lines().filter(of_log).count() as u64
    }
}

fn groups(server: &Server) -> u64 {
    let row = server.sql("show global status like 'Binlog_group_commits'");
    row.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn each_group_is_flushed_once() {
    let server = start(&["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"]);
    server.sql("create database d; create table d.t (a int auto_increment primary key, b varchar(100))");
    for clients in [1, 64] {
        let mut aborted = 0;
        let (before, flushes) = loop {
            let before = groups(&server);
            let trace = Trace::of(&server);
            let output = server.client(
                "mariadb-slap",
                &[
                    "--create-schema=d",
                    "--query=insert into t values (null, 'some text')",
                    "--number-of-queries=6400",
                    &format!("--concurrency={clients}"),
                    "--no-drop",
                    "--silent",
                ],
            );
            let flushes = trace.end();
            // The client with many threads aborts now and then, of memory that it frees twice.
            let is_aborted = output.status.signal().is_some();
            aborted += u32::from(is_aborted);
            assert!(aborted < 3 && (is_aborted || output.status.success()), "{output:?}");
            if !is_aborted {
                break (before, flushes);
            }
        };
        let groups = groups(&server) - before;
        println!("{clients} clients: 6400 commits, {groups} groups, {flushes} flushes of the log");
        assert!(flushes > 0, "strace saw no flush");
        assert_eq!(flushes, groups);
    }
}
