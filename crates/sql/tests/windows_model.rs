//! Window functions against a model that looks at all rows of a partition for each of them: random
//! partitions, orders, frames and NULLs, with memory enough and with next to none.
#![allow(clippy::unwrap_used)]

mod common;

use std::cmp::Ordering;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

type Value = Option<i64>;

#[derive(Debug, Clone)]
struct Row {
    id: i64,
    /// The partition's value, the order's, and the argument.
    p: Value,
    o: Value,
    v: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    First,
    Preceding(i64),
    Current,
    Following(i64),
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Rows,
    Range,
    None,
}

#[derive(Debug)]
struct Window {
    partitioned: bool,
    ordered: bool,
    descending: bool,
    /// The order goes on by `id`.
    is_total: bool,
    unit: Unit,
    start: Bound,
    end: Bound,
}

const TOTAL: [&str; 8] = [
    "ROW_NUMBER()",
    "NTILE(3)",
    "LAG(v)",
    "LEAD(v, 2, id)",
    "FIRST_VALUE(v)",
    "LAST_VALUE(v)",
    "NTH_VALUE(v, 2)",
    "LAG(v, 0)",
];
const ANY: [&str; 9] = [
    "RANK()",
    "DENSE_RANK()",
    "COUNT(*)",
    "COUNT(v)",
    "SUM(v)",
    "MIN(v)",
    "MAX(v)",
    "BIT_XOR(v)",
    "SUM(v / 2)",
];

struct Generator(Random);

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn value(&mut self, n: u64) -> Value {
        (self.below(6) > 0).then(|| self.below(n) as i64)
    }

    fn rows(&mut self) -> Vec<Row> {
        let count = self.below(60);
        let values = 1 + self.below(30);
        (0..count as i64)
            .map(|id| Row { id, p: self.value(3), o: self.value(values), v: self.value(50) })
            .collect()
    }

    fn window(&mut self) -> Window {
        let unit = [Unit::Rows, Unit::Rows, Unit::Range, Unit::None][self.below(4) as usize];
        let mut bounds = [self.bound(), self.bound()];
        bounds.sort_by_key(|bound| match bound {
            Bound::First => 0,
            Bound::Preceding(_) => 1,
            Bound::Current => 2,
            Bound::Following(_) => 3,
            Bound::Last => 4,
        });
        let [mut start, mut end] = bounds;
        if start == Bound::Last {
            start = Bound::Current;
        }
        if end == Bound::First {
            end = Bound::Current;
        }
        if unit == Unit::None {
            (start, end) = (Bound::First, Bound::Current);
        }
        let offsets = |bound| matches!(bound, Bound::Preceding(_) | Bound::Following(_));
        let by_value = unit == Unit::Range && (offsets(start) || offsets(end));
        Window {
            partitioned: self.below(2) == 0,
            ordered: by_value || self.below(4) > 0,
            descending: self.below(2) == 0,
            is_total: !by_value && (unit == Unit::Rows || self.below(2) == 0),
            unit,
            start,
            end,
        }
    }

    fn bound(&mut self) -> Bound {
        let n = self.below(6) as i64;
        [Bound::First, Bound::Preceding(n), Bound::Current, Bound::Following(n), Bound::Last]
            [self.below(5) as usize]
    }
}

impl Window {
    fn sql(&self) -> String {
        let mut sql = String::new();
        if self.partitioned {
            sql += "PARTITION BY p ";
        }
        let direction = if self.descending { " DESC" } else { "" };
        let terms: Vec<String> = [(self.ordered, format!("o{direction}")), (self.is_total, "id".to_owned())]
            .into_iter()
            .filter_map(|(is_there, term)| is_there.then_some(term))
            .collect();
        if !terms.is_empty() {
            sql += &format!("ORDER BY {} ", terms.join(", "));
        }
        let bound = |bound| match bound {
            Bound::First => "UNBOUNDED PRECEDING".to_owned(),
            Bound::Preceding(n) => format!("{n} PRECEDING"),
            Bound::Current => "CURRENT ROW".to_owned(),
            Bound::Following(n) => format!("{n} FOLLOWING"),
            Bound::Last => "UNBOUNDED FOLLOWING".to_owned(),
        };
        let unit = match self.unit {
            Unit::Rows => "ROWS",
            Unit::Range => "RANGE",
            Unit::None => return sql,
        };
        sql + &format!("{unit} BETWEEN {} AND {}", bound(self.start), bound(self.end))
    }

    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let by_order = match (self.ordered, self.descending) {
            (false, _) => Ordering::Equal,
            (true, false) => a.o.cmp(&b.o),
            (true, true) => b.o.cmp(&a.o),
        };
        by_order.then(if self.is_total { a.id.cmp(&b.id) } else { Ordering::Equal })
    }

    /// True if the row at `j` is in the frame of that at `i`: every bound is tried on every row.
    fn holds(&self, rows: &[Row], i: usize, j: usize) -> bool {
        let reach = |bound: Bound, is_start: bool| -> bool {
            let after = |distance: i64| if is_start { distance >= 0 } else { distance <= 0 };
            let (here, there) = (&rows[i], &rows[j]);
            match (self.unit, bound) {
                (_, Bound::First | Bound::Last) => true,
                (Unit::Rows, Bound::Current) => after(j as i64 - i as i64),
                (Unit::Rows, Bound::Preceding(n)) => after(j as i64 - i as i64 + n),
                (Unit::Rows, Bound::Following(n)) => after(j as i64 - i as i64 - n),
                (_, Bound::Current) => after(self.compare(there, here) as i64),
                (_, Bound::Preceding(n) | Bound::Following(n)) => {
                    let n = if matches!(bound, Bound::Following(_)) { n } else { -n };
                    let sign = if self.descending { -1 } else { 1 };
                    match (here.o, there.o) {
                        (Some(here), Some(there)) => after((there - here) * sign - n),
                        (None, _) => after(self.compare(there, here) as i64),
                        // NULL comes before all values, or after them.
                        (Some(_), None) => after(-sign),
                    }
                }
            }
        };
        reach(self.start, true) && reach(self.end, false)
    }

    /// What a function gives for each row, by `id`.
    fn model(&self, table: &[Row], function: &str) -> Vec<(i64, String)> {
        let mut found = Vec::new();
        for row in table {
            let mut rows: Vec<Row> =
                table.iter().filter(|other| !self.partitioned || other.p == row.p).cloned().collect();
            rows.sort_by(|a, b| self.compare(a, b));
            let i = rows.iter().position(|other| other.id == row.id).unwrap();
            found.push((row.id, self.value(&rows, i, function)));
        }
        found
    }

    fn value(&self, rows: &[Row], i: usize, function: &str) -> String {
        let before = rows.iter().filter(|other| self.compare(other, &rows[i]).is_lt());
        let frame: Vec<&Row> =
            (0..rows.len()).filter(|j| self.holds(rows, i, *j)).map(|j| &rows[j]).collect();
        let values: Vec<i64> = frame.iter().filter_map(|row| row.v).collect();
        let v = |row: Option<&&Row>| show(row.and_then(|row| row.v));
        match function {
            "ROW_NUMBER()" => (i + 1).to_string(),
            "RANK()" => (before.count() + 1).to_string(),
            "DENSE_RANK()" => {
                let mut groups: Vec<&Row> = before.collect();
                groups.dedup_by(|a, b| self.compare(a, b).is_eq());
                (groups.len() + 1).to_string()
            }
            "NTILE(3)" => {
                let mut sizes = [rows.len() / 3; 3];
                (0..rows.len() % 3).for_each(|bucket| sizes[bucket] += 1);
                let (mut bucket, mut end) = (0, sizes[0]);
                while i >= end {
                    bucket += 1;
                    end += sizes[bucket];
                }
                (bucket + 1).to_string()
            }
            "LAG(v)" => show(i.checked_sub(1).and_then(|j| rows[j].v)),
            "LAG(v, 0)" => show(rows[i].v),
            "LEAD(v, 2, id)" => show(rows.get(i + 2).map_or(Some(rows[i].id), |row| row.v)),
            "FIRST_VALUE(v)" => v(frame.first()),
            "LAST_VALUE(v)" => v(frame.last()),
            "NTH_VALUE(v, 2)" => v(frame.get(1)),
            "COUNT(*)" => frame.len().to_string(),
            "COUNT(v)" => values.len().to_string(),
            "SUM(v)" if values.is_empty() => "NULL".to_owned(),
            "SUM(v)" => values.iter().sum::<i64>().to_string(),
            "SUM(v / 2)" if values.is_empty() => "NULL".to_owned(),
            "SUM(v / 2)" => {
                let sum = values.iter().sum::<i64>();
                format!("{}.{}000", sum / 2, sum % 2 * 5)
            }
            "MIN(v)" => show(values.iter().min().copied()),
            "MAX(v)" => show(values.iter().max().copied()),
            _ => values.iter().fold(0, |all, v| all ^ v).to_string(),
        }
    }
}

fn show(value: Value) -> String {
    value.map_or("NULL".to_owned(), |v| v.to_string())
}

fn fill(session: &mut Session, table: &[Row]) {
    run(session, "DELETE FROM t").unwrap();
    for row in table {
        let Row { id, p, o, v } = row;
        let sql = format!(
            "INSERT INTO t VALUES ({id}, {}, {}, {}, REPEAT('x', 900))",
            show(*p),
            show(*o),
            show(*v)
        );
        run(session, &sql).unwrap();
    }
}

#[test]
fn frames_hold_what_a_look_at_every_row_says() {
    let seed = std::env::var("DURAMEN_SEED").map_or(1, |seed| seed.parse().unwrap());
    let server = Server::new(seed);
    let (mut plenty, mut tiny) = (server.session(), server.session());
    run(&mut plenty, "CREATE DATABASE d; USE d").unwrap();
    run(&mut plenty, "CREATE TABLE t (id INT PRIMARY KEY, p INT, o INT, v INT, pad VARCHAR(1000))").unwrap();
    run(&mut tiny, "USE d; SET sort_buffer_size = 32768, tmp_table_size = 1024").unwrap();
    let mut generator = Generator(Random::new(seed));
    for _ in 0..40 {
        let table = generator.rows();
        fill(&mut plenty, &table);
        for _ in 0..10 {
            let windows: Vec<Window> = (0..1 + generator.below(3)).map(|_| generator.window()).collect();
            let calls: Vec<(&Window, &str)> = windows
                .iter()
                .map(|window| {
                    let functions =
                        if window.is_total { [&TOTAL[..], &ANY[..]].concat() } else { ANY.to_vec() };
                    (window, functions[generator.below(functions.len() as u64) as usize])
                })
                .collect();
            let items: Vec<String> = calls
                .iter()
                .map(|(window, function)| format!("{function} OVER ({})", window.sql()))
                .collect();
            let sql = format!("SELECT id, {} FROM t ORDER BY id", items.join(", "));
            let mut expected: Vec<Vec<String>> = table.iter().map(|row| vec![row.id.to_string()]).collect();
            for (window, function) in &calls {
                for (row, (_, value)) in expected.iter_mut().zip(window.model(&table, function)) {
                    row.push(value);
                }
            }
            assert_eq!(rows(&mut plenty, &sql), expected, "seed {seed}: {sql}\n{table:?}");
            assert_eq!(rows(&mut tiny, &sql), expected, "seed {seed}, in files: {sql}");
        }
    }
    assert!(server.env.counters_of("/spill/").writes > 0);
}

/// Frames of thousands of rows, in an order that keeps as many rows that may become the best one.
#[test]
fn the_best_value_of_a_large_frame_is_found_beyond_what_is_kept_of_it() {
    let server = Server::new(2);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    run(&mut session, "INSERT INTO t VALUES (0)").unwrap();
    for bit in 0..14 {
        run(&mut session, &format!("INSERT INTO t SELECT id + {} FROM t", 1 << bit)).unwrap();
    }
    let sql = "SELECT COUNT(*) FROM (SELECT id, MIN(id) OVER w AS a, MAX(id) OVER w AS b FROM t
        WINDOW w AS (ORDER BY id ROWS BETWEEN CURRENT ROW AND 9000 FOLLOWING)) AS x
        WHERE a <> id OR b <> LEAST(id + 9000, 16383)";
    assert_eq!(rows(&mut session, sql), [["0"]]);
    run(&mut session, "SET sort_buffer_size = 32768, tmp_table_size = 1024").unwrap();
    assert_eq!(rows(&mut session, sql), [["0"]], "in files");
    // Doubles are added anew for each row: the reader goes back.
    let sql = "SELECT COUNT(*) FROM (SELECT id, SUM(id * 1e0) OVER w AS s, LAG(id, 40) OVER w AS l FROM t
        WINDOW w AS (ORDER BY id ROWS 40 PRECEDING)) AS x
        WHERE id >= 40 AND (s <> 41 * id - 820 OR l <> id - 40)";
    assert_eq!(rows(&mut session, sql), [["0"]], "in files");
}
