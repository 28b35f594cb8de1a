//! `duramen check-schema`: what it says of a schema, and of what this server itself dumps.
#![allow(clippy::unwrap_used)]

mod common;

use common::run;
use servers::{Launch, ServerKind};

/// Findings as `line: verdict: error`.
fn findings(report: &str) -> Vec<String> {
    let lines: Vec<&str> = report.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].contains(".sql:"));
    let short = |pair: &[&str]| {
        let mut parts = pair[0].rsplit_once(".sql:").unwrap().1.splitn(3, ':').map(str::trim);
        let error = pair[1].trim().split(':').next().unwrap();
        format!("{}: {}: {error}", parts.next().unwrap(), parts.next().unwrap())
    };
    pairs.map(short).collect()
}

#[test]
fn every_line_that_is_refused_or_differs_is_named() {
    let file = format!("{}/tests/check_schema/grown.sql", env!("CARGO_MANIFEST_DIR"));
    let (status, report, error) = run(&["check-schema", &file]);
    assert_eq!(error, "");
    println!("{report}");
    assert_eq!(
        findings(&report),
        [
            "12: refused: 1235",
            "9: refused: 1235",
            "18: differs: 1266",
            "19: refused: 1235",
            "19: refused: 1235",
            "20: refused: 1235",
            "21: refused: 1286",
            "23: refused: 1273",
            "24: differs: 1235",
            "32: refused: 6125",
        ]
    );
    assert_eq!(status.code(), Some(2));
    assert!(report.contains("FULLTEXT KEY `words` (`title`, `body`)\n"), "{report}");
    assert!(report.contains("PARTITION BY RANGE"), "{report}");
    assert!(report.contains("way out: leave the index out"), "{report}");
    assert!(report.ends_with("; 1 statements about rows were not tried\n"), "{report}");

    let (_, json, _) = run(&["check-schema", "--json", &file]);
    assert_eq!(json.matches("\"line\": ").count(), 10, "{json}");
    assert!(json.contains("\"line\": 18, \"verdict\": \"differs\""), "{json}");
}

#[test]
fn what_this_server_dumps_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(ServerKind::Duramen, folder.path()).unwrap();
    let server = launch.binary(env!("CARGO_BIN_EXE_duramen")).start().unwrap();
    let definitions = "CREATE DATABASE d; USE d; \
        CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET latin1 COMMENT 'a;b'); \
        CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, p INT, d DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), \
          j JSON, n INT, g INT AS (n + 1) STORED, CHECK (n > 0), FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE); \
        INSERT INTO parent VALUES (1, 'x'); \
        CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a + 1";
    server.sql(definitions).unwrap();
    let dumped = server
        .client("mariadb-dump")
        .args(["--databases", "d", "--routines", "--triggers"])
        .output()
        .unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let file = folder.path().join("dump.sql");
    env::Env::replace_file(&env::RealEnv, &file, &dumped.stdout).unwrap();
    let (status, report, error) = run(&["check-schema", file.to_str().unwrap()]);
    assert_eq!((status.code(), &*error), (Some(0), ""), "{report}");
    assert!(report.contains("definitions are taken as they are; "), "{report}");
}

#[test]
fn a_running_server_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(ServerKind::MariaDb, folder.path()).unwrap();
    let server = launch.start().unwrap();
    server
        .sql(
            "CREATE DATABASE shop; USE shop; \
             CREATE TABLE a_child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)) ENGINE=MyISAM; \
             CREATE TABLE parent (id INT PRIMARY KEY, t TEXT, FULLTEXT KEY (t)); \
             CREATE TABLE good (id INT PRIMARY KEY); \
             CREATE DATABASE other; CREATE TABLE other.x (a INT) ENGINE=Aria; \
             CREATE USER c@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO c@'%'",
        )
        .unwrap();
    let address = format!("--server=127.0.0.1:{}", server.port());
    let login = ["check-schema", &address, "--user=c", "--password=secret"];
    let before = server.client("mariadb-dump").arg("--all-databases").output().unwrap().stdout;
    let (status, report, error) = run(&[&login[..], &["--database=shop"]].concat());
    assert_eq!((status.code(), &*error), (Some(2), ""), "{report}");
    assert!(report.starts_with("shop.a_child:1: differs: "), "{report}");
    assert!(report.contains("shop.parent:5: refused: FULLTEXT KEY"), "{report}");
    assert!(!report.contains("shop.good") && !report.contains("other.x"), "{report}");
    let (_, report, _) = run(&login);
    assert!(report.contains("other.x:3: refused: "), "{report}");
    let after = server.client("mariadb-dump").arg("--all-databases").output().unwrap().stdout;
    let without_date = |dump: Vec<u8>| {
        let text = String::from_utf8_lossy(&dump).into_owned();
        text.lines().filter(|line| !line.starts_with("-- Dump completed")).collect::<Vec<_>>().join("\n")
    };
    assert!(without_date(before) == without_date(after));
    let (status, _, error) = run(&["check-schema", "--server=127.0.0.1:1"]);
    assert_eq!(status.code(), Some(3));
    assert!(error.contains("can't connect"), "{error}");
}

#[test]
fn a_table_of_very_many_columns_is_refused_soon() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wide.sql");
    let columns: Vec<String> = (0..10_000).map(|n| format!("c{n} INT")).collect();
    let sql = format!("CREATE TABLE t ({});", columns.join(", "));
    env::Env::replace_file(&env::RealEnv, &file, sql.as_bytes()).unwrap();
    let (status, report, _) = run(&["check-schema", file.to_str().unwrap()]);
    assert_eq!(status.code(), Some(2));
    assert!(report.contains("1117: "), "{report}");
}

#[test]
fn what_is_no_script_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.sql");
    for (bytes, code, text) in [
        (&b"\xff\xfeC\0R\0E\0A\0T\0E\0"[..], 3, "no definition is in it"),
        (b"", 3, "no definition is in it"),
        (b"CREATE TABLE t (a INT); INSERT INTO t VALUES ('", 2, "it ends within quotes"),
    ] {
        env::Env::replace_file(&env::RealEnv, &file, bytes).unwrap();
        let (status, report, _) = run(&["check-schema", file.to_str().unwrap()]);
        assert_eq!(status.code(), Some(code), "{report}");
        assert!(report.contains(text), "{report}");
    }
}

#[test]
fn what_it_cannot_examine_is_told() {
    let (status, _, error) = run(&["check-schema"]);
    assert_eq!(status.code(), Some(3));
    assert!(error.contains("give one file"), "{error}");
    let (status, _, error) = run(&["check-schema", "/there/is/no/such.sql"]);
    assert_eq!(status.code(), Some(3));
    assert!(error.contains("can't open"), "{error}");
    let (status, help, _) = run(&["check-schema", "--help"]);
    assert_eq!(status.code(), Some(0));
    assert!(help.contains("mysqldump --no-data"), "{help}");
}
