//! What DDL accepted is there after a restart, as it was (R1 of ARCHITECTURE.md): after a clean
//! stop, which reads the catalog's records, and after a power cut, which replays the statements
//! from the log. What could not be read back is refused.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, rows, run};
use sql::Session;

/// Everything that is shown of database `d`: definitions, counters, rows, functions; and the
/// accounts but root.
fn shown(session: &mut Session) -> Vec<String> {
    run(session, "SET SESSION sql_mode = DEFAULT, time_zone = '+00:00', NAMES utf8mb4").unwrap();
    let mut all = Vec::new();
    let mut add = |session: &mut Session, sql: &str| all.push(format!("{sql}: {:?}", rows(session, sql)));
    add(session, "SHOW CREATE DATABASE d");
    for table in rows(session, "SHOW TABLES FROM d") {
        let name = table[0].replace('`', "``");
        add(session, &format!("SHOW CREATE TABLE d.`{name}`"));
        add(session, &format!("SHOW FULL COLUMNS FROM d.`{name}`"));
        add(session, &format!("SELECT * FROM d.`{name}`"));
    }
    let functions = "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'd'";
    for function in rows(session, functions) {
        add(session, &format!("SHOW CREATE FUNCTION d.`{}`", function[0]));
    }
    for account in rows(session, "SELECT user, host FROM mysql.user WHERE user != 'root'") {
        let (user, host) = (account[0].replace('\\', "\\\\").replace('\'', "''"), &account[1]);
        add(session, &format!("SHOW CREATE USER '{user}'@'{host}'"));
        add(session, &format!("SHOW GRANTS FOR '{user}'@'{host}'"));
    }
    all
}

/// Runs `test` with the stack that deep texts need in a debug build.
fn with_large_stack(test: impl FnOnce() + Send) {
    const SIZE: usize = 256 << 20;
    std::thread::scope(|scope| {
        let run = || {
            stdx::stack::begin(SIZE);
            test();
        };
        std::thread::Builder::new().stack_size(SIZE).spawn_scoped(scope, run).unwrap().join().unwrap();
    });
}

/// Runs the statements, all of which must be accepted, and compares what is shown before and after
/// each kind of restart.
fn survives(statements: &[&str]) {
    for (number, how) in ["clean stop", "power cut"].into_iter().enumerate() {
        let server = Server::new(7);
        let mut session = server.session();
        run(&mut session, "CREATE DATABASE d; USE d").unwrap();
        for sql in statements {
            run(&mut session, sql).unwrap_or_else(|e| panic!("{sql:.200}: {e}"));
        }
        let before = shown(&mut server.session());
        drop(session);
        let server = if number == 0 { server.restart() } else { server.power_cut() };
        assert_eq!(before, shown(&mut server.session()), "after a {how} of {:.300}", statements.join("; "));
        // Once more from what the last start made of it.
        let server = server.restart();
        assert_eq!(before, shown(&mut server.session()), "after a {how} and a clean stop");
    }
}

/// The last statement is refused with this error, and what is there goes on.
fn refused(number: u16, statements: &[&str]) {
    let server = Server::new(7);
    let mut session = server.session();
    run(&mut session, "CREATE DATABASE d; USE d").unwrap();
    let (last, first) = statements.split_last().unwrap();
    for sql in first {
        run(&mut session, sql).unwrap_or_else(|e| panic!("{sql:.200}: {e}"));
    }
    let before = shown(&mut server.session());
    let error = run(&mut session, last).map(|_| ()).expect_err(&format!("{last:.200} is accepted"));
    assert_eq!(error.number, number, "{last:.200}: {error}");
    assert_eq!(before, shown(&mut server.session()), "{last:.200} left something behind");
    drop(session);
    let server = server.power_cut();
    assert_eq!(before, shown(&mut server.session()), "after a power cut behind {last:.200}");
}

#[test]
fn members_of_enum_and_set_keep_their_backslashes_and_line_ends() {
    survives(&[
        r"CREATE TABLE a (id INT PRIMARY KEY, e ENUM('a\\'))",
        r"CREATE TABLE b (id INT PRIMARY KEY, e ENUM('x\\ny', 'it''s', '', 'x\ny\r\0z'), s SET('\\', '\\\\', 'q'))",
        r"INSERT INTO b VALUES (1, 'x\\ny', '\\,q'), (2, 'x\ny\r\0z', '\\\\'), (3, 'it''s', '')",
        r"CREATE TABLE c (e ENUM('\\%', '%\_') DEFAULT '\\%' COMMENT 'a\\b\r\n')",
        "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('tab\t', 'end\n'))",
        "INSERT INTO t VALUES (1, 'tab\t'), (2, 'end\n')",
    ]);
}

#[test]
fn expressions_that_nest_deeper_when_they_are_written_are_refused() {
    with_large_stack(deep_expressions);
}

fn deep_expressions() {
    let deep = |operand: &str, tail: &str, times: usize| format!("{operand}{}", tail.repeat(times));
    for expr in [
        deep("a", "+1", 197) + " > 0",
        deep("a", " IS NOT NULL", 199),
        deep("b", " COLLATE utf8mb4_bin", 199) + " = 'x'",
        deep("a", " + 1", 700),
    ] {
        refused(1436, &[&format!("CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT, CHECK ({expr}))")]);
        refused(1436, &["CREATE TABLE t (a INT, b TEXT)", &format!("ALTER TABLE t ADD CHECK ({expr})")]);
        refused(
            1436,
            &[&format!("CREATE TABLE t (a INT, b TEXT, g INT GENERATED ALWAYS AS ({expr}) STORED)")],
        );
    }
    survives(&[&format!("CREATE TABLE t (a INT, CHECK ({} > 0))", deep("a", "+1", 150))]);
}

#[test]
fn the_key_of_a_table_without_one_counts_as_a_column() {
    let columns = |n: usize| (0..n).map(|i| format!("c{i} TINYINT")).collect::<Vec<_>>().join(", ");
    refused(1117, &[&format!("CREATE TABLE t ({})", columns(1017))]);
    refused(1117, &[&format!("CREATE TABLE t ({})", columns(1016)), "ALTER TABLE t ADD more TINYINT"]);
    survives(&[
        &format!("CREATE TABLE t ({})", columns(1016)),
        &format!("CREATE TABLE k ({}, PRIMARY KEY (c0))", columns(1017)),
    ]);
    refused(
        1117,
        &[&format!("CREATE TABLE t ({}, PRIMARY KEY (c0))", columns(1017)), "ALTER TABLE t DROP PRIMARY KEY"],
    );
}

#[test]
fn names_of_checks_that_are_given_have_their_limit() {
    let name = |n: usize| "n".repeat(n);
    refused(1059, &[&format!("CREATE TABLE {} (a INT PRIMARY KEY, CHECK (a > 0))", name(59))]);
    let create = "CREATE TABLE t (a INT PRIMARY KEY, CHECK (a > 0))";
    refused(1059, &[create, &format!("RENAME TABLE t TO {}", name(59))]);
    refused(1059, &[create, &format!("ALTER TABLE t RENAME {}", name(59))]);
    refused(1059, &[create, &format!("CREATE TABLE {} LIKE t", name(59))]);
    refused(
        1059,
        &[
            &format!("CREATE TABLE {} (a INT PRIMARY KEY)", name(59)),
            &format!("ALTER TABLE {} ADD CHECK (a > 0)", name(59)),
        ],
    );
    survives(&[
        &format!("CREATE TABLE {} (a INT PRIMARY KEY, CHECK (a > 0))", name(58)),
        create,
        &format!("RENAME TABLE t TO {}", "ü".repeat(58)),
        &format!("CREATE TABLE {} (a INT PRIMARY KEY, CONSTRAINT {} CHECK (a > 0))", name(64), name(63)),
    ]);
}

#[test]
fn statements_that_are_rewritten_are_logged_for_the_sql_mode_that_they_are_written_for() {
    for mode in [
        "NO_BACKSLASH_ESCAPES",
        "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES",
        "ANSI,HIGH_NOT_PRECEDENCE",
    ] {
        survives(&[
            &format!("SET sql_mode = '{mode}'"),
            r"CREATE TABLE t (a VARCHAR(20) DEFAULT 'a\b' COMMENT 'c\d', b VARCHAR(20) DEFAULT ('e\f'), g VARCHAR(30) AS (CONCAT(a, '\n')) STORED,
                CHECK (a <> 'x\\y')) COMMENT 'g\h'",
            "INSERT INTO t (a) VALUES ('q')",
            r"CREATE TABLE p (a VARCHAR(20) DEFAULT 'a\b' COMMENT 'c\d', PRIMARY KEY (a), KEY ((CONCAT(a, 'x')))) COMMENT 'g\h'",
            r"CREATE TABLE s COMMENT 'g\h' SELECT a, 'x\y' AS b FROM t",
            "CREATE TABLE l LIKE t",
            r"ALTER TABLE t MODIFY a VARCHAR(30) DEFAULT 'z\z'",
            r"ALTER TABLE t ALTER a SET DEFAULT 'y\y'",
            r"CREATE INDEX k ON t ((CONCAT(a, '\n')))",
            r"CREATE FUNCTION f() RETURNS VARCHAR(20) DETERMINISTIC COMMENT 'a\b' RETURN 'c\d'",
            r"CREATE USER 'u\v'@'localhost' COMMENT 'a\b'",
            r"GRANT SELECT ON d.* TO 'u\v'@'localhost'",
        ]);
    }
}

#[test]
fn a_nullable_column_without_default_stays_one() {
    survives(&[
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT DEFAULT 5, c TIMESTAMP NULL)",
        "ALTER TABLE t ALTER COLUMN a DROP DEFAULT, ALTER COLUMN b DROP DEFAULT, ALTER c DROP DEFAULT",
        "CREATE TABLE k (a INT, b TEXT)",
        "ALTER TABLE k ALTER a DROP DEFAULT",
        "ALTER TABLE k ADD c INT FIRST",
        "RENAME TABLE k TO kk",
        "CREATE TABLE l LIKE t",
        "CREATE TABLE m LIKE kk",
        "CREATE TABLE u (id INT PRIMARY KEY, a INT)",
        "ALTER TABLE u ALTER a DROP DEFAULT",
        "TRUNCATE u",
    ]);
}

#[test]
fn defaults_and_comments_at_their_edges_are_kept() {
    survives(&[
        "SET time_zone = '+05:30', sql_mode = 'ALLOW_INVALID_DATES'",
        r"CREATE TABLE t (a CHAR(10) CHARACTER SET latin1 DEFAULT 'ä', b BINARY(4) DEFAULT 'A\n\\\0', c BIT(64) DEFAULT b'101',
            d DATE DEFAULT '2020-02-31', e TIMESTAMP DEFAULT '2020-01-01 00:00:00', f DECIMAL(65,30) DEFAULT -1.5, g DOUBLE DEFAULT 1e300,
            h VARCHAR(10) DEFAULT _latin1 x'e4', i VARBINARY(5) DEFAULT 'a\0\n\\', j TIME(6) DEFAULT '-838:59:59', k YEAR DEFAULT 1901,
            l JSON DEFAULT (JSON_ARRAY('a\\', 1)), m DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3) COMMENT '\\''\n')",
        "INSERT INTO t () VALUES ()",
        "CREATE TABLE s (a SET('é', 'ö') CHARACTER SET latin1 DEFAULT 'é,ö')",
        r"ALTER TABLE t COMMENT 'a''b\\c\n', ADD n ENUM('é', '\\') CHARACTER SET latin1 DEFAULT 'é' FIRST",
    ]);
}

#[test]
fn functions_and_accounts_are_read_back() {
    survives(&[
        r"CREATE FUNCTION f(a VARCHAR(10) CHARSET latin1, `b``c` INT) RETURNS VARCHAR(20) DETERMINISTIC COMMENT 'it''s \\ \n'
            BEGIN DECLARE x VARCHAR(10) DEFAULT 'a\'b'; RETURN CONCAT(a, x, 'ü', `b``c`); END",
        r#"CREATE USER 'a''b\\c'@'%' IDENTIFIED WITH 'mysql_native_password' AS '*AA\\' ATTRIBUTE '{"x": "y\\\\z"}'"#,
        r"GRANT SELECT, INSERT ON `d`.* TO 'a''b\\c'@'%' WITH GRANT OPTION",
        r"GRANT SELECT (a) ON d.t TO 'a''b\\c'@'%'",
    ].iter().filter(|sql| !sql.contains("d.t")).copied().collect::<Vec<_>>());
}

#[test]
fn what_the_generator_of_definitions_found() {
    // Members that are bytes, in tables of every default.
    survives(&[
        "CREATE TABLE a (e ENUM('0', 'é') CHARACTER SET binary, s SET('x ', 'y') CHARACTER SET binary) DEFAULT CHARSET latin1",
        "INSERT INTO a VALUES ('é', 'x ')",
        "CREATE TABLE b (id INT PRIMARY KEY, e ENUM('0') DEFAULT '0') DEFAULT CHARSET binary",
        "ALTER TABLE b CONVERT TO CHARACTER SET latin1",
        "CREATE TABLE c LIKE a",
    ]);
    for (charset, members, default) in [("latin1", "'éЯ'", "éЯ"), ("ascii", "'漢', 'x'", "漢")] {
        let sql = format!("CREATE TABLE t (e ENUM({members}) CHARACTER SET {charset} DEFAULT '{default}')");
        let server = Server::new(1);
        let mut session = server.session();
        run(&mut session, "CREATE DATABASE d; USE d").unwrap();
        let _ = run(&mut session, &sql);
        let before = shown(&mut session);
        drop(session);
        assert_eq!(before, shown(&mut server.restart().session()), "{sql}");
    }
    for key in ["UNIQUE", "PRIMARY KEY"] {
        let create = format!("CREATE TABLE t (a TINYINT AUTO_INCREMENT {key})");
        refused(1067, &[&create, "ALTER TABLE t ALTER COLUMN a SET DEFAULT 5"]);
        survives(&[&create, "ALTER TABLE t ALTER COLUMN a DROP DEFAULT"]);
    }
    survives(&[
        "CREATE FUNCTION b() RETURNS ENUM('a') CHARACTER SET binary DETERMINISTIC RETURN 'a'",
        "CREATE TABLE n1 (a INT, CHECK (a > 0), CONSTRAINT n5 CHECK (a < 9))",
        "RENAME TABLE n1 TO n8",
        "CREATE TABLE m1 (a INT, CHECK (a > 0), CONSTRAINT m5 CHECK (a < 9))",
        "ALTER TABLE m1 RENAME m8",
    ]);
    for body in
        ["ENUM('a\\\\','b')", "SET('`Z\\\\\\\\', '#x') CHARACTER SET ascii", "ENUM('0--\\\\\\\\*', 'x')"]
    {
        survives(&[
            &format!("CREATE FUNCTION f() RETURNS {body} DETERMINISTIC RETURN 1"),
            "CREATE TABLE t AS SELECT f() AS x",
        ]);
    }
}

#[test]
fn what_was_refused_without_need() {
    survives(&[
        "CREATE TABLE t (a INT PRIMARY KEY, c INT)",
        "ALTER TABLE t DROP PRIMARY KEY, ALTER COLUMN c DROP DEFAULT",
        "CREATE TABLE u (a INT, c INT)",
        "ALTER TABLE u ALTER c DROP DEFAULT, ADD PRIMARY KEY (a)",
    ]);
    survives(&[
        "CREATE TABLE t (e ENUM('x', 'y'), f SET('a', 'b') DEFAULT 'a') DEFAULT CHARSET utf8mb4",
        "INSERT INTO t VALUES ('x', 'a,b')",
        "ALTER TABLE t CONVERT TO CHARACTER SET ascii",
        "CREATE TABLE l (e ENUM('é', 'y') DEFAULT 'é', f SET('ö', 'b') DEFAULT 'ö,b') DEFAULT CHARSET utf8mb4",
        "INSERT INTO l VALUES ('é', 'ö,b')",
        "ALTER TABLE l CONVERT TO CHARACTER SET latin1",
        "INSERT INTO l VALUES ('é', 'ö')",
        "ALTER TABLE l CONVERT TO CHARACTER SET utf8mb4",
    ]);
}

#[test]
fn defaults_of_float_keep_all_their_digits() {
    survives(&[
        "CREATE TABLE t (a FLOAT DEFAULT 3.402823466e38, b FLOAT DEFAULT -3.402823e38, c FLOAT DEFAULT 0.123456789, \
         d FLOAT DEFAULT 1e-38, e DOUBLE DEFAULT 1.7976931348623157e308, f FLOAT(10, 4) DEFAULT 1.23456, k INT)",
        "INSERT INTO t (k) VALUES (1)",
        "ALTER TABLE t ADD g FLOAT DEFAULT 16777217.5, ADD PRIMARY KEY (k)",
        "CREATE TABLE l LIKE t",
        "INSERT INTO l (k) SELECT 2 FROM t WHERE a > 3.4028234e38 AND c = 0.123456789e0 + 0",
        "INSERT INTO l (k) VALUES (3)",
    ]);
}

/// The last value of a type, which the series of auto_increment_increment passes over, is given to
/// a row: it counts.
#[test]
fn the_last_number_of_a_type_counts() {
    survives(&[
        "SET auto_increment_increment = 10, auto_increment_offset = 3",
        "CREATE TABLE t (v INT, n INT UNSIGNED AUTO_INCREMENT UNIQUE)",
        "INSERT INTO t VALUES (1, 4294967294)",
        "INSERT IGNORE INTO t (v) VALUES (2)",
    ]);
}

#[test]
fn views_are_there_as_they_were() {
    survives(&[
        "CREATE TABLE t (id INT PRIMARY KEY, `a``b\\\\` VARCHAR(20), e ENUM('x', 'y'))",
        r"INSERT INTO t VALUES (1, 'a\\b', 'x'), (2, 'it''s', 'y')",
        r"CREATE VIEW v AS SELECT *, 'back\\slash', 'quo''te', 'line\n', _latin1'\xE9', x'00FF', b'101' FROM t",
        "CREATE ALGORITHM = TEMPTABLE DEFINER = `no'one`@`%` SQL SECURITY INVOKER VIEW `w``\\\\` (`1 2`, `3\"`) AS SELECT id, e FROM t",
        "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'",
        r#"CREATE VIEW "modes" AS SELECT "id" || 'a\' AS "x", NOT "id" = 1 AS y, count (*) AS n FROM t GROUP BY id"#,
        "SET sql_mode = DEFAULT",
        "SET NAMES latin1 COLLATE latin1_bin",
        "CREATE VIEW latin AS SELECT 'abc' = 'ABC' AS same, e FROM t",
        "SET NAMES utf8mb4",
        "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x * 2",
        "CREATE VIEW checked AS SELECT id FROM t WHERE id > 0 WITH CASCADED CHECK OPTION",
        "CREATE VIEW nested AS SELECT id, f(id) AS twice FROM checked WHERE id IN (SELECT id FROM v) WITH LOCAL CHECK OPTION",
        "CREATE OR REPLACE VIEW replaced AS SELECT 1 AS one",
        "ALTER VIEW replaced AS SELECT id AS two FROM nested ORDER BY id DESC LIMIT 1",
        "CREATE VIEW gone AS SELECT 1",
        "DROP VIEW gone",
        "RENAME TABLE replaced TO renamed",
        "INSERT INTO checked VALUES (3)",
    ]);
}

#[test]
fn a_view_that_can_no_longer_be_used_stops_no_start() {
    for number in 0..2 {
        let server = Server::new(7);
        let mut session = server.session();
        run(&mut session, "CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b INT)").unwrap();
        run(&mut session, "CREATE VIEW v AS SELECT a, b FROM t; CREATE VIEW w AS SELECT b FROM v").unwrap();
        run(&mut session, "ALTER TABLE t DROP b; RENAME TABLE t TO u; CREATE VIEW t AS SELECT 1 AS a")
            .unwrap();
        run(&mut session, "DROP VIEW t; RENAME TABLE w TO t").unwrap();
        drop(session);
        let server = if number == 0 { server.restart() } else { server.power_cut() };
        let mut session = server.session();
        assert_eq!(rows(&mut session, "SHOW TABLES FROM d").concat(), ["t", "u", "v"]);
        for view in ["t", "v"] {
            let error = run(&mut session, &format!("SELECT * FROM d.{view}")).map(|_| ()).unwrap_err();
            assert_eq!(error.number, 1462, "{error}");
        }
        run(&mut session, "USE d; DROP VIEW t; RENAME TABLE u TO t; ALTER TABLE t ADD b INT DEFAULT 7")
            .unwrap();
        run(&mut session, "INSERT INTO v (a) VALUES (1)").unwrap();
        assert_eq!(rows(&mut session, "SELECT * FROM v"), [["1", "7"]]);
    }
}

#[test]
fn views_that_nest_deeper_when_they_are_written_are_refused() {
    with_large_stack(|| {
        let deep = format!("a{}", "+1".repeat(700));
        refused(1436, &["CREATE TABLE t (a INT)", &format!("CREATE VIEW v AS SELECT {deep} AS x FROM t")]);
        let deep = format!("a{}", "+1".repeat(150));
        survives(&["CREATE TABLE t (a INT)", &format!("CREATE VIEW v AS SELECT {deep} AS x FROM t")]);
    });
}
