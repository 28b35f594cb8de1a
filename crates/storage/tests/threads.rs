//! The store with its own threads: a writer, readers that must always see whole transactions, flush
//! and compaction in the background.
#![allow(clippy::unwrap_used)]

use binlog::{FileNumber, LogPosition};
use env::RealEnv;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use stdx::random::Random;
use storage::{LogDurability, Store, StoreOptions, TreeId, WriteBatch};

struct Durable;

impl LogDurability for Durable {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

fn open(dir: &Path) -> Arc<Store> {
    let options = StoreOptions {
        memtable_size: 64 << 10,
        memtables_max: 3,
        block_cache_size: 256 << 10,
        log_distance_max: 1 << 40,
        background: true,
        durability: Arc::new(Durable),
    };
    Store::open(Arc::new(RealEnv), dir, options).unwrap()
}

fn at(n: u64) -> LogPosition {
    LogPosition::new(FileNumber(1), n)
}

const QUEUE: TreeId = TreeId(1);
const ACCOUNTS: TreeId = TreeId(2);
const ACCOUNT_COUNT: u64 = 500;
/// Rows in the queue at any time, after the first ones.
const QUEUED: u64 = 50;

/// Transaction `n` puts row `n` into the queue, takes out row `n - QUEUED`, and moves one unit
/// between two accounts. Every tenth puts a row back far in front, where readers may know of a gap,
/// and the next one takes it out.
fn transaction(n: u64, balances: &mut [u64], random: &mut Random, batch: &mut WriteBatch) {
    batch.clear();
    batch.put(QUEUE, &n.to_be_bytes(), &[n as u8; 100]);
    if let Some(old) = n.checked_sub(QUEUED) {
        batch.delete(QUEUE, &old.to_be_bytes());
    }
    match n % 10 {
        0 => batch.put(QUEUE, &(n / 2).to_be_bytes(), b"back"),
        1 => batch.delete(QUEUE, &((n - 1) / 2).to_be_bytes()),
        _ => {}
    }
    let (from, to) = (random.below(ACCOUNT_COUNT) as usize, random.below(ACCOUNT_COUNT) as usize);
    if balances[from] > 0 && from != to {
        balances[from] -= 1;
        balances[to] += 1;
        for i in [from, to] {
            batch.put(ACCOUNTS, &(i as u64).to_be_bytes(), &balances[i].to_be_bytes());
        }
    }
}

fn check_queue(store: &Store, forward: bool) -> u64 {
    let snapshot = store.snapshot_visible();
    let last = snapshot.position().offset();
    let mut cursor = store.cursor(QUEUE, snapshot.position());
    if forward { cursor.seek_first() } else { cursor.seek_last() }.unwrap();
    let mut found = Vec::new();
    while cursor.valid() {
        found.push(u64::from_be_bytes(cursor.key().try_into().unwrap()));
        if forward { cursor.next() } else { cursor.prev() }.unwrap();
    }
    if !forward {
        found.reverse();
    }
    let first = (last + 1).saturating_sub(QUEUED).max(100);
    let put_back = Some(last / 2).filter(|old| last.is_multiple_of(10) && *old < first);
    let expected: Vec<u64> = put_back.into_iter().chain(first..=last).collect();
    assert_eq!(found, expected, "queue at {last}");
    last
}

fn check_accounts(store: &Store) {
    let snapshot = store.snapshot_visible();
    let mut cursor = store.cursor(ACCOUNTS, snapshot.position());
    let (mut sum, mut count) = (0, 0);
    cursor.seek_first().unwrap();
    while cursor.valid() {
        sum += u64::from_be_bytes(cursor.value().try_into().unwrap());
        count += 1;
        cursor.next().unwrap();
    }
    assert_eq!((count, sum), (ACCOUNT_COUNT, ACCOUNT_COUNT * 1000), "at {}", snapshot.position());
}

#[test]
fn readers_see_whole_transactions_while_all_threads_work() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let visible = Arc::new(AtomicU64::new(0));
    let source = visible.clone();
    store.set_visible_source(move || at(source.load(Ordering::Acquire)));
    let mut balances = vec![1000; ACCOUNT_COUNT as usize];
    let mut batch = WriteBatch::new();
    for i in 0..ACCOUNT_COUNT {
        batch.put(ACCOUNTS, &i.to_be_bytes(), &1000_u64.to_be_bytes());
    }
    store.write(&batch, at(99));
    visible.store(99, Ordering::Release);
    let is_over = AtomicBool::new(false);
    let transactions = 30_000;
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let mut rounds = 0_u64;
                while !is_over.load(Ordering::Acquire) || rounds == 0 {
                    match reader {
                        0 => drop(check_queue(store, true)),
                        1 => drop(check_queue(store, false)),
                        _ => check_accounts(store),
                    }
                    rounds += 1;
                }
            });
        }
        let mut random = Random::new(5);
        for n in 100..100 + transactions {
            transaction(n, &mut balances, &mut random, &mut batch);
            store.admit(batch.size()).unwrap();
            store.write(&batch, at(n));
            visible.store(n, Ordering::Release);
        }
        is_over.store(true, Ordering::Release);
    });
    assert_eq!(check_queue(&store, true), 99 + transactions);
    let stats = store.stats();
    assert!(stats.flushes > 10 && stats.compactions > 0, "{stats:?}");
    assert!(stats.flush_failure.is_none() && stats.compaction_failure.is_none(), "{stats:?}");
    store.checkpoint(b"end").unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(
        (store.checkpoint_position(), store.checkpoint_notes()),
        (at(99 + transactions), b"end".to_vec())
    );
    check_queue(&store, true);
    check_queue(&store, false);
    check_accounts(&store);
}

#[test]
fn a_second_opening_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _store = open(dir.path());
    assert!(
        Store::open(
            Arc::new(RealEnv),
            dir.path(),
            StoreOptions {
                memtable_size: 1 << 20,
                memtables_max: 2,
                block_cache_size: 1 << 20,
                log_distance_max: 1 << 30,
                background: false,
                durability: Arc::new(Durable),
            }
        )
        .is_err()
    );
}
