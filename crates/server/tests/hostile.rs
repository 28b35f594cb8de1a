//! Clients that are rude, silent, too many or not who they say: an error for them, and the server
//! stays well.
#![allow(clippy::unwrap_used)]

mod common;

use common::start;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Reads until the server closes the connection.
fn drain(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Err(e) if e.kind() != ErrorKind::ConnectionReset => panic!("the server did not close: {e}"),
        _ => all,
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

#[test]
fn nonsense_and_oversize_packets_before_the_login() {
    let server = start(&[]);
    let firsts: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
        b"\xff\xff\xff\x01",
        b"\x00\x00\x02\x01ab",
        b"\x20\x00\x00\x01\x00",
        b"\x01\x00\x00\x07\x00",
    ];
    for first in firsts {
        let mut stream = server.tcp();
        stream.write_all(first).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        drain(stream);
        server.check_well();
    }
    assert!(server.resident_kib() < 64 << 10);
}

#[test]
fn a_packet_out_of_order_is_told_so() {
    let server = start(&[]);
    let mut client = server.connect();
    client.send_raw(b"\x01\x00\x00\x05\x0e").unwrap();
    server.await_message("packet number 5 instead of 0");
    assert!(client.read_packet().is_err());
    server.check_well();
}

#[test]
fn a_statement_beyond_max_allowed_packet_is_told_so_and_nothing_is_kept() {
    let server = start(&["--max-allowed-packet=1M"]);
    let before = server.resident_kib();
    let mut client = server.connect();
    let error = client.query(vec![b' '; 9 << 20]).unwrap_err();
    assert_eq!(error.number(), Some(1153));
    server.check_well();
    assert!(
        server.resident_kib() < before + (8 << 10),
        "{before} KiB before, {} after",
        server.resident_kib()
    );
}

#[test]
fn silent_and_slow_clients_are_closed_in_time_and_hold_nobody_up() {
    let server = start(&["--connect-timeout=2"]);
    let silent = server.tcp();
    let mut slow = server.tcp();
    let dripping = std::thread::spawn(move || {
        while slow.write_all(b"\x50").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    server.check_well();
    let begun = common::now();
    drain(silent);
    dripping.join().unwrap();
    assert!(common::now() - begun < Duration::from_secs(10));
    server.check_well();
}

#[test]
fn wrong_users_and_passwords() {
    let server = start(&[]);
    let denied = |args: &[&str]| {
        let port = format!("--port={}", server.port);
        let output = std::process::Command::new("mariadb-admin")
            .args(["--no-defaults", "--host=127.0.0.1", &port])
            .args(args)
            .arg("ping")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let wrong = denied(&["--user=root", "--password=wrong"]);
    assert!(wrong.contains("Access denied for user 'root'@'localhost' (using password: YES)"), "{wrong}");
    let nobody = denied(&["--user=nobody", "--password=wrong"]);
    assert!(nobody.contains("Access denied for user 'nobody'@'localhost' (using password: YES)"), "{nobody}");
    server.await_message("Access denied for user 'nobody'");
    server.check_well();
}

#[test]
fn one_slot_more_than_max_connections_is_reserved_for_root() {
    let server = start(&["--max-connections=2"]);
    let mut first = server.connect();
    let _second = server.connect();
    let _third = server.connect();
    let refused = drain(server.tcp());
    assert!(contains(&refused, "Too many connections"), "{refused:?}");
    first.command(b"\x0e").unwrap();
    drop(first);
    let begun = common::now();
    while !server.is_well() {
        assert!(common::now() - begun < Duration::from_secs(5), "the slot was not released");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_thousand_connections_come_and_go() {
    let server = start(&[]);
    let clients: Vec<_> = (0..1000).map(|_| server.tcp()).collect();
    for mut client in &clients {
        let mut greeting = [0; 5];
        client.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting[4], 10);
    }
    println!("1000 clients before their login: {} KiB resident", server.resident_kib());
    drop(clients);
    server.check_well();
}

/// MySQL's error for a statement that the server's end interrupts; an idle client gets no error.
#[test]
fn a_statement_that_the_stop_interrupts_says_so() {
    let server = start(&[]);
    let (mut busy, mut idle) = (server.connect(), server.connect());
    let all = "information_schema.collations";
    busy.send_query(format!(
        "SELECT COUNT(*) FROM {all} a, {all} b, {all} c, {all} d, {all} e WHERE RAND() < 2"
    ))
    .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.connect().query("SHUTDOWN").unwrap();
    assert_eq!(busy.next_result().unwrap_err().number(), Some(1053));
    assert_eq!(idle.read_unasked().unwrap_err().number(), None);
}

#[test]
fn the_server_stops_though_clients_are_there() {
    let server = start(&[]);
    let _silent = server.tcp();
    let _idle = server.connect();
    let begun = common::now();
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    assert!(common::now() - begun < Duration::from_secs(5), "{messages:#?}");
}
