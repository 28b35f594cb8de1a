//! Replay of statements that build trees: with the trees that a checkpoint has, and where the store
//! is older than that, as in a base that was copied from a running server, with trees that replay
//! builds.
//!
//! Each test keeps the store's files of some moment, lets the server go on, and starts from those
//! files and the whole log. What the new server shows must be what the old one showed.
//!
//! `DURAMEN_SEEDS=n` asks for a fifteenth of so many rounds with concurrent sessions.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use common::{Server, rows, run, value};
use env::{Env, OpenMode, SimEnv};
use sql::Session;
use sql::catalog::{BuiltTrees, statement_hash};
use stdx::random::Random;
use storage::TreeId;

const STORE: &str = "/data/store";

/// The store's files, as a copy takes them.
type Base = Vec<(PathBuf, Vec<u8>)>;

fn copy_store(server: &Server) -> Base {
    let files = server.env.read_dir(Path::new(STORE)).unwrap();
    let files = files.into_iter().filter(|path| !path.ends_with("LOCK"));
    files.map(|path| (path.clone(), server.env.read_file(&path).unwrap())).collect()
}

/// Puts these files into the store's place.
fn put_store(env: &SimEnv, base: &Base) {
    for path in env.read_dir(Path::new(STORE)).unwrap() {
        env.remove_file(&path).unwrap();
    }
    for (path, content) in base {
        let file = env.open(path, OpenMode::CreateNew).unwrap();
        file.write_at(content, 0).unwrap();
        file.sync_all().unwrap();
    }
    env.sync_dir(Path::new(STORE)).unwrap();
}

/// Everything that a client can see of database `d`: definitions with counters, and the rows by
/// every index.
fn shown(session: &mut Session) -> Vec<String> {
    let mut all = Vec::new();
    run(session, "SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = DEFAULT").unwrap();
    for table in rows(session, "SHOW TABLES FROM d") {
        let name = format!("d.{}", table[0]);
        all.push(rows(session, &format!("SHOW CREATE TABLE {name}"))[0][1].clone());
        let mut by_key = rows(session, &format!("SELECT * FROM {name} FORCE INDEX (PRIMARY)"));
        by_key.sort();
        all.extend(by_key.iter().map(|row| row.join("|")));
        let checked = rows(session, &format!("CHECK TABLE {name}"));
        assert_eq!(checked[0][3], "OK", "{name}: {checked:?}");
    }
    all
}

fn must(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        run(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

const TABLES: [&str; 5] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.a (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(20), t TIMESTAMP NULL, KEY (n))",
    "CREATE TABLE d.b (id INT PRIMARY KEY, n INT NOT NULL)",
    "CREATE TABLE d.c (n INT NOT NULL, s VARCHAR(10))",
    "CREATE TABLE d.empty (id INT PRIMARY KEY, n INT)",
];

const ROWS: [&str; 3] = [
    "INSERT INTO d.a VALUES (1, 10, '12abc', '2026-01-02 03:04:05'), (2, 20, '', NULL), (3, 30, '-7', '2026-07-01 00:00:00')",
    "INSERT INTO d.b VALUES (5, 50), (6, 60), (7, 70), (8, 80)",
    "INSERT INTO d.c VALUES (3, 'x'), (1, 'y'), (2, 'é')",
];

/// Statements of all kinds that build trees, with changes of rows between them.
const LATER: [&str; 37] = [
    "CREATE INDEX s ON d.a (s)",
    "INSERT INTO d.a VALUES (4, 40, '40', '2026-03-03 03:03:03')",
    "SET sql_mode = ''",
    "ALTER TABLE d.a MODIFY s INT NOT NULL",
    "SET sql_mode = DEFAULT",
    "UPDATE d.a SET n = n + 1 WHERE id > 2",
    "SET time_zone = '+05:00'",
    "ALTER TABLE d.a MODIFY t DATETIME",
    "ALTER TABLE d.a ADD made DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), FORCE",
    "SET time_zone = DEFAULT",
    "SET lc_time_names = 'de_DE', pseudo_thread_id = 77",
    "ALTER TABLE d.a ADD day VARCHAR(30) DEFAULT (CONCAT(DATE_FORMAT('2026-03-01', '%W'), CONNECTION_ID()))",
    "SET lc_time_names = DEFAULT, pseudo_thread_id = 0",
    "DELETE FROM d.a WHERE id = 2",
    "CREATE UNIQUE INDEX u ON d.a (n, id)",
    "ALTER TABLE d.b ADD COLUMN x INT NOT NULL DEFAULT 7",
    "INSERT INTO d.b VALUES (9, 90, 8)",
    "CREATE INDEX ix ON d.b (x, n)",
    "ALTER TABLE d.b ADD g INT AS (n * 2) STORED, ADD KEY (g)",
    "UPDATE d.b SET n = n - 1 WHERE id IN (5, 9)",
    "ALTER TABLE d.b ADD v INT DEFAULT (n + x), ALGORITHM=COPY",
    "ALTER TABLE d.b DROP PRIMARY KEY, ADD PRIMARY KEY (n, id)",
    "OPTIMIZE TABLE d.b",
    "ALTER TABLE d.b ADD COLUMN y INT, ALGORITHM=COPY",
    "ALTER TABLE d.b FORCE",
    "ALTER TABLE d.b ADD CONSTRAINT small CHECK (x < 100)",
    "REPLACE INTO d.b (id, n, x) VALUES (8, 80, 9)",
    "SET NAMES latin1",
    "ALTER TABLE d.c ADD id INT AUTO_INCREMENT PRIMARY KEY",
    "INSERT INTO d.c (n, s) VALUES (9, 'z')",
    "ALTER TABLE d.c CONVERT TO CHARACTER SET latin1",
    "SET NAMES utf8mb4",
    "CREATE INDEX low ON d.c ((n + 1))",
    "ALTER TABLE d.empty ADD KEY (n), ADD m INT, ALGORITHM=COPY",
    "CREATE TABLE d.late (id INT PRIMARY KEY, n INT)",
    "INSERT INTO d.late VALUES (1, 2)",
    "ALTER TABLE d.late ADD KEY (n)",
];

/// A server that has done all that, and the store's files of before.
fn server_and_base(seed: u64) -> (Server, Base) {
    let server = Server::new(seed);
    let mut session = server.session();
    must(&mut session, &TABLES);
    must(&mut session, &ROWS);
    server.instance.engine().checkpoint().unwrap();
    let base = copy_store(&server);
    must(&mut session, &LATER);
    (server, base)
}

#[test]
fn a_base_from_before_the_statements_is_replayed_to_the_same_tables() {
    let (server, base) = server_and_base(1);
    let expected = shown(&mut server.session());
    let env = server.env.reboot();
    drop(server);
    put_store(&env, &base);
    let server = Server::open(env);
    assert_eq!(shown(&mut server.session()), expected);
    // It goes on: the next numbers are free, and the next start finds what replay has built.
    let mut session = server.session();
    must(&mut session, &["INSERT INTO d.c (n, s) VALUES (10, 'zz')", "CREATE INDEX more ON d.a (id, n)"]);
    let expected = shown(&mut session);
    drop(session);
    let server = server.power_cut();
    assert_eq!(shown(&mut server.session()), expected);
    let server = server.restart();
    assert_eq!(shown(&mut server.session()), expected);
}

#[test]
fn a_log_alone_is_replayed_to_the_same_tables() {
    let (server, _) = server_and_base(2);
    let expected = shown(&mut server.session());
    let env = server.env.reboot();
    drop(server);
    put_store(&env, &Vec::new());
    assert_eq!(shown(&mut Server::open(env).session()), expected);
}

/// The power goes in the middle of a replay that builds trees, and again in the middle of the next
/// one.
#[test]
fn a_replay_that_is_cut_short_is_done_again() {
    let (server, base) = server_and_base(3);
    let expected = shown(&mut server.session());
    let env = server.env.reboot();
    drop(server);
    put_store(&env, &base);
    let (mut random, mut cuts) = (Random::new(3), 0);
    for round in 0..40 {
        let mut env = env.copy_after_cut(round);
        for _ in 0..1 + random.below(3) {
            env.cut_at(1 + random.below(120));
            cuts += u32::from(Server::try_open(env.clone()).is_err());
            env = env.reboot();
        }
        let server = Server::open(env);
        assert_eq!(shown(&mut server.session()), expected, "round {round}");
        let server = server.restart();
        assert_eq!(shown(&mut server.session()), expected, "round {round}, after another start");
    }
    assert!(cuts > 10, "{cuts} replays were cut short");
}

/// A checkpoint told of trees for a statement that was never logged; the statement that was is
/// another one.
#[test]
fn trees_of_another_statement_are_not_taken() {
    let create = "CREATE INDEX s ON d.a (s)";
    let notes: [(&str, usize, &[&str]); 4] = [
        // Another text, and another number of trees.
        ("CREATE INDEX n2 ON d.a (n, id)", 1, &[]),
        (create, 2, &[]),
        // Trees without entries.
        (create, 1, &[]),
        // Rows were changed since.
        (create, 1, &["INSERT INTO d.a VALUES (4, 40, '40', NULL)"]),
    ];
    for (number, (statement, trees, changes)) in notes.into_iter().enumerate() {
        let server = Server::new(4);
        let mut session = server.session();
        must(&mut session, &TABLES);
        must(&mut session, &ROWS);
        let table = server.instance.catalog().table("d", "a").unwrap();
        let store = server.instance.engine().store();
        let noted: Vec<TreeId> = match number {
            2 => (0..trees).map(|_| store.new_tree()).collect(),
            // Those that the table has: they have entries.
            _ => (0..trees).map(|index| table.schema.index(index % 2).unwrap().tree()).collect(),
        };
        let statement = Some(statement_hash(statement.as_bytes()));
        server.instance.catalog().put_pending(table.id, BuiltTrees { trees: noted, statement });
        server.instance.engine().checkpoint().unwrap();
        server.instance.catalog().forget_pending(table.id);
        let base = copy_store(&server);
        must(&mut session, changes);
        must(&mut session, &[create]);
        let expected = shown(&mut session);
        drop(session);
        let env = server.env.reboot();
        drop(server);
        put_store(&env, &base);
        assert_eq!(shown(&mut Server::open(env).session()), expected, "notes {number}");
    }
}

/// Values that a replay can't give again are those of the live server where a checkpoint has them.
#[test]
fn trees_of_a_checkpoint_keep_their_values() {
    let server = Server::new(5);
    let mut session = server.session();
    must(&mut session, &TABLES);
    must(&mut session, &ROWS);
    must(
        &mut session,
        &["SET div_precision_increment = 9", "ALTER TABLE d.b ADD u CHAR(36) DEFAULT (1 / 3)"],
    );
    let expected = shown(&mut session);
    drop(session);
    assert_eq!(shown(&mut server.power_cut().session()), expected);
}

/// After a kill the next INSERT failed with 1062: neither notes nor rows told the new table's
/// counter.
#[test]
fn counters_are_what_they_were_before_a_kill() {
    let statements: [&[&str]; 7] = [
        &["ALTER TABLE d.c ADD id INT AUTO_INCREMENT PRIMARY KEY"],
        &["ALTER TABLE d.b MODIFY id INT AUTO_INCREMENT"],
        &["ALTER TABLE d.b MODIFY id INT AUTO_INCREMENT, AUTO_INCREMENT = 100"],
        &["ALTER TABLE d.b MODIFY id INT AUTO_INCREMENT, DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC)"],
        // Set back behind the rows, and between.
        &[
            "ALTER TABLE d.b MODIFY id INT AUTO_INCREMENT, AUTO_INCREMENT = 100",
            "ALTER TABLE d.b AUTO_INCREMENT = 3",
        ],
        &[
            "CREATE TABLE d.i (id INT AUTO_INCREMENT PRIMARY KEY, x INT, UNIQUE KEY (x)) IGNORE SELECT n DIV 20 AS x FROM d.a",
        ],
        &[
            "ALTER TABLE d.b MODIFY id INT AUTO_INCREMENT",
            "INSERT INTO d.b VALUES (20, 1)",
            "ALTER TABLE d.b FORCE",
        ],
    ];
    for (number, statements) in statements.into_iter().enumerate() {
        for old_base in [false, true] {
            let server = Server::new(6);
            let mut session = server.session();
            must(&mut session, &TABLES);
            must(&mut session, &ROWS);
            server.instance.engine().checkpoint().unwrap();
            let base = copy_store(&server);
            must(&mut session, statements);
            let expected = shown(&mut session);
            drop(session);
            let env = server.env.reboot();
            drop(server);
            if old_base {
                put_store(&env, &base);
            }
            let server = Server::open(env);
            assert_eq!(shown(&mut server.session()), expected, "{number}, {old_base}");
        }
    }
}

/// Several sessions alter tables of their own while the power goes: their checkpoints and flushes
/// overlap.
#[test]
fn concurrent_rebuilds_and_a_power_cut() {
    let seeds = std::env::var("DURAMEN_SEEDS").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(300) / 15;
    for seed in 1..=seeds {
        let server = Server::new(seed);
        let mut session = server.session();
        must(&mut session, &["CREATE DATABASE d"]);
        for table in 0..4 {
            let create = format!("CREATE TABLE d.t{table} (id INT PRIMARY KEY, n INT NOT NULL, KEY (n))");
            must(&mut session, &[&create, &format!("INSERT INTO d.t{table} VALUES (1, 1), (2, 2), (3, 3)")]);
        }
        drop(session);
        let acknowledged = thread::scope(|scope| {
            let (server, alter) = (&server, |server: &Server, table: u64| {
                let mut session = server.session();
                let mut random = Random::new(seed * 10 + table);
                let mut rows = 3;
                loop {
                    let sql = match random.below(4) {
                        0 => format!("INSERT INTO d.t{table} VALUES ({0}, {0})", rows + 1),
                        _ => format!("ALTER TABLE d.t{table} FORCE"),
                    };
                    if run(&mut session, &sql).is_err() {
                        return rows;
                    }
                    rows += u64::from(sql.starts_with("INSERT"));
                }
            });
            let sessions: Vec<_> = (0..4).map(|table| scope.spawn(move || alter(server, table))).collect();
            thread::sleep(Duration::from_millis(20 + seed % 40));
            server.env.power_cut();
            sessions.into_iter().map(|session| session.join().unwrap()).collect::<Vec<_>>()
        });
        let server = server.power_cut();
        let mut session = server.session();
        for (table, acknowledged) in acknowledged.into_iter().enumerate() {
            let found: u64 =
                value(&mut session, &format!("SELECT COUNT(*) FROM d.t{table}")).parse().unwrap();
            assert!(
                (acknowledged..=acknowledged + 1).contains(&found),
                "seed {seed}: {acknowledged} {found}"
            );
        }
        shown(&mut session);
    }
}
