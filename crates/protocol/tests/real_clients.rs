//! The `mariadb` command-line client, unchanged, by each of its ways in. Skipped, and said so,
//! where it is not installed, or its plugin for `caching_sha2_password` is not.
#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use std::process::Command;

/// Runs a statement by the client, and returns what it prints: the rows, or the error.
fn mariadb(server: &Server, way: &[&str], user: &str, password: &str, sql: &str) -> String {
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "--batch", "--skip-column-names", "--connect-timeout=10"]);
    match way {
        ["socket"] => command.arg(format!("--socket={}", server.socket.display())),
        options => command
            .args(["--protocol=tcp", "--host=127.0.0.1", &format!("--port={}", server.address.port())])
            .args(options),
    };
    command.args([&format!("--user={user}"), &format!("--password={password}"), "-e", sql]);
    let output = command.output().unwrap_or_else(|e| panic!("mariadb (package mariadb-client): {e}"));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned()
}

#[test]
fn every_way_in() {
    let server = Server::start();
    let users = [("native", "native-pass"), ("empty_native", ""), ("sha2", "sha2-pass"), ("empty", "")];
    for (user, password) in users {
        for way in [&["--skip-ssl"][..], &["--ssl"], &["socket"]] {
            for _ in 0..2 {
                let text = mariadb(&server, way, user, password, "SELECT 42");
                assert_eq!(text, "42", "{user} by {way:?}");
            }
            server.authenticator.forget_digests();
        }
        let text = mariadb(&server, &["--skip-ssl"], user, "wrong", "SELECT 42");
        let expected =
            format!("ERROR 1045 (28000): Access denied for user '{user}'@'127.0.0.1' (using password: YES)");
        assert_eq!(text, expected);
    }
}

#[test]
fn rows_errors_and_several_results() {
    let server = Server::start();
    let run = |sql| mariadb(&server, &["--skip-ssl"], "native", "native-pass", sql);
    let rows = run("ROWS 30000");
    assert_eq!(rows.lines().count(), 30_000);
    assert_eq!(rows.lines().last(), Some("29999\tNULL"));
    assert_eq!(run("TWO"), "1\n2");
    assert_eq!(run("FAIL 3"), "ERROR 1317 (70100) at line 1: Query execution was interrupted");
    assert_eq!(run("SELECT -5; SELECT 6"), "-5\n6");
}
