//! What parsing costs: time for one statement, the tree's making and dropping included.
//!
//! `cargo bench -p syntax --bench parser`
#![allow(clippy::disallowed_methods)] // a benchmark reads the real clock

use std::hint::black_box;
use std::time::Instant;
use syntax::parser::{ParseOptions, parse};

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=50271"),
    ("range select", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 50271 AND 50370 ORDER BY c"),
    ("W1 insert", "INSERT INTO t(id,content) values (null,REPEAT('bla bla',5000))"),
    ("W4 insert", "insert into xxx values (NULL, 2, 'sadasda ')"),
    (
        "sysbench insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (50271, 49930, '83868641912-28773972837-60736120486-75162659906', '67847967377-48000963322')",
    ),
    ("update by key", "UPDATE sbtest1 SET k=k+1 WHERE id=50271"),
    ("call of a function", "select test_case_9.insert_data()"),
    ("commit", "COMMIT"),
    (
        "join",
        "SELECT c.name, SUM(o.price * o.quantity) AS total FROM customers AS c JOIN orders o ON o.customer_id = c.id LEFT JOIN refunds r ON r.order_id = o.id WHERE o.created >= '2026-01-01' AND (c.country IN ('DE', 'FR', 'NL') OR c.vip = 1) AND r.id IS NULL GROUP BY c.id, c.name HAVING total > 1000 ORDER BY total DESC LIMIT 20",
    ),
];

/// Rounds of which the best counts: others were disturbed.
const ROUNDS: usize = 10;
const RUNS: u32 = 20_000;

fn main() {
    let options = ParseOptions::default();
    println!("| statement | bytes | ns |\n| --- | ---: | ---: |");
    for (name, sql) in STATEMENTS {
        let best = (0..ROUNDS).map(|_| round(sql, &options)).min().unwrap_or_default();
        println!("| {name} | {} | {best} |", sql.len());
    }
}

/// Nanoseconds for one run.
fn round(sql: &str, options: &ParseOptions) -> u128 {
    let start = Instant::now();
    for _ in 0..RUNS {
        black_box(parse(black_box(sql.as_bytes()), options)).expect("the benchmark's statements are right");
    }
    start.elapsed().as_nanos() / u128::from(RUNS)
}
