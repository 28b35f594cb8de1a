//! `x IN (SELECT ..)` gives the same whether the rows are looked up by an index or read as a whole:
//! with NULL on either side, several columns, collations, and operands of another type's family
//! than the columns that they are compared with. Both ways must have been taken.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

/// Columns of both tables; texts of one table are of another collation than those of the other.
const COLUMNS: [&str; 11] = ["id", "a", "b", "c", "f", "d", "m", "s", "p", "r", "e"];

const KEYS: [&str; 12] = ["a", "b, a", "c", "f", "d", "m", "s", "p", "r", "a, c", "s(2)", "e"];

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

    fn create(&mut self, session: &mut Session, name: &str, collation: &str) {
        let not_null = self.one_of(&["", "NOT NULL"]);
        run(
            session,
            &format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, a SMALLINT {not_null}, b BIGINT UNSIGNED, \
                 c DECIMAL(6,2), f DOUBLE, d DATE, m DATETIME(3), s VARCHAR(12) COLLATE {collation}, \
                 p CHAR(12) CHARACTER SET latin1, r VARBINARY(12), e ENUM('1', 'a', 'x'))"
            ),
        )
        .unwrap();
        for (number, parts) in KEYS.iter().enumerate() {
            run(session, &format!("CREATE INDEX k{number} ON {name} ({parts})")).unwrap();
        }
        let has_null = not_null.is_empty();
        for id in 0..40 {
            let values: Vec<String> =
                COLUMNS[1..].iter().map(|c| self.value(c, *c != "a" || has_null)).collect();
            run(session, &format!("INSERT INTO {name} VALUES ({id}, {})", values.join(", "))).unwrap();
        }
        run(session, &format!("ANALYZE TABLE {name}")).unwrap();
    }

    fn value(&mut self, column: &str, may_be_null: bool) -> String {
        let n = self.below(9);
        match column {
            _ if n == 0 && may_be_null => "NULL".to_owned(),
            "id" => self.below(45).to_string(),
            "a" => (n as i64 - 3).to_string(),
            "b" => self.one_of(&["0", "1", "2", "18446744073709551615", "4294967296"]).to_owned(),
            "c" => format!("{}.{}0", n as i64 - 4, self.one_of(&[0, 5])),
            "f" => self.one_of(&["0", "1", "1.5", "-2", "4294967296", "1e300"]).to_owned(),
            "d" => format!("'2024-02-0{}'", 1 + n),
            "m" => format!("'2024-02-0{}{}'", 1 + n, self.one_of(&["", " 12:00:00", " 00:00:00.5"])),
            "e" => self.one_of(&["'1'", "'a'", "'x'"]).to_owned(),
            _ => self.one_of(&["''", "'1'", "'01'", "'a'", "'A'", "'a '", "'é'", "'2024-02-02'"]).to_owned(),
        }
    }

    fn operand(&mut self) -> String {
        let column = self.one_of(&COLUMNS);
        match self.below(4) {
            0 => self.value(column, true),
            1 => format!("t.{column} + 0"),
            _ => format!("t.{column}"),
        }
    }

    /// A column of the subquery for an operand: most often one of its family.
    fn column_for(&mut self, operand: &str) -> String {
        let column = match operand.strip_prefix("t.") {
            Some(same) if COLUMNS.contains(&same) && self.below(3) > 0 => same,
            _ => self.one_of(&COLUMNS),
        };
        format!("u.{column}")
    }

    /// A test, with `HINT` behind the table in its subquery.
    fn test(&mut self) -> String {
        let count = 1 + self.below(8) / 6;
        let operands: Vec<String> = (0..count).map(|_| self.operand()).collect();
        let columns: Vec<String> = operands.iter().map(|operand| self.column_for(operand)).collect();
        let not = self.one_of(&["", "NOT "]);
        let mut conditions = Vec::new();
        let of_inner = self.one_of(&COLUMNS);
        match self.below(5) {
            0 => conditions.push(format!("u.{of_inner} > {}", self.value(of_inner, false))),
            1 => conditions.push(format!("u.{of_inner} = t.{of_inner}")),
            2 => conditions.push(format!("u.{of_inner} IS NOT NULL AND u.id < t.id")),
            _ => {}
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let query = match self.below(5) {
            0 => {
                format!("SELECT {} FROM u HINT LEFT JOIN u v HINT ON v.id = u.a{filter}", columns.join(", "))
            }
            1 => format!("SELECT DISTINCT {} FROM u HINT{filter}", columns.join(", ")),
            _ => format!("SELECT {} FROM u HINT{filter}", columns.join(", ")),
        };
        format!("({}) {not}IN ({query})", operands.join(", "))
    }
}

fn check(seed: u64) -> (usize, usize) {
    println!("seed {seed}");
    let server = Server::new(seed);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "USE d").unwrap();
    let mut writer = Writer { random: Random::new(seed) };
    writer.create(&mut session, "t", "utf8mb4_0900_ai_ci");
    let collation = writer.one_of(&["utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_general_ci"]);
    writer.create(&mut session, "u", collation);
    let all: Vec<String> = (0..KEYS.len()).map(|n| format!("k{n}")).collect();
    let none = format!("IGNORE INDEX (PRIMARY, {})", all.join(", "));
    let (mut looked_up, mut read) = (0, 0);
    for _ in 0..120 {
        let test = writer.test();
        // The value of the test, unknown told from false; and as a condition, within another one.
        let query = match writer.below(3) {
            0 => format!("SELECT t.id FROM t WHERE {test} OR t.id = 3 ORDER BY t.id"),
            1 => format!(
                "SELECT t.id, ({test}) IS UNKNOWN, CASE WHEN {test} THEN 1 ELSE 0 END FROM t ORDER BY t.id"
            ),
            _ => format!("SELECT t.id, {test} FROM t ORDER BY t.id"),
        };
        let with = |hint: &str| query.replace("HINT", hint);
        // Some collations do not mix.
        let Ok(_) = run(&mut session, &with(&none)) else {
            assert!(run(&mut session, &with("")).is_err(), "{}", with(""));
            continue;
        };
        assert_eq!(rows(&mut session, &with("")), rows(&mut session, &with(&none)), "{}", with(""));
        let plan = rows(&mut session, &format!("EXPLAIN {}", with("")));
        let is_lookup = |row: &Vec<String>| ["unique_subquery", "index_subquery"].contains(&row[4].as_str());
        match plan.iter().any(is_lookup) {
            true => looked_up += 1,
            false => read += 1,
        }
    }
    (looked_up, read)
}

#[test]
fn looking_up_and_reading_all_give_the_same() {
    let of_seed = std::env::var("DURAMEN_SEED_FIRST").ok().and_then(|seed| seed.parse().ok());
    let (looked_up, read) = match of_seed {
        Some(seed) => check(seed),
        None => (0..4).map(check).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1)),
    };
    println!("{looked_up} looked up, {read} read as a whole");
    assert!(looked_up > 50 && read > 10 || of_seed.is_some());
}
