//! The server as a service: what the service manager is told, and root's first password.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::{Server, run};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The messages that have arrived, and those of the next tenth of a second.
fn messages_of(manager: &UnixDatagram) -> Vec<String> {
    manager.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut buffer = [0; 4096];
    let mut messages = Vec::new();
    while let Ok(length) = manager.recv(&mut buffer) {
        messages.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
    }
    messages
}

fn secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn the_service_manager_is_told_of_start_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let variable = ("NOTIFY_SOCKET".to_owned(), path.display().to_string());
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let server = Server::start_with(&datadir, &[], &[variable]);
    server.check_well();
    let messages = messages_of(&manager);
    let is_extension = |m: &String| m.starts_with("STATUS=opens") && m.contains("EXTEND_TIMEOUT_USEC=");
    assert!(is_extension(&messages[0]), "{messages:#?}");
    let ready: Vec<_> = messages.iter().filter(|m| m.starts_with("READY=1\n")).collect();
    assert!(ready.len() == 1 && messages.last() == Some(ready[0]), "{messages:#?}");
    let (status, _) = server.terminate();
    assert!(status.success());
    let messages = messages_of(&manager);
    assert_eq!(messages[0], "STOPPING=1");
    assert!(messages[1].starts_with("STATUS=stopping (SIGTERM)"), "{messages:#?}");
    assert!(!messages.iter().any(|m| m.contains("READY")), "{messages:#?}");
}

#[test]
fn a_start_that_fails_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let datadir = folder.path().join("data");
    let done = std::process::Command::new(common::DURAMEN)
        .args(["serve", "--port=0", "--duramen-root-password-file=/no/such/file"])
        .arg(format!("--datadir={}", datadir.display()))
        .env("NOTIFY_SOCKET", &path)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && error.contains("can't read '/no/such/file'"), "{error}");
    assert!(messages_of(&manager).iter().all(|m| m.starts_with("STATUS=")));
}

#[test]
fn root_gets_its_first_password_before_anybody_can_connect() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let option = format!("--duramen-root-password-file={}", file.display());
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let password = "it's a \\ß secret";
    secret(&file, &format!("{password}\nmore\n"));
    let check = |server: &Server, password: &str| {
        let with = server.client("mariadb", &[&format!("--password={password}"), "-e", "SELECT 1"]);
        assert!(with.status.success(), "{}", String::from_utf8_lossy(&with.stderr));
        let socket = format!("--socket={}", server.file("duramen.sock").display());
        for way in [&["--protocol=tcp"][..], &["--protocol=socket", &socket]] {
            let without = server.client("mariadb", &[way, &["-e", "SELECT 1"]].concat());
            assert!(String::from_utf8_lossy(&without.stderr).contains("ERROR 1045"));
        }
    };
    let server = Server::start_in(&datadir, &[&option, "--sql-mode=NO_BACKSLASH_ESCAPES"]);
    check(&server, password);
    assert!(!server.messages().iter().any(|m| m.contains("root has an empty password")));
    assert!(!server.messages().iter().any(|m| m.contains(password)));
    // One that somebody has set stays, and the file is not needed any more.
    let change = ["--password=it's a \\ß secret", "-e", "ALTER USER root@localhost IDENTIFIED BY 'another'"];
    assert!(server.client("mariadb", &change).status.success());
    server.terminate();
    std::fs::remove_file(&file).unwrap();
    let server = Server::start_in(&datadir, &[&option]);
    check(&server, "another");
    // One that was taken away comes back from the file.
    let change = ["--password=another", "-e", "ALTER USER root@localhost IDENTIFIED BY ''"];
    assert!(server.client("mariadb", &change).status.success());
    server.terminate();
    let datadir_option = format!("--datadir={}", datadir.path().display());
    for (text, expected) in
        [("short\n", "is shorter than 12 bytes"), ("with\ta tab in it", "control characters")]
    {
        secret(&file, text);
        let (status, _, error) = run(&["serve", "--port=0", &datadir_option, &option]);
        assert!(!status.success() && error.contains("duramen_root_password_file: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    secret(&file, "twelve bytes");
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let (status, _, error) = run(&["serve", "--port=0", &datadir_option, &option]);
    assert!(!status.success() && error.contains("is open to all users"), "{error}");
    secret(&file, "twelve bytes");
    check(&Server::start_in(&datadir, &[&option]), "twelve bytes");
}

#[test]
fn an_init_file_runs_at_each_start_before_there_are_clients() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("init.sql");
    let option = format!("--init-file={}", file.display());
    let script = "-- what a container begins with\nCREATE DATABASE IF NOT EXISTS shop;\n\
        CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'pass;word';\nUSE shop\n\
        CREATE TABLE IF NOT EXISTS starts (\n  id INT AUTO_INCREMENT PRIMARY KEY\n);\n\
        DELIMITER $$\nCREATE PROCEDURE IF NOT EXISTS p() BEGIN SELECT 1; SELECT 2; END$$\nDELIMITER ;\n\
        SELECT * FROM starts; INSERT INTO starts VALUES ()";
    std::fs::write(&file, script).unwrap();
    let datadir = Arc::new(tempfile::tempdir().unwrap());
    let count = |server: &Server| {
        let query = "SELECT COUNT(*) FROM shop.starts";
        let output = server.client("mariadb", &["--skip-column-names", "-e", query]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let server = Server::start_in(&datadir, &[&option]);
    assert_eq!(count(&server), "1");
    let app = ["--user=app", "--password=pass;word", "-e", "SELECT 1"];
    assert!(server.client("mariadb", &app).status.success());
    assert!(server.client("mariadb", &["-e", "CALL shop.p()"]).status.success());
    assert!(server.messages().iter().any(|m| m.contains("init_file: ran 7 statements")));
    server.terminate();
    // Neither read_only nor a semi-synchronous source that no replica follows yet keep it away.
    let source = ["--super-read-only=ON", "--rpl-semi-sync-source-enabled=ON", &option];
    let server = Server::start_in(&datadir, &source);
    assert_eq!(count(&server), "2");
    server.terminate();
    // The first statement that fails ends them, and the server serves, as MySQL does.
    std::fs::write(
        &file,
        "USE shop;\nINSERT INTO starts VALUES ();\nSELECT x\nFROM nosuch;\n\
        INSERT INTO starts VALUES ();",
    )
    .unwrap();
    let server = Server::start_in(&datadir, &[&option]);
    assert_eq!(count(&server), "3");
    let error = format!("{}:3: ", file.display());
    assert!(server.messages().iter().any(|m| m.contains(&error) && m.contains("'shop.nosuch'")));
    server.terminate();
    let datadir_option = format!("--datadir={}", datadir.path().display());
    for (script, expected) in [
        (Some("USE shop; INSERT INTO starts VALUES (); SELECT 'a"), "ends within quotes or a comment"),
        (
            Some("USE shop; INSERT INTO starts VALUES ();\nSOURCE more.sql\n"),
            ":2: SOURCE is a command of the client",
        ),
        (None, "can't read '"),
    ] {
        match script {
            Some(script) => std::fs::write(&file, script).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let (status, _, error) = run(&["serve", "--port=0", &datadir_option, &option]);
        assert!(!status.success() && error.contains("init_file: ") && error.contains(expected), "{error}");
    }
    assert_eq!(count(&Server::start_in(&datadir, &[])), "3");
}
