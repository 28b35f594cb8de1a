//! The published workloads W1 and the inserts of W4, from the unchanged client programs.
//!
//! `DURAMEN_SCALE` is the share of the published number of statements that is run: 1 for all 40,000
//! calls at each setting of W1 and all 1,000,000 inserts in each cell of W4.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use servers::published::W1_SCHEMA;
use std::io::Write;
use std::process::{Command, Stdio};

fn scaled(published: usize) -> usize {
    let scale = std::env::var("DURAMEN_SCALE").map_or(0.01, |s| s.parse::<f64>().unwrap());
    ((published as f64 * scale) as usize).max(20)
}

/// Feeds a script to `mariadb`, as a shell would; its output.
fn script(server: &Server, text: &str) -> String {
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", &socket(server), "--user=root", "--batch", "--skip-column-names"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    let text = text.to_owned();
    // Concurrently: the answers of a long script fill the pipe before it is written.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = client.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The published commands name no host: the clients take the Unix socket.
fn socket(server: &Server) -> String {
    format!("--socket={}", server.file("duramen.sock").display())
}

fn slap(server: &Server, args: &[&str]) {
    let common = ["--no-defaults", &socket(server), "--user=root"];
    let output = Command::new("mariadb-slap").args(common).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
}

fn check_w1_rows(server: &Server, calls: usize) {
    let rows = server.sql(
        "select count(*), min(id), max(id), count(distinct id), min(length(content)), max(length(content)) \
         from test_case_9.t",
    );
    let last = 800_000 + calls;
    assert_eq!(rows, format!("{calls}\t800001\t{last}\t{calls}\t35000\t35000\n"));
}

#[test]
fn w1_inserts_a_row_for_each_call_without_gaps() {
    let server = start(&[]);
    // mariadb-slap connects to this schema and does not make it.
    server.sql("create database mysqlslap");
    let iterations = scaled(10_000);
    for sync_binlog in 0..=4 {
        script(&server, W1_SCHEMA);
        server.sql(&format!("set global sync_binlog={sync_binlog}"));
        let iterations_arg = format!("--iterations={iterations}");
        slap(
            &server,
            &["--query=select test_case_9.insert_data();", "--concurrency=4", &iterations_arg, "--silent"],
        );
        check_w1_rows(&server, 4 * iterations);
        println!("sync_binlog={sync_binlog}: {} rows", 4 * iterations);
    }
}

#[test]
fn w1_each_call_returns_one() {
    let server = start(&[]);
    let calls = scaled(10_000);
    for sync_binlog in 0..=4 {
        script(&server, W1_SCHEMA);
        server.sql(&format!("set global sync_binlog={sync_binlog}"));
        let text = "select test_case_9.insert_data();\n".repeat(calls);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let answers = script(&server, &text);
                    assert_eq!(answers.lines().count(), calls);
                    assert!(answers.lines().all(|l| l == "1"));
                });
            }
        });
        check_w1_rows(&server, 4 * calls);
    }
}

#[test]
fn w4_inserts_run_and_rotation_takes_files_made_ahead() {
    let server = start(&["--max-binlog-size=256K"]);
    let status = |name: &str| -> u64 {
        let row = server.sql(&format!("show global status like '{name}'"));
        row.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    for (clients, prealloc) in [(50, 0), (50, 10), (100, 0), (100, 10)] {
        server.sql(
            "drop database if exists zwx; create database zwx; use zwx; \
             create table xxx (a int auto_increment, b int, c varchar(100), primary key(a))",
        );
        server.sql(&format!("set global binlog_prealloc_num={prealloc}"));
        let before = (status("Duramen_log_rotations"), status("Duramen_prealloc_hits"));
        let queries = scaled(1_000_000).next_multiple_of(clients);
        slap(
            &server,
            &[
                "--create-schema=zwx",
                &format!("--number-of-queries={queries}"),
                "--query=insert into xxx values (NULL, 2, 'sadasda ')",
                &format!("--concurrency={clients}"),
                "--no-drop",
                "--silent",
            ],
        );
        let rows = server.sql("select count(*), min(a), max(a), min(b), max(c) from zwx.xxx");
        assert_eq!(rows, format!("{queries}\t1\t{queries}\t2\tsadasda \n"));
        let rotations = status("Duramen_log_rotations") - before.0;
        let hits = status("Duramen_prealloc_hits") - before.1;
        println!(
            "{clients} clients, {prealloc} files ahead: {queries} rows, {rotations} rotations, {hits} pool hits"
        );
        assert!(rotations >= 8, "{rotations} rotations");
        if prealloc > 0 {
            assert!(hits > 0, "no rotation found a file made ahead");
        }
    }
}
