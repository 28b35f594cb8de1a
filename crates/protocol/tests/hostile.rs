//! Clients that are slow, silent, rude or mad: an error for them, and the server stays well.
#![allow(clippy::unwrap_used)]

mod common;

use common::{End, Server};
use proptest::prelude::*;
use protocol::client::{Client, ClientError, ConnectOptions, Tls};
use protocol::{Capabilities, Command, Limits, ReadError, Timeouts};
use std::io::{ErrorKind, Read, Write};
use std::iter;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(300);

fn impatient(change: impl FnOnce(&mut Timeouts)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits.timeouts);
    limits
}

fn connect(server: &Server, tls: Tls<'_>) -> Client {
    server.tcp(&ConnectOptions { user: b"empty", tls, ..ConnectOptions::default() }).unwrap()
}

fn check_well(server: &Server) {
    connect(server, Tls::Off).query("SELECT 1").unwrap();
}

/// The handshake response of a client without plugins, whose password is empty.
const LOGIN: &[u8] =
    b"\x2e\0\0\x01\x00\x82\0\0\0\0\0\x01\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0empty_native\0\0";

/// A request for TLS, as a client's first packet.
fn ssl_request() -> Vec<u8> {
    let capabilities = Capabilities::SERVER | Capabilities::SSL;
    let mut packet = b"\x20\0\0\x01".to_vec();
    packet.extend_from_slice(&capabilities.0.to_le_bytes());
    packet.resize(4 + 32, 0);
    packet
}

/// A client took a gigabyte of whoever listened, before it knew of anybody there.
#[test]
fn a_server_that_has_not_let_a_client_in_sends_it_little() {
    let greeting: [&[u8]; 4] = [
        b"\x0a8.4.8\0\x09\0\0\0abcdefgh\0\x8f\xa2\x2d\x02\0\x0f\0\x15",
        &[0; 10],
        b"ijklmnopqrst\0",
        b"mysql_native_password\0",
    ];
    for greets in [false, true] {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let greeting = greeting.concat();
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut number = 0;
            if greets {
                stream.write_all(&(greeting.len() as u32).to_le_bytes()).unwrap();
                stream.write_all(&greeting).unwrap();
                let mut head = [0; 4];
                stream.read_exact(&mut head).unwrap();
                let mut response = vec![0; usize::from(head[0])];
                stream.read_exact(&mut response).unwrap();
                number = 2;
            }
            // The client may hang up in the middle.
            let _ = stream.write_all(&[0x00, 0x00, 0x02, number]);
            let _ = stream.write_all(&vec![1; 0x02_0000]);
        });
        let socket = TcpStream::connect(address).unwrap();
        let options = ConnectOptions { user: b"u", ..ConnectOptions::default() };
        let refused = Client::connect(Box::new(socket), std::sync::Arc::new(env::RealEnv), &options);
        let Err(ClientError::Read(ReadError::TooLarge)) = refused else { panic!("{:?}", refused.err()) };
        server.join().unwrap();
    }
}

#[test]
fn a_handshake_in_drops_ends_in_time() {
    let server = Server::start_with(impatient(|t| t.connect = SHORT), false);
    for (first, drops) in [(&b""[..], b"\x40\0\0\x01"), (&ssl_request(), b"\x16\x03\x01\x02")] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(first).unwrap();
        let drop_by_drop = thread::spawn(move || {
            for byte in drops.iter().chain(iter::repeat(&0)) {
                if stream.write_all(&[*byte]).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        assert_eq!(server.end(), End::Handshake("timeout inside a packet".into()));
        drop_by_drop.join().unwrap();
    }
    check_well(&server);
}

#[test]
fn a_half_open_connection_ends_in_time() {
    let server = Server::start_with(impatient(|t| t.connect = SHORT), false);
    let _silent = TcpStream::connect(server.address).unwrap();
    assert_eq!(server.end(), End::Handshake("timeout inside a packet".into()));
    check_well(&server);
}

#[test]
fn an_idle_client_is_told_and_left() {
    let server = Server::start_with(impatient(|t| t.idle = SHORT), false);
    for tls in [Tls::Off, Tls::Unverified] {
        let mut client = connect(&server, tls);
        client.query("SELECT 1").unwrap();
        assert_eq!(server.end(), End::Read("no command within the idle timeout".into()));
        // It answers nothing, so it has number 0: MySQL's drivers take it for what it is only then.
        assert_eq!(client.read_unasked().unwrap_err().number(), Some(4031));
    }
}

#[test]
fn silence_inside_a_packet_is_no_idleness() {
    let server = Server::start_with(impatient(|t| t.read = SHORT), false);
    for begun in [&b"\x05"[..], b"\x05\0\0\0\x03SE", b"\xff\xff\xff\0\x03"] {
        let mut client = connect(&server, Tls::Off);
        client.send_raw(begun).unwrap();
        assert_eq!(server.end(), End::Read("timeout inside a packet".into()));
    }
}

#[test]
fn a_client_that_takes_nothing_is_left() {
    let server = Server::start_with(impatient(|t| t.write = SHORT), false);
    for tls in [Tls::Off, Tls::Unverified] {
        let mut client = connect(&server, tls);
        client.send_query(format!("BYTES {}", 64 << 20)).unwrap();
        assert_eq!(server.end(), End::Write);
    }
    check_well(&server);
}

#[test]
fn leaving_is_told_apart() {
    let server = Server::start();
    for tls in [Tls::Off, Tls::Unverified] {
        connect(&server, tls).quit().unwrap();
        assert_eq!(server.end(), End::Quit);
        drop(connect(&server, tls));
        assert_eq!(server.end(), End::Read("the peer closed the connection".into()));
        let mut client = connect(&server, tls);
        client.send_raw(b"\x05\0\0\0\x03").unwrap();
        drop(client);
        assert_eq!(server.end(), End::Read("the connection was aborted".into()));
    }
    drop(TcpStream::connect(server.address).unwrap());
    assert!(matches!(server.end(), End::Handshake(_)));
}

#[test]
fn plain_bytes_after_a_request_for_tls_are_no_commands() {
    let server = Server::start();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(&[&ssl_request(), LOGIN, b"\x09\0\0\0\x03SELECT 1"].concat()).unwrap();
    assert!(matches!(server.end(), End::Handshake(_)));
    assert!(server.logins.lock().is_empty());
}

#[test]
fn what_is_no_handshake_is_answered_1043() {
    let server = Server::start();
    let answer = |packet: &[u8]| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let mut header = (packet.len() as u32).to_le_bytes();
        header[3] = 1;
        stream.write_all(&[&header, packet].concat()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let greeting = u32::from_le_bytes([all[0], all[1], all[2], 0]) as usize + 4;
        u16::from_le_bytes([all[greeting + 5], all[greeting + 6]])
    };
    assert_eq!(answer(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 1043);
    assert_eq!(answer(b""), 1043);
    assert_eq!(answer(&[0; 32]), 1043);
    assert_eq!(answer(&[0xff; 40]), 1043);
    assert_eq!(answer(&vec![0xff; 200_000]), 1153);
    check_well(&server);
}

/// Sends bytes, and waits for the server to end the session.
fn send_and_wait(server: &Server, bytes: &[u8]) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut all = Vec::new();
    if let Err(e) = stream.read_to_end(&mut all) {
        assert_eq!(e.kind(), ErrorKind::ConnectionReset);
    }
    server.end();
}

#[test]
fn random_bytes_end_a_connection_and_nothing_else() {
    let server = Server::start_with(impatient(|t| t.connect = SHORT), false);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(100));
    let bytes = (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300), 0_u8..3);
    runner
        .run(&bytes, |(logged_in, mut bytes, number)| {
            if let Some(header) = bytes.first_chunk_mut::<4>() {
                // A length that fits, so that the fields are read.
                *header = [header[0], 0, 0, if logged_in { 0 } else { number }];
            }
            let all = if logged_in { [LOGIN, &bytes].concat() } else { bytes };
            send_and_wait(&server, &all);
            Ok(())
        })
        .unwrap();
    assert!(server.logins.lock().len() >= 10, "some came in");
    check_well(&server);
}

proptest! {
    #[test]
    fn commands_of_random_bytes_are_parsed_or_refused(
        code in any::<u8>(),
        fields in prop::collection::vec(prop_oneof![any::<u8>(), 0_u8..4], 0..100),
        capabilities in any::<u32>(),
    ) {
        let packet = [&[code][..], &fields].concat();
        for code in 0..=0x20 {
            let mut packet = packet.clone();
            packet[0] = code;
            let _ = Command::parse(&packet, Capabilities(capabilities));
        }
        let _ = Command::parse(&packet, Capabilities(capabilities));
    }
}
