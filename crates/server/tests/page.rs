//! The status page: its numbers are those of SHOW GLOBAL STATUS, and it is shown to nobody else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::{Server, now, start};
use protocol::client::Client;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const TOKEN: &str = "a-token-that-nobody-can-guess";

fn address(server: &Server) -> String {
    server.sql("SELECT @@global.duramen_metrics_address").trim().to_owned()
}

/// The answer to a request: its head and its body.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn get(address: &str, path: &str) -> (String, String) {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"))
}

fn status_of(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

fn numbers_after(address: &str, number: u64) -> Value {
    let (head, body) = get(address, &format!("/status.json?after={number}"));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{head}");
    serde_json::from_str(&body).unwrap()
}

/// The numbers once `is_so`.
fn await_numbers(address: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = now();
    loop {
        let numbers = numbers_after(address, 0);
        if is_so(&numbers) {
            return numbers;
        }
        assert!(now() - begun < PATIENCE, "{numbers:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A column of the newest sample.
fn newest(numbers: &Value, name: &str) -> u64 {
    let at = numbers["columns"].as_array().unwrap().iter().position(|column| column == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    numbers["samples"].as_array().unwrap().last().map_or(0, |sample| sample[at].as_u64().unwrap())
}

fn shown(server: &Server, name: &str) -> u64 {
    let row = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    row.trim().rsplit('\t').next().unwrap().parse().unwrap_or_else(|_| panic!("{name}: {row}"))
}

#[test]
fn its_numbers_are_those_of_show_global_status() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(40))");
    for number in 0..20 {
        server.sql(&format!("INSERT INTO d.t VALUES ({number}, 'a secret of {number}')"));
    }
    let commits = shown(&server, "Binlog_commits");
    let numbers = await_numbers(&address, |numbers| newest(numbers, "Binlog_commits") == commits);
    for name in [
        "Binlog_commits",
        "Binlog_group_commits",
        "Binlog_bytes_written",
        "Duramen_log_flushes",
        "Duramen_recovery_distance_bytes",
        "Duramen_row_locks",
        "Duramen_store_memtable_bytes",
        "Duramen_transactions_rolled_back",
        "Duramen_disk_bytes",
        "Innodb_buffer_pool_read_requests",
        "Innodb_row_lock_waits",
        "Slow_queries",
    ] {
        assert_eq!(newest(&numbers, name), shown(&server, name), "{name}");
    }
    assert!(newest(&numbers, "Binlog_commits") >= 20 && newest(&numbers, "Duramen_disk_bytes") > 0);
    assert!(newest(&numbers, "Questions") <= shown(&server, "Questions"));
    let distance = numbers["engine"]["recovery_distance_bytes"].as_u64().unwrap();
    assert_eq!(distance, shown(&server, "Duramen_recovery_distance_bytes"));
    // Each second was measured once, and its times are those of what it has flushed.
    let samples = numbers["samples"].as_array().unwrap();
    let at = |name: &str| numbers["columns"].as_array().unwrap().iter().position(|c| c == name).unwrap();
    let (flushes, mean) = (at("Duramen_log_flushes"), at("flush_mean_us"));
    for pair in samples.windows(2) {
        let [before, now] = pair else { unreachable!() };
        assert_eq!(before[0].as_u64().unwrap() + 1, now[0].as_u64().unwrap());
        assert_eq!(now[flushes] != before[flushes], now[mean] != 0, "{before} {now}");
    }
    let last = samples.last().unwrap()[0].as_u64().unwrap();
    let later = numbers_after(&address, last)["samples"].as_array().unwrap().len();
    assert!(later < samples.len(), "only what is new");
    let top = numbers["statements"].as_array().unwrap();
    let insert = top.iter().find(|s| s["text"].as_str().unwrap().starts_with("INSERT INTO")).unwrap();
    assert_eq!(insert["count"], 20);
    let summed = server.sql(
        "SELECT DIGEST, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE \
         'INSERT INTO%'",
    );
    assert_eq!(summed.trim(), format!("{}\t20", insert["digest"].as_str().unwrap()));
    assert!(!numbers.to_string().contains("secret"));
}

fn connection_id(client: &mut Client) -> u64 {
    let id = client.query("SELECT CONNECTION_ID()").unwrap().rows[0][0].clone().unwrap();
    String::from_utf8(id).unwrap().parse().unwrap()
}

#[test]
fn waits_and_transactions_are_listed_without_values() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(40)); INSERT INTO d.t VALUES (1, 'x')");
    let empty = numbers_after(&address, 0);
    assert_eq!(
        (&empty["waits"], &empty["channels"], &empty["followers"]),
        (&Value::Array(vec![]), &Value::Array(vec![]), &Value::Array(vec![]))
    );
    let mut holder = server.connect();
    holder.query("BEGIN").unwrap();
    holder.query("UPDATE d.t SET b = 'my secret' WHERE a = 1").unwrap();
    let holder_id = connection_id(&mut holder);
    let (mut waiter, mut definer) = (server.connect(), server.connect());
    let (waiter_id, definer_id) = (connection_id(&mut waiter), connection_id(&mut definer));
    let waits =
        std::thread::spawn(move || waiter.query("UPDATE d.t SET b = \"your secret\" WHERE a = 1").unwrap());
    await_numbers(&address, |numbers| numbers["waits"].as_array().unwrap().len() == 1);
    let defines = std::thread::spawn(move || definer.query("ALTER TABLE d.t ADD c INT").unwrap());
    let numbers = await_numbers(&address, |numbers| numbers["waits"].as_array().unwrap().len() == 2);
    let row = &numbers["waits"][0];
    assert_eq!(row["session"], waiter_id);
    assert_eq!(row["blockers"], serde_json::json!([holder_id]));
    assert_eq!((&row["lock"], &row["target"]), (&"row, to change it".into(), &"d.t, PRIMARY".into()));
    assert_eq!(row["statement"], "UPDATE `d` . `t` SET `b` = ? WHERE `a` = ?");
    let table = &numbers["waits"][1];
    assert_eq!((&table["session"], &table["target"]), (&definer_id.into(), &"d.t".into()));
    assert!(table["blockers"].as_array().unwrap().contains(&holder_id.into()), "{table}");
    let oldest = &numbers["transactions"][0];
    assert_eq!((&oldest["session"], &oldest["rows_changed"]), (&holder_id.into(), &1.into()));
    assert_eq!(oldest["statement"], Value::Null);
    assert!(!numbers.to_string().contains("secret"), "{numbers}");
    holder.query("COMMIT").unwrap();
    waits.join().unwrap();
    defines.join().unwrap();
    await_numbers(&address, |numbers| {
        numbers["waits"].as_array().unwrap().is_empty() && numbers["transactions_open"] == 0
    });
}

#[test]
fn replicas_and_channels_are_listed_with_their_lag() {
    let source = start(&["--duramen-metrics-address=0", "--server-id=1"]);
    let replica = start(&["--duramen-metrics-address=0", "--server-id=2"]);
    source.sql("CREATE USER follower IDENTIFIED BY 'p'; GRANT REPLICATION SLAVE ON *.* TO follower");
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={}, SOURCE_USER='follower', \
         SOURCE_PASSWORD='p', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA",
        source.port
    ));
    source.sql("CREATE DATABASE d");
    let durable = |numbers: &Value| numbers["engine"]["durable_position"].clone();
    let numbers = await_numbers(&address(&source), |numbers| {
        let followers = numbers["followers"].as_array().unwrap();
        followers.len() == 1 && followers[0]["sent"] == durable(numbers)
    });
    let follower = &numbers["followers"][0];
    assert_eq!((&follower["server_id"], &follower["unsent_bytes"]), (&2.into(), &0.into()));
    assert_eq!(follower["uuid"], replica.sql("SELECT @@server_uuid").trim());
    assert_eq!((shown(&source, "Duramen_replicas"), shown(&source, "Duramen_replica_unsent_bytes")), (1, 0));
    let of_replica = address(&replica);
    let channel = |numbers: &Value| numbers["channels"][0].clone();
    let numbers = await_numbers(&of_replica, |numbers| channel(numbers)["lag_seconds"] == 0);
    let found = channel(&numbers);
    assert_eq!((&found["receiver"], &found["applier"]), (&"Yes".into(), &"Yes".into()), "{found}");
    assert_eq!((&found["is_stopped"], &found["error"]), (&false.into(), &Value::Null), "{found}");
    assert_eq!(found["source"], format!("127.0.0.1:{}", source.port));
    // It can't be applied: the replica has it already.
    replica.sql("CREATE DATABASE e");
    source.sql("CREATE DATABASE e");
    let numbers = await_numbers(&of_replica, |numbers| channel(numbers)["is_stopped"] == true);
    assert_eq!(channel(&numbers)["error"], 1007, "{numbers}");
    assert_eq!(shown(&replica, "Duramen_replica_channels_stopped"), 1);
    assert_eq!(shown(&replica, "Duramen_replica_channels"), 1);
}

#[test]
fn the_page_is_one_piece_that_may_load_nothing_else() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    let (head, page) = get(&address, "/");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{head}");
    let nonce = page.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    for header in [
        &format!(
            "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src data:"
        ),
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
    ] {
        assert!(head.contains(header), "no {header} in {head}");
    }
    assert!(!get(&address, "/").1.contains(nonce), "a nonce is used once");
    assert!(!page.contains("<!-- s") && !page.contains(" src=") && !page.contains("http://cdn"));
    let head_only = ask(&address, &format!("HEAD / HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    assert!(head_only.1.is_empty() && head_only.0.contains(&format!("Content-Length: {}\r\n", page.len())));
}

#[test]
fn a_page_of_another_site_reads_nothing() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    let port = address.rsplit(':').next().unwrap();
    for path in ["/", "/status.json"] {
        let seen = |host: &str| {
            status_of(&ask(&address, &format!("GET {path} HTTP/1.1\r\n{host}\r\n")).0).to_owned()
        };
        for host in ["Host: localhost\r\n", &format!("Host: 127.0.0.1:{port}\r\n"), "HOST: [::1]\r\n"] {
            assert_eq!(seen(host), "200", "{host}");
        }
        for host in ["Host: evil.example\r\n", "Host: localhost.evil.example:1\r\n", ""] {
            assert_eq!(seen(host), "403", "{host}");
        }
        assert_eq!(seen("Host: localhost\r\nHost: evil.example\r\n"), "400");
    }
}

/// A file as `duramen_metrics_token_file` wants it.
fn token_file(server_folder: &std::path::Path, text: &str, modes: u32) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = server_folder.join(format!("token-{modes:o}-{}", text.len()));
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(modes)).unwrap();
    path.display().to_string()
}

#[test]
fn where_others_can_connect_the_page_needs_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let open = start(&["--duramen-metrics-address=0.0.0.0:0"]);
    let port = address(&open).rsplit(':').next().unwrap().to_owned();
    let (head, body) = get(&format!("127.0.0.1:{port}"), "/");
    assert_eq!(status_of(&head), "403");
    assert!(body.contains("duramen_metrics_token_file"), "{body}");
    assert_eq!(status_of(&get(&format!("127.0.0.1:{port}"), "/status.json").0), "403");
    assert_eq!(status_of(&get(&format!("127.0.0.1:{port}"), "/metrics").0), "200");

    let file = token_file(folder.path(), &format!("{TOKEN}\n"), 0o600);
    for host in ["0.0.0.0:0", "0"] {
        let address_option = format!("--duramen-metrics-address={host}");
        let server = start(&[&address_option, &format!("--duramen-metrics-token-file={file}")]);
        let port = address(&server).rsplit(':').next().unwrap().to_owned();
        let address = format!("127.0.0.1:{port}");
        let seen = |authorization: &str| {
            ask(&address, &format!("GET /status.json HTTP/1.1\r\nHost: proxy.example\r\n{authorization}\r\n"))
                .0
        };
        let refused = seen("");
        assert_eq!(status_of(&refused), "401");
        assert!(refused.contains("WWW-Authenticate: Basic realm=\"duramen\""), "{refused}");
        assert_eq!(status_of(&seen("Authorization: Bearer wrong\r\n")), "401");
        assert_eq!(status_of(&seen(&format!("Authorization: Bearer {TOKEN}\r\n"))), "200");
        // Any user, and the token as the password, as a browser sends it.
        assert_eq!(
            status_of(&seen("Authorization: Basic YW55Ym9keTphLXRva2VuLXRoYXQtbm9ib2R5LWNhbi1ndWVzcw==\r\n")),
            "200"
        );
        assert_eq!(status_of(&get(&address, "/metrics").0), "200");
        assert!(!server.messages().iter().any(|message| message.contains(TOKEN)));
    }
}

#[test]
fn a_token_that_could_be_read_or_guessed_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: &str| {
        let datadir = format!("--datadir={}", folder.path().join("data").display());
        let file = format!("--duramen-metrics-token-file={file}");
        let (status, _, error) =
            common::run(&["serve", "--port=0", "--duramen-metrics-address=0", &datadir, &file]);
        assert!(!status.success());
        error
    };
    assert!(refused(&token_file(folder.path(), TOKEN, 0o644)).contains("chmod 600"));
    assert!(refused(&token_file(folder.path(), "short\n", 0o600)).contains("can be guessed"));
    assert!(refused(&token_file(folder.path(), "", 0o600)).contains("can be guessed"));
    assert!(refused("/nowhere/token").contains("duramen_metrics_token_file: can't read '/nowhere/token'"));
}

#[test]
fn requests_that_are_none_are_answered_and_busy_clients_hold_nobody_up() {
    let server = start(&["--duramen-metrics-address=0"]);
    let address = address(&server);
    // Connections that say nothing, as browsers open them ahead.
    let _silent: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let begun = now();
    for (request, status) in [
        ("\r\n\r\n", "405"),
        ("\u{0}\u{1}\u{2}\r\n\r\n", "405"),
        ("GET\r\n\r\n", "404"),
        ("GET /%2e%2e/etc/passwd HTTP/1.1\r\n\r\n", "404"),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", "405"),
        (
            "GET /status.json?after=99999999999999999999999&after=-1&=& HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "200",
        ),
        ("GET /status.json?after=18446744073709551615 HTTP/1.1\r\nHost: localhost\r\n\r\n", "200"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic \u{fffd}\r\n\r\n", "200"),
    ] {
        assert_eq!(status_of(&ask(&address, request).0), status, "{request:?}");
    }
    assert!(now() - begun < Duration::from_secs(2), "they were held up");
    // More than are answered at once: all are, after the silent ones were hung up on.
    let askers: Vec<_> = (0..40)
        .map(|_| {
            let address = address.clone();
            std::thread::spawn(move || assert_eq!(status_of(&get(&address, "/status.json").0), "200"))
        })
        .collect();
    askers.into_iter().for_each(|asker| asker.join().unwrap());
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:?}");
}

/// What a dashboard or an alert rule names is there.
#[test]
fn dashboard_and_alert_rules_name_metrics_that_the_server_has() {
    let server = start(&["--duramen-metrics-address=0"]);
    let (_, metrics) = get(&address(&server), "/metrics");
    let has = |name: &str| {
        metrics.lines().any(|l| l.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])))
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring");
    let dashboard = std::fs::read_to_string(folder.join("grafana-dashboard.json")).unwrap();
    let rules = std::fs::read_to_string(folder.join("prometheus-rules.yml")).unwrap();
    let rules: String =
        rules.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries: Vec<&str> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    assert!(queries.len() >= 15, "{queries:?}");
    for text in queries.into_iter().chain([&*rules]) {
        let names: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| ["duramen_", "mysql_global_"].iter().any(|start| word.starts_with(start)))
            // A setting that a message names.
            .filter(|word| !["duramen_slow_commit_time", "duramen_recovery_distance_max"].contains(word))
            .collect();
        assert!(!names.is_empty(), "{text}");
        for name in names {
            assert!(has(name), "the server has no metric {name}, which {text} names");
        }
    }
    let alerts = rules.lines().filter(|line| line.trim_start().starts_with("- alert: ")).count();
    assert!(
        alerts >= 8
            && rules.matches("expr:").count() == alerts
            && rules.matches("summary:").count() == alerts
    );
}
