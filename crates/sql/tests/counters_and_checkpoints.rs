//! AUTO_INCREMENT goes on behind what was given out, whatever a checkpoint met: one between the commit of an ALTER TABLE and
//! the moment at which others saw its table once noted the counter under the number of the table as it was before.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::{Server, run, value};

fn one_round(round: u64, statement: &str) {
    let server = Server::new(round);
    let mut session = server.session();
    let table = "CREATE TABLE t (a CHAR(20), id SMALLINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 126";
    for sql in ["CREATE DATABASE d; USE d", table, "INSERT INTO t (a) VALUES (''), ('y')"] {
        run(&mut session, sql).unwrap();
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                server.database.engine().checkpoint().unwrap();
            }
        });
        let outcome = run(&mut session, statement);
        is_done.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    drop(session);
    let server = server.power_cut();
    let mut session = server.session();
    run(&mut session, "USE d; INSERT INTO t (a) VALUES ('z')").unwrap();
    assert_eq!(value(&mut session, "SELECT MAX(id) FROM t"), "128", "{statement}, round {round}");
}

#[test]
fn checkpoints_beside_an_alter_keep_the_counter() {
    for round in 1..=20 {
        for statement in
            ["ALTER TABLE t FORCE", "CREATE UNIQUE INDEX i ON t (id, a)", "ALTER TABLE t ADD b INT"]
        {
            one_round(round, statement);
        }
    }
}
