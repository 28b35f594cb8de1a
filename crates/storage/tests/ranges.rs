//! Range locks, as transactions meet them: who may insert where, who waits for whom, and what is
//! left after a crash.
#![allow(clippy::unwrap_used)]

mod database;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use binlog::event::QueryEvent;
use database::{
    BY_U, BY_V, Database, Row, context, id_range, insert, options, primary_key, rows, statement, waits,
};
use env::SimEnv;
use storage::lock::{Killed, LockError};
use storage::transaction::{
    Direction, Isolation, KeyRange, Locking, OnLocked, ReadMode, Transaction, TransactionError,
};
use storage::{FinishedBranch, Interrupt, TableSchema, Xid};

const LONG: Duration = Duration::from_secs(60);
const UPDATE: ReadMode = ReadMode::Locking(Locking::UPDATE);
const SHARE: ReadMode = ReadMode::Locking(Locking::SHARE);
/// With rows 10, 20 .. 50, whose `u` is a hundred times and whose `v` is ten times their id.
fn fresh() -> (Database, Arc<TableSchema>) {
    let database = Database::with_table(&SimEnv::new(1), options());
    let table = database.table("t");
    let mut transaction = database.begin();
    for id in (10..=50).step_by(10) {
        insert(&mut transaction, &table, id).unwrap();
    }
    transaction.commit().unwrap();
    (database, table)
}

fn change(
    transaction: &mut Transaction,
    table: &TableSchema,
    id: i64,
    how: impl Fn(&mut Row),
) -> Result<(), TransactionError> {
    statement(transaction, |t| {
        let before = t.get_for_update(table.primary.tree(), &primary_key(table, id))?.unwrap();
        let mut row = Row::from_image(&before);
        how(&mut row);
        t.update_row(table, &before, &row.image())
    })
}

/// How a range is read.
#[derive(Debug, Clone, Copy)]
struct How {
    direction: Direction,
    mode: ReadMode,
    limit: usize,
}

impl How {
    fn forward(mode: ReadMode, limit: usize) -> Self {
        Self { direction: Direction::Forward, mode, limit }
    }

    fn backward(mode: ReadMode, limit: usize) -> Self {
        Self { direction: Direction::Backward, mode, limit }
    }
}

/// The ids that a locking read of a range finds, at most `limit`.
fn read(
    transaction: &mut Transaction,
    table: &Arc<TableSchema>,
    index: usize,
    range: KeyRange,
    How { direction, mode, limit }: How,
) -> Result<Vec<i64>, TransactionError> {
    let mut scan = transaction.scan_index(table, index, range, direction, mode);
    let mut ids = Vec::new();
    while ids.len() < limit && scan.next(transaction)? {
        ids.push(Row::from_image(scan.row()).id);
    }
    Ok(ids)
}

/// The range of an index whose first part is from `from` to `to`, both included.
fn key_range(table: &TableSchema, index: usize, from: i64, to: i64) -> KeyRange {
    let encode = |value: i64| {
        let raw = value.to_le_bytes();
        let mut key = Vec::new();
        let raw = if index == 0 { &raw[..] } else { &raw[..4] };
        table.index(index).unwrap().encode_values(&[Some(raw)], &mut key).unwrap();
        key
    };
    KeyRange { lower: Bound::Included(encode(from).into()), upper: KeyRange::prefix(&encode(to)).upper }
}

/// Which of these ids somebody else can't insert now.
fn blocked_inserts(database: &Database, table: &TableSchema, ids: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let is_blocked = |id: &i64| waits(insert(&mut database.begin(), table, *id));
    ids.into_iter().filter(is_blocked).collect()
}

#[test]
fn a_range_keeps_rows_out_as_far_as_it_was_read() {
    let (database, table) = fresh();
    let probes = [5, 15, 25, 35, 45, 55, 65];
    let check = |index, range: KeyRange, how, expected: &[i64]| {
        let mut reader = database.begin();
        read(&mut reader, &table, index, range.clone(), how).unwrap();
        assert_eq!(blocked_inserts(&database, &table, probes), expected, "index {index} {range:?} {how:?}");
        drop(reader);
        assert_eq!(blocked_inserts(&database, &table, probes), []);
        assert!(database.engine.locks().is_empty());
    };
    for mode in [UPDATE, SHARE] {
        let all = How::forward(mode, usize::MAX);
        check(0, KeyRange::all(), all, &probes);
        check(0, id_range(&table, 15, 40), all, &[15, 25, 35]);
        check(BY_U, key_range(&table, BY_U, 2000, 3500), all, &[25, 35]);
        check(BY_V, key_range(&table, BY_V, 200, 450), all, &[25, 35, 45]);
        check(BY_V, key_range(&table, BY_V, 200, 450), How::backward(mode, usize::MAX), &[25, 35, 45]);
        // A scan that stops early does not lock the remaining range: the first piece has one key,
        // the second four.
        check(0, KeyRange::all(), How::forward(mode, 1), &[5]);
        check(0, KeyRange::all(), How::backward(mode, 1), &[55, 65]);
        check(0, KeyRange::all(), How::forward(mode, 2), &[5, 15, 25, 35, 45]);
        check(BY_U, KeyRange::all(), How::backward(mode, 1), &[55, 65]);
        // Nothing there.
        check(0, id_range(&table, 21, 29), all, &[25]);
        check(BY_U, key_range(&table, BY_U, 2500, 2500), all, &[25]);
        // A key that is there.
        check(0, KeyRange::prefix(&primary_key(&table, 30)), all, &[]);
    }
    let skip = ReadMode::Locking(Locking { on_locked: OnLocked::Skip, ..Locking::UPDATE });
    check(0, KeyRange::all(), How::forward(skip, 2), &[5, 15]);
    check(0, KeyRange::all(), How::forward(ReadMode::Snapshot, usize::MAX), &[]);
}

#[test]
fn read_committed_keeps_nothing_out() {
    let (database, table) = fresh();
    let mut reader = database.begin_with(Isolation::ReadCommitted, LONG);
    read(&mut reader, &table, 0, KeyRange::all(), How::forward(UPDATE, usize::MAX)).unwrap();
    reader.get_for_update(table.primary.tree(), &primary_key(&table, 35)).unwrap();
    assert_eq!(blocked_inserts(&database, &table, [5, 25, 55]), []);
    assert_eq!(blocked_inserts(&database, &table, [35]), [35], "the key itself is locked");
}

#[test]
fn a_key_without_row_is_kept_free_and_others_may_read_it_too() {
    let (database, table) = fresh();
    let key = primary_key(&table, 25);
    let tree = table.primary.tree();
    let (mut first, mut second) = (database.begin(), database.begin());
    assert_eq!(first.get_for_update(tree, &key).unwrap(), None);
    assert_eq!(second.get_for_update(tree, &key).unwrap(), None);
    assert_eq!(blocked_inserts(&database, &table, [24, 25, 26]), [25]);
    drop(second);
    insert(&mut first, &table, 25).unwrap();
    assert_eq!(blocked_inserts(&database, &table, [24, 25, 26]), [25]);
    // A key that is there needs no range.
    assert!(first.get_for_update(tree, &primary_key(&table, 30)).unwrap().is_some());
    drop(first);
    assert!(database.engine.locks().is_empty());
}

#[test]
fn rows_moved_into_a_range_wait_too_and_rows_changed_in_place_do_not() {
    let (database, table) = fresh();
    let mut reader = database.begin();
    let how = How::forward(UPDATE, usize::MAX);
    read(&mut reader, &table, BY_V, key_range(&table, BY_V, 200, 350), how).unwrap();
    let mut other = database.begin();
    assert!(waits(change(&mut other, &table, 50, |row| row.v = 333)));
    assert!(!waits(change(&mut other, &table, 50, |row| row.v = 777)));
    assert!(!waits(change(&mut other, &table, 50, |row| row.id = 25)), "the primary key is free");
    assert!(waits(change(&mut other, &table, 20, |row| row.s = vec![1])), "the row is locked");
    assert!(!waits(change(&mut reader, &table, 10, |row| row.v = 300)), "own ranges are no hindrance");
}

#[test]
fn who_inserted_before_is_waited_for() {
    for commits in [true, false] {
        for index in [0, BY_U, BY_V] {
            let (database, table) = fresh();
            let mut writer = database.begin();
            insert(&mut writer, &table, 25).unwrap();
            let range = |from, to| match index {
                0 => id_range(&table, from, to),
                BY_U => key_range(&table, BY_U, from * 100, to * 100),
                _ => key_range(&table, BY_V, from * 10, to * 10),
            };
            let mut reader = database.begin_with(Isolation::RepeatableRead, LONG);
            let how = How::forward(SHARE, usize::MAX);
            assert_eq!(read(&mut reader, &table, index, range(26, 36), how).unwrap(), [30]);
            let locked = |on_locked| ReadMode::Locking(Locking { on_locked, ..Locking::SHARE });
            let skip = How::forward(locked(OnLocked::Skip), usize::MAX);
            assert_eq!(read(&mut reader, &table, index, range(15, 36), skip).unwrap(), [20, 30]);
            let fail = How::forward(locked(OnLocked::Fail), usize::MAX);
            let refused = read(&mut database.begin(), &table, index, range(15, 36), fail);
            assert!(matches!(refused, Err(TransactionError::Lock(LockError::WouldBlock))), "{refused:?}");
            drop(reader);
            let mut reader = database.begin_with(Isolation::RepeatableRead, LONG);
            let (waiting, wanted) = (table.clone(), range(15, 36));
            let reading = thread::spawn(move || read(&mut reader, &waiting, index, wanted, how));
            while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
                thread::yield_now();
            }
            if commits {
                writer.commit().unwrap();
            } else {
                writer.rollback();
            }
            let expected = if commits { vec![20, 25, 30] } else { vec![20, 30] };
            assert_eq!(reading.join().unwrap().unwrap(), expected);
        }
    }
}

#[test]
fn a_waiting_insert_lets_the_reader_insert_the_same_row() {
    let (database, table) = fresh();
    let mut reader = database.begin();
    let how = How::forward(UPDATE, usize::MAX);
    read(&mut reader, &table, BY_U, key_range(&table, BY_U, 2500, 2500), how).unwrap();
    read(&mut reader, &table, 0, id_range(&table, 21, 29), how).unwrap();
    let mut writer = database.begin_with(Isolation::RepeatableRead, LONG);
    let waiting = table.clone();
    let inserting = thread::spawn(move || insert(&mut writer, &waiting, 25));
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    insert(&mut reader, &table, 25).unwrap();
    reader.commit().unwrap();
    let outcome = inserting.join().unwrap();
    assert!(matches!(outcome, Err(TransactionError::DuplicateKey { index: 0, .. })), "{outcome:?}");
}

#[test]
fn what_was_deleted_is_inserted_again_while_others_wait_to_read_it() {
    let (database, table) = fresh();
    let mut writer = database.begin();
    statement(&mut writer, |t| {
        let row = t.get_for_update(table.primary.tree(), &primary_key(&table, 30))?.unwrap();
        t.delete_row(&table, &row)
    })
    .unwrap();
    let mut reader = database.begin_with(Isolation::RepeatableRead, LONG);
    let waiting = table.clone();
    let how = How::forward(UPDATE, usize::MAX);
    let reading = thread::spawn(move || read(&mut reader, &waiting, 0, id_range(&waiting, 25, 35), how));
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    insert(&mut writer, &table, 30).unwrap();
    writer.commit().unwrap();
    assert_eq!(reading.join().unwrap().unwrap(), [30]);
}

#[test]
fn two_that_read_a_range_and_insert_into_it_deadlock() {
    let (database, table) = fresh();
    let mut two = [(); 2].map(|()| database.begin_with(Isolation::Serializable, LONG));
    for reader in &mut two {
        let how = How::forward(SHARE, usize::MAX);
        assert_eq!(read(reader, &table, 0, id_range(&table, 21, 29), how).unwrap(), []);
    }
    let [mut first, mut second] = two;
    let waiting = table.clone();
    let inserting = thread::spawn(move || insert(&mut first, &waiting, 24).map(|()| first.commit()));
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    let outcome = insert(&mut second, &table, 26);
    assert!(matches!(outcome, Err(TransactionError::Lock(LockError::Deadlock))), "{outcome:?}");
    drop(second);
    inserting.join().unwrap().unwrap().unwrap();
}

#[test]
fn a_wait_for_a_range_ends_by_kill_too() {
    let (database, table) = fresh();
    let mut reader = database.begin();
    read(&mut reader, &table, 0, KeyRange::all(), How::forward(UPDATE, usize::MAX)).unwrap();
    let interrupt = Arc::new(Interrupt::new());
    let options = database::transaction_options(Isolation::ReadCommitted, LONG);
    let mut writer = database.engine.begin(interrupt.clone(), options);
    let waiting = table.clone();
    let inserting = thread::spawn(move || insert(&mut writer, &waiting, 25));
    while database.engine.locks().status().waiting_now.load(Relaxed) == 0 {
        thread::yield_now();
    }
    interrupt.kill(Killed::Query);
    let outcome = inserting.join().unwrap();
    assert!(matches!(outcome, Err(TransactionError::Lock(LockError::Interrupted))), "{outcome:?}");
}

#[test]
fn a_prepared_transaction_keeps_its_range_until_a_restart_and_its_rows_over_it() {
    let env = SimEnv::new(1);
    let xid = Xid { format: 1, gtrid: b"x".to_vec(), bqual: Vec::new() };
    {
        let database = Database::with_table(&env, options());
        let table = database.table("t");
        assert!(database.engine.reserve_xid(&xid));
        let mut branch = database.begin();
        branch.set_xa(xid.clone(), QueryEvent::new(1, b"d", b"XA END X'78',X'',1"));
        read(&mut branch, &table, 0, id_range(&table, 20, 30), How::forward(UPDATE, 9)).unwrap();
        insert(&mut branch, &table, 22).unwrap();
        branch.prepare().unwrap();
        assert_eq!(blocked_inserts(&database, &table, [19, 22, 25, 30]), [22, 25]);
    }
    for _ in 0..2 {
        let database = Database::open(&env.reboot(), options()).unwrap();
        let table = database.table("t");
        assert_eq!(blocked_inserts(&database, &table, [19, 22, 25, 30]), [22]);
        let mut reader = database.begin();
        let how = How::forward(UPDATE, usize::MAX);
        let met = read(&mut reader, &table, BY_V, key_range(&table, BY_V, 215, 225), how);
        assert!(matches!(met, Err(TransactionError::Lock(LockError::WaitTimeout))), "{met:?}");
        drop(reader);
    }
    let database = Database::open(&env.reboot(), options()).unwrap();
    let table = database.table("t");
    let query = QueryEvent::new(1, b"d", b"XA COMMIT X'78',X'',1");
    let finished =
        database.engine.finish_prepared(&xid, true, context(), &query, Default::default()).unwrap();
    assert!(matches!(finished, FinishedBranch::Logged(_)));
    assert_eq!(blocked_inserts(&database, &table, [19, 25, 30]), []);
    let mut reader = database.begin();
    let found =
        rows(&mut reader, &table, 0, KeyRange::all(), Direction::Forward, ReadMode::Snapshot).unwrap();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [22]);
    drop(reader);
    assert!(database.engine.locks().is_empty());
}
