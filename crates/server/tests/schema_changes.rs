//! `pt-online-schema-change` changes a table while a session writes to it: it makes a copy with the
//! new definition, triggers that carry writes over, copies the rows chunk by chunk, and swaps the
//! two by one RENAME. What the writer wrote, deleted and replaced meanwhile must be in the result.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::ClientError;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROWS: u32 = 6000;

/// A table of `ROWS` rows, and an account for the program.
fn server() -> Server {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE shop; CREATE USER tool@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO tool@'%';
         SET GLOBAL log_bin_trust_function_creators = ON;
         CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, s VARCHAR(60), UNIQUE KEY (k));
         CREATE TABLE shop.model LIKE shop.t;",
    );
    let rows: Vec<String> = (1..=ROWS).map(|n| format!("({n}, {n}, 'row {n}')")).collect();
    server.connect().query(format!("INSERT INTO shop.t VALUES {}", rows.join(","))).unwrap();
    server.sql("INSERT INTO shop.model SELECT * FROM shop.t");
    server
}

/// Runs the program with these arguments; what it printed.
fn change(server: &Server, table: &str, alter: &str, args: &[&str]) -> String {
    let target = format!("h=127.0.0.1,P={},u=tool,p=secret,D=shop,t={table}", server.port);
    let output = Command::new("pt-online-schema-change")
        .args([
            "--alter",
            alter,
            &target,
            "--execute",
            "--no-check-replication-filters",
            "--no-version-check",
        ])
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("pt-online-schema-change: {e}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{error}");
    assert!(said.contains(&format!("Successfully altered `shop`.`{table}`")), "{said}\n{error}");
    said
}

/// Both tables hold the same in the columns that the change left.
fn assert_same(server: &Server) {
    let rows = |table: &str| server.sql(&format!("SELECT id, k, s FROM shop.{table} ORDER BY id"));
    let (changed, model) = (rows("t"), rows("model"));
    assert!(changed == model, "{} lines and {}", changed.lines().count(), model.lines().count());
}

/// Every statement goes to the table and to one beside it that nobody changes, in one transaction.
#[test]
fn a_table_is_changed_under_a_writer() {
    let server = server();
    let done = Arc::new(AtomicBool::new(false));
    let mut session = server.connect();
    let stop = done.clone();
    let writer = std::thread::spawn(move || {
        let mut written = 0;
        // Relaxed: nothing is read that the flag would guard.
        while !stop.load(Ordering::Relaxed) {
            let (n, id) = (ROWS + 1 + written, written * 37 % ROWS + 1);
            let statements = [
                format!("INSERT INTO shop.# (id, k, s) VALUES ({n}, {n}, 'new')"),
                format!("UPDATE shop.# SET s = CONCAT(s, '+') WHERE id BETWEEN {id} AND {}", id + 5),
                format!("DELETE FROM shop.# WHERE id = {}", (id + 911) % ROWS),
                format!("REPLACE INTO shop.# (id, k, s) VALUES ({id}, {id}, 'replaced')"),
                format!("UPDATE shop.# SET id = id + 1000000 WHERE id = {}", (id + 1777) % ROWS),
            ];
            for text in &statements {
                let texts = ["BEGIN", &text.replace('#', "t"), &text.replace('#', "model"), "COMMIT"];
                // The program's copying of a chunk and a write that its triggers carry over may
                // wait for each other (1213); the program itself tries again, and so do we.
                while let Err(e) = texts.iter().try_for_each(|text| session.query(text).map(drop)) {
                    assert!(matches!(&e, ClientError::Server(reply) if reply.number == 1213), "{text}: {e}");
                }
            }
            written += 1;
        }
        written
    });
    let args = ["--chunk-size=200", "--chunk-time=0", "--sleep=0.02"];
    change(
        &server,
        "t",
        "ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD INDEX by_s (s), MODIFY k BIGINT NOT NULL",
        &args,
    );
    // The writer meets the changed table, too.
    let before = server.sql("SELECT COUNT(*) FROM shop.t WHERE s = 'new'");
    std::thread::sleep(std::time::Duration::from_millis(200));
    done.store(true, Ordering::Relaxed);
    let written = writer.join().unwrap();
    assert!(written > 20, "the writer wrote {written} times");
    assert_ne!(before, "0\n");
    assert_same(&server);
    let definition = server.sql("SHOW CREATE TABLE shop.t");
    for part in ["`extra` int NOT NULL DEFAULT '7'", "KEY `by_s` (`s`)", "`k` bigint NOT NULL"] {
        assert!(definition.contains(part), "{definition}");
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.t WHERE extra <> 7"), "0\n");
    assert_eq!(server.sql("SHOW TABLES FROM shop"), "model\nt\n");
    assert_eq!(
        server.sql("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'shop'"),
        "0\n"
    );
    assert!(server.sql("CHECK TABLE shop.t").contains("OK"));
}

/// Foreign keys that refer to the table are made anew for its copy.
#[test]
fn a_table_that_others_refer_to_is_changed() {
    let server = server();
    server.sql(
        "CREATE TABLE shop.child (id INT PRIMARY KEY, t INT, CONSTRAINT fk FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE);
         INSERT INTO shop.child VALUES (1, 1), (2, 2), (3, 3)",
    );
    change(&server, "t", "ADD COLUMN extra INT", &["--alter-foreign-keys-method=rebuild_constraints"]);
    assert_same(&server);
    assert!(server.sql("SHOW CREATE TABLE shop.child").contains("REFERENCES `t` (`id`) ON DELETE CASCADE"));
    server.sql("DELETE FROM shop.t WHERE id = 2");
    assert_eq!(server.sql("SELECT id FROM shop.child"), "1\n3\n");
}
