//! `pt-online-schema-change` and `gh-ost` change a table while a session writes to it: they make a
//! copy with the new definition, copy the rows chunk by chunk, and swap the two by one RENAME.
//! Triggers carry writes over to the copy for the one; the other reads them in the binary log. What
//! the writer wrote, deleted and replaced meanwhile must be in the result.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::ClientError;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

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

/// Writes to the table and to one beside it that nobody changes.
struct Writer {
    done: Arc<AtomicBool>,
    thread: JoinHandle<u32>,
}

impl Writer {
    /// Every statement goes to both tables in one transaction.
    fn start(server: &Server) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (mut session, stop) = (server.connect(), done.clone());
        let thread = std::thread::spawn(move || {
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
                        assert!(
                            matches!(&e, ClientError::Server(reply) if reply.number == 1213),
                            "{text}: {e}"
                        );
                    }
                }
                written += 1;
            }
            written
        });
        Self { done, thread }
    }

    /// Lets it meet the changed table, too; then both must hold the same.
    fn stop(self, server: &Server) {
        let before = server.sql("SELECT COUNT(*) FROM shop.t WHERE s = 'new'");
        std::thread::sleep(Duration::from_millis(200));
        self.done.store(true, Ordering::Relaxed);
        let written = self.thread.join().unwrap();
        assert!(written > 20, "the writer wrote {written} times");
        assert_ne!(before, "0\n");
        assert_same(server);
    }
}

const ALTER: &str = "ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD INDEX by_s (s), MODIFY k BIGINT NOT NULL";

/// The table is as `ALTER` wants it, and nothing else is left in its database.
fn assert_altered(server: &Server) {
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

#[test]
fn a_table_is_changed_under_a_writer() {
    let server = server();
    let writer = Writer::start(&server);
    change(&server, "t", ALTER, &["--chunk-size=200", "--chunk-time=0", "--sleep=0.02"]);
    writer.stop(&server);
    assert_altered(&server);
}

/// Both ways of `gh-ost` to swap the tables and both to name a position in the log.
#[test]
#[ignore = "gh-ost is no package; run this where it is on the PATH"]
fn gh_ost_changes_a_table_under_a_writer() {
    for cut_over in [&["--cut-over=atomic"][..], &["--cut-over=two-step", "--gtid"]] {
        let server = server();
        let writer = Writer::start(&server);
        let sockets = tempfile::tempdir().unwrap();
        let output = Command::new("gh-ost")
            .args(["--host=127.0.0.1", "--user=tool", "--password=secret", "--database=shop", "--table=t"])
            .arg(format!("--port={}", server.port))
            .arg(format!("--alter={ALTER}"))
            .arg(format!("--serve-socket-file={}", sockets.path().join("gh-ost.sock").display()))
            .args(["--allow-on-master", "--chunk-size=200", "--ok-to-drop-table", "--execute"])
            .args(cut_over)
            .output()
            .unwrap_or_else(|e| panic!("gh-ost: {e}"));
        let (said, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("# Done"), "{said}\n{error}");
        writer.stop(&server);
        assert_altered(&server);
    }
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
