//! A dump that is taken while others commit, loaded into a replica that goes on from the dump's
//! position: it ends as its source. By a snapshot, without a lock for all, and with one for tools
//! that insist: `mariadb-dump`, `mydumper`, and MySQL's `mysqldump` where `DURAMEN_MYSQLDUMP` names
//! it (a command with its arguments, spaces between) and a MySQL is at hand.
#![allow(clippy::unwrap_used)]

use followers::mariadb::{self, Apply};
use followers::{connect, mysql_server};
use mysql::TxOpts;
use mysql::prelude::Queryable;
use servers::{Launch, Running, ServerKind};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use stdx::random::Random;

const SESSIONS: u64 = 6;
const ACCOUNTS: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(60);

fn source(folder: &Path) -> Running {
    let source =
        Launch::new(ServerKind::Duramen, folder).unwrap().arg("--max-binlog-size=256K").start().unwrap();
    let accounts: Vec<String> = (1..=ACCOUNTS).map(|id| format!("({id}, 1000)")).collect();
    source
        .sql(&format!(
            "CREATE DATABASE bank CHARACTER SET latin1;
             CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL);
             CREATE TABLE bank.ledger (id INT AUTO_INCREMENT PRIMARY KEY, payer INT, payee INT, amount INT);
             INSERT INTO bank.account VALUES {}",
            accounts.join(",")
        ))
        .unwrap();
    source
}

/// Moves money and writes it down, until it is stopped.
fn transfer(source: &Running, seed: u64, stop: &AtomicBool, done: &AtomicU64) {
    let mut random = Random::new(seed);
    let mut conn = connect(source.address()).unwrap();
    while !stop.load(Relaxed) {
        let (payer, payee) = (1 + random.below(ACCOUNTS), 1 + random.below(ACCOUNTS));
        let amount = random.below(50);
        let mut transaction = conn.start_transaction(TxOpts::default()).unwrap();
        // In the order of their numbers, so that no two wait for each other.
        let mut changes = [(payer, -(amount as i64)), (payee, amount as i64)];
        changes.sort_unstable();
        for (id, change) in changes {
            let update = format!("UPDATE bank.account SET balance = balance + {change} WHERE id = {id}");
            transaction.query_drop(update).unwrap();
        }
        let values = format!("({payer}, {payee}, {amount})");
        transaction
            .query_drop(format!("INSERT INTO bank.ledger (payer, payee, amount) VALUES {values}"))
            .unwrap();
        transaction.commit().unwrap();
        done.fetch_add(1, Relaxed);
    }
}

/// Ends what reads it, also where a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Does `work` while money moves, which is counted, and says how often it did in the end.
fn while_money_moves(source: &Running, work: impl FnOnce(&AtomicU64)) -> u64 {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (stop, done) = (&stop, &done);
        for seed in 0..SESSIONS {
            scope.spawn(move || transfer(source, seed, stop, done));
        }
        let _stop = Stop(stop);
        thread::sleep(Duration::from_secs(1));
        work(done);
        thread::sleep(Duration::from_secs(1));
    });
    done.load(Relaxed)
}

/// Each balance is what the ledger says, in whatever moment the tables were read.
const UNEXPLAINED: &str = "SELECT COUNT(*) FROM bank.account a WHERE balance <> 1000
     + (SELECT COALESCE(SUM(amount), 0) FROM bank.ledger WHERE payee = a.id)
     - (SELECT COALESCE(SUM(amount), 0) FROM bank.ledger WHERE payer = a.id)";

/// What was loaded is of one moment, and of none that is to come.
fn check_loaded(server: &Running, done: u64) {
    assert_eq!(server.sql(UNEXPLAINED).unwrap().trim(), "0", "the dump is of one moment");
    let rows: u64 = server.sql("SELECT COUNT(*) FROM bank.ledger").unwrap().trim().parse().unwrap();
    assert!(rows > 0 && rows <= done + SESSIONS, "{rows} of {done}");
}

fn flushes(source: &Running) -> String {
    source.sql("SHOW GLOBAL STATUS LIKE 'Com_flush'").unwrap()
}

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// What dumps a server's database `bank` into a file or folder.
type Dump<'a> = &'a dyn Fn(&Running, &Path);
/// What loads that into another server, and names the position in the log that it belongs to, in
/// the words of CHANGE MASTER; nothing if the dump has set that in the server itself.
type Load<'a> = &'a dyn Fn(&Running, &Path) -> String;

fn a_mariadb_replica_starts_from(dump: Dump<'_>, load: Load<'_>, locks: bool) {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    mariadb::let_in(&source).unwrap();
    let replica = mariadb::Replica::start(folder.path(), Apply::InOrder).unwrap();
    let server = replica.server();
    let all = while_money_moves(&source, |done| {
        let (before, dumped) = (flushes(&source), folder.path().join("dump"));
        dump(&source, &dumped);
        let done = done.load(Relaxed);
        assert_eq!(flushes(&source) != before, locks, "FLUSH TABLES WITH READ LOCK");
        let place = format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='replica', MASTER_PASSWORD='secret',
             MASTER_USE_GTID=no",
            source.port()
        );
        server.sql(&place).unwrap();
        let place = load(server, &dumped);
        if !place.is_empty() {
            server.sql(&format!("CHANGE MASTER TO {place}")).unwrap();
        }
        check_loaded(server, done);
        server.sql("START SLAVE").unwrap();
    });
    replica.await_source(&source, PATIENCE).unwrap();
    assert_eq!(replica.differences(&source).unwrap(), Vec::<String>::new());
    assert_eq!(server.sql(UNEXPLAINED).unwrap().trim(), "0");
    println!("{all} transfers");
}

fn mariadb_dump(source: &Running, options: &[&str], file: &Path) {
    let mut dump = source.client("mariadb-dump");
    dump.args(options).args(["--databases", "bank"]).arg(format!("--result-file={}", file.display()));
    run(&mut dump);
}

fn load_sql(server: &Running, file: &Path) {
    run(server.client("mariadb").stdin(Stdio::from(File::open(file).unwrap())));
}

/// The dump's statement that says where it is, which a server is to run (1) or which is a comment
/// (2).
const CHANGE: &str = "CHANGE MASTER TO MASTER_LOG_FILE='binlog.";

#[test]
fn from_a_snapshot_without_a_lock() {
    let dump: Dump<'_> =
        &|source, file| mariadb_dump(source, &["--single-transaction", "--master-data=1"], file);
    let load: Load<'_> = &|server, file| {
        assert!(fs::read_to_string(file).unwrap().contains(&format!("\n{CHANGE}")));
        load_sql(server, file);
        String::new()
    };
    a_mariadb_replica_starts_from(dump, load, false);
}

#[test]
fn from_a_dump_under_a_lock_for_all_with_its_place_in_a_comment() {
    let dump: Dump<'_> =
        &|source, file| mariadb_dump(source, &["--lock-all-tables", "--master-data=2"], file);
    let load: Load<'_> = &|server, file| {
        load_sql(server, file);
        let text = fs::read_to_string(file).unwrap();
        let place = text.split("\n-- CHANGE MASTER TO ").nth(1).unwrap_or_else(|| panic!("{text}"));
        place.split(';').next().unwrap().to_owned()
    };
    a_mariadb_replica_starts_from(dump, load, true);
}

/// `mydumper` reads by several sessions, which it lets begin under a lock for all, and writes the
/// place in a file of its own.
#[test]
fn from_mydumper_by_several_sessions() {
    let dump: Dump<'_> = &|source, folder| {
        let mut dump = Command::new("mydumper");
        dump.args(source.address().options()).args(["--database=bank", "--threads=4"]);
        run(dump.arg(format!("--outputdir={}", folder.display())));
    };
    let load: Load<'_> = &|server, folder| {
        let mut load = Command::new("myloader");
        load.args(server.address().options()).args(["--threads=4"]);
        run(load.arg(format!("--directory={}", folder.display())));
        let told = fs::read_to_string(folder.join("metadata")).unwrap();
        let value = |name: &str| {
            let line = told.lines().find_map(|line| line.trim().strip_prefix(name));
            line.unwrap_or_else(|| panic!("{told}")).trim().to_owned()
        };
        format!("MASTER_LOG_FILE='{}', MASTER_LOG_POS={}", value("Log:"), value("Pos:"))
    };
    a_mariadb_replica_starts_from(dump, load, true);
}

/// MySQL's `mysqldump` writes the GTIDs of its snapshot, which a MySQL that loads it takes for
/// executed: it is sent the others.
#[test]
fn a_mysql_replica_from_a_snapshot_by_gtids() {
    if !mysql_server::is_at_hand() {
        return;
    }
    let Ok(program) = std::env::var("DURAMEN_MYSQLDUMP") else {
        println!("NOT TESTED: DURAMEN_MYSQLDUMP names no mysqldump of MySQL's");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    mysql_server::let_in(&source).unwrap();
    let replica = mysql_server::Replica::start(folder.path(), 4).unwrap();
    let all = while_money_moves(&source, |done| {
        let file = folder.path().join("dump");
        let mut words = program.split(' ');
        let mut dump = Command::new(words.next().unwrap());
        dump.args(words).arg("--no-defaults").args(source.address().options());
        dump.args(["--single-transaction", "--source-data=2", "--databases", "bank"]);
        run(dump.arg(format!("--result-file={}", file.display())));
        let done = done.load(Relaxed);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("\n-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog."), "{text}");
        load_sql(replica.server(), &file);
        check_loaded(replica.server(), done);
        replica.follow(source.port()).unwrap();
    });
    replica.await_source(&source, PATIENCE).unwrap();
    assert_eq!(replica.differences(&source).unwrap(), Vec::<String>::new());
    assert_eq!(replica.server().sql(UNEXPLAINED).unwrap().trim(), "0");
    println!("{all} transfers");
}
