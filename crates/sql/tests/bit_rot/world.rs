//! A data directory to damage: how it came about, and what a server on it must answer.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use env::{Env, OpenMode, SimEnv};
use sql::variables::{GlobalVariables, Value, ids};
use sql::{Session, SqlError};
use stdx::random::Random;

use super::common::{Server, run, value};
use super::damage::Files;

const DATA: &str = "/data";

/// A data directory at rest.
pub struct World {
    pub files: Files,
    /// The files at earlier times.
    pub older: Vec<Files>,
    /// True after a clean stop.
    pub is_clean: bool,
    /// What a server answers that starts on it.
    pub expected: Answers,
    /// What it answers without the last transactions, behind the last durable mark, by the GTIDs
    /// executed.
    pub shorter: BTreeMap<String, Answers>,
    sizes: Sizes,
}

/// So small that there are many files.
#[derive(Clone, Copy)]
struct Sizes {
    memtable: u64,
    log_file: u64,
    pool: u64,
}

/// Answers by question: rows as lines, or `ERROR`.
pub type Answers = BTreeMap<String, String>;

pub const EXECUTED: &str = "SELECT @@gtid_executed";

impl Sizes {
    fn open(self, env: SimEnv) -> Result<Server, SqlError> {
        let globals = GlobalVariables::new();
        globals.put(ids::DURAMEN_MEMTABLE_SIZE, Value::UInt(self.memtable));
        globals.put(ids::DURAMEN_MEMTABLES_MAX, Value::UInt(4));
        globals.put(ids::INNODB_BUFFER_POOL_SIZE, Value::UInt(256 << 10));
        globals.put(ids::MAX_BINLOG_SIZE, Value::UInt(self.log_file));
        globals.put(ids::BINLOG_PREALLOC_NUM, Value::UInt(self.pool));
        Server::try_open_with(env, Arc::new(globals))
    }
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sizes = Sizes {
            memtable: 16 << (10 + random.below(4)),
            log_file: 16 << (10 + random.below(3)),
            pool: random.below(2),
        };
        let mut server = sizes.open(SimEnv::new(seed)).unwrap();
        let mut older = Vec::new();
        define(&server);
        let rounds = 4 + random.below(5);
        let mut next = 1;
        for round in 0..rounds {
            change(&server, &mut random, &mut next);
            if random.chance(1, 2) {
                older.push(read(&server.env.copy(seed)));
            }
            let mut session = server.session();
            match random.below(9) {
                0 | 1 => drop(run(&mut session, "FLUSH BINARY LOGS").unwrap()),
                2 | 3 => drop(server.instance.engine().checkpoint().unwrap()),
                4 if round > 1 => purge(&mut session),
                5 if round == 1 => drop(run(&mut session, "RESET BINARY LOGS AND GTIDS").unwrap()),
                6 => {
                    drop(session);
                    server.instance.close().unwrap();
                    let Server { env, instance } = server;
                    drop(instance);
                    server = sizes.open(env).unwrap();
                }
                7 => {
                    drop(session);
                    let Server { env, instance } = server;
                    env.power_cut();
                    drop(instance);
                    server = sizes.open(env.reboot()).unwrap();
                }
                _ => {}
            }
        }
        // The durable mark says that all of this was flushed, and is flushed itself: that is due
        // five seconds after it was written.
        server.instance.log().maintain().unwrap();
        server.env.advance(Duration::from_secs(6));
        server.instance.log().maintain().unwrap();
        let mark = Path::new(DATA).join("binlog.durable");
        let flushed_mark = server.env.read_file(&mark).unwrap();
        let after_a_cut = server.env.copy_after_cut(seed).read_file(&mark).unwrap();
        assert_eq!(after_a_cut, flushed_mark, "seed {seed}: the mark was not flushed");
        let mut shorter = BTreeMap::new();
        for _ in 0..random.below(4) {
            let mut session = server.session();
            run(&mut session, "USE d").unwrap();
            for sql in one_change(&mut random, &mut next) {
                let answers = ask(&server);
                shorter.insert(answers[EXECUTED].clone(), answers);
                must(&mut session, &sql);
            }
        }
        let (is_clean, env) = match random.below(3) {
            0 => {
                server.instance.close().unwrap();
                (true, server.env.clone())
            }
            // The process dies; what it wrote stays.
            1 => (false, server.env.copy(seed)),
            _ => (false, server.env.copy_after_cut(seed)),
        };
        drop(server);
        let mut files = read(&env);
        if !is_clean && random.chance(2, 3) {
            // Later ones are flushed after five seconds only.
            files.insert(mark, flushed_mark);
        }
        let server = sizes.open(machine(seed, &files)).unwrap();
        let expected = ask(&server);
        let wrong: Vec<_> = expected.iter().filter(|(_, answer)| answer.starts_with("ERROR")).collect();
        assert!(wrong.is_empty(), "a world without damage: {wrong:?}");
        Self { files, older, is_clean, expected, shorter, sizes }
    }

    /// A server on a machine with these files.
    pub fn start(&self, env: SimEnv) -> Result<Server, SqlError> {
        self.sizes.open(env)
    }
}

/// A machine whose disk holds these files.
pub fn machine(seed: u64, files: &Files) -> SimEnv {
    let env = SimEnv::new(seed);
    let mut folders = Vec::new();
    for (path, bytes) in files {
        let folder = path.parent().unwrap();
        env.create_dir_all(folder).unwrap();
        folders.push(folder.to_owned());
        let file = env.open(path, OpenMode::CreateNew).unwrap();
        file.write_at(bytes, 0).unwrap();
        file.sync_all().unwrap();
    }
    folders.push(PathBuf::from("/"));
    folders.dedup();
    folders.iter().for_each(|folder| env.sync_dir(folder).unwrap());
    env
}

/// All files of the data directory.
pub fn read(env: &SimEnv) -> Files {
    let mut files = Files::new();
    let mut folders = vec![PathBuf::from(DATA)];
    while let Some(folder) = folders.pop() {
        for path in env.read_dir(&folder).unwrap() {
            match env.read_file(&path) {
                Ok(bytes) => drop(files.insert(path, bytes)),
                Err(e) if e.kind() == io::ErrorKind::IsADirectory => folders.push(path),
                Err(e) => panic!("{}: {e}", path.display()),
            }
        }
    }
    files
}

const TABLES: [(&str, &str, &[&str]); 7] = [
    (
        "counted",
        "id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), n INT, UNIQUE KEY by_v (v), KEY by_n (n, v)",
        &["by_v", "by_n"],
    ),
    ("large", "id INT PRIMARY KEY, body LONGTEXT, note VARCHAR(40), KEY by_note (note)", &["by_note"]),
    ("nokey", "a INT, b VARCHAR(50), KEY by_a (a)", &["by_a"]),
    ("pair", "a INT, b DATE, c DECIMAL(20,5), PRIMARY KEY (b, a), UNIQUE KEY by_a (a)", &["by_a"]),
    (
        "computed",
        "id INT PRIMARY KEY, x INT CHECK (x >= 0), y INT AS (x * 2) STORED, KEY by_y (y DESC)",
        &["by_y"],
    ),
    ("altered", "id INT PRIMARY KEY, x INT", &[]),
    ("still", "id INT PRIMARY KEY, e ENUM('a','b'), j JSON", &[]),
];

fn define(server: &Server) {
    let mut session = server.session();
    run(&mut session, "SET GLOBAL log_bin_trust_function_creators = 1").unwrap();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    for (name, columns, _) in TABLES {
        run(&mut session, &format!("CREATE TABLE {name} ({columns}) COMMENT 'it''s {name}'")).unwrap();
    }
    run(&mut session, "CREATE TABLE later (id INT AUTO_INCREMENT PRIMARY KEY)").unwrap();
    run(&mut session, "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1").unwrap();
    run(&mut session, "CREATE USER u@'%' IDENTIFIED BY 'p'; GRANT SELECT ON d.* TO u@'%'").unwrap();
    run(&mut session, r#"INSERT INTO still VALUES (1, 'a', '[1]'), (2, 'b', '{"x": 2}')"#).unwrap();
}

/// Transactions, or statements that define something.
fn one_change(random: &mut Random, next: &mut u64) -> Vec<String> {
    let id = *next;
    *next += 1;
    let old = 1 + random.below(id);
    // Long, and nothing that packs well.
    let long: String = (0..random.below(60) * 10).map(|_| format!("{:x}", random.next_u64())).collect();
    let word = format!("{id} {:x}{:x}", random.next_u64(), random.next_u64());
    let sql = match random.below(16) {
        0 => format!("INSERT INTO large VALUES ({id}, '{long}', '{word}')"),
        1 => format!(
            "UPDATE large SET body = CONCAT(body, '{long}') WHERE id <= {old} ORDER BY id DESC LIMIT 2"
        ),
        2 => format!("DELETE FROM counted WHERE id = {old}"),
        3 => format!("UPDATE counted SET n = n + 1, v = CONCAT(v, '!') WHERE id % 7 = {}", old % 7),
        4 | 5 => format!("INSERT INTO nokey VALUES ({id}, '{word}'), ({old}, NULL)"),
        6 => format!("INSERT INTO pair VALUES ({id}, '2026-01-{:02}', {id}.5)", 1 + id % 28),
        7 => format!(
            "BEGIN; INSERT INTO computed (id, x) VALUES ({id}, {old}); DELETE FROM nokey WHERE a = {old}; COMMIT"
        ),
        8 => format!("ALTER TABLE altered ADD COLUMN c{id} INT DEFAULT {old}"),
        9 => format!("INSERT INTO altered (id, x) VALUES ({id}, {old})"),
        10 if random.chance(1, 4) => format!("ALTER TABLE altered ADD INDEX i{id} (x)"),
        11 if random.chance(1, 4) => "ALTER TABLE altered FORCE".to_owned(),
        12 if random.chance(1, 2) => {
            format!("CREATE TABLE t{id} (a INT PRIMARY KEY); INSERT INTO t{id} VALUES (1); DROP TABLE t{id}")
        }
        _ => format!("INSERT INTO counted (v, n) VALUES ('{word}', {old}), ('{word}b', {id})"),
    };
    match sql.starts_with("BEGIN") {
        true => vec![sql],
        false => sql.split("; ").map(str::to_owned).collect(),
    }
}

fn must(session: &mut Session, sql: &str) {
    run(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn change(server: &Server, random: &mut Random, next: &mut u64) {
    let mut session = server.session();
    run(&mut session, "USE d").unwrap();
    for _ in 0..4 + random.below(20) {
        one_change(random, next).iter().for_each(|sql| must(&mut session, sql));
    }
}

/// Removes the older half of the log.
fn purge(session: &mut Session) {
    let files = super::common::rows(session, "SHOW BINARY LOGS");
    let keep = files[files.len() / 2][0].clone();
    run(session, &format!("PURGE BINARY LOGS TO '{keep}'")).unwrap();
}

/// Everything that can be asked: definitions, rows by each index, some rows one by one, and what
/// was executed.
pub fn ask(server: &Server) -> Answers {
    let mut session = server.session();
    let mut answers = Answers::new();
    let mut ask = |question: String| {
        let answer = match run(&mut session, &question) {
            Ok(printed) => {
                let line = |row: Vec<Option<String>>| {
                    row.into_iter().map(|cell| cell.unwrap_or("NULL".into())).collect::<Vec<_>>().join(" | ")
                };
                printed.rows.into_iter().map(|row| line(row) + "\n").collect()
            }
            Err(e) => format!("ERROR {e}"),
        };
        answers.insert(question, answer);
    };
    for question in [
        EXECUTED,
        "SHOW TABLES FROM d",
        "SHOW CREATE DATABASE d",
        "SHOW CREATE FUNCTION d.f",
        "SELECT d.f(41)",
        "SHOW CREATE USER u@'%'",
        "SHOW GRANTS FOR u@'%'",
        "SHOW GRANTS FOR root@localhost",
    ] {
        ask(question.to_owned());
    }
    for (table, _, indexes) in TABLES {
        let key = match table {
            "pair" => "b, a",
            "nokey" => "a, b",
            _ => "id",
        };
        ask(format!("SHOW CREATE TABLE d.{table}"));
        ask(format!("SELECT * FROM d.{table} ORDER BY {key}"));
        for index in indexes {
            let column = index.trim_start_matches("by_");
            ask(format!(
                "SELECT {key}, {column} FROM d.{table} FORCE INDEX ({index}) ORDER BY {column}, {key}"
            ));
        }
        ask(format!("CHECK TABLE d.{table}"));
    }
    for id in (1..200).step_by(19) {
        ask(format!("SELECT * FROM d.counted WHERE id = {id}"));
        ask(format!("SELECT note, LENGTH(body), MD5(body) FROM d.large WHERE id = {id}"));
        ask(format!("SELECT * FROM d.pair WHERE a = {id}"));
    }
    answers
}

/// Adds a row to the table that [`ask`] says nothing of; its number if that was accepted.
pub fn go_on(server: &Server) -> Result<String, SqlError> {
    let mut session = server.session();
    run(&mut session, "INSERT INTO d.later VALUES (NULL)")?;
    Ok(value(&mut session, "SELECT LAST_INSERT_ID()"))
}
