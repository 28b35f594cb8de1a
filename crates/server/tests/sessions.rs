//! What a session reports to its client besides results, and the limits it runs under.
#![allow(clippy::unwrap_used)]

mod common;

use common::start;
use protocol::client::{Client, ConnectOptions};
use protocol::compression::Algorithm;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The state changes in the OK of a statement, as bytes.
fn changes(client: &mut Client, sql: &str) -> Vec<u8> {
    client.query(sql).unwrap().ok.changes
}

#[test]
fn changes_of_the_session_are_told() {
    let server = start(&[]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d").unwrap();
    assert_eq!(changes(&mut client, "SET autocommit = 0"), b"\x00\x0f\x0aautocommit\x03OFF");
    assert_eq!(changes(&mut client, "USE d"), b"\x01\x02\x01d");
    assert_eq!(changes(&mut client, "SET sort_buffer_size = 65536"), b"", "not on the list");
    assert_eq!(changes(&mut client, "DO 1"), b"");
    changes(&mut client, "SET session_track_state_change = ON, session_track_schema = OFF");
    assert_eq!(changes(&mut client, "USE d"), b"\x02\x02\x011");
    assert_eq!(changes(&mut client, "SET @a = 1"), b"\x02\x02\x011");
    changes(&mut client, "SET session_track_state_change = OFF");
    changes(&mut client, "SET session_track_system_variables = '*'");
    assert_eq!(changes(&mut client, "SET sql_notes = 0"), b"\x00\x0e\x09sql_notes\x03OFF");
    assert_eq!(changes(&mut client, "SET NAMES latin1").iter().filter(|&&b| b == 0x31).count(), 3);

    let without = protocol::Capabilities::SESSION_TRACK;
    let mut plain = server.connect_as(&ConnectOptions { without, ..ConnectOptions::default() });
    assert_eq!(changes(&mut plain, "SET autocommit = 0"), b"");
}

/// What a session has used of its stack stays its memory, and is cold by the next statement where
/// there are many sessions: so what needs much of it must not be inlined into what every statement
/// runs.
///
/// Compilers do that most where they see the whole program: `cargo test --release` measures what
/// users get.
#[test]
fn a_session_takes_little_memory() {
    const SESSIONS: u64 = 64;
    let server = start(&[]);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)");
    let session = || {
        let mut client = server.connect();
        for sql in ["BEGIN", "INSERT INTO d.t (n) VALUES (1)", "UPDATE d.t SET n = 2 WHERE id = 1", "COMMIT"]
        {
            client.query(sql).unwrap();
        }
        client.query("SELECT id, n FROM d.t WHERE n > 0 ORDER BY n DESC, id").unwrap();
        client
    };
    let first = session(); // makes what all share
    let before = server.resident_kib();
    let clients: Vec<_> = (0..SESSIONS).map(|_| session()).collect();
    let each = (server.resident_kib() - before) / SESSIONS;
    println!("{each} KiB for each session");
    assert!(each < 128, "{each} KiB");
    drop((first, clients));
}

#[test]
fn a_query_ends_when_its_time_is_over() {
    let server = start(&[]);
    let (mut holder, mut client) = (server.connect(), server.connect());
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)"] {
        holder.query(sql).unwrap();
    }
    holder.query("BEGIN").unwrap();
    holder.query("SELECT * FROM d.t FOR UPDATE").unwrap();
    client.query("SET max_execution_time = 50").unwrap();
    let begun = common::now();
    let waited = client.query("SELECT * FROM d.t FOR UPDATE").unwrap_err();
    assert_eq!(waited.number(), Some(3024), "in a wait for a lock");
    assert_eq!(client.query("SELECT SLEEP(30)").unwrap().rows[0][0], Some(b"1".to_vec()));
    assert!(common::now() - begun < std::time::Duration::from_secs(10));
    // What is in time is not disturbed by a predecessor's limit, and only queries have one.
    client.query("SELECT 1").unwrap();
    client.query("DO SLEEP(0.2)").unwrap();
    client.query("SET max_execution_time = 0").unwrap();
    client.query("SELECT SLEEP(0.2)").unwrap();
    // The hint goes before the variable.
    let slept = client.query("SELECT /*+ MAX_EXECUTION_TIME(50) */ SLEEP(30)").unwrap();
    assert_eq!(slept.rows[0][0], Some(b"1".to_vec()));
    let waited = client.query("SELECT /*+ MAX_EXECUTION_TIME(50) */ * FROM d.t FOR UPDATE").unwrap_err();
    assert_eq!(waited.number(), Some(3024));
    client
        .query("SELECT /*+ SET_VAR(max_execution_time=20) MAX_EXECUTION_TIME(10000) */ SLEEP(0.2)")
        .unwrap();
}

#[test]
fn repeated_statements_mean_what_they_meant() {
    let server = start(&[]);
    let mut client = server.connect();
    let mut ask = |sql: &str| client.query(sql).map(|r| r.rows.first().and_then(|row| row[0].clone()));
    for _ in 0..3 {
        assert_eq!(ask("SELECT 1 || 0").unwrap(), Some(b"1".to_vec()));
    }
    ask("SET sql_mode = 'PIPES_AS_CONCAT'").unwrap();
    for _ in 0..3 {
        assert_eq!(ask("SELECT 1 || 0").unwrap(), Some(b"10".to_vec()));
    }
    ask("CREATE DATABASE d").unwrap();
    for name in ["a", "b"] {
        ask("DROP TABLE IF EXISTS d.t").unwrap();
        ask(&format!("CREATE TABLE d.t ({name} INT PRIMARY KEY, c INT)")).unwrap();
        for i in 0..3 {
            ask(&format!("INSERT INTO d.t VALUES ({i}, {i})")).unwrap();
            assert_eq!(ask("SELECT MAX(c) FROM d.t").unwrap(), Some(i.to_string().into_bytes()));
        }
        let columns = ask("SELECT * FROM d.t").unwrap();
        assert_eq!(columns, Some(b"0".to_vec()), "{name}");
    }
}

#[test]
fn both_ways_of_compression_carry_large_and_small_results() {
    let server = start(&[]);
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let options = ConnectOptions { compression: Some(algorithm), ..ConnectOptions::default() };
        let mut client = server.connect_as(&options);
        for n in [1_usize, 100, 70_000, 17 << 20] {
            let found = client.query(format!("SELECT REPEAT('abcdefg ', {})", n.div_ceil(8))).unwrap();
            let text = found.rows[0][0].clone().unwrap();
            assert!(text.len() >= n && text.chunks(8).all(|c| c == b"abcdefg "), "{algorithm:?} {n}");
        }
        let long = format!("SELECT LENGTH('{}')", "x".repeat(17 << 20));
        assert_eq!(client.query(long).unwrap().rows[0][0], Some((17 << 20).to_string().into_bytes()));
    }
}

#[test]
fn definitions_are_left_out_for_clients_that_can_do_without() {
    let server = start(&[]);
    let mut client = server.connect();
    client.query("SET resultset_metadata = NONE").unwrap();
    // This client has not said that it can.
    assert_eq!(client.query("SELECT 1 AS a").unwrap().columns, [b"a".to_vec()]);
}

#[test]
fn a_certificate_may_be_given() {
    use protocol::client::Tls;
    let files = tempfile::tempdir().unwrap();
    let first = start(&[]);
    first.connect_as(&ConnectOptions { tls: Tls::Unverified, ..ConnectOptions::default() });
    let copy = |from: &str, to: &str| {
        let to = files.path().join(to);
        std::fs::copy(first.file(from), &to).unwrap();
        to.to_string_lossy().into_owned()
    };
    let cert = format!("--ssl-cert={}", copy("server-cert.pem", "given.pem"));
    let key = format!("--ssl-key={}", copy("server-key.pem", "given-key.pem"));
    let second = start(&[&cert, &key]);
    let ca = env::Env::read_file(&env::RealEnv, &first.file("ca.pem")).unwrap();
    let verified = ConnectOptions {
        tls: Tls::Verified { ca: &ca, server_name: "localhost" },
        ..ConnectOptions::default()
    };
    assert!(second.connect_as(&verified).tls().is_some());
    assert!(!common::exists(&second.file("server-key.pem")), "none was made");
    let shown = second.connect().query("SELECT @@ssl_cert").unwrap().rows[0][0].clone().unwrap();
    assert!(shown.ends_with(b"given.pem"));

    // One that can't be used: plain connections only, and the error log says why.
    let third = start(&["--ssl-cert=/nowhere/cert.pem", &key]);
    third.await_message("ssl_cert");
    third.connect();
}

/// A client that sends and reads nothing fills its socket with replies, and holds up nobody else's
/// commits. All its replies come in the end.
#[test]
fn a_client_that_does_not_read_holds_up_no_commit() {
    // A Unix socket holds some 280 short messages each way.
    const STATEMENTS: u32 = 400;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = start(&[&format!("--socket={}", path.display())]);
    server.sql("CREATE DATABASE test; CREATE TABLE test.t (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO test.t VALUES (1, 0), (2, 0)");
    let socket = UnixStream::connect(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let options = ConnectOptions::default();
    let mut deaf = Client::connect(Box::new(socket), Arc::new(env::RealEnv), &options).unwrap();
    let update = |id: u32| format!("UPDATE test.t SET n = n + 1 WHERE id = {id}");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let (mut other, mut done) = (server.connect(), 0);
            while !ends.load(Ordering::SeqCst) {
                let begun = common::now();
                other.query(update(2)).unwrap();
                assert!(common::now() - begun < Duration::from_secs(20), "a commit was held up");
                done += 1;
            }
            done
        });
        for _ in 0..STATEMENTS {
            deaf.send_query(update(1)).unwrap();
        }
        std::thread::sleep(Duration::from_secs(1));
        let done: u32 = server.sql("SELECT n FROM test.t WHERE id = 1").trim().parse().unwrap();
        assert!(done < STATEMENTS, "it waits for its replies to be taken");
        for _ in 0..STATEMENTS {
            let reply = deaf.next_pipelined_result().unwrap();
            assert_eq!(reply.ok.affected_rows, 1);
        }
        ends.store(true, Ordering::SeqCst);
        let done = other.join().unwrap();
        let found = server.sql("SELECT n FROM test.t ORDER BY id");
        assert_eq!(found, format!("{STATEMENTS}\n{done}\n"));
    });
}

/// How many short replies a Unix socket takes for a client that reads none; it holds some 280
/// messages each way.
fn room(deaf: &mut Client, executed: impl Fn() -> u64) -> u64 {
    const MORE_THAN_FIT: u64 = 400;
    let before = executed();
    for _ in 0..MORE_THAN_FIT {
        deaf.send_query(NOTHING).unwrap();
    }
    let mut done = 0;
    await_that("the socket is full", || {
        let before = std::mem::replace(&mut done, executed());
        std::thread::sleep(Duration::from_millis(200));
        done == before
    });
    for _ in 0..MORE_THAN_FIT {
        deaf.next_pipelined_result().unwrap();
    }
    assert!(done - before < MORE_THAN_FIT, "they all fit");
    // The last one is executed, and waits to be sent.
    done - before - 1
}

const NOTHING: &str = "DO 0";

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = common::now();
    while !holds() {
        assert!(common::now() - begun < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The reply to a statement that has read what is not durable yet is sent by the thread that
/// makes it durable. It finds the socket full here: no thread but its own waits for that, the
/// session executes nothing meanwhile, and all replies come in order.
#[test]
fn a_deferred_reply_to_a_client_that_does_not_read_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let disk = servers::disk::Disk::new(folder.path()).unwrap();
    let (data, path) = (Arc::new(tempfile::tempdir().unwrap()), folder.path().join("socket"));
    let socket = format!("--socket={}", path.display());
    let server = common::Server::start_with(&data, &[&socket], &disk.variables());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO d.t VALUES (1, 0), (2, 0)");
    let status = |name: &str| -> u64 {
        let row = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        row.split('\t').nth(1).unwrap().trim().parse().unwrap()
    };
    let socket = UnixStream::connect(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let options = ConnectOptions::default();
    let mut deaf = Client::connect(Box::new(socket), Arc::new(env::RealEnv), &options).unwrap();
    let room = room(&mut deaf, || status("Com_do"));

    let (mut holder, mut other) = (server.connect(), server.connect());
    holder.query("BEGIN").unwrap();
    holder.query("UPDATE d.t SET n = 1 WHERE id = 1").unwrap();
    let done = status("Com_do");
    deaf.send_query("BEGIN").unwrap();
    for _ in 1..room {
        deaf.send_query(NOTHING).unwrap();
    }
    // It waits for the lock, and has room for no more replies.
    deaf.send_query("UPDATE d.t SET n = n + 1 WHERE id = 1").unwrap();
    deaf.send_query(NOTHING).unwrap();
    deaf.send_query("COMMIT").unwrap();
    await_that("it waits for the lock", || status("Innodb_row_lock_current_waits") == 1);
    assert_eq!(status("Com_do"), done + room - 1, "the other replies fit");

    let flush = Duration::from_secs(2);
    disk.delay_flushes(flush).unwrap();
    let begun = common::now();
    let committed = std::thread::scope(|scope| {
        let commit = scope.spawn(|| holder.query("COMMIT").map(|_| common::now()));
        await_that("the lock is free before the commit is durable", || {
            status("Innodb_row_lock_current_waits") == 0
        });
        assert!(common::now() - begun < flush);
        commit.join().unwrap().unwrap()
    });
    assert!(committed - begun >= flush);
    disk.delay_flushes(Duration::ZERO).unwrap();
    // The reply holds now, and does not fit.
    other.query("UPDATE d.t SET n = 7 WHERE id = 2").unwrap();
    assert!(common::now() - committed < Duration::from_secs(20), "a commit was held up");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status("Com_do"), done + room - 1, "nothing is executed behind a reply that is out");

    for _ in 0..room {
        assert_eq!(deaf.next_pipelined_result().unwrap().ok.affected_rows, 0);
    }
    assert_eq!(deaf.next_pipelined_result().unwrap().ok.affected_rows, 1);
    for _ in [NOTHING, "COMMIT"] {
        assert_eq!(deaf.next_pipelined_result().unwrap().ok.affected_rows, 0);
    }
    assert_eq!(server.sql("SELECT n FROM d.t ORDER BY id"), "2\n7\n");
}
