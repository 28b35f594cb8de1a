//! Start and stop of the real binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, exists, run, start};
use std::time::Duration;

#[test]
fn the_first_start_is_quick_and_small() {
    let starts: Vec<_> = (0..3).map(|_| start(&[])).collect();
    let quickest = starts.iter().map(|s| s.start_time).min().unwrap();
    println!("ready after {quickest:?}, {} KiB resident", starts[0].resident_kib());
    // Milliseconds; speed bars are the benchmark's.
    assert!(quickest < Duration::from_secs(5), "{quickest:?}");
    starts[0].check_well();
    std::thread::sleep(Duration::from_millis(300));
    assert!(starts[0].resident_kib() < 64 << 10, "{} KiB", starts[0].resident_kib());
    assert!(starts[0].messages().iter().any(|m| m.contains("root has an empty password")));
}

#[test]
fn sigterm_stops_cleanly_and_the_next_start_is_the_same_server() {
    let server = start(&[]);
    let datadir = server.datadir().clone();
    let client = server.connect();
    assert!(exists(&server.file("duramen.pid")) && exists(&server.file("duramen.sock")));
    let uuid = std::fs::read_to_string(server.file("auto.cnf")).unwrap();
    let (status, messages) = server.terminate();
    assert!(status.success(), "{status}");
    assert!(messages.last().unwrap().ends_with("[server] stopped"), "{messages:#?}");
    assert!(!exists(&datadir.path().join("duramen.pid")) && !exists(&datadir.path().join("duramen.sock")));
    drop(client);
    let again = Server::start_in(&datadir, &[]);
    assert_eq!(std::fs::read_to_string(again.file("auto.cnf")).unwrap(), uuid);
    assert!(!again.messages().iter().any(|m| m.contains("made the data directory")));
    println!("the second start took {:?}", again.start_time);
    again.check_well();
}

#[test]
fn what_a_killed_server_leaves_is_in_nobodys_way() {
    let server = start(&[]).crash_and_restart(&[]);
    server.check_well();
    let socket = format!("--socket={}", server.file("duramen.sock").display());
    let output = std::process::Command::new("mariadb-admin")
        .args(["--no-defaults", &socket, "--user=root", "ping"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_second_server_on_the_same_directory_or_port_is_refused() {
    let server = start(&[]);
    let datadir = format!("--datadir={}", server.datadir().path().display());
    let (status, _, error) = run(&["serve", "--port=0", &datadir]);
    assert_eq!(status.code(), Some(1));
    assert!(error.contains(&format!("another server is running in '{}'", server.datadir().path().display())));
    assert!(error.contains(&format!("(process {})", server.pid())), "{error}");

    let other = tempfile::tempdir().unwrap();
    let (port, datadir) =
        (format!("--port={}", server.port), format!("--datadir={}", other.path().display()));
    let (status, _, error) = run(&["serve", &port, &datadir]);
    assert_eq!(status.code(), Some(1));
    assert!(error.contains(&format!("can't listen on 127.0.0.1:{}", server.port)), "{error}");
    let log = other.path().join("binlog.000001");
    assert!(!exists(&log), "the port was asked for first");
    assert!(error.contains("give --port another number"), "{error}");
    server.check_well();
}

#[test]
fn wrong_options_stop_the_start_and_name_the_right_ones() {
    let datadir = tempfile::tempdir().unwrap();
    let elsewhere = format!("--datadir={}", datadir.path().display());
    let check = |args: &[&str], expected: &str| {
        let (status, _, error) = run(args);
        assert_eq!(status.code(), Some(1), "{args:?}");
        assert!(error.contains(expected), "{args:?}: {error}");
    };
    check(
        &["serve", "--sync-binlgo=0"],
        "unknown option '--sync-binlgo' (on the command line); did you mean '--sync-binlog'?",
    );
    check(
        &["serve", "--sync-binlog=many"],
        "'many' is no value for sync_binlog: a number from 0 to 4294967295",
    );
    check(&["serve", "--gtid-mode=OFF"], "it is always 'ON' here");
    check(&["serve", "--defaults-file=/no/such.cnf"], "can't read option file '/no/such.cnf'");
    check(&["sevre"], "unknown command 'sevre'; did you mean 'serve'?");
    check(&["serve", "--port=0", "--datadir=/proc/no"], "can't make the data directory '/proc/no'");
    check(&["serve", "--port=0", "--bind-address=203.0.113.7", &elsewhere], "can't listen on 203.0.113.7");
    let (status, help, _) = run(&["serve", "--help"]);
    assert!(status.success() && help.contains("--sync-binlog=1"));
    let (status, version, _) = run(&["--version"]);
    assert!(status.success() && version.starts_with("duramen 0."));
}

#[test]
fn the_unix_socket_alone_is_enough() {
    let server = start(&["--skip-networking"]);
    assert_eq!(server.port, 0);
    let socket = format!("--socket={}", server.file("duramen.sock").display());
    let ping = std::process::Command::new("mariadb-admin")
        .args(["--no-defaults", &socket, "--user=root", "ping"])
        .output()
        .unwrap();
    assert!(ping.status.success(), "{}", String::from_utf8_lossy(&ping.stderr));
}

#[test]
fn a_data_directory_too_deep_for_a_unix_socket_is_served_by_tcp() {
    let top = tempfile::tempdir().unwrap();
    let deep = format!("--datadir={}/{}", top.path().display(), "d".repeat(100));
    let server = start(&[&deep]);
    server.check_well();
    assert!(server.messages().iter().any(|m| m.contains("its path is too long")));
    let socket = format!("--socket={}/{}", top.path().display(), "s".repeat(100));
    let (status, _, error) = run(&["serve", "--port=0", &deep.replace("ddd", "eee"), &socket]);
    assert_eq!(status.code(), Some(1));
    assert!(error.contains("give --socket a shorter one"), "{error}");
}

/// The modes of everything in a folder, with the names.
fn modes(folder: &std::path::Path, out: &mut Vec<(String, u32)>) {
    use std::os::unix::fs::PermissionsExt;
    let mut entries = vec![folder.to_owned()];
    while let Some(path) = entries.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        out.push((path.display().to_string(), meta.permissions().mode() & 0o777));
        if meta.is_dir() {
            entries.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
    }
}

#[test]
fn others_can_read_nothing_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let home = tempfile::tempdir().unwrap();
        let datadir = home.path().join("data");
        let mut server = std::process::Command::new("sh")
            .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_duramen")])
            .args(["serve", "--port=0", &format!("--datadir={}", datadir.display())])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let socket = datadir.join("duramen.sock");
        let mut client = None;
        for _ in 0..200 {
            client = std::os::unix::net::UnixStream::connect(&socket).ok();
            if client.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(client.is_some(), "the server did not start");
        // The key pair is made beside the start, and its public file comes last.
        for _ in 0..1200 {
            if datadir.join("public_key.pem").exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut found = Vec::new();
        modes(&datadir, &mut found);
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(found.len() > 8, "{found:?}");
        for file in ["private_key.pem", "public_key.pem"] {
            assert!(found.iter().any(|(name, _)| name.ends_with(file)), "{file} is not in {found:?}");
        }
        for (name, mode) in found {
            let most = match name.rsplit('/').next().unwrap() {
                "duramen.sock" => 0o660,
                "private_key.pem" | "server-key.pem" => 0o600,
                _ if std::path::Path::new(&name).is_dir() => 0o750,
                _ => 0o640,
            };
            assert_eq!(mode & !most, 0, "umask {umask}: {name} has {mode:o}");
        }
    }
}

#[test]
fn what_is_no_socket_is_not_replaced_by_one() {
    let home = tempfile::tempdir().unwrap();
    let precious = home.path().join("precious");
    let file = env::Env::open(&env::RealEnv, &precious, env::OpenMode::CreateNew).unwrap();
    file.write_at(b"rows", 0).unwrap();
    let datadir = format!("--datadir={}", home.path().join("data").display());
    let socket = format!("--socket={}", precious.display());
    let (status, _, error) = run(&["serve", "--port=0", &datadir, &socket]);
    assert_eq!(status.code(), Some(1));
    assert!(error.contains("no Unix socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "rows");
}
