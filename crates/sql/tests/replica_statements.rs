//! Definitions, accounts and administration as servers log them: each text that a source may send
//! is applied, is logged without effect, or stops the applier with an error that says why. The
//! tables of texts are in `replica_statements/`; they were taken from the logs of MySQL 9.7 and
//! MariaDB 10.11, and from what older ones are known to log.
#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use binlog::LogPosition;
use binlog::event::{
    ChecksumAlgorithm, Decoder, EncodeEvent, Event, EventOrigin, FormatDescription, MariadbGtid,
    MariadbGtidEvent, QueryEvent, StatusVars, append_event, decode_format_description,
};
use common::{Server, rows, run};
use sql::replica::{Applier, Channel, ReceivedEvent, SourceConfig};

/// An event of the source.
fn received(event: &impl EncodeEvent, end: u64) -> Arc<ReceivedEvent> {
    let mut bytes = Vec::new();
    let origin = EventOrigin { timestamp: 1_700_000_000, server_id: 9, flags: 0 };
    append_event(&mut bytes, event, origin, end, ChecksumAlgorithm::Crc32);
    Arc::new(ReceivedEvent { bytes, file: "binlog.000001".into(), end })
}

/// The statements behind `from` in the server's own log.
fn logged(server: &Server, from: LogPosition) -> Vec<String> {
    let log = server.instance.log();
    let first = log.files().first().unwrap().number;
    let mut reader = log.reader(LogPosition::new(first, 0)).unwrap();
    let mut decoder = None;
    let mut texts = Vec::new();
    while let Some(event) = reader.next(Duration::ZERO).unwrap() {
        let decoder =
            decoder.get_or_insert_with(|| Decoder::new(decode_format_description(event.bytes).unwrap()));
        let (_, decoded) = decoder.decode(event.bytes).unwrap();
        if let Event::Query(query) = decoded
            && event.end() > from
            && !matches!(&*query.sql, b"BEGIN" | b"COMMIT")
        {
            texts.push(String::from_utf8_lossy(&query.sql).into_owned());
        }
    }
    texts
}

struct Source {
    version: &'static str,
    sql_mode: u64,
}

/// A statement of the source's log.
fn query<'a>(source: &Source, sql: &'a str) -> QueryEvent<'a> {
    QueryEvent {
        thread_id: 7,
        exec_time: 0,
        error_code: 0,
        status: StatusVars {
            flags2: Some(0),
            sql_mode: Some(source.sql_mode),
            charset: Some([33, 33, 255]),
            ..StatusVars::default()
        },
        database: b"st".as_slice().into(),
        sql: sql.as_bytes().into(),
        suppress_use: false,
    }
}

/// What becomes of a statement.
fn outcome(server: &Server, source: &Source, sql: &str) -> String {
    let config = SourceConfig { host: "source".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", config));
    channel.with(|state| state.applier.wanted = true);
    let mut applier = Applier::new(&server.instance, &channel).unwrap();
    let query = query(source, sql);
    let before = server.instance.log().visible();
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    // Its rows would follow, in a transaction.
    let has_rows = sql.ends_with("START TRANSACTION");
    let end = |sql: &'static str| QueryEvent { sql: sql.as_bytes().into(), ..query.clone() };
    if has_rows {
        applier.apply(&received(&end("BEGIN"), 100)).unwrap();
    }
    let applied = applier.apply(&received(&query, 200));
    if has_rows {
        applier.apply(&received(&end("COMMIT"), 300)).unwrap();
    }
    applier.finish().unwrap();
    match applied {
        Err(e) => format!("stops {}", e.number),
        Ok(_) if logged(server, before).is_empty() => "no effect".to_owned(),
        Ok(_) => "applied".to_owned(),
    }
}

/// Each line with the outcome that it has.
fn outcomes(table: &str, source: &Source) -> String {
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    let mut out = String::new();
    for line in table.lines() {
        match line.split_once(": ") {
            Some((_, sql)) if !line.starts_with('#') => {
                writeln!(out, "{}: {sql}", outcome(&server, source, sql)).unwrap();
            }
            _ => writeln!(out, "{line}").unwrap(),
        }
    }
    // It all starts again.
    server.restart();
    out
}

fn check(table: &str, source: &Source) {
    let found = outcomes(table, source);
    let differing: Vec<String> = table
        .lines()
        .zip(found.lines())
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("expected {expected}\n   found {found}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn statements_of_mysql() {
    let source = Source { version: "9.7.4", sql_mode: 0x45a0_0020 };
    check(include_str!("replica_statements/mysql.txt"), &source);
}

#[test]
fn statements_of_mariadb() {
    let source = Source { version: "10.11.19-MariaDB-log", sql_mode: 0x5420_0000 };
    check(include_str!("replica_statements/mariadb.txt"), &source);
}

/// A transaction of MariaDB whose BEGIN stands in its GTID event, and which has statements: of one
/// that was to be skipped, or was there already, the second statement was applied.
#[test]
fn a_transaction_of_statements_is_skipped_as_a_whole() {
    let source = Source { version: "10.11.19-MariaDB-log", sql_mode: 0 };
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    run(&mut server.session(), "CREATE TABLE st.t (a INT)").unwrap();
    let gtid = |sequence| MariadbGtidEvent {
        gtid: MariadbGtid { domain_id: 0, server_id: 9, sequence },
        flags: 0,
        commit_id: None,
        xid: None,
        extra_flags: 0,
    };
    let config = SourceConfig { host: "source".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", config));
    channel.with(|state| (state.applier.wanted, state.skip) = (true, 1));
    let mut applier = Applier::new(&server.instance, &channel).unwrap();
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    // The last one comes twice, as after a broken connection.
    for (number, sequence) in [1, 2, 2].into_iter().enumerate() {
        let end = 1000 * (number as u64 + 1);
        applier.apply(&received(&gtid(sequence), end)).unwrap();
        for value in [1, 2] {
            let sql = format!("INSERT INTO t VALUES ({})", sequence * 10 + value);
            applier.apply(&received(&query(&source, &sql), end + value)).unwrap();
        }
        applier.apply(&received(&query(&source, "COMMIT"), end + 3)).unwrap();
    }
    applier.finish().unwrap();
    assert_eq!(rows(&mut server.session(), "SELECT a FROM st.t"), [["21"], ["22"]]);
}
