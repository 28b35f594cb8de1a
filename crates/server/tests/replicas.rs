//! What replicas send and are sent: who may follow, how they are listed, and what
//! becomes of lost connections.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::{Client, ClientError, ConnectOptions};
use std::sync::Arc;
use std::time::Duration;

const UUID: &str = "11111111-2222-3333-4444-555555555555";

fn prepare() -> Server {
    let server = start(&[]);
    server.sql(
        "CREATE USER follower@localhost, other@localhost;
         GRANT REPLICATION SLAVE ON *.* TO follower@localhost;
         CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1);",
    );
    server
}

/// A session that has said what MySQL's replicas say first.
fn follower(server: &Server, user: &str, uuid: &str) -> Client {
    let mut client =
        server.connect_as(&ConnectOptions { user: user.as_bytes(), ..ConnectOptions::default() });
    for sql in [
        "SET @source_binlog_checksum = @@GLOBAL.binlog_checksum".to_owned(),
        "SET @source_heartbeat_period = 100000000".to_owned(),
        format!("SET @replica_uuid = '{uuid}', @slave_uuid = '{uuid}'"),
    ] {
        client.query(sql).unwrap();
    }
    client
}

/// A follower that has been sent the first of the log.
fn streaming(server: &Server, uuid: &str) -> Client {
    let mut client = follower(server, "follower", uuid);
    client.send_command(&dump(0, 7)).unwrap();
    client.read_packet().unwrap();
    client
}

/// COM_REGISTER_SLAVE
fn register(server_id: u32, host: &str, port: u16) -> Vec<u8> {
    let mut packet = vec![0x15];
    packet.extend_from_slice(&server_id.to_le_bytes());
    packet.push(u8::try_from(host.len()).unwrap());
    packet.extend_from_slice(host.as_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(&port.to_le_bytes());
    packet.extend_from_slice(&[0; 8]);
    packet
}

/// COM_BINLOG_DUMP_GTID of a replica that has nothing.
fn dump(flags: u16, server_id: u32) -> Vec<u8> {
    let mut packet = vec![0x1e];
    packet.extend_from_slice(&flags.to_le_bytes());
    packet.extend_from_slice(&server_id.to_le_bytes());
    packet.extend_from_slice(&0_u32.to_le_bytes());
    packet.extend_from_slice(&4_u64.to_le_bytes());
    packet.extend_from_slice(&8_u32.to_le_bytes());
    packet.extend_from_slice(&[0; 8]);
    packet
}

/// Reads the stream until it ends; how many events there were, and how it ended: `None` by EOF.
fn read_all(client: &mut Client) -> (usize, Option<ClientError>) {
    let mut events = 0;
    loop {
        match client.read_packet() {
            Ok([0, ..]) => events += 1,
            Ok(_) => return (events, None),
            Err(e) => return (events, Some(e)),
        }
    }
}

#[test]
fn replication_slave_is_what_a_follower_needs() {
    let server = prepare();
    let mut allowed = follower(&server, "follower", UUID);
    allowed.command(&register(7, "there", 3307)).unwrap();
    allowed.send_command(&dump(1, 7)).unwrap();
    let (events, error) = read_all(&mut allowed);
    assert!(events > 10 && error.is_none(), "{events} {error:?}");
    assert!(allowed.query("SELECT * FROM d.t").is_err(), "it may do nothing else");
    let mut refused = follower(&server, "other", UUID);
    assert_eq!(refused.command(&register(7, "there", 3307)).unwrap_err().number(), Some(1227));
    refused.send_command(&dump(1, 7)).unwrap();
    assert_eq!(refused.read_packet().unwrap_err().number(), Some(1227));
}

#[test]
fn replicas_are_listed_while_they_are_connected() {
    let server = prepare();
    let mut one = follower(&server, "follower", UUID);
    one.command(&register(7, "there", 3307)).unwrap();
    assert_eq!(server.sql("SHOW REPLICAS").trim(), format!("7\tthere\t3307\t1\t{UUID}"));
    one.send_command(&dump(0, 7)).unwrap();
    one.read_packet().unwrap();
    assert!(server.sql("SHOW PROCESSLIST").contains("\tBinlog Dump GTID\t"));
    drop(one);
    let begun = common::now();
    while !server.sql("SHOW REPLICAS").trim().is_empty() {
        assert!(common::now() - begun < Duration::from_secs(10), "its connection has ended");
    }
}

#[test]
fn a_replica_that_comes_again_takes_its_place() {
    let server = prepare();
    let mut first = streaming(&server, UUID);
    let mut another = streaming(&server, "");
    let mut second = streaming(&server, UUID);
    let (_, error) = read_all(&mut first);
    let error = error.unwrap();
    assert_eq!(error.number(), Some(1236));
    assert!(error.to_string().starts_with("A replica with the same server_uuid/server_id"), "{error}");
    // The others are sent on.
    for client in [&mut second, &mut another] {
        assert_eq!(client.read_packet().unwrap()[0], 0);
    }
}

/// Error 1236 would be the last word to a replica; a lost connection is made again.
#[test]
fn a_stream_is_cut_by_kill_and_by_a_shutdown() {
    let server = prepare();
    let mut killed = streaming(&server, UUID);
    server.sql(&format!("KILL {}", killed.connection_id));
    let mut stopped = streaming(&server, UUID);
    assert!(server.terminate().0.success());
    for client in [&mut killed, &mut stopped] {
        let (_, error) = read_all(client);
        assert!(matches!(error, Some(ClientError::Read(_))), "{error:?}");
    }
}

/// Transaction 1 of the new log is not the one that the replica has.
#[test]
fn a_stream_ends_when_the_log_begins_anew() {
    let server = prepare();
    let mut client = streaming(&server, UUID);
    server.sql("RESET BINARY LOGS AND GTIDS; INSERT INTO d.t VALUES (2)");
    let (_, error) = read_all(&mut client);
    let error = error.unwrap();
    assert_eq!(error.number(), Some(1236));
    assert!(
        error.to_string().contains("could not find next log; the first event 'binlog.000001' at 4"),
        "{error}"
    );
}

/// A replica's client library makes a lost connection again by itself, between what the replica
/// says and its request. A MariaDB replica stopped with error 1236 so, in one of hundreds of lost
/// connections, and with 1193 where it was about to ask for a variable.
#[test]
fn a_replica_that_lost_what_it_said_is_let_come_again() {
    let server = prepare();
    let mysql: &[(&[u8], &[u8])] =
        &[(b"_client_name", b"libmysql"), (b"_client_role", b"binary_log_listener")];
    let mariadb: &[(&[u8], &[u8])] = &[(b"_client_name", b"libmysql"), (b"_server_host", b"127.0.0.1")];
    let program: &[(&[u8], &[u8])] = &[(b"_client_name", b"libmysql"), (b"program_name", b"reader")];
    let connect = |attributes| {
        let user = b"follower";
        server.connect_as(&ConnectOptions { user, attributes, ..ConnectOptions::default() })
    };
    for attributes in [mysql, mariadb] {
        let mut replica = connect(attributes);
        replica.query("SET @slave_connect_state = ''").unwrap();
        let domain = replica.query("SELECT @@GLOBAL.gtid_domain_id").unwrap();
        assert_eq!(domain.rows, [[Some(b"0".to_vec())]]);
        replica.send_command(&dump(0, 7)).unwrap();
        let (events, error) = read_all(&mut replica);
        assert_eq!(events, 0);
        assert!(matches!(error, Some(ClientError::Read(_))), "{error:?}");
    }
    // A program that does not reconnect by itself gets the error.
    let mut reader = connect(program);
    assert_eq!(reader.query("SELECT @@GLOBAL.gtid_domain_id").unwrap_err().number(), Some(1193));
    reader.send_command(&dump(0, 7)).unwrap();
    let error = read_all(&mut reader).1.unwrap();
    assert_eq!(error.number(), Some(1236), "{error}");
    assert!(error.to_string().contains("the checksum that source is configured to log"), "{error}");
}

/// At sync_binlog=0 nobody waits for the disk, and a follower is sent only what is on it: it
/// depends on a flush of the server's own. The files are in memory, which the system never writes
/// back.
#[test]
fn a_follower_has_what_nobody_flushed_for_within_a_second() {
    const COMMITS: usize = 50;
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let small = ["--binlog-prealloc-num=0", "--max-binlog-size=1M"];
    let lazy = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"];
    let server = Server::start_in(&Arc::new(memory), &[small, lazy].concat());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    let mut replica = follower(&server, "root", UUID);
    replica.send_command(&dump(0, 7)).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        const XID: u8 = 16;
        while let Ok(packet) = replica.read_packet() {
            if packet.get(5) == Some(&XID) && sender.send(common::now()).is_err() {
                return;
            }
        }
    });
    let mut client = server.connect();
    let mut delays = Vec::new();
    for a in 0..COMMITS {
        client.query(format!("INSERT INTO d.t VALUES ({a})")).unwrap();
        let committed = common::now();
        let received =
            receiver.recv_timeout(Duration::from_secs(1)).expect("a follower has it within a second");
        delays.push(received.saturating_sub(committed));
    }
    delays.sort();
    println!("behind the commit: median {:?}, longest {:?}", delays[COMMITS / 2], delays[COMMITS - 1]);
    drop((receiver, server));
    reader.join().unwrap();
}
