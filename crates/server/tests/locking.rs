//! Waits for locks on the real server, and what ends them; XA transactions in log files that other
//! programs read.
#![allow(clippy::unwrap_used)]

mod common;

use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use common::{Server, start};
use protocol::client::{Client, ClientError};

fn with_table() -> (Server, Client) {
    let server = start(&[]);
    let mut client = connect(&server, &["CREATE DATABASE d"]);
    run(&mut client, &["USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))"]);
    run(&mut client, &["INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)"]);
    (server, client)
}

fn connect(server: &Server, statements: &[&str]) -> Client {
    let mut client = server.connect();
    run(&mut client, statements);
    client
}

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
    }
}

/// A session that waits in a statement: its thread, and its connection's id.
type Waiting = (JoinHandle<(Option<u16>, Client)>, String);

/// Runs a statement in a thread, and returns when it is listed as running.
fn wait_in(server: &Server, statement: &'static str) -> Waiting {
    let mut client =
        connect(server, &["USE d", "SET innodb_lock_wait_timeout = 100, lock_wait_timeout = 100"]);
    let thread = std::thread::spawn(move || {
        let error = client.query(statement).err();
        let number = error.map(|e: ClientError| e.number().unwrap_or(0));
        (number, client)
    });
    for _ in 0..500 {
        let list = server.sql("SHOW FULL PROCESSLIST");
        if let Some(line) = list.lines().find(|line| line.contains(statement)) {
            let id = line.split('\t').next().unwrap().to_owned();
            // It is listed before it waits.
            std::thread::sleep(Duration::from_millis(100));
            return (thread, id);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{statement} is not listed");
}

fn check_kills(holder: &[&str], statement: &'static str) {
    let (server, mut client) = with_table();
    run(&mut client, holder);
    let (thread, id) = wait_in(&server, statement);
    assert!(!thread.is_finished(), "{statement} does not wait");
    server.sql(&format!("KILL QUERY {id}"));
    let (number, mut killed) = thread.join().unwrap();
    assert_eq!(number, Some(1317), "{statement}");
    run(&mut killed, &["SELECT 1"]);
    let (thread, id) = wait_in(&server, statement);
    assert!(!thread.is_finished(), "{statement} does not wait");
    server.sql(&format!("KILL CONNECTION {id}"));
    let (number, mut killed) = thread.join().unwrap();
    assert!(matches!(number, Some(0 | 1053 | 1317)), "{statement}: {number:?}");
    assert!(killed.query("SELECT 1").is_err(), "the connection is gone");
    run(&mut client, &["ROLLBACK", "UNLOCK TABLES"]);
    server.check_well();
}

#[test]
fn who_waits_for_a_row_is_killed() {
    check_kills(&["BEGIN", "UPDATE t SET v = 0 WHERE id = 2"], "DELETE FROM t WHERE id = 2");
}

#[test]
fn who_waits_for_a_range_is_killed() {
    check_kills(&["BEGIN", "SELECT * FROM t WHERE id > 2 FOR UPDATE"], "INSERT INTO t VALUES (7, 70)");
}

#[test]
fn who_waits_for_a_table_is_killed() {
    check_kills(&["BEGIN", "SELECT * FROM t"], "DROP TABLE t");
    check_kills(&["LOCK TABLES t WRITE"], "SELECT COUNT(*) FROM t");
}

#[test]
fn the_latest_deadlock_is_told() {
    let (server, mut one) = with_table();
    let status = || server.sql("SHOW ENGINE INNODB STATUS");
    assert!(!status().contains("DEADLOCK"));
    run(&mut one, &["BEGIN", "UPDATE t SET v = 11 WHERE id = 1", "UPDATE t SET v = 31 WHERE id = 3"]);
    let mut two = connect(&server, &["USE d", "BEGIN", "UPDATE t SET v = 21 WHERE id = 2"]);
    let thread =
        std::thread::spawn(move || two.query("UPDATE t SET v = 12 WHERE id = 1").err().unwrap().number());
    while server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")
        != "Innodb_row_lock_current_waits\t1\n"
    {
        std::thread::sleep(Duration::from_millis(10));
    }
    run(&mut one, &["UPDATE t SET v = 22 WHERE id = 2"]);
    assert_eq!(thread.join().unwrap(), Some(1213));
    let text = status();
    assert!(text.contains("LATEST DETECTED DEADLOCK"), "{text}");
    assert!(text.contains("EXCLUSIVE LOCK of key 0x80000002 in index PRIMARY of table `d`.`t`"), "{text}");
    assert!(text.contains("EXCLUSIVE LOCK of key 0x80000001 in index PRIMARY of table `d`.`t`"), "{text}");
    assert!(text.contains("2 row(s) changed") && text.contains("WE ROLL BACK TRANSACTION (2)"), "{text}");
}

/// The log files that are closed, as a program prints them that verifies their checksums.
fn printed(server: &Server, program: &[&str]) -> String {
    let mut text = String::new();
    let files = server.sql("SHOW BINARY LOGS");
    let closed = files.lines().count() - 1;
    for line in files.lines().take(closed) {
        let file = server.file(line.split('\t').next().unwrap());
        let output = Command::new(program[0])
            .args(&program[1..])
            .args(["--no-defaults", "--verify-binlog-checksum", "-v"])
            .arg(file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        text += &String::from_utf8_lossy(&output.stdout);
    }
    text
}

fn xa_transactions(server: &Server) {
    let mut client = connect(server, &["USE d"]);
    for (name, ends) in [("one", "XA COMMIT 'one'"), ("two", "XA ROLLBACK 'two'")] {
        let row = if name == "one" { 11 } else { 12 };
        let start = format!("XA START '{name}'");
        let insert = format!("INSERT INTO t VALUES ({row}, {row})");
        let (end, prepare) = (format!("XA END '{name}'"), format!("XA PREPARE '{name}'"));
        run(&mut client, &[&start, &insert, &end, &prepare, ends]);
    }
    run(&mut client, &["XA START 'three'", "INSERT INTO t VALUES (13, 13)", "XA END 'three'"]);
    run(&mut client, &["XA COMMIT 'three' ONE PHASE"]);
    run(&mut client, &["XA START 'kept','branch',7", "UPDATE t SET v = 99 WHERE id = 1"]);
    run(&mut client, &["XA END 'kept','branch',7", "XA PREPARE 'kept','branch',7"]);
}

const XA_EVENTS: [&str; 8] = [
    "XA START X'6f6e65',X'',1",
    "XA END X'6f6e65',X'',1",
    "XA PREPARE X'6f6e65',X'',1",
    "XA COMMIT X'6f6e65',X'',1",
    "XA PREPARE X'74776f',X'',1",
    "XA ROLLBACK X'74776f',X'',1",
    "XA START X'7468726565',X'',1",
    "XA PREPARE X'6b657074',X'6272616e6368',7",
];

#[test]
fn programs_read_the_log_of_xa_transactions() {
    let (server, _client) = with_table();
    xa_transactions(&server);
    server.sql("FLUSH BINARY LOGS");
    let mut programs = vec![vec!["mariadb-binlog".to_owned()]];
    // MySQL's own, where there is one: `DURAMEN_MYSQLBINLOG` is how to call it.
    if let Ok(own) = std::env::var("DURAMEN_MYSQLBINLOG") {
        programs.push(own.split_whitespace().map(str::to_owned).collect());
    }
    for program in programs {
        let program: Vec<&str> = program.iter().map(String::as_str).collect();
        let text = printed(&server, &program);
        for event in XA_EVENTS {
            assert!(text.contains(event), "{program:?} prints no {event}:\n{text}");
        }
        // MariaDB's program takes no notice of the flag in MySQL's event.
        let in_one_phase = text.contains("XA COMMIT X'7468726565',X'',1 ONE PHASE");
        assert_eq!(in_one_phase, program[0] != "mariadb-binlog", "{text}");
    }
}

#[test]
fn a_prepared_transaction_outlives_a_crash_and_the_log_that_it_was_in() {
    let (server, client) = with_table();
    xa_transactions(&server);
    drop(client);
    let server = server.crash_and_restart(&[]);
    assert_eq!(server.sql("XA RECOVER"), "7\t4\t6\tkeptbranch\n");
    let waits = server.sql_error("SET innodb_lock_wait_timeout = 1; DELETE FROM d.t WHERE id = 1");
    assert!(waits.contains("ERROR 1205 (HY000)"), "{waits}");
    let waits = server.sql_error("SET lock_wait_timeout = 1; DROP TABLE d.t");
    assert!(waits.contains("ERROR 1205 (HY000)"), "{waits}");
    server.sql("FLUSH BINARY LOGS; INSERT INTO d.t VALUES (20, 20); FLUSH BINARY LOGS");
    let last = server.sql("SHOW BINARY LOGS").lines().last().unwrap().split('\t').next().unwrap().to_owned();
    server.sql(&format!("PURGE BINARY LOGS TO '{last}'"));
    let server = server.crash_and_restart(&[]);
    assert_eq!(server.sql("XA RECOVER"), "7\t4\t6\tkeptbranch\n");
    assert_eq!(server.sql("SELECT v FROM d.t WHERE id = 1"), "10\n");
    server.sql("XA COMMIT 'kept','branch',7");
    assert_eq!(server.sql("SELECT id, v FROM d.t WHERE id IN (1, 11, 12, 13)"), "1\t99\n11\t11\n13\t13\n");
    let server = server.crash_and_restart(&[]);
    assert_eq!(server.sql("XA RECOVER; SELECT v FROM d.t WHERE id = 1"), "99\n");
}
