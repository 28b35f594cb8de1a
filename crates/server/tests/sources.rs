//! Sources that send what no source does, and replicas that may be none: the receiver says what is
//! wrong, and does not connect again and again without a pause.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, EventOrigin, EventType, FormatDescription, GtidEvent, HeartbeatEvent,
    RotateEvent, XidEvent, append_event,
};
use binlog::gtid::{Gtid, GtidSet};
use common::{Server, start};
use protocol::client::{ConnectOptions, Tls};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a replica may take to say what is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that lets everyone in, and sends each replica the same events.
struct Source {
    port: u16,
    /// How often it was asked for its log.
    requests: Arc<AtomicUsize>,
}

impl Source {
    fn start(events: Vec<Vec<u8>>) -> Source {
        Self::of_version("8.4.8", events)
    }

    fn of_version(version: &'static str, events: Vec<Vec<u8>>) -> Source {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<AtomicUsize>::default();
        let counted = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (events, requests) = (events.clone(), counted.clone());
                // The replica may close the connection at any time.
                std::thread::spawn(move || {
                    Session { stream, number: 0 }.serve(version, &events, &requests).ok()
                });
            }
        });
        Source { port, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// One replica's connection.
struct Session {
    stream: TcpStream,
    /// Of the next packet.
    number: u8,
}

impl Session {
    fn send(&mut self, payload: &[u8]) -> std::io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = self.number;
        self.number = self.number.wrapping_add(1);
        self.stream.write_all(&packet)?;
        self.stream.write_all(payload)
    }

    fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        self.number = head[3].wrapping_add(1);
        let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn answer(&mut self, value: &str) -> std::io::Result<()> {
        const EOF: &[u8] = b"\xfe\0\0\x02\0";
        self.send(b"\x01")?;
        self.send(b"\x03def\0\0\0\x01c\x01c\x0c\x2d\0\0\x04\0\0\xfd\0\0\0\0\0")?;
        self.send(EOF)?;
        self.send(&[&[value.len() as u8], value.as_bytes()].concat())?;
        self.send(EOF)
    }

    fn serve(mut self, version: &str, events: &[Vec<u8>], requests: &AtomicUsize) -> std::io::Result<()> {
        const OK: &[u8] = b"\0\0\0\x02\0\0\0";
        const QUERY: u8 = 3;
        const DUMPS: [u8; 2] = [0x12, 0x1e];
        let greeting: [&[u8]; 7] = [
            b"\x0a",
            version.as_bytes(),
            b"\0\x09\0\0\0abcdefgh\0",
            // Capabilities: those of MySQL 5.7 but for TLS.
            b"\x8f\xa2\x2d\x02\0\x0f\0\x15",
            &[0; 10],
            b"ijklmnopqrst\0",
            b"mysql_native_password\0",
        ];
        self.send(&greeting.concat())?;
        self.receive()?;
        self.send(OK)?;
        loop {
            let command = self.receive()?;
            let sql = String::from_utf8_lossy(&command[1..]).into_owned();
            match command[0] {
                QUERY if sql.contains("SELECT UNIX_TIMESTAMP") => self.answer("1")?,
                QUERY if sql.contains("SELECT @@GLOBAL.SERVER_ID") => self.answer("999")?,
                QUERY if sql.contains("SELECT @@GLOBAL.SERVER_UUID") => {
                    self.answer("11111111-2222-3333-4444-555555555555")?;
                }
                code if DUMPS.contains(&code) => {
                    requests.fetch_add(1, Ordering::Relaxed);
                    for event in events {
                        self.send(&[b"\0", event.as_slice()].concat())?;
                    }
                }
                _ => self.send(OK)?,
            }
        }
    }
}

fn event(of: &impl EncodeEvent, start: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let origin = EventOrigin { server_id: 999, ..EventOrigin::default() };
    append_event(&mut out, of, origin, start, ChecksumAlgorithm::Crc32);
    out
}

/// How a stream begins whose first event is at `position`.
fn beginning(position: u64) -> Vec<Vec<u8>> {
    let rotate = event(&RotateEvent { position, file_name: b"binlog.000001" }, 0);
    vec![rotate, event(&FormatDescription::new("8.4.8", 0), 4)]
}

fn follow(replica: &Server, source: &Source, retry_count: u64) {
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'u',
         SOURCE_PASSWORD = 'p', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1,
         SOURCE_RETRY_COUNT = {retry_count};
         START REPLICA",
        source.port
    ));
}

/// State, error number and message of the receiver.
fn receiver(replica: &Server) -> String {
    replica.sql(
        "SELECT service_state, last_error_number, last_error_message
         FROM performance_schema.replication_connection_status",
    )
}

fn await_receiver(replica: &Server, wanted: &str) {
    let begun = common::now();
    while !receiver(replica).contains(wanted) {
        assert!(common::now() - begun < PATIENCE, "{wanted:?} is not in {:?}", receiver(replica));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The receiver's thread panicked, and nothing but the error log said so.
#[test]
fn a_position_of_more_than_64_bits_stops_the_receiver_by_an_error() {
    let (replica, source) = (start(&["--server-id=2"]), Source::start(beginning(u64::MAX)));
    follow(&replica, &source, 1);
    await_receiver(&replica, "OFF\t1595\t");
    assert!(receiver(&replica).contains("a position of more than 64 bits"), "{}", receiver(&replica));
    assert!(!replica.messages().iter().any(|line| line.contains("panicked")));
}

/// The receiver connected again several times a second, for ever.
#[test]
fn a_source_whose_events_are_unreadable_is_asked_again_after_a_pause_and_not_for_ever() {
    let source = Source::start([beginning(4), vec![vec![b'a'; 18]]].concat());
    let replica = start(&["--server-id=2"]);
    follow(&replica, &source, 3);
    await_receiver(&replica, "OFF\t1595\t");
    assert!(receiver(&replica).contains("This was attempt 3/3"), "{}", receiver(&replica));
    // The first is lost, and three attempts follow.
    assert_eq!(source.requests(), 4);

    replica.sql("STOP REPLICA");
    let before = source.requests();
    follow(&replica, &source, 0);
    await_receiver(&replica, "\t1595\t");
    std::thread::sleep(Duration::from_millis(3500));
    let requests = source.requests() - before;
    assert!((2..=6).contains(&requests), "{requests} requests");
}

/// The receiver connected 270 times a second: what it had already was taken for progress.
#[test]
fn a_source_that_sends_again_what_the_replica_has_is_asked_after_a_pause_and_not_for_ever() {
    let replica = start(&["--server-id=2"]);
    let uuid = "11111111-2222-3333-4444-555555555555";
    replica.sql(&format!("SET GLOBAL gtid_purged = '+{uuid}:1-9'"));
    let executed: GtidSet = format!("{uuid}:7").parse().unwrap();
    let source = *executed.intervals().next().unwrap().0;
    let gtid = GtidEvent {
        may_have_statements: true,
        gtid: Some(Gtid { source, gno: 7 }),
        last_committed: 0,
        sequence_number: 1,
        commit: None,
    };
    let group = vec![event(&gtid, 300), event(&XidEvent(1), 400)];
    for bad in [b'a', 0xff, 0] {
        let source = Source::start([beginning(4), group.clone(), vec![vec![bad; 24]]].concat());
        follow(&replica, &source, 2);
        await_receiver(&replica, "OFF\t1595\t");
        assert!(receiver(&replica).contains("This was attempt 2/2"), "{}", receiver(&replica));
        assert_eq!(source.requests(), 3);
        replica.sql("STOP REPLICA");
    }
}

/// What a source lacks in its log.
struct Incident(&'static str);

impl EncodeEvent for Incident {
    fn event_type(&self) -> EventType {
        EventType::INCIDENT
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[1, 0, self.0.len() as u8]);
        out.extend_from_slice(self.0.as_bytes());
    }
}

#[test]
fn an_incident_of_the_source_stops_the_applier_with_what_it_says() {
    let source = Source::start([beginning(4), vec![event(&Incident("the disk was full"), 300)]].concat());
    let replica = start(&["--server-id=2"]);
    follow(&replica, &source, 1);
    let applier = "SELECT last_error_number, last_error_message
                   FROM performance_schema.replication_applier_status_by_worker";
    let begun = common::now();
    let is_said = |said: &str| {
        let text = "; The incident LOST_EVENTS occurred on the source. Message: the disk was full";
        said.starts_with("1590\t") && said.trim_end().ends_with(text)
    };
    while !is_said(&replica.sql(applier)) {
        assert!(common::now() - begun < PATIENCE, "{}", replica.sql(applier));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// They were asked what they don't know, or sent the password first.
#[test]
fn a_source_of_an_unknown_version_is_refused() {
    let replica = start(&["--server-id=2"]);
    for version in ["3.23.58", "4.1.22-log", "5.0.96", "5.5.68-MariaDB", "5.6.51", "", "garbage", "\n\x07"] {
        let source = Source::of_version(version, beginning(4));
        follow(&replica, &source, 1);
        await_receiver(&replica, "OFF\t13117\t");
        let (said, shown) = (receiver(&replica), version.escape_debug().to_string().replace('\\', "\\\\"));
        assert!(said.contains(&format!("unrecognized MySQL version: '{shown}'")), "{version:?}: {said}");
        assert_eq!(source.requests(), 0);
        replica.sql("STOP REPLICA");
    }
    for version in
        ["5.7.44-log", "8.0.36", "9.7.0", "5.5.5-10.5.29-MariaDB", "10.11.6-MariaDB", "11.8.1-MariaDB"]
    {
        let source = Source::of_version(version, beginning(4));
        follow(&replica, &source, 1);
        let begun = common::now();
        while source.requests() == 0 {
            assert!(common::now() - begun < PATIENCE, "{version}: {}", receiver(&replica));
            std::thread::sleep(Duration::from_millis(20));
        }
        replica.sql("STOP REPLICA");
    }
}

/// A channel without an account is not let in anywhere.
#[test]
fn a_channel_without_a_user_asks_no_source() {
    let (replica, source) = (start(&["--server-id=2"]), Source::start(beginning(4)));
    let port = source.port;
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}; START REPLICA"
    ));
    await_receiver(&replica, "OFF\t13117\tFatal error: Invalid (empty) username");
    assert_eq!(source.requests(), 0);
}

/// The certificate was not looked at where none was named to look at it with, nor, without
/// `SOURCE_SSL_VERIFY_SERVER_CERT`, where one was.
#[test]
fn a_source_proves_who_it_is_as_far_as_the_channel_asks() {
    let (source, replica) = (start(&["--server-id=1"]), start(&["--server-id=2"]));
    source.sql("CREATE USER u IDENTIFIED BY 'p'; GRANT REPLICATION SLAVE ON *.* TO u");
    // It is made on the side.
    source.connect_as(&ConnectOptions { tls: Tls::Unverified, ..ConnectOptions::default() });
    replica.connect_as(&ConnectOptions { tls: Tls::Unverified, ..ConnectOptions::default() });
    let [own, other] = [&source, &replica].map(|server| server.file("ca.pem").display().to_string());
    let (own, other, port) = (own.as_str(), other.as_str(), source.port);
    for (host, ca, verify, refused) in [
        ("127.0.0.1", "", 0, None),
        ("127.0.0.1", "", 1, Some("CA certificate is required if ssl-mode is VERIFY_CA or VERIFY_IDENTITY")),
        ("127.0.0.1", own, 0, None),
        ("127.0.0.1", own, 1, None),
        ("127.0.0.1", other, 0, Some("invalid peer certificate")),
        ("127.0.0.1", other, 1, Some("invalid peer certificate")),
        ("0.0.0.0", own, 0, None),
        ("0.0.0.0", own, 1, Some("invalid peer certificate")),
    ] {
        replica.sql(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{host}', SOURCE_PORT = {port}, SOURCE_USER = 'u',
             SOURCE_PASSWORD = 'p', SOURCE_AUTO_POSITION = 1, SOURCE_RETRY_COUNT = 1, SOURCE_SSL = 1,
             SOURCE_SSL_CA = '{ca}', SOURCE_SSL_VERIFY_SERVER_CERT = {verify};
             START REPLICA",
        ));
        match refused {
            None => await_receiver(&replica, "ON\t0\t"),
            Some(why) => {
                await_receiver(&replica, "OFF\t2026\t");
                let said = receiver(&replica);
                assert!(said.contains(&format!("SSL connection error: {why}")), "{host} {ca}: {said}");
            }
        }
        replica.sql("STOP REPLICA");
    }
    // Nothing is checked where nothing is encrypted; a source without TLS is refused.
    let plain = Source::start(beginning(4));
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {};
         START REPLICA",
        plain.port
    ));
    await_receiver(&replica, "SSL is required but the server doesn't support it");
}

/// A transaction that the replica has already is not sent. Its place stayed behind the source's.
#[test]
fn a_heartbeat_says_how_far_the_replica_is() {
    let heartbeat = HeartbeatEvent { file_name: b"binlog.000001", position: 5000, v2: true };
    let source = Source::start([beginning(4), vec![event(&heartbeat, 0)]].concat());
    let replica = start(&["--server-id=2"]);
    follow(&replica, &source, 1);
    let begun = common::now();
    loop {
        let status = replica.sql("SHOW REPLICA STATUS");
        let columns: Vec<&str> = status.split('\t').collect();
        // Read_Source_Log_Pos and Exec_Source_Log_Pos.
        if [columns[6], columns[21]] == ["5000"; 2] {
            break;
        }
        assert!(common::now() - begun < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A source takes a replica without an id for a program that wants the log up to its end.
#[test]
fn a_server_without_an_id_is_no_replica() {
    let source = Source::start(beginning(4));
    let replica = start(&["--server-id=0"]);
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'u'",
        source.port
    );
    replica.sql(&change);
    assert!(replica.sql_error("START REPLICA").contains("ERROR 1200"));
    // Its channels start by themselves at the next start.
    let datadir = replica.datadir().clone();
    assert!(replica.terminate().0.success());
    let replica = Server::start_in(&datadir, &["--server-id=0"]);
    await_receiver(&replica, "OFF\t1593\tFatal error: a server whose server_id is 0");
    assert_eq!(source.requests(), 0);
}
