//! The real client programs against the real server: what they ask, what they read, how they end.
//! (The published workloads are in `workloads.rs`.)
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use protocol::client::Client;
use std::process::Command;
use std::time::Duration;

fn slap(server: &Server, args: &[&str]) {
    let output = server.client("mariadb-slap", args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{args:?}: {error}");
}

/// Runs `mariadb-binlog` over the wire or on a file, verifying checksums.
fn binlog(server: &Server, args: &[&str]) -> String {
    let output = server.client("mariadb-binlog", &[&["--verify-binlog-checksum"], args].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn slapping_with_small_log_files_takes_them_from_the_pool_and_every_file_reads_right() {
    let server = start(&["--max-binlog-size=64K", "--binlog-prealloc-num=10"]);
    server.sql(
        "create database zwx; create table zwx.xxx (a int auto_increment, b int, c varchar(100), primary key(a))",
    );
    let query = "--query=insert into xxx values (NULL, 2, 'sadasda ')";
    slap(
        &server,
        &["--create-schema=zwx", "--no-drop", query, "--number-of-queries=2000", "--concurrency=50"],
    );
    assert_eq!(server.sql("select count(*), max(a) from zwx.xxx"), "2000\t2000\n");
    let hits = server.sql("show global status like 'Duramen_prealloc_hits'");
    assert_ne!(hits, "Duramen_prealloc_hits\t0\n");
    let files = server.sql("show binary logs");
    assert!(files.lines().count() > 5, "{files}");
    let mut inserted = 0;
    for line in files.lines() {
        let name = line.split('\t').next().unwrap();
        let text = binlog(&server, &["--read-from-remote-server", "--verbose", name]);
        inserted += text.matches("### INSERT INTO `zwx`.`xxx`").count();
    }
    assert_eq!(inserted, 2000);
    let datadir = server.datadir().clone();
    let (status, messages) = server.terminate();
    assert!(status.success(), "{messages:#?}");
    for line in files.lines() {
        let name = line.split('\t').next().unwrap();
        let path = datadir.path().join(name);
        let read =
            Command::new("mariadb-binlog").arg("--verify-binlog-checksum").arg(&path).output().unwrap();
        assert!(read.status.success(), "{name}: {}", String::from_utf8_lossy(&read.stderr));
    }
}

/// Its end is kept in memory; in the file zeros follow, at which the program stops with a
/// complaint.
#[test]
fn the_file_being_written_reads_to_its_end_and_over_the_wire_without_complaint() {
    let server = start(&[]);
    server.sql("create database d; create table d.t (a int primary key); insert into d.t values (1), (2)");
    let path = server.file("binlog.000001");
    let read = Command::new("mariadb-binlog").arg("--verbose").arg(&path).output().unwrap();
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    assert_eq!(text.matches("### INSERT INTO `d`.`t`").count(), 2, "{text}");
    let complaint = String::from_utf8_lossy(&read.stderr);
    assert!(complaint.contains("read_log_event"), "{complaint}");

    let remote = ["--read-from-remote-server", "--verbose", "binlog.000001"];
    let output = server.client("mariadb-binlog", &remote);
    assert!(output.status.success() && !String::from_utf8_lossy(&output.stderr).contains("read_log_event"));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("### INSERT INTO `d`.`t`").count(), 2);
    // What follows a closed file is nothing.
    server.sql("flush binary logs");
    let read = Command::new("mariadb-binlog").arg(&path).output().unwrap();
    assert!(!String::from_utf8_lossy(&read.stderr).contains("read_log_event"), "{read:?}");
}

#[test]
fn the_log_over_the_wire_from_any_event_and_wrong_places_in_words() {
    let server = start(&[]);
    server.sql("create database d; create table d.t (a int primary key, b varchar(20)); insert into d.t values (1, 'one')");
    server.sql("update d.t set b = 'uno'; delete from d.t");
    let text = binlog(&server, &["--read-from-remote-server", "--verbose", "binlog.000001"]);
    for expected in
        ["### INSERT INTO `d`.`t`", "###   @2='one'", "### UPDATE `d`.`t`", "### DELETE FROM `d`.`t`"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let last = text.lines().filter_map(|l| l.strip_prefix("# at ")).next_back().unwrap().to_owned();
    let tail =
        binlog(&server, &["--read-from-remote-server", &format!("--start-position={last}"), "binlog.000001"]);
    assert!(tail.contains(&format!("# at {last}")));
    let refused = |args: &[&str]| {
        let output = server.client("mariadb-binlog", &[&["--read-from-remote-server"], args].concat());
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        refused(&["binlog.000099"]).contains("Could not find first log file name in binary log index file")
    );
    assert!(refused(&["--start-position=99999", "binlog.000001"]).contains("from position > file size"));
    assert!(refused(&["--start-position=100", "binlog.000001"]).contains("bogus data in log event"));
}

#[test]
fn a_waiting_reader_is_sent_what_is_committed_later_and_heartbeats_meanwhile() {
    let server = start(&[]);
    let mut reader = server.connect();
    reader.query("SET @source_binlog_checksum='CRC32', @source_heartbeat_period=50000000").unwrap();
    reader.send_command(b"\x12\x04\0\0\0\0\0\x07\0\0\0binlog.000001").unwrap();
    let mut next = || reader.read_packet().unwrap()[1 + 4];
    let (rotate, format, heartbeat, gtid) = (4, 15, 27, 33);
    assert_eq!([next(), next()], [rotate, format]);
    while next() != heartbeat {}
    server.sql("create database d");
    while next() != gtid {}
    drop(reader);
    let mut silent = server.connect();
    silent.query("SET @source_binlog_checksum='CRC32'").unwrap();
    silent.send_command(b"\x12\x04\0\0\0\0\0\x07\0\0\0binlog.000001").unwrap();
    silent.read_packet().unwrap();
    drop(silent);
    let begun = common::now();
    while server.sql("show processlist").lines().count() > 1 {
        assert!(common::now() - begun < Duration::from_secs(5), "readers that left are still listed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The id of a client's connection.
fn id(client: &mut Client) -> String {
    String::from_utf8(client.query("select connection_id()").unwrap().rows[0][0].clone().unwrap()).unwrap()
}

#[test]
fn kill_ends_a_statement_or_a_connection() {
    let server = start(&[]);
    let mut victim = server.connect();
    let victim_id = id(&mut victim);
    victim.send_query("select sleep(20)").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let listed = server.sql("show processlist");
    assert!(listed.lines().any(|l| l.starts_with(&victim_id) && l.contains("sleep(20)")), "{listed}");
    let begun = common::now();
    server.sql(&format!("kill query {victim_id}"));
    // A killed SLEEP answers 1, an interrupted statement error 1317.
    let _ = victim.next_result();
    assert!(common::now() - begun < Duration::from_secs(5));
    victim.query("select 1").unwrap();
    server.sql(&format!("kill {victim_id}"));
    assert!(victim.query("select 1").is_err());
    assert!(server.sql_error("kill 99999").contains("ERROR 1094"));
    // A session that kills itself gets the error first.
    for what in ["kill query", "kill"] {
        let mut own = server.connect();
        let own_id = id(&mut own);
        assert_eq!(own.query(format!("{what} {own_id}")).unwrap_err().number(), Some(1317));
        assert_eq!(own.query("select 1").is_ok(), what == "kill query");
    }
    server.check_well();
}

#[test]
fn idle_sessions_end_after_wait_timeout() {
    let server = start(&[]);
    let mut idle = server.connect();
    idle.query("set session wait_timeout=1").unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(idle.query("select 1").is_err());
    server.await_message("no command within the idle timeout");
}

#[test]
fn what_clients_and_drivers_ask_at_their_connect() {
    let server = start(&[]);
    let asked = "select @@version_comment limit 1; select @@session.auto_increment_increment, \
        @@character_set_client, @@character_set_connection, @@character_set_results, @@character_set_server, \
        @@collation_server, @@collation_connection, @@init_connect, @@interactive_timeout, @@license, \
        @@lower_case_table_names, @@max_allowed_packet, @@net_write_timeout, @@performance_schema, @@sql_mode, \
        @@system_time_zone, @@time_zone, @@transaction_isolation, @@wait_timeout; \
        set names utf8mb4; set autocommit=1; set sql_mode='STRICT_TRANS_TABLES'; \
        set session transaction isolation level read committed";
    server.sql(asked);
    let shown = server.sql("show variables like 'max_binlog%size'");
    assert!(shown.contains("max_binlog_size\t1073741824\n"), "{shown}");
    assert!(server.sql_error("set sync_binlog=1").contains("ERROR 1229"));
    assert!(server.sql_error("set global version='9'").contains("ERROR 1238"));
    assert!(server.sql_error("set global gtid_mode=off").contains("ERROR 1788"));
    assert!(server.sql_error("set global no_such=1").contains("ERROR 1193"));
    assert!(server.sql("show global status like 'Uptime'").starts_with("Uptime\t"));
    for command in ["status", "processlist", "variables", "extended-status", "flush-logs"] {
        let output = server.client("mariadb-admin", &[command]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn mariadb_admin_stops_the_server() {
    let server = start(&[]);
    let output = server.client("mariadb-admin", &["shutdown"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    server.await_message("[server] stopped");
}

#[test]
fn commands_that_are_no_statements() {
    let server = start(&[]);
    server.sql("create database d; create table d.t (alpha int primary key, beta varchar(9))");
    let mut client = server.connect();
    let own = id(&mut client);
    client.command(b"\x02d").unwrap();
    assert_eq!(client.query("select database()").unwrap().rows[0][0].as_deref(), Some(&b"d"[..]));
    // The session that made the table may take a moment to end.
    let alone = (0..500).find_map(|_| {
        client.send_command(b"\x09").unwrap();
        let line = String::from_utf8(client.read_packet().unwrap().to_vec()).unwrap();
        assert!(line.starts_with("Uptime: "), "{line}");
        std::thread::sleep(Duration::from_millis(10));
        line.contains("Threads: 1 ").then_some(())
    });
    assert!(alone.is_some(), "the other session never ended");
    client.send_command(b"\x04t\0%et%").unwrap();
    let column = client.read_packet().unwrap();
    assert!(column.windows(4).any(|w| w == b"beta"), "{column:?}");
    client.read_packet().unwrap();
    client.query("set @a = 1, autocommit = 0").unwrap();
    client.command(b"\x1f").unwrap();
    let after = client.query("select @a, @@autocommit").unwrap();
    assert_eq!(after.rows[0], [None, Some(b"1".to_vec())]);
    client.change_user(b"root", b"", b"d").unwrap();
    assert_eq!(id(&mut client), own);
    let listed = client.query("show processlist").unwrap();
    assert_eq!(listed.rows.len(), 1, "the connection is listed once, under its new session");
    assert!(client.change_user(b"root", b"wrong", b"").is_err());
    assert!(client.query("select 1").is_err(), "a refused change of user ends the connection");
}

#[test]
fn a_connection_over_tls() {
    let server = start(&[]);
    let output = server.client("mariadb", &["--ssl", "--skip-ssl-verify-server-cert", "-e", "status"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Cipher in use is TLS"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let strict = start(&["--require-secure-transport"]);
    let refused = strict.client("mariadb", &["--skip-ssl", "-e", "select 1"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("3159"));
}
