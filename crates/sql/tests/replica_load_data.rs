//! LOAD DATA that a source logged as a statement, with its file in blocks: recorded from MySQL 9.7
//! and MariaDB 10.11 (`load_data/load.sql`, with `binlog_format=STATEMENT`), and made here.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use binlog::event::{
    ChecksumAlgorithm, EncodeEvent, EventHeader, EventOrigin, FormatDescription, LoadBlockEvent,
    LoadDeleteEvent, LoadDuplicates, LoadQueryEvent, MAGIC, QueryEvent, StatusVars, XidEvent, append_event,
};
use common::{Server, rows, run, value};
use env::Env;
use sql::replica::{Applier, ApplyError, Channel, ReceivedEvent, SourceConfig};

fn channel() -> Arc<Channel> {
    let source = SourceConfig { host: "source".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", source));
    channel.with(|state| state.applier.wanted = true);
    channel
}

/// A log file's events.
fn events_of(log: &[u8]) -> Vec<Arc<ReceivedEvent>> {
    let mut at = MAGIC.len();
    let mut events = Vec::new();
    while at < log.len() {
        let length = EventHeader::decode(&log[at..]).unwrap().event_length as usize;
        let bytes = log[at..at + length].to_vec();
        at += length;
        events.push(Arc::new(ReceivedEvent { bytes, file: "binlog.000001".into(), end: at as u64 }));
    }
    events
}

fn apply(server: &Server, events: &[Arc<ReceivedEvent>]) -> Result<(), ApplyError> {
    let mut applier = Applier::new(&server.instance, &channel()).unwrap();
    let outcome = events.iter().try_for_each(|event| applier.apply(event).map(|_| ()));
    applier.finish().unwrap();
    outcome
}

#[test]
fn recorded_files_are_loaded() {
    let logs: [&[u8]; 2] =
        [include_bytes!("load_data/mysql97.binlog"), include_bytes!("load_data/mariadb1011.binlog")];
    for log in logs {
        let server = Server::new(1);
        // A MariaDB's is not run without being told to.
        run(&mut server.session(), "SET GLOBAL duramen_replica_statements = ALL").unwrap();
        apply(&server, &events_of(log)).unwrap();
        // As the recording servers had it.
        let expected = ["61,1,6", "7A,2,NULL", "63,3,NULL", "636166C3A9,10,NULL", "61,31,1", "62,32,1"];
        let check = |server: &Server| {
            let all = rows(&mut server.session(), "SELECT HEX(s), n, m FROM ld.t ORDER BY n");
            assert_eq!(all.iter().map(|row| row.join(",")).collect::<Vec<_>>(), expected);
        };
        check(&server);
        check(&server.power_cut());
    }
}

/// A log of events made here, from one server.
struct Log {
    bytes: Vec<u8>,
}

impl Log {
    fn new() -> Self {
        let mut log = Self { bytes: MAGIC.to_vec() };
        let format = FormatDescription::new("8.0.40", 0);
        log.add(&format);
        log
    }

    fn add(&mut self, event: &impl EncodeEvent) {
        let start = self.bytes.len() as u64;
        let origin = EventOrigin { timestamp: 1_700_000_000, server_id: 9, flags: 0 };
        append_event(&mut self.bytes, event, origin, start, ChecksumAlgorithm::Crc32);
    }

    fn query(sql: &str) -> QueryEvent<'_> {
        QueryEvent {
            thread_id: 7,
            exec_time: 0,
            error_code: 0,
            status: StatusVars::default(),
            database: b"d".as_slice().into(),
            sql: sql.as_bytes().into(),
            suppress_use: false,
        }
    }

    /// A file in blocks, and LOAD DATA of it.
    fn load<'a>(&mut self, blocks: impl IntoIterator<Item = &'a [u8]>, duplicates: LoadDuplicates) {
        self.add(&Self::query("BEGIN"));
        for (number, block) in blocks.into_iter().enumerate() {
            self.add(&LoadBlockEvent { begins: number == 0, file_id: 4, block });
        }
        self.load_query(4, duplicates);
        self.add(&XidEvent(1));
    }

    fn load_query(&mut self, file_id: u32, duplicates: LoadDuplicates) {
        let query = Self::query("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t");
        self.add(&LoadQueryEvent { query, file_id, file_part: 9..41, duplicates });
    }
}

fn server() -> Server {
    let server = Server::new(3);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "CREATE TABLE d.t (n INT PRIMARY KEY, s VARCHAR(200))").unwrap();
    server
}

/// Files that the server has made for what is too large for memory.
fn temporary_files(server: &Server) -> usize {
    let folders = server.env.read_dir(std::path::Path::new("/data")).unwrap();
    let files = |folder: &std::path::PathBuf| server.env.read_dir(folder).unwrap_or_default();
    let is_temporary = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "tmp");
    folders.iter().flat_map(files).filter(is_temporary).count()
}

#[test]
fn a_large_file_waits_on_disk() {
    let server = server();
    let text: String = (0..20_000).map(|n| format!("{n}\t{}\n", "x".repeat(n % 100))).collect();
    let mut log = Log::new();
    log.load(text.as_bytes().chunks(100_000), LoadDuplicates::Error);
    let events = events_of(&log.bytes);
    let (statement, blocks) = (events.len() - 2, events.len() - 3);
    let mut applier = Applier::new(&server.instance, &channel()).unwrap();
    for event in &events[..blocks] {
        applier.apply(event).unwrap();
    }
    assert_eq!(temporary_files(&server), 1);
    for event in &events[blocks..] {
        applier.apply(event).unwrap();
    }
    applier.finish().unwrap();
    assert!(statement > blocks);
    assert_eq!(temporary_files(&server), 0);
    let shown =
        value(&mut server.session(), "SELECT CONCAT(COUNT(*), ' ', SUM(n), ' ', SUM(LENGTH(s))) FROM d.t");
    assert_eq!(shown, "20000 199990000 990000");
}

#[test]
fn rows_that_are_there_are_an_error_or_are_replaced() {
    let server = server();
    run(&mut server.session(), "INSERT INTO d.t VALUES (1, 'old')").unwrap();
    let outcome = |duplicates| {
        let mut log = Log::new();
        log.load([b"1\tne".as_slice(), b"w\n2\ttwo\n"], duplicates);
        let outcome = apply(&server, &events_of(&log.bytes));
        (outcome.map_err(|e| e.number), value(&mut server.session(), "SELECT GROUP_CONCAT(s) FROM d.t"))
    };
    assert_eq!(outcome(LoadDuplicates::Error), (Err(1062), "old".into()));
    assert_eq!(outcome(LoadDuplicates::Ignore), (Ok(()), "old,two".into()));
    assert_eq!(outcome(LoadDuplicates::Replace), (Ok(()), "new,two".into()));
}

#[test]
fn a_statement_without_its_file_stops_the_applier() {
    let server = server();
    let mut log = Log::new();
    log.add(&Log::query("BEGIN"));
    log.load_query(4, LoadDuplicates::Error);
    assert_eq!(apply(&server, &events_of(&log.bytes)).unwrap_err().number, 1594);
    // Of another file, or one that is gone.
    for deleted in [false, true] {
        let mut log = Log::new();
        log.add(&Log::query("BEGIN"));
        log.add(&LoadBlockEvent { begins: true, file_id: 4, block: b"1\ta\n" });
        if deleted {
            log.add(&LoadDeleteEvent { file_id: 4 });
        }
        log.load_query(if deleted { 4 } else { 5 }, LoadDuplicates::Error);
        assert_eq!(apply(&server, &events_of(&log.bytes)).unwrap_err().number, 1594);
    }
    let mut log = Log::new();
    log.add(&Log::query("BEGIN"));
    log.add(&LoadBlockEvent { begins: false, file_id: 4, block: b"1\ta\n" });
    assert_eq!(apply(&server, &events_of(&log.bytes)).unwrap_err().number, 1594);
    assert_eq!(value(&mut server.session(), "SELECT COUNT(*) FROM d.t"), "0");
}
