//! The `mariadb` command-line client, unchanged, by each of its ways in. Skipped, and said so, where it is not
//! installed, or its plugin for `caching_sha2_password` is not.
#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use std::path::Path;
use std::process::Command;

/// Runs a statement by the client, and returns what it prints: the rows, or the error.
fn mariadb(server: &Server, way: &[&str], user: &str, password: &str, sql: &str) -> Option<String> {
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "--batch", "--skip-column-names", "--connect-timeout=10"]);
    match way {
        ["socket"] => command.arg(format!("--socket={}", server.socket.display())),
        options => command
            .args(["--protocol=tcp", "--host=127.0.0.1", &format!("--port={}", server.address.port())])
            .args(options),
    };
    command.args([&format!("--user={user}"), &format!("--password={password}"), "-e", sql]);
    let output = match command.output() {
        Ok(output) => output,
        Err(e) => {
            eprintln!("skipped: no mariadb client: {e}");
            return None;
        }
    };
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned())
}

fn has_sha2_plugin() -> bool {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let found = folders
        .iter()
        .any(|folder| Path::new(folder).join("libmariadb3/plugin/caching_sha2_password.so").exists());
    if !found {
        eprintln!("skipped: no caching_sha2_password plugin");
    }
    found
}

#[test]
fn every_way_in() {
    let server = Server::start("mariadb");
    let mut users = vec![("native", "native-pass"), ("empty_native", "")];
    if has_sha2_plugin() {
        users.extend([("sha2", "sha2-pass"), ("empty", "")]);
    }
    for (user, password) in users {
        for way in [&["--skip-ssl"][..], &["--ssl"], &["socket"]] {
            for _ in 0..2 {
                let Some(text) = mariadb(&server, way, user, password, "SELECT 42") else { return };
                assert_eq!(text, "42", "{user} by {way:?}");
            }
            server.authenticator.forget_digests();
        }
        let text = mariadb(&server, &["--skip-ssl"], user, "wrong", "SELECT 42").unwrap();
        let expected =
            format!("ERROR 1045 (28000): Access denied for user '{user}'@'127.0.0.1' (using password: YES)");
        assert_eq!(text, expected);
    }
}

#[test]
fn rows_errors_and_several_results() {
    let server = Server::start("mariadb-rows");
    let run = |sql| mariadb(&server, &["--skip-ssl"], "native", "native-pass", sql);
    let Some(rows) = run("ROWS 30000") else { return };
    assert_eq!(rows.lines().count(), 30_000);
    assert_eq!(rows.lines().last(), Some("29999\tNULL"));
    assert_eq!(run("TWO").unwrap(), "1\n2");
    assert_eq!(run("FAIL 3").unwrap(), "ERROR 1317 (70100) at line 1: Query execution was interrupted");
    assert_eq!(run("SELECT -5; SELECT 6").unwrap(), "-5\n6");
}
