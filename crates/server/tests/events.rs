//! Events are run when they are due, with their definer's rights, and end when their schedule does.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::replication::await_answer;
use common::{Server, start};

/// Waits until the server's messages have a line with both.
fn await_logged(server: &Server, text: &str, error: &str) {
    server.await_message(text);
    let logged = server.messages();
    assert!(logged.iter().any(|line| line.contains(text) && line.contains(error)), "{logged:?}");
}

#[test]
fn events_run_and_end_as_their_schedules_say() {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, m VARCHAR(20), who VARCHAR(80), \
         zone VARCHAR(20)); USE d; SET time_zone = '+05:00'; \
         CREATE EVENT again ON SCHEDULE EVERY 1 SECOND DO INSERT INTO t (m) VALUES ('again'); \
         CREATE EVENT off ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO t (m) VALUES ('off'); \
         CREATE EVENT once ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 SECOND \
           DO INSERT INTO t (m, who, zone) VALUES ('once', CURRENT_USER(), @@time_zone); \
         CREATE EVENT kept ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 SECOND ON COMPLETION PRESERVE \
           DO INSERT INTO t (m) VALUES ('kept'); \
         CREATE EVENT short ON SCHEDULE EVERY 1 SECOND ENDS CURRENT_TIMESTAMP + INTERVAL 2 SECOND \
           DO INSERT INTO t (m) VALUES ('short')",
    );
    await_answer(&server, "SELECT COUNT(*) > 2 FROM d.t WHERE m = 'again'", "1");
    await_answer(&server, "SELECT GROUP_CONCAT(who, zone) FROM d.t WHERE m = 'once'", "root@localhost+05:00");
    let names = "SELECT GROUP_CONCAT(EVENT_NAME, ' ', STATUS ORDER BY 1) FROM information_schema.EVENTS";
    await_answer(&server, names, "again ENABLED,kept DISABLED,off DISABLED");
    await_answer(&server, "SELECT COUNT(*) FROM d.t WHERE m = 'kept'", "1");
    await_answer(&server, "SELECT COUNT(*) FROM d.t WHERE m = 'off'", "0");
    await_answer(&server, "SELECT COUNT(*) BETWEEN 2 AND 3 FROM d.t WHERE m = 'short'", "1");
    let last = "SELECT LAST_EXECUTED IS NOT NULL FROM information_schema.EVENTS WHERE EVENT_NAME = 'again'";
    await_answer(&server, last, "1");

    server.sql("SET GLOBAL event_scheduler = OFF");
    std::thread::sleep(Duration::from_millis(1200));
    let before = server.sql("SELECT COUNT(*) FROM d.t").trim().to_owned();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t").trim(), before);
    server.sql("SET GLOBAL event_scheduler = ON");
    await_answer(&server, &format!("SELECT COUNT(*) > {before} FROM d.t"), "1");
}

#[test]
fn a_transaction_that_an_event_leaves_open_is_committed() {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (m VARCHAR(20)); USE d;\nDELIMITER //\n\
         CREATE EVENT a ON SCHEDULE AT NOW() DO BEGIN START TRANSACTION; INSERT INTO t VALUES ('begun'); END//\n\
         CREATE EVENT b ON SCHEDULE AT NOW() DO BEGIN SET autocommit = 0; INSERT INTO t VALUES ('manual'); END//\n\
         CREATE EVENT c ON SCHEDULE AT NOW() DO BEGIN START TRANSACTION; INSERT INTO t VALUES ('signal'); \
           SIGNAL SQLSTATE '45000'; END//",
    );
    await_answer(&server, "SELECT GROUP_CONCAT(m ORDER BY m) FROM d.t", "begun,manual,signal");
}

#[test]
fn an_event_has_its_definers_rights_and_no_more() {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE d; CREATE DATABASE e; CREATE TABLE d.t (m VARCHAR(20)); CREATE TABLE e.t (m VARCHAR(20)); \
         CREATE USER u; GRANT EVENT, INSERT ON d.* TO u; \
         CREATE DEFINER = u EVENT d.good ON SCHEDULE EVERY 1 SECOND DO INSERT INTO d.t VALUES ('u'); \
         CREATE DEFINER = u EVENT d.bad ON SCHEDULE EVERY 1 SECOND DO INSERT INTO e.t VALUES ('u')",
    );
    await_answer(&server, "SELECT COUNT(*) > 1 FROM d.t", "1");
    await_logged(&server, "Event Scheduler: [u@%][d.bad]", "1142");
    await_answer(&server, "SELECT COUNT(*) FROM e.t", "0");
    server.sql("REVOKE EVENT ON d.* FROM u");
    await_logged(&server, "Event Scheduler: [u@%][d.good]", "1044");
}

#[test]
fn what_was_missed_once_is_made_up_for_and_a_stop_ends_what_runs() {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (m VARCHAR(20)); \
         CREATE EVENT d.soon ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 2 SECOND DO INSERT INTO d.t VALUES ('soon')",
    );
    let body =
        "BEGIN INSERT INTO d.t VALUES ('begun'); DO SLEEP(1000); INSERT INTO d.t VALUES ('ended'); END";
    let long = format!("CREATE EVENT d.l ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO {body}");
    server.connect().query(&long).unwrap();
    await_answer(&server, "SELECT COUNT(*) FROM d.t WHERE m = 'begun'", "1");
    let datadir = server.datadir().clone();
    server.terminate();
    std::thread::sleep(Duration::from_secs(2));
    let server = Server::start_in(&datadir, &["--event-scheduler=DISABLED"]);
    await_answer(&server, "SELECT COUNT(*) FROM d.t", "1");
    server.terminate();
    let server = Server::start_in(&datadir, &[]);
    await_answer(&server, "SELECT COUNT(*) FROM d.t WHERE m = 'soon'", "1");
    await_answer(&server, "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_NAME = 'soon'", "0");
}
