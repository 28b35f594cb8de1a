//! Change-data readers of four languages following the real server: each follows all column types,
//! changes, definitions, failed and large transactions, and the log's rotations, concurrently with
//! sysbench, goes on from its stored position after it was away and after the server was killed,
//! and at the end has every table as the source has it. `cargo xtask readers` fetches the readers;
//! without them these tests fail and say so.
#![allow(clippy::unwrap_used)]

use followers::readers::{Follower, Reader, ResumeBy, tables};
use followers::{Result, await_that, connect};
use servers::{Launch, Running, ServerKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Where `cargo xtask readers` puts what it fetches and builds.
fn fetched(path: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers").join(path);
    assert!(path.exists(), "{} is missing: run `cargo xtask readers`", path.display());
    path.to_string_lossy().into_owned()
}

fn source_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("readers").join(path)
}

fn program(path: &str) -> String {
    source_file(path).to_string_lossy().into_owned()
}

/// How a DECIMAL within a JSON document is shown: as a text, by each in its own way.
const DECIMAL_IN_JSON: &str = r#"{"name": null, "price": 12.50}"#;

/// Small commits that go on concurrently with everything else, until they are stopped or the server
/// is gone.
struct Load(Child);

impl Load {
    fn start(source: &Running) -> Result<Self> {
        let sysbench = |task: &str| {
            let mut command = source.address().sysbench();
            command.args(["oltp_read_write", "--mysql-db=sbtest", "--tables=2", "--table-size=500"]);
            command.args(["--threads=2", "--time=600", "--rate=40", "--skip-trx=off", task]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        source.sql("CREATE DATABASE sbtest")?;
        if !sysbench("prepare").status()?.success() {
            return Err("sysbench prepare failed".into());
        }
        Ok(Self(sysbench("run").spawn()?))
    }

    fn stop(&mut self) -> Result<()> {
        // One that has ended with its server needs no end.
        let _ = self.0.kill();
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn script(source: &Running, name: &str) {
    let text = std::fs::read_to_string(source_file("workload").join(name)).unwrap();
    source.sql(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn mark(source: &Running, number: u32) -> u32 {
    source.sql(&format!("INSERT INTO cdc.marks VALUES ({number})")).unwrap();
    number
}

fn check(source: &Running, follower: &Follower<'_>, reader: &Reader, schemas: &[&str]) {
    let mut conn = connect(source.address()).unwrap();
    let differences = tables::differences(&mut conn, schemas, &follower.out(), reader).unwrap();
    assert!(differences.is_empty(), "{}:\n{}", reader.name, differences.join("\n"));
}

/// Waits until a reader is sent the log.
fn await_dump(source: &Running) {
    await_that("the reader follows", Duration::from_secs(60), || {
        Ok(source.sql("SHOW PROCESSLIST")?.contains("Binlog Dump"))
    })
    .unwrap();
}

/// When a reader begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// With an empty schema.
    Empty,
    /// With tables that were filled before, which it reads by itself.
    Filled,
}

fn follow(reader: &Reader, begin: Begin, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    // Transactions of a megabyte take the way of large ones.
    let launch =
        Launch::new(ServerKind::Duramen, folder.path()).unwrap().arg("--binlog-large-commit-threshold=1M");
    let launch = options.iter().fold(launch, |launch, option| launch.arg(*option));
    let mut source = launch.start().unwrap();
    source
        .sql(
            "CREATE USER reader IDENTIFIED BY 'secret';
             GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader",
        )
        .unwrap();
    let follower = Follower::new(reader, &source, folder.path()).unwrap();
    let mut load = Load::start(&source).unwrap();

    // It follows while things happen.
    let run = || follower.run(&source, ResumeBy::Position, None, 1).unwrap();
    let happen = || {
        script(&source, "1-all-types.sql");
        script(&source, "2-changes.sql");
    };
    let run = match begin {
        Begin::Empty => {
            let run = run();
            await_dump(&source);
            happen();
            run
        }
        Begin::Filled => {
            happen();
            let run = run();
            await_dump(&source);
            run
        }
    };
    mark(&source, 1);
    follower.await_end(run).unwrap();
    check(&source, &follower, reader, &["cdc"]);

    // Things happen while it is away; then it goes on from its position.
    script(&source, "3-definitions.sql");
    let run = follower.run(&source, ResumeBy::Position, None, mark(&source, 2)).unwrap();
    follower.await_end(run).unwrap();
    check(&source, &follower, reader, &["cdc"]);

    // The server is killed under load, and starts again; the reader goes on from its GTIDs, over
    // TLS.
    source.kill().unwrap();
    load.stop().unwrap();
    let source = source.restart().unwrap();
    script(&source, "4-after-a-kill.sql");
    let ca = folder.path().join("duramen/data/ca.pem");
    let run = follower.run(&source, ResumeBy::Gtid, Some(&ca), mark(&source, 3)).unwrap();
    follower.await_end(run).unwrap();
    check(&source, &follower, reader, &["cdc", "sbtest"]);
}

fn reader(name: &'static str, command: Vec<String>, server_id: u32) -> Reader {
    let (variables, differences, misses) = (Vec::new(), Vec::new(), Vec::new());
    Reader { name, command, variables, server_id, differences, misses }
}

#[test]
fn python_mysql_replication() {
    let command = vec!["/usr/bin/python3".into(), "-B".into(), program("python/reader.py")];
    let mut reader = reader("python-mysql-replication", command, 901);
    reader.variables = vec![("PYTHONPATH".into(), fetched("python"))];
    reader.differences = vec![
        // It has no words for dates that Python has not, nor for a YEAR of zero.
        ("day", "0000-00-00", "?"),
        ("day", "2024-00-00", "?"),
        ("moment", "0000-00-00 00:00:00", "?"),
        ("moment", "2024-02-00 01:02:03", "?"),
        ("moment3", "0000-00-00 00:00:00.000", "?"),
        ("moment3", "2024-00-10 00:00:00.250", "?"),
        ("stamp", "0000-00-00 00:00:00", "1970-01-01 00:00:00"),
        ("born", "0", "1900"),
        ("document", DECIMAL_IN_JSON, r#"{"name": null, "price": "12.50"}"#),
        // A JSON null is a NULL to it.
        ("document", "null", "NULL"),
        // Fractions of negative times are turned about.
        ("at1", "-838:59:58.9", "-838:59:58.1"),
        ("at3", "-838:59:58.999", "-838:59:58.001"),
        ("at6", "-838:59:58.999999", "-838:59:58.000001"),
        ("at1", "-00:00:00.1", "-00:00:00.9"),
        ("at3", "-00:00:00.001", "-00:00:00.999"),
        ("at6", "-00:00:00.000001", "-00:00:00.999999"),
    ];
    follow(&reader, Begin::Empty, &[]);
}

#[test]
fn go_mysql_canal() {
    let mut reader = reader("go-mysql's canal", vec![fetched("go/reader"), "canal".into()], 902);
    // It splits ENUM definitions at commas, wherever they are.
    reader.differences = vec![
        ("document", DECIMAL_IN_JSON, r#"{"name":null,"price":"12.5"}"#),
        ("choice", "three, four", "three"),
    ];
    // Rows of a table that got another name before they were read have no definition any more.
    reader.misses = vec!["cdc.renamed"];
    // It reads definitions from the server, and needs none in the events.
    follow(&reader, Begin::Empty, &["--binlog-row-metadata=MINIMAL"]);
}

fn syncer(server_id: u32) -> Reader {
    let mut reader = reader("go-mysql's syncer", vec![fetched("go/reader"), "syncer".into()], server_id);
    reader.differences = vec![("document", DECIMAL_IN_JSON, r#"{"name":null,"price":"12.5"}"#)];
    reader
}

#[test]
fn go_mysql_syncer() {
    follow(&syncer(903), Begin::Empty, &[]);
}

#[test]
fn go_mysql_syncer_of_compressed_transactions() {
    let mut reader = syncer(907);
    reader.differences.push(("document", DECIMAL_IN_JSON, r#"{"name":null,"price":"12.50"}"#));
    follow(&reader, Begin::Empty, &["--binlog-transaction-compression=ON"]);
}

#[test]
fn zongji() {
    let mut reader = reader("zongji", vec!["node".into(), program("node/reader.js")], 904);
    reader.variables = vec![("READER_MODULES".into(), fetched("node"))];
    reader.differences =
        vec![("document", DECIMAL_IN_JSON, r#"{"name": null, "price": "12.50"}"#), ("born", "0", "1900")];
    follow(&reader, Begin::Empty, &[]);
}

/// Debezium with the settings that its users have who set none. It takes a snapshot first, then
/// follows.
fn debezium(server_id: u32) -> Reader {
    let libraries = format!("{}/*", fetched("java"));
    // A run is too short for the second compiler and the other collectors to pay.
    let quick = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"].map(str::to_owned);
    let command = [&quick[..], &[libraries, program("java/Reader.java")]].concat();
    let mut reader = reader("Debezium", command, server_id);
    reader.differences = vec![
        // Large numbers are Java's, and dates that Java has not are NULL.
        ("ubig", "18446744073709551615", "-1"),
        ("ubig", "9223372036854775808", "-9223372036854775808"),
        ("day", "0000-00-00", "NULL"),
        ("day", "2024-00-00", "NULL"),
        ("moment", "0000-00-00 00:00:00", "NULL"),
        ("moment", "2024-02-00 01:02:03", "NULL"),
        ("moment3", "0000-00-00 00:00:00.000", "NULL"),
        ("moment3", "2024-00-10 00:00:00.250", "NULL"),
        ("stamp", "0000-00-00 00:00:00", "NULL"),
        ("born", "0", "1900"),
        ("choice", "three, four", r"three\, four"),
    ];
    reader
}

#[test]
fn debezium_from_the_start() {
    let mut reader = debezium(905);
    // A column that was declared BOOLEAN is one.
    reader.differences.push(("flag", "5", "1"));
    follow(&reader, Begin::Empty, &[]);
}

#[test]
fn debezium_from_a_snapshot() {
    let mut reader = debezium(906);
    // A snapshot is read by Connector/J: a FLOAT has the digits that servers print.
    reader.differences.extend([("born", "0", "2000"), ("single", "3.4028234663852886e38", "3.40282E38")]);
    // It reads definitions from the server, which then has to show it the row id of a table without
    // a primary key, too; and needs none in the events. Compressed transactions it expands.
    let options = [
        "--sql-generate-invisible-primary-key=ON",
        "--binlog-row-metadata=MINIMAL",
        "--binlog-transaction-compression=ON",
    ];
    follow(&reader, Begin::Filled, &options);
}
