//! Commands and what comes back, with and without EOF packets.
#![allow(clippy::unwrap_used)]

mod common;

use common::{End, Server};
use protocol::client::{Client, ConnectOptions, Tls};
use protocol::{Capabilities, Limits, Status};

fn each_kind(server: &Server, check: impl Fn(&mut Client)) {
    for tls in [Tls::Off, Tls::Unverified] {
        for without in [
            Capabilities(0),
            Capabilities::DEPRECATE_EOF,
            Capabilities::SESSION_TRACK,
            Capabilities::QUERY_ATTRIBUTES,
        ] {
            let options = ConnectOptions { user: b"empty", tls, without, ..ConnectOptions::default() };
            check(&mut server.tcp(&options).unwrap());
        }
    }
}

#[test]
fn result_sets() {
    let server = Server::start();
    each_kind(&server, |client| {
        let result = client.query("ROWS 10000").unwrap();
        assert_eq!(result.columns, [b"n", b"n"]);
        assert_eq!(result.rows.len(), 10_000);
        assert_eq!(result.rows[9_999], [Some(b"9999".to_vec()), None]);
        assert_eq!(result.ok.status, Status::AUTOCOMMIT);
        assert_eq!(
            client.query("SELECT -9223372036854775808").unwrap().rows[0][0].as_deref(),
            Some(&b"-9223372036854775808"[..])
        );
        assert_eq!(client.query("FAIL 3").unwrap_err().number(), Some(1317));
        let long = client.query(format!("BYTES {}", 40 << 20)).unwrap();
        assert_eq!(long.rows[0][0].as_ref().unwrap().len(), 40 << 20);
        let first = client.query("TWO").unwrap();
        assert!(first.ok.status.has(Status::MORE_RESULTS_EXISTS));
        assert_eq!(client.next_result().unwrap().rows[0][0].as_deref(), Some(&b"2"[..]));
    });
}

#[test]
fn long_and_pipelined_queries() {
    let server = Server::start();
    each_kind(&server, |client| {
        let spaces = " ".repeat(17 << 20);
        assert_eq!(client.query(format!("SELECT{spaces}5")).unwrap().rows[0][0].as_deref(), Some(&b"5"[..]));
        for i in 0..1000 {
            client.send_query(format!("SELECT {i}")).unwrap();
        }
        for i in 0..1000 {
            assert_eq!(client.next_pipelined_result().unwrap().rows[0][0], Some(i.to_string().into_bytes()));
        }
    });
}

#[test]
fn other_commands() {
    let server = Server::start();
    each_kind(&server, |client| {
        for command in [&b"\x0e"[..], b"\x02db", b"\x1f", b"\x1b\0\0", b"\x0d"] {
            assert_eq!(client.command(command).unwrap().status, Status::AUTOCOMMIT, "{command:?}");
        }
        assert_eq!(client.command(b"\xee").unwrap_err().number(), Some(1047));
        assert_eq!(client.command(b"\x1b").unwrap_err().number(), Some(1835));
        client.send_command(b"\x09").unwrap();
        assert_eq!(client.read_packet().unwrap(), b"Uptime: 1");
        client.send_command(b"\x04t\0").unwrap();
        assert_eq!(client.read_packet().unwrap()[..4], *b"\x03def");
        assert_eq!(client.read_packet().unwrap()[0], 0xfe);
    });
}

#[test]
fn a_local_file() {
    let server = Server::start();
    each_kind(&server, |client| {
        client.send_query("FILE").unwrap();
        assert_eq!(client.read_packet().unwrap(), b"\xfbsome.file");
        for piece in [&b"abc"[..], b"de", b""] {
            client.send_packet(piece).unwrap();
        }
        assert_eq!(client.next_result().unwrap().ok.affected_rows, 5);
    });
}

#[test]
fn a_stream_of_events() {
    let server = Server::start();
    each_kind(&server, |client| {
        for length in [100_u32, 32 * 1024, (1 << 24) - 2, 17 << 20] {
            let mut dump = vec![0x12];
            dump.extend_from_slice(&length.to_le_bytes());
            dump.extend_from_slice(b"\x01\0\x01\0\0\0binlog.000001");
            client.send_command(&dump).unwrap();
            for n in 0..3 {
                let event = client.read_packet().unwrap();
                assert_eq!(event.len(), length as usize + 1);
                assert!(event[0] == 0 && event[1..].iter().all(|&b| b == n));
            }
            assert_eq!(client.read_packet().unwrap()[0], 0xfe);
        }
    });
}

#[test]
fn max_allowed_packet() {
    let limits = Limits { packet_max: 1000, ..Limits::default() };
    let server = Server::start_with(limits, false);
    for length in [1001, 1 << 20, 17 << 20] {
        let mut client = server.tcp(&ConnectOptions { user: b"empty", ..ConnectOptions::default() }).unwrap();
        client.query("SELECT 1").unwrap();
        assert_eq!(client.query(vec![b' '; length]).unwrap_err().number(), Some(1153));
        assert_eq!(server.end(), End::Read("packet larger than max_allowed_packet".into()));
        assert!(client.query("SELECT 1").is_err());
    }
}

#[test]
fn a_number_out_of_sequence() {
    let server = Server::start();
    let mut client = server.tcp(&ConnectOptions { user: b"empty", ..ConnectOptions::default() }).unwrap();
    // The login's OK was number 2, and the client expects 3: what follows the wrong number.
    client.send_raw(b"\x01\0\0\x02\x0e").unwrap();
    assert_eq!(client.read_packet().unwrap_err().number(), Some(1156));
    assert_eq!(server.end(), End::Read("packet number 2 instead of 0".into()));
}
