//! What OK packets report of transactions, and what statements learn of their attributes. The
//! answers are those of MySQL 9.7.
#![allow(clippy::unwrap_used)]

mod common;

use common::start;
use protocol::client::Client;
use stdx::cursor::Cursor;

/// The state changes in a statement's OK, each as its text.
fn changes_of(client: &mut Client, sql: &str) -> Vec<String> {
    let changes = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).ok.changes;
    let mut c = Cursor::new(&changes);
    let mut texts = Vec::new();
    while !c.is_empty() {
        let kind = c.u8().unwrap();
        let mut change = Cursor::new(c.lenenc_bytes().unwrap());
        let text = match kind {
            0 => {
                change.lenenc_bytes().unwrap();
                change.lenenc_bytes().unwrap()
            }
            3 => {
                assert_eq!(change.u8(), Ok(0), "the encoding of GTIDs");
                change.lenenc_bytes().unwrap()
            }
            _ => change.lenenc_bytes().unwrap(),
        };
        assert!(change.is_empty(), "{sql}: {changes:?}");
        texts.push(String::from_utf8(text.to_vec()).unwrap());
    }
    texts
}

/// Runs each statement, and compares what is reported of it.
fn check(client: &mut Client, steps: &[(&str, &[&str])]) {
    for (sql, expected) in steps {
        assert_eq!(changes_of(client, sql), *expected, "{sql}");
    }
}

#[test]
fn transactions_are_told_as_mysql_tells_them() {
    let server = start(&[]);
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)"] {
        client.query(sql).unwrap();
    }
    const NONE: &str = "________";
    check(
        &mut client,
        &[
            ("SET session_track_transaction_info = 'CHARACTERISTICS'", &[""]),
            ("SET @a = (SELECT COUNT(*) FROM d.t)", &[]),
            ("INSERT INTO d.t VALUES (1)", &[]),
            ("BEGIN", &["T_______", "START TRANSACTION;"]),
            ("DO 1", &[]),
            ("INSERT INTO d.t VALUES (2)", &["T___W___"]),
            ("SET @a = (SELECT COUNT(*) FROM d.t)", &["T_R_W___"]),
            ("SAVEPOINT a", &[]),
            ("DO RAND()", &["T_R_Ws__"]),
            ("SELECT 1", &["T_R_WsS_"]),
            ("COMMIT", &[NONE, ""]),
            ("START TRANSACTION READ ONLY", &["T_______", "START TRANSACTION READ ONLY;"]),
            ("SELECT * FROM d.t", &["T_R___S_"]),
            ("ROLLBACK", &[NONE, ""]),
            (
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
                &["T_R_____", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;"],
            ),
            ("START TRANSACTION", &["T_______", "START TRANSACTION;"]),
            ("CREATE TABLE d.u (id INT PRIMARY KEY)", &[NONE, ""]),
        ],
    );
    const SERIALIZABLE: &str = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;";
    check(
        &mut client,
        &[
            (SERIALIZABLE, &[SERIALIZABLE]),
            (
                "SET TRANSACTION READ ONLY",
                &["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;"],
            ),
            (
                "START TRANSACTION",
                &["T_______", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION READ ONLY;"],
            ),
            (
                "COMMIT AND CHAIN",
                &["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION READ ONLY;"],
            ),
            ("COMMIT", &[NONE, ""]),
            (SERIALIZABLE, &[SERIALIZABLE]),
            ("SET @a = (SELECT COUNT(*) FROM d.t)", &[""]),
            ("SET autocommit = 0", &["OFF"]),
            ("SELECT 1", &[]),
            ("SET @a = (SELECT COUNT(*) FROM d.t)", &["I_R_____"]),
            ("INSERT INTO d.t VALUES (3)", &["I_R_W___"]),
            ("COMMIT", &[NONE]),
            ("SELECT * FROM d.t", &["I_R___S_"]),
            ("SET autocommit = 1", &["ON", NONE]),
            ("LOCK TABLES d.t WRITE", &["_______L"]),
            ("INSERT INTO d.t VALUES (9)", &[]),
            ("BEGIN", &["T_______", "START TRANSACTION;"]),
            ("COMMIT", &[NONE, ""]),
            ("XA START 'a','b',7", &["T_______", "XA START 'a','b',7;"]),
            ("INSERT INTO d.t VALUES (10)", &["T___Ws__"]),
            ("XA END 'a','b',7", &[]),
            ("XA PREPARE 'a','b',7", &[NONE, ""]),
            ("XA COMMIT 'a','b',7", &[]),
        ],
    );
    client.query("BEGIN").unwrap();
    assert_eq!(client.query("INSERT INTO d.t VALUES (1)").unwrap_err().number(), Some(1062));
    assert_eq!(changes_of(&mut client, "DO 1"), ["T___W___"], "a failing statement may have read and locked");
    client.query("ROLLBACK").unwrap();
    // Only the state; again and again, by a cached plan.
    client.query("SET session_track_transaction_info = 'STATE'").unwrap();
    for _ in 0..3 {
        assert_eq!(changes_of(&mut client, "BEGIN"), ["T_______"]);
        assert_eq!(changes_of(&mut client, "SELECT RAND() FROM d.t"), ["T_R__sS_"]);
        assert_eq!(changes_of(&mut client, "COMMIT"), [NONE]);
    }
    client.query("SET session_track_transaction_info = 'OFF'").unwrap();
    check(&mut client, &[("BEGIN", &[]), ("INSERT INTO d.t VALUES (11)", &[]), ("COMMIT", &[])]);
}

#[test]
fn gtids_are_told_with_what_they_name() {
    let server = start(&[]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d").unwrap();
    client.query("CREATE TABLE d.t (id INT PRIMARY KEY)").unwrap();
    let uuid = client.query("SELECT @@server_uuid").unwrap().rows[0][0].clone().unwrap();
    let uuid = String::from_utf8(uuid).unwrap();
    let executed = client.query("SELECT @@gtid_executed").unwrap().rows[0][0].clone().unwrap();
    let executed = String::from_utf8(executed).unwrap();
    let last: u64 = executed.rsplit(['-', ':']).next().unwrap().parse().unwrap();
    let own = |n: u64| vec![format!("{uuid}:{}", last + n)];
    let all = |n: u64| vec![format!("{uuid}:1-{}", last + n)];

    client.query("SET session_track_gtids = 'OWN_GTID'").unwrap();
    assert_eq!(changes_of(&mut client, "INSERT INTO d.t VALUES (1)"), own(1));
    assert_eq!(changes_of(&mut client, "BEGIN"), [""; 0]);
    let refused = client.query("SET session_track_gtids = 'ALL_GTIDS'").unwrap_err();
    assert_eq!(refused.number(), Some(1766));
    assert_eq!(changes_of(&mut client, "INSERT INTO d.t VALUES (2)"), [""; 0]);
    assert_eq!(changes_of(&mut client, "COMMIT"), own(2));
    assert_eq!(changes_of(&mut client, "SELECT * FROM d.t"), [""; 0]);
    assert_eq!(changes_of(&mut client, "CREATE TABLE d.u (id INT PRIMARY KEY)"), own(3));
    assert_eq!(changes_of(&mut client, "CREATE TABLE d.v (PRIMARY KEY (id)) SELECT 1 AS id"), own(4));
    assert_eq!(changes_of(&mut client, "DELETE FROM d.t WHERE id = 99"), [""; 0]);
    client.query("XA START 'a'").unwrap();
    client.query("INSERT INTO d.t VALUES (3)").unwrap();
    client.query("XA END 'a'").unwrap();
    assert_eq!(changes_of(&mut client, "XA PREPARE 'a'"), own(5));
    assert_eq!(changes_of(&mut client, "XA COMMIT 'a'"), own(6));
    // A transaction that a definition ends: both are reported.
    client.query("BEGIN").unwrap();
    client.query("INSERT INTO d.t VALUES (4)").unwrap();
    let both = format!("{uuid}:{}-{}", last + 7, last + 8);
    assert_eq!(changes_of(&mut client, "DROP TABLE d.u"), [both]);

    assert_eq!(changes_of(&mut client, "SET session_track_gtids = 'ALL_GTIDS'"), [""; 0]);
    assert_eq!(changes_of(&mut client, "DO 1"), all(8));
    assert_eq!(changes_of(&mut client, "BEGIN"), [""; 0]);
    assert_eq!(changes_of(&mut client, "ROLLBACK"), [""; 0]);
    client.query("BEGIN").unwrap();
    assert_eq!(changes_of(&mut client, "COMMIT"), all(8));
    assert_eq!(changes_of(&mut client, "INSERT INTO d.t VALUES (5)"), all(9));
    assert_eq!(changes_of(&mut client, "SET session_track_gtids = 'OFF'"), all(9));
    assert_eq!(changes_of(&mut client, "INSERT INTO d.t VALUES (6)"), [""; 0]);
}

/// COM_QUERY with one attribute of type BIGINT, `n`, and one of text, `trace`.
fn attributed(text: &str, n: i64, trace: &str) -> Vec<u8> {
    let mut packet = b"\x03\x02\x01\x00\x01\x08\x00\x01n\xfd\x00\x05trace".to_vec();
    packet.extend_from_slice(&n.to_le_bytes());
    packet.push(trace.len() as u8);
    packet.extend_from_slice(trace.as_bytes());
    packet.extend_from_slice(text.as_bytes());
    packet
}

#[test]
fn attributes_reach_the_statements_they_were_sent_with() {
    let server = start(&[]);
    let mut client = server.connect();
    let text = "SELECT mysql_query_attribute_string('trace'), mysql_query_attribute_string('n'), \
                mysql_query_attribute_string('N')";
    let row = |client: &mut Client| client.next_result().map(|result| result.rows[0].clone());
    for trace in ["abc", "größer"] {
        client.send_command(&attributed(text, -7, trace)).unwrap();
        let expected = [Some(trace.as_bytes().to_vec()), Some(b"-7".to_vec()), None];
        assert_eq!(row(&mut client).unwrap(), expected);
    }
    assert_eq!(client.query(text).unwrap().rows[0], [None, None, None], "they hold for one command");
    client.send_command(&attributed("SELECT nothing", 1, "x")).unwrap();
    assert_eq!(client.next_result().unwrap_err().number(), Some(1054));
    assert_eq!(client.query(text).unwrap().rows[0], [None, None, None]);

    // With a prepared statement that has a parameter of its own.
    let prepare = b"\x16SELECT CONCAT(?, mysql_query_attribute_string('a'))";
    client.send_command(prepare).unwrap();
    let id = client.read_packet().unwrap()[1..5].to_vec();
    client.read_packet().unwrap(); // the parameter
    client.read_packet().unwrap(); // the column
    for (value, expected) in [(b'y', b"\0\0\x02xy"), (b'z', b"\0\0\x02xz")] {
        let head = [&[0x17], &id[..], &[8, 1, 0, 0, 0]].concat();
        let rest = [b"\x02\x00\x01\xfd\x00\x00\xfd\x00\x01a\x01x\x01", &[value][..]].concat();
        client.send_command(&[head, rest].concat()).unwrap();
        client.read_packet().unwrap();
        client.read_packet().unwrap();
        assert_eq!(client.read_packet().unwrap(), expected);
        client.read_packet().unwrap();
    }
}
