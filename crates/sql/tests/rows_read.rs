//! `Innodb_rows_read`: the rows that statements of all sessions have read of tables and indexes.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, run, value};
use sql::Session;

fn session(server: &Server) -> Session {
    let mut session = server.session();
    session.set_counters(server.instance.status().join());
    session
}

/// By how much the count grows with the statement.
fn grown(server: &Server, session: &mut Session, statement: &str) -> u64 {
    let count = || {
        let rows = server.instance.status().rows(None);
        let row = rows.into_iter().find(|(name, _)| name == "Innodb_rows_read").unwrap();
        row.1.parse::<u64>().unwrap()
    };
    let before = count();
    run(session, statement).unwrap();
    count() - before
}

#[test]
fn each_row_counts_that_was_found() {
    let server = Server::new(1);
    let mut one = session(&server);
    let mut other = session(&server);
    let table = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, b INT, c INT, KEY (b))";
    run(&mut one, table).unwrap();
    run(&mut one, "INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3)").unwrap();
    run(&mut other, "USE d").unwrap();
    for (statement, rows) in [
        ("SELECT * FROM t", 3),
        ("SELECT * FROM t WHERE c = 1", 3),
        ("SELECT * FROM t WHERE id = 2", 1),
        ("SELECT * FROM t WHERE id = 9", 0),
        ("SELECT * FROM t FORCE INDEX (b) WHERE b = 1", 2),
        ("SELECT * FROM t ORDER BY id DESC LIMIT 1", 1),
        ("UPDATE t SET c = 0 WHERE id = 1", 1),
        ("DELETE FROM t WHERE b = 2", 1),
        ("DO 1", 0),
    ] {
        assert_eq!(grown(&server, &mut one, statement), rows, "{statement}");
    }
    assert_eq!(grown(&server, &mut other, "SELECT * FROM t"), 2);
    // A session's end takes nothing from the count, and a session has no count of its own.
    let global = "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Innodb_rows_read'";
    let own = global.replace("global_status", "session_status");
    assert_eq!(value(&mut one, global), value(&mut other, &own));
}
