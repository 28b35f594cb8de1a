//! Random queries give the same by whatever path: the planner's own choice against a walk over all
//! rows, and against each index that is forced; in transactions whose snapshots others have
//! overtaken, and who changed rows themselves.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

const COLUMNS: [&str; 6] = ["id", "a", "b", "c", "d", "s"];

struct Table {
    random: Random,
    indexes: Vec<String>,
}

impl Table {
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    fn create(&mut self, session: &mut Session, name: &str) {
        let mut definition = format!(
            "CREATE TABLE {name} (id INT, a TINYINT, b INT UNSIGNED NOT NULL, c DECIMAL(5,1), d DATE, s VARCHAR(9), \
             pad VARCHAR(200) NOT NULL DEFAULT (REPEAT('x', 150)), PRIMARY KEY ({})",
            self.one_of(&["id", "b, id", "id DESC"])
        );
        self.indexes = (0..1 + self.below(4)).map(|n| format!("k{n}")).collect();
        for index in self.indexes.clone() {
            let mut columns = COLUMNS[1..].to_vec();
            let parts: Vec<String> = (0..1 + self.below(3))
                .map(|_| {
                    let column = columns.remove(self.below(columns.len() as u64) as usize);
                    format!("{column}{}", self.one_of(&["", "", " DESC"]))
                })
                .collect();
            definition += &format!(", KEY {index} ({})", parts.join(", "));
        }
        run(session, &(definition + ")")).unwrap();
    }

    fn value(&mut self, column: &str) -> String {
        let n = self.below(7);
        match column {
            "id" => self.below(200).to_string(),
            "b" => (n * 1000).to_string(),
            _ if n == 0 => "NULL".to_owned(),
            "a" => (n as i64 - 4).to_string(),
            "c" => format!("{}.5", n as i64 - 3),
            "d" => format!("'2024-02-0{n}'"),
            _ => format!("'{}'", ["", "x", "X", "xy", "y ", "é", "zz"][n as usize]),
        }
    }

    fn change(&mut self, session: &mut Session, name: &str) {
        let column = self.one_of(&COLUMNS[1..]);
        let (value, id) = (self.value(column), self.below(200));
        let sql = match self.below(4) {
            0 => format!("DELETE FROM {name} WHERE id = {id}"),
            1 => {
                let values: Vec<String> = COLUMNS.iter().map(|c| self.value(c)).collect();
                format!("REPLACE INTO {name} ({}) VALUES ({})", COLUMNS.join(", "), values.join(", "))
            }
            _ => format!("UPDATE IGNORE {name} SET {column} = {value} WHERE id BETWEEN {id} AND {id} + 3"),
        };
        // What two transactions want is one's; here only one waits never.
        let _ = run(session, &sql);
    }

    fn condition(&mut self, table: &str) -> String {
        let column = self.one_of(&COLUMNS);
        self.condition_on(table, column)
    }

    fn condition_on(&mut self, table: &str, column: &str) -> String {
        let (low, high) = (self.value(column), self.value(column));
        let name = format!("{table}.{column}");
        match self.below(7) {
            0 => format!("{name} = {low}"),
            1 => format!("{name} <=> {low}"),
            2 => format!("{name} < {low}"),
            3 => format!("{name} >= {low}"),
            4 => format!("{name} BETWEEN {low} AND {high}"),
            5 => format!("{name} IN ({low}, {high})"),
            _ => format!("{name} IS NULL"),
        }
    }

    fn conditions(&mut self, table: &str) -> String {
        let count = self.below(3);
        let list: Vec<String> = (0..count)
            .map(|_| match self.below(3) {
                0 => {
                    let (a, b, c) = (self.condition(table), self.condition(table), self.condition(table));
                    format!("({a} OR {b} AND {c} OR {})", self.condition(table))
                }
                1 => {
                    let column = self.one_of(&COLUMNS);
                    let alternatives: Vec<String> =
                        (0..2 + self.below(3)).map(|_| self.condition_on(table, column)).collect();
                    format!("({})", alternatives.join(" OR "))
                }
                _ => self.condition(table),
            })
            .collect();
        if list.is_empty() { String::new() } else { format!("WHERE {}", list.join(" AND ")) }
    }

    /// A query with `HINT` behind its tables, and whether the order of its rows is told.
    fn query(&mut self) -> (String, bool) {
        let (x, y) = (self.one_of(&COLUMNS), self.one_of(&COLUMNS));
        let (filter, limit) = (self.conditions("t"), 1 + self.below(9));
        let direction = self.one_of(&["", " DESC"]);
        match self.below(8) {
            0 => (format!("SELECT {x}, {y} FROM t HINT {filter}"), false),
            1 => (format!("SELECT MIN({x}) FROM t HINT {filter}"), false),
            2 => (format!("SELECT MAX({x}) FROM t HINT {filter}"), false),
            3 => (format!("SELECT {x} FROM t HINT {filter} ORDER BY {x}{direction} LIMIT {limit}"), true),
            4 => {
                let order = format!("ORDER BY {x}{direction}, {y}, id LIMIT {limit}");
                (format!("SELECT {y}, id FROM t HINT {filter} {order}"), true)
            }
            5 => (format!("SELECT {x}, COUNT(*), SUM(b), MAX(id) FROM t HINT {filter} GROUP BY {x}"), false),
            6 => {
                let value = self.value(x);
                let kind = self.one_of(&["JOIN", "LEFT JOIN"]);
                let on = format!("u.{x} = t.{x} AND {}", self.condition("u"));
                (
                    format!(
                        "SELECT t.id, u.id, u.{y} FROM t HINT {kind} u HINT ON {on} WHERE t.{x} = {value}"
                    ),
                    false,
                )
            }
            _ => {
                let inner = format!("SELECT 1 FROM u HINT WHERE u.{x} = t.{x} AND {}", self.condition("u"));
                (format!("SELECT id, {y} FROM t HINT WHERE EXISTS ({inner})"), false)
            }
        }
    }
}

/// Texts that compare as equal may come in any order, and one of them stands for a group: they are
/// shown as one.
fn normalized_rows(session: &mut Session, sql: &str, ordered: bool) -> Vec<Vec<String>> {
    let mut found = rows(session, sql);
    found.iter_mut().flatten().for_each(|value| *value = value.to_lowercase().trim_end().to_owned());
    if !ordered {
        found.sort();
    }
    found
}

fn check(seed: u64) {
    println!("seed {seed}");
    let server = Server::new(seed);
    let (mut own, mut other) = (server.session(), server.session());
    run(&mut own, "CREATE DATABASE d").unwrap();
    for session in [&mut own, &mut other] {
        run(session, "USE d").unwrap();
        run(session, "SET sql_mode = ''").unwrap();
        run(session, "SET innodb_lock_wait_timeout = 1").unwrap();
    }
    let mut table = Table { random: Random::new(seed), indexes: Vec::new() };
    table.create(&mut own, "u");
    let others = table.indexes.clone();
    table.create(&mut own, "t");
    let most = table.indexes.len().max(others.len());
    for name in ["t", "u"] {
        for n in most.min(table.indexes.len().min(others.len()))..most {
            // Hints name the indexes of both.
            let _ = run(&mut own, &format!("CREATE INDEX k{n} ON {name} (a)"));
        }
        (0..120).for_each(|_| table.change(&mut own, name));
        let values = "SELECT id + 300, a, b, c, d, s";
        run(&mut own, &format!("INSERT INTO {name} (id, a, b, c, d, s) {values} FROM {name}")).unwrap();
    }
    let all: Vec<String> = (0..most).map(|n| format!("k{n}")).collect();
    for round in 0..6 {
        let level = if round % 2 == 0 { "REPEATABLE READ" } else { "READ COMMITTED" };
        run(&mut own, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).unwrap();
        run(&mut own, "BEGIN").unwrap();
        rows(&mut own, "SELECT COUNT(*) FROM t");
        (0..10).for_each(|_| table.change(&mut other, "t"));
        (0..table.below(8)).for_each(|_| table.change(&mut own, "t"));
        for _ in 0..15 {
            let (query, ordered) = table.query();
            let with = |hint: &str| query.replace("HINT", hint);
            let expected = normalized_rows(
                &mut own,
                &with(&format!("IGNORE INDEX (PRIMARY, {})", all.join(", "))),
                ordered,
            );
            let hints = all.iter().map(|index| format!("FORCE INDEX ({index})"));
            for hint in hints.chain([String::new()]) {
                assert_eq!(normalized_rows(&mut own, &with(&hint), ordered), expected, "{}", with(&hint));
            }
        }
        run(&mut own, if table.below(2) == 0 { "COMMIT" } else { "ROLLBACK" }).unwrap();
        if round == 3 {
            server.instance.engine().store().checkpoint(&[]).unwrap();
        }
    }
    for name in ["t", "u"] {
        let found = rows(&mut own, &format!("CHECK TABLE {name}"));
        assert_eq!(found, [["d.".to_owned() + name, "check".into(), "status".into(), "OK".into()]]);
    }
}

#[test]
fn all_paths_give_the_same() {
    (0..8).for_each(check);
}
