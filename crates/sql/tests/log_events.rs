//! What the log says beside the rows: table maps, byte for byte as MySQL wrote them; the settings that DDL depends on; and
//! transactions whose events are compressed, which are there after a power cut like others.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use binlog::event::{
    Decoder, EncodeEvent, EncodedTableMap, Event, EventHeader, EventType, MAGIC, QueryEvent, TableMapEvent,
    UpdatedDatabases, decode, decode_format_description, rows_flags,
};
use binlog::log::{LogError, ReplayedEvent};
use binlog::position::LogPosition;
use common::{Server, rows, run, value};

const GOLDEN: [(&[u8], bool); 2] = [
    (include_bytes!("../../binlog/tests/golden/mysql97-full/binlog"), true),
    (include_bytes!("../../binlog/tests/golden/mysql97-minimal/binlog"), false),
];

fn body(event: &impl EncodeEvent) -> Vec<u8> {
    let mut body = Vec::new();
    event.encode_body(&mut body);
    body
}

/// Tables are made here by the statements of a MySQL's log. Returns those whose maps there were compared.
fn compare_maps(log: &[u8], full: bool) -> BTreeSet<String> {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "SET sql_mode = ''").unwrap();
    run(&mut session, "CREATE DATABASE gold CHARACTER SET utf8mb4").unwrap();
    run(&mut session, "USE gold").unwrap();
    let length = |at: usize| EventHeader::decode(&log[at..]).unwrap().event_length as usize;
    let mut at = MAGIC.len();
    let mut decoder = Decoder::new(decode_format_description(&log[at..at + length(at)]).unwrap());
    let mut compared = BTreeSet::new();
    while at < log.len() {
        let bytes = &log[at..at + length(at)];
        at += bytes.len();
        match decoder.decode(bytes).unwrap().1 {
            Event::Query(query) if *query.sql != *b"BEGIN" && !query.sql.starts_with(b"XA ") => {
                // Views and the like are refused here.
                let _ = run(&mut session, std::str::from_utf8(&query.sql).unwrap());
            }
            Event::TableMap(mut map) => {
                let name = String::from_utf8(map.table.clone()).unwrap();
                let Ok(table) = server.database.catalog().table("gold", &name) else { continue };
                if table.columns.len() != map.columns.len() {
                    continue; // It has the key that every table has here.
                }
                // There are foreign keys there that refer to some.
                (map.table_id, map.flags) = (table.id, map.flags & TableMapEvent::FLAG_BIT_LENGTH_EXACT);
                let expected = body(&EncodedTableMap::from(&map));
                assert_eq!(body(table.schema.table_map(full)), expected, "{name}: {map:?}");
                compared.insert(name);
            }
            _ => {}
        }
    }
    compared
}

#[test]
fn table_maps_are_mysqls_byte_for_byte() {
    for (log, full) in GOLDEN {
        let compared = compare_maps(log, full);
        let expected = ["bulk", "gen", "ints", "reals", "strs", "times", "wide"];
        assert!(expected.iter().all(|name| compared.contains(*name)), "only {compared:?}");
    }
}

/// Calls `visit` for each event behind a position.
fn events(server: &Server, from: LogPosition, mut visit: impl FnMut(EventHeader, Event<'_>)) {
    let each = &mut |replayed: ReplayedEvent<'_>| {
        let bytes = replayed.event.bytes;
        visit(EventHeader::decode(bytes).unwrap(), decode(bytes, replayed.event.fde).unwrap());
        Ok::<_, LogError>(())
    };
    server.database.log().replay(from, each).unwrap();
}

/// The events of the statement that a session of these settings runs, of the kind that `pick` wants.
fn logged<T>(settings: &str, sql: &str, mut pick: impl FnMut(EventHeader, Event<'_>) -> Option<T>) -> Vec<T> {
    let server = Server::new(1);
    let mut session = server.session();
    for setup in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, name ENUM('a', 'b'))"] {
        run(&mut session, setup).unwrap();
    }
    run(&mut session, settings).unwrap();
    let from = server.database.log().visible();
    run(&mut session, sql).unwrap();
    let mut picked = Vec::new();
    events(&server, from, |header, event| picked.extend(pick(header, event)));
    picked
}

fn statement(settings: &str, sql: &str) -> (u16, QueryEvent<'static>) {
    let mut found = logged(settings, sql, |header, event| match event {
        Event::Query(query) => Some((header.flags, owned(&query))),
        _ => None,
    });
    assert_eq!(found.len(), 1, "{sql}");
    found.remove(0)
}

fn owned(query: &QueryEvent<'_>) -> QueryEvent<'static> {
    let status = &query.status;
    let mut copy = QueryEvent::new(query.thread_id, b"", b"");
    copy.database = query.database.to_vec().into();
    copy.sql = query.sql.to_vec().into();
    copy.suppress_use = query.suppress_use;
    copy.status.flags2 = status.flags2;
    copy.status.sql_mode = status.sql_mode;
    copy.status.charset = status.charset;
    copy.status.time_zone = status.time_zone.as_ref().map(|zone| zone.to_vec().into());
    copy.status.explicit_defaults_for_timestamp = status.explicit_defaults_for_timestamp;
    copy.status.default_collation_for_utf8mb4 = status.default_collation_for_utf8mb4;
    copy.status.sql_require_primary_key = status.sql_require_primary_key;
    copy.status.default_table_encryption = status.default_table_encryption;
    copy.status.updated_databases = status.updated_databases.as_ref().map(|databases| match databases {
        UpdatedDatabases::Names(names) => {
            UpdatedDatabases::Names(names.iter().map(|name| name.to_vec().into()).collect())
        }
        UpdatedDatabases::TooMany => UpdatedDatabases::TooMany,
    });
    copy
}

#[test]
fn ddl_says_all_that_its_meaning_depends_on() {
    let settings = "SET time_zone = '+02:00', sql_mode = 'ANSI_QUOTES', foreign_key_checks = 0, NAMES latin1";
    let (flags, event) =
        statement(settings, "CREATE TABLE u (id INT PRIMARY KEY, at TIMESTAMP DEFAULT NOW())");
    let status = &event.status;
    assert_eq!((flags, &*event.database), (0, &b"d"[..]));
    assert_eq!((status.flags2, status.sql_mode), (Some(1 << 26), Some(4)));
    assert_eq!(status.charset, Some([8, 8, 255]));
    assert_eq!(status.time_zone.as_deref(), Some(&b"+02:00"[..]));
    assert_eq!(status.explicit_defaults_for_timestamp, Some(true));
    assert_eq!(status.sql_require_primary_key, Some(0));
    assert_eq!(status.default_collation_for_utf8mb4, Some(255));
    assert_eq!(status.updated_databases, Some(UpdatedDatabases::Names(vec![b"d"[..].into()])));
    // What the statement before has set must be taken back.
    let (_, event) = statement("SET autocommit = 0", "DROP TABLE t");
    assert_eq!(event.status.time_zone.as_deref(), Some(&b"+00:00"[..]));
    assert_eq!((event.status.flags2, event.status.sql_require_primary_key), (Some(0), None));
}

#[test]
fn ddl_that_ends_in_a_comment_is_done_again_after_a_power_cut() {
    let server = Server::new(1);
    let mut session = server.session();
    run(
        &mut session,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY) /*! ENGINE = innodb */ ",
    )
    .unwrap();
    run(&mut session, "INSERT INTO t VALUES (1)").unwrap();
    drop(session);
    let server = server.power_cut();
    assert_eq!(value(&mut server.session(), "SELECT COUNT(*) FROM d.t"), "1");
}

#[test]
fn statements_about_databases_are_filed_under_them() {
    let (flags, event) = statement("USE d", "CREATE DATABASE e");
    assert_eq!((flags, &*event.database), (8, &b"e"[..]));
    assert_eq!(event.status.default_table_encryption, Some(0));
    let (flags, event) = statement("USE d", "DROP DATABASE d");
    assert_eq!((flags, &*event.database), (8, &b"d"[..]));
    let (flags, event) = statement("SET time_zone = '+02:00'", "INSERT INTO t VALUES (1, 'a')");
    assert_eq!((flags, &*event.sql, event.status.time_zone), (8, &b"BEGIN"[..], None));
    let (_, event) = statement("USE d", "CREATE USER u IDENTIFIED BY 'p'");
    assert_eq!(event.status.updated_databases, Some(UpdatedDatabases::Names(vec![b"mysql"[..].into()])));
}

/// As MySQL 9.7 has them, statement by statement.
#[test]
fn rows_tell_which_checks_were_off() {
    let flags = |settings: &str, sql: &str| {
        logged(settings, sql, |_, event| match event {
            Event::Rows(rows) => Some(rows.flags & !rows_flags::STMT_END),
            _ => None,
        })
    };
    let insert = "INSERT INTO t VALUES (1, 'a')";
    let (keys, unique) = (rows_flags::NO_FOREIGN_KEY_CHECKS, rows_flags::RELAXED_UNIQUE_CHECKS);
    assert_eq!(flags("SET @x = 1", insert), [0]);
    assert_eq!(flags("SET foreign_key_checks = 0", insert), [keys]);
    assert_eq!(flags("SET foreign_key_checks = 0, unique_checks = 0", insert), [keys | unique]);
    let server = Server::new(1);
    let mut session = server.session();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "SET unique_checks = 0"] {
        run(&mut session, sql).unwrap();
    }
    let from = server.database.log().visible();
    for sql in
        ["BEGIN", "INSERT INTO d.t VALUES (1)", "SET unique_checks = 1", "UPDATE d.t SET id = 2", "COMMIT"]
    {
        run(&mut session, sql).unwrap();
    }
    let mut found = Vec::new();
    events(&server, from, |_, event| {
        if let Event::Rows(rows) = event {
            found.push(rows.flags);
        }
    });
    assert_eq!(found, [rows_flags::STMT_END | unique, rows_flags::STMT_END]);
}

#[test]
fn table_maps_follow_binlog_row_metadata() {
    for (metadata, named) in [("MINIMAL", false), ("FULL", true)] {
        let settings = format!("SET GLOBAL binlog_row_metadata = {metadata}");
        let maps = logged(&settings, "INSERT INTO t VALUES (1, 'a')", |_, event| match event {
            Event::TableMap(map) => Some(map.metadata),
            _ => None,
        });
        assert_eq!(maps.len(), 1);
        assert_eq!(maps[0].column_names().is_some(), named, "{metadata}");
        assert_eq!(maps[0].enum_values(0).is_some(), named, "{metadata}");
    }
}

#[test]
fn compressed_transactions_survive_a_power_cut() {
    let server = Server::new(1);
    let mut session = server.session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, s VARCHAR(2000))",
        "SET binlog_transaction_compression = ON",
        "INSERT INTO t VALUES (1, 1, REPEAT('abc', 500)), (2, 2, REPEAT('abc', 500)), (3, 3, 'x')",
        "BEGIN",
        "UPDATE t SET s = REPEAT('d', 1000), u = u + 10 WHERE id < 3",
        "DELETE FROM t WHERE id = 3",
        "COMMIT",
        "XA START 'q'",
        "INSERT INTO t VALUES (4, 4, REPEAT('q', 900))",
        "XA END 'q'",
        "XA PREPARE 'q'",
        "CREATE TABLE c (PRIMARY KEY (id)) SELECT id, s FROM t",
    ] {
        run(&mut session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let mut payloads = 0;
    events(&server, LogPosition::ZERO, |header, _| {
        payloads += usize::from(header.event_type == EventType::TRANSACTION_PAYLOAD);
    });
    assert_eq!(payloads, 3);
    let file = value(&mut session, "SHOW BINARY LOG STATUS");
    let shown = rows(&mut session, &format!("SHOW BINLOG EVENTS IN '{file}'"));
    let kinds: Vec<_> = shown.iter().map(|row| row[2].as_str()).collect();
    let first = kinds.iter().position(|kind| *kind == "Transaction_payload").unwrap();
    assert_eq!(kinds[first + 1..first + 5], ["Query", "Table_map", "Write_rows", "Xid"]);
    assert!(shown[first][5].starts_with("compression='ZSTD', decompressed_size="), "{:?}", shown[first]);
    assert_eq!(shown[first + 1][1], shown[first][4]);
    drop(session);
    let server = server.power_cut();
    let mut session = server.session();
    run(&mut session, "XA COMMIT 'q'").unwrap();
    run(&mut session, "USE d").unwrap();
    let found = rows(&mut session, "SELECT id, u, LEFT(s, 2), LENGTH(s) FROM t ORDER BY id");
    let expected = [["1", "11", "dd", "1000"], ["2", "12", "dd", "1000"], ["4", "4", "qq", "900"]];
    assert_eq!(found, expected);
    assert_eq!(value(&mut session, "SELECT COUNT(*) FROM c"), "2");
}

/// How many rows events of the log lack columns.
fn partial_events(server: &Server) -> usize {
    let mut partial = 0;
    let lacks = |bits: &[u8], columns: usize| {
        !bits.is_empty() && (0..columns).any(|column| bits[column / 8] >> (column % 8) & 1 == 0)
    };
    events(server, LogPosition::ZERO, |_, event| {
        if let Event::Rows(rows) = event {
            let some = lacks(rows.present, rows.columns) || lacks(rows.present_after, rows.columns);
            partial += usize::from(some);
        }
    });
    partial
}

#[test]
fn rows_whose_images_lack_columns_are_whole_after_a_power_cut() {
    for (image, partial) in [("MINIMAL", 10), ("NOBLOB", 10), ("FULL", 0)] {
        let server = Server::new(1);
        let mut session = server.session();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (a INT, id INT, s TEXT, b BLOB, v VARCHAR(10) DEFAULT 'v', u INT UNIQUE, PRIMARY KEY (id), KEY (v))",
            "INSERT INTO t (a, id, s, b, u) VALUES (1, 1, 's1', 'b1', 1), (2, 2, 's2', NULL, 2), (3, 3, NULL, 'b3', 3), (4, 4, 's4', 'b4', 4)",
            "CREATE TABLE k (x VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, y INT, z TEXT, PRIMARY KEY (x(3), y))",
            "INSERT INTO k VALUES ('Abcdef', 1, 'z1'), ('xyz', 2, 'z2')",
        ] {
            run(&mut session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        // Some rows are in tables on disk, with the columns of before an ALTER that touches none.
        server.database.engine().checkpoint().unwrap();
        for sql in [
            "ALTER TABLE t ADD COLUMN late INT DEFAULT 77, ALGORITHM = INSTANT",
            &format!("SET binlog_row_image = {image}"),
            "UPDATE t SET a = a + 10 WHERE id = 1",
            "BEGIN",
            "UPDATE t SET a = 100, v = 'w' WHERE id = 2",
            "UPDATE t SET a = a + 1, s = NULL WHERE id = 2",
            "UPDATE t SET id = 20, u = 22 WHERE id = 2",
            "UPDATE t SET late = 1 WHERE id = 20",
            "COMMIT",
            "DELETE FROM t WHERE id = 3",
            "REPLACE INTO t (id, u, s) VALUES (4, 40, 'new')",
            "UPDATE k SET z = 'zz', x = 'aBCxyz' WHERE y = 1",
            "DELETE FROM k WHERE y = 2",
            "XA START 'q'",
            "UPDATE t SET b = 'xa' WHERE id = 1",
            "XA END 'q'",
            "XA PREPARE 'q'",
        ] {
            run(&mut session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        assert_eq!(partial_events(&server), partial, "{image}");
        drop(session);
        let server = server.power_cut();
        let mut session = server.session();
        run(&mut session, "XA COMMIT 'q'").unwrap();
        run(&mut session, "USE d").unwrap();
        let expected = [
            ["11", "1", "s1", "xa", "v", "1", "77"],
            ["NULL", "4", "new", "NULL", "v", "40", "77"],
            ["101", "20", "NULL", "NULL", "w", "22", "1"],
        ];
        assert_eq!(rows(&mut session, "SELECT * FROM t ORDER BY id"), expected, "{image}");
        assert_eq!(rows(&mut session, "SELECT * FROM k"), [["aBCxyz", "1", "zz"]], "{image}");
        let checked = rows(&mut session, "CHECK TABLE t, k");
        assert!(checked.iter().all(|row| row[3] == "OK"), "{image}: {checked:?}");
    }
}
