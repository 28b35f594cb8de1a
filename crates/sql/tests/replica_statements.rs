//! Definitions, accounts and administration as servers log them: each text that a source may send
//! is applied, is logged without effect, or stops the applier with an error that says why. The
//! tables of texts are in `replica_statements/`; they were taken from the logs of MySQL 9.7 and
//! MariaDB 10.11, and from what older ones are known to log.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "replica_statements/portable.rs"]
mod portable;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use binlog::LogPosition;
use binlog::event::{
    ChecksumAlgorithm, Decoder, EncodeEvent, Event, EventOrigin, EventType, FormatDescription,
    MariadbAnnotateRowsEvent, MariadbGtid, MariadbGtidEvent, OptionalMetadata, QueryEvent, RowsData,
    RowsEvent, RowsKind, StatusVars, TableMapEvent, append_event, decode_format_description, rows_flags,
};
use binlog::row::{ColumnType, code};
use common::{Server, log_of, rows, run};
use sql::SqlError;
use sql::replica::{Applier, ApplyError, Channel, ReceivedEvent, SourceConfig};

/// An event of the source.
fn received(event: &impl EncodeEvent, end: u64) -> Arc<ReceivedEvent> {
    received_at(1_700_000_000, event, end)
}

fn received_at(timestamp: u32, event: &impl EncodeEvent, end: u64) -> Arc<ReceivedEvent> {
    let mut bytes = Vec::new();
    let origin = EventOrigin { timestamp, server_id: 9, flags: 0 };
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

fn applier(server: &Server) -> Applier {
    let config = SourceConfig { host: "source".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", config));
    channel.with(|state| state.applier.wanted = true);
    Applier::new(&server.instance, &channel).unwrap()
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
    let mut applier = applier(server);
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

/// Applies statements, and shows the columns of each table that they define, with NULL or NOT NULL
/// and their defaults, in one line.
fn columns_after(source: &Source, statements: &[&str], say: impl Fn(&mut StatusVars<'_>)) -> Vec<String> {
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    let mut applier = applier(&server);
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    for sql in statements {
        let mut query = query(source, sql);
        say(&mut query.status);
        applier.apply(&received(&query, 200)).unwrap();
    }
    applier.finish().unwrap();
    // The log says it, too.
    let server = server.restart();
    let columns = "SELECT table_name, GROUP_CONCAT(CONCAT_WS(' ', column_name, IF(is_nullable = 'NO', 'NOT NULL', 'NULL'),
        column_default, NULLIF(extra, '')) ORDER BY ordinal_position SEPARATOR ', ')
        FROM information_schema.columns WHERE table_schema = 'st' AND table_name <> 'n' GROUP BY 1 ORDER BY 1";
    rows(&mut server.session(), columns).iter().map(|row| row.join(": ")).collect()
}

/// `explicit_defaults_for_timestamp` of the source's session. The definitions are what MySQL 9.7
/// and MariaDB 10.11 make of these statements.
#[test]
fn timestamps_without_a_default_are_as_the_source_has_them() {
    const STATEMENTS: [&str; 6] = [
        "CREATE TABLE a (a TIMESTAMP, b TIMESTAMP, c TIMESTAMP NULL, d TIMESTAMP(3) DEFAULT '2020-01-01')",
        "CREATE TABLE b (c TIMESTAMP NULL, a TIMESTAMP, b TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
        "CREATE TABLE c (c TIMESTAMP DEFAULT CURRENT_TIMESTAMP, a TIMESTAMP(2) NOT NULL)",
        "CREATE TABLE d (y TIMESTAMP(1), z TIMESTAMP, UNIQUE KEY (z))",
        "ALTER TABLE b ADD d TIMESTAMP, MODIFY a TIMESTAMP NULL",
        "ALTER TABLE d ADD a TIMESTAMP FIRST",
    ];
    const OFF: [&str; 4] = [
        "a: a NOT NULL CURRENT_TIMESTAMP DEFAULT_GENERATED on update CURRENT_TIMESTAMP, \
         b NOT NULL 0000-00-00 00:00:00, c NULL, d NOT NULL 2020-01-01 00:00:00.000",
        "b: c NULL, a NULL, b NOT NULL 0000-00-00 00:00:00 on update CURRENT_TIMESTAMP, \
         d NOT NULL 0000-00-00 00:00:00",
        "c: c NOT NULL CURRENT_TIMESTAMP DEFAULT_GENERATED, a NOT NULL 0000-00-00 00:00:00.00",
        "d: a NOT NULL CURRENT_TIMESTAMP DEFAULT_GENERATED on update CURRENT_TIMESTAMP, \
         y NOT NULL CURRENT_TIMESTAMP(1) DEFAULT_GENERATED on update CURRENT_TIMESTAMP(1), \
         z NOT NULL 0000-00-00 00:00:00",
    ];
    const ON: [&str; 4] = [
        "a: a NULL, b NULL, c NULL, d NULL 2020-01-01 00:00:00.000",
        "b: c NULL, a NULL, b NULL on update CURRENT_TIMESTAMP, d NULL",
        "c: c NULL CURRENT_TIMESTAMP DEFAULT_GENERATED, a NOT NULL",
        "d: a NULL, y NULL, z NULL",
    ];
    let check = |version, explicit, flags2, expected: &[&str]| {
        let source = Source { version, sql_mode: 0 };
        let found = columns_after(&source, &STATEMENTS, |status| {
            status.explicit_defaults_for_timestamp = explicit;
            status.flags2 = Some(flags2);
        });
        assert_eq!(found, expected, "{version} {explicit:?}");
    };
    check("9.7.4", Some(false), 0, &OFF);
    check("9.7.4", Some(true), 0, &ON);
    check("9.7.4", None, 0, &ON);
    check("5.7.44-log", None, 0, &OFF);
    check("10.11.19-MariaDB-log", None, 0, &OFF);
    check("10.11.19-MariaDB-log", None, 1 << 24, &ON);
}

/// A MariaDB's generated TIMESTAMP column may be NULL, whatever `explicit_defaults_for_timestamp`
/// is; it was NOT NULL here.
#[test]
fn a_generated_timestamp_of_a_mariadb_without_explicit_defaults_stops() {
    let sql = "CREATE TABLE t (d DATETIME, g TIMESTAMP AS (d) STORED)";
    for (flags2, expected) in [(0, Err(1235)), (1 << 24, Ok(()))] {
        let mut sessions = Sessions::new("10.11.19-MariaDB-log");
        sessions.flags2 = flags2;
        assert_eq!(sessions.say(1, sql), expected);
    }
}

/// NULL is the moment then, in statements too.
#[test]
fn null_is_now_where_the_source_has_it_so() {
    let source = Source { version: "9.7.4", sql_mode: 0 };
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    let mut applier = applier(&server);
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    for sql in [
        "CREATE TABLE n (id INT PRIMARY KEY, a TIMESTAMP, b TIMESTAMP)",
        "INSERT INTO n VALUES (1, NULL, NULL), (2, NULL, '2020-01-01'), (3, '2020-01-01', NULL)",
        "UPDATE n SET b = NULL WHERE id = 2",
        "INSERT INTO n VALUES (3, NULL, NULL) ON DUPLICATE KEY UPDATE a = NULL",
    ] {
        let mut query = query(&source, sql);
        query.status.explicit_defaults_for_timestamp = Some(false);
        query.status.time_zone = Some(b"+00:00".as_slice().into());
        applier.apply(&received(&query, 200)).unwrap();
    }
    applier.finish().unwrap();
    let now = "2023-11-14 22:13:20";
    let mut session = server.session();
    run(&mut session, "SET time_zone = '+00:00'").unwrap();
    let expected = [1, 2, 3].map(|id| vec![id.to_string(), now.to_owned(), now.to_owned()]);
    assert_eq!(rows(&mut session, "SELECT * FROM st.n"), expected);
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

/// Which numbers of a series rows get where a column of numbers is added depends on how the source
/// alters the table, which its log does not say.
#[test]
fn numbers_of_a_series_that_alter_table_gives_stop() {
    let source = Source { version: "9.7.4", sql_mode: 0 };
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    let mut applier = applier(&server);
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    let mut apply = |sql: &str, auto_increment| {
        let mut query = query(&source, sql);
        query.status.auto_increment = auto_increment;
        applier.apply(&received(&query, 200)).map(drop).map_err(|e| (e.number, e.message))
    };
    for sql in ["CREATE TABLE e (x INT)", "CREATE TABLE f (x INT)", "INSERT INTO f VALUES (7)"] {
        apply(sql, None).unwrap();
    }
    let add = |table| format!("ALTER TABLE {table} ADD id INT AUTO_INCREMENT PRIMARY KEY");
    apply(&add("e"), Some((10, 3))).unwrap();
    let (number, message) = apply(&add("f"), Some((10, 3))).unwrap_err();
    assert_eq!(number, 1235);
    assert!(message.contains("with auto_increment_increment = 10"), "{message}");
}

/// What a MariaDB logs of a REPLACE with binlog_row_image = MINIMAL lacks the columns that got
/// their defaults; an UPDATE may look the same.
#[test]
fn a_replace_without_its_defaults_stops() {
    let source = Source { version: "10.11.19-MariaDB-log", sql_mode: 0 };
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    run(&mut server.session(), "CREATE TABLE st.t (id INT PRIMARY KEY, a INT DEFAULT 5, b INT)").unwrap();
    run(&mut server.session(), "INSERT INTO st.t VALUES (1, 7, 1)").unwrap();
    let int = ColumnType::new(code::LONG, 0);
    let map = TableMapEvent {
        table_id: 9,
        flags: 1,
        database: b"st".to_vec(),
        table: b"t".to_vec(),
        columns: vec![int; 3],
        nullable: vec![0b110],
        metadata: OptionalMetadata::default(),
    };
    let images = |b: i32| [&[0, 1, 0, 0, 0, 0, 1, 0, 0, 0][..], &b.to_le_bytes()].concat();
    let update = |images: &[u8], present_after: &[u8], statement: &[u8]| {
        let rows = RowsEvent {
            kind: RowsKind::Update,
            event_type: EventType::UPDATE_ROWS_V1,
            table_id: map.table_id,
            flags: rows_flags::STMT_END,
            extra: &[],
            columns: 3,
            present: &[0b001],
            present_after,
            rows: RowsData::Plain(images),
        };
        let mut applier = applier(&server);
        applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
        applier.apply(&received(&query(&source, "BEGIN"), 100)).unwrap();
        if !statement.is_empty() {
            applier.apply(&received(&MariadbAnnotateRowsEvent { sql: statement }, 200)).unwrap();
        }
        applier.apply(&received(&map, 300)).unwrap();
        let outcome = applier.apply(&received(&rows, 400));
        if outcome.is_ok() {
            applier.apply(&received(&query(&source, "COMMIT"), 500)).unwrap();
        }
        applier.finish().unwrap();
        outcome.map(|_| rows_of(&server)).map_err(|e| (e.number, e.message))
    };
    const WITH_KEY: &[u8] = &[0b101];
    for statement in ["REPLACE INTO t (id, b) VALUES (1, 2)", "CALL p()", ""] {
        let (number, message) = update(&images(2), WITH_KEY, statement.as_bytes()).unwrap_err();
        assert_eq!(number, 1235, "{statement}");
        assert!(message.contains("an update of st.t that may be a MariaDB's REPLACE"), "{message}");
    }
    let changed = update(&images(3), WITH_KEY, b"UPDATE t SET id = 1, b = 3").unwrap();
    assert_eq!(changed, [["1", "7", "3"]]);
    // Without the key's columns it is an update whoever wrote it.
    let without_key = [&[0, 1, 0, 0, 0, 0][..], &4_i32.to_le_bytes()].concat();
    assert_eq!(update(&without_key, &[0b100], b"CALL p()").unwrap(), [["1", "7", "4"]]);
}

fn rows_of(server: &Server) -> Vec<Vec<String>> {
    rows(&mut server.session(), "SELECT * FROM st.t")
}

/// A text in a character set or time zone that is not known here would mean something else: it was
/// read as UTF-8, which gave a database another name, and in UTC.
#[test]
fn unknown_settings_stop_the_applier() {
    let source = Source { version: "9.7.4", sql_mode: 0 };
    let server = Server::new(1);
    let mut applier = applier(&server);
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    const GBK: u16 = 28;
    const UTF8: u16 = 255;
    for (charset, expected) in [([GBK, UTF8, UTF8], 1115), ([UTF8, GBK, UTF8], 1115), ([UTF8; 3], 0)] {
        let mut query = query(&source, "CREATE DATABASE `é`");
        query.status.charset = Some(charset);
        let number = applier.apply(&received(&query, 200)).map_or_else(|e| e.number, |_| 0);
        assert_eq!(number, expected, "{charset:?}");
    }
    let mut query = query(&source, "CREATE TABLE é.t (t TIMESTAMP DEFAULT '2020-01-01')");
    query.status.charset = Some([UTF8; 3]);
    query.status.time_zone = Some(b"Atlantis/Capital".as_slice().into());
    assert_eq!(applier.apply(&received(&query, 200)).unwrap_err().number, 1298);
    applier.finish().unwrap();
}

/// An applier, and what the source's sessions say to it.
struct Sessions {
    server: Server,
    source: Source,
    channel: Arc<Channel>,
    applier: Option<Applier>,
    flags2: u32,
}

impl Sessions {
    fn new(version: &'static str) -> Self {
        let server = Server::new(1);
        run(&mut server.session(), "CREATE DATABASE st").unwrap();
        let channel = Arc::new(Channel::new("", SourceConfig::default()));
        channel.with(|state| state.applier.wanted = true);
        let mut sessions =
            Self { server, source: Source { version, sql_mode: 0 }, channel, applier: None, flags2: 0 };
        sessions.start(77);
        sessions
    }

    /// STOP and START REPLICA, after which the source's file comes again.
    fn start(&mut self, source_started: u32) {
        if let Some(applier) = self.applier.take() {
            applier.finish().unwrap();
        }
        self.applier = Some(Applier::new(&self.server.instance, &self.channel).unwrap());
        self.file_begins(source_started);
    }

    fn file_begins(&mut self, source_started: u32) {
        let format = FormatDescription::new(self.source.version, source_started);
        self.applier.as_mut().unwrap().apply(&received(&format, 0)).unwrap();
    }

    fn say(&mut self, session: u32, sql: &str) -> Result<(), u16> {
        self.try_say(session, sql).map_err(|e| e.number)
    }

    fn try_say(&mut self, session: u32, sql: &str) -> Result<(), ApplyError> {
        let mut query = QueryEvent { thread_id: session, ..query(&self.source, sql) };
        query.status.flags2 = Some(self.flags2);
        self.applier.as_mut().unwrap().apply(&received(&query, 200)).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        self.start(77);
        rows(&mut self.server.session(), sql)
    }
}

/// The applier had one session's temporary tables for all: what another session did to a table of
/// the same name was done to that, and was missing here.
#[test]
fn each_session_of_the_source_has_its_own_temporary_tables() {
    let mut sessions = Sessions::new("10.11.19-MariaDB-log");
    sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
    sessions.say(2, "CREATE TEMPORARY TABLE t (a INT)").unwrap();
    sessions.say(3, "CREATE TEMPORARY TABLE t (a INT, b INT)").unwrap();
    sessions.say(1, "INSERT INTO t VALUES (1)").unwrap();
    sessions.say(2, "INSERT INTO t VALUES (20), (21)").unwrap();
    sessions.say(3, "INSERT INTO t VALUES (30, 1)").unwrap();
    sessions.say(2, "CREATE TABLE of_two (a INT)").unwrap();
    sessions.say(2, "INSERT INTO of_two SELECT a FROM t").unwrap();
    sessions.say(3, "DROP TEMPORARY TABLE t").unwrap();
    sessions.say(3, "INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(sessions.rows("SELECT a FROM st.t ORDER BY a"), [["1"], ["3"]]);
    assert_eq!(sessions.rows("SELECT a FROM st.of_two ORDER BY a"), [["20"], ["21"]]);
}

/// Rows of another session's table were put into the temporary table of its name.
#[test]
fn rows_are_never_those_of_a_temporary_table() {
    let writer = Server::new(2);
    run(&mut writer.session(), "CREATE DATABASE st").unwrap();
    run(&mut writer.session(), "CREATE TABLE st.t (a INT)").unwrap();
    let before = log_of(&writer).len();
    let mut session = writer.session();
    run(&mut session, "SET gtid_next = 'aaaaaaaa-0000-0000-0000-000000000001:1'").unwrap();
    run(&mut session, "INSERT INTO st.t VALUES (9)").unwrap();
    let events = log_of(&writer);

    let mut sessions = Sessions::new("9.7.4");
    sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
    sessions.say(2, "CREATE TEMPORARY TABLE t (a INT)").unwrap();
    for event in &events[before..] {
        sessions.applier.as_mut().unwrap().apply(event).unwrap();
    }
    sessions.say(2, "INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(sessions.rows("SELECT a FROM st.t"), [["9"]]);
}

/// MySQL computes a VIRTUAL column in the time zone of whoever reads it, and logs what the writer's
/// was: the replica went on with that.
#[test]
fn virtual_columns_of_a_time_zone_stop_the_applier() {
    const COLUMNS: [(&str, bool); 9] = [
        ("DATE AS (DATE(ts))", true),
        ("DATE AS (DATE(ts)) STORED", false),
        ("TIMESTAMP AS (dt)", true),
        ("TIMESTAMP AS (ts)", false),
        ("TIMESTAMP AS ('2020-01-01')", true),
        ("DATETIME AS (FROM_UNIXTIME(n))", true),
        ("DATE AS (DATE(dt))", false),
        ("INT AS (n + 1)", false),
        ("INT AS (HOUR(ts)) STORED, v INT AS (c + 1) VIRTUAL", false),
    ];
    let writer = Server::new(2);
    let mut session = writer.session();
    run(&mut session, "CREATE DATABASE st").unwrap();
    for (number, (column, stops)) in (1..).zip(COLUMNS) {
        let mut sessions = Sessions::new("9.7.4");
        let create = format!("CREATE TABLE t{number} (n INT, ts TIMESTAMP NULL, dt DATETIME, c {column})");
        run(&mut session, &create.replace(" TABLE t", " TABLE st.t")).unwrap();
        sessions.say(1, &create).unwrap();
        let before = log_of(&writer).len();
        run(&mut session, "SET time_zone = '+05:30'").unwrap();
        run(&mut session, &format!("SET gtid_next = 'aaaaaaaa-0000-0000-0000-000000000001:{number}'"))
            .unwrap();
        run(&mut session, &format!("INSERT INTO st.t{number} (n, ts, dt) VALUES (1, NOW(), NOW())")).unwrap();
        run(&mut session, "SET gtid_next = AUTOMATIC").unwrap();
        let applier = sessions.applier.as_mut().unwrap();
        let applied = log_of(&writer)[before..].iter().try_for_each(|event| applier.apply(event).map(drop));
        assert_eq!(applied.map_err(|e| e.number), if stops { Err(1235) } else { Ok(()) }, "{column}");
    }
}

/// They outlive STOP REPLICA, but not a restart of the source, which does not log that they are
/// gone.
#[test]
fn temporary_tables_stay_until_their_source_starts_again() {
    let mut sessions = Sessions::new("10.11.19-MariaDB-log");
    sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
    sessions.say(2, "CREATE TEMPORARY TABLE u (a INT)").unwrap();
    sessions.say(2, "INSERT INTO u VALUES (5)").unwrap();
    sessions.start(77);
    sessions.say(2, "INSERT INTO t SELECT a FROM u").unwrap();
    // A file that a rotation made.
    sessions.file_begins(0);
    sessions.say(2, "INSERT INTO t SELECT a + 1 FROM u").unwrap();
    sessions.file_begins(78);
    assert_eq!(sessions.say(2, "INSERT INTO t SELECT a + 2 FROM u"), Err(1146));
    assert_eq!(sessions.rows("SELECT a FROM st.t ORDER BY a"), [["5"], ["6"]]);
}

/// The source writes the text of CREATE TABLE .. SELECT in UTF-8, and beside it the character set
/// of its session: a column had another name here.
#[test]
fn the_text_of_a_table_that_a_query_made_is_utf8() {
    const LATIN1: u16 = 8;
    let source = Source { version: "9.7.4", sql_mode: 0 };
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE st").unwrap();
    let mut applier = applier(&server);
    applier.apply(&received(&FormatDescription::new(source.version, 0), 0)).unwrap();
    for sql in ["BEGIN", "CREATE TABLE `t` (`é` int COMMENT 'ß') START TRANSACTION", "COMMIT"] {
        let mut query = query(&source, sql);
        query.status.charset = Some([LATIN1; 3]);
        applier.apply(&received(&query, 200)).unwrap();
    }
    applier.finish().unwrap();
    let columns =
        "SELECT column_name, column_comment FROM information_schema.columns WHERE table_schema = 'st'";
    assert_eq!(rows(&mut server.session(), columns), [["é", "ß"]]);
}

impl Sessions {
    /// A statement with this error of the source's.
    fn say_with(&mut self, sql: &str, say: impl Fn(&mut QueryEvent<'_>)) -> Result<(), u16> {
        let mut query = query(&self.source, sql);
        say(&mut query);
        let applied = self.applier.as_mut().unwrap().apply(&received(&query, 200));
        applied.map(drop).map_err(|e| e.number)
    }

    fn say_at(&mut self, timestamp: u32, sql: &str, say: impl Fn(&mut QueryEvent<'_>)) -> Result<(), u16> {
        let mut query = query(&self.source, sql);
        say(&mut query);
        let event = received_at(timestamp, &query, 200);
        self.applier.as_mut().unwrap().apply(&event).map(drop).map_err(|e| e.number)
    }

    fn insert_id(&mut self, value: u64) {
        self.applier.as_mut().unwrap().apply(&received(&InsertId(value), 100)).unwrap();
    }
}

/// An INTVAR event, which no Duramen writes.
struct InsertId(u64);

impl EncodeEvent for InsertId {
    fn event_type(&self) -> EventType {
        EventType::INTVAR
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        const INSERT_ID: u8 = 2;
        out.push(INSERT_ID);
        out.extend_from_slice(&self.0.to_le_bytes());
    }
}

/// Only the first row had it; others had the table's next numbers, which are other ones where the
/// source's sessions had theirs at the same time. The counter was one too high then.
#[test]
fn all_rows_of_a_statement_follow_its_insert_id() {
    let mut sessions = Sessions::new("9.7.4");
    sessions.say(1, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)").unwrap();
    sessions.insert_id(4);
    sessions.say(2, "INSERT INTO t (a) VALUES (4), (5)").unwrap();
    sessions.insert_id(1);
    sessions.say(1, "INSERT INTO t (a) VALUES (1), (2), (3)").unwrap();
    let found = sessions.rows("SELECT id, a FROM st.t WHERE id = a");
    assert_eq!(found.len(), 5, "{found:?}");
    let next = "SELECT auto_increment FROM information_schema.tables WHERE table_schema = 'st'";
    assert_eq!(sessions.rows(next), [["6"]]);
}

/// The second row was out of range (1264), or in a table's last number (1062), and the counter
/// beyond its type. MySQL has the error of a type that is full.
#[test]
fn numbers_behind_an_insert_id_end_with_their_type() {
    for ty in ["TINYINT", "TINYINT UNSIGNED"] {
        let mut sessions = Sessions::new("9.7.4");
        let max = if ty == "TINYINT" { 127 } else { 255 };
        sessions.say(1, &format!("CREATE TABLE t (id {ty} AUTO_INCREMENT PRIMARY KEY, a INT)")).unwrap();
        sessions.insert_id(max - 1);
        sessions.say(1, "INSERT INTO t (a) VALUES (1), (2)").unwrap();
        let mut session = sessions.server.session();
        run(&mut session, "USE st").unwrap();
        run(&mut session, "DELETE FROM t").unwrap();
        run(&mut session, &format!("SET insert_id = {max}")).unwrap();
        let number = |e: SqlError| e.number;
        let two = run(&mut session, "INSERT INTO t (a) VALUES (1), (2)");
        assert_eq!(two.map(drop).map_err(number), Err(1467), "{ty}");
        run(&mut session, "SET insert_id = 300").unwrap();
        let beyond = run(&mut session, "INSERT INTO t (a) VALUES (1)");
        assert_eq!(beyond.map(drop).map_err(number), Err(1264), "{ty}");
    }
}

/// What the source's session said beside the text: it was not asked.
#[test]
fn settings_that_are_not_here_stop_the_applier() {
    const AUTO_IS_NULL: u32 = 1 << 14;
    const LATIN2: u16 = 9;
    let insert = "INSERT INTO t VALUES (1)";
    for version in ["9.7.4", "10.11.19-MariaDB-log"] {
        let mut sessions = Sessions::new(version);
        sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
        let pads = |query: &mut QueryEvent<'_>| query.status.sql_mode = Some(1 << 31);
        assert_eq!(sessions.say_with(insert, pads), Err(1235));
        assert_eq!(sessions.say_with("CREATE TABLE u (a INT)", pads), Ok(()));
        assert_eq!(sessions.say_with("CREATE VIEW v AS SELECT 1", pads), Err(1235));
        let is_null = |query: &mut QueryEvent<'_>| query.status.flags2 = Some(AUTO_IS_NULL);
        for text in ["a IS NULL", "a is /* */ null", "ISNULL(a)"] {
            assert_eq!(
                sessions.say_with(&format!("DELETE FROM t WHERE {text}"), is_null),
                Err(1235),
                "{text}"
            );
        }
        for text in
            [insert, "DELETE FROM t WHERE a IS NOT NULL", "DELETE FROM t WHERE LENGTH('a IS NULL') = a"]
        {
            assert_eq!(sessions.say_with(text, is_null), Ok(()), "{text}");
        }
        let latin2 = |query: &mut QueryEvent<'_>| query.status.charset = Some([33, LATIN2, 33]);
        assert_eq!(sessions.say_with(insert, latin2), Err(1115));
        assert_eq!(sessions.say_with("ALTER TABLE u ADD b INT", latin2), Ok(()));
        assert_eq!(sessions.say(1, insert), Ok(()));
    }
    let mut sessions = Sessions::new("10.11.19-MariaDB-log");
    for mode in [1 << 9, 1 << 12] {
        let oracle = |query: &mut QueryEvent<'_>| query.status.sql_mode = Some(mode);
        assert_eq!(sessions.say_with("CREATE TABLE t (a INT)", oracle), Err(1235));
    }
}

#[test]
fn a_channel_that_requires_rows_takes_no_changes_as_texts() {
    let mut sessions = Sessions::new("9.7.4");
    sessions.channel.with(|state| state.source.requires_row_format = true);
    sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
    for sql in ["INSERT INTO t VALUES (1)", "CREATE TEMPORARY TABLE u (a INT)"] {
        assert_eq!(sessions.say(1, sql), Err(3944), "{sql}");
    }
}

/// A table without transactions keeps what came before the error. It was left out here, or done as
/// a whole.
#[test]
fn a_change_that_failed_half_way_stops_the_applier() {
    let mut sessions = Sessions::new("10.11.19-MariaDB-log");
    sessions.say(1, "CREATE TABLE t (a INT PRIMARY KEY)").unwrap();
    sessions.say(1, "INSERT INTO t VALUES (2)").unwrap();
    let fails = |number| move |query: &mut QueryEvent<'_>| query.error_code = number;
    for sql in ["INSERT INTO t VALUES (1), (2), (3)", "INSERT INTO t VALUES (7)"] {
        assert_eq!(sessions.say_with(sql, fails(1062)), Err(1235), "{sql}");
    }
    assert_eq!(sessions.say_with("CREATE TABLE u (a INT)", fails(1005)), Err(1235));
    assert_eq!(sessions.say_with("CREATE TABLE t (a INT)", fails(1050)), Ok(()));
    // MariaDB has dropped those that were there.
    assert_eq!(sessions.say_with("DROP TABLE t, nothere", fails(1051)), Ok(()));
    assert_eq!(sessions.rows("SHOW TABLES FROM st LIKE 't'"), Vec::<Vec<String>>::new());
}

/// A rollback is in the log because a table without transactions has kept its changes, or for the
/// sake of a temporary table.
#[test]
fn a_rollback_that_took_nothing_back_stops_the_applier() {
    let mut sessions = Sessions::new("9.7.4");
    sessions.say(1, "CREATE TABLE t (a INT)").unwrap();
    for end in ["ROLLBACK", "ROLLBACK TO `s`"] {
        sessions.say(1, "BEGIN").unwrap();
        sessions.say(1, "SAVEPOINT `s`").unwrap();
        sessions.say(1, "INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(sessions.say(1, end), Err(1235), "{end}");
    }
    sessions.say(1, "BEGIN").unwrap();
    sessions.say(1, "CREATE TEMPORARY TABLE u (a INT)").unwrap();
    sessions.say(1, "INSERT INTO t VALUES (1)").unwrap();
    sessions.say(1, "ROLLBACK").unwrap();
    assert_eq!(sessions.rows("SELECT * FROM st.t"), Vec::<Vec<String>>::new());
}

/// A comment with a version is part of the statement where the source says so, and utf8mb4 alone
/// means what it means there; MariaDB has microseconds in a place of its own.
#[test]
fn texts_mean_what_they_mean_at_the_source() {
    let mut sessions = Sessions::new("10.11.19-MariaDB-log");
    sessions.say(1, "CREATE TABLE t (a VARCHAR(20)) CHARSET=utf8mb4").unwrap();
    sessions.say(1, "INSERT INTO t VALUES ('a'), ('b') /*M!100100 , ('c') */ /*!80000 , ('d') */").unwrap();
    sessions.say(1, "DELETE FROM t WHERE a = 'a ' /*M! OR a = 'b' */").unwrap();
    assert_eq!(sessions.rows("SELECT a FROM st.t"), [["c"]]);
    let collation = "SELECT table_collation FROM information_schema.tables WHERE table_schema = 'st'";
    assert_eq!(sessions.rows(collation), [["utf8mb4_general_ci"]]);
    sessions.say(1, "CREATE TABLE w (d DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), a INT)").unwrap();
    let micros = |query: &mut QueryEvent<'_>| query.status.mariadb_microseconds = Some(123_456);
    sessions.say_with("INSERT INTO w (a) VALUES (1)", micros).unwrap();
    assert_eq!(sessions.rows("SELECT MICROSECOND(d) FROM st.w"), [["123456"]]);

    let mut sessions = Sessions::new("9.7.4");
    sessions.say(1, "CREATE TABLE t (a INT /*!90000 , b INT */) CHARSET=utf8mb4").unwrap();
    assert_eq!(
        sessions.rows("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'st'"),
        [["2"]]
    );
    assert_eq!(sessions.rows(collation), [["utf8mb4_0900_ai_ci"]]);
}

/// MySQL 9.7 keeps the bytes of members, which are other texts then.
#[test]
fn members_that_a_mysql_converts_otherwise_stop_the_applier() {
    let outcomes = |version: &'static str, table: &str, to: &str| {
        let mut sessions = Sessions::new(version);
        sessions.say(1, &format!("CREATE TABLE t ({table}) CHARACTER SET utf8mb4")).unwrap();
        sessions.say(1, &format!("/* a comment */ alter table t convert to character set {to}"))
    };
    assert_eq!(outcomes("9.7.4", "e ENUM('a','é')", "latin1"), Err(1235));
    assert_eq!(outcomes("9.7.4", "e SET('a','é')", "latin1"), Err(1235));
    assert_eq!(outcomes("9.7.4", "e ENUM('a','é')", "utf8mb4"), Ok(()));
    assert_eq!(outcomes("9.7.4", "e ENUM('a','b'), v VARCHAR(5) DEFAULT 'é'", "latin1"), Ok(()));
    assert_eq!(outcomes("8.4.8-duramen-0.1.0", "e ENUM('a','é')", "latin1"), Ok(()));
}
