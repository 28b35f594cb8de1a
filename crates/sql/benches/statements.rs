//! What a statement costs beside the disk: text in, rows out, over a simulated disk whose flushes
//! take no time.
//!
//! `cargo bench -p sql --bench statements`. Prints microseconds per statement, single session.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::io;

use common::{Server, run};
use datum::sink::{ColumnMeta, OkInfo, ResultSink};
use env::{Env, RealEnv};
use sql::{Datum, Session};

/// Counts rows and keeps nothing.
struct Count(u64);

impl ResultSink for Count {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Datum<'_>]) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn finish(&mut self, _: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}

fn measure(name: &str, session: &mut Session, times: u32, statement: impl Fn(u32) -> String) {
    let statements: Vec<String> = (0..times).map(statement).collect();
    let started = RealEnv.monotonic();
    let mut count = Count(0);
    for statement in &statements {
        session.execute(statement.as_bytes(), &mut count).unwrap();
    }
    let micros = (RealEnv.monotonic() - started).as_secs_f64() * 1e6 / f64::from(times);
    println!("{name:<40} {micros:>10.2} us   ({} rows)", count.0);
}

fn main() {
    let server = Server::new(1);
    let mut s = server.session();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE xxx (a INT AUTO_INCREMENT, b INT, c VARCHAR(100), PRIMARY KEY (a))",
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY k (k))",
        "CREATE TABLE w (id BIGINT NOT NULL AUTO_INCREMENT, content BLOB, PRIMARY KEY (id))",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN INSERT INTO w(id, content) VALUES (NULL, REPEAT('bla bla', 5000)); RETURN ROW_COUNT(); END",
    ] {
        run(&mut s, sql).unwrap();
    }
    let n = 20_000;
    measure("SELECT 1", &mut s, n, |_| "SELECT 1".to_owned());
    measure("insert, autocommit", &mut s, n, |_| "insert into xxx values (NULL, 2, 'sadasda ')".to_owned());
    measure("insert, 112 bytes, autocommit", &mut s, n, |i| {
        format!("INSERT INTO t VALUES ({i}, {}, '{:0120}', '{:060}')", i % 100, i, i)
    });
    measure("point select", &mut s, n, |i| format!("SELECT c FROM t WHERE id={i}"));
    // The events of statements, by turns: what they cost is small.
    for _ in 0..5 {
        for (on, name) in [("YES", "point select, with its event"), ("NO", "point select, without")] {
            let consumers = "UPDATE performance_schema.setup_consumers SET ENABLED =";
            run(&mut s, &format!("{consumers} '{on}' WHERE NAME LIKE 'events_statements_%t%y'")).unwrap();
            run(&mut s, &format!("{consumers} '{on}' WHERE NAME = 'events_statements_current'")).unwrap();
            measure(name, &mut s, n, |i| format!("SELECT c FROM t WHERE id={i}"));
        }
    }
    measure("range of 100", &mut s, n / 20, |i| {
        format!("SELECT c FROM t WHERE id BETWEEN {i} AND {}", i + 99)
    });
    measure("sum of 100", &mut s, n / 20, |i| {
        format!("SELECT SUM(k) FROM t WHERE id BETWEEN {i} AND {}", i + 99)
    });
    measure("sort of 100", &mut s, n / 20, |i| {
        format!("SELECT c FROM t WHERE id BETWEEN {i} AND {} ORDER BY c", i + 99)
    });
    measure("index lookup", &mut s, n / 200, |i| format!("SELECT COUNT(pad) FROM t WHERE k = {i}"));
    measure("update by key", &mut s, n, |i| format!("UPDATE t SET k=k+1 WHERE id={i}"));
    measure("update of text by key", &mut s, n, |i| format!("UPDATE t SET c='{:0120}' WHERE id={i}", i + 1));
    measure("scan of 20,000 rows", &mut s, 20, |_| "SELECT COUNT(*) FROM t WHERE pad = 'x'".to_owned());
    measure("function that inserts 35 kB", &mut s, n / 20, |_| "select d.f();".to_owned());
    measure("delete by key", &mut s, n, |i| format!("DELETE FROM t WHERE id={i}"));
}
