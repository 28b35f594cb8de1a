//! A dump that is taken while others commit, loaded into a replica that goes on from the dump's position: it ends as its source.
//! By a snapshot, without a lock for all, and with one for tools that insist.
#![allow(clippy::unwrap_used)]

use followers::connect;
use followers::mariadb::{Apply, Replica, let_in};
use mysql::TxOpts;
use mysql::prelude::Queryable;
use servers::{Kind, Launch, Running};
use std::fs::{self, File};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use stdx::random::Random;

const SESSIONS: u64 = 6;
const ACCOUNTS: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(60);

fn prepare(source: &Running) {
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
}

/// Moves money and writes it down, until it is told to stop.
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

/// Each balance is what the ledger says, in whatever moment the tables were read.
const UNEXPLAINED: &str = "SELECT COUNT(*) FROM bank.account a WHERE balance <> 1000
     + (SELECT COALESCE(SUM(amount), 0) FROM bank.ledger WHERE payee = a.id)
     - (SELECT COALESCE(SUM(amount), 0) FROM bank.ledger WHERE payer = a.id)";

fn flushes(source: &Running) -> String {
    source.sql("SHOW GLOBAL STATUS LIKE 'Com_flush'").unwrap()
}

fn starts_from_a_dump(option: &str, locks: bool) {
    let folder = tempfile::tempdir().unwrap();
    let source =
        Launch::new(Kind::Duramen, folder.path()).unwrap().arg("--max-binlog-size=256K").start().unwrap();
    let_in(&source).unwrap();
    prepare(&source);
    let replica = Replica::start(folder.path(), Apply::InOrder).unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (source, stop, done) = (&source, &stop, &done);
        for seed in 0..SESSIONS {
            scope.spawn(move || transfer(source, seed, stop, done));
        }
        thread::sleep(Duration::from_secs(1));
        let (before, dump) = (flushes(source), folder.path().join("dump.sql"));
        let status = source
            .client("mariadb-dump")
            .args([option, "--master-data=1", "--databases", "bank"])
            .stdout(File::create(&dump).unwrap())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(flushes(source) != before, locks, "FLUSH TABLES WITH READ LOCK");
        let text = fs::read_to_string(&dump).unwrap();
        assert!(
            text.contains("\nCHANGE MASTER TO MASTER_LOG_FILE='binlog."),
            "{}",
            &text[..text.len().min(2000)]
        );
        let at_dump = done.load(Relaxed);

        let place = format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='replica', MASTER_PASSWORD='secret',
             MASTER_USE_GTID=no",
            source.port()
        );
        replica.server().sql(&place).unwrap();
        let mut load = replica.server().client("mariadb");
        assert!(load.stdin(Stdio::from(File::open(&dump).unwrap())).status().unwrap().success());
        assert_eq!(replica.server().sql(UNEXPLAINED).unwrap().trim(), "0", "the dump is of one moment");
        let rows: u64 =
            replica.server().sql("SELECT COUNT(*) FROM bank.ledger").unwrap().trim().parse().unwrap();
        replica.server().sql("START SLAVE").unwrap();
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Relaxed);
        assert!(rows > 0 && rows <= at_dump + SESSIONS, "{rows} of {at_dump}");
    });
    let all = done.load(Relaxed);
    replica.await_source(&source, PATIENCE).unwrap();
    assert_eq!(replica.differences(&source).unwrap(), Vec::<String>::new());
    assert_eq!(replica.server().sql(UNEXPLAINED).unwrap().trim(), "0");
    println!("{option}: {all} transfers");
}

#[test]
fn from_a_snapshot_without_a_lock() {
    starts_from_a_dump("--single-transaction", false);
}

#[test]
fn from_a_dump_under_a_lock_for_all() {
    starts_from_a_dump("--lock-all-tables", true);
}
