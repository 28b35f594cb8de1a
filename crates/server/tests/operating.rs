//! What operators and their programs ask of a server: what TLS is like, what clients were refused,
//! who may come in, what statements ran.
#![allow(clippy::unwrap_used)]

mod common;

use common::start;
use protocol::client::{Client, ConnectOptions, Tls};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn status(client: &mut Client, like: &str) -> BTreeMap<String, String> {
    let rows = client.query(format!("SHOW STATUS LIKE '{like}'")).unwrap().rows;
    let text = |value: &Option<Vec<u8>>| String::from_utf8(value.clone().unwrap()).unwrap();
    rows.iter().map(|row| (text(&row[0]), text(&row[1]))).collect()
}

#[test]
fn status_tells_of_tls() {
    let server = start(&[]);
    let tls = ConnectOptions { tls: Tls::Unverified, ..ConnectOptions::default() };
    let mut client = server.connect_as(&tls);
    let rows = status(&mut client, "Ssl\\_%");
    assert_eq!((&*rows["Ssl_version"], &*rows["Ssl_accepts"]), ("TLSv1.3", "1"));
    assert_eq!((&*rows["Ssl_finished_accepts"], &*rows["Ssl_session_cache_mode"]), ("1", "SERVER"));
    assert!(rows["Ssl_cipher_list"].split(':').any(|cipher| cipher == rows["Ssl_cipher"]), "{rows:?}");
    assert!(rows["Ssl_cipher"].starts_with("TLS_"), "{rows:?}");
    assert_eq!(rows["Ssl_server_not_after"], "Jan  1 00:00:00 4096 GMT");
    assert!(rows["Ssl_server_not_before"].ends_with(" GMT"), "{rows:?}");
    assert_eq!(rows.len(), 26, "as many as MySQL's: {:?}", rows.keys());

    let mut plain = server.connect();
    let rows = status(&mut plain, "Ssl\\_%");
    assert_eq!((&*rows["Ssl_version"], &*rows["Ssl_cipher"], &*rows["Ssl_accepts"]), ("", "", "1"));
    assert_eq!(rows.len(), 26);
}

/// Sessions without CONNECTION_ADMIN are ended, new ones refused; administrators stay and come.
#[test]
fn offline_mode_is_for_administrators() {
    let server = start(&[]);
    let mut root = server.connect();
    root.query("CREATE USER plain, helper").unwrap();
    root.query("GRANT CONNECTION_ADMIN ON *.* TO helper").unwrap();
    let [plain, helper] =
        [b"plain".as_slice(), b"helper"].map(|user| ConnectOptions { user, ..ConnectOptions::default() });
    let (mut sleeper, mut idle) = (server.connect_as(&plain), server.connect_as(&plain));
    let mut stays = server.connect_as(&helper);
    std::thread::scope(|scope| {
        let asleep = scope.spawn(|| sleeper.query("SELECT SLEEP(60)").map(|_| ()));
        while !server.sql("SHOW PROCESSLIST").contains("SLEEP") {
            std::thread::sleep(Duration::from_millis(5));
        }
        root.query("SET GLOBAL offline_mode = ON").unwrap();
        asleep.join().unwrap().unwrap_err();
    });
    idle.query("SELECT 1").unwrap_err();
    stays.query("SELECT 1").unwrap();
    root.query("SELECT 1").unwrap();
    server.connect_as(&helper);
    let refused = Client::connect(Box::new(server.tcp()), Arc::new(env::RealEnv), &plain).map(|_| ());
    let refused = format!("{:?}", refused.unwrap_err());
    assert!(refused.contains("3032"), "{refused}");
    root.query("SET GLOBAL offline_mode = OFF").unwrap();
    server.connect_as(&plain).query("SELECT 1").unwrap();
}

/// An installer that stops at error 1235 leaves its operator a line in the error log, and a client
/// that asks a thousand times no more than that.
#[test]
fn what_is_refused_is_told_once() {
    let server = start(&[]);
    let mut client = server.connect();
    for _ in 0..3 {
        client.query("CREATE TABLE mysql.no (a INT)").unwrap_err();
        client.query("SELECT * FROM nodb.no_1235").unwrap_err();
    }
    client.query("RESTART").unwrap_err();
    let count_of = |what: &str| server.messages().iter().filter(|line| line.contains(what)).count();
    server.await_message("yet support 'RESTART'");
    assert_eq!(count_of("(1235)"), 2, "{:#?}", server.messages());
    assert_eq!(count_of("the system schema mysql"), 1);
}

/// The general log's file: connections and all kinds of statements; it is written anew where it was
/// renamed, and a disk that is full stops nobody.
#[test]
fn statements_are_logged_into_files() {
    let server = start(&["--general-log", "--long-query-time=0"]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d").unwrap();
    client.query("CREATE USER u IDENTIFIED BY 'geheim'").unwrap();
    let mut other = server.connect_as(&ConnectOptions {
        user: b"u",
        password: b"geheim",
        tls: Tls::Unverified,
        ..ConnectOptions::default()
    });
    other.query("SELECT 'multi\nline'").unwrap();
    server.sql("USE d");
    let path = client.query("SELECT @@general_log_file").unwrap().rows[0][0].clone().unwrap();
    let path = std::path::PathBuf::from(String::from_utf8(path).unwrap());
    let read = |path: &std::path::Path| {
        String::from_utf8(env::Env::read_file(&env::RealEnv, path).unwrap()).unwrap()
    };
    // The client of `USE d` has gone before its session notices it.
    for _ in 0..6_000 {
        if read(&path).contains(" Quit\t\n") {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = read(&path);
    let has = |what: &str| assert!(text.contains(what), "{what:?} is not in {text}");
    assert!(text.starts_with("duramen, Version: "), "{text}");
    has(" Connect\troot@localhost on \n");
    has(" Connect\tu@localhost on  using SSL/TLS\n");
    has(" Query\tCREATE USER u IDENTIFIED BY <secret>\n");
    has(" Query\tSELECT 'multi\nline'\n");
    has(" Init DB\td\n");
    has(" Quit\t\n");
    assert!(!text.contains("geheim"), "{text}");

    // Rotation, as logrotate does it.
    let old = path.with_extension("old");
    env::Env::rename(&env::RealEnv, &path, &old).unwrap();
    client.query("SELECT 'to the old one'").unwrap();
    client.query("FLUSH GENERAL LOGS").unwrap();
    client.query("SELECT 'to the new one'").unwrap();
    assert!(read(&old).contains("to the old one") && !read(&old).contains("to the new one"));
    assert!(read(&path).contains("to the new one"));

    // The slow query log, and a file that is always full.
    client.query("SET GLOBAL general_log = OFF").unwrap();
    std::os::unix::fs::symlink("/dev/full", server.file("full.log")).unwrap();
    for wrong in ["", "/nowhere/x.log", "full", "binlog.000001", "my.cnf"] {
        let error = client.query(format!("SET GLOBAL slow_query_log_file = '{wrong}'")).unwrap_err();
        assert!(format!("{error:?}").contains("1231"), "{error:?}");
    }
    client.query("SET GLOBAL slow_query_log = ON").unwrap();
    client.query("SELECT 1 UNION SELECT 2").unwrap();
    let slow = path.with_file_name(path.file_stem().unwrap().to_string_lossy().into_owned() + "-slow.log");
    let text = read(&slow);
    assert!(text.contains("Rows_sent: 2  Rows_examined: 0\nSET timestamp="), "{text}");
    assert!(text.ends_with(";\nSELECT 1 UNION SELECT 2;\n"), "{text}");
    client.query("SET GLOBAL slow_query_log_file = 'full.log'").unwrap();
    for _ in 0..3 {
        client.query("SELECT 1").unwrap();
    }
    server.await_message("slow query log");
    let count = server.messages().iter().filter(|line| line.contains("can't be written")).count();
    assert_eq!(count, 1, "{:#?}", server.messages());
}
