//! A Duramen that follows a Duramen: rows of tables without a primary key, where it stops by UNTIL,
//! and constraints that only it has.
#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use common::replication::{await_answer, follow, server};

/// Waits until the replica has executed what the source has.
fn await_all(replica: &Server, source: &Server) {
    let executed = source.sql("SELECT REPLACE(@@gtid_executed, '\\n', '')");
    let is_there = format!("SELECT GTID_SUBSET('{}', @@gtid_executed)", executed.trim());
    await_answer(replica, &is_there, "1");
}

const ROWS: &str = "SELECT GROUP_CONCAT(CONCAT_WS(':', a, IFNULL(b, 'NULL')) ORDER BY a, b) FROM d.t";

#[test]
fn rows_without_a_primary_key_are_found_by_their_values() {
    let (source, replica) = (server(1), server(2));
    follow(&replica, &source, "");
    replica.sql("START REPLICA");
    source.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (a INT, b TEXT, UNIQUE (a));
         INSERT INTO d.t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (NULL, 'n'); REPLACE INTO d.t VALUES (3, 'zz')",
    );
    for images in ["MINIMAL", "NOBLOB", "FULL"] {
        source.sql(&format!(
            "SET binlog_row_image = {images}; UPDATE d.t SET b = CONCAT(b, '+') WHERE a = 3;
             REPLACE INTO d.t VALUES (2, '{images}'), (7, 'seven'); UPDATE d.t SET b = 'changed' WHERE a = 2;
             UPDATE d.t SET a = NULL WHERE a = 7; DELETE FROM d.t WHERE a = 3; INSERT INTO d.t VALUES (3, 'again');
             DELETE FROM d.t WHERE a IS NULL LIMIT 1"
        ));
        await_all(&replica, &source);
        assert_eq!(replica.sql(ROWS), source.sql(ROWS), "{images}");
    }
    // A REPLACE gives the row another place among the others, which numbers tell.
    source.sql(
        "CREATE TABLE d.o (a INT, b INT, UNIQUE (a)); INSERT INTO d.o VALUES (1, 1), (2, 2), (3, 3);
         REPLACE INTO d.o VALUES (1, 9);
         ALTER TABLE d.o ADD id INT AUTO_INCREMENT PRIMARY KEY",
    );
    await_all(&replica, &source);
    for server in [&source, &replica] {
        assert_eq!(server.sql("SELECT GROUP_CONCAT(a ORDER BY id) FROM d.o").trim(), "2,3,1");
    }
    // A copy whose rows have other ids.
    replica.sql("STOP REPLICA; DELETE FROM d.t; INSERT INTO d.t VALUES (NULL, 'own'); DELETE FROM d.t");
    source.sql("DELETE FROM d.t WHERE a IS NULL; INSERT INTO d.t VALUES (NULL, 'n'), (NULL, 'n'), (8, NULL)");
    let executed = source.sql("SELECT REPLACE(@@gtid_executed, '\\n', '')");
    replica.sql(&format!("RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '{}'", executed.trim()));
    for row in
        source.sql("SELECT CONCAT_WS(',', IFNULL(a, 'NULL'), QUOTE(b)) FROM d.t ORDER BY b DESC").lines()
    {
        replica.sql(&format!("INSERT INTO d.t VALUES ({row})"));
    }
    replica.sql("START REPLICA");
    for images in ["MINIMAL", "NOBLOB", "FULL"] {
        source.sql(&format!(
            "SET binlog_row_image = {images}; UPDATE d.t SET b = 'here' WHERE a = 8; DELETE FROM d.t WHERE a = 3;
             INSERT INTO d.t VALUES (3, 'there'); DELETE FROM d.t WHERE a IS NULL LIMIT 1;
             UPDATE d.t SET b = CONCAT(b, '{images}')"
        ));
        await_all(&replica, &source);
        assert_eq!(replica.sql(ROWS), source.sql(ROWS), "{images}");
    }
}

#[test]
fn until_is_where_mysql_stops() {
    let (source, replica) = (server(1), server(2));
    source.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b INT); INSERT INTO d.t VALUES (1, 1);
         INSERT INTO d.t VALUES (2, 2); FLUSH BINARY LOGS; INSERT INTO d.t VALUES (3, 3); INSERT INTO d.t VALUES (4, 4)",
    );
    let uuid = source.sql("SELECT @@server_uuid").trim().to_owned();
    follow(&replica, &source, "");
    let stops = |until: &str, rows: &str| {
        replica.sql(&format!("START REPLICA UNTIL {until}"));
        let running = "SELECT service_state FROM performance_schema.replication_applier_status";
        await_answer(&replica, running, "OFF");
        assert_eq!(replica.sql(ROWS).trim(), rows, "{until}");
        replica.sql("STOP REPLICA");
    };
    stops(&format!("SQL_BEFORE_GTIDS = '{uuid}:4'"), "1:1");
    // One of the set is executed already.
    stops(&format!("SQL_BEFORE_GTIDS = '{uuid}:2:5'"), "1:1");
    // Where a file ends, and where the next one begins.
    stops("SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 99999", "1:1,2:2");
    stops("SOURCE_LOG_FILE = 'binlog.000002', SOURCE_LOG_POS = 4", "1:1,2:2");
    stops(&format!("SQL_AFTER_GTIDS = '{uuid}:3'"), "1:1,2:2");
    stops(&format!("SQL_AFTER_GTIDS = '{uuid}:5'"), "1:1,2:2,3:3");
    replica.sql("START REPLICA");
    await_answer(&replica, ROWS, "1:1,2:2,3:3,4:4");
}

#[test]
fn a_row_that_violates_a_constraint_of_the_replica_stops_it() {
    let (source, replica) = (server(1), server(2));
    follow(&replica, &source, "");
    replica.sql("START REPLICA");
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    await_all(&replica, &source);
    replica.sql("ALTER TABLE d.t ADD CONSTRAINT small CHECK (b < 10)");
    source.sql("INSERT INTO d.t VALUES (1, 5); UPDATE d.t SET b = 6; UPDATE d.t SET b = 50");
    let errno = "SELECT last_error_number FROM performance_schema.replication_applier_status_by_worker";
    await_answer(&replica, errno, "3819");
    assert_eq!(replica.sql(ROWS).trim(), "1:6");
    replica.sql("ALTER TABLE d.t ALTER CHECK small NOT ENFORCED; START REPLICA");
    await_answer(&replica, ROWS, "1:50");
}
