//! Tables and log files that do not belong together are not taken for one database, also where all
//! positions fit.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Server, run, value};
use env::{Env, OpenMode, SimEnv};

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(env: &SimEnv) -> Files {
    let dirs = [Path::new("/data"), Path::new("/data/store")];
    let paths = dirs.into_iter().flat_map(|dir| env.read_dir(dir).unwrap());
    paths.filter_map(|path| env.read_file(&path).ok().map(|bytes| (path, bytes))).collect()
}

fn machine(files: &Files) -> SimEnv {
    let env = SimEnv::new(1);
    env.create_dir_all(Path::new("/data/store")).unwrap();
    for (path, bytes) in files {
        let file = env.open(path, OpenMode::CreateNew).unwrap();
        file.write_at(bytes, 0).unwrap();
        file.sync_all().unwrap();
    }
    for dir in ["/", "/data", "/data/store"] {
        env.sync_dir(Path::new(dir)).unwrap();
    }
    env
}

/// Runs statements on a machine's server and stops it.
fn run_and_stop(env: SimEnv, statements: &[&str]) -> Files {
    let server = Server::open(env);
    for sql in statements {
        run(&mut server.session(), sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    server.instance.close().unwrap();
    let Server { env, instance } = server;
    drop(instance);
    files(&env)
}

fn is_of_store(path: &Path) -> bool {
    path.starts_with("/data/store")
}

/// The tables of one, the log of the other.
fn mixed(tables: &Files, log: &Files) -> Files {
    let tables = tables.iter().filter(|(path, _)| is_of_store(path));
    let log = log.iter().filter(|(path, _)| !is_of_store(path));
    tables.chain(log).map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

fn base() -> Files {
    run_and_stop(
        SimEnv::new(1),
        &[
            "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(100)); INSERT INTO d.t VALUES (1, 'x')",
        ],
    )
}

/// Two copies of one directory went on apart, by statements of the same length: each file number
/// and offset is in both.
#[test]
fn a_sibling_s_tables_are_refused() {
    let base = base();
    let one = run_and_stop(machine(&base), &["INSERT INTO d.t VALUES (2, 'one')"]);
    let two = run_and_stop(machine(&base), &["INSERT INTO d.t VALUES (2, 'two')"]);
    for (tables, log) in [(&one, &two), (&two, &one)] {
        let env = machine(&mixed(tables, log));
        let before = files(&env);
        let error = Server::try_open(env.clone()).map(|_| ()).unwrap_err().message;
        assert!(error.contains("do not belong together") && error.contains("binlog.000002"), "{error}");
        assert!(before == files(&env), "a start that refuses changes nothing");
    }
    for (whole, text) in [(&one, "one"), (&two, "two")] {
        let server = Server::open(machine(whole));
        assert_eq!(value(&mut server.session(), "SELECT b FROM d.t WHERE a = 2"), text);
    }
}

/// What is the same history goes on together: older tables under the log that went on from them,
/// and tables behind a log that was begun anew.
#[test]
fn tables_of_the_same_history_are_taken() {
    let base = base();
    let later = run_and_stop(machine(&base), &["INSERT INTO d.t VALUES (2, 'later')"]);
    let server = Server::open(machine(&mixed(&base, &later)));
    assert_eq!(
        value(&mut server.session(), "SELECT b FROM d.t WHERE a = 2"),
        "later",
        "the log has the rest"
    );
    let anew = run_and_stop(machine(&later), &["RESET BINARY LOGS AND GTIDS"]);
    let server = Server::open(machine(&mixed(&later, &anew))).power_cut().restart();
    assert_eq!(value(&mut server.session(), "SELECT b FROM d.t WHERE a = 2"), "later");
}

/// Names begin anew at a reset, positions don't: a start names files as they are named.
#[test]
fn what_is_of_before_a_reset_is_called_so() {
    let base = base();
    let anew = run_and_stop(
        machine(&base),
        &["INSERT INTO d.t VALUES (2, 'x'); RESET BINARY LOGS AND GTIDS; INSERT INTO d.t VALUES (3, 'x')"],
    );
    let error = Server::try_open(machine(&mixed(&base, &anew))).map(|_| ()).unwrap_err().message;
    assert!(error.contains("before RESET BINARY LOGS AND GTIDS"), "{error}");
    assert!(error.contains("the log goes from binlog.000001 to binlog.00000"), "{error}");
    assert!(!error.contains("000000") && !error.contains("from file"), "{error}");
}

/// Files of a log in each other's place, in front of all that a start replays.
#[test]
fn log_files_in_another_order_are_refused() {
    let insert = |n| format!("INSERT INTO d.t VALUES ({n}, 'x'); FLUSH BINARY LOGS");
    let inserts: Vec<String> = (2..6).map(insert).collect();
    let inserts: Vec<&str> = inserts.iter().map(String::as_str).collect();
    let whole = run_and_stop(machine(&base()), &inserts);
    let (two, three) = (Path::new("/data/binlog.000002"), Path::new("/data/binlog.000003"));
    let mut swapped = whole.clone();
    swapped.insert(two.to_owned(), whole[three].clone());
    swapped.insert(three.to_owned(), whole[two].clone());
    let env = machine(&swapped);
    let error = Server::try_open(env.clone()).map(|_| ()).unwrap_err().message;
    assert!(error.contains("binlog.000003") || error.contains("binlog.000004"), "{error}");
    assert!(files(&env) == swapped, "a start that refuses changes nothing");
    // Cut, it is told, and nothing that the tables need is in it.
    let mut cut = whole;
    let bytes = cut.get_mut(three).unwrap();
    bytes.truncate(bytes.len() - 10);
    let examined = {
        let env: std::sync::Arc<dyn Env> = std::sync::Arc::new(machine(&cut));
        binlog::log::examine(env, Path::new("/data"), "binlog").unwrap()
    };
    examined.check().unwrap();
    assert!(examined.findings.iter().any(|f| f.file == "binlog.000003"), "{:?}", examined.findings);
    assert_eq!(value(&mut Server::open(machine(&cut)).session(), "SELECT COUNT(*) FROM d.t"), "5");
}

/// Damage in front of the tables' position stops nothing, and is not taken for another log.
#[test]
fn damage_in_front_of_the_tables_is_not_another_log() {
    let mut whole = run_and_stop(machine(&base()), &["INSERT INTO d.t VALUES (2, 'x'); FLUSH BINARY LOGS"]);
    // The tables are at the end of the file before the last.
    let bytes = whole.get_mut(Path::new("/data/binlog.000002")).unwrap();
    let at = bytes.len() - 150;
    bytes[at] ^= 1;
    let opened = Server::try_open(machine(&whole));
    assert_eq!(value(&mut opened.unwrap().session(), "SELECT COUNT(*) FROM d.t"), "2");
}
