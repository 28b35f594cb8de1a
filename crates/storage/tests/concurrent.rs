//! Real threads: sessions that lock, deadlock, wait and commit together, with background flushes,
//! checkpoints and purges, until the power is cut somewhere. The schedule is the machine's, so a
//! seed does not repeat a run; what must hold, holds for every schedule.
//!
//! Each writer inserts its rows in order and raises a hot row's counter by one for each, in one
//! transaction. So in any snapshot, and after any crash, the counter is the number of rows, and
//! each writer's rows have no gap.
#![allow(clippy::unwrap_used)]

mod database;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use binlog::log::CommitError;
use database::{Database, Row, all_rows, options, primary_key};
use stdx::random::Random;
use storage::EngineOptions;
use storage::lock::LockError;
use storage::transaction::{Isolation, TransactionError};

const WRITERS: i64 = 4;
const HOT: i64 = -1;
/// Ids of a writer's rows begin at its number times this.
const SPAN: i64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// The rows that were acknowledged to each writer, and when to stop.
struct Progress {
    /// The last row of each writer that was acknowledged.
    acknowledged: Vec<AtomicI64>,
    stop: AtomicBool,
}

fn threaded_options(random: &mut Random) -> EngineOptions {
    let mut options = options();
    options.background = true;
    options.log.background = true;
    options.log.max_binlog_size = 8 << 10;
    options.log.binlog_prealloc_num = random.below(3) as u32;
    options.log.binlog_large_commit_threshold = [200, 1 << 20][random.below(2) as usize];
    options.memtable_size = [8 << 10, 64 << 10][random.below(2) as usize];
    options.log_distance_max = 64 << 10;
    options
}

/// One transaction of a writer; the rows in either order, so that writers deadlock.
fn write_one(
    database: &Database,
    writer: i64,
    number: i64,
    random: &mut Random,
) -> Result<(), TransactionError> {
    let table = database.table("t");
    let isolation = [Isolation::ReadCommitted, Isolation::RepeatableRead][random.below(2) as usize];
    let mut transaction = database.begin_with(isolation, PATIENCE);
    let shared = -2 - random.below(2) as i64;
    let mut order = [HOT, shared];
    if random.chance(1, 2) {
        order.reverse();
    }
    transaction.begin_statement(1_767_225_600, None);
    for id in order {
        let before = transaction.get_for_update(table.primary.tree(), &primary_key(&table, id))?.unwrap();
        let mut row = Row::from_image(&before);
        row.v += 1;
        transaction.update_row(&table, &before, &row.image())?;
    }
    let row = Row { id: writer * SPAN + number, u: None, v: 0, s: vec![1; random.below(400) as usize] };
    transaction.insert_row(&table, &row.image())?;
    transaction.end_statement();
    transaction.commit().map(drop)
}

fn writer(database: &Database, progress: &Progress, writer: i64, mut random: Random) {
    let mut number = 1;
    while !progress.stop.load(SeqCst) {
        match write_one(database, writer, number, &mut random) {
            Ok(()) => {
                progress.acknowledged[writer as usize].store(number, SeqCst);
                number += 1;
            }
            Err(TransactionError::Lock(LockError::Deadlock)) => {}
            Err(TransactionError::Commit(CommitError::Refused(_) | CommitError::Unknown(_))) => return,
            Err(TransactionError::Store(_) | TransactionError::Log(_)) => return, // the power is gone
            Err(error) => panic!("{error}"),
        }
    }
}

/// Every snapshot holds whole transactions.
fn reader(database: &Database, progress: &Progress) {
    let mut seen = 0;
    while !progress.stop.load(SeqCst) {
        let Ok(rows) = all_rows(database, "t") else { return };
        let counted = rows.values().filter(|row| row.id > 0).count() as i64;
        assert_eq!(rows[&HOT].v, counted, "a snapshot shows half a transaction");
        assert!(counted >= seen, "what was visible is gone");
        seen = counted;
    }
}

fn janitor(database: &Database, progress: &Progress, mut random: Random) {
    while !progress.stop.load(SeqCst) {
        let engine = &database.engine;
        let done = match random.below(3) {
            0 => engine.log().rotate().is_ok(),
            1 => engine.checkpoint().is_ok(),
            _ => engine.purge_log_to(engine.log().files().last().unwrap().number).is_ok(),
        };
        if !done {
            return;
        }
        thread::sleep(Duration::from_millis(random.below(5)));
    }
}

#[test]
fn concurrent_sessions_lose_nothing_and_show_nothing_by_halves() {
    let mut deadlocks = 0;
    let mut committed = 0;
    for seed in database::seeds_by("DURAMEN_THREAD_SEEDS", 40) {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut env = database::machine(seed);
        let first = Database::with_table(&env, threaded_options(&mut random));
        let table = first.table("t");
        let mut transaction = first.begin();
        for id in [HOT, -2, -3] {
            transaction.insert_row(&table, &Row::new(id, None, 0).image()).unwrap();
        }
        transaction.commit().unwrap();
        first.engine.close().unwrap();
        drop(first);
        env = env.reboot();

        let strict = random.chance(2, 3);
        let mut options = threaded_options(&mut random);
        options.log.trx_commit = if strict { 1 } else { 2 };
        options.log.sync_binlog = if strict { 1 } else { random.below(3) as u32 };
        let database = Database::open(&env, options.clone()).unwrap();
        let progress = Arc::new(Progress {
            acknowledged: (0..WRITERS + 1).map(|_| AtomicI64::new(0)).collect(),
            stop: AtomicBool::new(false),
        });
        if seed % 4 == 0 {
            // Long enough for flushes of successive groups to overlap.
            env.set_sync_time(Duration::from_micros(400));
        }
        env.cut_at(50 + random.below(1500));
        thread::scope(|scope| {
            let mut writers = Vec::new();
            for number in 1..=WRITERS {
                let (database, progress, random) = (&database, &progress, Random::new(random.next_u64()));
                writers.push(scope.spawn(move || writer(database, progress, number, random)));
            }
            scope.spawn(|| reader(&database, &progress));
            let random = Random::new(random.next_u64());
            scope.spawn(|| janitor(&database, &progress, random));
            for _ in 0..200 {
                thread::sleep(Duration::from_millis(2));
                if !env.is_powered() {
                    break;
                }
            }
            env.power_cut();
            progress.stop.store(true, SeqCst);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
        deadlocks += database.engine.locks().status().deadlocks.load(SeqCst);
        assert!(database.engine.locks().is_empty(), "locks are left");
        database.engine.locks().check_invariants();
        drop(database);

        let database = Database::open(&env.reboot(), options).unwrap();
        let rows = all_rows(&database, "t").unwrap();
        let mut total = 0;
        for writer in 1..=WRITERS {
            let mine: Vec<i64> =
                rows.range(writer * SPAN..(writer + 1) * SPAN).map(|(id, _)| id - writer * SPAN).collect();
            assert_eq!(mine, (1..=mine.len() as i64).collect::<Vec<_>>(), "writer {writer} has a gap");
            let acknowledged = progress.acknowledged[writer as usize].load(SeqCst);
            assert!(!strict || mine.len() as i64 >= acknowledged, "an acknowledged transaction is gone");
            total += mine.len() as i64;
        }
        assert_eq!(rows[&HOT].v, total);
        assert_eq!(rows[&-2].v + rows[&-3].v, total);
        let executed = database.engine.log().gtid_executed().next_gno(database::UUID) as i64 - 1;
        assert_eq!(executed, total + 2, "tables and log hold different transactions");
        committed += total;
        database.engine.close().unwrap();
    }
    println!("{committed} transactions, {deadlocks} deadlocks");
}
