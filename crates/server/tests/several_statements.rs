//! Several statements in one command: their results come as several packets of one reply, whatever
//! the last of them waits for.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::Status;
use protocol::client::{Client, ClientError, ConnectOptions, QueryResult, Tls};
use protocol::compression::Algorithm;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// All results of a command.
fn results(client: &mut Client, sql: &str) -> Result<Vec<QueryResult>, ClientError> {
    let mut found = vec![client.query(sql)?];
    while found.last().unwrap().ok.status.has(Status::MORE_RESULTS_EXISTS) {
        found.push(client.next_result()?);
    }
    Ok(found)
}

/// What each result says: its rows' first values, or how many rows were changed.
fn results_of(client: &mut Client, sql: &str) -> String {
    let text = |result: &QueryResult| match result.columns.len() {
        0 => format!("OK {}", result.ok.affected_rows),
        _ => {
            let first = result.rows.iter().map(|row| String::from_utf8(row[0].clone().unwrap()).unwrap());
            first.collect::<Vec<_>>().join(" ")
        }
    };
    let results = results(client, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    results.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// One client for each transport.
fn clients(server: &Server, socket: &std::path::Path) -> Vec<(&'static str, Client)> {
    let plain = ConnectOptions::default();
    let packed = ConnectOptions { compression: Some(Algorithm::Zlib), ..ConnectOptions::default() };
    let encrypted = ConnectOptions { tls: Tls::Unverified, ..ConnectOptions::default() };
    let old = ConnectOptions { without: protocol::Capabilities::DEPRECATE_EOF, ..ConnectOptions::default() };
    let local = UnixStream::connect(socket).unwrap();
    local.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let local = Client::connect(Box::new(local), Arc::new(env::RealEnv), &plain).unwrap();
    vec![
        ("TCP", server.connect_as(&plain)),
        ("TCP, EOF packets", server.connect_as(&old)),
        ("Unix socket", local),
        ("compressed", server.connect_as(&packed)),
        ("TLS", server.connect_as(&encrypted)),
    ]
}

#[test]
fn the_last_of_several_statements_may_commit() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let server = start(&[&format!("--socket={}", socket.display())]);
    let mut first = server.connect();
    results_of(
        &mut first,
        "CREATE DATABASE d; CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b LONGTEXT)",
    );
    let function = "CREATE FUNCTION d.f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA
                    BEGIN INSERT INTO d.t (b) VALUES ('f'); RETURN 7; END";
    first.query(function).unwrap();
    for (name, mut client) in clients(&server, &socket) {
        let mut check =
            |sql: &str, expected: &str| assert_eq!(results_of(&mut client, sql), expected, "{name}: {sql}");
        check("USE d", "OK 0");
        check("INSERT INTO t (b) VALUES (1); INSERT INTO t (b) VALUES (2)", "OK 1; OK 1");
        check("BEGIN; INSERT INTO t (b) VALUES (3), (4); COMMIT", "OK 0; OK 2; OK 0");
        check("SELECT 1; INSERT INTO t (b) VALUES (5);", "1; OK 1");
        check("SELECT f(); UPDATE t SET b = '6' WHERE b = '5'", "7; OK 1");
        check("SELECT 1 UNION SELECT 2; DO f(); DELETE FROM t WHERE b = '6'", "1 2; OK 0; OK 1");
        // More than is sent at once, and more than one packet holds.
        check(
            "SELECT LENGTH(REPEAT('x', 100000)); INSERT INTO t (b) VALUES (REPEAT('x', 100000))",
            "100000; OK 1",
        );
        let long = "SELECT b FROM t WHERE LENGTH(b) = 100000; DELETE FROM t WHERE LENGTH(b) = 100000";
        check(long, &format!("{}; OK 1", "x".repeat(100_000)));
        check(
            "SELECT LENGTH(b) FROM t WHERE b = '3'; SET @a = 1; INSERT INTO t (b) SELECT @a",
            "1; OK 0; OK 1",
        );
        // A locking read, whose reply waits for what it has read.
        check(
            "BEGIN; SELECT COUNT(*) FROM t WHERE a = 0 FOR UPDATE; UPDATE t SET b = 0 WHERE a = 0",
            "OK 0; 0; OK 0",
        );
        check("SELECT 8; ROLLBACK", "8; OK 0");
        // Cached statements, and prepared ones.
        for _ in 0..3 {
            check("SELECT 9; INSERT INTO t (b) VALUES (9)", "9; OK 1");
        }
        check(
            "PREPARE p FROM 'INSERT INTO t (b) VALUES (?)'; EXECUTE p USING @a; EXECUTE p USING @a",
            "OK 0; OK 1; OK 1",
        );
        let failed = results(&mut client, "INSERT INTO t (a) VALUES (-1); INSERT INTO t (a) VALUES (-1)");
        assert_eq!(failed.unwrap_err().number(), Some(1062), "{name}");
        assert_eq!(results_of(&mut client, "DELETE FROM t; SELECT 1"), "OK 13; 1", "{name}");
    }
}

/// The results before it hold; only the last statement's place is an error's.
#[test]
fn a_commit_that_fails_is_told_in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let disk = servers::disk::Disk::new(folder.path()).unwrap();
    let data = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_with(&data, &[], &disk.variables());
    let mut client = server.connect();
    results_of(
        &mut client,
        "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)",
    );
    disk.fail_flushes(true).unwrap();
    let first = client.query("SELECT 'first'; INSERT INTO d.t VALUES (2)").unwrap();
    assert_eq!(first.rows[0][0].as_deref(), Some(&b"first"[..]));
    let failed = client.next_result().unwrap_err();
    assert!(failed.number().is_some(), "an error of the server, and no end of the connection: {failed}");
    assert_eq!(client.query("SELECT 'still there'").unwrap().rows.len(), 1);
}

/// MySQL's `mysqlslap` sends the byte that ends its strings along.
#[test]
fn a_nul_byte_ends_a_statement() {
    let server = start(&[]);
    let mut client = server.connect();
    for sql in
        ["SELECT 1\0", "SELECT 1 \0 ", "SELECT 1\0;", "SELECT 1 -- x\0", "SELECT 1 /* a\0 */", "SELECT 1.\0"]
    {
        assert_eq!(results_of(&mut client, sql), "1", "{sql:?}");
    }
    assert_eq!(results_of(&mut client, "SELECT 1; SELECT 2\0"), "1; 2");
    assert_eq!(results_of(&mut client, "SELECT LENGTH('a\0')"), "2");
    assert_eq!(
        results_of(&mut client, "SET @a = CONCAT('SELECT 3', CHAR(0)); PREPARE p FROM @a; EXECUTE p"),
        "OK 0; OK 0; 3"
    );
    client.send_command(b"\x16SELECT 4\0").unwrap();
    assert_eq!(client.read_packet().unwrap()[0], 0, "prepared by the protocol");
    let mut client = server.connect();
    for sql in ["SELECT 1\0\0", "SELECT 1\0, 2", "SEL\0ECT 1", "SELECT 'a\0", "SELECT 1 /* a\0"] {
        assert_eq!(client.query(sql).unwrap_err().number(), Some(1064), "{sql:?}");
    }
    for sql in ["\0", " \0"] {
        assert_eq!(client.query(sql).unwrap_err().number(), Some(1065), "{sql:?}");
    }
}

/// What MySQL 9.7's `mysqlslap -a --auto-generate-sql-write-number=1` was recorded to send, the
/// texts of columns shortened.
#[test]
fn what_mysqlslap_sends_is_understood() {
    let server = start(&[]);
    let mut client = server.connect();
    let commands: [&[u8]; 9] = [
        b"DROP SCHEMA IF EXISTS `mysqlslap`",
        b"CREATE SCHEMA `mysqlslap`",
        b"USE `mysqlslap`",
        b"CREATE TABLE `t1` (intcol1 INT(32) ,charcol1 VARCHAR(128))\0",
        b"INSERT INTO t1 VALUES (1804289383,'mxvtvmC9127qJNm06sGB8R92q2j7vTiiITRDGXM9ZLzkdekbWtmXKwZ2qG1llkRw')\0",
        b"SELECT intcol1,charcol1 FROM t1\0",
        b"INSERT INTO t1 VALUES (73673339,'BN3152Gza4GW7atxJKACYwJqDbFynLxqc0kh30YTwgz3FktQ43XTrqJ4PQ25frn7')\0",
        b"SELECT intcol1,charcol1 FROM t1\0",
        b"DROP SCHEMA IF EXISTS `mysqlslap`",
    ];
    let rows: Vec<_> = commands.iter().map(|sql| client.query(sql).unwrap().rows.len()).collect();
    assert_eq!(rows, [0, 0, 0, 0, 0, 1, 0, 2, 0]);
}
