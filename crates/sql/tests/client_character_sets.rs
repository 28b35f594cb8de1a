//! Clients whose character set is not UTF-8: what they define means the same to all clients, after
//! restarts, and in the log.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::event::{QueryEvent, StatusVars};
use binlog::group::GroupContext;
use common::{Printed, Server, rows, run, value};
use sql::{Session, SqlError};
use storage::WriteBatch;
use storage::engine::Replicated;

/// The text as a client of latin1 sends it.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

fn send(session: &mut Session, text: &str) -> Result<Printed, SqlError> {
    let mut printed = Printed::default();
    session.execute(&latin1(text), &mut printed).map(|()| printed)
}

fn client_of_latin1(server: &Server) -> Session {
    let mut session = server.session();
    run(&mut session, "SET NAMES latin1").unwrap();
    session
}

/// What a client of latin1 is sent, which the tests' sink prints as bytes.
fn received(session: &mut Session, text: &str) -> Vec<String> {
    let decode = |cell: String| match cell.starts_with("\\x") {
        true => cell.split("\\x").skip(1).map(|b| char::from(u8::from_str_radix(b, 16).unwrap())).collect(),
        false => cell,
    };
    let printed = send(session, text).unwrap();
    printed.rows.into_iter().flatten().map(|cell| cell.map_or("NULL".to_owned(), decode)).collect()
}

const DEFINITIONS: [&str; 7] = [
    "CREATE DATABASE `dä`",
    "USE `dä`",
    "CREATE TABLE `tÖ` (id INT PRIMARY KEY, b ENUM('Ö','x') DEFAULT 'Ö', s SET('é','ü') CHARACTER SET latin1, \
     ß VARCHAR(10) DEFAULT 'ä' COMMENT 'ü', l VARCHAR(10) CHARACTER SET latin1 DEFAULT 'ÿ', \
     g VARCHAR(20) AS (concat(ß, 'é')), x VARCHAR(5) DEFAULT (concat('ß', _latin1'ß')), \
     v VARBINARY(9) DEFAULT 'Ö', KEY `kæ` (ß), CONSTRAINT `cø` CHECK (ß <> 'Ñ')) COMMENT 'Tä'",
    "ALTER TABLE `tÖ` ADD n VARCHAR(9) DEFAULT 'Å' COMMENT 'å', ALTER COLUMN l SET DEFAULT 'þ'",
    "CREATE INDEX `iø` ON `tÖ` (l) COMMENT 'ï'",
    "CREATE FUNCTION `fö`() RETURNS VARCHAR(40) DETERMINISTIC COMMENT 'Ï' \
     RETURN concat('Ö', hex('Ö'), hex(_latin1'Ö'), hex(_binary'Ö' 'ä'))",
    "CREATE USER `üser`@`localhost` IDENTIFIED BY 'pä' COMMENT 'é'",
];

/// All of it as a client of UTF-8 sees it.
fn seen(session: &mut Session) -> Vec<String> {
    [
        "SHOW CREATE TABLE `dä`.`tÖ`",
        "SELECT column_name, column_type, column_default, column_comment FROM information_schema.columns \
         WHERE table_schema = 'dä' ORDER BY ordinal_position",
        "SHOW CREATE FUNCTION `dä`.`fö`",
        "SELECT `dä`.`fö`()",
        "SHOW CREATE USER `üser`@`localhost`",
        "SELECT user, user_attributes FROM mysql.user WHERE user LIKE 'ü%'",
        "SELECT id, b, s, ß, l, hex(l), g, x, hex(v), n FROM `dä`.`tÖ`",
    ]
    .into_iter()
    .flat_map(|sql| rows(session, sql).concat())
    .collect()
}

#[test]
fn definitions_are_those_that_a_client_of_utf8_would_make() {
    let server = Server::new(1);
    server.instance.set_password_hasher(Box::new(|_, password| Some(format!("{password:?}").into_bytes())));
    let mut session = client_of_latin1(&server);
    for sql in DEFINITIONS {
        send(&mut session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    send(&mut session, "INSERT INTO `tÖ` (id, s) VALUES (1, 'ü')").unwrap();
    let mut other = server.session();
    let before = seen(&mut other);
    let all = before.concat();
    for text in [
        "`b` enum('Ö','x') DEFAULT 'Ö'",
        "set('é','ü')",
        "`ß` varchar(10) DEFAULT 'ä' COMMENT 'ü'",
        "`l` varchar(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT 'þ'",
        "KEY `kæ` (`ß`)",
        "KEY `iø` (`l`) COMMENT 'ï'",
        "CONSTRAINT `cø` CHECK",
        "COMMENT='Tä'",
        "DEFAULT 'Å' COMMENT 'å'",
        "COMMENT 'Ï'",
        "ÖD6D6D6E4",
        "üser",
        "{\"metadata\": {\"comment\": \"é\"}}",
    ] {
        assert!(all.contains(text), "{text} is missing in {before:#?}");
    }
    let row = &before[before.len() - 10..];
    assert_eq!(row, ["1", "Ö", "ü", "ä", "þ", "FE", "äé", "ßß", "D6", "Å"]);
    // The client's password is what it types.
    let hash = server.instance.account("üser", "localhost").unwrap().auth_string;
    assert_eq!(hash, format!("{:?}", latin1("pä")).into_bytes());
    drop((session, other));
    let server = server.restart().power_cut();
    assert_eq!(seen(&mut server.session()), before);
    let mut session = client_of_latin1(&server);
    let shown = received(&mut session, "SHOW CREATE TABLE `dä`.`tÖ`").concat();
    assert!(shown.contains("`b` enum('Ö','x') DEFAULT 'Ö'") && shown.contains("COMMENT='Tä'"), "{shown}");
    assert_eq!(received(&mut session, "SELECT `dä`.`fö`() FROM `dä`.`tÖ`"), ["ÖD6D6D6E4"]);
    let printed = send(&mut session, "SELECT ß `ñ` FROM `dä`.`tÖ`").unwrap();
    let column = &printed.columns[0];
    assert_eq!((&*column.name, &*column.org_name), ("ñ", "ß"));
    assert_eq!(&*column.encoded(&column.name), latin1("ñ"));
    for sql in ["DROP USER `üser`@`localhost`", "DROP FUNCTION `dä`.`fö`", "DROP DATABASE `dä`"] {
        send(&mut session, sql).unwrap();
    }
}

#[test]
fn names_that_differ_stay_apart() {
    let server = Server::new(1);
    let mut session = client_of_latin1(&server);
    send(
        &mut session,
        "CREATE USER `ä`, `ö`, `ü`; CREATE DATABASE d; CREATE TABLE d.t (ä INT, ö INT, ü INT)",
    )
    .unwrap();
    assert_eq!(rows(&mut server.session(), "SELECT user FROM mysql.user WHERE length(user) = 2").len(), 3);
    assert_eq!(send(&mut session, "CREATE USER `ä`").map(|_| ()).unwrap_err().number, 1396);
    assert_eq!(received(&mut session, "SHOW COLUMNS FROM d.t LIKE 'ö'")[0], "ö");
}

#[test]
fn names_and_comments_are_text() {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    for names in ["SET NAMES utf8mb4", "SET NAMES binary"] {
        run(&mut session, names).unwrap();
        for sql in [
            "CREATE USER 'Ö'@'localhost'",
            "CREATE USER u COMMENT 'Ö'",
            "CREATE TABLE t (a INT COMMENT 'Ö')",
            "CREATE TABLE t (a INT) COMMENT 'Ö'",
            "CREATE TABLE t (a INT, KEY (a) COMMENT 'Ö')",
            "CREATE FUNCTION f() RETURNS INT DETERMINISTIC COMMENT 'Ö' RETURN 1",
        ] {
            let error = send(&mut session, sql).map(|_| ()).expect_err(sql);
            assert_eq!(error.number, 1300, "{sql}: {error}");
        }
    }
}

#[test]
fn statements_are_read_in_the_client_s_character_set() {
    let server = Server::new(1);
    let mut session = client_of_latin1(&server);
    let mut check = |sql: &str, expected: &[&str]| assert_eq!(received(&mut session, sql), expected, "{sql}");
    check(
        "SELECT 'Ö', hex('Ö'), hex(_latin1'Ö'), hex(_binary'Ö'), length('Ö')",
        &["Ö", "D6", "D6", "D6", "1"],
    );
    check("SELECT charset('Ö'), charset(_binary'Ö'), hex(_utf8mb4'Ã\u{96}')", &["latin1", "binary", "C396"]);
    check("SELECT hex(_latin1'Ö' /* ä */ 'ü'), 'a' 'Ö' /* é */", &["D6FC", "aÖ"]);
    check("SELECT group_concat(a SEPARATOR 'Ö') FROM (SELECT 1 a UNION SELECT 2) t", &["1Ö2"]);
    // A statement of several may change it.
    check("SET NAMES utf8mb4; SELECT hex('Ã\u{96}'); SET NAMES latin1; SELECT hex('Ö')", &["C396", "D6"]);
    check("SELECT 'Ö'; SELECT 'Ö'", &["Ö", "Ö"]);
    // The same bytes in other sets are other texts, also if they are repeated.
    for _ in 0..3 {
        check("SET NAMES utf8mb4", &[]);
        check("SELECT char_length('Ã\u{96}')", &["1"]);
        check("SET NAMES latin1", &[]);
        check("SELECT char_length('Ã\u{96}')", &["2"]);
    }
    check("PREPARE s FROM \"SELECT hex('Ö'), hex(_latin1'Ö')\"", &[]);
    // The text has become UTF-8 by then, also for an introducer; so it is in MySQL.
    check("EXECUTE s", &["D6", "C396"]);
    check("SET @q = 'SELECT hex(''Ö'')'", &[]);
    check("PREPARE s FROM @q", &[]);
    check("EXECUTE s", &["D6"]);
    check("SET @Ö = 'ä'", &[]);
    check("SELECT @Ö", &["ä"]);
    let e = send(&mut session, "SELEKT 'Ö'").map(|_| ()).unwrap_err();
    assert!(e.message.contains("near 'SELEKT 'Ö''"), "{e}");
    let e = send(&mut session, "SELECT Ö").map(|_| ()).unwrap_err();
    assert_eq!((e.number, e.message.contains("'Ö'")), (1054, true));
    assert_eq!(&*datum::sink::encoded_message("é ж", session.results_charset()), b"\xe9 \\0436");
    run(&mut session, "SET NAMES ascii").unwrap();
    assert_eq!(send(&mut session, "SELECT 'Ö'").map(|_| ()).unwrap_err().number, 1300);
    assert_eq!(received(&mut session, "SELECT hex(_latin1'Ö') /* Ö */"), ["D6"]);
}

#[test]
fn statements_that_older_versions_logged_in_the_client_s_character_set_are_replayed() {
    let server = Server::new(1);
    run(&mut server.session(), "CREATE DATABASE d").unwrap();
    let sql = latin1("CREATE TABLE t (ä INT DEFAULT '1' COMMENT 'ö', e ENUM('Ö') CHARACTER SET latin1)");
    let status = StatusVars { charset: Some([8, 8, 255]), ..StatusVars::default() };
    let event = QueryEvent { status, ..QueryEvent::new(0, b"d", &sql) };
    let context = GroupContext::new(1, 0, 80408);
    server.instance.engine().commit_ddl(context, &event, WriteBatch::new(), Replicated::default()).unwrap();
    let server = server.power_cut();
    let shown = rows(&mut server.session(), "SHOW CREATE TABLE d.t").concat().concat();
    assert!(shown.contains("`ä` int DEFAULT '1' COMMENT 'ö'") && shown.contains("enum('Ö')"), "{shown}");
}

#[test]
fn literals_of_definitions_have_the_connection_s_character_set() {
    let server = Server::new(1);
    let mut session = client_of_latin1(&server);
    run(&mut session, "CREATE DATABASE d; USE d; CREATE TABLE t (a VARCHAR(9), CHECK (a <> 'x'))").unwrap();
    assert!(rows(&mut session, "SHOW CREATE TABLE t").concat().concat().contains("<> _latin1'x'"));
    run(&mut session, "SET character_set_client = utf8mb4; CREATE TABLE u (a VARCHAR(9), CHECK (a <> 'x'))")
        .unwrap();
    assert!(rows(&mut session, "SHOW CREATE TABLE u").concat().concat().contains("<> _latin1'x'"));
    assert_eq!(value(&mut session, "SELECT charset('x')"), "latin1");
}
