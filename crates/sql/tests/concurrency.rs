//! Several sessions at once: AUTO_INCREMENT, metadata locks, KILL.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use common::{Server, run, value};
use env::{Env, RealEnv};
use sql::Kill;

#[test]
fn single_row_inserts_of_many_sessions_leave_no_gap() {
    const SESSIONS: usize = 8;
    const ROWS: usize = 200;
    let server = Server::new(1);
    run(
        &mut server.session(),
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    )
    .unwrap();
    thread::scope(|scope| {
        for v in 0..SESSIONS {
            let mut session = server.session();
            scope.spawn(move || {
                for _ in 0..ROWS {
                    run(&mut session, &format!("INSERT INTO d.t VALUES (NULL, {v})")).unwrap();
                }
            });
        }
    });
    let mut session = server.session();
    let all = (SESSIONS * ROWS).to_string();
    assert_eq!(
        value(&mut session, "SELECT CONCAT(COUNT(*), ' ', MIN(id), ' ', MAX(id)) FROM d.t"),
        format!("{all} 1 {all}")
    );
}

/// Who found the plan of the last execution waited for the table, then again to plan anew, each
/// time as long as one may.
#[test]
fn a_statement_with_a_plan_waits_for_a_table_once() {
    let server = Server::new(1);
    let (mut owner, mut other) = (server.session(), server.session());
    run(&mut owner, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT)").unwrap();
    run(&mut other, "SET lock_wait_timeout = 5; PREPARE s FROM 'UPDATE d.t SET n = 1'; EXECUTE s").unwrap();
    run(&mut owner, "LOCK TABLES d.t WRITE").unwrap();
    let began = RealEnv.monotonic();
    assert_eq!(run(&mut other, "EXECUTE s").err().map(|e| e.number), Some(1205));
    let waited = RealEnv.monotonic() - began;
    assert!(waited < Duration::from_millis(9500), "twice would be ten seconds: {waited:?}");
    run(&mut owner, "UNLOCK TABLES").unwrap();
    run(&mut other, "EXECUTE s").unwrap();
}

#[test]
fn a_hot_row_counts_every_update() {
    let server = Server::new(1);
    run(
        &mut server.session(),
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); INSERT INTO d.t VALUES (1, 0)",
    )
    .unwrap();
    thread::scope(|scope| {
        for _ in 0..6 {
            let mut session = server.session();
            scope.spawn(move || {
                for _ in 0..100 {
                    run(&mut session, "UPDATE d.t SET n = n + 1 WHERE id = 1").unwrap();
                }
            });
        }
    });
    assert_eq!(value(&mut server.session(), "SELECT n FROM d.t"), "600");
}

#[test]
fn ddl_waits_for_transactions_that_use_the_table() {
    let server = Server::new(1);
    let mut user = server.session();
    run(&mut user, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
        .unwrap();
    run(&mut user, "BEGIN; SELECT * FROM d.t").unwrap();
    let mut impatient = server.session();
    run(&mut impatient, "SET lock_wait_timeout = 1").unwrap();
    assert_eq!(run(&mut impatient, "DROP TABLE d.t").err().map(|e| e.number), Some(1205));
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        let mut dropper = server.session();
        let ready = &ready;
        let drop_table = scope.spawn(move || {
            ready.wait();
            run(&mut dropper, "DROP TABLE d.t").unwrap();
        });
        ready.wait();
        thread::sleep(Duration::from_millis(100));
        assert!(!drop_table.is_finished(), "the table is in use");
        assert_eq!(value(&mut user, "SELECT COUNT(*) FROM d.t"), "1");
        run(&mut user, "COMMIT").unwrap();
        drop_table.join().unwrap();
    });
    assert_eq!(run(&mut user, "SELECT * FROM d.t").err().map(|e| e.number), Some(1146));
}

/// KILL QUERY of a session that runs nothing is nobody's.
#[test]
fn a_kill_between_statements_ends_none() {
    let server = Server::new(1);
    let mut session = server.session();
    let id = value(&mut session, "SELECT CONNECTION_ID()").parse().unwrap();
    for _ in 0..2 {
        server.instance.process(id).unwrap().kill(sql::Kill::Query);
        assert_eq!(value(&mut session, "SELECT 1 + 1"), "2");
    }
}

#[test]
fn a_killed_statement_ends_and_its_session_goes_on() {
    let server = Server::new(1);
    let mut holder = server.session();
    run(
        &mut holder,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1)",
    )
    .unwrap();
    run(&mut holder, "BEGIN; UPDATE d.t SET v = 2").unwrap();
    let mut waiter = server.session();
    let process = server.instance.processes().into_iter().find(|p| p.id == waiter.id()).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let killed = run(&mut waiter, "UPDATE d.t SET v = 3").err().map(|e| e.number);
            assert_eq!(killed, Some(1317), "a lock wait");
            let slept = run(&mut waiter, "SELECT 1; DO SLEEP(0)").map(|p| p.ok.len()).ok();
            assert_eq!(slept, Some(2), "the session goes on");
            waiter
        });
        thread::sleep(Duration::from_millis(100));
        process.kill(Kill::Query);
        assert!(!waiting.join().unwrap().is_killed());
    });
    run(&mut holder, "ROLLBACK").unwrap();
}

#[test]
fn a_deadlock_ends_one_of_its_transactions() {
    let server = Server::new(1);
    let mut a = server.session();
    run(&mut a, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 0), (2, 0)")
        .unwrap();
    let mut b = server.session();
    run(&mut a, "BEGIN; UPDATE d.t SET v = 1 WHERE id = 1").unwrap();
    run(&mut b, "BEGIN; UPDATE d.t SET v = 2 WHERE id = 2").unwrap();
    let outcomes = thread::scope(|scope| {
        let first = scope.spawn(|| run(&mut a, "UPDATE d.t SET v = 1 WHERE id = 2").map(|_| ()));
        thread::sleep(Duration::from_millis(50));
        let second = run(&mut b, "UPDATE d.t SET v = 2 WHERE id = 1").map(|_| ());
        [first.join().unwrap(), second]
    });
    let lost: Vec<u16> = outcomes.iter().filter_map(|o| o.as_ref().err()).map(|e| e.number).collect();
    assert_eq!(lost, [1213], "one of the two gives way");
    for session in [&mut a, &mut b] {
        run(session, "COMMIT").unwrap();
    }
    let both = value(&mut a, "SELECT CONCAT(MIN(v), MAX(v)) FROM d.t");
    assert!(both == "11" || both == "22", "the other's changes are whole: {both}");
}
