//! Programs that change which server is the source, or that go by who it is: Orchestrator,
//! ProxySQL's monitor, MySQL Router; and gh-ost, which reads the log and swaps tables.
//!
//! `failover_tools/` has the statements of each, recorded, with what it reads of the answers. They
//! are replayed here at two Duramens, and at two MySQLs where `DURAMEN_MYSQLD` names a server of
//! version 9.7, so that what is expected is what MySQL does. `DURAMEN_GH_OST` and
//! `DURAMEN_ORCHESTRATOR` name the programs themselves. Where there is none a test says so and has
//! shown nothing.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::now;
use common::recorded::{Pair, connect_as_root, follow, let_replicas_in, start};
use protocol::client::Client;
use servers::{Running, ServerKind, free_port};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::tempdir;

const PATIENCE: Duration = Duration::from_secs(60);

const GH_OST: &str = include_str!("failover_tools/gh-ost.txt");
const MYSQL_ROUTER: &str = include_str!("failover_tools/mysql-router.txt");
const ORCHESTRATOR: &str = include_str!("failover_tools/orchestrator.txt");
const PROXYSQL: &str = include_str!("failover_tools/proxysql.txt");

fn check(kind: ServerKind, text: &str) {
    let folder = tempdir().unwrap();
    let complaints = Pair::start(kind, folder.path()).replay(text);
    assert!(complaints.is_empty(), "{kind:?}:\n{}", complaints.join("\n"));
}

#[test]
fn orchestrator_statements() {
    check(ServerKind::Duramen, ORCHESTRATOR);
}

#[test]
fn proxysql_statements() {
    check(ServerKind::Duramen, PROXYSQL);
}

#[test]
fn gh_ost_statements() {
    check(ServerKind::Duramen, GH_OST);
}

#[test]
fn mysql_router_statements() {
    check(ServerKind::Duramen, MYSQL_ROUTER);
}

#[test]
fn mysql_answers_as_the_records_say() {
    if let Err(reason) = servers::mysqld() {
        assert!(std::env::var_os("DURAMEN_MYSQLD").is_none(), "{reason}");
        return not_tested(&reason.to_string());
    }
    for text in [ORCHESTRATOR, PROXYSQL, GH_OST, MYSQL_ROUTER] {
        check(ServerKind::MySql, text);
    }
}

#[test]
fn each_kind_of_expectation_can_fail() {
    const WRONG: [&str; 11] = [
        "source/root> SELECT 1\n= ok",
        "source/root> SELECT 1\n= error 1193",
        "source/root> SELECT 1\n= no rows",
        "source/root> SELECT 1 AS a\n= columns b",
        "source/root> SELECT 1\n= row 1\n= row 1",
        "source/root> SELECT 1, 2\n= row 1",
        "source/root> SELECT 'abc'\n= row a*d",
        "source/root> SHOW REPLICAS\n= has 3 | *",
        "source/root> SELECT NULL AS a\n= a: *",
        "source/root> DO 1\n= changed 1",
        "source/root> SELECT @@no_such_variable",
    ];
    let folder = tempdir().unwrap();
    let pair = Pair::start(ServerKind::Duramen, folder.path());
    for wrong in WRONG {
        assert_eq!(pair.replay(wrong).len(), 1, "{wrong}");
    }
}

/// A program that an environment variable names.
fn program(variable: &str) -> Option<PathBuf> {
    let program = std::env::var_os(variable).map(PathBuf::from);
    if program.is_none() {
        not_tested(&format!("{variable} names no program"));
    }
    program
}

fn not_tested(reason: &str) {
    println!("NOT TESTED: {reason}");
    eprintln!("NOT TESTED: {reason}");
}

/// A client that inserts one number after the other, until it is stopped or refused.
struct Load {
    stop: Arc<AtomicBool>,
    /// The numbers whose commits were acknowledged end before this one.
    thread: JoinHandle<u32>,
}

impl Load {
    fn start(server: &Running, table: &'static str, first: u32) -> Load {
        let mut client = connect_as_root(server).unwrap();
        let stop = Arc::<AtomicBool>::default();
        let is_stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut next = first;
            while !is_stopped.load(Relaxed)
                && client.query(format!("INSERT INTO {table} (id, a) VALUES ({next}, 1)")).is_ok()
            {
                // A row that is changed and one that is removed, of those that were there before.
                let _ = client.query(format!("UPDATE {table} SET a = a + 1 WHERE id = {}", next / 2));
                next += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            next
        });
        Load { stop, thread }
    }

    fn end(self) -> u32 {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap()
    }
}

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = now();
    while !holds() {
        assert!(now() - begun < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn one(server: &Running, sql: &str) -> String {
    server.sql(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).trim().to_owned()
}

fn is_writable(server: &Running) -> bool {
    one(server, "SELECT @@read_only, @@super_read_only") == "0\t0"
}

const ROWS: u32 = 3000;

fn fill(server: &Running, table: &str) {
    let mut client: Client = connect_as_root(server).unwrap();
    for from in (1..=ROWS).step_by(500) {
        let rows: Vec<String> = (from..from + 500).map(|n| format!("({n}, {n})")).collect();
        client.query(format!("INSERT INTO {table} (id, a) VALUES {}", rows.join(","))).unwrap();
    }
}

#[test]
fn gh_ost_migrates_a_table_under_load() {
    let Some(program) = program("DURAMEN_GH_OST") else { return };
    let folder = tempdir().unwrap();
    let pair = Pair::start(ServerKind::Duramen, folder.path());
    let set_up = "CREATE DATABASE d; CREATE TABLE d.big (id INT PRIMARY KEY, a INT, KEY (a));
         CREATE USER ghost@'%' IDENTIFIED BY 'ghost'; GRANT ALL ON d.* TO ghost@'%';
         GRANT SUPER, REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO ghost@'%';
         GRANT SELECT ON performance_schema.* TO ghost@'%'";
    pair.source().sql(set_up).unwrap();
    fill(pair.source(), "d.big");
    let runs: [(&Running, &str, &[&str]); 5] = [
        (pair.source(), "ADD COLUMN c INT NOT NULL DEFAULT 7, ADD KEY (c)", &["--allow-on-master"]),
        (
            pair.source(),
            "MODIFY a BIGINT",
            &["--allow-on-master", "--cut-over=two-step", "--panic-on-warnings"],
        ),
        (pair.replica(), "DROP KEY c, ADD COLUMN d VARCHAR(20)", &["--checkpoint", "--exact-rowcount"]),
        (pair.replica(), "DROP COLUMN c", &["--gtid"]),
        (pair.replica(), "ADD COLUMN e INT", &["--test-on-replica"]),
    ];
    let mut next = ROWS + 1;
    for (server, alter, options) in runs {
        let is_test = options.contains(&"--test-on-replica");
        if is_test {
            pair.replica().sql("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF").unwrap();
        }
        let load = Load::start(pair.source(), "d.big", next);
        let output = Command::new(&program)
            .args(["--host=127.0.0.1", "--user=ghost", "--password=ghost", "--database=d", "--table=big"])
            .args(["--chunk-size=500", "--ok-to-drop-table", "--initially-drop-ghost-table", "--execute"])
            .arg(format!("--port={}", server.port()))
            .arg(format!("--alter={alter}"))
            .arg(format!("--serve-socket-file={}", folder.path().join("gh-ost.sock").display()))
            .arg("--initially-drop-socket-file")
            .args(options)
            .output()
            .unwrap();
        next = load.end();
        let told = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{options:?}: {told}");
        const SUM: &str = "SELECT COUNT(*), SUM(CRC32(CONCAT(id, ',', a))) FROM";
        if is_test {
            // It has stopped replication, and left both tables for a comparison.
            let sum = |table: &str| one(pair.replica(), &format!("{SUM} d.{table}"));
            assert_eq!(sum("big"), sum("_big_gho"));
            pair.replica().sql("DROP TABLE d._big_gho; START REPLICA").unwrap();
        }
        let sum = one(pair.source(), &format!("{SUM} d.big"));
        assert!(sum.starts_with(&format!("{}\t", next - 1)), "{options:?}: {sum}, not {}", next - 1);
        await_that("the replica has the same rows", || one(pair.replica(), &format!("{SUM} d.big")) == sum);
    }
    let tables = one(pair.source(), "SHOW TABLES FROM d");
    assert_eq!(tables, "big");
    let columns = "SELECT GROUP_CONCAT(column_name, ' ', data_type ORDER BY ordinal_position)
         FROM information_schema.columns WHERE table_schema = 'd'";
    assert_eq!(one(pair.replica(), columns), "id int,a bigint,d varchar");
}

/// Orchestrator's server, with a database of its own in a file.
struct Orchestrator {
    process: Child,
    port: u16,
}

impl Orchestrator {
    fn start(program: &Path, folder: &Path) -> Orchestrator {
        let port = free_port().unwrap();
        let settings = serde_json::json!({
            "ListenAddress": format!("127.0.0.1:{port}"),
            "BackendDB": "sqlite",
            "SQLite3DataFile": folder.join("orchestrator.sqlite3"),
            "MySQLTopologyUser": "orchestrator",
            "MySQLTopologyPassword": "orchestrator",
            "HostnameResolveMethod": "none",
            "MySQLHostnameResolveMethod": "none",
            "DiscoverByShowSlaveHosts": true,
            "InstancePollSeconds": 1,
            "UseSuperReadOnly": true,
            "DetectSemiSyncEnforcedQuery": "SELECT 1",
            "ReplicationCredentialsQuery": "SELECT user, password FROM meta.replication_credentials",
            "RecoverMasterClusterFilters": ["*"],
            "RecoveryPeriodBlockSeconds": 1,
            "DelayMasterPromotionIfSQLThreadNotUpToDate": true,
        });
        let file = folder.join("orchestrator.conf.json");
        fs::write(&file, settings.to_string()).unwrap();
        let log = fs::File::create(folder.join("orchestrator.log")).unwrap();
        let process = Command::new(program)
            .arg(format!("--config={}", file.display()))
            .args(["--debug", "http"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let orchestrator = Orchestrator { process, port };
        await_that("Orchestrator listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        orchestrator
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /api/{path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Orchestrator {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the source has acknowledged is at another server: the rows from `first` to before `next`.
/// The one behind them may be there, too: its client has got no answer.
fn check_acknowledged(server: &Running, first: u32, next: u32) {
    let sql = format!("SELECT COUNT(*) FROM d.t WHERE id >= {first} AND id < {next}");
    assert_eq!(one(server, &sql), (next - first).to_string());
}

#[test]
fn orchestrator_takes_over_and_recovers() {
    let Some(program) = program("DURAMEN_ORCHESTRATOR") else { return };
    let folder = tempdir().unwrap();
    let mut servers: Vec<Running> =
        (1..=3).map(|id| start(ServerKind::Duramen, &folder.path().join(id.to_string()), id)).collect();
    let_replicas_in(&servers[0]);
    let semi_sync = "SET GLOBAL rpl_semi_sync_replica_enabled = ON,
         GLOBAL rpl_semi_sync_source_timeout = 4294967295";
    for server in &servers {
        server.sql(semi_sync).unwrap();
    }
    follow(&servers[1], &servers[0]);
    follow(&servers[2], &servers[0]);
    let set_up = "SET GLOBAL rpl_semi_sync_source_enabled = ON;
         CREATE USER orchestrator@'%' IDENTIFIED BY 'orchestrator';
         GRANT SUPER, PROCESS, REPLICATION SLAVE, REPLICATION CLIENT, RELOAD ON *.* TO orchestrator@'%';
         GRANT SELECT ON performance_schema.* TO orchestrator@'%'; GRANT SELECT ON meta.* TO orchestrator@'%';
         CREATE DATABASE meta;
         CREATE TABLE meta.replication_credentials (user VARCHAR(32) PRIMARY KEY, password VARCHAR(32));
         INSERT INTO meta.replication_credentials VALUES ('repl', 'repl');
         CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT)";
    servers[0].sql(set_up).unwrap();
    let all = one(&servers[0], "SELECT @@gtid_executed");
    for replica in &servers[1..] {
        await_that("the replicas have the accounts", || one(replica, "SELECT @@gtid_executed") == all);
    }

    let orchestrator = Orchestrator::start(&program, folder.path());
    let name = |server: &Running| format!("127.0.0.1:{}", server.port());
    let source = name(&servers[0]);
    await_that("the source is discovered", || {
        let path = format!("discover/{}", source.replace(':', "/"));
        orchestrator.get(&path).contains("Instance discovered")
    });
    let followers = |of: &str, count: usize| {
        let topology = orchestrator.get(&format!("topology/{of}"));
        topology.contains("semi:master") && topology.matches("semi:replica").count() == count
    };
    await_that("both replicas are discovered", || followers(&source, 2));

    // Planned: the first replica is the source next, and the source follows it.
    let load = Load::start(&servers[0], "d.t", 1);
    let next_source = name(&servers[1]);
    let path = format!("graceful-master-takeover-auto/{source}/{}", next_source.replace(':', "/"));
    let answer = orchestrator.get(&path);
    assert!(answer.contains("successor promoted"), "{answer}");
    let next = load.end();
    assert!(is_writable(&servers[1]) && !is_writable(&servers[0]) && !is_writable(&servers[2]));
    check_acknowledged(&servers[1], 1, next);
    await_that("both others follow", || followers(&next_source, 2));

    // The new source is lost: one of the others is promoted without being asked.
    let first = next + 1;
    let load = Load::start(&servers[1], "d.t", first);
    std::thread::sleep(Duration::from_secs(1));
    servers[1].kill().unwrap();
    let next = load.end();
    let promoted = |servers: &[Running]| [0, 2].into_iter().find(|at| is_writable(&servers[*at]));
    await_that("another one is promoted", || promoted(&servers).is_some());
    let promoted = promoted(&servers).unwrap();
    let other = 2 - promoted;
    check_acknowledged(&servers[promoted], 1, first - 1);
    check_acknowledged(&servers[promoted], first, next);
    let port = "SELECT port FROM performance_schema.replication_connection_configuration";
    await_that("the last one follows", || one(&servers[other], port) == servers[promoted].port().to_string());
    servers[promoted].sql("INSERT INTO d.t VALUES (0, 0)").unwrap();
    await_that("it has what is written now", || one(&servers[other], "SELECT MIN(id) FROM d.t") == "0");
    assert!(!is_writable(&servers[other]));
}
