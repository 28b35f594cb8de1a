//! What bounds connections: how many there may be, of whom, how long each may be silent or slow,
//! and how large packets are.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::{Client, ClientError, ConnectOptions};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Longer than a timeout of a second may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn log_in(server: &Server, user: &[u8]) -> Result<Client, ClientError> {
    let options = ConnectOptions { user, ..ConnectOptions::default() };
    Client::connect(Box::new(server.tcp()), Arc::new(env::RealEnv), &options)
}

fn refusal(server: &Server, user: &[u8]) -> u16 {
    log_in(server, user).err().and_then(|e| e.number()).unwrap()
}

/// Tries again until a slot is free: the server learns of a closed connection a moment later.
fn log_in_soon(server: &Server, user: &[u8]) -> Client {
    let begun = common::now();
    loop {
        match log_in(server, user) {
            Ok(client) => return client,
            Err(e) => assert!(common::now() - begun < PATIENCE, "{e}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_last_slot_is_for_an_administrator() {
    let server = start(&["--max-connections=2"]);
    let mut root = server.connect();
    root.query("CREATE USER app@localhost").unwrap();
    let app = log_in(&server, b"app").unwrap();
    assert_eq!(refusal(&server, b"app"), 1040, "two are there");
    let second_root = log_in_soon(&server, b"root");
    assert_eq!(refusal(&server, b"root"), 1040, "the reserved slot is taken");
    drop((app, second_root));
    log_in_soon(&server, b"app");
    let refused = root.query("SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'").unwrap();
    assert!(refused.rows[0][1].as_deref() >= Some(b"2"), "{refused:?}");
    // It is the server's to change while it runs.
    root.query("SET GLOBAL max_connections = 10").unwrap();
    let _many: Vec<_> = (0..8).map(|_| log_in_soon(&server, b"app")).collect();
}

#[test]
fn accounts_have_limits_of_their_own_or_the_servers() {
    let server = start(&[]);
    let mut root = server.connect();
    root.query("CREATE USER one@localhost WITH MAX_USER_CONNECTIONS 1").unwrap();
    root.query("CREATE USER app@localhost").unwrap();
    let one = log_in(&server, b"one").unwrap();
    assert_eq!(refusal(&server, b"one"), 1226);
    root.query("SET GLOBAL max_user_connections = 2").unwrap();
    assert_eq!(refusal(&server, b"one"), 1226, "its own limit counts");
    let mut first = log_in(&server, b"app").unwrap();
    let second = log_in(&server, b"app").unwrap();
    assert_eq!(refusal(&server, b"app"), 1203);
    // Who is there already may come back as the same user.
    first.change_user(b"app", b"", b"").unwrap();
    drop((one, second));
    log_in_soon(&server, b"one");
    log_in_soon(&server, b"app");
    let limit = first.query("SELECT @@max_user_connections, @@global.max_user_connections").unwrap();
    assert_eq!(limit.rows[0], [Some(b"2".to_vec()), Some(b"2".to_vec())]);
}

/// True if the far end closes the connection, after a last packet or without.
fn ends(client: &mut Client) -> bool {
    let begun = common::now();
    while client.read_packet().is_ok() {}
    common::now() - begun < PATIENCE
}

#[test]
fn silent_clients_are_left() {
    let server = start(&["--connect-timeout=2"]);
    // One that does not log in.
    let mut socket = server.tcp();
    let mut greeting = Vec::new();
    let begun = common::now();
    let _ = socket.read_to_end(&mut greeting);
    let waited = common::now() - begun;
    assert!(Duration::from_secs(1) < waited && waited < PATIENCE, "{waited:?}");

    // An idle one; MySQL's server sends it an error too.
    let mut idle = server.connect();
    idle.query("SET wait_timeout = 1").unwrap();
    let error = idle.read_unasked().unwrap_err();
    assert_eq!(error.number(), Some(4031), "{error}");
    assert!(ends(&mut idle));

    // One that begins a packet and does not go on.
    let mut slow = server.connect();
    slow.query("SET net_read_timeout = 1").unwrap();
    let mut half = server.tcp();
    half.read_exact(&mut [0; 4]).unwrap();
    half.write_all(&[200, 0, 0, 1, 0]).unwrap();
    let begun = common::now();
    let _ = half.read_to_end(&mut Vec::new());
    assert!(common::now() - begun < PATIENCE, "a login that stops halfway");
    slow.query("SELECT 1").unwrap();
}

#[test]
fn a_client_that_takes_no_rows_is_left() {
    let server = start(&[]);
    let mut stuck = server.connect();
    stuck.query("SET net_write_timeout = 1").unwrap();
    let id = stuck.connection_id;
    // Far more than sockets hold, and nobody reads it.
    stuck.send_query("SELECT REPEAT('x', 16000000), REPEAT('y', 16000000), REPEAT('z', 16000000)").unwrap();
    let mut root = server.connect();
    let begun = common::now();
    loop {
        let list = root.query("SHOW PROCESSLIST").unwrap();
        let is_there = list.rows.iter().any(|row| row[0] == Some(id.to_string().into_bytes()));
        if !is_there {
            break;
        }
        assert!(common::now() - begun < PATIENCE, "it is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn packets_are_bounded_for_each_session() {
    let server = start(&[]);
    let mut root = server.connect();
    let mut before = server.connect();
    root.query("SET GLOBAL max_allowed_packet = 1048576").unwrap();
    let refused = root.query("SET SESSION max_allowed_packet = 2097152").unwrap_err();
    assert_eq!(refused.number(), Some(1621));
    let long = format!("SELECT LENGTH('{}')", "x".repeat(2 << 20));
    before.query(&long).unwrap();
    let mut after = server.connect();
    assert_eq!(after.query(&long).unwrap_err().number(), Some(1153));
    assert!(ends(&mut after), "what follows can't be read");
    // What a statement makes is bounded too.
    let mut other = server.connect();
    let made = other.query("SELECT REPEAT('x', 2000000)").unwrap();
    assert_eq!((made.rows[0][0].clone(), made.ok.warnings), (None, 1));
}

#[test]
fn prepared_statements_are_counted_for_all_sessions() {
    let server = start(&["--max-prepared-stmt-count=3"]);
    let (mut one, mut other) = (server.connect(), server.connect());
    one.query("PREPARE a FROM 'SELECT 1'").unwrap();
    one.query("PREPARE b FROM 'SELECT 1'").unwrap();
    other.query("PREPARE a FROM 'SELECT 1'").unwrap();
    let refused = other.query("PREPARE b FROM 'SELECT 1'").unwrap_err();
    assert_eq!(refused.number(), Some(1461));
    other.query("PREPARE a FROM 'SELECT 2'").unwrap();
    drop(one);
    let begun = common::now();
    while other.query("PREPARE b FROM 'SELECT 1'").is_err() {
        assert!(common::now() - begun < PATIENCE, "the statements of who left are still counted");
        std::thread::sleep(Duration::from_millis(10));
    }
}
