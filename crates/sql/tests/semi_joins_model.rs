//! Random EXISTS and IN, once as conditions that the planner joins, once inside of `IS TRUE`, which
//! it evaluates row by row: the rows must be the same, whatever way of joining it chose, and each
//! of the ways must have been chosen.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

/// The tables: many rows, some, few. All have the same columns.
const TABLES: [(&str, u64); 3] = [("big", 90), ("mid", 25), ("few", 5)];
const COLUMNS: [&str; 4] = ["id", "x", "y", "s"];

struct Writer {
    random: Random,
}

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn fill(&mut self, session: &mut Session) {
        for (table, count) in TABLES {
            run(session, &format!("DELETE FROM {table}")).unwrap();
            let values = self.one_of(&[4, 12, 60]);
            let list: Vec<String> = (0..count)
                .map(|id| {
                    let mut value = || match self.below(6) {
                        0 => "NULL".to_owned(),
                        _ => self.below(values).to_string(),
                    };
                    let (x, y) = (value(), value());
                    let s = self.one_of(&["'a'", "'A'", "'b'", "'B '", "'7'", "'07'", "NULL"]);
                    format!("({id}, {x}, {y}, {s})")
                })
                .collect();
            run(session, &format!("INSERT INTO {table} VALUES {}", list.join(", "))).unwrap();
            run(session, &format!("ANALYZE TABLE {table}")).unwrap();
        }
    }

    fn column(&mut self, source: &str) -> String {
        format!("{source}.{}", self.one_of(&COLUMNS))
    }

    fn number_column(&mut self, source: &str) -> String {
        format!("{source}.{}", self.one_of(&COLUMNS[..3]))
    }

    fn comparison(&mut self, a: &str, b: &str) -> String {
        if self.below(6) == 0 {
            return format!("{a}.s = {b}.s");
        }
        let op = self.one_of(&["=", "=", "=", "=", "<", "<=>", "<>"]);
        format!("{} {op} {}", self.number_column(a), self.number_column(b))
    }

    fn own(&mut self, source: &str) -> String {
        let column = self.number_column(source);
        match self.below(4) {
            0 => format!("{column} IS NULL"),
            1 => format!("{column} < {}", self.below(8)),
            2 => format!("{column} IN ({}, {})", self.below(8), self.below(8)),
            _ => format!("{column} = {}", self.below(8)),
        }
    }

    /// A subquery's FROM and WHERE, and its sources. It may read the sources `around`.
    fn inner(&mut self, around: &[&str], level: usize) -> (String, Vec<String>) {
        let (a, b) = (format!("a{level}"), format!("b{level}"));
        let table = self.one_of(&TABLES).0;
        let mut sources = vec![a.clone()];
        let mut from = match self.below(8) {
            0 => format!("(SELECT DISTINCT id, x, y, s FROM {table}) {a}"),
            _ => format!("{table} {a}"),
        };
        if self.below(2) == 0 {
            let kind = self.one_of(&["JOIN", "JOIN", "LEFT JOIN"]);
            let on = self.comparison(&a, &b);
            from = format!("{from} {kind} {} {b} ON {on}", self.one_of(&TABLES).0);
            sources.push(b);
        }
        let mut conditions = Vec::new();
        for source in &sources {
            if self.below(2) == 0 {
                conditions.push(self.own(source));
            }
        }
        for _ in 0..self.below(3) {
            let (inner, outer) = (self.below(sources.len() as u64) as usize, self.one_of(around));
            conditions.push(self.comparison(&sources[inner], outer));
        }
        if level < 2 && self.below(5) == 0 {
            let names: Vec<&str> = sources.iter().map(String::as_str).chain(around.iter().copied()).collect();
            conditions.push(self.condition(&names, level + 1));
        }
        let filter = if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") };
        (format!("FROM {from} WHERE {filter}"), sources)
    }

    fn condition(&mut self, around: &[&str], level: usize) -> String {
        let (inner, sources) = self.inner(around, level);
        let not = self.one_of(&["", "", "NOT "]);
        let source = &sources[self.below(sources.len() as u64) as usize];
        let outer = self.one_of(around);
        match self.below(5) {
            0 | 1 => format!("{not}EXISTS (SELECT 1 {inner})"),
            2 => {
                let (a, b) = (self.number_column(outer), self.number_column(outer));
                let (c, d) = (self.number_column(source), self.number_column(source));
                format!("({a}, {b}) {not}IN (SELECT {c}, {d} {inner})")
            }
            3 => format!("{} {not}IN (SELECT {} {inner})", self.column(outer), self.column(source)),
            _ => {
                format!(
                    "{} {not}IN (SELECT {} {inner})",
                    self.number_column(outer),
                    self.number_column(source)
                )
            }
        }
    }

    /// A statement with a place for its condition, and the sources that this may read.
    fn statement(&mut self) -> (&'static str, &'static [&'static str]) {
        self.one_of(&[
            ("SELECT o.id, o.x FROM big o WHERE {c}", &["o"] as &[&str]),
            ("SELECT o.id, o.x FROM mid o WHERE o.y < 9 AND {c}", &["o"]),
            ("SELECT DISTINCT o.x FROM big o WHERE {c}", &["o"]),
            ("SELECT o.x, COUNT(*), MAX(o.y) FROM big o WHERE {c} GROUP BY o.x", &["o"]),
            ("SELECT o.id FROM big o WHERE {c} ORDER BY o.y, o.id LIMIT 7", &["o"]),
            ("SELECT COUNT(*) FROM (SELECT o.id FROM big o WHERE {c} LIMIT 3) z", &["o"]),
            ("SELECT o.id, p.id FROM big o JOIN mid p ON o.x = p.x WHERE {c}", &["o", "p"]),
            ("SELECT o.id, p.id FROM big o LEFT JOIN mid p ON o.x = p.id WHERE {c}", &["o", "p"]),
            ("SELECT o.id, p.id FROM few o JOIN big p WHERE {c} AND p.x = 3", &["o", "p"]),
            (
                "SELECT r.id, (SELECT COUNT(*) FROM big o WHERE {c} AND o.y > r.id) FROM few r",
                &["o", "r", "o", "o"],
            ),
            ("SELECT o.id FROM big o LEFT JOIN mid p ON p.id = o.id AND {c} WHERE p.x > 2", &["o", "p"]),
            ("SELECT o.id FROM big o WHERE {c} FOR UPDATE", &["o"]),
            ("SELECT o.id FROM big o WHERE {c} LOCK IN SHARE MODE", &["o"]),
        ])
    }
}

/// What a change leaves of the largest table.
fn changed(session: &mut Session, change: &str) -> Result<Vec<Vec<String>>, String> {
    run(session, "START TRANSACTION").unwrap();
    let outcome = run(session, change).map_err(|e| e.to_string());
    let left = rows(session, "SELECT id, y FROM big ORDER BY id");
    run(session, "ROLLBACK").unwrap();
    outcome.map(|_| left)
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

#[test]
fn joined_subqueries_give_the_rows_of_evaluated_ones() {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "USE d").unwrap();
    for (table, _) in TABLES {
        let columns = "id INT PRIMARY KEY, x INT, y BIGINT, s VARCHAR(9), KEY (x), KEY (y, x)";
        run(&mut session, &format!("CREATE TABLE {table} ({columns})")).unwrap();
    }
    let mut writer = Writer { random: Random::new(11) };
    let ways = [
        "Table scan on <subquery>",
        "Hash semijoin",
        "Hash antijoin",
        "semijoin (FirstMatch)",
        "Nested loop antijoin",
        "invalidate on row from outer",
    ];
    let (mut seen, mut first, mut leading) = ([0_usize; 6], 0, 0);
    for round in 0..510 {
        if round % 30 == 0 {
            writer.fill(&mut session);
        }
        let (statement, sources) = writer.statement();
        let condition = writer.condition(sources, 0);
        let joined = statement.replace("{c}", &condition);
        let evaluated = statement.replace("{c}", &format!("({condition}) IS TRUE"));
        let expected = sorted(rows(&mut session, &evaluated));
        assert_eq!(sorted(rows(&mut session, &joined)), expected, "{joined}");
        let tree = rows(&mut session, &format!("EXPLAIN FORMAT=TREE {joined}")).concat().concat();
        seen.iter_mut().zip(ways).for_each(|(seen, way)| *seen += usize::from(tree.contains(way)));
        first += usize::from(tree.contains("inner join") && tree.contains(ways[0]));
        if round % 3 == 0 {
            let condition = writer.condition(&["big"], 0);
            let change =
                writer.one_of(&["DELETE FROM big WHERE {c}", "UPDATE big SET y = y + 100 WHERE {c}"]);
            let joined = change.replace("{c}", &condition);
            let evaluated = change.replace("{c}", &format!("({condition}) IS TRUE"));
            // The table itself is refused, and which rows a strict mode finds bad texts in depends
            // on the plan.
            let (Ok(left), Ok(expected)) =
                (changed(&mut session, &joined), changed(&mut session, &evaluated))
            else {
                continue;
            };
            assert_eq!(left, expected, "{joined}");
            let tree = rows(&mut session, &format!("EXPLAIN FORMAT=TREE {joined}")).concat().concat();
            leading += usize::from(tree.contains(ways[0]));
        }
    }
    for (seen, way) in seen.into_iter().zip(ways) {
        assert!(seen > 0, "{way}: {seen}");
    }
    assert!(first > 5 && leading > 1, "{first} {leading}");
}
