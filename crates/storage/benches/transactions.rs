//! What locks, rows and commits cost: `cargo bench -p storage --bench transactions`.
//!
//! Commits are measured without waiting for the disk (`sync_binlog=0`,
//! `innodb_flush_log_at_trx_commit=2`): the work of the processor that each takes, with the log
//! really written.
#![allow(clippy::unwrap_used)]

#[path = "../tests/database/mod.rs"]
mod database;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use binlog::gtid::Uuid;
use binlog::log::LogOptions;
use database::{Database, Row, id_range, primary_key};
use env::{Env, RealEnv};
use storage::lock::{Interrupt, LockManager, LockMode, WaitPolicy};
use storage::transaction::{Direction, Isolation, KeyRange, Locking, ReadMode};
use storage::{Engine, EngineOptions, TableSchema, TreeId};

const PATIENCE: Duration = Duration::from_secs(60);
const WAIT: WaitPolicy = WaitPolicy::Wait(PATIENCE);

/// Prints the time of one of `count` operations that `work` does.
fn measure(what: &str, count: u64, work: impl FnOnce()) {
    let start = RealEnv.monotonic();
    work();
    let took = RealEnv.monotonic() - start;
    println!("{what:<58} {:>9.0} ns", took.as_nanos() as f64 / count as f64);
}

fn main() {
    locks();
    keys();
    rows_and_commits();
}

fn locks() {
    const N: u64 = 1_000_000;
    let manager = LockManager::new(Arc::new(RealEnv));
    let interrupt = Arc::new(Interrupt::new());
    let tree = TreeId(1);
    for round in ["cold", "warm"] {
        measure(&format!("lock and release 1,000,000 keys in one transaction, {round}"), N, || {
            let mut locks = manager.begin(interrupt.clone(), usize::MAX);
            for i in 0..N {
                locks.lock(tree, &i.to_be_bytes(), LockMode::Exclusive, WAIT).unwrap();
            }
            locks.prepare_release();
        });
    }
    measure("begin, lock one key, release", N, || {
        for i in 0..N {
            let mut locks = manager.begin(interrupt.clone(), usize::MAX);
            locks.lock(tree, &(i % 1000).to_be_bytes(), LockMode::Exclusive, WAIT).unwrap();
        }
    });
    let mut locks = manager.begin(interrupt.clone(), usize::MAX);
    locks.lock(tree, b"key", LockMode::Exclusive, WAIT).unwrap();
    measure("lock a key that is held already", N, || {
        (0..N).for_each(|_| assert!(locks.lock(tree, b"key", LockMode::Shared, WAIT).is_ok()));
    });
    for threads in [2, 8, 64] {
        let each = 200_000 / threads;
        measure(&format!("hand a hot key over, {threads} threads"), threads * each, || {
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..each {
                            let mut locks = manager.begin(Arc::new(Interrupt::new()), 10);
                            locks.lock(tree, b"hot", LockMode::Exclusive, WAIT).unwrap();
                        }
                    });
                }
            });
        });
    }
}

fn keys() {
    const N: u64 = 1_000_000;
    let schema = database::schema("t", 100);
    let image = Row { s: vec![b'x'; 100], ..Row::new(5, Some(7), 9) }.image();
    measure("keys of a row in three indexes", N, || {
        (0..N).for_each(|_| drop(schema.keys(&image).unwrap()));
    });
}

fn open(dir: &std::path::Path) -> Database {
    let mut log = LogOptions::new(1, Uuid([7; 16]), "8.4.8");
    (log.sync_binlog, log.trx_commit) = (0, 2);
    let mut catalog = database::Catalog::default();
    let engine = Engine::open(Arc::new(RealEnv), dir, EngineOptions::new(log), &mut catalog).unwrap();
    let database = Database { engine, catalog: Default::default(), id_max: Default::default() };
    database.ddl("CREATE t").unwrap();
    database
}

fn row(id: i64) -> Vec<u8> {
    Row { s: vec![b'x'; 100], ..Row::new(id, Some(id), id) }.image()
}

fn insert(database: &Database, table: &TableSchema, ids: impl Iterator<Item = i64>) {
    let mut transaction = database.begin_with(Isolation::RepeatableRead, PATIENCE);
    transaction.begin_statement(1_767_225_600, None);
    ids.for_each(|id| transaction.insert_row(table, &row(id)).unwrap());
    transaction.end_statement();
    transaction.commit().unwrap();
}

fn update(database: &Database, table: &TableSchema, id: i64) {
    let mut transaction = database.begin_with(Isolation::RepeatableRead, PATIENCE);
    transaction.begin_statement(1_767_225_600, None);
    let before = transaction.get_for_update(table.primary.tree(), &primary_key(table, id)).unwrap().unwrap();
    let mut row = Row::from_image(&before);
    row.v += 1;
    transaction.update_row(table, &before, &row.image()).unwrap();
    transaction.end_statement();
    transaction.commit().unwrap();
}

/// Rows of about 120 bytes, with a unique and a plain secondary index.
fn rows_and_commits() {
    const N: i64 = 200_000;
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    let table = database.table("t");
    measure("insert a row, 1000 in a transaction", N as u64, || {
        (0..N / 1000).for_each(|n| insert(&database, &table, n * 1000..(n + 1) * 1000));
    });
    measure("insert a row and commit, 1 thread", 50_000, || {
        (N..N + 50_000).for_each(|id| insert(&database, &table, id..id + 1));
    });
    measure("update a row by its key and commit, 1 thread", 50_000, || {
        (0..50_000).for_each(|id| update(&database, &table, id));
    });
    for threads in [2, 16] {
        measure(&format!("update a row by its key and commit, {threads} threads"), 64_000, || {
            thread::scope(|scope| {
                for number in 0..threads {
                    let (database, table) = (&database, &table);
                    let each = 64_000 / threads;
                    scope.spawn(move || {
                        (number * each..(number + 1) * each).for_each(|id| update(database, table, id));
                    });
                }
            });
        });
    }
    measure("update a hot row and commit, 16 threads", 32_000, || {
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..2000).for_each(|_| update(&database, &table, 7)));
            }
        });
    });
    let mut transaction = database.begin();
    measure("consistent read by key", 200_000, || {
        (0..200_000).for_each(|id| {
            transaction.get(table.primary.tree(), &primary_key(&table, id)).unwrap().unwrap();
        });
    });
    let scan = |transaction: &mut storage::Transaction, index, range, mode| {
        let mut scan = transaction.scan_index(&table, index, range, Direction::Forward, mode);
        let mut count = 0_u64;
        while scan.next(transaction).unwrap() {
            count += 1;
        }
        count
    };
    measure("scan a row by the primary key", 250_000, || {
        assert_eq!(scan(&mut transaction, 0, KeyRange::all(), ReadMode::Snapshot), 250_000);
    });
    measure("scan a row by a secondary index", 250_000, || {
        assert_eq!(scan(&mut transaction, 2, KeyRange::all(), ReadMode::Snapshot), 250_000);
    });
    measure("scan and lock a row", 100_000, || {
        let range = id_range(&table, 0, 100_000);
        assert_eq!(scan(&mut transaction, 0, range, ReadMode::Locking(Locking::UPDATE)), 100_000);
    });
    transaction.rollback();
    database.engine.close().unwrap();
}
