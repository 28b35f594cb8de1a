//! Random joins, subqueries and groupings against a naive evaluator: every combination of rows,
//! tested by the conditions as SQL's three-valued logic has them, whatever order, index, hash table
//! or null complement the planner chose.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;
use stdx::random::Random;

type Value = Option<i64>;

/// A row of a table: `id`, `x`, `y`.
type TableRow = [Value; 3];

const COLUMNS: [&str; 3] = ["id", "x", "y"];
const TABLES: [&str; 3] = ["a", "b", "c"];

/// A column of a table in the join, or a number.
#[derive(Clone, Copy)]
enum Operand {
    Column(usize, usize),
    Number(i64),
}

/// What a joined row must fulfil: all of these.
type Condition = Vec<Test>;

#[derive(Clone, Copy)]
enum Test {
    Compare(Operand, &'static str, Operand),
    IsNull(Operand, bool),
}

/// `table [LEFT] JOIN table ON condition ..` and WHERE.
struct Query {
    /// For each table behind the first: outer or not, and its condition.
    joins: Vec<(bool, Condition)>,
    filter: Condition,
}

struct Model {
    random: Random,
    tables: Vec<Vec<TableRow>>,
}

impl Model {
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    fn value(&mut self) -> Value {
        (self.below(5) > 0).then(|| self.below(4) as i64)
    }

    fn fill(&mut self, session: &mut Session) {
        self.tables.clear();
        for name in TABLES {
            run(session, &format!("DELETE FROM {name}")).unwrap();
            let count = self.below(7);
            let table: Vec<TableRow> =
                (0..count).map(|id| [Some(id as i64), self.value(), self.value()]).collect();
            for row in &table {
                let list: Vec<String> = row.iter().map(|v| show(*v)).collect();
                run(session, &format!("INSERT INTO {name} VALUES ({})", list.join(", "))).unwrap();
            }
            self.tables.push(table);
        }
    }

    /// A column of one of the first `tables` tables, or now and then a number.
    fn operand(&mut self, tables: usize) -> Operand {
        match self.below(4) {
            0 => Operand::Number(self.below(4) as i64),
            _ => Operand::Column(self.below(tables as u64) as usize, self.below(3) as usize),
        }
    }

    fn condition(&mut self, tables: usize, most: u64) -> Condition {
        let count = self.below(most + 1);
        let mut list = Vec::new();
        for _ in 0..count {
            let column = Operand::Column(self.below(tables as u64) as usize, self.below(3) as usize);
            list.push(match self.below(6) {
                0 => Test::IsNull(column, self.below(2) == 0),
                n => {
                    let op = ["=", "=", "<", "<>", ">="][n as usize % 5];
                    Test::Compare(column, op, self.operand(tables))
                }
            });
        }
        list
    }

    /// A condition that ties the last table to one before it, more often than not.
    fn join_condition(&mut self, tables: usize) -> Condition {
        let mut condition = self.condition(tables, 2);
        if self.below(4) > 0 {
            let last = Operand::Column(tables - 1, self.below(3) as usize);
            let before = Operand::Column(self.below(tables as u64 - 1) as usize, self.below(3) as usize);
            condition.push(Test::Compare(last, "=", before));
        }
        condition
    }

    fn query(&mut self) -> Query {
        let tables = 2 + self.below(2) as usize;
        let joins = (1..tables).map(|t| (self.below(2) == 0, self.join_condition(t + 1))).collect();
        Query { joins, filter: self.condition(tables, 2) }
    }

    /// The joined rows, each with a row or nothing of each table.
    fn joined(&self, query: &Query) -> Vec<Vec<Option<TableRow>>> {
        let mut joined: Vec<Vec<Option<TableRow>>> = self.tables[0].iter().map(|r| vec![Some(*r)]).collect();
        for (number, (outer, condition)) in query.joins.iter().enumerate() {
            let mut longer = Vec::new();
            for left in &joined {
                let before = longer.len();
                for row in &self.tables[number + 1] {
                    let mut both = left.clone();
                    both.push(Some(*row));
                    if holds(condition, &both) {
                        longer.push(both);
                    }
                }
                if *outer && longer.len() == before {
                    let mut alone = left.clone();
                    alone.push(None);
                    longer.push(alone);
                }
            }
            joined = longer;
        }
        joined.retain(|row| holds(&query.filter, row));
        joined
    }
}

fn show(value: Value) -> String {
    value.map_or("NULL".to_owned(), |v| v.to_string())
}

fn read(operand: Operand, row: &[Option<TableRow>]) -> Value {
    match operand {
        Operand::Number(n) => Some(n),
        Operand::Column(table, column) => row[table].and_then(|r| r[column]),
    }
}

/// True only if every test is true: NULL is not.
fn holds(condition: &Condition, row: &[Option<TableRow>]) -> bool {
    condition.iter().all(|test| match *test {
        Test::IsNull(operand, negated) => read(operand, row).is_none() != negated,
        Test::Compare(a, op, b) => match (read(a, row), read(b, row)) {
            (Some(a), Some(b)) => match op {
                "=" => a == b,
                "<" => a < b,
                "<>" => a != b,
                _ => a >= b,
            },
            _ => false,
        },
    })
}

fn operand_sql(operand: Operand) -> String {
    match operand {
        Operand::Number(n) => n.to_string(),
        Operand::Column(table, column) => format!("{}.{}", TABLES[table], COLUMNS[column]),
    }
}

fn condition_sql(condition: &Condition) -> String {
    let tests = condition.iter().map(|test| match *test {
        Test::IsNull(x, false) => format!("{} IS NULL", operand_sql(x)),
        Test::IsNull(x, true) => format!("{} IS NOT NULL", operand_sql(x)),
        Test::Compare(a, op, b) => format!("{} {op} {}", operand_sql(a), operand_sql(b)),
    });
    let tests: Vec<String> = tests.collect();
    if tests.is_empty() { "TRUE".to_owned() } else { tests.join(" AND ") }
}

impl Query {
    fn sql_from(&self) -> String {
        let mut sql = TABLES[0].to_owned();
        for (number, (outer, condition)) in self.joins.iter().enumerate() {
            let kind = if *outer { "LEFT JOIN" } else { "JOIN" };
            sql += &format!(" {kind} {} ON {}", TABLES[number + 1], condition_sql(condition));
        }
        format!("{sql} WHERE {}", condition_sql(&self.filter))
    }

    fn columns_sql(&self) -> String {
        let tables = &TABLES[..=self.joins.len()];
        let all = tables.iter().flat_map(|t| COLUMNS.iter().map(move |c| format!("{t}.{c}")));
        all.collect::<Vec<_>>().join(", ")
    }
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

fn check_join(session: &mut Session, model: &Model, query: &Query) {
    let expected = model.joined(query).into_iter().map(|row| {
        let values = row.into_iter().flat_map(|table| table.unwrap_or([None; 3]));
        values.map(show).collect::<Vec<String>>()
    });
    let expected = sorted(expected.collect());
    let (columns, from) = (query.columns_sql(), query.sql_from());
    let sql = format!("SELECT {columns} FROM {from}");
    assert_eq!(sorted(rows(session, &sql)), expected, "{sql}");
    // The same as it stands, so that other orders and methods are compared with this one.
    let straight = format!("SELECT STRAIGHT_JOIN {columns} FROM {from}");
    assert_eq!(sorted(rows(session, &straight)), expected, "{straight}");
}

/// GROUP BY and DISTINCT of some columns, as they come and ordered; indexes may have equal values
/// side by side, or not.
fn check_groups(session: &mut Session, model: &mut Model, query: &Query) {
    let table = model.below(2) as usize;
    let count = 1 + model.below(2);
    let keys: Vec<usize> = (0..count).map(|_| model.below(3) as usize).collect();
    let mut groups = std::collections::BTreeMap::new();
    for row in model.joined(query) {
        let key: Vec<Value> = keys.iter().map(|&key| row[table].and_then(|r| r[key])).collect();
        let group: &mut (i64, i64) = groups.entry(key).or_default();
        group.0 += 1;
        group.1 += i64::from(row[1].is_some_and(|r| r[2].is_some()));
    }
    let shown = |key: &[Value]| key.iter().map(|v| show(*v)).collect::<Vec<String>>();
    let ascending: Vec<Vec<String>> = groups
        .iter()
        .map(|(key, (n, m))| [shown(key), vec![n.to_string(), m.to_string()]].concat())
        .collect();
    let mut descending = ascending.clone();
    descending.reverse();
    let columns: Vec<String> =
        keys.iter().map(|&key| format!("{}.{}", TABLES[table], COLUMNS[key])).collect();
    let (list, from) = (columns.join(", "), query.sql_from());
    let sql = format!("SELECT {list}, COUNT(*), COUNT(b.y) FROM {from} GROUP BY {list}");
    assert_eq!(sorted(rows(session, &sql)), sorted(ascending.clone()), "{sql}");
    let sql = format!("{sql} ORDER BY {} DESC", columns.join(" DESC, "));
    assert_eq!(rows(session, &sql), descending, "{sql}");
    let distinct =
        |groups: &[Vec<String>]| groups.iter().map(|g| g[..keys.len()].to_vec()).collect::<Vec<_>>();
    let sql = format!("SELECT DISTINCT {list} FROM {from}");
    assert_eq!(sorted(rows(session, &sql)), sorted(distinct(&ascending)), "{sql}");
    let sql = format!("{sql} ORDER BY {list} LIMIT 3");
    assert_eq!(rows(session, &sql), distinct(&ascending[..ascending.len().min(3)]), "{sql}");
}

/// EXISTS, NOT EXISTS, IN, NOT IN and a count, each by a subquery with a condition on both tables.
fn check_subqueries(session: &mut Session, model: &mut Model) {
    let condition = model.condition(2, 2);
    let (outer, inner) = (model.below(3) as usize, model.below(3) as usize);
    let where_sql = condition_sql(&condition);
    let mut expected = Vec::new();
    for a in &model.tables[0] {
        let partners = model.tables[1].iter().filter(|b| holds(&condition, &[Some(*a), Some(**b)]));
        let partners: Vec<&TableRow> = partners.collect();
        let is_in = match a[outer] {
            _ if partners.is_empty() => Some(false),
            None => None,
            Some(v) if partners.iter().any(|b| b[inner] == Some(v)) => Some(true),
            Some(_) if partners.iter().any(|b| b[inner].is_none()) => None,
            Some(_) => Some(false),
        };
        expected.push((a[0], partners.len(), is_in));
    }
    type Found = (Value, usize, Option<bool>);
    let ids = |keep: &dyn Fn(&Found) -> bool| {
        let kept = expected.iter().filter(|e| keep(e)).map(|e| vec![show(e.0)]);
        sorted(kept.collect())
    };
    let (x, y) = (COLUMNS[outer], COLUMNS[inner]);
    let list = format!("(SELECT b.{y} FROM b WHERE {where_sql})");
    for (test, expected) in [
        (format!("EXISTS {list}"), ids(&|e| e.1 > 0)),
        (format!("NOT EXISTS {list}"), ids(&|e| e.1 == 0)),
        (format!("a.{x} IN {list}"), ids(&|e| e.2 == Some(true))),
        (format!("a.{x} NOT IN {list}"), ids(&|e| e.2 == Some(false))),
        (format!("(a.{x} IN {list}) IS NULL"), ids(&|e| e.2.is_none())),
        (format!("(SELECT COUNT(*) FROM b WHERE {where_sql}) > 1"), ids(&|e| e.1 > 1)),
    ] {
        let sql = format!("SELECT a.id FROM a WHERE {test}");
        assert_eq!(sorted(rows(session, &sql)), expected, "{sql}");
    }
}

#[test]
fn joins_subqueries_and_groups_give_what_a_naive_evaluator_gives() {
    let server = Server::new(7);
    let session = &mut server.session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE a (id INT PRIMARY KEY, x INT, y INT, KEY x (x))",
        "CREATE TABLE b (id INT PRIMARY KEY, x INT, y INT, KEY xy (x, y))",
        "CREATE TABLE c (id INT PRIMARY KEY, x INT, y INT)",
    ] {
        run(session, sql).unwrap();
    }
    let mut model = Model { random: Random::new(7), tables: Vec::new() };
    for _ in 0..40 {
        model.fill(session);
        for _ in 0..12 {
            let query = model.query();
            check_join(session, &model, &query);
            check_groups(session, &mut model, &query);
            check_subqueries(session, &mut model);
        }
    }
}
