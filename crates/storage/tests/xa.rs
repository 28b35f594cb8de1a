//! XA transactions and power cuts: whatever operation the disk did last, a transaction is gone,
//! prepared or finished, as was acknowledged, and a prepared one can still be finished either way,
//! over checkpoints, purges and more restarts.
#![allow(clippy::unwrap_used)]

mod database;

use std::collections::BTreeMap;

use binlog::event::QueryEvent;
use database::{Database, Row, all_rows, context, options, primary_key};
use env::SimEnv;
use storage::lock::LockError;
use storage::{FinishedBranch, TransactionError, Xid};

type Rows = BTreeMap<i64, Row>;

fn xid() -> Xid {
    Xid { format: 1, gtrid: b"g".to_vec(), bqual: b"b".to_vec() }
}

/// Fills table `t` with rows 1 to 4.
fn prepare_table(env: &SimEnv) -> Rows {
    let database = Database::with_table(env, options());
    let table = database.table("t");
    let mut transaction = database.begin();
    for id in 1..=4 {
        transaction.insert_row(&table, &Row::new(id, Some(id), id).image()).unwrap();
    }
    transaction.commit().unwrap();
    let rows = all_rows(&database, "t").unwrap();
    database.engine.close().unwrap();
    rows
}

/// Inserts row 9, moves row 2 in all indexes, deletes row 3.
fn after(before: &Rows) -> Rows {
    let mut rows = before.clone();
    rows.insert(9, Row::new(9, Some(9), 9));
    rows.insert(2, Row { u: Some(22), v: 222, ..rows[&2].clone() });
    rows.remove(&3);
    rows
}

/// The last step that the client got an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Acknowledged {
    Nothing,
    Prepared,
    /// It asked for the end, without answer.
    Finishing,
    Finished,
}

#[derive(Debug, Clone, Copy)]
struct Story {
    commits: bool,
    /// A checkpoint, and the end of a log file, between prepare and finish.
    tidies: bool,
}

fn change(database: &Database, before: &Rows) -> Result<(), TransactionError> {
    assert!(database.engine.reserve_xid(&xid()));
    let table = database.table("t");
    let mut branch = database.begin();
    branch.set_xa(xid(), QueryEvent::new(1, b"d", b"XA END X'67',X'62',1"));
    let tree = table.primary.tree();
    branch.insert_row(&table, &Row::new(9, Some(9), 9).image())?;
    let two = branch.get_for_update(tree, &primary_key(&table, 2))?.unwrap();
    branch.update_row(&table, &two, &after(before)[&2].image())?;
    let three = branch.get_for_update(tree, &primary_key(&table, 3))?.unwrap();
    branch.delete_row(&table, &three)?;
    branch.prepare().map(drop)
}

fn finish(database: &Database, commits: bool) -> Result<bool, TransactionError> {
    let sql: &[u8] = if commits { b"XA COMMIT X'67',X'62',1" } else { b"XA ROLLBACK X'67',X'62',1" };
    let finished = database.engine.finish_prepared(
        &xid(),
        commits,
        context(),
        &QueryEvent::new(1, b"d", sql),
        Default::default(),
    );
    Ok(!matches!(finished?, FinishedBranch::Unknown))
}

fn live(env: &SimEnv, story: Story, before: &Rows) -> Acknowledged {
    let mut acknowledged = Acknowledged::Nothing;
    let Ok(database) = Database::open(env, options()) else { return acknowledged };
    if change(&database, before).is_err() {
        return acknowledged;
    }
    acknowledged = Acknowledged::Prepared;
    if story.tidies && tidy(&database).is_none() {
        return acknowledged;
    }
    acknowledged = Acknowledged::Finishing;
    if matches!(finish(&database, story.commits), Ok(true)) {
        acknowledged = Acknowledged::Finished;
    }
    acknowledged
}

/// Ends the log's file, and makes a checkpoint, so that the files before can go; `None` if the
/// power went.
fn tidy(database: &Database) -> Option<()> {
    database.engine.log().rotate().ok()?;
    database.engine.checkpoint().ok()?;
    database.engine.purge_log_to(database.engine.log().end().file()).ok()?;
    Some(())
}

/// What is there after a restart; a prepared transaction is finished both ways, on copies.
fn check(env: &SimEnv, story: Story, acknowledged: Acknowledged, before: &Rows) -> &'static str {
    let rebooted = env.reboot();
    let is_prepared = {
        let database = Database::open(&rebooted, options()).unwrap();
        let rows = all_rows(&database, "t").unwrap();
        let is_prepared = !database.engine.prepared().is_empty();
        if !is_prepared {
            assert!(acknowledged != Acknowledged::Prepared, "{story:?}: a prepared transaction was lost");
            let is_done = acknowledged >= Acknowledged::Finishing && story.commits && rows != *before;
            let expected = if is_done { after(before) } else { before.clone() };
            assert_eq!(rows, expected, "{story:?} {acknowledged:?}");
            assert!(
                acknowledged < Acknowledged::Finished || !story.commits || is_done,
                "{story:?}: a commit was lost"
            );
            assert!(database.engine.locks().is_empty());
            return if acknowledged >= Acknowledged::Finishing { "finished" } else { "gone" };
        }
        assert!(acknowledged < Acknowledged::Finished, "{story:?}: it is prepared again after its end");
        assert_eq!(rows, *before, "nobody sees it");
        check_locks(&database);
        // Once more, without anything of it in the log.
        tidy(&database).unwrap();
        is_prepared
    };
    assert!(is_prepared);
    let database = Database::open(&rebooted.reboot(), options()).unwrap();
    check_locks(&database);
    assert!(finish(&database, story.commits).unwrap());
    let expected = if story.commits { after(before) } else { before.clone() };
    assert_eq!(all_rows(&database, "t").unwrap(), expected);
    assert!(database.engine.locks().is_empty() && database.engine.prepared().is_empty());
    "prepared"
}

/// Its rows are locked, and so are the unique keys that it takes and gives up.
fn check_locks(database: &Database) {
    let table = database.table("t");
    let waits = |outcome: Result<(), TransactionError>| {
        assert!(matches!(outcome, Err(TransactionError::Lock(LockError::WaitTimeout))), "{outcome:?}");
    };
    for id in [2, 3, 9] {
        let key = primary_key(&table, id);
        waits(database.begin().get_for_update(table.primary.tree(), &key).map(drop));
    }
    for u in [2, 3, 9, 22] {
        waits(database.begin().insert_row(&table, &Row::new(100 + u, Some(u), 0).image()));
    }
    assert!(database.begin().get_for_update(table.primary.tree(), &primary_key(&table, 1)).is_ok());
}

/// The power is cut at each operation of the disk, one after another, until the story ends before
/// the cut comes.
#[test]
fn a_power_cut_at_any_moment_leaves_it_gone_prepared_or_finished() {
    let mut ends = BTreeMap::<&str, u32>::new();
    for story in [(true, false), (false, false), (true, true), (false, true)] {
        let story = Story { commits: story.0, tidies: story.1 };
        for cut in 1.. {
            assert!(cut < 3000, "the story never ends");
            let env = SimEnv::new(cut);
            let before = prepare_table(&env);
            env.cut_at(cut);
            let acknowledged = live(&env, story, &before);
            let survived = env.is_powered();
            *ends.entry(check(&env, story, acknowledged, &before)).or_default() += 1;
            if survived {
                assert_eq!(acknowledged, Acknowledged::Finished);
                break;
            }
        }
    }
    println!("{ends:?}");
    assert!(ends.len() == 3 && ends.values().all(|&n| n >= 4), "{ends:?}");
}
