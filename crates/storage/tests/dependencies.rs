//! The dependencies that the log has for replicas: transactions of many sessions, and then, by the
//! log alone, that of any two which touch a key the later one is said to depend on the earlier one,
//! or on one after it.
#![allow(clippy::unwrap_used)]

mod database;

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use binlog::event::{Event, TableMapEvent, decode};
use binlog::{FileNumber, LogPosition};
use database::{Database, Row, options, primary_key};
use env::SimEnv;
use stdx::random::Random;
use storage::transaction::{Isolation, TransactionError};

const SESSIONS: u64 = 6;
const TRANSACTIONS: u64 = 150;
const PATIENCE: Duration = Duration::from_secs(60);

/// A key as the log has it: the column and its value.
type Key = (usize, i64);

/// One change to a row: it comes, goes, or gets other values. What would be a duplicate is not
/// done.
fn change(
    database: &Database,
    transaction: &mut storage::Transaction,
    random: &mut Random,
    ids: i64,
) -> Result<(), TransactionError> {
    let table = database.table("t");
    let id = random.below(ids as u64) as i64;
    let u = Some(random.below(ids as u64) as i64).filter(|_| random.chance(2, 3));
    let row = Row::new(id, u, random.below(5) as i64).image();
    transaction.begin_statement(1_767_225_600, None);
    let found = transaction.get_for_update(table.primary.tree(), &primary_key(&table, id));
    let changed = found.and_then(|before| match before {
        None => transaction.insert_row(&table, &row),
        Some(before) if random.chance(1, 3) => transaction.delete_row(&table, &before),
        Some(before) if random.chance(1, 3) => {
            let moved = Row { id: random.below(ids as u64) as i64, ..Row::from_image(&row) };
            transaction.update_row(&table, &before, &moved.image())
        }
        Some(before) => transaction.update_row(&table, &before, &row),
    });
    match changed {
        Err(TransactionError::DuplicateKey { .. }) => transaction.rollback_statement(),
        changed => {
            changed?;
            transaction.end_statement();
        }
    }
    Ok(())
}

fn session(database: &Database, mut random: Random, ids: i64) {
    for _ in 0..TRANSACTIONS {
        let mut transaction = database.begin_with(Isolation::ReadCommitted, PATIENCE);
        let changes = 1 + random.below(3);
        if (0..changes).all(|_| change(database, &mut transaction, &mut random, ids).is_ok()) {
            transaction.commit().unwrap();
        }
        if random.chance(1, 100) {
            database.engine.log().rotate().unwrap();
        }
    }
}

struct Group {
    file: FileNumber,
    last_committed: u64,
    sequence_number: u64,
    keys: Vec<Key>,
}

/// The log, transaction by transaction.
fn groups(database: &Database) -> Vec<Group> {
    let (mut groups, mut map) = (Vec::<Group>::new(), TableMapEvent::default());
    let visit = &mut |replayed: binlog::log::ReplayedEvent<'_>| {
        match decode(replayed.event.bytes, replayed.event.fde).unwrap() {
            Event::Gtid(gtid) => groups.push(Group {
                file: replayed.position.file(),
                last_committed: gtid.last_committed,
                sequence_number: gtid.sequence_number,
                keys: Vec::new(),
            }),
            Event::TableMap(next) => map = next,
            Event::Rows(event) => {
                let bytes = event.rows.bytes(1 << 20).unwrap();
                for change in event.iter(&map, &bytes).unwrap() {
                    let change = change.unwrap();
                    for image in [change.before, change.after].into_iter().flatten() {
                        let row = Row::from_image(image.bytes());
                        let keys = &mut groups.last_mut().unwrap().keys;
                        keys.push((0, row.id));
                        keys.extend(row.u.map(|u| (1, u)));
                    }
                }
            }
            _ => {}
        }
        Ok::<_, binlog::log::LogError>(())
    };
    database.engine.log().replay(LogPosition::ZERO, visit).unwrap();
    groups
}

/// Checks every transaction of the log. Returns how many there are, and how many of them depend on
/// nothing among the last ten.
fn check(groups: &[Group], seed: u64) -> (usize, usize) {
    let (mut writers, mut file) = (HashMap::<Key, u64>::new(), FileNumber(0));
    let (mut last, mut free) = (0, 0);
    for group in groups {
        if group.file != file {
            (file, last) = (group.file, 0);
            writers.clear();
        }
        let number = group.sequence_number;
        assert_eq!(number, last + 1, "seed {seed}: numbers of {file:?}");
        last = number;
        assert!(group.last_committed < number, "seed {seed}: {number} of {file:?} depends on itself");
        let newest = group.keys.iter().filter_map(|key| writers.get(key)).max();
        let newest = newest.map_or(0, |number| *number);
        assert!(
            newest <= group.last_committed,
            "seed {seed}: {number} of {file:?} depends on {newest}, and is said to on {}",
            group.last_committed
        );
        free += usize::from(group.last_committed + 10 < number);
        group.keys.iter().for_each(|key| {
            writers.insert(*key, number);
        });
    }
    (groups.len(), free)
}

fn run(seed: u64, ids: i64, history_size: usize) -> (usize, usize) {
    let env = SimEnv::new(seed);
    let mut options = options();
    options.log.binlog_transaction_dependency_history_size = history_size;
    let database = Database::with_table(&env, options);
    thread::scope(|scope| {
        for n in 0..SESSIONS {
            let (database, random) = (&database, Random::new(seed << 8 | n));
            scope.spawn(move || session(database, random, ids));
        }
        scope.spawn(|| {
            for n in 0..5 {
                thread::sleep(Duration::from_millis(2));
                database.ddl(&format!("CREATE other{n}")).unwrap();
            }
        });
    });
    check(&groups(&database), seed)
}

#[test]
fn who_touches_a_key_depends_on_who_touched_it_before() {
    // Each of them takes a tenth of a second.
    for seed in database::seeds_by("DEPENDENCY_SEEDS", 200) {
        run(seed, 12, 25_000);
        run(seed, 200, 1 + seed as usize * 7);
    }
}

#[test]
fn who_touches_other_keys_depends_on_little() {
    let (count, free) = run(1, 1_000_000, 25_000);
    assert!(2 * free > count, "{free} of {count} transactions may run concurrently with the ten before them");
}
