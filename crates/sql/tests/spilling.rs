//! Queries larger than their memory: random ones give what they give with memory enough, stay
//! within their limits, leave no file, and fail as they should on a disk that does.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{Server, rows, run, value};
use env::{Env, Fault};
use sql::Session;
use stdx::random::Random;

/// The least that there may be, of everything.
const TINY: &str = "SET sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024";
/// What TINY means.
const LIMIT: usize = 32 << 10;
const ROWS: u64 = 1000;

fn fill(session: &mut Session, random: &mut Random) {
    run(session, "CREATE DATABASE d; USE d").unwrap();
    for table in ["t", "u"] {
        let columns =
            "id INT PRIMARY KEY, a INT, b VARCHAR(60), c DECIMAL(20,5), d DATETIME(3), e DOUBLE, INDEX (a)";
        run(session, &format!("CREATE TABLE {table} ({columns})")).unwrap();
        let mut values = Vec::new();
        for id in 0..ROWS {
            let mut nullable =
                |text: String| if random.next_u64().is_multiple_of(20) { "NULL".to_owned() } else { text };
            let cells = [
                nullable(format!("{}", (id * 7919) % 400)),
                nullable(format!("'{}{}'", "x".repeat((id % 40) as usize), (id * 31) % 977)),
                nullable(format!("{}.{}", (id * 101) % 300, id % 7)),
                nullable(format!("'2024-01-{:02} 10:00:00.{:03}'", id % 28 + 1, id % 50)),
                nullable(format!("{}", (id % 113) as f64 / 4.0)),
            ];
            values.push(format!("({id}, {})", cells.join(", ")));
        }
        run(session, &format!("INSERT INTO {table} VALUES {}", values.join(", "))).unwrap();
    }
}

/// Queries that read the tables `t` and `u`.
struct Generator(Random);

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn some_of<'a>(&mut self, list: &[&'a str], least: usize) -> Vec<&'a str> {
        let mut chosen: Vec<&str> =
            list.iter().copied().filter(|_| self.0.next_u64().is_multiple_of(2)).collect();
        if chosen.len() < least {
            chosen = vec![self.one_of(list)];
        }
        chosen
    }

    fn table(&mut self) -> String {
        let name = self.one_of(&["t", "u"]);
        match self.below(4) {
            0 => format!("(SELECT * FROM {name} ORDER BY e, id LIMIT 900) x"),
            1 => format!("(SELECT DISTINCT id, a, b, c, d, e FROM {name}) x"),
            _ => format!("{name} x"),
        }
    }

    fn sorted(&mut self) -> String {
        let items = self.some_of(&["id", "a", "b", "c", "d", "e", "a + c", "UPPER(b)"], 1).join(", ");
        let mut order = self.some_of(&["a", "b DESC", "c", "d DESC", "e", "c * a DESC"], 1);
        order.push("id");
        let limit = ["", " LIMIT 7", " LIMIT 900 OFFSET 5", " LIMIT 100"][self.below(4)];
        format!("SELECT {items} FROM {} ORDER BY {}{limit}", self.table(), order.join(", "))
    }

    fn distinct(&mut self) -> String {
        let items = self.some_of(&["a", "b", "c", "d", "e"], 2).join(", ");
        let order = ["", " ORDER BY 1"][self.below(2)];
        format!("SELECT DISTINCT {items} FROM {}{order}", self.table())
    }

    fn grouped(&mut self) -> String {
        let keys = self.some_of(&["a", "b", "c", "d"], 1).join(", ");
        let aggregates = [
            "COUNT(*)",
            "SUM(c)",
            "MIN(b)",
            "MAX(d)",
            "AVG(a)",
            "COUNT(DISTINCT b)",
            "SUM(DISTINCT c)",
            "GROUP_CONCAT(DISTINCT a ORDER BY a)",
            "GROUP_CONCAT(b ORDER BY id DESC SEPARATOR '-')",
            "BIT_XOR(id)",
            "JSON_LENGTH(JSON_ARRAYAGG(b))",
        ];
        let made = self.some_of(&aggregates, 1).join(", ");
        let rollup = ["", " WITH ROLLUP"][self.below(2)];
        format!("SELECT {keys}, {made} FROM {} GROUP BY {keys}{rollup}", self.table())
    }

    fn whole(&mut self) -> String {
        let made = self.some_of(
            &[
                "COUNT(DISTINCT b)",
                "COUNT(DISTINCT a, b, d)",
                "SUM(DISTINCT id)",
                "COUNT(*)",
                "AVG(DISTINCT c)",
            ],
            2,
        );
        format!("SELECT {} FROM {}", made.join(", "), self.table())
    }

    fn set_operation(&mut self) -> String {
        let items = self.some_of(&["a", "b", "c", "d"], 1).join(", ");
        let op = self.one_of(&["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
        let (left, right) = (self.below(700), 300 + self.below(700));
        format!("SELECT {items} FROM t WHERE id >= {left} {op} SELECT {items} FROM u WHERE id < {right}")
    }

    fn joined(&mut self) -> String {
        let on = self.one_of(&["x.b = y.b", "x.c = y.c AND x.id < y.id", "x.d = y.d AND x.a = y.a"]);
        let filter = self.one_of(&["", " WHERE x.id % 3 = 0", " WHERE y.a IS NULL OR y.a < 300"]);
        let kind = self.one_of(&["JOIN", "LEFT JOIN"]);
        match self.below(6) {
            4 => format!(
                "SELECT x.a, x.id, y.id FROM t x FORCE INDEX (a) {kind} u y ON {on} WHERE x.a >= 0 ORDER BY x.a"
            ),
            5 => format!("SELECT x.id, y.id FROM t x {kind} u y ON x.c * 0 = y.c * 0 AND x.a = y.a"),
            0 => format!("SELECT id, b FROM t x WHERE EXISTS (SELECT 1 FROM u y WHERE {on})"),
            1 => format!("SELECT id, b FROM t x WHERE NOT EXISTS (SELECT 1 FROM u y WHERE {on})"),
            2 => format!("SELECT x.id, x.b, y.id FROM t x {kind} u y ON {on}{filter} ORDER BY x.id, y.id"),
            _ => format!("SELECT x.id, x.d, y.id, y.e FROM {} {kind} u y ON {on}{filter}", self.table()),
        }
    }

    fn subquery(&mut self) -> String {
        let column = self.one_of(&["a", "b", "c"]);
        let not = ["", "NOT "][self.below(2)];
        match self.below(3) {
            0 => format!(
                "SELECT id FROM t WHERE {column} {not}IN (SELECT {column} FROM u WHERE id % 2 = 0) OR id = 3"
            ),
            1 => format!(
                "SELECT id FROM t WHERE {column} >= ALL (SELECT {column} FROM u WHERE {column} IS NOT NULL)"
            ),
            _ => "SELECT id, (SELECT MAX(y.b) FROM u y WHERE y.a = x.a) FROM t x".to_owned(),
        }
    }

    fn windowed(&mut self) -> String {
        let calls = [
            "ROW_NUMBER() OVER (PARTITION BY a ORDER BY id)",
            "LAG(b) OVER (PARTITION BY a ORDER BY id)",
            "SUM(c) OVER (PARTITION BY a)",
            "SUM(c) OVER (ORDER BY d, id ROWS BETWEEN 50 PRECEDING AND 50 FOLLOWING)",
            "MAX(b) OVER (ORDER BY d, id ROWS BETWEEN 50 PRECEDING AND CURRENT ROW)",
            "RANK() OVER (ORDER BY b)",
            "COUNT(*) OVER (ORDER BY a RANGE BETWEEN 3 PRECEDING AND 3 FOLLOWING)",
            "NTILE(7) OVER (ORDER BY e, id)",
            "COUNT(*) OVER ()",
        ];
        let calls = self.some_of(&calls, 1).join(", ");
        format!("SELECT id, b, {calls} FROM {} ORDER BY id", self.table())
    }

    fn query(&mut self) -> String {
        match self.below(8) {
            0 => self.sorted(),
            1 => self.distinct(),
            2 => self.grouped(),
            3 => self.whole(),
            4 => self.set_operation(),
            5 => self.joined(),
            6 => self.windowed(),
            _ => self.subquery(),
        }
    }
}

/// Makes the table `t` seven times as large.
fn multiply(session: &mut Session) {
    for i in 1..7 {
        let columns = format!("id + {ROWS} * {i}, a, b, c, d, e");
        run(session, &format!("INSERT INTO t SELECT {columns} FROM t WHERE id < {ROWS}")).unwrap();
    }
}

fn files(server: &Server) -> usize {
    server.env.read_dir(Path::new("/data/spill")).map_or(0, |files| files.len())
}

/// What was written to temporary files so far.
fn writes(server: &Server) -> u64 {
    server.env.counters_of("/spill/").writes
}

#[test]
fn random_queries_give_the_same_with_next_to_no_memory() {
    let seed = std::env::var("DURAMEN_SEED").map_or(1, |seed| seed.parse().unwrap());
    let server = Server::new(seed);
    let (mut plenty, mut tiny) = (server.session(), server.session());
    let mut random = Random::new(seed);
    fill(&mut plenty, &mut random);
    run(&mut tiny, &format!("USE d; {TINY}")).unwrap();
    let mut generator = Generator(random);
    let spill = server.instance.spill();
    let mut spilled = 0;
    for _ in 0..80 {
        let sql = generator.query();
        let mut expected = rows(&mut plenty, &sql);
        let before = writes(&server);
        spill.restart_peak();
        let mut found = rows(&mut tiny, &sql);
        // No query has more than some operations at once, one within the other.
        assert!(spill.peak() <= 12 * LIMIT, "seed {seed}: {sql}: {}", spill.peak());
        spilled += u64::from(writes(&server) > before);
        if sql.contains("FORCE INDEX") {
            let firsts = |rows: &[Vec<String>]| rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
            assert_eq!(firsts(&found), firsts(&expected), "seed {seed}: {sql}");
            expected.sort();
            found.sort();
        }
        if !sql.contains("ORDER BY") || sql.contains("GROUP BY") || sql.contains(") x") {
            expected.sort();
            found.sort();
        }
        assert_eq!(found.len(), expected.len(), "seed {seed}: {sql}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "seed {seed}: {sql}");
        }
        assert_eq!((files(&server), spill.taken()), (0, 0), "seed {seed}: {sql}");
    }
    assert!(spilled > 40, "{spilled} of 80");
}

/// Each operation over many times its limit.
const LARGE: [&str; 7] = [
    "SELECT SUM(n) FROM (SELECT id AS n FROM t ORDER BY b, e LIMIT 1000000 OFFSET 1) s",
    "SELECT COUNT(*) FROM (SELECT b, COUNT(*) FROM t GROUP BY b, id) s",
    "SELECT COUNT(*) FROM (SELECT DISTINCT b, id FROM t) s",
    "SELECT COUNT(*) FROM t x JOIN u y ON x.b = y.b AND x.c = y.c",
    "SELECT COUNT(DISTINCT b, id) FROM t",
    "SELECT SUM(n) FROM (SELECT COUNT(*) OVER (ORDER BY b RANGE UNBOUNDED PRECEDING) AS n FROM t) s",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY b, id) AS n FROM t) s",
];

#[test]
fn a_failing_disk_fails_the_statement_and_leaves_nothing() {
    let server = Server::new(3);
    let mut session = server.session();
    fill(&mut session, &mut Random::new(3));
    run(&mut session, TINY).unwrap();
    for sql in LARGE {
        let answer = value(&mut session, sql);
        for after in [0, 3, 20] {
            server.env.fail(Fault::Write, "/spill/", after);
            let failed = run(&mut session, sql).map(|_| ()).unwrap_err();
            assert_eq!(failed.number, 1026, "{sql}: {failed}");
            assert_eq!((files(&server), server.instance.spill().taken()), (0, 0), "{sql}");
        }
        server.env.fail(Fault::Name, "/spill/", 0);
        assert_eq!(run(&mut session, sql).map(|_| ()).unwrap_err().number, 1004, "{sql}");
        server.env.clear_faults();
        for room in [0, 40_000] {
            server.env.set_capacity(Some(server.env.used() + room));
            let failed = run(&mut session, sql).map(|_| ()).unwrap_err();
            assert!([1026, 1114].contains(&failed.number), "{sql}: {failed}");
            server.env.set_capacity(None);
            assert_eq!((files(&server), server.instance.spill().taken()), (0, 0), "{sql}");
        }
        assert_eq!(value(&mut session, sql), answer, "{sql}");
    }
}

#[test]
fn the_servers_memory_bounds_all_its_queries() {
    let server = Server::new(4);
    let mut session = server.session();
    fill(&mut session, &mut Random::new(4));
    run(&mut session, "SET GLOBAL temptable_max_ram = 2097152").unwrap();
    multiply(&mut session);
    server.instance.spill().restart_peak();
    rows(&mut session, "SELECT DISTINCT id, REPEAT(b, 20) FROM t");
    assert!(writes(&server) > 0);
    assert!(server.instance.spill().peak() <= 5 << 20, "{}", server.instance.spill().peak());
}

/// All rows have the same key: a division does not help.
#[test]
fn a_join_of_one_key_goes_round_by_round() {
    let server = Server::new(5);
    let (mut plenty, mut tiny) = (server.session(), server.session());
    fill(&mut plenty, &mut Random::new(5));
    run(&mut tiny, &format!("USE d; {TINY}")).unwrap();
    let pairs = "t x {kind} u y ON x.id DIV 1000 = y.id DIV 1000 AND x.e * 3 = y.id + 1 WHERE x.id % 20 = 7";
    let exists = "SELECT x.id FROM t x WHERE x.id % 20 = 7 AND {not} EXISTS
        (SELECT 1 FROM u y WHERE x.id DIV 1000 = y.id DIV 1000 AND x.e * 3 = y.id + 1)";
    let queries = [
        format!("SELECT x.id, y.id FROM {}", pairs.replace("{kind}", "JOIN")),
        format!("SELECT x.id, y.id FROM {}", pairs.replace("{kind}", "LEFT JOIN")),
        exists.replace("{not}", ""),
        exists.replace("{not}", "NOT"),
    ];
    for sql in queries {
        let before = writes(&server);
        let (mut expected, mut found) = (rows(&mut plenty, &sql), rows(&mut tiny, &sql));
        assert!(writes(&server) > before, "{sql}");
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{sql}");
        assert!(!found.is_empty(), "{sql}");
    }
}

/// The planner relies on a join for the order of its outer rows.
#[test]
fn a_join_in_files_keeps_the_order_that_is_wanted() {
    let server = Server::new(6);
    let mut session = server.session();
    fill(&mut session, &mut Random::new(6));
    let sql = "SELECT x.a FROM t x FORCE INDEX (a) LEFT JOIN u y ON x.c = y.c WHERE x.a >= 0 ORDER BY x.a";
    let plan = value(&mut session, &format!("EXPLAIN FORMAT=TREE {sql}"));
    assert!(plan.contains("hash join") && !plan.contains("Sort"), "{plan}");
    let expected = rows(&mut session, sql);
    run(&mut session, TINY).unwrap();
    let before = writes(&server);
    assert_eq!(rows(&mut session, sql), expected);
    assert!(writes(&server) > before);
}

#[test]
fn a_killed_statement_stops_in_the_middle_of_its_files() {
    let server = Server::new(7);
    let mut session = server.session();
    fill(&mut session, &mut Random::new(7));
    multiply(&mut session);
    run(&mut session, TINY).unwrap();
    for sql in LARGE {
        // A kill may come too late, on a busy machine more than once.
        let killed = (0..100).any(|_| is_killed(&server, &mut session, sql));
        assert!(killed, "{sql}");
    }
}

/// Kills a statement while it writes its files; false if it was over before that.
fn is_killed(server: &Server, session: &mut Session, sql: &str) -> bool {
    let id: u64 = value(session, "SELECT CONNECTION_ID()").parse().unwrap();
    let (instance, env) = (server.instance.clone(), server.env.clone());
    let begun = writes(server);
    let killer = std::thread::spawn(move || {
        while env.counters_of("/spill/").writes < begun + 2 {
            std::thread::yield_now();
        }
        instance.process(id).unwrap().kill(sql::Kill::Query);
    });
    let outcome = run(session, sql).map(|_| ());
    killer.join().unwrap();
    assert_eq!((files(server), server.instance.spill().taken()), (0, 0), "{sql}");
    match outcome {
        Ok(()) => false,
        Err(e) if e.number == 1317 => true,
        Err(e) => panic!("{sql}: {e}"),
    }
}

#[test]
fn counters_tell_what_went_to_files() {
    let server = Server::new(8);
    let mut session = server.session();
    fill(&mut session, &mut Random::new(8));
    session.set_counters(server.instance.status().join());
    let counters = |session: &mut Session| {
        let names =
            "'Sort_merge_passes', 'Created_tmp_files', 'Created_tmp_disk_tables', 'Created_tmp_tables'";
        let all = rows(session, &format!("SHOW STATUS WHERE Variable_name IN ({names})"));
        all.into_iter().map(|row| row[1].parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    let sort = "SELECT id FROM t ORDER BY b, e";
    let group = "SELECT b, id, COUNT(*) FROM t GROUP BY b, id";
    for sql in [sort, group] {
        rows(&mut session, sql);
    }
    // Disk tables, files, tables, merges.
    assert_eq!(counters(&mut session), [0, 0, 1, 0]);
    run(&mut session, TINY).unwrap();
    rows(&mut session, sort);
    assert_eq!(counters(&mut session), [0, 1, 1, 1]);
    rows(&mut session, group);
    let after = counters(&mut session);
    assert_eq!(after[0], 1);
    assert!(after[1] > 1 && after[2] == 2, "{after:?}");
}
