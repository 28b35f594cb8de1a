//! Prepared statements over the wire, packet by packet; what drivers make of them is in
//! `drivers.rs`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::{Client, ClientError};

const BLOB: u8 = 0xfc;
const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xfd;

/// COM_STMT_PREPARE's answer: the id, how many parameters and columns; their definitions are
/// skipped.
fn prepare(client: &mut Client, sql: &str) -> Result<(u32, u16, u16), ClientError> {
    client.send_command(&[&[0x16], sql.as_bytes()].concat())?;
    let reply = client.read_packet()?.to_vec();
    let short = |at: usize| u16::from_le_bytes([reply[at], reply[at + 1]]);
    let id = u32::from_le_bytes(reply[1..5].try_into().unwrap());
    let (columns, parameters) = (short(5), short(7));
    for count in [parameters, columns] {
        for _ in 0..count {
            client.read_packet()?;
        }
    }
    Ok((id, parameters, columns))
}

/// COM_STMT_EXECUTE with parameters given as bytes of the packet after the flags.
fn send_execute(client: &mut Client, id: u32, flags: u8, rest: &[u8]) {
    let head = [&[0x17], &id.to_le_bytes()[..], &[flags, 1, 0, 0, 0]].concat();
    client.send_command(&[&head, rest].concat()).unwrap();
}

/// Reads a result set of binary rows, from its number of columns on.
fn rows(client: &mut Client) -> Result<Vec<Vec<u8>>, ClientError> {
    let columns = client.read_packet()?[0];
    for _ in 0..columns {
        client.read_packet()?;
    }
    remaining_rows(client).map(|(rows, _)| rows)
}

/// The rows up to the end, and the status there.
fn remaining_rows(client: &mut Client) -> Result<(Vec<Vec<u8>>, u16), ClientError> {
    let mut rows = Vec::new();
    loop {
        match client.read_packet()? {
            [0xfe, 0, 0, low, high, ..] => return Ok((rows, u16::from_le_bytes([*low, *high]))),
            row => rows.push(row.to_vec()),
        }
    }
}

fn error<T: std::fmt::Debug>(result: Result<T, ClientError>) -> u16 {
    result.unwrap_err().number().unwrap()
}

fn with_table() -> (Server, Client) {
    let server = start(&["--max-allowed-packet=1M"]);
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)"] {
        client.query(sql).unwrap();
    }
    (server, client)
}

#[test]
fn a_cursor_gives_rows_as_they_are_asked_for() {
    let (_server, mut client) = with_table();
    client.query("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)").unwrap();
    let (id, parameters, columns) = prepare(&mut client, "SELECT id, b FROM t ORDER BY id").unwrap();
    assert_eq!((parameters, columns), (0, 2));

    let fetch = |client: &mut Client, n: u8| {
        let packet = [&[0x1c], &id.to_le_bytes()[..], &[n, 0, 0, 0]].concat();
        client.send_command(&packet).unwrap();
        remaining_rows(client)
    };
    assert_eq!(error(fetch(&mut client, 1)), 1421);
    send_execute(&mut client, id, 1, b"");
    assert_eq!(client.read_packet().unwrap(), [2]);
    client.read_packet().unwrap();
    client.read_packet().unwrap();
    let (none, status) = remaining_rows(&mut client).unwrap();
    assert!(none.is_empty() && status & 0x40 != 0, "a cursor exists");

    // What is changed now, the cursor does not see.
    client.query("DELETE FROM t").unwrap();
    let (two, status) = fetch(&mut client, 2).unwrap();
    assert_eq!(two, [b"\0\0\x01\0\0\0\x01a", b"\0\0\x02\0\0\0\x01b"]);
    assert_eq!(status & 0xc0, 0x40);
    let (one, status) = fetch(&mut client, 9).unwrap();
    assert_eq!(one, [b"\0\x08\x03\0\0\0"]);
    assert_eq!(status & 0xc0, 0x80, "the last row was sent");
    assert_eq!(error(fetch(&mut client, 1)), 1421);

    // Without a cursor the same statement sends its rows at once.
    send_execute(&mut client, id, 0, b"");
    assert!(rows(&mut client).unwrap().is_empty());
}

/// Opens a cursor; it has one column.
fn open_cursor(client: &mut Client, id: u32) {
    send_execute(client, id, 1, b"");
    assert_eq!(client.read_packet().unwrap(), [1]);
    client.read_packet().unwrap();
    remaining_rows(client).unwrap();
}

#[test]
fn a_cursor_of_many_rows_lies_in_a_file() {
    let (server, mut client) = with_table();
    let files = || std::fs::read_dir(server.file("spill")).map_or(0, |files| files.count());
    let rows: Vec<String> = (1..=1000).map(|id| format!("({id}, REPEAT('x', 100))")).collect();
    client.query(format!("INSERT INTO t VALUES {}", rows.join(", "))).unwrap();
    client.query("SET tmp_table_size = 1024").unwrap();
    let (id, ..) = prepare(&mut client, "SELECT CONCAT(id, b) FROM t").unwrap();
    open_cursor(&mut client, id);
    assert_eq!(files(), 1);
    let mut seen = 0;
    loop {
        client.send_command(&[&[0x1c], &id.to_le_bytes()[..], &[250, 0, 0, 0]].concat()).unwrap();
        let (rows, status) = remaining_rows(&mut client).unwrap();
        for row in rows {
            seen += 1;
            assert!(row[3..].starts_with(format!("{seen}xxx").as_bytes()), "row {seen}");
        }
        if status & 0x80 != 0 {
            break;
        }
    }
    assert_eq!((seen, files()), (1000, 0));
    // One that is not read to its end goes with its statement.
    open_cursor(&mut client, id);
    assert_eq!(files(), 1);
    client.send_command(&[&[0x19], &id.to_le_bytes()[..]].concat()).unwrap();
    client.query("DO 1").unwrap();
    assert_eq!(files(), 0);
}

#[test]
fn long_data_comes_in_pieces_and_is_bounded() {
    let (_server, mut client) = with_table();
    let (id, ..) = prepare(&mut client, "INSERT INTO t VALUES (?, ?)").unwrap();
    let piece = |client: &mut Client, parameter: u8, data: &[u8]| {
        let packet = [&[0x18], &id.to_le_bytes()[..], &[parameter, 0], data].concat();
        client.send_command(&packet).unwrap();
    };
    let types = [LONGLONG, 0, 0, BLOB, 0, 0];
    let execute = |client: &mut Client, key: u8| {
        let rest = [&[2, 0, 1], &types[..], &[key, 0, 0, 0, 0, 0, 0, 0]].concat();
        send_execute(client, id, 0, &rest);
        client.read_packet().map(<[u8]>::to_vec)
    };
    for _ in 0..3 {
        piece(&mut client, 1, &[b'x'; 300_000]);
    }
    execute(&mut client, 1).unwrap();
    assert_eq!(client.query("SELECT LENGTH(b) FROM t").unwrap().rows[0][0], Some(b"900000".to_vec()));

    // Beyond max_allowed_packet: the execution says so, and the next one may be right again.
    for _ in 0..4 {
        piece(&mut client, 1, &[b'x'; 300_000]);
    }
    assert_eq!(error(execute(&mut client, 2)), 1105);
    piece(&mut client, 2, b"there is no such parameter");
    assert_eq!(error(execute(&mut client, 2)), 1210);
    piece(&mut client, 1, b"forgotten");
    client.command(&[&[0x1a], &id.to_le_bytes()[..]].concat()).unwrap();
    piece(&mut client, 1, b"kept");
    execute(&mut client, 2).unwrap();
    let stored = client.query("SELECT b FROM t WHERE id = 2").unwrap();
    assert_eq!(stored.rows[0][0], Some(b"kept".to_vec()));
}

#[test]
fn wrong_ids_wrong_parameters_and_too_many_statements_are_refused_by_number() {
    let (_server, mut client) = with_table();
    send_execute(&mut client, 77, 0, b"");
    assert_eq!(error(client.read_packet().map(<[u8]>::to_vec)), 1243);
    assert_eq!(error(client.command(b"\x1a\x4d\0\0\0")), 1243);
    assert_eq!(error(client.command(b"\x1c\x4d\0\0\0\x01\0\0\0")), 1243);
    assert_eq!(error(prepare(&mut client, "SELECT FROM")), 1064);
    assert_eq!(error(prepare(&mut client, "SELECT nothing FROM t")), 1054);
    assert_eq!(error(prepare(&mut client, "USE d")), 1295);
    let (id, parameters, columns) = prepare(&mut client, "SELECT ?, id FROM t WHERE id = ?").unwrap();
    assert_eq!((parameters, columns), (2, 2));
    // Types were never sent; then a value is missing; then a date that is none.
    send_execute(&mut client, id, 0, b"\x02\x00\x00");
    assert_eq!(error(rows(&mut client)), 1210);
    send_execute(&mut client, id, 0, &[2, 0, 1, VAR_STRING, 0, 0, LONGLONG, 0, 0, 1, b'x']);
    assert_eq!(error(rows(&mut client)), 1835);
    let date = [2, 0, 1, 0x0a, 0, 0, VAR_STRING, 0, 0, 4, 0xe8, 7, 13, 1, 1, b'1'];
    send_execute(&mut client, id, 0, &date);
    assert_eq!(error(rows(&mut client)), 1210);

    // Counted for all sessions; closing one makes room.
    client.query("SET GLOBAL max_prepared_stmt_count = 1").unwrap();
    assert_eq!(error(prepare(&mut client, "SELECT 1")), 1461);
    client.send_command(&[&[0x19], &id.to_le_bytes()[..]].concat()).unwrap();
    let (second, ..) = prepare(&mut client, "SELECT 1").unwrap();
    let count = client.query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").unwrap();
    assert_eq!(count.rows[0][1], Some(b"1".to_vec()));
    client.command(b"\x1f").unwrap();
    send_execute(&mut client, second, 0, b"");
    assert_eq!(error(rows(&mut client)), 1243, "COM_RESET_CONNECTION forgets statements");
    prepare(&mut client, "SELECT 1").unwrap();
}

#[test]
fn definitions_change_between_executions() {
    let (_server, mut client) = with_table();
    client.query("INSERT INTO t VALUES (1, 'a')").unwrap();
    let (id, ..) = prepare(&mut client, "SELECT * FROM t").unwrap();
    client.query("DROP TABLE t").unwrap();
    send_execute(&mut client, id, 0, b"");
    assert_eq!(error(rows(&mut client)), 1146);
    client.query("CREATE TABLE t (a TINYINT PRIMARY KEY, b INT, c INT)").unwrap();
    client.query("INSERT INTO t VALUES (1, 2, 3)").unwrap();
    send_execute(&mut client, id, 0, b"");
    assert_eq!(rows(&mut client).unwrap(), [b"\0\0\x01\x02\0\0\0\x03\0\0\0"]);
}
