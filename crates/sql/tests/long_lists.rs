//! A long list of constants, which becomes a set of keys, gives the same as the same constants in
//! lists too short for one: single operands and rows, columns of most types, candidates of the same
//! and of other types, NULL on either side, collations.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

/// No set is made of so few.
const SHORT: usize = 8;

const COLUMNS: [&str; 15] = ["id", "a", "b", "c", "f", "g", "d", "m", "h", "y", "s", "p", "r", "e", "i"];

struct Writer {
    random: Random,
}

impl Writer {
    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }

    fn fill(&mut self, session: &mut Session) {
        let collation =
            self.one_of(&["utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_as_cs"]);
        let create = format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a SMALLINT, b BIGINT UNSIGNED, c DECIMAL(6,2), f DOUBLE, \
             g FLOAT, d DATE, m DATETIME(3), h TIME(2), y YEAR, s VARCHAR(12) COLLATE {collation}, \
             p CHAR(12) CHARACTER SET latin1, r VARBINARY(12), e ENUM('1', 'a', 'x'), i BIT(9))"
        );
        run(session, &create).unwrap();
        for id in 0..25 {
            let values: Vec<String> = COLUMNS[1..].iter().map(|column| self.value(column)).collect();
            run(session, &format!("INSERT INTO t VALUES ({id}, {})", values.join(", "))).unwrap();
        }
    }

    fn value(&mut self, column: &str) -> String {
        let n = self.random.below(15);
        match column {
            _ if n == 0 && column != "id" => "NULL".to_owned(),
            "id" => self.random.below(40).to_string(),
            "a" => (n as i64 - 3).to_string(),
            "b" => self.one_of(&["0", "1", "2", "18446744073709551615", "4294967296"]).to_owned(),
            "c" => format!("{}.{}0", n as i64 - 4, self.one_of(&[0, 5])),
            "f" => self.one_of(&["0e0", "-0e0", "1", "1.5", "-2", "4294967296", "1e300"]).to_owned(),
            "g" => self.one_of(&["0", "0.5", "0.1", "-2", "1e30"]).to_owned(),
            "d" => format!("'2024-02-{:02}'", 1 + n),
            "m" => format!("'2024-02-{:02}{}'", 1 + n, self.one_of(&["", " 12:00:00", " 00:00:00.5"])),
            "h" => format!("'{}{n}:00:00{}'", self.one_of(&["", "-"]), self.one_of(&["", ".5"])),
            "y" => (2000 + n).to_string(),
            "e" => self.one_of(&["'1'", "'a'", "'x'"]).to_owned(),
            "i" => self.one_of(&["b'1'", "b'101'", "b'100000000'"]).to_owned(),
            _ => self
                .one_of(&["''", "'1'", "'a'", "'A'", "'a '", "'é'", "'e'", "'ss'", "'ß'", "'2024-02-02'"])
                .to_owned(),
        }
    }

    /// A constant to compare a column with: most often one of its own.
    fn candidate(&mut self, column: &str, is_mixed: bool) -> String {
        match self.random.below(4) {
            0 if is_mixed => {
                let other = self.one_of(&COLUMNS);
                self.value(other)
            }
            _ => self.value(column),
        }
    }

    fn single(&mut self) -> (String, Vec<String>) {
        let column = self.one_of(&COLUMNS);
        let is_mixed = self.random.below(2) == 0;
        let has_null = self.random.below(2) == 0;
        let list = (0..40).map(|_| self.candidate(column, is_mixed));
        (column.to_owned(), list.filter(|value| has_null || value != "NULL").collect())
    }

    fn row(&mut self) -> (String, Vec<String>) {
        let columns: Vec<&str> = (0..2 + self.random.below(2)).map(|_| self.one_of(&COLUMNS)).collect();
        let is_mixed = self.random.below(3) == 0;
        let has_null = self.random.below(2) == 0;
        let mut candidate = || {
            let values: Vec<String> = columns.iter().map(|column| self.candidate(column, is_mixed)).collect();
            format!("({})", values.join(", "))
        };
        let list: Vec<String> = (0..40).map(|_| candidate()).collect();
        let list = list.into_iter().filter(|values| has_null || !values.contains("NULL"));
        (format!("({})", columns.join(", ")), list.collect())
    }
}

/// How many of so many lists had rows among them.
fn check(seed: u64, lists: usize) -> usize {
    let server = Server::new(seed);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "USE d").unwrap();
    let mut writer = Writer { random: Random::new(seed) };
    writer.fill(&mut session);
    let mut matched = 0;
    for _ in 0..lists {
        let (operand, list) = if writer.random.below(2) == 0 { writer.single() } else { writer.row() };
        let among = |list: &[String]| format!("{operand} IN ({})", list.join(", "));
        // A last chunk of one would be a comparison with one value, which differs from a list.
        let len = list.len() / SHORT * SHORT;
        let (long, chunks) =
            (among(&list[..len]), list[..len].chunks(SHORT).map(among).collect::<Vec<_>>().join(" OR "));
        let query =
            |test: &str| format!("SELECT id, {test}, NOT ({test}), ({test}) IS UNKNOWN FROM t ORDER BY id");
        // Some types do not mix.
        let Ok(_) = run(&mut session, &query(&chunks)) else {
            assert!(run(&mut session, &query(&long)).is_err(), "seed {seed}: {long}");
            continue;
        };
        let found = rows(&mut session, &query(&long));
        assert_eq!(found, rows(&mut session, &query(&chunks)), "seed {seed}: {long}");
        matched += usize::from(found.iter().any(|row| row[1] == "1"));
        let filtered = |test: &str| format!("SELECT id FROM t WHERE {test} ORDER BY id");
        assert_eq!(
            rows(&mut session, &filtered(&long)),
            rows(&mut session, &filtered(&chunks)),
            "seed {seed}: {long}"
        );
    }
    matched
}

#[test]
fn long_lists_answer_as_short_ones() {
    let of_seed = std::env::var("DURAMEN_SEED_FIRST").ok().and_then(|seed| seed.parse().ok());
    match of_seed {
        Some(seed) => assert!(check(seed, 150) > 0),
        None => assert!((0..6).map(|seed| check(seed, 150)).sum::<usize>() > 200),
    }
}

/// MySQL reads as many ranges as `range_optimizer_max_mem_size` has room for.
#[test]
fn thousands_of_keys_lead_to_their_rows() {
    let server = Server::new(1);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d").unwrap();
    run(&mut session, "USE d").unwrap();
    run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, n INT)").unwrap();
    let ids = |step: usize| (0..20_000).step_by(step).map(|id| id.to_string()).collect::<Vec<_>>();
    run(&mut session, &format!("INSERT INTO t (id) VALUES ({})", ids(1).join("), ("))).unwrap();
    run(&mut session, "ANALYZE TABLE t").unwrap();
    let plan = |session: &mut Session, step| {
        let list = ids(step).join(", ");
        rows(session, &format!("EXPLAIN SELECT * FROM t WHERE id IN ({list})"))[0][4].clone()
    };
    assert_eq!(plan(&mut session, 7), "range");
    assert_eq!(plan(&mut session, 1), "ALL");
}
