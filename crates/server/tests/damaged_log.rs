//! A damaged log at the real server: the start stops with a message that says what to do, and
//! changes no file of the log; put right, the server starts and has everything.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, run, start};
use env::{Env, OpenMode, RealEnv};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const ROWS: u64 = 400;

fn fill(server: &Server) {
    server.sql("create database d; create table d.t (id int primary key, c varchar(100))");
    let rows: Vec<_> = (1..=ROWS).map(|id| format!("insert into d.t values ({id}, 'some text')")).collect();
    server.sql(&rows.join("; "));
    // So that the durable mark covers them.
    std::thread::sleep(Duration::from_millis(300));
}

/// The files of the log, with what they hold.
fn log_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_log = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("binlog.");
    let paths = RealEnv.read_dir(folder).unwrap().into_iter().filter(is_log);
    paths.map(|path| (path.clone(), RealEnv.read_file(&path).unwrap())).collect()
}

fn flip(path: &Path, offset: usize) {
    let byte = RealEnv.read_file(path).unwrap()[offset] ^ 4;
    RealEnv.open(path, OpenMode::ReadWrite).unwrap().write_at(&[byte], offset as u64).unwrap();
}

/// Starts in a directory that is damaged; returns the messages.
fn refused(datadir: &Arc<TempDir>) -> String {
    let before = log_files(datadir.path());
    let folder = format!("--datadir={}", datadir.path().display());
    let (status, _, messages) = run(&["serve", "--port=0", &folder]);
    assert!(!status.success(), "{messages}");
    assert!(log_files(datadir.path()) == before, "a file of the log was changed: {messages}");
    messages
}

#[test]
fn a_flipped_bit_stops_the_start_and_costs_nothing() {
    for clean in [false, true] {
        let server = start(&["--binlog-prealloc-num=0"]);
        fill(&server);
        let (datadir, log) = (server.datadir().clone(), server.file("binlog.000001"));
        if clean {
            server.terminate();
        } else {
            server.kill();
            drop(server);
        }
        let len = RealEnv.read_file(&log).unwrap().iter().rposition(|&b| b != 0).unwrap();
        flip(&log, len / 4);
        let messages = refused(&datadir);
        for words in
            ["binlog.000001 is damaged at offset", "whole transactions", "duramen repair --accept-loss"]
        {
            assert!(messages.contains(words), "{messages}");
        }
        flip(&log, len / 4);
        let server = Server::start_in(&datadir, &[]);
        assert_eq!(server.sql("select count(*) from d.t").trim(), ROWS.to_string());
        let said = server.messages().join("\n");
        assert_eq!(said.contains("not shut down cleanly"), !clean, "{said}");
    }
}

#[test]
fn a_damaged_index_costs_no_file() {
    let server = start(&["--binlog-prealloc-num=0"]);
    fill(&server);
    server.sql("flush binary logs; insert into d.t values (1001, 'more')");
    let (datadir, index) = (server.datadir().clone(), server.file("binlog.index"));
    server.kill();
    drop(server);
    // "./binlog.000001" becomes "./binlog.000005".
    flip(&index, 14);
    let server = Server::start_in(&datadir, &[]);
    assert_eq!(server.sql("select count(*) from d.t").trim(), (ROWS + 1).to_string());
    assert!(server.messages().join("\n").contains("binlog.index"));
    assert!(server.sql("show binary logs").contains("binlog.000001"));
}
