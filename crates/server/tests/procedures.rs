//! Stored procedures over the wire: several result sets, OUT parameters, kills, and what bounds
//! them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, now, start};
use protocol::client::{Client, ClientError, ConnectOptions, QueryResult};
use protocol::{Capabilities, Status};
use std::time::Duration;

fn with_database() -> (Server, Client) {
    let server = start(&[]);
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))"] {
        client.query(sql).unwrap();
    }
    (server, client)
}

/// All results of a command; the error comes after those that it has interrupted.
fn results(client: &mut Client, sql: &str) -> (Vec<QueryResult>, Option<u16>) {
    let mut found = Vec::new();
    let mut next = client.query(sql);
    loop {
        match next {
            Ok(result) => {
                let more = result.ok.status.has(Status::MORE_RESULTS_EXISTS);
                found.push(result);
                if !more {
                    return (found, None);
                }
                next = client.next_result();
            }
            Err(e) => return (found, e.number()),
        }
    }
}

/// The first value of each result set's first row; `OK` and a number for a result without rows.
fn shown(client: &mut Client, sql: &str) -> String {
    let (found, error) = results(client, sql);
    let text = |result: &QueryResult| match result.columns.len() {
        0 => format!("OK {}", result.ok.affected_rows),
        _ => match result.rows.first().map(|row| row[0].clone()) {
            Some(Some(value)) => String::from_utf8(value).unwrap(),
            Some(None) => "NULL".to_owned(),
            None => "empty".to_owned(),
        },
    };
    let mut out: Vec<String> = found.iter().map(text).collect();
    out.extend(error.map(|number| format!("ERROR {number}")));
    out.join("; ")
}

#[test]
fn result_sets_come_in_order_and_an_ok_at_the_end() {
    let (server, mut first) = with_database();
    for sql in [
        "CREATE PROCEDURE many() BEGIN SELECT 1; SELECT 2 WHERE FALSE; INSERT INTO t VALUES (1, 'a'), (2, 'b'); SELECT 'end'; DELETE FROM t; END",
        "CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT 2; SELECT * FROM nothing; SELECT 3; END",
        "CREATE PROCEDURE breaks_off() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'handled';
           SELECT a, IF(a = 2, (SELECT 1 UNION SELECT 2), 1) FROM (SELECT 1 AS a UNION SELECT 2) AS two; END",
        "CREATE PROCEDURE large() SELECT REPEAT('x', 100000) FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3) AS x",
        "CREATE PROCEDURE nested() BEGIN CALL many(); CALL large(); SELECT 'outer'; END",
    ] {
        first.query(sql).unwrap();
    }
    let old = ConnectOptions { without: Capabilities::DEPRECATE_EOF, ..ConnectOptions::default() };
    for options in [ConnectOptions::default(), old] {
        let mut client = server.connect_as(&options);
        client.query("USE d").unwrap();
        let mut check = |sql: &str, expected: &str| assert_eq!(shown(&mut client, sql), expected, "{sql}");
        check("CALL many()", "1; empty; end; OK 2");
        check("CALL many(); SELECT 'next'", "1; empty; end; OK 2; next");
        check("CALL fails()", "1; 2; ERROR 1146");
        check("SELECT 'still here'", "still here");
        check("CALL breaks_off()", "1; handled; OK 0");
        let large = "x".repeat(100_000);
        check("CALL nested()", &format!("1; empty; end; {large}; outer; OK 0"));
        check("DO 1", "OK 0");
    }
    server.check_well();
}

#[test]
fn a_client_that_takes_one_result_gets_no_sets() {
    let (server, mut first) = with_database();
    first.query("CREATE PROCEDURE sends() SELECT 1").unwrap();
    first.query("CREATE PROCEDURE writes() INSERT INTO t VALUES (7, 'x')").unwrap();
    let without = Capabilities::MULTI_RESULTS | Capabilities::MULTI_STATEMENTS;
    let mut client = server.connect_as(&ConnectOptions { without, ..ConnectOptions::default() });
    assert_eq!(client.query("CALL d.sends()").unwrap_err().number(), Some(1312));
    assert_eq!(client.query("CALL d.writes()").unwrap().ok.affected_rows, 1);
}

/// COM_STMT_PREPARE of a statement with parameters and no columns: its id.
fn prepare(client: &mut Client, sql: &str) -> Result<u32, ClientError> {
    client.send_command(&[&[0x16], sql.as_bytes()].concat())?;
    let reply = client.read_packet()?.to_vec();
    assert_eq!(&reply[5..7], [0, 0], "a CALL has no columns before it runs");
    for _ in 0..reply[7] {
        client.read_packet()?;
    }
    Ok(u32::from_le_bytes(reply[1..5].try_into().unwrap()))
}

/// A result set of binary rows: the rows, and the status at its end.
fn rows(client: &mut Client) -> (Vec<Vec<u8>>, u16) {
    let columns = client.read_packet().unwrap()[0];
    for _ in 0..columns {
        client.read_packet().unwrap();
    }
    let mut rows = Vec::new();
    loop {
        match client.read_packet().unwrap() {
            [0xfe, 0, 0, low, high, ..] => return (rows, u16::from_le_bytes([*low, *high])),
            row => rows.push(row.to_vec()),
        }
    }
}

#[test]
fn out_parameters_of_a_prepared_call_are_a_result_set() {
    const MORE: u16 = 8;
    const OUT: u16 = 0x1000;
    let (_server, mut client) = with_database();
    let sql = "CREATE PROCEDURE p(IN a INT, OUT b INT, INOUT c VARCHAR(10)) BEGIN SELECT a + 1; SET b = a * 2, c = CONCAT(c, '!'); END";
    client.query(sql).unwrap();
    let id = prepare(&mut client, "CALL p(?, ?, ?)").unwrap();
    for flags in [0, 1] {
        // Even where a cursor is asked for: a CALL has none.
        let head = [&[0x17], &id.to_le_bytes()[..], &[flags, 1, 0, 0, 0]].concat();
        // How many, which are NULL, and each type with an empty name.
        let types = [3, 0b010, 1, 0x03, 0, 0, 0x03, 0, 0, 0xfd, 0, 0];
        client.send_command(&[&head[..], &types, &21_i32.to_le_bytes(), b"\x02hi"].concat()).unwrap();
        let (sent, status) = rows(&mut client);
        assert_eq!(sent, [b"\0\0\x16\0\0\0\0\0\0\0"]);
        assert_eq!(status & (MORE | OUT), MORE);
        let (parameters, status) = rows(&mut client);
        assert_eq!(parameters, [b"\0\0\x2a\0\0\0\x03hi!"]);
        assert_eq!(status & (MORE | OUT), MORE | OUT);
        let ok = client.read_packet().unwrap().to_vec();
        assert_eq!((ok[0], u16::from_le_bytes([ok[3], ok[4]]) & (MORE | OUT)), (0, 0));
    }
    // What it fails with comes instead of the parameters.
    client.query("CREATE PROCEDURE bad(OUT a INT) BEGIN SET a = 1; SIGNAL SQLSTATE '45000'; END").unwrap();
    let id = prepare(&mut client, "CALL bad(?)").unwrap();
    let head = [&[0x17], &id.to_le_bytes()[..], &[0, 1, 0, 0, 0, 1, 1, 1, 0x06, 0, 0]].concat();
    client.send_command(&head).unwrap();
    assert_eq!(client.read_packet().unwrap_err().number(), Some(1644));
    assert_eq!(prepare(&mut client, "CALL nothing(?)").unwrap_err().number(), Some(1305));
}

#[test]
fn the_mysql_client_makes_and_calls_procedures() {
    let (server, _client) = with_database();
    let script = "USE d\nDELIMITER //\nCREATE PROCEDURE p(n INT)\nBEGIN\n  -- a comment\n  DECLARE i INT DEFAULT 0;\n  WHILE i < n DO\n    SELECT i;\n    SET i = i + 1;\n  END WHILE;\nEND//\nDELIMITER ;\nCALL p(3);\nSELECT 'done'";
    assert_eq!(server.sql(script).split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "done"]);
}

#[test]
fn kill_ends_a_procedure_whatever_it_handles() {
    let (server, mut client) = with_database();
    for sql in [
        "CREATE PROCEDURE spins() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; WHILE TRUE DO SIGNAL SQLSTATE '45000'; END WHILE; END",
        "CREATE PROCEDURE sleeps() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION, SQLWARNING BEGIN END; WHILE TRUE DO DO SLEEP(10); SET @x = SLEEP(10); END WHILE; END",
        // Each failure calls it twice more: nobody sees the end of that.
        "CREATE PROCEDURE multiplies() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION CALL multiplies(); CALL multiplies(); SIGNAL SQLSTATE '45000'; END",
    ] {
        client.query(sql).unwrap();
    }
    client.query("SET max_sp_recursion_depth = 20").unwrap();
    let id = client.query("SELECT CONNECTION_ID()").unwrap().rows[0][0].clone().unwrap();
    let id = String::from_utf8(id).unwrap();
    let mut other = server.connect();
    for name in ["spins", "sleeps", "multiplies"] {
        client.send_query(format!("CALL {name}()")).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let begun = now();
        other.query(format!("KILL QUERY {id}")).unwrap();
        assert_eq!(client.next_result().unwrap_err().number(), Some(1317), "{name}");
        assert!(now() - begun < Duration::from_secs(5), "{name}");
    }
    assert_eq!(shown(&mut client, "SELECT 'well'"), "well");
    server.check_well();
}

#[test]
fn recursion_ends_with_an_error() {
    let (server, mut client) = with_database();
    for sql in [
        "CREATE PROCEDURE deep(n INT) BEGIN DECLARE a, b, c VARCHAR(1000) DEFAULT REPEAT('x', 1000); IF n > 0 THEN CALL deep(n - 1); END IF; END",
        "CREATE PROCEDURE by_text(n INT) BEGIN SET @n = n + 1; PREPARE s FROM 'CALL by_text(@n)'; EXECUTE s; END",
        "CREATE PROCEDURE ping() CALL pong()",
        "CREATE PROCEDURE pong() CALL ping()",
        "SET max_sp_recursion_depth = 255",
    ] {
        client.query(sql).unwrap();
    }
    for sql in ["CALL deep(1000)", "CALL ping()"] {
        let number = client.query(sql).unwrap_err().number();
        assert!(matches!(number, Some(1456 | 1436)), "{sql}: {number:?}");
    }
    // The statement that runs can't be replaced.
    assert_eq!(client.query("CALL by_text(1)").unwrap_err().number(), Some(1444));
    client.query("CALL deep(20)").unwrap();
    server.check_well();
}

#[test]
fn a_cursor_over_a_million_rows_takes_little_memory() {
    let (server, mut client) = with_database();
    for sql in [
        "SET tmp_table_size = 1048576",
        "CREATE TABLE ten (a INT PRIMARY KEY)",
        "INSERT INTO ten VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE PROCEDURE walk(n INT) BEGIN
           DECLARE i, x INT DEFAULT 0;
           DECLARE s VARCHAR(100);
           DECLARE c CURSOR FOR SELECT t1.a, REPEAT('x', 100) FROM ten AS t1, ten AS t2, ten AS t3, ten AS t4, ten AS t5, ten AS t6;
           OPEN c;
           WHILE i < n DO FETCH c INTO x, s; SET i = i + 1; END WHILE;
           SELECT i, LENGTH(s);
         END",
        "CALL walk(1)",
    ] {
        assert_eq!(results(&mut client, sql).1, None, "{sql}");
    }
    let before = server.peak_resident_kib();
    assert_eq!(shown(&mut client, "CALL walk(20000)"), "20000; OK 0");
    let grown = server.peak_resident_kib().saturating_sub(before);
    assert!(grown < 50 * 1024, "{grown} KiB more");
    let files = std::fs::read_dir(server.file("spill")).map_or(0, |files| files.count());
    assert_eq!(files, 0, "the cursor's file goes with it");
}
