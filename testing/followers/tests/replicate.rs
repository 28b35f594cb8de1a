//! `duramen replicate` and `duramen compare`: a copy of a server that is written to, killed again
//! and again while it is made, which then follows; and the way back.
//!
//! `DURAMEN_MYSQLD` names a MySQL server; where there is none a test says so and has shown nothing.
#![allow(clippy::unwrap_used)]

use followers::mysql_server::is_at_hand;
use followers::workload::{Features, Workload, prepare};
use followers::{connect, seed};
use mysql::prelude::Queryable;
use servers::{Launch, Running, ServerKind};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use stdx::random::Random;

const ROWS: u32 = 60_000;

fn source(kind: ServerKind, folder: &Path) -> Running {
    let mut launch = Launch::new(kind, &folder.join("source")).unwrap();
    if kind != ServerKind::Duramen {
        launch = launch.arg("--log-bin-trust-function-creators=ON");
    }
    let source = launch.start().unwrap();
    source
        .sql(
            "CREATE USER copier@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO copier@'%' WITH GRANT OPTION",
        )
        .unwrap();
    source
}

/// What the workload does not have: many rows, types of every kind, and what would act on rows.
fn fill(source: &Running) {
    source
        .sql(
            "CREATE DATABASE shop; USE shop;
             CREATE TABLE parent (id INT PRIMARY KEY, n INT);
             CREATE TABLE a_child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);
             CREATE TABLE wide (a VARCHAR(20), b DATE, c INT UNSIGNED, v VARCHAR(50) CHARACTER SET latin1, d DOUBLE, f FLOAT,
               e ENUM('x', 'it''s'), s SET('p', 'q'), i BIT(64), t TIMESTAMP(3) NULL, n DECIMAL(20, 5), y YEAR, l BLOB,
               g INT AS (y * 2) STORED, PRIMARY KEY (a, b, c));
             CREATE TABLE no_key (a INT, b VARCHAR(10));
             CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), k INT, KEY (k)) AUTO_INCREMENT = 7;
             INSERT INTO no_key VALUES (9, 'x'), (8, 'y'), (1, 'a'), (1, 'a'), (2, 'b'), (NULL, NULL); DELETE FROM no_key WHERE a > 7;
             INSERT INTO parent VALUES (1, 1), (2, 2); INSERT INTO a_child VALUES (1, 1), (2, 2);
             INSERT INTO wide (a, b, c) VALUES ('', '2026-01-01', 0);
             CREATE FUNCTION twice (a INT) RETURNS INT DETERMINISTIC RETURN a * 2;
             CREATE PROCEDURE nothing () SET @a = 1;
             CREATE VIEW z_view AS SELECT id, twice(n) AS n FROM parent;
             CREATE VIEW a_view AS SELECT * FROM z_view;
             CREATE TRIGGER of_parent BEFORE INSERT ON parent FOR EACH ROW SET NEW.n = NEW.n + 1;
             CREATE EVENT now_and_then ON SCHEDULE EVERY 1 DAY DO SET @a = 1;
             CREATE TABLE escapes (id INT PRIMARY KEY, e ENUM('a\\\\b', 'it''s'), v VARCHAR(20) DEFAULT 'q\\\\r\\n',
               CHECK (v <> 'bad\\\\x')) COMMENT 'c\\\\d';
             INSERT INTO escapes (id, e) VALUES (1, 'a\\\\b'), (2, 'it''s');
             CREATE VIEW quotes AS SELECT 'it''s \\\\' AS x;
             CREATE DATABASE `caf\u{e9} ``d`; CREATE TABLE `caf\u{e9} ``d`.`t\\` (id INT PRIMARY KEY);",
        )
        .unwrap();
    let mut conn = connect(source.address()).unwrap();
    conn.query_drop("SET sql_mode = ''").unwrap();
    for from in (0..ROWS).step_by(1000) {
        let rows: Vec<String> =
            (from..from + 1000).map(|n| format!("('row {n} it''s \\\\ \u{e9}', {})", n % 977)).collect();
        conn.query_drop(format!("INSERT INTO shop.big (v, k) VALUES {}", rows.join(","))).unwrap();
    }
    for n in 0..500_u32 {
        conn.query_drop(format!(
            "INSERT INTO shop.wide (a, b, c, v, d, f, e, s, i, t, n, y, l) VALUES ('K{}', '2020-01-0{}', {n}, '\u{e9}{n}', {n} / 7, \
             {n} / 7, {}, {}, {n} * 1000000007, FROM_UNIXTIME({}), {n} / 3, {}, CHAR({}, 0, 39, 92))",
            n % 10,
            1 + n % 7,
            n % 3,
            n % 4,
            1_700_000_000 + n,
            1970 + n % 100,
            n % 256
        ))
        .unwrap();
    }
}

/// Where a server is, for the commands.
fn url(server: &Running) -> String {
    format!("mysql://copier:secret@127.0.0.1:{}", server.port())
}

fn replicate(source: &Running, copy: &Launch) -> Command {
    let mut command = Command::new(servers::duramen().unwrap());
    command
        .arg("replicate")
        .arg(format!("--from={}", url(source)))
        .arg(format!("--datadir={}", copy.data().display()))
        .args(["--server-id=2", "--copy-only", "--threads=2"])
        .stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What `duramen compare` says, and its exit code.
fn compare(source: &Running, replica: &Running, options: &[&str]) -> (i32, String) {
    let mut command = Command::new(servers::duramen().unwrap());
    let output = command.args(["compare", &url(source), &url(replica)]).args(options).output().unwrap();
    if output.status.code() != Some(0) {
        println!("{:?}\n{}", replica.sql("SHOW REPLICA STATUS"), replica.messages().unwrap());
    }
    (output.status.code().unwrap(), said(&output))
}

fn check_equal(source: &Running, replica: &Running, options: &[&str]) {
    let (code, text) = compare(source, replica, options);
    println!("{text}");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("equal: "), "{text}");
}

/// Starts it and kills it after a while; true if it was done before, which has to be well.
fn is_done_within(mut command: Command, time: Duration) -> bool {
    let mut child: Child = command.stderr(Stdio::piped()).spawn().unwrap();
    sleep(time);
    let was_running = child.try_wait().unwrap().is_none();
    // SIGKILL; one that has ended can't be killed any more.
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    println!("{}{}", said(&output), if was_running { "killed" } else { "done" });
    assert!(was_running || output.status.success());
    !was_running
}

fn copied_and_followed(kind: ServerKind) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed().unwrap());
    let source = source(kind, folder.path());
    fill(&source);
    // Definitions that come and go meanwhile are told, and the copy begun again.
    let features =
        Features { definitions: false, accounts: false, large: false, ..Features::of_source(kind) };
    prepare(source.address(), features).unwrap();
    if kind != ServerKind::MariaDb {
        source.sql("CREATE USER 'u''\\\\'@'%' IDENTIFIED BY 'secret'").unwrap();
    }
    let work = Workload::start(source.address(), features, 3, random.next_u64());
    let copy = Launch::new(ServerKind::Duramen, &folder.path().join("copy")).unwrap();
    std::fs::create_dir_all(copy.data().parent().unwrap()).unwrap();
    let has = |file: &str| copy.data().join(file).exists();
    // One that is killed at its very end is done, too.
    let is_done = || has("replica-channels") && !has("replicate-unfinished");
    for _ in 0..4 {
        let time = Duration::from_millis(50 + random.below(700));
        if is_done() || is_done_within(replicate(&source, &copy), time) {
            break;
        }
        if has("replicate-unfinished") {
            let refused = Command::new(servers::duramen().unwrap())
                .args(["serve", "--port=0", &format!("--datadir={}", copy.data().display())])
                .output();
            let refused = said(&refused.unwrap());
            assert!(refused.contains("unfinished copy of another server"), "{refused}");
        }
    }
    if !is_done() {
        let output = replicate(&source, &copy).output().unwrap();
        println!("{}", said(&output));
        assert!(output.status.success());
    }
    let copy = copy.arg("--server-id=2").start_again().unwrap();
    let_copier_in(kind, &copy);
    sleep(Duration::from_secs(2));
    check_equal(&source, &copy, &["--pause", "--chunk-rows=1000", "--wait=200"]);
    println!("{}", work.stop().unwrap());
    // The copy's rows without a key have other ids than the source's.
    source
        .sql(
            "USE shop; DELETE FROM no_key WHERE a = 1 LIMIT 1; UPDATE no_key SET b = 'c' WHERE a = 2;
             INSERT INTO no_key VALUES (3, 'new'), (4, 'new'); DELETE FROM no_key WHERE a IS NULL; UPDATE no_key SET a = a + 1",
        )
        .unwrap();
    check_equal(&source, &copy, &["--wait=200"]);
    // A new column stands behind the copy's row id.
    source
        .sql(
            "USE shop; ALTER TABLE no_key ADD z BIGINT UNSIGNED; INSERT INTO no_key VALUES (50, 'z', 77), (51, 'z', 78);
             UPDATE no_key SET z = 5 WHERE a < 50; DELETE FROM no_key WHERE a = 51",
        )
        .unwrap();
    check_equal(&source, &copy, &["--wait=200"]);
    check_texts(&source, &copy);
    if kind != ServerKind::MariaDb {
        assert_eq!(copy.sql("SELECT COUNT(*) FROM mysql.user WHERE user = 'u''\\\\'").unwrap().trim(), "1");
    }
    let count = |what: &str| {
        let sql = format!("SELECT COUNT(*) FROM information_schema.{what}");
        copy.sql(&sql).unwrap().trim().to_owned()
    };
    assert_eq!(count("VIEWS WHERE TABLE_SCHEMA = 'shop'"), "3");
    assert_eq!(count("ROUTINES WHERE ROUTINE_SCHEMA = 'shop'"), "2");
    assert_eq!(count("TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'"), "1");
    assert_eq!(count("EVENTS WHERE EVENT_SCHEMA = 'shop' AND STATUS = 'REPLICA_SIDE_DISABLED'"), "1");
    if kind != ServerKind::MariaDb {
        the_way_back(source, copy);
    }
}

/// What `duramen compare` does not look at: which texts stand for numbers, and definitions.
fn check_texts(source: &Running, copy: &Running) {
    for sql in [
        "SELECT id, HEX(e), HEX(v), HEX(DEFAULT(v)) FROM shop.escapes ORDER BY id",
        "SELECT HEX(x) FROM shop.quotes",
        "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'escapes'",
        "SHOW TABLES FROM `caf\u{e9} ``d`",
    ] {
        let (ours, theirs) = (copy.sql(sql).unwrap(), source.sql(sql).unwrap());
        assert!(!ours.trim().is_empty(), "{sql}");
        assert_eq!(ours, theirs, "{sql}");
    }
}

/// Of a MariaDB no account comes over.
fn let_copier_in(kind: ServerKind, copy: &Running) {
    if kind == ServerKind::MariaDb {
        copy.sql("CREATE USER copier@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO copier@'%'").unwrap();
    }
}

/// The copy becomes the source, and the old source follows it.
fn the_way_back(old: Running, new: Running) {
    new.sql("STOP REPLICA; RESET REPLICA ALL").unwrap();
    let [uuid, executed] = ["server_uuid", "gtid_executed"].map(|name| {
        new.sql(&format!("SELECT REPLACE(@@global.{name}, '\\n', '')"))
            .unwrap()
            .replace("\\n", "")
            .trim()
            .to_owned()
    });
    let own: Vec<&str> = executed.split(',').map(str::trim).filter(|part| part.starts_with(&uuid)).collect();
    old.sql(&format!(
        "SET GLOBAL gtid_purged = '+{}'; CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, \
         SOURCE_USER = 'copier', SOURCE_PASSWORD = 'secret', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_AUTO_POSITION = 1; START REPLICA",
        own.join(","),
        new.port()
    ))
    .unwrap();
    new.sql("INSERT INTO shop.parent VALUES (100, 1); DELETE FROM shop.parent WHERE id = 1; DELETE FROM shop.big WHERE k = 5").unwrap();
    check_equal(&new, &old, &[]);
    assert_eq!(old.sql("SELECT n FROM shop.parent WHERE id = 100").unwrap().trim(), "2");
    assert_eq!(old.sql("SELECT COUNT(*) FROM shop.a_child").unwrap().trim(), "1");
}

#[test]
fn a_duramen_is_copied_and_followed() {
    copied_and_followed(ServerKind::Duramen);
}

#[test]
fn a_mysql_is_copied_and_followed() {
    if is_at_hand() {
        copied_and_followed(ServerKind::MySql);
    }
}

#[test]
fn a_mariadb_is_copied_and_followed() {
    copied_and_followed(ServerKind::MariaDb);
}

#[test]
fn what_cant_be_carried_over_is_told_before_anything_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(ServerKind::MariaDb, folder.path());
    source
        .sql(
            "CREATE DATABASE d;
             CREATE TABLE d.good (id INT PRIMARY KEY, made DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', t TEXT DEFAULT 'x', j JSON DEFAULT '{}');
             INSERT INTO d.good (id) VALUES (1);
             CREATE TABLE d.words (id INT PRIMARY KEY, t TEXT, FULLTEXT KEY (t));
             CREATE TABLE d.visits (id INT PRIMARY KEY, at TIMESTAMP NULL, day DATE AS (DATE(at)) VIRTUAL);
             SET GLOBAL binlog_format = MIXED",
        )
        .unwrap();
    let copy = Launch::new(ServerKind::Duramen, &folder.path().join("copy")).unwrap();
    std::fs::create_dir_all(copy.data().parent().unwrap()).unwrap();
    let output = replicate(&source, &copy).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("FULLTEXT") && text.contains("nothing was copied"), "{text}");
    assert!(text.contains("VIRTUAL column") && text.contains("--ignore-table=d.visits"), "{text}");
    assert!(text.contains("SET GLOBAL binlog_format = ROW"), "{text}");
    assert!(!copy.data().exists());

    source.sql("SET GLOBAL binlog_format = ROW; DROP TABLE d.visits").unwrap();
    let output = replicate(&source, &copy).arg("--ignore-table=d.words").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("binlog_format"), "{}", said(&output));
    let copy = copy.arg("--server-id=2").start_again().unwrap();
    let_copier_in(ServerKind::MariaDb, &copy);
    // Rows of what was left out are left out further on.
    source.sql("INSERT INTO d.words VALUES (1, 'a'); INSERT INTO d.good (id) VALUES (2)").unwrap();
    check_equal(&source, &copy, &["--table=d.good"]);
    let (code, text) = compare(&source, &copy, &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("d.words: only on"), "{text}");
    // The directory has a database now.
    let again = replicate(&source, copy.launch()).output().unwrap();
    assert_eq!(again.status.code(), Some(3));
}

#[test]
fn rows_that_differ_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let servers = ["one", "two"].map(|name| {
        let server = source(ServerKind::Duramen, &folder.path().join(name));
        server
            .sql(
                "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b VARCHAR(20)); CREATE TABLE d.n (a INT);
                 INSERT INTO d.t VALUES (1, 1, 'a'), (2, 2, NULL), (3, 3, 'c'), (4, 4, ''); INSERT INTO d.n VALUES (1), (1), (2)",
            )
            .unwrap();
        server
    });
    let [one, two] = &servers;
    let rest = ["--at-rest", "--chunk-rows=2"];
    check_equal(one, two, &rest);
    two.sql("UPDATE d.t SET b = '' WHERE id = 2; DELETE FROM d.t WHERE id = 3; INSERT INTO d.t VALUES (9, 9, 'x')").unwrap();
    two.sql(
        "UPDATE d.n SET a = 2 WHERE a = 1 LIMIT 1; CREATE TABLE d.more (a INT); ALTER TABLE d.n ADD z INT",
    )
    .unwrap();
    let (code, text) = compare(one, two, &rest);
    println!("{text}");
    assert_eq!(code, 1);
    let address = |server: &Running| format!("127.0.0.1:{}", server.port());
    for line in [
        format!("d.more: only on {}", address(two)),
        format!("d.n: the column 'z' is only on {}", address(two)),
        "    differs: id = 2, in b\n".to_owned(),
        format!("    only on {}: id = 3\n", address(one)),
        format!("    only on {}: id = 9\n", address(two)),
        "different: 3 of 3 tables".to_owned(),
    ] {
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    let (_, json) = compare(one, two, &["--at-rest", "--json", "--table=d.t", "--rows=1"]);
    assert!(json.contains("\"equal\": false") && json.contains("\"more\": true"), "{json}");
    // They follow nobody.
    let (code, text) = compare(one, two, &[]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("does not follow"), "{text}");
}
