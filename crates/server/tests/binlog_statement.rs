//! The BINLOG statement: what `mysqlbinlog` prints of a log is executed again, and gives the same
//! rows.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::{Client, ClientError};
use std::io::Write;
use std::process::{Command, Stdio};

/// What MySQL 9.7's `mysqlbinlog` printed (without its comments) of tables of many types, changed
/// with whole and minimal row images and with partial JSON updates; with and without primary keys.
const RECORDED: &str = include_str!("binlog_statement/mysql97.sql");

/// Runs a text with the `mariadb` client, which knows DELIMITER: its errors.
fn pipe(server: &Server, text: &[u8], args: &[&str]) -> String {
    let port = format!("--port={}", server.port);
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "--host=127.0.0.1", &port, "--protocol=tcp", "--user=root", "--binary-mode"])
        .args(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(text).unwrap();
    String::from_utf8(client.wait_with_output().unwrap().stderr).unwrap()
}

const ROWS: &str = "SET time_zone = '+00:00';
    SELECT id, name, price, kind, tags, made, at, f, doc, HEX(bits), HEX(bin), big, n, g FROM shop.item ORDER BY id;
    SELECT * FROM shop.pile ORDER BY a, b; SELECT k, v FROM shop.pair ORDER BY k";

/// The same rows as MySQL has them.
const EXPECTED: &str = "\
1\tÄpfel\t2.25\tb\tx,z\t2024-02-29 23:59:59.999\t2024-03-01 00:00:00\t1.5e100\t{\"a\": 2, \"b\": [1, \"x\"], \"c\": \"new\"}\t2AA\t00FF\t18446744073709551615\t1\t2
3\tc\t3.00\tc\t\t1000-01-01 00:00:00.000\tNULL\t0\t[]\t0\t\t7\t3\t6
2\tä
3\tNULL
3\tc
9\tnine
one\tz
three\tNULL
";

#[test]
fn what_mysqlbinlog_prints_of_mysqls_log_is_executed() {
    let server = start(&[]);
    assert_eq!(pipe(&server, RECORDED.as_bytes(), &[]), "");
    assert_eq!(server.sql(&format!("SET NAMES utf8mb4; {ROWS}")), EXPECTED);
    // The transactions have their names, and are not executed twice. The server's own UUID, which
    // is random, may sort in front.
    let executed = server.sql("SELECT @@gtid_executed");
    assert!(executed.contains("1ddce208-e71e-11f1-8702-02fc00000001:25320-"), "{executed}");
    assert_eq!(pipe(&server, RECORDED.as_bytes(), &[]), "");
    assert_eq!(server.sql("SELECT @@gtid_executed"), executed);
    assert_eq!(server.sql(&format!("SET NAMES utf8mb4; {ROWS}")), EXPECTED);
    // And when they were committed first.
    let log = server.file("binlog.000001");
    let printed = Command::new(common::DURAMEN).args(["binlog", "print"]).arg(log).output().unwrap();
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let first = RECORDED.split("original_commit_timestamp=").nth(1).unwrap().split('*').next().unwrap();
    assert!(printed.contains(&format!("original_committed_timestamp={first}")), "{first}: {printed}");
    // AUTO_INCREMENT goes on after them.
    assert_eq!(server.sql("INSERT INTO shop.item (name) VALUES ('new'); SELECT LAST_INSERT_ID()"), "4\n");
}

#[test]
fn our_own_log_comes_back_as_the_same_tables() {
    let source = start(&["--binlog-row-image=minimal"]);
    assert_eq!(pipe(&source, RECORDED.as_bytes(), &[]), "");
    source.sql(
        "INSERT INTO shop.item (name, doc) VALUES ('x', '[1]'), ('y', NULL); UPDATE shop.item SET n = 5 WHERE name = 'x';
         INSERT INTO shop.pile SELECT a + 1, b FROM shop.pile; DELETE FROM shop.pile WHERE a = 3;
         UPDATE shop.pair SET v = UPPER(k);
         CREATE TABLE shop.chosen (k INT AUTO_INCREMENT PRIMARY KEY) SELECT id, name, doc FROM shop.item;
         CREATE TABLE shop.heap AS SELECT a, b FROM shop.pile; UPDATE shop.heap SET b = 'new' WHERE a = 2",
    );
    let log = source.file("binlog.000001");
    let printed = Command::new("mariadb-binlog").arg("--no-defaults").arg(log).output().unwrap();
    let target = start(&[]);
    // MariaDB's program sets what only MariaDB has, too; MySQL's does not.
    let own = ", @@session.check_constraint_checks=1, @@session.system_versioning_insert_history=0";
    let printed = String::from_utf8(printed.stdout).unwrap().replace(own, "");
    assert_eq!(pipe(&target, printed.as_bytes(), &[]), "");
    assert_eq!(target.sql(ROWS), source.sql(ROWS));
    let selected = "SELECT * FROM shop.chosen ORDER BY k; SELECT a, b FROM shop.heap ORDER BY a, b; SHOW CREATE TABLE shop.chosen";
    assert_eq!(target.sql(selected), source.sql(selected));
}

fn number<T>(outcome: Result<T, ClientError>) -> Option<u16> {
    outcome.err().and_then(|e| e.number())
}

/// The recorded BINLOG statements: the format description first.
fn statements() -> Vec<String> {
    let pieces = RECORDED.split("BINLOG '").skip(1);
    pieces.map(|piece| format!("BINLOG '{}'", piece.split('\'').next().unwrap())).collect()
}

#[test]
fn what_is_no_event_or_comes_too_early_is_refused() {
    let server = start(&[]);
    let mut client: Client = server.connect();
    let all = statements();
    let (format, rows) = (&all[0], &all[1]);
    assert_eq!(number(client.query(rows)), Some(1609), "no format description yet");
    for (sql, error) in [
        ("BINLOG ''", 1149),
        ("BINLOG 'abcd'", 1149),
        ("BINLOG '===='", 1575),
        ("BINLOG 'not base64!'", 1575),
        ("BINLOG 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'", 1730),
        ("BINLOG 5", 1064),
    ] {
        assert_eq!(number(client.query(sql)), Some(error), "{sql}");
    }
    client.query("BINLOG ' '").unwrap();
    client.query(format).unwrap();
    assert_eq!(number(client.query(rows)), Some(1049), "no such database");
    client.query("CREATE DATABASE shop").unwrap();
    assert_eq!(number(client.query(rows)), Some(1146), "no such table");
    client.query("CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(9))").unwrap();
    assert_eq!(number(client.query(rows)), Some(13146), "a column of another type");
    // One bit less: the checksum detects it.
    let damaged = rows.replacen("AAAA", "AAAB", 1);
    assert!(matches!(number(client.query(&damaged)), Some(1610 | 1149 | 1730)), "damage");
    client.query("CREATE USER u").unwrap();
    let options = protocol::client::ConnectOptions { user: b"u", ..Default::default() };
    let mut other = server.connect_as(&options);
    assert_eq!(number(other.query(format)), Some(1227));
    client.query("GRANT REPLICATION_APPLIER ON *.* TO u").unwrap();
    server.connect_as(&options).query(format).unwrap();
    server.check_well();
}

/// A statement that fails leaves nothing behind, in a transaction or without.
#[test]
fn a_row_that_is_there_or_missing_fails_the_statement() {
    let server = start(&[]);
    let mut client = server.connect();
    assert_eq!(pipe(&server, RECORDED.as_bytes(), &[]), "");
    client.query(&statements()[0]).unwrap();
    let all = statements();
    // The first INSERT's first row is there, the second is not.
    client.query("DELETE FROM shop.item WHERE id = 3").unwrap();
    let before = server.sql(ROWS);
    assert_eq!(number(client.query(&all[1])), Some(1062));
    client.query("BEGIN").unwrap();
    client.query("INSERT INTO shop.pile VALUES (77, 'own')").unwrap();
    assert_eq!(number(client.query(&all[1])), Some(1062));
    client.query("ROLLBACK").unwrap();
    assert_eq!(server.sql(ROWS), before);
    // What it changes or deletes is not there.
    client.query("DELETE FROM shop.item").unwrap();
    client.query("DELETE FROM shop.pile").unwrap();
    let before = server.sql(ROWS);
    for changing in [&all[2], &all[5], &all[6]] {
        assert_eq!(number(client.query(changing)), Some(1032));
    }
    client.query("SET SESSION TRANSACTION READ ONLY").unwrap();
    assert_eq!(number(client.query(&all[1])), Some(1792));
    assert_eq!(server.sql(ROWS), before);
}
