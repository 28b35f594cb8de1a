//! Statements that nest as deep as a client likes: each gets rows or an error, and the server lives
//! on.
//!
//! `SELECT 1 IN (SELECT a IN (..) .. GROUP BY a WITH ROLLUP)`, 88 levels deep, ended the process
//! with the default `thread_stack`, and so did 199 SELECTs with UNION between them, for a user
//! without any privilege.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::{Client, ClientError};

/// How deep shapes nest: around the depths at which levels of various frames fill a stack, and up
/// to the parser's limits.
const DEPTHS: [usize; 13] = [1, 12, 25, 37, 44, 50, 63, 80, 97, 130, 197, 400, 795];

/// A text that takes the place of `@` in itself, `n` times; `#` is the level.
fn wrapped(pattern: &str, core: &str, n: usize) -> String {
    (0..n).fold(core.to_owned(), |inner, level| {
        pattern.replace('#', &level.to_string()).replacen('@', &inner, 1)
    })
}

/// Queries within queries: the pattern, and what is in the middle.
const QUERIES: [(&str, &str); 33] = [
    ("SELECT a IN (@) FROM r GROUP BY a WITH ROLLUP", "SELECT 1"),
    ("SELECT 1 IN (SELECT a IN (@) FROM r GROUP BY a WITH ROLLUP)", "SELECT 1"),
    ("SELECT 1 IN (@)", "SELECT 1"),
    ("SELECT EXISTS (@)", "SELECT 1"),
    ("SELECT a FROM r WHERE EXISTS (@)", "SELECT 1"),
    ("SELECT a FROM r WHERE a IN (@)", "SELECT 1"),
    ("SELECT a FROM r r# WHERE a NOT IN (@) AND r#.a > 0", "SELECT 2"),
    ("SELECT 1 > ANY (@)", "SELECT 1"),
    ("SELECT a FROM r WHERE a >= ALL (@)", "SELECT 1"),
    ("SELECT (@)", "SELECT 1"),
    ("SELECT 1 + (@)", "SELECT 1"),
    ("SELECT (1, (@)) = (1, 1)", "SELECT 1"),
    ("SELECT DISTINCT (@) + COUNT(*) FROM r GROUP BY a HAVING COUNT(*) > 0 ORDER BY 1 LIMIT 1", "SELECT 1"),
    ("SELECT (@ UNION SELECT 1 LIMIT 1)", "SELECT 1"),
    ("SELECT * FROM (@) d#", "SELECT 1 a"),
    ("SELECT a + 1 a FROM (@) d#", "SELECT a FROM r"),
    ("SELECT a + a a FROM (@) d#", "SELECT a FROM r"),
    ("SELECT * FROM (@) d# LIMIT 5", "SELECT 1 a"),
    ("SELECT DISTINCT * FROM (@) d# ORDER BY a", "SELECT 1 a"),
    ("SELECT a FROM (@) d# GROUP BY a WITH ROLLUP HAVING a > 0 ORDER BY a LIMIT 1", "SELECT 1 a"),
    ("SELECT x.a FROM (@) x LEFT JOIN r y ON x.a = y.a", "SELECT 1 a"),
    ("SELECT x.a FROM (@) x LEFT JOIN r y ON x.a = y.a LIMIT 5", "SELECT 1 a"),
    ("SELECT d.a FROM r, LATERAL (@) d", "SELECT 1 a"),
    ("SELECT * FROM (@ UNION SELECT 2) d#", "SELECT 1 a"),
    ("WITH c AS (@) SELECT * FROM c", "SELECT 1 a"),
    ("WITH c AS (@) SELECT * FROM c LIMIT 1", "SELECT 1 a"),
    ("(@) UNION (SELECT 1)", "SELECT 1"),
    ("(SELECT 1) UNION (@)", "SELECT 1"),
    ("(SELECT 1) EXCEPT (@)", "SELECT 1"),
    ("(@ LIMIT 1) UNION (SELECT 1)", "SELECT 1"),
    ("(@) LIMIT 1", "SELECT 1"),
    ("(@)", "SELECT 1"),
    ("SELECT a FROM r WHERE (@) > 0 ORDER BY a", "SELECT 1"),
];

/// Expressions within expressions.
const EXPRESSIONS: [(&str, &str); 48] = [
    ("(@)", "1"),
    ("NOT @", "1"),
    ("NOT (@)", "1"),
    ("!@", "1"),
    ("-(@)", "1"),
    ("~@", "1"),
    ("@+1", "1"),
    ("1+(@)", "1"),
    ("(@)*1.5", "1"),
    ("@ IS NULL", "1"),
    ("(@) IS TRUE", "1"),
    ("@ COLLATE utf8mb4_bin", "'x'"),
    ("@ = 1", "1"),
    ("(@) = 'x'", "'x'"),
    ("(@) <=> 1", "1"),
    ("@ XOR 1", "1"),
    ("((@) AND 1) OR 0", "1"),
    ("(@) BETWEEN 0 AND 2", "1"),
    ("1 BETWEEN (@) AND 2", "1"),
    ("(@) IN (1,2)", "1"),
    ("1 IN (2,(@))", "1"),
    ("(1,@) IN ((1,1),(2,2))", "1"),
    ("(1,(@)) = (1,1)", "1"),
    ("(@) LIKE 'x'", "'x'"),
    ("(@) REGEXP 'x'", "'x'"),
    ("CASE WHEN @ THEN 1 ELSE 2 END", "1"),
    ("CASE WHEN 1=2 THEN 1 ELSE @ END", "1"),
    ("CASE @ WHEN 1 THEN 1 ELSE 2 END", "1"),
    ("IF(1,@,2)", "1"),
    ("IFNULL(NULL,@)", "1"),
    ("COALESCE(NULL,@)", "1"),
    ("NULLIF(@,2)", "1"),
    ("CAST(@ AS CHAR)", "'x'"),
    ("CONVERT(@ USING utf8mb4)", "'x'"),
    ("CONCAT(@,'x')", "'x'"),
    ("REGEXP_REPLACE(@,'a','b')", "'x'"),
    ("TRIM(@)", "'x'"),
    ("SUBSTRING(@,1)", "'x'"),
    ("GREATEST(@,1)", "1"),
    ("DATE_ADD(@, INTERVAL 1 DAY)", "'2020-01-01'"),
    ("@ + INTERVAL 1 DAY", "'2020-01-01'"),
    ("'2020-01-01' + INTERVAL (@) DAY", "1"),
    ("JSON_ARRAY(@)", "1"),
    ("JSON_OBJECT('a',@)", "1"),
    ("JSON_EXTRACT(@,'$')", "'[1]'"),
    ("JSON_MERGE_PRESERVE(@,'[1]')", "'[1]'"),
    ("(@)|1", "1"),
    ("INTERVAL(@,1,2)", "1"),
];

/// `WITH c0 AS (..), c1 AS (.. c0 ..), ..`
fn chain_of_common_tables(body: &str, n: usize) -> String {
    let more = (0..n).map(|i| format!(", c{} AS ({})", i + 1, body.replace('@', &format!("c{i}"))));
    format!("WITH c0 AS (SELECT a FROM r){} SELECT * FROM c{n}", more.collect::<String>())
}

/// Queries that are not of the one pattern.
fn other_queries(n: usize) -> Vec<String> {
    let chain = |word: &str| vec!["SELECT 1"; n + 1].join(word);
    let joins = |word: &str| {
        let more = (1..=n).map(|i| format!(" {word} r r{i} ON r0.a = r{i}.a")).collect::<String>();
        format!("SELECT 1 FROM r r0{more}")
    };
    let brackets = |open: &str, close: &str| format!("{}a{}", open.repeat(n), close.repeat(n));
    let tower = format!("{}SELECT 1{}", "(".repeat(n.min(190)), " UNION ALL SELECT 1)".repeat(n.min(190)));
    let tower_of_chains = {
        let level = format!("{})", " UNION ALL SELECT 1".repeat(n));
        format!("{}SELECT 1{}", "(".repeat(n.min(90)), level.repeat(n.min(90)))
    };
    let tower_of_joins = {
        let level = format!("{})", " JOIN r".repeat(n));
        format!("SELECT 1 FROM {}r{}", "(".repeat(n.min(90)), level.repeat(n.min(90)))
    };
    let mut all = vec![
        tower_of_joins,
        chain(" UNION "),
        chain(" UNION ALL "),
        chain(" EXCEPT "),
        chain(" INTERSECT "),
        tower,
        tower_of_chains,
        joins("JOIN"),
        joins("LEFT JOIN"),
        joins("RIGHT JOIN"),
        format!("SELECT JSON_EXTRACT('{}{}', '${}')", "[".repeat(n), "]".repeat(n), "[0]".repeat(n)),
        format!("SELECT JSON_EXTRACT('[1]', '${}')", "**[0]".repeat(n)),
        format!("SELECT 'aaa' REGEXP '{}'", brackets("(", ")*")),
        format!("SELECT 'aaa' REGEXP '{}'", brackets("(?=", ")")),
        format!("SELECT 'aaa' REGEXP '{}'", brackets(&"(?:".repeat(20), &")".repeat(20))),
        format!("SELECT 'aaa' LIKE '{}b'", "%a".repeat(n)),
        format!("SELECT {}COUNT(*){} FROM r GROUP BY a WITH ROLLUP", "1+(".repeat(n), ")".repeat(n)),
    ];
    let bodies = [
        "SELECT a + 1 a FROM @",
        "SELECT a + a a FROM @",
        "SELECT x.a FROM @ x JOIN @ y",
        "SELECT a + 1 a FROM @ LIMIT 3",
        "SELECT a FROM @ GROUP BY a WITH ROLLUP LIMIT 3",
        "SELECT a FROM @ UNION SELECT 1",
        "SELECT 1 IN (SELECT a FROM @) a",
    ];
    all.extend(bodies.map(|body| chain_of_common_tables(body, n)));
    all
}

/// What is asked of a statement's answer: rows, or one of the errors of statements that are too
/// much.
fn check(server: &Server, client: &mut Client, sql: &str) {
    let shown = &sql[..sql.len().min(300)];
    match client.query(sql) {
        Ok(_) => {}
        Err(e @ ClientError::Server(_)) => {
            let number = e.number().unwrap_or_default();
            // Too deep, not yet supported, one table twice, too many tables, too long a regular
            // expression, too deep a document, and wrong values of what nests otherwise.
            let expected = [1436, 1235, 1066, 1116, 1242, 1292, 1690, 3157, 3141, 3143];
            assert!(
                expected.contains(&number) || (3684..=3700).contains(&number),
                "{number}: {e} of {shown}"
            );
        }
        Err(e) => panic!("{e} of {shown}: {:#?}", server.messages()),
    }
}

fn in_every_way(server: &Server, client: &mut Client, query: &str) {
    check(server, client, query);
    for format in ["", "FORMAT=JSON ", "FORMAT=TREE "] {
        check(server, client, &format!("EXPLAIN {format}{query}"));
    }
    let quoted = query.replace('\\', "\\\\").replace('\'', "''");
    if client.query(format!("PREPARE p FROM '{quoted}'")).is_ok() {
        check(server, client, "EXECUTE p");
        client.query("DEALLOCATE PREPARE p").unwrap();
    }
}

fn with_tables(args: &[&str]) -> (Server, Client) {
    let server = start(args);
    let mut client = server.connect();
    for sql in
        ["CREATE DATABASE d", "USE d", "CREATE TABLE r (a INT PRIMARY KEY)", "INSERT INTO r VALUES (1)"]
    {
        client.query(sql).unwrap();
    }
    (server, client)
}

fn queries_within_queries(args: &[&str]) {
    let (server, mut client) = with_tables(args);
    for n in DEPTHS {
        for (pattern, core) in QUERIES {
            // Beyond that the parser refuses all of them.
            if n < 200 {
                in_every_way(&server, &mut client, &wrapped(pattern, core, n));
            }
        }
        for query in other_queries(n) {
            in_every_way(&server, &mut client, &query);
        }
    }
    client.query("SELECT 1").unwrap();
}

fn expressions_within_expressions(args: &[&str]) {
    let (server, mut client) = with_tables(args);
    client.query("CREATE TABLE s (a INT PRIMARY KEY, b TEXT)").unwrap();
    for n in DEPTHS {
        for (pattern, core) in EXPRESSIONS {
            let expr = wrapped(pattern, core, n);
            in_every_way(&server, &mut client, &format!("SELECT {expr}"));
            check(&server, &mut client, &format!("SELECT a FROM r WHERE {expr} ORDER BY {expr}"));
            check(&server, &mut client, &format!("DO {expr}"));
            check(&server, &mut client, &format!("SET @x = {expr}"));
            check(&server, &mut client, &format!("REPLACE INTO s VALUES (1, {expr})"));
            check(&server, &mut client, &format!("UPDATE s SET b = {expr} WHERE ({expr}) IS NULL"));
        }
    }
    client.query("SELECT 1").unwrap();
}

#[test]
fn queries_nest_on_the_default_stack() {
    queries_within_queries(&[]);
}

#[test]
fn queries_nest_on_the_smallest_stack() {
    queries_within_queries(&["--thread-stack=1M"]);
}

#[test]
fn expressions_nest_on_the_default_stack() {
    expressions_within_expressions(&[]);
}

#[test]
fn expressions_nest_on_the_smallest_stack() {
    expressions_within_expressions(&["--thread-stack=1M"]);
}

/// Makes `f1`, which calls `f2`, and so on; the last one runs `innermost`.
fn chain_of_functions(client: &mut Client, n: usize, innermost: &str) {
    for i in (1..=n).rev() {
        let value = if i == n { innermost.to_owned() } else { format!("f{}()", i + 1) };
        client.query(format!("DROP FUNCTION IF EXISTS f{i}")).unwrap();
        let body = format!("BEGIN DECLARE v INT; SELECT ({value}) INTO v; RETURN v; END");
        client.query(format!("CREATE FUNCTION f{i}() RETURNS INT READS SQL DATA {body}")).unwrap();
    }
}

fn functions_call_functions(args: &[&str]) {
    let (server, mut client) = with_tables(args);
    for n in [5, 20, 31, 40] {
        for depth in [1, 20, 60, 95] {
            let innermost =
                wrapped("SELECT 1 IN (SELECT a IN (@) FROM r GROUP BY a WITH ROLLUP)", "SELECT 1", depth / 2);
            chain_of_functions(&mut client, n, &innermost);
            let mut fresh = server.connect();
            fresh.query("USE d").unwrap();
            for sql in ["SELECT f1()", "SELECT f1()", "SELECT a FROM r WHERE f1() > 0", "DO f1()"] {
                match fresh.query(sql) {
                    Err(e) if ![Some(1436), Some(1424)].contains(&e.number()) => panic!("{e}: {n} {depth}"),
                    _ => {}
                }
            }
        }
    }
    for (word, end) in [("IF 1 THEN", "END IF;"), ("WHILE 0 DO", "END WHILE;"), ("BEGIN", "END;")] {
        for n in [10, 60, 95, 190, 250] {
            client.query("DROP FUNCTION IF EXISTS g").unwrap();
            let body =
                format!("BEGIN {} SET @a = 1; {} RETURN 1; END", format!("{word} ").repeat(n), end.repeat(n));
            if client.query(format!("CREATE FUNCTION g() RETURNS INT DETERMINISTIC {body}")).is_ok() {
                check(&server, &mut client, "SELECT g()");
            }
        }
    }
    client.query("SELECT 1").unwrap();
}

#[test]
fn functions_call_functions_on_the_default_stack() {
    functions_call_functions(&[]);
}

#[test]
fn functions_call_functions_on_the_smallest_stack() {
    functions_call_functions(&["--thread-stack=1M"]);
}

/// What a session with the largest stack accepts, the next start can read, and sessions of the
/// smallest one do not end it.
#[test]
fn definitions_of_large_stacks_are_read_by_small_ones() {
    let datadir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_in(&datadir, &["--thread-stack=64M"]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d").unwrap();
    client.query("USE d").unwrap();
    let mut made = Vec::new();
    for (i, (pattern, core)) in EXPRESSIONS.iter().enumerate() {
        for (j, n) in [45, 60, 90].into_iter().enumerate() {
            let expr = wrapped(pattern, core, n);
            for (k, column) in [
                format!("b VARCHAR(100) DEFAULT ({expr})"),
                format!("b INT CHECK (({expr}) IS NOT NULL)"),
                format!("b VARCHAR(100) AS ({expr})"),
            ]
            .iter()
            .enumerate()
            {
                let name = format!("t{i}_{j}_{k}");
                if client.query(format!("CREATE TABLE {name} (a INT PRIMARY KEY, {column})")).is_ok() {
                    made.push(name);
                }
            }
        }
    }
    assert!(made.len() > 100, "{} tables", made.len());
    let server = server.crash_and_restart(&["--thread-stack=1M"]);
    let mut client = server.connect();
    client.query("USE d").unwrap();
    for name in &made {
        check(&server, &mut client, &format!("SHOW CREATE TABLE {name}"));
        check(&server, &mut client, &format!("SELECT * FROM {name}"));
        match client.query(format!("INSERT IGNORE INTO {name} (a) VALUES (1)")) {
            Err(e) if e.number().is_none() => panic!("{e}: {name}"),
            _ => {}
        }
    }
    client.query("SELECT 1").unwrap();
}
