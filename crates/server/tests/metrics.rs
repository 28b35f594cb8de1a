//! The metrics as Prometheus scrapes them, and clients that misbehave there.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, now, start};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The whole answer to a request.
fn ask(address: &str, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn address(server: &Server) -> String {
    server.sql("SELECT @@global.duramen_metrics_address").trim().to_owned()
}

fn scrape(server: &Server) -> String {
    let answer = ask(&address(server), "GET /metrics HTTP/1.1\r\nHost: duramen\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{answer}");
    answer
}

fn value(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find(|l| l.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.and_then(|l| l.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("no {name} in {metrics}"))
}

#[test]
fn commits_are_counted_and_timed() {
    let server = start(&["--duramen-metrics-address=0"]);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    let before = scrape(&server);
    server.sql("INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2); INSERT INTO d.t VALUES (3)");
    let after = scrape(&server);
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown("mysql_global_status_binlog_commits"), 3.0);
    assert_eq!(grown("mysql_global_status_commands_total{command=\"insert\"}"), 3.0);
    for name in ["duramen_log_flush_seconds", "duramen_log_group_size"] {
        assert!(after.contains(&format!("# TYPE {name} histogram\n")));
        assert_eq!(grown(&format!("{name}_count")), 3.0, "{name}");
        assert_eq!(grown(&format!("{name}_bucket{{le=\"+Inf\"}}")), 3.0, "{name}");
        assert!(grown(&format!("{name}_sum")) > 0.0, "{name}");
    }
    assert!(value(&after, "mysql_global_status_uptime") >= 0.0);
    let helpless: Vec<_> = after
        .lines()
        .filter(|l| l.starts_with("# HELP duramen_") && l.ends_with("of SHOW GLOBAL STATUS."))
        .collect();
    assert!(helpless.is_empty(), "what they mean is said nowhere else: {helpless:?}");
}

#[test]
fn it_listens_on_loopback_and_only_when_told() {
    let server = start(&["--duramen-metrics-address=0"]);
    assert!(address(&server).starts_with("127.0.0.1:"));
    assert!(server.sql_error("SET GLOBAL duramen_metrics_address = '1'").contains("read only"));
    assert!(ask(&address(&server), "GET /else HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask(&address(&server), "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert_eq!(address(&start(&[])), "");
    let folder = tempfile::tempdir().unwrap();
    let (status, _, error) = common::run(&[
        "serve",
        "--port=0",
        "--duramen-metrics-address=nowhere",
        &format!("--datadir={}", folder.path().display()),
    ]);
    assert!(
        !status.success() && error.contains("'nowhere' is no value for duramen_metrics_address"),
        "{error}"
    );
}

#[test]
fn clients_that_misbehave_are_hung_up_on() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    let begun = now();
    let silent = connect(&address);
    let mut endless = connect(&address);
    // The endpoint is done with the silent one after two seconds, and then reads this one's head,
    // which never ends.
    let line = [b'x'; 1000];
    let ended = loop {
        if let Err(e) = endless.write_all(&line) {
            break e;
        }
        assert!(now() - begun < Duration::from_secs(30), "it reads without end");
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(matches!(ended.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{ended}");
    drop(silent);
    assert!(scrape(&server).contains("duramen_info{version="));
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:?}");
}

#[test]
fn a_slow_commit_is_told_with_the_step_that_was_slow() {
    let folder = tempfile::tempdir().unwrap();
    let disk = servers::disk::Disk::new(folder.path()).unwrap();
    let data = Arc::new(tempfile::tempdir().unwrap());
    let args = ["--duramen-metrics-address=0", "--duramen-slow-commit-time=0.3"];
    let server = Server::start_with(&data, &args, &disk.variables());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    disk.delay_flushes(Duration::from_millis(400)).unwrap();
    let before = scrape(&server);
    server.sql("INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2)");
    let after = scrape(&server);
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown("duramen_log_slow_groups_total"), 2.0);
    for step in ["queue_wait", "write", "flush", "publish", "reply", "commit"] {
        assert_eq!(grown(&format!("duramen_log_{step}_seconds_count")), 2.0, "{step}");
    }
    assert!(grown("duramen_log_flush_seconds_sum") >= 0.8);
    assert!(grown("duramen_log_commit_seconds_sum") >= grown("duramen_log_flush_seconds_sum"));
    let slow = || server.messages().into_iter().filter(|m| m.contains("slow commit")).collect::<Vec<_>>();
    let slow_commits = slow();
    assert_eq!(slow_commits.len(), 1, "one line in five seconds: {slow_commits:?}");
    assert!(
        slow_commits[0].contains("[Warning] [binlog] slow commit: a group of 1 ending at"),
        "{slow_commits:?}"
    );
    assert!(
        slow_commits[0].contains("most of it flushing the log file to disk (queue wait "),
        "{slow_commits:?}"
    );
    server.sql("SET GLOBAL duramen_slow_commit_time = 0; INSERT INTO d.t VALUES (3)");
    assert_eq!(
        value(&scrape(&server), "duramen_log_slow_groups_total"),
        value(&after, "duramen_log_slow_groups_total")
    );
    assert!(
        server.sql("SHOW ENGINE DURAMEN STATUS").contains("2 groups were slow (duramen_slow_commit_time)")
    );
}
