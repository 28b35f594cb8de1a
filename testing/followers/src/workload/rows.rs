//! Steps that change rows: a step is what one session says between two transactions.

use super::columns::{self, COLUMNS, Column, JSON};
use super::{Features, Session, Suffix};
use stdx::random::Random;

/// Keys of the tables that all sessions change are below this, so that they meet.
const KEYS: u64 = 400;

/// The tables that are there from the start.
pub(super) fn schema(features: Features, suffix: Suffix) -> Vec<String> {
    let database = format!("mixed{}", suffix.0);
    let mut kinds: Vec<String> =
        all_columns(features).map(|(name, ty, _)| format!("`{name}` {ty}")).collect();
    kinds.insert(0, "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY".into());
    vec![
        format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"),
        format!("USE {database}"),
        format!("CREATE TABLE kinds ({}, KEY by_i (i, v(10)), KEY by_dt (dt))", kinds.join(", ")),
        "CREATE TABLE pairs (a INT NOT NULL, b VARCHAR(20) NOT NULL, n BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (a, b), KEY (n))"
            .into(),
        "CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, n INT NOT NULL, body LONGBLOB, made TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
         ON UPDATE CURRENT_TIMESTAMP(6), who VARCHAR(80) DEFAULT (USER()), u CHAR(36) DEFAULT (UUID()))"
            .into(),
        "CREATE TABLE computed (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, word VARCHAR(40),
         twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL, tag VARCHAR(60) AS (CONCAT(word, '-', a)) STORED, KEY (tag), CHECK (a > -1000000000))"
            .into(),
        "CREATE TABLE counted (k VARCHAR(20) NOT NULL, n INT NOT NULL, UNIQUE KEY (k))".into(),
        "CREATE TABLE authors (id INT NOT NULL PRIMARY KEY, books INT NOT NULL DEFAULT 0)".into(),
        "CREATE TABLE books (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, author INT NOT NULL, title VARCHAR(40),
         FOREIGN KEY (author) REFERENCES authors (id) ON DELETE CASCADE ON UPDATE CASCADE)"
            .into(),
        "CREATE TABLE loans (book INT, day INT NOT NULL, KEY (day), FOREIGN KEY (book) REFERENCES books (id) ON DELETE SET NULL)"
            .into(),
        "CREATE TABLE tree (id INT NOT NULL PRIMARY KEY, above INT, FOREIGN KEY (above) REFERENCES tree (id) ON DELETE CASCADE)"
            .into(),
        "CREATE TABLE audit (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20) NOT NULL, k INT, n INT)".into(),
        "CREATE TRIGGER pairs_ai AFTER INSERT ON pairs FOR EACH ROW
         INSERT INTO counted VALUES (CONCAT('t', NEW.a % 40), 1) ON DUPLICATE KEY UPDATE n = counted.n + 1"
            .into(),
        "CREATE TRIGGER pairs_bu BEFORE UPDATE ON pairs FOR EACH ROW SET NEW.n = NEW.n % 1000000".into(),
        "CREATE TRIGGER notes_ad AFTER DELETE ON notes FOR EACH ROW INSERT INTO audit (what, k) VALUES ('gone', OLD.id)".into(),
        "CREATE TRIGGER authors_au AFTER UPDATE ON authors FOR EACH ROW
         INSERT INTO audit (what, k, n) SELECT 'author', NEW.id, COUNT(*) FROM loans WHERE day = NEW.id"
            .into(),
        "CREATE TRIGGER audit_ai AFTER INSERT ON audit FOR EACH ROW
         UPDATE computed SET a = a + 1 WHERE id = NEW.k AND a < 1000000"
            .into(),
        "CREATE FUNCTION noted(k INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
         BEGIN INSERT INTO counted VALUES (CONCAT('f', k), 1) ON DUPLICATE KEY UPDATE n = n + 1; RETURN k; END"
            .into(),
    ]
}

fn all_columns(features: Features) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(features.json.then_some(&JSON))
}

impl Session {
    /// A change of rows by one statement.
    pub(super) fn change(&mut self) -> String {
        let (features, r) = (self.features, &mut self.random);
        let key = r.below(KEYS);
        match r.below(21) {
            0..=2 => insert_kinds(r, features),
            3 | 4 => {
                let column = pick(r, features);
                let value = columns::value(column, r);
                format!("UPDATE kinds SET `{}` = {value} WHERE id % 97 = {} LIMIT 20", column.0, r.below(97))
            }
            5 => format!("DELETE FROM kinds WHERE id % 211 = {} LIMIT 10", r.below(211)),
            6 => format!(
                "INSERT INTO pairs VALUES ({key}, 'b{}', 1) ON DUPLICATE KEY UPDATE n = n + 1",
                r.below(5)
            ),
            7 => {
                format!("UPDATE pairs SET n = n + 1, b = CONCAT('b', {}) WHERE a = {key} LIMIT 1", r.below(9))
            }
            8 => format!("DELETE FROM pairs WHERE a BETWEEN {key} AND {key} + 3"),
            9 => format!(
                "REPLACE INTO notes (id, n, body) VALUES ({key}, {}, RANDOM_BYTES({}))",
                r.below(1000),
                1 + r.below(1000)
            ),
            10 => format!(
                "UPDATE notes JOIN pairs ON notes.id = pairs.a SET notes.n = notes.n + 1, pairs.n = pairs.n + 2 WHERE notes.id BETWEEN {key} AND {key} + 9"
            ),
            11 => format!(
                "DELETE notes, pairs FROM notes JOIN pairs ON notes.id = pairs.a WHERE notes.id = {key}"
            ),
            12 => format!(
                "INSERT INTO computed (id, a, word) VALUES ({key}, {}, 'w{key}') ON DUPLICATE KEY UPDATE a = a + 1",
                r.below(1000)
            ),
            13 => format!("INSERT IGNORE INTO pairs SELECT a + 1, b, n FROM pairs WHERE a = {key}"),
            14 => format!("SELECT noted({})", key % 40),
            15..=19 => related(r),
            _ => format!("UPDATE counted SET n = n + 1 WHERE k = 'f{}'", key % 40),
        }
    }

    /// Several changes in one transaction, with savepoints, now and then rolled back.
    pub(super) fn transaction(&mut self) -> Vec<String> {
        let mut step = vec!["BEGIN".to_owned()];
        for number in 0..1 + self.random.below(6) {
            match self.random.below(6) {
                0 => step.push(format!("SAVEPOINT s{number}")),
                1 if number > 0 => {
                    let savepoint = format!("t{number}");
                    step.push(format!("SAVEPOINT {savepoint}"));
                    step.push(self.change());
                    step.push(format!("ROLLBACK TO {savepoint}"));
                }
                _ => step.push(self.change()),
            }
        }
        step.push(if self.random.chance(1, 8) { "ROLLBACK" } else { "COMMIT" }.into());
        step
    }

    /// A branch of XA, through both phases, one, or back.
    pub(super) fn branch(&mut self) -> Vec<String> {
        let xid = format!("'x{}{}-{}','b',7", self.number, self.suffix.0, self.random.next_u64());
        let mut step = vec![format!("XA START {xid}"), self.change(), self.change(), format!("XA END {xid}")];
        match self.random.below(4) {
            0 => step.push(format!("XA COMMIT {xid} ONE PHASE")),
            1 => step.extend([format!("XA PREPARE {xid}"), format!("XA ROLLBACK {xid}")]),
            _ => step.extend([format!("XA PREPARE {xid}"), format!("XA COMMIT {xid}")]),
        }
        step
    }

    /// A row of up to two megabytes, or a transaction that is larger than what a group writes
    /// together.
    pub(super) fn large(&mut self) -> Vec<String> {
        let id = KEYS + self.random.below(20);
        let kib = 1 + self.random.below(2048);
        if self.random.chance(2, 3) {
            return vec![format!(
                "REPLACE INTO notes (id, n, body) VALUES ({id}, 0, REPEAT(RANDOM_BYTES(1024), {kib}))"
            )];
        }
        let mut step = vec!["BEGIN".to_owned()];
        for _ in 0..6 {
            let id = KEYS + self.random.below(20);
            step.push(format!(
                "REPLACE INTO notes (id, n, body) VALUES ({id}, 1, REPEAT(RANDOM_BYTES(1024), 400))"
            ));
        }
        step.push("COMMIT".into());
        step
    }

    /// A temporary table, which no follower is sent, and a change that reads it.
    pub(super) fn temporary(&mut self) -> Vec<String> {
        let key = self.random.below(KEYS);
        vec![
            "CREATE TEMPORARY TABLE scratch (a INT PRIMARY KEY, b VARCHAR(20))".into(),
            format!("INSERT INTO scratch VALUES ({key}, 'one'), ({key} + 1, 'two')"),
            "INSERT INTO pairs SELECT a, b, 7 FROM scratch ON DUPLICATE KEY UPDATE n = pairs.n + 7".into(),
            "DROP TEMPORARY TABLE scratch".into(),
        ]
    }
}

/// A change of rows that others refer to, or that refer to others: some of these are refused,
/// others reach further rows.
fn related(r: &mut Random) -> String {
    // Few enough that most of them are there.
    let author = r.below(30);
    let node = 1 + r.below(200);
    match r.below(12) {
        0 => format!("INSERT IGNORE INTO authors (id) VALUES ({author}), ({author} + 7)"),
        1..=3 => format!("INSERT INTO books (author, title) VALUES ({author}, 'one'), ({author}, 'two')"),
        4 => format!("UPDATE authors SET books = books + 1 WHERE id = {author}"),
        5 => format!("UPDATE authors SET id = id + 40 WHERE id = {author}"),
        6 => format!("DELETE FROM authors WHERE id IN ({author}, {author} + 40)"),
        7 => format!("INSERT INTO loans SELECT id, {author} FROM books WHERE author = {author}"),
        8 => format!("DELETE FROM books WHERE author = {author} LIMIT 2"),
        9 => format!("DELETE FROM loans WHERE day = {author}"),
        10 => format!(
            "INSERT IGNORE INTO tree VALUES ({node}, NULL), ({node} * 2, {node}), ({node} * 2 + 1, {node})"
        ),
        _ => format!("DELETE FROM tree WHERE id = {node}"),
    }
}

fn pick(r: &mut Random, features: Features) -> &'static Column {
    let count = all_columns(features).count() as u64;
    all_columns(features).nth(r.below(count) as usize).unwrap_or(&COLUMNS[0])
}

fn insert_kinds(r: &mut Random, features: Features) -> String {
    let names: Vec<String> = all_columns(features).map(|(name, ..)| format!("`{name}`")).collect();
    let mut row = || {
        let values: Vec<String> = all_columns(features).map(|column| columns::value(column, r)).collect();
        format!("({})", values.join(", "))
    };
    let rows = [row(), row()].join(", ");
    format!("INSERT INTO kinds ({}) VALUES {rows}", names.join(", "))
}
