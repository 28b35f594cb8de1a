//! What the store's operations cost, beside the yardsticks: `cargo bench -p storage`.
//!
//! 1,000,000 rows of 112 bytes (8 bytes of key), data in memory or in the cache, one thread, no
//! background work. The yardsticks are what an existing log-structured library needed for the same
//! on a 2-core machine. `ROWS=100000` makes a short run.
#![allow(clippy::unwrap_used)]

use binlog::{FileNumber, LogPosition};
use env::{Env, RealEnv};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stdx::random::Random;
use storage::{LogDurability, Store, StoreOptions, TreeId, WriteBatch};

const TREE: TreeId = TreeId(7);
const VALUE_LEN: usize = 104;
/// Inserts between two looks at the clock.
const ROUND: u64 = 100;

struct Durable;

impl LogDurability for Durable {
    fn ensure_durable(&self, _: LogPosition) -> io::Result<()> {
        Ok(())
    }
}

fn open(dir: &Path) -> Arc<Store> {
    open_with(dir, false)
}

fn open_with(dir: &Path, background: bool) -> Arc<Store> {
    let options = StoreOptions {
        memtable_size: 1 << 30,
        memtables_max: 2,
        block_cache_size: 1 << 30,
        log_distance_max: u64::MAX,
        background,
        durability: Arc::new(Durable),
    };
    Store::open(Arc::new(RealEnv), dir, options).unwrap()
}

fn at(n: u64) -> LogPosition {
    LogPosition::new(FileNumber(1), n)
}

fn rows() -> u64 {
    std::env::var("ROWS").map_or(1_000_000, |rows| rows.parse().unwrap())
}

/// A key for row `i`: `i` itself, or scattered by a bijection.
fn key(i: u64, is_random: bool) -> [u8; 8] {
    if is_random { i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes() } else { i.to_be_bytes() }
}

fn time(f: impl FnOnce()) -> Duration {
    let start = RealEnv.monotonic();
    f();
    RealEnv.monotonic() - start
}

/// The fastest of some rounds: what the machine does when nobody disturbs.
fn best(rounds: u32, mut f: impl FnMut()) -> Duration {
    (0..rounds).map(|_| time(&mut f)).min().unwrap()
}

fn report(what: &str, each: Duration, count: u64, yardstick: &str) {
    let micros = each.as_secs_f64() * 1e6 / count as f64;
    let figure = match micros {
        m if m >= 10_000.0 => format!("{:.1} ms", m / 1000.0),
        m => format!("{m:.3} µs"),
    };
    println!("| {what:<46} | {figure:>12} | {yardstick:<26} |");
}

fn load(store: &Store, is_random: bool) {
    let mut batch = WriteBatch::new();
    let mut value = [0; VALUE_LEN];
    Random::new(1).fill(&mut value);
    let (mut each, mut slowest) = (Duration::ZERO, Duration::ZERO);
    // In rounds, so that the clock costs nothing; a round with a stall shows.
    for round in 0..rows() / ROUND {
        let took = time(|| {
            for i in round * ROUND..(round + 1) * ROUND {
                batch.clear();
                batch.put(TREE, &key(i, is_random), &value);
                store.write(&batch, at(10 + i));
            }
        });
        each += took;
        slowest = slowest.max(took);
    }
    let (order, yardstick) = if is_random { ("random", "2.3 µs") } else { ("ascending", "0.4 µs") };
    report(&format!("insert, keys {order}"), each, rows(), yardstick);
    report(&format!("slowest 100 inserts, keys {order}"), slowest, 1, "");
}

fn gets(store: &Store, what: &str, yardstick: &str) {
    let snapshot = store.snapshot_visible();
    let (mut random, count) = (Random::new(2), 200_000);
    let each = best(3, || {
        for _ in 0..count {
            let key = key(random.below(rows()), true);
            assert!(store.get(TREE, &key, snapshot.position()).unwrap().is_some());
        }
    });
    report(&format!("get, {what}"), each, count, yardstick);
    let key = key(1, true);
    let each = best(3, || {
        for _ in 0..count {
            assert!(store.get(TREE, &key, snapshot.position()).unwrap().is_some());
        }
    });
    report(
        &format!("get of one row, {what}"),
        each,
        count,
        if yardstick.len() > 9 { "0.9 µs hot" } else { "" },
    );
}

fn ranges(store: &Store, what: &str) {
    let snapshot = store.snapshot_visible();
    let (mut random, count) = (Random::new(3), 50_000);
    let each = best(3, || {
        for _ in 0..count {
            let mut cursor = store.cursor(TREE, snapshot.position());
            cursor.seek(&key(random.below(rows()), true)).unwrap();
            for _ in 0..10 {
                if cursor.valid() {
                    std::hint::black_box((cursor.key(), cursor.value()));
                    cursor.next().unwrap();
                }
            }
        }
    });
    report(&format!("range of 10 rows, {what}"), each, count, "6.5..10 µs");
}

fn scans(store: &Store, what: &str, forward_yardstick: &str, backward_yardstick: &str) {
    let snapshot = store.snapshot_visible();
    let forward = best(3, || {
        let mut cursor = store.cursor(TREE, snapshot.position());
        let mut seen = 0;
        cursor.seek_first().unwrap();
        while cursor.valid() {
            std::hint::black_box((cursor.key(), cursor.value()));
            seen += 1;
            cursor.next().unwrap();
        }
        assert_eq!(seen, rows());
    });
    report(&format!("scan forward, {what}, a row"), forward, rows(), forward_yardstick);
    let backward = best(3, || {
        let mut cursor = store.cursor(TREE, snapshot.position());
        let mut seen = 0;
        cursor.seek_last().unwrap();
        while cursor.valid() {
            std::hint::black_box((cursor.key(), cursor.value()));
            seen += 1;
            cursor.prev().unwrap();
        }
        assert_eq!(seen, rows());
    });
    report(&format!("scan backward, {what}, a row"), backward, rows(), backward_yardstick);
}

fn sequential() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    load(&store, false);
    scans(&store, "memtable in order", "", "");
}

fn random() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), true);
    load(&store, true);
    gets(&store, "memtable", "2.4..3.6 µs");
    ranges(&store, "memtable");
    scans(&store, "memtable", "0.14 µs (7 M/s)", "0.5 µs (2 M/s)");
    let flush = time(|| {
        store.checkpoint(b"").unwrap();
    });
    report("flush of all rows", flush, 1, "350 ms");
    gets(&store, "cached blocks", "2.5..3.2 µs");
    ranges(&store, "cached blocks");
    scans(&store, "cached blocks", "0.2 µs (5 M/s)", "");
}

fn reopen() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = WriteBatch::new();
    for tree in 0..500 {
        for i in 0..20 {
            batch.put(TreeId(tree), &key(i, false), &[1; VALUE_LEN]);
        }
    }
    store.write(&batch, at(10));
    store.checkpoint(b"").unwrap();
    drop(store);
    let opening = best(5, || {
        open(dir.path());
    });
    report("reopen 500 trees", opening, 1, "200 µs");
    let reading = best(5, || {
        let store = open(dir.path());
        let snapshot = store.snapshot_visible();
        for tree in 0..500 {
            assert!(store.get(TreeId(tree), &key(7, false), snapshot.position()).unwrap().is_some());
        }
    });
    report("reopen 500 trees and read from each", reading, 1, "");
}

const WORST: u64 = 100_000;

/// A row with 100,000 versions between plain ones.
fn hot_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = WriteBatch::new();
    for i in 0..1000 {
        batch.put(TREE, &key(i, false), &[1; VALUE_LEN]);
    }
    store.write(&batch, at(10));
    let old = store.snapshot_visible();
    for i in 0..WORST {
        batch.clear();
        batch.put(TREE, &key(500, false), &[1; VALUE_LEN]);
        store.write(&batch, at(11 + i));
    }
    let middle = store.snapshot(at(11 + WORST / 2));
    let new = store.snapshot_visible();
    hot_ranges(&store, [&old, &middle, &new].map(|s| s.position()), "memtable");
    store.checkpoint(b"").unwrap();
    hot_ranges(&store, [&old, &middle, &new].map(|s| s.position()), "flushed");
}

fn hot_ranges(store: &Store, snapshots: [LogPosition; 3], what: &str) {
    let range = |first: u64, snapshot: LogPosition, backward: bool| {
        let mut cursor = store.cursor(TREE, snapshot);
        let start = key(first, false);
        if backward { cursor.seek_for_prev(&start) } else { cursor.seek(&start) }.unwrap();
        for _ in 0..10 {
            assert!(cursor.valid());
            if backward { cursor.prev() } else { cursor.next() }.unwrap();
        }
    };
    let count = 1000;
    let measure =
        |first, snapshot, backward| best(5, || (0..count).for_each(|_| range(first, snapshot, backward)));
    report(&format!("10 rows, plain, {what}"), measure(100, snapshots[2], false), count, "");
    for (name, snapshot) in ["oldest", "middle", "newest"].iter().zip(snapshots) {
        let forward = measure(495, snapshot, false);
        report(&format!("10 rows across hot row, {name}, {what}"), forward, count, "10 times the plain case");
        let backward = measure(505, snapshot, true);
        report(&format!("the same backward, {name}, {what}"), backward, count, "10 times the plain case");
    }
}

/// A queue whose first 100,000 rows are deleted.
fn queue() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = WriteBatch::new();
    for i in 0..WORST + 1000 {
        batch.put(TREE, &key(i, false), &[1; VALUE_LEN]);
        batch.put(TreeId(8), &key(i, false), &[1; VALUE_LEN]);
        batch.put(TreeId(9), &key(i, false), &[1; VALUE_LEN]);
    }
    store.write(&batch, at(10));
    let mut position = 10;
    let mut delete = |is_learning: bool, tree: TreeId| {
        for i in 0..WORST {
            batch.clear();
            batch.delete(tree, &key(i, false));
            position += 1;
            let due = is_learning.then(|| store.gaps_due(&batch));
            store.write(&batch, at(position));
            due.iter().for_each(|due| store.learn_gaps(due));
        }
    };
    report("delete at a queue's head", time(|| delete(true, TREE)), WORST, "");
    report("the same, gaps left to readers", time(|| delete(false, TreeId(9))), WORST, "");
    let first = |tree| {
        let snapshot = store.snapshot_visible();
        let mut cursor = store.cursor(tree, snapshot.position());
        cursor.seek_first().unwrap();
        assert!(cursor.valid());
    };
    let count = 1000;
    let measure = |tree| best(5, || (0..count).for_each(|_| first(tree)));
    report("first row, plain, once", time(|| first(TreeId(8))), 1, "");
    report("first row, plain, memtable", measure(TreeId(8)), count, "");
    report("first row behind 100,000 deleted, once", time(|| first(TREE)), 1, "10 times the plain case");
    report("the same, gaps left to readers, once", time(|| first(TreeId(9))), 1, "");
    report("first row behind 100,000 deleted, memtable", measure(TREE), count, "10 times the plain case");
    store.checkpoint(b"").unwrap();
    report("first row, plain, flushed", measure(TreeId(8)), count, "");
    report("first row behind 100,000 deleted, flushed", measure(TREE), count, "10 times the plain case");
}

/// As `queue`, but the rows were on disk before they were deleted.
fn queue_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut batch = WriteBatch::new();
    for i in 0..WORST + 1000 {
        batch.put(TREE, &key(i, false), &[1; VALUE_LEN]);
    }
    store.write(&batch, at(10));
    store.checkpoint(b"").unwrap();
    batch.clear();
    (0..WORST).for_each(|i| batch.delete(TREE, &key(i, false)));
    let due = store.gaps_due(&batch);
    store.write(&batch, at(11));
    report("learning a bulk delete's gap, a row", time(|| store.learn_gaps(&due)), WORST, "");
    store.checkpoint(b"").unwrap();
    let first = || {
        let snapshot = store.snapshot_visible();
        let mut cursor = store.cursor(TREE, snapshot.position());
        cursor.seek_first().unwrap();
        assert!(cursor.valid());
    };
    report("first row, deletions in another table, once", time(first), 1, "");
    let each = best(5, || (0..1000).for_each(|_| first()));
    report("first row, deletions in another table", each, 1000, "10 times the plain case");
    while store.compact_once().unwrap() {}
    report("first row, compacted, once", time(first), 1, "");
}

fn main() {
    println!("{} rows of 112 bytes\n", rows());
    println!("| {:<46} | {:>12} | {:<26} |", "operation", "measured", "yardstick");
    println!("| {:-<46} | {:->12} | {:-<26} |", "", "", "");
    sequential();
    random();
    reopen();
    hot_key();
    queue();
    queue_on_disk();
}
