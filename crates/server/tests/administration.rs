//! SET, SHOW, KILL, accounts and the log's housekeeping, from MariaDB's own client.
#![allow(clippy::unwrap_used)]

mod common;

use common::start;
use env::{Env, RealEnv};
use std::process::Command;
use std::time::Duration;

#[test]
fn variables_are_set_and_shown() {
    let server = start(&[]);
    assert_eq!(server.sql("SHOW VARIABLES LIKE 'sync_binlog'"), "sync_binlog\t1\n");
    server.sql("SET GLOBAL sync_binlog = 0, GLOBAL max_connections = 20");
    assert_eq!(server.sql("SHOW GLOBAL VARIABLES WHERE Variable_name = 'sync_binlog'"), "sync_binlog\t0\n");
    let error = server.sql_error("SET GLOBAL sync_binlog = 5, GLOBAL no_such = 1");
    assert!(error.contains("ERROR 1193 (HY000)"), "{error}");
    assert_eq!(server.sql("SHOW VARIABLES LIKE 'sync_binlog'"), "sync_binlog\t0\n");
    assert_eq!(
        server.sql("SET wait_timeout = 0; SHOW WARNINGS"),
        "Warning\t1292\tTruncated incorrect wait_timeout value: '0'\n"
    );
    let events = server.sql("SHOW GLOBAL STATUS LIKE 'Com_set_option'");
    assert!(events.starts_with("Com_set_option\t"), "{events}");
}

#[test]
fn sessions_are_killed() {
    let server = start(&[]);
    let error = server.sql_error("KILL 99999");
    assert!(error.contains("ERROR 1094 (HY000)") && error.contains("Unknown thread id: 99999"), "{error}");
    let error = server.sql_error("KILL QUERY CONNECTION_ID()");
    assert!(error.contains("ERROR 1317 (70100)"), "{error}");
    let list = server.sql("SHOW FULL PROCESSLIST");
    assert!(list.contains("\troot\tlocalhost\tNULL\tQuery\t0\t"), "{list}");
}

#[test]
fn a_statement_that_runs_is_interrupted() {
    let server = start(&[]);
    std::thread::scope(|scope| {
        let (server, patience) = (&server, std::time::Duration::from_secs(20));
        let sleeper = scope.spawn(|| server.client("mariadb", &["-N", "-B", "-e", "SELECT SLEEP(60)"]));
        let find = || {
            let list = server.sql("SHOW PROCESSLIST");
            let line = list.lines().find(|line| line.contains("SELECT SLEEP"))?;
            line.split('\t').next().map(str::to_owned)
        };
        let pause = std::time::Duration::from_millis(20);
        let tries = patience.as_millis() / pause.as_millis();
        let id = (0..tries).find_map(|_| {
            std::thread::sleep(pause);
            find()
        });
        server.sql(&format!("KILL {}", id.expect("the sleeper is listed")));
        let output = sleeper.join().unwrap();
        assert!(!output.status.success(), "its connection is gone");
    });
    assert_eq!(server.sql("SELECT 1"), "1\n");
}

#[test]
fn accounts_log_in_with_their_passwords() {
    let server = start(&[]);
    server.sql("CREATE USER 'sha'@'localhost' IDENTIFIED BY 'secret'");
    server.sql("CREATE USER 'old'@'localhost' IDENTIFIED WITH mysql_native_password BY 'word'");
    let whoami = |user: &str, password: &str| {
        let args = [&format!("--user={user}"), &format!("--password={password}")[..], "-N", "-B", "-e"];
        let output = server.client("mariadb", &[&args[..], &["SHOW GRANTS"]].concat());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { text(output.stdout) } else { text(output.stderr) }
    };
    assert_eq!(whoami("old", "word"), "GRANT USAGE ON *.* TO `old`@`localhost`\n");
    assert!(whoami("old", "wrong").contains("ERROR 1045"), "{}", whoami("old", "wrong"));
    server.sql("ALTER USER old@localhost IDENTIFIED WITH mysql_native_password BY 'newer'");
    assert!(whoami("old", "word").contains("ERROR 1045"));
    assert_eq!(whoami("old", "newer"), "GRANT USAGE ON *.* TO `old`@`localhost`\n");
    server.sql("SET PASSWORD FOR old@localhost = 'newest'");
    assert_eq!(whoami("old", "newest"), "GRANT USAGE ON *.* TO `old`@`localhost`\n");
    server.sql("ALTER USER old@localhost ACCOUNT LOCK");
    assert!(whoami("old", "newest").contains("ERROR 3118"), "{}", whoami("old", "newest"));
    assert_eq!(whoami("sha", "secret"), "GRANT USAGE ON *.* TO `sha`@`localhost`\n");
    server.sql("DROP USER old@localhost");
    assert!(whoami("old", "newest").contains("ERROR 1045"));
    let log = server.sql("SHOW BINLOG EVENTS");
    assert!(log.contains("CREATE USER") && !log.contains("BY 'secret'") && !log.contains("newest"), "{log}");
}

#[test]
fn accounts_outlive_a_restart() {
    let server = start(&[]);
    server.sql("CREATE USER 'u'@'localhost' IDENTIFIED WITH mysql_native_password BY 'word'");
    let datadir = server.datadir().clone();
    drop(server);
    let server = common::Server::start_in(&datadir, &[]);
    let output = server.client("mariadb", &["--user=u", "--password=word", "-N", "-B", "-e", "SHOW GRANTS"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "GRANT USAGE ON *.* TO `u`@`localhost`\n");
}

#[test]
fn the_log_rotates_and_is_purged() {
    let server = start(&[]);
    server.sql("CREATE DATABASE d; FLUSH BINARY LOGS; CREATE DATABASE e");
    assert_eq!(server.sql("SHOW BINARY LOGS").lines().count(), 2);
    let status = server.sql("SHOW MASTER STATUS");
    assert!(status.starts_with("binlog.000002\t"), "{status}");
    let events = server.sql("SHOW BINLOG EVENTS IN 'binlog.000002'");
    assert!(events.contains("CREATE DATABASE e"), "{events}");
    server.sql("PURGE BINARY LOGS TO 'binlog.000002'");
    assert!(server.sql("SHOW BINARY LOGS").starts_with("binlog.000002\t"));
    let error = server.sql_error("PURGE BINARY LOGS TO 'binlog.000001'");
    assert!(error.contains("ERROR 1373 (HY000)"), "{error}");
}

#[test]
fn expired_log_files_go_when_another_begins() {
    let server = start(&["--binlog-expire-logs-seconds=2"]);
    let first = || server.sql("SHOW BINARY LOGS").lines().next().unwrap_or_default().to_owned();
    server.sql("CREATE DATABASE d; FLUSH BINARY LOGS; CREATE DATABASE e");
    assert!(first().starts_with("binlog.000001"), "left a moment ago");
    std::thread::sleep(Duration::from_millis(3100));
    server.sql("SET GLOBAL binlog_expire_logs_auto_purge = OFF; FLUSH BINARY LOGS; CREATE DATABASE f");
    std::thread::sleep(Duration::from_millis(3100));
    assert!(first().starts_with("binlog.000001"), "nobody may purge");
    server.sql("SET GLOBAL binlog_expire_logs_auto_purge = ON; FLUSH BINARY LOGS; CREATE DATABASE g");
    let patience = RealEnv.monotonic() + Duration::from_secs(20);
    while first().starts_with("binlog.000001") || first().starts_with("binlog.000002") {
        assert!(RealEnv.monotonic() < patience, "{}", server.sql("SHOW BINARY LOGS"));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_log_is_read_by_those_who_may_read_all() {
    let server = start(&[]);
    server.sql("create user 'reader'@'%' identified by 'r'");
    let port = format!("--port={}", server.port);
    let read = |user: &str| {
        Command::new("mariadb-binlog")
            .args(["--no-defaults", "--read-from-remote-server", "--host=127.0.0.1", &port, user])
            .args(["--password=r", "binlog.000001"])
            .output()
            .unwrap()
    };
    let refused = read("--user=reader");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("REPLICATION SLAVE"), "{refused:?}");
    server.sql("grant all on *.* to 'reader'@'%'");
    let text = read("--user=reader");
    assert!(
        text.status.success() && String::from_utf8_lossy(&text.stdout).contains("CREATE USER"),
        "{text:?}"
    );
}

#[test]
fn commands_that_are_no_statements_ask_for_privileges_too() {
    use protocol::client::ConnectOptions;
    let server = start(&[]);
    server.sql("CREATE USER u");
    let mut client = server.connect_as(&ConnectOptions { user: b"u", ..ConnectOptions::default() });
    const COM_DEBUG: &[u8] = &[0x0d];
    assert_eq!(client.command(COM_DEBUG).err().unwrap().number(), Some(1227));
    client.query("SET @mariadb_slave_capability = 4").unwrap();
    let question = "SELECT binlog_gtid_pos('binlog.000001',4)";
    assert_eq!(client.query(question).err().unwrap().number(), Some(1227));
    server.sql("GRANT REPLICATION SLAVE, SUPER ON *.* TO u");
    client.query(question).unwrap();
    client.send_command(COM_DEBUG).unwrap();
    assert_eq!(client.read_packet().unwrap()[0], 0xfe);
}
