//! What the log says beside the rows: table maps, byte for byte as MySQL wrote them; the settings
//! that DDL depends on; and transactions whose events are compressed, which are there after a power
//! cut like others.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use binlog::LogPosition;
use binlog::event::{
    Decoder, EncodeEvent, EncodedTableMap, Event, EventHeader, EventType, MAGIC, QueryEvent, TableMapEvent,
    UpdatedDatabases, decode, decode_format_description, rows_flags,
};
use binlog::log::{LogError, ReplayedEvent};
use common::{Server, rows, run, value};
use sql::Session;

const GOLDEN: [(&[u8], bool); 2] = [
    (include_bytes!("../../binlog/tests/golden/mysql97-full/binlog"), true),
    (include_bytes!("../../binlog/tests/golden/mysql97-minimal/binlog"), false),
];

fn body(event: &impl EncodeEvent) -> Vec<u8> {
    let mut body = Vec::new();
    event.encode_body(&mut body);
    body
}

/// Tables are made here by the statements of a MySQL's log. Returns those whose maps there were
/// compared.
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
                // Triggers and the like are refused here.
                let _ = run(&mut session, std::str::from_utf8(&query.sql).unwrap());
                if query.sql.ends_with(b"START TRANSACTION") {
                    run(&mut session, "COMMIT").unwrap(); // its rows follow
                }
            }
            Event::TableMap(mut map) => {
                let name = String::from_utf8(map.table.clone()).unwrap();
                let Ok(table) = server.instance.catalog().table("gold", &name) else { continue };
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
    server.instance.log().replay(from, each).unwrap();
}

/// The events of the statement that a session of these settings runs, of the kind that `pick`
/// wants.
fn logged<T>(settings: &str, sql: &str, mut pick: impl FnMut(EventHeader, Event<'_>) -> Option<T>) -> Vec<T> {
    let server = Server::new(1);
    let mut session = server.session();
    for setup in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, name ENUM('a', 'b'))"] {
        run(&mut session, setup).unwrap();
    }
    if !settings.is_empty() {
        run(&mut session, settings).unwrap();
    }
    let from = server.instance.log().visible();
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
    // The text is UTF-8, whatever the client's is.
    assert_eq!(status.charset, Some([255, 8, 255]));
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
fn how_a_table_is_altered_is_left_to_the_replica() {
    let check = |sql: &str, expected: &str| {
        assert_eq!(String::from_utf8_lossy(&statement("", sql).1.sql), expected);
    };
    check(
        "ALTER TABLE t ADD x INT, ALGORITHM=INPLACE, LOCK NONE",
        "ALTER TABLE t ADD x INT, ALGORITHM=DEFAULT, LOCK DEFAULT",
    );
    check("ALTER TABLE t ALGORITHM INSTANT, ADD x INT", "ALTER TABLE t ALGORITHM DEFAULT, ADD x INT");
    check("ALTER TABLE t ADD x INT, ALGORITHM=COPY", "ALTER TABLE t ADD x INT, ALGORITHM=COPY");
    check("CREATE INDEX i ON t (id) LOCK=SHARED", "CREATE INDEX i ON t (id) LOCK=DEFAULT");
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
fn what_procedures_do_is_logged_as_their_statements() {
    let procedure = "CREATE PROCEDURE p() BEGIN
        INSERT INTO t VALUES (1, 'a');
        START TRANSACTION; INSERT INTO t VALUES (2, 'a'); DELETE FROM t WHERE id = 1; COMMIT;
        CREATE TABLE made (id INT PRIMARY KEY);
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 INSERT INTO t VALUES (4, 'a');
            INSERT INTO t VALUES (3, 'a'), (2, 'a');
        END;
    END";
    let found = logged(procedure, "CALL p()", |_, event| match event {
        Event::Query(query) => Some(String::from_utf8_lossy(&query.sql).into_owned()),
        Event::Rows(_) => Some("rows".to_owned()),
        _ => None,
    });
    let made = "CREATE TABLE made (id INT PRIMARY KEY)";
    assert_eq!(found, ["BEGIN", "rows", "BEGIN", "rows", "rows", made, "BEGIN", "rows"]);
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
    let from = server.instance.log().visible();
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
        "CREATE TABLE c (PRIMARY KEY (id)) SELECT id, s FROM t WHERE id < 3",
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
        server.instance.engine().checkpoint().unwrap();
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

/// The last statement in the log.
fn last_logged(session: &mut Session) -> String {
    let file = rows(session, "SHOW BINARY LOGS").pop().unwrap().swap_remove(0);
    let mut events = rows(session, &format!("SHOW BINLOG EVENTS IN '{file}'"));
    events.retain(|event| event[2] == "Query");
    let logged = events.pop().unwrap().swap_remove(5);
    logged.strip_prefix("use `d`; ").unwrap_or(&logged).replace("\\n", "\n")
}

fn columns(server: &Server) -> Vec<String> {
    let table = server.instance.catalog().table("d", "t").unwrap();
    table.columns.iter().map(|c| format!("{} {} {:?} {}", c.name, c.ty, c.default, c.visible)).collect()
}

/// Replicas have the row id as a column. So the log names what a statement means for it, and a
/// server that reads that makes the same table of it, as a client's statement too
/// (`mysqlbinlog | mysql`).
#[test]
fn alter_tells_replicas_of_the_row_id() {
    let added = "ADD COLUMN `my_row_id` bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE \
                 COMMENT 'row identity of a table without primary key' PRIMARY KEY,";
    let dropped = "DROP PRIMARY KEY, DROP COLUMN `my_row_id`,";
    let steps = [
        ("CREATE TABLE t (a INT NOT NULL, v INT)", None),
        ("INSERT INTO t VALUES (3, 1), (1, 2)", None),
        ("ALTER TABLE t ADD PRIMARY KEY (a)", Some(format!("ALTER TABLE t {dropped} ADD PRIMARY KEY (a)"))),
        (
            "ALTER TABLE `t` /*!50000 DROP PRIMARY KEY, ADD COLUMN w INT, ADD COLUMN z INT AFTER v */",
            Some(format!(
                "ALTER TABLE `t` {added}          DROP PRIMARY KEY, ADD COLUMN w INT, ADD COLUMN z INT AFTER v   "
            )),
        ),
        (
            "ALTER TABLE d.t ADD COLUMN my_row_id INT DEFAULT 5",
            Some("ALTER TABLE d.t RENAME COLUMN `my_row_id` TO `my_row_id_2`, ADD COLUMN my_row_id INT DEFAULT 5".into()),
        ),
        ("INSERT INTO t (a, v) VALUES (7, 7)", None),
        ("ALTER TABLE t DROP COLUMN my_row_id, ALGORITHM=COPY", Some("ALTER TABLE t DROP COLUMN my_row_id, ALGORITHM=COPY".into())),
        (
            "ALTER TABLE t ADD COLUMN n INT AUTO_INCREMENT UNIQUE",
            Some(
                "ALTER TABLE t CHANGE COLUMN `my_row_id_2` `my_row_id_2` bigint unsigned NOT NULL DEFAULT 0 INVISIBLE \
                 COMMENT 'row identity of a table without primary key', AUTO_INCREMENT = 1, \
                 ADD COLUMN n INT AUTO_INCREMENT UNIQUE"
                    .into(),
            ),
        ),
        ("INSERT INTO t (a, v) VALUES (8, 8)", None),
        (
            "ALTER TABLE t ADD COLUMN k INT NOT NULL PRIMARY KEY DEFAULT 0, DROP COLUMN n, LIMIT",
            None,
        ),
        ("DELETE FROM t WHERE a <> 8", None),
        (
            "ALTER TABLE t DROP COLUMN n, ADD COLUMN k INT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST",
            Some(
                "ALTER TABLE t DROP PRIMARY KEY, DROP COLUMN `my_row_id_2`, DROP COLUMN n, \
                 ADD COLUMN k INT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST"
                    .into(),
            ),
        ),
        ("ALTER TABLE t MODIFY k INT NOT NULL", Some("ALTER TABLE t MODIFY k INT NOT NULL".into())),
        ("DROP INDEX `PRIMARY` ON t", Some(format!("ALTER TABLE `d`.`t` {added} DROP PRIMARY KEY"))),
        ("ALTER TABLE t DROP COLUMN k", Some("ALTER TABLE t DROP COLUMN k".into())),
    ];
    let (mut server, copy) = (Server::new(1), Server::new(2));
    let mut copied = copy.session();
    for sql in ["CREATE DATABASE d", "USE d"] {
        run(&mut copied, sql).unwrap();
        run(&mut server.session(), sql).unwrap();
    }
    for (sql, logged) in steps {
        let mut session = server.session();
        run(&mut session, "USE d").unwrap();
        let outcome = run(&mut session, sql).map(|_| ());
        assert_eq!(outcome.is_err(), sql.ends_with("LIMIT"), "{sql}: {outcome:?}");
        if let Some(expected) = &logged {
            assert_eq!(&last_logged(&mut session), expected, "{sql}");
        }
        let text = if sql.starts_with("CREATE") || logged.is_some() {
            last_logged(&mut session)
        } else {
            sql.to_owned()
        };
        let again = run(&mut copied, &text).map(|_| ());
        assert_eq!(again.is_err(), outcome.is_err(), "{text}: {again:?}");
        let expected = columns(&server);
        assert_eq!(columns(&copy), expected, "{text}");
        let all = "SELECT * FROM t ORDER BY a";
        let expected_rows = rows(&mut session, all);
        assert_eq!(rows(&mut copied, all), expected_rows, "{text}");
        drop(session);
        server = server.power_cut();
        assert_eq!(columns(&server), expected, "{sql}, recovered");
        let mut session = server.session();
        run(&mut session, "USE d").unwrap();
        assert_eq!(rows(&mut session, all), expected_rows, "{sql}, recovered");
    }
}

/// Where rows get numbers, the log says where they begin if a replica can't know: its counter has
/// seen other numbers. As MySQL 9.7 numbers them, but for a row id's.
#[test]
fn alter_tells_replicas_where_numbers_begin() {
    let row_id = "bigint unsigned NOT NULL";
    let comment = "INVISIBLE COMMENT 'row identity of a table without primary key'";
    let kept =
        format!("CHANGE COLUMN `my_row_id` `my_row_id` {row_id} DEFAULT 0 {comment}, AUTO_INCREMENT = 1");
    let added =
        format!("ADD COLUMN `my_row_id` {row_id} AUTO_INCREMENT {comment} PRIMARY KEY, AUTO_INCREMENT = 1");
    let counted = "(id INT AUTO_INCREMENT PRIMARY KEY, b INT NOT NULL, KEY (b))";
    let plain = "(id INT NOT NULL, b INT NOT NULL, KEY (b))";
    let check = |definition: &str, actions: &str, in_front: &str, expected: &[[&str; 2]]| {
        let server = Server::new(1);
        let mut session = server.session();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            // MySQL's numbers of a series depend on its way to alter: a replica is told of none.
            "SET auto_increment_increment = 10, auto_increment_offset = 5",
            &format!("CREATE TABLE t {definition}"),
            "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)",
            "BEGIN",
            "INSERT INTO t VALUES (6, 0)",
            "ROLLBACK",
        ] {
            run(&mut session, sql).unwrap();
        }
        run(&mut session, &format!("ALTER TABLE t {actions}")).unwrap();
        assert_eq!(last_logged(&mut session), format!("ALTER TABLE t{in_front} {actions}"));
        let all = "SELECT * FROM t ORDER BY id";
        let found = rows(&mut session, all);
        let ends: Vec<_> = found.iter().map(|row| [row[0].as_str(), row.last().unwrap()]).collect();
        assert_eq!(ends, expected, "{actions}");
        drop(session);
        let server = server.power_cut();
        let mut session = server.session();
        run(&mut session, "USE d").unwrap();
        assert_eq!(rows(&mut session, all), found, "{actions}, recovered");
    };
    let from =
        |first: u64| [("1", first), ("2", first + 1), ("3", first + 2)].map(|(id, n)| (id, n.to_string()));
    let number = |definition: &str, actions: &str, in_front: &str, first: u64| {
        let expected = from(first);
        let expected: Vec<[&str; 2]> = expected.iter().map(|(id, n)| [*id, n.as_str()]).collect();
        check(definition, actions, in_front, &expected);
    };
    let next = " AUTO_INCREMENT = 7,";
    number(counted, "MODIFY id INT NOT NULL, ADD c INT AUTO_INCREMENT UNIQUE", next, 7);
    number(counted, "MODIFY id INT, MODIFY b INT AUTO_INCREMENT", next, 7);
    number(counted, "MODIFY id INT, ADD c INT AUTO_INCREMENT UNIQUE, AUTO_INCREMENT 50", "", 50);
    number(plain, "ADD c INT AUTO_INCREMENT UNIQUE", &format!(" {kept},"), 1);
    number(plain, "MODIFY b INT AUTO_INCREMENT", &format!(" {kept},"), 1);
    number(plain, "ADD c INT AUTO_INCREMENT KEY", " DROP PRIMARY KEY, DROP COLUMN `my_row_id`,", 1);
    let zeros = [["1", "0"], ["2", "0"], ["3", "0"]];
    check(counted, "MODIFY id INT, DROP PRIMARY KEY", &format!(" {added},"), &zeros);
}

/// As MySQL 9.7 places them, one by one in the order of the actions. The log's text says so, for
/// older versions placed those that are changed first, and rows go by places.
#[test]
fn alter_places_columns_in_the_order_of_its_actions() {
    for (actions, expected) in [
        ("ADD c INT FIRST, MODIFY b INT FIRST", "b,c,a,d"),
        ("MODIFY b INT FIRST, ADD c INT FIRST", "c,b,a,d"),
        ("ADD c INT AFTER a, MODIFY d INT AFTER a", "a,d,c,b"),
        ("MODIFY d INT FIRST, MODIFY b INT AFTER d, ADD c INT AFTER d", "d,c,b,a"),
        ("CHANGE a z INT NOT NULL AFTER b, ADD y INT AFTER z", "b,z,y,d"),
        ("ADD c INT, MODIFY a INT NOT NULL AFTER c", "b,d,c,a"),
        ("ADD c INT, MODIFY a INT NOT NULL", "a,b,d,c"),
        ("ADD COLUMN (x INT, y INT), MODIFY b INT AFTER x, ADD w INT FIRST", "w,a,d,x,b,y"),
        ("DROP COLUMN b, ADD b INT AFTER a, MODIFY d INT AFTER a", "a,d,b"),
        ("DROP PRIMARY KEY, ADD c INT FIRST, MODIFY b INT FIRST", "b,c,a,d,my_row_id"),
        ("MODIFY a INT AFTER c, ADD c INT FIRST", "1054"),
        ("MODIFY b INT AFTER d, MODIFY d INT FIRST", "d,a,b"),
        ("ADD c INT AFTER b, MODIFY b INT FIRST", "b,a,c,d"),
        ("ADD c INT, MODIFY a INT NOT NULL AFTER d, ADD e INT AFTER a", "b,d,a,e,c"),
        ("MODIFY b INT AFTER b", "1054"),
        ("CHANGE a z INT AFTER b, ADD y INT AFTER a", "1054"),
    ] {
        let server = Server::new(1);
        let mut session = server.session();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (a INT PRIMARY KEY, b INT, d INT)",
            "INSERT INTO t VALUES (1, 2, 3)",
        ] {
            run(&mut session, sql).unwrap();
        }
        let outcome = run(&mut session, &format!("ALTER TABLE t {actions}"));
        let names = |server: &Server| -> String {
            let table = server.instance.catalog().table("d", "t").unwrap();
            table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(",")
        };
        if let Err(e) = outcome {
            assert_eq!(e.number.to_string(), expected, "{actions}");
            continue;
        }
        assert_eq!(names(&server), expected, "{actions}");
        let text = last_logged(&mut session);
        let is_said = text.starts_with("ALTER TABLE t /* placed in order */ ");
        let is_placed = actions.contains("FIRST") || actions.contains("AFTER");
        assert_eq!(is_said, is_placed && actions.contains("ADD"), "{text}");
        let before = rows(&mut session, "SELECT * FROM t");
        drop(session);
        let server = server.power_cut();
        assert_eq!(names(&server), expected, "{actions}, recovered");
        assert_eq!(rows(&mut server.session(), "SELECT * FROM d.t"), before, "{actions}, recovered");
    }
}

/// FIRST is behind a generated key that leads the table, which MariaDB and readers of the log don't
/// know of: the log says it so that all place the column alike.
#[test]
fn first_is_logged_as_a_place_that_all_understand() {
    let server = Server::new(1);
    let mut session = server.session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE r (a INT)",
        "SET sql_generate_invisible_primary_key = 1",
        "CREATE TABLE t (a INT)",
    ] {
        run(&mut session, sql).unwrap();
    }
    for (sql, expected) in [
        (
            "ALTER TABLE t ADD b INT first, MODIFY a BIGINT FIRST, LOCK=SHARED",
            "ALTER TABLE t /* placed in order */ ADD b INT AFTER `my_row_id`, \
             MODIFY a BIGINT AFTER `my_row_id`, LOCK=DEFAULT",
        ),
        (
            "ALTER TABLE t DROP PRIMARY KEY, DROP my_row_id, ADD n INT AUTO_INCREMENT KEY FIRST",
            "ALTER TABLE t DROP PRIMARY KEY, DROP my_row_id, ADD n INT AUTO_INCREMENT KEY FIRST",
        ),
        // The row id that nobody asked for is behind all others.
        ("ALTER TABLE r ADD b INT FIRST", "ALTER TABLE r ADD b INT FIRST"),
    ] {
        run(&mut session, sql).unwrap();
        assert_eq!(last_logged(&mut session), expected);
    }
}

/// A replica would keep rows in an engine that knows no transactions.
#[test]
fn the_log_names_no_engine_but_innodb() {
    let server = Server::new(1);
    let mut session = server.session();
    for sql in ["CREATE DATABASE d", "USE d", "SET sql_mode = ''"] {
        run(&mut session, sql).unwrap();
    }
    for (sql, expected) in [
        (
            "CREATE TABLE t (a INT PRIMARY KEY) ENGINE=MyISAM",
            "CREATE TABLE `d`.`t` (\n  `a` int NOT NULL,\n  PRIMARY KEY (`a`)\n) ENGINE=InnoDB DEFAULT \
             CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
        ),
        (
            "CREATE TABLE u (a INT PRIMARY KEY) ENGINE=innoDB",
            "CREATE TABLE u (a INT PRIMARY KEY) ENGINE=innoDB",
        ),
        (
            "ALTER TABLE t ENGINE = 'memory', ADD b INT, ENGINE `Aria`, LOCK=SHARED",
            "ALTER TABLE t ENGINE = InnoDB, ADD b INT, ENGINE InnoDB, LOCK=DEFAULT",
        ),
        ("ALTER TABLE t ENGINE=INNODB", "ALTER TABLE t ENGINE=INNODB"),
    ] {
        run(&mut session, sql).unwrap();
        assert_eq!(last_logged(&mut session), expected);
    }
}

/// The row id has a name of its own where a column called `my_row_id` goes in the same statement.
#[test]
fn a_row_id_is_not_taken_for_a_column_that_goes() {
    let server = Server::new(1);
    let mut session = server.session();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (my_row_id INT PRIMARY KEY, x INT)"] {
        run(&mut session, sql).unwrap();
    }
    run(&mut session, "ALTER TABLE t DROP COLUMN my_row_id").unwrap();
    let expected = "ALTER TABLE t ADD COLUMN `my_row_id_2` bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE \
                    COMMENT 'row identity of a table without primary key' PRIMARY KEY, DROP COLUMN my_row_id";
    assert_eq!(last_logged(&mut session), expected);
}

/// Nobody changes the row id by its name, nor gets one that a replica would number otherwise.
#[test]
fn the_row_id_is_not_for_clients() {
    let server = Server::new(1);
    let mut session = server.session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE u (n INT AUTO_INCREMENT PRIMARY KEY)",
    ] {
        run(&mut session, sql).unwrap();
    }
    for (sql, error) in [
        ("ALTER TABLE t DROP COLUMN my_row_id", 1091),
        ("ALTER TABLE t DROP PRIMARY KEY, DROP COLUMN my_row_id", 1091),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)", 1091),
        ("ALTER TABLE t MODIFY my_row_id INT", 1054),
        ("ALTER TABLE t CHANGE my_row_id b INT", 1054),
        ("ALTER TABLE t RENAME COLUMN my_row_id TO b", 1054),
        ("ALTER TABLE t ALTER COLUMN my_row_id SET VISIBLE", 1054),
        ("ALTER TABLE t ALTER COLUMN my_row_id SET DEFAULT 1", 1054),
        ("ALTER TABLE u DROP PRIMARY KEY", 1075),
        ("ALTER TABLE t ADD my_row_id INT FIRST", 1235),
        ("ALTER TABLE u DROP PRIMARY KEY, ADD KEY (n)", 1235),
    ] {
        let outcome = run(&mut session, sql).map(|_| ());
        assert_eq!(outcome.map_err(|e| e.number), Err(error), "{sql}");
    }
}

/// `mysqlbinlog` prints settings as SET; this one can't be set within a transaction, where CREATE
/// TABLE .. SELECT is logged.
#[test]
fn tables_of_a_query_are_logged_without_what_cannot_be_set_in_a_transaction() {
    let setting = |sql: &str| {
        logged("", sql, |_, event| match event {
            Event::Query(query) if query.sql.starts_with(b"CREATE") => {
                Some(query.status.explicit_defaults_for_timestamp)
            }
            _ => None,
        })
    };
    assert_eq!(setting("CREATE TABLE u (a TIMESTAMP)"), [Some(true)]);
    assert_eq!(setting("CREATE TABLE u AS SELECT NOW() AS a"), [None]);
}

/// What is a comment here and text to another server was logged as it came: a replica ran it, with
/// all privileges. And what is text here was a comment to a MariaDB.
#[test]
fn no_comment_in_the_log_is_text_to_another_server() {
    let setup = "CREATE DATABASE other; CREATE TABLE other.t (id INT PRIMARY KEY, a INT, b INT); \
         CREATE TABLE p (id INT PRIMARY KEY, a INT, KEY k (a)); CREATE VIEW v AS SELECT 1; \
         CREATE PROCEDURE r() SELECT 1; CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1; \
         CREATE TRIGGER tr BEFORE INSERT ON p FOR EACH ROW SET NEW.a = 1; \
         CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1; CREATE USER u, w";
    let statements = [
        "TRUNCATE TABLE {} p",
        "ALTER TABLE {} p ADD {} c INT",
        "ALTER TABLE p ADD c INT {} DEFAULT 5 {}, ADD CHECK (c {} > 1)",
        "ALTER TABLE p RENAME TO {} q",
        "CREATE INDEX i ON {} p (a)",
        "DROP INDEX k ON {} p",
        "RENAME TABLE {} p TO {} q",
        "DROP TABLE {} p",
        "CREATE TABLE {} l LIKE {} p",
        "CREATE TABLE l {} (a INT {})",
        "CREATE TABLE l {} AS SELECT 1 {} AS x",
        "DROP VIEW {} v",
        "CREATE VIEW w AS SELECT {} 1",
        "DROP TRIGGER {} tr",
        "DROP PROCEDURE {} r",
        "DROP FUNCTION {} f",
        "DROP EVENT {} e",
        "ALTER PROCEDURE {} r COMMENT {} 'x'",
        "ALTER EVENT {} e COMMENT {} 'x' DO SELECT {} 2",
        "CREATE DATABASE {} n CHARACTER SET {} latin1",
        "ALTER DATABASE {} other CHARACTER SET {} latin1",
        "DROP DATABASE {} other",
        "GRANT ALL ON {} d.* TO {} u",
        "REVOKE ALL ON {} *.* FROM {} u",
        "RENAME USER {} u TO {} x",
        "DROP USER {} u",
        "CREATE USER {} x IDENTIFIED BY {} 'x'",
        "ALTER USER {} u IDENTIFIED BY {} 'x'",
        "SET PASSWORD FOR {} u = {} 'x'",
        "CREATE TRIGGER {} ti BEFORE UPDATE ON {} p FOR EACH ROW SET {} NEW.a = {} 1",
        "CREATE PROCEDURE {} n() {} BEGIN {} SELECT {} 1; END {}",
        "CREATE FUNCTION {} n() RETURNS INT DETERMINISTIC RETURN {} 1",
        "CREATE EVENT {} n ON SCHEDULE EVERY {} 1 DAY DISABLE DO SELECT {} 1",
    ];
    // Whether one sends them, prepares them, or has a procedure run them.
    let ways: [&dyn Fn(&str) -> String; 3] = [
        &str::to_owned,
        &|sql| format!("SET @s = '{}'; PREPARE s FROM @s; EXECUTE s", sql.replace('\'', "''")),
        &|sql| format!("CREATE PROCEDURE run() {sql}; CALL run()"),
    ];
    let mut succeeded = [0; 3];
    for comment in ["/*!90000 other. */", "/*M! other. */", "/*!99999 a /* b */ c */", "/*!80000 */"] {
        for statement in statements {
            for (way, wrapped) in ways.iter().enumerate() {
                let server = Server::new(1);
                let mut session = server.session();
                run(&mut session, "CREATE DATABASE d; USE d").unwrap();
                run(&mut session, setup).unwrap();
                let sql = statement.replace("{}", comment);
                let from = server.instance.log().visible();
                let outcome = run(&mut session, &wrapped(&sql));
                // Some can't be in a procedure, or can't be prepared.
                assert!(outcome.is_ok() || way > 0, "{sql}: {outcome:?}");
                succeeded[way] += usize::from(outcome.is_ok());
                events(&server, from, |_, event| {
                    let Event::Query(query) = event else { return };
                    // The server's own one, in what it has written itself.
                    let text = String::from_utf8_lossy(&query.sql).replace("/*!80023 INVISIBLE */", "");
                    let is_harmless = !text.contains("/*M!") && !text.contains("/*!9");
                    assert!(is_harmless, "{sql}: {text}");
                    let keeps_body = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]
                        .iter()
                        .any(|word| text.starts_with("CREATE") && text.contains(word));
                    let is_alter_event = text.starts_with("ALTER") && text.contains(" EVENT ");
                    assert!(keeps_body || is_alter_event || !text.contains("/*!"), "{sql}: {text}");
                });
                // What is kept of it is what was logged.
                let shown = |server: &Server| {
                    let names =
                        ["PROCEDURE d.n", "PROCEDURE d.run", "FUNCTION d.n", "EVENT d.n", "TRIGGER d.ti"];
                    let mut session = server.session();
                    names.map(|name| {
                        run(&mut session, &format!("SHOW CREATE {name}")).map(|o| format!("{o:?}")).ok()
                    })
                };
                let before = shown(&server);
                drop(session);
                assert_eq!(before, shown(&server.power_cut()), "{sql}");
            }
        }
    }
    // Most can be prepared, and run in a procedure.
    assert!(succeeded[1..].iter().all(|n| *n > succeeded[0] / 2), "{succeeded:?}");
}
