//! `duramen failover`: groups of real servers whose source changes, planned and lost.
#![allow(clippy::unwrap_used)]

mod common;

use common::replication::await_answer;
use common::{PATIENCE, Server, now, run, start};
use protocol::client::ConnectOptions;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A server that refuses writes until it is made the source.
fn member(id: u32) -> Server {
    let server = start(&[&format!("--server-id={id}")]);
    server.sql("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
    server.sql("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'");
    server.sql("RESET BINARY LOGS AND GTIDS; SET GLOBAL super_read_only = ON");
    server
}

/// A source whose commits wait for one of its replicas, and these.
fn group(replicas: usize) -> Vec<Server> {
    let servers: Vec<Server> = (1..=replicas as u32 + 1).map(member).collect();
    let source = &servers[0];
    source.sql("SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF");
    for replica in &servers[1..] {
        replica.sql(&format!(
            "SET GLOBAL rpl_semi_sync_replica_enabled = ON;
             CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'root',
                 SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1;
             START REPLICA",
            source.port
        ));
    }
    source.sql(
        "SET GLOBAL rpl_semi_sync_source_timeout = 600000; SET GLOBAL rpl_semi_sync_source_enabled = ON",
    );
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2)");
    servers.iter().for_each(|server| await_answer(server, "SELECT COUNT(*) FROM d.t", "2"));
    servers
}

fn named(servers: &[Server]) -> Vec<String> {
    servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect()
}

/// Runs the command for all servers: its exit code, and what it said.
fn failover(servers: &[Server], options: &[&str]) -> (Option<i32>, String) {
    let names = named(servers);
    let mut args = vec!["failover"];
    args.extend(names.iter().map(String::as_str));
    args.extend(options);
    let (status, out, err) = run(&args);
    (status.code(), out + &err)
}

fn done(servers: &[Server], options: &[&str]) -> String {
    let (code, said) = failover(servers, options);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// The same, where a server does not follow.
fn done_with_warnings(servers: &[Server], options: &[&str]) -> String {
    let (code, said) = failover(servers, options);
    assert!(code == Some(1) && said.contains("Warning: "), "{said}");
    said
}

fn refused(servers: &[Server], options: &[&str], why: &str) {
    let (code, said) = failover(servers, options);
    assert!(code == Some(3) && said.contains(why), "{said}");
}

/// It takes writes that wait for a replica, and all others have them.
fn check_source(source: &Server, others: &[&Server], value: u32) {
    source.sql(&format!("INSERT INTO d.t VALUES ({value})"));
    let all = source.sql("SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t");
    for other in others {
        await_answer(other, "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t", all.trim());
        let error = other.sql_error("INSERT INTO d.t VALUES (0)");
        assert!(error.contains("1290"), "{error}");
    }
    assert_eq!(source.sql("SELECT @@rpl_semi_sync_source_enabled").trim(), "1");
}

const ACCOUNT: [&str; 1] = ["--replication-user=root"];

#[test]
fn a_planned_change_keeps_all_and_goes_back() {
    let servers = group(2);
    let to = format!("--to=127.0.0.1:{}", servers[1].port);
    let said = done(&servers, &[&to, ACCOUNT[0], "--dry-run"]);
    assert!(said.contains("Nothing was done"), "{said}");
    check_source(&servers[0], &[&servers[1], &servers[2]], 10);
    let said = done(&servers, &[&to, ACCOUNT[0]]);
    assert!(said.contains("refuses writes from now on") && !said.contains("Warning"), "{said}");
    check_source(&servers[1], &[&servers[0], &servers[2]], 11);
    // Back, and nothing is to be done a second time.
    let back = format!("--to=127.0.0.1:{}", servers[0].port);
    for value in [12, 13] {
        done(&servers, &[&back, ACCOUNT[0]]);
        check_source(&servers[0], &[&servers[1], &servers[2]], value);
    }
}

/// A source that was only cut off comes back without a restart, and still takes writes. One that
/// has committed nothing else follows the new one; another one refuses writes, and stays so.
#[test]
fn a_source_that_still_takes_writes_is_fenced() {
    let servers = group(2);
    let [old, new, other] = &servers[..] else { panic!() };
    new.sql("STOP REPLICA; RESET REPLICA ALL; SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF");
    other.sql(&format!(
        "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_PORT = {}; START REPLICA",
        new.port
    ));
    let to = |server: &Server| format!("--to=127.0.0.1:{}", server.port);
    await_answer(new, "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'", "Rpl_semi_sync_source_clients\t1");
    refused(&servers, &ACCOUNT, "both take writes: give --to=SERVER");
    refused(&servers, &[&to(old), ACCOUNT[0]], "it is the source, and --to=");
    done(&servers, &[&to(new), ACCOUNT[0]]);
    check_source(new, &[old, other], 10);

    old.sql("STOP REPLICA; RESET REPLICA ALL; SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF");
    old.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF; INSERT INTO d.t VALUES (99)");
    refused(&servers, &[&to(new), ACCOUNT[0]], "could not follow it");
    let error = old.sql_error("INSERT INTO d.t VALUES (98)");
    assert!(error.contains("1290"), "{error}");
    new.sql("INSERT INTO d.t VALUES (11)");
}

/// A replica that was started again does not acknowledge commits until it is told to.
#[test]
fn a_replica_that_does_not_acknowledge_does_so_again() {
    let servers = group(2);
    servers[2].sql(
        "SET GLOBAL rpl_semi_sync_replica_enabled = OFF; STOP REPLICA IO_THREAD; START REPLICA IO_THREAD",
    );
    let clients = "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'";
    await_answer(&servers[0], clients, "Rpl_semi_sync_source_clients\t1");
    let to = format!("--to=127.0.0.1:{}", servers[0].port);
    let said = done(&servers, &[&to, ACCOUNT[0]]);
    assert!(said.contains("acknowledges commits"), "{said}");
    await_answer(&servers[0], clients, "Rpl_semi_sync_source_clients\t2");
}

#[test]
fn clients_that_write_meanwhile_lose_nothing() {
    let servers = group(2);
    let (stop, acknowledged) = (AtomicBool::new(false), std::sync::Mutex::new(vec![1, 2]));
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (stop, acknowledged, servers) = (&stop, &acknowledged, &servers);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Relaxed) {
                        return;
                    }
                    let value = 1000 + number * 4 + thread;
                    // Whoever takes it is the source.
                    let insert = format!("INSERT INTO d.t VALUES ({value})");
                    let is_taken = |server: &Server| {
                        let output = server.client("mariadb", &["-e", &insert]);
                        let error = String::from_utf8_lossy(&output.stderr).into_owned();
                        assert!(output.status.success() || !error.contains("ERROR 1062"), "{error}");
                        output.status.success()
                    };
                    if servers.iter().any(is_taken) {
                        acknowledged.lock().unwrap().push(value);
                    }
                }
            });
        }
        let mut said = Vec::new();
        for number in [1, 2, 0, 1] {
            std::thread::sleep(Duration::from_millis(300));
            // A busy machine takes longer.
            let (begun, before) = (now(), acknowledged.lock().unwrap().len());
            while acknowledged.lock().unwrap().len() < before + 6 {
                if now() - begun > PATIENCE {
                    stop.store(true, Relaxed);
                    panic!("nobody takes writes");
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            said.push(failover(&servers, &[&format!("--to=127.0.0.1:{}", servers[number].port), ACCOUNT[0]]));
        }
        stop.store(true, Relaxed);
        assert!(said.iter().all(|(code, _)| *code == Some(0)), "{said:#?}");
    });
    let mut acknowledged = acknowledged.into_inner().unwrap();
    acknowledged.sort_unstable();
    assert!(acknowledged.len() > 20, "{acknowledged:?}");
    for server in &servers {
        await_answer(server, "SELECT COUNT(*) FROM d.t", &acknowledged.len().to_string());
        let all = server.sql("SELECT a FROM d.t ORDER BY a");
        let all: Vec<u32> = all.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(all, acknowledged);
    }
}

#[test]
fn a_lost_source_is_replaced_and_comes_back_as_a_replica() {
    let mut servers = group(2);
    servers[0].kill();
    await_answer(
        &servers[1],
        "SELECT service_state FROM performance_schema.replication_connection_status",
        "CONNECTING",
    );
    await_answer(
        &servers[2],
        "SELECT service_state FROM performance_schema.replication_connection_status",
        "CONNECTING",
    );
    let said = done(&servers, &["--dry-run"]);
    assert!(said.contains("stop receiving from the lost source"), "{said}");
    let said = done(&servers, &[]);
    assert!(said.contains("does not answer"), "{said}");
    check_source(&servers[1], &[&servers[2]], 20);
    // What the lost one had is not known: it never gives up.
    assert_eq!(servers[1].sql("SELECT @@rpl_semi_sync_source_timeout").trim(), "4294967295");
    // It comes back on another port, and refuses writes.
    let lost = servers.remove(0).crash_and_restart(&["--server-id=1", "--super-read-only=ON"]);
    servers.push(lost);
    refused(&servers, &[], "follow nobody: give --to=SERVER");
    let to = format!("--to=127.0.0.1:{}", servers[0].port);
    let said = done(&servers, &[&to]);
    assert!(said.contains("--replication-user"), "{said}");
    done(&servers, &[&to, ACCOUNT[0]]);
    check_source(&servers[0], &[&servers[1], &servers[2]], 21);
}

#[test]
fn a_lost_source_that_has_more_does_not_follow() {
    let mut servers = group(1);
    servers[1].sql("STOP REPLICA IO_THREAD");
    servers[0].sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF; INSERT INTO d.t VALUES (30)");
    servers[0].kill();
    let said = done_with_warnings(&servers, &[]);
    assert!(said.contains("wait for no replica now: too few follow it"), "{said}");
    servers[1].sql("INSERT INTO d.t VALUES (31)");
    let lost = servers.remove(0).crash_and_restart(&["--server-id=1", "--super-read-only=ON"]);
    servers.push(lost);
    let to = format!("--to=127.0.0.1:{}", servers[0].port);
    refused(&servers, &[&to, ACCOUNT[0]], "which 127.0.0.1");
    // The new source works on.
    servers[0].sql("INSERT INTO d.t VALUES (32)");
}

#[test]
fn what_may_be_lost_is_not_promoted() {
    let servers = group(2);
    refused(&servers[1..], &[], "still has a connection to its source");
    servers[0].kill();
    servers[2].kill();
    await_answer(
        &servers[1],
        "SELECT service_state FROM performance_schema.replication_connection_status",
        "CONNECTING",
    );
    refused(&servers, &[], "an acknowledged commit may be lost: of 2 replicas 1 answer");
    let error = servers[1].sql_error("INSERT INTO d.t VALUES (0)");
    assert!(error.contains("1290"), "{error}");
    let said = done_with_warnings(&servers, &["--accept-loss"]);
    assert!(said.contains("accepted: of 2 replicas"), "{said}");
    servers[1].sql("INSERT INTO d.t VALUES (40)");
}

#[test]
fn a_replica_that_does_not_catch_up_leaves_things_as_they_were() {
    let servers = group(1);
    // Its applier waits for a lock.
    let mut holder = servers[1].connect();
    holder.query("SET GLOBAL super_read_only = OFF").unwrap();
    holder.query("LOCK TABLES d.t READ").unwrap();
    servers[0].sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF; INSERT INTO d.t VALUES (50)");
    refused(&servers, &["--wait=1", ACCOUNT[0]], "Nothing was promoted; 127.0.0.1");
    servers[0].sql("INSERT INTO d.t VALUES (51)");
    drop(holder);
    servers[1].sql("SET GLOBAL super_read_only = ON");
    done(&servers, &[ACCOUNT[0]]);
    check_source(&servers[1], &[&servers[0]], 52);
}

#[test]
fn what_a_replica_has_done_on_its_own_is_skipped_by_the_others() {
    let servers = group(2);
    servers[1].sql("SET GLOBAL super_read_only = OFF; CREATE DATABASE own; SET GLOBAL super_read_only = ON");
    let to = format!("--to=127.0.0.1:{}", servers[1].port);
    refused(&servers, &[&to, ACCOUNT[0]], "on its own, which its replicas would fetch");
    done(&servers, &[&to, ACCOUNT[0], "--skip-own-transactions"]);
    check_source(&servers[1], &[&servers[0], &servers[2]], 60);
    assert_eq!(servers[2].sql("SHOW DATABASES LIKE 'own'").trim(), "");
}

/// It may take writes: the others must not.
#[test]
fn a_source_that_refuses_the_login_is_not_lost() {
    let servers = group(1);
    servers[0].sql("CREATE USER admin IDENTIFIED BY 'secret'");
    let wrong = format!("mysql://admin:wrong@127.0.0.1:{}", servers[0].port);
    let replica = format!("127.0.0.1:{}", servers[1].port);
    servers[1].sql("STOP REPLICA IO_THREAD");
    let (status, out, err) = run(&["failover", &wrong, &replica]);
    assert!(status.code() == Some(3) && err.contains("That server runs: mend the login first"), "{out}{err}");
}

/// They may be committed on a server that refuses writes.
#[test]
fn prepared_branches_are_ended_first() {
    let servers = group(1);
    let mut session = servers[0].connect();
    for sql in ["XA START 'x'", "INSERT INTO d.t VALUES (70)", "XA END 'x'", "XA PREPARE 'x'"] {
        session.query(sql).unwrap();
    }
    refused(&servers, &[ACCOUNT[0]], "has 1 prepared XA transactions");
    session.query("XA COMMIT 'x'").unwrap();
    done(&servers, &[ACCOUNT[0]]);
    check_source(&servers[1], &[&servers[0]], 71);
}

#[test]
fn two_failovers_exclude_each_other() {
    let servers = group(1);
    let mut holder = servers[1].connect();
    holder.query("SELECT GET_LOCK('duramen failover', 0)").unwrap();
    refused(&servers, &[], "is being changed by another failover");
    let id = holder.query("SELECT CONNECTION_ID()").unwrap().rows[0][0].clone().unwrap();
    let id = String::from_utf8(id).unwrap();
    refused(&servers, &[], &format!("connection {id} of root@"));
}

/// Any account could keep a failover from beginning.
#[test]
fn the_lock_of_failovers_is_for_those_who_may_change_sources() {
    let server = common::start(&[]);
    server.sql("CREATE USER u, repl; GRANT REPLICATION_SLAVE_ADMIN ON *.* TO repl");
    let of = |user: &'static [u8]| server.connect_as(&ConnectOptions { user, ..ConnectOptions::default() });
    let mut other = of(b"u");
    for name in ["duramen failover", "DURAMEN x"] {
        let refused = other.query(format!("SELECT GET_LOCK('{name}', 0)")).unwrap_err();
        assert_eq!(refused.number(), Some(1227), "{refused}");
    }
    // Nothing else is reserved, and looking is for all.
    other.query("SELECT GET_LOCK('duramen', 0), IS_FREE_LOCK('duramen failover')").unwrap();
    of(b"repl").query("SELECT GET_LOCK('duramen failover', 0)").unwrap();
}

/// A server that takes a connection and says nothing, as a frozen one does, is asked for seconds
/// alone.
#[test]
fn a_server_that_hangs_counts_as_one_that_does_not_answer() {
    let servers = group(1);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let begun = common::now();
    let names = [named(&servers), vec![silent.to_string()]].concat();
    let mut args = vec!["failover"];
    args.extend(names.iter().map(String::as_str));
    args.push("--dry-run");
    let (_, out, err) = run(&args);
    assert!((out.clone() + &err).contains(&format!("{silent} does not answer")), "{out}{err}");
    assert!(common::now() - begun < Duration::from_secs(20), "it waited too long");
}
