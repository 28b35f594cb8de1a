//! What can't be read is set aside: the server starts, everything else works, and all that a repair
//! needs stays.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use binlog::event::QueryEvent;
use binlog::group::GroupContext;
use common::{Server, rows, run, value};
use env::{Env, OpenMode, SimEnv};
use sql::Session;
use storage::engine::Replicated;
use storage::{TreeId, WriteBatch};

/// The catalog's tree.
const CATALOG: TreeId = TreeId(1);

/// Puts records into the catalog as no statement would.
fn damage(server: &Server, records: &[(&[u8], &[u8])]) {
    let mut batch = WriteBatch::new();
    records.iter().for_each(|(key, value)| batch.put(CATALOG, key, value));
    let event = QueryEvent::new(0, b"", b"CREATE DATABASE IF NOT EXISTS d");
    server
        .instance
        .engine()
        .commit_ddl(GroupContext::new(1, 0, 80408), &event, batch, Replicated::default())
        .unwrap();
}

/// What lies in the data directory.
fn files(env: &SimEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = [Path::new("/data"), Path::new("/data/store")];
    let paths = folders.into_iter().flat_map(|dir| env.read_dir(dir).unwrap());
    paths.filter_map(|path| env.read_file(&path).ok().map(|bytes| (path, bytes))).collect()
}

fn number(session: &mut Session, sql: &str) -> u16 {
    run(session, sql).map(|_| ()).expect_err(&format!("{sql} is accepted")).number
}

#[test]
fn records_that_cannot_be_read_are_set_aside() {
    let server = Server::new(3);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d; FLUSH BINARY LOGS").unwrap();
    run(&mut session, "CREATE TABLE bad (a INT PRIMARY KEY); CREATE TABLE worse (a INT PRIMARY KEY)")
        .unwrap();
    run(&mut session, "CREATE TABLE good (a INT PRIMARY KEY); INSERT INTO good VALUES (1), (2)").unwrap();
    run(&mut session, "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1; CREATE USER u").unwrap();
    let store = server.instance.engine().store();
    let record = store.get(CATALOG, b"td\0bad", store.snapshot_visible().position()).unwrap().unwrap();
    // Its trees can be read, its text can't.
    let broken = [&record[..record.len() - 20], b" OF_NO_KNOWN_ENGINE"].concat();
    damage(&server, &[(b"td\0bad", &broken), (b"td\0worse", b"?"), (b"fd\0f", b"?"), (b"uu\0%", b"")]);
    drop(session);
    let mut server = server.restart();
    for _ in 0..2 {
        let mut session = server.session();
        run(&mut session, "USE d").unwrap();
        assert_eq!(rows(&mut session, "SELECT a FROM good").len(), 2);
        assert_eq!(rows(&mut session, "SHOW TABLES").concat(), ["bad", "good", "worse"]);
        for sql in [
            "SELECT * FROM bad",
            "INSERT INTO bad VALUES (1)",
            "SHOW CREATE TABLE worse",
            "ALTER TABLE bad ADD b INT",
            "TRUNCATE bad",
            "RENAME TABLE good TO bad",
            "RENAME TABLE bad TO other",
            "CREATE TABLE bad (a INT)",
            "CREATE TABLE IF NOT EXISTS worse (a INT)",
            "CREATE TABLE other LIKE bad",
            "ALTER TABLE good RENAME worse",
            "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
            "SELECT f()",
            "CREATE USER u",
            "GRANT SELECT ON d.* TO u",
            "ALTER USER u ACCOUNT LOCK",
        ] {
            let error = run(&mut session, sql).map(|_| ()).expect_err(sql);
            assert_eq!(error.number, 1812, "{sql}: {error}");
        }
        let report = &rows(&mut session, "SHOW ENGINE DURAMEN STATUS")[0][2];
        for object in ["table d.bad", "table d.worse", "function d.f", "account 'u'@'%'"] {
            assert!(report.contains(&format!("SET ASIDE: {object}")), "{report}");
        }
        let comment = "SELECT table_comment FROM information_schema.tables WHERE table_name = 'worse'";
        assert!(value(&mut session, comment).contains("set aside"));
        // What it may need stays.
        assert_eq!(number(&mut session, "PURGE BINARY LOGS TO 'binlog.000002'"), 1378);
        assert_eq!(number(&mut session, "RESET BINARY LOGS AND GTIDS"), 1378);
        run(&mut session, "INSERT INTO good VALUES (3); DELETE FROM good WHERE a = 3").unwrap();
        drop(session);
        server = server.power_cut();
    }
    let mut session = server.session();
    run(&mut session, "USE d; DROP TABLE bad, worse; DROP FUNCTION f; DROP USER u").unwrap();
    run(&mut session, "CREATE TABLE bad (a INT PRIMARY KEY); INSERT INTO bad VALUES (7)").unwrap();
    run(&mut session, "PURGE BINARY LOGS TO 'binlog.000002'").unwrap();
    drop(session);
    let server = server.power_cut().restart();
    let mut session = server.session();
    assert_eq!(value(&mut session, "SELECT a FROM d.bad"), "7");
    assert!(!rows(&mut session, "SHOW ENGINE DURAMEN STATUS")[0][2].contains("SET ASIDE"));
}

#[test]
fn no_root_is_made_while_an_administrator_is_set_aside() {
    let server = Server::new(3);
    damage(&server, &[(b"uroot\0localhost", b"")]);
    let server = server.restart();
    assert!(server.instance.account("root", "localhost").is_none(), "nobody becomes root without a password");
}

/// Logs a statement that does nothing to the running catalog, as a version with a defect would
/// have.
fn log(server: &Server, sql: &str) {
    let event = QueryEvent::new(0, b"d", sql.as_bytes());
    let context = GroupContext::new(1, 0, 80408);
    server.instance.engine().commit_ddl(context, &event, WriteBatch::new(), Replicated::default()).unwrap();
}

#[test]
fn what_replay_cannot_follow_is_set_aside_from_there_on() {
    let server = Server::new(3);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    for table in ["good", "altered", "gone", "deep", "other_columns"] {
        run(&mut session, &format!("CREATE TABLE {table} (a INT PRIMARY KEY, b INT, KEY (b))")).unwrap();
        run(&mut session, &format!("INSERT INTO {table} VALUES (1, 1)")).unwrap();
    }
    log(&server, "ALTER TABLE altered DROP COLUMN nosuch");
    log(&server, "DROP TABLE gone");
    log(&server, &format!("ALTER TABLE `d`.`deep` ADD CHECK ({}a{})", "(".repeat(300), ")".repeat(300)));
    log(&server, "ALTER TABLE other_columns ADD COLUMN c INT");
    // One transaction on all of them.
    run(&mut session, "BEGIN").unwrap();
    for table in ["good", "altered", "gone", "deep", "other_columns"] {
        run(&mut session, &format!("INSERT INTO {table} VALUES (2, 2)")).unwrap();
    }
    run(&mut session, "COMMIT; UPDATE good SET b = 3 WHERE a = 2; CREATE TABLE later (a INT PRIMARY KEY)")
        .unwrap();
    drop(session);
    // Found by replay; then told by the catalog behind a checkpoint; then replayed behind that.
    let mut server = server.power_cut();
    for round in 0..3 {
        let mut session = server.session();
        run(&mut session, "USE d").unwrap();
        assert_eq!(rows(&mut session, "SELECT a, b FROM good").concat(), ["1", "1", "2", "3"]);
        assert_eq!(rows(&mut session, "SELECT * FROM later").len(), 0);
        for table in ["altered", "gone", "deep", "other_columns"] {
            assert_eq!(
                number(&mut session, &format!("SELECT * FROM {table}")),
                1812,
                "{table}, round {round}"
            );
        }
        let report = &rows(&mut session, "SHOW ENGINE DURAMEN STATUS")[0][2];
        assert_eq!(report.matches("SET ASIDE since").count(), 4, "{report}");
        drop(session);
        server = if round == 1 { server.power_cut() } else { server.restart() };
    }
    let mut session = server.session();
    run(&mut session, "DROP TABLE d.gone; DROP DATABASE d").unwrap();
    drop(session);
    let server = server.power_cut();
    let mut session = server.session();
    assert!(!rows(&mut session, "SHOW ENGINE DURAMEN STATUS")[0][2].contains("SET ASIDE"));
}

#[test]
fn damage_of_the_catalog_itself_stops_the_start_and_changes_nothing() {
    let server = Server::new(3);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(100))").unwrap();
    drop(session);
    server.instance.close().unwrap();
    let env = server.env.clone();
    drop(server);
    let tables: Vec<_> = env
        .read_dir(Path::new("/data/store"))
        .unwrap()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "table"))
        .collect();
    assert_eq!(tables.len(), 1);
    let file = env.open(&tables[0], OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 30).unwrap();
    file.write_at(&[byte[0] ^ 4], 30).unwrap();
    file.sync_all().unwrap();
    let before = files(&env);
    let error = Server::try_open(env.clone()).map(|_| ()).unwrap_err();
    assert!(error.message.contains("It holds the catalog") && error.message.contains(".table"), "{error}");
    assert!(before == files(&env), "a start that refuses changes nothing");
}

#[test]
fn tables_without_any_log_are_no_new_server() {
    let server = Server::new(3);
    run(&mut server.session(), "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)").unwrap();
    server.instance.close().unwrap();
    let env = server.env.clone();
    drop(server);
    for (dir, what) in [("/data", "binlog"), ("/data/store", "CURRENT"), ("/data/store", "manifest")] {
        for path in env.read_dir(Path::new(dir)).unwrap() {
            if path.file_name().unwrap().to_string_lossy().contains(what) {
                env.remove_file(&path).unwrap();
            }
        }
    }
    assert!(Server::try_open(env.clone()).is_err(), "the tables' log is gone: a new server would hide them");
    let store = env.read_dir(Path::new("/data/store")).unwrap();
    assert!(store.iter().any(|path| path.extension().is_some_and(|e| e == "table")), "and they stay");
}

/// Logs a statement that no version of this server would have, with rows of other tables behind it;
/// then the power is cut.
fn with_statement_of_another_version(sql: &str) -> SimEnv {
    let server = Server::new(3);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d; CREATE TABLE good (a INT PRIMARY KEY)").unwrap();
    run(
        &mut session,
        "CREATE TABLE t (a INT PRIMARY KEY); CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
    )
    .unwrap();
    log(&server, sql);
    run(&mut session, "INSERT INTO good VALUES (1), (2)").unwrap();
    drop(session);
    server.env.power_cut();
    let env = server.env.clone();
    drop(server.instance);
    env.reboot()
}

#[test]
fn a_text_that_no_parser_takes_sets_aside_what_it_names() {
    for (sql, aside) in [
        ("CREATE TABLE `new` (a NEWTYPE(3)) LATER = 5", "table d.new"),
        ("ALTER TABLE t ADD b NEWTYPE", "table d.t"),
        ("CREATE UNIQUE INDEX i ON d.t (a SIDEWAYS)", "table d.t"),
        ("DROP INDEX i ON t LATER", "table d.t"),
        ("CREATE DEFINER=`a`@`b` FUNCTION g() RETURNS NEWTYPE RETURN 1", "function d.g"),
        (
            "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW `w` AS SELECT 1 LATER 2",
            "view d.w",
        ),
        ("ALTER VIEW `d`.`w` AS select 1 AS `1`", "view d.w"),
        ("CREATE DEFINER=`a`@`b` PROCEDURE p() LATER STATEMENT", "procedure d.p"),
        ("CREATE DEFINER=`a`@`b` TRIGGER g BEFORE INSERT ON `t` FOR EACH ROW LATER STATEMENT", "table d.t"),
        ("CREATE DEFINER=`a`@`b` EVENT e ON SCHEDULE LATER DO SELECT 1", "event d.e"),
        ("CREATE USER u IDENTIFIED SOMEHOW", "account 'u'@'%'"),
        ("GRANT LATER_PRIVILEGE ON *.* TO u", "account 'u'@'%'"),
    ] {
        let server =
            Server::try_open(with_statement_of_another_version(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let mut session = server.session();
        let report = &rows(&mut session, "SHOW ENGINE DURAMEN STATUS")[0][2];
        let is_there = report.contains(&format!(": {aside}: a statement can't be replayed"));
        assert!(is_there, "{sql}: {report}");
        assert_eq!(rows(&mut session, "SELECT a FROM d.good").concat(), ["1", "2"], "{sql}");
    }
}

#[test]
fn a_text_that_names_nothing_stops_the_start_before_anything_is_changed() {
    for sql in [
        "CREATE DATABASE e LATER = 5",
        "CREATE DATABASE e COLLATE utf9_later_ci",
        "CREATE DATABASE d",
        "CREATE TABLE",
        "LATER STATEMENT t",
    ] {
        let env = with_statement_of_another_version(sql);
        let before = files(&env);
        for _ in 0..2 {
            let error = Server::try_open(env.clone()).map(|_| ()).expect_err(sql);
            assert!(error.message.contains("Nothing was changed") && error.message.contains(sql), "{error}");
            assert!(before == files(&env), "{sql}: a start that refuses changes nothing");
        }
    }
}
