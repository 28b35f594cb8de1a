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
