//! AUTO_INCREMENT goes on behind what was given out, whatever a checkpoint met: one between the
//! commit of an ALTER TABLE and the moment at which others saw its table once noted the counter
//! under the number of the table as it was before.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::{Server, run, value};
use sql::Session;

/// Runs the statement while checkpoints are made, one after the other.
fn during_checkpoints(server: &Server, session: &mut Session, statement: &str) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                server.instance.engine().checkpoint().unwrap();
            }
        });
        let outcome = run(session, statement).map(|_| ());
        is_done.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}

const TABLE: &str =
    "CREATE TABLE t (a CHAR(20), id SMALLINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 126";

/// After the statement the next number is `next`.
fn one_round(round: u64, table: &str, statement: &str, next: &str) {
    let server = Server::new(round);
    let mut session = server.session();
    for sql in ["CREATE DATABASE d; USE d", table, "INSERT INTO t (a) VALUES (''), ('y')"] {
        run(&mut session, sql).unwrap();
    }
    during_checkpoints(&server, &mut session, statement);
    drop(session);
    let server = server.power_cut();
    let mut session = server.session();
    run(&mut session, "USE d; INSERT INTO t (a) VALUES ('z')").unwrap();
    let given = value(&mut session, "SELECT id FROM t WHERE a = 'z'");
    assert_eq!(given, next, "{statement}, round {round}");
}

#[test]
fn checkpoints_beside_an_alter_keep_the_counter() {
    for round in 1..=20 {
        for statement in
            ["ALTER TABLE t FORCE", "CREATE UNIQUE INDEX i ON t (id, a)", "ALTER TABLE t ADD b INT"]
        {
            one_round(round, TABLE, statement, "128");
        }
    }
}

/// The rows of a copy are numbered before the statement is logged, and so is a counter set back.
#[test]
fn checkpoints_beside_an_alter_keep_the_numbers_that_it_gives() {
    for round in 1..=40 {
        let add = "ALTER TABLE t ADD id TINYINT AUTO_INCREMENT UNIQUE, FORCE";
        one_round(round, "CREATE TABLE t (a CHAR(20)) AUTO_INCREMENT = 2147483647", add, "3");
        let with_gap = "CREATE TABLE t (a CHAR(20), id INT AUTO_INCREMENT PRIMARY KEY)";
        one_round(round, with_gap, "ALTER TABLE t AUTO_INCREMENT = 7", "7");
    }
    for round in 1..=40 {
        let server = Server::new(round);
        let mut session = server.session();
        let rows = "INSERT INTO t (a) VALUES ('x'), ('y'); INSERT INTO t VALUES ('w', 500); DELETE FROM t WHERE id = 500";
        for sql in ["CREATE DATABASE d; USE d", TABLE, rows] {
            run(&mut session, sql).unwrap();
        }
        during_checkpoints(&server, &mut session, "ALTER TABLE t AUTO_INCREMENT = 130");
        drop(session);
        let server = server.power_cut();
        let mut session = server.session();
        run(&mut session, "USE d; INSERT INTO t (a) VALUES ('z')").unwrap();
        assert_eq!(value(&mut session, "SELECT MAX(id) FROM t"), "130", "round {round}");
    }
}

/// A machine that dies behind a checkpoint, and before the statement that sets the counter back is
/// in the log, has the table with its counter as before.
#[test]
fn a_counter_is_set_back_with_the_statement_only() {
    let (mut before, mut after) = (0, 0);
    for round in 1..=60 {
        let server = Server::new(round);
        let mut session = server.session();
        let rows = "INSERT INTO t (a) VALUES ('x'), ('y'); INSERT INTO t VALUES ('w', 500); DELETE FROM t WHERE id = 500";
        for sql in ["CREATE DATABASE d; USE d", TABLE, rows] {
            run(&mut session, sql).unwrap();
        }
        let is_done = AtomicBool::new(false);
        let dead = std::thread::scope(|scope| {
            let checkpoints = scope.spawn(|| {
                let mut dead = Vec::new();
                while !is_done.load(Ordering::Relaxed) {
                    server.instance.engine().checkpoint().unwrap();
                    dead.push(server.env.copy_after_cut(round));
                }
                dead
            });
            let outcome =
                run(&mut session, "ALTER TABLE t AUTO_INCREMENT = 130, ADD b INT FIRST, COMMENT = 'set'");
            is_done.store(true, Ordering::Relaxed);
            outcome.unwrap();
            checkpoints.join().unwrap()
        });
        drop(session);
        for env in dead {
            let server = Server::open(env);
            let mut session = server.session();
            let comment = "SELECT table_comment FROM information_schema.tables WHERE table_schema = 'd'";
            let is_set = value(&mut session, comment) == "set";
            run(&mut session, "INSERT INTO d.t (a) VALUES ('z')").unwrap();
            let expected = if is_set { "130" } else { "501" };
            assert_eq!(value(&mut session, "SELECT MAX(id) FROM d.t"), expected, "round {round}");
            *if is_set { &mut after } else { &mut before } += 1;
        }
    }
    assert!(before > 0 && after > 0, "{before} machines died before the statement, {after} behind it");
}

/// Replay looks for the largest number in rows that have not the new columns yet.
#[test]
fn a_counter_that_a_replayed_statement_sets_back_is_behind_the_rows() {
    for statement in [
        "ALTER TABLE t AUTO_INCREMENT = 1, ADD b TEXT FIRST",
        "ALTER TABLE t AUTO_INCREMENT = 1, DROP a",
        "ALTER TABLE t AUTO_INCREMENT = 1, MODIFY a CHAR(20) AFTER id",
    ] {
        let server = Server::new(1);
        let mut session = server.session();
        let rows = "INSERT INTO t (a) VALUES ('x'), ('y'), ('z')";
        for sql in ["CREATE DATABASE d; USE d", TABLE, rows, "DELETE FROM t WHERE a = 'z'", statement] {
            run(&mut session, sql).unwrap();
        }
        drop(session);
        let server = server.power_cut();
        let mut session = server.session();
        run(&mut session, "INSERT INTO d.t VALUES ()").unwrap();
        assert_eq!(value(&mut session, "SELECT MAX(id) FROM d.t"), "128", "{statement}");
    }
}
