//! What a transaction sees, locks, refuses and writes: one small story a test.
#![allow(clippy::unwrap_used)]

mod database;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use binlog::LogPosition;
use database::*;
use env::SimEnv;
use storage::lock::LockError;
use storage::transaction::{
    Direction, Isolation, KeyRange, LockedRow, Locking, OnLocked, ReadMode, Transaction, TransactionError,
};
use storage::{TableSchema, Value};

const LONG: Duration = Duration::from_secs(60);

fn fresh() -> (Database, Arc<TableSchema>) {
    let database = Database::with_table(&SimEnv::new(1), options());
    let table = database.table("t");
    (database, table)
}

fn insert(transaction: &mut Transaction, table: &TableSchema, row: &Row) -> Result<(), TransactionError> {
    statement(transaction, |t| t.insert_row(table, &row.image()))
}

/// Runs a statement: its changes stay or go as a whole.
fn update(
    transaction: &mut Transaction,
    table: &TableSchema,
    id: i64,
    change: impl FnOnce(&mut Row),
) -> Result<(), TransactionError> {
    statement(transaction, |t| {
        let before = t.get_for_update(table.primary.tree(), &primary_key(table, id))?.unwrap();
        let mut row = Row::from_image(&before);
        change(&mut row);
        t.update_row(table, &before, &row.image())
    })
}

fn delete(transaction: &mut Transaction, table: &TableSchema, id: i64) -> Result<(), TransactionError> {
    statement(transaction, |t| {
        let before = t.get_for_update(table.primary.tree(), &primary_key(table, id))?.unwrap();
        t.delete_row(table, &before)
    })
}

fn get(transaction: &mut Transaction, table: &TableSchema, id: i64) -> Option<Row> {
    let row = transaction.get(table.primary.tree(), &primary_key(table, id)).unwrap();
    row.map(|image: Value| Row::from_image(&image))
}

fn ids(transaction: &mut Transaction, table: &Arc<TableSchema>, range: KeyRange, mode: ReadMode) -> Vec<i64> {
    let seen = rows(transaction, table, 0, range, Direction::Forward, mode).unwrap();
    seen.into_iter().map(|row| row.id).collect()
}

/// Commits rows with these ids and `v` = id.
fn fill(database: &Database, table: &TableSchema, ids: impl IntoIterator<Item = i64>) {
    let mut transaction = database.begin();
    for id in ids {
        insert(&mut transaction, table, &Row::new(id, Some(id), id)).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn a_transaction_sees_its_snapshot_and_its_own_changes() {
    let (database, table) = fresh();
    fill(&database, &table, 1..=3);
    let mut reader = database.begin();
    let mut writer = database.begin();
    assert_eq!(get(&mut reader, &table, 1), Some(Row::new(1, Some(1), 1)));
    update(&mut writer, &table, 1, |row| row.v = 10).unwrap();
    delete(&mut writer, &table, 2).unwrap();
    assert_eq!(get(&mut writer, &table, 1).unwrap().v, 10);
    assert_eq!(ids(&mut writer, &table, KeyRange::all(), ReadMode::Snapshot), [1, 3]);
    let position = writer.commit().unwrap().unwrap().position;
    assert_eq!(database.engine.log().visible(), position);
    assert_eq!(ids(&mut reader, &table, KeyRange::all(), ReadMode::Snapshot), [1, 2, 3]);
    assert_eq!(get(&mut reader, &table, 1).unwrap().v, 1);
    let mut later = database.begin();
    assert_eq!(later.snapshot().position(), position);
    assert_eq!(ids(&mut later, &table, KeyRange::all(), ReadMode::Snapshot), [1, 3]);
}

#[test]
fn read_committed_takes_a_new_snapshot_with_each_statement() {
    let (database, table) = fresh();
    fill(&database, &table, [1]);
    let mut reader = database.begin_with(Isolation::ReadCommitted, LONG);
    let see = |reader: &mut Transaction| statement(reader, |t| Ok(get(t, &table, 1).unwrap().v)).unwrap();
    assert_eq!(see(&mut reader), 1);
    let mut writer = database.begin();
    update(&mut writer, &table, 1, |row| row.v = 2).unwrap();
    writer.commit().unwrap();
    assert_eq!(see(&mut reader), 2);
}

#[test]
fn a_locking_read_sees_the_newest_version_where_the_snapshot_does_not() {
    let (database, table) = fresh();
    fill(&database, &table, [1]);
    let mut transaction = database.begin();
    assert_eq!(get(&mut transaction, &table, 1).unwrap().v, 1);
    let mut other = database.begin();
    update(&mut other, &table, 1, |row| row.v = 7).unwrap();
    other.commit().unwrap();
    update(&mut transaction, &table, 1, |row| row.v += 1).unwrap();
    assert_eq!(get(&mut transaction, &table, 1).unwrap().v, 8);
    transaction.commit().unwrap();
    assert_eq!(all_rows(&database, "t").unwrap()[&1].v, 8);
}

/// The snapshot has the row's old index entries. A scan by the index met the changed row twice when
/// the entry was another one since, and not at all when the transaction left the newer entry as it
/// was.
#[test]
fn a_scan_by_an_index_meets_a_row_once_that_was_changed_over_a_newer_version() {
    let (database, table) = fresh();
    fill(&database, &table, [1, 2, 3]);
    let mut transaction = database.begin();
    assert_eq!(get(&mut transaction, &table, 1).unwrap().u, Some(1));
    let mut other = database.begin();
    update(&mut other, &table, 1, |row| row.u = Some(11)).unwrap();
    update(&mut other, &table, 2, |row| row.u = Some(22)).unwrap();
    update(&mut other, &table, 3, |row| row.u = None).unwrap();
    other.commit().unwrap();
    let before = transaction.savepoint();
    update(&mut transaction, &table, 1, |row| row.u = Some(111)).unwrap();
    update(&mut transaction, &table, 2, |row| row.v = 7).unwrap();
    delete(&mut transaction, &table, 3).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut seen =
            rows(&mut transaction, &table, BY_U, KeyRange::all(), direction, ReadMode::Snapshot).unwrap();
        seen.sort();
        assert_eq!(seen, [Row::new(1, Some(111), 1), Row::new(2, Some(22), 7)]);
    }
    transaction.rollback_to(before);
    let seen = rows(&mut transaction, &table, BY_U, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    assert_eq!(seen.unwrap(), [Row::new(1, Some(1), 1), Row::new(2, Some(2), 2), Row::new(3, Some(3), 3)]);
}

#[test]
fn duplicates_name_their_index_and_the_row_that_is_there() {
    let (database, table) = fresh();
    fill(&database, &table, [1, 2]);
    let mut transaction = database.begin();
    let duplicate = |outcome: Result<(), TransactionError>| match outcome {
        Err(TransactionError::DuplicateKey { index, index_name, existing }) => (index, index_name, existing),
        other => panic!("{other:?}"),
    };
    let primary = duplicate(insert(&mut transaction, &table, &Row::new(1, None, 0)));
    assert_eq!(primary, (0, "PRIMARY".into(), primary_key(&table, 1)));
    let unique = duplicate(insert(&mut transaction, &table, &Row::new(3, Some(2), 0)));
    assert_eq!(unique, (1, "u".into(), primary_key(&table, 2)));
    let moved = duplicate(update(&mut transaction, &table, 1, |row| row.id = 2));
    assert_eq!(moved.0, 0);
    let changed = duplicate(update(&mut transaction, &table, 1, |row| row.u = Some(2)));
    assert_eq!(changed.0, 1);
    for id in 10..13 {
        insert(&mut transaction, &table, &Row::new(id, None, 0)).unwrap(); // NULLs are no duplicates
    }
    // Own changes count: what was deleted is free, what was inserted is not.
    delete(&mut transaction, &table, 2).unwrap();
    insert(&mut transaction, &table, &Row::new(2, Some(20), 0)).unwrap();
    insert(&mut transaction, &table, &Row::new(4, Some(2), 0)).unwrap();
    assert_eq!(duplicate(insert(&mut transaction, &table, &Row::new(5, Some(20), 0))).0, 1);
    transaction.commit().unwrap();
    assert_eq!(all_rows(&database, "t").unwrap().keys().copied().collect::<Vec<_>>(), [1, 2, 4, 10, 11, 12]);
}

#[test]
fn a_unique_key_that_is_being_given_up_is_waited_for() {
    let (database, table) = fresh();
    fill(&database, &table, [1, 2, 3]);
    let mut deleter = database.begin();
    delete(&mut deleter, &table, 1).unwrap();
    let mut changer = database.begin();
    update(&mut changer, &table, 2, |row| row.u = Some(22)).unwrap();
    // Its unique key stays, but the entry in the index is another one.
    let mut mover = database.begin();
    update(&mut mover, &table, 3, |row| row.id = 33).unwrap();
    for u in [1, 2, 22, 3] {
        let mut inserter = database.begin();
        let outcome = insert(&mut inserter, &table, &Row::new(9, Some(u), 0));
        assert!(matches!(outcome, Err(TransactionError::Lock(LockError::WaitTimeout))), "{u}: {outcome:?}");
    }
    deleter.rollback();
    changer.commit().unwrap();
    mover.commit().unwrap();
    let mut inserter = database.begin();
    for u in [1, 3] {
        let outcome = insert(&mut inserter, &table, &Row::new(9, Some(u), 0));
        assert!(matches!(outcome, Err(TransactionError::DuplicateKey { .. })), "{u}: {outcome:?}");
    }
    insert(&mut inserter, &table, &Row::new(9, Some(2), 0)).unwrap();
    inserter.commit().unwrap();
}

#[test]
fn an_update_never_meets_its_own_changes() {
    let (database, table) = fresh();
    fill(&database, &table, (0..20).map(|n| n * 10));
    for (direction, by) in [(Direction::Forward, 5), (Direction::Backward, -3)] {
        for index in [0, BY_V] {
            let mut transaction = database.begin();
            let mut changed = 0;
            statement(&mut transaction, |t| {
                let mode = ReadMode::Locking(Locking::UPDATE);
                let mut scan = t.scan_index(&table, index, KeyRange::all(), direction, mode);
                while scan.next(t)? {
                    let before = scan.row().to_vec();
                    let mut row = Row::from_image(&before);
                    row.v += by;
                    row.id += by;
                    t.update_row(&table, &before, &row.image())?;
                    changed += 1;
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(changed, 20);
            transaction.commit().unwrap();
        }
    }
    let moved = all_rows(&database, "t").unwrap();
    assert!(moved.iter().all(|(id, row)| (id - 4) % 10 == 0 && row.v == *id), "{moved:?}");
}

#[test]
fn statements_and_savepoints_roll_back_with_their_events() {
    let (database, table) = fresh();
    let mut transaction = database.begin();
    insert(&mut transaction, &table, &Row::new(1, Some(1), 1)).unwrap();
    let savepoint = transaction.savepoint();
    insert(&mut transaction, &table, &Row::new(2, Some(2), 2)).unwrap();
    update(&mut transaction, &table, 1, |row| row.v = 100).unwrap();
    transaction.rollback_to(savepoint);
    // A statement of two rows fails at its second, with one inside of it that was taken back too.
    let outcome = statement(&mut transaction, |t| {
        t.insert_row(&table, &Row::new(3, Some(3), 3).image())?;
        statement(t, |t| t.insert_row(&table, &Row::new(4, Some(4), 4).image()))?;
        let _ = statement(t, |t| {
            t.insert_row(&table, &Row::new(5, Some(5), 5).image())?;
            t.insert_row(&table, &Row::new(1, None, 0).image())
        });
        assert_eq!(get(t, &table, 3), None, "not its own changes");
        t.insert_row(&table, &Row::new(1, None, 0).image())
    });
    assert!(matches!(outcome, Err(TransactionError::DuplicateKey { .. })));
    insert(&mut transaction, &table, &Row::new(6, Some(6), 6)).unwrap();
    transaction.commit().unwrap();
    let expected = all_rows(&database, "t").unwrap();
    assert_eq!(expected.keys().copied().collect::<Vec<_>>(), [1, 6]);
    assert_eq!(expected[&1].v, 1);
}

#[test]
fn what_the_log_says_is_what_the_tables_hold() {
    let env = SimEnv::new(3);
    let database = Database::with_table(&env, options());
    let table = database.table("t");
    fill(&database, &table, 0..50);
    let mut transaction = database.begin();
    for id in 0..50 {
        match id % 5 {
            0 => delete(&mut transaction, &table, id).unwrap(),
            1 => update(&mut transaction, &table, id, |row| row.u = None).unwrap(),
            2 => update(&mut transaction, &table, id, |row| row.id += 1000).unwrap(),
            _ => update(&mut transaction, &table, id, |row| row.s = vec![7; 10_000]).unwrap(),
        }
    }
    let all_again = transaction.savepoint();
    update(&mut transaction, &table, 1, |row| row.v = -1).unwrap();
    transaction.rollback_to(all_again);
    transaction.commit().unwrap();
    let before = all_rows(&database, "t").unwrap();
    drop(database);
    let database = Database::open(&env.reboot(), options()).unwrap();
    assert_eq!(database.engine.replayed().groups, 3);
    assert_eq!(all_rows(&database, "t").unwrap(), before);
    database.engine.close().unwrap();
}

#[test]
fn rollback_leaves_nothing_and_frees_the_locks() {
    let (database, table) = fresh();
    let end = database.engine.log().end();
    let mut transaction = database.begin();
    insert(&mut transaction, &table, &Row::new(1, Some(1), 1)).unwrap();
    transaction.rollback();
    assert!(database.engine.locks().is_empty());
    assert_eq!(database.engine.log().end(), end);
    assert!(all_rows(&database, "t").unwrap().is_empty());
    assert_eq!(database.engine.status().rolled_back.load(Relaxed), 1);
    assert_eq!(database.begin().commit().unwrap(), None, "nothing to commit");
}

#[test]
fn skip_locked_and_nowait() {
    let (database, table) = fresh();
    fill(&database, &table, 1..=4);
    let mut holder = database.begin();
    for id in [1, 3] {
        holder.get_for_update(table.primary.tree(), &primary_key(&table, id)).unwrap();
    }
    let mut other = database.begin_with(Isolation::RepeatableRead, LONG);
    let skip = ReadMode::Locking(Locking { on_locked: OnLocked::Skip, ..Locking::UPDATE });
    assert_eq!(ids(&mut other, &table, KeyRange::all(), skip), [2, 4]);
    let by_v = rows(&mut other, &table, BY_V, KeyRange::all(), Direction::Backward, skip).unwrap();
    assert_eq!(by_v.iter().map(|row| row.id).collect::<Vec<_>>(), [4, 2]);
    let nowait = Locking { on_locked: OnLocked::Fail, ..Locking::SHARE };
    let outcome = other.get_locked(table.primary.tree(), &primary_key(&table, 1), nowait);
    assert!(matches!(outcome, Err(TransactionError::Lock(LockError::WouldBlock))));
}

#[test]
fn read_committed_gives_rejected_rows_back() {
    let (database, table) = fresh();
    fill(&database, &table, 1..=4);
    for (isolation, held) in [(Isolation::ReadCommitted, 2), (Isolation::RepeatableRead, 4)] {
        let mut transaction = database.begin_with(isolation, LONG);
        for id in 1..=4 {
            let key = primary_key(&table, id);
            let LockedRow::Locked { row: Some(_), new: true } =
                transaction.get_locked(table.primary.tree(), &key, Locking::UPDATE).unwrap()
            else {
                panic!("it is there")
            };
            if id % 2 == 0 {
                transaction.unlock_rejected();
            }
        }
        assert_eq!(database.engine.locks().len(), held);
    }
}

#[test]
fn a_row_that_was_not_locked_or_is_not_current_is_not_changed() {
    let (database, table) = fresh();
    fill(&database, &table, [1]);
    let mut transaction = database.begin();
    let before = Row::new(1, Some(1), 1).image();
    let changed = Row::new(1, Some(1), 2).image();
    assert!(matches!(transaction.delete_row(&table, &before), Err(TransactionError::NotLocked)));
    update(&mut transaction, &table, 1, |row| row.v = 2).unwrap();
    let outcome = transaction.update_row(&table, &before, &Row::new(1, Some(1), 3).image());
    assert!(matches!(outcome, Err(TransactionError::Stale)));
    transaction.update_row(&table, &changed, &Row::new(1, Some(1), 3).image()).unwrap();
}

#[test]
fn a_row_whose_lock_was_given_back_is_not_changed() {
    let (database, table) = fresh();
    fill(&database, &table, 1..=2);
    let mut transaction = database.begin_with(Isolation::ReadCommitted, LONG);
    let lock = |transaction: &mut Transaction, id| {
        let key = primary_key(&table, id);
        transaction.get_for_update(table.primary.tree(), &key).unwrap().expect("it is there")
    };
    let first = lock(&mut transaction, 1);
    let second = lock(&mut transaction, 2);
    transaction.unlock_rejected();
    assert!(matches!(transaction.delete_row(&table, &second), Err(TransactionError::NotLocked)));
    transaction.delete_row(&table, &first).unwrap();
    assert_eq!(database.engine.locks().len(), 2, "the row, and its unique key");
}

#[test]
fn a_transaction_that_grows_too_large_gets_an_error_and_its_statement_is_rolled_back() {
    let mut options = options();
    options.transaction_size_max = 100_000;
    let database = Database::with_table(&SimEnv::new(1), options);
    let table = database.table("t");
    let mut transaction = database.begin();
    let big = |id| Row { s: vec![1; 20_000], ..Row::new(id, None, 0) };
    insert(&mut transaction, &table, &big(1)).unwrap();
    insert(&mut transaction, &table, &big(2)).unwrap();
    assert!(matches!(insert(&mut transaction, &table, &big(3)), Err(TransactionError::TooLarge { .. })));
    transaction.commit().unwrap();
    assert_eq!(all_rows(&database, "t").unwrap().len(), 2);
}

#[test]
fn a_range_is_scanned_both_ways_with_all_kinds_of_ends() {
    let (database, table) = fresh();
    fill(&database, &table, (0..10).map(|n| n * 2));
    let mut transaction = database.begin();
    for id in [5, 9] {
        insert(&mut transaction, &table, &Row::new(id, None, id)).unwrap();
    }
    delete(&mut transaction, &table, 8).unwrap();
    let all = [0, 2, 4, 5, 6, 9, 10, 12, 14, 16, 18];
    let ends = |id: i64| {
        let key = primary_key(&table, id);
        [Bound::Included(key.clone()), Bound::Excluded(key)]
    };
    for from in -1..20 {
        for to in -1..20 {
            for (lower, upper) in ends(from).into_iter().flat_map(|l| ends(to).map(|u| (l.clone(), u))) {
                let inside = |id: &&i64| {
                    let key = primary_key(&table, **id);
                    let above = match &lower {
                        Bound::Excluded(end) => key > *end,
                        Bound::Included(end) => key >= *end,
                        Bound::Unbounded => true,
                    };
                    let below = match &upper {
                        Bound::Excluded(end) => key < *end,
                        Bound::Included(end) => key <= *end,
                        Bound::Unbounded => true,
                    };
                    above && below
                };
                let expected: Vec<i64> = all.iter().filter(inside).copied().collect();
                for direction in [Direction::Forward, Direction::Backward] {
                    let range = KeyRange {
                        lower: lower.clone().map(Into::into),
                        upper: upper.clone().map(Into::into),
                    };
                    let mut seen: Vec<_> =
                        rows(&mut transaction, &table, 0, range, direction, ReadMode::Snapshot)
                            .unwrap()
                            .into_iter()
                            .map(|row| row.id)
                            .collect();
                    if direction == Direction::Backward {
                        seen.reverse();
                    }
                    assert_eq!(seen, expected, "{from} to {to}, {direction:?}");
                }
            }
        }
    }
}

#[test]
fn a_version_read_through_a_lock_is_waited_for_before_it_is_returned() {
    let env = SimEnv::new(5);
    let database = Database::with_table(&env, options());
    let table = database.table("t");
    fill(&database, &table, [1]);
    env.hold_syncs();
    let writer = {
        let (database, table) = (database.clone(), table.clone());
        thread::spawn(move || {
            let mut writer = database.begin_with(Isolation::RepeatableRead, LONG);
            update(&mut writer, &table, 1, |row| row.v = 2).unwrap();
            writer.commit().unwrap().unwrap().position
        })
    };
    env.wait_for_held_syncs(1);
    // The writer stands in its flush: its lock is free, its version there, but not visible.
    let mut reader = database.begin_with(Isolation::RepeatableRead, LONG);
    assert_eq!(get(&mut reader, &table, 1).unwrap().v, 1);
    assert_eq!(reader.newest_read(), LogPosition::ZERO);
    let row = reader.get_for_update(table.primary.tree(), &primary_key(&table, 1)).unwrap().unwrap();
    assert_eq!(Row::from_image(&row).v, 2);
    let position = reader.newest_read();
    assert!(position > database.engine.log().visible());
    let scanned = rows(
        &mut reader,
        &table,
        BY_V,
        KeyRange::all(),
        Direction::Forward,
        ReadMode::Locking(Locking::SHARE),
    );
    assert_eq!(scanned.unwrap()[0].v, 2);
    env.release_syncs();
    database.engine.wait_visible(position).unwrap();
    assert_eq!(writer.join().unwrap(), position);
}

#[test]
fn a_deadlock_ends_one_and_lets_the_other_through() {
    let (database, table) = fresh();
    fill(&database, &table, [1, 2]);
    let mut first = database.begin_with(Isolation::RepeatableRead, LONG);
    let mut second = database.begin_with(Isolation::RepeatableRead, LONG);
    update(&mut first, &table, 1, |row| row.v = 10).unwrap();
    update(&mut second, &table, 2, |row| row.v = 20).unwrap();
    let waiter = {
        let table = table.clone();
        thread::spawn(move || {
            update(&mut first, &table, 2, |row| row.v = 11).map(|()| first.commit().unwrap())
        })
    };
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    let outcome = update(&mut second, &table, 1, |row| row.v = 21);
    assert!(matches!(outcome, Err(TransactionError::Lock(LockError::Deadlock))));
    assert!(second.must_roll_back());
    assert!(second.commit().is_err());
    waiter.join().unwrap().unwrap();
    assert_eq!(all_rows(&database, "t").unwrap()[&2].v, 11);
}

#[test]
fn ddl_is_replayed_with_the_rows_around_it() {
    let env = SimEnv::new(8);
    let database = Database::with_table(&env, options());
    fill(&database, &database.table("t"), 0..5);
    database.ddl("TRUNCATE t").unwrap();
    fill(&database, &database.table("t"), 3..6);
    database.ddl("CREATE u").unwrap();
    fill(&database, &database.table("u"), 0..2);
    database.ddl("CREATE v").unwrap();
    database.ddl("DROP v").unwrap();
    drop(database);
    let env = env.reboot();
    for _ in 0..2 {
        let database = Database::open(&env, options()).unwrap();
        assert_eq!(all_rows(&database, "t").unwrap().keys().copied().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(all_rows(&database, "u").unwrap().len(), 2);
        assert_eq!(database.catalog.lock().tables.len(), 2);
        database.engine.close().unwrap();
    }
}

#[test]
fn a_purge_makes_the_checkpoint_that_it_needs() {
    let env = SimEnv::new(9);
    let database = Database::with_table(&env, options());
    for id in 0..5 {
        fill(&database, &database.table("t"), [id]);
        database.engine.log().rotate().unwrap();
    }
    let last = database.engine.log().files().last().unwrap().number;
    let purged = database.engine.purge_log_to(last).unwrap();
    assert_eq!(purged.len(), 4, "all but the one of the last transaction");
    fill(&database, &database.table("t"), [9]);
    drop(database);
    let database = Database::open(&env.reboot(), options()).unwrap();
    assert_eq!(database.engine.replayed().groups, 1);
    assert_eq!(all_rows(&database, "t").unwrap().len(), 6);
}
