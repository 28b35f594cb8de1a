//! Asynchronous connection failover: a replica whose source is lost goes on with another one of its
//! channel's list, and back when the better one is there again.
#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use common::replication::{await_answer, follow, server};
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

/// How long a replica may take for what it is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

fn add_source(replica: &Server, source: &Server, weight: u8) {
    let add = "SELECT asynchronous_connection_failover_add_source";
    replica.sql(&format!("{add}('', '127.0.0.1', {}, '', {weight})", source.port));
}

fn await_rows(replica: &Server, wanted: &str) {
    const TABLES: &str = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'";
    await_answer(replica, TABLES, "1");
    await_answer(replica, "SELECT GROUP_CONCAT(a ORDER BY a) FROM d.t", wanted);
}

/// Where the receiver gets its events from.
fn port(replica: &Server) -> u16 {
    let sql = "SELECT port FROM performance_schema.replication_connection_configuration";
    replica.sql(sql).trim().parse().unwrap()
}

fn receiver_state(replica: &Server) -> String {
    let sql = "SELECT service_state FROM performance_schema.replication_connection_status";
    replica.sql(sql).trim().to_owned()
}

/// A source, another server that follows it, and a replica that may go from one to the other.
fn three() -> [Server; 3] {
    let [first, second, replica] = [1, 2, 3].map(server);
    first.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)");
    follow(&second, &first, "");
    second.sql("START REPLICA");
    await_rows(&second, "1");
    add_source(&replica, &first, 90);
    add_source(&replica, &second, 50);
    follow(&replica, &first, ", SOURCE_CONNECTION_AUTO_FAILOVER = 1");
    replica.sql("START REPLICA");
    await_rows(&replica, "1");
    [first, second, replica]
}

/// The operator's part when a source is lost.
fn promote(server: &Server) {
    server.sql("STOP REPLICA; RESET REPLICA ALL");
}

#[test]
fn a_replica_goes_to_another_source_and_back_to_the_one_of_the_highest_weight() {
    let [first, second, replica] = three();
    let (first_port, second_port) = (first.port, second.port);
    first.kill();
    promote(&second);
    second.sql("INSERT INTO d.t VALUES (2)");
    await_rows(&replica, "1,2");
    assert_eq!(port(&replica), second_port);
    replica.await_message(&format!("is replaced by 127.0.0.1:{second_port}"));

    // It is in the file: the next start goes on where this one was.
    let replica = replica.crash_and_restart(&["--server-id=3"]);
    second.sql("INSERT INTO d.t VALUES (3)");
    await_rows(&replica, "1,2,3");
    assert_eq!(port(&replica), second_port);
    let first = first.crash_and_restart(&["--server-id=1", &format!("--port={first_port}")]);
    let sql = "SELECT port FROM performance_schema.replication_connection_configuration";
    await_answer(&replica, sql, &first_port.to_string());
    first.sql("INSERT INTO d.t VALUES (4)");
    await_rows(&replica, "1,2,3,4");
    assert!(replica.terminate().0.success());
}

/// The other source may never have had it.
#[test]
fn what_was_received_of_a_lost_source_is_applied() {
    let [first, second, replica] = three();
    promote(&second);
    let mut locker = replica.connect();
    locker.query("LOCK TABLES d.t WRITE").unwrap();
    first.sql("INSERT INTO d.t VALUES (2); INSERT INTO d.t VALUES (3)");
    let received = "SELECT received_transaction_set FROM performance_schema.replication_connection_status";
    let all = first.sql("SELECT @@gtid_executed");
    await_answer(&replica, received, all.trim());
    first.kill();
    replica.await_message("This was attempt 2/2");
    second.sql("INSERT INTO d.t VALUES (4)");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(port(&replica), first.port, "it waits for its applier");
    locker.query("UNLOCK TABLES").unwrap();
    await_rows(&replica, "1,2,3,4");
    assert_eq!(port(&replica), second.port);
}

#[test]
fn sources_are_tried_in_turn_until_one_is_there_or_the_replica_is_stopped() {
    let [first, second, replica] = three();
    let (first_port, second_port) = (first.port, second.port);
    first.kill();
    second.kill();
    for (of, to) in [(first_port, second_port), (second_port, first_port)] {
        replica.await_message(&format!("the source 127.0.0.1:{of} is replaced by 127.0.0.1:{to}"));
    }
    assert_eq!(receiver_state(&replica), "CONNECTING");
    let refused = replica.sql_error("SELECT asynchronous_connection_failover_reset()");
    assert!(refused.contains("1123") && refused.contains("are running"), "{refused}");
    replica.sql("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 600; START REPLICA");
    replica.await_message("with a delay of 600 seconds");
    let begun = common::now();
    replica.sql("STOP REPLICA");
    assert!(common::now() - begun < PATIENCE, "{:?}", common::now() - begun);

    replica.sql("SELECT asynchronous_connection_failover_reset()");
    replica.sql("CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 1; START REPLICA");
    let sql = "SELECT service_state, last_error_number, last_error_message LIKE '%attempt 2/2%'
               FROM performance_schema.replication_connection_status";
    await_answer(&replica, sql, "OFF\t2003\t1");
}

/// `replica_net_timeout` bounded each wait: a source that sent a byte now and then was never lost.
#[test]
fn a_source_that_never_ends_the_login_is_lost() {
    let source = server(1);
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || {
                let mut socket = socket.unwrap();
                // The header of a long greeting, and the greeting.
                while socket.write_all(&[10]).is_ok() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
        }
    });
    let replica = server(2);
    replica.sql("SET GLOBAL replica_net_timeout = 2");
    add_source(&replica, &source, 50);
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {slow}, SOURCE_USER = 'root',
         SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 1, SOURCE_CONNECTION_AUTO_FAILOVER = 1;
         START REPLICA"
    ));
    await_rows(&replica, "1");
}
