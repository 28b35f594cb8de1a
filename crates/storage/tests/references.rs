//! References, as transactions meet them: who may refer to a key, who may take it away, who waits
//! for whom, and which rows a scan of those that refer finds.
#![allow(clippy::unwrap_used)]

mod database;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use binlog::event::QueryEvent;
use database::{BY_U, BY_V, Database, Row, context, insert, options, primary_key, statement, waits};
use env::SimEnv;
use storage::lock::LockError;
use storage::transaction::{Isolation, Locking, Transaction, TransactionError};
use storage::{TableSchema, Xid};

const LONG: Duration = Duration::from_secs(60);
const LEVELS: [Isolation; 2] = [Isolation::ReadCommitted, Isolation::RepeatableRead];

/// With rows 10, 20 .. 50, whose `u` is a hundred times and whose `v` is ten times their id, and
/// row 60, which has no `u` and the `v` of row 10.
fn fresh() -> (Database, Arc<TableSchema>) {
    let database = Database::with_table(&SimEnv::new(1), options());
    let table = database.table("t");
    let mut transaction = database.begin();
    for id in (10..=50).step_by(10) {
        insert(&mut transaction, &table, id).unwrap();
    }
    statement(&mut transaction, |t| t.insert_row(&table, &Row::new(60, None, 100).image())).unwrap();
    transaction.commit().unwrap();
    (database, table)
}

fn change(
    transaction: &mut Transaction,
    table: &TableSchema,
    id: i64,
    how: impl Fn(&mut Row),
) -> Result<(), TransactionError> {
    statement(transaction, |t| change_row(t, table, id, how))
}

fn change_row(
    transaction: &mut Transaction,
    table: &TableSchema,
    id: i64,
    how: impl Fn(&mut Row),
) -> Result<(), TransactionError> {
    let before = transaction.get_newest_for_update(table.primary.tree(), &primary_key(table, id))?.unwrap();
    let mut row = Row::from_image(&before);
    how(&mut row);
    transaction.update_row(table, &before, &row.image())
}

fn delete_row(transaction: &mut Transaction, table: &TableSchema, id: i64) -> Result<(), TransactionError> {
    let before = transaction.get_newest_for_update(table.primary.tree(), &primary_key(table, id))?.unwrap();
    transaction.delete_row(table, &before)
}

/// Takes keys away as a DELETE does.
fn give_up_and_delete(
    transaction: &mut Transaction,
    table: &TableSchema,
    id: i64,
) -> Result<(), TransactionError> {
    statement(transaction, |t| {
        for (index, value) in [(0, id), (BY_U, id * 100), (BY_V, id * 10)] {
            t.give_up_referenced(table, index, &key(table, index, value))?;
        }
        delete_row(t, table, id)
    })
}

/// A value as a key of an index.
fn key(table: &TableSchema, index: usize, value: i64) -> Vec<u8> {
    let raw = value.to_le_bytes();
    let raw = if index == 0 { &raw[..] } else { &raw[..4] };
    let mut key = Vec::new();
    table.index(index).unwrap().encode_values(&[Some(raw)], &mut key).unwrap();
    key
}

fn refer(
    transaction: &mut Transaction,
    table: &TableSchema,
    index: usize,
    value: i64,
) -> Result<bool, TransactionError> {
    statement(transaction, |t| t.refer_to(table, index, &key(table, index, value)))
}

fn give_up(
    transaction: &mut Transaction,
    table: &TableSchema,
    index: usize,
    value: i64,
) -> Result<(), TransactionError> {
    statement(transaction, |t| t.give_up_referenced(table, index, &key(table, index, value)))
}

fn await_waiter(database: &Database) {
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
}

/// What `work` answers that waits for `holder`, once `end` has ended that one.
fn answer<T: Send + 'static>(
    database: &Database,
    isolation: Isolation,
    holder: Box<Transaction>,
    commits: bool,
    work: impl FnOnce(&mut Transaction) -> Result<T, TransactionError> + Send + 'static,
) -> Result<T, TransactionError> {
    let mut waiter = database.begin_with(isolation, LONG);
    let waiting = thread::spawn(move || work(&mut waiter));
    await_waiter(database);
    if commits {
        holder.commit().unwrap();
    } else {
        holder.rollback();
    }
    waiting.join().unwrap()
}

/// The ids of the rows that a scan finds; `each` is done to every one of them on the way.
fn referring(
    transaction: &mut Transaction,
    table: &Arc<TableSchema>,
    index: usize,
    value: i64,
    mut each: impl FnMut(&mut Transaction, i64) -> Result<(), TransactionError>,
) -> Result<Vec<i64>, TransactionError> {
    let mut scan = transaction.scan_referring(table, index, &key(table, index, value))?;
    let mut ids = Vec::new();
    while let Some(row) = scan.next(transaction, Locking::UPDATE)? {
        let id = Row::from_image(&row).id;
        ids.push(id);
        each(transaction, id)?;
    }
    scan.end(transaction);
    Ok(ids)
}

fn nothing(_: &mut Transaction, _: i64) -> Result<(), TransactionError> {
    Ok(())
}

#[test]
fn what_the_running_statement_did_counts() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut transaction = database.begin_with(isolation, Duration::ZERO);
        // A snapshot of before.
        transaction.get(table.primary.tree(), &primary_key(&table, 10)).unwrap();
        let check = |t: &mut Transaction, expected: &[(usize, i64, bool)]| {
            for &(index, value, is_there) in expected {
                let key = key(&table, index, value);
                assert_eq!(t.refer_to(&table, index, &key).unwrap(), is_there, "{index} {value}");
                assert_eq!(t.has_key(&table, index, &key).unwrap(), is_there, "{index} {value}");
            }
        };
        transaction.begin_statement(1_767_225_600, None);
        transaction.insert_row(&table, &Row::new(70, Some(7000), 700).image()).unwrap();
        delete_row(&mut transaction, &table, 10).unwrap();
        change_row(&mut transaction, &table, 20, |row| row.u = Some(2001)).unwrap();
        change_row(&mut transaction, &table, 30, |row| row.id = 31).unwrap();
        delete_row(&mut transaction, &table, 40).unwrap();
        let after = [
            (0, 70, true),
            (BY_U, 7000, true),
            (BY_V, 700, true),
            (0, 10, false),
            (BY_U, 1000, false),
            (BY_V, 100, true), // of row 60
            (0, 20, true),
            (BY_U, 2000, false),
            (BY_U, 2001, true),
            (BY_V, 200, true),
            (0, 30, false),
            (0, 31, true),
            (BY_U, 3000, true),
            (BY_V, 400, false),
        ];
        check(&mut transaction, &after);
        transaction.rollback_statement();
        let before = after.map(|(index, value, is_there)| match (index, value) {
            (BY_V, 100 | 200) | (0, 20) | (BY_U, 3000) => (index, value, true),
            _ => (index, value, !is_there),
        });
        check(&mut transaction, &before);
        drop(transaction);
        assert!(database.engine.locks().is_empty());
    }
}

#[test]
fn a_key_that_is_not_found_waits_for_whoever_has_put_it_there() {
    for isolation in LEVELS {
        for commits in [true, false] {
            for index in [0, BY_U] {
                let (database, table) = fresh();
                let mut writer = database.begin();
                insert(&mut writer, &table, 25).unwrap();
                let value = if index == 0 { 25 } else { 2500 };
                assert!(waits(refer(
                    &mut database.begin_with(isolation, Duration::ZERO),
                    &table,
                    index,
                    value
                )));
                let schema = table.clone();
                let found =
                    answer(&database, isolation, writer, commits, move |t| refer(t, &schema, index, value));
                assert_eq!(found.unwrap(), commits, "{index}");
                assert!(database.engine.locks().is_empty());
            }
        }
    }
}

#[test]
fn a_changed_row_s_new_key_is_waited_for_and_one_that_is_taken_back_is_none() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut writer = database.begin();
        change(&mut writer, &table, 20, |row| row.u = Some(7)).unwrap();
        let schema = table.clone();
        let found = answer(&database, isolation, writer, true, move |t| refer(t, &schema, BY_U, 7));
        assert!(found.unwrap());
        let mut writer = database.begin();
        insert(&mut writer, &table, 25).unwrap();
        statement(&mut writer, |t| delete_row(t, &table, 25)).unwrap();
        let schema = table.clone();
        let found = answer(&database, isolation, writer, true, move |t| refer(t, &schema, 0, 25));
        assert!(!found.unwrap());
        // A row goes and comes again.
        let mut writer = database.begin();
        give_up_and_delete(&mut writer, &table, 30).unwrap();
        insert(&mut writer, &table, 30).unwrap();
        let schema = table.clone();
        let found = answer(&database, isolation, writer, true, move |t| refer(t, &schema, BY_U, 3000));
        assert!(found.unwrap());
    }
}

/// Nobody holds a lock of a key that is not unique: it is there once it is committed.
#[test]
fn a_key_that_is_not_unique_is_not_waited_for_before_it_is_there() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut writer = database.begin();
        insert(&mut writer, &table, 25).unwrap();
        let mut other = database.begin_with(isolation, Duration::ZERO);
        assert!(!refer(&mut other, &table, BY_V, 250).unwrap());
        writer.commit().unwrap();
        assert!(refer(&mut other, &table, BY_V, 250).unwrap());
        assert!(waits(give_up(&mut database.begin(), &table, BY_V, 250)));
        // One of two rows that have it is gone.
        statement(&mut database.begin(), |t| {
            t.give_up_referenced(&table, BY_V, &key(&table, BY_V, 100))?;
            delete_row(t, &table, 10)?;
            assert!(t.refer_to(&table, BY_V, &key(&table, BY_V, 100))?);
            delete_row(t, &table, 60)?;
            assert!(!t.refer_to(&table, BY_V, &key(&table, BY_V, 100))?);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn who_takes_a_key_away_waits_for_all_who_refer_to_it() {
    for isolation in LEVELS {
        for index in [0, BY_U, BY_V] {
            let (database, table) = fresh();
            let value = [10, 1000, 100][index];
            let (mut first, mut second) =
                (database.begin_with(isolation, LONG), database.begin_with(isolation, LONG));
            assert!(refer(&mut first, &table, index, value).unwrap());
            assert!(refer(&mut second, &table, index, value).unwrap(), "many refer at once");
            assert!(!waits(give_up(&mut database.begin(), &table, index, value * 2)), "another key");
            first.rollback();
            assert!(waits(give_up(&mut database.begin(), &table, index, value)));
            let schema = table.clone();
            let given_up = answer(&database, isolation, second, true, move |t| {
                give_up(t, &schema, index, value)?;
                delete_row(t, &schema, 10)
            });
            given_up.unwrap();
            assert!(database.engine.locks().is_empty());
        }
    }
}

#[test]
fn who_refers_waits_for_whoever_takes_the_key_away() {
    for isolation in LEVELS {
        for commits in [true, false] {
            for index in [0, BY_U, BY_V] {
                let (database, table) = fresh();
                let mut writer = database.begin_with(isolation, LONG);
                give_up_and_delete(&mut writer, &table, 20).unwrap();
                let value = [20, 2000, 200][index];
                let schema = table.clone();
                let found =
                    answer(&database, isolation, writer, commits, move |t| refer(t, &schema, index, value));
                assert_eq!(found.unwrap(), !commits, "{index}");
            }
        }
    }
}

#[test]
fn a_transaction_that_refers_may_take_the_key_away_itself() {
    let (database, table) = fresh();
    let mut transaction = database.begin();
    assert!(refer(&mut transaction, &table, 0, 10).unwrap());
    give_up_and_delete(&mut transaction, &table, 10).unwrap();
    assert!(!refer(&mut transaction, &table, 0, 10).unwrap());
    assert!(waits(refer(&mut database.begin(), &table, 0, 10)));
}

#[test]
fn changes_of_other_columns_and_references_do_not_wait_for_each_other() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut child = database.begin_with(isolation, Duration::ZERO);
        assert!(refer(&mut child, &table, 0, 10).unwrap());
        assert!(refer(&mut child, &table, BY_U, 2000).unwrap());
        let mut parent = database.begin_with(isolation, Duration::ZERO);
        change(&mut parent, &table, 10, |row| (row.u, row.v) = (None, 1)).unwrap();
        change(&mut parent, &table, 20, |row| (row.id, row.v) = (21, 1)).unwrap();
        // While the rows are locked and changed.
        let mut another = database.begin_with(isolation, Duration::ZERO);
        assert!(refer(&mut another, &table, 0, 10).unwrap());
        assert!(refer(&mut another, &table, BY_U, 2000).unwrap());
        assert!(waits(give_up(&mut parent, &table, 0, 10)));
        parent.commit().unwrap();
        child.commit().unwrap();
        another.commit().unwrap();
        assert!(database.engine.locks().is_empty());
    }
}

#[test]
fn two_who_take_away_what_the_other_refers_to_deadlock() {
    let (database, table) = fresh();
    let mut first = database.begin_with(Isolation::RepeatableRead, LONG);
    let mut second = database.begin_with(Isolation::RepeatableRead, LONG);
    assert!(refer(&mut first, &table, 0, 10).unwrap());
    assert!(refer(&mut second, &table, 0, 20).unwrap());
    let schema = table.clone();
    let waiting = thread::spawn(move || give_up(&mut first, &schema, 0, 20).map(|()| first.commit()));
    await_waiter(&database);
    let outcome = give_up(&mut second, &table, 0, 10);
    assert!(matches!(outcome, Err(TransactionError::Lock(LockError::Deadlock))), "{outcome:?}");
    drop(second);
    waiting.join().unwrap().unwrap().unwrap();
}

/// As locks of rows, those of references stay when what was done under them is taken back.
#[test]
fn a_savepoint_takes_back_rows_and_keeps_references() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut transaction = database.begin_with(isolation, LONG);
        let savepoint = transaction.savepoint();
        insert(&mut transaction, &table, 25).unwrap();
        assert!(refer(&mut transaction, &table, BY_U, 2500).unwrap());
        assert!(refer(&mut transaction, &table, 0, 10).unwrap());
        transaction.rollback_to(savepoint);
        assert!(!refer(&mut transaction, &table, BY_U, 2500).unwrap());
        assert!(waits(give_up(&mut database.begin(), &table, 0, 10)));
        let savepoint = transaction.savepoint();
        give_up_and_delete(&mut transaction, &table, 20).unwrap();
        assert!(!refer(&mut transaction, &table, 0, 20).unwrap());
        transaction.rollback_to(savepoint);
        assert!(refer(&mut transaction, &table, 0, 20).unwrap());
        // What is there again is found by others once this has ended.
        let schema = table.clone();
        let found = answer(&database, isolation, transaction, true, move |t| {
            Ok((refer(t, &schema, 0, 20)?, refer(t, &schema, BY_U, 2500)?))
        });
        assert_eq!(found.unwrap(), (true, false));
        assert!(database.engine.locks().is_empty());
    }
}

#[test]
fn a_look_for_a_key_locks_nothing() {
    let (database, table) = fresh();
    let mut reader = database.begin();
    let mut has = |index, value| reader.has_key(&table, index, &key(&table, index, value)).unwrap();
    assert!(has(0, 10) && has(BY_U, 1000) && has(BY_V, 100));
    assert!(!has(0, 11) && !has(BY_U, 1001) && !has(BY_V, 101) && !has(BY_U, 0));
    assert!(database.engine.locks().is_empty());
}

#[test]
fn rows_that_refer_are_found_while_they_are_deleted_and_changed() {
    for isolation in LEVELS {
        let (database, table) = fresh();
        let mut other = database.begin();
        for id in 61..70 {
            statement(&mut other, |t| t.insert_row(&table, &Row::new(id, None, 100).image())).unwrap();
        }
        let mut transaction = database.begin_with(isolation, LONG);
        transaction.get(table.primary.tree(), &primary_key(&table, 10)).unwrap();
        // After the snapshot, which does not matter.
        other.commit().unwrap();
        statement(&mut transaction, |t| {
            t.insert_row(&table, &Row::new(5, None, 100).image())?;
            delete_row(t, &table, 61)?;
            change_row(t, &table, 62, |row| row.v = 101)?;
            let found = referring(t, &table, BY_V, 100, |t, id| match id % 3 {
                0 => delete_row(t, &table, id),
                1 => change_row(t, &table, id, |row| row.v = 101),
                _ => change_row(t, &table, id, |row| row.s = vec![7]),
            })?;
            assert_eq!(found, [5, 10, 60, 63, 64, 65, 66, 67, 68, 69]);
            assert_eq!(referring(t, &table, BY_V, 100, nothing)?, [5, 65, 68]);
            assert_eq!(referring(t, &table, BY_V, 101, nothing)?, [10, 62, 64, 67]);
            // Rows after the one at hand go with it, as in a table that refers to itself.
            let mut pairs = vec![65, 5];
            let found = referring(t, &table, BY_V, 100, |t, _| {
                pairs.pop().map_or(Ok(()), |id| delete_row(t, &table, id))?;
                pairs.pop().map_or(Ok(()), |id| delete_row(t, &table, id))
            })?;
            assert_eq!(found, [5, 68]);
            Ok(())
        })
        .unwrap();
        transaction.commit().unwrap();
        let left = database::all_rows(&database, "t").unwrap();
        assert_eq!(left.keys().copied().collect::<Vec<_>>(), [10, 20, 30, 40, 50, 62, 64, 67, 68]);
        assert!(database.engine.locks().is_empty());
    }
}

#[test]
fn rows_that_refer_are_found_by_keys_of_all_sorts_and_rows_without_key_by_none() {
    let (database, table) = fresh();
    let mut transaction = database.begin();
    assert_eq!(referring(&mut transaction, &table, 0, 20, nothing).unwrap(), [20]);
    assert_eq!(referring(&mut transaction, &table, 0, 21, nothing).unwrap(), []);
    assert_eq!(referring(&mut transaction, &table, BY_U, 2000, nothing).unwrap(), [20]);
    assert_eq!(referring(&mut transaction, &table, BY_U, 0, nothing).unwrap(), []);
    change(&mut transaction, &table, 20, |row| row.u = None).unwrap();
    assert_eq!(referring(&mut transaction, &table, BY_U, 2000, nothing).unwrap(), []);
    change(&mut transaction, &table, 60, |row| row.u = Some(-1)).unwrap();
    assert_eq!(referring(&mut transaction, &table, BY_U, -1, nothing).unwrap(), [60]);
    let is_there = refer(&mut transaction, &table, BY_U, 2000).unwrap();
    assert!(!is_there && refer(&mut transaction, &table, BY_U, -1).unwrap());
}

#[test]
fn a_row_that_referred_and_is_being_changed_is_waited_for() {
    for isolation in LEVELS {
        for commits in [true, false] {
            let (database, table) = fresh();
            let mut writer = database.begin();
            change(&mut writer, &table, 10, |row| row.v = 7).unwrap();
            statement(&mut writer, |t| delete_row(t, &table, 60)).unwrap();
            change(&mut writer, &table, 20, |row| row.v = 100).unwrap();
            let schema = table.clone();
            let found = answer(&database, isolation, writer, commits, move |t| {
                statement(t, |t| referring(t, &schema, BY_V, 100, nothing))
            });
            let found = found.unwrap();
            if commits {
                // Nobody asks without having the reference lock, which who refers has shared: so
                // whether row 20 is met, which came meanwhile, is all the same.
                assert!(found.iter().all(|&id| id == 20), "{found:?}");
            } else {
                assert_eq!(found, [10, 60]);
            }
            assert!(database.engine.locks().is_empty());
        }
    }
}

/// After a start a prepared transaction has the locks of its rows and of their unique keys alone:
/// what it refers to and what it takes away is kept all the same.
#[test]
fn prepared_transactions_keep_references_over_a_restart() {
    for commits in [true, false] {
        let env = SimEnv::new(1);
        let xid = Xid { format: 1, gtrid: b"x".to_vec(), bqual: Vec::new() };
        {
            let database = Database::with_table(&env, options());
            let table = database.table("t");
            let mut transaction = database.begin();
            for id in [10, 20, 30] {
                insert(&mut transaction, &table, id).unwrap();
            }
            transaction.commit().unwrap();
            assert!(database.engine.reserve_xid(&xid));
            let mut branch = database.begin();
            branch.set_xa(xid.clone(), QueryEvent::new(1, b"d", b"XA END X'78',X'',1"));
            // Row 25 refers to row 10 by its `v`; row 20 goes.
            assert!(refer(&mut branch, &table, 0, 10).unwrap());
            statement(&mut branch, |t| t.insert_row(&table, &Row::new(25, Some(2500), 10).image())).unwrap();
            give_up_and_delete(&mut branch, &table, 20).unwrap();
            branch.prepare().unwrap();
        }
        for _ in 0..2 {
            let database = Database::open(&env.reboot(), options()).unwrap();
            let table = database.table("t");
            let mut other = database.begin();
            give_up(&mut other, &table, 0, 10).unwrap();
            assert!(waits(referring(&mut other, &table, BY_V, 10, nothing)), "row 25 is coming");
            assert_eq!(referring(&mut other, &table, BY_V, 11, nothing).unwrap(), []);
            assert!(waits(refer(&mut other, &table, 0, 20)), "row 20 is going");
            assert!(waits(refer(&mut other, &table, BY_U, 2000)));
            assert!(waits(refer(&mut other, &table, 0, 25)));
            assert!(waits(refer(&mut other, &table, BY_U, 2500)));
            assert!(refer(&mut other, &table, 0, 30).unwrap());
        }
        let database = Database::open(&env.reboot(), options()).unwrap();
        let table = database.table("t");
        let word = if commits { "COMMIT" } else { "ROLLBACK" };
        let text = format!("XA {word} X'78',X'',1");
        let query = QueryEvent::new(1, b"d", text.as_bytes());
        database.engine.finish_prepared(&xid, commits, context(), &query, Default::default()).unwrap();
        let mut other = database.begin();
        let expected: &[i64] = if commits { &[25] } else { &[] };
        assert_eq!(referring(&mut other, &table, BY_V, 10, nothing).unwrap(), expected);
        assert_eq!(refer(&mut other, &table, 0, 20).unwrap(), !commits);
        assert_eq!(refer(&mut other, &table, BY_U, 2000).unwrap(), !commits);
        assert_eq!(refer(&mut other, &table, 0, 25).unwrap(), commits);
        drop(other);
        assert!(database.engine.locks().is_empty());
    }
}
