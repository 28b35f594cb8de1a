//! Columns of other types than the source's: what `replica_type_conversions` lets through, and what
//! becomes of the values. The outcomes are those of MySQL 9.7 as source and replica, but where the
//! module's story (`row_events/conversion.rs`) says otherwise.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Server, log_of, rows, run, value};
use sql::replica::{Applier, ApplyError, Channel, SourceConfig};

const OF_SOURCE: &str = "aaaaaaaa-0000-0000-0000-000000000001";

/// A source and a replica with tables of one name, which the replica has made itself.
struct Pair {
    source: Server,
    replica: Server,
    /// How many of the source's events the replica is not to have.
    first: usize,
    number: u32,
    /// The log says that a MySQL wrote it.
    is_of_mysql: bool,
}

impl Pair {
    fn new(setting: &str) -> Self {
        let (source, replica) = (Server::new(1), Server::new(2));
        for server in [&source, &replica] {
            run(&mut server.session(), "CREATE DATABASE d CHARACTER SET utf8mb4").unwrap();
        }
        let set = format!("SET GLOBAL replica_type_conversions = '{setting}'");
        run(&mut replica.session(), &set).unwrap();
        Self { source, replica, first: 0, number: 0, is_of_mysql: false }
    }

    fn create(&mut self, there: &str, here: &str) {
        for (server, columns) in [(&self.source, there), (&self.replica, here)] {
            run(&mut server.session(), "DROP TABLE IF EXISTS d.t").unwrap();
            run(&mut server.session(), &format!("CREATE TABLE d.t ({columns})")).unwrap();
        }
        self.first = log_of(&self.source).len();
    }

    /// Runs a statement on the source, and what it logged on the replica.
    fn run(&mut self, sql: &str) -> Result<(), ApplyError> {
        self.run_with("sql_mode = ''", sql)
    }

    /// With these settings of the source's session.
    fn run_with(&mut self, settings: &str, sql: &str) -> Result<(), ApplyError> {
        let mut session = self.source.session();
        run(&mut session, &format!("SET {settings}")).unwrap();
        self.number += 1;
        run(&mut session, &format!("SET gtid_next = '{OF_SOURCE}:{}'", self.number)).unwrap();
        run(&mut session, sql).unwrap();
        let mut events = log_of(&self.source);
        if self.is_of_mysql {
            let bytes = &mut Arc::get_mut(&mut events[0]).unwrap().bytes;
            let version = bytes.windows(9).position(|bytes| bytes == b"-duramen-").unwrap();
            bytes[version..][..9].copy_from_slice(b"-release-");
            let end = bytes.len() - 4;
            // As if the file was closed: that flag is not in it.
            let mut summed = bytes[..end].to_vec();
            summed[17] &= !1;
            let checksum = crc32fast::hash(&summed).to_le_bytes();
            bytes[end..].copy_from_slice(&checksum);
        }
        let config = SourceConfig { host: "source".into(), ..SourceConfig::default() };
        let channel = Arc::new(Channel::new("", config));
        channel.with(|state| state.applier.wanted = true);
        let mut applier = Applier::new(&self.replica.instance, &channel).unwrap();
        let outcome = std::iter::once(&events[0])
            .chain(&events[std::mem::replace(&mut self.first, events.len())..])
            .try_for_each(|event| applier.apply(event).map(|_| ()));
        applier.finish().unwrap();
        outcome
    }

    fn shown(&self) -> String {
        let mut session = self.replica.session();
        run(&mut session, "SET time_zone = '+00:00'").unwrap();
        let all = rows(&mut session, "SELECT * FROM d.t");
        all.into_iter().map(|row| row.join(",")).collect::<Vec<_>>().join(" | ")
    }
}

/// What the replica has of a column of type `from` in one of type `to`, or the error's number.
fn outcome(setting: &str, from: &str, to: &str, values: &str) -> String {
    let mut pair = Pair::new(setting);
    pair.create(&format!("c {from}"), &format!("c {to}"));
    match pair.run(&format!("INSERT INTO d.t VALUES {values}")) {
        Ok(()) => pair.shown(),
        Err(e) => e.number.to_string(),
    }
}

/// `expected` without settings, with `ALL_NON_LOSSY`, with `ALL_LOSSY,ALL_NON_LOSSY`; the last one
/// stands for all that follow.
fn check(from: &str, to: &str, values: &str, expected: &[&str]) {
    for (number, setting) in ["", "ALL_NON_LOSSY", "ALL_LOSSY,ALL_NON_LOSSY"].into_iter().enumerate() {
        let expected = expected[number.min(expected.len() - 1)];
        assert_eq!(outcome(setting, from, to, values), expected, "{from} -> {to}, {setting:?}");
    }
}

#[test]
fn integers() {
    check("TINYINT", "BIGINT", "(-128),(127)", &["13146", "-128 | 127"]);
    check(
        "INT",
        "MEDIUMINT",
        "(-2147483648),(2147483647),(5)",
        &["13146", "13146", "-8388608 | 8388607 | 5"],
    );
    check("TINYINT UNSIGNED", "INT", "(200)", &["13146", "200"]);
    check("INT UNSIGNED", "BIGINT UNSIGNED", "(4000000000)", &["13146", "4000000000"]);
    check("TINYINT", "INT UNSIGNED", "(-5)", &["13146", "1264", "0"]);
    check("INT", "INT UNSIGNED", "(-1)", &["4294967295"]);
    check("INT", "DOUBLE", "(5)", &["13146"]);
    check("INT", "VARCHAR(20)", "(5)", &["13146"]);
}

#[test]
fn a_sign_that_the_setting_says() {
    let of = |setting: &str| outcome(setting, "TINYINT UNSIGNED", "INT", "(200),(5)");
    assert_eq!(of("ALL_NON_LOSSY"), "200 | 5");
    assert_eq!(of("ALL_NON_LOSSY,ALL_SIGNED"), "-56 | 5");
    assert_eq!(of("ALL_NON_LOSSY,ALL_UNSIGNED"), "200 | 5");
    assert_eq!(of("ALL_NON_LOSSY,ALL_SIGNED,ALL_UNSIGNED"), "-56 | 5");
    assert_eq!(outcome("ALL_NON_LOSSY,ALL_UNSIGNED", "TINYINT", "INT", "(-5)"), "251");
}

#[test]
fn decimals_and_floating_points() {
    check("DECIMAL(10,2)", "DECIMAL(12,2)", "(1.5),(NULL)", &["13146", "1.50 | NULL"]);
    check("DECIMAL(12,2)", "DECIMAL(10,2)", "(9999999999.99)", &["13146", "13146", "99999999.99"]);
    check("DECIMAL(10,2)", "DECIMAL(10,4)", "(1.25)", &["13146", "1.2500"]);
    check("DECIMAL(10,2)", "DECIMAL(10,4)", "(12345678.12)", &["13146", "1264", "999999.9999"]);
    check("DECIMAL(10,4)", "DECIMAL(12,2)", "(1.2555)", &["13146", "1265", "1.26"]);
    check("DECIMAL(10,2)", "DOUBLE", "(-1.25)", &["13146", "13146", "-1.25"]);
    check("DOUBLE", "DECIMAL(10,2)", "(1.255),(1e30)", &["13146", "13146", "1.26 | 99999999.99"]);
    check("FLOAT", "DOUBLE", "(1.1)", &["13146", "1.100000023841858"]);
    check("DOUBLE", "FLOAT", "(1.1),(1e300)", &["13146", "13146", "1.1 | 3.40282e38"]);
    check("FLOAT(10,2)", "FLOAT", "(1.25)", &["1.25"]);
}

#[test]
fn bits_and_labels() {
    check("BIT(3)", "BIT(5)", "(b'101')", &["13146", "\\x05"]);
    check("BIT(5)", "BIT(3)", "(b'10101')", &["13146", "13146", "\\x07"]);
    check("ENUM('a','b','c')", "ENUM('b','a','c')", "('a')", &["b"]);
    check("ENUM('a','b','c')", "ENUM('a','b')", "('b'),('c')", &["1265", "1265", "b | "]);
    check("ENUM('a','b','c')", "CHAR(9)", "('a')", &["13146"]);
    check("SET('a','b','c')", "SET('x','y')", "('a,c')", &["1265", "1265", "x"]);
    let many = |n: u32| (0..n).map(|n| format!("'x{n}'")).collect::<Vec<_>>().join(",");
    let wide = format!("ENUM({})", many(300));
    check("ENUM('a','b','c')", &wide, "('a'),('c')", &["13146", "x0 | x2"]);
    check(&wide, "ENUM('a','b','c')", "('x1'),('x299')", &["13146", "13146", "b | "]);
    let wide = format!("SET({})", many(10));
    check("SET('a','b','c')", &wide, "('a,c')", &["13146", "x0,x2"]);
    check(&wide, "SET('a','b','c')", "('x1,x9')", &["13146", "13146", "b"]);
}

#[test]
fn texts_and_byte_strings() {
    check("CHAR(10)", "CHAR(20)", "('ab'),(NULL)", &["13146", "ab | NULL"]);
    check("VARCHAR(20)", "VARCHAR(10)", "('01234567890')", &["13146", "13146", "0123456789"]);
    check("VARCHAR(10)", "CHAR(10)", "('ab  ')", &["13146", "ab"]);
    check("VARCHAR(100)", "TINYTEXT", "('ä')", &["13146", "ä"]);
    check("TINYTEXT", "VARCHAR(63)", "('ä')", &["13146", "13146", "ä"]);
    check("TINYTEXT", "VARCHAR(64)", "('ä')", &["13146", "ä"]);
    check("TEXT", "LONGTEXT", "('ä')", &["13146", "ä"]);
    check("TEXT", "BLOB", "('ab')", &["ab"]);
    check("BLOB", "TEXT", "('ab')", &["ab"]);
    check("BLOB", "TEXT", "(x'ff')", &["1366", "1366", ""]);
    check("BINARY(3)", "VARBINARY(3)", "('ab')", &["13146", "\\x61\\x62\\x00"]);
    check("VARBINARY(3)", "BINARY(3)", "('ab')", &["13146", "\\x61\\x62\\x00"]);
    check(
        "CHAR(10)",
        "BINARY(40)",
        "('0123456789')",
        &[&format!(
            "\\x{}{}",
            "30313233343536373839"
                .as_bytes()
                .chunks(2)
                .map(|c| std::str::from_utf8(c).unwrap())
                .collect::<Vec<_>>()
                .join("\\x"),
            "\\x00".repeat(30)
        )],
    );
}

/// MySQL copies the bytes, whatever they mean.
#[test]
fn texts_of_another_character_set_are_converted() {
    check("TEXT CHARACTER SET latin1", "TEXT", "('é')", &["13146", "é"]);
    check("TEXT", "TEXT CHARACTER SET latin1", "('é')", &["13146", "13146", "é"]);
    check("TEXT", "TEXT CHARACTER SET latin1", "('€ő')", &["13146", "13146", "€?"]);
    check("TEXT CHARACTER SET utf8mb3", "TEXT", "('é')", &["é"]);
    check("VARCHAR(40) CHARACTER SET latin1", "VARCHAR(10)", "('é')", &["13146", "é"]);
}

#[test]
fn fractions_of_seconds() {
    let value = "('2020-01-02 12:34:56.987654')";
    check("DATETIME(1)", "DATETIME(2)", value, &["2020-01-02 12:34:57.00"]);
    check("DATETIME(2)", "DATETIME(1)", value, &["2020-01-02 12:34:56.9"]);
    check("TIMESTAMP(6)", "TIMESTAMP(5)", value, &["2020-01-02 12:34:56.98765"]);
    // Error 1610 in MySQL.
    check("DATETIME", "DATETIME(6)", value, &["13146", "2020-01-02 12:34:57.000000"]);
    check("DATETIME(6)", "DATETIME", value, &["13146", "13146", "2020-01-02 12:34:56"]);
    check("TIME(3)", "TIME(6)", "('-00:00:01.5')", &["13146", "-00:00:01.500000"]);
    check("DATETIME", "TIMESTAMP", value, &["13146"]);
    check("DATE", "DATETIME", "('2020-01-02')", &["13146"]);
}

#[test]
fn nulls_in_columns_that_have_none_here() {
    check("INT NULL", "INT NOT NULL", "(NULL),(5)", &["0 | 5"]);
    check("INT NULL", "BIGINT NOT NULL", "(NULL),(5)", &["13146", "0 | 5"]);
    check("VARCHAR(10) NULL", "VARCHAR(10) NOT NULL", "(NULL),('a')", &[" | a"]);
}

#[test]
fn json_stays_json() {
    check("JSON", "LONGTEXT", "('[1]')", &["13146"]);
    check("LONGTEXT", "JSON", "('[1]')", &["13146"]);
}

#[test]
fn the_error_has_mysqls_text() {
    let mut pair = Pair::new("");
    pair.create("id INT PRIMARY KEY, c VARCHAR(20)", "id INT PRIMARY KEY, c VARCHAR(10)");
    let e = pair.run("INSERT INTO d.t VALUES (1, 'a')").unwrap_err();
    let text = "Column 2 (counting the first column as number 1) of table 'd.t' cannot be converted from type \
                'varchar(80(bytes))' to type 'varchar(40(bytes) utf8mb4)'";
    assert!(e.message.ends_with(text), "{e}");
    assert!(e.message.starts_with("Worker 1 failed executing transaction"), "{e}");
}

#[test]
fn rows_are_found_by_converted_values() {
    // Without a primary key both have a row id behind the other columns.
    let (more, shown) = ("more INT DEFAULT 7,", ",7");
    for key in ["PRIMARY KEY (id)", "KEY (id)"] {
        for image in ["FULL", "MINIMAL"] {
            let mut pair = Pair::new("ALL_NON_LOSSY");
            run(&mut pair.source.session(), &format!("SET GLOBAL binlog_row_image = {image}")).unwrap();
            pair.create(
                &format!("id INT NOT NULL, a VARCHAR(10), b DECIMAL(4,1), j JSON, {key}"),
                &format!("id BIGINT NOT NULL, a VARCHAR(300), b DECIMAL(6,2), j JSON, {more} {key}"),
            );
            pair.run("INSERT INTO d.t VALUES (1, 'a', 1.5, '{\"k\": 1}'), (2, NULL, NULL, NULL)").unwrap();
            pair.run("UPDATE d.t SET a = 'b', j = JSON_SET(j, '$.k', 2) WHERE id = 1").unwrap();
            let first = format!("1,b,1.50,{{\"k\": 2}}{shown}");
            assert_eq!(pair.shown(), format!("{first} | 2,NULL,NULL,NULL{shown}"), "{key} {image}");
            pair.run("DELETE FROM d.t WHERE id = 2").unwrap();
            assert_eq!(pair.shown(), first, "{key} {image}");
        }
    }
}

#[test]
fn nothing_of_an_event_stays_that_was_stopped() {
    let mut pair = Pair::new("ALL_NON_LOSSY");
    pair.create("c DECIMAL(10,4)", "c DECIMAL(12,2)");
    let e = pair.run("INSERT INTO d.t VALUES (1.5), (1.2555)").unwrap_err();
    assert!(e.message.contains("Data truncated for column 'c'"), "{e}");
    assert_eq!(value(&mut pair.replica.session(), "SELECT COUNT(*) FROM d.t"), "0");
}

/// A source with a key, or a MySQL, has no row id; here an added column is behind it.
#[test]
fn a_row_id_that_only_the_replica_has_takes_no_columns_place() {
    // Without names a server with row ids is known by the number of its columns only.
    let (with_key, without) = ("PRIMARY KEY (a)", "KEY (a)");
    for (metadata, key, is_changed) in [
        ("FULL", with_key, true),
        ("FULL", without, true),
        ("FULL", without, false),
        ("MINIMAL", with_key, true),
        ("MINIMAL", without, false),
    ] {
        let mut pair = Pair::new("ALL_NON_LOSSY");
        run(&mut pair.source.session(), &format!("SET GLOBAL binlog_row_metadata = {metadata}")).unwrap();
        let added = if is_changed { "" } else { ", z BIGINT UNSIGNED NOT NULL" };
        pair.create(
            &format!("a INT, b VARCHAR(10), z BIGINT UNSIGNED NOT NULL, {key}"),
            &format!("a BIGINT, b VARCHAR(10){added}"),
        );
        if is_changed {
            run(&mut pair.replica.session(), "ALTER TABLE d.t ADD z BIGINT UNSIGNED NOT NULL").unwrap();
        }
        pair.run("INSERT INTO d.t VALUES (1, 'x', 77), (2, 'y', 78), (3, 'z', 79)").unwrap();
        pair.run("UPDATE d.t SET z = 5 WHERE a = 1").unwrap();
        pair.run("DELETE FROM d.t WHERE a = 2").unwrap();
        assert_eq!(pair.shown(), "1,x,5 | 3,z,79", "{metadata} {key} {is_changed}");
    }
}

/// A minimal row image lacks computed columns that have not changed. They were computed again, in
/// the applier's time zone.
#[test]
fn computed_columns_that_an_event_lacks_stay() {
    let mut pair = Pair::new("");
    let columns = "id INT PRIMARY KEY, d DATETIME, s TIMESTAMP AS (d) STORED, v DATE AS (s) STORED, u INT,
        w INT DEFAULT 5";
    pair.create(columns, columns);
    let settings = "time_zone = '+05:30', binlog_row_image = 'MINIMAL'";
    pair.run_with(settings, "INSERT INTO d.t (id, d, u) VALUES (1, '2020-01-01 03:00:00', 1)").unwrap();
    assert_eq!(pair.shown(), "1,2020-01-01 03:00:00,2019-12-31 21:30:00,2020-01-01,1,5");
    pair.run_with(settings, "UPDATE d.t SET u = 2").unwrap();
    assert_eq!(pair.shown(), "1,2020-01-01 03:00:00,2019-12-31 21:30:00,2020-01-01,2,5");
    pair.run_with(settings, "UPDATE d.t SET d = '2020-01-01 09:00:00'").unwrap();
    assert_eq!(pair.shown(), "1,2020-01-01 09:00:00,2020-01-01 03:30:00,2020-01-01,2,5");
}

/// Those that only the replica has are computed.
#[test]
fn computed_columns_of_the_replica_follow() {
    let mut pair = Pair::new("");
    pair.create("id INT PRIMARY KEY, u INT", "id INT PRIMARY KEY, u INT, v INT AS (u + 1) STORED");
    let settings = "binlog_row_image = 'MINIMAL'";
    pair.run_with(settings, "INSERT INTO d.t VALUES (1, 5)").unwrap();
    pair.run_with(settings, "UPDATE d.t SET u = 7").unwrap();
    assert_eq!(pair.shown(), "1,7,8");
}

/// What a MySQL has logged of a VIRTUAL column need not be what its readers compute: here an empty
/// SET that was NULL when it was looked at. A STORED one is what was logged.
#[test]
fn virtual_columns_that_a_mysql_has_logged_otherwise_stop() {
    let mut pair = Pair::new("");
    pair.is_of_mysql = true;
    let of_source = "id INT PRIMARY KEY, s SET('a', 'b') NOT NULL, v CHAR(1)";
    pair.create(of_source, "id INT PRIMARY KEY, s SET('a', 'b') NOT NULL, v CHAR(1) AS (COALESCE(s, '5'))");
    pair.run("INSERT INTO d.t VALUES (1, 'a', 'a')").unwrap();
    let error = pair.run("INSERT INTO d.t VALUES (2, '', '5')").unwrap_err();
    assert_eq!(error.number, 1235);
    assert!(error.message.contains("the VIRTUAL column d.t.v in a row"), "{}", error.message);
    for logged in ["'x'", "NULL"] {
        let error = pair.run(&format!("UPDATE d.t SET v = {logged} WHERE id = 1")).unwrap_err();
        assert_eq!(error.number, 1235);
    }
    assert_eq!(pair.shown(), "1,a,a");
    pair.create(of_source, "id INT PRIMARY KEY, s SET('a', 'b'), v CHAR(1) AS (COALESCE(s, '5')) STORED");
    pair.run("INSERT INTO d.t VALUES (2, '', '5')").unwrap();
    assert_eq!(pair.shown(), "2,,5");
}

/// A MySQL keeps the bytes of an ENUM's members where a table's character set is converted.
#[test]
fn members_that_a_mysql_does_not_convert_stop() {
    let mut pair = Pair::new("");
    pair.is_of_mysql = true;
    pair.create("e ENUM('é', 'b')", "e ENUM('é', 'b')");
    let error = pair.run("ALTER TABLE d.t CONVERT TO CHARACTER SET latin1").unwrap_err();
    assert!(error.number == 1235 && error.message.contains("CONVERT TO"), "{}", error.message);
}

/// Rows that are looked for without a lock are those of the transactions before, which may have
/// their places in the log and not be in the tables yet: a busy replica stopped with error 1032.
#[test]
fn a_row_is_found_that_the_transaction_before_has_changed() {
    const TRANSACTIONS: u32 = 2000;
    let mut pair = Pair::new("");
    let columns = "k VARCHAR(20) NOT NULL, n INT NOT NULL, UNIQUE KEY (k)";
    pair.create(columns, columns);
    run(&mut pair.replica.session(), "CREATE TABLE d.others (writer INT)").unwrap();
    let mut session = pair.source.session();
    let mut say = |number: u32, sql: &str| {
        run(&mut session, &format!("SET gtid_next = '{OF_SOURCE}:{number}'")).unwrap();
        run(&mut session, sql).unwrap();
    };
    say(1, "INSERT INTO d.t VALUES ('a', 0)");
    (2..=TRANSACTIONS).for_each(|number| say(number, "UPDATE d.t SET n = n + 1"));
    let events = log_of(&pair.source);
    let config = SourceConfig { host: "source".into(), ..SourceConfig::default() };
    let channel = Arc::new(Channel::new("", config));
    channel.with(|state| state.applier.wanted = true);
    let mut applier = Applier::new(&pair.replica.instance, &channel).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Others put their commits into the log's order meanwhile, and the applier's with them.
        for writer in 0..3 {
            let mut session = pair.replica.session();
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    run(&mut session, &format!("INSERT INTO d.others VALUES ({writer})")).unwrap();
                }
            });
        }
        let mut all = std::iter::once(&events[0]).chain(&events[pair.first..]);
        let outcome = all.try_for_each(|event| applier.apply(event).map(drop));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    applier.finish().unwrap();
    assert_eq!(pair.shown(), format!("a,{}", TRANSACTIONS - 1));
}
