//! Files of the client and of the server: LOAD DATA, `mariadb-import`, SELECT .. INTO OUTFILE,
//! `mariadb-dump --tab`; and what the log says of statements that change rows.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use env::{Env, OpenMode, RealEnv};
use servers::{Launch, Running, ServerKind};

fn start(folder: &Path, args: &[&str]) -> Running {
    let launch = Launch::new(ServerKind::Duramen, folder).unwrap().binary(env!("CARGO_BIN_EXE_duramen"));
    let server = args.iter().fold(launch, |launch, arg| launch.arg(*arg)).start().unwrap();
    server.sql("CREATE DATABASE d").unwrap();
    server
}

fn write(path: &Path, content: &[u8]) {
    RealEnv.open(path, OpenMode::CreateNew).unwrap().write_at(content, 0).unwrap();
}

/// What a client says to a script, its errors included.
fn run(server: &Running, args: &[&str], script: &str) -> String {
    let mut client = server.client("mariadb");
    client.args(args).args(["-N", "-vv"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = client.spawn().unwrap();
    // A client that gave up has closed its end; what it said is looked at by the caller.
    let _ = client.stdin.take().unwrap().write_all(script.as_bytes());
    let done = client.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

#[test]
fn rows_of_a_file_go_through_views() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--local-infile=1"]);
    server.sql("CREATE TABLE d.a (id INT PRIMARY KEY, x INT, n INT NOT NULL DEFAULT 1)").unwrap();
    server.sql("CREATE VIEW d.f AS SELECT id, x FROM d.a WHERE x < 25").unwrap();
    server.sql("CREATE VIEW d.c AS SELECT x, id FROM d.f WITH CHECK OPTION").unwrap();
    let file = folder.path().join("a.txt");
    write(&file, b"1\t10\n2\t20\n3\t30\n");
    let load = |what: &str| {
        let text = format!("LOAD DATA LOCAL INFILE '{}' {what}", file.display());
        run(&server, &["--local-infile=1", "--force"], &text)
    };

    let printed = load("INTO TABLE d.c (id, x)");
    assert!(printed.contains("Records: 2  Deleted: 0  Skipped: 0  Warnings: 1"), "{printed}");
    assert_eq!(server.sql("SELECT * FROM d.a").unwrap(), "1\t10\t1\n2\t20\t1");
    let printed = load("INTO TABLE d.f (id, @x) SET x = @x + 1");
    assert!(printed.contains("Records: 3  Deleted: 0  Skipped: 2  Warnings: 2"), "{printed}");
    // The third row is none of the view's now.
    let printed = load("REPLACE INTO TABLE d.f");
    assert!(printed.contains("3059"), "{printed}");
    server.sql("DELETE FROM d.a WHERE id = 3").unwrap();
    let printed = load("REPLACE INTO TABLE d.f (id, @x) SET x = @x + 2");
    assert!(printed.contains("Records: 3  Deleted: 2  Skipped: 0  Warnings: 0"), "{printed}");
    assert_eq!(server.sql("SELECT * FROM d.a").unwrap(), "1\t12\t1\n2\t22\t1\n3\t32\t1");
}

#[test]
fn a_clients_file_is_loaded_and_refused_where_one_side_does_not_want_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--local-infile=1"]);
    server.sql("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20), KEY (name))").unwrap();
    // Larger than a packet of the protocol, so that it comes in several.
    let lines: String = (0..200_000).map(|n| format!("{n}\tname {n}\n")).collect();
    let file = folder.path().join("t.txt");
    write(&file, lines.as_bytes());
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE d.t", file.display());

    let printed = run(&server, &["--local-infile=1"], &load);
    assert!(printed.contains("Records: 200000  Deleted: 0  Skipped: 0  Warnings: 0"), "{printed}");
    assert_eq!(
        server.sql("SELECT COUNT(*), SUM(name = CONCAT('name ', id)) FROM d.t").unwrap(),
        "200000\t200000"
    );
    let printed = run(&server, &["--local-infile=1"], &load);
    assert!(printed.contains("Records: 200000  Deleted: 0  Skipped: 200000  Warnings: 200000"), "{printed}");

    let none = load.replace("t.txt", "none.txt");
    let printed = run(&server, &["--local-infile=1"], &none);
    assert!(printed.contains("none.txt"), "{printed}");
    // The file is read to its end before the error, so that the connection can go on.
    let printed =
        run(&server, &["--local-infile=1", "--force"], &format!("{} (nope); SELECT 'still', 'there'", load));
    assert!(printed.contains("1054") && printed.contains("still\tthere"), "{printed}");
    let replace = load.replace("INTO TABLE", "REPLACE INTO TABLE");
    let printed =
        run(&server, &["--local-infile=1", "--force"], &format!("{replace} (name); SELECT 'still', 'there'"));
    assert!(printed.contains("ERROR") && printed.contains("still\tthere"), "{printed}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t").unwrap(), "200000");

    server.sql("SET GLOBAL local_infile = 0").unwrap();
    assert!(run(&server, &["--local-infile=1"], &load).contains("3948"));
}

#[test]
fn import_reads_what_dump_wrote_into_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--local-infile=1", "--secure-file-priv="]);
    server
        .sql(
            "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(40), b BLOB, n DECIMAL(8,3), d DATETIME(2));
             INSERT INTO d.t VALUES (1, 'a\\tb\\nc\\\\d', x'00ff0a09', -1.5, '2020-01-02 03:04:05.67'),
               (2, NULL, NULL, NULL, NULL), (3, 'NULL', '\\\\N', 0, '2000-01-01'), (4, '', '', 1, '9999-12-31')",
        )
        .unwrap();
    let all = "SELECT id, HEX(s), HEX(b), n, d FROM d.t ORDER BY id";
    let rows = server.sql(all).unwrap();
    let path = folder.path().join("t.txt");
    let printed = run(&server, &[], &format!("SELECT * FROM d.t INTO OUTFILE '{}'", path.display()));
    assert!(printed.contains("4 rows affected"), "{printed}");
    let printed = run(&server, &[], &format!("SELECT * FROM d.t INTO OUTFILE '{}'", path.display()));
    assert!(printed.contains("1086"), "{printed}");
    server.sql("TRUNCATE d.t").unwrap();
    let import = |args: &[&str]| {
        let done = server.client("mariadb-import").args(args).arg("d").arg(&path).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let printed = import(&["--local", "--default-character-set=binary"]);
    assert!(printed.contains("Records: 4  Deleted: 0  Skipped: 0  Warnings: 0"), "{printed}");
    assert_eq!(server.sql(all).unwrap(), rows);
    let printed = import(&["--replace", "--default-character-set=binary"]);
    assert!(printed.contains("Records: 4") && printed.contains("Skipped: 0"), "{printed}");
    assert_eq!(server.sql(all).unwrap(), rows);

    let one = folder.path().join("one");
    let dump = format!("SELECT b FROM d.t WHERE id = 1 INTO DUMPFILE '{}'", one.display());
    run(&server, &[], &dump);
    assert_eq!(RealEnv.read_file(&one).unwrap(), [0, 0xff, 10, 9]);
    let two = dump.replace("WHERE id = 1", "").replace("/one", "/two");
    assert!(run(&server, &[], &two).contains("1172"));
    assert!(!RealEnv.exists(&folder.path().join("two")), "a file that was not finished is removed");
}

#[test]
fn files_are_where_secure_file_priv_says_only() {
    let folder = tempfile::tempdir().unwrap();
    let allowed = folder.path().join("allowed");
    RealEnv.create_dir_all(&allowed).unwrap();
    let server = start(folder.path(), &[&format!("--secure-file-priv={}", allowed.display())]);
    server.sql("CREATE TABLE d.t (id INT)").unwrap();
    write(&folder.path().join("outside"), b"1\n");
    write(&allowed.join("inside"), b"2\n");
    for name in ["outside", "allowed/../outside", "allowedx"] {
        let load = format!("LOAD DATA INFILE '{}/{name}' INTO TABLE d.t", folder.path().display());
        assert!(run(&server, &[], &load).contains("1290"), "{name}");
    }
    let load = format!("LOAD DATA INFILE '{}/inside' INTO TABLE d.t", allowed.display());
    assert!(run(&server, &[], &load).contains("Records: 1"));
    assert!(run(&server, &[], &load.replace("inside", "missing")).contains("ERROR 13 "));
    assert_eq!(server.sql("SELECT id FROM d.t").unwrap(), "2");
}

/// The row events of what a script does, as `mariadb-binlog -v` prints them.
fn logged(server: &Running, script: &str) -> Vec<String> {
    server.sql("FLUSH BINARY LOGS").unwrap();
    server.sql(script).unwrap();
    let files = server.sql("SHOW BINARY LOGS").unwrap();
    let file = files.lines().last().unwrap().split('\t').next().unwrap().to_owned();
    let port = format!("--port={}", server.port());
    let read = Command::new("mariadb-binlog")
        .args([
            "--no-defaults",
            "-v",
            "--base64-output=DECODE-ROWS",
            "--read-from-remote-server",
            "--host=127.0.0.1",
        ])
        .args([&port, "--user=root", &file])
        .output()
        .unwrap();
    assert!(read.status.success(), "{read:?}");
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    let words =
        |line: &str| line.strip_prefix("### ").map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "));
    text.lines().filter_map(words).collect()
}

#[test]
fn the_log_has_the_row_events_that_mysql_writes() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &[]);
    server.sql("CREATE TABLE d.t (a INT PRIMARY KEY, b INT); INSERT INTO d.t VALUES (1, 1), (2, 2)").unwrap();
    let check = |script: &str, expected: &[&str]| assert_eq!(logged(&server, script), expected, "{script}");
    // A row that is replaced changes in place where no other unique key can be in the way; the same
    // row is not logged.
    check("REPLACE d.t VALUES (1, 5)", &["UPDATE `d`.`t`", "WHERE", "@1=1", "@2=1", "SET", "@1=1", "@2=5"]);
    check("REPLACE d.t VALUES (1, 5)", &[]);
    check("UPDATE d.t SET b = b", &[]);
    check(
        "INSERT INTO d.t VALUES (2, 9), (3, 3) ON DUPLICATE KEY UPDATE b = b + 10",
        &[
            "UPDATE `d`.`t`",
            "WHERE",
            "@1=2",
            "@2=2",
            "SET",
            "@1=2",
            "@2=12",
            "INSERT INTO `d`.`t`",
            "SET",
            "@1=3",
            "@2=3",
        ],
    );
    check("INSERT IGNORE INTO d.t VALUES (1, 1), (4, 4)", &["INSERT INTO `d`.`t`", "SET", "@1=4", "@2=4"]);
    check(
        "UPDATE d.t SET a = 14 WHERE a = 4",
        &["UPDATE `d`.`t`", "WHERE", "@1=4", "@2=4", "SET", "@1=14", "@2=4"],
    );
    server.sql("ALTER TABLE d.t ADD UNIQUE KEY (b)").unwrap();
    check(
        "REPLACE d.t VALUES (1, 3)",
        &[
            "DELETE FROM `d`.`t`",
            "WHERE",
            "@1=1",
            "@2=5",
            "UPDATE `d`.`t`",
            "WHERE",
            "@1=3",
            "@2=3",
            "SET",
            "@1=1",
            "@2=3",
        ],
    );
    check("DELETE FROM d.t ORDER BY a DESC LIMIT 1", &["DELETE FROM `d`.`t`", "WHERE", "@1=14", "@2=4"]);
}
